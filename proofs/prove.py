#!/usr/bin/env python3
"""Proves the error bounds of the elementary functions in kernels/common, with Gappa and Sollya.

A theorem is a Gappa script (https://gappa.gitlabpages.inria.fr) with lines that this program fills
in from the C source, so that what is proven is the code itself:

    %code FILE FUNCTION FIRST..LAST [PREFIX] [NAME=0]
        the statements of the function that assign FIRST, …, LAST, each operation rounded as C rounds
        it: `p` is the last value given to the variable p. With PREFIX also the same without
        rounding, from the rounded value of every name that the statements do not assign. NAME, which
        is one of those, is taken to be 0.
    %near NAME FUNCTION of VARIABLE in [A;B] within ERROR (relative|absolute)
        asks Sollya for a proof that the unrounded value NAME, as a function of VARIABLE, is that
        near to FUNCTION.
    %true STATEMENT
        asks Sollya for a comparison of constants.
    %quoted FILE FUNCTION UNITS u
        the lemma's last bound is at most UNITS times u, which is 2^-24 for floats and 2^-53 for
        doubles; and the line of FILE's table that names the function and this script says UNITS.
        No other line of the table names this script.

A file holds lemmas, `%lemma NAME`, each a script of its own; a comment says how they join.

    prove.py THEOREM.gappa...     exit status 1: something is not proven; 77: a tool is missing
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOKEN = re.compile(r"\s*(0x[0-9a-fA-F.]+(?:p[+-]?\d+)?|\d+(?:\.\d*)?|\w+|\S)")
LIMIT = 120  # seconds for a lemma
FORMATS = {"float": "ieee_32", "double": "ieee_64"}


class Unproven(Exception):
    """The reason, in a line."""


class Parser:
    """A C expression of +, -, *, /, fma_ and constants, as a tree of tuples."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if not token or (expected and token != expected):
            raise Unproven(f"cannot read '{' '.join(self.tokens)}'")
        self.at += 1
        return token

    def whole(self):
        tree = self.sum()
        if self.peek():
            raise Unproven(f"cannot read '{' '.join(self.tokens)}'")
        return tree

    def sum(self):
        tree = self.product()
        while self.peek() in ("+", "-"):
            tree = (self.take(), tree, self.product())
        return tree

    def product(self):
        tree = self.factor()
        while self.peek() in ("*", "/"):
            tree = (self.take(), tree, self.factor())
        return tree

    def factor(self):
        token = self.take()
        if token == "-":
            return ("negate", self.factor())
        if token == "(":
            tree = self.sum()
            self.take(")")
            return tree
        if token == "fma_":
            self.take("(")
            operands = [self.sum()]
            for _ in range(2):
                self.take(",")
                operands.append(self.sum())
            self.take(")")
            return ("fma", *operands)
        if token[0].isdigit():
            return ("number", token.rstrip("f") if not token.startswith("0x") else token)
        return ("name", token)


def source(path):
    text = (ROOT / path).read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"(0x[0-9a-f.]+p[+-]?\d+|\d\.\d*)f\b", r"\1", text)


def constants(text):
    found = {}
    for kind, rest in re.findall(r"static constexpr (float|double) ([^;]*);", text):
        for part in rest.split(","):
            name, value = part.split("=")
            found[name.strip()] = ("round", kind, Parser(value).whole())
    return found


def body(text, path, name):
    found = re.search(rf"\b(float|double|turn) {name}\([^)]*\) {{\n(.*?)\n}}", text, re.S)
    if not found:
        raise Unproven(f"{path} has no function {name}")
    return found.group(1), found.group(2)


ZERO = ("number", "0")


def folded(tree):
    """The tree without terms and factors that are 0."""
    if tree[0] in ("name", "number"):
        return tree
    op, *parts = tree[0], *(folded(t) for t in tree[1:])
    if op == "fma":
        return folded(("+", ("*", *parts[:2]), parts[2])) if ZERO in parts else (op, *parts)
    if op in ("*", "/") and parts[0] == ZERO or op == "*" and parts[1] == ZERO:
        return ZERO
    if op in ("+", "-") and parts[1] == ZERO:
        return parts[0]
    if op == "+" and parts[0] == ZERO:
        return parts[1]
    return (op, *parts)


