"""The language of a text, in formulas and as a key; compared with CLD2 itself, which Python calls here."""

import ctypes
import functools
import json
import random

from support import CommandTest, main, run, sampled, zstd

FIELD = ("--each", "line", "--jsonl-field", "text")

def gpuhist(*arguments, **options):
    """A command that takes no --engine before its name."""
    return run(*arguments, engine=None, **options)


# ---- the oracle ------------------------------------------------------------------------------------------------------


@functools.cache
def library():
    """libcld2, with the tables of libcld2_full: those of the library that is loaded first."""
    ctypes.CDLL("libcld2_full.so.0", mode=ctypes.RTLD_GLOBAL)
    loaded = ctypes.CDLL("libcld2.so.0")
    detect = loaded._ZN4CLD224ExtDetectLanguageSummaryEPKcibPNS_8LanguageEPiS4_Pb
    code = loaded._ZN4CLD212LanguageCodeENS_8LanguageE
    code.restype = ctypes.c_char_p
    return detect, code


class Detected:
    """The three languages of a text with their shares, and whether they are reliable."""

    def __init__(self, text):
        detect, code = library()
        encoded = text.encode()
        languages, percents, letters, reliable = (ctypes.c_int * 3)(), (ctypes.c_int * 3)(), ctypes.c_int(), ctypes.c_bool()
        detect(encoded, len(encoded), True, languages, percents, ctypes.byref(letters), ctypes.byref(reliable))
        self.codes = [code(each).decode() for each in languages]
        self.percents = list(percents)
        self.reliable = reliable.value

    def share(self, *codes):
        return sum(percent for code, percent in zip(self.codes, self.percents) if code in codes) / 100


# ---- texts -----------------------------------------------------------------------------------------------------------

SENTENCES = (
    "The house stands at the end of the street, and it has been empty for many years.",
    "Das Haus steht am Ende der Straße, und seit vielen Jahren hat dort niemand mehr gewohnt.",
    "La maison se trouve au bout de la rue, et personne n'y habite depuis de nombreuses années.",
    "La casa está al final de la calle y nadie ha vivido allí desde hace muchos años.",
    "Huset ligger i slutet av gatan och ingen har bott där på många år.",
    "Mae'r tŷ ym mhen draw'r stryd, ac nid oes neb wedi byw yno ers blynyddoedd lawer.",
    "Haec est lingua Latina quam Romani olim loquebantur et quam multi adhuc discunt in scholis.",
    "Дом стоит в конце улицы, и уже много лет там никто не живёт.",
    "Будинок стоїть наприкінці вулиці, і вже багато років там ніхто не мешкає.",
    "Το σπίτι βρίσκεται στο τέλος του δρόμου και κανείς δεν μένει εκεί εδώ και πολλά χρόνια.",
    "البيت في نهاية الشارع، ولم يسكن فيه أحد منذ سنوات كثيرة.",
    "घर सड़क के अंत में है और कई सालों से वहाँ कोई नहीं रहता।",
    "房子在街道的尽头，已经很多年没有人住在那里了。",
    "房子在街道的盡頭，已經很多年沒有人住在那裡了。",
    "その家は通りの突き当たりにあり、もう何年も誰も住んでいない。",
    "그 집은 길 끝에 있고 여러 해 동안 아무도 살지 않았다.",
    "บ้านอยู่สุดถนนและไม่มีใครอาศัยอยู่ที่นั่นมาหลายปีแล้ว",
)
CODES = ("en", "de", "fr", "es", "sv", "cy", "la", "ru", "uk", "el", "ar", "hi", "zh", "zh-Hant", "ja", "ko", "th", "un")
SHORT = ("", " ", "a", "ok", "the", "42", "...", "naïve", "\u00a0", "Ünïcödé", "日", "😀😀😀", "\x01\x02 control \x7f", "\ufdd0\ufffe\U0001ffff", "\0", "<b>the</b> &eacute;t&eacute;")


def random_text(chosen):
    kind = chosen.random()
    if kind < 0.1:
        return chosen.choice(SHORT)
    if kind < 0.2:  # any code points
        return "".join(chr(chosen.choice((chosen.randrange(0xD800), chosen.randrange(0xE000, 0x110000)))) for _ in range(chosen.randrange(200))).replace("\n", "")
    parts = chosen.choices(chosen.sample(SENTENCES, chosen.choice((1, 1, 1, 2, 3))), k=chosen.choice((1, 2, 5, 40)))
    if kind < 0.5:  # words in another order, some cut
        parts = [" ".join(word[: chosen.choice((2, 5, 99))] for word in chosen.sample(each.split(), len(each.split()))) for each in parts]
    if kind < 0.4:
        parts.insert(chosen.randrange(len(parts) + 1), chosen.choice(SHORT))
    return chosen.choice((" ", "\t", "\v")).join(parts)


def texts(number, seed=1):
    chosen = random.Random(seed)
    return [*SENTENCES, *SHORT, *(random_text(chosen) for _ in range(number))]


