/* The race recorder: one race each, found under every schedule with the lines of both accesses, and
 * nothing in the kernels that do it right. */
#include "tests/sim/race.h"

#include "sim/race/order.h"
#include "sim/race/race.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>

static const char *const names[RACE_KERNELS] = {
    [READ_BEFORE_BARRIER] = "read_before_barrier",
    [WRITE_AFTER_READ] = "write_after_read",
    [SHARED_HISTOGRAM] = "shared_histogram",
    [GLOBAL_HISTOGRAM] = "global_histogram",
    [BLOCKS_MEET] = "blocks_meet",
    [READ_OTHER_BLOCK] = "read_other_block",
    [NO_SYNCWARP] = "no_syncwarp",
    [SHUFFLE_FOR_SYNCWARP] = "shuffle_for_syncwarp",
    [HALF_A_WARP] = "half_a_warp",
    [NEVER_WRITTEN] = "never_written",
    [NEVER_WRITTEN_DYNAMIC] = "never_written_dynamic",
    [READ_BESIDE_ATOMIC] = "read_beside_atomic",
    [CLEAR_BESIDE_ATOMIC] = "clear_beside_atomic",
    [VECTOR_COPY] = "vector_copy",
    [BYTES_OF_A_WORD] = "bytes_of_a_word",
    [WRITE_AFTER_OTHER_READERS] = "write_after_other_readers",
    [WRITE_AFTER_OTHER_BLOCK] = "write_after_other_block",
    [WIDE_ROWS] = "wide_rows",
    [HANDED_OVER] = "handed_over",
    [CHECKED_READ] = "checked_read",
    [RETURNED_VECTOR] = "returned_vector",
    [RETURNED_STRUCTURE] = "returned_structure",
};

static void launch(race_kernel kernel, bool right, assay_schedule schedule, assay_status *status) {
    const assay_device *device = assay_sim_device();
    void *memory = NULL;
    REQUIRE_OK(device->alloc(RACE_INTS * sizeof(int), &memory));
    memset(memory, 0, RACE_INTS * sizeof(int));
    device->schedule(schedule, 1);
    *status = race_launch(kernel, right, memory);
    CHECK(device->finish() == *status);
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    device->release(memory);
}

static bool is_at(const sim_source *source, int line) {
    return source->line == line && strcmp(source->file, "race.cu") == 0;
}

/* Either access may come first. */
static bool names_both(const sim_race *race, const int lines[2]) {
    if (race->class == SIM_UNINITIALISED)
        return lines[1] == 0 && is_at(&race->after, lines[0]);
    return (is_at(&race->after, lines[0]) && is_at(&race->before, lines[1])) ||
           (is_at(&race->after, lines[1]) && is_at(&race->before, lines[0]));
}

static void check_found(race_kernel kernel, assay_schedule schedule) {
    assay_status status;
    char place[32];
    launch(kernel, false, schedule, &status);
    const char *in = assay_schedule_name(schedule);
    CHECK_MSG(status == ASSAY_ERR_KERNEL, "%s, %s: not found", names[kernel], in);
    CHECK_MSG(sim_race_count() > 0, "%s, %s: no race in the list", names[kernel], in);
    for (int32_t i = 0; i < sim_race_count(); ++i) {
        const sim_race *race = sim_race_at(i);
        CHECK_MSG(names_both(race, race_lines[kernel]),
                  "%s, %s: %s:%d and %s:%d, not lines %d and %d: %s", names[kernel], in,
                  race->after.file, race->after.line, race->before.file, race->before.line,
                  race_lines[kernel][0], race_lines[kernel][1], race->text);
        snprintf(place, sizeof place, "race.cu:%d: ", race->after.line);
        CHECK_MSG(i > 0 || strncmp(assay_error(), place, strlen(place)) == 0, "the line is: %s",
                  assay_error());
    }
}

static void check_clean(race_kernel kernel, assay_schedule schedule) {
    assay_status status;
    launch(kernel, true, schedule, &status);
    CHECK_MSG(status == ASSAY_OK, "%s, %s, without a race: %s", names[kernel],
              assay_schedule_name(schedule), assay_error());
    CHECK(sim_race_count() == (kernel == CHECKED_READ));
    CHECK(kernel != CHECKED_READ || sim_race_at(0)->class == SIM_RACE_GUESS);
}

static void check_kernel(void *context) {
    race_kernel kernel = *(const race_kernel *)context;
    for (int i = 0; i < ASSAY_SCHEDULES; ++i) {
        check_found(kernel, (assay_schedule)i);
        check_clean(kernel, (assay_schedule)i);
    }
}

