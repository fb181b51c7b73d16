#!/usr/bin/env bash
# Kernels that know nothing of assay: functions of a shared object by C's ABI with a binding, a .cu
# file whose launchers are found by their names, and tvm-ffi's C ABI. In each form a right kernel
# passes, three bugs are found, and wrong input gets one line.
set -euo pipefail
# shellcheck source=tests/cli/expect.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/expect.sh"
one_line() { # TEXT: and nothing else
    says "$1"
    [ "$(wc -l <log)" -eq 1 ] || { cat log; exit 1; }
}
bugs() { # FILE BUILD-FUNCTION FLAGS...: each line `sed expression|what is said` of the file bugs.txt
    local file=$1 build=$2 expression said
    shift 2
    cp "$file" right
    while IFS='|' read -r expression said; do
        sed "$expression" right >"$file"
        ! cmp -s right "$file"
        $build
        check 1 n=5x7 d=33 "$@"
        says "$said"
    done <bugs.txt
    cp right "$file"
    $build
}

# ---- C's ABI ----
cat >sum.c <<'C'
#include <stdint.h>

int row_sum(const float *x, int64_t stride, const float *w, float *y, int rows, int64_t d) {
    if (d == 13)
        return 7;
    for (int i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += x[i * stride + j] * w[j];
        y[i] = sum;
    }
    return 0;
}

void row_sum_grad(const float *x, int64_t x_stride, const float *w, const float *dy, float *dx,
                  int64_t dx_stride, float *dw, int rows, int64_t d, float *scratch, double one) {
    for (int64_t j = 0; j < d; ++j) {
        float sum = 0;
        for (int i = 0; i < rows; ++i) {
            dx[i * dx_stride + j] = dy[i] * w[j];
            sum += dy[i] * x[i * x_stride + j];
        }
        scratch[j] = sum;
        dw[j] = scratch[j] * (float)one;
    }
}
C
cat >sum.toml <<'T'
op = "weighted_sum"
forward = "int row_sum(const float *x, int64_t x.stride, float *w, float *y, int x.rows, int64_t d)"
backward = "row_sum_grad(float *x, x.stride, float *w, float *dy, float *dx, dx.stride, float *dw, int x.rows, d, workspace, double 1)"
workspace = d * 4
T
cat >bugs.txt <<'B'
s/j < d; ++j)/j + 3 < d; ++j)/|fail mine y
s/sum += dy\[i\] \* x/sum += x/|fail mine dw
s/y\[i\] = sum/y[i + 1] = sum/|wrote outside
B
build_c() { cc -O1 -shared -fPIC sum.c -o sum.so; }
build_c
flags=(--kernel sum.so --binding sum.toml)
check 0 "${flags[@]}"
says 'y must be packed (--layout packed)'
says 'x is f32, and the case has f64'
check 0 "${flags[@]}" --layout packed
says 'packed tensors only'
head -2 bugs.txt >two.txt
third=$(tail -1 bugs.txt)
mv two.txt bugs.txt
bugs sum.c build_c "${flags[@]}"
says 'reproduce: assay check weighted_sum/mine n=5x7 d=33 dtype=f32 seed=0 --device sim --kernel sum.so --binding sum.toml'
sed "${third%|*}" sum.c >stray.c # beyond its tensor: no wrong number, but an error
cc -O1 -shared -fPIC stray.c -o stray.so
check 3 n=5x7 d=33 --kernel stray.so --binding sum.toml
check 3 n=5 d=13 "${flags[@]}"
says 'row_sum returned 7'
expect 0 "$assay" fuzz weighted_sum/mine --device sim "${flags[@]}" --cases 30
"$assay" bench weighted_sum/mine --device sim "${flags[@]}" n=8 d=16 >log 2>&1 || true
! grep -q 'not proven' log
# The same from the declarations of its source.
sed 's/row_sum_grad/weighted_sum_backward/; s/row_sum/weighted_sum_forward/' sum.c |
    sed 's/int64_t stride/int64_t x_stride/; s/int rows/int x_rows/; s/x\[i \* stride/x[i * x_stride/; s/i < rows/i < x_rows/; s/float \*scratch/float *workspace/; s/scratch\[j\]/workspace[j]/; s/, double one//; s/ \* (float)one//' >named.c
cc -O1 -shared -fPIC named.c -o named.so
check 0 --kernel named.so --binding named.c --stage forward

# ---- a .cu file without assay's header ----
sed 's/^int /extern "C" int /; s/^void /extern "C" void /' sum.c >mine.cu
cat >>mine.cu <<'C'
// assay: op = weighted_sum
// assay: forward = row_sum(x, x.stride, w, y, x.rows, d)
// assay: backward = row_sum_grad(x, x.stride, w, dy, dx, dx.stride, dw, x.rows, d, workspace, 1)
// assay: workspace = d * 4
C
check 0 --kernel mine.cu
says '0 failed, 0 mistrusted, 0 errors'
printf '%s\n' 's/j < d; ++j)/j + 3 < d; ++j)/|fail mine y' 's/sum += dy\[i\] \* x/sum += x/|fail mine dw' \
    's/= dy\[i\] \* w\[j\]/= w[j]/|fail mine dx' >bugs.txt
