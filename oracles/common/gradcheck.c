#include "oracles/common/gradcheck.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double step_of(const gradcheck *g) {
    return g->problem->c.op->multilinear ? 1.0 : cbrt(DBL_EPSILON);
}

/* Raises *worst to |a - b| / scale; a NaN stays. */
static void record(double a, double b, double scale, double *worst) {
    const double difference = fabs(a - b) / fmax(scale, DBL_MIN);
    if (!isnan(*worst) && !(difference <= *worst))
        *worst = difference;
}

static double random_sign(uint64_t stream, int64_t index) {
    return assay_rng_bits(0, stream, (uint64_t)index) & 1 ? 1.0 : -1.0;
}

/* What every check needs: mutable copies of inputs and cotangents, and room for results. */
typedef struct scratch {
    assay_problem p;
    assay_results plus, minus, base;
    assay_oracle_args args;
} scratch;

static void scratch_clear(scratch *s) {
    assay_problem_clear(&s->p);
    assay_results_clear(&s->plus);
    assay_results_clear(&s->minus);
    assay_results_clear(&s->base);
}

static void copy_present(assay_arrays *to, const assay_arrays *from) {
    for (int32_t t = 0; t < from->count; ++t)
        if (from->data[t])
            memcpy(to->data[t], from->data[t], (size_t)from->size[t] * sizeof(double));
}

/* Leaves the forward result at the problem's inputs in s->base.out. */
static assay_status scratch_init(scratch *s, const gradcheck *g) {
    *s = (scratch){0};
    assay_status status = assay_problem_init_empty(&s->p, &g->problem->c);
    if (status == ASSAY_OK)
        status = assay_results_init(&s->plus, &s->p.sig);
    if (status == ASSAY_OK)
        status = assay_results_init(&s->minus, &s->p.sig);
    if (status == ASSAY_OK)
        status = assay_results_init(&s->base, &s->p.sig);
    if (status != ASSAY_OK)
        return status;
    copy_present(&s->p.in, &g->problem->in);
    copy_present(&s->p.cot, &g->problem->cot);
    s->args = (assay_oracle_args){.params = &s->p.c.params, .sig = &s->p.sig, .in = &s->p.in};
    status = g->forward(&s->args, &s->base.out);
    s->args.out = &s->base.out;
    return status;
}

static assay_status run_backward(scratch *s, const gradcheck *g) {
    assay_oracle_args args = s->args;
    args.cot = &s->p.cot;
    return g->backward(&args, &s->base.grad);
}

/* Forward at the inputs with `direction` (over input t, times the step) added and subtracted. */
static assay_status run_both_sides(scratch *s, const gradcheck *g, int32_t t,
                                   double (*direction)(int64_t element, const void *context),
                                   const void *context) {
    const double h = step_of(g);
    const double *origin = g->problem->in.data[t];
    double *x = s->p.in.data[t];
    const int64_t size = s->p.in.size[t];
    for (int64_t e = 0; e < size; ++e)
        x[e] = origin[e] + h * direction(e, context);
    assay_status status = g->forward(&s->args, &s->plus.out);
    for (int64_t e = 0; e < size; ++e)
        x[e] = origin[e] - h * direction(e, context);
    if (status == ASSAY_OK)
        status = g->forward(&s->args, &s->minus.out);
    memcpy(x, origin, (size_t)size * sizeof *x);
    return status;
}

static double unit_direction(int64_t element, const void *context) {
    return element == *(const int64_t *)context ? 1.0 : 0.0;
}

static double sign_direction(int64_t element, const void *context) {
    return random_sign(*(const uint64_t *)context, element);
}

static double normal_direction(int64_t element, const void *context) {
    return assay_rng_normal(1, *(const uint64_t *)context, (uint64_t)element);
}

/* ---- full Jacobian ---- */

static int64_t total(const assay_arrays *arrays) {
    int64_t n = 0;
    for (int32_t t = 0; t < arrays->count; ++t)
        n += arrays->data[t] ? arrays->size[t] : 0;
    return n;
}

/* jacobian[column][row]: columns run over the elements of all differentiable inputs, rows over
 * those of all outputs; scale[row] collects the size of the values that were subtracted. */
static assay_status numeric_jacobian(scratch *s, const gradcheck *g, assay_arrays *jacobian,
                                     double *scale) {
    int32_t column = 0;
    for (int32_t t = 0; t < s->p.in.count; ++t) {
        if (!s->base.grad.data[t])
            continue;
        for (int64_t e = 0; e < s->p.in.size[t]; ++e, ++column) {
            const assay_status status = run_both_sides(s, g, t, unit_direction, &e);
            if (status != ASSAY_OK)
                return status;
            int64_t row = 0;
            for (int32_t o = 0; o < s->plus.out.count; ++o)
                for (int64_t y = 0; y < s->plus.out.size[o]; ++y, ++row) {
                    const double plus = s->plus.out.data[o][y], minus = s->minus.out.data[o][y];
                    jacobian->data[column][row] = (plus - minus) / (2 * step_of(g));
                    scale[row] = fmax(scale[row], fabs(plus) + fabs(minus));
                }
        }
    }
    return ASSAY_OK;
}

