#!/usr/bin/env bash
# What proofs/NAME.c says of the code that it includes is shown by Frama-C, and is not of code that
# is wrong. Arguments: the folder of a check-out, NAME. Exit 77: frama-c is not here, which ci/setup
# does not install (Debian's frama-c-base is 200 MB); or it would take minutes, as for certificates,
# and ASSAY_CI_ALL is not set.
set -euo pipefail
command -v frama-c >/dev/null || exit 77
root=$1
name=$2
if [ "$name" = certificate ] && [ -z "${ASSAY_CI_ALL:-}" ]; then
    exit 77
fi
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" # Frama-C looks for included files where it runs, first
failures=0

copy() {
    rm -rf "$tree/core" "$tree/engine" "$tree/proofs"
    cp -r "$root/core" "$root/engine" "$root/proofs" "$tree"
}
case $name in
compare)
    checks=5
    with=(-eva-precision 3 -eva-domains cvalue,equality,gauges,symbolic-locations,octagon
        core/norm.c core/dtype.c)
    ;;
certificate)
    checks=4
    with=(-eva-precision 1 -eva-slevel 700 -eva-split-return auto -eva-domains cvalue engine/scope.c)
    ;;
esac
shown() { # CPP-FLAGS...
    frama-c -eva "${with[@]}" -warn-special-float none -machdep gcc_x86_64 \
        -cpp-extra-args="-I. -I$root/include -D_GNU_SOURCE -std=c17 $*" "proofs/$name.c" \
        >"$tree/said" 2>&1 &&
        grep -q '^  0 alarms generated' "$tree/said" &&
        grep -q "Assertions *$checks valid *0 unknown *0 invalid" "$tree/said"
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
    elif shown -DMOST=80; then # of shorter lines: half a minute each
        echo "FAILED: still shown: $1"
        failures=1
    fi
}
case $name in
compare)
    refuses 'a bound of NaN lets everything pass' core/compare.c 's/j.error <= bound;/!(j.error > bound);/'
    refuses 'a shift by too much' core/dtype.c 's/if (cut > 53)/if (cut > 99)/'
    ;;
certificate)
    read=engine/certificate_read.c
    refuses 'a value that fills its room, and its end behind it' $read 's/length - n - 1 >= size/length - n - 1 > size/'
    refuses 'a line shorter than its word' $read 's/ || length < n + 1//'
    refuses 'a line without an end' $read 's/r->at = end + 1/r->at = end + 2/'
    refuses 'a long name' $read 's/op >= sizeof s->op /op > sizeof s->op /'
    refuses 'a case without a text' $read "s/if (!text || text\\[1\\] == '.0')/if (false)/"
    ;;
esac
exit $failures
