/* The launches that the tests of the simulated device call; each .cu file here defines its own. */
#ifndef ASSAY_TESTS_SIM_KERNELS_H
#define ASSAY_TESTS_SIM_KERNELS_H

#include "assay/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bench.cu */
assay_status sim_bench_barriers(int threads, int rounds);
assay_status sim_bench_shuffles(int rounds, float *out);
assay_status sim_bench_matmul(int n, const float *a, const float *b, float *c);

#ifdef __cplusplus
}
#endif

#endif
