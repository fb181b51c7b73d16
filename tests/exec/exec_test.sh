#!/usr/bin/env bash
# Whole CUDA programs under assay exec, built by nvcc with its static runtime and with the shared
# one: exec_test.sh ASSAY. Without nvcc it is skipped; tests/exec/host_test.sh needs none.
set -uo pipefail
assay=$(realpath "$1")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
    echo "skipped: no nvcc, so no programs"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

bad=0
fail() {
    echo "FAILED: $*"
    sed 's/^/  out: /' out
    sed 's/^/  err: /' err
    bad=1
}
# build NAME [LIBRARIES...]: NAME.static and NAME.shared
build() {
    local name=$1 arch=-arch=compute_90
    shift
    [ "$name" != hopper ] || arch=-gencode=arch=compute_90a,code=compute_90a
    "$nvcc" -O2 -lineinfo $arch -c "$here/programs/$name.cu" -o "$name.o" &&
        "$nvcc" $arch "$name.o" -o "$name.static" "$@" &&
        "$nvcc" $arch -cudart shared "$name.o" -o "$name.shared" "$@"
}
# run CODE [WORDS...]: assay exec must return CODE
run() {
    local code=$1
    shift
    timeout 120 "$assay" exec "$@" >out 2>err
    local got=$?
    [ $got -eq "$code" ] || fail "exec $*: returned $got, not $code"
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fail "$1 does not say: $2"
}
silent() { # FILE TEXT
    ! grep -qF -- "$2" "$1" || fail "$1 says: $2"
}

# ---- right programs ----
declare -A libraries=([blas]='-lcublas -lcublasLt')
for name in driver driver_arrays driver_copies driver_graph driver_modules driver_queries per_thread \
    pools virtual; do
    libraries[$name]=-lcuda
