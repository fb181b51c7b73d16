#!/usr/bin/env bash
# bench/peers on the CPU (peers_test.py); exit 77 where there is no PyTorch, after a look at how an
# arm says so.
#     peers_test.sh [--part I/N] ASSAY [LIBTORCH_ARM [ARM...]]
# LIBTORCH_ARM is a program, or empty; ARM `all` is every one, which takes minutes.
set -euo pipefail
export OMP_NUM_THREADS=1 # its tensors are small, and a thread for each processor would wait for others
source_root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
python=${ASSAY_PYTHON:-python3}

if ! command -v "$python" >/dev/null; then
    echo "skipped: no $python"
    exit 77
fi
if "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is not None)'; then
    answer=$(echo hello sim | "$python" "$source_root/bench/peers/arm.py" torch)
    if [ "$answer" != "no unavailable PyTorch is not installed: pip install torch" ]; then
        echo "WRONG: without PyTorch the arm says: $answer"
        exit 1
    fi
    echo "skipped: no PyTorch"
    exit 77
fi
if ! "$python" -c 'import h5py'; then
    echo "skipped: no h5py: pip install h5py"
    exit 77
fi
part=()
if [ "$1" = --part ]; then
    part=("$1" "$2")
    shift 2
fi
assay=$1
arms=("${@:3}")
if [ ${#arms[@]} -eq 0 ]; then
    arms=(torch shortcut)
fi
if [ -x "${2:-}" ]; then
    export ASSAY_LIBTORCH_ARM=$2
    arms+=(libtorch)
fi
exec "$python" "$source_root/tests/bench/peers_test.py" "${part[@]}" "$assay" "$source_root" "${arms[@]}"
