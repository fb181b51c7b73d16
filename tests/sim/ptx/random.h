/*
 * Random PTX programs of one block: the instructions of forms.h on each other's results, guards,
 * shared and local memory, barriers, atomics whose order does not show, and warp collectives. A
 * seed stands for a program. Each step stores its results.
 */
#ifndef ASSAY_TESTS_SIM_PTX_RANDOM_H
#define ASSAY_TESTS_SIM_PTX_RANDOM_H

#include <stdint.h>

enum {
    RANDOM_THREADS = 64,
    RANDOM_STEPS = 14,                                             /* the most that a program has */
    RANDOM_RESULTS = 3,                                            /* the most that a step has */
    RANDOM_WORDS = RANDOM_STEPS * RANDOM_RESULTS * RANDOM_THREADS, /* [step][result][thread] */
    RANDOM_KERNEL = 32,                                            /* programs in a kernel */
};

/* A comment before each step's text; the step's number follows. */
#define RANDOM_STEP "// step "

/*
 * A module of `count` programs, from seed `first` on, in kernels k0, k1, ...; each takes the
 * address of forms_operands() and that of RANDOM_WORDS words of zeros a program. To be freed.
 * `steps`: which of their steps the programs keep, a bit each.
 */
char *random_module(uint64_t first, int32_t count, uint64_t steps);

/* What a program leaves, as one number. */
uint64_t random_checksum(const uint64_t results[RANDOM_WORDS]);

#endif
