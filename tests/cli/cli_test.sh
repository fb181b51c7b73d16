#!/usr/bin/env bash
# The command from outside: exit codes, one-line errors, reports that others can read.
# Usage: cli_test.sh PATH-OF-ASSAY
set -uo pipefail
assay=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export NO_COLOR=1 XDG_STATE_HOME=$folder/state

failures=0 checks=0
fault() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
    [ -s out ] && head -5 out | sed 's/^/  stdout: /'
    [ -s err ] && head -5 err | sed 's/^/  stderr: /'
}

# run CODE WORDS...: standard output lands in out, standard error in err.
run() {
    local want=$1 got
    shift
    checks=$((checks + 1))
    "$assay" "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$want" ] || fault "assay $*: exit $got, not $want"
}
says() { grep -qF -- "$2" "$1" || fault "$1 does not say: $2"; }
# A refusal: the exit code, one line on standard error that says so, nothing on standard output.
refuses() { # CODE TEXT WORDS...
    run "$1" "${@:3}"
    says err "$2"
    [ "$(wc -l <err)" -eq 1 ] || fault "assay ${*:3}: $(wc -l <err) lines of error, not 1"
    [ ! -s out ] || fault "assay ${*:3}: wrote to standard output"
}
have_python() { command -v python3 >/dev/null 2>&1; }

sum=(weighted_sum/v1 n=3x4 d=5 dtype=f32 --device sim)

# ---- help ----
run 0 --help && says out "usage: assay VERB" && says out "  check "
run 0 check --help && says out "--junit FILE"
run 0 help golden && says out "generate|verify|list"
for topic in fill pad misalign sched dtype math seed; do
    run 0 help $topic && says out "$topic=" && says out 'default: '
done
run 0 help fill && says out '  cancel    sums whose terms nearly cancel'
run 0 help layers && says out 'kronecker' # a key of one operator
run 0 help kronecker && says out '  forward   '
refuses 2 'no help on "fil": it is not a verb, an operator or a key; the nearest is fill' help fil
run 0 help --man && says out '.TH ASSAY 1 '
for verb in list check certificate golden run mutants fuzz bench profile completion help; do
    run 0 help $verb --man && says out ".B assay $verb" && says out '\-\-no\-color'
    grep -nv "^[^.']\|^$\|^[.][A-Z]\|^[.]nf$\|^[.]fi$" out && fault "the page of $verb has lines that troff takes for requests"
done
for verb in list check certificate golden run judge mutants fuzz bench profile exec help; do
    run 0 help $verb
    grep '^  --' out | grep -vE '^  --[a-z-]+( [^ ]+)?( {2,}[^ ].*)?$' && fault "flags of $verb stick to their text"
done
run 0 help exec && ! grep -q '^Values take lists' out || fault "exec takes no values of keys"
refuses 2 'only assay itself and its verbs' help fill --man
refuses 2 'name a shell' completion
refuses 2 'the nearest is bash' completion bsh
for shell in bash zsh fish; do
    run 0 completion $shell && says out 'kronecker' && says out 'in-process'
done
"$assay" completion bash >out
bash -c '. ./out; COMP_WORDS=(assay check --dev); COMP_CWORD=2; _assay_words; [ "${COMPREPLY[*]}" = --device ]' ||
    fault "bash does not complete --device"
bash -c '. ./out; COMP_WORDS=(assay check --set n); COMP_CWORD=3; _assay_words; [ "${COMPREPLY[*]}" = nightly ]' ||
    fault "bash does not complete a set"
run 0 --version && says out "assay "

