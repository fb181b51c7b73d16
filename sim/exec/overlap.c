#include "sim/exec/overlap.h"

#include "sim/exec/memory.h"
#include "sim/exec/module.h"
#include "sim/exec/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    uintptr_t low, high;
} span;

/* In order and apart from each other once the work has ended. */
typedef struct spans {
    span *s;
    size_t n, room;
} spans;

typedef struct piece {
    struct piece *next;
    struct piece *outer; /* a call of the program's, as work, may have submitted this one */
    exec_turn turn;
    exec_clock clock; /* the work before it, and itself */
    bool talks;
    bool hosts;    /* it accesses pinned or managed memory */
    spans sets[2]; /* read, written */
    char what[64];
    char kernel[REPORT_NAME];
} piece;

enum { READ, WRITTEN, MOST_PIECES = 4096, MOST_SPANS = 1 << 20 };

static piece *now;  /* runs */
static piece *past; /* the newest first */
static exec_clock host;

void exec_clock_join(exec_clock *clock, const exec_clock *other) {
    for (int i = 0; i < EXEC_CLOCK_SLOTS; ++i)
        if (clock->done[i] < other->done[i])
            clock->done[i] = other->done[i];
}

void exec_clock_meet(exec_clock *clock, const exec_clock *other) {
    for (int i = 0; i < EXEC_CLOCK_SLOTS; ++i)
        if (clock->done[i] > other->done[i])
            clock->done[i] = other->done[i];
}

static void discard(piece *p) {
    free(p->sets[READ].s);
    free(p->sets[WRITTEN].s);
    free(p);
}

void exec_overlap_begin(const exec_turn *turn) {
    piece *p = calloc(1, sizeof *p);
    if (p == NULL)
        abort();
    p->turn = *turn;
    p->clock = *turn->clock;
    p->outer = now;
    now = p;
}

void exec_overlap_by(const char *what, const char *kernel) {
    if (now == NULL)
        return;
    snprintf(now->what, sizeof now->what, "%s", what);
    snprintf(now->kernel, sizeof now->kernel, "%s", kernel);
}

void exec_overlap_talks(void) {
    if (now != NULL)
        now->talks = true;
}

/* ---- sets of bytes ---- */

static int by_low(const void *a, const void *b) {
    const span *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

/* In order, and spans that touch become one. */
static void tidy(spans *set) {
    size_t kept = 0;
    if (set->n == 0) /* and no array */
        return;
    qsort(set->s, set->n, sizeof *set->s, by_low);
    for (size_t i = 0; i < set->n; ++i) {
        span *last = kept > 0 ? &set->s[kept - 1] : NULL;
        if (last == NULL || set->s[i].low > last->high)
            set->s[kept++] = set->s[i];
        else if (set->s[i].high > last->high)
            last->high = set->s[i].high;
    }
    set->n = kept;
}

static void add(spans *set, span s) {
    if (set->n > 0 && set->s[set->n - 1].high == s.low) {
        set->s[set->n - 1].high = s.high;
        return;
    }
    if (set->n == set->room) {
        const size_t room = set->room > 0 ? 2 * set->room : 16;
        span *larger = room <= MOST_SPANS ? realloc(set->s, room * sizeof *larger) : NULL;
        if (larger == NULL) /* further spans are not watched */
            return;
        set->s = larger;
        set->room = room;
    }
    set->s[set->n++] = s;
}

void exec_overlap_touch(const void *address, size_t bytes, bool writes) {
    if (now != NULL && bytes > 0)
        add(&now->sets[writes ? WRITTEN : READ],
            (span){(uintptr_t)address, (uintptr_t)address + bytes});
}

/* The first bytes that both hold. */
static bool common(const spans *a, const spans *b, span *found) {
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        const uintptr_t low = a->s[i].low > b->s[j].low ? a->s[i].low : b->s[j].low;
        const uintptr_t high = a->s[i].high < b->s[j].high ? a->s[i].high : b->s[j].high;
        if (low < high) {
            *found = (span){low, high};
            return true;
        }
        if (a->s[i].high < b->s[j].high)
            ++i;
        else
            ++j;
    }
    return false;
}

