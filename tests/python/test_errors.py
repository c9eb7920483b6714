"""Errors: their classes, and their texts."""

import threading
import unittest

from support import folder, main, text

import gpuhist


class Errors(unittest.TestCase):
    def raised(self, kind, *bases):
        self.assertTrue(issubclass(kind, (gpuhist.GpuhistError,)))
        for base in bases:
            self.assertTrue(issubclass(kind, base), base)
        return self.assertRaises(kind)

    def test_an_unknown_scheme_is_an_invalid_argument_with_the_text_of_the_library(self):
        with self.raised(gpuhist.InvalidArgumentError, ValueError) as caught:
            gpuhist.Counter(buckets="no such scheme")
        self.assertIn('there is no scheme "no such scheme"', str(caught.exception))
        with self.raised(gpuhist.InvalidArgumentError):
            gpuhist.count([], buckets="no such scheme")

    def test_a_finished_counter_is_closed(self):
        counter = gpuhist.Counter()
        with self.assertRaises(RuntimeError):
            counter.results
        counter.feed(b"x")
        counter.finish()
        with self.raised(gpuhist.ClosedError):
            counter.feed(b"x")
        with self.raised(gpuhist.ClosedError):
            counter.finish()

    def test_an_input_that_has_ended_is_misused(self):
        with gpuhist.Counter() as counter:
            opened = counter.open_input("ended")
            opened.finish()
            with self.raised(gpuhist.MisuseError):
                opened.feed(b"x")

    def test_a_cancelled_counter_is_incomplete(self):
        counter = gpuhist.Counter()
        counter.feed(text(100_000))
        counter.cancel()
        with self.raised(gpuhist.ClosedError):
            counter.feed(b"x")
        self.assertFalse(counter.finish().complete)

    def test_an_exception_that_leaves_the_block_is_the_one_that_is_raised(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with gpuhist.Counter() as counter:
                counter.feed(b"x")
                _ = 1 / 0
        self.assertFalse(counter.results.complete)

    def test_calls_within_a_callback_are_misuse(self):
        seen = []

        def calling(window):
            try:
                counter.snapshot()
            except gpuhist.MisuseError as error:
                seen.append(error)

        with gpuhist.Counter(window=4, on_window=calling) as counter:
            counter.feed(b"abcd")
        self.assertEqual(len(seen), 1)

    def test_a_full_device_is_a_system_failure(self):
        with folder() as path:
            (path / "log").write_bytes(text(1_000_000))
            with self.raised(gpuhist.SystemFailure, OSError) as caught, open("/dev/full", "wb", buffering=0) as full:
                gpuhist.filter(path / "log", full, keep_if="lower >= 0")
        self.assertIn("No space left", str(caught.exception))

    def test_errors_of_threads_stay_in_their_threads(self):
        raised = []

        def failing():
            try:
                gpuhist.count([], buckets="none")
            except gpuhist.InvalidArgumentError as error:
                raised.append(error)

        started = [threading.Thread(target=failing) for _ in range(8)]
        for each in started:
            each.start()
        for each in started:
            each.join()
        self.assertEqual(len(raised), 8)


if __name__ == "__main__":
    main()
