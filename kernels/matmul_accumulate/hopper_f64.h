/*
 * A product in fp64 on Hopper: which tiles of hopper_f64_tile.h, or v3's, with the same
 * instruction. v3_hopper.cu tells how; the operator linear uses it as well.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_F64_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_F64_H

#include "kernels/matmul_accumulate/hopper_f64_tile.h"
#include "kernels/matmul_accumulate/v3_multiply.h"

/* A warp's part is 64 x 32, 16 x 112 or 32 x 32: for each multiply-add it asks shared memory for
 * 0.37, 0.57 or 0.5 bytes, which has one byte for each of the tensor cores' 128 a cycle. */
typedef f64_tile<128, 2, 6> f64_wide_tile;
typedef f64_tile<112, 8, 7> f64_narrow_tile;
typedef f64_tile<64, 4, 8> f64_thin_tile;

/* The core of v3's tiles (v3_core.h). Sums are chains of fused multiply-adds, as f64_core's are. */
template <typename Tile> struct f64_tall_core : m16n8_sums<Tile, double> {
    using m16n8_sums<Tile, double>::ROWS;
    using m16n8_sums<Tile, double>::COLUMNS;
    using m16n8_sums<Tile, double>::sum;
    typedef double storage;
    enum { BLOCKS = 1 };

    template <typename Left, typename Right>
    __device__ __forceinline__ void add(const double *a, int row, const double *b, int column) {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int k = 0; k < Left::depth; k += 4) {
            double x[ROWS][2], y[COLUMNS][1];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    x[i][e] = a[Left::at(row + 16 * i + g + 8 * e, k + t)];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j)
                y[j][0] = b[Right::at(column + 8 * j + g, k + t)];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    mma_m16n8k4_f64(sum[i][j], x[i], y[j]);
        }
    }
};

static hopper_operands f64_operands_of(const product<double> &x) {
    return {lines_of(x.left, x.m, x.k), lines_of(x.right, x.k, x.n), !x.left.transposed,
            x.right.transposed};
}

/* Where even the smallest tiles are too few for the multiprocessors, v3's small ones give all of
 * those something to do. */
static bool f64_fits(const product<double> &x) {
    constexpr int64_t most = MOST_EXTENT / F64_WORDS;
    const int64_t enough = ASSAY_MULTIPROCESSORS - ASSAY_MULTIPROCESSORS / 16;
    return x.k > 0 && x.m <= most && x.n <= most && x.k <= most &&
           hopper_tiles<f64_thin_tile::columns>(x.m, x.n) >= enough;
}

static bool f64_in_pairs(const void *data, int64_t stride) {
    return (uintptr_t)data % 16 == 0 && stride % 2 == 0;
}

template <typename Tile, typename Kind>
static assay_status launch_f64_kind(void *stream, const f64_problem &p, const f64_maps &maps) {
    const int64_t blocks = clamp(hopper_tiles<Tile::columns>(p.m, p.n), 0, ASSAY_MULTIPROCESSORS);
    return ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), Tile::shared_bytes,
                        (multiply_f64_on_hopper<Tile, Kind>), p, maps);
}

template <typename Tile, bool MAY_ADD>
static assay_status launch_f64(void *stream, const product<double> &x, hopper_operands of) {
    tensor_lines added = lines_of(x.added, x.m, x.n);
    const bool fetches = MAY_ADD && x.added.data && can_be_mapped(added);
    const f64_problem p = {x.added,
                           x.out,
                           x.m,
                           x.n,
                           (int32_t)ceil_div(x.k, F64_DEPTH),
                           (double)x.times,
                           x.added.data != NULL,
                           f64_in_pairs(x.out.data, x.out.stride) &&
                               f64_in_pairs(x.added.data, x.added.stride),
                           fetches};
    f64_maps maps = {};
    of.left.box_lines = of.left_k ? ROWS : F64_DEPTH;
    of.right.box_lines = of.right_k ? Tile::columns : F64_DEPTH;
    added.box_lines = ROWS;
    assay_status status = make_tensor_map(&maps.left, &of.left);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps.right, &of.right);
    if (status == ASSAY_OK && fetches)
        status = make_tensor_map(&maps.added, &added);
    if (status != ASSAY_OK)
        return status;
    if (of.left_k)
        return of.right_k
                   ? launch_f64_kind<Tile, hopper_kind<true, true, MAY_ADD>>(stream, p, maps)
                   : launch_f64_kind<Tile, hopper_kind<true, false, MAY_ADD>>(stream, p, maps);
    return of.right_k ? launch_f64_kind<Tile, hopper_kind<false, true, MAY_ADD>>(stream, p, maps)
                      : launch_f64_kind<Tile, hopper_kind<false, false, MAY_ADD>>(stream, p, maps);
}

/* Until all multiprocessors are done, in columns of a tile, each of which takes as long. */
template <typename Tile> static int64_t f64_time(const product<double> &x) {
    return ceil_div(hopper_tiles<Tile::columns>(x.m, x.n), ASSAY_MULTIPROCESSORS) * Tile::columns;
}

template <bool MAY_ADD>
static assay_status launch_fastest(void *stream, const product<double> &x,
                                   const hopper_operands &of) {
    const int64_t wide = f64_time<f64_wide_tile>(x), narrow = f64_time<f64_narrow_tile>(x),
                  thin = f64_time<f64_thin_tile>(x);
    if (wide <= narrow && wide <= thin)
        return launch_f64<f64_wide_tile, MAY_ADD>(stream, x, of);
    return narrow <= thin ? launch_f64<f64_narrow_tile, MAY_ADD>(stream, x, of)
                          : launch_f64<f64_thin_tile, MAY_ADD>(stream, x, of);
}

template <bool MAY_ADD>
static assay_status f64_multiply(const assay_call *call, const product<double> &asked) {
    const product<double> x = with_rows(asked);
    hopper_operands of = f64_operands_of(x);
    if (!f64_fits(x))
        return multiply<f64_tall_core, double>(call, asked);
    size_t used = 0;
    assay_status status = pack_operand(call, &of.left, &used);
    if (status == ASSAY_OK)
        status = pack_operand(call, &of.right, &used);
    if (status != ASSAY_OK)
        return status;
    if (!can_be_mapped(of.left) || !can_be_mapped(of.right))
        return multiply<f64_tall_core, double>(call, asked);
    return launch_fastest<MAY_ADD>(call->stream, x, of);
}

/* Bytes for copies of its operands. */
static inline size_t hopper_workspace(const product<double> &asked) {
    const product<double> x = with_rows(asked);
    const hopper_operands of = f64_operands_of(x);
    return f64_fits(x) ? copy_bytes(of.left) + copy_bytes(of.right) : 0;
}

#endif
