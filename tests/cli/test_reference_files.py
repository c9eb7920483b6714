"""The test files of the formats' own projects (tests/data): good ones count like what their tools make of them, bad and
unsupported ones are refused."""

import pathlib
import subprocess

from support import ALL_SCHEMES, CommandTest, main, run

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
JSON = ("--format", "json", *ALL_SCHEMES)
TOOLS = {"xz": ["xz", "-dcqq", "-F", "auto"], "bzip2": ["bzip2", "-dcq"]}
FEWEST = {"xz": (30, 60), "bzip2": (3, 0)}  # good ones, others


class ReferenceFiles(CommandTest):
    def setUp(self):
        super().setUp()
        if not DATA.is_dir():
            self.skipTest("a portable folder does not have the files")

    @staticmethod
    def files(project, *kinds):
        return sorted(path for kind in kinds for path in (DATA / project).glob(kind + "-*"))

    def test_zstd_files_are_taken_and_refused_as_the_zstd_of_this_machine_does(self):
        files = self.files("zstd", "good", "bad")  # versions before 1.5.6 think otherwise of some
        self.assertGreaterEqual(len(files), 7)
        for path in files:
            with self.subTest(path=path.name):
                done = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                ended = run(*JSON, path)
                self.assertEqual(ended.status, min(done.returncode, 1), ended)
                if done.returncode == 0:
                    self.assert_counts(ended.result, done.stdout)

    def test_good_files_are_counted_exactly(self):
        for project, tool in TOOLS.items():
            good = self.files(project, "good")
            self.assertGreaterEqual(len(good), FEWEST[project][0])
            for path in good:
                with self.subTest(path=path.name):
                    decoded = subprocess.run([*tool, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                    ended = run(*JSON, path)
                    if "trailing" in path.name:  # lzip passes over what follows its members: here that is told
                        self.assertEqual(ended.status, 1, ended)
                        self.assertIn("trailing data that is not lzip", ended.stderr)
                    else:
                        self.assertEqual(ended.status, 0, ended)
                    self.assert_counts(ended.result, decoded)

    def test_bad_and_unsupported_files_are_refused(self):
        for project in TOOLS:
            refused = self.files(project, "bad", "unsupported")
            self.assertGreaterEqual(len(refused), FEWEST[project][1])
            for path in refused:
                with self.subTest(path=path.name):
                    ended = run(*JSON, path)
                    self.assertEqual(ended.status, 1, ended)
                    self.assertIs(ended.result["complete"], False)
                    (said,) = ended.result["inputs"]
                    self.assertTrue(said["error"])


if __name__ == "__main__":
    main()
