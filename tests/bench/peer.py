"""The parent's side of docs/bench.md's protocol, for trying peers: one process, its memory."""

import math
import mmap
import os
import subprocess

import numpy

SIZES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i32": 4}
TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i32": "i4"}


def encoded(values, dtype):
    """Bytes; bf16 are the upper halves of fp32 that are exactly of that type."""
    if dtype == "bf16":
        return (numpy.asarray(values, "f4").view("u4") >> 16).astype("u2").tobytes()
    return numpy.asarray(values).astype(TYPES[dtype]).tobytes()


def decoded(memory, dtype):
    if dtype == "bf16":
        return (numpy.frombuffer(memory, "u2").astype("u4") << 16).view("f4").astype("f8")
    return numpy.frombuffer(memory, TYPES[dtype]).astype("f8")


class Refused(Exception):
    """The answer was `no ...`."""


class Peer:
    def __init__(self, *command, size=1 << 26, errors=None):
        self.descriptor = os.memfd_create("peer")
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)
        self.free = 0
        self.places = {}  # (set, kind, name) -> (offset, dtype, shape)
        # Descriptor 3 of the peer, and not of this process, where it may be another file.
        script = f'exec 3<&{self.descriptor}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            pass_fds=(self.descriptor,),
        )

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line):
        """What came after `ok`."""
        self.say(line)
        answer = self.hear()
        if answer != "ok" and not answer.startswith("ok "):
            raise Refused(f"{line}: {answer or 'the peer has ended'}")
        return answer[3:]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.memory.close()
        os.close(self.descriptor)
        return self.process.wait()

    # ---- tensors ----

    def case(self, text):
        self.free, self.places, self.sets = 0, {}, 0
        return self.ask(f"case {text}")

    def begin_set(self):
        self.ask(f"set {self.sets}")
        self.sets += 1

    def give(self, kind, name, dtype, shape, values=None):
        """kind: in, cot, out, grad. Results are blanked."""
        size = math.prod(shape) * SIZES[dtype]
        data = b"\xff" * size if values is None else encoded(values, dtype)
        self.memory[self.free : self.free + size] = data
        self.places[self.sets - 1, kind, name] = (self.free, dtype, shape)
        self.ask(" ".join([kind, name, dtype, str(self.free), *map(str, shape)]))
        self.free += (size + 255) // 256 * 256

    def taken(self, number, kind, name):
        offset, dtype, shape = self.places[number, kind, name]
        size = math.prod(shape) * SIZES[dtype]
        return decoded(self.memory[offset : offset + size], dtype).reshape(shape)

    def blank(self, number):
        for (owner, kind, _), (offset, dtype, shape) in self.places.items():
            if owner == number and kind in ("out", "grad"):
                size = math.prod(shape) * SIZES[dtype]
                self.memory[offset : offset + size] = b"\xff" * size
