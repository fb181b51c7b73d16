"""gamma_check.py [CASES]: derived tolerances of functions made of lgamma and digamma, which NumPy lacks, as
tolerance_test.py has them for others: the truth and the tolerance by PyTorch and by JAX, right results by both and by
jax.jit. Prints a table; fails at a false alarm. Needs PyTorch and JAX; CI does not run it."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax.scipy import special

from tolerance_test import FAMILIES, bfloat16, draw, table
from assay_reference import jax_steps, spread, torch_steps

jax.config.update("jax_enable_x64", True)
ROWS, SUMMED = (5, 33), (9, 16)


def functions(lgamma, digamma, log):
    return {
        "lgamma": ((ROWS,), lgamma),
        "digamma": ((ROWS,), digamma),
        "log beta": ((ROWS, ROWS), lambda x, b: lgamma(x) + lgamma(b) - lgamma(x + b)),
        "dirichlet": ((SUMMED,), lambda x: lgamma(x).sum(-1) - lgamma(x.sum(-1))),
        "dirichlet slope": ((SUMMED,), lambda x: digamma(x) - digamma(x.sum(-1))[..., None]),
        "poisson loss": ((ROWS, ROWS), lambda x, b: x - b * log(x) + lgamma(b + 1)),
        "student loss": ((ROWS,), lambda x: lgamma(x / 2) - lgamma((x + 1) / 2) + 0.5 * log(x)),
    }


TORCH = functions(torch.lgamma, torch.digamma, torch.log)
JAX = functions(special.gammaln, special.digamma, jnp.log)


def by_torch(name, arrays):
    return TORCH[name][1](*(torch.tensor(x, dtype=torch.float32) for x in arrays)).numpy()


def by_jax(name, arrays, wrap=lambda f: f):
    return np.asarray(wrap(JAX[name][1])(*(jnp.asarray(x, dtype=jnp.float32) for x in arrays)))


def tolerances(name, arrays, case):
    followed = (
        lambda xs, steps: torch_steps.run(TORCH[name][1], xs, None, [False] * len(xs), steps),
        lambda xs, steps: jax_steps.run(JAX[name][1], xs, None, None, steps),
    )
    for run in followed:
        (truth,), (tolerance,), _ = spread.tolerances(run, arrays, case)
        yield truth, tolerance


def changed(right, change):
    y = right.copy()
    change(y.reshape(-1))
    return y


def faults(name, arrays, right, rng):
    def last(y):
        y[-1] = y[-2]

    def one(y):
        y[rng.integers(0, y.size)] *= 1.01

    def end(y):
        y[-max(1, y.size // 8) :] = 0

    yield "approximate", right * (1 + 2.0**-10)
    yield "last copied", changed(right, last)
    yield "one off by 1 %", changed(right, one)
    yield "shifted by one", np.roll(right, 1)
    yield "end left out", changed(right, end)
    yield "result in 16 bits", bfloat16(right)
    yield "input in 16 bits", by_torch(name, [bfloat16(arrays[0]), *arrays[1:]])
    moved = arrays[0].copy()
    moved[..., -1] = moved[..., -2]
    yield "input one off", by_torch(name, [moved, *arrays[1:]])


def experiment(name, cases, tally, bf16):
    rng = np.random.default_rng([len(name), *name.encode()])
    stored = bfloat16 if bf16 else lambda y: y
    for case in range(cases):
        family = FAMILIES[case % len(FAMILIES)]
        arrays = [np.abs(draw(rng, s, "normal" if i else family)) + 2.0**-6 for i, s in enumerate(TORCH[name][0])]
        arrays = [(bfloat16(x) if bf16 else x.astype(np.float32)).astype(np.float64) for x in arrays]
        right = by_torch(name, arrays)
        others = [right, by_jax(name, arrays), by_jax(name, arrays, jax.jit)]
        for truth, tolerance in tolerances(name, arrays, case):
            tolerance = tolerance + (2.0**-8 * (np.abs(truth) + tolerance) if bf16 else 0) + 2.0**-134
            for y in map(stored, others):
                tally.judge_right(y, truth, tolerance, bf16)
            for fault, y in faults(name, arrays, right, rng):
                if not np.array_equal(stored(y), stored(right), equal_nan=True):
                    tally.judge_fault(fault, stored(y), truth, tolerance, bf16)


if __name__ == "__main__":
    tallies = table(TORCH, experiment, int(sys.argv[1]) if len(sys.argv) > 1 else 24)
    sys.exit(sum(whole.alarms > 0 for whole in tallies))
