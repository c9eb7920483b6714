"""Damaged inputs: totals hold no unverified bytes, no verified bytes are lost, and the message names the place. With
--skip-damage intact frames after damage count, and lost data is listed; --max-output bounds the text; --count-unverified
marks a result, in every format, if its counts include unverified bytes, and only then."""

import json
import random
import subprocess

from packers import OF_MANY_PARTS
from support import ALL_SCHEMES, CommandTest, added, counts_of, main, noise, oracle, run, sampled, text, zstd

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


LETTERS = ("--format", "json", "--buckets", "letters")
SKIP = (*LETTERS, "--skip-damage")


def frames_of(parts):
    return [zstd(part) for part in parts]


class Skipping(CommandTest):
    def assert_lost_explains(self, ended, parts, frames):
        """The counts are those of exactly the frames that do not overlap with lost data."""
        reported = ended.result["inputs"][0]
        lost = reported.get("lost", [])
        self.assertEqual(reported.get("lost_stretches", 0), len(lost))
        whole, at = [], 0
        for part, frame in zip(parts, frames):
            begin, at = at, at + len(frame)
            if all(at <= each["compressed_begin"] or each["compressed_end"] <= begin for each in lost):
                whole.append(part)
        self.assertEqual(ended.result["bytes"], sum(map(len, whole)), lost)
        expected = oracle(b"".join(whole))
        self.assertEqual(ended.result["buckets"]["letters"], expected["buckets"]["letters"])
        self.assertEqual(ended.status, 1 if lost else 0, ended)
        self.assertIs(ended.result["complete"], not lost)
        return lost

    def test_damage_affects_only_the_frames_that_it_touches(self):
        parts = [text(300, number) for number in range(4)]
        frames = frames_of(parts)
        encoded = b"".join(frames)
        second, third = len(frames[0]), len(frames[0]) + len(frames[1])
        for place in sampled(range(second, third), 40):
            damaged = bytearray(encoded)
            damaged[place] ^= 1 << place % 8
            with self.subTest(place=place - second):
                ended = run(*SKIP, stdin_bytes=bytes(damaged))
                lost = self.assert_lost_explains(ended, parts, frames)
                self.assertEqual([each["compressed_begin"] for each in lost][:1], [second])
                self.assertIn("frame 2", lost[0]["error"])
                self.assertGreaterEqual(ended.result["bytes"], 300)

    def test_damage_in_the_content_of_a_frame_affects_only_that_frame_and_is_reported_with_its_place(self):
        chosen = random.Random(3)
        parts = [text(chosen.choice((100, 5000, 70_000, 400_000)), number) for number in range(20)]
        frames = frames_of(parts)
        begins = [sum(map(len, frames[:number])) for number in range(21)]
        for hit in ([4], [0, 19], [7, 8, 9], [2, 5, 11, 17]):
            damaged = bytearray(b"".join(frames))
            for number in hit:
                damaged[begins[number + 1] - 1] ^= 4  # a bit in the checksum: the whole text is decoded
            path = self.file("damaged.zst", bytes(damaged))
            for options in ((), ("-T", "1"), ("-T", "5", "--chunk-size", "3000"), ("--slots", "2")):
                with self.subTest(hit=hit, options=options):
                    ended = run(*SKIP, *options, path)
                    lost = self.assert_lost_explains(ended, parts, frames)
                    self.assertEqual(
                        [(each["compressed_begin"], each["compressed_end"], each["unverified_bytes"]) for each in lost],
                        [(begins[number], begins[number + 1], len(parts[number])) for number in hit],
                    )
                    self.assertEqual(ended.result["unverified"]["bytes"], sum(len(parts[number]) for number in hit))
                    self.assertIn(f"frame {hit[0] + 1} is damaged", ended.stderr)

    def test_other_data_between_frames_is_skipped(self):
        parts = [text(5000, number) for number in range(3)]
        frames = frames_of(parts)
        for junk in (b"x", b"((", b"\x28\xb5\x2f", b"\x28\x28\xb5", noise(1000), noise(600_000)):
            with self.subTest(junk=junk[:8]):
                ended = run(*SKIP, stdin_bytes=frames[0] + junk + frames[1] + frames[2])
                self.assertEqual(ended.result["bytes"], 15_000)
                self.assertEqual(ended.status, 1)
                self.assertEqual(ended.result["inputs"][0]["lost"][0]["compressed_begin"], len(frames[0]))

    def test_a_file_that_was_cut_and_then_continued_counts_the_frames_after_the_cut(self):
        """The writer was killed, and its successor appended: the decoder takes the next header as data of the frame that was cut."""
        numbers = "\n".join(map(str, range(60_000))).encode()
        before, after = numbers[:200_000], numbers[200_000:]
        for form in OF_MANY_PARTS:
            frames = [form.packed(each) for each in (before, after[:5], after[5:])]
            # cut in its last block, the sizes of a zstd frame lead past the begin of the next one
            for cut in (len(frames[0]) // 2, 30, *([] if form.kind == "zstd" else [len(frames[0]) * 9 // 10])):
                data = frames[0] + frames[0][:cut] + frames[1] + frames[2]
                for options in (("-T", "1"), ("-T", "5")):
                    with self.subTest(format=form.kind, cut=cut, options=options):
                        ended = run(*SKIP, *options, self.file("x" + form.suffix, data))
                        self.assertEqual((ended.status, ended.result["bytes"]), (1, len(before + after)), ended)
                        self.assert_counts(ended.result, before + after)

    def test_the_bytes_of_damaged_frames_are_searched_again_in_linear_time(self):
        """Each of the many places with a magic number begins a frame that decodes as far as the others."""
        for magic in (b"\x1f\x8b\x08\0" + bytes(6) + b"\0\0\0\xff\xff", b"\x1f\x8b\x08\0" + bytes(6)):
            ended = run(*SKIP, self.file("x.gz", magic * 100_000))
            self.assertEqual((ended.status, ended.result["bytes"]), (1, 0))

    def test_a_truncated_end_is_reported_as_lost(self):
        parts = [text(5000, number) for number in range(3)]
        frames = frames_of(parts)
        ended = run(*SKIP, stdin_bytes=b"".join(frames)[:-7])
        self.assertEqual(ended.result["bytes"], 10_000)
        (lost,) = ended.result["inputs"][0]["lost"]
        self.assertEqual(lost["compressed_end"], sum(map(len, frames)) - 7)
        self.assertIn("ends early", lost["error"])

    def test_the_message_names_the_start_of_the_damaged_frame_and_where_decoding_resumed_if_it_did(self):
        frames = frames_of([text(5000, number) for number in range(3)])
        begins = [sum(map(len, frames[:number])) for number in range(4)]
        encoded = bytearray(b"".join(frames))
        encoded[begins[2] - 1] ^= 4
        resumed = f"; skipped from compressed offset {begins[1]}; decoding resumed at compressed offset {begins[2]}\n"
        self.assertTrue(run(*SKIP, stdin_bytes=bytes(encoded)).stderr.endswith(resumed))
        encoded = bytearray(b"".join(frames))
        encoded[-1] ^= 4
        at_end = f"; skipped from compressed offset {begins[2]} to the end of the input; no later frame was found\n"
        for damaged in (bytes(encoded), bytes(encoded[:-7])):
            for arguments in ((self.file("damaged.zst", damaged),), ("-T", "1", self.file("damaged.zst", damaged))):
                with self.subTest(size=len(damaged), arguments=arguments):
                    self.assertTrue(run(*SKIP, *arguments).stderr.endswith(at_end))

    def test_an_archive_without_damage_is_complete(self):
        encoded = b"".join(frames_of([text(50_000, number) for number in range(10)]))
        self.assert_counted(run(*SKIP, stdin_bytes=encoded), b"".join(text(50_000, number) for number in range(10)))

    def test_without_skip_damage_the_input_ends_at_its_damage(self):
        parts = [text(5000, number) for number in range(3)]
        frames = frames_of(parts)
        ended = run(*LETTERS, stdin_bytes=frames[0] + frames[1][:-1] + b"!" + frames[2])
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 5000))


