"""The test files of other projects. Good files must have the counts of the text that their own tools decode; bad and
unsupported files must be refused. Set GPUHIST_TEST_DATA to the folder of the files, or the suite is skipped."""

import pathlib
import subprocess
import sys
import zipfile

from support import ALL_SCHEMES, SKIPPED, TEST_DATA, CommandTest, main, run, sampled

DATA = pathlib.Path(TEST_DATA or "")
EXPECTED = pathlib.Path(__file__).resolve().parents[1] / "data" / "libarchive"  # results of other programs
JSON = ("--format", "json", *ALL_SCHEMES)
TOOLS = {"xz": ["xz", "-dcqq", "-F", "auto"], "bzip2": ["bzip2", "-dcq"]}
# Archives of libarchive that are refused, although other programs read them:
REFUSED = {
    "7zip_archive_properties.7z": "no known program writes these properties",
    "compat_bzip2_2.tbz": "something follows the last stream",
    "compat_lzip_2.tlz": "something follows the last member",
    "compat_tar_hardlink_1.tar": "the mark of the end is missing",
    "compat_zip_2.zip": "something is between its members",
    "zip_padded2.zip": "something follows its end",
    "compat_zip_4.zip": "something is in front of it",
    "zip_padded1.zip": "something is in front of it",
    "zip_padded3.zip": "something is in front of it",
    "tar_pax_large_attr.tar.Z": "a header of more than a megabyte",
    "zip_symlink_unsupported_compression.zip": "a link by an unknown method",
    "zip_uncompressed_size_off_by_4gib.zip": "it says that 5 bytes are more than 4 GiB",
}
# Archives with methods that libarchive supports since 3.7 or later, or not yet:
NOT_BY_EVERY_LIBARCHIVE = {"7zip_deflate_arm64.7z", "7zip_deflate_powerpc.7z", "7zip_lzma2_arm64.7z", "7zip_lzma2_riscv.7z"}
# Counted, although other programs refuse them or find more in them: the number of bytes, and the reason.
COUNTED = {
    "7zip_symbolic_name.7z": (32, "7-Zip takes a link for a file"),
    "compat_solaris_tar_acl.tar": (0, "GNU tar takes lists of permissions for files"),
    "cpio_afio_header.part1.cpio": (76, "a piece of a header is text"),
    "cpio_afio_header.part2.cpio": (41, "a piece of a header is text"),
}
FEWEST = {"xz": (30, 60), "bzip2": (3, 0)}  # the fewest good files, and others


