"""A reference's file: the function, and the arrays that it is given."""
import importlib
import importlib.util
import inspect
import os
import sys

import numpy as np


class Bad(Exception):
    """Something that a reference must not be or do."""


def describe(error, file):
    """One line."""
    text = " ".join(str(error).split())[:300]
    if type(error).__name__ in ("Bad", "Unknown"):
        return text
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == os.path.abspath(file):
            line = f" ({os.path.basename(file)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {text}{line}"


def module(file):
    """The module, and the library that it computes with: the first that its file imports."""
    before = set(sys.modules)
    sys.path.insert(0, os.path.dirname(file))
    name = os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        raise Bad(f"{file}: is no Python file")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    new = set(sys.modules) - before
    return made, next((n for n in ("torch", "jax") if n in new), "numpy")


def steps(library):
    return importlib.import_module(f".{library}_steps", __package__)


def array(x):
    """fp64 for real numbers, int64 for whole ones."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.double().numpy() if x.is_floating_point() else x.numpy()
    x = np.asarray(x)
    if x.dtype.kind in "iu":
        return x.astype(np.int64)
    if x.dtype.kind != "f":
        raise Bad(f"get_inputs() returned {x.dtype}: inputs are real numbers or integers")
    return x.astype(np.float64)


def find(module, file, name):
    stem = os.path.splitext(os.path.basename(file))[0]
    names = [name] if name else ["Model", "reference", stem]
    found = next((getattr(module, n) for n in names if callable(getattr(module, n, None))), None)
    if found is None:
        raise Bad(f"{os.path.basename(file)} has no {' and no '.join(names)}")
    return found


class Made:
    """A function of arrays; `names` of these; draw(seed) makes them."""


def seeded(module, library, seed):
    import random

    random.seed(seed)
    np.random.seed(seed % 2**32)
    if library == "torch":
        sys.modules["torch"].manual_seed(seed)
    given = module.get_inputs()
    return list(given) if isinstance(given, (tuple, list)) else [given]


def parameters_of(function):
    kinds = inspect.Parameter
    try:
        all_of = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in all_of if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]


def made(module, file, name, library):
    if not hasattr(module, "get_inputs"):
        raise Bad(f"{os.path.basename(file)} has no get_inputs(), which returns the inputs, a list")
    found, result = find(module, file, name), Made()
    count = len(seeded(module, library, 0))
    if library == "torch" and inspect.isclass(found):
        return model(module, found, count, result)
    names = parameters_of(found) or []
    result.function = found
    result.names = (names + [f"x{i}" for i in range(len(names), count)])[:count]
    result.draw = lambda seed: seeded(module, library, seed)
    return result


def model(module, found, count, result):
    """Its parameters are inputs as well, so that they have gradients."""
    import torch

    torch.manual_seed(0)
    given = getattr(module, "get_init_inputs", list)()
    instance = found(*given).double()
    parameters = list(instance.named_parameters())
    buffers = {k: b.clone() for k, b in instance.named_buffers()}

    def function(*arrays):
        state = {n: a for (n, _), a in zip(parameters, arrays[count:])}
        fresh = {k: b.clone() for k, b in buffers.items()}
        return torch.func.functional_call(instance, {**state, **fresh}, arrays[:count])

    names = parameters_of(instance.forward) or []
    result.function = function
    result.names = (names + [f"x{i}" for i in range(len(names), count)])[:count]
    result.names += [n.replace(".", "_")[:47] for n, _ in parameters]
    values = [unlike(p.detach(), torch) for _, p in parameters]
    result.draw = lambda seed: seeded(module, "torch", seed) + values
    return result


def unlike(p, torch):
    """The ones and zeros of a norm are moved: a kernel that ignores them would be right."""
    same = p.numel() == 0 or bool((p == p.reshape(-1)[0]).all())
    return p + 0.25 * torch.randn(p.shape, dtype=p.dtype) if same else p.clone()
