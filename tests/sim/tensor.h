/* The launches of tensor.cu: matrix instructions, matrix loads and asynchronous copies. */
#ifndef ASSAY_TESTS_SIM_TENSOR_H
#define ASSAY_TESTS_SIM_TENSOR_H

#include "assay/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* c[16][8] += a[16][k] b[k][8], all row-major, by one instruction; elements are bits of their type:
 * 16-bit for bf16 and f16 (k = 16), fp32 for tf32 (k = 8). f64: c[8][8], k = 4; in tall tiles
 * c[16][8], k = 4, 8 or 16. */
assay_status tensor_mma_bf16(const uint16_t *a, const uint16_t *b, float *c);
assay_status tensor_mma_f16(const uint16_t *a, const uint16_t *b, float *c);
assay_status tensor_mma_tf32(const uint32_t *a, const uint32_t *b, float *c);
assay_status tensor_mma_f64(const double *a, const double *b, double *c);
assay_status tensor_mma_tall_f64(int k, const double *a, const double *b, double *c);

/* Matrix loads of 32 rows of 8 elements: row i is where lane 31 - i would expect its own. Form 0 to
 * 5: x1, x2, x4, and the same transposed. out[lane][i] is r[i]. */
enum { TENSOR_LOADS = 6 };
assay_status tensor_ldmatrix(int form, const uint16_t in[32][8], uint32_t out[32][4]);

/* Two buffers, filled by asynchronous copies, of 64 floats: out[t] is the sum over all tiles of
 * element 63 - t. */
enum { TENSOR_THREADS = 64, TENSOR_TILES = 5 };
typedef enum tensor_pipeline {
    PIPELINE_RIGHT,
    PIPELINE_NO_WAIT,
    PIPELINE_WAITS_FOR_LESS,
    PIPELINE_NO_BARRIER_BEFORE_READ,
    PIPELINE_NO_BARRIER_AFTER_READ,
    PIPELINES,
} tensor_pipeline;
assay_status tensor_pipelined(tensor_pipeline kind, const float in[TENSOR_TILES][TENSOR_THREADS],
                              float out[TENSOR_THREADS]);

/* One thread copies in[0..2] in a group each and in[3] in none; out[step][i] is cell i after waits
 * for all but 3, 2, 1 and 0 groups, and after a commit and a last wait. */
enum { TENSOR_STEPS = 5 };
assay_status tensor_groups(const uint32_t in[4], uint32_t out[TENSOR_STEPS][4]);

/* out[i]: 16 bytes of which i are valid, for i <= 16; out[17 + i], out[26 + i]: the same with 8 and
 * 4 bytes of a cell full of ones. */
enum { TENSOR_CELLS = 17 + 9 + 5 };
assay_status tensor_zero_fill(const unsigned char in[16], unsigned char out[TENSOR_CELLS][16]);

/* Thread 0 copies and exits without a wait; thread 32 reads behind a barrier. */
assay_status tensor_never_waits(const uint32_t *in, uint32_t *out);

typedef enum tensor_misuse {
    MISUSE_EXITED_LANE,
    MISUSE_ABSENT_LANE,
    MISUSE_TWO_PLACES,
    MISUSE_HALF_A_WARP,
    MISUSE_LDMATRIX_EXITED_LANE,
    MISUSE_LDMATRIX_MISALIGNED,
    MISUSE_COPY_MISALIGNED,
    MISUSE_COPY_TOO_MUCH,
    MISUSE_COPY_OVERWRITTEN,
    MISUSES,
} tensor_misuse;
assay_status tensor_misused(tensor_misuse kind, float out[32]);

/* One warp stores its matrix and loads it, with or without a __syncwarp between. */
assay_status tensor_store_and_load(int ordered, uint32_t out[32]);

#ifdef __cplusplus
}
#endif

#endif
