"""Units and windows of batch jobs (--each, --where, --top, --distribution-of, --window --per-input): those of an ordinary
run, in the order of the manifest, also of a job that is killed, continued, divided and merged. Compared with an oracle
that splits the text in Python."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib

from support import ENGINE, GPUHIST, PATIENCE, SAMPLE, SANITIZED, Running, main, run, sampled, tar, text, zstd
from test_batch import KILLS, BatchTest, run_batch
from test_batch_large import records
from test_units import digits, split_lines, split_parts, unit_lines

UNITS = ("units.jsonl", "windows.jsonl")
MORE_UNITS = 102  # type_of_more_units
LINES = ("--each", "line", "--where", "digit > 0.1", "--top", "20:words / bytes", "--distribution-of", "bytes")
WINDOWS = ("--window", "10KiB", "--step", "5KiB", "--per-input", "--each", "window", "--where", "digit > 0.06", "--top", "5:digit", "--distribution-of", "lines")
WITHOUT_RUN = ("run", "start_time", "end_time")


def documents(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def has_digits(data):
    return digits(data) / len(data) > 0.1


class UnitJobTest(BatchTest):
    def results(self, folder=None):
        folder = folder or self.out
        units = {name: (folder / name).read_bytes() for name in UNITS if (folder / name).exists()}
        return {**super().results(folder), **units}

    def undisturbed(self, *options):
        """The results of a job that is not disturbed, and the seconds that it takes."""
        out = self.folder / "undisturbed"
        start = time.monotonic()
        self.batch(*options, out=out, status=1)
        return self.results(out), time.monotonic() - start

    def continue_to_the_end(self, *arguments):
        ended = run_batch(*arguments, "--output-dir", self.out)
        self.assertEqual(ended.status, 1, ended)

    def remove_job(self):
        for each in sorted(self.out.rglob("*"), reverse=True) if self.out.exists() else ():
            each.unlink() if each.is_file() else each.rmdir()

    def ordinary(self, *options):
        """The lines of an ordinary run."""
        return run("-r", "--format", "jsonl", *options, self.inputs).documents


class Results(UnitJobTest):
    def assert_lines(self, texts, split=split_lines, options=("--each", "line")):
        """`texts`: name and text of each input, in the order of the manifest."""
        self.batch(self.inputs, *options, "--where", "digit > 0.1")
        expected = [(name, *unit) for name, content in texts for unit in unit_lines(split(content)) if has_digits(unit[3])]
        found = documents(self.out / "units.jsonl")
        self.assertEqual([(os.path.relpath(each["name"], self.inputs), each["unit"], each["line"], each["offset"], each["bytes"]) for each in found],
                         [(name, number, line, offset, len(content)) for name, number, line, offset, content in expected])
        self.assertEqual([each["buckets"]["classes"]["digit"] for each in found], [digits(content) for *_, content in expected])
        self.assertTrue(all("run" not in each for each in found))
        seen = [unit for _, content in texts for unit in split(content)]
        units = json.loads((self.out / "total.json").read_bytes())["units"]
        self.assertEqual((units["seen"], units["bytes"], units["selected"], units["selected_bytes"]),
                         (len(seen), sum(map(len, seen)), len(expected), sum(len(content) for *_, content in expected)))

    def texts(self):
        scale = 3 if SAMPLE else 10
        made = [("a.log", text(300_000, 1)), ("b.zst", text(scale * 300_000, 2)), ("c.tar", None), ("d", b""), ("e", text(scale * 900_000, 4)), ("f.gz", text(100, 5))]
        members = {"one": text(40_000, 6), "two": text(50_000, 7)}
        content = {"b.zst": lambda data: b"".join(zstd(each) for each in split_parts(data, 700_001)), "f.gz": lambda data: zlib.compress(data, wbits=31)}
        for name, data in made:
            self.input(name, tar(members) if data is None else content.get(name, bytes)(data))
        return [each for name, data in made for each in ([(name, data)] if data is not None else [(f"{name}/{member}", members[member]) for member in members])]

    def test_selected_lines_are_those_of_each_input_in_the_order_of_the_manifest(self):
        self.assert_lines(self.texts())

    def test_parts_of_a_fixed_size_are_those_of_each_input(self):
        self.assert_lines(self.texts(), lambda data: split_parts(data, 1000), ("--each", "1000"))

    def test_units_are_those_of_an_ordinary_run(self):
        self.archives()
        order = {each["name"]: number for number, each in enumerate(run("-r", "--format", "json", self.inputs).result["inputs"])}
        jobs = (LINES, ("--each", "line", "--preset", "gopher"), ("--each", "line", "--top", "3:bytes"), ("--each", "record", "--delimiter", "e", "--where", "bytes > 90", "--byte-counts", "--measures", "entropy"),
                ("--each", "input", "--where", "digit > 0.1", "--top", "7:entropy", "--distribution-of", "bytes"))
        for number, options in enumerate(sampled(jobs, 2)):
            with self.subTest(options=options):
                out = self.folder / f"out-{number}"
                self.batch(self.inputs, *options, out=out, status=1)
                lines = self.ordinary(*options)
                expected = sorted((each for each in lines if each["kind"] == "unit"), key=lambda each: (order[each["name"]], each["unit"]))
                found = documents(out / "units.jsonl") if (out / "units.jsonl").exists() else []
                self.assertEqual(found, [{key: value for key, value in each.items() if key != "run"} for each in expected])
                self.assertEqual(json.loads((out / "total.json").read_bytes())["units"], lines[-1]["units"])

    def test_windows_are_those_of_an_ordinary_run_and_numbered_in_their_input(self):
        self.archives()
        self.batch(self.inputs, *WINDOWS, status=1)
        lines = self.ordinary(*WINDOWS)
        by_source = {}
        for each in lines:
            if each["kind"] == "window":
                by_source.setdefault(each["source"], []).append(each)
        index_of = {}  # in the input, by the index in the run
        windows = []
        for name in [each["name"] for each in documents(self.out / "files.jsonl")]:
            for number, each in enumerate(by_source.pop(name, [])):
                index_of[each["index"]] = number
                windows.append({**{key: value for key, value in each.items() if key not in WITHOUT_RUN}, "index": number})
        self.assertEqual(by_source, {})
        found = documents(self.out / "windows.jsonl")
        self.assertEqual([each for each in found if each["kind"] == "window"], windows)
        units = [each for each in lines if each["kind"] == "unit"]
        key = lambda each: (each["name"], each["offset"])
        self.assertEqual(sorted(documents(self.out / "units.jsonl"), key=key),
                         sorted(({**{key: value for key, value in each.items() if key != "run"}, "unit": index_of[each["unit"]]} for each in units), key=key))
        total = json.loads((self.out / "total.json").read_bytes())["units"]
        expected = lines[-1]["units"]
        for each in expected["top"]:
            each["unit"] = index_of[each["unit"]]
        self.assertEqual(total, expected)
        # every window that was not verified has one verdict, after it
        waiting = {}
        for each in found:
            if each["kind"] == "window" and not each["verified"]:
                waiting[each["source"], each["index"]] = each
            for index in range(each.get("first_index", 0), each.get("last_index", -1) + 1):
                waiting.pop((each["source"], index))
        self.assertEqual(waiting, {})

    def test_an_input_that_differs_from_the_manifest_has_no_units(self):
        self.input("a", b"1\n" * 5)
        self.input("m.tar", tar({"x": b"2\n", "y": b"3\n"}))
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        for name in ("a", "m.tar"):
            os.utime(self.inputs / name, ns=(1, 1))
        self.input("a", b"1\n" * 6)
        options = ("--each", "line", "--where", "digit > 0", "--top", "3:bytes", "--distribution-of", "bytes", "--window", "4B", "--per-input")
        self.batch("--manifest", manifest, *options, status=1)
        total = json.loads((self.out / "total.json").read_bytes())["units"]
        self.assertEqual((total["seen"], total["top"], total["distribution"]["units"]), (0, [], 0))
        self.assertEqual([self.results()[name] for name in UNITS], [b"", b""])

    def test_members_with_the_same_name_have_their_own_units(self):
        one, other = tar({"x": b"1\n2\n"}), tar({"x": b"33\n"})
        self.input("m.tar", one[:1024] + other)  # a header and a block of text each
        self.batch(self.inputs, "--each", "line", "--where", "digit > 0")
        self.assertEqual([(each["unit"], each["offset"], each["bytes"]) for each in documents(self.out / "units.jsonl")], [(1, 0, 2), (2, 2, 2), (1, 0, 3)])

    def test_no_unit_is_selected(self):
        self.input("a", b"abc\n")
        self.batch(self.inputs, "--each", "line", "--where", "digit > 0")
        self.assertEqual((self.out / "units.jsonl").read_bytes(), b"")
        units = json.loads((self.out / "total.json").read_bytes())["units"]
        self.assertEqual((units["seen"], units["selected"]), (1, 0))

    def test_equal_ranks_are_in_the_order_of_the_manifest(self):
        for number in range(30):
            self.input(f"{number:02}", b"12\n" * (1 + number % 3))
        self.batch(self.inputs, "--each", "line", "--top", "25:bytes")
        top = json.loads((self.out / "total.json").read_bytes())["units"]["top"]
        expected = [(f"{number:02}", unit) for number in range(30) for unit in range(1, 2 + number % 3)][:25]
        self.assertEqual([(os.path.basename(each["name"]), each["unit"]) for each in top], expected)

    def test_fields_of_jsonl_are_measured(self):
        lines = [{"text": "ab 12"}, {"text": "77"}, {"other": 1}, {"text": "xyz"}]
        self.input("a.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in lines))
        ended = self.batch(self.inputs, "--each", "line", "--jsonl-field", "text", "--where", "digit > 0.3", "--top", "2:bytes")
        self.assertEqual([(each["unit"], each["field_bytes"]) for each in documents(self.out / "units.jsonl")], [(1, 5), (2, 2)])
        units = json.loads((self.out / "total.json").read_bytes())["units"]
        self.assertEqual((units["without_field"], [each["field_bytes"] for each in units["top"]]), (1, [5, 3]))
        self.assertIn("line 3 is without field", ended.stderr)

    def test_options_of_units_are_keys_of_a_job_file(self):
        self.input("a", b"abc\n1234\n")
        job = self.folder / "job.toml"
        job.write_text(f'inputs = ["{self.inputs}"]\noutput_dir = "{self.out}"\neach = "line"\nwhere = "digit > 0.5"\ntop = "1:bytes"\n'
                       'distribution-of = "bytes"\nwindow = "4B"\nper_input = true\n')
        ended = run_batch(job)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual([each["offset"] for each in documents(self.out / "units.jsonl")], [4])
        self.assertEqual([each["bytes"] for each in documents(self.out / "windows.jsonl")], [4, 4, 1])

    def test_many_selected_lines_need_little_memory(self):
        self.input("many", b"1\n" * 400_000)
        # by a small process: the memory of the one that starts the program counts as its own
        measured = "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:]).returncode\nprint(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        ended = subprocess.run([sys.executable, "-c", measured, GPUHIST, "batch", "--engine", "host", "-T", "2", "--memory-limit", "64MiB", self.inputs, "--output-dir", self.out, "--each", "line", "--where", "digit > 0"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        status, peak = map(int, ended.stdout.split())
        self.assertEqual(status, 0)
        if not SANITIZED:
            self.assertLess(peak, 96 << 10)
        self.assertEqual((self.out / "units.jsonl").read_bytes().count(b"\n"), 400_000)


class Refused(UnitJobTest):
    def test_windows_that_depend_on_time_or_order_are_refused_with_the_remedy(self):
        self.input("a", b"abc")
        for options, message in (
            (("--window", "1MiB"), "give --per-input"),
            (("--window", "1s", "--per-input"), "give a size of text"),
            (("--each", "window", "--where", "digit > 0"), "requires --window"),
            (("--window", "1MiB", "--per-input", "--fail-if", "digit > 0"), "--watch totals,inputs"),
            (("--top", "5"), "N:FORMULA"),
            (("--each", "line", "--top", "1001:bytes"), "at most 1000"),
            (("--where", "digit > 0"), "--each"),
        ):
            with self.subTest(options=options):
                ended = self.batch(self.inputs, *options, status=2)
                self.assertIn(message, ended.stderr)
                self.assertFalse(self.out.exists())

    def test_state_of_other_units_is_refused(self):
        self.input("a", b"abc")
        self.batch(self.inputs, *LINES)
        for options in (LINES[:4], ("--each", "record", *LINES[2:]), (*LINES[:3], "digit > 0.2", *LINES[4:]), (*LINES, "--window", "1MiB", "--per-input"), ()):
            with self.subTest(options=options):
                self.assertIn("of another job", self.batch(self.inputs, *options, status=1).stderr)
        self.batch(self.inputs, *LINES)


class Killed(UnitJobTest):
    def kill(self, *options):
        expected, duration = self.undisturbed(*options)
        chosen = random.Random(20)
        kills = 0
        while kills < KILLS:
            self.remove_job()
            for _ in range(3):
                with Running("batch", "--engine", ENGINE, *options, "--output-dir", self.out, engine=None) as running:
                    time.sleep(chosen.uniform(0, duration))
                    kills += running.process.poll() is None
                    running.process.send_signal(signal.SIGKILL)
                    running.finish()
            self.continue_to_the_end(*options)
            self.assertEqual(self.results(), expected)

    def test_a_job_with_units_that_is_killed_has_the_results_of_an_undisturbed_one(self):
        self.archives()
        self.kill("-T", "2", *LINES, self.inputs)

    def test_a_job_with_windows_that_is_killed_has_the_results_of_an_undisturbed_one(self):
        self.archives()
        self.kill("-T", "2", *WINDOWS, self.inputs)

    def test_state_and_lines_that_end_anywhere_are_continued(self):
        """What a power failure leaves: the files end anywhere, or in bytes that were never written."""
        self.archives()
        options = (*LINES, "--window", "100KiB", "--per-input", self.inputs)
        expected, _ = self.undisturbed(*options)
        self.batch(*options, status=1)
        folder = self.out / ".gpuhist-batch"
        whole = {name: (folder / name).read_bytes() for name in ("state", "units", "windows")}
        begin = whole["state"].index(b"\n") + 1
        sync = whole["state"].rindex((101).to_bytes(4, "little"))  # of the last record, which is one of synchronization
        chosen = random.Random(5)
        for _ in range(KILLS):
            state = whole["state"][: chosen.randrange(begin, sync)]
            (folder / "state").write_bytes(state + chosen.choice((b"", bytes(300), chosen.randbytes(50))))
            for name in ("units", "windows"):
                lines = whole[name]
                if b"\x65\0\0\0" not in state[begin:]:  # nothing was synchronized
                    lines = lines[: chosen.randrange(len(lines))] + bytes(chosen.choice((0, 5000)))
                (folder / name).write_bytes(lines)
            for name in expected:
                (self.out / name).unlink()
            self.continue_to_the_end(*options)
            self.assertEqual(self.results(), expected)

    def test_lines_that_no_record_names_are_removed(self):
        self.input("a", b"1\n2\n")
        self.batch(self.inputs, "--each", "line", "--where", "digit > 0")
        units = self.out / ".gpuhist-batch" / "units"
        lines = units.read_bytes()
        units.write_bytes(lines + b"lost\n" * 1000)
        self.batch(self.inputs, "--each", "line", "--where", "digit > 0")
        self.assertEqual((units.read_bytes(), (self.out / "units.jsonl").read_bytes()), (lines, lines))

    def test_damaged_lines_are_named(self):
        self.input("a", b"1\n2\n")
        self.batch(self.inputs, "--each", "line", "--where", "digit > 0")
        units = self.out / ".gpuhist-batch" / "units"
        units.write_bytes(units.read_bytes().replace(b'"offset":2', b'"offset":3'))
        ended = self.batch(self.inputs, "--each", "line", "--where", "digit > 0", status=1)
        self.assertIn("units: is damaged", ended.stderr)
        self.assertIn('"offset":2', (self.out / "units.jsonl").read_text())

    def test_a_signal_ends_the_run_and_the_next_one_continues(self):
        self.archives()
        # the thread sanitizer takes 25 s of processor time for 5 MB, and PATIENCE is 60 s on a busy machine
        size = 2_000_000 if SANITIZED else 5_000_000 if SAMPLE else 20_000_000
        self.input("zz-large", text(size, 77))
        options = (*LINES, self.inputs, "-T", "1")
        with Running("batch", "--engine", ENGINE, *options, "--output-dir", self.out, engine=None) as running:
            units = self.out / ".gpuhist-batch" / "units"
            while running.process.poll() is None and not (units.exists() and units.stat().st_size > 0):
                time.sleep(0.001)
            running.process.send_signal(signal.SIGTERM)
            self.assertIn(running.finish().status, (-signal.SIGTERM, 1))
        self.continue_to_the_end(*options)
        self.assertEqual(self.results(), self.undisturbed(*options)[0])

    def test_lines_that_cannot_be_written_end_the_run_and_the_state_stays(self):
        self.archives()
        expected, _ = self.undisturbed(*LINES, self.inputs)
        for blocks in ("16", "64", "200"):
            with self.subTest(blocks=blocks):
                self.remove_job()
                command = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-", GPUHIST, "batch", "--engine", ENGINE, *LINES, self.inputs, "--output-dir", self.out]
                ended = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE)
                self.assertEqual(ended.returncode, 1)
                self.assertIn(b"File too large", ended.stderr)
                self.assertFalse((self.out / "total.json").exists())
                self.continue_to_the_end(*LINES, self.inputs)
                self.assertEqual(self.results(), expected)


class LargeRecords(UnitJobTest):
    """The groups of one input need several records of the state, more than 64 MiB together."""

    OPTIONS = ("--group-by", "field:1", "--then-by", "field:2", "--memory-limit", "64MiB")

    def setUp(self):
        super().setUp()
        self.state = self.out / ".gpuhist-batch" / "state"
        keys = 7_000 if SANITIZED else 24_000
        chosen = random.Random(6)
        padding = b"x" * 2980
        self.input("few", b"a b\nc d\n")
        self.input("many", b"".join(b"%d%s y\n" % (chosen.randrange(10 * keys), padding) for _ in range(keys)))
        self.input("more", b"a b\nc d\n")

    def total(self):
        return json.loads((self.out / "total.json").read_bytes())

    def test_a_job_that_ends_anywhere_in_them_has_the_groups_of_a_run_once(self):
        self.batch(self.inputs, *self.OPTIONS)
        whole = run("-r", "--format", "json", *self.OPTIONS, self.inputs).result
        expected = self.total()
        for name in ("groups", "number_of_groups", "other_groups"):
            self.assertTrue(expected[name] == whole[name], name)  # the keys are long
        state = self.state.read_bytes()
        kinds = [(end, kind) for end, _, kind in records(state)]
        more = [number for number, (_, kind) in enumerate(kinds) if kind == MORE_UNITS]
        self.assertGreater(len(more), 0 if SANITIZED else 3)
        self.assertGreater(kinds[more[-1]][0] - kinds[more[0] - 2][0], (1 << 20) if SANITIZED else (64 << 20))
        self.assertLess(max(end - before for (before, _), (end, _) in zip(kinds, kinds[1:])), 24 << 20)
        cuts = [kinds[number][0] for number in (more[0] - 2, more[0] - 1, more[0], more[-1])]  # before, after the first one, inside, at the end
        for cut in [*cuts, cuts[1] + 5, cuts[2] - 1, cuts[3] - 1]:
            with self.subTest(cut=cut, of=len(state)):
                self.state.write_bytes(state[:cut])
                self.batch(self.inputs, *self.OPTIONS)
                self.assertTrue(self.total() == expected)
                if cut == cuts[2]:  # the records of two runs: those of the first one do not count
                    again = [kind for _, _, kind in records(self.state.read_bytes())]
                    self.assertGreater(again.count(MORE_UNITS), len(more))
                    self.batch(self.inputs, *self.OPTIONS)
                    self.assertTrue(self.total() == expected)


class Shards(UnitJobTest):
    def setUp(self):
        super().setUp()
        self.archives()
        self.manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", self.manifest).status, 0)

    def shard(self, number, count, *options, out=None):
        ended = run_batch("--manifest", self.manifest, *options, "--shard", f"{number}/{count}", "--output-dir", out or self.out)
        self.assertIn(ended.status, (0, 1), ended)

    def merge(self, *arguments, status=1):
        ended = run("merge", *arguments, engine=None)
        self.assertEqual(ended.status, status, ended)
        return ended

    def test_shards_in_any_order_and_twice_are_one_run(self):
        for options in (LINES, WINDOWS, ("--each", "input", "--where", "digit > 0.1", "--top", "5:bytes")):
            with self.subTest(options=options):
                expected, _ = self.undisturbed("--manifest", self.manifest, *options)
                order = [*range(1, 9), 3, 5]
                random.Random(2).shuffle(order)
                for number in order:
                    self.shard(number, 8, *options)
                for _ in range(2):
                    self.merge(self.out)
                    self.assertEqual(self.results(), expected)
                self.out, self.folder = self.folder / "next" / "out", self.folder / "next"

    def test_shards_of_several_machines_are_merged_into_another_folder(self):
        expected, _ = self.undisturbed("--manifest", self.manifest, *LINES)
        folders = [self.folder / f"node-{number}" for number in (1, 2, 3)]
        for number, folder in enumerate(folders, 1):
            self.shard(number, 3, *LINES, out=folder)
        self.merge(*folders, "--output-dir", self.out)
        self.assertEqual(self.results(), expected)

    def test_lines_of_a_run_that_did_not_publish_are_replaced(self):
        """A run was killed between the links to its lines and to its state, and its state was lost."""
        expected, _ = self.undisturbed("--manifest", self.manifest, *LINES)
        self.shard(1, 2, *LINES)
        (self.out / "parts" / "1-of-2").unlink()
        units = self.out / "parts" / "1-of-2.units"
        units.unlink()
        units.write_bytes(b"other lines\n")
        for number in (1, 2):
            self.shard(number, 2, *LINES)
        self.merge(self.out)
        self.assertEqual(self.results(), expected)

    def test_a_part_stays_as_it_is_when_its_state_is_lost_and_it_runs_again(self):
        self.shard(1, 2, *LINES)
        part = self.out / "parts" / "1-of-2.units"
        before = part.read_bytes()
        (self.out / ".gpuhist-batch" / "1-of-2" / "state").unlink()
        self.shard(1, 2, *LINES, "-T", "1")
        self.assertEqual(part.read_bytes(), before)

    def test_a_part_without_its_lines_is_named(self):
        for number in (1, 2):
            self.shard(number, 2, *LINES)
        (self.out / "parts" / "2-of-2.units").unlink()
        self.assertIn("2-of-2.units", self.merge(self.out).stderr)
        self.assertFalse((self.out / "total.json").exists())


if __name__ == "__main__":
    main()
