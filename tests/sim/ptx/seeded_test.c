/* The race recorder on kernels from PTX: each seeded defect (seeded.def) is found under every
 * schedule, on the lines that have it, and nothing is told of its right twin. */
#include "sim/asan.h"
#include "sim/ptx/launch.h"
#include "sim/race/race.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RACE = SIM_RACE,
    EQUAL = SIM_RACE_EQUAL,
    UNINITIALISED = SIM_UNINITIALISED,
    BEYOND = SIM_BEYOND,
    DEFECT = -1
};
enum { INTS = 4096, LINES = 1024, LONGEST = 200 };

static const struct {
    const char *name;
    uint32_t blocks, threads;
    int class;
} seeded[] = {
#define SEEDED(name, blocks, threads, found) {#name, blocks, threads, found},
#include "tests/sim/ptx/seeded.def"
};
enum { KERNELS = sizeof seeded / sizeof seeded[0] };

static struct {
    ptx_module *module;
    bool races[LINES]; /* which lines of the source say so */
} now;

static char *read_file(const char *name, size_t *n) {
    char path[1024], *text = malloc(1 << 20);
    snprintf(path, sizeof path, "%s/%s", ASSAY_PTX_SOURCES, name);
    FILE *file = fopen(path, "rb");
    REQUIRE_MSG(file != NULL && text != NULL, "%s cannot be read", path);
    *n = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

static void note_lines(void) {
    size_t n;
    char *text = read_file("seeded.cu", &n);
    int line = 1;
    for (char *at = text, *end; at < text + n && line < LINES; at = end + 1, ++line) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (end == NULL)
            break;
        now.races[line] = end - at > 6 && memcmp(end - 5, "races", 5) == 0;
    }
    free(text);
}

static void load(void) {
    size_t n;
    if (now.module != NULL)
        return;
    note_lines();
    char *text = read_file("seeded.ptx", &n);
    REQUIRE_OK(ptx_module_load(text, n, "seeded.ptx", &now.module));
    free(text);
    ptx_module_record(now.module, true);
}

static void clear_variables(void) {
    static const char *const names[] = {"winner",  "ready", "count", "total",
                                        "arrived", "mutex", "parts"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *address;
        size_t bytes;
        REQUIRE_OK(ptx_module_symbol(now.module, names[i], &address, &bytes));
        memset(address, 0, bytes);
    }
}

static assay_status launch(int32_t which, bool right, assay_schedule schedule) {
    static _Alignas(16) int32_t memory[INTS];
    const uint32_t grid[] = {seeded[which].blocks, 1, 1}, block[] = {seeded[which].threads, 1, 1};
    const uint32_t one[] = {1, 1, 1};
    const struct {
        int32_t which;
        bool right;
        int32_t *out;
    } parameters = {which, right, memory};
    memset(memory, 0, sizeof memory);
    clear_variables();
    assay_sim_device()->schedule(schedule, 1);
    const assay_status status =
        ptx_launch(ptx_module_find(now.module, "seeded"), grid, block, one, 0, &parameters);
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    return status;
}

static bool is_marked(const sim_source *source) {
    return strcmp(source->file, "seeded.cu") == 0 && source->line > 0 && source->line < LINES &&
           now.races[source->line];
}

static void check_lines(const char *name, const char *in, int class) {
    CHECK_MSG(sim_race_count() > 0, "%s, %s: nothing is told", name, in);
    for (int32_t i = 0; i < sim_race_count(); ++i) {
        const sim_race *race = sim_race_at(i);
        const bool alone = race->class == SIM_UNINITIALISED || race->class == SIM_BEYOND;
        CHECK_MSG((int)race->class == class || (i > 0 && race->class == SIM_RACE_EQUAL),
                  "%s, %s: a %s: %s", name, in, sim_race_name(race->class), race->text);
        CHECK_MSG(is_marked(&race->after) && (alone || is_marked(&race->before)),
                  "%s, %s: %s:%d: %s", name, in, race->after.file, race->after.line, race->text);
    }
}

#if defined(SIM_ASAN)
enum { ENDS_BY_ASAN = SIM_BEYOND };
#else
enum { ENDS_BY_ASAN = -1 };
#endif

static void check_kernel(int32_t i, assay_schedule schedule) {
    const char *name = seeded[i].name, *in = assay_schedule_name(schedule);
    if (seeded[i].class == ENDS_BY_ASAN)
        return;
    assay_status status = launch(i, false, schedule);
    const bool fails = seeded[i].class != EQUAL;
    CHECK_MSG(status == (fails ? ASSAY_ERR_KERNEL : ASSAY_OK), "%s, %s: %s", name, in,
              fails ? "not found" : assay_error());
    if (seeded[i].class != DEFECT)
        check_lines(name, in, seeded[i].class);
    status = launch(i, true, schedule);
    CHECK_MSG(status == ASSAY_OK, "%s, %s, right: %s", name, in, assay_error());
    CHECK_MSG(sim_race_count() == 0, "%s, %s, right: %s", name, in, sim_race_at(0)->text);
}

ASSAY_TEST(ptx_race, seeded_defects_are_found_and_right_twins_are_not, "unit sim") {
    load();
    for (int32_t i = 0; i < KERNELS; ++i)
        for (int schedule = 0; schedule < ASSAY_SCHEDULES; ++schedule)
            check_kernel(i, (assay_schedule)schedule);
}
