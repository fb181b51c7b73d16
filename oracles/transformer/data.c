/*
 * The data of `transformer`: norm weights about 1, other weights of both signs; embeddings of which
 * some are so small that the first norm's eps counts; and words that are words. With a vocabulary
 * of bytes and normal data the tokens are windows of a text, this project's documentation of one
 * day, which the build puts into the program, and the target of a token is the byte behind it.
 */
#include "oracles/transformer/transformer.h"

#include <math.h>

/* transformer_text.txt; written by CMake. */
extern const unsigned char transformer_text[];
extern const long long transformer_text_size;

enum { BYTES = 256 };

static void make_words(assay_problem *p, const transformer_sizes *s) {
    const uint64_t stream = assay_rng_stream("transformer windows");
    const uint64_t size = (uint64_t)transformer_text_size;
    for (int64_t sequence = 0; sequence < s->batches * s->b; ++sequence) {
        const uint64_t start = assay_rng_bits(p->c.seed, stream, (uint64_t)sequence) % size;
        for (int64_t i = 0; i < s->t; ++i) {
            const uint64_t at = start + (uint64_t)i;
            const int64_t e = sequence * s->t + i;
            p->in.data[TRANSFORMER_TOKENS][e] = transformer_text[at % size];
            p->in.data[TRANSFORMER_TARGET][e] = transformer_text[(at + 1) % size];
        }
    }
}

/*
 * Embeddings that norms feel. Every fourth word, e and some vowels among them, gets a mean square
 * near 2^-12, so that eps is 4 % of it. Not in the smallest models: what few dimensions give is
 * near 0 by chance, where a norm is so steep that differences do not show its gradient, and is
 * moved away.
 */
static void set_sizes(assay_problem *p, const transformer_sizes *s) {
    enum { EVERY = 4, CHOSEN = 'e' % EVERY, ENOUGH = 16 };
    double *embedding = p->in.data[TRANSFORMER_FIRST + TRANSFORMER_EMBEDDING];
    for (int64_t e = 0; e < s->vocab * s->d; ++e) {
        if (s->d < ENOUGH)
            embedding[e] += copysign(1, embedding[e]);
        else if (e / s->d % EVERY == CHOSEN)
            embedding[e] *= 0x1p-6;
    }
}

/* Positive weights would make one direction of all activations, and softmaxes of one word. */
static void give_signs(const assay_problem *p, int32_t in) {
    const uint64_t stream = assay_rng_stream("transformer signs") + (uint64_t)in;
    for (int64_t e = 0; e < p->in.size[in]; ++e)
        if ((assay_rng_bits(p->c.seed, stream, (uint64_t)e) & 1) != 0)
            p->in.data[in][e] = -p->in.data[in][e];
}

assay_status transformer_data(assay_problem *p) {
    const transformer_sizes s = transformer_sizes_of(&p->c.params);
    if (s.vocab >= BYTES && p->c.fill == ASSAY_FILL_NORMAL)
        make_words(p, &s);
    for (int32_t i = TRANSFORMER_FIRST; i < p->sig.n_in; ++i) {
        for (int64_t e = 0; p->sig.in[i].rank == 1 && e < p->in.size[i]; ++e)
            p->in.data[i][e] += 1;
        if (p->sig.in[i].rank == 2 && p->c.fill == ASSAY_FILL_POSITIVE)
            give_signs(p, i);
    }
    set_sizes(p, &s);
    return ASSAY_OK;
}
