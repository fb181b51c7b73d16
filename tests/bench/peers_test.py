#!/usr/bin/env python3
"""Every arm of bench/peers, on the CPU, beside `assay run` on the simulated device.

    peers_test.py [--part I/N] ASSAY SOURCE ARM...

--part: only every Nth operator, from the Ith on, counted from 0. ASSAY is the program, SOURCE the
tree that it was built from; ARM `all` is every one in Python, and for `libtorch` ASSAY_LIBTORCH_ARM
names the program. Each case has two input sets; each stage's outputs and gradients are compared,
those of timed calls too. Triton's kernels run in its interpreter.
"""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy

from peer import Peer, Refused

# Of the largest element. fp64 tells one formula from another, the others one order of sums.
TOLERANCE = {"f64": 1e-11, "f32": 3e-5, "bf16": 3e-2, "f16": 4e-3}
SHORTCUT = "conv3d_groupnorm_mean"  # the operator that has this arm
MOVED = 1e-3  # of a training's way; without the decay of weights it is off by sixty times that

CASES = {
    "weighted_sum": ["n=5x7 d=33 dtype=f64", "n=none d=1 dtype=f64", "n=64 d=128 dtype=bf16",
                     "n=3 d=2100 dtype=f32"],
    "kronecker": ["b=3 f=4x5 q=6x2 dtype=f64", "b=2 f=3x4x5 layers=2 dtype=f64",
                  "b=5 f=7 dtype=f64", "b=16 f=32x32 dtype=f32",
                  "b=6 f=4x5 q=6x8 dtype=bf16"],
    "matmul_accumulate": ["m=33 n=17 k=41 iters=3 dtype=f64", "m=9 n=21 k=5 ta=1 tb=1 dtype=f64",
                          "m=16 n=16 k=16 iters=2 dtype=bf16"],
    "attention": ["b=2 h=2 sq=17 d=16 dtype=f32", "b=1 h=1 sq=31 d=24 causal=1 dtype=f32",
                  "b=1 h=2 sq=9 sk=41 d=17 causal=1 dtype=f32",
                  "b=1 h=2 sq=40 sk=33 d=32 dtype=bf16",
                  "b=1 h=1 sq=150 sk=140 d=20 dtype=f16"],
    "conv3d_groupnorm_mean": ["n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f64",
                              "n=3 ci=2 co=6 s=4x3x9 k=2 g=3 eps=0.25 dtype=f64"],
    "embedding": ["t=13 v=7 d=5 dtype=f64", "t=33 v=300 d=16 dtype=bf16"],
    "rmsnorm": ["n=3x5 d=33 dtype=f64", "n=6 d=64 residual=1 eps=0.25 dtype=f64",
                "n=8 d=96 dtype=bf16"],
    "linear": ["m=33 n=17 k=41 dtype=f64", "m=1 n=64 k=5 dtype=bf16"],
    "rope": ["b=2 h=3 s=7 d=16 dtype=f64", "b=1 h=2 s=6 d=12 theta=500000 start=1000 dtype=f32"],
    "swiglu": ["n=2x3 d=17 dtype=f64", "n=9 d=130 dtype=bf16"],
    "cross_entropy": ["t=13 v=37 dtype=f64", "t=9 v=65 gradient=1 dtype=f64",
                      "t=9 v=65 gradient=1 dtype=bf16"],
    "adamw": ["n=1000 dtype=f64",
              "n=77 step=10 lr=0.01 beta1=0.8 beta2=0.99 eps=1e-6 wd=0.1 dtype=f64"],
    "transformer": ["size=tiny dtype=f32", "size=tiny b=2 t=17 d=24 ff=40 heads=3 dtype=bf16",
                    "size=tiny b=1 t=8 steps=3 batches=2 dtype=f32"],
}  # fmt: skip


