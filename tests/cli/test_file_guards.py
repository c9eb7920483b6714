"""No command writes to a file that it reads, follows a link out of its folder, or replaces a file of the user."""

import itertools
import json
import os
import resource
import shutil
import unittest

import system_calls
from support import CommandTest, Running, main, run, text, wait_until

DROP = ("--drop-if", "digit > 0.5")
RESULTS = ("files.jsonl", "errors.jsonl", "total.json", "units.jsonl", "windows.jsonl", "changes.txt", "job.json")
# Options that name a file that is read; None: the input itself.
READS = {
    "config": ("--config",),
    "baseline": ("--baseline",),
    "dictionary": ("--zstd-dictionary",),
    "list": ("--files-from",),
    "manifest": ("--manifest",),
    "job": (),
    "input": (),
}
# Commands: their arguments, the files that they can read, and options that name an output.
FILES = {
    "count": (("in",), ("config", "baseline", "dictionary", "list", "input"),
              (("-o",), ("--format", "jsonl", "-o"), ("--append", "--format", "jsonl", "-o"))),
    "count, resumed": (("in",), ("config", "dictionary", "list"), (("--resume",),)),
    "filter": (("filter", *DROP, "in"), ("config", "baseline", "dictionary", "list", "input"), (("-o",), ("-o", "kept", "--result"))),
    "repack": (("repack", "in", "--force"), ("config", "dictionary"), (("-o",),)),
    "report": (("report", "result.json"), ("config", "baseline"), (("-o",),)),
    "merge": (("merge", "result.json"), ("config",), (("-o",),)),
    "batch plan": (("batch", "plan", "in"), ("config", "dictionary", "list", "job", "input"), (("-o",),)),
}  # fmt: skip
FOLDERS = {
    "batch": (("batch", "in"), ("config", "baseline", "dictionary", "manifest", "list", "job", "input"), RESULTS),
    "filter": (("filter", *DROP, "in", "--force"), ("config", "baseline", "dictionary", "list"), (".gpuhist-filter.jsonl", "in")),
}


def files(folder):
    """The contents of all files below a folder; of a link, its target."""
    found = {}
    for each in folder.rglob("*"):
        if each.is_symlink():
            found[str(each.relative_to(folder))] = os.readlink(each)
        elif each.is_file():
            found[str(each.relative_to(folder))] = each.read_bytes()
    return found


class GuardTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.number = itertools.count()

    def command(self, *arguments, **options):
        return run(*arguments, engine=None, cwd=options.pop("cwd", self.folder), **options)

    def prepare(self):
        """A fresh folder with everything that the commands read."""
        folder = self.folder / str(next(self.number))
        folder.mkdir()
        (folder / "in").write_bytes(text(3000))
        (folder / "list").write_text("in\n")
        (folder / "config").write_text("quiet = true\n")
        (folder / "job").write_text('inputs = ["in"]\n')
        (folder / "dictionary").write_bytes(text(4000, 9))
        self.assertEqual(self.command("in", "--byte-counts", "--format", "json", "-o", "result.json", cwd=folder).status, 0)
        shutil.copy(folder / "result.json", folder / "baseline")
        self.assertEqual(self.command("batch", "plan", "in", "-o", "manifest", cwd=folder).status, 0)
        return folder

    def reading(self, command, kind, path):
        """The command with an option that names this file; the job file and the input are operands."""
        if kind == "job":
            return [each for each in command if each != "in"] + [path]
        if kind == "input":
            return [path if each == "in" else each for each in command]
        if kind == "list" and command[0] == "filter":
            command = [each for each in command if each != "in"]  # the list has it
        extra = ("--measures", "jsd") if kind == "baseline" and command[0] != "filter" else ()
        return [*command, *READS[kind], path, *extra]


