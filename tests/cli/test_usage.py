"""An invalid call is refused with a message that shows the valid forms. An input that cannot be read is named, and the
others are counted."""

import json
import os
import unittest

from support import ALL_SCHEMES, ENGINE, CommandTest, main, run

JSON = ("--format", "json", *ALL_SCHEMES)


class Usage(CommandTest):
    def assert_refused(self, arguments, *words):
        """Exit status 2, nothing on standard output, and one line with these words on standard error."""
        ended = run(*arguments, engine=None)
        self.assert_usage_error(ended, *words)
        self.assertNotIn("terminate called", ended.stderr)

    def test_an_unknown_scheme_suggests_the_nearest(self):
        self.assert_refused(["--buckets", "leters"], "leters", "letters")
        self.assert_refused(["--buckets", "letters,clases"], "clases", "classes")
        self.assert_refused(["--buckets", "qqqqqqqq"], "letters", "classes", "bytes")

    def test_an_unknown_engine_suggests_the_nearest(self):
        self.assert_refused(["--engine", "hots"], "hots", "host")
        self.assert_refused(["--engine", "cudaa"], "cuda")

    def test_an_unknown_format_suggests_the_nearest(self):
        self.assert_refused(["--format", "jsn"], "jsn", "json")
        self.assert_refused(["--input-format", "zst"], "zst", "zstd")

    def test_an_unknown_option_suggests_the_nearest(self):
        self.assert_refused(["--bucket", "letters"], "--bucket", "--buckets")
        self.assert_refused(["--chunksize", "1MiB"], "--chunk-size")
        self.assert_refused(["--snapshot", "1s"], "--snapshot-every")
        self.assert_refused(["--no-stat"], "--no-stats")
        self.assert_refused(["--surely-not-an-option"], "--surely-not-an-option")

    def test_a_long_option_with_one_dash_does_not_write_a_file(self):
        """-output x would otherwise be -o utput x."""
        path = self.file("access.log", b"hello\n")
        for arguments in (["-output", "x", path], ["-out", "x", path], ["-o=x", path], ["--output", "--stats", path]):
            with self.subTest(arguments=arguments):
                self.assert_usage_error(run(*arguments, engine=None, cwd=self.folder))
                self.assertEqual([each.name for each in self.folder.iterdir()], ["access.log"])

    def test_a_flag_does_not_take_an_input_as_its_value(self):
        path = self.file("yes", b"hello\n")
        for flag in ("--byte-counts", "--no-progress", "-q"):
            self.assert_counted(run(*JSON, flag, path), b"hello\n")

    def test_an_option_of_another_command_is_refused(self):
        self.assert_refused(["report", "--threads", "2", "x.json"], "--threads: not an option of gpuhist report")
        self.assert_refused(["devices", "--buckets", "letters"], "gpuhist, gpuhist changes, gpuhist diff, gpuhist sample, gpuhist report, gpuhist filter, gpuhist batch and gpuhist merge")

    def test_a_file_with_the_name_of_a_command_is_counted_if_it_is_written_as_a_path(self):
        for name in ("report", "devices"):
            self.file(name, b"hello\n")
            self.assert_counted(run(*JSON, f"./{name}", cwd=self.folder), b"hello\n")
            self.assert_counted(run(*JSON, "--", name, cwd=self.folder), b"hello\n")

    def test_devices_are_numbers_without_repetition_or_all(self):
        for value in ("0,0", "x", "0,", "-1", "all,1", ""):
            with self.subTest(value=value):
                self.assert_refused([f"--devices={value}"], "--devices: ")

    def test_a_bad_size_or_duration_is_refused_with_the_valid_forms(self):
        for size in ("4Q", "-1", "MiB", "1.5.2", "99999999999999999999"):
            with self.subTest(size=size):
                self.assert_refused([f"--chunk-size={size}"], "--chunk-size", "MiB")
        self.assert_refused(["--snapshot-every", "soon"], "--snapshot-every")
        self.assert_refused(["--snapshot-every", "0s"], "--snapshot-every")

    def test_numbers_out_of_range_are_refused(self):
        for option, value in (("--slots", "1"), ("--slots", "many"), ("--threads", "0"), ("--threads", "1000000"), ("--chunk-size", "0")):
            with self.subTest(option=option, value=value):
                self.assert_refused([option, value], option)

    def test_an_option_without_its_value_is_refused(self):
        self.assert_refused(["--buckets"], "--buckets")

    def test_a_memory_limit_that_is_too_small_is_refused(self):
        self.assert_refused(["--memory-limit", "4KiB"], "--memory-limit")

    def test_help_and_version_end_in_status_0(self):
        for option, word in (("--help", b"--buckets"), ("--version", b"gpuhist")):
            ended = run(option, engine=None)
            self.assertEqual((ended.status, ended.stderr), (0, ""))
            self.assertIn(word, ended.stdout)

    def test_engines_have_synonyms(self):
        synonym = {"host": "cpu", "cuda": "gpu"}[ENGINE]
        self.assertEqual(run(*JSON, engine=synonym).stdout, run(*JSON).stdout)


