"""The compressed formats: their suffixes, what writes and reads them, and what the program calls their parts."""

import bz2
import gzip
import lzma
import struct
import subprocess
import typing
import zlib


def packed(data, *command):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def unpacked(encoded, *command):
    """The text that a tool decodes, or None if the tool refuses the file."""
    process = subprocess.run(command, input=encoded, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process.stdout if process.returncode == 0 else None


def by(*command):
    """What packs with this command, for each of several strings with more options."""
    return lambda *sets: tuple(lambda data, options=options: packed(data, *command, *options.split()) for options in sets)


def deflated(data, level=6, strategy=zlib.Z_DEFAULT_STRATEGY):
    compress = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    return compress.compress(data) + compress.flush()


def member(data, flags=0, fields=b"", **options):
    """One member with this header: its flags, and the fields that they announce."""
    header = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, 1234567890, 0, 3) + fields
    return header + deflated(data, **options) + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def with_header_checksum(data, flags=0, fields=b""):
    header = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags | 2, 1234567890, 0, 3) + fields
    return member(data, flags | 2, fields + struct.pack("<H", zlib.crc32(header) & 0xFFFF))


def bgzf_block(data):
    length = len(member(data, 4, b"\6\0BC\2\0\0\0"))
    return member(data, 4, b"\6\0BC\2\0" + struct.pack("<H", length - 1))


BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzf(data, step=65280):
    """A file as bgzip writes it: blocks, and an empty block at the end."""
    return b"".join(bgzf_block(data[at : at + step]) for at in range(0, len(data), step)) + BGZF_END


class Format(typing.NamedTuple):
    kind: str
    suffix: str
    part: str  # a frame, member or stream: what is packed at once
    packers: tuple  # the first one is the usual one
    reader: tuple  # a command
    recognised_after: int = 0  # this many bytes of a file with its name
    checksum_at: typing.Callable | None = None  # the place of a checksum in an encoded part
    verified_at: typing.Callable = len  # how much of an encoded part verifies its text
    is_recognised: bool = True  # by content
    has_many_parts: bool = True
    may_be_padded: bool = False  # with any number of zeros

    def packed(self, data):
        return self.packers[0](data)

    def unpacked(self, encoded):
        return unpacked(encoded, *self.reader)


def xz_index_begin(stream):
    return len(stream) - 12 - 4 * (1 + int.from_bytes(stream[-8:-4], "little"))


def level(pack, *levels):
    return tuple(lambda data, level=level: pack(data, level) for level in levels)


def before(size):
    """The place that is so many bytes before the end."""
    return lambda encoded: len(encoded) - size


ZSTD = by("zstd", "-qc")("--check", "--no-check", "-1", "-19", "--fast=5", "--no-check -19")
GZIP = (
    *(gzip.compress, bgzf, with_header_checksum, *level(gzip.compress, 1, 2, 3, 4, 5, 7, 8, 9), *by("gzip", "-c")("-1", "-6", "-9")),
    *(lambda data, options=options: member(data, **options) for options in ({"level": 0}, {"strategy": zlib.Z_FIXED}, {"strategy": zlib.Z_RLE})),
    lambda data: member(data, strategy=zlib.Z_HUFFMAN_ONLY),
)
XZ = (
    lambda data: lzma.compress(data, preset=0),
    *by("xz", "-zcq")("-0", "-6", "-7", "-C none", "-C crc32", "-C sha256", "-T2 --block-size=50000"),
    *by("xz", "-zcq")("--x86 --lzma2=preset=1", "--delta=dist=3 --lzma2=dict=4KiB"),
)
LZMA = (*by("xz", "-zcq", "--format=lzma")("-0", "-6"), lambda data: lzma.compress(data, lzma.FORMAT_ALONE))
LZIP = by("lzip", "-cq")("-0", "-9", "-s 4096", "-b 100000")
BZIP2 = (*level(bz2.compress, *range(1, 10)), *by("bzip2", "-zcq")("-1", "-9"))
LZ4 = by("lz4", "-zcq")("-1", "-9", "-B4 -BD", "-B7 --no-frame-crc", "-BX -B5", "--content-size")
FORMATS = {each.kind: each for each in (
    Format("zstd", ".zst", "frame", ZSTD, ("zstd", "-dcq"), 4, before(1)),
    Format("gzip", ".gz", "member", GZIP, ("gzip", "-dcq"), 2, before(8), may_be_padded=True),
    Format("xz", ".xz", "stream", XZ, ("xz", "-dcq"), 6, lambda encoded: xz_index_begin(encoded) - 1, xz_index_begin),
    Format("lzma", ".lzma", "stream", LZMA, ("xz", "-dcq", "--format=lzma"), is_recognised=False, has_many_parts=False),
    Format("lzip", ".lz", "member", LZIP, ("lzip", "-dcq"), 5, before(20), may_be_padded=True),
    Format("bzip2", ".bz2", "stream", BZIP2, ("bzip2", "-dcq"), 5, may_be_padded=True),
    Format("lz4", ".lz4", "frame", LZ4, ("lz4", "-dcq"), 4, before(1)),
    Format("compress", ".Z", "stream", by("compress", "-fc")(""), ("gzip", "-dcq"), 3, has_many_parts=False),
)}  # fmt: skip
OF_MANY_PARTS = [each for each in FORMATS.values() if each.has_many_parts]
VERIFIED = [each for each in FORMATS.values() if each.kind != "compress"]  # with an end mark or a checksum
