"""Conditions with names (rules): which units each of them holds for, and which are removed because of each; and what a
filter does with lines that are without the field that is measured. Compared with the conditions in Python."""

import gzip
import json
import random

from support import CommandTest, main, run, sampled, zstd
from test_filter import DIGITS, counted, digits, divided, documents, mixed, words
from test_jsonl_field import value_of

CHUNKS = ("1", "3", "777", None)


# ---- the oracle ------------------------------------------------------------------------------------------------------


def length_of_words(unit):
    return len(unit.translate(None, b" \t\n\v\f\r").decode())


# By name, in the order of the preset; in whole numbers.
GOPHER = {
    "gopher.short": lambda unit: words(unit) < 50,
    "gopher.long": lambda unit: words(unit) > 100_000,
    "gopher.short-words": lambda unit: words(unit) > 0 and length_of_words(unit) < 3 * words(unit),
    "gopher.long-words": lambda unit: words(unit) > 0 and length_of_words(unit) > 10 * words(unit),
    "gopher.many-hash-signs": lambda unit: words(unit) > 0 and 10 * unit.count(b"#") > words(unit),
}
CONDITIONS = {
    "digits=digit > 0.5": ("digits", "digit > 0.5", lambda unit: 2 * digits(unit) > len(unit)),
    "long = bytes > 20 && bytes <= 300": ("long", "bytes > 20 && bytes <= 300", lambda unit: 20 < len(unit) <= 300),
    "count(digit) == 3": ("count(digit) == 3", "count(digit) == 3", lambda unit: digits(unit) == 3),
    "dense=bytes / words > 30": ("dense", "bytes / words > 30", lambda unit: words(unit) > 0 and len(unit) > 30 * words(unit)),
}


def totals_of(rules, units, size=len):
    """As units.rules of a result; `rules`: pairs of a name and a function."""
    made = {name: {"units": 0, "bytes": 0, "first_units": 0, "first_bytes": 0} for name, _ in rules}
    for unit in units:
        for place, name in enumerate(holding(rules, unit)):
            made[name]["units"] += 1
            made[name]["bytes"] += size(unit)
            made[name]["first_units"] += place == 0
            made[name]["first_bytes"] += size(unit) * (place == 0)
    return made


def holding(rules, unit):
    return [name for name, holds in rules if holds(unit)]


def numbers_in(units):
    return {each["name"]: {key: each[key] for key in ("units", "bytes", "first_units", "first_bytes")} for each in units["rules"]}


class RuleTest(CommandTest):
    def assert_rules(self, units, rules, seen, size=len):
        expected = totals_of(rules, seen, size)
        self.assertEqual([each["name"] for each in units["rules"]], [name for name, _ in rules])
        self.assertEqual(numbers_in(units), expected)
        self.assertEqual(sum(each["first_units"] for each in expected.values()), units["selected"])
        self.assertEqual(sum(each["first_bytes"] for each in expected.values()), units["selected_bytes"])

    def filtered(self, *arguments, **options):
        """The end of the run, and the documents of --result."""
        result = self.folder / "result"
        ended = run("filter", "--result", result, *arguments, engine=None, **options)
        return ended, [json.loads(each) for each in result.read_bytes().splitlines()] if result.exists() else []


