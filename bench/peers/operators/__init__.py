"""The arms of each operator: a module each, whose table `ARMS` has them by name."""

import importlib
import pkgutil

import torch  # noqa: F401  (its absence is told before that of anything else)

from computation import Unavailable


def names():
    return [
        module.name
        for module in pkgutil.iter_modules(__path__)
        if not module.name.endswith("_triton")
    ]


def arms(operator):
    if operator not in names():
        raise Unavailable(f"no peer of {operator}")
    return importlib.import_module(f"operators.{operator}").ARMS


def all_arms():
    """The names of every operator's arms."""
    return sorted({arm for operator in names() for arm in arms(operator)})
