"""The presets with whole rules: which rules hold for a text, and which texts a filter keeps, compared with the rules written
down here again in Python, with exact fractions. bench/curators.py compares them with the packages that they are from."""

import collections
import itertools
import json
import random
import re
from fractions import Fraction

from support import CommandTest, main, run, sampled
from test_text_facts import random_text
from text_facts_oracle import PUNCTUATION, TERMINAL_PUNCTUATION, Facts, sentences

STOP_WORDS = {"the", "be", "to", "of", "and", "that", "have", "with"}
BULLETS = tuple("•‣⁃⁌⁍∙○●◘◦⦾⦿")
POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "privacy overview", "use of cookies", "use cookies")
POLICIES_OF_C4 = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
ELLIPSES = ("...", "[...]", "…", "(...)", "[…]", "-»", "read more..", "read more")


def exceeds(part, whole, limit):
    """Whether a share is above a limit: a text such as "0.15". Of nothing there is no share."""
    return whole > 0 and Fraction(part, whole) > Fraction(limit)


def is_below(part, whole, limit):
    return whole > 0 and Fraction(part, whole) < Fraction(limit)


def length(elements):
    return sum(map(len, elements))


def gopher_quality(text):
    tokens, rows = Facts(text).elements("token"), text.splitlines()
    words = [each for each in tokens if not set(each) <= PUNCTUATION]
    yield "short", len(words) < 50
    yield "long", len(words) > 100_000
    yield "short-words", is_below(length(words), len(words), 3)
    yield "long-words", exceeds(length(words), len(words), 10)
    yield "hashes", exceeds(text.count("#"), len(tokens), "0.1")
    yield "ellipses", exceeds(text.count("...") + text.count("…"), len(tokens), "0.1")
    yield "bullet-lines", exceeds(sum(each.lstrip().startswith(("•", "-")) for each in rows), len(rows), "0.9")
    yield "ellipsis-lines", exceeds(sum(each.rstrip().endswith(("...", "…")) for each in rows), len(rows), "0.3")
    yield "words-without-letters", is_below(sum(any(map(str.isalpha, each)) for each in tokens), len(tokens), "0.8")
    yield "stop-words", len(STOP_WORDS & set(tokens)) < 2


def gopher_repetition(text):
    facts = Facts(text)
    blocks, lines = facts.elements("block"), facts.elements("segment")
    yield "empty", not text
    for name, kind, elements in (("paragraph", "block", blocks), ("line", "segment", lines)):
        yield f"duplicate-{name}s", exceeds(len(facts.duplicates(kind)), len(elements), "0.3")
        yield f"duplicate-{name}-characters", exceeds(length(facts.duplicates(kind)), len(text), "0.2")
    for number, limit in zip((2, 3, 4), ("0.2", "0.18", "0.16")):
        yield f"top-{number}-grams", exceeds(facts.top_ngram_characters(number), len(text), limit)
    for number in range(5, 11):
        yield f"duplicate-{number}-grams", exceeds(facts.duplicate_ngram_characters(number), len(text), Fraction(20 - number, 100))


def fineweb_quality(text):
    facts, lines = Facts(text), [each for each in text.split("\n") if each.strip()]
    yield "empty", not lines
    yield "line-ends", is_below(sum(each[-1] in TERMINAL_PUNCTUATION for each in lines), len(lines), "0.12")
    yield "short-lines", exceeds(sum(len(each) <= 30 for each in lines), len(lines), "0.67")
    yield "duplicate-lines", exceeds(length(facts.duplicates("line")), len(text) - text.count("\n"), "0.01")
    yield "list", exceeds(text.count("\n"), len(facts.elements("token")), "0.3")


def nemo_quality(text):
    words, lines, paragraphs = text.split(), [each for each in text.split("\n") if each.strip()], text.split("\n\n")
    size, plain = len(text), sum(each.isascii() and (each.isalnum() or each in "\n?!,.") for each in text)
    urls, signs = Facts(text).elements("url"), ("...", "[...]", "…", "(...)", "[…]", "-»")
    symbols = sum(each in signs or exceeds(len([run for run in "".join("#" if c == "#" else " " for c in each).split()]), len(each), "0.5") for each in words)
    yield "non-alpha-numeric", size == 0 or exceeds(size - plain, size, "0.25")
    yield "symbols-to-words", exceeds(symbols, len(words), "0.1")
    yield "numbers", exceeds(sum(each in "0123456789" for each in text), size, "0.15")
    yield "urls", exceeds(length(urls), size, "0.2")
    yield "bullets", exceeds(sum(each.strip().startswith(BULLETS) for each in lines), len(lines), "0.9")
    yield "white-space", exceeds(sum(each in "\t\n\r\b " for each in text), size, "0.25")
    yield "parentheses", exceeds(sum(each in "{}⟨⟩[]()" for each in text), size, "0.1")
    yield "long-word", max(map(len, words), default=0) > 1000
    yield "word-count", not 50 <= len(words) <= 100_000
    policies = sum(any(policy in each.lower() for policy in POLICIES) for each in paragraphs)
    yield "boilerplate-string", "lorem ipsum" in text.lower() or exceeds(policies, len(paragraphs), "0.4")
    yield "mean-word-length", is_below(length(words), len(words), 3) or exceeds(length(words), len(words), 10)
    yield "punctuation", exceeds(sum(not each.strip().endswith((".", "?", "!", '"', "'")) for each in lines), len(lines), "0.85")
    yield "ellipsis", exceeds(sum(each.strip().lower().endswith(ELLIPSES) for each in lines), len(lines), "0.3")
    yield "common-english-words", sum(each in STOP_WORDS for each in words) < 2
    yield "words-without-alphabets", is_below(sum(any(map(str.isalpha, each)) for each in words), len(words), "0.8")
    yield "pornographic-urls", any("porn" in each for each in urls)


