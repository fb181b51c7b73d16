"""The function that is judged by a reference: which one of its file, and how a module is called."""
import inspect
import os
import sys

CALLS = sys.modules["assay_guest_calls"]


class Reference:
    def __init__(self, source, words):
        file, _, self.name = words.partition(":")
        self.source = source.read(file)
        self.stem = os.path.splitext(os.path.basename(file))[0]

    def choose(self, module, name):
        """The function that is named, or the first of the usual names."""
        stem = os.path.splitext(os.path.basename(module.__file__))[0]
        names = [name] if name else ["ModelNew", "candidate", self.name or "reference", self.stem, stem, "Model"]
        found = next((n for n in names if hasattr(module, n.split(".")[0])), None)
        if found is None:
            raise CALLS.Usage(f"{os.path.basename(module.__file__)} has no {' and no '.join(names)}")
        return found

    def prepare(self, first, module, arrays):
        torch = sys.modules.get("torch")
        if torch is None or arrays.name != "PyTorch":
            return first
        arrays.whole_numbers = torch.int64
        if not inspect.isclass(first.function) or not issubclass(first.function, torch.nn.Module):
            return first
        given = getattr(module, "get_init_inputs", None) or getattr(self.source.load(), "get_init_inputs", list)
        return Model(first, given(), torch)


class Model(CALLS.Function):
    """Its parameters are inputs, behind those of its forward."""

    def __init__(self, first, given, torch):
        torch.manual_seed(0)
        self.torch, self.made = torch, first.function(*given)
        self.own = dict(self.made.named_parameters())
        self.buffers = {}
        super().__init__(self.made.forward, first.name)
        self.function = self.call

    def names(self, call):
        inputs = [t.name for t in call.of("input")]
        shapes = {t.name: list(t.shape) for t in call.of("input")}
        own = {n.replace(".", "_")[:47]: list(p.shape) for n, p in self.own.items()}
        behind = {n: shapes[n] for n in inputs[len(inputs) - len(own) :]}
        fits = len(self.required) <= len(inputs) - len(own) <= len(self.parameters)
        if not fits or list(own.values()) != list(behind.values()):
            raise CALLS.Unsupported(f"{self.name}: its parameters are not those of the reference: {own}, {behind}")
        return inputs

    def values(self, call, value):
        self.names(call)
        return [value(t) for t in call.of("input")], {}

    def passed(self, call):
        return []

    def call(self, *arrays):
        count = len(arrays) - len(self.own)
        real = next((a.dtype for a in arrays if a.is_floating_point()), self.torch.float32)
        state = {n: b.to(real) if b.is_floating_point() else b.clone() for n, b in self.made.named_buffers()}
        state.update(zip(self.own, arrays[count:]))
        return self.torch.func.functional_call(self.made, state, arrays[:count])
