"""`--duplicates`: units with the text of an earlier one, in all inputs and shards; and the units that `gpuhist filter
--duplicates drop` keeps. Compared with dictionaries in Python."""

import json
import os
import random
import subprocess
import sys
import unittest

from support import GPUHIST, SAMPLE, SANITIZED, CommandTest, main, run, sampled, tar, zstd
from test_batch import BatchTest, run_batch
from test_filter import CHUNKS, digits, divided

ONCE = ("filter", "--duplicates", "drop")


# ---- the oracle ------------------------------------------------------------------------------------------------------


def numbers_of(texts):
    """The numbers of `units` in a result."""
    texts = [each for each in texts if each is not None]
    different = set(texts)
    return {
        "distinct": len(different),
        "distinct_bytes": sum(map(len, different)),
        "duplicates": len(texts) - len(different),
        "duplicate_bytes": sum(map(len, texts)) - sum(map(len, different)),
    }


def text_of(unit, delimiter=b"\n"):
    return unit.removesuffix(delimiter)


def first_ones(units, text=text_of):
    """The units that a filter keeps: those without text, and the first with each text."""
    seen, kept = set(), []
    for unit in units:
        if text(unit) is not None and text(unit) in seen:
            continue
        seen.add(text(unit))
        kept.append(unit)
    return kept


def value(line):
    try:
        found = json.loads(line)["text"].encode()
    except (ValueError, KeyError):
        return None
    return found


# ---- data ------------------------------------------------------------------------------------------------------------


def lines(number, seed=1, different=None):
    """Lines of 0 to 300 bytes, of which many are equal."""
    chosen = random.Random(seed)
    of = lambda text: (b"%d " % text * (text % 40))[: text % 300]
    return b"".join(of(chosen.randrange(different or number)) + b"\n" for _ in range(number))


def documents(number, seed=1):
    """JSONL: equal texts with other ids, other escapes, empty texts and lines without field."""
    chosen = random.Random(seed)
    made = []
    for identifier in range(number):
        text = chosen.choice(("", f"größe {chosen.randrange(number)}", "x\n" * chosen.randrange(number)))
        escaped = json.dumps(text, ensure_ascii=chosen.random() < 0.5)
        made.append(chosen.choice((f'{{"id":{identifier},"text":{escaped}}}\n', f'{{"text": {escaped}}}\n', f'{{"id":{identifier}}}\n')).encode())
    return b"".join(made)


class DuplicateTest(CommandTest):
    def units(self, *arguments, **options):
        ended = run("--format", "jsonl", "--duplicates", "count", *arguments, **options)
        self.assertEqual(ended.status, 0, ended)
        return ended.result["units"]

    def assert_numbers(self, units, texts):
        expected = numbers_of(texts)
        self.assertEqual({key: units[key] for key in expected}, expected)

    def once(self, *arguments, status=0, **options):
        ended = run(*ONCE, "--result", self.folder / "result", *arguments, engine=None, **options)
        self.assertEqual(ended.status, status, ended)
        return ended, [json.loads(each) for each in (self.folder / "result").read_bytes().splitlines()]


