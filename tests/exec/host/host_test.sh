#!/usr/bin/env bash
# assay exec on programs that need no nvcc, one for each version of the runtime, and on what is no
# such program: host_test.sh ASSAY PROGRAM...
set -uo pipefail
assay=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

bad=0
expect() { # CODE TEXT COMMAND...: what it prints, on either stream, says TEXT
    local code=$1 text=$2
    shift 2
    timeout 60 "$@" >"$folder/log" 2>&1
    local got=$?
    if [ $got -ne "$code" ] || ! grep -qF -- "$text" "$folder/log"; then
        printf 'FAILED: exit %d, expected %d and "%s": %s\n' $got "$code" "$text" "$*"
        sed 's/^/  /' "$folder/log"
        bad=1
    fi
}

for program in "$@"; do
    expect 0 'ok' "$assay" exec --error-exitcode 9 -- "$program"
    expect 0 '1 kernel, 1 launch, 1 block' "$assay" exec -- "$program"
    expect 0 '"mangled": "count", "launches": 1' "$assay" exec --json - --quiet "$program"
    expect 9 '2 races' "$assay" exec --error-exitcode 9 -- "$program" race
    expect 9 'race in count: global memory, byte 0 of allocation 1 (cudaMalloc, 128 bytes): block' \
        "$assay" exec --error-exitcode 9 -- "$program" race
    expect 0 'no problem' "$assay" exec --no-race --error-exitcode 9 -- "$program" race
done

# Problems, for other programs: JSON, JUnit, SARIF; those that are known are left out.
wrong=("$assay" exec --error-exitcode 9)
files=(--json "$folder/r.json" --junit "$folder/r.xml" --sarif "$folder/r.sarif")
expect 9 '1 kernel failure, 1 wrong transfer' "${wrong[@]}" "${files[@]}" -- "$1" wrong
if command -v python3 >/dev/null; then
    python3 "$(dirname "${BASH_SOURCE[0]}")/files.py" "$folder" 0 || bad=1
fi
cat >"$folder/known" <<'K'
copy                      # of any place
kernel  count.cu:7
leak    allocation ? *    # none: the device is lost
K
expect 0 'no problem; 2 suppressed' "${wrong[@]}" "${files[@]}" --suppress "$folder/known" -- "$1" wrong
if grep -qF 'cudaMemcpy reads' "$folder/log"; then
    echo 'FAILED: what is suppressed is told'
    bad=1
fi
if command -v python3 >/dev/null; then
    python3 "$(dirname "${BASH_SOURCE[0]}")/files.py" "$folder" 2 || bad=1
fi
expect 0 "$folder/known:3: suppressed nothing: leak    allocation ? *" "${wrong[@]}" --suppress "$folder/known" -- "$1" wrong
echo 'kernel count' >"$folder/known"
expect 9 '1 wrong transfer; 1 suppressed' "${wrong[@]}" --suppress "$folder/known" -- "$1" wrong
echo 'races *' >"$folder/known"
expect 2 'known:1: races is no kind of problem; there are * kernel race' "${wrong[@]}" --suppress "$folder/known" -- "$1" wrong
expect 125 'no such file' "${wrong[@]}" --suppress "$folder/none" -- "$1" wrong
expect 125 'No such file' "${wrong[@]}" --sarif "$folder/none/r.sarif" -- "$1" wrong

# A program's exit code, and how it ends.
expect 7 'called no function of CUDA' "$assay" exec -- sh -c 'exit 7'
expect 143 'ended by signal 15' "$assay" exec -- sh -c 'kill $$'
expect 0 '--json stays' "$assay" exec -- echo --json stays

# Files that are no program for it.
expect 127 'no-such-program: no such program' "$assay" exec -- no-such-program
echo 'echo hello' >"$folder/script"
expect 126 'may not be run' "$assay" exec -- "$folder/script"
chmod +x "$folder/script"
expect 126 'not an ELF program for x86-64' "$assay" exec -- "$folder/script"
sed -i '1i #!/bin/sh' "$folder/script"
expect 126 'name its interpreter' "$assay" exec -- "$folder/script"
echo 'int main(void) { return 0; }' >"$folder/alone.c"
if cc -static -o "$folder/alone" "$folder/alone.c" 2>/dev/null; then
    expect 126 'without -static' "$assay" exec -- "$folder/alone"
fi
head -c 200 "$1" >"$folder/cut"
chmod +x "$folder/cut"
expect 126 'Exec format error' "$assay" exec -- "$folder/cut" # what the system says

# Words of the command.
expect 2 'name a program' "$assay" exec
expect 2 '--error-exitcode' "$assay" exec --error-exitcode 300 -- true
expect 2 'unknown streams' "$assay" exec --streams soon -- true
expect 125 'No such file' "$assay" exec --json "$folder/none/report.json" -- true
exit $bad
