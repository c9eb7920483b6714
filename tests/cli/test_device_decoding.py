"""zstd frames and gzip members that a device decodes, over a fake CUDA runtime (tests/support/command_runtime.cpp): reports, messages and
exit status are those of the host, whatever the archives, the damage, the options and the failures of the device."""

import base64
import functools
import gzip
import itertools
import json
import os
import random
import re
import signal
import struct
import subprocess
import time
import unittest
import zlib

from packers import BGZF_END, bgzf, bgzf_block, member, with_header_checksum
from support import (ALL_SCHEMES, CALL_FAILED, ENGINE, SAMPLE, SANITIZED, CommandTest, Running, calls_of_device, evenly, feed, main,
                     noise, oracle, run, sampled, text, unread, wait_until, zstd)

JSON = ("--format", "json", *ALL_SCHEMES)
SAME_CUTS = ("-T", "2", "--chunk-size", "256KiB", "--slots", "4")  # how damaged frames are cut must not differ
MEMORY = ("--device-memory", "64MiB")  # the fake device fills the memory of its decoder
DEVICE = ("--device-decode", "on", *MEMORY)
AT_EXIT = "fake CUDA: called at exit"
RUN = re.compile(rb'"run":"[0-9a-f]{16}",')
MOST_CALLS = 2000  # more than a run here makes
GROUP = 1 << 20  # compressed bytes
FEWER = 10 if SAMPLE else 4 if SANITIZED else 1


def frames(data, size, *options):
    """Frames with content size: the decoder of the device has room for just their text."""
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    return b"".join(zstd(part, f"--stream-size={len(part)}", *options) for part in parts)


def skippable(payload, kind=0):
    return struct.pack("<II", 0x184D2A50 + kind, len(payload)) + payload


def flipped(encoded, place):
    damaged = bytearray(encoded)
    damaged[place] ^= 1 << place % 8
    return bytes(damaged)


def on_device(*arguments, **options):
    return run(*JSON, *SAME_CUTS, *DEVICE, *arguments, engine="cuda", **options)


def on_host(*arguments, **options):
    return run(*JSON, *SAME_CUTS, *arguments, engine="host", **options)


def decoded_in(ended):
    """What the statistics say of the decoder of the device; None: it did not start."""
    return ended.result["stats"]["engine"].get("decoded_on_device")


class SameResults(CommandTest):
    def assert_same(self, *arguments, **options):
        """Standard output, messages and exit status equal those of the host. Returns the run over the device."""
        device, host = on_device(*arguments, **options), on_host(*arguments, **options)
        self.assertEqual((device.status, device.stderr), (host.status, host.stderr))
        self.assertEqual(device.stdout, host.stdout)
        return device

    def assert_decoded(self, encoded, data, *options):
        """The text of the archive, in a file and from a pipe, is counted as by the host; the file by the device."""
        path = self.file("archive.gz" if encoded[0] == 0x1F else "archive.zst", encoded)
        self.assert_counted(self.assert_same(*options, path), data)
        self.assert_same(*options, stdin_bytes=encoded)
        ended = on_device("--stats", *options, path)
        self.assert_counts(ended.result, data)
        self.assertEqual(decoded_in(ended)["text_bytes"], len(data))
        self.assertEqual(decoded_in(ended)["rejected_groups"], 0)


class Archives(SameResults):
    def test_one_frame_and_many(self):
        data = text(700_000)
        for size in (700_000, 100_000, 3000):
            with self.subTest(size=size):
                self.assert_decoded(frames(data, size), data)

    def test_many_groups_of_frames(self):
        data = noise(5_000_000) + text(1_000_000)
        encoded = frames(data, 130_000)
        self.assertGreater(len(encoded), 4 * GROUP)
        self.assert_decoded(encoded, data)
        ended = on_device("--stats", self.file("many.zst", encoded))
        self.assertGreater(decoded_in(ended)["groups"], 3)
        self.assertEqual(decoded_in(ended)["frames"], 47)

    def test_levels_checksums_and_content_sizes(self):
        data = text(400_000) + noise(20_000) + bytes(300_000)
        sized = self.file("sized", data)
        for options in sampled((("-1",), ("-3",), ("-19",), ("--fast=5",), ("--no-check",)), 3):
            with self.subTest(options=options):
                self.assert_decoded(zstd(data, *options), data)  # without content size
                written = subprocess.run(["zstd", "-q", "-c", *options, str(sized)], stdout=subprocess.PIPE, check=True)
                self.assert_decoded(written.stdout, data)

    def test_skippable_and_empty_frames(self):
        data = text(50_000)
        first, second = zstd(data[:20_000]), zstd(data[20_000:])
        self.assert_decoded(skippable(b"index") + first + skippable(b"", 15) + zstd(b"") + second + skippable(b"end", 14), data)
        self.assert_same(self.file("nothing.zst", skippable(noise(1000))))
        self.assert_same(self.file("empty frames.zst", zstd(b"") * 3))

    def test_tiny_inputs(self):
        for content in (b"", b"x", b"\x28", zstd(b""), zstd(b"x"), zstd(b"x")[:-1]):
            for name in ("tiny.zst", "tiny"):
                with self.subTest(content=content, name=name):
                    self.assert_same(self.file(name, content))
            self.assert_same(stdin_bytes=content)

    def test_several_files_and_formats(self):
        contents = [text(40_000 * number, number + 1) for number in range(1, 8)]
        paths = [
            self.file(f"{number}.zst", frames(content, 60_000)) if number % 3 else self.file(f"{number}.log", content)
            for number, content in enumerate(contents)
        ]
        paths.insert(3, self.file("damaged.zst", flipped(zstd(text(30_000)), 3000)))
        self.assert_same(*paths)
        del paths[3]
        self.assert_counted(self.assert_same(*paths), b"".join(contents))

    def test_many_small_files(self):
        contents = [text(900, number) for number in range(250)]
        paths = [self.file(f"{number}.zst", zstd(content)) for number, content in enumerate(contents)]
        self.assert_counted(self.assert_same(*paths), b"".join(contents))

    def test_a_frame_larger_than_the_share_of_a_group_is_decoded_by_the_host(self):
        data = noise(7_500_000)
        path = self.file("large.zst", zstd(data[:7_000_000]) + zstd(data[7_000_000:]))
        ended = on_device("--stats", "--memory-limit", "384MiB", path)
        self.assert_counted(ended, data)
        self.assertEqual(decoded_in(ended)["text_bytes"], 500_000)
        self.assert_same("--memory-limit", "384MiB", path)

    def test_windows_that_the_device_does_not_decode(self):
        data = noise(300_000) * 2
        for options in (("--long=27",), ("--ultra", "--long=28")):
            with self.subTest(options=options):
                self.assert_same("--memory-limit", "2GiB", self.file("wide.zst", zstd(data, *options) + zstd(b"after")))