class Counted(DuplicateTest):
    def test_the_numbers_are_those_of_a_set_for_every_kind_of_unit_and_size_of_chunk(self):
        data = lines(20_000)
        path = self.file("a", data)
        for unit, options, delimiter in (("line", ("--each", "line"), b"\n"), (b"3", ("--each", "record", "--delimiter", "3"), b"3"), (64, ("--each", "64"), b"")):
            texts = [text_of(each, delimiter) for each in divided(data, unit)]
            for chunk in sampled(CHUNKS, 2):
                self.assert_numbers(self.units(*options, *(("--chunk-size", chunk) if chunk else ()), path), texts)

    def test_equal_texts_are_found_in_all_inputs_frames_and_members_with_any_number_of_threads(self):
        parts = [lines(3000, seed, 4000) for seed in range(6)]
        frames = b"".join(zstd(each) for each in parts)
        paths = [self.file(f"{number}", each) for number, each in enumerate(parts)]
        paths += [self.file("frames.zst", frames), self.file("members.tar", tar({"x": parts[0], "y": parts[5]}))]
        texts = [text_of(each) for part in (*parts, *parts, parts[0], parts[5]) for each in divided(part)]
        for threads in ("1", "2", "7"):
            self.assert_numbers(self.units("--each", "line", "-T", threads, *paths), texts)

    def test_a_last_line_without_line_feed_is_equal_to_one_with_it(self):
        self.assert_numbers(self.units("--each", "line", stdin_bytes=b"a\nb\na"), [b"a", b"b", b"a"])

    def test_of_jsonl_the_values_are_compared_and_lines_without_field_are_not(self):
        data = documents(5000)
        found = self.units("--each", "line", "--jsonl-field", "text", self.file("a", data))
        self.assert_numbers(found, [value(each) for each in divided(data)])
        self.assertGreater(found["without_field"], 100)

    def test_a_line_that_is_longer_than_a_chunk_is_compared_as_a_whole(self):
        long = bytes(random.Random(1).randrange(97, 123) for _ in range(300_000))
        texts = [long, long[:-1], long, b"", long[1:], long + b"a"]
        for options in ((), ("--chunk-size", "1000"), ("-T", "3", "--chunk-size", "7777")):
            self.assert_numbers(self.units("--each", "line", *options, self.file("a", b"\n".join(texts))), texts)

    def test_with_a_condition_units_that_it_selects_are_compared(self):
        data = lines(5000)
        found = self.units("--each", "line", "--where", "digit > 0.6", "--group-by", "field:1", self.file("a", data))
        self.assert_numbers(found, [text_of(each) for each in divided(data) if digits(each) > 0.6 * len(each)])

    def test_hashes_that_do_not_fit_in_memory_are_spilled_and_the_numbers_are_the_same(self):
        data = b"".join(b"%d\n" % (each * 7919 % 900_000) for each in range(1_000_000))
        found = self.units("--each", "line", "--memory-limit", "64MiB", self.file("a", data))  # 4 MiB of hashes
        self.assertEqual((found["distinct"], found["duplicates"]), (900_000, 100_000))

    def test_all_formats_have_the_numbers(self):
        path = self.file("a", b"ab\nc\nab\nab\n")
        options = ("--each", "line", "--duplicates", "count", path)
        table = run("--format", "table", *options).stdout.decode()
        self.assertRegex(table, r"distinct +2 +3 +50\.00 %")
        self.assertRegex(table, r"duplicates +2 +4 +50\.00 %")
        csv = run("--format", "csv", *options).stdout.decode().splitlines()
        for row in ("units,,line,distinct,2,0.5", "units,,line,distinct_bytes,3,", "units,,line,duplicates,2,0.5", "units,,line,duplicates_bytes,4,"):
            self.assertTrue(any(line.startswith(row) for line in csv), (row, csv))
        metrics = run("--format", "prometheus", *options).stdout.decode()
        self.assertIn('gpuhist_units{each="line",which="duplicates"} 2', metrics)
        self.assertIn('gpuhist_unit_bytes{each="line",which="distinct"} 3', metrics)

    def test_it_is_refused_where_there_are_no_texts_to_compare(self):
        for options, message in (
            (("--each", "window", "--window", "1KiB"), "--duplicates: units with equal texts are found among lines, records, parts and inputs; give --each line, record, input or a size"),
            ((), "--duplicates: requires --each"),
        ):
            ended = run("--duplicates", "count", *options, stdin_bytes=b"")
            self.assertEqual(ended.status, 2)
            self.assertIn(message, ended.stderr)
        ended = run("--duplicates", "drop", "--each", "line", stdin_bytes=b"")
        self.assertIn("--duplicates: drop is for filters; give count", ended.stderr)


