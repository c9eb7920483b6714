"""--pairs: how often each bucket follows each bucket, compared with the pairs of the plain text in Python."""

import csv
import gzip
import io
import json
import math
import random
import re

from pairs_oracle import NAMES, pairs_in, summed
from support import CommandTest, main, noise, remarks, run, run_fed, tar, text, zstd

SCHEMES = "letters,classes"
JSON = ("--format", "json", "--pairs", "--buckets", "letters")


def entropy_of(matrix):
    """H(second | first) = H(first, second) - H(first)."""

    def entropy(counts):
        total = sum(counts)
        return -sum(count / total * math.log2(count / total) for count in counts if count)

    return entropy([count for row in matrix for count in row]) - entropy([sum(row) for row in matrix])


class Pairs(CommandTest):
    def assert_pairs(self, part, *texts, scheme="letters", begin=0):
        self.assertEqual(part["pairs"][scheme]["counts"], pairs_in(*texts, scheme=scheme, begin=begin))

    def assert_result(self, ended, *texts):
        """Asserts success, and the pairs of the inputs and of the totals."""
        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
        for reported, data in zip(ended.result["inputs"], texts, strict=True):
            self.assert_pairs(reported, data)
        self.assert_pairs(ended.result, *texts)

    def test_pairs_do_not_depend_on_how_the_text_is_cut(self):
        data = text(3000)
        path = self.file("data", data)
        for options in (
            (), *(("--chunk-size", str(size)) for size in (1, 2, 3, 7, 64, 1000)), ("--slots", "2", "--chunk-size", "5"),
            ("-T", "1"), ("-T", "5", "--chunk-size", "17"),
        ):
            with self.subTest(options=options):
                self.assert_result(run(*JSON, *options, path), data)
                self.assert_result(run(*JSON, *options, stdin_bytes=data), data)

    def test_pairs_of_every_scheme_are_those_of_the_text(self):
        for data in (text(100_000), noise(100_000)):
            for schemes in ("letters", "classes", "alphabet", "utf8", "letters,utf8", "letters,classes"):
                with self.subTest(schemes=schemes):
                    ended = run("--format", "json", "--pairs", "-b", schemes, stdin_bytes=data)
                    for scheme in schemes.split(","):
                        self.assert_pairs(ended.result, data, scheme=scheme)
                        self.assertEqual(ended.result["pairs"][scheme]["buckets"], NAMES[scheme])
                        self.assert_pairs(ended.result["inputs"][0], data, scheme=scheme)
                    self.assert_counts(ended.result, data)

    def test_other_counts_do_not_depend_on_pairs(self):
        path = self.file("data", text(50_000))
        for options in (("-b", "letters"), ("-b", "letters", "--byte-counts"), ("-b", "letters", "--measures", "all")):
            plain = run("--format", "json", *options, path).result
            paired = run("--format", "json", "--pairs", *options, path).result
            for part in (paired, *paired["inputs"]):
                del part["pairs"]
            self.assertEqual(plain, paired)

    def test_few_bytes_have_few_pairs(self):
        for data in (b"", b"a", b"ab", b"\n"):
            ended = run(*JSON, stdin_bytes=data)
            self.assert_result(ended, data)
            if len(data) < 2:
                self.assertIsNone(ended.result["pairs"]["letters"]["conditional_entropy"])

    def test_pieces_from_a_pipe_are_joined(self):
        chosen = random.Random(1)
        for _ in range(5):
            pieces = [text(chosen.randrange(1, 5000), number) for number in range(20)]
            self.assert_result(run_fed(pieces, *JSON), b"".join(pieces))

    def test_no_pair_spans_two_inputs(self):
        texts = [text(size, size) for size in (1, 0, 2, 5000, 300_000, 1, 1, 40)]
        paths = [self.file(f"{number}", data) for number, data in enumerate(texts)]
        paths[3].write_bytes(zstd(texts[3]))
        for options in ((), ("--chunk-size", "100"), ("-T", "5", "--slots", "8")):
            with self.subTest(options=options):
                self.assert_result(run(*JSON, *options, *paths), *texts)

    def test_many_frames_that_are_decoded_in_parallel_are_joined(self):
        chosen = random.Random(2)
        parts = [text(chosen.choice((1, 2, 100, 5000, 70_000)), number) for number in range(60)]
        parts += [noise(80_000, number) for number in range(20)]  # groups of a few frames
        data = b"".join(parts)
        path = self.file("frames.zst", b"".join(zstd(part) for part in parts))
        for options in ((), ("-T", "1"), ("-T", "5", "--chunk-size", "3000"), ("-T", "4", "--slots", "5")):
            with self.subTest(options=options):
                self.assert_result(run(*JSON, *options, path), data)
        self.assert_result(run(*JSON, stdin_bytes=path.read_bytes()), data)

    def test_members_of_gzip_and_tar(self):
        parts = [text(size, size) for size in (10, 5000, 70_000, 1)]
        self.assert_result(run(*JSON, stdin_bytes=b"".join(gzip.compress(part) for part in parts)), b"".join(parts))
        archive = tar({f"{number}": part for number, part in enumerate(parts)})
        for encoded in (archive, gzip.compress(archive), zstd(archive)):
            self.assert_result(run(*JSON, self.file("archive.tar", encoded)), *parts)

    def test_the_text_that_is_passed_through_is_counted(self):
        data = text(500_000)
        for kind in ("raw", "text"):
            ended = run(*JSON, f"--pass-through={kind}", "-o", self.folder / "out.json", self.file("data", data))
            self.assertEqual((ended.status, ended.stdout), (0, data))
            self.assert_pairs(json.loads((self.folder / "out.json").read_text()), data)


