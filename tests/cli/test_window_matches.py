"""Matches in windows of bytes, lines and times of arrival: a window has the lines whose line feed is in it. Compared with
an oracle of re and the offsets of windows."""

import bz2
import gzip
import json
import random
import re
import signal
import subprocess
import time

from support import CommandTest, Running, feed, main, run, run_fed, tar, zipped, zstd
from test_batch import BatchTest
from test_units import split_parts

MATCHES = ("--match", "error=ERROR", "--match", "slow=took [0-9]{4,} ms")
EXPRESSIONS = {"error": re.compile(rb"ERROR"), "slow": re.compile(rb"took [0-9]{4,} ms")}
JSONL = ("--format", "jsonl", "--buckets", "letters")
CONDITION = "match(error) / lines > 0.2 && match(slow) > 0"


def log(seed, lines=1_500, end=b"\n"):
    """Lines of 0 to 2,000 bytes with their line feeds, with bytes that are no UTF-8, and a last line that ends with `end`."""
    chosen = random.Random(seed)
    made = []
    for _ in range(lines):
        word = b"ERROR" if chosen.random() < 0.02 * (seed % 10) else b"INFO"
        padding = chosen.choice((0, 0, 3, 60, 400)) * chosen.randrange(5)
        made.append(chosen.choice((b"", word + b" took %d ms " % chosen.choice((7, 90, 3004)) + b"x\xff" * padding)) + b"\n")
    return b"".join(made) + b"ERROR in the last line" + end


def lines_in(data):
    """Each line that has a line feed, and the offset of its end."""
    end = 0
    for line in data.split(b"\n")[:-1]:
        end += len(line) + 1
        yield line + b"\n", end


def matches_of(lines):
    """As in the result: lines and bytes of each expression, and those of the other lines."""
    found = {name: {"lines": 0, "bytes": 0} for name in EXPRESSIONS}
    rest = {"lines": 0, "bytes": 0}
    for line in lines:
        for part in [found[name] for name, each in EXPRESSIONS.items() if each.search(line)] or [rest]:
            part["lines"] += 1
            part["bytes"] += len(line)
    return found, rest


def stream_of(texts):
    """The lines of all texts, with the offsets of their ends in the sequence of the texts."""
    made, begin = [], 0
    for data in texts:
        made += [(line, begin + end) for line, end in lines_in(data)]
        begin += len(data)
    return made


def in_window(lines, window):
    return [line for line, end in lines if window["first_offset"] < end <= window["end_offset"]]


class WindowMatchTest(CommandTest):
    def assert_matches(self, windows, texts, counts=lambda line: True):
        """`texts`: one stream, or the text of each source by its name."""
        streams = {name: stream_of([data]) for name, data in texts.items()} if isinstance(texts, dict) else stream_of(texts)
        for each in windows:
            lines = in_window(streams[each["source"]] if isinstance(texts, dict) else streams, each)
            self.assertEqual((each["matches"], each["unmatched"]), matches_of(filter(counts, lines)), each["index"])
            self.assertEqual(each["lines"], len(lines))

    def assert_borders(self, windows, length, step, end):
        """Of windows of bytes."""
        begins = range(0, end, step)
        self.assertEqual([(each["first_offset"], each["end_offset"]) for each in windows], [(begin, min(begin + length, end)) for begin in begins])


