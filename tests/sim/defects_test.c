/* Every class of defect is found, under every schedule, with its line; its correct twin is not. */
#include "sim/asan.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = SIM_TEST_THREADS, SEEDS = 3 };

static int mirrored(int t) {
    return THREADS - 1 - t;
}

static int partner(int t) {
    return t ^ 1;
}

typedef struct defect_class {
    const char *name;
    assay_status (*launch)(int broken, int *out);
    int (*want)(int t); /* of the twin */
    int threads;
    const char *
        line; /* starts with one of two places when the schedule decides which thread comes first */
    const char *other_line;
} defect_class;

static const defect_class classes[] = {
    {"missing barrier", sim_defect_missing_barrier, mirrored, THREADS,
     "defects.cu:101: divergent barrier in missing_barrier: block (0,0,0) thread (",
     "defects.cu:103: divergent barrier in missing_barrier: block (0,0,0) thread ("},
    {"divergent barrier", sim_defect_divergent_barrier, mirrored, THREADS,
     "defects.cu:202: divergent barrier in divergent_barrier: block (0,0,0) thread (",
     "defects.cu:201: divergent barrier in divergent_barrier: block (0,0,0) thread (7,0,0) waits "
     "here, thread ("},
    {"caller not in its mask", sim_defect_mask_without_caller, partner, THREADS,
     "defects.cu:301: wrong mask in mask_without_caller: block (0,0,0) thread (35,0,0) calls "
     "__shfl_xor_sync with mask 0xfffffff7, without lane 3",
     NULL},
    {"reads an absent lane", sim_defect_reads_absent_lane, partner, 20,
     "defects.cu:401: wrong lane in reads_absent_lane: block (0,0,0) thread (4,0,0) reads lane 20, "
     "which does not exist in this block (__shfl_xor_sync, mask 0xffffffff)",
     NULL},
    {"reads an exited lane", sim_defect_reads_exited_lane, partner, THREADS,
     "defects.cu:501: wrong lane in reads_exited_lane: block (0,0,0) thread (4,0,0) reads lane 5, "
     "which has exited (__shfl_xor_sync, mask 0xffffffff)",
     NULL},
    {"mismatched masks", sim_defect_mismatched_masks, partner, THREADS,
     "defects.cu:601: mismatched masks in mismatched_masks: block (0,0,0) thread (",
     "defects.cu:602: mismatched masks in mismatched_masks: block (0,0,0) thread ("},
    {"mismatched collectives", sim_defect_mismatched_collectives, partner, THREADS,
     "defects.cu:701: mismatched collectives in mismatched_collectives: block (0,0,0) thread (",
     "defects.cu:702: mismatched collectives in mismatched_collectives: block (0,0,0) thread ("},
    {"wrong lane", sim_defect_wrong_lane, partner, THREADS,
     "defects.cu:801: wrong lane in wrong_lane: block (0,0,0) thread (3,0,0) reads lane 20, which "
     "is not in the mask (__shfl_sync, mask 0x0000ffff)",
     NULL},
    {"wrong width", sim_defect_wrong_width, partner, THREADS,
     "defects.cu:901: wrong width in wrong_width: block (0,0,0) thread (", NULL},
    {"deadlock", sim_defect_deadlock, mirrored, THREADS,
     "defects.cu:1001: deadlock in deadlock: block (0,0,0): nothing can run: 16 threads wait at "
     "__syncwarp line 1001, first thread (0,0,0); 48 threads wait at __syncthreads line 1002, "
     "first thread (16,0,0)",
     NULL},
    {"livelock", sim_defect_livelock, mirrored, THREADS,
     "defects.cu:1101: livelock in livelock: block (0,0,0) thread (0,0,0)", NULL},
    {"trap", sim_defect_trap, mirrored, THREADS,
     "defects.cu:1201: trap in trap: block (0,0,0) thread (9,0,0)", NULL},
    {"misaligned access", sim_defect_misaligned_access, mirrored, THREADS,
     "defects.cu:1301: misaligned address in misaligned_access: block (0,0,0) thread (9,0,0) calls "
     "load_whole with an address not aligned to 16",
     NULL},
    {"misaligned store", sim_defect_misaligned_store, mirrored, THREADS,
     "defects.cu:1401: misaligned address in misaligned_store: block (0,0,0) thread (8,0,0) calls "
     "__stcs with an address not aligned to 16",
     NULL},
    {"misaligned atomic", sim_defect_misaligned_atomic, mirrored, THREADS,
     "defects.cu:1701: misaligned address in misaligned_atomic: block (0,0,0) thread (8,0,0) calls "
     "an atomic with an address not aligned to 8",
     NULL},
/* UndefinedBehaviorSanitizer ends the process; clang does not check copies of structures. */
#if !defined(SIM_ASAN) && !defined(__clang__)
    {"misaligned cast", sim_defect_misaligned_cast, mirrored, THREADS,
     "defects.cu:1501: misaligned address in misaligned_cast: block (0,0,0) thread (9,0,0) accesses "
     "float4 at an address not aligned to 16",
     NULL},
    {"misaligned cast, a store", sim_defect_misaligned_cast_store, mirrored, THREADS,
     "defects.cu:1601: misaligned address in misaligned_cast_store: block (0,0,0) thread (8,0,0) "
     "accesses int2 at an address not aligned to 8",
     NULL},
#endif
};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static bool starts_with(const char *text, const char *start) {
    return start && strncmp(text, start, strlen(start)) == 0;
}

