"""zstd: the text in all kinds of archives and frames is counted exactly."""

import itertools
import json
import re
import shutil
import struct
import subprocess
import unittest

from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, SANITIZED, CommandTest, main, noise, run, run_byte_by_byte, tar, text, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


def skippable(payload, kind=0):
    return struct.pack("<II", 0x184D2A50 + kind, len(payload)) + payload


class Archives(CommandTest):
    def assert_archive_counted(self, encoded, data, *options):
        """The archive is counted under its name and from a pipe."""
        path = self.file("data.zst", encoded)
        for ended in (run(*JSON, *options, path), run(*JSON, *options, stdin_bytes=encoded)):
            self.assert_decoded(ended, data, "zstd", len(encoded))

    def test_archives_of_all_levels_checksums_and_content_sizes_are_counted_exactly(self):
        data = text(700_000)
        sized = self.file("sized", data)
        for options in (["-1"], ["-19"], ["--no-check"], ["--fast=5"]):
            with self.subTest(options=options):
                self.assert_archive_counted(zstd(data, *options), data)
                written = subprocess.run(["zstd", "-q", "-c", *options, str(sized)], stdout=subprocess.PIPE, check=True)
                self.assert_archive_counted(written.stdout, data)

    def test_skippable_frames_hold_no_text(self):
        data = text(50_000)
        encoded = skippable(b"index") + zstd(data[:20_000]) + skippable(b"", 15) + skippable(noise(300_000), 7) + zstd(data[20_000:])
        self.assert_archive_counted(encoded, data)
        self.assert_archive_counted(encoded + skippable(b"seek table", 14), data)
        self.assert_archive_counted(skippable(b"nothing else"), b"")

    def test_windows_larger_than_a_slot_are_decoded(self):
        data = noise(3_000_000) + text(1_000_000) + noise(3_000_000)
        self.assert_archive_counted(zstd(data, "--long=24", "-3"), data, "--chunk-size", "64KiB", "--slots", "2")
        self.assert_archive_counted(zstd(data[:1_500_000], "--ultra", "-22"), data[:1_500_000], "--chunk-size", "5000")

    def test_the_window_of_long_27_is_decoded(self):
        data = text(600_000)
        self.assert_archive_counted(zstd(data, "--long=27"), data)

    def test_an_archive_that_arrives_byte_by_byte_is_counted_exactly(self):
        data = text(20_000)
        encoded = zstd(data[:10_000]) + skippable(b"between") + zstd(data[10_000:])
        self.assert_counted(run_byte_by_byte(encoded, *JSON), data)

    @unittest.skipIf(SANITIZED or ENGINE != "host", "a sanitizer or a device reserves more addresses than the limit")
    def test_if_memory_for_a_window_cannot_be_allocated_the_other_inputs_are_counted(self):
        encoded = zstd(bytes(140_000_000), "-1", "--long=27")
        paths = [self.file("wide.zst", encoded), self.file("data", b"hello")]
        command = f"ulimit -v 150000; exec {GPUHIST} --engine host --threads 1 --format json {paths[0]} {paths[1]}"
        ended = subprocess.run(["bash", "-c", command], capture_output=True, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn(b"wide.zst: not enough memory", ended.stderr)
        self.assertEqual(json.loads(ended.stdout)["bytes"], 5)

    def test_a_window_over_the_memory_limit_is_refused_with_the_option_that_raises_the_limit(self):
        encoded = zstd(text(100_000), "--long=27")
        ended = run(*JSON, "--memory-limit", "96MiB", self.file("wide.zst", encoded), self.file("data", b"hello"))
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("wide.zst", ended.stderr)
        self.assertRegex(ended.stderr, r"give --memory-limit \d+MiB or more, or --memory-limit none, at compressed offset 6")
        self.assertIs(ended.result["complete"], False)
        self.assert_counts(ended.result, b"hello")

    def run_anew(self, *arguments, engine):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "repacked").unlink(missing_ok=True)
        return run(*arguments, engine=engine)

    def test_the_memory_limit_that_a_message_names_is_sufficient(self):
        data = text(100_000)
        path = self.file("RC.zst", subprocess.run(["zstd", "-q", "--long=31", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout)
        out = self.folder / "out"
        for command in (
            ("-T", "1"), ("-T", "4"), ("-T", "64"), ("-T", "4", "--slots", "300"), ("-T", "3", "--pairs"), ("-T", "4", "--byte-counts", "--window", "64KiB"),
            ("-T", "4", "--each", "line", "--where", "bytes > 9000"), ("-T", "2", "--memory-limit", "256MiB"), ("-T", "7", "--slots", "60", "--memory-limit", "256MiB"),
            ("filter", "--keep-if", "bytes > 0", "-T", "2"), ("filter", "--skip-damage", "--keep-if", "bytes > 0", "-T", "4"),
            ("filter", "--keep-if", "bytes > 0", "-T", "4", "--output-dir", out, "--compress", "zstd:19"),
            ("filter", "--keep-if", "bytes > 0", "-T", "16", "--output-dir", out, "--compress", "zstd:19"), ("repack", "-T", "4", "-o", self.folder / "repacked"),
        ):
            with self.subTest(command=command):
                engine = None if command[0] in ("filter", "repack") else ENGINE
                refused = self.run_anew(*command, path, engine=engine)
                self.assertEqual(refused.status, 1)
                (named,) = re.findall(r"give --memory-limit (\d+MiB) or more, or --memory-limit none", refused.stderr)
                limited = [each for each in command if each not in ("--memory-limit", "256MiB")]
                for limit in (named, "none"):
                    ended = self.run_anew(*limited, "--memory-limit", limit, path, engine=engine)
                    self.assertEqual(ended.status, 0, ended)
        for options in ((), ("--no-memory-limit",), ("--memory-limit", "none", "--no-memory-limit")):
            self.assertEqual(run(*options, path).status, 1)
        self.assert_counted(run(*JSON, "--no-memory-limit", "--memory-limit", "none", path), data)
        self.assertIn("without a limit", run("--stats", "--memory-limit", "none", path).stderr)

    def test_large_windows_wait_for_each_other_under_the_memory_limit(self):
        data = text(3_000_000)
        encoded = b"".join(zstd(data[at : at + 500_000], "--long=27") for at in range(0, len(data), 500_000))
        # 128 MiB for each window, because the content size is unknown: room for one window, and four threads
        limits = ("--memory-limit", "220MiB", "-T", "4", "--slots", "16", "--chunk-size", "256KiB")
        self.assert_archive_counted(encoded, data, *limits)
        paths = [self.file(f"{number}.zst", encoded) for number in range(5)]
        self.assert_counted(run(*JSON, *limits, *paths), data * 5)


class Dictionaries(CommandTest):
    def setUp(self):
        super().setUp()
        for number in range(200):
            self.file(f"sample{number}", text(1500, number))
        self.dictionaries = [self.trained(range(0, 100), 4660), self.trained(range(100, 200), 77)]

    def trained(self, numbers, identity):
        path = self.folder / f"{identity}.dict"
        samples = [str(self.folder / f"sample{number}") for number in numbers]
        subprocess.run(
            ["zstd", "-q", "--train", *samples, "--maxdict=4096", f"--dictID={identity}", "-o", str(path)],
            check=True, stderr=subprocess.DEVNULL,
        )
        return path

    def test_frames_are_decoded_with_their_dictionary_or_without_one_if_they_name_none(self):
        data = text(20_000)
        encoded = zstd(data, "-D", str(self.dictionaries[0])) + zstd(data)
        path = self.file("a.zst", encoded)
        for ended in (
            run(*JSON, "--zstd-dictionary", self.dictionaries[0], path),
            run(*JSON, "--zstd-dictionary", self.dictionaries[0], stdin_bytes=encoded),
        ):
            self.assert_counted(ended, data * 2)

    def test_a_missing_dictionary_is_reported_by_its_number_and_the_other_inputs_are_counted(self):
        paths = [self.file("a.zst", zstd(text(20_000), "-D", str(self.dictionaries[0]))), self.file("b", b"hello")]
        ended = run(*JSON, *paths)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("a.zst: frame 1 needs dictionary 4660; give the file that holds it with --zstd-dictionary", ended.stderr)
        self.assert_counts(ended.result, b"hello")
        ended = run(*JSON, "--zstd-dictionary", self.dictionaries[1], *paths)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn(f"frame 1 needs dictionary 4660, but {self.dictionaries[1]} holds dictionary 77", ended.stderr)

    def own(self, payload):
        return skippable(payload, 0xD)

    def test_the_dictionary_in_the_first_frame_is_that_of_all_frames_after_it(self):
        dictionary = self.dictionaries[0]
        records = [self.folder / f"sample{number}" for number in range(200)]
        data = b"".join(each.read_bytes() for each in records)
        long = text(600_000)
        frames = {
            options: subprocess.run(["zstd", "-q", "-c", "-D", dictionary, *options, *records], stdout=subprocess.PIPE, check=True).stdout
            for options in ((), ("--no-check",), ("--no-dictID",), ("-19",))
        }
        payloads = (dictionary.read_bytes(), zstd(dictionary.read_bytes()), subprocess.run(["zstd", "-q", "-c", dictionary], stdout=subprocess.PIPE, check=True).stdout)
        for (options, encoded), payload in zip(frames.items(), itertools.cycle(payloads)):
            whole = self.own(payload) + encoded + skippable(b"more") + zstd(long, "-D", str(dictionary), *options)
            path = self.file("a.warc.zst", whole)
            self.assertEqual(subprocess.run(["zstd", "-dc", "-D", dictionary, path], stdout=subprocess.PIPE, check=True).stdout, data + long)
            for threads in ("1", "3"):
                for arguments in ((path,), ("--chunk-size", "999", path), ("--zstd-dictionary", path, path), ("--zstd-dictionary", self.dictionaries[1], path)):
                    with self.subTest(options=options, arguments=arguments, threads=threads):
                        self.assert_counted(run(*JSON, "-T", threads, *arguments), data + long)
                self.assert_counted(run(*JSON, "-T", threads, stdin_bytes=whole), data + long)
                filtered = run("filter", "--keep-if", "bytes > 0", "-T", threads, path, engine=None)
                self.assertEqual((filtered.status, filtered.stdout == data + long), (0, True))
        archive = self.file("a.tar", tar({"a.warc.zst": whole, "b.zst": whole}))
        self.assert_counted(run(*JSON, archive), (data + long) * 2)
        in_frames = self.file("a.tar.zst", self.own(payload) + b"".join(zstd(tar({"a": long})[at : at + 50_000], "-D", str(dictionary)) for at in range(0, 610_000, 50_000)))
        self.assert_counted(run(*JSON, in_frames), long)
        repacked = self.folder / "repacked.zst"
        self.assertEqual(run("repack", "-o", repacked, path, engine=None).status, 0)
        self.assertEqual(subprocess.run(["zstd", "-dcq", repacked], stdout=subprocess.PIPE, check=True).stdout, data + long)
        short = self.own(dictionary.read_bytes()) + zstd(text(3000), "-D", str(dictionary))
        self.assert_counted(run_byte_by_byte(short, *JSON), text(3000))

    def test_damage_among_frames_with_the_dictionary_of_the_first_frame_loses_only_its_frame(self):
        dictionary = self.dictionaries[0]
        parts = [text(100_000, number) for number in range(6)]
        frames = [zstd(each, "-D", str(dictionary), "--check") for each in parts]
        for hurt in ({0}, {2}, {5}, {1, 2}):
            for at in (-1, 5, 9):  # the checksum, the window, the size of a block
                damaged = [self.flipped(each, at) if number in hurt else each for number, each in enumerate(frames)]
                whole = self.own(dictionary.read_bytes()) + b"".join(damaged)
                expected = b"".join(each for number, each in enumerate(parts) if number not in hurt)
                for threads in ("1", "3"):
                    with self.subTest(hurt=hurt, at=at, threads=threads):
                        for ended in (run(*JSON, "--skip-damage", "-T", threads, self.file("a.zst", whole)), run(*JSON, "--skip-damage", "-T", threads, stdin_bytes=whole)):
                            self.assertEqual(ended.status, 1)
                            self.assert_counts(ended.result, expected)

    def flipped(self, encoded, at):
        changed = bytearray(encoded)
        changed[at] ^= 0x80
        return bytes(changed)

    def test_a_first_frame_without_a_usable_dictionary_is_named_if_frames_need_one(self):
        dictionary, data = self.dictionaries[0].read_bytes(), text(20_000)
        encoded = zstd(data, "-D", str(self.dictionaries[0]))
        packed = zstd(dictionary, "--check")
        for payload, cause in (
            (dictionary[:40], "frame 1 needs dictionary 4660, and that of the first frame is damaged; give the file"),
            (self.flipped(packed, -1), "frame 1 needs dictionary 4660, and that of the first frame is damaged; give the file"),
            (bytes(5_000_000), "frame 1 needs dictionary 4660, and that of the first frame is larger than 4 MiB; give the file"),
            (zstd(bytes(5_000_000)), "frame 1 needs dictionary 4660, and that of the first frame is larger than 4 MiB; give the file"),
            (self.dictionaries[1].read_bytes(), "frame 1 needs dictionary 4660, and the first frame holds dictionary 77; give the file"),
            (b"something else", "frame 1 needs dictionary 4660; give the file"),
        ):
            with self.subTest(cause=cause):
                path = self.file("a.zst", self.own(payload) + encoded)
                ended = run(*JSON, path)
                self.assertEqual(ended.status, 1)
                self.assertIn(cause, ended.stderr)
                self.assert_counted(run(*JSON, "--zstd-dictionary", self.dictionaries[0], path), data)
                self.assert_counted(run(*JSON, self.file("b.zst", self.own(payload) + zstd(data))), data)

    def test_a_file_that_is_not_a_dictionary_is_a_usage_error(self):
        cut = self.file("cut.dict", self.dictionaries[0].read_bytes()[:40])
        without = self.file("a.warc.zst", self.own(b"none") + zstd(b"text"))
        for path, why in ((self.folder / "none", "No such file"), (self.folder, "Is a directory"), (cut, "damaged"), (without, "first frame holds none")):
            ended = run(*JSON, "--zstd-dictionary", path, stdin_bytes=b"text")
            self.assertEqual(ended.status, 2, ended)
            self.assertIn("--zstd-dictionary", ended.stderr)
            self.assertIn(why, ended.stderr)


if __name__ == "__main__":
    main()
