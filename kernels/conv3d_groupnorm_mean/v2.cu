/*
 * conv3d_groupnorm_mean v2, the vendor's library: cuDNN convolves into the workspace, kernels of
 * our own do the rest. Forward: statistics in two passes over c, then y from one deviation a
 * channel. Backward: the convolution and the statistics again, then dc in the place of c; cuDNN
 * makes dw and dx of it (v2_convolutions.h); db, dγ and dβ follow from the statistics (v2_steps.h).
 *
 * math=strict is CUDNN_FMA_MATH, which keeps fp32 products; math=tf32 is CUDNN_TENSOR_OP_MATH,
 * which allows TF32 operands.
 *
 * cuDNN's backward convolutions take packed tensors only, filters have no strides, and alignment is
 * promised for that of the element at best. So x, w, dx and dw that are padded, or do not start at
 * a multiple of 16 bytes, pass through packed copies in the workspace.
 *
 * H200, n=128 ci=3 k=3, co=16 s=16x32x32 and co=24 s=24x32x32, backward, ms: 29.2 and 47.9 while
 * algorithms were deterministic, now 3.74 and 5.82; TF32 7.73 and 10.4, now 2.89 and 4.70.
 *
 * Against v1: the convolutions go through shared memory and, with tf32, tensor cores. Bytes: what
 * cuDNN moves; c written once, read twice forward; read three times and written once more backward.
 * Flops: 2 n co P ci k³ forward, three times that backward.
 */
#include "kernels/conv3d_groupnorm_mean/v2_convolutions.h"
#include "kernels/conv3d_groupnorm_mean/v2_steps.h"

#if ASSAY_DNN

enum { SPACE_ALIGNMENT = 256 };

/* The workspace. Copies have room even where they are not needed: whether data are aligned is not
 * known when its size is asked for. */
template <typename T> struct space {
    T *c;
    T *x, *w, *dw; /* packed copies; dx takes the place of x */
    T *filter;     /* dc or w with its first two axes exchanged */
    statistics<T> s;
    void *dnn;
    size_t bytes;
};

static int64_t filter_elements(const sizes &z, const convolutions &conv) {
    const int64_t dc = conv.dw_as_forward ? z.n * z.co * z.positions : 0;
    const int64_t w = conv.dx_as_forward ? z.co * z.ci * z.taps : 0;
    return dc > w ? dc : w;
}

template <typename T> static T *take(space<T> *all, void *base, int64_t elements) {
    T *taken = base ? static_cast<T *>(base) + all->bytes / sizeof(T) : NULL;
    const size_t bytes = (size_t)elements * sizeof(T);
    all->bytes += (bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
    return taken;
}

template <typename T>
static space<T> space_of(assay_stage stage, const sizes &z, void *base, const convolutions &conv) {
    const bool backward = stage == ASSAY_BACKWARD;
    space<T> all = {};
    all.c = take(&all, base, z.n * z.co * z.positions);
    all.x = take(&all, base, z.n * z.ci * size_of(z.in));
    all.w = take(&all, base, z.co * z.ci * z.taps);
    all.dw = take(&all, base, backward ? z.co * z.ci * z.taps : 0);
    all.filter = take(&all, base, filter_elements(z, conv));
    all.s.sum = take(&all, base, z.n * z.co);
    all.s.square = take(&all, base, z.n * z.co);
    all.s.mean = take(&all, base, z.n * z.groups);
    all.s.rstd = take(&all, base, z.n * z.groups);
    all.s.kappa = take(&all, base, backward ? z.n * z.groups : 0);
    all.dnn = take(&all, base, (int64_t)(conv.bytes / sizeof(T) + 1));
    return all;
}

template <typename T> static bool is_packed(const rows<T> &r, int64_t count, int64_t length) {
    return (count <= 1 || r.stride == length) && (uintptr_t)r.data % DNN_ALIGNMENT == 0;
}

/* `*made` is `from` itself where cuDNN takes it, otherwise `room`, and the rows go there. */
template <typename T>
static assay_status pack(void *stream, const rows<const T> &from, int64_t count, int64_t length,
                         T *room, const T **made) {
    *made = from.data;
    if (is_packed(from, count, length))
        return ASSAY_OK;
    *made = room;
    return launch_copy<T>(stream, from, {room, length}, count, length);
}

/* Where cuDNN may write the rows of `to`: in place, or in `room`, to be unpacked afterwards. */
template <typename T> static T *target(const rows<T> &to, int64_t count, int64_t length, T *room) {
    return is_packed(to, count, length) ? to.data : room;
}

template <typename T>
static assay_status unpack(void *stream, const T *made, const rows<T> &to, int64_t count,
                           int64_t length) {
    if (made == to.data)
        return ASSAY_OK;
    return launch_copy<T>(stream, {made, length}, to, count, length);
}

/* One call with everything that it needs. */
template <typename T> struct run {
    const assay_call *call;
    sizes z;
    inputs<T> in;
    convolutions conv;
    space<T> all;
    const T *x, *w; /* as cuDNN takes them */
};

/* To be closed also when this fails. */
template <typename T>
static assay_status open_run(assay_stage stage, const assay_call *call, run<T> *r) {
    *r = {};
    r->call = call;
    r->z = sizes_of(call);
    r->in = inputs_of<T>(call);
    const assay_status status = open_convolutions(stage, call, r->z, &r->conv);
    if (status != ASSAY_OK)
        return status;
    r->all = space_of<T>(stage, r->z, call->workspace, r->conv);
    if (r->all.bytes <= call->workspace_bytes)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY,
                      "conv3d_groupnorm_mean/v2: takes %zu bytes of workspace and was given %zu",
                      r->all.bytes, call->workspace_bytes);
}

