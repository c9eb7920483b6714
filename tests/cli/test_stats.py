"""--stats: the statistics of a run, in JSON and as text, for runs whose statistics are known beforehand."""

import json
import os
import re
import signal
import subprocess
import time

from support import CommandTest, Running, feed, main, noise, run, run_fed, text, unread, wait_until, zstd

JSON = ("--format", "json", "--stats")
MIB = 1 << 20


def stages(stats):
    return {stage["name"]: stage for stage in stats["stages"]}


def counted(stats):
    """The bytes that the stages of the engine counted, for any engine."""
    return sum(stage["bytes"] for name, stage in stages(stats).items() if name.startswith("count"))


class Facts(CommandTest):
    def stats(self, *arguments, **options):
        ended = run(*JSON, *arguments, **options)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended.result["stats"]

    def test_files_are_read_in_ranges_by_the_threads(self):
        paths = [self.file(name, text(3 * MIB)) for name in ("one", "two")]
        stats = self.stats("-T", "3", "--chunk-size", "128K", "--slots", "16", *paths)
        self.assertEqual(stats["reading"]["manners"], [{"how": "pread in ranges of 128 KiB by 3 threads", "inputs": 2}])
        self.assertEqual(stats["reading"]["inputs"], 2)
        self.assertGreaterEqual(stats["reading"]["most_in_flight"], 1)
        self.assertLessEqual(stats["reading"]["most_in_flight"], 16)
        self.assertEqual(stages(stats)["read"]["bytes"], 6 * MIB)
        self.assertEqual(counted(stats), 6 * MIB)
        self.assertEqual(stats["decompression"], "not compressed")

    def test_the_statistics_of_a_pipe_name_its_capacity(self):
        ended = run_fed([text(100_000)], *JSON)
        (manner,) = ended.result["stats"]["reading"]["manners"]
        self.assertRegex(manner["how"], r"^pipe of \d+ [KM]iB, straight into the slots$")
        self.assertEqual(manner["inputs"], 1)

    def test_archives_are_read_ahead_and_their_frames_are_counted(self):
        data = text(400_000)
        path = self.file("a.zst", zstd(data) + zstd(data))
        stats = self.stats(path, self.file("plain", data))
        archive, plain = stats["reading"]["manners"]
        self.assertEqual(archive, {"how": "pread in blocks of 256 KiB read ahead, 4 of them", "inputs": 1})
        self.assertTrue(plain["how"].startswith("pread in ranges of "))
        self.assertRegex(
            stats["decompression"],
            "^2 frames, up to [12] decoders? at once; 1 input split: frames found by the sizes of their blocks$",
        )
        self.assertEqual(stages(stats)["decompress"]["bytes"], 800_000)
        self.assertEqual(counted(stats), 1_200_000)

    def test_the_statistics_name_the_reason_if_an_archive_is_not_split(self):
        stats = self.stats(self.file("a.zst", zstd(text(1000)) + zstd(text(2000))))
        self.assertEqual(
            stats["decompression"],
            "2 frames, up to 1 decoder at once; 1 input in one piece: its frames are too short to split it",
        )

    def test_the_statistics_call_an_input_a_single_frame_only_if_it_has_one_frame(self):
        writers = {"lzip": "members found by their headers and trailers", "zstd": "frames found by the sizes of their blocks"}
        for tool, manner in writers.items():
            long, short = (subprocess.run([tool, "-c"], input=each, stdout=subprocess.PIPE, check=True).stdout
                           for each in (noise(400_000), text(1000)))
            for content, frames, expected in (
                (long, 1, "in one piece: a single frame"),
                (short * 3, 3, "in one piece: its frames are too short to split it"),
                (long * 2, 2, f"split: {manner}"),
                (long * 3, 3, f"split: {manner}"),
            ):
                with self.subTest(tool=tool, expected=expected):
                    words = f"^{frames} frames?, up to [123] decoders? at once; 1 input {expected}$"
                    self.assertRegex(self.stats(self.file("a", content))["decompression"], words)

    def test_the_statistics_name_the_reason_if_windows_or_pass_through_keep_frames_in_order(self):
        data = text(400_000)
        path = self.file("a.zst", zstd(data) * 2)
        stats = run("--format", "jsonl", "--stats", "--window", "100KiB", path).result["stats"]
        self.assertEqual(
            stats["decompression"], "2 frames, up to 1 decoder at once; 1 input one frame after the other, because of --window"
        )
        report = self.folder / "report"
        ended = run("--pass-through=text", "--format", "json", "--stats", "-o", report, path)
        self.assertEqual(
            json.loads(report.read_bytes())["stats"]["decompression"],
            "2 frames, up to 1 decoder at once; 1 input one frame after the other, because of --pass-through=text",
        )
        self.assertEqual(ended.stdout, data * 2)

    def test_the_partition_has_as_few_classes_as_the_schemes_allow(self):
        path = self.file("data", text(1000))
        for schemes, classes in (("letters", 9), ("classes", 8), ("letters,classes", 14), ("bytes", 256)):
            partition = self.stats("-b", schemes, path)["partition"]
            self.assertEqual(partition["classes"], classes)
            self.assertEqual(partition["schemes"], schemes.split(","))
            self.assertIn(partition["counted_classes"], (classes, 256))

    def test_every_slot_is_in_some_phase_at_any_time(self):
        slots = self.stats(self.file("data", text(5 * MIB)))["slots_over_time"]
        self.assertAlmostEqual(slots["free_share"] + slots["filling_share"] + slots["counting_share"], 1)
        self.assertTrue(1 <= len(slots["in_use"]) <= 64)
        self.assertTrue(all(0 <= share <= 1 + 1e-9 for share in slots["in_use"]))
        self.assertGreater(max(slots["in_use"]), 0)

    def test_memory_is_reported_with_its_limit(self):
        memory = self.stats("--memory-limit", "600MiB", self.file("data", text(1000)))["memory"]
        self.assertEqual(memory["limit_bytes"], 600 * MIB)
        self.assertGreater(memory["peak_bytes"], MIB)


