"""`bench/curators.py [GPUHIST] [--size MEBIBYTES] [--rounds N]`: `gpuhist filter --preset` compared with the Python
packages that the presets are from, on the same documents (JSONL, field "text").

1. Documents for which the decisions differ, each with the values that explain it.
2. Wall time: gpuhist as a process, from the file to the kept lines; the Python rules in one process for each core, which
   parse the lines and apply the filters. Their start and imports are not measured. Medians of alternating runs.

Requires the packages nemo-curator (its filters of characters need neither Ray nor a GPU) and datatrove with regex and
spacy; a package that is not installed is left out:

    python3 -m venv build/curators && build/curators/bin/pip install datatrove spacy regex
    build/curators/bin/pip install --no-deps nemo-curator
    build/curators/bin/python bench/curators.py build/release/gpuhist

The documents are generated: English-like text of different quality, and a part with letters beyond ASCII."""

import argparse
import importlib
import importlib.machinery
import json
import multiprocessing
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import types

COMMON = "the be to of and a in that have it for not on with he as you do at this but his by from".split()
LETTERS = "etaoinshrdlucmfwypvbgkqjxz"
ACCENTED = "éèàüöñçåøß"


# ---- documents -------------------------------------------------------------------------------------------------------


def word(random_numbers):
    return "".join(random_numbers.choices(LETTERS, range(26, 0, -1), k=max(1, int(random_numbers.gauss(5.5, 2.5)))))


def english(random_numbers, words):
    vocabulary = [word(random_numbers) for _ in range(80)]
    text = []
    for number in range(words):
        chosen = random_numbers.choice(COMMON if random_numbers.random() < 0.4 else vocabulary)
        text.append(chosen + (random_numbers.choice([".", ",", "!", "?\n"]) if number % 9 == 8 else ""))
    return " ".join(text)


def sprinkled(random_numbers, text, characters, share):
    """The text with a share of its characters replaced."""
    return "".join(random_numbers.choice(characters) if random_numbers.random() < share else each for each in text)


def document(random_numbers):
    """Most are plain text; the others are spread around the thresholds of the rules."""
    text = english(random_numbers, max(1, int(random_numbers.lognormvariate(5.3, 1))))
    kind = random_numbers.random()
    if kind < 0.55:
        return text
    characters, highest = random_numbers.choice([("0123456789", 0.3), ("()[]{}", 0.2), (" \n", 0.2), ("#", 0.1),
                                                 ("*=|<>;:", 0.2), (ACCENTED, 0.2), ("\U0001f600…„“", 0.1)])  # fmt: skip
    return sprinkled(random_numbers, text, characters, random_numbers.uniform(0, highest))


def write_documents(path, size):
    random_numbers = random.Random(11)
    with open(path, "w", encoding="utf-8") as out:
        pool = [document(random_numbers) for _ in range(4000)]
        number = written = 0
        while written < size:
            text = pool[number % len(pool)] if number < len(pool) else random_numbers.choice(pool)
            line = json.dumps({"id": number, "text": text, "source": "generated"}, ensure_ascii=number % 2 == 0) + "\n"
            out.write(line)
            written += len(line.encode())
            number += 1


# ---- the rules in Python ---------------------------------------------------------------------------------------------


def without_package_code(name):
    """Makes the parents of module `name` importable without running their __init__.py, which requires Ray in NeMo
    Curator; the module itself is the one of the package."""
    parents = name.split(".")[:-1]
    path = importlib.machinery.PathFinder.find_spec(parents[0]).submodule_search_locations[0]
    for depth, part in enumerate(parents, 1):
        path = path if depth == 1 else os.path.join(path, part)
        module = types.ModuleType(".".join(parents[:depth]))
        module.__path__ = [path]
        sys.modules.setdefault(module.__name__, module)
    return importlib.import_module(name)


def nemo_rule():
    without_package_code("nemo_curator.stages.text.utils.constants")  # imported by the next one
    module = without_package_code("nemo_curator.stages.text.filters.heuristic.string")
    filters = [getattr(module, each)() for each in ("NonAlphaNumericFilter", "NumbersFilter", "WhiteSpaceFilter", "ParenthesesFilter")]

    def keeps(text):
        return all(each.keep_document(each.score_document(text)) for each in filters)

    def values(text):
        return {each._name: round(float(each.score_document(text)), 4) for each in filters}

    return keeps, values


