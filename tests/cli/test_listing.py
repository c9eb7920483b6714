"""The table of inputs: --columns, --sort and --top, compared with Python's sorted() over the bytes of the files."""

import collections
import io
import math
import os
import random
import re
import tarfile

from support import CommandTest, main, noise, oracle, remarks, run, text, zstd

TABLE = ("--format", "table")
SHARE = ("-b", "share=a;rest=b-z")


def entropy(data):
    counts = collections.Counter(data)
    return 0.0 - sum(count / len(data) * math.log2(count / len(data)) for count in counts.values())


def digits(data):
    return oracle(data)["buckets"]["classes"]["digit"]


def rows(ended):
    """The rows of the table of inputs: lists of cells, and the lines after it."""
    lines = ended.stdout.decode().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("input ")) + 1
    end = lines.index("", first)
    return [re.split("  +", line) for line in lines[first:end] if not line.startswith("... ")], lines[end - 1 :]


class Listing(CommandTest):
    def setUp(self):
        super().setUp()
        chosen = random.Random(3)
        self.data = {}
        for number in range(30):
            data = text(chosen.randrange(2000, 40_000), seed=number)
            if number in (4, 21):
                data += noise(20_000, seed=number)
            self.data[f"shard-{number:02}"] = data
        self.paths = [self.file(name, data) for name, data in self.data.items()]

    def listed(self, *arguments, status=0):
        ended = run(*TABLE, *arguments)
        self.assertEqual(ended.status, status, ended)
        return rows(ended)

    def assert_order(self, arguments, key):
        """The names in the table are those of Python's stable sort by this key, the highest first; equal elements keep their order."""
        expected = sorted(self.data, key=lambda name: key(self.data[name]), reverse=True)
        listed, _ = self.listed(*arguments, *self.paths)
        self.assertEqual([os.path.basename(row[0]) for row in listed], expected)

    def test_inputs_are_sorted_by_measures_buckets_and_formulas(self):
        self.assert_order(("--sort", "bytes"), len)
        self.assert_order(("--sort=-bytes",), lambda data: -len(data))
        self.assert_order(("--sort", "entropy"), entropy)
        self.assert_order(("--sort", "digit"), lambda data: digits(data) / len(data))
        self.assert_order(("--sort", "count(digit)"), digits)
        self.assert_order(("--sort", "bytes / lines - 1"), lambda data: len(data) / data.count(b"\n"))
        self.assert_order(("-b", "letters", "--sort", "a-d"), lambda data: oracle(data)["buckets"]["letters"]["a-d"] / len(data))

    def test_the_two_odd_shards_of_thirty_are_first(self):
        good = self.file("good", text(100_000, 99))
        kept = self.file("good.json", run("--byte-counts", "--format", "json", good).stdout)
        listed, after = self.listed("--baseline", kept, "--columns", "jsd,bytes", "--sort", "jsd", "--top", "2", *self.paths)
        self.assertEqual({os.path.basename(row[0]) for row in listed}, {"shard-04", "shard-21"})
        self.assertEqual(after[0], "... and 28 more (--top all shows all)")
        self.assertTrue(all(float(row[1]) > 0.05 for row in listed), listed)

    def test_cells_are_the_values_of_the_bytes(self):
        columns = "bytes,lines,entropy,digit,count(digit),bytes / lines,mean"
        listed, _ = self.listed("--columns", columns, *self.paths)
        for (path, *cells), data in zip(listed, self.data.values()):
            found = [float(cell.replace(",", "")) for cell in cells]
            expected = [len(data), data.count(b"\n"), entropy(data), digits(data) / len(data), digits(data),
                        len(data) / data.count(b"\n"), sum(data) / len(data)]
            for one, other in zip(found, expected, strict=True):
                self.assertAlmostEqual(one, other, delta=abs(other) * 1e-5, msg=path)

    def test_a_former_name_of_a_bucket_is_a_column_and_an_order(self):
        paths = [self.file(f"odd-{number}", b"\xff" * number + b"text\n") for number in (2, 9, 5)]
        listed, _ = self.listed("-b", "utf8", "--columns", "count(invalid),count(utf8.never-utf8)", "--sort", "invalid", *paths)
        self.assertEqual([row[1:] for row in listed], [["9", "9"], ["5", "5"], ["2", "2"]])

    def test_totals_are_those_of_all_inputs(self):
        _, after = self.listed("--top", "1", "--sort", "bytes", *self.paths)
        totals = dict(line.split() for line in after if line.startswith(("bytes", "lines")))
        self.assertEqual(totals["bytes"], f"{sum(map(len, self.data.values())):,}")
        self.assertEqual(totals["lines"], f"{sum(data.count(10) for data in self.data.values()):,}")

    def test_a_kept_result_is_sorted_as_the_run_was(self):
        kept = self.file("kept.json", run("--byte-counts", "--format", "json", *self.paths).stdout)
        options = ("--sort", "entropy", "--columns", "entropy,digit", "--top", "7")
        reported = run("report", *TABLE, *options, kept, engine=None)
        self.assertEqual((reported.status, remarks(reported)), (0, []), reported)
        expected = sorted(self.data, key=lambda name: entropy(self.data[name]), reverse=True)[:7]
        self.assertEqual([os.path.basename(row[0]) for row in rows(reported)[0]], expected)
        self.assertEqual(rows(reported)[0], self.listed(*options, *self.paths)[0])

    def test_inputs_whose_counts_are_in_the_temporary_file_are_sorted_too(self):
        chosen = random.Random(5)
        with tarfile.open(self.folder / "many.tar", "w") as archive:
            sizes = {}
            for number in range(8000):
                info = tarfile.TarInfo(f"{number:05}-" + "n" * 80)
                info.size = sizes[info.name] = chosen.randrange(1, 500)
                archive.addfile(info, io.BytesIO(b"1" * info.size))
        options = ("--sort", "bytes", "--columns", "bytes,digit", "--top", "100", self.folder / "many.tar")
        listed, after = self.listed(*options)
        expected = sorted(sizes.items(), key=lambda each: -each[1])[:100]
        self.assertEqual([(row[0].split("/")[-1], int(row[1])) for row in listed], expected)
        self.assertEqual(after[0], "... and 7,900 more (--top all shows all)")
        needs_the_file = run(*TABLE, *options, env={**os.environ, "TMPDIR": "/nonexistent"})
        self.assertEqual(needs_the_file.status, 1, needs_the_file)

    def test_inputs_that_fail_are_listed_though_their_rows_are_left_out(self):
        damaged = self.file("damaged.zst", zstd(text(50_000))[:-3])
        listed, after = self.listed("--top", "1", "--sort", "bytes", *self.paths, damaged, status=1)
        self.assertEqual(len(listed), 1)
        self.assertNotIn("damaged.zst", listed[0][0])
        self.assertTrue(any(line.startswith("INCOMPLETE") and "damaged.zst" in line for line in after), after)

    def test_pairs_have_a_measure_too(self):
        listed, _ = self.listed("--pairs", "-b", "letters", "--columns", "conditional_entropy", "--sort", "conditional_entropy",
                                self.file("regular", b"abcdefghijkl" * 500), self.file("irregular", bytes(97 + byte % 26 for byte in noise(5000))))
        self.assertEqual([os.path.basename(row[0]) for row in listed], ["irregular", "regular"])
        stays = 3 / 4  # of a-d, e-h and i-l, the next letter is in the same bucket for three of four
        self.assertAlmostEqual(float(listed[1][1]), -stays * math.log2(stays) - (1 - stays) * math.log2(1 - stays), 3)

    def test_columns_that_were_asked_for_are_shown_for_one_input_too(self):
        listed, _ = self.listed("--columns", "digit", self.file("one", b"1a"))
        self.assertEqual(listed[0][1:], ["0.5"])
        self.assertNotIn(b"input", run(*TABLE, "--sort", "digit", self.file("one", b"1a")).stdout)

    def test_the_share_of_all_bytes_is_an_order_and_precedes_a_bucket_of_that_name(self):
        self.assert_order(("--sort", "share"), len)
        self.assert_order((*SHARE, "--sort=-share"), lambda data: -len(data))
        self.assert_order((*SHARE, "--sort", "custom.share"), lambda data: data.count(b"a") / len(data))

    def test_blanks_between_columns_have_no_meaning(self):
        self.assertEqual(self.listed("--columns", " share,  bytes / lines ", *self.paths),
                         self.listed("--columns", "share,bytes / lines", *self.paths))

    def test_names_in_a_pipe_are_complete(self):
        path = self.file("n" * 200, b"abc")
        for options in (("--sort", "bytes"), ("--top", "5"), ("--columns", "bytes")):
            self.assertEqual(self.listed(*options, path, path)[0][0][0], str(path))


