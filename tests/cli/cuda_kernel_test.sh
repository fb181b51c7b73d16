#!/usr/bin/env bash
# Plain CUDA kernels with <<<...>>> on the simulated device, without a GPU: cuda_kernel_test.sh ASSAY.
# nvcc compiles them; without it only the line that says so is tested.
set -euo pipefail
# shellcheck source=tests/cli/expect.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/expect.sh"

# Each launcher but the first has a bug, which is a template's argument.
cat >mine.cu <<'C'
#include <cuda_runtime.h>
#include <stdint.h>

enum { NONE, BOUND, STRIDE, BARRIER, FAR };

template <int Bug>
__global__ void row_sum(const float *x, int64_t x_stride, const float *w, float *y,
                        int rows, int64_t d) {
    __shared__ float part[4][32];
    const int row = blockIdx.x * 4 + threadIdx.y;
    const bool here = row < rows || Bug == BOUND;
    float sum = 0;
    for (int64_t j = threadIdx.x; here && j < d; j += 32)
        sum += x[row * (Bug == STRIDE ? d : x_stride) + j] * w[j];
    part[threadIdx.y][threadIdx.x] = sum;
    if (Bug != BARRIER)
        __syncthreads();
    if (threadIdx.x > 0 || !here)
        return;
    sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += part[threadIdx.y][i];
    y[Bug == FAR ? row + (1LL << 40) : row] = sum;
}

__global__ void grad(const float *x, int64_t x_stride, const float *w, const float *dy,
                     float *dx, int64_t dx_stride, float *dw, int rows, int64_t d) {
    const int64_t j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; j < d && i < rows; ++i) {
        dx[i * dx_stride + j] = dy[i] * w[j];
        sum += dy[i] * x[i * x_stride + j];
    }
    if (j < d)
        dw[j] = sum;
}

template <int Bug>
cudaError_t launch(const float *x, int64_t x_stride, const float *w, float *y, int rows,
                   int64_t d, cudaStream_t stream) {
    const dim3 grid((rows + 3) / 4), block(32, 4);
    row_sum<Bug><<<grid, block, 0, stream>>>(x, x_stride, w, y, rows, d);
    return cudaGetLastError();
}

extern "C" cudaError_t weighted_sum_forward(const float *x, int64_t x_stride, const float *w,
                                            float *y, int x_rows, int64_t d,
                                            cudaStream_t stream) {
    return launch<NONE>(x, x_stride, w, y, x_rows, d, stream);
}

#define WRONG(name, bug)                                                                           \
    extern "C" cudaError_t name(const float *x, int64_t x_stride, const float *w, float *y,       \
                                int x_rows, int64_t d, cudaStream_t stream) {                      \
        return launch<bug>(x, x_stride, w, y, x_rows, d, stream);                                  \
    }
WRONG(bound, BOUND)
WRONG(stride, STRIDE)
WRONG(barrier, BARRIER)
WRONG(beyond, FAR)

extern "C" int weighted_sum_backward(const float *x, int64_t x_stride, const float *w,
                                     const float *dy, float *dx, int64_t dx_stride, float *dw,
                                     int x_rows, int64_t d, cudaStream_t stream) {
    grad<<<(d + 127) / 128, 128, 0, stream>>>(x, x_stride, w, dy, dx, dx_stride, dw, x_rows, d);
    return 0;
}

extern "C" void through_memory(const float *x, const float *w, float *y, int x_rows, int64_t d) {
    float *own;
    cudaMalloc(&own, x_rows * sizeof *own);
    row_sum<NONE><<<(x_rows + 3) / 4, dim3(32, 4)>>>(x, d, w, own, x_rows, d);
    cudaMemcpy(y, own, x_rows * sizeof *own, cudaMemcpyDeviceToDevice);
    cudaFree(own);
}
extern "C" void too_many_threads(const float *x, const float *w, float *y) {
    row_sum<NONE><<<1, dim3(32, 40)>>>(x, 1, w, y, 1, 1);
}
extern "C" cudaError_t too_many_told(const float *x, const float *w, float *y) {
    too_many_threads(x, w, y);
    return cudaGetLastError();
}
extern "C" void long_copy(const float *x, const float *w, float *y) {
    cudaMemcpyAsync(y, x, 1 << 20, cudaMemcpyDeviceToDevice, 0);
}
extern "C" void no_such(const float *x, const float *w, float *y) {
    cudaExternalMemory_t memory;
    const cudaExternalMemoryHandleDesc of = {};
    cudaImportExternalMemory(&memory, &of);
}
__global__ void spin(const volatile float *y) {
    while (y[0] != 1)
        ;
}
extern "C" void endless(const float *x, const float *w, float *y) {
    spin<<<1, 1>>>(y);
}
C

