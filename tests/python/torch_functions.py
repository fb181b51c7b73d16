import torch


def weighted_sum(x, w):
    return (x * w).sum(-1)


def other_names(values, weights):  # which stand for the inputs by their order
    return (values * weights).sum(-1)


def wrong_gradient(x, w):
    return (x.detach() * w).sum(-1)


@torch.no_grad()
def forward_only(x, w):
    return (x * w).sum(-1)


def other_stream(x, w):  # which nothing orders after the one that the inputs come on
    with torch.cuda.stream(torch.cuda.Stream()):
        return (x * w).sum(-1)


def on_the_host(x, w):
    return (x.cpu() * w.cpu()).sum(-1)
