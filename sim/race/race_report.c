#include "sim/race/race_report.h"

#include "sim/allocation.h"
#include "sim/ptx/heap.h"
#include "sim/race/place.h"
#include "sim/race/shadow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 256 }; /* a power of two, sparsely filled */

static struct {
    sim_race_found finding[SIM_RACES];
    int32_t n_findings;
    int32_t slot[SLOTS]; /* hash of a pair: index + 1 */
    uint64_t unlisted;   /* conflicts of further pairs */
    sim_race race[SIM_RACES];
    int32_t n_races;
    bool tolerated;
} report;

bool (*sim_race_describe)(const volatile void *address, char *text, size_t size);

const char *sim_race_name(sim_race_class class) {
    static const char *const names[SIM_RACE_CLASSES] = {
        [SIM_RACE] = "race",
        [SIM_RACE_EQUAL] = "race of equal values",
        [SIM_RACE_GUESS] = "plain read before a compare-and-swap",
        [SIM_UNINITIALISED] = "uninitialised shared memory",
        [SIM_BEYOND] = "shared memory exceeded",
        [SIM_STRAY] = "out of bounds",
        [SIM_MISSED] = "missed phase",
    };
    return names[class];
}

bool sim_race_is_note(sim_race_class class) {
    return class == SIM_RACE_EQUAL || class == SIM_RACE_GUESS;
}

void sim_race_fails_launch(bool fails) {
    report.tolerated = !fails;
}

void sim_race_begin(void) {
    report.n_findings = report.n_races = 0;
    report.unlisted = 0;
    memset(report.slot, 0, sizeof report.slot);
}

static bool is_pair(const sim_race_found *f, uint32_t a, uint32_t b) {
    return (f->after.place == a && f->before.place == b) ||
           (f->after.place == b && f->before.place == a);
}

/* The slot of a pair, in either order, or the free one that it would take. */
static int32_t *find(sim_race_class class, uint32_t a, uint32_t b) {
    const uint64_t pair = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    for (size_t slot = (size_t)((pair + class) * 0x9e3779b97f4a7c15u >> 32);; ++slot) {
        int32_t *at = &report.slot[slot % SLOTS];
        if (*at == 0)
            return at;
        const sim_race_found *f = &report.finding[*at - 1];
        if (f->class == class && is_pair(f, a, b))
            return at;
    }
}

bool sim_race_again(sim_race_class class, uint32_t after, uint32_t before) {
    int32_t index = *find(class, after, before);
    if (index > 0)
        ++report.finding[index - 1].count;
    return index > 0;
}

void sim_race_add(const sim_race_found *found) {
    if (report.n_findings == SIM_RACES) {
        report.unlisted += !sim_race_is_note(found->class);
        return;
    }
    *find(found->class, found->after.place, found->before.place) = report.n_findings + 1;
    report.finding[report.n_findings] = *found;
    report.finding[report.n_findings++].count = 1;
}

static const char *memory_text(const sim_race_found *f, char text[2 * SIM_SYMBOL_TEXT]) {
    const ptrdiff_t offset = (const volatile char *)f->address - f->memory.low;
    char where[SIM_SYMBOL_TEXT];
    if (f->memory.low && f->dynamic)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "shared memory, bytes %td to %td", offset,
                 offset + f->bytes - 1);
    else if (f->memory.low)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "__shared__ %s",
                 sim_symbol_variable((const void *)f->address, where));
    else if (sim_race_describe && sim_race_describe(f->address, where, sizeof where))
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "global memory, %s", where);
    else
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "memory at %p", (const void *)f->address);
    return text;
}

static sim_access kind_of(uint32_t how) {
    return (how & SIM_WRITES) == 0 ? SIM_READ : (how & SIM_READS) == 0 ? SIM_WRITE : SIM_ATOMIC;
}

static const char *const does[] = {
    [SIM_READ] = "reads", [SIM_WRITE] = "writes", [SIM_ATOMIC] = "updates atomically"};