class Matrix(GuardTest):
    def assert_refused(self, folder, arguments):
        before = files(folder)
        ended = self.command(*arguments, cwd=folder)
        self.assertEqual(ended.status, 2, (arguments, ended))
        self.assertRegex(ended.stderr, "the same file as|is not a result of this job")
        self.assertEqual(files(folder), before, arguments)

    def test_no_file_is_read_and_written_under_any_name(self):
        for name, (command, kinds, outputs) in FILES.items():
            for kind, output, how in itertools.product(kinds, outputs, ("itself", "symbolic link", "hard link")):
                with self.subTest(command=name, read=kind, output=output, how=how):
                    folder = self.prepare()
                    read = "in" if kind == "input" else kind
                    if kind == "job":
                        (folder / "job").rename(folder / "job.toml")
                        read = "job.toml"
                    target = read if how == "itself" else "other"
                    if how == "symbolic link":
                        (folder / target).symlink_to(folder / read)
                    elif how == "hard link":
                        os.link(folder / read, folder / target)
                    self.assert_refused(folder, [*self.reading(command, kind, read), *output, target])

    def test_no_output_of_a_folder_is_a_file_that_is_read(self):
        for name, (command, kinds, outputs) in FOLDERS.items():
            for kind, output, how in itertools.product(kinds, outputs, ("itself", "hard link")):
                with self.subTest(command=name, read=kind, output=output, how=how):
                    folder = self.prepare()
                    (folder / "out").mkdir()
                    read = "in" if kind == "input" else kind
                    if kind == "job":
                        (folder / "job").rename(folder / "job.toml")
                        read = "job.toml"
                    if how == "itself" and kind != "job":
                        (folder / read).rename(folder / "out" / output)
                        read = f"out/{output}"
                        (folder / "in").write_bytes(b"text\n")
                    else:
                        os.link(folder / read, folder / "out" / output)
                    self.assert_refused(folder, [*self.reading(command, kind, read), "--output-dir", "out"])

    def test_standard_output_is_an_output_as_well(self):
        folder = self.prepare()
        for options in (("--config", "config", "in"), ("report", "result.json", "--config", "config"), ("merge", "result.json", "--config", "config")):
            with (folder / "config").open("ab") as to:
                ended = self.command(*options, cwd=folder, stdout=to)
            self.assertEqual(ended.status, 2, ended)
            self.assertEqual((folder / "config").read_bytes(), b"quiet = true\n")

    def test_other_outputs_are_written(self):
        for name, (command, kinds, outputs) in FILES.items():
            for kind in kinds:
                folder = self.prepare()
                read = "in" if kind == "input" else kind
                if kind == "job":
                    (folder / "job").rename(folder / "job.toml")
                    read = "job.toml"
                ended = self.command(*self.reading(command, kind, read), *outputs[-1], "new", cwd=folder)
                self.assertEqual(ended.status, 0, (name, kind, ended))
                self.assertTrue((folder / "new").exists(), (name, kind))


