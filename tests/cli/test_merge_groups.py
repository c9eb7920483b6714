"""Matches, groups and windows of event time of results that are shown again (`gpuhist report`) and added (`gpuhist
merge`): the sum is that of one run or, if results have not reported all of their groups, has the bounds of
collections.Counter."""

import collections
import csv
import itertools
import json
import random
import re

from support import CommandTest, main, run

LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR")
MATCHES = ("--match", "slow=took [0-9]{4,} ms", "--match", "error=ERROR")
KEYS = ("--group-by", "field:3")
WINDOWS = ("--window", "1m", "--event-time")
ALL = (*MATCHES, *KEYS, *WINDOWS)
FORMATS = ("table", "csv", "json")


def log(seed, lines=400, hosts=12):
    """Lines of a log: time, level, host, time it took. Some have no time and no key, and the last one no line feed."""
    chosen = random.Random(seed)
    made = []
    for number in range(lines):
        if chosen.random() < 0.05:
            made.append("\tat\n")
            continue
        host = f"web-{min(chosen.randrange(hosts), chosen.randrange(hosts))}"
        moment = f"2025-10-10T{12 + seed % 3:02}:{number * 60 // lines:02}:{chosen.randrange(60):02}Z"
        made.append(f"{moment} {chosen.choice(LEVELS)} {host} größe took {chosen.randrange(2000)} ms\n")
    return "".join(made).encode().removesuffix(b"\n")


def key_of(line):
    """field:3"""
    fields = re.findall(rb"[^ \t\r\n]+", line)
    return fields[2].decode() if len(fields) > 2 else None


def lines_of(data):
    return re.findall(rb"[^\n]*\n|[^\n]+$", data)


def of_sum(result):
    """What a sum has of a result: the inputs without their matches."""
    for each in result["inputs"]:
        for name in ("matches", "unmatched"):
            each.pop(name, None)
    return result


def text_of_sum(printed):
    return b"".join(line for line in printed.splitlines(True) if not (line.startswith(b"input,") and b",match," in line))


def without_byte_counts(value):
    """A report lists no byte counts."""
    if isinstance(value, dict):
        return {key: without_byte_counts(each) for key, each in value.items() if key != "byte_counts"}
    return [without_byte_counts(each) for each in value] if isinstance(value, list) else value


def merge(*arguments, **options):
    return run("merge", *arguments, engine=None, **options)


def report(*arguments, **options):
    return run("report", *arguments, engine=None, **options)


class Lines(CommandTest):
    def setUp(self):
        super().setUp()
        self.logs = {f"{seed}.log": log(seed) for seed in range(4)}
        self.paths = [self.file(name, data) for name, data in self.logs.items()]

    def count(self, to, *arguments):
        path = self.folder / to
        ended = run("--format", "jsonl" if to.endswith(".jsonl") else "json", "-o", path, *arguments)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return path

    def parts(self, *options, suffix="json"):
        return [self.count(f"{path.stem}.{suffix}", *options, path) for path in self.paths]

    def merged(self, *arguments):
        ended = merge(*arguments)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended


