"""--measures and --baseline, compared with ent and with a second implementation of the formulas in this file."""

import csv
import io
import math
import re
import subprocess

from support import CommandTest, in_order_of, main, needs, noise, remarks, run, text, without_run, zstd

ALONE = ["entropy", "entropy_corrected", "chi2", "chi2_p", "mean", "distinct", "ascii_share", "printable_share", "code_points", "lines",
         "mean_line_length"]
COMPARING = ["jsd", "kl", "chi2_baseline", "chi2_baseline_p", "icd", "icd_p"]


def counts_of(data):
    return [data.count(bytes([value])) for value in range(256)]


def entropy(counts):
    return -math.fsum(each / sum(counts) * math.log2(each / sum(counts)) for each in counts if each)


def alone(data):
    """The measures that need no baseline, without the p-value, of at least 1,280 bytes with a line feed."""
    counts, size = counts_of(data), len(data)
    return {
        "entropy": entropy(counts),
        "entropy_corrected": entropy(counts) + (len(set(data)) - 1) / (2 * size * math.log(2)),
        "chi2": math.fsum((each - size / 256) ** 2 / (size / 256) for each in counts),
        "mean": sum(data) / size,
        "distinct": len(set(data)),
        "ascii_share": sum(counts[:0x80]) / size,
        "printable_share": sum(counts[0x20:0x7F]) / size,
        "code_points": size - sum(counts[0x80:0xC0]),
        "lines": counts[0x0A],
        "mean_line_length": (size - counts[0x0A]) / counts[0x0A],
    }


def divergence(some, other):
    return math.fsum(p * math.log2(p / q) for p, q in zip(some, other) if p)


def compared(data, baseline):
    """The measures jsd and kl, as computed here."""
    some, other = counts_of(data), counts_of(baseline)
    shares = [[each / sum(counts) for each in counts] for counts in (some, other)]
    smooth = [[(each + 0.5) / (sum(counts) + 128) for each in counts] for counts in (some, other)]
    middle = [(p + q) / 2 for p, q in zip(*shares)]
    return {"jsd": (divergence(shares[0], middle) + divergence(shares[1], middle)) / 2, "kl": divergence(*smooth)}


