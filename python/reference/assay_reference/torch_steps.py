"""Functions and modules of PyTorch's, followed step by step, through their backward as well: a
dispatch mode is told of each operator that PyTorch runs."""
import contextlib

import numpy as np
import torch
from torch._decomp import decomposition_table
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import scales


class Unknown(Exception):
    """A step whose rounding is not known."""


RULES = {
    **dict.fromkeys(["add", "sub", "rsub", "lerp"], scales.add),
    **dict.fromkeys(["mul", "square"], scales.mul),
    **dict.fromkeys(["div", "reciprocal_div"], scales.div),
    **dict.fromkeys(["sqrt", "rsqrt", "reciprocal"], scales.root),
    **dict.fromkeys(["exp", "exp2", "expm1"], scales.exp),
    **dict.fromkeys(["log", "log2", "log10", "log1p"], scales.log),
    **dict.fromkeys(["tanh", "erf", "sin", "cos", "tan", "atan", "atan2", "asin", "acos", "sinh", "cosh", "asinh",
                     "acosh", "atanh", "logaddexp"], scales.function),
    **dict.fromkeys(["lgamma", "digamma"], scales.gamma),
    "sigmoid": scales.logistic,
    "erfc": scales.erfc,
    "pow": scales.power,
    **dict.fromkeys(["prod", "cumprod"], scales.product),
    # Linear in each of their tensors.
    **dict.fromkeys(["mm", "bmm", "mv", "dot", "convolution", "cumsum", "avg_pool1d", "avg_pool2d", "avg_pool3d",
                     "avg_pool2d_backward", "avg_pool3d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
                     "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward", "embedding_dense_backward",
                     "upsample_bilinear2d", "upsample_bilinear2d_backward", "upsample_nearest2d_backward",
                     "trace"], scales.dot),
}
# The first tensor is added to a function that is linear in the others.
AFFINE = {"addmm", "baddbmm", "addmv", "addbmm", "index_add", "scatter_add", "index_put", "_unsafe_index_put",
          "scatter_reduce"}
