/*
 * An operator outside of assay's tree: a shared object in which ASSAY_OPERATOR names an assay_op,
 * for `assay VERB --operator FILE.so`. The command has the functions of the public headers and of
 * the oracles' helpers; the object is linked with no library.
 *
 * It is loaded into the program that judges, as the built-in oracles are, and is trusted as they
 * are: it is no place for code that is to be judged. Kernels run elsewhere, and never see it.
 */
#ifndef ASSAY_OPERATOR_H
#define ASSAY_OPERATOR_H

#include "assay/case.h"
#include "assay/compare.h"
#include "assay/op.h"
#include "assay/problem.h"
#include "assay/relation.h"
#include "assay/rng.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides must have the same number. It grows when a function of these headers changes its
 * meaning; a structure that changes its size changes the layout by itself. */
enum { ASSAY_OPERATOR_ABI = 2 };
#define ASSAY_OPERATOR_LAYOUT                                                                      \
    ((uint32_t)(sizeof(assay_op) + 3 * sizeof(assay_case) + 5 * sizeof(assay_params) +             \
                7 * sizeof(assay_tensor_spec) + 11 * sizeof(assay_signature) +                     \
                13 * sizeof(assay_oracle_args) + 17 * sizeof(assay_rounding) +                     \
                19 * sizeof(assay_bounds) + 23 * sizeof(assay_problem) +                           \
                29 * sizeof(assay_results) + 31 * sizeof(assay_relation) +                         \
                37 * sizeof(assay_work) + 41 * sizeof(assay_key) + 43 * sizeof(assay_rng)))

typedef struct assay_operator {
    uint32_t abi, layout; /* of the headers that it was compiled with */
    const assay_op *op;
} assay_operator;

/* Once in a shared object, at file scope, with the name of a `const assay_op` that is there. */
#define ASSAY_OPERATOR(op)                                                                         \
    extern const assay_operator assay_operator_entry;                                              \
    __attribute__((visibility("default")))                                                         \
    const assay_operator assay_operator_entry = {ASSAY_OPERATOR_ABI, ASSAY_OPERATOR_LAYOUT, &(op)}

#ifdef __cplusplus
}
#endif

#endif
