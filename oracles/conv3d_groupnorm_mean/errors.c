#include "oracles/conv3d_groupnorm_mean/errors.h"

#include "core/parallel.h"

#include <math.h>
#include <stdlib.h>

/* See bound.h and conv3d_errors.h: deviations of a walk, of independent errors, of d over σ, and of
 * what operands lose besides a constant share, which is at most 0.41 of its largest in the mean. */
static const double excursion = 4.0;
static const double independence = 4.0;
static const double shift_in_deviations = 2.0;
static const double uneven_cut = 3.0;

/* Roundings of a mean besides those of the sum: of c stored, of the sum and of the quotient. Of a
 * variance also that of the difference to the mean; of a root and its reciprocal, two and eps. */
enum { LONGEST_RUN = 4096 };
enum { MEAN_ROUNDINGS = 3, VARIANCE_ROUNDINGS = 5, INVERSE_ROUNDINGS = 4 };

double conv_square(double v) {
    return v * v;
}

typedef struct mapping {
    double (*f)(double);
    const conv_sample *t;
} mapping;

static void map_piece(void *context, int64_t first, int64_t last) {
    const mapping *m = context;
    for (int64_t e = first; e < last; ++e)
        m->t->spread[e] = m->f(m->t->patches[e]);
}

void conv_map_patches(const conv_sizes *s, double (*f)(double), conv_sample *t) {
    mapping m = {f, t};
    assay_parallel(s->terms * s->positions, map_piece, &m);
}

static double linear(const assay_rounding *r, double depth) {
    assay_rounding rule = *r;
    rule.independent = false;
    return assay_accumulation(&rule, depth);
}

double conv_runs_of_equals(const assay_rounding *r, double runs, double length, double others) {
    const double terms = runs * length, random = independence * sqrt(runs);
    if (terms > LONGEST_RUN)
        return linear(r, LONGEST_RUN) + assay_accumulation(r, terms / LONGEST_RUN + others);
    return linear(r, (r->independent ? fmin(runs, random) : runs) * length + others);
}

double conv_runs_of_likes(const assay_rounding *r, double runs, double length, double others,
                          double size, double deviation) {
    const double grid = 2 * r->u * runs * length * size;
    return deviation >= grid ? assay_accumulation(r, runs * length + others)
                             : conv_runs_of_equals(r, runs, length, others);
}

double conv_sum_of_errors(const conv_errors *e, double sum, double squares) {
    return e->independent ? fmin(e->worst * sum, e->walk * sqrt(squares)) : e->worst * sum;
}

/* ---- where squares underflow ---- */

/* Six factors of that size, at most, are in a term: its square is still a normal number. What f32
 * loses of smaller ones is bounded by its subnormal numbers. */
static const double least_factor = 0x1p-80;

static bool has_less_than(double least, const double *values, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (values[i] != 0 && fabs(values[i]) < least)
            return true;
    return false;
}

assay_rounding conv_rounding(const assay_oracle_args *args, const assay_rounding *r) {
    assay_rounding rule = *r;
    bool small = false;
    for (int32_t i = 0; !small && i < args->in->count; ++i)
        small = has_less_than(least_factor, args->in->data[i], args->in->size[i]);
    if (!small && args->cot != NULL)
        small = has_less_than(least_factor, args->cot->data[CONV_Y], args->cot->size[CONV_Y]);
    if (small && r->u <= assay_dtype_unit(ASSAY_F64))
        rule.independent = rule.zero_mean = false;
    return rule;
}

static double unit_of(const assay_rounding *r) {
    return r->u + assay_dtype_unit(ASSAY_F64);
}

