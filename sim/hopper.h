/* The functions of kernels/common/hopper.h, on the simulated device. */
#ifndef ASSAY_SIM_HOPPER_H
#define ASSAY_SIM_HOPPER_H

#include "sim/cuda.h"
#include "sim/proxy.h"
#include "sim/ptx/tensor_map.h"
#include "sim/tensor.h"

SIM_INLINE uint32_t shared_address(const void *shared) {
    return (uint32_t)((const char *)shared - (const char *)sim_dynamic_shared());
}

SIM_INLINE void mbarrier_init(uint64_t *barrier, uint32_t arrivals, SIM_HERE) {
    const sim_site site = {file, line};
    sim_mbarrier_init(barrier, arrivals, &site);
}

SIM_INLINE void mbarriers_made(SIM_HERE) {
    const sim_site site = {file, line};
    sim_proxy_fence(&site);
}

SIM_INLINE void mbarrier_arrive(uint64_t *barrier, SIM_HERE) {
    const sim_site site = {file, line};
    (void)sim_mbarrier_arrive(barrier, 1, 0, false, true, true, &site);
}

SIM_INLINE void mbarrier_expect(uint64_t *barrier, uint32_t bytes, SIM_HERE) {
    const sim_site site = {file, line};
    (void)sim_mbarrier_arrive(barrier, 1, bytes, false, true, true, &site);
}

SIM_INLINE void mbarrier_wait(uint64_t *barrier, uint32_t parity, SIM_HERE) {
    const sim_site site = {file, line};
    while (!sim_mbarrier_test(barrier, parity, true, true, &site))
        continue;
}

/* The fence is of mbarriers alone, which the recorder does not look at. */
SIM_INLINE void mbarriers_made_in_cluster(SIM_HERE) {
    const sim_site site = {file, line};
    sim_cluster_arrive(true, &site);
    sim_cluster_wait(true, &site);
}

SIM_INLINE void cluster_barrier(SIM_HERE) {
    const sim_site site = {file, line};
    sim_cluster_arrive(true, &site);
    sim_cluster_wait(true, &site);
}

SIM_INLINE void mbarrier_arrive_at(uint64_t *barrier, uint32_t rank, uint32_t arrivals, SIM_HERE) {
    const sim_site site = {file, line};
    (void)sim_mbarrier_arrive(sim_cluster_map_generic(barrier, rank, &site), arrivals, 0, false,
                              true, true, &site);
}

SIM_INLINE void tensor_load_to(void *shared, const tensor_map *map, int32_t column, int32_t row,
                               uint64_t *barrier, uint16_t blocks, SIM_HERE) {
    const sim_site site = {file, line};
    const int32_t at[2] = {column, row};
    sim_tensor_load_to_all(shared, map, 2, at, barrier, blocks, &site);
}

SIM_INLINE void tensor_load(void *shared, const tensor_map *map, int32_t column, int32_t row,
                            uint64_t *barrier, SIM_HERE) {
    const sim_site site = {file, line};
    const int32_t at[2] = {column, row};
    sim_tensor_load(shared, map, 2, at, barrier, &site);
}

SIM_INLINE void tensor_load(void *shared, const tensor_map *map, int32_t column, int32_t row,
                            int32_t plane, uint64_t *barrier, SIM_HERE) {
    const sim_site site = {file, line};
    const int32_t at[3] = {column, row, plane};
    sim_tensor_load(shared, map, 3, at, barrier, &site);
}

SIM_INLINE void tensor_store(const tensor_map *map, int32_t column, int32_t row, const void *shared,
                             SIM_HERE) {
    const sim_site site = {file, line};
    const int32_t at[2] = {column, row};
    sim_tensor_store(map, 2, at, shared, SIM_NO_REDUCTION, &site);
}

SIM_INLINE void tensor_prefetch(const tensor_map *, int32_t, int32_t) {
}

SIM_INLINE void tensor_map_prefetch(const tensor_map *) {
}

SIM_INLINE void bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                          SIM_HERE) {
    const sim_site site = {file, line};
    sim_bulk_load(shared, global, bytes, barrier, &site);
}

SIM_INLINE void bulk_store(void *global, const void *shared, uint32_t bytes, SIM_HERE) {
    const sim_site site = {file, line};
    sim_bulk_store(global, shared, bytes, SIM_NO_REDUCTION, 0, &site);
}

SIM_INLINE void bulk_add(float *global, const float *shared, uint32_t bytes, SIM_HERE) {
    const sim_site site = {file, line};
    sim_bulk_store(global, shared, bytes, SIM_BULK_ADD, PTX_TENSOR_F32, &site);
}

SIM_INLINE void bulk_commit() {
    sim_bulk_commit();
}

template <int N> SIM_INLINE void bulk_wait_read(SIM_HERE) {
    const sim_site site = {file, line};
    sim_bulk_wait(N, true, &site);
}

template <int N> SIM_INLINE void bulk_wait(SIM_HERE) {
    const sim_site site = {file, line};
    sim_bulk_wait(N, false, &site);
}

SIM_INLINE void fence_proxy_async(SIM_HERE) {
    const sim_site site = {file, line};
    sim_proxy_fence(&site);
}

SIM_INLINE void fence_proxy_async_global(SIM_HERE) {
    const sim_site site = {file, line};
    sim_proxy_fence(&site);
}