# ---- usage ----
refuses 2 'no verb'
refuses 2 'unknown verb "chekc"; the nearest is check' chekc
refuses 2 'unknown operator "kroneker"; the nearest is kronecker' check kroneker
refuses 2 'unknown variant of kronecker: "v99"' check kronecker/v99
refuses 2 'unknown flag "--jsn"; the nearest is --json' check --jsn x
refuses 2 'unknown verb "frob"; assay --help lists the verbs' frob
refuses 2 'unknown operator "nosuch"; assay list prints the operators' check nosuch/v1
refuses 2 'unknown flag "-x"; assay help VERB lists' check -x
refuses 2 'unknown word after golden "zzz"; assay help golden lists them' golden zzz
refuses 2 '"nothing": it is not a verb, an operator or a key; assay --help' help nothing
refuses 2 'unknown set "smok"; the nearest is smoke' check --set smok
refuses 2 '"zz"' check kronecker b=1 f=2 zz=3
refuses 2 'f="0x4"' check kronecker b=1 f=0x4
refuses 2 'q has 1 extents and f has 2' check kronecker b=3 f=3x4 q=2
refuses 2 'b=3 belongs to no operator' check b=3
refuses 2 'words make cases of their own, so give sizes, too' check gelu form=tanh dtype=f32
refuses 2 'must be one of erf, tanh' check gelu form=tan
refuses 2 '--json needs a value' check --json
refuses 2 'two reports would go to' check --json - --csv -
refuses 2 'list takes no --quiet' list --quiet
refuses 2 'unknown device "gpu"; give one of sim|cuda' check "${sum[@]:0:4}" --device gpu
refuses 2 '--kernel needs one OP/VARIANT' check weighted_sum --kernel v4.so
refuses 2 '--kernel and --in-process' check weighted_sum/v4 --kernel v4.so --in-process
refuses 3 'v4.so: No such file' check weighted_sum/v4 --kernel v4.so --device sim
echo 'no kernel' >text.so
refuses 3 'text.so: is no whole shared object; --kernel takes .cu, .so' check weighted_sum/v4 --kernel text.so --device sim
refuses 2 '--time-limit "0": must be' check weighted_sum --time-limit 0
refuses 2 '--certify is for a whole set' check weighted_sum n=1 d=1 --certify
refuses 2 '--certify and --in-process' check weighted_sum --certify --in-process
refuses 2 '--certify --set edge' check weighted_sum --certify --set edge
# A word at fault behind many good ones is found before anything runs.
refuses 2 'd="x"' check weighted_sum n=1 d=1:9:1,x --device sim --json report.json
[ ! -e report.json ] || fault "a report was left by a command that was refused"

# ---- list ----
run 0 list && says out kronecker && says out devices && says out "W_k"
run 0 list kronecker --set smoke
says out "kronecker b=16 f=32x32 layers=2 dtype=f64 seed=0"
grep -qv '^kronecker ' out && fault "list --set prints more than cases"
run 0 list weighted_sum n=1,2 d=3:5:1
[ "$(wc -l <out)" -eq 6 ] || fault "2 x 3 cases make $(wc -l <out) lines"
run 0 list weighted_sum n=1:9:4 d=3:4 # ranges of a list's one extent, and without a step
[ "$(wc -l <out)" -eq 6 ] || fault "3 x 2 cases make $(wc -l <out) lines"
refuses 2 'range "2x1:9:1" must be first:last or first:last:step' list weighted_sum n=2x1:9:1 d=3
refuses 2 'takes no range such as "f32:f64"' list weighted_sum n=2 d=3 dtype=f32:f64
refuses 2 'list takes operators' list kronecker/v1
run 0 list --random 20 --seed 1 && mv out first
run 0 list --random 20 --seed 1
cmp -s out first || fault "the same seed drew other cases"

# ---- check ----
run 0 check "${sum[@]}" --json report.json --csv report.csv --junit report.xml \
    --markdown report.md
says out '||oracle_y||'
says out 'v1 pass'
says out '1 passed, 0 failed, 0 mistrusted, 0 errors, 0 skipped; 1 case, 1 variant,'
grep -q $'\033' out && fault "colour in a file"
says report.md '| pass | weighted'
says report.csv 'op,variant,device,case,stage,tensor,verdict,ratio,'
says report.xml '<testsuites name="assay" tests="1" failures="0" errors="0" skipped="0"'
says report.json '"verdict": "pass"'
run 0 check "${sum[@]}" --json -
says err 'v1 pass'
if have_python; then
    python3 - report.json out report.csv report.xml <<'END' >log 2>&1 || fault "reports: $(tail -1 log)"
