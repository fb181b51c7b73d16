/* Identities between the answers of conv3d_groupnorm_mean to related problems. */
#include "oracles/common/relate.h"
#include "oracles/conv3d_groupnorm_mean/definition.h"

#include <math.h>

/* Reverses the first axis of the tensors that have the channels there. */
static void reverse_channels(const assay_signature *sig, const assay_arrays *from,
                             assay_arrays *to) {
    relate_copy(to->data[CONV_X], from->data[CONV_X], from->size[CONV_X]);
    for (int32_t t = CONV_W; t <= CONV_BETA; ++t)
        relate_reverse_axis(&sig->in[t], 0, from->data[t], to->data[t]);
}

static assay_status permute(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    reverse_channels(&base->sig, &base->in, &derived->in);
    return ASSAY_OK;
}

static assay_status unpermute(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)derived;
    relate_copy(want->out.data[CONV_Y], results->out.data[CONV_Y], want->out.size[CONV_Y]);
    reverse_channels(&base->sig, &results->grad, &want->grad);
    return ASSAY_OK;
}

/* Reverses each row of a tensor: all three spatial axes. */
static void mirror(const assay_arrays *from, int32_t t, int64_t length, assay_arrays *to) {
    for (int64_t e = 0; e < from->size[t]; ++e)
        to->data[t][e / length * length + length - 1 - e % length] = from->data[t][e];
}

static void mirror_both(const assay_problem *base, const assay_arrays *from, assay_arrays *to) {
    const conv_sizes s = conv_sizes_of(&base->c.params);
    mirror(from, CONV_X, s.volume, to);
    mirror(from, CONV_W, s.k * s.k * s.k, to);
}

static assay_status reflect(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    mirror_both(base, &base->in, &derived->in);
    return ASSAY_OK;
}

static assay_status unreflect(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)derived;
    relate_copy_results(results, want);
    mirror_both(base, &results->grad, &want->grad);
    return ASSAY_OK;
}

/* c times 2 and eps times 4 leave x̂ as it is. */
enum { X_POWER = 3, W_POWER = -2, C_POWER = X_POWER + W_POWER, DY_POWER = 2 };

static assay_status scale_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[CONV_KEY_EPS].real *= ldexp(1, 2 * C_POWER);
    return ASSAY_OK;
}

static void scale(const assay_arrays *from, int32_t t, int power, assay_arrays *to) {
    for (int64_t e = 0; e < from->size[t]; ++e)
        to->data[t][e] = ldexp(from->data[t][e], power);
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    scale(&base->in, CONV_X, X_POWER, &derived->in);
    scale(&base->in, CONV_W, W_POWER, &derived->in);
    scale(&base->in, CONV_B, C_POWER, &derived->in);
    scale(&base->cot, CONV_Y, DY_POWER, &derived->cot);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy_results(results, want);
    scale(&results->grad, CONV_X, X_POWER - DY_POWER, &want->grad);
    scale(&results->grad, CONV_W, W_POWER - DY_POWER, &want->grad);
    scale(&results->grad, CONV_B, C_POWER - DY_POWER, &want->grad);
    scale(&results->grad, CONV_GAMMA, -DY_POWER, &want->grad);
    scale(&results->grad, CONV_BETA, -DY_POWER, &want->grad);
    return ASSAY_OK;
}

static assay_status split(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    relate_keep_part(&derived->in, CONV_GAMMA, i);
    relate_keep_part(&derived->in, CONV_BETA, i);
    return ASSAY_OK;
}

static void add(const assay_arrays *a, const assay_arrays *b, int32_t t, assay_arrays *sum) {
    for (int64_t e = 0; e < sum->size[t]; ++e)
        sum->data[t][e] = a->data[t][e] + b->data[t][e];
}

static assay_status sum_up(const assay_problem *base, const assay_problem *derived,
                           const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy_results(results, want);
    add(&results[0].out, &results[1].out, CONV_Y, &want->out);
    for (int32_t t = CONV_X; t <= CONV_B; ++t)
        add(&results[0].grad, &results[1].grad, t, &want->grad);
    return ASSAY_OK;
}

/* Multiples of 1/64, to which a small integer is added without rounding in f32 and in f64. */
static assay_status make_coarse_b(assay_problem *base) {
    for (int64_t o = 0; o < base->in.size[CONV_B]; ++o)
        base->in.data[CONV_B][o] = rint(64 * base->in.data[CONV_B][o]) / 64;
    return ASSAY_OK;
}

static assay_status lift(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const conv_sizes s = conv_sizes_of(&base->c.params);
    relate_copy_data(base, derived);
    for (int64_t o = 0; o < s.co; ++o)
        derived->in.data[CONV_B][o] += (double)(3 + o / s.per_group % 5);
    return ASSAY_OK;
}

static assay_status stay(const assay_problem *base, const assay_problem *derived,
                         const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy_results(results, want);
    return ASSAY_OK;
}

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    ++derived->params.item[CONV_KEY_CI].value[0];
    return ASSAY_OK;
}

/* y is linear in gamma, to which beta is added, and in beta, to which gamma·x̂ is: of one or the
 * other, one channel. The x̂ of a group sum to zero, and all elements of dbeta are equal. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    const uint64_t seed = base->c.seed, channels = (uint64_t)base->in.size[CONV_GAMMA];
    const int32_t in = seed % 2 == 0 ? CONV_GAMMA : CONV_BETA;
    (void)i;
    return (relate_link){.in = in,
                         .in_axis = RELATE_WHOLE,
                         .out_axis = RELATE_WHOLE,
                         .added = 1u << (CONV_GAMMA + CONV_BETA - in),
                         .kept = (int64_t)(seed / 2 % channels),
                         .alone = true};
}
RELATE_LINKS(link_of, 1);

const assay_relation conv_relations[CONV_RELATIONS] = {
    RELATE_BATCH_SPLIT,
    RELATE_ADJOINT,
    {.name = "power_of_two_scaling",
     .why =
         "x, w, b, eps and dy times powers of two that leave x̂ alone scale every gradient by one, "
         "bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive_case = scale_case,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "row_permutation",
     .why = "reversing the batch reverses y and dx, the rest stays",
     .n_derived = 1,
     .derive = relate_reverse,
     .predict = relate_unreverse},
    {.name = "channel_permutation",
     .why =
         "reversing the channels of w, b, gamma and beta reverses their gradients, y and dx stay",
     .n_derived = 1,
     .derive = permute,
     .predict = unpermute},
    {.name = "reflection",
     .why = "reversing the spatial axes of x and w reverses those of dx and dw, the rest stays",
     .n_derived = 1,
     .derive = reflect,
     .predict = unreflect},
    {.name = "translation",
     .why = "what lies in x within a frame of zeros, moved: the statistics stay, and so do y and "
            "all gradients but dx, which moves",
     .applies = conv_can_move,
     .prepare = conv_frame,
     .n_derived = 1,
     .derive = conv_move,
     .reduce = conv_drop_frame,
     .predict = conv_move_back},
    {.name = "linearity",
     .why = "gamma = ga + gb and beta = ba + bb: y, dx, dw and db are sums, dgamma and dbeta stay",
     .n_derived = 2,
     .derive = split,
     .predict = sum_up},
    {.name = "offset",
     .why = "a constant added to b within each group changes nothing",
     .n_derived = 1,
     .prepare = make_coarse_b,
     .derive = lift,
     .predict = stay},
    RELATE_PADDING(widen_case, "one more channel of x and w, all zero, changes nothing"),
};
