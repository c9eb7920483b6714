"""Every option of a job, with and without: over one state, over a run that continues, and over two shards. Counts that were
recorded with other options are refused by name, or the results are those of a new job."""

import os
import re
import subprocess

from support import CommandTest, main, noise, run, sampled, tar, text, zstd
from test_batch import run_batch

# By option: the options of the first job, and those of the second one, in a folder with files named below. None: the
# option says nothing about counts (it selects inputs when a job is planned, or an engine, or prints); a job that is
# continued with it has the results of the first run.
CHOICES = {
    "--files-from": None, "--null": None, "--include": None, "--exclude": None, "--follow-symlinks": None,
    "--input-format": [((), ("raw",)), (("zstd",), ("gzip",))],
    "--zstd-dictionary": [((), ("a.dict",)), (("a.dict",), ("b.dict",))],
    "--max-output": [((), ("4KiB",)), (("4KiB",), ("8KiB",))],
    "--skip-damage": [((), (True,))],
    "--strict-names": [((), (True,))],
    "--fail-on-unknown": [((), (True,))],
    "--text-encoding": [((), ("utf-16le",)), (("utf-16le",), ("utf-16be",))],
    "--buckets": [((), ("letters",)), (("letters",), ("letters,utf8",)), (("v:x=abc",), ("v:x=abd",)), (("v:x=abc",), ("v:y=abc",))],
    "--ignore-case": [((), (True,))],
    "--byte-counts": [((), (True,))],
    "--pairs": [((), (True,))],
    "--utf8": [((), (True,))],
    "--count-unverified": [((), (True,))],
    "--measures": [((), ("entropy",)), (("entropy",), ("chi2",))],
    "--baseline": [(("a.json",), ("b.json",)), (("a.json",), ("same.json",))],
    "--fail-if": [((), ("entropy > 7.9",)), (("digit > 2",), ("digit > 3",))],
    "--alert-if": [((), ("entropy > 7.9",)), (("digit > 2",), ("digit > 3",))],
    "--watch": [(("inputs",), ("totals",))],
    "--each": [((), ("line",)), (("line",), ("4KiB",)), (("4096",), ("4097",)), (("line",), ("input",)), (("line",), ("record",))],
    "--delimiter": [((), (",",))],
    "--where": [((), ("digit > 0.1",)), (("digit > 0.1",), ("digit > 0.2",))],
    "--preset": [((), ("nemo",)), (("nemo",), ("gopher",))],
    "--jsonl-field": [((), ("text",)), (("text",), ("other",))],
    "--without-field": [((), ("fail",)), (("drop",), ("fail",))],
    "--rewrite": [((), ("strip",)), (("drop words < 3",), ("drop words < 4",)), (("strip",), ("a=strip",))],
    "--duplicates": [((), ("count",))],
    "--distribution-of": [((), ("bytes",)), (("bytes",), ("digit",))],
    "--quantiles": [((), ("50",)), (("p50",), ("50,99.99",))],
    "--match": [((), ("a=x",)), (("a=x",), ("b=x",)), (("a=x",), ("a=y",))],
    "--match-file": None,
    "--match-ignore-case": [((), (True,))],
    "--match-first": [((), (True,))],
    "--group-by": [((), ("field:1",)), (("field:1",), ("field:2",))],
    "--most-groups": [((), ("3",))],
    "--approximate": [((), (True,))],
    "--field-separator": [((), (",",))],
    "--show-text": [((), (True,))],
    "--changes": [((), (True,))],
    "--then-by": [((), ("field:1",)), (("field:1",), ("field:2",))],
    "--event-time": [(("iso",), ("any",)), (("iso",), ("clf",))],
    "--time-zone": [((), ("Europe/Berlin",))],
    "--format": None, "--output": None, "--output-dir": None,
    "--top": [((), ("3:bytes",)), (("3:bytes",), ("4:bytes",)), (("3:bytes",), ("3:-bytes",))],
    "--window": [((), ("64KiB",)), (("64KiB",), ("64lines",)), (("64KiB",), ("32KiB",))],
    "--step": [((), ("32KiB",)), (("32KiB",), ("16KiB",))],
    "--per-input": None,
    "--progress": None, "--quiet": None,
    "--engine": None, "--devices": None, "--streams": None, "--device-decode": None, "--device-memory": None, "--kernel": None,
    "--threads": [(("1",), ("2",))], "--temporary-folder": [((), ("/tmp",))], "--chunk-size": [((), ("1KiB",))], "--slots": [((), ("3",))],
    "--memory-limit": [((), ("64MiB",))],
    "--manifest": None, "--on-error": None, "--max-errors": None, "--shard": None, "--min-age": None, "--fingerprint": None,
    "--new-only": None, "--drop-missing": None, "--split-size": None, "--checkpoint-every": None,
    "--trust-names": [((), (True,))],
    "--wait": None, "--dry-run": None,
    "--config": None, "--help": None, "--version": None, "--generate": None,
}

