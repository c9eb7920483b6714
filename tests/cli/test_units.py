"""Units (--each): lines, records, parts, inputs and windows that a condition selects, a formula ranks, or whose values are
counted; compared with an oracle that splits the text in Python."""

import base64
import gzip
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import unittest

from support import (
    ENGINE,
    GPUHIST,
    PATIENCE,
    SANITIZED,
    CommandTest,
    Running,
    counts_of,
    feed,
    main,
    noise,
    oracle,
    run,
    sampled,
    tar,
    text,
    zstd,
)

JSONL = ("--format", "jsonl", "--buckets", "letters,classes")


def split_at(data, delimiter):
    pieces = data.split(delimiter)
    return [each + delimiter for each in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def split_parts(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def split_lines(data):
    return split_at(data, b"\n")


def digits(data):
    return sum(data.count(digit) for digit in b"0123456789")


def unit_lines(units, first_number=1, first_line=1, first_offset=0):
    """Units with their number, line and offset."""
    offset, line = first_offset, first_line
    for number, each in enumerate(units, first_number):
        yield number, line, offset, each
        offset += len(each)
        line += each.count(b"\n")


class UnitTest(CommandTest):
    def assert_units(self, reported, expected, name):
        """These units of an input are reported. `expected`: number, line, offset and text of each."""
        expected = list(expected)
        self.assertEqual(
            [(each["unit"], each["line"], each["offset"], each["bytes"]) for each in reported],
            [(number, line, offset, len(content)) for number, line, offset, content in expected],
        )
        for each, (_, _, _, content) in zip(reported, expected):
            self.assertEqual(each["name"], str(name))
            wanted = oracle(content)
            wanted["buckets"] = {scheme: wanted["buckets"][scheme] for scheme in ("letters", "classes")}
            self.assertEqual(counts_of(each), wanted)

    def assert_selected(self, ended, units, holds, name, verified=True):
        """A run over one input reports the units for which it holds, and their number."""
        selected = [each for each in unit_lines(units) if holds(each[3])]
        reported = ended.documents_of("unit")
        self.assert_units(reported, selected, name)
        self.assertEqual({each["verified"] for each in reported} - {verified}, set())
        found = ended.result["units"]
        self.assertEqual((found["seen"], found["bytes"]), (len(units), sum(map(len, units))))
        self.assertEqual((found["selected"], found["selected_bytes"]), (len(selected), sum(len(each[3]) for each in selected)))
        self.assert_counted(ended, b"".join(units))


class Selected(UnitTest):
    DATA = text(60_000, 3) + b"1234\n\n99 99\r\nlast 7"

    def test_lines_of_an_input_of_any_format_are_selected_for_all_chunk_sizes_and_threads(self):
        units = split_lines(self.DATA)
        holds = lambda each: digits(each) / len(each) > 0.3
        half = len(self.DATA) // 2
        inputs = {
            "raw": (self.DATA, True),
            "zst": (zstd(self.DATA), False),
            "frames.zst": (b"".join(zstd(part) for part in split_parts(self.DATA, 7001)), False),
            "gz": (gzip.compress(self.DATA[:half]) + gzip.compress(self.DATA[half:]), False),
        }
        cases = [(suffix, threads, chunk) for suffix, threads, chunk in itertools.product(inputs, "12", (None, "1", "3"))
                 if not chunk or (threads == "1" and ENGINE != "cuda")]  # fmt: skip
        for suffix, threads, chunk in sampled(cases, 5):
            content, verified = inputs[suffix]
            path = self.file(f"a.{suffix}", content)
            options = (*JSONL, "--each", "line", "--where", "digit > 0.3", "--threads", threads)
            options += ("--chunk-size", chunk) if chunk else ()
            with self.subTest(suffix=suffix, threads=threads, chunk=chunk):
                ended = run(*options, path)
                self.assert_selected(ended, units, holds, path, verified)
                for each in ended.documents_of("unit"):
                    self.assertEqual(list(each["values"]), ["digit"])
                self.assert_selected(run(*options, stdin_bytes=content), units, holds, "(standard input)", verified)

    def test_records_and_parts_are_selected(self):
        data = b"a\0b12\n\0\0" * 500 + b"end\n1\n"
        path = self.file("a", data)
        for options, units in (
            (("record",), split_at(data, b"\0")),
            (("record", "--delimiter", "1"), split_at(data, b"1")),
            (("record", "--delimiter", r"\n"), split_at(data, b"\n")),
            (("record", "--delimiter", r"\x62"), split_at(data, b"b")),
            (("1B",), split_parts(data, 1)),
            (("7",), split_parts(data, 7)),
            (("1KiB",), split_parts(data, 1024)),
        ):
            with self.subTest(options=options):
                ended = run(*JSONL, "--each", *options, "--where", "count(digit) >= 2 || bytes == 1", path)
                self.assert_selected(ended, units, lambda each: digits(each) >= 2 or len(each) == 1, path)

    def test_words_and_measures_are_those_of_the_unit(self):
        path = self.file("a", self.DATA)
        units = split_lines(self.DATA)
        ended = run(*JSONL, "--each", "line", "--where", "words == 2 && entropy > 0", "--measures", "distinct", path)
        self.assert_selected(ended, units, lambda each: len(each.split()) == 2 and len(set(each)) > 1, path)
        for each in ended.documents_of("unit"):
            self.assertEqual(each["values"]["words"], 2)
            content = self.DATA[each["offset"] :][: each["bytes"]]
            self.assertEqual(each["measures"]["distinct"]["value"], len(set(content)))

    def test_upper_case_counts_as_lower_case_in_units_too(self):
        path = self.file("a", b"ABC\nabc\n123\nAbab\n")
        for each, unit in (("line", [b"ABC\n", b"abc\n", b"Abab\n"]), ("input", [b"ABC\nabc\n123\nAbab\n"])):
            with self.subTest(each=each):
                ended = run(*JSONL, "--ignore-case", "--each", each, "--where", "lower > 0.5", path)
                self.assertEqual([found["bytes"] for found in ended.documents_of("unit")], [len(one) for one in unit])
                for found, content in zip(ended.documents_of("unit"), unit):
                    self.assert_counts(found, content, ignore_case=True)
        measured = {}
        for each in ("line", "input"):
            one = self.file("one", b"AaAa")
            (found,) = run(*JSONL, "--ignore-case", "--each", each, "--where", "entropy >= 0", one).documents_of("unit")
            measured[each] = found["values"]["entropy"]
        self.assertEqual(measured["line"], measured["input"])

    def test_units_of_several_inputs_and_of_members_do_not_continue_in_the_next(self):
        contents = {f"{i}.log": text(5000 + i, i) + b"no end 1" for i in range(4)}
        paths = [self.file(name, content) for name, content in contents.items()]
        names = dict(zip(map(str, paths), contents.values()))
        archive = self.file("all.tar.gz", gzip.compress(tar(contents)))
        for arguments, expected in ((paths, names), (["-r", self.folder, "--exclude", "*.gz"], names), ([archive], None)):
            for threads in "12":
                ended = run(*JSONL, "--each", "line", "--where", "digit > 0.3", "-T", threads, *arguments)
                self.assertEqual(ended.status, 0, ended)
                if expected is None:
                    reported = [each["name"] for each in ended.documents_of("input")]
                    expected = dict(zip(reported, contents.values()))
                seen = 0
                for name, content in expected.items():
                    units = [each for each in ended.documents_of("unit") if each["name"] == name]
                    self.assert_units(units, [each for each in unit_lines(split_lines(content)) if digits(each[3]) / len(each[3]) > 0.3], name)
                    seen += len(split_lines(content))
                self.assertEqual(ended.result["units"]["seen"], seen)

    def test_many_small_files_have_the_same_totals_with_and_without_units(self):
        folder = self.folder / "many"
        folder.mkdir()
        contents = [text(i * 7, i) for i in range(300)]
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
        plain = run("--format", "json", "-r", folder)
        ended = run("--format", "json", "--each", "line", "--top", "1:bytes", "-r", folder)
        lines = [each for content in contents for each in split_lines(content)]
        documents = [json.loads(each.stdout) for each in (plain, ended)]
        found = documents[1].pop("units")
        self.assertEqual(counts_of(documents[0]), counts_of(documents[1]))
        self.assertEqual((found["seen"], found["bytes"]), (len(lines), sum(map(len, lines))))
        self.assertEqual(found["top"][0]["value"], max(map(len, lines)))

    def test_whole_inputs_are_units(self):
        paths = [self.file(name, content) for name, content in (("a", b"123"), ("b", b"x\n"), ("c", b""), ("d.zst", zstd(b"45\n")))]
        ended = run(*JSONL, "--each", "input", "--where", "digit > 0.5", "--fail-if", "upper > 0", *paths)
        self.assertEqual(ended.status, 0, ended)
        units = ended.documents_of("unit")
        self.assertEqual([(each["name"], each["bytes"], each["verified"]) for each in units], [(str(paths[0]), 3, True), (str(paths[3]), 3, True)])
        self.assertEqual((ended.result["units"]["seen"], ended.result["units"]["selected"]), (4, 2))
        self.assertEqual(run(*JSONL, "--each", "input", "--where", "digit > 0.5", "--fail-if", "digit > 0.9", *paths).status, 3)

    def test_windows_are_units(self):
        path = self.file("a", b"1" * 10 + b"a" * 10 + b"2" * 3)
        ended = run(*JSONL, "--window", "10B", "--each", "window", "--where", "digit > 0.5", "--top", "1:lower", path)
        self.assertEqual([(each["unit"], each["offset"], each["bytes"]) for each in ended.documents_of("unit")], [(0, 0, 10), (2, 20, 3)])
        self.assertEqual(ended.result["units"]["top"][0]["unit"], 1)
        self.assertEqual(len(ended.documents_of("window")), 3)


class Frames(UnitTest):
    """Frames of one archive are decoded and measured at the same time: each is long enough to be a group of its own."""

    OPTIONS = (*JSONL, "--each", "line", "--utf8", "--where", "digit > 0.25", "--top", "7:words + bytes", "--distribution-of", "count(digit)")

    def setUp(self):
        super().setUp()
        chosen = random.Random(8)
        lines = []
        for number in range(14_000):
            line = base64.b64encode(chosen.randbytes(chosen.randrange(150)))
            lines.append(line + chosen.choice(("", " ", " größe 検索 😀 ")).encode() + chosen.choice((b"", b"\xe2\x82", b"\xff")) + b"\n")
        lines[5000] = base64.b64encode(noise(300_000)) + b"\n"  # longer than three frames
        self.data = b"".join(lines) + b"last"
        self.frames = [zstd(part, "-1") for part in split_parts(self.data, 110_003)]

    def found(self, ended):
        """The units of a run, without what depends on the verification of frames."""
        reported = [(each["unit"], each["line"], each["offset"], each["bytes"], each["values"]) for each in ended.documents_of("unit")]
        summary = ended.result["units"]
        for each in summary["top"]:
            del each["name"], each["verified"]
        return reported, summary, [each.get("utf8") for each in ended.documents_of("input")]

    def test_their_units_are_those_of_the_text(self):
        expected = self.found(run(*self.OPTIONS, self.file("a.log", self.data)))
        self.assertGreater(len(expected[0]), 100)
        path = self.file("a.zst", b"".join(self.frames))
        for options in (("-T", "1"), ("-T", "2"), ("-T", "5", "--chunk-size", "10000"), ("-T", "5", "--memory-limit", "64MiB")):
            with self.subTest(options=options):
                self.assertEqual(self.found(run(*self.OPTIONS, *options, path)), expected)

    def test_nothing_after_damage_is_reported_unless_it_is_skipped(self):
        hurt = bytearray(self.frames[7])
        hurt[-2] ^= 1  # the checksum
        path = self.file("hurt.zst", b"".join([*self.frames[:7], bytes(hurt), *self.frames[8:]]))
        for options in ((), ("--skip-damage",)):
            expected = self.found(run(*self.OPTIONS, *options, "--threads", "1", path))
            seen = expected[1]["bytes"]
            self.assertEqual(seen, len(self.data) if options else 8 * 110_003)
            with self.subTest(options=options):
                ended = run(*self.OPTIONS, *options, "--threads", "5", path)
                self.assertEqual(ended.status, 1)
                self.assertEqual(self.found(ended), expected)

    def test_a_filter_writes_their_units_in_order(self):
        path = self.file("a.zst", b"".join(self.frames))
        kept = b"".join(each for each in split_lines(self.data) if digits(each) / len(each) > 0.14)
        for threads in ("2", "5"):
            with self.subTest(threads=threads):
                ended = run("filter", "-q", "--keep-if", "digit > 0.14", "--threads", threads, path, engine=None)
                self.assertEqual((ended.status, ended.stdout == kept), (0, True))

    def test_parts_of_a_plain_file_are_measured_at_the_same_time(self):
        data = b"".join(split_parts(self.data, 700_001)[::-1]) + self.data * 5 + base64.b64encode(noise(6_000_000)) + self.data
        path = self.file("a.log", data)
        expected = self.found(run(*self.OPTIONS, "-T", "1", path))
        self.assertEqual(expected[1]["bytes"], len(data))
        for threads in ("2", "5"):
            with self.subTest(threads=threads):
                self.assertEqual(self.found(run(*self.OPTIONS, "-T", threads, path)), expected)
        kept = b"".join(each for each in split_lines(data) if digits(each) / len(each) > 0.14)
        for threads in ("1", "2", "5"):
            with self.subTest(filtered=threads):
                ended = run("filter", "-q", "--keep-if", "digit > 0.14", "--threads", threads, path, engine=None)
                self.assertEqual((ended.status, ended.stdout == kept), (0, True))

    def test_many_selected_units_of_many_frames_are_reported_in_order(self):
        data = b"\n" * 20_000
        frames = [zstd(data, "-1") + self.frames[at] for at in range(6)]
        path = self.file("a.zst", b"".join(frames))
        whole = b"".join(data + split_parts(self.data, 110_003)[at] for at in range(6))
        ended = run(*JSONL, "--each", "line", "--where", "bytes == 1", "--top", "2:bytes", "--threads", "3", path)
        offsets = [each["offset"] for each in ended.documents_of("unit")]
        self.assertEqual(offsets, [at for _, _, at, each in unit_lines(split_lines(whole)) if each == b"\n"])


class Ranked(UnitTest):
    def test_equal_values_have_the_order_of_inputs_and_units(self):
        contents = [b"aa\nb\ncc\n" * 300, b"dd\n" * 20_000, b"x\nee\n"]
        plain = [self.file(f"{i}", content) for i, content in enumerate(contents)]
        packed = [self.file(f"{i}.zst", zstd(content)) for i, content in enumerate(contents)]
        archives = [self.file(f"{i}.tar.zst", zstd(tar({"m": content}))) for i, content in enumerate(contents)]
        for paths in (plain, packed, plain[::-1], packed[::-1], archives, archives[::-1]):
            ended = run(*JSONL, "--each", "line", "--top", "700:bytes", "-T", "2", *paths)
            given = [str(path) for path in paths]  # lines of inputs are in the order in which the inputs were finished
            names = sorted((each["name"] for each in ended.documents_of("input")), key=lambda name: given.index(name.removesuffix("/m")))
            order = [contents[int(os.path.basename(path)[0])] for path in map(str, paths)]
            ranked = [(-len(each), i, number) for i, content in enumerate(order) for number, _, _, each in unit_lines(split_lines(content))]
            expected = [(-value, names[i], number) for value, i, number in sorted(ranked)[:700]]
            self.assertEqual([(each["value"], each["name"], each["unit"]) for each in ended.result["units"]["top"]], expected)

    def test_the_distribution_has_the_values_of_all_units(self):
        data = text(50_000, 5) + b"\n\n"
        path = self.file("a", data)
        ended = run("--format", "json", "--each", "line", "--distribution-of", "bytes / words", path)
        found = json.loads(ended.stdout)["units"]["distribution"]
        values = [len(each) / len(each.split()) for each in split_lines(data) if each.split()]
        self.assertEqual((found["units"], found["without_value"]), (len(values), len(split_lines(data)) - len(values)))
        self.assertEqual((found["lowest"], found["highest"]), (min(values), max(values)))
        self.assertEqual(sum(each["units"] for each in found["bins"]), len(values))
        for each in found["bins"]:
            self.assertEqual(each["units"], sum(each["from"] <= value < each["to"] for value in values))

    def test_quantiles_are_values_of_the_nearest_rank_exact_for_small_whole_numbers(self):
        data = text(300_000, 6) + b"".join(b"x" * length + b"\n" for length in (500, 3_000, 70_000, 1_000_000))
        path = self.file("a", data)
        lengths = sorted(len(each) for each in split_lines(data))
        for options, percents in ((), (50, 90, 99, 99.9)), (("--quantiles", "p1,25,99.99,100"), (1, 25, 99.99, 100)):
            for each in ((), ("--threads", "3", "--chunk-size", "4KiB")):
                ended = run("--format", "json", "--each", "line", "--distribution-of", "bytes", *options, *each, path)
                found = json.loads(ended.stdout)["units"]["distribution"]["quantiles"]
                self.assertEqual(list(found), [f"p{percent:g}" for percent in percents])
                for percent, value in zip(percents, found.values()):
                    expected = lengths[math.ceil(round(percent * len(lengths), 6) / 100) - 1]
                    self.assertTrue(expected - expected / 256 <= value <= expected, (percent, value, expected))
                    if expected <= 256:
                        self.assertEqual(value, expected)

    def test_a_quantile_that_is_no_percent_is_an_error_that_names_it(self):
        for value in ("0", "100.1", "p", "x", "50,,99", "nan", "-1"):
            ended = run("--each", "line", "--distribution-of", "bytes", "--quantiles=" + value, self.file("a", b"1\n"))
            self.assertEqual((ended.status, ended.stdout), (2, b""))
            self.assertIn("--quantiles", ended.stderr)
        ended = run("--each", "line", "--quantiles", "50", self.file("a", b"1\n"))
        self.assertEqual(ended.status, 2)
        self.assertIn("requires --distribution-of", ended.stderr)


class Formats(UnitTest):
    def setUp(self):
        super().setUp()
        self.path = self.file("a.txt", b"abc 12\n\n999\nxx\n")

    def test_the_table_has_a_line_for_each_selected_unit_and_parts_for_the_others(self):
        ended = run("--each", "line", "--where", "digit>0.1", "--top", "2:bytes", "--distribution-of", "digit", "a.txt", cwd=self.folder)
        printed = ended.stdout.decode()
        self.assertTrue(printed.startswith("a.txt:1: offset 0, 7 bytes, digit 0.285714\na.txt:3: offset 8, 4 bytes, digit 0.75\nbucket "))
        for part in (
            "each line  units  bytes    share\nseen           4     15\nselected       2     11  50.00 %\n\n",
            "top    line  offset  bytes  bytes\na.txt     1       0      7      7\na.txt     3       8      4      4\n\n",
            "distribution of digit\n   from  to below  units    share\n      0         0      2  50.00 %  █",
            "lowest 0, highest 0.75, mean 0.258929, sum 1.03571\np50 0, p90 0.75, p99 0.75, p99.9 0.75\n",
        ):
            self.assertIn(part, printed)

    def test_csv_and_prometheus_have_rows_for_units(self):
        options = ("--each", "line", "--top", "2:bytes", "--distribution-of", "digit", "a.txt")
        printed = run("--format", "csv", *options, cwd=self.folder).stdout.decode()
        self.assertIn("units,,line,seen,4,\nunits,,line,seen_bytes,15,\ntop,a.txt,bytes,1,0,7\ntop,a.txt,bytes,3,8,4\n", printed)
        self.assertIn("distribution,,digit,0..0,2,0.5\ndistribution,,digit,0.28125..0.3125,1,0.25\n", printed)
        self.assertIn("quantile,,digit,p50,4,0\nquantile,,digit,p90,4,0.75\n", printed)
        printed = run("--format", "prometheus", *options, cwd=self.folder).stdout.decode()
        self.assertIn('gpuhist_units{each="line",which="seen"} 4\n', printed)
        self.assertIn('gpuhist_top_unit{formula="bytes",input="a.txt",unit="3"} 4\n', printed)
        self.assertIn('gpuhist_distribution_units{formula="digit",from="0.28125",to="0.3125"} 1\n', printed)
        self.assertIn('gpuhist_distribution_quantile{formula="digit",percent="99.9"} 0.75\n', printed)

    def test_a_report_in_a_file_has_the_units_and_the_result(self):
        direct = run(*JSONL, "--each", "line", "--where", "digit > 0", self.path)
        run(*JSONL, "--each", "line", "--where", "digit > 0", "-o", self.folder / "out", self.path)
        written = [json.loads(line) for line in (self.folder / "out").read_bytes().splitlines()]
        self.assertEqual([{**each, "run": ""} for each in written], [{**each, "run": ""} for each in direct.documents])


class Failing(UnitTest):
    def hurt(self):
        parts = [text(10_000, i) for i in range(3)]
        frames = [zstd(part) for part in parts]
        damaged = bytearray(frames[1])
        damaged[-2] ^= 1  # the checksum
        return parts, self.file("hurt.zst", frames[0] + bytes(damaged) + frames[2])

    def test_units_before_damage_are_reported(self):
        parts, path = self.hurt()
        ended = run(*JSONL, "--each", "line", "--where", "bytes > 0", path)
        self.assertEqual(ended.status, 1)
        self.assertIs(ended.documents_of("input")[0]["complete"], False)
        self.assert_units(ended.documents_of("unit"), unit_lines(split_lines(parts[0] + parts[1])), path)

    def test_units_do_not_continue_across_skipped_damage(self):
        parts, path = self.hurt()
        for threads in "12":
            ended = run(*JSONL, "--each", "line", "--where", "bytes > 0", "--skip-damage", "-T", threads, path)
            self.assertEqual(ended.status, 1)
            before = list(unit_lines(split_lines(parts[0] + parts[1])))
            after = unit_lines(split_lines(parts[2]), len(before) + 1, 1 + (parts[0] + parts[1]).count(b"\n"), 20_000)
            self.assert_units(ended.documents_of("unit"), [*before, *after], path)

    def test_a_reader_that_closes_the_pipe_ends_the_run(self):
        path = self.file("a.log", text(2_000_000))
        with Running(*JSONL, "--each", "line", "--where", "bytes > 0", path, stdout=subprocess.PIPE) as running:
            running.process.stdout.readline()
            running.process.stdout.close()
            self.assertEqual(running.process.wait(PATIENCE), -signal.SIGPIPE)

    def test_a_signal_ends_the_run_with_a_result_of_what_was_read(self):
        with Running(*JSONL, "--each", "line", "--where", "bytes > 0", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [b"one\ntwo\nthr"])
            seen = [json.loads(running.process.stdout.readline()) for _ in range(2)]  # while the stream continues
            running.process.send_signal(signal.SIGINT)
            seen += [json.loads(line) for line in running.process.stdout]
            self.assertEqual(running.finish().status, -signal.SIGINT)
        self.assertEqual([each["bytes"] for each in seen if each["kind"] == "unit"], [4, 4, 3])
        self.assertEqual((seen[-1]["bytes"], seen[-1]["units"]["seen"]), (11, 3))

    def test_text_passes_through_unchanged_while_units_are_reported_elsewhere(self):
        data = text(300_000, 8)
        units = split_lines(data)
        given_to = (("text", data), ("text", zstd(data)), ("raw", zstd(data)))
        for (mode, given), is_named in sampled(itertools.product(given_to, (True, False)), 2):
            name = self.file("given", given) if is_named else None
            report = self.folder / "report"
            options = (*JSONL, f"--pass-through={mode}", "-o", report, "--each", "line", "--where", "digit > 0.3")
            with self.subTest(mode=mode, name=name):
                ended = run(*options, name) if name else run(*options, stdin_bytes=given)
                self.assertEqual(ended.status, 0, ended)
                self.assertEqual(ended.stdout, data if mode == "text" else given)
                ended.stdout = report.read_bytes()
                self.assert_units(ended.documents_of("unit"), [each for each in unit_lines(units) if digits(each[3]) / len(each[3]) > 0.3], name or "(standard input)")

    @unittest.skipIf(SANITIZED or ENGINE != "host", "a sanitizer or a device has memory of its own")
    def test_millions_of_selected_units_need_little_memory(self):
        measured = "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:]).returncode\nprint(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
        data = b"\n" * 1_000_000
        for given in (self.file("plain", data), self.file("packed", zstd(data))):
            command = [sys.executable, "-c", measured, GPUHIST, "--engine", "host", "--memory-limit", "64MiB", "--each", "line", "--where", "bytes == 1", given]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
                lines = sum(each.startswith(os.fsencode(given)) for each in running.stdout)
                status, kilobytes = map(int, running.stderr.read().split())
            self.assertEqual((lines, status), (1_000_000, 0))
            self.assertLess(kilobytes, (64 + 30) << 10)

    def peak_of(self, *arguments):
        """The peak memory of a run, in KiB, as the system reports it for a process that starts no other."""
        measured = "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\nprint(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        ended = subprocess.run([sys.executable, "-c", measured, GPUHIST, *arguments], stdout=subprocess.PIPE, check=True)
        status, kilobytes = map(int, ended.stdout.split())
        self.assertEqual(status, 0, arguments)
        return kilobytes

    @unittest.skipIf(SANITIZED or ENGINE != "host", "a sanitizer or a device has memory of its own")
    def test_what_many_threads_hold_of_units_is_within_the_memory_limit(self):
        block = b"".join(b"%d words in line %d %s\n" % (i * 7919 % 1_000_003, i, b"and more " * 20) for i in range(10_000))
        plain = self.file("plain", block * 30)
        packed = self.file("packed", zstd(block) * 30)
        limit = ("--memory-limit", "64MiB", "-T", "16", "-q")
        all_units = ("--each", "line", "--where", "bytes > 0", "--format", "jsonl")
        filters = (("filter", "--keep-if", "bytes > 0"), ("filter", "--drop-if", "bytes > 0", "--result", "/dev/null"))
        for path, options in sampled(itertools.product((plain, packed), (*filters, (*all_units, "-b", "bytes"))), 2):
            with self.subTest(path=path, options=options):
                self.assertLess(self.peak_of(*options, *limit, path), (64 + 30) << 10, (options, path))


class Usage(UnitTest):
    def test_invalid_combinations_of_options_are_refused(self):
        path = self.file("a", b"abc")
        for arguments, *words in (
            (["--each", "line", "--where", "digit > 0", "--format", "csv"], "--format: csv ", "--where", "table or jsonl"),
            (["--where", "digit > 0"], "--where", "requires --each"),
            (["--top", "3:bytes"], "--top", "requires --each"),
            (["--distribution-of", "bytes"], "--distribution-of", "requires --each"),
            (["--each", "line", "--delimiter", "x"], "--delimiter", "requires --each record"),
            (["--each", "window"], "--each", "requires --window"),
            (["--fail-if", "words > 3"], "--fail-if: words are counted for the units of --each only\n    words > 3\n    ^\n"),
            (["--each", "line", "--fail-if", "words > 3"], "--fail-if: words", "    ^\n"),
            (["--each", "window", "--window", "1KiB", "--where", "words > 3"], "--where: words are counted in lines, records, parts and inputs only", "    ^\n"),
            (["--each", "line", "--where", "conditional_entropy > 3"], "--where: conditional_entropy", "    ^\n"),
            (["--each", "line", "--where", "jsd > 3"], "--where", "--baseline"),
            (["--each", "words"], "--each", "is no unit"),
            (["--each", "0"], "--each", "is no unit"),
            (["--each", "record", "--delimiter", "ab"], "--delimiter", "not one byte"),
            (["--each", "record", "--delimiter", r"\x41;b=c"], "--delimiter", "not one byte"),
            (["--each", "record", "--delimiter", ""], "--delimiter", "not one byte"),
            (["--each", "line", "--top", "0:bytes"], "--top", "1000000"),
            (["--each", "line", "--top", "3:"], "--top"),
            (["--each", "line", "--top", "3:bytes > 3"], "--top"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments, path), *words)

    def test_an_earlier_result_has_no_units_to_rank(self):
        result = self.file("r.json", run("--byte-counts", "--format", "json", self.file("a", b"abc")).stdout)
        self.assert_usage_error(run("report", "--top", "3:bytes", result, engine=None), "--top", "for units")


if __name__ == "__main__":
    main()
