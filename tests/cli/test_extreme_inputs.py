"""Inputs made against decoding in parts: very many streams of a few bytes, blocks with gigabytes of text, and data that
looks like the begin of a block. Counts are exact and memory is bounded, with any number of threads. CAMPAIGN=all: blocks
of 2 GiB of text, as the tests labelled `long`; otherwise of 64 MiB."""

import bz2
import gzip
import json
import os
import struct
import subprocess
import zlib

from support import ENGINE, GPUHIST, PATIENCE, SAMPLE, SANITIZED, CommandTest, counts_of, main, noise, oracle, text

MANY = 20_000 if SAMPLE else 100_000 if SANITIZED else 1_000_000
LARGE = 2 << 30 if os.environ.get("CAMPAIGN") == "all" else 64 << 20
MOST_MEMORY = 256 << 20


def repeated(counts, times):
    """The counts of a text that is `times` texts with these counts."""
    if isinstance(counts, dict):
        return {name: repeated(count, times) for name, count in counts.items()}
    return counts * times


def fixed_block(matches, is_last):
    """A deflate block with fixed codes (RFC 1951): the letter "a", and `matches` copies of 258 bytes of it. Its bits:

        head: last, 01   "a": 10010001   copies: 11000101 00000 (length 258, distance 1)   end: 0000000

    11 bits precede the copies. Eight copies are 13 whole bytes, which repeat from the third byte on."""
    assert matches % 8 == 2  # so that the end is in the same place of its byte in every block
    before = [int(is_last), 1, 0, *map(int, "10010001")]
    copies = list(map(int, "1100010100000"))
    short = before + copies * 18 + [0] * 7
    packed = bytes(sum(bit << at for at, bit in enumerate(short[begin : begin + 8])) for begin in range(0, len(short), 8))
    return packed[:2] + packed[2:15] * (matches // 8 - 2) + packed[2:]


def gzip_member(blocks, crc, size):
    return struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, 0, 0, 0, 255) + blocks + struct.pack("<II", crc, size & 0xFFFFFFFF)


def crc_of_letters(letter, size):
    crc, piece = 0, letter * (1 << 24)
    for begin in range(0, size, len(piece)):
        crc = zlib.crc32(piece[: size - begin], crc)
    return crc


def without_compression(data):
    """A member of stored blocks only."""
    return gzip.compress(data, 0)


class ExtremeInputs(CommandTest):
    def assert_text(self, encoded, expected, format, *options):
        """The counts are those expected, with one thread and with four, from a file and from a pipe."""
        path = self.file("input", encoded)
        for threads, source in ((1, f"'{path}'"), (4, f"'{path}'"), (4, f"<(cat '{path}')")):
            with self.subTest(threads=threads, source=source):
                # run by a small shell: a child of this process would start with its peak of memory
                command = f"{GPUHIST} --engine {ENGINE} --format json -b bytes --stats --memory-limit 256MiB -T {threads} {' '.join(options)} {source}"
                ended = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=5 * PATIENCE)
                self.assertEqual(ended.returncode, 0, ended.stderr[:1000])
                result = json.loads(ended.stdout)
                self.assertEqual(counts_of(result), expected)
                self.assertEqual(result["inputs"][0]["format"], format)
                if not SANITIZED and ENGINE == "host":
                    self.assertLess(result["stats"]["memory"]["peak_bytes"], MOST_MEMORY)

    def counts(self, data, times=1):
        expected = oracle(data)
        expected["buckets"] = {"bytes": expected["buckets"]["bytes"]}
        return repeated(expected, times)

    def test_a_million_gzip_members_of_a_few_bytes(self):
        self.assert_text(gzip.compress(b"tiny\n", mtime=0) * MANY, self.counts(b"tiny\n", MANY), "gzip")

    def test_a_million_bzip2_streams_of_a_few_bytes(self):
        self.assert_text(bz2.compress(b"tiny\n", 1) * MANY, self.counts(b"tiny\n", MANY), "bzip2")

    def test_a_block_of_bzip2_of_one_letter(self):
        """900 kB of the same byte, and as much of it as one block holds: its runs of up to 259 are 5 bytes each."""
        for size in (900_000, 180_000 * 255):
            self.assert_text(bz2.compress(b"a" * size) + bz2.compress(text(3000)), self.counts(b"a" * size + text(3000)), "bzip2")

    def test_one_deflate_block_of_gigabytes_of_text(self):
        matches = LARGE // 258 // 8 * 8 + 2
        size = 1 + 258 * matches
        member = gzip_member(fixed_block(matches, True), crc_of_letters(b"a", size), size)
        expected = self.counts(b"a", size)
        self.assertEqual(gzip.decompress(gzip_member(fixed_block(26, True), crc_of_letters(b"a", 6709), 6709)), b"a" * 6709)
        self.assert_text(member, expected, "gzip")
        last = gzip.compress(b"a")
        self.assert_text(last + member + last, repeated(self.counts(b"a"), size + 2), "gzip")

    def test_deflate_blocks_of_one_letter_with_codes_of_their_own(self):
        size = LARGE // 8
        compress = zlib.compressobj(1, zlib.DEFLATED, 31)
        piece = b"a" * (1 << 24)
        encoded = b"".join(compress.compress(piece[: size - begin]) for begin in range(0, size, len(piece))) + compress.flush()
        self.assert_text(encoded, self.counts(b"a", size), "gzip")

    def test_a_gzip_member_of_stored_blocks_only(self):
        data = noise(12_000_000)
        self.assert_text(without_compression(data), self.counts(data), "gzip")

    def test_the_text_of_stored_blocks_is_full_of_blocks_and_members(self):
        inner = gzip.compress(text(400_000), 1) + without_compression(noise(100_000))
        data = b"".join(inner[number:] for number in range(40))  # at other distances from the stored blocks around them
        self.assert_text(without_compression(data), self.counts(data), "gzip", "--input-format", "gzip")
        data = gzip.compress(b"", mtime=0)[:10] * 1_000_000
        self.assert_text(without_compression(data), self.counts(data), "gzip", "--input-format", "gzip")

    def test_the_text_of_bzip2_is_full_of_blocks(self):
        data = bz2.compress(text(2_000_000), 1) * 4 + b"BZh9" + b"1AY&SY" * 200_000
        self.assert_text(bz2.compress(data), self.counts(data), "bzip2", "--input-format", "bzip2")


if __name__ == "__main__":
    main()