# ---- where no nvcc is ----
NVCC=$place/none check 77 --kernel mine.cu
says "none was not found; it compiles mine.cu: install it, or name another with \$NVCC"
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
    echo "skipped: no nvcc"
    exit 77
fi

# ---- launchers found by their names; all of a set, both stages ----
check 0 --kernel mine.cu
says '-cudart shared -gencode=arch=compute_90a,code=compute_90a'
says '0 failed, 0 mistrusted, 0 errors'
says 'pass'

# ---- the same from a shared object, launchers by a binding; three bugs, and one that strays ----
expect 0 "$assay" build mine.cu --device sim --out mine.so
bind() { # NAME
    echo "forward = cudaError_t $1(float *x, x.stride, float *w, float *y, int x.rows, d, stream)" >bind.txt
}
one=(--kernel mine.so --stage forward --binding bind.txt dtype=f32)
bind weighted_sum_forward
check 0 "${one[@]}" n=5 d=33 pad=3
bind bound
check 3 "${one[@]}" n=5x7 d=33
says 'out of bounds in row_sum'
check 3 "${one[@]}" n=5x7 d=33 --no-race
says 'wrote outside y'
bind stride
check 3 "${one[@]}" n=5 d=33 pad=3
says 'out of bounds in row_sum' # it reads the padding
check 1 "${one[@]}" n=5 d=33 pad=3 --no-race
says 'fail mine y'
bind barrier
for sched in inorder reverse; do # in the other order the sums are right
    check 3 "${one[@]}" n=5x7 d=33 sched=$sched
    says ' in row_sum'
    says ' mine.cu:'
done
says "mine.cu:$(grep -n 'sum += part' mine.cu | cut -d: -f1): race in row_sum"
check 1 "${one[@]}" n=5x7 d=33 --no-race
says 'fail mine y'
bind beyond
check 3 "${one[@]}" n=5x7 d=33
says 'stray access in row_sum'
says 'block (0,0,0) thread (0,0,0)'

# ---- memory of its own, calls of CUDA that go wrong, a kernel without an end ----
echo 'forward = through_memory(float *x, float *w, float *y, int x.rows, d)' >bind.txt
check 0 "${one[@]}" n=5x7 d=33
calls() { # NAME TEXT
    echo "forward = $1(float *x, float *w, float *y)" >bind.txt
    check 3 "${one[@]}" n=5 d=33
    says "$2"
}
wrong='1 (cudaErrorInvalidValue)'
"$nvcc" --version | grep 'release 1[0-2]\.' >/dev/null && wrong='9 (cudaErrorInvalidConfiguration)'
calls too_many_threads 'cudaLaunchKernel returned cudaErrorInvalid'
calls 'cudaError_t too_many_told' "too_many_told returned $wrong"
calls long_copy 'cudaMemcpyAsync reads 1048576 bytes'
calls no_such 'cudaImportExternalMemory is not simulated'
calls endless "mine.cu:$(grep -n 'y\[0\] != 1' mine.cu | cut -d: -f1): livelock in spin"

# ---- what cannot be ----
bind weighted_sum_forward
ASSAY_CC=$place/none XDG_CACHE_HOME=$place/cache check 77 "${one[@]}" n=5 d=33
says 'kernels from PTX need a C compiler'
echo '__global__ void f() {} extern "C" void g() { f<<<1, 1>>>(); }' >small.cu
"$nvcc" -shared -Xcompiler -fPIC -arch=compute_90 small.cu -o static.so
check 77 --kernel static.so --binding bind.txt
says "static.so: CUDA's runtime is linked into it"
"$nvcc" -shared -cudart shared -Xcompiler -fPIC -arch=sm_90 -gencode=arch=compute_90,code=sm_90 small.cu -o machine.so 2>log ||
    "$nvcc" -shared -cudart shared -Xcompiler -fPIC -gencode=arch=compute_90,code=sm_90 small.cu -o machine.so
check 77 --kernel machine.so --binding bind.txt
says 'no PTX for compute capability 9.0 or older'
echo '#include "device/kernel.h"
void f() { g<<<1, 2>>>(); }' >both.cu
check 77 --kernel both.cu
says 'is written for assay and launches with <<<...>>>: for the simulated device launch with ASSAY_LAUNCH'
[ -z "$(ls -d assay-kernel-* 2>/dev/null)" ] # nothing is left behind
