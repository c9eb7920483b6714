"""Counting files: whole, by windows, by units, and with a filter."""

import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import tarfile
import unittest

from support import byte_counts, folder, main, text, threads

import gpuhist


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(folder())

    def file(self, name, data):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_bytes(data)
        return self.folder / name

    def test_paths_of_every_kind_are_counted(self):
        path = self.file("log", text(300_000))
        for each in (path, str(path), os.fsencode(path), [path], (str(path),), iter([path])):
            with self.subTest(type=type(each)):
                result = gpuhist.count(each, buckets="bytes")
                self.assertEqual(result.counts(), byte_counts(text(300_000)))
                self.assertEqual((result.status, len(result.inputs)), ("complete", 1))

    def test_names_that_are_not_utf8_are_counted_and_restored(self):
        path = os.path.join(os.fsencode(self.folder), b"\xff.log")
        pathlib.Path(os.fsdecode(path)).write_bytes(b"abc")
        self.assertEqual(os.fsencode(gpuhist.count(path).inputs[0].name), path)

    def test_compressed_files_and_archives_are_counted(self):
        data = text(200_000)
        for name, pack in (("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress)):
            with self.subTest(name=name):
                result = gpuhist.count(self.file(name, pack(data)), buckets="bytes")
                self.assertEqual(result.counts(), byte_counts(data))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(self.file("member", data), "member")
        result = gpuhist.count(self.file("a.tar.gz", packed.getvalue()), buckets="bytes")
        self.assertEqual([each.counts() for each in result.inputs], [byte_counts(data)])

    def test_an_input_that_is_not_what_its_name_promises_has_a_notice(self):
        result = gpuhist.count([self.file("text.gz", b"a line\n"), self.file("log", b"a line\n")])
        found = [[(each.kind, each.text) for each in counted.notices] for counted in result.inputs]
        self.assertEqual(found, [[("name_differs", "is named .gz but holds text; it is counted as text")], []])
        self.assertTrue(result.complete)

    def test_trees_are_counted_by_patterns(self):
        self.file("tree/a.log", b"aaa")
        self.file("tree/b.txt", b"bb")
        result = gpuhist.count(self.folder / "tree", include="*.log")
        self.assertEqual([(pathlib.Path(each.name).name, each.bytes) for each in result.inputs], [("a.log", 3)])
        self.assertEqual(gpuhist.count(self.folder / "tree", exclude=["*.log"]).bytes, 2)

    def test_a_missing_file_raises_nothing_and_the_others_are_counted(self):
        result = gpuhist.count([self.folder / "missing", self.file("log", b"abc")])
        self.assertEqual((result.status, result.bytes, result.inputs[0].failure), ("incomplete", 3, "unreadable"))
        with self.assertRaisesRegex(gpuhist.IncompleteError, "missing: No such file"):
            result.check()

    def test_a_condition_that_holds_is_the_status(self):
        alerts = []
        result = gpuhist.count(self.file("log", b"123\n"), fail_if="digit > 0.5", on_alert=alerts.append)
        self.assertEqual(result.status, "condition_held")
        self.assertEqual([(alert.subject, alert.values) for alert in alerts], [("input", {"digit": 0.75})])

    def test_an_alert_has_the_first_line_that_matches_if_text_is_shown(self):
        alerts = []
        path = self.file("log", b"fine\nno \xff disk\nno disk\n")
        gpuhist.count(path, match=["disk=disk"], alert_if="match(disk) > 1", show_text=True, on_alert=alerts.append)
        line = alerts[0].line
        self.assertEqual((line.input, line.line, line.offset, line.text), (str(path), 2, 5, b"no \xff disk"))

    def test_a_baseline_is_compared_with(self):
        usual = gpuhist.count(self.file("usual", text(50_000)), byte_counts=True)
        result = gpuhist.count(self.file("odd", bytes(50_000)), baseline=usual, measures=["jsd"])
        self.assertGreater(result.measure("jsd"), 0.5)
        self.assertEqual(result.measurement("jsd").unit, "bits")

    def test_progress_is_reported_to_a_callable_and_an_exception_of_it_ends_the_count(self):
        def failing(now):
            raise InterruptedError(now.text_bytes)

        os.mkfifo(self.folder / "pipe")
        writer = os.open(self.folder / "pipe", os.O_RDWR)  # so that the count waits for more
        try:
            with self.assertRaises(InterruptedError):
                gpuhist.count(self.folder / "pipe", progress=failing)
        finally:
            os.close(writer)
        self.assertEqual(len(threads()), 1)

    def test_windows_are_iterated(self):
        path = self.file("log", text(100_000))
        stream = gpuhist.windows(path, 30_000, buckets="bytes")
        found = [(window.first_offset, window.end_offset, window.counts("bytes")) for window in stream]
        expected = [(at, min(at + 30_000, 100_000)) for at in range(0, 100_000, 30_000)]
        self.assertEqual(found, [(at, end, byte_counts(text(100_000)[at:end])) for at, end in expected])
        self.assertEqual(stream.results.counts(), byte_counts(text(100_000)))

    def test_windows_of_lines_overlap_and_are_of_each_input(self):
        paths = [self.file("a", b"1\n2\n3\n"), self.file("b", b"4\n")]
        stream = gpuhist.windows(paths, window="2lines", step="1lines", per_input=True)
        found = [(window.first_offset, window.end_offset) for window in stream]
        self.assertEqual(found, [(0, 4), (2, 6), (4, 6), (0, 2)])
        with self.assertRaisesRegex(TypeError, "window is required"):
            gpuhist.windows(paths)

    def test_units_are_iterated_with_the_values_of_the_condition(self):
        path = self.file("log", b"abc\n123\nx\n45\n")
        found = [(unit.line, unit.values["digit"]) for unit in gpuhist.units(path, where="digit > 0.5")]
        self.assertEqual(found, [(2, 0.75), (4, 2 / 3)])

    def test_many_units_arrive_in_order_although_the_consumer_is_slower(self):
        path = self.file("log", b"1\n" * 20_000)
        self.assertEqual([unit.number for unit in gpuhist.units(path, where="digit > 0")], list(range(1, 20_001)))

    def test_an_iteration_that_is_closed_leaves_no_thread(self):
        path = self.file("log", b"1\n" * 1_000_000)
        with gpuhist.units(path, where="digit > 0") as stream:
            self.assertEqual(next(stream).number, 1)
            with self.assertRaises(RuntimeError):
                stream.results
        self.assertEqual(len(threads()), 1)
        self.assertEqual(list(stream), [])

    def test_an_invalid_condition_is_raised_by_the_iteration(self):
        with self.assertRaises(gpuhist.InvalidArgumentError):
            list(gpuhist.units(self.file("log", b"1\n"), where="digit >"))

    def test_a_filter_writes_to_a_path_a_file_and_a_callable(self):
        path, parts, memory = self.file("log", b"abc\n123\ndef\n"), [], io.BytesIO()
        gpuhist.filter(path, self.folder / "out", drop_if="digit > 0.5")
        with open(self.folder / "out2", "wb") as file:
            file.write(b"head\n")
            gpuhist.filter(path, file, drop_if="digit > 0.5")
        gpuhist.filter(path, memory, keep_if="digit > 0.5")
        result = gpuhist.filter(path, parts.append, drop_if="digit > 0.5")
        self.assertEqual((self.folder / "out").read_bytes(), b"abc\ndef\n")
        self.assertEqual((self.folder / "out2").read_bytes(), b"head\nabc\ndef\n")
        self.assertEqual((memory.getvalue(), b"".join(parts)), (b"123\n", b"abc\ndef\n"))
        self.assertEqual((result.bytes, result.units.selected), (12, 1))

    def test_a_filter_by_a_preset_drops_what_the_preset_selects(self):
        memory = io.BytesIO()
        gpuhist.filter(self.file("log", b"words of a line\n1234 5678\n"), memory, preset="nemo")
        self.assertEqual(memory.getvalue(), b"words of a line\n")
        with self.assertRaisesRegex(ValueError, "either keep_if, or drop_if or preset, is required"):
            gpuhist.filter(self.file("log", b""), memory, preset="nemo", keep_if="digit > 0")

    def test_an_exception_of_the_receiver_of_a_filter_is_raised(self):
        with self.assertRaises(ZeroDivisionError):
            gpuhist.filter(self.file("log", b"a\n"), lambda _: 1 / 0, keep_if="lower > 0")

    def test_a_field_of_jsonl_is_measured(self):
        lines = [json.dumps({"text": value}) for value in ("abc", "123")]
        path = self.file("log.jsonl", "\n".join(lines).encode() + b"\n")
        found = gpuhist.units(path, "line", "digit == 1", jsonl_field="text")
        self.assertEqual([unit.number for unit in found], [2])


if __name__ == "__main__":
    main()