static const char *const did[] = {
    [SIM_READ] = "read", [SIM_WRITE] = "wrote", [SIM_ATOMIC] = "updated atomically"};
/* What the asynchronous proxy does for a thread. */
static const char *const does_async[] = {[SIM_READ] = "reads asynchronously",
                                         [SIM_WRITE] = "writes asynchronously",
                                         [SIM_ATOMIC] = "reduces asynchronously"};
static const char *const did_async[] = {[SIM_READ] = "read asynchronously",
                                        [SIM_WRITE] = "wrote asynchronously",
                                        [SIM_ATOMIC] = "reduced asynchronously"};
static const char *const reasons[] = {
    [SIM_NO_BARRIER] = "no barrier between",
    [SIM_NO_ORDER_OF_BLOCKS] = "nothing orders blocks",
    [SIM_NO_FENCE] = "no fence behind the read of the flag",
    [SIM_NO_WAIT] = "no wait for its end",
    [SIM_NO_PROXY_FENCE] = "no fence.proxy.async of the writer between",
    [SIM_SCOPE_OF_BLOCK] = "the scope of one is its block",
};

static const char checked[] =
    "the reader's compare-and-swap then checks the value, so that a stale one does no harm";

/* What lies nearest before an address that is out of bounds. */
static const char *near_text(const sim_race_found *f, char text[2 * SIM_SYMBOL_TEXT]) {
    enum { FAR = 1 << 16 };
    const char *at = (const char *)f->address;
    const sim_range *range = sim_allocation_of(f->address);
    char variable[SIM_SYMBOL_TEXT];
    int back = 0;
    while (back < FAR && sim_shadow_is_guarded(at - back) &&
           (!f->memory.low || at - back > f->memory.low))
        ++back;
    const char *last = at - back;
    if (f->memory.low && last > f->memory.low) {
        sim_symbol_variable(last, variable);
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "%d behind the end of %.*s", back - 1,
                 (int)strcspn(variable, "+"), variable); /* without the offset of its last byte */
    } else if (!f->memory.low && ptx_heap_describe(at, text, 2 * SIM_SYMBOL_TEXT)) {
        return text;
    } else if (!f->memory.low && !range)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "which the device did not allocate");
    else if (!f->memory.low && last >= range->low)
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "%d behind a row of a tensor", back - 1);
    else
        snprintf(text, 2 * SIM_SYMBOL_TEXT, "before all that is there");
    return text;
}

static void compose_missed(const sim_race_found *f, sim_race *race, const char *memory,
                           const char *who, const char *line) {
    char phase[32] = "the phase before the first", by[SIM_POSITION];
    if (f->phase > 0)
        snprintf(phase, sizeof phase, "phase %" PRIu32, f->phase - 1);
    if (f->after.block == f->before.block)
        sim_thread_text(f->before.thread, by);
    else
        sim_block_thread_text(f->before.block, f->before.thread, by);
    snprintf(
        race->text, sizeof race->text,
        "mbarrier in %.60s: %.60s waits for %s, and misses it once the %s of %.48s at %.60s%s has "
        "completed phase %" PRIu32 ", too; nothing orders the wait before; %" PRIu64 " times",
        memory, who, phase, f->before.async ? "copy" : "arrival", by, race->before.file, line,
        f->phase, race->count);
}

