# Read by ctest, not by cmake: when COFFER_TEST_SANITIZED names a build with sanitizers, the test programs found
# there are run too, each as one test, so that everything ends in one summary.
if(DEFINED ENV{COFFER_TEST_SANITIZED})
  foreach(module base crypto codec mmr chain)
    set(program "$ENV{COFFER_TEST_SANITIZED}/src/${module}/${module}_test")
    if(EXISTS "${program}")
      add_test("sanitized.${module}" "${program}" --gtest_brief=1)
      set_tests_properties("sanitized.${module}" PROPERTIES TIMEOUT 900
        WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/..")
    endif()
  endforeach()
endif()
