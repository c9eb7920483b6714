"""gpuhist changes: the planted faults of generated logs are found, quiet logs have none, and the result does not depend on
how the logs are stored and read."""

import bz2
import gzip
import json
import pathlib
import random
from datetime import datetime

import change_logs
from support import ENGINE, CommandTest, main, run, tar, zstd

SCALE = 1.0
FOUND = 3  # exit status


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run_changes(*arguments, **how):
    return run("changes", "--engine", ENGINE, *arguments, engine=None, **how)


def changes(*arguments, status=None, **how):
    ended = run_changes("--format", "json", *arguments, **how)
    if status is not None and ended.status != status:
        raise AssertionError(ended)
    return json.loads(ended.stdout)


class ChangeTest(CommandTest):
    def made(self, make, scale=SCALE):
        folder = self.folder / make.__name__
        return folder, make(folder, scale)

    def found(self, *arguments, **how):
        return changes(*arguments, **how)["changes"]

    def compared(self, result):
        """What must not depend on how logs are read: all but the names of compressed inputs."""
        return {key: result[key] for key in ("changes", "streams", "streams_in_lines", "not_compared", "lines", "without_time")}


class DataSets(ChangeTest):
    def test_eight_faults_in_twenty_services_come_first(self):
        folder, faults = self.made(change_logs.services)
        result = changes(folder, status=FOUND)
        found = result["changes"]
        self.assertEqual(result["streams"], 20)
        by_stream = {str(folder / each["stream"]): each for each in faults}
        self.assertEqual({each["stream"] for each in found[:8]}, set(by_stream), found)
        for each in found[:8]:
            fault = by_stream[each["stream"]]
            self.assertLessEqual(abs(seconds_of(each["start"]) - fault["start"]), each["window_seconds"], (each, fault))
            self.assertIn(fault["text"], each.get("text", fault["text"]))
            self.assertEqual(each["evidence"], max(part["evidence"] for part in each["differences"]))
        self.assertEqual([each["evidence"] for each in found], sorted((each["evidence"] for each in found), reverse=True))
        self.assertLessEqual(len(found), 9)

    def test_quiet_services_have_at_most_one_change(self):
        folder, _ = self.made(change_logs.quiet)
        result = changes(folder)
        self.assertLessEqual(len(result["changes"]), 1, result["changes"])
        self.assertLess(result["without_time"], 10)  # at the beginning of files
        self.assertEqual(result["streams_in_lines"], 8)

    def test_a_slow_drift_is_the_only_change(self):
        folder, (fault,) = self.made(change_logs.drift)
        found = self.found(folder, status=FOUND)
        self.assertEqual(len(found), 1, found)
        self.assertEqual(found[0]["stream"], str(folder / fault["stream"]))
        self.assertIsNone(found[0]["end"])
        self.assertGreaterEqual(seconds_of(found[0]["start"]), fault["start"])
        self.assertIn("cache miss", found[0]["differences"][0]["words"])
        self.assertIn("cache miss", found[0]["text"])


