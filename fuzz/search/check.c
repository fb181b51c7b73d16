#include "fuzz/search/check.h"

#include "engine/isolate.h"
#include "engine/relations.h"
#include "engine/variant_run.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char determinism[] = "determinism", same_bits[] = "same_bits";

static const char *const kind_names[FUZZ_KINDS] = {
    [FUZZ_WRONG] = "wrong", [FUZZ_UNEQUAL] = "unequal",
    [FUZZ_STRAY] = "stray", [FUZZ_CRASH] = "crash",
    [FUZZ_HANG] = "hang",   [FUZZ_MEMORY] = "memory",
    [FUZZ_FAULT] = "fault", [FUZZ_WORKER_DIED] = "worker_died"};

const char *fuzz_kind_name(fuzz_kind kind) {
    return kind_names[kind];
}

bool fuzz_kind_find(const char *name, fuzz_kind *kind) {
    for (int k = 0; k < FUZZ_KINDS; ++k)
        if (strcmp(kind_names[k], name) == 0) {
            *kind = (fuzz_kind)k;
            return true;
        }
    return false;
}

static fuzz_kind kind_of(assay_failure failure) {
    static const fuzz_kind kinds[] = {
        [ASSAY_FAILURE_OTHER] = FUZZ_FAULT,    [ASSAY_FAILURE_WRONG] = FUZZ_WRONG,
        [ASSAY_FAILURE_STRAY] = FUZZ_STRAY,    [ASSAY_FAILURE_CRASH] = FUZZ_CRASH,
        [ASSAY_FAILURE_HANG] = FUZZ_HANG,      [ASSAY_FAILURE_MEMORY] = FUZZ_MEMORY,
        [ASSAY_FAILURE_UNEQUAL] = FUZZ_UNEQUAL};
    return kinds[failure];
}

/* ---- what is found ---- */

static void add_failure(fuzz_result *result, const char *variant, fuzz_kind kind,
                        const char *relation, const char *tensor, const char *reason) {
    for (int32_t i = 0; i < result->n_failures; ++i)
        if (result->failure[i].kind == kind && strcmp(result->failure[i].variant, variant) == 0)
            return;
    if (result->n_failures == FUZZ_FAILURES)
        return;
    fuzz_failure *f = &result->failure[result->n_failures++];
    *f = (fuzz_failure){.kind = kind};
    snprintf(f->variant, sizeof f->variant, "%s", variant);
    snprintf(f->relation, sizeof f->relation, "%s", relation);
    snprintf(f->tensor, sizeof f->tensor, "%s", tensor);
    snprintf(f->reason, sizeof f->reason, "%s", reason);
    for (char *at = f->reason; *at; ++at)
        if (iscntrl((unsigned char)*at))
            *at = ' '; /* one line, whatever a kernel printed */
}

static void add_mark(fuzz_result *result, const assay_row *row) {
    char name[FUZZ_VARIANT + sizeof row->tensor + 16];
    if (result->n_marks == FUZZ_MARKS || !(row->cmp.ratio > 0) || !isfinite(row->cmp.ratio))
        return;
    snprintf(name, sizeof name, "%s %s %s", row->variant, row->tensor,
             assay_dtype_name(row->dtype));
    const uint64_t stream = assay_rng_stream(name);
    result->mark[result->n_marks++] = (fuzz_mark){.key = (uint32_t)(stream ^ stream >> 32),
                                                  .octave = (int32_t)floor(log2(row->cmp.ratio))};
}

static void take_row(fuzz_result *result, const assay_row *row) {
    add_mark(result, row);
    if (row->verdict == ASSAY_FAIL)
        add_failure(result, row->variant, FUZZ_WRONG, "", row->tensor, row->reason);
    else if (row->verdict == ASSAY_ERROR)
        add_failure(result, row->variant, kind_of(row->failure), "", row->tensor, row->reason);
}

