/*
 * attention's oracle on a device: the formulas of attention_math.h, with every product a Dgemm.
 *
 * Heads are taken one after the other, their queries in chunks; for each chunk the matrices of
 * scores, of dP and of their errors lie in the workspace. A query's row is complete within its
 * chunk, so that forward, backward and all bounds of it are done before the next; dk and dv and
 * their errors are sums over chunks. Even a small problem has two chunks.
 *
 * Flops: 20 products of 2·sq·sk·d a head, masked or not: B8 H1 S16384 D128 takes 1.1e13.
 */
#include "device/blas.h"
#include "oracles/attention/attention.h"
#include "oracles/attention/device.h"
#include "oracles/common/device_oracle.h"

using namespace attention;

enum { WIDE = 256 }; /* threads of elementwise kernels */

/* Of each of a chunk's eight matrices: 1 GiB. */
static const int64_t most_elements = (int64_t)1 << 27;

static int64_t chunk_rows(const attention_sizes &s) {
    const int64_t half = ceil_div(s.sq, 2);
    return clamp(s.sk > 0 ? most_elements / s.sk : half, 1, half > 0 ? half : 1);
}

/* ---- workspace ---- */

struct workspace {
    magnitudes k, v, centred;    /* of a head: v as it is, for dP, and around its mean, for o */
    double *centre, *farthest;   /* of v */
    magnitudes dk, dv;           /* errors, summed over chunks */
    double *exact_dk, *exact_dv; /* where inputs are not finite */
    double *finite_k;
    magnitudes q, grad_o;                      /* of a chunk */
    panel scores, grad_p;                      /* matrices of a chunk, as is of_p */
    magnitudes of_p;                           /* errors of o's terms; then of P for dv */
    panel rows;                                /* errors of o or dq, and P·k */
    double *maximum, *delta_error, *row_error; /* of a chunk's queries */
    attention_state *states;
    int *found; /* an input that is not finite */
};

/* Hands out parts of the workspace; with no memory it only counts. */
struct allocator {
    char *memory;
    size_t used;
};

template <typename T> static T *take(allocator *from, int64_t count) {
    T *part = from->memory ? reinterpret_cast<T *>(from->memory + from->used) : NULL;
    from->used += (sizeof(T) * (size_t)count + 255) / 256 * 256;
    return part;
}

static magnitudes take_magnitudes(allocator *from, int64_t count) {
    double *sum = take<double>(from, count);
    return magnitudes{sum, take<double>(from, count)};
}

static panel take_panel(allocator *from, int64_t count) {
    double *value = take<double>(from, count);
    const magnitudes m = take_magnitudes(from, count);
    return panel{value, m.sum, m.square};
}

static workspace lay_out(const attention_sizes &s, allocator *from) {
    const int64_t keys = s.sk * s.d, rows = chunk_rows(s), queries = rows * s.d;
    workspace w;
    w.k = take_magnitudes(from, keys);
    w.v = take_magnitudes(from, keys);
    w.centred = take_magnitudes(from, keys);
    w.centre = take<double>(from, s.d);
    w.farthest = take<double>(from, s.d);
    w.dk = take_magnitudes(from, keys);
    w.dv = take_magnitudes(from, keys);
    w.exact_dk = take<double>(from, keys);
    w.exact_dv = take<double>(from, keys);
    w.finite_k = take<double>(from, keys);
    w.q = take_magnitudes(from, queries);
    w.grad_o = take_magnitudes(from, queries);
    w.scores = take_panel(from, rows * s.sk);
    w.grad_p = take_panel(from, rows * s.sk);
    w.of_p = take_magnitudes(from, rows * s.sk);
    w.rows = take_panel(from, queries);
    w.maximum = take<double>(from, rows);
    w.delta_error = take<double>(from, rows);
    w.row_error = take<double>(from, rows);
    w.states = take<attention_state>(from, rows);
    w.found = take<int>(from, 1);
    return w;
}

static size_t workspace_bytes(const assay_params *params) {
    allocator counting = {NULL, 0};
    lay_out(attention_sizes_of(params), &counting);
    return counting.used;
}