class Defaults(CommandTest):
    """From the environment and a configuration file."""

    def test_a_default_sorts_tables_and_has_no_effect_on_other_reports(self):
        small, large = self.file("small", b"1"), self.file("large", b"22")
        for variables, arguments in (({"GPUHIST_SORT": "bytes", "GPUHIST_TOP": "1", "GPUHIST_COLUMNS": "bytes"}, ()),
                                     ({}, ("--config", self.file("c.toml", b'sort = "bytes"\ntop = 1\ncolumns = ["bytes"]\n')))):
            env = {**os.environ, **variables}
            listed, after = rows(run(*TABLE, *arguments, small, large, env=env))
            self.assertEqual([row[1:] for row in listed], [["2"]])
            self.assertEqual(len(rows(run(*TABLE, *arguments, "--no-top", small, large, env=env))[0]), 2)
            for format in ("json", "csv"):
                plain = run("--format", format, small, large).stdout
                self.assertEqual(run("--format", format, *arguments, small, large, env=env).stdout, plain)
            self.assertEqual(run(*TABLE, "--totals-only", *arguments, small, large, env=env).stdout,
                             run(*TABLE, "--totals-only", small, large).stdout)

    def test_top_all_is_every_input(self):
        paths = [self.file(str(number), b"x") for number in range(60)]
        self.assertEqual(len(rows(run(*TABLE, "--top", "all", *paths))[0]), 60)


