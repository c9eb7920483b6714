"""Fuzzing: damaged compressed files and archives cause no crash, no hang, no memory beyond the limit, and no wrong count
that is reported as complete. Every truncation of a small file of each format, and flips of random bits: FLIPS over all
formats together (2000 by default). A run has many files, each an input of its own.

FLIPS=100000 python3 -B tests/cli/test_fuzz.py    also prints the slowest and the largest run of each format"""

import gzip
import os
import random
import subprocess
import time

from packers import OF_MANY_PARTS
from support import ENGINE, SANITIZED, CommandTest, Running, main, noise, oracle, tar, text, zipped, zstd

FLIPS = int(os.environ.get("FLIPS", "500" if SANITIZED else "2000"))
FILES_A_RUN = 400
MOST_MEMORY = 256 << 20  # of a run over many files, so the bound holds for each of them

CONTENTS = [text(700), noise(60), text(300, 3), b"", text(900, 4)]
MEMBERS = {f"m{number}": data for number, data in enumerate(CONTENTS)}
DATA = b"".join(CONTENTS)


def seven_zip(folder):
    for name, data in MEMBERS.items():
        (folder / name).write_bytes(data)
    subprocess.run(["7z", "a", "-bd", "x.7z", *MEMBERS], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return (folder / "x.7z").read_bytes()


ARCHIVES = {".tar.gz": lambda: gzip.compress(tar(MEMBERS)), ".tar.zst": lambda: zstd(tar(MEMBERS), "--check"), ".zip": lambda: zipped(MEMBERS)}


class Fuzz(CommandTest):
    def damaged_in(self, encoded, flips):
        """Writes all truncations of it, and this many bit flips, to files."""
        chosen = random.Random(len(encoded))
        for length in range(1, len(encoded), 1 if flips > 200 else 3):
            yield encoded[:length]
        for _ in range(flips):
            damaged = bytearray(encoded)
            for _ in range(chosen.choice((1, 1, 1, 2, 8))):
                damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
            yield bytes(damaged)

    def run_batch(self, suffix, batch):
        """One run over all these files. Returns the inputs of the result; checks memory and exit status."""
        names = []
        for number, data in enumerate(batch):
            names.append(str(self.file(f"{number:05}{suffix}", data)))
        listed = self.file("names", "\0".join(names).encode())
        begin = time.monotonic()
        with Running("--files-from", listed, "-0", "--format", "jsonl", "--buckets", "bytes", "-T", "2") as running:
            _, status, usage = os.wait4(running.process.pid, 0)
            running.process.returncode = os.waitstatus_to_exitcode(status)
            ended = running.finish()
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.largest = max(self.largest, usage.ru_maxrss << 10)
        self.assertIn(ended.status, (0, 1), ended)
        if not SANITIZED and ENGINE == "host":  # a context on a device takes 140 MiB by itself
            self.assertLess(usage.ru_maxrss << 10, MOST_MEMORY)
        *inputs, result = ended.documents
        self.assertEqual(result["kind"], "result")
        self.assertEqual(result["bytes"], sum(each["bytes"] for each in inputs))
        return inputs, result

    def run_all(self, suffix, encoded, flips, check):
        self.slowest, self.largest = 0, 0
        batch = []
        for data in self.damaged_in(encoded, flips):
            batch.append(data)
            if len(batch) == FILES_A_RUN:
                check(*self.run_batch(suffix, batch), len(batch))
                batch = []
        if batch:
            check(*self.run_batch(suffix, batch), len(batch))
        if "FLIPS" in os.environ:
            print(f"{suffix}: {flips} flips; the slowest run, of {FILES_A_RUN} files: {self.slowest:.1f} s, "
                  f"{self.largest / 2**20:.0f} MiB")

    def test_damaged_compressed_files_are_never_counted_wrong(self):
        expected = oracle(DATA)["buckets"]["bytes"]
        prefixes = {0: oracle(b"")["buckets"]["bytes"]}
        for number in range(1, len(CONTENTS) + 1):
            before = b"".join(CONTENTS[:number])
            prefixes[len(before)] = oracle(before)["buckets"]["bytes"]
        for form in OF_MANY_PARTS:

            def check(inputs, _, files):
                self.assertEqual(len(inputs), files)
                for reported in inputs:
                    # a file that was cut after a frame is valid; of a damaged file the frames before the damage count
                    self.assertEqual(reported["buckets"]["bytes"], prefixes.get(reported["bytes"]), reported)
                    if reported["complete"]:
                        self.assertNotIn("error", reported)

            with self.subTest(format=form.kind):
                self.run_all(form.suffix, b"".join(map(form.packed, CONTENTS)), FLIPS // 10, check)

    def test_damaged_archives_are_never_counted_wrong(self):
        known = {oracle(data)["bytes"]: oracle(data)["buckets"]["bytes"] for data in CONTENTS}
        for suffix, make in {**ARCHIVES, ".7z": lambda: seven_zip(self.folder)}.items():

            def check(inputs, result, files):
                reported = [[] for _ in range(files)]
                for each in inputs:
                    self.assertEqual(each["buckets"]["bytes"], known.get(each["bytes"]), each)
                    reported[int(os.path.relpath(each["name"], self.folder)[:5])].append(each)
                lost = [each for each in reported if all(part["complete"] for part in each) and
                        sorted(part["bytes"] for part in each) != sorted(map(len, CONTENTS))]
                # no checksum covers the kind of a zip member: such a member is listed as skipped
                self.assertLessEqual(len(lost), sum(result.get("skipped_by_cause", {}).values()), lost)

            with self.subTest(suffix=suffix):
                if suffix == ".7z":
                    self.require("7z")
                self.run_all(suffix, make(), FLIPS // 10, check)


if __name__ == "__main__":
    main()
