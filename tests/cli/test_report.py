"""`gpuhist report`: kept counts, shown by other schemes, are equal to the counts of the text by these schemes."""

import fcntl
import json
import os
import random
import re
import subprocess
import unittest

from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, SANITIZED, CommandTest, Running, in_order_of, main, noise, random_schemes, remarks, run, run_fed, text, wait_until, without_run, zstd

KEEP = ("--byte-counts", "--format", "json")
FORMATS = ("table", "json", "jsonl", "csv", "prometheus")


def report(*arguments, stdin_bytes=None, **options):
    return run("report", *arguments, stdin_bytes=stdin_bytes, engine=None, **options)


def comparable(ended):
    """The output without the name of the run and the causes in a table, which a run prints on standard error."""
    return re.sub(rb"(?m)^(INCOMPLETE  .*?): .*$", rb"\1", without_run(ended.stdout))


class Report(CommandTest):
    def inputs(self):
        """Plain and compressed inputs, one with control characters in its name, one damaged, one missing."""
        damaged = bytearray(zstd(text(30_000), "--check"))
        damaged[-1] ^= 1
        return [
            self.file("plain", text(600) + noise(20_000)),
            self.file("evil\x1b[2J\n,\"\\", text(3_000)),
            self.file("\udcff", b"abc\n"),
            self.file("packed.zst", zstd(text(40_000, 2))),
            self.file("damaged.zst", zstd(b"whole\n") + bytes(damaged)),
            self.file("empty", b""),
            self.folder / "absent",
        ]

    def assert_round_trip(self, result, paths, options):
        for name in FORMATS:
            with self.subTest(format=name, options=options):
                direct = run(*options, "--format", name, *paths)
                again = report(*options, "--format", name, stdin_bytes=in_order_of(paths, result.stdout))
                expected = in_order_of(paths, comparable(direct)) if name == "jsonl" else comparable(direct)
                self.assertEqual(comparable(again), expected)
                self.assertEqual(again.status, direct.status)

    def test_a_report_is_byte_for_byte_the_output_of_counting_again(self):
        paths = self.inputs()
        chosen = random.Random(21)
        for keep in (KEEP, ("--byte-counts", "--format", "jsonl", "--stats"), (*KEEP, "--ignore-case", "-b", "alphabet")):
            result = run(*keep, *paths)
            definitions, _ = random_schemes(chosen)
            options = [option for each in ("utf8,classes", *definitions) for option in ("-b", each)]
            self.assert_round_trip(result, paths, options)
            self.assert_round_trip(result, paths[:-1] + [self.folder / "absent"], [*options, "--ignore-case"])

    def test_a_report_includes_unverified_counts(self):
        paths = self.inputs()
        result = run(*KEEP, "--count-unverified", *paths)
        for name in FORMATS:
            direct = run("--count-unverified", "-b", "letters", "--format", name, *paths)
            again = report("-b", "letters", "--format", name, stdin_bytes=result.stdout)
            expected = in_order_of(paths, comparable(direct)) if name == "jsonl" else comparable(direct)
            self.assertEqual(comparable(again), expected)

    def test_the_table_has_the_cause_only_if_no_message_printed_it(self):
        absent = self.folder / "absent"
        line = f"INCOMPLETE  {absent}"
        cause = "No such file or directory"
        direct = run(absent)
        self.assertEqual(direct.stderr.splitlines()[0], f"gpuhist: {absent}: {cause}")
        self.assertEqual(direct.stdout.decode().splitlines()[-1], line)
        again = report(stdin_bytes=run(*KEEP, absent).stdout)
        self.assertNotIn(cause, again.stderr)
        self.assertEqual(again.stdout.decode().splitlines()[-1], f"{line}: {cause}")

    def test_the_folder_of_a_job_is_shown_as_a_run_over_its_inputs(self):
        """By the schemes of the job, with and without byte counts; by others only with them."""
        paths = [self.file("a", text(5_000)), self.file("b.zst", zstd(text(7_000, 2)))]
        for number, options in enumerate(([], ["-b", "letters,utf8"], ["--byte-counts"], ["--ignore-case", "-b", "alphabet"])):
            job = self.folder / f"job-{number}"
            self.assertEqual(run("batch", *options, *paths, "--output-dir", job, engine=None).status, 0)
            for name in FORMATS:
                with self.subTest(options=options, format=name):
                    direct, shown = run(*options, "--format", name, *paths), report("--format", name, job)
                    expected = in_order_of(paths, comparable(direct)) if name == "jsonl" else comparable(direct)
                    if name in ("json", "jsonl"):  # as of any report
                        expected = re.sub(rb'"byte_counts":\[[^]]*\],?', b"", expected).replace(b",}", b"}")
                    self.assertEqual(comparable(shown), expected)
                    self.assertEqual((shown.status, remarks(shown)), (0, []))
            other = report("-b", "classes,letters", "--format", "json", job)
            if "--byte-counts" in options:
                self.assertEqual(other.result["buckets"], run("-b", "classes,letters", "--format", "json", *paths).result["buckets"])
            else:
                self.assertEqual(other.status, 1, other)

    def test_several_results_are_added(self):
        paths = [self.file(f"{seed}", text(10_000, seed)) for seed in range(4)]
        result = [self.file(f"{seed}.json", run(*KEEP, path).stdout) for seed, path in enumerate(paths)]
        ended = report("-b", "letters,utf8", "--format", "json", *result)
        self.assertEqual((ended.status, remarks(ended)), (0, []))
        self.assertEqual(ended.stdout, run("-b", "letters,utf8", "--format", "json", *paths).stdout)
        together = self.file("all.json", b"".join(each.read_bytes() for each in result))
        self.assertEqual(report("-b", "letters,utf8", "--format", "json", together).stdout, ended.stdout)

    def test_snapshots_before_a_result_are_ignored(self):
        data = text(60_000)
        live = run_fed([data], "--byte-counts", "--format", "jsonl", "--snapshot-every", "8KiB", "--chunk-size", "4KiB")
        self.assertGreater(len(live.documents), 2)
        ended = report("-b", "letters,classes", "--format", "json", stdin_bytes=live.stdout)
        self.assert_counted(ended, data)

    def test_the_scheme_bytes_is_used_if_no_byte_counts_were_kept(self):
        data = text(10_000)
        result = run_fed([data], "-b", "bytes", "--format", "json")
        self.assert_counted(report("-b", "letters,utf8", "--format", "json", stdin_bytes=result.stdout), data)

    def test_results_with_former_names_of_buckets_are_read(self):
        data = text(2_000) + noise(2_000)
        for form in ("json", "jsonl"):
            for buckets in (("-b", "utf8", "--byte-counts"), ("-b", "utf8,bytes")):
                with self.subTest(form=form, buckets=buckets):
                    new = run_fed([data], *buckets, "--format", form).stdout
                    old = new.replace(b'"never-utf8"', b'"invalid"')
                    self.assertNotEqual(new, old)
                    read = report("-b", "utf8", "--format", "json", stdin_bytes=old)
                    self.assertEqual(read.stderr, "")
                    self.assert_counted(read, data)
                    path = self.file("old", old)
                    compared = run_fed([data], "--baseline", path, "--fail-if", "jsd > 0", "-b", "utf8", "--format", "json")
                    self.assertEqual((compared.status, remarks(compared)), (0, []))

    def test_without_kept_counts_the_message_names_the_remedy(self):
        path = self.file("counts.json", run_fed([b"abc"], "--format", "json").stdout)
        ended = report(path)
        self.assertEqual((ended.status, ended.stdout), (1, b""))
        self.assertIn(f"{path}:1: ", ended.stderr)
        self.assertIn("--byte-counts", ended.stderr)

    def test_a_damaged_result_is_named_and_the_others_are_reported_as_incomplete(self):
        good = run_fed([b"hello\n"], *KEEP).stdout
        document = json.loads(good)
        document["byte_counts"][3] += 1
        bad = self.file("bad.json", good + json.dumps(document).encode() + b"\n" + good[:100])
        ended = report("--format", "json", bad)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"{bad}:2: the counts do not add up", ended.stderr)
        self.assertIn(f"{bad}:3: not valid JSON", ended.stderr)
        self.assertEqual((ended.result["bytes"], ended.result["complete"]), (6, False))

    def test_if_no_result_can_be_shown_the_old_output_stays(self):
        to = self.file("out", b"old")
        for content in (b"", b"hello\n", b"{}\n", b"\x00\xff"):
            ended = report(self.file("bad", content), "-o", to)
            self.assertEqual((ended.status, ended.stdout, to.read_bytes()), (1, b"", b"old"), ended)
            self.assertIn("bad:", ended.stderr)
        for path in (self.folder / "absent", self.folder):
            ended = report(path)
            self.assertEqual((ended.status, ended.stdout), (1, b""))
            self.assertIn(f"{path}: ", ended.stderr)

    def test_a_file_that_is_no_result_has_one_error_that_says_what_to_give(self):
        lines = text(5_000) + b"\n" * 3 + b'{"level":"info"}\n'
        cases = {"text": (lines, ""), "binary": (noise(50_000), ""), "empty": (b"", " (it is empty)")}
        paths = [(self.file(name, content), hint) for name, (content, hint) in cases.items()]
        for path, hint in [*paths, (self.folder, " (it is a directory, without the total.json of a finished job)")]:
            with self.subTest(path=path):
                ended = report(path)
                self.assertEqual((ended.status, ended.stdout), (1, b""))
                self.assertEqual(ended.stderr, f"gpuhist: {path}: not a result of gpuhist{hint}; give a file that was written by "
                                 "gpuhist --byte-counts --format json\n")

    def test_of_many_damaged_lines_ten_are_reported_and_the_others_counted(self):
        good = run_fed([b"hello\n"], *KEEP).stdout
        path = self.file("bad.json", good + b"damaged\n" * 25 + good)
        ended = report("--format", "json", path)
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 12))
        messages = ended.stderr.splitlines()
        self.assertEqual(len(messages), 11, messages)
        for at, line in enumerate(messages[:10], 2):
            self.assertTrue(line.startswith(f"gpuhist: {path}:{at}: "), line)
        self.assertEqual(messages[10], f"gpuhist: {path}: errors in 15 more lines")

    def test_the_report_of_an_incomplete_result_is_incomplete(self):
        result = run(*KEEP, self.file("data", b"hello"), self.folder / "absent")
        ended = report("--format", "json", stdin_bytes=result.stdout)
        self.assertEqual((ended.status, ended.result["complete"]), (1, False))
        self.assertIn("incomplete", ended.stderr)

    def many_inputs(self, form, number):
        """Writes a kept result of that many inputs of the same text, piece by piece; returns the file."""
        document = run(*KEEP, self.file("data", b"hello\n")).result
        [entry] = document.pop("inputs")
        del entry["name"]
        for key in ("bytes", "lines"):
            document[key] *= number
        document["byte_counts"] = [count * number for count in document["byte_counts"]]
        document["buckets"] = {}
        path = self.folder / form
        with open(path, "w") as to:
            inputs = ({"name": f"logs/{i}", **entry} for i in range(number))
            if form == "json":
                to.write(json.dumps(document)[:-1] + ',"inputs":[' + json.dumps(next(inputs)))
                to.writelines("," + json.dumps(each) for each in inputs)
                to.write("]}\n")
            else:
                to.writelines(json.dumps({"kind": "input", "schema": document["schema"], **each}) + "\n" for each in inputs)
                to.write(json.dumps({**document, "input_count": number}) + "\n")
        return path

    @unittest.skipIf(SANITIZED or ENGINE != "host", "memory is that of the program alone")
    def test_memory_does_not_grow_with_the_number_of_inputs(self):
        number = 20_000
        for form in ("json", "jsonl"):
            peaks = []
            for inputs in (1, number):
                path = self.many_inputs(form, inputs)
                with open(self.folder / "out", "wb") as out:
                    process = subprocess.Popen([GPUHIST, "report", "--format", "jsonl", "-b", "letters", path], stdin=subprocess.DEVNULL, stdout=out)
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                peaks.append(usage.ru_maxrss * 1024)
            with self.subTest(format=form), open(self.folder / "out") as out:
                self.assertGreater(path.stat().st_size, 16 << 20)
                for i in range(number):
                    document = json.loads(out.readline())
                    self.assertEqual((document["name"], document["buckets"]["letters"]["e-h"]), (f"logs/{i}", 2))
                [result] = map(json.loads, out)
                self.assertEqual((result["bytes"], result["input_count"], result["complete"]), (6 * number, number, True))
                self.assertEqual(result["buckets"]["letters"]["e-h"], 2 * number)
                self.assertLess(peaks[1] - peaks[0], 8 << 20)

    @unittest.skipIf(SANITIZED or ENGINE != "host", "memory is that of the program alone")
    def test_a_document_that_is_nested_too_deeply_is_refused_early(self):
        for nested in (b"[", b'{"a":'):
            with self.subTest(nested=nested):
                result = run_fed([b"hello"], *KEEP).stdout
                path = self.file("nested", nested * (20_000_000 // len(nested)) + b"\n" + result)
                with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
                    process = subprocess.Popen([GPUHIST, "report", "--format", "json", path], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 1)
                self.assertEqual((self.folder / "err").read_text(), f"gpuhist: {path}:1: not a result: more than 64 objects and lists are "
                                 "nested; every line must be a document as gpuhist writes them\n")
                self.assertEqual(json.loads((self.folder / "out").read_bytes())["bytes"], 5)
                self.assertLess(usage.ru_maxrss * 1024, 256 << 20)  # or that of the test itself, inherited by fork

    def test_lost_and_skipped_data_is_reported_as_in_the_result(self):
        tree = self.folder / "tree"
        tree.mkdir()
        os.mkfifo(tree / "fifo")
        damaged = bytearray(zstd(text(30_000), "--check"))
        damaged[-1] ^= 1
        (tree / "damaged.zst").write_bytes(zstd(b"whole\n") + bytes(damaged) + zstd(b"more\n"))
        options = ("-r", "--skip-damage", tree)
        result = run(*KEEP, *options).stdout
        self.assertEqual((json.loads(result)["skipped"], len(json.loads(result)["inputs"][0]["lost"])), (1, 1))
        for name in FORMATS:
            with self.subTest(format=name):
                again, direct = report("--format", name, stdin_bytes=result), run("--format", name, *options)
                self.assertEqual(comparable(again), comparable(direct))

    def test_reports_are_appended_and_are_written_to_the_output(self):
        result = self.file("kept.json", run_fed([b"hello"], *KEEP).stdout)
        to = self.folder / "history.csv"
        for _ in range(2):
            self.assertEqual(report("--format", "csv", "--append", "-o", to, result).stdout, b"")
        self.assertEqual(to.read_text().count("kind,"), 1)
        self.assertEqual(to.read_text().count("total,,,bytes,5,"), 2)

    def test_after_an_incomplete_line_a_new_record_is_read_and_the_line_is_reported(self):
        for form in ("json", "jsonl"):
            with self.subTest(form=form):
                torn = run_fed([b"lost"], "--byte-counts", "--format", form).stdout[:-20]
                log = self.file("log", torn)
                self.assertEqual(run_fed([b"hello"], "--byte-counts", "--format", form, "--append", "-o", log).status, 0)
                self.assertTrue(log.read_bytes().startswith(torn + b"\n{"))
                ended = report("--format", "json", *ALL_SCHEMES, log)
                self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                self.assert_counts(ended.result, b"hello")
                self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
                self.assertIn(f"{log}:{len(torn.splitlines())}: not valid JSON", ended.stderr)

    def test_a_record_that_exceeds_the_file_size_limit_is_removed(self):
        log = self.file("log", b"")
        command = ["bash", "-c", 'ulimit -f 1; exec "$@" >> "$0"', log, GPUHIST, "--engine", ENGINE, "--byte-counts", "--format", "json"]
        for old in (b"", b"old\n"):
            log.write_bytes(old)
            ended = subprocess.run([*command, self.file("data", b"hello")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE)
            self.assertEqual((ended.returncode, ended.stderr), (1, b"gpuhist: cannot write standard output: File too large\n"))
            self.assertEqual(log.read_bytes(), old)

    def append_at_once(self, form, by_shell):
        """Four runs append records of more than 256 KiB to one file at the same time. Returns the file and the text."""
        log = self.folder / f"log.{form}"
        all_paths = [[self.file(f"{number}-{each}", text(300, 100 * number + each)) for each in range(120)] for number in range(4)]
        command = [GPUHIST, "--engine", ENGINE, *ALL_SCHEMES, "--byte-counts", "--format", form]
        running = []
        for paths in all_paths:
            snapshots = [] if by_shell else ["--snapshot-every", "8KiB"]
            with open(log, "ab") as out:
                to = [] if by_shell else ["--append", "-o", log]
                running.append(subprocess.Popen([*command, *snapshots, *to, *paths], stdin=subprocess.DEVNULL, stdout=out))
        self.assertEqual([each.wait(PATIENCE) for each in running], [0] * 4)
        return log, b"".join(path.read_bytes() for paths in all_paths for path in paths)

    def test_records_of_runs_that_append_to_one_file_at_the_same_time_are_all_read(self):
        for form in ("jsonl", "json"):
            for by_shell in (False, True):
                with self.subTest(form=form, by_shell=by_shell):
                    log, data = self.append_at_once(form, by_shell)
                    self.assertGreater(log.stat().st_size, 4 * 256 * 1024)
                    self.assert_counted(report("--format", "json", *ALL_SCHEMES, log), data)
                    log.unlink()

    def test_runs_that_append_csv_at_the_same_time_write_one_header(self):
        log, data = self.append_at_once("csv", False)
        rows = log.read_bytes().splitlines()
        header = b"kind,input,scheme,bucket,count,share"
        self.assertEqual((rows[0], rows.count(header)), (header, 1))
        sizes = [int(row.split(b",")[4]) for row in rows if row.startswith(b"total,,,bytes,")]
        self.assertEqual((len(sizes), sum(sizes)), (4, len(data)))

    def test_reports_that_append_csv_at_the_same_time_write_one_header(self):
        result = self.file("kept.json", run_fed([b"hello"], *KEEP).stdout)
        log = self.file("log.csv", b"")
        with open(log, "r+b") as lock_file:
            fcntl.lockf(lock_file, fcntl.LOCK_EX)
            running = [Running("report", "--format", "csv", "--append", "-o", log, result, engine=None) for _ in range(3)]
            for each in running:
                wait_until(lambda: each.waits_for_a_lock() or each.process.poll() is not None)
            fcntl.lockf(lock_file, fcntl.LOCK_UN)
        for each in running:
            with each:
                self.assertEqual(each.finish().status, 0)
        rows = log.read_text().splitlines()
        self.assertEqual((rows.count("kind,input,scheme,bucket,count,share"), rows.count("total,,,bytes,5,")), (1, 3))

    def test_a_csv_file_with_an_incomplete_header_gets_a_new_header(self):
        log = self.file("log.csv", b"kind,inp")
        self.assertEqual(run("--format", "csv", "--append", "-o", log, self.file("data", b"hello")).status, 0)
        self.assertEqual(log.read_text().splitlines()[:3], ["kind,inp", "kind,input,scheme,bucket,count,share", "total,,,bytes,5,"])

    def test_a_descriptor_of_the_shell_is_appended_to_like_the_file(self):
        result = self.file("kept.json", run_fed([b"hello"], *KEEP).stdout)
        log = self.folder / "log.csv"
        command = [GPUHIST, "report", "--format", "csv", "--append", "-o", "fd:3", result]
        for _ in range(2):
            subprocess.run(["bash", "-c", f'exec "$@" 3>> {log}', "-", *command], check=True)
            with log.open("ab") as torn:
                torn.write(b"total,,,torn")
        rows = log.read_text().splitlines()
        self.assertEqual((rows.count("kind,input,scheme,bucket,count,share"), rows.count("total,,,torn")), (1, 2), rows)
        self.assertEqual((rows.count("total,,,bytes,5,"), rows[-1]), (2, "total,,,torn"))

    def test_a_complete_result_with_an_incomplete_input_is_damaged(self):
        paths = [self.file("a", b"hello\n"), self.folder / "absent"]
        for form in ("json", "jsonl"):
            good = run("--byte-counts", "--format", form, paths[0]).stdout
            counted = run("--byte-counts", "--format", form, *paths).stdout
            lines = [json.loads(line) for line in (in_order_of(paths, counted) if form == "jsonl" else counted).splitlines()]
            self.assertIs(lines[-1]["complete"], False)
            lines[-1]["complete"] = True
            bad = self.file(f"bad.{form}", good + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            place = f'{bad}:{2 if form == "json" else 5}: "complete" is true, but that of inputs[1] ("{paths[1]}") is false'
            ended = report("--format", "json", bad)
            self.assertEqual((ended.status, ended.result["complete"], ended.result["bytes"]), (1, False, 6), ended)
            self.assertIn(place, ended.stderr)
            ended = run("--baseline", bad, "--measures", "jsd", paths[0])
            self.assertNotEqual(ended.status, 0)
            self.assertIn(place, ended.stderr)


class AlternatingRuns(CommandTest):
    """Lines of several runs that alternate in one file are read like separate runs, in every order."""

    def runs(self, number):
        """The lines of that many runs over several inputs each, and the texts of these inputs."""
        all_lines, data = [], []
        for each in range(number):
            paths = [self.file(f"{each}-{i}", text(200, 100 * each + i)) for i in range(2 + each % 3)]
            more = ("--alert-if", "bytes > 1", "--snapshot-every", "1h") if each % 2 else ()
            all_lines.append(run("--byte-counts", "-b", "letters", "--format", "jsonl", *more, *paths).stdout.splitlines(True))
            data.append([path.read_bytes() for path in paths])
        return all_lines, data

    @staticmethod
    def merged(chosen, all_lines):
        """All lines in a random order in which the lines of each run keep their order."""
        remaining = [list(lines) for lines in all_lines]
        out = []
        while any(remaining):
            out.append(chosen.choice([lines for lines in remaining if lines]).pop(0))
        return out

    @staticmethod
    def unnamed(lines):
        """Lines as older versions wrote them."""
        def without(line):
            document = json.loads(line)
            del document["run"]
            return json.dumps(document).encode() + b"\n"
        return [without(line) for line in lines]

    def test_every_line_of_a_run_has_its_name_and_no_other_run_has_that_name(self):
        names = set()
        data = text(60_000)
        for options in ((), ("--snapshot-every", "8KiB", "--chunk-size", "4KiB"), ("--window", "8KiB", "--alert-if", "bytes > 1")):
            for _ in range(2):
                lines = run_fed([data], "--format", "jsonl", *options).documents
                (name,) = {line["run"] for line in lines}
                self.assertRegex(name, "^[0-9a-f]{16}$")
                self.assertNotIn(name, names)
                names.add(name)
            self.assertGreaterEqual(len(lines), 2)
        result = run_fed([data], "--byte-counts", "--format", "jsonl")
        (name,) = {line["run"] for line in report("--format", "jsonl", "--alert-if", "bytes > 1", stdin_bytes=result.stdout).documents}
        self.assertNotIn(name, names | {result.documents[0]["run"]})

    def test_lines_of_runs_are_read_in_any_order_that_keeps_the_order_of_each_run(self):
        all_lines, data = self.runs(5)
        whole = b"".join(each for texts in data for each in texts)
        chosen = random.Random(4)
        for _ in range(8):
            lines = self.merged(chosen, all_lines)
            ended = report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(lines))
            self.assert_counted(ended, whole)
            results = [json.loads(line)["run"] for line in lines if json.loads(line)["kind"] == "result"]
            names = [json.loads(line)["name"] for name in results for line in lines
                     if (json.loads(line)["run"], json.loads(line)["kind"]) == (name, "input")]
            self.assertEqual([each["name"] for each in ended.result["inputs"]], names)
            self.assertEqual(len(names), sum(map(len, data)))

    def test_a_record_that_is_in_the_file_twice_counts_twice(self):
        all_lines, data = self.runs(1)
        ended = report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(all_lines[0] * 2))
        self.assert_counted(ended, b"".join(data[0]) * 2)

    def test_a_damaged_line_affects_only_its_run_and_is_reported_once(self):
        all_lines, data = self.runs(4)
        lines = self.merged(random.Random(8), all_lines)
        for at, line in enumerate(lines):
            document = json.loads(line)
            if document["kind"] not in ("input", "result"):
                continue
            hurt = next(i for i, own in enumerate(all_lines) if line in own)
            undamaged = b"".join(each for i, texts in enumerate(data) if i != hurt for each in texts)
            other = json.dumps({**document, "bytes": document["bytes"] + 1}).encode() + b"\n"
            for damaged in (line[: len(line) // 2] + b"\n", other):
                with self.subTest(line=at, kind=document["kind"], torn=damaged != other):
                    path = self.file("log", b"".join([*lines[:at], damaged, *lines[at + 1 :]]))
                    ended = report("--format", "json", *ALL_SCHEMES, path)
                    self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
                    self.assert_counts(ended.result, undamaged)
                    self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
                    self.assertIn(f"{path}:{at + 1}: ", ended.stderr)

    def test_missing_lines_are_reported_with_their_run(self):
        all_lines, data = self.runs(2)
        name = json.loads(all_lines[0][0])["run"]
        ended = report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(all_lines[1][:1] + all_lines[0][1:] + all_lines[1][1:]))
        self.assertEqual(ended.status, 1)
        self.assert_counts(ended.result, b"".join(data[1]))
        self.assertIn(f'standard input:3: "input_count" is 2, but there is 1 line of inputs of run "{name}" before it', ended.stderr)
        ended = report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(all_lines[0][:-1] + all_lines[1]))
        self.assertEqual(ended.status, 1)
        self.assert_counts(ended.result, b"".join(data[1]))
        self.assertIn(f'ends with 2 lines of inputs of run "{name}", without their result', ended.stderr)

    def test_lines_without_a_name_are_read_in_order_and_cannot_alternate(self):
        all_lines, data = self.runs(3)
        older = [self.unnamed(lines) for lines in all_lines]
        self.assert_counted(report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(sum(older, []))), b"".join(sum(data, [])))
        mixed = self.merged(random.Random(2), [older[0], all_lines[1], all_lines[2]])
        self.assert_counted(report("--format", "json", *ALL_SCHEMES, stdin_bytes=b"".join(mixed)), b"".join(sum(data, [])))
        alternating = [older[0][0], older[2][0], older[0][1], older[0][2], *older[2][1:]]
        ended = report("--format", "json", stdin_bytes=b"".join(alternating))
        self.assertEqual((ended.status, ended.stdout), (1, b""))
        for line in (4, len(alternating)):
            self.assertRegex(ended.stderr, f'standard input:{line}: "input_count" is .* cannot be separated .*: keep each run in a file of its own')

    def test_too_many_runs_at_once_are_an_error(self):
        (lines,), (texts,) = self.runs(1)
        def copies(line, names):
            return [json.dumps({**json.loads(line), "run": str(name)}).encode() + b"\n" for name in names]
        for number in (256, 260):
            path = self.file("log", b"".join(copies(lines[0], range(number)) + copies(lines[1], range(number)) + copies(lines[2], range(number))))
            ended = report("--format", "json", path)
            self.assertEqual(ended.result["bytes"], 256 * len(b"".join(texts)))
            self.assertEqual(ended.status, 0 if number == 256 else 1, ended.stderr)
            self.assertEqual("lines of 256 other runs wait for their results" in ended.stderr, number > 256)


if __name__ == "__main__":
    main()
