#!/usr/bin/env bash
# Three real ranks of assay fuzz under mpirun. Usage: mpirun_test.sh ASSAY PLANTED-FOLDER
set -uo pipefail

assay=$1
planted=$2
command -v mpirun >/dev/null 2>&1 || {
    echo "skipped: there is no mpirun here; ci/setup test installs Debian's OpenMPI"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NO_COLOR=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0
fail() {
    echo "FAILED: $*"
    sed 's/^/  /' "$scratch/out"
    failures=$((failures + 1))
}
bug=(weighted_sum/crashes_wide --kernel "$planted/weighted_sum.so" --device sim --jobs 1 --seed 2)
findings=$scratch/f.h5

# ranks ARGUMENTS...: three of them; --quiet keeps mpirun's own words about the exit code back.
ranks() {
    mpirun --quiet --oversubscribe -np 3 "$assay" fuzz "${bug[@]}" --findings "$findings" "$@" \
        >"$scratch/out" 2>&1
}

ranks --cases 96
[ $? -eq 1 ] || fail "findings do not exit 1"
grep -q '^rank 2 of 3: 32 cases' "$scratch/out" || fail "rank 2 did not judge its 32 cases"
tail -1 "$scratch/out" | grep '^96 cases .* finding' >/dev/null || fail "the summary is not the last line"
[ -s "$findings" ] || fail "no findings were written"
[ ! -e "$findings.ranks" ] || fail "the folder of the ranks is left"

# Aborted: mpirun hands the signal on.
ranks --time 600 &
pid=$!
for _ in $(seq 300); do
    [ -e "$findings.ranks/rank-2.state" ] && break
    sleep 0.1
done
sleep 1
pkill -TERM -P "$pid" mpirun
wait "$pid"
for _ in $(seq 50); do
    [ -e "$findings.ranks" ] || break
    sleep 0.1
done
[ ! -e "$findings.ranks" ] || fail "an aborted campaign left $(ls "$findings.ranks")"
exit $((failures > 0))
