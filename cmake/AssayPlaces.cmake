# Where files lie, in a build tree and in an installed one: core/place.h.
include(GNUInstallDirs)
foreach(part BINDIR LIBEXECDIR DATADIR INCLUDEDIR LIBDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${part}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${part}=${CMAKE_INSTALL_${part}}: must be relative to the "
                        "prefix, so that an installed tree can be moved")
  endif()
endforeach()
set(ASSAY_INSTALLED_PROGRAMS ${CMAKE_INSTALL_LIBEXECDIR}/assay)
set(ASSAY_INSTALLED_DATA ${CMAKE_INSTALL_DATADIR}/assay)

# The build tree's list. Modules that this build does not make are in it, too: their place says what
# is missing.
function(assay_write_places)
  set(lines "")
  foreach(module cuda cuda_alone cuda_oracles timer profile)
    string(APPEND lines "libassay_${module}.so ${PROJECT_BINARY_DIR}/device/libassay_${module}.so\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/assay-places.txt CONTENT
"source ${PROJECT_SOURCE_DIR}
build ${PROJECT_BINARY_DIR}
golden ${PROJECT_SOURCE_DIR}/golden
cuda ${PROJECT_BINARY_DIR}/sim/exec/cuda
kernels ${PROJECT_SOURCE_DIR}/kernels
include ${PROJECT_SOURCE_DIR}/include
include/assay/kernel ${PROJECT_SOURCE_DIR}
include/assay/operator ${PROJECT_SOURCE_DIR}
operator ${PROJECT_SOURCE_DIR}/examples/operator
peers/arm.py ${PROJECT_SOURCE_DIR}/bench/peers/arm.py
peers/function.py ${PROJECT_SOURCE_DIR}/bench/peers/function.py
assay_guest $<TARGET_FILE:assay_guest>
assay_recorded ${PROJECT_BINARY_DIR}/cli/assay_recorded
assay_recorded_guest ${PROJECT_BINARY_DIR}/engine/assay_recorded_guest
assay_kernel_guest $<TARGET_FILE:assay_kernel_guest>
libassay_python.so ${PROJECT_BINARY_DIR}/engine/libassay_python.so
python/guest.py ${PROJECT_SOURCE_DIR}/python/guest/guest.py
python/reference/main.py ${PROJECT_SOURCE_DIR}/python/reference/main.py
assay_arm $<TARGET_FILE:assay_arm>
assay_libtorch_arm ${PROJECT_BINARY_DIR}/bench/peers/assay_libtorch_arm
${lines}")
endfunction()
