# Unity builds for the presets of CI. Most of their compile time is for code that Asio's templates generate in every
# source; sources that are compiled together share it. Measured for 26 sources of pipeline/ with the asan preset: 100 s
# of processor time separately, 40 s together.

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