class Damage(CommandTest):
    def frames(self, hit):
        """Texts, and frames of which those in `hit` are damaged: the whole text is decoded, the checksum is wrong."""
        chosen = random.Random(sum(hit))
        parts = [text(chosen.choice((1, 100, 5000, 70_000)), number) for number in range(20)]
        frames = [bytearray(zstd(part)) for part in parts]
        for number in hit:
            frames[number][-1] ^= 4
        return parts, b"".join(frames)

    def test_no_pair_spans_a_damaged_frame(self):
        for hit in ([0], [19], [4], [5, 6], [2, 4, 11, 17]):
            parts, encoded = self.frames(hit)
            intact = bytes().join(b"\0GAP\0" if number in hit else part for number, part in enumerate(parts)).split(b"\0GAP\0")
            path = self.file("damaged.zst", encoded)
            for options in ((), ("-T", "1"), ("-T", "5", "--chunk-size", "1000")):
                with self.subTest(hit=hit, options=options):
                    ended = run(*JSON, "--skip-damage", *options, path)
                    self.assertEqual(ended.status, 1)
                    for part in (ended.result, ended.result["inputs"][0]):
                        self.assertEqual(part["pairs"]["letters"]["counts"], pairs_in(*intact))
                        unverified = part["unverified"]["pairs"]["letters"]["counts"]
                        self.assertEqual(unverified, pairs_in(*(parts[number] for number in hit)))

    def test_no_pair_spans_data_between_frames_that_is_skipped(self):
        parts = [text(size, size) for size in (5000, 3, 70_000)]
        for junk in (b"x", b"\x28\xb5\x2f", noise(1000)):
            for place in (1, 2):
                frames = [zstd(part) for part in parts]
                frames.insert(place, junk)
                ended = run(*JSON, "--skip-damage", stdin_bytes=b"".join(frames))
                begin, end = b"".join(parts[:place]), b"".join(parts[place:])
                self.assertEqual(ended.result["bytes"], len(begin + end))
                self.assertEqual(ended.result["pairs"]["letters"]["counts"], pairs_in(begin, end))

    def test_a_damaged_input_has_the_pairs_before_the_damage_and_unverified_ones(self):
        data = text(100_000)
        whole, cut = text(5000, 2), zstd(data)[:-2]
        ended = run(*JSON, stdin_bytes=zstd(whole) + cut)
        self.assertEqual(ended.status, 1)
        self.assertEqual(ended.result["pairs"]["letters"]["counts"], pairs_in(whole))
        size = ended.result["unverified"]["bytes"]
        unverified = pairs_in(data[:size])
        self.assertEqual(ended.result["unverified"]["pairs"]["letters"]["counts"], unverified)
        added = run(*JSON, "--count-unverified", stdin_bytes=zstd(whole) + cut).result
        self.assertEqual(added["pairs"]["letters"]["counts"], summed(pairs_in(whole), unverified))


