"""Help, manual page and completions: all are generated from one table, and contain every option."""

import itertools
import json
import pathlib
import re
import shlex
import subprocess

from support import CommandTest, main, needs, run


def printed_by(*arguments):
    ended = run(*arguments, engine=None)
    assert (ended.status, ended.stderr) == (0, ""), ended
    return ended.stdout.decode()


def all_options():
    """Every option of the long help: {"--output": "-o" or None}, with the --no- forms."""
    text = printed_by("--help", "all")
    found = {}
    for short, name in re.findall(r"^(?:(-\w), )?(--[a-z-]+)(?: \S+)?$", text, re.MULTILINE):
        found[name] = short or None
    for name in re.findall(r"(--no-[a-z-]+)\s+cancels\s+it", text, re.MULTILINE):
        found[name] = None
    return found


COMMANDS = ((), ("report",), ("devices",), ("repack",), ("filter",), ("batch",), ("merge",), ("sample",))
TOPICS = ("conditions", "measures", "windows", "units", "texts", "formats", "damage", "presets")


class Help(CommandTest):
    def test_the_long_help_lists_options(self):
        options = all_options()
        self.assertEqual(options["--buckets"], "-b")
        self.assertIn("--no-progress", options)
        self.assertGreater(len(options), 30)

    def test_the_short_help_fits_a_screen(self):
        lines = printed_by("-h").splitlines()
        self.assertLessEqual(len(lines), 42)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_every_option_is_a_topic(self):
        for name, short in all_options().items():
            for topic in filter(None, (name, name[2:], short)):
                with self.subTest(topic=topic):
                    self.assertIn(name, printed_by("--help", topic))

    def test_a_command_has_its_own_help(self):
        for command in ("report", "devices"):
            self.assertEqual(printed_by(command, "--help"), printed_by("-h", command) if command == "report" else printed_by(command, "-h"))
            self.assertTrue(printed_by(command, "--help").startswith(f"usage: gpuhist {command}"))

    def test_help_has_precedence_over_errors_in_other_options(self):
        self.assertEqual(printed_by("--thrads", "0", "--help"), printed_by("--help"))

    def test_every_option_is_accepted(self):
        """No option of the help is unknown to the parser."""
        for name in all_options():
            ended = run(name, engine=None)
            self.assertNotIn("unknown option", ended.stderr)

    def test_every_example_is_valid(self):
        """Typed in an empty folder, an example lacks its inputs, but it is not a usage error."""
        texts = [printed_by("--help", each) for each in ("all", "", "report", "devices", "filter", *TOPICS)]
        examples = {each for text in texts for each in re.findall(r"^ +(?:Example: )?(?:\S.* \| )?(gpuhist .*)$", text, re.MULTILINE)}
        examples = {each for each in examples if "OPTIONS" not in each}
        self.assertGreater(len(examples), 20)
        jobs = self.folder / "jobs"
        jobs.mkdir()
        (jobs / "job.toml").write_text('inputs = ["absent"]\noutput_dir = "counts"\n')
        for example in examples:
            with self.subTest(example=example):
                words = list(itertools.takewhile(lambda word: not re.match(r"\|$|\d?>", word), shlex.split(example)[1:]))
                if "--follow" in words:  # it would wait for files that do not exist
                    words.append("--max-output=none")
                    self.assertIn("--max-output", run(*words, engine=None, cwd=self.folder).stderr)
                    continue
                ended = run(*words, engine=None, cwd=jobs if words[0] == "batch" else self.folder)
                self.assertNotIn("see gpuhist --help", re.sub("--(config|zstd-dictionary|baseline|match-file).*(cannot be read|is no baseline).*\n.*", "", ended.stderr))

    def test_buckets_accept_every_escape_that_their_help_lists_and_no_other(self):
        listed = re.search(r"the escapes ((?:\\\S+ )+)", " ".join(printed_by("--help", "buckets").split())).group(1).split()
        listed[-1] = listed[-1].rstrip(".")
        self.assertIn("\\xNN", listed)
        for code in map(chr, range(0x21, 0x7F)):
            with self.subTest(escape="\\" + code):
                typed = "\\" + code + ("41" if code == "x" else "")
                status = run("--buckets", f"b={typed}", "--format", "json", engine="host").status
                self.assertEqual(status, 0 if "\\" + code in [each[:2] for each in listed] else 2)

    def test_a_result_that_cannot_be_written_ends_in_the_status_that_the_help_documents(self):
        self.assertRegex(" ".join(printed_by("--help", "all").split()), "1: [^:]*: a result[^:]*; the result could not be written")
        ended = run("--output", self.folder / "no" / "such" / "folder", engine="host")
        self.assertEqual((ended.status, ended.stdout), (1, b""), ended)
        with open("/dev/full", "wb") as full:
            self.assertEqual(run("--format", "json", engine="host", stdout=full).status, 1)

    def test_report_accepts_the_results_that_its_help_names(self):
        text = " ".join(printed_by("--help", "report").split())
        self.assertIn("as json or jsonl", text)
        self.assertIn("--byte-counts, or with the scheme bytes", text)
        for form in ("json", "jsonl"):
            for options, status in ((("--byte-counts",), 0), (("-b", "bytes"), 0), (("-b", "letters"), 1)):
                with self.subTest(form=form, options=options):
                    path = self.file("kept", run("--format", form, *options, stdin_bytes=b"text", engine="host").stdout)
                    self.assertEqual(run("report", "-b", "letters", path, engine=None).status, status)

    def test_the_signals_are_documented(self):
        for text in (printed_by("--help", "all"), printed_by("--generate", "man"), printed_by("--help", "progress")):
            self.assertIn("SIGUSR1", text)

    def test_a_topic_is_one_screen_and_the_short_help_names_it(self):
        for topic in TOPICS:
            with self.subTest(topic=topic):
                lines = printed_by("--help", topic).splitlines()
                self.assertLessEqual(len(lines), 40)
                self.assertLessEqual(max(map(len, lines)), 80)
                self.assertIn(topic, printed_by("--help").splitlines()[-1])

    def test_the_first_line_is_the_first_sentence_of_the_readme(self):
        readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text().split("\n\n")[1]
        self.assertTrue(readme.startswith(printed_by("--help").splitlines()[0] + " "))

    def test_the_topic_of_measures_has_a_line_for_each(self):
        path = self.file("kept.json", run("--byte-counts", "--format", "json", stdin_bytes=b"text", engine="host").stdout)
        ended = run("--measures", "all", "--baseline", path, "--format", "json", stdin_bytes=b"text", engine="host")
        names = list(json.loads(ended.stdout)["measures"])
        listed = re.findall(r"^  ([a-z0-9_]+) {2,}\S", printed_by("--help", "measures"), re.MULTILINE)
        self.assertEqual(listed, names)

    def test_an_unknown_topic_is_refused(self):
        self.assert_usage_error(run("--help", "bucket", engine=None), "did you mean buckets? Topics are all, count,")