class Reading(ChangeTest):
    def setUp(self):
        super().setUp()
        self.logs = {}
        for number in (1, 4, 5):  # json, log4j, access
            service = change_logs.Service(f"s{number}/app.log", number, change_logs.FORMS[number], rate=20)
            service.on_minute = lambda minute, to=service: setattr(to, "factor", 5 if 200 <= minute < 230 else 1)
            self.logs[number] = b"".join(service.write(self.folder / "plain"))

    def test_the_result_is_the_same_for_all_threads_chunks_and_orders(self):
        files = sorted(str(each) for each in (self.folder / "plain").rglob("app.log*"))
        expected = self.compared(changes(*files, status=FOUND))
        self.assertEqual(len(expected["changes"]), 3, expected)
        chosen = random.Random(4)
        for options in (("--threads", "1"), ("--threads", "8", "--chunk-size", "4KiB"), ("--threads", "3", "--chunk-size", "64KiB")):
            chosen.shuffle(files)
            self.assertEqual(self.compared(changes(*options, *files)), expected, options)

    def test_compressed_logs_and_archives_have_the_changes_of_their_text(self):
        expected = {number: self.found("-", stdin_bytes=data)[0] for number, data in self.logs.items()}
        for pack, suffix in ((zstd, ".zst"), (lambda data: gzip.compress(data, 1), ".gz"), (bz2.compress, ".bz2"),
                             (lambda data: b"".join(zstd(data[at:at + 50_001]) for at in range(0, len(data), 50_001)), ".zst")):
            for number, data in self.logs.items():
                path = self.file(f"app.log{suffix}", pack(data))
                (found,) = self.found(path, status=FOUND)
                self.assertEqual(found["stream"], str(path)[:-len(suffix)])
                self.assertEqual(found["input"], str(path))
                for key in ("start", "end", "evidence", "differences", "line", "offset", "text"):
                    self.assertEqual(found[key], expected[number][key], (suffix, number))

    def test_the_first_line_is_the_one_at_its_place(self):
        for each in self.found(self.folder / "plain", status=FOUND):
            path = pathlib.Path(each["input"])
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            line = data.split(b"\n")[each["line"] - 1]
            self.assertEqual(line[:400], each["text"].encode())
            self.assertEqual(data[each["offset"]:each["offset"] + len(line)], line)

    def test_a_long_log_does_not_hide_the_change_of_a_short_one(self):
        ticks = self.file("long.log", b"".join(b"%sT%02d:00:00Z tick\n" % (change_logs.text_of(change_logs.START - day * 86400, "%Y-%m-%d").encode(), hour)
                                                for day in range(300, 0, -1) for hour in range(24)))  # fmt: skip
        for (key, value), other in zip(self.found(self.folder / "plain/s1")[0].items(), self.found(self.folder / "plain/s1", ticks, status=FOUND)[0].values()):
            if key not in ("evidence", "differences"):  # evidence depends on the number of comparisons
                self.assertEqual(value, other, key)

    def test_jsonl_has_each_input_once(self):
        output = self.folder / "j.jsonl"
        timeless = self.file("timeless.log", b"".join(b"a %d\n" % i for i in range(9000)))
        run_changes("--format", "jsonl", "-o", output, timeless, self.folder / "plain")
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual(sorted(each["name"] for each in lines if each["kind"] == "input").count(str(timeless)), 1)
        self.assertEqual(lines[-1]["streams_in_lines"], 1)
        self.assertEqual(lines[-1]["lines"], 9000 + sum(data.count(b"\n") for data in self.logs.values()))

    def test_a_job_finds_what_the_command_finds_however_it_is_divided(self):
        expected = changes(self.folder / "plain")
        table = run_changes("--top", "all", self.folder / "plain").stdout
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run("batch", "plan", self.folder / "plain", "-o", manifest, engine=None).status, 0)
        for shards in (1, 3):
            out = self.folder / f"job{shards}"
            statuses = []
            for number in range(1, shards + 1):
                shard = ("--manifest", manifest, "--shard", f"{number}/{shards}") if shards > 1 else (self.folder / "plain",)
                statuses.append(run("batch", "--changes", "--engine", ENGINE, "--output-dir", out, *shard, engine=None).status)
            if shards > 1:
                self.assertEqual(statuses, [0] * shards)
                statuses = [run("merge", out, engine=None).status]
            self.assertEqual(statuses, [FOUND])
            self.assertEqual(self.compared(json.loads((out / "total.json").read_text())), self.compared(expected))
            self.assertEqual((out / "changes.txt").read_bytes(), table)
        quiet = self.file("quiet.log", b"".join(b"2026-11-23T%02d:%02d:00Z x\n" % (minute // 60, minute % 60) for minute in range(1200)))
        ended = run("batch", "--changes", "--engine", ENGINE, "--output-dir", self.folder / "quiet", quiet, engine=None)
        self.assertEqual((ended.status, json.loads((self.folder / "quiet/total.json").read_text())["changes"]), (0, []))

    def test_members_of_archives_without_times_are_named(self):
        data = b"".join(b"a %d\n" % i for i in range(9000))
        ended = run_changes(self.file("x.tar", tar({"t.log": data, "s1/app.log": self.logs[1]})))
        self.assertEqual(ended.status, FOUND, ended)
        self.assertIn("x.tar/t.log: most lines have no time", ended.stderr)
        self.assertIn("1 change in 1 log:", ended.stdout.decode())

    def test_rotated_files_are_one_log(self):
        result = changes(self.folder / "plain")
        self.assertEqual(result["streams"], 3)
        self.assertEqual([each["stream"].rsplit("/", 1)[1] for each in result["changes"]], ["app.log"] * 3)

    def test_matches_are_compared_as_kinds_are(self):
        lines = [f"2026-11-23T{at // 60:02}:{at % 60:02}:{s:02}Z user{(at * 60 + s) * 7919 % 1000} wrote {'a' * ((at * 7 + s) % 9)}{'SECRET' if at >= 300 and s % 5 == 0 else ''}"
                 for at in range(600) for s in range(60)]
        data = "\n".join(lines).encode() + b"\n"
        found = self.found("--match", "leak=SECRET", "-", stdin_bytes=data, status=FOUND)
        leaks = [part for each in found for part in each["differences"] if part["what"] == "match"]
        self.assertEqual([(part["of"], part["before"], round(part["inside"], 3)) for part in leaks], [("leak", 0, 0.2)])

    def test_a_given_window_is_used(self):
        result = changes("--window", "20m", self.folder / "plain")
        self.assertEqual({each["window_seconds"] for each in result["changes"]}, {1200})
        self.assertTrue(all(seconds_of(each["start"]) % 1200 == 0 for each in result["changes"]), result["changes"])


class WithoutTimes(ChangeTest):
    def lines(self, first=0, number=30_000, at=20_000):
        chosen = random.Random(first)
        for i in range(first, first + number):
            word = chosen.choice(("read", "write", "seek", "open"))
            yield f"disk failed at {chosen.randrange(1000)}" if i >= at and chosen.random() < 0.1 else f"{word} of block {chosen.randrange(10**6)}"

    def test_logs_without_times_are_compared_in_windows_of_lines(self):
        (self.folder / "logs").mkdir()
        old, new = ("\n".join(self.lines(first)).encode() + b"\n" for first in (0, 30_000))
        self.file("logs/disk.log.1", old)
        self.file("logs/disk.log", new)
        self.file("logs/other.log", b"2026-11-23T00:00:00Z a\n")
        result = changes(self.folder / "logs", status=FOUND)
        (found,) = result["changes"]
        self.assertEqual(found["stream"], str(self.folder / "logs/disk.log"))
        self.assertEqual(found["input"], str(self.folder / "logs/disk.log.1"))
        self.assertIn("disk failed at <num>", found["differences"][0]["words"])
        self.assertLessEqual(abs(found["line"] - 20_000), found["window_lines"])
        self.assertIn("disk failed", found["text"])
        self.assertNotIn("start", found)
        typed = changes("--window", "500lines", self.folder / "logs", status=FOUND)
        self.assertIn("disk failed", typed["changes"][0]["text"])

    def test_a_stream_without_times_is_named_with_the_remedy(self):
        data = "\n".join(self.lines()).encode()
        ended = run_changes(stdin_bytes=data)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("most lines have no time", ended.stderr)
        self.assertIn("--window 1000lines", ended.stderr)
        self.assertIn("not compared: ", ended.stdout.decode())
        self.assertEqual(run_changes("--window", "1000lines", stdin_bytes=data).status, FOUND)


class Shown(ChangeTest):
    def test_the_table_has_place_words_and_first_line_of_each_change(self):
        folder, _ = self.made(change_logs.services, 0.25)
        ended = run_changes(folder)
        self.assertEqual(ended.status, FOUND)
        self.assertRegex(ended.stdout.decode(), r"(?m)^1\. \S+app\.log  2026-11-23T\d\d:\d\d:00Z (to|until)")
        self.assertIn("lines of the kind `", ended.stdout.decode())
        self.assertRegex(ended.stdout.decode(), r"(?m)^    first line: \S+, line [\d,]+\n    \S")
        self.assertRegex(ended.stdout.decode(), r"(?m)^    last seen in ")
        self.assertRegex(ended.stdout.decode().splitlines()[-1], r"^\d changes in 20 logs: [\d,]+ lines, in windows of \d+m( to \d+m)?$")
        shown = run_changes("--top", "2", folder).stdout.decode()
        self.assertIn("2. ", shown)
        self.assertNotIn("3. ", shown)
        self.assertIn("more (--top all shows all)", shown)

    def test_csv_has_a_row_for_each_difference(self):
        folder, _ = self.made(change_logs.services, 0.25)
        rows = [line.split(",") for line in run_changes("--format", "csv", folder).stdout.decode().splitlines() if line.startswith("change,")]
        expected = [(each["stream"], part["what"], part["lines"]) for each in changes(folder)["changes"] for part in each["differences"]]
        self.assertEqual([(row[1], row[2]) for row in rows], [each[:2] for each in expected])

    def test_nothing_to_compare_is_no_change(self):
        for data in (b"", b"\n", b"2026-11-23T00:00:00Z a\n"):
            ended = run_changes(stdin_bytes=data)
            self.assertEqual(ended.status, 0, ended)
            self.assertIn("0 changes in 0 logs: ", ended.stdout.decode())

    def test_a_missing_input_fails_and_the_others_are_compared(self):
        folder, _ = self.made(change_logs.services, 0.25)
        ended = run_changes(folder, self.folder / "missing")
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("missing", ended.stderr)
        self.assertIn("service00", ended.stdout.decode())

    def test_options_that_do_not_fit_are_refused(self):
        path = self.file("a", b"a\n")
        for arguments, words in ((("--format", "prometheus"), "cannot hold changes"), (("--group-by", "field:1"), "not an option of gpuhist changes"),
                                 (("--window", "64MiB"), "is a time"), (("--event-time=nonsense",), "nonsense")):
            ended = run_changes(*arguments, path)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn(words, ended.stderr)


if __name__ == "__main__":
    main()
