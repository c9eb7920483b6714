"""bench/formats.py: how it reads its arguments and templates, runs commands, and computes the tables."""

import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import commands
import formats
from commands import CommandFailed, Pipeline
from format_list import FORMATS, Format
from format_samples import make_parts
from format_table import COLUMNS, compared_row, line, rows_of


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)


class Templates(Scratch):
    def test_a_template_becomes_stages_with_the_paths_of_the_tools(self):
        tools = {"xz": "/a/xz", "tar": "/b/tar"}
        pipeline = commands.pipeline_of("xz -dc -T{threads} {file} | tar -xOf -", tools, threads=3, file="a log.xz")
        self.assertEqual(pipeline, Pipeline([["/a/xz", "-dc", "-T3", "a log.xz"], ["/b/tar", "-xOf", "-"]]))

    def test_a_word_that_begins_with_an_angle_bracket_is_the_file_that_is_read(self):
        pipeline = commands.pipeline_of("pixz -d <{file} | tar -x", {"pixz": "pixz", "tar": "tar"}, file="f.xz")
        self.assertEqual(pipeline, Pipeline([["pixz", "-d"], ["tar", "-x"]], "f.xz"))

    def test_the_tools_of_a_template_are_the_first_words_of_its_stages(self):
        self.assertEqual(commands.tools_in("lbzip2 -dc {file} | tar -xOf -"), ["lbzip2", "tar"])

    def test_a_tool_is_found_under_its_other_names(self):
        other = self.program("7zz", "")
        with mock.patch.dict(os.environ, PATH=str(self.folder)):
            self.assertEqual(commands.find_tool("7z"), other)
            self.assertIsNone(commands.find_tool("gzip"))

    def test_tables_show_a_command_without_its_file(self):
        self.assertEqual(formats.shown("pixz -d -p {threads} <{file} | tar -xOf -", 2), "pixz -d -p 2 | tar -xOf -")
        self.assertEqual(formats.shown("gzip -dc {file}", 2), "gzip -dc")


class Running(Scratch):
    def test_the_last_stage_writes_the_output(self):
        source = self.folder / "in"
        source.write_text("b\na\n")
        self.assertEqual(commands.output_of(Pipeline([["cat"], ["sort"]], str(source))), "a\nb\n")

    def test_a_stage_that_fails_is_named_with_its_status_and_its_message(self):
        failing = ["sh", "-c", "echo cause >&2; exit 3"]
        for stages in ([failing, ["cat"]], [["true"], failing]):
            with self.subTest(stages=stages):
                with self.assertRaisesRegex(CommandFailed, "^sh -c .*: exit status 3; cause$"):
                    commands.seconds(Pipeline(stages))

    def test_a_reader_that_ends_early_ends_its_writer(self):
        with self.assertRaisesRegex(CommandFailed, "^yes: exit status -13$"):
            commands.run(Pipeline([["yes"], ["true"]]))

    def test_a_file_is_made_once_and_only_if_its_command_succeeds(self):
        path = self.folder / "made"
        with self.assertRaises(CommandFailed):
            commands.made_by(path, Pipeline([["sh", "-c", "echo half; exit 1"]]))
        self.assertFalse(path.exists())
        commands.made_by(path, Pipeline([["echo", "first"]]))
        commands.made_by(path, Pipeline([["echo", "second"]]))
        self.assertEqual(path.read_text(), "first\n")

    def test_the_parts_of_a_log_are_64_files_with_all_of_its_bytes(self):
        log = self.folder / "log"
        log.write_bytes(bytes(range(256)) * 5)
        parts = sorted(make_parts(log).iterdir())
        self.assertEqual(len(parts), 64)
        self.assertEqual(b"".join(each.read_bytes() for each in parts), log.read_bytes())


