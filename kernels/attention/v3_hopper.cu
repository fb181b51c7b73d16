/*
 * attention v3_hopper, ours, for sm_90a alone, bf16 and f16: v3's forward by TMA and wgmma. Its
 * backward is v3's.
 *
 * A block stays on its multiprocessor and takes tiles of 192 queries, or of 128 where d is more
 * than 64. One thread brings queries, keys and values by TMA; the other warpgroups have 64 queries
 * each (hopper_plan.h, hopper_forward.h). The online softmax is v3's with two changes: exp2 is the
 * special function unit's, whose bits the simulated device has, and a row's base moves not with
 * every larger score but once weights would exceed 2^LEAP, so that o is hardly ever multiplied.
 *
 * Copies by TMA ask for tensors that begin at multiples of 16 bytes, as their rows do; where one
 * does not, v3's tiles compute instead. What a box has beyond a head's rows or columns is zero.
 *
 * Flops: 4 sq sk d a head, of which causality hides half; d counts as 64, 128 or 256. Bytes: q and
 * o once; k and v once for each tile of queries, most of it from L2. Sums have one order: along k
 * and v they ascend in steps of 16; a row's sum of weights is two chains for each thread and tile
 * of keys, then along the tiles, then over four threads.
 */
#include "kernels/attention/hopper_forward.h"
#include "kernels/attention/v3_launch.h"

static constexpr float LEAP = 8;
enum { PACKED = 8 /* elements of 16 bytes */ };

/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

typedef hopper_plan<64, 3, 128, 10> narrow_plan;
typedef hopper_plan<128, 2, 128, 6> middle_plan;
typedef hopper_plan<256, 2, 64, 5> wide_plan;

static tensor_lines lines_of(const assay_tensor *t, int lines) {
    const int64_t length = t->shape[2], stride = assay_tensor_row_stride(t);
    return {t->data,        t->shape[3], length, stride, lines, t->shape[0] * t->shape[1],
            length * stride};
}

/* Whether copies take it: what begins at multiples of 16 bytes, and is not empty. */
static bool can_be_mapped(const assay_tensor *t) {
    const int64_t stride = assay_tensor_row_stride(t), heads = t->shape[0] * t->shape[1];
    const int64_t most_stride = INT64_C(1) << 39; /* elements, less than 2^40 bytes */
    return (uintptr_t)t->data % 16 == 0 && stride % PACKED == 0 && t->shape[2] > 0 && heads > 0 &&
           t->shape[2] <= MOST_EXTENT && heads <= MOST_EXTENT && stride < most_stride / t->shape[2];
}

static bool is_mapped(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return can_be_mapped(t.q) && can_be_mapped(t.k) && can_be_mapped(t.v);
}

template <typename Plan> static assay_status make_maps(const tensors &t, hopper_maps *maps) {
    const tensor_lines q = lines_of(t.q, GROUP_ROWS), k = lines_of(t.k, Plan::KEYS);
    const tensor_lines v = lines_of(t.v, Plan::KEYS);
    assay_status status = make_tensor_map(&maps->q, &q);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps->k, &k);
    return status == ASSAY_OK ? make_tensor_map(&maps->v, &v) : status;
}

template <typename T> static bool has_pairs(const sequence<T> &x) {
    return x.d % 2 == 0 && x.stride % 2 == 0 && (uintptr_t)x.data % (2 * sizeof(T)) == 0;
}

template <typename Plan, typename T> static assay_status launch(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    const exponent e = to_log2(n);
    const sequence<T> o = sequence_of<T>(t.o);
    const hopper_problem<T> p = {n, e.factor,     LEAP / e.factor,
                                 o, has_pairs(o), rows_of<float>(t.lse)};
    const int64_t tiles = n.heads * ceil_div(n.sq, Plan::ROWS);
    hopper_maps maps = {};
    const assay_status status = make_maps<Plan>(t, &maps);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, whole_grid(clamp(tiles, 0, ASSAY_MULTIPROCESSORS)),
                        dim3(Plan::THREADS), Plan::SHARED, (attend_on_hopper<Plan, T>), p, maps);
}

template <typename T> static assay_status forward_of(const assay_call *call) {
    const int64_t d = call->in[0].shape[3];
    if (!is_mapped(call))
        return DISPATCH_DEPTH(run_forward, tensor_core<T>, call);
    return d <= 64    ? launch<narrow_plan, T>(call)
           : d <= 128 ? launch<middle_plan, T>(call)
                      : launch<wide_plan, T>(call);
}

template <typename T> static assay_status backward_of(const assay_call *call) {
    return DISPATCH_DEPTH(run_backward, tensor_core<T>, call);
}

static assay_status forward(const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? forward_of<__nv_bfloat16>(call)
                                             : forward_of<__half>(call);
}

static assay_status backward(const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? backward_of<__nv_bfloat16>(call)
                                             : backward_of<__half>(call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    const assay_dtype type = call->params->dtype;
    if (type != ASSAY_BF16 && type != ASSAY_F16)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "attention/v3_hopper: bf16 and f16 alone, not %s; v3 takes all types",
                          assay_dtype_name(type));
    return require_hopper("attention/v3_hopper");
}

ASSAY_VARIANT(attention, v3_hopper) = {
    .op = "attention",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3 on sm_90a, bf16 and f16: TMA, wgmma, exp2 of the special function unit",
    .supports = supports,
    .workspace = v3_workspace,
    .forward = forward,
    .backward = backward,
};
