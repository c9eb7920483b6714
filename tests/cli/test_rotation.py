"""`gpuhist batch --new-only` over logs that logrotate rotates between the nights, and over files that are renamed: every
line that was written is counted once."""

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import subprocess
import time
import unittest

from support import SAMPLE, SANITIZED, main, noise, oracle, tar, text, zstd
from test_batch import BatchTest

NIGHTS = 7
HEADER = b"# settings of the program, which begin each of its logs\n" * 100  # 5.6 KB
VARIANTS = {
    "create": "create",
    "copytruncate": "copytruncate",
    "compress": "compress",
    "compress with xz": "compress\n compresscmd /usr/bin/xz\n compressext .xz",
    "compress with zstd": "compress\n compresscmd /usr/bin/zstd\n compressext .zst\n compressoptions --rm",
    "delaycompress": "compress\n delaycompress",
    "copytruncate and compress": "copytruncate\n compress",
    "copytruncate and delaycompress": "copytruncate\n compress\n delaycompress",
    "dateext": "dateext\n dateformat -%Y%m%d-%s",
    "dateext and compress": "dateext\n dateformat -%Y%m%d-%s\n compress",
    "dateext and delaycompress": "dateext\n dateformat .%Y%m%d-%s\n compress\n delaycompress",
    "dateext before the suffix": "dateext\n dateformat -%Y%m%d-%s\n extension .log\n compress\n delaycompress",
    "nocreate": "nocreate",
    "olddir": "olddir old\n createolddir 755 root root\n compress",
}


def decoded(path):
    opened = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}.get(path.suffix)
    if opened:
        with opened(path) as file:
            return file.read()
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    return path.read_bytes()


class Writer:
    """Programs that append to their logs in a folder. `written` has everything that was ever written."""

    def __init__(self, folder, seed):
        self.folder, self.chosen, self.written, self.lines = folder, random.Random(seed), [], 0

    def unique(self, number):
        """Lines of equal length, each with a number of its own: their classes of bytes do not differ."""
        self.lines += number
        return b"".join(b"2026-11-27T%08d GET /index.html 200\n" % (self.lines - each) for each in range(number))

    def append(self, name, data, header=b""):
        path = self.folder / name
        if header and (not path.exists() or path.stat().st_size == 0):
            data = header + data
        with path.open("ab") as file:
            file.write(data)
        self.written.append(data)

    def write(self):
        amount = self.chosen.randrange
        self.append("app.log", self.unique(amount(3_000)))
        self.append("tiny.log", self.unique(amount(3)))
        self.append("empty.log", b"")
        self.append("seldom.log", self.unique(amount(2) * amount(2)))
        for name in ("one.log", "other.log"):  # with the same header
            self.append(name, self.unique(1 + amount(200)), HEADER)
        self.append("columns.log", self.unique(amount(3)), b"time request status\n")
        self.append("alike.log", b"ok\n" * (500 * amount(9)))  # every text is the beginning of each longer one


class Nights(BatchTest):
    def night(self, folder, out, *arguments, status=0):
        return self.batch(folder, *arguments, out=out, status=status)

    def files(self, out):
        return [json.loads(line) for line in (out / "files.jsonl").read_bytes().splitlines()]

    def assert_counted(self, written, out, ended):
        total = json.loads((out / "total.json").read_bytes())
        expected = oracle(b"".join(written))
        self.assertEqual((total["bytes"], total["lines"], total["buckets"]["classes"], total["complete"]),
                         (expected["bytes"], expected["lines"], expected["buckets"]["classes"], True), (ended.stderr, self.files(out)))  # fmt: skip


@unittest.skipUnless(shutil.which("logrotate"), "needs logrotate")
class Logrotate(Nights):
    def rotate(self, folder, variant, keep):
        settings = folder.parent / f"{folder.name}.conf"
        settings.write_text(f"{folder}/*.log {{\n rotate {keep}\n {VARIANTS[variant]}\n}}\n")
        settings.chmod(0o644)
        rotated = subprocess.run(["logrotate", "-f", "-s", f"{settings}.state", settings], stderr=subprocess.PIPE)
        self.assertEqual((rotated.returncode, rotated.stderr), (0, b""))

    def test_every_line_is_counted_once_over_many_nights(self):
        variants = [(name, keep) for keep in (3, 30) for name in VARIANTS]
        writers, chosen = {}, random.Random(5)
        for number, each in enumerate(variants):
            folder = self.folder / f"logs-{number}"
            folder.mkdir(mode=0o755)
            writers[each] = Writer(folder, number)
        for night in range(NIGHTS):
            rotations = chosen.choice((0, 1, 1, 1, 2)) if night else 0
            time.sleep(1.01 * (rotations > 0))  # two names of dateext differ by a second
            for (variant, keep), writer in writers.items():
                with self.subTest(variant=variant, keep=keep, night=night):
                    out = writer.folder.parent / f"{writer.folder.name}.out"
                    writer.write()
                    for _ in range(rotations if "dateext" not in variant else min(rotations, 1)):
                        self.rotate(writer.folder, variant, keep)
                        writer.write()
                    ended = self.night(writer.folder, out, *(["--new-only"] if night or keep == 3 else []))
                    self.assert_counted(writer.written, out, ended)
                    counted = {each["name"]: each["bytes"] for each in self.files(out)}
                    for path in writer.folder.rglob("*"):
                        if path.is_file():
                            self.assertEqual(counted.get(str(path)), len(decoded(path)), path)
                    again = self.night(writer.folder, out, "--new-only")
                    self.assertIn("0 new inputs", again.stderr)
                    self.assert_counted(writer.written, out, again)


if __name__ == "__main__":
    main()