def nemo_repetition(text):
    facts, words = Facts(text), text.split()
    for kind in ("line", "paragraph"):
        elements = facts.elements(kind)
        yield f"repeated-{kind}s", is_below(len(set(elements)), len(elements), "0.7")
    for kind in ("line", "paragraph"):
        elements = facts.elements(kind)
        yield f"repeated-{kind}s-by-char", is_below(length(set(elements)), length(elements), "0.8")
    for number, limit in zip((2, 3, 4), ("0.2", "0.18", "0.16")):
        yield f"repeating-top-{number}-grams", len(words) < number or exceeds(facts.top_ngram_covered(number), len(text), limit)
    for number in range(5, 11):
        covered = exceeds(facts.duplicate_ngram_covered(number), len(text), Fraction(20 - number, 100))
        yield f"repeating-duplicate-{number}-grams", len(words) < number or covered


# As C4QualityFilter of datatrove decides, line by line: the rules that remove the document, and the lines that are left.
def c4_lines(text):
    lines, rules, steps = [], set(), collections.Counter()
    for row in text.splitlines():
        line = row.strip()
        words = line.split()
        steps["strip"] += line != row
        if any(len(word) > 1000 for word in words):
            steps["long-word"] += 1
            continue
        if len(words) < 3:
            steps["few-words"] += 1
            continue
        without = re.sub(r"\[\d*\]|\[edit\]|\[citation needed\]", "", line)
        steps["citations"] += without != line
        lower = without.lower()
        if without[-1:] not in (".", "?", "!", '"', "'") or without[-3:] == "...":
            steps["no-terminal-punctuation"] += 1
        elif "lorem ipsum" in lower:
            rules.add("lorem-ipsum")
            lines.append(without)
        elif "javascript" in lower:
            steps["javascript"] += 1
        elif "{" in without:
            rules.add("curly-bracket")
            lines.append(without)
        elif any(each in lower for each in POLICIES_OF_C4):
            steps["policy"] += 1
        else:
            lines.append(without)
    return "\n".join(lines).strip(), rules, steps


C4_STEPS = ("strip", "long-word", "few-words", "citations", "no-terminal-punctuation", "javascript", "policy")


def c4_quality(text):
    rewritten, rules, _ = c4_lines(text)
    yield "lorem-ipsum", "lorem-ipsum" in rules
    yield "curly-bracket", "{" in rewritten
    yield "few-sentences", len(sentences(rewritten)) < 5


PRESETS = {
    "c4-quality": c4_quality,
    "fineweb-quality": fineweb_quality,
    "gopher-quality": gopher_quality,
    "gopher-repetition": gopher_repetition,
    "nemo-quality": nemo_quality,
    "nemo-repetition": nemo_repetition,
}

SENTENCE = "The rule of this text is that words have to be with marks, and that lines end."
AT_LIMITS = (
    "", "\n", " \n ", SENTENCE, "word " * 49, "word " * 50, f"{SENTENCE}\n" * 3 + f"{SENTENCE} " * 7, (SENTENCE + " ") * 100,
    "\n".join([SENTENCE] * 3 + [f"{SENTENCE} {n}" for n in range(7)]), "\n".join([SENTENCE] * 4 + [f"{SENTENCE} {n}" for n in range(6)]),
    "\n".join(["- a line of a list"] * 9 + [SENTENCE]), "\n".join(["• one", "- two"] * 10), "\n".join([f"Read more {n}..." for n in range(9)] + [SENTENCE] * 21),
    "a" * 1000 + " " + SENTENCE, "a" * 1001 + " " + SENTENCE, "x" * 30 + "\n" + "y" * 31 + ".", f"{SENTENCE} # # # ## #a# … ... (...)", "Lorem Ipsum " + SENTENCE * 9,
    f"We have a Privacy Policy.\n\n{SENTENCE * 5}", f"{SENTENCE}\n\nCooKies: this site uses cooKies.\n\n{SENTENCE}", f"https://a.b/porn {SENTENCE * 4}",
    f"http://example.org/{'a' * 60} {SENTENCE * 4}", "(a) [b] {c} ⟨d⟩ " * 20 + SENTENCE * 10, "1234567890 " * 5 + SENTENCE * 4, "一 二 三。 " * 40,
)  # fmt: skip


