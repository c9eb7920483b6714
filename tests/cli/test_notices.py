"""Notices: an input whose content is not what its name promises is counted by its content, with a notice. The notice is
on standard error and in the result, wherever the result was: spilled, in the state of a job, in shards, read back."""

import base64
import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
import math
import random
import struct
import subprocess
import tarfile
import zlib
from pathlib import Path

from packers import BGZF_END, bgzf_block
from support import ENGINE, GPUHIST, CommandTest, main, needs, noise, run, run_fed, tar, tar_entry, text, zipped, zstd

JSON = ("--format", "json", "--buckets", "letters,bytes")
DATA = text(3000)
ARCHIVE = tar({"a.log": text(600), "b.log": text(700, 1)})
MEMBERS = text(600) + text(700, 1)

# content, what it is counted as, and what the notice says that it holds
CONTENTS = {
    "text": (DATA, DATA, "text"),
    "gzip": (gzip.compress(DATA), DATA, "gzip data"),
    "zstd": (zstd(DATA), DATA, "zstd data"),
    "xz": (lzma.compress(DATA), DATA, "xz data"),
    "bzip2": (bz2.compress(DATA), DATA, "bzip2 data"),
    "tar": (ARCHIVE, MEMBERS, "a tar archive"),
    "zip": (zipped({"a.log": text(600), "b.log": text(700, 1)}), MEMBERS, "a zip archive"),
}
PROMISED = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".lzma": "lzma", ".bz2": "bzip2", ".lz": "lzip", ".lz4": "lz4",
            ".Z": "compress", ".zz": "zlib", ".tar": "tar", ".zip": "zip", ".7z": "7z", ".cpio": "cpio"}  # fmt: skip


def notices(ended):
    return [{**notice, "name": each["name"]} for each in ended.result["inputs"] for notice in each.get("notices", ())]


class NamesAndContent(CommandTest):
    def test_the_content_decides_and_a_notice_names_it_in_files_and_in_members_of_archives(self):
        for (kind, (content, counted, holds)), (suffix, promised) in itertools.product(CONTENTS.items(), PROMISED.items()):
            if kind == promised:
                continue
            path = self.file("data" + suffix, content)
            member = self.file("x.tar", tar({"data" + suffix: content, "good": text(50)}))
            for given, name, more in ((path, str(path), b""), (member, f"{member}/data{suffix}", text(50))):
                with self.subTest(kind=kind, suffix=suffix, given=given.name):
                    ended = run(*JSON, given)
                    self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                    self.assert_counts(ended.result, counted + more)
                    (notice,) = notices(ended)
                    self.assertEqual((notice["name"], notice["kind"]), (name, "name_differs"))
                    # the suffix of an archive promises the text within a compression
                    holds_there = "text" if suffix in (".tar", ".zip", ".7z", ".cpio") and holds.endswith(" data") else holds
                    self.assertIn(f"is named {suffix} but holds {holds_there}", notice["text"])
                    self.assertEqual(ended.stderr, f"gpuhist: {name}: {notice['text']}\n")

    def test_a_compressed_archive_is_read_as_what_it_is(self):
        for name, content in (("x.tar.gz", ARCHIVE), ("x.tar.lzma", lzma.compress(ARCHIVE)), ("x.zip", gzip.compress(ARCHIVE)),
                              ("x.tgz", zipped({"t": MEMBERS})), ("x.tar.gz", gzip.compress(MEMBERS)), ("x.zip", gzip.compress(MEMBERS))):  # fmt: skip
            with self.subTest(name=name):
                ended = run(*JSON, self.file(name, content))
                self.assertEqual((ended.status, len(notices(ended))), (0, 1), ended)
                self.assert_counts(ended.result, MEMBERS)

    def test_what_agrees_with_its_name_has_no_notice(self):
        for kind, (content, counted, _) in CONTENTS.items():
            for suffix in (suffix for suffix, promised in PROMISED.items() if promised == kind):
                self.assert_counted(run(*JSON, "--strict-names", self.file("data" + suffix, content)), counted)
        self.assert_counted(run(*JSON, "--strict-names", self.file("x.tgz", gzip.compress(ARCHIVE))), MEMBERS)

    def test_strict_names_refuse_and_quiet_runs_are_silent(self):
        good = self.file("good.log", text(50))
        for kind, (content, counted, holds) in CONTENTS.items():
            path = self.file("data.lz4", content)
            with self.subTest(kind=kind):
                ended = run(*JSON, "--strict-names", path, good)
                self.assertEqual(ended.status, 1, ended)
                self.assert_counts(ended.result, text(50))
                self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused")
                self.assertIn(f"is named .lz4 but holds {holds}, which --strict-names refuses", ended.stderr)
                quiet = run("-q", *JSON, path)
                self.assertEqual((quiet.status, quiet.stderr, len(notices(quiet))), (0, "", 1))

    def test_content_that_is_neither_the_format_nor_text_is_damaged_or_searched_for_frames(self):
        path = self.file("data.gz", b"\1\2\3" + gzip.compress(DATA))
        ended = run(*JSON, path)
        self.assertEqual((ended.status, ended.result["inputs"][0]["error_kind"], ended.result["bytes"]), (1, "damaged", 0))
        ended = run(*JSON, "--skip-damage", path)
        self.assertEqual(ended.status, 1, ended)
        self.assert_counts(ended.result, DATA)


