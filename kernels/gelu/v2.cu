/*
 * gelu v2, the vendor's library: a graph of cuDNN's with one pointwise operation, GELU_FWD or
 * GELU_BWD, for which cuDNN makes a kernel. It computes in fp32, and has no f64. The form by tanh
 * is declined: on an H100, cuDNN 9, it is up to 10 times its bound off in f32, 2.7 in f16.
 *
 * cuDNN compiles a plan for each shape, which takes 0.2 s. So the elements are cut into pieces
 * whose sizes are powers of eight times 512: 4096 x 3072 are six of them, and cases of up to 2^22
 * elements share five plans for each stage and dtype. All threads share them, and take turns.
 *
 * cuDNN is given what is surest of an engine: a piece of at least 512 elements, as 512 channels
 * that lie side by side, at an address that is a multiple of 16 bytes. Other tensors pass through
 * copies in the workspace, which has room for them in any case: whether data are aligned is not
 * known when its size is asked for.
 *
 * Bytes: those of v1, and twice each tensor that is copied. Against v1: wide accesses.
 */
#include "kernels/common/dnn_graph.h"
#include "kernels/gelu/gate.h"

#include <mutex>

#if ASSAY_DNN

enum { X = 1, DY, RESULT, FIRST_FREE_ID };
enum { THREADS = 256, STEP = 512, CHANNELS = 512, SPACE_ALIGNMENT = 256, MAX_TENSORS = 3 };

/* All of a piece of a call that a plan depends on. */
struct plan_key {
    int64_t backward, dtype, lines;
};

static int64_t padded_count(const tensors &t) {
    return ceil_div(t.rows * t.d, STEP) * STEP;
}

/* Of so many elements that are left, a multiple of STEP, the next piece has the most that are
 * STEP and factors of eight. */
static int64_t piece_of(int64_t left) {
    int64_t piece = STEP;
    while (8 * piece <= left)
        piece *= 8;
    return piece;
}

static plan_key key_of(assay_stage stage, const assay_call *call, int64_t piece) {
    return {stage == ASSAY_BACKWARD, call->params->dtype, piece / CHANNELS};
}

static cudnnDataType_t type_of(int64_t dtype) {
    return dtype == ASSAY_BF16  ? CUDNN_DATA_BFLOAT16
           : dtype == ASSAY_F16 ? CUDNN_DATA_HALF
                                : CUDNN_DATA_FLOAT;
}

static void draw(graph *g, const plan_key &k) {
    const layout l = {{1, CHANNELS, k.lines, 1}, {k.lines * CHANNELS, 1, CHANNELS, CHANNELS}};
    const auto tensor = [&](int64_t id, const char *what) {
        return add_tensor(g, id, type_of(k.dtype), l, IN_MEMORY, what);
    };
    descriptor how = add_mode(g, k.backward ? CUDNN_POINTWISE_GELU_BWD : CUDNN_POINTWISE_GELU_FWD,
                              CUDNN_DATA_FLOAT, 0, "gelu");
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "gelu");
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how, "gelu");
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(X, "x"), "gelu");
    if (k.backward) {
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, tensor(DY, "dy"), "gelu");
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, tensor(RESULT, "dx"), "gelu");
    } else {
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(RESULT, "y"), "gelu");
    }
    add_operation(g, d, "gelu");
}

static assay_status find_plan(assay_stage stage, const assay_call *call, int64_t piece,
                              graph **found) {
    static kept_plans<plan_key> kept;
    return find_plan_of(&kept, key_of(stage, call, piece), call->stream, FIRST_FREE_ID, draw,
                        found);
}

static std::unique_lock<std::mutex> take_turn() {
    static std::mutex turn;
    return std::unique_lock<std::mutex>(turn);
}

/* Whether there is a plan for each piece, and the most memory that one takes. */
static assay_status find_plans(assay_stage stage, const assay_call *call, int64_t *most) {
    assay_status status = ASSAY_OK;
    *most = 0;
    for (int64_t left = padded_count(tensors_of(call, stage)); status == ASSAY_OK && left > 0;
         left -= piece_of(left)) {
        graph *g;
        status = find_plan(stage, call, piece_of(left), &g);
        if (status == ASSAY_OK && g->workspace_bytes > *most)
            *most = g->workspace_bytes;
    }
    return status;
}

/* ---- copies ---- */

template <typename T>
static __global__ void copy_rows(matrix<const T> from, matrix<T> to, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads())
        to.row(e / d)[e % d] = from.row(e / d)[e % d];
}

/* A tensor of the call, and its copy in one piece where cuDNN does not take it as it is. */
struct place {
    const assay_tensor *tensor;
    void *room;
    int64_t id;
};

static bool is_taken(const assay_tensor *t) {
    return (assay_tensor_rows(t) <= 1 ||
            assay_tensor_row_stride(t) == assay_tensor_row_length(t)) &&
           assay_tensor_count(t) % STEP == 0 && (uintptr_t)t->data % GRAPH_ALIGNMENT == 0;
}

static void *data_of(const place &p) {
    return is_taken(p.tensor) ? p.tensor->data : p.room;
}

