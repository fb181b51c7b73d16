/*
 * Steps of the model that a composition may do inside of products, with the bits of the parts one
 * after the other. Tensors are matrices of rows or, of rank 4, by heads, (b, heads, t, head_dim).
 */
#ifndef ASSAY_TRANSFORMER_FUSIONS_H
#define ASSAY_TRANSFORMER_FUSIONS_H

#include "kernels/common/numeric.h"

/* The tensors that a gradient goes to: parts of its rows, each of as many. */
enum { MOST_PARTS = 3 };

typedef struct grad_parts {
    assay_tensor part[MOST_PARTS];
    int64_t count;
} grad_parts;

/*
 * Parameters that a product rounds to bf16 for products to come, while memory has little else to
 * do: `count` dense tensors of whole packs, in pieces. A launch copies those from `first` on,
 * before `last`: by idle warps, or, if `spare`, by blocks that have no tile left, and then as many
 * as they have time for, which it writes to `last`.
 */
enum { MOST_AHEAD = 9, AHEAD_PIECE = 1024, SPARE_PIECE = 4096 /* elements */ };

typedef struct copies_ahead {
    const float *from[MOST_AHEAD];
    __nv_bfloat16 *to[MOST_AHEAD];
    int64_t elements[MOST_AHEAD], end[MOST_AHEAD]; /* end: pieces up to and with this tensor's */
    int64_t first, last;
    int32_t count;
    bool spare;
} copies_ahead;

static constexpr copies_ahead none_ahead = {};

typedef struct fusions {
    /* y = table[ids], rounded to bf16. */
    assay_status (*embed)(void *stream, const assay_tensor &ids, const assay_tensor &table,
                          const assay_tensor &y);

    /* Whether a weight (n, k), or both gates' (2 n, k), is taken; whether heads are. */
    bool (*rows_fit)(int64_t tokens, int64_t n, int64_t k);
    bool (*heads_fit)(int64_t tokens, int64_t t, int64_t d, int64_t head_dim);

    /* y = silu(a) ⊙ b of gates = (a, b) = x weightsᵀ, which are left in memory if `keep`. */
    assay_status (*gates_forward)(void *stream, const assay_tensor &x, const assay_tensor &weights,
                                  const assay_tensor &gates, const assay_tensor &y, bool keep,
                                  copies_ahead *ahead);
    /* The gates' gradients, from d, that of y weightᵀ. */
    assay_status (*gates_backward)(void *stream, const assay_tensor &d, const assay_tensor &weight,
                                   const assay_tensor &gates, const assay_tensor &dgates);

    /* y = x weightᵀ, of which the first `turned` columns are turned by the angles (heads.h). */
    assay_status (*forward)(void *stream, const assay_tensor &x, const assay_tensor &weight,
                            const assay_tensor &y, int64_t tokens, const float *angles,
                            int64_t turned, copies_ahead *ahead);
    assay_status (*dx)(void *stream, const assay_tensor &dy, const assay_tensor &weight,
                       const assay_tensor &dx, int64_t tokens);

    /* dweight = dyᵀ x, widened, to fp32. */
    bool (*grad_fits)(const assay_tensor &dy, const assay_tensor &x, const grad_parts &to,
                      int64_t tokens);
    assay_status (*grad)(void *stream, const assay_tensor &dy, const assay_tensor &x,
                         const grad_parts &to, int64_t tokens);
    /* dweight in bf16. */
    assay_status (*dw)(void *stream, const assay_tensor &dy, const assay_tensor &x,
                       const assay_tensor &dweight, int64_t tokens);
} fusions;

#endif
