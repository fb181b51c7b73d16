import torch


def weighted_sum(x, w):
    return (x * w).sum(-1)


def wrong_gradient(x, w):
    return (x.detach() * w).sum(-1)


@torch.no_grad()
def forward_only(x, w):
    return (x * w).sum(-1)
