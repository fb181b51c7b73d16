"""The tolerance of every element of a reference's results: how far they move when each step is
moved within the bound of its own rounding."""
import numpy as np

RANDOM, COMMON = 16, 4  # runs with a sign an element, with one sign a step
FACTOR = 4.0  # of the spread: also the factor that a jump needs which one run of 16 shows
LARGEST = 3.4028234e38


class Steps:
    """Told of each step of a run. Scales are those of the first run, which moves nothing."""

    def __init__(self, seed):
        self.scales, self.at, self.mode, self.large = [], 0, "truth", False
        self.narrowed = False  # the reference itself asks for a narrower dtype, which is ignored
        self.rng = np.random.default_rng(seed)

    @classmethod
    def plain(cls):
        """Moves nothing."""
        steps = cls(0)
        steps.mode = "plain"
        return steps

    def begin(self, mode):
        self.mode, self.at = mode, 0

    def moved(self, rule, inputs, y, again=None):
        """The step's result `y`, moved; `rule` of scales.py."""
        if rule is None or y.dtype != np.float64 or self.mode == "plain":
            return y
        index, self.at = self.at, self.at + 1
        if self.mode == "truth":
            scale = self.scale(rule, inputs, y, again)
            finite = np.abs(y[np.isfinite(y)])
            self.large |= bool(finite.size and finite.max() > LARGEST)
            self.scales.append(scale)
            return y
        scale = self.scales[index] if index < len(self.scales) else None
        if scale is None or scale.shape != y.shape:  # a loop that took another number of turns
            scale = self.scale(rule, inputs, y, again)
        if self.mode == "common":
            return y + scale * (1.0 if self.rng.random() < 0.5 else -1.0)
        return y + scale * (self.rng.integers(0, 2, y.shape, dtype=np.int8) * 2.0 - 1.0)

    def untied(self, x):
        """The values that an index is found in: of equal elements another may come first in a kernel."""
        if x.dtype != np.float64 or self.mode in ("plain", "truth"):
            return x
        return jittered([x], self.rng)[0]

    @staticmethod
    def scale(rule, inputs, y, again):
        s = np.broadcast_to(rule(inputs, y, again), y.shape)
        return np.where(np.isfinite(s), s, 0.0)


def jittered(arrays, rng):
    """Values that are equal need not be so in a kernel's own steps: kinks and ties show."""
    moved = []
    for x in arrays:
        if x is None or x.dtype != np.float64:
            moved.append(x)
            continue
        finite = x[np.isfinite(x)]
        rms = np.sqrt(np.mean(finite * finite)) if finite.size else 0.0
        step = np.where(x == 0, 2.0**-48 * rms, 2.0**-40 * np.abs(x))
        moved.append(x + step * rng.uniform(-1, 1, x.shape))
    return moved


def tolerances(run, arrays, seed=0):
    """`run(arrays, steps)` computes the results, a list. Returns them, the tolerance of each element
    for fp32 steps without the last rounding, and whether an intermediate is beyond fp32's range."""
    steps = Steps(seed)
    with np.errstate(all="ignore"):
        truth = [np.array(t, dtype=np.float64) for t in run(arrays, steps)]
        squares = {"random": [0.0] * len(truth), "common": [0.0] * len(truth)}
        for mode, count in (("random", RANDOM), ("common", COMMON)):
            for _ in range(count):
                steps.begin(mode)
                for i, r in enumerate(run(jittered(arrays, steps.rng), steps)):
                    d = np.where(np.isfinite(truth[i]) | (r != truth[i]), r - truth[i], 0.0)
                    squares[mode][i] = squares[mode][i] + d * d / count
        spread = [np.sqrt(np.maximum(a, b)) for a, b in zip(squares["random"], squares["common"])]
    return truth, [FACTOR * s for s in spread], steps.large
