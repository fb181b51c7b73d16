/* Identities between the answers of cross_entropy to related problems. */
#include "oracles/common/relate.h"
#include "oracles/cross_entropy/cross_entropy.h"

#include <math.h>
#include <string.h>

/* `gradient`, where there is one, has the shape and the symmetries of dlogits. */
static void reverse_gradients(const assay_problem *base, int32_t axis, const assay_results *results,
                              assay_results *want) {
    const assay_tensor_spec *logits = &base->sig.in[CE_LOGITS];
    relate_reverse_axis(logits, axis, results->grad.data[CE_LOGITS], want->grad.data[CE_LOGITS]);
    if (base->sig.n_out > CE_GRADIENT)
        relate_reverse_axis(logits, axis, results->out.data[CE_GRADIENT],
                            want->out.data[CE_GRADIENT]);
}

static assay_status reverse_tokens(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t k = 0; k < base->in.count; ++k)
        relate_reverse_axis(&base->sig.in[k], 0, base->in.data[k], derived->in.data[k]);
    derived->cot.data[CE_LOSS][0] = base->cot.data[CE_LOSS][0];
    return ASSAY_OK;
}

static assay_status unreverse_tokens(const assay_problem *base, const assay_problem *derived,
                                     const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[CE_LOSS][0] = results->out.data[CE_LOSS][0];
    relate_reverse_axis(&base->sig.out[CE_LSE], 0, results->out.data[CE_LSE],
                        want->out.data[CE_LSE]);
    reverse_gradients(base, 0, results, want);
    return ASSAY_OK;
}

static assay_status reverse_words(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const ce_sizes s = ce_sizes_of(&base->c.params);
    relate_reverse_axis(&base->sig.in[CE_LOGITS], 1, base->in.data[CE_LOGITS],
                        derived->in.data[CE_LOGITS]);
    for (int64_t k = 0; k < s.t; ++k)
        derived->in.data[CE_TARGET][k] = (double)(s.v - 1) - base->in.data[CE_TARGET][k];
    derived->cot.data[CE_LOSS][0] = base->cot.data[CE_LOSS][0];
    return ASSAY_OK;
}

static assay_status unreverse_words(const assay_problem *base, const assay_problem *derived,
                                    const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[CE_LOSS][0] = results->out.data[CE_LOSS][0];
    relate_copy(want->out.data[CE_LSE], results->out.data[CE_LSE], want->out.size[CE_LSE]);
    reverse_gradients(base, 1, results, want);
    return ASSAY_OK;
}

/* Multiples of 1/8 within 4 of 0: every dtype holds them with SHIFT added. */
enum { SHIFT = 8 };

static assay_status make_multiples(assay_problem *base) {
    for (int64_t e = 0; e < base->in.size[CE_LOGITS]; ++e) {
        double *x = &base->in.data[CE_LOGITS][e];
        *x = rint(8 * fmod(*x, 4)) / 8;
    }
    return ASSAY_OK;
}

static assay_status shift(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    for (int64_t e = 0; e < base->in.size[CE_LOGITS]; ++e)
        derived->in.data[CE_LOGITS][e] += SHIFT;
    return ASSAY_OK;
}

static assay_status unshift(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[CE_LOSS][0] = results->out.data[CE_LOSS][0];
    relate_copy(want->grad.data[CE_LOGITS], results->grad.data[CE_LOGITS],
                want->grad.size[CE_LOGITS]);
    if (base->sig.n_out > CE_GRADIENT)
        relate_copy(want->out.data[CE_GRADIENT], results->out.data[CE_GRADIENT],
                    want->out.size[CE_GRADIENT]);
    assay_arrays_drop(&want->out, CE_LSE);
    return ASSAY_OK;
}

static assay_status repeat_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[CE_KEY_T].value[0] *= 2;
    return ASSAY_OK;
}

