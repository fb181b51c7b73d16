/* The relations of attention: what every correct kernel keeps when its problem is changed. */
#include "oracles/common/relate.h"
#include "oracles/attention/attention.h"

#include <math.h>

enum { AXIS_HEAD = 1, AXIS_ROW = 2, AXIS_DIMENSION = 3 };
enum { Q, K, V };
enum { O, LSE };

static bool sees_all(const assay_case *c) {
    return !attention_sizes_of(&c->params).causal;
}

/* ---- permutations ---- */

static void reverse_input(const assay_problem *base, int32_t t, int32_t axis,
                          assay_problem *derived) {
    relate_reverse_axis(&base->sig.in[t], axis, base->in.data[t], derived->in.data[t]);
}

static void reverse_cotangent(const assay_problem *base, int32_t axis, assay_problem *derived) {
    relate_reverse_axis(&base->sig.out[O], axis, base->cot.data[O], derived->cot.data[O]);
}

static void reverse_output(const assay_problem *base, int32_t t, int32_t axis,
                           const assay_results *from, assay_results *to) {
    relate_reverse_axis(&base->sig.out[t], axis, from->out.data[t], to->out.data[t]);
}

static void reverse_gradient(const assay_problem *base, int32_t t, int32_t axis,
                             const assay_results *from, assay_results *to) {
    relate_reverse_axis(&base->sig.in[t], axis, from->grad.data[t], to->grad.data[t]);
}

static void copy_output(int32_t t, const assay_results *from, assay_results *to) {
    relate_copy(to->out.data[t], from->out.data[t], to->out.size[t]);
}

static void copy_gradient(int32_t t, const assay_results *from, assay_results *to) {
    relate_copy(to->grad.data[t], from->grad.data[t], to->grad.size[t]);
}

static assay_status reverse_keys(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    reverse_input(base, K, AXIS_ROW, derived);
    reverse_input(base, V, AXIS_ROW, derived);
    return ASSAY_OK;
}

static assay_status unreverse_keys(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)derived;
    copy_output(O, results, want);
    copy_output(LSE, results, want);
    copy_gradient(Q, results, want);
    reverse_gradient(base, K, AXIS_ROW, results, want);
    reverse_gradient(base, V, AXIS_ROW, results, want);
    return ASSAY_OK;
}

static assay_status reverse_queries(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    reverse_input(base, Q, AXIS_ROW, derived);
    reverse_cotangent(base, AXIS_ROW, derived);
    return ASSAY_OK;
}

static assay_status unreverse_queries(const assay_problem *base, const assay_problem *derived,
                                      const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_output(base, O, AXIS_ROW, results, want);
    reverse_output(base, LSE, AXIS_ROW, results, want);
    reverse_gradient(base, Q, AXIS_ROW, results, want);
    copy_gradient(K, results, want);
    copy_gradient(V, results, want);
    return ASSAY_OK;
}

static assay_status reverse_heads(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t t = Q; t <= V; ++t)
        reverse_input(base, t, AXIS_HEAD, derived);
    reverse_cotangent(base, AXIS_HEAD, derived);
    return ASSAY_OK;
}

static assay_status unreverse_heads(const assay_problem *base, const assay_problem *derived,
                                    const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_output(base, O, AXIS_HEAD, results, want);
    reverse_output(base, LSE, AXIS_HEAD, results, want);
    for (int32_t t = Q; t <= V; ++t)
        reverse_gradient(base, t, AXIS_HEAD, results, want);
    return ASSAY_OK;
}

static assay_status reverse_dimensions(const assay_problem *base, int32_t i,
                                       assay_problem *derived) {
    (void)i;
    for (int32_t t = Q; t <= V; ++t)
        reverse_input(base, t, AXIS_DIMENSION, derived);
    reverse_cotangent(base, AXIS_DIMENSION, derived);
    return ASSAY_OK;
}

static assay_status unreverse_dimensions(const assay_problem *base, const assay_problem *derived,
                                         const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_output(base, O, AXIS_DIMENSION, results, want);
    copy_output(LSE, results, want);
    for (int32_t t = Q; t <= V; ++t)
        reverse_gradient(base, t, AXIS_DIMENSION, results, want);
    return ASSAY_OK;
}

/* ---- linearity in v and in do ---- */

/* The black fields of a chessboard, or the white ones: parts that share rows and columns. */
static void keep_fields(int64_t d, int32_t i, double *data, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        if ((e / d + e % d + i) % 2 != 0)
            data[e] = 0;
}

static assay_status split_values(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    keep_fields(base->sig.in[V].shape[3], i, derived->in.data[V], derived->in.size[V]);
    return ASSAY_OK;
}

