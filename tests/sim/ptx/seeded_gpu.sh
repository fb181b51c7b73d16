#!/usr/bin/env bash
# What compute-sanitizer says of each seeded defect and of its right twin, on a GPU, as a Markdown
# table: seeded_gpu.sh FOLDER. The folder keeps the programs and what each tool has printed.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tools=(racecheck memcheck initcheck synccheck)
mkdir -p "$1"
cd "$1"

build() { # PROGRAM FLAGS...
    local program=$1
    shift
    nvcc -O3 -std=c++17 -lineinfo -gencode arch=compute_90a,code=sm_90a "$@" -o "$program" "$here/seeded_gpu.cu"
}
build seeded &
build hopper -DOF_HOPPER
wait

# A program that a defect keeps from ending is stopped; the plain run says so as `hangs`.
one() { # PROGRAM NAME TWIN TOOL
    local log=$2.$3.$4.log run=()
    [ "$4" = plain ] || run=(compute-sanitizer --tool "$4" --error-exitcode 9)
    [ ! -e "$log" ] || return 0 # of a run that was cut short
    timeout -k 1 20 "${run[@]}" "./$1" "$2" "$3" >"$log" 2>&1 || echo "exit $?" >>"$log"
}
export -f one
for program in seeded hopper; do
    for name in $(./$program); do
        for tool in "${tools[@]}" plain; do
            echo "$program $name wrong $tool"
            echo "$program $name right $tool"
        done
    done
done | xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one

# What one log says, in a word.
verdict() { # NAME.TWIN.TOOL
    if [ ! -e "$1.log" ]; then
        echo "not run"
    elif grep -qE '^exit (124|137)' "$1.log"; then
        echo hangs
    elif grep -qE 'SUMMARY: [1-9][0-9]* (error|hazard)' "$1.log"; then
        echo found
    elif grep -q '^exit' "$1.log"; then
        echo error
    else
        echo -
    fi
}
echo "| kernel | plain run | racecheck | memcheck | initcheck | synccheck | right twin |"
echo "|---|---|---|---|---|---|---|"
for program in seeded hopper; do
    for name in $(./$program); do
        line="| $name | $(verdict "$name.wrong.plain") |" right=
        for tool in "${tools[@]}"; do
            line+=" $(verdict "$name.wrong.$tool") |"
        done
        for tool in plain "${tools[@]}"; do
            word=$(verdict "$name.right.$tool")
            [ "$word" = - ] || right+=" $tool: $word"
        done
        echo "$line${right:- -} |"
    done
done
