"""Archives: every member that is a file is an input of its own. Headers, padding and damage are never counted as text.
The oracle is what Python's tarfile and zipfile find in the same archives. They share no code with gpuhist."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import tarfile
import zipfile
import zlib

from support import CommandTest, Running, feed, main, needs, noise, oracle, remarks, run, run_fed, sampled, tar, tar_entry, text, unread, wait_until, zipped, zipped_to_pipe, zstd

JSON = ("--format", "json", "--buckets", "letters,bytes")

FILES = {"a.log": text(1000), "dir/b.log": text(70_000, 2), "empty": b"", "dir/c.bin": noise(5000), "d": b"x" * 512}


def in_tar(archive):
    """The files that Python finds, in their order, without links."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
        return [(each.name, opened.extractfile(each).read()) for each in opened if each.isreg()]


def in_zip(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return [(each.filename, opened.read(each)) for each in opened.infolist() if not each.is_dir()]


def pax(*records, kind=b"x"):
    body = b""
    for each in records:
        length = len(each) + 2
        while length != len(b"%d %s\n" % (length, each)):
            length += 1
        body += b"%d %s\n" % (length, each)
    return tar_entry("PaxHeaders/x", body, kind)


END_OF_TAR = bytes(1024)


class ArchiveTest(CommandTest):
    def tree(self, files=FILES):
        """The files in a folder of their own."""
        root = self.folder / "tree"
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        return root

    def assert_members(self, ended, name, members):
        """The run succeeded, and the inputs of the result are the members of this archive, in their order."""
        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
        self.assertIs(ended.result["complete"], True)
        self.assertEqual([each["name"] for each in ended.result["inputs"]], [f"{name}/{path}" for path, _ in members])
        for reported, (_, data) in zip(ended.result["inputs"], members):
            self.assertIs(reported["complete"], True)
            self.assert_counts(reported, data)
        self.assert_counts(ended.result, b"".join(data for _, data in members))

    def assert_read(self, name, archive, members, pipe=True):
        """The archive is read as a file and from a pipe."""
        path = self.file(name, archive)
        self.assert_members(run(*JSON, path), path, members)
        if pipe:
            self.assert_members(run(*JSON, "--label", "stream", stdin_bytes=archive), "stream", members)

    def assert_never_wrong(self, ended, members):
        """Verified counts are counts of members. A run that is reported as complete has all members. `members`: by path."""
        result = ended.result
        known = {f"{self.folder}/{path}": oracle(data) for path, data in members.items()}
        verified = 0
        for reported in result["inputs"]:
            if reported["complete"] and reported["name"] in known:
                self.assertEqual(reported["bytes"], known[reported["name"]]["bytes"], ended)
                self.assertEqual(reported["buckets"]["bytes"], known[reported["name"]]["buckets"]["bytes"], ended)
            elif not reported["complete"]:
                self.assertEqual(reported["bytes"], 0, ended)  # members are verified as a whole or not at all
            verified += reported["bytes"]
        self.assertEqual(result["bytes"], verified)
        self.assertEqual(ended.status, 0 if result["complete"] else 1, ended)
        self.assertEqual(result["complete"], all(each["complete"] for each in result["inputs"]))
        if result["complete"]:  # some formats do not cover names with a checksum
            counted = [each["buckets"]["bytes"] for each in result["inputs"]]
            self.assertCountEqual(counted, [each["buckets"]["bytes"] for each in known.values()], ended)
        return result


class Tar(ArchiveTest):
    def test_tar_archives_of_every_dialect_are_read(self):
        long_name = "/".join(["a-rather-long-name"] * 12)
        files = {**FILES, long_name + "/x.log": text(3000, 3), "größe-検索": text(10)}
        for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            with self.subTest(format=format):
                archive = tar(files, format)
                self.assertEqual(dict(in_tar(archive)), files)
                self.assert_read("x.tar", archive, in_tar(archive))
        self.assert_read("x.tar", tar(FILES), in_tar(tar(FILES)))

    def test_archives_of_the_tar_command_are_read_compressed_or_not(self):
        root = self.tree()
        for format in sampled(("v7", "ustar", "gnu", "posix"), 2):
            archive = subprocess.run(["tar", "-C", root, f"--format={format}", "--sort=name", "-cf", "-", "."],
                                     stdout=subprocess.PIPE, check=True).stdout
            members = [(f"./{name.removeprefix('./')}", data) for name, data in in_tar(archive)]
            cases = (("x.tar", archive), ("x.tar.gz", gzip.compress(archive)), ("x.tgz", gzip.compress(archive)),
                     ("x.tar.xz", lzma.compress(archive)), ("x.tar.bz2", bz2.compress(archive)),
                     ("x.tar.zst", zstd(archive)), ("x.tar.zst", zstd(archive, "--check")))
            for name, encoded in sampled(cases, 2):
                with self.subTest(format=format, name=name):
                    self.assert_read(name, encoded, members)

    def test_an_archive_of_the_tar_command_without_magic_is_recognised_by_its_first_header(self):
        """A label, the second volume of several, and the format of 1979: GNU tar writes no "ustar" into these headers."""
        root = self.tree({"a.log": noise(15_000), "b.log": text(70_000, 2)})

        def made_by_tar(*options):
            return subprocess.run(["tar", "-C", root, *options, "-cf", "-", "a.log", "b.log"], stdout=subprocess.PIPE,
                                  check=True).stdout

        for options in (("-V", "nightly-2026-11-27"), ("--format=v7",), ("--format=oldgnu", "-V", "x" * 90)):
            archive = made_by_tar(*options)
            self.assertEqual(archive[257:265], bytes(8))
            for encoded in (archive, gzip.compress(archive), zstd(archive), lzma.compress(archive)):
                with self.subTest(options=options, encoded=encoded[:4]):
                    self.assert_read("backup", encoded, in_tar(archive))
        volumes = [self.folder / name for name in ("first", "second")]
        outputs = [argument for volume in volumes for argument in ("-f", volume)]
        subprocess.run(["tar", "-C", root, "-M", "-L", "10", "-c", *outputs, "a.log"], check=True)
        with open(volumes[1], "rb") as second:
            for ended in (run(*JSON, volumes[1]), run(*JSON, stdin_bytes=second.read())):
                self.assertEqual((ended.status, ended.result["bytes"]), (1, 0))
                self.assertIn("is the rest of a file that begins in another volume", ended.stderr)

    def test_content_decides_the_format_if_the_name_does_not(self):
        archive = tar(FILES)
        for name in ("data", "data.gz"):
            encoded = gzip.compress(archive) if name == "data.gz" else archive
            self.assert_read(name, encoded, in_tar(archive))

    def test_only_files_are_inputs(self):
        extra = []
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"no-file-{kind.decode()}")
            info.type, info.linkname = kind, "a.log"
            extra.append(info)
        archive = tar(FILES, extra=extra)
        self.assertEqual(len(in_tar(archive)), len(FILES))
        path = self.file("x.tar", archive)
        ended = run(*JSON, path)
        self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
        self.assertEqual([each["name"] for each in ended.result["inputs"]], [f"{path}/{name}" for name, _ in in_tar(archive)])
        self.assertEqual(ended.result["skipped_by_cause"],
                         {f"{kind} in an archive": count for kind, count in
                          {"directory": 1, "symbolic link": 1, "hard link": 1, "device": 2, "FIFO": 1}.items()})
        self.assertIn(f"skipped a symbolic link in an archive: {path}/no-file-2\n", ended.stderr)

    def test_holes_of_sparse_files_are_counted_as_zeros(self):
        root = self.tree({})
        root.mkdir(exist_ok=True)
        with open(root / "sparse", "wb") as out:
            for at in (300_000, 900_000):
                out.seek(at)
                out.write(text(5000))
            out.truncate(1_500_000)
        (root / "hole").touch()
        os.truncate(root / "hole", 700_000)
        with open(root / "many", "wb") as out:  # more extents than fit in one header
            for at in range(60):
                out.seek(at * 16_384 + 8192)
                out.write(text(5000, at))
        names = ("sparse", "hole", "many")
        posix = (("--format=posix", f"--sparse-version={version}") for version in ("0.0", "0.1", "1.0"))
        for options in sampled((("--format=gnu",), *posix), 2):
            archive = subprocess.run(["tar", "-C", root, "-S", *options, "-cf", "-", *names], stdout=subprocess.PIPE,
                                     check=True).stdout
            self.assertLess(len(archive), 700_000)
            with self.subTest(options=options):
                self.assert_read("x.tar", archive, [(name, (root / name).read_bytes()) for name in names])

    def test_a_sparse_file_whose_map_lists_more_data_than_the_archive_holds_is_damaged(self):
        records = b"".join(b"%d %s\n" % (len(each) + 4, each) for each in (
            b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.name=sp", b"GNU.sparse.realsize=5000"))
        header = tarfile.TarInfo("PaxHeaders/sp")
        header.type, header.size = b"x", len(records)
        member = tarfile.TarInfo("GNUSparseFile/sp")
        member.size = 512 + 1200
        for extents, is_complete in ((b"1\n0\n1200\n", True), (b"2\n3800\n1200\n5000\n0\n", True), (b"1\n0\n1201\n", False),
                               (b"1\n0\n4000\n", False), (b"2\n0\n1200\n2000\n1\n", False)):
            archive = (header.tobuf() + records.ljust(512, b"\0") + member.tobuf() + extents.ljust(512, b"\0") +
                       text(1200).ljust(1536, b"\0") + tar({"b": text(60, 2)}))
            with self.subTest(extents=extents):
                ended = run(*JSON, self.file("x.tar", archive))
                sparse, after = ended.result["inputs"]
                self.assertEqual(ended.status, 0 if is_complete else 1, ended)
                self.assertEqual((sparse["complete"], after["complete"]), (is_complete, True), ended)
                if not is_complete:
                    self.assertIn("is a sparse file whose map lists data up to offset", sparse["error"])
                    self.assert_counts(ended.result, text(60, 2))

    def test_a_sparse_file_whose_map_lists_less_data_than_the_archive_holds_is_damaged(self):
        header = pax(b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.name=sp", b"GNU.sparse.realsize=5000")
        for extents, stored in ((b"2\n0\n600\n5000\n0\n", 1200), (b"2\n0\n688\n5000\n0\n", 1200),
                                (b"1\n0\n5000\n", 5512)):
            archive = header + tar_entry("GNUSparseFile/sp", extents.ljust(512, b"\0") + text(stored)) + tar({"b": text(60, 2)})
            for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
                with self.subTest(extents=extents):
                    self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
                    self.assertIn("a member has content that the map of a sparse file does not list", ended.stderr)

    def test_concatenated_archives_are_all_read(self):
        other = {"e": text(999, 5)}
        archive = tar(FILES) + tar(other)
        self.assert_read("x.tar", archive, [*in_tar(tar(FILES)), *in_tar(tar(other))])

    def test_the_rest_of_a_file_from_another_volume_is_not_an_input(self):
        """Type flag M. Members with other flags that POSIX does not define are files."""
        rest, other = tarfile.TarInfo("rest"), tarfile.TarInfo("other")
        archive = b""
        for info, flag in ((rest, b"M"), (other, b"Z")):
            info.size, info.type = 700, flag
            archive += info.tobuf(tarfile.GNU_FORMAT) + text(700) + bytes(324)
        archive += tar({"b": text(60, 2)})
        for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
            self.assertEqual(ended.status, 1, ended)
            reported = [(each["name"].rsplit("/")[-1], each["complete"], each["bytes"]) for each in ended.result["inputs"]]
            self.assertEqual(reported, [("rest", False, 0), ("other", True, 700), ("b", True, 60)])
            self.assertIn("is the rest of a file that begins in another volume", ended.stderr)
            self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused")

    def assert_volumes_read(self, format, size, message):
        """The first volume ends inside `a`, of this size. The second has the rest of it, and `b`."""
        root = self.tree({"a": noise(size), "b": text(60, 2)})
        volumes = [self.folder / name for name in ("1.tar", "2.tar")]
        outputs = [argument for volume in volumes for argument in ("-f", volume)]
        subprocess.run(["tar", "-C", root, f"--format={format}", "-M", "-L", "10", "-c", *outputs, "a", "b"], check=True)
        first, second = (run(*JSON, volume) for volume in volumes)
        self.assertEqual((first.status, first.result["bytes"], second.status), (1, 0, 1), first)
        self.assertIn(message, second.stderr)
        self.assert_counts(second.result, text(60, 2))

    def test_volumes_of_the_tar_command_are_read(self):
        self.assert_volumes_read("gnu", 15_000, "is the rest of a file")

    def test_volumes_of_the_tar_command_in_pax_format_are_read(self):
        self.assert_volumes_read("posix", 12_000, "GNUFileParts/a.2: is the rest of a file")

    def test_the_rest_of_a_file_from_another_volume_in_pax_format_is_not_an_input(self):
        volume = pax(b"GNU.volume.filename=a", b"GNU.volume.size=700", b"GNU.volume.offset=900", kind=b"g")
        rest, b = tar_entry("GNUFileParts/a.2", text(700)), tar_entry("b", text(60, 2))
        archive = volume + pax(b"mtime=1") + rest + b + END_OF_TAR
        for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
            self.assertEqual(ended.status, 1, ended)
            reported = [(each["complete"], each["bytes"], each.get("error_kind")) for each in ended.result["inputs"]]
            self.assertEqual(reported, [(False, 0, "refused"), (True, 60, None)])
            self.assertIn("is the rest of a file that begins in another volume", ended.stderr)
        self.assert_read("x.tar", pax(b"comment=x", kind=b"g") + rest + b + END_OF_TAR,
                         [("GNUFileParts/a.2", text(700)), ("b", text(60, 2))])

    def test_an_archive_that_ends_after_a_special_header_without_a_member_is_complete(self):
        b = tar_entry("b", text(60, 2))
        for special in (pax(b"comment=x", kind=b"g"), tar_entry("label", kind=b"V", format=tarfile.GNU_FORMAT)):
            for zeros in sampled((512, 1024, 1025, 1537, 10_240), 2):
                with self.subTest(special=special[156], zeros=zeros):
                    archive = special + bytes(zeros)
                    for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
                        self.assertEqual((ended.status, ended.result["complete"], ended.result["bytes"]), (0, True, 0), ended)
            self.assert_read("x.tar", special + END_OF_TAR + b + END_OF_TAR, [("b", text(60, 2))])
            self.assert_read("x.tar", special + b + END_OF_TAR, [("b", text(60, 2))])

    def test_an_archive_without_members_counts_nothing(self):
        for archive in (tar({}), tar({}, extra=[tarfile.TarInfo("x")][:0])):
            ended = run(*JSON, self.file("x.tar", archive))
            self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
            (reported,) = ended.result["inputs"]
            self.assertEqual((reported["format"], reported["bytes"], reported["complete"]), ("tar", 0, True))

    def test_archives_are_reported_in_the_order_given_in_whatever_order_they_are_read(self):
        sizes = (400_000, 10, 200_000, 1000)
        paths, expected = [], []
        for number, size in enumerate(sizes):
            files = {f"{i}": text(size + i, number) for i in range(5)}
            paths += [self.file(f"{number}.tar.zst", zstd(tar(files))), self.file(f"{number}.log", text(size))]
            expected += [f"{paths[-2]}/{name}" for name in files] + [str(paths[-1])]
        ended = run(*JSON, *paths)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual([each["name"] for each in ended.result["inputs"]], expected)

    def test_names_are_reported_and_never_opened(self):
        evil = ("../../escaped", "/absolute", "a\nb", "\x1b[31mred", "..", "x" * 90)
        archive = tar({name: text(10, i) for i, name in enumerate(evil)})
        path = self.file("x.tar", archive)
        before = sorted(self.folder.iterdir())
        ended = run(*JSON, path)
        self.assert_members(ended, path, in_tar(archive))
        self.assertEqual(sorted(self.folder.iterdir()), before)
        table = run("--format", "table", path).stdout.decode()
        self.assertNotIn("\x1b", table)
        self.assertIn("a\\x0ab", table)

    def test_a_name_of_more_than_64_kib_is_refused(self):
        for size in (65_536, 65_537, 999_000):
            archive = tar({"a": text(700), "n" * size: text(60, 2), "c": text(70, 3)}, tarfile.GNU_FORMAT)
            path = self.file("x.tar.gz", gzip.compress(archive))
            ended = run(*JSON, path)
            with self.subTest(size=size):
                if size <= 65_536:
                    self.assertEqual((ended.status, ended.result["bytes"]), (0, 830), ended)
                    continue
                self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                own, a = ended.result["inputs"]
                header_at = 1536 + 512 + -(-(size + 1) // 512) * 512
                self.assertIn(f"has a member with a name of {size} bytes, more than the limit of 65536", own["error"])
                self.assertIn(f"offset {header_at}", own["error"])
                self.assertEqual(own["error_kind"], "refused")

    def test_members_with_long_names_are_counted_with_little_memory(self):
        archive = tar({"n" * 60_000 + str(i): text(10) for i in range(600)}, tarfile.GNU_FORMAT)
        path = self.file("x.tar.gz", gzip.compress(archive))
        ended = run("--format", "json", "--buckets", "letters", "--memory-limit", "64MiB", path)
        self.assertEqual((ended.status, remarks(ended)), (0, []))
        self.assertEqual((len(ended.result["inputs"]), ended.result["bytes"]), (600, 6000))

    def test_a_name_that_is_not_utf8_is_kept(self):
        archive = bytearray(tar({"abc": b"text"}))
        archive[1] = 0xFF
        archive[148:156] = b"%06o\0 " % (sum(archive[:148]) + sum(archive[156:512]) + 8 * 32)
        ended = run(*JSON, stdin_bytes=bytes(archive))
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("name_base64", ended.result["inputs"][0])

    def test_many_small_members_are_counted(self):
        files = {f"{i:05}": text(i % 300, i % 7) for i in range(3000)}
        archive = tar(files)
        path = self.file("x.tar.zst", zstd(archive))
        self.assert_members(run(*JSON, "--buckets", "letters", path), path, list(files.items()))

    def test_an_archive_that_does_not_match_its_name_is_refused(self):
        cases = (("x.tar", b"\1binary\n" * 100, "is named .tar but does not hold a tar archive"),
                 ("x.tar", b"", "is named .tar but is empty"),
                 ("x.tar.gz", gzip.compress(b"\1binary\n" * 100), "is named .tar but does not hold a tar archive"),
                 ("x.tgz", gzip.compress(b""), "is named .tgz but is empty"),
                 ("x.zip", b"\1binary\n" * 100, "is named .zip but does not hold a zip archive"))
        for name, content, words in cases:
            with self.subTest(name=name):
                ended = run(*JSON, self.file(name, content), self.file("good", b"hello"))
                self.assertEqual(ended.status, 1, ended)
                self.assertIn(words, ended.stderr)
                self.assert_counts(ended.result, b"hello")

    def test_input_format_selects_the_format(self):
        archive = tar(FILES)
        self.assert_counted(run(*JSON, "--input-format", "raw", self.file("x.tar", archive)), archive)
        self.assert_counted(run(*JSON, "--input-format", "gzip", self.file("x.tgz", gzip.compress(archive))), archive)
        for name, encoded in (("x", archive), ("x.zip", gzip.compress(archive)), ("y.gz", zstd(archive))):
            path = self.file(name, encoded)
            self.assert_members(run(*JSON, "--input-format", "tar", path), path, in_tar(archive))
        ended = run(*JSON, "--input-format", "zip", self.file("x", archive))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)


class Damage(ArchiveTest):
    SMALL = {"a.log": text(700), "b": text(60, 2)}

    def test_a_tar_that_is_cut_anywhere_is_not_complete(self):
        archive = tar(self.SMALL)
        end = 512 + 1024 + 512 + 512  # the end of the last member; zeros follow
        members = {f"x.tar/{name}": data for name, data in self.SMALL.items()}
        for size in sampled((*range(0, 520, 37), *range(500, end + 520, 97), 512, 1536, 2048, end, end + 1, end + 511), 6):
            with self.subTest(size=size):
                ended = run(*JSON, self.file("x.tar", archive[:size]))
                result = self.assert_never_wrong(ended, members)
                self.assertIs(result["complete"], size >= end + 512 and size % 512 == 0, ended)
        self.assertEqual(run(*JSON, self.file("x.tar", archive[: end + 512])).status, 0)

    def test_the_member_in_which_a_tar_ends_is_unverified(self):
        archive = tar(self.SMALL)
        ended = run(*JSON, self.file("x.tar", archive[:1000]))
        is_complete, cut = ended.result["inputs"]
        self.assertIn("ends early", is_complete["error"])
        self.assertEqual((cut["bytes"], cut["unverified"]["bytes"]), (0, 488))
        self.assert_counts(cut["unverified"], self.SMALL["a.log"][:488])

    def test_the_cause_of_a_truncated_archive_is_printed_once(self):
        members = {name: noise(3000, number) for number, name in enumerate(("a", "b", "c"))}
        self.file("x.tar", tar(members)[:8000])
        self.file("x.zip", zipped(members)[:8000])
        for name in ("x.tar", "x.zip"):
            with self.subTest(name=name):
                ended = run(*JSON, name, cwd=self.folder)
                self.assertEqual(ended.stderr, f"gpuhist: {name}: ends early, at offset 8000\n")
                cut = [each for each in ended.result["inputs"] if "error" in each]
                self.assertEqual([each["name"] for each in cut], [name, f"{name}/c"])
        self.file("x.tar.gz", gzip.compress(tar(members))[:8000])
        first, second = run(*JSON, "x.tar.gz", "x.tar.gz", cwd=self.folder).stderr.split("same reason: 2\n")[:2]
        self.assertEqual(first, second)
        self.assertRegex(
            first, r"^gpuhist: x\.tar\.gz: member 1 ends early: .*\n"
            r"gpuhist: x\.tar\.gz: members that were read to their end, but are not verified for the $")

    def test_messages_about_a_damaged_member_have_no_codes_and_no_escapes(self):
        archive = bytearray(zipped({"a": text(3000)}))
        begin, end = 31, archive.index(b"PK\x01\x02")
        paths = []
        for place in range(begin, end, 13):
            damaged = bytearray(archive)
            damaged[place] ^= 0x55
            paths.append(self.file(f"{place}.zip", bytes(damaged)))
        ended = run(*JSON, *paths)
        self.assertEqual(ended.status, 1)
        self.assertTrue(all(each["error"] for each in ended.result["inputs"]))
        self.assertGreaterEqual(len(ended.stderr.splitlines()), len(paths))
        self.assertNotRegex(ended.stderr, r"\\x0a|\(-\d\)")

    def test_a_tar_that_ends_after_a_special_header_is_not_complete(self):
        a = tar_entry("a", text(700))
        gnu = tarfile.GNU_FORMAT
        cases = {"g": pax(b"comment=x", kind=b"g"), "V": tar_entry("label", kind=b"V", format=gnu), "x": pax(b"path=b"),
                 "L": tar_entry("././@LongLink", b"b\0", b"L", gnu), "K": tar_entry("././@LongLink", b"b\0", b"K", gnu)}
        for kind, special in cases.items():
            words = "within the header of a member" if kind in "xLK" else "without the mark of a tar archive's end"
            for before in (b"", a):
                archive = before + special
                packed = sampled((("x.tar.gz", gzip.compress(archive)), ("x.tar.zst", zstd(archive)),
                                  ("x.tar.xz", lzma.compress(archive))), 1)
                for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive),
                              *(run(*JSON, self.file(name, data)) for name, data in packed)):
                    with self.subTest(kind=kind, before=len(before)):
                        self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                        self.assertEqual(ended.result["bytes"], len(before) and 700)
                        self.assertIn(f"ends early, {words}, at ", ended.stderr)

    def test_a_special_header_before_zeros_is_not_applied_to_a_later_member(self):
        a, b = tar_entry("a", text(700)), tar_entry("b", text(60, 2))
        gnu = tarfile.GNU_FORMAT
        sparse = (b"GNU.sparse.size=5000", b"GNU.sparse.map=0,60,5000,0")
        long_name, long_link = (tar_entry("././@LongLink", b"lost\0", kind, gnu) for kind in (b"L", b"K"))
        for special in sampled((pax(b"path=lost"), pax(b"path=lost", *sparse), long_name, long_link), 2):
            for zeros in (512, 1024, 5120):
                archive = a + special + bytes(zeros) + b + END_OF_TAR
                for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
                    with self.subTest(special=special[156:157], zeros=zeros):
                        self.assertEqual((ended.status, ended.result["bytes"]), (1, 700), ended)
                        self.assertRegex(ended.stderr, f"zeros follow a special header instead of its member, at offset {len(a)}\n")
        for special in (pax(b"comment=x", kind=b"g"), tar_entry("label", kind=b"V", format=gnu)):
            self.assert_read("x.tar", a + special + bytes(512) + b + END_OF_TAR, [("a", text(700)), ("b", text(60, 2))])

    def test_a_member_with_more_special_headers_than_libarchive_reads_is_refused(self):
        labels, latin = tar_entry("label", kind=b"V", format=tarfile.GNU_FORMAT), tar_entry("L", b"gr\xf6\0", b"L", tarfile.GNU_FORMAT)
        b = tar_entry("b", text(60, 2))
        self.assert_read("x.tar", labels * 31 + b + END_OF_TAR, [("b", text(60, 2))])
        ended = run(*JSON, self.file("x.tar", latin + labels * 31 + b + END_OF_TAR))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)

    def test_a_compressed_tar_that_is_cut_or_damaged_anywhere_counts_no_unverified_text(self):
        members = {f"x.tar.zst/{name}": data for name, data in self.SMALL.items()}
        encoded = zstd(tar(self.SMALL), "--check")
        for size in sampled(range(0, len(encoded), 11), 4):
            with self.subTest(size=size):
                result = self.assert_never_wrong(run(*JSON, self.file("x.tar.zst", encoded[:size])), members)
                self.assertEqual((result["complete"], result["bytes"]), (False, 0))
        for place in sampled(range(0, len(encoded), 9), 4):
            damaged = bytearray(encoded)
            damaged[place] ^= 0x10
            with self.subTest(place=place):
                result = self.assert_never_wrong(run(*JSON, self.file("x.tar.zst", bytes(damaged))), members)
                if result["complete"]:
                    self.assertEqual(result["bytes"], 760)

    def test_a_frame_with_a_wrong_checksum_after_members_leaves_them_unverified(self):
        files = {f"{i}": text(100_000, i) for i in range(6)}
        archive = tar(files)
        encoded = bytearray(zstd(archive, "--check"))
        encoded[-1] ^= 1
        ended = run(*JSON, self.file("x.tar.zst", bytes(encoded)))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
        self.assert_counts(ended.result["unverified"], b"".join(files.values()))

    def test_frames_that_were_verified_before_the_damage_keep_their_members(self):
        first, second = tar({"a": text(600_000)}), tar({"b": text(500_000, 2)})
        frames = [zstd(first, "--check"), bytearray(zstd(second, "--check"))]
        frames[1][-1] ^= 1
        path = self.file("x.tar.zst", frames[0] + bytes(frames[1]))
        ended = run(*JSON, path)
        self.assertEqual(ended.status, 1, ended)
        own, a, b = ended.result["inputs"]
        self.assertIn("frame 2", own["error"])
        self.assertEqual((a["complete"], a["bytes"], b["complete"], b["bytes"]), (True, 600_000, False, 0))
        self.assert_counts(ended.result, text(600_000))
        self.assert_counts(ended.result["unverified"], text(500_000, 2))

    def test_an_error_in_a_compressed_tar_names_the_same_offsets_for_any_number_of_threads(self):
        archive = tar({f"{i}": text(400_000, i) for i in range(12)})
        slices = [archive[begin : begin + 700_000] for begin in range(0, len(archive), 700_000)]

        def lzip(part):
            return subprocess.run(["lzip", "-1"], input=part, stdout=subprocess.PIPE, check=True).stdout

        for suffix, pack in (("zst", lambda part: zstd(part, "--check")), ("lz", lzip)):
            frames = [pack(part) for part in slices]
            before = sum(map(len, frames[:5]))
            encoded = bytearray(b"".join(frames))
            damaged = bytearray(encoded)
            damaged[before + len(frames[5]) - (1 if suffix == "zst" else 18)] ^= 1  # in the checksum
            for content in (damaged, encoded[: before + len(frames[5]) // 2]):
                path = self.file(f"x.tar.{suffix}", bytes(content))
                errors = [run(*JSON, "--threads", count, path).result["inputs"][0]["error"] for count in ("1", "2", "4")]
                with self.subTest(suffix=suffix, size=len(content)):
                    self.assertIn("decompressed offset", errors[0])
                    self.assertEqual(errors, errors[:1] * 3)

    def test_a_damaged_header_ends_the_archive_and_earlier_members_count(self):
        archive = bytearray(tar({"a": text(1000), "b": text(2000, 2), "c": text(10, 3)}))
        archive[512 + 1024 + 100] ^= 1
        path = self.file("x.tar", bytes(archive))
        ended = run(*JSON, path)
        self.assertEqual(ended.status, 1, ended)
        own, a = ended.result["inputs"]
        self.assertEqual((own["name"], own["complete"], a["name"], a["complete"]), (str(path), False, f"{path}/a", True))
        self.assertRegex(own["error"], "Damaged tar archive.*, at offset ")
        self.assert_counts(ended.result, text(1000))

    def test_a_damaged_pax_header_ends_the_archive_and_its_member_is_not_counted(self):
        a, b, c = tar_entry("a", text(1000)), tar_entry("b", text(60, 2)), tar_entry("c", text(70, 3))
        link = tar_entry("././@LongLink", b"x\0", b"K", tarfile.GNU_FORMAT)
        acl = tar_entry("acl", b"zz", b"A")  # the warning about this member is harmless
        latin = b"24 GNU.sparse.name=gr\xf6\xdf\n"
        self.assert_read("x.tar", a + pax(b"path=new") + b + bytes(1024), [("a", text(1000)), ("new", text(60, 2))])
        damaged = {"no digit": b"1r path=new\n", "too long": b"92 path=new\n", "too short": b"10 path=new\n",
                   "no sign": b"12 path-new\n", "of a megabyte": b"9999999 path=new\n",
                   "sparse": b"26 GNU.sparse.map=0,x,1,2\n" + latin, "holes": b"22 SUN.holesdata= 0 x\n" + latin,
                   "format": b"22 GNU.sparse.major=2\n22 GNU.sparse.minor=0\n", "size": b"11 size=6x\n"}
        for cause, records in sampled(tuple(damaged.items()), 2):
            for before in (b"", link, acl, link + acl):  # these members hide libarchive's warning
                archive = a + before + tar_entry("PaxHeaders/b", records, b"x") + b + c + bytes(1024)
                path = self.file("x.tar", archive)
                for ended in (run(*JSON, path), run(*JSON, stdin_bytes=archive)):
                    with self.subTest(cause=cause, before=before[156:157]):
                        self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                        own, _ = ended.result["inputs"]
                        self.assertRegex(own["error"], f"damaged tar archive: a pax header.*, at offset {len(a + before)}$")
                        self.assert_counts(ended.result, text(1000))

    def test_one_bit_of_the_length_of_a_record_of_a_sparse_file_is_damage(self):
        root = self.tree({})
        root.mkdir(exist_ok=True)
        with open(root / "sparse", "wb") as out:
            out.seek(300_000)
            out.write(text(5000))
            out.truncate(400_000)
        for version in ("0.0", "0.1", "1.0"):
            archive = bytearray(subprocess.run(
                ["tar", "-C", root, "-S", "--format=posix", f"--sparse-version={version}", "-cf", "-", "sparse"],
                stdout=subprocess.PIPE, check=True).stdout)
            archive[archive.index(b" GNU.sparse") - 1] ^= 0x40
            with self.subTest(version=version):
                ended = run(*JSON, self.file("x.tar", bytes(archive)))
                self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
                self.assertIn("damaged tar archive", ended.stderr)

    def test_names_that_cannot_be_converted_are_not_damage(self):
        header = tarfile.TarInfo("PaxHeaders/b")
        records = b"13 path=gr\xf6\xdf\n"
        header.type, header.size = b"x", len(records)
        member = tarfile.TarInfo("b")
        member.size = 60
        archive = header.tobuf() + records.ljust(512, b"\0") + member.tobuf() + text(60).ljust(512, b"\0") + bytes(1024)
        ended = run(*JSON, self.file("x.tar", archive))
        self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
        self.assert_counts(ended.result, text(60))

    def test_zeros_after_the_two_blocks_of_the_end_are_padding_of_any_length(self):
        archive = tar(self.SMALL)[: 512 + 1024 + 512 + 512 + 1024]
        for padding in sampled((0, 1, 511, 512, 513, 4096, 100_001), 2):
            with self.subTest(padding=padding):
                self.assert_read("x.tar", archive + bytes(padding), in_tar(archive))

    def test_zero_blocks_before_a_member_are_passed_over_as_by_tar_ignore_zeros(self):
        """Some devices write a single zero block between members; two or more are the end of an archive before another one."""
        a, b = (tar({name: data})[: 512 + -(-len(data) // 512) * 512] for name, data in self.SMALL.items())
        for before, members in ((b"", {}), (a, ("a.log",)), (a + b, ("a.log", "b"))):
            for zeros in (512, 1024, 1536):
                archive = before + bytes(zeros) + tar({"c": text(300, 3)})
                with self.subTest(members=members, zeros=zeros):
                    listed = subprocess.run(["tar", "--ignore-zeros", "-tf", "-"], input=archive, stdout=subprocess.PIPE, check=True)
                    self.assertEqual(listed.stdout.decode().split(), [*members, "c"])
                    expected = [(name, {**self.SMALL, "c": text(300, 3)}[name]) for name in (*members, "c")]
                    path = self.file("x.tar", archive)
                    self.assert_members(run(*JSON, path), path, expected)
                    fed = run_fed([archive[:700], archive[700:1700], archive[1700:]], *JSON, "--input-format", "tar", "--label", "stream")
                    self.assert_members(fed, "stream", expected)

    def test_an_archive_with_a_zero_block_before_each_member_is_recognised_and_is_not_complete_if_it_is_cut_after_one(self):
        a, b = (bytes(512) + tar({name: data})[: 512 + -(-len(data) // 512) * 512] for name, data in self.SMALL.items())
        for archive, whole in ((a + b + bytes(1024), True), (a + b + bytes(512), False), (a + bytes(512), False)):
            counted = b"".join(self.SMALL.values()) if b in archive else self.SMALL["a.log"]
            encoded = gzip.compress(archive)
            with self.subTest(size=len(archive)):
                for name in ("x", "x.tar"):
                    for data in (archive, encoded):
                        ended = run(*JSON, self.file(name, data))
                        fed = run_fed([data[:100], data[100:]], *JSON)
                        for each in (ended, fed):
                            self.assert_counts(each.result, counted)
                            if data is archive:  # a checksum around it shows that nothing is missing
                                self.assertEqual((each.status, each.result["complete"]), (0 if whole else 1, whole), each)

    def test_a_last_member_that_lacks_only_its_padding_is_verified_and_its_archive_is_incomplete(self):
        for last in ("b", "a.log"):
            files = {"first": text(90, 3), last: self.SMALL[last]}
            archive = tar(files)
            end = 1024 + 512 + len(files[last])
            for size in (end - 1, end, end + 1, -(-end // 512) * 512 - 1):
                with self.subTest(last=last, size=size - end):
                    for ended in (run(*JSON, self.file("x.tar", archive[:size])), run(*JSON, stdin_bytes=archive[:size])):
                        self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                        self.assertIn("ends early", ended.stderr)
                        whole = files if size >= end else {"first": files["first"]}
                        self.assert_counts(ended.result, b"".join(whole.values()))

    def test_a_pax_header_of_up_to_999_999_bytes_is_read_and_a_larger_one_is_refused(self):
        for size, most, is_read in ((1000, 80_000, True), (90_000, 80_000, True), (990_000, 999_000, True), (999_983, 999_999, True),
                                    (999_984, 999_999, False), (1_010_000, 1_100_000, False), (1_200_000, 80_000, False)):  # fmt: skip
            records = [b"comment=" + b"x" * most] * (size // most) + [b"comment=" + b"x" * (size % most)]
            archive = tar({"a": text(700)})[:1536] + pax(*records) + tar({"b": text(60, 2)})
            with self.subTest(size=size):
                if is_read:
                    self.assert_read("x.tar", archive, in_tar(archive))
                    continue
                for ended in (run(*JSON, self.file("x.tar", archive)), run(*JSON, stdin_bytes=archive)):
                    self.assertEqual((ended.status, ended.result["bytes"], ended.result["inputs"][0]["error_kind"]), (1, 700, "refused"), ended)
                    self.assertIn("more than 999,999 bytes, which is the limit, at offset 1536", ended.stderr)

    def test_other_data_after_the_end_is_reported(self):
        ended = run(*JSON, self.file("x.tar", tar(self.SMALL) + b"something else" * 100))
        self.assertEqual(ended.status, 1, ended)
        self.assert_counts(ended.result, text(700) + text(60, 2))

    def test_a_zip_that_is_cut_or_damaged_anywhere_counts_nothing_wrong(self):
        archive = zipped(self.SMALL)
        members = {f"x.zip/{name}": data for name, data in self.SMALL.items()}
        complete = 0
        every = (*(archive[:size] for size in range(0, len(archive), 13)), *self.flipped(archive, 5))
        for number, damaged in enumerate(sampled(every, 8)):
            with self.subTest(size=len(damaged)):
                result = self.assert_never_wrong(run(*JSON, self.file("x.zip", damaged)), members)
                complete += result["complete"]
                if number % 4 == 0 and damaged[:4] == b"PK\3\4":
                    through_pipe = run(*JSON, "--label", str(self.folder / "x.zip"), stdin_bytes=damaged)
                    self.assert_never_wrong(through_pipe, members)
        self.assertLess(complete, 60)  # of more than a hundred: times, attributes and comments have no checksum

    def flipped(self, archive, step):
        for place in range(0, len(archive), step):
            damaged = bytearray(archive)
            damaged[place] ^= 0x10
            yield bytes(damaged)

    def test_a_member_whose_checksum_fails_is_unverified_and_the_others_count(self):
        files = {"a": text(5000), "b": text(6000, 2), "c": text(7000, 3)}
        archive = bytearray(zipped(files, zipfile.ZIP_STORED))
        archive[archive.index(files["b"]) + 3000] ^= 1
        for ended in (run(*JSON, self.file("x.zip", bytes(archive))), run(*JSON, stdin_bytes=bytes(archive))):
            self.assertEqual(ended.status, 1, ended)
            a, b, c = ended.result["inputs"]
            self.assertEqual((a["complete"], b["complete"], c["complete"]), (True, False, True))
            self.assertIn("CRC", b["error"])
            self.assertEqual((b["bytes"], b["unverified"]["bytes"]), (0, 6000))
            self.assert_counts(ended.result, files["a"] + files["c"])

    def test_a_map_of_a_sparse_file_of_more_than_16_mib_is_refused(self):
        records = b"".join(b"%d %s\n" % (len(each) + 4, each) for each in (
            b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.name=sp", b"GNU.sparse.realsize=5000"))
        header = tarfile.TarInfo("PaxHeaders/sp")
        header.type, header.size = b"x", len(records)
        for size, is_complete in ((100_000, True), (6_000_000, False)):
            extents = b"%d\n" % size + b"0\n0\n" * size
            extents += bytes(-len(extents) % 512)
            member = tarfile.TarInfo("GNUSparseFile/sp")
            member.size = len(extents)
            archive = (header.tobuf() + records.ljust(512, b"\0") + member.tobuf() + extents + bytes(20 << 20) +
                       tar({"b": text(60, 2)}))
            archive = tar({"a": text(700)})[:1536] + archive
            path = self.file("x.tar.gz", gzip.compress(archive))
            with self.subTest(size=size):
                ended = run(*JSON, path)
                self.assertEqual((ended.status, ended.result["complete"]), (0 if is_complete else 1, is_complete), ended)
                if not is_complete:
                    self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused")
                    self.assertIn("has a member with more than 16 MiB of headers", ended.stderr)

    def test_an_archive_that_expands_to_too_much_text_is_given_up(self):
        archives = {"x.zip": zipped({"zeros": bytes(50_000_000), "b": b"b"}), "x.tar.zst": zstd(tar({"zeros": bytes(50_000_000)})),
                    "y.zip": zipped({f"{i}": bytes(600_000) for i in range(20)})}
        for name, archive in archives.items():
            ended = run(*JSON, "--max-output", "1MiB", self.file(name, archive), self.file("good", b"hello"))
            self.assertEqual(ended.status, 1, ended)
            self.assertIn("--max-output", ended.stderr)
            self.assertIs(ended.result["inputs"][-1]["complete"], True)
            self.assertLess(ended.result["unverified"]["bytes"] + ended.result["bytes"], 3_000_000)


class Zip(ArchiveTest):
    def test_stored_and_deflated_members_of_a_zip_are_read_also_in_folders(self):
        for compression in sampled((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA), 2):
            with self.subTest(compression=compression):
                files = dict(FILES)
                if compression == zipfile.ZIP_LZMA:
                    del files["empty"]  # libarchive cannot read an empty member that is marked as compressed
                archive = zipped({"dir/": b"", **files}, compression)
                self.assertEqual(dict(in_zip(archive)), files)
                self.assert_read("x.zip", archive, in_zip(archive))

    def test_a_zip_that_was_written_to_a_pipe_is_read(self):
        """Sizes and checksums follow the members."""
        encoded = zipped_to_pipe(FILES)
        self.assert_read("x.zip", encoded, in_zip(encoded))

    def assert_needs_a_file(self, archive, *kinds):
        ended = run(*JSON, stdin_bytes=archive)
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
        self.assertIn("the archive states the length after the member: give it as a file of its own", ended.stderr)
        self.assertEqual({each["error_kind"] for each in ended.result["inputs"] if "error" in each}, set(kinds))
        self.assert_read("x.zip", archive, in_zip(archive), pipe=False)

    @needs("zip")
    def test_a_zip_of_bzip2_members_that_zip_wrote_to_a_pipe_names_the_remedy(self):
        root = self.tree({"a": text(5000)})
        written = subprocess.run(["zip", "-q", "-Z", "bzip2", "-", "a"], cwd=root, stdout=subprocess.PIPE, check=True).stdout
        self.assert_needs_a_file(written, "refused")

    @needs("zip")
    def test_encrypted_members_that_zip_wrote_are_refused_and_no_damage(self):
        root = self.tree({"a": text(5000), "b": text(60, 2)})
        for options in ("-P x", "-P x -0", "-P x -fd", "-P x -fd -0"):
            with self.subTest(options=options):
                (root / "x.zip").unlink(missing_ok=True)
                subprocess.run(["zip", "-q", *options.split(), "x.zip", "a", "b"], cwd=root, check=True)
                ended = run(*JSON, root / "x.zip")
                self.assertEqual([(each["name"].rsplit("/")[-1], each["error_kind"]) for each in ended.result["inputs"]],
                                 [("a", "refused"), ("b", "refused")])

    @needs("bsdtar")
    def test_archives_without_members_that_bsdtar_wrote_count_nothing(self):
        for options in ("", "--options zip:zip64", "--options zip:compression=store"):
            archive = subprocess.run(["bsdtar", "--format", "zip", *options.split(), "-cf", "-", "-T", os.devnull], stdout=subprocess.PIPE, check=True).stdout
            for ended in (run(*JSON, self.file("x.zip", archive)), run(*JSON, stdin_bytes=archive)):
                with self.subTest(options=options):
                    self.assertEqual((ended.status, ended.result["bytes"], ended.result["inputs"][0]["format"]), (0, 0, "zip"), ended)

    def test_a_zip_from_a_pipe_whose_lengths_follow_members_of_bzip2_or_lzma_names_the_remedy(self):
        class Pipe(io.BytesIO):
            def seekable(self):
                return False

            def seek(self, *_):
                raise io.UnsupportedOperation

            tell = seek  # style-ok: a method of Python's streams

        for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            pipe = Pipe()
            with zipfile.ZipFile(pipe, "w", compression) as archive:
                archive.writestr("a", text(5000))
                archive.writestr("b", text(60, 2))
            self.assert_needs_a_file(pipe.getvalue(), "refused")
        for confusing in (b"PK\7\x08" + bytes(12) + b"more", b"PK\7\x08" + bytes(12) + b"PK\3\4" + noise(60)):  # like an end
            pipe = Pipe()
            with zipfile.ZipFile(pipe, "w") as archive:
                archive.writestr("a", confusing)
            self.assert_needs_a_file(pipe.getvalue(), "damaged")

    def test_a_zip64_archive_is_read(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("big", "w", force_zip64=True) as member:
                member.write(text(100_000))
        self.assert_read("x.zip", out.getvalue(), [("big", text(100_000))])

    def assert_damaged(self, archive, words, **members):
        """From a file and from a pipe, the archive is damaged, and the counts are those of its members."""
        for ended in (run(*JSON, self.file("x.zip", archive)), run(*JSON, stdin_bytes=archive)):
            self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
            self.assertRegex(ended.stderr, words)
            self.assertIn(ended.result["bytes"], (0, *members.values()))

    def test_the_end_record_and_the_directory_are_compared_with_the_members(self):
        archive = zipped({"a": text(700), "b": text(60, 2)})
        directory, end = archive.index(b"PK\1\2"), archive.index(b"PK\5\6")
        cases = ((directory, "directory|end record|Damaged Zip archive"), (end + 10, "entries"), (end + 12, "directory"),
                 (end + 16, "offset|directory|local header"), (directory + 24, "does not match its entry|differ"),
                 (directory + 42, "local header|belong to no member|offset"))
        for at, words in sampled(cases, 3):
            with self.subTest(at=at - directory):
                damaged = bytearray(archive)
                damaged[at] ^= 1
                for ended in (run(*JSON, self.file("x.zip", bytes(damaged))), run(*JSON, stdin_bytes=bytes(damaged))):
                    self.assertEqual(ended.status, 1, ended)
                    self.assertRegex(ended.stderr, words)

    def made_by(self, *command):
        """What a tool writes to x.zip, or to standard output."""
        self.require(command[0])
        root = self.tree({"a": text(700), "b": text(60, 2), "empty": b""})
        (root / "x.zip").unlink(missing_ok=True)
        written = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout
        return (root / "x.zip").read_bytes() if (root / "x.zip").exists() else written

    def test_what_a_file_is_refused_for_is_refused_from_a_pipe_too(self):
        """A byte of a local header, a descriptor or the directory differs, or there is a gap: libarchive skips gaps of a
        stream, and never compares it with the directory."""
        made = {"zipfile": lambda: zipped({"a": text(700), "b": text(60, 2)}),
                "zipfile > pipe": lambda: zipped_to_pipe({"a": text(700), "b": text(60, 2)}),
                **{command: lambda words=command.split(): self.made_by(*words) for command in (
                    "zip -q - a b", "zip -q -fd x.zip a b empty", "zip -q -0 x.zip a b", "7z a -bd -tzip x.zip a b empty",
                    "bsdtar --format zip -cf - a b empty")}}  # fmt: skip
        for name, make in made.items():
            with self.subTest(tool=name):
                self.assert_same_verdicts(name, make())

    def assert_same_verdicts(self, name, archive):
        self.assert_read("x.zip", archive, in_zip(archive))
        directory = archive.index(b"PK\1\2")
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = opened.infolist()
        changed = []
        for each in members:
            at = each.header_offset
            fields = 30 + sum(int.from_bytes(archive[at + k : at + k + 2], "little") for k in (26, 28))
            end = at + fields + each.compress_size
            following = 16 if each.flag_bits & 8 else 0
            changed += [(place, archive[:place] + bytes([archive[place] ^ bit]) + archive[place + 1 :])
                        for place in (*range(at, at + fields), *range(end, end + following)) for bit in (1, 0x40)]
            changed += [(at, archive[:at] + b"\1" * size + archive[at:]) for size in (1, 12, 40) if at > 0]
        changed += [(place, archive[:place] + bytes([archive[place] ^ bit]) + archive[place + 1 :])
                    for place in range(directory, directory + 46 + len(members[0].filename)) for bit in (1, 0x40)]
        for place, data in sampled(random.Random(name).sample(changed, 24), 3):
            with self.subTest(tool=name, place=place):
                as_file, as_pipe = run(*JSON, "--input-format", "zip", self.file("x.zip", data)), run(*JSON, "--input-format", "zip", stdin_bytes=data)
                if as_file.result["complete"]:  # unused fields
                    continue
                self.assertEqual((as_pipe.status, as_pipe.result["complete"]), (1, False), (as_file.stderr, as_pipe))

    def test_a_member_whose_sizes_method_or_name_differ_from_the_directory_is_damage_and_so_is_a_gap(self):
        for archive in (zipped({"a": text(700), "b": text(60, 2)}, zipfile.ZIP_STORED), zipped_to_pipe({"a": text(700), "b": text(60, 2)})):
            directory, second = archive.index(b"PK\1\2"), archive.index(b"PK\3\4", 4)
            cases = {directory + 10: "methods|cannot be|compress", directory + 20: "sizes|belong to no member|overlap|compressed size",
                     directory + 24: "sizes|belong to no member|does not match its entry|wrong size", directory + 46: "names"}
            for at, words in cases.items():
                with self.subTest(at=at - directory):
                    self.assert_damaged(archive[:at] + bytes([archive[at] ^ 1]) + archive[at + 1 :], words, a=700, b=60, both=760)
            wide = archive[:second] + b"gap!" + archive[second:]
            end = wide.index(b"PK\5\6")
            entry = wide.index(b"PK\1\2", directory + 8)
            moved = bytearray(wide)
            moved[end + 16 : end + 20] = (directory + 4).to_bytes(4, "little")
            moved[entry + 42 : entry + 46] = (second + 4).to_bytes(4, "little")
            self.assert_damaged(bytes(moved), "4 bytes belong to no member|20 bytes belong to no member", a=700, b=60, both=760)

    def test_a_zip_that_begins_with_the_marker_of_a_single_part_is_read(self):
        """Offsets count the marker, or do not."""
        archive = zipped({"a": text(700)})
        directory, end = archive.index(b"PK\1\2"), archive.index(b"PK\5\6")
        counted = bytearray(b"PK00" + archive)
        counted[4 + end + 16 : 4 + end + 20] = (directory + 4).to_bytes(4, "little")
        counted[4 + directory + 42 : 4 + directory + 46] = (4).to_bytes(4, "little")
        for data in (b"PK00" + archive, bytes(counted)):
            for name in ("x.zip", "x"):
                self.assert_read(name, data, in_zip(archive))

    @needs("zip")
    def test_a_zip_that_the_zip_command_was_to_split_and_that_has_one_part_is_read(self):
        root = self.tree()
        subprocess.run(["zip", "-q", "-s", "1m", "-r", self.folder / "one.zip", "."], cwd=root, check=True)
        archive = (self.folder / "one.zip").read_bytes()
        self.assertEqual(archive[:8], b"PK\7\x08PK\3\4")
        for name in ("one.zip", "one"):
            self.assert_read(name, archive, in_zip(archive))
        outer = self.file("outer.tar", tar({"one.zip": archive}))
        self.assert_members(run(*JSON, outer), f"{outer}/one.zip", in_zip(archive))

    def test_an_empty_member_is_empty_whatever_its_method(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with self.subTest(method=method):
                archive = zipped({"a": text(700), "empty": b"", "b": text(60, 2), "last": b""}, method)
                self.assert_read("x.zip", archive, in_zip(archive))
        stated = bytearray(zipped({"a": text(700)}, zipfile.ZIP_LZMA))  # as empty, but it has a text
        for at in (22, stated.index(b"PK\1\2") + 24):
            stated[at : at + 4] = bytes(4)
        self.assert_damaged(bytes(stated), "does not match its entry|wrong size|lzma", a=700)

    @needs("7z")
    def test_members_of_every_method_that_7z_writes_are_read(self):
        root = self.tree({"a": text(3000), "b": noise(5000)})
        for method in sampled(("PPMd", "xz", "LZMA", "BZip2", "Deflate", "Copy"), 3):
            with self.subTest(method=method):
                archive = root / f"{method}.zip"
                subprocess.run(["7z", "a", "-bd", "-tzip", f"-mm={method}", archive, "a", "b"], cwd=root, stdout=subprocess.DEVNULL, check=True)
                self.assert_read("x.zip", archive.read_bytes(), [("a", text(3000)), ("b", noise(5000))])

    @needs("7z")
    def test_a_member_by_a_method_that_is_not_read_is_refused_with_a_command_that_reads_it(self):
        root = self.tree({"a.log": text(3000), "b.log": text(60, 2)})
        for kind, options in (("zip", ("-tzip", "-mm=Deflate64")), ("7z", ("-m0=Deflate64",))):
            archive = self.folder / f"x.{kind}"
            subprocess.run(["7z", "a", "-bd", *options, archive, "a.log", "b.log"], cwd=root, stdout=subprocess.DEVNULL, check=True)
            ended = run(*JSON, archive)
            self.assertEqual((ended.status, ended.result["inputs"][0]["error_kind"]), (1, "refused"))
            command = re.search("try (7z x -so) FILE", ended.stderr).group(1).split()
            self.assert_counted(run(*JSON, stdin_bytes=subprocess.run([*command, archive], stdout=subprocess.PIPE).stdout), text(3000) + text(60, 2))

    def test_members_that_the_directory_does_not_list_and_entries_that_share_a_local_header_are_damage(self):
        archive = zipped({"a": text(700)})
        directory, end = archive.index(b"PK\1\2"), archive.index(b"PK\5\6")
        entry = archive[directory:end]

        def ended_with(count, size):
            return bytes(archive[end : end + 8]) + count.to_bytes(2, "little") * 2 + size.to_bytes(4, "little") + archive[end + 16 :]

        self.assert_damaged(archive[:directory] + entry * 50 + ended_with(50, 50 * len(entry)), "lists more members than the 1 found", a=700)
        self.assert_damaged(archive[:directory] + ended_with(0, 0), "1 member was found, and its directory lists 0|belong to no member", a=700)
        other = zipped({"b": text(60, 2)})
        self.assert_damaged(archive + other, "belong to no member|after its end", a=700, b=60)

    def test_a_member_that_is_not_a_file_is_listed_as_skipped_with_its_kind_and_size(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", text(700))
            archive.writestr("dir/", b"")
            link = zipfile.ZipInfo("link")
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, b"where/to")
        path = self.file("x.zip", out.getvalue())
        ended = run(*JSON, path)
        self.assertEqual((ended.status, ended.stderr),
                         (0, f"gpuhist: skipped a symbolic link in an archive (8 bytes): {path}/link\n"), ended)
        self.assert_counts(ended.result, text(700))
        self.assertEqual(ended.result["skipped_by_cause"], {"directory in an archive": 1, "symbolic link in an archive": 1})
        self.assertEqual(ended.result["skipped_bytes_by_cause"], {"symbolic link in an archive": 8})
        # its kind is in the directory, after the member: its counts are not reported as complete
        ended = run(*JSON, stdin_bytes=out.getvalue())
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("a symbolic link was counted as a file", ended.stderr)
        self.assertNotIn("damaged", ended.stderr)
        self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused")

    def test_a_link_whose_target_cannot_be_read_is_an_error_of_that_member(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", text(700))
            link = zipfile.ZipInfo("link")
            link.create_system, link.external_attr, link.compress_type = 3, 0o120777 << 16, zipfile.ZIP_BZIP2
            archive.writestr(link, b"where/to")
            archive.writestr("b", text(60, 2))
        ended = run(*JSON, self.file("x.zip", out.getvalue()))
        self.assertEqual(ended.status, 1, ended)
        reported = [(each["name"].rsplit("/")[-1], each["complete"], each["bytes"]) for each in ended.result["inputs"]]
        self.assertEqual(reported, [("a", True, 700), ("link", False, 0), ("b", True, 60)])
        self.assertIn("is a symbolic link whose target cannot be read: ", ended.stderr)

    def test_a_member_that_zip_read_from_a_pipe_is_a_file(self):
        """`producer | zip x.zip -` stores the mode of a FIFO."""
        for data in (text(5000), b""):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                info = zipfile.ZipInfo("-")
                info.create_system, info.external_attr, info.compress_type = 3, 0o010600 << 16, zipfile.ZIP_DEFLATED
                archive.writestr(info, data)
            ended = run(*JSON, self.file("x.zip", out.getvalue()))
            self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
            self.assert_counts(ended.result, data)
            through_pipe = run(*JSON, stdin_bytes=out.getvalue())
            self.assertEqual((through_pipe.status, through_pipe.result["complete"]), (0, True), through_pipe)
            self.assert_counts(through_pipe.result, data)

    @needs("zip")
    def test_a_zip_that_the_zip_command_writes_from_a_pipe_is_read(self):
        path = self.folder / "x.zip"
        subprocess.run(["zip", "-q", path, "-"], input=text(5000), check=True)
        self.assert_members(run(*JSON, path), path, [("-", text(5000))])

    def test_text_is_counted_also_if_its_mode_is_not_that_of_a_file(self):
        for kind in sampled((0o040000, 0o140000, 0o060000, 0o120000), 2):
            with self.subTest(kind=oct(kind)):
                out = io.BytesIO()
                with zipfile.ZipFile(out, "w") as archive:
                    info = zipfile.ZipInfo("a.log")
                    info.create_system, info.external_attr = 3, (kind | 0o644) << 16
                    archive.writestr(info, text(5000))
                ended = run(*JSON, self.file("x.zip", out.getvalue()))
                self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)

    @needs("7z")
    def test_an_encrypted_archive_in_an_archive_is_reported_as_encrypted(self):
        root = self.tree({"inner.zip": zipped({"a": text(500)}), "b.gz": gzip.compress(text(100))})
        path = self.folder / "x.zip"
        subprocess.run(["7z", "a", "-tzip", "-psesame", "-bso0", path, root / "inner.zip", root / "b.gz"], check=True)
        ended = run(*JSON, path)
        self.assertEqual(ended.status, 1, ended)
        for reported in ended.result["inputs"]:
            self.assertIn("is encrypted", reported["error"])

    @needs("7z")
    def test_an_encrypted_member_is_an_error_of_that_member(self):
        root = self.tree({"secret": text(5000)})
        path = self.folder / "x.zip"
        subprocess.run(["7z", "a", "-tzip", "-psesame", "-bso0", path, root / "secret"], check=True)
        plain = self.tree({"plain": text(300)}) / "plain"
        subprocess.run(["7z", "a", "-tzip", "-bso0", path, plain], check=True)
        ended = run(*JSON, path)
        self.assertEqual(ended.status, 1, ended)
        reported = {each["name"].rsplit("/")[-1]: each for each in ended.result["inputs"]}
        self.assertIn("is encrypted", reported["secret"]["error"])
        self.assertIs(reported["plain"]["complete"], True)
        self.assert_counts(ended.result, text(300))

    def test_a_zip_without_members_counts_nothing(self):
        ended = run(*JSON, self.file("x.zip", zipped({})))
        self.assertEqual((ended.status, ended.result["bytes"]), (0, 0), ended)
        self.assertEqual(ended.result["inputs"][0]["format"], "zip")


@needs("7z")
class SevenZip(ArchiveTest):
    def seven_zip(self, *options, files=FILES):
        root = self.tree(files)
        path = self.folder / "x.7z"
        path.unlink(missing_ok=True)
        subprocess.run(["7z", "a", "-bso0", "-bd", *options, path, f"{root}/."], check=True)
        return path

    def found(self, path):
        listed = subprocess.run(["7z", "l", "-ba", "-slt", path], stdout=subprocess.PIPE, check=True).stdout.decode()
        names = [block.split("Path = ")[1].split("\n")[0] for block in listed.split("\n\n") if "Path = " in block]
        return [(name, FILES[name]) for name in names if name in FILES]

    def test_7z_archives_of_every_method_are_read(self):
        for method in sampled(("LZMA", "LZMA2", "PPMd", "BZip2", "Deflate", "Copy"), 3):
            with self.subTest(method=method):
                path = self.seven_zip(f"-m0={method}")
                found = self.found(path)
                self.assertEqual(len(found), len(FILES))
                ended = run(*JSON, path)
                self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
                reported = {each["name"].removeprefix(f"{path}/"): each for each in ended.result["inputs"]}
                self.assertEqual(sorted(reported), sorted(FILES))
                for name, data in FILES.items():
                    self.assert_counts(reported[name], data)

    def test_a_7z_archive_needs_a_file(self):
        path = self.seven_zip()
        for ended in (run(*JSON, stdin_bytes=path.read_bytes()), run(*JSON, self.file("x", gzip.compress(path.read_bytes())))):
            self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
            self.assertIn("is a 7z archive, which can only be read from a file of its own", ended.stderr)

    def test_a_7z_archive_with_a_damaged_start_header_or_without_a_list_for_its_bytes_is_damaged(self):
        archive = self.seven_zip().read_bytes()
        zeroed = archive[:8] + bytes(24) + archive[32:]
        empty = bytearray(archive[:8] + zlib.crc32(bytes(20)).to_bytes(4, "little") + bytes(20) + archive[32:])
        for data, words in ((zeroed, "the checksum of its start header does not match"), (bytes(empty), "after its end"),
                            (archive + b"more", "after its end")):
            ended = run(*JSON, self.file("x.7z", data))
            self.assertEqual((ended.status, ended.result["complete"], ended.result["bytes"]), (1, False, 0), ended)
            self.assertIn(words, ended.stderr)

    def test_a_7z_archive_that_is_damaged_or_cut_counts_nothing_wrong(self):
        files = {"a.log": text(700), "b": text(60, 2)}
        archive = self.seven_zip(files=files).read_bytes()
        members = {f"x.7z/{name}": data for name, data in files.items()}
        for size in sampled(range(0, len(archive), 23), 4):
            with self.subTest(size=size):
                self.assertIs(self.assert_never_wrong(run(*JSON, self.file("x.7z", archive[:size])), members)["complete"], False)
        for place in sampled(range(0, len(archive), 11), 4):
            damaged = bytearray(archive)
            damaged[place] ^= 0x10
            with self.subTest(place=place):
                self.assert_never_wrong(run(*JSON, self.file("x.7z", bytes(damaged))), members)


@needs("cpio")
class Cpio(ArchiveTest):
    def cpio(self, format, files=FILES):
        root = self.tree(files)
        names = "\n".join(["dir", *files] if "dir" in {name.split("/")[0] for name in files} else files).encode() + b"\n"
        return subprocess.run(["cpio", "-o", "--quiet", "-H", format], input=names, cwd=root, stdout=subprocess.PIPE,
                              check=True).stdout

    def test_cpio_archives_of_every_kind_are_read(self):
        for format in sampled(("newc", "crc", "odc", "bin"), 2):
            with self.subTest(format=format):
                self.assert_read("x.cpio", self.cpio(format), list(FILES.items()))
                self.assert_read("x", gzip.compress(self.cpio(format)), list(FILES.items()))

    def test_of_hard_links_in_a_cpio_only_the_one_with_the_bytes_is_an_input(self):
        root = self.tree({"a": text(700), "d": text(60, 2)})
        for name in ("b", "c"):
            os.link(root / "a", root / name)
        for format in ("newc", "crc"):
            archive = subprocess.run(["cpio", "-o", "--quiet", "-H", format], input=b"a\nb\nc\nd\n", cwd=root,
                                     stdout=subprocess.PIPE, check=True).stdout
            path = self.file("x.cpio", archive)
            with self.subTest(format=format):
                ended = run(*JSON, path)
                self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                self.assertEqual([(each["name"], each["bytes"]) for each in ended.result["inputs"]],
                                 [(f"{path}/c", 700), (f"{path}/d", 60)])
                self.assertEqual(ended.result["skipped_by_cause"], {"hard link in an archive": 2})

    def test_a_cpio_archive_that_is_cut_is_not_complete(self):
        files = {"a.log": text(700), "b": text(60, 2)}
        archive = self.cpio("newc", files)
        end = archive.index(b"TRAILER!!!") + 10
        for size in sampled((*range(0, end, 41), end - 11, end - 1), 4):
            with self.subTest(size=size):
                ended = run(*JSON, self.file("x.cpio", archive[:size]))
                result = self.assert_never_wrong(ended, {f"x.cpio/{name}": data for name, data in files.items()})
                self.assertIs(result["complete"], False)

    def test_a_header_that_is_damaged_does_not_make_its_member_disappear(self):
        for format in sampled(("newc", "crc", "odc", "bin"), 2):
            archive = bytearray(self.cpio(format, {"a": text(700), "b": text(60, 2), "c": text(80, 3)}))
            at = archive.index(b"b\0") - {"newc": 110, "crc": 110, "odc": 76, "bin": 26}[format]
            archive[at + 1] ^= 1
            for ended in (run(*JSON, self.file("x.cpio", bytes(archive))), run(*JSON, stdin_bytes=bytes(archive))):
                with self.subTest(format=format):
                    self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                    self.assertIn("at offset", ended.stderr)

    def test_checksums_of_the_cpio_format_crc_are_verified(self):
        archive = bytearray(self.cpio("crc", {"a": text(700), "b": text(60, 2)}))
        archive[archive.index(text(700)) + 9] ^= 1
        ended = run(*JSON, self.file("x.cpio", bytes(archive)))
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("does not match its checksum", ended.stderr)
        self.assert_counts(ended.result, text(60, 2))

    def test_archives_in_sequence_are_read_as_one_with_any_zeros_between(self):
        """An initial RAM disk: the oracle is what cpio lists in each of them."""
        early = {"early/a": text(700), "early/b": noise(300_000)}
        shutil.rmtree(self.folder / "tree", ignore_errors=True)
        for first, second in sampled((("newc", "newc"), ("newc", "crc"), ("crc", "odc"), ("odc", "bin"), ("bin", "newc")), 2):
            archives = [self.cpio(first, early), self.cpio(second)]
            for zeros in sampled((0, 4, 512, 3000, 600_000), 2):
                with self.subTest(first=first, second=second, zeros=zeros):
                    archive = bytes(zeros).join([*archives, archives[0]])
                    members = [*early.items(), *FILES.items(), *early.items()]
                    self.assert_read("x.cpio", archive, members)
                    self.assert_read("initrd", gzip.compress(archive), members)

    def test_a_second_archive_that_is_damaged_or_cut_is_an_error_at_its_offset(self):
        archive = self.cpio("newc")
        for second in (archive[: len(archive) // 2], archive.replace(b"TRAILER!!!", b"TRAIL")):
            ended = run(*JSON, self.file("x.cpio", archive + second))
            self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
            self.assertGreaterEqual(int(re.search("at offset ([0-9]+)", ended.stderr).group(1)), len(archive))
        for other in (b"text\n", b"\1\2\3", tar(FILES)):
            ended = run(*JSON, self.file("x.cpio", archive + bytes(512) + other))
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(f"holds other data after its end, which was not counted, at offset {len(archive) + 512}", ended.stderr)
            self.assert_counts(ended.result, b"".join(FILES.values()))

    EARLY = {"early/a": text(700), "early/b": noise(300_000)}
    COMPRESSIONS = ("gzip -c", "xz -c --check=crc32", "zstd -qc", "lz4 -lqc", "zstd -19 -qc", "bzip2 -c", "lz4 -qc", "lzip -c")

    def test_a_compressed_archive_after_a_cpio_archive_is_read(self):
        """The main part of an initial RAM disk, after the part with microcode."""
        early = self.cpio("newc", self.EARLY)
        shutil.rmtree(self.folder / "tree")
        main_part = self.cpio("newc")
        members = [*self.EARLY.items(), *FILES.items()]
        for command in sampled(self.COMPRESSIONS, 3):
            packed = subprocess.run(command.split(), input=main_part, stdout=subprocess.PIPE, check=True).stdout
            for before in (early, early + bytes(4), early + early + bytes(600_000)):
                with self.subTest(command=command, before=len(before)):
                    found = [*self.EARLY.items()] * before.count(b"TRAILER!!!") + [*FILES.items()]
                    self.assert_read("initrd", before + packed, found)
                    ended = run(*JSON, "--threads", "3", self.file("initrd", before + packed))
                    formats = [each["format"] for each in ended.result["inputs"]]
                    self.assertEqual(formats, ["cpio"] * (len(found) - len(FILES)) + [f"cpio.{command.split()[0]}.cpio"] * len(FILES))
        self.assert_read("x.tar", tar({"initrd": early + packed}), [(f"initrd/{name}", data) for name, data in members])
        self.assert_read("initrd.gz", gzip.compress(early + packed), members)
        kept = run("filter", "--keep-if", "bytes > 0", self.file("initrd", early + packed), engine=None)
        self.assertEqual((kept.status, kept.stdout), (0, b"".join(data for _, data in members)))

    def test_a_compressed_archive_after_a_cpio_archive_that_is_damaged_or_no_cpio_is_an_error(self):
        early = self.cpio("newc", self.EARLY)
        shutil.rmtree(self.folder / "tree")
        packed = gzip.compress(self.cpio("newc"))
        damaged = (packed[:-100], packed[:-5] + bytes([packed[-5] ^ 1]) + packed[-4:], gzip.compress(text(5000)),
                   gzip.compress(self.cpio("newc")[:2000]), packed + b"more", gzip.compress(b""))  # fmt: skip
        for number, after in enumerate(damaged):
            for ended in (run(*JSON, self.file("initrd", early + after)), run(*JSON, stdin_bytes=early + after)):
                with self.subTest(number=number):
                    self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                    early_parts, rest = ended.result["inputs"][1:3], ended.result["inputs"][3:]
                    for reported, data in zip(early_parts, self.EARLY.values()):
                        self.assertIs(reported["complete"], True)
                        self.assert_counts(reported, data)
                    if number < 2:
                        self.assertEqual({(each["complete"], each["bytes"]) for each in rest}, {(False, 0)})
                        self.assertGreater(int(re.search("compressed offset ([0-9]+)", ended.stderr).group(1)), len(early))

    def test_text_that_begins_like_cpio_is_text(self):
        for data in (b"0707011234 a telephone number\n", b"070707 another\n", b"\xc7q", b"q\xc7a va\n" * 20):
            self.assert_counted(run(*JSON, stdin_bytes=data), data)


def streamed(*command):
    """A tool that does not know the size of its input states the whole window that its level uses."""
    return lambda data: subprocess.run([*command, "-c"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


class Windows(ArchiveTest):
    """Compressed members of archives need windows, for which archives that are read at the same time share memory."""

    PACKERS = {
        "19.zst": streamed("zstd", "-19"), "bz2": streamed("bzip2"), "xz": streamed("xz", "-6"),
        **{name: streamed(*command) for name, *command in (("lz", "lzip", "-6"), ("lz4", "lz4", "-l")) if shutil.which(command[0])},
    }  # fmt: skip

    def members(self, data):
        return {f"{name}.{name.rsplit('.')[-1]}": pack(data) for name, pack in self.PACKERS.items()}

    def test_members_have_the_windows_of_usual_levels_on_any_number_of_threads(self):
        data = text(100_000)
        archive = tar(self.members(data))
        inner = tar({"in.tar.zst": self.PACKERS["19.zst"](archive), "after": text(10)})
        for threads in ("1", "2", "16", "32"):
            for name, packed, expected in (("x.tar", archive, len(self.PACKERS) * data), ("y.tar.zst", self.PACKERS["19.zst"](inner), len(self.PACKERS) * data + text(10))):
                for ended in (run(*JSON, "-T", threads, self.file(name, packed)), run(*JSON, "-T", threads, stdin_bytes=packed)):
                    with self.subTest(threads=threads, name=name):
                        self.assertEqual((ended.status, remarks(ended)), (0, []))
                        self.assert_counts(ended.result, expected)

    def test_the_memory_limit_that_a_message_names_is_sufficient(self):
        data = text(100_000)
        wide = streamed("zstd", "--long=29")(data)
        within = tar({"in.tar.zst": streamed("zstd", "-19")(tar({"a.zst": wide}))})
        for packed in (tar({"a.zst": wide}), within, streamed("zstd", "-19")(within)):
            for options in (("-T", "1"), ("-T", "4"), ("-T", "32"), ("-T", "2", "--memory-limit", "400MiB")):
                with self.subTest(options=options, size=len(packed)):
                    path = self.file("x.tar", packed)
                    refused = run(*JSON, *options, path)
                    self.assertEqual((refused.status, refused.result["inputs"][0]["error_kind"]), (1, "refused"))
                    (named,) = re.findall(r"a.zst: frame 1 needs a window of 512 MiB, more than the [0-9]+ MiB left of --memory-limit; give --memory-limit (\d+MiB) or more, or --memory-limit none, at compressed offset 6", refused.stderr)
                    for limit in (named, "none"):
                        self.assert_counted(run(*JSON, *options[:2], "--memory-limit", limit, path), data)

    def test_archives_that_wait_for_windows_do_not_wait_forever(self):
        """With room for one window of a member and for few of the compression around archives."""
        options = ("-T", "8", "--slots", "12", "--chunk-size", "64KiB", "--memory-limit", "160MiB", "--engine", "host")
        data = noise(200_000)
        wide = streamed("zstd", "-19", "--long=24")  # 16 MiB
        refused = run(*JSON, *options, self.file("wide.tar", tar({"a.zst": streamed("zstd", "--long=25")(data)})))
        self.assertRegex(refused.stderr, "needs a window of 32 MiB, more than the (1[6-9]|2[0-9]) MiB left")

        content = {"a.zst": wide(data), "b.tar.zst": wide(tar({"c.zst": wide(data), "d.zst": zstd(data)})), "e": text(30_000)}
        whole = tar({f"{number}/{name}": each for number in range(3) for name, each in content.items()})
        expected = 3 * (3 * data + text(30_000))
        # within the first member begins a frame whose window is larger than those before
        grows = b"".join(zstd(whole[at : at + 10_000]) for at in range(0, 100_000, 10_000)) + wide(whole[100_000:])
        paths = [self.file(f"{number}.tar.zst", wide(whole) if number % 2 else grows) for number in range(20)] + [self.file("plain.tar", whole)]
        for _ in sampled(range(12), 4):
            self.assert_counted(run(*JSON, *options, *paths), 21 * expected)


class Nested(ArchiveTest):
    def test_members_that_are_compressed_or_archives_are_decoded(self):
        inner = tar({"deep.log": text(4000, 4), "deeper.log.zst": zstd(text(3000, 5))})
        files = {"a.log.gz": gzip.compress(text(1000)), "b.log": text(10), "c.tar.gz": gzip.compress(inner),
                 "d.zip": zipped({"e": text(20, 6)})}
        members = [("a.log.gz", text(1000)), ("b.log", text(10)), ("c.tar.gz/deep.log", text(4000, 4)),
                   ("c.tar.gz/deeper.log.zst", text(3000, 5)), ("d.zip/e", text(20, 6))]
        self.assert_read("x.tar.zst", zstd(tar(files)), members)
        self.assert_read("x.zip", zipped(files), members)
        formats = [each["format"] for each in run(*JSON, self.file("x.tar.zst", zstd(tar(files)))).result["inputs"]]
        self.assertEqual(formats, ["gzip.tar.zstd", "tar.zstd", "tar.gzip.tar.zstd", "zstd.tar.gzip.tar.zstd", "zip.tar.zstd"])

    def test_archives_are_nested_at_most_three_levels_deep(self):
        archive = {"text": text(100)}
        for level in range(3):
            archive = {"x.tar": tar(archive)}
        self.assert_read("x.tar", archive["x.tar"], [("x.tar/x.tar/text", text(100))])
        path = self.file("x.tar", tar({**archive, "good": text(50)}))
        ended = run(*JSON, path)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("deeper than gpuhist looks", ended.stderr)
        self.assert_counts(ended.result, text(50))

    def test_an_error_in_a_nested_archive_affects_only_that_archive(self):
        broken = bytearray(gzip.compress(text(5000)))
        broken[-5] ^= 1
        cut = tar({"whole": text(600), "cut": text(9000, 2)})[:4000]
        ended = run(*JSON, self.file("x.tar", tar({"a.gz": bytes(broken), "b.tar": cut, "no.gz": b"te\0t", "good": text(50)})))
        self.assertEqual(ended.status, 1, ended)
        reported = {each["name"].split("x.tar/")[1]: each for each in ended.result["inputs"]}
        self.assertEqual({name: each["complete"] for name, each in reported.items()},
                         {"a.gz": False, "b.tar/whole": True, "b.tar/cut": False, "b.tar": False, "no.gz": False, "good": True})
        self.assertIn("is named .gz but", reported["no.gz"]["error"])
        self.assert_counts(ended.result, text(600) + text(50))

    def test_a_checksum_of_the_outer_compression_covers_members_of_nested_archives(self):
        inner = tar({"a": text(600)})
        archive = bytearray(zipped({"inner.tar": inner}, zipfile.ZIP_STORED))
        archive[archive.index(text(600)) + 7] ^= 1
        ended = run(*JSON, self.file("x.zip", bytes(archive)))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
        self.assertEqual(ended.result["unverified"]["bytes"], 600)


class Streams(ArchiveTest):
    def test_an_archive_that_arrives_in_pieces_is_read(self):
        chosen = random.Random(3)
        for encoded in (tar(FILES), gzip.compress(tar(FILES)), zipped(FILES)):
            pieces, at = [], 0
            while at < len(encoded):
                size = chosen.choice((1, 10, 300, 5000))
                pieces.append(encoded[at : at + size])
                at += size
            ended = run_fed(pieces, *JSON, "--label", "stream")
            self.assert_members(ended, "stream", list(FILES.items()))

    def test_a_signal_ends_an_archive_that_is_still_arriving(self):
        archive = tar({"a": text(1000), "b": text(900_000)})
        for encoded in (archive, zstd(archive)):
            with Running(*JSON, stdin=subprocess.PIPE) as running:
                feed(running, [encoded[: len(encoded) // 2]])
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                running.process.send_signal(signal.SIGINT)
                ended = running.finish()
            self.assertEqual(ended.status, -signal.SIGINT, ended)
            self.assertIs(ended.result["complete"], False)
            self.assertIn("stopped at offset", ended.stderr)

    def test_members_without_a_verdict_at_the_end_of_a_run_are_stopped_and_not_damaged(self):
        names = [f"m{number}" for number in range(8)]
        archive = tar({name: noise(300_000, seed) for seed, name in enumerate(names)})
        for encoded in (gzip.compress(archive), zstd(archive)):
            reports = self.folder / "reports"
            reports.write_bytes(b"")

            def inputs():
                lines = reports.read_bytes().split(b"\n")[:-1]  # the last line may be incomplete
                return [each["name"] for each in json.loads(lines[-1])["inputs"]] if lines else []

            with Running("--format", "json", "--label", "stream", "--snapshot-every", "20ms", "-o", reports, stdin=subprocess.PIPE) as running:
                feed(running, [encoded[: len(encoded) // 2]])
                wait_until(lambda: "stream/m2" in inputs())
                running.process.send_signal(signal.SIGINT)
                self.assertEqual(running.finish().status, -signal.SIGINT)
            reported = json.loads(reports.read_bytes().splitlines()[-1])
            self.assertEqual((reported["kind"], reported["complete"], reported["bytes"]), ("result", False, 0))
            self.assertGreaterEqual(len(reported["inputs"]), 3)
            self.assertEqual({each["error_kind"] for each in reported["inputs"]}, {"stopped"})
            (first,) = [each["error"] for each in reported["inputs"] if each["name"] == "stream/m0"]
            self.assertEqual(first, "not verified: the run ended before the end of the surrounding archive or frame")

    def test_members_without_a_verdict_are_damaged_if_their_compressed_layer_is_damaged(self):
        archive = tar({f"m{number}": noise(40_000, number) for number in range(8)})
        encoded = bytearray(gzip.compress(archive))
        encoded[-8] ^= 1
        ended = run(*JSON, "--label", "stream", stdin_bytes=bytes(encoded))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0))
        self.assertEqual({each["error_kind"] for each in ended.result["inputs"]}, {"damaged"})

    def test_few_threads_few_slots_and_tiny_chunks_do_not_change_the_counts(self):
        archives = [self.file(f"{i}.tar.zst", zstd(tar(FILES))) for i in range(5)]
        paths = [*archives, self.file("x.zst", zstd(text(300_000)))]
        for tuning in (("--threads", "1"), ("--slots", "2", "--chunk-size", "4KiB"), ("--threads", "8")):
            ended = run(*JSON, *tuning, *paths)
            self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
            self.assert_counts(ended.result, b"".join(FILES.values()) * 5 + text(300_000))


if __name__ == "__main__":
    main()