# Options that an option requires.
REQUIRED = {
    "--baseline": ("--each", "4KiB", "--where", "jsd > 0.1", "--measures", "jsd"),
    "--fail-if": ("--watch", "inputs"),
    "--alert-if": ("--watch", "inputs"),
    "--watch": ("--fail-if", "digit > 2"),
    "--each": ("--window", "64KiB", "--per-input"),
    "--delimiter": ("--each", "record", "--top", "2:bytes"),
    "--where": ("--each", "line"),
    "--preset": ("--each", "line"),
    "--jsonl-field": ("--each", "line", "--where", "bytes > 5"),
    "--without-field": ("--each", "line", "--jsonl-field", "text", "--where", "bytes > 5"),
    "--rewrite": ("--each", "line", "--jsonl-field", "text", "--where", "bytes > 5"),
    "--duplicates": ("--each", "line"),
    "--distribution-of": ("--each", "line"),
    "--quantiles": ("--each", "line", "--distribution-of", "bytes"),
    "--show-text": ("--each", "line", "--where", "digit > 0.1"),
    "--match-ignore-case": ("--match", "a=x"),
    "--match-first": ("--match", "a=x"),
    "--then-by": ("--group-by", "field:1"),
    "--most-groups": ("--group-by", "field:1"),
    "--approximate": ("--group-by", "field:1"),
    "--field-separator": ("--group-by", "field:1"),
    "--event-time": ("--window", "1m"),
    "--time-zone": ("--window", "1m", "--event-time", "iso"),
    "--top": ("--each", "line"),
    "--window": ("--per-input",),
    "--step": ("--window", "64KiB", "--per-input"),
    "--memory-limit": ("--each", "line", "--jsonl-field", "text", "--where", "bytes > 5"),
}


def options_of_batch():
    printed = run("--help", "batch", engine=None).stdout.decode()
    return re.findall(r"^  (?:-.,|   ) (--[a-z0-9-]+)", printed, re.MULTILINE)


