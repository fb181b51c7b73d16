#!/usr/bin/env bash
# README's example, as a new user would: assay build makes it, assay check passes it, and fails
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

expect 0 "$assay" build "$root/examples/row_sum.cu" --device sim
expect 0 "$assay" check weighted_sum/mine --device sim --kernel ./row_sum.so
grep -q '^[1-9][0-9]* passed, 0 failed, 0 mistrusted, 0 errors' log

sed 's/j < d; ++j)/j + 3 < d; ++j)/' "$root/examples/row_sum.cu" >wrong.cu
! cmp -s wrong.cu "$root/examples/row_sum.cu"
expect 0 "$assay" build wrong.cu --device sim
expect 1 "$assay" check weighted_sum/mine n=5x7 d=33 --device sim --kernel ./wrong.so
grep -q 'fail  mine y' log

# A variant without backward gets a line, not a crash.
sed 's/\.backward = backward/.backward = nullptr/' "$root/examples/row_sum.cu" >half.cu
expect 0 env CXXFLAGS=-Wno-unused-function "$assay" build half.cu --device sim
expect 77 "$assay" check weighted_sum/mine n=5 d=32 --device sim --kernel ./half.so
grep -q 'backward: weighted_sum/mine has no such function' log
grep -q 'give --stage forward' <(tr -s '\n ' ' ' <log)

# Judged forward, it passes, and every word of that says so.
export ASSAY_CERTIFICATES=$place/certificates
half="weighted_sum/mine --device sim --kernel ./half.so --stage forward"
expect 0 "$assay" check $half n=5 d=32
grep -q 'mine pass   (forward only)' log
expect 0 "$assay" check $half --layout packed --certify --json r.json --junit r.xml
grep -q 'forward only, packed tensors only$' log
grep -q '"verdict": "pass".*"stages": "forward", "layout": "packed"}' r.json
grep -q '<property name="stage" value="forward"/>' r.xml
grep -q 'pad=' r.json && exit 1
expect 0 "$assay" certificate verify $half --layout packed
expect 4 "$assay" certificate verify $half
expect 4 "$assay" certificate verify --device sim
grep -q 'sim has no weighted_sum/mine; is it in a file? name it with --kernel' log
expect 4 "$assay" certificate verify weighted_sum/mine --device sim --kernel ./half.so
expect 0 "$assay" fuzz $half --layout packed --cases 20
grep -q 'packed tensors only$' log
"$assay" bench $half n=8 d=16 >log 2>&1 || true # its time may be refused on a busy machine
! grep -q 'not proven' log
expect 4 "$assay" bench weighted_sum/mine --device sim --kernel ./half.so n=8 d=16
sed 's/j < d; ++j)/j + 3 < d; ++j)/' half.cu >short.cu
expect 0 env CXXFLAGS=-Wno-unused-function "$assay" build short.cu --device sim
expect 1 "$assay" check weighted_sum/mine n=5 d=33 --device sim --kernel ./short.so --stage forward
grep -q 'reproduce: .* --stage forward --device sim --kernel ./short.so' log
expect 2 "$assay" check weighted_sum --stage backward
expect 2 "$assay" check weighted_sum --layout packed n=3 pad=3
expect 0 "$assay" check adamw/v1 --device sim --stage forward --quiet

expect 3 "$assay" build missing.cu --device sim
grep -q 'missing.cu: no such file' log
