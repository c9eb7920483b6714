"""The package under test, an oracle, and texts. PYTHON_PACKAGE is the folder of the package; empty: it was not built."""

import collections
import contextlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("PYTHON_PACKAGE")
if PACKAGE == "":
    print("skipped: the Python package was not built (-DGPUHIST_PYTHON=ON, nanobind)")
    sys.exit(77)
if PACKAGE:
    PACKAGE = os.path.abspath(PACKAGE)
    sys.path.insert(0, PACKAGE)
# without PYTHON_PACKAGE: the installed package

PATIENCE = 60  # seconds until a test that waits gives up


def campaign(usual, every=10_000):
    """How many random cases are run: `usual`, a tenth with CAMPAIGN=sample (CI), `every` with CAMPAIGN=all."""
    return {"sample": usual // 10, "all": every}.get(os.environ.get("CAMPAIGN"), usual)


def text(size, seed=1):
    """Letters, digits, line feeds and some bytes that are not ASCII."""
    values = bytes(random.Random(seed).choices(b"abcdefghij  0123456789\nXYZ\x00\xc3\xa4", k=min(size, 100_003)))
    return (values * (size // max(len(values), 1) + 1))[:size]


def byte_counts(data):
    """The oracle: how often each of the 256 byte values occurs."""
    counted = collections.Counter(data)
    return [counted[value] for value in range(256)]


def threads():
    """The threads of this process."""
    return set(os.listdir("/proc/self/task"))


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield pathlib.Path(path)


def run_python(code, *arguments, **options):
    """Starts a child process that runs code with the package."""
    environment = {**os.environ, "PYTHONPATH": PACKAGE} if PACKAGE else None
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def optional(name):
    """A module that may not be installed, else None."""
    try:
        return __import__(name)
    except ImportError:
        return None


# Types of samples that NumPy has.
SAMPLE_TYPES = ("uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64")


def samples_of(generator, name, size):
    """Values of one of SAMPLE_TYPES by a generator of NumPy, also outside of usual ranges."""
    numpy = optional("numpy")
    if numpy.dtype(name).kind in "iu":
        limits = numpy.iinfo(name)
        return generator.integers(max(limits.min, -1000), min(limits.max, 1000), size, dtype=name, endpoint=True)
    return generator.normal(0, 10, size).astype(name)


main = unittest.main
