#!/usr/bin/env bash
# assay check by default: a race, an access out of bounds and a read of unwritten shared memory are
# errors of kernels whose numbers are all right. The guests have such kernels in place of ours.
# Usage: wrong_test.sh ASSAY GUEST RECORDED-GUEST FILE: the same kernels as a recorded kernel file
set -euo pipefail
assay=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
file=$(realpath "$4")
tree=$(dirname "$assay")/..
sed -e "s|^assay_guest .*|assay_guest $(realpath "$2")|" \
    -e "s|^assay_recorded_guest .*|assay_recorded_guest $(realpath "$3")|" \
    "$tree/assay-places.txt" >"$place/assay-places.txt"
export ASSAY_TREE=$place NO_COLOR=1

failures=0
check() { # STATUS TEXT WORDS...
    local want=$1 text=$2 status=0
    shift 2
    "$assay" check weighted_sum/v3 --stage forward --device sim "$@" \
        >"$place/log" 2>&1 </dev/null || status=$?
    if [ $status -ne "$want" ] || ! tr -s '\n ' ' ' <"$place/log" | grep -F -- "$text" >/dev/null; then
        failures=$((failures + 1))
        printf 'FAILED: exit %d, not %d, or not "%s": %s\n' $status "$want" "$text" "$*"
        cat "$place/log"
    fi
}
finds() { # ROWS TEXT: by default, and it is the recorder alone that does
    check 3 "$2" n="$1" d=7
    check 3 "its accesses were recorded: forward: weighted_sum.cu:" n="$1" d=7
    check 0 '1 passed' n="$1" d=7 --no-race
}
check 0 '1 passed' n=1 d=7
check 0 '1 passed' n=7 d=7
finds 2 'race in sum_row: __shared__ first'
finds 3 'out of bounds in sum_row: global memory: block (0,0,0) thread (0,0,0) reads 4 bytes, 0 behind a row of a tensor'
finds 4 'out of bounds in sum_row: shared memory: block (0,0,0) thread (63,0,0) reads 4 bytes, 0 behind the end of second'
finds 5 'uninitialised shared memory in sum_row: __shared__ first'
finds 6 'shared memory exceeded in sum_row: shared memory, bytes 256 to 259'
# A large case is recorded where that is asked for.
check 3 'race in' n=2 d=40000 --race
check 3 'shared memory: block (0,0,0) thread (63,0,0) reads 4 bytes, 0 behind the end of second;' n=4 d=7 --kernel "$file"
check 3 'forward: weighted_sum.cu:' n=2 d=7 --kernel "$file" --no-sandbox
check 0 '1 passed' n=7 d=7 --kernel "$file"
exit $((failures > 0))
