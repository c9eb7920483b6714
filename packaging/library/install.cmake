# Installs the libraries that were built, their headers, and the files with which CMake and pkg-config find them.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gpuhist)

foreach(kind static shared)
  # one export for each: a build may have made only one of them
  install(TARGETS gpuhist_${kind} EXPORT gpuhist_${kind}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
  install(EXPORT gpuhist_${kind} FILE gpuhist-${kind}.cmake NAMESPACE gpuhist:: DESTINATION ${package_folder})
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gpuhist DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  PATTERN "device_s*.hpp" EXCLUDE)
if(GPUHIST_HAVE_CUDA)
  foreach(header device_samples device_span)
    install(FILES ${PROJECT_SOURCE_DIR}/include/gpuhist/${header}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gpuhist)
  endforeach()
endif()

set(cuda_package)
if(GPUHIST_HAVE_CUDA)
  set(cuda_package CUDAToolkit)
endif()
set(curl_module)
if(GPUHIST_HAVE_CURL)
  set(curl_module libcurl)
endif()
configure_file(gpuhist-static-dependencies.cmake.in gpuhist-static-dependencies.cmake @ONLY)
configure_package_config_file(gpuhist-config.cmake.in gpuhist-config.cmake INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(gpuhist-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/gpuhist-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/gpuhist-config-version.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/gpuhist-static-dependencies.cmake
  DESTINATION ${package_folder})

# gpuhist.pc finds the prefix from its own folder, so an installation can be moved.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(private_libraries)
foreach(each zstd isal lz4 lzma archive snappy brotli zlib hwy simdjson re2 utf8proc curl)
  list(APPEND private_libraries ${gpuhist_${each}_LDFLAGS})
endforeach()
list(APPEND private_libraries -lcld2_full -lcld2 -ldate-tz -lstdc++ -lm -pthread)
if(GPUHIST_HAVE_CUDA)
  list(APPEND private_libraries -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt)
endif()
list(REMOVE_DUPLICATES private_libraries)
list(TRANSFORM CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES PREPEND -L OUTPUT_VARIABLE system_folders)
list(REMOVE_ITEM private_libraries ${system_folders})
list(JOIN private_libraries " " private_libraries)
configure_file(gpuhist.pc.in gpuhist.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpuhist.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
