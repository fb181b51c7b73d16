#include "fuzz/search/population.h"

#include "assay/op.h"

#include <stdlib.h>

void fuzz_population_clear(fuzz_population *population) {
    free(population->member);
    free(population->mark);
    *population = (fuzz_population){0};
}

/* Room for one more of `size` bytes. */
static assay_status grow(void **list, int32_t count, int32_t *room, size_t size) {
    if (count < *room)
        return ASSAY_OK;
    const int32_t more = *room > 0 ? 2 * *room : 64;
    void *larger = realloc(*list, (size_t)more * size);
    if (!larger)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the campaign's population");
    *list = larger;
    *room = more;
    return ASSAY_OK;
}

assay_status fuzz_population_add(fuzz_population *population, int32_t target, const assay_case *c) {
    void *members = population->member;
    const assay_status status =
        grow(&members, population->count, &population->room, sizeof *population->member);
    population->member = members;
    if (status == ASSAY_OK)
        population->member[population->count++] = (fuzz_member){.target = target, .c = *c};
    return status;
}

assay_status fuzz_population_mark(fuzz_population *population, const fuzz_mark *mark, bool *best) {
    *best = false;
    for (int32_t i = 0; i < population->n_marks; ++i)
        if (population->mark[i].key == mark->key) {
            *best = mark->octave > population->mark[i].octave;
            if (*best)
                population->mark[i].octave = mark->octave;
            return ASSAY_OK;
        }
    void *marks = population->mark;
    const assay_status status =
        grow(&marks, population->n_marks, &population->mark_room, sizeof *population->mark);
    population->mark = marks;
    if (status != ASSAY_OK)
        return status;
    population->mark[population->n_marks++] = *mark;
    *best = true;
    return ASSAY_OK;
}

static bool take_edges(fuzz_population *population, const uint8_t *edges) {
    bool any = false;
    for (int32_t e = 0; e < FRAME_EDGES; ++e) {
        any = any || (edges[e] != 0 && population->edges[e] == 0);
        population->edges[e] |= edges[e] != 0;
    }
    return any;
}

assay_status fuzz_population_offer(fuzz_population *population, int32_t target, const assay_case *c,
                                   const fuzz_result *result) {
    bool any = take_edges(population, result->edges);
    for (int32_t i = 0; i < result->n_marks; ++i) {
        bool best;
        const assay_status status = fuzz_population_mark(population, &result->mark[i], &best);
        if (status != ASSAY_OK)
            return status;
        any = any || best;
    }
    return any ? fuzz_population_add(population, target, c) : ASSAY_OK;
}

const fuzz_member *fuzz_population_choose(const fuzz_population *population, int32_t target,
                                          int32_t count, assay_rng *rng) {
    int64_t members = 0;
    for (int32_t i = 0; i < count; ++i)
        members += population->member[i].target == target;
    if (members == 0)
        return NULL;
    const int64_t a = assay_rng_between(rng, 0, members - 1);
    const int64_t b = assay_rng_between(rng, 0, members - 1);
    int64_t skip = a > b ? a : b;
    for (int32_t i = 0; i < count; ++i)
        if (population->member[i].target == target && skip-- == 0)
            return &population->member[i];
    return NULL;
}

int32_t fuzz_population_edges(const fuzz_population *population) {
    int32_t edges = 0;
    for (int32_t e = 0; e < FRAME_EDGES; ++e)
        edges += population->edges[e] != 0;
    return edges;
}
