"""Members of a zip file are decoded by all threads. Whatever the number of threads, the whole result, the messages and the
exit status are those of one thread, which decodes one member after the other."""

import gzip
import io
import random
import zipfile

from support import CommandTest, main, noise, run, sampled, tar, text, zipped, zipped_to_pipe

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


if __name__ == "__main__":
    main()