def datatrove_rule():
    from datatrove.data import Document
    from datatrove.pipeline.filters import GopherQualityFilter
    from datatrove.utils.text import PUNCTUATION_SET, split_into_words

    # without the rules that the preset does not have
    rule = GopherQualityFilter(max_bullet_lines_ratio=None, max_ellipsis_lines_ratio=None, max_non_alpha_words_ratio=None, min_stop_words=None)

    def keeps(text):
        return rule.filter(Document(text=text, id="")) is True

    def values(text):
        words = split_into_words(text, "eng")
        counted = [each for each in words if any(letter not in PUNCTUATION_SET for letter in each)]
        return {"words": len(counted), "mean length": round(sum(map(len, counted)) / max(1, len(counted)), 3),
                "hash signs a word": round(text.count("#") / max(1, len(words)), 4)}  # fmt: skip

    return keeps, values


RULES = {"nemo": ("NeMo Curator", nemo_rule), "gopher": ("datatrove", datatrove_rule)}
worker_rule = None


def prepare(preset):
    global worker_rule
    worker_rule = RULES[preset][1]()
    worker_rule[0]("warm up: the tokenizer is loaded at the first call")


def kept_in(part):
    """The lines of a part of the file (path, begin, end) that the rule keeps."""
    path, begin, end = part
    with open(path, "rb") as file:
        file.seek(begin)
        lines = file.read(end - begin).splitlines(keepends=True)
    return [line for line in lines if worker_rule[0](json.loads(line)["text"])]


def parts_of(path, count):
    """Parts of about the same size, which end with a line."""
    size, bounds = os.path.getsize(path), [0]
    with open(path, "rb") as file:
        for number in range(1, count):
            begin = size * number // count
            file.seek(begin)
            bounds.append(begin + len(file.readline()))
    return list(zip(([path] * count), bounds, [*bounds[1:], size]))


# ---- the comparison --------------------------------------------------------------------------------------------------


def filtered(gpuhist, preset, path):
    command = [gpuhist, "filter", "-q", "--engine", "host", "--preset", preset, "--each", "line", "--jsonl-field", "text", path]
    begin = time.perf_counter()
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return output, time.perf_counter() - begin


def in_python(pool, path):
    begin = time.perf_counter()
    kept = pool.map(kept_in, parts_of(path, 4 * os.cpu_count()), 1)
    return b"".join(line for part in kept for line in part), time.perf_counter() - begin


def explain(preset, path, ours, theirs):
    """Prints the different decisions: at most 20, and their number by whether the text is ASCII."""
    ours, theirs = set(ours.splitlines()), set(theirs.splitlines())
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    values = RULES[preset][1]()[1]
    differing = [json.loads(line) for line in sorted(ours ^ theirs)]
    seen = {}
    for each in differing:
        seen.setdefault(each["text"], each)
    ascii_only = sum(each["text"].isascii() for each in seen.values())
    print(f"  {len(lines)} documents, gpuhist keeps {len(ours)}, {RULES[preset][0]} {len(theirs)}; "
          f"{len(differing)} decisions differ, for {len(seen)} texts, of which {ascii_only} are ASCII")  # fmt: skip
    for each in list(seen.values())[:20]:
        text = each["text"]
        by = "gpuhist" if any(json.loads(line)["id"] == each["id"] for line in theirs - ours) else RULES[preset][0]
        print(f"    document {each['id']}: dropped by {by} only; {len(text)} characters, {len(text.encode())} bytes, {values(text)}")


def compare(gpuhist, preset, path, rounds):
    with multiprocessing.Pool(os.cpu_count(), prepare, (preset,)) as pool:
        times = []
        for _ in range(rounds):
            ours, our_time = filtered(gpuhist, preset, path)
            theirs, their_time = in_python(pool, path)
            times.append((our_time, their_time))
    our_median, their_median = (statistics.median(column) for column in zip(*times))
    print(f"--preset {preset}: {our_median:.3f} s, {RULES[preset][0]} {their_median:.2f} s: {their_median / our_median:.0f} times as fast", flush=True)
    explain(preset, path, ours, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpuhist", nargs="?", default="build/release/gpuhist")
    parser.add_argument("--size", type=int, default=64, metavar="MEBIBYTES")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as at:
        path = str(pathlib.Path(at) / "documents.jsonl")
        write_documents(path, chosen.size << 20)
        print(f"{chosen.size} MiB of JSONL, {os.cpu_count()} cores, medians of {chosen.rounds} alternating runs")
        for preset, (package, _) in RULES.items():
            if importlib.machinery.PathFinder.find_spec({"nemo": "nemo_curator", "gopher": "datatrove"}[preset]) is None:
                print(f"--preset {preset}: {package} is not installed")
                continue
            compare(os.path.abspath(chosen.gpuhist), preset, path, chosen.rounds)


if __name__ == "__main__":
    main()
