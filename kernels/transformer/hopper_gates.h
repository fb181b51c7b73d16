/*
 * The feed-forward's products with swiglu inside, for v3_hopper. The bits are those of linear and
 * swiglu one after the other: each sum is rounded to bf16 first.
 *
 * Forward: a tile has 128 columns of a = x W1ᵀ and the same 128 of b = x W3ᵀ, side by side in a
 * thread's registers, which puts y = silu(a) b beside them. a and b go to memory only where a
 * backward is to find them. Backward: a tile of dy = d W2 finds a and b in its boxes and leaves da
 * and db there; dy itself never is in memory.
 *
 * Bytes that a layer's tokens move less than in two steps: 4 ff forward, 8 ff where nothing is
 * kept, and 4 ff backward.
 */
#ifndef ASSAY_TRANSFORMER_HOPPER_GATES_H
#define ASSAY_TRANSFORMER_HOPPER_GATES_H

#include "kernels/swiglu/element.h"
#include "kernels/transformer/hopper_frame.h"
#include "kernels/transformer/tensors.h"

static __device__ __forceinline__ bf16 gated_element(bf16 a, bf16 b) {
    const float wide = widen(a);
    return narrow<bf16>(gated(wide, sigma_in<bf16>(wide), widen(b)));
}

/* ---- forward ---- */

template <bool KEEP> struct gates_job {
    typedef wide_tile tile;
    typedef hopper_kind<true, true, false> kind;
    static constexpr int step = tile::columns / 2;
    /* y, and where they are kept a and b, of 64 columns. */
    static constexpr int in_stage = KEEP ? 3 : 2, boxes = (KEEP ? 3 : 1) * step / BOX;
    static constexpr bool brings = false;
    hopper_problem p;
    tensor_map x, weights, y, a, b;

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int32_t k,
                                         uint64_t *full) const {
        tensor_load(stage, &x, k, at.row, full);
        for (int which = 0; which < 2; ++which)
            tensor_load(stage + tile::left_bytes + which * step * TENSOR_LINE_BYTES, &weights, k,
                        at.column, which, full);
    }
    __device__ __forceinline__ void bring(hopper_place, int, int, unsigned char *,
                                          uint64_t *) const {
    }
    __device__ __forceinline__ void store(hopper_place at, int i, int group,
                                          unsigned char *box) const {
        const int which = KEEP ? i % 3 : 0, turn = KEEP ? i / 3 : i;
        const int32_t column = at.column + turn * BOX;
        if (column < p.n)
            tensor_store(which == 0 ? &y : which == 1 ? &a : &b, column, at.row + group * BOX, box);
    }

    __device__ __forceinline__ void finish(hopper_place, int group, const float *sums,
                                           hopper_ring<tile> &ring) const {
#pragma unroll
        for (int turn = 0; turn < step / BOX; ++turn) {
            const float *of_a = sums + turn * BOX / 2, *of_b = of_a + step / 2;
            const int first = KEEP ? 0 : turn;
            if (KEEP || turn == 0)
                open_results(ring);
            unsigned char *box = ring.box(first, group);
            each_pair(box, [&](__nv_bfloat162 *pair, int, int, int i) {
                const __nv_bfloat162 va = __floats2bfloat162_rn(of_a[i], of_a[i + 1]);
                const __nv_bfloat162 vb = __floats2bfloat162_rn(of_b[i], of_b[i + 1]);
                *pair = __halves2bfloat162(
                    gated_element(__low2bfloat16(va), __low2bfloat16(vb)),
                    gated_element(__high2bfloat16(va), __high2bfloat16(vb)));
                if (KEEP) {
                    *beside(pair, 1) = va;
                    *beside(pair, 2) = vb;
                }
            });
            if (KEEP || turn == step / BOX - 1)
                close_results(ring);
        }
    }

    /* The same place in a later box of the stage: two warpgroups' boxes lie side by side. */
    static __device__ __forceinline__ __nv_bfloat162 *beside(__nv_bfloat162 *pair, int boxes) {
        return pair + boxes * (2 * BOX_BYTES / (int)sizeof *pair);
    }
};

/* ---- backward ---- */

