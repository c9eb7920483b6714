"""`gpuhist sample`: shares from random parts of many files, within bounds; compared with the shares of all text."""

import gzip
import os
import random

from support import CommandTest, main, oracle, run, tar, text, zstd

SCHEMES = ("classes", "letters")
SEEDS = int(os.environ.get("TEST_REPEATS", "8"))


def log_lines(number, seed, words=b"get put post delete user error timeout".split()):
    chosen = random.Random(seed)
    return b"".join(b"%d %s /%s?id=%d\n" % (1_700_000_000 + at, chosen.choice(words).upper(), chosen.choice(words), chosen.randrange(10**6)) for at in range(number))


class SampleTest(CommandTest):
    def sample(self, *arguments, status=0):
        ended = run("sample", "--format", "json", "--engine", "host", *map(str, arguments), engine=None)
        self.assertEqual(ended.status, status, ended)
        return ended.result

    def repacked(self, name, content, frame):
        plain, path = self.file(f"{name}.txt", content), self.folder / f"{name}.zst"
        ended = run("repack", "--frame-size", frame, plain, "-o", path, engine=None)
        self.assertEqual(ended.status, 0, ended)
        plain.unlink()
        return path

    def data_sets(self):
        """Names and inputs: files of one kind, skewed ones, small files, archives, and text that is the same everywhere."""
        chosen = random.Random(5)
        even = [(self.file("even.log", log_lines(20_000, 1)), None)]
        parts = b"9" * 300_000 + log_lines(3_000, 2) + b"\0" * 40_000 + "ä".encode() * 50_000 + b"z" * 4096
        skewed = [(self.file("skewed", parts), None), (self.file("hot", b"E" * 5_000), None)]
        small = [(self.file(f"small{at:03}", chosen.choice((b"a", b"7 ", b"\n")) * chosen.randint(0, 9_000)), None) for at in range(150)]
        contents = [log_lines(9_000, 3), b"x" * 200_000 + bytes(range(256)) * 800, log_lines(4_000, 4) + b"1" * 99_999]
        archives = [(self.repacked(f"a{at}", each, frame), each) for at, (each, frame) in enumerate(zip(contents, ("16KiB", "50000", "7777")))]
        constant = [(self.file("constant", b"ab1\n" * 100_000), None)]
        return {
  "even" : even, "skewed" : skewed, "small" : small, "archives" : [ *archives, even[0] ], "constant" : constant
}

    @staticmethod
    def text_of(files):
        return b"".join(content if content is not None else path.read_bytes() for path, content in files)


class Bounds(SampleTest):
    def test_all_shares_are_within_their_bounds_for_every_seed_and_data_set(self):
        for name, files in self.data_sets().items():
            content = self.text_of(files)
            expected = oracle(content)["buckets"]
            for seed in range(SEEDS):
                with self.subTest(data_set=name, seed=seed):
                    found = self.sample("--size", "200KiB", "--buckets", ",".join(SCHEMES), "--seed", seed, *(path for path, _ in files))
                    self.assertEqual((found["text_bytes"], found["unsampled"], found["seed"]), (len(content), [], seed))
                    for scheme in SCHEMES:
                        for bucket, each in found["buckets"][scheme].items():
                            share = expected[scheme][bucket] / len(content)
                            self.assertTrue(each["at_least"] <= share <= each["at_most"], (scheme, bucket, share, each))
                            self.assertTrue(each["at_least"] <= each["share"] <= each["at_most"], (bucket, each))

    def test_a_larger_sample_has_closer_bounds(self):
        path = self.file("a", log_lines(60_000, 1))
        widths = []
        for size in ("40KiB", "640KiB"):
            lower = self.sample("--size", size, "--seed", 1, path)["buckets"]["classes"]["digit"]
            widths.append(lower["at_most"] - lower["at_least"])
        self.assertLess(widths[1], widths[0] / 2)

    def test_a_sample_reads_about_as_much_as_was_asked_for(self):
        path = self.file("a", log_lines(100_000, 1))
        found = self.sample("--size", "256KiB", "--seed", 1, path)
        self.assertTrue(200 << 10 <= found["read_bytes"] <= 256 << 10, found["read_bytes"])
        self.assertEqual(found["draws"], 64)

    def test_draws_are_proportional_to_the_text(self):
        """A hundredth of the text is in many small files, the rest in one."""
        small = [self.file(f"s{at}", b"1" * 100) for at in range(100)]
        large = self.file("large", b"a" * 1_000_000)
        share = self.sample("--size", "1MiB", "--seed", 7, large, *small)["buckets"]["classes"]["digit"]
        self.assertTrue(share["at_least"] <= 0.0099 <= share["at_most"] < 0.1, share)

    def test_with_error_the_sample_grows_until_the_bounds_are_close(self):
        path = self.file("a", text(40 << 20))
        found = self.sample("--error", "2%", "--seed", 1, path)
        for bucket, each in found["buckets"]["classes"].items():
            self.assertLessEqual(max(each["at_most"] - each["share"], each["share"] - each["at_least"]), 0.02, bucket)


