# The libraries that gpuhist uses, each as an imported target. All are Debian packages: scripts/setup.sh installs them.
find_package(Threads REQUIRED)

find_package(Boost 1.81 REQUIRED) # headers only
add_library(gpuhist_asio INTERFACE)
# SYSTEM: no warnings from these headers
target_include_directories(gpuhist_asio SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
# Asio then allocates with operator new, whose failures have a handler (pipeline/program/memory_reserve)
target_compile_definitions(gpuhist_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC
  BOOST_ASIO_DISABLE_BOOST_ALIGN)
target_link_libraries(gpuhist_asio INTERFACE Threads::Threads)

find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4.0)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal>=2.30)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4>=1.9)
pkg_check_modules(lzma REQUIRED IMPORTED_TARGET liblzma>=5.4) # the first version that reads lzip
find_package(BZip2 REQUIRED)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive>=3.6)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=1.0)
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)

# Only its headers are used, so only they are looked for.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
if(NOT TOMLPLUSPLUS_INCLUDE_DIR)
  message(FATAL_ERROR "toml++ (the header toml++/toml.h) is missing: Debian has it as libtomlplusplus-dev")
endif()
add_library(gpuhist_toml INTERFACE)
target_include_directories(gpuhist_toml SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})

# Packages that only tests and benchmarks need. If one is missing, tests or benchmarks are not built, and a message says
# so. With -DBUILD_TESTING=ON or -DGPUHIST_BENCHMARKS=ON it is required.
set(GPUHIST_TESTS OFF)
if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
  set(required)
  if(BUILD_TESTING)
    set(required REQUIRED)
  endif()
  find_package(doctest 2.4 ${required} QUIET)
  find_package(ZLIB ${required} QUIET) # compresses samples for the gzip tests
  if(doctest_FOUND AND ZLIB_FOUND)
    set(GPUHIST_TESTS ON)
  else()
    message(STATUS "gpuhist: no tests: doctest (doctest-dev) or zlib (zlib1g-dev) was not found")
  endif()
endif()

set(GPUHIST_BENCH_PROGRAM OFF)
if(NOT DEFINED GPUHIST_BENCHMARKS OR GPUHIST_BENCHMARKS)
  set(required)
  if(GPUHIST_BENCHMARKS)
    set(required REQUIRED)
  endif()
  find_package(benchmark 1.6 ${required} QUIET)
  if(benchmark_FOUND)
    set(GPUHIST_BENCH_PROGRAM ON)
  else()
    message(STATUS "gpuhist: no gpuhist-bench: Google Benchmark (libbenchmark-dev) was not found")
  endif()
endif()