static assay_status repeat(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t k = 0; k < base->in.count; ++k)
        for (int64_t part = 0; part < 2; ++part)
            relate_copy(derived->in.data[k] + part * base->in.size[k], base->in.data[k],
                        base->in.size[k]);
    derived->cot.data[CE_LOSS][0] = base->cot.data[CE_LOSS][0];
    return ASSAY_OK;
}

/* The sum of the halves of an array, which has twice the elements. */
static void add_halves(double *sum, const double *array, int64_t size) {
    for (int64_t e = 0; e < size; ++e)
        sum[e] = array[e] + array[size + e];
}

static assay_status unrepeat(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[CE_LOSS][0] = results->out.data[CE_LOSS][0];
    relate_copy(want->out.data[CE_LSE], results->out.data[CE_LSE] + want->out.size[CE_LSE],
                want->out.size[CE_LSE]);
    add_halves(want->grad.data[CE_LOGITS], results->grad.data[CE_LOGITS],
               want->grad.size[CE_LOGITS]);
    if (base->sig.n_out > CE_GRADIENT)
        add_halves(want->out.data[CE_GRADIENT], results->out.data[CE_GRADIENT],
                   want->out.size[CE_GRADIENT]);
    return ASSAY_OK;
}

enum { EXTRA_WORDS = 7 };
static const double no_chance = -0x1p15; /* exp makes 0 of it, beside the logits of any fill */

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[CE_KEY_V].value[0] += EXTRA_WORDS;
    return ASSAY_OK;
}

static assay_status widen(const assay_problem *base, int32_t i, assay_problem *derived) {
    for (int64_t e = 0; e < derived->in.size[CE_LOGITS]; ++e)
        derived->in.data[CE_LOGITS][e] = no_chance;
    return relate_embed(base, i, derived);
}

static bool has_gradient(const assay_case *c) {
    return c->params.item[CE_KEY_GRADIENT].value[0] == 1;
}

static assay_status set_dloss(assay_problem *base) {
    base->cot.data[CE_LOSS][0] = 1;
    return ASSAY_OK;
}

static assay_status same(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    return ASSAY_OK;
}

/* Each of the two predicts the other. */
static assay_status exchange(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy(want->grad.data[CE_LOGITS], results->out.data[CE_GRADIENT],
                want->grad.size[CE_LOGITS]);
    relate_copy(want->out.data[CE_GRADIENT], results->grad.data[CE_LOGITS],
                want->out.size[CE_GRADIENT]);
    assay_arrays_drop(&want->out, CE_LOSS);
    assay_arrays_drop(&want->out, CE_LSE);
    return ASSAY_OK;
}

const assay_relation ce_relations[CE_RELATIONS] = {
    {.name = "row_permutation",
     .why = "reversing the tokens reverses lse and the gradients; the loss stays",
     .n_derived = 1,
     .derive = reverse_tokens,
     .predict = unreverse_tokens},
    {.name = "word_permutation",
     .why = "reversing the vocabulary and its targets reverses the gradients; the rest stays",
     .n_derived = 1,
     .derive = reverse_words,
     .predict = unreverse_words},
    {.name = "shift",
     .why = "8 more in every logit changes neither loss nor gradients",
     .prepare = make_multiples,
     .n_derived = 1,
     .derive = shift,
     .predict = unshift},
    {.name = "repetition",
     .why = "the same tokens twice: the loss stays, gradients are the sums of the two halves'",
     .n_derived = 1,
     .derive_case = repeat_case,
     .derive = repeat,
     .predict = unrepeat},
    {.name = "padding",
     .why = "more words, of logits so low that their exps are 0, change nothing",
     .n_derived = 1,
     .derive_case = widen_case,
     .derive = widen,
     .predict = relate_crop},
    {.name = "dloss_of_one",
     .why = "dlogits at dloss = 1 is gradient",
     .applies = has_gradient,
     .prepare = set_dloss,
     .n_derived = 1,
     .derive = same,
     .predict = exchange},
};