/* c, and its statistics. */
template <typename T> static assay_status find_c(run<T> *r) {
    const sizes &z = r->z;
    void *stream = r->call->stream;
    assay_status status = pack(stream, r->in.x, z.n * z.ci, size_of(z.in), r->all.x, &r->x);
    if (status == ASSAY_OK)
        status = pack(stream, r->in.w, z.co * z.ci, z.taps, r->all.w, &r->w);
    if (status == ASSAY_OK)
        status = convolve(r->conv.c, r->conv.for_c, r->x, r->w, r->all.dnn, r->all.c);
    if (status == ASSAY_OK)
        status = find_statistics(stream, r->all.c, z, r->in.b, r->all.s);
    return status;
}

template <typename T> static assay_status convolve_dw(const run<T> &r, T *dw) {
    const sizes &z = r.z;
    const T *dc = r.all.c;
    if (r.conv.dw_graph)
        return run_weights_plan(r.conv.dw_graph, r.x, dc, r.all.dnn, dw);
    if (!r.conv.dw_as_forward)
        return convolve_filter(r.conv.c, r.conv.filter, r.x, dc, r.all.dnn, dw);
    const assay_status status =
        launch_exchange(r.call->stream, dc, r.all.filter, z.n, z.co, z.positions);
    if (status != ASSAY_OK)
        return status;
    return convolve(r.conv.dw, r.conv.for_dw, r.x, (const T *)r.all.filter, r.all.dnn, dw);
}

template <typename T> static assay_status convolve_dx(const run<T> &r, T *dx) {
    const sizes &z = r.z;
    const T *dc = r.all.c;
    if (!r.conv.dx_as_forward)
        return convolve_data(r.conv.c, r.conv.data, r.w, dc, r.all.dnn, dx);
    const assay_status status =
        launch_exchange(r.call->stream, r.w, r.all.filter, z.co, z.ci, z.taps);
    if (status != ASSAY_OK)
        return status;
    return convolve(r.conv.dx, r.conv.for_dx, dc, (const T *)r.all.filter, r.all.dnn, dx);
}

template <typename T> static assay_status find_dw(const run<T> &r, const rows<T> &dw) {
    const int64_t count = r.z.co * r.z.ci;
    T *made = target(dw, count, r.z.taps, r.all.dw);
    const assay_status status = convolve_dw(r, made);
    if (status != ASSAY_OK)
        return status;
    return unpack(r.call->stream, (const T *)made, dw, count, r.z.taps);
}

