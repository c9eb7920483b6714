"""The output of the program: JSON, the table, destinations, byte counts."""

import json
import os
import re
import stat
import subprocess

from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, CommandTest, Running, feed, file_size_limit, main, oracle, run, run_fed, text, unread, wait_until, without_run

JSON = ("--format", "json", *ALL_SCHEMES)


class Json(CommandTest):
    def test_the_result_has_the_fields_of_its_schema_and_no_others(self):
        path = self.file("data", text(1000))
        result = run(*JSON, path).result
        self.assertEqual(result["kind"], "result")
        self.assertEqual(result["schema"], "gpuhist.result/1")
        self.assertEqual(set(result), {"kind", "schema", "complete", "bytes", "lines", "buckets", "inputs"})
        (reported,) = result["inputs"]
        self.assertEqual(set(reported), {"name", "format", "bytes", "complete", "lines", "buckets"})
        self.assertEqual((reported["name"], reported["format"]), (str(path), "raw"))

    def test_a_document_is_one_line(self):
        ended = run_fed([b"a\nb\n"], *JSON)
        self.assertEqual(ended.stdout.count(b"\n"), 1)
        self.assertTrue(ended.stdout.endswith(b"\n"))

    def test_buckets_are_in_the_order_of_their_scheme(self):
        buckets = run_fed([text(1000)], *JSON).result["buckets"]
        self.assertEqual(list(buckets), ["letters", "classes", "bytes", "alphabet", "utf8"])
        for scheme, expected in oracle(b"")["buckets"].items():
            self.assertEqual(list(buckets[scheme]), list(expected))

    def test_the_default_scheme_is_classes(self):
        self.assertEqual(list(run_fed([b"x"], "--format", "json").result["buckets"]), ["classes"])

    def test_schemes_may_be_given_one_by_one_and_keep_their_order(self):
        ended = run_fed([text(1000)], "--format", "json", "-b", "bytes", "--buckets", "letters")
        self.assert_counted(ended, text(1000))
        self.assertEqual(list(ended.result["buckets"]), ["bytes", "letters"])

    def test_the_counts_of_a_scheme_do_not_depend_on_other_schemes(self):
        data = text(50_000)
        alone = {name: run_fed([data], "--format", "json", "-b", name).result["buckets"][name] for name in oracle(b"")["buckets"]}
        self.assertEqual(run_fed([data], *JSON).result["buckets"], alone)

    def test_byte_counts_are_the_256_counts(self):
        data = text(50_000)
        result = run_fed([data], "--format", "json", "-b", "letters", "--byte-counts").result
        self.assertEqual(result["byte_counts"], [data.count(bytes([value])) for value in range(256)])
        self.assert_counts(result, data)

    def test_byte_counts_are_reported_for_every_input(self):
        paths = [self.file(name, text(1000, seed)) for seed, name in enumerate(("one", "two"))]
        inputs = run("--format", "json", "--byte-counts", *paths).result["inputs"]
        for reported, path in zip(inputs, paths):
            self.assertEqual(reported["byte_counts"], [path.read_bytes().count(bytes([value])) for value in range(256)])

    def test_stats_are_reported_only_on_request_and_change_no_count(self):
        data = text(50_000)
        ended = run_fed([data], *JSON, "--stats")
        self.assertEqual(ended.status, 0)
        self.assertIn("stats", ended.result)
        self.assert_counts(ended.result, data)
        self.assertNotIn("stats", run_fed([data], *JSON).result)


class Table(CommandTest):
    def test_the_table_lists_every_bucket_with_its_count(self):
        data = text(70_000)
        reported = run_fed([data], "--buckets", "letters")
        self.assertEqual((reported.status, reported.stderr), (0, ""))
        printed = reported.stdout.decode()
        for bucket, count in oracle(data)["buckets"]["letters"].items():
            line = next(line for line in printed.splitlines() if line.split()[:1] == [bucket])
            self.assertIn(str(count), re.sub(r"(?<=\d)[,'  ](?=\d{3})", "", line))

    def test_the_table_is_the_default(self):
        self.assertEqual(run_fed([b"hello"]).stdout, run_fed([b"hello"], "--format", "table").stdout)

    def test_control_characters_in_a_name_are_escaped(self):
        paths = [self.file("evil\x1b[2J\n.log", b"hello"), self.file("other", b"hello")]
        reported = run(*paths)
        self.assertEqual(reported.status, 0)
        self.assertNotIn(b"\x1b[2J", reported.stdout)


