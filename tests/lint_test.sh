#!/usr/bin/env bash
# ci/lint passes a clean tree and catches each kind of violation.
set -euo pipefail
source_root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0
unset CI

machine_path=/home
machine_path+=/someone/data

clean_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{include/assay,oracles,kernels,sim,golden,fuzz,bench,tests/sim,ci}
    cp "$source_root"/.clang-{format,tidy} "$tree"
    echo 'typedef int number;' >"$tree/include/assay/number.h"
    printf '#include "assay/number.h"\n\n#include <math.h>\n' >"$tree/oracles/oracle.h"
    printf '#include "assay/number.h"\n%b' "${shared:+\n$shared\n}" >"$tree/kernels/kernel.cu"
    echo '#include "assay/number.h"' >"$tree/sim/sim.h"
    echo '#include "assay/number.h"' >"$tree/sim/fiber.h"
    echo '#include "sim/sim.h"' >"$tree/tests/sim/test.c"
    printf '#!/bin/sh\n' >"$tree/ci/script"
    chmod +x "$tree/ci/script"
}

lint() {
    "$source_root/ci/lint" "$tree" 2>&1
}

expect_caught() { # TITLE FILE TEXT
    local output status=0
    clean_tree
    printf '%b\n' "$3" >>"$tree/$2"
    output=$(lint) || status=$?
    if [ $status -ne 1 ] || ! grep -q "^lint: $1" <<<"$output" || ! grep -q "$2" <<<"$output"; then
        printf 'not caught (exit %d): "%s" in %s\n%s\n' $status "$3" "$2" "$output"
        failures=$((failures + 1))
    fi
}

clean_tree
if ! output=$(lint); then
    printf 'a clean tree fails:\n%s\n' "$output"
    exit 1
fi

if command -v clang-format-14 >/dev/null; then
    expect_caught formatting oracles/bad.c 'int  a;'
fi
if command -v clang-tidy-14 >/dev/null; then
    expect_caught clang-tidy oracles/bad.c 'int same(int x) {\n    return x == x;\n}'
fi
expect_caught layering oracles/bad.c '#include "sim/sim.h"'
expect_caught layering oracles/bad.c '#include <sim/sim.h>'
expect_caught layering oracles/bad.cu '#include "sim/sim.h"'
expect_caught layering kernels/bad.cu '#include "oracles/oracle.h"'
expect_caught layering kernels/bad.cu '#include "../oracles/oracle.h"'
expect_caught layering sim/bad.c '  #  include "../oracles/oracle.h"'
expect_caught layering golden/bad.c '#include "oracles/oracle.h"'
expect_caught layering include/assay/bad.h '#include "oracles/oracle.h"'
expect_caught layering fuzz/bad.c '#include "sim/sim.h"'
expect_caught layering bench/bad.c '#include "oracles/oracle.h"'
expect_caught layering tests/bad.c '#include "oracles/oracle.h"'
expect_caught layering tests/bad.c '#include "sim/sim.h"'
expect_caught layering tests/sim/bad.c '#include "sim/fiber.h"'
expect_caught 'a header does not stand alone as C17' include/assay/bad.h 'extern unknown_type x;'
expect_caught 'a header does not stand alone as C++20' include/assay/bad.h 'extern int class;'
quiet=-q # this file is looked at, too
expect_caught 'a pipe into grep -q' ci/script "true | grep $quiet yes"
expect_caught 'NaN passes' oracles/bad.c 'int f(double err, double tol) {\n    return err > tol;\n}'
expect_caught 'NaN passes' kernels/bad.cu '/* */ int g = max_error >= p->atol;'
expect_caught 'NaN passes' golden/bad.py 'if ratio > limit:'
expect_caught 'NaN passes' tests/bad.cpp 'bool bad = fabs(got - want) > 2 * bound;'
expect_caught 'a line of a page over 100 characters' BAD.md "$(printf 'word %.0s' {1..21})"
expect_caught 'a page names a file or heading' BAD.md '[gone](gone.md)'
expect_caught 'a page names a file or heading' BAD.md '# Title\n\n[here](#titel)'
expect_caught 'a page names a file or heading' BAD.md 'see `oracles/gone_*.c`'
expect_caught 'a row of a table with other cells' BAD.md '| a | b |\n|---|---|\n| c | | d |'
expect_caught 'a path of one machine' ci/bad.txt "see $machine_path"
expect_caught 'a path of one machine' oracles/bad.c "const char *p = \"$machine_path\";"
with_function='struct split {\n    int n;\n    int get() const {\n        return n;\n    }\n};'
shared=$with_function # which a file of the clean tree has
expect_caught 'a class with functions in two kernel files' kernels/bad.cu "$with_function"
shared="namespace {\n$with_function\n} // namespace"
clean_tree
printf '%b\n' "$with_function" >"$tree/kernels/good.cu"
if ! output=$(lint); then
    printf 'classes of an anonymous namespace fail:\n%s\n' "$output"
    failures=$((failures + 1))
fi
shared=
expect_caught 'a script that is not executable' ci/bad '#!/bin/sh'

[ $failures -eq 0 ]
