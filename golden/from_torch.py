#!/usr/bin/env python3
"""Makes foreign golden files: answers that PyTorch computed in float64, not our own oracle.

    from_torch.py [--directory DIR] [OPERATOR...]

Adds the cases below to DIR/<operator>.h5 (default: the directory of this script). The same versions
of everything give byte-identical files. docs/golden-format.md tells what is in them.
"""

import argparse
import os
import platform

import h5py
import numpy
import torch

import store
from transformer_module import Transformer, rotated

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
}


class Data:
    """Random inputs as the operators have them, rounded to the case's dtype, in float64."""

    def __init__(self, dtype, seed):
        self.dtype = DTYPES[dtype]
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, shape, scale=1.0, mean=0.0, dtype=None):
        values = torch.randn(tuple(shape), generator=self.generator, dtype=torch.float64) * scale
        return (values + mean).to(dtype or self.dtype).to(torch.float64)

    def indices(self, shape, below):
        return torch.randint(below, tuple(shape), generator=self.generator)


def extents(values):
    return "x".join(map(str, values)) if values else "none"


def common(dtype, seed):
    return f"dtype={dtype} fill=golden seed={seed}"


# ---- operators: each gives the case's text, its inputs by name, and y as a function of them, or a
# dictionary of outputs by name, of which the first has a cotangent, and more where COTANGENTS says so
# ----


def weighted_sum(data, n, d):
    inputs = {"x": data.normal([*n, d]), "w": data.normal([d])}
    return f"weighted_sum n={extents(n)} d={d}", inputs, lambda x, w: (x * w).sum(-1)


def kronecker(data, b, f, q=None, layers=1):
    """The definition, written out: the state times the Kronecker product as one matrix."""
    q = q or f
    k = len(f)
    inputs = {"x": data.normal([b, *f])}
    for layer in range(1, layers + 1):
        for axis in range(k):
            inputs[f"w{layer}_{k - axis}"] = data.normal([f[axis], q[axis]], f[axis] ** -0.5)

    def forward(x, *factors):
        state = x.reshape(b, -1)
        for layer in range(layers):
            matrix = torch.ones(1, 1, dtype=torch.float64)
            for factor in factors[layer * k : (layer + 1) * k]:
                matrix = torch.kron(matrix, factor)
            state = state @ matrix
        return state.reshape(b, *q)

    words = f"kronecker b={b} f={extents(f)}"
    if q != f:
        words += f" q={extents(q)}"
    if layers != 1:
        words += f" layers={layers}"
    return words, inputs, forward


def matmul_accumulate(data, m, n, k, iters=1, ta=0, tb=0):
    inputs = {
        "a": data.normal([k, m] if ta else [m, k]),
        "b": data.normal([n, k] if tb else [k, n], max(k, 1) ** -0.5),
        "c": data.normal([m, n]),
    }

    def forward(a, b, c):
        return c + iters * ((a.mT if ta else a) @ (b.mT if tb else b))

    words = f"matmul_accumulate m={m} n={n} k={k}"
    if iters != 1:
        words += f" iters={iters}"
    if ta:
        words += " ta=1"
    if tb:
        words += " tb=1"
    return words, inputs, forward


def attention(data, b, h, sq, d, sk=None, causal=0, scale=1.0):
    """The definition, and PyTorch's own attention beside it, in float64 both."""
    sk = sq if sk is None else sk
    inputs = {
        "q": data.normal([b, h, sq, d], scale),
        "k": data.normal([b, h, sk, d]),
        "v": data.normal([b, h, sk, d]),
    }
    visible = torch.ones(sq, sk, dtype=torch.bool)
    if causal:
        visible = visible.tril(sk - sq)
    blind = int((~visible.any(-1)).sum())  # the first queries, when there are more than keys

    def forward(q, k, v):
        scores = (q @ k.mT / d**0.5)[..., blind:, :].masked_fill(~visible[blind:], -torch.inf)
        lse = torch.logsumexp(scores, -1)
        o = torch.exp(scores - lse[..., None]) @ v
        theirs = torch.nn.functional.scaled_dot_product_attention(
            q[..., blind:, :], k, v, attn_mask=visible[blind:]
        )
        torch.testing.assert_close(o, theirs, rtol=1e-12, atol=1e-13)
        padding = (0, 0, blind, 0)
        return {
            "o": torch.nn.functional.pad(o, padding),
            "lse": torch.nn.functional.pad(lse[..., None], padding, value=-torch.inf)[..., 0],
        }

    words = f"attention b={b} h={h} sq={sq}"
    if sk != sq:
        words += f" sk={sk}"
    words += f" d={d}"
    if causal:
        words += " causal=1"
    return words, inputs, forward


