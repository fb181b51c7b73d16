#include "engine/relations.h"
#include "engine/runner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A problem, the variant's results, and its bounds. */
typedef struct side {
    assay_problem p;
    assay_results got;
    assay_reference ref;
} side;

static void side_clear(side *s) {
    assay_problem_clear(&s->p);
    assay_results_clear(&s->got);
    assay_reference_clear(&s->ref);
}

/* Runs the variant. What it did wrong goes into the report, and *ran says whether to go on. */
static assay_status run_side(side *s, const assay_device *device, const assay_variant *variant,
                             assay_relation_report *report, bool *ran) {
    const bool again = s->got.again;
    *ran = false;
    assay_status status = assay_results_init(&s->got, &s->p.sig);
    if (status != ASSAY_OK)
        return status;
    s->got.again = again;
    status = assay_run(variant, device, &s->p, &s->got);
    if (status != ASSAY_OK) {
        report->verdict = status == ASSAY_ERR_UNSUPPORTED ? ASSAY_SKIP : ASSAY_ERROR;
        report->failure = assay_error_failure();
        snprintf(report->reason, sizeof report->reason, "%s", assay_error());
        return ASSAY_OK;
    }
    *ran = true;
    return ASSAY_OK;
}

/* The bounds of a side, shaped as results, so that `predict` can be applied to them. */
static assay_results bounds_of(const side *s) {
    return (assay_results){.out = s->ref.out_bound.element, .grad = s->ref.grad_bound.element};
}

/* Whether the relation leaves no room on this data: it says so itself, or all sums are exact. */
static bool is_exact(const assay_relation *relation, const assay_case *c) {
    const bool unrounded = c->params.dtype == ASSAY_F32 || c->params.dtype == ASSAY_F64;
    return relation->exact || (c->fill == ASSAY_FILL_EXACT && unrounded);
}

static assay_status derive(const assay_relation *relation, const assay_problem *base, int32_t i,
                           assay_problem *derived) {
    assay_case c = base->c;
    assay_status status = ASSAY_OK;
    if (relation->derive_case)
        status = relation->derive_case(&base->c, i, &c);
    if (status == ASSAY_OK)
        status = assay_problem_init_empty(derived, &c);
    return status == ASSAY_OK ? relation->derive(base, i, derived) : status;
}

/* The place of an element; a reduced array has sums instead. */
static const char *place(const assay_tensor_spec *spec, int64_t size, int64_t e, char at[128]) {
    if (size == assay_spec_count(spec))
        return assay_index_text(spec->rank, spec->shape, e, at);
    snprintf(at, 128, ", sum %lld", (long long)e);
    return at;
}

static void compare_group(const char *prefix, const assay_tensor_spec *specs,
                          const assay_arrays *got, const assay_arrays *want,
                          const assay_arrays *bound, assay_relation_report *report) {
    for (int32_t i = 0; i < want->count; ++i) {
        if (!want->data[i])
            continue;
        const assay_comparison cmp = assay_compare(specs[i].dtype, got->data[i], want->data[i],
                                                   bound->data[i], want->size[i]);
        char at[128];
        if (cmp.verdict == ASSAY_FAIL)
            snprintf(report->reason, sizeof report->reason,
                     "%s%s%s: %.9g where the relation says %.9g, allowed difference %.3g", prefix,
                     specs[i].name, place(&specs[i], want->size[i], cmp.worst, at), cmp.got,
                     cmp.want, cmp.bound);
        else if (cmp.verdict == ASSAY_ERROR)
            snprintf(report->reason, sizeof report->reason,
                     "%s%s%s: the allowed difference is %g where the relation says %.9g; this is a "
                     "defect of assay, not of the kernel",
                     prefix, specs[i].name, place(&specs[i], want->size[i], cmp.worst, at),
                     cmp.bound, cmp.want);
        else if (cmp.verdict == ASSAY_MISTRUSTED && report->verdict == ASSAY_PASS)
            snprintf(report->reason, sizeof report->reason, "%s%s: %s", prefix, specs[i].name,
                     cmp.reason);
        report->verdict = assay_verdict_merge(report->verdict, cmp.verdict);
    }
}

