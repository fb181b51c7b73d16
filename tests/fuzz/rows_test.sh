#!/usr/bin/env bash
# Cases made up of few different rows, as a user meets them: check, fuzz, the line that shows a
# failure again, and what is refused.
# Usage: rows_test.sh ASSAY PLANTED-FOLDER
set -euo pipefail

assay=$1
planted=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NO_COLOR=1
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE WORDS-IN-OUTPUT ARGUMENTS...
expect() {
    local code=$1 words=$2 output got=0
    shift 2
    output=$("$assay" "$@" 2>&1) || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, not $code: $output"
    case $output in
    *"$words"*) ;;
    *) fail "$*: says nothing of '$words': $output" ;;
    esac
}

short=(weighted_sum/writes_wrapped --kernel "$planted/large.so" --device sim)

expect 0 "1000 rows of 16 kinds" check rmsnorm/v1 n=1000 d=24 --rows 16 --device sim
expect 3 "left y unwritten, first at (64)" check "${short[@]}" n=2000 d=16 --rows 8
expect 0 "20 cases" fuzz swiglu --rows 8 --cases 20 --device sim --jobs 1
expect 1 " --rows 8 --device sim" fuzz "${short[@]}" --rows 8 --cases 60 --jobs 1 --first \
    --findings "$scratch/f.h5"

# The line that it printed shows it again.
again=$("$assay" fuzz "${short[@]}" --rows 8 --cases 60 --jobs 1 --first |
    sed -n 's/^  again *assay //p') || true
read -ra words <<<"$again"
[ "${#words[@]}" -gt 4 ] || fail "no line to run again: $again"
expect 3 "unwritten" "${words[@]}"

expect 2 "depend on each other" fuzz cross_entropy --rows 8 --device sim --cases 5
expect 77 "--big is for a GPU" fuzz rmsnorm --big --device sim --cases 5
expect 2 "--big and --corpus" fuzz rmsnorm --big --corpus "$scratch" --device sim
expect 2 "--certify and --rows" check rmsnorm --certify --rows 8 --device sim
expect 2 "1..4096" check rmsnorm n=9 d=4 --rows 0 --device sim
expect 2 "one number for n" check rmsnorm n=3x3 d=4 --rows 2 --device sim
expect 2 "dtype=f32 seed=0 --device sim --rows 2" check rmsnorm n=3x3 d=4 --rows 2 --device sim
expect 3 "GiB of host memory" check adamw/v3 n=1000000000000 --rows 8 --device sim

[ "$failures" = 0 ]
