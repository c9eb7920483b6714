"""find_package(gpuhist): which library it selects, and what it reports if that cannot be used."""

import shutil
import subprocess
import unittest

from installed import CMAKE, GENERATOR, LIBRARIES, PATIENCE, PREFIX, main, scratch


class FindPackage(unittest.TestCase):
    def configured(self, call, languages="C CXX", prefix=PREFIX, **settings):
        """What CMake prints for a project with this call, on one line."""
        folder = scratch(self)
        (folder / "CMakeLists.txt").write_text(
            f"""cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES {languages})
{call}
if(TARGET gpuhist::gpuhist)
  get_target_property(kind gpuhist::gpuhist TYPE)
  foreach(name IN ITEMS INTERFACE_INCLUDE_DIRECTORIES INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_DEFINITIONS
      INTERFACE_COMPILE_FEATURES INTERFACE_LINK_LIBRARIES)
    get_target_property(value gpuhist::gpuhist ${{name}})
    message(STATUS "${{name}} [${{value}}]")
  endforeach()
endif()
message(STATUS "KIND [${{kind}}]")
"""
        )
        options = [f"-D{name}={value}" for name, value in settings.items()]
        ended = subprocess.run(
            [CMAKE, "-S", folder, "-B", folder / "build", "-G", GENERATOR, f"-DCMAKE_PREFIX_PATH={prefix}", *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False,
        )
        return " ".join(ended.stdout.split())

    def test_components_then_build_shared_libs_select_the_library_and_the_default_is_shared(self):
        call = "find_package(gpuhist 0.1 REQUIRED)"
        self.assertIn("KIND [SHARED_LIBRARY]", self.configured(call))
        self.assertIn("KIND [SHARED_LIBRARY]", self.configured(call, BUILD_SHARED_LIBS="ON"))
        self.assertIn("KIND [STATIC_LIBRARY]", self.configured(call, BUILD_SHARED_LIBS="OFF"))
        for kind in ("shared", "static"):
            printed = self.configured(f"find_package(gpuhist REQUIRED COMPONENTS {kind})", BUILD_SHARED_LIBS="ON" if kind == "static" else "OFF")
            self.assertIn(f"KIND [{kind.upper()}_LIBRARY]", printed)

    def test_the_shared_library_requires_an_include_folder_and_cxx_20_and_nothing_else(self):
        printed = self.configured("find_package(gpuhist REQUIRED COMPONENTS shared)", languages="C")
        self.assertIn(f"INTERFACE_INCLUDE_DIRECTORIES [{PREFIX / 'include'}]", printed)
        self.assertIn("INTERFACE_COMPILE_FEATURES [cxx_std_20]", printed)
        for name in ("COMPILE_OPTIONS", "COMPILE_DEFINITIONS", "LINK_LIBRARIES"):
            self.assertIn(f"INTERFACE_{name} [value-NOTFOUND]", printed)

    def test_a_library_that_is_not_installed_is_reported_with_the_target_that_builds_it(self):
        prefix = scratch(self) / "prefix"
        shutil.copytree(PREFIX, prefix, symlinks=True)
        libraries = prefix / LIBRARIES.relative_to(PREFIX)
        for path in libraries.glob("libgpuhist.so*"):
            path.unlink()
        self.assertIn("KIND [STATIC_LIBRARY]", self.configured("find_package(gpuhist)", prefix=prefix))
        printed = self.configured("find_package(gpuhist REQUIRED COMPONENTS shared)", prefix=prefix)
        self.assertRegex(printed, "CMake Error.*libgpuhist.so is not installed; build the target gpuhist_shared of gpuhist")
        (libraries / "libgpuhist.a").unlink()
        self.assertRegex(self.configured("find_package(gpuhist)", prefix=prefix), "build the target gpuhist_static of gpuhist .*KIND \\[\\]")

    def test_other_components_and_versions_and_missing_packages_are_reported(self):
        self.assertIn('gpuhist has no component "python"', self.configured("find_package(gpuhist REQUIRED COMPONENTS python)"))
        self.assertRegex(self.configured("find_package(gpuhist 0.2)"), "not accepted: .*version: 0.1.0")
        static = "find_package(gpuhist REQUIRED COMPONENTS static)"
        self.assertIn("needs the C++ runtime; enable the language CXX", self.configured(static, languages="C"))
        without_pkg_config = self.configured(static, PKG_CONFIG_EXECUTABLE="/nonexistent")
        self.assertRegex(without_pkg_config, "needs (PkgConfig|libzstd), which .*; install")


if __name__ == "__main__":
    main()