class Arguments(unittest.TestCase):
    def test_defaults(self):
        with mock.patch.dict(os.environ, BUILD="some/build"):
            options = formats.parse([])
        self.assertEqual((options.size, options.rounds, options.gpuhist), ("1GiB", 5, "some/build/gpuhist"))
        self.assertEqual((options.only, options.threads), (FORMATS, len(os.sched_getaffinity(0))))

    def test_formats_are_selected_by_name(self):
        self.assertEqual([each.name for each in formats.parse(["--only", "xz,bzip2"]).only], ["bzip2", "xz"])

    def test_bad_values_are_errors(self):
        for read, text in ((formats.size, "1GB"), (formats.size, "0"), (formats.positive, "0"), (formats.positive, "")):
            with self.subTest(text=text), self.assertRaises(argparse.ArgumentTypeError):
                read(text)
        with self.assertRaisesRegex(argparse.ArgumentTypeError, "no format 'rar'; the formats are: bzip2, xz,"):
            formats.formats_named("xz,rar")


class ListOfFormats(unittest.TestCase):
    def test_names_and_files_differ(self):
        self.assertEqual(len({each.name for each in FORMATS}), len(FORMATS))
        self.assertEqual(len({each.suffix for each in FORMATS}), len(FORMATS))

    def test_every_template_can_be_filled(self):
        for each in FORMATS:
            tools = {tool: tool for template in (*each.makers, *each.peers) for tool in commands.tools_in(template)}
            for template in each.peers:
                pipeline = commands.pipeline_of(template, tools, file="FILE", threads=4)
                self.assertEqual((pipeline.source + " ".join(pipeline.stages[0])).count("FILE"), 1, template)
            for template in each.makers:
                commands.pipeline_of(template, tools, log="log", parts="parts", threads=4, output="out")

    def test_targets_depend_on_the_number_of_threads(self):
        by_name = {each.name: each for each in FORMATS}
        self.assertEqual(by_name["bzip2"].target(15), (1.05, ""))
        self.assertEqual(by_name["bzip2"].target(16), (0.95, ""))
        self.assertEqual(by_name["zip"].target(2), (1.05, ""))
        self.assertEqual(by_name["zip"].target(16), (0.1, "unzip"))
        self.assertEqual(by_name["xz-1-block"].target(2), (None, ""))

    def test_the_first_installed_maker_is_used_and_only_installed_peers(self):
        each = Format("x", "x", ("a -c", "b | c"), ("d -dc", "e | c"))
        self.assertEqual(each.installed_maker({"b": "/b", "c": "/c"}), "b | c")
        self.assertIsNone(each.installed_maker({"b": "/b"}))
        self.assertEqual(each.installed_peers({"e": "/e", "c": "/c"}), ["e | c"])


class Measuring(unittest.TestCase):
    COMMANDS = {"gpuhist": "gpuhist", "fast": "fast", "slow": "slow"}

    def measure(self, rounds, slow, seconds):
        """Returns what measure() returns, and the order of the runs. `seconds`: time or failure of each command."""
        order = []

        def timed(command):
            order.append(command)
            if isinstance(seconds[command], Exception):
                raise seconds[command]
            return seconds[command]

        return *formats.measure(self.COMMANDS, rounds, slow, timed), order

    def test_rounds_alternate_in_order(self):
        times, failures, order = self.measure(3, float("inf"), {"gpuhist": 2, "fast": 1, "slow": 9})
        self.assertEqual(order, ["gpuhist", "fast", "slow", "slow", "fast", "gpuhist", "gpuhist", "fast", "slow"])
        self.assertEqual((times, failures), ({"gpuhist": [2] * 3, "fast": [1] * 3, "slow": [9] * 3}, []))

    def test_a_slow_tool_runs_once_and_gpuhist_always(self):
        times, _, _ = self.measure(3, 4, {"gpuhist": 8, "fast": 1, "slow": 5})
        self.assertEqual({name: len(each) for name, each in times.items()}, {"gpuhist": 3, "fast": 3, "slow": 1})

    def test_a_tool_that_fails_is_left_out_with_a_message(self):
        failing = CommandFailed("fast: exit status 1")
        times, failures, order = self.measure(2, float("inf"), {"gpuhist": 2, "fast": failing, "slow": 9})
        self.assertEqual((set(times), failures, order.count("fast")), ({"gpuhist", "slow"}, [str(failing)], 1))

    def test_a_failure_of_gpuhist_ends_the_measurement(self):
        with self.assertRaises(CommandFailed):
            self.measure(2, float("inf"), {"gpuhist": CommandFailed("gpuhist: exit status 1"), "fast": 1, "slow": 9})


