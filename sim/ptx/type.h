/* PTX's types. */
#ifndef ASSAY_SIM_PTX_TYPE_H
#define ASSAY_SIM_PTX_TYPE_H

#include <stddef.h>

typedef enum type_class {
    CLASS_BITS,
    CLASS_UNSIGNED,
    CLASS_SIGNED,
    CLASS_FLOAT, /* f32 and f64: the host's own */
    CLASS_SMALL, /* floating-point formats that travel as bits: f16, bf16x2, tf32, e4m3x2 */
    CLASS_PRED,
} type_class;

typedef struct ptx_type {
    const char *name; /* "f32" */
    type_class class;
    unsigned bytes; /* 0: pred */
    const char *c;  /* of the C type that holds it */
} ptx_type;

/* NULL when it names no type. */
const ptx_type *type_find(const char *name, size_t n);
const ptx_type *type_named(const char *name);

/* The unsigned integer of so many bytes. */
const ptx_type *type_bits(unsigned bytes);

#endif
