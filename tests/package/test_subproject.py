"""gpuhist as a part of another CMake project, with add_subdirectory(). MODE is `configure` (the parent is configured
only) or `build` (its program is built and run)."""

import os
import re
import unittest

from installed import BUILD, CMAKE, SOURCE, WHOLE_BUILD, built, command, configured, main, oracle, scratch

MODE = os.environ["MODE"]

PARENT = f"""
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
option(BUILD_TESTING "of the parent" ON)
set(CMAKE_CXX_STANDARD 17)

# remember(RESULT NAME...): a list of NAME=VALUE
function(remember result)
  foreach(name IN LISTS ARGN)
    list(APPEND values "${{name}}=${{${{name}}}}")
  endforeach()
  set(${{result}} "${{values}}" PARENT_SCOPE)
endfunction()

get_cmake_property(names VARIABLES)
list(FILTER names EXCLUDE REGEX "^(CMAKE_CUDA|CMAKE_MATCH|CMAKE_CURRENT|CMAKE_PARENT)")
get_cmake_property(cache_before CACHE_VARIABLES)
remember(before ${{names}})
HOW
remember(after ${{names}})
get_cmake_property(cache_after CACHE_VARIABLES)
foreach(old new IN ZIP_LISTS before after)
  if(NOT old STREQUAL new)
    message(STATUS "CHANGED ${{old}} -> ${{new}}")
  endif()
endforeach()
list(REMOVE_ITEM cache_after ${{cache_before}})
foreach(name IN LISTS cache_after)
  get_property(type CACHE ${{name}} PROPERTY TYPE)
  if(NOT type MATCHES "INTERNAL|STATIC") # of CMake itself
    message(STATUS "CACHE ${{name}}")
  endif()
endforeach()
get_property(testing DIRECTORY {SOURCE} PROPERTY TESTS)
message(STATUS "TESTS [${{testing}}]")

add_executable(program program.c)
target_link_libraries(program PRIVATE gpuhist::gpuhist)
"""

# The full build has the settings of this build, so that a compiler cache has its objects.
SETTINGS = re.compile(
    r"(CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS_\w+|CMAKE_\w+_COMPILER_LAUNCHER|CMAKE_CUDA_ARCHITECTURES|GPUHIST_WERROR|GPUHIST_CUDA):\w+=.+"
)


def settings_of_this_build():
    cache = (BUILD / "CMakeCache.txt").read_text().splitlines()
    return [f"-D{line}" for line in cache if SETTINGS.fullmatch(line)]


class Subproject(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self)
        self.is_added_by(f"add_subdirectory({SOURCE} gpuhist)")
        (self.folder / "program.c").write_text((SOURCE / "docs/examples/count_stdin.c").read_text())

    def is_added_by(self, commands):
        (self.folder / "CMakeLists.txt").write_text(PARENT.replace("HOW", commands))

    def configure(self, *options):
        return configured(self.folder, self.folder / "build", *options)

    @unittest.skipUnless(MODE == "configure", "the other mode")
    def test_the_variables_and_options_of_the_parent_are_unchanged(self):
        printed = self.configure("-DGPUHIST_CUDA=OFF").splitlines()
        self.assertEqual([line for line in printed if line.startswith("-- CHANGED")], [])
        self.assertIn("-- TESTS []", printed)
        # of find modules: packages, and what FindX.cmake leaves
        found = r"^-- CACHE (GPUHIST_|gpuhist_|Boost_|BZIP2_|CLI11_|boost_|nlohmann_json_|PKG_CONFIG_|pkgcfg_)"
        for line in printed:
            if line.startswith("-- CACHE"):
                self.assertRegex(line, found)

    @unittest.skipUnless(MODE == "configure", "the other mode")
    def test_fetch_content_adds_it_and_no_target_has_a_generic_name(self):
        self.is_added_by(f"include(FetchContent)\nFetchContent_Declare(gpuhist SOURCE_DIR {SOURCE})\nFetchContent_MakeAvailable(gpuhist)")
        self.configure("-DGPUHIST_CUDA=OFF", "-DBUILD_SHARED_LIBS=ON")
        printed = command(CMAKE, "--build", self.folder / "build", "--target", "help").stdout
        targets = {line.split(":")[0].removeprefix("... ") for line in printed.splitlines()}
        self.assertIn("gpuhist_shared", targets)
        for generic in ("make_log", "test_io", "tests", "doctest"):
            self.assertNotIn(generic, targets)

    @unittest.skipUnless(MODE == "configure", "the other mode")
    def test_a_build_of_nothing_can_be_installed(self):
        self.configure("-DGPUHIST_CUDA=OFF", "-DGPUHIST_INSTALL=ON")
        command(CMAKE, "--install", self.folder / "build" / "gpuhist", "--prefix", self.folder / "prefix")
        self.assertTrue((self.folder / "prefix/include/gpuhist/gpuhist.hpp").exists())

    @unittest.skipUnless(MODE == "build", "the other mode")
    def test_the_program_of_the_parent_counts(self):
        for shared in ("OFF", "ON"):
            with self.subTest(shared=shared):
                self.configure(f"-DBUILD_SHARED_LIBS={shared}", *settings_of_this_build())
                built(self.folder / "build", timeout=WHOLE_BUILD)
                printed = command(self.folder / "build/program", input=b"hello, world\n").stdout
                expected = oracle(b"hello, world\n")["buckets"]["letters"]
                self.assertEqual(printed, "".join(f"{name} {count}\n" for name, count in expected.items()))
        self.assertFalse((self.folder / "build/gpuhist/gpuhist").exists())


if __name__ == "__main__":
    main()