static void add_to(assay_arrays *sum, const assay_arrays *term) {
    for (int32_t i = 0; i < sum->count; ++i)
        for (int64_t e = 0; sum->data[i] && e < sum->size[i]; ++e)
            sum->data[i][e] += term->data[i][e];
}

static void take_magnitudes(assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] && e < arrays->size[i]; ++e)
            arrays->data[i][e] = fabs(arrays->data[i][e]);
}

/* Nothing asks for the problems' data themselves after this. */
static assay_status relate_bounds(const assay_relation *relation, side *base, side *derived,
                                  const assay_problem *problems, const assay_results *bounds,
                                  assay_results *allowed) {
    assay_results own = bounds_of(base);
    assay_status status = ASSAY_OK;
    take_magnitudes(&base->p.in);
    take_magnitudes(&base->p.cot);
    for (int32_t i = 0; i < relation->n_derived; ++i) {
        take_magnitudes(&derived[i].p.in);
        take_magnitudes(&derived[i].p.cot);
    }
    if (relation->n_derived > 0)
        status = relation->predict(&base->p, problems, bounds, allowed);
    if (status == ASSAY_OK && relation->reduce)
        status = relation->reduce(&base->p, problems, &own);
    return status;
}

/* Sums of either side are rounded to fp64 once, however they were taken. */
static void allow_sums(const assay_arrays *got, const assay_arrays *want, assay_arrays *allowed) {
    const double u = 0x1p-53;
    for (int32_t i = 0; i < want->count; ++i)
        for (int64_t e = 0; want->data[i] && e < want->size[i]; ++e)
            allowed->data[i][e] += u * (fabs(got->data[i][e]) + fabs(want->data[i][e]));
}

/* allowed = reduce(bound(base)) + predict(bounds of the derived); zero for an exact relation,
 * unless sums have any order. */
static assay_status allow(const assay_relation *relation, side *base, side *derived,
                          const assay_problem *problems, const assay_results *want,
                          assay_results *allowed) {
    if (is_exact(relation, &base->p.c) && !base->got.any_order)
        return ASSAY_OK; /* comes zeroed */
    assay_results bounds[ASSAY_MAX_DERIVED] = {0};
    assay_status status = assay_reference_init_as(&base->ref, &base->p, base->p.c.params.dtype);
    for (int32_t i = 0; status == ASSAY_OK && i < relation->n_derived; ++i) {
        status =
            assay_reference_init_as(&derived[i].ref, &derived[i].p, derived[i].p.c.params.dtype);
        bounds[i] = bounds_of(&derived[i]);
    }
    if (status == ASSAY_OK)
        status = relate_bounds(relation, base, derived, problems, bounds, allowed);
    if (status != ASSAY_OK)
        return status;
    add_to(&allowed->out, &base->ref.out_bound.element);
    add_to(&allowed->grad, &base->ref.grad_bound.element);
    if (relation->reduce) {
        allow_sums(&base->got.out, &want->out, &allowed->out);
        allow_sums(&base->got.grad, &want->grad, &allowed->grad);
    }
    return ASSAY_OK;
}

/* Why the definition says nothing of some tensor; NULL: it says something of each. */
static const char *outside(const assay_reference *ref) {
    const assay_bounds *groups[] = {&ref->out_bound, &ref->grad_bound};
    for (int g = 0; g < 2; ++g)
        for (int32_t i = 0; i < groups[g]->element.count; ++i)
            if (groups[g]->outside[i][0] != '\0')
                return groups[g]->outside[i];
    return NULL;
}

static bool has_infinity(const assay_tensor_spec *specs, const assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; specs[i].dtype == ASSAY_F16 && arrays->data[i] && e < arrays->size[i];
             ++e)
            if (isinf(arrays->data[i][e]))
                return true;
    return false;
}

/* Whether a result of finite data overflowed, as it may in f16 without an overflow in the sums:
 * then it has lost what relations compare. The oracle says of the base's whether it had to. */
static bool overflowed(const side *s, assay_relation_report *report) {
    if (!has_infinity(s->p.sig.out, &s->got.out) && !has_infinity(s->p.sig.in, &s->got.grad))
        return false;
    *report = (assay_relation_report){.verdict = ASSAY_MISTRUSTED,
                                      .reason = "a result overflowed: relations do not hold"};
    return true;
}

