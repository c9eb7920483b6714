"""--fail-if, --alert-if, --watch and --fail-fast: what is reported, when, and how the program ends. Results of random
conditions are compared with those of a second evaluator in this file."""

import json
import math
import os
import random
import signal
import subprocess

from support import CommandTest, Running, feed, main, noise, run, text, unread, wait_until, zstd

CLASSES = {
    "digit": set(b"0123456789"),
    "upper": set(range(65, 91)),
    "lower": set(range(97, 123)),
    "space": set(b" \t\n\v\f\r"),
    "control": set(range(32)) - set(b"\t\n\v\f\r") | {127},
    "non-ascii": set(range(128, 256)),
}


def count(data, bucket):
    return sum(byte in CLASSES[bucket] for byte in data)


class Gates(CommandTest):
    def files(self):
        return self.file("letters", b"abcdefgh\n"), self.file("digits", b"12345678\n"), self.file("half", b"1234abcd\n")

    def test_a_condition_that_holds_is_reported_and_ends_in_status_3(self):
        path = self.file("digits", b"12345678\n")
        ended = run("--format", "json", "--fail-if", "digit > 0.15", path)
        self.assertEqual(ended.status, 3)
        self.assertEqual(ended.stderr, f"gpuhist: --fail-if 'digit > 0.15' holds for {path}, bytes 0 to 9, line 1: digit = 0.888889\n")
        self.assert_counts(ended.result, b"12345678\n")
        self.assertIs(ended.result["complete"], True)

    def test_a_condition_that_does_not_hold_changes_nothing(self):
        path = self.file("a", text(5_000))
        with_condition = run("--format", "json", "--fail-if", "digit > 0.9", path)
        self.assertEqual((with_condition.status, with_condition.stderr, with_condition.stdout), (0, "", run("--format", "json", path).stdout))

    def test_watch_selects_totals_and_inputs_and_both_are_the_default(self):
        letters, digits, half = self.files()
        for watch, subjects in (((), [digits, half, "the totals"]), (("--watch", "inputs"), [digits, half]), (("--watch", "totals"), ["the totals"]),
                            (("--watch", "totals,inputs"), [digits, half, "the totals"])):
            with self.subTest(watch=watch):
                ended = run("--fail-if", "digit > 0.4", *watch, letters, digits, half)
                self.assertEqual(ended.status, 3)
                self.assertEqual([line.split(" holds for ")[1].split(", ")[0] for line in ended.stderr.splitlines()], [str(each) for each in subjects])

    def test_every_condition_is_checked_for_every_input(self):
        letters, digits, _ = self.files()
        ended = run("--fail-if", "digit > 0.5", "--alert-if", "lower > 0.5", "--alert-if", "bytes == 9", "--watch", "inputs", letters, digits)
        self.assertEqual([line.split("'")[1] for line in ended.stderr.splitlines()], ["lower > 0.5", "bytes == 9", "digit > 0.5", "bytes == 9"])

    def test_an_alert_does_not_change_the_status(self):
        path = self.file("a", b"123")
        ended = run("--alert-if", "digit > 0.5", path)
        self.assertEqual((ended.status, ended.stderr), (0, f"gpuhist: --alert-if 'digit > 0.5' holds for {path}, bytes 0 to 3, line 1: digit = 1\n"))
        self.assertEqual(run("-q", "--alert-if", "digit > 0.5", path).stderr, ended.stderr)

    def test_a_failed_input_has_precedence_over_a_condition_in_the_status(self):
        ended = run("--fail-if", "digit > 0.5", self.file("a", b"123"), self.folder / "absent")
        self.assertEqual(ended.status, 1)
        self.assertIn("--fail-if 'digit > 0.5' holds for", ended.stderr)

    def test_lines_of_json_have_alerts_before_the_result(self):
        letters, digits, _ = self.files()
        ended = run("--format", "jsonl", "--alert-if", "digit > 0.4 || chi2 > 1", letters, digits)
        alerts = ended.documents_of("alert")
        self.assertEqual(alerts, [{"kind": "alert", "schema": "gpuhist.result/1", "run": ended.result["run"], "option": "--alert-if", "condition": "digit > 0.4 || chi2 > 1",
                                   **where, "values": {"digit": value, "chi2": None}}
                                  for where, value in (({"of": "input", "name": str(digits), "begin": 0, "end": 9, "first_line": 1, "end_line": 1}, 8 / 9),
                                                       ({"of": "total", "begin": 0, "end": 18}, 8 / 18))])
        self.assertEqual(ended.documents[-1]["kind"], "result")
        for form in ("json", "csv", "table", "prometheus"):
            self.assertNotIn(b"alert", run("--format", form, "--alert-if", "digit > 0.4", letters, digits).stdout)

    def test_report_reads_a_result_with_alerts(self):
        path = self.file("digits", b"12345678\n")
        result_file = self.file("kept", run("--format", "jsonl", "--byte-counts", "--alert-if", "bytes > 1", path).stdout)
        ended = run("report", "--format", "json", result_file, engine=None)
        self.assertEqual((ended.status, ended.stderr), (0, ""))
        self.assert_counts(ended.result, b"12345678\n")

    def test_report_checks_conditions_on_kept_counts(self):
        letters, digits, _ = self.files()
        result_file = self.file("kept", run("--format", "json", "--byte-counts", letters, digits).stdout)
        options = ("--fail-if", "'1' > 0.1", "-b", "1=1", "--alert-if", "entropy > 1")
        ended = run("report", *options, result_file, engine=None)
        direct = run(*options, letters, digits)
        self.assertEqual((ended.status, ended.stderr, ended.stdout), (3, direct.stderr, direct.stdout))

    def test_a_condition_may_compare_with_a_baseline(self):
        usual = self.file("usual.json", run("--format", "json", "--byte-counts", self.file("a", text(20_000))).stdout)
        for data, status in ((text(20_000, 2), 0), (text(10_000) + noise(10_000), 3)):
            ended = run("--fail-if", "jsd > 0.05", "--baseline", usual, self.file("b", data))
            self.assertEqual(ended.status, status, ended)

    def test_unverified_bytes_are_watched_if_they_are_counted(self):
        damaged = self.file("damaged.zst", zstd(b"letters\n") + zstd(b"1234567890" * 200_000, "--check")[:-2] + b"xx")
        condition = ("--format", "jsonl", "--alert-if", "digit > 0.5", damaged)
        self.assertFalse(run(*condition).documents_of("alert"))
        ended = run("--count-unverified", *condition)
        self.assertTrue(ended.documents_of("alert"), ended)

    def test_members_of_archives_are_watched_as_inputs(self):
        for name, data in (("one", b"aaaa"), ("two", b"1111")):
            self.file(name, data)
        subprocess.run(["tar", "-C", self.folder, "-cf", self.folder / "both.tar", "one", "two"], check=True)
        ended = run("--fail-if", "digit > 0.9", "--watch", "inputs", self.folder / "both.tar")
        self.assertEqual(ended.status, 3)
        self.assertEqual(ended.stderr.count("holds for"), 1)
        self.assertIn("two, bytes 0 to 4", ended.stderr)

    def test_control_characters_in_names_are_escaped_on_standard_error(self):
        ended = run("--fail-if", "bytes > 0", self.file("\x1b[2J", b"a"))
        self.assertNotIn("\x1b", ended.stderr)
        self.assertIn("\\x1b[2J", ended.stderr)


