/*
 * Tensor cores, matrix loads, asynchronous copies and barriers of sm_80 and later, by their PTX
 * names: inline PTX under nvcc, models on the simulated device (docs/simulated-device.md, "Tensor
 * cores").
 *
 *     mma_m16n8k16_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
 *     mma_m16n8k16_f16(float c[4], const uint32_t a[4], const uint32_t b[2])
 *     mma_m16n8k8_tf32(float c[4], const uint32_t a[4], const uint32_t b[2])
 *     mma_m8n8k4_f64(double c[2], double a, double b)
 *     mma_m16n8k4_f64(double c[4], const double a[2], const double b[1])
 *     mma_m16n8k8_f64(double c[4], const double a[4], const double b[2])
 *     mma_m16n8k16_f64(double c[4], const double a[8], const double b[4])
 *         C (m, n) += A (m, k) B (k, n). All 32 lanes of the warp make the call together, at one
 *         place in the source. TF32 operands are the bits of fp32 numbers: the hardware ignores the
 *         low 13, so a number is cut, not rounded, to TF32 unless the kernel rounds it before. The
 *         last three need sm_90.
 *
 * Which element a lane holds where, with g = lane / 4 and t = lane % 4 (PTX ISA, "Warp Level Matrix
 * Instructions", "Matrix Fragments for mma"); a 16-bit pair has its lower index in the low half:
 *
 *     m16n8k16    a[i]  row g + 8 (i % 2), columns 2t + 8 (i / 2) and the next
 *                 b[i]  rows 2t + 8i and the next, column g
 *     m16n8k8     a[i]  row g + 8 (i % 2), column t + 4 (i / 2)
 *                 b[i]  row t + 4i, column g
 *     both        c[i]  row g + 8 (i / 2), column 2t + i % 2
 *     m8n8k4      a     row g, column t
 *                 b     row t, column g
 *                 c[i]  row g, column 2t + i
 *     m16n8k, f64 a[i]  row g + 8 (i % 2), column t + 4 (i / 2)
 *                 b[i]  row t + 4i, column g
 *                 c[i]  row g + 8 (i / 2), column 2t + i % 2
 *
 *     ldmatrix_x1(uint32_t r[1], const void *row)     ldmatrix_x1_trans
 *     ldmatrix_x2(uint32_t r[2], const void *row)     ldmatrix_x2_trans
 *     ldmatrix_x4(uint32_t r[4], const void *row)     ldmatrix_x4_trans
 *         Loads 1, 2 or 4 matrices of 8 rows of 8 16-bit elements from shared memory. Lane 8i + j
 *         brings the address of row j of matrix i, aligned to 16 bytes; addresses of the lanes
 *         beyond are not used. r[i] is, of matrix i, row g, columns 2t and the next; transposed:
 *         rows 2t and the next, column g. All 32 lanes make the call together.
 *
 *     cp_async_16(void *shared, const void *global, int valid = 16)
 *     cp_async_8(void *shared, const void *global, int valid = 8)
 *     cp_async_4(void *shared, const void *global, int valid = 4)
 *         Starts to copy 16, 8 or 4 bytes, to which both addresses are aligned. The last bytes
 *         beyond `valid` are not read but zero in shared memory; valid = 0 reads nothing.
 *     cp_async_commit()
 *         Closes a group: the calling thread's copies since the last commit; maybe none.
 *     cp_async_wait<N>()
 *         Waits until at most the last N groups of the calling thread are not complete. Other
 *         threads see the data only after a barrier (or __syncwarp) behind this wait.
 *
 *     barrier_sync(int number, int threads)    barrier_arrive(int number, int threads)
 *         One of the block's 16 barriers, of which __syncthreads has number 0, for so many threads,
 *         whole warps: waits until all have come, or does not wait.
 */
#ifndef ASSAY_KERNELS_COMMON_TENSOR_H
#define ASSAY_KERNELS_COMMON_TENSOR_H

#include "device/kernel.h"

#if defined(__CUDACC__)
#include "device/ptx.h"
#else
#include "sim/tensor.h"
#endif

#endif
