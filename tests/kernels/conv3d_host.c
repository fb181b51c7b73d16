#include "tests/kernels/conv3d_host.h"

#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>

static int64_t place(const assay_tensor *t, int64_t i) {
    const int64_t length = assay_tensor_row_length(t);
    return i / length * assay_tensor_row_stride(t) + i % length;
}

double conv_host_get(const assay_tensor *t, int64_t i) {
    return t->dtype == ASSAY_F64 ? ((double *)t->data)[place(t, i)]
                                 : (double)((float *)t->data)[place(t, i)];
}

void conv_host_put(const assay_tensor *t, int64_t i, double v) {
    if (t->dtype == ASSAY_F64)
        ((double *)t->data)[place(t, i)] = v;
    else
        ((float *)t->data)[place(t, i)] = (float)v;
}

typedef struct sizes {
    int64_t n, ci, co, k, groups, per_group, in[3], out[3], volume, positions, terms;
    double eps;
} sizes;

static sizes sizes_of(const assay_call *call) {
    const assay_tensor *x = &call->in[CONV_IN_X], *w = &call->in[CONV_IN_W];
    sizes s = {.n = x->shape[0],
               .ci = x->shape[1],
               .co = w->shape[0],
               .k = w->shape[2],
               .groups = assay_params_int(call->params, "g"),
               .volume = 1,
               .positions = 1,
               .eps = assay_params_find(call->params, "eps")->real};
    for (int axis = 0; axis < 3; ++axis) {
        s.in[axis] = x->shape[axis + 2];
        s.out[axis] = s.in[axis] - s.k + 1;
        s.volume *= s.in[axis];
        s.positions *= s.out[axis];
    }
    s.per_group = s.co / s.groups;
    s.terms = s.ci * s.k * s.k * s.k;
    return s;
}

/* Where term j of position p of sample n is in x. */
static int64_t source(const sizes *s, int64_t n, int64_t p, int64_t j) {
    const int64_t d = p / (s->out[1] * s->out[2]) + j / (s->k * s->k) % s->k;
    const int64_t h = p / s->out[2] % s->out[1] + j / s->k % s->k;
    const int64_t w = p % s->out[2] + j % s->k;
    const int64_t channel = n * s->ci + j / (s->k * s->k * s->k);
    return channel * s->volume + (d * s->in[1] + h) * s->in[2] + w;
}

static void convolve(const sizes *s, const assay_call *call, int64_t n, double *c) {
    for (int64_t o = 0; o < s->co; ++o)
        for (int64_t p = 0; p < s->positions; ++p) {
            double sum = conv_host_get(&call->in[CONV_IN_B], o);
            for (int64_t j = 0; j < s->terms; ++j)
                sum += conv_host_get(&call->in[CONV_IN_W], o * s->terms + j) *
                       conv_host_get(&call->in[CONV_IN_X], source(s, n, p, j));
            c[o * s->positions + p] = sum;
        }
}

void conv_host_two_passes(const double *c, int64_t count, double eps, double *mean,
                          double *inverse) {
    double variance = 0;
    *mean = 0;
    for (int64_t e = 0; e < count; ++e)
        *mean += c[e] / (double)count;
    for (int64_t e = 0; e < count; ++e)
        variance += (c[e] - *mean) * (c[e] - *mean) / (double)count;
    *inverse = 1 / sqrt(variance + eps);
}

/* c of one sample becomes x̂; gives 1/sqrt(variance + eps) of each group. */
static void normalise(const sizes *s, conv_host_moments moments, double *c, double *inverse) {
    const int64_t count = s->per_group * s->positions;
    for (int64_t g = 0; g < s->groups; ++g) {
        double mean;
        moments(c + g * count, count, s->eps, &mean, &inverse[g]);
        for (int64_t e = g * count; e < (g + 1) * count; ++e)
            c[e] = (c[e] - mean) * inverse[g];
    }
}

