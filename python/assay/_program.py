"""The program `assay`: where it is, and how it is run."""
import os
import shutil
import subprocess
import sys


class AssayError(Exception):
    """The program could not do what was asked: its line."""


def stop_in_guest():
    """A file that calls assay is executed once more, for the function in it; not for the call."""
    guest = sys.modules.get("assay_guest_source")
    if guest is not None:
        raise guest.InGuest


def program():
    """$ASSAY, the one in this package, or the one on PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree", "bin", "assay")
    found = os.environ.get("ASSAY") or (own if os.path.exists(own) else shutil.which("assay"))
    if not found:
        raise AssayError("the program assay is not there: put it on PATH, or set ASSAY to its path")
    return found


def interpreter():
    """The variables by which the function's process is this interpreter, with the same modules."""
    own = tuple({sys.prefix + os.sep, sys.base_prefix + os.sep})
    added = [os.path.abspath(path) for path in sys.path]
    added = [path for path in added if not path.startswith(own)]
    return {"ASSAY_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(added)}


def run(words):
    """Its exit code, its standard output and its standard error."""
    given = os.environ if os.environ.get("ASSAY_PYTHON") else {**os.environ, **interpreter()}
    environment = {**given, "NO_COLOR": "1"}
    done = subprocess.run([program(), *words], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def complaint(text):
    """The line of an error, without the program's name."""
    lines = [line for line in text.splitlines() if line.startswith("assay: ")]
    return (lines or text.splitlines() or ["it said nothing"])[-1].removeprefix("assay: ")


def main():
    """The command `assay` of an installed package."""
    os.environ.setdefault("ASSAY_PYTHON", sys.executable)
    try:
        path = program()
        os.execv(path, [path, *sys.argv[1:]])
    except (AssayError, OSError) as error:
        sys.exit(f"assay: {error}")
