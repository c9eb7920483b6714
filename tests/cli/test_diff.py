"""gpuhist diff: what differs between the logs of two folders is found and nothing else, results are compared by their
counts, and the result does not depend on how the logs are stored. The oracle is a Counter."""

import collections
import gzip
import json
import pathlib
import random

import change_logs
from support import ENGINE, CommandTest, main, run, tar, zstd

FOUND = 3  # exit status


def run_diff(*arguments, **how):
    return run("diff", "--engine", ENGINE, *arguments, engine=None, **how)


def diff(*arguments, status=None, **how):
    ended = run_diff("--format", "json", *arguments, **how)
    if status is not None and ended.status != status:
        raise AssertionError(ended)
    return json.loads(ended.stdout)


def service(number, seed, rate=30, hours=3, day=0):
    made = change_logs.Service(f"service{number:02}/app.log", number, change_logs.FORMS[number % len(change_logs.FORMS)], rate,
                               start=change_logs.START + day * change_logs.DAY, length=hours * change_logs.HOUR)
    made.random = random.Random(seed * 1000 + number)
    made.phase = number  # the same cycle on both days
    return made


def kinds_of(result, stream):
    """{what and name: (before, inside)} of the differences of a stream."""
    (change,) = (each for each in result["changes"] if each["stream"] == stream)
    return {(each["what"], each.get("of")): (each["before"], each["inside"]) for each in change["differences"]}


class DiffTest(CommandTest):
    def file(self, name, content):
        (self.folder / name).parent.mkdir(exist_ok=True)
        return super().file(name, content)

    def day(self, name, seed, services=10, faults=None, day=0, **how):
        for number in range(services):
            made = service(number, seed, day=day)
            if faults and number in faults:
                faults[number](made)
            made.write(self.folder / name, **how)
        return self.folder / name


def with_new_kind(made):
    made.kinds.append(change_logs.Kind(8, "ERROR", lambda r: f"upstream timed out 198.51.100.{r.randrange(256)}:443"))


def without_usual_kind(made):
    made.kinds.pop(0)


def with_storm(made):
    made.factor = 4


def with_damage(made):
    made.damage = 0.2


FAULTS = {2: with_new_kind, 3: without_usual_kind, 4: with_storm, 7: with_damage}


