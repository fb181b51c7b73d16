/* The checks that find mutants. */
#ifndef ASSAY_MUTANTS_LAYER_H
#define ASSAY_MUTANTS_LAYER_H

#include "assay/status.h"

#include <stdbool.h>

enum { LAYER_REASON = 256 };

typedef enum mutant_layer {
    LAYER_NONE,
    LAYER_BOUND,    /* a number beyond its bound, or NaN */
    LAYER_EXACT,    /* the same on data whose sums are exact */
    LAYER_BASELINE, /* as a whole too far from v1 */
    LAYER_GUARD,    /* it wrote outside, or changed an input */
    LAYER_SIM,      /* the simulated device found a defect, or refused a launch */
    LAYER_REFUSED,  /* it says that it cannot do what the kernel does */
    LAYER_CRASH,    /* its process ended */
    LAYER_HANG,     /* it did not end */
    LAYER_PROPERTY, /* a relation, or determinism */
    LAYER_GOLDEN,   /* a golden file */
    LAYER_FUZZ,     /* a random case, by any of the above */
    LAYER_ASAN,     /* AddressSanitizer or UndefinedBehaviorSanitizer */
    LAYER_RACE,     /* the race recorder */
    LAYER_UNIT,     /* the file's own test */
    LAYER_TWIN,     /* an oracle's own tests: plain loops, Jacobians, the adjoint identity */
    LAYER_CHECK,    /* an oracle that finds a right kernel wrong */
    LAYER_SUITE,    /* any other test of its operator */
} mutant_layer;
enum { MUTANT_LAYERS = LAYER_SUITE + 1 };

/* "bound": stable words. */
const char *mutant_layer_name(mutant_layer layer);
/* MUTANT_LAYERS when there is none of that name. */
mutant_layer mutant_layer_find(const char *name);

/* The layer that a run which gave no numbers belongs to, from its status and failure. */
mutant_layer mutant_layer_of(assay_status status, assay_failure failure);

#endif
