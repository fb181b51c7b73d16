/*
 * What is known of a case in a process that holds no oracle: the parameters and tensors, as a
 * variant is told. An operator's definition and its oracle are in one file; so another program,
 * assay_arm_case, reads the text and sends the form through a pipe.
 */
#ifndef ASSAY_BENCH_ARMS_FORM_H
#define ASSAY_BENCH_ARMS_FORM_H

#include "assay/case.h"
#include "assay/op.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FORM_NAME = 64 };

/* Where assay_arm_case looks for an operator that is not built in. */
#define ARM_OPERATOR "ASSAY_ARM_OPERATOR"

/* Not to be copied: parts point to others. */
typedef struct form {
    char op[FORM_NAME];
    char key[ASSAY_MAX_KEYS][FORM_NAME]; /* what the names in `params` point to */
    assay_params params;
    int64_t pad, misalign;
    assay_schedule schedule;
    uint64_t seed;               /* of the schedule */
    bool gradients, own_forward; /* as assay_op has it */
    assay_signature sig;
} form;

/* Asks assay_arm_case, which lies beside this program. */
assay_status form_ask(const char *case_text, form *f) ASSAY_MUST_CHECK;
void form_clear(form *f);

/* Both ends of the pipe: what came of reading the text, then the form or the line of an error. */
assay_status form_write(FILE *to, const char *case_text) ASSAY_MUST_CHECK;
assay_status form_read(FILE *from, form *f) ASSAY_MUST_CHECK;

#endif
