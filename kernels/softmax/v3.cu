/*
 * softmax v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h). Forward
 * finds the largest element over the lanes, turns all of them into powers once, sums these over the
 * lanes and writes y. Backward keeps y and dy, sums their products and writes dx. Rows of more than
 * 20480 elements of 16 bits, 10240 of f32 or 5120 of f64 read the rest again, from the cache:
 * forward twice, backward once. Rows of whole packs, few a lane, have kernels without code for
 * single elements.
 *
 * 16-bit tensors get their powers from the special function unit, and y as a product with 1 / sum.
 *
 * bf16, 4096 rows of 2560, H100, cold, forward and backward: 59.7 and 48.5 us with two packs a
 * lane, taken apart as they came; 37.4 and 27.7 us with rows in a warp and packs kept whole, and 40
 * instructions for each exp and division; 20.0 and 26.5 us now, where a copy of as many bytes takes
 * 18.7 and 25.4. Backward, a lane that held four packs of y and four of dy had too few registers:
 * rows of 1600 took 23.9 us, and take 18.5 with at most three.
 *
 * Against v1: x is read once, and each power is computed once. Bytes: x and y forward; y, dy and dx
 * backward. Flops: an exp, a division and 3 more an element forward, 4 backward.
 */
#include "kernels/common/exp.h"
#include "kernels/common/exp64.h"
#include "kernels/common/row_group.h"
#include "kernels/common/special.h"
#include "kernels/common/stream.h"

enum { FEW_HELD = 4, FEW_HELD_BACKWARD = 3, MOST_HELD = 10 };

/* How rows are shared out. */
struct split {
    int64_t rows, d;
    int lanes, held; /* lanes to a row, and the packs that each holds */
    bool packs;      /* all tensors allow 16-byte accesses */
};

template <typename T>
static __device__ __forceinline__ acc_t<T> largest_of(const pack<T> &x, acc_t<T> most) {
    for (int v = 0; v < pack<T>::size; ++v)
        most = group_larger::of(most, widen(x.v[v]));
    return most;
}

/* exp(x - most) of the elements that there are, 0 of the others; for 16-bit tensors by the special
 * function unit. Where there is no pack, its elements are -Inf. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ acc_t<T> powers_of(const pack<T> &x, acc_t<T> most, int64_t left,
                                                     acc_t<T> sum,
                                                     acc_t<T> (&power)[pack<T>::size]) {
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> below = widen(x.v[v]) - most,
                       e = sizeof(T) > 2 ? exp_(below) : exp_unit(below);
        power[v] = (WHOLE ? 0 : v) < left ? e : (acc_t<T>)0;
        sum += power[v];
    }
    return sum;
}

/* `inverse` is 1 / sum: for 16-bit tensors a product is as good as a quotient. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ void store_quotients(const acc_t<T> (&power)[pack<T>::size],
                                                       acc_t<T> sum, acc_t<T> inverse, T *y,
                                                       int64_t left, bool packs) {
    acc_t<T> quotient[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v)
        quotient[v] = sizeof(T) > 2 ? power[v] / sum : power[v] * inverse;
    store_part<WHOLE>(y, narrow_pack<T>(quotient), left, packs);
}

/* WHOLE: the lanes hold all of a row, in whole packs. */
template <typename T, int HELD, bool WHOLE>
static __global__ void __launch_bounds__(GROUP_THREADS, WHOLE ? 4 : 2)
    softmax(matrix<const T> x, matrix<T> y, split cut) {
    typedef acc_t<T> A;
    const group_place<T> at(cut.lanes);
    const int64_t i = (int64_t)blockIdx.x * at.groups + at.group, length = i < cut.rows ? cut.d : 0;
    const int there = at.template held_of<HELD>(length);
    const T *row = x.row(i), rest = narrow<T>(-INFINITY);
    pack<T> held[HELD];
    A power[HELD][pack<T>::size], more[pack<T>::size];
    A most = -INFINITY, sum = 0;
    load_held<WHOLE, true>(row, length, at, cut.packs, rest, held);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        most = largest_of(held[p], most);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
        most = largest_of(load_pack(row + j, length - j, cut.packs, rest), most);
    most = reduce_group<group_larger>(most, cut.lanes, 0);
    keep_packed(held);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        sum = powers_of<WHOLE>(held[p], most, there - at.column(p), sum, power[p]);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
        sum = powers_of<false>(load_pack(row + j, length - j, cut.packs), most, length - j, sum,
                               more);
    sum = reduce_group<group_add>(sum, cut.lanes, 1);
    const A inverse = 1 / sum;
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        store_quotients<WHOLE, T>(power[p], sum, inverse, y.row(i) + at.column(p),
                                  there - at.column(p), cut.packs);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step()) {
        (void)powers_of<false>(load_pack(row + j, length - j, cut.packs), most, length - j, (A)0,
                               more);
        store_quotients<false, T>(more, sum, inverse, y.row(i) + j, length - j, cut.packs);
    }
}