class Logs(DiffTest):
    def test_faults_of_one_day_are_found_and_nothing_else(self):
        result = diff(self.day("yesterday", 1), self.day("today", 2, faults=FAULTS, day=1, files=2), status=FOUND)
        self.assertEqual(result["streams"], 10)
        self.assertEqual({each["stream"] for each in result["changes"]}, {f"service{number:02}/app.log" for number in FAULTS})
        self.assertEqual([each["evidence"] for each in result["changes"]], sorted((each["evidence"] for each in result["changes"]), reverse=True))
        new = [each for each in result["changes"] if each["stream"] == "service02/app.log"][0]
        self.assertTrue(any(part["words"].startswith("new: lines of the kind `") and "timed out" in part["of"] for part in new["differences"]), new)
        self.assertIn("upstream timed out", new["text"])
        vanished = [each for each in result["changes"] if each["stream"] == "service03/app.log"][0]
        self.assertTrue(any(part["words"].startswith("vanished: lines of the kind `") for part in vanished["differences"]), vanished)
        self.assertTrue(any(what == "rate" for what, _ in kinds_of(result, "service04/app.log")), result)

    def test_two_quiet_days_do_not_differ(self):
        result = diff(self.day("yesterday", 1), self.day("today", 2, day=1), status=0)
        self.assertEqual((result["changes"], result["streams"]), ([], 10))

    def test_equal_logs_do_not_differ(self):
        yesterday = self.day("yesterday", 1, services=4)
        for other in (yesterday, self.day("copy", 1, services=4, files=1)):
            result = diff(yesterday, other, status=0)
            self.assertEqual([each["lines"] for each in result["sides"]], [result["lines"] // 2] * 2)

    def test_the_line_is_the_first_one_of_b_at_its_place(self):
        yesterday, today = self.day("yesterday", 1, services=3), self.day("today", 2, services=3, faults=FAULTS)
        (found,) = diff(yesterday, today, status=FOUND)["changes"]
        path = pathlib.Path(found["input"])
        self.assertTrue(path.is_relative_to(today), found)
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        line = data.split(b"\n")[found["line"] - 1]
        self.assertEqual(line[:400], found["text"].encode())
        self.assertEqual(data[found["offset"]:found["offset"] + len(line)], line)
        # of what vanished, one of A
        (lost,) = diff(today, yesterday, status=FOUND)["changes"]
        self.assertTrue(lost["is_last_seen"] and pathlib.Path(lost["input"]).is_relative_to(today), lost)

    def test_the_same_logs_differ_in_the_other_order(self):
        folders = self.day("yesterday", 1, services=5), self.day("today", 2, services=5, faults=FAULTS)
        forward, backward = (diff(*order, status=FOUND) for order in (folders, folders[::-1]))
        self.assertEqual([each["stream"] for each in forward["changes"]], [each["stream"] for each in backward["changes"]])
        for each in forward["changes"]:
            there, back = (kinds_of(result, each["stream"]) for result in (forward, backward))
            for part in set(there) & set(back):
                self.assertEqual(there[part], back[part][::-1], part)

    def test_shares_and_lines_are_those_of_a_counter(self):
        chosen = random.Random(3)
        lines = {name: [f"2026-11-23T{at // 60:02}:{at % 60:02}:{chosen.randrange(60):02}Z {chosen.choices(('read', 'write', 'close SECRET'), weights)[0]} {chosen.randrange(99)}"
                        for at in range(600) for _ in range(10)] for name, weights in (("a", (5, 4, 1)), ("b", (5, 2, 3)))}
        for name, each in lines.items():
            self.file(f"{name}.log", "\n".join(each).encode() + b"\n")
        result = diff("--match", "leak=SECRET", self.folder / "a.log", self.folder / "b.log", status=FOUND)
        counts = {name: collections.Counter(line.split(" ")[1] for line in each) for name, each in lines.items()}
        found = kinds_of(result, "a.log and b.log")
        for what, word in ((("kind", "<time> write <num>"), "write"), (("kind", "<time> close SECRET <num>"), "close"), (("match", "leak"), "close")):
            expected = [counts[name][word] / len(lines[name]) for name in "ab"]
            self.assertAlmostEqual(found[what][0], expected[0])
            self.assertAlmostEqual(found[what][1], expected[1])
        match = [part for part in result["changes"][0]["differences"] if part["what"] == "match"]
        self.assertEqual([part["lines"] for part in match], [counts["b"]["close"]])
        self.assertEqual([each["lines"] for each in result["sides"]], [6000, 6000])

    def test_logs_of_one_side_are_listed_and_are_a_difference(self):
        yesterday, today = self.day("yesterday", 1, services=3), self.day("today", 2, services=4)
        (today / "empty.log").write_bytes(b"")
        (yesterday / "old.log.1").write_bytes(b"2026-11-23T00:00:00Z a\n" * 7)
        result = diff(yesterday, today, status=FOUND)
        self.assertEqual(result["changes"], [])
        self.assertEqual(result["sides"][0]["only_here"], [{"stream": "old.log", "lines": 7}])
        (only,) = result["sides"][1]["only_here"]
        self.assertEqual(only["stream"], "service03/app.log")
        self.assertEqual(only["lines"], sum(gzip.decompress(each.read_bytes()).count(b"\n") if each.suffix == ".gz" else each.read_bytes().count(b"\n")
                                            for each in (today / "service03").iterdir()))
        shown = run_diff(yesterday, today).stdout.decode()
        self.assertIn(f"only in {yesterday}: old.log, 7 lines\n", shown)
        self.assertIn(f"only in {today}: service03/app.log, ", shown)
        csv = [line.split(",") for line in run_diff("--format", "csv", yesterday, today).stdout.decode().splitlines()]
        self.assertEqual([row[1] for row in csv if row[0] == "only_here"], ["old.log", "service03/app.log"])

    def test_the_storage_of_the_logs_does_not_matter(self):
        before, after = (b"".join(line.encode("latin-1") + b"\n" for _, line in each.lines()) for each in (service(4, 1), service(4, 2)))
        changed = after.replace(b"fetched", b"lost")
        a, b = self.file("a/app.log", before), self.file("b/app.log", changed)
        expected = diff(a, b, status=FOUND)["changes"]
        self.assertEqual(len(expected), 1)
        archive = self.file("c.tar", tar({"app.log": changed}))
        for first, second in ((self.file("z/app.log.zst", zstd(before)), b), (a, self.file("g/app.log.1.gz", gzip.compress(changed))),
                              (a.parent, b.parent), (a, b.parent), (a.parent, archive), (a, archive)):  # fmt: skip
            for options in ((), ("--threads", "1"), ("--threads", "4", "--chunk-size", "4KiB")):
                (found,) = diff(*options, first, second, status=FOUND)["changes"]
                self.assertEqual(found["stream"], "app.log", (first, second))
                for key in ("differences", "evidence", "line", "offset", "text", "window_seconds"):
                    self.assertEqual(found[key], expected[0][key], (first, second))
        (piped,) = diff(a, "-", stdin_bytes=changed, status=FOUND)["changes"]
        self.assertEqual((piped["differences"], piped["line"]), (expected[0]["differences"], expected[0]["line"]))

    def test_both_sides_have_windows_of_the_same_length(self):
        for seconds, name in ((1, "short"), (60, "long")):
            self.file(f"{name}.log", b"".join(b"%s a\n" % change_logs.text_of(change_logs.START + i * seconds, "%Y-%m-%dT%H:%M:%SZ").encode() for i in range(3000)))
        (found,) = diff(self.folder / "short.log", self.folder / "long.log", status=FOUND)["changes"]
        ((_, (before, inside)),) = kinds_of({"changes": [found]}, found["stream"]).items()
        self.assertEqual(found["differences"][0]["what"], "rate")
        self.assertEqual((before, inside), (found["window_seconds"], found["window_seconds"] / 60))

    def test_a_kind_that_is_rare_on_one_side_has_its_lines_there(self):
        usual = [f"2026-11-23T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z usual {i}" for i in range(36_000)]
        for name, rare in (("a", 9), ("b", 400)):
            lines = list(usual)
            for i in range(rare):
                lines[i * len(lines) // rare] = lines[i * len(lines) // rare].replace("usual", "rare text")
            self.file(f"{name}.log", "\n".join(lines).encode() + b"\n")
        found = kinds_of(diff(self.folder / "a.log", self.folder / "b.log", status=FOUND), "a.log and b.log")
        self.assertEqual(found["kind", "<time> rare text <num>"], (9 / 36_000, 400 / 36_000))

    def test_jsonl_has_the_inputs_of_both_sides_once(self):
        yesterday, today = self.day("yesterday", 1, services=2), self.day("today", 2, services=2)
        output = self.folder / "d.jsonl"
        self.assertEqual(run_diff("-o", output, yesterday, today).status, 0)
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        names = sorted(each["name"] for each in lines if each["kind"] == "input")
        self.assertEqual(names, sorted(str(each) for folder in (yesterday, today) for each in folder.rglob("*") if each.is_file()))
        self.assertEqual(sorted(each["name"] for each in diff(yesterday, today)["inputs"]), names)


class WithoutTimes(DiffTest):
    def lines(self, seed, failed):
        chosen = random.Random(seed)
        return "".join(f"disk failed at {chosen.randrange(1000)}\n" if chosen.random() < failed else f"{chosen.choice(('read', 'write', 'seek'))} of block {chosen.randrange(10**6)}\n"
                       for _ in range(20_000)).encode()  # fmt: skip

    def test_logs_without_times_are_compared_in_windows_of_lines(self):
        for name, seed, failed in (("a", 1, 0.0), ("b", 2, 0.05), ("c", 3, 0.0)):
            self.file(f"{name}/disk.log", self.lines(seed, failed))
            self.file(f"{name}/timed.log", b"".join(b"2026-11-23T00:%02d:%02dZ a\n" % (i // 60, i % 60) for i in range(3600)))
        result = diff(self.folder / "a", self.folder / "b", status=FOUND)
        self.assertEqual((result["streams"], result["streams_in_lines"], result["not_compared"]), (2, 1, 0))
        (found,) = result["changes"]
        self.assertEqual(found["stream"], "disk.log")
        self.assertIn("disk failed at <num>", found["differences"][0]["of"])
        self.assertGreater(found["window_lines"], 0)
        self.assertIn("disk failed", found["text"])
        self.assertEqual(diff(self.folder / "a", self.folder / "c", status=0)["changes"], [])
        typed = diff("--window", "500lines", self.folder / "a", self.folder / "b", status=FOUND)
        self.assertEqual([each["stream"] for each in typed["changes"]], ["disk.log"])

    def test_a_stream_without_times_is_named_with_the_remedy(self):
        a = self.file("a.log", self.lines(1, 0))
        ended = run_diff(a, "-", stdin_bytes=self.lines(2, 0.1))
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("most lines have no time", ended.stderr)
        self.assertIn("not compared: ", ended.stdout.decode())
        self.assertEqual(run_diff("--window", "1000lines", a, "-", stdin_bytes=self.lines(2, 0.1)).status, FOUND)


class Results(DiffTest):
    def counted(self, name, data, *options):
        path, result = self.file(f"{name}.log", data), self.folder / f"{name}.json"
        self.assertEqual(run("--format", "json", "-o", result, *(options or ("--group-by", "kind")), path).status, 0)
        return result

    def lines(self, seed, weights):
        chosen = random.Random(seed)
        words = ("alpha", "beta", "gamma", "delta", "omega")
        return [f"{chosen.choices(words, (*weights, 100))[0]} {chosen.choice(('INFO', 'WARN'))} {chosen.randrange(1000)}" for _ in range(8000)]

    def test_results_have_the_shares_of_a_counter(self):
        a, b = self.lines(1, (70, 20, 10, 0)), self.lines(2, (40, 40, 0, 20))
        results = [self.counted(name, "\n".join(lines).encode() + b"\n", "--group-by", "kind", "--match", "x=[ab]") for name, lines in (("a", a), ("b", b))]
        result = diff(*results, status=FOUND)
        found = kinds_of(result, f"{results[0]} and {results[1]}")
        counts = [collections.Counter(line.rsplit(" ", 1)[0] for line in lines) for lines in (a, b)]
        for kind in counts[0] | counts[1]:
            before, inside = (each[kind] / 8000 for each in counts)
            part = ("kind", f"{kind} <num>")
            if max(before, inside) > 1.25 * min(before, inside):
                self.assertAlmostEqual(found[part][0], before)
                self.assertAlmostEqual(found[part][1], inside)
        words = {part["of"]: part["words"] for part in result["changes"][0]["differences"]}
        self.assertTrue(words["delta INFO <num>"].startswith("new: lines of the kind"), words)
        self.assertTrue(words["gamma WARN <num>"].startswith("vanished: lines of the kind"), words)
        self.assertEqual([each["lines"] for each in result["sides"]], [8000, 8000])
        self.assertEqual(result["by_counts_alone"], 1)

    def test_equal_results_and_those_of_the_same_process_do_not_differ(self):
        a, b = (self.counted(name, "\n".join(self.lines(seed, (70, 20, 10, 0))).encode() + b"\n") for name, seed in (("a", 1), ("b", 2)))
        self.assertEqual(diff(a, a, status=0)["changes"], [])
        self.assertEqual(diff(a, b, status=0)["changes"], [])

    def test_several_results_in_a_file_are_added(self):
        parts = [self.counted(name, "\n".join(self.lines(seed, (70, 20, 10, 0))).encode() + b"\n") for name, seed in (("a", 1), ("b", 2))]
        both = self.file("both.json", b"".join(each.read_bytes() for each in parts))
        self.assertEqual([each["lines"] for each in diff(parts[0], both, status=0)["sides"]], [8000, 16000])

    def test_results_by_log_are_compared_log_by_log(self):
        results = []
        for name, weights in (("a", (70, 30, 0, 0)), ("b", (70, 0, 30, 0))):
            self.file(f"{name}/one.log", "\n".join(self.lines(1, (1, 1, 1, 1))).encode() + b"\n")
            self.file(f"{name}/two.log.1", "\n".join(self.lines(2, weights)).encode() + b"\n")
            self.file(f"{name}/{name}.log", b"x\n" * 20)
            results.append(self.folder / f"{name}.json")
            self.assertEqual(run("-r", "--format", "json", "-o", results[-1], "--group-by", "family", "--then-by", "kind", self.folder / name).status, 0)
        result = diff(*results, status=FOUND)
        self.assertEqual([each["stream"] for each in result["changes"]], ["two.log"])
        self.assertEqual([side["only_here"] for side in result["sides"]], [[{"stream": "a.log", "lines": 20}], [{"stream": "b.log", "lines": 20}]])

    def test_a_kind_that_a_result_does_not_list_is_not_new(self):
        many = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}kind {n}" for i in range(300) for n in range(40 - i // 10)]
        a = self.counted("a", "\n".join(many).encode() + b"\n", "--group-by", "kind", "--most-groups", "10")
        b = self.counted("b", "\n".join(many).encode() + b"\n")
        self.assertEqual(diff(a, b, status=0)["changes"], [])

    def test_a_kind_that_may_be_among_the_other_groups_is_not_new(self):
        data = b"alpha x\n" * 1000 + b"beta y\n" * 500 + b"gamma z\n"
        whole = self.counted("whole", data)
        document = json.loads(whole.read_text())
        others = document["groups"].pop(1)
        self.assertEqual(others.pop("key"), "beta y")
        part = self.file("part.json", json.dumps({**document, "other_groups": others}).encode() + b"\n")
        self.assertIn("kind", {each["what"] for each in diff(part, whole, status=FOUND)["changes"][0]["differences"]})
        part.write_text(json.dumps({**document, "other_groups": others, "other_group_lines_at_most": 500}) + "\n")
        self.assertEqual(diff(part, whole, status=0)["changes"], [])

    def test_results_that_cannot_be_compared_are_refused_with_the_remedy(self):
        data = b"alpha 1\nbeta 2\n" * 100
        kinds = self.counted("kinds", data)
        log = self.file("plain.log", data)
        for arguments, words in (((kinds, self.counted("none", data, "--buckets", "classes")), "count again: gpuhist --group-by kind --format json"),
                                 ((kinds, self.counted("fields", data, "--group-by", "field:1")), "has no kinds of lines"),
                                 ((kinds, self.counted("templates", data, "--group-by", "template")), "different keys"),
                                 ((kinds, self.counted("letters", data, "--group-by", "kind", "-b", "letters")), "different schemes"),
                                 ((kinds, log), "plain.log is none"), ((log, kinds), "plain.log is none"),
                                 ((kinds, "-"), "write the other result to a file"), (("--match", "a=b", kinds, kinds), "is for logs")):
            ended = run_diff(*arguments)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn(words, ended.stderr)

    def test_a_damaged_result_is_an_error(self):
        a = self.counted("a", b"alpha 1\n" * 100)
        document = json.loads(a.read_text())
        document["bytes"] += 1
        ended = run_diff(a, self.file("damaged.json", json.dumps(document, separators=(",", ":")).encode() + b"\n"))
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("damaged.json", ended.stderr)


class Usage(DiffTest):
    def test_exactly_two_are_compared(self):
        path = self.file("a.log", b"a\n")
        for arguments in ((), (path,), (path, path, path)):
            ended = run_diff(*arguments)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn("put those of each side in a folder", ended.stderr)
        ended = run_diff("-", "-")
        self.assertEqual(ended.status, 2, ended)
        self.assertIn("one of the two", ended.stderr)

    def test_options_that_do_not_fit_are_refused(self):
        path = self.file("a.log", b"a\n")
        for arguments, words in ((("--format", "prometheus"), "cannot hold changes"), (("--group-by", "field:1"), "not an option of gpuhist diff"),
                                 (("--window", "64MiB"), "is a time"), (("-o", path), "is an input")):
            ended = run_diff(*arguments, path, path)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn(words, ended.stderr)

    def test_a_missing_side_fails_and_the_other_is_counted(self):
        yesterday = self.day("yesterday", 1, services=1)
        for arguments in ((yesterday, self.folder / "missing"), (self.folder / "missing", yesterday)):
            ended = run_diff(*arguments)
            self.assertEqual(ended.status, 1, ended)
            self.assertEqual(ended.stderr.count("missing: "), 1, ended)
            self.assertIn("only in ", ended.stdout.decode())

    def test_a_damaged_input_fails_on_either_side(self):
        data = b"".join(b"2026-11-23T00:%02d:%02dZ a\n" % (i // 60, i % 60) for i in range(3600))
        good, damaged = self.file("good.log", data), self.file("bad.log.gz", gzip.compress(data)[:-4])
        for arguments in ((good, damaged), (damaged, good)):
            ended = run_diff("--format", "json", *arguments)
            self.assertEqual(ended.status, 1, ended)
            self.assertEqual(ended.stderr.count("bad.log.gz"), 1, ended)
            self.assertFalse(json.loads(ended.stdout)["complete"])

    def test_the_table_has_words_first_line_and_summary(self):
        ended = run_diff(self.day("yesterday", 1, services=3), self.day("today", 2, services=3, faults=FAULTS), cwd=self.folder)
        self.assertEqual(ended.status, FOUND)
        shown = ended.stdout.decode()
        self.assertRegex(shown, r"(?m)^1\. service02/app\.log$")
        self.assertRegex(shown, r"(?m)^    new: lines of the kind `.*` from 0 to [\d.]+ %$")
        self.assertRegex(shown, r"(?m)^    first line: \S+, line [\d,]+\n    \S")
        self.assertRegex(shown.splitlines()[-1], r"^1 of 3 logs differs: [\d,]+ lines in \S+, [\d,]+ lines in \S+, in windows of \S+( to \S+)?$")

    def test_few_lines_are_compared_by_counts_alone(self):
        a, b = (self.file(f"{name}.log", b"2026-11-23T00:00:00Z %s\n" % word * 100) for name, word in (("a", b"one"), ("b", b"two")))
        result = diff(a, b, status=FOUND)
        self.assertEqual(result["by_counts_alone"], 1)
        self.assertIn("compared by counts alone: 1 log", run_diff(a, b).stdout.decode())
        self.assertEqual(diff(a, a, status=0)["by_counts_alone"], 1)


if __name__ == "__main__":
    main()