class Commands(CommandTest):
    def test_a_command_that_is_not_first_is_named_if_it_has_the_option(self):
        path = self.file("a", b"hello\n")
        for option, command in ((("--drop-if", "digit > 1"), "filter"), (("--level", "3"), "repack"), (("--new-only",), "batch")):
            ended = run("-q", command, *option, path, engine=None)
            self.assert_usage_error(ended, f"{option[0]}: not an option of gpuhist", f"a command is the first argument: gpuhist {command} [OPTIONS]")
        self.assert_usage_error(run("--drop-if", "digit > 1", path, engine=None), "see gpuhist --help count")

    def test_a_job_file_with_a_misspelled_suffix_is_no_input(self):
        for name in ("job.tml", "job.tolm", "job.TOML", "job.toml~"):
            self.file(name, b'inputs = ["a"]\n')
            for options in ((), ("--output-dir", "out")):
                ended = run("batch", name, *options, engine=None, cwd=self.folder)
                self.assert_usage_error(ended, f"{name} is no job file, because its name does not end in .toml")
                self.assertFalse((self.folder / "out").exists())
        self.file("job.yaml", b"")
        ended = run("batch", "job.yaml", engine=None, cwd=self.folder)
        self.assert_usage_error(ended, "there is no folder for the results", "job.yaml is taken as an input")

    def test_a_misspelled_command_suggests_the_right_one(self):
        for arguments in (["devcies"], ["--format", "json", "devices"]):
            ended = run(*arguments, engine=None, cwd=self.folder)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn(f"{arguments[-1]}: No such file or directory", ended.stderr)
            self.assertIn("'gpuhist devices'", ended.stderr)

    def test_a_file_with_the_name_of_a_command_is_counted_without_a_message(self):
        self.file("reports", b"hello")
        self.file("devices", b"hello")
        for name in ("reports", "./devices"):
            self.assertEqual(run("--format", "json", name, engine=None, cwd=self.folder).stderr, "")


class InputsThatCannotBeRead(CommandTest):
    def assert_named_and_the_rest_counted(self, path, *words):
        """With the bad input first, in the middle and last."""
        good = self.file("good", b"hello\n")
        for inputs in ([path, good], [good, path, good], [good, path]):
            ended = run(*JSON, *inputs)
            self.assertEqual(ended.status, 1, ended)
            for word in (str(path), *words):
                self.assertIn(word, ended.stderr)
            self.assertIs(ended.result["complete"], False)
            self.assert_counts(ended.result, b"hello\n" * inputs.count(good))
            for reported, name in zip(ended.result["inputs"], inputs):
                self.assertEqual(reported["name"], str(name))
                self.assertIs(reported["complete"], name == good)
                self.assertEqual("error" in reported, name != good)

    def test_a_missing_file_is_named(self):
        self.assert_named_and_the_rest_counted(self.folder / "absent", "No such file or directory")

    def test_a_url_that_is_not_read_is_refused_and_the_message_has_a_command_that_reads_it(self):
        commands = {"http": "curl", "https": "curl", "ftp": "curl", "s3": "aws s3 cp", "gs": "gcloud", "hdfs": "hdfs dfs"}
        for scheme, command in commands.items():
            url = f"{scheme}://example.com/a.log"
            words = (f"{url}: No such file or directory: URLs are not read here", command, "| gpuhist")
            of_inputs = [] if scheme.startswith("http") else [[url], ["filter", "--drop-if", "digit > 1", url]]  # test_http
            for arguments in (*of_inputs, ["report", url], ["batch", url, "--output-dir", f"out-{scheme}"],
                              ["repack", url, "-o", "x.zst"], ["--baseline", url, "--measures", "jsd", "-"]):  # fmt: skip
                with self.subTest(arguments=arguments):
                    ended = run(*arguments, stdin_bytes=b"", engine=None, cwd=self.folder)
                    self.assertNotEqual(ended.status, 0)
                    if arguments[0] == "batch":
                        [failed] = map(json.loads, (self.folder / f"out-{scheme}" / "errors.jsonl").read_text().splitlines())
                        ended.stderr += f"{failed['name']}: {failed['error']}"
                    for word in words:
                        self.assertIn(word, ended.stderr)
        (self.folder / "http:" / "a").mkdir(parents=True)
        self.file("http:/a/b.log", b"hello\n")
        self.assert_counted(run(*JSON, "http://a/b.log", cwd=self.folder), b"hello\n")

    def test_a_directory_is_named(self):
        (self.folder / "directory").mkdir()
        self.assert_named_and_the_rest_counted(self.folder / "directory", "directory")

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_without_permission_is_named(self):
        path = self.file("secret", b"secret")
        path.chmod(0)
        self.assert_named_and_the_rest_counted(path, "Permission denied")

    def test_a_file_with_a_read_error_is_named(self):
        self.assert_named_and_the_rest_counted("/proc/self/mem")

    def test_bad_inputs_alone_give_an_empty_incomplete_result(self):
        ended = run(*JSON, self.folder / "absent", self.folder / "absent-too")
        self.assertEqual(ended.status, 1)
        self.assert_counts(ended.result, b"")
        self.assertIs(ended.result["complete"], False)

    def test_every_bad_input_has_its_own_message(self):
        ended = run(*JSON, self.folder / "one", self.folder / "two")
        self.assertEqual(len(ended.stderr.splitlines()), 2)


class Start(CommandTest):
    def test_highway_does_not_measure_the_timer_when_the_program_starts(self):
        """Debian's libhwy does so for 5 ms (findings/highway_measures_at_start.sh)."""
        bindings = [line for line in run("--version", engine=None, env={"LD_DEBUG": "bindings"}).stderr.splitlines() if "TimerResolution" in line]
        if not bindings:
            self.skipTest("this libhwy has no such measurement, or is not a shared library")
        for line in bindings:
            self.assertRegex(line, r"libhwy\S* \[0\] to \S*gpuhist\S* \[0\]")


if __name__ == "__main__":
    main()