assay_status conv_errors_init(conv_errors *e, const conv_sizes *s, const assay_oracle_args *args,
                              const assay_rounding *r) {
    double **const part[] = {&e->reach, &e->operands,  &e->column,
                             &e->power, &e->magnitude, &e->square};
    const int64_t outputs = s->co * s->positions, weights = s->co * s->terms;
    const int64_t size[] = {outputs, outputs, s->terms, s->terms, weights, weights};
    enum { PARTS = sizeof size / sizeof *size };
    assay_rounding whole = *r; /* operands taken whole */
    whole.product = 0;
    *e = (conv_errors){.r = r,
                       .independent = r->independent && !r->tensor_core,
                       .worst = assay_product_error(&whole, (double)s->terms, 1, 1, 0),
                       .walk = independence * sqrt((double)s->terms + 1) * unit_of(r)};
    assay_status status = assay_arrays_init(&e->storage, PARTS);
    for (int32_t i = 0; status == ASSAY_OK && i < PARTS; ++i) {
        status = assay_arrays_add(&e->storage, i, size[i]);
        if (status == ASSAY_OK)
            *part[i] = e->storage.data[i];
    }
    if (status != ASSAY_OK)
        return status;
    e->channel = calloc((size_t)s->co, sizeof *e->channel);
    e->group = calloc((size_t)s->groups, sizeof *e->group);
    if (!e->channel || !e->group)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the errors of %lld channels",
                          (long long)s->co);
    for (int64_t i = 0; i < weights; ++i) {
        e->magnitude[i] = fabs(args->in->data[CONV_W][i]);
        e->square[i] = conv_square(args->in->data[CONV_W][i]);
    }
    return ASSAY_OK;
}

void conv_errors_clear(conv_errors *e) {
    assay_arrays_clear(&e->storage);
    free(e->channel);
    free(e->group);
    *e = (conv_errors){0};
}

/* ---- the convolution ---- */

/* R and what cut operands are measured by. */
static void reach(const conv_sizes *s, const double *b, conv_sample *t, conv_errors *e) {
    const int64_t positions = s->positions;
    conv_map_patches(s, fabs, t);
    conv_gemm(false, false, s->co, positions, s->terms, e->magnitude, s->terms, t->spread,
              positions, 0.0, e->operands, positions);
    for (int64_t i = 0; i < s->co * positions; ++i)
        e->reach[i] = e->operands[i];
    if (e->r->zero_mean) {
        conv_map_patches(s, conv_square, t);
        conv_gemm(false, false, s->co, positions, s->terms, e->square, s->terms, t->spread,
                  positions, 0.0, e->operands, positions);
        for (int64_t i = 0; i < s->co * positions; ++i)
            e->reach[i] = fmin(e->reach[i], excursion * sqrt(e->operands[i]));
    }
    for (int64_t i = 0; i < s->co * positions; ++i)
        e->reach[i] += fabs(b[i / positions]);
}

/* A sample whose rows, channels or groups are each one thread's. */
typedef struct shares {
    const conv_sizes *s;
    const assay_oracle_args *args;
    const conv_sample *t;
    conv_errors *e;
    int64_t length; /* elements of each */
} shares;

static void sum_piece(void *context, int64_t first, int64_t last) {
    const shares *w = context;
    for (int64_t j = first / w->length; j < last / w->length; ++j) {
        const double *x = w->t->patches + j * w->length;
        double sum = 0, power = 0;
        for (int64_t p = 0; p < w->length; ++p) {
            sum += x[p];
            power += x[p] * x[p];
        }
        w->e->column[j] = sum;
        w->e->power[j] = power;
    }
}

/* ---- a channel ---- */

/*
 * The error that cut operands add to the mean of channel o. With random signs, w's loss multiplies
 * Σ_p x over a row of patches, and x's own loss is the mean loss times that sum and a walk. Each
 * operand loses half of `product`.
 */
static double cut_of_mean(const conv_sizes *s, const conv_errors *e, int64_t o) {
    double sum = 0;
    if (e->r->product == 0)
        return 0;
    if (e->r->zero_mean)
        for (int64_t j = 0; j < s->terms; ++j)
            sum += e->magnitude[o * s->terms + j] *
                   (fabs(e->column[j]) + uneven_cut / 2 * sqrt(e->power[j]));
    else
        for (int64_t p = 0; p < s->positions; ++p)
            sum += e->operands[o * s->positions + p];
    return e->r->product * sum / (double)s->positions;
}

