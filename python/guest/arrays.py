"""Tensors of a call as arrays of a library, one class each: NumPy, JAX, PyTorch, CuPy.

take(tensor)          the array: the tensor's own memory, behind its guards, where the library can
give(tensor, array)   the array that a function returned becomes the tensor
derives(f, call)      "", or why the library cannot derive the function
backward(f, call)     pairs (gradient, array), by the library's own derivation
pull(f, call, value)  the same in two steps: forward now, these pairs by what it returns, which may be
                      called again and has `outputs`; `value` makes an array of a tensor
"""
import contextlib
import importlib.util
import sys

CALLS = sys.modules["assay_guest_calls"]
Unsupported, Usage, Wrong = CALLS.Unsupported, CALLS.Usage, CALLS.Wrong
SIZE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i32": 4}
LONG = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32"}
PLAIN = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "<i2", "i32": "<i4"}  # bf16: its bits


class Memory:
    """Memory that NumPy, PyTorch and CuPy take as an array without a copy."""

    def __init__(self, tensor, cuda):
        interface = {
            "data": (tensor.data, False),
            "shape": tuple(tensor.shape),
            "strides": tuple(s * SIZE[tensor.dtype] for s in tensor.stride),
            "typestr": PLAIN[tensor.dtype],
            "version": 3,
        }
        setattr(self, "__cuda_array_interface__" if cuda else "__array_interface__", interface)


def check(tensor, dtype, shape):
    """A result must have the dtype and shape that were asked for: only int64 is converted, to int32."""
    if list(shape) != tensor.shape:
        raise Wrong(f"{tensor.name} has the shape {tuple(shape)}, and must have {tuple(tensor.shape)}")
    if dtype == "int64" and tensor.dtype == "i32":
        return  # as libraries give indices
    if dtype != LONG[tensor.dtype]:
        raise Wrong(f"{tensor.name} is {dtype}, and must be {LONG[tensor.dtype]}")


def differentiable(function, call):
    """The names of its arguments that have gradients."""
    names = {t.name for t in call.of("input") if t.differentiable}
    return [name for name in function.names(call) if name in names]


class Numpy:
    name = "NumPy"

    def __init__(self):
        import numpy

        self.numpy = numpy
        try:
            import ml_dtypes

            self.bfloat16 = numpy.dtype(ml_dtypes.bfloat16)
        except ImportError:
            self.bfloat16 = None

    def supports(self, call):
        if call.device == "cuda":
            raise Unsupported(f"{self.name} has no arrays on a GPU: --device sim")
        if call.dtype == "bf16" and self.bfloat16 is None:
            raise Unsupported("NumPy has no bf16: install ml_dtypes")

    def during(self, call):
        return contextlib.nullcontext()

    def take(self, tensor):
        array = self.numpy.asarray(Memory(tensor, False))
        return array.view(self.bfloat16) if tensor.dtype == "bf16" else array

    def checked(self, tensor, returned):
        array = self.numpy.asarray(returned)
        if array.dtype.kind not in "biufcV":  # V: ml_dtypes' bfloat16
            raise Wrong(f"{tensor.name} is a {type(returned).__name__}, and must be an array")
        check(tensor, str(array.dtype), array.shape)
        return array

    def give(self, tensor, array):
        self.take(tensor)[...] = self.checked(tensor, array)


