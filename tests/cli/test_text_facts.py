"""Facts of texts in formulas of units: lines, words, tokens, URLs and n-grams inside of a text; compared with an oracle in
plain Python (text_facts_oracle.py)."""

import itertools
import json
import random
import unicodedata

from support import CommandTest, main, run, sampled, tar, zstd
from text_facts_oracle import KINDS, NGRAM_FUNCTIONS, TEXT_NAMES, Facts, decoded, formula

FIELD = ("--each", "line", "--jsonl-field", "text")
RECORDS = ("--each", "record")

# ---- facts -----------------------------------------------------------------------------------------------------------

CONDITIONS = (
    "punctuation < characters", "letters > 0", "letters != characters", 'starts("•", "-")', 'ends("...", "…")', "ends_with_punctuation",
    "characters <= 30", 'contains("porn", "é", "\\n")', 'is("...", "the", "a")', 'lower_contains("the", "cookie", "mi")', 'lower_ends("read more", "…")',
    'runs("#") / characters > 0.5', '!ends(".", "?", "!", "\\"", "\'")', 'occurrences("a", "aa") >= 1 && bytes > characters',
    'words > 2 && longest_word <= 4', 'has_suffix(".", " ", "?")', 'has_suffix("...") || words * 2 > characters',
    "bytes == characters || letters * 2 - punctuation < characters", 'starts("\\t", "\\\\") || is("https://a.b/")',
)  # fmt: skip
OF_TEXT = (
    *TEXT_NAMES, 'contains("the", "…")', 'contains("\\n\\n")', 'contains("\\"")', 'lower_contains("cookie policy", "lorem ipsum")', 'occurrences("#")',
    'occurrences("...", "…", "aa")', 'occurrences("\\n", "\\\\")', 'words_of("the", "be", "и")', 'distinct_words_of("the", "be", "...", "и")',
    'tokens_of("the", "be", ".", "и")', 'distinct_tokens_of("the", "be", ".", "…")',
    *(f"{name}({size})" for name in NGRAM_FUNCTIONS for size in range(2, 11)),
)  # fmt: skip
FORMS = ("count", "share", "characters")


def facts_of_elements(first):
    """With every condition, every kind once: KIND_count(CONDITION), KIND_share(CONDITION) or KIND_characters(CONDITION)."""
    made = []
    for number, kind in enumerate(KINDS):
        made += [f"{kind}_{FORMS[(first + number + at) % 3]}({condition})" for at, condition in enumerate(CONDITIONS)]
    return made


def conditions_with(facts, limit=4000):
    """Conditions that hold for each text, with all of these facts. None is longer than a condition may be."""
    typed = "characters >= 0"
    for each in facts:
        if len(f"{typed} || {each} > 0".encode()) > limit:
            yield typed
            typed = "characters >= 0"
        typed += f" || {each} > 0"
    yield typed


# ---- texts -----------------------------------------------------------------------------------------------------------

WHITE_SPACE = ("\t", "\v", "\f", "\r", "\r\n", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\x85", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f",
               "\u205f", "\u3000", "\u200b", "\ufeff", "\u180e")  # the last three are not white space  # fmt: skip
