"""What is read of lines: matches (--match), groups by a key (--group-by), windows of the times that are written in the
lines (--window with --event-time) and numbers; compared with oracles of datetime, zoneinfo, re, csv, json and
collections."""

import base64
import collections
import csv
import gzip
import io
import itertools
import json
import math
import os
import random
import re
import signal
import subprocess
import time
import zoneinfo
from datetime import datetime, timedelta, timezone

from support import ENGINE, SANITIZED, CommandTest, Running, main, oracle, run, sampled, tar, zipped, zstd
from test_batch import BatchTest, run_batch
from test_units import split_lines, split_parts

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
IMPLAUSIBLE = "implausible"
SECOND = 1_000_000  # in microseconds
LENGTHS = {"500ms": SECOND // 2, "7s": 7 * SECOND, "1m": 60 * SECOND, "1h": 3600 * SECOND, "36h": 36 * 3600 * SECOND}

# ---- the oracle ------------------------------------------------------------------------------------------------------


def microseconds(moment):
    return (moment - EPOCH) // timedelta(microseconds=1)


def at(text):
    return microseconds(datetime.fromisoformat(text))


def counted(lines):
    data = b"".join(lines)
    return {"lines": len(lines), "bytes": len(data), "buckets": {"classes": oracle(data)["buckets"]["classes"]}}


def counts(part):
    return {name: part[name] for name in ("lines", "bytes", "buckets")}


def key_of(group):
    return base64.b64decode(group["key_base64"]) if "key_base64" in group else group["key"].encode()


def window_numbers(files, length):
    """Each line with its window. `files`: lists of a line and its time in microseconds; None: the line has none."""
    for entries in files:
        window = "without_time"
        for line, moment in entries:
            if moment is not None:
                window = "implausible_time" if moment == IMPLAUSIBLE else moment // length * length
            yield line, window


def by_value(pairs):
    """Lines by what they are paired with."""
    groups = collections.defaultdict(list)
    for line, value in pairs:
        groups[value].append(line)
    return groups


def fields(line):
    """Of a line with its end: what blanks separate."""
    return re.findall(rb"[^ \t]+", line.removesuffix(b"\n").removesuffix(b"\r"))


def item(items, index):
    return items[index] if -len(items) <= index < len(items) else None


class EventTest(CommandTest):
    def log(self, name, entries, modified=None):
        path = self.file(name, b"".join(line for line, _ in entries))
        if modified is not None:
            os.utime(path, (modified // SECOND,) * 2)
        return path

    def result(self, *arguments, **options):
        ended = run("--format", "json", *arguments, **options)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended.result

    def assert_windows(self, result, files, length):
        expected = by_value(window_numbers(files, length))
        for name in ("without_time", "implausible_time"):
            self.assertEqual(counts(result[name]) if name in result else None, counted(expected.pop(name)) if name in expected else None, name)
        starts = [at(each["event_start"]) for each in result["event_windows"]]
        self.assertEqual(starts, sorted(expected))
        for start, each in zip(starts, result["event_windows"]):
            self.assertEqual(counts(each), counted(expected[start]), each["event_start"])
            self.assertEqual(at(each["event_end"]) - start, length)

    def assert_groups(self, result, lines, keys, most=1000):
        """`keys`: that of each line; None: it has none."""
        groups = by_value(zip(lines, keys))
        without = groups.pop(None, [])
        order = sorted(groups, key=lambda key: (-len(groups[key]), key))
        self.assertEqual([key_of(each) for each in result["groups"]], order[:most])
        for each in result["groups"]:
            self.assertEqual(counts(each), counted(groups[key_of(each)]))
            self.assertEqual("key_base64" in each, each["key"].encode() != key_of(each))
        self.assertEqual(result["number_of_groups"], len(groups))
        others = [line for key in order[most:] for line in groups[key]]
        for name, expected in (("without_key", without), ("other_groups", others)):
            self.assertEqual(counts(result[name]) if name in result else None, counted(expected) if expected else None, name)
        parts = [*result["groups"], *(result[name] for name in ("without_key", "other_groups") if name in result)]
        self.assertEqual(sum(each["lines"] for each in parts), len(lines))


# ---- data ------------------------------------------------------------------------------------------------------------

START = microseconds(datetime(2025, 12, 28, tzinfo=UTC))  # logs continue into the next year
MODIFIED = microseconds(datetime(2026, 1, 9, tzinfo=UTC))
TRACES = (b"\tat java.base/java.lang.Thread.run(Thread.java:833)\n", b"Caused by: java.io.IOException\r\n", b"\n", b"\r\n", b"}\n", b"\t... 12 more\n",
          b"\0\xff\xfe\x80 \xc3(\n", "größe 検索\n".encode(), b'{"message":"no date"}\n', b"2025-02-30T00:00:00Z no date\n")  # fmt: skip
EAST, WEST = timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-7))


def epoch(t, unit=1):
    return microseconds(t) * unit // SECOND


# By format: the beginning of a line (a whole one if it is JSON), the resolution in microseconds, and FORMAT if it is not
# recognised without.
FORMS = {
    "iso": (lambda t: f"{t:%Y-%m-%dT%H:%M:%SZ}", SECOND, ""),
    "iso with a fraction and an offset": (lambda t: t.astimezone(EAST).isoformat(timespec="microseconds"), 1, ""),
    "iso with a comma": (lambda t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03}", 1000, ""),
    "iso with a blank before the offset": (lambda t: f"{t.astimezone(WEST):%Y-%m-%d %H:%M:%S -0700}", SECOND, ""),
    "iso without separators": (lambda t: f"{t:%Y%m%dT%H%M%SZ}", SECOND, ""),
    "iso after a level": (lambda t: f"INFO [main] {t:%Y-%m-%d %H:%M:%S.%f}", 1, ""),
    "slashes, of nginx": (lambda t: f"{t:%Y/%m/%d %H:%M:%S} [error] 12#0: *3 open() failed", SECOND, ""),
    "clf": (lambda t: f'192.0.2.1 - - [{t.astimezone(WEST):%d/%b/%Y:%H:%M:%S -0700}] "GET / HTTP/1.1" 200 12', SECOND, ""),
    "syslog": (lambda t: f"{t:%b %e %H:%M:%S} web-1 sshd[7]:", SECOND, ""),
    "syslog with a priority": (lambda t: f"<34>{t:%b %e %H:%M:%S} web-1 sshd:", SECOND, ""),
    "iso of RFC 5424": (lambda t: f"<165>1 {t:%Y-%m-%dT%H:%M:%S.%fZ} web-1 app 7 ID47 -", 1, ""),
    "ctime": (lambda t: f"{t:%a %b %e %H:%M:%S %Y}", SECOND, ""),
    "ctime of apache": (lambda t: f"[{t:%a %b %d %H:%M:%S.%f %Y}] [core:error] [pid 7]", 1, ""),
    "ctime of date": (lambda t: f"{t:%a %b %e %H:%M:%S UTC %Y}", SECOND, ""),
    "rfc2822": (lambda t: f"{t.astimezone(EAST):%a, %d %b %Y %H:%M:%S +0530}", SECOND, ""),
    "dmy of BIND": (lambda t: f"{t:%d-%b-%Y %H:%M:%S}.{t.microsecond // 1000:03} client:", 1000, ""),
    "dmy of Redis": (lambda t: f"7:M {t:%d %b %Y %H:%M:%S}.{t.microsecond // 1000:03} *", 1000, ""),
    "mdy of java.util.logging": (lambda t: f"{t:%b %d, %Y %I:%M:%S %p} org.example.Main", SECOND, ""),
    "glog": (lambda t: f"I{t:%m%d %H:%M:%S.%f} 7 main.cc:12]", 1, ""),
    "glog with a year": (lambda t: f"E{t:%Y%m%d %H:%M:%S.%f} 7 main.cc:12]", 1, ""),
    "epoch": (lambda t: f"{epoch(t)}", SECOND, ""),
    "epoch with a fraction": (lambda t: f"{epoch(t)}.{t.microsecond:06}", 1, ""),
    "epoch in milliseconds": (lambda t: f"{epoch(t, 1000)}", 1000, ""),
    "epoch in nanoseconds": (lambda t: f"{epoch(t, SECOND)}000", 1, ""),
    "us": (lambda t: f"{t:%m/%d/%Y %I:%M:%S %p}", SECOND, ""),
    "us with 24 hours": (lambda t: f"{t:%m/%d/%Y %H:%M:%S}", SECOND, ""),
    "iso of CRI": (lambda t: f"{t:%Y-%m-%dT%H:%M:%S.%f}789Z stderr F", 1, ""),
    "json of docker": (lambda t: f'{{"log":"one\\n","stream":"stdout","time":"{t:%Y-%m-%dT%H:%M:%S.%f}000Z"}}', 1, ""),
    "json with a number": (lambda t: f'{{"level":"info","ts":{epoch(t)}.{t.microsecond:06},"n":[1,{{}}]}}', 1, ""),
    "json with milliseconds": (lambda t: f' {{ "ts" : {epoch(t, 1000)} }}', 1000, ""),
    "json with a key": (lambda t: f'{{"time":"1999-01-01T00:00:00Z","created at":"{t:%Y-%m-%d %H:%M:%S}"}}', SECOND, "json:created at"),
    "json with a pointer": (lambda t: f'{{"a":{{"b":[0,{{"at":"{t:%a %b %d %H:%M:%S %Y}"}}]}}}}', SECOND, "json:/a/b/1/at"),
    "a pattern": (lambda t: f"{t:%d.%m.%Y %H-%M-%S}", SECOND, "%d.%m.%Y %H-%M-%S"),
    "a pattern with seconds": (lambda t: f"T{epoch(t)}", SECOND, "T%s"),
    "a pattern of half a day": (lambda t: f"{t.astimezone(EAST):%y %b %d %I:%M:%S %p +0530}", SECOND, "%y %b %d %I:%M:%S %p %z"),
    "a pattern anywhere": (lambda t: f"step=1 at {t:%Y %j %H:%M:%S.%f}", 1, "*at %Y %j %H:%M:%S.%f"),
}


def generated(form, resolution, seed, lines=150, start=START, shortest=0):
    """A log in a format, whose lines are not in order; some have no time."""
    chosen = random.Random(seed)
    entries = [(each, None) for each in chosen.sample(TRACES, 3)]
    moment = start
    for _ in range(lines):
        moment += chosen.choice((chosen.randrange(90 * SECOND), chosen.randrange(7200 * SECOND), -3000 * SECOND))
        moment = max(moment, start) // resolution * resolution
        text = form(EPOCH + timedelta(microseconds=moment)).encode()
        message = b"" if text.endswith(b"}") else b" done " + b"x" * shortest + chosen.choice((b"", b"\0\xff", "größe".encode()))
        entries.append((text + message + chosen.choice((b"\n", b"\n", b"\r\n")), moment))
        entries += [(each, None) for each in chosen.choices(TRACES, k=chosen.choice((0, 0, 0, 1, 5)))]
    last, moment = entries[-1]
    return [*entries[:-1], (last.rstrip(b"\r\n") + b" ", moment)]


# ---- times -----------------------------------------------------------------------------------------------------------


class Times(EventTest):
    def test_windows_have_the_lines_of_their_time_in_every_format(self):
        for number, (name, (form, resolution, given)) in enumerate(FORMS.items()):
            length = list(LENGTHS)[number % len(LENGTHS)]
            files = [generated(form, resolution, seed) for seed in (number, -number)]
            paths = [self.log(f"{seed}.log", entries, MODIFIED) for seed, entries in enumerate(files)]
            kinds = [given] if given else ["", re.match(r"\w+", name).group()]
            for kind, order in zip(kinds, (paths, paths[::-1])):
                with self.subTest(name=name, length=length, kind=kind):
                    result = self.result("--window", length, "--event-time" + (f"={kind}" if kind else ""), *order)
                    self.assert_windows(result, files, LENGTHS[length])

    def test_seconds_since_the_start_of_the_system_are_seconds_since_1970(self):
        entries = generated(lambda t: f"[{epoch(t):5}.{t.microsecond:06}] usb 1-1:", 1, 3, start=17 * SECOND)
        self.assert_windows(self.result("--window", "1h", "--event-time", self.log("a", entries)), [entries], LENGTHS["1h"])

    def test_local_times_are_converted_as_zoneinfo_does_over_every_change_of_the_clock(self):
        steps = [timedelta(minutes=10 * step) for step in range(-300, 300)]
        for zone, *days in (("Europe/Berlin", (2025, 3, 30), (2025, 10, 26)), ("America/New_York", (2024, 3, 10), (2024, 11, 3)), ("UTC", (2025, 1, 1)),
                            ("Australia/Lord_Howe", (2025, 4, 6), (2025, 10, 5)), ("America/Sao_Paulo", (2018, 11, 4), (2019, 2, 17)),
                            ("Asia/Kathmandu", (1986, 1, 1)), ("Pacific/Apia", (2011, 12, 30)), ("Europe/Dublin", (1971, 10, 31))):  # fmt: skip
            entries = [(b"2025-06-01T12:00:00+02:00 has an offset\n", at("2025-06-01T10:00:00Z"))]
            for local in (datetime(*day) + step for day in days for step in steps):
                moment = microseconds(local.replace(tzinfo=zoneinfo.ZoneInfo(zone)))
                entries.append((f"{local:%Y-%m-%d %H:%M:%S} local\n".encode(), moment))
            random.Random(1).shuffle(entries)
            with self.subTest(zone=zone):
                result = self.result("--window", "10m", "--event-time", "--time-zone", zone, self.log("a", entries))
                self.assert_windows(result, [entries], 600 * SECOND)

    def test_times_that_no_log_of_this_age_has_are_implausible_and_no_dates_are_none(self):
        limit = EPOCH + timedelta(microseconds=MODIFIED, days=3653)
        entries = [(line.encode() + b"\n", moment) for line, moment in (
            ("x", None), ("1970-01-01T00:00:00Z first", 0), ("1969-12-31T23:59:59Z", IMPLAUSIBLE), ("\tat trace", None),
            (f"{limit:%Y-%m-%dT%H:%M:%SZ}", microseconds(limit)), (f"{limit + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}", IMPLAUSIBLE),
            ("9999-12-31T23:59:59Z", IMPLAUSIBLE), ("2024-02-29T00:00:00Z", at("2024-02-29T00:00:00Z")), ("2025-02-29T00:00:00Z", None),
            ("2025-01-01T24:00:00Z", None), ("2016-12-31T23:59:60.5Z", at("2017-01-01T00:00:00.500Z")), ("0001-01-01 00:00:00", IMPLAUSIBLE),
            ("99999999999999999999", None), ('{"time":-1}', IMPLAUSIBLE), ("2025-06-01 00:00:00 CEST", at("2025-06-01T00:00:00Z")))]  # fmt: skip
        result = self.result("--window", "1s", "--event-time", self.log("a", entries, MODIFIED))
        self.assert_windows(result, [entries], SECOND)
        self.assertEqual(result["without_time"]["lines"], 1)

    def test_a_time_without_year_is_the_last_one_before_the_file_was_modified(self):
        line, modified = b"Feb 29 12:00:00 web-1 sshd: hello\n", at("2023-05-05T00:00:00Z")
        entries = [(line, at("2020-02-29T12:00:00Z"))]
        packed = self.log("a.zst", [(zstd(line), None)], modified)
        for path in (self.log("a", entries, modified), packed):
            self.assert_windows(self.result("--window", "1m", "--event-time", path), [entries], 60 * SECOND)
        day = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
        entries = [(f"{day:%b %e %H:%M:%S} web-1\n".encode(), microseconds(day))]
        self.assert_windows(self.result("--window", "1s", "--event-time", stdin_bytes=entries[0][0]), [entries], SECOND)

    def test_a_time_without_year_in_an_archive_is_not_after_the_archive_was_modified(self):
        line, modified = b"Feb 29 12:00:00 web-1 sshd: hello\n", at("2023-05-05T00:00:00Z")
        for name, content in (("a.tar", tar({"a": line})), ("a.zip", zipped({"a": line}))):
            path = self.log(name, [(content, None)], modified)
            with self.subTest(name=name):
                self.assert_windows(self.result("--window", "1m", "--event-time", path), [[(line, at("2020-02-29T12:00:00Z"))]], 60 * SECOND)

    def test_lines_of_megabytes_have_the_time_at_their_beginning(self):
        form, resolution, _ = FORMS["iso"]
        entries = generated(form, resolution, 5, lines=3, shortest=2_300_000)
        long = (b'{"time":"2025-07-01T00:00:00Z","text":"' + b"y" * 1_500_000 + b'"}\n', at("2025-07-01T00:00:00Z"))
        entries = [*entries[:5], (b"z" * 3_000_000 + b"\n", None), long, (b"\n", None), *entries[5:]]
        for options in ((), ("--chunk-size", "64KiB", "-T", "1")):
            result = self.result("--window", "1m", "--event-time", *options, self.log("a", entries, MODIFIED))
            self.assert_windows(result, [entries], 60 * SECOND)

    def test_a_stack_trace_belongs_to_no_other_input(self):
        files = [[(b"2025-01-01 00:00:00 a\n", at("2025-01-01T00:00:00Z"))], [(b"\tat b\n", None)], []]
        paths = [self.log(str(number), entries) for number, entries in enumerate(files)]
        archive = self.file("all.tar", tar({str(number): b"".join(line for line, _ in entries) for number, entries in enumerate(files)}))
        for arguments in (paths, [archive]):
            self.assert_windows(self.result("--window", "1h", "--event-time", *arguments), files, LENGTHS["1h"])

    def test_empty_inputs_have_no_windows(self):
        result = self.result("--window", "1h", "--event-time", "--group-by", "field:1", "--match", "a=a", stdin_bytes=b"")
        self.assertEqual((result["event_windows"], result["groups"], result["matches"]), ([], [], {"a": {"lines": 0, "bytes": 0}}))


class Divided(EventTest):
    """The text is divided anywhere between threads, chunks, frames and pipes."""

    OPTIONS = ("--window", "1h", "--event-time", "--group-by", "field:3", "--match", "done=done", "--match", "at=^\\s+at ")

    def without_inputs(self, result):
        return {name: value for name, value in result.items() if name != "inputs"}

    def test_windows_and_groups_are_the_same_for_all_threads_chunks_and_kinds_of_input(self):
        form, resolution, _ = FORMS["iso after a level"]
        entries = [each for seed in range(4) for each in generated(form, resolution, seed, lines=2000)[:-1]]
        entries[6000:6000] = [(b"\tat a.trace(that is longer than any frame)\n", None)] * 12_000
        entries[9000:9000] = [(b"9999-01-01 00:00:00 x y z\n", IMPLAUSIBLE)]
        entries[15000:15000] = [(b"INFO [main] 2025-12-30 00:00:00 longer than frames " + b"y" * 400_000 + b" done\n", at("2025-12-30T00:00:00Z")), (b"\tat b\n", None)]
        data = b"".join(line for line, _ in entries)
        expected = self.result(*self.OPTIONS, "-T", "1", self.file("a", data))
        self.assert_windows(expected, [entries], LENGTHS["1h"])
        self.assert_groups(expected, split_lines(data), [item(fields(line), 2) for line in split_lines(data)])
        kinds = {
            "a": data,
            "a.zst": zstd(data),
            "frames.zst": b"".join(zstd(part, "-1") for part in split_parts(data, 30_011)),
            "large.zst": b"".join(zstd(part, "-1") for part in split_parts(data, 150_001)),
            "members.gz": b"".join(gzip.compress(part, 1) for part in split_parts(data, 200_003)),
            "a.tar": tar({"a": data}),
            "a.tar.zst": zstd(tar({"a": data})),
        }
        cases = itertools.product(kinds, ("1", "2", "8"), ("4KiB", "64KiB", "8MiB"))
        for name, threads, chunk in sampled([*cases, ("a", "2", "17"), ("frames.zst", "2", "101")], 12):
            path = self.file(name, kinds[name])
            with self.subTest(name=name, threads=threads, chunk=chunk):
                given = ("-T", threads, "--chunk-size", chunk)
                self.assertEqual(self.without_inputs(self.result(*self.OPTIONS, *given, path)), self.without_inputs(expected))
                if chunk == "64KiB":
                    result = self.result(*self.OPTIONS, *given, stdin_bytes=kinds[name])
                    self.assertEqual(self.without_inputs(result), self.without_inputs(expected))

    def test_parts_of_a_large_plain_file_are_those_of_the_text(self):
        form, resolution, _ = FORMS["iso"]
        block = generated(form, resolution, 9, lines=4000, shortest=40)
        block[-1] = (block[-1][0] + b"\n", block[-1][1])
        repeated, trace = (4, 3) if SANITIZED else (80, 20)
        text = b"".join(line for line, _ in block)
        no_time = [(b"\tat a.trace(of several parts)\n", None)] * 35_000
        data = text * repeated + b"".join(line for line, _ in no_time) * trace + text * repeated
        self.assertGreater(len(data), 0 if SANITIZED else 64 << 20)
        one, other = (by_value(window_numbers([entries], LENGTHS["1h"])) for entries in (block, [*block, *block]))
        last = [window for _, window in window_numbers([block], LENGTHS["1h"])][-1]
        expected = {}
        for window, lines in other.items():  # the first block differs from the others, which begin in a window
            first, both = counted(one[window]), counted(lines)
            count = lambda name: first[name] + (2 * repeated - 1) * (both[name] - first[name])
            expected[window] = [count(name) + (trace * 35_000 * (1 if name == "lines" else len(no_time[0][0])) if window == last else 0) for name in ("lines", "bytes")]
        path = self.file("large", data)
        results = [self.result(*self.OPTIONS, "-T", threads, "--chunk-size", chunk, path) for threads, chunk in (("1", "8MiB"), ("2", "64KiB"), ("8", "1MiB"), ("2", "8MiB"))]
        found = {at(each["event_start"]): [each["lines"], each["bytes"]] for each in results[0]["event_windows"]}
        found["without_time"] = [results[0]["without_time"][name] for name in ("lines", "bytes")]
        self.assertEqual(found, expected)
        for each in results[1:]:
            self.assertEqual(each, results[0])


# ---- matches ---------------------------------------------------------------------------------------------------------


class Matches(EventTest):
    # of equal meaning in Python, for lines of ASCII
    EXPRESSIONS = (
        r"ERROR", r"^ERROR", r"ERROR$", r"^$", r"x*", r"a.c", r"a.*c$", r"[0-9]{3,5}", r"\d+ms\b", r"\bfoo\b", r"\Bfoo", r"(?i)error", r"foo|bar|baz",
        r"^(GET|POST) /[a-z]+", r"[^a-z ]+$", r"\s$", r"\S+\s+\S+\s+\S+", r"x?y+z*", r"(ab){2,}", r"(?:a|b)c(?:d|e)?f", r"\.", r"\[error\]",
        r"[\w.]+@[\w.]+", r"\x41\x42", r"\t", r"a{0}b", r"[a-f0-9]{8}", r"(?s).foo", r"\W\d", r"^.{20,}$", r"\x00", r"o{2}.*?o{2}", r"^\S+$", r"\r$")  # fmt: skip
    TOKENS = (b"ERROR", b"error", b"foo", b"bar ", b" ", b" ", b"a", b"c", b"f", b"abab", b"12ms", b"4711", b"GET /", b"x.y@z", b"[error]", b"AB", b"\t",
              b"deadbeef", b"\0", b"\r", b"yz", b"B")  # fmt: skip

    def lines(self, tokens, count, seed=1):
        chosen = random.Random(seed)
        lines = [b"".join(chosen.choices(tokens, k=chosen.choice((0, 1, 2, 3, 6, 30)))) + b"\n" for _ in range(count)]
        return [*lines, b"ERROR at the end"]

    def options(self, expressions):
        return [each for number, expression in enumerate(expressions) for each in ("--match", f"e{number}={expression}")]

    def expected(self, lines, selects):
        """Lines and bytes of each expression, and those of lines without a match."""
        numbers = [[each for each in lines if holds(each.removesuffix(b"\n"))] for holds in selects]
        return [{"lines": len(each), "bytes": sum(map(len, each))} for each in numbers]

    def test_lines_match_as_in_python(self):
        lines = self.lines(self.TOKENS, 6000)
        path = self.file("a", b"".join(lines))
        for flags, options in ((0, ()), (re.IGNORECASE, ("--match-ignore-case",))):
            compiled = [re.compile(each.encode(), flags) for each in self.EXPRESSIONS]
            for more in ((), ("-T", "2", "--chunk-size", "4KiB"), ("--chunk-size", "17")):
                result = self.result(*self.options(self.EXPRESSIONS), *options, *more, path)
                for expression, expected, found in zip(self.EXPRESSIONS, self.expected(lines, [each.search for each in compiled]), result["matches"].values()):
                    self.assertEqual(found, expected, (expression, flags, more))
                self.assertEqual(result["unmatched"]["lines"], 0)  # x* matches every line

    def test_strings_in_archives_of_many_frames_match_as_in_python(self):
        tokens = (*self.TOKENS, b"connection reset", b"connection", b"time", b"out", b"KISS ", "\u212ai\u017fs".encode(), b"x" * 300)
        data = b"".join(self.lines(tokens, 12_000, 3)) + b"x" * 50_000 + b"timeout" + b"x" * 40_000 + b"\n\n"
        lines = [each + b"\n" for each in data.removesuffix(b"\n").split(b"\n")]
        strings = ("ERROR", "connection reset", "(?i)timeout", r"x\.y@z", "(?i)kiss", "a", "x" * 200, "f ")
        fold = {"\u212a".encode(): b"k", "\u017f".encode(): b"s"}

        def holds(string):
            wanted = re.sub(r"\\(.)", r"\1", string.removeprefix("(?i)")).encode()
            if not string.startswith("(?i)"):
                return lambda line: wanted in line
            return lambda line: wanted.lower() in re.sub(b"|".join(fold), lambda match: fold[match.group()], line).lower()

        expected = self.expected(lines, [holds(each) for each in strings])
        on_device = ("--device-decode", "on") if ENGINE == "cuda" else ()
        for size, first in ((5_000_000, False), (100_000, False), (100_000, True), (3001, False)):
            with self.subTest(size=size, first=first):
                frames = (data[at : at + size] for at in range(0, len(data), size))
                path = self.file("a.zst", b"".join(zstd(each, f"--stream-size={len(each)}") for each in frames))
                result = self.result(*self.options(strings), *on_device, *["--match-first"] * first, "--stats", path)
                if first:
                    self.assertEqual(sum(each["lines"] for each in (*result["matches"].values(), result["unmatched"])), len(lines))
                else:
                    self.assertEqual(list(result["matches"].values()), expected)
                if on_device:
                    self.assertEqual(result["stats"]["engine"]["decoded_on_device"]["text_bytes"], len(data))

    def test_the_first_match_only_adds_up_to_all_lines(self):
        lines = self.lines(self.TOKENS, 3000, 2)
        expressions = [each for each in self.EXPRESSIONS if each not in ("x*", r"^.{20,}$", r"\S+\s+\S+\s+\S+")] * 3  # more than 64
        compiled = [re.compile(each.encode()) for each in expressions]
        first = collections.Counter(next((number for number, each in enumerate(compiled) if each.search(line.removesuffix(b"\n"))), None) for line in lines)
        result = self.result(*self.options(expressions), "--match-first", "--each", "line", self.file("a", b"".join(lines)))
        self.assertEqual([each["lines"] for each in result["matches"].values()], [first[number] for number in range(len(expressions))])
        self.assertEqual(result["unmatched"]["lines"], first[None])
        self.assertEqual(sum(first.values()), result["units"]["seen"])

    def test_lines_match_as_in_ripgrep_also_if_they_are_not_utf8(self):
        self.require("rg")
        tokens = (*(each.encode() for each in ("größe", "GRÖSSE", "検索", "é", "ü", "ß", "x", "y", " ", "\u00a0", "٣", "12", "_", "Ω", "\u2028", "ſ", "\u212a")), b"\xff", b"\xc3", b"\xe6\xa4", b"\r", b"\0")
        path = self.file("a", b"".join(self.lines(tokens, 4000, 3)))
        expressions = (r"größe", r"gr.ße", r"\w+ße", r"(?i)GRÖßE", r"\p{Lu}", r"\p{Han}", r"^\w+$", r"\d", r"\bü", r"[à-ü]", r"[^a-z]", r"^.+$", r"ÿ", r"x.y",
                       r"\s", r"ß\b", r"\W", r"検索?", r"[[:alpha:]]{3}", r"\x{e9}", r"^$", r"(?i)k", r"(?i)s", r"\Bx", r"x{2,}|é{2}", r"[^\w\s]", r"\D$")  # fmt: skip
        result = self.result(*self.options(expressions), path)
        of_ascii = {r"\w": "[0-9A-Za-z_]", r"\W": "[^0-9A-Za-z_]", r"\d": "[0-9]", r"\D": "[^0-9]", r"\s": r"[\t\f\r ]", r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)"}
        for expression, found in zip(expressions, result["matches"].values()):
            typed = re.sub(r"\\[wWdDsbB]", lambda match: of_ascii[match.group()], expression)
            counted_by_rg = subprocess.run(["rg", "--no-config", "-a", "-c", "-e", typed, path], stdout=subprocess.PIPE).stdout
            with self.subTest(expression=expression):
                self.assertEqual(found["lines"], int(counted_by_rg or 0))

    def test_a_filter_keeps_and_drops_the_lines_that_grep_does(self):
        self.require("grep")
        data = b"".join(self.lines(self.TOKENS, 3000, 4)) + b"\n"
        path = self.file("a", data)
        for expression in ("ERROR|4711", "^(GET|foo)", "[a-f]{3}$", "ab+a"):
            for option, inverted in (("--keep-if", ()), ("--drop-if", ("-v",))):
                expected = subprocess.run(["grep", "-a", "-E", *inverted, expression, path], stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}).stdout
                for more in ((), ("-T", "2", "--chunk-size", "64KiB")):
                    ended = run("filter", "-q", "--match", f"e={expression}", option, "match(e)", *more, path, engine=None)
                    self.assertEqual((ended.status, ended.stdout == expected), (0, True), (expression, option))
        ended = run("filter", "-q", "--match", "e=ERROR", "--match", "g=^GET", "--keep-if", "match(e) && !match(g) && bytes > 20", path, engine=None)
        self.assertEqual(ended.stdout, b"".join(each for each in split_lines(data) if b"ERROR" in each and not each.startswith(b"GET") and len(each) > 20))


