"""doxygen makes the documentation of the public headers without warnings."""

import re
import shutil
import sys
import unittest

from installed import SOURCE, command, main, scratch


class Documentation(unittest.TestCase):
    def test_the_reference_of_the_public_headers_has_no_warnings(self):
        folder = scratch(self)
        settings = (SOURCE / "docs" / "Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {folder}\n"
        command("doxygen", "-", cwd=SOURCE, input=settings.encode())
        pages = "".join(path.read_text() for path in (folder / "reference").glob("*.html"))
        for text in ("open_input", "The first filled bytes", "memory_limit", "count_device_span", "The version of the library"):
            with self.subTest(text=text):
                self.assertTrue(text in re.sub("<[^>]*>", "", pages))


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("skipped: not on this machine: doxygen")
        sys.exit(77)
    main()
