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

enum { INTS = 4096, LINES = 2048, LONGEST = 200 };

typedef struct seed {
    const char *name;
    uint32_t blocks, threads;
    const char *found; /* a class of races; DEFECT, ANY: a line; "a kind": one that names it */
} seed;

static const seed any_gpu[] = {
#define SEEDED(name, blocks, threads, found) {#name, blocks, threads, #found},
#include "tests/sim/ptx/seeded.def"
};
#undef SEEDED

static const seed of_hopper[] = {
#define SEEDED(name, blocks, threads, found)        {#name, blocks, threads, #found},
#define SEEDED_IN(name, blocks, threads, found)     {#name, blocks, threads, #found},
#define SEEDED_MMA(name, blocks, threads, found)    {#name, blocks, threads, #found},
#define SEEDED_MMA_IN(name, blocks, threads, found) {#name, blocks, threads, #found},
#define SEEDED_PAIR(name, blocks, threads, found)
#define SEEDED_PAIR_IN(name, blocks, threads, found)
#include "tests/sim/ptx/hopper.def"
};

static const seed of_clusters[] = {
#define SEEDED(name, blocks, threads, found)
#define SEEDED_IN(name, blocks, threads, found)
#define SEEDED_MMA(name, blocks, threads, found)
#define SEEDED_MMA_IN(name, blocks, threads, found)
#define SEEDED_PAIR(name, blocks, threads, found)    {#name, blocks, threads, #found},
#define SEEDED_PAIR_IN(name, blocks, threads, found) {#name, blocks, threads, #found},
#include "tests/sim/ptx/hopper.def"
};

static struct {
    const char *name; /* of the files */
    const char *kernel;
    ptx_module *module;
    bool races[LINES]; /* which lines of the source say so */
} now;

static int class_of(const seed *s) {
    static const struct {
        const char *name;
        int class;
    } classes[] = {{"RACE", SIM_RACE},        {"EQUAL", SIM_RACE_EQUAL},
                   {"GUESS", SIM_RACE_GUESS}, {"UNINITIALISED", SIM_UNINITIALISED},
                   {"BEYOND", SIM_BEYOND},    {"MISSED", SIM_MISSED}};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; ++i)
        if (strcmp(s->found, classes[i].name) == 0)
            return classes[i].class;
    return -1;
}

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
    char name[64];
    snprintf(name, sizeof name, "%s.cu", now.name);
    char *text = read_file(name, &n);
    int line = 1;
    memset(now.races, 0, sizeof now.races);
    for (char *at = text, *end; at < text + n && line < LINES; at = end + 1, ++line) {
        end = memchr(at, '\n', (size_t)(text + n - at));
        if (end == NULL)
            break;
        now.races[line] = end - at > 6 && memcmp(end - 5, "races", 5) == 0;
    }
    free(text);
}

static void load(const char *name) {
    size_t n;
    char file[64];
    now.name = name;
    note_lines();
    snprintf(file, sizeof file, "%s.ptx", name);
    char *text = read_file(file, &n);
    REQUIRE_OK(ptx_module_load(text, n, file, &now.module));
    const ptx_unknown *unknown = ptx_module_unknown(now.module, 0);
    CHECK_MSG(unknown == NULL, "%s is not known", unknown->opcode);
    free(text);
    ptx_module_record(now.module, true);
}

static void clear_variables(void) {
    static const char *const names[] = {"winner",  "ready", "count", "total",
                                        "arrived", "mutex", "parts"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        void *address;
        size_t bytes;
        if (ptx_module_symbol(now.module, names[i], &address, &bytes) == ASSAY_OK)
            memset(address, 0, bytes);
    }
}

static assay_status launch(const seed *s, int32_t which, bool right, assay_schedule schedule,
                           uint64_t number) {
    static _Alignas(16) int32_t memory[INTS], input[INTS];
    const uint32_t grid[] = {s->blocks, 1, 1}, block[] = {s->threads, 1, 1};
    const uint32_t one[] = {1, 1, 1};
    const struct {
        int32_t which;
        bool right;
        int32_t *out, *in;
    } parameters = {which, right, memory, input};
    memset(memory, 0, sizeof memory);
    clear_variables();
    assay_sim_device()->schedule(schedule, number);
    const assay_status status =
        ptx_launch(ptx_module_find(now.module, now.kernel), grid, block, one, 0, &parameters);
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    return status;
}

static bool is_marked(const sim_source *source) {
    const size_t n = strlen(now.name);
    return strncmp(source->file, now.name, n) == 0 && strcmp(source->file + n, ".cu") == 0 &&
           source->line > 0 && source->line < LINES && now.races[source->line];
}

