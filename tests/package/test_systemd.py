"""The units of packaging/systemd are valid, and the service is confined."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

UNITS = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "systemd"
SKIPPED = 77
HIGHEST_EXPOSURE = 1.0


class Units(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.service = pathlib.Path(folder.name) / "gpuhist-batch@job.service"
        self.timer = pathlib.Path(folder.name) / "gpuhist-batch@job.timer"
        content = (UNITS / "gpuhist-batch@.service.in").read_text()
        self.service.write_text(content.replace("@CMAKE_INSTALL_FULL_BINDIR@/gpuhist", shutil.which("true")).replace("Documentation=man:gpuhist(1)\n", ""))
        self.timer.write_text((UNITS / "gpuhist-batch@.timer").read_text())

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)

    def test_the_units_are_valid(self):
        ended = self.analyze("verify", self.service, self.timer)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_the_service_is_confined(self):
        ended = self.analyze("security", "--offline=true", self.service)
        exposure = float(re.search(r"Overall exposure level .*: ([0-9.]+)", ended.stdout).group(1))
        self.assertLessEqual(exposure, HIGHEST_EXPOSURE, ended.stdout)


if __name__ == "__main__":
    if shutil.which("systemd-analyze") is None or os.name != "posix":
        print("skipped: not on this machine: systemd-analyze")
        sys.exit(SKIPPED)
    unittest.main()
