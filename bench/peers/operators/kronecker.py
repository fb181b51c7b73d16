import math

import torch

from computation import compiled, functional


def layers_of(case, factors):
    """Each layer's factors W_k, ..., W_1, in the order of the axes."""
    k = len(case.extents("f"))
    return [
        [factors[f"w{layer}_{m}"] for m in range(k, 0, -1)]
        for layer in range(1, case.integer("layers", 1) + 1)
    ]


def product(case):
    """The definition, written out: the state times the Kronecker product as one matrix."""

    def forward(x, **factors):
        state = x.flatten(1)
        for layer in layers_of(case, factors):
            matrix = layer[0]
            for factor in layer[1:]:
                matrix = torch.kron(matrix, factor)
            state = state @ matrix
        return {"y": state.view(x.shape[0], *(factor.shape[1] for factor in layer))}

    return forward


def contract(state, axis, factor):
    """One mode: a batch of products with W^T from the left, or, for the last, one with W."""
    shape = state.shape
    p, q = factor.shape
    if axis == state.dim() - 1:
        return state @ factor
    batch = math.prod(shape[:axis])
    stage = factor.mT @ state.reshape(batch, p, -1)
    return stage.view(*shape[:axis], q, *shape[axis + 1 :])


def contractions(case):
    def forward(x, **factors):
        state = x
        for layer in layers_of(case, factors):
            for axis in range(len(layer), 0, -1):
                state = contract(state, axis, layer[axis - 1])
        return {"y": state}

    return forward


ARMS = {
    "torch": functional(contractions),
    "torch-compile": compiled(contractions),
    "torch-kron": functional(product),
}
