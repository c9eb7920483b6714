#!/usr/bin/env python3
"""`gpuhist filter --preset` compared with the filters of Python packages that the presets are from, on the same documents
(JSONL, field "text"), which this script makes (curator_documents.py).

1. Decisions. The code of the package decides for each document, and names the first rule that removes it (curator_rules.py):
   with the one definition of gpuhist that it does not share, and as it is. With that definition every decision must be that
   of gpuhist. Others are counted by the rules of both: they must be fewer than 0.1 % of the documents, unless the cause is
   the tokenizer of the package, or its decision depends on hashes of the process. Exit status 1 if not.
2. Speed. gpuhist: the process, from its start to the kept lines in a file, all documents. Python: one process that is already
   running, with the packages imported and the tokenizer loaded; it reads some of the documents, parses the lines with orjson
   (or json), applies the rule and writes the kept lines. Medians of alternating runs, in bytes of JSONL a second.

A package that is not installed is skipped. Decisions of packages take long (0.1 to 0.5 MB/s); --cache keeps them:

    python3 -m venv /tmp/curators && /tmp/curators/bin/pip install datatrove spacy regex orjson
    /tmp/curators/bin/pip install --no-deps nemo-curator     # these filters require neither Ray nor a GPU
    /tmp/curators/bin/python bench/curators.py build/release/gpuhist --documents 100000 --cache decisions.json
"""

import argparse
import collections
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from curator_documents import write_documents
from curator_rules import KEPT, LETTERS, RAISES, RULES, made_rule

try:
    from orjson import loads
except ImportError:
    loads = json.loads

CORES = len(os.sched_getaffinity(0))
DEMANDS = {"fineweb-quality": 300, "gopher-quality": 100, "gopher-repetition": 50, "c4-quality": 100}  # ratios for one core
BOUND = 0.001  # of the documents may be decided differently because of LETTERS
SLOW = 60  # seconds: a rule that takes longer runs once
LONG = 2  # the first documents, which are too long for a sample

# ---- decisions of the packages ---------------------------------------------------------------------------------------


def decide(job):
    """The decisions for some texts, a list for each (preset, whether with the definition of gpuhist)."""
    wanted, texts = job
    found = [[] for _ in wanted]
    for text in texts:  # the tokenizer of datatrove runs once for rules in sequence: it keeps the last texts
        for (preset, is_alike), decisions in zip(wanted, found):
            rule = made_rule(preset)
            decisions.append((rule.decides_alike if is_alike else rule.decides)(text))
    return found


def package_decisions(presets, texts, digest, cache, forms):
    """By (preset, whether with the definition of gpuhist): the decision for each text. `forms`: of the latter."""
    known = json.loads(cache.read_text()) if cache and cache.exists() else {}
    key = lambda preset, is_alike: f"{digest} {made_rule(preset).version} {preset} {made_rule(preset).definition if is_alike else 'as it is'}"
    wanted = [each for each in itertools.product(presets, forms) if key(*each) not in known]
    made = [[] for _ in wanted]
    if wanted:
        jobs = ((wanted, texts[at : at + 100]) for at in range(0, len(texts), 100))
        with multiprocessing.Pool(CORES) as pool:
            for found in pool.imap(decide, jobs):
                for all_of_rule, decisions in zip(made, found):
                    all_of_rule += decisions
    known |= {key(*each): decisions for each, decisions in zip(wanted, made)}
    if cache and wanted:
        cache.write_text(json.dumps(known))
    return {each: known[key(*each)] for each in itertools.product(presets, forms)}


# ---- decisions of gpuhist --------------------------------------------------------------------------------------------


def command(gpuhist, preset, threads, *arguments):
    return [gpuhist, "filter", "--quiet", "--threads", str(threads), "--preset", preset, "--jsonl-field", "text", *arguments]


