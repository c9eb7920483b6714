"""The oracle of all other suites, compared with examples small enough to be counted by hand."""

import unittest

from support import added, evenly, noise, oracle, text


class Oracle(unittest.TestCase):
    def test_a_line_counted_by_hand(self):
        counted = oracle(b"Hello, z9\x00\n\xc3\xa4")
        self.assertEqual((counted["bytes"], counted["lines"]), (13, 1))
        self.assertEqual(
            counted["buckets"]["letters"],
            {"a-d": 0, "e-h": 1, "i-l": 2, "m-p": 1, "q-t": 0, "u-x": 0, "y-z": 1, "other": 8},
        )
        self.assertEqual(
            counted["buckets"]["classes"],
            {"upper": 1, "lower": 5, "digit": 1, "space": 2, "punctuation": 1, "control": 1, "non-ascii": 2},
        )
        self.assertEqual(counted["buckets"]["bytes"]["0x6c"], 2)
        self.assertEqual({letter: n for letter, n in counted["buckets"]["alphabet"].items() if n}, {"e": 1, "l": 2, "o": 1, "z": 1, "other": 8})
        self.assertEqual(
            counted["buckets"]["utf8"], {"ascii": 11, "continuation": 1, "lead-2": 1, "lead-3": 0, "lead-4": 0, "never-utf8": 0}
        )

    def test_thirteen_byte_values_never_occur_in_utf8(self):
        self.assertEqual(oracle(bytes(range(256)))["buckets"]["utf8"], {"ascii": 128, "continuation": 64, "lead-2": 30, "lead-3": 16, "lead-4": 5, "never-utf8": 13})

    def test_ignore_case_affects_letters_only(self):
        self.assertEqual(oracle(b"aA[\xc4", ignore_case=True, x={"a": b"a"})["buckets"]["x"], {"a": 2, "other": 2})

    def test_every_byte_value_is_in_one_bucket_of_each_scheme(self):
        for buckets in oracle(bytes(range(256)))["buckets"].values():
            self.assertEqual(sum(buckets.values()), 256)

    def test_counts_of_parts_add_up_to_those_of_the_whole(self):
        data = text(5000) + noise(5000)
        self.assertEqual(added(oracle(data[:3333]), oracle(data[3333:])), oracle(data))

    def test_a_sample_has_the_first_and_the_last_case_and_at_most_the_requested_number(self):
        for cases in (range(1), range(5), range(100), "abcdefg"):
            for at_most in (2, 3, 5, 40):
                taken = evenly(cases, at_most)
                self.assertEqual(len(taken), min(len(cases), at_most))
                self.assertEqual((taken[0], taken[-1]), (cases[0], cases[-1]))
                self.assertEqual(taken, [each for each in cases if each in taken])


if __name__ == "__main__":
    unittest.main()
