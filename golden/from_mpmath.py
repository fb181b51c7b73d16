#!/usr/bin/env python3
"""Makes foreign golden files in arithmetic of 120 digits: outputs by the definition, gradients by
central differences of the same, so that no derivative is written down.

    from_mpmath.py [--directory DIR] [OPERATOR...]

Adds the cases below to DIR/<operator>.h5 (default: the directory of this script). The same versions
of everything give byte-identical files. docs/golden-format.md tells what is in them.
"""

import argparse
import os
import platform

import h5py
import mpmath
import numpy
from mpmath import mp, mpf

import store

mp.dps = 120
STEP = mpf(10) ** -40


def rounded(values, dtype):
    """To the nearest number of the dtype, ties to even; in float64."""
    if dtype == "f64":
        return values
    if dtype == "f16":
        return values.astype(numpy.float16).astype(numpy.float64)
    single = values.astype(numpy.float32)
    if dtype == "f32":
        return single.astype(numpy.float64)
    bits = single.view(numpy.uint32).astype(numpy.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype(numpy.uint32).view(numpy.float32).astype(numpy.float64)


class Data:
    """Random inputs as the operators have them, rounded to the case's dtype, in float64."""

    def __init__(self, dtype, seed):
        self.dtype = dtype
        self.generator = numpy.random.Generator(numpy.random.PCG64(seed))

    def normal(self, shape, scale=1.0, mean=0.0):
        return rounded(self.generator.standard_normal(shape) * scale + mean, self.dtype)


def extents(values):
    return "x".join(map(str, values)) if values else "none"


# ---- operators on rows: the case's text, the inputs, and a row of y from a row of x and the inputs
# that have no rows ----


def softmax(data, n, d, scale=1.0, mean=0.0):
    def row(x):
        powers = [mpmath.exp(v) for v in x]
        total = mpmath.fsum(powers)
        return [v / total for v in powers]

    return f"softmax n={extents(n)} d={d}", {"x": data.normal([*n, d], scale, mean)}, row


def layernorm(data, n, d, eps=1e-5, scale=1.0, mean=0.0):
    def row(x, w, b):
        middle = mpmath.fsum(x) / d
        variance = mpmath.fsum((v - middle) ** 2 for v in x) / d
        root = mpmath.sqrt(variance + mpf(eps))
        return [(v - middle) / root * f + c for v, f, c in zip(x, w, b)]

    inputs = {
        "x": data.normal([*n, d], scale, mean),
        "w": data.normal([d]),
        "b": data.normal([d]),
    }
    words = f"layernorm n={extents(n)} d={d}"
    return words if eps == 1e-5 else f"{words} eps={eps:g}", inputs, row


def gelu(data, n, d, form="erf", scale=1.0, mean=0.0):
    def gate(v):
        if form == "erf":
            return v * (1 + mpmath.erf(v / mpmath.sqrt(2))) / 2
        inner = mpmath.sqrt(2 / mp.pi) * (v + mpf("0.044715") * v**3)
        return v * (1 + mpmath.tanh(inner)) / 2

    words = f"gelu n={extents(n)} d={d}"
    inputs = {"x": data.normal([*n, d], scale, mean)}
    return words if form == "erf" else f"{words} form={form}", inputs, lambda x: [gate(v) for v in x]


ROWS = {
    softmax: [
        ("f32", 1, dict(n=[], d=2)),
        ("f64", 2, dict(n=[7], d=24)),
        ("bf16", 3, dict(n=[3, 5], d=17)),
        ("f32", 4, dict(n=[3], d=65)),
        ("f16", 5, dict(n=[4], d=20, scale=5.0)),
        ("f64", 6, dict(n=[2, 3, 2], d=9, scale=30.0)),
        ("f32", 7, dict(n=[5], d=12, mean=-1000.0)),
    ],
    gelu: [
        ("f32", 1, dict(n=[], d=1)),
        ("f64", 2, dict(n=[7], d=24)),
        ("bf16", 3, dict(n=[3, 5], d=17, form="tanh")),
        ("f32", 4, dict(n=[3], d=65, form="tanh")),
        ("f16", 5, dict(n=[4], d=20, scale=5.0)),
        ("f64", 6, dict(n=[2, 3, 2], d=9, scale=4.0, form="tanh")),
        ("f32", 7, dict(n=[5], d=12, mean=-5.0)),
    ],
    layernorm: [
        ("f32", 1, dict(n=[2], d=2, eps=0.25)),
        ("f64", 2, dict(n=[7], d=24)),
        ("bf16", 3, dict(n=[3, 5], d=17)),
        ("f32", 4, dict(n=[3], d=65)),
        ("f16", 5, dict(n=[4], d=20, scale=5.0)),
        ("f64", 6, dict(n=[2, 3, 2], d=9, scale=30.0, eps=0.001)),
        ("f32", 7, dict(n=[5], d=12, mean=-100.0)),
    ],
}


def make_transpose(dtype, seed, sizes):
    """Without arithmetic: by NumPy's views."""
    data = Data(dtype, seed)
    n, r, c = sizes["n"], sizes["r"], sizes["c"]
    x, dy = data.normal([*n, r, c]), data.normal([*n, c, r])
    words = f"transpose n={extents(n)} r={r} c={c}"
    case = store.Case(
        text=f"{words} dtype={dtype} fill=golden seed={seed}",
        seed=seed,
        source=source(),
        foreign=True,
        library="NumPy",
        version=numpy.__version__,
    )
    case.tensors["in", "x"] = x
    case.tensors["in", "dy"] = dy
    case.tensors["out", "y"] = numpy.ascontiguousarray(numpy.swapaxes(x, -1, -2))
    case.tensors["grad", "dx"] = numpy.ascontiguousarray(numpy.swapaxes(dy, -1, -2))
    return case


TRANSPOSES = [
    ("f32", 1, dict(n=[], r=3, c=5)),
    ("f64", 2, dict(n=[4], r=2, c=33)),
    ("bf16", 3, dict(n=[2, 3], r=7, c=4)),
    ("f16", 4, dict(n=[], r=40, c=9)),
]


def scan(x, sizes):
    """Along an axis, of a nested list's numbers as NumPy has them."""
    y = numpy.cumsum(x, axis=sizes["axis"])
    return y - x if sizes.get("exclusive") else y


def reduce(x, sizes):
    axes = tuple(sizes["axes"]) or tuple(range(x.ndim))
    if sizes["kind"] == "max":
        return numpy.max(x, axis=axes)
    y = numpy.sum(x, axis=axes)
    count = x.size // numpy.size(y)
    return y / count if sizes["kind"] == "mean" else y


def words_of(operator, sizes):
    words = f"{operator.__name__} n={extents(sizes['n'])}"
    if operator is scan:
        return f"{words} axis={sizes['axis']}" + (" exclusive=1" if sizes.get("exclusive") else "")
    axes = f" axes={extents(sizes['axes'])}" if sizes["axes"] else ""
    return words + axes + (f" kind={sizes['kind']}" if sizes["kind"] != "sum" else "")


def make_whole(operator, dtype, seed, sizes):
    """Operators on a whole tensor: NumPy adds up mpmath's numbers, in one order, without a rounding
    that would show in 120 digits."""
    data = Data(dtype, seed)
    x = data.normal(sizes["n"])
    exact = numpy.array(numbers(x.reshape(-1)), dtype=object).reshape(x.shape)
    y = numpy.asarray(operator(exact, sizes))
    dy = data.normal(y.shape)
    cotangent = numpy.array(numbers(dy.reshape(-1)), dtype=object).reshape(y.shape)
    flat = exact.reshape(-1)
    def paired():
        return numpy.sum(operator(exact, sizes) * cotangent)

    gradient = [slope(flat, e, paired) for e in range(x.size)]
    case = store.Case(
        text=f"{words_of(operator, sizes)} dtype={dtype} fill=golden seed={seed}",
        seed=seed,
        source=source(),
        foreign=True,
        library="mpmath",
        version=mpmath.__version__,
    )
    case.tensors["in", "x"] = x
    case.tensors["in", "dy"] = dy
    case.tensors["out", "y"] = y.astype(numpy.float64)
    case.tensors["grad", "dx"] = numpy.array(gradient).reshape(x.shape)
    return case


WHOLE = {
    scan: [
        ("f32", 1, dict(n=[7], axis=0)),
        ("f64", 2, dict(n=[3, 5, 4], axis=1)),
        ("bf16", 3, dict(n=[2, 33], axis=1, exclusive=1)),
        ("f16", 4, dict(n=[17, 3], axis=0)),
        ("f32", 5, dict(n=[2, 3, 2, 5], axis=2, exclusive=1)),
    ],
    reduce: [
        ("f32", 1, dict(n=[7], axes=[], kind="sum")),
        ("f64", 2, dict(n=[3, 5, 4], axes=[1], kind="mean")),
        ("bf16", 3, dict(n=[2, 33], axes=[0], kind="max")),
        ("f16", 4, dict(n=[17, 3], axes=[1], kind="sum")),
        ("f32", 5, dict(n=[2, 3, 2, 5], axes=[0, 2], kind="max")),
        ("f64", 6, dict(n=[2, 3, 2, 5], axes=[1, 3], kind="sum")),
        ("f32", 7, dict(n=[4, 9], axes=[], kind="mean")),
    ],
}


def numbers(values):
    return [mpf(float(v)) for v in values]


def along(rows, cotangents, shared, function):
    return mpmath.fsum(
        c * v for x, dy in zip(rows, cotangents) for c, v in zip(dy, function(x, *shared))
    )


def slope(target, index, value):
    """The derivative by target[index] of what `value` computes."""
    there = target[index]
    target[index] = there + STEP
    above = value()
    target[index] = there - STEP
    below = value()
    target[index] = there
    return float((above - below) / (2 * STEP))


def make_rows(operator, dtype, seed, sizes):
    data = Data(dtype, seed)
    words, inputs, function = operator(data, **sizes)
    x = inputs["x"]
    cotangent = data.normal(x.shape)
    rows = [numbers(r) for r in x.reshape(-1, x.shape[-1])]
    given = [numbers(r) for r in cotangent.reshape(-1, x.shape[-1])]
    names = [name for name in inputs if name != "x"]
    shared = [numbers(inputs[name]) for name in names]

    case = store.Case(
        text=f"{words} dtype={dtype} fill=golden seed={seed}",
        seed=seed,
        source=source(),
        foreign=True,
        library="mpmath",
        version=mpmath.__version__,
    )
    out = [[float(v) for v in function(r, *shared)] for r in rows]
    grad = [
        [slope(r, j, lambda: along([r], [dy], shared, function)) for j in range(len(r))]
        for r, dy in zip(rows, given)
    ]
    case.tensors["out", "y"] = numpy.array(out).reshape(x.shape)
    case.tensors["grad", "dx"] = numpy.array(grad).reshape(x.shape)
    for name, values in zip(names, shared):
        case.tensors["grad", "d" + name] = numpy.array(
            [slope(values, j, lambda: along(rows, given, shared, function)) for j in range(len(values))]
        )
    for name, values in inputs.items():
        case.tensors["in", name] = values
    case.tensors["in", "dy"] = cotangent
    return case


def source():
    return (
        f"mpmath {mpmath.__version__} with {mp.dps} digits, gradients by central differences "
        f"({platform.system()} {platform.machine()}), Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}"
    )


def main():
    makers = {
        operator.__name__: [lambda c=case, o=operator: make_rows(o, *c) for case in cases]
        for operator, cases in ROWS.items()
    }
    for operator, cases in WHOLE.items():
        makers[operator.__name__] = [
            lambda c=case, o=operator: make_whole(o, *c) for case in cases
        ]
    makers["transpose"] = [lambda c=case: make_transpose(*c) for case in TRANSPOSES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("operator", nargs="*", help=f"of {', '.join(makers)}; default: all")
    arguments = parser.parse_args()
    for name in arguments.operator:
        if name not in makers:
            parser.error(f"{name}: unknown operator; there are {', '.join(makers)}")
    for name in arguments.operator or makers:
        path = os.path.join(arguments.directory, f"{name}.h5")
        cases = [make() for make in makers[name]]
        store.add(path, cases)
        print(f"{path}: {len(cases)} cases")


if __name__ == "__main__":
    main()
