"""archives.py GPUHIST GPUHIST_BENCH MAKE_LOG FOLDER: compares the rate of gpuhist over compressed archives with that of
the decoders alone, on all cores. Inputs: an archive of many frames, one of one frame, 64 zstd files of one frame, and
64 gzip files, each of 4 GiB of log text, named so often that the start of a process does not matter. Letters and bytes;
every available engine. Rates are measured from the first byte read to the last count (and for the whole process);
medians of alternating runs. `gpuhist-bench decompress` measures the decoders alone, from memory (the fastest of its
repetitions). Target: 0.95."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import time

from commands import Pipeline, made_by, repacked

FILES, FILE_BYTES = 64, 64 << 20


def make_archives(folder, gpuhist, make_log, wanted):
    plain = made_by(folder / "archives.log", Pipeline([[make_log, str(FILES * FILE_BYTES)]]))
    many = repacked(folder / "archives.many.zst", gpuhist, plain)

    def compress(number, suffix, command):
        path = folder / f"archives.{number:02}.{suffix}"
        if not path.exists():
            piece = subprocess.Popen(
                ["tail", "-c", f"+{number * FILE_BYTES + 1}", str(plain)], stdout=subprocess.PIPE
            )
            head = subprocess.Popen(["head", "-c", str(FILE_BYTES)], stdin=piece.stdout, stdout=subprocess.PIPE)
            piece.stdout.close()
            with path.open("wb") as out:
                subprocess.run(command, stdin=head.stdout, stdout=out, check=True)
            head.wait()
            piece.wait()
        return path

    def all_of(suffix, command):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda number: compress(number, suffix, command), range(FILES)))

    sets = {
        "many frames": lambda: [many],
        "one .zst": lambda: [made_by(folder / "archives.zst", Pipeline([["zstd", "-q", "-T0", "-c", str(plain)]]))],
        f"{FILES} x .zst": lambda: all_of("zst", ["zstd", "-q", "-c"]),
        f"{FILES} x .gz": lambda: all_of("gz", ["gzip", "-c"]),
    }
    return {name: make() for name, make in sets.items() if wanted in name}


def decoders_alone(bench, files):
    command = [bench, "decompress", "--format", "json", "--threads", str(os.cpu_count()), "--repetitions", "5"]
    row = json.loads(subprocess.run([*command, *map(str, files)], stdout=subprocess.PIPE, check=True).stdout)
    return row["text_bytes"], row["seconds"]


def seconds(command):
    """Returns the time of the whole process, and the time from the first byte read to the last count."""
    begin = time.monotonic()
    ended = subprocess.run([*command, "--stats", "--format", "json"], stdout=subprocess.PIPE, check=True)
    return time.monotonic() - begin, json.loads(ended.stdout)["stats"]["seconds"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("gpuhist", "bench", "make_log"):
        parser.add_argument(name)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=16, help="how often the files are named")
    parser.add_argument("--runs", type=int, default=4, help="runs of each command; the first is not counted")
    parser.add_argument("--only", default="", help="only archives whose name contains this")
    return parser.parse_args()


def main():
    options = parse()
    engines = ("host", "cuda", "auto") if os.path.exists("/dev/nvidiactl") else ("host",)
    print(f"GB/s of text (relative to the decoders alone; the same for the whole process), {options.times} times 4 GiB")
    print(f"{'archives':14}{'buckets':10}{'decoders':>9}" + "".join(f"{each:>22}" for each in engines))
    for name, files in make_archives(options.folder, options.gpuhist, options.make_log, options.only).items():
        text_bytes, alone = decoders_alone(options.bench, files)
        rate = text_bytes / alone
        for scheme in ("letters", "bytes"):
            times = {engine: [] for engine in engines}
            for run in range(options.runs):
                for engine in engines:
                    command = [options.gpuhist, "--engine", engine, "--buckets", scheme, *map(str, files * options.times)]
                    spent = seconds(command)
                    if run:  # the first warms the caches
                        times[engine].append(spent)
            row = f"{name:14}{scheme:10}{rate / 1e9:9.1f}"
            for engine in engines:
                whole, counting = (
                    text_bytes * options.times / statistics.median(each) / rate for each in zip(*times[engine])
                )
                row += f"{counting * rate / 1e9:9.1f} ({counting:.2f}; {whole:.2f})"
            print(row, flush=True)


if __name__ == "__main__":
    main()