/* What a row's cotangent is set to: any number but 1, which a backward that ignores it returns. */
static const double row_cotangent = 1.75;

/* Row `row` as backward gives it for that cotangent, against the numeric one. */
static void compare_row(const scratch *s, const assay_arrays *jacobian, int64_t row, double scale,
                        double *worst) {
    int32_t column = 0;
    for (int32_t t = 0; t < s->base.grad.count; ++t)
        for (int64_t e = 0; s->base.grad.data[t] && e < s->base.grad.size[t]; ++e, ++column)
            record(s->base.grad.data[t][e], row_cotangent * jacobian->data[column][row], scale,
                   worst);
}

assay_status gradcheck_jacobian(const gradcheck *g, double *worst) {
    scratch s;
    assay_arrays jacobian = {0}, scale = {0};
    *worst = 0;
    assay_status status = scratch_init(&s, g);
    if (status != ASSAY_OK)
        goto done;
    const int64_t rows = total(&s.base.out), columns = total(&s.base.grad);
    status = assay_arrays_init(&jacobian, (int32_t)columns);
    for (int32_t i = 0; status == ASSAY_OK && i < columns; ++i)
        status = assay_arrays_add(&jacobian, i, rows);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&scale, 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&scale, 0, rows);
    if (status == ASSAY_OK)
        status = numeric_jacobian(&s, g, &jacobian, scale.data[0]);

    for (int32_t o = 0; o < s.p.cot.count; ++o)
        for (int64_t y = 0; s.p.cot.data[o] && y < s.p.cot.size[o]; ++y)
            s.p.cot.data[o][y] = 0;
    int64_t row = 0;
    for (int32_t o = 0; o < s.p.cot.count; ++o) {
        for (int64_t y = 0; y < s.base.out.size[o]; ++y, ++row) {
            if (status != ASSAY_OK || !s.p.cot.data[o])
                continue;
            s.p.cot.data[o][y] = row_cotangent;
            status = run_backward(&s, g);
            s.p.cot.data[o][y] = 0;
            compare_row(&s, &jacobian, row, scale.data[0][row], worst);
        }
    }
done:
    assay_arrays_clear(&jacobian);
    assay_arrays_clear(&scale);
    scratch_clear(&s);
    return status;
}

/* ---- projections ---- */

/* <dy, (plus - minus) / 2h>, and the sum of the absolute terms. */
static double project_outputs(const scratch *s, const gradcheck *g, double *scale) {
    double sum = 0;
    for (int32_t o = 0; o < s->p.cot.count; ++o)
        for (int64_t y = 0; s->p.cot.data[o] && y < s->p.cot.size[o]; ++y) {
            const double dy = s->p.cot.data[o][y];
            const double plus = s->plus.out.data[o][y], minus = s->minus.out.data[o][y];
            sum += dy * (plus - minus) / (2 * step_of(g));
            *scale += fabs(dy) * (fabs(plus) + fabs(minus));
        }
    return sum;
}

/* <gradient of input t, direction>, and the sum of the absolute terms. */
static double project_gradient(const scratch *s, int32_t t,
                               double (*direction)(int64_t element, const void *context),
                               const void *context, double *scale) {
    double sum = 0;
    for (int64_t e = 0; e < s->base.grad.size[t]; ++e) {
        const double term = s->base.grad.data[t][e] * direction(e, context);
        sum += term;
        *scale += fabs(term);
    }
    return sum;
}

assay_status gradcheck_directions(const gradcheck *g, int32_t count, double *worst) {
    scratch s;
    *worst = 0;
    assay_status status = scratch_init(&s, g);
    if (status == ASSAY_OK)
        status = run_backward(&s, g);
    for (int32_t t = 0; status == ASSAY_OK && t < s.p.in.count; ++t) {
        for (int32_t i = 0; s.base.grad.data[t] && i < count; ++i) {
            const uint64_t stream = (uint64_t)t << 32 | (uint32_t)i;
            status = run_both_sides(&s, g, t, sign_direction, &stream);
            if (status != ASSAY_OK)
                break;
            double scale = 0;
            const double numeric = project_outputs(&s, g, &scale);
            const double analytic = project_gradient(&s, t, sign_direction, &stream, &scale);
            record(numeric, analytic, scale, worst);
        }
    }
    scratch_clear(&s);
    return status;
}

assay_status gradcheck_adjoint(const gradcheck *g, double *worst) {
    scratch s;
    double numeric = 0, analytic = 0, scale = 0;
    *worst = 0;
    assay_status status = scratch_init(&s, g);
    if (status == ASSAY_OK)
        status = run_backward(&s, g);
    for (int32_t t = 0; status == ASSAY_OK && t < s.p.in.count; ++t) {
        if (!s.base.grad.data[t])
            continue;
        const uint64_t stream = (uint64_t)t;
        status = run_both_sides(&s, g, t, normal_direction, &stream);
        if (status == ASSAY_OK) {
            numeric += project_outputs(&s, g, &scale);
            analytic += project_gradient(&s, t, normal_direction, &stream, &scale);
        }
    }
    if (status == ASSAY_OK)
        record(numeric, analytic, scale, worst);
    scratch_clear(&s);
    return status;
}
