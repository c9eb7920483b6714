"""`gpuhist merge` of results: files of --format json and jsonl, and the folders of finished jobs."""

import json

from support import ENGINE, CommandTest, counts_of, main, oracle, run, text, without_run, zstd


class Merge(CommandTest):
    def setUp(self):
        super().setUp()
        self.texts = {name: text(1_000 + 3_000 * number, number) for number, name in enumerate(("a", "b", "c", "d"))}
        for name, data in self.texts.items():
            (self.folder / name).write_bytes(data)

    def count(self, to, *arguments, status=0):
        """A result of an ordinary run, as a file."""
        path = self.folder / to
        style = "jsonl" if to.endswith(".jsonl") else "json"
        ended = run("--format", style, "-o", path, *(self.folder / each if each in self.texts else each for each in arguments))
        self.assertEqual(ended.status, status, ended)
        return path

    def job(self, to, *arguments, status=0):
        path = self.folder / to
        ended = run("batch", "--engine", ENGINE, *(self.folder / each if each in self.texts else each for each in arguments), "--output-dir", path, engine=None)
        self.assertEqual(ended.status, status, ended)
        return path

    def merge(self, *arguments, status=0):
        ended = run("merge", *arguments, engine=None)
        self.assertEqual(ended.status, status, ended)
        return ended

    def whole(self, *arguments, style="json"):
        """The result of one run over all inputs."""
        return run("--format", style, *arguments, *(self.folder / each for each in self.texts)).stdout

    def test_the_sum_is_the_result_of_one_run_in_every_format(self):
        for options in ((), ("--byte-counts",), ("-b", "bytes"), ("-b", "classes,letters"), ("--utf8",), ("--ignore-case", "-b", "alphabet")):
            first, second = self.count("1.json", "a", "b", *options), self.count("2.jsonl", "c", "d", "-T", "1", *options)
            for style in ("table", "json", "csv", "prometheus"):
                with self.subTest(options=options, style=style):
                    self.assertEqual(self.merge("--format", style, first, second).stdout, self.whole(*options, style=style))
            merged = without_run(self.merge("--format", "jsonl", first, second).stdout)
            self.assertEqual(sorted(merged.splitlines()), sorted(without_run(self.whole(*options, style="jsonl")).splitlines()))

    def test_the_sum_has_the_counts_of_the_text(self):
        merged = self.merge("--format", "json", self.count("1.json", "a", "b"), self.count("2.json", "c", "d")).result
        expected = oracle(b"".join(self.texts.values()))
        self.assertEqual({**counts_of(merged), "buckets": merged["buckets"]["classes"]}, {**expected, "buckets": expected["buckets"]["classes"]})

    def test_a_sum_can_be_merged_again(self):
        to = self.folder / "sum.json"
        self.merge("--format", "json", "-o", to, self.count("1.json", "a"), self.count("2.json", "b"))
        self.assertEqual(self.merge("--format", "json", to, self.count("3.json", "c", "d")).stdout, self.whole())

    def test_folders_of_jobs_are_results(self):
        first, second = self.job("job-1", "a", "b"), self.job("job-2", "c")
        merged = self.merge("--format", "json", first, second, self.count("3.json", "d"))
        self.assertEqual(merged.stdout, self.whole())
        self.assertEqual(self.merge(first, second, self.count("3.json", "d")).stdout, self.whole(style="table"))
        (second / "total.json").unlink()
        self.assertIn("job-2: has no results (total.json); run gpuhist batch to the end", self.merge(first, second, status=1).stderr)

    def test_folders_with_parts_are_results_if_a_format_is_asked_for(self):
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run("batch", "plan", *(self.folder / each for each in "abcd"), "-o", manifest, engine=None).status, 0)
        for number in (1, 2):
            self.job("job", "--manifest", manifest, "--shard", f"{number}/2")
        self.assertIn("merge its parts first", self.merge("--format", "json", self.folder / "job", status=1).stderr)
        self.merge(self.folder / "job")
        self.assertEqual(self.merge("--format", "json", self.folder / "job").stdout, self.whole())

    def test_different_schemes_are_refused_and_both_are_named(self):
        first, second = self.count("1.json", "a", "-b", "letters"), self.count("2.json", "b", "-b", "utf8")
        ended = self.merge(first, second, status=2)
        self.assertIn('1.json has "letters" (', ended.stderr)
        self.assertIn('2.json has "utf8" (', ended.stderr)
        self.assertIn("count again with the same --buckets", ended.stderr)
        custom = self.count("3.json", "a", "-b", "x=a"), self.count("4.json", "b", "-b", "y=b")
        self.assertIn('3.json has "custom" (other, x)', self.merge(*custom, status=2).stderr)
        folded = self.count("5.json", "a", "-b", "letters", "--ignore-case"), self.count("6.json", "b", "-b", "letters")
        self.assertIn("with --ignore-case", self.merge(*folded, status=2).stderr)

    def test_results_with_byte_counts_are_added_by_any_scheme(self):
        first, second = self.count("1.json", "a", "b", "-b", "letters", "--byte-counts"), self.count("2.json", "c", "d", "-b", "utf8", "--byte-counts")
        self.assertIn("give the schemes of the sum with --buckets", self.merge(first, second, status=2).stderr)
        self.assertEqual(self.merge("--format", "json", "-b", "classes", first, second).stdout, self.whole("--byte-counts"))

    def test_a_scheme_of_ones_own_needs_its_definition(self):
        scheme = "vowels=aeiou;digits=0-9"
        first, second = self.count("1.json", "a", "b", "-b", scheme), self.count("2.json", "c", "d", "-b", scheme)
        self.assertIn('has the scheme "custom", whose definition is not in the result; give it with --buckets', self.merge(first, second, status=2).stderr)
        self.assertEqual(self.merge("--format", "json", "-b", scheme, first, second).stdout, self.whole("-b", scheme))

    def test_buckets_of_one_name_with_other_bytes_are_not_added_or_shown(self):
        counted, other = ("-b", "x=a-c"), ("-b", "x=a-z")
        for style in ("json", "jsonl"):
            first, second = self.count(f"1.{style}", "a", "b", *counted), self.count(f"2.{style}", "c", "d", *other)
            self.assertIn('the buckets of the scheme "custom" have other bytes in ', self.merge("--format", "json", first, second, *counted, status=2).stderr)
            ended = self.merge("--format", "json", first, *other, status=2)
            self.assertIn(f'{first}: the buckets of the scheme "custom" have other bytes there than in --buckets', ended.stderr)
            self.merge("--format", "json", first, *counted)
        job = self.job("job", "a", *counted)
        for arguments in (("merge", "--format", "json"), ("report",)):
            ended = run(*arguments, job, *other, engine=None)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn('total.json: the buckets of the scheme "custom" have other bytes there', ended.stderr)
            self.assertEqual(run(*arguments, job, *counted, engine=None).status, 0)
        pairs = self.count("pairs.json", "a", "--pairs", *counted)
        self.assertEqual(run("report", "--pairs", pairs, *other, engine=None).status, 2)

    def test_byte_counts_are_added_by_any_definition_of_a_scheme(self):
        first = self.count("1.json", "a", "b", "-b", "x=a-c", "--byte-counts")
        second = self.count("2.json", "c", "d", "-b", "x=a-z", "--byte-counts")
        self.assertIn("give the schemes of the sum with --buckets", self.merge("--format", "json", first, second, status=2).stderr)
        self.assertEqual(self.merge("--format", "json", "-b", "x=d-f", first, second).stdout, self.whole("-b", "x=d-f", "--byte-counts"))

    def test_results_of_earlier_versions_do_not_state_the_bytes_of_buckets(self):
        first, second = self.count("1.json", "a", "b", "-b", "x=a-c"), self.count("2.json", "c", "d", "-b", "x=a-c")
        content = json.loads(first.read_bytes())
        self.assertEqual(list(content.pop("scheme_members")), ["custom"])
        first.write_text(json.dumps(content))
        self.assertEqual(self.merge("--format", "json", "-b", "x=a-c", first, second).stdout, self.whole("-b", "x=a-c"))

    def test_an_input_in_two_results_is_listed_and_nothing_is_written(self):
        first, second = self.count("1.json", "a", "b"), self.count("2.json", "b", "c", "d")
        to = self.folder / "sum.json"
        for operands, name in (((first, second), "b"), ((first, first), "a"), ((self.job("job", "d"), second), "d")):
            with self.subTest(operands=operands):
                ended = self.merge("--format", "json", "-o", to, *operands, status=1)
                self.assertIn(f"{self.folder / name}: is in ", ended.stderr)
                self.assertIn("--allow-duplicates", ended.stderr)
                self.assertFalse(to.exists())
        allowed = self.merge("--allow-duplicates", "--format", "json", first, second).result
        self.assertEqual(allowed["bytes"], sum(map(len, self.texts.values())) + len(self.texts["b"]))
        twice = self.count("twice.json", "a", "a")  # one run that counts it twice
        self.merge(twice, second)

    def test_incomplete_and_damaged_results_are_named_and_the_sum_is_incomplete(self):
        (self.folder / "torn.zst").write_bytes(zstd(text(9_000))[:-3])
        first, second = self.count("1.json", "a"), self.count("2.json", "b", self.folder / "torn.zst", status=1)
        ended = self.merge("--format", "json", first, second, status=1)
        self.assertIn("2.json: is not complete", ended.stderr)
        self.assertNotIn("1.json", ended.stderr)
        self.assertEqual((ended.result["complete"], len(ended.result["inputs"])), (False, 3))
        damaged = self.folder / "damaged.json"
        content = json.loads(first.read_bytes())
        content["bytes"] += 1
        damaged.write_text(json.dumps(content) + "\n")
        ended = self.merge("--format", "json", damaged, self.count("3.json", "b"), status=1)
        self.assertIn("damaged.json:1:", ended.stderr)
        self.assertEqual((ended.result["complete"], ended.result["bytes"]), (False, len(self.texts["b"])))
        to = self.folder / "sum.json"
        for content in (b"", b"text\n", b'{"kind":"result"'):
            damaged.write_bytes(content)
            self.assertIn("damaged.json", self.merge("-o", to, damaged, status=1).stderr)
            self.assertFalse(to.exists())
        self.assertIn("absent.json", self.merge(first, self.folder / "absent.json", status=1).stderr)

    def test_options_of_parts_are_refused(self):
        first = self.count("1.json", "a")
        for options in (("--output-dir", self.folder / "out"), ("--partial",)):
            self.assertIn("is for the parts of a job", self.merge("--format", "json", *options, first, status=2).stderr)
            self.assertIn("there are no parts", self.merge(*options, first, status=1).stderr)
        self.merge(status=2)


if __name__ == "__main__":
    main()
