/*
 * attention v3_bf16x6, ours, for sm_90a alone and strict fp32 alone: six products of bf16 digits on
 * tensor cores in place of chains of fp32 multiply-adds.
 *
 * First q, k and v, backward do, too, are split into three bf16 digits in the workspace, by
 * digit_split.h. Forward (digit_forward.h): a block has 128 queries, two warpgroups with 64 each,
 * and streams the digits of keys and values past theirs. Backward, for parts of the scores as v3
 * has them: dk, dv and dS (digit_keys.h), a block 64 keys and their values, whose warpgroups take
 * tiles of queries in turn; then dq from dS (digit_queries.h). P and dS are split in registers.
 * Every sum has one order. Heads without digits, head dims up to 32 and from 129 on, and cases of
 * few scores are v3's. docs/numerics.md tells of errors.
 *
 * Flops: 6 times 4 sq sk d a head forward, 6 times 10 backward, d as 64 or 128: at 989 TFLOP/s, b =
 * 8, s = 16384, d = 128 takes 6.7 and 16.7 ms. Bytes: 10 an element of q, k, v and do to split
 * them; 6 of q and o's rows once; k and v once for each 128 queries, 6 bytes an element, most of it
 * from L2, at about 16 bytes a cycle and multiprocessor. Backward q and do once for each 64 keys,
 * likewise, dS written and read once, k once for each 128 queries.
 *
 * In dk's and dv's kernel shared memory is short where d is 128: own digits take 96 KB, those of a
 * tile of 32 queries 48 KB. Products of 64 x 32 scores with both operands there read 3 KB in 16
 * cycles, which it brings in 24.
 *
 * H100, b = 8, h = 1, cold, no mask, in microseconds, v3, this: forward s = 1024, d = 64 72, 59; d
 * = 128 146, 98; s = 4096 956, 335; 1,971, 585; s = 16384 14,917, 4,568; 30,916, 8,308. Backward s
 * = 1024 176, 129; 349, 210; s = 4096 2,339, 1,231; 4,950, 2,202; s = 16384 36,446, 17,744; 78,132,
 * 37,351, the last before scores had slices. There, dq takes an eighth of it.
 */
#include "kernels/attention/digit_forward.h"
#include "kernels/attention/digit_keys.h"
#include "kernels/attention/digit_queries.h"
#include "kernels/attention/v3_launch.h"

typedef digit_plan<64, 64, 16> narrow_digits;
typedef digit_plan<128, 64, 8> middle_digits;
typedef digit_keys_plan<64, 32, 40> narrow_keys;
typedef digit_keys_plan<128, 32, 12> middle_keys;
typedef digit_queries_plan<64, 64, 24> narrow_queries;
typedef digit_queries_plan<128, 64, 12> middle_queries;

/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

#define DISPATCH_FMA(function, call)                                                               \
    ((call)->in[0].shape[3] <= 16 ? function<fma_core, 16>(call)                                   \
                                  : DISPATCH_DEPTH(function, fma_core, call))

/* Below so many scores for each multiprocessor, digits are not worth their while. */
static constexpr int64_t FEWEST_SCORES = 16384;

/* Whether they are, and copies take them. */
static bool takes_digits(const sizes &n) {
    return n.d > 32 && n.d <= 128 && n.heads > 0 && n.sq <= MOST_EXTENT && n.sk <= MOST_EXTENT &&
           n.heads <= MOST_EXTENT / DIGITS &&
           (double)n.heads * (double)n.sq * (double)n.sk >
               (double)FEWEST_SCORES * ASSAY_MULTIPROCESSORS;
}

static const head_marks *marks_at(const assay_call *call, const digit_space &space) {
    return reinterpret_cast<const head_marks *>(static_cast<char *>(call->workspace) + space.marks);
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
    const head_marks *const marks = marks_at(call, space);
    digit_maps maps = {};
    assay_status status = map_digits<D>(call, space.side[0], n.heads, n.sq, GROUP_ROWS, &maps.q);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[1], n.heads, n.sk, Plan::KEYS, &maps.k);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[2], n.heads, n.sk, Plan::KEYS, &maps.v);
    if (status == ASSAY_OK)
        status = split_all<D>(call, tensors_of(call, ASSAY_FORWARD), n.heads, SIDES, space);
    const digit_problem p = {n, v3.to_log2.factor, v3.o, v3.lse, marks};
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(n.heads * ceil_div(n.sq, Plan::ROWS)),
                              dim3(Plan::THREADS), Plan::SHARED, (attend_on_digits<Plan>), p, maps);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, resident_grid<tiles>(n.heads * ceil_div(n.sq, tiles::ROWS)),
                         dim3(tiles::THREADS), (forward_shared<fma_core, tiles>() * sizeof(float)),
                         (forward_of_marked<fma_core, tiles>), v3, marks);
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

