"""`gpuhist batch --new-only` over logs that logrotate rotates between the nights, and over files that are renamed: every
line that was written is counted once."""

import bz2
import gzip
import json
import lzma
import random
import shutil
import subprocess
import time

from support import main, needs, noise, oracle, tar, text, tool, zstd
from test_batch_plan import PlanTest

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


class Nights(PlanTest):
    def night(self, folder, out, *arguments, status=0):
        return self.batch(folder, *arguments, out=out, status=status)

    def files(self, out):
        return [json.loads(line) for line in (out / "files.jsonl").read_bytes().splitlines()]

    def assert_counted(self, written, out, ended):
        total = json.loads((out / "total.json").read_bytes())
        expected = oracle(b"".join(written))
        self.assertEqual((total["bytes"], total["lines"], total["buckets"]["classes"], total["complete"]),
                         (expected["bytes"], expected["lines"], expected["buckets"]["classes"], True), (ended.stderr, self.files(out)))  # fmt: skip


@needs("logrotate")
class Logrotate(Nights):
    def rotate(self, folder, variant, keep):
        settings = folder.parent / f"{folder.name}.conf"
        settings.write_text(f"{folder}/*.log {{\n rotate {keep}\n {VARIANTS[variant]}\n}}\n")
        settings.chmod(0o644)
        rotated = subprocess.run([tool("logrotate"), "-f", "-s", f"{settings}.state", settings], stderr=subprocess.PIPE)
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


class Renamed(Nights):
    def names(self):
        return [each["name"].removeprefix(f"{self.inputs}/") for each in self.files(self.out)]

    def test_a_file_that_is_renamed_keeps_its_counts_and_so_do_the_members_of_an_archive(self):
        self.input("large", noise(3_000_000))
        self.input("small", b"abc\n")
        self.input("packed.zst", zstd(text(100_000)))
        self.input("members.tar", tar({"one": text(5_000, 2), "two": b"2\n"}))
        self.night(self.inputs, self.out)
        for path in list(self.inputs.iterdir()):
            path.rename(path.with_name(f"renamed-{path.name}"))
        ended = self.night(self.inputs, self.out, "--new-only")
        self.assertIn("0 new inputs, 4 renamed", ended.stderr)
        self.assertIn("4 of 4 inputs were counted by an earlier run", ended.stderr)
        self.assertEqual(self.results(), self.fresh())

    def test_a_log_that_begins_with_the_same_header_as_one_that_disappeared_is_another_log(self):
        for size, compressed in ((300, False), (30_000, False), (300, True), (30_000, True)):
            with self.subTest(size=size, compressed=compressed):
                shutil.rmtree(self.out, ignore_errors=True)
                shutil.rmtree(self.inputs)
                self.inputs.mkdir()
                first, second = HEADER + noise(size, 1), HEADER + noise(2 * size, 2)
                log = self.input("app.log", first)
                self.night(self.inputs, self.out)
                log.unlink()
                self.input("app.log.1.gz" if compressed else "app.log.1", gzip.compress(second) if compressed else second)
                ended = self.night(self.inputs, self.out, "--new-only")
                self.assertIn("1 new input, 1 disappeared", ended.stderr)
                self.assert_counted([first, second], self.out, ended)

    def test_the_manifest_of_an_earlier_version_gets_what_it_lacks(self):
        first = HEADER + noise(9_000)
        log, other = self.input("app.log", first), self.input("other", b"abc\n")
        self.batch("--manifest", self.plan(self.inputs))  # without the hashes of logs
        other.rename(self.inputs / "renamed")
        self.assertIn("1 renamed", self.night(self.inputs, self.out, "--new-only").stderr)
        with log.open("ab") as file:
            file.write(b"more\n")
        subprocess.run(["gzip", log], check=True)
        log.write_bytes(b"new\n")
        ended = self.night(self.inputs, self.out, "--new-only")
        self.assert_counted([first, b"more\n", b"abc\n", b"new\n"], self.out, ended)
        self.assertEqual(self.results(), self.fresh())

    def test_a_log_that_was_rotated_out_keeps_its_counts_under_a_name_that_no_file_has(self):
        texts = [text(2_000, number) for number in range(6)]
        log, rotated = self.inputs / "app.log", self.inputs / "app.log.1"
        for number, data in enumerate(texts):
            if number:
                log.rename(rotated)
            log.write_bytes(data)
            self.assert_counted(texts[: number + 1], self.out, self.night(self.inputs, self.out, "--new-only"))
        self.assertEqual(sorted(self.names()), ["app.log", "app.log.1", *(f"app.log.1.~{number}~" for number in range(1, 5))])
        self.night(self.inputs, self.out, "--new-only", "--drop-missing")
        self.assertEqual(self.results(), self.fresh())


if __name__ == "__main__":
    main()
