/*
 * conv3d_groupnorm_mean v3, fused: forward never writes the convolution's output c to memory;
 * backward writes it once, and its cotangent dc over it.
 *
 * Forward: blocks compute boxes of c in registers, as a product of the window's patches with the
 * weights (v3_tile.h, v3_lines.h), and reduce them at once to each channel's mean and squared
 * deviations; a small kernel merges those and makes y (v3_statistics.h).
 *
 * Backward: the same blocks keep c. dc is linear in c, with coefficients that follow from the same
 * statistics, so that db, dgamma and dbeta need no more than them, and dc is made of c on its way
 * to products (v3_cotangent.h): dw multiplies it with the patches of x (v3_weights.h) and, where no
 * two blocks read the same c, leaves it in place of c; dx is its convolution with the flipped
 * weights (v3_input.h), by the code that makes c.
 *
 * An earlier v3 wrote no c: it computed boxes of c again, once for dw and 3.6 times, with a halo,
 * for dx, 8 units of 2 n Co P ci k^3 flops where there are 3.2 now: for c, for dw and, of more
 * positions and so 1.2, for dx. For that c is written and read once, and so is dc, which dx reads
 * with a halo of 2.8 times its size, mostly from the L2 cache.
 *
 * dx made dc, of each element 2.8 times, until dw left it, and its windows began where the taps do,
 * not where a pack may. In TF32, forward then went by boxes, whose windows overlap, and c was in
 * memory; now, where kernels are 3 x 3 x 3 and x has few channels, forward and dx go plane by plane
 * and fetch each once (v3_sweep.h, v3_planes.h), and dw makes c again (v3_whole.h): 2 n Co P ci
 * k^3 flops more for 8 n Co P bytes less. H100, last H200, cold, n=128 ci=3 k=3 g=8, microseconds:
 *
 *                         backward, fp32    backward, TF32       forward, TF32
 *     co=16 s=16x32x32    681  605          614  483  403 385    93  66  65  61
 *     co=24 s=24x32x32    1472 1295         1780 1054 685 660    148 122 113 106
 *
 * Last, a warp adds up the statistics of all planes that it has one behind the other (v3_run.h), so
 * that 24 pieces of a sample are merged, not 176 or 112. Before, planes are fetched with fewer
 * instructions, deviations are summed without branches, and three octets are multiplied by wgmma
 * (v3_warpgroup.h). Without any product forward of co=24 takes 67 us, without the statistics 89:
 * neither alone bounds it.
 *
 * At first v3 loaded each operand of x from shared memory for one tap. Now a lane's loads serve
 * three, along w on CUDA cores and along h on tensor cores: 0.08 wavefronts of shared memory for a
 * warp's multiply-add, before 0.14, where 0.25 would hold CUDA cores up; 1.1 for an instruction of
 * tensor cores, before 2.3, where 2 would hold them up. Weights stay in shared memory over all
 * boxes of a block.
 *
 * math=tf32 runs on tensor cores, with operands rounded to nearest, once, in shared memory;
 * everything behind the products is fp32. f32 and f64 run on CUDA cores.
 */
#include "kernels/common/partials.h"
#include "kernels/conv3d_groupnorm_mean/v3_input.h"
#include "kernels/conv3d_groupnorm_mean/v3_planes.h"
#include "kernels/conv3d_groupnorm_mean/v3_sweep.h"
#include "kernels/conv3d_groupnorm_mean/v3_whole.h"

enum {
    LINE = 64,                  /* longest line of a box: longer ones gain nothing */
    FETCH = 64,                 /* products that take as long as to fetch an element */
    TILES = 16,                 /* most tiles of a box of forward */
    WINDOW_BYTES = 40 << 10,    /* of a window that lets several blocks share a multiprocessor */
    COTANGENT_BYTES = 44 << 10, /* of the dc that a block of dw keeps */
    WEIGHT_BYTES = 32 << 10,    /* of all weights that such a block keeps */
    MULTIPROCESSOR_SHARED = 228 << 10,
    BLOCK_SHARED = 1 << 10, /* that each block takes beside its own */
};

/* The extent of boxes along a line of `extent` positions. */
static int line_of(int64_t extent, int pack) {
    return extent <= LINE ? (int)extent : round_up(ceil_div(extent, ceil_div(extent, LINE)), pack);
}

/* How a convolution is cut: in boxes of tiles. */
struct tile_plan {
    cut how;
    grid_of_boxes boxes;
    int tiles, groups, places, lead;
    bool resident;
};

