/* Which parts of a state file each reader reads. */
#include "golden/packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void state_finding_name(int32_t number, char name[16]) {
    snprintf(name, 16, "%04d", (int)number);
}

/* "f.npz:3" is finding 3 of f.npz, unless a file has all of that as its name. */
static assay_status split_path(state_reading *r, const char *path) {
    char name[16], *end = NULL;
    const char *colon = strrchr(path, ':');
    const int length = snprintf(r->path, sizeof r->path, "%s", path);
    if (length >= STATE_PATH)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: the path is too long", path);
    if (colon == NULL || colon[1] < '0' || colon[1] > '9' || access(path, F_OK) == 0)
        return ASSAY_OK;
    const long number = strtol(colon + 1, &end, 10);
    if (*end != '\0' || number < 1 || number > INT32_MAX)
        return ASSAY_OK; /* no file has that name, and the reader says so */
    r->path[colon - path] = '\0';
    state_finding_name((int32_t)number, name);
    snprintf(r->prefix, sizeof r->prefix, "%s/", name);
    return ASSAY_OK;
}

/* Fills the reading; `taken` is one allocation for all groups. */
static assay_status begin(state_reading *r, const char *path, const assay_problem *p,
                          const assay_results *got) {
    const size_t n_in = (size_t)p->sig.n_in, n_out = (size_t)p->sig.n_out;
    const state_use inputs = got ? STATE_SAME : STATE_TAKE;
    const state_use results = got ? STATE_TAKE : STATE_IGNORE;
    *r = (state_reading){
        "",
        "",
        {{"in", "input", p->sig.in, &p->in, inputs, NULL},
         {"cot", "output with a cotangent", p->sig.out, &p->cot, inputs, NULL},
         {"out", "output", p->sig.out, got ? &got->out : NULL, results, NULL},
         {"grad", "input with a gradient", p->sig.in, got ? &got->grad : NULL, results, NULL}}};
    const assay_status status = split_path(r, path);
    if (status != ASSAY_OK)
        return status;
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

/* A finding has inputs at least. */
static assay_status read_all(const state_reading *r) {
    int32_t count = 0;
    const assay_status status = packed_read(r);
    for (int g = 0; g < STATE_GROUPS; ++g)
        count += r->group[g].use != STATE_IGNORE ? count_taken(&r->group[g]) : 0;
    if (status != ASSAY_OK || count > 0 || r->prefix[0] == '\0')
        return status;
    return assay_fail(ASSAY_ERR_FILE, "%s: has no finding %.*s", r->path,
                      (int)strlen(r->prefix) - 1, r->prefix);
}

assay_status assay_state_read(const char *path, assay_problem *p, int32_t *taken) {
    state_reading r;
    *taken = 0;
    assay_status status = begin(&r, path, p, NULL);
    if (status != ASSAY_OK)
        return status;
    status = read_all(&r);
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
    status = read_all(&r);
    if (status == ASSAY_OK)
        status = find_missing(&r, &r.group[2], "every output is judged");
    if (status == ASSAY_OK)
        status = find_missing(&r, &r.group[3],
                              "every gradient is judged, unless --stage forward leaves them out");
    end(&r);
    return status;
}
