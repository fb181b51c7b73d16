/*
 * attention v2_cudnn, the vendor's fused attention: one cuDNN plan a stage (v2_cudnn_plan.h), for
 * bf16 and f16 in the shapes that cuDNN has. On the simulated device there is none of it.
 *
 * cuDNN is given packed tensors that begin at multiples of 16 bytes. Others pass through copies in
 * the workspace, which has room for them in any case: whether data are aligned is not known when
 * its size is asked for.
 *
 * Against v2: no scores in memory. Bytes: q, k, v, o and lse once forward; backward dq in fp32
 * besides, which blocks add to in any order. Flops: 4 b h sq sk d forward, 10 b h sq sk d backward;
 * half of that when causal.
 */
#include "kernels/attention/v2_cudnn_plan.h"

#if ASSAY_DNN_GRAPH

enum { THREADS = 256, MAX_HEAD_DIM = 256, HEAD_DIM_STEP = 8, BACKWARD_STEP = 128 };
enum { SPACE_ALIGNMENT = 256, TENSORS = 9, OWN_TENSORS = 2 };
enum { SUMS_WIDTH = 32 }; /* a query's sums of dq are a multiple of so many */

template <typename T>
static __global__ void copy_rows(rows<const T> from, rows<T> to, int64_t count, int64_t length) {
    for (int64_t e = grid_thread(); e < count * length; e += grid_threads())
        row(to, e / length)[e % length] = row(from, e / length)[e % length];
}

/* Elements are bits of 2 or 4 bytes here. */
template <typename T>
static assay_status copy(void *stream, const void *from, int64_t from_stride, void *to,
                         int64_t to_stride, int64_t count, int64_t length) {
    const rows<const T> source = {static_cast<const T *>(from), from_stride};
    const rows<T> target = {static_cast<T *>(to), to_stride};
    return ASSAY_LAUNCH(stream, linear_grid(count * length, THREADS), dim3(THREADS), 0,
                        (copy_rows<T>), source, target, count, length);
}

/* A tensor of the call, and its packed copy where cuDNN does not take it as it is. */
struct place {
    const assay_tensor *tensor;
    void *room;
    int64_t id;
    bool written;
};

static bool is_packed(const assay_tensor *t) {
    return (assay_tensor_rows(t) <= 1 ||
            assay_tensor_row_stride(t) == assay_tensor_row_length(t)) &&
           (uintptr_t)t->data % GRAPH_ALIGNMENT == 0;
}

static void *data_of(const place &p) {
    return is_packed(p.tensor) ? p.tensor->data : p.room;
}

/* Into the copy, or from it back. */
static assay_status move(void *stream, const place &p, bool back) {
    const assay_tensor *t = p.tensor;
    const int64_t stride = assay_tensor_row_stride(t), length = assay_tensor_row_length(t);
    const int64_t count = assay_tensor_rows(t);
    if (is_packed(t))
        return ASSAY_OK;
    const void *from = back ? p.room : t->data;
    void *to = back ? t->data : p.room;
    const int64_t from_stride = back ? length : stride, to_stride = back ? stride : length;
    if (assay_dtype_size(t->dtype) == sizeof(uint16_t))
        return copy<uint16_t>(stream, from, from_stride, to, to_stride, count, length);
    return copy<uint32_t>(stream, from, from_stride, to, to_stride, count, length);
}

static assay_status move_all(void *stream, const place *places, int count, bool back) {
    assay_status status = ASSAY_OK;
    for (int i = 0; i < count && status == ASSAY_OK; ++i)
        if (places[i].written == back)
            status = move(stream, places[i], back);
    return status;
}

/* The workspace: copies, delta, sums of dq where the plan has them, the plan's own. */
struct space {
    place places[TENSORS];
    int count;
    void *delta, *sums, *plan;
    size_t sums_bytes, bytes;
};