class Report(Lines):
    def assert_shown_alike(self, options):
        for style in FORMATS:
            with self.subTest(options=options, style=style):
                direct = run("--format", style, "--byte-counts", *options, *self.paths)
                shown = report("--format", style, self.count("all.json", "--byte-counts", *options, *self.paths))
                self.assertEqual((shown.status, shown.stderr), (0, ""))
                if style == "json":
                    self.assertEqual(shown.result, without_byte_counts(of_sum(direct.result)))
                else:
                    self.assertEqual(shown.stdout, text_of_sum(direct.stdout))

    def test_a_result_is_shown_as_the_run_showed_it(self):
        for options in (
            MATCHES,
            (*MATCHES, "--match-first", "--match-ignore-case"),
            KEYS,
            (*KEYS, "--most-groups", "3"),
            (*KEYS, "--then-by", "level", *WINDOWS),
            (*WINDOWS, *MATCHES),
            (*ALL, "--where", "digit > 0.2", "--most-groups", "2"),
            ("--each", "record", "--delimiter", "\\n", "--group-by", "csv:1", "--field-separator", "m"),
            ("--window", "auto", "--event-time", "--group-by", "name"),
            ("--group-by", "regex:no such text", *MATCHES),
        ):
            self.assert_shown_alike(options)

    def test_keys_that_are_not_utf8_are_shown_as_they_are(self):
        self.paths = [self.file("raw", b"a \xff,\n" * 3 + b"a b\0\n" + b"a \xc3\n")]
        self.assert_shown_alike(("--group-by", "field:2"))
        self.assert_shown_alike(("--group-by", "field:2", "--then-by", "field:1"))

    def test_windows_without_lines_and_lines_without_times_are_shown(self):
        self.paths = [self.file("none", b"no time\n" * 5)]
        self.assert_shown_alike(WINDOWS)
        self.paths = [self.file("empty", b"")]
        self.assert_shown_alike(ALL)

    def test_groups_are_shown_by_any_scheme_and_with_measures(self):
        kept = self.count("all.json", "--byte-counts", *ALL, *self.paths)
        for options in (("-b", "letters,utf8"), ("-b", "vowels=aeiou"), ("--measures", "entropy,mean")):
            direct = of_sum(run("--format", "json", "--byte-counts", *ALL, *options, *self.paths).result)
            self.assertEqual(report("--format", "json", *options, kept).result, without_byte_counts(direct))

    def test_groups_of_older_results_without_byte_counts_are_left_out_with_a_warning(self):
        kept = self.count("all.json", "--byte-counts", *KEYS, *self.paths)
        content = json.loads(kept.read_bytes())
        for each in (*content["groups"], content["without_key"]):
            del each["byte_counts"]
        kept.write_text(json.dumps(content))
        ended = report("--format", "json", kept)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn(f"warning: {kept}: its groups and windows have no byte counts", ended.stderr)
        self.assertNotIn("groups", ended.result)

    def test_results_whose_lines_were_read_otherwise_are_named_and_not_added(self):
        first = self.count("1.json", "--byte-counts", *KEYS, self.paths[0])
        second = self.count("2.json", "--byte-counts", "--group-by", "level", self.paths[1])
        ended = report("--format", "json", first, second)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"{second}:1: its lines were read with other options than those of {first}: --group-by level instead of field:3", ended.stderr)
        self.assertEqual((ended.result["complete"], [each["name"] for each in ended.result["inputs"]]), (False, [str(self.paths[0])]))
        self.assertEqual(ended.result["groups"], without_byte_counts(json.loads(first.read_bytes())["groups"]))

    def test_damaged_groups_are_named(self):
        kept = self.count("all.json", "--byte-counts", *ALL, *self.paths)
        good = json.loads(kept.read_bytes())

        def refuse(message, damage):
            content = json.loads(json.dumps(good))
            damage(content)
            kept.write_text(json.dumps(content))
            ended = report("--format", "json", kept)
            self.assertEqual(ended.status, 1)
            self.assertIn(f"{kept}:1: {message}", ended.stderr)

        refuse('the counts do not add up: "groups" and the other lines have', lambda content: content["groups"].pop() and content.update(number_of_groups=content["number_of_groups"] - 1))
        refuse('"number_of_groups" is not that of the groups', lambda content: content.update(number_of_groups=3))
        refuse('the counts do not add up: "event_windows" and the other lines have', lambda content: content["event_windows"].pop())
        refuse('"event_start" is not a time', lambda content: content["event_windows"][3].update(event_start="yesterday"))
        refuse('the windows of "event_windows" have several lengths', lambda content: content["event_windows"][3].update(event_end=content["event_windows"][5]["event_end"]))
        refuse('"lines_by_group" is not a list', lambda content: content["event_windows"][3]["lines_by_group"].pop())
        refuse("the counts do not add up: their sum is ", lambda content: content["groups"][0].update(bytes=1))
        refuse('"lines" is not a whole number', lambda content: content["groups"][0].update(lines=-1))
        refuse('"groups" is not a list of objects', lambda content: content.update(groups=[7]))
        refuse('the counts do not add up: "matches" has more lines', lambda content: content["matches"]["error"].update(lines=10**6))
        refuse('"matches" does not have the names', lambda content: content["matches"].pop("error"))
        refuse('"units" is missing', lambda content: content.pop("units"))