class SameSample(SampleTest):
    def test_the_same_seed_gives_the_same_sample_for_any_number_of_threads(self):
        files = [path for path, _ in self.data_sets()["archives"]]
        expected = self.sample("--size", "100KiB", "--seed", 42, "-T", 1, *files)
        for threads in (2, 4):
            self.assertEqual(self.sample("--size", "100KiB", "--seed", 42, "-T", threads, *files), expected)
        self.assertNotEqual(self.sample("--size", "100KiB", "--seed", 43, *files)["buckets"], expected["buckets"])

    def test_a_seed_is_chosen_and_reported(self):
        path = self.file("a", log_lines(5_000, 1))
        seeds = {self.sample("--size", "8KiB", path)["seed"] for _ in range(3)}
        self.assertEqual(len(seeds), 3)
        seed = seeds.pop()
        self.assertEqual(self.sample("--size", "8KiB", "--seed", seed, path), self.sample("--size", "8KiB", "--seed", seed, path))

    def test_trees_and_lists_of_names_are_sampled(self):
        (self.folder / "tree").mkdir()
        for at in range(5):
            (self.folder / "tree" / f"{at}.log").write_bytes(log_lines(500, at))
        names = self.file("names", "\n".join(str(self.folder / "tree" / f"{at}.log") for at in range(5)).encode())
        tree = self.sample("--seed", 1, "-r", self.folder / "tree")
        self.assertEqual(tree["buckets"], self.sample("--seed", 1, "--files-from", names)["buckets"])
        part = self.sample("--seed", 1, "-r", "--include", "1.log", self.folder / "tree")
        self.assertEqual(part["text_bytes"], len(log_lines(500, 1)))


class LeftOut(SampleTest):
    def test_inputs_whose_text_cannot_be_read_from_the_middle_are_listed(self):
        content = log_lines(2_000, 1)
        plain = self.file("plain.log", content)
        others = {
            self.file("a.gz", gzip.compress(content)): "gzip without a seek table",
            self.file("b.zst", zstd(content)): "zstd without a seek table",
            self.file("c.tar", tar({"m": content})): "archive",
        }
        found = self.sample("--seed", 1, plain, *others)
        self.assertEqual(found["text_bytes"], len(content))
        listed = {each["name"]: each for each in found["unsampled"]}
        self.assertEqual(sorted(listed), sorted(map(str, others)))
        for path, cause in others.items():
            self.assertIn(cause, listed[str(path)]["cause"])
            self.assertEqual(listed[str(path)]["stored_bytes"], path.stat().st_size)

    def test_an_input_that_cannot_be_read_makes_the_exit_status_1(self):
        plain, missing = self.file("plain.log", log_lines(2_000, 1)), self.folder / "missing"
        ended = run("sample", "--seed", "1", plain, missing, engine=None)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"gpuhist: {missing}: No such file or directory", ended.stderr)
        self.assertIn(" draws of 2 cells, seed 1\n", ended.stdout.decode())
        self.assertIn(f"  {missing}: No such file or directory\n", ended.stdout.decode())

    def test_bounds_allow_for_text_that_is_damaged(self):
        chosen = random.Random(1)
        content = b"".join(bytes(chosen.choices(letters, k=100_000)) for letters in (b"0123456789", b"abcdefghij"))
        path = self.repacked("a", content, "1000")
        damaged = bytearray(path.read_bytes())
        for at in range(3_000, 30_000, 1_500):
            damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        ended = run("sample", "--format", "json", "--size", "150KB", "--seed", "3", path, engine=None)
        self.assertEqual(ended.status, 1)
        self.assertIn(str(path), ended.stderr)
        found = ended.result
        self.assertGreater(found["failed_draws"], 0)
        for bucket in ("digit", "lower"):
            each = found["buckets"]["classes"][bucket]
            self.assertTrue(each["at_least"] <= 0.5 <= each["at_most"], each)


class Report(SampleTest):
    def test_the_table_has_a_row_for_each_bucket_and_rounds_bounds_outwards(self):
        path = self.file("a", log_lines(5_000, 1))
        found = self.sample("--size", "100KiB", "--seed", 1, path)
        ended = run("sample", "--size", "100KiB", "--seed", "1", path, engine=None)
        lines = ended.stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^bucket +share +at least +at most$")
        for line, (bucket, each) in zip(lines[1:], found["buckets"]["classes"].items()):
            name, share, _, least, _, most, _ = line.split()
            self.assertEqual(name, bucket)
            self.assertAlmostEqual(float(share), each["share"] * 100, delta=0.0051)
            self.assertTrue(float(least) <= each["at_least"] * 100 <= float(least) + 0.0101, (line, each))
            self.assertTrue(float(most) - 0.0101 <= each["at_most"] * 100 <= float(most), (line, each))
        self.assertIn("seed 1", ended.stdout.decode())
        self.assertIn("with a probability of 99.9 %", ended.stdout.decode())

    def test_wrong_use_is_refused(self):
        path = self.file("a", b"abc")
        for arguments, words in (
            (("--format", "csv", path), "--format: a sample has no format"),
            (("--error", "0", path), "--error"),
            (("--error", "120%", path), "--error"),
            (("--size", "0", path), "--size"),
            (("--seed", "x", path), "--seed"),
            (("--error", "1%", "--size", "1MiB", path), "--error"),
            (("--follow", path), "--follow"),
        ):
            with self.subTest(arguments=arguments):
                ended = run("sample", *arguments, engine=None)
                self.assert_usage_error(ended, words)

    def test_without_text_there_is_no_result(self):
        for arguments, message in (
            ((self.file("empty", b""),), "there is no text of which a sample can be taken"),
            ((self.file("a.gz", gzip.compress(b"abc")),), "a.gz: gzip without a seek table"),
            ((), "-: is a stream; give files"),
        ):
            ended = run("sample", *arguments, stdin_bytes=b"abc", engine=None)
            self.assertEqual((ended.status, ended.stdout), (1, b""), ended)
            self.assertIn(message, ended.stderr)
            self.assertIn("there is no text of which a sample can be taken", ended.stderr)


if __name__ == "__main__":
    main()
