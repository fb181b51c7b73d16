/* Kernels that access what is no tensor's, and drop what they read; each with its right twin. */
#ifndef ASSAY_TESTS_SIM_STRAY_H
#define ASSAY_TESTS_SIM_STRAY_H

#include "assay/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STRAY_THREADS = 64, STRAY_PAD = 8 };

typedef enum stray_kernel {
    STRAY_BEHIND_A_ROW,
    STRAY_BEHIND_THE_TENSOR,
    STRAY_BEFORE_THE_TENSOR,
    STRAY_RELEASED,
    STRAY_VECTOR,
    STRAY_SHARED_VARIABLE,
    STRAY_FIRST_SHARED_VARIABLE,
    STRAY_SHARED_OF_A_TEMPLATE,
    STRAY_DYNAMIC_SHARED,
    STRAY_BEFORE_DYNAMIC_SHARED,
    STRAY_WRITE,
    STRAY_ATOMIC,
    STRAY_KERNELS,
} stray_kernel;

/* The line of the access, known once the kernel has run. */
extern int stray_line;

/* `in`: two rows of STRAY_THREADS ints, STRAY_PAD behind each that no kernel may access;
 * `released`: memory that the device had before. */
assay_status stray_launch(stray_kernel kernel, bool right, int *in, int *released, int *out);

#ifdef __cplusplus
}
#endif

#endif
