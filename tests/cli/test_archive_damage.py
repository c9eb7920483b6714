"""Flips every bit of small archives and cuts them at every byte; from files and pipes, alone and compressed. An input
that is reported as complete must hold what the archive held when it was made. The exceptions are ranges of bits that no
checksum covers. Each is named here and in docs/archives.md. A wrong count anywhere else fails the test.

CAMPAIGN=all python3 -B tests/cli/test_archive_damage.py    flips every bit of every archive, and prints the table"""

import collections
import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import tarfile
import threading
import zipfile

from support import SAMPLE, SANITIZED, CommandTest, main, needs, oracle, run, tar, tar_entry, text, zipped_to_pipe, zstd

ALL = os.environ.get("CAMPAIGN") == "all"
STEP = 1 if ALL else 997 if SANITIZED or SAMPLE else 211  # a prime number: reaches all bits and all fields
VARIANTS_A_RUN = 500
WRITERS = 8

FILES = {"a.log": text(300), "b.txt": text(33, 2), "c": text(121, 3)}
ONE = {"a.log": FILES["a.log"]}

# Bits of these fields may change without an error. docs/archives.md has the same list.
CONTENT = "text of a member"
KIND = "kind of a member, which is then listed as skipped"
PAX = "record of a pax header"
NAME = "name of the first member of a tar, in which the archive ends: text"
LENGTH = "length of a cpio member, by zeros of its padding"


class Sample:
    """An archive, the files in it, and the ranges of bytes that no checksum covers: (begin, end, reason)."""

    def __init__(self, name, data, files, exempt=(), pipe=True, suffix=None):
        self.name, self.data, self.files, self.exempt, self.pipe = name, data, files, exempt, pipe
        self.suffix = suffix or "." + name.split()[0]
        self.truth = collections.Counter(map(fingerprint, (oracle(each)["buckets"]["bytes"] for each in files.values())))

    def why_exempt(self, byte):
        return next((why for begin, end, why in self.exempt if begin <= byte < end), None)

    def compressed(self, name, packed):
        """The sample, compressed in a format with a checksum. No bytes are exempt."""
        return Sample(f"{self.name}{name}", packed, self.files, suffix=f"{self.suffix}{name}")


def fingerprint(counts):
    return tuple(counts[f"0x{value:02x}"] for value in range(256))


def found(archive, data, offset=0):
    begin = archive.index(data, offset)
    return begin, begin + len(data)


def contents(archive, files):
    return [(*found(archive, data), CONTENT) for data in files.values()]


def zip_mode(archive):
    """The Unix mode of each entry of the directory."""
    ranges, at = [], archive.find(b"PK\1\2")
    while at >= 0:
        ranges.append((at + 40, at + 42, KIND))
        at = archive.find(b"PK\1\2", at + 4)
    return ranges


