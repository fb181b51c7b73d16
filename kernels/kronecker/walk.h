/*
 * A call as a chain of steps with states in global memory between them. A step is one stage (v1,
 * v2) or a pass of several (v3). Forward keeps two states at a time in the workspace; backward
 * keeps the inputs of all steps but the first (whose input is x), made again from x, and two
 * cotangents.
 *
 * A version gives a `Steps` with
 *     forward(i, in, out)              step i
 *     backward(i, in, cotangent, out)  from the step's input and its output's cotangent, the
 *                                      gradients of its factors and its input's cotangent
 */
#ifndef ASSAY_KRONECKER_WALK_H
#define ASSAY_KRONECKER_WALK_H

#include "kernels/kronecker/stages.h"

struct walk {
    int32_t count;       /* steps */
    int64_t rows, width; /* of the widest state between two steps */
};

static inline walk walk_of_stages(const chain &c) {
    walk w = {c.count, c.rows, 0};
    for (int32_t i = 0; i + 1 < c.count; ++i)
        w.width = larger(w.width, size_behind(c.stages[i]));
    return w;
}

/* Elements of the workspace. */
static inline int64_t walk_elements(assay_stage direction, const walk &w) {
    const int64_t between = w.count - 1, pair = between < 2 ? between : 2;
    return (direction == ASSAY_FORWARD ? pair : between + pair) * w.rows * w.width;
}

template <typename T>
static inline state<T> walk_state(const assay_call *call, const walk &w, int64_t i) {
    return {static_cast<T *>(call->workspace) + i * w.rows * w.width, w.width};
}

template <typename T> static inline state<const T> read_only(state<T> s) {
    return {s.data, s.stride};
}

template <typename T, typename Steps>
static assay_status walk_forward(const assay_call *call, const walk &w, Steps &steps) {
    state<const T> in = state_of<const T>(x_of(call));
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < w.count && status == ASSAY_OK; ++i) {
        const bool last = i + 1 == w.count;
        const state<T> out = last ? state_of<T>(&call->out[0]) : walk_state<T>(call, w, i % 2);
        status = steps.forward(i, in, out);
        in = read_only(out);
    }
    return status;
}

template <typename T, typename Steps>
static assay_status walk_backward(const assay_call *call, const walk &w, Steps &steps) {
    const int32_t last = w.count - 1;
    const state<const T> x = state_of<const T>(x_of(call));
    const auto input = [&](int32_t i) {
        return i == 0 ? x : read_only(walk_state<T>(call, w, i - 1));
    };
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < last && status == ASSAY_OK; ++i)
        status = steps.forward(i, input(i), walk_state<T>(call, w, i));

    state<const T> cotangent = state_of<const T>(cotangent_of(call));
    for (int32_t i = last; i >= 0 && status == ASSAY_OK; --i) {
        const state<T> out =
            i == 0 ? state_of<T>(&call->out[0]) : walk_state<T>(call, w, last + (last - i) % 2);
        status = steps.backward(i, input(i), cotangent, out);
        cotangent = read_only(out);
    }
    return status;
}

#endif