struct backward_digit_maps {
    digit_keys_maps of_keys;
    tensor_map walked; /* keys, for dq */
};

template <typename Keys, typename Queries>
static assay_status part_on_digits(void *stream, const backward_problem<float> &p,
                                   const head_marks *marks, const backward_digit_maps &maps) {
    typedef typename plans<fma_core, Keys::D>::keys key_tiles;
    typedef typename plans<fma_core, Keys::D>::slopes query_tiles;
    const auto of_keys = [&](int64_t rows) { return p.part.heads * ceil_div(p.part.keys, rows); };
    const auto of_queries = [&](int64_t rows) { return p.part.heads * ceil_div(p.n.sq, rows); };
    assay_status status =
        ASSAY_LAUNCH(stream, whole_grid(of_keys(Keys::ROWS)), dim3(Keys::THREADS), Keys::SHARED,
                     (gradients_on_digits<Keys>), p, marks, maps.of_keys);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(
            stream, resident_grid<key_tiles>(of_keys(key_tiles::ROWS) * key_tiles::PARTS),
            dim3(key_tiles::THREADS), (backward_shared<fma_core, key_tiles>() * sizeof(float)),
            (keys_of_marked<fma_core, key_tiles>), p, marks);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(of_queries(Queries::ROWS)), dim3(Queries::THREADS),
                              Queries::SHARED, (queries_on_digits<Queries>), p, marks, maps.walked);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(stream, resident_grid<query_tiles>(of_queries(query_tiles::ROWS)),
                         dim3(query_tiles::THREADS), (slopes_shared<query_tiles>() * sizeof(float)),
                         (queries_of_marked<query_tiles>), p, marks);
    return status;
}

template <int D, typename Keys, typename Queries>
static assay_status map_backward(const assay_call *call, const sizes &n, const digit_space &space,
                                 backward_digit_maps *maps) {
    const struct {
        int side, box_lines;
        tensor_map *map;
    } all[] = {{0, Keys::QUERIES, &maps->of_keys.q},
               {1, Keys::ROWS, &maps->of_keys.k},
               {2, Keys::ROWS, &maps->of_keys.v},
               {3, Keys::QUERIES, &maps->of_keys.dout},
               {1, Queries::KEYS, &maps->walked}};
    assay_status status = ASSAY_OK;
    for (const auto &one : all)
        if (status == ASSAY_OK)
            status =
                map_digits<D>(call, space.side[one.side], n.heads,
                              one.side == 1 || one.side == 2 ? n.sk : n.sq, one.box_lines, one.map);
    return status;
}

template <typename Keys, typename Queries>
static assay_status backward_on_digits(const assay_call *call) {
    static_assert(KEYS_EACH % Keys::ROWS == 0, "the keys of a tile are of one part");
    static_assert(KEYS_EACH % Queries::KEYS == 0, "here, too");
    constexpr int D = Keys::D;
    backward_problem<float> p = backward_problem_of<float>(call);
    const sizes n = p.n;
    const digit_space space = backward_space_of<D>(n);
    const head_marks *const marks = marks_at(call, space);
    backward_digit_maps maps = {};
    assay_status status = map_backward<D, Keys, Queries>(call, n, space, &maps);
    if (status == ASSAY_OK)
        status = split_all<D>(call, tensors_of(call, ASSAY_BACKWARD), n.heads, SPLIT_SIDES, space);
    if (status == ASSAY_OK)
        status = launch_terms(call->stream, p);
    for (p.part = part_at(n, 0, 0); status == ASSAY_OK && p.part.heads > 0;
         p.part = part_behind(n, p.part))
        status = part_on_digits<Keys, Queries>(call->stream, p, marks, maps);
    return status;
}

static assay_status backward(const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits(n))
        return DISPATCH_FMA(run_backward, call);
    return n.d <= 64 ? backward_on_digits<narrow_keys, narrow_queries>(call)
                     : backward_on_digits<middle_keys, middle_queries>(call);
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
