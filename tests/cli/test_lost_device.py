"""A device that fails for good or is still starting, over a fake CUDA runtime (tests/support/command_runtime.cpp).
After a failure the run ends with the counts of a prefix and the cause. It does not wait for a device that is starting.
The process ends without exit handlers, because CUDA could hang in them."""

import os

from support import CALL_FAILED, PATIENCE, CommandTest, calls_of_device, evenly, main, run, text, zstd

AT_EXIT = "fake CUDA: called at exit"
WAKING = "fake CUDA: a device is waking\n"
MOST_CALLS = 1000  # more than a run here makes


class LostDevice(CommandTest):
    def count(self, call, *arguments):
        return run("--format", "json", "--buckets", "bytes", "--chunk-size", "16KiB", "-T", "2", "--streams", "2", *arguments,
                   engine="cuda", env={**os.environ, "FAKE_CUDA_CALL": str(call)})

    def count_calls(self, *arguments):
        return calls_of_device(lambda call: self.count(call, *arguments), MOST_CALLS)

    def check(self, ended, data):
        self.assertNotIn(AT_EXIT, ended.stderr)
        self.assertIn(ended.status, (0, 1, 2), ended)
        messages = ended.stderr.replace(CALL_FAILED, "")
        if ended.stdout:
            self.assert_counts(ended.result, data[: ended.result["bytes"]])
            self.assertEqual(ended.result["complete"], ended.status == 0, ended)
        if ended.status:
            self.assertIn("fake error 719", messages)
        else:
            self.assertEqual(ended.result["bytes"], len(data))

    def test_a_run_without_a_failure_counts_all_bytes(self):
        data = text(100_000)
        self.assert_counted(self.count(MOST_CALLS, self.file("text", data)), data)

    def test_after_the_first_failed_call_the_process_ends_at_once_with_the_counts_of_a_prefix(self):
        data = text(100_000)
        path = self.file("text", data)
        calls = self.count_calls(path)
        self.assertGreater(calls, 50)
        for call in evenly(range(1, calls + 1), 40):
            with self.subTest(call=call):
                ended = self.count(call, path)
                self.check(ended, data)

    def test_the_process_ends_at_once_also_if_the_report_cannot_be_written(self):
        data = text(100_000)
        path = self.file("text", data)
        calls = self.count_calls(path)
        for call in evenly(range(1, calls + 1), 20):
            with self.subTest(call=call):
                with open("/dev/full", "wb") as full:
                    ended = run("--format", "json", path, engine="cuda", stdout=full,
                                env={**os.environ, "FAKE_CUDA_CALL": str(call)})
                self.assertNotIn(AT_EXIT, ended.stderr)
                self.assertIn(ended.status, (1, 2), ended)

    def test_a_run_does_not_wait_for_a_device_that_is_starting_also_if_its_report_cannot_be_written(self):
        frame = b"x" * (32 << 20)
        repeated = zstd(frame) * 64  # decompresses so fast that counting is limited by the cores
        waking = {**os.environ, "FAKE_CUDA_WAKE_SECONDS": str(10 * PATIENCE)}
        options = ("--format", "json", "--buckets", "bytes", "-T", "1", "--devices", "0")
        ended = run(*options, engine="auto", stdin_bytes=repeated, env=waking)
        self.assertEqual((ended.status, ended.stderr), (0, WAKING), ended)
        self.assertEqual(ended.result["buckets"]["bytes"]["0x78"], 64 * len(frame))
        with open("/dev/full", "wb") as full:
            ended = run(*options, engine="auto", stdin_bytes=repeated, stdout=full, env=waking)
        self.assertEqual(ended.status, 1)
        self.assertTrue(ended.stderr.startswith(WAKING), ended)
        self.assertNotIn(AT_EXIT, ended.stderr)


if __name__ == "__main__":
    main()
