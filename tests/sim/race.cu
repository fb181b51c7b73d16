#include "tests/sim/race.h"

#include "device/kernel.h"

int race_lines[RACE_KERNELS][2];

/* Marks the source line that one of the two accesses is on. */
#define FIRST(kernel)  race_lines[kernel][0] = __LINE__
#define SECOND(kernel) race_lines[kernel][1] = __LINE__

static __global__ void read_before_barrier(bool right, int *memory) {
    __shared__ int tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    FIRST(READ_BEFORE_BARRIER), tile[t] = t;
    if (right)
        __syncthreads();
    SECOND(READ_BEFORE_BARRIER), memory[t] = tile[RACE_THREADS - 1 - t];
}

static __global__ void write_after_read(bool right, int *memory) {
    __shared__ int tile[RACE_THREADS];
    int t = (int)threadIdx.x, sum = 0;
    for (int step = 0; step < 3; ++step) {
        FIRST(WRITE_AFTER_READ), tile[t] = step + t;
        __syncthreads();
        SECOND(WRITE_AFTER_READ), sum += tile[RACE_THREADS - 1 - t];
        if (right)
            __syncthreads();
    }
    memory[t] = sum;
}

static __global__ void shared_histogram(bool right, int *memory) {
    __shared__ int bins[8];
    int t = (int)threadIdx.x;
    if (t < 8)
        bins[t] = 0;
    __syncthreads();
    if (right)
        atomicAdd(&bins[t % 8], 1);
    else
        FIRST(SHARED_HISTOGRAM), SECOND(SHARED_HISTOGRAM), bins[t % 8] += 1;
    __syncthreads();
    if (t < 8)
        memory[t] = bins[t];
}

static __global__ void global_histogram(bool right, int *memory) {
    int t = (int)threadIdx.x;
    if (right)
        atomicAdd(&memory[t % 8], 1);
    else
        FIRST(GLOBAL_HISTOGRAM), SECOND(GLOBAL_HISTOGRAM), memory[t % 8] += 1;
}

static __global__ void blocks_meet(bool right, int *memory) {
    int t = (int)threadIdx.x, first = right ? (int)blockIdx.x * RACE_THREADS : 0;
    FIRST(BLOCKS_MEET), SECOND(BLOCKS_MEET), memory[first + t] = t;
}

static __global__ void read_other_block(bool right, int *memory) {
    int t = (int)threadIdx.x, block = (int)blockIdx.x;
    int other = right ? block : (block + 1) % RACE_BLOCKS;
    FIRST(READ_OTHER_BLOCK), memory[block * RACE_THREADS + t] = t;
    __syncthreads();
    int *copy = memory + RACE_BLOCKS * RACE_THREADS;
    SECOND(READ_OTHER_BLOCK), copy[block * RACE_THREADS + t] = memory[other * RACE_THREADS + t];
}

static __global__ void no_syncwarp(bool right, int *memory) {
    __shared__ int tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    FIRST(NO_SYNCWARP), tile[t] = t;
    if (right)
        __syncwarp(t < 32 ? 0xffffffffu : 0xffffu);
    SECOND(NO_SYNCWARP), memory[t] = tile[t ^ 1];
}

static __global__ void shuffle_for_syncwarp(bool right, int *memory) {
    __shared__ int tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    unsigned lanes = t < 32 ? 0xffffffffu : 0xffffu;
    FIRST(SHUFFLE_FOR_SYNCWARP), tile[t] = t;
    if (right)
        __syncwarp(lanes);
    else
        t = __shfl_sync(lanes, t, t % 32);
    SECOND(SHUFFLE_FOR_SYNCWARP), memory[t] = tile[t ^ 1];
}

/* Right: lane 0 is ordered before lane 1, and that one before lane 2. */
static __global__ void half_a_warp(bool right, int *memory) {
    __shared__ int value;
    int t = (int)threadIdx.x;
    if (t == 0)
        FIRST(HALF_A_WARP), value = 7;
    if (t < 2)
        __syncwarp(3);
    if ((t == 1 || t == 2) && right)
        __syncwarp(6);
    if (t == 2)
        SECOND(HALF_A_WARP), memory[0] = value;
}

