"""compress (`.Z`): the text in a file of ncompress is counted exactly. The format has no end mark and no checksum. The
results for truncated and damaged files are compared with those of gzip, which also reads the format."""

import random
import subprocess

from support import ALL_SCHEMES, CommandTest, main, noise, run, sampled, tar, text

JSON = ("--format", "json", *ALL_SCHEMES)


def compressed(data, bits=16):
    return subprocess.run(["compress", "-f", "-c", "-b", str(bits)], input=data, stdout=subprocess.PIPE, check=True).stdout


def decoded_by_gzip(encoded):
    """The text, also if gzip prints a warning; None if gzip refuses the file."""
    process = subprocess.run(["gzip", "-dcq"], input=encoded, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process.stdout if process.returncode != 1 else None


class Compress(CommandTest):
    def assert_read(self, encoded, data):
        for arguments, stdin_bytes in (((self.file("data.Z", encoded),), None), ((), encoded)):
            self.assert_decoded(run(*JSON, *arguments, stdin_bytes=stdin_bytes), data, "compress", len(encoded))

    def test_every_width_of_codes_is_decoded(self):
        data = text(400_000) + noise(300_000) + b"a" * 100_000 + text(200_000, 2)
        for bits in range(10, 17):
            with self.subTest(bits=bits):
                encoded = compressed(data, bits)
                self.assertEqual(decoded_by_gzip(encoded), data)
                self.assert_read(encoded, data)
        ended = run(*JSON, stdin_bytes=compressed(data, 9))  # no tool reads this
        self.assertEqual(ended.status, 1)
        self.assertIn(
            "stream 1 has only codes of 9 bits, which compressors write wrongly, at compressed offset 3", ended.stderr)

    def test_sizes_near_the_positions_where_codes_widen_are_decoded(self):
        for data in (b"", b"x", b"x" * 3, text(2000), noise(255), noise(256), noise(257), noise(600), noise(1400)):
            self.assert_read(compressed(data), data)

    def test_a_compressed_tar_is_an_archive_and_a_compressed_member_is_text(self):
        inner = text(30_000)
        archive = tar({"a.log": inner, "b.log.Z": compressed(inner)})
        for name in ("x.tar.Z", "x.taZ", "x"):
            ended = run(*JSON, self.file(name, compressed(archive)))
            self.assert_counted(ended, inner * 2)
            self.assertEqual([each["bytes"] for each in ended.result["inputs"]], [len(inner)] * 2)

    def test_zero_padding_after_the_codes_is_read_as_gzip_reads_it(self):
        for data in (text(3000), text(400_000)):
            encoded = compressed(data)
            for zeros in sampled((*range(1, 20), 100, 511, 10_240, 200_000), 5):
                expected = decoded_by_gzip(encoded + bytes(zeros))
                self.assertEqual(expected, data + bytes(len(expected) - len(data)))
                with self.subTest(zeros=zeros):
                    self.assert_read(encoded + bytes(zeros), expected)
        archive = compressed(tar({"a.log": text(30_000)}))
        for zeros in (1, 7, 512, 10_240):
            self.assert_counted(run(*JSON, stdin_bytes=archive + bytes(zeros)), text(30_000))

    def test_most_truncations_are_reported_and_their_text_is_not_counted(self):
        data = text(3000)
        encoded = compressed(data)
        errors = 0
        lengths = sampled(range(3, len(encoded), 11), 40)
        for length in lengths:
            ended = run(*JSON, "--input-format", "compress", stdin_bytes=encoded[:length])
            (reported,) = ended.result["inputs"]
            if ended.status == 1:
                errors += 1
                self.assertIn("stream 1 ends early: the input stops at compressed offset", reported["error"])
                self.assert_counts(ended.result, b"")
                self.assertTrue(data.startswith(data[: reported["unverified"]["bytes"]]))
            else:
                self.assertEqual(ended.status, 0)
                self.assert_counted(ended, decoded_by_gzip(encoded[:length]))
        self.assertGreater(errors * 2, len(lengths))

    def test_a_damaged_file_is_refused_or_decoded_as_gzip_decodes_it(self):
        chosen = random.Random(7)
        encoded = compressed(text(2000) + noise(500))
        refused = 0
        for _ in sampled(range(120), 40):
            damaged = bytearray(encoded)
            damaged[chosen.randrange(3, len(damaged))] ^= 1 << chosen.randrange(8)
            ended = run(*JSON, stdin_bytes=bytes(damaged))
            self.assertIn(ended.status, (0, 1))
            if ended.status == 0:
                self.assert_counted(ended, decoded_by_gzip(bytes(damaged)))
            else:
                refused += 1
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    main()
