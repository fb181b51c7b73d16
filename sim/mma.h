/*
 * The result of one matrix instruction of the tensor cores, as a function of the fragments of all
 * lanes. It knows nothing of the simulated device, so that a program can hold it against a GPU.
 */
#ifndef ASSAY_SIM_MMA_H
#define ASSAY_SIM_MMA_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sim_mma_shape {
    SIM_M16N8K16_BF16,
    SIM_M16N8K16_F16,
    SIM_M16N8K8_TF32,
    SIM_M8N8K4_F64,
    SIM_M16N8K8_BF16,
    SIM_M16N8K8_F16,
    SIM_M16N8K4_TF32,
    SIM_M16N8K16_F16_F16, /* sums in f16, two in a register, as the next */
    SIM_M16N8K8_F16_F16,
    SIM_M16N8K4_F64,
    SIM_M16N8K8_F64,
    SIM_M16N8K16_F64,
    SIM_M16N8_INTEGERS, /* a[4]: of which */
} sim_mma_shape;

/* Bytes, four in a register, of 16 or 32 k; signed, as their sums in 32 bits, which wrap around. */
enum {
    SIM_INTEGERS_K32 = 1,
    SIM_INTEGERS_UNSIGNED_A = 2,
    SIM_INTEGERS_UNSIGNED_B = 4,
    SIM_INTEGERS_SATURATE = 8,
};

/* One lane's registers: a, b, c of the functions in kernels/common/tensor.h, which says where in
 * the tile they belong. For m8n8k4 a and b point at the one number. */
typedef struct sim_fragments {
    const void *a, *b;
    void *c;
} sim_fragments;

/* c += a b for a whole warp, lane[0] to lane[31]. */
void sim_mma_compute(sim_mma_shape shape, const sim_fragments lane[32]);

/*
 * wgmma: c += a b for a warpgroup, of a shape with 16 or 8 k. a: 64 rows, b: `columns` of them, of
 * k elements' bits each; c[t]: the registers of thread t, as sim_fragments has those of a warp,
 * which are 16 rows, for each 8 columns.
 */
void sim_wgmma_compute(sim_mma_shape shape, unsigned columns, const unsigned *a, const unsigned *b,
                       unsigned *const c[128]);

/* The same of bytes: 32 k, one number for each; `which`: SIM_INTEGERS_K32 and others. */
void sim_wgmma_compute_integers(uint32_t which, unsigned columns, const unsigned *a,
                                const unsigned *b, unsigned *const c[128]);

/*
 * Where element k of row i of a matrix of wgmma's lies in shared memory, by its descriptor: the
 * address >> 4 in bits 0-13, the leading offset >> 4 in 16-29, the stride offset >> 4 in 32-45, the
 * base offset in 49-51, the swizzle in 62-63: none, 128, 64, 32 bytes. With `chunk` for 16 bytes,
 * and w for the chunks of a swizzled row, it lies
 *
 *     K-major    none       chunk k / 8 of the row: i % 8 * 16 + i / 8 * stride + chunk * leading
 *                swizzled   i % 8 * 16w + i / 8 * stride + chunk * 16
 *     MN-major   none       chunk i / 8: chunk * stride + k % 8 * 16 + k / 8 * leading
 *                swizzled   chunk % w * 16 + chunk / w * leading + k % 8 * 16w + k / 8 * stride
 *
 * bytes behind the beginning; a swizzle then takes bits 7 and up of the address, as many as w has,
 * to its bits 4 and up (CUTLASS, mma_sm90_desc.hpp, has these as layouts). `bytes`: of an element;
 * transposed: MN-major.
 */
uint32_t sim_wgmma_offset(uint64_t descriptor, bool transposed, uint32_t bytes, uint32_t i,
                          uint32_t k);

#ifdef __cplusplus
}
#endif

#endif
