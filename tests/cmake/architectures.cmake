# Run by `cmake -P`: which GPU architectures a build is for.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/AssayArchitectures.cmake)

function(expect want)
  assay_cuda_architectures(got ${ARGN})
  if(NOT "${got}" STREQUAL "${want}")
    message(FATAL_ERROR "of ${ARGN}: ${got}, not ${want}")
  endif()
endfunction()

expect("90a" 90)
expect("90a" 90a)
expect("90a" 90 90a)
expect("80;90a" 80 90)
expect("80-virtual;90a-real" 80-virtual 90-real)
expect("90a-virtual" 90-virtual)
expect("100;190" 100 190)
expect("native" native) # no GPU was found
set(CMAKE_CUDA_ARCHITECTURES_NATIVE "90-real")
expect("90a-real" native)
set(CMAKE_CUDA_ARCHITECTURES_ALL "75-real;90-real;120")
expect("75-real;90a-real;120" all)
set(CMAKE_CUDA_ARCHITECTURES_ALL_MAJOR "80-real;90-real")
expect("80-real;90a-real" all-major)
