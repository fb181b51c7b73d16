# assay_add_kernel(<target> <file.cu> [RECORDED]): compiles a kernel file for the simulated device, to
# <target>.so, which `assay check OP/VARIANT --kernel <target>.so` judges. RECORDED, which needs g++:
# it also tells of its accesses, so that races and accesses out of bounds are found.
function(assay_add_kernel target file)
  add_library(${target} MODULE ${file})
  set_source_files_properties(${file} PROPERTIES LANGUAGE CXX)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE assay::kernel)
  target_compile_options(${target} PRIVATE -x c++ ${assay_KERNEL_OPTIONS})
  # Its own templates and inline functions, not those of the same name in the program that loads it.
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic)
  if("RECORDED" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -DASSAY_RECORDED -fsanitize=thread -O1 -gdwarf-4 -fno-tree-sra
                           --param=tsan-instrument-func-entry-exit=0)
    target_link_options(${target} PRIVATE LINKER:--wrap=memcpy,--wrap=memmove,--wrap=memset)
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "")
endfunction()

# assay_add_operator(<target> <file.c>...): an operator of your own, to <target>.so, for `--operator`.
# The command that loads it has the functions of assay's headers.
function(assay_add_operator target)
  add_library(${target} MODULE ${ARGN})
  target_compile_features(${target} PRIVATE c_std_17)
  target_link_libraries(${target} PRIVATE assay::operator m)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  set_target_properties(${target} PROPERTIES PREFIX "")
endfunction()