BINARY = b"\x01\0\x02" + noise(3000)
REFUSED = {
    "x.lrz": (b"LRZI\0\x06" + BINARY, "lrzip data", "lrzip"),
    "x.rar": (b"Rar!\x1a\x07\0" + BINARY, "a rar archive", "unrar"),
    "x.parquet": (b"PAR1" + BINARY + b"PAR1", "Parquet data", "duckdb"),
    "x.orc": (b"ORC" + BINARY, "ORC data", "orc-contents"),
    "x.arrow": (b"ARROW1\0\0" + BINARY, "Arrow data", "pyarrow"),
    "x.journal": (b"LPKSHHRH" + bytes(8) + BINARY, "a systemd journal", "journalctl"),
    "x.lzo": (b"\x89LZO\0\r\n\x1a\n" + BINARY, "lzop data", "lzop"),
    "x.bz3": (b"BZ3v1" + BINARY, "bzip3 data", "bzip3"),
    "x.lzfse": (b"bvx2" + BINARY, "LZFSE data", "lzfse"),
    "old.zst": (b"\x27\xb5\x2f\xfd" + BINARY, "data of Zstandard before 0.8", "zstd"),
    "x.zpaq": (bytes.fromhex("376b5374a03183d38cb228b0d3") + b"zPQ\2\1" + BINARY, "a zpaq archive", "zpaq"),
    "x.cab": (b"MSCF" + bytes(4) + BINARY, "a cabinet", "bsdtar"),
    "x.xar": (b"xar!\0\x1c\0\1" + BINARY, "a xar archive", "bsdtar"),
    "x.squashfs": (b"hsqs\3\0\0\0" + BINARY, "a squashfs image", "sqfs2tar"),
    "x.avro": (b"Obj\1" + BINARY, "Avro data", "fastavro"),
    "x.seq": (b"SEQ\6\x19org.apache.hadoop.io.Text" + BINARY, "a Hadoop sequence file", "hadoop fs -text"),
    "x.evtx": (b"ElfFile\0" + BINARY, "a Windows event log", "evtx_dump"),
}  # fmt: skip


