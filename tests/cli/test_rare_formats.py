"""snappy, brotli, zlib and raw deflate: counts of what their writers packed, in files, pipes and archives. The writers are
libsnappy, brotli, lz4 and Python's zlib; chunks and blocks around their data are written here."""

import ctypes
import struct
import subprocess
import unittest
import zlib

from support import CommandTest, main, needs, noise, run, run_fed, sampled, tar, text, zipped

JSON = ("--format", "json", "--buckets", "letters,bytes")


def library():
    """libsnappy, or None."""
    try:
        return ctypes.CDLL("libsnappy.so.1")
    except OSError:
        return None


def snappy_block(data):
    size = ctypes.c_size_t(32 + len(data) + len(data) // 6)
    packed = ctypes.create_string_buffer(size.value)
    if library().snappy_compress(data, ctypes.c_size_t(len(data)), packed, ctypes.byref(size)) != 0:
        raise ValueError("libsnappy failed")
    return packed.raw[: size.value]


TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def snappy(data):
    """As framing_format.txt of snappy says: chunks that do not shrink are stored."""
    made = b"\xff\6\0\0sNaPpY"
    for at in range(0, len(data), 65_536):
        piece = data[at : at + 65_536]
        packed = snappy_block(piece)
        stored = len(packed) > len(piece) * 7 // 8
        body = struct.pack("<I", masked_crc32c(piece)) + (piece if stored else packed)
        made += bytes([stored]) + len(body).to_bytes(3, "little") + body
    return made


def hadoop_snappy(data, block=262_144, chunk=100_000):
    made = b""
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        made += struct.pack(">I", len(piece))
        for begin in range(0, len(piece), chunk):
            packed = snappy_block(piece[begin : begin + chunk])
            made += struct.pack(">I", len(packed)) + packed
    return made


def hadoop_lz4(data, block=65_536):
    """The blocks of frames of lz4, within those of Hadoop."""
    made = b""
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        frame = subprocess.run(["lz4", "-qc", "-B4", "--no-frame-crc"], input=piece, stdout=subprocess.PIPE, check=True).stdout
        (size,) = struct.unpack_from("<I", frame, 7)
        if size >> 31:
            raise ValueError("a stored block")
        made += struct.pack(">II", len(piece), size) + frame[11 : 11 + size]
    return made


def brotli(data, quality=5):
    return subprocess.run(["brotli", "-c", "-q", str(quality)], input=data, stdout=subprocess.PIPE, check=True).stdout


def deflate(data, level=6):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


class FormatTest(CommandTest):
    def assert_read(self, format, content, data, suffix="", options=()):
        """As a file, from a pipe, and as a member of an archive."""
        path = self.file("x.log" + suffix, content)
        for ended in (run(*JSON, *options, path), run(*JSON, *options, "--threads", "3", path)):
            self.assert_decoded(ended, data, format, len(content))
        self.assert_decoded(run_fed([content[:5], content[5:]], *JSON, "--input-format", format), data, format, len(content))
        if options:
            return
        for outer in (self.file("x.tar", tar({"x.log" + suffix: content})), self.file("x.zip", zipped({"x.log" + suffix: content}))):
            ended = run(*JSON, outer)
            self.assert_counted(ended, data)
            self.assertEqual(ended.result["inputs"][0]["format"], f"{format}.{outer.suffix[1:]}")

    def assert_cuts_fail(self, format, content, data, suffix):
        for size in sampled((1, len(content) // 3, len(content) // 2, len(content) - 1), 2):
            ended = run(*JSON, "--input-format", format, self.file("x.log" + suffix, content[:size]))
            self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
            self.assertIn("ends early: the input stops at compressed offset ", ended.stderr)
            self.assertLessEqual(ended.result["bytes"], len(data))


@unittest.skipUnless(library(), "not on this machine: libsnappy")
class Snappy(FormatTest):
    def test_streams_in_the_framing_format_are_read_by_their_content(self):
        for data in (b"x", text(700), text(1_000_000), noise(300_000)):
            content = snappy(data)
            for suffix in ("", ".sz", ".snappy"):
                self.assert_read("snappy", content, data, suffix)
        self.assert_read("snappy", content + snappy(text(70)), data + text(70))

    def test_chunks_are_decoded_by_several_threads(self):
        data = text(3_000_000)
        ended = run(*JSON, "--stats", "--threads", "4", self.file("x.sz", snappy(data)))
        self.assertEqual(ended.status, 0, ended)
        self.assert_counts(ended.result, data)
        self.assertIn("frames found by the sizes of their blocks", ended.result["stats"]["decompression"])

    def test_the_chunks_before_and_after_a_damaged_one_are_counted(self):
        data = text(400_000)
        content = bytearray(snappy(data))
        ends, at = [], 0
        while at < len(content):
            at += 4 + int.from_bytes(content[at + 1 : at + 4], "little")
            ends.append(at)
        content[ends[2] - 9] ^= 1  # of the second chunk with data
        ended = run(*JSON, self.file("x.sz", bytes(content)))
        self.assertEqual(ended.status, 1, ended)
        self.assert_counts(ended.result, data[:65_536])
        self.assertIn("chunk 2 is damaged (its ", ended.stderr)
        ended = run(*JSON, "--skip-damage", self.file("x.sz", bytes(content)))
        self.assertEqual(ended.status, 1, ended)
        self.assert_counts(ended.result, data[:65_536] + data[131_072:])
        cut = run(*JSON, self.file("x.sz", bytes(content[: ends[1] + 99])))
        self.assert_counts(cut.result, data[:65_536])
        self.assertIn("chunk 2 ends early", cut.stderr)

    def test_blocks_of_hadoop_are_read_by_name_and_by_option(self):
        for data in (text(700), text(1_000_000)):
            content = hadoop_snappy(data)
            self.assert_read("hadoop-snappy", content, data, ".snappy")
            self.assert_read("hadoop-snappy", content, data, options=("--input-format", "hadoop-snappy"))
            self.assert_cuts_fail("hadoop-snappy", content, data, ".snappy")


class Others(FormatTest):
    @needs("lz4")
    def test_blocks_of_hadoop_with_lz4_are_read_by_option(self):
        data = text(500_000)
        self.assert_read("hadoop-lz4", hadoop_lz4(data), data, options=("--input-format", "hadoop-lz4"))
        self.assert_cuts_fail("hadoop-lz4", hadoop_lz4(data), data, ".lz4")

    @needs("brotli")
    def test_brotli_is_read_by_name_and_by_option(self):
        for quality in (0, 5, 9):
            for data in (b"", text(700), text(1_000_000) + noise(30_000)):
                content = brotli(data, quality)
                self.assert_read("brotli", content, data, ".br")
                self.assert_read("brotli", content, data, options=("--input-format", "brotli"))
        self.assert_cuts_fail("brotli", content, data, ".br")
        ended = run(*JSON, self.file("x.br", content + b"more"))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, len(data)), ended)
        self.assertIn(f"trailing data after the end of the stream, at compressed offset {len(content)}", ended.stderr)
        ended = run(*JSON, self.file("x.tar.br", brotli(tar({"a": text(70)}))))
        self.assert_counted(ended, text(70))

    def test_zlib_is_read_by_its_first_bytes_and_raw_deflate_by_option(self):
        for data in (text(700), text(1_000_000) + noise(30_000)):
            for level in (0, 1, 9):
                self.assert_read("zlib", zlib.compress(data, level), data)
                self.assert_read("zlib", zlib.compress(data, level), data, ".zz")
                self.assert_read("deflate", deflate(data, level), data, options=("--input-format", "deflate"))
        for format, content in (("zlib", zlib.compress(data)), ("deflate", deflate(data))):
            self.assert_cuts_fail(format, content, data, ".zz")
        damaged = bytearray(zlib.compress(data))
        damaged[-1] ^= 1
        ended = run(*JSON, self.file("x.zz", bytes(damaged)))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
        self.assertIn("stream 1 is damaged (incorrect data check)", ended.stderr)
        self.assert_read("zlib", zlib.compress(text(70)) + zlib.compress(text(80, 2)), text(70) + text(80, 2), ".zlib")


if __name__ == "__main__":
    main()