/* ---- the work, enqueued until something fails ---- */

struct task {
    const assay_oracle_call *call;
    attention_sizes s;
    attention_rule rule;
    workspace w;
    cublasHandle_t blas;
    assay_status status;
};

#define ENQUEUE(t, grid, block, ...)                                                               \
    do {                                                                                           \
        if ((t)->status == ASSAY_OK)                                                               \
            (t)->status = ASSAY_LAUNCH((t)->call->stream, grid, dim3(block), 0, __VA_ARGS__);      \
    } while (0)

/* A thread for each of `count` elements. */
#define ENQUEUE_EACH(t, count, ...) ENQUEUE(t, linear_grid(count, WIDE), WIDE, __VA_ARGS__)

static void clear(task *t, double *x, int64_t count) {
    ENQUEUE_EACH(t, count, fill, x, count, 0.0);
}

/* C (m, n) = op(A)·op(B) + beta·C, row-major and packed. */
static void multiply(task *t, bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a,
                     const double *b, double beta, double *c) {
    const double one = 1;
    if (t->status != ASSAY_OK || m == 0 || n == 0)
        return;
    if (k == 0) {
        if (beta == 0)
            clear(t, c, m * n);
        return;
    }
    t->status = assay_blas_check(cublasDgemm_64(t->blas, tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                ta ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b,
                                                tb ? k : n, a, ta ? m : k, &beta, c, n),
                                 "cublasDgemm");
}

/* op(A)·op(B) for each of two pairs. */
static void multiply_magnitudes(task *t, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                                magnitudes a, magnitudes b, double beta, magnitudes c) {
    multiply(t, ta, tb, m, n, k, a.sum, b.sum, beta, c.sum);
    multiply(t, ta, tb, m, n, k, a.square, b.square, beta, c.square);
}

static void measure_operand(task *t, const double *x, const double *centre, int64_t count,
                            magnitudes to) {
    ENQUEUE_EACH(t, count, measure, x, centre, t->s.d, count, to);
}

static magnitudes magnitudes_of(panel p) {
    return magnitudes{p.sum, p.square};
}

/* Where a chunk's rows and its head's keys begin in the tensors. */
struct place {
    span chunk;
    int64_t row, of_queries, of_keys; /* row: of lse */
};

static void run_forward(task *t, const place &at) {
    const attention_sizes &s = t->s;
    const workspace &w = t->w;
    const assay_oracle_call *call = t->call;
    const int64_t rows = at.chunk.rows, count = rows * s.d;
    const double *q = call->in[ATTENTION_Q] + at.of_queries;
    const double *v = call->in[ATTENTION_V] + at.of_keys;
    double *o = call->out[ATTENTION_O] + at.of_queries, *lse = call->out[ATTENTION_LSE] + at.row;
    double *p = w.grad_p.value; /* until dP is there */
    const magnitudes errors = magnitudes_of(w.rows);
    measure_operand(t, q, NULL, count, w.q);
    multiply(t, false, true, rows, s.sk, s.d, q, call->in[ATTENTION_K] + at.of_keys, 0,
             w.scores.value);
    multiply_magnitudes(t, false, true, rows, s.sk, s.d, w.q, w.k, 0, magnitudes_of(w.scores));
    ENQUEUE(t, dim3((unsigned)rows), THREADS, score, s, t->rule, at.chunk, w.scores);
    ENQUEUE(t, dim3((unsigned)rows), THREADS, softmax, s, at.chunk, w.scores.value, p, lse,
            w.maximum);
    multiply(t, false, false, rows, s.d, s.sk, p, v, 0, o);
    ENQUEUE_EACH(t, count, sum_keys, w.found, s, at.chunk, p, v, o);
    ENQUEUE(t, dim3((unsigned)rows), THREADS, weigh, s, t->rule, at.chunk, w.scores, lse, w.maximum,
            w.of_p, w.states, call->out_bound[ATTENTION_LSE] + at.row);
    multiply_magnitudes(t, false, false, rows, s.d, s.sk, w.of_p, w.centred, 0, errors);
    ENQUEUE_EACH(t, count, bound_o, t->rule, s.d, count, w.states, o, w.centre, w.farthest, errors,
                 call->out_bound[ATTENTION_O] + at.of_queries);
}