static int tiles_in(const box &b, int span) {
    return b.d * (b.h / TILE_LINES) * (b.w / span);
}

template <typename Core> static tile_plan tile_plan_with(const sizes &z, const box &b, int lead) {
    const int64_t element = sizeof(typename Core::storage), pitch = Core::PITCH * element;
    const slice_budget budget = {WINDOW_BYTES / element, WEIGHT_BYTES / pitch, INT32_MAX,
                                 (int)z.k + lead};
    tile_plan plan = {cut_for(z, b, budget, (size_t)element),
                      boxes_in(z.out, b),
                      tiles_in(b, Core::SPAN),
                      (int)ceil_div(z.co, Core::GROUP),
                      0,
                      lead,
                      false};
    plan.places = round_up(plan.how.channels * plan.how.kd * z.k, 8);
    plan.resident =
        slices_of(plan.how) * plan.groups * element * group_weights<Core>(plan.how, (int)z.k) <=
        WEIGHT_BYTES;
    return plan;
}

/* The boxes that a convolution is cheapest in: few, with small windows that are fetched once. */
template <typename Core> static tile_plan tile_plan_for(const sizes &z, int lead = 0) {
    const int w = round_up(line_of(z.out.w, 1), Core::SPAN);
    tile_plan best = tile_plan_with<Core>(z, box_of(1, TILE_LINES, w), lead);
    int64_t least_cost = INT64_MAX;
    for (int h = TILE_LINES; h < z.out.h + TILE_LINES; h += TILE_LINES)
        for (int d = 1; d <= z.out.d; ++d) {
            const box b = box_of(d, h, w);
            if (tiles_in(b, Core::SPAN) > TILES)
                break;
            const tile_plan plan = tile_plan_with<Core>(z, b, lead);
            const int64_t rounds = ceil_div(plan.tiles, WARPS),
                          fetches = slices_of(plan.how) == 1 ? 1 : rounds * plan.groups;
            const int64_t products =
                rounds * WARPS * TILE_LINES * Core::SPAN * z.taps * plan.groups * Core::GROUP;
            const int64_t cost =
                size_of(plan.boxes) *
                (products + FETCH * fetches *
                                size_of(window_for(b, 1, (int)z.k, (int)z.k, (int)z.k,
                                                   sizeof(typename Core::storage))));
            if (cost < least_cost) {
                least_cost = cost;
                best = plan;
            }
        }
    return best;
}

/* Blocks that share the work of a convolution: all that multiprocessors hold, or one an item. */
template <typename Core>
static dim3 blocks_for(const sizes &z, const tile_plan &plan, size_t shared) {
    const int64_t items = z.n * size_of(plan.boxes) * ceil_div(plan.tiles, WARPS) * plan.groups;
    const int64_t held =
        clamp(MULTIPROCESSOR_SHARED / (int64_t)(shared + BLOCK_SHARED), 1, (int64_t)Core::BLOCKS);
    return linear_grid(clamp(items, 0, ASSAY_MULTIPROCESSORS * held), 1);
}

template <typename Core>
static convolution<typename Core::storage> convolution_of(const filters<typename Core::storage> &w,
                                                          const sizes &z, const tile_plan &plan) {
    const box &b = plan.how.positions;
    return {w,
            z,
            plan.how,
            divider_for((int)z.k),
            divider_for(b.w / (int)Core::SPAN),
            divider_for(b.h / (int)TILE_LINES),
            plan.groups,
            plan.places,
            plan.lead,
            plan.resident};
}

template <typename Core> static weight_plan weight_plan_with(const sizes &z, const box &b) {
    const int64_t element = sizeof(typename Core::storage);
    const int k = (int)z.k;
    const slice_budget budget = {WINDOW_BYTES / element, INT32_MAX, Core::TAPS, Core::width(k)};
    weight_plan plan = {cut_for(z, b, budget, (size_t)element),
                        window_for(b, Core::GROUP, 1, 1, 1, (size_t)element),
                        boxes_in(z.out, b),
                        (int)ceil_div(z.co, Core::GROUP),
                        0,
                        0,
                        0};
    plan.chunks = Core::chunks(plan.how.channels, plan.how.kd, k);
    plan.places = Core::places(plan.chunks);
    const int64_t units = (int64_t)slices_of(plan.how) * plan.chunks * plan.groups,
                  bytes = z.co * z.ci * z.taps * element,
                  wanted = clamp(MULTIPROCESSORS * Core::BLOCKS / units, 1, INT64_MAX);
    plan.splits = clamp(z.n * size_of(plan.boxes), 0, clamp(PARTIAL_BYTES / bytes, 1, wanted));
    return plan;
}

