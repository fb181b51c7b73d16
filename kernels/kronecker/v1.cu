/*
 * kronecker v1, naive: the definition, one kernel for each stage and one thread for each element
 * of its output; every state between two stages goes through global memory, as bf16 where tensors
 * are, and with sums in fp32 there.
 *
 * Bytes: each stage reads and writes the whole state, 2 k layers states forward; backward first
 * makes the stages' inputs again, then reads input and cotangent for each dW. Flops: 2 state Σ p a
 * layer forward, three times that backward. dW of a small factor has p q threads, no more.
 */
#include "kernels/kronecker/walk.h"

enum { THREADS = 256 };

/* in (rows, left, p, right), W (p, q) -> out (rows, left, q, right). */
template <typename T>
static __global__ void contract(state<const T> in, factor<const T> w, state<T> out, int64_t rows,
                                int64_t left, int64_t p, int64_t q, int64_t right) {
    const int64_t size = left * q * right;
    for (int64_t e = grid_thread(); e < rows * size; e += grid_threads()) {
        const int64_t row = e / size, place = e % size;
        const int64_t r = place % right, j = place / right % q, l = place / right / q;
        const T *from = in.data + row * in.stride + l * p * right + r;
        acc_t<T> sum = 0;
        for (int64_t i = 0; i < p; ++i)
            sum = fma_(widen(from[i * right]), widen(w.w[i * w.row + j * w.column]), sum);
        out.data[row * out.stride + place] = narrow<T>(sum);
    }
}

/* dW[i, j] = sum over rows, l and r of in[row, l, i, r] cotangent[row, l, j, r]. */
template <typename T>
static __global__ void gradient(state<const T> in, state<const T> cotangent, factor<T> dw,
                                int64_t rows, int64_t left, int64_t p, int64_t q, int64_t right) {
    for (int64_t e = grid_thread(); e < p * q; e += grid_threads()) {
        const int64_t i = e / q, j = e % q;
        acc_t<T> sum = 0;
        for (int64_t row = 0; row < rows; ++row) {
            for (int64_t l = 0; l < left; ++l) {
                const T *a = in.data + row * in.stride + (l * p + i) * right;
                const T *b = cotangent.data + row * cotangent.stride + (l * q + j) * right;
                for (int64_t r = 0; r < right; ++r)
                    sum = fma_(widen(a[r]), widen(b[r]), sum);
            }
        }
        dw.w[i * dw.row + j * dw.column] = narrow<T>(sum);
    }
}

template <typename T> struct naive_steps {
    const assay_call *call;
    const chain *c;

    assay_status contract_with(factor<const T> w, const stage &s, int64_t p, int64_t q,
                               state<const T> in, state<T> out) {
        return ASSAY_LAUNCH(call->stream, linear_grid(c->rows * s.left * q * s.right, THREADS),
                            dim3(THREADS), 0, (contract<T>), in, w, out, c->rows, s.left, p, q,
                            s.right);
    }

    assay_status forward(int32_t i, state<const T> in, state<T> out) {
        const stage &s = c->stages[i];
        return contract_with(factor_of<const T>(factor_tensor(call, s)), s, s.p, s.q, in, out);
    }

    assay_status backward(int32_t i, state<const T> in, state<const T> cotangent, state<T> out) {
        const stage &s = c->stages[i];
        const assay_status status = ASSAY_LAUNCH(
            call->stream, linear_grid(s.p * s.q, THREADS), dim3(THREADS), 0, (gradient<T>), in,
            cotangent, factor_of<T>(gradient_tensor(call, s)), c->rows, s.left, s.p, s.q, s.right);
        if (status != ASSAY_OK)
            return status;
        const factor<const T> w = factor_of<const T>(factor_tensor(call, s));
        return contract_with({w.w, w.column, w.row}, s, s.q, s.p, cotangent, out);
    }
};

template <typename T> static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    naive_steps<T> steps = {call, &c};
    return direction == ASSAY_FORWARD ? walk_forward<T>(call, walk_of_stages(c), steps)
                                      : walk_backward<T>(call, walk_of_stages(c), steps);
}

static assay_status dispatch(assay_stage direction, const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? run<__nv_bfloat16>(direction, call)
                                             : KRONECKER_DISPATCH(run, direction, call);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const int64_t elements = walk_elements(direction, walk_of_stages(chain_of(call)));
    return (size_t)elements * assay_dtype_size(call->params->dtype);
}

static assay_status forward(const assay_call *call) {
    return dispatch(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return dispatch(ASSAY_BACKWARD, call);
}

ASSAY_VARIANT(kronecker, v1) = {
    .op = "kronecker",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: a kernel a stage, a thread an element",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