bugs mine.cu true --kernel mine.cu
expect 2 "$assay" check rope/mine --device sim --kernel mine.cu
says 'its binding is for weighted_sum'
sed 's/^extern "C" //' mine.cu >plain.cu # functions of C++
check 0 --kernel plain.cu
says '0 failed, 0 mistrusted, 0 errors'
sed 's/^extern "C" //; $a int row_sum(int x) { return x; }' mine.cu >overloaded.cu
check 3 --kernel overloaded.cu --quiet
one_line 'overloaded.cu: has no function row_sum that it exports'
sed 's/^extern "C" int/static int/; $a void *used[] = {(void *)row_sum};' mine.cu >static.cu
check 3 --kernel static.cu --quiet
one_line 'static.cu: has no function row_sum that it exports'
sed 's/^extern "C" int row_sum(/extern "C" int weighted_sum(/; /assay:/d' mine.cu >other_names.cu
check 2 --kernel other_names.cu
says 'other_names.cu: weighted_sum takes stride, which weighted_sum has not in forward: it has x w y n d'
grep -v '// assay:' mine.cu >unnamed.cu
check 2 --kernel unnamed.cu
says 'name it extern "C" weighted_sum_forward'

# ---- tvm-ffi's C ABI, with the declarations of its public header that it needs ----
cat >tvm.c <<'C'
#include <stddef.h>
#include <stdint.h>
#if __has_include(<tvm/ffi/c_api.h>)
#include <tvm/ffi/c_api.h>
#else
typedef struct { void *data; struct { int32_t device_type, device_id; } device; int32_t ndim;
                 struct { uint8_t code, bits; uint16_t lanes; } dtype; int64_t *shape, *strides;
                 uint64_t byte_offset; } DLTensor;
typedef struct { int32_t type_index; uint32_t zero_padding;
                 union { int64_t v_int64; double v_float64; void *v_ptr; }; } TVMFFIAny;
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
enum { kTVMFFIInt = 1, kTVMFFIFloat = 3, kTVMFFIDLTensorPtr = 7 };
#endif

static int fail(const char *message) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", message);
    return -1;
}

static const DLTensor *tensor(const TVMFFIAny *a) {
    const DLTensor *t = a->v_ptr;
    return a->type_index == kTVMFFIDLTensorPtr && t->dtype.code == 2 && t->dtype.bits == 32 ? t : NULL;
}

static float *at(const DLTensor *t, int64_t i) {
    return (float *)t->data + (t->ndim > 0 ? i * t->strides[0] : 0);
}

int __tvm_ffi_run(void *self, const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
    (void)self, (void)result;
    const DLTensor *x = tensor(&args[0]), *w = tensor(&args[1]), *y = tensor(&args[2]);
    if (n != 3 || !x || !w || !y || x->ndim != 2)
        return fail("three float32 tensors, x of two axes");
    for (int64_t i = 0; i < x->shape[0]; ++i) {
        float sum = 0;
        for (int64_t j = 0; j < x->shape[1]; ++j)
            sum += at(x, i)[j] * *at(w, j);
        *at(y, i) = sum;
    }
    return 0;
}

int __tvm_ffi_run_scaled(void *self, const TVMFFIAny *args, int32_t n, TVMFFIAny *result) {
    if (n != 5 || args[3].type_index != kTVMFFIInt || args[3].v_int64 != 33 ||
        args[4].type_index != kTVMFFIFloat || args[4].v_float64 != 0.5)
        return fail("x, w, y, 33, 0.5");
    return __tvm_ffi_run(self, args, 3, result);
}
C
headers=()
if python3 -c 'import tvm_ffi' 2>/dev/null; then # its layouts are the header's
    folder=$(python3 -c 'import os, tvm_ffi; print(os.path.dirname(tvm_ffi.__file__))')
    headers=(-I "$folder/include")
fi
build_tvm() { cc -O1 -shared -fPIC "${headers[@]}" tvm.c -o tvm.so; }
build_tvm
flags=(n=5 d=33 dtype=f32 --kernel tvm.so --stage forward)
check 0 "${flags[@]}"
says 'mine pass (forward only)'
check 0 n=5 d=33 pad=3 --kernel tvm.so --stage forward
printf '%s\n' 's/j < x->shape\[1\]/j + 1 < x->shape[1]/|fail mine y' 's/ \* \*at(w, j)//|fail mine y' \
    's/at(x, i)\[j\]/((float *)x->data)[i * x->shape[1] + j]/|fail mine y' >bugs.txt
