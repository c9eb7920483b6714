"""check_style finds the expressions of its table as whole words, and no others."""

import pathlib
import subprocess
import tempfile
import unittest

from check_style import INSTEAD, found_in, violations


class CheckStyle(unittest.TestCase):
    def test_each_expression_is_found_with_its_line_and_the_term_to_use(self):
        for text in ("A hook is told of it.", "It is handed on.", "a run that is over", "for whoever waits", "at the most 3", "of use only with -r", "is_over()", "6 bytes, 1 lines"):
            with self.subTest(text=text):
                ((number, expression, instead),) = found_in("first line\n" + text)
                self.assertEqual(number, 2)
                self.assertIn(expression.lower(), text.lower().replace("_", " "))
                self.assertIn(instead, INSTEAD.values())

    def test_parts_of_words_and_other_meanings_are_not_found(self):
        for text in ("untellable", "the sum is over all bytes", "handed one slot", "behind-the-scenes", "teller", "at most 3", "2^64 - 1 bytes", "21 bytes", "0.1 files"):
            with self.subTest(text=text):
                self.assertEqual(list(found_in(text)), [])

    def test_a_line_may_be_marked(self):
        self.assertEqual(list(found_in('"he told me"  # style-ok')), [])

    def test_files_that_git_lists_are_searched(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.cpp").write_text("// nobody waits\n")
            (root / "b.md").write_text("at the most\n")
            (root / "c.bin").write_text("told\n")
            (root / "not_listed.cpp").write_text("// told\n")
            subprocess.run(["git", "init", "-q", root], check=True)
            subprocess.run(["git", "-C", root, "add", "a.cpp", "b.md", "c.bin"], check=True)
            self.assertEqual([each.split(": ")[0] for each in violations(root)], ["a.cpp:1", "b.md:1"])


if __name__ == "__main__":
    unittest.main()
