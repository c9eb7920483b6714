# gpuhist_test(NAME [ONE_THREAD] SOURCES ... [LIBRARIES ...] [LABELS ...]): a doctest program, one ctest entry a test case.
# ONE_THREAD: has no other thread, and is left out where the thread sanitizer is all that is new.
include(doctest)
add_library(gpuhist_test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/support/main.cpp)
target_link_libraries(gpuhist_test_main PUBLIC gpuhist_flags doctest::doctest)

function(gpuhist_test name)
  cmake_parse_arguments(test "ONE_THREAD" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(test_ONE_THREAD AND GPUHIST_SANITIZE MATCHES "thread")
    return()
  endif()
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE gpuhist_test_main ${test_LIBRARIES})
  if(test_LABELS)
    doctest_discover_tests(${name} TEST_PREFIX "${name}: "
      PROPERTIES LABELS "${test_LABELS}" SKIP_REGULAR_EXPRESSION "skipped: no CUDA device")
  else()
    doctest_discover_tests(${name} TEST_PREFIX "${name}: ")
  endif()
endfunction()
