"""The resident memory of a run, as the kernel measures it, is below --memory-limit, whatever is counted and how."""

import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import unittest
import zipfile

from support import ENGINE, GPUHIST, PATIENCE, SAMPLE, SANITIZED, CommandTest, main, run, sampled, text, zstd

MIB = 1 << 20
MANY = 5_000 if SAMPLE else 40_000

# A process that is started has the peak of the process that starts it: this one is small.
MEASURED = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print("peak", used.ru_maxrss * 1024, "status", os.waitstatus_to_exitcode(status), file=sys.stderr)
"""


def tar_of(number, body=bytes(range(256)), name="{:08d}"):
    """Written by hand: tarfile takes minutes for a million members."""
    head = tarfile.TarInfo("0")
    head.size = len(body)
    made = io.BytesIO()
    padded = body + bytes(-len(body) % 512)
    for i in range(number):
        head.name = name.format(i)
        made.write(head.tobuf(tarfile.GNU_FORMAT) + padded)
    return made.getvalue() + bytes(1024)


def zip_of(number):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for i in range(number):
            archive.writestr(zipfile.ZipInfo(f"{i:08d}"), b"caption %d\n" % i)
    return made.getvalue()


class MemoryLimit(CommandTest):
    def peak(self, *arguments):
        command = [sys.executable, "-S", "-c", MEASURED, GPUHIST, *map(str, arguments)]
        environment = os.environ | {"GPUHIST_ENGINE": ENGINE}
        ended = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=5 * PATIENCE)
        lines = ended.stderr.splitlines()
        _, peak, _, status = lines[-1].split()
        self.assertEqual(int(status), 0, "\n".join(lines[:5]))
        return int(peak)

    def assert_within(self, limits, *arguments):
        for limit in limits:
            with self.subTest(arguments=arguments, limit=limit):
                self.assertLess(self.peak(*arguments, "--memory-limit", f"{limit}MiB", "-q"), limit * MIB)

    def archives(self):
        members = tar_of(MANY)
        return {
            # so many that their counts exceed the limit unless they are spilled
            "one frame": self.file("members.tar.zst", zstd(tar_of(40_000))),
            "one gzip member": self.file("members.tar.gz", gzip.compress(members, 1)),
            "xz": self.file("members.tar.xz", lzma.compress(members, preset=0)),
            "no verdict": self.file("members.tar", members),
            "own checksums": self.file("members.zip", zip_of(MANY)),
            "an archive in a frame": self.file("inner.tar.zst", zstd(tar_of(1, members, "inner.tar"))),
            "long names": self.file("names.tar.zst", zstd(tar_of(MANY // 8, b"x", "{:08d}" + 90 * "/directory"))),
            "empty members": self.file("empty.tar.zst", zstd(tar_of(MANY, b""))),
        }

    @unittest.skipIf(SANITIZED or ENGINE != "host", "sanitizers and CUDA have memory of their own")
    def test_members_of_archives(self):
        options = ((), ("--pairs", "-b", "letters"), ("-b", "bytes"), ("--measures", "all", "--format", "json", "-o", os.devnull))
        for kind, path in self.archives().items():
            for chosen in sampled(options, 2):
                with self.subTest(kind=kind):
                    self.assert_within((64, 256), path, *chosen)

    @unittest.skipIf(SANITIZED or ENGINE != "host", "sanitizers and CUDA have memory of their own")
    def test_units_windows_snapshots_and_other_formats(self):
        lines = self.file("lines.log.zst", zstd(30 * text(MIB)))
        long_line = self.file("long", b"x" * (40 * MIB))
        waiting = self.archives()["one frame"]
        for arguments in (
            (lines, "--each", "line", "--where", "digit > 0.2", "-o", os.devnull),
            (lines, "--window", "64KiB", "--pairs", "-b", "letters", "-o", os.devnull),
            (lines, lines, lines, lines),
            (long_line, "--each", "line", "--top", "5:bytes"),
            (waiting, "--each", "line", "--where", "bytes > 3", "-o", os.devnull),
            (waiting, "--snapshot-every", "1MiB", "--format", "jsonl", "-o", os.devnull),
        ):
            self.assert_within((64, 256), *arguments)
        self.assert_within((64, 256), "filter", "--keep-if", "bytes > 3", waiting)

    def test_members_are_counted_whatever_the_number_of_archives(self):
        """The limit of members once counted those of all archives of a run, also of those without a verdict to wait for."""
        shard = self.file("shard.tar", tar_of(10_000, b"caption\n"))
        zipped = self.file("shard.zip", zip_of(10_000))
        named = 7
        self.assertGreater(20_000 * named, (48 * MIB) // 4 // 96)  # may wait at the same time
        ended = run("--measures", "entropy", "--format", "json", "--totals-only", "--memory-limit", "48MiB", *named * [shard, zipped])
        self.assertEqual((ended.status, ended.stderr), (0, ""))
        self.assertEqual(ended.result["lines"], 20_000 * named)

    @unittest.skipIf(SANITIZED, "takes minutes")
    def test_a_limit_that_members_exceed_while_they_wait_is_named(self):
        """A quarter of the limit, for members of 96 bytes."""
        most = (40 * MIB) // 4 // 96
        path = self.file("members.tar.zst", zstd(tar_of(most + 1000, b"")))
        ended = run("--format", "json", "-T", "1", "--memory-limit", "40MiB", path)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"more than {most} members wait until the frame around them is verified", ended.stderr)
        self.assertIn("give a higher --memory-limit", ended.stderr)
        self.assertEqual(run("-q", "--memory-limit", "80MiB", path).status, 0)


if __name__ == "__main__":
    main()