/* Box 2 i has a's 64 columns, then da's; box 2 i + 1 b's. */
struct gates_grad_job {
    typedef middle_tile tile;
    typedef hopper_kind<true, false, false> kind;
    static constexpr int step = tile::columns, in_stage = 2, boxes = 2 * step / BOX;
    static constexpr bool brings = true;
    hopper_problem p;
    tensor_map d, weight, a, b, da, db;

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int32_t k,
                                         uint64_t *full) const {
        load_operand<true, ROWS>(&d, stage, at.row, k, full);
        load_operand<false, step>(&weight, stage + tile::left_bytes, at.column, k, full);
    }
    __device__ __forceinline__ void bring(hopper_place at, int i, int group, unsigned char *box,
                                          uint64_t *full) const {
        tensor_load(box, i % 2 == 0 ? &a : &b, at.column + i / 2 * BOX, at.row + group * BOX, full);
    }
    __device__ __forceinline__ void store(hopper_place at, int i, int group,
                                          unsigned char *box) const {
        const int32_t column = at.column + i / 2 * BOX;
        if (column < p.n)
            tensor_store(i % 2 == 0 ? &da : &db, column, at.row + group * BOX, box);
    }

    static __device__ __forceinline__ void grads(float sum, bf16 *a, bf16 *b) {
        const float dy = widen(narrow<bf16>(sum)), wide = widen(*a);
        const float sigma = sigma_in<bf16>(wide);
        const float of_a = grad_gate(wide, sigma, widen(*b), dy);
        *b = narrow<bf16>(gated(wide, sigma, dy));
        *a = narrow<bf16>(of_a);
    }

    __device__ __forceinline__ void finish(hopper_place, int group, const float *sums,
                                           hopper_ring<tile> &ring) const {
#pragma unroll
        for (int turn = 0; turn < step / BOX; ++turn) {
            open_results(ring);
            each_pair(ring.box(0, group), [&](__nv_bfloat162 *pair, int, int, int i) {
                __nv_bfloat162 *other = pair + 2 * BOX_BYTES / (int)sizeof *pair;
                bf16 a[] = {__low2bfloat16(*pair), __high2bfloat16(*pair)};
                bf16 b[] = {__low2bfloat16(*other), __high2bfloat16(*other)};
                grads(sums[turn * BOX / 2 + i], &a[0], &b[0]);
                grads(sums[turn * BOX / 2 + i + 1], &a[1], &b[1]);
                *pair = __halves2bfloat162(a[0], a[1]);
                *other = __halves2bfloat162(b[0], b[1]);
            });
            close_results(ring);
        }
    }
};

/* ---- calls ---- */

template <bool KEEP>
static assay_status launch_gates(void *stream, const assay_tensor &x, const assay_tensor &weights,
                                 const assay_tensor &gates, const assay_tensor &y) {
    const int64_t ff = y.shape[1];
    gates_job<KEEP> job = {};
    job.p = frame_problem(x.shape[0], ff, x.shape[1]);
    const assay_tensor a = columns_of(&gates, 0, ff), b = columns_of(&gates, ff, ff);
    tensor_lines of_weights = frame_lines(&weights, gates_job<KEEP>::step);
    of_weights.lines = ff;
    of_weights.planes = 2;
    of_weights.plane_stride = ff * weights.stride[0];
    tensor_map *const maps[] = {&job.x, &job.weights, &job.y, &job.a, &job.b};
    const tensor_lines lines[] = {frame_lines(&x, ROWS), of_weights, frame_lines(&y, BOX),
                                  frame_lines(&a, BOX), frame_lines(&b, BOX)};
    const assay_status status = make_frame_maps(KEEP ? 5 : 3, maps, lines);
    if (status != ASSAY_OK)
        return status;
    return launch_in_frame<typename gates_job<KEEP>::tile>(stream, job);
}

/* y = silu(a) ⊙ b of (a, b) = gates = x weightsᵀ, which are left in memory if `keep`. */
static assay_status gates_forward(void *stream, const assay_tensor &x, const assay_tensor &weights,
                                  const assay_tensor &gates, const assay_tensor &y, bool keep) {
    return keep ? launch_gates<true>(stream, x, weights, gates, y)
                : launch_gates<false>(stream, x, weights, gates, y);
}

/* The gates' gradients, from that of y weightᵀ. */
static assay_status gates_backward(void *stream, const assay_tensor &d, const assay_tensor &weight,
                                   const assay_tensor &gates, const assay_tensor &dgates) {
    const int64_t ff = weight.shape[1];
    gates_grad_job job = {};
    job.p = frame_problem(d.shape[0], ff, d.shape[1]);
    const assay_tensor a = columns_of(&gates, 0, ff), b = columns_of(&gates, ff, ff);
    const assay_tensor da = columns_of(&dgates, 0, ff), db = columns_of(&dgates, ff, ff);
    tensor_map *const maps[] = {&job.d, &job.weight, &job.a, &job.b, &job.da, &job.db};
    const tensor_lines lines[] = {frame_lines(&d, ROWS), frame_lines(&weight, DEPTH),
                                  frame_lines(&a, BOX),  frame_lines(&b, BOX),
                                  frame_lines(&da, BOX), frame_lines(&db, BOX)};
    const assay_status status = make_frame_maps(6, maps, lines);
    return status != ASSAY_OK ? status
                              : launch_in_frame<gates_grad_job::tile>(stream, job);
}

#endif
