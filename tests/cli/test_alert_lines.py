"""The text of lines in alerts (--show-text): the first line in which an expression that the condition names matches, of an
input, the totals, a window of text and a window of event time; compared with an oracle of re."""

import base64
import gzip
import os
import random
import re

from screen import OnTerminal
from support import CommandTest, main, run, tar, zipped, zstd
from test_batch import BatchTest
from test_units import split_parts

MATCHES = ("--match", "error=ERROR", "--match", "slow=took [0-9]{4,} ms", "--match", "other=zzz")
EXPRESSIONS = {"error": re.compile(rb"ERROR"), "slow": re.compile(rb"took [0-9]{4,} ms"), "other": re.compile(rb"zzz")}
CONDITIONS = {"match(error) > 0": ("error",), "match(slow) + match(other) > 0": ("slow", "other"), "lines > 0 && match(other) > 0": ("other",)}
ALERTS = [word for condition in CONDITIONS for word in ("--alert-if", condition)]
MINUTE = 60


def log(seed, lines=1_200, errors=0.02, end=b"\n"):
    """Lines at times in 20 minutes, in no order, of 0 to 700 bytes; some have bytes that are no UTF-8."""
    chosen = random.Random(seed)
    made = []
    for _ in range(lines):
        second = chosen.randrange(20 * MINUTE)
        word = b"ERROR" if chosen.random() < errors else b"INFO"
        made.append(b"2025-01-01T00:%02d:%02dZ " % divmod(second, MINUTE) + word + b" took %d ms " % chosen.choice((7, 90, 300, 3004 if chosen.random() < 0.1 else 5)) +
                    chosen.choice((b"", b"\xff\x1b[31m", b"x" * 700, b"zzz" if chosen.random() < 0.02 else b"y" * 30)) + chosen.choice((b"\n", b"\r\n")))  # fmt: skip
    return b"".join(made)[:-1] + end


def lines_in(data):
    """Each line without its line feed, its number and offset."""
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line or offset < len(data):
            yield line, number, offset
        offset += len(line) + 1


def first_of(lines, names):
    """`lines`: text, number, offset and input of each, in the order in which they are searched."""
    return next((each for each in lines if any(EXPRESSIONS[name].search(each[0]) for name in names)), None)


def raw(part, key):
    return base64.b64decode(part[key + "_base64"]) if key + "_base64" in part else os.fsencode(part[key])


def shown(alert):
    part = alert["line"]
    return raw(part, "text"), part["line"], part["offset"], raw(part, "input")


def expected_of(lines):
    """By condition, as shown()."""
    found = {condition: first_of(lines, names) for condition, names in CONDITIONS.items()}
    return {condition: (each[0][:400], *each[1:]) for condition, each in found.items() if each}


def by_condition(alerts):
    return {each["condition"]: shown(each) for each in alerts}


class AlertLineTest(CommandTest):
    def lines_of(self, texts):
        return [(*line, os.fsencode(name)) for name, data in texts.items() for line in lines_in(data)]