/* The span that holds an address; NULL: none does. */
static const span *holder(const spans *set, uintptr_t at) {
    size_t low = 0, high = set->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (set->s[middle].high <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->s[low].low <= at ? &set->s[low] : NULL;
}

/* ---- what is told ---- */

static void name_stream(const piece *p, char text[32]) {
    if (p->turn.stream == 0)
        snprintf(text, 32, "the default stream");
    else
        snprintf(text, 32, "stream %d", p->turn.stream);
}

/* "byte 12 of allocation 3 (cudaMalloc, 4000 bytes)", "bytes 0 to 99 of variable table" */
static void name_bytes(span s, char text[EXEC_MEMORY_LINE]) {
    const char *at = (const char *)s.low;
    const exec_allocation *a = exec_memory_find(at);
    const exec_variable *v = a == NULL ? exec_variable_at(at) : NULL;
    const uintptr_t base = (uintptr_t)(a != NULL ? a->low : v != NULL ? v->address : NULL);
    char range[64], where[EXEC_MEMORY_LINE];
    if (s.high - s.low == 1)
        snprintf(range, sizeof range, "byte %" PRIuPTR, s.low - base);
    else
        snprintf(range, sizeof range, "bytes %" PRIuPTR " to %" PRIuPTR, s.low - base,
                 s.high - base - 1);
    if (a != NULL)
        snprintf(text, EXEC_MEMORY_LINE, "%s of allocation %" PRIu64 " (%s, %zu bytes)", range,
                 a->number, a->call, a->bytes);
    else if (v != NULL)
        snprintf(text, EXEC_MEMORY_LINE, "%s of variable %s", range, v->name);
    else if (exec_memory_describe(at, where))
        snprintf(text, EXEC_MEMORY_LINE, "%" PRIuPTR " bytes %.200s", s.high - s.low, where);
    else
        snprintf(text, EXEC_MEMORY_LINE, "%" PRIuPTR " bytes of the program's own memory",
                 s.high - s.low);
}

static uint64_t mix(uint64_t hash, const char *text) {
    for (; *text != '\0'; ++text)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

/* Two pieces of the same names, in either order, are one problem. */
static uint64_t key_of(const piece *a, const char *other) {
    const uint64_t start = UINT64_C(0xcbf29ce484222325);
    return (mix(start, a->what) + mix(start, other)) | 1;
}

static const char *verb(int set) {
    return set == WRITTEN ? "writes" : "reads";
}

static void tell(const piece *later, int set, const piece *earlier, int its, span s) {
    char where[EXEC_MEMORY_LINE], streams[2][32];
    name_bytes(s, where);
    name_stream(later, streams[0]);
    name_stream(earlier, streams[1]);
    exec_problem_keyed(later->kernel[0] != '\0' ? later->kernel : earlier->kernel, "",
                       EXEC_PROBLEM_STREAMS, key_of(later, earlier->what),
                       "%s in %s %s %s, which %s in %s %s: no event or synchronisation orders the "
                       "two",
                       later->what, streams[0], verb(set), where, earlier->what, streams[1],
                       verb(its));
}

/* ---- pieces beside each other ---- */

static bool is_before(const piece *p, const exec_clock *clock) {
    return clock->done[p->turn.slot] >= p->turn.number;
}

static void compare(const piece *later, const piece *earlier) {
    span s;
    if (common(&later->sets[WRITTEN], &earlier->sets[WRITTEN], &s))
        tell(later, WRITTEN, earlier, WRITTEN, s);
    else if (common(&later->sets[READ], &earlier->sets[WRITTEN], &s))
        tell(later, READ, earlier, WRITTEN, s);
    else if (common(&later->sets[WRITTEN], &earlier->sets[READ], &s))
        tell(later, WRITTEN, earlier, READ, s);
}

static void drop(piece **link) {
    piece *p = *link;
    *link = p->next;
    discard(p);
}

/* One that was submitted later may have been done before. */
static bool are_ordered(const piece *a, const piece *b) {
    return is_before(b, &a->clock) || is_before(a, &b->clock);
}

static bool is_hosts(const span *s) {
    const exec_allocation *a = exec_memory_find((const void *)s->low);
    return a != NULL && a->kind != EXEC_DEVICE;
}

static void finish(piece *p) {
    for (int set = READ; set <= WRITTEN; ++set) {
        tidy(&p->sets[set]);
        for (size_t i = 0; i < p->sets[set].n && !p->hosts; ++i)
            p->hosts = is_hosts(&p->sets[set].s[i]);
    }
}

void exec_overlap_end(void) {
    piece *p = now;
    now = p->outer;
    finish(p);
    if (p->sets[READ].n + p->sets[WRITTEN].n == 0) {
        discard(p);
        return;
    }
    int n = 0;
    for (piece **link = &past; *link != NULL; link = &(*link)->next, ++n) {
        if (n == MOST_PIECES) { /* the oldest; a race with it would have shown before */
            while (*link != NULL)
                drop(link);
            break;
        }
        if (!are_ordered(p, *link))
            compare(p, *link);
    }
    p->next = past;
    past = p;
}

void exec_overlap_forget(const exec_clock *floor) {
    for (piece **link = &past; *link != NULL;)
        if (is_before(*link, floor))
            drop(link);
        else
            link = &(*link)->next;
}

/* ---- beside the host ---- */

void exec_overlap_host(const exec_clock *clock) {
    host = *clock;
}

static bool is_in_use(const piece *p) {
    return p->hosts && !p->talks && !is_before(p, &host);
}

void exec_overlap_in_use(void (*see)(uintptr_t low, uintptr_t high, bool writes)) {
    for (int set = READ; set <= WRITTEN; ++set)
        for (const piece *p = past; p != NULL; p = p->next)
            for (size_t i = 0; is_in_use(p) && i < p->sets[set].n; ++i)
                if (is_hosts(&p->sets[set].s[i]))
                    see(p->sets[set].s[i].low, p->sets[set].s[i].high, set == WRITTEN);
}

bool exec_overlap_tell_host(const void *address, bool writes) {
    for (const piece *p = past; p != NULL; p = p->next)
        for (int set = WRITTEN; set >= (writes ? READ : WRITTEN); --set) {
            char where[EXEC_MEMORY_LINE], stream[32];
            const uintptr_t at = (uintptr_t)address;
            if (!is_in_use(p) || holder(&p->sets[set], at) == NULL)
                continue;
            name_bytes((span){at, at + 1}, where);
            name_stream(p, stream);
            exec_problem_keyed(p->kernel, "", EXEC_PROBLEM_STREAMS, key_of(p, "the host"),
                               "the host %s %s, which %s in %s %s: the program has not waited for "
                               "it",
                               verb(writes ? WRITTEN : READ), where, p->what, stream, verb(set));
            return true;
        }
    return false;
}