BLANKS = (" ", " ", " ", "\n", "\n", "\n\n", "\n\n\n", "\n \n", "  ")
SCRIPTS = (
    ("the", "be", "a", "aa", "cookie", "policy", "THE", "don't", "read more", "Read More.", "C#", "Yes.", "no?", "porn"),
    ("é", "e\u0301", "Straße", "Œuvre", "İstanbul", "mİ", "coo\u212aie", "COO\u212aIE POLICY", "Σ", "ΟΔΟΣ", "ſ", "ǆ", "ﬁ"),
    ("и", "что", "Россия", "ё", "мир.", "Ελλάδα", "ότι;", "αυτό"),
    ("في", "كِتَاب", "؟", "۱۲", "שָׁלוֹם", "में", "क्षेत्र", "है।", "ไทย", "ที่", "ไม่"),
    ("我们", "可以。", "中文！", "こと", "カタカナ", "ｶﾀ", "です。", "우리", "있다.", "\u1112\u1161\u11ab", "𠀀", "𐍈"),
    ("1", "23", "4.5", "½", "²", "Ⅳ", "ⓐ", "①", "１", "٣", "〇", "_", "a_b", "x1", "1\u0301"),
    ("...", "…", "[...]", "-»", "•", "-", "‣", "!", "?!", "«»", "“", "—", "\u2018", "⟨", "(", "}", "#", "##", "#a#", "%", "\\", '"', "'"),
    ("\0", "\b", "\x7f", "\x80", "\u200d", "\u200b", "\ufe0f", "\u20e3", "❤\ufe0f", "\U0001f44d\U0001f3fd", "\ue000", "\U0010ffff", "\ufffd"),
    ("http://", "https://a.b/", "https://a.b/c?d=%20&e#f", "http://a.b/%2", "xhttp://y(z),", "HTTP://a", "https://http://a|b", "httphttps://é", "https:/a"),
)  # fmt: skip
EDGES = (
    "", "\n", "\n\n", "\n\n\n\n", " ", "\u3000", "\r\n", "\r\n\r\n", "\r\r\n", "\u2028", "a\u2028b\u2029", "\x85", "a\x1cb\x1dc\x1ed\x1fe", "\v\n\f",
    "a", "a\n", "\na", "\n\na\n\n", "a\n\nb", "a\n\n\nb\n", "a\n \nb", "  a  ", " \n\n a \n\n ", "a\r\nb\r\n", "a\rb", "a\n\r\nb", "Yes.\r\nNo.\r\n",
    "a b", "a b a b", "a b c a b c", "ab c a bc ab c", "a b a b a b a", "x a b y a b", "a  b a b", "a b c d e a b c d e a b c d e", "e e e e e e e e e e e e",
    "aa aaa aaaa", "ta bc a b a b", "-- - --- -", "• a\n- b\n  • c\n\u00a0- d\nx", "a...\nb… \nc...x\nd…\u3000", "read more\nREAD MORE.. \n[…]\n(...)",
    "#", "##", "#a", "#a#", "# a ## b", ".", "।", "a.\nb।\nc\n。", "İ", "mİ", "coo\u212aie", "http://", "https://a", "http://a http://a", "\ufe0f", "\u0301a",
    "❤\ufe0f ❤", "Ⅳ ⓐ ½", "\0", "\0\n\0", "\\n", '"', "x" * 1001, "é" * 31, "x" * 30 + "\n" + "x" * 31, "a\n" * 50, "a b\n\na b\n\na b\n\n", "\n".join("ab" * 20),
)  # fmt: skip


def random_text(chosen, size=80):
    """A few different words and blanks, so that lines, paragraphs and n-grams are repeated."""
    known = [chosen.choice(chosen.choice(SCRIPTS)) for _ in range(chosen.choice((1, 2, 4, 12)))]
    blanks = [*chosen.choices(BLANKS, k=chosen.choice((1, 3))), *([chosen.choice(WHITE_SPACE), ""] if chosen.random() < 0.5 else [])]
    parts, number = [], chosen.choice((3, 10, size, size))
    while len(parts) < number:
        if parts and chosen.random() < 0.2:
            first = chosen.randrange(len(parts))
            parts += parts[first : first + chosen.choice((2, 6, 12, 40))]
        parts += [chosen.choice(known), chosen.choice(blanks)]
    return "".join(parts[chosen.randrange(2) : len(parts) - chosen.randrange(2)])


def texts(number, seed):
    chosen = random.Random(seed)
    return [random_text(chosen) for _ in range(number)]


def escaped(text, chosen):
    """A JSON string in which any character may be an escape, also those that need none."""
    typed = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "/": "\\/", "\b": "\\b", "\f": "\\f", "\r": "\\r"}
    parts = []
    for each in text:
        if each in typed and (each in '"\\' or each < " " or chosen.random() < 0.3):
            parts.append(typed[each])
        elif each < " " or chosen.random() < 0.1:
            units = each.encode("utf-16-be")
            parts += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
        else:
            parts.append(each)
    return f'"{"".join(parts)}"'


