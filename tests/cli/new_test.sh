#!/usr/bin/env bash
# assay new and assay build: each operator's file passes as it is written, three bugs in one are
# found, and wrong words, files and compilers get one line.
set -euo pipefail
# shellcheck source=tests/cli/expect.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/expect.sh"

# Every operator has one; compiling takes a while, so that only some are.
for op in $("$assay" list --json - 2>/dev/null | sed -nE 's/^\{"name": "([a-z0-9_]+)".*/\1/p'); do
    if [ "$op" = transformer ]; then
        expect 77 "$assay" new "$op/mine"
        says 'is a composition'
        continue
    fi
    expect 0 "$assay" new "$op/mine" --out "$op.cu"
    says "assay check $op/mine --kernel $op.cu"
    ! grep 'include "kernels/' "$op.cu" | grep -v '"kernels/common/' 
done
[ -e rmsnorm.cu ] && [ -e attention.cu ]
for op in weighted_sum embedding adamw; do
    expect 0 "$assay" check $op/mine --kernel $op.cu --device sim
    says '0 failed, 0 mistrusted, 0 errors'
done

expect 0 "$assay" new rmsnorm/mine
says 'wrote mine.cu'
expect 0 "$assay" build mine.cu --device sim
says '-shared'
says 'assay check OP/NAME --kernel ./mine.so'
expect 0 "$assay" check rmsnorm/mine n=3 d=33 --kernel ./mine.so --device sim
bug() { # SED-EXPRESSION VERDICT
    sed "$1" mine.cu >bug.cu
    ! cmp -s mine.cu bug.cu
    expect 1 "$assay" check rmsnorm/mine n=3 d=33 dtype=f32 --kernel bug.cu --device sim
    says "$2"
    says 'reproduce: assay check rmsnorm/mine n=3 d=33 dtype=f32 seed=0 --device sim --kernel bug.cu'
}
bug 's/j < d; ++j)/j + 1 < d; ++j)/' 'fail mine y'
bug 's/sum = fma_(widen(dy.row(i)\[j\]), widen(h.row(i)\[j\]) \* inverse\[i\], sum);/sum += widen(dy.row(i)[j]);/' \
    'fail mine dw'
bug 's/widen(h.row(i)\[j\]) \* inverse\[i\] \* widen(w\[j\])/widen(h.row(i)[j]) * inverse[i]/' 'fail mine y'
compgen -G 'assay-kernel-*' && exit 1 # nothing is left behind

# A source and a certificate: the object is the same each time.
export ASSAY_CERTIFICATES=$place/certificates
expect 0 "$assay" check rmsnorm/mine --kernel mine.cu --device sim --certify
expect 0 "$assay" certificate verify rmsnorm/mine --kernel mine.cu --device sim
expect 4 "$assay" certificate verify rmsnorm/mine --kernel bug.cu --device sim

expect 2 "$assay" new rmsnorm
says "name the kernel, as in rmsnorm/mine"
expect 2 "$assay" new rmsnorm/mine
says 'is there already'
expect 2 "$assay" new rmsnorm/../x
expect 2 "$assay" new rmsnrom/mine
says 'the nearest is rmsnorm'
expect 2 "$assay" build
expect 3 "$assay" build missing.cu
says 'missing.cu: no such file'
echo 'not C' >wrong.cu
expect 3 "$assay" check rmsnorm/mine --kernel wrong.cu --device sim
says 'does not compile it: its process'
echo 'void f() { g<<<1, 2>>>(); } // ASSAY_VARIANT is not there' >launch.cu
expect 77 env NVCC=./no-such-nvcc "$assay" build launch.cu --device sim
says 'it compiles launch.cu: install it, or name another with $NVCC'
sed 's,//,,' launch.cu >ours.cu
expect 77 "$assay" build ours.cu --device sim
says 'launches with <<<...>>>'
echo '// g<<<1, 2>>>()' >comment.cu
expect 0 "$assay" build comment.cu --device sim
expect 77 env CXX=./no-such-compiler "$assay" build mine.cu --device sim
says 'no-such-compiler'
