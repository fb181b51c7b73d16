/* The functions of kernels/common/hopper.h in inline PTX. */
#ifndef ASSAY_DEVICE_HOPPER_H
#define ASSAY_DEVICE_HOPPER_H

#include "device/ptx.h"

#include <cuda.h>

/* The code of other architectures is compiled too, and never runs (find_hopper). */
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HOPPER_ASM(...) asm volatile(__VA_ARGS__)
#else
#define HOPPER_ASM(...) __trap()
#endif

#define PTX_INLINE static __device__ __forceinline__

PTX_INLINE uint32_t shared_address(const void *shared) {
    return ptx_shared(shared);
}

PTX_INLINE void mbarrier_init(uint64_t *barrier, uint32_t arrivals) {
    HOPPER_ASM("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ptx_shared(barrier)), "r"(arrivals)
               : "memory");
}

PTX_INLINE void mbarriers_made() {
    HOPPER_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}

PTX_INLINE void mbarrier_arrive(uint64_t *barrier) {
    HOPPER_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ptx_shared(barrier)) : "memory");
}

PTX_INLINE void mbarrier_expect(uint64_t *barrier, uint32_t bytes) {
    HOPPER_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ptx_shared(barrier)),
               "r"(bytes)
               : "memory");
}

PTX_INLINE void mbarrier_wait(uint64_t *barrier, uint32_t parity) {
    HOPPER_ASM("{\n"
               ".reg .pred complete;\n"
               "again_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
               "@!complete bra again_%=;\n"
               "}" ::"r"(ptx_shared(barrier)),
               "r"(parity)
               : "memory");
}

