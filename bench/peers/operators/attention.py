import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

from computation import DEFAULT, Unavailable, compiled, forward_only, functional, triton_arm


def queries_and_keys(case):
    sq = case.integer("sq")
    sk = case.integer("sk", sq)
    if case.integer("causal") and sq > sk:
        raise Unavailable("PyTorch leaves NaN in the first queries, which see no key")
    return sq, sk


def naive(case):
    """The definition, written out; it has no need of lse."""
    sq, sk = queries_and_keys(case)
    hidden = None
    if case.integer("causal"):
        hidden = ~torch.ones(sq, sk, dtype=torch.bool, device=case.device).tril(sk - sq)

    def forward(q, k, v):
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        return {"o": torch.softmax(scores, -1) @ v}

    return forward


NO_KERNEL = ("No available kernel", "No viable backend")


def refusal(function):
    """Why no backend of scaled_dot_product_attention takes it: PyTorch warns of each reason."""
    with warnings.catch_warnings(record=True) as reasons:
        warnings.simplefilter("always")
        try:
            function()
        except RuntimeError:
            pass
    texts = [str(reason.message).split(" (Triggered internally")[0] for reason in reasons]
    others = ("not used because:", "has been runtime disabled.")
    texts = [text for text in texts if not text.endswith(others)]
    return texts[0] if texts else "PyTorch has no such kernel for this device and dtype"


def sdpa(backend):
    """scaled_dot_product_attention, restricted to one backend; it keeps lse to itself."""

    def build(case):
        sq, sk = queries_and_keys(case)
        options = {}
        if case.integer("causal"):
            options = {"is_causal": True} if sq == sk else {"attn_mask": causal_lower_right(sq, sk)}

        def attention(q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

        def forward(q, k, v):
            with sdpa_kernel(backend):
                try:
                    return {"o": attention(q, k, v)}
                except RuntimeError as error:
                    if not any(text in str(error) for text in NO_KERNEL):
                        raise
                    raise Unavailable(refusal(lambda: attention(q, k, v))) from None

        return forward

    return functional(build)


def triton(case):
    triton_arm(case)
    from operators.attention_triton import forward as attention

    causal = bool(case.integer("causal"))

    def forward(q, k, v):
        o, lse = attention(q, k, v, causal, case.tf32)
        return {"o": o, "lse": lse}

    return forward


ARMS = {
    "torch": functional(naive),
    "torch-compile": compiled(naive, DEFAULT),
    "sdpa-cudnn": sdpa(SDPBackend.CUDNN_ATTENTION),
    "sdpa-flash": sdpa(SDPBackend.FLASH_ATTENTION),
    "sdpa-efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
    "sdpa-math": sdpa(SDPBackend.MATH),
    "triton": forward_only(triton),
}
