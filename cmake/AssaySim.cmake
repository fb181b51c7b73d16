# assay_sim_sources(<target> <name> <file.cu> [RECORDED]): compiles a CUDA file for the simulated
# device, as a C++ file that gives its __shared__ variables a section of their own, and adds it to the
# target. RECORDED: its kernels tell the recorder of their accesses.
function(assay_sim_sources target name file)
  set(folder sim)
  if(ARGN STREQUAL RECORDED)
    set(folder recorded)
  endif()
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} does not exist: write it, or take ${name} out of oracles/ops.def")
  endif()
  set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${name}.cpp)
  file(CONFIGURE OUTPUT ${wrapper} @ONLY CONTENT
"#define ASSAY_SHARED_SECTION \".assay.shared.@name@\"
#include \"@file@\"
")
  target_sources(${target} PRIVATE ${wrapper})
  # CUDA's own pragmas, and loops that could not be unrolled, are nothing to warn about, nor is what
  # a variant leaves out. nvcc lets a vector type stand for its elements.
  set(options -Wno-unknown-pragmas -Wno-missing-field-initializers -fno-strict-aliasing
      $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  set(optimised $<NOT:$<CONFIG:Debug>>)
  set(recorded_level -O1)
  if(ASSAY_HURRIED_KERNELS)
    set(recorded_level -Og)
    list(APPEND options $<${optimised}:-Og>)
  endif()
  if(ASSAY_HURRIED_KERNELS OR ASSAY_SANITIZE)
    # Registers are given out once for a whole function. gcc tells at -Og of an ABI that it changed in
    # version 4.6.
    list(APPEND options "$<$<CXX_COMPILER_ID:GNU>:-fira-region=one;-Wno-psabi>")
  endif()
  if(ASSAY_SANITIZE)
    # Without the first gcc leaves variables in named sections unguarded. The second makes calls of
    # AddressSanitizer's checks: a third of the compile time goes, and tests take a tenth longer. The
    # third takes a third of the rest: AddressSanitizer sees what is read through a wrong address.
    list(APPEND options "$<$<CXX_COMPILER_ID:GNU>:-fsanitize-sections=.assay.shared.*>"
         $<$<CXX_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0>
         -fno-sanitize=pointer-overflow,object-size)
  else() # sim/alignment.c hears of misaligned addresses
    list(APPEND options -fsanitize=alignment -fno-sanitize-recover=alignment)
  endif()
  if(ARGN STREQUAL RECORDED)
    # The compiler reports every access to race_access.c; ThreadSanitizer's own runtime is not
    # linked. DWARF 4: addr2line 2.40 takes the wrong file for some lines of version 5.
    # clang reports accesses after it has made vectors of them, and none of more than 16 bytes; gcc
    # before, but without -fno-tree-sra after it has split those of structures. It reports the access
    # of `*p = f()` only where f's structure stands in a variable first, which -fsanitize=alignment
    # sees to.
    list(APPEND options -DASSAY_RECORDED -fsanitize=thread -gdwarf-4 $<${optimised}:${recorded_level}>
         "$<$<CXX_COMPILER_ID:GNU>:--param=tsan-instrument-func-entry-exit=0;-fno-tree-sra>"
         "$<$<CXX_COMPILER_ID:Clang>:-fno-vectorize;-fno-slp-vectorize>"
         "$<$<CXX_COMPILER_ID:Clang>:-mllvm;-tsan-instrument-func-entry-exit=0>")
  endif()
  if(ASSAY_COVERAGE) # sim/coverage.c hears of every branch
    list(APPEND options -fsanitize-coverage=$<IF:$<CXX_COMPILER_ID:Clang>,trace-pc-guard,trace-pc>)
  endif()
  # Reports need lines, no variables: a third of the compile time. A Debug build has both. Last, since
  # -gdwarf-4 implies -g2.
  list(APPEND options $<${optimised}:-g1>)
  set_property(SOURCE ${wrapper} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
               ${options})
endfunction()

# assay_sim_kernel(<target> <name> <file.cu> [RECORDED]): compiles a CUDA file whose variants are not built in
# to <name>.so, a shared object for assay_kernel_guest, which has the simulated device that it needs.
function(assay_sim_kernel target name file)
  add_library(${target} MODULE)
  assay_sim_sources(${target} ${name} ${file} ${ARGN})
  if(ARGN STREQUAL RECORDED)
    target_link_options(${target} PRIVATE LINKER:--wrap=memcpy,--wrap=memmove,--wrap=memset)
  endif()
  target_link_libraries(${target} PRIVATE assay_options)
  target_compile_definitions(${target} PRIVATE
                             $<TARGET_PROPERTY:assay_sim,INTERFACE_COMPILE_DEFINITIONS>)
  # Its own templates and inline functions, not those of the same name that assay_guest exports.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name})
endfunction()