class Amounts(WindowMatchTest):
    def test_windows_of_bytes_have_the_matches_of_lines_that_end_in_them_whatever_threads_and_chunks(self):
        texts = [log(3), b"", log(5, 20, b""), log(8, 900)]
        paths = [self.file(f"{number}.log", data) for number, data in enumerate(texts)]
        for options in (("--threads", "1", "--chunk-size", "4KiB"), ("--threads", "8", "--chunk-size", "64KiB"), ("--threads", "3", "--chunk-size", "8MiB"), ()):
            for length, step in ((1_000, 1_000), (65_536, 65_536), (900, 300), (1 << 20, 1 << 20)):
                with self.subTest(options=options, length=length, step=step):
                    ended = run(*JSONL, *MATCHES, "--window", f"{length}B", "--step", f"{step}B", *options, *paths)
                    self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
                    windows = ended.documents_of("window")
                    self.assert_borders(windows, length, step, sum(map(len, texts)))
                    self.assert_matches(windows, texts)
                    if length == step:
                        found, _ = matches_of(line for line, _ in stream_of(texts))
                        self.assertEqual(sum(each["matches"]["error"]["lines"] for each in windows), found["error"]["lines"])
                        # the last line of one input has no line feed, and is in no window
                        self.assertEqual(ended.result["matches"]["error"]["lines"], found["error"]["lines"] + 1)

    def test_windows_of_very_few_bytes_and_lines_have_them_too(self):
        data = b"ERROR\n\nx\nERROR took 1000 ms\n\n\nE" + b"y" * 50 + b"\nERROR"
        for extent in ("1B", "2B", "7B", "1line", "2lines"):
            for pieces in ([data], [bytes([each]) for each in data]):
                with self.subTest(extent=extent, pieces=len(pieces)):
                    ended = run_fed(pieces, *JSONL, *MATCHES, "--window", extent)
                    self.assert_matches(ended.documents_of("window"), [data])

    def test_windows_of_lines_have_the_matches_of_their_lines(self):
        texts = [log(4), log(7, 300, b""), log(2, 700)]
        paths = [self.file(f"{number}.log", data) for number, data in enumerate(texts)]
        lines = [line for line, _ in stream_of(texts)]
        for options in (("--threads", "1", "--chunk-size", "4KiB"), ("--threads", "8"), ("--chunk-size", "8MiB")):
            for length, step in ((1, 1), (7, 7), (500, 500), (12, 4), (10_000, 10_000)):
                with self.subTest(options=options, length=length, step=step):
                    ended = run(*JSONL, *MATCHES, "--window", f"{length}lines", "--step", f"{step}lines", *options, *paths)
                    windows = ended.documents_of("window")
                    self.assertEqual(len(windows), len(range(0, len(lines), step)))
                    for number, each in enumerate(windows):
                        expected = lines[number * step : number * step + length]
                        self.assertEqual((each["matches"], each["unmatched"], each["lines"]), (*matches_of(expected), len(expected)))

    def test_inputs_of_all_kinds_have_windows_of_their_own(self):
        texts = {number: log(number, 400) for number in range(8)}
        members = {"a.log": texts[5], "b/c.log": texts[6]}
        content = {"plain": texts[0], "empty": b"", "frames.zst": b"".join(map(zstd, split_parts(texts[2], 7_001))), "one.zst": zstd(texts[3]),
                   "packed.gz": gzip.compress(texts[4][:50_000]) + gzip.compress(texts[4][50_000:]), "x.bz2": bz2.compress(texts[1]),
                   "logs.tar": tar(members), "logs.zip": zipped(members), "logs.tar.gz": gzip.compress(tar(members))}  # fmt: skip
        paths = [self.file(name, data) for name, data in content.items()]
        found = {"plain": texts[0], "frames.zst": texts[2], "one.zst": texts[3], "packed.gz": texts[4], "x.bz2": texts[1]}
        found |= {f"{archive}/{name}": data for archive in ("logs.tar", "logs.zip", "logs.tar.gz") for name, data in members.items()}
        found = {str(self.folder / name): data for name, data in found.items()}
        for options in (("--threads", "1"), ("--threads", "8"), ("--chunk-size", "4KiB")):
            for extent in (("--window", "10KiB"), ("--window", "40lines", "--step", "10lines")):
                with self.subTest(options=options, extent=extent):
                    ended = run(*JSONL, *MATCHES, "--per-input", *extent, *options, *paths)
                    self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
                    windows = ended.documents_of("window")
                    self.assertEqual({each["source"] for each in windows}, set(found))
                    self.assert_matches(windows, found)

    def test_all_inputs_are_one_stream_also_if_they_are_compressed(self):
        texts = [log(3, 200), log(4, 200, b""), log(9, 200), log(6, 200)]
        parts = split_parts(texts[1], 3_001)
        paths = [self.file("a.log", texts[0]), self.file("b.zst", b"".join(map(zstd, parts))), self.file("c.gz", gzip.compress(texts[2])), self.file("d.tar", tar({"m": texts[3]}))]
        for options in (("--threads", "1"), ("--threads", "8"), ("--chunk-size", "4KiB")):
            with self.subTest(options=options):
                windows = run(*JSONL, *MATCHES, "--window", "3000B", "--step", "1000B", *options, *paths).documents_of("window")
                self.assert_borders(windows, 3_000, 1_000, sum(map(len, texts)))
                self.assert_matches(windows, texts)

    def test_only_lines_that_where_selects_and_with_match_first_only_the_first_expression_count(self):
        data = log(5)
        path = self.file("a.log", data)
        windows = run(*JSONL, *MATCHES, "--window", "5000B", "--each", "line", "--where", "bytes > 80", "--group-by", "level", path).documents_of("window")
        self.assert_matches(windows, [data], lambda line: len(line) > 80)
        for each in run(*JSONL, *MATCHES, "--match-first", "--window", "5000B", path).documents_of("window"):
            lines = in_window(stream_of([data]), each)
            both = [line for line in lines if all(expression.search(line) for expression in EXPRESSIONS.values())]
            (_, rest), (found, _) = matches_of(lines), matches_of(both)
            first = {name: matches_of(lines)[0][name]["lines"] for name in EXPRESSIONS}
            first["slow"] -= found["error"]["lines"]
            self.assertEqual(({name: counts["lines"] for name, counts in each["matches"].items()}, each["unmatched"]), (first, rest))

    def test_after_skipped_damage_a_line_without_its_line_feed_is_in_no_window(self):
        parts = split_parts(log(8, 600), 20_001)
        frames = [zstd(part, "--check") for part in parts]
        damaged = bytearray(frames[1])
        damaged[-1] ^= 1
        ended = run(*JSONL, *MATCHES, "--skip-damage", "--window", "3000B", self.file("a.zst", frames[0] + bytes(damaged) + b"".join(frames[2:])))
        windows = ended.documents_of("window")
        texts = [parts[0] + parts[1], b"".join(parts[2:])]
        self.assertEqual(sum(each["bytes"] for each in windows), sum(map(len, texts)), ended)
        self.assert_matches(windows, texts)


