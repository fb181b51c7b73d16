/* assay profile: the kernels, traffic and times of a proven variant, for one case. */
#ifndef ASSAY_CLI_PROFILE_H
#define ASSAY_CLI_PROFILE_H

#include "assay/problem.h"
#include "cli/cli.h"
#include "core/sink.h"

typedef struct profile {
    const assay_cli_args *args;
    assay_case c;
    char text[ASSAY_CASE_TEXT];
    const assay_device *device;
    const assay_variant *variant;
    cli_sink json, csv, trace; /* no stream: not wanted */
} profile;

/* "weighted_sum/v1 n=64 d=128 ... on sim" */
enum { PROFILE_TITLE = ASSAY_CASE_TEXT + 64 };
const char *profile_title(const profile *p, char title[PROFILE_TITLE]);

/* Runs `around`, with the problem's data, in place of the variant. */
assay_status profile_run(const profile *p, const assay_variant *around) ASSAY_MUST_CHECK;

/* Whether this program's simulated device can count; otherwise a program beside it that can count
 * takes over, with the same words. This returns only if there is no such program. */
assay_status profile_counting(const assay_cli_args *args) ASSAY_MUST_CHECK;

/* The devices' measurements: `before` the gate, whether they can measure at all. */
assay_status profile_sim(const profile *p) ASSAY_MUST_CHECK;
assay_status profile_cuda_before(void) ASSAY_MUST_CHECK;
assay_status profile_cuda(const profile *p) ASSAY_MUST_CHECK;

#endif