class Unread(CommandTest):
    """Known formats that no decoder reads."""

    def assert_refused(self, ended, words, counted=0):
        (failed,) = [each for each in ended.result["inputs"] if "error" in each]
        self.assertEqual((ended.status, ended.result["bytes"], failed["error_kind"]), (1, counted, "refused"), ended)
        self.assertIn(words, failed["error"])
        self.assertIn(failed["error"], ended.stderr)
        return failed["error"]

    def test_they_are_refused_and_the_error_names_format_and_command_unless_they_are_to_be_counted_raw(self):
        good = self.file("good.log", text(50))
        for name, (content, holds, command) in REFUSED.items():
            path = self.file(name, content)
            member = self.file("archive.tar", tar({name: content}))
            with self.subTest(name=name):
                for given in (path, member):
                    error = self.assert_refused(run(*JSON, given, good), f"holds {holds}, which gpuhist does not read; to count its text: ", 50)
                    self.assertRegex(error, rf": .*{command}.* \(to count its bytes as they are: --input-format raw\)$")
                self.assert_counted(run(*JSON, "--input-format", "raw", path), content)
                for pieces in ([content], [content[:1], content[1:7], content[7:]], [content[:50], content[50:]]):
                    self.assert_refused(run_fed(pieces, *JSON), f"holds {holds}, ")

    def test_text_that_begins_with_their_magic_numbers_is_text(self):
        for content in (b"ORCID,name\n1,a\n", b"PAR1\n", b"LRZI is a format\n", b"!<arch>\ndebian-binary is a member\n",
                        b"ARROW1", b"LPKSHHRH\n", b"Rar!", b"ORC", b"ORC of the dark tower\n" + bytes(3000), b"SEQUENCE 1\n",
                        b"Obj: 1\n", b"hsqs", b"bvx2 and bvx1\n", b"xar!\n", b"zPQ: 1\n", b"MSCF\n"):  # fmt: skip
            self.assert_counted(run(*JSON, "--fail-on-unknown", self.file("x.log", content)), content)
            self.assert_counted(run(*JSON, "--fail-on-unknown", stdin_bytes=content), content)
        ended = run(*JSON, self.file("x.br", DATA))
        self.assertEqual([each["kind"] for each in notices(ended)], ["name_differs"])
        self.assert_counts(ended.result, DATA)

    def test_of_two_compressions_one_is_decoded_so_the_other_is_refused(self):
        once = gzip.compress(DATA)  # a header of gzip has the time
        within = {"d": (gzip.compress(once), "gzip data within gzip data", "gzip"),
                  "x.rar.zst": (zstd(REFUSED["x.rar"][0]), "a rar archive within zstd data", "zstd"),
                  "x.br.gz": (gzip.compress(BINARY), "brotli data within gzip data", "gzip")}  # fmt: skip
        for name, (content, holds, outer_format) in within.items():
            path, outer = self.file(name, content), self.file("outer.tar", tar({name: content}))
            with self.subTest(name=name):
                for given in (path, outer):
                    self.assertIn(f"--input-format {outer_format})", self.assert_refused(run(*JSON, given), f"holds {holds}, of which"))
                if name != "x.br.gz":
                    self.assert_refused(run_fed([content[:40], content[40:]], *JSON), f"holds {holds}")
        self.assert_counted(run(*JSON, "--fail-on-unknown", self.file("x.bin.gz", gzip.compress(BINARY))), BINARY)
        self.assert_counted(run(*JSON, "--input-format", "gzip", self.file("d", within["d"][0])), once)

    def test_a_job_reports_them_as_failed(self):
        for name, (content, _, _) in REFUSED.items():
            self.file(name, content)
        job = ("batch", "--engine", ENGINE, *(self.folder / name for name in REFUSED), "--output-dir")
        ended = run(*job, self.folder / "out", engine=None)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn(f"{len(REFUSED)} failed", ended.stderr)

    def test_the_command_in_the_error_counts_the_text_that_a_real_tool_packed(self):
        self.file("a.log", DATA)
        made = (("lrzip", ["lrzip", "-q", "a.log"], "a.log.lrz"), ("bsdtar", ["bsdtar", "-cf", "a.xar", "--format=xar", "a.log"], "a.xar"))
        for tool, command, name in made:
            with self.subTest(tool=tool):
                self.require(tool)
                subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                error = self.assert_refused(run(*JSON, self.folder / name), "to count its text: ")
                decode = error[error.index("to count its text: ") + len("to count its text: ") : error.index(" (to count its bytes")]
                decode = decode.replace("FILE", name).replace("gpuhist", f"'{GPUHIST}' --format json --engine host")
                counted = subprocess.run(["bash", "-c", decode], cwd=self.folder, stdout=subprocess.PIPE, check=True)
                self.assertEqual(json.loads(counted.stdout)["bytes"], len(DATA))


