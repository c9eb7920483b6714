"""The resident memory of a run, as the kernel measures it, is below --memory-limit, whatever is counted and how. --max-output: an
input with too much text is counted up to the limit, to the byte, whatever its format, the number of threads and the size of
chunks are."""

import gzip
import io
import lzma
import os
import random
import subprocess
import sys
import tarfile
import unittest
import zipfile

from packers import FORMATS, OF_MANY_PARTS, by, packed
from support import ENGINE, GPUHIST, PATIENCE, SAMPLE, SANITIZED, CommandTest, main, noise, oracle, run, sampled, text, zstd

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


IN_BLOCKS = {
    "xz": by("xz", "-c", "-T2", "--block-size=100KiB")(""),
    "bzip2": by("bzip2", "-1c")(""),
    "lz4": by("lz4", "-cq", "-BI", "-B4")(""),
    "gzip": FORMATS["gzip"].packers,
    "zstd": FORMATS["zstd"].packers,
}
RUNS = (("-T", "1"), ("-T", "4"), ("-T", "8", "--chunk-size", "1000"), ("-T", "8", "--utf8"))


def limited(limit, *arguments, **options):
    return run("--format", "json", "-b", "bytes", "--max-output", str(limit), *arguments, **options)


def of_input(ended):
    """What a run reports about its only input, without what options add."""
    reported = ended.result["inputs"][0]
    return {name: reported.get(name) for name in ("complete", "error", "compressed_bytes", "bytes", "buckets", "unverified")}


def unverified(ended):
    return of_input(ended)["unverified"]["bytes"] if of_input(ended)["unverified"] else 0


class MaxOutput(CommandTest):
    def setUp(self):
        super().setUp()
        chosen = random.Random(1)
        self.parts = [text(chosen.randrange(20_000, 200_000), i) for i in range(30)]
        self.text = b"".join(self.parts)
        half = len(b"".join(self.parts[:15]))
        self.limits = (1, half - 1, half, chosen.randrange(len(self.text)), len(self.text) - 1)

    def whole_parts(self, limit):
        ends = [sum(map(len, self.parts[:number])) for number in range(len(self.parts) + 1)]
        return max(end for end in ends if end <= limit)

    def assert_limited(self, ended, limit):
        """Frames that end before the limit are verified; what precedes the limit in the next frame is not."""
        verified = self.whole_parts(limit)
        self.assertEqual(ended.status, 1)
        self.assertIn("--max-output; given up in the frame at compressed offset", ended.stderr)
        self.assertEqual(ended.result["buckets"]["bytes"], oracle(self.text[:verified])["buckets"]["bytes"])
        self.assertEqual(unverified(ended), limit - verified)

    def assert_same_for_all(self, limit, path):
        """Returns one of the runs."""
        all_ended = [limited(limit, *options, path) for options in RUNS]
        for options, ended in zip(RUNS, all_ended):
            with self.subTest(limit=limit, path=path.name, options=options):
                self.assertEqual(of_input(ended), of_input(all_ended[0]))
        return all_ended[0]

    def test_frames_that_end_before_the_limit_are_verified_in_every_format(self):
        for form in sampled(OF_MANY_PARTS, 3):
            path = self.file(f"many{form.suffix}", b"".join(map(form.packed, self.parts)))
            for limit in self.limits:
                self.assert_limited(self.assert_same_for_all(limit, path), limit)
            self.assertEqual(limited(len(self.text), path).status, 0)

    def test_a_pipe_is_given_up_at_the_same_byte(self):
        for form in sampled(OF_MANY_PARTS, 3):
            encoded = b"".join(map(form.packed, self.parts))
            for limit in self.limits[::2]:
                with self.subTest(format=form.kind, limit=limit):
                    self.assert_limited(limited(limit, stdin_bytes=encoded), limit)

    def test_one_frame_of_many_blocks_is_given_up_as_by_one_thread(self):
        for kind, (pack, *_) in sampled(IN_BLOCKS.items(), 3):
            path = self.file(f"one{FORMATS[kind].suffix}", pack(self.text))
            for limit in self.limits:
                ended = self.assert_same_for_all(limit, path)
                self.assertEqual(ended.result["bytes"] + unverified(ended), limit)

    def test_damage_before_the_limit_is_reported_and_the_limit_is_not(self):
        frames = list(map(zstd, self.parts))
        hurt = bytearray(b"".join(frames))
        hurt[sum(map(len, frames[:5])) - 2] ^= 1  # the checksum of the fifth frame
        ended = self.assert_same_for_all(len(b"".join(self.parts[:7])), self.file("hurt.zst", bytes(hurt)))
        self.assertNotIn("--max-output", ended.stderr)
        self.assertEqual(ended.result["bytes"], len(b"".join(self.parts[:4])))

    def test_skipped_damage_and_the_limit_are_both_reported(self):
        frames = list(map(zstd, self.parts))
        hurt = bytearray(b"".join(frames))
        hurt[sum(map(len, frames[:5])) - 2] ^= 1
        path = self.file("hurt.zst", bytes(hurt))
        limit = len(b"".join(self.parts[:17])) + 5
        ended = [limited(limit, "--skip-damage", *options, path) for options in RUNS]
        for each in ended:
            self.assertEqual(of_input(each), of_input(ended[0]))
            self.assertEqual(each.result["bytes"], len(b"".join(self.parts[:17])) - len(self.parts[4]))

    def test_blocks_after_a_skipped_one_are_counted_up_to_the_limit(self):
        part = 1_000_000  # little of it compressed, so that several blocks are decoded when the limit is passed
        blocks = [bytes(part - 20_000) + noise(20_000, i) for i in range(16)]
        encoded = bytearray(packed(b"".join(blocks), "xz", "-0", "-c", "-T2", f"--block-size={part}"))
        damaged = len(encoded) * 5 // 32  # in the third block
        encoded[damaged : damaged + 50] = bytes(50)
        path = self.file("blocks.xz", bytes(encoded))
        ended = [limited(4_500_000, "--skip-damage", *options, path) for options in RUNS]
        for options, each in zip(RUNS, ended):
            with self.subTest(options=options):
                self.assertEqual(of_input(each), of_input(ended[0]))
                self.assertEqual((each.result["bytes"], each.result["bytes"] + unverified(each)), (3 * part, 4_500_000))


if __name__ == "__main__":
    main()
