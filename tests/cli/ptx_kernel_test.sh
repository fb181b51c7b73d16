#!/usr/bin/env bash
# Kernels as PTX, which a binding launches, on the simulated device: ptx_kernel_test.sh ASSAY. In
# the forms that Triton emits a right kernel passes, three bugs are found, and wrong input gets one
# line.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=tests/cli/expect.sh
source "$here/expect.sh"
cp "$here"/ptx/*.ptx .

# ---- two kernels with their binding in comments: all of a set, both stages ----
check 0 --kernel row_sum.ptx
says '0 failed, 0 mistrusted, 0 errors'
says 'pass'
check 0 --kernel row_sum.ptx n=5 d=33 pad=3 dtype=f32 sched=random
check 77 --kernel row_sum.ptx n=5 d=257 dtype=f32
says 'its binding requires d <= 256'

# ---- a real number, and a binding in a file; a grid of no blocks ----
cat >rms.toml <<'T'
op = "rmsnorm"
forward = "rms(float *x, float *w, float *y, x.stride, y.stride, d, eps, 0, 0)"
forward.grid = "x.rows"
forward.block = "32"
require = "residual == 0"
T
rms=("$assay" check rmsnorm/mine --kernel rms.ptx --binding rms.toml --device sim --stage forward)
expect 0 "${rms[@]}" n=5x7 d=70 dtype=f32 pad=3 eps=0.5
expect 1 "${rms[@]}" n=0 d=70 dtype=f32 # not launched, as by Triton
says 'nothing to compare'
expect 77 "${rms[@]}" n=5 d=70 dtype=f32 residual=1
says 'its binding requires residual == 0'

# ---- three bugs ----
bug() { # STATUS EXPRESSION TEXT FLAGS...
    local status=$1 expression=$2 text=$3
    shift 3
    sed "$expression" row_sum.ptx >wrong.ptx
    ! cmp -s row_sum.ptx wrong.ptx
    check "$status" --kernel wrong.ptx n=5 d=33 dtype=f32 "$@"
    says "$text"
}
bug 3 's/setp.lt.s32 \t%p1, %r5, %r3/setp.ge.s32 \t%p1, %r5, 0/' 'out of bounds in row_sum' # no mask
bug 1 's/setp.lt.s32 \t%p1, %r5, %r3/setp.ge.s32 \t%p1, %r5, 0/' 'fail mine y' --no-race
bug 3 's/mul.lo.s32 \t%r7, %r1, %r2/mul.lo.s32 \t%r7, %r1, %r3/' 'out of bounds in row_sum' pad=3
bug 1 's/mul.lo.s32 \t%r7, %r1, %r2/mul.lo.s32 \t%r7, %r1, %r3/' 'fail mine y' pad=3 --no-race
bug 1 '0,/bar.sync/{/bar.sync/d}' 'fail mine y' --no-race
bug 3 '0,/bar.sync/{/bar.sync/d}' 'race in row_sum' sched=reverse
bug 3 's/setp.lt.s32 \t%p1, %r8, %r4/setp.ge.s32 \t%p1, %r8, 0/' 'row_sum.py:15: out of bounds in column_sum'
bug 3 's/setp.lt.s32 \t%p1, %r8, %r4/setp.ge.s32 \t%p1, %r8, 0/' 'wrote outside dx' --no-race
bug 3 's/\[ %rd9 + 0 \], { %r/[ %rd1 + 1099511627776 ], { %r/' 'stray access in row_sum: block (0,0,0) thread (0,0,0)'
bug 3 's/ret;/trap;/' 'row_sum.py:11'
bug 3 's/bar.sync \t0;/tcgen05.wait::ld.sync.aligned;/' 'tcgen05.wait::ld.sync.aligned'

# ---- bindings that do not fit ----
bind() { # STATUS TEXT LINES...: the last lines win
    local status=$1 text=$2
    shift 2
    printf '%s\n' "$@" >bind.toml
    check "$status" --kernel row_sum.ptx --binding bind.toml --stage forward n=5 d=33 dtype=f32
    says "$text"
}
launch='forward = row_sum(float *x, float *w, float *y, x.stride, d, 0, 0)'
grid='forward.grid = x.rows'
block='forward.block = 128'
bind 0 'mine pass' "$launch" "$grid" "$block" 'forward.shared = 16'
bind 2 'a kernel needs forward.grid and forward.block' "$launch"
bind 2 'a kernel needs forward.grid and forward.block' "$launch" "$grid"
bind 2 'no line forward = ' "$grid" "$block"
bind 2 'no line backward = KERNEL(...)' "$launch" "$grid" "$block" 'backward.grid = 1'
bind 2 'binding, line 2: x.rows +: cannot be read at its end' "$launch" 'forward.grid = x.rows +'
bind 2 'has too many values' "$launch" 'forward.grid = 1, 2, 3, 4'
bind 2 'its functions are cdiv, min and max' "$launch" 'forward.grid = ceil(d, 2)'
bind 77 "the binding's argument q is not in this case" "$launch" 'forward.grid = q' "$block"
bind 77 'd / (d - 33): divides by 0' "$launch" 'forward.grid = d / (d - 33)' "$block"
bind 77 "the binding's 1 - d is negative" "$launch" 'forward.grid = 1 - d' "$block"
bind 3 'the module has no kernel gone' 'forward = gone(x)' "$grid" "$block"
bind 3 'row_sum has 7 parameters, and the binding 3' 'forward = row_sum(x, w, y)' "$grid" "$block"
bind 3 'parameter 3 has 4 bytes, which y does not fit' \
    'forward = row_sum(float *x, float *w, float *y, float *y, d, 0, 0)' "$grid" "$block"
bind 3 'row_sum: cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE)' "$launch" "$grid" 'forward.block = 64'
bind 77 'x is f16, and the case has f32' "${launch/float/half}" "$grid" "$block"
echo 'int f(void) { return 0; }' | cc -xc -shared -fPIC - -o plain.so
printf '%s\n' "$launch" "$grid" "$block" >bind.toml
check 2 --kernel plain.so --binding bind.toml
says 'forward.grid is for kernels of .ptx and .cubin files, and plain.so is none'

# ---- files that do not ----
check 2 --kernel rms.ptx
says 'rms.ptx: it does not say how it is launched: give --binding FILE, or comments'
printf '\177ELF' >k.cubin
for device in sim cuda; do
    expect 3 "$assay" check weighted_sum/mine --device $device --kernel k.cubin
    says 'k.cubin: is no whole cubin; nvcc -cubin writes one'
done
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
    echo '__global__ void f(float *x) { x[threadIdx.x] += 1; }' >f.cu
    "$nvcc" -cubin -arch=sm_90 f.cu -o f.cubin
    check 77 --kernel f.cubin
    says 'f.cubin is machine code for sm_90, which runs on such a GPU alone'
    says 'or here the kernel'\''s .ptx or .cu'
    head -c $(($(stat -c %s f.cubin) - 1)) f.cubin >cut.cubin
    check 3 --kernel cut.cubin
    says 'cut.cubin: is no whole cubin'
    cp plain.so object.cubin # of another machine
    check 3 --kernel object.cubin
    says 'object.cubin: is no whole cubin'
fi
check 3 --kernel missing.ptx
says 'missing.ptx: no such file'
head -c 2000 row_sum.ptx >cut.ptx
check 3 --kernel cut.ptx
says 'cut.ptx:'
says 'not PTX'
head -c 3000 /dev/urandom >noise.ptx
check 3 --kernel noise.ptx
says 'noise.ptx'
: >empty.ptx
check 3 --kernel empty.ptx
says 'empty.ptx'
ASSAY_CC=$place/none XDG_CACHE_HOME=$place/cache check 77 --kernel row_sum.ptx
says 'kernels from PTX need a C compiler'
[ -z "$(ls -d assay-kernel-* 2>/dev/null)" ] # nothing is left behind
