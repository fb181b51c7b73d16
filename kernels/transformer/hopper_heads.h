/*
 * Products whose operands or results lie by heads, (b, heads, t, 64), where the model else has
 * rows, (b, t, heads, 64), for v3_hopper: a box of 64 columns is a head's, so that only where a
 * box begins differs, and no kernel changes the layout. q and k are turned before they leave. The
 * bits are those of linear and of heads.h one after the other: each sum is rounded to bf16 first.
 *
 * Bytes that a layer's tokens move less than with split_heads() and merge_heads(): 8 d forward and
 * 2 d backward.
 */
#ifndef ASSAY_TRANSFORMER_HOPPER_HEADS_H
#define ASSAY_TRANSFORMER_HOPPER_HEADS_H

#include "kernels/rope/turn.h"
#include "kernels/transformer/fusions.h"
#include "kernels/transformer/hopper_frame.h"
#include "kernels/transformer/tensors.h"

enum { HEAD = BOX /* columns */ };

/* A matrix (tokens, columns) in memory. With heads, those of several tensors follow each other. */
struct placed_map {
    tensor_map map;
    int32_t heads, b, t; /* heads 0: rows */
};

/* Where the box at (line, column) begins there. */
struct placed_box {
    int32_t column, line;
};

static __device__ __forceinline__ placed_box place_box(const placed_map &x, int32_t line,
                                                       int32_t column) {
    if (x.heads == 0)
        return {column, line};
    const int32_t which = column / HEAD / x.heads, head = column / HEAD % x.heads;
    return {0, ((which * x.b + line / x.t) * x.heads + head) * x.t + line % x.t};
}

/* LINES of an operand at (line, k). */
template <bool K_INNER, int LINES>
static __device__ __forceinline__ void load_placed(const placed_map &x, unsigned char *to,
                                                   int32_t line, int32_t k, uint64_t *full) {
    if constexpr (K_INNER) {
        const placed_box at = place_box(x, line, k);
        tensor_load(to, &x.map, at.column, at.line, full);
    } else {
        for (int i = 0; i < LINES / BOX; ++i) {
            const placed_box at = place_box(x, k, line + i * BOX);
            tensor_load(to + i * BOX_BYTES, &x.map, at.column, at.line, full);
        }
    }
}

struct alignas(8) float_pair {
    float first, second;
};

