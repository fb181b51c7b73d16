/*
 * Kernels with one bug each, of a kind that has been made before: what `assay fuzz` must find, and
 * shrink to the case that shows it. All are variants of weighted_sum, matmul_accumulate, rmsnorm or
 * attention that are right otherwise: v1's own functions, with the bug put where it was made.
 */
#ifndef ASSAY_FUZZ_PLANTED_H
#define ASSAY_FUZZ_PLANTED_H

#define PLANTED(operator_name, bug, what, forward_function, backward_function)                     \
    ASSAY_VARIANT(operator_name, bug) = {                                                          \
        .op = #operator_name,                                                                      \
        .name = #bug,                                                                              \
        .device = ASSAY_DEVICE_NAME,                                                               \
        .summary = what,                                                                           \
        .supports = NULL,                                                                          \
        .workspace = NULL,                                                                         \
        .forward = forward_function,                                                               \
        .backward = backward_function,                                                             \
    }

#endif
