"""The documents of bench/curators.py: JSON lines with the field "text", always the same ones for a number of documents.

They are mixed: prose, source code, tables, lists, other scripts, runs of punctuation, control characters, and texts of
a few words or none. A part of them is near the thresholds of the rules, so that definitions which differ decide
differently; no corpus has so many of these."""

import json
import random

COMMON = "the be to of and a in that have it for not on with he as you do at this but his by from".split()
LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
ACCENTED = "éèàüöñçåøß"
CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф"
GREEK = "αοιετσνηυρπκμλωδγχθφβξζψ"
CHINESE = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生"
JAPANESE = "のにをはがでとてもしたいなるこれそんあきかくけさすせつ日本語文人東京山川"
THAI = "กขคงจชซญดตถทธนบปผพฟมยรลวสหอ"
DIGITS_BEYOND_ASCII = "٠١٢٣٤٥٦٧٨٩०१२३४५६७८९０１２３"
SPACE_BEYOND_ASCII = "\u00a0\u3000\u2009\u2028\u0085\x1c\x1f"
SIGNS_BEYOND_ASCII = "…„“”’—«»•€\U0001f600\U0001f44d⟨⟩"
MARKS = (".", ".", ".", "!", "?", ",", ";", ":", '."', "...", "…")


class Writer:
    """Makes texts. `chosen` is the only source of random numbers."""

    def __init__(self, seed):
        self.chosen = random.Random(seed)
        lengths = [max(1, min(14, int(self.chosen.gauss(5.5, 2.5)))) for _ in range(4000)]
        self.vocabulary = [self.word(LETTERS, length) for length in lengths]
        self.by_length = {length: [self.word(LETTERS, length) for _ in range(50)] for length in range(1, 25)}

    def word(self, letters, length):
        return "".join(self.chosen.choices(letters, range(len(letters), 0, -1), k=length))

    def length(self):
        """A number of words: some hundreds for most texts, and often about 50."""
        if self.chosen.random() < 0.2:
            return self.chosen.randint(40, 60)
        return min(20_000, max(1, int(self.chosen.lognormvariate(5.3, 0.9))))

    def sentences(self, words):
        """The words as sentences of 3 to 24; each ends with a mark, and some with a line feed."""
        text, at = [], 0
        while at < len(words):
            size = self.chosen.randint(3, 24)
            text.append(" ".join(words[at : at + size]) + self.chosen.choice(MARKS))
            text.append(self.chosen.choice((" ", " ", " ", "\n", "\n\n")))
            at += size
        return "".join(text[:-1])

    # ---- kinds of texts ----

    def prose(self):
        number = self.length()
        return self.sentences([self.chosen.choice(COMMON if self.chosen.random() < 0.4 else self.vocabulary) for _ in range(number)])

    def words_of_mean_length(self):
        """Words of about 3 or about 10 letters, the limits of the mean."""
        limit, number = self.chosen.choice((3, 3, 10)), self.length()
        lengths = [max(1, limit + self.chosen.choice((-1, 0, 0, 0, 1))) for _ in range(number)]
        return self.sentences([self.chosen.choice(self.by_length[each]) for each in lengths])

    def sprinkled(self):
        """Prose, or text of long words, in which a share of the characters is replaced: up to twice a threshold."""
        words = [self.chosen.choice(self.by_length[self.chosen.randint(15, 24)]) for _ in range(self.chosen.randint(20, 200))]
        text = self.prose() if self.chosen.random() < 0.7 else self.sentences(words)
        characters, highest = self.chosen.choice((
            ("0123456789", 0.3), ("()[]{}", 0.2), (" \n", 0.3), (" \t\r", 0.3), ("#", 0.05), ("*=|<>;:", 0.2), (ACCENTED, 0.3),
            (DIGITS_BEYOND_ASCII, 0.3), (SPACE_BEYOND_ASCII, 0.1), (SIGNS_BEYOND_ASCII, 0.15), ("⟨⟩", 0.3), ("…", 0.05),
            ("\b\v\f\0", 0.2), ("'-/", 0.1), ('"\\\n', 0.1)))  # fmt: skip
        share = self.chosen.uniform(0, highest)
        return "".join(self.chosen.choice(characters) if self.chosen.random() < share else each for each in text)

    def with_words_of_signs(self):
        """Prose with words of signs only: hash signs, ellipses, dashes, bars."""
        words, signs = self.prose().split(" "), self.chosen.choice(("#", "##", "...", "…", "--", "|", "&", "!!!", "#tag", "C#", "[...]"))
        for _ in range(int(len(words) * self.chosen.uniform(0, 0.25))):
            words.insert(self.chosen.randrange(len(words)), signs)
        return " ".join(words)

    def code(self):
        lines = []
        for _ in range(self.chosen.randint(5, 60)):
            one, other = self.chosen.choices(self.vocabulary, k=2)
            lines.append("    " * self.chosen.randint(0, 4) + self.chosen.choice((
                f"def {one}({other}, *args):", f"return {one}[{other}] + {self.chosen.randint(0, 99)}", f"# {one} {other} of the",
                f"if ({one} == {other}) {{", "}", f"#include <{one}.h>", f"{one}_{other} = {{}};", f'print("{one}: %d\\n", {other})')))  # fmt: skip
        return "\n".join(lines)

    def table(self):
        between = self.chosen.choice(("\t", " | ", ", ", "  "))
        columns = [self.chosen.choice((lambda: str(self.chosen.randint(0, 99999)), lambda: self.chosen.choice(self.vocabulary)))
                   for _ in range(self.chosen.randint(2, 8))]  # fmt: skip
        return "\n".join(between.join(each() for each in columns) for _ in range(self.chosen.randint(3, 80)))

    def listed(self):
        """Short lines, some of them equal, some with a bullet and a mark at the end."""
        lines = [self.chosen.choice(("", "- ", "• ", "* ")) + " ".join(self.chosen.choices(self.vocabulary, k=self.chosen.randint(1, 9)))
                 + self.chosen.choice(("", "", ".")) for _ in range(self.chosen.randint(5, 60))]  # fmt: skip
        return "\n".join(lines + self.chosen.choices(lines, k=self.chosen.choice((0, 0, 1, 5))))

    def other_script(self):
        letters = self.chosen.choice((CYRILLIC, CYRILLIC, GREEK, CHINESE, THAI, ACCENTED + LETTERS))
        sizes = (4, 12, 30) if letters in (CHINESE, THAI) else (2, 4, 5, 7, 10)
        words = [self.word(letters, self.chosen.choice(sizes)) for _ in range(self.length() // 2 + 1)]
        if self.chosen.random() < 0.5:  # most words are English
            words = [each if self.chosen.random() < 0.3 else self.chosen.choice(self.vocabulary) for each in words]
        return self.sentences(words)

    def short(self):
        return self.chosen.choice(("", " ", "\n", "\n \n", "\u00a0", "\u3000\n", ".", "#", "…", "(", "7", "é", "\0", "ok", "Yes.",
                                   "\U0001f600", " ".join(self.chosen.choices(self.vocabulary, k=self.chosen.randint(1, 8)))))  # fmt: skip

    def run_of_marks(self):
        words = self.prose().split(" ")
        for _ in range(self.chosen.randint(1, 8)):
            words.insert(self.chosen.randrange(len(words)), self.chosen.choice("-=_*.#!~…") * self.chosen.randint(3, 120))
        return " ".join(words)

    def apart(self):
        """Sentences between blank lines, with few words between blanks and many parts for a tokenizer: marks, U+00A0
        between words, or Japanese."""
        def words(number):
            return [self.chosen.choice(self.vocabulary) for _ in range(number)]

        def sentence(kind):
            if kind == "marks":
                first, second, third, verb = words(4)
                return f"{first.title()}, {second.title()}, and {third.title()} {verb} {self.chosen.choice(COMMON)}."
            if kind == "spaces":
                return "\u00a0".join(words(4)) + " " + " ".join(words(self.chosen.randint(1, 4))) + "."
            return "、".join(self.word(JAPANESE, self.chosen.randint(8, 16)) for _ in range(self.chosen.randint(2, 4))) + "。"

        kind = self.chosen.choice(("marks", "spaces", "japanese"))
        return self.chosen.choice(("\n", "\n\n", "\n\n")).join(sentence(kind) for _ in range(self.chosen.randint(8, 40)))

    KINDS = ((prose, 30), (sprinkled, 24), (words_of_mean_length, 8), (with_words_of_signs, 8), (code, 5), (table, 5), (listed, 6),
             (other_script, 8), (short, 2), (run_of_marks, 4))  # fmt: skip

    def text(self):
        make = self.chosen.choices([each for each, _ in self.KINDS], [weight for _, weight in self.KINDS])[0]
        return make(self)


def write_documents(path, number, seed=11):
    """Writes `number` documents, every second one with escapes for all characters beyond ASCII. The first two have
    100,000 and 100,001 words. One for 20 more follows, in which sentences are apart()."""
    writer, other = Writer(seed), Writer(seed + 1)
    long = [" ".join(writer.chosen.choices(writer.by_length[5], k=words)) + "." for words in (100_000, 100_001)]
    with open(path, "w", encoding="utf-8") as out:
        for at in range(number + number // 20):
            text = long[at] if at < len(long) else writer.text() if at < number else other.apart()
            document = {"id": at, "url": f"https://example.org/{at % 97}/{at}", "text": text, "source": "generated"}
            out.write(json.dumps(document, ensure_ascii=at % 2 == 0) + "\n")
