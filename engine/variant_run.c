#include "engine/variant_run.h"
#include "engine/isolate.h"
#include "engine/relations.h"
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

const assay_variant *variant_find(const assay_device *device, const char *op, const char *name) {
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

assay_status variant_runs_init(variant_runs *t, const assay_device *device, const char *op,
                               const char *const *names, int32_t n) {
    *t = (variant_runs){0};
    for (int32_t i = 0; i < n; ++i)
        if (!variant_find(device, op, names[i]))
            return unknown_variant(device, op, names[i]);
    t->run = calloc((size_t)device->n_variants + 1, sizeof *t->run);
    if (!t->run)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the variants of %s", op);
    for (int32_t i = 0; i < device->n_variants; ++i) {
        const assay_variant *v = device->variants[i];
        if (strcmp(v->op, op) == 0 && wanted(v->name, names, n))
            t->run[t->count++] =
                (variant_run){.variant = v, .kernel = assay_isolated_source(device, v)};
    }
    if (t->count > 0)
        return ASSAY_OK;
    variant_runs_clear(t);
    return assay_fail(ASSAY_ERR_USAGE, "%s has no variants on %s", op, device->name);
}

assay_status variant_runs_execute(variant_runs *t, const assay_device *device,
                                  const assay_problem *problem) {
    for (variant_run *now = t->run; now < t->run + t->count; ++now) {
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

static int64_t elements_of(const assay_problem *problem) {
    int64_t elements = 0;
    for (int32_t i = 0; i < problem->sig.n_in; ++i)
        elements += assay_spec_count(&problem->sig.in[i]);
    for (int32_t o = 0; o < problem->sig.n_out; ++o)
        elements += assay_spec_count(&problem->sig.out[o]);
    return elements;
}

static bool is_repeated(const assay_problem *problem) {
    enum { SMALL = 1 << 11, ONE_IN = 16 };
    char text[ASSAY_CASE_TEXT];
    return !problem->sample &&
           (elements_of(problem) <= SMALL ||
            assay_rng_stream(assay_case_format(&problem->c, text)) % ONE_IN == 0);
}

assay_status variant_runs_repeat(variant_runs *t, const assay_device *device,
                                 const assay_problem *problem) {
    if (!is_repeated(problem))
        return ASSAY_OK;
    for (variant_run *now = t->run; now < t->run + t->count; ++now) {
        assay_relation_report report;
        if (now->status != ASSAY_OK)
            continue;
        const assay_status status =
            assay_check_repeat(problem, &now->got, device, now->variant, &report);
        if (status != ASSAY_OK)
            return status;
        if (report.verdict != ASSAY_FAIL && report.verdict != ASSAY_ERROR)
            continue;
        now->again = report.verdict;
        now->failure = report.verdict == ASSAY_FAIL ? ASSAY_FAILURE_UNEQUAL : report.failure;
        snprintf(now->differs, sizeof now->differs, "%s", report.tensor);
        snprintf(now->unequal, sizeof now->unequal,
                 report.verdict == ASSAY_ERROR
                     ? "in a second run: %.300s"
                     : "not the same bits in two runs: %.200s; a variant whose sums have any order "
                       "declares it (.order in assay/variant.h)",
                 report.reason);
    }
    return ASSAY_OK;
}

/* Ends with an error where the recorder has found something; a plan that is made for less shared
 * memory may decline. */
static assay_status record(variant_run *now, const assay_device *recorder,
                           const assay_problem *problem) {
    assay_results got = {0};
    assay_status status = sample_results(problem, &got);
    if (status != ASSAY_OK)
        return status;
    status = assay_run(now->variant, recorder, problem, &got);
    assay_results_clear(&got);
    if (status == ASSAY_OK || status == ASSAY_ERR_UNSUPPORTED)
        return ASSAY_OK;
    now->again = ASSAY_ERROR;
    now->failure = assay_error_failure();
    now->differs[0] = '\0';
    snprintf(now->unequal, sizeof now->unequal, "its accesses were recorded: %.370s",
             assay_error());
    return ASSAY_OK;
}

assay_status variant_runs_record(variant_runs *t, const assay_device *device,
                                 const assay_problem *problem) {
    enum { MOST = 1 << 16 };
    const assay_device *const recorder = assay_isolated_recorder(device);
    assay_status status = ASSAY_OK;
    if (!recorder || problem->sample ||
        (!assay_isolated_recorder_always(device) &&
         (elements_of(problem) > MOST || !is_repeated(problem))))
        return ASSAY_OK;
    for (variant_run *now = t->run; status == ASSAY_OK && now < t->run + t->count; ++now)
        if (now->status == ASSAY_OK && now->again == ASSAY_PASS &&
            !assay_isolated_kernel(device, now->variant))
            status = record(now, recorder, problem);
    return status;
}

void variant_runs_clear(variant_runs *t) {
    for (int32_t i = 0; i < t->count; ++i)
        assay_results_clear(&t->run[i].got);
    free(t->run);
    *t = (variant_runs){0};
}