class FirstLines(AlertLineTest):
    VARIANTS = (("--threads", "1"), ("--threads", "8", "--chunk-size", "4KiB"), ("--threads", "3"), ("--chunk-size", "8MiB"))

    def texts(self):
        return {number: log(number, errors=0.004 * number, end=b"" if number % 2 else b"\n") for number in range(7)}

    def inputs(self):
        texts = self.texts()
        members = {"a.log": texts[5], "b/c.log": texts[6]}
        large = (b"INFO " + b"x" * 1_000 + b"\n") * 9_000 + b"".join(log(seed, 9_000) for seed in (20, 22))
        content = {"plain": texts[0], "large": large, "empty": b"", "frames.zst": b"".join(map(zstd, split_parts(texts[2], 7_001))), "one.zst": zstd(texts[3]),
                   "packed.gz": gzip.compress(texts[4][:50_000]) + gzip.compress(texts[4][50_000:]), "logs.tar": tar(members), "logs.zip": zipped(members)}  # fmt: skip
        paths = [self.file(name, data) for name, data in content.items()]
        found = {"plain": texts[0], "large": large, "frames.zst": texts[2], "one.zst": texts[3], "packed.gz": texts[4]}
        found |= {f"{archive}/{name}": data for archive in ("logs.tar", "logs.zip") for name, data in members.items()}
        return paths, {str(self.folder / name): data for name, data in found.items()}

    def test_alerts_of_inputs_and_totals_have_the_first_line_whatever_threads_and_chunks(self):
        paths, texts = self.inputs()
        for options in self.VARIANTS:
            with self.subTest(options=options):
                ended = run("--format", "jsonl", "--show-text", *MATCHES, *ALERTS, *options, *paths)
                self.assertEqual(ended.status, 0, ended)
                alerts = ended.documents_of("alert")
                for name in texts:
                    self.assertEqual(by_condition(each for each in alerts if each.get("name") == name), expected_of(self.lines_of({name: texts[name]})), name)
                self.assertEqual(by_condition(each for each in alerts if each["of"] == "total"), expected_of(self.lines_of(texts)))

    def test_alerts_of_windows_of_text_have_the_first_line_that_ends_in_them(self):
        texts = {str(self.folder / f"{number}.log"): data for number, data in self.texts().items()}
        paths = [self.file(os.path.basename(name), data) for name, data in texts.items()]
        ends, begin = [], 0
        for name, data in texts.items():
            ends += [(begin + offset + len(line) + 1, (line, number, offset, os.fsencode(name))) for line, number, offset in lines_in(data) if offset + len(line) < len(data)]
            begin += len(data)
        for options in self.VARIANTS:
            for extent in (("--window", "20KiB"), ("--window", "70lines", "--step", "10lines"), ("--window", "9000B", "--step", "3000B")):
                with self.subTest(options=options, extent=extent):
                    ended = run("--format", "jsonl", "--show-text", *MATCHES, *ALERTS, "--watch", "windows", *extent, *options, *paths)
                    alerts = ended.documents_of("alert")
                    for window in ended.documents_of("window"):
                        lines = [line for end, line in ends if window["first_offset"] < end <= window["end_offset"]]
                        self.assertEqual(by_condition(each for each in alerts if each["window"] == window["index"]), expected_of(lines))

    def test_alerts_of_event_windows_have_the_first_line_in_the_order_of_time(self):
        paths, texts = self.inputs()
        texts.pop(str(self.folder / "large"))
        paths = [path for path in paths if path.name != "large"]
        order = {name: number for number, name in enumerate(texts)}
        lines = sorted(self.lines_of(texts), key=lambda line: (line[0][:20], order[os.fsdecode(line[3])], line[2]))
        for options in (*self.VARIANTS, ("--group-by", "level")):
            for length, named in (("1m", 1), ("5m", 5), ("auto", 0)):
                with self.subTest(options=options, length=length):
                    ended = run("--format", "jsonl", "--show-text", *MATCHES, *ALERTS, "--watch", "windows", "--window", length, "--event-time", *options, *paths)
                    alerts = ended.documents_of("alert")
                    self.assertTrue(alerts)
                    for window in ended.result["event_windows"]:
                        first, end = (os.fsencode(window[key]) for key in ("event_start", "event_end"))
                        expected = expected_of([line for line in lines if first <= line[0][:20] < end])
                        self.assertEqual(by_condition(each for each in alerts if each["event_start"] == window["event_start"]), expected)

    def test_windows_that_close_while_the_run_lasts_show_their_lines(self):
        data = b"".join(sorted(line + b"\n" for line in log(3, errors=0.02).split(b"\n")[:-1]))
        path = self.file("a.log", data)
        base = ("--format", "jsonl", "--show-text", *MATCHES, *ALERTS, "--watch", "windows", "--window", "1m", "--event-time")
        at_end = run(*base, path).documents_of("alert")
        live = run(*base, "--allowed-lateness", "0s", path).documents_of("alert")
        key = lambda alert: (alert["event_start"], alert["condition"], shown(alert))
        self.assertTrue(at_end)
        self.assertEqual(list(map(key, live)), list(map(key, at_end)))

    def test_only_lines_that_where_selects_are_shown_and_with_match_first_those_that_count(self):
        data = b"ERROR short\nERROR took 1000 ms\nERROR a longer line\ntook 2000 ms\n"
        path = self.file("a.log", data)
        options = ("--format", "jsonl", "--show-text", *MATCHES, *ALERTS, "--watch", "inputs")
        found = by_condition(run(*options, "--each", "line", "--where", "bytes > 18", path).documents_of("alert"))
        self.assertEqual(found["match(error) > 0"], (b"ERROR took 1000 ms", 2, 12, os.fsencode(path)))
        found = by_condition(run(*options, "--match-first", path).documents_of("alert"))
        self.assertEqual(found["match(slow) + match(other) > 0"][1], 4)


