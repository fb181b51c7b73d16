/* Element types and their rounding. Everything here is exact: fp64 holds every value of each. */
#ifndef ASSAY_DTYPE_H
#define ASSAY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum assay_dtype { ASSAY_F64, ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_I32 } assay_dtype;
enum { ASSAY_DTYPES = 4 }; /* those that a case computes in; ASSAY_I32 only holds indices */

#define ASSAY_DTYPE_BIT(dtype) (1u << (unsigned)(dtype))

size_t assay_dtype_size(assay_dtype dtype);      /* bytes */
const char *assay_dtype_name(assay_dtype dtype); /* "f64", "f32", "bf16", "f16", "i32" */

/* Of a floating-point type. */
int assay_dtype_significand(assay_dtype dtype);   /* p, the hidden bit counted: 53, 24, 8, 11 */
double assay_dtype_unit(assay_dtype dtype);       /* unit roundoff u = 2^-p */
double assay_dtype_denorm_min(assay_dtype dtype); /* smallest positive subnormal */
double assay_dtype_max(assay_dtype dtype);        /* largest finite value */

/* True and *dtype set when `name` (length `n`) is that of a floating-point type. */
bool assay_dtype_parse(const char *name, size_t n, assay_dtype *dtype);

/* Round to nearest, ties to even, overflow to infinity, subnormals kept; NaN stays NaN. As i32: to
 * the nearest integer that it holds, NaN to 0. */
double assay_dtype_round(assay_dtype dtype, double value);

/* `count` elements, packed. `narrow` rounds as assay_dtype_round does. */
void assay_dtype_widen(assay_dtype dtype, const void *from, double *to, int64_t count);
void assay_dtype_narrow(assay_dtype dtype, const double *from, void *to, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
