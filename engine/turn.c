#include "engine/turn.h"
#include "engine/isolate.h"
#include "engine/runner.h"
#include "engine/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wanted(const char *name, const char *const *names, int32_t n) {
    for (int32_t i = 0; i < n; ++i)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

const assay_variant *turn_find_variant(const assay_device *device, const char *op,
                                       const char *name) {
    for (int32_t i = 0; i < device->n_variants; ++i)
        if (strcmp(device->variants[i]->op, op) == 0 &&
            strcmp(device->variants[i]->name, name) == 0)
            return device->variants[i];
    return NULL;
}

static assay_status unknown_variant(const assay_device *device, const char *op, const char *name) {
    char names[256] = "";
    for (int32_t i = 0; i < device->n_variants; ++i)
        if (strcmp(device->variants[i]->op, op) == 0 && strlen(names) + 16 < sizeof names) {
            strcat(names, " ");
            strncat(names, device->variants[i]->name, 14);
        }
    return assay_fail(ASSAY_ERR_USAGE, "%s has no variant '%.40s' on %s; it has%s", op, name,
                      device->name, names[0] ? names : " none");
}

assay_status turns_init(turns *t, const assay_device *device, const char *op,
                        const char *const *names, int32_t n) {
    *t = (turns){0};
    for (int32_t i = 0; i < n; ++i)
        if (!turn_find_variant(device, op, names[i]))
            return unknown_variant(device, op, names[i]);
    t->turn = calloc((size_t)device->n_variants + 1, sizeof *t->turn);
    if (!t->turn)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the variants of %s", op);
    for (int32_t i = 0; i < device->n_variants; ++i) {
        const assay_variant *v = device->variants[i];
        if (strcmp(v->op, op) == 0 && wanted(v->name, names, n))
            t->turn[t->count++] = (turn){.variant = v, .kernel = assay_isolated_kernel(device, v)};
    }
    if (t->count > 0)
        return ASSAY_OK;
    turns_clear(t);
    return assay_fail(ASSAY_ERR_USAGE, "%s has no variants on %s", op, device->name);
}

assay_status turns_run(turns *t, const assay_device *device, const assay_problem *problem) {
    for (turn *now = t->turn; now < t->turn + t->count; ++now) {
        const assay_status status = sample_results(problem, &now->got);
        if (status != ASSAY_OK)
            return status;
        now->status = assay_run(now->variant, device, problem, &now->got);
        if (now->status == ASSAY_OK)
            continue;
        now->failure = assay_error_failure();
        snprintf(now->line, sizeof now->line, "%s", assay_error());
    }
    return ASSAY_OK;
}

void turns_clear(turns *t) {
    for (int32_t i = 0; i < t->count; ++i)
        assay_results_clear(&t->turn[i].got);
    free(t->turn);
    *t = (turns){0};
}
