/*
 * Faults to put into a right result, or to bring a right kernel to by what it is given. An error
 * has a size d, so that the smallest that is caught can be sought; a fault is there or is not.
 */
#ifndef ASSAY_EVIDENCE_FAULTS_H
#define ASSAY_EVIDENCE_FAULTS_H

#include "assay/problem.h"

/* Of one tensor with root mean square r, of its finite elements; the place is drawn. */
typedef enum error_kind {
    ERROR_ELEMENT_RELATIVE, /* one element of at least r: times 1 + d */
    ERROR_ELEMENT_ABSOLUTE, /* any one element: plus d r */
    ERROR_ALL_RELATIVE,     /* every element: times 1 + d */
    ERROR_ALL_ABSOLUTE,     /* every element: plus d r */
} error_kind;
enum { ERROR_KINDS = 4 };
const char *error_name(error_kind kind);

typedef enum fault_kind {
    FAULT_TF32,    /* every operand rounded to TF32 */
    FAULT_BF16,    /* every operand rounded to bf16 */
    FAULT_F32,     /* every operand rounded to f32 */
    FAULT_DROPPED, /* one element of an input taken as 0: a term missing from every sum it is in */
    FAULT_COTANGENT, /* cotangents taken as 1 */
    FAULT_NAN,       /* one element of a result is NaN */
    FAULT_SWAPPED,   /* two elements of a tensor have changed places */
    FAULT_ROW,       /* one row of a tensor is 0 */
    FAULT_GRADIENT,  /* one gradient is 0 */
} fault_kind;
enum { FAULT_KINDS = 9 };
const char *fault_name(fault_kind kind);

/* Whether a kernel of that precision could be guilty of it: operands that lose what they have. */
bool fault_applies(fault_kind kind, assay_dtype dtype, assay_math math);

/* Whether it is made before the kernel runs, of its problem, or afterwards, of its results. */
bool fault_is_of_problem(fault_kind kind);
void fault_of_problem(fault_kind kind, assay_rng *rng, assay_problem *p);
void fault_of_results(fault_kind kind, assay_rng *rng, const assay_signature *sig,
                      assay_results *r);

/* Writes `from` with the error to `to`, as a kernel would store it in `dtype`; `place`: any number,
 * the same for the same element. */
void error_inject(error_kind kind, double d, uint64_t place, assay_dtype dtype, const double *from,
                  double *to, int64_t count);

/* The tensors of a result in one row: the outputs, then the gradients. NULL: there is none. */
double *results_tensor(const assay_results *r, int32_t i, int64_t *count);
const assay_tensor_spec *results_spec(const assay_signature *sig, int32_t i);

#endif
