#!/usr/bin/env bash
# An operator that is not built in: assay new operator, then every verb that takes --operator. Wrong
# kernels and wrong oracles are found, and files that are no operator, damaged ones among them, get
# one line.
set -euo pipefail
# shellcheck source=tests/cli/expect.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/expect.sh"
export ASSAY_CERTIFICATES=$place/certificates
line() { # STATUS TEXT COMMAND...: that status, and one line that says so
    local want=$1 text=$2
    shift 2
    expect "$want" "$@"
    says "$text"
    [ "$(wc -l <log)" -eq 1 ] || { cat log; exit 1; }
}

# ---- it passes as it is written, from its sources ----
expect 0 "$assay" new operator scaled
says 'assay check scaled/v1 --operator scaled/scaled.c --kernel scaled/v1.cu --device sim'
expect 0 "$assay" check scaled/v1 --operator scaled/scaled.c --kernel scaled/v1.cu --device sim
says '12 passed, 0 failed, 0 mistrusted, 0 errors'
expect 0 "$assay" check scaled/v1 --operator scaled/scaled.c --kernel scaled/v1.cu --device sim --set edge
compgen -G 'assay-*' && exit 1 # nothing is left behind
line 2 'is there already' "$assay" new operator scaled
line 2 'choose another name' "$assay" new operator rmsnorm
line 2 'the name is a small letter' "$assay" new operator ../x
line 2 'the name is a small letter' "$assay" new operator

# ---- every verb ----
expect 0 "$assay" build scaled/v1.cu --device sim --out k.so
read -ra compile <<<"$("$assay" list --operator scaled/scaled.c 2>&1 | sed -n '1s/ -o .*//p')"
build() { "${compile[@]/#scaled\/scaled.c/$1}" -o "$2"; }
build scaled/scaled.c o.so
own=(--operator o.so --kernel k.so --device sim)
expect 0 "$assay" list --operator o.so
says 'y = exp(-x) / sum exp(-x)'
expect 0 "$assay" help scaled --operator o.so
says 'cases smoke 12'
expect 0 "$assay" check scaled/v1 "${own[@]}" --random 60 --jobs 2
expect 0 "$assay" fuzz scaled/v1 "${own[@]}" --cases 100
says '0 findings'
expect 0 "$assay" bench scaled/v1 n=8 d=16 "${own[@]}" --samples 2
says 'rows: 4 ok;'
expect 0 "$assay" golden generate scaled n=4 d=5 --operator o.so --file g.h5
expect 0 "$assay" golden verify scaled --operator o.so --file g.h5
says '3 of 3 groups of tensors right'
expect 0 "$assay" golden list scaled --operator o.so --file g.h5
expect 0 "$assay" run scaled n=4 d=5 --no-run --operator o.so --out in.npz
line 3 'got.npz: No such file' "$assay" judge scaled n=4 d=5 --got got.npz --operator o.so
expect 3 "$assay" judge scaled n=4 d=5 --got in.npz --operator o.so # it holds no answers
answer() { # FACTOR: answers by another program, dx times the factor
    "$assay" run scaled n=4 d=5 --no-run --operator o.so --out in.safetensors --quiet
    python3 - "$1" <<'PYTHON'
import json, math, struct, sys
data = open("in.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
head, body = json.loads(data[8:8 + size]), data[8 + size:]
def rows(name):
    begin, end = head[name]["data_offsets"]
    v = struct.unpack("<20f", body[begin:end])
    return [v[5 * i:5 * i + 5] for i in range(4)]
y, dx = [], []
for x, dy in zip(rows("in/x"), rows("cot/y")):
    e = [math.exp(-v) for v in x]
    p = [v / sum(e) for v in e]
    along = sum(a * b for a, b in zip(p, dy))
    y += p
    dx += [float(sys.argv[1]) * a * (along - b) for a, b in zip(p, dy)]
tensor = lambda at: {"dtype": "F32", "shape": [4, 5], "data_offsets": [at, at + 80]}
text = json.dumps({"out/y": tensor(0), "grad/x": tensor(80)}).encode()
open("got.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<40f", *y, *dx))
PYTHON
}
if command -v python3 >/dev/null; then
    answer 1
    expect 0 "$assay" judge scaled n=4 d=5 --got got.safetensors --operator o.so
    answer 1.001
    expect 1 "$assay" judge scaled n=4 d=5 --got got.safetensors --operator o.so
    says 'reproduce: assay judge scaled n=4 d=5 dtype=f32 seed=0 --got got.safetensors --operator o.so'
fi
line 2 'mutants takes no --operator' "$assay" mutants scaled --operator o.so
line 2 'unknown operator "scaled"' "$assay" check scaled/v1 --kernel k.so
line 2 'of which assay has no kernel' "$assay" check scaled --operator o.so
line 2 'of which assay has no kernel' "$assay" run scaled/v1 n=4 d=5 --operator o.so --out out.npz

