/*
 * attention v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: forward by six products of
 * bf16 digits on tensor cores, in place of chains of fp32 multiply-adds.
 */
#include "kernels/attention/digit_forward.h"
#include "kernels/attention/digit_keys.h"
#include "kernels/attention/v3_launch.h"

typedef digit_plan<64, 64, 16> narrow_digits;
typedef digit_plan<128, 64, 8> middle_digits;
typedef digit_keys_plan<64, 64, 21> narrow_keys;
typedef digit_keys_plan<128, 32, 15> middle_keys;

/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

#define DISPATCH_FMA(function, call)                                                               \
    ((call)->in[0].shape[3] <= 16 ? function<fma_core, 16>(call)                                   \
                                  : DISPATCH_DEPTH(function, fma_core, call))

/* Whether digits are worth their while, and copies take them. */
static bool takes_digits(const sizes &n) {
    return n.d > 32 && n.d <= 128 && n.sq > 0 && n.sk > 0 && n.heads > 0 && n.sq <= MOST_EXTENT &&
           n.sk <= MOST_EXTENT && n.heads <= MOST_EXTENT / DIGITS;
}

static const unsigned *marks_at(const assay_call *call, const digit_space &space) {
    return reinterpret_cast<const unsigned *>(static_cast<char *>(call->workspace) + space.marks);
}

/* As many blocks as run at a time, or one for each tile. */
template <typename Plan> static dim3 resident_grid(int64_t tiles) {
    return whole_grid(clamp(tiles, 0, Plan::BLOCKS * ASSAY_MULTIPROCESSORS));
}

/* ---- forward ---- */

template <typename Plan> static assay_status forward_on_digits(const assay_call *call) {
    typedef typename plans<fma_core, Plan::D>::forward tiles;
    constexpr int D = Plan::D, SIDES = 3;
    const forward_problem<float> v3 = forward_problem_of<float>(call);
    const sizes &n = v3.n;
    const digit_space space = digit_space_of<D>(n, SIDES, 0);
    const unsigned *const marked = marks_at(call, space);
    digit_maps maps = {};
    assay_status status =
        map_digits<D>(call, space.side[0], n.heads, n.sq, GROUP_ROWS, &maps.q);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[1], n.heads, n.sk, Plan::KEYS, &maps.k);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[2], n.heads, n.sk, Plan::KEYS, &maps.v);
    if (status == ASSAY_OK)
        status = split_all<D>(call, tensors_of(call, ASSAY_FORWARD), n.heads, SIDES, space);
    const digit_problem p = {n, v3.to_log2.factor, v3.o, v3.lse, marked};
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(n.heads * ceil_div(n.sq, Plan::ROWS)),
                              dim3(Plan::THREADS), Plan::SHARED, (attend_on_digits<Plan>), p, maps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(
            call->stream, resident_grid<tiles>(n.heads * ceil_div(n.sq, tiles::ROWS)),
            dim3(tiles::THREADS), (forward_shared<fma_core, tiles>() * sizeof(float)),
            (forward_of_marked<fma_core, tiles>), v3, marked);
    return status;
}

static assay_status forward(const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits(n))
        return DISPATCH_FMA(run_forward, call);
    return n.d <= 64 ? forward_on_digits<narrow_digits>(call)
                     : forward_on_digits<middle_digits>(call);
}

/* ---- backward ---- */

/* Behind v3's terms and dS. */
template <int D> static digit_space backward_space_of(const sizes &n) {
    return digit_space_of<D>(n, SPLIT_SIDES, terms_bytes(n) + slopes_bytes(n));
}

template <typename Plan>
static assay_status part_on_digits(void *stream, const backward_problem<float> &p,
                                   const unsigned *marked, const digit_keys_maps &maps) {
    typedef typename plans<fma_core, Plan::D>::keys tiles;
    const auto tiles_of = [&](int64_t rows) { return p.part.heads * ceil_div(p.part.keys, rows); };
    assay_status status = ASSAY_LAUNCH(stream, whole_grid(tiles_of(Plan::ROWS)),
                                       dim3(Plan::THREADS), Plan::SHARED,
                                       (gradients_on_digits<Plan>), p, marked, maps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, resident_grid<tiles>(tiles_of(tiles::ROWS) * tiles::PARTS),
                              dim3(tiles::THREADS),
                              (backward_shared<fma_core, tiles>() * sizeof(float)),
                              (keys_of_marked<fma_core, tiles>), p, marked);
    return status == ASSAY_OK ? launch_kept<fma_core, Plan::D>(stream, p) : status;
}

template <typename Plan> static assay_status backward_on_digits(const assay_call *call) {
    static_assert(KEYS_EACH % Plan::ROWS == 0, "the keys of a tile are of one part");
    constexpr int D = Plan::D;
    backward_problem<float> p = backward_problem_of<float>(call);
    const sizes n = p.n;
    const digit_space space = backward_space_of<D>(n);
    const unsigned *const marked = marks_at(call, space);
    digit_keys_maps maps = {};
    assay_status status =
        map_digits<D>(call, space.side[0], n.heads, n.sq, Plan::QUERIES, &maps.q);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[1], n.heads, n.sk, Plan::ROWS, &maps.k);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[2], n.heads, n.sk, Plan::ROWS, &maps.v);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[3], n.heads, n.sq, Plan::QUERIES, &maps.dout);
    if (status == ASSAY_OK)
        status = split_all<D>(call, tensors_of(call, ASSAY_BACKWARD), n.heads, SPLIT_SIDES, space);
    if (status == ASSAY_OK)
        status = launch_terms(call->stream, p);
    for (p.part = part_at(n, 0, 0); status == ASSAY_OK && p.part.heads > 0;
         p.part = part_behind(n, p.part))
        status = part_on_digits<Plan>(call->stream, p, marked, maps);
    return status;
}

static assay_status backward(const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits(n))
        return DISPATCH_FMA(run_backward, call);
    return n.d <= 64 ? backward_on_digits<narrow_keys>(call)
                     : backward_on_digits<middle_keys>(call);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits(n))
        return v3_workspace(stage, call);
    if (stage == ASSAY_FORWARD)
        return n.d <= 64 ? digit_space_of<64>(n, 3, 0).bytes : digit_space_of<128>(n, 3, 0).bytes;
    return n.d <= 64 ? backward_space_of<64>(n).bytes : backward_space_of<128>(n).bytes;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    const assay_params *const params = call->params;
    if (params->dtype != ASSAY_F32 || params->math != ASSAY_STRICT)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "attention/v3_bf16x6: strict f32 alone; v3 takes all types");
    return require_hopper("attention/v3_bf16x6");
}

ASSAY_VARIANT(attention, v3_bf16x6) = {
    .op = "attention",
    .name = "v3_bf16x6",
    .device = ASSAY_DEVICE_NAME,
    .summary = "strict fp32 by six products of bf16 digits: TMA, wgmma",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
