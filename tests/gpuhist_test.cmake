# gpuhist_test(NAME [ONE_THREAD] SOURCES ... [LIBRARIES ...] [LABELS ...]): a doctest program, one ctest entry a test case.
# ONE_THREAD: has no other thread, and is left out of builds with the thread sanitizer. The others are labelled `threads`.
# LABELS gpu: reports "skipped" where no CUDA device is.
include(doctest)
add_library(gpuhist_test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/support/main.cpp)
target_link_libraries(gpuhist_test_main PUBLIC gpuhist_flags doctest::doctest)

add_custom_target(gpuhist_threaded_tests)
add_custom_target(gpuhist_io_tests)

function(gpuhist_test name)
  cmake_parse_arguments(test "ONE_THREAD" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(test_ONE_THREAD AND GPUHIST_SANITIZE MATCHES "thread")
    return()
  endif()
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE gpuhist_test_main ${test_LIBRARIES})
  if(name MATCHES "^test_(io|zstd)")
    add_dependencies(gpuhist_io_tests ${name})
  endif()
  if(NOT test_ONE_THREAD)
    add_dependencies(gpuhist_threaded_tests ${name})
    list(APPEND test_LABELS threads)
  endif()
  # the list of labels reaches add_test() through two evaluations
  string(REPLACE ";" "\\;" labels "${test_LABELS}")
  if("gpu" IN_LIST test_LABELS)
    doctest_discover_tests(${name} TEST_PREFIX "${name}: "
      PROPERTIES LABELS "${labels}" SKIP_REGULAR_EXPRESSION "skipped: no CUDA device")
  elseif(test_LABELS)
    doctest_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES LABELS "${labels}")
  else()
    doctest_discover_tests(${name} TEST_PREFIX "${name}: ")
  endif()
endfunction()
