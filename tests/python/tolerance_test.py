"""tolerance_test.py [CASES]: how good derived tolerances are. Right fp32 implementations of the
references, with sums in other orders and other forms of functions, must be within; implementations
with a seeded fault should not be. Prints a table; fails beyond what docs/reference.md promises."""
import functools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "reference"))
from assay_reference import numpy_steps, spread  # noqa: E402

from references import REFERENCES, WHOLE  # noqa: E402

FAMILIES = ["normal", "uniform", "positive", "offset", "heavy", "few"]


def bfloat16(x):
    bits = np.atleast_1d(np.asarray(x, dtype=np.float32)).view(np.uint32)
    up = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32).reshape(np.shape(x))


def draw(rng, shape, family):
    x = rng.standard_normal(shape)
    if family == "uniform":
        x = rng.uniform(-1, 1, shape)
    elif family == "positive":
        x = rng.uniform(0.1, 1, shape)
    elif family == "offset":
        x = x + 100
    elif family == "heavy":
        x = rng.standard_t(1.5, shape)
    elif family == "few":
        x = rng.integers(-2, 3, shape).astype(float)
    return x.astype(np.float32).astype(np.float64)


# ---- fp32 implementations: an array that computes as a kernel might ----

ORDERS = {
    "forwards": lambda t: np.cumsum(t, -1, dtype=np.float32)[..., -1],
    "backwards": lambda t: np.cumsum(t[..., ::-1], -1, dtype=np.float32)[..., -1],
    "strided": lambda t: np.add.reduce([np.cumsum(t[..., i::8], -1, dtype=np.float32)[..., -1]
                                        for i in range(min(8, t.shape[-1]))], dtype=np.float32),
    "pairwise": lambda t: np.add.reduce(t, -1, dtype=np.float32),
    "bf16 sum": lambda t: functools.reduce(lambda a, b: bfloat16(a + b), np.moveaxis(t, -1, 0)),
}


