#!/usr/bin/env bash
# assay fuzz as a user meets it: exit codes, files, wrong input, an interrupt, several ranks.
# Usage: cli_test.sh ASSAY PLANTED-FOLDER
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
    output=$("$assay" fuzz "$@" 2>&1) || got=$?
    [ "$got" = "$code" ] || fail "fuzz $*: exit $got, not $code: $output"
    case $output in
    *"$words"*) ;;
    *) fail "fuzz $*: says nothing of '$words': $output" ;;
    esac
}

wsum=(weighted_sum/v1 --device sim --jobs 1)
bug=(weighted_sum/crashes_wide --kernel "$planted/weighted_sum.so" --device sim)

# What works.
expect 0 "20 cases" "${wsum[@]}" --cases 20
expect 0 "finding" "${wsum[@]}" n=4 d=5 dtype=f32 seed=0
expect 1 "smallest  weighted_sum n=none d=4097 dtype=f32 seed=0" "${bug[@]}" --cases 96 --seed 2 \
    --jobs 2 --findings "$scratch/f.h5" --corpus "$scratch"
[ "$(head -c 4 "$scratch/f.h5" | tail -c 3)" = HDF ] || fail "the findings are no HDF5 file"
grep -qx "weighted_sum n=none d=4097 dtype=f32 seed=0" "$scratch/weighted_sum.txt" ||
    fail "the corpus lacks the case"

# The last line of a finding whose guest died names the variant and the case, and shows the crash
# again when it is typed: for a case that was drawn and shrunk, and for one that was named.
retype() { # EXPECTED-WORDS FUZZ-ARGUMENTS...
    local expected=$1 output line words got=0
    shift
    output=$("$assay" fuzz "$@" 2>&1) || true
    line=$(sed -n 's/^  again     assay //p' <<<"$output" | sort -u)
    [ "$line" = "$expected" ] || fail "fuzz $*: to be typed again: '$line', not '$expected'"
    read -ra words <<<"$line"
    output=$("$assay" "${words[@]}" 2>&1) || got=$?
    [ "$got" = 3 ] || fail "assay $line: exit $got, not 3: $output"
    grep -q "its process ended by signal" <<<"$output" || fail "assay $line: no crash: $output"
}
crash="check weighted_sum/crashes_wide n=none d=4097 dtype=f32 seed=0 --device sim"
crash+=" --kernel $planted/weighted_sum.so"
retype "$crash" "${bug[@]}" --cases 96 --seed 2 --jobs 1 --first
retype "${crash/n=none d=4097/n=3 d=5000}" "${bug[@]}" n=3 d=5000 dtype=f32 seed=0 --jobs 1

# Float atomics: undeclared, a finding of fuzz and of check; declared, of neither.
sums="n=3 d=300 dtype=f32 seed=1"
for order in atomic declared; do
    got=0
    read -ra words <<<"check weighted_sum/$order $sums --device sim --kernel $planted/atomic.so"
    output=$("$assay" "${words[@]}" 2>&1) || got=$?
    [ "$order" = declared ] && wanted=0 || wanted=1
    [ "$got" = "$wanted" ] || fail "${words[*]}: exit $got, not $wanted: $output"
    [ "$order" = declared ] || grep -q "not the same bits in two runs: y(" <<<"$output" ||
        fail "${words[*]}: says nothing of bits: $output"
    read -ra words <<<"weighted_sum/$order --kernel $planted/atomic.so --device sim dtype=f32"
    [ "$order" = declared ] && found="0 findings" || found="unequal weighted_sum/atomic determinism"
    expect "$wanted" "$found" "${words[@]}" --cases 96 --seed 1 --jobs 1
done

expect 2 "names another" weighted_sum/no_such --kernel "$planted/weighted_sum.so" --device sim

# A campaign in two parts.
expect 0 "30 cases" "${wsum[@]}" --cases 30 --resume "$scratch/state"
expect 0 "50 cases" "${wsum[@]}" --cases 50 --resume "$scratch/state"
expect 2 "another campaign" "${wsum[@]}" --cases 50 --seed 9 --resume "$scratch/state"
printf 'x' >>"$scratch/state"
expect 3 "not a complete state" "${wsum[@]}" --cases 60 --resume "$scratch/state"

