"""Where options come from: a configuration file, the environment and the command line; and how messages name these."""

import os

from support import CommandTest, main, run, without_run

JSON = ("--format", "json")


class Configuration(CommandTest):
    def run_with(self, *arguments, environment=None, **options):
        """Runs in the test's folder, so that files have short names, with these variables of gpuhist and no others."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GPUHIST_")}
        return run(*arguments, engine=None, cwd=self.folder, env={**clean, **(environment or {})}, **options)

    def schemes_of(self, *arguments, **options):
        ended = self.run_with(*JSON, *arguments, stdin_bytes=b"hello\n", **options)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return list(ended.result["buckets"])

    def assert_refused(self, message, *arguments, **options):
        ended = self.run_with(*arguments, **options)
        self.assert_usage_error(ended)
        self.assertEqual(ended.stderr.splitlines()[0], f"gpuhist: {message}")
        self.assertEqual(ended.stderr.splitlines()[1:], ["gpuhist: see gpuhist --help"])

    def test_the_command_line_overrides_the_environment_and_the_environment_overrides_a_file(self):
        self.file("job.toml", b'buckets = ["letters", "bytes"]\n')
        file = ("--config", "job.toml")
        variable = {"GPUHIST_BUCKETS": "bytes"}
        self.assertEqual(self.schemes_of(), ["classes"])
        self.assertEqual(self.schemes_of(*file), ["letters", "bytes"])
        self.assertEqual(self.schemes_of(*file, environment=variable), ["bytes"])
        self.assertEqual(self.schemes_of(*file, "--buckets", "letters", environment=variable), ["letters"])

    def test_the_variable_of_an_option_is_its_name_in_capitals_with_underscores(self):
        path = self.file("a", b"\xff\n")
        for variable, option in (("GPUHIST_UTF8", "--utf8"), ("GPUHIST_BYTE_COUNTS", "--byte-counts")):
            with self.subTest(variable):
                expected = without_run(self.run_with(option, *JSON, path).stdout)
                self.assertEqual(without_run(self.run_with(*JSON, path, environment={variable: "true"}).stdout), expected)
                self.assertNotEqual(without_run(self.run_with(*JSON, path).stdout), expected)

    def test_the_environment_names_a_configuration_file(self):
        self.file("job.toml", b'buckets = "letters"\n')
        self.assertEqual(self.schemes_of(environment={"GPUHIST_CONFIG": "job.toml"}), ["letters"])
        self.assertEqual(self.schemes_of("--config", "/dev/null", environment={"GPUHIST_CONFIG": "job.toml"}), ["classes"])

    def test_only_a_named_configuration_file_is_read(self):
        for name in ("gpuhist.toml", ".gpuhist.toml", "config.toml", ".gpuhistrc"):
            self.file(name, b"this is not TOML")
        self.assertEqual(self.schemes_of(environment={"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}), ["classes"])

    def test_a_flag_from_a_file_can_be_turned_off(self):
        self.file("job.toml", b"byte-counts = true\n")
        result = self.run_with(*JSON, "--config", "job.toml", stdin_bytes=b"x").result
        dropped = self.run_with(*JSON, "--config", "job.toml", "--no-byte-counts", stdin_bytes=b"x").result
        self.assertIn("byte_counts", result)
        self.assertNotIn("byte_counts", dropped)

    def test_an_unknown_name_is_reported_with_its_place(self):
        for key, name in (("engine", "hots"), ("format", "jsn"), ("input-format", "zst"), ("buckets", "leters")):
            with self.subTest(key=key):
                self.file("job.toml", f"\n{key} = '{name}'\n".encode())
                variable = "GPUHIST_" + key.replace("-", "_").upper()
                for place, arguments, environment in (
                    (f"job.toml:2: {key}", ("--config", "job.toml"), {}),
                    (variable, (), {variable: name}),
                    (f"--{key}", (f"--{key}", name), {}),
                ):
                    ended = self.run_with(*arguments, environment=environment)
                    self.assertEqual(ended.status, 2, ended)
                    self.assertTrue(ended.stderr.startswith(f"gpuhist: {place}: "), ended)
                    self.assertIn(f'"{name}"', ended.stderr)
                    self.assertIn("did you mean", ended.stderr)

    def test_a_limit_that_is_too_small_is_reported_with_its_place(self):
        ended = self.run_with(environment={"GPUHIST_MEMORY_LIMIT": "4KiB"})
        self.assertTrue(ended.stderr.startswith("gpuhist: GPUHIST_MEMORY_LIMIT: "), ended)

    def test_an_error_in_a_file_or_a_variable_is_reported_in_one_line(self):
        self.file("key.toml", b"\n\nbucket = 'letters'\n")
        self.file("type.toml", b"threads = 'many'\n")
        self.file("syntax.toml", b"stats = true\nthreads 4\n")
        self.assert_refused("key.toml:3: bucket: unknown option; did you mean buckets?", "--config", "key.toml")
        self.assert_refused("type.toml:1: threads: takes no string; give an integer", "--config", "type.toml")
        self.assertIn("syntax.toml:2:9: not TOML: ", self.run_with("--config", "syntax.toml").stderr)
        self.assert_refused('--config: "none.toml" cannot be read: No such file or directory', "--config", "none.toml")
        self.assert_refused(
            "GPUHIST_BUCKET: no option has this variable name; did you mean GPUHIST_BUCKETS?", environment={"GPUHIST_BUCKET": "letters"}
        )


if __name__ == "__main__":
    main()
