#include "mutants/hearing.h"
#include "mutants/original.h"

#include "assay/golden.h"
#include "engine/relations.h"

#include <stdio.h>
#include <string.h>

/* The layer that a finding counts for: what only an instrumented build, or a random case, brought
 * to light is theirs. */
static mutant_layer layer_for(const hearing *h, const question *q, mutant_layer found) {
    if (h->level == BUILD_ASAN)
        return LAYER_ASAN;
    if (h->level == BUILD_RACE)
        return LAYER_RACE;
    return q->trial && q->trial->set == TRIAL_RANDOM ? LAYER_FUZZ : found;
}

/* A machine with too much to do is slow as well: what took too long is asked once more. Instruments
 * are slow by themselves, so there it says nothing. */
static assay_status ask_patiently(hearing *h, const question *q, answer *a) {
    seat again = {0};
    assay_status status = seat_ask(&h->seat, q, a);
    if (status != ASSAY_OK || a->layer != LAYER_HANG)
        return status;
    a->layer = LAYER_NONE;
    if (h->level == BUILD_ASAN || h->level == BUILD_RACE)
        return ASSAY_OK;
    status = seat_open(&again, h->j->builder, h->level, h->user, h->seat.object, SEAT_PATIENCE);
    if (status == ASSAY_OK)
        status = seat_ask(&again, q, a);
    seat_close(&again);
    return status;
}

/* Asks; whoever is found wrong is dead, unless the original is too. */
static assay_status ask(hearing *h, const question *q) {
    answer a;
    bool fair = true;
    if (h->result->outcome != MUTANT_PENDING)
        return ASSAY_OK;
    assay_status status = ask_patiently(h, q, &a);
    if (status == ASSAY_OK && a.layer != LAYER_NONE)
        status = original_clear(h->j, h->level, h->user, q, &fair);
    if (status != ASSAY_OK || a.layer == LAYER_NONE || !fair)
        return status;
    h->result->outcome = MUTANT_KILLED;
    h->result->layer = layer_for(h, q, a.layer);
    question_text(q, h->result->by);
    snprintf(h->result->reason, LAYER_REASON, "%s", a.reason);
    snprintf(h->result->variant, MUTANT_VARIANT, "%.40s/%.20s", h->user->op, h->user->variant);
    return ASSAY_OK;
}

/* Every k-th of an operator's cases of some sets, so that about `most` are asked about. */
typedef struct choice {
    trial_set from, to;
    int32_t most;
} choice;

static const judge_cases *cases_of(const hearing *h) {
    int32_t c = 0;
    while (strcmp(h->j->cases[c].op->name, h->user->op) != 0)
        ++c;
    return &h->j->cases[c];
}

static bool is_in(const trial *t, const choice *from) {
    return t->set >= from->from && t->set <= from->to;
}

static assay_status ask_trials(hearing *h, const choice *from,
                               assay_status (*ask_one)(hearing *h, trial *t)) {
    const judge_cases *cases = cases_of(h);
    assay_status status = ASSAY_OK;
    int32_t count = 0, n = 0;
    for (int32_t t = 0; t < cases->n_trials; ++t)
        count += is_in(&cases->trial[t], from);
    const int32_t step = count > from->most ? (count + from->most - 1) / from->most : 1;
    for (int32_t t = 0; t < cases->n_trials && status == ASSAY_OK; ++t)
        if (is_in(&cases->trial[t], from) && n++ % step == 0)
            status = ask_one(h, &cases->trial[t]);
    return status;
}

static assay_status ask_numbers(hearing *h, trial *t) {
    return ask(h, &(question){.kind = ASK_NUMBERS, .trial = t});
}

static assay_status ask_accesses(hearing *h, trial *t) {
    return ask(h, &(question){.kind = ASK_ACCESSES, .trial = t});
}

static assay_status ask_properties(hearing *h, trial *t) {
    question q = {.kind = ASK_RELATION};
    assay_status status = assay_case_parse(t->text, &q.c);
    for (int32_t r = 0; status == ASSAY_OK && r < q.c.op->n_relations; ++r) {
        q.relation = &q.c.op->relations[r];
        if (relation_applies(q.relation, &q.c))
            status = ask(h, &q);
    }
    q.kind = ASK_DETERMINISM;
    return status == ASSAY_OK ? ask(h, &q) : status;
}

static assay_status ask_golden_case(const char *text, const char *made_by, bool foreign,
                                    void *context) {
    question q = {.kind = ASK_GOLDEN};
    (void)made_by;
    (void)foreign;
    const assay_status status = assay_case_parse(text, &q.c);
    return status == ASSAY_OK ? ask(context, &q) : status;
}

static assay_status ask_golden(hearing *h) {
    char path[4096];
    const assay_op *op = assay_op_find(h->user->op, strlen(h->user->op));
    const assay_status status = assay_golden_path(op, path, sizeof path);
    return status == ASSAY_OK ? assay_golden_visit(path, ask_golden_case, h) : status;
}

/* Relations ask an oracle for bounds each time, and instruments slow kernels down: of those, some
 * cases. */
static const choice smoke = {TRIAL_SMOKE, TRIAL_SMOKE, INT32_MAX};
static const choice larger = {TRIAL_CI, TRIAL_EDGE, INT32_MAX};
static const choice at_random = {TRIAL_RANDOM, TRIAL_RANDOM, INT32_MAX};
static const choice for_relations = {TRIAL_SMOKE, TRIAL_SMOKE, 8};
static const choice for_instruments = {TRIAL_CI, TRIAL_EDGE, 32};

assay_status hearing_ask_all(hearing *h) {
    assay_status status;
    switch (h->level) {
    case BUILD_QUICK:
        return ask_trials(h, &smoke, ask_numbers);
    case BUILD_FULL:
        status = ask_trials(h, &larger, ask_numbers);
        if (status == ASSAY_OK)
            status = ask_golden(h);
        if (status == ASSAY_OK)
            status = ask_trials(h, &at_random, ask_numbers);
        return status == ASSAY_OK ? ask_trials(h, &for_relations, ask_properties) : status;
    case BUILD_ASAN:
    case BUILD_RACE:
        status = ask_trials(h, &smoke, ask_accesses);
        return status == ASSAY_OK ? ask_trials(h, &for_instruments, ask_accesses) : status;
    }
    return ASSAY_OK;
}