/* Whether the definition says something of both sides; otherwise nothing is proven. */
static bool is_defined(const assay_relation *relation, const side *base, const side *derived,
                       assay_relation_report *report) {
    const char *reason = outside(&base->ref);
    for (int32_t i = 0; !reason && i < relation->n_derived; ++i)
        reason = outside(&derived[i].ref);
    if (!reason)
        return true;
    report->verdict = ASSAY_MISTRUSTED;
    snprintf(report->reason, sizeof report->reason, "%s", reason);
    return false;
}

bool relation_applies(const assay_relation *relation, const assay_case *c) {
    const bool finite = c->fill != ASSAY_FILL_INF && c->fill != ASSAY_FILL_NAN;
    /* At the ends of a dtype's range the relations of bits, and of halves, do not hold. */
    return finite && c->exponent == 0 && (!relation->applies || relation->applies(c));
}

assay_status assay_check_relation(const assay_relation *relation, const assay_case *c,
                                  const assay_device *device, const assay_variant *variant,
                                  assay_relation_report *report) {
    side base = {0}, derived[ASSAY_MAX_DERIVED] = {0};
    assay_problem problems[ASSAY_MAX_DERIVED] = {0}; /* views of what `derived` owns */
    assay_results got[ASSAY_MAX_DERIVED] = {0}, want = {0}, allowed = {0};
    bool ran = false;
    *report = (assay_relation_report){.verdict = ASSAY_PASS};
    if (!relation_applies(relation, c)) {
        *report =
            (assay_relation_report){.verdict = ASSAY_SKIP, .reason = "does not apply to this case"};
        return ASSAY_OK;
    }
    assay_status status = assay_problem_load(&base.p, c);
    if (status == ASSAY_OK && relation->prepare)
        status = relation->prepare(&base.p);
    if (status == ASSAY_OK)
        status = run_side(&base, device, variant, report, &ran);
    ran = ran && !overflowed(&base, report);
    for (int32_t i = 0; status == ASSAY_OK && ran && i < relation->n_derived; ++i) {
        status = derive(relation, &base.p, i, &derived[i].p);
        if (status == ASSAY_OK)
            status = run_side(&derived[i], device, variant, report, &ran);
        ran = ran && !overflowed(&derived[i], report);
        problems[i] = derived[i].p;
        got[i] = derived[i].got;
    }
    if (status != ASSAY_OK || !ran)
        goto done;
    status = assay_results_init(&want, &base.p.sig);
    if (status == ASSAY_OK)
        status = assay_results_init(&allowed, &base.p.sig);
    if (status == ASSAY_OK)
        status = relation->predict(&base.p, problems, got, &want);
    if (status == ASSAY_OK && relation->reduce)
        status = relation->reduce(&base.p, problems, &base.got);
    if (status == ASSAY_OK)
        status = allow(relation, &base, derived, problems, &want, &allowed);
    if (status != ASSAY_OK || !is_defined(relation, &base, derived, report))
        goto done;
    compare_group("", base.p.sig.out, &base.got.out, &want.out, &allowed.out, report);
    compare_group("d", base.p.sig.in, &base.got.grad, &want.grad, &allowed.grad, report);
done:
    side_clear(&base);
    for (int32_t i = 0; i < ASSAY_MAX_DERIVED; ++i)
        side_clear(&derived[i]);
    assay_results_clear(&want);
    assay_results_clear(&allowed);
    return status;
}

/* ---- the same bits ---- */

/* Widening is injective, so equal bits here are equal bits there. All NaNs are one: which bits an
 * invalid operation gives is left to the machine. */
