/* The functions of kernels/common/tensor.h in inline PTX. */
#ifndef ASSAY_DEVICE_PTX_H
#define ASSAY_DEVICE_PTX_H

#include <stdint.h>

#define PTX_INLINE static __device__ __forceinline__

#define PTX_MMA(name, instruction)                                                                 \
    PTX_INLINE void name(float c[4], const uint32_t a[4], const uint32_t b[2]) {                   \
        asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                 \
                                 "{%0, %1, %2, %3};"                                               \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));          \
    }
PTX_MMA(mma_m16n8k16_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
PTX_MMA(mma_m16n8k16_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
PTX_MMA(mma_m16n8k8_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#undef PTX_MMA

PTX_INLINE void mma_m8n8k4_f64(double c[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}

/* Of sm_90 alone: the code of earlier architectures is compiled, too, and never runs. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define PTX_MMA_F64(shape, ...)                                                                    \
    asm volatile("mma.sync.aligned." shape ".row.col.f64.f64.f64.f64 " __VA_ARGS__)
#else
#define PTX_MMA_F64(shape, ...) __trap()
#endif

PTX_INLINE void mma_m16n8k4_f64(double c[4], const double a[2], const double b[1]) {
    PTX_MMA_F64("m16n8k4", "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                : "d"(a[0]), "d"(a[1]), "d"(b[0]));
}

PTX_INLINE void mma_m16n8k8_f64(double c[4], const double a[4], const double b[2]) {
    PTX_MMA_F64("m16n8k8", "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

PTX_INLINE void mma_m16n8k16_f64(double c[4], const double a[8], const double b[4]) {
    PTX_MMA_F64("m16n8k16",
                "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
                "{%0, %1, %2, %3};"
                : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                  "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
#undef PTX_MMA_F64

PTX_INLINE uint32_t ptx_shared(const void *address) {
    return (uint32_t)__cvta_generic_to_shared(address);
}

#define PTX_LDMATRIX(suffix, modifier)                                                             \
    PTX_INLINE void ldmatrix_x1##suffix(uint32_t r[1], const void *row) {                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x1" modifier ".shared.b16 {%0}, [%1];"            \
                     : "=r"(r[0])                                                                  \
                     : "r"(ptx_shared(row))                                                        \
                     : "memory");                                                                  \
    }                                                                                              \
    PTX_INLINE void ldmatrix_x2##suffix(uint32_t r[2], const void *row) {                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" modifier ".shared.b16 {%0, %1}, [%2];"        \
                     : "=r"(r[0]), "=r"(r[1])                                                      \
                     : "r"(ptx_shared(row))                                                        \
                     : "memory");                                                                  \
    }                                                                                              \
    PTX_INLINE void ldmatrix_x4##suffix(uint32_t r[4], const void *row) {                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" modifier                                      \
                     ".shared.b16 {%0, %1, %2, %3}, [%4];"                                         \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                              \
                     : "r"(ptx_shared(row))                                                        \
                     : "memory");                                                                  \
    }
PTX_LDMATRIX(, "")
PTX_LDMATRIX(_trans, ".trans")
#undef PTX_LDMATRIX

/* Copies of 16 bytes may pass by the L1 cache (.cg); smaller ones may not. */
#define PTX_CP_ASYNC(bytes, cache)                                                                 \
    PTX_INLINE void cp_async_##bytes(void *shared, const void *global, int valid = bytes) {        \
        asm volatile("cp.async." cache ".shared.global [%0], [%1], " #bytes                        \
                     ", %2;" ::"r"(ptx_shared(shared)),                                            \
                     "l"(__cvta_generic_to_global(global)), "r"(valid)                             \
                     : "memory");                                                                  \
    }
PTX_CP_ASYNC(16, "cg")
PTX_CP_ASYNC(8, "ca")
PTX_CP_ASYNC(4, "ca")
#undef PTX_CP_ASYNC

PTX_INLINE void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> PTX_INLINE void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

PTX_INLINE void barrier_sync(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

PTX_INLINE void barrier_arrive(int number, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

#undef PTX_INLINE

#endif
