#include "mutants/subject.h"

#include "engine/golden.h"
#include "engine/relations.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <stdio.h>
#include <string.h>

assay_status subject_open(subject *s, const builder *b, build_level level, const source_user *user,
                          const char *object, double seconds) {
    const assay_device *sim;
    *s = (subject){0};
    snprintf(s->object, sizeof s->object, "%s", object);
    builder_guest(b, level, s->guest);
    s->how = (assay_isolation){.guest = s->guest,
                               .kernel = s->object,
                               .op = user->op,
                               .variant = user->variant,
                               .seconds = seconds,
                               .gib = 4};
    assay_status status = assay_device_open("sim", &sim);
    if (status == ASSAY_OK)
        status = assay_isolate(sim, &s->how, &s->device);
    if (status == ASSAY_OK)
        s->variant = variant_find(s->device, user->op, user->variant);
    return status;
}

void subject_close(subject *s) {
    assay_isolate_end(s->device);
    *s = (subject){0};
}

double subject_seconds(build_level level) {
    return level == BUILD_ASAN || level == BUILD_RACE ? SUBJECT_PATIENCE : SUBJECT_SECONDS;
}

/* ---- the questions ---- */

static void found(answer *a, mutant_layer layer, const char *reason) {
    a->layer = layer;
    snprintf(a->reason, sizeof a->reason, "%.255s", reason);
}

/* An error of the runner is the kernel's doing, unless it is memory or a file of ours. */
static assay_status run(subject *s, const test_case *t, assay_results *got, answer *a) {
    const assay_status status = assay_run(s->variant, s->device, &t->problem, got);
    if (status == ASSAY_ERR_FILE || status == ASSAY_ERR_USAGE)
        return status;
    if (status != ASSAY_OK)
        found(a, mutant_layer_of(status, assay_error_failure()), assay_error());
    return ASSAY_OK;
}

static assay_status ask_case(subject *s, const question *q, answer *a) {
    assay_results got = {0};
    assay_status status = test_case_prepare(q->test);
    if (status == ASSAY_OK)
        status = assay_results_init(&got, &q->test->problem.sig);
    if (status == ASSAY_OK)
        status = run(s, q->test, &got, a);
    if (status == ASSAY_OK && a->layer == LAYER_NONE && q->kind == ASK_NUMBERS)
        a->layer = test_case_check(q->test, &got, a->reason);
    assay_results_clear(&got);
    return status;
}

static assay_status ask_relation(subject *s, const question *q, answer *a) {
    assay_relation_report report;
    const assay_status status =
        q->kind == ASK_RELATION
            ? assay_check_relation(q->relation, &q->c, s->device, s->variant, &report)
            : assay_check_determinism(&q->c, s->device, s->variant, &report);
    if (status == ASSAY_OK && (report.verdict == ASSAY_FAIL || report.verdict == ASSAY_ERROR))
        found(a, LAYER_PROPERTY, report.reason);
    return status;
}

static void hear_line(const golden_line *line, void *context) {
    answer *a = context;
    char reason[LAYER_REASON];
    if (a->layer != LAYER_NONE || line->verdict == ASSAY_PASS || line->verdict == ASSAY_MISTRUSTED)
        return;
    snprintf(reason, sizeof reason, "%.40s against %.10s: %.180s", line->tensor, line->against,
             line->reason);
    found(a, line->verdict == ASSAY_SKIP ? LAYER_REFUSED : LAYER_GOLDEN, reason);
}

static assay_status ask_golden(subject *s, const question *q, answer *a) {
    char path[4096];
    golden_check check;
    assay_status status = assay_golden_path(q->c.op, path, sizeof path);
    if (status == ASSAY_OK)
        status = golden_check_init(&check, path, &q->c, s->device, &s->variant->name, 1);
    if (status != ASSAY_OK)
        return status;
    status = golden_check_variants(&check, hear_line, a);
    golden_check_clear(&check);
    return status;
}

assay_status subject_ask(subject *s, const question *q, answer *a) {
    *a = (answer){.layer = LAYER_NONE};
    switch (q->kind) {
    case ASK_NUMBERS:
    case ASK_ACCESSES:
        return ask_case(s, q, a);
    case ASK_RELATION:
    case ASK_DETERMINISM:
        return ask_relation(s, q, a);
    case ASK_GOLDEN:
        return ask_golden(s, q, a);
    }
    return ASSAY_OK;
}

void question_text(const question *q, char text[ASSAY_CASE_TEXT]) {
    char words[ASSAY_CASE_TEXT];
    if (q->kind == ASK_NUMBERS || q->kind == ASK_ACCESSES) {
        snprintf(text, ASSAY_CASE_TEXT, "%s", q->test->text);
        return;
    }
    assay_case_format(&q->c, words);
    snprintf(text, ASSAY_CASE_TEXT, "%s: %.450s",
             q->kind == ASK_RELATION      ? q->relation->name
             : q->kind == ASK_DETERMINISM ? "determinism"
                                          : "golden",
             words);
}
