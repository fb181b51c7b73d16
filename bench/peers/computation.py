"""The parts of an arm.

A module of operators/ has a table `ARMS` of its arms by name. An arm takes a Case and gives a
function that takes the tensors of one input set, by name, and gives a Computation of them.
"""

import os

import torch


class Unavailable(Exception):
    """The arm cannot do this here; the text is one line for people."""


class Computation:
    """Calls `function(**tensors)`, which gives outputs by name. Other outputs are not verified: one
    that this arm has no natural way to give is left out."""

    in_place = False  # whether forward() changes the tensors that it was given

    def __init__(self, function, tensors):
        self.function, self.tensors = function, tensors

    def forward(self):
        return self.function(**self.tensors)

    def held(self):
        """The tensors that it keeps from call to call."""
        return self.tensors.values()

    def restore(self):
        """Makes in_place tensors what they were; before each cold call, untimed."""


def wide(tensor):
    """In fp32 where it is narrower. An expression that rounds to bf16 between its steps is beyond
    the bounds, which allow for the rounding of its results."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def functional(build):
    """The arm that calls `build(case)`."""

    def arm(case):
        function = build(case)
        return lambda tensors: Computation(function, tensors)

    arm.forward_only = False
    return arm


def forward_only(build):
    arm = functional(build)
    arm.forward_only = True
    return arm


AUTOTUNE, DEFAULT = "max-autotune-no-cudagraphs", "default"


def compile_mode(mode):
    """ASSAY_COMPILE_MODE overrules it; autotuning is for GPUs."""
    return lambda case: (
        os.environ.get("ASSAY_COMPILE_MODE", mode) if case.device == "cuda" else DEFAULT
    )


def compile_function(case, function, mode):
    """For these shapes alone."""
    return torch.compile(function, mode=compile_mode(mode)(case), dynamic=False, fullgraph=True)


def compiled(build, mode=AUTOTUNE):
    """The arm that calls what torch.compile makes of `build(case)`."""
    arm = functional(lambda case: compile_function(case, build(case), mode))
    arm.mode = compile_mode(mode)
    return arm


def triton_arm(case):
    """Says why there is no Triton here, if there is none."""
    try:
        import triton  # noqa: F401
    except ImportError:
        raise Unavailable("Triton is not installed: pip install triton") from None
    if case.device != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise Unavailable("Triton's kernels need a GPU, or TRITON_INTERPRET=1")
