/* The parts of a variant of the model: a variant of each operator, by its name. */
#ifndef ASSAY_TRANSFORMER_COMPOSITION_H
#define ASSAY_TRANSFORMER_COMPOSITION_H

#include "kernels/transformer/fusions.h"

typedef struct composition {
    const char *name; /* the model's own */
    const char *embedding, *rmsnorm, *linear, *attention, *swiglu, *cross_entropy, *adamw;
    const fusions *fused; /* NULL: each part by itself */
} composition;

#endif
