"""@assay.judges: a function that pytest makes a test of, or rather one for each case."""
import sys

MARKS = []


class Mark:
    def __init__(self, function, op, module, options):
        self.function, self.op, self.module, self.options = function, op, module, options


def judges(op, *, cases="smoke", dtype=None, **options):
    """The function is the operator `op`: pytest then judges it, one test a case. The options are
    those of check()."""

    def mark(function):
        module = sys._getframe(1).f_globals.get("__name__")
        MARKS.append(Mark(function, op, module, {"cases": cases, "dtype": dtype, **options}))
        return function

    return mark


def mark_of(function, module):
    """The last one that the module gave it; None: it has none."""
    return next((m for m in reversed(MARKS) if m.function is function and m.module == module), None)
