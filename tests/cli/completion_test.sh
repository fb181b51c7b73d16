#!/usr/bin/env bash
# Loads each shell's completion and completes words with it. Exit 77 where no other shell than bash
# is installed.
# Usage: completion_test.sh ASSAY
set -uo pipefail
assay=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/zsh" && ln -s "$assay" "$folder/bin/assay"
export PATH=$folder/bin:$PATH
status=77

wrong() {
    printf 'FAILED: %s\n' "$*"
    exit 1
}

# Lines to complete, and a word that must be among the answers.
cases=("assay ch|check" "assay fu|fuzz" "assay check kron|kronecker" "assay check --dev|--device"
    "assay check --device s|sim" "assay help mis|misalign" "assay golden ver|verify"
    "assay check --json $folder/b|$folder/bin")

assay completion bash >"$folder/assay.bash" || wrong "no bash completion"
in_bash() { # LINE
    bash --norc -c '
        source "$1"
        read -ra COMP_WORDS <<<"$2"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _assay_words
        printf "%s\n" "${COMPREPLY[@]}"' _ "$folder/assay.bash" "$1"
}

assay completion fish >"$folder/assay.fish" || wrong "no fish completion"
in_fish() { # LINE
    HOME=$folder fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$folder/assay.fish" "$1" |
        cut -f1
}

# A terminal is needed: one Tab in a new shell, so that the first completion is what is tested.
assay completion zsh >"$folder/zsh/_assay" || wrong "no zsh completion"
cat >"$folder/type" <<'EOF'
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; print rea''dy"
zpty -r -m shell text '*ready*'
zpty -n -w shell "$2"$'\t'
sleep 0.5
zpty -n -w shell $' #\n'"print e''nd"$'\n'
zpty -r -m shell text '*end*'
print -r -- "$text"
EOF
in_zsh() { # LINE
    zsh -f "$folder/type" "$folder/zsh" "$1"
}

try() { # SHELL
    local pair line want got
    for pair in "${cases[@]}"; do
        line=${pair%|*} want=${pair#*|}
        got=$("in_$1" "$line")
        [[ $got == *"$want"* ]] || wrong "$1: $line: no $want in: $got"
    done
    ! "in_$1" "assay rope" | grep -w check >/dev/null || wrong "$1 completes everything"
}
try bash
for shell in fish zsh; do
    if command -v $shell >/dev/null; then
        try $shell
        status=0
    fi
done
[ $status -eq 0 ] || echo "neither fish nor zsh is installed"
exit $status
