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
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=1.0)
find_package(CLI11 2.1 REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(doctest 2.4 REQUIRED)
