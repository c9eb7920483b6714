"""The test files of XZ Utils (tests/data/xz): good ones count like what `xz` makes of them, bad and unsupported ones are
refused."""

import pathlib
import subprocess

from support import ALL_SCHEMES, CommandTest, main, run

FILES = pathlib.Path(__file__).resolve().parents[1] / "data" / "xz"
JSON = ("--format", "json", *ALL_SCHEMES)


class XzFiles(CommandTest):
    def setUp(self):
        super().setUp()
        if not FILES.is_dir():
            self.skipTest("a portable folder does not have the files")

    def decoded(self, path):
        done = subprocess.run(["xz", "-dcqq", "-F", "auto", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout if done.returncode in (0, 2) else None

    def test_good_files_are_counted_exactly(self):
        good = sorted(FILES.glob("good-*"))
        self.assertGreater(len(good), 30)
        for path in good:
            with self.subTest(path=path.name):
                ended = run(*JSON, path)
                if "trailing" in path.name:  # lzip passes over what follows its members: here that is told
                    self.assertEqual(ended.status, 1, ended)
                    self.assertIn("trailing data that is not lzip", ended.stderr)
                else:
                    self.assertEqual(ended.status, 0, ended)
                self.assert_counts(ended.result, self.decoded(path))

    def test_bad_and_unsupported_files_are_refused(self):
        refused = sorted((*FILES.glob("bad-*"), *FILES.glob("unsupported-*")))
        self.assertGreater(len(refused), 40)
        for path in refused:
            with self.subTest(path=path.name):
                ended = run(*JSON, path)
                self.assertEqual(ended.status, 1, ended)
                self.assertIs(ended.result["complete"], False)
                (said,) = ended.result["inputs"]
                self.assertTrue(said["error"])


if __name__ == "__main__":
    main()