# What cannot be.
expect 2 "unknown operator" weighted_sun --cases 5
expect 2 "variant" weighted_sum/v9 --cases 5
expect 2 "--jobs \"0\"" "${wsum[@]:0:3}" --jobs 0
expect 2 "--cases \"x\"" "${wsum[@]}" --cases x
expect 2 "must be a number in 1..256" weighted_sum --device sim --jobs 1000
expect 2 "n=\"-1\"" "${wsum[@]}" n=-1 --cases 5
expect 2 "seed" "${wsum[@]}" n=4 d=5 seed=0 --seed 3
expect 3 "cannot be written" "${wsum[@]}" --cases 5 --resume "$scratch/none/state"
expect 3 "none/f.h5" "${wsum[@]}" --cases 5 --findings "$scratch/none/f.h5"
expect 3 "is not a folder" "${wsum[@]}" --cases 5 --corpus "$scratch/none"
expect 3 "no case could be checked" "${wsum[@]}" n=1000000x1000000000 d=3 dtype=f32 seed=0
expect 3 "none.so" weighted_sum/x --kernel "$scratch/none.so" --device sim --cases 5

# A variant's results are judged again from the findings, in each format; forward alone, too.
cat >"$scratch/sum.c" <<'C'
void row_sum(const float *x, const float *w, float *y, int rows, int d) {
    for (int i = 0; i < rows; ++i) {
        y[i] = 0;
        for (int j = 0; j + 1 < d; ++j)
            y[i] += x[i * d + j] * w[j];
    }
}
C
echo 'forward = row_sum(float *x, float *w, float *y, int x.rows, int d)' >"$scratch/sum.toml"
cc -shared -fPIC "$scratch/sum.c" -o "$scratch/sum.so"
sums=(weighted_sum/mine --kernel "$scratch/sum.so" --binding "$scratch/sum.toml" --device sim
    --layout packed --stage forward n=3 d=5,7 dtype=f32 seed=2 --jobs 1)
for end in h5 npz safetensors; do
    output=$("$assay" fuzz "${sums[@]}" --findings "$scratch/sums.$end") || true
    words=$(sed -n '/^  smallest  /{s///p;q}' <<<"$output")
    [ -n "$words" ] || fail "fuzz ${sums[*]}: no finding: $output"
    got=0
    output=$("$assay" judge $words --got "$scratch/sums.$end:1" --device sim --stage forward) || got=$?
    [ "$got" = 1 ] || fail "judge $words, sums.$end: exit $got: $output"
done

# An interrupt ends it with its summary and its state.
"$assay" fuzz "${wsum[@]}" --time 60 --resume "$scratch/cut" >"$scratch/out" 2>&1 &
sleep 1.5
kill -INT $!
got=0
wait $! || got=$?
[ "$got" = 130 ] || fail "interrupted: exit $got"
grep -q "interrupted after" "$scratch/out" || fail "interrupted: no summary"
grep -q "^seal " "$scratch/cut" || fail "interrupted: no state"

# Three ranks, as mpirun starts them.
for rank in 2 1; do
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=3 "$assay" fuzz "${bug[@]}" --jobs 1 \
        --cases 288 --seed 2 --findings "$scratch/r.h5" >"$scratch/rank$rank" 2>&1 || true
done
got=0
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 "$assay" fuzz "${bug[@]}" --jobs 1 --cases 288 \
    --seed 2 --findings "$scratch/r.h5" >"$scratch/rank0" 2>&1 || got=$?
[ "$got" = 1 ] || fail "ranks: exit $got: $(cat "$scratch/rank0")"
grep -q "^288 cases" "$scratch/rank0" || fail "ranks: not all cases: $(tail -1 "$scratch/rank0")"
[ -s "$scratch/r.h5" ] || fail "ranks: no merged findings"
[ ! -e "$scratch/r.h5.ranks" ] || fail "ranks: their folder is left"

exit $((failures > 0))
