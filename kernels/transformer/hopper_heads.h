/*
 * Products whose operands or results lie by heads, (b, heads, t, 64), where the model else has
 * rows, (b, t, heads, 64), for v3_hopper: a box of 64 columns is a head's, so that only where a
 * box begins differs, and no kernel changes the layout. q and k are turned before they leave. The
 * bits are those of linear and of heads.h one after the other: each sum is rounded to bf16 first.
 *
 * Bytes that each token and layer move less than with split_heads() and merge_heads(): 16 d forward
 * and 8 d backward.
 */
#ifndef ASSAY_TRANSFORMER_HOPPER_HEADS_H
#define ASSAY_TRANSFORMER_HOPPER_HEADS_H

#include "kernels/rope/turn.h"
#include "kernels/transformer/fusions.h"
#include "kernels/transformer/hopper_frame.h"
#include "kernels/transformer/tensors.h"

enum { HEAD = BOX /* columns */ };

/* n / d for n from 0 to 2^31 - 1, by a product: a division takes a hundred cycles, and a thread
 * that fills a ring would be late. With s = ⌈log2 d⌉ and m = ⌊2^32 (2^s - d) / d⌋ + 1, n / d is
 * ⌊(⌊m n / 2^32⌋ + n) / 2^s⌋ (Granlund and Montgomery). */
struct quick_divisor {
    uint32_t d, m, s;
};

static inline quick_divisor quick_divisor_of(int64_t d) {
    quick_divisor q = {(uint32_t)d, 0, 0};
    while ((int64_t)1 << q.s < d)
        ++q.s;
    q.m = (uint32_t)((((uint64_t)1 << q.s) - (uint64_t)d) * ((uint64_t)1 << 32) / (uint64_t)d + 1);
    return q;
}

static __device__ __forceinline__ int32_t divide(int32_t n, const quick_divisor &by) {
    const uint64_t high = (uint64_t)by.m * (uint32_t)n >> 32;
    return (int32_t)((high + (uint32_t)n) >> by.s);
}

/* A matrix (tokens, columns) in memory. With heads, those of up to three tensors follow each other.
 */
struct placed_map {
    tensor_map map;
    int32_t heads, b; /* heads 0: rows */
    quick_divisor t;
};

/* Where the box at (line, column) begins there. */
struct placed_box {
    int32_t column, line;
};

static __device__ __forceinline__ placed_box place_box(const placed_map &x, int32_t line,
                                                       int32_t column) {
    if (x.heads == 0)
        return {column, line};
    const int32_t t = (int32_t)x.t.d, batch = divide(line, x.t), all = column / HEAD;
    const int32_t which = (all >= x.heads) + (all >= 2 * x.heads) + (all >= 3 * x.heads);
    const int32_t before = (which * x.b + batch) * x.heads + all - which * x.heads;
    return {0, before * t + line - batch * t};
}

/* load_operand() of what is placed. */
template <bool K_INNER, int BOX_LINES>
static __device__ __forceinline__ void load_placed(const placed_map &x, unsigned char *to,
                                                   int32_t line, int32_t k, int lines,
                                                   uint64_t *full) {
    for (int i = 0; i < lines; i += K_INNER ? BOX_LINES : BOX) {
        const placed_box at = K_INNER ? place_box(x, line + i, k) : place_box(x, k, line + i);
        tensor_load(to + i * TENSOR_LINE_BYTES, &x.map, at.column, at.line, full);
    }
}

struct alignas(8) float_pair {
    float first, second;
};

/* Cosines and sines of a thread's pairs in the boxes of one tile, whose rows are the same in all.
 */
struct box_angles {
    float_pair of[BOX / 2]; /* every second one, as each_pair() counts */
};