import csv, json, sys
import xml.etree.ElementTree as xml
for path in sys.argv[1:3]:
    report = json.load(open(path, encoding="utf-8"))
    assert report["assay"] and report["environment"]["device"] == "sim"
    assert [r["tensor"] for r in report["results"]] == ["y", "dx", "dw"], report
    for r in report["results"]:
        for key in ("op variant device case stage tensor verdict ratio max_abs rel_l2 norm worst "
                    "want got bound count wrong why reason repro").split():
            assert key in r, key
rows = list(csv.reader(open(sys.argv[3], newline="")))
assert len(rows) == 4 and len(set(map(len, rows))) == 1
suites = xml.parse(sys.argv[4]).getroot()
assert len(suites.findall(".//testcase")) == int(suites.get("tests")) == 1
END
fi
# The lines that reproduce a result are commands: this one comes from the report.
again=$(sed -n 's/.*"repro": "assay \([^"]*\)".*/\1/p' report.json | head -1)
# shellcheck disable=SC2086 # words, as a shell would split them
run 0 $again
says out 'v1 pass'
run 0 check "${sum[@]}" --quiet
grep -q oracle out && fault "--quiet prints norms"
run 1 check weighted_sum/v1 n=0 d=5 --device sim
says out mistrusted
says out '    reproduce: assay check weighted_sum/v1 n=0 d=5 dtype=f32 seed=0 --device sim'
# The same report, in the same order, whatever the number of processes.
for jobs in 1 3; do
    run 0 check weighted_sum swiglu --device sim --jobs $jobs --json jobs$jobs.json
    sed 's/, [0-9.]* s$//' out >jobs$jobs.txt
    sed -i 's/"\(seconds\|date\)": [^,}]*//g' jobs$jobs.json
done
cmp -s jobs1.txt jobs3.txt || fault "--jobs changes what is printed"
cmp -s jobs1.json jobs3.json || fault "--jobs changes the report"
# A case that its share of the memory does not hold runs alone.
ASSAY_HOST_MEMORY_GIB=0.0001 run 3 check weighted_sum/v1 n=1:4 d=99999 --device sim --jobs 1
says out 'needs 0.0 GiB'
mv out alone
ASSAY_HOST_MEMORY_GIB=0.0001 run 3 check weighted_sum/v1 n=1:4 d=99999 --device sim --jobs 3
cmp -s <(sed '$d' alone) <(sed '$d' out) || fault "memory: other results with --jobs 3"
refuses 2 '--jobs "0": must be a number in 1..' check weighted_sum --jobs 0
refuses 2 '--jobs 1000: must be a number in 1..256' check weighted_sum --jobs 1000

# Problems and the last line.
run 0 check weighted_sum --device sim --quiet
[ "$(wc -l <out)" -eq 1 ] || fault "--quiet prints more than the last line"
run 1 check weighted_sum/v1 n=3,0,2 d=5 --device sim --quiet
grep -q '^pass' out && fault "--quiet prints what passed"
says out 'mistrusted'
run 1 check weighted_sum/v1 n=3,0,0,2 d=5 --device sim --fail-fast
says out 'ended by --fail-fast after 2 of 4 cases'

# Cases that did not pass in the last check, until they do.
run 1 check weighted_sum n=3,0 d=5 --device sim
run 1 check --last-failed weighted_sum/v3 --device sim
says out '0 passed, 0 failed, 1 mistrusted'
run 0 check weighted_sum n=3 d=5 --device sim
refuses 77 '--last-failed: no such case failed in the last check' check --last-failed --device sim
refuses 2 '--last-failed names the cases itself' check --last-failed --set ci

# What is left out: operators, variants, cases.
run 0 check rope swiglu weighted_sum --exclude 'rope,*/v1,*dtype=bf16*' --device sim
grep -q ' rope/\|/v1 \|bf16' out && fault "--exclude leaves in what it names"
says out 'swiglu/v3'
refuses 77 'no case to run' check rope --exclude 'r*' --device sim

