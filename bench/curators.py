#!/usr/bin/env python3
"""`gpuhist filter --preset` compared with the Python packages that the presets are from, on the same documents (JSONL,
field "text"), which this script makes (curator_documents.py).

1. The documents that each keeps. For each document that only one of them keeps: the cause, found by running the rule of
   the package again with that cause neutralised (curator_rules.py). With all causes neutralised, the rule must decide
   as gpuhist for every document. Exit status 1 if it does not, or if a difference has no cause.
2. Wall time, medians of alternating runs. gpuhist: the process, from its start to the kept lines in a file. Python: one
   process that is already running, with the packages imported and the tokenizer loaded; it reads the same file, parses
   the lines with orjson (or json) and applies the rule, then writes the kept lines. The time divided by the number of
   cores is also given: what processes on all cores would take at best. A rule that takes more than 60 s runs once.

A package that is not installed is skipped:

    python3 -m venv /tmp/curators && /tmp/curators/bin/pip install datatrove spacy regex orjson
    /tmp/curators/bin/pip install --no-deps nemo-curator     # these filters require neither Ray nor a GPU
    /tmp/curators/bin/python bench/curators.py build/release/gpuhist
"""

import argparse
import collections
import json
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
from curator_rules import RULES, made_rule

try:
    from orjson import loads
except ImportError:
    loads = json.loads

CORES = len(os.sched_getaffinity(0))
DEMAND = 20
SLOW = 60  # seconds: a rule that takes longer runs once


# ---- runs ------------------------------------------------------------------------------------------------------------


