/*
 * conv3d_groupnorm_mean v3, fused: the convolution's output is never written to memory.
 *
 * Forward: blocks compute boxes of the convolution in registers, as a product of the window's
 * patches with the weights (v3_tile.h, v3_core.h), and reduce them at once to each channel's mean
 * and squared deviations; two small kernels merge those and make y (v3_statistics.h).
 *
 * Backward: dc is linear in c, with coefficients that follow from the same statistics, so that db,
 * dgamma and dbeta need no more than them. For dw and dx, boxes of c are computed again and become
 * dc in shared memory, where they are multiplied with the patches of x (v3_weights.h) and with the
 * flipped weights (v3_input.h).
 *
 * Against v1: c, 4 times the size of x at 3 to 16 channels, is neither written nor read; the
 * workspace holds statistics and partial sums of dw, and of c nothing. v2 writes c, too. Bytes, at
 * 3x16x32x32 and k = 3: windows overlap, so that each pass fetches x 2.2 times and that of dx 5.4
 * times, mostly from the L2 cache; dx is written once for every CHANNELS output channels. Flops, in
 * units of 2 n Co P ci k^3: forward 1; backward 8, of which 1 for the statistics, 2 for dw, 3.6 to
 * have dc with its halo and 1.4 for dx. dx is the price of not writing c: two thirds of backward.
 *
 * math=tf32 runs on tensor cores, with operands rounded to nearest; everything behind the products
 * is fp32. f32 and f64 run on CUDA cores.
 */
#include "kernels/common/partials.h"
#include "kernels/conv3d_groupnorm_mean/v3_input.h"

enum {
    LINE = 64,               /* longest line of a box: longer ones gain nothing */
    WINDOW_BYTES = 40 << 10, /* of a window that lets several blocks share a multiprocessor */
    INPUT_BYTES = 113 << 10, /* of all that a block of dx keeps, for two of them, if possible */
    CHANNEL_SHIFT = 8,       /* channels of dc start this many banks apart */
};

/* The extent of boxes along a line of `extent` positions. */
static int line_of(int64_t extent, int pack) {
    return extent <= LINE ? (int)extent : round_up(ceil_div(extent, ceil_div(extent, LINE)), pack);
}

static int64_t window_budget(size_t element) {
    return WINDOW_BYTES / (int64_t)element;
}

/* The boxes that a convolution is cheapest in: few, and with small windows. */
static box box_for(const sizes &z, size_t element) {
    const int w = line_of(z.out.w, PACK_BYTES / (int)element), k = (int)z.k;
    box best = box_of(1, 1, 1);
    int64_t least_cost = INT64_MAX;
    for (int h = 1; h <= z.out.h && h * w <= SLOTS; ++h) {
        for (int d = 1; d <= z.out.d && d * h * w <= SLOTS; ++d) {
            const box b = box_of(d, h, w);
            if (size_of(window_for(b, 1, 1, 1, k, 0, element)) > window_budget(element))
                continue;
            const int64_t work =
                SLOTS * z.taps + 8 * size_of(window_for(b, 1, k, k, k, 0, element));
            const int64_t cost = size_of(boxes_in(z.out, b)) * work;
            if (cost < least_cost) {
                least_cost = cost;
                best = b;
            }
        }
    }
    return best;
}

/* How forward and dw are cut. */
struct output_plan {
    cut how;
    grid_of_boxes boxes;
};

static output_plan output_plan_for(const sizes &z, size_t element) {
    const box b = box_for(z, element);
    return {cut_for(z, b, 0, window_budget(element), element), boxes_in(z.out, b)};
}

/* How dx is cut; `large`: no box of dc fits. */
struct input_plan {
    bool large;
    cut halo;
    input_cut how;
    grid_of_boxes boxes;
    size_t bytes;
};

/* Elements before a halo's first so that its lines begin where a pack may. */
static int lead_for(const sizes &z, size_t element) {
    const int pack = PACK_BYTES / (int)element;
    return (int)(pack - (z.k - 1) % pack) % pack;
}

/* Elements from channel to channel of dc, so that four channels lie in different banks. */
static int channel_pitch_for(int elements, size_t element) {
    int pitch = elements;
    while ((size_t)pitch * element / sizeof(float) % BANKS != CHANNEL_SHIFT)
        ++pitch;
    return pitch;
}

