#!/usr/bin/env python3
"""An arm of `assay bench` that is a Python function, by the protocol of docs/bench.md.

    function.py GUEST FILE:NAME[,BACKWARD]

GUEST is guest.py of python/guest, whose modules say what a function is given and what it returns.
Here its arguments are made before it is timed, and its results are copied after that.
"""

import importlib.util
import json
import math
import mmap
import os
import sys
import types

FOLDER = sys.path.pop(0)  # its modules are no modules of the function's


def module_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


arm = module_of(f"{FOLDER}/arm.py", "assay_bench_arm")
ROLES = {"in": "input", "cot": "cotangent", "out": "output", "grad": "gradient"}
SIZE = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i32": 4}


class Unavailable(Exception):
    """It cannot be timed here; a line."""


# ---- memory ----


class HostMemory:
    """Tensors of NumPy's and JAX's functions."""

    def __init__(self):
        import numpy

        self.numpy = numpy

    def of(self, count):
        return self.numpy.zeros(max(count, 1), dtype=self.numpy.uint8)

    def address(self, memory):
        return memory.ctypes.data

    def write(self, memory, source):
        memory[: len(source)] = source

    def read(self, memory, target):
        target[:] = memory[: len(target)]

    def swap(self, memory, size, i, j):
        a, b = (slice(k * size, (k + 1) * size) for k in (i, j))
        memory[a], memory[b] = memory[b].copy(), memory[a].copy()


class TorchMemory(HostMemory):
    """The GPU's, for PyTorch's and CuPy's functions; both work on the timer's stream."""

    def __init__(self):
        super().__init__()
        import torch

        self.torch = torch

    def of(self, count):
        return self.torch.zeros(max(count, 1), dtype=self.torch.uint8, device="cuda")

    def address(self, memory):
        return memory.data_ptr()

    def write(self, memory, source):
        memory[: len(source)].copy_(self.torch.from_numpy(source.copy()))

    def read(self, memory, target):
        target[:] = memory[: len(target)].cpu().numpy()

    def swap(self, memory, size, i, j):
        a, b = (slice(k * size, (k + 1) * size) for k in (i, j))
        before = memory[a].clone()
        memory[a] = memory[b]
        memory[b] = before


# ---- calls ----


class Set:
    """An input set: tensors as the guest has them, in memory of their own, and where they came from."""

    def __init__(self, room, kinds, shared):
        self.room, self.shared, self.memory, self.tensors = room, shared, {}, []
        for kind in ("in", "out", "cot", "grad"):
            for name, (dtype, offset, shape) in kinds[kind].items():
                self.tensors.append(self.tensor(kind, name, dtype, offset, shape, kinds))

    def tensor(self, kind, name, dtype, offset, shape, kinds):
        count = math.prod(shape) * SIZE[dtype]
        memory = self.room.of(count)
        stride = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        full = name if kind in ("in", "out") else f"d{name}"
        self.memory[full] = memory, offset, count
        if kind in ("in", "cot"):
            self.room.write(memory, self.shared[offset : offset + count])
        return sys.modules["assay_guest_calls"].Tensor({
            "name": full, "role": ROLES[kind], "dtype": dtype, "shape": shape, "stride": stride,
            "differentiable": name in kinds["cot" if kind in ("out", "cot") else "grad"],
            "data": self.room.address(memory),
        })  # fmt: skip

    def swap(self, i, j):
        """Two elements of each input change places: no call repeats another."""
        for t in self.tensors:
            count = math.prod(t.shape)
            if t.role == "input" and count > 1:
                self.room.swap(self.memory[t.name][0], SIZE[t.dtype], i % count, j % count)

    def take(self, name):
        memory, offset, count = self.memory[name]
        self.room.read(memory, self.shared[offset : offset + count])


