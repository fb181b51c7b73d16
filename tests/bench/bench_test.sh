#!/usr/bin/env bash
# assay bench from outside, on the simulated device: what is proven is timed, what is not is refused,
# and nothing that an arm does ends the run. ASSAY and the folder of exploits' kernel files.
set -uo pipefail
assay=$(realpath "$1")
kernels=$(realpath "$2")
arm=$(realpath "$3")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export NO_COLOR=1 ASSAY_CERTIFICATES=$folder/certificates

failures=0
fault() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$*"
    head -8 out | sed 's/^/  stdout: /'
    head -5 err | sed 's/^/  stderr: /'
}
run() { # CODE WORDS...
    local want=$1 got
    shift
    rm -f rows.json
    "$assay" bench "$@" --json rows.json >out 2>err </dev/null
    got=$?
    [ $got -eq "$want" ] || fault "assay bench $*: exit $got, not $want"
}
says() { grep -qE -- "$2" "$1" || fault "$1 does not say: $2"; }
case=(weighted_sum/v1 n=5 d=7 --device sim --peers none --samples 5)

# ---- words ----
run 2 --device sim
says err 'name an operator, or all published experiments'
run 2 weighted_sum --peers torhc --device sim
says err "there is no 'torhc'"
run 2 weighted_sum --stage sideways
says err '--stage .sideways.: must be forward'
run 2 weighted_sum --set seeds n=5 d=7
"$assay" check --set seeds >out 2>err && fault "check takes --set seeds"
says err 'which only bench has'

# ---- proven, then timed: by a certificate, and without one ----
"$assay" check weighted_sum/v1 --set smoke --certify --device sim --quiet >out 2>err || fault "certify"
run 0 "${case[@]}" --report report
says out 'assay v1'
says out 'Simulated'
says rows.json '"status": *"ok"'
[ "$(grep -c '"samples_us"' rows.json)" = 4 ] || fault "forward and backward, cold and warm: 4 rows"
for file in index.html results.json results.csv results.md; do
    [ -s report/$file ] || fault "no report/$file"
done

# ---- what is there already is not timed again; one arm more, and all are ----
run 0 "${case[@]}" --resume kept.json
grep samples_us kept.json >before
run 0 "${case[@]}" --resume kept.json
grep samples_us kept.json | cmp -s before - || fault "--resume timed again what was there"

# ---- shown again, and nothing timed ----
run 0 --resume kept.json --report again
grep samples_us rows.json | cmp -s before - || fault "--resume alone has other samples"
[ -s again/index.html ] || fault "no again/index.html"
run 3 --resume missing.json
says err 'missing.json'

# ---- regressions ----
run 0 "${case[@]}" --resume kept.json --compare kept.json
sed -E 's/("samples_us": *\[)[^]]*/\10.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01/' kept.json >fast.json
run 1 "${case[@]}" --resume kept.json --compare fast.json
run 3 "${case[@]}" --compare missing.json
says err 'missing.json'

# ---- refused: wrong, or right only until it is timed ----
run 4 weighted_sum/silent_tf32 n=5 d=7 --device sim --peers none --kernel "$kernels/results.so"
says rows.json '"status": *"refused"'
run 4 weighted_sum/once_in_ten n=5 d=7 --device sim --peers none --kernel "$kernels/state.so"
says rows.json '"status": *"refused"'

# ---- arms that break, lie about time, or are not there: a row each ----
ASSAY_ARM=/bin/false run 3 "${case[@]}"
says rows.json 'its process ended with exit code 1'
ASSAY_ARM=$folder/nothing run 77 "${case[@]}"
says rows.json 'build the target assay_arm'
# A clock that says less than was taken: the arm itself, its answers to `time` made up.
cat >fast_clock <<END
#!/usr/bin/env bash
coproc arm { "$arm" "\$@" 2>/dev/null; }
while read -r line; do
    echo "\$line" >&\${arm[1]}
    read -r answer <&\${arm[0]}
    case \$line in
    time*) set -- \$line; answer="ok\$(for ((i = 0; i < \$3; ++i)); do printf ' 0.001'; done)" ;;
    esac
    echo "\$answer"
done
END
chmod +x fast_clock
ASSAY_ARM=$folder/fast_clock run 3 "${case[@]/n=5/n=3000}" --stage forward
says rows.json 'the clock outside of it at least'
# One that dies when it is timed.
sed 's/^    time\*).*/    time*) exit 9 ;;/' fast_clock >dies
chmod +x dies
ASSAY_ARM=$folder/dies run 3 "${case[@]}" --stage forward
says rows.json 'its process ended with exit code 9'
ASSAY_PYTHON=$folder/no-python run 0 "${case[@]}" --peers torch
says rows.json 'no-python cannot be started'

# ---- an interruption leaves what is finished ----
"$assay" bench weighted_sum/v1 n=5 d=7,8,9,10,11,12,13,14,15,16 --device sim --peers none \
    --resume part.json >out 2>err &
pid=$!
for _ in $(seq 100); do
    [ -s part.json ] && break
    sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 130 ] || fault "an interrupted benchmark does not exit with 130"
says part.json '"samples_us"'

[ $failures -eq 0 ]