class ReferenceFiles(CommandTest):
    @staticmethod
    def files(project, *kinds):
        return sorted(path for kind in kinds for path in (DATA / project).glob(kind + "-*"))

    def test_zstd_files_are_accepted_and_refused_as_by_the_zstd_of_this_machine(self):
        files = self.files("zstd", "good", "bad")  # versions before 1.5.6 differ on some of these
        self.assertGreaterEqual(len(files), 7)
        for path in files:
            with self.subTest(path=path.name):
                process = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                ended = run(*JSON, path)
                self.assertEqual(ended.status, min(process.returncode, 1), ended)
                if process.returncode == 0:
                    self.assert_counts(ended.result, process.stdout)

    def test_frames_from_the_fuzzing_of_another_zstd_are_accepted_and_refused_as_by_the_zstd_of_this_machine(self):
        # This frame has no text and a compressed block that is longer than its window. libzstd accepts it only with the
        # whole frame at once. gpuhist refuses it with a message.
        by_the_letter = "2274d31e0d569fe9e31bedc4f9fddd9c9f114c2f.zst"
        taken = refused = 0
        for path in sorted((DATA / "go_zstd").glob("*.zip")):
            with zipfile.ZipFile(path) as archive:
                frames = {member.filename: archive.read(member) for member in archive.infolist() if not member.is_dir()}
            for name, frame in frames.items():
                with self.subTest(path=path.name, name=name):
                    process = subprocess.run(["zstd", "-dcq"], input=frame, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                    ended = run(*JSON, "--input-format", "zstd", self.file("frame.zst", frame))
                    self.assertEqual(ended.status, 1 if name == by_the_letter else min(process.returncode, 1), ended)
                    if ended.status == 0:
                        self.assert_counts(ended.result, process.stdout)
                    taken, refused = taken + (ended.status == 0), refused + (ended.status == 1)
        self.assertGreaterEqual(min(taken, refused), 10)

    def test_frames_of_another_lz4_are_accepted_and_refused_as_by_the_lz4_of_this_machine(self):
        files = sorted((DATA / "go_lz4").glob("*.lz4"))
        self.assertEqual(len(files), 6)
        for path in files:
            with self.subTest(path=path.name):
                process = subprocess.run(["lz4", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                ended = run(*JSON, "--input-format", "lz4", path)
                self.assertEqual(ended.status, min(process.returncode, 1), ended)
                if process.returncode == 0:
                    self.assert_counts(ended.result, process.stdout)

    def test_good_files_are_counted_exactly(self):
        for project, tool in TOOLS.items():
            good = self.files(project, "good")
            self.assertGreaterEqual(len(good), FEWEST[project][0])
            for path in sampled(good, 10):
                with self.subTest(path=path.name):
                    decoded = subprocess.run([*tool, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                    ended = run(*JSON, path)
                    if "trailing" in path.name:  # lzip ignores data after its members; gpuhist reports it
                        self.assertEqual(ended.status, 1, ended)
                        self.assertIn("trailing data that is not lzip", ended.stderr)
                    else:
                        self.assertEqual(ended.status, 0, ended)
                    self.assert_counts(ended.result, decoded)

    def test_archives_are_counted_or_refused_as_by_other_programs(self):
        sys.path.insert(0, str(EXPECTED))
        from make_expected import digest

        rows = [line.split() for line in (EXPECTED / "expected.txt").read_text().splitlines()]
        self.assertGreaterEqual(len(rows), 190)
        for name, *expected in sampled(rows, 30):
            with self.subTest(name=name):
                ended = run("--format", "json", "--buckets", "bytes", DATA / "libarchive" / name)
                if name in NOT_BY_EVERY_LIBARCHIVE and ended.status == 1:
                    continue
                if name in REFUSED or (expected == ["refused"] and name not in COUNTED):
                    self.assertEqual(ended.status, 1, ended)
                    self.assertIs(ended.result["complete"], False)
                elif name in COUNTED:
                    self.assertEqual(ended.status, 0, ended)
                    self.assertEqual(ended.result["bytes"], COUNTED[name][0])
                else:
                    self.assertEqual(ended.status, 0, ended)
                    counts = ended.result["buckets"]["bytes"]
                    self.assertEqual([str(ended.result["bytes"]), digest([counts[f"0x{v:02x}"] for v in range(256)])], expected)

    def test_archives_with_other_data_before_them_are_read_with_input_format(self):
        for name, expected in {"compat_zip_4.zip": 12, "zip_padded1.zip": 12}.items():
            with self.subTest(name=name):
                ended = run(*JSON, DATA / "libarchive" / name)
                self.assertIn("--input-format", ended.stderr)
                ended = run(*JSON, "--input-format", "zip", DATA / "libarchive" / name)
                self.assertEqual((ended.status, ended.result["bytes"]), (0, expected), ended)

    def test_bad_and_unsupported_files_are_refused(self):
        for project in TOOLS:
            refused = self.files(project, "bad", "unsupported")
            self.assertGreaterEqual(len(refused), FEWEST[project][1])
            for path in sampled(refused, 15):
                with self.subTest(path=path.name):
                    ended = run(*JSON, path)
                    self.assertEqual(ended.status, 1, ended)
                    self.assertIs(ended.result["complete"], False)
                    (reported,) = ended.result["inputs"]
                    self.assertTrue(reported["error"])


if __name__ == "__main__":
    if not TEST_DATA:
        print("skipped: no GPUHIST_TEST_DATA, the folder of the test files of other projects")
        sys.exit(SKIPPED)
    main()