/* The last that is made: a copy of x may be overwritten. */
template <typename T> static assay_status find_dx(const run<T> &r, const rows<T> &dx) {
    const int64_t count = r.z.n * r.z.ci;
    T *made = target(dx, count, size_of(r.z.in), r.all.x);
    const assay_status status = convolve_dx(r, made);
    if (status != ASSAY_OK)
        return status;
    return unpack(r.call->stream, (const T *)made, dx, count, size_of(r.z.in));
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    run<T> r;
    assay_status status = open_run(ASSAY_FORWARD, call, &r);
    if (status == ASSAY_OK)
        status = find_c(&r);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, linear_grid(r.z.n, 1), row_block(r.z.co), 0,
                         (find_results<T>), r.z, r.in.gamma, r.in.beta, r.all.s, y_of<T>(call));
    close_convolutions(r.conv);
    return status;
}

/* db, dγ and dβ. */
template <typename T>
static assay_status launch_parameters(const assay_call *call, const sizes &z,
                                      const statistics<T> &s) {
    return ASSAY_LAUNCH(call->stream, linear_grid(z.co, THREADS), dim3(THREADS), 0,
                        (find_parameters<T>), z, dy_of<T>(call), s, gradients_of<T>(call));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const gradients<T> out = gradients_of<T>(call);
    run<T> r;
    assay_status status = open_run(ASSAY_BACKWARD, call, &r);
    if (status == ASSAY_OK)
        status = find_c(&r);
    if (status == ASSAY_OK)
        status = find_dc(call->stream, r.all.c, r.z, r.in, dy_of<T>(call), r.all.s);
    if (status == ASSAY_OK)
        status = launch_parameters(call, r.z, r.all.s);
    if (status == ASSAY_OK)
        status = find_dw(r, out.dw);
    if (status == ASSAY_OK)
        status = find_dx(r, out.dx);
    close_convolutions(r.conv);
    return status;
}

/* Without samples there is nothing to convolve, and cuDNN takes no empty tensors. */
template <typename T> static assay_status run_empty(const assay_call *call) {
    const sizes z = sizes_of(call);
    const assay_status status =
        launch_copy<T>(call->stream, {}, gradients_of<T>(call).dw, z.co * z.ci, z.taps);
    if (status != ASSAY_OK)
        return status;
    return launch_parameters<T>(call, z, {});
}

/* cuDNN counts in 32 bits. */
static assay_status check_sizes(const sizes &z) {
    const int64_t c = z.n * z.co * z.positions, x = z.n * z.ci * size_of(z.in);
    if (c <= INT32_MAX && x <= INT32_MAX && z.co * z.ci * z.taps <= INT32_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "conv3d_groupnorm_mean/v2: cuDNN takes tensors of up to 2^31 - 1 elements; x "
                      "has %lld, the convolution's result %lld",
                      (long long)x, (long long)c);
}

/* The bytes of workspace for a stage, if cuDNN has its convolutions. */
template <typename T>
static assay_status find_bytes(assay_stage stage, const assay_call *call, size_t *bytes) {
    const sizes z = sizes_of(call);
    convolutions conv;
    const assay_status status = open_convolutions(stage, call, z, &conv);
    *bytes = space_of<T>(stage, z, NULL, conv).bytes;
    close_convolutions(conv);
    return status;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const sizes z = sizes_of(call);
    size_t bytes;
    const assay_status status = check_sizes(z);
    return status != ASSAY_OK || z.n == 0 ? status : CONV_DISPATCH(find_bytes, stage, call, &bytes);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    size_t bytes = 0;
    if (sizes_of(call).n == 0 || CONV_DISPATCH(find_bytes, stage, call, &bytes) != ASSAY_OK)
        return 0; /* the call itself will say why, or that this does not suffice */
    return bytes;
}

static assay_status forward(const assay_call *call) {
    return sizes_of(call).n == 0 ? ASSAY_OK : CONV_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return sizes_of(call).n == 0 ? CONV_DISPATCH(run_empty, call)
                                 : CONV_DISPATCH(run_backward, call);
}

#else

/* Never called: the variant says what it lacks. */
static constexpr assay_status (*supports)(assay_stage, const assay_call *) = NULL;
static constexpr size_t (*workspace)(assay_stage, const assay_call *) = NULL;
static constexpr assay_status (*forward)(const assay_call *) = NULL;
static constexpr assay_status (*backward)(const assay_call *) = NULL;

#endif

ASSAY_VARIANT(conv3d_groupnorm_mean, v2) = {
    .op = "conv3d_groupnorm_mean",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuDNN's convolutions; statistics in two passes",
    .lacks = ASSAY_DNN_LACKS,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
    .order = ASSAY_ORDER_ANY,
    .plans = true,
};
