"""The facts of a text that formulas of units can contain, in plain Python: the oracle of test_text_facts.py and of
bench/curators.py. A formula is parsed and evaluated for a text; a value that is unknown is None."""

import collections
import functools
import re
import unicodedata

# ---- characters ------------------------------------------------------------------------------------------------------


def points(*ranges):
    """The characters of ranges of code points in hexadecimal."""
    bounds = [(each.split("-")[0], each.split("-")[-1]) for each in "".join(ranges).split()]
    return frozenset(chr(point) for first, last in bounds for point in range(int(first, 16), int(last, 16) + 1))


TERMINAL_PUNCTUATION = points(
    # TERMINAL_PUNCTUATION of datatrove
    "21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 166E 1735-1736 17D4-17D6 17D9-17DA 1803 1809 "
    "1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 2E2E 2E3C 2E53-2E54 3002 A4FF A60E-A60F "
    "A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE52 FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 10F55-10F59 "
    "10F86-10F89 11047-11048 110BE-110C1 11141-11143 111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C "
    "115C2-115C3 115C9-115D7 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 11F43-11F44 "
    "16A6E-16A6F 16AF5 16B37-16B38 16B44 16E98 1BC9F 1DA88 "
)
OTHER_PUNCTUATION = points(
    # the rest of its PUNCTUATION_SET
    "0-8 B-1F 21-2F 3A-40 5B-60 7B-9F AB B4 BB 2013-2014 2019 201C-201E 2026 2236 2501 25BA 3001 3008-300D 3010-3011 FF05 FF08-FF09 "
    "FF0C FF11 FF1A-FF1B FF5E "
)
PUNCTUATION = TERMINAL_PUNCTUATION | OTHER_PUNCTUATION  # PUNCTUATION_SET of datatrove


def decoded(data):
    """The characters of bytes: U+FFFD for each malformed sequence (a maximal subpart of a character)."""
    return data.decode("utf-8", "replace")


IN_WORDS = frozenset(chr(point) for point in range(0x110000) if unicodedata.category(chr(point))[0] in "LMN")


def tokens(text):
    """The longest runs of letters, marks and digits, and each other character that is not white space."""
    found, begin = [], None
    for at, each in enumerate(text):
        if each in IN_WORDS:
            begin = at if begin is None else begin
            continue
        if begin is not None:
            found.append(text[begin:at])
            begin = None
        if not each.isspace():
            found.append(each)
    return found if begin is None else [*found, text[begin:]]


CLOSING = "\"')]}\u201d\u2019\u00bb"


def sentences(text):
    """The words of a row up to one that ends with an end mark, perhaps with closing marks after it, but not with '..'."""
    found = []
    for row in text.splitlines():
        words = list(re.finditer(r"\S+", re.sub("[\x1c-\x1f]", " ", row)))
        begin = None
        for number, word in enumerate(words):
            begin = word.start() if begin is None else begin
            core = word[0].rstrip(CLOSING)
            if number + 1 == len(words) or (core[-1:] in TERMINAL_PUNCTUATION and core and not core.endswith("..")):
                found.append(row[begin : word.end()])
                begin = None
    return found


# ---- elements --------------------------------------------------------------------------------------------------------

URL = re.compile(r"https?://(?:[A-Za-z0-9$\-_@.&+/:=?#~]|[!*\(\),]|(?:%[0-9A-Fa-f]{2}))+")

KINDS = {
    "line": lambda text: [each for each in text.split("\n") if each.strip()],
    "row": str.splitlines,
    "segment": lambda text: re.split("\n+", text),
    "paragraph": lambda text: text.split("\n\n"),
    "block": lambda text: re.split("\n{2,}", text.strip()),
    "sentence": sentences,
    "word": str.split,
    "token": tokens,
    "url": URL.findall,
}

# In conditions about an element: of a line, a word, ...
ELEMENT_NAMES = {
    "bytes": lambda element: len(element.encode()),
    "characters": len,
    "letters": lambda element: sum(map(str.isalpha, element)),
    "punctuation": lambda element: sum(each in PUNCTUATION for each in element),
    "words": lambda element: len(element.split()),
    "longest_word": lambda element: max(map(len, element.split()), default=0),
    "ends_with_punctuation": lambda element: element[-1:] in TERMINAL_PUNCTUATION,
}

