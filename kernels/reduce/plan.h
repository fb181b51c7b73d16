/* Shared by the versions of reduce: where the elements lie that make a result. Leading axes that
 * follow each other, and are of one kind, are one; the last axis stays, so that no order depends on
 * the padding. */
#ifndef ASSAY_REDUCE_PLAN_H
#define ASSAY_REDUCE_PLAN_H

#include "kernels/common/rows.h"

enum { SUM, MEAN, MAX };

/* Some axes: number i of their elements lies `at(i)` behind the first. */
struct axes {
    int count;
    int64_t size[ASSAY_MAX_RANK], step[ASSAY_MAX_RANK], total;

    __host__ __device__ __forceinline__ int64_t at(int64_t i) const {
        int64_t place = 0;
        for (int a = count - 1; a > 0; --a) {
            place += i % size[a] * step[a];
            i /= size[a];
        }
        return count > 0 ? place + i * step[0] : 0;
    }
    void add(int64_t extent, int64_t distance, bool last) {
        total *= extent;
        if (extent == 1 && !last)
            return;
        if (count > 0 && !last && step[count - 1] == extent * distance) {
            size[count - 1] *= extent;
            step[count - 1] = distance;
            return;
        }
        size[count] = extent;
        step[count++] = distance;
    }
};

/* x is read at kept.at(o) + reduced.at(r), y is written in rows of `columns`. */
struct plan {
    axes kept, reduced;
    int64_t columns;
    int kind;
    bool first, last; /* kind=max: the first of equals; the last axis of x is reduced */

    __device__ __forceinline__ int64_t results() const {
        return kept.total;
    }
    template <typename T>
    __device__ __forceinline__ T *result(const matrix<T> &y, int64_t o) const {
        return y.row(o / columns) + o % columns;
    }
};

static inline bool is_reduced(const assay_call *call, int axis) {
    const assay_param *named = assay_params_find(call->params, "axes");
    for (int i = 0; i < named->count; ++i)
        if (named->value[i] == axis)
            return true;
    return named->count == 0;
}

/* Of a tensor with x's shape: x, or dx. */
static inline plan plan_of(const assay_call *call, const assay_tensor *x) {
    plan p = {};
    p.kept.total = p.reduced.total = p.columns = 1;
    p.kind = (int)assay_params_find(call->params, "kind")->value[0];
    p.first = assay_params_int(call->params, "first") != 0;
    p.last = is_reduced(call, x->rank - 1);
    for (int a = 0; a < x->rank; ++a) {
        if (is_reduced(call, a)) {
            p.reduced.add(x->shape[a], x->stride[a], a == x->rank - 1);
        } else {
            p.kept.add(x->shape[a], x->stride[a], a == x->rank - 1);
            p.columns = x->shape[a];
        }
    }
    p.columns = p.columns > 0 ? p.columns : 1;
    return p;
}

/* NaN is the larger one. */
template <typename A> static __device__ __forceinline__ A larger(A a, A b) {
    return b > a || b != b ? b : a;
}

/* Whether that element is the largest. */
template <typename A> static __device__ __forceinline__ bool is_most(A x, A most) {
    return x == most || (x != x && most != most);
}

#endif