class ManualPage(CommandTest):
    def test_every_option_is_in_the_manual_page(self):
        page = printed_by("--generate", "man").replace("\\-", "-")
        for name, short in all_options().items():
            self.assertIn(rf"\fB{name}\fR", page)
            if short:
                self.assertIn(rf"\fB{short}\fR", page)

    @needs("mandoc")
    def test_mandoc_finds_no_error(self):
        path = self.file("gpuhist.1", printed_by("--generate", "man").encode())
        checked = subprocess.run(["mandoc", "-Tlint", "-Wwarning", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((checked.returncode, checked.stdout), (0, ""))


class BashCompletion(CommandTest):
    def completions(self, *words, script=None):
        """The words that the bash function offers for the last of these words. As in bash, '=' is a word of its own."""
        script = script or self.file("completions.bash", printed_by("--generate", "bash").encode())
        driver = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuhist; printf "%s\\n" "${COMPREPLY[@]}"'
        words = ("gpuhist", *words)
        ended = subprocess.run(["bash", "-c", driver, "bash", script, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return sorted(ended.stdout.split("\n")[:-1]) if ended.stdout != "\n" else []

    def test_every_option_is_offered(self):
        offered = {each for command in COMMANDS for each in self.completions(*command, "-")}
        for name, short in all_options().items():
            self.assertIn(name, offered)
            if short:
                self.assertIn(short, offered)
        self.assertEqual(self.completions("--no-st"), ["--no-stats", "--no-step", "--no-streams", "--no-strict-names"])
        self.assertEqual(self.completions("devices", "--v"), ["--verbose", "--version"])

    def test_a_command_is_offered_its_own_options(self):
        offered = self.completions("report", "-")
        self.assertIn("--append", offered)
        self.assertNotIn("--threads", offered)
        self.assertIn("report", self.completions("re"))
        self.assertNotIn("report", self.completions("x", "re"))

    def test_values_that_have_names_are_offered(self):
        self.assertEqual(self.completions("--engine", "c"), ["cpu", "cuda"])
        self.assertEqual(self.completions("--engine", "=", "c"), ["cpu", "cuda"])
        self.assertEqual(self.completions("--input-format", "="), ["7z", "ar", "auto", "brotli", "bzip2", "compress", "cpio", "deflate", "gzip", "hadoop-lz4", "hadoop-snappy", "lz4", "lzip", "lzma", "raw",
                                                                    "rpm", "snappy", "tar", "xz", "zip", "zlib", "zstd"])
        self.assertEqual(self.completions("--buckets", "letters,b"), ["letters,bytes"])
        self.assertEqual(self.completions("--buckets", "letters,bytes,cl"), ["letters,bytes,classes"])
        self.assertEqual(self.completions("--generate", ""), ["bash", "fish", "man", "options", "zsh"])
        self.assertEqual(self.completions("--help", "chunk"), ["chunk-size"])
        self.assertEqual(self.completions("--help", "rep"), ["repack", "report"])
        self.assertEqual(self.completions("--threads", ""), [])

    def test_files_are_offered_where_a_file_name_is_expected(self):
        script = self.file("completions.bash", printed_by("--generate", "bash").encode())
        self.file("one file.log", b"")
        for words in (("one",), ("--output", "one"), ("--config", "one"), ("-o", "one"), ("report", "one"), ("--stats", "one"), ("--", "one")):
            with self.subTest(words=words):
                self.assertEqual(self.completions(*words, script=script), ["one file.log"])


class OtherShells(CommandTest):
    def check(self, shell):
        path = self.file("script", printed_by("--generate", shell).encode())
        ended = subprocess.run([shell, "-n", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_bash_accepts_its_completions(self):
        self.check("bash")

    @needs("zsh")
    def test_zsh_accepts_its_completions(self):
        self.check("zsh")

    @needs("fish")
    def test_fish_accepts_its_completions(self):
        self.check("fish")

    @needs("fish")
    def test_fish_offers_the_options_of_each_command(self):
        path = self.file("gpuhist.fish", printed_by("--generate", "fish").encode())

        def offered(line):
            ended = subprocess.run(["fish", "-N", "-c", f"source {path}; complete -C '{line}'"], cwd=self.folder, stdout=subprocess.PIPE, check=True, text=True)
            return [each.split("\t")[0] for each in ended.stdout.splitlines()]

        options = {each for command in COMMANDS for each in offered(" ".join(("gpuhist", *command, "--")))}
        for name in all_options():
            self.assertIn(name, options)
        self.assertEqual(offered("gpuhist --engine cu"), ["cuda"])
        self.assertIn("letters,bytes", offered("gpuhist -b letters,by"))
        self.assertEqual(offered("gpuhist repo"), ["report"])
        self.assertEqual(offered("gpuhist report --thr"), [])
        self.assertEqual(offered("gpuhist report --app"), ["--append"])

    def test_every_option_is_in_the_completions_of_zsh(self):
        script = printed_by("--generate", "zsh")
        for name, short in all_options().items():
            for each in filter(None, (name, short)):
                self.assertRegex(script, rf"'\*{re.escape(each)}[+=]?\[")

    def test_an_unknown_shell_is_refused(self):
        self.assert_usage_error(run("--generate", "zhs", engine=None), "did you mean zsh?")


if __name__ == "__main__":
    main()
