"""Conditions about what is read of lines: match(NAME) and quantiles such as p99(bytes) in --fail-if and --alert-if, for
the totals, for inputs and for windows of event time; compared with oracles of re and sorted()."""

import csv
import gzip
import io
import json
import math
import random
import re
import struct
import subprocess

from support import ENGINE, CommandTest, main, run, tar, zipped, zstd
from test_batch import BatchTest, run_batch
from test_units import split_parts

MATCHES = ("--match", "error=ERROR", "--match", "slow=took [0-9]{4,} ms")
EXPRESSIONS = {"error": re.compile(rb"ERROR"), "slow": re.compile(rb"took [0-9]{4,} ms")}


def log(seed, lines=2_000, errors=0.1):
    """Lines of several lengths, some without a line feed at the end of the text."""
    chosen = random.Random(seed)
    made = []
    for _ in range(lines):
        word = b"ERROR" if chosen.random() < errors else b"INFO"
        moment = b"2025-01-01T00:%02d:%02dZ" % (chosen.randrange(60), chosen.randrange(60))
        made.append(moment + b" " + word + b" took %d ms" % chosen.choice((7, 90, 300, 3004, 12_000)) + b" x" * chosen.randrange(60) + b"\n")
    if seed % 2:
        made[-1] = made[-1][:-1]
    return b"".join(made)


def lines_of(data):
    return data.splitlines(keepends=True)


def matches_of(data):
    """As in the result: lines and bytes for each expression, and those of the other lines."""
    found = {name: {"lines": 0, "bytes": 0} for name in EXPRESSIONS}
    rest = {"lines": 0, "bytes": 0}
    for line in lines_of(data):
        names = [name for name, expression in EXPRESSIONS.items() if expression.search(line)]
        for part in [found[name] for name in names] or [rest]:
            part["lines"] += 1
            part["bytes"] += len(line)
    return found, rest


def quantile(values, percent, knows_lowest=True):
    """The nearest rank, as the least value of its bin (8 of the 52 bits after the point), and at least the lowest value."""
    ordered = sorted(values)
    value = ordered[max(1, math.ceil(percent * len(ordered) / 100 * (1 - 1e-14))) - 1]
    (bits,) = struct.unpack(">Q", struct.pack(">d", float(value)))
    (bound,) = struct.unpack(">d", struct.pack(">Q", bits >> 44 << 44))
    return max(bound, ordered[0]) if knows_lowest else bound


def alerts_of(ended, kind):
    return [each for each in ended.documents_of("alert") if each["of"] == kind]


class LineConditionTest(CommandTest):
    def inputs(self):
        """Inputs of all kinds, and the texts in them by name."""
        texts = {number: log(number, errors=0.02 * number) for number in range(9)}
        members = {"a.log": texts[5], "b/c.log": texts[6]}
        content = {"plain": texts[0], "large": b"".join(log(seed, 9_000) for seed in (20, 22)), "empty": b"",
                   "frames.zst": b"".join(map(zstd, split_parts(texts[2], 7_001))), "one.zst": zstd(texts[3]),
                   "packed.gz": gzip.compress(texts[4][:50_000]) + gzip.compress(texts[4][50_000:]),
                   "logs.tar": tar(members), "logs.zip": zipped(members), "logs.tar.gz": gzip.compress(tar(members))}  # fmt: skip
        paths = [self.file(name, data) for name, data in content.items()]
        found = {"plain": texts[0], "large": content["large"], "empty": b"", "frames.zst": texts[2], "one.zst": texts[3], "packed.gz": texts[4]}
        found |= {f"{archive}/{name}": data for archive in ("logs.tar", "logs.zip", "logs.tar.gz") for name, data in members.items()}
        return paths, {str(self.folder / name): data for name, data in found.items()}