def jsonl(values, seed=1):
    chosen = random.Random(seed)
    return "".join(f'{{"id":{number},"text":{escaped(each, chosen)}}}\n' for number, each in enumerate(values)).encode()


def malformed(number, seed):
    """Records of UTF-8 in which bytes were replaced or removed; none has the delimiter."""
    chosen = random.Random(seed)
    records = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x92", b"\xed\xa0\x80", b"\xf5\x80", b"\xc0\xaf", b"\x80\x80", b"a\xc3\nb\xc3\n", b"\xe2\x80\xe2\x80\xa8 x"]
    for text in texts(number, seed):
        data = bytearray(text.replace("\0", "").encode())
        for _ in range(chosen.randint(0, 5) if data else 0):
            at = chosen.randrange(len(data))
            data[at : at + chosen.choice((0, 1, 1, 2))] = chosen.choice((b"", b"\xff", b"\xc3", b"\xe2\x80", b"\xf0\x90\x8d", b"\x80"))
            data += b"x"
        records.append(bytes(data))
    return records


# ---- tests -----------------------------------------------------------------------------------------------------------


class FactsTest(CommandTest):
    def units(self, condition, *arguments):
        ended = run("-q", "--format", "jsonl", "--where", condition, *arguments)
        self.assertEqual((ended.status, ended.stderr), (0, ""), (condition, ended))
        return ended.documents_of("unit")

    def assert_facts(self, values, facts, *arguments):
        """Each unit has the values of these facts for its text."""
        subjects = [Facts(each) for each in values]
        for condition in conditions_with(facts):
            reported = self.units(condition, *arguments)
            self.assertEqual([each["unit"] for each in reported], list(range(1, len(values) + 1)), condition)
            for each, subject in zip(reported, subjects):
                expected = {name: formula(name)(subject) for name in each["values"]}
                self.assertEqual(each["values"], expected, ascii(subject.text[:1000]))


class Values(FactsTest):
    def test_every_fact_of_a_random_text_in_any_script_is_that_of_the_oracle(self):
        values = texts(200, 1)
        path = self.file("a.jsonl", jsonl(values))
        self.assert_facts(values, [*OF_TEXT, *facts_of_elements(0)], *FIELD, path)

    def test_every_fact_of_a_text_of_a_few_characters_is_that_of_the_oracle(self):
        path = self.file("a.jsonl", jsonl(EDGES, seed=2))
        for first in sampled(range(3), 1):
            self.assert_facts(EDGES, [*OF_TEXT, *facts_of_elements(first)], *FIELD, path)

    def test_each_white_space_character_divides_words_and_lines_as_in_python(self):
        values = [pattern.replace("_", each) for each in WHITE_SPACE for pattern in ("a_b", "_a", "a_", "_\n_", "a\n_\nb_b", "_-_\na..._")]
        facts = [each for each in OF_TEXT if each in TEXT_NAMES] + facts_of_elements(1)
        self.assert_facts(values, facts, *FIELD, self.file("a.jsonl", jsonl(values)))

    def test_every_character_has_the_class_that_it_has_in_python(self):
        known = unicodedata if unicodedata.unidata_version < "15.1" else unicodedata.ucd_3_2_0  # not newer than in the command
        characters = [chr(point) for point in range(0x110000) if known.category(chr(point)) not in ("Cn", "Co", "Cs")]
        values = ["".join(f"{each}\na{each}b\n" for each in characters[at : at + 100]) for at in range(0, len(characters), 100)]
        facts = ["line_count", "row_count", "word_count", "token_count", "line_count(letters > 0)", "line_count(punctuation > 0)",
                 "line_count(ends_with_punctuation)", 'line_count(lower_contains("k"))', 'line_count(lower_contains("i"))', "characters"]  # fmt: skip
        self.assert_facts(values, facts, *FIELD, self.file("a.jsonl", jsonl(values)))

    def test_a_malformed_sequence_in_a_record_is_one_character(self):
        records = malformed(120, 3)
        values = list(map(decoded, records))
        path = self.file("a", b"".join(each + b"\0" for each in records))
        self.assert_facts(values, [*OF_TEXT, *facts_of_elements(2)], *RECORDS, path)

    def test_the_text_of_a_line_is_without_its_line_feed(self):
        values = [each.replace("\n", " ") for each in (*EDGES, *texts(40, 4))]
        facts = [each for each in OF_TEXT if each in TEXT_NAMES]
        for end in (b"\n", b""):
            path = self.file("a", "\n".join([*values, "last"]).encode() + end)
            self.assert_facts([*values, "last"], facts, "--each", "line", path)


