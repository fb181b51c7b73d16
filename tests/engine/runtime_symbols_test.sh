#!/usr/bin/env bash
# A kernel file may use all of the simulated device's runtime: one that names every function and
# variable of it is loaded, and passes.
# Usage: runtime_symbols_test.sh ASSAY RUNTIME-OBJECT...
set -euo pipefail
assay=$1
shift
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# Those of the runtime's own, in C; a table of their addresses needs them all when it is loaded.
# Beside them what kernels call of include/assay: parameters, element types, data, errors.
public='params_find|params_int|dtype_[a-z_]*|rng_[a-z_]*|philox4x32|fail|fail_as|error|error_failure'
{
    nm -g --defined-only "$@" | awk 'NF == 3 && $2 ~ /[TDBR]/ && $3 !~ /^_/ { print $3 }'
    cat "$root"/include/assay/{case,dtype,rng,status}.h |
        sed -nE "s/^[a-z].*[ *](assay_($public))\\(.*/\\1/p"
} | sort -u | grep -v -e '^main$' >symbols
grep -qx assay_params_int symbols
[ "$(wc -l <symbols)" -ge 100 ] || { echo "FAILED: $(wc -l <symbols) symbols only"; exit 1; }
grep -qx sim_atomic_add_f32 symbols
{
    echo 'asm(".section .data\n.balign 8\n"'
    sed 's/.*/    ".quad &\\n"/' symbols
    echo '    ".previous\n");'
} >all.h
CXXFLAGS="-include $place/all.h" "$assay" build "$root/examples/row_sum.cu" --device sim >/dev/null
"$assay" check weighted_sum/mine n=5 d=33 dtype=f32 --device sim --kernel row_sum.so

# And a symbol that there is not is missed, in one line.
sed -i '1a     ".quad sim_no_such_thing\\n"' all.h
CXXFLAGS="-include $place/all.h" "$assay" build "$root/examples/row_sum.cu" --device sim >/dev/null
status=0
"$assay" check weighted_sum/mine n=5 d=33 dtype=f32 --device sim --kernel row_sum.so 2>out || status=$?
[ $status -eq 3 ] && grep -q 'undefined symbol: sim_no_such_thing' out

# Shared memory of a template, in a file that assay itself compiles: NaN before it is written.
"$assay" build "$root/tests/exploits/results.cu" --device sim >/dev/null
status=0
"$assay" check weighted_sum/reads_early n=6 d=40 dtype=f32 --device sim --kernel results.so >out ||
    status=$?
[ $status -eq 1 ] && grep -q 'got  *nan' out