class Rules(RuleTest):
    def typed(self, option, conditions=CONDITIONS):
        return [word for each in conditions for word in (option, each)]

    def rules(self):
        return [(name, holds) for name, _, holds in CONDITIONS.values()]

    def test_the_units_of_each_rule_are_counted_and_named_for_every_size_of_chunk(self):
        data = mixed(30_000)
        units, path = divided(data), self.file("a", data)
        for chunk in sampled(CHUNKS, 3):
            options = ("--chunk-size", chunk) if chunk else ()
            ended = run("--format", "jsonl", "--each", "line", *self.typed("--where"), *options, path)
            self.assertEqual(ended.status, 0, ended)
            self.assert_rules(ended.result["units"], self.rules(), units)
            self.assertEqual([each["condition"] for each in ended.result["units"]["rules"]], [text for _, text, _ in CONDITIONS.values()])
            self.assertEqual([(each["unit"], each["rules"]) for each in ended.documents_of("unit")],
                             [(number, names) for number, unit in enumerate(units, 1) if (names := holding(self.rules(), unit))])  # fmt: skip

    def test_with_several_threads_and_frames_the_counts_are_the_same(self):
        data = mixed(300_000)
        units = divided(data)
        many = b"".join(zstd(data[at : at + 7777]) for at in range(0, len(data), 7777))
        for name, content in (("a", data), ("a.gz", gzip.compress(data)), ("many.zst", many)):
            path = self.file(name, content)
            for threads in ("1", "4"):
                ended = run("--format", "json", "-T", threads, "--each", "line", *self.typed("--where"), path)
                self.assert_rules(ended.result["units"], self.rules(), units)
                _, listed = self.filtered("-T", threads, *self.typed("--drop-if"), "-o", self.folder / "kept", path)
                self.assert_rules(listed[-1]["units"], self.rules(), units)
                kept = b"".join(unit for unit in units if not holding(self.rules(), unit))
                self.assertTrue((self.folder / "kept").read_bytes() == kept)

    def test_records_parts_and_inputs_have_rules(self):
        data = mixed(20_000)
        for each, unit in (("record", b"\0"), ("64", 64)):
            units = divided(data, unit)
            _, listed = self.filtered("--each", each, *self.typed("--drop-if"), self.file("a", data))
            self.assert_rules(listed[-1]["units"], self.rules(), units)
            self.assertEqual([each["rules"] for each in listed if each["kind"] == "unit"],
                             [names for unit in units if (names := holding(self.rules(), unit))])  # fmt: skip
        rules = {"digits": lambda unit: 2 * digits(unit) > len(unit), "big": lambda unit: len(unit) > 100}
        inputs = [b"12", b"1" * 200, b"a" * 200, b"a"]
        paths = [self.file(f"i{number}", each) for number, each in enumerate(inputs)]
        ended = run("--format", "jsonl", "--each", "input", "--where", "digits=digit > 0.5", "--where", "big=bytes > 100", *paths)
        self.assert_rules(ended.result["units"], list(rules.items()), inputs)
        self.assertEqual([each["rules"] for each in ended.documents_of("unit")], [["digits"], ["digits", "big"], ["big"]])

    def test_measures_and_malformed_text_can_be_in_rules(self):
        chosen = random.Random(3)
        units = [bytes(chosen.choices(b"ab\xff\xc3", k=chosen.choice((3, 40)))) + b"\n" for _ in range(400)]
        rules = [("bad", lambda unit: "\ufffd" in unit.decode(errors="replace")), ("flat", lambda unit: len(set(unit)) <= 2)]
        _, listed = self.filtered("--drop-if", "bad=malformed > 0", "--drop-if", "flat=distinct <= 2", self.file("a", b"".join(units)))
        self.assert_rules(listed[-1]["units"], rules, units)

    def test_a_preset_has_a_rule_for_each_condition(self):
        units = list(documents(1500))
        path = self.file("a", b"".join(units))
        rules = [*GOPHER.items(), ("bytes > 400", lambda unit: len(unit) > 400)]
        ended, listed = self.filtered("--preset", "gopher", "--drop-if", "bytes > 400", path)
        self.assertEqual(ended.stdout, b"".join(unit for unit in units if not holding(rules, unit)))
        self.assert_rules(listed[-1]["units"], rules, units)
        self.assertEqual([each["rules"] for each in listed if each["kind"] == "unit"],
                         [names for unit in units if (names := holding(rules, unit))])  # fmt: skip
        self.assertGreater(sum(each["first_units"] > 0 for each in listed[-1]["units"]["rules"]), 2)
        for name, numbers in totals_of(rules, units).items():
            self.assertRegex(ended.stderr, rf"(?m)^{name} +{numbers['units']:,} +{numbers['bytes']:,} +{numbers['first_units']:,} +{numbers['first_bytes']:,}$")

    def test_with_one_rule_a_filter_names_it_and_other_runs_do_not(self):
        path = self.file("a", b"12\nab\n")
        ended, listed = self.filtered("--drop-if", "digits=digit > 0.5", path)
        self.assertEqual([each["rules"] for each in listed if each["kind"] == "unit"], [["digits"]])
        self.assertEqual(numbers_in(listed[-1]["units"]), {"digits": {"units": 1, "bytes": 3, "first_units": 1, "first_bytes": 3}})
        self.assertNotIn("rule", ended.stderr)
        _, listed = self.filtered("--keep-if", "digit > 0.5", path)
        self.assertEqual([each["rules"] for each in listed if each["kind"] == "unit"], [[]])
        self.assertEqual(numbers_in(listed[-1]["units"]), {"digit > 0.5": {"units": 1, "bytes": 3, "first_units": 1, "first_bytes": 3}})
        ended = run("--format", "jsonl", "--each", "line", "--where", "digit > 0.5", path)
        self.assertNotIn("rules", ended.result["units"])
        self.assertNotIn("rules", ended.documents_of("unit")[0])

    def test_the_table_has_a_row_for_each_rule(self):
        ended = run("--each", "line", "--where", "digits=digit > 0.5", "--where", "short=bytes < 4", self.file("a", b"12\nab\n12345\nabcdef\n"))
        self.assertIn("rule    units  bytes  first  bytes\ndigits      2      9      2      9\nshort       2      6      1      3\n", text_of(ended))

    def test_csv_and_prometheus_have_the_numbers_of_rules_if_units_are_grouped(self):
        options = ("--group-by", "field:1", "--where", "a=digit > 0.5", "--where", "b=bytes < 4")
        path = self.file("a", b"12\nab\n12345\nabcdef\n")
        printed = text_of(run("--format", "csv", *options, path))
        self.assertIn("rule,,a,units,2,\nrule,,a,bytes,9,\nrule,,a,first_units,2,\nrule,,a,first_bytes,9,\nrule,,b,units,2,\n", printed)
        printed = text_of(run("--format", "prometheus", *options, path))
        self.assertIn('gpuhist_rule{rule="a",which="units"} 2\n', printed)
        self.assertIn('gpuhist_rule{rule="b",which="first_bytes"} 3\n', printed)

    def test_the_rules_of_results_are_added(self):
        first, second = mixed(5_000, 1), mixed(7_000, 2)
        for name, data in (("a", first), ("b", second)):
            run("--format", "json", "--byte-counts", "--group-by", "field:1", *self.typed("--where"), "-o", self.folder / (name + ".json"), self.file(name, data))
        ended = run("report", "--format", "json", self.folder / "a.json", self.folder / "b.json", engine=None)
        self.assertEqual(ended.status, 0, ended)
        self.assert_rules(ended.result["units"], self.rules(), divided(first) + divided(second))

    def test_the_limit_of_4096_bytes_is_that_of_one_rule(self):
        path = self.file("a", b"12\nab\n")
        bytes_of = " + ".join(["digit"] * 400)
        typed = [word for number in range(30) for word in ("--drop-if", f"r{number}={bytes_of} > {300 + number}")]
        ended, listed = self.filtered(*typed, path)
        self.assertEqual(ended.stdout, b"12\nab\n")
        self.assertEqual(len(listed[-1]["units"]["rules"]), 30)
        self.assert_usage_error(run("filter", "--drop-if", "x=" + " + ".join(["digit"] * 600) + " > 1", path, engine=None), "the condition is longer than 4096 bytes")

    def test_mistakes_are_named(self):
        path = self.file("a", b"12\n")
        for typed, message in ((("x=bytes > 1", "x=bytes > 2"), '--drop-if: another rule has the name "x"; give another name'),
                               (("without-field=bytes > 1",), '--drop-if: another rule has the name "without-field"'),
                               (("x=",), "--drop-if: "), (("x=bytes",), "this is a number, not a condition"),
                               (("x=digitt > 1",), "did you mean digit?")):  # fmt: skip
            ended = run("filter", *[word for each in typed for word in ("--drop-if", each)], path, engine=None)
            self.assert_usage_error(ended, message)
        _, listed = self.filtered("--drop-if", "x=bytes > 1", "--drop-if", "x=bytes > 1", path)
        self.assertEqual(len(listed[-1]["units"]["rules"]), 1)


