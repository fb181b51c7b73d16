/*
 * reduce: x (n…) -> y, over some axes of x, which y does not have: kind=sum, mean or max.
 *
 * Backward, given dy: dx = dy of the own sum; mean: divided by the count; max: of the elements that
 * are the largest. Where several are, they share dy evenly; with first=1 the first of them, in the
 * order of memory, gets all. NaN counts as the largest.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/twofold.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_AXES, KEY_KIND, KEY_FIRST };
enum { X };
enum { Y };
enum { SUM, MEAN, MAX };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, 0x1p40, "axes of x"},
    {"axes", ASSAY_KEY_LIST, "none", 0, ASSAY_MAX_RANK - 1,
     "those that are reduced, from 0; `none` for all"},
    {"kind", ASSAY_KEY_NAME, "sum", 0, 0, "of the elements that y has one of"},
    {"first", ASSAY_KEY_INT, "0", 0, 1, "kind=max: the first of equal elements gets all of dy"},
};
static const char *const names[] = {"sum", "mean", "max", NULL};

/* ---- where elements lie ---- */

/* Element r of the ones that make result o. */
typedef struct shape {
    int32_t rank, kept, reduced;
    int64_t kept_size[ASSAY_MAX_RANK], kept_step[ASSAY_MAX_RANK];
    int64_t reduced_size[ASSAY_MAX_RANK], reduced_step[ASSAY_MAX_RANK];
    int64_t results, terms;
    int kind;
    bool first;
} shape;

static bool is_reduced(const assay_params *params, int32_t axis) {
    const assay_param *axes = &params->item[KEY_AXES];
    for (int32_t i = 0; i < axes->count; ++i)
        if (axes->value[i] == axis)
            return true;
    return axes->count == 0;
}

static shape shape_of(const assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    shape s = {.rank = n->count,
               .results = 1,
               .terms = 1,
               .kind = (int)params->item[KEY_KIND].value[0],
               .first = params->item[KEY_FIRST].value[0] != 0};
    for (int32_t a = 0; a < n->count; ++a) {
        int64_t step = 1;
        for (int32_t b = a + 1; b < n->count; ++b)
            step *= n->value[b];
        if (is_reduced(params, a)) {
            s.reduced_size[s.reduced] = n->value[a];
            s.reduced_step[s.reduced++] = step;
            s.terms *= n->value[a];
        } else {
            s.kept_size[s.kept] = n->value[a];
            s.kept_step[s.kept++] = step;
            s.results *= n->value[a];
        }
    }
    return s;
}

static int64_t offset(int32_t count, const int64_t *size, const int64_t *step, int64_t number) {
    int64_t at = 0;
    for (int32_t a = count - 1; a >= 0; --a) {
        at += number % size[a] * step[a];
        number /= size[a];
    }
    return at;
}

static int64_t start_of(const shape *s, int64_t o) {
    return offset(s->kept, s->kept_size, s->kept_step, o);
}

static int64_t term_of(const shape *s, int64_t start, int64_t r) {
    return start + offset(s->reduced, s->reduced_size, s->reduced_step, r);
}

/* ---- the case ---- */

/* In ascending order; none where all are named. */
static assay_status order_axes(assay_params *params) {
    assay_param *axes = &params->item[KEY_AXES];
    const int32_t rank = params->item[KEY_N].count;
    bool named[ASSAY_MAX_RANK] = {false};
    for (int32_t i = 0; i < axes->count; ++i) {
        const int64_t axis = axes->value[i];
        if (axis >= rank)
            return assay_fail(ASSAY_ERR_USAGE,
                              "reduce: axis %lld is none of the %d axes of n; the last one is %d",
                              (long long)axis, rank, rank - 1);
        if (named[axis])
            return assay_fail(ASSAY_ERR_USAGE, "reduce: axes names axis %lld twice",
                              (long long)axis);
        named[axis] = true;
    }
    const bool all = axes->count == rank;
    axes->count = 0;
    for (int32_t a = 0; !all && a < rank; ++a)
        if (named[a])
            axes->value[axes->count++] = a;
    return ASSAY_OK;
}

