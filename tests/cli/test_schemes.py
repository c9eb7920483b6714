"""Built-in and custom schemes, compared with an oracle that shares no code with them."""

import random

from support import ENGINE, CommandTest, main, noise, random_schemes, remarks, run, run_fed, text

JSON = ("--format", "json")


class Schemes(CommandTest):
    def test_every_byte_value_is_in_the_bucket_that_the_scheme_says(self):
        data = b"".join(bytes([value]) * (value + 1) for value in range(256))
        ended = run_fed([data], *JSON, "-b", "letters,alphabet,bytes,classes,utf8")
        self.assert_counted(ended, data)
        self.assertEqual(len(ended.result["buckets"]), 5)

    def test_a_custom_scheme_is_counted_exactly(self):
        data = text(50_000)
        result = run_fed([data], *JSON, "-b", r"vowels=aeiou;digits=0-9;ends=\n;minus=-").result
        self.assertEqual(list(result["buckets"]), ["custom"])
        self.assertEqual(list(result["buckets"]["custom"]), ["vowels", "digits", "ends", "minus", "other"])
        self.assert_counts(result, data, custom={"vowels": b"aeiou", "digits": b"0123456789", "ends": b"\n", "minus": b"-"})

    def test_several_random_schemes_are_counted_in_one_run(self):
        chosen = random.Random(11)
        data = noise(100_000) + text(50_000)
        for round_number in range(12):
            definitions, oracles = random_schemes(chosen)
            ignore_case = chosen.random() < 0.5
            named = chosen.sample(["letters", "alphabet", "bytes", "classes", "utf8"], chosen.randrange(3))
            buckets = [option for each in (*named, *definitions) for option in ("-b", each)]
            with self.subTest(round=round_number, buckets=buckets):
                ended = run_fed([data], *JSON, *buckets, *(["--ignore-case"] if ignore_case else []))
                self.assertEqual((ended.status, remarks(ended)), (0, []))
                self.assertEqual(list(ended.result["buckets"]), [*named, *oracles])
                self.assert_counts(ended.result, data, ignore_case, **oracles)

    def test_ignore_case_affects_every_scheme_and_is_in_the_result(self):
        data = text(50_000) + bytes(range(256))
        ended = run_fed([data], *JSON, "--ignore-case", "-b", "letters,alphabet,bytes,classes,utf8")
        self.assertIs(ended.result["ignore_case"], True)
        self.assert_counts(ended.result, data, ignore_case=True)
        self.assertEqual(ended.result["buckets"]["classes"]["upper"], 0)

    def test_byte_counts_are_those_of_the_text_also_with_ignore_case(self):
        result = run_fed([b"aAB"], *JSON, "--ignore-case", "--byte-counts", "-b", "alphabet").result
        self.assertEqual([result["byte_counts"][ord(letter)] for letter in "aAbB"], [1, 1, 0, 1])
        self.assertEqual((result["buckets"]["alphabet"]["a"], result["buckets"]["alphabet"]["b"]), (2, 1))

    def test_repeated_schemes_count_once_and_schemes_without_a_name_are_numbered(self):
        ended = run_fed([b"x"], *JSON, "-b", "utf8,letters", "-b", "a=x", "-b", "utf8", "-b", "b=y", "-b", "mine:c=z")
        self.assertEqual(list(ended.result["buckets"]), ["utf8", "letters", "custom", "custom-2", "mine"])

    def test_an_invalid_definition_is_a_usage_error_with_its_position(self):
        for definition, *words in (
            ("a=abc;b=xyzc", "--buckets: ", "character 12", "'c'", '"a"', '"b"'),
            ("a=b;other=c", "character 5", "other"),
            ("a=z-b", "character 3", "reversed"),
            ("a=b;a=c", "character 5", "twice"),
            ("a=", "character 3", "empty"),
            ("=a", "character 1", "no name"),
            ("a=\\", "character 3", "incomplete"),
            ("a=ö", "character 3", r"\xc3\xb6"),
            ("bytes:a=b", "bytes", "built-in"),
        ):
            with self.subTest(definition=definition):
                self.assert_usage_error(run("-b", definition, engine=ENGINE), *words)


if __name__ == "__main__":
    main()