static input_plan input_plan_with(const sizes &z, const box &b, size_t element) {
    const int reach = (int)z.k - 1;
    const box lines = box_of(b.d, b.h, b.w + reach);
    const box halo = box_of(b.d + reach, b.h + reach, b.w + reach);
    const window_shape cotangent = {
        CHANNELS, halo.d, halo.h, halo.w, halo.w, 0, channel_pitch_for(size_of(halo), element),
        {},       {},     {}};
    input_plan plan = {false,
                       cut_for(z, halo, lead_for(z, element), window_budget(element), element),
                       {b, lines, cotangent},
                       boxes_in(z.in, b),
                       0};
    plan.bytes = (size_t)(front_elements(plan.halo.view) + size_of(cotangent)) * element +
                 table_bytes(element);
    return plan;
}

/* The boxes whose halos cost least, of those that leave room for two blocks, or fit at all. */
static input_plan input_plan_for(const sizes &z, size_t element) {
    const int w = line_of(z.in.w, PACK_BYTES / (int)element);
    input_plan best = {};
    double least_cost = 0;
    best.large = true;
    const int line = w + (int)z.k - 1;
    for (int h = 1; h <= z.in.h && h * line <= SLOTS; ++h) {
        for (int d = 1; d <= z.in.d && d * h * line <= SLOTS; ++d) {
            const input_plan plan = input_plan_with(z, box_of(d, h, w), element);
            if (plan.bytes > ASSAY_MAX_SHARED)
                continue;
            const double halo = (double)ceil_div(size_of(plan.halo.positions), SLOTS);
            const double work = halo * (double)(z.ci * z.taps) +
                                (double)(CHANNELS * z.k * z.k * ceil_div(z.ci * z.k, CHANNELS));
            const double cost =
                (double)size_of(plan.boxes) * work * (plan.bytes > INPUT_BYTES ? 2 : 1);
            if (best.large || cost < least_cost) {
                least_cost = cost;
                best = plan;
            }
        }
    }
    return best;
}

/* The workspace, in this order. */
template <typename T> struct memory {
    pieces<T> parts;
    channel_state<T> state;
    T *squares, *rstd;
    channel_slopes<T> slopes;
    T *partial;
};

static int64_t pieces_of(const output_plan &plan) {
    return size_of(plan.boxes) * WARPS;
}

template <typename T>
static memory<T> memory_of(const assay_call *call, const sizes &z, const output_plan &plan) {
    T *next = static_cast<T *>(call->workspace);
    const auto take = [&](int64_t elements) {
        T *const here = next;
        next += elements;
        return here;
    };
    const int64_t each = pieces_of(plan), all = z.n * each * z.co, channels = z.n * z.co;
    memory<T> m;
    m.parts = {take(all), take(all), take(all), each};
    m.state = {take(channels), take(channels)};
    m.squares = take(channels);
    m.rstd = take(z.n * z.groups);
    m.slopes = {take(channels), take(channels)};
    m.partial = next;
    return m;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes z = sizes_of(call);
    const size_t element = assay_dtype_size(call->params->dtype);
    const output_plan plan = output_plan_for(z, element);
    int64_t elements = z.n * (3 * pieces_of(plan) * z.co + 5 * z.co + z.groups);
    if (stage == ASSAY_BACKWARD)
        elements += splits_for(z, size_of(plan.boxes), element) * z.co * z.ci * z.taps;
    return (size_t)elements * element;
}

/* Launches `kernel` with a warp for each of `items`. */
#define A_WARP_EACH(items, kernel, ...)                                                            \
    ASSAY_LAUNCH(call->stream, linear_grid(items, WARPS), dim3(THREADS), 0, kernel, __VA_ARGS__)

template <typename Core>
static assay_status statistics(const assay_call *call, const sizes &z, const output_plan &plan,
                               const memory<typename Core::storage> &m) {
    typedef typename Core::storage T;
    const inputs<T> in = inputs_of<T>(call);
    const size_t bytes = (size_t)size_of(plan.how.view) * sizeof(T) + table_bytes(sizeof(T));
    const assay_status status = ASSAY_LAUNCH(
        call->stream, linear_grid(z.n * size_of(plan.boxes) * ceil_div(z.co, CHANNELS), 1),
        dim3(THREADS), bytes, (convolve_statistics<Core>), convolution_of(in, z, plan.how),
        plan.boxes, m.parts);
    if (status != ASSAY_OK)
        return status;
    return A_WARP_EACH(z.n * z.groups, (normalise<T>), in, m.parts, z, m.state, m.squares, m.rstd);
}