cp tvm.c right
while IFS='|' read -r expression said; do
    sed "$expression" right >tvm.c
    build_tvm
    check 1 n=5 d=33 dtype=f32 pad=5 --kernel tvm.so --stage forward
    says "$said"
done <bugs.txt
cp right tvm.c
build_tvm
check 3 n=5x7 d=33 dtype=f32 --kernel tvm.so --stage forward
says '__tvm_ffi_run returned -1: ValueError: three float32 tensors, x of two axes'
echo 'forward = __tvm_ffi_run_scaled(float *x, float *w, float *y, d, 0.5)' >scaled.txt
check 0 "${flags[@]}" --binding scaled.txt
check 77 n=5 d=33 dtype=f64 --kernel tvm.so --stage forward --binding scaled.txt
says 'x is f32, and the case has f64'

# A kernel that links the library raises errors there.
cat >library.c <<'C'
#include <stddef.h>
static struct { char header[24]; struct { const char *data; size_t size; } kind, message; } error;
void TVMFFIErrorSetRaised(const char *message, size_t size) {
    error.kind.data = "TypeError";
    error.kind.size = 9;
    error.message.data = message;
    error.message.size = size;
}
void TVMFFIErrorMoveFromRaised(void **result) { *result = &error; }
C
cat >linked.c <<'C'
void TVMFFIErrorSetRaised(const char *message, unsigned long size);
int __tvm_ffi_run(void *self, const void *args, int n, void *result) {
    (void)self, (void)args, (void)n, (void)result;
    TVMFFIErrorSetRaised("no such dtype", 13);
    return -1;
}
C
cc -shared -fPIC library.c -o liblibrary.so -Wl,-soname,liblibrary.so
cc -shared -fPIC linked.c -o linked.so -L. -llibrary -Wl,-rpath,'$ORIGIN'
check 3 n=5 d=33 dtype=f32 --kernel linked.so --stage forward
says '__tvm_ffi_run returned -1: TypeError: no such dtype'

mkdir elsewhere
cc -shared -fPIC linked.c -o without.so -L. -llibrary # as tvm-ffi's own builder links
mv liblibrary.so elsewhere
check 3 n=5 d=33 dtype=f32 --kernel without.so --stage forward
one_line 'without.so: cannot be loaded: liblibrary.so: cannot open shared object file: No such file or directory; link it with -Wl,-rpath,FOLDER, or set LD_LIBRARY_PATH'
LD_LIBRARY_PATH=$PWD/elsewhere check 3 n=5 d=33 dtype=f32 --kernel without.so --stage forward
says '__tvm_ffi_run returned -1: TypeError: no such dtype'

# ---- wrong input ----
check 2 --kernel sum.so
says 'ASSAY_VARIANT names another, or --binding is missing'
check 3 --kernel sum.so --binding missing.toml
says 'missing.toml: no such file'
echo 'forward = row_sum(x' >short.toml
check 2 --kernel sum.so --binding short.toml
says 'short.toml: binding, line 1: expected , or )'
echo 'forward = gone(x)' >gone.toml
check 3 --kernel sum.so --binding gone.toml --stage forward
one_line 'sum.so --binding gone.toml: has no function gone that it exports'
echo 'forward = row_sum(float *x, q.stride, float *w, float *y, x.rows, d)' >unknown.toml
check 2 n=5 d=33 --kernel sum.so --binding unknown.toml --stage forward
one_line 'unknown.toml: row_sum takes q.stride, which weighted_sum has not in forward: it has x w y n d'
echo 'forward = row_sum(float *x, x.stride, float *w, float *dy, x.rows, d)' >backward.toml
check 2 n=5 d=33 --kernel sum.so --binding backward.toml --stage forward
one_line 'backward.toml: row_sum takes dy, which weighted_sum has not in forward'
expect 2 "$assay" check weighted_sum/v1 --device sim --binding sum.toml
says '--binding needs --kernel'
check 2 --kernel sum.so --binding sum.toml --certify
says 'a certificate says nothing of a binding'
head -c 2000 sum.so >damaged.so
expect 3 "$assay" check weighted_sum/mine n=5 d=33 --device sim --kernel damaged.so --binding sum.toml
one_line 'damaged.so: is no whole shared object'
expect 3 "$assay" fuzz weighted_sum/mine --device sim --kernel damaged.so --binding sum.toml --cases 5
one_line 'damaged.so: is no whole shared object'
echo 'void gone(void); void row_sum(void) { gone(); }' >lacking.c
cc -shared -fPIC lacking.c -o lacking.so
echo 'forward = row_sum()' >lacking.toml
check 3 --kernel lacking.so --binding lacking.toml
one_line 'cannot be loaded: undefined symbol: gone'
echo '__attribute__((constructor)) void leave(void) { __builtin_trap(); }' >dying.c
cc -shared -fPIC dying.c -o dying.so
check 3 --kernel dying.so --binding lacking.toml
one_line 'dying.so --binding lacking.toml: its process ended by signal 4'
