"""Threads that cannot be started: a run continues with the others and says so, or ends with a message."""

import json
import os
import resource
import subprocess
import tempfile
import unittest

from support import GPUHIST, THREAD_SANITIZED

UNPRIVILEGED = 65534
TEXT = b"what is text made of\n" * 20_000


@unittest.skipIf(THREAD_SANITIZED, "the thread sanitizer has a thread of its own, which counts as well")
@unittest.skipUnless(os.geteuid() == 0, "only root can become a user without other processes")
class Threads(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "text")
        with open(self.path, "wb") as file:
            file.write(TEXT)

    def run_limited(self, processes, *arguments):
        """As a user that may have this many processes and threads."""

        def become_limited():
            os.setgroups([])
            os.setgid(UNPRIVILEGED)
            os.setuid(UNPRIVILEGED)
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

        return subprocess.run([GPUHIST, *arguments], capture_output=True, timeout=60, preexec_fn=become_limited, check=False)

    def run_with(self, processes, *arguments):
        return self.run_limited(processes, "--engine", "host", "--threads", "4", *arguments)

    def test_a_run_continues_with_the_threads_that_could_be_started_and_reports_their_number(self):
        for processes in (2, 3, 4):
            with self.subTest(processes=processes):
                process = self.run_with(processes, "--stats", "--format", "json", self.path)
                self.assertEqual(process.returncode, 0, process.stderr)
                result = json.loads(process.stdout)
                self.assertTrue(result["complete"])
                self.assertEqual(result["bytes"], len(TEXT))
                self.assertEqual(result["stats"]["threads"], processes - 1)
                self.assertEqual(result["stats"]["threads_planned"], 4)
                self.assertIn(f"only {processes - 1} of 4 threads could be started".encode(), process.stderr)

    def test_a_run_without_any_thread_ends_with_cause_and_remedy(self):
        process = self.run_with(1, self.path)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(process.stdout, b"")
        self.assertIn(b"no thread can be started", process.stderr)
        self.assertIn(b"ulimit -u", process.stderr)

    def test_only_the_archive_whose_thread_cannot_be_started_fails(self):
        archive = os.path.join(self.folder, "all.tar")
        subprocess.run(["tar", "cf", archive, "-C", self.folder, "text"], check=True)
        process = self.run_with(2, "--format", "json", archive, self.path)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"all.tar: no thread can be started to read the archive", process.stderr)
        inputs = json.loads(process.stdout)["inputs"]
        self.assertEqual([each["complete"] for each in inputs], [False, True])
        self.assertEqual(inputs[1]["bytes"], len(TEXT))

    def test_repack_continues_with_the_threads_that_could_be_started(self):
        output = os.path.join(self.folder, "out.zst")
        process = self.run_limited(3, "repack", self.path, "-o", output, "--threads", "4")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(b"only 2 of 4 threads could be started", process.stderr)
        plain = subprocess.run([GPUHIST, "--engine", "host", "--format", "json", output], capture_output=True, check=True)
        self.assertEqual(json.loads(plain.stdout)["bytes"], len(TEXT))


if __name__ == "__main__":
    unittest.main()
