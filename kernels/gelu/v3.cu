/*
 * gelu v3: memory is touched once, 16 bytes at a time (kernels/common/packs.h), and for 16-bit
 * tensors the arithmetic takes less time than memory (v3_gate.h).
 *
 * Against v1: 16-byte accesses, two or four under way in each thread, and the special function
 * unit. Bytes: x and y forward; x, dy and dx backward. Instructions for each bf16 element, as nvcc
 * compiles: about 25, two of them on the special function unit; by tanh 14. f32 and f64 are
 * computed as in v1, bit for bit.
 *
 * The step before had v1's arithmetic for all: 80 instructions an element, three divisions among
 * them. n = 4x1024, d = 6912, bf16, cold, H100: 84 us forward and 97 backward then, 43
 * and 62 now; memory alone takes 38 and 57.
 */
#include "kernels/common/packs.h"
#include "kernels/common/stream.h"
#include "kernels/gelu/v3_gate.h"

enum { THREADS = 256, TURNS = 2 }; /* packs of a thread at once */

/* A thread's packs, THREADS apart. None behind the end: nothing is left there. */
template <typename T> struct places {
    place at[TURNS];
    bool whole; /* all packs may be accessed at once */
};

template <typename T>
static __device__ __forceinline__ places<T> places_of(const split &cut, int64_t first) {
    places<T> all = {{}, cut.packs};
#pragma unroll
    for (int k = 0; k < TURNS; ++k) {
        const int64_t index = first + k * THREADS + threadIdx.x;
        if (index < cut.rows * cut.row_packs)
            all.at[k] = place_of<T>(cut, index);
        all.whole = all.whole && all.at[k].left >= pack<T>::size;
    }
    return all;
}

template <bool WHOLE, typename T>
static __device__ __forceinline__ void load_places(const matrix<const T> &from,
                                                   const places<T> &all, const split &cut,
                                                   pack<T> (&to)[TURNS]) {
#pragma unroll
    for (int k = 0; k < TURNS; ++k) {
        const T *p = from.row(all.at[k].i) + all.at[k].j;
        to[k] = WHOLE ? load_whole(reinterpret_cast<const pack<T> *>(p))
                      : load_pack(p, all.at[k].left, cut.packs);
    }
}

/* The first pack of the block's first turn, and from there to its next. */
static __device__ __forceinline__ int64_t first_pack() {
    return (int64_t)blockIdx.x * THREADS * TURNS;
}
static __device__ __forceinline__ int64_t pack_step() {
    return (int64_t)gridDim.x * THREADS * TURNS;
}

template <typename T, bool BY_TANH>
static __global__ void __launch_bounds__(THREADS) gate(matrix<const T> x, matrix<T> y, split cut) {
    for (int64_t e = first_pack(); e < cut.rows * cut.row_packs; e += pack_step()) {
        const places<T> all = places_of<T>(cut, e);
        pack<T> p[TURNS];
        if (all.whole)
            load_places<true>(x, all, cut, p);
        else
            load_places<false>(x, all, cut, p);
#pragma unroll
        for (int k = 0; k < TURNS; ++k) {
            acc_t<T> result[pack<T>::size];
            for (int v = 0; v < pack<T>::size; ++v)
                result[v] = gated_in<T>(widen(p[k].v[v]), BY_TANH);
            store_pack(y.row(all.at[k].i) + all.at[k].j, narrow_pack<T>(result), all.at[k].left,
                       cut.packs);
        }
    }
}

template <typename T, bool BY_TANH>
static __global__ void __launch_bounds__(THREADS)
    grad(matrix<const T> x, matrix<const T> dy, matrix<T> dx, split cut) {
    for (int64_t e = first_pack(); e < cut.rows * cut.row_packs; e += pack_step()) {
        const places<T> all = places_of<T>(cut, e);
        pack<T> p[TURNS], given[TURNS];
        if (all.whole) {
            load_places<true>(x, all, cut, p);
            load_places<true>(dy, all, cut, given);
        } else {
            load_places<false>(x, all, cut, p);
            load_places<false>(dy, all, cut, given);
        }
#pragma unroll
        for (int k = 0; k < TURNS; ++k) {
            acc_t<T> result[pack<T>::size];
            for (int v = 0; v < pack<T>::size; ++v)
                result[v] = grad_in<T>(widen(p[k].v[v]), widen(given[k].v[v]), BY_TANH);
            store_pack(dx.row(all.at[k].i) + all.at[k].j, narrow_pack<T>(result), all.at[k].left,
                       cut.packs);
        }
    }
}

template <typename T> static split split_of(const tensors &t) {
    const assay_tensor *const all[] = {t.x, t.y, t.dy, t.dx};
    return split_for<T>(t.rows, t.d, all);
}

static dim3 grid_for(const split &cut) {
    return linear_grid(cut.rows * cut.row_packs, THREADS * TURNS);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, grid_for(cut), dim3(THREADS), 0,
                        (t.by_tanh ? gate<T, true> : gate<T, false>), matrix_of<const T>(t.x),
                        matrix_of<T>(t.y), cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, grid_for(cut), dim3(THREADS), 0,
                        (t.by_tanh ? grad<T, true> : grad<T, false>), matrix_of<const T>(t.x),
                        matrix_of<const T>(t.dy), matrix_of<T>(t.dx), cut);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(gelu, v3) = {
    .op = "gelu",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "16 bytes at a time, on the special function unit",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
