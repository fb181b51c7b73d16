#!/usr/bin/env bash
# python_test.sh ASSAY: python_test.py by the first interpreter that has NumPy. 77: there is none.
set -euo pipefail
for python in "${ASSAY_PYTHON:-python3}" python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
        exec "$python" -B "${BASH_SOURCE[0]%.sh}.py" "$@"
    fi
done
echo "no Python with NumPy"
exit 77
