/*
 * Kernels whose PTX has what compilers make of C++: calls, tables of branches, local arrays, shared
 * memory of functions, printf, assertions, warps. made.ptx is what nvcc makes of it with
 * -O3 -arch=compute_80 -lineinfo -ptx, without the folders in the names of files.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>

__device__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ float scale = 0.5f;

static __device__ __noinline__ uint64_t factorial(uint64_t n) {
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* Recursion; a function's result. */
extern "C" __global__ void recursion(uint64_t *out) {
    out[threadIdx.x] = factorial(threadIdx.x);
}

static __device__ __noinline__ int add_one(int x) {
    return x + 1;
}
static __device__ __noinline__ int twice(int x) {
    return 2 * x;
}
static __device__ __noinline__ int square(int x) {
    return x * x;
}

/* A call through an address. */
extern "C" __global__ void indirect(int *out, int which) {
    int (*const functions[])(int) = {add_one, twice, square};
    out[threadIdx.x] = functions[(which + (int)threadIdx.x) % 3]((int)threadIdx.x);
}

/* A branch by an index, and a local array that registers cannot hold. */
extern "C" __global__ void branches(int *out, const int *selector, int n) {
    int local[16], s = 0;
    for (int i = 0; i < 16; ++i)
        local[i] = i * n;
    for (int i = 0; i < n; ++i) {
        switch (selector[i] & 7) {
        case 0:
            s += 1;
            local[s & 15] ^= 3;
            break;
        case 1:
            s ^= 0x55;
            break;
        case 2:
            s = s * 7 + local[i & 15];
            break;
        case 3:
            s -= table[i & 7];
            break;
        case 4:
            s = (s << 3) | ((unsigned)s >> 29);
            break;
        case 5:
            s += local[s & 15];
            break;
        case 6:
            s = -s;
            break;
        default:
            local[i & 15] += s;
            break;
        }
    }
    out[threadIdx.x] = s + local[threadIdx.x & 15];
}

static __device__ __noinline__ float *row(int i) {
    static __shared__ float rows[4][32];
    return rows[i];
}

/* Shared memory: a function's, the kernel's, and a dynamic part behind them. */
extern "C" __global__ void shared_memory(float *out) {
    extern __shared__ float dynamic[];
    __shared__ float own[33];
    const int t = (int)threadIdx.x;
    row(t & 3)[t] = (float)t;
    own[t] = 100.0f + (float)t;
    dynamic[t] = 1000.0f + (float)t;
    __syncthreads();
    out[t] = row(~t & 3)[31 - t] + own[31 - t] * scale;
    out[32 + t] = dynamic[31 - t];
    if (t == 0)
        own[32] = 0;
}

/* A block's sum by shuffles, votes and atomics. */
extern "C" __global__ void reduce(int *sum, unsigned *ballots, const int *in, int n) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int value = i < n ? in[i] : 0;
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xffffffffu, value, step);
    const unsigned odd = __ballot_sync(0xffffffffu, i < n && (in[i] & 1) != 0);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(sum, value);
        ballots[i / 32] = odd;
    }
    if (__syncthreads_count(i < n && in[i] < 0) > 0 && threadIdx.x == 0)
        atomicMax(sum + 1, (int)blockIdx.x);
}

extern "C" __global__ void prints(int n, double x) {
    if (threadIdx.x == 1)
        printf("%s %d%% %5.2f %c %lld %x\n", "thread", n, x, 'q', -5ll, 255u);
}

extern "C" __global__ void asserts(int n) {
    assert(n < 3);
}

extern "C" __global__ void stops(int *out, int n) {
    if (n > 2)
        __trap();
    out[0] = n;
}