# ---- groups ----------------------------------------------------------------------------------------------------------


class Written(str):
    """A number of JSON as it is written."""


def written(value):
    """A value as it is written in lines without blanks; of a string, its text."""
    if isinstance(value, list):
        return f"[{','.join(f'{chr(34)}{each}{chr(34)}' if type(each) is str else written(each) for each in value)}]"
    return value if isinstance(value, str) else json.dumps(value)


def json_value(line, *path):
    """The value at a path; None: there is none."""
    try:
        value = json.loads(line.decode(), parse_int=Written, parse_float=Written)
    except ValueError:
        return None
    for step in path:
        if isinstance(value, list):
            value = dict(zip(map(str, itertools.count()), value))
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return written(value).encode()


class Groups(EventTest):
    def lines(self, count=1500, seed=1):
        """Lines of several formats, each with what a log of its format states."""
        chosen = random.Random(seed)
        made = []
        for _ in range(count):
            n, host = chosen.randrange(30), chosen.choice(("web-1", "db7", "10.0.0.9"))
            level = chosen.choice(("info", "Warning", "ERROR", "fatal"))
            name = {"warning": "WARN"}.get(level.lower(), level.upper())
            status = chosen.choice((200, 404, 500))
            address = f"10.0.{n % 3}.{n}"
            known = {"level": None, "host": None, "app": None, "status": None}
            line, known["template"], more = chosen.choice((
                (f'{address} - u{n} [10/Oct/2025:13:55:{n:02} -0700] "GET /a\\"b/{n} HTTP/1.1" {status} {n * 100}', "<ip> - u<num> [<time>] <str> <num> <num>", {"host": address, "status": str(status)}),
                (f"Oct 10 13:55:{n:02} {host} sshd[{n}]: {level}: took {n}.5ms", None, {"host": host, "app": "sshd", "level": name}),
                (f"<34>1 2025-10-10T13:55:{n:02}Z {host} app 7 ID47 - text", None, {"host": host, "app": "app"}),
                (f'{{"level":"{level}","user":"u{n % 4}é\\n","n":{{"v":[{n % 5}.50,null,"x/y"]}},"a/b":true,"user{n % 2}":{n}}}', '{"level":<str>,"user":<str>,"n":{"v":[<num>,null,<str>]},"a/b":true,"user<num>":<num>}'.replace("user<num>", f"user{n % 2}"), {"level": name}),
                (f'{n % 7};"a ""quoted"", {n % 2}",{host},,last', None, {}),
                (f"took {n} ms  for 0x{n:x} of user{n}", "took <num> ms for <hex> of user<num>", {}),
                (f" \tE1010 13:55:{n:02}.123456 7 main.cc:12] ", "E<num> <time> <num> main.cc:<num>]", {}),
                ("", "", {}),
                ("  ", "", {}),
            ))  # fmt: skip
            data = line.encode() + chosen.choice((b"", b"", b"\r"))
            if chosen.random() < 0.1:
                data = b"\xff\xfd " + bytes([0x80 + n]) + b" \0x\xc3"
                known, more = {**dict.fromkeys(known), "template": data.decode("latin-1")}, {}
            made.append((data + b"\n", {**known, **more}))
        return [*made, (b"took 1 ms", {**dict.fromkeys(known), "template": "took <num> ms"})]

    def test_groups_have_the_lines_of_their_key(self):
        made = self.lines()
        lines = [line for line, _ in made]
        path = self.file("a", b"".join(lines))
        texts = [each.removesuffix(b"\n").removesuffix(b"\r") for each in lines]
        blanks = lambda number: lambda text: item(fields(text), number)
        separated = lambda by, number: lambda text: item(text.split(by), number) if text else None

        def column(number, by=","):
            read = lambda text: next(csv.reader([text.decode("latin-1")], delimiter=by), [])
            return lambda text: item([each.encode("latin-1") for each in read(text)], number) if text else None

        def found(pattern):
            def search(text):
                match = re.search(pattern, text)
                return match and match.group(match.re.groups and 1)

            return search

        for options, read in (
            (("field:1",), blanks(0)), (("field:3",), blanks(2)), (("field:-1",), blanks(-1)), (("field:-2",), blanks(-2)), (("field:400",), blanks(399)),
            (("field:2", "--field-separator", ";"), separated(b";", 1)), (("field:-1", "--field-separator", "\\x22"), separated(b'"', -1)),
            (("csv:1",), column(0)), (("csv:3",), column(2)), (("csv:4",), column(3)), (("csv:2", "--field-separator", ";"), column(1, ";")),
            (("json:level",), lambda text: json_value(text, "level")), (("json:user",), lambda text: json_value(text, "user")), (("json:a/b",), lambda text: json_value(text, "a/b")),
            (("json:/n/v/0",), lambda text: json_value(text, "n", "v", "0")), (("json:/n/v",), lambda text: json_value(text, "n", "v")), (("json:/n/v/1",), lambda text: json_value(text, "n", "v", "1")),
            (("json:/a~1b",), lambda text: json_value(text, "a/b")), (("regex:[0-9]+",), found(rb"[0-9]+")), (("regex:user([0-9]*)",), found(rb"user([0-9]*)")), (("regex:(x)?took",), found(rb"(x)?took")),
            (("regex:^",), found(rb"^")), (("name",), lambda text: os.fsencode(path)),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assert_groups(self.result("--group-by", *options, path), lines, map(read, texts))

    def test_columns_of_csv_are_keys_by_their_names(self):
        chosen = random.Random(9)
        paths, lines, keys = [], [], []
        for number, header in enumerate((["id", "status", "user name"], ["user name", "id", "status"], ["status"])):
            rows = [[chosen.choice(("200", "404", 'a "b"', "x,y", "")) for _ in header] for _ in range(3000)]
            made = io.StringIO()
            csv.writer(made, lineterminator="\r\n" if number else "\n").writerows([header, *rows])
            text = made.getvalue().encode()
            paths.append(self.file(f"{number}.csv", text if number else b"\xef\xbb\xbf" + text))
            lines += paths[-1].read_bytes().splitlines(keepends=True)
            keys += [None, *((row[header.index("status")].encode() if any(row) or len(row) > 1 else b"") for row in rows)]
        for options in ((), ("-T", "1"), ("--chunk-size", "4KiB")):
            with self.subTest(options=options):
                self.assert_groups(self.result("--group-by", "csv:status", *options, *paths), lines, keys)
        ran = run("--group-by", "csv:user name", "--format", "json", *paths)
        self.assertIn(f'{paths[2]}: its first line has no column "user name"', ran.stderr)
        self.assertEqual(json.loads(ran.stdout)["without_key"]["lines"], 3001 + 2)
        ran = run("--each", "line", "--where", 'number("csv:stat") > 0', "--format", "json", paths[0])
        self.assertIn('its first line has no column "stat"', ran.stderr)

    def test_parts_of_well_known_formats_are_keys(self):
        made = self.lines()
        for part in ("host", "app", "status", "level", "template"):
            chosen = [(line, known[part]) for line, known in made if part != "template" or known[part] is not None]
            with self.subTest(part=part):
                lines, keys = zip(*((line, None if key is None else key.encode("latin-1")) for line, key in chosen))
                self.assert_groups(self.result("--group-by", part, self.file(part, b"".join(lines))), lines, keys)

    def test_the_groups_with_the_most_lines_are_reported_and_the_others_added(self):
        chosen = random.Random(3)
        lines = [b"%d x\n" % int(chosen.paretovariate(0.4)) for _ in range(20_000)]
        keys = [line.split()[0] for line in lines]
        path = self.file("a", b"".join(lines))
        for most in (1, 7, 1000, 10_000_000):
            for threads in "12":
                with self.subTest(most=most, threads=threads):
                    options = ("--most-groups", str(most)) if most != 1000 else ()
                    self.assert_groups(self.result("--group-by", "field:1", *options, "-T", threads, path), lines, keys, most)

    def test_more_groups_than_the_memory_limit_can_hold_are_exact(self):
        chosen = random.Random(4)
        lines = [b"k%d %s\n" % (chosen.randrange(200_000), b"k1"[: number % 3]) for number in range(150_000 if SANITIZED else 400_000)]
        path = self.file("a", b"".join(lines))
        numbers = collections.Counter(line.split()[0] for line in lines)
        for threads in "12":
            result = self.result("--group-by", "field:1", "--memory-limit", "64MiB", "--threads", threads, path)
            order = sorted(numbers.items(), key=lambda each: (-each[1], each[0]))
            self.assertEqual([(key_of(each), each["lines"]) for each in result["groups"]], order[:1000])
            self.assertEqual((result["number_of_groups"], result["other_groups"]["lines"]), (len(order), sum(count for _, count in order[1000:])))

    def test_groups_have_the_matches_of_their_lines(self):
        lines = [line for line, _ in self.lines()]
        groups = by_value((line, item(fields(line), 0)) for line in lines)
        result = self.result("--group-by", "field:1", "--match", "took=took", "--match", "num=[0-9]", self.file("a", b"".join(lines)))
        for each, of_group in [(result, lines), (result["without_key"], groups[None]), *((each, groups[key_of(each)]) for each in result["groups"])]:
            for found, holds in ((each["matches"]["took"], lambda line: b"took" in line), (each["matches"]["num"], lambda line: bool(re.search(rb"[0-9]", line))),
                                 (each["unmatched"], lambda line: not re.search(rb"took|[0-9]", line))):  # fmt: skip
                expected = [line for line in of_group if holds(line)]
                self.assertEqual(found, {"lines": len(expected), "bytes": sum(map(len, expected))})

    def test_only_lines_count_for_which_the_condition_holds(self):
        lines = [line for line, _ in self.lines()]
        path = self.file("a", b"".join(lines))
        for condition, holds in (("bytes > 30", lambda line: len(line) > 30), ("match(took) && digit > 0.1", lambda line: b"took" in line and sum(each in b"0123456789" for each in line) / len(line) > 0.1),
                                 ('number("field:2") >= 7', lambda line: bool(re.match(rb"\S+\s+[0-9]+(\s|$)", line)) and int(line.split()[1]) >= 7)):  # fmt: skip
            selected = [line for line in lines if holds(line)]
            with self.subTest(condition=condition):
                self.assertGreater(len(selected), 20)
                result = self.result("--group-by", "field:1", "--match", "took=took", "--each", "line", "--where", condition, path)
                self.assert_groups(result, selected, [item(fields(line), 0) for line in selected])
                self.assertEqual(result["matches"]["took"]["lines"] + result["unmatched"]["lines"], len(selected))
                self.assertEqual(result["units"]["seen"], len(lines))

    def test_windows_are_divided_by_key_and_restricted_by_a_condition(self):
        form, resolution, _ = FORMS["iso"]
        entries = generated(form, resolution, 8, lines=1500)
        entries = [(line.replace(b"Z done", b"Z k%d" % (number % 5)), moment) for number, (line, moment) in enumerate(entries)]
        path = self.log("a", entries, MODIFIED)
        for options, holds in (((), lambda line: True), (("--each", "line", "--where", "bytes > 25"), lambda line: len(line) > 25)):
            placed = [(line, window) for line, window in window_numbers([entries], LENGTHS["1h"]) if holds(line)]
            key = lambda line: item(fields(line), 1)
            result = self.result("--window", "1h", "--event-time", "--group-by", "field:2", "--most-groups", "3", *options, path)
            self.assert_groups(result, [line for line, _ in placed], [key(line) for line, _ in placed], 3)
            numbers = collections.Counter((window, key(line)) for line, window in placed)
            shown = [key_of(each) for each in result["groups"]]
            expected = by_value(placed)
            for each in result["event_windows"]:
                start = at(each["event_start"])
                self.assertEqual(each["lines_by_group"], [numbers[start, name] for name in shown])
                self.assertEqual(counts(each), counted(expected[start]))
            self.assertEqual(len(result["event_windows"]), len([each for each in expected if isinstance(each, int)]))

    def test_records_have_keys_matches_and_times(self):
        data = b"2025-01-01 00:00:00 a\nsecond\0 k b\0\0 2025-01-01 01:30:00 a\n\0"
        records = [each + b"\0" for each in data.split(b"\0")[:-1]]
        result = self.result("--each", "record", "--group-by", "field:-1", "--match", "a=a", "--window", "1h", "--event-time", self.file("a", data))
        with_a = [each for each in records if b"a" in each]
        self.assertEqual(result["matches"]["a"], {"lines": len(with_a), "bytes": sum(map(len, with_a))})
        self.assertEqual(result["unmatched"], {"lines": len(records) - len(with_a), "bytes": len(data) - sum(map(len, with_a))})
        self.assert_groups(result, records, [b"a\nsecond", b"b", None, b"a\n"])
        self.assertEqual([each["lines"] for each in result["event_windows"]], [3, 1])


class Numbers(EventTest):
    def test_quantiles_and_the_highest_are_those_of_the_numbers(self):
        chosen = random.Random(6)
        values = [chosen.choice(("12", "3.5", "-7", "+9", "1e2", "x", "", "0x10", "nan", "1_000", "12ms", str(chosen.randrange(200)))) for _ in range(3000)]
        lines = [f"a b c d e f g h i {value} k\n".encode() if value else b"a b\n" for value in values]
        path = self.file("a", b"".join(lines))
        numbers = sorted((float(value), -number) for number, value in enumerate(values) if re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?(e[0-9]+)?", value))
        result = self.result("--each", "line", "--distribution-of", 'number("field:10")', "--top", '25:number("field:10")', path)
        found = result["units"]["distribution"]
        self.assertEqual((found["units"], found["without_value"]), (len(numbers), len(lines) - len(numbers)))
        self.assertEqual((found["lowest"], found["highest"]), (numbers[0][0], numbers[-1][0]))
        for percent, value in zip((50, 90, 99, 99.9), found["quantiles"].values()):
            self.assertEqual(value, numbers[math.ceil(round(percent * len(numbers), 6) / 100) - 1][0], percent)
        top = sorted(numbers, key=lambda each: (-each[0], -each[1]))[:25]
        self.assertEqual([(each["value"], each["unit"]) for each in result["units"]["top"]], [(value, 1 - number) for value, number in top])
        ended = run("filter", "-q", "--keep-if", 'number("field:10") >= 100', path, engine=None)
        self.assertEqual(ended.stdout, b"".join(lines[number] for number in sorted(-each for value, each in numbers if value >= 100)))

    def test_numbers_of_json_csv_and_expressions_are_read(self):
        path = self.file("a", b'{"n":{"v":"12"}},7,took 3ms\n{"n":1},8\n,9,took -3ms\n')
        for selector, units in (("csv:2", [1, 2, 3]), (r"regex:took ([-0-9]+)", [1, 3]), ("csv:1", []), ("json:n", [])):
            ended = run("--format", "jsonl", "--each", "line", "--where", f'number("{selector}") > -5', path)
            self.assertEqual([each["unit"] for each in ended.documents_of("unit")], units, selector)


# ---- conditions, formats, jobs ---------------------------------------------------------------------------------------


class Conditions(EventTest):
    DATA = b"2025-01-01 00:00:00 ERROR a\n" + b"2025-01-01 00:10:00 INFO b\n" * 30 + b"2025-01-01 01:00:00 ERROR c\n\tat d\n" + b"no\n"

    def test_a_condition_on_matches_fails_the_run_and_is_reported(self):
        path = self.file("a", self.DATA)
        share = "match(error) / lines > 0.05"
        window = "2025-01-01T01:00:00Z"
        for options, status, messages, alerts in (
            (("--fail-if", share), 3, [f"--fail-if '{share}' holds for {path}, bytes 0 to 874, lines 1 to 34: match(error) = 2, lines = 34"], [("--fail-if", "input", None)]),
            (("--fail-if", share, "--watch", "totals"), 3, [f"--fail-if '{share}' holds for the totals, 874 bytes: match(error) = 2, lines = 34"], [("--fail-if", "total", None)]),
            (("--fail-if", "match(error) / lines > 0.06"), 0, [], []),
            (("--alert-if", "match(error) > 1", "--watch", "totals"), 0, ["--alert-if 'match(error) > 1' holds for the totals, "], [("--alert-if", "total", None)]),
            (("--fail-if", share, "--window", "1h", "--event-time", "--watch", "windows"), 3, [f"holds for the event window {window}, 37 bytes: match(error) = 1, lines = 3"], [("--fail-if", "event_window", window)]),
            (("--fail-if", share, "--window", "1h", "--event-time", "--watch", "totals"), 3, ["holds for the totals, "], [("--fail-if", "total", None)]),
            (("--fail-if", share, "--window", "1h", "--event-time"), 3, [f"holds for {path}", "holds for the event window"], [("--fail-if", "input", None), ("--fail-if", "event_window", window)]),
            (("--fail-if", share, "--window", "1h", "--event-time", "--watch", "totals,windows"), 3, ["holds for the event window", "holds for the totals"], [("--fail-if", "event_window", window), ("--fail-if", "total", None)]),
            (("--alert-if", "bytes > 100", "--window", "1h", "--event-time", "--watch", "windows"), 0, ["holds for the event window 2025-01-01T00:00:00Z, 837"], [("--alert-if", "event_window", "2025-01-01T00:00:00Z")]),
            (("--fail-if", "match(error) == 0 && digit > 2", "--window", "1h", "--event-time"), 0, [], []),
        ):  # fmt: skip
            with self.subTest(options=options):
                size = str(len(self.DATA))
                ended = run("--format", "jsonl", "--match", "error=ERROR", *options, path)
                self.assertEqual(ended.status, status, ended)
                self.assertEqual(len(ended.stderr.splitlines()), len(messages), ended.stderr)
                for message, line in zip(messages, ended.stderr.splitlines()):
                    self.assertIn(message.replace("874", size).replace("837", str(len(self.DATA) - 37)), line)
                found = [(each["option"], each["of"], each.get("event_start")) for each in ended.documents_of("alert")]
                self.assertEqual(found, alerts)

    def test_lines_of_a_condition_are_those_of_the_report_also_without_a_final_line_feed(self):
        path = self.file("a", b"2025-01-01 00:00:00 ERROR")
        ended = run("--format", "jsonl", "--match", "error=ERROR", "--window", "1h", "--event-time", "--watch", "windows", "--fail-if", "match(error) / lines > 0.05", path)
        (window,) = ended.result["event_windows"]
        self.assertEqual((window["lines"], ended.status, len(ended.documents_of("alert"))), (1, 3, 1), ended)


class Formats(EventTest):
    OPTIONS = ("--group-by", "field:3", "--match", "error=ERROR", "--window", "1h", "--event-time")
    DATA = b"x\n2025-01-01 00:00:00 ERROR a\n" + b"2025-01-01 01:10:00 INFO b\n" * 30 + b'9999-01-01 00:00:00 "q",\xff c\n'

    def test_csv_has_rows_for_matches_groups_and_windows(self):
        path = self.file("a", self.DATA)
        result = self.result(*self.OPTIONS, path)
        printed = run("--format", "csv", *self.OPTIONS, path).stdout.decode("utf-8", "surrogateescape")
        rows = collections.defaultdict(dict)
        for kind, name, scheme, bucket, count, share in csv.reader(io.StringIO(printed)):
            rows[kind, name][scheme, bucket] = (count, share)
        parts = [(("group", os.fsdecode(key_of(each))), each) for each in result["groups"]] + [(("without_key", ""), result["without_key"])]
        parts += [(("event_window", each["event_start"]), each) for each in result["event_windows"]]
        parts += [((name, ""), result[name]) for name in ("without_time", "implausible_time")]
        for owner, each in parts:
            with self.subTest(owner=owner):
                found = rows.get(owner, {})
                self.assertEqual([found.get(("", name), [None])[0] for name in ("lines", "bytes")], [str(each["lines"]), str(each["bytes"])])
                self.assertEqual(found["match", "error"][0], str(each["matches"]["error"]["lines"]))
                self.assertEqual({name: found["classes", name][0] for name in each["buckets"]["classes"]}, {name: str(count) for name, count in each["buckets"]["classes"].items()})
                self.assertAlmostEqual(float(found["", "lines"][1]), each["lines"] / 33)
        self.assertEqual((rows["match", "error"]["", "lines"][0], rows["unmatched", ""]["", "lines"][0]), ("1", "32"))

    def test_the_table_shows_when_the_lines_of_a_group_were_written(self):
        lines_by_minute = {"a": [8, 0, 1, 4], "b": [0, 0, 5, 0]}
        lines = [f"2025-10-10T13:{10 + minute}:00Z {key}\n" for key, numbers in lines_by_minute.items() for minute, number in enumerate(numbers) for _ in range(number)]
        path = self.file("a.log", "".join(lines).encode())
        table = run("--group-by", "field:2", "--window", "1m", "--event-time", path, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.decode()
        for key, numbers in lines_by_minute.items():
            [row] = [line for line in table.splitlines() if line.startswith(f"{key} ")]
            cell = row.split("%")[1].split()[0]
            shown = ["▁▂▃▄▅▆▇█".index(each) for each in cell]
            self.assertEqual(len(shown), len(numbers))
            self.assertEqual([level == 0 for level in shown], [number == 0 for number in numbers])
            self.assertEqual([level == 7 for level in shown], [number == max(numbers) for number in numbers])
        self.assertNotIn("over time", run("--group-by", "field:2", path).stdout.decode())

    def test_the_table_has_a_row_for_each_match_group_and_window(self):
        printed = run(*self.OPTIONS, self.file("a", self.DATA)).stdout.decode()
        rows = [re.split(r"  +", line.strip())[:4] for line in printed.splitlines()]
        for row in (["error", "1", "28", "3.03 %"], ["(unmatched)", "32", "840", "96.97 %"], ["2025-01-01T00:00:00Z", "1", "28", "3.03 %"], ["2025-01-01T01:00:00Z", "30", "810", "90.91 %"],
                    ["(without time)", "1", "2", "3.03 %"], ["INFO", "30", "810", "90.91 %"], ["(without key)", "1", "2", "3.03 %"]):  # fmt: skip
            with self.subTest(row=row):
                self.assertIn(row, rows)
        many = self.file("many", b"".join(b"%d\n" % number for number in range(50)))
        self.assertIn("... and 30 groups more (--top all shows 50)\n", run("--group-by", "field:1", many).stdout.decode())
        listed = run("--group-by", "field:1", "--top", "3", "--totals-only", many).stdout.decode()
        self.assertIn("... and 47 groups more (--top all shows 50)\n", listed)
        self.assertEqual([line.split()[0] for line in listed.split("field:1 ")[1].splitlines()[1:4]], ["0", "1", "10"])
        self.assertNotIn("more", run("--group-by", "field:1", "--top", "all", many).stdout.decode())


    def test_measures_of_groups_and_windows_are_those_of_their_text(self):
        data = b"".join(b"2025-01-01 00:%02d:00 %s\n" % (minute, b"ab" * minute) for minute in range(4))
        options = ("--window", "1m", "--event-time", "--group-by", "field:3", "--measures", "entropy,jsd", "--baseline", "previous:2", "--format", "json")
        found = run(*options, self.file("a", data)).result
        for number, (line, window) in enumerate(zip(data.splitlines(True), found["event_windows"])):
            counts = collections.Counter(line)
            self.assertAlmostEqual(window["measures"]["entropy"]["value"], -sum(n / len(line) * math.log2(n / len(line)) for n in counts.values()))
            self.assertEqual(window["measures"]["jsd"].get("baseline_size"), sum(map(len, data.splitlines(True)[max(0, number - 2) : number])) or None)
            self.assertEqual(window["buckets"]["classes"]["lower"], 2 * number)
        self.assertTrue(all("entropy" in each["measures"] for each in found["groups"]))


    def test_long_lines_are_read_up_to_the_same_byte_whatever_the_chunks(self):
        data = b"short ERROR\n" * 500 + (b"x" * 1_200_000 + b"ERROR\n") * 12 + b"y" * 1_000_000 + b"ERROR\n"
        path = self.file("a", data)
        for options in (("-T", "1"), ("-T", "8", "--chunk-size", "64KiB"), ("--chunk-size", "4MiB")):
            for expression, expected in (("ERR[O]R", 501), ("ERROR", 513)):  # a string is searched in the whole line
                found = run("--memory-limit", "64MiB", "--match", f"e={expression}", "--format", "json", *options, path).result
                self.assertEqual(found["matches"]["e"]["lines"], expected, (expression, options))

    def test_a_filter_counts_the_lines_that_are_kept(self):
        data = b"a ERROR\n" * 3 + b"b INFO\n" * 2 + b"b ERROR"
        kept = self.folder / "kept"
        for option, expected in (("--keep-if", {"a": 3, "b": 1}), ("--drop-if", {"b": 2})):
            result = self.folder / "result.jsonl"
            ended = run("filter", option, "match(e)", "--match", "e=ERROR", "--group-by", "field:1", "--result", result, "-o", kept, self.file("a", data), engine=None)
            self.assertEqual(ended.status, 0, ended)
            groups = json.loads(result.read_bytes().splitlines()[-1])["groups"]
            self.assertEqual({each["key"]: each["lines"] for each in groups}, expected)


class Jobs(BatchTest):
    OPTIONS = ("--group-by", "field:2", "--match", "done=done", "--match", "trace=^\\s+at ", "--window", "1h", "--event-time")

    def inputs_of_all_kinds(self):
        for number, (form, resolution, given) in enumerate(FORMS.values()):
            if not given:
                data = b"".join(line for line, _ in generated(form, resolution, number, lines=600))
                packed = (data, zstd(data), tar({"a": data, "b": data[:1000]}), gzip.compress(data), b"".join(map(zstd, split_parts(data, 9_001))))
                self.input(f"{number:02}", packed[number % len(packed)])
        self.input("large", b"".join(line for line, _ in generated(*FORMS["iso"][:2], 77, lines=30_000)))
        for each in self.inputs.iterdir():
            os.utime(each, (MODIFIED // SECOND,) * 2)

    def totals(self, folder):
        return json.loads((folder / "total.json").read_bytes())

    def test_the_total_of_a_job_is_that_of_a_run_also_if_it_is_divided_or_killed(self):
        self.inputs_of_all_kinds()
        ended = run("-r", "--format", "json", *self.OPTIONS, self.inputs)
        self.assertEqual(ended.status, 0, ended)
        expected = {name: value for name, value in ended.result.items() if name != "inputs"}
        start = time.monotonic()
        self.batch(*self.OPTIONS, self.inputs)
        duration = time.monotonic() - start
        self.assertEqual({name: self.totals(self.out)[name] for name in expected}, expected)
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        shards = self.folder / "shards"
        for number in (2, 3, 1):
            self.batch("--manifest", manifest, *self.OPTIONS, "--shard", f"{number}/3", out=shards)
        self.assertEqual(run("merge", shards, engine=None).status, 0)
        self.assertEqual(self.totals(shards), self.totals(self.out))
        chosen = random.Random(1)
        for number in range(3):
            out = self.folder / f"killed-{number}"
            for _ in range(3):
                with Running("batch", "--engine", ENGINE, *self.OPTIONS, self.inputs, "--output-dir", out, engine=None) as running:
                    time.sleep(chosen.uniform(0, duration))
                    running.process.send_signal(signal.SIGKILL)
                    running.finish()
            self.batch(*self.OPTIONS, self.inputs, out=out)
            self.assertEqual(self.totals(out), self.totals(self.out))

    def test_conditions_on_matches_are_checked_for_the_total_of_a_job(self):
        for name in "ab":
            self.input(name, Conditions.DATA)
        ended = self.batch("--match", "error=ERROR", "--fail-if", "match(error) / lines > 0.05", self.inputs, status=3)
        for place in (self.inputs / "a", self.inputs / "b", "the totals"):
            self.assertIn(f"holds for {place}, ", ended.stderr)

    def test_conditions_on_event_windows_are_checked_for_the_windows_of_a_job(self):
        self.input("a", Conditions.DATA)
        options = ("--match", "error=ERROR", "--fail-if", "match(error) / lines > 0.05", "--window", "1h", "--event-time", "--watch", "windows")
        ended = self.batch(*options, self.inputs, status=3)
        self.assertIn("holds for the event window 2025-01-01T01:00:00Z", ended.stderr)


class ShownText(EventTest):
    LINES = [b"a 1", b"bb \xff 22 " + b"x" * 500, b"", b"ccc 333", b"no digit", b"dddd 4444"]

    def shown(self, data, *options):
        ended = run("--each", "line", "--where", "digit > 0", "--show-text", "--format", "jsonl", *options, stdin_bytes=data)
        self.assertEqual(ended.status, 0, ended)
        units = [json.loads(line) for line in ended.stdout.splitlines() if json.loads(line)["kind"] == "unit"]
        return [base64.b64decode(each["text_base64"]) if "text_base64" in each else each["text"].encode() for each in units]

    def test_selected_lines_have_the_beginning_of_their_text(self):
        data = b"\n".join(self.LINES * 300)
        expected = [line[:400] for line in self.LINES * 300 if any(byte in b"0123456789" for byte in line)]
        for options in ((), ("--threads", "1"), ("--threads", "3", "--chunk-size", "64"), ("--chunk-size", "1KiB")):
            self.assertEqual(self.shown(data, *options), expected, options)
        path = self.file("a.zst", b"".join(map(zstd, split_parts(data, 999))))
        ended = run("--each", "line", "--top", "2:bytes", "--show-text", "--format", "json", path)
        self.assertEqual([base64.b64decode(each["text_base64"]) for each in ended.result["units"]["top"]], [self.LINES[1][:400]] * 2)

    def test_text_is_shown_only_if_it_is_asked_for(self):
        path = self.file("a", b"\n".join(self.LINES))
        self.assertNotIn(b"ccc", run("--each", "line", "--where", "digit > 0", path).stdout)
        shown = run("--each", "line", "--where", "digit > 0", "--show-text", "--top", "1:digit", path).stdout
        self.assertIn(b", digit 0.375: ccc 333\n", shown)
        self.assertIn(b"\n    ccc 333\n" if b"\n    ccc 333\n" in shown else b"\n    dddd 4444\n", shown)


class Usage(EventTest):
    def test_invalid_options_are_refused_with_the_cause(self):
        path = self.file("a", b"2025-01-01 00:00:00 a\n")
        events = ("--window", "1h", "--event-time")
        for arguments, *words in (
            (("--each", "line", "--match", "error=x", "--where", "bytes > 1 && match(eror)"), "--where: there is no --match of this name; did you mean error?\n    bytes > 1 && match(eror)\n                 ^\n"),
            (("--fail-if", "match(a) > 1"), "--fail-if: there is no --match of this name", "    ^\n"),
            (("--fail-if", 'number("field:1") > 1'), "--fail-if: ", "is read of lines", "    ^\n"),
            (("--each", "line", "--where", 'number("feld:1") > 1'), "--where: ", 'there is no kind "feld"', "did you mean field?"),
            (("--group-by", "feld:1"), "--group-by: ", 'there is no kind "feld"', "did you mean field?"), (("--group-by", "field:0"), "--group-by", "field"), (("--group-by", "field"), "--group-by", "missing"),
            (("--group-by", "csv:-1"), "--group-by"), (("--group-by", "regex:("), "--group-by", "RE2"), (("--group-by", "level:x"), "--group-by", "has no argument"), (("--group-by", "json:/~2"), "--group-by", "~0"),
            (("--match", "a=(?<=x)y"), "--match: ", "look-behind", "    (?<=x)y\n    ^\n"), (("--match", r"a=(x)\1"), "--match: ", "^"), (("--match", "a=("), "--match: ", "^"), (("--match", "x"), "--match", "NAME=REGEX"), (("--match", "a=x", "--match", "a=y"), "--match", "occurs twice"),
            (("--event-time",), "--event-time: requires --window"), (("--window", "1MiB", "--event-time"), "--window: is a time with --event-time"), (("--window", "5lines", "--event-time"), "--window"),
            (("--window", "auto", "--event-time", "--follow"), "--window: needs a length"), (("--allowed-lateness", "1s"), "--allowed-lateness: requires --event-time"),
            ((*events, "--time-zone", "Europe/Berln"), "--time-zone: ", "did you mean Europe/Berlin?"),
            ((*events[:2], "--event-time=is"), "--event-time: ", '"is"', "iso"), ((*events[:2], "--event-time=%H"), "--event-time: ", "no month"), ((*events[:2], "--event-time=%Q"), "--event-time: ", '"%Q" is unknown'), ((*events[:2], "--event-time=json:"), "--event-time: "),
            (("--each", "line", "--top", '3:number("feld:1")'), "--top: ", "did you mean field?"), (("--each", "line", "--distribution-of", 'number("feld:1")'), "--distribution-of: ", "did you mean field?"),
            (("--group-by", "field:1", "--resume", "r.jsonl"), "--resume: cannot be combined with --group-by"), (("--match", "a=a", "--resume", "r.jsonl"), "--resume: "),
            ((*events, "--step", "1m"), "--step: "), ((*events, "--per-input"), "--per-input: ", "--group-by name"), (("--time-zone", "UTC"), "--time-zone: requires --event-time"),
            (("--most-groups", "5"), "--most-groups: requires --group-by"), (("--match-first",), "--match-first: requires --match"), (("--match-ignore-case",), "--match-ignore-case: requires --match"),
            (("--group-by", "field:1", "--most-groups", "0"), "--most-groups: 0 is out of range"), (("--group-by", "field:1", "--field-separator", "ab"), "--field-separator: ", "one byte"),
            (("--group-by", "field:1", "--each", "4KiB"), "--group-by: ", "--each line"), ((*events, "--each", "input"), "--event-time: ", "--each line"), (("--match", "a=a", "--each", "input"), "--match: ", "--each line"),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments, path), *words)

    def test_the_help_that_options_refer_to_exists(self):
        ended = run("--help", "events", engine=None)
        self.assertEqual(ended.status, 0, ended)
        for word in ("--event-time", "--group-by", "--match", "template", "clf"):
            self.assertIn(word, ended.stdout.decode())


if __name__ == "__main__":
    main()