ELEMENT_FUNCTIONS = {
    "starts": lambda element, *given: element.lstrip().startswith(given),
    "ends": lambda element, *given: element.rstrip().endswith(given),
    "has_suffix": lambda element, *given: element.endswith(given),
    "lower_ends": lambda element, *given: element.rstrip().lower().endswith(given),
    "contains": lambda element, *given: any(each in element for each in given),
    "lower_contains": lambda element, *given: any(each in element.lower() for each in given),
    "is": lambda element, *given: element in given,
    "occurrences": lambda element, *given: sum(map(element.count, given)),
    "runs": lambda element, character: len(re.findall(re.escape(character) + "+", element)),
}

# ---- facts of a text -------------------------------------------------------------------------------------------------


class Facts:
    """What formulas can read of a text. `buckets`: the characters of buckets, all of ASCII, by name."""

    def __init__(self, text, buckets=None):
        self.text, self.buckets, self._elements = text, buckets or {}, {}

    def elements(self, kind):
        if kind not in self._elements:
            self._elements[kind] = KINDS[kind](self.text)
        return self._elements[kind]

    def ngrams(self, kind, size):
        elements = self.elements(kind)
        return list(zip(*(elements[first:] for first in range(size))))

    def matching(self, kind, condition):
        """The elements for which the condition holds, each as often as it occurs."""
        counted = collections.Counter(self.elements(kind))
        return [(element, times) for element, times in counted.items() if condition is None or condition(element) is True]

    def duplicates(self, kind):
        """The elements that are equal to an earlier one."""
        seen, found = set(), []
        for each in self.elements(kind):
            (found.append if each in seen else seen.add)(each)
        return found

    def top_ngram_characters(self, size):
        counted = collections.Counter(self.ngrams("token", size)).most_common(1)  # the first one of those with most
        return sum((len("".join(ngram)) + size - 1) * times for ngram, times in counted)

    def duplicate_ngram_characters(self, size):
        tokens, seen, at, found = self.elements("token"), set(), 0, 0
        while at + size <= len(tokens):
            joined = "".join(tokens[at : at + size])
            is_known = joined in seen
            seen.add(joined)
            found += len(joined) if is_known else 0
            at += size if is_known else 1
        return found

    def top_ngram_covered(self, size):
        counted = collections.Counter(self.ngrams("word", size)).most_common(1)
        return sum(len(self.text) - len(self.text.replace(" ".join(ngram), "")) for ngram, _ in counted)

    def duplicate_ngram_covered(self, size):
        """For each n-gram that is equal to an earlier one: its words that are in none before, and a blank before each of
        them, but not before the first word of the n-gram."""
        seen, found, covered_to = set(), 0, 0
        for at, ngram in enumerate(self.ngrams("word", size)):
            if ngram in seen:
                first = max(covered_to - at, 0)
                found += len("".join(ngram[first:])) + min(size - first, size - 1)
                covered_to = at + size
            seen.add(ngram)
        return found


TEXT_NAMES = {"characters": lambda facts: len(facts.text)}
TEXT_FUNCTIONS = {
    "contains": lambda facts, *given: int(any(each in facts.text for each in given)),
    "lower_contains": lambda facts, *given: int(any(each in facts.text.lower() for each in given)),
    "occurrences": lambda facts, *given: sum(map(facts.text.count, given)),
    "words_of": lambda facts, *given: sum(each in given for each in facts.elements("word")),
    "distinct_words_of": lambda facts, *given: len(set(given) & set(facts.elements("word"))),
    "tokens_of": lambda facts, *given: sum(each in given for each in facts.elements("token")),
    "distinct_tokens_of": lambda facts, *given: len(set(given) & set(facts.elements("token"))),
}
NGRAM_FUNCTIONS = ("top_ngram_characters", "duplicate_ngram_characters", "top_ngram_covered", "duplicate_ngram_covered")
TEXT_FUNCTIONS |= {name: getattr(Facts, name) for name in NGRAM_FUNCTIONS}


def _count(facts, kind, condition):
    return sum(times for _, times in facts.matching(kind, condition))


def _share(facts, kind, condition):
    return _count(facts, kind, condition) / len(facts.elements(kind)) if facts.elements(kind) else None


def _characters(facts, kind, condition):
    return sum(len(element) * times for element, times in facts.matching(kind, condition))


COUNTED = {"count": _count, "share": _share, "characters": _characters}  # KIND_count(CONDITION)


def _names_of(kind):
    return {
        f"{kind}_count": lambda facts: len(facts.elements(kind)),
        f"{kind}_characters": lambda facts: sum(map(len, facts.elements(kind))),
        f"longest_{kind}": lambda facts: max(map(len, facts.elements(kind)), default=0),
        f"duplicate_{kind}s": lambda facts: len(facts.duplicates(kind)),
        f"duplicate_{kind}_characters": lambda facts: sum(map(len, facts.duplicates(kind))),
    }