/* Elements are bits of 2 or 4 bytes here. */
template <typename T> static assay_status move_bits(void *stream, const place &p, bool back) {
    const int64_t rows = assay_tensor_rows(p.tensor), d = assay_tensor_row_length(p.tensor);
    const matrix<T> own = matrix_of<T>(p.tensor), copy = {static_cast<T *>(p.room), d};
    const matrix<T> from = back ? copy : own, to = back ? own : copy;
    return ASSAY_LAUNCH(stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0, (copy_rows<T>),
                        (matrix<const T>{from.data, from.stride}), to, rows, d);
}

static assay_status move(void *stream, const place &p, bool back) {
    if (is_taken(p.tensor))
        return ASSAY_OK;
    return assay_dtype_size(p.tensor->dtype) == sizeof(uint16_t)
               ? move_bits<uint16_t>(stream, p, back)
               : move_bits<uint32_t>(stream, p, back);
}

/* The workspace: copies, and the plan's own. The result comes last. */
struct space {
    place places[MAX_TENSORS];
    int count;
    void *plan;
    size_t bytes;
};

static void *take(space *s, void *base, size_t bytes) {
    void *taken = base ? static_cast<char *>(base) + s->bytes : NULL;
    s->bytes += (bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
    return taken;
}

static space space_of(assay_stage stage, const assay_call *call, void *base, int64_t plan) {
    const tensors t = tensors_of(call, stage);
    const size_t bytes = (size_t)padded_count(t) * assay_dtype_size(t.x->dtype);
    space s = {};
    const auto add = [&](const assay_tensor *tensor, int64_t id) {
        s.places[s.count++] = {tensor, take(&s, base, bytes), id};
    };
    add(t.x, X);
    if (stage == ASSAY_BACKWARD)
        add(t.dy, DY);
    add(stage == ASSAY_BACKWARD ? t.dx : t.y, RESULT);
    s.plan = take(&s, base, (size_t)plan);
    return s;
}

/* ---- the variant ---- */

/* The plan of a piece on it, `at` elements from the first. */
static assay_status execute(graph *g, const space &s, int64_t at) {
    int64_t ids[MAX_TENSORS];
    void *data[MAX_TENSORS];
    for (int i = 0; i < s.count; ++i) {
        ids[i] = s.places[i].id;
        data[i] = static_cast<char *>(data_of(s.places[i])) +
                  (size_t)at * assay_dtype_size(s.places[i].tensor->dtype);
    }
    return run_plan(g, ids, data, s.count, s.plan);
}

static assay_status execute_all(assay_stage stage, const assay_call *call, const space &s) {
    const int64_t count = padded_count(tensors_of(call, stage));
    assay_status status = ASSAY_OK;
    for (int64_t at = 0, piece; status == ASSAY_OK && at < count; at += piece) {
        graph *g;
        piece = piece_of(count - at);
        status = find_plan(stage, call, piece, &g);
        if (status == ASSAY_OK)
            status = execute(g, s, at);
    }
    return status;
}

static assay_status run(assay_stage stage, const assay_call *call) {
    int64_t plan;
    assay_status status = find_plans(stage, call, &plan);
    if (status != ASSAY_OK || padded_count(tensors_of(call, stage)) == 0)
        return status;
    const space s = space_of(stage, call, call->workspace, plan);
    const int last = s.count - 1;
    for (int i = 0; i < last && status == ASSAY_OK; ++i)
        status = move(call->stream, s.places[i], false);
    if (status == ASSAY_OK)
        status = execute_all(stage, call, s);
    return status == ASSAY_OK ? move(call->stream, s.places[last], true) : status;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    int64_t plan;
    if (call->params->dtype == ASSAY_F64)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "gelu/v2: cuDNN's graphs have no f64");
    if (tensors_of(call, stage).by_tanh)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "gelu/v2: cuDNN's form by tanh is beyond its bound");
    if (assay_tensor_count(&call->in[0]) > INT32_MAX - STEP)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "gelu/v2: not tried with 2^31 elements or more");
    const auto turn = take_turn();
    return find_plans(stage, call, &plan);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    int64_t plan;
    const auto turn = take_turn();
    if (find_plans(stage, call, &plan) != ASSAY_OK)
        return 0; /* the call itself will say why */
    return space_of(stage, call, NULL, plan).bytes;
}

static assay_status forward(const assay_call *call) {
    const auto turn = take_turn();
    return run(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    const auto turn = take_turn();
    return run(ASSAY_BACKWARD, call);
}

#else

/* Never called: the variant says what it lacks. */
static constexpr assay_status (*supports)(assay_stage, const assay_call *) = NULL;
static constexpr size_t (*workspace)(assay_stage, const assay_call *) = NULL;
static constexpr assay_status (*forward)(const assay_call *) = NULL;
static constexpr assay_status (*backward)(const assay_call *) = NULL;

#endif

ASSAY_VARIANT(gelu, v2) = {
    .op = "gelu",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuDNN's gelu, one step in a graph",
    .lacks = ASSAY_DNN_LACKS,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
    .plans = true,
};
