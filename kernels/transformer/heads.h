/*
 * Between rows and heads. A product leaves q, k and v as rows beside each other, (b, t, 3, heads,
 * head_dim); attention takes each by heads, (b, heads, t, head_dim). On the way q and k are turned
 * (rope), and on the way back their gradients by the opposite angles: one pass over memory, in
 * which each element is rounded as by a variant of rope, bit for bit.
 *
 * The angles are those of positions 0 to t - 1 in every layer and head, so that a call makes them
 * once: t head_dim / 2 sines and cosines in fp64, rounded to fp32.
 */
#ifndef ASSAY_TRANSFORMER_HEADS_H
#define ASSAY_TRANSFORMER_HEADS_H

#include "device/grid.h"
#include "kernels/common/pack.h"
#include "kernels/rope/turn.h"
#include "kernels/transformer/walk.h"

static constexpr double ROPE_THETA = 1e4;

/* ---- the angles ---- */

enum { ANGLE_THREADS = 256 };

/* table[i][2 p] is the cosine of pair p at position i, [2 p + 1] the sine. */
static __global__ void make_angles(float *table, int64_t positions, int64_t pairs) {
    const double log_theta = log_(ROPE_THETA);
    for (int64_t e = grid_thread(); e < positions * pairs; e += grid_threads()) {
        const turn at = turn_at(log_theta, 1, e / pairs, e % pairs, pairs);
        table[2 * e] = (float)at.cosine;
        table[2 * e + 1] = (float)at.sine;
    }
}

/* (t, head_dim) */
static inline assay_tensor take_angles(walk *w) {
    const int64_t positions = w->m.t, pairs = w->m.head_dim / 2;
    float *table = static_cast<float *>(take(w, positions * 2 * pairs, ASSAY_F32));
    if (runs(w))
        w->status = ASSAY_LAUNCH(w->stream, linear_grid(positions * pairs, ANGLE_THREADS),
                                 dim3(ANGLE_THREADS), 0, make_angles, table, positions, pairs);
    return matrix_at(table, ASSAY_F32, positions, 2 * pairs);
}

/* ---- heads ---- */

/* Up to three tensors by heads, of which the first `turned` are turned on the way. All dense. */
enum { MOST_HEADS = 3 };

typedef struct heads {
    assay_tensor tensors[MOST_HEADS];
    int count, turned;
} heads;

template <typename T> struct heads_of_type {
    T *data[MOST_HEADS];
    int64_t count, turned;
    int64_t b, heads, t, length;
    const float *angles;
    bool packs, angles_pack;
};

enum heads_direction { SPLIT, MERGE };

/* One pack's angles, of the same columns. */
template <typename T> struct pack_angles { float v[pack<T>::size]; };

template <typename T>
static __device__ __forceinline__ pack_angles<T> load_angles(const float *from, int64_t left,
                                                             bool packs) {
    constexpr int SIZE = pack<float>::size;
    pack_angles<T> all;
    for (int first = 0; first < pack<T>::size; first += SIZE) {
        const pack<float> some = load_pack(from + first, left - first, packs);
        for (int v = 0; v < SIZE; ++v)
            all.v[first + v] = some.v[v];
    }
    return all;
}

/* SPLIT turns by the angles, MERGE by the opposite ones. */
template <heads_direction DIRECTION, typename T>
static __device__ __forceinline__ void turn_pack(pack<T> &x, const pack_angles<T> &by) {
    for (int v = 0; v < pack<T>::size; v += 2) {
        const float sine = DIRECTION == SPLIT ? by.v[v + 1] : -by.v[v + 1];
        rotate(x.v[v], x.v[v + 1], by.v[v], sine, &x.v[v], &x.v[v + 1]);
    }
}

/* Moves the pack at column `at` of a head of one token. */
template <typename T, heads_direction DIRECTION>
static __device__ __forceinline__ void move_pack(T *beside, T *apart, const float *angles,
                                                 bool turned, int64_t left,
                                                 const heads_of_type<T> &by) {
    const T *from = DIRECTION == SPLIT ? beside : apart;
    T *to = DIRECTION == SPLIT ? apart : beside;
    pack<T> x = load_pack(from, left, by.packs);
    if (turned)
        turn_pack<DIRECTION>(x, load_angles<T>(angles, left, by.angles_pack));
    store_pack(to, x, left, by.packs);
}

