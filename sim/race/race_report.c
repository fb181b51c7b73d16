#include "sim/race/race_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 256, PLACES = 1024 }; /* powers of two, sparsely filled */

typedef struct finding {
    sim_race_side after, before;
    bool uninitialised, shared, dynamic;
    const volatile void *address;
    sim_range range; /* what holds it */
    uint64_t count;
} finding;

static struct {
    finding finding[SIM_RACES];
    int32_t n_findings;
    int32_t slot[SLOTS]; /* hash of a pair: index + 1 */
    uint64_t unlisted;   /* conflicts of further pairs */
    sim_race race[SIM_RACES];
    int32_t n_races;
} report;

static struct {
    const char *file;
    int line;
} places[PLACES];

uint64_t sim_race_place(const char *file, int line) {
    size_t slot = ((uintptr_t)file + (size_t)line * 31) % PLACES;
    for (size_t i = 0; i < PLACES - 1; ++i) {
        size_t at = (slot + i) % PLACES;
        if (at == 0)
            continue; /* 0 is no place */
        if (!places[at].file) {
            places[at].file = file;
            places[at].line = line;
        }
        if (places[at].file == file && places[at].line == line)
            return at;
    }
    return 0;
}

static sim_source source_of(uint64_t place) {
    if (place >= PLACES)
        return sim_symbol_source((uintptr_t)place);
    sim_source source = {.file = "?", .line = places[place].line};
    const char *file = places[place].file;
    if (file) {
        const char *slash = strrchr(file, '/');
        snprintf(source.file, sizeof source.file, "%.*s", SIM_SYMBOL_TEXT - 1,
                 slash ? slash + 1 : file);
    }
    return source;
}

void sim_race_begin(void) {
    report.n_findings = report.n_races = 0;
    report.unlisted = 0;
    memset(report.slot, 0, sizeof report.slot);
}

/* The slot of a pair, in either order, or the free one that it would take. */
static int32_t *find(uint64_t a, uint64_t b) {
    for (size_t slot = (size_t)((a ^ b) * 0x9e3779b97f4a7c15u >> 32);; ++slot) {
        int32_t *at = &report.slot[slot % SLOTS];
        if (*at == 0)
            return at;
        const finding *f = &report.finding[*at - 1];
        if ((f->after.place == a && f->before.place == b) ||
            (f->after.place == b && f->before.place == a))
            return at;
    }
}

bool sim_race_again(uint64_t after, uint64_t before) {
    int32_t index = *find(after, before);
    if (index > 0)
        ++report.finding[index - 1].count;
    return index > 0;
}

void sim_race_found(const sim_region *region, const volatile void *address,
                    const sim_race_side *after, const sim_race_side *before) {
    if (report.n_findings == SIM_RACES) {
        ++report.unlisted;
        return;
    }
    *find(after->place, before ? before->place : 0) = report.n_findings + 1;
    report.finding[report.n_findings++] = (finding){
        .after = *after,
        .before = before ? *before : (sim_race_side){.kind = SIM_READ},
        .uninitialised = !before,
        .shared = region->shared,
        .dynamic = region == &sim_shadow_parts[1],
        .address = address,
        .range = region->range,
        .count = 1,
    };
}

static const char *memory_text(const finding *f, char text[2 * SIM_SYMBOL_TEXT]) {
    char name[SIM_SYMBOL_TEXT];
    ptrdiff_t offset = (const volatile char *)f->address - f->range.low;
    if (f->dynamic)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "dynamic shared memory+%td", offset);
    else if (f->shared)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "__shared__ %s",
                 sim_symbol_variable((const void *)f->address, name));
    else
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "global memory, byte %td of an allocation of %td",
                 offset, f->range.high - f->range.low);
    return text;
}

static const char *const does[] = {
    [SIM_READ] = "reads", [SIM_WRITE] = "writes", [SIM_ATOMIC] = "updates atomically"};
static const char *const did[] = {
    [SIM_READ] = "read", [SIM_WRITE] = "wrote", [SIM_ATOMIC] = "updated atomically"};

static void compose(const finding *f, sim_race *race) {
    char memory[2 * SIM_SYMBOL_TEXT], after[SIM_POSITION], before[SIM_POSITION], line[16] = "";
    race->uninitialised = f->uninitialised;
    race->count = f->count;
    race->after_kind = f->after.kind;
    race->before_kind = f->before.kind;
    race->after = source_of(f->after.place);
    sim_block_thread_text(f->after.block, f->after.thread, after);
    memory_text(f, memory);
    if (f->uninitialised) {
        snprintf(race->text, sizeof race->text,
                 "%.100s: %s %s what no thread of its block has written; %" PRIu64 " times", memory,
                 after, does[f->after.kind], race->count);
        return;
    }
    race->before = source_of(f->before.place);
    if (race->before.line > 0)
        snprintf(line, sizeof line, ":%d", race->before.line);
    bool same_block = f->after.block == f->before.block;
    snprintf(race->text, sizeof race->text,
             "%.100s: %s %s, %s %s at %.60s%s; %s; %" PRIu64 " times", memory, after,
             does[f->after.kind],
             same_block ? sim_thread_text(f->before.thread, before)
                        : sim_block_thread_text(f->before.block, f->before.thread, before),
             did[f->before.kind], race->before.file, line,
             same_block ? "no barrier between" : "nothing orders blocks", race->count);
}

/* A read that comes too early, and so finds nothing written, is told as the race that it is. */
static bool races_too(const finding *uninitialised) {
    uint64_t place = uninitialised->after.place;
    for (int32_t i = 0; i < report.n_findings; ++i) {
        const finding *f = &report.finding[i];
        if (!f->uninitialised && (f->after.place == place || f->before.place == place))
            return true;
    }
    return false;
}

static void tell(const finding *f) {
    sim_race *race = &report.race[report.n_races++];
    compose(f, race);
    const char *kind = race->uninitialised ? "uninitialised shared memory" : "race";
    if (race->after.line > 0)
        sim_defect(kind, race->after.file, race->after.line, "%s", race->text);
    else
        sim_defect(kind, NULL, 0, "%s: %s", race->after.file, race->text);
}

void sim_race_end(void) {
    for (int32_t i = 0; i < report.n_findings; ++i)
        if (!report.finding[i].uninitialised)
            tell(&report.finding[i]);
    for (int32_t i = 0; i < report.n_findings; ++i)
        if (report.finding[i].uninitialised && !races_too(&report.finding[i]))
            tell(&report.finding[i]);
    for (uint64_t i = 0; i < report.unlisted; ++i)
        (void)sim_defect_again("race");
}

int32_t sim_race_count(void) {
    return report.n_races;
}

const sim_race *sim_race_at(int32_t i) {
    return &report.race[i];
}