template <typename Tile, typename Kind, bool TURNS> struct placed_job {
    typedef Kind kind;
    static constexpr int step = Tile::columns, unit_boxes = 1, in_stage = Tile::per_stage;
    static constexpr bool brings = false;
    hopper_problem<bf16> p;
    placed_map left, right, out;
    const float *angles; /* (t, 64) of heads.h */
    int32_t turned;      /* columns of the result that are turned, from the first on */

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int units,
                                         int32_t k, uint64_t *full) const {
        load_placed<Kind::left_k, ROWS>(left, stage, at.row, k, ROWS, full);
        load_placed<Kind::right_k, right_lines<Tile>>(right, stage + Tile::left_bytes, at.column, k,
                                                      units * UNIT, full);
    }
    __device__ __forceinline__ void bring(hopper_place, int, int, unsigned char *,
                                          uint64_t *) const {
    }
    __device__ __forceinline__ void store(hopper_place at, int i, int group,
                                          unsigned char *box) const {
        const int32_t column = at.column + i * BOX;
        if (column >= p.n)
            return;
        const placed_box to = place_box(out, at.row + group * BOX, column);
        tensor_store(&out.map, to.column, to.line, box);
    }

    /* Before the products, which take longer than the loads. */
    __device__ __forceinline__ box_angles prepare(hopper_place at, int group) const {
        box_angles by = {};
        if (!TURNS || at.column >= turned)
            return by;
        const int32_t first = at.row - divide(at.row, out.t) * (int32_t)out.t.d + group * BOX;
        each_pair(NULL, [&](__nv_bfloat162 *, int row, int column, int s) {
            by.of[s / 2] = load_whole(reinterpret_cast<const float_pair *>(
                angles + (int64_t)(first + row) * HEAD + column));
        });
        return by;
    }

    static __device__ __forceinline__ __nv_bfloat162 turn_pair(__nv_bfloat162 x,
                                                               const float_pair &by) {
        bf16 a, b;
        rotate(__low2bfloat16(x), __high2bfloat16(x), by.first, by.second, &a, &b);
        return __halves2bfloat162(a, b);
    }

    template <int SUMS>
    __device__ __forceinline__ void finish(hopper_place at, int group, const float (&sums)[SUMS],
                                           const box_angles &by, hopper_ring<Tile> &ring) const {
        constexpr int boxes = 2 * SUMS / BOX;
#pragma unroll
        for (int i = 0; i < boxes; ++i) {
            const bool turns = TURNS && at.column + i * BOX < turned;
            if (ring.is_first(i))
                open_results(ring);
            each_pair(ring.box(i, group), [&](__nv_bfloat162 *pair, int, int, int s) {
                const __nv_bfloat162 x =
                    __floats2bfloat162_rn(sums[i * BOX / 2 + s], sums[i * BOX / 2 + s + 1]);
                *pair = turns ? turn_pair(x, by.of[s / 2]) : x;
            });
            if (ring.is_last(i, boxes))
                close_results(ring);
        }
    }
};

/* ---- calls ---- */

/* A matrix (tokens, columns), or tensors (b, heads, t, 64) one behind the other. */
struct placed_tensor {
    assay_tensor lines;
    int64_t heads, b, t; /* heads 0: rows */
};

static inline placed_tensor placed(const assay_tensor &x, int64_t tokens) {
    if (x.rank == 2)
        return {x, 0, 0, 1};
    const int64_t lines = x.shape[0] * x.shape[1] * x.shape[2];
    return {matrix_at(x.data, x.dtype, lines, HEAD), x.shape[1], tokens / x.shape[2], x.shape[2]};
}

struct placed_product {
    placed_tensor left, right, out;
    int64_t m, n, k;
    const float *angles;
    int64_t turned;
    copies_ahead *ahead;
};

static inline assay_status make_placed_map(const placed_tensor &x, int32_t box_lines,
                                           placed_map *to) {
    const tensor_lines lines = frame_lines(&x.lines, box_lines);
    to->heads = (int32_t)x.heads;
    to->b = (int32_t)x.b;
    to->t = quick_divisor_of(x.t);
    return make_tensor_map(&to->map, &lines);
}

template <typename Tile, typename Kind, bool TURNS>
static assay_status launch_placed(void *stream, const placed_product &x) {
    placed_job<Tile, Kind, TURNS> job = {};
    job.p = frame_problem(x.m, x.n, x.k);
    job.angles = x.angles;
    job.turned = (int32_t)x.turned;
    assay_status status = make_placed_map(x.left, Kind::left_k ? ROWS : DEPTH, &job.left);
    if (status == ASSAY_OK)
        status = make_placed_map(x.right, Kind::right_k ? right_lines<Tile> : DEPTH, &job.right);
    if (status == ASSAY_OK)
        status = make_placed_map(x.out, BOX, &job.out);
    return status == ASSAY_OK ? launch_in_frame<Tile>(stream, job, x.ahead) : status;
}

