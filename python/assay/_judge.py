"""check, fuzz and cases: words for the program, and its answers."""
import inspect
import json
import os
import sys
import tempfile

from ._program import AssayError, complaint, run, stop_in_guest
from ._report import Report

SETS = ("smoke", "ci", "nightly", "edge", "bench")
DTYPES = ("f64", "f32", "bf16", "f16")


# ---- where a function is ----

def name_in(module, function):
    """The name by which its module has it; None: it has none."""
    name = getattr(function, "__qualname__", None)
    found = module
    for part in (name or "<").split("."):
        found = getattr(found, part, None)
    if found is not None and found is function:
        return name
    return next((n for n, value in vars(module).items() if value is function), None)


def locate(function):
    """FILE.py:NAME. The file is executed again in the function's process, so it must define it."""
    if isinstance(function, str):
        return function
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is None and hasattr(function, "__wrapped__"):
        module = inspect.getmodule(inspect.unwrap(function))
    name = name_in(module, function) if module else None
    file = getattr(module, "__file__", None)
    if name is None or file is None or not file.endswith(".py"):
        raise AssayError(f"{function!r} is not what a name at the top of a .py file stands for; "
                         "assay executes that file again and takes the function from there")
    return f"{os.path.relpath(file)}:{name}" if file.startswith(os.getcwd() + os.sep) else f"{file}:{name}"


def kernel_words(op, function, backward, name, reference=None):
    words = locate(function)
    if backward is not None:
        other = locate(backward)
        file, short = other.rsplit(":", 1)
        if not words.startswith(f"{file}:"):
            raise AssayError("the function and its backward must be in one file")
        words += f",{short}"
    short = words.rsplit(":", 1)[-1].split(",")[0].rsplit(".", 1)[-1] if ":" in words else "mine"
    if reference is not None:
        return ["--reference", locate(reference), "--kernel", words]
    return [f"{op}/{name or short}", "--kernel", words]


# ---- which cases ----

def check_dtype(dtype):
    if dtype is not None and dtype not in DTYPES:
        raise AssayError(f"dtype {dtype!r}: must be one of {', '.join(DTYPES)}")


def has_dtype(text, dtype):
    return dtype is None or f" dtype={dtype} " in f"{text} "


def case_words(cases, dtype, folder):
    """A set, words, or a list of texts, which goes into a file in the folder."""
    check_dtype(dtype)
    if not isinstance(cases, str):
        with open(f"{folder}/cases.txt", "w", encoding="utf-8") as to:
            to.writelines(f"{text}\n" for text in cases if has_dtype(text, dtype))
        return ["--case-file", to.name]
    if cases in SETS:
        others = ",".join(f"*dtype={d} *" for d in DTYPES if d != dtype)
        return ["--set", cases, *(["--exclude", others] if dtype else [])]
    return [*cases.split(), *([f"dtype={dtype}"] if dtype else [])]


def flags(**given):
    """--time-limit 5 of time_limit=5; those that are None or False are left out."""
    words = []
    for name, value in given.items():
        if value is not None and value is not False:
            words.append("--" + name.replace("_", "-"))
            words += [] if value is True else [str(value)]
    return words


def cases(op, cases="smoke", dtype=None):
    """The texts of the cases that check() would run."""
    stop_in_guest()
    check_dtype(dtype)
    words = ["--set", cases] if cases in SETS else cases.split()
    code, out, err = run(["list", op, *words, "--json", "-"])
    if code != 0:
        raise AssayError(complaint(err))
    return [text for text in json.loads(out)["cases"] if has_dtype(text, dtype)]


def check(op, function, *, reference=None, dtype=None, cases="smoke", backward=None, name=None, device=None,
          stage=None, layout=None, seed=None, jobs=None, time_limit=None, memory_limit=None,
          fail_fast=False, no_sandbox=False):
    """Judges a function, in a process of its own, and returns a Report.

    `function` is a function that a .py file defines at its top, or "file.py:name". Its parameters
    have the names of their values: tensors and keys as `assay list OP` names them. It
    returns the outputs, in that order. Gradients come from `backward`, from a function called
    NAME_backward beside it, or from PyTorch or JAX. With a `reference`, a
    function beside a get_inputs() (docs/reference.md), `op` is None. `cases` is a set, key=value
    words, or a list of texts as cases() returns."""
    stop_in_guest()
    words = ["check", *kernel_words(op, function, backward, name, reference)]
    words += flags(device=device, stage=stage, layout=layout, seed=seed, jobs=jobs, time_limit=time_limit,
                   memory_limit=memory_limit, fail_fast=fail_fast, no_sandbox=no_sandbox)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        words += case_words(cases, dtype, folder)
        _, out, err = run([*words, "--quiet", "--json", f"{folder}/report.json"])
        if not os.path.exists(f"{folder}/report.json"):
            raise AssayError(complaint(err))
        with open(f"{folder}/report.json", encoding="utf-8") as report:
            text = report.read()
    return Report(text, next((line for line in out.splitlines() if line.startswith("forward only: ")), ""))


def fuzz(op, function, *, seconds=60, cases=None, backward=None, name=None, device=None, stage=None,
         layout=None, seed=None, words=()):
    """Searches for a case that fails, as `assay fuzz` does, and shrinks it. Returns a pair: whether
    none was found, and the program's output."""
    stop_in_guest()
    line = ["fuzz", *kernel_words(op, function, backward, name), *words]
    line += flags(time=None if cases else seconds, cases=cases, device=device, stage=stage, layout=layout, seed=seed)
    code, out, err = run([*line, "--quiet"])
    if code not in (0, 1):
        raise AssayError(complaint(err))
    return code == 0, out
