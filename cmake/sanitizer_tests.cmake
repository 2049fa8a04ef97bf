# Read by ctest, not by cmake: COFFER_TEST_SANITIZED names builds with sanitizers, separated by colons. The test programs
# that they list are run too, each as one test, so that everything ends in one summary.
string(REPLACE ":" ";" builds "$ENV{COFFER_TEST_SANITIZED}")
foreach(build IN LISTS builds)
  cmake_path(GET build FILENAME preset)
  file(STRINGS "${build}/sanitized_tests.txt" programs)
  foreach(program IN LISTS programs)
    cmake_path(GET program FILENAME name)
    add_test("${preset}.${name}" "${program}" --gtest_brief=1)
    set_tests_properties("${preset}.${name}" PROPERTIES TIMEOUT 900 WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/.."
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp")
  endforeach()
endforeach()