/* Shares leave no blocks without a tile of the last turn, which copy. Angles are in registers, of
 * which mixed tiles have none left. */
template <typename Kind, bool TURNS>
static frame_choice<placed_product> placed_choice_of_shares(const placed_product &x) {
    if constexpr (TURNS) {
        return {INT64_MAX, NULL};
    } else {
        const bool blocks_copy = x.ahead != NULL && x.ahead->spare;
        return {blocks_copy ? INT64_MAX : time_of_shares(x.m, x.n, MIXED_TIMES),
                launch_placed<mixed_tile, Kind, TURNS>};
    }
}

template <typename Kind, bool TURNS>
static assay_status multiply_placed(void *stream, const placed_product &x) {
    const frame_choice<placed_product> choices[] = {
        frame_choice_of<wide_tile::columns>(x, WIDE_TIME, launch_placed<wide_tile, Kind, TURNS>),
        placed_choice_of_shares<Kind, TURNS>(x),
        frame_choice_of<middle_tile::columns>(x, MIDDLE_TIME,
                                              launch_placed<middle_tile, Kind, TURNS>),
        frame_choice_of<narrow_tile::columns>(x, NARROW_TIME,
                                              launch_placed<narrow_tile, Kind, TURNS>),
        frame_choice_of<thin_tile::columns>(x, THIN_TIME, launch_placed<thin_tile, Kind, TURNS>)};
    return launch_fastest(stream, x, choices);
}

/* y = x weightᵀ, of which the first `turned` columns are turned by the angles. */
static inline placed_product forward_product(const assay_tensor &x, const assay_tensor &weight,
                                             const assay_tensor &y, int64_t tokens,
                                             const float *angles, int64_t turned,
                                             copies_ahead *ahead) {
    const int64_t n = weight.shape[0], k = weight.shape[1];
    return {placed(x, tokens),
            placed(weight, n),
            placed(y, tokens),
            tokens,
            n,
            k,
            angles,
            turned,
            ahead};
}
/* dx = dy weight. */
static inline placed_product dx_product(const assay_tensor &dy, const assay_tensor &weight,
                                        const assay_tensor &dx, int64_t tokens) {
    const int64_t n = weight.shape[1], k = weight.shape[0];
    return {placed(dy, tokens), placed(weight, k), placed(dx, tokens), tokens, n, k, NULL, 0, NULL};
}
/* dweight = dyᵀ x. */
static inline placed_product dw_product(const assay_tensor &dy, const assay_tensor &x,
                                        const assay_tensor &dweight, int64_t tokens) {
    const int64_t m = dweight.shape[0], n = dweight.shape[1];
    return {placed(dy, tokens), placed(x, tokens), placed(dweight, m), m, n, tokens, NULL, 0, NULL};
}

typedef hopper_kind<true, true, false> forward_kind;
typedef hopper_kind<true, false, false> dx_kind;
typedef hopper_kind<false, false, false> dw_kind;

static assay_status placed_forward(void *stream, const assay_tensor &x, const assay_tensor &weight,
                                   const assay_tensor &y, int64_t tokens, const float *angles,
                                   int64_t turned, copies_ahead *ahead) {
    const placed_product product = forward_product(x, weight, y, tokens, angles, turned, ahead);
    return turned > 0 ? multiply_placed<forward_kind, true>(stream, product)
                      : multiply_placed<forward_kind, false>(stream, product);
}

static assay_status placed_dx(void *stream, const assay_tensor &dy, const assay_tensor &weight,
                              const assay_tensor &dx, int64_t tokens) {
    return multiply_placed<dx_kind, false>(stream, dx_product(dy, weight, dx, tokens));
}

static assay_status placed_dw(void *stream, const assay_tensor &dy, const assay_tensor &x,
                              const assay_tensor &dweight, int64_t tokens) {
    return multiply_placed<dw_kind, false>(stream, dw_product(dy, x, dweight, tokens));
}

/* Whether a box of 128 tokens is always of one batch, and one of 64 columns of one head. */
static bool heads_fit(int64_t tokens, int64_t t, int64_t d, int64_t head_dim) {
    return head_dim == HEAD && t % ROWS == 0 && frame_takes(tokens, 3 * d, d);
}

#endif
