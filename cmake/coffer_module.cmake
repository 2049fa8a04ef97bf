# A directory under src/ is a library, a namespace and, with its *_test.cpp files, a test program.

add_library(coffer_flags INTERFACE)
target_compile_options(coffer_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 inside its own <string> and <vector> once they are inlined (GCC bugs 105329, 105651).
  target_compile_options(coffer_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
    -Wno-maybe-uninitialized -Wno-subobject-linkage -Wno-free-nonheap-object -Wno-stringop-overread -Wno-dangling-pointer)
else()
  target_compile_options(coffer_flags INTERFACE -Wno-gnu-statement-expression-from-macro-expansion)
endif()
if(COFFER_SANITIZE)
  target_compile_options(coffer_flags INTERFACE -fsanitize=${COFFER_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(coffer_flags INTERFACE -fsanitize=${COFFER_SANITIZE})
endif()
if(COFFER_FUZZ)
  target_compile_options(coffer_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The standard headers that nearly every file includes, compiled once; for tests also GoogleTest, without optimisation.
set(coffer_pch_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <deque> <expected>
  <functional> <map> <memory> <mutex> <optional> <random> <span> <string> <string_view> <thread> <unordered_map>
  <utility> <vector> <fmt/format.h>)
set(coffer_test_flags $<$<BOOL:${COFFER_FAST_TESTS}>:-O0>)
if(COFFER_PCH)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Otherwise clang writes the time into what it precompiles, and ccache has no answer for a tree that is built again.
    target_compile_options(coffer_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  add_library(coffer_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
  target_link_libraries(coffer_pch PRIVATE coffer_flags fmt::fmt)
  target_precompile_headers(coffer_pch PRIVATE ${coffer_pch_headers})
  if(COFFER_TESTS)
    file(WRITE ${CMAKE_BINARY_DIR}/test_pch.cpp "")
    add_library(coffer_test_pch OBJECT ${CMAKE_BINARY_DIR}/test_pch.cpp)
    target_link_libraries(coffer_test_pch PRIVATE coffer_flags fmt::fmt Boost::json GTest::gtest)
    target_compile_options(coffer_test_pch PRIVATE ${coffer_test_flags})
    target_precompile_headers(coffer_test_pch PRIVATE <gtest/gtest.h> <boost/json.hpp> <filesystem> <fstream>
      ${coffer_pch_headers})
  endif()
endif()

# Several files are compiled as one where the preset says so: most of the time goes into headers.
function(coffer_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${COFFER_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()

# Everything compiled in this project: flags, include root, precompiled headers.
# TEST: for tests; MAIN: with a main() of its own.
function(coffer_target target)
  cmake_parse_arguments(ARG "TEST;MAIN" "" "" ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${target} PRIVATE coffer_flags)
  # Programs are compiled as the libraries are, so that one precompiled header serves both.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  if(ARG_TEST)
    target_compile_options(${target} PRIVATE ${coffer_test_flags})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    # Boost.JSON because its definitions must be those that the precompiled header was made with.
    target_link_libraries(${target} PRIVATE ${RAPIDCHECK_LIBRARY} fmt::fmt Boost::json GTest::gtest)
    if(NOT ARG_MAIN)
      target_link_libraries(${target} PRIVATE GTest::gtest_main)
    endif()
    coffer_unity(${target})
  endif()
  if(COFFER_PCH AND ARG_TEST)
    target_precompile_headers(${target} REUSE_FROM coffer_test_pch)
  elseif(COFFER_PCH)
    target_precompile_headers(${target} REUSE_FROM coffer_pch)
  endif()
endfunction()

# The library coffer_<name> and its test program <name>_test. SANITIZE names the sanitizers (address, thread) under
# which ./dev test runs that program as well: address for what reads bytes from outside, thread for what has threads.
function(coffer_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK;SANITIZE" ${ARGN})
  set(sources ${ARG_SOURCES})
  set(tests ${ARG_SOURCES})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  # COFFER_PREBUILT: the build directory of another copy of the tree, whose libraries are taken instead of compiling
  # them again. For tests that change one directory of a copy.
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE directory)
  set(archive ${COFFER_PREBUILT}/${directory}/libcoffer_${name}.a)
  set(prebuilt)
  if(COFFER_PREBUILT AND EXISTS ${archive})
    set(sources ${PROJECT_BINARY_DIR}/prebuilt.cpp)
    file(WRITE ${sources} "")
    set(prebuilt coffer_${name}_prebuilt)
    add_library(${prebuilt} STATIC IMPORTED GLOBAL)
    set_target_properties(${prebuilt} PROPERTIES IMPORTED_LOCATION ${archive})
    foreach(dependency IN LISTS ARG_DEPS)
      target_link_libraries(${prebuilt} INTERFACE coffer_${dependency})
    endforeach()
    target_link_libraries(${prebuilt} INTERFACE ${ARG_LINK})
    # Sources that this directory adds later, such as generated ones, are in the archive, too.
    cmake_language(EVAL CODE
      "cmake_language(DEFER CALL set_property TARGET coffer_${name} PROPERTY SOURCES \"${sources}\")")
  endif()
  add_library(coffer_${name} STATIC ${sources})
  add_library(coffer::${name} ALIAS coffer_${name})
  set_target_properties(coffer_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(coffer_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM ARG_DEPS PREPEND coffer_)
  target_link_libraries(coffer_${name} PUBLIC ${prebuilt} ${ARG_DEPS} ${ARG_LINK})
  target_compile_features(coffer_${name} PUBLIC cxx_std_23)
  target_link_libraries(coffer_${name} PRIVATE $<BUILD_INTERFACE:coffer_flags>)
  coffer_unity(coffer_${name})
  if(COFFER_PCH)
    target_precompile_headers(coffer_${name} REUSE_FROM coffer_pch)
  endif()
  set_property(GLOBAL APPEND PROPERTY COFFER_MODULES coffer_${name})
  if(COFFER_TESTS AND tests)
    coffer_test(${name}_test SOURCES ${tests} DEPS ${name} SANITIZE ${ARG_SANITIZE})
  endif()
endfunction()

# The target sanitized_tests, and a list of its programs for cmake/sanitizer_tests.cmake.
function(coffer_sanitized_tests)
  get_property(programs GLOBAL PROPERTY COFFER_SANITIZED)
  add_custom_target(sanitized_tests)
  set(files)
  foreach(program IN LISTS programs)
    add_dependencies(sanitized_tests ${program})
    string(APPEND files "$<TARGET_FILE:${program}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/sanitized_tests.txt CONTENT "${files}")
endfunction()

# coffer_module(name [DEPS module…] [LINK library…] [SANITIZE address|thread…]): a kernel, from the *.cpp files here.
function(coffer_module name)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  coffer_library(${name} SOURCES ${sources} ${ARGN})
endfunction()

# Files that are made before compiling; the target `generated` makes them all, for tools that read the sources.
function(coffer_generated target file)
  cmake_path(GET file STEM name)
  add_custom_target(${target}_${name} DEPENDS ${file})
  if(NOT TARGET generated)
    add_custom_target(generated)
  endif()
  add_dependencies(generated ${target}_${name})
endfunction()

# coffer_embed_migrations(target directory MODULE name NAMESPACE name FUNCTION name): compiles
# directory/{sqlite,postgres}/NNNN_what.sql into target, as what coffer::NAMESPACE::FUNCTION() returns.
function(coffer_embed_migrations target directory)
  cmake_parse_arguments(ARG "" "MODULE;NAMESPACE;FUNCTION" "" ${ARGN})
  set(directory ${CMAKE_CURRENT_SOURCE_DIR}/${directory})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_migrations.cmake)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${ARG_MODULE}_migrations.cpp)
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS ${directory}/*.sql)
  add_custom_command(OUTPUT ${out} DEPENDS ${texts} ${script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D DIR=${directory} -D MODULE=${ARG_MODULE} -D NAMESPACE=${ARG_NAMESPACE}
      -D FUNCTION=${ARG_FUNCTION} -D OUT=${out} -P ${script})
  target_sources(${target} PRIVATE ${out})
  coffer_generated(${target} ${out})
endfunction()

# coffer_engine(name DEPS module… [LINK library…] [SANITIZE …]): an engine from all *.cpp files here and below, with those kernels
# and nothing else; and coffer_<name>_faces, which joins it to HTTP, command line and settings: json/, routes/,
# commands/, settings.cpp and module.cpp. An engine with a directory migrations/ gets
# std::span<const sql::Migration> coffer::<name>::embedded_migrations(), which it declares where it needs it.
function(coffer_engine name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  set(faces ${sources})
  set(is_face "/${name}/((json|routes|commands)/|(module|settings)[a-z_]*\\.cpp)")
  list(FILTER sources EXCLUDE REGEX ${is_face})
  list(FILTER faces INCLUDE REGEX ${is_face})
  coffer_library(${name} SOURCES ${sources} ${ARGN})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/migrations)
    coffer_embed_migrations(coffer_${name} migrations MODULE ${name} NAMESPACE ${name} FUNCTION embedded_migrations)
  endif()
  if(faces)  # an engine begins as a library
    coffer_library(${name}_faces SOURCES ${faces} DEPS ${name} api cli config node)
  endif()
endfunction()

# coffer_program(name MAIN main.cpp MODULES engine/module.cpp…): the program, from main() and the engines. The library
# coffer_program, which tests of the whole program link as well, defines node::module_list().
function(coffer_program name)
  cmake_parse_arguments(ARG "" "MAIN" "MODULES" ${ARGN})
  list(TRANSFORM ARG_MODULES REPLACE "/.*" "" OUTPUT_VARIABLE engines)
  set(declarations)
  set(rows)
  foreach(engine IN LISTS engines)
    string(APPEND declarations "namespace coffer::${engine} {\nconst node::Module& ${engine}_module();\n}\n")
    string(APPEND rows "      &${engine}::${engine}_module(),\n")
  endforeach()
  set(list_cpp ${CMAKE_CURRENT_BINARY_DIR}/module_list.cpp)
  file(CONFIGURE OUTPUT ${list_cpp} @ONLY CONTENT "// Made by CMake from the src/*/module.cpp that it found.
#include \"node/module_list.h\"

@declarations@
namespace coffer::node {
std::span<const Module* const> module_list() {
  static const std::vector<const Module*> all = {
@rows@  };
  return all;
}
}  // namespace coffer::node
")
  add_library(coffer_program STATIC ${list_cpp})
  coffer_target(coffer_program)
  list(TRANSFORM engines REPLACE "(.+)" "coffer_\\1_faces")
  target_link_libraries(coffer_program PUBLIC ${engines} coffer_node)
  add_executable(${name} ${ARG_MAIN})
  coffer_target(${name})
  target_link_libraries(${name} PRIVATE coffer_program)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# The headers that give out PostgreSQL databases to tests, as they are written in an #include: those of src/sql, and all
# that include one of them.
function(coffer_postgres_headers out)
  get_property(known GLOBAL PROPERTY COFFER_POSTGRES_HEADERS)
  if(NOT known)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*test*.h ${PROJECT_SOURCE_DIR}/tests/*.h)
    set(newer sql/test_)
    while(newer)
      list(APPEND known ${newer})
      string(JOIN "|" pattern ${newer})
      set(newer)
      foreach(header IN LISTS headers)
        file(STRINGS ${header} found REGEX "#include \"(${pattern})" LIMIT_COUNT 1)
        if(found)
          list(REMOVE_ITEM headers ${header})
          string(REGEX REPLACE "^${PROJECT_SOURCE_DIR}/(src|tests)/" "" header ${header})
          list(APPEND newer ${header})
        endif()
      endforeach()
    endwhile()
    set_property(GLOBAL PROPERTY COFFER_POSTGRES_HEADERS ${known})
  endif()
  set(${out} ${known} PARENT_SCOPE)
endfunction()

# coffer_test(program SOURCES … [DEPS module…]): a GoogleTest program. Each of its tests is a ctest test.
function(coffer_test program)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LINK;SANITIZE" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${program} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND coffer_)
  target_link_libraries(${program} PRIVATE ${ARG_DEPS} ${ARG_LINK})
  coffer_target(${program} TEST)
  string(REPLACE "," ";" sanitizers "${COFFER_SANITIZE}")
  foreach(sanitizer IN LISTS ARG_SANITIZE)
    if(sanitizer IN_LIST sanitizers)
      set_property(GLOBAL APPEND PROPERTY COFFER_SANITIZED ${program})
    endif()
  endforeach()
  # Who includes what gives out PostgreSQL databases gets those of the run's one server (tests/fixture).
  set(fixture)
  coffer_postgres_headers(headers)
  string(JOIN "|" headers ${headers})
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS ${source} found REGEX "#include \"(${headers})" LIMIT_COUNT 1)
    if(found)
      set(fixture FIXTURES_REQUIRED postgres ENVIRONMENT COFFER_TEST_POSTGRES=${PROJECT_BINARY_DIR}/postgres)
    endif()
  endforeach()
  gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${fixture})
endfunction()
