"""The rules of bench/curators.py: whole filters of Python packages. Their own code decides, and says which rule removes a
document; the rules have the names that they have in the presets of gpuhist."""

import dataclasses
import functools
import importlib
import importlib.machinery
import importlib.metadata
import os
import pathlib
import re
import sys
import types
import unittest.mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cli"))
from text_facts_oracle import sentences, tokens

KEPT = ""  # the decision for a document that no rule removes; for others, the name of the first rule that removes it
RAISES = "raises "  # a decision that begins so: the package raised this exception
TOKENS = "tokens of gpuhist"
SENTENCES = "sentences of gpuhist"
LETTERS = "letters of gpuhist"
EQUALS = "order of gpuhist for n-grams that are equally frequent"


@dataclasses.dataclass
class Rule:
    """What a preset is compared with."""

    preset: str
    distribution: str  # as pip names it
    definition: str  # the only one of gpuhist that the package does not share
    decides: object  # text -> decision: the package as it is
    decides_alike: object  # text -> decision: the package with this definition
    rewrites: object = None  # text of a document that is kept -> the text that is written, with this definition; None: the same
    is_of_pages: bool = False  # documents are pages with lines that the rule removes

    @property
    def version(self):
        return f"{self.distribution} {importlib.metadata.version(self.distribution)}"


# ---- datatrove -------------------------------------------------------------------------------------------------------

GOPHER_QUALITY = {
    "gopher_short_doc": "short", "gopher_long_doc": "long", "gopher_below_avg_threshold": "short-words", "gopher_above_avg_threshold": "long-words",
    "gopher_too_many_hashes": "hashes", "gopher_too_many_ellipsis": "ellipses", "gopher_too_many_bullets": "bullet-lines",
    "gopher_too_many_end_ellipsis": "ellipsis-lines", "gopher_below_alpha_threshold": "words-without-letters", "gopher_enough_stop_words": "stop-words",
}  # fmt: skip
GOPHER_REPETITION = {
    "empty": "empty", "dup_para_frac": "duplicate-paragraphs", "dup_para_char_frac": "duplicate-paragraph-characters",
    "dup_line_frac": "duplicate-lines", "dup_line_char_frac": "duplicate-line-characters",
    **{f"top_{size}_gram": f"top-{size}-grams" for size in (2, 3, 4)},
    **{f"duplicated_{size}_n_grams": f"duplicate-{size}-grams" for size in range(5, 11)},
}  # fmt: skip
FINEWEB_QUALITY = {
    "empty": "empty", "line_punct_ratio": "line-ends", "short_line_ratio": "short-lines", "char_dup_ratio": "duplicate-lines", "list_ratio": "list",
}  # fmt: skip


C4_QUALITY = {"lorem_ipsum": "lorem-ipsum", "curly_bracket": "curly-bracket", "too_few_sentences": "few-sentences"}


known_tokens = functools.lru_cache(maxsize=4)(tokens)  # rules decide on a text one after the other


def datatrove_rule(preset, module_name, filter_name, names):
    from datatrove.data import Document

    module = importlib.import_module(f"datatrove.pipeline.filters.{module_name}")
    made = getattr(module, filter_name)()

    def decides(text):
        result = made.filter(Document(text=text, id=""))
        return KEPT if result is True else names[result[1]]

    def decides_alike(text):
        with unittest.mock.patch.object(module, "split_into_words", lambda text, _: known_tokens(text)):
            return decides(text)

    return Rule(preset, "datatrove", TOKENS, decides, decides_alike)


def c4_rule():
    from datatrove.data import Document

    module = importlib.import_module("datatrove.pipeline.filters.c4_filters")
    made = module.C4QualityFilter()

    def result(text):
        document = Document(text=text, id="")
        return document, made.filter(document)

    def decides(text):
        found = result(text)[1]
        return KEPT if found is True else C4_QUALITY[found[1]]

    def decides_alike(text):
        with unittest.mock.patch.object(module, "split_into_sentences", lambda line, _: sentences(line)):
            return decides(text)

    def rewrites(text):
        with unittest.mock.patch.object(module, "split_into_sentences", lambda line, _: sentences(line)):
            return result(text)[0].text

    return Rule("c4-quality", "datatrove", SENTENCES, decides, decides_alike, rewrites, is_of_pages=True)


