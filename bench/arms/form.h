/*
 * A case in a process that holds no oracle: the parameters and tensors, as a variant gets
 * them. An operator's definition and its oracle are in one file; so `assay bench`, which
 * has parsed the case, leaves its form in the memory that it shares with its arms.
 */
#ifndef ASSAY_BENCH_ARMS_FORM_H
#define ASSAY_BENCH_ARMS_FORM_H

#include "assay/case.h"
#include "assay/op.h"

#include <stdbool.h>
#include <stdint.h>

enum { FORM_NAME = 64 };

/* Not to be copied: parts point to others. */
typedef struct form {
    char op[FORM_NAME];
    char key[ASSAY_MAX_KEYS][FORM_NAME]; /* storage of the names in `params` */
    assay_params params;
    int64_t pad, misalign;
    assay_schedule schedule;
    uint64_t seed;               /* of the schedule */
    bool gradients, own_forward; /* as assay_op has it */
    assay_signature sig;
} form;

/* In the parent: writes a legal case into memory. ASSAY_ERR_MEMORY: `room` does not suffice. */
assay_status form_write(void *memory, size_t room, const assay_case *c) ASSAY_MUST_CHECK;
/* In the arm: reads the form that the parent wrote. */
assay_status form_read(const void *memory, size_t room, form *f) ASSAY_MUST_CHECK;
void form_clear(form *f);

#endif
