#!/usr/bin/env bash
# assay bench from outside, on the simulated device: a variant that passes is timed, one that does
# not is refused, and nothing that an arm does ends the run. ASSAY and the folder of exploits'
# kernel files.
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
row_says() { # ARM PATTERN
    grep -- "\"arm\": *\"$1\"" rows.json | grep -E -- "$2" >/dev/null || fault "no row of $1 says: $2"
}
# Makes `tampered`, a program between assay and an arm of ours. The cases on standard input, of
# "ARM LINE", set the answer themselves, or by what they `ask` of the arm; other lines pass. All that
# arms are told goes to `told`. (Bursts answered at once: the clock outside is not tried here.)
tamper() {
    cat >tampered <<END
#!/usr/bin/env bash
declare -A first
name=\${!#}
coproc arm { "$arm" "\$@" 2>/dev/null; }
ask() { echo "\$*" >&\${arm[1]}; read -r answer <&\${arm[0]}; }
while read -r line; do
    echo "\${name#*/} \$line" >>"$folder/told"
    set -- \$line
    case "\${name#*/} \$line" in
    $(cat)
    *) ask "\$line" ;;
    esac
    echo "\$answer"
done
END
    chmod +x tampered
    rm -f told
}
case=(weighted_sum/v1 n=5 d=7 --device sim --peers none --samples 5)

# ---- words ----
run 2 --device sim
says err 'name an operator, or all published experiments'
run 2 weighted_sum --peers torhc --device sim
says err "unknown peer 'torhc'"
run 2 weighted_sum --stage sideways
says err 'unknown stage .sideways.; give one of forward.backward.forward'
run 2 weighted_sum --set seeds n=5 d=7
"$assay" check --set seeds >out 2>err && fault "check takes --set seeds"
says err 'which only bench runs'

# ---- proven, then timed: by a certificate, and without one ----
"$assay" check weighted_sum --set smoke --certify --device sim --quiet >out 2>err || fault "certify"
run 0 "${case[@]}" --report report
says out 'assay v1'
says out 'Simulated'
says rows.json '"status": *"ok"'
[ "$(grep -c '"samples_us"' rows.json)" = 4 ] || fault "forward and backward, cold and warm: 4 rows"
for file in index.html results.json results.csv results.md; do
    [ -s report/$file ] || fault "no report/$file"
done

# ---- rows that are there already are not timed again; one arm more, and all are ----
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

# ---- what another run found, added ----
run 0 "${case[@]/n=5/n=6}" --resume other.json
run 0 --resume kept.json --merge other.json
[ "$(grep -c samples_us rows.json)" = 8 ] || fault "--merge: not the rows of both"
grep -h samples_us kept.json other.json | sed 's/,$//' | sort >both
sed 's/,$//' rows.json | grep samples_us | sort | cmp -s both - || fault "--merge has other samples"
sed 's/"device": "/&not /' other.json >foreign.json
run 2 --resume kept.json --merge foreign.json
says err 'foreign.json was measured on another device'
run 3 --resume kept.json --merge missing.json

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

# ---- every answer is compared, and each by itself: v1's, which are right, are no other arm's ----
words=("${case[@]:1}" --stage forward)
# v2's first answer is none; of timed calls, v3 leaves those of other sets than it is asked for.
tamper <<'END'
"v2 take 0") answer=ok ;;
"v3 take "[12]) ask "take 0" ;;
*" burst "*) answer=ok ;;
END
ASSAY_ARM=$folder/tampered run 4 weighted_sum/v{1,2,3} "${words[@]}"
row_says v1 '"status": *"ok"'
row_says v2 '"status": *"refused".* y of input set 0: 5 of 5 elements'
row_says v3 '"status": *"refused".* y of input set 1: 5 of 5 elements'
[ "$(grep -c samples_us rows.json)" = 4 ] || fault "not two rows of v1, one of v2, one of v3"
grep -q '^v1 time' told || fault "v1 was not timed"
grep -q '^v2 time' told && fault "v2 was timed, whose first answer is wrong"
# One that computes the same for every set, as a kernel that remembers answers does.
tamper <<'END'
*" in "*) : "${first[$2]:=$4}"; ask in "$2" "$3" "${first[$2]}" "${@:5}" ;;
END
ASSAY_ARM=$folder/tampered run 4 "${case[@]}"
[ "$(grep -cE '"refused".* of input set 1: .* elements' rows.json)" = 2 ] ||
    fault "answers of set 0 are taken for those of set 1"