class LooksCompressed(CommandTest):
    """Bytes of no known format that look compressed are counted with one notice; text never looks compressed."""

    def compressed(self):
        data = text(400_000)
        yield "noise", noise(100_000)
        yield "4 KiB", noise(4096)
        for level in (1, 6, 9):
            yield f"deflate {level}", zlib.compress(data, level)[2:]
        yield "lzma", lzma.compress(data, lzma.FORMAT_ALONE)
        yield "lzma without a header", lzma.compress(data, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}])
        for quality in ("1", "5", "11"):
            yield f"brotli {quality}", subprocess.run(["brotli", "-c", "-q", quality], input=data, stdout=subprocess.PIPE, check=True).stdout

    @needs("brotli")
    def test_one_notice_for_files_streams_and_members_that_is_an_error_if_asked(self):
        for name, content in self.compressed():
            path, member = self.file("data.bin", content), self.file("x.tar", tar({"data.bin": content}))
            small = self.file("small.bin", b"\0\1")
            runs = {str(path): run(*JSON, path), f"{member}/data.bin": run(*JSON, member),
                    "(standard input)": run_fed([content[:100], content[100:1500], content[1500:]], *JSON)}  # fmt: skip
            for shown, ended in runs.items():
                with self.subTest(name=name, shown=shown):
                    self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                    self.assert_counts(ended.result, content)
                    (notice,) = notices(ended)
                    self.assertEqual((notice["name"], notice["kind"]), (shown, "unknown_compression"))
                    self.assertEqual(ended.stderr, f"gpuhist: {shown}: looks compressed or encrypted, and is of no format that "
                                     "gpuhist knows; its bytes are counted as they are\n")  # fmt: skip
            many = run(*JSON, path, small, path, "--chunk-size", "64KiB")  # in slots with other files
            self.assertEqual([each["kind"] for each in notices(many)], ["unknown_compression"] * 2)
            self.assertEqual(notices(run(*JSON, "--input-format", "raw", path)), [])
            ended = run(*JSON, "--fail-on-unknown", path)
            self.assertEqual((ended.status, ended.result["bytes"], ended.result["inputs"][0]["error_kind"]), (1, 0, "refused"), ended)
            self.assertIn("which --fail-on-unknown refuses; decompress it first, or give --input-format raw", ended.stderr)

    def test_text_of_many_scripts_and_encodings_numbers_and_programs_do_not_look_compressed(self):
        chosen = random.Random(3)
        scripts = {"Latin": (0x20, 0x24F), "Cyrillic": (0x400, 0x4FF), "Greek": (0x391, 0x3C9), "Arabic": (0x620, 0x64A),
                   "Devanagari": (0x904, 0x939), "Thai": (0xE01, 0xE3A), "kana": (0x3041, 0x30FE), "Han": (0x4E00, 0x9FA5),
                   "Hangul": (0xAC00, 0xD7A3), "emoji": (0x1F300, 0x1F6FF)}  # fmt: skip
        contents = {}
        for script, (first, last) in scripts.items():  # each character as often as the others: the worst case
            written = "".join(chr(chosen.randint(first, last)) for _ in range(30_000))
            for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"):
                contents[f"{script} {encoding}"] = written.encode(encoding)
            for encoding in ("gbk", "big5", "euc_jp", "shift_jis", "euc_kr", "koi8_r"):
                contents[f"{script} {encoding}"] = b"\0" + written.encode(encoding, "ignore")
        contents["base64"] = b"\0" + base64.b64encode(noise(60_000))
        contents["base85"] = b"\0" + base64.b85encode(noise(60_000))
        contents["hexadecimal"] = b"\0" + noise(60_000).hex().encode()
        contents["doubles"] = struct.pack("<8000d", *(chosen.gauss(0, 1) for _ in range(8000)))
        contents["sound"] = struct.pack("<30000h", *(int(12_000 * math.sin(at / 7) + chosen.gauss(0, 300)) for at in range(30_000)))
        contents["a program"] = Path(GPUHIST).read_bytes()[:2_000_000]
        for name, content in contents.items():
            self.file(name, content)
        ended = run(*JSON, "--fail-on-unknown", *(self.folder / name for name in contents))
        self.assertEqual((ended.status, ended.stderr, notices(ended)), (0, "", []))


