#!/usr/bin/env bash
# What proofs/compare.c says of the comparison is shown by Frama-C, and is not of wrong comparisons.
# Arguments: the folder of a check-out. Exit 77: frama-c is not here. ci/setup does not install it:
# Debian's frama-c-base is 200 MB.
set -euo pipefail
command -v frama-c >/dev/null || exit 77
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" # Frama-C looks for included files where it runs, first
failures=0

copy() {
    rm -rf "$tree/core" "$tree/proofs"
    cp -r "$root/core" "$root/proofs" "$tree"
}
shown() {
    frama-c -eva -eva-precision 3 -warn-special-float none -machdep gcc_x86_64 \
        -eva-domains cvalue,equality,gauges,symbolic-locations,octagon \
        -cpp-extra-args="-I. -I$root/include -D_GNU_SOURCE -std=c17" \
        proofs/compare.c core/{norm,dtype}.c >"$tree/said" 2>&1 &&
        grep -q '^  0 alarms generated' "$tree/said" &&
        grep -q 'Assertions *5 valid *0 unknown *0 invalid' "$tree/said"
}

copy
if ! shown; then
    grep -A3 'eva:alarm\|Assertions\|SUMMARY' "$tree/said" || cat "$tree/said"
    failures=1
fi

refuses() { # WHAT FILE SED-EXPRESSION
    copy
    sed -i "$3" "$tree/$2"
    if cmp -s "$tree/$2" "$root/$2"; then
        echo "FAILED: '$3' changes nothing in $2"
        failures=1
    elif shown; then
        echo "FAILED: still shown: $1"
        failures=1
    fi
}
refuses 'a bound of NaN lets everything pass' core/compare.c 's/j.error <= bound;/!(j.error > bound);/'
refuses 'a shift by too much' core/dtype.c 's/if (cut > 53)/if (cut > 99)/'
exit $failures