class Kernel(np.ndarray):
    order, forms, fault, hit = "pairwise", False, None, 0

    @classmethod
    def of(cls, y):
        y = np.asarray(y)
        return y.astype(np.float32).view(cls) if y.dtype.kind == "f" else y

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        given = [x.view(np.ndarray) if isinstance(x, Kernel) else x for x in inputs]
        given = [np.float32(x) if isinstance(x, float) else x for x in given]
        keywords = {k: v.view(np.ndarray) if isinstance(v, Kernel) else v for k, v in keywords.items() if k != "dtype"}
        y = self.of(self.compute(ufunc, method, given, keywords))
        if out is None:
            return y
        out[0][...] = y
        return out[0]

    def compute(self, ufunc, method, given, keywords):
        name = ufunc.__name__
        if self.fault == "eps" and any(isinstance(x, np.float32) and 0 < abs(x) < 1e-4 for x in given):
            Kernel.hit = 1
            given = [np.float32(0) if isinstance(x, np.float32) and 0 < abs(x) < 1e-4 else x for x in given]
        if name == "add" and method == "reduce":
            return self.total(given[0], keywords)
        if name == "matmul":
            return self.product(*given)
        if self.fault == "divisor" and name in ("divide", "true_divide") and np.size(given[1]) == 1 and np.all(given[1] >= 2):
            Kernel.hit = 1
            given = [given[0], given[1] + np.float32(1)]
        if self.forms and method == "__call__":
            if name == "exp":
                return np.exp2(given[0] * np.float32(1.4426950408889634))
            if name in ("divide", "true_divide"):
                return given[0] * (np.float32(1) / given[1])
        y = getattr(ufunc, method)(*given, **keywords)
        if self.fault == "approximate" and name in ("exp", "tanh", "log", "log1p", "expm1"):
            Kernel.hit = 1
            y = y * (1 + np.float32(2.0**-10) * np.sin(np.arange(np.size(y), dtype=np.float32)).reshape(np.shape(y)))
        return y

    def terms(self, t):
        if self.fault == "dropped" and not Kernel.hit and t.shape[-1] > 1:
            Kernel.hit = 1
            t = t[..., :-1]
        if self.fault == "bf16 sum":
            Kernel.hit = 1
            return ORDERS["bf16 sum"](t)
        return ORDERS[self.order](t)

    def total(self, x, keywords):
        axis = keywords.get("axis", 0)
        axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim)
        left = [a for a in range(x.ndim) if a not in axes]
        y = self.terms(np.transpose(x, left + list(axes)).reshape([x.shape[a] for a in left] + [-1]))
        return y.reshape([1 if a in axes else x.shape[a] for a in range(x.ndim)]) if keywords.get("keepdims") else y

    def product(self, a, b):
        if self.fault == "tf32":
            Kernel.hit = 1
            a, b = ((np.ascontiguousarray(m, dtype=np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for m in (a, b))
        return self.terms(a[..., :, None, :] * np.swapaxes(b, -1, -2)[..., None, :, :])

    def __array_function__(self, function, types, args, keywords):
        args = [a.view(np.ndarray) if function.__name__ == "einsum" and isinstance(a, Kernel) else a for a in args]
        if function.__name__ == "einsum":
            return self.of(np.einsum(*args, **keywords))
        y = super().__array_function__(function, types, tuple(args), keywords)
        return self.of(y) if isinstance(y, np.ndarray) else y

    def __getitem__(self, key):
        return self.of(super().__getitem__(key.view(np.ndarray) if isinstance(key, Kernel) else key))


def kernel(function, arrays, **how):
    Kernel.order, Kernel.forms, Kernel.fault, Kernel.hit = how.get("order", "pairwise"), how.get("forms"), how.get("fault"), 0
    return np.asarray(function(*(Kernel.of(x) if x.dtype == np.float64 else x for x in arrays))).astype(np.float64)


# ---- the experiment ----


def faults(function, arrays, right, rng):
    for fault in ("dropped", "divisor", "eps", "approximate", "tf32", "bf16 sum"):
        y = kernel(function, arrays, fault=fault)
        if Kernel.hit and not np.array_equal(y, right, equal_nan=True):
            yield fault, y
    if right.size > 1:
        y = right.copy()
        y.reshape(-1)[-1] = y.reshape(-1)[-2]
        yield "last copied", y
        y = right.copy()
        y.reshape(-1)[rng.integers(0, y.size)] *= 1.01
        yield "one off by 1 %", y
        yield "shifted by one", np.roll(right, 1)
        y = right.copy()
        y.reshape(-1)[-max(1, y.size // 8) :] = 0
        yield "end left out", y
    yield "result in 16 bits", bfloat16(right).astype(np.float64)
    narrow = [bfloat16(x).astype(np.float64) if x.dtype == np.float64 and i == 0 else x for i, x in enumerate(arrays)]
    yield "input in 16 bits", kernel(function, narrow)
    moved = [x.copy() for x in arrays]
    if moved[0].ndim and moved[0].shape[-1] > 1:
        moved[0][..., -1] = moved[0][..., -2]
        yield "input one off", kernel(function, moved)


class Tally:
    def __init__(self):
        self.right = self.alarms = self.seeded = self.found = self.loose = self.tight = 0
        self.loose_alarms = self.tight_alarms = self.usual = self.usual_alarms = 0
        self.worst, self.missed = 0.0, {}

    def judge_right(self, y, truth, tolerance, bf16):
        self.right += 1
        self.alarms += not within(y, truth, tolerance)
        self.loose_alarms += not close(y, truth, 1e-2)
        self.tight_alarms += not close(y, truth, 1e-4)
        self.usual_alarms += not usual(y, truth, bf16)
        with np.errstate(all="ignore"):
            self.worst = max(self.worst, float(np.nanmax(np.abs(y - truth) / tolerance)))

    def judge_fault(self, fault, y, truth, tolerance, bf16):
        self.seeded += 1
        self.found += (hit := not within(y, truth, tolerance))
        self.loose += not close(y, truth, 1e-2)
        self.tight += not close(y, truth, 1e-4)
        self.usual += not usual(y, truth, bf16)
        if not hit:
            self.missed[fault] = self.missed.get(fault, 0) + 1

    def add(self, other):
        for key, value in vars(other).items():
            if isinstance(value, int):
                setattr(self, key, getattr(self, key) + value)

    def shares(self):
        return " ".join(percent(part, self.seeded) for part in (self.found, self.loose, self.tight, self.usual))


def within(y, truth, tolerance):
    ok = np.abs(y - truth) <= tolerance
    return bool(np.all(ok | (np.isnan(y) & np.isnan(truth)) | (y == truth)))


def close(y, truth, tolerance):
    return np.allclose(y, truth, rtol=tolerance, atol=tolerance, equal_nan=True)


def usual(y, truth, bf16):
    """As torch.testing.assert_close has it by default, which compares with an fp64 result here."""
    return np.allclose(y, truth, rtol=1.6e-2 if bf16 else 1.3e-6, atol=1e-5, equal_nan=True)


def experiment(name, cases, tally, bf16):
    function, shapes = REFERENCES[name]
    rng = np.random.default_rng([len(name), *name.encode()])
    for case in range(cases):
        arrays = [draw(rng, s, FAMILIES[case % len(FAMILIES)] if i == 0 else "normal") for i, s in enumerate(shapes)]
        if name in WHOLE:
            index, below = WHOLE[name]
            arrays[index] = rng.integers(0, below, shapes[index])
        if bf16:
            arrays = [bfloat16(x).astype(np.float64) if x.dtype == np.float64 else x for x in arrays]
        (truth,), (tolerance,), _ = spread.tolerances(
            lambda xs, steps: numpy_steps.run(function, xs, None, None, steps), arrays, case)
        stored = bfloat16 if bf16 else lambda y: y
        tolerance = tolerance + (2.0**-8 * (np.abs(truth) + tolerance) if bf16 else 0) + 2.0**-134
        undecided = ~(tolerance <= 0.5 * np.maximum(np.abs(truth), np.sqrt(np.mean(truth**2))))
        if undecided.mean() > 0.5:
            continue
        for how in ({"order": o, "forms": f} for o in ("forwards", "backwards", "strided", "pairwise") for f in (0, 1)):
            y = stored(kernel(function, arrays, **how))
            tally.judge_right(y, truth, tolerance, bf16)
        right = kernel(function, arrays)
        for fault, y in faults(function, arrays, right, rng):
            y = stored(y)
            if not np.array_equal(y, stored(right), equal_nan=True):
                tally.judge_fault(fault, y, truth, tolerance, bf16)


def percent(part, whole):
    return f"{100 * part / whole:6.1f}" if whole else "     -"


def table(names, measure, cases):
    """Prints a row of each name and one of all, for each dtype; the tallies of all."""
    for dtype in ("f32", "bf16"):
        whole = Tally()
        print(f"{dtype:17s} right  false alarms  worst   faults  found %   1e-2   1e-4  usual")
        for name in names:
            t = Tally()
            with np.errstate(all="ignore"):
                measure(name, cases, t, dtype == "bf16")
            print(f"{name:17s} {t.right:5d} {t.alarms:13d} {t.worst:6.2f} {t.seeded:8d} {t.shares()}   {t.missed or ''}")
            whole.add(t)
        w = whole
        print(f"all {dtype:13s} {w.right:5d} {w.alarms:13d}        {w.seeded:8d} {w.shares()}")
        print(f"false alarms of allclose: 1e-2 {w.loose_alarms}, 1e-4 {w.tight_alarms}, of assert_close {w.usual_alarms}; of {w.right}\n")
        yield whole


def main(cases):
    wholes = zip(table(REFERENCES, experiment, cases), (0.99, 0.97))
    return sum(w.alarms > 0 or w.found < least * w.seeded or w.right == 0 for w, least in wholes)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