def near_prose(chosen):
    """Sentences in which some are repeated, between line feeds of several numbers: most rules hold for some of them."""
    words = "the be to of and that have with lines text words 12 # … ... • - (x) https://a.b/c read more".split() + ["word%d" % chosen.randrange(40)]
    sentences = [" ".join(chosen.choice(words) for _ in range(chosen.randint(2, 12))) + chosen.choice((".", "!", "", "...", "。")) for _ in range(chosen.randint(1, 9))]
    return "".join(chosen.choice(sentences) + chosen.choice((" ", "\n", "\n\n", "\n\n\n")) for _ in range(chosen.randint(1, 40)))


def near_page(chosen):
    """Lines of a page, with what rules of C4 look for."""
    parts = ("the", "page", "said.", "so!", "why?", '"Yes."', "wait...", "[12]", "[edit]", "[citation needed]", "[٣]", "[]", "x" * 1001, "end.\u201d")
    rare = ("{", "Lorem Ipsum", "JavaScript", "use cookies", "Privacy Policy", "terms of use.", "coo\u212aie policy.")
    lines = []
    for _ in range(chosen.randint(1, 14)):
        words = [chosen.choice(parts) if chosen.random() < 0.4 else "word" for _ in range(chosen.randint(1, 9))]
        words += [chosen.choice(rare)] if chosen.random() < 0.06 else []
        lines.append(" " * chosen.randint(0, 1) + " ".join(words) + chosen.choice((".", ".", "", "!", ".[3]", ". [edit]", "\u00a0")))
    return "".join(line + chosen.choice(("\n", "\n", "\r\n", "\n\n", "\u2028")) for line in lines)


def rewritten_line(line, number, text, new):
    return line if new == text else json.dumps({"id": number, "text": new}, ensure_ascii=False).encode() + b"\n"


class Presets(CommandTest):
    def test_each_rule_of_a_preset_holds_for_the_texts_for_which_it_does_in_python(self):
        chosen = random.Random(49)
        texts = [*AT_LIMITS, *(near_prose(chosen) for _ in range(300)), *(random_text(chosen, 200) for _ in range(60))]
        texts += [near_page(chosen) for _ in range(300)]
        lines = [json.dumps({"id": number, "text": text}, ensure_ascii=False).encode() + b"\n" for number, text in enumerate(texts)]
        path = self.file("a.jsonl", b"".join(lines))
        for preset in sampled(PRESETS, 3):
            expected = [[f"{preset}.{name}" for name, holds in PRESETS[preset](text) if holds] for text in texts]
            result = self.folder / "result.jsonl"
            ended = run("filter", "-q", "--jsonl-field", "text", "--preset", preset, "--result", result, path, engine=None)
            self.assertEqual(ended.status, 0, ended)
            news = [c4_lines(text)[0] if preset == "c4-quality" else text for text in texts]
            kept = [rewritten_line(*each) for each in zip(lines, itertools.count(), texts, news)]
            self.assertEqual(ended.stdout, b"".join(line for line, rules in zip(kept, expected) if not rules), preset)
            found = [json.loads(line) for line in result.read_bytes().splitlines()]
            units = {each["unit"] - 1: each["rules"] for each in found if each["kind"] == "unit"}
            for number, rules in enumerate(expected):
                self.assertEqual(units.get(number, []), rules, (preset, texts[number]))
            counted = found[-1]["units"]["rules"]
            names = [*(f"{preset}.{name}" for name, _ in PRESETS[preset](SENTENCE)), "without-field"]
            self.assertEqual([each["name"] for each in counted], names)
            for each in counted:
                self.assertEqual(each["units"], sum(each["name"] in rules for rules in expected), each)
                self.assertEqual(each["first_units"], sum(rules[:1] == [each["name"]] for rules in expected), each)

    def test_the_result_has_the_lines_that_each_step_of_c4_quality_removed_or_changed(self):
        chosen = random.Random(4)
        texts = [near_page(chosen) for _ in range(200)]
        path = self.file("a.jsonl", b"".join(json.dumps({"text": each}).encode() + b"\n" for each in texts))
        expected = sum((c4_lines(each)[2] for each in texts), collections.Counter())
        steps = run("--format", "json", "--each", "line", "--jsonl-field", "text", "--preset", "c4-quality", path).result["units"]["rewrite"]
        self.assertEqual({each["name"]: each["lines"] for each in steps}, {f"c4-quality.{name}": expected[name] for name in C4_STEPS})
        self.assertTrue(all(expected[each] > 0 for each in C4_STEPS), expected)

    def test_each_rule_holds_for_a_text_and_not_for_another(self):
        """Else the texts of this suite would say nothing of the rule."""
        chosen = random.Random(49)
        texts = [*AT_LIMITS, *(near_prose(chosen) for _ in range(300)), *(near_page(chosen) for _ in range(300))]
        never = {"gopher-quality.long"}  # of a text of 100,001 words
        for preset, rules in PRESETS.items():
            seen = {}
            for text in texts:
                for name, holds in rules(text):
                    seen.setdefault(f"{preset}.{name}", set()).add(bool(holds))
            self.assertEqual({name for name, values in seen.items() if values != {True, False}} - never, set())


if __name__ == "__main__":
    main()
