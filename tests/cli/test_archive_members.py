"""Members of a zip file, and of a 7z file that is not solid, are decoded by all threads. Whatever the number of threads, the
whole result, the messages and the exit status are those of one thread, which decodes one member after the other."""

import gzip
import io
import itertools
import os
import random
import shutil
import struct
import subprocess
import zipfile
import zlib

from support import CommandTest, main, needs, noise, run, sampled, tar, text, zipped, zipped_to_pipe

JSON = ("--format", "json", "--buckets", "letters,bytes")


def mixed():
    """Members of all methods and kinds, large and small, in an order that differs from that of the directory."""
    out = io.BytesIO()
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(60):
            info = zipfile.ZipInfo(f"dir{number % 4}/{number}.log")
            archive.writestr(info, text(50 + 977 * number, number), methods[number % 5])
        archive.writestr("inner.zip", zipped({"a": text(30_000), "b.gz": gzip.compress(text(9000))}), zipfile.ZIP_DEFLATED)
        archive.writestr("c.gz", gzip.compress(text(200_000, 3)), zipfile.ZIP_DEFLATED)
        archive.writestr("d.tar", tar({"e": text(20_000, 4), "f": noise(10_000)}), zipfile.ZIP_DEFLATED)
        archive.writestr("dir/", b"")
        archive.writestr("large", text(3_000_000, 5), zipfile.ZIP_DEFLATED, 1)
        with archive.open("zip64", "w", force_zip64=True) as member:
            member.write(text(40_000, 6))
        random.Random(1).shuffle(archive.filelist)
    return out.getvalue()


def marked_as_encrypted(archive, number):
    """The flag of encryption is set for one member, in its local header and in the directory."""
    changed = bytearray(archive)
    for magic, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = -1
        for _ in range(number + 1):
            at = archive.index(magic, at + 1)
        changed[at + flags] |= 1
    return bytes(changed)


class ZipMembers(CommandTest):
    def assert_same(self, archive, *options, threads=("2", "4")):
        return self.assert_same_with_threads(self.file("x.zip", archive), *JSON, *options, threads=threads)

    def test_archives_of_1_to_3000_members_have_the_result_of_one_thread(self):
        for number in sampled((1, 2, 64, 3000), 2):
            files = {f"{i}": text(13_000, i % 50)[: 4000 + 131 * i % 9000] for i in range(number)}
            with self.subTest(number=number):
                alone = self.assert_same(zipped(files))
                self.assertEqual((alone.status, len(alone.result["inputs"])), (0, number))
                self.assert_counts(alone.result, b"".join(files.values()))

    def test_archives_of_mixed_members_have_the_result_of_one_thread(self):
        archive = mixed()
        self.assertEqual(self.assert_same(archive).status, 0)
        self.assertEqual(self.assert_same(marked_as_encrypted(archive, 10)).status, 1)
        self.assert_same(b"#!/bin/sh\n" * 50 + archive)
        self.assert_same(b"PK\3\4" + archive)
        self.assertEqual(self.assert_same(zipped_to_pipe({f"{i}": text(20_000, i) for i in range(20)})).status, 0)

    def test_with_little_memory_the_result_is_that_of_one_thread(self):
        archive = zipped({f"{i}": text(1000, i) * times for i, times in enumerate((9, 30_000, 5, 8000, 7))})
        for limit in ("48MiB", "96MiB", "1GiB"):
            with self.subTest(limit=limit):
                self.assertEqual(self.assert_same(archive, "--memory-limit", limit).status, 0)

    def test_an_archive_with_more_text_than_max_output_is_given_up_as_by_one_thread(self):
        archive = zipped({f"{i}": text(700_000, i) for i in range(20)})
        alone = self.assert_same(archive, "--max-output", "2MiB")
        self.assertEqual(alone.status, 1)
        self.assertIn("--max-output", alone.stderr)

    def test_text_is_passed_through_in_the_order_of_the_members(self):
        files = {f"{i}": text(300_000, i) for i in range(20)}
        path = self.file("x.zip", zipped(files))
        ended = run(*JSON, "--pass-through=text", "--threads", "4", "-o", self.folder / "result", path)
        self.assertEqual(ended.stdout, b"".join(files.values()))

    def assert_each_same(self, archives):
        """A few archives in one run: tests/pipeline/test_member_queue.cpp compares them one by one."""
        for begin in range(0, len(archives), 8):
            paths = [self.file(f"{number}.zip", archive) for number, archive in enumerate(archives[begin : begin + 8])]
            alone, together = (run(*JSON, "--threads", number, *paths) for number in ("1", "4"))
            with self.subTest(begin=begin):
                self.assertEqual((together.status, together.result), (alone.status, alone.result))
                self.assertEqual(sorted(together.stderr.splitlines()), sorted(alone.stderr.splitlines()))

    # A small archive, whose members are large enough to be decoded ahead.
    SMALL = {"a": text(300) + bytes(4000), "b": b"short", "c": text(90, 2) * 60}

    def test_an_archive_in_which_a_bit_is_flipped_has_the_result_of_one_thread(self):
        for archive, step in ((zipped(self.SMALL), 7), (zipped_to_pipe(self.SMALL), 13)):
            places = sampled(range(0, len(archive), step), 20)
            self.assert_each_same([archive[:at] + bytes([archive[at] ^ 1 << at % 8]) + archive[at + 1 :] for at in places])

    def test_an_archive_that_is_cut_anywhere_has_the_result_of_one_thread(self):
        archive = zipped(self.SMALL)
        self.assert_each_same([archive[:size] for size in sampled(range(0, len(archive), 17), 20)])