class JobFolder(GuardTest):
    def total(self, folder):
        return json.loads((folder / "total.json").read_bytes())

    def test_named_inputs_in_the_folder_of_the_job_are_counted(self):
        contents = {f"{number}.log": text(1000 + number, number) for number in range(5)}
        for name, content in contents.items():
            self.file(name, content)
        for arguments, new in (((), None), ((), None), (("--new-only",), b"new\n")):
            if new:
                contents["new.log"] = new
                self.file("new.log", new)
            self.assertEqual(self.command("batch", *arguments, *contents, "--output-dir", ".").status, 0)
            total = self.total(self.folder)
            self.assertEqual((total["bytes"], total["input_count"]), (sum(map(len, contents.values())), len(contents)))

    def test_a_tree_that_is_the_folder_of_the_job_is_counted_without_the_files_of_the_job(self):
        self.file("a", b"some text\n")
        (self.folder / "link").symlink_to(".")
        for root, out in ((".", "."), ("link/", "."), (".", "link/sub/../deeper/out")):
            for each in ("sub", "deeper"):
                (self.folder / each).mkdir(exist_ok=True)
            for _ in range(2):
                ended = self.command("batch", root, "--output-dir", out, "--new-only")
                self.assertEqual(ended.status, 0, ended)
                self.assertEqual((self.total(self.folder / out)["bytes"], self.total(self.folder / out)["input_count"]), (10, 1))
            shutil.rmtree(self.folder / out / ".gpuhist-batch")
            for each in RESULTS:
                (self.folder / out / each).unlink(missing_ok=True)

    def test_a_file_of_the_job_that_is_named_is_refused(self):
        self.file("a", b"text\n")
        self.assertEqual(self.command("batch", "a", "--output-dir", "out").status, 0)
        for name in ("out/total.json", "out/.gpuhist-batch", "out/.gpuhist-batch/state", "./out/../out/job.json"):
            ended = self.command("batch", "a", name, "--output-dir", "out", "--new-only")
            self.assert_usage_error(ended, f"{name}: is an input, and the same file as a file of the job in out")
        self.assertEqual(self.command("batch", "a", "out/*", "--output-dir", "out", "--new-only").status, 0)

    def test_a_file_that_the_job_did_not_write_is_not_replaced(self):
        self.file("a", b"text\n")
        options = ("a", "--each", "line", "--where", "bytes > 0")
        for name in RESULTS:
            with self.subTest(name=name):
                out = self.folder / "out"
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                (out / name).write_bytes(b"precious")
                ended = self.command("batch", *options, "--output-dir", "out")
                self.assert_usage_error(ended, f"out/{name}: exists, and is not a result of this job", "it is not replaced")
                self.assertEqual(files(out), {name: b"precious"})
                (out / name).unlink()
                (out / name).symlink_to(self.file("victim", b"precious"))
                self.assert_usage_error(self.command("batch", *options, "--output-dir", "out"), "is not a regular file")
                self.assertEqual((self.folder / "victim").read_bytes(), b"precious")

    def test_a_result_that_was_changed_is_a_file_of_the_user(self):
        self.file("a", b"text\n")
        self.assertEqual(self.command("batch", "a", "--output-dir", "out").status, 0)
        shutil.copytree(self.folder / "out", self.folder / "copied")  # with other inodes and times
        self.assertEqual(self.command("batch", "a", "--output-dir", "copied").status, 0)
        with (self.folder / "out" / "total.json").open("ab") as file:
            file.write(b"note of the user\n")
        before = (self.folder / "out" / "total.json").read_bytes()
        self.assert_usage_error(self.command("batch", "a", "--output-dir", "out"), "out/total.json: exists, and is not a result")
        self.assertEqual((self.folder / "out" / "total.json").read_bytes(), before)

    def test_merged_results_replace_only_results(self):
        self.file("a", b"text\n")
        self.assertEqual(self.command("batch", "plan", "a", "-o", "m").status, 0)
        self.assertEqual(self.command("batch", "--manifest", "m", "--shard", "1/1", "--output-dir", "out").status, 0)
        (self.folder / "out" / "job.json").write_bytes(b"precious")
        self.assert_usage_error(self.command("merge", "out"), "out/job.json: exists, and is not a result of this job")
        self.assertEqual((self.folder / "out" / "job.json").read_bytes(), b"precious")
        (self.folder / "out" / "job.json").unlink()
        for _ in range(2):
            self.assertEqual(self.command("merge", "out").status, 0)


    def test_results_of_another_job_are_not_replaced(self):
        self.file("a", b"text\n")
        self.file("b", b"another text\n")
        for name in ("a", "b"):
            self.assertEqual(self.command("batch", "plan", name, "-o", f"{name}.jsonl").status, 0)
            self.assertEqual(self.command("batch", "--manifest", f"{name}.jsonl", "--shard", "1/1", "--output-dir", f"parts-{name}").status, 0)
        self.assertEqual(self.command("batch", "--manifest", "a.jsonl", "--shard", "1/1", "--output-dir", "letters", "-b", "letters").status, 0)
        self.assertEqual(self.command("merge", "parts-b", "--output-dir", "merged").status, 0)
        self.assertEqual(self.command("batch", "b", "--output-dir", "job").status, 0)
        self.assertEqual(self.command("batch", "b", "--output-dir", "stopped", "--max-errors", "0").status, 0)
        for each in (*RESULTS, ".gpuhist-batch/results"):
            (self.folder / "stopped" / each).unlink(missing_ok=True)  # a job whose results are not written yet
        for out in ("merged", "job", "stopped", "parts-b"):
            for command in (("merge", "parts-a", "--output-dir", out), ("merge", "letters", "--output-dir", out),
                            *([("batch", "a", "--output-dir", out)] if out == "merged" else ())):  # fmt: skip
                with self.subTest(out=out, command=command):
                    before = {name: content for name, content in files(self.folder / out).items() if not name.endswith("/lock")}
                    ended = self.command(*command)
                    self.assertNotEqual(ended.status, 0, ended)
                    self.assertRegex(ended.stderr, "another job|a job with another manifest")
                    after = {name: content for name, content in files(self.folder / out).items() if not name.endswith("/lock")}
                    self.assertEqual(after, before)
        for command in (("merge", "parts-b", "--output-dir", "merged"), ("batch", "--manifest", "b.jsonl", "--output-dir", "merged")):
            self.assertEqual(self.command(*command).status, 0)  # the same job
            self.assertEqual(self.total(self.folder / "merged")["bytes"], 13)

    @unittest.skipUnless(system_calls.can_be_recorded(), "strace is missing, or is not allowed to trace")
    def test_a_job_with_nothing_to_do_reads_no_result(self):
        self.file("a", b"text\n")
        for _ in range(2):
            status, calls = system_calls.recorded("batch", "a", "--output-dir", "out", cwd=self.folder, trace=self.folder / "trace")
            self.assertEqual(status, 0)
            read = [path for each in calls if each.name.startswith("open") and "O_RDONLY" in each.text for path in each.paths]
            self.assertEqual([path for path in read if os.path.basename(path) in RESULTS], [])
        for _ in range(4):
            self.assertEqual(self.command("batch", "a", "--output-dir", "out").status, 0)
        recorded = [line.split()[1] for line in (self.folder / "out" / ".gpuhist-batch" / "results").read_text().splitlines()]
        self.assertLessEqual(max(map(recorded.count, recorded)), 2)  # the result, and one that is about to replace it

    def test_a_match_that_is_a_file_of_the_job_is_reported(self):
        self.file("a", b"text\n")
        self.assertEqual(self.command("batch", "a", "--output-dir", "out").status, 0)
        os.link(self.folder / "out" / "files.jsonl", self.folder / "snap.jsonl")
        ended = self.command("batch", "snap*", "a", "--output-dir", "out", "--new-only")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn('inputs: "snap*" matches snap.jsonl, which is a file of the job or a link to it, and not counted', ended.stderr)
        ended = self.command("batch", "out/*", "a", "--output-dir", "out", "--new-only")
        self.assertIn('"out/*" matches out/errors.jsonl and 3 more, which are files of the job', ended.stderr)


