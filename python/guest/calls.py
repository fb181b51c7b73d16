"""A call of the function: its arguments, its results, and messages where these are wrong.

engine/python.h describes the questions.
"""
import inspect
import json
import os
import sys

OK, USAGE, UNSUPPORTED, FILE, KERNEL = 0, 1, 2, 4, 6  # assay_status


class Unsupported(Exception):
    """The function does not do this case."""


class Wrong(Exception):
    """It did something that it must not do."""


class Usage(Exception):
    """There is no such function."""


def own(name):
    return sys.modules[f"assay_guest_{name}"]


class Tensor:
    """A tensor of the call, as engine/python.h has it."""

    def __init__(self, fields):
        self.__dict__.update(fields)


class Call:
    def __init__(self, text):
        fields = json.loads(text)
        self.tensors = [Tensor(t) for t in fields.pop("tensors")]
        self.__dict__.update(fields)
        self.backward = self.stage == "backward"

    def of(self, role):
        return [t for t in self.tensors if t.role == role]

    @property
    def written(self):
        return self.of("gradient" if self.backward else "output")

    def forward(self):
        """The call of forward that this one of backward belongs to."""
        forward = Call.__new__(Call)
        forward.__dict__.update(self.__dict__, stage="forward", backward=False)
        forward.tensors = self.of("input") + self.of("output")
        return forward


def describe(error, file):
    """One line: the error, and where in the function's file it arose."""
    text = " ".join(str(error).split())
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = f" ({os.path.basename(file)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {text[:240]}{line}" if text else type(error).__name__ + line


class Function:
    """A function, and which of a call's tensors and keys it takes, by its parameters' names."""

    def __init__(self, function, name):
        self.function, self.name = function, name
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise Usage(f"{name} has no signature that tells its parameters") from None
        kinds = inspect.Parameter
        self.parameters = [p for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
        self.required = [p.name for p in self.parameters if p.default is kinds.empty]

    def __str__(self):
        return f"{self.name}({', '.join(p.name for p in self.parameters)})"

    def names(self, call):
        """The names that its parameters stand for, a list; None for those that stay at their default."""
        inputs = [t.name for t in call.of("input")]
        known = {t.name for t in call.tensors} | set(call.keys)
        missing = [name for name in self.required if name not in known]
        in_place = all(name == i for name, i in zip(self.required, inputs) if name in known)
        if missing and not call.backward and in_place and len(self.required) == len(inputs):
            rest = self.parameters[len(inputs) :]
            return inputs + [p.name if p.name in known else None for p in rest]  # by position
        if missing:
            raise Unsupported(
                f"{self}: {missing[0]} is not in this case, which has "
                + " ".join([*(t.name for t in call.tensors), *call.keys])
            )
        names = [p.name if p.name in known else None for p in self.parameters]
        left = [name for name in inputs if name not in names]
        if left and not call.backward:
            raise Unsupported(f"{self} does not take {left[0]}, which this case has")
        return names

    def values(self, call, value):
        """Arguments by position and by name; `value` makes an array of a tensor."""
        tensors = {t.name: t for t in call.tensors}
        args, keywords = [], {}
        for parameter, name in zip(self.parameters, self.names(call)):
            if name is None:
                continue
            v = value(tensors[name]) if name in tensors else call.keys[name]
            if parameter.kind == inspect.Parameter.POSITIONAL_ONLY:
                args.append(v)
            else:
                keywords[parameter.name] = v
        return args, keywords

    def passed(self, call):
        """The arrays that it is to write to, which it is given."""
        names = self.names(call)
        return [t for t in call.written if t.name in names]

    def results(self, returned, tensors):
        """A pair (tensor, array) for each of `tensors`."""
        if isinstance(returned, dict):
            missing = [t.name for t in tensors if t.name not in returned]
            if missing:
                raise Wrong(f"{self.name} returned no {missing[0]}")
            return [(t, returned[t.name]) for t in tensors]
        several = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if returned is None:
            several = []
        if len(several) != len(tensors):
            names = ", ".join(t.name for t in tensors)
            raise Wrong(f"{self.name} returned {len(several)} results where {len(tensors)} are wanted: {names}")
        return list(zip(tensors, several))


class Door:
    """Answers the library's questions. The file is executed at the first question."""

    def __init__(self, source, names, reference=None):
        self.source, self.names, self.reference = source, names, reference
        self.functions = self.arrays = None
        self.derives = {}  # whether the arrays' library gives the backward, by dtype

    # ---- the function ----

    def load(self):
        if self.functions is not None:
            return
        before = set(sys.modules)
        module = self.source.load()
        if self.reference is not None:
            self.names[0] = self.reference.choose(module, self.names[0])
        first = self.find(module, self.names[0], True)
        second = self.find(module, self.names[-1], True) if len(self.names) > 1 else None
        if second is None:
            second = self.find(module, f"{self.names[0]}_backward", False)
        self.arrays = own("arrays").choose(first.function, set(sys.modules) - before)
        if self.reference is not None:
            first = self.reference.prepare(first, module, self.arrays)
        self.functions = first, second

    def find(self, module, name, needed):
        found = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None and not needed:
            return None
        if not callable(found):
            raise Usage(f"{os.path.basename(self.source.file)} has no function {name}")
        return Function(found, name)

    # ---- questions ----

    def ask(self, text):
        try:
            self.load()
            call = Call(text)
            getattr(self, call.question)(call)
            return OK, ""
        except Unsupported as error:
            return UNSUPPORTED, str(error)
        except Wrong as error:
            return KERNEL, str(error)
        except Usage as error:
            return USAGE, str(error)
        except BaseException as error:
            status = FILE if self.functions is None else KERNEL
            return status, describe(error, self.source.file)

    def supports(self, call):
        first, second = self.functions
        self.arrays.supports(call)
        if not call.backward:
            first.names(call)
        elif second is not None:
            second.names(call)
        else:
            self.check_derivative(call)

    def check_derivative(self, call):
        """One that cannot be derived has no backward, and is judged by its outputs alone."""
        first = self.functions[0]
        forward = call.forward()
        first.names(forward)
        why = f"{self.arrays.name} has no gradients"
        if hasattr(self.arrays, "backward"):
            why = "it is given what it writes to" if first.passed(forward) else self.derives.get(call.dtype)
            if why is None:
                why = self.derives[call.dtype] = self.arrays.derives(first, forward)
        if why:
            raise Unsupported(f"{first.name} has no backward: {why}; define {first.name}_backward")

    def call(self, call):
        first, second = self.functions
        with self.arrays.during(call):
            if call.backward and second is None:
                pairs = self.arrays.backward(first, call)
            else:
                function = second if call.backward else first
                passed = function.passed(call)
                args, keywords = function.values(call, self.arrays.take)
                returned = function.function(*args, **keywords)
                rest = [t for t in call.written if t not in passed]
                pairs = function.results(returned, rest) if rest else []
            for tensor, array in pairs:
                self.arrays.give(tensor, array)
