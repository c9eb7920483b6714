"""The rules of bench/curators.py: filters of Python packages, and the causes of decisions that differ from those of
gpuhist. A cause is one difference of definitions. It is neutralised by changing the text or the division into words
before the code of the package runs on it, so an explanation is a decision of that code, too."""

import dataclasses
import functools
import importlib
import importlib.machinery
import importlib.metadata
import itertools
import os
import re
import sys
import types
import unittest.mock

# The texts that replace a character: no rule counts them except as a character, and they have as many bytes of UTF-8.
LETTER_OF_BYTES = {1: "x", 2: "é", 3: "中", 4: "𐍈"}
OTHER_SPACE = re.compile(r"[^\S \t\n\v\f\r]")  # white space that gpuhist does not know; with \x1c to \x1f

OTHER_WHITE_SPACE = "white space other than space \\t \\n \\v \\f \\r does not divide words"
TOKENS = "words are divided at white space only, not by the tokenizer"
PARTS = "a word has one part, and two more for each sign, instead of those that the tokenizer finds"
SIGN = re.compile(r"[!-/:-@[-`{-~]|[^\x00-\x7f]")


def as_letters(pattern, text):
    """The text with a letter of the same size for each character that the pattern finds."""
    return pattern.sub(lambda found: LETTER_OF_BYTES[len(found.group().encode())], text)


@dataclasses.dataclass
class Rule:
    preset: str
    distribution: str  # as pip names it
    filters: str
    keeps: object  # text -> bool: the code of the package
    keeps_without: object  # text, causes -> bool: the same with causes neutralised. Without all: gpuhist's decision
    causes: tuple

    @property
    def name(self):
        return f"{self.distribution} {importlib.metadata.version(self.distribution)}"

    def explanation(self, text, kept_by_gpuhist):
        """The fewest causes that turn the decision of the package into that of gpuhist; None if there are none."""
        for number in range(1, len(self.causes) + 1):
            for causes in itertools.combinations(self.causes, number):
                if self.keeps_without(text, frozenset(causes)) == kept_by_gpuhist:
                    return causes
        return None


# ---- NeMo Curator ----------------------------------------------------------------------------------------------------


def without_package_code(name):
    """Imports module `name` without running the __init__.py of its parents, which requires Ray in NeMo Curator."""
    parents = name.split(".")[:-1]
    found = importlib.machinery.PathFinder.find_spec(parents[0])
    if found is None:
        raise ModuleNotFoundError(f"No module named {parents[0]!r}", name=parents[0])
    path = found.submodule_search_locations[0]
    for depth, part in enumerate(parents, 1):
        path = path if depth == 1 else os.path.join(path, part)
        module = types.ModuleType(".".join(parents[:depth]))
        module.__path__ = [path]
        sys.modules.setdefault(module.__name__, module)
    return importlib.import_module(name)


def nemo_module():
    without_package_code("nemo_curator.stages.text.utils.constants")  # the next one imports it
    return without_package_code("nemo_curator.stages.text.filters.heuristic.string")


def all_keep(filters):
    """The filters in sequence, as a pipeline runs them: a document that one removes does not reach the next."""
    return lambda text: all(each.keep_document(each.score_document(text)) for each in filters)


def nemo_characters():
    from_package = nemo_module()
    names = ("NonAlphaNumericFilter", "NumbersFilter", "WhiteSpaceFilter", "ParenthesesFilter")
    keeps = all_keep([getattr(from_package, each)() for each in names])
    brackets = "⟨ ⟩ are not parentheses"

    def keeps_without(text, causes):
        return keeps(as_letters(re.compile("[⟨⟩]"), text) if brackets in causes else text)

    return Rule("nemo", "nemo-curator", ", ".join(names), keeps, keeps_without, (brackets,))


def nemo_words():
    from_package = nemo_module()
    names = ("WordCountFilter", "MeanWordLengthFilter", "SymbolsToWordsFilter")
    count, length, symbols = (getattr(from_package, each)() for each in names)
    keeps = all_keep([count, length, symbols])
    hashes, ellipses = "every # is counted, not words such as '#'", "words such as '...' are not counted as symbols"

    def keeps_without(text, causes):
        if OTHER_WHITE_SPACE in causes:
            text = as_letters(OTHER_SPACE, text)
        if not count.keep_document(count.score_document(text)):
            return False
        if not length.keep_document(length.score_document(text)):
            return False
        words, marks = text.split(), set() if ellipses in causes else from_package.ellipsis_marks
        if hashes in causes:
            share = (text.count("#") + sum(each in marks for each in words)) / len(words)
        else:
            with unittest.mock.patch.object(from_package, "ellipsis_marks", marks):
                share = symbols.score_document(text)
        return symbols.keep_document(share)

    return Rule("gopher", "nemo-curator", ", ".join(names), keeps, keeps_without, (OTHER_WHITE_SPACE, ellipses, hashes))