class Pieces(FactsTest):
    """Texts that are read in pieces, and by several threads."""

    def test_a_text_has_the_same_facts_for_every_size_of_chunk_and_number_of_threads(self):
        values = [*texts(40, 5), *EDGES]
        records = [each.replace(b"\0", b"") for each in malformed(40, 6)]
        facts = [*OF_TEXT, *facts_of_elements(0)][:: 7 if len(sampled(range(9), 2)) < 9 else 3]
        inputs = [
            (values, FIELD, self.file("a.jsonl", jsonl(values, seed=3))),
            (list(map(decoded, records)), RECORDS, self.file("b", b"\0".join(records) + b"\0")),
        ]
        for (expected, *rest), chunk in itertools.product(inputs, sampled(("1", "2", "3", "777"), 2)):
            with self.subTest(chunk=chunk, arguments=rest[0]):
                self.assert_facts(expected, facts, "--chunk-size", chunk, "-T", "3", *rest[0], rest[1])

    def test_a_text_of_a_megabyte_that_repeats_has_the_facts_of_the_oracle(self):
        chosen = random.Random(7)
        sentences = [f"{random_text(chosen, 12).strip()}. " for _ in range(300)]
        lines = ["".join(chosen.choices(sentences, k=chosen.randint(1, 3))).replace("\n", " ") + "\n" * chosen.choice((1, 1, 2)) for _ in range(6_000)]
        values = ["".join(lines).replace("\0", "z"), "a b c d e f g " * 12_000, "ab\n\n" * 40_000, ("lorem" * 20 + " ") * 10_000,
                  "…é " * 100 + "x" * 1_000_000 + "\ny", "短" * 300_000, "small"]  # fmt: skip
        path = self.file("a.jsonl", jsonl(values, seed=4))
        facts = [*(each for each in OF_TEXT if each in TEXT_NAMES), *(f"{name}({size})" for name in NGRAM_FUNCTIONS for size in (2, 5))]
        facts += ["word_share(letters > 0)", "line_share(characters <= 30)", 'row_count(starts("•", "-"))', 'distinct_tokens_of("the", "a")',
                  'lower_contains("cookie policy")']  # fmt: skip
        self.assert_facts(values, facts, *FIELD, "-T", "2", path)
        self.assert_facts(values, facts[::9], *FIELD, "-T", "3", "--chunk-size", "64KiB", path)
        records = self.file("b", b"".join(each.encode() + b"\0" for each in values))
        self.assert_facts(values, facts[::9], *RECORDS, "--chunk-size", "4KiB", records)


