"""Every byte is counted once, for all input sizes, numbers of threads, chunk sizes and ways of arrival."""

import random

from support import ALL_SCHEMES, CommandTest, main, noise, run, run_fed, sampled, text

JSON = ("--format", "json", *ALL_SCHEMES)


class Exactness(CommandTest):
    def test_sizes_near_the_chunk_size_are_counted_exactly_from_files_and_pipes(self):
        for chunk in (1, 2, 1000, 4096):
            sizes = sorted({0, 1, 2, chunk - 1, chunk, chunk + 1, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 5 * chunk + 3})
            for size in sampled(sizes, 6):
                for data in (text(size), noise(size)):
                    with self.subTest(chunk=chunk, size=size):
                        path = self.file("data", data)
                        self.assert_counted(run(*JSON, "--chunk-size", str(chunk), path), data)
                        self.assert_counted(run(*JSON, "--chunk-size", str(chunk), stdin_bytes=data), data)

    def test_the_chunk_size_does_not_change_the_counts(self):
        data = text(300_000) + noise(300_000)
        path = self.file("data", data)
        for chunk in ("7", "4095", "64KiB", "1MiB", "64MiB"):
            with self.subTest(chunk=chunk):
                self.assert_counted(run(*JSON, "--chunk-size", chunk, path), data)
                self.assert_counted(run(*JSON, "--chunk-size", chunk, stdin_bytes=data), data)

    def test_chunks_of_one_byte_are_counted_exactly(self):
        data = text(3000)
        self.assert_counted(run(*JSON, "--chunk-size", "1", self.file("data", data)), data)
        self.assert_counted(run(*JSON, "--chunk-size", "1", stdin_bytes=data), data)

    def test_the_number_of_threads_does_not_change_the_counts(self):
        data = text(2_000_000) + noise(1_000_000)
        path = self.file("data", data)
        for threads in ("1", "2", "7"):
            for chunk in ("64KiB", "256KiB"):
                with self.subTest(threads=threads, chunk=chunk):
                    self.assert_counted(run(*JSON, "-T", threads, "--chunk-size", chunk, path), data)
                    self.assert_counted(run(*JSON, "-T", threads, "--chunk-size", chunk, stdin_bytes=data), data)

    def test_two_slots_are_enough(self):
        data = text(1_000_003)
        path = self.file("data", data)
        for threads in ("1", "4"):
            with self.subTest(threads=threads):
                options = (*JSON, "--slots", "2", "--chunk-size", "10000", "-T", threads)
                self.assert_counted(run(*options, path), data)
                self.assert_counted(run(*options, stdin_bytes=data), data)
                self.assert_counted(run(*options, path, path, path), data * 3)

    def test_many_chunks_of_default_size_are_counted_exactly(self):
        data = text(9_000_001)
        path = self.file("data", data)
        self.assert_counted(run(*JSON, path), data)
        self.assert_counted(run(*JSON, stdin_bytes=data), data)

    def test_one_repeated_letter_is_counted_exactly(self):
        data = b"e" * 5_000_000
        self.assert_counted(run(*JSON, self.file("data", data)), data)

    def test_every_byte_value_is_counted_exactly(self):
        data = b"".join(bytes([value]) * (value + 1) for value in range(256))
        self.assert_counted(run(*JSON, self.file("data", data)), data)


class ManyInputs(CommandTest):
    def assert_inputs_counted(self, ended, contents):
        self.assert_counted(ended, b"".join(contents))
        self.assertEqual(len(ended.result["inputs"]), len(contents))
        for reported, content in zip(ended.result["inputs"], contents):
            self.assert_counts(reported, content)
            self.assertIs(reported["complete"], True)

    def test_hundreds_of_tiny_files_share_chunks_and_have_separate_counts(self):
        chosen = random.Random(5)
        contents = [text(chosen.choice((0, 0, 1, 2, 17, 100, 300)), seed) for seed in range(400)]
        paths = [self.file(f"part-{number}", content) for number, content in enumerate(contents)]
        for options in ((), ("--chunk-size", "64"), ("--chunk-size", "1000", "-T", "7"), ("--slots", "2", "--chunk-size", "4096")):
            with self.subTest(options=options):
                ended = run(*JSON, *options, *paths)
                self.assert_inputs_counted(ended, contents)
                self.assertEqual([reported["name"] for reported in ended.result["inputs"]], [str(path) for path in paths])

    def test_empty_files_have_zero_counts(self):
        paths = [self.file(f"empty-{number}", b"") for number in range(50)]
        self.assert_inputs_counted(run(*JSON, *paths), [b""] * 50)

    def test_large_and_small_files_in_turn_are_counted_exactly(self):
        contents = [text(size, size) for size in (700_000, 3, 0, 300_001, 1, 262_144, 262_145, 0)]
        paths = [self.file(f"{number}", content) for number, content in enumerate(contents)]
        for threads in ("1", "2", "7"):
            with self.subTest(threads=threads):
                self.assert_inputs_counted(run(*JSON, "-T", threads, *paths), contents)

    def test_the_same_file_twice_counts_twice(self):
        data = text(10_000)
        path = self.file("twice", data)
        self.assert_inputs_counted(run(*JSON, path, path), [data, data])

    def test_standard_input_between_files_is_counted_in_its_place(self):
        first, piped, last = text(1000, 1), text(70_000, 2), text(1000, 3)
        ended = run_fed([piped], *JSON, self.file("first", first), "-", self.file("last", last))
        self.assert_inputs_counted(ended, [first, piped, last])
        self.assertEqual(ended.result["inputs"][1]["name"], "(standard input)")


if __name__ == "__main__":
    main()
