/* conv3d_groupnorm_mean, forward and backward: patches as a matrix, one sample at a time. */
#include "oracles/conv3d_groupnorm_mean/definition.h"

#include <string.h>

/* x̂ at position p of channel o. */
static double normal(const conv_sizes *s, const conv_sample *t, int64_t o, int64_t p) {
    const int64_t group = o / s->per_group;
    return (t->c[o * s->positions + p] - t->mean[group]) * t->inverse[group];
}

assay_status conv_forward(const assay_oracle_args *args, assay_arrays *result) {
    const conv_sizes s = conv_sizes_of(args->params);
    conv_sample t;
    const assay_status status = conv_sample_init(&t, &s);
    for (int64_t i = 0; status == ASSAY_OK && i < s.n; ++i) {
        conv_sample_load(&s, args, i, &t);
        double sum = 0;
        for (int64_t o = 0; o < s.co; ++o)
            for (int64_t p = 0; p < s.positions; ++p)
                sum += args->in->data[CONV_GAMMA][o] * normal(&s, &t, o, p) +
                       args->in->data[CONV_BETA][o];
        result->data[CONV_Y][i] = sum / (double)(s.co * s.positions);
    }
    conv_sample_clear(&t);
    return status;
}

/*
 * Leaves in t->field dc = (A - mean(A) - x̂·mean(A·x̂)) / sqrt(variance + eps), means over the group,
 * for A = γ·dz with every element of dz the same; dγ and dβ grow by the sums of dz·x̂ and of dz.
 */
static void normal_backward(const conv_sizes *s, const double *gamma, double dz, conv_sample *t,
                            double *dgamma, double *dbeta) {
    const double count = (double)(s->per_group * s->positions);
    for (int64_t group = 0; group < s->groups; ++group) {
        const int64_t first = group * s->per_group, last = first + s->per_group;
        double mean = 0, along = 0;
        for (int64_t o = first; o < last; ++o) {
            double sum = 0;
            for (int64_t p = 0; p < s->positions; ++p)
                sum += normal(s, t, o, p);
            dgamma[o] += dz * sum;
            dbeta[o] += dz * (double)s->positions;
            mean += dz * gamma[o] * (double)s->positions / count;
            along += dz * gamma[o] * sum / count;
        }
        for (int64_t o = first; o < last; ++o)
            for (int64_t p = 0; p < s->positions; ++p)
                t->field[o * s->positions + p] =
                    t->inverse[group] * (dz * gamma[o] - mean - normal(s, t, o, p) * along);
    }
}

/* Adds the sample's share, with dc in t->field. */
static void conv_gradients(const conv_sizes *s, const double *w, conv_sample *t, double *dx,
                           double *dw, double *db) {
    conv_gemm(false, true, s->co, s->terms, s->positions, t->field, s->positions, t->patches,
              s->positions, 1.0, dw, s->terms);
    conv_gemm(true, false, s->terms, s->positions, s->co, w, s->terms, t->field, s->positions, 0.0,
              t->spread, s->positions);
    conv_scatter(s, t->spread, dx);
    for (int64_t o = 0; o < s->co; ++o)
        for (int64_t p = 0; p < s->positions; ++p)
            db[o] += t->field[o * s->positions + p];
}

assay_status conv_backward(const assay_oracle_args *args, assay_arrays *result) {
    const conv_sizes s = conv_sizes_of(args->params);
    conv_sample t;
    for (int32_t i = 0; i < result->count; ++i)
        memset(result->data[i], 0, (size_t)result->size[i] * sizeof(double));
    const assay_status status = conv_sample_init(&t, &s);
    for (int64_t i = 0; status == ASSAY_OK && i < s.n; ++i) {
        conv_sample_load(&s, args, i, &t);
        const double dz = args->cot->data[CONV_Y][i] / (double)(s.co * s.positions);
        normal_backward(&s, args->in->data[CONV_GAMMA], dz, &t, result->data[CONV_GAMMA],
                        result->data[CONV_BETA]);
        conv_gradients(&s, args->in->data[CONV_W], &t, result->data[CONV_X] + i * s.ci * s.volume,
                       result->data[CONV_W], result->data[CONV_B]);
    }
    conv_sample_clear(&t);
    return status;
}