static assay_status legal(assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    double elements = 1;
    if (n->count == 0)
        return assay_fail(ASSAY_ERR_USAGE, "reduce: n=none has no axis to reduce; give it one");
    const assay_status status = order_axes(params);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < n->count; ++i)
        elements *= fmax(1, (double)n->value[i]);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "reduce: a tensor would have %.3g elements; make n smaller", elements);
    const shape s = shape_of(params);
    if (s.kind != MAX && s.first)
        return assay_fail(ASSAY_ERR_USAGE, "reduce: first=1 is for kind=max");
    if (s.kind != SUM && s.terms == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "reduce: the %s of no elements is not defined; give the reduced axes "
                          "elements, or kind=sum",
                          names[s.kind]);
    return ASSAY_OK;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_param *n = &params->item[KEY_N];
    const shape s = shape_of(params);
    const double room = fill_exact_room(params->dtype);
    const double exact = s.kind == SUM ? floor(room / fmax(1, (double)s.terms)) : 0;
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    assay_tensor_spec *x = &sig->in[X], *y = &sig->out[Y];
    *x = *y = (assay_tensor_spec){.dtype = params->dtype,
                                  .inner = 1,
                                  .scale = 1,
                                  .exact_limit = exact,
                                  .differentiable = true};
    snprintf(x->name, sizeof x->name, "x");
    snprintf(y->name, sizeof y->name, "y");
    x->rank = n->count;
    y->rank = s.kept;
    y->inner = s.kept > 0 ? 1 : 0;
    for (int32_t a = 0; a < x->rank; ++a)
        x->shape[a] = n->value[a];
    for (int32_t a = 0; a < y->rank; ++a)
        y->shape[a] = s.kept_size[a];
    return ASSAY_OK;
}