class Jax(Numpy):
    """Its arrays are copies: they know no strides. On a GPU PyTorch copies them, on the case's stream."""

    name = "JAX"

    def __init__(self):
        super().__init__()
        import jax

        self.jax = jax
        self.torch = None

    def supports(self, call):
        if call.device != "cuda":
            return super().supports(call)
        if self.torch is None:
            if importlib.util.find_spec("torch") is None:
                raise Unsupported("JAX's arrays come to a GPU by PyTorch: install torch")
            if self.jax.default_backend() != "gpu":
                raise Unsupported("JAX sees no GPU here: install jax[cuda13]")
            self.torch = Torch()
        self.torch.supports(call)

    def during(self, call):
        if call.device != "cuda":
            return self.precision(call)
        both = contextlib.ExitStack()
        both.enter_context(self.torch.during(call))
        both.enter_context(self.precision(call))
        return both

    @contextlib.contextmanager
    def precision(self, call):
        before = self.jax.config.jax_enable_x64
        self.jax.config.update("jax_enable_x64", before or call.dtype == "f64")
        try:
            yield
        finally:
            self.jax.config.update("jax_enable_x64", before)

    def take(self, tensor):
        if self.torch is None:
            return self.jax.numpy.array(super().take(tensor))
        copy = self.torch.take(tensor).clone(memory_format=self.torch.torch.contiguous_format)
        self.wait()
        return self.jax.dlpack.from_dlpack(copy)

    def wait(self):
        """JAX works on a stream of its own."""
        self.torch.torch.cuda.current_stream().synchronize()

    def give(self, tensor, array):
        if self.torch is not None:
            array = self.jax.block_until_ready(self.jax.numpy.asarray(array))
            self.torch.give(tensor, self.torch.torch.from_dlpack(array))
            return self.wait()
        super().take(tensor)[...] = self.checked(tensor, array)

    def derivation(self, function, call, value):
        """The function of its differentiable arguments alone, and these."""
        forward = call.forward()
        args, keywords = function.values(forward, value)
        names = differentiable(function, forward)
        outputs = call.of("output")
        if args:
            raise Wrong(f"{function}: parameters by position only have no derivative here")
        byname = dict(zip((p.name for p in function.parameters), function.names(forward)))
        mine = {p: n for p, n in byname.items() if n in names}

        def f(chosen):
            returned = function.function(**{**keywords, **chosen})
            pairs = function.results(returned, outputs)
            return [array for tensor, array in pairs if tensor.differentiable]

        return f, {p: keywords[p] for p in mine}, mine

    def derives(self, function, call):
        """Traced with shapes alone."""
        jnp = self.jax.numpy

        def shaped(tensor):
            return jnp.zeros(tensor.shape, dtype=LONG[tensor.dtype])

        with self.during(call):
            try:
                f, chosen, _ = self.derivation(function, call, shaped)
                self.jax.eval_shape(lambda c: self.jax.vjp(f, c)[0], chosen)
                return ""
            except Wrong:
                return ""  # the call will tell
            except Exception as error:
                return f"jax.vjp says {type(error).__name__}"

    def pull(self, function, call, value):
        f, chosen, mine = self.derivation(function, call, value)
        outputs, derive = self.jax.vjp(f, chosen)
        cotangents = [value(t) for t in call.of("cotangent")]

        def pull():
            gradients = derive(cotangents)[0]
            byinput = {f"d{name}": gradients[parameter] for parameter, name in mine.items()}
            return [(t, byinput[t.name]) for t in call.of("gradient")]

        pull.outputs = outputs
        return pull

    def backward(self, function, call):
        return self.pull(function, call, self.take)()