class WholeInputs(FactsTest):
    """With --each input, functions of texts read the text of each input."""

    def setUp(self):
        super().setUp()
        contents = [each.encode("utf-8", "surrogatepass") for each in (*EDGES, *texts(20, 8))] + [*malformed(20, 9), b"\0a\0\n", b""]
        contents += [b"a b c\n" * 100_000, "x é\n\n".encode() * 50_000]
        self.contents = {str(self.file(f"{number:03}", each)): each for number, each in enumerate(contents)}

    def assert_whole(self, condition, *arguments, names=None):
        """Each input is one unit, whose facts are those of its text."""
        reported = {each["name"]: each for each in self.units(condition, "--each", "input", *arguments)}
        self.assertEqual(sorted(reported), sorted(names or self.contents))
        for name, content in zip(names or self.contents, self.contents.values()):
            subject = Facts(decoded(content))
            values = reported[name]["values"]
            self.assertEqual(values, {each: formula(each)(subject) for each in values}, (condition, content[:100]))
            self.assertEqual((reported[name]["unit"], reported[name]["offset"], reported[name]["bytes"]), (1, 0, len(content)))

    def test_every_fact_of_an_input_is_that_of_the_oracle(self):
        facts = [*OF_TEXT, *facts_of_elements(1)]
        for condition in conditions_with(facts[:: 5 if len(sampled(range(9), 2)) < 9 else 1]):
            self.assert_whole(condition, *self.contents)

    def test_an_input_has_the_same_facts_for_every_size_of_chunk_and_number_of_threads_and_compressed(self):
        facts = [*(each for each in OF_TEXT if each in TEXT_NAMES), "duplicate_ngram_characters(5)", "line_share(characters <= 30)"]
        (condition,) = conditions_with(facts)
        for options in (("--chunk-size", "1", "-T", "1"), ("--chunk-size", "4KiB", "-T", "3"), ()):
            self.assert_whole(condition, *options, *self.contents)
        frames = [str(self.file(f"{at:03}.zst", b"".join(zstd(each[begin : begin + 70_000]) for begin in range(0, len(each) or 1, 70_000))))
                  for at, each in enumerate(self.contents.values())]  # fmt: skip
        self.assert_whole(condition, "-T", "3", *frames, names=frames)

    def test_an_archive_has_a_unit_for_each_member(self):
        path = self.file("a.tar", tar({f"m{at:03}": each for at, each in enumerate(self.contents.values())}))
        self.assert_whole("characters >= 0 || duplicate_lines > 1", path, names=[f"{path}/m{at:03}" for at in range(len(self.contents))])

    def test_filter_writes_the_texts_of_the_inputs_that_are_kept_one_after_the_other(self):
        condition = "duplicate_line_characters / characters > 0.2 || word_count < 3"
        ended = run("filter", "--each", "input", "--drop-if", condition, *self.contents, engine=None)
        kept = [each for each in self.contents.values() if not self.is_dropped(each)]
        self.assertTrue(0 < len(kept) < len(self.contents))
        self.assertEqual((ended.status, ended.stdout), (0, b"".join(kept)), ended.stderr)
        self.assertIn(f"kept {len(kept)} ({sum(map(len, kept)):,} bytes) of {len(self.contents)} (", ended.stderr)

    @staticmethod
    def is_dropped(content):
        subject = Facts(decoded(content))
        share = formula("duplicate_line_characters")(subject) / len(subject.text) if subject.text else 0
        return share > 0.2 or len(subject.text.split()) < 3

    def test_inputs_with_the_text_of_an_earlier_one_are_dropped(self):
        again = [self.file(f"{number:03}.again", each) for number, each in enumerate(self.contents.values())]
        ended = run("filter", "--each", "input", "--duplicates", "drop", *self.contents, *again, engine=None)
        distinct = dict.fromkeys(self.contents.values())
        self.assertEqual((ended.status, ended.stdout), (0, b"".join(distinct)), ended.stderr)

    def test_an_input_with_a_gap_is_one_unit_that_is_not_verified(self):
        damaged = bytearray(zstd(b"one two\n") + zstd(b"three\n", "--check") + zstd(b"four five\n"))
        damaged[len(zstd(b"one two\n")) + len(zstd(b"three\n", "--check")) - 1] ^= 1
        path = self.file("a.zst", bytes(damaged))
        ended = run("-q", "--format", "jsonl", "--each", "input", "--where", "word_count > 0", "--skip-damage", path)
        (unit,) = ended.documents_of("unit")
        self.assertFalse(unit["verified"])
        ended = run("filter", "--each", "input", "--drop-if", "word_count < 1", "--skip-damage", path, engine=None)
        self.assertEqual((ended.status, ended.stdout), (1, b""), ended.stderr)

    def test_what_is_read_of_lines_is_refused(self):
        for options in (("--match", "a=b"), ("--group-by", "field:1"), ("--jsonl-field", "text")):
            ended = run("--each", "input", "--where", "word_count > 1", *options, *self.contents)
            self.assert_usage_error(ended, options[0])


