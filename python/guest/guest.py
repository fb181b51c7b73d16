"""guest.py LIBRARY sandbox|open DEVICE KERNEL FILE:FUNCTION[,BACKWARD]

The process in which assay runs Python functions. LIBRARY (engine/guest/python.c) does what the
process of any kernel does: sandbox, tensors behind guards, answers. This script hands it the
function, whose file is read here and executed only when the sandbox stands. Until then nothing but
the standard library is imported, so that no other thread runs.
"""
import ctypes
import os
import sys

sys.path.pop(0)  # this folder: its modules are no modules of the function's
FOLDER = os.path.dirname(os.path.abspath(__file__))
ASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


def own(name):
    """A module of this folder."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"assay_guest_{name}", f"{FOLDER}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tree(library):
    """The folder that programs of assay find each other from (core/place.h)."""
    folder = library
    while folder != "/":
        folder = os.path.dirname(folder)
        if os.path.exists(f"{folder}/assay-places.txt") or os.path.exists(f"{folder}/libexec/assay"):
            return folder
    return ""


def readable(file):
    """Paths that the interpreter and the function's file need: links, and their targets."""
    folder = os.path.dirname(file)
    paths = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path, FOLDER]
    if folder not in ("/", "/tmp", "/dev/shm"):  # which are the sandbox's own
        paths.append(folder)
    paths = [os.path.abspath(path) for path in paths if path]
    both = dict.fromkeys(path for one in paths for path in (one, os.path.realpath(one)))
    return [path for path in both if path != "/" and os.path.exists(path)]


def main():
    library, words = sys.argv[1:3], sys.argv[2:]
    library = library[0]
    kernel, _, of = words[-1].partition("@")  # the function that is judged, and the reference
    file, names = kernel.rsplit(":", 1)
    with open(words[-2], "rb") as opened:
        text = opened.read()
    os.environ.setdefault("ASSAY_TREE", tree(library))
    os.environ["ASSAY_IN_GUEST"] = "1"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX is not alone on the GPU
    if words[0] == "sandbox":
        os.environ.update(HOME="/tmp", XDG_CACHE_HOME="/tmp/cache", TRITON_CACHE_DIR="/tmp/triton")
    calls = own("calls")
    own("arrays")
    source = own("source")
    reference = own("candidate").Reference(source, of) if of else None
    door = calls.Door(source.Source(file, text), names.split(","), reference)

    @ASK
    def ask(call, line, size):
        status, said = door.ask(call)
        said = said.encode("utf-8", "replace")[: size - 1] + b"\0"
        ctypes.memmove(line, said, len(said))
        return status

    paths = [path.encode() for path in readable(file)]
    argv = [word.encode() for word in ["assay_python", *words]]
    guest = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL).assay_python_guest
    return guest(
        len(argv),
        (ctypes.c_char_p * (len(argv) + 1))(*argv, None),
        ask,
        (ctypes.c_char_p * (len(paths) + 1))(*paths, None),
    )


if __name__ == "__main__":
    sys.exit(main())
