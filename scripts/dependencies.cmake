# The libraries gpuhist stands on, each as an imported target. All are Debian packages: scripts/setup.sh installs them.
find_package(Threads REQUIRED)

find_package(Boost 1.81 REQUIRED) # headers only
add_library(gpuhist_asio INTERFACE)
# SYSTEM: their warnings are not ours
target_include_directories(gpuhist_asio SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_compile_definitions(gpuhist_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(gpuhist_asio INTERFACE Threads::Threads)

find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4.0)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal>=2.30)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4>=1.9)
pkg_check_modules(lzma REQUIRED IMPORTED_TARGET liblzma>=5.4) # the first that reads lzip
find_package(BZip2 REQUIRED)
pkg_check_modules(libarchive REQUIRED IMPORTED_TARGET libarchive>=3.6)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=1.0)
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(doctest 2.4 REQUIRED)
find_package(benchmark 1.6 REQUIRED)
find_package(ZLIB REQUIRED) # makes what tests of gzip read

# Used as headers only, which its packages have in any case, and which no library has to be found for.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h)
if(NOT TOMLPLUSPLUS_INCLUDE_DIR)
  message(FATAL_ERROR "toml++ (the header toml++/toml.h) is missing: Debian has it as libtomlplusplus-dev")
endif()
add_library(gpuhist_toml INTERFACE)
target_include_directories(gpuhist_toml SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})
