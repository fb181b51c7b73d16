/* The stand-in for libcublasLt: products in column order, with the epilogues bias, ReLU and GELU.
 * It finds one algorithm, which needs no workspace. */
#include "sim/exec/blas/product.h"

#include <string.h>

#include <new>

namespace {

struct context {
    int unused;
};

struct description {
    int compute, scale, pointer_mode, op_a, op_b, epilogue, bias_type, aux_type;
    void *bias, *aux;
    int64_t aux_ld;
};

struct layout {
    int type, order;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t batch;
};

/* An attribute's place: its number, where it is and its size. */
struct place {
    int attribute;
    size_t offset, bytes;
};
#define PLACE(number, type, member)                                                                \
    { number, offsetof(type, member), sizeof(type::member) }

const place of_description[] = {
    PLACE(0, description, compute),      PLACE(1, description, scale),
    PLACE(2, description, pointer_mode), PLACE(3, description, op_a),
    PLACE(4, description, op_b),         PLACE(7, description, epilogue),
    PLACE(8, description, bias),         PLACE(11, description, aux),
    PLACE(12, description, aux_ld),      PLACE(22, description, aux_type),
    PLACE(26, description, bias_type),
};
const place of_layout[] = {
    PLACE(0, layout, type),    PLACE(1, layout, order), PLACE(2, layout, rows),
    PLACE(3, layout, columns), PLACE(4, layout, ld),    PLACE(5, layout, batch),
    PLACE(6, layout, stride),
};

template <size_t N>
exec_blas set(const place (&places)[N], void *object, int attribute, const void *value,
              size_t bytes) {
    if (object == nullptr || value == nullptr)
        return BLAS_INVALID_VALUE;
    for (const place &p : places)
        if (p.attribute == attribute) {
            if (bytes != p.bytes)
                return BLAS_INVALID_VALUE;
            memcpy(static_cast<char *>(object) + p.offset, value, bytes);
            return BLAS_SUCCESS;
        }
    return blas_absent("an attribute of cuBLASLt that is set");
}

template <size_t N>
exec_blas get(const place (&places)[N], const void *object, int attribute, void *value,
              size_t bytes, size_t *written) {
    for (const place &p : places)
        if (p.attribute == attribute) {
            if (written != nullptr)
                *written = p.bytes;
            if (bytes == 0)
                return BLAS_SUCCESS;
            if (bytes < p.bytes || value == nullptr)
                return BLAS_INVALID_VALUE;
            memcpy(value, static_cast<const char *>(object) + p.offset, p.bytes);
            return BLAS_SUCCESS;
        }
    return blas_absent("an attribute of cuBLASLt that is asked for");
}

template <typename T> exec_blas make(T **to, const T &value) {
    if (to == nullptr)
        return BLAS_INVALID_VALUE;
    *to = new (std::nothrow) T(value);
    return *to != nullptr ? BLAS_SUCCESS : BLAS_ALLOC_FAILED;
}

enum {
    EPILOGUE_NONE = 1,
    EPILOGUES = EPILOGUE_RELU | EPILOGUE_BIAS | EPILOGUE_GELU | EPILOGUE_AUX
};

/* What there is: column order, host or device scalars, no ReLU with an auxiliary output, which is a
 * mask of bits. */
bool is_here(const description *d, const layout *a, const layout *b, const layout *c,
             const layout *out) {
    const int e = d->epilogue == EPILOGUE_NONE ? 0 : d->epilogue;
    const bool mask = (e & EPILOGUE_AUX) != 0 && (e & EPILOGUE_GELU) == 0;
    return a->order == 0 && b->order == 0 && c->order == 0 && out->order == 0 &&
           d->pointer_mode <= 1 && (e & ~EPILOGUES) == 0 && !mask && blas_bytes(a->type) > 0 &&
           blas_bytes(out->type) > 0;
}

/* Whether the shapes fit. */
bool fit(const description *d, const layout *a, const layout *b, const layout *c,
         const layout *out) {
    const uint64_t m = d->op_a ? a->columns : a->rows, k = d->op_a ? a->rows : a->columns;
    const uint64_t n = d->op_b ? b->rows : b->columns, k_b = d->op_b ? b->columns : b->rows;
    return k == k_b && out->rows == m && out->columns == n && c->rows == m && c->columns == n &&
           a->batch == out->batch && b->batch == out->batch;
}

} // namespace

EXPORT exec_blas cublasLtCreate(context **c) {
    return make(c, context{});
}
EXPORT exec_blas cublasLtDestroy(context *c) {
    delete c;
    return BLAS_SUCCESS;
}
EXPORT size_t cublasLtGetVersion(void) {
    return 130000;
}

