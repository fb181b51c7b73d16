/*
 * attention v3_hopper, ours, for sm_90a alone, bf16 and f16: by TMA and wgmma.
 *
 * Forward. A block stays on its multiprocessor and takes tiles of 128 queries, or, where d is at
 * most 64, of 128, 192 or 256, as divides best, of one head or group of heads after the other,
 * whose keys and values stay in L2 (hopper_groups.h). One thread brings queries, keys and values by
 * TMA; the other warpgroups have 64 queries each (hopper_plan.h, hopper_forward.h). The online
 * softmax is v3's with three changes. exp2 is the special function unit's, whose bits the simulated
 * device has. A row's base moves not with every larger score but once weights would exceed 2^8, so
 * that o is hardly ever multiplied. And behind the first tile of keys nothing waits for a look at
 * the products: weights are made at once, relative to the base, and their sums, which are needed
 * anyway, tell whether they fit. Where they do not, the warp makes the tile's products again, by
 * mma.sync, moves its rows' bases to the largest ones, and looks before it weighs until the walk
 * ends; where registers are few or d is more than 128, it always looks (hopper_plan.h). A weight's
 * exponent is one fma: in bits, a base is rounded once for all of a row (hopper_forward.h). Where d
 * is at most 32, or from 65 to 96, so many columns are multiplied. Four lanes trade their words of
 * o, so that each stores 16 bytes. H100, bf16, b = 4, h = 16, causal, in microseconds, stores of 4
 * bytes, of 16, cuDNN: s = 512, d = 128 29.5, 25.1, 24.8; d = 256 52.1, 43.4, 42.8; s = 4096, d =
 * 64 340, 317, 335; d = 128 464, 443, 559. Without a mask all heads at once, two after two, cuDNN:
 * s = 1024, d = 128 79.8, 69.3, 63.1; d = 256 150, 112, 121. Tiles of 128 or 192 queries, of 256,
 * cuDNN: d = 64, s = 512 21.8, 19.6, 18.1; s = 1024 49.3, 48.0, 46.2, causal 39.1, 35.5, 37.2; s =
 * 2048 164, 156, 156. With one fma, few columns and stores without branches, before, after, cuDNN,
 * without a mask: s = 1024, d = 32 44.7, 40.5, 46.2; d = 64 47.4, 43.5, 47.5; d = 80 67.5, 61.3,
 * 62.4; s = 4096, d = 32 525, 477, 627; d = 64 527, 479, 568; d = 80 790, 710, 789; d = 128 789,
 * 802, 818. Without a look behind the first tile, before, after, cuDNN, without a mask: s = 512, d
 * = 128 28.0, 26.6, 25.9; s = 4096, d = 32 493, 415, 573; d = 80 723, 663, 795; d = 128 837, 744,
 * 822. A leap of each row by 2^140 in s = 4096, d = 128 837, 793; scores that grow all along the
 * walk 858, 905. With d = 64 a group hands stages back as one, and a block's first loads begin
 * before its threads meet, before, after: s = 512 20.3, 18.6, cuDNN of an earlier call 18.8; s =
 * 1024 47.9, 45.4, causal 37.6, 33.2; s = 4096 502, 509, causal 302, 302.
 *
 * Backward. A block has 128 keys and walks along the queries that see them
 * (hopper_backward_plan.h, hopper_backward.h): 5 products for each pair of tiles, where v3's two
 * kernels make 7. dq is added up in fp32 in memory, in one order, by all blocks of a head, by bulk
 * copies from shared memory. Such additions take subnormal numbers for zero. Products of dS and k
 * in f16 are multiples of 2^-48, as are their sums, so that nothing is lost; in bf16 they may be
 * subnormal, and sums carry a factor of 2^23, with which none is. Where they overflow with it,
 * which takes sums beyond 2^105, dq is made again in v3's tiles (hopper_again.h).
 *
 *                                             flops           b = 8, s = 16384, causal, d = 128
 *     v3: scores made twice                   14 sq sk d      1.92 TFLOP, 1.9 ms at 989 TFLOP/s
 *     dS made once and kept, as in fp32       10 sq sk d      1.4 ms, and 4.3 GB of dS: 1.3 ms
 *     dq added up in memory                   10 sq sk d      1.4 ms, and 4.3 GB of sums in L2
 *         Backward, f16, H100, cold, d 64 / 128: v3 3,861 / 7,202 us, cuDNN 1,527 / 2,659; with red
 *         by the consumers 1,844 / 5,069, by bulk copies that other threads start 1,846 / 4,733;
 *         without the adds 1,365 / 2,352. All heads were under way at once, whose sums, q and do
 *         are more than L2 holds.
 *     heads in groups, whose walks go up and down by turns: a group fits into L2, and short walks
 *         meet long ones (hopper_backward_plan.h). H200: 1,328 / 2,334, all heads at once 1,691 /
 *         3,734, cuDNN 1,682 / 2,532.
 *     without a mask eight heads at least are under way: s = 8192, d = 80 / 128 1,175 / 1,325 us,
 *         then 1,143 / 1,241.
 *     where d is at most 32, or from 65 to 96, so many columns: b = 4, h = 16, s = 1024, d = 32 /
 *         80 124 / 213, then 101 / 190, cuDNN 125 / 203.
 *
 *     without a mask, other blocks round the last heads' dq: their last walks took a quarter
 * longer, when most multiprocessors were idle. H100, bf16, before, after: b = 8, h = 1, s = 8192, d
 *         = 64 / 128 787 / 1,260, 756 / 1,181, cuDNN of an earlier call 1,198 for d = 128; s =
 *         16384, least of nine, 4,629, 4,475; b = 4, h = 16, d = 128, s = 1024 225, 223; s = 2048
 *         695, 683; b = 1, h = 8, s = 2048 143, 133. With chains of two links it was slower: b = 8,
 *         h = 16, s = 256 62.6, 72.9.
 *     without any adds, which leaves dq wrong, 1,177 in place of 1,250 for s = 8192, with q and do
 *         loaded once 1,175: L2 is not what bounds it. So clusters of two blocks do not pay: with q
 *         and do multicast 1,850, with their dq added in shared memory first 1,890, both 1,904.
 *         Tiles of 80 queries: bf16 1,259, 1,302, f16 s = 16384 4,805, 4,671, causal slower.
 *
 * Backward where d is more than 128. dk and dv of 64 keys fill the registers (hopper_wide_plan.h),
 * so that links of 64 keys would be twice as many as of 128 for the same flops: a multiprocessor
 * adds 64 KB to sums in L2 in each step, for which copies that add take 7,000 cycles (H100, sums of
 * 24 MB, 2.0 TB/s). So dq has a kernel of its own (hopper_wide_queries.h), which makes scores once
 * more, and there are no chains. Cycles of a tile of keys and one of queries, 64 each, at 4,096
 * flops and 128 bytes of shared memory a cycle and multiprocessor:
 *
 *                                                products         shared memory
 *     v3: scores made three times, mma.sync      4,608 cycles
 *     wgmma, dq added up in memory               2,560            504 KB, 4,032 cycles
 *     dk and dv; dq                              2,048; 1,536     304 KB, 192 KB, 3,968 cycles
 *         dk and dv: scores 128 KB, products 64, P, which one warpgroup tells the other, 48, copies
 *         of q and do 64. dq: scores 128 KB, products 32, copies of k and v 32
 *
 * H100, bf16, b = 4, h = 16, d = 256, cold, in microseconds, dq added up in memory, in a kernel of
 * its own, cuDNN: s = 512 252, 178, 214; s = 2048 2,140, 1,622, 1,942; causal, s = 512 190, 141,
 * 164; s = 2048 1,325, 914, 1,114; s = 4096 4,356, 3,265, 3,693; b = 8, h = 1, s = 16384 7,795,
 * 6,082, 6,801.
 *
 * Copies by TMA ask for tensors that begin at multiples of 16 bytes, as their rows do; where one
 * does not, v3's tiles compute instead. What a box has beyond a head's rows or columns is zero.
 *
 * Flops: forward 4 sq sk d a head, backward 10, or 14 where d is more than 128, of which causality
 * hides half; d counts as 32, 64, 96, 128 or 256. Bytes, forward: q and o once; k and v once for
 * each tile of queries, most of it from L2. Backward: k, v, dk and dv once; q, do and 4 bytes for
 * each element of dq once for each tile of keys, most of it in L2; or, of a kernel for dq, k and v
 * once for each tile of queries. Sums have one order: along k and v, and along queries, they ascend
 * in steps of 16; a row's sum of weights is two chains for each thread and tile of keys, then along
 * the tiles, then over four threads; dq's tiles of keys descend. In backward of an odd group of
 * heads tiles of queries descend, and dq's tiles of keys ascend.
 *
 * H200, bf16, b = 8, s = 16384, causal, d = 64 / 128, cold, in microseconds: forward 584 / 829, v3
 * 1,434 / 2,254, cuDNN 659 / 924; backward 1,350 / 2,270, v3 3,787 / 7,185, cuDNN 1,628 / 2,426.
 */
