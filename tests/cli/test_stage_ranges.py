"""A profiler sees a range for each piece of work of each stage (NVTX), on the thread that does it."""

import collections
import os

from support import CommandTest, main, run, text, zstd

RECORDER = os.environ["NVTX_RECORDER"]


class StageRanges(CommandTest):
    def ranges(self, engine, *arguments):
        """The names of the ranges of each thread, with how often each began. Ranges that did not end are an error."""
        recorded = self.folder / "ranges"
        environment = {**os.environ, "NVTX_INJECTION64_PATH": RECORDER, "RECORDED_RANGES": str(recorded)}
        self.assertEqual(run(*arguments, engine=engine, env=environment).status, 0)
        began, still_open = collections.Counter(), collections.Counter()
        for line in recorded.read_text().splitlines():
            thread, change, *name = line.split(" ", 2)
            still_open[thread] += 1 if change == "+" else -1
            self.assertGreaterEqual(still_open[thread], 0)
            began.update(name)
        recorded.unlink()
        self.assertEqual(set(still_open.values()), {0})
        return began

    def test_each_stage_of_a_plain_file_on_the_host_has_ranges(self):
        began = self.ranges("host", "--chunk-size", "64KiB", self.file("a", text(2_000_000)))
        self.assertEqual(set(began), {"gpuhist: read", "gpuhist: count", "gpuhist: merge"})
        self.assertGreaterEqual(began["gpuhist: count"], 2_000_000 // (64 << 10))

    def test_decompression_has_ranges(self):
        began = self.ranges("host", self.file("a.zst", zstd(text(2_000_000))))
        self.assertIn("gpuhist: decompress", began)

    def test_submission_to_a_device_has_ranges(self):
        began = self.ranges("cuda", self.file("a", text(2_000_000)))
        self.assertEqual(set(began), {"gpuhist: read", "gpuhist: submit to the device", "gpuhist: merge"})


if __name__ == "__main__":
    main()