static void check_lines(const seed *s, const char *in, int class) {
    const char *name = s->name;
    CHECK_MSG(sim_race_count() > 0, "%s, %s: no race is told: %s", name, in, assay_error());
    for (int32_t i = 0; i < sim_race_count(); ++i) {
        const sim_race *race = sim_race_at(i);
        const bool alone = race->class == SIM_UNINITIALISED || race->class == SIM_BEYOND;
        if (i > 0 && race->class == SIM_MISSED && class == SIM_RACE)
            continue; /* a barrier that is missing may have both consequences */
        CHECK_MSG((int)race->class == class || (i > 0 && race->class == SIM_RACE_EQUAL),
                  "%s, %s: a %s: %s", name, in, sim_race_name(race->class), race->text);
        CHECK_MSG(is_marked(&race->after) && (alone || is_marked(&race->before)),
                  "%s, %s: %s:%d: %s", name, in, race->after.file, race->after.line, race->text);
        CHECK_MSG(s->blocks > 1 || strstr(race->text, "nothing orders blocks") == NULL,
                  "%s, %s: one block: %s", name, in, race->text);
    }
}

#if defined(SIM_ASAN)
enum { ENDS_BY_ASAN = SIM_BEYOND };
#else
enum { ENDS_BY_ASAN = -2 };
#endif

static void check_kind(const seed *s, const char *in) {
    char kind[64];
    snprintf(kind, sizeof kind, ": %.*s in ", (int)strlen(s->found) - 2, s->found + 1);
    CHECK_MSG(s->found[0] != '"' || strstr(assay_error(), kind) != NULL, "%s, %s: %s", s->name, in,
              assay_error());
}

static void check_kernel(const seed *s, int32_t i, assay_schedule schedule) {
    const char *name = s->name, *in = assay_schedule_name(schedule);
    const int class = class_of(s);
    if (class == ENDS_BY_ASAN)
        return;
    assay_status status = launch(s, i, false, schedule, 1);
    const bool fails = class < 0 || !sim_race_is_note((sim_race_class) class);
    CHECK_MSG(status == (fails ? ASSAY_ERR_KERNEL : ASSAY_OK), "%s, %s: %s", name, in,
              fails ? "not found" : assay_error());
    if (class >= 0)
        check_lines(s, in, class);
    else
        check_kind(s, in);
    status = launch(s, i, true, schedule, 1);
    CHECK_MSG(status == ASSAY_OK, "%s, %s, right: %s", name, in, assay_error());
    CHECK_MSG(sim_race_count() == 0, "%s, %s, right: %s", name, in, sim_race_at(0)->text);
}

static void check_all(const char *name, const char *kernel, const seed *seeds, size_t n) {
    load(name);
    now.kernel = kernel;
    for (size_t i = 0; i < n; ++i)
        for (int schedule = 0; schedule < ASSAY_SCHEDULES; ++schedule)
            check_kernel(&seeds[i], (int32_t)i, (assay_schedule)schedule);
    ptx_module_free(now.module);
}

ASSAY_TEST(ptx_race, seeded_defects_are_found_and_right_twins_are_not, "unit sim") {
    check_all("seeded", "seeded", any_gpu, sizeof any_gpu / sizeof any_gpu[0]);
}

ASSAY_TEST(ptx_race, defects_of_hopper_are_found_and_right_twins_are_not, "unit sim") {
    check_all("hopper", "hopper", of_hopper, sizeof of_hopper / sizeof of_hopper[0]);
}

/* Without the recorder: a warp must in fact be left behind. */
ASSAY_TEST(ptx_race, a_warp_that_falls_behind_is_found_without_the_recorder, "unit sim") {
    enum { SEEDS = 40 };
    static const char *const names[] = {"warp_goes_ahead", "product_of_the_first_tile"};
    load("hopper");
    ptx_module_record(now.module, false);
    now.kernel = "hopper";
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k)
        for (size_t i = 0; i < sizeof of_hopper / sizeof of_hopper[0]; ++i) {
            const seed *s = &of_hopper[i];
            int32_t found = 0;
            if (strcmp(s->name, names[k]) != 0)
                continue;
            for (uint64_t n = 1; n <= SEEDS; ++n) {
                if (launch(s, (int32_t)i, false, ASSAY_SCHEDULE_WARP, n) != ASSAY_OK)
                    found += strstr(assay_error(), ": missed phase in hopper: ") != NULL;
                CHECK_MSG(launch(s, (int32_t)i, true, ASSAY_SCHEDULE_WARP, n) == ASSAY_OK,
                          "%s, right: %s", s->name, assay_error());
            }
            CHECK_MSG(found >= SEEDS / 8, "%s: %d of %d", s->name, found, SEEDS);
        }
    ptx_module_free(now.module);
}

ASSAY_TEST(ptx_race, defects_of_clusters_are_found_and_right_twins_are_not, "unit sim") {
    check_all("hopper", "hopper_pair", of_clusters, sizeof of_clusters / sizeof of_clusters[0]);
}
