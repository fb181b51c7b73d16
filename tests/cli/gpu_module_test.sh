#!/usr/bin/env bash
# Kernels as PTX and as machine code, which a binding launches, on a GPU: gpu_module_test.sh ASSAY.
# Both are loaded by one driver, and pass and fail alike. 77: there is no GPU.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/cli/expect.sh
source "$here/expect.sh"
if ! "$assay" check weighted_sum/v1 --device cuda n=5 d=33 dtype=f32 >log 2>&1; then
    cat log
    [ "${ASSAY_REQUIRE_GPU:-}" = 1 ] && exit 1 || exit 77
fi
judge() { # STATUS FLAGS...
    local want=$1
    shift
    expect "$want" "$assay" check weighted_sum/mine --device cuda "$@"
}
one_line() { # TEXT: and nothing else
    says "$1"
    [ "$(wc -l <log)" -eq 1 ] || { cat log; exit 1; }
}
cp "$here"/ptx/*.ptx .

# ---- PTX, which the driver compiles ----
judge 0 --kernel row_sum.ptx
says '0 failed, 0 mistrusted, 0 errors'
sed '0,/setp.lt.s32 \t%p1, %r5, %r3/s//setp.ge.s32 \t%p1, %r5, 0/' row_sum.ptx >unmasked.ptx
! cmp -s row_sum.ptx unmasked.ptx
judge 1 --kernel unmasked.ptx n=5 d=33 dtype=f32 # NaN lies behind a row
says 'fail mine y'
head -c 2000 row_sum.ptx >cut.ptx
judge 3 --kernel cut.ptx
one_line 'cut.ptx: cuModuleLoadDataEx returned'

# ---- machine code ----
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo 'PTX is as it must be; there is no nvcc for machine code'; exit 0; }
cat >sum.cu <<'C'
#ifdef PACKED
#define STRIDE d
#else
#define STRIDE stride
#endif
extern "C" __global__ void row_sum(const float *x, long long stride, const float *w, float *y,
                                   int rows, int d) {
    extern __shared__ float part[];
    float sum = 0;
    for (int j = threadIdx.x; j < d; j += blockDim.x)
        sum += x[blockIdx.x * STRIDE + j] * w[j];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int i = 1; threadIdx.x == 0 && i < blockDim.x; ++i)
        sum += part[i];
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
C
cat >sum.toml <<'T'
op = "weighted_sum"
forward = "row_sum(float *x, x.stride, float *w, float *y, x.rows, d)"
forward.grid = "x.rows"
forward.block = "64"
forward.shared = "64 * 4"
T
flags=(--binding sum.toml --stage forward)
"$nvcc" -cubin -arch=native sum.cu -o sum.cubin
judge 0 --kernel sum.cubin "${flags[@]}" n=5,70 d=33,1000 pad=3 dtype=f32
says '4 passed, 0 failed'
judge 0 --kernel sum.cubin "${flags[@]}"
says '0 failed, 0 mistrusted, 0 errors'
"$nvcc" -cubin -arch=native -DPACKED sum.cu -o packed.cubin
judge 1 --kernel packed.cubin "${flags[@]}" n=5 d=33 pad=3 dtype=f32
says 'fail mine y'
"$nvcc" -ptx -arch=compute_80 sum.cu -o sum.ptx # the same kernel from PTX
judge 0 --kernel sum.ptx "${flags[@]}" n=5,70 d=33,1000 pad=3 dtype=f32

# ---- a source is compiled with the instructions that this GPU alone has ----
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p') # reads all GPUs' lines
[ "$capability" -lt 90 ] || cat >>sum.cu <<'C'
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL) && __CUDA_ARCH__ == 900
#error compiled without wgmma
#endif
C
expect 0 "$assay" build sum.cu --device cuda --out sum.so
says "code=sm_$capability"

# ---- what cannot be ----
"$nvcc" -cubin -arch=sm_75 sum.cu -o old.cubin 2>>log
judge 3 --kernel old.cubin "${flags[@]}"
one_line 'old.cubin --binding sum.toml: cuModuleLoadDataEx returned 209 (CUDA_ERROR_NO_BINARY_FOR_GPU)'
says 'it is for another GPU'
head -c $(($(stat -c %s sum.cubin) - 1)) sum.cubin >cut.cubin
judge 3 --kernel cut.cubin "${flags[@]}"
one_line 'cut.cubin: is no whole cubin'
sed 's/row_sum(/gone(/' sum.toml >gone.toml
judge 3 --kernel sum.cubin --binding gone.toml --stage forward
one_line 'the module has no kernel gone'
sed 's/, d)/)/' sum.toml >short.toml
judge 3 --kernel sum.cubin --binding short.toml --stage forward
one_line 'row_sum has 6 parameters, and the binding 5'
sed 's/block = "64"/block = "2048"/' sum.toml >wide.toml
judge 3 --kernel sum.cubin --binding wide.toml --stage forward n=5 d=33 dtype=f32
says 'row_sum: cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE)'
judge 2 --kernel sum.cubin
one_line 'sum.cubin: --binding must say how it is launched'