/* P and dS are in the panels: their products with k, q and do. */
static void run_gradients(task *t, const place &at) {
    const attention_sizes &s = t->s;
    const workspace &w = t->w;
    const assay_oracle_call *call = t->call;
    const int64_t rows = at.chunk.rows;
    const double *q = call->in[ATTENTION_Q] + at.of_queries;
    const double *k = call->in[ATTENTION_K] + at.of_keys;
    const double *grad_o = call->cot[ATTENTION_O] + at.of_queries;
    const double *p = w.scores.value, *ds = w.grad_p.value;
    double *dq = call->grad[ATTENTION_Q] + at.of_queries;
    multiply(t, false, false, rows, s.d, s.sk, ds, k, 0, dq);
    multiply(t, true, false, s.sk, s.d, rows, ds, q, 1, call->grad[ATTENTION_K] + at.of_keys);
    multiply(t, true, false, s.sk, s.d, rows, p, grad_o, 1, call->grad[ATTENTION_V] + at.of_keys);
    ENQUEUE_EACH(t, rows * s.d, sum_keys, w.found, s, at.chunk, ds, k, dq);
    ENQUEUE_EACH(t, s.sk * s.d, sum_queries, w.found, s, at.chunk, ds, q, w.exact_dk);
    ENQUEUE_EACH(t, s.sk * s.d, sum_queries, w.found, s, at.chunk, p, grad_o, w.exact_dv);
}

static void run_backward(task *t, const place &at) {
    const attention_sizes &s = t->s;
    const workspace &w = t->w;
    const assay_oracle_call *call = t->call;
    const int64_t rows = at.chunk.rows, count = rows * s.d;
    backward_rows of;
    of.o = call->out[ATTENTION_O] + at.of_queries;
    of.o_bound = call->out_bound[ATTENTION_O] + at.of_queries;
    of.grad_o = call->cot[ATTENTION_O] + at.of_queries;
    of.lse = call->out[ATTENTION_LSE] + at.row;
    of.lse_bound = call->out_bound[ATTENTION_LSE] + at.row;
    of.delta_error = w.delta_error;
    of.row_error = w.row_error;
    measure_operand(t, of.grad_o, NULL, count, w.grad_o);
    multiply(t, false, true, rows, s.sk, s.d, of.grad_o, call->in[ATTENTION_V] + at.of_keys, 0,
             w.grad_p.value);
    multiply_magnitudes(t, false, true, rows, s.sk, s.d, w.grad_o, w.v, 0, magnitudes_of(w.grad_p));
    ENQUEUE(t, dim3((unsigned)rows), THREADS, differentiate, s, t->rule, at.chunk, of, w.scores,
            w.grad_p, w.of_p);
    run_gradients(t, at);
    multiply(t, false, false, rows, s.d, s.sk, w.scores.value, w.finite_k, 0, w.rows.value);
    multiply_magnitudes(t, false, false, rows, s.d, s.sk, magnitudes_of(w.scores), w.k, 0,
                        magnitudes_of(w.rows));
    ENQUEUE_EACH(t, count, bound_dq, s, t->rule, count, w.rows, w.delta_error, w.row_error,
                 call->grad[ATTENTION_Q] + at.of_queries,
                 call->grad_bound[ATTENTION_Q] + at.of_queries);
    multiply_magnitudes(t, true, false, s.sk, s.d, rows, magnitudes_of(w.grad_p), w.q, 1, w.dk);
    multiply_magnitudes(t, true, false, s.sk, s.d, rows, w.of_p, w.grad_o, 1, w.dv);
}

