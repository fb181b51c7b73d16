# Reads oracles/ops.def, the one list of operators and variants:
#   ASSAY_OPS                 the operators' names, in order
#   ASSAY_VARIANTS_<op>       the variants of each
set(ops_def ${PROJECT_SOURCE_DIR}/oracles/ops.def)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_def})
file(STRINGS ${ops_def} lines REGEX "^ASSAY_OP\\(")
set(ASSAY_OPS "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^ASSAY_OP\\(([a-z0-9_]+), ([a-z0-9_ ]+)\\)$")
    message(FATAL_ERROR "oracles/ops.def: expected ASSAY_OP(name, v1 v2 ...), got: ${line}")
  endif()
  set(op ${CMAKE_MATCH_1})
  string(REPLACE " " ";" ASSAY_VARIANTS_${op} "${CMAKE_MATCH_2}")
  list(APPEND ASSAY_OPS ${op})
endforeach()