SIM_INLINE void wgmma_fence() {
    sim_wgmma_fence();
}

SIM_INLINE void wgmma_commit() {
    sim_wgmma_commit();
}

template <int N> SIM_INLINE void wgmma_wait(SIM_HERE) {
    const sim_site site = {file, line};
    sim_wgmma_wait(N, &site);
    sim_wgmma_taken();
}

template <typename T> SIM_INLINE sim_wgmma sim_wgmma_of(int words, uint64_t b, bool adds) {
    sim_wgmma w = {};
    w.product = std::is_same_v<T, float>    ? SIM_M16N8K8_TF32
                : std::is_same_v<T, __half> ? SIM_M16N8K16_F16
                                            : SIM_M16N8K16_BF16;
    w.columns = 2 * (uint32_t)words;
    w.b = b;
    w.zero = !adds;
    w.in_place = true;
    return w;
}

template <typename T, bool A_ROWS_INNER, bool B_ROWS_INNER, int WORDS>
SIM_INLINE void wgmma(float (&d)[WORDS], uint64_t a, uint64_t b, bool adds, SIM_HERE) {
    const sim_site site = {file, line};
    sim_wgmma w = sim_wgmma_of<T>(WORDS, b, adds);
    w.a = a;
    w.transposed_a = A_ROWS_INNER;
    w.transposed_b = B_ROWS_INNER;
    sim_wgmma_issue(&w, reinterpret_cast<uint32_t *>(d), &site);
}

template <typename T, bool B_ROWS_INNER, int WORDS>
SIM_INLINE void wgmma(float (&d)[WORDS], const uint32_t (&a)[4], uint64_t b, bool adds, SIM_HERE) {
    const sim_site site = {file, line};
    sim_wgmma w = sim_wgmma_of<T>(WORDS, b, adds);
    w.registers = a;
    w.transposed_b = B_ROWS_INNER;
    sim_wgmma_issue(&w, reinterpret_cast<uint32_t *>(d), &site);
}

template <bool A_ROWS_INNER, bool B_ROWS_INNER, int WORDS>
SIM_INLINE void wgmma_bf16(float (&d)[WORDS], uint64_t a, uint64_t b, bool adds, SIM_HERE) {
    wgmma<__nv_bfloat16, A_ROWS_INNER, B_ROWS_INNER>(d, a, b, adds, file, line);
}

template <int WORDS>
SIM_INLINE void wgmma_tf32(float (&d)[WORDS], uint64_t a, uint64_t b, bool adds, SIM_HERE) {
    const sim_site site = {file, line};
    sim_wgmma w = sim_wgmma_of<float>(WORDS, b, adds);
    w.a = a;
    sim_wgmma_issue(&w, reinterpret_cast<uint32_t *>(d), &site);
}

template <int WORDS>
SIM_INLINE void wgmma_tf32(float (&d)[WORDS], const uint32_t (&a)[4], uint64_t b, bool adds,
                           SIM_HERE) {
    const sim_site site = {file, line};
    sim_wgmma w = sim_wgmma_of<float>(WORDS, b, adds);
    w.registers = a;
    sim_wgmma_issue(&w, reinterpret_cast<uint32_t *>(d), &site);
}

template <int WORDS> SIM_INLINE void wgmma_results(float (&)[WORDS]) {
}

SIM_INLINE uint32_t made_anew(uint32_t x) {
    return x;
}

template <int N> SIM_INLINE void registers_lower(SIM_HERE) {
    sim_registers_set(N, file, line);
}
template <int N> SIM_INLINE void registers_raise(SIM_HERE) {
    sim_registers_set(N, file, line);
}

SIM_INLINE assay_status find_hopper(bool *is_hopper) {
    *is_hopper = true;
    return ASSAY_OK;
}

SIM_INLINE assay_status sim_encode_tensor_map(tensor_map *map, const tensor_lines *of,
                                              ptx_tensor_type type, uint32_t bytes) {
    static_assert(sizeof(tensor_map) == PTX_TENSOR_MAP_BYTES, "one is the other");
    ptx_tensor t = {};
    t.base = static_cast<char *>(const_cast<void *>(of->data));
    t.rank = of->planes > 0 ? 3 : 2;
    t.type = type;
    t.swizzle = 3;
    t.size[0] = (uint64_t)of->length;
    t.size[1] = (uint64_t)of->lines;
    t.size[2] = (uint64_t)of->planes;
    t.stride[1] = (uint64_t)of->stride * bytes;
    t.stride[2] = (uint64_t)of->plane_stride * bytes;
    t.box[0] = TENSOR_LINE_BYTES / bytes;
    t.box[1] = (uint32_t)of->box_lines;
    t.box[2] = 1;
    const char *wrong = ptx_tensor_encode(&t, map);
    return wrong ? assay_fail(ASSAY_ERR_DEVICE, "simulated device: a tensor map: %s", wrong)
                 : ASSAY_OK;
}

SIM_INLINE assay_status make_tensor_map(tensor_map *map, const tensor_lines *of) {
    return sim_encode_tensor_map(map, of, PTX_TENSOR_U16, sizeof(uint16_t));
}

SIM_INLINE assay_status make_tf32_map(tensor_map *map, const tensor_lines *of) {
    return sim_encode_tensor_map(map, of, PTX_TENSOR_TF32, sizeof(float));
}

#endif
