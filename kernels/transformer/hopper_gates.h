/*
 * The feed-forward's products with swiglu inside, for v3_hopper. The bits are those of linear and
 * swiglu one after the other: each sum is rounded to bf16 first.
 *
 * Forward: one half of a tile has columns of a = x W1ᵀ, the other the same of b = x W3ᵀ, side by
 * side in a thread's registers, which puts y = silu(a) b beside them. a and b go to memory only
 * where a backward is to find them. Backward: a tile of dy = d W2 finds a and b in its boxes and
 * leaves da and db there; dy itself never is in memory.
 *
 * Bytes that each token and layer move less than in two steps: 4 ff forward, 8 ff where nothing is
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

static __device__ __forceinline__ __nv_bfloat162 gated_pair(__nv_bfloat162 a, __nv_bfloat162 b) {
    return __halves2bfloat162(gated_element(__low2bfloat16(a), __low2bfloat16(b)),
                              gated_element(__high2bfloat16(a), __high2bfloat16(b)));
}

/* ---- forward ---- */

template <typename Tile, bool KEEP> struct gates_job {
    typedef hopper_kind<true, true, false> kind;
    static constexpr int step = Tile::columns / 2;
    /* Of 64 columns y, and where they are kept a and b. */
    static constexpr int kept = KEEP ? 3 : 1, unit_boxes = kept, boxes = kept * step / BOX;
    static constexpr int in_stage = Tile::per_stage;
    static constexpr bool brings = false;
    hopper_problem<bf16> p;
    tensor_map x, weights, y, a, b;

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int, int32_t k,
                                         uint64_t *full) const {
        tensor_load(stage, &x, k, at.row, full);
        for (int which = 0; which < 2; ++which)
            tensor_load(stage + Tile::left_bytes + which * step * TENSOR_LINE_BYTES, &weights, k,
                        at.column, which, full);
    }
    __device__ __forceinline__ void bring(hopper_place, int, int, unsigned char *,
                                          uint64_t *) const {
    }
    __device__ __forceinline__ void store(hopper_place at, int i, int group,
                                          unsigned char *box) const {
        const int which = i % kept;
        const int32_t column = at.column + i / kept * BOX;
        if (column < p.n)
            tensor_store(which == 0 ? &y : which == 1 ? &a : &b, column, at.row + group * BOX, box);
    }

    __device__ __forceinline__ nothing_prepared prepare(hopper_place, int) const {
        return {};
    }
    __device__ __forceinline__ void finish(hopper_place, int group, const float *sums,
                                           nothing_prepared, hopper_ring<Tile> &ring) const {
#pragma unroll
        for (int i = 0; i < boxes; ++i) {
            const float *of_a = sums + i / kept * BOX / 2, *of_b = of_a + step / 2;
            if (i % in_stage == 0)
                open_results(ring);
            each_pair(ring.box(i % in_stage, group), [&](__nv_bfloat162 *pair, int, int, int s) {
                const __nv_bfloat162 va = __floats2bfloat162_rn(of_a[s], of_a[s + 1]);
                const __nv_bfloat162 vb = __floats2bfloat162_rn(of_b[s], of_b[s + 1]);
                *pair = i % kept == 0 ? gated_pair(va, vb) : i % kept == 1 ? va : vb;
            });
            if (i % in_stage == in_stage - 1 || i == boxes - 1)
                close_results(ring);
        }
    }
};

/* ---- backward ---- */

