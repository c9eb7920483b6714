"""pipeline.py GPUHIST LOG RUNS, called by bench/pipeline.sh: measures pairs of shell commands in alternation. Prints
the ratio of their medians, its target, and the peak memory of gpuhist."""

import os
import shutil
import statistics
import subprocess
import sys

from commands import Pipeline
from commands import seconds as seconds_of

GPUHIST, LOG, RUNS = sys.argv[1], sys.argv[2], int(sys.argv[3])
LETTERS = f"{GPUHIST} --engine host --buckets letters"
BYTES = f"{GPUHIST} --engine host --buckets bytes"
PARTS = " ".join(f"{LOG}.{number:02}.zst" for number in range(16))

EXPRESSIONS = ("DEBUG", "id=99[0-9]+", "POST.*curl")
MATCHES = f"{GPUHIST} --engine host " + " ".join(f"--match e{number}={each}" for number, each in enumerate(EXPRESSIONS))
SEARCHES = "; ".join(f"rg -c '{each}' {LOG}" for each in EXPRESSIONS)
MINUTES = f"{GPUHIST} --engine host --window 1m --event-time {LOG}"
MINUTES_BY_AWK = f"mawk '{{count[substr($1, 1, 16)]++}} END {{for (each in count) print each, count[each]}}' {LOG}"

PAIRS = [  # name, gpuhist, reference command, upper bound of the ratio
    ("many-frame zstd", f"{LETTERS} {LOG}.many.zst", f"pzstd -q -dc -p 2 {LOG}.many.zst", 0.97),
    ("one-frame zstd", f"{LETTERS} {LOG}.zst", f"zstd -q -dc {LOG}.zst", 0.60),
    ("gzip", f"{LETTERS} {LOG}.gz", f"gzip -dc {LOG}.gz", 0.30),
    ("file", f"{LETTERS} {LOG}", f"wc -l {LOG}", 0.70),
    ("pipe", f"cat {LOG} | {LETTERS}", f"cat {LOG} | wc -c", 0.90),
    ("16 one-frame zstd", f"{LETTERS} {PARTS}", f"zstd -q -dc {PARTS}", 0.57),
    ("bytes, many-frame", f"{BYTES} {LOG}.many.zst", f"{LETTERS} {LOG}.many.zst", 1.25),
    ("bytes, one-frame", f"{BYTES} {LOG}.zst", f"{LETTERS} {LOG}.zst", 1.25),
    ("bytes, 16 files", f"{BYTES} {PARTS}", f"{LETTERS} {PARTS}", 1.25),
    ("3 --match, file", f"{MATCHES} {LOG}", SEARCHES, 0.60),
    ("3 --match, one rg", f"{MATCHES} {LOG}", f"rg -c '{EXPRESSIONS[2]}' {LOG}", 1.10),
    ("3 --match, zstd", f"{MATCHES} {LOG}.zst", f"zstd -q -dc {LOG}.zst | rg -c '{EXPRESSIONS[2]}'", 0.70),
    ("--event-time", MINUTES, MINUTES_BY_AWK, 0.10),
    ("--group-by field", f"{GPUHIST} --engine host --group-by field:2 {LOG}", f"mawk '{{print $2}}' {LOG} | sort | uniq -c", 0.15),
]


def seconds(command):
    return seconds_of(Pipeline([["sh", "-c", command]]))


def peak_mib(command):
    """Returns the peak resident memory of gpuhist in a command of one or two stages. It is an upper bound: the system
    also counts the memory that this process had when it started gpuhist (about 14 MiB)."""
    *writer, counting = command.split(" | ")
    feeding = subprocess.Popen(writer[0].split(), stdout=subprocess.PIPE) if writer else None
    process = subprocess.Popen(counting.split(), stdin=feeding.stdout if feeding else None, stdout=subprocess.DEVNULL)
    if feeding:
        feeding.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if feeding:
        feeding.wait()
    if process.returncode:
        sys.exit(f"{counting}: exit status {process.returncode}")
    return usage.ru_maxrss / 1024


def is_installed(command):
    return all(shutil.which(tool) for tool in ("rg", "mawk") if tool in command.split())


def medians(first, second):
    times = [(seconds(first), seconds(second)) for _ in range(RUNS)]
    return [statistics.median(column) for column in zip(*times)]


def short(command):
    return command.replace(PARTS, f"{LOG}.*.zst").replace(os.path.dirname(LOG) + "/", "").replace(GPUHIST, "gpuhist")


def main():
    print(f"{LOG}: {os.path.getsize(LOG) / 2**30:.3g} GiB, {os.cpu_count()} cores, medians of {RUNS} alternating runs, warm cache")
    print(f"{'input':<18} {'gpuhist s':>10} {'ref. s':>8} {'ratio':>6} {'target':>7} {'peak MiB':>9}   commands")
    for name, ours, reference, target in PAIRS:
        if not is_installed(reference):
            print(f"{name:<18} left out: rg and mawk are not installed")
            continue
        seconds(ours), seconds(reference)
        our_median, reference_median = medians(ours, reference)
        ratio = our_median / reference_median
        print(f"{name:<18} {our_median:>10.3f} {reference_median:>8.3f} {ratio:>6.2f} {target:>7.2f} {peak_mib(ours):>9.1f}   {short(ours)}  :  {short(reference)}", flush=True)
    start_up = statistics.median(seconds(f"printf abc | {GPUHIST} --engine host") for _ in range(20)) * 1000
    shell = statistics.median(seconds("printf abc | cat") for _ in range(20)) * 1000
    print(f"start-up: {start_up:.1f} ms for 'printf abc | gpuhist', of which the shell, pipe and process take {shell:.1f} ms")


if __name__ == "__main__":
    main()