static void begin_head(task *t, int64_t of_keys) {
    const workspace &w = t->w;
    const int64_t keys = t->s.sk * t->s.d;
    const double *v = t->call->in[ATTENTION_V] + of_keys;
    ENQUEUE(t, dim3((unsigned)t->s.d), THREADS, find_centre, v, t->s.sk, t->s.d, w.centre,
            w.farthest);
    const double *k = t->call->in[ATTENTION_K] + of_keys;
    measure_operand(t, k, NULL, keys, w.k);
    ENQUEUE_EACH(t, keys, keep_finite, k, w.finite_k, keys);
    measure_operand(t, v, NULL, keys, w.v);
    measure_operand(t, v, w.centre, keys, w.centred);
    double *sums[] = {w.dk.sum,
                      w.dk.square,
                      w.dv.sum,
                      w.dv.square,
                      w.exact_dk,
                      w.exact_dv,
                      t->call->grad[ATTENTION_K] + of_keys,
                      t->call->grad[ATTENTION_V] + of_keys};
    for (double *sum : sums)
        clear(t, sum, keys);
}

static void finish_head(task *t, int64_t of_keys) {
    const workspace &w = t->w;
    const int64_t keys = t->s.sk * t->s.d;
    double *dk = t->call->grad[ATTENTION_K] + of_keys, *dv = t->call->grad[ATTENTION_V] + of_keys;
    ENQUEUE_EACH(t, keys, replace, w.found, w.exact_dk, dk, keys);
    ENQUEUE_EACH(t, keys, replace, w.found, w.exact_dv, dv, keys);
    ENQUEUE_EACH(t, keys, bound_sums, t->rule, keys, t->s.scale, w.dk, dk,
                 t->call->grad_bound[ATTENTION_K] + of_keys);
    ENQUEUE_EACH(t, keys, bound_sums, t->rule, keys, 1.0, w.dv, dv,
                 t->call->grad_bound[ATTENTION_V] + of_keys);
}

static void run_head(task *t, int64_t head) {
    const attention_sizes &s = t->s;
    const int64_t chunk = chunk_rows(s), of_keys = head * s.sk * s.d;
    begin_head(t, of_keys);
    for (int64_t first = 0; first < s.sq; first += chunk) {
        const int64_t left = s.sq - first, row = head * s.sq + first;
        const place at = {{first, left < chunk ? left : chunk}, row, row * s.d, of_keys};
        run_forward(t, at);
        run_backward(t, at);
    }
    finish_head(t, of_keys);
}

static void look_for_infinities_in_all(task *t) {
    const attention_sizes &s = t->s;
    const int64_t queries = s.heads * s.sq * s.d, keys = s.heads * s.sk * s.d;
    ENQUEUE(t, dim3(1), 1, clear_flag, t->w.found);
    const struct {
        const double *data;
        int64_t count;
    } inputs[] = {{t->call->in[ATTENTION_Q], queries},
                  {t->call->in[ATTENTION_K], keys},
                  {t->call->in[ATTENTION_V], keys},
                  {t->call->cot[ATTENTION_O], queries}};
    for (const auto &input : inputs)
        ENQUEUE_EACH(t, input.count, look_for_infinities, input.data, input.count, t->w.found);
}

static assay_status run(const assay_oracle_call *call) {
    task t;
    allocator from = {static_cast<char *>(call->workspace), 0};
    t.call = call;
    t.s = attention_sizes_of(call->params);
    t.rule = attention_rule_of(call->rounding);
    t.w = lay_out(t.s, &from);
    t.status = assay_blas_handle(call->stream, &t.blas);
    attention_why_forward(&t.rule, call->out_why[ATTENTION_O], call->out_why[ATTENTION_LSE]);
    attention_why_backward(&t.rule, call->grad_why[ATTENTION_Q], call->grad_why[ATTENTION_K],
                           call->grad_why[ATTENTION_V]);
    look_for_infinities_in_all(&t);
    for (int64_t head = 0; head < t.s.heads; ++head)
        run_head(&t, head);
    return t.status;
}

ASSAY_DEVICE_ORACLE(attention) = {
    .op = "attention",
    .device = ASSAY_DEVICE_NAME,
    .workspace = workspace_bytes,
    .run = run,
};
