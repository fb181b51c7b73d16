#!/usr/bin/env bash
# assay.toml: kernels are judged with the flags that are written there, each report is one of all,
# the worst exit code counts, and a file that is wrong gets one line. On GitHub's runners failures
# are annotations.
set -euo pipefail
assay=$1 tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export TMPDIR=$place/tmp
mkdir tmp kernels

expect() { # STATUS COMMAND...
    local want=$1 status=0
    shift
    "$@" >log 2>&1 || status=$?
    if [ $status -ne "$want" ]; then
        printf 'exit %d, expected %d: %s\n' $status "$want" "$*"
        cat log
        exit 1
    fi
}
says() { # TEXT [FILE]
    if ! grep -qF -- "$1" "${2:-log}"; then
        printf '%s does not say "%s":\n' "${2:-log}" "$1"
        cat "${2:-log}"
        exit 1
    fi
}
silent() { # TEXT
    ! grep -qF -- "$1" log
}

cat >kernels/sum.c <<'C'
#include <stdint.h>

int weighted_sum_forward(const float *x, int64_t x_stride, const float *w, float *y, int x_rows,
                         int64_t d) {
    for (int i = 0; i < x_rows; ++i) {
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += x[i * x_stride + j] * w[j];
        y[i] = sum;
    }
    return 0;
}
C
sed 's/j < d; ++j)/j < d - (d > 40); ++j)/' kernels/sum.c >kernels/short.c
for name in sum short; do
    cc -O1 -shared -fPIC kernels/$name.c -o kernels/$name.so
done
cat >kernels/sum.binding <<'T'
forward = int weighted_sum_forward(const float *x, int64_t x.stride, float *w, float *y, int x.rows, int64_t d)
T
cat >assay.toml <<'T'
stage = "forward" # for both
device = "sim"
jobs = 1
binding = 'kernels/sum.binding'

[[kernel]]
op = "weighted_sum"
file = "kernels/sum.so"
cases = "n=5x7 d=33,41"

[[kernel]]
op = "weighted_sum"
name = "shorter"
file = "kernels/short.so"
set = "smoke"
exclude = "*dtype=f64*"
T

# ---- what is judged, and how ----
expect 1 "$assay" check --json all.json --csv all.csv --junit all.xml --markdown all.md
says 'weighted_sum/sum (kernels/sum.so): pass'
says 'weighted_sum/shorter (kernels/short.so): fail'
says '2 passed, 0 failed, 0 mistrusted, 0 errors, 0 skipped; 2 cases, 1 variant'
says '--kernel kernels/short.so --binding kernels/sum.binding'
silent dtype=f64
[ -z "$(ls tmp)" ] # no report is left behind
[ "$(grep -c '^  <testsuite ' all.xml)" = 2 ]
says '<failure type="fail"' all.xml
[ "$(grep -c '^op,' all.csv)" = 1 ]
says '## weighted_sum/shorter: kernels/short.so' all.md
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON'
import json
import xml.dom.minidom
xml.dom.minidom.parse("all.xml")
kernels = json.load(open("all.json"))["kernels"]
assert [(k["kernel"], k["exit"]) for k in kernels] == [("weighted_sum/sum", 0), ("weighted_sum/shorter", 1)]
assert len(kernels[0]["report"]["results"]) == 2, kernels[0]["report"].keys()
PYTHON
fi
# A flag of the command line comes before all others.
expect 0 "$assay" check --exclude '*d=41*,*d=128*,*d=70*' --set smoke --quiet
[ "$(wc -l <log)" -le 6 ]
# Words of the command line are as ever.
expect 0 "$assay" check weighted_sum/v1 n=2 d=3 --device sim
silent shorter

# ---- on GitHub ----
GITHUB_ACTIONS=true expect 1 "$assay" check weighted_sum/x --kernel kernels/short.so \
    --binding kernels/sum.binding n=5 d=44 --stage forward --device sim
says '::error file=kernels/short.so,line=1,title=weighted_sum/x%3A fail::y: '
says '%0Aassay check weighted_sum/x n=5 d=44'
# The path is that in the repository, wherever assay is started.
expect 1 env -C kernels GITHUB_ACTIONS=true GITHUB_WORKSPACE="$place" "$assay" check weighted_sum/x \
    --kernel short.so --binding sum.binding n=5 d=44 --stage forward --device sim
says '::error file=kernels/short.so,line=1'
# Kernels that cannot be judged are annotated as well.
printf 'int x = y;\n// assay: forward = f(x, y)\n' >kernels/broken.cu
for file in kernels/gone.cu kernels/broken.cu; do
    GITHUB_ACTIONS=true expect 3 "$assay" check weighted_sum/x --kernel $file --stage forward --device sim
    says "::error file=$file,line=1,title=weighted_sum/x%3A not judged::$file: "
done
printf '\177ELF' >kernels/damaged.so
GITHUB_ACTIONS=true expect 3 "$assay" check weighted_sum/x --kernel kernels/damaged.so \
    --binding kernels/sum.binding --stage forward --device sim
says '::error file=kernels/damaged.so,line=1,title=weighted_sum/x%3A not judged::kernels/damaged.so'
mkdir -p tree/ci tree/build/default/cli
cp "$tree/ci/action" tree/ci
ln -s "$assay" tree/build/default/cli/assay
head -8 assay.toml >one && mv one assay.toml
GITHUB_OUTPUT=output GITHUB_STEP_SUMMARY=summary FLAGS='--exclude *d=41*' expect 0 tree/ci/action judge
says 'reports=' output
says '## weighted_sum/sum' summary
expect 2 env -C kernels ../tree/ci/action judge
says 'kernels has no assay.toml; the input folder names the folder that has it'

# ---- what is refused ----
while IFS='|' read -r text said; do
    printf '%b' "$text" >assay.toml
    expect 2 "$assay" check
    says "assay: assay.toml$said"
    [ "$(wc -l <log)" = 1 ]
done <<'T'
x = 1|, line 1: there is no such key: x
\n[kernel]|, line 2: a table is [[kernel]], with two brackets
[[kernels]]|, line 1: tables are called [[kernel]], not kernels
[[kernel]]\nop = "rope"|, line 1: this kernel has no file
[[kernel]]\nop = "rope"\nfile = 3|, line 3: a string is wanted for file
[[kernel]]\nop = "rope"\nop = "x"|, line 3: op is there twice
json = "x"|, line 1: there is no such key: json
certify = 1|, line 1: true or false is wanted for certify
set = ci|, line 1: a value is a "string", a number, true or false
set = "ci|, line 1: the string does not end in its line
set = "c\\i"|, line 1: of escapes only
set = "ci" "smoke"|, line 1: a line is KEY = VALUE or [[kernel]]
stage = "forward"| lists no kernel
T
# A kernel that is not there is the worst of all, and the others are judged all the same.
cat >assay.toml <<'T'
device = "sim"
stage = "forward"
[[kernel]]
op = "weighted_sum"
file = "none.so"
[[kernel]]
op = "weighted_sum"
file = "kernels/sum.so"
binding = "kernels/sum.binding"
cases = "n=5 d=33"
T
expect 3 "$assay" check --quiet --junit all.xml
says 'weighted_sum/none (none.so): error'
says 'weighted_sum/sum (kernels/sum.so): pass'
says 'it was not judged: exit code 3' all.xml