class Shown(AlertLineTest):
    def test_text_is_shown_only_if_it_is_asked_for_and_matches_are_named(self):
        path = self.file("a.log", b"INFO\nERROR\n")
        for options in ((), ("--no-show-text",)):
            ended = run("--format", "jsonl", *MATCHES, *ALERTS, *options, path)
            self.assertTrue(ended.documents_of("alert"))
            self.assertFalse(any("line" in each for each in ended.documents_of("alert")))
            self.assertNotIn("\n    ", ended.stderr)
        ended = run("--format", "jsonl", "--show-text", *MATCHES, "--alert-if", "lines > 0", path)
        self.assertNotIn("line", ended.documents_of("alert")[0])

    def test_messages_are_safe_to_print_whatever_is_in_names_and_text(self):
        name = b"evil\n\x1b[31m\xff name.log"
        path = os.fsencode(self.folder) + b"/" + name
        with open(path, "wb") as to:
            to.write(b"INFO\nERROR \x1b[2J\x07 \xc3\x28 \xe2\x82\xac \x00 end\r\n")
        ended = run("--format", "jsonl", "--show-text", *MATCHES, "--fail-if", "match(error) > 0", os.fsdecode(path))
        self.assertEqual(ended.status, 3)
        (alert,) = ended.documents_of("alert")
        self.assertEqual(shown(alert), (b"ERROR \x1b[2J\x07 \xc3\x28 \xe2\x82\xac \x00 end\r", 2, 5, path))
        first, second = ended.stderr.splitlines()
        self.assertTrue(first.endswith("match(error) = 1"), ended.stderr)
        self.assertTrue(second.startswith("    ") and ", line 2: ERROR " in second and "€" in second, ended.stderr)
        self.assertTrue(all(each.isprintable() for each in first + second), ended.stderr)

    def test_a_line_of_a_terminal_is_not_wrapped(self):
        path = self.file("a.log", b"INFO\nERROR " + "wörld €".encode() * 300 + b"\n")
        for columns in (50, 120):
            with OnTerminal(*MATCHES, "--alert-if", "match(error) > 0", "--label", path, "--no-progress", path, columns=columns) as running:
                self.assertEqual(running.finish(), 0)
            (line,) = [each for each in running.raw.decode().splitlines() if each.startswith("    ")]
            self.assertTrue(line.endswith("...") and len(line) <= columns, line)


class Jobs(BatchTest):
    def test_inputs_of_a_job_show_their_lines(self):
        self.input("a.log", b"INFO\nERROR in a\n")
        self.input("b.zst", zstd(b"ERROR in b\n"))
        ended = self.batch("--match", "error=ERROR", "--alert-if", "match(error) > 0", "--watch", "inputs", "--show-text", self.inputs)
        self.assertEqual(re.findall(r"\n    .*/(\S+), line (\d+): (.*)", ended.stderr), [("a.log", "2", "ERROR in a"), ("b.zst", "1", "ERROR in b")], ended.stderr)


if __name__ == "__main__":
    main()
