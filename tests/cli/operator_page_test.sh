#!/usr/bin/env bash
# docs/add-an-operator.md, as it stands: its commands are run in order, and its recipes for bounds
# judge the kernels of tests/cli/recipes, right ones and wrong ones.
set -euo pipefail
assay=$(realpath "$1")
tests=$(dirname "$(realpath "$0")")
page=$tests/../../docs/add-an-operator.md
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export TMPDIR=$place ASSAY_CERTIFICATES=$place/certificates
assay() { timeout 120 "$assay" "$@"; }
fail() {
    printf 'FAILED: %s\n' "$*"
    [ -s log ] && tail -25 log
    exit 1
}

# ```sh: commands. ```c FILE: that file.
awk '/^```/ { inside = !inside; file = "/dev/null"
              if (inside && $1 == "```sh") file = "commands"
              if (inside && $1 == "```c" && NF == 2) file = $2
              next }
     inside { print > file }' "$page"
commands=$(wc -l <commands)
[ "$commands" -ge 7 ] || fail "the page has $commands commands"
while read -r line; do
    eval "$line" >log 2>&1 </dev/null || fail "$line"
done <commands
! compgen -G 'assay-*' || fail "files are left behind"

recipe() { # NAME SED-EXPRESSION: of a bug
    cp "$tests/recipes/$1.c" "$tests/recipes/$1.cu" .
    assay check "$1/mine" --operator "$1.c" --kernel "$1.cu" --device sim >log 2>&1 || fail "recipe $1"
    # The bound is near what a right kernel does, in f32: more than a percent of it somewhere.
    awk '/dtype=f32/ && $1 == "pass" && $2 > 0.01 { near = 1 } END { exit !near }' log ||
        fail "$1: its bound is far from what kernels do"
    sed "$2" "$1.cu" >bug.cu
    ! cmp -s bug.cu "$1.cu" || fail "no bug in $1"
    ! assay check "$1/mine" --operator "$1.c" --kernel bug.cu --device sim >log 2>&1 || fail "$1: its bug"
    grep -q '^fail .*dtype=f32' log || fail "$1: its bug is not found in f32"
    grep -q '^fail .*dtype=bf16' log || fail "$1: its bug is not found in bf16"
}
recipe standard 's/squares \/ (float)d/squares \/ (float)(d - 1)/'
recipe product 's/l < k; ++l/l + 1 < k; ++l/'