class Merge(Lines):
    def test_the_sum_of_exact_parts_is_the_result_of_one_run(self):
        for options in (
            MATCHES,
            KEYS,
            WINDOWS,
            ALL,
            (*ALL, "--byte-counts"),
            (*ALL, "-b", "classes,letters"),
            (*ALL, "-b", "utf8"),
            (*KEYS, "--then-by", "level", *WINDOWS),
            (*ALL, "--where", "digit > 0.2"),
            (*MATCHES, "--match-first", *KEYS),
            ("--group-by", "name", *WINDOWS),
            ("--each", "record", "--delimiter", "\\n", *ALL),
        ):
            for suffix in ("json", "jsonl"):
                parts = self.parts(*options, suffix=suffix)
                for style in FORMATS:
                    with self.subTest(options=options, style=style, parts=suffix):
                        whole = run("--format", style, *options, *self.paths)
                        added = self.merged("--format", style, *parts)
                        if style == "json":
                            self.assertEqual(added.result, of_sum(whole.result))
                        else:
                            self.assertEqual(added.stdout, text_of_sum(whole.stdout))

    def test_the_sum_has_the_groups_of_the_text(self):
        result = self.merged("--format", "json", *self.parts(*ALL)).result
        lines = [line for data in self.logs.values() for line in lines_of(data)]
        keys = collections.Counter(map(key_of, lines))
        self.assertEqual(result["without_key"]["lines"], keys.pop(None))
        self.assertEqual({each["key"]: each["lines"] for each in result["groups"]}, keys)
        self.assertEqual(result["matches"]["error"]["lines"], sum(b"ERROR" in line for line in lines))
        self.assertEqual(result["matches"]["slow"]["bytes"], sum(len(line) for line in lines if re.search(rb"took [0-9]{4,} ms", line)))
        others = (result[name]["lines"] for name in ("without_time", "implausible_time") if name in result)
        self.assertEqual(sum(each["lines"] for each in result["event_windows"]) + sum(others), len(lines))
        for number, each in enumerate(result["groups"]):
            self.assertEqual(sum(window["lines_by_group"][number] for window in result["event_windows"]), each["lines"])

    def assert_bounds(self, result, logs, keys=key_of):
        """Whatever was reported by the parts: every line is counted once, no count is too high, and none is too low by
        more than it says."""
        lines = [line for data in logs for line in lines_of(data)]
        real = collections.Counter(map(keys, lines))
        real.pop(None, 0)
        groups = {each["key"]: each for each in result["groups"]}
        others = result.get("other_groups", {"lines": 0, "bytes": 0})
        self.assertEqual(len(groups), len(result["groups"]))
        for key, each in groups.items():
            self.assertLessEqual(each["lines"], real[key])
            self.assertLessEqual(real[key], each.get("lines_at_most", each["lines"]), key)
            self.assertNotEqual(each.get("lines_at_most"), each["lines"])
        for key in set(real) - set(groups):
            self.assertLessEqual(real[key], result["other_group_lines_at_most"])
        for name, size in (("lines", 1), ("bytes", 0)):
            counted = sum(each[name] for each in groups.values()) + others[name] + result["without_key"][name]
            self.assertEqual(counted, sum(size or len(line) for line in lines))
        self.assertEqual([each["lines"] for each in result["groups"]], sorted((each["lines"] for each in groups.values()), reverse=True))
        self.assertLessEqual(result["number_of_groups"], len(real))
        if "number_of_groups_is_at_least" not in result:
            self.assertEqual(result["number_of_groups"], len(real))
        return groups, real

    def test_groups_that_a_part_may_have_among_its_others_say_how_many_lines_they_can_have(self):
        for most in (1, 2, 3, 5, 8, 11, 12):
            with self.subTest(most=most):
                parts = self.parts(*ALL, "--most-groups", str(most))
                reported = [[each["key"] for each in json.loads(part.read_bytes())["groups"]] for part in parts]
                have_others = ["other_groups" in json.loads(part.read_bytes()) for part in parts]
                result = self.merged("--format", "json", *parts).result
                groups, _ = self.assert_bounds(result, self.logs.values())
                self.assertEqual(set(groups), {key for keys in reported for key in keys})
                exact = {key for key in groups if all(key in keys or not others for keys, others in zip(reported, have_others))}
                self.assertEqual({key for key, each in groups.items() if "lines_at_most" not in each}, exact)
                self.assertEqual(result.get("number_of_groups_is_at_least", False), any(have_others))
                self.assertEqual("other_group_lines_at_most" in result, any(have_others))

    def test_a_part_that_has_reported_all_of_its_groups_leaves_those_of_others_exact(self):
        first = self.count("1.json", *KEYS, "--most-groups", "4", self.paths[0])
        second = self.count("2.json", *KEYS, self.paths[1])
        result = self.merged("--format", "json", first, second).result
        groups, real = self.assert_bounds(result, [self.logs["0.log"], self.logs["1.log"]])
        for each in json.loads(first.read_bytes())["groups"]:
            self.assertNotIn("lines_at_most", groups[each["key"]])
            self.assertEqual(groups[each["key"]]["lines"], real[each["key"]])

    def test_bounds_hold_for_sums_of_sums_in_any_order(self):
        for seed in range(8):
            chosen = random.Random(seed)
            parts = [self.count(f"{seed}-{number}.json", *KEYS, "--most-groups", str(chosen.randrange(1, 14)), path) for number, path in enumerate(self.paths)]
            while len(parts) > 1:
                chosen.shuffle(parts)
                to = self.folder / f"sum-{seed}-{len(parts)}.json"
                self.merged("--format", "json", "-o", to, *parts[:2])
                parts = [to, *parts[2:]]
            self.assert_bounds(json.loads(parts[0].read_bytes()), self.logs.values())
            again = report("--format", "json", parts[0])  # without byte counts
            self.assertEqual(again.status, 1, again)
            self.assertEqual(self.merged("--format", "json", parts[0]).result, json.loads(parts[0].read_bytes()))

    def test_tables_and_csv_mark_what_is_not_exact(self):
        parts = self.parts(*KEYS, "--most-groups", "3")
        result = self.merged("--format", "json", *parts).result
        shown = self.merged(*parts).stdout.decode()
        rows = [line.split(",") for line in self.merged("--format", "csv", *parts).stdout.decode().splitlines()]
        at_most = {row[1]: int(row[4]) for row in rows if row[0] == "group" and row[3] == "lines_at_most"}
        self.assertEqual(at_most, {each["key"]: each["lines_at_most"] for each in result["groups"] if "lines_at_most" in each})
        self.assertIn(["other_groups", "", "", "group_lines_at_most", str(result["other_group_lines_at_most"]), ""], rows)
        for each in result["groups"]:
            mark = "\\+" if "lines_at_most" in each else ""
            self.assertRegex(shown, rf"(?m)^{each['key']} +{each['lines']}{mark} ")
        self.assertIn("+: at least so many lines; more may be among the other groups\n", shown)
        self.assertIn(f"... and at least {result['number_of_groups'] - len(result['groups'])} groups more\n", shown)
        self.assertNotIn("at least", self.merged(*self.parts(*KEYS)).stdout.decode())

    def test_windows_of_a_length_that_divides_the_other_are_joined(self):
        parts = [self.count(f"{length}.json", *KEYS, *MATCHES, "--window", length, "--event-time", path) for length, path in zip(("1m", "15m", "5m", "30s"), self.paths)]
        for order in (parts, parts[::-1]):
            names = [self.paths[parts.index(each)] for each in order]
            whole = of_sum(run("--format", "json", *KEYS, *MATCHES, "--window", "15m", "--event-time", *names).result)
            self.assertEqual(self.merged("--format", "json", *order).result, whole)
        without = self.count("none.json", *KEYS, *MATCHES, "--window", "7m", "--event-time", self.file("none", b"no time\n"))
        result = self.merged("--format", "json", parts[0], without).result
        self.assertEqual(result["event_windows"], json.loads(parts[0].read_bytes())["event_windows"])

    def test_results_whose_lines_were_read_otherwise_are_refused(self):
        first = self.count("1.json", *ALL, self.paths[0])
        for options, difference in (
            ((*ALL[:-3], "--window", "90s", "--event-time"), "--window 90s instead of 60s"),
            ((*MATCHES, *WINDOWS), "--group-by not given instead of field:3"),
            ((*MATCHES, "--group-by", "host", *WINDOWS), "--group-by host instead of field:3"),
            ((*ALL, "--then-by", "level"), "--then-by level instead of not given"),
            ((*ALL, "--where", "digit > 0"), "--where digit > 0 instead of not given"),
            ((*ALL, "--match", "more=x"), "--match error, more, slow instead of error, slow"),
            ((*ALL[2:], "--match", "slow=x"), "--match slow x instead of took [0-9]{4,} ms"),
            ((*ALL, "--match-ignore-case"), "--match-ignore-case given instead of not given"),
            ((*ALL, "--match-first"), "--match slow, error instead of error, slow"),
            ((*ALL, "--field-separator", ";"), "--field-separator ; instead of not given"),
            ((*ALL, "--each", "record"), "--each record instead of line"),
            ((), "not given instead of "),
        ):
            with self.subTest(options=options):
                second = self.count("2.json", *options, self.paths[1])
                to = self.folder / "sum.json"
                ended = merge("--format", "json", "-o", to, first, second)
                self.assertEqual(ended.status, 2, ended)
                self.assertIn(f"the lines of {second} were read with other options than those of {first}, and cannot be added: ", ended.stderr)
                self.assertIn(difference, ended.stderr)
                self.assertIn("; count again with the same options", ended.stderr)
                self.assertFalse(to.exists())

    def test_expressions_may_be_typed_in_another_order(self):
        parts = [self.count("1.json", *MATCHES, *KEYS, self.paths[0]), self.count("2.json", *MATCHES[2:], *MATCHES[:2], *KEYS, self.paths[1])]
        whole = of_sum(run("--format", "json", *MATCHES, *KEYS, *self.paths[:2]).result)
        self.assertEqual(self.merged("--format", "json", *parts).result, whole)

    def test_results_of_older_versions_do_not_state_their_expressions(self):
        parts = self.parts(*ALL)
        for each in parts:
            content = json.loads(each.read_bytes())
            del content["match_expressions"]
            each.write_text(json.dumps(content))
        whole = of_sum(run("--format", "json", *ALL, *self.paths).result)
        del whole["match_expressions"]
        self.assertEqual(self.merged("--format", "json", *parts).result, whole)

    def test_the_lines_that_a_filter_keeps_are_added(self):
        parts = []
        for path in self.paths:
            parts.append(self.folder / f"{path.stem}.jsonl")
            ended = run("filter", "--drop-if", "bytes > 10000", *MATCHES, *KEYS, "--result", parts[-1], "-o", "/dev/null", path, engine=None)
            self.assertEqual(ended.status, 0, ended)
        whole = run("--format", "json", *MATCHES, *KEYS, *self.paths).result
        added = self.merged("--format", "json", *parts).result
        for name in ("matches", "unmatched", "groups", "without_key", "number_of_groups"):
            self.assertEqual(added[name], whole[name])

    def test_folders_of_jobs_are_added(self):
        folders = []
        for number, part in enumerate((self.paths[:2], self.paths[2:])):
            folders.append(self.folder / f"job-{number}")
            ended = run("batch", *ALL, *part, "--output-dir", folders[-1], engine=None)
            self.assertEqual(ended.status, 0, ended)
        whole = of_sum(run("--format", "json", *ALL, *self.paths).result)
        self.assertEqual(self.merged("--format", "json", *folders).result, whole)
        shown = report("--format", "json", folders[0])
        self.assertEqual((shown.status, shown.result), (0, of_sum(run("--format", "json", *ALL, *self.paths[:2]).result)))


