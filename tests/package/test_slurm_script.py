"""The installed gpuhist-slurm runs, and finds the program next to it."""

import os
import subprocess
import sys
import unittest

from installed import PREFIX, command, main, scratch

SCRIPT = PREFIX / "bin" / "gpuhist-slurm"


class SlurmScript(unittest.TestCase):
    def test_it_prints_its_help(self):
        self.assertIn("usage: gpuhist-slurm JOB.toml --shards N", command(SCRIPT, "--help").stdout)

    def test_it_finds_the_program_next_to_it(self):
        """Without sbatch, that is the first error; without gpuhist, there is another one."""
        folder = scratch(self)
        (folder / "job.toml").write_text('inputs = ["a"]\noutput_dir = "counts"\n')
        copy = folder / "gpuhist-slurm"
        copy.write_bytes(SCRIPT.read_bytes())
        for script, message in ((SCRIPT, "sbatch is not installed on this machine"), (copy, "there is no gpuhist next to this script")):
            ended = subprocess.run([sys.executable, script, "job.toml", "--shards", "2"], cwd=folder, env={**os.environ, "PATH": str(folder)},
                                   stderr=subprocess.PIPE, text=True)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(message, ended.stderr)


if __name__ == "__main__":
    main()
