# Unity builds of the sanitizer presets. Most of the compile time there is code that Asio's templates generate in every
# source; sources that are compiled as one share it. Measured, 26 sources of pipeline/ with both sanitizers of the asan
# preset: 100 s of processor time one by one, 40 s as one.

# gpuhist_unity(TARGET [SEPARATE SOURCE...]): compiles the sources of TARGET in groups if GPUHIST_UNITY is on.
# SEPARATE: these are compiled alone, because names in their unnamed namespaces occur in other sources, too.
function(gpuhist_unity target)
  cmake_parse_arguments(unity "" "" "SEPARATE" ${ARGN})
  if(NOT GPUHIST_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  set_source_files_properties(${unity_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
