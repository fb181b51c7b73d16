"""The language model as functions of its parameters, which are fp32. In bf16 all is computed with
parameters rounded in the call, as our variants do it. Attention is PyTorch's own choice.
"""

import itertools

import torch
from torch.nn import functional as F

from computation import DEFAULT, Computation, compile_function, compile_mode
from operators.rope import rotated, table

HEADS = {"tiny": 2, "small": 12, "medium": 16, "large": 20, "xl": 25, "2.7b": 32}
EPS = 1e-5


def norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, EPS)


def attention(x, parameters, heads, turn):
    b, t, d = x.shape
    q, k, v = (
        F.linear(x, parameters[f"{name}_proj.weight"]).view(b, t, heads, -1).transpose(1, 2)
        for name in "qkv"
    )
    q, k = rotated(q, *turn), rotated(k, *turn)
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.linear(o.transpose(1, 2).reshape(b, t, d), parameters["output_proj.weight"])


def feed_forward(x, parameters):
    hidden = F.silu(F.linear(x, parameters["w1.weight"])) * F.linear(x, parameters["w3.weight"])
    return F.linear(hidden, parameters["w2.weight"])


def below(parameters, prefix):
    return {
        name.removeprefix(prefix): value
        for name, value in parameters.items()
        if name.startswith(prefix)
    }


def model(case):
    """(tokens, target, parameters by name) -> (logits, loss), of one batch."""
    heads = case.integer("heads") or HEADS[case.words["size"]]
    dtype = torch.bfloat16 if case.dtype == "bf16" else torch.float32

    def forward(tokens, target, parameters, turn):
        parameters = {name: value.to(dtype) for name, value in parameters.items()}
        x = F.embedding(tokens, parameters["token_embeddings.weight"])
        for i in range(sum(name.endswith(".ln1.weight") for name in parameters)):
            layer = below(parameters, f"layers.{i}.")
            x = x + attention(norm(x, layer["ln1.weight"]), below(layer, "attn."), heads, turn)
            x = x + feed_forward(norm(x, layer["ln2.weight"]), below(layer, "ffn."))
        logits = F.linear(norm(x, parameters["ln_final.weight"]), parameters["lm_head.weight"])
        return logits, F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())

    return forward


def parameters_of(tensors):
    return {name: t for name, t in tensors.items() if name not in ("tokens", "target")}


class Evaluation(Computation):
    def __init__(self, function, turn, tensors):
        self.function, self.turn, self.tensors = function, turn, tensors
        self.tokens, self.target = tensors["tokens"][0], tensors["target"][0]
        self.parameters = parameters_of(tensors)

    def forward(self):
        logits, loss = self.function(self.tokens, self.target, self.parameters, self.turn)
        return {"logits": logits, "loss": loss[None]}


class Training(Computation):
    """Steps of PyTorch's AdamW, fused, on parameters that change in place."""

    in_place = True

    def __init__(self, case, function, turn, tensors):
        self.function, self.turn, self.tensors = function, turn, tensors
        self.steps, self.batches = case.integer("steps"), case.integer("batches", 1)
        self.given = parameters_of(tensors)
        self.parameters = {
            name: torch.nn.Parameter(value.clone()) for name, value in self.given.items()
        }
        self.optimiser = torch.optim.AdamW(
            self.parameters.values(),
            lr=case.real("lr", 1e-3),
            weight_decay=case.real("wd", 0.01),
            fused=True,
            capturable=case.device == "cuda",
        )

    def held(self):
        states = (state.values() for state in self.optimiser.state.values())
        return [*self.tensors.values(), *self.parameters.values(), *itertools.chain(*states)]

    @torch.no_grad()
    def restore(self):
        self.optimiser.zero_grad(set_to_none=True)
        for name, value in self.given.items():
            self.parameters[name].copy_(value)
        for state in self.optimiser.state.values():
            for value in state.values():
                value.zero_()

    def forward(self):
        losses = []
        for step in range(self.steps):
            batch = step % self.batches
            tokens, target = self.tensors["tokens"][batch], self.tensors["target"][batch]
            self.optimiser.zero_grad(set_to_none=True)
            _, loss = self.function(tokens, target, self.parameters, self.turn)
            loss.backward()
            self.optimiser.step()
            losses.append(loss.detach())
        new = {f"new_{name}": value for name, value in self.parameters.items()}
        return {"losses": torch.stack(losses), **new}


def arm(compiled):
    def build(case):
        function = model(case)
        if compiled:
            function = compile_function(case, function, DEFAULT)

        def bind(tensors):
            d = tensors["token_embeddings.weight"].shape[1]
            heads = case.integer("heads") or HEADS[case.words["size"]]
            turn = tuple(table(case, tensors["tokens"].shape[-1], d // heads))
            if case.integer("steps"):
                return Training(case, function, turn, tensors)
            return Evaluation(function, turn, tensors)

        return bind

    build.forward_only = False
    if compiled:
        build.mode = compile_mode(DEFAULT)
    return build


ARMS = {"torch": arm(compiled=False), "torch-compile": arm(compiled=True)}