class Conditions(WindowMatchTest):
    def holding(self, windows):
        values = {}
        for each in windows:
            found = {"match(error)": each["matches"]["error"]["lines"], "lines": each["lines"], "match(slow)": each["matches"]["slow"]["lines"]}
            if each["lines"] and found["match(error)"] / each["lines"] > 0.2 and found["match(slow)"] > 0:
                values[each["index"]] = found
        return values

    def test_conditions_about_matches_are_checked_for_each_window_after_its_line(self):
        path = self.file("a.log", log(9))
        for extent in (("--window", "2000B"), ("--window", "20lines", "--step", "5lines")):
            with self.subTest(extent=extent):
                ended = run(*JSONL, *MATCHES, *extent, "--fail-if", CONDITION, "--watch", "windows", path)
                self.assertEqual(ended.status, 3)
                windows = ended.documents_of("window")
                expected = self.holding(windows)
                self.assertTrue(1 < len(expected) < len(windows))
                self.assertEqual({each["window"]: each["values"] for each in ended.documents_of("alert")}, expected)
                kinds = [(each["kind"], each.get("index", each.get("window"))) for each in ended.documents if each["kind"] in ("window", "alert")]
                for number in expected:
                    self.assertEqual(kinds.index(("alert", number)), kinds.index(("window", number)) + 1)
                self.assertEqual(ended.stderr.count("holds for " + str(path) + ", window "), len(expected))

    def test_a_condition_may_compare_with_the_windows_before_as_well(self):
        path = self.file("a.log", log(9))
        base = (*JSONL, *MATCHES, "--window", "20000B", "--measures", "jsd", "--baseline", "previous:2", "--watch", "windows")
        ended = run(*base, "--alert-if", "match(error) > 2 && jsd > 0.0001", path)
        expected = [each["index"] for each in ended.documents_of("window") if each["matches"]["error"]["lines"] > 2 and (each["measures"]["jsd"]["value"] or 0) > 0.0001]
        self.assertTrue(expected)
        self.assertEqual([each["window"] for each in ended.documents_of("alert")], expected)

    def test_fail_fast_ends_the_run_at_the_first_window(self):
        data = b"fine\n" * 100 + b"ERROR\n" + b"fine\n" * 100_000
        ended = run(*JSONL, *MATCHES, "--window", "10lines", "--fail-if", "match(error) > 0", "--fail-fast", "--watch", "windows", self.file("a.log", data))
        self.assertEqual((ended.status, [each["window"] for each in ended.documents_of("alert")]), (3, [10]))