class Jobs(RuleTest):
    def test_the_rules_of_a_job_and_of_its_shards_are_those_of_one_run(self):
        folder = self.folder / "inputs"
        folder.mkdir()
        units = []
        for number in range(6):
            data = b"".join(documents(100, seed=number))
            units += divided(data)
            (folder / f"{number}.txt").write_bytes(data)
        options = (folder, "--each", "line", "--preset", "gopher", "--where", "bytes > 400")
        rules = [*GOPHER.items(), ("bytes > 400", lambda unit: len(unit) > 400)]
        whole = self.folder / "whole"
        self.assertEqual(run("batch", *options, "--output-dir", whole, engine=None).status, 0)
        manifest, merged, parts = (self.folder / name for name in ("manifest.jsonl", "merged", "parts"))
        self.assertEqual(run("batch", "plan", *options, "--output-dir", parts, "-o", manifest, engine=None).status, 0)
        for shard in ("1/2", "2/2"):
            ended = run("batch", *options, "--manifest", manifest, "--output-dir", parts, "--shard", shard, engine=None)
            self.assertEqual(ended.status, 0, ended)
        ended = run("merge", parts, "--output-dir", merged, engine=None)
        self.assertEqual(ended.status, 0, ended)
        for out in (whole, merged):
            self.assert_rules(json.loads((out / "total.json").read_bytes())["units"], rules, units)
            listed = [json.loads(each) for each in (out / "units.jsonl").read_bytes().splitlines()]
            self.assertEqual([each["rules"] for each in listed], [names for unit in units if (names := holding(rules, unit))])


