# Read by cpack. A Debian package names its maintainer: here its builder, by the variables
# that Debian's own tools read.
if("$ENV{DEBFULLNAME}" STREQUAL "" OR NOT "$ENV{DEBEMAIL}" MATCHES "^[^ <>@]+@[^ <>@]+$")
  message(FATAL_ERROR "a package names its maintainer: set DEBFULLNAME and DEBEMAIL to your name and address")
endif()
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
