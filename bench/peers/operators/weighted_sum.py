from computation import compiled, forward_only, functional, triton_arm, wide


def summed(case):
    return lambda x, w: {"y": (wide(w) * wide(x)).sum(-1).to(x.dtype)}


def product(case):
    return lambda x, w: {"y": x @ w}


def triton_forward(case):
    triton_arm(case)
    from operators.weighted_sum_triton import forward

    return lambda x, w: {"y": forward(x, w)}


def triton_torch(case):
    triton_arm(case)
    from operators.weighted_sum_triton import TorchBackward

    return lambda x, w: {"y": TorchBackward.apply(x, w)}


def triton(case):
    triton_arm(case)
    from operators.weighted_sum_triton import TritonBackward

    return lambda x, w: {"y": TritonBackward.apply(x, w)}


ARMS = {
    "torch": functional(product),
    "torch-matmul": functional(product),
    "torch-sum": functional(summed),
    "torch-compile": compiled(summed),
    "triton-forward": forward_only(triton_forward),
    "triton-torch": functional(triton_torch),
    "triton": functional(triton),
}