def conv3d_groupnorm_mean(data, n, ci, co, s, k, g, eps=None):
    inputs = {
        "x": data.normal([n, ci, *s]),
        "w": data.normal([co, ci, k, k, k], (ci * k**3) ** -0.5),
        "b": data.normal([co], 2.0),
        "gamma": data.normal([co]),
        "beta": data.normal([co]),
    }

    def forward(x, w, b, gamma, beta):
        c = torch.nn.functional.conv3d(x, w, b)
        z = torch.nn.functional.group_norm(c, g, gamma, beta, 1e-5 if eps is None else eps)
        return z.mean((1, 2, 3, 4))

    words = f"conv3d_groupnorm_mean n={n} ci={ci} co={co} s={extents(s)} k={k} g={g}"
    if eps is not None:
        words += f" eps={eps:g}"
    return words, inputs, forward


def rmsnorm(data, n, d, residual=0, eps=1e-5):
    """The definition, and PyTorch's own beside it, in float64 both."""
    inputs = {name: data.normal([*n, d]) for name in ("x", "r")[: 1 + residual]}
    inputs["w"] = data.normal([d])

    def forward(x, *others):
        w = others[-1]
        h = x + others[0] if residual else x
        y = h / torch.sqrt((h * h).mean(-1, keepdim=True) + eps) * w
        theirs = torch.nn.functional.rms_norm(h, [d], w, eps)
        torch.testing.assert_close(y, theirs, rtol=1e-13, atol=1e-14)
        return {"y": y, "h": h} if residual else y

    words = f"rmsnorm n={extents(n)} d={d}"
    if residual:
        words += " residual=1"
    if eps != 1e-5:
        words += f" eps={eps}"
    return words, inputs, forward


def swiglu(data, n, d, scale=1.0):
    inputs = {"a": data.normal([*n, d], scale), "b": data.normal([*n, d])}
    return (
        f"swiglu n={extents(n)} d={d}",
        inputs,
        lambda a, b: torch.nn.functional.silu(a) * b,
    )


def rope(data, b, h, s, d, theta=10000, start=0):
    inputs = {"x": data.normal([b, h, s, d])}

    def forward(x):
        return rotated(x, float(theta), start)

    words = f"rope b={b} h={h} s={s} d={d}"
    if theta != 10000:
        words += f" theta={theta}"
    if start != 0:
        words += f" start={start}"
    return words, inputs, forward


def cross_entropy(data, t, v, gradient=0, scale=1.0):
    inputs = {"logits": data.normal([t, v], scale), "target": data.indices([t], v)}

    def forward(logits, target):
        loss = torch.nn.functional.cross_entropy(logits, target)
        outputs = {"loss": loss[None], "lse": torch.logsumexp(logits, -1)}
        if gradient:
            outputs["gradient"] = torch.autograd.grad(loss, logits, retain_graph=True)[0]
        return outputs

    words = f"cross_entropy t={t} v={v}"
    if gradient:
        words += " gradient=1"
    return words, inputs, forward


def embedding(data, t, v, d):
    inputs = {"ids": data.indices([t], v), "table": data.normal([v, d])}
    return f"embedding t={t} v={v} d={d}", inputs, torch.nn.functional.embedding


def adamw(data, n, step=1, lr=1e-4, wd=0.01):
    """PyTorch's own optimizer, which begins with the state that step - 1 steps have left."""
    inputs = {name: data.normal([n]) for name in "pgmv"}
    inputs["v"] = inputs["v"].abs()

    def forward(p, g, m, v):
        parameter = torch.nn.Parameter(p.detach().clone())
        parameter.grad = g.detach().clone()
        optimizer = torch.optim.AdamW([parameter], lr=lr, weight_decay=wd, foreach=False)
        optimizer.state[parameter] = {
            "step": torch.tensor(float(step - 1)),
            "exp_avg": m.detach().clone(),
            "exp_avg_sq": v.detach().clone(),
        }
        optimizer.step()
        state = optimizer.state[parameter]
        return {
            "new_p": parameter.detach(),
            "new_m": state["exp_avg"],
            "new_v": state["exp_avg_sq"],
        }

    words = f"adamw n={n}"
    if step != 1:
        words += f" step={step}"
    if lr != 1e-4:
        words += f" lr={lr:g}"
    if wd != 0.01:
        words += f" wd={wd:g}"
    return words, inputs, forward