static void check_found(const defect_class *c, const char *schedule) {
    _Alignas(8) int out[THREADS];
    assay_status status = c->launch(1, out);
    CHECK_MSG(status == ASSAY_ERR_KERNEL, "%s, %s: status %d", c->name, schedule, status);
    CHECK_MSG(starts_with(assay_error(), c->line) || starts_with(assay_error(), c->other_line),
              "%s, %s: %s", c->name, schedule, assay_error());
    if (getenv("ASSAY_SIM_PRINT"))
        printf("%s\n", assay_error());
}

static void check_twin(const defect_class *c, const char *schedule) {
    _Alignas(8) int out[THREADS];
    memset(out, 0xff, sizeof out);
    REQUIRE_OK(c->launch(0, out));
    for (int t = 0; t < c->threads; ++t)
        CHECK_MSG(out[t] == c->want(t), "%s, %s: thread %d left %d", c->name, schedule, t, out[t]);
}

static void for_each_schedule(const defect_class *c,
                              void (*check)(const defect_class *c, const char *schedule)) {
    const assay_device *device = assay_sim_device();
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            device->schedule((assay_schedule)s, seed);
            check(c, assay_schedule_name((assay_schedule)s));
        }
    }
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
}

ASSAY_TEST(sim, defects_are_found, "unit sim") {
    for (int i = 0; i < CLASSES; ++i)
        for_each_schedule(&classes[i], check_found);
}

ASSAY_TEST(sim, correct_twins_are_not_reported, "unit sim") {
    for (int i = 0; i < CLASSES; ++i)
        for_each_schedule(&classes[i], check_twin);
}

ASSAY_TEST(sim, finish_reports_the_first_defect_once, "unit sim") {
    const assay_device *device = assay_sim_device();
    int out[THREADS];
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    CHECK(sim_defect_trap(1, out) == ASSAY_ERR_KERNEL);
    CHECK(sim_defect_deadlock(1, out) == ASSAY_ERR_KERNEL);
    REQUIRE_OK(sim_defect_trap(0, out));
    CHECK_FAILS(device->finish(), ASSAY_ERR_KERNEL, "trap in trap");
    REQUIRE_OK(device->finish());
}

/* What an earlier run left is not this one's. */
ASSAY_TEST(sim, a_run_begins_without_earlier_defects, "unit sim") {
    const assay_device *device = assay_sim_device();
    int out[THREADS];
    CHECK(sim_defect_trap(1, out) == ASSAY_ERR_KERNEL);
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    REQUIRE_OK(device->finish());
}

static void check_nan(assay_status (*launch)(int broken, float *out)) {
    float out[THREADS];
#if defined(ASSAY_RECORDED) /* the recorder knows of the missing write, too, and the launch goes   \
                               on */
    CHECK_FAILS(launch(1, out), ASSAY_ERR_KERNEL, "uninitialised shared memory");
#else
    REQUIRE_OK(launch(1, out));
#endif
    for (int t = 0; t < THREADS; ++t)
        CHECK_MSG(t == mirrored(11) ? isnan(out[t]) : out[t] == (float)mirrored(t),
                  "thread %d left %g", t, (double)out[t]);
    REQUIRE_OK(launch(0, out));
    for (int t = 0; t < THREADS; ++t)
        CHECK(out[t] == (float)mirrored(t));
}

/* Two blocks: the second one must not find what the first one wrote. */
ASSAY_TEST(sim, uninitialised_shared_memory_is_nan, "unit sim") {
    check_nan(sim_uninitialised_shared);
    check_nan(sim_uninitialised_dynamic);
}

typedef struct refusal {
    unsigned grid[3], block[3];
    size_t shared_bytes;
    const char *text; /* NULL: legal */
} refusal;