def in_formula(codes):
    return ", ".join(f'"{each}"' for each in codes)


class InFormulas(CommandTest):
    NAMES = {
        **{f'language("{each}")': lambda found, each=each: float(found.codes[0] == each) for each in CODES},
        'language("en", "de", "zh-Hant")': lambda found: float(found.codes[0] in ("en", "de", "zh-Hant")),
        **{f'language_share("{each}")': lambda found, each=each: found.share(each) for each in CODES},
        f"language_share({in_formula(CODES)})": lambda found: found.share(*CODES),
        "language_reliable": lambda found: float(found.reliable),
    }
    CONDITION = " || ".join(f"{each} >= 0" for each in NAMES)

    def assert_found(self, ended, expected):
        self.assertEqual(ended.status, 0, ended)
        units = ended.documents_of("unit")
        self.assertEqual(len(units), len(expected))
        for unit, text in zip(units, expected):
            found = Detected(text)
            self.assertEqual(set(unit["values"]), set(self.NAMES))
            for name, value in self.NAMES.items():
                self.assertAlmostEqual(unit["values"][name], value(found), 12, (name, text))

    def test_the_language_of_a_line_a_record_and_a_field_is_that_which_cld2_finds(self):
        all = texts(600)
        where = ("--format", "jsonl", "--where", self.CONDITION)
        self.assert_found(run(*where, "--each", "line", stdin_bytes="\n".join([*all, ""]).encode()), all)
        for ascii in (True, False):
            data = "".join(json.dumps({"text": each}, ensure_ascii=ascii) + "\n" for each in all)
            self.assert_found(run(*where, *FIELD, stdin_bytes=data.encode()), all)
        records = [each.replace("\t", "\n") for each in all if "\0" not in each]
        self.assert_found(run(*where, "--each", "record", "--chunk-size", "777", stdin_bytes="".join(each + "\0" for each in records).encode()), records)

    def test_malformed_sequences_are_read_as_the_replacement_character(self):
        chosen = random.Random(2)
        damaged = []
        for each in texts(200, seed=3):
            encoded = bytearray(each.encode())
            for _ in range(chosen.randrange(4)):
                encoded.insert(chosen.randrange(len(encoded) + 1), chosen.choice(b"\x80\xbf\xc0\xe2\xed\xf0\xff"))
            damaged.append(bytes(encoded))
        ended = run("--format", "jsonl", "--where", self.CONDITION, "--each", "line", stdin_bytes=b"".join(each + b"\n" for each in damaged))
        self.assert_found(ended, [each.decode(errors="replace") for each in damaged])

    def test_texts_of_megabytes_have_a_language(self):
        long = [" ".join(SENTENCES[1:2] * 20_000), "\x01" * 3_000_000, " ".join(SENTENCES * 2_000)]
        ended = run("--format", "jsonl", "--where", self.CONDITION, "--each", "line", stdin_bytes="".join(each + "\n" for each in long).encode())
        self.assert_found(ended, long)

    def test_a_filter_keeps_the_languages_that_are_asked_for(self):
        all = texts(200, seed=4)
        data = "".join(json.dumps({"text": each}) + "\n" for each in all)
        ended = gpuhist("filter", "--jsonl-field", "text", "--drop-if", '!language("en", "de") || !language_reliable', stdin_bytes=data.encode())
        self.assertEqual(ended.status, 0, ended)
        kept = [json.loads(line)["text"] for line in ended.stdout.splitlines()]
        self.assertEqual(kept, [each for each in all if (found := Detected(each)).codes[0] in ("en", "de") and found.reliable])

    def test_a_code_that_cld2_does_not_have_is_refused(self):
        for code, words in {"english": 'codes are "en", "zh-Hant" and "un" (unknown)', "zh-hant": "did you mean \"zh-Hant\"?", "": "is empty"}.items():
            for function in ("language", "language_share"):
                self.assert_usage_error(run("--each", "line", "--where", f'{function}("en", "{code}") > 0'), words)
        self.assert_usage_error(run("--each", "line", "--where", "language"), 'this is typed as language("A", "B")')
        self.assert_usage_error(run("--each", "line", "--where", 'language_reliable("en")'), "")


