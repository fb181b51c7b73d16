#include "sim/race/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_known {
    uint64_t id; /* no other one ever has it */
    uint32_t references;
    uint32_t visit;          /* the last walk that came by */
    sim_known *part[2];      /* of a join that has not been looked into */
    sim_known *next_to_free; /* while it is dropped */
    size_t n;
    sim_moment *moments; /* sorted by `who`; NULL while it has parts */
};

static struct {
    int32_t n_threads;
    uint32_t visit;
    uint64_t made;
    sim_known **stack;
    size_t capacity;
} walk;

static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "assay: no memory to record the order of accesses\n");
        abort();
    }
    return memory;
}

void sim_known_begin(int32_t n_threads) {
    walk.n_threads = n_threads;
}

static sim_known *make(void) {
    sim_known *known = need(calloc(1, sizeof *known));
    known->references = 1;
    known->id = ++walk.made;
    return known;
}

sim_known *sim_known_new(const sim_moment *moments, size_t n) {
    sim_known *known = make();
    known->moments = need(malloc(n * sizeof *moments));
    for (size_t i = 0; i < n; ++i)
        known->moments[i] = moments[i];
    known->n = n;
    return known;
}

sim_known *sim_known_keep(sim_known *known) {
    if (known)
        ++known->references;
    return known;
}

/* Chains of joins may be long: no recursion. */
void sim_known_drop(sim_known *known) {
    sim_known *list = NULL;
    if (!known || --known->references > 0)
        return;
    known->next_to_free = NULL;
    list = known;
    while (list) {
        sim_known *now = list;
        list = now->next_to_free;
        for (int i = 0; i < 2; ++i)
            if (now->part[i] && --now->part[i]->references == 0) {
                now->part[i]->next_to_free = list;
                list = now->part[i];
            }
        free(now->moments);
        free(now);
    }
}

void sim_known_add(sim_known **known, sim_known *more) {
    if (!more || *known == more ||
        (*known && ((*known)->part[0] == more || (*known)->part[1] == more)))
        return; /* the last two: a thread that polls */
    if (!*known) {
        *known = sim_known_keep(more);
        return;
    }
    sim_known *join = make();
    join->part[0] = *known; /* whose count goes over */
    join->part[1] = sim_known_keep(more);
    *known = join;
}

static void push(size_t *n, sim_known *known) {
    if (*n == walk.capacity) {
        walk.capacity = walk.capacity == 0 ? 256 : 2 * walk.capacity;
        walk.stack = need(realloc(walk.stack, walk.capacity * sizeof(sim_known *)));
    }
    walk.stack[(*n)++] = known;
}

static int by_who(const void *a, const void *b) {
    const sim_moment *x = a, *y = b;
    return x->who < y->who ? -1 : x->who > y->who ? 1 : 0;
}

/* The latest of each; a moment that its whole block implies is left out. */
static size_t unite(sim_moment *m, size_t n) {
    size_t kept = 0, block = 0; /* block: where the entries of the last block begin */
    for (size_t i = 0; i < n; ++i) {
        if (kept > 0 && m[kept - 1].who == m[i].who) {
            if (m[kept - 1].until < m[i].until)
                m[kept - 1].until = m[i].until;
            continue;
        }
        if (kept == 0 || m[kept - 1].who >> 11 != m[i].who >> 11)
            block = kept;
        const bool covered =
            kept > block && m[block].who % 2048 == 0 && m[block].until >= m[i].until;
        if (!covered)
            m[kept++] = m[i];
    }
    return kept;
}

/* Where all threads of a block are known, the least of them is known of the whole block. */
static size_t generalise(sim_moment *m, size_t n) {
    static sim_moment group[1 + 1024]; /* of a block */
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        const size_t whole = m[i].who % 2048 == 0;
        const bool threads = sim_is_thread((uint32_t)(m[i].who >> 11));
        uint32_t least = UINT32_MAX;
        for (end = i; end < n && m[end].who >> 11 == m[i].who >> 11; ++end) {
            group[end - i] = m[end];
            if (end >= i + whole && m[end].until < least)
                least = m[end].until;
        }
        if (!threads || end - i - whole < (size_t)walk.n_threads) {
            for (size_t k = 0; k < end - i; ++k)
                m[kept++] = group[k];
            continue;
        }
        m[kept++] = (sim_moment){group[0].who >> 11 << 11, least};
        for (size_t k = whole; k < end - i; ++k)
            if (group[k].until > least)
                m[kept++] = group[k];
    }
    return kept;
}

/* All moments of the parts; sorted, unless they come from one. */
static size_t gather(sim_known *known, sim_moment **moments) {
    size_t n_stack = 0, n = 0, capacity = 0;
    *moments = NULL;
    ++walk.visit;
    push(&n_stack, known);
    while (n_stack > 0) {
        sim_known *now = walk.stack[--n_stack];
        if (now->visit == walk.visit)
            continue;
        now->visit = walk.visit;
        for (int i = 0; i < 2; ++i)
            if (now->part[i])
                push(&n_stack, now->part[i]);
        if (n + now->n > capacity) {
            capacity = 2 * (n + now->n);
            *moments = need(realloc(*moments, capacity * sizeof **moments));
        }
        for (size_t i = 0; i < now->n; ++i)
            (*moments)[n++] = now->moments[i];
    }
    return n;
}

void sim_known_settle(sim_known *known) {
    if (!known || !known->part[0])
        return;
    sim_moment *moments;
    size_t n = gather(known, &moments);
    qsort(moments, n, sizeof *moments, by_who);
    known->n = generalise(moments, unite(moments, n));
    known->moments = moments;
    for (int i = 0; i < 2; ++i) {
        sim_known_drop(known->part[i]);
        known->part[i] = NULL;
    }
}

static uint32_t find(const sim_known *known, uint64_t who) {
    size_t low = 0, high = known->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (known->moments[middle].who < who)
            low = middle + 1;
        else
            high = middle;
    }
    return low < known->n && known->moments[low].who == who ? known->moments[low].until : 0;
}

uint32_t sim_known_until(sim_known *known, uint32_t block, int32_t thread) {
    if (!known)
        return 0;
    sim_known_settle(known);
    const uint32_t own = find(known, sim_one_thread(block, thread));
    const uint32_t all = find(known, sim_whole_block(block));
    return own > all ? own : all;
}

static uint32_t lanes_before(sim_known *known, uint32_t block, uint32_t warp, uint32_t lanes,
                             uint32_t time) {
    uint32_t before = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int32_t lane = __builtin_ctz(rest);
        if (time < sim_known_until(known, block, (int32_t)(warp * 32) + lane))
            before |= 1u << lane;
    }
    return before;
}

typedef struct answer {
    uint64_t id; /* of what was asked */
    uint32_t block, warp, lanes, time, before;
} answer;

/* Words that were accessed together are asked about together. */
uint32_t sim_known_before(sim_known *known, uint32_t block, uint32_t warp, uint32_t lanes,
                          uint32_t time) {
    enum { ANSWERS = 16 };
    static answer answers[ANSWERS];
    if (!known)
        return 0;
    const uint64_t hash = (known->id * 31 + time) * 31 + block + warp;
    answer *const a = &answers[hash % ANSWERS];
    if (a->id != known->id || a->block != block || a->warp != warp || a->lanes != lanes ||
        a->time != time) {
        const uint32_t before = lanes_before(known, block, warp, lanes, time);
        *a = (answer){known->id, block, warp, lanes, time, before};
    }
    return a->before;
}