/* The boxes that dw is cheapest in: small windows, no places that do not exist. */
template <typename Core> static weight_plan weight_plan_for(const sizes &z) {
    const int64_t element = sizeof(typename Core::storage), budget = COTANGENT_BYTES / element;
    const int w = round_up(line_of(z.out.w, 1), Core::SPAN), k = (int)z.k;
    weight_plan best = weight_plan_with<Core>(z, box_of(1, TILE_LINES, w));
    int64_t least_cost = INT64_MAX;
    for (int h = TILE_LINES; h < z.out.h + TILE_LINES; h += TILE_LINES)
        for (int d = 1; d <= z.out.d; ++d) {
            const box b = box_of(d, h, w);
            const weight_plan plan = weight_plan_with<Core>(z, b);
            if (size_of(plan.cotangent) > budget)
                break;
            const int64_t window = size_of(window_for(b, 1, k, k, k, (size_t)element));
            const int64_t cost =
                size_of(plan.boxes) * (Core::work(b) * z.taps * z.ci * Core::GROUP +
                                       FETCH * (z.ci * window + size_of(plan.cotangent)));
            if (cost < least_cost) {
                least_cost = cost;
                best = plan;
            }
        }
    return best;
}

/* Calls `function<Core>(...)` with the core of tiles that suits the call's type and precision and
 * so many channels to be made: groups of tensor cores are the same, of at most 3 octets. */
#define BY_TILES(call, channels, function, ...)                                                    \
    ((call)->params->dtype == ASSAY_F64                                                            \
         ? ((channels) <= 3 ? function<fma_lines<double, 3>>(__VA_ARGS__)                          \
                            : function<fma_lines<double, 8>>(__VA_ARGS__))                         \
     : (call)->params->math != ASSAY_TF32                                                          \
         ? ((channels) <= 3 ? function<fma_lines<float, 3>>(__VA_ARGS__)                           \
                            : function<fma_lines<float, 8>>(__VA_ARGS__))                          \
     : octets_for(channels) == 1 ? function<tf32_lines<1>>(__VA_ARGS__)                            \
     : octets_for(channels) == 2 ? function<tf32_lines<2>>(__VA_ARGS__)                            \
                                 : function<tf32_lines<3>>(__VA_ARGS__))

/* The same for dw's sums. */
#define BY_SUMS(call, channels, function, ...)                                                     \
    ((call)->params->dtype == ASSAY_F64   ? function<fma_sums<double>>(__VA_ARGS__)                \
     : (call)->params->math != ASSAY_TF32 ? function<fma_sums<float>>(__VA_ARGS__)                 \
     : octets_for(channels) == 1          ? function<tf32_sums<1>>(__VA_ARGS__)                    \
     : octets_for(channels) == 2          ? function<tf32_sums<2>>(__VA_ARGS__)                    \
                                          : function<tf32_sums<3>>(__VA_ARGS__))

static int octets_for(int64_t channels) {
    const int64_t octets = ceil_div(channels, 8);
    return (int)ceil_div(octets, ceil_div(octets, 3));
}

/* The workspace, in this order. */
template <typename T> struct memory {
    kept<T> c;
    through_norm<T> *norm;
    pieces<T> parts;
    channel_state<T> state;
    T *squares, *partial;
    int64_t elements; /* of all */
};

/* Whether dw's kernel makes c again. */
template <typename Core> static bool dw_makes_c(const sizes &z) {
    return takes_whole<Core>(weight_plan_for<Core>(z));
}

/* Pieces of a sample that c is made in, and kept or not. */
template <typename Core> static int64_t pieces_for(const sizes &z, bool keeps) {
    if constexpr (Core::ROUNDS)
        if (sweeps<Core>(z))
            return sweep_pieces<Core::OCTETS_EACH>(z, keeps);
    const tile_plan plan = tile_plan_for<Core>(z);
    return size_of(plan.boxes) * plan.tiles;
}