static assay_status dress(assay_problem *p) {
    enum { ROOM = 24 };
    fill_scale_factor(p->c.fill, &p->sig.in[X], ROOM, p->in.data[X]);
    if (p->c.fill == ASSAY_FILL_CANCEL)
        fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
    return ASSAY_OK;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *axes = &params->item[KEY_AXES];
    int64_t room =
        (int64_t)fmin(budget / 32, INT32_MAX); /* an element costs an index of any axes */
    const bool many = assay_rng_between(rng, 0, 7) == 0;
    n->count = (int32_t)assay_rng_between(rng, 1, many ? ASSAY_MAX_RANK : 4);
    const int64_t kept = many ? assay_rng_between(rng, 0, n->count - 1) : 0; /* before all axes */
    axes->count = 0;
    params->item[KEY_KIND].count = params->item[KEY_FIRST].count = 1;
    params->item[KEY_KIND].value[0] = assay_rng_between(rng, SUM, MAX);
    params->item[KEY_FIRST].value[0] =
        params->item[KEY_KIND].value[0] == MAX ? assay_rng_between(rng, 0, 1) : 0;
    for (int32_t i = 0; i < n->count; ++i) {
        if (i >= kept && assay_rng_between(rng, 0, 1) != 0)
            axes->value[axes->count++] = i;
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
    if (axes->count == n->count) /* as `legal` has it */
        axes->count = 0;
}

/* ---- the oracle ---- */

/* NaN where an element is. */
static double larger(double most, double x) {
    return x > most || isnan(x) ? x : most;
}

/* Where any element is a NaN, the largest is. */
static bool is_most(double x, double most) {
    return x == most || isnan(x);
}

static double sum_of(const shape *s, const double *x, int64_t start) {
    twofold sum = {0};
    for (int64_t r = 0; r < s->terms; ++r)
        twofold_add(&sum, x[term_of(s, start, r)]);
    return twofold_value(sum);
}

static double most_of(const shape *s, const double *x, int64_t start) {
    double most = -INFINITY;
    for (int64_t r = 0; r < s->terms; ++r)
        most = larger(most, x[term_of(s, start, r)]);
    return most;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const shape s = shape_of(args->params);
    const double *x = args->in->data[X];
    for (int64_t o = 0; o < s.results; ++o) {
        const int64_t start = start_of(&s, o);
        result->data[Y][o] = s.kind == MAX    ? most_of(&s, x, start)
                             : s.kind == MEAN ? sum_of(&s, x, start) / (double)s.terms
                                              : sum_of(&s, x, start);
    }
    return ASSAY_OK;
}

/* How many are the largest. */
static int64_t ties_of(const shape *s, const double *x, int64_t start, double most) {
    int64_t ties = 0;
    for (int64_t r = 0; r < s->terms; ++r)
        ties += is_most(x[term_of(s, start, r)], most);
    return ties;
}

static void share(const shape *s, const double *x, int64_t start, double dy, double *dx) {
    const double most = most_of(s, x, start);
    const double part = s->first ? dy : dy / (double)ties_of(s, x, start, most);
    bool given = false;
    for (int64_t r = 0; r < s->terms; ++r) {
        const int64_t e = term_of(s, start, r);
        const bool has = is_most(x[e], most) && !(s->first && given);
        dx[e] = has ? part : 0;
        given = given || has;
    }
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const shape s = shape_of(args->params);
    for (int64_t o = 0; o < s.results; ++o) {
        const int64_t start = start_of(&s, o);
        const double dy = args->cot->data[Y][o];
        if (s.kind == MAX)
            share(&s, args->in->data[X], start, dy, result->data[X]);
        else
            for (int64_t r = 0; r < s.terms; ++r)
                result->data[X][term_of(&s, start, r)] = s.kind == SUM ? dy : dy / (double)s.terms;
    }
    return ASSAY_OK;
}

/* ---- the twin: x in the order of memory, each element to its result ---- */

static int64_t result_of(const assay_params *params, int64_t e) {
    const assay_param *n = &params->item[KEY_N];
    int64_t o = 0, step = 1;
    for (int32_t a = n->count - 1; a >= 0; --a) {
        if (!is_reduced(params, a)) {
            o += e % n->value[a] * step;
            step *= n->value[a];
        }
        e /= n->value[a];
    }
    return o;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const shape s = shape_of(args->params);
    for (int64_t o = 0; o < s.results; ++o)
        result->data[Y][o] = s.kind == MAX ? -INFINITY : 0;
    for (int64_t e = 0; e < s.results * s.terms; ++e) {
        double *y = &result->data[Y][result_of(args->params, e)];
        const double x = args->in->data[X][e];
        *y = s.kind == MAX ? larger(*y, x) : *y + x;
    }
    for (int64_t o = 0; s.kind == MEAN && o < s.results; ++o)
        result->data[Y][o] /= (double)s.terms;
    return ASSAY_OK;
}

/* Of two equal elements the one before counts; each counts its equals anew. */
static double part_of(const assay_oracle_args *args, const shape *s, int64_t e) {
    const int64_t o = result_of(args->params, e), start = start_of(s, o);
    const double *x = args->in->data[X];
    int64_t equals = 0, before = 0;
    for (int64_t r = 0; r < s->terms; ++r) {
        const int64_t other = term_of(s, start, r);
        if (larger(x[e], x[other]) > x[e] || (isnan(x[other]) && !isnan(x[e])))
            return 0;
        if (isnan(x[e]) && !isnan(x[other]))
            continue;
        equals += is_most(x[other], x[e]);
        before += is_most(x[other], x[e]) && other < e;
    }
    return s->first ? (before == 0 ? 1 : 0) : 1 / (double)equals;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const shape s = shape_of(args->params);
    for (int64_t e = 0; e < s.results * s.terms; ++e) {
        const double part = s.kind == MAX ? part_of(args, &s, e) : 1;
        const double dy = args->cot->data[Y][result_of(args->params, e)];
        result->data[X][e] = part == 0 ? 0 : s.kind == MEAN ? dy / (double)s.terms : dy * part;
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

static approx sum_bound(const assay_rounding *r, const shape *s, const double *x, int64_t start) {
    double about = 0;
    for (int64_t t = 0; t < s->terms; ++t)
        about += fabs(x[term_of(s, start, t)]);
    approx_sum sum = approx_sum_begin(r, (double)s->terms, r->zero_mean ? 0 : about);
    for (int64_t t = 0; t < s->terms; ++t)
        approx_sum_add(&sum, approx_exact(x[term_of(s, start, t)]));
    return approx_sum_end(r, &sum);
}

/* Of one that is chosen, or the only one, and not computed: 0. */
static double result_bound(const assay_rounding *r, const shape *s, const double *x, int64_t start,
                           double want) {
    if (s->kind == MAX || s->terms == 1)
        return 0;
    const approx sum = sum_bound(r, s, x, start);
    return approx_bound(
        r, s->kind == MEAN ? approx_div(r, sum, approx_exact((double)s->terms)) : sum, want);
}

static void why_forward(const assay_rounding *r, const shape *s, char text[ASSAY_WHY]) {
    char sum[ASSAY_WHY];
    assay_why_sum(r, (double)s->terms, "x", sum);
    if (s->kind == MAX)
        snprintf(text, ASSAY_WHY, "chosen: no rounding is allowed");
    else
        snprintf(text, ASSAY_WHY, "%.200s%s", sum, s->kind == MEAN ? ", then a quotient" : "");
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const shape s = shape_of(args->params);
    for (int64_t o = 0; o < s.results; ++o)
        bounds->element.data[Y][o] =
            result_bound(r, &s, args->in->data[X], start_of(&s, o), want->data[Y][o]);
    why_forward(r, &s, bounds->why[Y]);
    return ASSAY_OK;
}

/* dy / count, where there is something to divide by. */
static double part_bound(const assay_rounding *r, double dy, int64_t count, double want) {
    if (count == 1 || want == 0)
        return 0;
    return approx_bound(r, approx_div(r, approx_exact(dy), approx_exact((double)count)), want);
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const shape s = shape_of(args->params);
    for (int64_t o = 0; o < s.results; ++o) {
        const int64_t start = start_of(&s, o);
        const double *x = args->in->data[X], dy = args->cot->data[Y][o];
        int64_t count = s.kind == MEAN ? s.terms : 1;
        if (s.kind == MAX && !s.first)
            count = ties_of(&s, x, start, most_of(&s, x, start));
        for (int64_t t = 0; t < s.terms; ++t) {
            const int64_t e = term_of(&s, start, t);
            bounds->element.data[X][e] = part_bound(r, dy, count, want->data[X][e]);
        }
    }
    snprintf(bounds->why[X], ASSAY_WHY, "%s",
             s.kind == SUM ? "a copy of dy: no rounding is allowed"
             : s.first     ? "dy or 0: no rounding is allowed"
                           : "dy over a whole number, two roundings, none where that is 1; or 0");
    return ASSAY_OK;
}

/* ---- where the definition ends ---- */

/* Which element NaN makes the largest is a matter of comparisons, with which kernels may leave NaN
 * everywhere. */
static assay_status allow_nan(const assay_oracle_args *args, const shape *s, assay_bounds *grad) {
    for (int64_t o = 0; o < s->results; ++o) {
        const int64_t start = start_of(s, o);
        if (!isnan(most_of(s, args->in->data[X], start)))
            continue;
        const assay_status status = assay_bounds_allow_nan(grad, X);
        if (status != ASSAY_OK)
            return status;
        for (int64_t r = 0; r < s->terms; ++r)
            grad->nan_too[X][term_of(s, start, r)] = true;
    }
    return ASSAY_OK;
}

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const shape s = shape_of(args->params);
    if (s.kind == MAX)
        return grad->element.data[X] ? allow_nan(args, &s, grad) : ASSAY_OK;
    range_hold(r, range_of_sum(r, (double)s.terms, range_largest(args->in, X)), "a sum of x", out,
               Y);
    return ASSAY_OK;
}

/* ---- relations ---- */

/* Slices along the last axis that is kept have sums of their own, at each place of those before it
 * that x and y both have first. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    relate_link link = {.in = X, .in_axis = RELATE_WHOLE, .out_axis = RELATE_WHOLE};
    int32_t kept = 0;
    (void)i;
    for (int32_t a = 0; a < base->sig.in[X].rank; ++a) {
        if (is_reduced(&base->c.params, a))
            continue;
        link.in_axis = a;
        link.out_axis = kept++;
    }
    while (link.leading < link.out_axis && !is_reduced(&base->c.params, link.leading))
        ++link.leading;
    return link;
}
RELATE_LINKS(link_of, 1);

static bool is_linear(const assay_case *c) {
    return c->params.item[KEY_KIND].value[0] != MAX && relate_has_elements(c);
}

/* The first of equal elements is another then. */
static bool may_be_reversed(const assay_case *c) {
    return c->params.item[KEY_FIRST].value[0] == 0 && c->params.item[KEY_N].value[0] > 1;
}

/* The first axis of x, and of y where it has that. */
static assay_status reverse(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    relate_reverse_axis(&base->sig.in[X], 0, base->in.data[X], derived->in.data[X]);
    if (!is_reduced(&base->c.params, 0))
        relate_reverse_axis(&base->sig.out[Y], 0, base->cot.data[Y], derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)derived;
    relate_copy_results(results, want);
    relate_reverse_axis(&base->sig.in[X], 0, results->grad.data[X], want->grad.data[X]);
    if (!is_reduced(&base->c.params, 0))
        relate_reverse_axis(&base->sig.out[Y], 0, results->out.data[Y], want->out.data[Y]);
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "adjoint",
     .why = "y(h) times dy is h times dx, summed, for an h in place of x",
     .applies = is_linear,
     .n_derived = LINKS,
     .derive = probe,
     .reduce = pair_inputs,
     .predict = pair_outputs},
    {.name = "row_permutation",
     .why = "reversing the first axis of x reverses it in dx, and in y where that has it",
     .applies = may_be_reversed,
     .n_derived = 1,
     .derive = reverse,
     .predict = unreverse},
};

/* ---- work ---- */

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const double elements = (double)assay_spec_count(&sig->in[X]);
    const int64_t kind = params->item[KEY_KIND].value[0];
    const double size = (double)assay_dtype_size(sig->in[X].dtype);
    work->flops = work->least = stage == ASSAY_FORWARD || kind != SUM ? elements : 0;
    if (stage == ASSAY_BACKWARD && kind != MAX) { /* dy is enough */
        work->flops = work->least = 0;
        work->read = (double)assay_spec_count(&sig->out[Y]) * size;
    }
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16x96 axes=1 kind=sum,mean,max dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7x33 axes=0,1,2,0x2,none kind=sum,mean,max dtype=f32,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9x70 axes=0 kind=sum,max dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=37 kind=sum,mean,max dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=7x50 axes=1 kind=max first=0,1 dtype=f32,bf16 fill=repeat,zeros"},
    {ASSAY_SMOKE, "n=7x50 axes=1 kind=max first=0,1 dtype=f32 fill=constant seed=1"},
    {ASSAY_SMOKE, "n=7x50 axes=1 dtype=f32,bf16 fill=exact,uniform,positive sched=warp"},
    {ASSAY_SMOKE, "n=5x37 axes=1 kind=sum,max dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11x13 axes=0 kind=sum,mean dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "n=2x9000 axes=1 kind=sum,max first=0 dtype=f32"}, /* shared by many blocks */
    {ASSAY_SMOKE, "n=3000x3 axes=0 kind=mean,max dtype=f32"},
    {ASSAY_CI, "n=1x2,1x31,33x33,2x255,257x2 axes=0,1,none kind=sum,mean,max dtype=f32"},
    {ASSAY_CI, "n=3x1x5x17 axes=0,1x3,0x2,0x1x2,3 kind=sum,max dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7x1024,3x2049 axes=0,1 kind=sum,max first=0 dtype=f32,bf16,f16 pad=1 misalign=5 "
               "seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5x8x64 axes=0,2,none kind=sum,max dtype=f32,bf16 pad=0,8 misalign=8:11:1"},
    {ASSAY_CI, "n=2x20000,20000 axes=0 kind=sum,mean,max dtype=f32,bf16"},
    {ASSAY_CI, "n=30x2x700 axes=0x2 kind=sum,mean,max dtype=f64,f16 sched=random"},
    {ASSAY_CI, "n=1500x3,700x2x5 axes=0 kind=sum,max dtype=f32,bf16 sched=reverse"},
    {ASSAY_CI, "n=12x1000 axes=1,0 kind=max first=0,1 dtype=f32,f64,bf16,f16 fill=repeat"},
    {ASSAY_CI, "n=40x70 axes=0,1 kind=sum,mean,max dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12x41 axes=1 kind=sum dtype=f32,f64,bf16,f16 fill=cancel,wide,denormal,mixed"},
    {ASSAY_CI, "n=12x41 axes=0,1 kind=mean,max dtype=f32,bf16 fill=zeros,rows,repeat,wide"},
    {ASSAY_NIGHTLY, "n=64x4096,3x100003 axes=0,1,none kind=sum,mean,max dtype=f32,bf16"},
    {ASSAY_NIGHTLY,
     "n=997x100 axes=0,1 kind=sum,max dtype=f64,f32,bf16,f16 fill=normal,positive pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5x33 axes=1 kind=sum,mean,max dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5x33 axes=1 kind=sum,mean dtype=f16 operand=0:1 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=5x33 axes=1 kind=sum,max dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "n=0x5,5x0 axes=0,1,none dtype=f32,f64,bf16"},
    {ASSAY_BENCH, "n=4096x4096,256x262144 axes=0,1,none kind=sum,max dtype=f32,bf16"},
};

const assay_op assay_op_reduce = {
    .name = "reduce",
    .forward_formula = "y = sum, mean or max of x over some axes",
    .backward_formula = "dx = dy, dy / count, or dy shared by the largest elements",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .names = names,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_GENERAL | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL) |
             ASSAY_FILL_BIT(ASSAY_FILL_DENORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_MIXED),
    .legal = legal,
    .signature = signature,
    .dress = dress,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .outside = outside,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
