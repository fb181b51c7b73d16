# shellcheck shell=bash
# For tests of whole commands, which source it with the command as $1: a new folder to work in, which
# is removed at the end, and what a command must return and say.
assay=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export TMPDIR=$place

expect() { # STATUS COMMAND...: its output lands in log
    local want=$1 status=0
    shift
    timeout 120 "$@" >log 2>&1 || status=$?
    if [ $status -ne "$want" ]; then
        printf 'exit %d, expected %d: %s\n' $status "$want" "$*"
        cat log
        exit 1
    fi
}
says() { # TEXT: the log has it, over the ends of lines as well
    if ! tr -s '\n ' ' ' <log | grep -F -- "$1" >/dev/null; then
        printf 'does not say "%s":\n' "$1"
        cat log
        exit 1
    fi
}
check() { # STATUS FLAGS...
    local want=$1
    shift
    expect "$want" "$assay" check weighted_sum/mine --device sim --jobs 1 "$@"
}
