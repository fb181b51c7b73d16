/*
 * lse and gradient from one reading of the logits: a group of lanes keeps its row in shared memory
 * as it is stored, adds it up while it comes in, and grades it from there.
 *
 * Each lane keeps the packs that it has fetched, so no lane looks at another's, and only the merge
 * of the sums needs a barrier. Neighbouring threads have neighbouring packs. AHEAD asynchronous
 * copies of each thread are under way at once: they pass by its registers.
 */
#ifndef ASSAY_CROSS_ENTROPY_V3_GRADIENT_H
#define ASSAY_CROSS_ENTROPY_V3_GRADIENT_H

#include "kernels/common/tensor.h"
#include "kernels/cross_entropy/v3_row.h"

enum { AHEAD = 8 };

/* This thread's packs of a row of that length: `held` of them, in shared memory, where a row fits
 * whose columns need no 64 bits. */
template <typename T> struct keeper {
    pack<T> *kept;
    const T *row;
    int length, lane, lanes, held;

    __device__ __forceinline__ pack<T> *place(int k) const {
        return kept + k * THREADS + threadIdx.x;
    }
    __device__ __forceinline__ int column(int k) const {
        return (k * lanes + lane) * pack<T>::size;
    }
    /* Starts to fetch pack k, as a group of copies of its own; an empty one if there is none. */
    __device__ __forceinline__ void start(int k, bool aligned) const {
        if (k < held) {
            const int j = column(k), left = length - j;
            if (aligned && left >= pack<T>::size)
                cp_async_16(place(k), row + j);
            else
                *place(k) =
                    load_pack(row + j, left, aligned, narrow<T>(minus_infinity<acc_t<T>>()));
        }
        cp_async_commit();
    }
};

/* Fetches the lane's packs, and adds them up. */
template <typename T>
static __device__ __forceinline__ row_sum<acc_t<T>> keep(const keeper<T> &mine, bool aligned) {
    row_sum<acc_t<T>> part = empty_row<acc_t<T>>();
    for (int k = 0; k < AHEAD; ++k)
        mine.start(k, aligned);
    for (int k = 0; k < mine.held; ++k) {
        mine.start(k + AHEAD, aligned);
        cp_async_wait<AHEAD>();
        add(part, load_kept(mine.place(k)));
    }
    return part;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    sum_and_grade(tokens<T> x, gradient<T> to, acc_t<T> *lse, int lanes, int held, bool packs,
                  bool to_packs) {
    ASSAY_DYNAMIC_SHARED(pack<T>, kept);
    const group g = group_of(lanes);
    const keeper<T> mine = {
        kept, x.logits + g.row * x.stride, g.row < x.t ? (int)x.v : 0, g.lane, lanes, held};
    const acc_t<T> of_row = lse_of(merge_lanes(keep(mine, packs), lanes));
    if (g.row >= x.t)
        return;
    if (g.lane == 0)
        lse[g.row] = of_row;
    const acc_t<T> scale = scale_of(x, to);
    const int64_t target = x.target[g.row];
    T *result = to.dlogits + g.row * to.stride;
#pragma unroll 4
    for (int k = 0; k < held; ++k) {
        const int j = mine.column(k);
        store_pack(result + j, grade(load_kept(mine.place(k)), j, target, of_row, scale),
                   mine.length - j, to_packs);
    }
}

/* ---- which rows fit ---- */

enum { MOST_HELD = 8 }; /* packs a lane, while a block has more lanes for the row */

struct keeping {
    int lanes, held; /* packs of each lane */
    size_t bytes;    /* of dynamic shared memory */
    bool fits;
};

template <typename T> static keeping keeping_for(int64_t v) {
    keeping plan = {lanes_for<T>(v, MOST_HELD), 0, 0, false};
    const int64_t held = ceil_div(ceil_div(v, pack<T>::size), plan.lanes);
    const int64_t bytes = held * THREADS * PACK_BYTES;
    const int64_t of_warps = WARPS * (int64_t)sizeof(row_sum<acc_t<T>>);
    plan.fits = bytes <= ASSAY_SHARED_BUDGET - of_warps;
    plan.held = plan.fits ? (int)held : 0;
    plan.bytes = plan.fits ? (size_t)bytes : 0;
    return plan;
}

template <typename T>
static assay_status launch_sum_and_grade(const assay_call *call, const keeping &plan) {
    const tokens<T> x = tokens_of<T>(call);
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(x.t, THREADS / plan.lanes)),
                        dim3(THREADS), plan.bytes, (sum_and_grade<T>), x, gradient_of_one<T>(call),
                        static_cast<acc_t<T> *>(call->out[1].data), plan.lanes, plan.held,
                        takes_packs(&call->in[0]), takes_packs(&call->out[2]));
}

#endif