class Code:
    """Statements of a function, in single assignment."""

    def __init__(self, path, function, first, last, zero=None):
        text = source(path)
        self.constants = constants(text)
        self.statements = []  # (name, kind, tree)
        values, count, kinds = {}, {}, {}
        kinds["result"], inside = body(text, path, function)
        statements = re.sub(r"\s+", " ", inside).replace("return ", "result = ").split(";")
        assigned = []
        for statement in statements:
            match = re.fullmatch(r"\s*(?:const )?(?:(float|double) )?(.*)", statement.strip())
            parts = [p for p in self.split_commas(match.group(2)) if re.match(r"\w+ = ", p)]
            for part in parts:
                name, value = part.split(" = ", 1)
                kinds.setdefault(name, match.group(1))
                assigned.append((name, kinds[name], value))
        names = [a[0] for a in assigned]
        if zero:
            values[zero] = None
        if first not in names or last not in names:
            raise Unproven(f"{function} in {path} assigns no {first} or no {last}")
        begin, end = names.index(first), len(names) - 1 - names[::-1].index(last)
        chosen = assigned[begin : end + 1]
        total = {}
        for name, _, _ in chosen:
            total[name] = total.get(name, 0) + 1
        for name, kind, value in chosen:
            tree = self.rename(Parser(value).whole(), values)
            count[name] = count.get(name, 0) + 1
            if zero:
                tree = folded(tree)
            single = name if count[name] == total[name] else f"{name}_{count[name]}"
            values[name] = single
            self.statements.append((single, kind, tree))
        self.kind = self.statements[-1][1]

    @staticmethod
    def split_commas(text):
        parts, depth = [""], 0
        for c in text:
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += c
        return [p.strip() for p in parts]

    def rename(self, tree, values):
        if tree[0] == "name":
            single = values.get(tree[1], tree[1])
            return ("name", single) if single else ZERO
        return (tree[0], *(self.rename(t, values) if isinstance(t, tuple) else t for t in tree[1:]))

    def write(self, tree, rnd, prefix, own):
        """The tree as Gappa and Sollya write it; rnd: the rounding, or nothing."""

        def inner(t):
            return self.write(t, rnd, prefix, own)

        def rounded(t):
            return f"{rnd}({t})" if rnd else f"({t})"

        op = tree[0]
        if op == "number":
            return tree[1]
        if op == "name":
            if tree[1] in self.constants:
                return self.write_constant(self.constants[tree[1]])
            return prefix + tree[1] if tree[1] in own else tree[1]
        if op == "negate":
            return f"(-{inner(tree[1])})"
        if op == "fma":
            a, b, c = tree[1:]
            if c[0] == "negate":
                return rounded(f"{inner(a)} * {inner(b)} - {inner(c[1])}")
            if b[0] == "negate":
                return rounded(f"{inner(c)} - {inner(a)} * {inner(b[1])}")
            return rounded(f"{inner(a)} * {inner(b)} + {inner(c)}")
        return rounded(f"{inner(tree[1])} {op} {inner(tree[2])}")

    def write_constant(self, constant):
        """Constants are exact in C; sums become one number, since Gappa compares by form."""
        _, _, tree = constant
        if tree[0] == "+":
            return repr(sum(float.fromhex(t[1]) for t in tree[1:]))
        return self.write(tree, "", "", set())

    def gappa(self, prefix):
        lines = []
        for name, kind, tree in self.statements:
            lines.append(f"{name} = {self.write(tree, f'float<{FORMATS[kind]},ne>', '', set())};")
        if prefix:
            own = {s[0] for s in self.statements}
            for name, _, tree in self.statements:
                lines.append(f"{prefix}{name} = {self.write(tree, '', prefix, own)};")
        return lines

    def sollya(self, prefix, wanted):
        own = {s[0] for s in self.statements}
        lines = [f"{prefix}{n} = {self.write(t, '', prefix, own)};" for n, _, t in self.statements]
        if wanted not in {prefix + n for n in own}:
            raise Unproven(f"no value is called {wanted}")
        return lines