static bool same_value(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static int64_t first_difference(const double *a, const double *b, int64_t count) {
    int64_t e = 0;
    while (e < count && same_value(a[e], b[e]))
        ++e;
    return e;
}

static void compare_bits(const char *prefix, const assay_tensor_spec *specs, const assay_arrays *a,
                         const assay_arrays *b, const char *what, assay_relation_report *report) {
    for (int32_t i = 0; i < a->count; ++i) {
        char at[128];
        const int64_t e =
            a->data[i] ? first_difference(a->data[i], b->data[i], a->size[i]) : a->size[i];
        if (e == a->size[i])
            continue;
        report->verdict = ASSAY_FAIL;
        snprintf(report->tensor, sizeof report->tensor, "%s%s", prefix, specs[i].name);
        snprintf(report->reason, sizeof report->reason, "%s%s%s: %.17g and then %.17g %s", prefix,
                 specs[i].name, assay_index_text(specs[i].rank, specs[i].shape, e, at),
                 a->data[i][e], b->data[i][e], what);
    }
}

static void compare_runs(const assay_signature *sig, const assay_results *a, const assay_results *b,
                         const char *what, assay_relation_report *report) {
    compare_bits("", sig->out, &a->out, &b->out, what, report);
    compare_bits("d", sig->in, &a->grad, &b->grad, what, report);
}

/* Whether its author has said that bits differ. */
static bool has_any_order(const assay_results *got, assay_relation_report *report) {
    if (got->any_order)
        *report = (assay_relation_report){
            .verdict = ASSAY_SKIP, .reason = "its sums have any order, as its author declares"};
    return got->any_order;
}

assay_status assay_check_same_bits(const assay_case *c, const assay_device *a_device,
                                   const assay_variant *a, const assay_device *b_device,
                                   const assay_variant *b, assay_relation_report *report) {
    side first = {0}, second = {0};
    bool ran = false;
    char what[64];
    *report = (assay_relation_report){.verdict = ASSAY_PASS};
    assay_status status = assay_problem_load(&first.p, c);
    if (status == ASSAY_OK)
        status = assay_problem_load(&second.p, c);
    first.p.c.multiprocessors = second.p.c.multiprocessors = b_device->multiprocessors;
    if (status == ASSAY_OK)
        status = run_side(&first, a_device, a, report, &ran);
    if (status == ASSAY_OK && ran)
        status = run_side(&second, b_device, b, report, &ran);
    if (status == ASSAY_OK && ran) {
        snprintf(what, sizeof what, "(%s, %s)", a_device->name, b_device->name);
        if (!has_any_order(&first.got, report))
            compare_runs(&first.p.sig, &first.got, &second.got, what, report);
    }
    side_clear(&first);
    side_clear(&second);
    return status;
}

assay_status assay_check_determinism(const assay_case *c, const assay_device *device,
                                     const assay_variant *variant, assay_relation_report *report) {
    side first = {0};
    bool ran = false;
    *report = (assay_relation_report){.verdict = ASSAY_PASS};
    assay_status status = assay_problem_load(&first.p, c);
    if (status == ASSAY_OK)
        status = run_side(&first, device, variant, report, &ran);
    if (status == ASSAY_OK && ran && has_any_order(&first.got, report))
        ran = false;
    for (int i = 0; status == ASSAY_OK && ran && i <= ASSAY_SCHEDULES; ++i) {
        side again = {0};
        status = assay_problem_load(&again.p, c);
        if (i < ASSAY_SCHEDULES)
            again.p.c.schedule = (assay_schedule)i;
        if (status == ASSAY_OK)
            status = run_side(&again, device, variant, report, &ran);
        if (status == ASSAY_OK && ran)
            compare_runs(&first.p.sig, &first.got, &again.got,
                         assay_schedule_name(again.p.c.schedule), report);
        side_clear(&again);
    }
    side_clear(&first);
    return status;
}

assay_status assay_check_repeat(const assay_problem *p, const assay_results *first,
                                const assay_device *device, const assay_variant *variant,
                                assay_relation_report *report) {
    side again = {.p = *p}; /* a view: `p` owns what it holds */
    bool ran = false;
    *report = (assay_relation_report){.verdict = ASSAY_PASS};
    if (has_any_order(first, report))
        return ASSAY_OK;
    again.p.c.schedule = (assay_schedule)((p->c.schedule + 1) % ASSAY_SCHEDULES);
    again.got.again = true;
    const assay_status status = run_side(&again, device, variant, report, &ran);
    if (status == ASSAY_OK && ran)
        compare_runs(&p->sig, first, &again.got, assay_schedule_name(again.p.c.schedule), report);
    assay_results_clear(&again.got);
    return status;
}
