#!/usr/bin/env bash
# Ranks of assay fuzz that die, give up, or are slow: rank 0 goes on with their shares, and the
# findings are those of ranks that all live. Usage: ranks_test.sh ASSAY PLANTED-FOLDER
set -euo pipefail

assay=$1
planted=$2
scratch=$(mktemp -d)
slow=""
trap '[ -z "$slow" ] || kill -KILL "$slow" 2>/dev/null; rm -rf "$scratch"' EXIT
export NO_COLOR=1
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

bug=(weighted_sum/crashes_wide --kernel "$planted/weighted_sum.so" --device sim --jobs 1 --seed 2)
findings=$scratch/f.h5
folder=$findings.ranks

# rank I ARGUMENTS...: rank I of 3.
rank() {
    OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=3 "$assay" fuzz "${bug[@]}" --findings "$findings" \
        "${@:2}" 2>&1
}
# What was run and found, without how long it took.
sums() { sed -nE 's/^([0-9]+ cases) in [^;]*;/\1;/p; s/^  smallest/&/p' "$1" | sort; }
# first EXIT ARGUMENTS...: rank 0 to its end, its words in $scratch/out.
first() {
    local got=0
    rank 0 "${@:2}" >"$scratch/out" || got=$?
    [ "$got" = "$1" ] || fail "rank 0: exit $got, not $1: $(cat "$scratch/out")"
}
says() { grep -q "$1" "$scratch/out" || fail "$2: does not say '$1': $(cat "$scratch/out")"; }

# All live: what the others are compared with. The smallest case is found by one of them, which
# tells it itself; the sum counts it.
rank 2 --cases 96 >"$scratch/2" || true
rank 1 --cases 96 >"$scratch/1" || true
first 1 --cases 96
says "^96 cases" "all live"
sums "$scratch/out" | grep cases >"$scratch/all"

# Dead from its 21st case on: rank 0 goes on behind the 20th, from the state that it left.
"$assay" fuzz "${bug[@]}" --shard 2/3 --cases 60 --resume "$scratch/left" >"$scratch/part" 2>&1 || true
rank 2 --cases 96 >"$scratch/2" || true
cp "$scratch/left" "$folder/rank-1.state"
touch -d '10 minutes ago' "$folder/rank-1.state"
first 1 --cases 96
says "rank 1 of 3: no word from it; rank 0 goes on with its share behind 20 cases" "dead"
sums "$scratch/out" | grep cases | diff - "$scratch/all" >"$scratch/diff" ||
    fail "dead: not what living ranks find: $(cat "$scratch/diff")"
[ ! -e "$folder" ] || fail "dead: the folder is left"

# It gave up before it left any state, and the other one left a damaged one.
mkdir "$folder"
touch "$folder/rank-1.lost"
head -c 100 "$scratch/left" >"$folder/rank-2.state"
touch -d '10 minutes ago' "$folder/rank-2.state"
first 1 --cases 96
says "rank 1 of 3: gave up; rank 0 goes on with its share behind 0 cases" "gave up"
says "rank 2 of 3: no word from it; rank 0 goes on with its share behind 0 cases" "damaged"
sums "$scratch/out" | grep cases | diff - "$scratch/all" >"$scratch/diff" ||
    fail "gave up: not what living ranks find: $(cat "$scratch/diff")"

# No time is left: named, with the command that runs it, and what it found is kept.
mkdir "$folder"
touch "$folder/rank-2.lost" "$folder/rank-1.lost"
first 3 --cases 1000000000 --time 0.2 d=1
says "rank 1 of 3: gave up; its share is not run to its end: assay fuzz with --shard 2/3" "no time"
says "rank 2 of 3: gave up; its share is not run to its end: assay fuzz with --shard 3/3" "no time"

# slow_rank: rank 1, stopped where it has only begun.
slow_rank() {
    OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 "$assay" fuzz "${bug[@]}" --findings "$findings" \
        --cases 96 >"$scratch/slow" 2>&1 &
    slow=$!
    while [ ! -e "$folder/rank-1.state" ]; do sleep 0.01; done
    kill -STOP "$slow"
    touch -d '10 minutes ago' "$folder/rank-1.state"
}
# back WHEN: it goes on, and hears that rank 0 has done so, too.
back() {
    kill -CONT "$slow"
    wait "$slow" || fail "$1: exit $?"
    slow=""
    grep -q "rank 0 has continued without it" "$scratch/slow" || fail "$1: $(cat "$scratch/slow")"
}

# Slow: taken over, and back when all is over.
rank 2 --cases 96 >"$scratch/2" || true
slow_rank
first 1 --cases 96
says "rank 1 of 3: no word from it" "slow"
sums "$scratch/out" | grep cases | diff - "$scratch/all" >"$scratch/diff" ||
    fail "slow: not what living ranks find: $(cat "$scratch/diff")"
sum=$(sha256sum "$findings")
back "back when all is over"
[ ! -e "$folder" ] || fail "slow: it left files behind"
[ "$sum" = "$(sha256sum "$findings")" ] || fail "slow: it changed the findings"

# Slow, and back while rank 0 is at its share: two would run it.
slow_rank
cp "$scratch/left" "$folder/rank-1.taken"
back "back meanwhile"
[ ! -e "$folder/rank-1.done" ] || fail "back meanwhile: it left a last word"

# Slow, and through with its share before rank 0 is: counted once.
rm "$folder"/*
"$assay" fuzz "${bug[@]}" --shard 2/3 --cases 96 --resume "$scratch/left" >"$scratch/part" 2>&1 || true
rank 2 --cases 96 >"$scratch/2" || true
touch "$folder/rank-1.lost"
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 "$assay" fuzz "${bug[@]}" --findings "$findings" \
    --cases 96 >"$scratch/out" 2>&1 &
zero=$!
while [ ! -e "$folder/rank-1.taken" ]; do sleep 0.01; done
cp "$scratch/left" "$folder/rank-1.done"
wait "$zero" || true
sums "$scratch/out" | grep cases | diff - "$scratch/all" >"$scratch/diff" ||
    fail "back in time: not what living ranks find: $(cat "$scratch/diff")"

# Each rank resumes from a file of its own.
for cases in 30 60; do
    rank 2 --cases $cases --resume "$scratch/again" >"$scratch/2" || true
    rank 1 --cases $cases --resume "$scratch/again" >"$scratch/1" || true
    got=0
    rank 0 --cases $cases --resume "$scratch/again" >"$scratch/out" || got=$?
    says "^$cases cases" "resumed"
    ! grep "gave up" "$scratch/out" || fail "resumed: rank 1 could not: $(cat "$scratch/1")"
done

# Each rank its GPU: here there is none of that number, but the choice comes first.
SLURM_LOCALID=3 CUDA_VISIBLE_DEVICES=40,60 "$assay" fuzz rope --device cuda --verbose --cases 1 \
    >"$scratch/out" 2>&1 && fail "runs on a GPU that there is not"
says "^CUDA_VISIBLE_DEVICES=60" "GPU"

exit $((failures > 0))
