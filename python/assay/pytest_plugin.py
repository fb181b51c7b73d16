"""Makes a test of each case of a function that @assay.judges marks.

All cases of a function that were selected are judged by one run of the program, when the first of
their tests runs; a worker of xdist, which does not know its tests before, runs the program for each.
"""
import inspect

import pytest

from . import _mark
from ._judge import cases, check
from ._program import AssayError


class Judged(pytest.Item):
    """One case of one function."""

    def __init__(self, *, mark, text, **kwargs):
        super().__init__(**kwargs)
        self.mark, self.text = mark, text

    def reportinfo(self):
        function = inspect.unwrap(self.mark.function)
        try:
            line = inspect.getsourcelines(function)[1] - 1
        except (OSError, TypeError):
            line = None
        return self.path, line, self.name

    def selected(self):
        """The texts of the tests to judge with this one."""
        if hasattr(self.config, "workerinput"):
            return [self.text]
        return [i.text for i in self.session.items if isinstance(i, Judged) and i.mark is self.mark]

    def judge(self, texts):
        options = {k: v for k, v in self.mark.options.items() if k not in ("cases", "dtype")}
        stop = bool(self.config.getoption("maxfail"))
        report = check(self.mark.op, self.mark.function, cases=texts, fail_fast=stop, **options)
        return {case.text: case for case in report.cases}

    def runtest(self):
        done = self.session.__dict__.setdefault("assay_judged", {}).setdefault(id(self.mark), {})
        if not done:
            done.update(self.judge(self.selected()))
        if self.text not in done:  # of a run that ended early
            done.update(self.judge([self.text]))
        case = done[self.text]
        if case.verdict == "skip":
            pytest.skip(case.results[0].reason)
        if case.verdict != "pass":
            raise AssayError(str(case))

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, AssayError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def pytest_pycollect_makeitem(collector, name, obj):
    module = getattr(getattr(collector, "module", None), "__name__", None)
    mark = _mark.mark_of(obj, module)
    seen = collector.__dict__.setdefault("assay_marks", [])
    if mark is None:
        return None
    if mark in seen:  # by an earlier name of the same function
        return []
    seen.append(mark)
    try:
        texts = cases(mark.op, mark.options["cases"], mark.options["dtype"])
    except AssayError as error:
        raise collector.CollectError(str(error)) from None
    names = [f"{name}[{text.partition(' ')[2]}]" for text in texts]
    return [
        Judged.from_parent(collector, name=n, nodeid=f"{collector.nodeid}::{n}", mark=mark, text=text)
        for n, text in zip(names, texts)
    ]
