/* The twin of conv3d_groupnorm_mean: the definition as it reads, in nested loops. */
#include "oracles/conv3d_groupnorm_mean/definition.h"

#include <math.h>
#include <string.h>

typedef struct place {
    int64_t d, h, w;
} place;

static place place_of(const conv_sizes *s, int64_t p) {
    return (place){p / (s->out[1] * s->out[2]), p / s->out[2] % s->out[1], p % s->out[2]};
}

/* Where x[n, i, p + (a, b, c)] and w[o, i, a, b, c] are stored. */
static int64_t at_x(const conv_sizes *s, int64_t n, int64_t i, place p, int64_t a, int64_t b,
                    int64_t c) {
    return (((n * s->ci + i) * s->in[0] + p.d + a) * s->in[1] + p.h + b) * s->in[2] + p.w + c;
}

static int64_t at_w(const conv_sizes *s, int64_t o, int64_t i, int64_t a, int64_t b, int64_t c) {
    return (((o * s->ci + i) * s->k + a) * s->k + b) * s->k + c;
}

static double convolved(const conv_sizes *s, const assay_oracle_args *args, int64_t n, int64_t o,
                        int64_t p) {
    const place at = place_of(s, p);
    double sum = args->in->data[CONV_B][o];
    for (int64_t i = 0; i < s->ci; ++i)
        for (int64_t a = 0; a < s->k; ++a)
            for (int64_t b = 0; b < s->k; ++b)
                for (int64_t c = 0; c < s->k; ++c)
                    sum += args->in->data[CONV_W][at_w(s, o, i, a, b, c)] *
                           args->in->data[CONV_X][at_x(s, n, i, at, a, b, c)];
    return sum;
}

/* Adds dc to what c[n, o, p] was made of. */
static void convolved_backward(const conv_sizes *s, const assay_oracle_args *args, int64_t n,
                               int64_t o, int64_t p, double dc, assay_arrays *grad) {
    const place at = place_of(s, p);
    grad->data[CONV_B][o] += dc;
    for (int64_t i = 0; i < s->ci; ++i)
        for (int64_t a = 0; a < s->k; ++a)
            for (int64_t b = 0; b < s->k; ++b)
                for (int64_t c = 0; c < s->k; ++c) {
                    const int64_t w = at_w(s, o, i, a, b, c), x = at_x(s, n, i, at, a, b, c);
                    grad->data[CONV_W][w] += dc * args->in->data[CONV_X][x];
                    grad->data[CONV_X][x] += dc * args->in->data[CONV_W][w];
                }
}

/* Mean and deviation, eps in the root, of one sample's group. */
typedef struct moments {
    double mean, deviation;
} moments;

static moments moments_of(const conv_sizes *s, const assay_oracle_args *args, int64_t n,
                          int64_t group) {
    const int64_t first = group * s->per_group, last = first + s->per_group;
    const double count = (double)(s->per_group * s->positions);
    double mean = 0, variance = 0;
    for (int64_t o = first; o < last; ++o)
        for (int64_t p = 0; p < s->positions; ++p)
            mean += convolved(s, args, n, o, p) / count;
    for (int64_t o = first; o < last; ++o)
        for (int64_t p = 0; p < s->positions; ++p) {
            const double off = convolved(s, args, n, o, p) - mean;
            variance += off * off / count;
        }
    return (moments){mean, sqrt(variance + s->eps)};
}

assay_status conv_forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const conv_sizes s = conv_sizes_of(args->params);
    const double all = (double)(s.co * s.positions);
    for (int64_t n = 0; n < s.n; ++n) {
        double mean = 0;
        for (int64_t group = 0; group < s.groups; ++group) {
            const moments m = moments_of(&s, args, n, group);
            for (int64_t o = group * s.per_group; o < (group + 1) * s.per_group; ++o)
                for (int64_t p = 0; p < s.positions; ++p) {
                    const double hat = (convolved(&s, args, n, o, p) - m.mean) / m.deviation;
                    mean +=
                        (args->in->data[CONV_GAMMA][o] * hat + args->in->data[CONV_BETA][o]) / all;
                }
        }
        result->data[CONV_Y][n] = mean;
    }
    return ASSAY_OK;
}

/* y = mean(γ·x̂ + β), differentiated step by step: x̂ = (c - mean)/deviation depends on c itself,
 * on the mean and on the deviation. */
static void group_backward(const conv_sizes *s, const assay_oracle_args *args, int64_t n,
                           int64_t group, assay_arrays *grad) {
    const int64_t first = group * s->per_group, last = first + s->per_group;
    const double count = (double)(s->per_group * s->positions);
    const double dz = args->cot->data[CONV_Y][n] / (double)(s->co * s->positions);
    const moments m = moments_of(s, args, n, group);
    double d_mean = 0, d_deviation = 0;
    for (int64_t o = first; o < last; ++o)
        for (int64_t p = 0; p < s->positions; ++p) {
            const double off = convolved(s, args, n, o, p) - m.mean;
            const double d_hat = dz * args->in->data[CONV_GAMMA][o];
            grad->data[CONV_GAMMA][o] += dz * off / m.deviation;
            grad->data[CONV_BETA][o] += dz;
            d_mean -= d_hat / m.deviation;
            d_deviation -= d_hat * off / (m.deviation * m.deviation);
        }
    for (int64_t o = first; o < last; ++o)
        for (int64_t p = 0; p < s->positions; ++p) {
            const double off = convolved(s, args, n, o, p) - m.mean;
            const double dc = dz * args->in->data[CONV_GAMMA][o] / m.deviation + d_mean / count +
                              d_deviation * off / (count * m.deviation);
            convolved_backward(s, args, n, o, p, dc, grad);
        }
}

assay_status conv_backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const conv_sizes s = conv_sizes_of(args->params);
    for (int32_t i = 0; i < result->count; ++i)
        memset(result->data[i], 0, (size_t)result->size[i] * sizeof(double));
    for (int64_t n = 0; n < s.n; ++n)
        for (int64_t group = 0; group < s.groups; ++group)
            group_backward(&s, args, n, group, result);
    return ASSAY_OK;
}
