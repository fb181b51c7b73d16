"""bounds_check.py ASSAY: the hand-made bounds of built-in operators beside the tolerances that are
derived from a reference of theirs, element by element, in f32: a table of their quotient. Needs h5py."""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "python", "reference"), HERE]
from assay_reference import numpy_steps, spread  # noqa: E402
from references import attention, normalized, sigmoid, softmax  # noqa: E402

# The operator's case, and y of its inputs in the order of `assay list`.
OPERATORS = {
    "weighted_sum n=16 d=512": lambda x, w: (x * w).sum(-1),
    "linear m=17 n=19 k=257": lambda x, w: x @ np.swapaxes(w, 0, 1),
    "rmsnorm n=16 d=257": lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w,
    "layernorm n=16 d=257": lambda x, w, b: normalized(x, -1) * w + b,
    "softmax n=16 d=257": softmax,
    "gelu n=16 d=257 form=tanh": lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))),
    "swiglu n=16 d=257": lambda a, b: a * sigmoid(a) * b,
    "attention b=1 h=2 sq=33 d=16 causal=1": attention,
    "reduce n=16x257 axes=1": lambda x: x.sum(-1),
    "reduce n=16x257 axes=1 kind=mean": lambda x: x.mean(-1),
    "scan n=16x257 axis=1": lambda x: np.cumsum(x, -1),
    "softmax n=16 d=257 fill=positive": softmax,
    "reduce n=16x257 axes=1 fill=positive": lambda x: x.sum(-1),
    "scan n=16x257 axis=1 fill=positive": lambda x: np.cumsum(x, -1),
    "layernorm n=16 d=257 fill=negative": lambda x, w, b: normalized(x, -1) * w + b,
}


def bounds_of(program, words, folder):
    """Inputs by name, and y and its bound, of our own golden file."""
    file = os.path.join(folder, "case.h5")
    if os.path.exists(file):
        os.remove(file)
    operator, *rest = words.split()
    subprocess.run([program, "golden", "generate", operator, *rest, "dtype=f32", "--file", file], check=True, capture_output=True)
    groups = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            groups.setdefault(name.split("/")[-2], {})[name.split("/")[-1]] = item[()]

    with h5py.File(file) as opened:
        opened.visititems(keep)
    return groups


def main(program):
    print(f"{'case, f32':40s} {'median':>7s} {'least':>7s} {'most':>7s}   hand-made bound over derived tolerance")
    with tempfile.TemporaryDirectory() as folder:
        for words, function in OPERATORS.items():
            g = bounds_of(program, words, folder)
            names = [n for n in g["in"] if n[0] != "d"]
            order = {"linear": ["x", "w"], "rmsnorm": ["x", "w"], "layernorm": ["x", "w", "b"], "weighted_sum": ["x", "w"],
                     "attention": ["q", "k", "v"]}.get(words.split()[0], names)
            arrays = [g["in"][n].astype(np.float64) for n in order]
            (truth,), (tolerance,), _ = spread.tolerances(
                lambda xs, steps: numpy_steps.run(function, xs, None, None, steps), arrays, 0)  # noqa: B023
            own = next(g["bound"][n] for n, y in g["out"].items() if y.shape == truth.shape)
            keep = (tolerance > 0) & (own > 0)
            q = own[keep] / tolerance[keep]
            print(f"{words:40s} {np.median(q):7.2f} {q.min():7.2f} {q.max():7.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
