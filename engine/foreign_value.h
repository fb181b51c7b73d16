/* The value of a binding's argument in a call. */
#ifndef ASSAY_ENGINE_FOREIGN_VALUE_H
#define ASSAY_ENGINE_FOREIGN_VALUE_H

#include "assay/variant.h"
#include "engine/binding.h"

typedef enum foreign_kind {
    FOREIGN_TENSOR,  /* `tensor` */
    FOREIGN_ABSENT,  /* an optional one that the case does not have */
    FOREIGN_POINTER, /* `pointer`: the stream, the workspace */
    FOREIGN_INTEGER, /* `integer` */
    FOREIGN_REAL,    /* `real` */
} foreign_kind;

typedef struct foreign_value {
    foreign_kind kind;
    const assay_tensor *tensor;
    void *pointer;
    int64_t integer;
    double real;
} foreign_value;

typedef struct foreign_call {
    const assay_signature *sig;
    assay_stage stage;
    const assay_call *call;
} foreign_call;

/* ASSAY_ERR_UNSUPPORTED: the case has nothing of that name. */
assay_status foreign_find(const foreign_call *c, const binding_argument *a,
                          foreign_value *value) ASSAY_MUST_CHECK;

/* The names of inputs, outputs and keys, a blank before each. */
void foreign_names(const foreign_call *c, char *names, size_t size);

/* The call's tensor of that name; NULL: there is no such tensor. */
const assay_tensor *foreign_tensor(const foreign_call *c, const char *name, size_t length);

/* An expression's values (expression.h), of which there are `most` at the most; those that the text
 * has not are `otherwise`. All are at least 0. */
assay_status foreign_sizes(const foreign_call *c, const char *text, int most, int64_t otherwise,
                           int64_t *values) ASSAY_MUST_CHECK;

#endif