for _kind in KINDS:
    TEXT_NAMES |= _names_of(_kind)

# ---- formulas --------------------------------------------------------------------------------------------------------

_LEXEMES = re.compile(r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:e-?\d+)?)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_][\w.]*)
                              |(?P<symbol>\|\||&&|[<>=!]=|[-+*/<>!(),]))""", re.VERBOSE)  # fmt: skip
_BINDING = {"||": 1, "&&": 2, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 3), "+": 4, "-": 4, "*": 5, "/": 5}
_ESCAPES = {"n": "\n", "t": "\t"}


def _either(left, right):
    """Kleene's logic, as in `&&` and `!`."""
    return True if left or right else None if left is None or right is None else False


def _inverted(value):
    return None if value is None else not value


def _both(left, right):
    return _inverted(_either(_inverted(left), _inverted(right)))


def _of_known(operation):
    return lambda left, right: None if left is None or right is None else operation(left, right)


_OPERATIONS = {
    "||": _either, "&&": _both,
    "<": _of_known(lambda left, right: left < right), "<=": _of_known(lambda left, right: left <= right),
    ">": _of_known(lambda left, right: left > right), ">=": _of_known(lambda left, right: left >= right),
    "==": _of_known(lambda left, right: left == right), "!=": _of_known(lambda left, right: left != right),
    "+": _of_known(lambda left, right: left + right), "-": _of_known(lambda left, right: left - right),
    "*": _of_known(lambda left, right: left * right), "/": _of_known(lambda left, right: left / right if right else None)}  # fmt: skip


def _binary(operation, left, right):
    return lambda subject: operation(left(subject), right(subject))


class _Parser:
    """Makes functions of a subject: of Facts, or of the text of an element inside of a condition about elements."""

    def __init__(self, typed):
        self.lexemes, at = [], 0
        while typed[at:].strip():
            found = _LEXEMES.match(typed, at)
            if found is None:
                raise ValueError(f"{typed}: at {at}")
            self.lexemes.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self.lexemes.append(("end", ""))
        self.at, self.is_of_element = 0, False

    def peek(self):
        return self.lexemes[self.at][1]

    def take(self, *expected):
        kind, typed = self.lexemes[self.at]
        if expected and typed not in expected:
            raise ValueError(f"{typed!r} instead of {expected}")
        self.at += 1
        return kind, typed

    def formula(self, binding=1):
        made = self.operand()
        while _BINDING.get(self.peek(), 0) >= binding:
            _, symbol = self.take()
            made = _binary(_OPERATIONS[symbol], made, self.formula(_BINDING[symbol] + 1))
        return made

    def operand(self):
        kind, typed = self.take()
        if typed == "(":
            made = self.formula()
            self.take(")")
            return made
        if typed == "!":
            inner = self.operand()
            return lambda subject: _inverted(inner(subject))
        if typed == "-":
            inner = self.operand()
            return lambda subject: None if inner(subject) is None else -inner(subject)
        if kind == "number":
            value = float(typed)
            return lambda _: value
        if kind == "name":
            return self.function(typed) if self.peek() == "(" else self.name(typed)
        raise ValueError(f"{typed!r} instead of an operand")

    def name(self, typed):
        return (ELEMENT_NAMES if self.is_of_element else TEXT_NAMES)[typed]

    def function(self, typed):
        functions = ELEMENT_FUNCTIONS if self.is_of_element else TEXT_FUNCTIONS
        if typed == "count":
            self.take("(")
            _, bucket = self.take()
            self.take(")")
            return lambda facts: sum(each in facts.buckets[bucket] for each in facts.text)
        if typed in functions:
            given = self.arguments()
            return lambda subject: functions[typed](subject, *given)
        kind, _, counted = typed.rpartition("_")
        return self.elements(kind, COUNTED[counted])

    def elements(self, kind, counted):
        self.take("(")
        self.is_of_element = True
        condition = self.formula()
        self.is_of_element = False
        self.take(")")
        return lambda facts: counted(facts, kind, condition)

    def arguments(self):
        given = []
        self.take("(")
        while not given or self.take(",", ")")[1] == ",":
            kind, typed = self.take()
            given.append(int(typed) if kind == "number" else re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), typed[1:-1]))
        return given


@functools.lru_cache(maxsize=None)
def formula(typed):
    """A function of Facts: the value, True, False, or None if it is unknown."""
    parser = _Parser(typed)
    made = parser.formula()
    parser.take("")
    return made
