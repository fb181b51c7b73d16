"""bench: the times of a function that is right, and the program's report of them."""
import json
import os
import tempfile

from ._judge import case_words, flags, kernel_words
from ._program import AssayError, complaint, run, stop_in_guest


class Row:
    """Times of one case, stage and state of the cache, by this function or by a peer. Its attributes
    are the names that --json writes: case, stage, cache, arm, ours, status, reason, median_us,
    p10_us, p90_us, samples_us, error_over_bound, versions ..."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __repr__(self):
        said = f"{self.median_us:.4g} us" if self.status == "ok" else f"{self.status}: {self.reason}"
        return f"<{self.arm} {self.stage} {self.cache}, {self.case}: {said}>"


class Times:
    """True where the function was timed, and nothing of it was refused or broke."""

    def __init__(self, fields, text):
        self.environment, self.text = fields["environment"], text
        self.rows = [Row(row) for row in fields["rows"]]

    @property
    def own(self):
        return [row for row in self.rows if row.ours]

    def __bool__(self):
        statuses = {row.status for row in self.own}
        return "ok" in statuses and not statuses & {"refused", "error"}

    def __str__(self):
        return self.text

    def __repr__(self):
        return "\n".join(map(repr, self.rows))


def bench(op, function, *, cases, dtype=None, backward=None, name=None, device=None, stage=None, peers=None,
          samples=None):
    """Times a function that has passed its check, as `assay bench` does, and returns Times.

    `function` is as for check(). It must pass the cases of `smoke` in the dtype that is timed, and
    be right in each timed case; otherwise its rows are refused. `cases` are key=value words. Without
    a `device` it is a GPU; "sim" means this host's processors. `peers`: "all", "none" or names."""
    stop_in_guest()
    if not isinstance(cases, str):
        raise AssayError("cases: must be key=value words, such as 'n=64x128 d=1024'")
    words = ["bench", *kernel_words(op, function, backward, name)]
    words += flags(device=device, stage=stage, peers=peers, samples=samples)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        words += case_words(cases, dtype, folder)
        _, out, err = run([*words, "--quiet", "--json", f"{folder}/times.json"])
        if not os.path.exists(f"{folder}/times.json"):
            raise AssayError(complaint(err))
        with open(f"{folder}/times.json", encoding="utf-8") as times:
            return Times(json.load(times), out)