# ---- datatrove -------------------------------------------------------------------------------------------------------


def datatrove_gopher():
    from datatrove.data import Document
    from datatrove.pipeline.filters import gopher_quality_filter as from_package

    absent = ("max_bullet_lines_ratio", "max_ellipsis_lines_ratio", "max_non_alpha_words_ratio", "min_stop_words")
    rule = from_package.GopherQualityFilter(**dict.fromkeys(absent))  # the preset does not have these
    divided = functools.lru_cache(maxsize=4)(from_package.split_into_words)
    punctuation, ellipses = "words of punctuation only are counted", "not covered: more than one ellipsis for ten words"

    def keeps(text):
        return rule.filter(Document(text=text, id="")) is True

    def keeps_without(text, causes):
        if OTHER_WHITE_SPACE in causes:
            text = as_letters(OTHER_SPACE, text)
        words = text.split() if TOKENS in causes else divided(text, rule.language)
        ignored = set() if punctuation in causes else from_package.PUNCTUATION_SET
        with unittest.mock.patch.multiple(from_package, split_into_words=lambda *_: words, PUNCTUATION_SET=ignored):
            result = rule.filter(Document(text=text, id=""))
        return result is True or (ellipses in causes and result[1] == "gopher_too_many_ellipsis")  # the last of its rules

    causes = (ellipses, OTHER_WHITE_SPACE, punctuation, TOKENS)
    return Rule("gopher", "datatrove", "GopherQualityFilter, without: " + ", ".join(absent), keeps, keeps_without, causes)


def datatrove_fineweb():
    from datatrove.data import Document
    from datatrove.pipeline.filters import fineweb_quality_filter as from_package

    whole, divided = from_package.FineWebQualityFilter(), functools.lru_cache(maxsize=4)(from_package.split_into_words)
    ends = "not covered: lines that end with punctuation, if the text has a mark"
    short, duplicates = "not covered: short lines, if the text has more than 30 bytes", "not covered: duplicate lines"
    off = {ends: {"line_punct_thr": 0}, short: {"short_line_thr": 1}, duplicates: {"char_duplicates_ratio": float("inf")}}
    parts = {}  # by causes: the filter without the rules that are not covered

    def keeps(text):
        return whole.filter(Document(text=text, id="")) is True

    def keeps_without(text, causes):
        if OTHER_WHITE_SPACE in causes:
            text = as_letters(OTHER_SPACE, text)
        if ends in causes and not any(each in ".?!" or not each.isascii() for each in text):
            return False  # what the preset has of the rule: no line can end with a mark
        if short in causes and len(text.encode()) <= 30:
            return False  # every line is short
        absent = tuple(each for each in off if each in causes)
        if absent not in parts:
            parts[absent] = from_package.FineWebQualityFilter(**{name: value for each in absent for name, value in off[each].items()})
        parts_of = (lambda text, _: [""] * (len(text.split()) + 2 * len(SIGN.findall(text)))) if PARTS in causes else divided
        with unittest.mock.patch.object(from_package, "split_into_words", parts_of):
            return parts[absent].filter(Document(text=text, id="")) is True

    return Rule("fineweb", "datatrove", "FineWebQualityFilter", keeps, keeps_without, (ends, short, duplicates, OTHER_WHITE_SPACE, PARTS))


RULES = {  # preset, distribution: how the rule is made
    ("nemo", "nemo-curator"): nemo_characters,
    ("gopher", "nemo-curator"): nemo_words,
    ("gopher", "datatrove"): datatrove_gopher,
    ("fineweb", "datatrove"): datatrove_fineweb,
}


def made_rule(preset, distribution):
    """The rule, ready: the tokenizer is loaded at the first call. Raises ModuleNotFoundError if a package is missing."""
    rule = RULES[preset, distribution]()
    rule.keeps("The first call loads what the rule requires. " * 20)
    return rule
