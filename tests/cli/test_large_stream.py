"""More than 2^32 bytes of one letter through a pipe, in the same memory as a short text; a job of more than 30 seconds."""

import os
import resource
import signal
import subprocess
import time

from support import CommandTest, ENGINE, SANITIZED, Running, main, wait_until

BYTES = 5 << 30


class LargeStream(CommandTest):
    def test_five_gibibytes_of_one_letter_are_counted_exactly(self):
        block = b"e" * (1 << 20)
        with Running("--format", "json", "--buckets", "letters", "--memory-limit", "256MiB", stdin=subprocess.PIPE) as running:
            for _ in range(BYTES // len(block)):
                if os.write(running.process.stdin.fileno(), block) != len(block):
                    self.fail("a short write")
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        result = ended.result
        self.assertEqual((result["bytes"], result["lines"], result["complete"]), (BYTES, 0, True))
        self.assertEqual(result["buckets"]["letters"]["e-h"], BYTES)
        self.assertEqual(sum(result["buckets"]["letters"].values()), BYTES)
        if ENGINE == "host" and not SANITIZED:
            self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10, 256 << 20)


class LongJob(CommandTest):
    def test_a_job_without_a_terminal_prints_its_progress_every_30_seconds(self):
        with (self.folder / "large").open("wb") as file:
            file.truncate(4000 << 30)
        begin = time.monotonic()
        with Running("batch", "--engine", ENGINE, "-T", "1", self.folder / "large", "--output-dir", self.folder / "out", engine=None) as running:
            wait_until(lambda: "of 1 input" in running.messages() or running.process.poll() is not None)
            waited = time.monotonic() - begin
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertGreaterEqual(waited, 30)
        self.assertRegex(ended.stderr, r"(?m)^gpuhist: 0 of 1 input, 0 failed, [0-9.]+ [KMGT]iB of 3.9 TiB \(\d+ %\), [0-9.]+ [KMG]iB/s, .* left$")


if __name__ == "__main__":
    main()