class SpecialFiles(GuardTest):
    """A FIFO would be waited for, and a link could lead to a file of the user."""

    def assert_refused(self, name, *arguments):
        victim = self.folder / "victim"
        path = self.folder / name
        for make in (os.mkfifo, lambda to: os.symlink(victim, to)):
            victim.write_bytes(b"precious")
            path.unlink(missing_ok=True)
            make(path)
            ended = self.command(*arguments)
            self.assertIn(ended.status, (1, 2), ended)
            self.assertIn(f"gpuhist: {name}: is a ", ended.stderr)
            self.assertEqual(victim.read_bytes(), b"precious")
        path.unlink()

    def test_in_the_place_of_state_they_are_refused_by_name(self):
        self.file("in", b"text\n")
        run_of_job = ("batch", "in", "--output-dir", "out")
        self.assertEqual(self.command(*run_of_job).status, 0)
        for name in ("lock", "state", "manifest.jsonl", "runs.jsonl", "results", "units", "windows"):
            with self.subTest(name=name):
                state = self.folder / "out" / ".gpuhist-batch"
                (state / name).rename(self.folder / "saved") if (state / name).exists() else None
                self.assert_refused(f"out/.gpuhist-batch/{name}", *run_of_job)
                if (self.folder / "saved").exists():
                    (self.folder / "saved").rename(state / name)
        self.assertEqual(self.command(*run_of_job).status, 0)
        (self.folder / "linked").mkdir()
        (self.folder / "linked" / ".gpuhist-batch").symlink_to(self.folder / "out")
        ended = self.command("batch", "in", "--output-dir", "linked")
        self.assertEqual(ended.status, 1)
        self.assertIn("linked/.gpuhist-batch: is a symbolic link instead of a folder", ended.stderr)

    def test_in_the_place_of_parts_lists_and_results_they_are_refused_by_name(self):
        self.file("in", b"text\n")
        (self.folder / "out" / "parts").mkdir(parents=True)
        self.assert_refused("out/parts/1-of-2", "merge", "out")
        (self.folder / "kept").mkdir()
        self.assert_refused("kept/.gpuhist-filter.jsonl", "filter", *DROP, "in", "--output-dir", "kept")
        for option in ("--resume", "--manifest"):
            os.mkfifo(self.folder / "fifo")
            command = ("batch", "--output-dir", "new") if option == "--manifest" else ("in",)
            ended = self.command(*command, option, "fifo")
            self.assertEqual(ended.status, 1, ended)
            self.assertIn("fifo: is a FIFO instead of a regular file", ended.stderr)
            (self.folder / "fifo").unlink()


