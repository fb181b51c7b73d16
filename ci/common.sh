# Sourced by the scripts of ci/, which then run in the root of the tree.
# shellcheck shell=bash
CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
jobs=$(nproc)
export NO_COLOR=1 CLICOLOR=0 GTEST_COLOR=no CTEST_PARALLEL_LEVEL=$jobs CMAKE_BUILD_PARALLEL_LEVEL=$jobs

# OpenBLAS would start a thread for each processor in each process, of which tests start thousands.
export OPENBLAS_NUM_THREADS=1

have() { command -v "$1" >/dev/null 2>&1; }

if ! have nvcc && [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
fi

has_gpu() { have nvidia-smi && [[ $(nvidia-smi -L 2>/dev/null) == *GPU* ]]; }