static conv_channel channel_of(const conv_sizes *s, const conv_sample *t, const conv_errors *e,
                               int64_t o) {
    const double *c = t->c + o * s->positions, *reached = e->reach + o * s->positions;
    const double count = (double)s->positions, mean = t->mean[o / s->per_group];
    double sum = 0, worst = 0, squares = 0;
    conv_channel channel = {0};
    for (int64_t p = 0; p < s->positions; ++p) {
        sum += c[p] - mean;
        channel.size += fabs(c[p]) / count;
        channel.apart += fabs(c[p] - mean) / count;
        worst += reached[p];
        squares += conv_square(reached[p]);
    }
    channel.off = sum / count;
    for (int64_t p = 0; p < s->positions; ++p)
        channel.scatter += conv_square(c[p] - mean - channel.off);
    channel.own = conv_sum_of_errors(e, worst, squares) / count + cut_of_mean(s, e, o);
    channel.sum = channel.size * conv_runs_of_likes(e->r, 1, count, MEAN_ROUNDINGS, channel.size,
                                                    sqrt(channel.scatter / count));
    return channel;
}

/* ---- a group ---- */

/* What cut operands add to the variance: 2 mean (c - μ)·loss. Of random signs, the loss of a term
 * meets the term itself in c - m, and other terms in a walk. */
static double cut_of_variance(const conv_sizes *s, const conv_sample *t, const conv_errors *e,
                              int64_t group) {
    const double count = (double)(s->per_group * s->positions), product = e->r->product;
    double sum = 0;
    if (product == 0)
        return 0;
    for (int64_t o = group * s->per_group; o < (group + 1) * s->per_group; ++o) {
        const double *operands = e->operands + o * s->positions, *c = t->c + o * s->positions;
        double direct = 0, squares = 0;
        for (int64_t p = 0; p < s->positions; ++p) {
            direct += e->r->zero_mean ? operands[p] : operands[p] * fabs(c[p] - t->mean[group]);
            squares += conv_square(operands[p]);
        }
        sum += product * direct;
        if (e->r->zero_mean)
            sum += product * excursion * sqrt(squares) +
                   (double)s->positions * fabs(e->channel[o].off) * cut_of_mean(s, e, o);
    }
    return 2 * sum / count;
}

/* Error of the variance: through c, through the mean, and by its own sum. */
static double variance_error(const conv_sizes *s, const double *b, const conv_sample *t,
                             const conv_errors *e, int64_t group, double mean_error,
                             double variance) {
    const double count = (double)(s->per_group * s->positions), mean = t->mean[group];
    double sum = 0, squares = 0, second = 0, largest = 0;
    for (int64_t i = group * s->per_group * s->positions;
         i < (group + 1) * s->per_group * s->positions; ++i) {
        const double apart = fabs(t->c[i] - mean), reached = e->reach[i];
        const double cut = e->r->product * (reached - fabs(b[i / s->positions]));
        sum += apart * reached;
        squares += conv_square(apart * reached);
        second += conv_square(e->worst * reached + cut) / count;
        largest = fmax(largest, apart);
    }
    const double d = e->r->independent ? shift_in_deviations * sqrt(variance) : largest;
    const double seen = variance + d * d;
    const double phi = assay_accumulation(e->r, count + VARIANCE_ROUNDINGS);
    return 2 * conv_sum_of_errors(e, sum, squares) / count + cut_of_variance(s, t, e, group) +
           second + conv_square(mean_error) +
           phi * (seen + 2 * d * sqrt(seen) + sqrt(variance) * sqrt(variance + mean * mean));
}

/* Relative error of 1/√v when v is off by `error`: 1/√(1-a) - 1 <= (a/2) / (1-a). No kernel takes a
 * variance below 0, so that its 1/√v is between 0 and 1/√eps. */
static double inverse_error(const assay_rounding *r, double v, double error, double eps) {
    const double a = error / v, most = fmax(1, sqrt(v / eps) - 1);
    const double followed = a < 1 ? a / 2 / (1 - a) : INFINITY;
    return fmin(followed, most) + INVERSE_ROUNDINGS * unit_of(r);
}

