"""The oracle, held against examples small enough to be counted by eye: what all other suites trust."""

import unittest

from support import added, noise, oracle, text


class Oracle(unittest.TestCase):
    def test_a_line_counted_by_eye(self):
        said = oracle(b"Hello, z9\x00\n\xc3\xa4")
        self.assertEqual((said["bytes"], said["lines"]), (13, 1))
        self.assertEqual(
            said["buckets"]["letters"],
            {"a-d": 0, "e-h": 1, "i-l": 2, "m-p": 1, "q-t": 0, "u-x": 0, "y-z": 1, "other": 8},
        )
        self.assertEqual(
            said["buckets"]["classes"],
            {"upper": 1, "lower": 5, "digit": 1, "space": 2, "punctuation": 1, "control": 1, "non-ascii": 2},
        )
        self.assertEqual(said["buckets"]["bytes"]["0x6c"], 2)

    def test_every_byte_value_is_in_one_bucket_of_each_scheme(self):
        for buckets in oracle(bytes(range(256)))["buckets"].values():
            self.assertEqual(sum(buckets.values()), 256)

    def test_counts_of_parts_add_up_to_those_of_the_whole(self):
        data = text(5000) + noise(5000)
        self.assertEqual(added(oracle(data[:3333]), oracle(data[3333:])), oracle(data))


if __name__ == "__main__":
    unittest.main()
