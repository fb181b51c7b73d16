/* What is read of a state file, for whom. */
#include "golden/packed.h"

#include <stdlib.h>

/* Fills the reading; `taken` is one allocation for all groups. */
static assay_status begin(state_reading *r, const char *path, const assay_problem *p,
                          const assay_results *got) {
    const size_t n_in = (size_t)p->sig.n_in, n_out = (size_t)p->sig.n_out;
    const state_use inputs = got ? STATE_SAME : STATE_TAKE;
    const state_use results = got ? STATE_TAKE : STATE_IGNORE;
    *r = (state_reading){
        path,
        {{"in", "input", p->sig.in, &p->in, inputs, NULL},
         {"cot", "output with a cotangent", p->sig.out, &p->cot, inputs, NULL},
         {"out", "output", p->sig.out, got ? &got->out : NULL, results, NULL},
         {"grad", "input with a gradient", p->sig.in, got ? &got->grad : NULL, results, NULL}}};
    bool *taken = calloc(2 * (n_in + n_out) + 1, sizeof *taken);
    if (!taken)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for the names of its tensors", path);
    for (int g = 0; g < STATE_GROUPS; ++g) {
        r->group[g].taken = taken;
        taken += r->group[g].specs == p->sig.in ? n_in : n_out;
    }
    return ASSAY_OK;
}

static void end(state_reading *r) {
    free(r->group[0].taken);
}

static int32_t count_taken(const state_group *group) {
    int32_t count = 0;
    for (int32_t i = 0; i < group->arrays->count; ++i)
        count += group->taken[i];
    return count;
}

assay_status assay_state_read(const char *path, assay_problem *p, int32_t *taken) {
    state_reading r;
    *taken = 0;
    assay_status status = begin(&r, path, p, NULL);
    if (status != ASSAY_OK)
        return status;
    status = packed_read(&r);
    *taken = count_taken(&r.group[0]) + count_taken(&r.group[1]);
    end(&r);
    if (status == ASSAY_OK && *taken == 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: no tensor in /in or /cot; --no-run writes a file with all of them",
                          path);
    return status;
}

static assay_status find_missing(const state_reading *r, const state_group *group,
                                 const char *remedy) {
    for (int32_t i = 0; i < group->arrays->count; ++i)
        if (group->arrays->data[i] && !group->taken[i])
            return assay_fail(ASSAY_ERR_FILE, "%s: /%s/%s is missing; %s", r->path, group->name,
                              group->specs[i].name, remedy);
    return ASSAY_OK;
}

assay_status assay_state_read_results(const char *path, const assay_problem *p,
                                      assay_results *got) {
    state_reading r;
    assay_status status = begin(&r, path, p, got);
    if (status != ASSAY_OK)
        return status;
    status = packed_read(&r);
    if (status == ASSAY_OK)
        status = find_missing(&r, &r.group[2], "every output is judged");
    if (status == ASSAY_OK)
        status = find_missing(&r, &r.group[3],
                              "every gradient is judged, unless --stage forward leaves them out");
    end(&r);
    return status;
}