class Windows(CommandTest):
    def assert_windows(self, ended, texts, breaks=()):
        """`texts`: by the source of their windows, or the text of all inputs. `breaks`: offsets in it at which no pair
        ends."""
        windows = ended.documents_of("window")
        self.assertGreater(len(windows), 1)
        for window in windows:
            data = texts[window["source"]] if isinstance(texts, dict) else texts
            begin, end = window["first_offset"], window["end_offset"]
            inside = [0, *(at for at in breaks if begin <= at < end), end]
            pieces = [pairs_in(data[:upto], begin=max(begin, at + 1)) for at, upto in zip(inside, inside[1:])]
            if begin not in inside and begin > 0:
                self.assertEqual(sum(map(sum, window["pairs"]["letters"]["counts"])), end - begin - len(inside) + 2)
            self.assertEqual(window["pairs"]["letters"]["counts"], summed(*pieces))
        return windows

    def test_a_pair_belongs_to_the_window_of_its_second_byte(self):
        data = text(20_000)
        for window in (("100B",), ("1000B", "--step", "300B"), ("7lines",), ("10lines", "--step", "3lines"), ("1B",)):
            if window == ("1B",):
                data = data[:300]
            for options in ((), ("--chunk-size", "33"), ("-T", "4")):
                for compressed in (False, True):
                    with self.subTest(window=window, options=options, compressed=compressed):
                        frames = b"".join(zstd(data[at : at + 999]) for at in range(0, len(data), 999))
                        path = self.file("data", frames if compressed else data)
                        ended = run("--pairs", "-b", "letters", "--window", *window, *options, path)
                        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
                        self.assert_windows(ended, data)
                        self.assertEqual(ended.result["pairs"]["letters"]["counts"], pairs_in(data))

    def test_no_pair_of_a_window_spans_two_inputs(self):
        texts = {f"{number}": text(1000 + number, number) for number in range(4)}
        paths = [self.file(name, data) for name, data in texts.items()]
        paths[2].write_bytes(zstd(texts["2"]))
        ends = [sum(len(each) for each in list(texts.values())[:number]) for number in range(1, 4)]
        for options in ((), ("--chunk-size", "77")):
            ended = run("--pairs", "-b", "letters", "--window", "300B", *options, *paths)
            self.assert_windows(ended, b"".join(texts.values()), ends)
            ended = run("--pairs", "-b", "letters", "--window", "300B", "--per-input", *options, *paths)
            self.assert_windows(ended, {str(path): data for path, data in zip(paths, texts.values())})

    def test_no_pair_of_a_window_spans_damage(self):
        parts = [text(1000, number) for number in range(5)]
        frames = [bytearray(zstd(part)) for part in parts]
        frames[2][-1] ^= 4  # all of its text is decoded and in windows
        ended = run("--pairs", "-b", "letters", "--window", "300B", "--skip-damage", stdin_bytes=b"".join(frames))
        self.assertEqual(ended.status, 1)
        self.assert_windows(ended, b"".join(parts), [3000])