class Call:
    """What is timed, on one set. The timer clears `outputs` and `gradients` as it does a peer's."""

    computation = types.SimpleNamespace(in_place=False)

    def __init__(self, own, given, call, stage):
        self.own, self.set, self.call, self.stage = own, given, call, stage
        self.outputs = self.gradients = None
        self.swapped, self.left, self.number = None, 0, 0
        self.bind()

    def bind(self):
        arrays, (first, _) = self.own.arrays, self.own.functions
        taken = {t.name: arrays.take(t) for t in self.set.tensors}
        self.value = lambda tensor: taken[tensor.name]
        self.passed = first.passed(self.call(False))
        self.arguments = first.values(self.call(False), self.value)

    # ---- untimed ----

    def prepare(self):
        self.outputs = self.gradients = None
        if self.swapped:
            self.set.swap(*self.swapped)
        moved, self.swapped = self.swapped is not None, None
        self.left -= 1
        if self.left > 0:
            self.number += 1
            self.swapped = self.number, self.number * 7919 + 1
            self.set.swap(*self.swapped)
            moved = True
        if moved and self.own.copies:
            self.bind()
        self.pull = self.backward_of() if self.stage == "backward" else None

    def backward_of(self):
        first, second = self.own.functions
        call = self.call(True)
        if second is None:
            return self.own.arrays.pull(first, call, self.value)
        if self.stage == "backward":  # it may read what forward left
            self.give(self.forward(), self.call(False))
            if self.own.copies:
                self.bind()
        args, keywords = second.values(call, self.value)
        passed = second.passed(call)
        rest = [t for t in call.written if t not in passed]

        def pull():
            returned = second.function(*args, **keywords)
            return second.results(returned, rest) if rest else []

        return pull

    # ---- timed ----

    def forward(self):
        args, keywords = self.arguments
        return self.own.functions[0].function(*args, **keywords)

    def run(self):
        if self.stage == "forward":
            self.outputs = self.forward()
            self.own.finish(self.outputs)
        elif self.stage == "backward":
            self.gradients = self.pull()
            self.own.finish([array for _, array in self.gradients])
        else:
            self.both()

    def both(self):
        """A derived gradient computes forward itself."""
        first, second = self.own.functions
        if second is not None:
            self.outputs = self.forward()
            self.give(self.outputs, self.call(False))
            self.gradients = self.backward_of()()
        else:
            pull = self.own.arrays.pull(first, self.call(True), self.value)
            self.outputs, self.gradients = pull.outputs, pull()
        self.own.finish([array for _, array in self.gradients])

    # ---- after ----

    def give(self, returned, call):
        rest = [t for t in call.written if t not in self.passed]
        for tensor, array in self.own.functions[0].results(returned, rest) if rest else ():
            self.own.arrays.give(tensor, array)

    def release(self):
        self.outputs = self.gradients = self.pull = None

    def store(self):
        if self.stage != "backward":
            self.give(self.outputs, self.call(False))
        if self.stage != "forward":
            for tensor, array in self.gradients:
                self.own.arrays.give(tensor, array)


# ---- the arm ----


class Work:
    """arm.Arm asks it."""

    def __init__(self, own, text, shared):
        self.own, self.text, self.shared = own, text, shared
        self.keys, self.given, self.calls, self.sets = {}, [], [], []

    def begin_set(self, number):
        if number != len(self.given):
            raise ValueError(f"set {number} comes after {len(self.given)} sets")
        self.given.append({kind: {} for kind in ROLES})

    def describe(self, backward, tensors):
        """A call as the guest is asked for it."""
        module = sys.modules["assay_guest_calls"]
        call = module.Call.__new__(module.Call)
        words = dict(w.split("=", 1) for w in self.text.split()[1:])
        call.__dict__.update(
            stage="backward" if backward else "forward", backward=backward, op=self.text.split()[0],
            device=self.own.device, dtype=words.get("dtype", "f32"), stream=self.own.stream, keys=self.keys,
            tensors=[t for t in tensors if backward or t.role in ("input", "output")],
        )  # fmt: skip
        return call

    def ready(self, stage):
        self.release()
        self.own.load()
        first, second = self.own.functions
        for given in self.given:
            self.sets.append(Set(self.own.room, given, self.shared))
        call = self.describe(stage != "forward", self.sets[0].tensors)
        try:
            self.own.arrays.supports(call)
            first.names(self.describe(False, self.sets[0].tensors))
            if stage != "forward" and second is None:
                self.own.door.check_derivative(call)
        except sys.modules["assay_guest_calls"].Unsupported as error:
            raise Unavailable(str(error)) from None
        with self.own.during(call):
            for one in self.sets:
                both = [self.describe(b, one.tensors) for b in (False, True)]
                self.calls.append(Call(self.own, one, lambda b, both=both: both[b], stage))
            for one in self.calls:
                one.prepare()
                one.run()

    def call(self, number):
        if not 0 <= number < len(self.calls):
            raise ValueError(f"set {number}: {len(self.calls)} sets are ready")
        return self.calls[number]

    def turn(self):
        if not self.calls:
            raise ValueError("say `ready` before")
        return self.calls[1:] or self.calls

    def take(self, number):
        self.call(number).store()
        one = self.sets[number]
        for t in one.tensors:
            stages = {"output": ("forward", "forward+backward"), "gradient": ("backward", "forward+backward")}
            if self.calls[number].stage in stages.get(t.role, ()):
                one.take(t.name)
        return []

    def memory(self):
        return 0, 0

    def release(self):
        self.calls, self.sets = [], []