class AsKey(CommandTest):
    def groups_of(self, lines, key=lambda text: Detected(text).codes[0]):
        """Lines and bytes by key. `lines`: the bytes of each and its text, or None."""
        made = {}
        for line, text in lines:
            found = made.setdefault(None if text is None else key(text), [0, 0])
            found[0] += 1
            found[1] += len(line)
        return made

    def assert_groups(self, result, expected):
        found = {each["key"] if "then_key" not in each else (each["key"], each["then_key"]): [each["lines"], each["bytes"]] for each in result["groups"]}
        if "without_key" in result:
            found[None] = [result["without_key"]["lines"], result["without_key"]["bytes"]]
        self.assertEqual(found, expected)

    def lines(self, all):
        return [((each + "\n").encode(), each) for each in all]

    def fields(self, all):
        """Lines of JSON, some without the field."""
        made = [(json.dumps({"text": each, "source": f"s{i % 3}"}).encode() + b"\n", each) for i, each in enumerate(all)]
        for at, line in enumerate((b"{}\n", b"\n", b"no JSON\n", b'{"text":7}\n')):
            made.insert(1 + 40 * at, (line, None))
        return made

    def test_lines_and_bytes_are_counted_by_language(self):
        lines = self.lines(texts(500, seed=5))
        data = b"".join(line for line, _ in lines)
        expected = self.groups_of(lines)
        frames = b"".join(zstd(data[at : at + 9_001]) for at in range(0, len(data), 9_001))
        for name, content in {"plain": data, "frames.zst": frames}.items():
            path = self.file(name, content)
            for options in sampled([("-T", threads, "--chunk-size", chunk) for threads in ("1", "2", "4") for chunk in ("17", "4KiB", "1MiB")], 5):
                ended = run("--group-by", "language", "--format", "json", *options, path)
                self.assertEqual(ended.status, 0, ended)
                self.assert_groups(ended.result, expected)

    def test_the_language_of_a_field_is_that_of_its_lines(self):
        lines = self.fields(texts(500, seed=6))
        data = b"".join(line for line, _ in lines)
        path = self.file("docs.jsonl", data)
        for options in ((), ("-T", "2", "--chunk-size", "64KiB"), ("--chunk-size", "101")):
            ended = run("--group-by", "language", "--jsonl-field", "text", "--format", "json", *options, path)
            self.assertEqual(ended.status, 0, ended)
            self.assert_groups(ended.result, self.groups_of(lines))
            parts = [*ended.result["groups"], ended.result["without_key"]]
            for bucket, count in ended.result["buckets"]["classes"].items():
                self.assertEqual(sum(each["buckets"]["classes"][bucket] for each in parts), count, bucket)

    def test_a_language_is_one_of_two_keys(self):
        lines = self.fields(texts(300, seed=7))
        path = self.file("docs.jsonl", b"".join(line for line, _ in lines))
        made = {}
        for line, text in lines:
            key = None if text is None else (Detected(text).codes[0], json.loads(line)["source"])
            found = made.setdefault(key, [0, 0])
            found[0] += 1
            found[1] += len(line)
        ended = run("--group-by", "language", "--then-by", "json:source", "--jsonl-field", "text", "--format", "json", path)
        self.assert_groups(ended.result, made)
        swapped = run("--group-by", "json:source", "--then-by", "language", "--jsonl-field", "text", "--format", "json", path)
        self.assert_groups(swapped.result, {key and key[::-1]: value for key, value in made.items()})

    def test_only_lines_for_which_the_condition_holds_are_counted(self):
        lines = self.fields(texts(300, seed=8))
        path = self.file("docs.jsonl", b"".join(line for line, _ in lines))
        kept = [each for each in lines if each[1] is not None and len(each[1]) > 100]
        for chunk in ("17", "1MiB"):
            ended = run("--group-by", "language", "--jsonl-field", "text", "--where", "characters > 100", "--format", "json", "--chunk-size", chunk, path)
            self.assert_groups(ended.result, self.groups_of(kept))

    def test_jobs_shards_and_sums_have_the_groups_of_one_run(self):
        lines = self.fields(texts(400, seed=9))
        inputs = self.folder / "inputs"
        inputs.mkdir()
        for at in range(4):
            (inputs / f"{at}.jsonl").write_bytes(b"".join(line for line, _ in lines[at::4]))
        options = ("--group-by", "language", "--jsonl-field", "text")
        expected = self.groups_of(lines)
        job = ("batch", *options, inputs, "--output-dir")
        self.assertEqual(gpuhist(*job, self.folder / "job").status, 0)
        self.assert_groups(json.loads((self.folder / "job" / "total.json").read_bytes()), expected)
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(gpuhist("batch", "plan", inputs, "-o", manifest).status, 0)
        for shard in ("1/2", "2/2"):
            ended = gpuhist("batch", "--manifest", manifest, *options, "--shard", shard, "--output-dir", self.folder / "shards")
            self.assertEqual(ended.status, 0, ended)
        self.assertEqual(gpuhist("merge", self.folder / "shards").status, 0)
        self.assert_groups(json.loads((self.folder / "shards" / "total.json").read_bytes()), expected)
        parts = [self.folder / f"part-{at}.json" for at in range(4)]
        for at, part in enumerate(parts):
            self.assertEqual(run(*options, "--format", "json", "-o", part, inputs / f"{at}.jsonl").status, 0)
        merged = gpuhist("merge", "--format", "json", *parts)
        self.assertEqual(merged.status, 0, merged)
        self.assert_groups(merged.result, expected)


if __name__ == "__main__":
    main()
