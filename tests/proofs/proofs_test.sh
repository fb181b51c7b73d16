#!/usr/bin/env bash
# Every theorem of proofs/ is proven, and each stops being so when the code, or the claim, is wrong.
# Arguments: the folder of a check-out. Exit 77: Gappa or Sollya is not here.
set -euo pipefail
root=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/kernels"
failures=0

copy() {
    rm -rf "$tree/proofs" "$tree/kernels/common"
    cp -r "$root/proofs" "$tree"
    cp -r "$root/kernels/common" "$tree/kernels"
}
prove() { python3 "$tree/proofs/prove.py" "${@/#/$tree/proofs/}"; } # FILE...

copy
status=0
prove $(cd "$root/proofs" && echo *.gappa) || status=$? # their names have no spaces
[ $status -ne 77 ] || exit 77
[ $status -eq 0 ] || failures=1

# Each commit tries two of ten; every night (ASSAY_CI_ALL) all are tried.
turn=$((0x$(git -C "$root" rev-parse HEAD 2>/dev/null | cut -c1-6 || true)0 / 16 % 5)) number=0
refuses() { # WHAT THEOREM FILE SED-EXPRESSION
    number=$((number + 1))
    [ -n "${ASSAY_CI_ALL:-}" ] || [ $((number % 5)) -eq $turn ] || return 0
    copy
    sed -i "$4" "$tree/$3"
    if cmp -s "$tree/$3" "$root/$3"; then
        echo "FAILED: '$4' changes nothing in $3"
        failures=1
    elif prove "$2.gappa" >"$tree/said"; then
        echo "FAILED: still proven: $1"
        failures=1
    elif ! grep -q '^UNPROVEN' "$tree/said"; then
        echo "FAILED: no reason given: $1"
        failures=1
    fi
}
exp=kernels/common/exp.h
refuses 'exp2_ with another coefficient' exp2 $exp 's/0x1.ebfbdcp-3f/0x1.ebfcdcp-3f/'
refuses 'exp2_ that multiplies and adds apart' exp2 $exp \
    's/return fma_(p, r, 1.0f)/return p * r + 1.0f/'
refuses 'exp2_product that rounds the product' exp2_product $exp \
    's/r = fma_(y, factor, -n)/r = y * factor - n/'
refuses 'log_ with another coefficient' log $exp 's/-0x1.000226p-2f/-0x1.000426p-2f/'
refuses 'a sine with a wrong sign' trig kernels/common/trig.h \
    's/-0x1.a01a01a01a01ap-13/0x1.a01a01a01a01ap-13/'
refuses 'a false fact' exp proofs/exp.gappa 's/log(2) <= 0x1.62e42fefa39f0p-1/log(2) <= 0x1.62e42fefa39efp-1/'
refuses 'a header that promises more' exp $exp 's/exp_          1.54 u/exp_          1.53 u/'
refuses 'a theorem that says more than it shows' exp proofs/exp.gappa '/^%quoted/s/1.54/1.53/'
refuses 'a row of which nothing is proven' log $exp 's/log_          1.50 u/log1p_        1.50 u/'
refuses 'code that is not there' exp2 proofs/exp2.gappa 's/exp2_polynomial p/exp3_polynomial p/'

"$root/proofs/half_pi.py" || failures=1
if "$root/proofs/half_pi.py" 60; then
    echo 'FAILED: a double is nearer than 2^-60 to a multiple of pi/2, and half_pi.py does not say so'
    failures=1
fi

# The lemmas of the bounds hold, and with smaller constants they do not.
"$root/proofs/lemmas.py" || failures=1
too_small() { # LEMMA SED-EXPRESSION
    sed "$2" "$root/proofs/lemmas.py" >"$tree/lemmas.py"
    if cmp -s "$tree/lemmas.py" "$root/proofs/lemmas.py"; then
        echo "FAILED: '$2' changes nothing in lemmas.py"
        failures=1
    elif python3 "$tree/lemmas.py" "$1" >/dev/null; then
        echo "FAILED: $1 holds with a smaller constant, too"
        failures=1
    fi
}
too_small sums_in_any_order 's@h \* U / (1 - h \* U)@(h - 1) * U@'
too_small tensor_cores 's@^CUT = Q(1, 2)@CUT = Q(1, 4)@'
too_small tensor_cores 's@^TRUNCATED = 2@TRUNCATED = 1@'
too_small equal_terms 's@n \* max(residuals)@n * max(residuals) / 2@'
too_small walk 's@^WALK = 4@WALK = 3@'
too_small softmax 's@said / (1 + E)@said@'
too_small underflow 's@^ETA = Q(1, 2)@ETA = Q(1, 4)@'

python=$(python3 -c 'import sys; print(sys.executable)')
if [ "$(PATH=$tree "$python" "$root/proofs/prove.py" x.gappa)" != \
    'prove.py: gappa is not here (ci/setup test installs it)' ]; then
    echo 'FAILED: no line that names the missing tool'
    failures=1
fi
exit $failures