done
# Each is built while the one before runs.
start_build() { # NAME
    # shellcheck disable=SC2086 # words
    build "$1" ${libraries[$1]:-} 2>"$1.log" &
}
right() { # PROGRAMS: their numbers, and nothing to report
    local programs=("$@") number name built how
    start_build "${programs[0]}"
    for number in "${!programs[@]}"; do
        name=${programs[number]} built=0
        wait $! || built=$?
        [ $((number + 1)) -eq ${#programs[@]} ] || start_build "${programs[number + 1]}"
        if [ $built -ne 0 ]; then
            cp "$name.log" err
            : >out
            fail "nvcc does not build $name.cu"
            continue
        fi
        for how in 'static late' 'shared eager'; do
            run 0 --streams "${how#* }" --error-exitcode 9 -- "./$name.${how% *}"
            says out ok
            says err "no problem"
            [ "$name" != nodes ] || { says graph.dot KERNEL && says graph.dot '_node_0" -> "graph_'; }
            [ "$name" != print ] || says out 'block 1 of 2: says 0.25 1099511627776'
        done
    done
}

runtime() { # right programs of the runtime, and what is wrong beside them
    right add reduce streams variables objects cooperative graph capture nodes conditional query rows print

    # ---- a grid that waits for all of its blocks; once too seldom; launched without the right to ----
    for kind in static shared; do
        for sched in inorder reverse random warp; do
            run 9 --error-exitcode 9 --sched $sched -- ./cooperative.$kind once
            says out ok
            says err 'race in hand_on: global memory, byte'
            says err 'cooperative.cu:23'
        done
        run 0 -- ./cooperative.$kind plain
        says out ok
        says err 'stray access in hand_on'
    done

    # ---- the device's heap, and functions called by address ----
    misuse() { # HOW TEXT
        run 0 -- ./objects.shared "$1"
        says err "$2"
    }
    misuse 1 'out of bounds in misuse: global memory: block (0,0,0) thread (0,0,0) writes 1 bytes, byte 0 behind 100 from malloc()'
    misuse 2 'byte 0 of 100 that were freed'
    misuse 3 'wrong free in misuse: block (0,0,0) thread (0,0,0): free() of what has been freed'
    misuse 4 'free() of what malloc() has not given'
    misuse race 'race in own: global memory, byte 12 of 40 from malloc(): block (0,0,0) thread (32,0,0) writes'
    misuse call "wrong call in apply: block (0,0,0) thread (0,0,0): a call of what is no function's address"

    # A path in the program does not lead to CUDA's own library.
    "$nvcc" -arch=compute_90 -cudart shared add.o -o add.path \
        -Xlinker --disable-new-dtags,-rpath,"$(dirname "$nvcc")/../lib64" 2>/dev/null
    run 0 --error-exitcode 9 -- ./add.path
    says out ok
    says err 'no problem'

    # ---- programs that cannot run so ----
    "$nvcc" -O2 -gencode arch=compute_90,code=sm_90 "$here/programs/add.cu" -o machine 2>/dev/null
    run 126 -- ./machine
    says err 'code=compute_80'
    strip -o stripped add.static
    run 126 -- ./stripped
    says err 'nvcc -cudart shared'
}

driver() { # of the driver
    local blas=()
    [ ! -e "$(dirname "$nvcc")/../include/cublasLt.h" ] || blas=(blas)
    right "${blas[@]}" driver driver_arrays driver_copies driver_graph driver_modules driver_queries \
        per_thread pools virtual

    # ---- addresses without memory, and memory without access ----
    for kind in static shared; do
        run 0 -- ./virtual.$kind unmapped
        says out ok
        says err 'in allocation 1 (cuMemAddressReserve, 4194304 bytes), where nothing is mapped'
        run 0 -- ./virtual.$kind mapped
        says err 'where the device has no access'
        run 0 -- ./virtual.$kind 'read only'
        says err 'where the device may only read'
    done
    run 9 --error-exitcode 9 -- ./virtual.static copy
    says err 'reads 4 bytes of allocation 1 (cuMemAddressReserve, 4194304 bytes), where the device has no access at byte 0'
    says err 'allocation 1 (cuMemAddressReserve, 4194304 bytes) has not been freed at the end'
    says err 'physical memory 1 (cuMemCreate, 2097152 bytes) has not been released at the end'
    says err '1 wrong transfer, 2 leaks'

    run 9 --error-exitcode 9 -- ./driver_modules.shared nonsense
    says out 'module:2: not PTX: expected a directive'
    says out 'bad:2: not PTX: expected a directive'
    says err 'fill: cuParamSetSize has promised 8 bytes of parameters, but it takes 12'

    # ---- what CUDA lets pass ----
    run 3 --error-exitcode 3 -- ./driver_arrays.shared misuse
    says out ok
    says err 'cuTexObjectCreate: a linear filter of elements that stay integers'
    says err 'cuTexObjectDestroy: there is no such object, or no longer'
    says err 'cuSurfObjectCreate: the array was made without'
    says err 'cuMemcpyAtoH_v2: the copy does not lie within its array of 8 x 2 x 0'
    run 0 --error-exitcode 3 -- ./driver_queries.shared destroyed
    says out ok
    run 3 --error-exitcode 3 -- ./virtual.static 'unmap twice'
    says out ok
    says err 'cuMemUnmap of 2097152 bytes, of which 0 are mapped: CUDA asks for whole mappings'
    says err '1 wrong call'

    # ---- libcuda's names are all there, and one for a stream of each thread where the plain one is ----
    # cudbg: what a debugger calls, not a program.
    real=$(dirname "$nvcc")/../lib64/stubs/libcuda.so
    # shellcheck disable=SC2016 # the program expands it
    "$assay" exec --quiet -- sh -c 'echo "${LD_LIBRARY_PATH%%:*}"' >own 2>err
    names() {
        nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | grep '^cu' | grep -v '^cudbg' | sort -u
    }
    if [ -e "$real" ]; then
        comm -23 <(names "$real") <(names "$(cat own)/libcuda.so.1") >out
        [ -s own ] && [ ! -s out ] || fail 'the stand-in for libcuda lacks names'
    fi
    sed -n 's/^EXEC_ABSENT(\(.*\))$/\1/p' "$here/../../sim/exec/driver/absent.def" | sort >absent
    sed -n 's/_pt[ds][sz]$//p' absent | sort -u | comm -23 - absent >out
    [ -s absent ] && [ ! -s out ] || fail 'names that end in _ptsz or _ptds are absent'
}

memory() { # arrays, textures, memory; defects of copies and accesses
    right textures cubes levels arrays ipc advice hopper

    # ---- defects are told, by name ----
    build careless 2>/dev/null
    for kind in static shared; do
        run 3 --error-exitcode 3 --json report.json -- ./careless.$kind
        says out done
        says err 'cudaMemcpy writes 256 bytes, 128 of them behind allocation 1 (cudaMalloc, 128 bytes)'
        says err 'cudaMemcpy reads 4 bytes of allocation 2 (cudaMalloc, 4 bytes), which has been freed'
        says err 'bytes 8 to 24 of variable factor, which has 16'
        says err 'its destination is to be host memory'
        says err 'cudaFree: allocation 2 (cudaMalloc, 4 bytes) has been freed before'
        says err 'cudaLaunchKernel returned cudaErrorInvalid' # Value, and before CUDA 13 Configuration
        says err 'allocation 1 (cudaMalloc, 128 bytes) has not been freed at the end'
        python3 -c '
import json, sys
r = json.load(open("report.json"))
kinds = [p["kind"] for p in r["problems"]]
assert r["exit"] == 0 and kinds.count("copy") == 4 and kinds.count("leak") == 1, r
assert kinds.count("free") == 1 and "ignored-error" in kinds, r' || fail "report.json is not so"
        run 0 --quiet -- ./careless.$kind # without --error-exitcode the program's own code
    done

    build fails 2>/dev/null
    for kind in static shared; do
        run 0 -- ./fails.$kind
        says out ok
        says err 'fails.cu:'
        says err 'threadIdx.x < limit'
        says err '1 kernel failure'
    done

    build stray 2>/dev/null
    run 0 -- ./stray.static behind
    says err 'write: wrote 0 bytes behind the end of allocation 2 (cudaMalloc, 120 bytes)'
    for kind in static shared; do
        run 0 -- ./stray.$kind far
        says out ok
        says err 'behind the end of allocation 1 (cudaMalloc, 128 bytes)'
        run 0 -- ./stray.$kind freed
        says out ok
        says err 'in allocation 1 (cudaMalloc, 128 bytes), which has been freed'
        run 0 -- ./stray.$kind null
        says out ok
        says err 'near to no allocation'
    done

    run 3 --error-exitcode 3 -- ./arrays.static outside
    says out ok
    says err 'cudaMemcpyToArray: the copy does not lie within its array of 5 x 3 x 0'

    # ---- what CUDA lets pass ----
    run 3 --error-exitcode 3 -- ./arrays.static objects
    says out ok
    says err 'cudaCreateSurfaceObject: the array was made without cudaArraySurfaceLoadStore'
    says err 'cudaDestroySurfaceObject: there is no such object, or no longer'
    says err 'cudaDestroyTextureObject: there is no such object, or no longer'
    says err '3 wrong calls'
    run 3 --error-exitcode 3 -- ./ipc.static 'with free'
    says out ok
    says err "cudaFree: allocation 1 (cudaIpcOpenMemHandle, 4000 bytes) is another process's"


    # ---- device code of several objects, linked; a launch by a kernel ----
    for arch in compute_90 sm_90; do
        "$nvcc" -O2 -lineinfo -rdc=true -arch=$arch "$here/programs/linked.cu" \
            "$here/programs/linked_more.cu" -o linked 2>build.log || cat build.log
        run 0 --error-exitcode 9 -- ./linked
        says out ok
        says out 'one 7'
        says out 'two 9 2'
        says err 'no problem'
    done
    "$nvcc" -O2 -lineinfo -rdc=true -arch=compute_90 "$here/programs/nested.cu" -o nested -lcudadevrt
    run 9 --error-exitcode 9 -- ./nested
    says out ok
    says err 'nested.cu:10: a launch by a kernel (dynamic parallelism: launch from the host instead) is not simulated; parent traps where it is reached'

    # ---- what the stand-ins lack, once ----
    build absent 2>/dev/null
    for kind in static shared; do
        run 0 -- ./absent.$kind
        says err 'cudaImportExternalMemory is not simulated'
        [ "$(grep -c 'cudaImportExternalMemory is not simulated' err)" -eq 1 ] || fail "told twice"
    done
}

order() { # races, streams, what runs and what does not
    # ---- the program of README.md ----
    "$nvcc" -O2 -lineinfo -arch=sm_90 "$here/../../examples/reduce.cu" -o reduce
    run 5 --error-exitcode 5 -- ./reduce
    says out 'the sum of 256 ones: 9'
    says err 'assay exec: reduce.cu:11: race in reduce: shared memory, bytes 4 to 7: block (0,0,0) thread (1,0,0) writes, thread (0,0,0) read at reduce.cu:11; no barrier between; 127 times'
    says err '2 allocations, at most 1028 bytes at a time; 1 race'

    # ---- races ----
    build races 2>/dev/null
    for kind in static shared; do
        run 0 --error-exitcode 9 -- ./races.$kind
        says err 'races.cu:36: plain read before a compare-and-swap in added: global memory, byte 0'
        says err '; 1 checked read'
        silent err 'race in'
        run 9 --error-exitcode 9 --json report.json -- ./races.$kind racy
        says out ok
        says err 'races.cu:9: race in reversed: shared memory, bytes'
        says err 'at races.cu:11; no barrier between'
        says err 'races.cu:16: race in last_wins: global memory, byte 0 of allocation 1'
        says err '2 races'
        grep -q '"kind": "race"' report.json || fail "report.json has no race"
        run 0 --no-race --error-exitcode 9 -- ./races.$kind racy
    done

    # ---- blocks of a launch in several processes: the same bits, the same first defect ----
    build split 2>/dev/null
    run 0 --no-race --jobs 1 -- ./split.static
    cp out alone
    for jobs in 2 5; do
        for sched in inorder reverse; do
            run 0 --no-race --jobs $jobs --sched $sched --error-exitcode 9 -- ./split.shared
            says err '1 launch, 2000 blocks'
            cmp -s out alone || fail "split: other bits by $jobs processes"
        done
        run 0 --no-race --jobs $jobs -- ./split.static stray
        says out ok
        says err 'stray access in write: block (1234,0,0) thread (0,0,0)'
    done

    # ---- work of streams, and the host beside it ----
    build unordered 2>/dev/null
    racy() { # WHAT, TEXT: told, whatever was done first
        run 9 --streams eager --error-exitcode 9 -- ./unordered.shared "$1"
        says out ok
        says err "$2"
        says err '1 stream race'
    }
    ordered='no event or synchronisation orders the two'
    racy 'other stream' "kernel scale in stream 2 writes bytes 0 to 16383 of allocation 1 (cudaMalloc, 16384 bytes), which a copy in stream 1 writes: $ordered"
    racy 'default stream' "kernel scale in the default stream writes bytes 0 to 16383 of allocation 1"
    racy 'graph, event before' "kernel scale in stream 2 writes bytes 0 to 16383 of allocation 1"
    racy 'event too late' "kernel scale in stream 2 writes"
    racy 'destroyed' 'kernel scale in stream 1 writes bytes 0 to 16383 of allocation 1 (cudaMalloc, 16384 bytes), which kernel scale in stream 3 writes'
    racy 'release' 'cudaFreeAsync in stream 2 writes 4096 bytes in allocation 6 (cudaMallocAsync, 4096 bytes), which has been freed, which a fill in stream 1 writes'
    racy 'host writes' 'the host writes byte 28 of allocation 3 (cudaHostAlloc, 16384 bytes), which a copy in stream 1 reads: the program has not waited for it'
    racy 'host reads' 'the host reads byte 4 of allocation 3 (cudaHostAlloc, 16384 bytes), which a copy in stream 1 writes'
    racy 'managed' 'the host reads byte 20 of allocation 5 (cudaMallocManaged, 16384 bytes), which kernel scale in the default stream writes'
    for what in 'other stream' 'default stream' 'event too late' 'destroyed'; do
        run 9 --streams late --error-exitcode 9 -- ./unordered.static "$what"
        says err '1 stream race'
    done
    for what in event 'graph, event behind' blocking halves neighbours readers \
        'host reads what is read' 'host writes later' 'managed, waited for' flag; do
        run 0 --error-exitcode 9 -- ./unordered.static "$what"
        says err 'no problem'
        [ "$what" = flag ] || run 0 --streams late --error-exitcode 9 -- ./unordered.shared "$what"
    done
    run 9 --no-race --error-exitcode 9 -- ./unordered.static 'host reads' # copies need no recording

    # ---- order ----
    build unsynchronised 2>/dev/null
    run 0 --streams eager -- ./unsynchronised.static
    says out 'there'
    run 0 --streams late -- ./unsynchronised.static
    says out 'not there yet'

    # ---- launches that are left out ----
    build twice 2>/dev/null
    run 0 -- ./twice.shared
    says out '54 threads ran'
    run 0 --launches busy=3 -- ./twice.shared
    says out '7 threads ran'
    says err '47 more launches left out'
    run 0 --launches 'other=1,*=2' -- ./twice.static
    says out '6 threads ran'
    run 2 --launches busy -- ./twice.static
    says err '--launches busy: must be KERNEL=N'

    # ---- on a terminal it says what runs, and wipes that before the program goes on ----
    if command -v python3 >/dev/null; then
        build slow 2>/dev/null
        on_terminal() { # VARIABLE...: what a terminal gets
            env -u NO_COLOR TERM=xterm "$@" python3 -c '
import os, pty, sys
os.close(0)
os.open("/dev/null", os.O_RDONLY)
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$assay" exec -- ./slow.static >out 2>err
        }
        on_terminal
        says out 'launch 1, slow: block '
        says out ' of 64, '
        says out 's more'
        grep -q $'\033\\[Kok' out || fail "the line is not wiped"
        for plain in NO_COLOR=1 TERM=dumb; do
            on_terminal $plain
            says out ok
            silent out 'launch 1, slow'
        done
    fi
}

for part in ${2:-runtime driver memory order}; do
    case $part in
    runtime) runtime ;;
    driver) driver ;;
    memory) memory ;;
    order) order ;;
    *) fail "no part $part" ;;
    esac
done
exit $bad