POOLS = {"max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d",
         "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "adaptive_max_pool2d_backward"}
EXACT = POOLS | {
    "abs", "neg", "sgn", "sign", "relu", "maximum", "minimum", "max", "min", "amax", "amin", "aminmax", "where", "clamp",
    "clamp_min", "clamp_max", "floor", "ceil", "round", "trunc", "eq", "ne", "lt", "le", "gt", "ge", "logical_and",
    "logical_or", "logical_not", "isnan", "isinf", "bitwise_not", "bitwise_and", "any", "all", "argmax", "argmin", "sort",
    "topk", "cat", "stack", "clone", "copy", "_to_copy", "detach", "empty", "empty_like", "new_empty", "zeros", "zeros_like",
    "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor", "arange", "fill", "zero",
    "gather", "index", "index_select", "embedding", "masked_fill", "scatter", "select_scatter", "slice_scatter", "tril",
    "triu", "eye", "flip", "roll", "constant_pad_nd", "repeat", "alias", "view", "_unsafe_view", "expand", "permute", "t",
    "transpose", "reshape", "_reshape_alias", "squeeze", "unsqueeze", "slice", "select", "split", "split_with_sizes",
    "unbind", "unfold", "diagonal", "as_strided", "lift_fresh", "lift_fresh_copy", "upsample_nearest2d", "_local_scalar_dense",
    "threshold_backward", "threshold", "slice_backward", "select_backward", "masked_select", "nonzero", "one_hot",
    "_unsafe_index", "convert_element_type", "broadcast_in_dim", "tril_indices", "triu_indices", "is_same_size", "bitwise_or", "remainder", "cummax", "cummin",
    "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "reflection_pad1d", "reflection_pad2d", "replication_pad2d",
    "replication_pad1d", "fmod", "linspace", "set_", "resize_", "kthvalue", "mode", "median", "flatten", "isfinite",
}
INDICES = {"argmax", "argmin", "sort", "argsort", "topk", "kthvalue", "mode", "median", "cummax", "cummin"}
SUMS = {"sum", "mean", "nansum"}
FLOATS = {torch.float32, torch.bfloat16, torch.float16}


def variance(x, dim=None, *, correction=1, keepdim=False):
    mean = x.mean(dim, keepdim=True)
    n = x.numel() // max(1, mean.numel())
    return ((x - mean) ** 2).sum(dim, keepdim=keepdim) / max(0, n - (1 if correction is None else correction))


aten = torch.ops.aten
OWN = {  # which PyTorch's table lacks
    aten.var.correction: variance,
    torch.ops.prims.var.default: lambda x, dims, correction=1, output_dtype=None: variance(
        x, dims, correction=correction
    ),
    aten.std.correction: lambda *args, **kwargs: variance(*args, **kwargs).sqrt(),
    aten.var_mean.correction: lambda x, dim=None, **kwargs: (
        variance(x, dim, **kwargs), x.mean(dim, keepdim=kwargs.get("keepdim", False))
    ),
}


def is_real(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.float64


def values(x):
    return x.detach().numpy()


def axes_of(args, kwargs):
    dim = kwargs.get("dim", args[1] if len(args) > 1 and not isinstance(args[1], torch.dtype) else None)
    return None if dim is None or dim == [] else dim


class Following(TorchDispatchMode):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        args, kwargs = tree_map(self.wide, args), tree_map(self.wide, kwargs)
        name = func._schema.name.removeprefix("aten::").removeprefix("prims::")
        if any(isinstance(a, torch.Tensor) and a.is_complex() for a in args):
            raise Unknown(f"torch.ops.aten.{name}: complex numbers are not followed")
        base = name.removesuffix("_") if not name.startswith("_") or name.endswith("_") else name
        if base in INDICES or (base in ("max", "min") and len(func._schema.returns) > 1):
            return func(*(self.untied(a) for a in args), **kwargs)
        if base in EXACT or name in EXACT or func.is_view:
            return func(*args, **kwargs)
        if base in SUMS or base in RULES or base in AFFINE:
            return self.known(func, base, args, kwargs)
        if name == "convolution_backward":
            return self.convolution_backward(func, args, kwargs)
        made = OWN.get(func) or decomposition_table.get(func)
        if made is not None:
            with self:
                return made(*args, **kwargs)
        with self:
            r = func.decompose(*args, **kwargs)
        if r is NotImplemented:
            raise Unknown(f"torch.ops.aten.{name}: how it rounds is not known here")
        return r

    def wide(self, x):
        if not isinstance(x, torch.dtype) or x not in FLOATS:
            return x
        self.steps.narrowed = True
        return torch.float64

    def untied(self, x):
        return torch.from_numpy(np.array(self.steps.untied(values(x)))) if is_real(x) else x

    def move(self, rule, tensors, y, again=None):
        """`again` takes and gives tensors."""

        def numbers(xs):
            return values(again([torch.from_numpy(np.ascontiguousarray(x)) for x in xs]))

        return torch.from_numpy(
            np.array(self.steps.moved(rule, [values(t) for t in tensors], values(y), numbers if again else None))
        )

    def known(self, func, base, args, kwargs):
        tensors = [a for a in args if is_real(a)]
        before = [t.clone() for t in tensors] if func._schema.is_mutable else tensors
        y = func(*args, **kwargs)
        if not is_real(y):
            return y
        result = y.clone() if func._schema.is_mutable else y
        if base in AFFINE:
            moved = self.affine(func, before, args, kwargs, result)
        elif base in SUMS:
            moved = self.sum(base, before, args, kwargs, result)
        elif RULES[base] is scales.dot:
            moved = self.move(scales.dot, before, result, lambda xs: func(*self.put(args, xs), **kwargs))
        else:
            moved = self.move(RULES[base], before, result)
        if func._schema.is_mutable:
            return y.copy_(moved)
        return moved

    @staticmethod
    def put(args, xs):
        left = iter(xs)
        return [next(left) if is_real(a) else a for a in args]

    def sum(self, base, tensors, args, kwargs, y):
        axes = axes_of(args, kwargs)
        n = max(1, tensors[0].numel() // max(1, y.numel()))
        plain = scales.sum_over(axes)
        if base != "mean":
            return self.move(plain, tensors, y)
        return self.move(lambda i, r, a: plain(i, r * n, a) / n + 2 * scales.U * np.abs(r), tensors, y)

    def affine(self, func, tensors, args, kwargs, y):
        name = func._schema.name.removeprefix("aten::").removesuffix("_")
        if name == "scatter_reduce" and args[4] not in ("sum", "mean"):
            return y

        def rule(inputs, result, again):
            with torch._C._DisableTorchDispatch():
                return scales.dot(inputs, result, again)

        functional = getattr(torch.ops.aten, name)
        overload = getattr(functional, func._overloadname, func)

        def again(xs):
            return overload(*self.put(args, xs), **kwargs)

        return self.move(rule, tensors, y, again)

    def convolution_backward(self, func, args, kwargs):
        """Its results are linear in the cotangent and in the input or the weight."""
        results = list(func(*args, **kwargs))
        tensors = [a for a in args[:3]]
        for i, r in enumerate(results):
            if r is None:
                continue
            mask = [i == j for j in range(3)]

            def again(xs, i=i, mask=mask):
                return func(*xs, *args[3:-1], mask)[i]

            results[i] = self.move(scales.dot, tensors, r, again)
        return tuple(results)


def tensor(x):
    return torch.from_numpy(np.array(x))


DERIVES = True


def run(function, arrays, cotangents, differentiable, steps, followed=True):
    """Outputs and, with cotangents, the gradients of the inputs that are differentiable."""
    inputs = [tensor(x) for x in arrays]
    torch.manual_seed(0)
    for x, wanted in zip(inputs, differentiable):
        x.requires_grad_(bool(wanted and cotangents is not None))
    with Following(steps) if followed else contextlib.nullcontext(), sdpa_kernel(SDPBackend.MATH):
        returned = function(*inputs)
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        gradients = []
        if cotangents is not None:
            pairs = [(y, tensor(c)) for y, c in zip(outputs, cotangents) if c is not None and y.requires_grad]
            wanted = [x for x in inputs if x.requires_grad]
            gradients = torch.autograd.grad([p[0] for p in pairs], wanted, [p[1] for p in pairs], allow_unused=True)
            gradients = [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, wanted)]
    return [values(y) for y in [*outputs, *gradients]]