#include "kernels/attention/hopper_again.h"
#include "kernels/attention/hopper_forward.h"
#include "kernels/attention/hopper_gradients.h"
#include "kernels/attention/hopper_terms.h"
#include "kernels/attention/hopper_wide_keys.h"
#include "kernels/attention/hopper_wide_queries.h"
#include "kernels/attention/v3_launch.h"

static constexpr float LEAP = 8;
/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

typedef hopper_plan<64, 3, 128, 10> narrow_plan;
typedef hopper_plan<64, 2, 128, 10> short_plan;
typedef hopper_plan<64, 4, 64, 16> tall_plan;
typedef hopper_plan<64, 4, 64, 16, 32> slim_plan;
typedef hopper_plan<128, 2, 128, 6> middle_plan;
typedef hopper_plan<128, 2, 128, 6, 96> lean_plan;
typedef hopper_plan<256, 2, 64, 5> wide_plan;
typedef backward_plan<64, 128, 2> narrow_backward;
typedef backward_plan<64, 128, 2, 32> slim_backward;
typedef backward_plan<128, 64, 2, 96> lean_backward;
typedef backward_plan<128, 64, 2> middle_backward;

static tensor_lines lines_of(const assay_tensor *t, int lines) {
    const int64_t length = t->shape[2], stride = assay_tensor_row_stride(t);
    return {t->data,        t->shape[3], length, stride, lines, t->shape[0] * t->shape[1],
            length * stride};
}