/* A block takes a token, so that its threads divide no more than they must. */
template <typename T, heads_direction DIRECTION>
static __global__ void move_heads(T *rows, const __grid_constant__ heads_of_type<T> by) {
    const int64_t head_packs = ceil_div(by.length, pack<T>::size);
    const int64_t row_heads = by.count * by.heads;
    for (int64_t token = blockIdx.x; token < by.b * by.t; token += gridDim.x) {
        const int64_t batch = token / by.t, i = token % by.t;
        for (int64_t p = threadIdx.x; p < row_heads * head_packs; p += blockDim.x) {
            const int64_t row_head = p / head_packs, at = p % head_packs * pack<T>::size;
            const int64_t which = row_head / by.heads, head = row_head % by.heads;
            move_pack<T, DIRECTION>(
                rows + (token * row_heads + row_head) * by.length + at,
                by.data[which] + ((batch * by.heads + head) * by.t + i) * by.length + at,
                by.angles + i * by.length + at, which < by.turned, by.length - at, by);
        }
    }
}

enum { HEADS_THREADS = 128 };

template <typename T, heads_direction DIRECTION>
static inline void launch_heads(walk *w, void *rows, const heads *by) {
    const model *m = &w->m;
    heads_of_type<T> all = {};
    for (int which = 0; which < by->count; ++which)
        all.data[which] = static_cast<T *>(by->tensors[which].data);
    all.count = by->count;
    all.turned = by->turned;
    all.b = m->b;
    all.heads = m->heads;
    all.t = m->t;
    all.length = m->head_dim;
    all.angles = static_cast<const float *>(w->angles.data);
    all.packs = m->head_dim % pack<T>::size == 0;
    all.angles_pack = takes_packs(&w->angles);
    w->status = ASSAY_LAUNCH(w->stream, linear_grid(m->tokens, 1), dim3(HEADS_THREADS), 0,
                             (move_heads<T, DIRECTION>), static_cast<T *>(rows), all);
}

static inline void split_heads(walk *w, assay_tensor rows, heads to) {
    if (!runs(w))
        return;
    if (rows.dtype == ASSAY_BF16)
        launch_heads<__nv_bfloat16, SPLIT>(w, rows.data, &to);
    else
        launch_heads<float, SPLIT>(w, rows.data, &to);
}

static inline void merge_heads(walk *w, heads from, assay_tensor rows) {
    if (!runs(w))
        return;
    if (rows.dtype == ASSAY_BF16)
        launch_heads<__nv_bfloat16, MERGE>(w, rows.data, &from);
    else
        launch_heads<float, MERGE>(w, rows.data, &from);
}

/* ---- turned where they lie ---- */

enum { TURN_THREADS = 256, TURN_PACKS = 2 /* of a thread */ };

/* Rows of `length` elements, of which row r has the angles of position r % t; whole packs. */
template <typename T>
static __global__ void __launch_bounds__(TURN_THREADS)
    turn_back(T *data, const float *angles, int64_t rows, int64_t t, int64_t length) {
    const int64_t row_packs = length / pack<T>::size;
    const int64_t first = ((int64_t)blockIdx.x * TURN_PACKS) * TURN_THREADS + threadIdx.x;
    pack<T> x[TURN_PACKS];
#pragma unroll
    for (int k = 0; k < TURN_PACKS; ++k) {
        const int64_t p = first + k * TURN_THREADS;
        if (p < rows * row_packs)
            x[k] = load_whole(reinterpret_cast<const pack<T> *>(data) + p);
    }
#pragma unroll
    for (int k = 0; k < TURN_PACKS; ++k) {
        const int64_t p = first + k * TURN_THREADS;
        if (p >= rows * row_packs)
            continue;
        const int64_t row = p / row_packs, at = p % row_packs * pack<T>::size;
        turn_pack<MERGE>(x[k], load_angles<T>(angles + row % t * length + at, length - at, true));
        store_pack(data + p * pack<T>::size, x[k], pack<T>::size, true);
    }
}

/* By the opposite angles: gradients of what the angles had turned, in bf16, whole packs. */
static inline void turn_heads_back(walk *w, assay_tensor x) {
    const int64_t length = w->m.head_dim, rows = assay_tensor_count(&x) / length;
    const int64_t packs = rows * length / pack<__nv_bfloat16>::size;
    if (runs(w))
        w->status = ASSAY_LAUNCH(w->stream, whole_grid(ceil_div(packs, TURN_THREADS * TURN_PACKS)),
                                 dim3(TURN_THREADS), 0, (turn_back<__nv_bfloat16>),
                                 static_cast<__nv_bfloat16 *>(x.data),
                                 static_cast<const float *>(w->angles.data), rows, w->m.t, length);
}

#endif