class Measures(CommandTest):
    def measures(self, *arguments, **options):
        ended = run("--format", "json", *arguments, **options)
        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
        return ended.result

    def baseline(self, data):
        return self.file("baseline.json", run("--byte-counts", "--format", "json", self.file("of", data)).stdout)

    def assert_measured(self, measures, data, expected):
        for name, value in expected.items():
            with self.subTest(measure=name):
                self.assertTrue(math.isclose(measures[name]["value"], value, rel_tol=1e-9, abs_tol=1e-12), (measures[name], value))
        for each in measures.values():
            self.assertEqual(each["sample_size"], len(data))
            self.assertEqual(each["value"] is None, "reason" in each)

    @needs("ent")
    def test_entropy_chi_squared_and_mean_are_equal_to_those_of_ent(self):
        for data in (text(50_000), noise(50_000), b"a" * 5_000, bytes(range(256)) * 20, text(1_280)):
            path = self.file("data", data)
            message = subprocess.run(["ent", "-t", path], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()[-1].split(",")
            measures = self.measures("--measures", "entropy,chi2,mean", path)["measures"]
            for name, expected in zip(("entropy", "chi2", "mean"), message[2:5]):
                self.assertAlmostEqual(measures[name]["value"], float(expected), delta=2e-6 * max(1, float(expected)), msg=name)

    def test_measures_of_totals_and_of_inputs_follow_the_formulas(self):
        parts = [text(20_000), noise(30_000), b"\xc3\xb6\n" * 1_000, text(9_999, 5)]
        paths = [self.file(f"{i}", part) for i, part in enumerate(parts[:3])] + [self.file("3.zst", zstd(parts[3]))]
        result = self.measures("--measures", "all", *paths)
        self.assertEqual(list(result["measures"]), ALONE)
        self.assert_measured(result["measures"], b"".join(parts), alone(b"".join(parts)))
        for each, data in zip(result["inputs"], parts):
            self.assert_measured(each["measures"], data, alone(data))
        self.assertNotIn("byte_counts", result)
        self.assertNotIn("byte_counts", result["inputs"][0])

    def test_measures_are_reported_only_on_request(self):
        self.assertNotIn("measures", self.measures(self.file("a", b"a\n")))

    def test_measures_are_in_the_order_given_and_each_once(self):
        result = self.measures("--measures", "mean,entropy", "--measures", "lines,mean", self.file("a", b"a\n"))
        self.assertEqual(list(result["measures"]), ["mean", "entropy", "lines"])

    def test_p_values_distinguish_noise_from_text(self):
        self.assertGreater(self.measures("--measures", "chi2_p", self.file("a", noise(100_000)))["measures"]["chi2_p"]["value"], 1e-4)
        self.assertEqual(self.measures("--measures", "chi2_p", self.file("a", text(100_000)))["measures"]["chi2_p"]["value"], 0)

    def test_a_baseline_is_the_kept_counts_of_an_earlier_run(self):
        before, now = text(40_000), text(30_000, 9)[:25_000] + noise(500)
        result = self.measures("--measures", "all", "--baseline", self.baseline(before), self.file("now", now))
        self.assertEqual(list(result["measures"]), ALONE + COMPARING)
        self.assert_measured(result["measures"], now, compared(now, before))
        for name in COMPARING:
            self.assertEqual(result["measures"][name]["baseline_size"], len(before))
        self.assertLess(result["measures"]["chi2_baseline_p"]["value"], 1e-6)
        unchanged = self.measures("--measures", "all", "--baseline", self.baseline(before), self.file("same", before))["measures"]
        self.assertEqual([unchanged[name]["value"] for name in COMPARING], [0, 0, 0, 1, 0, 1])

    def test_a_measure_of_too_few_bytes_has_a_reason_instead_of_a_value(self):
        measures = self.measures("--measures", "all", self.file("a", b"short"))["measures"]
        self.assertEqual(measures["chi2"], {"value": None, "reason": "an expected count is under 5", "sample_size": 5})
        self.assertEqual(measures["mean_line_length"]["reason"], "there is no line feed")
        nothing = self.measures("--measures", "all", self.file("b", b""))["measures"]
        self.assertEqual({name for name, each in nothing.items() if each["value"] is not None}, {"distinct", "code_points", "lines"})

    def test_all_formats_report_the_same_measures(self):
        paths = [self.file("a,b", text(9_000)), self.file("few", b"few\n")]
        arguments = ("--measures", "all", *paths)
        result = self.measures(*arguments)
        parts = {"": result["measures"], **{each["name"]: each["measures"] for each in result["inputs"]}}
        *inputs, last = run("--format", "jsonl", *arguments).documents
        self.assertEqual({"": last["measures"], **{each["name"]: each["measures"] for each in inputs}}, parts)
        rows = list(csv.DictReader(io.StringIO(run("--format", "csv", *arguments).stdout.decode())))
        rows = {(row["input"], row["bucket"]): (int(row["count"]), float(row["share"]) if row["share"] else None)
                for row in rows if row["kind"] == "measure"}
        self.assertEqual(rows, {(part, name): (each["sample_size"], each["value"])
                                for part, measures in parts.items() for name, each in measures.items()})
        metrics = run("--format", "prometheus", *arguments).stdout.decode()
        total_values = dict(re.findall(r'^gpuhist_measure\{measure="(\w+)"\} (.*)$', metrics, re.MULTILINE))
        self.assertEqual({name: float(value) for name, value in total_values.items()},
                         {name: each["value"] for name, each in parts[""].items() if each["value"] is not None})
        input_values = dict(re.findall(r'^gpuhist_input_measure\{index="1",input="[^"]*few",measure="(\w+)"\} (.*)$', metrics, re.MULTILINE))
        self.assertEqual({name: float(value) for name, value in input_values.items()},
                         {name: each["value"] for name, each in parts[str(paths[1])].items() if each["value"] is not None})
        table = run("--measures", "entropy,chi2", self.file("c", b"abcd")).stdout.decode()
        self.assertIn("entropy      2  bits a byte\n", table)
        self.assertIn("chi2         -  an expected count is under 5\n", table)

    def test_snapshots_have_the_measures_of_their_totals(self):
        documents = run("--format", "jsonl", "--snapshot-every", "4KiB", "--measures", "entropy", stdin_bytes=text(20_000)).documents
        snapshots = [each for each in documents if each["kind"] == "snapshot"]
        self.assertTrue(snapshots)
        for each in snapshots:
            data = text(20_000)[: each["bytes"]]
            self.assertAlmostEqual(each["measures"]["entropy"]["value"], entropy(counts_of(data)), places=9)

    def test_report_gives_the_measures_that_counting_again_would_give(self):
        paths = [self.file("a", text(9_000)), self.file("b", noise(4_000)), self.file("c", b"")]
        result_file = self.file("kept", run("--byte-counts", "--format", "json", *paths).stdout)
        options = ("--measures", "all", "--baseline", self.baseline(text(5_000, 8)))
        for name in ("table", "json", "jsonl", "csv", "prometheus"):
            with self.subTest(format=name):
                direct = without_run(run("--format", name, *options, *paths).stdout)
                self.assertEqual(without_run(run("report", "--format", name, *options, result_file, engine=None).stdout),
                                 in_order_of(paths, direct) if name == "jsonl" else direct)

    def test_measures_do_not_ignore_case(self):
        result = self.measures("--ignore-case", "-b", "alphabet", "--measures", "mean", self.file("a", b"AA"))
        self.assertEqual(result["measures"]["mean"]["value"], 65)
        self.assertEqual(result["buckets"]["alphabet"]["a"], 2)


class Usage(CommandTest):
    def refused(self, *arguments):
        ended = run(*arguments)
        self.assert_usage_error(ended)
        return ended.stderr

    def test_an_unknown_name_is_refused_with_the_nearest(self):
        self.assertIn("--measures: there is no \"entropi\"; known are all, entropy,", self.refused("--measures", "entropi"))
        self.assertIn("did you mean entropy?", self.refused("--measures", "mean,entropi"))

    def test_a_measure_that_compares_needs_a_baseline(self):
        self.assertIn("--measures: jsd compares with a baseline; give --baseline RESULT.json", self.refused("--measures", "jsd"))

    def test_a_baseline_needs_a_measure_that_compares(self):
        self.assertIn("requires --measures, --fail-if, --alert-if, --columns, --sort or --each", self.refused("--baseline", "b.json"))

    def test_a_baseline_without_byte_counts_is_refused_with_the_option_that_keeps_them(self):
        result_file = self.file("kept.json", run("--format", "json", self.file("a", b"abc")).stdout)
        message = self.refused("--measures", "jsd", "--baseline", result_file)
        self.assertIn("no byte counts were kept", message)
        self.assertIn("--byte-counts", message)

    def test_a_baseline_that_is_not_a_result_is_refused(self):
        for name, content in (("text", b"no result\n"), ("empty", b""), ("other", b'{"schema":"else"}\n')):
            with self.subTest(name=name):
                self.assertIn("is no baseline", self.refused("--measures", "jsd", "--baseline", self.file(name, content)))
        self.assertIn("No such file", self.refused("--measures", "jsd", "--baseline", self.folder / "absent"))
        nothing = self.file("nothing", run("--byte-counts", "--format", "json", self.file("void", b"")).stdout)
        self.assertIn("there are no bytes in it", self.refused("--measures", "jsd", "--baseline", nothing))
        self.assertIn("give the path of a file", self.refused("--measures", "jsd", "--baseline", "-"))

    def test_a_baseline_of_an_incomplete_run_is_used_with_a_warning_that_names_the_error(self):
        before, now = text(20_000, 1), text(5_000, 2)
        present, absent = self.file("whole", before), self.folder / "gone"
        result_file = {form: self.file(f"kept.{form}", run("--byte-counts", "--format", form, present, absent).stdout) for form in ("json", "jsonl")}
        expected = (f'gpuhist: warning: --baseline: "{{}}" is of an incomplete run ("complete":false): {absent}: '
                    "No such file or directory; the comparison uses only the bytes that it has\n")
        for form, path in result_file.items():
            with self.subTest(format=form):
                ended = run("--format", "json", "--measures", "jsd", "--baseline", path, self.file("now", now))
                self.assertEqual((ended.status, ended.stderr), (0, expected.format(path)), ended)
                self.assertTrue(math.isclose(ended.result["measures"]["jsd"]["value"], compared(now, before)["jsd"], rel_tol=1e-9))
                result = self.file("later", run("--byte-counts", "--format", "json", self.file("now", now)).stdout)
                again = run("report", "--measures", "jsd", "--baseline", path, "--format", "json", result, engine=None)
                self.assertEqual((again.status, again.stderr), (0, expected.format(path)), again)

    def test_previous_windows_need_windows(self):
        self.assertIn("requires --window", self.refused("--measures", "jsd", "--baseline", "previous:3"))
        self.assertIn("1 to 4096", self.refused("--measures", "jsd", "--baseline", "previous:0"))


if __name__ == "__main__":
    main()
