"""The examples of docs/python.md, run in an empty folder."""

import contextlib
import doctest
import unittest

from support import SOURCE, folder, main


class Documentation(unittest.TestCase):
    def test_the_examples_print_what_is_shown(self):
        with folder() as path, contextlib.chdir(path):
            failed, attempted = doctest.testfile(str(SOURCE / "docs/python.md"), module_relative=False,
                                                 optionflags=doctest.IGNORE_EXCEPTION_DETAIL, encoding="utf-8")
        self.assertEqual(failed, 0)
        self.assertGreater(attempted, 10)


if __name__ == "__main__":
    main()
