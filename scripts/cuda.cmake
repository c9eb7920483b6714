# Checks whether CUDA code can be built, and prints the result. Sets GPUHIST_HAVE_CUDA.
set(GPUHIST_HAVE_CUDA OFF)
if(GPUHIST_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
      set(CMAKE_CUDA_ARCHITECTURES all-major) # machine code for each major architecture, and PTX of the last
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)    # the program starts on machines without a driver
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(GPUHIST_HAVE_CUDA ON)
    message(STATUS "gpuhist: CUDA ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}: the host and the CUDA engine")
  else()
    message(STATUS "gpuhist: no CUDA compiler (nvcc) found: the host engine only")
  endif()
else()
  message(STATUS "gpuhist: GPUHIST_CUDA is off: the host engine only")
endif()