template <typename Core> static assay_status run_forward(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const output_plan plan = output_plan_for(z, sizeof(T));
    const memory<T> m = memory_of<T>(call, z, plan);
    const assay_status status = statistics<Core>(call, z, plan, m);
    if (status != ASSAY_OK)
        return status;
    return A_WARP_EACH(z.n, (average<T>), inputs_of<T>(call), m.state, z, y_of<T>(call));
}

template <typename T> static size_t box_bytes(const output_plan &plan) {
    return (size_t)(size_of(plan.how.view) + CHANNELS * COTANGENT_PITCH) * sizeof(T) +
           table_bytes(sizeof(T));
}

template <typename Core>
static assay_status make_dw(const assay_call *call, const sizes &z, const output_plan &plan,
                            const memory<typename Core::storage> &m) {
    typedef typename Core::storage T;
    const rows<T> dw = gradients_of<T>(call).dw;
    const int64_t splits = splits_for(z, size_of(plan.boxes), sizeof(T));
    const assay_status status =
        ASSAY_LAUNCH(call->stream, whole_grid(splits * ceil_div(z.co, CHANNELS)), dim3(THREADS),
                     box_bytes<T>(plan), (weight_gradient<Core>),
                     convolution_of(inputs_of<T>(call), z, plan.how),
                     through_norm_of(m.state, m.slopes), plan.boxes, splits, m.partial);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, m.partial, splits, z.co * z.ci * z.taps, dw.data,
                                  z.taps, dw.stride);
}

template <typename Core>
static assay_status make_dx(const assay_call *call, const sizes &z, const output_plan &output,
                            const memory<typename Core::storage> &m) {
    typedef typename Core::storage T;
    const inputs<T> in = inputs_of<T>(call);
    const rows<T> dx = gradients_of<T>(call).dx;
    const through_norm<T> g = through_norm_of(m.state, m.slopes);
    const input_plan plan = input_plan_for(z, sizeof(T));
    if (plan.large)
        return ASSAY_LAUNCH(call->stream, linear_grid(z.n, 1), dim3(THREADS), box_bytes<T>(output),
                            (input_gradient_large<Core>), convolution_of(in, z, output.how), g,
                            output.boxes, dx);
    return ASSAY_LAUNCH(call->stream, linear_grid(z.n * size_of(plan.boxes), 1), dim3(THREADS),
                        plan.bytes, (input_gradient<Core>), convolution_of(in, z, plan.halo), g,
                        plan.how, plan.boxes, dx);
}

template <typename Core> static assay_status run_backward(const assay_call *call) {
    typedef typename Core::storage T;
    const sizes z = sizes_of(call);
    const output_plan plan = output_plan_for(z, sizeof(T));
    const memory<T> m = memory_of<T>(call, z, plan);
    const inputs<T> in = inputs_of<T>(call);
    const gradients<T> out = gradients_of<T>(call);
    const T *const dy = dy_of<T>(call);
    assay_status status = statistics<Core>(call, z, plan, m);
    if (status != ASSAY_OK)
        return status;
    status =
        A_WARP_EACH(z.n * z.groups, (differentiate<T>), in.gamma, dy, m.state, m.rstd, z, m.slopes);
    if (status != ASSAY_OK)
        return status;
    status = A_WARP_EACH(z.co, (channel_gradients<T>), dy, m.state, m.slopes, z, out.db, out.dgamma,
                         out.dbeta);
    if (status != ASSAY_OK)
        return status;
    status = make_dw<Core>(call, z, plan, m);
    if (status != ASSAY_OK)
        return status;
    return make_dx<Core>(call, z, plan, m);
}

/* Calls `function<Core>(call)` with the core for the call's type and precision. */
#define DISPATCH(function, call)                                                                   \
    ((call)->params->dtype == ASSAY_F64   ? function<fma_core<double>>(call)                       \
     : (call)->params->math == ASSAY_TF32 ? function<tf32_core>(call)                              \
                                          : function<fma_core<float>>(call))

static assay_status forward(const assay_call *call) {
    return DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH(run_backward, call);
}

static const int32_t tiles[] = {SLOTS, CHANNELS, LINE, 0};

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