class Formula:
    """Makes random formulas of facts."""

    def __init__(self, seed):
        self.chosen = random.Random(seed)

    def strings(self):
        words = [self.chosen.choice(self.chosen.choice(SCRIPTS[:7])) for _ in range(self.chosen.randint(1, 4))]
        return ", ".join(json.dumps(each, ensure_ascii=False) for each in words)

    def of_element(self):
        """A condition about an element."""
        kind, compared = self.chosen.random(), self.chosen.choice(("<", "<=", ">", ">=", "==", "!="))
        if kind < 0.3:
            return f"{self.chosen.choice(('starts', 'ends', 'contains', 'is'))}({self.strings()})"
        if kind < 0.4:
            return self.chosen.choice(('lower_contains("the", "cookie")', 'lower_ends("read more", "…")', "ends_with_punctuation"))
        if kind < 0.5:
            return f"!({self.of_element()})" if self.chosen.random() < 0.5 else f"({self.of_element()})"
        if kind < 0.7:
            return f"({self.of_element()} {self.chosen.choice(('&&', '||'))} {self.of_element()})"
        number = self.chosen.choice(("bytes", "characters", "letters", "punctuation", 'runs("#")', f"occurrences({self.strings()})"))
        return f"{number} {self.chosen.choice(('', '* 2 ', '/ characters '))}{compared} {self.chosen.choice((0, 1, 2, 0.5, 30))}"

    def number(self):
        if self.chosen.random() < 0.5:
            return f"{self.chosen.choice(list(KINDS))}_{self.chosen.choice(FORMS)}({self.of_element()})"
        return self.chosen.choice(OF_TEXT)

    def condition(self):
        value = f"{self.number()} {self.chosen.choice(('+', '-', '*', '/'))} {self.number()}" if self.chosen.random() < 0.5 else self.number()
        made = f"{value} {self.chosen.choice(('<', '>', '<=', '!='))} {self.chosen.choice((0, 0.1, 0.5, 1, 3))}"
        rest = self.chosen.random()
        return f"{made} && {self.number()} > 1" if rest < 0.3 else f"!({made})" if rest < 0.5 else made


class Conditions(FactsTest):
    def setUp(self):
        super().setUp()
        self.values = [*texts(60, 8), *EDGES]
        self.path = self.file("a.jsonl", jsonl(self.values, seed=5))
        self.lines = self.path.read_bytes().splitlines(keepends=True)

    def test_a_random_condition_selects_the_texts_for_which_it_holds(self):
        formulas = Formula(9)
        for _ in range(len(sampled(range(60), 4))):
            condition = formulas.condition()
            holds = [formula(condition)(Facts(each)) is True for each in self.values]
            reported = self.units(condition, *FIELD, self.path)
            self.assertEqual([each["unit"] for each in reported], [number for number, each in enumerate(holds, 1) if each], condition)

    def test_filter_writes_the_lines_whose_text_does_not_have_the_condition(self):
        formulas = Formula(10)
        for _ in range(len(sampled(range(10), 2))):
            condition = formulas.condition()
            kept = [line for line, each in zip(self.lines, self.values) if formula(condition)(Facts(each)) is not True]
            ended = run("filter", "-q", "--drop-if", condition, "--jsonl-field", "text", "-T", "2", self.path, engine=None)
            self.assertEqual((ended.status, ended.stdout), (0, b"".join(kept)), condition)

    def test_a_share_of_no_elements_is_unknown(self):
        for condition in ("url_share(characters > 0) < 2", "!(url_share(characters > 0) < 2)", "word_share(letters >= 0) == 1", "line_share(bytes < 0) == 0"):
            holds = [number for number, each in enumerate(self.values, 1) if formula(condition)(Facts(each)) is True]
            self.assertEqual([each["unit"] for each in self.units(condition, *FIELD, self.path)], holds, condition)
        (reported,) = [each["values"] for each in self.units("characters == 0 && url_share(bytes > 0) + 1 > 0 || bytes == 0", *FIELD, self.path)]
        self.assertEqual(reported, {"characters": 0, "url_share(bytes > 0)": None, "bytes": 0})

    def test_texts_are_ranked_and_distributed_by_a_fact(self):
        values = [formula("longest_word")(Facts(each)) for each in self.values]
        ended = run("-q", "--format", "json", *FIELD, "--top", "5:longest_word", "--distribution-of", "longest_word", self.path)
        self.assertEqual(ended.status, 0, ended)
        found = ended.result["units"]
        expected = sorted(range(len(values)), key=lambda at: -values[at])[:5]
        self.assertEqual([(each["unit"], each["value"]) for each in found["top"]], [(at + 1, values[at]) for at in expected])
        self.assertEqual((found["distribution"]["sum"], found["distribution"]["highest"]), (sum(values), max(values)))

    def test_a_text_without_the_field_has_no_facts(self):
        path = self.file("b.jsonl", b'{"id":1}\n{"text":"\\ud800"}\n{"text":"a b"}\n')
        ended = run("-q", "--format", "jsonl", *FIELD, "--where", "!(word_count > 2)", path)
        self.assertEqual([each["unit"] for each in ended.documents_of("unit")], [3])
        self.assertEqual(ended.result["units"]["without_field"], 2)


