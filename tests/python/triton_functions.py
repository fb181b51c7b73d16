"""weighted_sum by a kernel of Triton's, with its gradients, and with usual bugs."""
import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(x, w, y, stride, d, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < d if MASKED else at >= 0
    product = tl.load(x + row * stride + at, inside, 0).to(tl.float32) * tl.load(w + at, inside, 0).to(tl.float32)
    tl.store(y + row, tl.sum(product, 0).to(y.dtype.element_ty))


def launch(x, w, stride, masked=True):
    y = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    row_sum[(y.numel(),)](x, w, y, stride, x.shape[-1], triton.next_power_of_2(x.shape[-1]), masked)
    return y


class WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return launch(x, w, x.stride(-2))

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dy = dy.float()[..., None]
        return (dy * w.float()).to(x.dtype), (dy * x.float()).flatten(0, -2).sum(0).to(w.dtype)


class WithoutCotangent(WeightedSum):
    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return WeightedSum.backward(ctx, dy)[0], x.float().flatten(0, -2).sum(0).to(w.dtype)


def weighted_sum(x, w):
    return WeightedSum.apply(x, w)


def unmasked(x, w):  # reads behind the end of a row
    return launch(x, w, x.stride(-2), masked=False)


def packed(x, w):  # rows have no gaps between them
    return launch(x, w, x.shape[-1])


def no_cotangent(x, w):
    return WithoutCotangent.apply(x, w)
