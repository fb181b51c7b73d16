"""Requests and answers. A request is a message of a word and numbers, with a file of fp64 numbers:
those that are given, then room for those that are asked for."""
import inspect
import mmap
import os
import re
import socket
import sys

import numpy as np

from . import load, spread


class Reference:
    def __init__(self, words):
        self.file, _, self.name = words.partition(":")
        self.file = os.path.abspath(self.file)
        self.module, library = load.module(self.file)
        self.steps = load.steps(library)
        self.made = load.made(self.module, self.file, self.name, library)
        self.function, self.names = self.made.function, self.made.names
        self.inputs = self.draw(0)
        outputs = self.steps.run(self.function, self.inputs, None, [False] * len(self.inputs), spread.Steps.plain())
        self.outputs = [np.asarray(y) for y in outputs]
        if not self.outputs:
            raise load.Bad("it returned nothing")
        self.differentiable = [x.dtype == np.float64 for x in self.inputs]
        self.cotangents = [y.dtype == np.float64 for y in self.outputs]
        self.gradients = self.has_gradients()

    def draw(self, seed):
        """Its own inputs, with the parameters of a model behind them."""
        return [load.array(x) for x in self.made.draw(seed)]

    def has_gradients(self):
        if not hasattr(self.steps, "DERIVES") or not any(self.differentiable):
            return False
        try:
            some = [np.ones(y.shape) if c else None for y, c in zip(self.outputs, self.cotangents)]
            self.steps.run(self.function, self.inputs, some, self.differentiable, spread.Steps.plain())
            return any(self.cotangents)
        except Exception:
            return False

    def describe(self):
        stem = os.path.splitext(os.path.basename(self.file))[0].lower()
        lines = ["op " + re.sub(r"^[^a-z]+", "", re.sub(r"[^a-z0-9_]", "_", stem))[:40]]

        def line(what, name, x, differentiable):
            kind = "f" if x.dtype == np.float64 else "i"
            return f"{what} {name} {kind} {int(differentiable)} {x.ndim} {' '.join(map(str, x.shape))}".rstrip()

        lines += [line("in", n, x, d and self.gradients)
                  for n, x, d in zip(self.names, self.inputs, self.differentiable)]
        names = self.output_names()
        lines += [line("out", n, y, d and self.gradients) for n, y, d in zip(names, self.outputs, self.cotangents)]
        return "\n".join(lines)

    def output_names(self):
        """None that an input has, nor is a cotangent called so: (x, y) are inputs of a loss."""
        count = len(self.outputs)
        for stem in ("y", "out", "result"):
            names = [stem] if count == 1 else [f"{stem}{i}" for i in range(count)]
            if not {n for name in names for n in (name, f"d{name}")} & set(self.names):
                return names
        raise load.Bad("its parameters have the names that results are given: y, out and result")

    # ---- numbers ----

    def take(self, numbers, like):
        """Arrays of the same shapes and kinds, from the numbers; and the rest of these."""
        arrays, at = [], 0
        for x in like:
            values = numbers[at : at + x.size].reshape(x.shape)
            arrays.append(values.copy() if x.dtype == np.float64 else values.astype(x.dtype))
            at += x.size
        return arrays, numbers[at:]

    def answer(self, word, numbers):
        """Writes the numbers that are asked for; returns a letter for each result: why it cannot be judged."""
        if word.startswith("data"):
            for x, y in zip(self.take(numbers, self.inputs)[0], drawn := self.draw(int(word.split()[1]))):
                if x.shape != y.shape:
                    raise load.Bad("get_inputs() returned other shapes than before")
            self.put(numbers, drawn)
            return ""
        backward = word.endswith("backward")
        arrays, rest = self.take(numbers, self.inputs)
        cotangents = None
        if backward:
            given, rest = self.take(rest, [y for y, c in zip(self.outputs, self.cotangents) if c])
            left = iter(given)
            cotangents = [next(left) if c else None for c in self.cotangents]

        def run(xs, steps, followed=True):
            results = self.steps.run(self.function, xs, cotangents, self.differentiable, steps, followed)
            return results[len(self.outputs) :] if backward else results

        if not word.startswith("bound"):
            with np.errstate(all="ignore"):
                self.put(rest, run(arrays, spread.Steps.plain()))
            return ""
        return self.bound(run, arrays, rest, backward)

    def bound(self, run, arrays, rest, backward):
        truth, tolerance, large = spread.tolerances(run, arrays)
        steps = spread.Steps.plain()
        with np.errstate(all="ignore"):
            run(arrays, steps)
            plain = [np.asarray(r, dtype=np.float64) for r in run(arrays, steps, False)]
        for p, t in zip(plain, truth):
            if not steps.narrowed and not np.allclose(p, t, rtol=1e-9, atol=1e-12 * (1 + np.abs(p[np.isfinite(p)]).max(initial=0)), equal_nan=True):
                raise load.Bad("step by step it computes something else: it cannot be followed")
        whole = [not backward and y.dtype != np.float64 for y in self.outputs] + [False] * len(truth)
        self.put(rest, truth + tolerance)
        return "".join(self.letter(t, b, large, w) for t, b, w in zip(truth, tolerance, whole))

    @staticmethod
    def letter(truth, tolerance, large, whole):
        if large:
            return "L"
        if whole:  # where it moves with its inputs' last bits, another index is as right
            return "T" if np.any(tolerance != 0) else "-"
        finite = np.isfinite(truth)
        if not finite.any():
            return "-"
        rms = np.sqrt(np.mean(truth[finite] ** 2))
        undecided = ~(tolerance[finite] <= 0.5 * np.maximum(np.abs(truth[finite]), rms))
        return "U" if undecided.mean() > 0.5 else "-"

    def put(self, numbers, arrays):
        at = 0
        for x in arrays:
            x = np.asarray(x, dtype=np.float64)
            numbers[at : at + x.size] = x.ravel()
            at += x.size


def serve(reference, channel):
    while True:
        message, files, _, _ = socket.recv_fds(channel, 256, 1)
        if not message:
            return 0
        word = message.decode()
        try:
            if word == "describe":
                text = "ok\n" + reference.describe()
            else:
                size = os.fstat(files[0]).st_size
                with mmap.mmap(files[0], size) as memory:
                    numbers = np.frombuffer(memory, dtype=np.float64)
                    text = "ok " + reference.answer(word, numbers)
                    del numbers
        except Exception as error:
            text = "bad " + load.describe(error, reference.file)
        for file in files:
            os.close(file)
        channel.send(text.encode())


def main(words):
    channel = socket.socket(fileno=3)
    try:
        reference = Reference(words)
    except Exception as error:
        channel.send(f"bad {load.describe(error, words.partition(':')[0])}".encode())
        return 1
    channel.send(b"ready")
    return serve(reference, channel)