class FilterFolder(GuardTest):
    def filtered(self, *arguments, **options):
        return self.command("filter", *DROP, *arguments, **options)

    def test_what_appears_in_the_folder_during_the_run_is_not_replaced_and_no_link_is_followed(self):
        (self.folder / "t" / "en").mkdir(parents=True)
        for name in ("a", "b", "en/c"):
            (self.folder / "t" / name).write_bytes(b"text\n")
        victim = self.file("victim", b"precious")
        (self.folder / "elsewhere").mkdir()
        large = self.file("large", b"hello world\n" * 4_000_000)
        out = self.folder / "out"
        with Running("filter", *DROP, "-T", "1", "-r", "--output-dir", "out", large, "t", engine=None, cwd=self.folder) as running:
            wait_until(lambda: running.process.poll() is not None or (out.exists() and any(out.iterdir())))
            if running.process.poll() is not None:
                self.skipTest("the run ended too early")
            (out / "a").write_bytes(b"precious")
            (out / "b").symlink_to(victim)
            (out / "en").symlink_to(self.folder / "elsewhere")
            ended = running.finish()
        self.assertEqual(ended.status, 1, ended)
        for name, cause in (("a", "another process wrote it during this run"), ("b", ""), ("en", "links below --output-dir are not followed")):
            self.assertIn(f"out/{name}", ended.stderr)
            self.assertIn(cause, ended.stderr)
        self.assertEqual((out / "a").read_bytes(), b"precious")
        self.assertEqual(victim.read_bytes(), b"precious")
        self.assertEqual(files(self.folder / "elsewhere"), {})

    def test_another_input_of_the_same_name_size_and_time_is_filtered(self):
        for folder, content in (("a", b"good text line\n" * 9), ("b", b"0000 0000 0000\n" * 9)):
            (self.folder / folder).mkdir()
            (self.folder / folder / "x").write_bytes(content)
            os.utime(self.folder / folder / "x", ns=(10**18, 10**18))
        self.assertEqual(self.filtered("a/x", "--output-dir", "out").status, 0)
        again = self.filtered("a/x", "--output-dir", "out", "--resume")
        self.assertIn("0 outputs, 1 more was complete", again.stderr)
        self.assertEqual(self.filtered("b/x", "--output-dir", "out", "--resume").status, 0)
        self.assertEqual((self.folder / "out" / "x").read_bytes(), b"")