class Tables(Lines):
    """--measures, --columns and --sort in the tables of groups and windows, and measures in csv."""

    def rows(self, heading, *options, command=run, paths=None):
        """The cells of the rows below a heading, by their first cell. Names have no blanks."""
        ended = command("--format", "table", *options, *(self.paths if paths is None else paths))
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        lines = ended.stdout.decode().splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith(heading))
        rows = [line.split() for line in itertools.takewhile(lambda line: line and not line.startswith(("...", "each row", "+:")), lines[first:])]
        return rows[0], {row[0]: row[1:] for row in rows[1:]}

    def result(self, *options):
        ended = run("--format", "json", *options, *self.paths)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended.result

    def windows_of(self, result):
        return {each["event_start"]: each for each in result["event_windows"]}

    def assert_close(self, shown, value):
        self.assertAlmostEqual(float(shown.replace(",", "")), value, delta=max(1e-12, abs(value) * 1e-5))

    def test_measures_are_columns_of_groups_and_windows_and_rows_of_csv(self):
        options = ("--window", "15m", "--event-time", *KEYS, "--measures", "entropy,mean")
        result = self.result(*options)
        parts = {"field:3": {each["key"]: each for each in result["groups"]}, "event time": self.windows_of(result)}
        for heading, groups in parts.items():
            first, rows = self.rows(heading, *options)
            columns = first[: first.index("over")] if "over" in first else first
            self.assertEqual(columns[-2:], ["entropy", "mean"])
            self.assertEqual(set(groups), set(rows) - {"(without"})
            for key, each in groups.items():
                cells = [cell for cell in rows[key] if re.fullmatch(r"[0-9.,]+", cell)][-2:]
                for cell, name in zip(cells, ("entropy", "mean")):
                    self.assert_close(cell, each["measures"][name]["value"])
        printed = run("--format", "csv", *options, *self.paths).stdout.decode()
        measured = {(row[0], row[1], row[3]): (int(row[4]), float(row[5])) for row in csv.reader(printed.splitlines()) if row[2] == "measure"}
        for kind, name, groups in (("group", "field:3", parts["field:3"]), ("event_window", "event time", parts["event time"])):
            for key, each in groups.items():
                for measure in ("entropy", "mean"):
                    value = each["measures"][measure]
                    self.assertEqual(measured[kind, key, measure][0], value["sample_size"])
                    self.assert_close(str(measured[kind, key, measure][1]), value["value"])

    def test_measures_of_windows_compare_with_those_before(self):
        options = ("--window", "15m", "--event-time", "--measures", "jsd", "--baseline", "previous:2")
        windows = self.windows_of(self.result(*options))
        _, rows = self.rows("event time", *options)
        printed = run("--format", "csv", *options, *self.paths).stdout.decode()
        shares = {row[1]: row[5] for row in csv.reader(printed.splitlines()) if row[0] == "event_window" and row[3] == "jsd"}
        for start, each in windows.items():
            value = each["measures"]["jsd"].get("value")
            if value is None:
                self.assertEqual(shares[start], "")
                self.assertIn("-", rows[start])
            else:
                self.assert_close(shares[start], value)
                self.assert_close([cell for cell in rows[start] if re.fullmatch(r"[0-9.e-]+", cell)][-1], value)

    def test_columns_are_computed_for_groups_and_windows(self):
        asked = ["lines", "bytes", "share", "mostly", "bytes / lines", "digit", "match(error) / lines", "match(slow)", "entropy"]
        options = ("--window", "15m", "--event-time", *KEYS, *MATCHES)
        result = self.result(*options, "--measures", "entropy")
        all_lines = result["units"]["seen"]
        parts = {"field:3": {each["key"]: each for each in result["groups"]}, "event time": self.windows_of(result)}
        for heading, groups in parts.items():
            for name in asked:
                first, rows = self.rows(heading, *options, "--columns", name)
                for key, each in groups.items():
                    shown = rows[key]
                    buckets = each["buckets"]["classes"]
                    with self.subTest(column=name, key=key):
                        if name == "mostly":
                            largest = max(buckets, key=buckets.get)
                            self.assertEqual(shown[:2], [largest, f"{100 * buckets[largest] / each['bytes']:.1f}"])
                            continue
                        values = {
                            "lines": each["lines"],
                            "bytes": each["bytes"],
                            "share": round(100 * each["lines"] / all_lines, 2),
                            "bytes / lines": each["bytes"] / each["lines"],
                            "digit": buckets["digit"] / each["bytes"],
                            "match(error) / lines": each["matches"]["error"]["lines"] / each["lines"],
                            "match(slow)": each["matches"]["slow"]["lines"],
                            "entropy": each["measures"]["entropy"]["value"],
                        }
                        self.assert_close(shown[0], values[name])

    def test_the_groups_that_are_reported_are_sorted(self):
        options = (*KEYS, *MATCHES, "--most-groups", "8")
        groups = {each["key"]: each for each in self.result(*options)["groups"]}
        for formula, value in (
            ("bytes / lines", lambda each: each["bytes"] / each["lines"]),
            ("-match(error) / lines", lambda each: -each["matches"]["error"]["lines"] / each["lines"]),
            ("1 / (lines - lines)", lambda each: 0),  # unknown: the order of the result
        ):
            for extra in ((), ("--totals-only",), ("--top", "3")):
                with self.subTest(formula=formula, extra=extra):
                    _, rows = self.rows("field:3", *options, "--sort", formula, *extra)
                    order = sorted(groups, key=lambda key: -value(groups[key]))
                    self.assertEqual([key for key in rows if key != "(without"], order[:3] if "--top" in extra else order)

    def test_results_are_shown_with_columns_and_in_an_order(self):
        parts = self.parts(*KEYS, *MATCHES, "--byte-counts")
        options = ("--columns", "lines,match(error) / lines", "--sort", "match(error) / lines")
        direct = run("--format", "table", *KEYS, *MATCHES, *options, *self.paths)
        shown = report("--format", "table", *options, *parts)
        self.assertEqual((shown.status, shown.stdout), (0, direct.stdout), shown)

    def test_names_of_expressions_are_known_only_if_there_are_groups(self):
        ended = run("--columns", "match(error)", self.paths[0])
        self.assertEqual(ended.status, 2)
        self.assertIn("match(error)", ended.stderr)
        ended = run("--columns", "match(eror)", *MATCHES, *KEYS, self.paths[0])
        self.assertEqual(ended.status, 2)
        self.assertIn("did you mean error?", ended.stderr)


