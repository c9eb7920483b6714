"""Damaged inputs: totals hold no unverified bytes, no verified bytes are lost, and the message names the place."""

import json
import subprocess

from support import ALL_SCHEMES, CommandTest, added, counts_of, main, oracle, run, text, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


class DamagedArchives(CommandTest):
    """An archive of five frames with checksums. One of them is damaged."""

    def setUp(self):
        super().setUp()
        self.parts = [text(size, size) for size in (40_000, 50_000, 60_000, 70_000, 500_000)]
        self.frames = [zstd(part) for part in self.parts]

    def verified_before(self, frame):
        return b"".join(self.parts[:frame])

    def run_damaged(self, encoded, *options):
        """Runs the damaged archive between two good inputs, which must be counted. Returns the run and the message."""
        before, after = self.file("before", b"before\n"), self.file("after", b"after\n")
        ended = run(*JSON, *options, before, self.file("hurt.zst", encoded), after)
        self.assertEqual(ended.status, 1, ended)
        self.assertIs(ended.result["complete"], False)
        self.assertEqual([reported["complete"] for reported in ended.result["inputs"]], [True, False, True])
        self.assert_counts(ended.result["inputs"][0], b"before\n")
        self.assert_counts(ended.result["inputs"][2], b"after\n")
        hurt = ended.result["inputs"][1]
        self.assertIn("hurt.zst", ended.stderr)
        self.assertIn(hurt["error"], ended.stderr)
        return ended, hurt

    def assert_only_verified_counted(self, ended, hurt, verified):
        self.assert_counts(hurt, verified)
        self.assert_counts(ended.result, b"before\n" + verified + b"after\n")

    def assert_unverified_is_a_prefix(self, part, data):
        """The unverified counts are those of a prefix of the frame's text."""
        self.assertLessEqual(part["bytes"], len(data))
        self.assert_counts(part, data[: part["bytes"]])

    def test_all_text_decoded_before_the_end_is_reported_as_unverified(self):
        encoded = b"".join(self.frames)[:-4]  # all bytes but the checksum of the last frame
        ended, hurt = self.run_damaged(encoded)
        self.assertEqual(counts_of(hurt["unverified"]), oracle(self.parts[-1]))

    def test_at_least_as_much_text_is_reported_as_unverified_as_zstd_decodes(self):
        encoded = self.frames[-1][: len(self.frames[-1]) // 2]
        decoded = subprocess.run(["zstd", "-q", "-dc"], input=encoded, capture_output=True).stdout
        self.assertGreater(len(decoded), 0)
        ended, hurt = self.run_damaged(encoded)
        self.assertGreaterEqual(hurt["unverified"]["bytes"], len(decoded))
        self.assert_unverified_is_a_prefix(hurt["unverified"], self.parts[-1])

    def test_count_unverified_adds_the_unverified_text_to_the_totals(self):
        ended, hurt = self.run_damaged(b"".join(self.frames)[:-4], "--count-unverified")
        self.assert_counts(ended.result, b"before\n" + b"".join(self.parts) + b"after\n")
        self.assertEqual(ended.status, 1)

    def test_damage_in_the_last_of_many_tiny_frames_is_found(self):
        frames = [zstd(bytes([97 + number % 26])) for number in range(500)]
        ended, hurt = self.run_damaged(b"".join(frames)[:-1])
        self.assert_only_verified_counted(ended, hurt, b"".join(bytes([97 + number % 26]) for number in range(499)))
        self.assertRegex(hurt["error"], r"\bframe 500\b")

    def test_frames_without_a_checksum_count_if_they_end_cleanly(self):
        frames = [zstd(part, "--no-check") for part in self.parts]
        ended, hurt = self.run_damaged(b"".join(frames)[:-1])
        self.assert_only_verified_counted(ended, hurt, self.verified_before(4))

    def test_a_damaged_archive_on_standard_input_is_reported(self):
        ended = run(*JSON, stdin_bytes=b"".join(self.frames)[:-7])
        self.assertEqual(ended.status, 1)
        self.assertIn("(standard input)", ended.stderr)
        self.assert_counts(ended.result, self.verified_before(4))
        self.assertIs(ended.result["complete"], False)

    def test_threads_and_chunk_size_do_not_change_the_result(self):
        whole = b"".join(self.frames)
        results = set()
        for options in (("-T", "1"), ("-T", "7"), ("--chunk-size", "777"), ("--slots", "2", "--chunk-size", "5000")):
            ended, hurt = self.run_damaged(whole[: len(whole) - len(self.frames[4]) // 3], *options)
            results.add(json.dumps(ended.result, sort_keys=True))
        self.assertEqual(len(results), 1)

    def test_verified_and_unverified_bytes_add_up_to_the_decoded_bytes(self):
        whole = b"".join(self.frames)
        ended, hurt = self.run_damaged(whole[: len(whole) - len(self.frames[4]) // 2])
        decoded = added(counts_of(hurt), counts_of(hurt["unverified"]))
        self.assertEqual(decoded, oracle(b"".join(self.parts)[: decoded["bytes"]]))


class BrokenPromises(CommandTest):
    def assert_refused(self, path, *words, options=()):
        ended = run(*JSON, *options, path, self.file("good", b"hello"))
        self.assertEqual(ended.status, 1, ended)
        for word in (path.name, *words):
            self.assertIn(word, ended.stderr)
        self.assert_counts(ended.result, b"hello")
        self.assertEqual([reported["complete"] for reported in ended.result["inputs"]], [False, True])

    def test_compressed_data_that_cannot_be_read_is_recognised_and_not_counted_as_text(self):
        lzop = b"\x89LZO\0\r\n\x1a\n" + text(1000)
        self.assert_refused(self.file("data.log", lzop), "lzop")
        self.assert_refused(self.file("data.lzo", lzop), "lzop")

    def test_text_in_a_file_named_gz_is_refused_with_strict_names(self):
        self.assert_refused(self.file("data.gz", b"just text\n"), ".gz", options=["--strict-names"])


if __name__ == "__main__":
    main()
