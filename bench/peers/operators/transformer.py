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


def layers_of(parameters):
    return [
        below(parameters, f"layers.{i}.")
        for i in range(sum(name.endswith(".ln1.weight") for name in parameters))
    ]


def model(case):
    """(tokens, target, parameters by name) -> (logits, loss), of one batch."""
    heads = case.integer("heads") or HEADS[case.words["size"]]
    dtype = torch.bfloat16 if case.dtype == "bf16" else torch.float32

    def forward(tokens, target, parameters, turn):
        parameters = {name: value.to(dtype) for name, value in parameters.items()}
        x = F.embedding(tokens, parameters["token_embeddings.weight"])
        for layer in layers_of(parameters):
            x = x + attention(norm(x, layer["ln1.weight"]), below(layer, "attn."), heads, turn)
            x = x + feed_forward(norm(x, layer["ln2.weight"]), below(layer, "ffn."))
        logits = F.linear(norm(x, parameters["ln_final.weight"]), parameters["lm_head.weight"])
        return logits, F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())

    return forward


def model_by_layers(case):
    """The same, compiled a layer at a time: once for all, where that of a whole model takes minutes.
    A layer takes the term that the one before has not added, so that a norm adds it."""
    heads = case.integer("heads") or HEADS[case.words["size"]]
    dtype = torch.bfloat16 if case.dtype == "bf16" else torch.float32

    def embed(tokens, table):
        return F.embedding(tokens, table.to(dtype))

    def layer(x, term, parameters, turn):
        parameters = {name: value.to(dtype) for name, value in parameters.items()}
        x = x + term
        x = x + attention(norm(x, parameters["ln1.weight"]), below(parameters, "attn."), heads, turn)
        return x, feed_forward(norm(x, parameters["ln2.weight"]), below(parameters, "ffn."))

    def finish(x, term, target, weight, head):
        logits = F.linear(norm(x + term, weight.to(dtype)), head.to(dtype))
        return logits, F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())

    embed, layer, finish = (compile_function(case, f, DEFAULT) for f in (embed, layer, finish))

    def forward(tokens, target, parameters, turn):
        x = embed(tokens, parameters["token_embeddings.weight"])
        term = torch.zeros_like(x, requires_grad=x.requires_grad)  # or layers would be of two kinds
        for of_layer in layers_of(parameters):
            x, term = layer(x, term, of_layer, turn)
        last = (parameters[f"{name}.weight"] for name in ("ln_final", "lm_head"))
        return finish(x, term, target, *last)

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


def compiled_model(case):
    return compile_function(case, model(case), DEFAULT)


def arm(make):
    def build(case):
        function = make(case)

        def bind(tensors):
            d = tensors["token_embeddings.weight"].shape[1]
            heads = case.integer("heads") or HEADS[case.words["size"]]
            turn = tuple(table(case, tensors["tokens"].shape[-1], d // heads))
            if case.integer("steps"):
                return Training(case, function, turn, tensors)
            return Evaluation(function, turn, tensors)

        return bind

    build.forward_only = False
    if make is not model:
        build.mode = compile_mode(DEFAULT)
    return build


ARMS = {
    "torch": arm(model),
    "torch-compile": arm(compiled_model),
    "torch-compile-layers": arm(model_by_layers),
}
