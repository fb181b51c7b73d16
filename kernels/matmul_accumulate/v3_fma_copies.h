/*
 * Copies of a team's next slice, a part at a time: between products they wait for nothing, whereas
 * all of a slice at once would fill the queue of loads and stores, and the products would wait.
 *
 * For slices that lie inside of their operands, whose lines in memory are along k or come in packs
 * of 16 bytes.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_FMA_COPIES_H
#define ASSAY_MATMUL_ACCUMULATE_V3_FMA_COPIES_H

#include "kernels/matmul_accumulate/v3_slice.h"

enum {
    K_ACROSS = 8, /* k of a line that neighbouring threads copy; with LINE_GAP, to all banks */
    LINE_GAP = 4, /* numbers behind each line of a slice */
};

/* Threads that lie side by side along a line, and below one another. */
template <typename Tile, int LINES, bool K_INNER> struct copy_shape;

template <typename Tile, int LINES> struct copy_shape<Tile, LINES, true> {
    static constexpr int groups = Tile::team_threads / K_ACROSS;
    static constexpr int line_step = LINES < groups ? LINES : groups;
    static constexpr int step = groups / line_step * K_ACROSS; /* of k */
    static constexpr int moves = LINES / line_step, copies = Tile::depth / step;
    static constexpr int advance = line_step; /* in shared memory, of a move */
    static_assert(LINES % line_step == 0 && groups % line_step == 0, "whole lines");
};

template <typename Tile, int LINES> struct copy_shape<Tile, LINES, false> {
    static constexpr int packs = LINES / 4;
    static constexpr int pack_step = packs < Tile::team_threads ? packs : Tile::team_threads;
    static constexpr int step = Tile::team_threads / pack_step; /* of k */
    static constexpr int moves = Tile::depth / step, copies = packs / pack_step;
    static constexpr int advance = step * (LINES + LINE_GAP);
    static_assert(packs % pack_step == 0 && Tile::team_threads % pack_step == 0, "whole lines");
};

/* A thread's copies of one operand's slice at (row, k): `moves` times `copies`, one of PARTS parts
 * at a time. */
template <typename Tile, int LINES, bool K_INNER> struct line_copies {
    typedef copy_shape<Tile, LINES, K_INNER> shape;
    static constexpr int parts = Tile::depth / Tile::unrolled, moves = shape::moves / parts;
    static constexpr bool whole = parts > 1 && shape::moves % parts == 0;

    const float *from;
    float *to;
    int64_t move;

    __device__ __forceinline__ line_copies(const operand<float> &x, int64_t row, int64_t k,
                                           float *slice) {
        const int thread = (int)threadIdx.x % Tile::team_threads;
        if constexpr (K_INNER) {
            const int group = thread / K_ACROSS, line = group % shape::line_step;
            const int own = thread % K_ACROSS + group / shape::line_step * K_ACROSS;
            from = x.data + (row + line) * x.stride + k + own;
            to = slice + own * (LINES + LINE_GAP) + line;
            move = shape::line_step * x.stride;
        } else {
            const int first = thread % shape::pack_step * 4, own = thread / shape::pack_step;
            from = x.data + (k + own) * x.stride + row + first;
            to = slice + own * (LINES + LINE_GAP) + first;
            move = shape::step * x.stride;
        }
    }

    __device__ __forceinline__ void start_part() {
#pragma unroll
        for (int i = 0; i < moves; ++i, from += move) {
#pragma unroll
            for (int c = 0; c < shape::copies; ++c)
                if constexpr (K_INNER)
                    cp_async_4(to + c * shape::step * (LINES + LINE_GAP), from + c * shape::step);
                else
                    cp_async_16(to + c * shape::pack_step * 4, from + c * shape::pack_step * 4);
            to += shape::advance;
        }
    }
};

/* Of both operands. */
template <typename Tile, bool LEFT_K, bool RIGHT_K> struct slice_copies {
    typedef line_copies<Tile, Tile::rows, LEFT_K> lefts;
    typedef line_copies<Tile, Tile::columns, RIGHT_K> rights;
    static constexpr bool parts = lefts::whole && rights::whole; /* whether there are such */

    lefts left;
    rights right;

    __device__ __forceinline__ slice_copies(const problem<float> &p, tile_place at, int64_t k,
                                            float *slice)
        : left(p.left, at.row, k, slice),
          right(p.right, at.column, k, slice + Tile::depth * Tile::left_stride) {
    }

    __device__ __forceinline__ void operator()() {
        left.start_part();
        right.start_part();
    }

    /* Whether all slices of k of the tile at `at` but the last, which may be cut, are such. */
    static __device__ __forceinline__ bool possible(const problem<float> &p, tile_place at) {
        return parts && at.row + Tile::rows <= p.m && at.column + Tile::columns <= p.n &&
               (LEFT_K || (p.left.packs && p.m % 4 == 0)) &&
               (RIGHT_K || (p.right.packs && p.n % 4 == 0));
    }
};

struct no_copies {
    __device__ __forceinline__ void operator()() const {
    }
};

#endif
