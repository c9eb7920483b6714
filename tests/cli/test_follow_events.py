"""Live use of what is read of lines: --follow and streams with --match, --group-by and windows of event time that close
while the run lasts (--allowed-lateness); compared with oracles of datetime and collections."""

import collections
import csv
import io
import json
import random
import re
import signal
import subprocess
import time
from datetime import datetime, timedelta, timezone

from support import CommandTest, Running, feed, main, run, tar, wait_until, zstd
from test_events import SECOND, at, counted, counts

START = at("2025-10-10T13:00:00+00:00")
JSONL = ("--format", "jsonl")
MINUTES = ("--window", "1m", "--event-time")


def stamp(moment):
    """A time in microseconds as text."""
    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=moment)).isoformat(timespec="milliseconds")


def line_at(moment, text="INFO"):
    return f"{stamp(moment)} {text}\n".encode()


def shuffled_log(seed, lines=3000):
    """Lines with their times in microseconds: some without one, some out of order, a few of them by minutes."""
    numbers = random.Random(seed)
    now = START
    made = []
    for number in range(lines):
        now += numbers.randrange(400_000)
        if numbers.random() < 0.1:
            made.append((f"  at com.example.Line{number}\n".encode(), None))
            continue
        behind = numbers.choice((0, 0, 0, 1, 3, 20, 90)) * numbers.randrange(SECOND)
        moment = (now - behind) // 1000 * 1000
        made.append((line_at(moment, numbers.choice(("INFO started", "ERROR failed", "WARN slow"))), moment))
    return made