static assay_status split_cotangent(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    keep_fields(base->sig.out[O].shape[3], i, derived->cot.data[O], derived->cot.size[O]);
    return ASSAY_OK;
}

static void add(double *sum, const double *a, const double *b, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        sum[e] = a[e] + b[e];
}

static void add_gradients(int32_t t, const assay_results *results, assay_results *want) {
    add(want->grad.data[t], results[0].grad.data[t], results[1].grad.data[t], want->grad.size[t]);
}

static assay_status add_values(const assay_problem *base, const assay_problem *derived,
                               const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    add(want->out.data[O], results[0].out.data[O], results[1].out.data[O], want->out.size[O]);
    copy_output(LSE, results, want);
    add_gradients(Q, results, want);
    add_gradients(K, results, want);
    copy_gradient(V, results, want);
    return ASSAY_OK;
}

static assay_status add_cotangents(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    copy_output(O, results, want);
    copy_output(LSE, results, want);
    for (int32_t t = Q; t <= V; ++t)
        add_gradients(t, results, want);
    return ASSAY_OK;
}

/* ---- scaling ---- */

static void scale(double *to, const double *from, int power, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = ldexp(from[e], power);
}

/* Where nothing underflows that would not be scaled alike. */
static bool keeps_bits(const assay_case *c) {
    return relate_keeps_bits(c) && c->fill != ASSAY_FILL_HUGE && c->fill != ASSAY_FILL_NEGATIVE;
}

/* q by 2^POWER and k by its inverse, v by 2^VALUE and do by its inverse: S and dS stay. */
enum { POWER = 2, VALUE = 1 };

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    static const int power[] = {[Q] = POWER, [K] = -POWER, [V] = VALUE};
    (void)i;
    for (int32_t t = Q; t <= V; ++t)
        scale(derived->in.data[t], base->in.data[t], power[t], base->in.size[t]);
    scale(derived->cot.data[O], base->cot.data[O], -VALUE, base->cot.size[O]);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    static const int power[] = {[Q] = POWER, [K] = -POWER, [V] = VALUE};
    (void)base;
    (void)derived;
    scale(want->out.data[O], results->out.data[O], -VALUE, want->out.size[O]);
    copy_output(LSE, results, want);
    for (int32_t t = Q; t <= V; ++t)
        scale(want->grad.data[t], results->grad.data[t], power[t], want->grad.size[t]);
    return ASSAY_OK;
}

/* ---- one shift of all keys ---- */

/* Keys of one sign become so large beside their differences that little is left to compare. */
static bool has_both_signs(const assay_case *c) {
    return c->fill != ASSAY_FILL_NEGATIVE && c->fill != ASSAY_FILL_POSITIVE &&
           c->fill != ASSAY_FILL_DENORMAL;
}

/* Keys on a grid on which every dtype can add 1 without rounding: multiples of 1/8 of up to 31 have
 * bf16's 8 bits. */
static assay_status make_coarse_keys(assay_problem *base) {
    enum { MOST = 30 };
    for (int64_t e = 0; e < base->in.size[K]; ++e) {
        double *k = &base->in.data[K][e];
        *k = rint(8 * *k) / 8;
        if (isfinite(*k) && fabs(*k) > MOST)
            *k = copysign(MOST, *k);
    }
    return ASSAY_OK;
}

static assay_status shift_keys(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    for (int64_t e = 0; e < base->in.size[K]; ++e)
        derived->in.data[K][e] += 1;
    return ASSAY_OK;
}

static assay_status drop_lse(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    copy_output(O, results, want);
    assay_arrays_drop(&want->out, LSE);
    for (int32_t t = Q; t <= V; ++t)
        copy_gradient(t, results, want);
    return ASSAY_OK;
}

/* ---- every key twice ---- */

static assay_status double_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[ATTENTION_KEY_SK].value[0] *= 2;
    return ASSAY_OK;
}

/* The keys of each head, then the same again. */
static void repeat(const attention_sizes *s, const double *from, double *to) {
    const int64_t length = s->sk * s->d;
    for (int64_t head = 0; head < s->heads; ++head)
        for (int64_t half = 0; half < 2; ++half)
            relate_copy(to + (2 * head + half) * length, from + head * length, length);
}

static assay_status double_keys(const assay_problem *base, int32_t i, assay_problem *derived) {
    const attention_sizes s = attention_sizes_of(&base->c.params);
    (void)i;
    relate_copy(derived->in.data[Q], base->in.data[Q], base->in.size[Q]);
    relate_copy(derived->cot.data[O], base->cot.data[O], base->cot.size[O]);
    repeat(&s, base->in.data[K], derived->in.data[K]);
    repeat(&s, base->in.data[V], derived->in.data[V]);
    return ASSAY_OK;
}