static __global__ void never_written(bool right, int *memory) {
    __shared__ int tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    if (right || t != 5)
        tile[t] = t;
    __syncthreads();
    FIRST(NEVER_WRITTEN), memory[t] = tile[RACE_THREADS - 1 - t];
}

static __global__ void never_written_dynamic(bool right, int *memory) {
    ASSAY_DYNAMIC_SHARED(int, tile);
    int t = (int)threadIdx.x;
    if (right || blockIdx.x == 0)
        tile[t] = t;
    __syncthreads();
    int *own = memory + blockIdx.x * RACE_THREADS;
    FIRST(NEVER_WRITTEN_DYNAMIC), own[t] = tile[RACE_THREADS - 1 - t];
}

static __global__ void read_beside_atomic(bool right, int *memory) {
    __shared__ int count;
    int t = (int)threadIdx.x;
    if (t == 0)
        count = 0;
    __syncthreads();
    FIRST(READ_BESIDE_ATOMIC), atomicAdd(&count, 1);
    if (right)
        __syncthreads();
    if (t == 0)
        SECOND(READ_BESIDE_ATOMIC), memory[0] = count;
}

static __global__ void clear_beside_atomic(bool right, int *memory) {
    __shared__ int count;
    int t = (int)threadIdx.x;
    if (t == 0)
        FIRST(CLEAR_BESIDE_ATOMIC), count = 0;
    if (right)
        __syncthreads();
    SECOND(CLEAR_BESIDE_ATOMIC), atomicAdd(&count, 1);
    __syncthreads();
    if (t == 0)
        memory[0] = count;
}

static __global__ void vector_copy(bool right, int *memory) {
    __shared__ int4 tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    int4 *vectors = reinterpret_cast<int4 *>(memory);
    FIRST(VECTOR_COPY), tile[t] = vectors[t];
    if (right)
        __syncthreads();
    SECOND(VECTOR_COPY), vectors[RACE_THREADS + t] = tile[RACE_THREADS - 1 - t];
}

/* Right: each thread has its own byte. Wrong: a half for every two. */
static __global__ void bytes_of_a_word(bool right, int *memory) {
    __shared__ short halves[RACE_THREADS];
    char *bytes = reinterpret_cast<char *>(halves);
    int t = (int)threadIdx.x;
    if (right)
        bytes[t] = (char)t;
    else
        FIRST(BYTES_OF_A_WORD), SECOND(BYTES_OF_A_WORD), halves[t / 2] = (short)t;
    __syncthreads();
    memory[t] = bytes[t];
}

/* The writer was the first of the readers. */
static __global__ void write_after_other_readers(bool right, int *memory) {
    __shared__ int value;
    int t = (int)threadIdx.x, copy = 0;
    if (t == 0)
        value = 7;
    __syncthreads();
    if (t >= 32)
        return;
    FIRST(WRITE_AFTER_OTHER_READERS), copy = value;
    if (right)
        __syncwarp();
    else
        copy = __shfl_sync(0xffffffffu, copy, 0);
    if (t == 0)
        SECOND(WRITE_AFTER_OTHER_READERS), value = copy + 1;
    memory[t] = copy;
}

/* The writer's block read last. */
static __global__ void write_after_other_block(bool right, int *memory) {
    int block = (int)blockIdx.x, copy, cell = right ? block : 0;
    if (threadIdx.x > 0 || block > 1)
        return;
    FIRST(WRITE_AFTER_OTHER_BLOCK), copy = memory[cell];
    if (block == 1)
        SECOND(WRITE_AFTER_OTHER_BLOCK), memory[cell] = copy + 1;
    memory[RACE_THREADS + block] = copy;
}

/* Accesses that a compiler may make one of 32 bytes. */
static __global__ void wide_rows(bool right, int *memory) {
    const int t = (int)blockIdx.x * RACE_THREADS + (int)threadIdx.x;
    double *row = reinterpret_cast<double *>(memory) + t / 2 * 4;
    const double x = t;
    if (!right || t % 2 == 0)
        FIRST(WIDE_ROWS), SECOND(WIDE_ROWS), row[0] = x, row[1] = x, row[2] = x, row[3] = x;
}

