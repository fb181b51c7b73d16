"""Functions of JAX's, followed step by step: the jaxpr of the function, and of its derivative, is
computed primitive by primitive in fp64."""
import jax
import numpy as np

from . import scales

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
DERIVES = True


class Unknown(Exception):
    """A step whose rounding is not known."""


def broadcast(inputs, y, again):
    """A value that many elements use may be computed anew for each."""
    x = inputs[0]
    return scales.U * np.abs(y) if x.ndim > 0 and x.size < y.size else np.zeros(y.shape)


RULES = {
    **dict.fromkeys(["add", "sub", "add_any"], scales.add),
    **dict.fromkeys(["mul", "square"], scales.mul),
    "div": scales.div,
    **dict.fromkeys(["sqrt", "rsqrt", "cbrt"], scales.root),
    **dict.fromkeys(["exp", "exp2", "expm1"], scales.exp),
    **dict.fromkeys(["log", "log1p"], scales.log),
    **dict.fromkeys(["tanh", "erf", "erf_inv", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
                     "asinh", "acosh", "atanh", "bessel_i0e", "bessel_i1e"], scales.function),
    **dict.fromkeys(["lgamma", "digamma"], scales.gamma),
    "logistic": scales.logistic,
    "erfc": scales.erfc,
    **dict.fromkeys(["pow", "integer_pow"], scales.power),
    **dict.fromkeys(["reduce_prod", "cumprod"], scales.product),
    **dict.fromkeys(["dot_general", "conv_general_dilated", "cumsum", "reduce_window_sum", "scatter-add",
                     "scatter_add", "select_and_scatter_add"], scales.dot),
    "broadcast_in_dim": broadcast,
}
EXACT = {
    "max", "min", "neg", "abs", "sign", "select_n", "reduce_max", "reduce_min", "gather", "sort", "top_k", "approx_top_k",
    "reduce_window_max", "reduce_window_min", "concatenate", "pad", "rev", "slice", "dynamic_slice", "dynamic_update_slice",
    "reshape", "squeeze", "transpose", "expand_dims", "convert_element_type", "scatter", "clamp", "stop_gradient", "copy",
    "copy_p", "iota", "select_and_gather_add", "device_put", "split", "floor", "ceil", "round", "is_finite", "argmax", "argmin",
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "reduce_and", "reduce_or", "rem", "cummax", "cummin", "squeeze",
    "real", "imag", "shift_left", "shift_right_logical", "xor", "bitcast_convert_type", "nextafter", "zeros_like", "full", "reduce_precision", "symbolic_zeros",
    "pvary", "sharding_constraint", "optimization_barrier", "tie_in", "tie", "stack", "unstack", "tile", "empty",
    "scatter-max", "scatter-min", "shift_right_arithmetic", "population_count", "clz", "mulhi",
}
SHAPES = {"reshape", "squeeze", "broadcast_in_dim", "transpose", "expand_dims"}


def is_real(x):
    return x.dtype == np.float64


def wide(x):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise Unknown("jax: complex numbers are not followed")
    return x.astype(np.float64) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) else x


def is_float(dtype):
    return jax.numpy.issubdtype(dtype, jax.numpy.floating)


def compared(jaxpr):
    """Variables of which it matters whether they equal others: they must not be moved alone."""
    found = set()
    for e in reversed(jaxpr.eqns):
        if e.primitive.name in ("eq", "ne") or (e.primitive.name in SHAPES and e.outvars[0] in found):
            found |= {v for v in e.invars if not hasattr(v, "val")}
    return found