class MatchesOfInputs(LineConditionTest):
    CONDITION = "match(error) / lines > 0.05 && match(slow) > 100"

    def holding(self, texts):
        values = {}
        for name, data in texts.items():
            found, _ = matches_of(data)
            lines = len(lines_of(data))
            if lines and found["error"]["lines"] / lines > 0.05 and found["slow"]["lines"] > 100:
                values[name] = {"match(error)": found["error"]["lines"], "lines": lines, "match(slow)": found["slow"]["lines"]}
        return values

    def assert_matches(self, inputs, texts):
        self.assertEqual(sorted(each["name"] for each in inputs), sorted(texts))
        for each in inputs:
            self.assertEqual((each["matches"], each["unmatched"]), matches_of(texts[each["name"]]), each["name"])

    def test_each_input_has_its_matches_and_its_alerts_whatever_the_kind_threads_and_chunks(self):
        paths, texts = self.inputs()
        expected = self.holding(texts)
        self.assertTrue(1 < len(expected) < len(texts))
        for options in ((), ("--threads", "1"), ("--threads", "8"), ("--threads", "3", "--chunk-size", "4KiB"), ("--each", "line", "--where", "bytes > 0")):
            with self.subTest(options=options):
                ended = run("--format", "jsonl", *MATCHES, "--alert-if", self.CONDITION, "--watch", "inputs", *options, *paths)
                self.assertEqual(ended.status, 0, ended)
                self.assert_matches(ended.documents_of("input"), texts)
                alerts = ended.documents_of("alert")
                self.assertEqual([(each["name"], each["of"]) for each in alerts], [(name, "input") for name in expected])
                self.assertEqual([each["values"] for each in alerts], list(expected.values()))

    def test_json_and_csv_have_the_matches_of_inputs(self):
        paths, texts = self.inputs()
        self.assert_matches(run("--format", "json", *MATCHES, *paths).result["inputs"], texts)
        rows = list(csv.DictReader(io.StringIO(run("--format", "csv", *MATCHES, *paths).stdout.decode())))
        found = {(row["input"], row["bucket"]): int(row["count"]) for row in rows if (row["kind"], row["scheme"]) == ("input", "match")}
        self.assertEqual(found, {(name, match): matches_of(data)[0][match]["lines"] for name, data in texts.items() for match in EXPRESSIONS})

    def test_lines_that_where_does_not_select_are_not_counted(self):
        data = log(1)
        selected = [line for line in lines_of(data) if len(line) > 80]
        ended = run("--format", "jsonl", *MATCHES, "--each", "line", "--where", "bytes > 80", "--group-by", "level", "--alert-if", "match(error) > 0", "--watch", "inputs", self.file("a", data))
        (alert,) = ended.documents_of("alert")
        self.assertEqual(alert["values"], {"match(error)": sum(b"ERROR" in line for line in selected)})

    def test_a_pipe_has_its_matches(self):
        data = log(3)
        ended = run("--format", "jsonl", *MATCHES, "--fail-if", "match(error) > 1", stdin_bytes=data)
        self.assertEqual(ended.status, 3, ended)
        ((found, rest),) = [(each["matches"], each["unmatched"]) for each in ended.documents_of("input")]
        self.assertEqual((found, rest), matches_of(data))
        # the totals of a single input are not checked again
        self.assertEqual([each["of"] for each in ended.documents_of("alert")], ["input"])

    def test_an_input_is_checked_when_it_ends_and_fail_fast_ends_the_run(self):
        good, bad = self.file("good", log(2, errors=0)), self.file("bad", log(3))
        more = [self.file(f"more-{number:03}", log(number, 200)) for number in range(200)]
        ended = run("--format", "jsonl", *MATCHES, "--fail-if", "match(error) > 0", "--fail-fast", "--watch", "inputs", good, bad, *more)
        self.assertEqual(ended.status, 3, ended)
        self.assertEqual([each["name"] for each in ended.documents_of("alert")], [str(bad)])
        self.assertIn("ended by --fail-fast", ended.stderr)

    def test_an_input_that_is_damaged_has_the_matches_of_what_was_decoded(self):
        data = log(4, 20_000)
        packed = bytearray(b"".join(map(zstd, split_parts(data, 50_000))))
        for cut in (len(packed) // 2, len(packed) - 3):
            paths = [self.file("cut.zst", bytes(packed[:cut])), self.file("whole", data)]
            for threads in ("1", "4"):
                ended = run("--format", "jsonl", "--threads", threads, *MATCHES, "--alert-if", "match(error) > 0", *paths)
                self.assertEqual(ended.status, 1, ended)
                inputs, total = ended.documents_of("input"), ended.result
                for name in EXPRESSIONS:
                    self.assertEqual(sum(each["matches"][name]["lines"] for each in inputs), total["matches"][name]["lines"], (cut, threads))
                    self.assertLessEqual(inputs[0]["matches"][name]["lines"], matches_of(data)[0][name]["lines"])
                self.assertGreater(inputs[0]["matches"]["error"]["lines"], 0)
                self.assertEqual([each["of"] for each in ended.documents_of("alert")], ["input", "input", "total"])

    def test_memory_does_not_grow_with_the_number_of_inputs(self):
        paths = [self.file(f"{number:04}", b"ERROR\nINFO\n" * (number % 3)) for number in range(2_000)]
        ended = run("--format", "jsonl", "--memory-limit", "64MiB", "--match", "error=ERROR", "--alert-if", "match(error) > 1", "--watch", "inputs", *paths)
        self.assertEqual([each["name"] for each in ended.documents_of("alert")], [str(path) for number, path in enumerate(paths) if number % 3 == 2])


class Quantiles(LineConditionTest):
    def values_of(self, ended, kind, name=None):
        (found,) = [each["values"] for each in ended.documents_of("alert") if each["of"] == kind and (name is None or each["name"] == name)]
        return found

    def test_quantiles_are_those_of_sorted_values_for_inputs_and_totals(self):
        paths, texts = self.inputs()
        everything = [len(line) for data in texts.values() for line in lines_of(data)]
        condition = "p50(bytes) > 0 || p90(bytes) > 0 || p99.9(bytes) > 0 || p100(bytes) > 0"
        for options in ((), ("--threads", "1"), ("--threads", "8", "--chunk-size", "4KiB")):
            with self.subTest(options=options):
                ended = run("--format", "jsonl", "--each", "line", "--alert-if", condition, *options, *paths)
                self.assertEqual(ended.status, 0, ended)
                for name, values in [(None, everything)] + [(name, [len(line) for line in lines_of(data)]) for name, data in texts.items() if data]:
                    found = self.values_of(ended, "total" if name is None else "input", name)
                    self.assertEqual(found, {f"p{percent}(bytes)": quantile(values, float(percent)) for percent in ("50", "90", "99.9", "100")}, name)

    def test_the_formula_may_be_any_of_units(self):
        data = log(7)
        numbers = [int(found) for found in re.findall(rb"took (\d+) ms", data)]
        words = [len(line.split()) for line in lines_of(data)]
        difference = [len(line) - 2 * len(line.split()) for line in lines_of(data)]
        typed = 'number("regex:took (\\d+) ms")'
        condition = f"p99({typed}) >= 0 && p50(words) > 0 && p10(bytes - 2 * (words)) < 99999"
        ended = run("--format", "jsonl", "--each", "line", "--alert-if", condition, "--watch", "totals", self.file("a", data))
        found = self.values_of(ended, "total")
        self.assertEqual(found, {f"p99({typed})": quantile(numbers, 99), "p50(words)": quantile(words, 50), "p10(bytes - 2 * (words))": quantile(difference, 10)})

    def test_records_and_parts_have_quantiles(self):
        records = [b"x" * (number % 300) for number in range(5_000)]
        data = b"\0".join(records)
        ended = run("--format", "jsonl", "--each", "record", "--alert-if", "p75(bytes) > 0", "--watch", "totals", self.file("a", data))
        self.assertEqual(self.values_of(ended, "total"), {"p75(bytes)": quantile([len(each) + 1 for each in records[:-1]] + [len(records[-1])], 75)})
        parts = [data[at : at + 4096] for at in range(0, len(data), 4096)]
        ended = run("--format", "jsonl", "--each", "4KiB", "--alert-if", "p1(bytes) > 0", "--watch", "inputs", self.file("a", data))
        self.assertEqual(self.values_of(ended, "input"), {"p1(bytes)": quantile(map(len, parts), 1)})

    def test_a_quantile_can_be_joined_with_matches_and_counts(self):
        path = self.file("a", log(8))
        values = [len(line) for line in lines_of(log(8))]
        median, errors = quantile(values, 50), matches_of(log(8))[0]["error"]["lines"]
        for condition, holds in (
            (f"p50(bytes) == {median} && match(error) == {errors}", True),
            (f"p50(bytes) > {median} || match(error) > {errors}", False),
            (f"p90(bytes) / p50(bytes) >= {quantile(values, 90) / median * 0.999}", True),
            ("p50(bytes) > 0 && digit > 2", False),
            ("p50(bytes) > 0 && lines > 10", True),
        ):
            ended = run("--each", "line", *MATCHES, "--fail-if", condition, path)
            self.assertEqual(ended.status, 3 if holds else 0, condition)

    def test_no_values_have_no_quantile(self):
        for condition, status in (("p99(bytes) > 0", 0), ("!(p99(bytes) > 0)", 0), ("p99(bytes) > 0 || bytes == 0", 3)):
            self.assertEqual(run("--each", "line", "--fail-if", condition, self.file("a", b"")).status, status, condition)
        ended = run("--each", "line", "--fail-if", 'p50(number("field:1")) == 4', self.file("a", b"a\n4\nb\n4\n9\n"))
        self.assertEqual(ended.status, 3, ended)

    def test_only_lines_that_where_selects_are_measured(self):
        data = log(9)
        slow = [len(line) for line in lines_of(data) if EXPRESSIONS["slow"].search(line)]
        ended = run("--format", "jsonl", "--each", "line", *MATCHES, "--where", "match(slow)", "--alert-if", "p90(bytes) > 0", "--watch", "totals", self.file("a", data))
        self.assertEqual(self.values_of(ended, "total"), {"p90(bytes)": quantile(slow, 90)})

    def test_windows_of_event_time_have_quantiles(self):
        datas = [log(number, 3_000) for number in (2, 4, 6)]
        paths = [self.file("a", datas[0]), self.file("b.zst", b"".join(map(zstd, split_parts(datas[1], 5_000)))), self.file("c", datas[2])]
        windows = {}
        for line in lines_of(b"".join(datas)):
            windows.setdefault(line[:16].decode() + ":00Z", []).append(len(line))
        for options in ((), ("--threads", "4"), ("--group-by", "level")):
            ended = run("--format", "jsonl", "--each", "line", "--window", "1m", "--event-time", "--alert-if", "p50(bytes) > 0 && p90(bytes) > 0", "--watch", "windows", *options, *paths)
            found = {each["event_start"]: each["values"] for each in ended.documents_of("alert")}
            self.assertEqual(found, {start: {f"p{percent}(bytes)": quantile(values, percent, knows_lowest=False) for percent in (50, 90)} for start, values in windows.items()}, options)
        with_auto = run("--format", "jsonl", "--each", "line", "--window", "auto", "--event-time", "--alert-if", "p50(bytes) > 0", "--watch", "windows", *paths)
        self.assertEqual(len(with_auto.documents_of("alert")), len(with_auto.result["event_windows"]))


class Jobs(BatchTest):
    def test_inputs_of_a_job_have_matches_and_conditions_of_both_kinds(self):
        texts = {f"{number}.log": log(number, errors=0.05 * number) for number in range(4)}
        for name, data in texts.items():
            self.input(name, data)
        self.input("z.tar", tar({"m": texts["3.log"]}))
        options = (*MATCHES, "--each", "line", "--alert-if", "match(error) > 150", "--alert-if", "p90(bytes) > 0", "--watch", "inputs")
        ended = self.batch(*options, self.inputs)
        self.assertEqual(ended.stderr.count("'match(error) > 150' holds"), sum(matches_of(data)[0]["error"]["lines"] > 150 for data in texts.values()) + 1, ended.stderr)
        self.assertEqual(ended.stderr.count("'p90(bytes) > 0' holds"), len(texts) + 1)
        found = {json.loads(line)["name"].rpartition("/")[2]: json.loads(line) for line in (self.out / "files.jsonl").read_bytes().splitlines()}
        for name, data in {**texts, "m": texts["3.log"]}.items():
            self.assertEqual((found[name]["matches"], found[name]["unmatched"]), matches_of(data), name)

    def test_quantiles_of_the_total_of_a_job_are_those_of_a_run_also_after_the_second_run_of_it(self):
        texts = [log(number) for number in range(3)]
        for number, data in enumerate(texts):
            self.input(f"{number}.log", data)
        value = quantile([len(line) for data in texts for line in lines_of(data)], 90)
        for condition in (f"p90(bytes) == {value}",):
            options = ("--each", "line", "--fail-if", condition, "--watch", "totals")
            self.assertIn("holds for the totals", self.batch(*options, self.inputs, status=3).stderr)
            self.assertIn("holds for the totals", self.batch(*options, self.inputs, status=3).stderr)


class Errors(CommandTest):
    def test_errors_name_the_option_the_place_and_the_remedy(self):
        path = self.file("a", b"x\n")
        for options, *words in (
            (("--fail-if", "p99(bytes) > 1"), "--fail-if: p99(bytes) is of the values of many units; it is known to --fail-if and --alert-if with --each line, record or a size, and to --columns and --sort in a run with --group-by or --event-time\n    p99(bytes) > 1\n    ^\n"),
            (("--each", "input", "--alert-if", "bytes > 2 && p99(bytes) > 1"), "--alert-if: p99(bytes) is of the values of many units", "\n                 ^\n"),
            (("--each", "line", "--where", "p99(bytes) > 1"), "--where: p99(bytes) is of the values of many units"),
            (("--each", "line", "--fail-if", "p0(bytes) > 1"), "--fail-if: the percent of a quantile is above 0 and at most 100, as in p99.9(bytes)\n"),
            (("--each", "line", "--fail-if", "p101(bytes) > 1"), "the percent of a quantile"),
            (("--each", "line", "--fail-if", "p99() > 1"), "--fail-if: a formula of units is missing here, as in p99(bytes)\n    p99() > 1\n        ^\n"),
            (("--each", "line", "--fail-if", "p99((bytes) > 1"), "--fail-if: this parenthesis is not closed\n    p99((bytes) > 1\n       ^\n"),
            (("--each", "line", "--fail-if", "p99(bytes)"), "this is a number, not a condition"),
            (("--each", "line", "--fail-if", "p99(byte) > 1"), "--fail-if: there is no \"byte\"; did you mean bytes?\n    byte\n    ^\n"),
            (("--each", "line", "--alert-if", "p99(bytes > 1) > 1"), "--alert-if: this is a condition, not a number"),
            (("--each", "line", "--alert-if", "p99(p50(bytes)) > 1"), "--alert-if: p50(bytes) is of the values of many units"),
            (("--each", "line", "--fail-if", "px(bytes) > 1"), "there is no function \"px\"", "sum(FORMULA), mean(FORMULA), quantiles such as p99(FORMULA), and those of texts"),
            (("--each", "4KiB", "--fail-if", 'p99(number("field:1")) > 1'), "--fail-if: number(\"field:1\") is read of lines, records and whole inputs"),
            (("--each", "line", "--fail-if", "p99(bytes) > 1", "--watch", "windows", "--window", "1MiB"), "--watch: numbers of values are known of the totals, of inputs and of windows of --event-time; give --watch totals,inputs, or --event-time"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assert_usage_error(run(*options, path), *words)


if __name__ == "__main__":
    main()
