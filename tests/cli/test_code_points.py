"""--group-by character counts code points, and known_characters(FILE) is the share of a text's characters that a file
has: compared with collections.Counter and with the rule of HistogramFilter of NeMo Curator, written again here."""

import collections
import csv
import io
import json
import random

from support import CommandTest, main, run, run_fed, sampled, zstd

SCRIPTS = {
    "en": "etaoinshrdlucmfwypvbgkqjxz",
    "de": "enisratdhulcgmobwfkzpvüäößjyxq",
    "el": "αοιετσνηυρπκμλωδγχθφβξζψάέίόύώή",
    "ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "ar": "اليمونرتبعدسفحكقشجطهصخذزضثغظ",
    "hi": "करनसतमपहलयदवबजगिीाेोुू्ंअआइउए",
    "zh": "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生",
    "ja": "のにをはがでとてもしたいなるこれそんあきかくけさすせつ日本語文人東京山川カタナ",
    "ko": "이다는을가에의한고지도로하사자기나있어시대서인부정일리스전수",
    "th": "กขคงจชซญดตถทธนบปผพฟมยรลวสหอะาิีุูเแโ่้์",
    "xx": "𐍈𐌰𐌱😀🏽\U0010ffff\ufffd\ue000",
}
OTHERS = " \t\r\v\x1c\x85\u00a0\u3000\u200b\ufeff.,;!?]\"\\{}#0123456789\0\x07\x7f"


def gpuhist(*arguments, **options):
    """A command that takes no --engine before its name."""
    return run(*arguments, engine=None, **options)


def random_text(chosen, size=60):
    letters = "".join(SCRIPTS[each] for each in chosen.choices(list(SCRIPTS), k=chosen.choice((1, 1, 2))))
    return "".join(chosen.choice(chosen.choice((letters, letters, letters, OTHERS))) for _ in range(chosen.randrange(size + 1)))


def damaged(chosen, text):
    encoded = bytearray(text.encode())
    for _ in range(chosen.randrange(3)):
        encoded.insert(chosen.randrange(len(encoded) + 1), chosen.choice(b"\x80\xbf\xc0\xe0\xe2\xed\xf0\xf4\xff"))
    return bytes(encoded)


def malformed_as_none(data):
    """The characters, and None for each malformed sequence, a maximal subpart."""
    pieces = []
    while data:
        try:
            pieces += data.decode()
            return pieces
        except UnicodeDecodeError as error:
            pieces += data[: error.start].decode()
            pieces.append(None)
            data = data[error.end :]
    return pieces


def result_of(ended):
    """Keys have characters that divide lines for Python."""
    assert ended.status == 0, ended
    return json.loads(ended.stdout)


class CountTest(CommandTest):
    def assert_characters(self, result, expected):
        """`expected`: a counter of characters, or of pairs of a key and a character; None: malformed."""
        found = {(each["key"], each["then_key"]) if "then_key" in each else each["key"]: each["lines"] for each in result["groups"]}
        if "without_key" in result:
            found[None] = result["without_key"]["lines"]
        self.assertEqual(found, {key: number for key, number in expected.items() if number})
        for each in result["groups"]:
            character = each["then_key" if "then_key" in each else "key"]
            self.assertEqual(each["bytes"], each["lines"] * len(character.encode()))
            self.assertEqual(sum(each["buckets"]["classes"].values()), each["bytes"])
        self.assertNotIn("other_groups", result)


