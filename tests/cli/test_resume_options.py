"""Every option of a run, with and without, over one result that --resume continues. Lines that were counted with other
options are refused by name, and the file stays as it is; or the result is that of a new run."""

import json
import re

import test_batch_options
from support import main, run, sampled
from test_resume import content_of

# By option: the options of the first run, and those of the one that continues it, as in test_batch_options. None: the
# option selects inputs, an engine or a destination, prints, or does not end by itself.
CHOICES = {
    **test_batch_options.CHOICES,
    "--recursive": None, "--label": None, "--resume": None, "--append": None, "--snapshot-every": None, "--follow": None,
    "--stats": None, "--columns": None, "--sort": None,
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