class Endless(CommandTest):
    def test_an_archive_with_more_text_than_max_output_is_given_up(self):
        bomb = self.file("bomb.zst", zstd(bytes(50_000_000)))
        data = self.file("data", b"hello")
        for options in ((), ("-T", "1"), ("--chunk-size", "1000")):
            ended = run(*LETTERS, *options, "--max-output", "1MiB", bomb, data)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn("bomb.zst: decompresses to more than the 1 MiB of --max-output", ended.stderr)
            self.assertEqual(ended.result["bytes"], 5)
            self.assertIs(ended.result["complete"], False)

    def test_an_archive_with_exactly_max_output_of_text_is_counted(self):
        encoded = b"".join(frames_of([text(100_000, number) for number in range(5)]))
        self.assertEqual(run(*LETTERS, "--max-output", "500000", stdin_bytes=encoded).status, 0)
        self.assertEqual(run(*LETTERS, "--max-output", "499999", stdin_bytes=encoded).status, 1)


KEPT = ("--byte-counts", "--format", "json")


class Marks(CommandTest):
    def setUp(self):
        super().setUp()
        self.good = self.file("good", b"good\n")
        self.hurt = self.file("hurt.zst", zstd(text(50_000))[:-4])  # all bytes but the checksum

    def rendered(self, form, *options, inputs=None):
        ended = run("--buckets", "letters", "--format", form, *options, *(inputs or (self.good, self.hurt)))
        return ended.stdout.decode()

    def test_json_marks_the_totals_and_the_input(self):
        result = json.loads(self.rendered("json", "--count-unverified"))
        self.assertIs(result["counted_unverified"], True)
        self.assertEqual([each.get("counted_unverified") for each in result["inputs"]], [None, True])
        self.assertEqual(result["bytes"], 5 + result["unverified"]["bytes"])

    def test_jsonl_marks_every_line_with_unverified_counts(self):
        lines = [json.loads(line) for line in self.rendered("jsonl", "--count-unverified").splitlines()]
        marks = {each.get("name"): each.get("counted_unverified") for each in lines}
        self.assertEqual(marks, {str(self.good): None, str(self.hurt): True, None: True})

    def test_csv_has_a_row_beside_complete(self):
        rows = self.rendered("csv", "--count-unverified").splitlines()
        marks = [row for row in rows if "counted_unverified" in row]
        self.assertEqual(marks, ["total,,,counted_unverified,1,", f"input,{self.hurt},,counted_unverified,1,"])

    def test_prometheus_has_a_metric(self):
        self.assertIn("\ngpuhist_counted_unverified 1\n", self.rendered("prometheus", "--count-unverified"))

    def test_the_table_has_a_line_about_it(self):
        self.assertIn("\nThe counts include unverified text (--count-unverified).\n", self.rendered("table", "--count-unverified"))

    def test_there_is_no_mark_if_no_unverified_bytes_were_counted(self):
        for form in ("json", "jsonl", "csv", "prometheus", "table"):
            with self.subTest(form=form):
                for rendered in (self.rendered(form), self.rendered(form, "--count-unverified", inputs=(self.good,))):
                    self.assertNotIn("counted_unverified", rendered)
                    self.assertNotIn("--count-unverified", rendered)

    def test_the_mark_stays_in_a_report_of_results(self):
        marked = self.file("marked.json", run(*KEPT, "--count-unverified", self.good, self.hurt).stdout)
        plain = self.file("plain.json", run(*KEPT, self.good).stdout)
        for results in ((marked,), (plain, marked), (marked, plain)):
            report = run("report", "--format", "json", *results, engine=None).result
            self.assertIs(report["counted_unverified"], True)
        self.assertNotIn("counted_unverified", run("report", "--format", "json", plain, engine=None).result)

    def test_a_result_in_which_the_mark_is_not_a_boolean_is_damaged(self):
        result = run(*KEPT, self.good).result
        path = self.file("odd.json", json.dumps({**result, "counted_unverified": 1}).encode() + b"\n")
        ended = run("report", path, engine=None)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn('"counted_unverified" is neither true nor false', ended.stderr)


if __name__ == "__main__":
    main()
