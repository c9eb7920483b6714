"""--jsonl-field: the decoded string of a field is measured instead of its line; compared with the json module of Python."""

import gzip
import itertools
import json
import random

from support import SAMPLE, CommandTest, main, oracle, run, sampled, tar, zstd

CHUNKS = ("1", "3", "777", None)
JSONL = ("--format", "jsonl", "--buckets", "letters,classes,bytes")
BLANK = object()
DIGITS = b"0123456789"


# ---- the oracle ------------------------------------------------------------------------------------------------------


def refuse(name):
    raise ValueError(name)


def value_of(line, field="text"):
    """The decoded value of a line, None if it is without field, or BLANK."""
    if not line.strip(b" \t\r\n"):
        return BLANK
    try:
        found = json.loads(line.decode(), parse_constant=refuse, parse_int=len, parse_float=len)
        value = found.get(field) if isinstance(found, dict) else None
        return value.encode() if isinstance(value, str) else None
    except ValueError:  # also of UTF-8
        return None


def lines_of(data):
    pieces = data.split(b"\n")
    return [each + b"\n" for each in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def digits(value):
    return len(value) - len(value.translate(None, DIGITS))


class Line:
    """A line and its place."""

    def __init__(self, number, offset, content, field):
        self.number, self.offset, self.content, self.value = number, offset, content, value_of(content, field)

    @property
    def has_value(self):
        return isinstance(self.value, bytes)


def placed(data, field="text"):
    offset, lines = 0, []
    for number, content in enumerate(lines_of(data), 1):
        lines.append(Line(number, offset, content, field))
        offset += len(content)
    return lines


# ---- data ------------------------------------------------------------------------------------------------------------

NOT_A_NUMBER = "malformed JSON: NaN or Infinity, which JSON does not have; write null"
FAULTS = {
    b"not JSON": "malformed JSON",
    b'{"text":"x"} {}': "malformed JSON",
    b'{"text":"x",}': "malformed JSON",
    b'{"text":"tab\there"}': "malformed JSON",
    b'{"text":"\\x"}': "malformed JSON",
    b'{"text":"x","n":NaN,}': "malformed JSON",
    json.dumps({"text": "x", "n": float("nan")}).encode(): NOT_A_NUMBER,
    json.dumps({"n": [1e400, -float("inf"), 1.5], "text": "\ud800"}).encode(): NOT_A_NUMBER,
    b'{"text":"x","n":01e999}': "malformed JSON",
    b'{"text":"a\0b"}': "malformed JSON",
    b"\xef\xbb\xbf" + b'{"text":"x"}': "begins with a byte order mark",
    b'{"text":"\xff"}': "not UTF-8",
    b'{"text":"x","other":"\xed\xa0\x80"}': "not UTF-8",
    b'["text"]': "not a JSON object",
    b'"text"': "not a JSON object",
    b"17": "not a JSON object",
    b"{}": "no such field",
    b'{"Text":"x","a":{"text":"x"}}': "no such field",
    b'{"text":null}': "the value is not a string",
    b'{"text":["x"]}': "the value is not a string",
    b'{"text":12345678901234567890123}': "the value is not a string",
    b'{"text":"\\ud800"}': "the value has half a surrogate pair",
    b'{"text":"a\\udc00b"}': "the value has half a surrogate pair",
}
GOOD = [
    b'{"text":""}',
    b' {"text" : "12 34"}\t\r',
    b'{"text":"first","text":"12345"}',
    b'{"text":"last\\n77\\n","id":1e999,"big":[-123456789012345678901234567890]}',
    b'{"other":"\\ud800","text":"\\ud83d\\ude0012"}',
    b'{"a":' + b"[" * 900 + b"]" * 900 + b',"text":"999"}',
    b'{"text":"NaN Infinity","Infinity":"1","n":null}',
    b'{"t\\u0065xt":"\\u0031\\u00e9\\u0000"}',
]


def documents(number, seed=1):
    """Lines of all kinds: with values of digits, words and escapes, faults, and blank ones; the last without its end."""
    chosen = random.Random(seed)
    words = ["alpha", "12", "größe", "検索", "😀", "line\nfeed", "\t", '"', "\\", "\0", "\x7f", "007", " ", ""]
    lines = []
    for identifier in range(number):
        kind = chosen.random()
        if kind < 0.1:
            lines.append(chosen.choice(list(FAULTS)))
        elif kind < 0.2:
            lines.append(chosen.choice(GOOD))
        elif kind < 0.25:
            lines.append(chosen.choice((b"", b" \t", b"\r")))
        else:
            text = " ".join(chosen.choices(words, k=chosen.choice((0, 1, 3, 20, 100))))
            members = [("id", identifier), ("text", text), ("meta", {"text": "inner", "n": [1.5, None]})]
            chosen.shuffle(members)
            lines.append(json.dumps(dict(members), ensure_ascii=chosen.random() < 0.5).encode() + chosen.choice((b"", b"\r")))
    return b"\n".join(lines) + b'\n{"text":"no end 1"}'


class FieldTest(CommandTest):
    def assert_units(self, reported, expected, name):
        """These lines were reported, with the counts of their values."""
        self.assertEqual(
            [(each["name"], each["unit"], each["line"], each["offset"], each["bytes"]) for each in reported],
            [(str(name), line.number, line.number, line.offset, len(line.content)) for line in expected],
        )
        for each, line in zip(reported, expected):
            if line.has_value:
                wanted = oracle(line.value)
                self.assertEqual(each["field_bytes"], len(line.value))
                self.assertEqual(each["lines"], wanted["lines"])
                self.assertEqual(each["buckets"], {scheme: wanted["buckets"][scheme] for scheme in each["buckets"]})
                self.assertNotIn("without_field", each)
            else:
                self.assertFalse({"field_bytes", "buckets", "lines"} & set(each))
                self.assertEqual(set(each["values"].values()), {None})
                self.assertEqual("without_field" in each, line.value is not BLANK)

    def assert_totals(self, found, lines):
        self.assertEqual((found["seen"], found["bytes"]), (len(lines), sum(len(each.content) for each in lines)))
        self.assertEqual(found["without_field"], sum(each.value is None for each in lines))
        self.assertEqual(found["jsonl_field"], "text")


class Values(FieldTest):
    DATA = documents(400)

    def check(self, condition, holds, data, options=(), chunks=CHUNKS):
        lines = placed(data)
        expected = [each for each in lines if each.has_value and holds(each.value)]
        self.assertTrue(0 < len(expected) < len(lines), condition)
        path = self.file("data", data)
        for chunk in sampled(chunks, 2):
            with self.subTest(condition=condition, chunk=chunk):
                ended = run("-q", *JSONL, *options, *(("--chunk-size", chunk) if chunk else ()), "--each", "line", "--jsonl-field", "text", "--where", condition, path)
                self.assertEqual(ended.status, 0, ended)
                self.assert_units(ended.documents_of("unit"), expected, path)
                self.assert_totals(ended.result["units"], lines)
                self.assertEqual(ended.result["units"]["selected"], len(expected))
                self.assertEqual(ended.result["units"]["selected_bytes"], sum(len(each.content) for each in expected))
                self.assert_counted(ended, data)

    def test_counts_of_a_line_are_those_of_the_value_for_every_size_of_chunk(self):
        for condition, holds in (
            ("digit > 0.2", lambda value: bool(value) and digits(value) / len(value) > 0.2),
            ("bytes == 0", lambda value: not value),
            ("bytes > 100 || lines == 2", lambda value: len(value) > 100 or value.count(b"\n") == 2),
            ("words == 3", lambda value: len(value.split()) == 3),
            ("count(non-ascii) > 10", lambda value: sum(each > 127 for each in value) > 10),
            ("bytes.0x0a + bytes.0x00 == 0 && bytes > 0", lambda value: bool(value) and b"\n" not in value and b"\0" not in value),
        ):
            self.check(condition, holds, self.DATA)

    def test_measures_words_and_utf8_are_those_of_the_value(self):
        self.check("distinct > 8 && words > 2", lambda value: len(set(value)) > 8 and len(value.split()) > 2, self.DATA)
        self.check("malformed == 0 && distinct == 1", lambda value: len(set(value)) == 1, self.DATA)

    def test_conditions_with_many_buckets_are_those_of_the_value(self):
        condition = " + ".join(f"count(bytes.0x{each:02x})" for each in range(0x61, 0x75)) + " > 9 || count(bytes.0xff) > 0"
        self.check(condition, lambda value: sum(0x61 <= each < 0x75 for each in value) > 9, self.DATA)

    def test_a_byte_that_is_never_in_utf8_is_not_counted(self):
        path = self.file("a", b'{"text":"a"}\n{"text":"\xc3\xa9"}\n')
        for condition, selected in (("non-ascii > 0", [2]), ("never-utf8 > 0", []), ("count(bytes.0xff) > 0", [])):
            ended = run("--format", "jsonl", "-b", "classes,utf8,bytes", "--each", "line", "--jsonl-field", "text", "--where", condition, path)
            self.assertEqual([each["unit"] for each in ended.documents_of("unit")], selected, condition)

    def test_a_line_without_a_value_is_not_selected_by_any_condition(self):
        self.check("1 > 0", lambda value: True, self.DATA)
        self.check("!(digit > 2)", lambda value: bool(value), self.DATA)

    def test_inputs_of_any_format_have_the_values_of_their_text(self):
        expected = [each for each in placed(self.DATA) if each.has_value and digits(each.value) > 3]
        half = len(self.DATA) // 2
        contents = {
            "a.zst": zstd(self.DATA),
            "frames.zst": b"".join(zstd(self.DATA[at : at + 1001]) for at in range(0, len(self.DATA), 1001)),
            "a.gz": gzip.compress(self.DATA[:half]) + gzip.compress(self.DATA[half:]),
        }
        messages = set()
        # with --skip-damage frames of any size are read at the same time
        for (name, content), options in itertools.product(contents.items(), (("-T", "1"), ("-T", "2"), ("-T", "5", "--skip-damage"))):
            with self.subTest(name=name, options=options):
                ended = run(*JSONL, *options, "--each", "line", "--jsonl-field", "text", "--where", "count(digit) > 3", self.file(name, content))
                self.assert_units(ended.documents_of("unit"), expected, self.folder / name)
                self.assert_totals(ended.result["units"], placed(self.DATA))
                messages.add(ended.stderr.replace(name, "NAME"))
        self.assertEqual(len(messages), 1, messages)
        ended = run(*JSONL, "--each", "line", "--jsonl-field", "text", "--where", "count(digit) > 3", stdin_bytes=self.DATA)
        self.assert_units(ended.documents_of("unit"), expected, "(standard input)")

    def test_another_field_is_measured_by_its_name(self):
        path = self.file("a", '{"é\\n ":"22","text":"x"}\n{"meta.text":"1","meta":{"text":"333"}}\n'.encode())
        for field, sizes in (("é\n ", {1: 2}), ("meta.text", {2: 1}), ("meta", {}), ("text", {1: 1})):
            ended = run(*JSONL, "--each", "line", "--jsonl-field", field, "--where", "bytes > 0", path)
            self.assertEqual({each["unit"]: each["field_bytes"] for each in ended.documents_of("unit")}, sizes)
            self.assertEqual(ended.result["units"]["jsonl_field"], field)

    def test_a_large_text_in_chunks_of_the_default_size_is_exact(self):
        self.check("digit > 0.2", lambda value: bool(value) and digits(value) / len(value) > 0.2, documents(5_000 if SAMPLE else 20_000, 2), chunks=(None, "65537"))

    def test_millions_of_short_lines_are_exact(self):
        data = b'{"text":"1"}\n{}\n\n' * 100_000
        ended = run("--format", "json", "--each", "line", "--jsonl-field", "text", "--distribution-of", "digit", self.file("a", data))
        found = json.loads(ended.stdout)["units"]
        self.assertEqual((found["seen"], found["without_field"]), (300_000, 100_000))
        self.assertEqual((found["distribution"]["units"], found["distribution"]["without_value"]), (100_000, 200_000))


class Ranked(FieldTest):
    def test_top_and_distribution_have_the_values_for_every_size_of_chunk(self):
        data = documents(300, 3)
        lines = placed(data)
        with_value = [each for each in lines if each.has_value]
        path = self.file("a", data)
        for chunk in sampled(CHUNKS, 2):
            options = ("--chunk-size", chunk) if chunk else ()
            ended = run(*JSONL, *options, "--each", "line", "--jsonl-field", "text", "--top", "20:bytes", "--distribution-of", "words", path)
            found = ended.result["units"]
            expected = sorted(with_value, key=lambda each: (-len(each.value), each.number))[:20]
            self.assertEqual([each["value"] for each in found["top"]], [len(each.value) for each in expected])
            self.assert_units([{**each, "name": str(path)} for each in found["top"]], expected, path)
            self.assert_totals(found, lines)
            values = [len(each.value.split()) for each in with_value]
            distribution = found["distribution"]
            self.assertEqual((distribution["units"], distribution["without_value"]), (len(values), len(lines) - len(values)))
            self.assertEqual((distribution["lowest"], distribution["highest"]), (min(values), max(values)))
            for each in distribution["bins"]:
                is_in = lambda value: value == 0 if each["to"] == 0 else each["from"] <= value < each["to"]
                self.assertEqual(each["units"], sum(map(is_in, values)))


class Filtered(FieldTest):
    DATA = documents(300, 4)

    def test_whole_lines_are_kept_and_dropped_by_their_values(self):
        lines = placed(self.DATA)
        holds = lambda line: line.has_value and bool(line.value) and digits(line.value) / len(line.value) > 0.2
        path = self.file("a", self.DATA)
        for chunk, (option, keeps) in itertools.product(sampled(CHUNKS, 2), (("--keep-if", True), ("--drop-if", False))):
            with self.subTest(chunk=chunk, option=option):
                options = ("--chunk-size", chunk) if chunk else ()
                ended = run("filter", "--jsonl-field", "text", option, "digit > 0.2", *options, "--result", self.folder / "r", path, engine=None)
                self.assertEqual(ended.status, 0, ended)
                self.assertEqual(ended.stdout, b"".join(each.content for each in lines if holds(each) == keeps))
                listed = [json.loads(each) for each in (self.folder / "r").read_bytes().splitlines()]
                dropped = [each for each in lines if holds(each) != keeps]
                self.assert_units([each for each in listed if each["kind"] == "unit"], dropped, path)
                self.assert_totals(listed[-1]["units"], lines)
                self.assertIn("without field 'text': ", ended.stderr)

    def test_presets_measure_the_value(self):
        good, bad = " ".join(["words"] * 60), "1234 " * 60
        data = b"".join(json.dumps({"n": 10**30, "text": each}).encode() + b"\n" for each in (good, bad, good))
        ended = run("filter", "-q", "--jsonl-field", "text", "--preset", "nemo", self.file("a", data), engine=None)
        self.assertEqual(ended.stdout, b"".join(lines_of(data)[at] for at in (0, 2)))


class WithoutField(FieldTest):
    def test_every_cause_is_named_for_every_size_of_chunk(self):
        data = b"".join(each + b"\n" for each in FAULTS)
        self.assertEqual({each.value for each in placed(data)}, {None})
        path = self.file("a", data)
        for chunk in sampled(CHUNKS, 2):
            options = ("--chunk-size", chunk) if chunk else ()
            run("filter", "-q", "--keep-if", "bytes > 0", "--jsonl-field", "text", *options, "--result", self.folder / "r", path, engine=None)
            listed = [json.loads(each) for each in (self.folder / "r").read_bytes().splitlines()]
            self.assertEqual([each["without_field"] for each in listed if each["kind"] == "unit"], list(FAULTS.values()))

    def test_one_message_for_each_input_names_the_first_line_and_its_cause(self):
        self.file("a", b'{"text":"x"}\n\n{"text":1}\nnot JSON\n{"text":"x"}\n{}')
        self.file("b", b'{"text":"x"}\n')
        self.file("c.tar", tar({"d": b"[]\n"}))
        expected = [
            "gpuhist: warning: a: line 3 is without field 'text': the value is not a string; 3 lines are without field",
            "gpuhist: warning: c.tar/d: line 1 is without field 'text': not a JSON object",
        ]
        arguments = ("--jsonl-field", "text", "a", "b", "c.tar")
        for options in (("--each", "line", "--top", "1:bytes"), ("--each", "line", "--chunk-size", "1", "--format", "json")):
            ended = run(*options, *arguments, cwd=self.folder)
            self.assertEqual((ended.status, sorted(ended.stderr.splitlines())), (0, expected))
            self.assertEqual(run("-q", *options, *arguments, cwd=self.folder).stderr, "")
        ended = run("filter", "--drop-if", "bytes > 9", *arguments, cwd=self.folder, engine=None)
        self.assertEqual((ended.status, sorted(ended.stderr.splitlines())[1:]), (0, expected))

    def test_blank_lines_are_units_without_a_value_and_without_a_message(self):
        path = self.file("a", b'\n{"text":"1"}\n \t\r\n\n')
        ended = run(*JSONL, "--each", "line", "--jsonl-field", "text", "--where", "bytes >= 0", path)
        self.assertEqual(([each["unit"] for each in ended.documents_of("unit")], ended.stderr), ([2], ""))
        self.assertEqual((ended.result["units"]["seen"], ended.result["units"]["without_field"]), (4, 0))

    def test_a_line_that_is_longer_than_a_share_of_the_memory_limit_is_without_field(self):
        limit = 1 << 20  # of 64 MiB
        fits, exceeds = (b'{"text":"' + b"7" * (size - 12) + b'"}\n' for size in (limit, limit + 1))
        self.assertEqual(len(fits), limit)
        path = self.file("a", fits + exceeds + fits[:-1])
        for options in ((), ("--chunk-size", "4097"), ("--chunk-size", "4MiB")):
            ended = run(*JSONL, "--memory-limit", "64MiB", *options, "--slots", "2", "--each", "line", "--jsonl-field", "text", "--where", "digit == 1", path)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual([each["unit"] for each in ended.documents_of("unit")], [1, 3])
            self.assertIn("line 2 is without field 'text': longer than 1 MiB\n", ended.stderr)

    def test_nesting_is_limited_to_1024(self):
        lines = [b'{"text":"x","a":' + b"[" * depth + b"1" + b"]" * depth + b"}\n" for depth in (1000, 1023, 1024, 5000)]
        ended = run(*JSONL, "--each", "line", "--jsonl-field", "text", "--where", "bytes > 0", self.file("a", b"".join(lines)))
        self.assertEqual([each["unit"] for each in ended.documents_of("unit")], [1, 2])
        self.assertIn("line 3 is without field 'text': nested deeper than 1024; 2 lines are without field\n", ended.stderr)


class Formats(FieldTest):
    def setUp(self):
        super().setUp()
        self.file("a", b'{"text":"abc 12"}\n\n{}\n{"text":"\\u0041"}\n')
        self.options = ("--each", "line", "--jsonl-field", "text", "--top", "1:bytes", "a")

    def test_the_table_names_the_field_and_counts_lines_without_it(self):
        printed = run(*self.options, "--where", "digit > 0", cwd=self.folder).stdout.decode()
        self.assertTrue(printed.startswith("a:1: offset 0, 18 bytes, field 6 bytes, digit 0.333333\nbucket "), printed)
        self.assertIn("each line, field text  units  bytes    share\nseen                       4     40\n", printed)
        self.assertIn("selected                   1     18  25.00 %\nwithout field              1\n\n", printed)

    def test_csv_and_prometheus_count_lines_without_field(self):
        printed = run("--format", "csv", *self.options, cwd=self.folder).stdout.decode()
        self.assertIn("units,,line,seen_bytes,40,\nunits,,line,without_field,1,0.25\ntop,a,bytes,1,0,6\n", printed)
        printed = run("--format", "prometheus", *self.options, cwd=self.folder).stdout.decode()
        self.assertIn('gpuhist_units{each="line",which="seen"} 4\ngpuhist_units{each="line",which="without_field"} 1\n', printed)

    def test_without_the_option_no_field_is_named(self):
        for format in ("table", "json", "csv", "prometheus"):
            printed = run("--format", format, "--each", "line", "a", cwd=self.folder).stdout.decode()
            self.assertNotRegex(printed, "_field|field text|without field\\b")

    def test_json_names_the_field(self):
        found = json.loads(run("--format", "json", *self.options, cwd=self.folder).stdout)["units"]
        self.assertEqual((found["jsonl_field"], found["without_field"]), ("text", 1))
        (first,) = found["top"]
        self.assertEqual((first["bytes"], first["field_bytes"], first["value"]), (18, 6, 6))


class Usage(FieldTest):
    def test_it_requires_lines(self):
        path = self.file("a", b"{}\n")
        for options in ((), ("--each", "4KiB"), ("--each", "record"), ("--each", "input"), ("--each", "window", "--window", "1KiB")):
            self.assert_usage_error(run("--jsonl-field", "text", *options, path), "--jsonl-field", "--each line")
        for each in ("4KiB", "record"):
            ended = run("filter", "--keep-if", "bytes > 1", "--jsonl-field", "text", "--each", each, path, engine=None)
            self.assert_usage_error(ended, "--jsonl-field", "--each line")

    def test_the_name_must_be_text(self):
        path = self.file("a", b"{}\n")
        self.assert_usage_error(run("--each", "line", "--jsonl-field", "", path), "--jsonl-field", "empty")
        self.assert_usage_error(run("--each", "line", "--jsonl-field", b"\xff", path), "--jsonl-field", "UTF-8")


class Grouped(CommandTest):
    def test_lines_are_counted_by_key_and_time_and_conditions_are_about_their_field(self):
        chosen = random.Random(8)
        hours, users, lines = {}, {}, []
        for number in range(2000):
            time, user, text = f"2025-10-10T{chosen.randrange(12):02}:00:00Z", chosen.choice("abc"), "7" * chosen.randrange(20) + "x" * chosen.randrange(20)
            lines.append(json.dumps({"time": time, "user": user, "text": text, "n": 10**number % 977}).encode() + b"\n")
            if text.count("7") > len(text) / 2:
                for counts, key in ((hours, time), (users, user)):
                    lines_and_bytes = counts.setdefault(key, [0, 0])
                    lines_and_bytes[0] += 1
                    lines_and_bytes[1] += len(lines[-1])
        path = self.file("a.jsonl", b"".join(lines))
        options = ("--jsonl-field", "text", "--where", "digit > 0.5", "--group-by", "json:user", "--event-time=json:time", "--window", "1h")
        for more in ((), ("--chunk-size", "101"), ("-T", "2", "--chunk-size", "64KiB")):
            result = run("--format", "json", *options, *more, path).result
            self.assertEqual({each["key"]: [each["lines"], each["bytes"]] for each in result["groups"]}, users)
            self.assertEqual({each["event_start"]: [each["lines"], each["bytes"]] for each in result["event_windows"]}, hours)
            for part in (*result["groups"], *result["event_windows"]):
                self.assertEqual(sum(part["buckets"]["classes"].values()), part["bytes"])


if __name__ == "__main__":
    main()
