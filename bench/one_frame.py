"""one_frame.py GPUHIST MAKE_LOG [--text SIZE] [--threads N,...] [--runs N]: zstd archives of one frame. For each level and
kind of text, `zstd -dc` is 1; prints for each number of threads the wall time, the processor time and the peak memory of
gpuhist (medians of alternating runs, archives in a temporary folder, warm). Archives are written with `zstd -T0`."""

import argparse
import base64
import os
import random
import statistics
import subprocess
import tempfile
import time

KINDS = {  # name: level and options, text
    "log, level 1": (["-1"], "log"),
    "log, level 3": (["-3"], "log"),
    "log, level 9": (["-9"], "log"),
    "log, level 19": (["-19"], "short log"),
    "log, --long=27": (["-3", "--long=27"], "log"),
    "JSON lines": (["-3"], "json"),
    "CJK": (["-3"], "cjk"),
    "base64": (["-3"], "base64"),
    "random bytes": (["-3"], "random"),
    "one letter": (["-3"], "letter"),
}


def json_lines(size):
    chosen = random.Random(1)
    lines = bytearray()
    while len(lines) < size // 4:
        lines += b'{"time":%d,"user":"u%05d","ok":%s,"value":%.3f,"tags":["a%d","b%d"]}\n' % (
            1_700_000_000 + len(lines) // 80, chosen.randrange(90_000), chosen.choice((b"true", b"false")),
            1000 * chosen.random(), chosen.randrange(50), chosen.randrange(9))
    return bytes(lines) * 4


def cjk_text(size):
    chosen = random.Random(2)
    words = ["".join(chr(0x4E00 + int(7 * chosen.paretovariate(0.6)) % 3000) for _ in range(chosen.randint(1, 4)))
             for _ in range(20_000)]
    text = "".join(chosen.choices(words, k=size // 48)).encode()
    return text * max(1, size // len(text))


def write_text(kind, size, path, make_log):
    with open(path, "wb") as out:
        if kind in ("log", "short log", "letter"):
            amount = size // 4 if kind == "short log" else size
            options = ["--kind", "one-letter"] if kind == "letter" else []
            subprocess.run([make_log, str(amount), *options], stdout=out, check=True)
        elif kind == "random":
            out.write(random.Random(3).randbytes(size // 4))
        elif kind == "base64":
            out.write(base64.b64encode(random.Random(4).randbytes(size // 4)))
        else:
            out.write({"json": json_lines, "cjk": cjk_text}[kind](size // 2))


def measured(command):
    """Wall time, processor time, and MiB at most, of which this process has about 14."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpuhist")
    parser.add_argument("make_log")
    parser.add_argument("--text", type=int, default=1 << 30)
    parser.add_argument("--threads", default=str(os.cpu_count()))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text, archive = f"{folder}/text", f"{folder}/text.zst"
        made = None
        for name, (options, kind) in KINDS.items():
            if given.only not in name:
                continue
            if made != kind:
                write_text(kind, given.text, text, given.make_log)
                made = kind
            subprocess.run(["zstd", "-q", "-f", "-T0", *options, text, "-o", archive], check=True)
            commands = {"zstd": ["zstd", "-dc", *(["--long=27"] if "--long=27" in options else []), archive]}
            for threads in given.threads.split(","):
                commands[threads] = [given.gpuhist, "--engine", "host", "--buckets", "letters", "-T", threads, archive]
            rows = {each: [] for each in commands}
            for _ in range(given.runs):
                for each, command in commands.items():
                    rows[each].append(measured(command))
            wall, busy, _ = (statistics.median(column) for column in zip(*rows.pop("zstd")))
            print(f"{name:15} zstd -dc {wall:.3f} s", *(
                f"| {threads} threads: {statistics.median(row[0] for row in found) / wall:.2f}, processor "
                f"{statistics.median(row[1] for row in found) / busy:.2f}, {max(row[2] for row in found):.0f} MiB"
                for threads, found in rows.items()), flush=True)


main()