class AtOnce(CommandTest):
    def test_fail_fast_ends_the_run_while_another_input_has_no_end(self):
        path = self.file("digits", b"123")
        with Running("--format", "json", "--fail-fast", "--fail-if", "digit > 0.5", path, "-", stdin=subprocess.PIPE) as running:
            ended = running.finish()  # the pipe stays open, and nothing is written to it
        self.assertEqual(ended.status, 3, ended)
        self.assertIn("holds for", ended.stderr)
        self.assertIn("ended by --fail-fast", ended.stderr)
        self.assertIs(ended.result["complete"], False)

    def test_without_fail_fast_the_run_continues(self):
        with Running("--format", "json", "--fail-if", "digit > 0.5", self.file("digits", b"123"), "-", stdin=subprocess.PIPE) as running:
            wait_until(lambda: os.fstat(running._stderr.fileno()).st_size > 0)  # reported at once
            self.assertIsNone(running.process.poll())
            running.process.stdin.write(b"abc")
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual(ended.status, 3)
        self.assert_counts(ended.result, b"123abc")

    def test_fail_fast_after_a_failed_input_ends_in_status_1(self):
        ended = run("--fail-fast", "--fail-if", "digit > 0.5", self.folder / "absent", self.file("digits", b"123"), self.file("more", b"a" * 100))
        self.assertEqual(ended.status, 1)

    def test_fail_fast_while_the_list_of_names_is_still_open_ends_in_status_3(self):
        path = self.file("digits", b"123")
        with Running("--format", "json", "--fail-fast", "--fail-if", "digit > 0.5", "--files-from", "-", stdin=subprocess.PIPE) as running:
            running.process.stdin.write(f"{path}\n".encode())
            running.process.stdin.flush()  # the list stays open
            ended = running.finish()
        self.assertEqual(ended.status, 3, ended)
        self.assertEqual([each.get("error_kind") for each in ended.result["inputs"]], [None, "stopped"])

    def test_an_alert_never_ends_a_run(self):
        ended = run("--format", "json", "--fail-fast", "--fail-if", "bytes > 100", "--alert-if", "digit > 0.5", self.file("digits", b"123"),
                    stdin_bytes=b"")
        self.assertEqual(ended.status, 0)

    def test_a_signal_ends_a_watched_run_like_any_other(self):
        with Running("--format", "json", "--alert-if", "bytes >= 0", "-", stdin=subprocess.PIPE) as running:
            feed(running, [b"abc"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM)
        self.assertEqual(ended.result["bytes"], 3)

    def test_alerts_are_in_the_order_of_the_inputs(self):
        paths = [self.file(f"{i:03}", b"1" * (i + 1)) for i in range(300)]
        ended = run("--format", "jsonl", "--alert-if", "digit == 1", "--watch", "inputs", *paths)
        self.assertEqual([(each["name"], each["end"]) for each in ended.documents_of("alert")],
                         [(str(path), i + 1) for i, path in enumerate(paths)])
        self.assertEqual(ended.stderr.count("\n"), 300)


class Usage(CommandTest):
    def refused(self, *arguments):
        ended = run(*arguments, stdin_bytes=b"")
        self.assert_usage_error(ended)
        return ended.stderr

    def test_an_error_points_at_the_character(self):
        self.assertEqual(self.refused("--fail-if", "digit > 0.15 &&& entropy > 7"),
                         "gpuhist: --fail-if: '&' is not an operator; give && for 'and'\n"
                         "    digit > 0.15 &&& entropy > 7\n"
                         "                   ^\n"
                         "gpuhist: see gpuhist --help\n")
        self.assertIn("--alert-if: there is no \"entropi\"; did you mean entropy?\n    1 < entropi\n        ^\n", self.refused("--alert-if", "1 < entropi"))

    def test_the_source_of_a_condition_is_reported(self):
        path = self.file("job.toml", b'fail-if = ["bytes > 1", "bytes >"]\n')
        self.assertIn("job.toml:1: fail-if: a number, a name or a parenthesis is missing here", self.refused("--config", path))

    def test_names_of_buckets_need_no_quotes(self):
        def values(condition, *buckets):
            ended = run(*buckets, "--alert-if", condition, "--format", "jsonl", stdin_bytes=b"aad\xc3\xa9", engine="host")
            self.assertEqual(ended.status, 0, ended)
            alerts = [json.loads(line) for line in ended.stdout.splitlines() if b'"alert"' in line]
            return alerts[0]["values"] if alerts else None

        self.assertEqual(values("non-ascii > 0.1"), {"non-ascii": 0.4})
        self.assertEqual(values("a-d > 0.5", "-b", "letters"), {"a-d": 0.6})
        self.assertEqual(values("a-d > 0.1", "-b", "alphabet"), {"a": 0.4, "d": 0.2})
        self.assertEqual(values("a-d > 0.5", "-b", "letters,alphabet"), {"a-d": 0.6})
        self.assertEqual(values("a - d > 0.1", "-b", "letters,alphabet"), {"a": 0.4, "d": 0.2})
        self.assertEqual(values("not text > 0.1", "-b", "not text=\\x80-\\xff"), {"not text": 0.4})
        self.assertIn('as in "a b"\n    not txt > 0', self.refused("-b", "not text=\\x80-\\xff", "--fail-if", "not txt > 0"))

    def test_a_bucket_is_accepted_by_its_former_name(self):
        data = b"text\xc0\xc1\xf5\xff\xf4\x80"
        shares, counts = {"never-utf8": 0.4, "invalid": 0.4}, {}
        for name in ("never-utf8", "invalid", "'never-utf8'", "'invalid'", "utf8.never-utf8", "utf8.invalid", 'utf8."invalid"', "share(utf8.invalid)"):
            shares[name] = 0.4
        for name in ("count(never-utf8)", "count(invalid)", "count(utf8.invalid)", "count('invalid')"):
            counts[name] = 4
        for name, value in (shares | counts).items():
            for condition, holds in ((f"{name} >= {value}", True), (f"{name} > {value}", False)):
                with self.subTest(condition=condition):
                    ended = run("-b", "classes,utf8", "--fail-if", condition, stdin_bytes=data, engine="host")
                    self.assertEqual(ended.status, 3 if holds else 0, ended)
                    self.assertEqual(f"{name} = {value}" in ended.stderr, holds)

    def test_a_name_has_precedence_over_a_former_name(self):
        def status(condition, *buckets):
            return run(*buckets, "--fail-if", condition, stdin_bytes=b"x\xff\xff\xff", engine="host").status

        self.assertEqual(status("invalid == 0.25", "-b", "utf8", "-b", "mine:invalid=x"), 3)
        self.assertEqual(status("utf8.invalid == 0.75", "-b", "utf8", "-b", "mine:invalid=x"), 3)
        self.assertIn('there is no "invalid"', self.refused("-b", "classes", "--fail-if", "invalid > 0"))
        self.assertIn('there is no "classes.invalid"', self.refused("-b", "classes,utf8", "--fail-if", "classes.invalid > 0"))

    def test_a_bucket_name_of_two_schemes_is_refused(self):
        self.assertIn("name the scheme, as in letters.other", self.refused("-b", "letters,alphabet", "--fail-if", "other > 0"))
        self.assertEqual(run("-b", "letters,alphabet", "--fail-if", "letters.other > 0", stdin_bytes=b"a").status, 0)

    def test_a_measure_that_compares_needs_a_baseline(self):
        self.assertIn("jsd compares with a baseline", self.refused("--fail-if", "jsd > 0.05"))

    def test_watch_and_fail_fast_need_a_condition(self):
        self.assertIn("--watch: requires", self.refused("--watch", "inputs"))
        self.assertIn("--fail-fast: requires --fail-if", self.refused("--fail-fast", "--alert-if", "bytes > 1"))
        self.assertIn("there is no \"input\"; known are totals, inputs, windows; did you mean inputs?", self.refused("--watch", "input", "--fail-if", "bytes > 1"))
        self.assertIn("windows requires --window", self.refused("--watch", "windows", "--fail-if", "bytes > 1"))


class Author:
    """Creates random conditions, each with its expected value: True, False or None (unknown)."""

    def __init__(self, chosen, names):
        self.chosen = chosen
        self.names = names

    def number(self, depth):
        kind = self.chosen.randrange(6) if depth > 0 else self.chosen.randrange(2)
        if kind == 0:
            return self.chosen.choice([("0.25", 0.25), ("7", 7.0), ("1KiB", 1024.0), ("2e-3", 0.002), ("0", 0.0), ("1kB", 1000.0)])
        if kind == 1:
            return self.chosen.choice(list(self.names.items()))
        if kind == 2:
            typed, value = self.number(depth - 1)
            return f"-({typed})", None if value is None else -value
        operator = self.chosen.choice("+-*/")
        (a, x), (b, y) = self.number(depth - 1), self.number(depth - 1)
        return f"({a} {operator} {b})", self.calculated(operator, x, y)

    @staticmethod
    def calculated(operator, x, y):
        if x is None or y is None or (operator == "/" and y == 0):
            return None
        value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y}[operator]()
        return value if math.isfinite(value) else None

    def condition(self, depth):
        kind = self.chosen.randrange(4) if depth > 0 else 0
        if kind == 0:
            operator = self.chosen.choice(["<", "<=", ">", ">=", "==", "!="])
            (a, x), (b, y) = self.number(2), self.number(2)
            holds = {"<": lambda: x < y, "<=": lambda: x <= y, ">": lambda: x > y, ">=": lambda: x >= y, "==": lambda: x == y, "!=": lambda: x != y}
            return f"{a} {operator} {b}", None if x is None or y is None else holds[operator]()
        if kind == 1:
            typed, holds = self.condition(depth - 1)
            return f"!({typed})", None if holds is None else not holds
        (a, x), (b, y) = self.condition(depth - 1), self.condition(depth - 1)
        decides = kind == 3  # the operand that decides: true for ||, false for &&
        value = decides if decides in (x, y) else None if None in (x, y) else not decides
        return f"({a} {'||' if decides else '&&'} {b})", value


