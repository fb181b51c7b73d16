# assay_add_kernel(<target> <file.cu>): compiles a kernel file for the simulated device, to <target>.so,
# which `assay check OP/VARIANT --kernel <target>.so` judges.
function(assay_add_kernel target file)
  add_library(${target} MODULE ${file})
  set_source_files_properties(${file} PROPERTIES LANGUAGE CXX)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_link_libraries(${target} PRIVATE assay::kernel)
  target_compile_options(${target} PRIVATE -x c++ ${assay_KERNEL_OPTIONS})
  # Its own templates and inline functions, not those of the same name in the program that loads it.
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic)
  set_target_properties(${target} PROPERTIES PREFIX "")
endfunction()
