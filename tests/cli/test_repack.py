"""`gpuhist repack`: its archives can be read by any zstd and have the counts of the input, and a failed run leaves no
files."""

import gzip
import signal
import struct
import subprocess

from packers import FORMATS
from support import ALL_SCHEMES, GPUHIST, PATIENCE, CommandTest, Running, feed, file_size_limit, main, noise, run, text, unread, wait_until, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


def repack(*arguments, **options):
    return run("repack", *arguments, engine=None, **options)


def frames_by_table(archive):
    """The frames of an archive in the seekable format, found from its end: (frame, length of its text, checksum)."""
    count, descriptor, magic = struct.unpack("<IBI", archive[-9:])
    assert (descriptor, magic) == (0x80, 0x8F92EAB1)
    table = archive[-9 - 12 * count : -9]
    assert archive[-17 - 12 * count : -9 - 12 * count] == struct.pack("<II", 0x184D2A5E, 12 * count + 9)
    at = 0
    for packed, length, checksum in struct.iter_unpack("<III", table):
        yield archive[at : at + packed], length, checksum
        at += packed
    assert at == len(archive) - 17 - 12 * count


class Repacking(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.zst"

    def assert_nothing_left(self, *names):
        """The folder has the files of the test, and no others."""
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(names))

    def test_zstd_and_gpuhist_read_the_text_of_the_input(self):
        frame = 20_000
        for size in (0, 1, frame - 1, frame, frame + 1, 2 * frame, 500_000):
            for data in (text(size), noise(size)):
                with self.subTest(size=size):
                    ended = repack("--frame-size", str(frame), "-o", self.out, self.file("data", data))
                    self.assertEqual((ended.status, ended.stdout), (0, b""), ended)
                    self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), data)
                    self.assert_counted(run(*JSON, self.out), data)
                    self.out.unlink()

    def test_every_frame_can_be_decoded_alone_at_the_offset_size_and_checksum_of_the_table(self):
        data = text(300_000)
        repack("--frame-size", "64KiB", "-o", self.out, self.file("data", data))
        archive = self.out.read_bytes()
        at = 0
        for frame, length, checksum in frames_by_table(archive):
            self.assertEqual(FORMATS["zstd"].unpacked(frame), data[at : at + length])
            self.assertEqual(struct.unpack("<I", frame[-4:]), (checksum,))
            at += length
        self.assertEqual(at, len(data))
        listed = subprocess.run(["zstd", "-lv", self.out], capture_output=True, check=True).stdout.decode()
        for message in ("Zstandard Frames: 5", "Skippable Frames: 1", "(300000 B)", "Check: XXH64"):
            self.assertIn(message, listed)

    def test_levels_and_threads_do_not_change_the_text(self):
        data = text(400_000)
        path = self.file("data", data)
        sizes = []
        for level in ("1", "3", "19"):
            written = set()
            for threads in "125":
                ended = repack("--force", "--level", level, "-T", threads, "--frame-size", "100K", "-o", self.out, path)
                self.assertEqual(ended.status, 0, ended)
                written.add(self.out.read_bytes())
            self.assertEqual(len(written), 1)
            self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), data)
            sizes.append(self.out.stat().st_size)
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_text_archives_and_standard_input_are_written_in_the_order_given(self):
        first, second, third = text(100_000, 1), text(200_000, 2), text(3000, 3)
        paths = self.file("a.zst", zstd(first) + zstd(b"") + zstd(second)), "-", self.file("b", third)
        for piped in (second, zstd(second), gzip.compress(second), b""):
            with self.subTest(piped=len(piped)):
                ended = repack("--force", "--frame-size", "30000", "-o", self.out, *paths, stdin_bytes=piped)
                self.assertEqual(ended.status, 0, ended)
                self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), first + second + (second if piped else b"") + third)
        ended = repack("-o", self.folder / "piped", stdin_bytes=first)  # without FILE: standard input
        self.assertEqual(FORMATS["zstd"].unpacked((self.folder / "piped").read_bytes()), first)

    def test_the_format_of_an_input_is_decided_as_for_a_count(self):
        data = text(5000)
        lz4 = self.file("lz4", struct.pack("<II", 0x184D2A50, 3000) + bytes(3000) + FORMATS["lz4"].packed(data))
        for options in ({}, {"stdin_bytes": lz4.read_bytes()}):
            ended = repack("--force", "-o", self.out, *(() if options else (lz4,)), **options)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), data)
        ended = repack("--force", "-o", self.out, self.file("parquet", b"PAR1\0" + noise(2000)))
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("parquet: holds Parquet data, which gpuhist does not read", ended.stderr)

    def test_text_that_begins_as_a_format_does_is_read_however_slowly_it_arrives(self):
        data = b"LZIP is text, as its control characters show"
        with Running("repack", "--quiet", "-o", self.out, engine=None, stdin=subprocess.PIPE) as running:
            pipe = running.process.stdin.fileno()
            for at in range(len(data)):
                feed(running, [data[at : at + 1]])
                wait_until(lambda: unread(pipe) == 0)
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), data)

    def test_a_redirected_file_is_read_from_its_offset_to_its_end(self):
        path = self.file("data", b"before " + text(50_000))
        with open(path, "rb") as stream:
            stream.seek(7)
            ended = repack("-o", self.out, stdin=stream)
            self.assertEqual(stream.tell(), 50_007)  # style-ok
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(FORMATS["zstd"].unpacked(self.out.read_bytes()), text(50_000))

    def test_one_line_reports_sizes_frames_and_seconds_unless_quiet(self):
        path = self.file("data", text(300_000))
        message = repack("--frame-size", "64KiB", "-o", self.out, path).stderr
        self.assertRegex(message, r"^gpuhist: \S+out\.zst: 293 KiB of text in [\d.]+ KiB \([\d.]+ %\), 5 frames, verified; "
                               r"293 KiB read in [\d.e-]+ s\n$")
        self.assertEqual(repack("-q", "--force", "-o", self.out, path).stderr, "")

    def test_an_existing_output_is_not_overwritten(self):
        old = self.file("out.zst", b"old")
        ended = repack("-o", old, self.file("data", b"x"))
        self.assertEqual(ended.status, 2)
        self.assertIn(f"{old} already exists; give another name, or --force to replace it", ended.stderr)
        self.assertEqual(old.read_bytes(), b"old")
        self.assertEqual(repack("--force", "-o", old, self.folder / "data").status, 0)
        self.assertEqual(FORMATS["zstd"].unpacked(old.read_bytes()), b"x")
        self.assert_nothing_left("out.zst", "data")

    def test_an_impossible_output_is_an_error_before_anything_is_read(self):
        for wrong in (["-o", "/dev/full"], ["-o", "fd:1"], ["-o", "-"], [], ["-o", self.folder]):
            with self.subTest(wrong=wrong), Running("repack", *wrong, engine=None, stdin=subprocess.PIPE) as running:
                self.assert_usage_error(running.finish(), "gpuhist: --output: ")  # although its input stays open
        self.assertEqual(repack("-o", self.folder / "none" / "out", "/dev/null").status, 1)

    def test_a_descriptor_is_refused_as_the_output_also_if_it_is_a_regular_file(self):
        redirected, link = self.file("redirected", b"old"), self.folder / "link"
        link.symlink_to("/dev/stdout")
        for name in ("/dev/stdout", "/dev/fd/1", "fd:1", link):
            with self.subTest(name=name), open(redirected, "ab") as stdout:
                ended = repack("--force", "-o", name, self.file("data", b"x"), stdout=stdout)
                self.assertEqual((ended.status, redirected.read_bytes()), (2, b"old"), ended)
                self.assertIn(f"gpuhist: --output: {name} names a descriptor, ", ended.stderr)

    def test_a_damaged_or_incomplete_input_leaves_no_output(self):
        good = self.file("good", text(100_000))
        whole = zstd(text(400_000))
        broken = bytearray(whole)
        broken[len(whole) // 2] ^= 1
        for name, content, why in (("broken.zst", broken, "frame 1 is damaged"), ("short.zst", whole[:-1], "ends early"),
                                   ("binary.zst", b"te\0t", "does not hold zstd data")):
            bad = self.file(name, content)
            with self.subTest(name=name):
                ended = repack("--frame-size", "10K", "-o", self.out, good, bad)
                self.assertEqual(ended.status, 1, ended)
                self.assertIn(f"{bad}: ", ended.stderr)
                self.assertIn(why, ended.stderr)
                bad.unlink()
                self.assert_nothing_left("good")

    def test_a_full_disk_leaves_no_output(self):
        path = self.file("data", noise(2_000_000))
        command = [GPUHIST, "repack", "--frame-size", "100K", "-o", self.out, path]
        ended = subprocess.run(command, preexec_fn=file_size_limit(1_000_000), stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr.decode(), f"gpuhist: cannot write {self.out}: File too large\n")
        self.assert_nothing_left("data")

    def test_a_signal_leaves_no_output(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            arguments = ("repack", "--frame-size", "1K", "-o", self.out)
            with self.subTest(number=number), Running(*arguments, engine=None, stdin=subprocess.PIPE) as running:
                feed(running, [text(200_000)])
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                self.assertEqual(len(list(self.folder.iterdir())), 1)  # the temporary file exists
                running.process.send_signal(number)
                ended = running.finish()
                self.assertEqual(ended.status, -number, ended)
                self.assertEqual(ended.stderr, f"gpuhist: ended by {signal.Signals(number).name}: {self.out} was not written\n")
                self.assert_nothing_left()

    def test_a_signal_during_compression_leaves_no_output(self):
        path = self.file("data", text(6_000_000))
        arguments = ("repack", "--level", "22", "--frame-size", "300K", "-o", self.out, path)
        with Running(*arguments, engine=None) as running:
            wait_until(lambda: any(each.stat().st_size > 0 for each in self.folder.iterdir() if each != path))
            running.process.send_signal(signal.SIGTERM)
            self.assertEqual(running.finish().status, -signal.SIGTERM)
        self.assert_nothing_left("data")


if __name__ == "__main__":
    main()