PTX_INLINE void mbarriers_made_in_cluster() {
    HOPPER_ASM("fence.mbarrier_init.release.cluster;\n"
               "barrier.cluster.arrive.relaxed;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}

PTX_INLINE void cluster_barrier() {
    HOPPER_ASM("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}

PTX_INLINE void mbarrier_arrive_at(uint64_t *barrier, uint32_t rank, uint32_t arrivals) {
    HOPPER_ASM("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there], %2;\n"
               "}" ::"r"(ptx_shared(barrier)),
               "r"(rank), "r"(arrivals)
               : "memory");
}

PTX_INLINE void tensor_load_to(void *shared, const tensor_map *map, int32_t column, int32_t line,
                               uint64_t *barrier, uint16_t blocks) {
    HOPPER_ASM("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(ptx_shared(shared)),
               "l"(map), "r"(column), "r"(line), "r"(ptx_shared(barrier)), "h"(blocks)
               : "memory");
}

PTX_INLINE void tensor_load(void *shared, const tensor_map *map, int32_t column, int32_t line,
                            uint64_t *barrier) {
    HOPPER_ASM("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(ptx_shared(shared)),
               "l"(map), "r"(column), "r"(line), "r"(ptx_shared(barrier))
               : "memory");
}

PTX_INLINE void tensor_load(void *shared, const tensor_map *map, int32_t column, int32_t line,
                            int32_t plane, uint64_t *barrier) {
    HOPPER_ASM("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(ptx_shared(shared)),
               "l"(map), "r"(column), "r"(line), "r"(plane), "r"(ptx_shared(barrier))
               : "memory");
}

PTX_INLINE void tensor_store(const tensor_map *map, int32_t column, int32_t line,
                             const void *shared) {
    HOPPER_ASM(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
        "r"(column), "r"(line), "r"(ptx_shared(shared))
        : "memory");
}

PTX_INLINE void tensor_prefetch(const tensor_map *map, int32_t column, int32_t line) {
    HOPPER_ASM("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(column),
               "r"(line)
               : "memory");
}

PTX_INLINE void tensor_map_prefetch(const tensor_map *map) {
    HOPPER_ASM("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

PTX_INLINE void bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier) {
    HOPPER_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1], %2, [%3];" ::"r"(ptx_shared(shared)),
               "l"(global), "r"(bytes), "r"(ptx_shared(barrier))
               : "memory");
}

PTX_INLINE void bulk_store(void *global, const void *shared, uint32_t bytes) {
    HOPPER_ASM("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(ptx_shared(shared)), "r"(bytes)
               : "memory");
}

PTX_INLINE void bulk_add(float *global, const float *shared, uint32_t bytes) {
    HOPPER_ASM(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(global),
        "r"(ptx_shared(shared)), "r"(bytes)
        : "memory");
}

PTX_INLINE void bulk_commit() {
    HOPPER_ASM("cp.async.bulk.commit_group;" ::: "memory");
}

template <int N> PTX_INLINE void bulk_wait_read() {
    HOPPER_ASM("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

template <int N> PTX_INLINE void bulk_wait() {
    HOPPER_ASM("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

PTX_INLINE void fence_proxy_async() {
    HOPPER_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}

PTX_INLINE void fence_proxy_async_global() {
    HOPPER_ASM("fence.proxy.async.global;" ::: "memory");
}

PTX_INLINE void wgmma_fence() {
    HOPPER_ASM("wgmma.fence.sync.aligned;" ::: "memory");
}

PTX_INLINE void wgmma_commit() {
    HOPPER_ASM("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N> PTX_INLINE void wgmma_wait() {
    HOPPER_ASM("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

template <int N> PTX_INLINE void registers_lower() {
    HOPPER_ASM("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> PTX_INLINE void registers_raise() {
    HOPPER_ASM("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

/* A list of a wgmma's registers: the text of operands 10 t to 10 t + 9, and operands themselves. */
#define PTX_TEN(t)                                                                                 \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t         \
    "8, %" #t "9, "
#define PTX_TEXT_12 PTX_TEN() "%10, %11"
#define PTX_TEXT_16 PTX_TEN() "%10, %11, %12, %13, %14, %15"
#define PTX_TEXT_30 PTX_TEN() PTX_TEN(1) PTX_TEN(2)
#define PTX_TEXT_60 PTX_TEXT_30 PTX_TEN(3) PTX_TEN(4) PTX_TEN(5)
#define PTX_TEXT_32 PTX_TEXT_30 "%30, %31"
#define PTX_TEXT_48 PTX_TEXT_30 PTX_TEN(3) "%40, %41, %42, %43, %44, %45, %46, %47"
#define PTX_TEXT_64 PTX_TEXT_60 "%60, %61, %62, %63"
#define PTX_TEXT_96 PTX_TEXT_60 PTX_TEN(6) PTX_TEN(7) PTX_TEN(8) "%90, %91, %92, %93, %94, %95"
#define PTX_TEXT_128                                                                               \
    PTX_TEXT_60 PTX_TEN(6) PTX_TEN(7) PTX_TEN(8) PTX_TEN(9) PTX_TEN(10)                            \
        PTX_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define PTX_SUMS_4(i)   "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PTX_SUMS_12(i)  PTX_SUMS_4(i), PTX_SUMS_4(i + 4), PTX_SUMS_4(i + 8)
#define PTX_SUMS_16(i)  PTX_SUMS_4(i), PTX_SUMS_4(i + 4), PTX_SUMS_4(i + 8), PTX_SUMS_4(i + 12)
#define PTX_SUMS_32(i)  PTX_SUMS_16(i), PTX_SUMS_16(i + 16)
#define PTX_SUMS_48(i)  PTX_SUMS_32(i), PTX_SUMS_16(i + 32)
#define PTX_SUMS_64(i)  PTX_SUMS_32(i), PTX_SUMS_32(i + 32)
#define PTX_SUMS_96(i)  PTX_SUMS_64(i), PTX_SUMS_32(i + 64)
#define PTX_SUMS_128(i) PTX_SUMS_64(i), PTX_SUMS_64(i + 64)

/* `adds` is operand p; `factors` has the numbers of what is behind it, `kind` the depth and types.
 */
#define PTX_WGMMA(n, words, kind, p, factors, ...)                                                 \
    HOPPER_ASM("{\n"                                                                               \
               ".reg .pred adds;\n"                                                                \
               "setp.ne.b32 adds, %" #p ", 0;\n"                                                   \
               "wgmma.mma_async.sync.aligned.m64n" #n kind " {" PTX_TEXT_##words "}, " factors     \
                                                                                 ";\n"             \
                                                                                 "}"               \
               : PTX_SUMS_##words(0)                                                               \
               : "r"((int)adds), __VA_ARGS__)
/* p to v: the numbers of the operands behind the sums. */
#define PTX_WGMMA_SHARED(n, words, kind, p, q, r, s, t)                                            \
    PTX_WGMMA(n, words, kind, p, "%" #q ", %" #r ", adds, 1, 1, %" #s ", %" #t, "l"(a), "l"(b),    \
              "n"((int)A_ROWS_INNER), "n"((int)B_ROWS_INNER))
#define PTX_WGMMA_HELD(n, words, kind, p, q, r, s, t, u, v)                                        \
    PTX_WGMMA(n, words, kind, p,                                                                   \
              "{%" #q ", %" #r ", %" #s ", %" #t "}, %" #u ", adds, 1, 1, %" #v, "r"(a[0]),        \
              "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"((int)B_ROWS_INNER))
#define PTX_WGMMAS(n, words, p, q, r, s, t, u, v)                                                  \
    template <typename T, bool A_ROWS_INNER, bool B_ROWS_INNER>                                    \
    PTX_INLINE void wgmma(float(&d)[words], uint64_t a, uint64_t b, bool adds) {                   \
        if constexpr (std::is_same_v<T, __half>)                                                   \
            PTX_WGMMA_SHARED(n, words, "k16.f32.f16.f16", p, q, r, s, t);                          \
        else                                                                                       \
            PTX_WGMMA_SHARED(n, words, "k16.f32.bf16.bf16", p, q, r, s, t);                        \
    }                                                                                              \
    template <typename T, bool B_ROWS_INNER>                                                       \
    PTX_INLINE void wgmma(float(&d)[words], const uint32_t(&a)[4], uint64_t b, bool adds) {        \
        if constexpr (std::is_same_v<T, __half>)                                                   \
            PTX_WGMMA_HELD(n, words, "k16.f32.f16.f16", p, q, r, s, t, u, v);                      \
        else                                                                                       \
            PTX_WGMMA_HELD(n, words, "k16.f32.bf16.bf16", p, q, r, s, t, u, v);                    \
    }                                                                                              \
    PTX_INLINE void wgmma_tf32(float(&d)[words], uint64_t a, uint64_t b, bool adds) {              \
        PTX_WGMMA(n, words, "k8.f32.tf32.tf32", p, "%" #q ", %" #r ", adds, 1, 1", "l"(a),         \
                  "l"(b));                                                                         \
    }                                                                                              \
    PTX_INLINE void wgmma_tf32(float(&d)[words], const uint32_t(&a)[4], uint64_t b, bool adds) {   \
        PTX_WGMMA(n, words, "k8.f32.tf32.tf32", p,                                                 \
                  "{%" #q ", %" #r ", %" #s ", %" #t "}, %" #u ", adds, 1, 1", "r"(a[0]),          \
                  "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                        \
    }
PTX_WGMMAS(24, 12, 12, 13, 14, 15, 16, 17, 18)
PTX_WGMMAS(32, 16, 16, 17, 18, 19, 20, 21, 22)
PTX_WGMMAS(64, 32, 32, 33, 34, 35, 36, 37, 38)
PTX_WGMMAS(96, 48, 48, 49, 50, 51, 52, 53, 54)
PTX_WGMMAS(128, 64, 64, 65, 66, 67, 68, 69, 70)
PTX_WGMMAS(192, 96, 96, 97, 98, 99, 100, 101, 102)
PTX_WGMMAS(256, 128, 128, 129, 130, 131, 132, 133, 134)

template <bool A_ROWS_INNER, bool B_ROWS_INNER, int WORDS>
PTX_INLINE void wgmma_bf16(float (&d)[WORDS], uint64_t a, uint64_t b, bool adds) {
    wgmma<__nv_bfloat16, A_ROWS_INNER, B_ROWS_INNER>(d, a, b, adds);
}

/* The compiler may move no read of a sum across it. */
template <int N> PTX_INLINE void wgmma_results(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

PTX_INLINE uint32_t made_anew(uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
}

#undef PTX_WGMMAS
#undef PTX_WGMMA_HELD
#undef PTX_WGMMA_SHARED
#undef PTX_WGMMA
#undef PTX_SUMS_128
#undef PTX_SUMS_96
#undef PTX_SUMS_64
#undef PTX_SUMS_48
#undef PTX_SUMS_32
#undef PTX_SUMS_16
#undef PTX_SUMS_12
#undef PTX_SUMS_4
#undef PTX_TEXT_128
#undef PTX_TEXT_96
#undef PTX_TEXT_64
#undef PTX_TEXT_48
#undef PTX_TEXT_32
#undef PTX_TEXT_16
#undef PTX_TEXT_12
#undef PTX_TEXT_60
#undef PTX_TEXT_30
#undef PTX_TEN
#undef PTX_INLINE
#undef HOPPER_ASM

static inline assay_status find_hopper(bool *is_hopper) {
#if defined(ASSAY_SM_90A)
    const bool compiled = true;
#else /* the driver would translate PTX of an earlier architecture, which stops */
    const bool compiled = false;
#endif
    int device = 0, major = 0, minor = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    *is_hopper = compiled && major == 9 && minor == 0;
    return assay_cuda_check(error, "compute capability");
}

/* The driver's function, which is found through the runtime: no program links the driver. */
static inline assay_status find_tensor_map_encoder(decltype(&cuTensorMapEncodeTiled) *encode) {
    void *found = NULL;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const assay_status status =
        assay_cuda_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                          cudaEnableDefault, &result),
                         "cuTensorMapEncodeTiled");
    if (status == ASSAY_OK && result != cudaDriverEntryPointSuccess)
        return assay_fail(ASSAY_ERR_DEVICE, "cuda: the driver has no cuTensorMapEncodeTiled; "
                                            "install one for CUDA 12 or later");
    *encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    return status;
}

static inline assay_status encode_tensor_map(tensor_map *map, const tensor_lines *of,
                                             CUtensorMapDataType type, cuuint64_t bytes) {
    static thread_local decltype(&cuTensorMapEncodeTiled) encode;
    static_assert(sizeof(tensor_map) == sizeof(CUtensorMap), "one is the other");
    const cuuint64_t size[3] = {(cuuint64_t)of->length, (cuuint64_t)of->lines,
                                (cuuint64_t)of->planes};
    const cuuint64_t strides[2] = {(cuuint64_t)of->stride * bytes,
                                   (cuuint64_t)of->plane_stride * bytes};
    const cuuint32_t box[3] = {(cuuint32_t)(TENSOR_LINE_BYTES / bytes), (cuuint32_t)of->box_lines,
                               1};
    const cuuint32_t step[3] = {1, 1, 1};
    /* A line that begins within L2's lies in two, of which pairs would be four. */
    const CUtensorMapL2promotion fetch = strides[0] % TENSOR_LINE_BYTES == 0
                                             ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                                             : CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    const assay_status status = encode ? ASSAY_OK : find_tensor_map_encoder(&encode);
    if (status != ASSAY_OK)
        return status;
    const CUresult result = encode(
        reinterpret_cast<CUtensorMap *>(map), type, of->planes > 0 ? 3 : 2,
        const_cast<void *>(of->data), size, strides, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, fetch, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return ASSAY_OK;
    return assay_fail(
        ASSAY_ERR_DEVICE,
        "cuda: cuTensorMapEncodeTiled: error %d for %lld planes of %lld lines of %lld "
        "elements, %lld apart",
        (int)result, (long long)of->planes, (long long)of->lines, (long long)of->length,
        (long long)of->stride);
}

static inline assay_status make_tensor_map(tensor_map *map, const tensor_lines *of) {
    return encode_tensor_map(map, of, CU_TENSOR_MAP_DATA_TYPE_UINT16, sizeof(uint16_t));
}

static inline assay_status make_tf32_map(tensor_map *map, const tensor_lines *of) {
    return encode_tensor_map(map, of, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, sizeof(float));
}

#endif