def zip_as_tools_do(files, compression):
    """With the type of a file in the mode, as zip tools write it; zipfile leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2026, 3, 1, 12, 0, 0))
            info.create_system, info.external_attr, info.compress_type = 3, 0o100644 << 16, compression
            archive.writestr(info, data)
    return out.getvalue()


def zip64(files):
    """All sizes and offsets in fields of 64 bits: end record, locator, and an extra field in each header."""
    out, directory = b"", b""
    for name, data in files.items():
        crc, raw = zipfile.crc32(data), name.encode()
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(data))
        at = len(out)
        out += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 45, 0, 0, 0, 0x5C61, crc, 2**32 - 1, 2**32 - 1, len(raw), len(extra))
        out += raw + extra + data
        extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), at)
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 0x32D, 45, 0, 0, 0, 0x5C61, crc, 2**32 - 1, 2**32 - 1,
                                 len(raw), len(extra), 0, 0, 0, 0o100644 << 16, 2**32 - 1) + raw + extra
    at, count = len(out), len(files)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), at)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at + len(directory), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return out + directory + record + locator + end


def zips():
    for kind, files in (("one deflated", ONE), ("one stored", ONE), ("three", FILES)):
        archive = zip_as_tools_do(files, zipfile.ZIP_STORED if "stored" in kind else zipfile.ZIP_DEFLATED)
        yield Sample(f"zip {kind}", archive, files, zip_mode(archive))
    for kind, archive in (("streamed", zipped_to_pipe(FILES)), ("zip64", zip64(FILES))):
        yield Sample(f"zip {kind}", archive, FILES, zip_mode(archive))


def seven_zips(folder):
    for kind, files, options in (("one LZMA", ONE, ()), ("one stored", ONE, ("-m0=Copy",)), ("three", FILES, ("-mhc=off",))):
        root = folder / kind
        root.mkdir()
        for name, data in files.items():
            (root / name).write_bytes(data)
        subprocess.run(["7z", "a", "-bd", "-bso0", *options, "x.7z", *files], cwd=root, check=True)
        yield Sample(f"7z {kind}", (root / "x.7z").read_bytes(), files, pipe=False)


def tars():
    for kind, files, format in (("ustar one", ONE, tarfile.USTAR_FORMAT), ("ustar", FILES, tarfile.USTAR_FORMAT),
                                ("gnu", FILES, tarfile.GNU_FORMAT)):
        archive = tar(files, format)
        archive = archive[: 512 * (2 + sum(1 + -(-len(data) // 512) for data in files.values()))]
        yield Sample(f"tar {kind}", archive, files, contents(archive, files))
    long_names = {"n" * 120 + name: data for name, data in FILES.items()}
    for kind, format in (("gnu, long names", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        archive = tar(long_names, format)
        archive = archive[: 512 * (2 + sum(4 + -(-len(data) // 512) for data in FILES.values()) - len(FILES))]
        exempt = contents(archive, FILES)
        at = archive.find(b" path=")
        while at >= 0:
            exempt.append((at - 3, at + 6 + 130, PAX))
            at = archive.find(b" path=", at + 6)
        yield Sample(f"tar {kind}", archive, long_names, exempt)
    yield from tars_with_special_headers()


def tars_with_special_headers():
    """Each header once before a member, and once at the end if it needs no member."""
    data = FILES["b.txt"]
    record = b"28 comment=of no importance\n"
    label, end = tar_entry("label", b"", b"V", tarfile.GNU_FORMAT), bytes(1024)
    shared, member = tar_entry("pax_global_header", record, b"g"), tar_entry("b.txt", data)
    for kind, archive in (("g header", shared + member + shared + end), ("V header", label + member + label + end),
                          ("x header", tar_entry("x", b"16 mtime=1.5000\n", b"x") + member + end),
                          ("L header", tar_entry("././@LongLink", b"long\0", b"L", tarfile.GNU_FORMAT) + member + end)):
        yield Sample(f"tar {kind}", archive, {"b.txt": data}, contents(archive, {"b.txt": data}))


def cpios(folder):
    for kind in ("newc", "crc", "odc", "bin"):
        root = folder / kind
        root.mkdir()
        for name, data in FILES.items():
            (root / name).write_bytes(data)
        archive = subprocess.run(["cpio", "-o", "--quiet", "-H", kind], input="\n".join(FILES).encode() + b"\n", cwd=root,
                                 stdout=subprocess.PIPE, check=True).stdout
        end = archive.index(b"TRAILER!!!") + 11
        archive = archive[: -(-end // 4) * 4]  # cpio pads to its block of 512 bytes
        exempt = [] if kind == "crc" else contents(archive, FILES)
        for name in FILES:
            at = archive.index(name.encode() + b"\0")
            exempt.append({"newc": (at - 110 + 14, at - 110 + 22, KIND), "crc": (at - 110 + 14, at - 110 + 22, KIND),
                           "odc": (at - 76 + 18, at - 76 + 24, KIND), "bin": (at - 26 + 6, at - 26 + 8, KIND)}[kind])
            if kind in ("newc", "crc"):  # zeros do not change the checksum of crc
                exempt.append((at - 110 + 61, at - 110 + 62, LENGTH))
        yield Sample(f"cpio {kind}", archive, FILES, exempt)


def compressed(samples):
    for each in samples:
        yield each.compressed(".gz", gzip.compress(each.data))
        yield each.compressed(".zst", zstd(each.data, "--check"))
        yield each.compressed(".xz", lzma.compress(each.data))


class Damage(CommandTest):
    def verdicts(self, sample, variants, pipes):
        """One run over all variants. For each: `refused`, `right`, or a description of the error."""
        root = self.folder / "run"
        root.mkdir()
        paths = [root / f"{number:05}{sample.suffix}" for number in range(len(variants))]
        writers = []
        if pipes:
            for path in paths:
                os.mkfifo(path)
            waiting = collections.deque(zip(paths, variants))
            writers = [threading.Thread(target=self.write_pipes, args=(waiting,), daemon=True) for _ in range(WRITERS)]
            for each in writers:
                each.start()
        else:
            for path, data in zip(paths, variants):
                path.write_bytes(data)
        listed = self.file("names", b"\0".join(os.fsencode(path) for path in paths))
        ended = run("--files-from", listed, "-0", "--format", "jsonl", "--buckets", "bytes", "-T", "2")
        for each in writers:
            each.join()
        shutil.rmtree(root)
        self.assertIn(ended.status, (0, 1), ended)
        self.links = ended.result.get("skipped_by_cause", {}).get("symbolic link in an archive", 0)
        reported = collections.defaultdict(list)
        width = len(str(root)) + 6
        for each in ended.documents[:-1]:
            reported[int(each["name"][width - 5 : width])].append(each)
        return [self.verdict(sample, reported[number]) for number in range(len(variants))]

    @staticmethod
    def write_pipes(waiting):
        while waiting:
            try:
                path, data = waiting.popleft()
            except IndexError:
                return
            descriptor = os.open(path, os.O_WRONLY)
            try:
                os.write(descriptor, data)
            except BrokenPipeError:  # the archive was refused before its end
                pass
            os.close(descriptor)

    @staticmethod
    def verdict(sample, inputs):
        counted = collections.Counter(fingerprint(each["buckets"]["bytes"]) for each in inputs if each["complete"] and each["bytes"])
        if all(each["complete"] for each in inputs):  # also if no input is listed
            return "right" if counted == sample.truth else "silent"
        # complete members must be members of the sample; in a cpio, a wrong length may be found only at a later header
        return "refused" if counted <= sample.truth or "cpio" in sample.name else "refused, with wrong members"

    def campaign(self, samples, pipes=(False, True)):
        for sample in samples:
            self.assertEqual(self.verdicts(sample, [sample.data], False), ["right"], sample.name)
            for pipe in pipes if sample.pipe else (False,):
                self.assertEqual(self.verdicts(sample, [sample.data], pipe), ["right"], sample.name)
                with self.subTest(sample=sample.name, pipe=pipe):
                    self.flip(sample, pipe)
                    self.cut(sample, pipe)

    def flip(self, sample, pipe):
        step = STEP * 5 if pipe and not ALL else STEP
        table, wrong = collections.Counter(), []
        bits = range(0, 8 * len(sample.data), step)
        for first in range(0, len(bits), VARIANTS_A_RUN):
            some = bits[first : first + VARIANTS_A_RUN]
            variants = []
            for bit in some:
                damaged = bytearray(sample.data)
                damaged[bit // 8] ^= 1 << bit % 8
                variants.append(bytes(damaged))
            kinds = 0
            for bit, verdict in zip(some, self.verdicts(sample, variants, pipe)):
                why = sample.why_exempt(bit // 8)
                kinds += why == KIND and verdict == "silent"
                if verdict not in ("right", "refused"):
                    if why is None:
                        wrong.append((verdict, bit // 8, bit % 8))
                    verdict = why or verdict
                table[verdict] += 1
            self.assertLessEqual(kinds, self.links)
        self.show(sample, pipe, "flips", len(bits), table)
        self.assertEqual(wrong, [])

    def cut(self, sample, pipe):
        lengths = range(1, len(sample.data), (STEP * 5 if pipe else STEP) if not ALL else 1)
        table, wrong = collections.Counter(), []
        for first in range(0, len(lengths), VARIANTS_A_RUN):
            some = lengths[first : first + VARIANTS_A_RUN]
            for length, verdict in zip(some, self.verdicts(sample, [sample.data[:length] for length in some], pipe)):
                if verdict == "silent" and sample.suffix == ".tar" and 0 not in sample.data[:length]:
                    verdict = NAME
                table[verdict] += 1
                if verdict not in ("right", "refused", NAME):
                    wrong.append((verdict, length))
        self.show(sample, pipe, "cuts", len(lengths), table)
        self.assertEqual(wrong, [])

    @staticmethod
    def show(sample, pipe, damage, count, table):
        if not ALL:
            return
        exceptions = {why: n for why, n in table.items() if why not in ("refused", "right", "silent")}
        named = ", ".join(f"{n} {why}" for why, n in exceptions.items())
        print(f"| {sample.name} | {'pipe' if pipe else 'file'} | {damage} | {count} | {table['refused']} | {table['right']} | "
              f"{named or 0} | {table['silent']} |", flush=True)

    def test_zip(self):
        self.campaign(zips())

    def test_7z(self):
        self.require("7z")
        self.campaign(seven_zips(self.folder))

    def test_tar(self):
        self.campaign(tars())

    @needs("cpio")
    def test_cpio(self):
        self.campaign(cpios(self.folder))

    def test_compressed(self):
        plain = [next(zips()), *tars(), *cpios(self.folder)]
        self.campaign(compressed(plain if ALL else plain[::4]))

    def test_every_block_of_a_tar_with_special_headers(self):
        """Cut at the end of every block, where only the headers show that something is missing."""
        for sample in tars_with_special_headers():
            cuts = [sample.data[:length] for length in range(512, len(sample.data) - 512, 512)]
            for pipe in (False, True):
                self.assertEqual(self.verdicts(sample, cuts, pipe), ["refused"] * len(cuts), (sample.name, pipe))


if __name__ == "__main__":
    main()
