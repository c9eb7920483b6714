"""Members of a 7z file that is not solid are decoded by all threads. Whatever the number of threads, the whole result, the
messages and the exit status are those of one thread, which decodes one member after the other."""

import random
import shutil
import subprocess
import unittest

from support import CommandTest, main, noise, run, sampled, text

JSON = ("--format", "json", "--buckets", "letters,bytes")
METHODS = ("LZMA", "LZMA2", "Deflate", "BZip2", "Copy", "PPMd")
FILES = {f"{i:02}": text(1 + 1733 * i * i, i) for i in range(20)}


@unittest.skipUnless(shutil.which("7z"), "no 7z, as on a machine that only has the portable folder")
class SevenZipMembers(CommandTest):
    def archive(self, files, *options):
        root = self.folder / "files"
        shutil.rmtree(root, ignore_errors=True)
        path = self.folder / "made.7z"
        path.unlink(missing_ok=True)
        root.mkdir()
        for name, data in files.items():
            (root / name).write_bytes(data)
        subprocess.run(["7z", "a", "-bso0", "-bd", "-mx=1", "-ms=off", *options, path, f"{root}/."], check=True)
        return path.read_bytes()

    def assert_same(self, archive, *options, threads=("2", "4")):
        """Returns the run with one thread."""
        path = self.file("x.7z", archive)
        alone = run(*JSON, *options, "--threads", "1", path)
        for number in threads:
            together = run(*JSON, *options, "--threads", number, path)
            self.assertEqual((together.status, together.stderr), (alone.status, alone.stderr), number)
            self.assertEqual(together.result, alone.result, number)
        return alone

    def test_archives_of_every_method_have_the_result_of_one_thread(self):
        files = {**FILES, "empty": b"", "noise": noise(300_000), "zeros": bytes(2_000_000)}
        for method in METHODS:
            for options in ((), ("-mhc=off",)):
                with self.subTest(method=method, options=options):
                    alone = self.assert_same(self.archive(files, f"-m0={method}", *options))
                    self.assertEqual(alone.status, 0, alone)
                    self.assert_counts(alone.result, b"".join(files.values()))

    def test_archives_that_are_solid_filtered_or_encrypted_have_the_result_of_one_thread(self):
        for options in (("-ms=on",), ("-ms=5f",), ("-mf=BCJ",), ("-mf=BCJ2",), ("-mf=Delta:4",)):
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
