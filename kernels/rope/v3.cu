/*
 * rope v3, fused: the angle of a pair is the same in all heads, so a thread makes those of 16 bytes
 * of one row once, keeps their sines and cosines in registers, and rotates the same place of eight
 * heads. Four heads are loaded before the first is stored, so that their loads overlap.
 *
 * Against v1: 16 bytes at a time, and an eighth of the angles. Bytes: x once and y once. Flops: 6 a
 * pair and about 20 in fp64: less than memory takes.
 *
 * Each element is computed as in v1, bit for bit.
 */
#include "kernels/common/pack.h"
#include "kernels/rope/pairs.h"

enum { THREADS = 256, BATCH = 4, HEADS_PER_THREAD = 2 * BATCH };

/* The sines and cosines of the pairs of one pack. */
template <typename T> struct turns {
    static constexpr int size = pack<T>::size / 2;
    acc_t<T> cosine[size], sine[size];
};

template <typename T>
static __device__ __forceinline__ turns<T>
turns_of(double theta, double direction, int64_t position, int64_t first, int64_t pairs) {
    const double log_theta = log_(theta);
    turns<T> all;
    for (int k = 0; k < turns<T>::size; ++k) {
        const turn t = turn_at(log_theta, direction, position, first + k, pairs);
        all.cosine[k] = (acc_t<T>)t.cosine;
        all.sine[k] = (acc_t<T>)t.sine;
    }
    return all;
}

/* Rotates place j of row i of the heads first, first + 1 … before `end`, at most BATCH. */
template <typename T>
static __device__ __forceinline__ void
rotate_heads(matrix<const T> from, matrix<T> to, const turns<T> &t, int64_t first, int64_t end,
             int64_t s, int64_t i, int64_t j, int64_t left, bool packs) {
    pack<T> held[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; ++k)
        if (first + k < end)
            held[k] = load_pack(from.row((first + k) * s + i) + j, left, packs);
#pragma unroll
    for (int k = 0; k < BATCH; ++k) {
        if (first + k >= end)
            break;
        pack<T> p;
        for (int v = 0; v < turns<T>::size; ++v)
            rotate(held[k].v[2 * v], held[k].v[2 * v + 1], t.cosine[v], t.sine[v], &p.v[2 * v],
                   &p.v[2 * v + 1]);
        store_pack(to.row((first + k) * s + i) + j, p, left, packs);
    }
}

template <typename T>
static __global__ void rotate_places(matrix<const T> from, matrix<T> to, int64_t heads, int64_t s,
                                     int64_t pairs, int64_t start, double theta, double direction,
                                     bool packs) {
    const int64_t row_packs = ceil_div(2 * pairs, pack<T>::size), places = s * row_packs;
    const int64_t chunks = ceil_div(heads, HEADS_PER_THREAD);
    for (int64_t e = grid_thread(); e < chunks * places; e += grid_threads()) {
        const int64_t i = e % places / row_packs, j = e % row_packs * pack<T>::size;
        const int64_t first = e / places * HEADS_PER_THREAD;
        const int64_t end = clamp(heads, 0, first + HEADS_PER_THREAD);
        const turns<T> t = turns_of<T>(theta, direction, start + i, j / 2, pairs);
        for (int64_t head = first; head < end; head += BATCH)
            rotate_heads(from, to, t, head, end, s, i, j, 2 * pairs - j, packs);
    }
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const rotation t = rotation_of(call, stage);
    const int64_t places = t.s * ceil_div(2 * t.pairs, pack<T>::size);
    return ASSAY_LAUNCH(call->stream,
                        linear_grid(ceil_div(t.heads, HEADS_PER_THREAD) * places, THREADS),
                        dim3(THREADS), 0, (rotate_places<T>), matrix_of<const T>(t.from),
                        matrix_of<T>(t.to), t.heads, t.s, t.pairs, t.start, t.theta, t.direction,
                        takes_packs(t.from) && takes_packs(t.to));
}

static assay_status forward(const assay_call *call) {
    return ROPE_DISPATCH(run, call, ASSAY_FORWARD);
}

static assay_status backward(const assay_call *call) {
    return ROPE_DISPATCH(run, call, ASSAY_BACKWARD);
}

ASSAY_VARIANT(rope, v3) = {
    .op = "rope",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: 16 bytes at a time, angles made once for eight heads",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
