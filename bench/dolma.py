#!/usr/bin/env python3
"""gpuhist compared with dolma on documents (JSONL, field "text"; every 20th is that of an earlier one): the Rust deduper of
dolma with `--duplicates`, and its Gopher tagger (Python) with the rules of `--preset gopher-quality --preset
gopher-repetition`.

Both read and decide; dolma writes attributes of each document, gpuhist nothing. Medians of alternating runs on one core. The
deduper has a Bloom filter: it may find duplicates that are none. Exit status 1 if it misses one that gpuhist finds.

    python3 -m venv /tmp/dolma && /tmp/dolma/bin/pip install dolma==1.2.1
    /tmp/dolma/bin/python bench/dolma.py build/release/gpuhist
"""

import argparse
import gzip
import importlib.metadata
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

WORDS = 5_000  # different ones
EVERY = 20  # a duplicate


def write_documents(path, number, words, seed=1):
    """Returns the number of duplicates and of bytes."""
    chosen = random.Random(seed)
    known = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(1, 9))) for _ in range(WORDS)]
    recent, duplicates = [], 0
    with open(path, "w") as file:
        for at in range(number):
            if at % EVERY == EVERY - 1:
                text, duplicates = chosen.choice(recent), duplicates + 1
            else:
                text = f"{at} " + " ".join(chosen.choices(known, k=chosen.randint(words // 2, words * 3 // 2))) + "."
                recent = [*recent[-999:], text]
            file.write(json.dumps({"id": str(at), "text": text}) + "\n")
    return duplicates, path.stat().st_size


def timed(work):
    begin = time.perf_counter()
    made = work()
    return time.perf_counter() - begin, made


def dedupe_of_dolma(folder, path, number):
    """The number of documents with an equal earlier one."""
    from dolma import deduper

    for each in (folder / "attributes").rglob("*.*"):
        each.unlink()
    deduper({
        "documents": [str(path)], "work_dir": {"input": str(folder / "in"), "output": str(folder / "out")}, "processes": 1,
        "dedupe": {"name": "equal", "documents": {"attribute_name": "duplicate", "key": "$.text"}, "skip_empty": False},
        "bloom_filter": {"file": str(folder / "bloom"), "read_only": False, "size_in_bytes": 0, "estimated_doc_count": number, "desired_false_positive_rate": 1e-6},
    })  # fmt: skip
    (folder / "bloom").unlink()
    (made,) = [each for each in (folder / "attributes").rglob("*.*") if each.is_file()]
    content = made.read_bytes()
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    return sum(1 for line in text.splitlines() if json.loads(line)["attributes"].get("duplicate"))


def duplicates_of_gpuhist(gpuhist, path):
    command = [gpuhist, "--quiet", "--threads", "1", "--each", "line", "--jsonl-field", "text", "--duplicates", "count", "--format", "json", path]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["units"]["duplicates"]


def tag_with_dolma(lines):
    from dolma.core.data_types import Document
    from dolma.core.registry import TaggerRegistry

    tagger = TaggerRegistry.get("gopher_v1")()
    for line in lines:
        tagger.predict(Document(source="", **json.loads(line)))


def rules_of_gpuhist(gpuhist, path):
    rules = ("--preset", "gopher-quality", "--preset", "gopher-repetition")
    subprocess.run([gpuhist, "filter", "--quiet", "--threads", "1", "--jsonl-field", "text", *rules, path], check=True, stdout=subprocess.DEVNULL)


def compare(title, ours, theirs, bytes_of_ours, bytes_of_theirs, runs):
    times = [(timed(ours), timed(theirs)) for _ in range(runs)]
    rates = [bytes_of / statistics.median(each[at][0] for each in times) / 1e6 for at, bytes_of in ((0, bytes_of_ours), (1, bytes_of_theirs))]
    print(f"{title}: gpuhist {rates[0]:,.1f} MB/s, dolma {rates[1]:,.2f} MB/s: {rates[0] / rates[1]:,.1f} times", flush=True)
    return [each[1] for each in times[-1]]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("gpuhist")
    arguments.add_argument("--documents", type=int, default=200_000)
    arguments.add_argument("--words", type=int, default=60, help="of a document, on average")
    arguments.add_argument("--tagged", type=int, default=1_000, help="documents for the tagger")
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as at:
        folder = pathlib.Path(at)
        (folder / "documents").mkdir()
        path = folder / "documents" / "a.jsonl"
        duplicates, size = write_documents(path, options.documents, options.words)
        print(f"dolma {importlib.metadata.version('dolma')}; {options.documents:,} documents, {size / 1e6:,.1f} MB of JSONL, {duplicates:,} duplicates")
        gpuhist, dolma = compare("duplicates", lambda: duplicates_of_gpuhist(options.gpuhist, path),
                                 lambda: dedupe_of_dolma(folder, path, options.documents), size, size, options.runs)  # fmt: skip
        print(f"  found: gpuhist {gpuhist:,}, dolma {dolma:,}")
        lines = path.read_bytes().splitlines(keepends=True)[: options.tagged]
        compare("Gopher", lambda: rules_of_gpuhist(options.gpuhist, path), lambda: tag_with_dolma(lines), size, sum(map(len, lines)), options.runs)
    if gpuhist != duplicates or dolma < duplicates:
        raise SystemExit(f"expected {duplicates:,} duplicates")


if __name__ == "__main__":
    main()