def decisions_of_gpuhist(gpuhist, preset, path, at, names_rules):
    """The text of each document that it keeps, by its number, and by number of each other document the first rule that removes it."""
    kept, removed = at / "kept", at / f"removed.{preset}"
    with open(kept, "wb") as file:
        subprocess.run(command(gpuhist, preset, CORES, *(("--result", removed) if names_rules else ()), path), check=True, stdout=file)
    with open(kept, "rb") as file:
        texts = {found["id"]: found["text"] for found in map(loads, file)}
    if not names_rules:
        return texts, {}
    with open(removed, "rb") as file:
        units = [each for each in map(loads, file) if each["kind"] == "unit"]
    return texts, {each["unit"] - 1: each["rules"][0].removeprefix(f"{preset}.") for each in units}


# ---- comparison ------------------------------------------------------------------------------------------------------


def counted(numbers):
    return f"{len(numbers):,}" + (f" (for example {', '.join(map(str, numbers[:5]))})" if numbers else "")


def print_rules(decisions):
    """How many documents each rule removes first."""
    by_rule = collections.Counter(each or "kept" for each in decisions)
    print("  " + ", ".join(f"{name} {number:,}" for name, number in by_rule.most_common()))


def print_causes(different, alike, as_it_is):
    """The rules that decide with the definition of gpuhist and without, for the documents that one of them keeps."""
    by_rules = collections.defaultdict(list)
    for number in different:
        by_rules[alike[number] or "kept", as_it_is[number] or "kept"].append(number)
    for (ours, theirs), numbers in sorted(by_rules.items(), key=lambda each: -len(each[1])):
        print(f"    {len(numbers):8,}  gpuhist: {ours}; the package: {theirs}; for example {numbers[0]}")


def compare(rule, texts, kept, first_rules, alike, as_it_is):
    """Prints the decisions that differ. Returns the number of those that may not."""
    print_rules(alike)
    raised = [number for number, each in enumerate(alike) if each.startswith(RAISES)]
    wrong = [number for number, each in enumerate(alike) if (number in kept) != (each == KEPT)]
    print(f"  with the {rule.definition}: {counted(wrong)} of {len(alike):,} decisions differ")
    if rule.rewrites:
        others = [number for number, text in kept.items() if alike[number] == KEPT and text != rule.rewrites(texts[number])]
        print(f"  the text of {counted(others)} of {len(kept):,} documents that are kept differs")
        wrong += others
    if raised:
        print(f"  the package raised an exception for {counted(raised)}")
    if first_rules:
        others = [number for number, each in first_rules.items() if alike[number] not in (KEPT, each) and number not in raised]
        print(f"  the first rule that removes a document differs for {counted(others)}")
        wrong += others
    if as_it_is is None:
        return len(wrong)
    different = [number for number, each in enumerate(as_it_is) if (number in kept) != (each == KEPT)]
    is_few = rule.definition != LETTERS or len(different) < BOUND * len(alike)
    print(f"  without it: {counted(different)} decisions differ, {len(different) / len(alike):.3%}" + ("" if is_few else f" (more than {BOUND:.1%})"))
    print_causes(different, alike, as_it_is)
    return len(wrong) + (0 if is_few else len(different))


# ---- speed -----------------------------------------------------------------------------------------------------------


