"""--skip-damage and --max-output: intact frames after damage count, lost data is listed, and the output is bounded."""

import random

from packers import OF_MANY_PARTS
from support import CommandTest, main, noise, oracle, run, sampled, text, zstd

JSON = ("--format", "json", "--buckets", "letters")
SKIP = (*JSON, "--skip-damage")


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
        ended = run(*JSON, stdin_bytes=frames[0] + frames[1][:-1] + b"!" + frames[2])
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 5000))


class Endless(CommandTest):
    def test_an_archive_with_more_text_than_max_output_is_given_up(self):
        bomb = self.file("bomb.zst", zstd(bytes(50_000_000)))
        data = self.file("data", b"hello")
        for options in ((), ("-T", "1"), ("--chunk-size", "1000")):
            ended = run(*JSON, *options, "--max-output", "1MiB", bomb, data)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn("bomb.zst: decompresses to more than the 1 MiB of --max-output", ended.stderr)
            self.assertEqual(ended.result["bytes"], 5)
            self.assertIs(ended.result["complete"], False)

    def test_an_archive_with_exactly_max_output_of_text_is_counted(self):
        encoded = b"".join(frames_of([text(100_000, number) for number in range(5)]))
        self.assertEqual(run(*JSON, "--max-output", "500000", stdin_bytes=encoded).status, 0)
        self.assertEqual(run(*JSON, "--max-output", "499999", stdin_bytes=encoded).status, 1)


if __name__ == "__main__":
    main()