# Degenerate cases: mistrusted, as they must be.
run 0 check weighted_sum swiglu --set edge --device sim --junit edge.xml
says out 'each is expected to be mistrusted'
says out 'mistrusted as expected'
says edge.xml 'failures="0"'
run 3 check weighted_sum/v1 n=1237 d=1 fill=golden --device sim # in no golden file
says out '1 error'
run 0 check weighted_sum/v1 --random 5 --device sim
says out 'spread over random cases'

# ---- run ----
ce=(t=3 v=5 gradient=1)
run 0 run --help && says out 'It compares nothing' && says out 'libver="v110"'
run 0 run cross_entropy/v1 "${ce[@]}" --device sim --out direct.h5
says out 'cross_entropy/v1 t=3 v=5 gradient=1 dtype=f32 seed=0 on sim'
says out '  grad  logits    (3, 5)  norm '
says out 'these results are not checked; to check the variant: assay check cross_entropy/v1 t=3 v=5 gradient=1'
# The next run takes the data that one run drew: the same bytes, bf16 as well.
for dtype in f32 bf16; do
    run 0 run cross_entropy/v1 "${ce[@]}" dtype=$dtype --device sim --out direct.h5
    run 0 run cross_entropy "${ce[@]}" dtype=$dtype --no-run --out in.h5
    grep -q ' out \|not proven' out && fault "--no-run tells of results"
    run 0 run cross_entropy/v1 "${ce[@]}" dtype=$dtype seed=9 --device sim --in in.h5 --out via.h5
    says out '3 of 3 tensors from in.h5, the rest drawn'
    cmp -s direct.h5 via.h5 || fault "$dtype: a run on the file of another one has other bytes"
    run 0 run cross_entropy/v1 "${ce[@]}" dtype=$dtype --device sim --in via.h5 --out via.h5 --quiet
    [ ! -s out ] || fault "run --quiet prints tensors"
    cmp -s direct.h5 via.h5 || fault "$dtype: a file put in its own place has other bytes"
done
run 0 run cross_entropy/v1 "${ce[@]}" seed=9 --device sim --out other.h5
cmp -s direct.h5 other.h5 && fault "another seed has the same bytes"
refuses 2 'run: name one operator' run --out x.h5
refuses 2 'run: name one operator' run kronecker/v1 --out x.h5
refuses 2 'run: name one operator' run kronecker/v1 kronecker/v2 b=1 f=2 --out x.h5
refuses 2 'run: say which variant, as in kronecker/v1' run kronecker b=1 f=2 --out x.h5
refuses 2 'run: --out FILE' run kronecker/v1 b=1 f=2
refuses 2 'run takes one case, and these words name 2' run kronecker/v1 b=1,2 f=2 --out x.h5
refuses 2 'run takes no --json' run kronecker/v1 b=1 f=2 --out x.h5 --json y
refuses 2 'check takes no --out' check kronecker/v1 b=1 f=2 --out x.h5
refuses 3 'nowhere/x.h5' run cross_entropy/v1 "${ce[@]}" --device sim --out nowhere/x.h5
refuses 3 '.: a folder; name a file' run cross_entropy/v1 "${ce[@]}" --device sim --out .
refuses 3 'none.h5: No such file' run cross_entropy/v1 "${ce[@]}" --in none.h5 --out x.h5
refuses 3 '/in/logits: shape (3, 5), and the case has (3, 6)' \
    run cross_entropy/v1 t=3 v=6 --device sim --in direct.h5 --out x.h5
refuses 3 '/cot/loss: this case has no output with a cotangent of that name' \
    run weighted_sum/v1 n=3 d=5 --device sim --in direct.h5 --out x.h5
head -c 1000 direct.h5 >short.h5
refuses 3 'short.h5: damaged, or cut short' \
    run cross_entropy/v1 "${ce[@]}" --device sim --in short.h5 --out x.h5
