"""`--minhash`: signature files that datatrove's MinhashDedupBuckets reads, byte for byte those of an implementation in
Python, and those that MinhashDedupSignature of datatrove 0.10.1 wrote of the same documents with white space as tokenizer."""

import hashlib
import json
import random
import re
import struct
import unicodedata

from support import CommandTest, main, noise, run, zstd
from text_facts_oracle import OTHER_PUNCTUATION

BANDS, HASHES, WORDS = 14, 8, 5
PRIME = 2**61 - 1
WRAPPED = 2**64 - 1

# Of all files of documents(0) to documents(2), in the order of their names: SHA-256 of what datatrove wrote.
OF_DATATROVE = "f2aaf1c257c0f638d8af8e3cdb588c01d0f296f0a48e34a787c7576516d22407"


# ---- the oracle ------------------------------------------------------------------------------------------------------


def xxh64(data):
    p1, p2, p3, p4, p5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
    rotated = lambda value, bits: (value << bits | value >> 64 - bits) & WRAPPED
    step = lambda sum, lane: rotated(sum + lane * p2 & WRAPPED, 31) * p1 & WRAPPED
    at = 0
    if len(data) >= 32:
        sums = [p1 + p2 & WRAPPED, p2, 0, -p1 & WRAPPED]
        for at in range(0, len(data) - 31, 32):
            sums = [step(sum, lane) for sum, lane in zip(sums, struct.unpack_from("<4Q", data, at))]
        at += 32
        made = sum(rotated(value, bits) for value, bits in zip(sums, (1, 7, 12, 18))) & WRAPPED
        for each in sums:
            made = (made ^ step(0, each)) * p1 + p4 & WRAPPED
    else:
        made = p5
    made = made + len(data) & WRAPPED
    while at + 8 <= len(data):
        made = rotated(made ^ step(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4 & WRAPPED
        at += 8
    if at + 4 <= len(data):
        made = rotated(made ^ struct.unpack_from("<I", data, at)[0] * p1 & WRAPPED, 23) * p2 + p3 & WRAPPED
        at += 4
    for byte in data[at:]:
        made = rotated(made ^ byte * p5 & WRAPPED, 11) * p1 & WRAPPED
    made = (made ^ made >> 33) * p2 & WRAPPED
    made = (made ^ made >> 29) * p3 & WRAPPED
    return made ^ made >> 32


def permutations():
    """Of numpy.random.RandomState(1), which seeds the Mersenne Twister as its authors do."""
    state = [1]
    for at in range(1, 624):
        state.append(1812433253 * (state[-1] ^ state[-1] >> 30) + at & 0xFFFFFFFF)
    twister = random.Random()
    twister.setstate((3, (*state, 624), None))

    def drawn(lowest):
        made = []
        while len(made) < BANDS * HASHES:
            value = (twister.getrandbits(32) << 32 | twister.getrandbits(32)) & PRIME
            if value <= PRIME - 1 - lowest:
                made.append(lowest + value)
        return made

    return drawn(1), drawn(0)


PERMUTATIONS = list(zip(*permutations()))
BLANKS = dict.fromkeys(map(ord, OTHER_PUNCTUATION | set("!.?。！．？")), " ")


def words_of(text):
    text = re.sub(r"\d+([.,،٫⎖⎗⎘]\d+)?", "0", text.lower()).translate(BLANKS)
    text = unicodedata.normalize("NFD", re.sub(r"\s+", " ", text.strip()))
    return "".join(each for each in text if unicodedata.category(each) != "Mn").split()


def signature(text):
    words = words_of(text)
    hashes = [xxh64(" ".join(words[at : at + WORDS]).encode()) for at in range(len(words) - WORDS + 1)]
    return [min((each * a + b & WRAPPED) % PRIME for each in hashes) for a, b in PERMUTATIONS] if hashes else None


def files_of(texts):
    """The content of the file of each band. Documents without text have no number."""
    bands = [[] for _ in range(BANDS)]
    for number, text in enumerate(each for each in texts if each):
        found = signature(text)
        for band in range(BANDS if found else 0):
            bands[band].append((*found[band * HASHES : (band + 1) * HASHES], number))
    return [b"".join(struct.pack(f"<{HASHES}QI", *each) for each in sorted(band)) for band in bands]


# ---- data ------------------------------------------------------------------------------------------------------------

ALPHABETS = ("abcdefghij", "äöüßÄÖÜéèñçÅ", "абвгдежзиЙЁ", "ΑΒΓΔΕΣσςάέΐΰ", "अआइईकखगघँं्", "日本語漢字。、", "عربي٣٤٥،٫ًٌ", "İIıi", "ÀÁẤḗǖ", "ﬀﬁ①²½", "ႠႡაბ", "가각힣한",
             "0123456789", "１２３", "𝔘𝟘𝟙🙂", "\u0301\u0323\u0316a", "ạ\u0301b\u0316\u0301", "ⅠⅡⅰ")  # fmt: skip
SEPARATORS = (" ", "  ", "\n", "\t", "\u3000", "\xa0", ". ", ", ", "!", "?", "…", "—", "-", "'", "’", ":", "\u200b", "\x00")
ENDS = ("Σ", "ΟΔΟΣ", "Σ.Σ", "1.5", "2,000.5", "3.", "٣٫٤", "1.2.3")


def documents(seed, number=300):
    chosen = random.Random(seed)

    def word():
        alphabet = chosen.choice(ALPHABETS) if chosen.random() < 0.6 else ALPHABETS[0]
        made = "".join(chosen.choice(alphabet) for _ in range(chosen.randrange(1, 8)))
        made = made.upper() if chosen.random() < 0.2 else made
        return made + (chosen.choice(ENDS) if chosen.random() < 0.1 else "")

    def text(words):
        return "".join(word() + (chosen.choice(SEPARATORS) if chosen.random() < 0.4 else " ") for _ in range(words))

    return [text(chosen.choice((0, 1, 4, 5, 6, 20, 60))) for _ in range(number)]


def jsonl(texts):
    return b"".join(json.dumps({"text": each}, ensure_ascii=number % 2 == 0).encode() + b"\n" for number, each in enumerate(texts))


class Signatures(CommandTest):
    def signed(self, *arguments, status=0, **options):
        out = self.folder / "signatures"
        ended = run("--format", "json", "--each", "line", "--jsonl-field", "text", "--minhash", out, *arguments, **options)
        self.assertEqual(ended.status, status, ended)
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}

    def named(self, number, contents):
        return {f"bucket_{band:03}/{number:05}.minhash.sig": content for band, content in enumerate(contents)}

    def test_files_are_those_of_datatrove(self):
        paths = [self.file(f"{number}.jsonl", jsonl(documents(number))) for number in range(3)]
        found = self.signed(*paths)
        expected = {}
        for number in range(3):
            expected.update(self.named(number, files_of(documents(number))))
        self.assertEqual(found, expected)
        self.assertEqual(hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest(), OF_DATATROVE)

    def test_they_are_the_same_for_every_size_of_chunk_and_number_of_threads_and_compressed(self):
        texts = documents(5, 100)
        expected = self.named(0, files_of(texts))
        data = jsonl(texts)
        for options in (("--chunk-size", "777"), ("-T", "1"), ("-T", "5")):
            self.assertEqual(self.signed(*options, self.file("a.jsonl", data)), expected)
        self.assertEqual(self.signed(self.file("a.zst", zstd(data[:9999]) + zstd(data[9999:]))), expected)

    def test_lines_without_field_have_no_number_and_an_input_without_documents_has_empty_files(self):
        texts = documents(6, 20)
        lines = jsonl(texts).splitlines(keepends=True)
        data = b"{}\n\nno JSON\n".join(lines)
        found = self.signed(self.file("a", data), self.file("b", b"{}\n"))
        self.assertEqual(found, {**self.named(0, files_of(texts)), **self.named(1, [b""] * BANDS)})

    def test_signatures_that_do_not_fit_in_memory_are_spilled_and_sorted(self):
        texts = [f"one two three four five {number % 7000}" for number in range(40_000)]
        self.assertEqual(len(self.signed(self.file("a", jsonl(texts)))["bucket_003/00000.minhash.sig"]), 40_000 * 68)
        content = self.signed(self.file("a", jsonl(texts)))["bucket_003/00000.minhash.sig"]
        records = list(struct.iter_unpack("<8QI", content))
        self.assertEqual(records, sorted(records))
        of_text = {number: tuple(signature(texts[number])[24:32]) for number in range(0, 7000, 500)}
        for *hashes, number in records:
            if number % 7000 in of_text:
                self.assertEqual(tuple(hashes), of_text[number % 7000])

    def test_an_input_that_is_not_complete_has_no_files(self):
        data = zstd(jsonl(documents(7, 50)))
        found = self.signed(self.file("a.zst", data[:-20]), self.file("b", jsonl(["a b c d e"])), status=1)
        self.assertEqual(sorted({name.split("/")[1] for name in found}), ["00001.minhash.sig"])

    def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(self):
        ended = run("--each", "line", "--jsonl-field", "text", "--minhash", self.file("file", b"") / "x", self.file("a", b"{}\n"))
        self.assertNotEqual(ended.status, 0)
        self.assertIn("--minhash: cannot write", ended.stderr)

    def test_it_is_refused_where_there_are_no_documents(self):
        for arguments, message in ((("--each", "line", "--minhash", "x"), "--minhash: requires --jsonl-field"),
                                   (("filter", "--jsonl-field", "text", "--minhash", "x", "--drop-if", "bytes < 9"), "count the text that the filter wrote")):  # fmt: skip
            ended = run(*arguments, self.file("a", noise(10)), engine=None)
            self.assertEqual(ended.status, 2)
            self.assertIn(message, ended.stderr)


if __name__ == "__main__":
    main()
