#!/usr/bin/env python3
"""The language model beside PyTorch's, on the same weights and data, in fp32.

    transformer_compare.py ASSAY [--variant v3] [--size small] [--context 128] [--steps 50]
                                 [--device cuda] [--folder DIR]

`ASSAY run` writes weights and tokens to an HDF5 file, from which the equivalent nn.Module loads them
by the names of its state_dict; what our variant then leaves is read by the same names.

Compared with PyTorch in float64: the loss and the gradient of every parameter, which may be off by
twice what PyTorch's own fp32 is (the baseline tier); and the losses of training on one batch, which
may be off by no more than twice what two fp32 runs of PyTorch with different orders of summation
were off so far. Exit 1 when something is beyond that.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import h5py
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../golden"))
from transformer_module import Attention, Transformer  # noqa: E402

SLACK = 2.0  # of PyTorch's own fp32 error


def run_assay(options, words, arguments):
    case = [f"size={options.size}", f"t={options.context}", "dtype=f32", *words]
    command = [options.assay, "run", f"transformer/{options.variant}", *case]
    command += ["--device", options.device, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def tensors(path, group):
    with h5py.File(path) as file:
        return {name: torch.from_numpy(data[()]) for name, data in file[group].items()}


class Peer:
    """One run of PyTorch; `order` chooses how it sums: sequences in reverse, another attention."""

    def __init__(self, options, given, dtype, order=0):
        parameters = {k: v for k, v in given.items() if k not in ("tokens", "target")}
        self.model = Transformer.like(parameters, heads_of(options.size))
        self.model.load_state_dict(parameters, strict=True)
        device = "cuda" if options.device == "cuda" else "cpu"
        self.model.to(device, dtype)
        for part in self.model.modules():
            if isinstance(part, Attention):
                part.own = order == 0
        self.tokens, self.target = (
            given[name][0].to(device, torch.int64) for name in ("tokens", "target")
        )
        if order == 1:
            self.tokens, self.target = self.tokens.flip(0), self.target.flip(0)

    def gradients(self):
        self.model.zero_grad(set_to_none=True)
        _, loss = self.model(self.tokens, self.target)
        loss.backward()
        return loss.item(), {n: p.grad.double().cpu() for n, p in self.model.named_parameters()}

    def train(self, steps):
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)
        losses = []
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            _, loss = self.model(self.tokens, self.target)
            loss.backward()
            optimiser.step()
            losses.append(loss.detach().double())
        return torch.stack(losses).cpu()


def heads_of(size):
    return {"tiny": 2, "small": 12, "medium": 16, "large": 20, "xl": 25, "2.7b": 32}[size]


def relative(got, want):
    return (torch.linalg.norm(got.double() - want) / torch.linalg.norm(want)).item()


def compare_gradients(options, given, folder):
    path = os.path.join(folder, "gradients.h5")
    with h5py.File(os.path.join(folder, "given.h5"), "r+") as file:
        file["cot/loss"][...] = 1
    run_assay(options, [], ["--in", os.path.join(folder, "given.h5"), "--out", path])
    ours = tensors(path, "grad")
    our_loss = tensors(path, "out")["loss"].double().item()
    exact_loss, exact = Peer(options, given, torch.float64).gradients()
    peer_loss, peer = Peer(options, given, torch.float32).gradients()
    if set(ours) != set(exact):
        sys.exit(f"names differ: {sorted(set(ours) ^ set(exact))[:4]}")
    classes = {}
    for name, want in exact.items():
        kind = re.sub(r"layers\.\d+\.", "layers.*.", name)
        mine, theirs = relative(ours[name], want), relative(peer[name], want)
        worst = classes.setdefault(kind, [0, 0.0, 0.0, 0.0])
        worst[0] += 1
        worst[1] = max(worst[1], mine)
        worst[2] = max(worst[2], theirs)
        worst[3] = max(worst[3], mine / theirs)
    print(f"loss: float64 {exact_loss:.9f}, off: ours {our_loss - exact_loss:+.2e}, "
          f"PyTorch fp32 {peer_loss - exact_loss:+.2e}")
    print("| gradients of | tensors | ours, rel. L2 | PyTorch fp32 | worst ratio |")
    print("|---|---|---|---|---|")
    for kind, (count, mine, theirs, ratio) in classes.items():
        print(f"| {kind} | {count} | {mine:.2e} | {theirs:.2e} | {ratio:.2f} |")
    # One number may be right by luck in PyTorch: half an ulp of the loss counts for it.
    ulp = exact_loss * 2.0**-24
    loss_right = abs(our_loss - exact_loss) <= SLACK * max(abs(peer_loss - exact_loss), ulp)
    return loss_right and all(worst[3] <= SLACK for worst in classes.values())


def compare_training(options, given, folder):
    path = os.path.join(folder, "training.h5")
    words = [f"steps={options.steps}"]
    with h5py.File(os.path.join(folder, "given.h5"), "r+") as file:
        del file["cot"]  # training has no cotangent
    run_assay(options, words, ["--in", os.path.join(folder, "given.h5"), "--out", path])
    ours = tensors(path, "out")["losses"].double()
    exact = Peer(options, given, torch.float64).train(options.steps)
    one = Peer(options, given, torch.float32).train(options.steps)
    other = Peer(options, given, torch.float32, order=1).train(options.steps)
    off = (ours - exact).abs()
    theirs = torch.maximum((one - exact).abs(), (other - exact).abs())
    spread = torch.maximum((one - other).abs(), theirs).cummax(0).values
    print(f"\n{options.steps} steps on one batch, off from float64:")
    print("| step | float64 | ours | PyTorch | PyTorch, another order | widest so far |")
    print("|---|---|---|---|---|---|")
    for at in sorted({*range(0, options.steps, max(1, options.steps // 10)), options.steps - 1}):
        print(f"| {at} | {exact[at]:.6f} | {off[at]:.1e} | {(one - exact)[at].abs():.1e} | "
              f"{(other - exact)[at].abs():.1e} | {spread[at]:.1e} |")
    ulp = exact.abs() * 2.0**-24
    return bool((off <= SLACK * torch.maximum(spread, ulp)).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assay", help="the assay program")
    parser.add_argument("--variant", default="v3")
    parser.add_argument("--size", default="small")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--folder", help="keeps the files there")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        path = os.path.join(folder, "given.h5")
        run_assay(options, [], ["--no-run", "--out", path])
        given = tensors(path, "in")
        count = sum(t.numel() for n, t in given.items() if n not in ("tokens", "target"))
        print(f"transformer/{options.variant} size={options.size} t={options.context}: {count} "
              f"parameters; PyTorch {torch.__version__}")
        right = compare_gradients(options, given, folder)
        right = compare_training(options, given, folder) and right
    print("within" if right else "BEYOND", f"{SLACK:g} times PyTorch's own fp32 error")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
