"""matches.py GPUHIST MAKE_LOG FOLDER: compares the rate of `gpuhist --match` with strings, in an archive of many zstd
frames, with that of counting alone. The archive has 4 GiB of log text, and is named so often that the start of a process
does not matter. Every available engine; the matches of all engines must be equal. Rates are measured from the first byte
read to the last count (and for the whole process); medians of alternating runs. Target on a device: 40 GB/s."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

from commands import Pipeline, made_by, repacked

TEXT_BYTES = 4 << 30
STRINGS = ("ERROR", "connection reset", " 500 ", "/api/v2/orders/search", "timed out", "DELETE", "python-requests", "edge-gru")


def options_of(strings):
    return [each for number, string in enumerate(strings) for each in ("--match", f"m{number}={string}")]


CASES = {
    "no match": [],
    "1 string": options_of(STRINGS[:1]),
    "3 strings": options_of(STRINGS[:3]),
    "8 strings": options_of(STRINGS),
    "8, any case": [*options_of(STRINGS), "--match-ignore-case"],
    "16 strings": options_of([*STRINGS, *(f"absent {number}" for number in range(8))]),
    "in most lines": options_of(("INFO", "GET", "200")),
}


def measured(command):
    """The time of the whole process, the time from the first byte read to the last count, and the matches."""
    begin = time.monotonic()
    ended = subprocess.run([*command, "--stats", "--format", "json"], stdout=subprocess.PIPE, check=True)
    whole = time.monotonic() - begin
    result = json.loads(ended.stdout)
    return whole, result["stats"]["seconds"], (result.get("matches"), result.get("unmatched"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("gpuhist", "make_log"):
        parser.add_argument(name)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=16, help="how often the archive is named")
    parser.add_argument("--runs", type=int, default=6, help="runs of each command; the first is not counted")
    parser.add_argument("--text-bytes", type=int, default=TEXT_BYTES, help="of the archive")
    return parser.parse_args()


def main():
    options = parse()
    plain = made_by(options.folder / "matches.log", Pipeline([[options.make_log, str(options.text_bytes)]]))
    archive = repacked(options.folder / "matches.many.zst", options.gpuhist, plain)
    engines = ("host", "cuda") if os.path.exists("/dev/nvidiactl") else ("host",)
    text_bytes = plain.stat().st_size * options.times
    print(f"GB/s of text (of the whole process), {options.times} times {plain.stat().st_size} bytes")
    print(f"{'':14}" + "".join(f"{each:>16}" for each in engines), flush=True)
    for name, case in CASES.items():
        times = {engine: [] for engine in engines}
        found = set()
        for run in range(options.runs):
            for engine in engines:
                files = [str(archive)] * options.times
                *spent, matches = measured([options.gpuhist, "--engine", engine, "-b", "letters", *case, *files])
                found.add(json.dumps(matches))
                if run:  # the first warms the caches
                    times[engine].append(spent)
        if len(found) != 1:
            raise SystemExit(f"{name}: the engines found different matches: {found}")
        row = f"{name:14}"
        for engine in engines:
            whole, counting = (text_bytes / statistics.median(each) / 1e9 for each in zip(*times[engine]))
            row += f"{counting:9.1f} ({whole:.1f})"
        print(row, flush=True)


if __name__ == "__main__":
    main()
