/*
 * Verifying golden files. Golden values are a third opinion: our oracle must agree with them as far
 * as two fp64 computations do, and a variant with both, with the room that its dtype needs.
 */
#ifndef ASSAY_ENGINE_GOLDEN_H
#define ASSAY_ENGINE_GOLDEN_H

#include "assay/golden.h"
#include "engine/check.h"
#include "engine/variant_run.h"

typedef struct golden_check {
    variant_runs runs; /* the variants' runs on the golden problem */
    assay_golden golden;
    assay_reference reference; /* our oracle, with bounds of the case's dtype */
    assay_reference fp64;      /* the same with bounds of a computation in fp64 */
} golden_check;

/* One tensor of one opinion, compared with another. */
typedef struct golden_line {
    const char *who, *against;          /* "oracle", "v1", "generator"; "golden", "oracle" */
    const char *group;                  /* "inputs", "outputs", "gradients" */
    char tensor[ASSAY_TENSOR_NAME + 1]; /* "", like group and against: it gave no numbers */
    assay_verdict verdict;
    assay_comparison cmp;      /* then all zero */
    char reason[ASSAY_REASON]; /* why it is not a pass; "" for a pass */
} golden_line;

typedef void (*golden_line_visitor)(const golden_line *line, void *context);

/* Reads a case's data and lets the variants run on it: those in `names` (0: all of them). With
 * `device` NULL no variant runs. Only then reads the golden values and runs our oracle. */
assay_status golden_check_init(golden_check *check, const char *path, const assay_case *c,
                               const assay_device *device, const char *const *names,
                               int32_t n) ASSAY_MUST_CHECK;
void golden_check_clear(golden_check *check);

/* Compares our oracle with the golden values. Where the case says how its inputs were generated, it
 * also compares these with the inputs that our generator makes today. */
assay_status golden_check_oracle(const golden_check *check, golden_line_visitor visit,
                                 void *context) ASSAY_MUST_CHECK;

/* Each variant against our oracle, and against the golden values. */
assay_status golden_check_variants(const golden_check *check, golden_line_visitor visit,
                                   void *context) ASSAY_MUST_CHECK;

#endif
