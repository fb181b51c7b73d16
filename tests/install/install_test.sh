#!/usr/bin/env bash
# Installs this build, moves the result, and uses it as a stranger does: the command, a project that
# finds the library by find_package, and one that finds it by pkg-config.
# Usage: install_test.sh BUILD-FOLDER PROJECT-FOLDER
set -uo pipefail
build=$(realpath "$1") project=$(realpath "$2")
example=$(realpath "$project/../../..")/examples/row_sum.cu # the kernel file of README.md
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset ASSAY_TREE ASSAY_GOLDEN_DIR ASSAY_ARM
export NO_COLOR=1

fail() {
    printf 'FAILED: %s\n' "$*"
    [ -s "$folder/log" ] && tail -15 "$folder/log"
    exit 1
}
try() { "$@" >"$folder/log" 2>&1 || fail "exit $?: $*"; }
says() { grep -qF -- "$1" "$folder/log" || fail "does not say: $1"; }
# Exit code $1, with $2 in the output.
refuses() {
    local code=$1 text=$2 got
    shift 2
    "$@" >"$folder/log" 2>&1
    got=$?
    [ $got -eq "$code" ] || fail "exit $got, not $code: $*"
    says "$text"
}

# ---- installed below DESTDIR, then moved ----
DESTDIR=$folder/stage try cmake --install "$build" --prefix /opt/assay --strip
mv "$folder/stage/opt/assay" "$folder/moved" || fail "nothing was installed"
prefix=$folder/moved assay=$folder/moved/bin/assay
for file in libexec/assay/assay_guest libexec/assay/peers/arm.py share/assay/golden/SHA256SUMS \
    include/assay/op.h include/assay/kernel/device/kernel.h \
    share/doc/assay/third_party/cjson/LICENSE share/man/man1/assay.1 share/man/man1/assay-check.1 \
    share/man/man1/assay-certificate.1 share/bash-completion/completions/assay \
    share/zsh/site-functions/_assay share/fish/vendor_completions.d/assay.fish; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
cd "$folder" || exit 1

# ---- the command ----
try "$assay" check weighted_sum --device sim --quiet
try "$assay" golden verify weighted_sum

# ---- a kernel file to begin with, and the headers that it needs ----
try "$assay" new swiglu/mine
try "$assay" check swiglu/mine --kernel mine.cu --device sim

# ---- a project by find_package ----
try cmake -S "$project" -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example"
try cmake --build by_cmake
for program in from_c from_cpp; do
    ASSAY_TREE=$prefix try by_cmake/$program
    says "pass fail $prefix/share/assay/golden/weighted_sum.h5"
    refuses 3 "set ASSAY_TREE" by_cmake/$program
done
# An operator that assay does not have: all 18 cases pass, forward and backward, and the kernel
# without its last column fails in each.
try by_cmake/own_operator
[ "$(grep -c '^pass row_square' "$folder/log")" -eq 36 ] || fail "not all cases of row_square pass"
try by_cmake/own_operator wrong
[ "$(grep -c '^fail row_square .* y ratio' "$folder/log")" -eq 18 ] || fail "row_square: not found"
mine=(weighted_sum/mine n=5x7 d=33 dtype=f32 --device sim)
try "$assay" check "${mine[@]}" --kernel by_cmake/mine.so

# ---- an operator of one's own, in the folder that the command makes ----
try "$assay" new operator own
try cmake -S own -B own/build -DCMAKE_PREFIX_PATH="$prefix"
try cmake --build own/build
try ctest --test-dir own/build --output-on-failure
try "$assay" check own/v1 --operator own/own.c --kernel own/v1.cu --device sim
says '12 passed, 0 failed, 0 mistrusted, 0 errors'

# ---- the same by pkg-config ----
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name assay.pc)")
    read -ra words <<<"$(pkg-config --cflags --libs assay)"
    try cc -std=c17 "$project/program.c" -o program "${words[@]}"
    ASSAY_TREE=$prefix try ./program
    says "pass fail"
    read -ra words <<<"$(pkg-config --cflags --libs assay-kernel)"
    try c++ -x c++ "$example" -o k.so "${words[@]}"
    try "$assay" check "${mine[@]}" --kernel ./k.so
    # The same kernel without its last term must fail.
    sed 's/j < d; ++j)/j < d - 1; ++j)/' "$example" >wrong.cu
    try c++ -x c++ wrong.cu -o wrong.so "${words[@]}"
    refuses 1 fail "$assay" check "${mine[@]}" --kernel ./wrong.so
fi

# ---- a Debian package, every night: it is compressed for a minute ----
if [ -n "${ASSAY_CI_ALL:-}" ] && command -v dpkg-shlibdeps >/dev/null; then
    pack() { cpack --config "$build/CPackConfig.cmake" -G DEB -B "$folder/package"; }
    DEBFULLNAME='' refuses 1 "set DEBFULLNAME and DEBEMAIL" pack
    DEBFULLNAME="Ada Example" DEBEMAIL=ada@example.org try pack
    try dpkg-deb -x "$folder"/package/assay_*.deb "$folder/root"
    try "$folder/root/usr/bin/assay" check weighted_sum --device sim --quiet
fi

# ---- nothing is taken from the build tree ----
refuses 3 "is an installed tree" "$assay" mutants weighted_sum
mv "$prefix/share/assay/golden" gone
refuses 3 "$prefix/share/assay/golden" "$assay" golden verify weighted_sum
rm "$prefix/libexec/assay/assay_guest"
refuses 3 "$prefix/libexec/assay/assay_guest" "$assay" check weighted_sum --device sim
mv "$assay" alone
refuses 3 "nor in an installed tree" ./alone check weighted_sum --device sim
echo "installed, moved, used"
