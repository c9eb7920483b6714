"""The documents of bench/curators.py: JSON lines with the field "text", always the same ones for a number of documents.

They are of 12 languages and of many kinds: prose, source code, tables, lists, runs of punctuation, boilerplate, control
characters, texts of a few words or none. Most of them are near a threshold of one of the rules, so that definitions
which differ decide differently; no corpus has so many of these. Their characters are assigned in Unicode 14."""

import dataclasses
import json
import random

LATIN = "etaoinshrdlucmfwypvbgkqjxz"
ENGLISH = "the be to of and a in that have it for not on with he as you do at this but his by from"
HANGUL = "이다는을가에의한고지도로하사자기나있어시대서인부정일리스전수그아보장해구원중국만주여우세"


@dataclasses.dataclass
class Language:
    letters: str  # the first ones are the most frequent in words that are made up
    common: str  # frequent words
    lengths: tuple = (2, 4, 5, 6, 7, 9, 12)  # of words that are made up
    between: str = " "  # between words
    mark: str = "."  # at the end of most sentences


LANGUAGES = {
    "English": Language(LATIN, ENGLISH),
    "German": Language(LATIN + "äöüß", "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch"),
    "French": Language(LATIN + "éèàêç", "de la le et les des en un du une que est pour qui dans l'eau plus d'un au sur ne ce"),
    "Russian": Language("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф", "и в не на я что он с как это по но из у за то все она так его"),
    "Greek": Language("αοιετσνηυρπκμλωδγχθφβξζψάέίό", "και το να του η της με που την από για είναι στο ότι τα δεν οι", mark="·"),
    "Arabic": Language("اليمونرتبعدسفحكقشجطهصخذزضثغظ", "في من على أن إلى ما هذا التي كان عن مع لا هو قد بين كل بعد", mark="؟"),
    "Hindi": Language("करनसतमपहलयदवबजगिीाेोुू्ंअआइउए", "के है में की से को और का यह कि पर ने एक हैं भी नहीं तो ही था", mark="।"),
    "Chinese": Language("的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生", "我们 他们 没有 可以 什么",
                        (2, 4, 12), "", "。"),  # fmt: skip
    "Japanese": Language("のにをはがでとてもしたいなるこれそんあきかくけさすせつ日本語文人東京山川カタナ", "こと もの する ます です から",
                         (3, 8, 16), "", "。"),  # fmt: skip
    "Korean": Language(HANGUL, "그 이 것 수 있다 하는 그리고 대한 위해 때 더 같은 우리 사람", (1, 2, 3, 4)),
    "Thai": Language("กขคงจชซญดตถทธนบปผพฟมยรลวสหอะาิีุูเแโ่้์", "ที่ และ เป็น ใน ของ ไม่ มี การ ได้ ว่า จะ", (3, 6, 9), ""),
    "Vietnamese": Language("nhticgamluoêâđơưôáàảãạế", "và của là có được trong không các một cho với người những này để", (2, 3, 4, 5)),
}
DIGITS_BEYOND_ASCII = "٠١٢٣٤٥٦٧٨٩०१२३४५६७८९０１２３"
NUMBERS_BEYOND_DIGITS = "ⅣⅧⓐⒷ½²①〇"
SPACE_BEYOND_ASCII = "\u00a0\u3000\u2009\u2028\u0085\x1c\x1f"
SIGNS_BEYOND_ASCII = "…„“”’—«»•€\U0001f600\U0001f44d⟨⟩❤\ufe0f"
MARKS = (".", ".", ".", "!", "?", ",", ";", ":", '."', "...", "…")
BULLETS = ("•", "-", "‣", "○", "●", "⦿", "- ", " • ", "* ")
ELLIPSES = ("...", "…", "[...]", "(...)", "[…]", "-»", " Read more..", " read more", "... ", "…\r")
SYMBOLS = ("#", "##", "...", "…", "--", "|", "&", "!!!", "#tag", "#a", "C#", "#.#", "[...]", "-»", "(...)")
BOILERPLATE = (
    "Please read our terms of use.", "See the Privacy Policy for more.", "This site uses cookies, as all do.", "THE COOKIE POLICY",
    "Our coo\u212aie policy is new.", "We use cookies and the like.", "privacy & cookies policy", "Privacy overview", "The use of  cookies",
    "Necessary cookies are absolutely essential for the website to function properly. This category only includes cookies that ensures "
    "basic functionalities and security features of the website. These cookies do not store any personal information.",
    "If you continue to browse this site without changing your cookie settings, you agree to this use. AcceptRead More",
)  # fmt: skip
HOSTS = ("https://example.org/a?b=c&d=%20", "http://a.b", "https://", "http://x.y/(z)|w", "ftp://a.b/c", "HTTPS://A.B/", "https://a.b/<c>")


