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


class Log:
    """One log under all of its names, until logrotate removes it."""

    def __init__(self):
        self.text, self.counted = b"", b""


class Writer:
    """Programs that append to their logs in a folder. `distinct`: only logs whose texts are not the beginning of others."""

    def __init__(self, folder, seed, keep, distinct):
        self.folder, self.chosen, self.keep, self.distinct, self.lines = folder, random.Random(seed), keep, distinct, 0
        self.logs, self.seen = {}, []  # by name: those that exist, the newest first; all that were counted

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
        self.logs.setdefault(name, [Log()])[0].text += data

    def rotated(self):
        for logs in self.logs.values():
            logs.insert(0, Log())
            del logs[self.keep + 1 :]

    def night(self):
        """Everything that was in a file on a night, as it was on the last one."""
        for log in sum(self.logs.values(), []):
            log.counted = log.text
            if log not in self.seen:
                self.seen.append(log)
        return [log.counted for log in self.seen]

    def write(self):
        amount = self.chosen.randrange
        self.append("app.log", self.unique(amount(3_000)))
        self.append("tiny.log", self.unique(amount(3)))
        self.append("empty.log", b"")
        self.append("seldom.log", self.unique(amount(2) * amount(2)))
        for name in ("one.log", "other.log"):  # with the same header
            self.append(name, self.unique(1 + amount(200)), HEADER)
        if self.distinct:
            return
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
    def rotate(self, writer, variant):
        folder, keep = writer.folder, writer.keep
        settings = folder.parent / f"{folder.name}.conf"
        logs = " ".join(str(folder / name) for name in writer.logs)
        settings.write_text(f"{logs} {{\n rotate {keep}\n {VARIANTS[variant]}\n}}\n")
        settings.chmod(0o644)
        rotated = subprocess.run([tool("logrotate"), "-f", "-s", f"{settings}.state", settings], stderr=subprocess.PIPE)
        self.assertEqual((rotated.returncode, rotated.stderr), (0, b""))
        writer.rotated()

    def count_nights(self, writers, rotations):
        """`writers`: with the variants of their settings. `rotations`: before each night."""
        for night, number in enumerate(rotations):
            for writer, _ in writers:
                writer.write()
            for _ in range(number):
                time.sleep(1.01)  # two names of dateext differ by a second
                for writer, variant in writers:
                    self.rotate(writer, variant)
                    writer.write()
            for writer, variant in writers:
                with self.subTest(variant=variant, keep=writer.keep, night=night):
                    out = writer.folder.parent / f"{writer.folder.name}.out"
                    texts = sorted(decoded(each) for each in writer.folder.rglob("*") if each.is_file())
                    self.assertTrue(texts == sorted(log.text for logs in writer.logs.values() for log in logs), "logrotate")
                    ended = self.night(writer.folder, out, *(["--new-only"] if night or writer.keep == 3 else []))
                    written = writer.night()
                    self.assert_counted(written, out, ended)
                    counted = {each["name"]: each["bytes"] for each in self.files(out)}
                    for path in writer.folder.rglob("*"):
                        if path.is_file():
                            self.assertEqual(counted.get(str(path)), len(decoded(path)), path)
                    again = self.night(writer.folder, out, "--new-only")
                    self.assertIn("0 new inputs", again.stderr)
                    self.assert_counted(written, out, again)

    def writers(self, settings, distinct):
        made = []
        for number, (variant, keep) in enumerate(settings):
            folder = self.folder / f"logs-{number}"
            folder.mkdir(mode=0o755)
            made.append((Writer(folder, number, keep, distinct), variant))
        return made

    def test_every_line_is_counted_once_over_many_nights(self):
        writers = self.writers([(variant, keep) for keep in (3, 30) for variant in VARIANTS], distinct=False)
        chosen = random.Random(5)
        self.count_nights(writers, [0, *(chosen.choice((0, 1, 1, 1, 2)) for _ in range(NIGHTS - 1))])

    def test_every_line_of_a_night_is_counted_once_if_other_nights_are_missed(self):
        keeps = [1 + number % 8 for number in range(len(VARIANTS))]
        writers = self.writers([*zip(VARIANTS, keeps), *((variant, 1) for variant in VARIANTS)], distinct=True)
        self.count_nights(writers, [0, 1, 3, 0, 2, 4, 1, 2])


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
        self.assertIn("1 to be read again", self.night(self.inputs, self.out, "--new-only").stderr)
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
        self.input("app.log.1.~1~", b"a numbered backup of the user\n")
        ended = self.night(self.inputs, self.out, "--new-only")
        self.assert_counted([*texts, b"a numbered backup of the user\n"], self.out, ended)
        self.assertIn("0 new inputs", self.night(self.inputs, self.out, "--new-only").stderr)
        self.night(self.inputs, self.out, "--new-only", "--drop-missing")
        self.assertEqual(self.results(), self.fresh())

    def test_logs_that_were_rotated_out_while_nights_were_missed_keep_their_counts(self):
        first, second, larger, smaller = text(9_000, 1), text(8_000, 2), text(20_000, 3), text(300, 4)
        cases = {  # texts by name: before, and after more rotations than the number of logs that are kept
            "only a numbered name": ({"app.log.1": first}, {"app.log.1": larger}),
            "with more bytes": ({"app.log": first, "app.log.1": second}, {"app.log": larger, "app.log.1": larger + smaller}),
            "with less bytes": ({"app.log": first, "app.log.1": second}, {"app.log": smaller, "app.log.1": smaller * 2}),
            "copied, compressed and emptied": ({"app.log": first, "app.log.1.gz": second}, {"app.log": b"", "app.log.1.gz": larger}),
            "a first rotated name": ({"app.log": first}, {"app.log": larger, "app.log.1.gz": smaller}),
            "dates": ({"app.log": first, "app.log-20260101": second}, {"app.log": larger, "app.log-20260104.gz": smaller}),
            "dates before the suffix": ({"app.log": first}, {"app.log": larger, "app-20260104.log": smaller}),
            "another folder": ({"app.log": first, "old/app.log.1": second}, {"app.log": larger, "old/app.log.1": smaller}),
        }
        for name, (before, after) in cases.items():
            with self.subTest(name):
                shutil.rmtree(self.out, ignore_errors=True)
                for files in (before, after):
                    shutil.rmtree(self.inputs)
                    for each, data in files.items():
                        self.input(each, gzip.compress(data) if each.endswith(".gz") else data)
                    ended = self.night(self.inputs, self.out, "--new-only")
                self.assert_counted([*before.values(), *after.values()], self.out, ended)

    def test_an_archive_beside_its_earlier_versions_is_counted_again_when_it_grows(self):
        self.input("backup.tar", tar({"one": text(100, 1)}))
        self.night(self.inputs, self.out, "--new-only")
        self.input("backup.tar", tar({"one": text(100, 1), "two": text(20_000, 2)}))
        self.input("backup.tar.1", tar({"three": text(300, 3)}))
        self.assertIn("1 new input, 1 with more bytes", self.night(self.inputs, self.out, "--new-only").stderr)
        self.assertEqual(self.results(), self.fresh())

    def test_copies_of_many_files_of_the_same_size_and_time_keep_the_counts_of_the_files(self):
        for arguments, copy in (((), shutil.copy2), (("--trust-names",), shutil.copy)):
            with self.subTest(arguments=arguments):
                shutil.rmtree(self.out, ignore_errors=True)
                shutil.rmtree(self.inputs)
                for number in range(200):
                    os.utime(self.input(f"first/{number}", b"line %d\n" % (1000 + number)), (1e6, 1e6))
                self.night(self.inputs, self.out, *arguments)
                shutil.copytree(self.inputs / "first", self.inputs / "second", copy_function=copy)
                shutil.rmtree(self.inputs / "first")
                self.assertIn("0 new inputs, 200 renamed", self.night(self.inputs, self.out, "--new-only", *arguments).stderr)
                self.assertEqual(self.results(), self.fresh())

    def test_copies_of_many_logs_with_the_same_header_are_counted_once(self):
        for number in range(200):
            self.input(f"first/{number}", HEADER + text(300 + number, number))
        self.night(self.inputs, self.out)
        shutil.copytree(self.inputs / "first", self.inputs / "second", copy_function=shutil.copyfile)
        shutil.rmtree(self.inputs / "first")
        for number in range(0, 200, 2):
            with (self.inputs / f"second/{number}").open("ab") as file:
                file.write(b"more\n")
        self.assertIn("0 new inputs", self.night(self.inputs, self.out, "--new-only").stderr)
        self.assertEqual(self.results(), self.fresh())

    def test_a_file_with_the_size_the_time_and_the_ends_of_another_one_is_counted_itself(self):
        ends = bytes(65536)
        for kind, arguments, expected in (("ends", (), b""), ("ends", ("--trust-names",), b""), ("full", (), b"aaaa" * 1000)):
            with self.subTest(kind=kind, arguments=arguments):
                shutil.rmtree(self.out, ignore_errors=True)
                shutil.rmtree(self.inputs)
                first = self.input("first", ends + b"aaaa" * 1000 + ends)
                os.utime(first, (0, 0))
                self.night(self.inputs, self.out, "--fingerprint", kind, *arguments)
                first.unlink()
                second = ends + b"1 2 " * 1000 + ends
                os.utime(self.input("second", second), (0, 0))
                ended = self.night(self.inputs, self.out, "--new-only", *arguments)
                first_stays = kind == "full"
                self.assert_counted([second, *([ends + expected + ends] if first_stays else [])], self.out, ended)

    def test_an_archive_that_is_renamed_and_extended_is_counted_once(self):
        for size in (2, 50_000):
            with self.subTest(size=size):
                shutil.rmtree(self.inputs)
                archive = self.input("first.tar", tar({"one": text(100, 3)}))
                self.night(self.inputs, self.out, "--new-only", "--drop-missing")
                archive.rename(archive.with_name("second.tar"))
                archive.with_name("second.tar").write_bytes(tar({"one": text(100, 3), "two": text(size)}))
                self.assertIn("0 new inputs", self.night(self.inputs, self.out, "--new-only").stderr)
                self.assertEqual(self.results(), self.fresh())

    def test_a_log_whose_rotated_file_is_too_young_keeps_its_counts_under_the_name_of_that_file(self):
        hour_ago = time.time() - 3600
        first, second, third = text(9_000, 1), text(30_000, 2), text(500, 3)
        for is_packed in (False, True):
            with self.subTest(is_packed=is_packed):
                shutil.rmtree(self.out, ignore_errors=True)
                shutil.rmtree(self.inputs)
                end = ".gz" if is_packed else ""
                log = self.input("app.log", first)
                os.utime(log, (hour_ago, hour_ago))
                self.night(self.inputs, self.out, "--min-age", "10m")
                log.unlink() if is_packed else log.rename(self.inputs / "app.log.1")
                rotated = self.input(f"app.log.1{end}", gzip.compress(first) if is_packed else first)
                os.utime(self.input("app.log", second), (hour_ago, hour_ago))
                for _ in range(2):
                    ended = self.night(self.inputs, self.out, "--new-only", "--min-age", "10m")
                    self.assert_counted([first, second], self.out, ended)
                self.assertEqual(self.names(), ["app.log", f"app.log.1{end}"])
                rotated.rename(self.inputs / f"app.log.2{end}")
                log.rename(self.inputs / "app.log.1")
                log.write_bytes(third)
                ended = self.night(self.inputs, self.out, "--new-only")
                self.assert_counted([first, second, third], self.out, ended)
                self.assertEqual(self.results(), self.fresh())

    def test_results_that_a_killed_run_has_left_under_temporary_names_are_no_inputs(self):
        self.input("x.log", b"abc\n")
        out = self.inputs / "out"
        out.mkdir()
        for arguments in ((), ("--new-only",)):
            (out / ".files.jsonl.gpuhist-000000").write_bytes(b"{}\n")
            (out / ".total.json.gpuhist-0a1b2c").write_bytes(b"{}\n")
            ended = self.night(self.inputs, out, *arguments)
            self.assert_counted([b"abc\n"], out, ended)

    def test_the_dry_run_complains_only_of_files_that_changed_without_growing(self):
        self.input("same", b"same\n")
        changed = self.input("changed", b"0123456789")
        self.night(self.inputs, self.out)
        changed.write_bytes(b"xyz")
        self.input("new", b"new\n")
        ended = self.night(self.inputs, self.out, "--new-only", "--dry-run")
        self.assertEqual([line.split(": ")[1].rsplit("/")[-1] for line in ended.stderr.splitlines() if "without growing" in line], ["changed"])


if __name__ == "__main__":
    main()
