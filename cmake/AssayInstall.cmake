# cmake --install: the programs, their data, and what others need to write kernels and programs
# against assay. CPack makes a Debian package of the same.
include(CMakePackageConfigHelpers)

# ---- the programs and their data ----
install(TARGETS assay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(modules "")
foreach(module assay_cuda assay_cuda_alone assay_cuda_oracles assay_timer assay_profile assay_python)
  if(TARGET ${module})
    list(APPEND modules ${module})
  endif()
endforeach()
set(programs assay_guest assay_kernel_guest assay_arm)
if(ASSAY_RECORDED)
  list(APPEND programs assay_recorded assay_recorded_guest)
endif()
if(TARGET assay_libtorch_arm)
  list(APPEND programs assay_libtorch_arm)
endif()
# CUDA's and PyTorch's libraries lie where their own installers have put them.
foreach(target IN LISTS modules ITEMS ${programs})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endforeach()
install(TARGETS ${programs} ${modules}
        RUNTIME DESTINATION ${ASSAY_INSTALLED_PROGRAMS} LIBRARY DESTINATION ${ASSAY_INSTALLED_PROGRAMS})
if(TARGET assay_stand_in) # for assay exec
  install(TARGETS ${ASSAY_STAND_IN_TARGETS}
          LIBRARY DESTINATION ${ASSAY_INSTALLED_PROGRAMS}/cuda)
endif()
install(DIRECTORY bench/peers/ DESTINATION ${ASSAY_INSTALLED_PROGRAMS}/peers FILES_MATCHING PATTERN "*.py"
        PATTERN libtorch EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY python/guest/ DESTINATION ${ASSAY_INSTALLED_PROGRAMS}/python FILES_MATCHING
        PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(DIRECTORY python/reference DESTINATION ${ASSAY_INSTALLED_PROGRAMS}/python FILES_MATCHING
        PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(DIRECTORY golden/ DESTINATION ${ASSAY_INSTALLED_DATA}/golden FILES_MATCHING PATTERN "*.h5"
        PATTERN SHA256SUMS)
# What `assay new` makes files of.
foreach(op IN LISTS ASSAY_OPS)
  install(DIRECTORY kernels/${op} DESTINATION ${ASSAY_INSTALLED_DATA}/kernels FILES_MATCHING
          PATTERN "v1.cu" PATTERN "*.h" PATTERN "v[23]*" EXCLUDE)
endforeach()
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(library cjson sha256)
  install(FILES third_party/${library}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}/third_party/${library})
endforeach()

# ---- the library: the public API, include/assay/ ----
# Static: the API has no stable ABI before 1.0.
add_library(assay_library STATIC
  $<TARGET_OBJECTS:assay_core> $<TARGET_OBJECTS:assay_golden> $<TARGET_OBJECTS:assay_sha256>
  $<TARGET_OBJECTS:assay_cjson> $<TARGET_OBJECTS:assay_sim> $<TARGET_OBJECTS:assay_sim_runtime>)
set_target_properties(assay_library PROPERTIES OUTPUT_NAME assay EXPORT_NAME assay LINKER_LANGUAGE CXX)
target_compile_features(assay_library INTERFACE c_std_17 cxx_std_20)
target_include_directories(assay_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(assay_library PRIVATE hdf5::hdf5 ZLIB::ZLIB BLAS::BLAS Threads::Threads stdc++
                                            ${CMAKE_DL_LIBS} m)
add_library(assay::assay ALIAS assay_library)

# ---- kernel files: headers and the options that they are compiled with ----
add_library(assay_kernel INTERFACE)
set_target_properties(assay_kernel PROPERTIES EXPORT_NAME kernel)
set(ASSAY_INSTALLED_KERNEL ${CMAKE_INSTALL_INCLUDEDIR}/assay/kernel)
target_include_directories(assay_kernel INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${ASSAY_INSTALLED_KERNEL}>)
set(ASSAY_KERNEL_OPTIONS -ffp-contract=off -fno-strict-aliasing -Wno-unknown-pragmas)
if(NOT ASSAY_SANITIZE) # sim/alignment.c hears of misaligned addresses
  list(APPEND ASSAY_KERNEL_OPTIONS -fsanitize=alignment -fno-sanitize-recover=alignment)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ASSAY_KERNEL_OPTIONS -fno-gnu-unique)
endif()
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY device sim DESTINATION ${ASSAY_INSTALLED_KERNEL} FILES_MATCHING
        REGEX "/device/(kernel|grid|ptx|hopper|cuda|blas|dnn)\\.h$"
        REGEX "/sim/(cuda|approximate|sfu/sfu|runtime|vector|atomic|collective|scalar|bfloat|launch|tensor|hopper|proxy|mma)\\.h$"
        REGEX "/sim/ptx/(tensor_map|device/site)\\.h$" REGEX "/sim/libraries/[a-z]+\\.h$" REGEX "/sim/(count|race)$" EXCLUDE)
install(DIRECTORY kernels/common DESTINATION ${ASSAY_INSTALLED_KERNEL}/kernels
        FILES_MATCHING PATTERN "*.h")

# ---- operators: the helpers of oracles, whose functions `assay` has ----
add_library(assay_operator INTERFACE)
set_target_properties(assay_operator PROPERTIES EXPORT_NAME operator)
set(ASSAY_INSTALLED_OPERATOR ${CMAKE_INSTALL_INCLUDEDIR}/assay/operator)
target_include_directories(assay_operator INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${ASSAY_INSTALLED_OPERATOR}>)
install(DIRECTORY oracles/common DESTINATION ${ASSAY_INSTALLED_OPERATOR}/oracles FILES_MATCHING
        PATTERN "*.h" PATTERN device_oracle.h EXCLUDE)
install(FILES core/fill.h DESTINATION ${ASSAY_INSTALLED_OPERATOR}/core)
install(DIRECTORY examples/operator DESTINATION ${ASSAY_INSTALLED_DATA})
install(TARGETS assay_library assay_kernel assay_operator EXPORT assay ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# ---- find_package(assay) and pkg-config ----
set(ASSAY_INSTALLED_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(EXPORT assay NAMESPACE assay:: FILE assay-targets.cmake DESTINATION ${ASSAY_INSTALLED_CMAKE})
configure_package_config_file(cmake/assay-config.cmake.in ${PROJECT_BINARY_DIR}/assay-config.cmake
                              INSTALL_DESTINATION ${ASSAY_INSTALLED_CMAKE}
                              PATH_VARS CMAKE_INSTALL_BINDIR)
# Before 1.0 every minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake ${PROJECT_BINARY_DIR}/assay-config-version.cmake
              cmake/AssayKernel.cmake DESTINATION ${ASSAY_INSTALLED_CMAKE})

# pkg-config's files find the prefix from their own place.
file(RELATIVE_PATH ASSAY_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ASSAY_UP "${ASSAY_UP}")
list(JOIN ASSAY_KERNEL_OPTIONS " " ASSAY_KERNEL_FLAGS)
set(ASSAY_LIBRARIES ${HDF5_C_LIBRARIES} ${ZLIB_LIBRARIES} ${BLAS_LIBRARIES})
list(FILTER ASSAY_LIBRARIES INCLUDE REGEX "hdf5|libz\\.|blas") # what HDF5 itself links is its own affair
list(REMOVE_DUPLICATES ASSAY_LIBRARIES)
list(JOIN ASSAY_LIBRARIES " " ASSAY_LIBRARIES)
foreach(name assay assay-kernel)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- manual pages and completions, by the command that was built ----
if(NOT ASSAY_SANITIZE)
  set(manuals ${PROJECT_BINARY_DIR}/manuals)
  add_custom_command(OUTPUT ${manuals}/done DEPENDS assay VERBATIM
    COMMAND ${CMAKE_COMMAND} -D assay=$<TARGET_FILE:assay> -D folder=${manuals}
            -P ${PROJECT_SOURCE_DIR}/cmake/manuals.cmake)
  add_custom_target(assay_manuals ALL DEPENDS ${manuals}/done)
  install(DIRECTORY ${manuals}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${manuals}/assay.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME assay)
  install(FILES ${manuals}/_assay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${manuals}/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# ---- a Debian package: cpack -G DEB ----
set(CPACK_PACKAGE_VENDOR "assay")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # what the programs link
if(CUDA_cuda_driver_LIBRARY) # the toolkit's stand-in, where no driver is installed
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/driver)
  file(CREATE_LINK ${CUDA_cuda_driver_LIBRARY} ${PROJECT_BINARY_DIR}/driver/libcuda.so.1 SYMBOLIC)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/driver)
endif()
# The packages that linking with the library and compiling kernel files need beyond that.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, libhdf5-dev, zlib1g-dev, libblas-dev")
set(CPACK_STRIP_FILES ON)
include(CPack)
