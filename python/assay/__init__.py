"""Judges kernels that are Python functions by assay's oracles and bounds.

    import assay
    report = assay.check("rmsnorm", my_rmsnorm, dtype="bf16", cases="ci")
    assert report, report

Its verdicts are those of the program `assay`, which runs the function in a process of its own.
docs/python.md describes it.
"""
from ._bench import Times, bench
from ._judge import cases, check, fuzz
from ._mark import judges
from ._program import AssayError
from ._report import Report, Result

__all__ = ["AssayError", "Report", "Result", "Times", "bench", "cases", "check", "fuzz", "judges"]