class Prometheus(Lines):
    def samples(self, *arguments, command=run):
        printed = command("--format", "prometheus", *arguments)
        self.assertEqual((printed.status, printed.stderr), (0, ""), printed)
        found = {}
        for line in printed.stdout.decode().splitlines():
            if line.startswith("#"):
                continue
            name, value = line.rsplit(" ", 1)
            self.assertNotIn(name, found)  # a sample that occurs twice makes the whole file invalid
            found[name] = float(value)
        return found

    def test_metrics_of_matches_and_groups_add_up_to_all_lines(self):
        options = (*ALL, "--most-groups", "5")
        result = run("--format", "json", *options, *self.paths).result
        found = self.samples(*options, *self.paths)
        for name in ("lines", "bytes"):
            for match, each in result["matches"].items():
                self.assertEqual(found[f'gpuhist_match_{name}{{match="{match}"}}'], each[name])
            self.assertEqual(found[f"gpuhist_unmatched_{name}"], result["unmatched"][name])
            groups = {f'gpuhist_group_{name}{{key="{each["key"]}"}}': each[name] for each in result["groups"]}
            self.assertEqual({key: value for key, value in found.items() if key.startswith(f"gpuhist_group_{name}")}, groups)
            others = found[f"gpuhist_other_groups_{name}"], found[f"gpuhist_without_key_{name}"]
            self.assertEqual(others, (result["other_groups"][name], result["without_key"][name]))
            self.assertEqual(sum(groups.values()) + sum(others), result["units"]["seen" if name == "lines" else "bytes"])
        self.assertEqual(found["gpuhist_groups"], result["number_of_groups"])
        self.assertFalse([name for name in found if "window" in name])
        self.assertEqual(self.samples(*self.parts(*KEYS), command=merge), self.samples(*KEYS, *self.paths))

    def test_keys_are_escaped_and_those_that_become_equal_are_added(self):
        path = self.file("keys", b"a \xff\n" * 2 + b"a \\xff\n" + b'a "q"\n' + b"b \xff\n")
        found = self.samples("--group-by", "field:2", path)
        self.assertEqual(found['gpuhist_group_lines{key="\\\\xff"}'], 4)
        self.assertEqual(found['gpuhist_group_lines{key="\\"q\\""}'], 1)
        found = self.samples("--group-by", "field:2", "--then-by", "field:1", path)
        self.assertEqual(found['gpuhist_group_lines{key="\\\\xff",then_key="b"}'], 1)
        none = self.samples("--group-by", "field:9", path)
        self.assertEqual((none["gpuhist_groups"], none["gpuhist_without_key_lines"], none["gpuhist_other_groups_bytes"]), (0, 5, 0))


class Resume(Lines):
    def test_runs_that_read_lines_cannot_be_resumed(self):
        to = self.folder / "r.jsonl"
        for options, name in ((MATCHES, "match"), (KEYS, "group-by"), (WINDOWS, "event-time")):
            ended = run("--resume", to, *options, *self.paths)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn(f"cannot be combined with --{name}", ended.stderr)
            self.assertFalse(to.exists())


if __name__ == "__main__":
    main()
