"""Reference counts, cycles, threads and memory after objects of the package have ended."""

import gc
import os
import sys
import unittest
import weakref

from support import PATIENCE, folder, main, run_python, text, threads

import gpuhist


class Lifetimes(unittest.TestCase):
    def test_a_buffer_is_released_when_feed_returns(self):
        data = bytearray(text(200_000))
        before = sys.getrefcount(data)
        with gpuhist.Counter() as counter:
            counter.feed(data)
            self.assertEqual(sys.getrefcount(data), before)
            data.append(1)  # BufferError while the memory is exported
            counter.finish()
            with self.assertRaises(gpuhist.ClosedError):
                counter.feed(data)
        data.append(1)
        self.assertEqual(sys.getrefcount(data), before)

    def test_callbacks_are_released_with_the_counter(self):
        def callback(window):
            pass

        before = sys.getrefcount(callback)
        for _ in range(10):
            with gpuhist.Counter(window=10, on_window=callback) as counter:
                counter.feed(bytes(100))
            del counter
        self.assertEqual(sys.getrefcount(callback), before)

    def test_a_callback_that_refers_to_its_counter_is_no_leak(self):
        class Owner:
            def __init__(self):
                self.counter = gpuhist.Counter(window=10, on_window=self.seen)
                self.counter.feed(bytes(100))

            def seen(self, window):
                pass

        owner = weakref.ref(Owner())
        gc.collect()
        self.assertIsNone(owner())
        self.assertEqual(len(threads()), 1)

    def test_no_thread_exists_after_a_counter_that_was_not_finished(self):
        counter = gpuhist.Counter(threads=3)
        counter.feed(bytes(100_000))
        self.assertGreater(len(threads()), 1)
        del counter
        self.assertEqual(len(threads()), 1)

    def test_no_thread_exists_after_a_finished_counter_that_still_exists(self):
        with gpuhist.Counter(threads=3) as counter:
            counter.feed(bytes(100_000))
        self.assertEqual(len(threads()), 1)
        self.assertEqual(counter.results.bytes, 100_000)

    def test_an_input_outlives_its_counter(self):
        opened = gpuhist.Counter().open_input("input")
        gc.collect()
        opened.feed(b"x")
        del opened
        self.assertEqual(len(threads()), 1)

    def test_results_outlive_what_made_them(self):
        with folder() as path:
            (path / "log").write_bytes(b"abc\n123\n")
            first = gpuhist.count(path / "log", buckets="letters").inputs[0]
            unit = gpuhist.units(path / "log", where="digit > 0").__next__()
        gc.collect()
        self.assertEqual((first.counts()[0], unit.line), (3, 2))

    def test_an_abandoned_iteration_leaves_no_thread(self):
        with folder() as path:
            (path / "log").write_bytes(b"1\n" * 1_000_000)
            next(iter(gpuhist.units(path / "log", where="digit > 0")))
        gc.collect()
        self.assertEqual(len(threads()), 1)

    def test_memory_does_not_grow_with_the_number_of_counts(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def many(times):
            for number in range(times):
                with gpuhist.Counter(buckets="bytes", threads=1) as counter:
                    counter.feed(data)
                repr(counter.results)
                counter.results.to_dict()

        data = text(100_000)
        many(50)  # what allocators and caches keep
        before = resident()
        many(300)
        self.assertLess(resident() - before, 8 << 20)

    def test_a_process_that_exits_with_an_open_counter_exits_normally(self):
        child = run_python("import gpuhist; c = gpuhist.Counter(window=9, on_window=lambda window: None); "
                           "c.feed(bytes(7)); s = gpuhist.windows('/etc/passwd', 1); next(s); print('end')")
        printed, errors = child.communicate(timeout=PATIENCE)
        self.assertEqual((printed, errors, child.returncode), ("end\n", "", 0))


if __name__ == "__main__":
    main()