/* Whether copies take it: what begins at multiples of 16 bytes, and is not empty. */
static bool can_be_mapped(const assay_tensor *t) {
    const int64_t stride = assay_tensor_row_stride(t), heads = t->shape[0] * t->shape[1];
    const int64_t most_stride = INT64_C(1) << 39; /* elements, less than 2^40 bytes */
    return (uintptr_t)t->data % 16 == 0 && stride % PACK == 0 && t->shape[2] > 0 && heads > 0 &&
           t->shape[2] <= MOST_EXTENT && heads <= MOST_EXTENT && stride < most_stride / t->shape[2];
}

static bool is_mapped(const tensors &t) {
    return can_be_mapped(t.q) && can_be_mapped(t.k) && can_be_mapped(t.v) &&
           (!t.dout || can_be_mapped(t.dout));
}

template <typename Plan> static assay_status make_maps(const tensors &t, hopper_maps *maps) {
    const tensor_lines q = lines_of(t.q, GROUP_ROWS), k = lines_of(t.k, Plan::KEYS);
    const tensor_lines v = lines_of(t.v, Plan::KEYS);
    assay_status status = make_tensor_map(&maps->q, &q);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps->k, &k);
    return status == ASSAY_OK ? make_tensor_map(&maps->v, &v) : status;
}

template <typename Plan, typename T> static assay_status launch(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    const exponent e = to_log2(n);
    const hopper_problem<T> p = {n,
                                 groups_of_tiles<Plan>(n),
                                 e.factor,
                                 LEAP / e.factor,
                                 result_rows_of<T>(t.o),
                                 rows_of<float>(t.lse)};
    const int64_t tiles = n.heads * ceil_div(n.sq, Plan::ROWS);
    hopper_maps maps = {};
    const assay_status status = make_maps<Plan>(t, &maps);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, whole_grid(clamp(tiles, 0, ASSAY_MULTIPROCESSORS)),
                        dim3(Plan::THREADS), Plan::SHARED, (attend_on_hopper<Plan, T>), p, maps);
}

/* About how long it takes: scores that a multiprocessor makes, those of the last round's idle ones
 * included, times `each`, how long one takes of such tiles. With causal=1 a walk is as long as the
 * longest one in a single round, and as the mean one of rounds to and fro, and makes half a tile of
 * keys too many. */
template <typename Plan> static double duration_of(const sizes &n, double each) {
    const int64_t rounds = ceil_div(n.heads * ceil_div(n.sq, Plan::ROWS), ASSAY_MULTIPROCESSORS);
    const int64_t mean = clamp(n.sk - (n.sq - Plan::ROWS) / 2, 0, n.sk) + Plan::KEYS / 2;
    const int64_t walk = n.causal && rounds > 1 ? mean : n.sk;
    return (double)(rounds * Plan::ROWS) * (double)walk * each;
}

/* The more warpgroups, the better they overlap, but of four each has registers for 64 keys at a
 * time only; and where there are few tiles, some sizes divide better than others. */
