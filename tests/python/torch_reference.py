"""A model and a candidate, as KernelBench's problems have them."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.fc = nn.Linear(d, h)
        self.norm = nn.LayerNorm(h)

    def forward(self, x):
        return nn.functional.gelu(self.norm(self.fc(x)))


def get_inputs():
    return [torch.randn(9, 33)]


def get_init_inputs():
    return [33, 17]


class ModelNew(Model):
    eps = 1e-5

    def forward(self, x):
        h = torch.addmm(self.fc.bias, x, self.fc.weight.t())
        d = h - h.mean(-1, keepdim=True)
        h = d * torch.rsqrt((d * d).mean(-1, keepdim=True) + self.eps) * self.norm.weight + self.norm.bias
        return h * 0.5 * (1 + torch.erf(h * 0.7071067811865476))


class OtherEps(ModelNew):
    eps = 1e-4


def largest(x):
    return x.max(-1).values, x.argmax(-1)


def by_sorting(x):
    values, places = torch.sort(x, dim=-1, descending=True)
    return values[..., 0], places[..., 0]


def second(x):
    values, places = torch.sort(x, dim=-1, descending=True)
    return values[..., 0], places[..., 1]
