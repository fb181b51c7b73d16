# assay_options: what every target of ours compiles with. assay_c_options: C files on top of that.
add_library(assay_options INTERFACE)
target_compile_features(assay_options INTERFACE c_std_17 cxx_std_20)
target_include_directories(assay_options INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                   ${PROJECT_SOURCE_DIR})
set(host $<COMPILE_LANGUAGE:C,CXX>)
# Contraction off: the sums on this host must round as the same sums on the GPU do.
target_compile_options(assay_options INTERFACE
  $<${host}:-Wall -Wextra -Werror -ffp-contract=off -fno-omit-frame-pointer>
  $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes>)
# gcc 12 at -O3 takes for uninitialized what a callee, or a loop under the same condition, has filled.
target_compile_options(assay_options INTERFACE
  $<$<AND:${host},$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
target_compile_definitions(assay_options INTERFACE _GNU_SOURCE)

if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE
    $<${host}:-fsanitize=address,undefined -fno-sanitize-recover=undefined>)
  # At no fixed address, each start of a program would relocate a million places that reports name.
  target_link_options(assay_options INTERFACE -fsanitize=address,undefined
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

if(ASSAY_COVERAGE)
  target_compile_definitions(assay_options INTERFACE ASSAY_COVERAGE)
endif()

if(ASSAY_FUZZ) # everything tells libFuzzer which branches an input takes
  target_compile_options(assay_options INTERFACE $<${host}:-fsanitize=fuzzer-no-link>)
  target_link_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# fmaf is a library call without this, and the simulated device has no vector shifts and no deposit
# of bits; the results are the same either way, only slower.
if(ASSAY_HOST_FMA STREQUAL "AUTO")
  include(CheckCSourceRuns)
  set(CMAKE_REQUIRED_FLAGS "-mfma -mavx2 -mbmi2 -O1")
  check_c_source_runs("#include <math.h>
    int main(int c, char **v) {
      (void)v;
      return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"bmi2\") && fma(c, 2.0, 1.0) == 3.0 ? 0 : 1;
    }"
    ASSAY_HOST_HAS_FMA)
  unset(CMAKE_REQUIRED_FLAGS)
elseif(ASSAY_HOST_FMA)
  set(ASSAY_HOST_HAS_FMA TRUE)
endif()
if(ASSAY_HOST_HAS_FMA)
  target_compile_options(assay_options INTERFACE $<${host}:-mfma> $<${host}:-mavx2> $<${host}:-mbmi2>)
endif()

# Instrumented code is hardly slower for less optimisation, and compiles in a third of the time.
# Reports need lines, no variables. A Debug build has its own ways.
set(hurried $<AND:${host},$<NOT:$<CONFIG:Debug>>>)
if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE $<${hurried}:-Og> $<${hurried}:-g1>)
  # gcc's guesses of values in the other builds, which know more, count.
  target_compile_options(assay_options INTERFACE
    $<$<AND:${hurried},$<CXX_COMPILER_ID:GNU>>:-Wno-format-truncation>
    $<$<AND:${hurried},$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
endif()

# assay_shared_code(<target>...): objects that programs and shared libraries of ours have in common.
# Compiled once: the linker makes of position-independent calls and thread-local variables what a
# program would have had, and without interposition a file's functions may be inlined.
function(assay_shared_code)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE $<${host}:-fno-semantic-interposition>)
  endforeach()
endfunction()