class Interpreter:
    def __init__(self, steps):
        self.steps = steps

    def closed(self, jaxpr, values):
        return self.run(jaxpr.jaxpr, jaxpr.consts, values)

    def run(self, jaxpr, consts, values):
        known, equal = {}, compared(jaxpr)
        known.update(zip(jaxpr.constvars, map(wide, consts)))
        known.update(zip(jaxpr.invars, values))

        def read(v):
            return wide(v.val) if hasattr(v, "val") else known[v]

        for e in jaxpr.eqns:
            inputs = [read(v) for v in e.invars]
            fixed = e.outvars[0] in equal or (e.primitive.name == "broadcast_in_dim" and hasattr(e.invars[0], "val"))
            known.update(zip(e.outvars, self.step(e, inputs, fixed)))
        return [read(v) for v in jaxpr.outvars]

    def step(self, e, inputs, fixed):
        name, p = e.primitive.name, e.params
        if name == "scan":
            return self.scan(p, inputs)
        if name == "while":
            return self.loop(p, inputs)
        if name == "cond":
            branch = p["branches"][int(np.clip(inputs[0], 0, len(p["branches"]) - 1))]
            return self.closed(branch, inputs[1:])
        inner = next((p[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in p), None)
        if inner is not None:
            return self.closed(inner, inputs) if hasattr(inner, "consts") else self.run(inner, [], inputs)
        return self.primitive(e.primitive, p, inputs, fixed)

    def scan(self, p, inputs):
        consts, carries = p["num_consts"], p["num_carry"]
        fixed, carry, rows = inputs[:consts], inputs[consts : consts + carries], inputs[consts + carries :]
        order = range(p["length"])
        kept = []
        for i in reversed(order) if p["reverse"] else order:
            out = self.closed(p["jaxpr"], [*fixed, *carry, *(x[i] for x in rows)])
            carry = out[:carries]
            kept.append(out[carries:])
        if p["reverse"]:
            kept.reverse()
        return [*carry, *(np.stack(column) for column in zip(*kept))]

    def loop(self, p, inputs):
        before, body = p["cond_nconsts"], p["body_nconsts"]
        values = inputs[before + body :]
        for _ in range(100000):
            if not bool(self.closed(p["cond_jaxpr"], inputs[:before] + values)[0]):
                return values
            values = self.closed(p["body_jaxpr"], inputs[before : before + body] + values)
        raise Unknown("a loop that takes more than 100,000 turns")

    def primitive(self, primitive, params, inputs, fixed):
        name, params = primitive.name, dict(params)
        for key in ("new_dtype", "preferred_element_type", "dtype"):
            if params.get(key) is not None and is_float(params[key]) and params[key] != np.float64:
                self.steps.narrowed = True
                params[key] = np.dtype(np.float64)
        if name.startswith("random_") or name == "threefry2x32":
            raise Unknown("jax.random: numbers that are drawn in fp64 are others in fp32")
        if name == "reduce_precision":
            self.steps.narrowed = True
            return inputs[:1]

        def again(xs):
            left = iter(xs)
            given = [next(left) if is_real(x) else x for x in inputs]
            return np.asarray(primitive.bind(*map(jax.numpy.asarray, given), **params))

        out = primitive.bind(*map(jax.numpy.asarray, inputs), **params)
        out = [np.asarray(y) for y in (out if primitive.multiple_results else [out])]
        if any(np.iscomplexobj(y) for y in out):
            raise Unknown(f"jax.lax.{name}: complex numbers are not followed")
        if name in EXACT or fixed or not is_real(out[0]):
            return out
        rule = scales.sum_over(params["axes"]) if name == "reduce_sum" else RULES.get(name)
        if rule is None:
            raise Unknown(f"jax.lax: how {name} rounds is not known here")
        return [self.steps.moved(rule, [x for x in inputs if is_real(x)], out[0], again)]


def with_gradients(function, differentiable, chosen):
    """Outputs, and the gradients for the cotangents that follow the inputs."""
    where = [i for i, d in enumerate(differentiable) if d]

    def results(*values):
        inputs, cotangents = values[: len(differentiable)], values[len(differentiable) :]

        def real(*moving):
            given = list(inputs)
            for i, x in zip(where, moving):
                given[i] = x
            y = function(*given)
            y = list(y) if isinstance(y, (tuple, list)) else [y]
            return [y[i] for i in chosen], y

        _, pull, outputs = jax.vjp(real, *(inputs[i] for i in where), has_aux=True)
        given = [c.astype(y.dtype) for c, y in zip(cotangents, (outputs[i] for i in chosen))]
        return [*outputs, *pull(given)]

    return results


def run(function, arrays, cotangents, differentiable, steps, followed=True):
    if cotangents is None:
        plain, values = function, list(arrays)
    else:
        chosen = [i for i, c in enumerate(cotangents) if c is not None]
        plain = with_gradients(function, differentiable, chosen)
        values = [*arrays, *(c for c in cotangents if c is not None)]
    if not followed:
        y = plain(*map(jax.numpy.asarray, values))
        return [np.asarray(r) for r in jax.tree_util.tree_leaves(y)]
    return Interpreter(steps).closed(traced(function, plain, values, cotangents is not None), values)


TRACES = {}


def traced(function, plain, values, gradients):
    key = (id(function), gradients, tuple(x.shape for x in values))
    if key not in TRACES:
        TRACES[key] = jax.make_jaxpr(plain)(*values)
    return TRACES[key]