/* `workspace` may be NULL, where the size is asked for; `splits` is 0 forward. */
template <typename T>
static memory<T> memory_at(T *workspace, const sizes &z, int64_t each, int64_t splits) {
    memory<T> m = {};
    const auto take = [&](int64_t elements) {
        T *const here = workspace ? workspace + m.elements : NULL;
        m.elements += elements;
        return here;
    };
    const int64_t all = z.n * each * z.co, channels = z.n * z.co;
    m.c.line = round_up(z.out.w, 8);
    if (splits > 0) {
        m.c.data = take(channels * channel_stride(m.c, z));
        m.norm = reinterpret_cast<through_norm<T> *>(
            take(channels * (int64_t)(sizeof(through_norm<T>) / sizeof(T))));
        m.partial = take(splits * z.co * z.ci * z.taps);
    }
    m.parts = {take(all), take(all), take(all), each};
    m.state = {take(channels), take(channels)};
    m.squares = take(channels);
    return m;
}

template <typename T>
static memory<T> memory_for(T *workspace, const assay_call *call, const sizes &z, bool backward) {
    const int64_t splits = backward ? BY_SUMS(call, z.co, weight_plan_for, z).splits : 0;
    const bool keeps = backward && !BY_SUMS(call, z.co, dw_makes_c, z);
    return memory_at(workspace, z, BY_TILES(call, z.co, pieces_for, z, keeps), splits);
}

template <typename T>
static memory<T> memory_of(const assay_call *call, const sizes &z, bool backward) {
    return memory_for(static_cast<T *>(call->workspace), call, z, backward);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes z = sizes_of(call);
    const bool backward = stage == ASSAY_BACKWARD;
    return call->params->dtype == ASSAY_F64
               ? (size_t)memory_for((double *)NULL, call, z, backward).elements * sizeof(double)
               : (size_t)memory_for((float *)NULL, call, z, backward).elements * sizeof(float);
}

/* Launches `kernel` with a warp for each of `items`. */
#define A_WARP_EACH(items, kernel, ...)                                                            \
    ASSAY_LAUNCH(call->stream, linear_grid(items, STATE_THREADS / WARP), dim3(STATE_THREADS), 0,   \
                 kernel, __VA_ARGS__)

template <typename Core>
static assay_status make_c(const assay_call *call, const sizes &z,
                           const memory<typename Core::storage> &m,
                           const kept<typename Core::storage> &c) {
    typedef typename Core::storage T;
    const inputs<T> in = inputs_of<T>(call);
    if constexpr (Core::ROUNDS)
        if (sweeps<Core>(z))
            return launch_sweep<Core::OCTETS_EACH>(call->stream, in.x, in.w, z, m.parts, c);
    const tile_plan plan = tile_plan_for<Core>(z);
    const filters<T> w = {in.w.data, z.ci * in.w.stride, in.w.stride, false};
    const convolution<T> p = convolution_of<Core>(w, z, plan);
    return ASSAY_LAUNCH(call->stream, blocks_for<Core>(z, plan, convolution_bytes<Core>(p)),
                        dim3(THREADS), convolution_bytes<Core>(p), (convolve<Core>), in.x,
                        packs(in.x, z.in), p, plan.boxes, m.parts, c);
}

template <typename Core>
static assay_status make_dx(const assay_call *call, const sizes &z,
                            const cotangent_source<typename Core::storage> &g) {
    typedef typename Core::storage T;
    const rows<const T> w = inputs_of<T>(call).w;
    const rows<T> dx = gradients_of<T>(call).dx;
    sizes back = z;
    back.ci = z.co;
    back.co = z.ci;
    back.in = z.out;
    back.out = z.in;
    /* Windows begin where a pack may. */
    const int lead = Core::LEADS ? (int)((1 - z.k) & (PACK_BYTES / (int)sizeof(T) - 1)) : 0;
    const tile_plan plan = tile_plan_for<Core>(back, lead);
    const filters<T> flipped = {w.data, w.stride, z.ci * w.stride, true};
    const convolution<T> p = convolution_of<Core>(flipped, back, plan);
    return ASSAY_LAUNCH(call->stream, blocks_for<Core>(back, plan, convolution_bytes<Core>(p)),
                        dim3(THREADS), convolution_bytes<Core>(p), (input_gradient<Core>), g, p,
                        plan.boxes, dx, packs(rows<const T>{dx.data, dx.stride}, z.in));
}