template <typename T> static assay_status launch_narrow(const assay_call *call) {
    const sizes n = sizes_of(call->params);
    const double narrow = duration_of<narrow_plan>(n, 16), tall = duration_of<tall_plan>(n, 17);
    const double low = duration_of<short_plan>(n, 20);
    return low < narrow && low < tall ? launch<short_plan, T>(call)
           : tall < narrow            ? launch<tall_plan, T>(call)
                                      : launch<narrow_plan, T>(call);
}

template <typename T> static assay_status forward_of(const assay_call *call) {
    const int64_t d = call->in[0].shape[3];
    if (!is_mapped(tensors_of(call, ASSAY_FORWARD)))
        return DISPATCH_DEPTH(run_forward, tensor_core<T>, call);
    return d <= 32    ? launch<slim_plan, T>(call)
           : d <= 64  ? launch_narrow<T>(call)
           : d <= 96  ? launch<lean_plan, T>(call)
           : d <= 128 ? launch<middle_plan, T>(call)
                      : launch<wide_plan, T>(call);
}

/* ---- backward ---- */

/* The workspace: dq's sums of whole tiles, the terms of their queries, and counts: the draw,
 * whether a sum is LOST, the chains'. */
struct backward_space {
    int64_t padded; /* queries of a head */
    size_t terms, counts, bytes;
    int64_t n_counts;
};

template <typename Plan> static backward_space space_of(const sizes &n) {
    const int64_t tiles = ceil_div(n.sq, Plan::QUERIES);
    backward_space s = {};
    s.padded = tiles * Plan::QUERIES;
    s.n_counts = 2 + n.heads * tiles;
    s.terms = (size_t)(n.heads * tiles * Plan::SUMS) * sizeof(float);
    s.counts = s.terms + (size_t)(n.heads * s.padded) * sizeof(float2);
    s.bytes = s.counts + (size_t)s.n_counts * sizeof(unsigned);
    return s;
}

template <typename Plan>
static assay_status make_backward_maps(const tensors &t, const float2 *terms, int64_t padded,
                                       backward_maps *maps) {
    const int64_t heads = t.q->shape[0] * t.q->shape[1], lines = padded / TERM_QUERIES;
    const tensor_lines of_terms = {
        terms, TENSOR_BOX_LENGTH,        lines, TENSOR_BOX_LENGTH, Plan::QUERIES / TERM_QUERIES,
        heads, lines * TENSOR_BOX_LENGTH};
    const struct {
        tensor_map *map;
        tensor_lines lines;
    } all[] = {{&maps->q, lines_of(t.q, Plan::QUERIES)},
               {&maps->k, lines_of(t.k, Plan::ROWS)},
               {&maps->v, lines_of(t.v, Plan::ROWS)},
               {&maps->dout, lines_of(t.dout, Plan::QUERIES)},
               {&maps->terms, of_terms}};
    assay_status status = ASSAY_OK;
    for (const auto &one : all)
        if (status == ASSAY_OK)
            status = make_tensor_map(one.map, &one.lines);
    return status;
}

template <typename Plan, typename T>
static assay_status make_lost_again(const assay_call *call, const backward_on_hopper<T> &sums,
                                    const rows<float2> &terms) {
    typedef tensor_core<T> core;
    typedef typename plans<core, Plan::D>::queries tiles;
    backward_problem<T> p = backward_problem_of<T>(call);
    p.terms = terms;
    const int64_t blocks = p.n.heads * ceil_div(p.n.sq, tiles::ROWS);
    return ASSAY_LAUNCH(call->stream,
                        whole_grid(clamp(blocks, 0, tiles::BLOCKS * ASSAY_MULTIPROCESSORS)),
                        dim3(tiles::THREADS), (backward_shared<core, tiles>() * sizeof(T)),
                        (lost_gradients<core, tiles, Plan::QUERIES>), p, sums.counts, sums.lost);
}