class Dropped(DuplicateTest):
    def test_the_first_of_equal_units_is_kept_in_the_order_of_inputs_with_any_number_of_threads(self):
        parts = [lines(4000, seed, 6000) for seed in range(5)]
        paths = [self.file("0", parts[0]), self.file("1.zst", zstd(parts[1][:9000]) + zstd(parts[1][9000:])), self.file("2", parts[2]), self.file("3.zst", zstd(parts[3])), self.file("4", parts[4])]
        units = [unit for part in parts for unit in divided(part)]
        expected = first_ones(units)
        for threads in ("1", "2", "7"):
            ended, results = self.once("-T", threads, *paths)
            self.assertEqual(ended.stdout, b"".join(expected))
            found = results[-1]["units"]
            self.assert_numbers(found, [text_of(each) for each in units])
            self.assertEqual(found["selected"], len(units) - len(expected))
            self.assertEqual([(each["name"], each["units"], each["first_bytes"]) for each in found["rules"]],
                             [("duplicate", len(units) - len(expected), sum(map(len, units)) - sum(map(len, expected)))])  # fmt: skip
            dropped = [each for each in results if each["kind"] == "unit"]
            self.assertEqual({tuple(each["rules"]) for each in dropped}, {("duplicate",)})
            self.assertEqual(len(dropped), len(units) - len(expected))
            self.assertIn(f"kept {len(expected):,} (", ended.stderr)

    def test_it_is_the_same_for_every_size_of_chunk_and_kind_of_unit(self):
        data = lines(3000)
        for unit, options, delimiter in (("line", (), b"\n"), (b"3", ("--each", "record", "--delimiter", "3"), b"3"), (64, ("--each", "64"), b"")):
            expected = b"".join(first_ones(divided(data, unit), lambda each: text_of(each, delimiter)))
            for chunk in sampled(CHUNKS, 2):
                ended, _ = self.once(*options, *(("--chunk-size", chunk) if chunk else ()), self.file("a", data))
                self.assertEqual(ended.stdout, expected)

    def test_with_conditions_only_units_that_they_keep_are_compared_and_each_rule_is_counted(self):
        data = lines(8000)
        units = divided(data)
        has_digits = lambda unit: digits(unit) > 0.79 * len(unit)
        ended, results = self.once("--drop-if", "digits=digit > 0.79", self.file("a", data))
        self.assertEqual(ended.stdout, b"".join(first_ones([each for each in units if not has_digits(each)])))
        rules = {each["name"]: each for each in results[-1]["units"]["rules"]}
        self.assertEqual(rules["digits"]["units"], sum(map(has_digits, units)))
        self.assertEqual(rules["duplicate"]["units"], rules["duplicate"]["first_units"])
        self.assertEqual(sum(each["first_units"] for each in rules.values()), results[-1]["units"]["selected"])
        self.assertEqual(results[-1]["units"]["where"], "digit > 0.79 || duplicate")
        self.assertRegex(ended.stderr, r"duplicate +\d")
        ended, results = self.once("--keep-if", "digits=digit > 0.79", self.file("a", data))
        kept = [each for each in units if has_digits(each)]
        self.assertEqual(ended.stdout, b"".join(first_ones(kept)))
        self.assert_numbers(results[-1]["units"], [text_of(each) for each in kept])
        self.assertEqual(results[-1]["units"]["selected"], len(first_ones(kept)))

    def test_of_a_document_that_a_rule_drops_a_later_one_with_the_same_text_is_not_a_duplicate(self):
        data = b'{"score":1,"text":"a"}\n{"score":9,"text":"a"}\n{"score":8,"text":"a"}\n'
        ended, _ = self.once("--jsonl-field", "text", "--drop-if", 'number("json:score") < 5', stdin_bytes=data)
        self.assertEqual(ended.stdout, b'{"score":9,"text":"a"}\n')

    def test_documents_of_jsonl_are_written_as_they_are_and_those_without_field_as_the_option_says(self):
        data = documents(3000)
        units = divided(data)
        for options, text in (((), value), (("--without-field", "keep"), value)):
            ended, _ = self.once("--jsonl-field", "text", *options, self.file("a", data))
            self.assertEqual(ended.stdout, b"".join(first_ones(units, text)))
        ended, _ = self.once("--jsonl-field", "text", "--without-field", "drop", self.file("a", data))
        self.assertEqual(ended.stdout, b"".join(first_ones([each for each in units if value(each) is not None], value)))

    def test_lines_of_groups_are_those_that_are_kept(self):
        data = b"a 1\nb 1\na 1\na 2\nb 1\na 1\n"
        _, results = self.once("--group-by", "field:1", stdin_bytes=data)
        self.assertEqual([(each["key"], each["lines"]) for each in results[-1]["groups"]], [("a", 2), ("b", 1)])

    def test_each_output_of_a_folder_lacks_the_units_of_inputs_before(self):
        parts = {f"{number}": lines(2000, number, 3000) for number in range(5)}
        for name, data in parts.items():
            self.file(name, data)
        inputs = [self.folder / name for name in parts]
        out = self.folder / "out"
        for threads in ("1", "4"):
            ended, _ = self.once("--output-dir", out, "--force", "-T", threads, *inputs)
            expected, all_kept = {}, set()
            for name, data in parts.items():
                expected[name] = [each for each in first_ones(divided(data)) if text_of(each) not in all_kept]
                all_kept.update(map(text_of, expected[name]))
            self.assertEqual({name: (out / name).read_bytes() for name in parts}, {name: b"".join(each) for name, each in expected.items()})
        ended = run(*ONCE, "--output-dir", out, "--resume", *inputs, engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn("--resume: cannot be combined with --duplicates drop", ended.stderr)

    def test_damaged_text_that_is_dropped_is_not_the_first_of_equal_units(self):
        intact, damaged = zstd(b"a\nb\n", "--check"), bytearray(zstd(b"c\nd\n", "--check"))
        damaged[-1] ^= 1
        path = self.file("a.zst", bytes(damaged) + intact + zstd(b"c\na\nd\nb\n"))
        ended, results = self.once("--skip-damage", path, status=1)
        self.assertEqual(ended.stdout, b"b\nc\na\nd\n")  # the gap may cut the line after it
        self.assertEqual((results[-1]["units"]["unverified"], results[-1]["units"]["duplicates"]), (3, 1))

    def test_hashes_that_do_not_fit_in_memory_are_spilled_and_looked_up(self):
        number = 300_000
        data = b"".join(b"%d\n" % (each * 7919 % 271_000) for each in range(number))
        ended, results = self.once("--memory-limit", "64MiB", "--quiet", self.file("a", data))
        self.assertEqual(results[-1]["units"]["duplicates"], number - 271_000)
        self.assertEqual(ended.stdout, b"".join(b"%d\n" % (each * 7919 % 271_000) for each in range(271_000)))

    @unittest.skipIf(SANITIZED, "a sanitizer needs memory of its own")
    def test_of_a_million_documents_with_5_percent_duplicates_all_are_found_within_256_MiB(self):
        chosen = random.Random(5)
        number = 200_000 if SAMPLE else 1_000_000
        copied = set(chosen.sample(range(1, number), number // 20))
        path = self.folder / "docs.jsonl"
        texts = []
        with open(path, "wb") as out:
            for each in range(number):
                texts.append(texts[chosen.randrange(each)] if each in copied else f"document {each} {each * 2654435761 % 2**32:x}")
                out.write(b'{"id":%d,"text":"%s"}\n' % (each, texts[-1].encode()))
        seen = set()
        expected = [number for number, text in enumerate(texts) if text not in seen and not seen.add(text)]
        # by a small process: the memory of the one that starts the program counts as its own
        measured = "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:]).returncode\nprint(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        ended = subprocess.run([sys.executable, "-c", measured, GPUHIST, *ONCE, "--jsonl-field", "text", "-o", self.folder / "once", path],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, stderr=subprocess.DEVNULL)  # fmt: skip
        status, peak = map(int, ended.stdout.split())
        self.assertEqual(status, 0)
        self.assertLess(peak, 256 << 10)
        self.assertEqual([json.loads(each)["id"] for each in (self.folder / "once").read_bytes().splitlines()], expected)


class Jobs(BatchTest):
    def parts(self):
        made = {f"{number}": lines(3000, number, 5000) for number in range(6)}
        for name, data in made.items():
            self.input(name, data)
        return [text_of(each) for data in made.values() for each in divided(data)]

    def assert_total(self, folder, texts):
        found = json.loads((folder / "total.json").read_bytes())["units"]
        expected = numbers_of(texts)
        self.assertEqual({key: found[key] for key in expected}, expected)

    def test_a_job_has_the_duplicates_of_all_inputs(self):
        texts = self.parts()
        self.batch(self.inputs, "--each", "line", "--duplicates", "count")
        self.assert_total(self.out, texts)

    def test_shards_are_merged_exactly(self):
        texts = self.parts()
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        for shard in range(3):
            ended = run_batch("--manifest", manifest, "--each", "line", "--duplicates", "count", "--output-dir", self.out, "--shard", f"{shard + 1}/3")
            self.assertEqual(ended.status, 0, ended)
        ended = run("merge", self.out, engine=None)
        self.assertEqual(ended.status, 0, ended)
        self.assert_total(self.out, texts)

    def test_a_sum_of_results_has_no_duplicates_because_results_have_no_hashes(self):
        paths = [self.folder / f"{number}.json" for number in range(2)]
        for path in paths:
            run("--format", "json", "--each", "line", "--group-by", "field:1", "--duplicates", "count", "-o", path, self.file(path.stem, b"a 1\nb 1\na 1\n"))
        units = run("merge", "--format", "json", *paths, engine=None).result["units"]
        self.assertEqual((units["seen"], "distinct" in units, "duplicates" in units), (6, False, False))

    def test_dropping_is_refused(self):
        self.parts()
        ended = run_batch(self.inputs, "--each", "line", "--duplicates", "drop", "--output-dir", self.out)
        self.assertEqual(ended.status, 2)
        self.assertIn("drop is for filters; give count", ended.stderr)


if __name__ == "__main__":
    main()