class Writer:
    """Makes texts. `chosen` is the only source of random numbers."""

    def __init__(self, seed):
        self.chosen = random.Random(seed)
        lengths = [max(1, min(14, int(self.chosen.gauss(5.5, 2.5)))) for _ in range(4000)]
        self.vocabulary = {name: [self.word(each.letters, self.chosen.choice(each.lengths)) for _ in range(1500)] for name, each in LANGUAGES.items()}
        self.vocabulary["English"] = [self.word(LATIN, length) for length in lengths]
        self.by_length = {length: [self.word(LATIN, length) for _ in range(50)] for length in range(1, 25)}

    def word(self, letters, length):
        return "".join(self.chosen.choices(letters, range(len(letters), 0, -1), k=length))

    def length(self):
        """A number of words: some hundreds for most texts, and often about 50."""
        if self.chosen.random() < 0.2:
            return self.chosen.randint(40, 60)
        return min(20_000, max(1, int(self.chosen.lognormvariate(5.2, 0.8))))

    def share(self, threshold):
        """A share that is below or above a threshold, and often near it."""
        return min(1, threshold * self.chosen.choice((self.chosen.uniform(0, 2), self.chosen.uniform(0.8, 1.25))))

    def words(self, number, language="English"):
        common = LANGUAGES[language].common.split()
        return [self.chosen.choice(common if self.chosen.random() < 0.4 else self.vocabulary[language]) for _ in range(number)]

    def sentences(self, words, language="English"):
        """The words as sentences of 3 to 24; each ends with a mark, and some with a line feed."""
        text, at, style = [], 0, LANGUAGES[language]
        while at < len(words):
            size = self.chosen.randint(3, 24)
            mark = self.chosen.choice(MARKS) if self.chosen.random() < 0.4 else style.mark
            text.append(style.between.join(words[at : at + size]) + mark)
            text.append(self.chosen.choice((style.between, " ", " ", "\n", "\n\n")))
            at += size
        return "".join(text[:-1])

    def lines(self):
        """Sentences, one in each line."""
        return [self.sentences(self.words(self.chosen.randint(3, 20))).replace("\n", " ") for _ in range(self.chosen.randint(5, 60))]

    def spread(self, items, share, make):
        """The items, a share of them replaced by make(item)."""
        return [make(each) if self.chosen.random() < share else each for each in items]

    # ---- kinds of texts ----

    def prose(self):
        return self.sentences(self.words(self.length()))

    def other_language(self):
        """Of one language, or most words are English."""
        language = self.chosen.choice(list(LANGUAGES))
        words = self.words(self.length() // 2 + 1, language)
        if self.chosen.random() < 0.4:
            words = self.spread(words, self.chosen.uniform(0.3, 1), lambda _: self.words(1)[0] + " ")
        return self.sentences(words, language)

    def words_of_mean_length(self):
        """Words of about 3 or about 10 letters, the limits of the mean."""
        limit, number = self.chosen.choice((3, 3, 10)), self.length()
        lengths = [max(1, limit + self.chosen.choice((-1, 0, 0, 0, 1))) for _ in range(number)]
        return self.sentences(self.spread([self.chosen.choice(self.by_length[each]) for each in lengths], 0.05, lambda _: "the"))

    def sprinkled(self):
        """Prose, or text of long words, in which a share of the characters is replaced: up to twice a threshold."""
        words = [self.chosen.choice(self.by_length[self.chosen.randint(15, 24)]) for _ in range(self.chosen.randint(20, 200))]
        text = self.prose() if self.chosen.random() < 0.7 else self.sentences(self.spread(words, 0.05, lambda _: "the"))
        characters, highest = self.chosen.choice((
            ("0123456789", 0.3), ("()[]{}", 0.2), (" \n", 0.3), (" \t\r", 0.3), ("\n", 0.5), ("#", 0.05), ("*=|<>;:", 0.2), ("éèàüöñçåøß", 0.3),
            (DIGITS_BEYOND_ASCII, 0.3), (SPACE_BEYOND_ASCII, 0.1), (SIGNS_BEYOND_ASCII, 0.15), ("⟨⟩", 0.3), ("…", 0.05),
            (NUMBERS_BEYOND_DIGITS, 0.3), ("\b\v\f\0", 0.2), ("'-/", 0.1), ('"\\\n', 0.1)))  # fmt: skip
        share = self.chosen.uniform(0, highest)
        return "".join(self.chosen.choice(characters) if self.chosen.random() < share else each for each in text)

    def with_words_of_signs(self):
        """Prose with words of signs only: hash signs, ellipses, dashes, bars, or with numbers."""
        signs = self.chosen.choice((*SYMBOLS, *"#7Ⅳⓐ❤½", "\u0301", "❤\ufe0f", "\ufe0f", "2026"))
        between = self.chosen.choice((" ", " ", "\t", "\u00a0", "\n"))
        words = self.prose().split(" ")
        if self.chosen.random() < 0.5:
            words = self.spread([self.chosen.choice(self.by_length[12]) for _ in words], 0.05, lambda _: "the")
        share = self.share(self.chosen.choice((0.11, 0.25)))  # of 1.11 and 1.25 words: a tenth and a fifth
        return "".join(self.spread([f"{each} " for each in words], share, lambda each: f"{each}{signs}{between}"))

    def code(self):
        lines = []
        for _ in range(self.chosen.randint(5, 60)):
            one, other = self.chosen.choices(self.vocabulary["English"], k=2)
            lines.append("    " * self.chosen.randint(0, 4) + self.chosen.choice((
                f"def {one}({other}, *args):", f"return {one}[{other}] + {self.chosen.randint(0, 99)}", f"# {one} {other} of the",
                f"if ({one} == {other}) {{", "}", f"#include <{one}.h>", f"{one}_{other} = {{}};", f'print("{one}: %d\\n", {other})')))  # fmt: skip
        return self.chosen.choice(("\n", "\n", "\r\n")).join(lines)

    def table(self):
        between = self.chosen.choice(("\t", " | ", ", ", "  "))
        columns = [self.chosen.choice((lambda: str(self.chosen.randint(0, 99999)), lambda: self.words(1)[0])) for _ in range(self.chosen.randint(2, 8))]
        return "\n".join(between.join(each() for each in columns) for _ in range(self.chosen.randint(3, 80)))

    def listed(self):
        """Short lines, some of them equal, some with a bullet and a mark at the end."""
        lines = [self.chosen.choice(("", "- ", "• ", "* ")) + " ".join(self.words(self.chosen.randint(1, 9))) + self.chosen.choice(("", "", "."))
                 for _ in range(self.chosen.randint(5, 60))]  # fmt: skip
        return "\n".join(lines + self.chosen.choices(lines, k=self.chosen.choice((0, 0, 1, 5))))

    def bulleted(self):
        bullet = self.chosen.choice(BULLETS)
        return "\n".join(self.spread(self.lines(), self.share(0.9), lambda line: bullet + line))

    def lines_with_ends(self):
        """Lines of which some end with an ellipsis, and some without a mark."""
        ellipsis, end = self.chosen.choice(ELLIPSES), self.chosen.choice(("", "", " ", "\r", "\u00a0"))
        lines = self.spread(self.lines(), self.share(0.3), lambda line: line.rstrip(".!?,;:…\"") + ellipsis)
        lines = self.spread(lines, self.share(self.chosen.choice((0.15, 0.85, 0.88))), lambda line: line.rstrip(".!?\"…,;:") + end)
        return self.chosen.choice(("\n", "\n\n", "\u2028", "\r\n", "\f\n")).join(lines)

    def short_lines(self):
        """Lines of about 30 characters, of English or without blanks."""
        language = self.chosen.choice(("English", "English", "English", "Chinese", "German"))
        style, size = LANGUAGES[language], lambda: self.chosen.choice((20, 28, 29, 30, 31, 32, 60))
        lines = [style.between.join(self.words(20, language))[: size() - 1] + self.chosen.choice((style.mark, "")) for _ in range(self.chosen.randint(4, 80))]
        return self.chosen.choice(("\n", "\n\n", " \n")).join(lines)

    def with_duplicates(self):
        """Lines or paragraphs, a share of which are equal to an earlier one."""
        between = self.chosen.choice(("\n", "\n", "\n\n", "\n\n", "\n\n\n", "\n \n"))
        parts, share = self.lines(), self.share(self.chosen.choice((0.01, 0.1, 0.2, 0.3, 0.3)))
        known = self.chosen.sample(parts, min(len(parts), self.chosen.choice((1, 2, 5))))
        kind = self.chosen.random()  # many short ones, few long ones, or blank ones
        known = [each[: self.chosen.choice((0, 3, 20))] for each in known] if kind < 0.5 else [" " * len(known[0])] if kind < 0.6 else known
        return between.join(self.spread(parts, share, lambda _: self.chosen.choice(known)))

    def with_repeated_words(self):
        """Words among which one sequence of 2 to 10 is repeated."""
        size = self.chosen.choice((2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10))
        share = self.share({2: 0.2, 3: 0.18, 4: 0.16}.get(size, 0.2 - 0.01 * size))
        phrase, words = self.words(size), [self.chosen.choice(self.vocabulary["English"]) for _ in range(self.length() + 20)]
        if self.chosen.random() < 0.1:  # not equal for all definitions
            phrase = [f"{phrase[0]}\u00a0{phrase[0][:2]},", *phrase[1:]]
        joined = " ".join(phrase)
        text = self.spread([f"{each} " for each in words], share / size, lambda each: f"{each}{joined}{self.chosen.choice(('. ', ' ', ' ', chr(10)))}")
        return "".join(self.spread(text, 0.05, lambda each: f"{each.strip()}.\n"))

    def of_few_words(self):
        """Short texts of a few different words: n-grams as frequent as others."""
        words = self.words(self.chosen.randint(1, 6))
        return self.chosen.choice((" ", "  ", "\n", ", ")).join(self.chosen.choices(words, k=self.chosen.randint(1, 40)))

    def with_boilerplate(self):
        paragraphs = [" ".join(self.words(self.chosen.randint(20, 60))) + "." for _ in range(self.chosen.randint(1, 12))]
        if self.chosen.random() < 0.03:
            paragraphs.append(self.chosen.choice(("Lorem ipsum dolor sit amet.", "LOREM IPSUM", "lorem  ipsum", "lorem\nipsum")))
        return "\n\n".join(self.spread(paragraphs, self.share(0.4), lambda each: f"{each} {self.chosen.choice(BOILERPLATE)}"))

    def with_urls(self):
        words = self.prose().split(" ")
        def url(word):
            return f"{word} {self.chosen.choice(HOSTS)}{self.chosen.choice(('', word, 'porn' if self.chosen.random() < 0.02 else 'post'))}"
        return " ".join(self.spread(words, self.share(0.07), url))

    def with_long_word(self):
        words = self.prose().split(" ")
        words[self.chosen.randrange(len(words))] = self.chosen.choice(("x", "é", "-", "日")) * self.chosen.choice((999, 1000, 1001, 1002))
        return " ".join(words * 20)

    def short(self):
        return self.chosen.choice(("", " ", "\n", "\n \n", "\n\n\n", "\u00a0", "\u3000\n", ".", "#", "…", "(", "7", "é", "\0", "ok", "Yes.",
                                   "\U0001f600", " ".join(self.words(self.chosen.randint(1, 12)))))  # fmt: skip

    def run_of_marks(self):
        words = self.prose().split(" ")
        for _ in range(self.chosen.randint(1, 8)):
            words.insert(self.chosen.randrange(len(words)), self.chosen.choice("-=_*.#!~…") * self.chosen.randint(3, 120))
        return " ".join(words)

    def apart(self):
        """Sentences between blank lines, with few words between blanks and many parts for a tokenizer: marks, U+00A0
        between words, or Japanese."""
        def sentence(kind):
            words = self.words(4)
            if kind == "marks":
                return f"{words[0].title()}, {words[1].title()}, and {words[2].title()} {words[3]} it."
            if kind == "spaces":
                return "\u00a0".join(words) + " " + " ".join(self.words(self.chosen.randint(1, 4))) + "."
            return "、".join(self.chosen.choice(self.vocabulary["Japanese"]) for _ in range(self.chosen.randint(2, 8))) + "。"

        kind = self.chosen.choice(("marks", "spaces", "japanese"))
        return self.chosen.choice(("\n", "\n\n", "\n\n\n")).join(sentence(kind) for _ in range(self.chosen.randint(8, 40)))

    def page(self):
        """Lines of a page of the web: few words, no end, citations, curly brackets, policies, scripts."""
        kinds = (lambda line: line, lambda line: " ".join(line.split()[: self.chosen.randint(1, 4)]) + self.chosen.choice((".", "!", "", '."', " .")),
                 lambda line: line.rstrip(".!?\"") + self.chosen.choice(("", "...", ":", " [1]", ". [edit]", "….", ".[citation needed]")),
                 lambda line: line.replace(" ", f" [{self.chosen.choice(('1', '23', '', '٣', 'edit', 'citation needed', 'x'))}] ", 1),
                 lambda line: f"{self.chosen.choice(BOILERPLATE)} {line}", lambda line: f"  {line}\u00a0")  # fmt: skip
        rare = ("{", "}", "Lorem ipsum", "lorem ipsum {", "Please enable JavaScript.", "javascript {x}", "x" * 1001, "U.S. Mr. Smith's 3.5 e.g. a.b. wait... no?!")
        lines = [self.chosen.choice(kinds)(each) if self.chosen.random() < 0.5 else each for each in self.lines()[: self.chosen.randint(1, 20)]]
        if self.chosen.random() < 0.15:
            lines[self.chosen.randrange(len(lines))] += f" {self.chosen.choice(rare)} {self.chosen.choice(('x.', 'x', ''))}"
        return self.chosen.choice(("\n", "\n\n", "\r\n")).join(lines)

    KINDS = ((prose, 15), (other_language, 15), (sprinkled, 14), (words_of_mean_length, 6), (with_words_of_signs, 8), (code, 3), (table, 3),
             (listed, 4), (bulleted, 4), (lines_with_ends, 7), (short_lines, 5), (with_duplicates, 8), (with_repeated_words, 10),
             (of_few_words, 3), (with_boilerplate, 4), (with_urls, 3), (with_long_word, 0.3), (short, 2), (run_of_marks, 2), (apart, 4))  # fmt: skip

    def text(self, kinds=KINDS):
        make = self.chosen.choices([each for each, _ in kinds], [weight for _, weight in kinds])[0]
        return make(self)


def write_documents(path, number, are_pages=False, seed=11):
    """Writes `number` documents, every second one with escapes for all characters beyond ASCII. The first two have
    100,000 and 100,001 words. `are_pages`: half of the others are of the kind page()."""
    writer = Writer(seed)
    kinds = (*Writer.KINDS, (Writer.page, sum(weight for _, weight in Writer.KINDS))) if are_pages else Writer.KINDS
    long = [" ".join(writer.chosen.choices([*writer.by_length[5], "the", "of"], k=words)) + "." for words in (100_000, 100_001)]
    with open(path, "w", encoding="utf-8") as out:
        for at in range(number):
            document = {"id": at, "url": f"https://example.org/{at % 97}/{at}", "text": long[at] if at < len(long) else writer.text(kinds), "source": "generated"}
            out.write(json.dumps(document, ensure_ascii=at % 2 == 0) + "\n")
