/* Kernels for tensor_test.c. Fragments are gathered and scattered element by element, as the PTX
 * ISA numbers them. */
#include "tests/sim/tensor.h"

#include "kernels/common/tensor.h"

/* Element e of a lane's A or B, e counting the elements of all its registers in order. */
static __device__ int half_row_a(int lane, int e) {
    return lane / 4 + (e % 4 < 2 ? 0 : 8);
}
static __device__ int half_column_a(int lane, int e) {
    return lane % 4 * 2 + (e & 1) + (e < 4 ? 0 : 8);
}
static __device__ int half_row_b(int lane, int e) {
    return lane % 4 * 2 + (e & 1) + (e < 2 ? 0 : 8);
}

static __device__ void load_c(int lane, const float *c, float *own) {
    for (int i = 0; i < 4; ++i)
        own[i] = c[(lane / 4 + (i < 2 ? 0 : 8)) * 8 + lane % 4 * 2 + (i & 1)];
}
static __device__ void store_c(int lane, const float *own, float *c) {
    for (int i = 0; i < 4; ++i)
        c[(lane / 4 + (i < 2 ? 0 : 8)) * 8 + lane % 4 * 2 + (i & 1)] = own[i];
}

static __global__ void mma_half(bool is_bf16, const uint16_t *a, const uint16_t *b, float *c) {
    int lane = (int)threadIdx.x;
    uint32_t own_a[4] = {0}, own_b[2] = {0};
    float own_c[4];
    for (int e = 0; e < 8; ++e)
        own_a[e / 2] |= (uint32_t)a[half_row_a(lane, e) * 16 + half_column_a(lane, e)]
                        << 16 * (e & 1);
    for (int e = 0; e < 4; ++e)
        own_b[e / 2] |= (uint32_t)b[half_row_b(lane, e) * 8 + lane / 4] << 16 * (e & 1);
    load_c(lane, c, own_c);
    if (is_bf16)
        mma_m16n8k16_bf16(own_c, own_a, own_b);
    else
        mma_m16n8k16_f16(own_c, own_a, own_b);
    store_c(lane, own_c, c);
}
assay_status tensor_mma_bf16(const uint16_t *a, const uint16_t *b, float *c) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, mma_half, true, a, b, c);
}
assay_status tensor_mma_f16(const uint16_t *a, const uint16_t *b, float *c) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, mma_half, false, a, b, c);
}

static __global__ void mma_tf32(const uint32_t *a, const uint32_t *b, float *c) {
    int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    const uint32_t own_a[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4],
                               a[(g + 8) * 8 + t + 4]};
    const uint32_t own_b[2] = {b[t * 8 + g], b[(t + 4) * 8 + g]};
    float own_c[4];
    load_c(lane, c, own_c);
    mma_m16n8k8_tf32(own_c, own_a, own_b);
    store_c(lane, own_c, c);
}
assay_status tensor_mma_tf32(const uint32_t *a, const uint32_t *b, float *c) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, mma_tf32, a, b, c);
}

static __global__ void mma_f64(const double *a, const double *b, double *c) {
    int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    double own_c[2] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1]};
    mma_m8n8k4_f64(own_c, a[g * 4 + t], b[t * 8 + g]);
    c[g * 8 + 2 * t] = own_c[0];
    c[g * 8 + 2 * t + 1] = own_c[1];
}
assay_status tensor_mma_f64(const double *a, const double *b, double *c) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, mma_f64, a, b, c);
}

static __global__ void mma_tall_f64(int depth, const double *a, const double *b, double *c) {
    int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
    double own_a[8], own_b[4], own_c[4];
    for (int i = 0; i < depth / 2; ++i)
        own_a[i] = a[(g + 8 * (i % 2)) * depth + t + 4 * (i / 2)];
    for (int i = 0; i < depth / 4; ++i)
        own_b[i] = b[(t + 4 * i) * 8 + g];
    for (int i = 0; i < 4; ++i)
        own_c[i] = c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
    if (depth == 4)
        mma_m16n8k4_f64(own_c, own_a, own_b);
    else if (depth == 8)
        mma_m16n8k8_f64(own_c, own_a, own_b);
    else
        mma_m16n8k16_f64(own_c, own_a, own_b);
    for (int i = 0; i < 4; ++i)
        c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = own_c[i];
}
assay_status tensor_mma_tall_f64(int k, const double *a, const double *b, double *c) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, mma_tall_f64, k, a, b, c);
}