class Limits(CommandTest):
    def test_with_a_slow_writer_the_limit_is_the_source(self):
        def slowly(seconds):
            for _ in range(4):
                time.sleep(seconds)
                yield text(300_000)

        for seconds in (0.3, 1.5, 6):  # until this is most of the run
            stats = run_fed(slowly(seconds), *JSON).result["stats"]
            if stats["limited_by"].startswith("the source"):
                break
        self.assertRegex(stats["limited_by"], r"^the source: reading waited for it \d+ % of the time$")
        self.assertTrue(stats["would_help"].startswith("a faster writer"))
        self.assertFalse(stats["stopped"])

    def test_without_text_the_limit_is_nothing(self):
        stats = run(*JSON, self.file("empty", b"")).result["stats"]
        self.assertEqual((stats["limited_by"], stats["would_help"]), ("nothing: there was no text", "nothing"))

    def test_with_a_text_of_one_slot_the_limit_is_the_start(self):
        stats = run(*JSON, self.file("small", text(1000))).result["stats"]
        self.assertTrue(stats["limited_by"].startswith("start-up: "), stats["limited_by"])

    def test_a_run_that_was_stopped_is_reported_as_stopped(self):
        with Running(*JSON, stdin=subprocess.PIPE) as running:
            feed(running, [text(300_000)])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGTERM)
            stats = running.finish().result["stats"]
        self.assertTrue(stats["stopped"])
        self.assertTrue(stats["limited_by"].startswith("being stopped after "), stats["limited_by"])


class ForPeople(CommandTest):
    def test_with_the_table_the_statistics_are_on_standard_error_with_the_same_numbers(self):
        ended = run("--stats", "--memory-limit", "600MiB", self.file("data", text(3 * MIB)))
        self.assertEqual(ended.status, 0)
        labels = ["engine", "kernel", "partition", "text", "chunks", "inputs", "decompress", "slots", "memory", "stage", "read"]
        found = [re.search(rf"(?m)^{label} ", ended.stderr) for label in labels]
        self.assertTrue(all(found), ended.stderr)
        self.assertEqual([each.start() for each in found], sorted(each.start() for each in found))
        self.assertRegex(ended.stderr, r"(?m)^partition   8 classes of the 256 byte values for classes")
        self.assertRegex(ended.stderr, r"(?m)^slots .* free \d+ %, filling \d+ %, counting \d+ %$")
        self.assertRegex(ended.stderr, r"(?m)^memory .* of a limit of 600 MiB$")
        self.assertRegex(ended.stderr, r"limited by: .+\nwould help: .+\n$")
        self.assertNotIn("limited by", ended.stdout.decode())

    def test_the_chart_of_slots_consists_of_digits_if_the_locale_is_ascii(self):
        ended = run("--stats", self.file("data", text(3 * MIB)), env={**os.environ, "LC_ALL": "C"})
        self.assertTrue(ended.stderr.isascii(), ended.stderr)
        self.assertRegex(ended.stderr, r"(?m)^slots +\d+  free ")

    def test_in_json_the_statistics_are_in_the_result(self):
        self.assertEqual(run(*JSON, self.file("data", b"x")).stderr, "")


if __name__ == "__main__":
    main()