static const refusal refusals[] = {
    {{1, 1, 1}, {1024, 1, 1}, 232448, NULL},
    {{1, 65535, 1}, {1, 1, 1}, 0, NULL},
    {{1, 1, 1}, {4, 4, 64}, 0, NULL},
    {{1, 1, 1}, {1025, 1, 1}, 0, "defects.cu:2001: launch of configured refused: a block of 1025"},
    {{1, 1, 1}, {32, 33, 1}, 0, "a block of 32 x 33 x 1 threads, it must have 1 to 1024"},
    {{1, 1, 1}, {1, 1, 65}, 0, "a block of 1 x 1 x 65"},
    {{1, 1, 1}, {0, 1, 1}, 0, "a block of 0 x 1 x 1"},
    {{1, 65536, 1}, {1, 1, 1}, 0, "a grid of 1 x 65536 x 1"},
    {{1, 1, 65536}, {1, 1, 1}, 0, "a grid of 1 x 1 x 65536"},
    {{1u << 31, 1, 1}, {1, 1, 1}, 0, "a grid of 2147483648 x 1 x 1"},
    {{1, 1, 1}, {1, 1, 1}, 232449, "232449 bytes of dynamic shared memory"},
};

ASSAY_TEST(sim, illegal_configurations_are_refused, "unit sim") {
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
        const refusal *r = &refusals[i];
        int ran = 0;
        assay_status status = sim_configured(r->grid, r->block, r->shared_bytes, &ran);
        CHECK_MSG(status == (r->text ? ASSAY_ERR_DEVICE : ASSAY_OK), "row %zu: %d, %s", i, status,
                  assay_error());
        CHECK_MSG(ran == (r->text == NULL), "row %zu: ran %d", i, ran);
        CHECK_MSG(!r->text || strstr(assay_error(), r->text), "row %zu: %s", i, assay_error());
    }
}

ASSAY_TEST(sim, an_empty_grid_is_not_launched, "unit sim") {
    const unsigned one[3] = {1, 1, 1};
    for (int axis = 0; axis < 3; ++axis) {
        unsigned grid[3] = {1, 1, 1};
        grid[axis] = 0;
        int ran = 0;
        REQUIRE_OK(sim_configured(grid, one, 0, &ran));
        CHECK(ran == 0);
    }
}

ASSAY_TEST(sim, a_launch_within_a_kernel_is_refused, "unit sim") {
    int out[2] = {0, 0};
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    REQUIRE_OK(sim_nested_launch(out));
    CHECK(out[0] == 0 && out[1] == ASSAY_ERR_DEVICE);
    CHECK_FAILS(assay_sim_device()->finish(), ASSAY_ERR_DEVICE, "from within the kernel launching");
}

ASSAY_TEST(sim, device_memory_starts_as_nan, "unit sim") {
    const assay_device *device = assay_sim_device();
    void *memory = NULL;
    REQUIRE_OK(device->alloc(100 * sizeof(double), &memory));
    CHECK((uintptr_t)memory % 256 == 0);
    const double *numbers = memory;
    for (int i = 0; i < 100; ++i)
        CHECK(isnan(numbers[i]));
    device->guard(memory, 64, true);
    device->guard(memory, 64, false);
    CHECK(isnan(numbers[0]));
    device->release(memory);
    device->release(NULL);
}

#if defined(SIM_ASAN)

typedef struct store {
    assay_status (*launch)(int i, int *out);
    int i;
} store;

static void run_store(void *context) {
    const store *s = context;
    int *out = malloc(THREADS * sizeof *out);
    (void)!s->launch(s->i, out);
    free(out);
}

static void dies(assay_status (*launch)(int i, int *out), int i, const char *kernel) {
    char regex[160];
    snprintf(regex, sizeof regex,
             "error in %s: block \\(0,0,0\\) thread \\(63,0,0\\)(.|\n)*defects.cu", kernel);
    store s = {launch, i};
    assay_test_expect_death(__FILE__, __LINE__, run_store, &s, regex);
}

ASSAY_TEST(sim, out_of_bounds_dies_with_kernel_thread_and_line, "unit sim") {
    dies(sim_store_global, THREADS, "store_global");
    dies(sim_store_global, -1, "store_global");
    dies(sim_store_static, THREADS, "store_static");
    dies(sim_store_static, -1, "store_static");
    dies(sim_store_dynamic, THREADS, "store_dynamic");
    dies(sim_store_dynamic, -1, "store_dynamic");
}

static void read_guarded(void *context) {
    int *memory = context;
    assay_sim_device()->guard(memory, 2 * sizeof *memory, true);
    (void)!sim_store_global(1, memory);
}

ASSAY_TEST(sim, guarded_memory_traps, "unit sim") {
    void *memory = NULL;
    REQUIRE_OK(assay_sim_device()->alloc(THREADS * sizeof(int), &memory));
    assay_test_expect_death(__FILE__, __LINE__, read_guarded, memory, "error in store_global");
    assay_sim_device()->release(memory);
}

#endif

ASSAY_TEST(sim, stores_within_bounds_are_not_reported, "unit sim") {
    int out[THREADS];
    for (int i = 0; i < THREADS; i += THREADS - 1) {
        REQUIRE_OK(sim_store_global(i, out));
        CHECK(out[i] == i);
        REQUIRE_OK(sim_store_static(i, out));
        CHECK(out[i] == i);
        REQUIRE_OK(sim_store_dynamic(i, out));
        CHECK(out[i] == i);
    }
}