class Errors(FactsTest):
    def assert_refused(self, condition, part, *words, option="--where", arguments=FIELD):
        """The message names the option, repeats the condition, and marks a place in the part that is wrong."""
        ended = run(option, condition, *arguments, self.path)
        self.assert_usage_error(ended, option, *words)
        shown = ended.stderr.splitlines()
        at = next((number for number, line in enumerate(shown) if line.strip() == "^"), None)
        self.assertIsNotNone(at, ended.stderr)
        self.assertEqual(shown[at - 1].strip(), condition)
        marked = shown[at].index("^") - shown[at - 1].index(condition)
        first = condition.index(part)
        self.assertTrue(first <= marked <= first + len(part), ended.stderr)

    def test_a_condition_with_a_mistake_is_refused_at_its_place(self):
        self.path = self.file("a.jsonl", b'{"text":"a"}\n')
        for condition, part, *words in (
            ("paragraf_count > 3", "paragraf_count", "paragraph_count"),
            ("line_share(entropy > 3) > 0", "entropy > 3"),
            ("line_share(charakters > 3) > 0", "charakters", "characters"),
            ("line_share(word_count > 3) > 0", "word_count > 3"),
            ("line_count(words_of(\"a\") > 3) > 0", "words_of(\"a\")"),
            ("line_count(count(digit) > 3) > 0", "count(digit)"),
            ("line_share() > 0", "line_share() >"),
            ("line_share > 0", "line_share > 0"),
            ("line_share(characters) > 0", "characters) >"),
            ("line_share(characters > 3", "line_share(characters > 3"),
            ("word_count(starts) > 0", "starts) >"),
            ("word_count(starts() ) > 0", "starts() )"),
            ("word_count(is(3)) > 0", "is(3)"),
            ("word_count(is(\"a\" \"b\")) > 0", "is(\"a\" \"b\")"),
            ("word_count(is(\"a)) > 0", "\"a)) > 0"),
            ("contains() > 0", "contains() >"),
            ("contains(\"\") > 0", "contains(\"\")"),
            ("occurrences(a) > 0", "occurrences(a)"),
            ("starts(\"a\") && bytes > 0", "starts(\"a\")"),
            ("letters > 3", "letters > 3"),
            ("top_ngram_characters(0) > 0", "top_ngram_characters(0)"),
            ("top_ngram_characters(1000000) > 0", "top_ngram_characters(1000000)"),
            ("duplicate_ngram_characters(2.5) > 0", "duplicate_ngram_characters(2.5)"),
            ("duplicate_ngram_covered(\"2\") > 0", "duplicate_ngram_covered(\"2\")"),
            ("top_ngram_covered > 0", "top_ngram_covered > 0"),
        ):  # fmt: skip
            with self.subTest(condition=condition):
                self.assert_refused(condition, part, *words)

    def test_facts_are_those_of_units_only(self):
        self.path = self.file("a.jsonl", b'{"text":"a"}\n')
        self.assert_refused("line_count > 3", "line_count", option="--fail-if", arguments=())


if __name__ == "__main__":
    main()