class Volumes(CommandTest):
    """The volumes of a split archive are named as such, whether they look like an archive or not."""

    def setUp(self):
        super().setUp()
        self.file("r", noise(200_000))

    def volumes(self, *command):
        self.require(command[0])
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return sorted(path for path in self.folder.iterdir() if path.name.startswith("v."))

    def assert_named(self, volumes, begun, remedy):
        """`begun`: volumes that look like a whole archive."""
        for number, path in enumerate(volumes, 1):
            with self.subTest(path=path.name):
                ended = run(*JSON, path)
                reported = ended.result["inputs"][0]
                said = reported["error"]
                self.assertEqual(reported["error_kind"], "refused")
                self.assertIn("last volume" if path.name == "v.zip" else f"is volume {number} of a split archive", said)
                self.assertIn(f"join the volumes first: {remedy}", said)
                if path.name in begun and path.name != "v.zip":
                    self.assertRegex(said, r", at offset \d+; it is ")  # the cause

    def test_volumes_of_7z(self):
        volumes = self.volumes("7z", "a", "-v64k", "v.7z", "r")
        self.assert_named(volumes, ["v.7z.001"], f"cat {self.folder}/v.7z.??? > {self.folder}/v.7z")

    def test_volumes_of_a_zip_that_7z_wrote(self):
        volumes = self.volumes("7z", "a", "-tzip", "-v64k", "v.zip", "r")
        self.assert_named(volumes, ["v.zip.001"], f"cat {self.folder}/v.zip.??? > {self.folder}/v.zip")

    def test_volumes_of_zip(self):
        volumes = self.volumes("zip", "-q", "-s", "64k", "v.zip", "r")
        remedy = f"zip -s 0 {self.folder}/v.zip --out joined.zip"
        self.assert_named([path for path in volumes if path.name != "v.zip"], [], remedy)
        self.assert_named([self.folder / "v.zip"], ["v.zip"], remedy)
        ended = run(*JSON, (self.folder / "v.z01").rename(self.folder / "renamed"))
        self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused", ended)
        self.assertIn("it is the first volume of a split archive; join the volumes first: zip -s 0", ended.stderr)

    def test_the_command_that_joins_the_volumes_can_be_pasted_whatever_their_folder_is_named(self):
        folder = self.folder / "it's a folder"
        folder.mkdir()
        self.volumes("7z", "a", "-v64k", folder / "v.7z", "r")
        (refused,) = run(*JSON, folder / "v.7z.002").result["inputs"]
        command = refused["error"].split("join the volumes first: ")[1].split(" (to count its bytes")[0]
        subprocess.run(["sh", "-c", command], check=True)
        self.assert_counted(run(*JSON, folder / "v.7z"), noise(200_000))

    def test_a_suffix_that_is_a_date_is_no_volume_and_a_volume_does_not_explain_a_wrong_checksum(self):
        damaged = flipped(gzip.compress(ARCHIVE), 150)
        for name in ("backup.tar.gz.20241128", "backup.tar.gz.001"):
            ended = run(*JSON, self.file(name, damaged))
            self.assertEqual({each.get("error_kind", "damaged") for each in ended.result["inputs"]}, {"damaged"}, ended)
            self.assertNotIn("volume", ended.stderr)
        ended = run(*JSON, self.file("backup.tar.gz.001", gzip.compress(ARCHIVE)[:400]))
        self.assertRegex(ended.stderr, "ends early: .* at compressed offset 400, .*; it is volume 1 of a split archive; join the volumes")
        self.assert_counted(run(*JSON, "--fail-on-unknown", self.file("enc.gz.20240101", BINARY)), BINARY)

    @needs("7z")
    def test_a_single_volume_that_is_whole_is_read(self):
        subprocess.run(["7z", "a", "-v10m", "v.7z", "r"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self.assert_counted(run(*JSON, self.folder / "v.7z.001"), noise(200_000))


class EndOfBgzf(CommandTest):
    def test_a_file_that_was_cut_between_blocks_is_complete_and_has_a_notice(self):
        data = text(400_000)
        blocks = [bgzf_block(data[at : at + 5000]) for at in range(0, len(data), 5000)]
        whole = b"".join(blocks) + BGZF_END
        for threads in ("1", "2", "5"):
            options = (*JSON, "--threads", threads)
            ended = run(*options, self.file("x.gz", whole))
            self.assert_counted(ended, data)
            self.assertNotIn("end_marker", ended.result["inputs"][0])
            for kept in (1, 2, 17, len(blocks)):
                content, counted = b"".join(blocks[:kept]), data[: 5000 * kept]
                member = self.file("x.tar", tar({"x.gz": content}))
                for ended in (run(*options, self.file("x.gz", content)), run(*options, stdin_bytes=content), run(*options, member)):
                    with self.subTest(threads=threads, kept=kept):
                        self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                        self.assert_counts(ended.result, counted)
                        self.assertIs(ended.result["inputs"][0]["end_marker"], False)
                        self.assertEqual([each["kind"] for each in notices(ended)], ["no_end_marker"])
                        self.assertIn("does not end with the empty block that ends BGZF files", ended.stderr)

    def test_other_members_at_the_end_have_no_marker(self):
        data = text(20_000)
        for content in (gzip.compress(data), bgzf_block(data[:10_000]) + gzip.compress(data[10_000:]),
                        bgzf_block(data) + BGZF_END + bytes(512)):
            self.assert_counted(run(*JSON, self.file("x.gz", content)), data)


class EndOfTar(CommandTest):
    FILES = {"a.log": text(700), "b.log": text(300, 1)}
    A, B = (tar_entry(name, data) for name, data in FILES.items())
    COUNTED = b"".join(FILES.values())
    # a magic number, and then names and offsets of members
    INDEX = bytes.fromhex("a64c322ed614aedb") + b"a.log\0" + struct.pack("<Q", 0) + b"b.log\0" + struct.pack("<Q", 1536) + b"\0" * 9

    def ended_runs(self, name, data):
        """As a file, from a pipe, and as a member of another tar."""
        path, outer = self.file(name, data), self.file("outer.tar", tar({name: data}))
        yield str(path), run(*JSON, path)
        yield str(path), run(*JSON, "--threads", "3", path)
        yield "(standard input)", run_fed([data[:1000], data[1000:]], *JSON)
        yield f"{outer}/{name}", run(*JSON, outer)

    def assert_noted(self, name, data, kind, words, counted=COUNTED):
        for shown, ended in self.ended_runs(name, data):
            with self.subTest(name=name, shown=shown):
                self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                self.assert_counts(ended.result, counted)
                (notice,) = notices(ended)
                self.assertEqual((notice["name"], notice["kind"]), (shown, kind))
                self.assertIn(words, notice["text"])
                self.assertEqual(ended.stderr, f"gpuhist: {shown}: {notice['text']}\n")

    def assert_incomplete(self, name, data, counted=COUNTED, words="without the mark of a tar archive's end"):
        for shown, ended in self.ended_runs(name, data):
            with self.subTest(name=name, shown=shown):
                self.assertEqual((ended.status, ended.result["complete"], notices(ended)), (1, False, []), ended)
                self.assert_counts(ended.result, counted)
                self.assertIn(f"ends early, {words}, at ", ended.stderr)

    def packed(self, archive):
        """In one frame with a checksum."""
        yield from ((".gz", gzip.compress(archive)), (".zst", zstd(archive, "--check")), (".bz2", bz2.compress(archive)),
                    (".xz", lzma.compress(archive)))  # fmt: skip
        for suffix, command in ((".xz", "xz --block-size=600"), (".lz", "lzip"), (".lz4", "lz4 -q")):
            yield suffix, self.through(command, archive)

    def through(self, command, data):
        return subprocess.run([*command.split(), "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout

    def test_without_end_blocks_an_archive_is_complete_only_if_a_checksum_around_it_verifies_its_end(self):
        archive = self.A + self.B
        for lacking in (0, 1, 212, -100):  # of the padding of the last member, which has 212 bytes; or of zeros after it
            cut = archive[: len(archive) - lacking] if lacking >= 0 else archive + bytes(-lacking)
            for suffix, data in self.packed(cut) if lacking == 0 else [(".gz", gzip.compress(cut))]:
                self.assert_noted("x.tar" + suffix, data, "no_end_blocks", "has no zero blocks at its end")
            self.assert_incomplete("x.tar", cut)
            self.assert_incomplete("x.tar.zst", zstd(cut, "--no-check"))
            ended = run(*JSON, self.file("x.tar.lzma", lzma.compress(cut, lzma.FORMAT_ALONE)))
            self.assertEqual((ended.status, ended.result["complete"], notices(ended)), (1, False, []), ended)
        in_zip = self.file("x.zip", zipped({"x.tar": archive}))
        ended = run(*JSON, in_zip)
        self.assertEqual((ended.status, [each["kind"] for each in notices(ended)]), (0, ["no_end_blocks"]), ended)

    def test_of_several_frames_one_may_be_missing(self):
        for suffix, pack in ((".gz", gzip.compress), (".zst", lambda data: zstd(data, "--check")), (".bz2", bz2.compress),
                             (".xz", lzma.compress)):  # fmt: skip
            self.assert_incomplete("x.tar" + suffix, pack(self.A) + pack(self.B))
        block = bgzf_block(self.A + self.B)
        for _, ended in self.ended_runs("x.tar.gz", block):
            self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)

    def test_a_header_that_was_begun_lacks_its_member(self):
        shared = tar_entry("shared", b"19 comment=nothing\n", b"g")
        for suffix, data in self.packed(self.A + self.B[:300]):
            self.assert_incomplete("x.tar" + suffix, data, self.FILES["a.log"], "within the header of a member")
        for suffix, data in self.packed(self.A + shared):
            self.assert_incomplete("x.tar" + suffix, data, self.FILES["a.log"])
        for size in (512, 700, 811):  # within the content
            for _, ended in self.ended_runs("x.tar.gz", gzip.compress(self.A + self.B[:size])):
                self.assertEqual((ended.status, notices(ended)), (1, []), ended)
                self.assert_counts(ended.result, self.FILES["a.log"])

    def test_the_index_of_pixz_is_not_counted(self):
        for zeros in (1024, 1536, 10_240):
            archive = self.A + self.B + bytes(zeros) + self.INDEX
            for suffix, data in (("", archive), ("", archive + self.INDEX * 99), (".xz", lzma.compress(archive)), (".zst", zstd(archive, "--no-check"))):
                self.assert_noted("x.tar" + suffix, data, "trailing_data", "index of pixz")
        for before in (b"", bytes(512)):
            for _, ended in self.ended_runs("x.tar", self.A + self.B + before + self.INDEX):
                self.assertEqual((ended.status, notices(ended)), (1, []), ended)

    @needs("pixz")
    def test_what_pixz_writes_for_a_tar_is_complete(self):
        for number, archive in enumerate((tar(self.FILES), self.A + self.B + bytes(1024), tar({str(n): text(200, n) for n in range(400)}))):
            path = self.folder / f"{number}.tpxz"  # pixz does not truncate a file that exists
            subprocess.run(["pixz", "-p", "1", str(self.file("x.tar", archive)), str(path)], check=True)
            data = path.read_bytes()
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as read:
                counted = b"".join(read.extractfile(member).read() for member in read)
            self.assert_noted("x.tar.xz", data, "trailing_data", "index of pixz", counted)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class Refused(CommandTest):
    """A file that may be intact is refused; only one whose content contradicts its format is damaged."""

    def intact(self):
        for number in range(200):
            self.file(f"s{number}", "\n".join(map(str, range(number, number + 50))).encode())
        samples = [str(self.folder / f"s{number}") for number in range(200)]
        subprocess.run(["zstd", "-q", "--train", *samples, "-o", str(self.folder / "t.dict")], check=True, stderr=subprocess.DEVNULL)
        window = lzma.compress(text(3000), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])
        block = bytearray(window)
        block[12 + 4] = 39  # the dictionary of the block: 3 GiB
        block[12 + 8 : 12 + 12] = struct.pack("<I", zlib.crc32(bytes(block[12 : 12 + 8])))
        return {
            "window.zst": zstd(text(3000), "--long=28", "--no-check"),
            "dictionary.zst": zstd(text(3000), "-D", str(self.folder / "t.dict")),
            "method.gz": gzip.compress(text(3000)).replace(b"\x1f\x8b\x08", b"\x1f\x8b\x09", 1),
            "window.xz": bytes(block),
            "version.lz": b"LZIP\2\x0c" + noise(100),
            "dictionary.lz4": bytes.fromhex("04224d1861400100000087"),
        }  # fmt: skip

    def of_7z(self):
        self.file("a.log", text(30_000))
        made = {"deflate64.zip": ["-tzip", "-mm=Deflate64"], "password.zip": ["-tzip", "-pX"],
                "method.7z": ["-m0=Deflate64"], "password.7z": ["-pX", "-mhe=on"]}  # fmt: skip
        for name, options in made.items():
            subprocess.run(["7z", "a", *options, name, "a.log"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return {name: (self.folder / name).read_bytes() for name in made}

    def kinds(self, *options):
        ended = run(*JSON, *options)
        self.assertEqual(ended.status, 1, ended)
        return {each["name"].split("/")[-1]: (each["error_kind"], each["error"]) for each in ended.result["inputs"] if "error" in each}

    def test_intact_files_are_refused_and_so_they_are_within_a_tar(self):
        self.assert_refused(self.intact())

    @needs("7z")
    def test_archives_of_7z_with_a_password_or_another_method_are_refused(self):
        self.assert_refused(self.of_7z())

    def assert_refused(self, files):
        for name, content in files.items():
            path = self.file(name, content)
            member = self.file("x.tar", tar({name: content}))
            for given in (path, member):
                if given is member and name.endswith(".7z"):
                    continue  # from within another file no 7z archive is read
                for skipping in ((), ("--skip-damage",)):
                    with self.subTest(name=name, given=given.name, skipping=skipping):
                        found = self.kinds("--memory-limit", "128MiB", *skipping, given)
                        self.assertEqual({kind for kind, _ in found.values()}, {"refused"}, found)

    def test_damaged_files_are_damaged(self):
        data = text(30_000)
        damaged = {f"x{suffix}": flipped(pack(data), -5) for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstd))}
        damaged["y.xz"] = flipped(lzma.compress(data), 2000)
        damaged["z.gz"] = gzip.compress(data)[:-9]
        damaged["z.zip"] = flipped(zipped({"a.log": data}), 2000)
        for name, content in damaged.items():
            for given in (self.file(name, content), self.file("x.tar", tar({name: content}))):
                for skipping in ((), ("--skip-damage",)):
                    with self.subTest(name=name, given=given.name, skipping=skipping):
                        self.assertEqual({kind for kind, _ in self.kinds(*skipping, given).values()}, {"damaged"})

    def test_a_range_that_was_skipped_has_the_kind_of_its_cause_wherever_the_result_was(self):
        self.intact()
        frames = {"refused": zstd(text(3000), "-D", str(self.folder / "t.dict")), "damaged": flipped(zstd(text(3000), "--check"), -2)}
        good = zstd(text(500), "--check")
        for kinds in itertools.product(frames, repeat=2):
            path = self.file("x.zst", good + frames[kinds[0]] + good + frames[kinds[1]] + good)
            ended = run(*JSON, "--byte-counts", "--skip-damage", path)
            job = ("batch", "--skip-damage", "--engine", ENGINE, path, "--output-dir", self.folder / "-".join(kinds))
            results = [ended.result, run("report", "--format", "json", self.file("r", ended.stdout), engine=None).result]
            for _ in range(2):  # the second one has it from the state
                self.assertEqual(run(*job, engine=None).status, 1)
                results.append({"inputs": [json.loads((job[-1] / "files.jsonl").read_text())]})
            for result in results:
                with self.subTest(kinds=kinds):
                    (reported,) = result["inputs"]
                    self.assertEqual((reported["bytes"], reported["error_kind"]), (1500, kinds[0]))
                    self.assertEqual([each["error_kind"] for each in reported["lost"]], list(kinds))


class Kept(CommandTest):
    """Every way in which a result is kept."""

    def setUp(self):
        super().setUp()
        self.paths = [str(self.file(f"{number:02}.zst", text(100, number))) for number in range(25)]

    def expected(self):
        return [{"kind": "name_differs", "text": "is named .zst but holds text; it is counted as text", "name": path}
                for path in self.paths]  # fmt: skip

    def test_a_notice_is_printed_for_the_first_inputs_of_a_kind_and_in_the_result_of_all(self):
        ended = run(*JSON, *self.paths)
        self.assertEqual(notices(ended), self.expected())
        lines = ended.stderr.splitlines()
        self.assertEqual(len(lines), 11)
        self.assertTrue(lines[-1].startswith("gpuhist: notices of the kind name_differs of 15 more inputs"), lines[-1])

    def test_results_of_all_formats_have_it_and_those_that_are_read_back_keep_it(self):
        for form in ("json", "jsonl"):
            result = self.file("result", run("--byte-counts", "--format", form, *self.paths).stdout)
            again = run("report", "--format", "json", result, engine=None)
            self.assertEqual(sorted(notices(again), key=lambda each: each["name"]), self.expected(), form)
        table = run("report", result, engine=None).stdout.decode().splitlines()
        shown = [line.removeprefix("NOTICE  ") for line in table if line.startswith("NOTICE  ")]
        self.assertEqual(len(shown), 11)
        self.assertLessEqual(set(shown[:10]), {f"{each['name']}: {each['text']}" for each in self.expected()})
        self.assertTrue(shown[10].startswith("notices of the kind name_differs of 15 more inputs"), shown[10])
        self.assertNotIn("NOTICE", run("--format", "table", *self.paths).stdout.decode())  # they are on standard error
        rows = [row for row in csv.reader(io.StringIO(run("--format", "csv", *self.paths).stdout.decode())) if row[0] == "notice"]
        self.assertEqual(rows, [["notice", each["name"], each["kind"], each["text"], "1", ""] for each in self.expected()])

    def test_a_job_keeps_it_in_its_state_in_shards_and_when_it_is_continued(self):
        def inputs_of(folder):
            lines = (self.folder / folder / "files.jsonl").read_text().splitlines()
            return [{**notice, "name": each["name"]} for each in map(json.loads, lines) for notice in each.get("notices", ())]

        listed = self.file("list", "\n".join(self.paths).encode())
        job = ("batch", "--engine", ENGINE, "--files-from", listed, "--output-dir")
        whole = run(*job, self.folder / "whole", engine=None)
        self.assertEqual(whole.status, 0, whole)
        self.assertEqual(inputs_of("whole"), self.expected())
        self.assertEqual(run(*job, self.folder / "whole", engine=None).status, 0)  # everything is in its state
        self.assertEqual(inputs_of("whole"), self.expected())
        manifest = self.folder / "manifest"
        self.assertEqual(run("batch", "plan", "--files-from", listed, "-o", manifest, engine=None).status, 0)
        for shard in (1, 2):
            ended = run("batch", "--engine", ENGINE, "--manifest", manifest, "--output-dir", self.folder / "shards",
                        "--shard", f"{shard}/2", engine=None)  # fmt: skip
            self.assertEqual(ended.status, 0, ended)
        self.assertEqual(run("merge", self.folder / "shards", engine=None).status, 0)
        self.assertEqual(inputs_of("shards"), self.expected())


if __name__ == "__main__":
    main()