class Options(CommandTest):
    def setUp(self):
        super().setUp()
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir()
        samples = [text(300, seed) for seed in range(200)]
        for name in ("a", "b"):
            paths = [self.folder / f"{name}-{number}" for number in range(len(samples))]
            for path, sample in zip(paths, samples):
                path.write_bytes(sample + name.encode() * 40)
            subprocess.run(["zstd", "-q", "--train", *paths, "--maxdict=4096", "-o", self.folder / f"{name}.dict"], check=True, stderr=subprocess.DEVNULL)
        files = {
            "0.log": text(100_000, 1), "1.log": text(90_000, 2), "2.bin": noise(9_000), "3.zst": zstd(text(30_000, 3), "--check"),
            "4.damaged.zst": b"".join((zstd(text(20_000, 4), "--check"), zstd(text(20_000, 5), "--check")[:-1] + b"?", zstd(text(9_000, 6), "--check"))),
            "5.dictionary.zst": zstd(text(2_000, 7), "-D", str(self.folder / "a.dict")),
            "6.jsonl": b"".join(b'{"text":"%s","other":"%s"}\n' % (b"a1" * length, b"B" * length) for length in (1, 2, 50, 400)) + b'{"text":"' + b"x" * 1_200_000 + b'"}\n',
            "7.tar": tar({"one": text(8_000, 8), "two": text(7_000, 9)}),
        }
        for name, content in files.items():
            (self.inputs / name).write_bytes(content)
        for name, path in (("a.json", "0.log"), ("b.json", "2.bin"), ("same.json", "0.log")):
            run("--byte-counts", "--format", "json", "-q", "-o", self.folder / name, self.inputs / path)
        self.manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", self.manifest).status, 0)
        self.folders = 0

    def new_folder(self):
        self.folders += 1
        return self.folder / f"out-{self.folders}"

    def job(self, out, options, *more):
        return run_batch("--manifest", self.manifest, "--output-dir", out, *options, *more, cwd=self.folder)

    def results(self, out):
        return {name: (out / name).read_bytes() for name in sorted(os.listdir(out)) if name.endswith(("l", "total.json"))}

    def new_results(self, options):
        if options not in self.known:
            out = self.new_folder()
            self.assertIn(self.job(out, options).status, (0, 1, 3))
            self.known[options] = self.results(out)
        return self.known[options]

    def check(self, ended, out, option, expected):
        """Refused by name, or the results of a new job."""
        self.assertIn(ended.status, (0, 1, 3), ended)
        if "another job" in ended.stderr:
            self.assertRegex(ended.stderr, f"\n  {option}[:,] ")
            return False
        self.assertEqual(self.results(out), expected, ended)
        return True

    def cut(self, out):
        """As if the run had been killed: some records remain, and no results."""
        for name in self.results(out):
            (out / name).unlink()
        state = out / ".gpuhist-batch" / "state"
        os.truncate(state, state.stat().st_size * 6 // 10)

    def check_pair(self, option, first, second):
        with self.subTest("one state", option=option, first=first, second=second):
            out = self.new_folder()
            self.job(out, first)
            fits = self.check(self.job(out, second), out, option, self.new_results(second))
        with self.subTest("a run that continues", option=option, first=first, second=second):
            out = self.new_folder()
            self.job(out, first)
            self.cut(out)
            self.assertEqual(self.check(self.job(out, second), out, option, self.new_results(second)), fits)
        with self.subTest("two shards", option=option, first=first, second=second):
            out = self.new_folder()
            ended = [self.job(out, chosen, "--shard", f"{number}/2").status for number, chosen in ((1, first), (2, second))]
            if 2 in ended:  # a shard refuses the option
                return
            # results have the schemes and measures of both parts, which are those of either
            self.assertEqual(self.check(run("merge", out, engine=None, cwd=self.folder), out, option, self.new_results(first)), fits)

    def check_shards(self, option, chosen):
        with self.subTest("shards of one job", option=option, chosen=chosen):
            out = self.new_folder()
            for number in (1, 2):
                self.job(out, chosen, "--shard", f"{number}/2")
            ended = run("merge", out, engine=None, cwd=self.folder)
            self.assertTrue(self.check(ended, out, option, self.new_results(chosen)), ended)

    def test_counts_with_another_option_are_the_same_or_refused_by_name(self):
        options = options_of_batch()
        self.assertGreater(len(options), 50)
        self.assertEqual(set(options), set(CHOICES), "an option of a job has no values here")
        self.known = {}
        for option in options:
            required = REQUIRED.get(option, ())
            for pair in sampled(CHOICES[option] or (), 1):
                first, second = (possible((*required, *typed(option, values))) for values in pair)
                self.check_pair(option, first, second)
                self.check_pair(option, second, first)
                if option != "--watch":
                    self.check_shards(option, second)


def typed(option, values):
    return tuple(part for value in values for part in ((option,) if value is True else (option, value)))


def possible(chosen):
    """Without --watch if there is no condition, and without --per-input if there are no windows."""
    needless = () if "--fail-if" in chosen or "--alert-if" in chosen else ("--watch", "inputs")
    needless += () if "--window" in chosen else ("--per-input",)
    return tuple(each for each in chosen if each not in needless)


if __name__ == "__main__":
    main()
