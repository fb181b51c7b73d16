# assay_cuda_architectures(<out> <architecture>...): sm_90a where sm_90 is asked for. wgmma and TMA are
# instructions of sm_90a alone; kernels with them would stop in code for sm_90. `native`, `all` and
# `all-major` stand for what CMake found.
function(assay_cuda_architectures out)
  set(architectures ${ARGN})
  if("${architectures}" MATCHES "^(native|all|all-major)$")
    string(REPLACE "-" "_" found "${architectures}")
    string(TOUPPER "CMAKE_CUDA_ARCHITECTURES_${found}" found)
    if(${found})
      set(architectures ${${found}})
    endif()
  endif()
  list(TRANSFORM architectures REPLACE "^90(-|$)" "90a\\1")
  list(REMOVE_DUPLICATES architectures)
  set(${out} ${architectures} PARENT_SCOPE)
endfunction()