def linear(data, m, n, k):
    inputs = {"x": data.normal([m, k]), "w": data.normal([n, k], max(k, 1) ** -0.5)}
    return f"linear m={m} n={n} k={k}", inputs, torch.nn.functional.linear


SIZES = {"tiny": dict(vocab=256, d=32, ff=64, layers=2, heads=2)}


def transformer(data, size="tiny", b=4, t=32, steps=0, batches=1, lr=1e-3, wd=0.01, **extents):
    """PyTorch's module and its own optimizer. Parameters are fp32 whatever the dtype."""
    sizes = SIZES[size] | extents
    model = Transformer(**sizes).double()
    inputs = {name: data.indices([batches, b, t], sizes["vocab"]) for name in ("tokens", "target")}
    for name, value in model.state_dict().items():
        fan = value.shape[-1] if "embeddings" not in name else 1
        spread = dict(scale=0.25, mean=1.0) if value.dim() == 1 else dict(scale=fan**-0.5)
        inputs[name] = data.normal(value.shape, dtype=torch.float32, **spread)

    def evaluate(tokens, target, *leaves):
        state = dict(zip(model.state_dict(), leaves))
        logits, loss = torch.func.functional_call(model, state, (tokens[0], target[0]))
        return {"logits": logits, "loss": loss[None]}

    def train(tokens, target, *leaves):
        model.load_state_dict(dict(zip(model.state_dict(), (leaf.detach() for leaf in leaves))))
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=wd, foreach=False)
        losses = torch.zeros(steps, dtype=torch.float64)
        for step in range(steps):
            optimizer.zero_grad()
            _, loss = model(tokens[step % batches], target[step % batches])
            loss.backward()
            optimizer.step()
            losses[step] = loss.detach()
        return {"losses": losses} | {
            f"new_{name}": value.detach() for name, value in model.state_dict().items()
        }

    words = dict(b=(b, 4), t=(t, 32), steps=(steps, 0), batches=(batches, 1))
    words |= {key: (sizes[key], default) for key, default in SIZES[size].items()}
    words |= dict(lr=(lr, 1e-3), wd=(wd, 0.01))
    text = f"transformer size={size}" + "".join(
        f" {key}={value:g}" for key, (value, default) in words.items() if value != default
    )
    return text, inputs, train if steps else evaluate


# Outputs with cotangents where there are several.
COTANGENTS = {rmsnorm: ("y", "h"), transformer: ("loss",)}