class Live(WindowMatchTest):
    def test_windows_of_arrival_have_the_lines_that_ended_in_them(self):
        pieces = [b"ERROR one\nINFO tw", b"o\nERROR thr", b"ee", b" took 1000 ms\n" * 30, b"x", b"\nERROR\n"]
        for extent in (("--window", "40ms"), ("--window", "100ms", "--step", "50ms")):
            with self.subTest(extent=extent), Running(*JSONL, *MATCHES, *extent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                for piece in pieces:
                    feed(running, [piece])
                    time.sleep(0.06)
                running.process.stdin.close()
                documents = [json.loads(line) for line in running.process.stdout]
                self.assertEqual(running.finish().status, 0)
            windows = [each for each in documents if each["kind"] == "window"]
            self.assert_matches(windows, [b"".join(pieces)])
            if "--step" not in extent:
                expected, rest = matches_of(line for line, _ in lines_in(b"".join(pieces)))
                total = {name: {of: sum(each["matches"][name][of] for each in windows) for of in ("lines", "bytes")} for name in EXPRESSIONS}
                self.assertEqual((total, sum(each["unmatched"]["lines"] for each in windows)), (expected, rest["lines"]))
                self.assertEqual((documents[-1]["matches"], documents[-1]["unmatched"]), (expected, rest))

    def test_followed_files_are_one_stream_or_each_has_its_own(self):
        parts = {"a.log": [log(3, 22), b"ERROR half", b" a line\nlast\n"], "b.log": [log(9, 22), b"INFO half", b" took 2000 ms\nERROR\n"]}
        texts = {str(self.folder / name): b"".join(each) for name, each in parts.items()}
        for options in (("--per-input",), ()):
            paths = [self.file(name, each[0]) for name, each in parts.items()]
            with self.subTest(options=options), Running(*JSONL, *MATCHES, "--follow", "--window", "5lines", *options, *paths, stdout=subprocess.PIPE) as running:
                for number in (1, 2):
                    for path, each in zip(paths, parts.values()):
                        with path.open("ab") as to:
                            to.write(each[number])
                windows = []
                wanted = sum(data.count(b"\n") // 5 for data in texts.values()) if options else sum(data.count(b"\n") for data in texts.values()) // 5
                while len(windows) < wanted:
                    windows.append(json.loads(running.process.stdout.readline()))
                running.process.send_signal(signal.SIGTERM)
                windows += [each for each in map(json.loads, running.process.stdout) if each["kind"] == "window"]
                running.finish()
            if options:
                self.assert_matches(windows, texts)
            expected, _ = matches_of(line for data in texts.values() for line, _ in lines_in(data))
            self.assertEqual({name: {of: sum(each["matches"][name][of] for each in windows) for of in ("lines", "bytes")} for name in EXPRESSIONS}, expected)


class Jobs(BatchTest):
    def test_windows_of_a_job_are_those_of_a_run(self):
        for number in range(4):
            self.input(f"{number}.log", log(number + 5, 300))
        self.input("z.zst", zstd(log(3, 300)))
        options = (*MATCHES, "--buckets", "letters", "--window", "9000B", "--step", "3000B", "--per-input", "--alert-if", "match(error) / lines > 0.08 && match(slow) > 0")
        ended = self.batch(*options, self.inputs)
        found = [json.loads(line) for line in (self.out / "windows.jsonl").read_bytes().splitlines()]
        expected = run("--format", "jsonl", *options, *sorted(self.inputs.iterdir()))
        names = ("source", "first_offset", "end_offset", "matches", "unmatched")
        self.assertEqual([[each[name] for name in names] for each in found if each["kind"] == "window"],
                         [[each[name] for name in names] for each in expected.documents_of("window")])  # fmt: skip
        holding = [each for each in expected.documents_of("alert") if each["of"] == "window"]
        self.assertTrue(holding)
        self.assertEqual(ended.stderr.count(", window "), len(holding), ended.stderr)


class Errors(CommandTest):
    def test_quantiles_are_not_known_of_windows_of_text(self):
        ended = run("--each", "line", "--fail-if", "p99(bytes) > 1", "--watch", "windows", "--window", "1MiB", self.file("a", b"x\n"))
        self.assert_usage_error(ended, "--watch: numbers of values are known of the totals, of inputs and of windows of --event-time; give --watch totals,inputs, or --event-time")


if __name__ == "__main__":
    main()
