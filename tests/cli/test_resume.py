"""--resume FILE: a run that was killed is continued; the end is the same as that of an undisturbed run. Every option of a run,
with and without, over one result that is continued: lines that were counted with other options are refused by name, and the
file stays as it is; or the result is that of a new run."""

import json
import os
import re
import signal

import test_batch_options
from support import ALL_SCHEMES, CommandTest, Running, main, oracle, run, sampled, tar, text, wait_until, zstd

JSONL = ("--format", "jsonl")


def content_of(path):
    """The lines of a file without the name of their run and the states of files, those of inputs in any order."""
    lines = [{key: value for key, value in json.loads(line).items() if key not in ("run", "file")} for line in path.read_bytes().splitlines()]
    return sorted(json.dumps(each, sort_keys=True) for each in lines)


class Resume(CommandTest):
    def setUp(self):
        super().setUp()
        self.to = self.folder / "counts.jsonl"
        self.undisturbed = self.folder / "undisturbed.jsonl"
        self.paths = [self.file(f"{number:02}", text(2_000 + number, number)) for number in range(60)]
        self.paths.append(self.file("packed.zst", zstd(text(400_000, 3))))
        self.paths.append(self.file("members.tar", tar({f"m{each}": text(900, each) for each in range(5)})))

    def count(self, *options, paths=None):
        self.assertEqual(run(*JSONL, *options, "-o", self.undisturbed, *(paths or self.paths)).status, 0)

    def resume(self, *options, paths=None, status=0):
        ended = run("--resume", self.to, *options, *(paths or self.paths))
        self.assertEqual(ended.status, status, ended)
        return ended

    def test_any_prefix_of_a_result_is_completed(self):
        """Whole lines and parts of lines, as a killed run leaves them."""
        for options in ((), ALL_SCHEMES, ("--byte-counts", "--measures", "entropy,chi2"), ("--ignore-case",), ("--utf8", "-b", "letters,classes"),
                        ("-b", "a:x=a-m;y=n-z", "-b", "classes,utf8")):
            self.count(*options)
            whole = self.undisturbed.read_bytes()
            for part in (0, 1, 100, len(whole) // 3, len(whole) // 2, len(whole) - 300, len(whole) - 1, len(whole)):
                with self.subTest(options=options, part=part):
                    self.to.write_bytes(whole[:part])
                    self.resume(*options)
                    self.assertEqual(content_of(self.to), content_of(self.undisturbed))
                    self.assertEqual(len({json.loads(line)["run"] for line in self.to.read_bytes().splitlines()}), 1)

    def test_the_totals_are_those_of_the_text(self):
        plain = self.paths[:60]
        self.count(*ALL_SCHEMES, paths=plain)
        self.to.write_bytes(b"".join(self.undisturbed.read_bytes().splitlines(keepends=True)[:25]))
        self.resume(*ALL_SCHEMES, paths=plain)
        result = json.loads(self.to.read_bytes().splitlines()[-1])
        expected = oracle(b"".join(each.read_bytes() for each in plain))
        self.assertEqual({key: result[key] for key in expected}, expected)

    def test_complete_inputs_are_not_read_again(self):
        self.count()
        self.to.write_bytes(b"".join(self.undisturbed.read_bytes().splitlines(keepends=True)[:-1]))
        for each in self.paths[:60]:
            each.unlink()
        self.resume()
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_files_that_have_changed_are_counted_again(self):
        paths = [*self.paths, self.file("large", text(3 << 20, 9))]
        self.resume(paths=paths)
        for changed, keeps_time in (((0,), False), ((0,), True), ((-1,), True), ((60, 3), True), ((), True)):
            with self.subTest(changed=changed, keeps_time=keeps_time):
                before = [line for line in self.to.read_bytes().splitlines() if b'"file":{' in line]
                self.assertEqual(len(before), 62)
                for path in (paths[each] for each in changed):
                    time = path.stat().st_mtime_ns
                    first, *rest = path.read_bytes()
                    path.write_bytes(bytes([first ^ 1, *rest]) if path.suffix != ".zst" else zstd(text(400_000, 4)))
                    os.utime(path, ns=(time, time if keeps_time else time + 1))
                self.count(paths=paths)
                message = self.resume(paths=paths).stderr
                self.assertEqual(content_of(self.to), content_of(self.undisturbed))
                stay = [line for line in before if json.loads(line)["name"] not in {str(paths[each]) for each in changed}]
                self.assertEqual(self.to.read_bytes().splitlines()[: len(stay)], stay)
                self.assertIn(f"{len(changed)} input" if changed else "", message)
                self.assertEqual("changed since" in message, bool(changed), message)

    def test_the_name_decides_for_lines_without_the_state_of_a_file(self):
        self.count()
        self.to.write_bytes(self.undisturbed.read_bytes())
        self.paths[0].write_bytes(b"other")
        self.assertNotIn("changed", self.resume().stderr)
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_a_killed_run_is_continued(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with Running(*JSONL, "-o", self.to, *self.paths, fifo) as running, fifo.open("wb") as endless:
            endless.write(b"begun")
            endless.flush()
            wait_until(lambda: self.to.exists() and self.to.read_bytes().count(b"\n") >= 30)
            running.process.send_signal(signal.SIGKILL)
            running.finish()
        self.count()
        self.resume()
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_inputs_that_failed_are_counted_again(self):
        late = self.folder / "late"
        self.assertEqual(run(*JSONL, "-o", self.to, *self.paths, late).status, 1)
        late.write_bytes(b"here\n")
        self.count(paths=[*self.paths, late])
        self.resume(paths=[*self.paths, late])
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_a_missing_file_is_created(self):
        self.count()
        self.resume()
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_an_input_that_is_named_twice_is_counted_twice(self):
        paths = [self.paths[0], self.paths[0], self.paths[1]]
        self.count(paths=paths)
        lines = self.undisturbed.read_bytes().splitlines(keepends=True)
        for kept in range(4):
            self.to.write_bytes(b"".join(lines[:kept]))
            self.resume(paths=paths)
            self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_files_of_trees_and_names_that_are_not_utf_8_are_recognized(self):
        tree = self.folder / "tree"
        (tree / "below").mkdir(parents=True)
        for name in (b"a", b"below/caf\xe9", b"below/evil\n\""):
            (tree / os.fsdecode(name)).write_bytes(name)
        self.count("-r", paths=[tree])
        lines = self.undisturbed.read_bytes().splitlines(keepends=True)
        for kept in range(len(lines) + 1):
            self.to.write_bytes(b"".join(lines[:kept]))
            self.resume("-r", paths=[tree])
            self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_conditions_are_checked_for_all_inputs(self):
        for condition in ("bytes > 2058", "bytes > 100000 && lines > 10"):
            options = ("--fail-if", condition)
            direct = run(*JSONL, *options, "-o", self.undisturbed, *self.paths)
            self.assertEqual(direct.status, 3)
            self.to.write_bytes(b"".join(self.undisturbed.read_bytes().splitlines(keepends=True)[:70]))
            ended = self.resume(*options, status=3)
            self.assertEqual(sorted(ended.stderr.splitlines()), sorted(direct.stderr.splitlines()))
            self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_a_file_that_cannot_be_continued_stays_and_is_named(self):
        self.count()
        # members of an archive of which lines are missing are counted again, whatever their lines say
        lines = [each for each in self.undisturbed.read_bytes().splitlines(keepends=True) if b"members.tar" not in each]
        other = [line.replace(json.loads(line)["run"].encode(), b"0" * 16) for line in lines]
        damaged = json.loads(lines[0]) | {"bytes": 1}
        for content, options, message in (
            (lines[0][:-2] + b',"file":{"bytes":"1"}}\n', (), ":1: cannot be resumed: \"file\" is not the state"),
            (lines[0] + other[1], (), ":2: cannot be resumed: it is a line of another run"),
            (lines[0] + b"not JSON\n", (), ":2: not valid JSON"),
            (json.dumps(damaged).encode() + b"\n", (), ":1: cannot be resumed: input"),
            (lines[0], ("-b", "letters"), "--buckets: "),
            (lines[0], ("-b", "classes,letters"), "--buckets: "),
            (lines[0], ("--ignore-case",), "--ignore-case: not given, instead of true"),
            (lines[0], ("--measures", "entropy"), "--measures: not given"),
            (b'{"kind":"result"}\n', (), '"schema" is missing'),
            (b"a text", (), "not a line of a jsonl result"),
            (lines[0] + b'{"kind":"' + bytes(17 << 20) + b'"}\n', (), "counts.jsonl:2: the line has more than 16 MiB"),
        ):
            with self.subTest(message=message):
                self.to.write_bytes(content)
                ended = self.resume(*options, status=1)
                self.assertIn(message, ended.stderr)
                self.assertEqual(self.to.read_bytes(), content)

    def test_buckets_that_do_not_determine_the_counts_need_byte_counts(self):
        overlapping = ("-b", "a:x=a-m", "-b", "b:y=g-z")
        self.count(*overlapping)
        self.to.write_bytes(self.undisturbed.read_bytes())
        self.assertIn("--byte-counts", self.resume(*overlapping, status=1).stderr)
        self.count(*overlapping, "--byte-counts")
        self.to.write_bytes(b"".join(self.undisturbed.read_bytes().splitlines(keepends=True)[:9]))
        self.resume(*overlapping, "--byte-counts")
        self.assertEqual(content_of(self.to), content_of(self.undisturbed))

    def test_options_that_cannot_be_resumed_are_named(self):
        for options, message in (
            (("--window", "1MiB"), "--window"),
            (("-o", "x"), "--output"),
            (("--format", "json"), "the format is jsonl"),
            (("--pairs",), "--pairs"),
            (("--each", "line"), "--each"),
            (("-",), "standard input"),
        ):
            ended = run("--resume", self.to, *options, self.paths[0], stdin_bytes=b"")
            self.assertEqual(ended.status, 2, ended)
            self.assertIn("--resume: ", ended.stderr)
            self.assertIn(message, ended.stderr)
            self.assertFalse(self.to.exists())
        self.assertIn("--resume", run("--resume", stdin_bytes=b"").stderr)


# By option: the options of the first run, and those of the one that continues it, as in test_batch_options. None: the
# option selects inputs, an engine or a destination, prints, or does not end by itself.
CHOICES = {
    **test_batch_options.CHOICES,
    "--recursive": None, "--label": None, "--resume": None, "--append": None, "--snapshot-every": None, "--follow": None, "--exec": None, "--allowed-lateness": None,
    "--stats": None, "--minhash": None, "--columns": None, "--sort": None,
    "--totals-only": [((), (True,))],
    "--fail-fast": [((), (True,))],
    "--pass-through": [((), (True,))],
    "--fail-if": [((), ("entropy > 7.9",)), (("digit > 2",), ("digit > 3",)), ((), ("malformed > 9999",))],
}  # fmt: skip
REQUIRED = {
    **test_batch_options.REQUIRED,
    "--baseline": ("--measures", "jsd", "--byte-counts"),
    "--fail-if": (),
    "--alert-if": (),
    "--fail-fast": ("--fail-if", "digit > 2"),
    "--measures": ("--byte-counts",),
    "--memory-limit": (),
}


def without_record(path):
    """The lines without what they were counted with."""
    lines = map(json.loads, content_of(path))
    return sorted(json.dumps({key: value for key, value in line.items() if key != "counted_with"}) for line in lines)


class ResumedOptions(test_batch_options.Options):
    """The same inputs: the members of the archive and the damaged files are read again."""

    def run_over(self, options, *more):
        return run("--format", "jsonl", *more, *options, *sorted(self.inputs.iterdir()), cwd=self.folder)

    def new_result(self, options):
        if options not in self.known:
            to = self.folder / f"new-{len(self.known)}"
            ended = self.run_over(options, "-o", to)
            self.known[options] = (ended.status, content_of(to) if ended.status != 2 else None)
        return self.known[options]

    def check_resumed(self, option, first, second):
        begun = self.folder / "begun.jsonl"
        if self.run_over(first, "-o", begun).status == 2:
            return  # a run has no such options
        lines = begun.read_bytes().splitlines(keepends=True)
        for kept in (len(lines), len(lines) // 2):
            with self.subTest(option=option, first=first, second=second, kept=kept):
                content = b"".join(lines[:kept])
                begun.write_bytes(content)
                ended = self.run_over(second, "--resume", begun)
                if ended.status == 2 or "cannot be resumed" in ended.stderr:
                    self.assertEqual(begun.read_bytes(), content)
                    names = {each for each in (*first, *second) if each.startswith("--")} | {"--utf8", "--byte-counts"}  # of conditions
                    self.assertTrue(any(each in ended.stderr for each in names), ended)
                else:
                    self.assertEqual((ended.status, content_of(begun)), self.new_result(second), ended)
                    self.resumed.add(option)

    def test_counts_with_another_option_are_the_same_or_refused_by_name(self):
        options = set(re.findall(r"^  (?:-.,|   ) (--[a-z0-9-]+)", run("--help", "count", engine=None).stdout.decode(), re.MULTILINE))
        self.assertGreater(len(options), 50)
        self.assertEqual(options - set(CHOICES), set(), "an option of a run has no values here")
        self.known, self.resumed = {}, set()
        for option in sorted(options):
            required = REQUIRED.get(option, ())
            for pair in sampled(CHOICES[option] or (), 1):
                first, second = ((*required, *test_batch_options.typed(option, values)) for values in pair)
                self.check_resumed(option, first, second)
                self.check_resumed(option, second, first)
                self.check_resumed(option, second, second)
        self.assertLessEqual({"--threads", "--skip-damage", "--count-unverified", "--fail-if", "--buckets", "--baseline"}, self.resumed)

    def test_lines_of_earlier_versions_are_compared_by_what_they_have(self):
        to = self.folder / "older.jsonl"
        self.run_over(("--byte-counts",), "-o", to)
        older = [json.loads(line) for line in to.read_bytes().splitlines()]
        self.assertTrue(all(line.pop("counted_with") for line in older if line["kind"] == "input"))
        content = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in older)
        expected = without_record(to)
        for options, message in ((("--byte-counts",), "warning: "), ((), "with --byte-counts"),
                                 (("--byte-counts", "--ignore-case"), "without --ignore-case"),
                                 (("--byte-counts", "--measures", "entropy"), "without --measures"),
                                 (("--byte-counts", "-b", "letters"), "no counts of the scheme")):  # fmt: skip
            with self.subTest(options=options):
                to.write_bytes(content)
                ended = self.run_over(options, "--resume", to)
                self.assertIn(message, ended.stderr)
                if message == "warning: ":
                    self.assertEqual(without_record(to), expected)
                else:
                    self.assertEqual(to.read_bytes(), content)

    def test_a_crafted_record_of_the_options_is_an_error(self):
        to = self.folder / "crafted.jsonl"
        self.run_over((), "-o", to)
        (line,) = [line for line in to.read_bytes().splitlines() if b"/0.log" in line]
        record = re.search(rb'"counted_with":({[^}]*})', line).group(1)
        for other in (b"5", b"[]", b'{"buckets":[1]}', b'{"buckets":' + b"[" * 100_000 + b"]" * 100_000 + b"}"):
            to.write_bytes(line.replace(record, other) + b"\n")
            ended = self.run_over((), "--resume", to)
            self.assertEqual(ended.status, 1, ended)
            self.assertIn("crafted.jsonl:1: cannot be resumed", ended.stderr)


if __name__ == "__main__":
    main()
