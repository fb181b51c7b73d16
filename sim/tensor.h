/* The functions of kernels/common/tensor.h, on the simulated device. */
#ifndef ASSAY_SIM_TENSOR_H
#define ASSAY_SIM_TENSOR_H

#include "sim/cuda.h"

#define SIM_MMA(name, kind)                                                                        \
    SIM_INLINE void name(float c[4], const uint32_t a[4], const uint32_t b[2], SIM_HERE) {         \
        sim_mma(kind, a, b, c, file, line);                                                        \
    }
SIM_MMA(mma_m16n8k16_bf16, SIM_MMA_BF16)
SIM_MMA(mma_m16n8k16_f16, SIM_MMA_F16)
SIM_MMA(mma_m16n8k8_tf32, SIM_MMA_TF32)
#undef SIM_MMA

SIM_INLINE void mma_m8n8k4_f64(double c[2], double a, double b, SIM_HERE) {
    sim_mma(SIM_MMA_F64, &a, &b, c, file, line);
}

#define SIM_MMA(name, n_a, n_b, kind)                                                              \
    SIM_INLINE void name(double c[4], const double a[n_a], const double b[n_b], SIM_HERE) {        \
        sim_mma(kind, a, b, c, file, line);                                                        \
    }
SIM_MMA(mma_m16n8k4_f64, 2, 1, SIM_MMA_M16N8K4_F64)
SIM_MMA(mma_m16n8k8_f64, 4, 2, SIM_MMA_M16N8K8_F64)
SIM_MMA(mma_m16n8k16_f64, 8, 4, SIM_MMA_M16N8K16_F64)
#undef SIM_MMA

#define SIM_LOAD(count, suffix, transposed)                                                        \
    SIM_INLINE void ldmatrix_x##count##suffix(uint32_t r[count], const void *row, SIM_HERE) {      \
        sim_ldmatrix(r, count, transposed, row, file, line);                                       \
    }
SIM_LOAD(1, , false)
SIM_LOAD(2, , false)
SIM_LOAD(4, , false)
SIM_LOAD(1, _trans, true)
SIM_LOAD(2, _trans, true)
SIM_LOAD(4, _trans, true)
#undef SIM_LOAD

#define SIM_COPY(bytes)                                                                            \
    SIM_INLINE void cp_async_##bytes(void *shared, const void *global, int valid = bytes,          \
                                     SIM_HERE) {                                                   \
        sim_cp_async(shared, global, bytes, valid, file, line);                                    \
    }
SIM_COPY(16)
SIM_COPY(8)
SIM_COPY(4)
#undef SIM_COPY

SIM_INLINE void cp_async_commit() {
    sim_cp_async_commit();
}

template <int N> SIM_INLINE void cp_async_wait() {
    static_assert(N >= 0);
    sim_cp_async_wait(N);
}

SIM_INLINE void barrier_sync(int number, int threads, SIM_HERE) {
    (void)sim_barrier_numbered((uint32_t)number, (uint32_t)threads, true, SIM_VOTE_NONE, 0, file,
                               line);
}

SIM_INLINE void barrier_arrive(int number, int threads, SIM_HERE) {
    sim_barrier_arrive((uint32_t)number, (uint32_t)threads, true, file, line);
}

#endif
