"""The case at hand: its input sets, and a Call of the arm for each."""

import gc

import torch

import operators
from computation import Unavailable

KINDS = ("in", "cot", "out", "grad")  # of tensors, as the protocol has them
STAGES = ("forward", "backward", "forward+backward")


class Call:
    """What is timed, on one set. Each call leaves `outputs` and `gradients` by name."""

    def __init__(self, stage, computation, cotangents, wanted):
        self.stage, self.computation = stage, computation
        self.cotangents, self.wanted = cotangents, wanted
        self.outputs = self.gradients = None

    def forward(self):
        self.outputs = self.computation.forward()

    def backward(self):
        """The forward's graph is kept: this may be called again."""
        tensors = self.computation.tensors
        gradients = torch.autograd.grad(
            [self.outputs[name] for name in self.cotangents],
            [tensors[name] for name in self.wanted],
            list(self.cotangents.values()),
            retain_graph=True,
            materialize_grads=True,
        )
        self.gradients = dict(zip(self.wanted, gradients))

    def prepare(self):
        """Untimed: lets go of what the call before left, and has ready what it will need."""
        self.gradients = None
        if self.stage != "backward":
            self.outputs = None
            self.computation.restore()
        elif self.outputs is None:
            self.forward()

    def run(self):
        if self.stage != "backward":
            self.forward()
        if self.stage != "forward":
            self.backward()

    def release(self):
        self.outputs = self.gradients = None

    def results(self):
        """Of the last call, by the names of (outputs, gradients)."""
        outputs = self.outputs if self.stage != "backward" else {}
        gradients = self.gradients if self.stage != "forward" else {}
        if outputs is None or gradients is None:
            raise ValueError("nothing was run on this set")
        return outputs, gradients


class Work:
    def __init__(self, arm, case):
        table = operators.arms(case.operator)
        if arm not in table:
            raise Unavailable(f"{case.operator} has no arm {arm}; it has {' '.join(table)}")
        self.case, self.arm = case, table[arm]
        self.sets = []  # views of the shared memory, by kind and name
        self.calls = []

    def description(self):
        mode = getattr(self.arm, "mode", None)
        return f", torch.compile mode {mode(self.case)}" if mode else ""

    # ---- input sets ----

    def begin_set(self, number):
        if number != len(self.sets):
            raise ValueError(f"set {number} comes after {len(self.sets)} sets")
        self.sets.append({kind: {} for kind in KINDS})

    def declare(self, kind, name, tensor):
        if not self.sets:
            raise ValueError(f"{kind} {name}: say `set 0` before")
        self.sets[-1][kind][name] = tensor

    def call(self, number):
        if not 0 <= number < len(self.calls):
            raise ValueError(f"set {number}: {len(self.calls)} sets are ready")
        return self.calls[number]

    def turn(self):
        """What timed calls are made on, in turn."""
        if not self.calls:
            raise ValueError("say `ready` before")
        return self.calls[1:] or self.calls

    # ---- a stage ----

    def ready(self, stage):
        if stage not in STAGES:
            raise ValueError(f"{stage} is no stage; one of {' '.join(STAGES)}")
        if stage != "forward" and self.arm.forward_only:
            raise Unavailable("this arm computes the forward only")
        if not self.sets:
            raise ValueError("ready: no set was given")
        self.release()
        bind = self.arm(self.case)
        self.calls = [self._call(bind, stage, given) for given in self.sets]
        for call in self.calls:
            call.prepare()
            call.run()

    def _call(self, bind, stage, given):
        gradients = list(given["grad"]) if stage != "forward" else []
        if stage != "forward" and not (gradients and given["cot"]):
            raise ValueError("ready: no `cot` or no `grad` was given")
        tensors = {
            name: self._moved(view).requires_grad_(name in gradients)
            for name, view in given["in"].items()
        }
        cotangents = {name: self._moved(view) for name, view in given["cot"].items()}
        return Call(stage, bind(tensors), cotangents if gradients else {}, gradients)

    def _moved(self, view):
        """A copy on the device; indices as PyTorch has them."""
        dtype = torch.int64 if view.dtype == torch.int32 else view.dtype
        return view.to(self.case.device, dtype, copy=True)

    def release(self):
        """Frees the device's memory, whatever state an error left it in."""
        self.calls = []
        torch.compiler.reset()
        gc.collect()
        if self.case.device == "cuda":
            torch.cuda.empty_cache()

    # ---- answers ----

    def take(self, number):
        """Copies the last call's results out; the names of outputs that the arm does not give."""
        outputs, gradients = self.call(number).results()
        given = self.sets[number]
        stage = self.calls[number].stage
        skipped = []
        for name, view in given["out"].items() if stage != "backward" else ():
            if name in outputs:
                _copy(name, outputs[name], view)
            else:
                skipped.append(name)
        for name, view in given["grad"].items() if stage != "forward" else ():
            _copy("d" + name, gradients[name], view)
        return skipped

    def memory(self):
        """Of one call, without what other sets hold: (the most at once, before the backward)."""
        if self.case.device != "cuda":
            return 0, 0
        call = self.call(0)
        for other in self.calls:
            other.release()
        call.computation.restore()
        gc.collect()
        torch.cuda.synchronize()
        own = sum(t.nbytes for t in (*call.computation.held(), *call.cotangents.values()))
        others = torch.cuda.memory_allocated() - own
        torch.cuda.reset_peak_memory_stats()
        call.forward()
        before = torch.cuda.memory_allocated() - others
        if call.stage == "backward":
            torch.cuda.reset_peak_memory_stats()
        if call.stage != "forward":
            call.backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - others, before if call.stage != "forward" else 0


def _copy(name, tensor, view):
    if tensor.shape != view.shape or tensor.dtype != view.dtype:
        raise ValueError(
            f"{name} has another shape or dtype than the case says: {tensor.dtype} "
            f"{list(tensor.shape)}, not {view.dtype} {list(view.shape)}"
        )
    view.copy_(tensor.detach())
