"""archives.py GPUHIST GPUHIST_BENCH MAKE_LOG FOLDER: how close whole runs over compressed archives come to decompressing
them and nothing else, on all cores. An archive of many frames, 64 zstd files of one frame, 64 gzip files, each of 4 GiB of
log text, named four times; letters and bytes; every engine there is. Runs alternate, medians; `gpuhist-bench decompress`
over the same files says what the decoders alone do (the fastest of its repetitions), from memory. What is asked is 0.95."""

import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

FILES, FILE_BYTES, TIMES = 64, 64 << 20, 4


def make_archives(folder, gpuhist, make_log):
    plain = folder / "archives.log"
    if not plain.exists():
        with plain.open("wb") as out:
            subprocess.run([make_log, str(FILES * FILE_BYTES)], stdout=out, check=True)
    many = folder / "archives.many.zst"
    if not many.exists():
        subprocess.run([gpuhist, "repack", "-q", str(plain), "-o", str(many)], check=True)

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

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        zst = list(pool.map(lambda n: compress(n, "zst", ["zstd", "-q", "-c"]), range(FILES)))
        gz = list(pool.map(lambda n: compress(n, "gz", ["gzip", "-c"]), range(FILES)))
    return {"many frames": [many], f"{FILES} x .zst": zst, f"{FILES} x .gz": gz}


def decoders_alone(bench, files):
    command = [bench, "decompress", "--format", "json", "--threads", str(os.cpu_count()), "--repetitions", "5"]
    row = json.loads(subprocess.run([*command, *map(str, files)], stdout=subprocess.PIPE, check=True).stdout)
    return row["text_bytes"], row["seconds"]


def seconds(command):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def main():
    gpuhist, bench, make_log, folder = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    engines = ("host", "cuda", "auto") if os.path.exists("/dev/nvidiactl") else ("host",)
    print(f"{'archives':14}{'buckets':10}{'decoders alone':>15}" + "".join(f"{each:>16}" for each in engines))
    for name, files in make_archives(folder, gpuhist, make_log).items():
        text_bytes, alone = decoders_alone(bench, files)
        for scheme in ("letters", "bytes"):
            times = {engine: [] for engine in engines}
            for run in range(4):
                for engine in engines:
                    spent = seconds([gpuhist, "--engine", engine, "--buckets", scheme, *map(str, files * TIMES)])
                    if run:  # the first warms the caches
                        times[engine].append(spent)
            rate = text_bytes / alone
            row = f"{name:14}{scheme:10}{rate / 1e9:10.1f} GB/s"
            for engine in engines:
                its = text_bytes * TIMES / statistics.median(times[engine])
                row += f"{its / 1e9:9.1f} ({its / rate:.2f})"
            print(row, flush=True)


if __name__ == "__main__":
    main()
