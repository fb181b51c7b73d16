#include "core/parallel.h"
#include "oracles/rmsnorm/rmsnorm.h"
#include "oracles/transformer/local.h"

#include <math.h>
#include <string.h>

transformer_pattern transformer_pattern_of(int32_t run) {
    if (run < TRANSFORMER_ELEMENT_RUNS)
        return PATTERN_ELEMENTS;
    if (run < TRANSFORMER_ELEMENT_RUNS + TRANSFORMER_ROW_RUNS)
        return PATTERN_ROWS;
    return run == TRANSFORMER_RUNS - 2 ? PATTERN_AWAY : PATTERN_TOWARD;
}

static double weight_of(transformer_pattern pattern) {
    if (pattern == PATTERN_ELEMENTS)
        return 1.0 / TRANSFORMER_ELEMENT_RUNS;
    return pattern == PATTERN_ROWS ? 1.0 / TRANSFORMER_ROW_RUNS : 0;
}

double transformer_gain(const assay_rounding *r) {
    return r->u < 0x1p-40 ? 0x1p20 : 1;
}

/* Random signs, the same for the same stream and index, drawn 64 at a time. */
typedef struct signs {
    uint64_t run, stream, at, bits;
} signs;

static double sign_at(signs *s, uint64_t index) {
    if (s->at != index / 64 + 1) {
        s->at = index / 64 + 1;
        s->bits = assay_rng_bits(s->run, s->stream, index / 64);
    }
    return 2 * (double)(s->bits >> index % 64 & 1) - 1;
}

/* By how much: a bound of each element, or a fraction of it, and more unless it is 0. */
typedef struct amount {
    const double *bound;
    double relative, more;
} amount;

static double amount_at(const amount *by, const double *data, int64_t e) {
    if (by->bound)
        return by->bound[e];
    return by->relative * fabs(data[e]) + (data[e] != 0 ? by->more : 0);
}

typedef struct movement {
    transformer_pattern pattern;
    uint64_t run, stream;
    int64_t row;
    double gain;
    amount by;
    double *data;
} movement;

static void move_piece(void *context, int64_t first, int64_t last) {
    const movement *m = context;
    signs s = {.run = m->run, .stream = m->stream};
    for (int64_t e = first; e < last; ++e) {
        const double outward = 1 - 2 * (double)(m->data[e] < 0); /* no branch: data are random */
        double sign = m->pattern == PATTERN_TOWARD ? -outward : outward;
        if (m->pattern == PATTERN_ELEMENTS)
            sign = sign_at(&s, (uint64_t)e);
        else if (m->pattern == PATTERN_ROWS)
            sign = outward * sign_at(&s, (uint64_t)(e / m->row));
        m->data[e] += m->gain * sign * amount_at(&m->by, m->data, e);
    }
}

static void move(const transformer_disturbance *d, uint64_t stream, int64_t row, amount by,
                 double *data, int64_t size) {
    movement m = {.pattern = transformer_pattern_of(d->run),
                  .run = (uint64_t)d->run,
                  .stream = stream,
                  .row = row,
                  .gain = d->gain,
                  .by = by,
                  .data = data};
    assay_parallel(size, move_piece, &m);
}

/* A stream for each place and step: of values, of contributions, of sums, and outside passes. */
enum { STREAM_VALUES, STREAM_CONTRIBUTIONS, STREAM_SUMS, STREAM_PLACES };

static uint64_t stream_of(int64_t step, int kind, int32_t index) {
    return (uint64_t)step << 40 | (uint64_t)kind << 32 | (uint64_t)(uint32_t)index;
}

/* The last axis of a tensor of the model. */
static int64_t row_of(const transformer_local *l, const assay_tensor_spec *specs, int32_t i,
                      int64_t size) {
    const int64_t row = specs ? specs[i].shape[specs[i].rank - 1] : l->graph->sizes.d;
    return size % row == 0 ? row : size;
}

static void record(transformer_spread *s, const transformer_disturbance *d, const double *got,
                   const double *want) {
    if (s)
        transformer_spread_add(s, got, want, d->gain, weight_of(transformer_pattern_of(d->run)));
}

/* What a disturbance of that pattern may move. */
static const transformer_limits *limits_of(const transformer_disturbance *d) {
    const bool alone = transformer_pattern_of(d->run) == PATTERN_ELEMENTS;
    return alone ? &d->local->each : &d->local->common;
}

