# Installing: the program, and what programs that embed Coffer need: the headers of include/coffer, the engines and
# the kernels below them as libraries for find_package(coffer); then the packages made of that.
include(CMakePackageConfigHelpers)

set(coffer_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coffer)

# What is left out is the program's own: its code is in the binary.
get_property(coffer_modules GLOBAL PROPERTY COFFER_MODULES)
list(FILTER coffer_modules EXCLUDE REGEX "_faces$|^coffer_(node|api|cli|config)$")
list(TRANSFORM coffer_modules REPLACE "^coffer_" "" OUTPUT_VARIABLE coffer_components)

install(TARGETS ${coffer_modules} EXPORT cofferTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/coffer ${PROJECT_BINARY_DIR}/include/coffer
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT cofferTargets NAMESPACE coffer:: DESTINATION ${coffer_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cofferConfig.cmake.in ${PROJECT_BINARY_DIR}/cofferConfig.cmake
  INSTALL_DESTINATION ${coffer_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cofferConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cofferConfig.cmake ${PROJECT_BINARY_DIR}/cofferConfigVersion.cmake
  DESTINATION ${coffer_cmake_dir})

add_custom_target(coffer_installed DEPENDS ${coffer_modules} COMMENT "Everything that is installed")
if(TARGET coffer)
  install(TARGETS coffer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(coffer_installed coffer)
endif()
foreach(document LICENSE README.md CHANGELOG.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endforeach()

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME coffer)
set(CPACK_PACKAGE_VENDOR "Coffer")
set(CPACK_PACKAGE_CONTACT "The Coffer authors <coffer@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# Build paths would otherwise depend on who may write where at install time.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries the binary links, with the versions it needs
# What a program that links the installed libraries must have besides.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libboost-json1.81-dev, libboost-url1.81-dev, libssl-dev, librocksdb-dev, \
libsodium-dev, libsecp256k1-dev, libzmq3-dev, libpq-dev, libsqlite3-dev, libcjose-dev, libjansson-dev, prometheus-cpp-dev, libspdlog-dev, libfmt-dev, \
pkg-config")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A ledger-state engine: the layer between a blockchain node and the programs
that spend money. One binary with HTTP interface, command line and page.")
include(CPack)
