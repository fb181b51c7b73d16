#!/usr/bin/env bash
# assay profile on the simulated device, from outside. In the build that records accesses: the
# counters of some variants are those of counters.txt, a change of which is a change of how kernels
# use memory. In any other: which build takes over, and the line when none can.
# Usage: profile_test.sh PATH-OF-ASSAY [--write: prints counters.txt anew]
set -uo pipefail
assay=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export NO_COLOR=1 ASSAY_RECORDED_PROGRAM=$folder/absent

failures=0
fault() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
    [ -s out ] && head -5 out | sed 's/^/  stdout: /'
    [ -s err ] && head -5 err | sed 's/^/  stderr: /'
}
run() { # CODE WORDS...
    local want=$1 got
    shift
    "$assay" profile "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$want" ] || fault "assay profile $*: exit $got, not $want"
}
says() { grep -qF -- "$2" "$1" || fault "$1 does not say: $2"; }
refuses() { # CODE TEXT WORDS...
    run "$1" "${@:3}"
    says err "$2"
    [ "$(wc -l <err)" -eq 1 ] || fault "assay profile ${*:3}: $(wc -l <err) lines of error, not 1"
    [ ! -s out ] || fault "assay profile ${*:3}: wrote to standard output"
}

# Variants whose accesses gcc and clang leave as the source has them.
cases=(
    'weighted_sum/v1 n=64 d=128' 'weighted_sum/v3 n=64 d=128'
    'rmsnorm/v1 n=16 d=256' 'rmsnorm/v3 n=16 d=256'
    'swiglu/v3 n=16 d=64 dtype=bf16' 'adamw/v3 n=1000' 'rope/v3 b=1 h=2 s=16 d=64'
    'embedding/v1 t=64 v=32 d=64' 'embedding/v3 t=64 v=32 d=64'
    'matmul_accumulate/v1 m=32 n=32 k=32' 'matmul_accumulate/v3 m=64 n=64 k=64'
    'matmul_accumulate/v3 m=64 n=64 k=64 dtype=bf16' 'matmul_accumulate/v3 m=256 n=128 k=32'
    'matmul_accumulate/v3_hopper m=128 n=256 k=128 dtype=bf16'
    'matmul_accumulate/v3_hopper m=136 n=220 k=64 ta=1 dtype=f64'
    'matmul_accumulate/v3_hopper m=136 n=250 k=64 tb=1 dtype=f64'
    'matmul_accumulate/v3_hopper m=128 n=256 k=128 tb=1 dtype=f32 math=tf32'
    'linear/v3 m=8 n=16 k=32' 'linear/v3_hopper m=128 n=256 k=128 dtype=bf16'
    'kronecker/v1 b=2 f=32x32'
)
# A line for each launch, with the counters that are not 0.
counters() {
    local words
    echo '# What launches ask of memory, counted; tests/bench/profile_test.sh ASSAY --write makes it anew.'
    for words in "${cases[@]}"; do
        printf '\n%s\n' "$words"
        # shellcheck disable=SC2086 # words are words
        "$assay" profile $words --device sim --csv - 2>err | tr -d '\r' | awk -F, '
            NR == 1 { n = split($0, name) ; next }
            {
                kernel = $0
                for (i = 1; i < n; ++i) sub(/^[^,]*,/, "", kernel)
                gsub(/"/, "", kernel)
                printf "  %s %s %sx%sx%s %sx%sx%s", $2, kernel, $3, $4, $5, $6, $7, $8
                for (i = 9; i < n; ++i) if ($i != 0) printf " %s=%s", name[i], $i
                print ""
            }'
        [ "${PIPESTATUS[0]}" -eq 0 ] || { cat err; return 1; }
    done
}
if [ "${2:-}" = --write ]; then
    counters
    exit
fi

refuses 2 'name one variant and its case' weighted_sum n=3 d=5 --device sim
refuses 2 'name one variant and its case' weighted_sum/v1 --device sim
refuses 2 'profile takes one case, and these words name 2' weighted_sum/v1 n=3 d=5,6 --device sim
refuses 2 'two reports would go to x' weighted_sum/v1 n=3 d=5 --json x --trace x

# Which build this is shows in whether it needs another program.
"$assay" profile weighted_sum/v1 n=3 d=5 --device sim >/dev/null 2>&1 </dev/null
if [ $? -eq 77 ]; then
    refuses 77 'needs the program assay_recorded' weighted_sum/v1 n=3 d=5 --device sim
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nprintf "%%s|" "$@"\nexit 5\n' >race
    chmod +x race
    ASSAY_RECORDED_PROGRAM=$folder/race run 5 weighted_sum/v1 n=64 'd=128' --device sim \
        --seed 7 --time-limit 2.5 --trace 'a b'
    says out 'profile|weighted_sum/v1|n=64|d=128|--device|sim|--trace|a b|--seed|7|--time-limit|2.5|'
    printf 'no program\n' >race
    ASSAY_RECORDED_PROGRAM=$folder/race refuses 3 'cannot be started' weighted_sum/v1 n=3 d=5 --device sim
    exit $((failures > 0))
fi

counters >got || fault "counting failed"
if ! diff "$here/counters.txt" got >difference; then
    head -20 difference
    fault "other counters than tests/bench/counters.txt; if that is meant: profile_test.sh --write"
fi

run 0 weighted_sum/v1 n=64 d=128 --device sim --json out.json --trace trace.json
# Forward: lanes walk 32 rows, each load of x in 32 sectors; 2 warps, 128 steps; w is one for all.
says out '      loads             512   32.0  65536     8448  16.50    2.50   6.60'
says out '8.07 times what the operator cannot do without'
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || fault "the files do not say what they should"
import json
profile, trace = json.load(open("out.json")), json.load(open("trace.json"))
assert [k["kernel"] for k in profile["launches"]] == ["sum_row<T>", "grad_x<T>", "grad_w<T>"]
assert profile["kernels"][0]["global_load_sectors"] == 2 * 128 * (32 + 1)
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
assert [e["ts"] for e in events] == [0, 1, 2] and {e["dur"] for e in events} == {1}
assert events[0]["args"]["global_load_requests"] == 512
PYTHON
fi

# A case that proves nothing, or cannot run, is not profiled.
refuses 4 'refused: weighted_sum/v1 n=0 d=5 dtype=f32 seed=0 on sim: mistrusted: y: nothing' \
    weighted_sum/v1 n=0 d=5 --device sim --json no.json
[ ! -e no.json ] || fault "a refused profile left a file"
refuses 77 'has no stand-in' attention/v2_cudnn b=1 h=1 sq=16 d=16 --device sim
exit $((failures > 0))