def closed_windows(entries, length, lateness):
    """The lines of each window, and those that are late: a window is closed when the latest time so far is that of its
    end and the lateness. Lines without a time belong to the line before."""
    windows, late, without = collections.defaultdict(list), [], []
    latest, to = None, without
    for line, moment in entries:
        if moment is not None:
            is_late = latest is not None and moment < (latest - lateness) // length * length
            to = late if is_late else windows[moment // length * length]
            latest = moment if latest is None else max(latest, moment)
        to.append(line)
    return {start: lines for start, lines in sorted(windows.items()) if lines}, late, without


def matches(lines, **expressions):
    found = {}
    for name, expression in expressions.items():
        matching = [line for line in lines if re.search(expression, line)]
        found[name] = {"lines": len(matching), "bytes": sum(map(len, matching))}
    return found


def of_kind(printed, kind):
    """The complete lines of a kind so far."""
    return [each for each in map(json.loads, printed.split(b"\n")[:-1]) if each["kind"] == kind]


def windows_in(running):
    return of_kind(running.printed(), "event_window")


class LiveTest(CommandTest):
    def assert_windows(self, found, expected, length):
        self.assertEqual([at(each["event_start"]) for each in found], list(expected))
        for each in found:
            self.assertEqual(at(each["event_end"]) - at(each["event_start"]), length)
            self.assertEqual(counts(each), counted(expected[at(each["event_start"])]), each["event_start"])

    def stop(self, running, number=signal.SIGTERM):
        running.process.send_signal(number)
        ended = running.finish()
        self.assertEqual(ended.status, -number, ended)
        return ended


class ClosingWindows(LiveTest):
    def test_windows_and_late_lines_are_those_of_an_oracle_and_add_up_to_all_lines(self):
        for seed, length, lateness in ((1, 60, 10), (2, 7, 0), (3, 60, 3600), (4, 1, 30)):
            with self.subTest(length=length, lateness=lateness):
                entries = shuffled_log(seed)
                expected, late, without = closed_windows(entries, length * SECOND, lateness * SECOND)
                ended = run(*JSONL, "--window", f"{length}s", "--event-time", "--allowed-lateness", f"{lateness}s", "--match",
                            "error=ERROR", stdin_bytes=b"".join(line for line, _ in entries))
                self.assertEqual(ended.status, 0, ended)
                found = ended.documents_of("event_window")
                self.assert_windows(found, expected, length * SECOND)
                for each in found:
                    self.assertEqual(each["matches"], matches(expected[at(each["event_start"])], error=b"ERROR"))
                    self.assertEqual(each["matches"]["error"]["lines"] + each["unmatched"]["lines"], each["lines"])
                self.assertEqual(counts(ended.result["late"]) if late else None, counted(late) if late else None)
                if late:
                    self.assertEqual(ended.result["late"]["matches"], matches(late, error=b"ERROR"))
                parts = [*found, ended.result.get("late"), ended.result.get("without_time")]
                self.assertEqual(sum(each["lines"] for each in parts if each), len(entries))
                self.assertEqual(sum(each["bytes"] for each in parts if each), ended.result["bytes"])
                self.assertEqual(ended.result["matches"], matches([line for line, _ in entries], error=b"ERROR"))
                self.assertNotIn("event_windows", ended.result)

    def test_the_last_windows_close_at_the_end_and_are_marked(self):
        lines = [line_at(START + minute * 60 * SECOND) for minute in range(4)]
        ended = run(*JSONL, *MINUTES, "--allowed-lateness", "90s", stdin_bytes=b"".join(lines))
        self.assertEqual([each["closed_by"] for each in ended.documents_of("event_window")], ["time", "end", "end", "end"])

    def test_what_is_late_does_not_depend_on_chunks_threads_or_the_way_of_the_text(self):
        entries = shuffled_log(5, 20_000)
        data = b"".join(line for line, _ in entries)
        options = (*JSONL, "--window", "5s", "--event-time", "--allowed-lateness", "2s", "--group-by", "level")
        content = lambda ended: [{key: value for key, value in each.items() if key not in ("run", "name", "format", "compressed_bytes", "counted_with")}
                                 for each in ended.documents]
        expected = content(run(*options, stdin_bytes=data))
        path = self.file("a.log", data)
        packed = self.file("a.log.zst", zstd(data[:400_000]) + zstd(data[400_000:]))
        for given in ((path,), ("--chunk-size", "4KiB", "--threads", "3", path), ("--threads", "1", path), (packed,),
                      ("--threads", "4", packed)):
            with self.subTest(given=given):
                ended = run(*options, *given)
                self.assertEqual(content(ended), expected)
        slow = Running(*options, stdin=subprocess.PIPE)
        with slow:
            feed(slow, [data[at : at + 777] for at in range(0, len(data), 777)])
            slow.process.stdin.close()
            self.assertEqual(content(slow.finish()), expected)

    def test_a_window_of_groups_has_its_own_groups_and_the_result_has_those_of_all_lines(self):
        entries = shuffled_log(6)
        expected, late, without = closed_windows(entries, 60 * SECOND, 5 * SECOND)
        level = lambda line: (re.search(rb"ERROR|INFO|WARN", line) or [None])[0]
        ended = run(*JSONL, *MINUTES, "--allowed-lateness", "5s", "--group-by", "level", stdin_bytes=b"".join(line for line, _ in entries))
        for each in ended.documents_of("event_window"):
            lines = expected[at(each["event_start"])]
            groups = collections.Counter(filter(None, map(level, lines)))
            self.assertEqual({group["key"].encode(): group["lines"] for group in each["groups"]}, dict(groups))
            self.assertEqual(each["number_of_groups"], len(groups))
        self.assertEqual({group["key"].encode(): group["lines"] for group in ended.result["groups"]},
                         dict(collections.Counter(filter(None, (level(line) for line, _ in entries)))))

    def test_formats_without_lines_have_all_windows_and_the_late_lines_at_the_end(self):
        entries = shuffled_log(7)
        data = b"".join(line for line, _ in entries)
        expected, late, _ = closed_windows(entries, 60 * SECOND, 2 * SECOND)
        self.assertTrue(late)
        options = (*MINUTES, "--allowed-lateness", "2s")
        result = run("--format", "json", *options, stdin_bytes=data).result
        self.assert_windows(result["event_windows"], expected, 60 * SECOND)
        self.assertEqual(counts(result["late"]), counted(late))
        rows = list(csv.DictReader(io.StringIO(run("--format", "csv", *options, stdin_bytes=data).stdout.decode())))
        (lines,) = (row["count"] for row in rows if row["kind"] == "late" and row["bucket"] == "lines")
        self.assertEqual(int(lines), len(late))
        table = run(*options, stdin_bytes=data).stdout.decode()
        self.assertRegex(table, rf"\n\(late\) +{len(late)} ")

    def test_a_report_of_a_result_ignores_the_lines_of_windows(self):
        data = b"".join(line for line, _ in shuffled_log(10))
        path = self.file("w.jsonl", run(*JSONL, *MINUTES, "--allowed-lateness", "2s", "--byte-counts", stdin_bytes=data).stdout)
        shown = run("report", "--format", "json", path, engine=None)
        self.assertEqual((shown.status, shown.result["bytes"]), (0, len(data)), shown)

    def test_a_time_far_in_the_future_closes_no_windows(self):
        future = datetime.now(timezone.utc) + timedelta(days=400)
        lines = [line_at(START), f"{future.isoformat()} wrong clock\n".encode(), line_at(START + SECOND)]
        ended = run(*JSONL, *MINUTES, "--allowed-lateness", "0s", stdin_bytes=b"".join(lines))
        self.assertEqual([each["lines"] for each in ended.documents_of("event_window")], [2, 1])
        self.assertNotIn("late", ended.result)

    def test_conditions_are_checked_for_each_window_once_also_in_comparison_with_the_windows_before(self):
        entries = shuffled_log(8)
        data = b"".join(line for line, _ in entries)
        expected, _, _ = closed_windows(entries, 60 * SECOND, 10 * SECOND)
        for form in ("jsonl", "json"):
            ended = run("--format", form, *MINUTES, "--allowed-lateness", "10s", "--match", "error=ERROR", "--alert-if",
                        "match(error) / lines > 0.3", "--watch", "windows", stdin_bytes=data)
            share = lambda lines: matches(lines, error=b"ERROR")["error"]["lines"] / len(lines)
            holding = [start for start, lines in expected.items() if share(lines) > 0.3]
            found = [at(each) for each in re.findall(r"holds for the event window (\S+),", ended.stderr)]
            self.assertEqual(found, holding)
        at_end = run(*JSONL, *MINUTES, "--baseline", "previous:2", "--alert-if", "jsd > 0.0001", "--watch", "windows",
                     stdin_bytes=b"".join(sorted(line for line, moment in entries if moment)))
        live = run(*JSONL, *MINUTES, "--baseline", "previous:2", "--alert-if", "jsd > 0.0001", "--watch", "windows", "--allowed-lateness",
                   "10s", stdin_bytes=b"".join(sorted(line for line, moment in entries if moment)))
        alerts = lambda ended: [(each["event_start"], each["values"]) for each in ended.documents_of("alert")]
        self.assertTrue(alerts(live))
        self.assertEqual(alerts(live), alerts(at_end))
        kinds = [each["kind"] for each in live.documents]
        self.assertTrue(all(kinds[number - 1] in ("event_window", "alert") for number, kind in enumerate(kinds) if kind == "alert"))

    def test_fail_fast_ends_the_run_when_a_condition_holds_for_a_window_that_closes(self):
        with Running(*JSONL, *MINUTES, "--allowed-lateness", "0s", "--match", "error=ERROR", "--fail-if", "match(error) > 0", "--watch",
                     "windows", "--fail-fast", stdin=subprocess.PIPE) as running:
            feed(running, [line_at(START, "ERROR"), line_at(START + 61 * SECOND)])  # the stream stays open
            ended = running.finish()
        self.assertEqual(ended.status, 3, ended)
        self.assertEqual([each["lines"] for each in ended.documents_of("event_window")], [1, 1])

    def test_what_cannot_close_is_refused_with_the_remedy(self):
        path = self.file("a.log", line_at(START))
        other = self.file("b.log", line_at(START))
        members = self.file("c.tar", tar({"a.log": line_at(START)}))
        late = ("--allowed-lateness", "10s")
        for given, message in (
            ((*late, path), "--allowed-lateness: requires --event-time"),
            ((*MINUTES, *late, path, other), "--allowed-lateness: requires --follow, or one input"),
            ((*MINUTES, *late, "-r", self.folder), "--allowed-lateness: requires --follow, or one input"),
            (("--window", "auto", "--event-time", *late, path), "--window: needs a length for windows that close"),
        ):
            with self.subTest(given=given):
                ended = run(*given)
                self.assertEqual((ended.status, ended.stdout), (2, b""), ended)
                self.assertIn(message, ended.stderr)
        ended = run(*MINUTES, *late, members)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("is an archive, and --allowed-lateness is for one text", ended.stderr)


class LiveStreams(LiveTest):
    def test_windows_are_written_while_the_stream_is_open(self):
        with Running(*JSONL, *MINUTES, "--allowed-lateness", "10s", stdin=subprocess.PIPE) as running:
            for minute in range(5):
                moment = START + minute * 60 * SECOND
                feed(running, [line_at(moment), line_at(moment + 30 * SECOND), line_at(moment + 69 * SECOND)])
                wait_until(lambda: len(windows_in(running)) == minute)
                feed(running, [line_at(moment + 70 * SECOND)])
                wait_until(lambda: len(windows_in(running)) == minute + 1)
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(sum(each["lines"] for each in ended.documents_of("event_window")), ended.result["lines"])

    def test_a_window_of_now_closes_by_the_clock_if_no_line_follows(self):
        now = round(time.time() * SECOND)
        lines = [line_at(now, "ERROR one"), line_at(now, "ERROR two")]
        with Running(*JSONL, "--window", "1s", "--event-time", "--allowed-lateness", "200ms", stdin=subprocess.PIPE) as running:
            feed(running, lines)
            wait_until(lambda: len(windows_in(running)) == 1)
            self.assertEqual(counts(windows_in(running)[0]), counted(lines))
            feed(running, [line_at(now, "late")])
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual(ended.result["late"]["lines"], 1)
        self.assertEqual(len(ended.documents_of("event_window")), 1)


class FollowedLines(LiveTest):
    def follow(self, *arguments):
        return Running("--follow", *JSONL, *arguments)

    def append(self, path, *lines):
        with path.open("ab") as log:
            log.write(b"".join(lines))

    def snapshot(self, running):
        found = of_kind(running.printed(), "snapshot")
        return found[-1] if found else {"lines": 0}

    def test_snapshots_and_the_result_have_matches_and_groups(self):
        paths = [self.file("a.log", b"INFO one\nERROR two\n"), self.file("b.log", b"WARN three\n")]
        with self.follow("--snapshot-every", "50ms", "--match", "error=ERROR", "--group-by", "level", "--then-by", "name", *paths) as running:
            wait_until(lambda: self.snapshot(running)["lines"] == 3)
            self.append(paths[1], b"ERROR four\n", b"ERROR five\n")
            wait_until(lambda: self.snapshot(running)["lines"] == 5)
            seen = self.snapshot(running)
            self.assertEqual(seen["matches"]["error"]["lines"], 3)
            ended = self.stop(running)
        expected = {("ERROR", str(paths[1])): 2, ("ERROR", str(paths[0])): 1, ("INFO", str(paths[0])): 1, ("WARN", str(paths[1])): 1}
        for result in (seen, ended.result):
            self.assertEqual({(each["key"], each["then_key"]): each["lines"] for each in result["groups"]}, expected)
        self.assertEqual(ended.result["matches"]["error"], {"lines": 3, "bytes": 32})
        self.assertIs(ended.result["complete"], True)

    def test_conditions_about_matches_are_checked_for_the_lines_so_far(self):
        path = self.file("a.log", b"ERROR one\n")
        with self.follow("--match", "error=ERROR", "--alert-if", "match(error) >= 3", "--snapshot-every", "50ms", path) as running:
            wait_until(lambda: self.snapshot(running)["lines"] == 1)
            self.append(path, b"ERROR two\n", b"ERROR three\n")
            wait_until(lambda: of_kind(running.printed(), "alert"))
            self.append(path, b"ERROR four\n")
            wait_until(lambda: self.snapshot(running)["lines"] == 4)
            ended = self.stop(running)
        (alert,) = ended.documents_of("alert")  # when it begins to hold
        self.assertEqual((alert["of"], alert["values"]["match(error)"]), ("input", 3))

    def test_logs_that_were_written_before_have_no_late_lines_whichever_is_read_first(self):
        entries = [[(line_at(START + second * SECOND, f"file {number}"), START + second * SECOND) for second in range(3600)]
                   for number in range(3)]
        paths = [self.file(f"{number}.log", b"".join(line for line, _ in each)) for number, each in enumerate(entries)]
        with self.follow(*MINUTES, "--chunk-size", "8KiB", *paths) as running:
            wait_until(lambda: len(windows_in(running)) >= 59)
            ended = self.stop(running)
        expected, _, _ = closed_windows([each for one in entries for each in one], 60 * SECOND, 3600 * SECOND)
        self.assert_windows(ended.documents_of("event_window"), expected, 60 * SECOND)
        self.assertNotIn("late", ended.result)

    def test_signals_end_with_the_totals_of_all_lines(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            entries = shuffled_log(9)
            path = self.file("a.log", b"".join(line for line, _ in entries))
            expected, late, without = closed_windows(entries, 60 * SECOND, 10 * SECOND)
            with self.subTest(number=number), self.follow(*MINUTES, "--match", "error=ERROR", path) as running:
                wait_until(lambda: windows_in(running))
                ended = self.stop(running, number)
            self.assert_windows(ended.documents_of("event_window"), expected, 60 * SECOND)
            self.assertEqual(ended.result["late"]["lines"], len(late))
            self.assertEqual(ended.result["matches"], matches([line for line, _ in entries], error=b"ERROR"))
            self.assertEqual(ended.result["lines"], len(entries))

    def test_a_command_gets_the_alert_of_a_window_that_closes_while_the_run_lasts(self):
        now = round(time.time() * SECOND)
        path = self.file("a.log", line_at(now - 3 * SECOND, "INFO"))
        out = self.folder / "out"
        with self.follow("--window", "1s", "--event-time", "--allowed-lateness", "500ms", "--match", "error=ERROR", "--alert-if",
                         "match(error) / lines > 0.05", "--watch", "windows", "--exec", f"cat >> '{out}'", path) as running:
            wait_until(lambda: windows_in(running))
            burst = round(time.time() * SECOND)
            self.append(path, line_at(burst, "ERROR one"), line_at(burst, "ERROR two"))  # and nothing more
            wait_until(lambda: out.exists() and out.read_text().endswith("\n"))
            alert = json.loads(out.read_text())
            self.assertEqual((alert["of"], at(alert["event_start"]), alert["values"]["match(error)"]),
                             ("event_window", burst // SECOND * SECOND, 2))
            self.stop(running)

    def test_a_file_that_is_replaced_does_not_continue_a_line(self):
        path = self.file("a.log", b"ERROR one\nERROR tw")
        with self.follow("--snapshot-every", "50ms", "--match", "error=^ERROR", "--group-by", "field:2", path) as running:
            wait_until(lambda: self.snapshot(running).get("bytes") == 18)
            path.rename(self.folder / "a.log.1")
            path.write_bytes(b"ERROR three\n")
            wait_until(lambda: self.snapshot(running)["bytes"] == 30)
            ended = self.stop(running)
        self.assertEqual(ended.result["matches"]["error"]["lines"], 3)
        self.assertEqual([each["key"] for each in ended.result["groups"]], ["one", "three", "tw"])

    def test_units_that_are_selected_are_reported_as_they_are_appended(self):
        path = self.file("a.log", b"12345678\nabc\n")
        with self.follow("--each", "line", "--where", "digit > 0.5", "--top", "1:bytes", path) as running:
            wait_until(lambda: len(of_kind(running.printed(), "unit")) == 1)
            self.append(path, b"no\n", b"123456789\n")
            wait_until(lambda: len(of_kind(running.printed(), "unit")) == 2)
            ended = self.stop(running)
        self.assertEqual([(each["line"], each["offset"]) for each in ended.documents_of("unit")], [(1, 0), (4, 16)])
        self.assertEqual(ended.result["units"]["top"][0]["line"], 4)


if __name__ == "__main__":
    main()
