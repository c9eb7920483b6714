"""engines.py GPUHIST MAKE_LOG FOLDER [NAME]: compares the wall time of --engine auto with the better of host and cuda
(cuda only with a device), over inputs of five sizes, plain and zstd, letters and bytes. Medians of alternating runs.
Target: auto takes at most 1.05 times as long as the better one, plus 3 ms (1.02 times, plus 3 ms, without a device).
NAME selects the inputs whose name contains it ("16 GiB")."""

import os
import pathlib
import statistics
import sys

from commands import Pipeline, made_by, repacked, seconds

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 1 << 26, "1 GiB": 1 << 30, "16 GiB": 1 << 34}
LARGEST_FILE = 1 << 32  # a larger input is this file, named several times


def inputs_in(folder, gpuhist, make_log, wanted):
    """Yields (name, bytes, arguments)."""
    for name, size in SIZES.items():
        if not any(wanted in f"{name} {kind}" for kind in ("plain", "one frame", "many frames")):
            continue
        file_size = min(size, LARGEST_FILE)
        plain = made_by(folder / f"{file_size}.log", Pipeline([[make_log, str(file_size)]]))
        one = made_by(folder / f"{file_size}.log.zst", Pipeline([["zstd", "-q", "-T0", "-c", str(plain)]]))
        many = repacked(folder / f"{file_size}.log.many.zst", gpuhist, plain)
        for kind, path in (("plain", plain), ("one frame", one), ("many frames", many)):
            if wanted in f"{name} {kind}":
                yield f"{name} {kind}", size, [path] * (size // file_size)


def measure(gpuhist, engines, arguments, size):
    times = {engine: [] for engine in engines}
    for run in range(4 if size > 1 << 30 else 8):
        for engine in engines:
            spent = seconds(Pipeline([[gpuhist, "--engine", engine, *arguments]]))
            if run:  # the first warms the caches
                times[engine].append(spent)
    return {engine: statistics.median(each) for engine, each in times.items()}


def main():
    gpuhist, make_log, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    device = os.path.exists("/dev/nvidiactl")
    engines = ("host", "cuda", "auto") if device else ("host", "auto")
    factor = 1.05 if device else 1.02
    print(f"{'input':20}{'scheme':10}" + "".join(f"{engine + ' ms':>12}" for engine in engines) + "   auto / best, limit")
    for name, size, files in inputs_in(folder, gpuhist, make_log, sys.argv[4] if len(sys.argv) > 4 else ""):
        for scheme in ("letters", "bytes"):
            times = measure(gpuhist, engines, ["--buckets", scheme, *map(str, files)], size)
            best = min(each for engine, each in times.items() if engine != "auto")
            verdict = "" if times["auto"] <= factor * best + 0.003 else "   OVER"
            print(
                f"{name:20}{scheme:10}" + "".join(f"{times[engine] * 1e3:12.1f}" for engine in engines)
                + f"{times['auto'] / best:12.3f}{(factor * best + 0.003) / best:9.3f}{verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