CASES = {
    weighted_sum: [
        ("f64", 1, dict(n=[], d=7)),
        ("f32", 2, dict(n=[1], d=1)),
        ("f64", 3, dict(n=[17], d=1)),
        ("f32", 4, dict(n=[64], d=128)),
        ("bf16", 5, dict(n=[64], d=128)),
        ("f64", 6, dict(n=[13], d=97)),
        ("f32", 7, dict(n=[3, 5, 7], d=31)),
        ("bf16", 8, dict(n=[2, 3], d=65)),
        ("f32", 9, dict(n=[257], d=3)),
        ("f32", 10, dict(n=[5], d=1031)),
        ("f64", 11, dict(n=[4, 1, 6], d=128)),
        ("bf16", 12, dict(n=[], d=513)),
    ],
    kronecker: [
        ("f32", 1, dict(b=1, f=[1])),
        ("f32", 2, dict(b=5, f=[7])),
        ("f64", 3, dict(b=16, f=[8, 8])),
        ("f32", 4, dict(b=3, f=[4, 5], q=[6, 2])),
        ("f64", 5, dict(b=9, f=[13, 11], q=[11, 13])),
        ("f32", 6, dict(b=2, f=[16, 16], layers=2)),
        ("f32", 7, dict(b=33, f=[17, 3], layers=3)),
        ("f64", 8, dict(b=2, f=[3, 4, 5], layers=2)),
        ("f64", 9, dict(b=4, f=[3, 2, 4], q=[2, 5, 3])),
        ("f32", 10, dict(b=5, f=[1, 7, 1], q=[3, 1, 2])),
        ("f32", 11, dict(b=7, f=[2, 3, 2, 3])),
        ("f64", 12, dict(b=6, f=[2, 2, 3, 2], layers=2)),
    ],
    matmul_accumulate: [
        ("f32", 1, dict(m=1, n=1, k=1)),
        ("f64", 2, dict(m=16, n=16, k=16)),
        ("f32", 3, dict(m=33, n=17, k=41)),
        ("bf16", 4, dict(m=48, n=40, k=32)),
        ("f32", 5, dict(m=13, n=29, k=31, ta=1)),
        ("f64", 6, dict(m=23, n=11, k=19, tb=1)),
        ("bf16", 7, dict(m=17, n=31, k=37, ta=1, tb=1)),
        ("f32", 8, dict(m=32, n=32, k=32, iters=50)),
        ("f64", 9, dict(m=9, n=21, k=5, iters=3, ta=1)),
        ("bf16", 10, dict(m=12, n=20, k=65, iters=4, tb=1)),
        ("f32", 11, dict(m=1, n=65, k=129)),
        ("f32", 12, dict(m=70, n=1, k=3, iters=2, ta=1, tb=1)),
    ],
    attention: [
        ("f32", 1, dict(b=1, h=1, sq=1, sk=3, d=1)),
        ("f32", 2, dict(b=2, h=2, sq=17, d=16)),
        ("bf16", 3, dict(b=1, h=2, sq=16, sk=33, d=32)),
        ("f16", 4, dict(b=1, h=1, sq=31, d=24, causal=1)),
        ("f32", 5, dict(b=1, h=2, sq=9, sk=41, d=17, causal=1)),
        ("bf16", 6, dict(b=2, h=1, sq=29, sk=13, d=20, causal=1)),
        ("f32", 7, dict(b=1, h=1, sq=12, sk=65, d=64, scale=8.0)),
        ("f16", 8, dict(b=1, h=3, sq=1, sk=70, d=48)),
    ],
    conv3d_groupnorm_mean: [
        ("f32", 1, dict(n=1, ci=1, co=2, s=[1, 1, 2], k=1, g=1)),
        ("f64", 2, dict(n=2, ci=3, co=8, s=[6, 7, 8], k=3, g=2)),
        ("f32", 3, dict(n=3, ci=2, co=6, s=[4, 3, 9], k=2, g=3, eps=0.25)),
        ("f64", 4, dict(n=5, ci=1, co=16, s=[5, 4, 3], k=2, g=8)),
        ("f32", 5, dict(n=2, ci=5, co=24, s=[4, 5, 6], k=3, g=4)),
        ("f64", 6, dict(n=1, ci=3, co=4, s=[5, 6, 7], k=5, g=1, eps=0.001)),
        ("f32", 7, dict(n=2, ci=7, co=9, s=[3, 11, 2], k=1, g=3)),
        ("f32", 8, dict(n=2, ci=3, co=16, s=[5, 8, 10], k=3, g=8)),
    ],
    rmsnorm: [
        ("f32", 1, dict(n=[], d=1, eps=0.25)),
        ("f64", 2, dict(n=[7], d=48)),
        ("bf16", 3, dict(n=[3, 5], d=33)),
        ("f32", 4, dict(n=[9], d=130)),
        ("f32", 5, dict(n=[6], d=64, residual=1)),
        ("f64", 6, dict(n=[2, 3, 2], d=17, residual=1, eps=0.25)),
        ("bf16", 7, dict(n=[8], d=96, residual=1)),
        ("f32", 8, dict(n=[1], d=1027, residual=1, eps=0.001)),
    ],
    swiglu: [
        ("f32", 1, dict(n=[], d=1)),
        ("f64", 2, dict(n=[7], d=48)),
        ("bf16", 3, dict(n=[3, 5], d=33)),
        ("f32", 4, dict(n=[9], d=130)),
        ("f32", 5, dict(n=[4], d=64, scale=20.0)),
        ("f64", 6, dict(n=[2, 3, 2], d=17, scale=50.0)),
        ("bf16", 7, dict(n=[8], d=96, scale=8.0)),
        ("f32", 8, dict(n=[1], d=1027)),
    ],
    rope: [
        ("f32", 1, dict(b=1, h=1, s=1, d=2)),
        ("f64", 2, dict(b=2, h=3, s=7, d=16)),
        ("bf16", 3, dict(b=1, h=2, s=9, d=64)),
        ("f32", 4, dict(b=1, h=1, s=33, d=6, theta=500000)),
        ("f32", 5, dict(b=3, h=1, s=5, d=80, start=100000)),
        ("f64", 6, dict(b=1, h=2, s=6, d=12, start=131000, theta=1000000)),
        ("bf16", 7, dict(b=1, h=1, s=8, d=128, start=9999)),
        ("f32", 8, dict(b=1, h=5, s=3, d=34, start=1)),
    ],
    cross_entropy: [
        ("f64", 1, dict(t=1, v=2)),
        ("f32", 2, dict(t=7, v=33)),
        ("bf16", 3, dict(t=16, v=65)),
        ("f32", 4, dict(t=3, v=700)),
        ("f64", 5, dict(t=40, v=5)),
        ("bf16", 6, dict(t=2, v=1031)),
        ("f32", 7, dict(t=9, v=50, scale=30.0)),
        ("f64", 8, dict(t=12, v=17, scale=30.0)),
        ("f64", 9, dict(t=11, v=19, gradient=1)),
        ("f32", 10, dict(t=5, v=300, gradient=1, scale=5.0)),
        ("bf16", 11, dict(t=4, v=130, gradient=1)),
    ],
    embedding: [
        ("f32", 1, dict(t=1, v=1, d=1)),
        ("f32", 2, dict(t=17, v=5, d=33)),
        ("f64", 3, dict(t=40, v=3, d=8)),
        ("bf16", 4, dict(t=9, v=70, d=24)),
        ("bf16", 5, dict(t=130, v=2, d=5)),
        ("f32", 6, dict(t=33, v=200, d=17)),
    ],
    adamw: [
        ("f32", 1, dict(n=1)),
        ("f64", 2, dict(n=33)),
        ("f32", 3, dict(n=257, step=2, lr=0.001)),
        ("f64", 4, dict(n=100, step=1000, lr=0.25, wd=0.5)),
        ("f32", 5, dict(n=511, step=17, lr=0.5, wd=0.25)),
    ],
    transformer: [
        ("f32", 1, dict(b=2, t=16)),
        ("bf16", 2, dict(b=1, t=9, vocab=13, d=12, ff=7, layers=1, heads=3)),
        ("f32", 3, dict(b=2, t=16, steps=1)),
        ("f32", 4, dict(b=2, t=16, steps=5)),
        ("f32", 5, dict(b=3, t=5, vocab=37, d=16, ff=21, heads=4, steps=4, batches=3, lr=0.01)),
    ],
    linear: [
        ("f32", 1, dict(m=1, n=1, k=1)),
        ("f64", 2, dict(m=16, n=16, k=16)),
        ("f32", 3, dict(m=33, n=17, k=41)),
        ("bf16", 4, dict(m=48, n=40, k=32)),
        ("bf16", 5, dict(m=17, n=31, k=37)),
        ("f32", 6, dict(m=1, n=65, k=129)),
        ("f64", 7, dict(m=70, n=1, k=3)),
    ],
}


