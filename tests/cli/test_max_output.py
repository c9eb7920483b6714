"""--max-output: an input with too much text is counted up to the limit, to the byte, whatever its format, the number of
threads and the size of chunks are."""

import random

from packers import FORMATS, OF_MANY_PARTS, by, packed
from support import CommandTest, main, noise, oracle, run, sampled, text, zstd

IN_BLOCKS = {
    "xz": by("xz", "-c", "-T2", "--block-size=100KiB")(""),
    "bzip2": by("bzip2", "-1c")(""),
    "lz4": by("lz4", "-cq", "-BI", "-B4")(""),
    "gzip": FORMATS["gzip"].packers,
    "zstd": FORMATS["zstd"].packers,
}
RUNS = (("-T", "1"), ("-T", "4"), ("-T", "8", "--chunk-size", "1000"), ("-T", "8", "--utf8"))


def limited(limit, *arguments, **options):
    return run("--format", "json", "-b", "bytes", "--max-output", str(limit), *arguments, **options)


def of_input(ended):
    """What a run reports about its only input, without what options add."""
    reported = ended.result["inputs"][0]
    return {name: reported.get(name) for name in ("complete", "error", "compressed_bytes", "bytes", "buckets", "unverified")}


def unverified(ended):
    return of_input(ended)["unverified"]["bytes"] if of_input(ended)["unverified"] else 0


class MaxOutput(CommandTest):
    def setUp(self):
        super().setUp()
        chosen = random.Random(1)
        self.parts = [text(chosen.randrange(20_000, 200_000), i) for i in range(30)]
        self.text = b"".join(self.parts)
        half = len(b"".join(self.parts[:15]))
        self.limits = (1, half - 1, half, chosen.randrange(len(self.text)), len(self.text) - 1)

    def whole_parts(self, limit):
        ends = [sum(map(len, self.parts[:number])) for number in range(len(self.parts) + 1)]
        return max(end for end in ends if end <= limit)

    def assert_limited(self, ended, limit):
        """Frames that end before the limit are verified; what precedes the limit in the next frame is not."""
        verified = self.whole_parts(limit)
        self.assertEqual(ended.status, 1)
        self.assertIn("--max-output; given up in the frame at compressed offset", ended.stderr)
        self.assertEqual(ended.result["buckets"]["bytes"], oracle(self.text[:verified])["buckets"]["bytes"])
        self.assertEqual(unverified(ended), limit - verified)

    def assert_same_for_all(self, limit, path):
        """Returns one of the runs."""
        all_ended = [limited(limit, *options, path) for options in RUNS]
        for options, ended in zip(RUNS, all_ended):
            with self.subTest(limit=limit, path=path.name, options=options):
                self.assertEqual(of_input(ended), of_input(all_ended[0]))
        return all_ended[0]

    def test_frames_that_end_before_the_limit_are_verified_in_every_format(self):
        for form in sampled(OF_MANY_PARTS, 3):
            path = self.file(f"many{form.suffix}", b"".join(map(form.packed, self.parts)))
            for limit in self.limits:
                self.assert_limited(self.assert_same_for_all(limit, path), limit)
            self.assertEqual(limited(len(self.text), path).status, 0)

    def test_a_pipe_is_given_up_at_the_same_byte(self):
        for form in sampled(OF_MANY_PARTS, 3):
            encoded = b"".join(map(form.packed, self.parts))
            for limit in self.limits[::2]:
                with self.subTest(format=form.kind, limit=limit):
                    self.assert_limited(limited(limit, stdin_bytes=encoded), limit)

    def test_one_frame_of_many_blocks_is_given_up_as_by_one_thread(self):
        for kind, (pack, *_) in sampled(IN_BLOCKS.items(), 3):
            path = self.file(f"one{FORMATS[kind].suffix}", pack(self.text))
            for limit in self.limits:
                ended = self.assert_same_for_all(limit, path)
                self.assertEqual(ended.result["bytes"] + unverified(ended), limit)

    def test_damage_before_the_limit_is_reported_and_the_limit_is_not(self):
        frames = list(map(zstd, self.parts))
        hurt = bytearray(b"".join(frames))
        hurt[sum(map(len, frames[:5])) - 2] ^= 1  # the checksum of the fifth frame
        ended = self.assert_same_for_all(len(b"".join(self.parts[:7])), self.file("hurt.zst", bytes(hurt)))
        self.assertNotIn("--max-output", ended.stderr)
        self.assertEqual(ended.result["bytes"], len(b"".join(self.parts[:4])))

    def test_skipped_damage_and_the_limit_are_both_reported(self):
        frames = list(map(zstd, self.parts))
        hurt = bytearray(b"".join(frames))
        hurt[sum(map(len, frames[:5])) - 2] ^= 1
        path = self.file("hurt.zst", bytes(hurt))
        limit = len(b"".join(self.parts[:17])) + 5
        ended = [limited(limit, "--skip-damage", *options, path) for options in RUNS]
        for each in ended:
            self.assertEqual(of_input(each), of_input(ended[0]))
            self.assertEqual(each.result["bytes"], len(b"".join(self.parts[:17])) - len(self.parts[4]))

    def test_blocks_after_a_skipped_one_are_counted_up_to_the_limit(self):
        part = 1_000_000  # little of it compressed, so that several blocks are decoded when the limit is passed
        blocks = [bytes(part - 20_000) + noise(20_000, i) for i in range(16)]
        encoded = bytearray(packed(b"".join(blocks), "xz", "-0", "-c", "-T2", f"--block-size={part}"))
        damaged = len(encoded) * 5 // 32  # in the third block
        encoded[damaged : damaged + 50] = bytes(50)
        path = self.file("blocks.xz", bytes(encoded))
        ended = [limited(4_500_000, "--skip-damage", *options, path) for options in RUNS]
        for options, each in zip(RUNS, ended):
            with self.subTest(options=options):
                self.assertEqual(of_input(each), of_input(ended[0]))
                self.assertEqual((each.result["bytes"], each.result["bytes"] + unverified(each)), (3 * part, 4_500_000))


if __name__ == "__main__":
    main()