class Resumed(GuardTest):
    def test_of_several_runs_that_continue_one_file_one_continues_it(self):
        contents = [text(2000 + 50 * number, number) for number in range(60)]
        paths = [self.file(f"{number:02}", content) for number, content in enumerate(contents)]
        self.assertEqual(run("--resume", self.folder / "full", *paths).status, 0)
        lines = (self.folder / "full").read_bytes().splitlines(keepends=True)
        to = self.folder / "to"
        for kept in (0, 1, 10, 30, 59):
            for _ in range(4):
                to.write_bytes(b"".join(lines[:kept]))
                running = [Running("--resume", to, *paths) for _ in range(3)]
                ended = [each.finish() for each in running]
                for each in running:
                    each.__exit__()
                self.assertIn(0, [each.status for each in ended])
                for each in ended:
                    if each.status != 0:
                        self.assertEqual(each.status, 1)
                        self.assertIn("another run ", each.stderr)
                again = run("--resume", to, *paths)
                self.assertEqual(again.status, 0, again)
                total = json.loads(to.read_bytes().splitlines()[-1])
                self.assertEqual((total["complete"], total["bytes"], total["input_count"]), (True, sum(map(len, contents)), len(contents)))

    def test_an_input_that_is_in_the_file_twice_is_refused_unless_it_is_named_twice(self):
        paths = [self.file("a", b"text\n"), self.file("b", b"more\n")]
        to = self.folder / "to"
        self.assertEqual(run("--resume", to, *paths).status, 0)
        lines = to.read_bytes().splitlines(keepends=True)
        twice = b"".join([lines[0], lines[0], lines[1]])
        to.write_bytes(twice)
        ended = run("--resume", to, *paths)
        self.assertEqual(ended.status, 1)
        self.assertIn("cannot be resumed: it has 2 lines of", ended.stderr)
        self.assertEqual(to.read_bytes(), twice)
        self.assertEqual(run("--resume", to, *paths, *paths).status, 0)


class LongLines(GuardTest):
    """The files of earlier runs may be from another machine: a line without end takes no memory."""

    def test_a_line_of_more_than_16_mib_is_an_error_that_names_file_and_line(self):
        self.file("in", b"text\n")
        batch, filtering = ("batch", "in", "--output-dir", "out"), ("filter", *DROP, "in", "--output-dir", "kept")
        resuming = ("--resume", "counts.jsonl", "in")
        sharded = ("batch", "--manifest", "m", "--shard", "1/1", "--output-dir", "parts")
        for command in (batch, filtering, resuming, ("batch", "plan", "in", "-o", "m"), sharded):
            self.assertEqual(self.command(*command).status, 0)
        for name, command in (
            ("out/.gpuhist-batch/runs.jsonl", batch),
            ("out/.gpuhist-batch/results", batch),
            ("out/.gpuhist-batch/manifest.jsonl", batch),
            ("parts/.gpuhist-batch/1-of-1/runs.jsonl", ("merge", "parts")),
            ("m", ("batch", "--manifest", "m", "--output-dir", "new")),
            ("kept/.gpuhist-filter.jsonl", (*filtering, "--resume")),
            ("counts.jsonl", resuming),
        ):
            with self.subTest(name=name):
                path = self.folder / name
                before = path.read_bytes()
                os.truncate(path, 2 << 30)
                ended = self.command(*command)
                self.assertEqual(ended.status, 1, ended)
                self.assertIn(f"{name}:{before.count(bytes([10])) + 1}: the line has more than 16 MiB", ended.stderr)
                self.assertEqual(path.stat().st_size, 2 << 30)
                path.write_bytes(before)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 500_000)  # KiB, of any of them


class Truncated(GuardTest):
    @staticmethod
    def has_begun(running):
        if running.process.poll() is not None:
            return True
        with open(f"/proc/{running.process.pid}/io") as counters:
            return int(counters.readline().split()[1]) > 8_000_000

    def test_a_file_that_was_truncated_while_it_was_read_is_reported(self):
        for _ in range(10):  # the run may end before
            path = self.folder / "sparse"
            with path.open("wb") as file:
                file.truncate(4 << 30)
            with Running("--format", "json", "-T", "1", path) as running:
                wait_until(lambda: self.has_begun(running))
                os.truncate(path, 5_000_000)
                ended = running.finish()
            if ended.status == 1:
                break
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("it was truncated while it was read: it had 4294967296 bytes, and has 5000000", ended.stderr)
        self.assertIs(ended.result["complete"], False)
        self.assertEqual(ended.result["inputs"][0]["error_kind"], "unreadable")


if __name__ == "__main__":
    main()