/* The worst verdict of each variant's rows. */
static void count_variants(fuzz_result *result, const assay_report *report) {
    for (int32_t i = 0, end; i < report->n_rows; i = end) {
        assay_verdict worst = report->rows[i].verdict;
        for (end = i; end < report->n_rows &&
                      strcmp(report->rows[end].variant, report->rows[i].variant) == 0;
             ++end)
            worst = assay_verdict_merge(worst, report->rows[end].verdict);
        result->passed += worst == ASSAY_PASS;
        result->mistrusted += worst == ASSAY_MISTRUSTED;
        result->skipped += worst == ASSAY_SKIP;
    }
}

/* A case that this host cannot judge is none; other trouble would meet the next one too. */
static assay_status or_declined(assay_status status, fuzz_result *result) {
    const bool only_this_case =
        status == ASSAY_ERR_USAGE || status == ASSAY_ERR_MEMORY || status == ASSAY_ERR_UNSUPPORTED;
    result->declined = result->declined || only_this_case;
    return only_this_case ? ASSAY_OK : status;
}

/* ---- relations ---- */

static int32_t n_relations(const fuzz_subject *subject, const assay_op *op) {
    return op->n_relations + 1 + (subject->twin ? 1 : 0);
}

static const char *relation_name(const assay_op *op, int32_t r) {
    return r < op->n_relations    ? op->relations[r].name
           : r == op->n_relations ? determinism
                                  : same_bits;
}

/* The simulated device takes seconds for more, and the GPU's bits are no others there. */
static bool simulated_soon(const assay_case *c) {
    static const double most_flops = 1 << 20;
    double flops = 0;
    for (int stage = ASSAY_FORWARD; stage <= ASSAY_BACKWARD; ++stage) {
        assay_work work;
        if (assay_op_work(c->op, &c->params, (assay_stage)stage, &work) == ASSAY_OK)
            flops += work.flops;
    }
    return flops <= most_flops;
}

static assay_status check_relation(const fuzz_subject *subject, const assay_case *c,
                                   const assay_variant *variant, int32_t r,
                                   assay_relation_report *report) {
    *report = (assay_relation_report){.verdict = ASSAY_SKIP};
    if (r < c->op->n_relations && c->forward_only)
        return ASSAY_OK; /* relations speak of gradients, too */
    if (r < c->op->n_relations)
        return assay_check_relation(&c->op->relations[r], c, subject->device, variant, report);
    if (r == c->op->n_relations)
        return assay_check_determinism(c, subject->device, variant, report);
    const assay_variant *twin = variant_find(subject->twin, c->op->name, variant->name);
    if (!twin || twin->library || !simulated_soon(c))
        return ASSAY_OK;
    return assay_check_same_bits(c, subject->twin, twin, subject->device, variant, report);
}

enum { CASES_FOR_A_PLAN = 32, MOST_VARIANTS = 64 };

/* The variants that check this case, in `names`; 0: all of the operator's. A plan costs as much as
 * many cases, so variants that make one for each shape check one case in 32. */
static int32_t choose_variants(const fuzz_subject *subject, const assay_case *c,
                               const char *const **names) {
    static const char *chosen[MOST_VARIANTS];
    const assay_device *device = subject->device;
    int32_t n = 0, left_out = 0;
    *names = subject->variant;
    if (!subject->spares_plans || subject->n_variants > 0 || c->seed % CASES_FOR_A_PLAN == 0)
        return subject->n_variants;
    for (int32_t i = 0; i < device->n_variants && n < MOST_VARIANTS; ++i) {
        const assay_variant *v = device->variants[i];
        if (strcmp(v->op, c->op->name) == 0 && v->plans)
            ++left_out;
        else if (strcmp(v->op, c->op->name) == 0)
            chosen[n++] = v->name;
    }
    *names = chosen;
    return left_out > 0 && n < MOST_VARIANTS ? n : 0;
}

static bool wanted(const fuzz_subject *subject, const char *name) {
    for (int32_t i = 0; i < subject->n_variants; ++i)
        if (strcmp(subject->variant[i], name) == 0)
            return true;
    return subject->n_variants == 0;
}

/* A failure of a relation that is no difference, a crash say, is of that kind. */
static void take_relation(fuzz_result *result, const char *variant, const char *relation,
                          const assay_relation_report *report) {
    if (report->verdict == ASSAY_FAIL)
        add_failure(result, variant, FUZZ_UNEQUAL, relation, "", report->reason);
    else if (report->verdict == ASSAY_ERROR)
        add_failure(result, variant, kind_of(report->failure), relation, "", report->reason);
}