# ---- NeMo Curator ----------------------------------------------------------------------------------------------------

NEMO_STRINGS = "NonAlphaNumeric SymbolsToWords Numbers Urls Bullets WhiteSpace Parentheses LongWord WordCount BoilerPlateString MeanWordLength " \
               "Punctuation Ellipsis CommonEnglishWords WordsWithoutAlphabets PornographicUrls"  # fmt: skip
NEMO_REPEATED = "RepeatedLines RepeatedParagraphs RepeatedLinesByChar RepeatedParagraphsByChar"


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


def rule_name(class_name):
    """`word-count` of WordCount."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", class_name).lower().replace("boiler-plate", "boilerplate")


def nemo_strings():
    module = without_package_code("nemo_curator.stages.text.filters.heuristic.string")
    return module, [(rule_name(each), getattr(module, f"{each}Filter")()) for each in NEMO_STRINGS.split()]


def nemo_repeated():
    """With the thresholds of the configuration for English in the package, heuristic_filter_english_pipeline.yaml."""
    module = without_package_code("nemo_curator.stages.text.filters.heuristic.repetition.repetition")
    filters = [(rule_name(each), getattr(module, f"{each}Filter")()) for each in NEMO_REPEATED.split()]
    for size, share in ((2, 0.2), (3, 0.18), (4, 0.16)):
        filters.append((f"repeating-top-{size}-grams", module.RepeatingTopNGramsFilter(size, share)))
    for size in range(5, 11):
        filters.append((f"repeating-duplicate-{size}-grams", module.RepeatingDuplicateNGramsFilter(size, (20 - size) / 100)))
    return module, filters


def nemo_rule(preset, made, definition, **replaced):
    """`replaced`: names of the module, with what they are in gpuhist."""
    module, filters = made

    def decides(text):
        """The filters in sequence, as a pipeline runs them: a document that one removes does not reach the next."""
        for name, each in filters:
            try:
                if not each.keep_document(each.score_document(text)):
                    return name
            except (ZeroDivisionError, ValueError) as error:
                return f"{RAISES}{type(error).__name__} in {name}"
        return KEPT

    def decides_alike(text):
        with unittest.mock.patch.multiple(module, create=True, **replaced):
            return decides(text)

    return Rule(preset, "nemo-curator", definition, decides, decides_alike)


def nemo_quality():
    """[[:alpha:]] of NeMo Curator has more characters than letters: some marks, roman numerals, letters in circles."""
    of_letters = types.SimpleNamespace(search=lambda word: any(map(str.isalpha, word)))
    return nemo_rule("nemo-quality", nemo_strings(), LETTERS, regex_alpha=of_letters)


def nemo_repetition():
    """Of n-grams that are equally frequent, RepeatingTopNGramsFilter takes the first one of a set, in which their order
    depends on the hashes of the process. Here the set has the order of the text."""
    return nemo_rule("nemo-repetition", nemo_repeated(), EQUALS, set=dict.fromkeys)


RULES = {  # by preset: how the rule is made
    "c4-quality": c4_rule,
    "gopher-quality": functools.partial(datatrove_rule, "gopher-quality", "gopher_quality_filter", "GopherQualityFilter", GOPHER_QUALITY),
    "gopher-repetition": functools.partial(datatrove_rule, "gopher-repetition", "gopher_repetition_filter", "GopherRepetitionFilter", GOPHER_REPETITION),
    "fineweb-quality": functools.partial(datatrove_rule, "fineweb-quality", "fineweb_quality_filter", "FineWebQualityFilter", FINEWEB_QUALITY),
    "nemo-quality": nemo_quality,
    "nemo-repetition": nemo_repetition,
}


@functools.lru_cache(maxsize=None)
def made_rule(preset):
    """The rule, ready: the tokenizer is loaded at the first call. Raises ModuleNotFoundError if a package is missing."""
    rule = RULES[preset]()
    for decides in (rule.decides, rule.decides_alike):
        decides("The first call loads what the rule requires. " * 20)
    return rule