class WithoutField(RuleTest):
    """Lines of JSON, some without the field, some blank."""

    def setUp(self):
        super().setUp()
        chosen = random.Random(5)
        bad = [b"not JSON\n", b'{"text":"\xff"}\n', b'{"title":"x"}\n', b'{"text":3}\n', b'{"text":"\\ud800"}\n']
        good = [json.dumps({"text": chosen.choice(("12345", "abc de", "a 1"))}).encode() + b"\n" for _ in range(300)]
        self.lines = [chosen.choice((*bad, b"\n")) if chosen.random() < 0.3 else each for each in good]
        self.path = self.file("docs.jsonl", b"".join(self.lines))
        self.missing = sum(value_of(each) is None for each in self.lines)
        self.kept = self.folder / "kept"

    def holds(self, line):
        value = value_of(line)
        return isinstance(value, bytes) and 2 * counted(value, DIGITS) > len(value)

    def expected(self, option, action):
        return b"".join(line for line in self.lines
                        if (action == "keep" if action and value_of(line) is None else self.holds(line) == (option == "--keep-if")))  # fmt: skip

    def test_they_are_kept_or_dropped_whatever_the_condition(self):
        for chunk in sampled(CHUNKS, 2):
            for option in ("--keep-if", "--drop-if"):
                for action in (None, "drop", "keep"):
                    with self.subTest(chunk=chunk, option=option, action=action):
                        options = (*(("--chunk-size", chunk) if chunk else ()), *(("--without-field", action) if action else ()))
                        ended, listed = self.filtered("--jsonl-field", "text", option, "digits=digit > 0.5", *options, self.path)
                        self.assertEqual(ended.status, 0, ended)
                        self.assertEqual(ended.stdout, self.expected(option, action))
                        units = listed[-1]["units"]
                        self.assertEqual(units["without_field"], self.missing)
                        is_kept = action == "keep" or (action is None and option == "--drop-if")
                        self.assertIn(f"; {self.missing} lines are without field, and were {'kept' if is_kept else 'dropped'}\n", ended.stderr)
                        rules = [("digits", self.holds)]
                        if action and is_kept == (option == "--keep-if"):
                            rules.append(("without-field", lambda line: value_of(line) is None))
                        self.assert_rules(units, rules, self.lines)
                        dropped = [each for each in listed if each["kind"] == "unit"]
                        self.assertEqual(sum("without_field" in each for each in dropped), 0 if is_kept else self.missing)

    def test_a_preset_drops_them_unless_another_action_is_given(self):
        prose = " ".join(["words"] * 60)
        good, short = (json.dumps({"text": each}).encode() + b"\n" for each in (prose, "few"))
        path = self.file("b", good + b"{}\n" + short + b"\n" + good + b'{"text":"\xc3"}\n')
        ended, listed = self.filtered("--jsonl-field", "text", "--preset", "gopher", path)
        self.assertEqual(ended.stdout, good + b"\n" + good)
        self.assertEqual(numbers_in(listed[-1]["units"])["without-field"]["first_units"], 2)
        self.assertEqual(listed[-1]["units"]["selected"], 3)
        ended, _ = self.filtered("--jsonl-field", "text", "--preset", "gopher", "--without-field", "keep", path)
        self.assertEqual(ended.stdout, good + b"{}\n\n" + good + b'{"text":"\xc3"}\n')
        ended, _ = self.filtered("--without-field", "keep", "--jsonl-field", "text", "--preset", "gopher", path)
        self.assertEqual(ended.stdout, good + b"{}\n\n" + good + b'{"text":"\xc3"}\n')

    def test_fail_names_the_first_line_and_its_cause_and_no_output_appears(self):
        first = next(number for number, line in enumerate(self.lines, 1) if value_of(line) is None)
        ended, _ = self.filtered("-q", "--jsonl-field", "text", "--drop-if", "digit > 0.5", "--without-field", "fail", "-o", self.kept, self.path)
        self.assertEqual(ended.status, 1, ended)
        self.assertFalse(self.kept.exists())
        self.assertRegex(ended.stderr, rf"gpuhist: --without-field fail: {self.path}: line {first} is without field 'text': [^\n]*"
                                       rf"{self.missing} lines are without field; correct the line, or give --without-field drop or keep\n")  # fmt: skip
        ended, _ = self.filtered("--jsonl-field", "text", "--drop-if", "digit > 0.5", "--without-field", "fail", self.path)
        self.assertEqual((ended.status, ended.stdout), (1, self.expected("--drop-if", "drop")))
        good = self.file("good", b'{"text":"abc"}\n\n')
        ended, _ = self.filtered("--jsonl-field", "text", "--drop-if", "digit > 0.5", "--without-field", "fail", "-o", self.kept, good)
        self.assertEqual((ended.status, self.kept.read_bytes()), (0, b'{"text":"abc"}\n\n'))

    def test_with_a_folder_of_outputs_those_of_inputs_without_such_lines_are_written(self):
        good = self.file("good", b'{"text":"abc"}\n')
        out = self.folder / "out"
        ended, _ = self.filtered("--jsonl-field", "text", "--drop-if", "digit > 0.5", "--without-field", "fail", "--output-dir", out, self.path, good)
        self.assertEqual(ended.status, 1, ended)
        self.assertEqual(sorted(each.name for each in out.iterdir()), [".gpuhist-filter.jsonl", "good"])
        self.assertIn(f"{out}/docs.jsonl was not written, because {self.missing} lines of its input lack the field", ended.stderr)

    def test_a_run_that_counts_can_fail(self):
        options = ("--each", "line", "--jsonl-field", "text", "--top", "1:bytes")
        self.assertEqual(run(*options, self.path).status, 0)
        ended = run(*options, "--without-field", "fail", self.path)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("or give --without-field drop or keep to gpuhist filter\n", ended.stderr)
        self.assert_usage_error(run(*options, "--without-field", "keep", self.path), "--without-field: keep is for filters")

    def test_a_job_and_its_merged_shards_can_fail(self):
        good = self.file("good", b'{"text":"abc"}\n')
        options = ("--each", "line", "--jsonl-field", "text", "--top", "1:bytes")
        out, manifest, parts = (self.folder / name for name in ("job", "manifest.jsonl", "parts"))
        self.assertEqual(run("batch", self.path, good, *options, "--output-dir", out, engine=None).status, 0)
        message = f"--without-field fail: {self.missing} lines are without field; correct the inputs"
        failing = (*options, "--without-field", "fail")
        for _ in range(2):  # the second run has nothing left to count
            ended = run("batch", self.path, good, *failing, "--output-dir", self.folder / "failing", engine=None)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(f"{self.folder}/failing: {message}", ended.stderr)
        self.assertEqual(run("batch", good, *failing, "--output-dir", self.folder / "good-job", engine=None).status, 0)
        self.assertEqual(run("batch", "plan", self.path, good, "-o", manifest, engine=None).status, 0)
        statuses = [run("batch", *failing, "--manifest", manifest, "--output-dir", parts, "--shard", shard, engine=None).status for shard in ("1/2", "2/2")]
        self.assertEqual(sorted(statuses), [0, 1])
        ended = run("merge", parts, "--output-dir", self.folder / "merged", engine=None)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn(f"{self.folder}/merged: {message}", ended.stderr)

    def test_utf8_is_refused_with_a_field(self):
        ended = run("--utf8", "--each", "line", "--jsonl-field", "text", self.path)
        self.assert_usage_error(ended, "--utf8: describes the whole text, not the field of --jsonl-field")


