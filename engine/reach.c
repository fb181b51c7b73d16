#include "engine/reach.h"

#include <math.h>

/* ---- attributes ---- */

/* Where 0 is legal: a number that adds nothing to one of the range's size. */
static const double vanishing = 0x1p-40;

static double uniform(assay_rng *rng) {
    return assay_rng_uniform(rng->seed, rng->stream, rng->next++);
}

static double log_uniform(assay_rng *rng, double low, double high) {
    return fmin(fmax(low * exp2(uniform(rng) * log2(high / low)), low), high);
}

/* One step below a number, the number, or one step above, as fp32 or fp64 count. */
static double beside(assay_rng *rng, double value) {
    const int64_t side = assay_rng_between(rng, -1, 1);
    const double toward = side < 0 ? -INFINITY : INFINITY;
    if (side == 0)
        return value;
    return assay_rng_between(rng, 0, 1) == 0 ? nextafter(value, toward)
                                             : (double)nextafterf((float)value, (float)toward);
}

double reach_real(assay_rng *rng, const assay_key *key) {
    const double high = key->high, low = key->low > 0 ? key->low : high * vanishing;
    double value = 0;
    switch (assay_rng_between(rng, 0, 9)) {
    case 0:
        return key->low;
    case 1:
        return high;
    case 2:
    case 3:
        value = beside(rng, exp2(round(log2(log_uniform(rng, low, high)))));
        break;
    case 4:
        value = beside(rng, pow(10, round(log10(log_uniform(rng, low, high)))));
        break;
    case 5: /* 1 - beta is as much an attribute as beta */
        value = high - log_uniform(rng, high * vanishing, high - key->low);
        break;
    default:
        value = log_uniform(rng, low, high);
        break;
    }
    return fmin(fmax(value, key->low), high);
}

void reach_attributes(assay_rng *rng, assay_params *params, const assay_op *op) {
    if (assay_rng_between(rng, 0, 1) == 0)
        return;
    for (int32_t k = 0; k < op->n_keys; ++k)
        if (op->keys[k].kind == ASSAY_KEY_REAL && assay_rng_between(rng, 0, 1) == 0)
            params->item[k].real = reach_real(rng, &op->keys[k]);
}

/* ---- extents ---- */

int64_t reach_relative(assay_rng *rng, int64_t other) {
    enum { NEAR = 8, TIMES = 4 };
    switch (assay_rng_between(rng, 0, 3)) {
    case 0:
        return other;
    case 1:
        return other * assay_rng_between(rng, 2, TIMES);
    case 2:
        return other / assay_rng_between(rng, 2, TIMES);
    default:
        return other + assay_rng_between(rng, -NEAR, NEAR);
    }
}

/* ---- layouts ---- */

enum { LINE = 256, MOST_PAD = 1024 };

int64_t reach_shift_of_all(int64_t elements) {
    return ASSAY_MISALIGN_STEP * (elements / ASSAY_MISALIGN_ONE) + elements % ASSAY_MISALIGN_ONE;
}

int64_t reach_shift_of_one(int64_t number, int64_t elements) {
    return ASSAY_MISALIGN_STEP * (elements - 1) + ASSAY_MISALIGN_ONE + number;
}

static int64_t rows_of(const assay_tensor_spec *spec) {
    int64_t rows = 1;
    for (int32_t a = 0; a < spec->rank - spec->inner; ++a)
        rows *= spec->shape[a];
    return rows;
}

/* Elements of padding that a case with so many rows can afford. */
static int64_t most_padding(const assay_signature *sig) {
    enum { TOGETHER = 1 << 16 };
    int64_t rows = 1;
    for (int32_t i = 0; i < sig->n_in; ++i)
        rows = rows_of(&sig->in[i]) > rows ? rows_of(&sig->in[i]) : rows;
    for (int32_t o = 0; o < sig->n_out; ++o)
        rows = rows_of(&sig->out[o]) > rows ? rows_of(&sig->out[o]) : rows;
    const int64_t most = TOGETHER / rows;
    return most < 1 ? 1 : most > MOST_PAD ? MOST_PAD : most;
}

static int64_t draw_pad(assay_rng *rng, int64_t most) {
    const int64_t way = assay_rng_between(rng, 0, 11);
    return way < 5    ? 0
           : way < 9  ? assay_rng_between(rng, 1, most < 8 ? most : 8)
           : way < 11 ? assay_rng_log_between(rng, 1, most)
                      : most;
}

/* Elements; half of the time as many bytes as a power of two, which loads of packs go by. */
static int64_t draw_shift(assay_rng *rng, int64_t line) {
    if (assay_rng_between(rng, 0, 1) == 0)
        return assay_rng_between(rng, 1, line - 1);
    int64_t shift = 1;
    for (int64_t doublings = assay_rng_between(rng, 0, 7); doublings > 0; --doublings)
        shift = 2 * shift < line ? 2 * shift : 1;
    return shift;
}

assay_status reach_layout(assay_rng *rng, assay_case *c) {
    assay_signature sig;
    const int64_t line = LINE / (int64_t)assay_dtype_size(c->params.dtype);
    const assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    const int64_t tensors = 2 * ((int64_t)sig.n_in + sig.n_out);
    const int64_t most = ASSAY_MISALIGN_STEP - ASSAY_MISALIGN_ONE;
    c->pad = draw_pad(rng, most_padding(&sig));
    switch (assay_rng_between(rng, 0, 3)) {
    case 0:
        c->misalign = reach_shift_of_all(draw_shift(rng, line));
        break;
    case 1: {
        const int64_t shift = draw_shift(rng, line);
        const int64_t tensor = assay_rng_between(rng, 0, (tensors < most ? tensors : most) - 1);
        c->misalign = reach_shift_of_one(tensor, shift);
        break;
    }
    default:
        c->misalign = 0;
        break;
    }
    assay_signature_clear(&sig);
    return ASSAY_OK;
}