class JaxTimer:
    """By the host's clock, until the results are there. On a GPU, JAX's own stream is not to be had, and
    the L2 cache is overwritten by an array before."""

    def __init__(self, host, cuda):
        import jax

        self.jax, self.host = jax, host
        self.filler = jax.numpy.zeros(256 << 20, dtype="uint8") if cuda else None

    def flush(self):
        if self.filler is not None:
            self.filler = self.jax.block_until_ready(self.filler + 1)

    def cold(self, calls, count):
        samples = []
        for call in self.host.in_turn(calls, count):
            prepare = call.prepare
            call.prepare = lambda: (prepare(), self.flush())
            samples += self.host.HostTimer.cold(self, [call], 1)
            call.prepare = prepare
        return samples

    def warm(self, calls, count):
        return self.host.HostTimer.warm(self, calls, count)

    def burst(self, calls, count):
        self.host.HostTimer.burst(self, calls, count)

    def forget(self):
        pass

    synchronise = forget


class Function(arm.Arm):
    def __init__(self, guest, words):
        super().__init__(words)
        self.file, names = words.rsplit(":", 1)
        folder = os.path.dirname(guest)
        calls, source = (module_of(f"{folder}/{n}.py", f"assay_guest_{n}") for n in ("calls", "source"))
        self.modules = module_of(f"{folder}/arrays.py", "assay_guest_arrays")
        self.door = calls.Door(source.read(self.file), names.split(","))
        self.functions = self.shared = None

    # ---- the function ----

    def load(self):
        """Executes the file; then the timer of what its arrays are."""
        if self.functions is not None:
            return
        self.door.load()
        self.functions, self.arrays = self.door.functions, self.door.arrays
        self.copies = self.arrays.name == "JAX"

    def start(self):
        self.load()
        name, cuda = self.arrays.name, self.device == "cuda"
        self.finish = lambda returned: None
        self.stream = 0
        if cuda and name == "NumPy":
            raise Unavailable("NumPy has no arrays on a GPU: --device sim")
        if not cuda and name == "CuPy":
            raise Unavailable("CuPy has arrays on a GPU alone: --device cuda")
        if cuda and importlib.util.find_spec("torch") is None:
            raise Unavailable("functions on a GPU are timed by PyTorch's events: install torch")
        timer = module_of(f"{FOLDER}/timer.py", "assay_bench_timer")
        self.room = TorchMemory() if cuda else HostMemory()
        if name == "JAX":
            self.finish = self.arrays.jax.block_until_ready
            self.timer = JaxTimer(timer, cuda)
        elif not cuda:
            self.timer = timer.HostTimer()
        else:
            self.timer = timer.CudaTimer()
            self.stream = self.timer.stream.cuda_stream
            if name == "CuPy":
                self.timer._capture = lambda calls: None  # its allocations are no part of a graph
        return "the host's clock" if name == "JAX" or not cuda else "CUDA events"

    def during(self, call):
        return self.arrays.during(call)

    # ---- what it is asked ----

    def hello(self, device):
        if device not in ("cuda", "sim"):
            raise ValueError(f"{device} is no device; one of cuda sim")
        self.device = device
        clock = self.start()
        name = {"PyTorch": "torch", "NumPy": "numpy", "JAX": "jax", "CuPy": "cupy"}[self.arrays.name]
        version = getattr(sys.modules[name], "__version__", "")
        return f"{self.arrays.name} {version}, Python {sys.version.split()[0]}, timed by {clock}"

    def case(self, *words):
        if self.timer is None:
            raise ValueError("say `hello` before")
        self.forget()
        if self.shared is None:
            import numpy

            self.shared = numpy.frombuffer(mmap.mmap(3, os.fstat(3).st_size), dtype=numpy.uint8)
        self.work = Work(self, " ".join(words), self.shared)

    def keys(self, *words):
        self.at_work().keys = json.loads(" ".join(words))

    def declare(self, name, dtype, offset, *shape, kind):
        self.at_work().given[-1][kind][name] = dtype, int(offset), [int(extent) for extent in shape]

    def run(self, number):
        self.at_work().call(int(number)).left = 0
        super().run(number)

    def time(self, cache, count, last):
        calls = self.at_work().turn()
        for i, call in enumerate(calls):
            call.left = len(range(i, int(count), len(calls))) if cache == "cold" else 0
            if cache == "warm":
                call.prepare()
        return super().time(cache, count, last)

    def burst(self, count):
        for call in self.at_work().turn():
            call.left = 0
            call.prepare()
        super().burst(count)

    COMMANDS = {
        **arm.Arm.COMMANDS, "hello": hello, "case": case, "keys": keys, "run": run, "time": time, "burst": burst,
        **{kind: lambda self, *words, kind=kind: self.declare(*words, kind=kind) for kind in ROLES},
    }  # fmt: skip

    def answer(self, line):
        """Its work is done on the timer's stream."""
        if self.timer is None or self.arrays.name != "CuPy":
            return super().answer(line)
        with self.arrays.cupy.cuda.ExternalStream(self.stream):
            return super().answer(line)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    os.environ["ASSAY_IN_GUEST"] = "1"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    answers = arm.own_output()
    function = Function(*sys.argv[1:])
    for line in sys.stdin:
        print(function.answer(line), file=answers)


if __name__ == "__main__":
    main()
