/*
 * A binding: how functions of a shared object that knows nothing of assay are called for an
 * operator, or how kernels of a module, PTX or machine code, are launched. Its text, a line each,
 * `#` and `//` begin comments:
 *
 *     op = rmsnorm                                        optional: whose binding it is
 *     forward = int rms(const float *x, float *w, float *y, x.rows, x.stride, eps, stream)
 *     backward = rms_grad(x, w, dy, dx, dw, x.rows, d)
 *     workspace = x.rows * 4                              bytes; without it there is none
 *     require = d % 4 == 0                                other cases are declined
 *     order = any                                         as in variant.h: sums have no fixed order
 *     forward.grid = cdiv(x.rows, 4), 1, 1                of kernels: this line and the next make
 *     forward.block = 32, 4                               the name before them a kernel's
 *     forward.shared = d * 4                              bytes of dynamic shared memory
 *
 * A function whose name begins with __tvm_ffi_ is called by tvm-ffi's C ABI, any other by C's. Its
 * result is looked at where the text says `int` or `cudaError_t` before the name: not 0 is an
 * error.
 *
 * An argument is a C type, which may be left out, and the value that is passed for the case at
 * hand:
 *
 *     x, y, dy, dx         a tensor: an input, output, cotangent, gradient; `r?`: NULL, or None,
 *                          where the case has no such tensor
 *     x.rows x.cols        its rows, the elements of one (tensor.h), the elements from one to the
 *     x.stride x.size      next, and all elements; also written x_rows and so on
 *     x.dim0 x.dim1 ...    its shape
 *     d, eps               a key of the operator's; of a list, the product; d.0, d.1, its elements
 *     stream               cudaStream_t; NULL where the device has none
 *     workspace, workspace_bytes
 *     0, 1.5               a number
 *
 * A pointer's type says the dtype that the function takes: float, double, half, bf16 (__half,
 * __nv_bfloat16 and so on), int32_t; void takes any. A number without a type is an int64_t, or a
 * double where its value is real; with tvm-ffi and kernels, which say it themselves, types are not
 * needed. Sizes are expressions (expression.h).
 */
#ifndef ASSAY_ENGINE_BINDING_H
#define ASSAY_ENGINE_BINDING_H

#include "assay/op.h"
#include "assay/status.h"

#include <stdbool.h>

enum {
    BINDING_SYMBOL = 128,
    BINDING_VALUE = 64,
    BINDING_EXPRESSION = 128,
    BINDING_ARGUMENTS = 40,
    BINDING_TEXT = 1 << 15
};

typedef enum binding_type {
    BINDING_UNTOLD,
    BINDING_POINTER,
    BINDING_INT32,
    BINDING_INT64,
    BINDING_FLOAT,
    BINDING_DOUBLE,
} binding_type;

typedef struct binding_argument {
    binding_type type;
    bool any;          /* a pointer to anything */
    assay_dtype dtype; /* of other pointers */
    bool optional;
    char value[BINDING_VALUE];
} binding_argument;

/* The meaning of a function's result. */
typedef enum binding_result {
    BINDING_NO_RESULT,
    BINDING_STATUS,     /* 0: it went well */
    BINDING_CUDA_ERROR, /* the same, by CUDA's numbers */
} binding_result;

typedef struct binding_launcher {
    char symbol[BINDING_SYMBOL]; /* "": the stage has none */
    bool tvm_ffi;                /* tvm-ffi's ABI */
    binding_result result;
    int32_t count;
    binding_argument argument[BINDING_ARGUMENTS];
} binding_launcher;

/* How a kernel is launched; grid "": the stage has a function of the host's. */
typedef struct binding_geometry {
    char grid[BINDING_EXPRESSION], block[BINDING_EXPRESSION], shared[BINDING_EXPRESSION];
} binding_geometry;

typedef struct binding {
    char op[BINDING_VALUE]; /* "": not told */
    binding_launcher stage[ASSAY_STAGES];
    binding_geometry geometry[ASSAY_STAGES];
    char workspace[BINDING_EXPRESSION], require[BINDING_EXPRESSION];
    bool any_order; /* see assay/variant.h */
} binding;

/* Whether it launches kernels of a module. */
bool binding_is_of_kernels(const binding *b);

/* Any text gives a binding with a launcher at least, or ASSAY_ERR_USAGE with a line that begins
 * with `name`. */
assay_status binding_parse(const char *name, const char *text, binding *b) ASSAY_MUST_CHECK;

/* The text again, for free(). */
assay_status binding_format(const binding *b, char **text) ASSAY_MUST_CHECK;

/*
 * The binding of a source: comments `// assay: forward = ...` as above; types that they leave out
 * are those of the function's declaration. Without such comments the binding takes the functions
 * called OP_forward, OP or forward, and OP_backward or backward; the name of a parameter then says
 * which value is passed. ASSAY_ERR_USAGE: it has neither.
 */
assay_status binding_of_source(const char *name, const char *source, const char *op,
                               binding *b) ASSAY_MUST_CHECK;

/* The same for text whose functions are not C: it reads the comments alone. */
assay_status binding_of_comments(const char *name, const char *text, binding *b) ASSAY_MUST_CHECK;

/* tvm-ffi's usual one: __tvm_ffi_SYMBOL with all inputs, then all outputs, of the case at hand. It
 * has an argument called "all" for these. */
void binding_of_tvm_ffi(const char *forward, const char *backward, binding *b);

#endif