def processor_time(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def filter_with_gpuhist(gpuhist, preset, path, kept, threads):
    """Returns the wall time and the processor time."""
    used, begin = processor_time(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(kept, "wb") as file:
        subprocess.run(command(gpuhist, preset, threads, path), check=True, stdout=file)
    return time.perf_counter() - begin, processor_time(resource.RUSAGE_CHILDREN) - used


def filter_with_python(rule, path, kept):
    """Returns the wall time and the processor time."""
    used, begin = processor_time(resource.RUSAGE_SELF), time.perf_counter()
    with open(path, "rb") as file:
        lines = file.readlines()
    decisions = [rule.decides(loads(line)["text"]) for line in lines]
    with open(kept, "wb") as file:
        file.writelines(line for line, each in zip(lines, decisions) if each == KEPT)
    return time.perf_counter() - begin, processor_time(resource.RUSAGE_SELF) - used


def measure(gpuhist, rule, path, sample, at, rounds):
    """Prints megabytes a second: all documents with gpuhist, the sample with Python."""
    runs = {"all cores": [], "one thread": [], "python": []}
    for _ in range(rounds):
        runs["all cores"].append(filter_with_gpuhist(gpuhist, rule.preset, path, at / "by_gpuhist", CORES))
        runs["one thread"].append(filter_with_gpuhist(gpuhist, rule.preset, path, at / "by_gpuhist", 1))
        if not runs["python"] or runs["python"][-1][0] < SLOW:
            runs["python"].append(filter_with_python(rule, sample, at / "by_package"))
    rates = {}
    for name, each in runs.items():
        size = (sample if name == "python" else path).stat().st_size / 1e6
        rates[name] = [size / statistics.median(column) for column in zip(*each)]
        print(f"  {name:10} {rates[name][0]:10.3f} MB/s, {rates[name][1]:10.3f} MB/s of processor time ({size:.1f} MB, {len(each)} runs)")
    (python, python_work), (alone, alone_work) = rates["python"], rates["one thread"]
    ratio, demand = alone_work / python_work, DEMANDS.get(rule.preset, 0)
    print(f"  gpuhist / Python: one thread {alone / python:.1f}, all cores {rates['all cores'][0] / python:.1f}, for each core "
          f"{rates['all cores'][0] / CORES / python:.1f}; processor time, one thread {ratio:.1f}"
          + (f" ({'at least' if ratio >= demand else 'LESS THAN'} {demand})" if demand else ""))  # fmt: skip


def installed(presets):
    for preset in presets:
        try:
            made_rule(preset)
            yield preset
        except ModuleNotFoundError as missing:
            print(f"--preset {preset}: skipped: not installed ({missing.name})\n")


def write_sample(path, sample, number):
    with open(path, "rb") as file, open(sample, "wb") as out:
        out.writelines(itertools.islice(file, LONG, LONG + number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpuhist", nargs="?", default=os.environ.get("GPUHIST", "build/release/gpuhist"))
    parser.add_argument("--documents", type=int, default=40_000, metavar="N", help="default: %(default)s")
    parser.add_argument("--timed", type=int, default=2_000, metavar="N", help="documents of which Python is measured; 0: none; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--preset", action="append", choices=sorted(RULES), help="default: all")
    parser.add_argument("--alike", action="store_true", help="compares only with the definition of gpuhist, not with the tokenizer of the package")
    parser.add_argument("--first-rules", action="store_true", help="also compares which rule removes a document")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="keeps the decisions of the packages, by documents and versions; "
                        "remove it if curator_rules.py was changed")  # fmt: skip
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="also writes the documents to FILE")
    typed = parser.parse_args()
    gpuhist, wrong = os.path.abspath(typed.gpuhist), 0
    presets = list(installed(typed.preset or RULES))
    for are_pages in (False, True):
        wrong += compare_presets(typed, gpuhist, [each for each in presets if made_rule(each).is_of_pages == are_pages], are_pages)
    if wrong:
        print(f"{wrong:,} decisions differ that may not")
    return 1 if wrong else 0


def compare_presets(typed, gpuhist, presets, are_pages):
    """The presets that are compared with the same documents. Returns the number of decisions that differ and may not."""
    wrong = 0
    if not presets:
        return wrong
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        path, sample = at / "documents.jsonl", at / "sample.jsonl"
        write_documents(path, typed.documents, are_pages)
        write_sample(path, sample, typed.timed)
        if typed.keep:
            shutil.copyfile(path, typed.keep)
        with open(path, "rb") as file:
            texts = [loads(line)["text"] for line in file]
        print(f"{len(texts):,} documents, {path.stat().st_size / 1e6:.1f} MB of JSONL; {CORES} cores; parsed with {loads.__module__} in Python\n")
        decisions = package_decisions(presets, texts, hashlib.sha256(path.read_bytes()).hexdigest(), typed.cache, (True,) if typed.alike else (True, False))
        for preset in presets:
            rule = made_rule(preset)
            print(f"--preset {preset}: {rule.version}")
            kept, first_rules = decisions_of_gpuhist(gpuhist, preset, path, at, typed.first_rules)
            wrong += compare(rule, texts, kept, first_rules, decisions[preset, True], decisions.get((preset, False)))
            if typed.timed:
                measure(gpuhist, rule, path, sample, at, typed.rounds)
            print(flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