/* What is a sum over the group's channels. */
static void sum_channels(const conv_sizes *s, const double *gamma, const conv_sample *t,
                         const conv_errors *e, int64_t index, conv_group *group) {
    const double q = (double)s->per_group, inverse = t->inverse[index];
    double direct = 0, walk = 0;
    for (int64_t o = index * s->per_group; o < (index + 1) * s->per_group; ++o) {
        const conv_channel *channel = &e->channel[o];
        group->gamma += gamma[o] / q;
        group->gamma_size += fabs(gamma[o]) / q;
        group->along += gamma[o] * inverse * channel->off / q;
        group->along_size += fabs(gamma[o]) * inverse * channel->apart / q;
        group->mean += channel->own / q;
        direct += fabs(gamma[o] * channel->off) * inverse / q;
        walk += conv_square(gamma[o] * inverse) * channel->scatter;
    }
    if (e->r->zero_mean)
        group->along_size =
            fmin(group->along_size, direct + excursion * sqrt(walk) / (q * (double)s->positions));
}

/* The error of h. h responds to the channels' means: through c by γ - mean γ, because the mean of
 * all moves with them; each sum by itself by γ. These errors are multiplied by r as the kernel has
 * it, which is off by as much as it is where the variance is lost among its own errors. */
static double along_error(const conv_sizes *s, const double *gamma, const conv_sample *t,
                          const conv_errors *e, int64_t index, const conv_group *group,
                          double sum_of_mean) {
    double error = fabs(group->gamma) * sum_of_mean;
    for (int64_t o = index * s->per_group; o < (index + 1) * s->per_group; ++o)
        error += (fabs(gamma[o] - group->gamma) * e->channel[o].own +
                  fabs(gamma[o]) * e->channel[o].sum) /
                 (double)s->per_group;
    return error * t->inverse[index] * (1 + group->inverse) + fabs(group->along) * group->inverse;
}

static conv_group group_of(const conv_sizes *s, const assay_oracle_args *args, const conv_sample *t,
                           const conv_errors *e, int64_t index) {
    const double *gamma = args->in->data[CONV_GAMMA];
    const double inverse = t->inverse[index];
    const double with_eps = 1 / (inverse * inverse);
    double size = 0, least = INFINITY;
    conv_group group = {0};
    for (int64_t o = index * s->per_group; o < (index + 1) * s->per_group; ++o) {
        size += e->channel[o].size / (double)s->per_group;
        least = fmin(least, sqrt(e->channel[o].scatter / (double)s->positions));
    }
    sum_channels(s, gamma, t, e, index, &group);
    const double sum_of_mean =
        size * conv_runs_of_likes(e->r, (double)s->per_group, (double)s->positions, MEAN_ROUNDINGS,
                                  size, least);
    group.mean += sum_of_mean;
    group.inverse = inverse_error(e->r, with_eps,
                                  variance_error(s, args->in->data[CONV_B], t, e, index, group.mean,
                                                 fmax(0, with_eps - s->eps)),
                                  s->eps);
    group.along_error = along_error(s, gamma, t, e, index, &group, sum_of_mean);
    return group;
}

static void channel_piece(void *context, int64_t first, int64_t last) {
    const shares *w = context;
    for (int64_t o = first / w->length; o < last / w->length; ++o)
        w->e->channel[o] = channel_of(w->s, w->t, w->e, o);
}

static void group_piece(void *context, int64_t first, int64_t last) {
    const shares *w = context;
    for (int64_t index = first / w->length; index < last / w->length; ++index)
        w->e->group[index] = group_of(w->s, w->args, w->t, w->e, index);
}

void conv_errors_of(const conv_sizes *s, const assay_oracle_args *args, conv_sample *t,
                    conv_errors *e) {
    shares w = {s, args, t, e, s->positions};
    reach(s, args->in->data[CONV_B], t, e);
    assay_parallel(s->terms * w.length, sum_piece, &w);
    assay_parallel(s->co * w.length, channel_piece, &w);
    w.length = s->per_group * s->positions;
    assay_parallel(s->groups * w.length, group_piece, &w);
}
