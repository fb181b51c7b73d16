"""bounds_check.py ASSAY [--verbose]: the hand-made bounds of built-in operators beside the tolerances that are
derived from a JAX function of theirs, element by element: a table of their quotient for outputs and
gradients, in f32 and bf16. Needs JAX and h5py; CI does not run it."""
import os
import subprocess
import sys
import tempfile

import h5py
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "python", "reference"), HERE]
from assay_reference import jax_steps, spread  # noqa: E402

jax.config.update("jax_enable_x64", True)
LAST = {"f32": 0.0, "bf16": 2.0**-8}  # of steps in fp32 the last rounding is one already
WIDE = {"loss", "lse"}  # are f32 in bf16 cases
LOOSE = 16  # times the tolerance, which is spread.FACTOR times what was observed


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(x, w, b):
    d = x - x.mean(-1, keepdims=True)
    return d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b


def attention(q, k, v):
    s = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], dtype=bool)), s, -jnp.inf)
    return softmax(s) @ v, jax.nn.logsumexp(s, -1)


def cross_entropy(logits, target):
    z = logits - logits.max(-1, keepdims=True)
    lse = jnp.log(jnp.exp(z).sum(-1, keepdims=True))
    picked = jnp.take_along_axis(z, target[:, None], -1)
    return (lse - picked).mean(keepdims=True)[0], (lse + logits.max(-1, keepdims=True))[:, 0]


def rope(x):
    half = np.arange(x.shape[-1] // 2)
    angle = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-2 * half / x.shape[-1])
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)


def conv3d_groupnorm_mean(x, w, b, gamma, beta):
    c = jax.lax.conv(x, w, (1, 1, 1), "VALID") + b[:, None, None, None]
    n, channels = c.shape[:2]
    groups = c.reshape(n, 2, -1)
    d = groups - groups.mean(-1, keepdims=True)
    z = (d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)).reshape(n, channels, -1)
    return (z * gamma[:, None] + beta[:, None]).mean((1, 2))


