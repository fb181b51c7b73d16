#!/usr/bin/env bash
# python_test.sh ASSAY [CLASS], or --run FILE.py WORDS...: python_test.py, or that file, by the first
# interpreter that has NumPy. 77: there is none.
set -euo pipefail
folder=$(dirname "${BASH_SOURCE[0]}")
file=python_test.py
if [ "$1" = --run ]; then
    file=$2
    shift 2
fi
for python in "${ASSAY_PYTHON:-python3}" python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" -B "$folder/$file" "$@"
    fi
done
echo "no Python with NumPy"
exit 77