/* By more than a half: see transformer_local. A value that is not finite has no bound anyway. */
static bool differs(double now, double exact) {
    return isfinite(exact) && !(fabs(now - exact) <= fabs(exact) / 2);
}

static void watch_norm(const transformer_disturbance *d, const transformer_node *node,
                       const assay_oracle_args *args) {
    const double *exact = d->local->inverse[node - d->local->graph->node];
    if (!exact)
        return;
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    for (int64_t i = 0; i < s.rows && !*d->astray; ++i) {
        const double now = rmsnorm_inverse(&s, args->in->data[RMSNORM_X] + i * s.d);
        *d->astray = differs(now, exact[i]);
    }
}

static assay_status disturb_forward(void *context, const transformer_node *node,
                                    const assay_oracle_args *args, assay_arrays *result) {
    const transformer_disturbance *d = context;
    const transformer_local *l = d->local;
    const transformer_limits *limits = limits_of(d);
    watch_norm(d, node, args);
    if (node->out[0] == l->graph->logits)
        record(d->of_logits, d, result->data[0], d->logits);
    if (node->out[0] == l->graph->loss) {
        record(d->of_loss, d, result->data[0], d->loss);
        *d->astray = *d->astray || (d->loss && differs(result->data[0][0], *d->loss));
    }
    for (int32_t i = 0; i < node->n_out; ++i)
        if (limits->value[node->out[i]])
            move(d, stream_of(d->step, STREAM_VALUES, node->out[i]),
                 row_of(l, node->sig.out, i, result->size[i]),
                 (amount){.bound = limits->value[node->out[i]]}, result->data[i], result->size[i]);
    return ASSAY_OK;
}

static assay_status disturb_backward(void *context, const transformer_node *node,
                                     const assay_oracle_args *args, assay_arrays *result) {
    const transformer_disturbance *d = context;
    const transformer_local *l = d->local;
    const transformer_limits *limits = limits_of(d);
    (void)args;
    for (int32_t i = 0; i < node->n_in; ++i) {
        const int32_t slot = transformer_slot(l, node, i);
        if (node->in[i] < l->graph->sizes.parameters && d->of_gradients)
            record(&d->of_gradients[node->in[i]], d, result->data[i], d->gradients[node->in[i]]);
        /* Without training no one takes on the gradients of parameters. */
        if (limits->contribution[slot] &&
            (l->graph->sizes.steps > 0 || node->in[i] >= l->graph->sizes.parameters))
            move(d, stream_of(d->step, STREAM_CONTRIBUTIONS, slot),
                 row_of(l, node->sig.in, i, result->size[i]),
                 (amount){.bound = limits->contribution[slot]}, result->data[i], result->size[i]);
    }
    return ASSAY_OK;
}

static assay_status disturb_sum(void *context, const transformer_node *node, int32_t slot,
                                double *sum, int64_t size) {
    const transformer_disturbance *d = context;
    const int32_t at = transformer_slot(d->local, node, slot);
    const double *bound = limits_of(d)->sum[at];
    if (bound)
        move(d, stream_of(d->step, STREAM_SUMS, at), row_of(d->local, NULL, 0, size),
             (amount){.bound = bound}, sum, size);
    return ASSAY_OK;
}

transformer_hooks transformer_disturbing(transformer_disturbance *d) {
    return (transformer_hooks){
        .context = d, .forward = disturb_forward, .backward = disturb_backward, .sum = disturb_sum};
}

void transformer_disturb(const transformer_disturbance *d, int32_t parameter, int32_t place,
                         const double *bound, double *data, int64_t size) {
    move(d, stream_of(d->step, STREAM_PLACES, parameter * PLACES + place), size,
         (amount){.bound = bound}, data, size);
}

/* A copy is rounded alike in each step, as long as its parameter hardly moves; to a subnormal
 * number, by a fixed amount. */
void transformer_disturb_copies(const transformer_disturbance *d, const assay_arrays *parameters,
                                assay_arrays *copies) {
    const assay_rounding *r = &limits_of(d)->rounding;
    const amount rounding = {.relative = r->u_out, .more = r->u_out > 0 ? r->tiny : 0};
    for (int32_t i = 0; i < parameters->count; ++i) {
        const int64_t size = parameters->size[i];
        memcpy(copies->data[i], parameters->data[i], (size_t)size * sizeof(double));
        move(d, stream_of(0, STREAM_PLACES, i * PLACES + PLACE_COPY), size, rounding,
             copies->data[i], size);
    }
}