template <typename T>
static __device__ __forceinline__ acc_t<T> add_products(const pack<T> &y, const pack<T> &dy,
                                                        acc_t<T> sum) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum = fma_(widen(y.v[v]), widen(dy.v[v]), sum);
    return sum;
}

template <bool WHOLE, typename T>
static __device__ __forceinline__ void store_slopes(const pack<T> &y, const pack<T> &dy,
                                                    acc_t<T> sum, T *dx, int64_t left, bool packs) {
    acc_t<T> slope[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v)
        slope[v] = widen(y.v[v]) * (widen(dy.v[v]) - sum);
    store_part<WHOLE>(dx, narrow_pack<T>(slope), left, packs);
}

template <typename T, int HELD, bool WHOLE>
static __global__ void __launch_bounds__(GROUP_THREADS, WHOLE ? 4 : 2)
    grad(matrix<const T> y, matrix<const T> dy, matrix<T> dx, split cut) {
    const group_place<T> at(cut.lanes);
    const int64_t i = (int64_t)blockIdx.x * at.groups + at.group, length = i < cut.rows ? cut.d : 0;
    const int there = at.template held_of<HELD>(length);
    pack<T> held[HELD], given[HELD];
    acc_t<T> sum = 0;
    load_held<WHOLE, true>(y.row(i), length, at, cut.packs, narrow<T>(0), held);
    load_held<WHOLE, true>(dy.row(i), length, at, cut.packs, narrow<T>(0), given);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        sum = add_products(held[p], given[p], sum);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
        sum = add_products(load_pack(y.row(i) + j, length - j, cut.packs),
                           load_pack(dy.row(i) + j, length - j, cut.packs), sum);
    sum = reduce_group<group_add>(sum, cut.lanes, 0);
    keep_packed(held);
    keep_packed(given);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        store_slopes<WHOLE>(held[p], given[p], sum, dx.row(i) + at.column(p), there - at.column(p),
                            cut.packs);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
        store_slopes<false>(load_pack(y.row(i) + j, length - j, cut.packs),
                            load_pack(dy.row(i) + j, length - j, cut.packs), sum, dx.row(i) + j,
                            length - j, cut.packs);
}

template <typename T>
static split split_for(const assay_tensor *a, const assay_tensor *b, const assay_tensor *c,
                       int few) {
    const int64_t d = assay_tensor_row_length(a);
    const row_share share = share_row<T>(d, few, MOST_HELD);
    return {assay_tensor_rows(a), d, share.lanes, share.held,
            takes_packs(a) && takes_packs(b) && (c == NULL || takes_packs(c))};
}

static dim3 grid_of(const split &cut) {
    return whole_grid(ceil_div(cut.rows, GROUP_THREADS / cut.lanes));
}

template <typename T, int FEW, typename Launch>
static assay_status with_share_of(const split &cut, Launch launch) {
    return with_share<T, FEW, MOST_HELD>(cut.d, {cut.lanes, cut.held}, cut.packs, launch);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *y = &call->out[0];
    const split cut = split_for<T>(x, y, NULL, FEW_HELD);
    return with_share_of<T, FEW_HELD>(cut, [&](auto held, auto whole) {
        constexpr int HELD = decltype(held)::value;
        constexpr bool WHOLE = decltype(whole)::value;
        return ASSAY_LAUNCH(call->stream, grid_of(cut), dim3(GROUP_THREADS), 0,
                            (softmax<T, HELD, WHOLE>), matrix_of<const T>(x), matrix_of<T>(y), cut);
    });
}

/* Inputs: x, y, dy. */
template <typename T> static assay_status run_backward(const assay_call *call) {
    const assay_tensor *y = &call->in[1], *dy = &call->in[2], *dx = &call->out[0];
    const split cut = split_for<T>(y, dy, dx, FEW_HELD_BACKWARD);
    return with_share_of<T, FEW_HELD_BACKWARD>(cut, [&](auto held, auto whole) {
        constexpr int HELD = decltype(held)::value;
        constexpr bool WHOLE = decltype(whole)::value;
        return ASSAY_LAUNCH(call->stream, grid_of(cut), dim3(GROUP_THREADS), 0,
                            (grad<T, HELD, WHOLE>), matrix_of<const T>(y), matrix_of<const T>(dy),
                            matrix_of<T>(dx), cut);
    });
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(softmax, v3) = {
    .op = "softmax",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: rows in registers, 16 bytes at a time, one exp an element",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