class Data:
    """What `assay run` computed of one case: arrays by group and name."""

    def __init__(self, assay, operator, words, seed, folder):
        path = os.path.join(folder, "run.h5")
        command = [assay, "run", f"{operator}/v1", *words.split(), f"seed={seed}"]
        subprocess.run([*command, "--device", "sim", "--out", path], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        with h5py.File(path) as file:
            groups = {kind: file.get(kind, {}) for kind in ("in", "cot", "out", "grad")}
            self.arrays = {
                kind: {name: values[()] for name, values in group.items()}
                for kind, group in groups.items()
            }
        self.dtype = words.rsplit("dtype=")[1].split()[0]
        self.operator = operator

    def dtype_of(self, kind, name):
        """As the signature says: indices, and what is fp32 whatever the case's dtype."""
        if self.arrays[kind][name].dtype == numpy.int32:
            return "i32"
        wide = self.dtype in ("bf16", "f16") and (
            name in ("lse", "loss") or self.operator == "transformer" and name != "logits"
        )
        return "f32" if wide else self.dtype


def give(peer, data):
    peer.begin_set()
    for kind in ("in", "cot"):
        for name, values in data.arrays[kind].items():
            peer.give(kind, name, data.dtype_of(kind, name), values.shape, values)
    for kind in ("out", "grad"):
        for name, values in data.arrays[kind].items():
            peer.give(kind, name, data.dtype_of(kind, name), values.shape)


def error_of(data, name, got, want):
    """As a part of what is allowed."""
    given = data.arrays["in"].get(name.removeprefix("new_"))
    if data.operator == "transformer" and given is not None and name.startswith("new_"):
        # AdamW moves a weight by up to lr, and where its gradient is but rounding noise, in a
        # direction of its own: how far all have moved together is what can be compared.
        moved = numpy.linalg.norm(want - given.astype("f8"))
        return numpy.linalg.norm(got - want) / moved / MOVED
    scale = max(numpy.abs(want).max(initial=0), 1e-30)
    return numpy.abs(got - want).max(initial=0) / scale / TOLERANCE[data.dtype]


def compare(peer, data, number, kinds, skipped):
    """The worst error of one set, and its tensor."""
    worst = (0.0, "")
    for kind in kinds:
        for name, want in data.arrays[kind].items():
            if name in skipped and kind == "out":
                continue
            error = error_of(data, name, peer.taken(number, kind, name), want)
            if not error <= worst[0]:  # NaN comes through here
                worst = (error, f"{kind}/{name}")
    return worst


KINDS = {"forward": ("out",), "backward": ("grad",), "forward+backward": ("out", "grad")}


def check_set(peer, sets, number, stage, when):
    peer.blank(number)
    words = peer.ask(f"take {number}").split()
    error, tensor = compare(peer, sets[number], number, KINDS[stage], words[1:])
    if not error <= 1:
        raise AssertionError(f"{stage}, {when}, set {number}: {tensor} is off by {error:.3g} times "
                             "what is allowed")  # fmt: skip
    return error


def samples(text, count):
    values = [float(word) for word in text.split()]
    if len(values) != count or not all(0 < value < 1e9 for value in values):
        raise AssertionError(f"{count} times wanted: {text}")


def check_stage(peer, sets, stage):
    peer.ask(f"ready {stage}")
    worst = 0.0
    for number in (1, 0):
        peer.ask(f"run {number}")
        worst = max(worst, check_set(peer, sets, number, stage, "run"))
    for cache in ("cold", "warm"):
        samples(peer.ask(f"time {cache} 3 1"), 3)
        worst = max(worst, check_set(peer, sets, 1, stage, cache))
    peer.ask("burst 3")
    worst = max(worst, check_set(peer, sets, 1, stage, "burst"))
    samples(peer.ask("self 2"), 1)
    if len(peer.ask("memory").split()) != 2:
        raise AssertionError("memory: two numbers wanted")
    peer.ask("done")
    return worst


def check_case(peer, arm, operator, words, sets):
    """A line about it; None where the arm has no such thing to offer."""
    peer.case(f"{operator} {words} seed=0")
    for data in sets:
        give(peer, data)
    worst, done = 0.0, []
    for stage in KINDS:
        if stage != "forward" and not sets[0].arrays["grad"]:
            continue
        try:
            worst = max(worst, check_stage(peer, sets, stage))
            done.append(stage)
        except Refused as refused:
            if "no unavailable" not in str(refused):
                raise
            done.append(f"({refused})")
    return f"{worst:.3f} of what is allowed; {', '.join(done)}"


def command(source, arm):
    if arm == "libtorch":
        return os.environ["ASSAY_LIBTORCH_ARM"], arm
    return sys.executable, os.path.join(source, "bench/peers/arm.py"), arm


def check_arm(source, arm, cases):
    """Whether all went well. The arm that is published and wrong must be found wrong."""
    os.environ["TRITON_INTERPRET"] = "1" if arm.startswith("triton") else "0"
    peer = Peer(*command(source, arm))
    print(f"{arm}: {peer.ask('hello sim')}", flush=True)
    right = True
    for operator, words, sets in cases:
        ends = CASES[operator][0], CASES[operator][-1]
        if arm.startswith("torch-compile") and words not in ends:
            continue  # it takes its time
        if arm == "triton" and operator == "attention" and "dtype=bf16" in words:
            continue  # Triton's interpreter takes bf16 factors for integers
        try:
            line = check_case(peer, arm, operator, words, sets)
        except Refused as refused:
            if "has no arm" in str(refused) or "no peer of" in str(refused):
                continue
            line, right = f"WRONG: {refused}", False
        except AssertionError as error:
            if arm != "shortcut":
                right = False
            line = f"WRONG: {error}" if arm != "shortcut" else f"found wrong, as it should: {error}"
        else:
            if arm == "shortcut":
                line, right = f"WRONG: not found wrong: {line}", False
        print(f"  {operator} {words}: {line}", flush=True)
    return peer.end() == 0 and right


def check_manners(source, arm):
    """Bad lines get an answer each, and the arm goes on."""
    peer = Peer(*command(source, arm), size=4096)
    wanted = (
        ("nonsense", "no error no such command"),
        ("", "no error no such command"),
        ("case linear m=2 n=2 k=2 dtype=f32 seed=0", "no error say `hello`"),
        ("hello tpu", "no error tpu is no device"),
        ("hello sim", "ok"),
        ("set 0", "no error say `case`"),
        ("case unheard_of n=1", "no unavailable"),
        ("case linear m=2 n=2 k=2 dtype=f32 seed=0", "ok TF32: matmul off, cuDNN off"),
        ("in x f32 0 2 2", "no error in x: say `set 0`"),
        ("set 1", "no error set 1 comes after 0 sets"),
        ("set 0", "ok"),
        ("in x f32 4092 2 2", "no error x lies outside of the shared memory"),
        ("in x f32 -4 2 2", "no error x lies outside of the shared memory"),
        ("in x f32 0 -2 2", "no error x has an extent that cannot be"),
        ("in x f32 0 4194304 4194304 4194304", "no error x"),
        ("in x f8 0 2 2", "no error f8 is no dtype"),
        ("in x f32 zero 2 2", "no error"),
        ("in x", "no error"),
        ("in x f32 0 2 2", "ok"),
        ("in w f32 256 2 2", "ok"),
        ("out y f32 512 2 3", "ok"),
        ("run 0", "no error set 0: 0 sets are ready"),
        ("time cold 1 1", "no error say `ready`"),
        ("ready sideways", "no error sideways is no stage"),
        ("ready backward", "no error ready: no `cot`"),
        ("ready forward", "ok"),
        ("time tepid 1 1", "no error tepid is no cache state"),
        ("run 1", "no error set 1: 1 sets are ready"),
        ("run", "no error"),
        ("run 0", "ok"),
        ("take 0", "no error y has another shape or dtype"),
        ("case linear m=1 n=1 k=1 dtype=f32 math=tf32 seed=0", "ok TF32: matmul on, cuDNN on"),
        ("take 0", "no error set 0: 0 sets are ready"),
        ("done", "ok"),
    )  # fmt: skip
    right = True
    for line, answer in wanted:
        peer.say(line)
        got = peer.hear()
        if not got.startswith(answer):
            print(f"WRONG: {line!r}: {got!r}, not {answer!r}")
            right = False
    return peer.end() == 0 and right


def check_memory(source):
    """A case that does not fit is named so, and the next one is none the worse. 196 TB of scores are more
    than a process can address: a host that grants what it does not have would end it for less."""
    peer = Peer(*command(source, "torch"), size=1 << 27)
    peer.ask("hello sim")
    right = True
    for words, answer in (("sq=7000000", "no memory"), ("sq=10", "ok")):
        peer.case(f"attention b=1 h=1 {words} d=1 dtype=f32 seed=0")
        peer.begin_set()
        for name in "qkv":
            peer.give("in", name, "f32", (1, 1, int(words[3:]), 1))
        peer.say("ready forward")
        got = peer.hear()
        if not got.startswith(answer):
            print(f"WRONG: attention {words}: {got!r}, not {answer!r}")
            right = False
    return peer.end() == 0 and right


def all_cases(assay, folder, operators):
    for operator in operators:
        for words in CASES[operator]:
            sets = [Data(assay, operator, words, seed, folder) for seed in (0, 1)]
            yield operator, words, sets


def expanded(source, arms):
    if "all" not in arms:
        return arms
    sys.path.insert(0, os.path.join(source, "bench/peers"))
    import operators

    return operators.all_arms() + [arm for arm in arms if arm != "all"]


def main():
    words, part, parts = sys.argv[1:], 0, 1
    if words[0] == "--part":
        part, parts = map(int, words[1].split("/"))
        words = words[2:]
    assay, source, *arms = words
    with tempfile.TemporaryDirectory() as folder:
        cases = list(all_cases(assay, folder, list(CASES)[part::parts]))
    last = part == parts - 1
    right = not last or check_memory(source)
    for arm in expanded(source, arms):
        if arm == "shortcut" and SHORTCUT not in [operator for operator, _, _ in cases]:
            continue  # PyTorch takes seconds to start
        if arm in ("torch", "libtorch") and last:
            right = check_manners(source, arm) and right
        right = check_arm(source, arm, cases) and right
    print("all arms are right" if right else "SOME ARMS ARE WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
