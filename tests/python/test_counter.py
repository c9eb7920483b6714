"""Counting what the program feeds."""

import array
import mmap
import threading
import unittest

from support import byte_counts, main, optional, text, threads

import gpuhist


class Feeding(unittest.TestCase):
    def counted(self, *parts, **options):
        with gpuhist.Counter(buckets="bytes", **options) as counter:
            for part in parts:
                counter.feed(part)
        return counter.results

    def test_counts_are_those_of_collections_counter(self):
        for size in (0, 1, 255, 65_535, 65_536, 1_000_003):
            with self.subTest(size=size):
                result = self.counted(text(size))
                self.assertEqual(result.counts(), byte_counts(text(size)))
                self.assertEqual((result.bytes, result.lines), (size, text(size).count(b"\n")))

    def test_every_object_with_the_buffer_protocol_is_counted(self):
        data = text(131_072)
        mapped = mmap.mmap(-1, len(data))
        mapped.write(data)
        for each in (data, bytearray(data), memoryview(data), memoryview(data).cast("I"), array.array("Q", data), mapped):
            with self.subTest(type=type(each)):
                self.assertEqual(self.counted(each).counts(), byte_counts(data))

    def test_numpy_arrays_of_any_type_are_counted_where_they_lie(self):
        numpy = optional("numpy")
        if numpy is None:
            self.skipTest("NumPy is not installed")
        values = numpy.arange(300_000, dtype=numpy.float64)
        self.assertEqual(self.counted(values).counts(), byte_counts(values.tobytes()))
        self.assertEqual(self.counted(values.reshape(300, 1000)).counts(), byte_counts(values.tobytes()))
        values.flags.writeable = False
        self.assertEqual(self.counted(values[1000:]).counts(), byte_counts(values[1000:].tobytes()))

    def test_memory_that_is_not_contiguous_is_refused(self):
        with self.assertRaises(BufferError):
            self.counted(memoryview(bytes(100))[::2])

    def test_texts_are_refused_with_a_type_error(self):
        with self.assertRaisesRegex(TypeError, "bytes-like"):
            self.counted("text")

    def test_cuts_do_not_change_the_counts(self):
        data = text(300_001)
        parts = [data[at : at + 977] for at in range(0, len(data), 977)]
        self.assertEqual(self.counted(*parts).counts(), self.counted(data).counts())

    def test_a_snapshot_has_everything_that_was_fed_before(self):
        with gpuhist.Counter(buckets="bytes") as counter:
            counter.feed(text(100_000))
            self.assertEqual(counter.snapshot().counts(), byte_counts(text(100_000)))
            counter.feed(text(5))
        self.assertEqual(counter.results.bytes, 100_005)


class Inputs(unittest.TestCase):
    def test_threads_feed_their_inputs_at_once(self):
        with gpuhist.Counter(buckets="bytes") as counter:
            inputs = [counter.open_input(f"input {number}") for number in range(4)]
            feeders = [threading.Thread(target=lambda each=each: [each.feed(text(200_000)) for _ in range(10)]) for each in inputs]
            for each in feeders:
                each.start()
            for each in feeders:
                each.join()
        self.assertEqual([each.name for each in counter.results.inputs], [f"input {number}" for number in range(4)])
        for each in counter.results.inputs:
            self.assertEqual(each.counts(), [10 * count for count in byte_counts(text(200_000))])

    def test_names_are_any_bytes(self):
        with gpuhist.Counter() as counter:
            for name in ("ä", b"\xff\xfe", "plain"):
                with counter.open_input(name) as opened:
                    opened.feed(b"x")
        self.assertEqual([each.name for each in counter.results.inputs], ["ä", "\udcff\udcfe", "plain"])

    def test_damage_of_a_compressed_input_is_in_the_result(self):
        with gpuhist.Counter() as counter:
            opened = counter.open_input("damaged", input_format="gzip")
            opened.feed(b"\x1f\x8b\x08\0 this is not deflate data" * 100)
            self.assertTrue(opened.failed)
        failed = counter.results.inputs[0]
        self.assertEqual((failed.complete, failed.failure), (False, "damaged"))
        with self.assertRaises(gpuhist.IncompleteError):
            counter.results.check()

    def test_an_exception_in_the_block_of_an_input_fails_this_input(self):
        with gpuhist.Counter() as counter:
            with self.assertRaises(KeyError), counter.open_input("failed") as opened:
                opened.feed(b"x")
                raise KeyError("cause")
        self.assertIn("KeyError", counter.results.inputs[0].error)

    def test_a_filter_passes_the_text_that_is_kept(self):
        kept = []
        with gpuhist.Counter(each="line", drop_if="digit > 0.5") as counter:
            with counter.open_input("log", on_kept=kept.append) as opened:
                opened.feed(b"abc\n12345\ndef\n")
        self.assertEqual(b"".join(kept), b"abc\ndef\n")


class Events(unittest.TestCase):
    def test_windows_units_and_alerts_are_reported(self):
        windows, units, alerts = [], [], []
        with gpuhist.Counter(
            buckets=["classes", "bytes"], window=1000, each="line", where="digit > 0.9",
            alert_if="digit > 0.9", on_window=windows.append, on_unit=units.append, on_alert=alerts.append,
        ) as counter:
            counter.feed(b"a" * 999 + b"\n" + b"1" * 999 + b"\n")
        self.assertEqual([window.counts("bytes")[ord("1")] for window in windows], [0, 999])
        self.assertEqual([(unit.number, unit.offset, unit.bytes) for unit in units], [(2, 1000, 1000)])
        self.assertEqual([(alert.subject, alert.window) for alert in alerts], [("window", 1)])
        self.assertEqual(counter.results.units.selected, 1)

    def test_an_exception_of_a_callback_is_raised_by_finish(self):
        def failing(window):
            raise LookupError(window.index)

        with self.assertRaises(LookupError):
            with gpuhist.Counter(window=10, on_window=failing) as counter:
                counter.feed(b"x" * 10)
        self.assertEqual(len(threads()), 1)


if __name__ == "__main__":
    main()
