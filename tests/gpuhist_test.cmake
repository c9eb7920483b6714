# gpuhist_test(NAME [ONE_THREAD] [HEAVY] SOURCES ... [LIBRARIES ...] [LABELS ...]): a doctest program, one ctest entry a
# test case.
# ONE_THREAD: has no other thread, and is left out of builds with the thread sanitizer.
# HEAVY: calculates for long, and is optimised in CI, too. CI compiles other programs in half the time without optimisation.
# LABELS gpu: reports "skipped" where no CUDA device is.
include(doctest)
add_library(gpuhist_test_main OBJECT ${CMAKE_CURRENT_LIST_DIR}/support/main.cpp)
target_link_libraries(gpuhist_test_main PUBLIC gpuhist_flags doctest::doctest)
if(GPUHIST_UNITY)
  target_compile_options(gpuhist_test_main PRIVATE -O0)
  add_library(gpuhist_precompiled_tests OBJECT ${CMAKE_CURRENT_LIST_DIR}/support/main.cpp)
  set_target_properties(gpuhist_precompiled_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(gpuhist_precompiled_tests PRIVATE -fPIE -O0) # as programs are compiled
endif()

# The quick parts of the sanitizer checks (scripts/test.sh), by name: labels, and targets that build the programs. They
# need io, gpu and async, but not the pipeline, whose coroutines take minutes to compile. Memory: decoders, also that of
# devices, and readers of archives. Races: threads that interact.
set(gpuhist_memory_tests "^test_(io|zstd|deflate)")
set(gpuhist_race_tests "^test_(async|automatic_|frame_lanes|host_engine)")
add_custom_target(gpuhist_memory_tests)
add_custom_target(gpuhist_race_tests)

function(gpuhist_test name)
  cmake_parse_arguments(test "ONE_THREAD;HEAVY" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(test_ONE_THREAD AND GPUHIST_SANITIZE MATCHES "thread")
    return()
  endif()
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE gpuhist_test_main ${test_LIBRARIES})
  if(GPUHIST_UNITY AND NOT test_HEAVY)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
    gpuhist_precompile(gpuhist_precompiled_tests ${name})
  endif()
  foreach(kind memory race)
    if(name MATCHES "${gpuhist_${kind}_tests}")
      add_dependencies(gpuhist_${kind}_tests ${name})
      list(APPEND test_LABELS ${kind})
    endif()
  endforeach()
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