# ---- a case that does not fit: its own line says why, and no other ----
ASSAY_HOST_MEMORY_GIB=0.001 run 77 "${case[@]/n=5/n=3000}"
says err 'left out: needs .* GiB of host memory'
[ "$(wc -l <err)" = 1 ] || fault "more than a line"

# ---- an arm that does not fit beside the others is timed alone ----
tamper <<'END'
"v2 ready "*) answer='no memory 80 GiB are full'; [ $((tries++)) = 0 ] || ask "$line" ;;
*" burst "*) answer=ok ;;
END
ASSAY_ARM=$folder/tampered run 0 weighted_sum/v{1,2} "${words[@]}"
[ "$(grep -c '"status": *"ok"' rows.json)" = 4 ] || fault "v1 and v2, cold and warm: 4 rows"
awk '/^v2 ready/ { ++ready } /^v1 case/ { forgot += ready == 1 } /^v2 time/ { timed += ready == 2 }
     END { exit !(ready == 2 && forgot == 1 && timed > 0) }' told ||
    fault "v2 did not get ready again, or v1 held its memory: $(grep -E 'case|ready' told)"

# So is each of two that leave no room for each other, one of them not before it is timed; what that
# one took beside the other does not count.
tamper <<'END'
"v1 ready "*) answer='no memory 80 GiB are full'; [ $((tries++)) = 0 ] || ask "$line" ;;
"v2 time "*) answer='no memory 80 GiB are full'; [ $((tries++)) = 2 ] || ask "$line" ;;
*" burst "*) answer=ok ;;
END
ASSAY_ARM=$folder/tampered run 0 weighted_sum/v{1,2} "${words[@]}"
[ "$(grep -cE '"status": *"ok".*"verified": *3,' rows.json)" = 4 ] || fault "v1 and v2, each alone"
[ "$(grep -cE '"cold".*"samples_us": *\[([^,]+,){9}[^,]+\]' rows.json)" = 2 ] ||
    fault "not ten samples of each"

# ---- arms that break, lie about time, or are not there: a row each ----
ASSAY_ARM=/bin/false run 3 "${case[@]}"
says rows.json 'its process ended with exit code 1'
ASSAY_ARM=$folder/nothing run 77 "${case[@]}"
says rows.json 'build the target assay_arm'
# A clock that says less than was taken: the arm itself, its answers to `time` made up.
tamper <<'END'
*" time "*) ask "$line"; answer=ok$(for ((i = 0; i < $3; ++i)); do printf ' 0.001'; done) ;;
END
ASSAY_ARM=$folder/tampered run 3 "${case[@]/n=5/n=3000}" --stage forward
says rows.json 'the clock outside of it at least'
# One that dies when it is timed, and is alive again in the next case.
tamper <<'END'
*" time "*) ! mkdir died 2>/dev/null || exit 9; ask "$line" ;;
*" burst "*) answer=ok ;;
END
ASSAY_ARM=$folder/tampered run 3 "${case[@]/n=5/n=5,6}" --stage forward
says rows.json 'n=5 .*"status": *"error".*its process ended with exit code 9'
says rows.json 'n=6 .*"status": *"ok"'
# One whose times are no numbers: its row is an error, the others stand, and the file can be read.
tamper <<'END'
"v2 time "*) answer=ok$(for ((i = 0; i < $3; ++i)); do printf ' nan'; done) ;;
"v3 time "*) answer=ok$(for ((i = 0; i < $3; ++i)); do printf ' -inf'; done) ;;
*" burst "*) answer=ok ;;
END
rm -f kept.json
ASSAY_ARM=$folder/tampered run 3 weighted_sum/v{1,2,3} "${words[@]}" --resume kept.json
row_says v1 '"status": *"ok"'
row_says v2 '"status": *"error".*it gave a time that is no positive number'
row_says v3 '"status": *"error".*it gave a time that is no positive number'
run 0 --resume kept.json
row_says v1 '"status": *"ok"'

# ---- kernels and time: right only when they are not timed; slow, and said so ----
for name in times_itself works_later works_behind; do
    run 4 "weighted_sum/$name" n=5 d=7 --device sim --peers none --samples 5 \
        --kernel "$kernels/forged.so"
    row_says $name '"status": *"refused"'
done
run 0 weighted_sum/sleeps n=5 d=7 --device sim --peers none --samples 5 --stage forward \
    --kernel "$kernels/forged.so"
row_says sleeps '"cold".*"samples_us": *\[[2-9][0-9]{4}'

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
