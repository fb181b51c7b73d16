#include "fuzz/search/pool.h"

#include "assay/op.h"

#include <stdlib.h>

void fuzz_pool_clear(fuzz_pool *pool) {
    free(pool->member);
    free(pool->mark);
    *pool = (fuzz_pool){0};
}

/* Room for one more of `size` bytes. */
static assay_status grow(void **list, int32_t count, int32_t *room, size_t size) {
    if (count < *room)
        return ASSAY_OK;
    const int32_t more = *room > 0 ? 2 * *room : 64;
    void *larger = realloc(*list, (size_t)more * size);
    if (!larger)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for what guides the campaign");
    *list = larger;
    *room = more;
    return ASSAY_OK;
}

assay_status fuzz_pool_add(fuzz_pool *pool, int32_t target, const assay_case *c) {
    void *members = pool->member;
    const assay_status status = grow(&members, pool->count, &pool->room, sizeof *pool->member);
    pool->member = members;
    if (status == ASSAY_OK)
        pool->member[pool->count++] = (fuzz_member){.target = target, .c = *c};
    return status;
}

assay_status fuzz_pool_mark(fuzz_pool *pool, const fuzz_mark *mark, bool *best) {
    *best = false;
    for (int32_t i = 0; i < pool->n_marks; ++i)
        if (pool->mark[i].key == mark->key) {
            *best = mark->octave > pool->mark[i].octave;
            if (*best)
                pool->mark[i].octave = mark->octave;
            return ASSAY_OK;
        }
    void *marks = pool->mark;
    const assay_status status = grow(&marks, pool->n_marks, &pool->mark_room, sizeof *pool->mark);
    pool->mark = marks;
    if (status != ASSAY_OK)
        return status;
    pool->mark[pool->n_marks++] = *mark;
    *best = true;
    return ASSAY_OK;
}

static bool take_edges(fuzz_pool *pool, const uint8_t *edges) {
    bool any = false;
    for (int32_t e = 0; e < FRAME_EDGES; ++e) {
        any = any || (edges[e] != 0 && pool->edges[e] == 0);
        pool->edges[e] |= edges[e] != 0;
    }
    return any;
}

assay_status fuzz_pool_offer(fuzz_pool *pool, int32_t target, const assay_case *c,
                             const fuzz_result *result) {
    bool any = take_edges(pool, result->edges);
    for (int32_t i = 0; i < result->n_marks; ++i) {
        bool best;
        const assay_status status = fuzz_pool_mark(pool, &result->mark[i], &best);
        if (status != ASSAY_OK)
            return status;
        any = any || best;
    }
    return any ? fuzz_pool_add(pool, target, c) : ASSAY_OK;
}

const fuzz_member *fuzz_pool_choose(const fuzz_pool *pool, int32_t target, int32_t count,
                                    assay_rng *rng) {
    int64_t members = 0;
    for (int32_t i = 0; i < count; ++i)
        members += pool->member[i].target == target;
    if (members == 0)
        return NULL;
    const int64_t a = assay_rng_between(rng, 0, members - 1);
    const int64_t b = assay_rng_between(rng, 0, members - 1);
    int64_t skip = a > b ? a : b;
    for (int32_t i = 0; i < count; ++i)
        if (pool->member[i].target == target && skip-- == 0)
            return &pool->member[i];
    return NULL;
}

int32_t fuzz_pool_edges(const fuzz_pool *pool) {
    int32_t edges = 0;
    for (int32_t e = 0; e < FRAME_EDGES; ++e)
        edges += pool->edges[e] != 0;
    return edges;
}