class Table(unittest.TestCase):
    PEERS = {"lbzip2 -dc": [4, 9, 5], "bzip2 -dc": [20]}

    def test_a_row_compares_medians(self):
        fast, slow = rows_of("bzip2", 10_000_000, [2, 90, 1], self.PEERS, 0.3, "")
        self.assertEqual((fast.rate, fast.peer, fast.peer_rate), (5, "lbzip2 -dc", 2))
        self.assertEqual((fast.ratio, fast.target), (0.4, 0.3))
        self.assertEqual((slow.peer, slow.peer_rate, slow.ratio, slow.target), ("bzip2 -dc (1 of 3)", 0.5, 0.1, None))
        self.assertEqual((fast.missed, slow.missed), (True, False))

    def test_a_ratio_that_equals_the_target_meets_it(self):
        self.assertFalse(rows_of("bzip2", 1, [2], {"lbzip2": [4]}, 0.5, "")[0].missed)

    def test_the_target_belongs_to_the_tool_that_it_names(self):
        rows = rows_of("bzip2", 1, [2, 2, 2], self.PEERS, 0.1, "bzip2")
        self.assertEqual([row.target for row in rows], [None, 0.1])
        self.assertEqual(compared_row(rows).ratio, 0.1)

    def test_without_a_target_the_fastest_tool_is_compared(self):
        rows = rows_of("bzip2", 1, [2, 2, 2], self.PEERS, None, "")
        self.assertEqual(compared_row(rows).peer, "lbzip2 -dc")
        self.assertEqual(compared_row(rows).cells()[-2:], ("-", ""))

    def test_lines_are_aligned_and_short(self):
        row = rows_of("zstd-frames", 1_000_000, [0.5], {"zstd -qdc": [0.25]}, 0.8, "")[0]
        self.assertEqual(line(row.cells()).split(), "zstd-frames 2 zstd -qdc 4 2.00 0.80 MISSED".split())
        self.assertEqual(line(row.cells()).index("0.80") + 4, line(COLUMNS).index("target") + 6)
        self.assertLess(len(line(row.cells())), 120)


class Program(Scratch):
    """The whole program, with a gpuhist that reports the size of the text, or for .gz `excess` bytes more."""

    GPUHIST = """#!/usr/bin/env python3
import gzip, json, sys
name = next(each for each in sys.argv[1:] if "bench-" in each)
text = (gzip.open if name.endswith(".gz") else open)(name, "rb").read()
size = len(text) + ({excess} if name.endswith(".gz") else 0)
print(json.dumps(dict(bytes=size, buckets=dict(letters=dict(all=size)))))
"""

    def outcome(self, excess, *options):
        gpuhist = self.program("gpuhist", self.GPUHIST.replace("{excess}", str(excess)))
        make_log = self.program("make_log", "#!/bin/sh\nyes abc | head -c 4096\n")
        places = ["--gpuhist", gpuhist, "--make-log", make_log, "--samples", str(self.folder), *options]
        with mock.patch.object(sys, "argv", ["formats.py", *places, "--rounds", "1", "--only", "gzip", "4KiB"]):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                return formats.main(), out.getvalue()

    def test_correct_counts_give_a_table(self):
        status, out = self.outcome(0)
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"(?m)^gzip +\d+ +gzip -dc +\d+ +\d+\.\d\d")
        self.assertRegex(out.splitlines()[-1], "^1 formats, [01] targets missed")

    def test_wrong_counts_are_an_error(self):
        status, out = self.outcome(1)
        self.assertEqual(status, 1)
        self.assertRegex(out.splitlines()[-1], r"^FAILED  gzip: .*bench-4KiB.log.gz: gpuhist counts \(4097, .*\(4096, ")

    def test_a_named_program_that_does_not_exist_is_an_error(self):
        for option in ("--rapidgzip", "--gpuhist", "--make-log"):
            with self.subTest(option=option), self.assertRaisesRegex(SystemExit, "absent is not a program"):
                self.outcome(0, option, str(self.folder / "absent"))


if __name__ == "__main__":
    unittest.main()
