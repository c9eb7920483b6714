"""Frames that are decoded in parallel: archives of zstd and pzstd, many at once, with few threads and slots."""

import json
import random
import subprocess
import unittest

from support import ENGINE, GPUHIST, PATIENCE, SANITIZED, CommandTest, counts_of, main, noise, oracle, run, text, zstd

JSON = ("--format", "json", "--buckets", "letters,bytes")


def pzstd(data, *options):
    """Independent frames, each after a skippable frame with its size."""
    return subprocess.run(["pzstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


class ManyFrames(CommandTest):
    def assert_archive_counted(self, encoded, data, *options):
        path = self.file("data.zst", encoded)
        for ended in (run(*JSON, *options, path), run(*JSON, *options, stdin_bytes=encoded)):
            self.assert_decoded(ended, data, "zstd", len(encoded))

    def test_threads_and_slots_do_not_change_the_counts_of_archives_of_pzstd_and_zstd(self):
        data = text(9_000_000)
        archives = {"zstd": lambda: b"".join(zstd(data[at : at + 70_000], "-1") for at in range(0, len(data), 70_000)),
                    "pzstd": lambda: pzstd(data, "-p", "4", "-1")}  # fmt: skip
        for name, make in archives.items():
            with self.subTest(tool=name):
                self.require(name)
                self.assert_counted_with_all_options(make(), data)

    def assert_counted_with_all_options(self, encoded, data):
        for options in (
            *(("-T", threads) for threads in ("1", "2", "3", "4")),
            *(("--slots", slots, "-T", "4") for slots in ("2", "3", "8")),
            ("--slots", "2", "--chunk-size", "1000", "-T", "3"),
        ):
            with self.subTest(options=options):
                self.assert_archive_counted(encoded, data, *options)

    def test_frames_that_are_larger_than_all_slots_together_are_counted_exactly(self):
        parts = [text(3_000_000, 1), noise(2_000_000), text(2_500_000, 2), b"", text(1, 3)]
        encoded = b"".join(zstd(part, "-1") for part in parts)
        self.assert_archive_counted(encoded, b"".join(parts), "--slots", "4", "--chunk-size", "64KiB", "-T", "4")

    def test_the_default_memory_has_room_for_the_windows_of_level_19_on_many_threads(self):
        parts = [text(10_000, seed) for seed in range(3)]
        encoded = b"".join(zstd(part, "-19") for part in parts)  # compressed from a pipe: frames with windows of 8 MiB
        for threads in ("1", "128"):
            with self.subTest(threads=threads):
                self.assert_archive_counted(encoded, b"".join(parts), "-T", threads)

    def test_the_statistics_say_how_archives_were_split(self):
        data = text(2_000_000)
        split = self.file("split.zst", b"".join(zstd(data[at : at + 500_000]) for at in range(0, len(data), 500_000)))
        whole = self.file("whole.zst", zstd(data))
        ended = run("--stats", split, whole)
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("1 input split: frames found by the sizes of their blocks", ended.stderr)
        self.assertNotIn("2 inputs split", ended.stderr)

    @unittest.skipIf(SANITIZED or ENGINE != "host", "a sanitizer or a device has memory of its own")
    def test_memory_does_not_grow_with_the_size_of_the_archive(self):
        frames = [zstd(text(2_000_000, seed), "-1") for seed in range(4)]
        path = self.folder / "large.zst"
        with open(path, "wb") as archive:
            for number in range(100):
                archive.write(frames[number % 4])
        for source in (f"'{path}'", f"- < '{path}'", f"'{path}' '{path}' '{path}' '{path}'"):
            with self.subTest(source=source):
                # run by a small shell: a child of this process would start with its peak of memory
                command = f"{GPUHIST} --engine host --format json -T 2 --stats {source}"
                ended = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, timeout=PATIENCE)
                self.assertEqual(ended.returncode, 0)
                result = json.loads(ended.stdout)
                self.assertEqual(result["bytes"], 200_000_000 * len(result["inputs"]))
                self.assertLess(result["stats"]["memory"]["peak_bytes"], 100 << 20)


class ManyArchives(CommandTest):
    def setUp(self):
        super().setUp()
        chosen = random.Random(9)
        self.texts = [text(chosen.choice((0, 1, 5000, 300_000)), number) for number in range(40)]
        self.paths = [
            self.file(f"{number}.zst", zstd(part[: len(part) // 2]) + zstd(part[len(part) // 2 :], "-1"))
            for number, part in enumerate(self.texts)
        ]

    def test_results_are_in_the_order_given(self):
        order = list(range(40))
        random.Random(1).shuffle(order)
        for options in ((), ("-T", "1"), ("-T", "4", "--slots", "2", "--chunk-size", "2000"), ("-T", "3", "--slots", "4")):
            with self.subTest(options=options):
                ended = run(*JSON, *options, *(self.paths[number] for number in order))
                self.assert_counted(ended, b"".join(self.texts))
                reported = ended.result["inputs"]
                self.assertEqual([each["name"] for each in reported], [str(self.paths[number]) for number in order])
                for number, each in zip(order, reported):
                    self.assert_counts(each, self.texts[number])

    def test_damage_in_one_archive_does_not_affect_others(self):
        hit = next(number for number, part in enumerate(self.texts) if len(part) == 300_000)
        damaged = bytearray(self.paths[hit].read_bytes())
        damaged[-1] ^= 1  # a bit in the checksum of the second frame
        self.paths[hit].write_bytes(damaged)
        good = self.texts[:hit] + [self.texts[hit][:150_000]] + self.texts[hit + 1 :]
        for options in ((), ("-T", "1"), ("-T", "4", "--slots", "3", "--chunk-size", "2000")):
            with self.subTest(options=options):
                ended = run(*JSON, *options, *self.paths)
                self.assertEqual(ended.status, 1, ended)
                self.assertIn(f"{hit}.zst: frame 2 is damaged", ended.stderr)
                self.assert_counts(ended.result, b"".join(good))
                reported = ended.result["inputs"]
                self.assertEqual([each["complete"] for each in reported], [number != hit for number in range(40)])
                for number, each in enumerate(reported):
                    self.assert_counts(each, good[number])
                expected = oracle(self.texts[hit][150_000:])
                unverified = counts_of(reported[hit]["unverified"])
                self.assertEqual(unverified["bytes"], expected["bytes"])
                self.assertEqual(unverified["buckets"]["bytes"], expected["buckets"]["bytes"])

    def test_a_file_that_is_no_archive_does_not_delay_the_others(self):
        self.paths[3].write_bytes(b"")
        self.paths[7].write_bytes(noise(200_000))
        self.paths[11].unlink()
        ended = run(*JSON, "-T", "3", *self.paths)
        self.assertEqual(ended.status, 1, ended)
        verified = [part for number, part in enumerate(self.texts) if number not in (3, 7, 11)]
        self.assert_counts(ended.result, b"".join(verified))


if __name__ == "__main__":
    main()
