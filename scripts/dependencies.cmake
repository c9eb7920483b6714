# The libraries that gpuhist uses, each as an imported target. All are Debian packages: scripts/setup.sh installs them.
find_package(Threads REQUIRED)

find_package(Boost 1.81 REQUIRED) # headers only
add_library(gpuhist_asio INTERFACE)
# SYSTEM: no warnings from these headers
target_include_directories(gpuhist_asio SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
# Asio then allocates with operator new, whose failures have a handler (command/memory_reserve)
target_compile_definitions(gpuhist_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC
  BOOST_ASIO_DISABLE_BOOST_ALIGN)
target_link_libraries(gpuhist_asio INTERFACE Threads::Threads)

find_package(PkgConfig REQUIRED)
# GLOBAL: a program of a parent project links the static library, and so needs these targets
pkg_check_modules(gpuhist_zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd>=1.4.0)
pkg_check_modules(gpuhist_isal REQUIRED IMPORTED_TARGET GLOBAL libisal>=2.30)
pkg_check_modules(gpuhist_lz4 REQUIRED IMPORTED_TARGET GLOBAL liblz4>=1.9)
pkg_check_modules(gpuhist_lzma REQUIRED IMPORTED_TARGET GLOBAL liblzma>=5.4) # the first version that reads lzip
pkg_check_modules(gpuhist_archive REQUIRED IMPORTED_TARGET GLOBAL libarchive>=3.6)
pkg_check_modules(gpuhist_snappy REQUIRED IMPORTED_TARGET GLOBAL snappy>=1.1)
pkg_check_modules(gpuhist_brotli REQUIRED IMPORTED_TARGET GLOBAL libbrotlidec>=1.0)
pkg_check_modules(gpuhist_zlib REQUIRED IMPORTED_TARGET GLOBAL zlib>=1.2.11)
pkg_check_modules(gpuhist_hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy>=1.0)
pkg_check_modules(gpuhist_simdjson REQUIRED IMPORTED_TARGET GLOBAL simdjson>=3.0)
pkg_check_modules(gpuhist_re2 REQUIRED IMPORTED_TARGET GLOBAL re2)
pkg_check_modules(gpuhist_utf8proc REQUIRED IMPORTED_TARGET GLOBAL libutf8proc>=2.5)
# Optional: inputs on HTTP servers. 7.85 is the first version that takes names of protocols.
set(GPUHIST_HAVE_CURL OFF)
if(GPUHIST_HTTP)
  pkg_check_modules(gpuhist_curl IMPORTED_TARGET GLOBAL libcurl>=7.85)
  if(gpuhist_curl_FOUND)
    set(GPUHIST_HAVE_CURL ON)
  else()
    message(STATUS "libcurl >= 7.85 is missing: URLs cannot be inputs (Debian has it as libcurl4-openssl-dev)")
  endif()
endif()
# -pthread would differ from the options of the precompiled header
set_property(TARGET PkgConfig::gpuhist_re2 PROPERTY INTERFACE_COMPILE_OPTIONS)
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)

# It has no file for pkg-config.
find_path(GPUHIST_DATE_INCLUDE_DIR date/tz.h)
find_library(GPUHIST_DATE_LIBRARY date-tz)
if(NOT GPUHIST_DATE_INCLUDE_DIR OR NOT GPUHIST_DATE_LIBRARY)
  message(FATAL_ERROR "the library date (date/tz.h, libdate-tz) is missing: Debian has it as libhowardhinnant-date-dev")
endif()

# Nor has this one. libcld2 has the functions, and tables for 83 languages; libcld2_full has tables for more than 160. The
# dynamic linker uses those of the library that comes first: link cld2_full, then cld2 (report/texts/languages.cpp).
find_path(GPUHIST_CLD2_INCLUDE_DIR cld2/public/compact_lang_det.h)
find_library(GPUHIST_CLD2_LIBRARY cld2)
find_library(GPUHIST_CLD2_TABLES_LIBRARY cld2_full)
if(NOT GPUHIST_CLD2_INCLUDE_DIR OR NOT GPUHIST_CLD2_LIBRARY OR NOT GPUHIST_CLD2_TABLES_LIBRARY)
  message(FATAL_ERROR "CLD2 (cld2/public/compact_lang_det.h, libcld2, libcld2_full) is missing: Debian has it as libcld2-dev")
endif()

# Only its headers are used, so only they are looked for.
find_path(GPUHIST_TOML_INCLUDE_DIR toml++/toml.h)
if(NOT GPUHIST_TOML_INCLUDE_DIR)
  message(FATAL_ERROR "toml++ (the header toml++/toml.h) is missing: Debian has it as libtomlplusplus-dev")
endif()
add_library(gpuhist_toml INTERFACE)
target_include_directories(gpuhist_toml SYSTEM INTERFACE ${GPUHIST_TOML_INCLUDE_DIR})
find_path(GPUHIST_XXHASH_INCLUDE_DIR xxhash.h)
if(NOT GPUHIST_XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "libxxhash (the header xxhash.h) is missing: Debian has it as libxxhash-dev")
endif()
add_library(gpuhist_xxhash INTERFACE)
target_include_directories(gpuhist_xxhash SYSTEM INTERFACE ${GPUHIST_XXHASH_INCLUDE_DIR})