assay_status conv_host_forward(const assay_call *call, conv_host_moments moments) {
    const sizes s = sizes_of(call);
    double *c = calloc((size_t)(s.co * s.positions + s.groups), sizeof *c);
    REQUIRE(c != NULL);
    for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        convolve(&s, call, n, c);
        normalise(&s, moments, c, c + s.co * s.positions);
        for (int64_t e = 0; e < s.co * s.positions; ++e)
            sum += conv_host_get(&call->in[CONV_IN_GAMMA], e / s.positions) * c[e] +
                   conv_host_get(&call->in[CONV_IN_BETA], e / s.positions);
        conv_host_put(&call->out[0], n, sum / (double)(s.co * s.positions));
    }
    free(c);
    return ASSAY_OK;
}

/* x̂ of one group becomes dc, and the gradients of gamma grow. */
static void normalise_backward(const sizes *s, const assay_call *call, int64_t g, double dz,
                               double inverse, double *c, double *dgamma) {
    const int64_t count = s->per_group * s->positions;
    double level = 0, along = 0;
    for (int64_t e = g * count; e < (g + 1) * count; ++e) {
        const int64_t o = e / s->positions;
        const double a = dz * conv_host_get(&call->in[CONV_IN_GAMMA], o);
        dgamma[o] += dz * c[e];
        level += a / (double)count;
        along += a * c[e] / (double)count;
    }
    for (int64_t e = g * count; e < (g + 1) * count; ++e) {
        const double a = dz * conv_host_get(&call->in[CONV_IN_GAMMA], e / s->positions);
        c[e] = inverse * (a - level - c[e] * along);
    }
}

static void convolve_backward(const sizes *s, const assay_call *call, int64_t n, const double *dc,
                              double *const grad[CONV_INPUTS]) {
    for (int64_t o = 0; o < s->co; ++o)
        for (int64_t p = 0; p < s->positions; ++p) {
            const double d = dc[o * s->positions + p];
            grad[CONV_IN_B][o] += d;
            for (int64_t j = 0; j < s->terms; ++j) {
                const int64_t w = o * s->terms + j, x = source(s, n, p, j);
                grad[CONV_IN_W][w] += d * conv_host_get(&call->in[CONV_IN_X], x);
                grad[CONV_IN_X][x] += d * conv_host_get(&call->in[CONV_IN_W], w);
            }
        }
}

assay_status conv_host_backward(const assay_call *call, conv_host_moments moments) {
    const sizes s = sizes_of(call);
    double *c = calloc((size_t)(s.co * s.positions + s.groups), sizeof *c), *grad[CONV_INPUTS];
    double *inverse = c + s.co * s.positions;
    REQUIRE(c != NULL);
    for (int t = 0; t < CONV_INPUTS; ++t) {
        grad[t] = calloc((size_t)assay_tensor_count(&call->out[t]) + 1, sizeof **grad);
        REQUIRE(grad[t] != NULL);
    }
    for (int64_t n = 0; n < s.n; ++n) {
        const double dy = conv_host_get(&call->in[CONV_IN_DY], n);
        const double dz = dy / (double)(s.co * s.positions);
        convolve(&s, call, n, c);
        normalise(&s, moments, c, inverse);
        for (int64_t g = 0; g < s.groups; ++g)
            normalise_backward(&s, call, g, dz, inverse[g], c, grad[CONV_IN_GAMMA]);
        convolve_backward(&s, call, n, c, grad);
        for (int64_t o = 0; o < s.co; ++o)
            grad[CONV_IN_BETA][o] += dy / (double)s.co;
    }
    for (int t = 0; t < CONV_INPUTS; ++t) {
        for (int64_t i = 0; i < assay_tensor_count(&call->out[t]); ++i)
            conv_host_put(&call->out[t], i, grad[t][i]);
        free(grad[t]);
    }
    free(c);
    return ASSAY_OK;
}

void conv_host_open(assay_status (*forward)(const assay_call *),
                    assay_status (*backward)(const assay_call *), conv_host_device *slot) {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    slot->variant = (assay_variant){.op = "conv3d_groupnorm_mean",
                                    .name = "test",
                                    .device = "sim",
                                    .summary = "a test's own",
                                    .forward = forward,
                                    .backward = backward};
    slot->list[0] = &slot->variant;
    slot->device = *sim;
    slot->device.variants = slot->list;
    slot->device.n_variants = 1;
}