class Usage(CommandTest):
    def refused(self, *arguments):
        ended = run(*TABLE, *arguments, self.file("a", b"abc"))
        self.assert_usage_error(ended)
        return ended.stderr

    def test_report_refuses_units_and_ignores_a_default(self):
        kept = self.file("kept.json", run("--byte-counts", "--format", "json", stdin_bytes=b"text\n").stdout)
        self.assert_usage_error(run("report", "--top", "3:bytes", kept, engine=None), "--top: N:FORMULA is for units, which gpuhist report does not measure; give N")
        with_default = run("report", kept, engine=None, env={**os.environ, "GPUHIST_TOP": "3:bytes"})
        self.assertEqual((with_default.status, with_default.stdout), (0, run("report", kept, engine=None).stdout))

    def test_errors_name_the_option_and_the_place(self):
        self.assertIn('--sort: there is no "entropi"; did you mean entropy?\n    entropi\n    ^', self.refused("--sort", "entropi"))
        self.assertIn("--columns: jsd compares with a baseline; give --baseline RESULT.json", self.refused("--columns", "bytes,jsd"))
        self.assertIn("--sort: this is a condition, not a number", self.refused("--sort", "entropy > 7"))
        self.assertIn("conditional_entropy is a measure of pairs; give --pairs", self.refused("--sort", "conditional_entropy"))
        self.assertIn("--top: --totals-only leaves out all inputs", self.refused("--top", "3", "--totals-only"))
        self.assertIn("--sort: mostly is not a number", self.refused("--sort", "mostly"))
        self.assertIn("--top: \"x\" is not a whole number; give 1 to 4294967295, or all", self.refused("--top", "x"))

    def test_every_name_that_a_message_lists_is_accepted(self):
        for option in ("--columns", "--sort"):
            ended = self.refused(option, "qqqqqq")
            listed = re.search(r"names are (.*?), measures", ended)[1].split(", ")
            self.assertEqual(["words" in listed, "share" in listed, "mostly" in listed], [False, True, option == "--columns"])
            for name in listed:
                status = run(*TABLE, "--utf8", option, name, self.file("a", b"abc")).status
                self.assertEqual(status, 0, (option, name))
        self.assertIn("did you mean mostly?", self.refused("--columns", "mosty"))
        self.assertIn("names are bytes, lines, words, malformed, measures", self.refused("--each", "line", "--where", "qqqqqq > 1"))

    def test_formats_for_programs_refuse_it(self):
        for format in ("json", "jsonl", "csv", "prometheus"):
            for option in (("--columns", "bytes"), ("--sort", "bytes"), ("--top", "3")):
                ended = run("--format", format, *option, self.file("a", b"abc"))
                self.assert_usage_error(ended, f"{option[0]}: is only for --format table; format {format} contains all inputs")


if __name__ == "__main__":
    main()
