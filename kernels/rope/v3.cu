/*
 * rope v3, fused: the angle of a pair is the same in all heads, so a block makes the sines and
 * cosines of its places once, in shared memory, and rotates these places of up to 32 heads.
 *
 * A block has groups of threads (up to 8); each has the same places, 16 bytes of a row each, and
 * heads of its own. A thread starts to load its place of four heads, then makes its share of the
 * block's angles while these are under way: less than one where there are many heads.
 *
 * Against v1: 16 bytes at a time, and a thirty-second of the angles. Bytes: x once and y once.
 * Flops: 6 a pair, and about 10 in fp64.
 *
 * Each element is computed as in v1, bit for bit.
 *
 * The step before made four angles a thread, of 8 heads, in registers and before its first load:
 * memory waited for a chain of some 150 fp64 operations. b = 4, h = 32, s = 1024, d = 80, bf16,
 * cold, H100: 32 us then; 20.7 with four heads a thread and, within the noise, with eight, where a
 * copy of as many bytes takes 18.8. h = 12, d = 64: 11.0 with four heads, 9.8 with eight.
 *
 * Rows of whole packs have code without single elements, and blocks of heads lie along y of the
 * grid: a division less before the first load. With these, and four heads, on an H200, before and
 * now: b = 4, h = 32, s = 1024, d = 80, bf16, 20.2 and 16.8 us, where a copy takes 16.0; b = 32, 98
 * and 86 (84); b = 4, h = 16, s = 512, d = 64, 9.4 and 8.5 (7.7); b = 1, h = 12, s = 1024, 9.9 and
 * 7.1 (6.4).
 */
#include "kernels/common/stream.h"
#include "kernels/rope/pairs.h"

enum { THREADS_BITS = 8, THREADS = 1 << THREADS_BITS };
enum { MOST_GROUPS = 8, HEADS = 4 }; /* heads of a thread */

/* So many blocks a grid may have along y, or z. */
static constexpr int64_t MOST_BLOCKS = 65535;

/* How a block's threads are shared out, and where the angles of its places come from. */
struct plan {
    int64_t heads, s, pairs, row_packs, places; /* places: packs of all rows of a head */
    int64_t start;
    double theta, direction;
    int groups, place_bits, places_of_block; /* 2^place_bits */
};

/* The sine and cosine of one pair. */
template <typename A> struct turned { A cosine, sine; };

/* No templates: gcc keeps a template's variables out of the section in which the simulated device
 * watches shared memory. */
enum { MOST_PAIRS = THREADS * (PACK_BYTES / 4) };
static __device__ __forceinline__ turned<float> *room_for_turns(float) {
    __shared__ turned<float> room[MOST_PAIRS];
    return room;
}
static __device__ __forceinline__ turned<double> *room_for_turns(double) {
    __shared__ turned<double> room[THREADS];
    return room;
}

/* Pairs of a pack. */
template <typename T> constexpr int PAIRS = pack<T>::size / 2;

/* The turns of the pairs of the block's places, the first of which is `first`. Pairs behind the end
 * of a row have one, too, that is not used. */
template <typename T>
static __device__ __forceinline__ void make_turns(const plan &n, int64_t first,
                                                  turned<acc_t<T>> *to) {
    const double log_theta = log_(n.theta);
    const int places = (int)clamp(n.places - first, 0, n.places_of_block);
    for (int e = (int)threadIdx.x; e < places * PAIRS<T>; e += THREADS) {
        const int64_t place = first + e / PAIRS<T>, i = place / n.row_packs;
        const int64_t pair = (place - i * n.row_packs) * PAIRS<T> + e % PAIRS<T>;
        const turn t = turn_at(log_theta, n.direction, n.start + i, pair, n.pairs);
        to[e] = {(acc_t<T>)t.cosine, (acc_t<T>)t.sine};
    }
}

template <typename T>
static __device__ __forceinline__ pack<T> rotated(const pack<T> &x, const turned<acc_t<T>> *turns) {
    pack<T> y;
    for (int k = 0; k < PAIRS<T>; ++k)
        rotate(x.v[2 * k], x.v[2 * k + 1], turns[k].cosine, turns[k].sine, &y.v[2 * k],
               &y.v[2 * k + 1]);
    return y;
}

/* WHOLE: as load_part has it. */
template <typename T, bool WHOLE>
static __global__ void __launch_bounds__(THREADS)
    rotate_places(matrix<const T> from, matrix<T> to, plan n, bool packs) {
    turned<acc_t<T>> *turns = room_for_turns(acc_t<T>());
    const int64_t first = (int64_t)blockIdx.x * n.places_of_block;
    const int mine = (int)threadIdx.x & (n.places_of_block - 1);
    const int64_t place = first + mine, i = place / n.row_packs;
    const int64_t j = (place - i * n.row_packs) * pack<T>::size, left = 2 * n.pairs - j;
    const int64_t block = (int64_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int64_t head = (block * n.groups + (threadIdx.x >> n.place_bits)) * HEADS;
    const int64_t heads = place < n.places ? clamp(n.heads - head, 0, HEADS) : 0;
    const T *const source = from.row(head * n.s + i) + j;
    T *const target = to.row(head * n.s + i) + j;
    pack<T> held[HEADS];
#pragma unroll
    for (int k = 0; k < HEADS; ++k)
        held[k] = load_part<WHOLE, false>(source + k * n.s * from.stride, k < heads ? left : 0,
                                          packs, narrow<T>(0));
    make_turns<T>(n, first, turns);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < HEADS; ++k)
        if (k < heads)
            store_part<WHOLE>(target + k * n.s * to.stride,
                              rotated(held[k], turns + mine * PAIRS<T>), left, packs);
}

template <typename T> static plan plan_for(const rotation &t) {
    const int64_t row_packs = ceil_div(2 * t.pairs, pack<T>::size);
    plan n = {t.heads, t.s,         t.pairs, row_packs,    t.s * row_packs, t.start,
              t.theta, t.direction, 1,       THREADS_BITS, THREADS};
    while (n.groups < MOST_GROUPS && n.groups * HEADS < t.heads) {
        n.groups *= 2;
        --n.place_bits;
    }
    n.places_of_block = 1 << n.place_bits;
    return n;
}

/* A block for each part of the places, and of the heads along y, or along y and z where y has too
 * few: nothing is divided by how many there are before the first load. */
template <typename T, bool WHOLE>
static assay_status launch(const assay_call *call, const rotation &t, bool packs) {
    const plan n = plan_for<T>(t);
    const int64_t strips = ceil_div(n.places, n.places_of_block);
    const int64_t blocks = ceil_div(n.heads, n.groups * HEADS);
    const dim3 grid((unsigned)strips, (unsigned)clamp(blocks, 0, MOST_BLOCKS),
                    (unsigned)ceil_div(blocks, MOST_BLOCKS));
    return ASSAY_LAUNCH(call->stream, grid, dim3(THREADS), 0, (rotate_places<T, WHOLE>),
                        matrix_of<const T>(t.from), matrix_of<T>(t.to), n, packs);
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const rotation t = rotation_of(call, stage);
    const bool packs = takes_packs(t.from) && takes_packs(t.to);
    return packs && 2 * t.pairs % pack<T>::size == 0 ? launch<T, true>(call, t, packs)
                                                     : launch<T, false>(call, t, packs);
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
    .summary = "fused: 16 bytes at a time, angles made once for up to 32 heads",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
