#!/usr/bin/env bash
# assay judge: inputs go out and answers come in, in each format; a program in plain NumPy passes,
# and three bugs of such programs are found. Wrong files get one line. The parts in Python need
# NumPy, and of safetensors that package, and are left out where these are not installed.
set -euo pipefail
assay=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

expect() { # STATUS COMMAND...
    local want=$1 status=0
    shift
    "$@" >log 2>&1 || status=$?
    if [ $status -ne "$want" ]; then
        printf 'exit %d, expected %d: %s\n' $status "$want" "$*"
        cat log
        exit 1
    fi
}
says() { # TEXT: in the one line on standard error
    if [ "$(grep -c '^assay: ' log)" -ne 1 ] || ! grep -qF "$1" log; then
        printf 'not one line with "%s":\n' "$1"
        cat log
        exit 1
    fi
}

words="rmsnorm n=5 d=33"
bf16="attention b=1 h=2 sq=5 d=8 dtype=bf16"
for end in h5 npz safetensors; do
    expect 0 "$assay" run ${words/ //v1 } --device sim --out got.$end
    expect 0 "$assay" judge $words --device sim --got got.$end
    grep -q 'got pass' log
    expect 0 "$assay" run $words --no-run --out in.$end
    expect 0 "$assay" judge $words --device sim --got got.$end --in in.$end
    expect 3 "$assay" judge $words --device sim --got in.$end
    says 'is missing; every output is judged'
    expect 3 "$assay" judge $words seed=1 --device sim --got got.$end
    says "name the file of the inputs with --in"
    expect 3 "$assay" judge rmsnorm n=5 d=32 --device sim --got got.$end
    says "shape (5, 33), and the case has (5, 32)"
    expect 0 "$assay" run ${bf16/ //v1 } --device sim --out small.$end
    expect 0 "$assay" judge $bf16 --device sim --got small.$end --json - --quiet
done
# Golden cases go out and come in.
for end in npz safetensors h5; do
    expect 0 "$assay" golden export softmax n=7 d=24 dtype=f64 fill=golden seed=2 --out golden.$end
    expect 0 "$assay" golden import softmax n=7 d=24 dtype=f64 seed=2 --got golden.$end --file $end.h5
    expect 0 "$assay" golden verify softmax --file $end.h5 --device sim
    expect 2 "$assay" golden import softmax n=7 d=24 dtype=f64 seed=2 --got golden.$end --file $end.h5
    says 'comes from another program'
    expect 0 "$assay" golden export softmax n=7 d=24 dtype=f64 fill=golden seed=2 --file $end.h5 --out back.$end
    cmp back.$end golden.$end
done
expect 0 "$assay" run softmax/v1 n=7 d=24 dtype=f64 seed=5 --device sim --out wrong.npz
expect 0 "$assay" golden import softmax n=7 d=24 dtype=f64 seed=9 --got wrong.npz --file wrong.h5
expect 0 "$assay" run softmax/v1 n=7 d=24 dtype=f32 --device sim --out narrow.npz
expect 2 "$assay" golden import softmax n=7 d=24 --got narrow.npz --file wrong.h5
says 'import a case of dtype=f64'
expect 2 "$assay" golden export softmax n=7 d=24
says 'out FILE names the file'
expect 2 "$assay" golden import softmax n=7 d=24 dtype=f64
says 'got FILE names the tensors'
expect 3 "$assay" golden import softmax n=7 d=25 dtype=f64 --got golden.npz --file wrong.h5
says 'and the case has (7, 25)'
# Each format holds the same numbers.
expect 0 "$assay" run ${words/ //v1 } --device sim --in in.npz --out again.safetensors
cmp got.safetensors again.safetensors

expect 3 "$assay" judge $words --got missing.npz
says 'missing.npz: No such file'
echo 'PK' >short.npz
expect 3 "$assay" judge $words --got short.npz
expect 3 "$assay" judge $words --got .
expect 2 "$assay" judge $words
expect 2 "$assay" judge rmsnorm/v1 n=5 d=33 --got got.npz
expect 2 "$assay" judge rmsnorm n=5,6 d=33 --got got.npz

if ! python3 -c 'import numpy' 2>/dev/null; then
    echo "without NumPy: its files are not tried"
    exit 0
fi
cat >program.py <<'P'
import sys
import numpy as np

try:
    import safetensors.numpy as st
except ImportError:
    st = None


def answer(a, bug):
    x, w, dy = (a[k].astype("float64") for k in ("in/x", "in/w", "cot/y"))
    columns = x.shape[-1] - (3 if bug == "tail" else 0)
    y = x[..., :columns] @ w[:columns]
    dx = dy[..., None] * w
    dw = np.einsum("ij,ijk->k", np.ones_like(dy) if bug == "cotangent" else dy, x)
    if bug == "nan":
        y[0, 0] = np.nan
    r = {"out/y": y, "grad/x": dx, "grad/w": dw}
    return {k: v.astype("float32") for k, v in r.items()}


a = np.load("in.npz")
for bug in ("none", "tail", "cotangent", "nan"):
    r = answer(a, bug)
    np.savez(bug + ".npz", **r)
    np.savez_compressed(bug + "_packed.npz", **r)
    if st:
        assert st.load_file("in.safetensors")["in/x"].tobytes() == a["in/x"].tobytes()
        st.save_file(r, bug + ".safetensors")
r = answer(a, "none")
np.savez("fortran.npz", **dict(r, **{"grad/x": np.asfortranarray(r["grad/x"])}))
np.savez("wide.npz", **dict(r, **{"out/y": r["out/y"].astype("float64")}))
np.savez("big_endian.npz", **dict(r, **{"out/y": r["out/y"].astype(">f4")}))
np.savez("pickled.npz", **dict(r, **{"out/y": np.array([{}])}))
np.savez("forward.npz", **{"out/y": r["out/y"]})

# bf16 as raw elements of two bytes, which ml_dtypes knows.
b = np.load("small.npz")
assert b["in/q"].dtype == np.dtype("V2")
bits = b["in/q"].view(np.uint16).astype(np.uint32) << 16
np.savez("floats.npz", **{k: (b[k].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
                          if b[k].dtype == np.dtype("V2") else b[k] for k in b})
P
words="weighted_sum n=5x7 d=33"
for end in npz safetensors; do
    expect 0 "$assay" run $words --no-run --out in.$end
done
expect 0 python3 program.py
for end in .npz _packed.npz $([ -e none.safetensors ] && echo .safetensors); do
    expect 0 "$assay" judge $words --got none$end
    expect 1 "$assay" judge $words --got tail$end
    grep -q 'fail  got y' log
    expect 1 "$assay" judge $words --got cotangent$end
    grep -q 'fail  got dw' log
    expect 1 "$assay" judge $words --got nan$end
done
expect 3 "$assay" judge $words --got fortran.npz
says "in Fortran's order"
expect 3 "$assay" judge $words --got wide.npz
says 'of type <f8, and the case has f32'
expect 3 "$assay" judge $words --got big_endian.npz
says 'of type >f4'
expect 3 "$assay" judge $words --got pickled.npz
expect 3 "$assay" judge $words --got forward.npz
says 'unless --stage forward'
expect 0 "$assay" judge $words --got forward.npz --stage forward
grep -q 'got pass   (forward only)' log
expect 0 "$assay" judge $bf16 --device sim --got floats.npz