METHODS = ("LZMA", "LZMA2", "Deflate", "BZip2", "Copy", "PPMd")
FILES = {f"{i:02}": text(1 + 1733 * i * i, i) for i in range(20)}
START = 32  # bytes of the start header
REGULAR, LINK, DIRECTORY, FIFO = 0o100644, 0o120777, 0o40755, 0o10644


def number(value):
    """A number of the format: the leading ones of the first byte are the bytes that follow."""
    return bytes([value]) if value < 0x80 else b"\xc0" + struct.pack("<H", value)


def with_list(packed, members):
    """An archive of these packed streams and this list of members."""
    start = struct.pack("<QQI", len(packed), len(members), zlib.crc32(members))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<I", zlib.crc32(start)) + start + packed + members


def stored(*entries):
    """An archive of members that are not compressed: (name, mode, text[, number of texts of the folder])."""
    folders = [each for each in entries if each[2] is not None]
    files = [each for each in entries if each[3:] != (0,)]
    checksums = b"\x0a\1" + b"".join(struct.pack("<I", zlib.crc32(each[2])) for each in folders) + b"\0"
    members = b"\1\4\6\0" + number(len(folders)) + b"\x09" + b"".join(number(len(each[2])) for each in folders) + b"\0"
    members += b"\7\x0b" + number(len(folders)) + b"\0" + b"\1\1\0" * len(folders)
    members += b"\x0c" + b"".join(number(len(each[2])) for each in folders) + checksums
    members += b"\x08\x0d" + b"".join(number(*each[3:] or (1,)) for each in folders) + b"\0\0\5" + number(len(files))
    empty = "".join("1" if each[2] is None else "0" for each in files)
    empty += "0" * (-len(empty) % 8)
    names = b"\0" + b"".join((each[0] + "\0").encode("utf-16-le") for each in files)
    modes = b"\1\0" + b"".join(struct.pack("<I", each[1] << 16) for each in files)
    for kind, content in ((14, int(empty, 2).to_bytes(len(empty) // 8, "big")), (17, names), (21, modes)):
        members += bytes([kind]) + number(len(content)) + content
    return with_list(b"".join(each[2] for each in folders), members + b"\0\0")


def mutated(archive, chosen):
    """Changes bytes of the list of members. Its checksums match."""
    at, size = struct.unpack("<QQ", archive[12:28])
    members = bytearray(archive[START + at : START + at + size])
    for _ in range(chosen.choice((1, 1, 1, 2))):
        place = chosen.randrange(size)
        members[place] = chosen.choice(
            (
                members[place] ^ 1 << chosen.randrange(8),
                chosen.randrange(256),
                members[chosen.randrange(size)],
                (members[place] + chosen.choice((1, 255))) % 256,
            )
        )
    return with_list(archive[START : START + at], bytes(members))


@needs("7z")
class SevenZipMembers(CommandTest):
    def archive(self, files, *options):
        root = self.folder / "files"
        shutil.rmtree(root, ignore_errors=True)
        path = self.folder / "made.7z"
        path.unlink(missing_ok=True)
        root.mkdir()
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(data, str):
                (root / name).symlink_to(data)
            else:
                (root / name).write_bytes(data)
        subprocess.run(["7z", "a", "-bso0", "-bd", "-mx=1", "-ms=off", *options, path, f"{root}/."], check=True)
        return path.read_bytes()

    def assert_same(self, archive, *options, threads=("2", "4")):
        return self.assert_same_with_threads(self.file("x.7z", archive), *JSON, *options, threads=threads)

    def assert_members(self, archive, files):
        """Asserts success with the counts of these files, each by its own name, in any order."""
        alone = self.assert_same(archive)
        self.assertEqual((alone.status, alone.result["complete"]), (0, True), alone)
        reported = {each["name"].partition(".7z/")[2]: each for each in alone.result["inputs"]}
        self.assertEqual((sorted(reported), len(alone.result["inputs"])), (sorted(files), len(files)))
        for name, data in files.items():
            self.assert_counts(reported[name], data)
        self.assert_counts(alone.result, b"".join(files.values()))

    def test_files_of_equal_size_around_links_directories_and_empty_files_have_their_own_counts(self):
        files = {name: name[:1].encode() * 5000 for name in ("b", "d", "f", "in/g", "in/deeper/i", "ö", "日本", "😀")}
        empty = {"e": b"", "in/e": b""}
        for links in ((), ("a",), ("e1",), ("z",), ("a", "c", "in/h", "z"), ("a", "b1", "b2")):
            for method in ("Copy", "LZMA"):
                with self.subTest(links=links, method=method):
                    targets = dict.fromkeys(links, "b" * 5)
                    archive = self.archive({**files, **empty, **targets}, "-snl", f"-m0={method}")
                    self.assert_members(archive, {**files, **empty})
        self.assert_counts(self.assert_same(self.archive({"a": "target"}, "-snl")).result, b"")
        self.assert_members(self.archive({"a": "b", "b": b"b" * 700}, "-snl"), {"b": b"b" * 700})

    def test_a_link_whose_target_has_the_size_of_a_file_does_not_shift_the_texts(self):
        link = ("link", LINK, b"x" * 100)
        files = [(name, REGULAR, name.encode() * 100) for name in "abcd"]
        for at in range(len(files) + 1):
            with self.subTest(at=at):
                archive = stored(*files[:at], link, *files[at:])
                self.assert_members(archive, {name: data for name, _, data in files})

    def test_files_with_the_same_name_are_all_counted(self):
        archive = stored(*((name, REGULAR, data * 100) for name, data in zip("aabab", (b"1", b"2", b"3", b"4", b"5"))))
        alone = self.assert_same(archive)
        self.assertEqual(alone.status, 0, alone)
        for reported, data in zip(alone.result["inputs"], (b"1", b"2", b"3", b"4", b"5")):
            self.assert_counts(reported, data * 100)

    def test_a_folder_without_a_text_or_with_an_empty_one_has_the_result_of_one_thread(self):
        files = [(name, REGULAR, name.encode() * 100) for name in "abcd"]
        for odd in (("e", REGULAR, b""), ("", REGULAR, b"unused", 0), ("", REGULAR, b"", 0)):
            for at in range(len(files) + 1):
                with self.subTest(odd=odd, at=at):
                    self.assert_same(stored(*files[:at], odd, *files[at:]))

    def test_members_that_are_skipped_have_the_same_messages_with_any_number_of_threads(self):
        files = [(name, REGULAR, name.encode() * 100) for name in "abcd"]
        pipe = ("pipe", FIFO, b"p" * 100)
        for at in range(len(files) + 1):
            archive = bytearray(stored(*files[:at], pipe, *files[at:]))
            self.assert_same(bytes(archive))
            archive[START + 100 * at] ^= 1  # the text of the pipe
            self.assert_same(bytes(archive))
        self.archive({"a": text(5000), "b": text(6000, 1)}, "-m0=LZMA")
        path = self.folder / "made.7z"
        for name, options in (("c", ("-psecret",)), ("d", ()), ("e", ())):  # only c is encrypted
            (self.folder / "files" / name).write_bytes(text(7000))
            subprocess.run(
                ["7z", "a", "-bso0", "-bd", "-mx=1", "-ms=off", *options, path, self.folder / "files" / name], check=True
            )
        self.assertEqual(self.assert_same(path.read_bytes()).status, 1)

    def test_an_archive_whose_list_is_changed_and_has_valid_checksums_has_the_result_of_one_thread(self):
        chosen = random.Random(int(os.environ.get("SEED", "7")))
        files = {f"f{i}": bytes([64 + i]) * 3000 for i in range(1, 6)}
        files |= {"e0": b"", "dd/x": b"x", "k9": "f1"}
        archives = [self.archive(files, "-mhc=off", "-snl", f"-m0={method}") for method in ("Copy", "LZMA2", "Deflate")]
        archives.append(self.archive(files, "-mhc=off", "-snl", "-ms=2f"))
        archives.append(stored(*((name, REGULAR, name.encode() * 3000) for name in "abcde")))
        for turn in range(int(os.environ.get("MUTATIONS", "0")) or len(sampled(range(300), 30))):
            with self.subTest(turn=turn):
                self.assert_same(mutated(chosen.choice(archives), chosen), threads=("3",))

    def test_archives_of_every_method_have_the_result_of_one_thread(self):
        files = {**FILES, "empty": b"", "noise": noise(300_000), "zeros": bytes(2_000_000)}
        for method, options in sampled(itertools.product(METHODS, ((), ("-mhc=off",))), 6):
            with self.subTest(method=method, options=options):
                alone = self.assert_same(self.archive(files, f"-m0={method}", *options))
                self.assertEqual(alone.status, 0, alone)
                self.assert_counts(alone.result, b"".join(files.values()))

    def test_archives_that_are_solid_filtered_or_encrypted_have_the_result_of_one_thread(self):
        for options in sampled((("-ms=on",), ("-ms=5f",), ("-mf=BCJ",), ("-mf=BCJ2",), ("-mf=Delta:4",)), 3):
            with self.subTest(options=options):
                alone = self.assert_same(self.archive(FILES, *options))
                self.assert_counts(alone.result, b"".join(FILES.values()))
        self.assertEqual(self.assert_same(self.archive(FILES, "-psecret")).status, 1)
        self.assertEqual(self.assert_same(self.archive(FILES, "-psecret", "-mhe=on")).status, 1)

    def test_a_member_that_is_not_decoded_ahead_leaves_the_members_after_it_intact(self):
        files = {f"{i}": text(40_000, i) for i in range(9)}
        self.archive(files)
        root = self.folder / "files"
        with open(root / "large", "wb") as large:
            large.write(text(1_000_000) * 70)
        for name in ("more", "and_more"):
            (root / name).write_bytes(text(90_000, len(name)))
        path = self.folder / "made.7z"
        for name in ("large", "more", "and_more"):  # added after the others
            subprocess.run(["7z", "a", "-bso0", "-bd", "-mx=1", "-ms=off", path, root / name], check=True)
        alone = self.assert_same(path.read_bytes())
        self.assertEqual((alone.status, len(alone.result["inputs"])), (0, 12), alone)

    def test_with_little_memory_or_output_and_pass_through_the_result_is_that_of_one_thread(self):
        archive = self.archive({f"{i}": text(2_000_000, i) for i in range(6)})
        for options in (("--memory-limit", "48MiB"), ("--memory-limit", "96MiB"), ("--max-output", "5MiB")):
            with self.subTest(options=options):
                self.assert_same(archive, *options)

    def test_an_archive_in_which_a_bit_is_flipped_or_that_is_cut_has_the_result_of_one_thread(self):
        chosen = random.Random(8)
        for method in METHODS[:5]:
            archive = self.archive({"a": text(5000), "b": noise(700), "c": text(40_000, 2), "d": b"x"}, f"-m0={method}")
            for at in sampled(chosen.sample(range(len(archive)), 25), 5):
                damaged = bytearray(archive)
                damaged[at] ^= 1 << chosen.randrange(8)
                with self.subTest(method=method, at=at):
                    self.assert_same(bytes(damaged), threads=("3",))
            self.assert_same(archive[: chosen.randrange(len(archive))], threads=("3",))

    def test_a_large_archive_in_which_a_bit_is_flipped_has_the_result_of_one_thread(self):
        chosen = random.Random(9)
        archive = self.archive({f"{i}": text(500_000, i) + noise(200_000, i) for i in range(8)})
        for at in sampled(chosen.sample(range(len(archive)), 12), 3):
            damaged = bytearray(archive)
            damaged[at] ^= 1 << chosen.randrange(8)
            with self.subTest(at=at):
                self.assertEqual(self.assert_same(bytes(damaged), threads=("3",)).status, 1)


if __name__ == "__main__":
    main()
