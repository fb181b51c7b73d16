#!/usr/bin/env bash
# host_code_test.sh OBJECT...: no host code of the kernels calls a __device__ function. nvcc lets a
# template do so without a warning, and makes that function's host code end the process by exit();
# no other code of ours calls exit(), so an object that asks for it holds such a call. __device__
# functions are __forceinline__, since at -O0 a plain one keeps its host code though it is unused.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: host_code_test.sh OBJECT..."; exit 2; }
status=0
for object in "$@"; do
    if nm --undefined-only "$object" | grep -w exit >/dev/null; then
        echo "FAILED: $object calls a __device__ function from host code"
        status=1
    fi
done
exit $status