static void compose(const sim_race_found *f, sim_race *race) {
    char memory[2 * SIM_SYMBOL_TEXT], after[SIM_POSITION], before[SIM_POSITION], line[16] = "";
    *race = (sim_race){.class = f->class,
                       .count = f->count,
                       .after_kind = kind_of(f->after.how),
                       .before_kind = kind_of(f->before.how),
                       .path = sim_place_path(f->after.place),
                       .after = sim_place_source(f->after.place)};
    sim_block_thread_text(f->after.block, f->after.thread, after);
    memory_text(f, memory);
    if (f->class == SIM_UNINITIALISED) {
        snprintf(race->text, sizeof race->text,
                 "%.100s: %s %s what no thread of its block has written; %" PRIu64 " times", memory,
                 after, does[race->after_kind], race->count);
        return;
    }
    if (f->class == SIM_BEYOND) {
        snprintf(race->text, sizeof race->text,
                 "%.100s: %s %s, but its block has %td bytes; %" PRIu64 " times", memory, after,
                 does[race->after_kind], f->memory.high - f->memory.low, race->count);
        return;
    }
    if (f->class == SIM_STRAY) {
        snprintf(race->text, sizeof race->text, "%s: %s %s %u bytes, %.100s; %" PRIu64 " times",
                 f->memory.low ? "shared memory" : "global memory", after, does[race->after_kind],
                 f->bytes, near_text(f, memory), race->count);
        return;
    }
    race->before = sim_place_source(f->before.place);
    if (race->before.line > 0)
        snprintf(line, sizeof line, ":%d", race->before.line);
    bool same_block = f->after.block == f->before.block;
    if (f->class == SIM_MISSED) {
        compose_missed(f, race, memory, after, line);
        return;
    }
    snprintf(race->text, sizeof race->text,
             "%.100s: %s %s, %s %s at %.60s%s; %s; %" PRIu64 " times", memory, after,
             (f->after.async ? does_async : does)[race->after_kind],
             same_block ? sim_thread_text(f->before.thread, before)
                        : sim_block_thread_text(f->before.block, f->before.thread, before),
             (f->before.async ? did_async : did)[race->before_kind], race->before.file, line,
             f->class == SIM_RACE_GUESS ? checked : reasons[f->reason], race->count);
}

/* A read that comes too early, and so finds nothing written, is told as the race that it is. */
static bool races_too(const sim_race_found *uninitialised) {
    const uint32_t place = uninitialised->after.place;
    for (int32_t i = 0; i < report.n_findings; ++i) {
        const sim_race_found *f = &report.finding[i];
        if (f->class != SIM_UNINITIALISED && (f->after.place == place || f->before.place == place))
            return true;
    }
    return false;
}

/* Some reads at its place were races. */
static bool is_race_too(const sim_race_found *guess) {
    return *find(SIM_RACE, guess->after.place, guess->before.place) > 0;
}

static bool is_to_tell(const sim_race_found *f) {
    return f->class == SIM_UNINITIALISED ? !races_too(f)
           : f->class == SIM_RACE_GUESS  ? !is_race_too(f)
                                         : true;
}

static void tell(const sim_race_found *f) {
    sim_race *race = &report.race[report.n_races++];
    compose(f, race);
    const char *kind = sim_race_name(race->class);
    if (report.tolerated || sim_race_is_note(race->class))
        return;
    if (race->after.line > 0)
        sim_defect(kind, race->after.file, race->after.line, "%s", race->text);
    else
        sim_defect(kind, NULL, 0, "%s: %s", race->after.file, race->text);
}

void sim_race_end(void) {
    static const sim_race_class order[] = {SIM_STRAY,     SIM_BEYOND,        SIM_RACE,
                                           SIM_MISSED,    SIM_UNINITIALISED, SIM_RACE_EQUAL,
                                           SIM_RACE_GUESS};
    for (size_t k = 0; k < sizeof order / sizeof order[0]; ++k)
        for (int32_t i = 0; i < report.n_findings; ++i) {
            const sim_race_found *f = &report.finding[i];
            if (f->class == order[k] && is_to_tell(f))
                tell(f);
        }
    for (uint64_t i = 0; i < report.unlisted && !report.tolerated; ++i)
        (void)sim_defect_again("race");
}

int32_t sim_race_count(void) {
    return report.n_races;
}

const sim_race *sim_race_at(int32_t i) {
    return &report.race[i];
}
