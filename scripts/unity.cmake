# Unity builds and precompiled headers for the presets that are built from scratch (CI, sanitizers). Most of their compile
# time is for headers, and for code that Asio's templates generate in every source; sources that are compiled together
# share it. Measured for 26 sources of pipeline/ with the asan preset: 100 s of processor time separately, 40 s together.

# gpuhist_unity(TARGET [SEPARATE SOURCE...]): compiles the sources of TARGET in groups if GPUHIST_UNITY is on.
# SEPARATE: sources that are compiled alone, because other sources have the same names in unnamed namespaces.
function(gpuhist_unity target)
  cmake_parse_arguments(unity "" "" "SEPARATE" ${ARGN})
  if(NOT GPUHIST_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  # GCC takes sources that are included for headers, in which a type of an unnamed namespace would be a fault.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  set_source_files_properties(${unity_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# gpuhist_precompile(OWNER TARGET...): compiles the standard headers once for targets with the same compiler options as
# OWNER, of which nothing else is built, if GPUHIST_UNITY is on. Measured: 0.8 to 1.4 s less for each source. GCC ignores
# such headers in a target that lacks a definition of OWNER (-Winvalid-pch).
function(gpuhist_precompile owner)
  if(NOT GPUHIST_UNITY)
    return()
  endif()
  get_target_property(existing ${owner} PRECOMPILE_HEADERS)
  if(NOT existing)
    target_link_libraries(${owner} PRIVATE gpuhist_flags)
    set_target_properties(${owner} PROPERTIES EXCLUDE_FROM_ALL ON)
    target_precompile_headers(${owner} PRIVATE
      <algorithm> <array> <atomic> <bit> <chrono> <cmath> <compare> <condition_variable> <coroutine> <cstdint> <cstring>
      <deque> <exception> <filesystem> <fstream> <functional> <iterator> <limits> <map> <memory> <mutex> <numeric>
      <optional> <random> <ranges> <set> <span> <sstream> <stop_token> <string> <string_view> <system_error> <thread>
      <unordered_map> <utility> <variant> <vector>)
  endif()
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM ${owner})
    # GCC 12 does not suppress false warnings about the system's headers in precompiled ones; preset dev has these warnings
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow>)
  endforeach()
endfunction()
