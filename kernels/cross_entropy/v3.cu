/*
 * cross_entropy v3, fused: the logits are read once forward, and once backward; with gradient=1
 * once for loss, lse and gradient together.
 *
 * A group of lanes (1 to 512, a whole block) takes one token's row. Forward keeps a running
 * maximum and sum in each lane (v3_row.h), so that one reading gives lse; a last block then takes
 * each token's loss from lse and a single logit and sums them in a fixed order, without atomics.
 * Backward needs only lse: dlogits goes out as the logits come in. With gradient=1 the group keeps
 * its row in shared memory until it has lse (v3_gradient.h). A row that does not fit, of more than
 * 114,688 logits in bf16 (f32: 57,344, f64: 28,672), is read twice, by the kernels of forward and
 * backward one after the other.
 *
 * Against v1: the logits are read once instead of twice (with gradient=1: instead of three times),
 * neighbouring lanes read neighbouring packs of 16 bytes, several at once, exp is one instruction
 * of the special function unit instead of 20, and the loss is summed by a block. Bytes: the logits
 * once forward; once, and dlogits once, backward and with gradient=1. Instructions for each bf16
 * logit, as nvcc compiles: 9 forward, 12 backward, one of either on the special function unit.
 *
 * The step before had exp of kernels/common/exp.h, one branch before each load, and kept rows in
 * fp32, one block a multiprocessor. t = 4096, v = 50304, bf16, cold, H100: 256 us forward, 312
 * backward, 834 with gradient=1 then, 164, 285 and 292 now; memory alone takes 137, 275 and 275.
 * Rows that a warp was too few for had a whole block each: v = 10000, 71, 75 and 91 us then, 46, 63
 * and 67 with 128, 256 and 256 lanes.
 */
#include "kernels/cross_entropy/v3_gradient.h"
#include "kernels/cross_entropy/v3_row.h"

enum { MEAN_THREADS = 1024, MOST_PACKS = 16, MOST_GRADED = 8, BATCH = 4 };

template <typename T>
static __device__ __forceinline__ row_sum<acc_t<T>> part_of_row(const tokens<T> &x, const group &g,
                                                                bool packs) {
    row_sum<acc_t<T>> part = empty_row<acc_t<T>>();
    each_pack<BATCH>(x.logits + g.row * x.stride, x.v, g.column<T>(), g.step<T>(), packs,
                     narrow<T>(minus_infinity<acc_t<T>>()),
                     [&](const pack<T> &p, int64_t) { add(part, p); });
    return part;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    sum_rows(tokens<T> x, acc_t<T> *lse, int lanes, bool packs) {
    const group g = group_of(lanes);
    row_sum<acc_t<T>> row = empty_row<acc_t<T>>();
    if (g.row < x.t)
        row = part_of_row(x, g, packs);
    row = merge_lanes(row, lanes);
    if (g.row < x.t && g.lane == 0)
        lse[g.row] = lse_of(row);
}

/* No templates, see room_for_warps. */
static __device__ __forceinline__ float *room_for_threads(float) {
    __shared__ float room[MEAN_THREADS];
    return room;
}
static __device__ __forceinline__ double *room_for_threads(double) {
    __shared__ double room[MEAN_THREADS];
    return room;
}

/* One block: each thread sums every 1024th token, then halves are added to halves. */
template <typename T>
static __global__ void __launch_bounds__(MEAN_THREADS)
    mean_loss(tokens<T> x, const acc_t<T> *lse, acc_t<T> *loss) {
    acc_t<T> *part = room_for_threads(acc_t<T>());
    acc_t<T> sum = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < x.t; i += MEAN_THREADS)
        sum += loss_of(x, i, lse[i]);
    part[threadIdx.x] = sum;
    for (int half = MEAN_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        *loss = part[0] / (acc_t<T>)x.t;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    grad_rows(tokens<T> x, gradient<T> to, int lanes, bool packs, bool to_packs) {
    const group g = group_of(lanes);
    if (g.row >= x.t)
        return;
    const acc_t<T> scale = scale_of(x, to), lse = to.lse[g.row];
    const int64_t target = x.target[g.row];
    T *result = to.dlogits + g.row * to.stride;
    each_pack<BATCH>(x.logits + g.row * x.stride, x.v, g.column<T>(), g.step<T>(), packs,
                     narrow<T>(0), [&](const pack<T> &p, int64_t j) {
                         store_pack(result + j, grade(p, j, target, lse, scale), x.v - j, to_packs);
                     });
}

template <typename T> static assay_status launch_sum_rows(const assay_call *call) {
    const tokens<T> x = tokens_of<T>(call);
    const int lanes = lanes_for<T>(x.v, MOST_PACKS);
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(x.t, THREADS / lanes)), dim3(THREADS), 0,
                        (sum_rows<T>), x, static_cast<acc_t<T> *>(call->out[1].data), lanes,
                        takes_packs(&call->in[0]));
}

/* `dlogits` is the tensor that g writes. */
template <typename T>
static assay_status launch_grad_rows(const assay_call *call, const gradient<T> &g,
                                     const assay_tensor *dlogits) {
    const tokens<T> x = tokens_of<T>(call);
    const int lanes = lanes_for<T>(x.v, MOST_GRADED);
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(x.t, THREADS / lanes)), dim3(THREADS), 0,
                        (grad_rows<T>), x, g, lanes, takes_packs(&call->in[0]),
                        takes_packs(dlogits));
}

/* lse, and the gradient where it is wanted. */
template <typename T> static assay_status launch_rows(const assay_call *call) {
    if (!wants_gradient(call))
        return launch_sum_rows<T>(call);
    const keeping plan = keeping_for<T>(call->in[0].shape[1]);
    if (plan.fits)
        return launch_sum_and_grade<T>(call, plan);
    const assay_status status = launch_sum_rows<T>(call);
    if (status != ASSAY_OK)
        return status;
    return launch_grad_rows(call, gradient_of_one<T>(call), &call->out[2]);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const assay_status status = launch_rows<T>(call);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, dim3(1), dim3(MEAN_THREADS), 0, (mean_loss<T>),
                        tokens_of<T>(call), static_cast<const acc_t<T> *>(call->out[1].data),
                        static_cast<acc_t<T> *>(call->out[0].data));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return launch_grad_rows(call, gradient_of<T>(call), &call->out[0]);
}

static assay_status forward(const assay_call *call) {
    return CROSS_ENTROPY_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return CROSS_ENTROPY_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(cross_entropy, v3) = {
    .op = "cross_entropy",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: the logits read once, 16 bytes at a time, for the gradient as well",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