template <typename Plan, typename T> static assay_status launch_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const sizes n = sizes_of(call->params);
    const backward_space space = space_of<Plan>(n);
    char *const workspace = static_cast<char *>(call->workspace);
    float2 *const terms = reinterpret_cast<float2 *>(workspace + space.terms);
    unsigned *const counts = reinterpret_cast<unsigned *>(workspace + space.counts);
    const terms_problem<T> of_terms = {n,
                                       space.padded,
                                       sequence_of<const T>(t.o),
                                       sequence_of<const T>(t.dout),
                                       rows_of<const float>(t.lse),
                                       terms,
                                       counts,
                                       space.n_counts};
    const backward_on_hopper<T> p = {n,
                                     groups_of_walks<Plan>(n),
                                     result_rows_of<T>(t.dq),
                                     result_rows_of<T>(t.dk),
                                     result_rows_of<T>(t.dv),
                                     reinterpret_cast<float *>(workspace),
                                     counts + 2,
                                     counts,
                                     counts + 1};
    backward_maps maps = {};
    assay_status status = make_backward_maps<Plan>(t, terms, space.padded, &maps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(n.heads * space.padded, TERMS_QUERIES),
                              dim3(TERMS_THREADS), 0, (make_hopper_terms<T>), of_terms);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream,
                              whole_grid(n.heads * ceil_div(n.sk, Plan::ROWS) +
                                         (rounds_apart<Plan>(n) ? ASSAY_MULTIPROCESSORS : 0)),
                              dim3(Plan::THREADS), Plan::SHARED, (gradients_on_hopper<Plan, T>), p,
                              maps);
    if constexpr (LINK_SCALE<T> != 1)
        if (status == ASSAY_OK)
            status = make_lost_again<Plan>(call, p, {terms, space.padded});
    return status;
}

/* Where d is more than 128: the terms of whole tiles are all of the workspace. */
static int64_t padded_queries(const sizes &n) {
    return ceil_div(n.sq, wide_keys_plan::QUERIES) * wide_keys_plan::QUERIES;
}

template <typename T> static assay_status launch_wide_backward(const assay_call *call) {
    typedef wide_keys_plan keys;
    typedef wide_queries_plan queries;
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const sizes n = sizes_of(call->params);
    const int64_t padded = padded_queries(n);
    float2 *const terms = static_cast<float2 *>(call->workspace);
    const terms_problem<T> of_terms = {n,
                                       padded,
                                       sequence_of<const T>(t.o),
                                       sequence_of<const T>(t.dout),
                                       rows_of<const float>(t.lse),
                                       terms,
                                       nullptr,
                                       0};
    const wide_keys_problem<T> of_keys = {n, groups_of_places<keys>(n, n.sk, n.sq),
                                          result_rows_of<T>(t.dk), result_rows_of<T>(t.dv)};
    const wide_queries_problem<T> of_queries = {
        n, groups_of_tiles<queries>(n), result_rows_of<T>(t.dq), {terms, padded}};
    const auto blocks = [](int64_t tiles) {
        return whole_grid(clamp(tiles, 0, ASSAY_MULTIPROCESSORS));
    };
    backward_maps maps = {};
    assay_status status = make_backward_maps<keys>(t, terms, padded, &maps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, linear_grid(n.heads * padded, TERMS_QUERIES),
                              dim3(TERMS_THREADS), 0, (make_hopper_terms<T>), of_terms);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, blocks(n.heads * ceil_div(n.sk, keys::ROWS)),
                              dim3(keys::THREADS), keys::SHARED, (gradients_of_wide_keys<keys, T>),
                              of_keys, maps);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, blocks(n.heads * ceil_div(n.sq, queries::ROWS)),
                              dim3(queries::THREADS), queries::SHARED,
                              (gradients_of_wide_queries<queries, T>), of_queries, maps);
    return status;
}

template <typename T> static assay_status backward_by_copies(const assay_call *call) {
    const int64_t d = sizes_of(call->params).d;
    return d <= 32    ? launch_backward<slim_backward, T>(call)
           : d <= 64  ? launch_backward<narrow_backward, T>(call)
           : d <= 96  ? launch_backward<lean_backward, T>(call)
           : d <= 128 ? launch_backward<middle_backward, T>(call)
                      : launch_wide_backward<T>(call);
}

template <typename T> static assay_status backward_of(const assay_call *call) {
    return is_mapped(tensors_of(call, ASSAY_BACKWARD))
               ? backward_by_copies<T>(call)
               : DISPATCH_DEPTH(run_backward, tensor_core<T>, call);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const size_t fallback = v3_workspace(stage, call);
    const sizes n = sizes_of(call->params);
    if (stage == ASSAY_FORWARD)
        return fallback;
    const size_t own = n.d <= 32    ? space_of<slim_backward>(n).bytes
                       : n.d <= 64  ? space_of<narrow_backward>(n).bytes
                       : n.d <= 96  ? space_of<lean_backward>(n).bytes
                       : n.d <= 128 ? space_of<middle_backward>(n).bytes
                                    : (size_t)(n.heads * padded_queries(n)) * sizeof(float2);
    return own > fallback ? own : fallback;
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
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
