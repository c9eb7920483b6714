"""`bench/trees.py [GPUHIST] [RUNS]`: counts 20,000 files of 4 KiB in a tree, with a warm page cache, and compares the
time with commands that only read the files; medians of alternating runs. Also prints the peak memory of gpuhist for the
tree named once and ten times. Prints figures without targets."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

GPUHIST = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/gpuhist")
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
FILES, SIZE = 20_000, 4096
OURS = f"{GPUHIST} --engine host --buckets letters"

PAIRS = [  # gpuhist, reference command
    (f"{OURS} -r .", "find . -type f -print0 | xargs -0 cat | wc -c"),
    (f"find . -type f -print0 | {OURS} -0 --files-from -", "find . -type f -print0 | xargs -0 cat | wc -c"),
    (f"{OURS} -r --totals-only .", f"{OURS} -r --format json ."),
]


def seconds(command, at):
    begin = time.perf_counter()
    subprocess.run(["sh", "-c", command], cwd=at, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def peak_mib(at, trees):
    command = [*OURS.split(), "--byte-counts", "-r", *["."] * trees]
    process = subprocess.Popen(command, cwd=at, stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss / 1024


def make_tree(at):
    line = b"2026-03-11 04:12:07 host-12 INFO quick brown fox GET /index.html 200\n"
    for i in range(FILES):
        if i % 100 == 0:
            folder = pathlib.Path(at) / f"d{i // 100:03}"
            folder.mkdir()
        (folder / f"f{i:05}.log").write_bytes((line * 70)[i % 60 :][:SIZE])


def main():
    with tempfile.TemporaryDirectory() as at:
        make_tree(at)
        print(f"{FILES} files of {SIZE} bytes, {os.cpu_count()} cores, medians of {RUNS} alternating runs, warm cache")
        for pair in PAIRS:
            for command in pair:
                seconds(command, at)
            times = [[seconds(command, at) for command in pair] for _ in range(RUNS)]
            ours, reference = (statistics.median(column) for column in zip(*times))
            print(f"{ours:.3f} s : {reference:.3f} s = {ours / reference:.2f}   {pair[0]}  :  {pair[1]}".replace(GPUHIST, "gpuhist"), flush=True)
        print(f"peak memory: {peak_mib(at, 1):.1f} MiB for the tree once, {peak_mib(at, 10):.1f} MiB for the tree ten times (200,000 inputs, all 256 counts)")


if __name__ == "__main__":
    main()
