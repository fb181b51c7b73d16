"""The function's file: bytes that were read once, executed as a module of its name."""
import importlib
import linecache
import os
import sys
import types


class InGuest(BaseException):
    """Raised by the package assay where a file that is loaded here calls it: all that stands above
    the call is defined."""


def package_of(file):
    """The folder that the file's packages lie in, and the module's full name."""
    folder, name = os.path.dirname(file), os.path.splitext(os.path.basename(file))[0]
    while os.path.exists(f"{folder}/__init__.py"):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


def read(file):
    """A file that is not judged."""
    with open(file, "rb") as source:
        return Source(file, source.read())


class Source:
    def __init__(self, file, text):
        self.file, self.text = file, text

    def load(self):
        folder, name = package_of(self.file)
        sys.path.insert(0, folder)
        module = types.ModuleType(name)
        module.__file__ = self.file
        if "." in name:
            module.__package__ = name.rpartition(".")[0]
            importlib.import_module(module.__package__)
        sys.modules[name] = module
        text = self.text.decode("utf-8", "replace")  # for inspect, which compilers of Python's use
        linecache.cache[self.file] = (len(text), None, text.splitlines(keepends=True), self.file)
        try:
            exec(compile(self.text, self.file, "exec"), module.__dict__)
        except InGuest:
            pass
        return module
