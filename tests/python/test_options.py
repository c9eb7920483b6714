"""Options as keyword arguments: those of the table of options, with the values and the errors of the command."""

import json
import pathlib
import typing
import unittest

from support import SOURCE, folder, main, text

import gpuhist
from gpuhist import _core
from gpuhist._options import counting_options, file_options, settings

# For each option: a good value, a bad one, the error of the bad one without the name, and what else it needs.
VALUES = json.loads((SOURCE / "tests/data/option_values.json").read_text(encoding="utf-8"))


def name_of(key):
    return key.replace("-", "_")


def keywords(key, value):
    """A value of the option, with what else it needs."""
    return {name_of(each): given for each, given in {**VALUES[key].get("with", {}), key: value}.items()}


class Table(unittest.TestCase):
    def test_every_option_of_a_run_is_a_keyword_argument(self):
        self.assertEqual(set(typing.get_type_hints(gpuhist.FileOptions)), set(map(name_of, _core.option_names())))

    def test_every_option_of_a_counter_is_a_keyword_argument_of_it(self):
        for key in _core.option_names():
            given = settings(keywords(key, VALUES[key]["good"]))
            with self.subTest(option=key):
                if name_of(key) in typing.get_type_hints(gpuhist.CountingOptions):
                    _core.counting_options(given, None)
                else:
                    with self.assertRaisesRegex(gpuhist.InvalidArgumentError, "is for count_files"):
                        _core.counting_options(given, None)

    def test_good_values_are_accepted_and_bad_ones_are_refused_with_the_error_of_the_command(self):
        for key in _core.option_names():
            value = VALUES[key]
            with self.subTest(option=key):
                file_options([], keywords(key, value["good"]))
                if "bad" in value:
                    with self.assertRaises(gpuhist.InvalidArgumentError) as caught:
                        file_options([], keywords(key, value["bad"]))
                    self.assertEqual(str(caught.exception)[-len(value["error"]) :], value["error"])


class Values(unittest.TestCase):
    def test_values_of_python_are_texts_of_the_command(self):
        for value, expected in (
            ({"pairs": True, "fail_fast": False}, [("pairs", b"true"), ("fail-fast", b"false")]),
            ({"threads": 2, "memory_limit": 1 << 30, "kernel": None}, [("threads", b"2"), ("memory-limit", b"1073741824")]),
            ({"window": 640, "step": "64KiB"}, [("window", b"640B"), ("step", b"64KiB")]),
            ({"buckets": ["letters", "a=\xff"]}, [("buckets", b"letters"), ("buckets", "a=\xff".encode())]),
            ({"buckets": "letters,bytes", "fail_if": []}, [("buckets", b"letters,bytes")]),
            ({"devices": [0, 1]}, [("devices", b"0,1")]),
            ({"devices": "all"}, [("devices", b"all")]),
            ({"zstd_dictionary": pathlib.Path("a")}, [("zstd-dictionary", b"a")]),
            ({"delimiter": b"\xff", "baseline": b"\xfe.json"}, [("delimiter", b"\xff"), ("baseline", b"\xfe.json")]),
        ):
            with self.subTest(value=value):
                self.assertEqual(settings(value), expected)

    def test_an_unknown_option_is_a_type_error_that_names_the_likely_one_or_all(self):
        with self.assertRaisesRegex(TypeError, "unknown option 'bucket'; did you mean 'buckets'"):
            gpuhist.count([], bucket="letters")
        with self.assertRaisesRegex(TypeError, "unknown option 'q'; known: alert_if, allowed_lateness, "):
            gpuhist.Counter(q=1)
        for name in ("skip_damage", "pass_through", "memory-limit"):
            with self.assertRaisesRegex(TypeError, f"unknown option '{name}'"):
                gpuhist.Counter(**{name: "true"})
        with self.assertRaisesRegex(TypeError, "unknown option 'pass_through'"):
            gpuhist.count([], pass_through="text")

    def test_a_value_of_the_wrong_type_is_a_type_error_that_names_the_option(self):
        for options in ({"threads": object()}, {"memory_limit": 1j}, {"buckets": [None]}, {"engine": len}):
            with self.subTest(options=options), self.assertRaisesRegex(TypeError, next(iter(options))):
                gpuhist.count([], **options)

    def test_a_value_that_is_refused_is_an_invalid_argument_that_names_the_option(self):
        for options in ({"threads": "two"}, {"threads": -1}, {"memory_limit": 1.5}, {"engine": "gpus"}, {"window": "3weeks"}):
            name = next(iter(options)).replace("_", "-")
            with self.subTest(options=options), self.assertRaisesRegex(gpuhist.InvalidArgumentError, f"--{name}: "):
                gpuhist.count([], **options)

    def test_lists_of_names_are_those_of_the_command(self):
        self.assertEqual(counting_options({"measures": "entropy,mean"}).measures, ["entropy", "mean"])
        self.assertEqual(file_options([], {"measures": ["entropy", "mean"]}).measures, ["entropy", "mean"])

    def test_a_baseline_is_a_result_or_a_file_with_any_name(self):
        with folder() as path:
            (path / "log").write_bytes(text(10_000))
            counted = gpuhist.count(path / "log", byte_counts=True)
            baseline = path / "\udcff.json"
            baseline.write_bytes(counted.to_json())
            for given in (counted, baseline):
                compared = gpuhist.count(path / "log", baseline=given, measures="jsd")
                self.assertAlmostEqual(compared.measure("jsd"), 0)

    def test_directories_are_not_counted_on_request(self):
        with folder() as path:
            (path / "log").write_bytes(b"abc")
            self.assertEqual(gpuhist.count(path).bytes, 3)
            self.assertEqual(gpuhist.count(path, recursive=False).status, "incomplete")


if __name__ == "__main__":
    main()