class Characters(CountTest):
    def data(self, seed, lines=400):
        chosen = random.Random(seed)
        texts = [damaged(chosen, random_text(chosen, chosen.choice((0, 5, 60, 900)))) for _ in range(lines)]
        return b"\n".join(texts)

    def count(self, *arguments, **options):
        ended = run("--group-by", "character", "--format", "json", *arguments, **options)
        return result_of(ended)

    def test_each_code_point_is_counted_however_the_text_is_divided(self):
        data = self.data(1)
        expected = collections.Counter(malformed_as_none(data))
        frames = b"".join(zstd(data[at : at + 5_003]) for at in range(0, len(data), 5_003))
        for name, content in {"plain": data, "frames.zst": frames}.items():
            path = self.file(name, content)
            for options in sampled([("-T", threads, "--chunk-size", chunk) for threads in ("1", "2", "4") for chunk in ("1", "17", "4KiB", "1MiB")], 6):
                result = self.count(*options, path)
                self.assert_characters(result, expected)
                parts = [*result["groups"], result["without_key"]]
                self.assertEqual(sum(each["bytes"] for each in parts), len(data))
                for bucket, number in result["buckets"]["classes"].items():
                    self.assertEqual(sum(each["buckets"]["classes"][bucket] for each in parts), number)

    def test_malformed_sequences_are_those_of_utf8(self):
        data = self.data(2)
        utf8 = result_of(run("--utf8", "--format", "json", stdin_bytes=data))["utf8"]
        result = self.count(stdin_bytes=data)
        self.assertEqual(result["without_key"]["lines"], utf8["malformed"])
        self.assertEqual(result["without_key"]["bytes"], utf8["malformed_bytes"])
        self.assertEqual(sum(each["lines"] for each in result["groups"]), utf8["code_points"])

    def test_a_line_of_any_length_is_counted_as_it_is_read(self):
        chosen = random.Random(3)
        data = "".join(random_text(chosen, 999) for _ in range(3000)).encode()
        expected = collections.Counter(malformed_as_none(data + b"\xe2\x82"))
        self.assert_characters(self.count("--memory-limit", "64MiB", "--chunk-size", "1001", stdin_bytes=data + b"\xe2\x82"), expected)
        ended = run_fed([data[at : at + 4001] for at in range(0, len(data), 4001)] + [b"\xe2", b"\x82"], "--group-by", "character", "--format", "json")
        self.assert_characters(result_of(ended), expected)

    def test_all_characters_of_unicode_are_reported(self):
        every = [chr(each) for each in (*range(0xD800), *range(0xE000, 0x110000))]
        result = self.count(stdin_bytes="".join(every).encode())
        self.assertEqual(result["number_of_groups"], len(every))
        self.assert_characters(result, collections.Counter(every))

    def test_the_characters_of_records_and_of_a_field_are_counted(self):
        data = self.data(4)
        expected = collections.Counter(malformed_as_none(data.replace(b"\n", b"\0")))
        self.assert_characters(self.count("--each", "record", stdin_bytes=data.replace(b"\n", b"\0")), expected)
        chosen = random.Random(5)
        texts = [random_text(chosen, 300) for _ in range(500)]
        lines = [json.dumps({"text": each, "x": "ž"}, ensure_ascii=chosen.random() < 0.5) for each in texts]
        lines[7:7] = ["{}", "", "no JSON", '{"text":7}']
        path = self.file("docs.jsonl", "\n".join(lines).encode())
        for options in ((), ("--chunk-size", "101"), ("-T", "2", "--chunk-size", "64KiB")):
            self.assert_characters(self.count("--jsonl-field", "text", *options, path), collections.Counter("".join(texts)))

    def test_only_text_for_which_the_condition_holds_is_counted(self):
        chosen = random.Random(6)
        texts = [random_text(chosen, 300) for _ in range(500)]
        path = self.file("docs.jsonl", "".join(json.dumps({"text": each}) + "\n" for each in texts).encode())
        for chunk in ("17", "1MiB"):
            result = self.count("--jsonl-field", "text", "--where", "characters > 100", "--chunk-size", chunk, path)
            self.assert_characters(result, collections.Counter("".join(each for each in texts if len(each) > 100)))
        kept = self.folder / "result.jsonl"
        filtering = ("filter", "--jsonl-field", "text", "--drop-if", "characters > 100", "--group-by", "character", "--result", kept, path)
        self.assertEqual(gpuhist(*filtering).status, 0)
        result = json.loads(kept.read_bytes().splitlines()[-1])
        self.assert_characters(result, collections.Counter("".join(each for each in texts if len(each) <= 100)))

    def test_characters_are_divided_by_another_key(self):
        chosen = random.Random(7)
        texts = [(random_text(chosen), chosen.choice(("a", "b", None))) for _ in range(600)]
        path = self.file("docs.jsonl", "".join(json.dumps({"text": text, **({"source": source} if source else {})}) + "\n" for text, source in texts).encode())
        expected = collections.Counter()
        for text, source in texts:
            expected.update([(source, each) if source else None for each in text])
        for options in ((), ("--chunk-size", "31"), ("-T", "2", "--chunk-size", "4KiB")):
            ended = run("--group-by", "json:source", "--then-by", "character", "--jsonl-field", "text", "--format", "json", *options, path)
            self.assert_characters(result_of(ended), expected)

    def test_jobs_shards_and_sums_have_the_characters_of_one_run(self):
        inputs = self.folder / "inputs"
        inputs.mkdir()
        expected = collections.Counter()
        for at in range(4):
            data = self.data(10 + at, 100)
            expected.update(malformed_as_none(data))
            (inputs / f"{at}").write_bytes(zstd(data) if at % 2 else data)
        options = ("--group-by", "character")
        self.assertEqual(gpuhist("batch", *options, inputs, "--output-dir", self.folder / "job").status, 0)
        self.assert_characters(json.loads((self.folder / "job" / "total.json").read_bytes()), expected)
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(gpuhist("batch", "plan", inputs, "-o", manifest).status, 0)
        for shard in ("1/2", "2/2"):
            ended = gpuhist("batch", "--manifest", manifest, *options, "--shard", shard, "--output-dir", self.folder / "shards")
            self.assertEqual(ended.status, 0, ended)
        self.assertEqual(gpuhist("merge", self.folder / "shards").status, 0)
        self.assert_characters(json.loads((self.folder / "shards" / "total.json").read_bytes()), expected)
        parts = [self.folder / f"part-{at}.json" for at in range(4)]
        for at, part in enumerate(parts):
            self.assertEqual(run(*options, "--format", "json", "-o", part, inputs / f"{at}").status, 0)
        merged = gpuhist("merge", "--format", "json", *parts)
        self.assert_characters(result_of(merged), expected)

    def test_a_table_has_the_most_frequent_characters_and_csv_all(self):
        data = self.data(8)
        expected = collections.Counter(malformed_as_none(data))
        printed = run("--group-by", "character", stdin_bytes=data).stdout.decode()
        self.assertIn(f"... and {len(expected) - 1 - 20:,} groups more", printed)
        rows = csv.DictReader(io.StringIO(run("--group-by", "character", "--format", "csv", stdin_bytes=data).stdout.decode(), newline=""))
        found = {row["input"]: int(row["count"]) for row in rows if row["kind"] == "group" and row["bucket"] == "lines"}
        self.assertEqual(found, {key: number for key, number in expected.items() if key is not None})

    def test_options_that_count_lines_are_refused_with_characters(self):
        for options, words in (
            (("--match", "a=a"), "--match: cannot be combined with the key character"),
            (("--event-time", "--window", "1m"), "--event-time: cannot be combined with the key character"),
            (("--distribution-of", "bytes"), "--distribution-of: cannot be combined with the key character"),
            (("--then-by", "name"), "--group-by: character is the last key; give --group-by name --then-by character"),
        ):
            self.assert_usage_error(run("--group-by", "character", *options), words)