static assay_status check_relations(const fuzz_subject *subject, const assay_case *c, int64_t which,
                                    fuzz_result *result) {
    const int32_t count = n_relations(subject, c->op);
    int32_t variants = 0, v = 0;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < subject->device->n_variants; ++i)
        variants += strcmp(subject->device->variants[i]->op, c->op->name) == 0 &&
                    wanted(subject, subject->device->variants[i]->name);
    for (int32_t i = 0; status == ASSAY_OK && i < subject->device->n_variants; ++i) {
        const assay_variant *variant = subject->device->variants[i];
        if (strcmp(variant->op, c->op->name) != 0 || !wanted(subject, variant->name))
            continue;
        for (int32_t r = 0; status == ASSAY_OK && r < count; ++r) {
            assay_relation_report report;
            if (which != FUZZ_ALL_RELATIONS &&
                (which % variants != v || which / variants % count != r))
                continue;
            status = check_relation(subject, c, variant, r, &report);
            if (status == ASSAY_OK)
                take_relation(result, variant->name, relation_name(c->op, r), &report);
            else if (status == ASSAY_ERR_USAGE || status == ASSAY_ERR_MEMORY)
                status = ASSAY_OK; /* what it is held against would be no case here */
        }
        ++v;
    }
    return status;
}

/* ---- the whole ---- */

assay_status fuzz_check(const fuzz_subject *subject, const assay_case *given, int64_t relation,
                        fuzz_result *result) {
    assay_report report;
    assay_case within = *given, *c = &within;
    scope_apply(subject->scope, c);
    *result = (fuzz_result){0};
    const char *const *variant;
    const int32_t n = choose_variants(subject, c, &variant);
    assay_isolated_forget_edges(subject->device);
    assay_status status =
        subject->rows > 0
            ? assay_check_rows(c, subject->device, variant, n, subject->rows, true, &report)
            : assay_check_numbers(c, subject->device, variant, n, &report);
    if (status != ASSAY_OK)
        return or_declined(status, result);
    for (int32_t i = 0; i < report.n_rows; ++i)
        take_row(result, &report.rows[i]);
    count_variants(result, &report);
    assay_report_clear(&report);
    if (relation != FUZZ_NO_RELATION && subject->rows == 0)
        status = check_relations(subject, c, relation, result);
    memcpy(result->edges, assay_isolated_edges(subject->device), sizeof result->edges);
    return status;
}

static bool same_way(const fuzz_failure *a, const fuzz_failure *b) {
    return a->kind == b->kind && strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->relation, b->relation) == 0;
}

assay_status fuzz_fails_alike(const fuzz_subject *subject, const assay_case *given,
                              const fuzz_failure *failure, bool *alike) {
    static fuzz_result result;
    assay_case within = *given, *c = &within;
    scope_apply(subject->scope, c);
    const char *variant = failure->variant;
    const fuzz_subject one = {.device = subject->device,
                              .twin = subject->twin,
                              .variant = &variant,
                              .n_variants = 1,
                              .scope = subject->scope,
                              .rows = subject->rows};
    *alike = false;
    assay_status status = ASSAY_OK;
    if (failure->relation[0] == '\0') {
        status = fuzz_check(&one, c, FUZZ_NO_RELATION, &result);
    } else {
        result = (fuzz_result){0};
        const assay_variant *v = variant_find(subject->device, c->op->name, variant);
        for (int32_t r = 0; v && r < n_relations(subject, c->op); ++r) {
            assay_relation_report report;
            if (strcmp(relation_name(c->op, r), failure->relation) != 0)
                continue;
            status = or_declined(check_relation(&one, c, v, r, &report), &result);
            if (status == ASSAY_OK && !result.declined)
                take_relation(&result, variant, failure->relation, &report);
        }
    }
    for (int32_t i = 0; i < result.n_failures; ++i)
        *alike = *alike || same_way(&result.failure[i], failure);
    return status;
}