template <typename Tile, typename Kind> struct placed_job {
    typedef Kind kind;
    static constexpr int step = Tile::columns, boxes = Tile::boxes, in_stage = Tile::per_stage;
    static constexpr bool brings = false;
    hopper_problem p;
    placed_map left, right, out;
    const float *angles; /* (t, 64) of heads.h */
    int32_t turned;      /* columns of the result that are turned, from the first on */

    __device__ __forceinline__ void load(unsigned char *stage, hopper_place at, int32_t k,
                                         uint64_t *full) const {
        load_placed<Kind::left_k, ROWS>(left, stage, at.row, k, full);
        load_placed<Kind::right_k, step>(right, stage + Tile::left_bytes, at.column, k, full);
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

    /* Turns the pair at `column` of a head of token `line`. */
    __device__ __forceinline__ __nv_bfloat162 turn_pair(__nv_bfloat162 x, int32_t line,
                                                        int column) const {
        const float_pair by = load_whole(reinterpret_cast<const float_pair *>(
            angles + (int64_t)(line % out.t) * HEAD + column));
        bf16 a, b;
        rotate(__low2bfloat16(x), __high2bfloat16(x), by.first, by.second, &a, &b);
        return __halves2bfloat162(a, b);
    }

    __device__ __forceinline__ void finish(hopper_place at, int group, const float *sums,
                                           hopper_ring<Tile> &ring) const {
#pragma unroll
        for (int i = 0; i < boxes; ++i) {
            const bool turns = at.column + i * BOX < turned;
            if (ring.is_first(i))
                open_results(ring);
            each_pair(ring.box(i, group), [&](__nv_bfloat162 *pair, int row, int column, int s) {
                const __nv_bfloat162 x =
                    __floats2bfloat162_rn(sums[i * BOX / 2 + s], sums[i * BOX / 2 + s + 1]);
                *pair = turns ? turn_pair(x, at.row + group * BOX + row, column) : x;
            });
            if (ring.is_last(i))
                close_results(ring);
        }
    }
};

/* ---- calls ---- */

/* A matrix (tokens, columns), or tensors (b, heads, t, 64) one behind the other. */
struct placed_tensor {
    assay_tensor lines;
    int64_t heads, b, t;
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
};

static inline assay_status make_placed_map(const placed_tensor &x, int32_t box_lines,
                                           placed_map *to) {
    const tensor_lines lines = frame_lines(&x.lines, box_lines);
    to->heads = (int32_t)x.heads;
    to->b = (int32_t)x.b;
    to->t = (int32_t)x.t;
    return make_tensor_map(&to->map, &lines);
}

template <typename Tile, typename Kind>
static assay_status launch_placed(void *stream, const placed_product &x) {
    placed_job<Tile, Kind> job = {};
    job.p = frame_problem(x.m, x.n, x.k);
    job.angles = x.angles;
    job.turned = (int32_t)x.turned;
    assay_status status = make_placed_map(x.left, Kind::left_k ? ROWS : DEPTH, &job.left);
    if (status == ASSAY_OK)
        status = make_placed_map(x.right, Kind::right_k ? Tile::columns : DEPTH, &job.right);
    if (status == ASSAY_OK)
        status = make_placed_map(x.out, BOX, &job.out);
    return status == ASSAY_OK ? launch_in_frame<Tile>(stream, job) : status;
}

template <typename Product> struct placed_choice {
    int64_t time; /* until all multiprocessors are done */
    assay_status (*launch)(void *stream, const Product &x);
};

template <typename Tile, typename Product>
static placed_choice<Product> placed_choice_of(const Product &x, int64_t tile_time,
                                               assay_status (*launch)(void *, const Product &)) {
    const int64_t turns = ceil_div(hopper_tiles<Tile::columns>(x.m, x.n), ASSAY_MULTIPROCESSORS);
    return {turns * tile_time, launch};
}

/* As hopper_multiply.h chooses: of two that take as long, the wider tiles. */
template <typename Product, int N>
static assay_status launch_fastest(void *stream, const Product &x,
                                   const placed_choice<Product> (&choices)[N]) {
    const placed_choice<Product> *best = choices;
    for (const placed_choice<Product> &c : choices)
        if (c.time < best->time)
            best = &c;
    return best->launch(stream, x);
}

template <typename Kind>
static assay_status multiply_placed(void *stream, const placed_product &x) {
    const placed_choice<placed_product> choices[] = {
        placed_choice_of<wide_tile>(x, WIDE_TIME, launch_placed<wide_tile, Kind>),
        placed_choice_of<middle_tile>(x, MIDDLE_TIME, launch_placed<middle_tile, Kind>),
        placed_choice_of<narrow_tile>(x, NARROW_TIME, launch_placed<narrow_tile, Kind>),
        placed_choice_of<thin_tile>(x, THIN_TIME, launch_placed<thin_tile, Kind>)};
    return launch_fastest(stream, x, choices);
}

/* y = x weightᵀ, of which the first `turned` columns are turned by the angles. */
static assay_status placed_forward(void *stream, const assay_tensor &x, const assay_tensor &weight,
                                   const assay_tensor &y, int64_t tokens, const float *angles,
                                   int64_t turned) {
    const int64_t n = weight.shape[0], k = weight.shape[1];
    const placed_product product = {
        placed(x, tokens), placed(weight, n), placed(y, tokens), tokens, n, k, angles, turned};
    return multiply_placed<hopper_kind<true, true, false>>(stream, product);
}

/* dx = dy weight. */
static assay_status placed_dx(void *stream, const assay_tensor &dy, const assay_tensor &weight,
                              const assay_tensor &dx, int64_t tokens) {
    const int64_t n = weight.shape[1], k = weight.shape[0];
    const placed_product product = {
        placed(dy, tokens), placed(weight, k), placed(dx, tokens), tokens, n, k, NULL, 0};
    return multiply_placed<hopper_kind<true, false, false>>(stream, product);
}

/* dweight = dyᵀ x. */
static assay_status placed_dw(void *stream, const assay_tensor &dy, const assay_tensor &x,
                              const assay_tensor &dweight, int64_t tokens) {
    const int64_t m = dweight.shape[0], n = dweight.shape[1];
    const placed_product product = {
        placed(dy, tokens), placed(x, tokens), placed(dweight, m), m, n, tokens, NULL, 0};
    return multiply_placed<hopper_kind<false, false, false>>(stream, product);
}

/* Whether a box of 128 tokens is always of one batch, and one of 64 columns of one head. */
static bool heads_fit(int64_t tokens, int64_t t, int64_t d, int64_t head_dim) {
    return head_dim == HEAD && t % ROWS == 0 && frame_takes(tokens, 3 * d, d);
}

#endif