# A byte in the header of the last dataset, of which HDF5 1.10 leaks what it has read.
echo leak:libhdf5 >leaks
export LSAN_OPTIONS="suppressions=$folder/leaks:print_suppressions=0"
cp in.h5 bent.h5
header=$(grep -abo OHDR bent.h5 | tail -1 | cut -d: -f1)
printf '\377' | dd of=bent.h5 bs=1 seek=$((header + 20)) conv=notrunc status=none
refuses 3 'bent.h5: ' run cross_entropy/v1 "${ce[@]}" --device sim --in bent.h5 --out x.h5
unset LSAN_OPTIONS
[ ! -e x.h5 ] || fault "a run that was refused left a file"
left=$(find . -name '*.tmp')
[ -z "$left" ] || fault "temporary files are left: $left"

# ---- devices ----
if ! { command -v nvidia-smi && nvidia-smi -L | grep '^GPU'; } >/dev/null 2>&1; then
    refuses 77 'cuda' check weighted_sum n=3 d=5 --device cuda
    refuses 77 'give --device sim' bench weighted_sum n=3 d=5
    run 0 check weighted_sum/v1 n=3 d=5 # no device asked for: the simulated one
    says out 'on sim'
fi

# ---- files and pipes ----
refuses 3 'nowhere/report.json: cannot be written' check "${sum[@]}" --json nowhere/report.json
refuses 3 'Is a directory' check "${sum[@]}" --csv .
echo old >report.json
# No file may grow here: the disk is as good as full.
(
    ulimit -f 0
    trap '' XFSZ
    "$assay" check "${sum[@]}" --json report.json 2>&1
) | cat >out
[ "${PIPESTATUS[0]}" -eq 3 ] || fault "a report that cannot be written does not exit 3"
says out 'report.json: cannot be written: File too large'
[ "$(cat report.json)" = old ] || fault "a report that could not be written replaced the old one"
if [ -w /dev/full ]; then
    "$assay" list >/dev/full 2>err
    [ $? -eq 3 ] || fault "list into a full disk does not exit 3"
fi
# Links are followed, and only regular files are replaced.
ln -s real.json link.json
run 0 check "${sum[@]}" --json link.json
[ -L link.json ] && [ -s real.json ] || fault "a link is replaced, not followed"
mkfifo pipe
refuses 3 'not a regular file' run "${sum[@]:0:1}" n=3 d=5 --device sim --out pipe
[ -p pipe ] || fault "a pipe was replaced"
ln -s pipe to-pipe
refuses 3 'not a regular file' run "${sum[@]:0:1}" n=3 d=5 --device sim --out to-pipe
refuses 3 'not a regular file' run "${sum[@]:0:1}" n=3 d=5 --device sim --out /dev/full
refuses 3 'not a regular file' fuzz weighted_sum --cases 1 --device sim --findings pipe
ln -s real.h5 link.h5
run 0 run "${sum[@]:0:1}" n=3 d=5 --device sim --out link.h5
[ -L link.h5 ] && [ -s real.h5 ] || fault "run replaces a link"
# A limit of the file size is an error like any other: the signal ends nothing.
(
    ulimit -f 0
    "$assay" run "${sum[@]:0:1}" n=300 d=50 --device sim --out big.h5 2>&1
) >out
[ ! -e big.h5 ] || fault "a file that does not fit is left"
left=$(find . -name '*.tmp')
[ -z "$left" ] || fault "a file that does not fit leaves $left"

# A dumb terminal: no escape codes, whatever NO_COLOR says.
if command -v script >/dev/null; then
    env -u NO_COLOR TERM=dumb script -qec "$assay check weighted_sum --device sim" /dev/null >out
    grep -q $'\033' out && fault "escape codes on a dumb terminal"
    env -u NO_COLOR TERM=xterm script -qec "$assay check weighted_sum --device sim" /dev/null >out
    grep -q $'\033' out || fault "no colour on a terminal"
