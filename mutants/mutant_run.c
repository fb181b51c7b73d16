#include "mutants/mutant_run.h"
#include "mutants/original.h"

#include "assay/golden.h"
#include "engine/relations.h"

#include <stdio.h>
#include <string.h>

/* The layer that a finding counts for: a finding that only an instrumented build, or a random case,
 * brought to light counts for that one. */
static mutant_layer layer_for(const mutant_run *run, const question *q, mutant_layer found) {
    if (run->level == BUILD_ASAN)
        return LAYER_ASAN;
    if (run->level == BUILD_RACE)
        return LAYER_RACE;
    return q->test && q->test->set == TEST_CASE_RANDOM ? LAYER_FUZZ : found;
}

/* A machine with too much to do is slow as well: a question that took too long is asked once more.
 * Instruments are slow by themselves, so there it says nothing. */
static assay_status ask_patiently(mutant_run *run, const question *q, answer *a) {
    subject again = {0};
    assay_status status = subject_ask(&run->subject, q, a);
    if (status != ASSAY_OK || a->layer != LAYER_HANG)
        return status;
    a->layer = LAYER_NONE;
    if (run->level == BUILD_ASAN || run->level == BUILD_RACE)
        return ASSAY_OK;
    status = subject_open(&again, run->checker->builder, run->level, run->user, run->subject.object,
                          SUBJECT_PATIENCE);
    if (status == ASSAY_OK)
        status = subject_ask(&again, q, a);
    subject_close(&again);
    return status;
}

/* Asks; a mutant that is found wrong is killed, unless the original is wrong too. */
static assay_status ask(mutant_run *run, const question *q) {
    answer a;
    bool fair = true;
    if (run->result->outcome != MUTANT_PENDING)
        return ASSAY_OK;
    assay_status status = ask_patiently(run, q, &a);
    if (status == ASSAY_OK && a.layer != LAYER_NONE)
        status = original_clear(run->checker, run->level, run->user, q, a.layer, &fair);
    if (status != ASSAY_OK || a.layer == LAYER_NONE || !fair)
        return status;
    run->result->outcome = MUTANT_KILLED;
    run->result->layer = layer_for(run, q, a.layer);
    question_text(q, run->result->by);
    snprintf(run->result->reason, LAYER_REASON, "%s", a.reason);
    snprintf(run->result->variant, MUTANT_VARIANT, "%.40s/%.20s", run->user->op,
             run->user->variant);
    return ASSAY_OK;
}

/* Every k-th of an operator's cases of some sets, so that about `most` are asked about. */
typedef struct choice {
    test_case_set from, to;
    int32_t most;
} choice;

static const operator_cases *cases_of(const mutant_run *run) {
    int32_t c = 0;
    while (strcmp(run->checker->cases[c].op->name, run->user->op) != 0)
        ++c;
    return &run->checker->cases[c];
}

static bool is_in(const test_case *t, const choice *from) {
    return t->set >= from->from && t->set <= from->to;
}

static assay_status ask_cases(mutant_run *run, const choice *from,
                              assay_status (*ask_one)(mutant_run *run, test_case *t)) {
    const operator_cases *cases = cases_of(run);
    assay_status status = ASSAY_OK;
    int32_t count = 0, n = 0;
    for (int32_t t = 0; t < cases->n_tests; ++t)
        count += is_in(&cases->test[t], from);
    const int32_t step = count > from->most ? (count + from->most - 1) / from->most : 1;
    for (int32_t t = 0; t < cases->n_tests && status == ASSAY_OK; ++t)
        if (is_in(&cases->test[t], from) && n++ % step == 0)
            status = ask_one(run, &cases->test[t]);
    return status;
}

static assay_status ask_numbers(mutant_run *run, test_case *t) {
    return ask(run, &(question){.kind = ASK_NUMBERS, .test = t});
}

static assay_status ask_accesses(mutant_run *run, test_case *t) {
    return ask(run, &(question){.kind = ASK_ACCESSES, .test = t});
}

static assay_status ask_properties(mutant_run *run, test_case *t) {
    question q = {.kind = ASK_RELATION};
    assay_status status = assay_case_parse(t->text, &q.c);
    for (int32_t r = 0; status == ASSAY_OK && r < q.c.op->n_relations; ++r) {
        q.relation = &q.c.op->relations[r];
        if (relation_applies(q.relation, &q.c))
            status = ask(run, &q);
    }
    q.kind = ASK_DETERMINISM;
    return status == ASSAY_OK ? ask(run, &q) : status;
}

static assay_status ask_golden_case(const char *text, const char *made_by, bool foreign,
                                    void *context) {
    question q = {.kind = ASK_GOLDEN};
    (void)made_by;
    (void)foreign;
    const assay_status status = assay_case_parse(text, &q.c);
    return status == ASSAY_OK ? ask(context, &q) : status;
}

static assay_status ask_golden(mutant_run *run) {
    char path[4096];
    const assay_op *op = assay_op_find(run->user->op, strlen(run->user->op));
    const assay_status status = assay_golden_path(op, path, sizeof path);
    return status == ASSAY_OK ? assay_golden_visit(path, ask_golden_case, run) : status;
}

/* Relations ask an oracle for bounds each time, and instruments slow kernels down: of those, some
 * cases. */
static const choice smoke = {TEST_CASE_SMOKE, TEST_CASE_SMOKE, INT32_MAX};
static const choice larger = {TEST_CASE_CI, TEST_CASE_EDGE, INT32_MAX};
static const choice at_random = {TEST_CASE_RANDOM, TEST_CASE_RANDOM, INT32_MAX};
static const choice for_relations = {TEST_CASE_SMOKE, TEST_CASE_SMOKE, 8};
static const choice for_instruments = {TEST_CASE_CI, TEST_CASE_EDGE, 32};

assay_status mutant_run_ask_all(mutant_run *run) {
    assay_status status;
    switch (run->level) {
    case BUILD_QUICK:
        return ask_cases(run, &smoke, ask_numbers);
    case BUILD_FULL:
        status = ask_cases(run, &larger, ask_numbers);
        if (status == ASSAY_OK)
            status = ask_golden(run);
        if (status == ASSAY_OK)
            status = ask_cases(run, &at_random, ask_numbers);
        return status == ASSAY_OK ? ask_cases(run, &for_relations, ask_properties) : status;
    case BUILD_ASAN:
    case BUILD_RACE:
        status = ask_cases(run, &smoke, ask_accesses);
        return status == ASSAY_OK ? ask_cases(run, &for_instruments, ask_accesses) : status;
    }
    return ASSAY_OK;
}
