"""The examples of docs/python.md, run in an empty folder; the types of the package, checked by mypy if it is installed."""

import contextlib
import doctest
import os
import subprocess
import sys
import unittest

from support import PACKAGE, SOURCE, folder, main, optional


class Documentation(unittest.TestCase):
    def test_the_examples_print_what_is_shown(self):
        with folder() as path, contextlib.chdir(path):
            failed, attempted = doctest.testfile(str(SOURCE / "docs/python.md"), module_relative=False,
                                                 optionflags=doctest.IGNORE_EXCEPTION_DETAIL, encoding="utf-8")
        self.assertEqual(failed, 0)
        self.assertGreater(attempted, 10)


# A program of a user; each reveal_type() is a line of mypy's output.
PROGRAM = """
import gpuhist
result = gpuhist.count("log", buckets="letters", threads=2)
reveal_type(result.counts())
reveal_type(result.inputs[0].name)
for window in gpuhist.windows("log", 1000):
    reveal_type(window.index)
gpuhist.count("log", bucket="letters")
gpuhist.Counter(threads="two")
"""


@unittest.skipUnless(optional("mypy") and PACKAGE, "mypy is not installed, or the package is")
class Types(unittest.TestCase):
    def mypy(self, *arguments):
        with folder() as cache:
            checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *arguments],
                                     env={**os.environ, "MYPYPATH": PACKAGE}, capture_output=True, text=True, check=False)
        return checked.stdout

    def test_the_package_is_typed_strictly(self):
        self.assertIn("Success", self.mypy("-p", "gpuhist"))

    def test_a_program_sees_the_types_of_results_and_of_options(self):
        printed = self.mypy("-c", PROGRAM)
        for expected in ('"list[int]', '"str"', '"int"', 'Unexpected keyword argument "bucket"', 'Argument "threads"'):
            self.assertIn(expected, printed.replace("builtins.", ""))


if __name__ == "__main__":
    main()