def histogram_of(text):
    """The characters of a histogram, as HistogramFilter reads its lines."""
    found = set()
    for line in io.StringIO(text, newline=None):
        if line[0] == "]":
            break
        found.add(line[0])
    return found


def share_of(text, known):
    return sum(each in known for each in text.strip()) / len(text)


class KnownCharacters(CountTest):
    HISTOGRAMS = (
        *("".join(f"{each}\t{1000 - at}\n" for at, each in enumerate(letters)) for letters in SCRIPTS.values()),
        "a 7\nb 6\n] 5\nc 4\n", "a\r\nb\rc\n\nd", "\n", "\r", "\t9\n 8\n\u3000\n", "\ufeffa\nb\n", "a\x85b\u2028c\nd\n", "{\n}\n[\n", "é" * 100, "\0\n",
    )  # fmt: skip

    def shares(self, texts, formula, *options):
        data = "".join(json.dumps({"text": each}) + "\n" for each in texts).encode()
        ended = run("--each", "line", "--jsonl-field", "text", "--format", "jsonl", "--where", f"{formula} >= 0 || bytes >= 0", *options, stdin_bytes=data)
        self.assertEqual(ended.status, 0, ended)
        return [each["values"][formula] for each in ended.documents_of("unit")]

    def test_the_share_is_that_of_histogram_filter_of_nemo_curator(self):
        chosen = random.Random(1)
        texts = ["", " ", "\n", "a", "] a", *(random_text(chosen) for _ in range(300))]
        texts += [(each * 9)[: len(each) * 3] + chosen.choice(("", "x", "xyz")) for each in SCRIPTS.values() for _ in range(8)]
        for number, histogram in enumerate(self.HISTOGRAMS):
            path = self.file(f"histogram-{number}", histogram.encode())
            known = histogram_of(histogram)
            expected = [share_of(each, known) if each else None for each in texts]
            self.assertEqual(self.shares(texts, f'known_characters("{path}")'), expected, repr(histogram))
        near = [share for share in expected if share is not None]
        self.assertTrue(near)

    def test_a_filter_decides_as_histogram_filter_does(self):
        chosen = random.Random(2)
        for script in ("en", "ru", "zh", "hi"):
            path = self.file(script, "".join(f"{each} 1\n" for each in SCRIPTS[script] + " ").encode())
            known = set(SCRIPTS[script] + " ")
            texts = []
            for _ in range(400):  # near the threshold
                texts.append("".join(chosen.choice(SCRIPTS[script]) if chosen.random() < 0.8 else chosen.choice("#é𐍈") for _ in range(chosen.choice((5, 10, 100)))))
            data = "".join(json.dumps({"text": each}) + "\n" for each in texts).encode()
            ended = gpuhist("filter", "--jsonl-field", "text", "--drop-if", f'known_characters("{path}") <= 0.8', stdin_bytes=data)
            self.assertEqual(ended.status, 0, ended)
            kept = [json.loads(line)["text"] for line in ended.stdout.splitlines()]
            self.assertEqual(kept, [each for each in texts if share_of(each, known) > 0.8])
            self.assertTrue(100 < len(kept) < 300, len(kept))

    def test_the_file_may_be_a_result_of_characters(self):
        chosen = random.Random(3)
        good = "".join(random_text(chosen) for _ in range(20))
        texts = [random_text(chosen) for _ in range(200)]
        expected = [share_of(each, set(good)) if each else None for each in texts]
        for format in ("json", "jsonl"):
            path = self.folder / f"good.{format}"
            ended = run("--group-by", "character", "--format", format, "-o", path, stdin_bytes=good.encode())
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(self.shares(texts, f'known_characters("{path}")'), expected)
        by_source = {source: "".join(random_text(chosen) for _ in range(9)) for source in ("a", "b\n")}
        data = "".join(json.dumps({"text": text, "source": source}) + "\n" for source, text in by_source.items())
        path = self.folder / "sources.json"
        ended = run("--group-by", "json:source", "--then-by", "character", "--jsonl-field", "text", "--format", "json", "-o", path, stdin_bytes=data.encode())
        self.assertEqual(ended.status, 0, ended)
        for source, text in by_source.items():
            typed = source.replace("\n", "\\n")
            expected = [share_of(each, set(text)) if each else None for each in texts]
            self.assertEqual(self.shares(texts, f'known_characters("{path}", "{typed}")'), expected)

    def test_malformed_sequences_of_a_text_are_replacement_characters(self):
        path = self.file("known", "a\n\ufffd\n".encode())
        ended = run("--each", "line", "--format", "jsonl", "--where", f'known_characters("{path}") == 0.75', stdin_bytes=b"a\xe2\x82b\xff\n")
        self.assertEqual(len(ended.documents_of("unit")), 1, ended)

    def test_a_file_that_is_missing_or_malformed_is_named_with_its_line_and_the_remedy(self):
        lines = self.folder / "lines.json"
        run("--group-by", "field:1", "--format", "json", "-o", lines, stdin_bytes=b"a b\n")
        characters = self.folder / "characters.json"
        run("--group-by", "character", "--format", "json", "-o", characters, stdin_bytes=b"a b\n")
        pairs = self.folder / "pairs.json"
        run("--group-by", "field:1", "--then-by", "character", "--format", "json", "-o", pairs, stdin_bytes=b"a b\n")
        for path, words, group in (
            (self.folder / "none", "cannot be read: No such file or directory; give a file of characters", ""),
            (self.folder, "cannot be read: Is a directory", ""),
            (self.file("empty", b""), "has no characters; a line is a character and its number, in UTF-8", ""),
            (self.file("end", b"] 1\na 1\n"), "has no characters", ""),
            (self.file("latin", b"a 1\nb 2\n\xe9 3\n"), "line 3 is not UTF-8; a line is a character and its number, in UTF-8", ""),
            (self.file("cut.json", characters.read_bytes()[:-9]), "line 1 is malformed JSON; give the result of gpuhist --group-by character", ""),
            (self.file("bad.json", b'{"kind":"result","group_by":"character"}'), "is a damaged result; give the result of gpuhist", ""),
            (lines, "is a result without groups of characters; give the result of gpuhist", ""),
            (pairs, 'has characters by "field:1"; give one, as in known_characters("FILE", "en")', ""),
            (pairs, "has no characters", ', "c"'),
            (characters, 'has no group "en", but characters only; leave it out', ', "en"'),
            (self.file("good", b"a 1\n"), 'is a histogram, which has no group "en"; leave it out', ', "en"'),
        ):
            typed = f'known_characters("{path}"{group}) > 0.8'
            ended = run("--each", "line", "--where", typed)
            self.assert_usage_error(ended, f'--where: "{path}": {words}', typed)
        self.assert_usage_error(run("--each", "line", "--where", "known_characters(3) > 0"), "a string in quotes is missing here")

    def test_a_job_is_continued_only_with_the_same_characters(self):
        known = self.file("known", b"a 1\nb 1\n")
        inputs = self.folder / "inputs"
        inputs.mkdir()
        for name in "xy":
            (inputs / name).write_bytes(b"aab\nccc\n")
        job = ("batch", "--each", "line", "--where", f'known_characters("{known}") > 0.5', inputs, "--output-dir", self.folder / "job")
        self.assertEqual(gpuhist(*job).status, 0)
        known.write_bytes(b"b 9\na 7\n")  # the same characters
        self.assertEqual(gpuhist(*job).status, 0)
        known.write_bytes(b"a 1\nb 1\nc 1\n")
        ended = gpuhist(*job)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("the content of the files of known_characters()", ended.stderr)

    def test_a_file_of_characters_is_no_output(self):
        known = self.file("known", b"a 1\n")
        text = self.file("text", b"aaa\n")
        for option in ("--drop-if", "--keep-if"):
            ended = gpuhist("filter", option, f"known_characters('{known}') < 0.5", "-o", known, text)
            self.assert_usage_error(ended, f"{known} of a formula, which is read")
        self.assertEqual(known.read_bytes(), b"a 1\n")


if __name__ == "__main__":
    main()
