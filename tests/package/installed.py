"""Used by the suites of this folder: where the installed tree and the tools are, and the oracle of the counts (that of
tests/cli). ctest sets the variables; `install.py` makes the tree."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "cli"))
from support import oracle, text  # noqa: E402,F401

BUILD = pathlib.Path(os.environ["PACKAGE_BUILD"])
PREFIX = pathlib.Path(os.environ["PACKAGE_PREFIX"])
LIBRARIES = PREFIX / os.environ["PACKAGE_LIBDIR"]
HAVE_CUDA = os.environ["PACKAGE_CUDA"] == "ON"
CXX, CC, CMAKE = os.environ["PACKAGE_CXX"], os.environ["PACKAGE_CC"], os.environ["PACKAGE_CMAKE"]
LAUNCHER = os.environ["PACKAGE_LAUNCHER"]  # of the compiler: ccache, or empty
GENERATOR = os.environ["PACKAGE_GENERATOR"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wold-style-cast", "-Werror"]
EXAMPLES = SOURCE / "docs" / "examples"
PATIENCE = 300  # seconds
WHOLE_BUILD = 7000


def command(*arguments, timeout=PATIENCE, **options):
    """Runs a command and returns it with its output as text. A failure is an error that shows the output."""
    ended = subprocess.run(
        list(map(str, arguments)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False, **options
    )
    ended.stdout = ended.stdout.decode(errors="replace")
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, arguments))}: exit status {ended.returncode}\n{ended.stdout}")
    return ended


def configured(source, folder, *options):
    """Configures a CMake project; returns its build folder and what CMake printed."""
    environment = {**os.environ, "CMAKE_PREFIX_PATH": str(PREFIX)}
    tools = [f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_C_COMPILER={CC}"]
    if LAUNCHER:
        tools.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={LAUNCHER}")
    return command(CMAKE, "-S", source, "-B", folder, "-G", GENERATOR, *tools, *options, env=environment).stdout


def built(folder, timeout=PATIENCE):
    command(CMAKE, "--build", folder, "--parallel", "2", timeout=timeout)


def pkg_config(*arguments):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(LIBRARIES / "pkgconfig")}
    return command("pkg-config", *arguments, "gpuhist", env=environment).stdout.split()


def scratch(case):
    """A folder that is removed after the test case (or, for a class, after its last test)."""
    folder = tempfile.TemporaryDirectory()
    (case.addClassCleanup if isinstance(case, type) else case.addCleanup)(folder.cleanup)
    return pathlib.Path(folder.name)


def main():
    unittest.main(verbosity=2)
