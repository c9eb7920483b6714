"""More than 2^32 bytes of one letter through a pipe, in the same memory as a short text."""

import os
import resource
import subprocess

from support import CommandTest, ENGINE, SANITIZED, Running, main

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


if __name__ == "__main__":
    main()