def source():
    return (
        f"PyTorch {torch.__version__} in float64 on the CPU ({platform.system()} "
        f"{platform.machine()}), Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}"
    )


def make(operator, dtype, seed, sizes):
    data = Data(dtype, seed)
    words, inputs, forward = operator(data, **sizes)
    leaves = {name: value for name, value in inputs.items() if value.is_floating_point()}
    for value in leaves.values():
        value.requires_grad_()
    outputs = forward(*inputs.values())
    if not isinstance(outputs, dict):
        outputs = {"y": outputs}
    first = next(iter(outputs))
    judged = [name for name in outputs if name in COTANGENTS.get(operator, (first,))]

    case = store.Case(
        text=f"{words} {common(dtype, seed)}",
        seed=seed,
        source=source(),
        foreign=True,
        library="PyTorch",
        version=torch.__version__,
    )
    if outputs[first].requires_grad:
        cotangents = {name: data.normal(outputs[name].shape) for name in judged}
        gradients = torch.autograd.grad(
            [outputs[name] for name in judged], leaves.values(), list(cotangents.values())
        )
        for name, gradient in zip(leaves, gradients):
            case.tensors["grad", "d" + name] = gradient.numpy()
        for name, value in cotangents.items():
            case.tensors["in", "d" + name] = value.numpy()
    for name, value in inputs.items():
        case.tensors["in", name] = value.detach().numpy()
    for name, value in outputs.items():
        case.tensors["out", name] = value.detach().numpy()
    return case


def main():
    operators = {operator.__name__: operator for operator in CASES}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("operator", nargs="*", help=f"of {', '.join(operators)}; default: all")
    arguments = parser.parse_args()
    for name in arguments.operator:
        if name not in operators:
            parser.error(f"{name}: unknown operator; there are {', '.join(operators)}")

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in arguments.operator or operators:
        path = os.path.join(arguments.directory, f"{name}.h5")
        cases = [make(operators[name], *case) for case in CASES[operators[name]]]
        store.add(path, cases)
        print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
