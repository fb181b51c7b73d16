#!/usr/bin/env bash
# README's example, as a new user would: ci/build-kernel makes it, assay check passes it, and fails
# it once the kernel forgets the last columns.
set -euo pipefail
assay=$1
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

expect() { # STATUS COMMAND...
    local want=$1 status=0
    shift
    "$@" >log 2>&1 || status=$?
    if [ $status -ne "$want" ]; then
        printf 'exit %d, expected %d: %s\n' $status "$want" "$*"
        cat log
        exit 1
    fi
}

expect 0 "$root/ci/build-kernel" "$root/examples/row_sum.cu"
expect 0 "$assay" check weighted_sum/mine --device sim --kernel ./row_sum.so
grep -q '^[1-9][0-9]* passed, 0 failed, 0 mistrusted, 0 errors' log

sed 's/j < d; ++j)/j + 3 < d; ++j)/' "$root/examples/row_sum.cu" >wrong.cu
! cmp -s wrong.cu "$root/examples/row_sum.cu"
expect 0 "$root/ci/build-kernel" wrong.cu
expect 1 "$assay" check weighted_sum/mine n=5x7 d=33 --device sim --kernel ./wrong.so
grep -q 'fail  mine y' log

# A variant without backward gets a line, not a crash.
sed 's/\.backward = backward/.backward = nullptr/' "$root/examples/row_sum.cu" >half.cu
expect 0 env CXXFLAGS=-Wno-unused-function "$root/ci/build-kernel" half.cu
expect 77 "$assay" check weighted_sum/mine n=5 d=32 --device sim --kernel ./half.so
grep -q 'backward: weighted_sum/mine has no such function' log

expect 2 "$root/ci/build-kernel" missing.cu
grep -q 'missing.cu: no such file' log