/* From warp to warp, by a flag. */
static __global__ void handed_over(bool right, int *memory) {
    int t = (int)threadIdx.x;
    if (t == 0) {
        FIRST(HANDED_OVER), memory[1] = 5;
        if (right)
            __threadfence();
        atomicExch(&memory[0], 1);
    } else if (t == RACE_THREADS - 1) {
        while (atomicAdd(&memory[0], 0) == 0) {
        }
        if (right)
            __threadfence();
        SECOND(HANDED_OVER), memory[2] = memory[1];
    }
}

typedef void (*kernel_function)(bool right, int *memory);

/* Where all threads compare and swap, the read is told as a note. */
static __global__ void checked_read(bool right, int *memory) {
    int old = (FIRST(CHECKED_READ), memory[0]), assumed;
    if (!right && old > 100)
        return;
    do {
        assumed = old;
        SECOND(CHECKED_READ), old = atomicCAS(memory, assumed, assumed + (int)threadIdx.x);
    } while (assumed != old);
}

/* Structures that calls return which no compiler inlines. */
struct race_row {
    int v[6];
};
static __device__ __attribute__((noinline)) int4 vector_of(int t) {
    return {t, t + 1, t + 2, t + 3};
}
static __device__ __attribute__((noinline)) race_row row_of(int t) {
    return {{t, t + 1, t + 2, t + 3, t + 4, t + 5}};
}

static __global__ void returned_vector(bool right, int *memory) {
    __shared__ int4 tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    FIRST(RETURNED_VECTOR), tile[t] = vector_of(t);
    if (right)
        __syncthreads();
    SECOND(RETURNED_VECTOR), memory[t] = tile[RACE_THREADS - 1 - t].y;
}

static __global__ void returned_structure(bool right, int *memory) {
    __shared__ race_row tile[RACE_THREADS];
    int t = (int)threadIdx.x;
    FIRST(RETURNED_STRUCTURE), tile[t] = row_of(t);
    if (right)
        __syncthreads();
    SECOND(RETURNED_STRUCTURE), memory[t] = tile[RACE_THREADS - 1 - t].v[1];
}

static const struct {
    kernel_function run;
    unsigned blocks, shared_bytes;
} kernels[RACE_KERNELS] = {
    {read_before_barrier, 1, 0},
    {write_after_read, 1, 0},
    {shared_histogram, 1, 0},
    {global_histogram, RACE_BLOCKS, 0},
    {blocks_meet, RACE_BLOCKS, 0},
    {read_other_block, RACE_BLOCKS, 0},
    {no_syncwarp, 1, 0},
    {shuffle_for_syncwarp, 1, 0},
    {half_a_warp, 1, 0},
    {never_written, 1, 0},
    {never_written_dynamic, RACE_BLOCKS, RACE_THREADS * sizeof(int)},
    {read_beside_atomic, 1, 0},
    {clear_beside_atomic, 1, 0},
    {vector_copy, 1, 0},
    {bytes_of_a_word, 1, 0},
    {write_after_other_readers, 1, 0},
    {write_after_other_block, RACE_BLOCKS, 0},
    {wide_rows, RACE_BLOCKS, 0},
    {handed_over, 1, 0},
    {checked_read, RACE_BLOCKS, 0},
    {returned_vector, 1, 0},
    {returned_structure, 1, 0},
};

uint32_t race_late;

static __global__ void late(kernel_function run, bool right, int *memory) {
    race_be_late();
    __syncthreads();
    run(right, memory);
}

assay_status race_launch(race_kernel kernel, bool right, int *memory) {
    if (race_late != 0)
        return ASSAY_LAUNCH(nullptr, kernels[kernel].blocks, RACE_THREADS,
                            kernels[kernel].shared_bytes, late, kernels[kernel].run, right, memory);
    return ASSAY_LAUNCH(nullptr, kernels[kernel].blocks, RACE_THREADS, kernels[kernel].shared_bytes,
                        kernels[kernel].run, right, memory);
}

enum { TILE = 16 };

static __global__ void matmul(int n, const float *a, const float *b, float *c) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int row = (int)blockIdx.y * TILE + y, column = (int)blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a_tile[y][x] = a[row * n + k + x];
        b_tile[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

assay_status race_matmul(int n, const float *a, const float *b, float *c) {
    unsigned tiles = (unsigned)n / TILE;
    return ASSAY_LAUNCH(nullptr, dim3(tiles, tiles), dim3(TILE, TILE), 0, matmul, n, a, b, c);
}