class Formats(CommandTest):
    def test_measures_of_pairs_are_those_of_their_definitions(self):
        for data in (text(100_000), noise(1000), b"ab" * 500, b"a" * 100):
            result = run(*JSON, stdin_bytes=data).result["pairs"]["letters"]
            matrix = pairs_in(data)
            self.assertAlmostEqual(result["conditional_entropy"], entropy_of(matrix), 9)
            total = len(data) - 1
            found = []
            for first, row in enumerate(matrix):
                for second, count in enumerate(row):
                    if count:
                        expected = sum(row) * sum(each[second] for each in matrix) / total
                        found.append((count * math.log2(count / expected), first, second, count, expected))
            found = sorted((each for each in found if each[0] > 1e-9), key=lambda each: (-round(each[0], 6), each[1:3]))[:10]
            names = NAMES["letters"]
            self.assertEqual(
                [(each["first"], each["second"], each["count"]) for each in result["surprising"]],
                [(names[first], names[second], count) for _, first, second, count, _ in found],
            )
            for each, (bits, _, _, _, expected) in zip(result["surprising"], found):
                self.assertAlmostEqual(each["expected"], expected, 6)
                self.assertAlmostEqual(each["bits"], bits, 6)

    def test_rows_of_csv_are_the_pairs_that_occur(self):
        data = text(20_000)
        path = self.file("data", data)
        ended = run("--format", "csv", "--pairs", "-b", SCHEMES, path)
        rows = list(csv.DictReader(io.StringIO(ended.stdout.decode())))
        for scheme in SCHEMES.split(","):
            expected = {
                f"{NAMES[scheme][first]}>{NAMES[scheme][second]}": count
                for first, row in enumerate(pairs_in(data, scheme=scheme)) for second, count in enumerate(row) if count
            }
            for name in ("", str(path)):
                of_scheme = [row for row in rows if row["scheme"] == scheme and row["input"] == name]
                found = {row["bucket"]: int(row["count"]) for row in of_scheme if row["kind"] == "pair"}
                self.assertEqual(found, expected)
                shares = sum(float(row["share"]) for row in of_scheme if row["kind"] == "pair")
                self.assertAlmostEqual(shares, 1)
                (entropy,) = [row for row in of_scheme if row["kind"] == "measure"]
                self.assertEqual((entropy["bucket"], int(entropy["count"])), ("conditional_entropy", len(data) - 1))
                self.assertAlmostEqual(float(entropy["share"]), entropy_of(pairs_in(data, scheme=scheme)), 9)

    def test_metrics_have_a_sample_for_each_pair_of_buckets(self):
        data = text(20_000)
        printed = run("--format", "prometheus", "--pairs", "-b", "letters", stdin_bytes=data).stdout.decode()
        found = re.findall(r'^gpuhist_pairs\{scheme="letters",first="(.+)",second="(.+)"\} (\d+)$', printed, re.M)
        matrix = pairs_in(data)
        names = NAMES["letters"]
        self.assertEqual(
            [(first, second, int(count)) for first, second, count in found],
            [(first, second, matrix[i][j]) for i, first in enumerate(names) for j, second in enumerate(names)],
        )
        (entropy,) = re.findall(r'^gpuhist_conditional_entropy_bits\{scheme="letters"\} (.+)$', printed, re.M)
        self.assertAlmostEqual(float(entropy), entropy_of(matrix), 9)

    def test_the_table_has_a_heat_map_that_fits_the_width(self):
        data = text(20_000)
        printed = run("--pairs", "-b", "letters", stdin_bytes=data).stdout.decode()
        self.assertIn(f"{len(data) - 1:,} pairs, letters\nconditional entropy ", printed)
        matrix = pairs_in(data)
        for name, row in zip(NAMES["letters"], matrix):
            (line,) = [each for each in printed.splitlines() if re.match(rf"{name} +[\d<]", each) and "%" not in each]
            numbers = [int(each) if each != "<1" else 0 for each in line.split()[1:]]
            self.assertEqual(len(numbers), sum(1 for count in row if count))
            for number, count in zip(numbers, (count for count in row if count)):
                self.assertLessEqual(abs(number - 100 * count / sum(row)), 0.5001)
        for scheme in ("letters", "alphabet", "classes"):
            for line in run("--pairs", "-b", scheme, stdin_bytes=data).stdout.decode().splitlines():
                self.assertLessEqual(len(line), 80)

    def test_a_condition_can_use_the_conditional_entropy(self):
        data = text(20_000)
        bits = entropy_of(pairs_in(data))
        for condition, status in ((f"conditional_entropy > {bits - 0.001}", 3), (f"conditional_entropy > {bits + 0.001}", 0)):
            ended = run("--pairs", "-b", "letters", "--fail-if", condition, "-o", "/dev/null", stdin_bytes=data)
            self.assertEqual(ended.status, status, ended)
        ended = run("--pairs", "-b", SCHEMES, "--fail-if", "letters.conditional_entropy > 0", "-o", "/dev/null", stdin_bytes=data)
        self.assertEqual(ended.status, 3, ended)
        self.assertIn(f"letters.conditional_entropy = {bits:.3f}"[:-1], ended.stderr)
        self.assert_usage_error(run("--fail-if", "conditional_entropy > 3"), "--fail-if", "give --pairs")
        self.assert_usage_error(run("--pairs", "-b", SCHEMES, "--fail-if", "conditional_entropy > 3"), "letters.conditional_entropy")
        windows = run("--pairs", "-b", "letters", "--window", "1000B", "--alert-if", "conditional_entropy > 0", stdin_bytes=data)
        self.assertEqual(len(windows.documents_of("alert")), 21)

    def test_too_many_classes_are_refused(self):
        ended = run("--pairs", "-b", "bytes")
        self.assert_usage_error(ended, "--pairs: scheme bytes divides the byte values into 256 classes", "at most 32", "--buckets")
        ended = run("--pairs", "-b", "alphabet,classes,utf8")
        self.assert_usage_error(ended, "schemes alphabet and classes and utf8 together divide", "at most 32")

    def test_pairs_can_be_set_in_a_configuration_file(self):
        config = self.file("job.toml", b'pairs = true\nbuckets = ["letters"]\nformat = "json"\n')
        self.assertIn("pairs", run("--config", config, stdin_bytes=b"abc").result)
        self.assertNotIn("pairs", run("--config", config, "--no-pairs", stdin_bytes=b"abc").result)