/* Box 2 i has a's 64 columns, then da's; box 2 i + 1 b's. */
template <typename Tile> struct gates_grad_job {
    typedef hopper_kind<true, false, false> kind;
    static constexpr int step = Tile::columns, in_stage = 2, unit_boxes = 2;
    static constexpr bool brings = true;
    hopper_problem<bf16> p;
    tensor_map d, weight, a, b, da, db;

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int, int32_t k,
                                         uint64_t *full) const {
        load_operand<true, ROWS>(&d, stage, at.row, k, ROWS, full);
        load_operand<false, BOX>(&weight, stage + Tile::left_bytes, at.column, k, step, full);
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

    __device__ __forceinline__ nothing_prepared prepare(hopper_place, int) const {
        return {};
    }
    __device__ __forceinline__ void finish(hopper_place, int group, const float *sums,
                                           nothing_prepared, hopper_ring<Tile> &ring) const {
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

struct gates_product {
    assay_tensor x, weights, gates, y;
    int64_t m, n; /* of a, of b and of y */
    copies_ahead *ahead;
};

template <typename Tile, bool KEEP>
static assay_status launch_gates(void *stream, const gates_product &of) {
    gates_job<Tile, KEEP> job = {};
    job.p = frame_problem(of.m, of.n, of.x.shape[1]);
    const assay_tensor a = columns_of(&of.gates, 0, of.n), b = columns_of(&of.gates, of.n, of.n);
    tensor_lines weights = frame_lines(&of.weights, job.step);
    weights.lines = of.n;
    weights.planes = 2;
    weights.plane_stride = of.n * of.weights.stride[0];
    tensor_map *const maps[] = {&job.x, &job.weights, &job.y, &job.a, &job.b};
    const tensor_lines lines[] = {frame_lines(&of.x, ROWS), weights, frame_lines(&of.y, BOX),
                                  frame_lines(&a, BOX), frame_lines(&b, BOX)};
    const assay_status status = make_frame_maps(KEEP ? 5 : 3, maps, lines);
    return status == ASSAY_OK ? launch_in_frame<Tile>(stream, job, of.ahead) : status;
}

template <bool KEEP> static assay_status multiply_gates(void *stream, const gates_product &x) {
    typedef frame_choice<gates_product> choice;
    const choice choices[] = {
        frame_choice_of<wide_tile::columns / 2>(x, WIDE_TIME, launch_gates<wide_tile, KEEP>),
        frame_choice_of<narrow_tile::columns / 2>(x, NARROW_TIME, launch_gates<narrow_tile, KEEP>)};
    return launch_fastest(stream, x, choices);
}

/* y = silu(a) ⊙ b of (a, b) = gates = x weightsᵀ, which are left in memory if `keep`. */
static assay_status gates_forward(void *stream, const assay_tensor &x, const assay_tensor &weights,
                                  const assay_tensor &gates, const assay_tensor &y, bool keep,
                                  copies_ahead *ahead) {
    const gates_product product = {x, weights, gates, y, y.shape[0], y.shape[1], ahead};
    return keep ? multiply_gates<true>(stream, product) : multiply_gates<false>(stream, product);
}

struct gates_grad_product {
    assay_tensor d, weight, gates, dgates;
    int64_t m, n;
};

template <typename Tile>
static assay_status launch_gates_grad(void *stream, const gates_grad_product &x) {
    gates_grad_job<Tile> job = {};
    job.p = frame_problem(x.m, x.n, x.d.shape[1]);
    const assay_tensor a = columns_of(&x.gates, 0, x.n), b = columns_of(&x.gates, x.n, x.n);
    const assay_tensor da = columns_of(&x.dgates, 0, x.n), db = columns_of(&x.dgates, x.n, x.n);
    tensor_map *const maps[] = {&job.d, &job.weight, &job.a, &job.b, &job.da, &job.db};
    const tensor_lines lines[] = {frame_lines(&x.d, ROWS), frame_lines(&x.weight, DEPTH),
                                  frame_lines(&a, BOX),    frame_lines(&b, BOX),
                                  frame_lines(&da, BOX),   frame_lines(&db, BOX)};
    const assay_status status = make_frame_maps(6, maps, lines);
    return status == ASSAY_OK ? launch_in_frame<Tile>(stream, job, NULL) : status;
}

/* The gates' gradients, from that of y weightᵀ. */
static assay_status gates_backward(void *stream, const assay_tensor &d, const assay_tensor &weight,
                                   const assay_tensor &gates, const assay_tensor &dgates) {
    typedef frame_choice<gates_grad_product> choice;
    const gates_grad_product product = {d, weight, gates, dgates, d.shape[0], weight.shape[1]};
    const choice choices[] = {
        frame_choice_of<middle_tile::columns>(product, MIDDLE_TIME, launch_gates_grad<middle_tile>),
        frame_choice_of<narrow_tile::columns>(product, NARROW_TIME,
                                              launch_gates_grad<narrow_tile>)};
    return launch_fastest(stream, product, choices);
}

#endif