class Members(SameResults):
    """gzip is decoded by a device on request only."""

    def members(self, count=40):
        chosen = random.Random(12)
        texts = [(noise, text, text)[i % 3](chosen.choice((0, 1, 700, 5000, 60_000)), i) for i in range(count)]
        return texts, [
            (gzip.compress(each, 1), member(each, 8, b"record\0"), member(each), with_header_checksum(each))[i % 4]
            for i, each in enumerate(texts)
        ]

    def assert_same_windows(self, path, *options):
        device, host = on_device(*options, path), on_host(*options, path)
        self.assertEqual((device.status, device.stderr), (host.status, host.stderr))
        self.assertEqual(*(self.windows_of(ended) for ended in (device, host)))

    @staticmethod
    def windows_of(ended):
        """Without times, and whether they were verified when they were closed, which differ."""
        documents = (json.loads(line) for line in ended.stdout.splitlines() if b'"kind":"window"' in line)
        return [{key: each[key] for key in ("index", "bytes", "lines", "buckets", "first_offset", "end_offset")} for each in documents]

    def test_one_member_and_many(self):
        data = text(700_000)
        texts, packed = self.members()
        for encoded, plain in ((gzip.compress(data), data), (member(data, level=9), data), (b"".join(packed), b"".join(texts)),
                               (bgzf(data, 10_000), data), (gzip.compress(b""), b"")):  # fmt: skip
            self.assert_decoded(encoded, plain)

    def test_many_groups_of_members(self):
        data = noise(2_500_000) + text(1_000_000)
        encoded = b"".join(gzip.compress(data[at : at + 50_000]) for at in range(0, len(data), 50_000))
        self.assertGreater(len(encoded), 2 * GROUP)
        self.assert_decoded(encoded, data)
        ended = on_device("--stats", self.file("many.gz", encoded))
        self.assertEqual(decoded_in(ended)["frames"], 70)

    def test_windows_units_and_slices(self):
        texts, packed = self.members()
        path = self.file("members.gz", b"".join(packed))
        for window in ("100000", "2000lines"):
            self.assert_same_windows(path, "--window", window)
        for options in (("--each", "line", "--top", "5"), ("--skip-damage",)):
            with self.subTest(options=options):
                self.assert_same(*options, path)

    def test_what_the_device_leaves_to_the_host_is_decoded_in_parts(self):
        data = noise(3_000_000) + text(3_000_000) * 12
        path = self.file("stored.gz", gzip.compress(data, 1))
        for options in ((), ("--window", "1MiB"), ("--skip-damage",)):
            with self.subTest(options=options):
                ended = run(*JSON, "-T", "4", *DEVICE, "--stats", *options, path, engine="cuda")
                self.assert_counted(ended, data)
                self.assertRegex(ended.result["stats"]["decompression"], "up to [2-4] decoders at once")

    def test_members_that_are_lost_to_the_splitter_are_skipped_as_by_the_host(self):
        packed = [gzip.compress(text(150, number), 1) for number in range(2000)]
        packed[::10] = (each[:-4] + bytes([each[-4] ^ 1]) + each[-3:] for each in packed[::10])
        path = self.file("many.gz", b"".join(packed))
        for options in ((), ("--max-output", "100KiB")):
            with self.subTest(options=options):
                self.assert_same("--skip-damage", *options, path)

    def test_gzip_and_zstd_together(self):
        texts, packed = self.members(12)
        paths = []
        for number, (each, encoded) in enumerate(zip(texts, packed)):
            paths += [self.file(f"{number}.gz", encoded), self.file(f"{number}.zst", zstd(each))]
        self.assert_counted(self.assert_same(*paths), b"".join(each + each for each in texts))

    def test_damage_is_reported_as_by_the_host(self):
        texts, packed = self.members()
        whole = b"".join(packed)
        chosen = random.Random(5)
        for _ in sampled(range(80), 12):
            place = chosen.randrange(len(whole))
            for encoded in (flipped(whole, place), whole[:place], whole[:place] + b"other data"):
                with self.subTest(place=place):
                    self.assert_same(self.file("damaged.gz", encoded))

    def test_bgzf_that_may_be_cut_has_the_notice_of_the_host(self):
        data = text(200_000)
        for encoded in (bgzf(data), bgzf(data)[: -len(BGZF_END)]):
            ended = self.assert_same(self.file("blocks.gz", encoded))
            self.assertEqual("empty block" in ended.stderr, not encoded.endswith(BGZF_END))

    def test_windows_of_blocks_whose_size_leads_over_the_next_one(self):
        data = [text(20_000, number) for number in range(300)]
        blocks = [bgzf_block(each) for each in data]
        for number in (40, 150):
            size = len(blocks[number]) + len(blocks[number + 1])
            blocks[number] = blocks[number][:16] + struct.pack("<H", size - 1) + blocks[number][18:]
        encoded = b"".join(blocks) + BGZF_END
        self.assertGreater(len(encoded), GROUP)
        for options in (("--window", "100KiB"), ("--window", "1000lines")):
            self.assert_same_windows(self.file("blocks.gz", encoded), *options)

    def test_the_numbers_of_members_after_an_end_that_is_not_found(self):
        """The last bytes of a block of 256 KiB look like a header; the next bytes are one."""
        data = noise(0x88B)  # the length in the trailer: 8B 08 00 00
        texts = (f"{i:8}".encode() + data[8:] for i in range(10_000_000))
        special = member(next(each for each in texts if 0x1F0000 <= zlib.crc32(each) >> 8 < 0x1F0020))
        end = 6 << 18  # in the second group
        packed = [member(noise(30_000, i)) for i in range(end // 30_100)]
        room = end - len(special) - len(b"".join(packed)) - len(member(b"text", 8, b"\0"))
        packed += [member(b"text", 8, b"n" * room + b"\0"), special]
        self.assertEqual(len(b"".join(packed)), end)
        packed += [member(noise(20_000, i), 8, b"name\0") for i in range(120)]
        damaged = packed[-1][:-8] + bytes([packed[-1][-8] ^ 1]) + packed[-1][-7:]
        ended = self.assert_same(self.file("members.gz", b"".join(packed[:-1]) + damaged))
        self.assertIn(f"member {len(packed)} is damaged", ended.stderr)

    def test_long_members_are_decoded_in_portions(self):
        """More than 512 KiB, where the host gives up the search for the next member."""
        long, other = (gzip.compress(base64.b64encode(noise(540_000, seed))) for seed in (1, 2))
        self.assertGreater(len(long), 512 << 10)
        small = gzip.compress(text(30_000))
        for packed in ([long], [small, other, small], [long, other]):
            with self.subTest(members=len(packed)):
                encoded = b"".join(packed)
                self.assert_decoded(encoded, gzip.decompress(encoded))
                ended = on_device("--stats", self.file("long.gz", encoded))
                self.assertEqual(decoded_in(ended)["frames"], len(packed))
        chosen = random.Random(6)
        whole = small + other + small
        for _ in sampled(range(40), 6):
            place = chosen.randrange(len(whole))
            for encoded in (flipped(whole, place), whole[:place], whole[:place] + small):
                with self.subTest(place=place):
                    self.assert_same(self.file("damaged.gz", encoded))

    def test_files_of_64_kib_are_decoded_by_the_device_without_a_request(self):
        for size, groups in ((90_000, 1), (20_000, 0)):
            with self.subTest(size=size):
                path = self.file("archive.gz", gzip.compress(base64.b64encode(noise(size, 3))))
                decoded = decoded_in(run(*JSON, *MEMORY, "--stats", path, engine="cuda"))
                self.assertEqual((decoded or {"groups": 0})["groups"], groups)


class Damage(SameResults):
    def setUp(self):
        super().setUp()
        self.data = text(30_000)
        self.encoded = zstd(self.data[:9000]) + skippable(b"between") + zstd(self.data[9000:20_000], "--no-check")
        self.encoded += zstd(self.data[20_000:])

    def test_truncated_at_any_place(self):
        for length in evenly(range(len(self.encoded)), 60 // FEWER):
            with self.subTest(length=length):
                self.assert_same(self.file("truncated.zst", self.encoded[:length]))

    def test_a_flipped_bit_at_any_place(self):
        for place in evenly(range(len(self.encoded)), 60 // FEWER):
            with self.subTest(place=place):
                self.assert_same(self.file("flipped.zst", flipped(self.encoded, place)))

    def test_damage_with_the_options_that_treat_it(self):
        for options in (("--skip-damage",), ("--count-unverified",), ("--skip-damage", "--count-unverified"), ("--fail-fast",)):
            for place in evenly(range(len(self.encoded)), 15 // FEWER):
                with self.subTest(options=options, place=place):
                    self.assert_same(*options, self.file("flipped.zst", flipped(self.encoded, place)))

    def test_a_damaged_frame_among_many_groups(self):
        data = noise(4_000_000)
        encoded = frames(data, 130_000)
        for place in evenly(range(100, len(encoded)), 2 if SAMPLE else 8):
            path = self.file("damaged.zst", flipped(encoded, place))
            for options in ((), ("--skip-damage",), ("--count-unverified",)):
                with self.subTest(place=place, options=options):
                    self.assert_same(*options, path)

    def test_frames_before_and_after_the_damage_are_decoded_by_the_device(self):
        data = noise(4_000_000)
        encoded = frames(data, 130_000)
        ended = on_device("--stats", "--skip-damage", self.file("damaged.zst", flipped(encoded, len(encoded) // 2)))
        self.assertEqual(ended.status, 1)
        self.assertEqual(len(ended.result["inputs"][0]["lost"]), 1)
        self.assertEqual(decoded_in(ended)["text_bytes"], 4_000_000 - 130_000)
        self.assertEqual(decoded_in(ended)["rejected_groups"], 1)
        self.assertIn("rejected, and decoded on the host",
                      run("--stats", *DEVICE, "--skip-damage", self.folder / "damaged.zst", engine="cuda").stderr)

    def test_other_data_between_and_after_frames(self):
        for junk in (b"x", b"\x28\xb5\x2f", noise(1000), noise(700_000), text(200_000)):
            for options in ((), ("--skip-damage",)):
                with self.subTest(junk=junk[:8], options=options):
                    path = self.file("junk.zst", self.encoded + junk + self.encoded + junk)
                    self.assert_same(*options, path)


class Options(SameResults):
    def test_max_output_within_a_group_and_at_its_end(self):
        data = text(900_000)
        path = self.file("bomb.zst", frames(data, 100_000))
        for most in (1, 99_999, 100_000, 450_000, 899_999):
            with self.subTest(most=most):
                device, host = (runner("--max-output", str(most), path) for runner in (on_device, on_host))
                self.assertEqual((device.status, host.status), (1, 1))
                self.assertIn("--max-output", device.stderr)
                self.assert_counts(device.result, data[: device.result["bytes"]])
        for most in (900_000, 900_001):
            self.assert_counted(self.assert_same("--max-output", str(most), path), data)

    def test_max_output_is_never_exceeded_by_groups_that_are_decoded_at_the_same_time(self):
        data = noise(6_000_000)
        path = self.file("many.zst", frames(data, 130_000))
        for most in evenly(range(1_000_000, 6_000_000, 1000), 12 // FEWER):
            with self.subTest(most=most):
                ended = on_device("-T", "4", "--max-output", str(most), path)
                self.assertEqual(ended.status, 1, ended)
                self.assertIn("--max-output", ended.stderr)
                self.assertLessEqual(ended.result["bytes"], most)
                self.assert_counts(ended.result, data[: ended.result["bytes"]])

    def test_memory_limits(self):
        data = noise(2_500_000)
        path = self.file("data.zst", frames(data, 100_000))
        for limit in ("48MiB", "64MiB", "96MiB", "200MiB", "3GiB"):
            with self.subTest(limit=limit):
                off = run(*JSON, "--memory-limit", limit, "--device-decode", "off", path, engine="cuda")
                on = run(*JSON, "--memory-limit", limit, *DEVICE, path, engine="cuda")
                self.assertEqual((on.status, on.stdout, on.stderr), (off.status, off.stdout, off.stderr))
        self.assert_counted(on, data)

    def test_where_frames_are_decoded_is_selected_and_reported(self):
        small, large = self.file("small.zst", zstd(text(9000))), self.file("large.zst", frames(noise(1_500_000), 100_000))
        cases = {("on", small): 9000, ("on", large): 1_500_000, ("auto", small): None, ("auto", large): 1_500_000,
                 ("off", small): None, ("off", large): None}
        for (mode, path), decoded in cases.items():
            with self.subTest(mode=mode, path=path.name):
                options = ("--device-decode", mode, *MEMORY, "--stats")
                ended = run(*JSON, *options, path, engine="cuda")
                self.assertEqual((ended.status, ended.stderr), (0, ""))
                reported = decoded_in(ended)
                self.assertEqual(reported and reported["text_bytes"], decoded)
                stages = [each["name"] for each in ended.result["stats"]["stages"]]
                self.assertEqual("decode on device" in stages, decoded is not None)
                printed = run(*options, path, engine="cuda").stderr
                self.assertEqual("on device   " in printed, decoded is not None)
                if decoded:
                    self.assertEqual(reported["compressed_bytes"], path.stat().st_size)
                    self.assertIn("on the device, in groups of frames", ended.result["stats"]["decompression"])

    def test_streams_are_decoded_by_the_device_only_on_request(self):
        data = noise(1_500_000)
        encoded = frames(data, 100_000)
        for mode, decoded in (("auto", None), ("on", len(data))):
            with self.subTest(mode=mode):
                ended = run(*JSON, "--stats", "--device-decode", mode, *MEMORY, stdin_bytes=encoded, engine="cuda")
                self.assert_counted(ended, data)
                self.assertEqual(decoded_in(ended) and decoded_in(ended)["text_bytes"], decoded)

    def test_the_host_engine_decodes_itself(self):
        path = self.file("data.zst", zstd(text(9000)))
        ended = run(*JSON, "--stats", *DEVICE, path, engine="host")
        self.assert_counted(ended, text(9000))
        self.assertIsNone(decoded_in(ended))

    def test_options_that_need_the_text_on_the_host(self):
        data = text(300_000)
        path = self.file("data.zst", frames(data, 50_000))
        dictionary = self.file("dictionary", text(5000, 9))
        with_dictionary = self.file("dictionary.zst", zstd(data, "-D", str(dictionary)))
        for options in (("--pairs", "--buckets", "letters", path), ("--zstd-dictionary", dictionary, with_dictionary)):
            with self.subTest(options=options):
                device = run("--format", "json", *DEVICE, *options, engine="cuda")
                host = run("--format", "json", *options, engine="host")
                self.assertEqual((device.status, device.stdout, device.stderr), (0, host.stdout, ""))
                self.assertIsNone(decoded_in(run("--format", "json", "--stats", *DEVICE, *options, engine="cuda")))
        for engine, more in (("cuda", DEVICE), ("host", ())):
            windows = run("--format", "jsonl", "--window", "100KiB", *more, path, engine=engine)
            self.assertEqual(windows.status, 0, windows)
            self.assertEqual(sum(each["bytes"] for each in windows.documents_of("window")), len(data))
            passed = run("--pass-through=text", "--format", "json", "--output", self.folder / "report", *more, path, engine=engine)
            self.assertEqual((passed.status, passed.stdout), (0, data), passed.stderr)

    def test_usage_errors(self):
        path = self.file("data.zst", zstd(b"x"))
        self.assert_usage_error(run("--device-decode", "maybe", path, engine="cuda"), "--device-decode", "maybe", "auto, on, off")
        self.assert_usage_error(run("--device-memory", "1MiB", path, engine="cuda"), "--device-memory", "1MiB", "64MiB")
        self.assert_usage_error(run("--device-memory", "much", path, engine="cuda"), "--device-memory")

    def test_a_device_with_little_memory_decodes_less_at_once(self):
        data = noise(3_000_000)
        path = self.file("data.zst", frames(data, 100_000))
        for memory in ("64MiB", "300MiB", "2GiB"):  # the device has 1 GiB
            with self.subTest(memory=memory):
                ended = run(*JSON, "--stats", "--device-decode", "on", "--device-memory", memory, path, engine="cuda")
                self.assert_counted(ended, data)
                self.assertEqual(decoded_in(ended)["text_bytes"], len(data))


class Units(SameResults):
    """A device measures units in pieces, and the host adds them up: reports are those of the host."""

    def assert_same_lines(self, *arguments):
        host, device = run(*arguments, engine="host"), run(*DEVICE, *arguments, engine="cuda")
        self.assertEqual((device.status, device.stderr), (host.status, host.stderr))
        self.assertEqual(self.lines_of(device), self.lines_of(host))
        return device

    def lines_of(self, ended):
        """The lines of each kind, in order: that of a damaged input may come before that of its last unit."""
        return sorted(RUN.sub(b"", ended.stdout).splitlines(), key=lambda line: json.loads(line)["kind"])

    def assert_units(self, encoded, data, *options, on_device=True):
        path = self.file("archive.zst", encoded)
        arguments = ("--format", "jsonl", *SAME_CUTS, *options, path)
        device = self.assert_same_lines(*arguments)
        decoded = decoded_in(run("--stats", *DEVICE, *arguments, engine="cuda"))
        self.assertEqual(decoded["text_bytes"] if decoded else None, len(data) if on_device else None)
        return device

    def test_lines_and_records_of_many_frames(self):
        data = text(400_000) + noise(30_000) + b"\n" * 5000 + bytes(300) + text(100_000) + b"1" * 90_000 + b" end"
        every = (
            ("--each", "line", "--where", "digit > 0.2"),
            ("--each", "line", "--where", "count(upper) > 3 && bytes < 100 || bytes == 1"),
            ("--each", "line", "--top", "7:lower", "--distribution-of", "punctuation"),
            ("--each", "record", "--where", "lines > 2"),
            ("--each", "record", "--delimiter", "e", "--where", "space > 0.3", "--ignore-case"),
        )
        encoded = functools.lru_cache(lambda size: frames(data, size))
        for size, options in sampled(itertools.product((600_000, 100_000, 16_384, 5000), every), 4):
            with self.subTest(size=size, options=options):
                self.assert_units(encoded(size), data, *options)

    def test_lines_with_strings_of_many_frames(self):
        chosen = random.Random(3)
        words = [b"ERROR", b"error", b"connection reset", b"con", b"nection ", b"reset", b"ti", b"meout", b"[500]", b" ", b"\r", b"\n", b"k\xc5\xbfx", b"x" * 40]
        data = b"".join(chosen.choices(words, k=60_000)) + b"x" * 90_000 + b"timeout" + b"x" * 30_000 + b"\n" * 3000 + b"ERROR at the end"
        typed = ("a=ERROR", "b=connection reset", "c=(?i)Timeout", r"d=x\[500\]", "e=(?i)ksX", "f=" + "x" * 200)
        options = [each for match in typed for each in ("--match", match)]
        lines = data.split(b"\n")
        fold = [each.replace(b"\xc5\xbf", b"s").lower() for each in lines]
        for size, more in sampled(itertools.product((600_000, 100_000, 16_384, 5000), ((), ("--match-first",), ("--match-ignore-case",))), 4):
            with self.subTest(size=size, more=more):
                ended = self.assert_units(frames(data, size), data, *options, *more)
                if more:
                    continue
                matches = next(each["matches"] for each in ended.documents if "matches" in each)
                self.assertEqual(matches["b"]["lines"], sum(b"connection reset" in each for each in lines))
                self.assertEqual(matches["c"]["lines"], sum(b"timeout" in each for each in fold))
                self.assertEqual(matches["e"]["lines"], sum(b"ksx" in each for each in fold))

    def test_matches_that_need_the_text_are_found_on_the_host(self):
        data = text(60_000)
        for options in (
            ("--match", "a=a.b"),
            ("--match", "a=ab", "--group-by", "field:1"),
            ("--match", "a=ab", "--each", "line", "--where", "match(a)"),
            ("--match", "a=ab", "--window", "1h", "--event-time"),
            [each for number in range(17) for each in ("--match", f"m{number}=a{number}")],
        ):
            with self.subTest(options=options):
                self.assert_units(frames(data, 10_000), data, *options, on_device=False)

    def test_groups_that_are_decoded_at_the_same_time(self):
        data = b"".join(noise(70_000, seed).replace(b"\n", b"x") + b"\n" + text(1000, seed) for seed in range(1, 60))
        ended = self.assert_units(frames(data, 130_000), data, "--each", "line", "--where", "bytes > 60000 || digit > 0.5")
        self.assertGreaterEqual(len(ended.documents_of("unit")), 59)

    def test_more_selected_units_than_groups_hold(self):
        data = b"".join(noise(20, seed).hex().encode() + b"\n" for seed in range(30_000 if SAMPLE else 100_000))
        ended = self.assert_units(frames(data, 300_000), data, "--each", "line", "--where", "digit > 0.2")
        self.assertGreater(len(ended.documents_of("unit")), 0.9 * data.count(b"\n"))

    def test_max_output_within_a_measured_group(self):
        data = text(200_000)  # one group: of several, the one that reaches the limit first gives up the input
        path = self.file("archive.zst", frames(data, 25_000))
        for limit in ("1", "25000", "112500", "199999"):
            with self.subTest(limit=limit):
                ended = self.assert_same_lines("--format", "jsonl", *SAME_CUTS, "--each", "line", "--where", "digit > 0.2", "--max-output", limit, path)
                self.assertEqual(ended.status, 1)
                self.assertIn("decompresses to more than", ended.stderr)

    def test_units_whose_rows_do_not_fit_are_measured_on_the_host(self):
        data = b"12\n" * 100_000 + noise(3_000_000) + b"abc\n" * 100_000
        path = self.file("short.zst", frames(data, 500_000))
        ended = self.assert_same_lines("--format", "jsonl", *SAME_CUTS, "--each", "line", "--where", "bytes <= 4", path)
        self.assertGreater(len(ended.documents_of("unit")), 200_000)

    def test_units_that_need_the_text_are_measured_on_the_host(self):
        data = text(60_000)
        for options in (
            ("--each", "line", "--where", "words > 3"),
            ("--each", "line", "--where", "entropy > 3"),
            ("--each", "1000", "--where", "digit > 0.2"),
            ("--each", "line", "--where", "digit > 0.2", "--buckets", "classes,bytes"),
        ):
            with self.subTest(options=options):
                self.assert_units(frames(data, 10_000), data, *options, on_device=False)

    def test_damaged_frames_and_their_units_are_those_of_the_host(self):
        data = text(200_000)
        encoded = frames(data, 20_000)
        for place in range(0, len(encoded), len(encoded) // (20 // FEWER)):
            for options in ((), ("--skip-damage",)):
                for units in (("--each", "line", "--where", "digit > 0.2"), ("--match", "a=a", "--match", "b=bc")):
                    with self.subTest(place=place, options=options, units=units):
                        path = self.file("damaged.zst", flipped(encoded, place))
                        self.assert_same_lines("--format", "jsonl", *SAME_CUTS, *units, *options, path)


class Steps(SameResults):
    """One long frame, which is decoded in steps of about 3 MB as it is read."""

    suffix = ".zst"
    ENOUGH = ("--device-decode", "on", "--device-memory", "800MiB", "--memory-limit", "512MiB")

    @functools.cached_property
    def data(self):
        return noise(9_000_000) + text(9_000_000) + noise(4_000_000) + text(2_000_000)

    def pack(self, data):
        return zstd(data)

    def in_steps(self, *arguments, engine="cuda"):
        options = [*self.ENOUGH[:4]] if engine == "cuda" else []
        if "--memory-limit" not in arguments:
            options += self.ENOUGH[4:]
        return run(*JSON, *SAME_CUTS, *options, *arguments, engine=engine,
                   env={**os.environ, "FAKE_CUDA_MEMORY_MIB": "2048"})

    def assert_as_host(self, *arguments):
        device, host = self.in_steps(*arguments), self.in_steps(*arguments, engine="host")
        self.assertEqual((device.status, device.stderr), (host.status, host.stderr))
        for each in (device, host):
            each.result.pop("stats", None)
        self.assertEqual(RUN.sub(b"", device.stdout), RUN.sub(b"", host.stdout))
        return device

    def test_a_frame_has_the_counts_of_its_text(self):
        for name, data, options in (("stated", self.data, (f"--stream-size={len(self.data)}",)), ("unknown", self.data, ()),
                                    ("long", self.data, ("--long=27",)), ("unchecked", self.data, ("--no-check",)),
                                    ("small", self.data, ("--zstd=wlog=10", "-1"))):
            with self.subTest(name=name):
                path = self.file(f"{name}.zst", zstd(data, *options))
                ended = self.in_steps("--stats", path)
                self.assertEqual(ended.status, 0, ended)
                self.assert_counts(ended.result, data)
                self.assertEqual(decoded_in(ended)["frames"], 1)
                self.assertEqual(decoded_in(ended)["text_bytes"], len(data))
                self.assert_as_host(path)

    def test_frames_before_and_after_a_long_one_are_counted(self):
        long, short = zstd(self.data), zstd(text(50_000))
        several = [[zstd(noise(600_000)), zstd(noise(2_750_000))], [zstd(b"="  * 70_000_000), zstd(noise(4_000_000)), short],
                   [zstd(b""), long], [zstd(noise(3_000_000)), zstd(noise(3_100_000)), zstd(noise(12_000_000))]]
        for number, parts in enumerate([[long, long], [short, long], [long, short, skippable(b"x" * 99), short],
                                        [skippable(b"x"), long], *several]):
            with self.subTest(number=number):
                self.assert_as_host(self.file(f"{number}.zst", b"".join(parts)))

    def test_a_damaged_or_cut_frame_is_reported_as_by_the_host(self):
        encoded = self.pack(self.data)
        for place in (3, len(encoded) // 9, len(encoded) // 2, len(encoded) - 9, len(encoded) - 2)[:: 2 if SAMPLE else 1]:
            for name, bad in (("damaged", flipped(encoded, place)), ("cut", encoded[:place])):
                for options in ((), ("--skip-damage",)):
                    with self.subTest(name=name, place=place, options=options):
                        self.assert_as_host(*options, self.file(name + self.suffix, bad + self.pack(text(5000))))

    def test_a_frame_is_counted_however_little_memory_there_is(self):
        path = self.file("long" + self.suffix, self.pack(self.data))
        for limit in range(200, 260, 8 * min(FEWER, 4)):
            with self.subTest(limit=limit):
                ended = self.in_steps("--memory-limit", f"{limit}MiB", path)
                self.assertEqual(ended.status, 0, ended)
                self.assert_counts(ended.result, self.data)

    def test_text_beyond_max_output_is_refused_as_by_the_host(self):
        path = self.file("long" + self.suffix, self.pack(self.data))
        for limit in (1_000_000, 12_000_000, len(self.data) - 1, len(self.data)):
            with self.subTest(limit=limit):
                ended = self.assert_as_host("--max-output", str(limit), path)
                self.assertEqual(ended.status, 0 if limit == len(self.data) else 1)

    def test_a_signal_in_a_long_frame_gives_a_report_of_a_prefix(self):
        data = self.data + text(1_000_000) * 60
        path = self.file("long" + self.suffix, self.pack(data))
        for delay in (0.3, 0.8, 1.2):
            with self.subTest(delay=delay), Running(*JSON, *self.ENOUGH, path, engine="cuda",
                                                    env={**os.environ, "FAKE_CUDA_MEMORY_MIB": "2048"}) as running:
                time.sleep(delay)
                running.process.send_signal(signal.SIGINT)
                ended = running.finish()
                self.assertIn(ended.status, (0, -signal.SIGINT), ended)
                if ENGINE == "cuda" and not ended.stdout:
                    continue  # a device was not ready, and nothing was read
                if ended.result["complete"]:
                    self.assertEqual(ended.result["bytes"], len(data))
                self.assert_counts(ended.result, data[: ended.result["bytes"]])

    @unittest.skipIf(ENGINE == "cuda", "only calls of the fake device can fail")
    def test_whichever_call_fails_nothing_is_lost(self):
        path = self.file("long" + self.suffix, self.pack(self.data))

        def failing_at(call):
            return run("--format", "json", "--buckets", "bytes", "--streams", "1", *self.ENOUGH, path, engine="cuda",
                       env={**os.environ, "FAKE_CUDA_MEMORY_MIB": "2048", "FAKE_CUDA_CALL": str(call)})

        calls = calls_of_device(failing_at, MOST_CALLS)
        self.assertGreater(calls, 150)
        for call in evenly(range(1, calls + 1), 24 // min(FEWER, 4)):
            with self.subTest(call=call):
                ended = failing_at(call)
                self.assertIn(ended.status, (0, 1, 2), ended)
                if ended.stdout:
                    self.assert_counts(ended.result, self.data[: ended.result["bytes"]])
                    self.assertEqual(ended.result["complete"], ended.status == 0, ended)
                if ended.status:
                    self.assertIn("fake error 719", ended.stderr.replace(CALL_FAILED, ""))


class StepsOfMembers(Steps):
    """The same of a long gzip member. Blocks that do not compress would be left to the host."""

    suffix = ".gz"

    @functools.cached_property
    def data(self):
        return noise(4_500_000).hex().encode() + text(9_000_000) + noise(3_000_000).hex().encode() + text(2_000_000)

    def pack(self, data):
        return gzip.compress(data, 1)

    def test_a_frame_has_the_counts_of_its_text(self):
        name = b"n" * 5000 + b"\0"
        for number, encoded in enumerate((self.pack(self.data), member(self.data, 8, name), with_header_checksum(self.data))):
            with self.subTest(number=number):
                path = self.file(f"{number}.gz", encoded)
                ended = self.in_steps("--stats", path)
                self.assertEqual(ended.status, 0, ended)
                self.assert_counts(ended.result, self.data)
                self.assertEqual(decoded_in(ended)["frames"], 1)
                self.assertEqual(decoded_in(ended)["text_bytes"], len(self.data))
                self.assert_as_host(path)

    def test_frames_before_and_after_a_long_one_are_counted(self):
        long, short = self.pack(self.data), self.pack(text(50_000))
        for number, parts in enumerate([[long, long], [short, long], [long, short], [long, b"\0" * 600], [self.pack(b""), long],
                                        [long[:-8], b"junk" * 9, long[-8:]], [self.pack(noise(9_000_000)), long],
                                      [bgzf_block(b"")[:18], long[10:]]]):  # fmt: skip
            with self.subTest(number=number):
                self.assert_as_host(self.file(f"{number}.gz", b"".join(parts)))

class Ends(SameResults):
    def test_a_signal_in_the_middle_gives_a_report_of_a_prefix(self):
        data = noise(3_000_000)
        encoded = frames(data, 100_000)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number), Running(*JSON, *DEVICE, engine="cuda", stdin=subprocess.PIPE) as running:
                feed(running, [encoded[: 2 * len(encoded) // 3]])
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                running.process.send_signal(number)
                ended = running.finish()
                self.assertEqual(ended.status, -number, ended)
                self.assertIs(ended.result["complete"], False)
                self.assert_counts(ended.result, data[: ended.result["bytes"]])

    def failing_at(self, call, *arguments):
        return run("--format", "json", "--buckets", "bytes", *SAME_CUTS, "--streams", "1", *DEVICE, *arguments, engine="cuda",
                   env={**os.environ, "FAKE_CUDA_CALL": str(call)})

    def count_calls(self, *arguments):
        return calls_of_device(lambda call: self.failing_at(call, *arguments), MOST_CALLS)

    @unittest.skipIf(ENGINE == "cuda", "only calls of the fake device can fail")
    def test_whichever_call_fails_the_run_ends_with_the_counts_of_a_prefix_and_the_cause(self):
        data = noise(2_500_000)
        path = self.file("data.zst", frames(data, 100_000))
        self.assert_counted(self.failing_at(MOST_CALLS, path), data)
        calls = self.count_calls(path)
        self.assertGreater(calls, 80)
        for call in evenly(range(1, calls + 1), 60 // FEWER):
            with self.subTest(call=call):
                ended = self.failing_at(call, path)
                self.assertNotIn(AT_EXIT, ended.stderr)
                self.assertIn(ended.status, (0, 1, 2), ended)
                if ended.stdout:
                    self.assert_counts(ended.result, data[: ended.result["bytes"]])
                    self.assertEqual(ended.result["complete"], ended.status == 0, ended)
                if ended.status:
                    self.assertIn("fake error 719", ended.stderr.replace(CALL_FAILED, ""))
                else:
                    self.assertEqual(ended.result["bytes"], len(data))


class Random(SameResults):
    def test_archives_of_random_frames_are_counted_as_by_the_host(self):
        for seed in range(40 // FEWER):
            chosen = random.Random(seed)
            parts = [
                chosen.choice((text, noise))(chosen.choice((0, 1, 100, 5000, 70_000, 400_000)), chosen.randrange(1, 9))
                for _ in range(chosen.randrange(1, 12))
            ]
            pieces = [zstd(part, *chosen.choice(((), ("--no-check",), ("-1",), ("-12",)))) for part in parts]
            for _ in range(chosen.randrange(3)):
                pieces.insert(chosen.randrange(len(pieces) + 1), skippable(noise(chosen.choice((0, 10, 5000)))))
            with self.subTest(seed=seed):
                ended = self.assert_same(self.file("random.zst", b"".join(pieces)))
                self.assertEqual(ended.result["bytes"], oracle(b"".join(parts))["bytes"])


if __name__ == "__main__":
    main()