# ---- a certificate names the operator's file, and holds for its bytes alone ----
expect 0 "$assay" check scaled/v1 "${own[@]}" --certify
expect 0 "$assay" certificate verify scaled/v1 "${own[@]}"
expect 0 "$assay" certificate verify scaled/v1 --operator ./o.so --kernel k.so --device sim
expect 0 "$assay" certificate show scaled/v1 --operator o.so --device sim
says "operator $(sha256sum <o.so | cut -d' ' -f1) o.so"
expect 0 "$assay" certificate list --device sim
says 'and by --operator a file such as o.so'
line 2 'sim has no kernel of scaled; is it in a file? name it with --kernel' "$assay" certificate list --operator o.so --device sim
cp o.so $'o\001.so'
expect 0 "$assay" check scaled/v1 --operator $'o\001.so' --kernel k.so --device sim --certify
expect 0 "$assay" certificate show scaled/v1 --operator o.so --device sim
says ' o?.so'
sed 's/"row_permutation"/"rows_reversed"/' scaled/scaled.c >other.c
build other.c other.so
expect 4 "$assay" certificate verify scaled/v1 --operator other.so --kernel k.so --device sim
says "the operator's own file has changed"

# ---- wrong kernels are found ----
wrong() { # SED-EXPRESSION TEXT
    sed "$1" scaled/v1.cu >bug.cu
    ! cmp -s scaled/v1.cu bug.cu
    expect 1 "$assay" check scaled/v1 n=5x7 d=33 --operator o.so --kernel bug.cu --device sim
    says "$2"
    says '--device sim --kernel bug.cu --operator o.so'
}
wrong 's/sum += exp_/sum += j > 0 ? exp_/; s/exp_(least - widen(x\[j\]));/exp_(least - widen(x[j])) : 0;/' \
    'fail v1 y'
wrong 's/(along - widen(dy\[j\]))/along/' 'fail v1 dx'

# ---- a wrong oracle is found before it judges ----
sed 's/y\[j\] \* (along - dy\[j\])/y[j] * (along + dy[j])/' scaled/scaled.c >wrong.c
! cmp -s wrong.c scaled/scaled.c
build wrong.c wrong.so
for verb in "check scaled/v1 --kernel k.so" "judge scaled n=4 d=5 --got in.npz"; do
    # shellcheck disable=SC2086
    line 3 'backward of scaled is not the derivative of its forward: in 8 of 8 random cases' \
        "$assay" $verb --operator wrong.so
done

# ---- what is no operator ----
check=("$assay" list --operator)
line 3 'missing.so: No such file' "${check[@]}" missing.so
echo text >text.so
line 3 'text.so: is no shared object' "${check[@]}" text.so
line 3 'k.so: defines no operator' "${check[@]}" k.so
: >empty.so
line 3 'empty.so: is no shared object' "${check[@]}" empty.so
size=$(stat -c %s o.so)
for part in 100 1000 $((size / 2)) $((size - 100)); do
    head -c "$part" o.so >cut.so
    line 3 'cut.so: is cut short' "${check[@]}" cut.so
done
for at in 64 200 400 600 800 1200; do # headers and tables of names
    cp o.so bent.so
    printf '\377\377\377\377\377\377\377\377' | dd of=bent.so bs=1 seek=$at conv=notrunc status=none
    status=0
    "${check[@]}" bent.so >log 2>&1 || status=$?
    [ $status -eq 0 ] || { [ $status -eq 3 ] && [ "$(wc -l <log)" -eq 1 ]; } || { cat log; exit 1; }
done
header() { # SED-EXPRESSION TEXT
    sed "$1" scaled/scaled.c >part.c
    ! cmp -s part.c scaled/scaled.c
    build part.c part.so
    line 3 "$2" "${check[@]}" part.so
}
header 's/^ASSAY_OPERATOR(op);/const assay_operator assay_operator_entry = {ASSAY_OPERATOR_ABI + 1, ASSAY_OPERATOR_LAYOUT, \&op};/' \
    'part.so: was built against another assay: its ABI is 3.'
header 's/^ASSAY_OPERATOR(op);/const assay_operator assay_operator_entry = {ASSAY_OPERATOR_ABI, 7, \&op};/' 'this one'
header '/\.draw = draw/d; s/^static void draw/void draw/' 'scaled has no .draw'
header 's/\.name = "scaled"/.name = "rmsnorm"/' 'there is an operator rmsnorm already'
header 's/\.name = "scaled"/.name = "Sc aled"/' "an operator's name is a letter"
header 's/ASSAY_SMOKE, "n=16 d=96/ASSAY_SMOKE, "m=16 d=96/' 'has no key "m"'
header 's/rows_legal("scaled", params)/nobody_has_this()/; 1i int nobody_has_this(void);' \
    'undefined symbol: nobody_has_this'
