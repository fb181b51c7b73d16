/*
 * Instructions of one thread, each applied to the same operands: as a PTX module, and their results
 * as checksums. `forms.c` has the checksums that an H200 gives.
 */
#ifndef ASSAY_TESTS_SIM_PTX_FORMS_H
#define ASSAY_TESTS_SIM_PTX_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORM_TUPLES = 512, FORM_CLASSES = 10, FORM_OPERANDS = 4, FORM_KERNEL = 32 };

/*
 * `result` and `operands` are classes, a letter each:
 *   f, d  fp32, fp64           s, i, l  integers of 16, 32, 64 bits
 *   h, H  a 16-bit float, two  n        a count from 0 to 79
 *   p     a predicate          k        an integer of 32 bits with a number beside it: not 0
 */
typedef struct form {
    const char *opcode, *result, *operands;
    uint64_t checksum; /* of FORM_TUPLES results of 8 bytes */
} form;

extern const form forms[];
extern const int32_t n_forms;

/* The module, of one kernel for FORM_KERNEL forms: k0, k1, ...; each takes the address of the
 * operands and that of the results, and runs with FORM_TUPLES threads. `turned`: parts of an opcode
 * that are no types stand in the opposite order. So ptxas takes them as well, but for mad, mad24,
 * shf and div.full, which are names of two parts. To be freed. */
char *forms_module(bool turned);

/* FORM_CLASSES x FORM_OPERANDS x FORM_TUPLES numbers. */
void forms_operands(uint64_t *operands);

uint64_t form_checksum(const uint64_t results[FORM_TUPLES]);

#endif
