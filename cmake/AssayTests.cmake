# assay_list_tests(<target> <flags of --write-ctest...>): registers the tests of a program of
# tests/shim with ctest. The program writes its own list when it is built: gtest_discover_tests knows
# no labels per test.
function(assay_list_tests target)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM BYPRODUCTS ${list}
                     COMMAND ${target} --write-ctest ${list} ${ARGN})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/include_${target}.cmake
       "if(EXISTS [==[${list}]==])\n  include([==[${list}]==])\n"
       "else()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
               ${CMAKE_CURRENT_BINARY_DIR}/include_${target}.cmake)
endfunction()