def run(program, *arguments, text):
    try:
        return subprocess.run(
            [program, *arguments], input=text, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        raise Unproven(f"{program} takes more than {LIMIT} s") from None


def near(code, prefix, line):
    match = re.fullmatch(
        r"%near (\w+) (\S+) of (\w+) in (\[.*;.*\]) within (\S+) (relative|absolute)", line
    )
    if not match:
        raise Unproven(f"cannot read '{line}'")
    name, function, variable, interval, error, kind = match.groups()
    script = ["verbosity = 0!;", "prec = 200!;", f"{variable} = _x_;"]
    script += code.sollya(prefix, name)
    script.append(f"s = supnorm({name}, {function.replace(variable, '_x_')}, {interval}, {kind}, 2^(-40));")
    script.append(f'if (sup(s) <= {error}) then print("proven") else print("at most", sup(s));')
    said = run("sollya", "--warnonstderr", text="\n".join(script) + "\nquit;\n")
    if said.stdout.split()[-1:] != ["proven"]:
        raise Unproven(f"'{line}': {' '.join((said.stdout + said.stderr).split()) or 'no answer'}")


def true(line):
    statement = line.removeprefix("%true ")
    script = f'verbosity = 0!; prec = 200!; if ({statement}) then print("proven");'
    if run("sollya", text=script + " quit;\n").stdout.split()[-1:] != ["proven"]:
        raise Unproven(f"'{line}': Sollya finds it false")


def check(script):
    said = run("gappa", "-Wno-unbound-variable", text="\n".join(script) + "\n")
    if said.returncode != 0:
        lines = [line for line in said.stderr.splitlines() if not line.startswith("Warning")]
        raise Unproven(" ".join(" ".join(lines).split())[:400])


def table(path, theorem):
    """What a header says that this theorem bounds: "FUNCTION UNITS u" lines."""
    rows = re.findall(r"^ \* +(\w+) +(\S+ u)  .*\bproofs/([\w.]+)", (ROOT / path).read_text(), re.M)
    return {f"{function} {units}" for function, units, name in rows if name == theorem}


def quoted(line, script, kind):
    """The header's file, and its line, which the lemma's last bound must not exceed."""
    _, path, function, units, _ = line.split()
    bounds = re.findall(r"in \[-(\S+), (\S+)\] }", "\n".join(script))
    if not bounds or max(map(float, bounds[-1])) > float(units) * {"float": 2**-24, "double": 2**-53}[kind]:
        raise Unproven(f"'{line}': that bound is not proven here")
    return path, f"{function} {units} u"


def prove(path):
    """Each lemma of the file is a Gappa script of its own."""
    lemma, script, code, prefix, quotes = "", [], None, "", []
    for line in [*path.read_text().splitlines(), "%lemma"]:
        if line.startswith("%lemma"):
            if lemma:
                try:
                    check(script)
                except Unproven as reason:
                    raise Unproven(f"{lemma}: {reason}") from None
            lemma, script = line.removeprefix("%lemma").strip(), []
        elif line.startswith("%code "):
            words = line.split()
            first, last = words[3].split("..")
            zero = words.pop().removesuffix("=0") if words[-1].endswith("=0") else None
            prefix = words[4] if len(words) > 4 else ""
            code = Code(words[1], words[2], first, last, zero)
            script += code.gappa(prefix)
        elif line.startswith("%near "):
            near(code, prefix, line)
        elif line.startswith("%true "):
            true(line)
        elif line.startswith("%quoted "):
            quotes.append(quoted(line, script, code.kind))
        else:
            script.append(line)
    for header in {header for header, _ in quotes}:
        said, wanted = table(header, path.name), {row for of, row in quotes if of == header}
        if said != wanted:
            raise Unproven(f"{header} says {sorted(said)} of it, and it proves {sorted(wanted)}")
    if not quotes:
        raise Unproven("no header quotes it")


def main(arguments):
    for tool in ("gappa", "sollya"):
        if not shutil.which(tool):
            print(f"prove.py: {tool} is not here (ci/setup test installs it)")
            return 77
    unproven = 0
    for name in arguments:
        try:
            prove(Path(name))
            print(f"proven    {name}")
        except Unproven as reason:
            print(f"UNPROVEN  {name}: {reason}")
            unproven = 1
    return unproven


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
