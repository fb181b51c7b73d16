"""A check's findings as objects: the program's JSON."""
import json


class Result:
    """One tensor of one case, or a case that has no numbers. Its attributes are the names that
    --json writes: case, stage, tensor, verdict, ratio, max_abs, got, want, bound, reason, repro ..."""

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __repr__(self):
        tensor = f" {self.tensor}" if self.tensor else ""
        return f"<{self.verdict}{tensor}: {self.case}>"

    def line(self):
        """Its defect, in a line."""
        tensor = f"{self.tensor}: " if self.tensor else ""
        return f"{self.verdict}: {tensor}{self.reason}"


class Case:
    """A case with its results. Its verdict is the worst of theirs."""

    ORDER = ("error", "fail", "mistrusted", "skip", "pass")

    def __init__(self, text):
        self.text, self.results = text, []

    @property
    def verdict(self):
        return min((r.verdict for r in self.results), key=self.ORDER.index)

    def __repr__(self):
        return f"<{self.verdict}: {self.text}>"

    def __str__(self):
        bad = [r for r in self.results if r.verdict == self.verdict] if self.verdict != "pass" else []
        lines = [f"{self.verdict} {self.text}"] + [f"  {r.line()}" for r in bad]
        return "\n".join(lines + [f"  reproduce: {bad[0].repro}"] if bad and bad[0].repro else lines)


class Report:
    """True where every case that could run passed, and one did."""

    def __init__(self, text, note):
        fields = json.loads(text)
        self.version, self.environment = fields["assay"], fields["environment"]
        self.seconds, self.note = fields["seconds"], note
        self.results = [Result(r) for r in fields["results"]]
        by_text = {}
        for result in self.results:
            by_text.setdefault(result.case, Case(result.case)).results.append(result)
        self.cases = list(by_text.values())

    @property
    def forward_only(self):
        return any(r.stages == "forward" for r in self.results)

    def of(self, verdict):
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def passed(self):
        return bool(self.of("pass")) and not any(self.of(v) for v in ("error", "fail", "mistrusted"))

    __bool__ = passed.fget

    def summary(self):
        counts = [f"{len(self.of(v))} {word}" for v, word in
                  (("pass", "passed"), ("fail", "failed"), ("mistrusted", "mistrusted"),
                   ("error", "errors"), ("skip", "skipped"))]
        return ", ".join(counts) + ("; forward only" if self.forward_only else "")

    def __str__(self):
        bad = [case for v in ("error", "fail", "mistrusted") for case in self.of(v)]
        return "\n".join([*([self.note] if self.note else []), *map(str, bad[:4]), self.summary()])

    def __repr__(self):
        return f"<Report: {self.summary()}>"
