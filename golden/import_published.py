#!/usr/bin/env python3
"""Takes the tensors of the published Kronecker run into golden/kronecker.h5.

    import_published.py FILE [--into GOLDEN]

FILE holds x, dy, y, dx and, for two layers, layerN/wM and layerN/dwM: two factors of 32, float64,
computed by PyTorch. The run published only the norms of y and of dx; both are checked first, and so
is y against the definition, which tells which factor acts on which axis.
"""

import argparse
import os
import re

import h5py
import numpy as np

import store

TEXT = "kronecker b=16 f=32x32 layers=2 dtype=f64 fill=golden seed=0"
STATE = (16, 32, 32)
LAYERS, FACTORS = (1, 2), (2, 1)
PUBLISHED = {"y": 124.413394223061, "dx": 125.378340183383}


def check_norms(case):
    for group, name in (("out", "y"), ("grad", "dx")):
        norm = np.linalg.norm(case.tensors[group, name])
        if not abs(norm - PUBLISHED[name]) <= 1e-12 * PUBLISHED[name]:
            raise SystemExit(f"‖{name}‖ is {norm:.15g}, and {PUBLISHED[name]:.15g} was published")


def check_definition(case):
    """y = x·(W_2 ⊗ W_1), twice, with mode 1 the last axis."""
    state = case.tensors["in", "x"].reshape(STATE[0], -1)
    for layer in LAYERS:
        factors = [case.tensors["in", f"w{layer}_{mode}"] for mode in FACTORS]
        state = state @ np.kron(*factors)
    error = np.abs(state.reshape(STATE) - case.tensors["out", "y"]).max()
    if not error <= 1e-12:
        raise SystemExit(f"y is off the definition by {error:.3g}")


def load(path):
    with h5py.File(path, "r") as file:
        source = file.attrs["source"]
        version = re.search(r"PyTorch (\S+)", source)
        if version is None:
            raise SystemExit(f"{path}: its attribute source does not name the version of PyTorch")
        case = store.Case(
            text=TEXT,
            seed=0,
            source=source,
            foreign=True,
            library="PyTorch",
            version=version.group(1),
        )
        case.tensors["in", "x"] = file["x"][()]
        case.tensors["in", "dy"] = file["dy"][()].reshape(STATE)
        case.tensors["out", "y"] = file["y"][()].reshape(STATE)
        case.tensors["grad", "dx"] = file["dx"][()].reshape(STATE)
        for layer in LAYERS:
            for mode in FACTORS:
                case.tensors["in", f"w{layer}_{mode}"] = file[f"layer{layer}/w{mode}"][()]
                case.tensors["grad", f"dw{layer}_{mode}"] = file[f"layer{layer}/dw{mode}"][()]
    return case


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="the published run's tensors")
    parser.add_argument("--into", default=os.path.join(here, "kronecker.h5"))
    arguments = parser.parse_args()
    case = load(arguments.file)
    check_norms(case)
    check_definition(case)
    store.add(arguments.into, [case])
    print(f"{arguments.into}: {TEXT}")


if __name__ == "__main__":
    main()