def adamw(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p * (1 - 1e-4 * 0.01) - 1e-4 * (m / (1 - 0.9**3)) / (jnp.sqrt(v / (1 - 0.999**3)) + 1e-8), m, v


# The operator's case, its tensors in the order of `assay list`, and the function of the inputs.
OPERATORS = [
    ("weighted_sum n=16 d=512", "x w", "y", lambda x, w: (x * w).sum(-1)),
    ("matmul_accumulate m=33 n=35 k=257", "a b c", "y", lambda a, b, c: c + a @ b),
    ("kronecker b=5 f=8x8", "x w1_2 w1_1", "y", lambda x, w2, w1: jnp.einsum("bij,ik,jl->bkl", x, w2, w1)),
    ("linear m=17 n=19 k=257", "x w", "y", lambda x, w: x @ w.T),
    ("embedding t=64 v=9 d=24", "ids table", "y", lambda ids, table: table[ids]),
    ("rmsnorm n=16 d=257", "x w", "y", lambda x, w: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w),
    ("layernorm n=16 d=257", "x w b", "y", layernorm),
    ("rope b=1 h=2 s=33 d=16", "x", "y", rope),
    ("softmax n=16 d=257", "x", "y", softmax),
    ("gelu n=16 d=257", "x", "y", lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    ("gelu n=16 d=257 form=tanh", "x", "y",
     lambda x: 0.5 * x * (1 + jnp.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))),
    ("swiglu n=16 d=257", "a b", "y", lambda a, b: a / (1 + jnp.exp(-a)) * b),
    ("cross_entropy t=17 v=257", "logits target", "loss lse", cross_entropy),
    ("attention b=1 h=2 sq=33 d=16 causal=1", "q k v", "o lse", attention),
    ("conv3d_groupnorm_mean n=3 ci=3 co=4 s=6x6x6 k=3 g=2", "x w b gamma beta", "y", conv3d_groupnorm_mean),
    ("adamw n=999 step=3", "p g m v", "new_p new_m new_v", adamw),
    ("reduce n=16x257 axes=1", "x", "y", lambda x: x.sum(-1)),
    ("reduce n=16x257 axes=1 kind=mean", "x", "y", lambda x: x.mean(-1)),
    ("scan n=16x257 axis=1", "x", "y", lambda x: jnp.cumsum(x, -1)),
]
FILLS = ["normal", "positive"]


def golden(program, words, folder):
    """Inputs, outputs, gradients and bounds, by name, of a golden file of our own."""
    file = os.path.join(folder, "case.h5")
    if os.path.exists(file):
        os.remove(file)
    done = subprocess.run([program, "golden", "generate", *words.split(), "--file", file], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    groups = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset):
            groups.setdefault(name.split("/")[-2], {})[name.split("/")[-1]] = np.array(item[()], dtype=np.float64)

    with h5py.File(file) as opened:
        opened.visititems(keep)
    return groups


def quotients(g, names, outputs, function, dtype):
    """Of each result that has a bound: bound over tolerance, where both are above 0."""
    whole, gradients = {"ids", "target"}, g.get("grad", {})
    arrays = [g["in"][n].astype(np.int64) if n in whole else g["in"][n] for n in names]
    differentiable = [n not in whole and f"d{n}" in gradients for n in names]
    cotangents = [g["in"].get(f"d{n}") for n in outputs]

    def results(values, steps):
        y = jax_steps.run(function, values, None, None, steps)
        if any(differentiable):
            return y + jax_steps.run(function, values, cotangents, differentiable, steps)[len(y):]
        return y

    truth, tolerance, _ = spread.tolerances(results, arrays, 0)
    found = outputs + [f"d{n}" for n, d in zip(names, differentiable) if d]
    for name, t, tol in zip(found, truth, tolerance):
        want = {**g["out"], **gradients}[name]
        if not np.allclose(t, want, rtol=1e-6, atol=1e-9 * np.abs(want).max(initial=0)):
            raise SystemExit(f"{name}: the function is not the operator's")
        bound = g["bound"][name]
        last = (0 if name in WIDE else LAST[dtype]) * np.abs(t)
        keep = (tol + last > 0) & (bound > 0)
        if keep.any():
            q = bound[keep] / (tol + last)[keep]
            close = bound[keep] < (tol / spread.FACTOR + last)[keep]
            yield name, q, int(close.sum())


def cells(parts):
    """Of the quotients of some tensors: median, their spread, and how many are far off."""
    if not parts:
        return "| | | "
    q, close = np.concatenate([q for q, _ in parts]), sum(c for _, c in parts)
    p1, median, p99 = np.percentile(q, [1, 50, 99])
    return f"| {median:.2f} | {p1:.2g} to {p99:.2g} | {(q > LOOSE).mean():.1%}, {close / q.size:.1%} "


def main(program, verbose=False):
    print("| case | of | f32 | p1 to p99 | far, near | bf16 | p1 to p99 | far, near |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for words, names, outputs, function in OPERATORS:
            found = {}  # by kind of tensor and dtype
            for dtype in LAST:
                for fill in FILLS:
                    g = golden(program, f"{words} dtype={dtype} fill={fill}", folder)
                    if g is None:  # the operator has no such dtype or data
                        continue
                    for name, q, close in quotients(g, names.split(), outputs.split(), function, dtype):
                        if verbose:
                            print(f"{words} fill={fill} {dtype} {name}:", cells([(q, close)]), file=sys.stderr)
                        kind = "outputs" if name in outputs.split() else "gradients"
                        found.setdefault((kind, dtype), []).append((q, close))
            for kind in ("outputs", "gradients"):
                if any((kind, dtype) in found for dtype in LAST):
                    row = "".join(cells(found.get((kind, dtype))) for dtype in LAST)
                    print(f"| `{words}` | {kind} {row}|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], "--verbose" in sys.argv)
