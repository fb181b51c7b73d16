"""Functions of NumPy's, followed step by step: an array that tells of each ufunc."""
import numpy as np

from . import scales

RULES = {
    "add": scales.add, "subtract": scales.add, "multiply": scales.mul, "square": scales.mul,
    "divide": scales.div, "true_divide": scales.div, "reciprocal": scales.root, "sqrt": scales.root,
    "cbrt": scales.function, "exp": scales.exp, "exp2": scales.exp, "expm1": scales.exp,
    "log": scales.log, "log2": scales.log, "log10": scales.log, "log1p": scales.log,
    "power": scales.power, "float_power": scales.power, "matmul": scales.dot, "vecdot": scales.dot,
    **dict.fromkeys(["tanh", "sin", "cos", "tan", "arctan", "arctan2", "arcsin", "arccos", "sinh",
                     "cosh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp", "erf"], scales.function),
}
EXACT = {"negative", "positive", "absolute", "fabs", "sign", "maximum", "minimum", "fmax", "fmin", "clip",
         "floor", "ceil", "rint", "trunc", "copysign", "heaviside", "conjugate", "ldexp"}
# Computed by others of NumPy's functions, or exact.
COMPOSED = {
    "sum", "mean", "var", "std", "prod", "cumsum", "cumprod", "max", "min", "amax", "amin", "where", "concatenate",
    "stack", "vstack", "hstack", "transpose", "reshape", "ravel", "squeeze", "expand_dims", "broadcast_to", "swapaxes",
    "moveaxis", "tile", "repeat", "pad", "flip", "roll", "take", "take_along_axis", "sort", "argmax", "argmin",
    "argsort", "zeros_like", "ones_like", "full_like", "empty_like", "clip", "tril", "triu", "diff", "array_split",
    "split", "copy", "isfinite", "any", "all", "shape", "ndim", "size", "nan_to_num", "atleast_1d", "atleast_2d", "round",
    "average", "ptp", "diagonal", "result_type", "copyto", "put_along_axis",
}
INDICES = {"argmax", "argmin", "argsort"}
LINEAR = {"dot", "inner", "outer", "vdot", "tensordot", "einsum", "convolve"}


class Unknown(Exception):
    """A step whose rounding is not known."""


def plain(x):
    if isinstance(x, Followed):
        return x.view(np.ndarray)
    if isinstance(x, (tuple, list)):
        return type(x)(plain(i) for i in x)
    return x


def wide(dtype):
    return np.float64 if dtype is not None and np.dtype(dtype).kind == "f" else dtype


class Followed(np.ndarray):
    steps = None  # of the run

    @staticmethod
    def of(y):
        y = np.asarray(y)
        return y.view(Followed) if y.dtype.kind == "f" else y

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        inputs = [plain(x) for x in inputs]
        keywords = {k: wide(v) if k == "dtype" else plain(v) for k, v in keywords.items()}
        y = getattr(ufunc, method)(*inputs, **keywords)
        if np.iscomplexobj(y):
            raise Unknown(f"numpy.{ufunc.__name__}: complex numbers are not followed")
        if isinstance(y, tuple) or np.asarray(y).dtype.kind != "f":
            results = y
        else:
            results = self.of(self.moved(ufunc, method, inputs, keywords, np.asarray(y, dtype=np.float64)))
        if out is None:
            return results
        out[0][...] = plain(results)
        return out[0]

    def moved(self, ufunc, method, inputs, keywords, y):
        name = ufunc.__name__
        arrays = [np.asarray(x, dtype=np.float64) for x in inputs if np.asarray(x).dtype.kind in "fiub"]
        if name in EXACT:
            return y
        if method == "reduce" and name == "add":
            rule = scales.sum_over(keywords.get("axis", 0))
        elif method == "accumulate" and name == "add":
            rule = scales.dot
        elif method in ("reduce", "accumulate") and name == "multiply":
            rule = scales.product
        elif method == "__call__":
            rule = RULES.get(name)
        else:
            rule = None
        if rule is None:
            raise Unknown(f"numpy.{name}: how it rounds is not known here")
        return self.steps.moved(rule, arrays, y, lambda xs: getattr(ufunc, method)(*xs, **keywords))

    def __array_function__(self, function, types, args, keywords):
        name = function.__name__
        if name in LINEAR:
            tensors = [plain(a) for a in args if isinstance(a, np.ndarray)]

            def again(xs):
                left = iter(xs)
                return np.asarray(function(*(next(left) if isinstance(a, np.ndarray) else a for a in args), **keywords))

            y = again([np.asarray(t, dtype=np.float64) for t in tensors])
            return self.of(self.steps.moved(scales.dot, tensors, y, again))
        if name not in COMPOSED:
            raise Unknown(f"numpy.{name}: how it rounds is not known here")
        keywords = {k: wide(v) if k == "dtype" else v for k, v in keywords.items()}
        if name in INDICES:
            return function(self.steps.untied(plain(args[0])), *args[1:], **keywords)
        return self.wrapped(super().__array_function__(function, types, args, keywords))

    def wrapped(self, y):
        if isinstance(y, (list, tuple)):
            return type(y)(self.wrapped(i) for i in y)
        return self.of(y) if isinstance(y, (np.ndarray, np.floating)) else y

    def __getitem__(self, key):
        return self.of(super().__getitem__(plain(key)))

    def argmax(self, *args, **keywords):
        return np.argmax(self, *args, **keywords)

    def argmin(self, *args, **keywords):
        return np.argmin(self, *args, **keywords)

    def argsort(self, *args, **keywords):
        return np.argsort(self, *args, **keywords)

    def dot(self, other):
        return np.dot(self, other)

    def astype(self, dtype, *args, **keywords):
        self.steps.narrowed |= np.dtype(dtype) != np.float64
        return self.copy() if np.dtype(dtype).kind in "fV" else plain(self).astype(dtype, *args, **keywords)


def run(function, arrays, cotangents, differentiable, steps, followed=True):
    """Outputs alone: NumPy derives nothing."""
    Followed.steps = steps
    returned = function(*(Followed.of(x) if followed and x.dtype == np.float64 else x for x in arrays))
    return [plain(np.asarray(r)) for r in (returned if isinstance(returned, (tuple, list)) else [returned])]
