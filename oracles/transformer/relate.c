/*
 * Identities of `transformer`: orders that mean nothing (of sequences, of words, of heads, of the
 * dimensions between w1, w3 and w2), the same sequences twice, and causality. Those of orders and
 * of repetition hold for a training as well.
 */
#include "oracles/common/relate.h"
#include "oracles/transformer/transformer.h"

/* An array seen as (outer, n, inner), whose middle axis is to be reversed; n = 1: left alone. */
typedef struct axis {
    int64_t outer, n, inner;
} axis;

static void reverse(axis a, const double *from, double *to) {
    for (int64_t o = 0; o < a.outer; ++o)
        for (int64_t i = 0; i < a.n; ++i)
            relate_copy(to + (o * a.n + a.n - 1 - i) * a.inner, from + (o * a.n + i) * a.inner,
                        a.inner);
}

/* What one relation reverses: in each parameter, by its number; in the logits; in the words. */
typedef struct reversal {
    axis (*parameter)(const transformer_sizes *s, int32_t index, int64_t size);
    axis (*logits)(const transformer_sizes *s);
    bool sequences, vocabulary;
} reversal;

static axis alone(int64_t size) {
    return (axis){1, 1, size};
}

static axis whole_logits(const transformer_sizes *s) {
    return alone(s->tokens * s->vocab);
}

/* ---- from the base to the derived problem, and back ---- */

static void derive_words(const reversal *r, const assay_problem *base, int32_t which,
                         assay_problem *derived) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    const axis of_sequences = {s.batches, r->sequences ? s.b : 1, r->sequences ? s.t : s.tokens};
    double *words = derived->in.data[which];
    reverse(of_sequences, base->in.data[which], words);
    for (int64_t i = 0; r->vocabulary && i < derived->in.size[which]; ++i)
        words[i] = (double)(s.vocab - 1) - words[i];
}

static assay_status derive(const reversal *r, const assay_problem *base, assay_problem *derived) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    derive_words(r, base, TRANSFORMER_TOKENS, derived);
    derive_words(r, base, TRANSFORMER_TARGET, derived);
    for (int32_t i = 0; i < s.parameters; ++i) {
        const int32_t in = TRANSFORMER_FIRST + i;
        reverse(r->parameter(&s, i, base->in.size[in]), base->in.data[in], derived->in.data[in]);
    }
    if (s.steps == 0)
        derived->cot.data[TRANSFORMER_LOSS][0] = base->cot.data[TRANSFORMER_LOSS][0];
    return ASSAY_OK;
}

static void predict_training(const reversal *r, const transformer_sizes *s,
                             const assay_arrays *results, assay_arrays *want) {
    relate_copy(want->data[TRANSFORMER_LOSSES], results->data[TRANSFORMER_LOSSES], s->steps);
    for (int32_t i = 0; i < s->parameters; ++i) {
        const int32_t out = TRANSFORMER_FIRST_NEW + i;
        reverse(r->parameter(s, i, want->size[out]), results->data[out], want->data[out]);
    }
}

static assay_status predict(const reversal *r, const assay_problem *base,
                            const assay_results *results, assay_results *want) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    if (s.steps > 0) {
        predict_training(r, &s, &results->out, &want->out);
        return ASSAY_OK;
    }
    reverse(r->logits(&s), results->out.data[TRANSFORMER_LOGITS],
            want->out.data[TRANSFORMER_LOGITS]);
    want->out.data[TRANSFORMER_LOSS][0] = results->out.data[TRANSFORMER_LOSS][0];
    for (int32_t i = 0; i < s.parameters; ++i) {
        const int32_t in = TRANSFORMER_FIRST + i;
        reverse(r->parameter(&s, i, want->grad.size[in]), results->grad.data[in],
                want->grad.data[in]);
    }
    return ASSAY_OK;
}

/* ---- what is reversed ---- */

static axis no_parameter(const transformer_sizes *s, int32_t index, int64_t size) {
    (void)s;
    (void)index;
    return alone(size);
}

static axis logits_by_sequence(const transformer_sizes *s) {
    return (axis){1, s->b, s->t * s->vocab};
}

static axis words_of(const transformer_sizes *s, int32_t index, int64_t size) {
    const bool has_words = index == TRANSFORMER_EMBEDDING || index == transformer_head(s);
    return has_words ? (axis){1, s->vocab, s->d} : alone(size);
}

static axis logits_by_word(const transformer_sizes *s) {
    return (axis){s->tokens, s->vocab, 1};
}

/* Which of a layer's parameters it is; LAYER_PARAMETERS: none. */
static int32_t place_in_layer(const transformer_sizes *s, int32_t index) {
    if (index == TRANSFORMER_EMBEDDING || index >= transformer_ln_final(s))
        return LAYER_PARAMETERS;
    return (index - transformer_layer(0, 0)) % LAYER_PARAMETERS;
}

static axis heads_of(const transformer_sizes *s, int32_t index, int64_t size) {
    const int32_t place = place_in_layer(s, index);
    if (place == LAYER_Q || place == LAYER_K || place == LAYER_V)
        return (axis){1, s->heads, s->head_dim * s->d};
    return place == LAYER_OUTPUT ? (axis){s->d, s->heads, s->head_dim} : alone(size);
}

static axis hidden_of(const transformer_sizes *s, int32_t index, int64_t size) {
    const int32_t place = place_in_layer(s, index);
    if (place == LAYER_W1 || place == LAYER_W3)
        return (axis){1, s->ff, s->d};
    return place == LAYER_W2 ? (axis){s->d, s->ff, 1} : alone(size);
}

