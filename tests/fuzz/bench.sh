#!/usr/bin/env bash
# How soon assay fuzz finds each planted bug, from a cold start, guided and not: a Markdown table.
# Usage: bench.sh ASSAY PLANTED-FOLDER [SEEDS [SECONDS]]
# Time to find is when the first case failed; the line is what it was shrunk to, the shortest of the
# seeds'. A build with ASSAY_COVERAGE guides by branches as well.
set -euo pipefail

assay=$1
planted=$2
seeds=${3:-5}
seconds=${4:-60}
export NO_COLOR=1

bugs=(matmul/matmul_accumulate/k_tail matmul/matmul_accumulate/no_barrier
    matmul/matmul_accumulate/packed_rows matmul/matmul_accumulate/long_k
    matmul/matmul_accumulate/stale_sum matmul/matmul_accumulate/empty_k
    matmul/matmul_accumulate/square_only weighted_sum/weighted_sum/aligned_rows
    weighted_sum/weighted_sum/short_index weighted_sum/weighted_sum/unordered
    weighted_sum/weighted_sum/crashes_wide attention/attention/masked_row)

# Prints "CASE SECONDS" of the first failure, or nothing, and its smallest case on file 3.
search() { # FILE OP/VARIANT SEED FLAGS...
    local output
    output=$("$assay" fuzz "$2" --kernel "$planted/$1.so" --device sim --jobs 1 --seed "$3" \
        --time "$seconds" "${@:4}" --first 2>&1) || true
    sed -n 's/^  met as .*(case \([0-9]*\), \([0-9.]*\) s)$/\1 \2/p' <<<"$output" | sort -n | head -1
    sed -n 's/^  smallest  //p' <<<"$output" >&3
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# Of one bug: "found/seeds, median case, median seconds"
row() { # FILE OP/VARIANT FLAGS...
    local seed line
    : >"$scratch/found"
    for ((seed = 1; seed <= seeds; ++seed)); do
        line=$(search "$1" "$2" "$seed" "${@:3}")
        echo "${line:-inf inf}" >>"$scratch/found"
    done
    printf '%s/%s | %s | %s' "$(grep -vc inf "$scratch/found" || true)" "$seeds" \
        "$(cut -d' ' -f1 "$scratch/found" | median)" "$(cut -d' ' -f2 "$scratch/found" | median)"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo '| bug | guided: found | median case | s | unguided: found | median case | s | smallest case |'
echo '|---|---|---|---|---|---|---|---|'
for bug in "${bugs[@]}"; do
    file=${bug%%/*}
    variant=${bug#*/}
    exec 3>"$scratch/smallest"
    guided=$(row "$file" "$variant")
    unguided=$(row "$file" "$variant" --no-guide)
    exec 3>&-
    smallest=$(grep -v '(' "$scratch/smallest" | awk '{print length, $0}' | sort -n | head -1 | cut -d' ' -f2-)
    echo "| ${variant#*/} | $guided | $unguided | \`$smallest\` |"
done