fi
left=$(find . -name 'report.*.*')
[ -z "$left" ] || fault "temporary files are left: $left"

# ---- certificates ----
export ASSAY_CERTIFICATES=$folder/certificates
run 4 certificate verify swiglu/v1 --device sim && says out 'none '
run 0 check swiglu --set smoke --certify --device sim --quiet
says out 'certified swiglu/v1 on sim: '
run 0 certificate verify swiglu --device sim && says out 'valid  swiglu/v3'
run 0 certificate show swiglu/v3 --device sim && says out 'variant swiglu/v3'
says out 'share forward+backward f32 set '
# Outside a sandbox a certificate says so, and is refused where one is required.
if grep -q '^sandbox user pid mount network ipc .*seccomp privileges limits' out; then
    run 0 certificate verify swiglu --device sim --require sandbox && says out 'valid  swiglu/v3'
fi
run 0 check swiglu/v1 --set smoke --certify --device sim --quiet --no-sandbox
says out 'sandbox: without user pid mount network ipc seccomp privileges limits, as --no-sandbox'
run 0 certificate verify swiglu/v1 --device sim
run 4 certificate verify swiglu/v1 --device sim --require sandbox
says out 'judged without these walls of a sandbox: user pid'
refuses 3 'rope-v1-sim.cert: there is no such certificate' certificate show rope/v1 --device sim
refuses 2 'certificate show needs one OP/VARIANT' certificate show --device sim
refuses 2 'certificate show needs one OP/VARIANT' certificate show swiglu --device sim
refuses 3 'none.so' certificate verify weighted_sum/mine --device sim --kernel none.so
if have_python; then # a GPU's certificate beside them is none of this device's
    python3 - <<'PYTHON'
import hashlib, hmac
text = open("certificates/swiglu-v3-sim.cert", "rb").read().replace(b"device sim\n", b"device cuda\n")
body = text[: text.rindex(b"seal ")]
key = open("certificates/key", "rb").read()
seal = hmac.new(key, body, hashlib.sha256).hexdigest()
open("certificates/swiglu-v3-cuda.cert", "wb").write(body + b"seal " + seal.encode() + b"\n")
PYTHON
    run 0 certificate --device sim && says out 'swiglu/v3'
    grep -q cuda out && fault "a certificate of another device is listed"
fi
cp certificates/swiglu-v3-sim.cert certificates/swiglu-v1-sim.cert
run 4 certificate verify swiglu/v1 --device sim && says out 'refused '
sed -i '/seed=0/d' certificates/swiglu-v3-sim.cert
run 4 certificate verify swiglu/v3 --device sim && says out 'its seal is broken'
run 4 certificate verify --device sim && says out 'its seal is broken' && says out 'it lies where another one belongs'
run 0 certificate list --device sim && says out 'its seal is broken'
ASSAY_CERTIFICATES=$PWD/no-certificates run 0 certificate list --device sim && says out 'no certificates in '
ASSAY_CERTIFICATES=/proc/certificates refuses 3 'set ASSAY_CERTIFICATES' certificate list --device sim
unset ASSAY_CERTIFICATES

# More lines than a pipe holds, to a reader that has gone: quiet. A listing exits with 0.
"$assay" list --random 20000 2>err | head -1 >out
[ "${PIPESTATUS[0]}" -eq 0 ] || fault "a listing whose reader has enough does not exit 0"
[ ! -s err ] || fault "a broken pipe is complained of"

# An interrupted run ends with what it has, and its report is whole. The signal must not come before
# the run has printed: no older output may stand for it.
rm -f out
"$assay" check weighted_sum/v1 --random 20000 --device sim --json report.json >out 2>err &
pid=$!
for _ in $(seq 600); do
    [ -s out ] && break
    sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fault "SIGINT does not exit 130"
says out 'interrupted after'
says out ' passed, '
if have_python; then
    python3 -m json.tool report.json >/dev/null 2>&1 || fault "an interrupted run left a bad report"
fi

echo "$checks commands, $failures failures"
[ $failures -eq 0 ]