class Language(CommandTest):
    def test_a_random_condition_holds_if_and_only_if_the_second_evaluator_agrees(self):
        chosen = random.Random(17)
        seen = set()
        for data in (text(3_000), noise(2_000), b"1234 ab\n", b""):
            path = self.file("data", data)
            size = len(data)
            names = {"bytes": float(size), "lines": float(data.count(b"\n")), "distinct": float(len(set(data))),
                     "mean": sum(data) / size if size else None, "chi2": None if size < 1280 else
                     math.fsum((data.count(bytes([b])) - size / 256) ** 2 / (size / 256) for b in range(256))}
            for bucket in ("digit", "upper", "lower"):
                names[f"count({bucket})"] = float(count(data, bucket))
                names[bucket] = names[f"share(classes.{bucket})"] = count(data, bucket) / size if size else None
            names["'non-ascii'"] = names['classes."non-ascii"'] = count(data, "non-ascii") / size if size else None
            author = Author(chosen, names)
            written = dict(author.condition(3) for _ in range(250))
            options = [option for each in written for option in ("--alert-if", each)]
            ended = run("--format", "jsonl", *options, path)
            self.assertEqual(ended.status, 0, ended)
            fired = [each["condition"] for each in ended.documents_of("alert")]
            self.assertEqual(fired, [typed for typed, holds in written.items() if holds])
            seen |= set(written.values())
        self.assertEqual(seen, {True, False, None})

    def test_random_text_is_accepted_or_refused_without_a_crash(self):
        chosen = random.Random(19)
        tokens = ["digit", "entropy", "(", ")", "&&", "||", "!", ">", "<=", "==", "+", "-", "*", "/", "0.5", "64K", "count(", ".", "'", '"', "=", "ö", "\\"]
        for _ in range(60):
            typed = " ".join(chosen.choice(tokens) for _ in range(chosen.randrange(12))) or " "
            with self.subTest(typed=typed):
                self.assertIn(run(f"--fail-if={typed}", stdin_bytes=b"").status, (0, 2, 3))


if __name__ == "__main__":
    main()