class Report(CommandTest):
    def count(self, name, *paths, options=()):
        target = self.folder / name
        schemes = () if "-b" in options else ("-b", SCHEMES)
        kept = ("--byte-counts", "--format", "json", "--pairs", *schemes, *options)
        run(*kept, "-o", target, *paths)
        return target

    def test_report_adds_the_pairs_of_results(self):
        texts = [text(5000, 1), text(300, 2), noise(1000)]
        paths = [self.file(f"{number}", data) for number, data in enumerate(texts)]
        results = [self.count("a.json", paths[0], paths[1]), self.count("b.json", paths[2])]
        for schemes in ("letters", "classes", "classes,letters"):
            ended = run("report", "--pairs", "-b", schemes, "--format", "json", *results, engine=None)
            self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
            for scheme in schemes.split(","):
                self.assertEqual(ended.result["pairs"][scheme]["counts"], pairs_in(*texts, scheme=scheme))
                for reported, data in zip(ended.result["inputs"], texts, strict=True):
                    self.assertEqual(reported["pairs"][scheme]["counts"], pairs_in(data, scheme=scheme))
        again = run("report", "--pairs", "-b", SCHEMES, "--format", "json", results[0], engine=None).result
        self.assertEqual(again["pairs"], json.loads(results[0].read_text())["pairs"])

    def test_report_reads_the_pairs_of_unverified_text(self):
        path = self.file("cut.zst", zstd(text(5000)) + zstd(text(90_000, 2))[:-2])
        result = json.loads(self.count("a.json", path).read_text())
        again = run("report", "--pairs", "-b", SCHEMES, "--format", "json", self.folder / "a.json", engine=None).result
        self.assertEqual(again["unverified"]["pairs"], result["unverified"]["pairs"])
        self.assertEqual(again["pairs"], result["pairs"])

    def test_report_reads_pairs_with_former_names_of_buckets(self):
        path = self.file("data", text(5000) + noise(5000))
        result = self.count("new.json", path, options=("-b", "utf8"))
        new = run("report", "--pairs", "-b", "utf8", "--format", "json", result, engine=None).result
        self.assertEqual(new["pairs"]["utf8"]["buckets"][5], "never-utf8")
        result.write_text(result.read_text().replace('"never-utf8"', '"invalid"'))
        self.assertEqual(json.loads(result.read_text())["pairs"]["utf8"]["buckets"][5], "invalid")
        old = run("report", "--pairs", "-b", "utf8", "--format", "json", result, engine=None)
        self.assertEqual((old.status, remarks(old)), (0, []), old)
        self.assertEqual(old.result["pairs"], new["pairs"])

    def test_report_refuses_results_without_these_pairs(self):
        path = self.file("data", text(5000))
        without = self.folder / "without.json"
        run("--byte-counts", "--format", "json", "-o", without, path)
        with_letters = self.count("letters.json", path)
        custom = self.count("mine.json", path, options=("-b", "mine:x=a;y=b;z=c"))
        for result, options, message in (
            (without, (), "no pairs were counted; count again with --pairs --buckets classes, or leave --pairs out"),
            (with_letters, ("-b", "utf8"), "no pairs of utf8 were counted"),
            (with_letters, ("-b", "letters", "--ignore-case"), "without --ignore-case"),
            (custom, ("-b", "mine:x=a;y=c"), "the pairs of mine are of other buckets"),
        ):
            ended = run("report", "--pairs", *options, result, engine=None)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(message, ended.stderr)

    def test_report_refuses_pairs_that_do_not_add_up(self):
        path = self.count("a.json", self.file("data", text(5000)))
        good = json.loads(path.read_text())
        for change in (1, 10_000, -1, "x", None):
            bad = json.loads(json.dumps(good))
            row = bad["pairs"]["letters"]["counts"][7]
            row[7] = row[7] + change if isinstance(change, int) else change
            path.write_text(json.dumps(bad))
            ended = run("report", "--pairs", "-b", "letters", path, engine=None)
            self.assertEqual(ended.status, 1, ended)


if __name__ == "__main__":
    main()