template <typename Core>
static assay_status make_dw(const assay_call *call, const sizes &z,
                            const cotangent_source<typename Core::storage> &g,
                            typename Core::storage *partial) {
    typedef typename Core::storage T;
    const rows<T> dw = gradients_of<T>(call).dw;
    const rows<const T> x = inputs_of<T>(call).x;
    const weight_plan plan = weight_plan_for<Core>(z);
    const int64_t blocks = plan.splits * plan.groups * plan.chunks * slices_of(plan.how);
    assay_status status = ASSAY_OK;
    if constexpr (Core::OCTETS > 0)
        if (takes_whole<Core>(plan)) {
            const rows<const T> w = inputs_of<T>(call).w;
            convolution<T> c = {};
            c.w = {w.data, z.ci * w.stride, w.stride, false};
            c.z = z;
            c.how = plan.how;
            c.by_k = divider_for((int)z.k);
            status = ASSAY_LAUNCH(call->stream, whole_grid(blocks), dim3(THREADS),
                                  whole_bytes<Core::OCTETS>(plan, (int)z.k),
                                  (whole_weight_gradient<Core::OCTETS>), x, packs(x, z.in), c, plan,
                                  g.c, g.norm, partial);
        }
    if (!takes_whole<Core>(plan))
        status = ASSAY_LAUNCH(call->stream, whole_grid(blocks),
                              dim3((unsigned)Core::BLOCK_WARPS * (unsigned)WARP),
                              weight_bytes<Core>(plan), (weight_gradient<Core>), x, packs(x, z.in),
                              z, plan, g, keeps_cotangent(plan), partial);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, partial, plan.splits, z.co * z.ci * z.taps, dw.data,
                                  z.taps, dw.stride);
}

template <typename Core> static assay_status run_forward(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const memory<T> m = memory_of<T>(call, z, false);
    const assay_status status = make_c<Core>(call, z, m, m.c);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(z.n, 1), dim3(STATE_THREADS), 0, (average<T>),
                        inputs_of<T>(call), m.parts, z, m.state, m.squares, y_of<T>(call));
}

/* c, and all of backward that needs no more of it than its statistics. */
template <typename Core> static assay_status run_c(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const memory<T> m = memory_of<T>(call, z, true);
    const gradients<T> out = gradients_of<T>(call);
    const T *const dy = dy_of<T>(call);
    const bool again = BY_SUMS(call, z.co, dw_makes_c, z);
    assay_status status = make_c<Core>(call, z, m, again ? kept<T>{} : m.c);
    if (status == ASSAY_OK)
        status = A_WARP_EACH(z.n * z.groups, (differentiate<T>), inputs_of<T>(call), dy, m.parts, z,
                             m.state, m.squares, m.norm);
    if (status == ASSAY_OK)
        status = A_WARP_EACH(z.co, (channel_gradients<T>), dy, m.state, m.norm, z, out.db,
                             out.dgamma, out.dbeta);
    return status;
}

template <typename Core> static assay_status run_dw(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const memory<T> m = memory_of<T>(call, z, true);
    return make_dw<Core>(call, z, {m.c, m.norm}, m.partial);
}

/* Whether dw's kernel has left dc in place of c. */
template <typename Core> static bool dw_makes_dc(const sizes &z) {
    return keeps_cotangent(weight_plan_for<Core>(z));
}

template <typename Core> static assay_status run_dx(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const memory<T> m = memory_of<T>(call, z, true);
    const bool made = BY_SUMS(call, z.co, dw_makes_dc, z);
    if constexpr (Core::ROUNDS)
        if (made && goes_by_planes(z))
            return launch_by_planes(call->stream, z, m.c, inputs_of<T>(call).w,
                                    gradients_of<T>(call).dx);
    return make_dx<Core>(call, z, {m.c, made ? NULL : m.norm});
}

static assay_status forward(const assay_call *call) {
    return BY_TILES(call, assay_params_int(call->params, "co"), run_forward, call);
}

static assay_status backward(const assay_call *call) {
    assay_status status = BY_TILES(call, assay_params_int(call->params, "co"), run_c, call);
    if (status == ASSAY_OK)
        status = BY_SUMS(call, assay_params_int(call->params, "co"), run_dw, call);
    if (status == ASSAY_OK)
        status = BY_TILES(call, assay_params_int(call->params, "ci"), run_dx, call);
    return status;
}

static const int32_t tiles[] = {TILE_LINES, 16, 24, 32, LINE, 0};

ASSAY_VARIANT(conv3d_groupnorm_mean, v3) = {
    .op = "conv3d_groupnorm_mean",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: the convolution stays in registers and shared memory, tf32 on tensor cores",
    .tiles = tiles,
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