class Pointers(RuleTest):
    def values(self, line, path):
        """The value at a JSON Pointer, or of a key."""
        found = json.loads(line)
        for step in path[1:].split("/") if path.startswith("/") else [path]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(step)
            elif isinstance(found, list) and step.isdigit() and (step == "0" or step[0] != "0"):
                found = found[int(step)] if int(step) < len(found) else None
            else:
                return None
        return found.encode() if isinstance(found, str) else None

    def test_a_field_that_begins_with_a_slash_is_a_json_pointer(self):
        lines = [
            {"a": {"b": "one"}, "a.b": "dotted", "/a/b": "slash"}, {"a": [{"b": "x"}, "second"]}, {"a": {"": "empty", "~": "tilde", "/": "solidus"}},
            {"a": "flat"}, {"a": {"b": 3}}, {"a": {"b": {"c": "deep"}}}, {"a": ["0", ["1.0", "1.1"]]}, {"a": {"0": "key", "01": "other"}}, {"": "top"},
        ]  # fmt: skip
        data = [json.dumps(each).encode() + b"\n" for each in lines]
        data.append(b'{"a":{"b":"early"},"a":{"b":"first","b":"last","n":1e999}}\n')
        data.append(b'{"a":{"b":"early"},"a":3}\n')
        data.append(b'{"x":"\\ud800","a":{"b":"with a lone surrogate elsewhere"}}\n')
        path = self.file("a", b"".join(data))
        found_any = 0
        for pointer in ("/a/b", "a.b", "/~1a~1b", "/a/0", "/a/1", "/a/1/0", "/a/01", "/a/", "/a/~0", "/a/~1", "/a", "/a/b/c", "/", "/a/1/2", "/b"):
            with self.subTest(pointer=pointer):
                values = [self.values(line, pointer) for line in data]
                found_any += sum(each is not None for each in values)
                _, listed = self.filtered("--jsonl-field", pointer, "--keep-if", "bytes > 1000", path)
                units = [each for each in listed if each["kind"] == "unit"]
                self.assertEqual([each.get("field_bytes") for each in units], [None if each is None else len(each) for each in values])
                self.assertEqual(listed[-1]["units"]["without_field"], values.count(None))
        self.assertGreater(found_any, 12)

    def test_a_malformed_pointer_is_refused(self):
        path = self.file("a", b"{}\n")
        ended = run("filter", "--jsonl-field", "/a~2", "--drop-if", "bytes > 0", path, engine=None)
        self.assert_usage_error(ended, "--jsonl-field: '~' in a JSON Pointer is written ~0, and '/' in a key is written ~1")
        ended = run("filter", "--jsonl-field", "/a" * 257, "--drop-if", "bytes > 0", path, engine=None)
        self.assert_usage_error(ended, "--jsonl-field: the JSON Pointer has more than 256 steps; use a shorter one")


def text_of(ended):
    return ended.stdout.decode()


if __name__ == "__main__":
    main()