__attribute__((constructor)) static void register_kernels(void) {
    static race_kernel kernels[RACE_KERNELS];
    for (int i = 0; i < RACE_KERNELS; ++i) {
        kernels[i] = (race_kernel)i;
        assay_test_register("race", names[i], "race sim", check_kernel, &kernels[i]);
    }
}

static void check_line(race_kernel kernel, const char *want) {
    assay_status status;
    launch(kernel, false, ASSAY_SCHEDULE_IN_ORDER, &status);
    CHECK_MSG(strstr(assay_error(), want), "no \"%s\" in: %s", want, assay_error());
}

ASSAY_TEST(race, line_names_the_memory_and_both_threads, "race sim") {
    check_line(READ_BEFORE_BARRIER, "race in ");
    check_line(READ_BEFORE_BARRIER, "__shared__ tile");
    check_line(READ_BEFORE_BARRIER, "thread (24,0,0) writes, thread (23,0,0) read at ");
    check_line(NEVER_WRITTEN, "__shared__ tile+20: block (0,0,0) thread (42,0,0) reads");
    check_line(NEVER_WRITTEN_DYNAMIC, "shared memory, bytes 188 to 191: block (1,0,0)");
    check_line(BLOCKS_MEET, "global memory, byte 0 of an allocation of 2304: block (1,0,0) thread "
                            "(0,0,0) writes, block (0,0,0) thread (0,0,0) wrote at race.cu:");
}

/* Each block but the first writes 48 words that another one wrote. */
ASSAY_TEST(race, one_report_for_a_pair_of_places, "race sim") {
    assay_status status;
    launch(BLOCKS_MEET, false, ASSAY_SCHEDULE_IN_ORDER, &status);
    REQUIRE(sim_race_count() == 1);
    CHECK(sim_race_at(0)->count == (RACE_BLOCKS - 1) * RACE_THREADS);
    CHECK(sim_race_at(0)->before_kind == SIM_WRITE && sim_race_at(0)->after_kind == SIM_WRITE);
}

ASSAY_TEST(race, tiled_product_is_clean, "race sim") {
    enum { N = 64 };
    const assay_device *device = assay_sim_device();
    void *matrix[3] = {NULL};
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(device->alloc(sizeof(float[N][N]), &matrix[i]));
        memset(matrix[i], 0, sizeof(float[N][N]));
    }
    REQUIRE_OK(race_matmul(N, matrix[0], matrix[1], matrix[2]));
    for (int i = 0; i < 3; ++i)
        device->release(matrix[i]);
}

/* ---- counters beyond 24 bits ---- */

void race_be_late(void) {
    sim_clocks *c = sim_running_now.clocks;
    c->top = c->top > race_late ? c->top : race_late;
}

static void check_all(void) {
    for (int k = 0; k < RACE_KERNELS; ++k) {
        check_found((race_kernel)k, ASSAY_SCHEDULE_IN_ORDER);
        check_clean((race_kernel)k, ASSAY_SCHEDULE_IN_ORDER);
    }
}

/* The first access is at the last time of 24 bits, behind it, and so on. */
ASSAY_TEST(race, times_have_more_than_24_bits, "race sim") {
    static const uint32_t late[] = {(1u << 24) - 3, (1u << 24) - 2, (1u << 24) - 1,
                                    1u << 24,       1u << 31,       UINT32_MAX - 256};
    for (size_t i = 0; i < sizeof late / sizeof *late; ++i) {
        race_late = late[i];
        check_all();
    }
    race_late = 0;
}

/* Two million blocks, which do nothing. */
ASSAY_TEST(race, serials_of_blocks_have_more_than_24_bits, "race sim") {
    enum { LAUNCHES = 64, BLOCKS = (1 << 24) / LAUNCHES / SIM_SERIALS + 1 };
    uint32_t last = 0;
    for (int i = 0; i < LAUNCHES; ++i) {
        sim_order_launch(1);
        for (uint64_t b = 0; b < BLOCKS; ++b) {
            sim_clocks *c = sim_order_block(b, 0, 1);
            last = c->serial;
            sim_order_block_end(c);
        }
        sim_order_launch_end();
    }
    CHECK(last >= 1u << 24);
    check_all();
}

static void run_to_the_end(void *unused) {
    assay_status status;
    (void)unused;
    race_late = UINT32_MAX - 3;
    launch(WRITE_AFTER_READ, true, ASSAY_SCHEDULE_IN_ORDER, &status);
}

ASSAY_TEST(race, no_verdict_where_time_ends, "race sim") {
    assay_test_expect_death(__FILE__, __LINE__, run_to_the_end, NULL,
                            "the race recorder can count no more barriers and fences of a block; "
                            "choose a smaller case");
}