typedef uint16_t matrix_row[8];

static __global__ void load_matrices(int form, const matrix_row *in, uint32_t (*out)[4]) {
    __shared__ __align__(16) uint16_t tile[32][8];
    int lane = (int)threadIdx.x;
    uint32_t r[4] = {0};
    for (int i = 0; i < 8; ++i)
        tile[31 - lane][i] = in[lane][i];
    __syncthreads();
    const bool used = lane < 8 << form % 3;
    const void *row = used ? &tile[31 - lane] : nullptr;
    if (form == 0)
        ldmatrix_x1(r, row);
    else if (form == 1)
        ldmatrix_x2(r, row);
    else if (form == 2)
        ldmatrix_x4(r, row);
    else if (form == 3)
        ldmatrix_x1_trans(r, row);
    else if (form == 4)
        ldmatrix_x2_trans(r, row);
    else
        ldmatrix_x4_trans(r, row);
    for (int i = 0; i < 4; ++i)
        out[lane][i] = r[i];
}
assay_status tensor_ldmatrix(int form, const uint16_t in[32][8], uint32_t out[32][4]) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, load_matrices, form, in, out);
}

typedef float tile_row[TENSOR_THREADS];

static __global__ void pipelined(tensor_pipeline kind, const tile_row *in, float *out) {
    __shared__ float tile[2][TENSOR_THREADS];
    int t = (int)threadIdx.x;
    float sum = 0;
    cp_async_4(&tile[0][t], &in[0][t]);
    cp_async_commit();
    for (int i = 0; i < TENSOR_TILES; ++i) {
        if (i + 1 < TENSOR_TILES)
            cp_async_4(&tile[(i + 1) % 2][t], &in[i + 1][t]);
        cp_async_commit();
        if (kind == PIPELINE_WAITS_FOR_LESS)
            cp_async_wait<2>();
        else if (kind != PIPELINE_NO_WAIT)
            cp_async_wait<1>();
        if (kind != PIPELINE_NO_BARRIER_BEFORE_READ)
            __syncthreads();
        sum += tile[i % 2][TENSOR_THREADS - 1 - t];
        if (kind != PIPELINE_NO_BARRIER_AFTER_READ)
            __syncthreads();
    }
    out[t] = sum;
}
assay_status tensor_pipelined(tensor_pipeline kind, const float in[TENSOR_TILES][TENSOR_THREADS],
                              float out[TENSOR_THREADS]) {
    return ASSAY_LAUNCH(nullptr, 1, TENSOR_THREADS, 0, pipelined, kind, in, out);
}

typedef uint32_t four_cells[4];

static __global__ void groups(const uint32_t *in, four_cells *out) {
    __shared__ uint32_t cells[4];
    auto look = [&](int step) {
        for (int i = 0; i < 4; ++i)
            out[step][i] = cells[i];
    };
    for (int i = 0; i < 3; ++i) {
        cp_async_4(&cells[i], &in[i]);
        cp_async_commit();
    }
    cp_async_4(&cells[3], &in[3]);
    cp_async_wait<3>();
    look(0);
    cp_async_wait<2>();
    look(1);
    cp_async_wait<1>();
    look(2);
    cp_async_wait<0>();
    look(3);
    cp_async_commit();
    cp_async_wait<0>();
    look(4);
}
assay_status tensor_groups(const uint32_t in[4], uint32_t out[TENSOR_STEPS][4]) {
    return ASSAY_LAUNCH(nullptr, 1, 1, 0, groups, in, out);
}

typedef unsigned char cell[16];