static const reversal of_sequences = {no_parameter, logits_by_sequence, true, false};
static const reversal of_vocabulary = {words_of, logits_by_word, false, true};
static const reversal of_heads = {heads_of, whole_logits, false, false};
static const reversal of_hidden = {hidden_of, whole_logits, false, false};

#define REVERSAL(what)                                                                             \
    static assay_status derive_##what(const assay_problem *base, int32_t i,                        \
                                      assay_problem *derived) {                                    \
        (void)i;                                                                                   \
        return derive(&of_##what, base, derived);                                                  \
    }                                                                                              \
    static assay_status predict_##what(const assay_problem *base, const assay_problem *derived,    \
                                       const assay_results *results, assay_results *want) {        \
        (void)derived;                                                                             \
        return predict(&of_##what, base, results, want);                                           \
    }

REVERSAL(sequences)
REVERSAL(vocabulary)
REVERSAL(heads)
REVERSAL(hidden)

static bool has_sequences(const assay_case *c) {
    return transformer_sizes_of(&c->params).b > 1;
}

static bool has_heads(const assay_case *c) {
    return transformer_sizes_of(&c->params).heads > 1;
}

/* ---- the same sequences twice ---- */

static assay_status repeat_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[TRANSFORMER_B].value[0] *= 2;
    return ASSAY_OK;
}

static assay_status repeat(const assay_problem *base, int32_t i, assay_problem *derived) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    (void)i;
    for (int32_t which = TRANSFORMER_TOKENS; which <= TRANSFORMER_TARGET; ++which)
        for (int64_t half = 0; half < 2 * s.batches; ++half)
            relate_copy(derived->in.data[which] + half * s.tokens,
                        base->in.data[which] + half / 2 * s.tokens, s.tokens);
    for (int32_t k = TRANSFORMER_FIRST; k < base->in.count; ++k)
        relate_copy(derived->in.data[k], base->in.data[k], base->in.size[k]);
    if (s.steps == 0)
        derived->cot.data[TRANSFORMER_LOSS][0] = base->cot.data[TRANSFORMER_LOSS][0];
    return ASSAY_OK;
}

/* All that the base has; the second half of the logits is left. */
static assay_status unrepeat(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t o = 0; o < want->out.count; ++o)
        relate_copy(want->out.data[o], results->out.data[o], want->out.size[o]);
    for (int32_t i = 0; i < want->grad.count; ++i)
        if (want->grad.data[i])
            relate_copy(want->grad.data[i], results->grad.data[i], want->grad.size[i]);
    return ASSAY_OK;
}

/* ---- causality: a token more changes nothing before it ---- */

static bool trains_not(const assay_case *c) {
    return transformer_sizes_of(&c->params).steps == 0;
}

static assay_status lengthen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    ++derived->params.item[TRANSFORMER_T].value[0];
    return ASSAY_OK;
}

static assay_status lengthen(const assay_problem *base, int32_t i, assay_problem *derived) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    (void)i;
    for (int32_t which = TRANSFORMER_TOKENS; which <= TRANSFORMER_TARGET; ++which)
        for (int64_t b = 0; b < s.b; ++b) {
            double *to = derived->in.data[which] + b * (s.t + 1);
            relate_copy(to, base->in.data[which] + b * s.t, s.t);
            to[s.t] = to[0];
        }
    for (int32_t k = TRANSFORMER_FIRST; k < base->in.count; ++k)
        relate_copy(derived->in.data[k], base->in.data[k], base->in.size[k]);
    derived->cot.data[TRANSFORMER_LOSS][0] = base->cot.data[TRANSFORMER_LOSS][0];
    return ASSAY_OK;
}

static assay_status shorten(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    const transformer_sizes s = transformer_sizes_of(&base->c.params);
    const double *logits = results->out.data[TRANSFORMER_LOGITS];
    (void)derived;
    for (int64_t b = 0; b < s.b; ++b)
        relate_copy(want->out.data[TRANSFORMER_LOGITS] + b * s.t * s.vocab,
                    logits + b * (s.t + 1) * s.vocab, s.t * s.vocab);
    assay_arrays_drop(&want->out, TRANSFORMER_LOSS);
    for (int32_t i = 0; i < want->grad.count; ++i)
        assay_arrays_drop(&want->grad, i);
    return ASSAY_OK;
}

const assay_relation transformer_relations[TRANSFORMER_RELATIONS] = {
    {.name = "sequence_permutation",
     .why = "reversing the sequences of each batch reverses the logits; all else stays",
     .n_derived = 1,
     .applies = has_sequences,
     .derive = derive_sequences,
     .predict = predict_sequences},
    {.name = "word_permutation",
     .why = "reversing the vocabulary in words, embedding and head reverses logits and gradients",
     .n_derived = 1,
     .derive = derive_vocabulary,
     .predict = predict_vocabulary},
    {.name = "head_permutation",
     .why = "reversing the heads, rows of q, k, v and columns of the output, changes nothing else",
     .n_derived = 1,
     .applies = has_heads,
     .derive = derive_heads,
     .predict = predict_heads},
    {.name = "hidden_permutation",
     .why = "reversing the rows of w1 and w3 and the columns of w2 changes nothing else",
     .n_derived = 1,
     .derive = derive_hidden,
     .predict = predict_hidden},
    {.name = "repetition",
     .why = "every sequence twice: loss, gradients and training stay",
     .n_derived = 1,
     .derive_case = repeat_case,
     .derive = repeat,
     .predict = unrepeat},
    {.name = "causality",
     .why = "a token more at the end changes no logit before it",
     .n_derived = 1,
     .applies = trains_not,
     .derive_case = lengthen_case,
     .derive = lengthen,
     .predict = shorten},
};