EXPORT exec_blas cublasLtMatmulDescCreate(description **d, int compute, int scale) {
    return make(d,
                description{compute, scale, 0, 0, 0, EPILOGUE_NONE, -1, -1, nullptr, nullptr, 0});
}
EXPORT exec_blas cublasLtMatmulDescDestroy(description *d) {
    delete d;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasLtMatmulDescSetAttribute(description *d, int attribute, const void *value,
                                                size_t bytes) {
    return set(of_description, d, attribute, value, bytes);
}
EXPORT exec_blas cublasLtMatmulDescGetAttribute(const description *d, int attribute, void *value,
                                                size_t bytes, size_t *written) {
    return get(of_description, d, attribute, value, bytes, written);
}

EXPORT exec_blas cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t columns,
                                            int64_t ld) {
    return make(l, layout{type, 0, rows, columns, ld, 0, 1});
}
EXPORT exec_blas cublasLtMatrixLayoutDestroy(layout *l) {
    delete l;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *value,
                                                  size_t bytes) {
    return set(of_layout, l, attribute, value, bytes);
}
EXPORT exec_blas cublasLtMatrixLayoutGetAttribute(const layout *l, int attribute, void *value,
                                                  size_t bytes, size_t *written) {
    return get(of_layout, l, attribute, value, bytes, written);
}

/* Preferences choose among algorithms, of which there is one. */
EXPORT exec_blas cublasLtMatmulPreferenceCreate(context **p) {
    return make(p, context{});
}
EXPORT exec_blas cublasLtMatmulPreferenceDestroy(context *p) {
    delete p;
    return BLAS_SUCCESS;
}
EXPORT exec_blas cublasLtMatmulPreferenceSetAttribute(context *p, int, const void *value, size_t) {
    return p != nullptr && value != nullptr ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

struct heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

EXPORT exec_blas cublasLtMatmulAlgoGetHeuristic(context *, const description *d, const layout *a,
                                                const layout *b, const layout *c, const layout *out,
                                                context *, int requested, heuristic results[],
                                                int *returned) {
    if (d == nullptr || a == nullptr || b == nullptr || c == nullptr || out == nullptr ||
        requested < 1 || results == nullptr || returned == nullptr || !fit(d, a, b, c, out))
        return BLAS_INVALID_VALUE;
    *returned = 0;
    if (!is_here(d, a, b, c, out))
        return blas_absent("this kind of cublasLtMatmul");
    results[0] = heuristic{};
    results[0].waves = 1;
    *returned = 1;
    return BLAS_SUCCESS;
}

EXPORT exec_blas cublasLtMatmul(context *, const description *d, const void *alpha, const void *a,
                                const layout *al, const void *b, const layout *bl, const void *beta,
                                const void *c, const layout *cl, void *out, const layout *ol,
                                const void *, void *, size_t, void *stream) {
    if (d == nullptr || al == nullptr || bl == nullptr || cl == nullptr || ol == nullptr ||
        !fit(d, al, bl, cl, ol))
        return BLAS_INVALID_VALUE;
    if (!is_here(d, al, bl, cl, ol))
        return blas_absent("this kind of cublasLtMatmul");
    const int what = d->epilogue == EPILOGUE_NONE ? 0 : d->epilogue;
    const epilogue then = {what,   d->bias,   d->bias_type >= 0 ? d->bias_type : ol->type,
                           d->aux, d->aux_ld, d->aux_type >= 0 ? d->aux_type : ol->type};
    if ((what & EPILOGUE_BIAS) != 0 && d->bias == nullptr)
        return BLAS_INVALID_VALUE;
    const product p = {d->op_a,
                       d->op_b,
                       (int64_t)ol->rows,
                       (int64_t)ol->columns,
                       (int64_t)(d->op_a ? al->rows : al->columns),
                       ol->batch,
                       d->compute,
                       d->scale,
                       d->pointer_mode == 1,
                       alpha,
                       beta,
                       {a, al->type, al->ld, al->stride},
                       {b, bl->type, bl->ld, bl->stride},
                       {c, cl->type, cl->ld, cl->stride},
                       {out, ol->type, ol->ld, ol->stride},
                       then};
    return product_submit("cublasLtMatmul", p, stream);
}

#define EXEC_ABSENT(name)                                                                          \
    EXPORT exec_blas name(void) {                                                                  \
        return blas_absent(#name);                                                                 \
    }
#include "sim/exec/blas/cublaslt_absent.def"