class Destinations(CommandTest):
    def test_an_output_file_appears_with_the_result(self):
        to = self.folder / "result.json"
        ended = run_fed([text(1000)], *JSON, "--output", to)
        self.assertEqual((ended.status, ended.stdout, ended.stderr), (0, b"", ""))
        self.assert_counts(json.loads(to.read_text()), text(1000))

    def test_an_output_file_keeps_its_mode(self):
        for mode in (0o600, 0o640, 0o664):
            to = self.file(f"result-{mode:o}.json", b"old")
            to.chmod(mode)
            self.assertEqual(run_fed([b"x"], *JSON, "-o", to).status, 0)
            self.assertEqual(stat.S_IMODE(to.stat().st_mode), mode)
            self.assertEqual(json.loads(to.read_text())["bytes"], 1)

    def test_a_new_output_file_has_the_mode_given_by_the_umask(self):
        to = self.folder / "result.json"
        self.assertEqual(run_fed([b"x"], *JSON, "-o", to, umask=0o027).status, 0)
        self.assertEqual(stat.S_IMODE(to.stat().st_mode), 0o640)

    def test_an_output_file_at_the_end_of_a_symbolic_link_is_replaced_and_the_link_stays(self):
        to = self.file("result.json", b"old")
        (self.folder / "link").symlink_to(to)
        self.assertEqual(run_fed([b"x"], *JSON, "-o", self.folder / "link").status, 0)
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(json.loads(to.read_text())["bytes"], 1)

    def test_the_old_file_stays_until_the_result_is_complete(self):
        to = self.file("result.json", b"old")
        with Running(*JSON, "-o", to, stdin=subprocess.PIPE) as running:
            feed(running, [text(10_000)])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            self.assertEqual(to.read_bytes(), b"old")
            running.process.kill()
            running.finish()
        self.assertEqual(to.read_bytes(), b"old")

    def test_no_temporary_file_is_left_beside_the_result(self):
        folder = self.folder / "out"
        folder.mkdir()
        self.assertEqual(run_fed([b"x"], *JSON, "-o", folder / "result.json").status, 0)
        self.assertEqual(os.listdir(folder), ["result.json"])

    def test_an_incomplete_result_is_also_written(self):
        to = self.folder / "result.json"
        ended = run(*JSON, "-o", to, self.folder / "absent", self.file("data", b"hello"))
        self.assertEqual(ended.status, 1)
        self.assertIs(json.loads(to.read_text())["complete"], False)
        self.assert_counts(json.loads(to.read_text()), b"hello")

    def test_appended_results_follow_one_another_and_the_old_text_stays(self):
        to = self.file("history", b'{"kind":"note"}\n')
        for data in (b"hello", b"world!"):
            self.assertEqual(run_fed([data], "--format", "jsonl", "--append", "-o", to).status, 0)
        documents = [json.loads(line) for line in to.read_text().splitlines()]
        self.assertEqual([each["kind"] for each in documents], ["note", "input", "result", "input", "result"])
        self.assertEqual([each["bytes"] for each in documents[1:]], [5, 5, 6, 6])

    def test_an_appended_csv_has_one_header(self):
        to = self.folder / "history.csv"
        for _ in range(3):
            self.assertEqual(run_fed([b"hello"], "--format", "csv", "--append", "-o", to).status, 0)
        lines = to.read_text().splitlines()
        self.assertEqual([at for at, line in enumerate(lines) if line.startswith("kind,")], [0])
        self.assertEqual(lines.count("total,,,bytes,5,"), 3)

    def test_an_appended_file_keeps_its_content_if_the_disk_fills_up(self):
        to = self.file("history", b"old\n")
        command = [GPUHIST, "--engine", ENGINE, *JSON, "--append", "-o", to, self.file("data", b"hello")]
        ended = subprocess.run(command, preexec_fn=file_size_limit(100), stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"File too large", ended.stderr)
        self.assertEqual(to.read_bytes(), b"old\n")

    def test_metrics_are_replaced_as_a_whole_at_every_snapshot(self):
        to = self.folder / "gpuhist.prom"
        with Running("--format", "prometheus", "--snapshot-every", "4KiB", "--chunk-size", "1KiB", "-o", to, stdin=subprocess.PIPE) as running:
            feed(running, [text(50_000)])
            wait_until(to.exists)
            first = to.read_text()
            self.assertEqual(first.count("\n# TYPE gpuhist_bytes "), 1)
            self.assertIn("\ngpuhist_complete 0\n", first)
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        self.assertIn("\ngpuhist_bytes 50000\n", to.read_text())
        self.assertIn("\ngpuhist_complete 1\n", to.read_text())
        self.assertEqual(os.listdir(self.folder), ["gpuhist.prom"])

    def test_options_that_contradict_each_other_are_usage_errors(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        to = self.folder / "result"
        for wishes, word in (
            (["--append"], "--output"),
            (["--append", "--format", "prometheus", "-o", to], "must be alone in its file"),
            (["--snapshot-every", "1s", "--format", "prometheus"], "--output"),
            (["--snapshot-every", "1s", "--format", "prometheus", "-o", fifo], "fifo"),
        ):
            with self.subTest(wishes=wishes):
                self.assert_usage_error(run_fed([b""], *wishes), word)
        self.assertFalse(to.exists())

    def test_the_suffix_of_the_output_chooses_the_format_unless_an_option_does(self):
        path = self.file("a", b"hello\n")
        job = self.file("settings.toml", b'format = "csv"\n')
        formats = {".json": "json", ".JSON": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".prom": "prometheus",
                   ".txt": "table", ".log": "table", "": "table", ".json.old": "table"}  # fmt: skip
        for suffix, format in formats.items():
            with self.subTest(suffix=suffix):
                to = self.folder / f"to{suffix}"
                expected = {name: without_run(run("--format", name, path).stdout) for name in (format, "table", "csv")}
                self.assertEqual(run("-o", to, path).status, 0)
                self.assertEqual(without_run(to.read_bytes()), expected[format])
                self.assertEqual(run("-o", to, "--format", "table", path).status, 0)
                self.assertEqual(to.read_bytes(), expected["table"])
                self.assertEqual(run("-o", to, "--config", job, path).status, 0)
                self.assertEqual(to.read_bytes(), expected["csv"])
        self.assertEqual(run("--window", "2B", "-o", self.folder / "w.json", path).status, 0)
        self.assertEqual(json.loads((self.folder / "w.json").read_text().splitlines()[0])["kind"], "window")

    def test_a_suffix_of_another_format_is_refused_with_the_formats_that_exist(self):
        path = self.file("a", b"hello\n")
        result = self.file("a.result", run("--byte-counts", *JSON, path).stdout)
        for suffix in (".html", ".HTML", ".tsv", ".parquet", ".yaml", ".gz", ".zst"):
            to = self.folder / f"report{suffix}"
            for command in ([path], ["report", result], ["devices"]):
                with self.subTest(suffix=suffix, command=command):
                    ended = run(*command, "-o", to, engine=None)
                    self.assert_usage_error(ended, f"--output: there is no format {suffix[1:].lower()} for {to}", "--format")
                    self.assertFalse(to.exists())
            self.assertEqual(run("--format", "csv", "-o", to, path).status, 0)
            self.assertEqual(run("filter", "--drop-if", "digit > 2", "-o", to, path, engine=None).status, 0)  # text, not a report
            self.assertEqual(to.read_bytes(), b"hello\n")
        self.assert_usage_error(run("--window", "2B", "-o", self.folder / "w.csv", path), "--output: csv cannot hold the windows")
        self.assert_usage_error(run("--columns", "bytes", "-o", self.folder / "w.csv", path), "give --format table")

    def test_output_may_be_a_descriptor_number(self):
        reading, writing = os.pipe()
        ended = run_fed([b"hello"], *JSON, "-o", f"fd:{writing}", pass_fds=(writing,))
        os.close(writing)
        with open(reading, "rb") as pipe:
            self.assert_counts(json.loads(pipe.read()), b"hello")
        self.assertEqual((ended.status, ended.stdout), (0, b""))

    def test_a_fifo_is_written_in_place(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with Running(*JSON, "-o", fifo, self.file("data", b"hello")) as running:
            self.assert_counts(json.loads(fifo.read_bytes()), b"hello")
            self.assertEqual(running.finish().status, 0)
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_a_full_disk_is_an_error_that_names_the_destination(self):
        ended = run_fed([b"x"], *JSON, "-o", "/dev/full")
        self.assertEqual(ended.status, 1)
        self.assertIn("/dev/full", ended.stderr)
        with open("/dev/full", "wb") as full:
            ended = run_fed([b"x"], *JSON, stdout=full)
        self.assertEqual(ended.status, 1)
        self.assertIn("No space left on device", ended.stderr)

    def test_a_closed_standard_output_is_an_error(self):
        command = f"exec {GPUHIST} --engine {ENGINE} {self.file('data', b'hello')} >&-"
        ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"standard output", ended.stderr)

    def test_messages_for_a_closed_standard_error_go_nowhere_else(self):
        to = self.file("data", b"hello")
        command = f"exec {GPUHIST} --engine {ENGINE} {to} {self.folder / 'absent'} 2>&-"
        ended = subprocess.run(["sh", "-c", command], stdout=subprocess.DEVNULL, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(to.read_bytes(), b"hello")

    def test_an_impossible_destination_is_an_error_that_names_it(self):
        for where in (self.folder / "absent" / "result.json", self.folder, "fd:987"):
            ended = run_fed([b"x"], *JSON, "-o", where)
            self.assertNotEqual(ended.status, 0)
            self.assertIn(str(where), ended.stderr)


if __name__ == "__main__":
    main()
