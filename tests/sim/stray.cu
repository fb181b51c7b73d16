#include "tests/sim/stray.h"

#include "device/kernel.h"

int stray_line;

/* A table, as kernels have them: no tensor's, and no defect. */
static const int table[4] = {0, 1, 2, 3};

#define HERE (stray_line = __LINE__)

/* Reads, and uses what it has read for nothing that is left. */
static __device__ int dropped(int value) {
    return value == 0x7eadbeef ? 1 : 0;
}

static __global__ void global(stray_kernel kernel, bool right, int *in, const int *released,
                              int *out) {
    const int t = (int)threadIdx.x, step = STRAY_THREADS + STRAY_PAD;
    int sum = in[t] + table[t % 4] - table[t % 4];
    switch (kernel) {
    case STRAY_BEHIND_A_ROW:
        HERE, sum += dropped(in[right ? t : t + 1]);
        break;
    case STRAY_BEHIND_THE_TENSOR:
        HERE, sum += dropped(in[step + (right ? t : t + 1)]);
        break;
    case STRAY_BEFORE_THE_TENSOR:
        HERE, sum += dropped(in[right ? t : t - 1]);
        break;
    case STRAY_RELEASED:
        HERE, sum += dropped(right ? in[t] : released[t]);
        break;
    case STRAY_VECTOR:
        HERE, sum += dropped(__ldg((const int4 *)in + (right ? t / 4 : t / 4 + 1)).w);
        break;
    case STRAY_WRITE:
        HERE, in[right ? t : t + 1] = sum;
        break;
    case STRAY_ATOMIC:
        HERE, atomicAdd(&in[right ? t : t + 1], 1);
        break;
    default:
        break;
    }
    out[t] = sum;
}

static __global__ void shared(bool right, bool last, int *out) {
    __shared__ int one[STRAY_THREADS];
    __shared__ int two[STRAY_THREADS];
    const int t = (int)threadIdx.x, next = right ? t : t + 1;
    one[t] = two[t] = t;
    __syncthreads();
    HERE, out[t] = dropped(last ? two[next] : one[next]);
}

template <class T> static __global__ void shared_of_template(bool right, T *out) {
    __shared__ T one[STRAY_THREADS];
    const int t = (int)threadIdx.x;
    if (right)
        one[t] = (T)t;
    __syncthreads();
    HERE, out[t] = (T)dropped((int)one[t]);
}

static __global__ void dynamic_shared(bool right, int by, int *out) {
    ASSAY_DYNAMIC_SHARED(int, one);
    const int t = (int)threadIdx.x;
    one[t] = t;
    __syncthreads();
    HERE, out[t] = dropped(one[right ? t : t + by]);
}

assay_status stray_launch(stray_kernel kernel, bool right, int *in, int *released, int *out) {
    const dim3 grid(1), block(STRAY_THREADS);
    const size_t bytes = STRAY_THREADS * sizeof(int);
    switch (kernel) {
    case STRAY_SHARED_VARIABLE:
    case STRAY_FIRST_SHARED_VARIABLE:
        return ASSAY_LAUNCH(0, grid, block, 0, shared, right, kernel == STRAY_SHARED_VARIABLE, out);
    case STRAY_SHARED_OF_A_TEMPLATE:
        return ASSAY_LAUNCH(0, grid, block, 0, shared_of_template<int>, right, out);
    case STRAY_DYNAMIC_SHARED:
    case STRAY_BEFORE_DYNAMIC_SHARED:
        return ASSAY_LAUNCH(0, grid, block, bytes, dynamic_shared, right,
                            kernel == STRAY_DYNAMIC_SHARED ? 1 : -1, out);
    default:
        return ASSAY_LAUNCH(0, grid, block, 0, global, kernel, right, in, released, out);
    }
}