def processor_time(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def filter_with_gpuhist(gpuhist, preset, path, kept, threads):
    """Returns the wall time and the processor time."""
    command = [gpuhist, "filter", "--quiet", "--threads", str(threads), "--preset", preset, "--jsonl-field", "text", path]
    used, begin = processor_time(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(kept, "wb") as file:
        subprocess.run(command, check=True, stdout=file)
    return time.perf_counter() - begin, processor_time(resource.RUSAGE_CHILDREN) - used


def filter_with_python(rule, path, kept):
    """Returns the wall time, the processor time, and the wall time of the rule alone."""
    used, begin = processor_time(resource.RUSAGE_SELF), time.perf_counter()
    with open(path, "rb") as file:
        lines = file.readlines()
    texts = [loads(line)["text"] for line in lines]
    parsed = time.perf_counter()
    decisions = [rule.keeps(text) for text in texts]
    decided = time.perf_counter()
    with open(kept, "wb") as file:
        file.writelines(line for line, keep in zip(lines, decisions) if keep)
    return time.perf_counter() - begin, processor_time(resource.RUSAGE_SELF) - used, decided - parsed


def medians(runs):
    return [statistics.median(column) for column in zip(*runs)]


def measure(gpuhist, rule, path, at, rounds):
    """Alternating runs of gpuhist with all cores, gpuhist with one thread, and Python: the values of each run."""
    all_cores, one_thread, python = [], [], []
    for _ in range(rounds):
        all_cores.append(filter_with_gpuhist(gpuhist, rule.preset, path, at / "by_gpuhist", CORES))
        one_thread.append(filter_with_gpuhist(gpuhist, rule.preset, path, at / "by_gpuhist", 1))
        if not python or python[-1][0] < SLOW:
            python.append(filter_with_python(rule, path, at / "by_package"))
    return all_cores, one_thread, python


# ---- decisions -------------------------------------------------------------------------------------------------------


def numbers_in(path):
    with open(path, "rb") as file:
        return {loads(line)["id"] for line in file}


def explain(rule, texts, ours, theirs):
    """Prints the decisions and the causes of those that differ. Returns the number of documents without explanation."""
    print(f"  kept by both {len(ours & theirs):,}, by gpuhist only {len(ours - theirs):,}, by {rule.distribution} only "
          f"{len(theirs - ours):,}, by neither {len(texts) - len(ours | theirs):,}")  # fmt: skip
    by_causes = collections.defaultdict(lambda: ([], []))
    for number in sorted(ours ^ theirs):
        causes = rule.explanation(texts[number], number in ours)
        by_causes[causes][number not in ours].append(number)
    if by_causes:
        print(f"  {'gpuhist only':>14} {rule.distribution + ' only':>18}  for example  cause")
    for causes, lists in sorted(by_causes.items(), key=lambda each: -sum(map(len, each[1]))):
        example = (lists[0] or lists[1])[0]
        print(f"  {len(lists[0]):14,} {len(lists[1]):18,} {example:12}  {' + '.join(causes) if causes else 'UNEXPLAINED'}")
    every = frozenset(rule.causes)
    wrong = [number for number, text in enumerate(texts) if rule.keeps_without(text, every) != (number in ours)]
    print(f"  with all causes neutralised, {len(wrong):,} of {len(texts):,} decisions differ"
          + (f": {', '.join(map(str, wrong[:20]))}" if wrong else ""))  # fmt: skip
    return len(wrong) + sum(map(len, by_causes[None] if None in by_causes else ()))


def compare(gpuhist, rule, path, texts, at, rounds):
    runs = measure(gpuhist, rule, path, at, rounds)
    (ours, our_work), (one_thread, _), (python, python_work, rule_alone) = map(medians, runs)
    print(f"--preset {rule.preset}: {rule.name} ({rule.filters})")
    unexplained = explain(rule, texts, numbers_in(at / "by_gpuhist"), numbers_in(at / "by_package"))
    print(f"  gpuhist {ours:.3f} s ({CORES} threads; {our_work:.3f} s of processors), {one_thread:.3f} s (1 thread)\n"
          f"  Python {python:.3f} s (1 process, {len(runs[-1])} runs; {python_work:.3f} s of processors), of which the rule {rule_alone:.3f} s")  # fmt: skip
    ratios = (("1 process", python / ours), (f"its time / {CORES} cores", python / CORES / ours),
              (f"the rule alone / {CORES} cores", rule_alone / CORES / ours), ("1 process, gpuhist with 1 thread", python / one_thread),
              ("processor time", python_work / our_work))  # fmt: skip
    print("  Python / gpuhist: " + "; ".join(f"{name} {ratio:.1f}" + ("" if ratio >= DEMAND else f" (less than {DEMAND})") for name, ratio in ratios))
    print(flush=True)
    return unexplained


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpuhist", nargs="?", default=os.environ.get("GPUHIST", "build/release/gpuhist"))
    parser.add_argument("--documents", type=int, default=40_000, metavar="N", help="and one for 20 with sentences between blank lines; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--preset", action="append", choices=sorted({preset for preset, _ in RULES}), help="default: all")
    parser.add_argument("--package", action="append", choices=sorted({package for _, package in RULES}), help="default: all")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="also writes the documents to FILE")
    typed = parser.parse_args()
    gpuhist, unexplained = os.path.abspath(typed.gpuhist), 0
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        path = at / "documents.jsonl"
        write_documents(path, typed.documents)
        if typed.keep:
            shutil.copyfile(path, typed.keep)
        with open(path, "rb") as file:
            texts = [loads(line)["text"] for line in file]
        print(f"{len(texts):,} documents, {path.stat().st_size / 1e6:.1f} MB of JSONL; {CORES} cores; medians of {typed.rounds} alternating "
              f"runs; lines are parsed with {loads.__module__} in Python\n")  # fmt: skip
        for preset, distribution in RULES:
            if preset not in (typed.preset or [preset]) or distribution not in (typed.package or [distribution]):
                continue
            try:
                rule = made_rule(preset, distribution)
            except ModuleNotFoundError as missing:
                print(f"--preset {preset}: {distribution}: skipped: not installed ({missing.name})\n")
                continue
            unexplained += compare(gpuhist, rule, path, texts, at, typed.rounds)
    if unexplained:
        print(f"{unexplained:,} decisions are not explained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