static void add_halves(const attention_sizes *s, const double *from, double *to) {
    const int64_t length = s->sk * s->d;
    for (int64_t head = 0; head < s->heads; ++head)
        add(to + head * length, from + 2 * head * length, from + (2 * head + 1) * length, length);
}

static assay_status halve_keys(const assay_problem *base, const assay_problem *derived,
                               const assay_results *results, assay_results *want) {
    const attention_sizes s = attention_sizes_of(&base->c.params);
    (void)derived;
    copy_output(O, results, want);
    assay_arrays_drop(&want->out, LSE); /* it grows by log 2 */
    copy_gradient(Q, results, want);
    add_halves(&s, results->grad.data[K], want->grad.data[K]);
    add_halves(&s, results->grad.data[V], want->grad.data[V]);
    return ASSAY_OK;
}

/* ---- causal: what comes later does not count ---- */

/* Beside a row of ordinary size the bounds of subnormal ones would allow everything. */
static bool is_causal(const assay_case *c) {
    return attention_sizes_of(&c->params).causal && c->fill != ASSAY_FILL_DENORMAL;
}

static assay_status lengthen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    ++derived->params.item[ATTENTION_KEY_SQ].value[0];
    ++derived->params.item[ATTENTION_KEY_SK].value[0];
    return ASSAY_OK;
}

/* The new last row of each head: of no common size or sign with the others. */
static void fill_last_row(const assay_tensor_spec *spec, double *data) {
    const int64_t rows = spec->shape[0] * spec->shape[1], d = spec->shape[3];
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t e = 0; e < d; ++e)
            data[((r + 1) * spec->shape[2] - 1) * d + e] = e % 2 == 0 ? 4 : -3;
}

static assay_status append_row(const assay_problem *base, int32_t i, assay_problem *derived) {
    const assay_status status = relate_embed(base, i, derived); /* the new do is 0 */
    for (int32_t t = Q; t <= V; ++t)
        fill_last_row(&derived->sig.in[t], derived->in.data[t]);
    return status;
}

/* ---- adjoint: o = P v ---- */

/* Each column of each head of v gives that of o, and no other. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)base;
    (void)i;
    return (relate_link){
        .in = V, .leading = AXIS_ROW, .in_axis = AXIS_DIMENSION, .out_axis = AXIS_DIMENSION};
}
RELATE_LINKS(link_of, 1);

const assay_relation attention_relations[ATTENTION_RELATIONS] = {
    RELATE_BATCH_SPLIT,
    {.name = "key_permutation",
     .why = "reversing keys and values reverses dk and dv, the rest stays",
     .applies = sees_all,
     .n_derived = 1,
     .derive = reverse_keys,
     .predict = unreverse_keys},
    {.name = "query_permutation",
     .why = "reversing queries and do reverses o, lse and dq, the rest stays",
     .applies = sees_all,
     .n_derived = 1,
     .derive = reverse_queries,
     .predict = unreverse_queries},
    {.name = "head_permutation",
     .why = "reversing the heads reverses those of every result",
     .n_derived = 1,
     .derive = reverse_heads,
     .predict = unreverse_heads},
    {.name = "dimension_permutation",
     .why = "reversing the head dimension of all tensors reverses that of every result",
     .n_derived = 1,
     .derive = reverse_dimensions,
     .predict = unreverse_dimensions},
    {.name = "value_linearity",
     .why = "v = va + vb: o, dq and dk are the sums of theirs, lse and dv stay",
     .n_derived = 2,
     .derive = split_values,
     .predict = add_values},
    RELATE_ADJOINT,
    {.name = "cotangent_linearity",
     .why = "do = doa + dob: every gradient is the sum of theirs, o and lse stay",
     .n_derived = 2,
     .derive = split_cotangent,
     .predict = add_cotangents},
    {.name = "power_of_two_scaling",
     .why = "q by 4, k by 1/4, v by 2, do by 1/2 scales o and gradients alike, bit for bit",
     .exact = true,
     .applies = keeps_bits,
     .n_derived = 1,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "shift_invariance",
     .why = "adding 1 to every key shifts the scores of a row alike: only lse changes",
     .applies = has_both_signs,
     .prepare = make_coarse_keys,
     .n_derived = 1,
     .derive = shift_keys,
     .predict = drop_lse},
    {.name = "key_duplication",
     .why = "every key twice: dk and dv are shared out, o and dq stay",
     .applies = sees_all,
     .n_derived = 1,
     .derive_case = double_case,
     .derive = double_keys,
     .predict = halve_keys},
    {.name = "causal_prefix",
     .why = "one more query, with do = 0, and one more key behind the others change nothing",
     .applies = is_causal,
     .n_derived = 1,
     .derive_case = lengthen_case,
     .derive = append_row,
     .predict = relate_crop},
};
