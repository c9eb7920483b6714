# Packages that only tests and benchmarks need. If one is missing, tests or benchmarks are not built, and a message says
# so. With -DGPUHIST_TESTS=ON (or -DBUILD_TESTING=ON) and -DGPUHIST_BENCHMARKS=ON they are required; with
# -DGPUHIST_BENCHMARKS=OFF nothing of bench/ and tests/bench is built. In a parent project, both are built only with
# these options of gpuhist.

# gpuhist_wanted(RESULT OPTION...): the value of the first of these options that is defined. If none is: IF_FOUND for
# the top-level project, else OFF.
function(gpuhist_wanted result)
  set(wanted OFF)
  if(PROJECT_IS_TOP_LEVEL)
    set(wanted IF_FOUND)
  endif()
  foreach(name IN LISTS ARGN)
    if(DEFINED ${name})
      set(wanted ${${name}})
      break()
    endif()
  endforeach()
  set(${result} ${wanted} PARENT_SCOPE)
endfunction()

set(test_options GPUHIST_TESTS)
if(PROJECT_IS_TOP_LEVEL)
  list(APPEND test_options BUILD_TESTING)
endif()
gpuhist_wanted(wanted ${test_options})
set(GPUHIST_HAVE_TESTS OFF)
if(wanted)
  set(required)
  if(NOT wanted STREQUAL IF_FOUND)
    set(required REQUIRED)
  endif()
  find_package(doctest 2.4 ${required} QUIET)
  find_package(ZLIB ${required} QUIET) # compresses samples for the gzip tests
  find_package(BZip2 ${required} QUIET) # compresses samples for the bzip2 tests, and judges damaged ones
  if(doctest_FOUND AND ZLIB_FOUND AND BZIP2_FOUND)
    pkg_check_modules(gpuhist_brotli_encoder REQUIRED IMPORTED_TARGET GLOBAL libbrotlienc) # samples of brotli
    set(GPUHIST_HAVE_TESTS ON)
  else()
    message(STATUS "gpuhist: no tests: doctest (doctest-dev), zlib (zlib1g-dev) or libbz2 (libbz2-dev) was not found")
  endif()
endif()

# Without Google Benchmark, bench/ has everything but gpuhist-bench.
gpuhist_wanted(wanted GPUHIST_BENCHMARKS)
set(GPUHIST_BUILDS_BENCH OFF)
if(wanted OR (NOT DEFINED GPUHIST_BENCHMARKS AND GPUHIST_HAVE_TESTS))
  set(GPUHIST_BUILDS_BENCH ON)
endif()
set(GPUHIST_HAVE_BENCHMARKS OFF)
if(wanted)
  set(required)
  if(NOT wanted STREQUAL IF_FOUND)
    set(required REQUIRED)
  endif()
  find_package(ZLIB ${required} QUIET) # compresses the members of `gpuhist-bench decode`
  find_package(benchmark 1.6 ${required} QUIET)
  if(NOT ZLIB_FOUND)
    set(GPUHIST_BUILDS_BENCH OFF)
    message(STATUS "gpuhist: no benchmarks: zlib (zlib1g-dev) was not found")
  elseif(benchmark_FOUND)
    set(GPUHIST_HAVE_BENCHMARKS ON)
  else()
    message(STATUS "gpuhist: no gpuhist-bench: Google Benchmark (libbenchmark-dev) was not found")
  endif()
endif()
