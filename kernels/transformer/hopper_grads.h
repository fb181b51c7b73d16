/*
 * The gradient of a weight in fp32 where it is wanted, for v3_hopper: dW = dYᵀ X, each sum rounded
 * to bf16, as linear leaves it, and stored widened. The bits are those of linear and of a copy.
 *
 * Bytes less than with a copy: 4 a parameter.
 */
#ifndef ASSAY_TRANSFORMER_HOPPER_GRADS_H
#define ASSAY_TRANSFORMER_HOPPER_GRADS_H

#include "kernels/transformer/hopper_heads.h"

enum { WIDE_BOX = BOX / 2 /* columns of fp32 in a box */ };

/* The result's rows are those of several tensors, of `rows` each. */
template <typename Tile> struct grad_job {
    typedef dw_kind kind;
    static constexpr int step = Tile::columns, unit_boxes = 2, in_stage = Tile::per_stage;
    static constexpr bool brings = false;
    hopper_problem<bf16> p;
    placed_map left, right;
    tensor_map out[MOST_PARTS];
    int32_t rows;

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int units,
                                         int32_t k, uint64_t *full) const {
        load_placed<false, BOX>(left, stage, at.row, k, ROWS, full);
        load_placed<false, BOX>(right, stage + Tile::left_bytes, at.column, k, units * UNIT, full);
    }
    __device__ __forceinline__ void bring(hopper_place, int, int, unsigned char *,
                                          uint64_t *) const {
    }
    /* Maps count elements of 16 bits. */
    __device__ __forceinline__ void store(hopper_place at, int i, int group,
                                          unsigned char *box) const {
        const int32_t row = at.row + group * BOX, column = at.column + i * WIDE_BOX;
        if (row < p.m && column < p.n)
            tensor_store(&out[row / rows], 2 * column, row % rows, box);
    }

    /* This thread's pairs of 32 columns, `sums` their numbers as each_pair() counts. */
    static __device__ __forceinline__ void widen_pairs(unsigned char *box, const float *sums) {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = 16 * warp + lane / 4 + 8 * half;
#pragma unroll
            for (int j = 0; j < WIDE_BOX / 8; ++j) {
                const float *from = sums + 4 * j + 2 * half;
                *reinterpret_cast<float_pair *>(
                    box + row * TENSOR_LINE_BYTES + ((2 * j + lane % 4 / 2) ^ row % 8) * 16 +
                    lane % 2 * 8) = {widen(narrow<bf16>(from[0])), widen(narrow<bf16>(from[1]))};
            }
        }
    }
    __device__ __forceinline__ nothing_prepared prepare(hopper_place, int) const {
        return {};
    }
    template <int SUMS>
    __device__ __forceinline__ void finish(hopper_place, int group, const float (&sums)[SUMS],
                                           nothing_prepared, hopper_ring<Tile> &ring) const {
        constexpr int boxes = 2 * SUMS / WIDE_BOX;
#pragma unroll
        for (int i = 0; i < boxes; ++i) {
            if (i % in_stage == 0)
                open_results(ring);
            widen_pairs(ring.box(i % in_stage, group), sums + i * WIDE_BOX / 2);
            if (i % in_stage == in_stage - 1 || i == boxes - 1)
                close_results(ring);
        }
    }
};

struct grad_product {
    placed_tensor dy, x;
    const grad_parts *to;
    int64_t m, n, tokens;
};

/* Of fp32, as elements of 16 bits. */
static inline tensor_lines wide_lines(const assay_tensor &t) {
    return {t.data, 2 * t.shape[1], t.shape[0], 2 * t.stride[0], BOX};
}

template <typename Tile> static assay_status launch_grad(void *stream, const grad_product &x) {
    grad_job<Tile> job = {};
    job.p = frame_problem(x.m, x.n, x.tokens);
    job.rows = (int32_t)x.to->part[0].shape[0];
    assay_status status = make_placed_map(x.dy, DEPTH, &job.left);
    if (status == ASSAY_OK)
        status = make_placed_map(x.x, DEPTH, &job.right);
    for (int i = 0; status == ASSAY_OK && i < x.to->count; ++i) {
        const tensor_lines lines = wide_lines(x.to->part[i]);
        status = make_tensor_map(&job.out[i], &lines);
    }
    return status == ASSAY_OK ? launch_in_frame<Tile>(stream, job, NULL) : status;
}

/* Each part of as many rows, which a box of 64 lies in one of; all in whole pieces of 16 bytes. */
static bool grad_fits(const assay_tensor &dy, const assay_tensor &x, const grad_parts &to,
                      int64_t tokens) {
    const int64_t n = to.part[0].shape[1], rows = to.part[0].shape[0];
    if (!frame_takes(to.count * rows, 4 * n, tokens) || (to.count > 1 && rows % BOX != 0))
        return false;
    for (int i = 0; i < to.count; ++i)
        if (to.part[i].dtype != ASSAY_F32 || !can_be_stored(wide_lines(to.part[i])))
            return false;
    return (dy.rank == 4 || can_be_mapped(frame_lines(&dy, DEPTH))) &&
           (x.rank == 4 || can_be_mapped(frame_lines(&x, DEPTH)));
}

static assay_status grad_of_weight(void *stream, const assay_tensor &dy, const assay_tensor &x,
                                   const grad_parts &to, int64_t tokens) {
    const grad_product product = {placed(dy, tokens),
                                  placed(x, tokens),
                                  &to,
                                  to.count * to.part[0].shape[0],
                                  to.part[0].shape[1],
                                  tokens};
    const frame_choice<grad_product> choices[] = {
        frame_choice_of<wide_tile::columns>(product, WIDE_TIME, launch_grad<wide_tile>),
        {time_of_shares(product.m, product.n, MIXED_TIMES), launch_grad<mixed_tile>},
        frame_choice_of<middle_tile::columns>(product, MIDDLE_TIME, launch_grad<middle_tile>),
        frame_choice_of<narrow_tile::columns>(product, NARROW_TIME, launch_grad<narrow_tile>),
        frame_choice_of<thin_tile::columns>(product, THIN_TIME, launch_grad<thin_tile>)};
    return launch_fastest(stream, product, choices);
}

#endif