static __global__ void zero_fill(const unsigned char *in, cell *out) {
    __shared__ __align__(16) unsigned char cells[TENSOR_CELLS][16];
    for (int i = 0; i < TENSOR_CELLS; ++i)
        for (int j = 0; j < 16; ++j)
            cells[i][j] = 1;
    for (int i = 0; i <= 16; ++i)
        cp_async_16(cells[i], in, i);
    for (int i = 0; i <= 8; ++i)
        cp_async_8(cells[17 + i], in, i);
    for (int i = 0; i <= 4; ++i)
        cp_async_4(cells[26 + i], in, i);
    cp_async_commit();
    cp_async_wait<0>();
    for (int i = 0; i < TENSOR_CELLS; ++i)
        for (int j = 0; j < 16; ++j)
            out[i][j] = cells[i][j];
}
assay_status tensor_zero_fill(const unsigned char in[16], unsigned char out[TENSOR_CELLS][16]) {
    return ASSAY_LAUNCH(nullptr, 1, 1, 0, zero_fill, in, out);
}

static __global__ void never_waits(const uint32_t *in, uint32_t *out) {
    __shared__ uint32_t cell;
    if (threadIdx.x == 0) {
        cp_async_4(&cell, in);
        return;
    }
    __syncthreads();
    if (threadIdx.x == 32)
        *out = cell;
}
assay_status tensor_never_waits(const uint32_t *in, uint32_t *out) {
    return ASSAY_LAUNCH(nullptr, 1, 64, 0, never_waits, in, out);
}

/* The #line directives pin the lines that the reports must name. */
static __global__ void misused(tensor_misuse kind, float *out) {
    __shared__ __align__(16) unsigned char memory[64 * 16];
    int t = (int)threadIdx.x;
    const uint32_t operands[4] = {0};
    uint32_t loaded[4];
    float sum[4] = {0};
    double sum64[2] = {0};
    if (t == 5 && (kind == MISUSE_EXITED_LANE || kind == MISUSE_LDMATRIX_EXITED_LANE))
        return;
    switch (kind) {
    case MISUSE_EXITED_LANE:
    case MISUSE_ABSENT_LANE:
#line 1001
        mma_m16n8k16_bf16(sum, operands, operands);
        break;
    case MISUSE_TWO_PLACES:
        if (t < 16)
#line 1101
            mma_m16n8k8_tf32(sum, operands, operands);
        else
#line 1102
            mma_m16n8k8_tf32(sum, operands, operands);
        break;
    case MISUSE_HALF_A_WARP:
        if (t < 16)
            mma_m8n8k4_f64(sum64, 0, 0);
        else
            __syncwarp();
        break;
    case MISUSE_LDMATRIX_EXITED_LANE:
        ldmatrix_x1(loaded, memory);
        break;
    case MISUSE_LDMATRIX_MISALIGNED:
#line 1201
        ldmatrix_x4(loaded, memory + 16 * t + (t == 9 ? 8 : 0));
        break;
    case MISUSE_COPY_MISALIGNED:
        cp_async_16(memory + 16 * t, out + t);
        break;
    case MISUSE_COPY_TOO_MUCH:
#line 1301
        cp_async_4(memory + 4 * t, out + t, 5);
        break;
    default:
#line 1401
        cp_async_4(memory + 4 * t, out + t);
        reinterpret_cast<float *>(memory)[t] = 1;
        cp_async_commit();
        cp_async_wait<0>();
    }
    out[t] = sum[0];
}
assay_status tensor_misused(tensor_misuse kind, float out[32]) {
    return ASSAY_LAUNCH(nullptr, 1, kind == MISUSE_ABSENT_LANE ? 20 : 32, 0, misused, kind, out);
}

static __global__ void store_and_load(bool ordered, uint32_t *out) {
    __shared__ __align__(16) uint32_t matrix[8][4];
    int t = (int)threadIdx.x;
    matrix[t % 8][t / 8] = (uint32_t)t;
    if (ordered)
        __syncwarp();
    ldmatrix_x1(&out[t], matrix[t % 8]);
}
assay_status tensor_store_and_load(int ordered, uint32_t out[32]) {
    return ASSAY_LAUNCH(nullptr, 1, 32, 0, store_and_load, ordered != 0, out);
}
