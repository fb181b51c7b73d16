"""The language model as a PyTorch module whose state_dict has the names of assay's parameters."""

import torch
from torch import nn
from torch.nn import functional as F


def rotated(x, theta=10000.0, start=0):
    """Pairs as complex numbers, times those of unit length; angles in float64."""
    b, h, s, d = x.shape
    position = torch.arange(start, start + s, dtype=torch.float64, device=x.device)
    exponent = torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d
    angle = torch.outer(position, theta**-exponent)
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(x.reshape(b, h, s, d // 2, 2))
    return torch.view_as_real(pairs * turn.to(pairs.dtype)).reshape(b, h, s, d)


def attention(q, k, v):
    """Causal, the definition written out."""
    visible = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, -1) @ v


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-5)


class Attention(nn.Module):
    own = True  # otherwise PyTorch's scaled_dot_product_attention

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        for name in ("q", "k", "v", "output"):
            setattr(self, f"{name}_proj", nn.Linear(d, d, bias=False))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            projection(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotated(q), rotated(k)
        if self.own:
            o = attention(q, k, v)
        else:
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output_proj(o.transpose(1, 2).reshape(b, t, d))


class FeedForward(nn.Module):
    def __init__(self, d, ff):
        super().__init__()
        self.w1 = nn.Linear(d, ff, bias=False)
        self.w2 = nn.Linear(ff, d, bias=False)
        self.w3 = nn.Linear(d, ff, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, d, ff, heads):
        super().__init__()
        self.ln1, self.attn = Norm(d), Attention(d, heads)
        self.ln2, self.ffn = Norm(d), FeedForward(d, ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, vocab, d, ff, layers, heads):
        super().__init__()
        self.token_embeddings = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d, ff, heads) for _ in range(layers))
        self.ln_final = Norm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    @classmethod
    def like(cls, parameters, heads):
        """For a state_dict, whose shapes say everything but the number of heads."""
        vocab, d = parameters["token_embeddings.weight"].shape
        ff = parameters["layers.0.ffn.w1.weight"].shape[0]
        layers = sum(name.endswith(".ln1.weight") for name in parameters)
        return cls(vocab, d, ff, layers, heads)

    def forward(self, tokens, target):
        x = self.token_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        logits = self.lm_head(self.ln_final(x))
        return logits, F.cross_entropy(logits.flatten(0, 1), target.flatten())
