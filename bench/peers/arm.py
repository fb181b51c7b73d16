#!/usr/bin/env python3
"""A peer of `assay bench`: PyTorch and Triton, by the protocol of docs/bench.md.

    arm.py ARM

Lines on standard input, an answer to each on standard output, tensors in file descriptor 3.
docs/peers.md lists the arms.
"""

import functools
import os
import sys
import traceback


class Arm:
    """The commands, by name. PyTorch is imported by `hello`, so that its absence is an answer."""

    def __init__(self, name):
        self.name = name
        self.device = self.work = self.timer = self.shared = None

    # ---- the case ----

    def hello(self, device):
        if device not in ("cuda", "sim"):
            raise ValueError(f"{device} is no device; one of cuda sim")
        import computation
        import operators

        if self.name not in operators.all_arms():
            raise ValueError(f"no arm {self.name}; one of {' '.join(operators.all_arms())}")
        import switches
        import timer
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise computation.Unavailable("PyTorch sees no GPU here")
        switches.set_always()
        self.device = "cuda" if device == "cuda" else "cpu"
        self.timer = timer.CudaTimer() if device == "cuda" else timer.HostTimer()
        return switches.versions(self.device)

    def case(self, *words):
        import switches
        from case import Case
        from shared import Shared
        from work import Work

        if self.timer is None:
            raise ValueError("say `hello` before")
        self.forget()
        case = Case(" ".join(words))
        case.device = self.device
        switches.set_tf32(case.tf32)
        self.shared = self.shared or Shared()
        self.work = Work(self.name, case)
        return f"{switches.precision()}{self.work.description()}"

    def forget(self):
        if self.work is not None:
            self.timer.forget()
            self.work.release()
        self.work = None

    def at_work(self):
        if self.work is None:
            raise ValueError("say `case` before")
        return self.work

    # ---- its tensors ----

    def set(self, number):
        self.at_work().begin_set(int(number))

    def declare(self, name, dtype, offset, *shape, kind):
        work = self.at_work()
        extents = [int(extent) for extent in shape]
        work.declare(kind, name, self.shared.tensor(name, dtype, int(offset), extents))

    # ---- calls ----

    def ready(self, stage):
        work = self.at_work()
        self.timer.forget()
        work.ready(stage)
        self.timer.synchronise()

    def run(self, number):
        call = self.at_work().call(int(number))
        call.prepare()
        call.run()
        self.timer.synchronise()

    def take(self, number):
        skipped = self.at_work().take(int(number))
        return " ".join(["SKIPPED", *skipped]) if skipped else None

    def time(self, cache, count, last):
        del last  # every call is given the data as they are
        kinds = {"cold": self.timer.cold, "warm": self.timer.warm}
        if cache not in kinds:
            raise ValueError(f"{cache} is no cache state; one of {' '.join(kinds)}")
        samples = kinds[cache](self.at_work().turn(), int(count))
        return " ".join(f"{sample:.4f}" for sample in samples)

    def burst(self, count):
        self.timer.burst(self.at_work().turn(), int(count))

    def memory(self):
        return " ".join(map(str, self.at_work().memory()))

    def customary(self, count):
        from timer import customary

        median = customary(self.at_work().turn()[0], int(count), self.device == "cuda")
        return f"{median:.4f}"

    def done(self):
        work = self.at_work()
        self.timer.forget()
        work.release()

    COMMANDS = {
        "hello": hello,
        "case": case,
        "set": set,
        "in": functools.partial(declare, kind="in"),
        "cot": functools.partial(declare, kind="cot"),
        "out": functools.partial(declare, kind="out"),
        "grad": functools.partial(declare, kind="grad"),
        "ready": ready,
        "run": run,
        "take": take,
        "time": time,
        "burst": burst,
        "memory": memory,
        "self": customary,
        "done": done,
    }

    # ---- answers ----

    def answer(self, line):
        words = line.split()
        try:
            if not words or words[0] not in self.COMMANDS:
                raise ValueError(f"no such command: {line.strip()[:80]}")
            found = self.COMMANDS[words[0]](self, *words[1:])
            return f"ok {found}" if found else "ok"
        except Exception as error:
            return self.refusal(error)

    def refusal(self, error):
        kind, reason = classify(error)
        if kind == "error":
            traceback.print_exception(error, file=sys.stderr)
        if kind == "memory" and self.work is not None:
            error.__traceback__ = None  # its frames hold tensors
            self.timer.forget()
            self.work.release()
        return f"no {kind} {reason}"


# How libraries put it that only say RuntimeError.
NO_ROOM = ("out of memory", "ALLOC_FAILED", "DefaultCPUAllocator")


def classify(error):
    """The class of a refusal, and one line for people."""
    lines = str(error).strip().splitlines()
    line = lines[0] if lines else "no reason given"
    name = type(error).__name__
    if name == "Unavailable":
        return "unavailable", line
    if name == "ModuleNotFoundError" and error.name == "torch":
        return "unavailable", "PyTorch is not installed: pip install torch"
    if name in ("OutOfMemoryError", "MemoryError") or any(text in str(error) for text in NO_ROOM):
        return "memory", line
    if isinstance(error, (ValueError, TypeError)):
        return "error", line
    return "error", f"{name}: {line}"


def own_output():
    """The stream of the answers. Output of libraries goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    answers = own_output()
    arm = Arm(sys.argv[1])
    for line in sys.stdin:
        print(arm.answer(line), file=answers)


if __name__ == "__main__":
    main()