static void *take(space *s, void *base, size_t bytes) {
    void *taken = base ? static_cast<char *>(base) + s->bytes : NULL;
    s->bytes += (bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
    return taken;
}

static void add_place(space *s, void *base, const assay_tensor *t, int64_t id, bool written) {
    const size_t bytes = (size_t)assay_tensor_count(t) * assay_dtype_size(t->dtype);
    s->places[s->count++] = {t, take(s, base, bytes), id, written};
}

static space space_of(const assay_call *call, void *base, const attention_graph &p) {
    const bool backward = p.key.backward;
    const tensors t = tensors_of(call, backward ? ASSAY_BACKWARD : ASSAY_FORWARD);
    space s = {};
    add_place(&s, base, t.q, Q, false);
    add_place(&s, base, t.k, K, false);
    add_place(&s, base, t.v, V, false);
    add_place(&s, base, t.o, O, !backward);
    add_place(&s, base, t.lse, LSE, !backward);
    if (backward) {
        add_place(&s, base, t.dout, DO, false);
        add_place(&s, base, t.dq, DQ, true);
        add_place(&s, base, t.dk, DK, true);
        add_place(&s, base, t.dv, DV, true);
        s.delta = take(&s, base, (size_t)assay_tensor_count(t.lse) * sizeof(float));
    }
    if (p.key.sums) {
        const int64_t width = ceil_div(p.key.d, SUMS_WIDTH) * SUMS_WIDTH;
        s.sums_bytes = (size_t)(p.key.batch * p.key.heads * p.key.sq * width) * sizeof(float);
        s.sums = take(&s, base, s.sums_bytes);
    }
    s.plan = take(&s, base, (size_t)p.g->workspace_bytes + 1);
    return s;
}

static assay_status execute(graph *g, const space &s) {
    int64_t ids[TENSORS + OWN_TENSORS];
    void *data[TENSORS + OWN_TENSORS];
    int n = 0;
    for (; n < s.count; ++n) {
        ids[n] = s.places[n].id;
        data[n] = data_of(s.places[n]);
    }
    if (s.delta) {
        ids[n] = DELTA;
        data[n++] = s.delta;
    }
    if (s.sums) {
        ids[n] = DQ_SUMS;
        data[n++] = s.sums;
    }
    return run_plan(g, ids, data, n, s.plan);
}

static assay_status clear_sums(void *stream, const space &s) {
    if (!s.sums)
        return ASSAY_OK;
    return assay_cuda_check(
        cudaMemsetAsync(s.sums, 0, s.sums_bytes, static_cast<cudaStream_t>(stream)),
        "clearing the sums of dq");
}

static assay_status run(assay_stage stage, const assay_call *call) {
    attention_graph p;
    assay_status status = find_plan(stage, call, &p);
    if (status != ASSAY_OK)
        return status;
    const space s = space_of(call, call->workspace, p);
    if (s.bytes > call->workspace_bytes)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "attention/v2_cudnn: takes %zu bytes of workspace and was given %zu",
                          s.bytes, call->workspace_bytes);
    status = move_all(call->stream, s.places, s.count, false);
    if (status == ASSAY_OK)
        status = clear_sums(call->stream, s);
    if (status == ASSAY_OK)
        status = execute(p.g, s);
    if (status == ASSAY_OK)
        status = move_all(call->stream, s.places, s.count, true);
    return status;
}

static assay_status refuse(const char *why) {
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "attention/v2_cudnn: %s", why);
}

/*
 * Hopper's backward engines fill the last tile of queries and of keys with zeros, and mask them not
 * in every case: exp(0 - lse) overflows where lse is below -88.7, and dq, or dk and dv, become NaN
 * (github.com/NVIDIA/cudnn-frontend, pull request 628 and issue 1072; cuDNN up to 9.30). So lengths
 * are multiples of a tile there.
 */
static assay_status supports_shape(const plan_key &k) {
    if (k.batch == 0 || k.heads == 0 || k.sq == 0 || k.sk == 0)
        return refuse("cuDNN takes no empty tensors");
    if (k.d % HEAD_DIM_STEP != 0 || k.d > MAX_HEAD_DIM)
        return refuse("cuDNN takes head dimensions that are multiples of 8, up to 256");
    if (k.causal && k.sq > k.sk)
        return refuse("causal with sq > sk has queries that see no key, which cuDNN does not take");
    if (k.backward && (k.sq % BACKWARD_STEP != 0 || k.sk % BACKWARD_STEP != 0))
        return refuse("cuDNN's backward is right for multiples of 128 queries and keys only");
    return ASSAY_OK;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    if (call->params->dtype != ASSAY_BF16 && call->params->dtype != ASSAY_F16)
        return refuse("cuDNN fuses attention in bf16 and f16 only");
    attention_graph p;
    const assay_status status = supports_shape(key_of(stage, call->params));
    return status == ASSAY_OK ? find_plan(stage, call, &p) : status;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    attention_graph p;
    if (find_plan(stage, call, &p) != ASSAY_OK)
        return 0; /* the call itself will say why, or that this does not suffice */
    return space_of(call, NULL, p).bytes;
}

static assay_status forward(const assay_call *call) {
    return run(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return run(ASSAY_BACKWARD, call);
}

#else

/* Never called: the variant says what it lacks. */
static constexpr assay_status (*supports)(assay_stage, const assay_call *) = NULL;
static constexpr size_t (*workspace)(assay_stage, const assay_call *) = NULL;
static constexpr assay_status (*forward)(const assay_call *) = NULL;
static constexpr assay_status (*backward)(const assay_call *) = NULL;

#endif

ASSAY_VARIANT(attention, v2_cudnn) = {
    .op = "attention",
    .name = "v2_cudnn",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuDNN's fused attention, bf16 and f16",
    .lacks = ASSAY_DNN_GRAPH_LACKS,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
    .order = ASSAY_ORDER_ANY,
    .plans = true,
};
