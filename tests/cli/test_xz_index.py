"""Blocks of xz without sizes in their headers are decoded by all threads if the index at the end of the file says where
they begin. Whatever the number of threads and the index, the whole result, the messages and the exit status are those of
one thread, which does not read the index."""

import lzma
import random

from packers import packed, xz_index_begin
from support import CommandTest, main, noise, run, sampled, tar, text

JSON = ("--format", "json", "--buckets", "letters,bytes")


def xz(data, block_bytes, *options):
    """A stream of blocks that state no sizes."""
    return packed(data, "xz", "-zcq", "-0", "-T1", f"--block-size={block_bytes}", *options)


class XzIndex(CommandTest):
    def assert_same(self, encoded, *options, name="x.xz", threads=("2", "4")):
        return self.assert_same_with_threads(self.file(name, encoded), *JSON, *options, threads=threads)

    def test_blocks_without_sizes_in_files_are_decoded_in_parts_and_in_pipes_in_one_piece(self):
        data = text(3_000_000) + noise(1_500_000)
        encoded = xz(data, 200_000)
        path = self.file("data.xz", encoded)
        for threads in ("2", "3", "16"):
            ended = run(*JSON, "--stats", "-T", threads, path)
            self.assert_counted(ended, data)
            self.assertIn("in parts that several threads decode", ended.result["stats"]["decompression"])
        for ended in (run(*JSON, "--stats", "-T", "1", path), run(*JSON, "--stats", "-T", "4", stdin_bytes=encoded)):
            self.assert_counted(ended, data)
            self.assertIn("in one piece: the ends of blocks without sizes", ended.result["stats"]["decompression"])

    def test_files_of_many_streams_have_the_result_of_one_thread(self):
        parts = [text(60_000 * number, number) for number in range(12)]
        kinds = (lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256)
        streams = [lzma.compress(part, check=kinds[number % 4], preset=0) for number, part in enumerate(parts)]
        encoded = b"".join(stream + bytes(4 * (number % 3)) for number, stream in enumerate(streams))
        alone = self.assert_same(encoded)
        self.assertEqual(alone.status, 0)
        self.assert_counts(alone.result, b"".join(parts))

    def test_a_tar_archive_whose_blocks_state_no_sizes_has_the_result_of_one_thread(self):
        files = {"a": noise(900_000), "b": text(3_000_000), "c": noise(700_000, 5)}
        encoded = xz(tar(files), 250_000)
        self.assertEqual(self.assert_same(encoded, name="x.tar.xz").status, 0)
        for damaged_at in (len(encoded) // 2, len(encoded) - 20):
            damaged = bytearray(encoded)
            damaged[damaged_at] ^= 4
            self.assertEqual(self.assert_same(bytes(damaged), name="x.tar.xz").status, 1)
        self.assertEqual(self.assert_same(encoded[:-1], name="x.tar.xz").status, 1)

    def test_with_little_memory_the_result_is_that_of_one_thread(self):
        data = text(9_000_000) + bytes(60_000_000)
        for block, *options in sampled(((1_000_000,), (30_000_000,), (1_000_000, "-6")), 2):
            encoded = xz(data, block, *options)
            for limit in sampled(("48MiB", "96MiB", "1GiB"), 1):
                with self.subTest(block=block, limit=limit):
                    self.assertEqual(self.assert_same(encoded, "--memory-limit", limit).status, 0)

    def test_a_wrong_index_gives_the_message_of_one_thread_and_loses_no_text(self):
        data = text(2_000_000)
        encoded = xz(data, 100_000)
        others = [xz(data, 90_000), xz(text(2_000_000, 7), 100_000), xz(data, 100_000, "-C", "sha256"), xz(data[:9], 3)]
        for other in others:
            alone = self.assert_same(encoded[: xz_index_begin(encoded)] + other[xz_index_begin(other) :])
            self.assertEqual(alone.status, 1)
            self.assertIn("stream 1 is damaged (its ", alone.stderr)
            self.assert_counts(alone.result, data)

    def test_a_file_in_which_a_bit_is_flipped_or_that_is_cut_has_the_result_of_one_thread(self):
        chosen = random.Random(3)
        for data, block_bytes in ((text(3000), 700), (text(1_000_000) + noise(800_000), 100_000)):
            encoded = xz(data, block_bytes) + xz(data[:5000], 900)
            places = chosen.sample(range(len(encoded)), 20) + list(range(len(encoded) - 40, len(encoded), 3))
            for at in sampled(places, 12):
                damaged = bytearray(encoded)
                damaged[at] ^= 1 << chosen.randrange(8)
                with self.subTest(at=at):
                    self.assert_same(bytes(damaged), threads=("3",))
                    self.assert_same(bytes(damaged), "--skip-damage", threads=("3",))
                    self.assert_same(encoded[:at], threads=("3",))

    def test_windows_and_text_that_is_passed_through_are_those_of_one_thread(self):
        data = text(2_000_000) + noise(500_000)
        path = self.file("x.xz", xz(data, 100_000))
        ended = run(*JSON, "--pass-through=text", "--threads", "4", "-o", self.folder / "result", path)
        self.assertEqual(ended.stdout, data)
        windows = [run("--window", "300KiB", "--format", "csv", "-T", number, path).stdout for number in ("1", "4")]
        self.assertEqual(windows[0], windows[1])


if __name__ == "__main__":
    main()