class Torch:
    name = "PyTorch"
    whole_numbers = None  # the dtype that a function has them in; None: int32

    def __init__(self):
        import torch

        self.torch = torch
        self.numpy = Numpy()

    def supports(self, call):
        self.cuda = call.device == "cuda"

    @contextlib.contextmanager
    def during(self, call):
        if not self.cuda or not call.stream:
            yield
            return
        with self.torch.cuda.stream(self.torch.cuda.ExternalStream(call.stream)):
            yield

    def own(self, tensor):
        """The tensor's own memory."""
        memory = Memory(tensor, self.cuda)
        if self.cuda:
            array = self.torch.as_tensor(memory, device="cuda")
        else:
            array = self.torch.from_numpy(self.numpy.numpy.asarray(memory))
        return array.view(self.torch.bfloat16) if tensor.dtype == "bf16" else array

    def take(self, tensor):
        array = self.own(tensor)
        if tensor.dtype == "i32" and self.whole_numbers is not None:
            return array.to(self.whole_numbers)
        return array

    def give(self, tensor, array):
        if not isinstance(array, self.torch.Tensor):
            raise Wrong(f"{tensor.name} is a {type(array).__name__}, and must be a tensor of PyTorch's")
        check(tensor, str(array.dtype).removeprefix("torch."), array.shape)
        if array.is_cuda != self.cuda:
            raise Wrong(f"{tensor.name} lies on {array.device}, and its inputs do not")
        self.own(tensor).copy_(array.detach())

    def tracked(self, function, call, value):
        """The function's result for arguments that remember it, and these arguments by their names."""
        forward, chosen = call.forward(), {}
        names = set(differentiable(function, forward))

        def taken(tensor):
            array = value(tensor)
            if tensor.name in names:
                array = chosen[tensor.name] = array.detach().requires_grad_(True)
            return array

        args, keywords = function.values(forward, taken)
        with self.torch.enable_grad():
            returned = function.function(*args, **keywords)
        pairs = function.results(returned, call.of("output"))
        return [array for tensor, array in pairs if tensor.differentiable], chosen

    def derives(self, function, call):
        def ones(tensor):
            dtype = getattr(self.torch, LONG[tensor.dtype])
            full = self.torch.zeros if tensor.dtype == "i32" else self.torch.ones
            return full(tensor.shape, dtype=dtype, device="cuda" if self.cuda else "cpu")

        try:
            arrays, _ = self.tracked(function, call, ones)
        except Exception:
            return ""  # the call will tell
        return "" if all(a.requires_grad for a in arrays) else "torch.autograd does not see what it does"

    def pull(self, function, call, value):
        arrays, chosen = self.tracked(function, call, value)
        cotangents = [value(t) for t in call.of("cotangent")]
        wanted = list(chosen.values())

        def pull():
            gradients = self.torch.autograd.grad(
                arrays, wanted, cotangents, allow_unused=True, retain_graph=True
            )
            byname = {f"d{name}": g for name, g in zip(chosen, gradients)}
            pairs = []
            for t in call.of("gradient"):
                g = byname[t.name]
                pairs.append((t, g if g is not None else self.torch.zeros_like(self.take(t))))
            return pairs

        pull.outputs = arrays
        return pull

    def backward(self, function, call):
        return self.pull(function, call, self.take)()


class Cupy(Numpy):
    name = "CuPy"

    def __init__(self):
        super().__init__()
        import cupy

        self.cupy = cupy

    def supports(self, call):
        if call.device != "cuda":
            raise Unsupported("CuPy has arrays on a GPU alone: --device cuda")
        if call.dtype == "bf16":
            raise Unsupported("CuPy has no bf16")

    def during(self, call):
        return self.cupy.cuda.ExternalStream(call.stream)

    def take(self, tensor):
        return self.cupy.asarray(Memory(tensor, True))

    def give(self, tensor, array):
        if not isinstance(array, self.cupy.ndarray):
            raise Wrong(f"{tensor.name} is a {type(array).__name__}, and must be an array of CuPy's")
        check(tensor, str(array.dtype), array.shape)
        self.take(tensor)[...] = array


KINDS = {"numpy": Numpy, "jax": Jax, "torch": Torch, "cupy": Cupy}


def choose(function, imported):
    """The function's attribute `arrays`, or the first of PyTorch, JAX and CuPy that its file imports,
    or NumPy."""
    name = getattr(function, "arrays", None)
    if name is None:
        name = next((name for name in ("torch", "jax", "cupy") if name in imported), "numpy")
    if name not in KINDS:
        raise Usage(f"arrays = {name!r}: must be one of {', '.join(KINDS)}")
    return KINDS[name]()
