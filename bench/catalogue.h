/* Which arms there are: an operator's variants on a device, and its peers (docs/peers.md). */
#ifndef ASSAY_BENCH_CATALOGUE_H
#define ASSAY_BENCH_CATALOGUE_H

#include "assay/device.h"
#include "bench/result.h"

#include <stdbool.h>

typedef enum bench_program {
    BENCH_PROGRAM_OURS,
    BENCH_PROGRAM_PYTHON,
    BENCH_PROGRAM_LIBTORCH,
    BENCH_PROGRAM_FUNCTION /* one of Python's that is judged, not a peer */
} bench_program;

typedef struct bench_arm {
    char name[BENCH_NAME];  /* "v3", "torch-compile" */
    char label[BENCH_NAME]; /* for people */
    bench_program program;
    bool tunes;         /* chooses kernels by their times: nothing else may run beside that */
    const char *kernel; /* the file that holds it; NULL: built in */
    const char
        *binding; /* by which that file's functions are called; NULL: it is written for assay */
} bench_arm;

typedef struct bench_arms {
    bench_arm *arm;
    int32_t count;
} bench_arms;

/*
 * The arms of `op`. `variants`: those of ours, `n_variants` of them; 0: all that the device has for
 * it, --kernel's among them where it is an isolated one. `peers`: names joined by commas, "all" or
 * "none". ASSAY_ERR_USAGE for a name that no arm has.
 */
assay_status bench_arms_init(bench_arms *arms, const assay_device *device, const char *op,
                             const char *const *variants, int32_t n_variants,
                             const char *peers) ASSAY_MUST_CHECK;
/* Leaves that one out, if it is there. */
void bench_arms_drop(bench_arms *arms, const char *name);
void bench_arms_clear(bench_arms *arms);

/* Whether it is judged as ours are: it must be proven, and its clock is not believed. */
bool bench_arm_is_ours(const bench_arm *arm);

/* argv of its process; its texts are the arm's, or static. `op`: NULL for an arm without an
 * operator. ASSAY_ERR_UNSUPPORTED when a program is not there. */
enum { BENCH_ARGV = 8 };
assay_status bench_arm_command(const bench_arm *arm, const char *op,
                               char *argv[BENCH_ARGV]) ASSAY_MUST_CHECK;

#endif
