"""`gpuhist batch` and `gpuhist merge`: a job that is killed, continued or divided has the results of one run."""

import fcntl
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time
import unittest

from support import ENGINE, GPUHIST, PATIENCE, SAMPLE, SANITIZED, THREAD_SANITIZED, CommandTest, Running, counts_of, main, noise, oracle, run, tar, text, wait_until, zstd

KILLS = int(os.environ.get("TEST_REPEATS", "4" if SANITIZED or SAMPLE else "12"))
RESULTS = ("files.jsonl", "errors.jsonl", "total.json")


def with_log(entry, tail, size=3000):
    """An entry of a manifest whose log is known by these hashes."""
    hashes = b'"plain":true,"head":"AAAAAAAAAAAAAAAAAAAAAA=="' + b',"tail":"AAAAAAAAAAAAAAAAAAAAAA=="' * tail
    return entry.replace(b'"size":3000', b'"log":{' + hashes + b'},"size":%d' % size)


def run_batch(*arguments, **options):
    return run("batch", "--engine", ENGINE, *arguments, engine=None, **options)


class BatchTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir()
        self.out = self.folder / "out"

    def input(self, name, data):
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def archives(self):
        """Inputs of all kinds, two of them damaged. Returns the texts that are counted."""
        plain = {f"plain-{number:03}": text(1_000 + 37 * number, number) for number in range(80)}
        for name, data in plain.items():
            self.input(name, data)
        large = text(3_000_000, 5)
        self.input("large", large)
        frames = [text(200_000, 100 + number) for number in range(12)]
        self.input("frames.zst", b"".join(zstd(each, "--check") for each in frames))
        self.input("one.zst", zstd(text(900_000, 7)))
        self.input("gzip.gz", subprocess.run(["gzip", "-c"], input=text(500_000, 8), stdout=subprocess.PIPE, check=True).stdout)
        members = {f"m{number}": text(30_000, 200 + number) for number in range(30)}
        self.input("members.tar.zst", zstd(tar(members)))
        damaged = bytearray(zstd(text(300_000, 9), "--check"))
        damaged[-1] ^= 1
        self.input("damaged.zst", bytes(damaged))
        self.input("torn.tar", tar({"whole": b"abc\n", "torn": noise(5_000)})[:3_000])
        self.input("empty", b"")
        return [*plain.values(), large, *frames, text(900_000, 7), text(500_000, 8), *members.values(), b"abc\n"]

    def batch(self, *arguments, out=None, status=0, **options):
        ended = run_batch(*arguments, "--output-dir", out or self.out, **options)
        self.assertEqual(ended.status, status, ended)
        return ended

    def results(self, folder=None):
        return {name: ((folder or self.out) / name).read_bytes() for name in RESULTS}


class Results(BatchTest):
    def test_the_total_is_that_of_the_text(self):
        texts = self.archives()
        self.batch(self.inputs, status=1)
        total = json.loads((self.out / "total.json").read_bytes())
        expected = oracle(b"".join(texts))
        self.assertEqual({**counts_of(total), "buckets": total["buckets"]["classes"]}, {**expected, "buckets": expected["buckets"]["classes"]})

    def test_the_files_are_those_of_an_ordinary_run_in_the_order_of_the_manifest(self):
        self.archives()
        self.batch(self.inputs, "-b", "letters,utf8", "--byte-counts", "--measures", "entropy", status=1)
        whole = run("-r", "--format", "json", "-b", "letters,utf8", "--byte-counts", "--measures", "entropy", self.inputs).result
        lines = [json.loads(line) for line in (self.out / "files.jsonl").read_bytes().splitlines()]
        self.assertEqual([{key: value for key, value in each.items() if key not in ("kind", "schema")} for each in lines], whole["inputs"])
        failed = [json.loads(line)["name"] for line in (self.out / "errors.jsonl").read_bytes().splitlines()]
        self.assertEqual(failed, [each["name"] for each in whole["inputs"] if not each["complete"]])
        total = json.loads((self.out / "total.json").read_bytes())
        self.assertEqual({key: total[key] for key in total if key != "input_count"}, {key: whole[key] for key in whole if key != "inputs"})
        job = json.loads((self.out / "job.json").read_bytes())
        self.assertEqual((job["inputs"], job["finished"], job["complete"]), (88, 88, False))

    def test_a_finished_job_counts_nothing_again(self):
        self.input("a", b"hello\n")
        self.batch(self.inputs)
        before = self.results()
        (self.inputs / "a").unlink()
        self.input("new", b"new\n")
        self.assertIn("1 of 1 input was counted by an earlier run", self.batch(self.inputs).stderr)
        self.assertEqual(self.results(), before)

    def test_files_of_the_folder_of_the_job_are_no_inputs(self):
        self.input("a", b"hello\n")
        out = self.inputs / "out"
        for _ in range(2):
            self.batch(self.inputs, out=out)
            self.assertEqual(json.loads((out / "total.json").read_bytes())["bytes"], 6)

    def test_conditions_are_checked_for_all_inputs_of_the_job(self):
        self.input("a", b"1" * 10)
        self.input("b", b"x" * 10)
        for _ in range(2):
            self.assertIn("digit > 0.4", self.batch(self.inputs, "--fail-if", "digit > 0.4", "--watch", "totals", status=3).stderr)


class JobFiles(BatchTest):
    def job(self, content):
        path = self.folder / "job.toml"
        path.write_text(content)
        return path

    def test_a_job_file_has_the_options_and_the_inputs(self):
        for name in ("a.log", "b.log", "c.txt", "below/d.log", "below/skipped.tmp"):
            self.input(name, name.encode())
        job = self.job(f'inputs = ["{self.inputs}/*.log", "{self.inputs}/below"]\noutput_dir = "{self.out}"\nbuckets = ["letters", "classes"]\n'
                       'exclude = "*.tmp"\nthreads = 2\nmemory-limit = "512MiB"\non_error = "continue"\nmax_errors = "0.1%"\n')
        ended = run_batch(job)
        self.assertEqual(ended.status, 0, ended)
        lines = [json.loads(line) for line in (self.out / "files.jsonl").read_bytes().splitlines()]
        self.assertEqual([each["name"] for each in lines], [f"{self.inputs}/{name}" for name in ("a.log", "b.log", "below/d.log")])
        self.assertEqual(set(lines[0]["buckets"]), {"letters", "classes"})

    def test_options_of_the_command_line_have_precedence(self):
        self.input("a", b"abc")
        job = self.job(f'inputs = ["{self.folder}/absent"]\noutput_dir = "{self.out}"\nbuckets = ["letters"]\n')
        self.assertEqual(run_batch(job, "--buckets", "utf8", self.inputs / "a").status, 0)
        self.assertEqual(list(json.loads((self.out / "total.json").read_bytes())["buckets"]), ["utf8"])

    def test_errors_name_the_line_the_column_and_the_remedy(self):
        for content, message in (
            ('inputs = ["a"]\nmax_error = 3\n', ":2:1: max_error: unknown key of a job; did you mean max-errors?"),
            ('inputs = ["a"]\n  threads = 0\n', ":2:3: threads: "),
            ('inputs = ["a"]\nmax_errors = "few"\n', ":2:1: max_errors: "),
            ('inputs = ["a"]\non_error = "ignore"\n', ":2:1: on_error: "),
            ('inputs = 3\n', ":1:1: inputs: takes no integer"),
            ('inputs = ["a", 3]\n', ":1:1: inputs: takes no integer"),
            ('follow = true\n', ":1:1: follow: unknown key of a job"),
            ('inputs = ["a"\n', "not TOML"),
        ):
            with self.subTest(content=content):
                ended = run_batch(self.job(content), "--output-dir", self.out)
                self.assertEqual(ended.status, 2, ended)
                self.assertIn("job.toml", ended.stderr)
                self.assertIn(message, ended.stderr)
                self.assertFalse(self.out.exists())

    def test_what_cannot_be_a_job_is_refused(self):
        self.input("a", b"abc")
        for arguments, message in (
            ((self.inputs,), "--output-dir"),
            (("--output-dir", self.out), "no inputs"),
            (("--output-dir", self.out, "-"), "standard input"),
            (("--output-dir", self.out, self.folder / "*.none"), "no file matches"),
            (("--output-dir", self.out, "--shard", "3/2", self.inputs), "I/N"),
            (("--output-dir", self.out, "--shard", "1/2", self.inputs), "--manifest"),
            (("--output-dir", self.out, "--shard", "auto", self.inputs), "SLURM_ARRAY_TASK_ID"),
            (("--output-dir", self.out, "--follow", self.inputs), "not an option of gpuhist batch"),
        ):
            with self.subTest(arguments=arguments):
                ended = run_batch(*arguments)
                self.assertEqual(ended.status, 2, ended)
                self.assertIn(message, ended.stderr)


class Manifest(BatchTest):
    def plan(self, *arguments):
        to = self.folder / "manifest.jsonl"
        ended = run_batch("plan", *arguments, "-o", to)
        self.assertEqual(ended.status, 0, ended)
        return to

    def test_the_plan_has_sizes_times_and_fingerprints(self):
        small, large = self.input("a", b"abc"), self.input("b", noise((1 << 20) + 1))
        _, *entries = [json.loads(line) for line in self.plan(self.inputs).read_bytes().splitlines()]
        self.assertEqual([(each["name"], each["size"], each["modified"]) for each in entries],
                         [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in (small, large)])
        self.assertEqual([len(each.get("fingerprint", "")) for each in entries], [0, 32])
        self.assertFalse(self.out.exists())

    def test_an_input_that_differs_from_the_plan_is_an_error_of_that_input(self):
        names = ("grown", "touched", "replaced", "gone", "same", "members.tar")
        for name in names[:-1]:
            self.input(name, noise(1_500_000, len(name)))
        self.input("members.tar", tar({"m": b"abc"}))
        to = self.plan(self.inputs)
        with (self.inputs / "grown").open("ab") as file:
            file.write(b"x")
        os.utime(self.inputs / "touched", ns=(1, 1))
        replaced = self.inputs / "replaced"
        times = replaced.stat().st_mtime_ns
        with replaced.open("r+b") as file:
            file.write(b"other")
        os.utime(replaced, ns=(times, times))
        (self.inputs / "gone").unlink()
        os.utime(self.inputs / "members.tar", ns=(1, 1))
        ended = self.batch("--manifest", to, status=1)
        lines = {os.path.basename(each["name"]): each for each in map(json.loads, (self.out / "files.jsonl").read_bytes().splitlines())}
        self.assertEqual(sorted(lines), sorted(names))
        for name, cause in (("grown", "size"), ("touched", "time of modification"), ("replaced", "fingerprint"), ("gone", "disappeared"), ("members.tar", "time of modification")):
            self.assertIn(cause, lines[name]["error"])
            self.assertIn(f"{name}: differs from the manifest", ended.stderr)
            self.assertEqual(lines[name]["bytes"], 0)
        self.assertIs(lines["same"]["complete"], True)
        self.assertEqual(json.loads((self.out / "total.json").read_bytes())["bytes"], 1_500_000)
        trusting = self.folder / "trusting"
        self.batch("--manifest", to, "--trust-names", out=trusting, status=1)
        lines = {os.path.basename(each["name"]): each for each in map(json.loads, (trusting / "files.jsonl").read_bytes().splitlines())}
        self.assertEqual([lines[name]["complete"] for name in ("touched", "m", "replaced")], [True, True, False])

    def test_trust_names_accepts_what_an_earlier_run_refused_only_because_of_its_time(self):
        for number in range(3):
            self.input(f"{number}", text(1_000 + number, number))
        self.input("m.tar", tar({"m": b"abc"}))
        to = self.plan(self.inputs)
        self.batch("--manifest", to, out=self.folder / "undisturbed")
        for name in ("0", "m.tar"):
            os.utime(self.inputs / name, ns=(1, 1))
        (self.inputs / "1").write_bytes(b"another text")
        for options, shards in (((), ()), (("--where", "bytes > 0", "--each", "line"), ()), ((), ("1/2", "2/2"))):
            with self.subTest(options=options, shards=shards):
                shutil.rmtree(self.out, ignore_errors=True)
                runs = [("--shard", each) for each in shards] or [()]
                for trusting in ((), ("--trust-names",), ()):  # the last run keeps what was accepted
                    for each in runs:
                        run_batch("--manifest", to, *options, *each, *trusting, "--output-dir", self.out)
                if shards:
                    self.assertEqual(run("merge", self.out, engine=None).status, 1)
                found = [json.loads(line) for line in (self.out / "files.jsonl").read_bytes().splitlines()]
                self.assertEqual({os.path.basename(each["name"]): each["complete"] for each in found}, {"0": True, "1": False, "2": True, "m": True})
                total = json.loads((self.out / "total.json").read_bytes())
                self.assertEqual((total["bytes"], total["input_count"], total["complete"]), (1_000 + 1_002 + 3, 4, False))
        (self.inputs / "1").write_bytes(text(1_001, 1))
        shutil.rmtree(self.out)
        os.utime(self.inputs / "1", ns=(1, 1))
        self.batch("--manifest", to, status=1)
        self.batch("--manifest", to, "--trust-names")
        self.assertEqual(self.results(), self.results(self.folder / "undisturbed"))

    def test_files_that_changed_lately_are_left_out(self):
        old, new = self.input("old", b"old"), self.input("new", b"new")
        os.utime(old, (time.time() - 3600,) * 2)
        ended = self.batch(self.inputs, "--min-age", "10m")
        self.assertIn("1 file is left out, because of --min-age", ended.stderr)
        self.assertEqual([json.loads(line)["name"] for line in (self.out / "files.jsonl").read_bytes().splitlines()], [str(old)])
        self.assertTrue(new.exists())
        self.assertEqual(run_batch(self.inputs, "--output-dir", self.out, "--min-age", "10MiB").status, 2)

    def test_a_damaged_manifest_is_named(self):
        self.input("a", b"abc")
        to = self.plan(self.inputs)
        for content in (b"", b"{}\n", to.read_bytes()[:-5], to.read_bytes() * 2, b"text\n"):
            to.write_bytes(content)
            self.assertIn("manifest.jsonl", self.batch("--manifest", to, status=1).stderr)

    def test_the_remedy_of_a_damaged_manifest_fits_its_place(self):
        self.input("a", b"abc")
        self.batch(self.inputs)
        kept = self.out / ".gpuhist-batch" / "manifest.jsonl"
        for content in (b"", kept.read_bytes()[:-5]):
            kept.write_bytes(content)
            ended = self.batch(self.inputs, status=1)
            self.assertIn("manifest.jsonl:", ended.stderr)
            self.assertIn("restore the file from a copy", ended.stderr)
            self.assertNotIn("gpuhist batch plan", ended.stderr)
        self.assertIn("make it again with gpuhist batch plan", self.batch("--manifest", kept, out=self.folder / "other", status=1).stderr)

    def test_a_manifest_that_contradicts_itself_is_refused(self):
        self.input("a", text(3_000))
        self.input("b", text(2_000))
        to = self.plan("--split-size", "1000", self.inputs)
        header, a, b = to.read_bytes().splitlines(keepends=True)
        splits = b'"splits":[[1000,0,1000],[2000,0,2000]]'
        self.assertIn(splits, a)
        self.assertEqual(self.batch("--manifest", to).status, 0)
        for lines, cause in (
            ((a, a), "twice"),
            ((a.replace(b'/a"', b'/a\\u0000x"'), b), "zero byte"),
            ((a.replace(b'"name":"', b'"name_base64":"?","name":"'), b), "not base64"),
            ((a.replace(b'"size":3000', b'"size":-1'), b), "0 to 2^63 - 1"),
            ((a.replace(b'"size":3000', b'"size":18446744073709551615'), b), "0 to 2^63 - 1"),
            ((a.replace(b'"size":3000', b'"size":9223372036854775807'), b), "more than 2^63 bytes"),
            ((a.replace(splits, b'"splits":[[1000,0,5]]'), b), "contradict each other"),
            ((a.replace(splits, b'"splits":[[2000,0,2000],[1000,0,1000]]'), b), "contradict each other"),
            ((a.replace(splits, b'"splits":[[3000,0,3000]]'), b), "contradict each other"),
            ((a.replace(b'"raw"', b'"zstd"'), b), "contradict each other"),
            ((a.replace(b'"raw"', b'"gzip"'), b), "cannot be divided"),
            ((with_log(a, tail=True), b), "the hashes of a log are not those of a file of its size"),
            ((with_log(a, tail=True, size=4096), b), "the hashes of a log are not those of a file of its size"),
            ((with_log(a, tail=False, size=4097), b), "the hashes of a log are not those of a file of its size"),
            ((a, b'{"name":"' + b"x" * (17 << 20)), "more than 16 MiB"),
        ):
            with self.subTest(cause=cause):
                to.write_bytes(header + b"".join(lines))
                out = self.folder / "refused"
                ended = self.batch("--manifest", to, out=out, status=1)
                self.assertIn("manifest.jsonl", ended.stderr)
                self.assertIn(cause, ended.stderr)
                self.assertFalse((out / "total.json").exists())

    def test_a_dry_run_writes_nothing(self):
        self.input("a.log", b"abc")
        ended = self.batch(self.inputs, "--dry-run")
        self.assertIn(b"inputs     1, 3 bytes", ended.stdout)
        self.assertFalse(self.out.exists())


class Errors(BatchTest):
    def setUp(self):
        super().setUp()
        for number in range(100):
            self.input(f"{number:03}", text(50_000, number))
        self.absent = [self.folder / f"absent-{number}" for number in range(5)]

    def test_a_run_stops_above_the_limit_and_continues_below_another(self):
        for limit, status in (("4", "stopped"), ("4.7%", "stopped"), ("5", ""), ("5%", ""), ("100%", "")):
            with self.subTest(limit=limit):
                out = self.folder / f"out-{limit}"
                ended = self.batch("--max-errors", limit, *self.absent, self.inputs, out=out, status=1)
                self.assertEqual("stopped, because 5 of 105 inputs failed" in ended.stderr, bool(status), ended)
                if status:
                    self.assertFalse((out / "total.json").exists())
                    self.assertIn("allow more errors", ended.stderr)
                    self.assertIn("stopped", self.batch("--max-errors", limit, *self.absent, self.inputs, out=out, status=1).stderr)
                    self.assertFalse((out / "total.json").exists())
                    self.batch(*self.absent, self.inputs, out=out, status=1)
                self.assertEqual(json.loads((out / "job.json").read_bytes())["failed"], 5)

    def test_on_error_stop_ends_at_the_first_failure(self):
        ended = self.batch("--on-error", "stop", *self.absent, self.inputs, status=1)
        self.assertIn("--on-error stop", ended.stderr)
        self.assertFalse((self.out / "total.json").exists())


class Killed(BatchTest):
    def continue_to_the_end(self, *arguments):
        """Runs the job until it ends by itself."""
        ended = run_batch(*arguments, "--output-dir", self.out)
        self.assertEqual(ended.status, 1, ended)

    def test_a_job_that_is_killed_at_any_moment_has_the_results_of_an_undisturbed_one(self):
        self.archives()
        options = ("-T", "2", "-b", "classes,letters", self.inputs)
        start = time.monotonic()
        self.batch(*options, out=self.folder / "undisturbed", status=1)
        duration = time.monotonic() - start
        expected = self.results(self.folder / "undisturbed")
        chosen = random.Random(19)
        kills = 0
        while kills < KILLS:
            for each in sorted(self.out.rglob("*"), reverse=True) if self.out.exists() else ():
                each.unlink() if each.is_file() else each.rmdir()
            for _ in range(3):
                with Running("batch", "--engine", ENGINE, *options, "--output-dir", self.out, engine=None) as running:
                    time.sleep(chosen.uniform(0, duration))
                    kills += running.process.poll() is None
                    running.process.send_signal(signal.SIGKILL)
                    running.finish()
            self.continue_to_the_end(*options)
            self.assertEqual(self.results(), expected)

    def test_any_prefix_of_the_state_is_continued(self):
        """What a power failure leaves: the state ends anywhere, or in bytes that were never written."""
        self.archives()
        self.batch(self.inputs, status=1)
        expected = self.results()
        state = self.out / ".gpuhist-batch" / "state"
        whole = state.read_bytes()
        begin = whole.index(b"\n") + 1
        chosen = random.Random(4)
        for end in [begin, begin + 1, len(whole) - 1, *(chosen.randrange(begin, len(whole)) for _ in range(KILLS))]:
            for tail in (b"", bytes(300), chosen.randbytes(50)):
                state.write_bytes(whole[:end] + tail)
                self.continue_to_the_end(self.inputs)
                self.assertEqual(self.results(), expected)
        damaged = bytearray(whole)
        damaged[(begin + len(whole)) // 2] ^= 1
        state.write_bytes(bytes(damaged))
        self.continue_to_the_end(self.inputs)
        self.assertEqual(self.results(), expected)

    def test_a_signal_ends_the_run_and_the_next_one_continues(self):
        self.archives()
        fifo_like = self.input("zz-large", noise(40_000_000))
        with Running("batch", "--engine", ENGINE, self.inputs, "-T", "1", "--output-dir", self.out, engine=None) as running:
            state = self.out / ".gpuhist-batch" / "state"
            wait_until(lambda: (state.exists() and state.stat().st_size > 5_000) or running.process.poll() is not None)
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertIn(ended.status, (-signal.SIGTERM, 1))
        if ended.status == -signal.SIGTERM and "run the same command again" in ended.stderr:
            self.assertFalse((self.out / "total.json").exists())
        self.continue_to_the_end(self.inputs)
        undisturbed = self.folder / "undisturbed"
        self.batch(self.inputs, out=undisturbed, status=1)
        self.assertEqual(self.results(), self.results(undisturbed))
        self.assertTrue(fifo_like.exists())

    def test_complete_inputs_are_not_read_again(self):
        self.input("a", text(1_000))
        self.input("z", text(2_000))
        self.batch(self.inputs)
        expected = self.results()
        state = self.out / ".gpuhist-batch" / "state"
        whole = state.read_bytes()
        state.write_bytes(whole[:-10])  # the last record is incomplete
        (self.out / "total.json").unlink()
        self.assertIn("1 of 2 inputs was counted by an earlier run", self.batch(self.inputs).stderr)
        self.assertEqual(self.results(), expected)

    def test_state_of_other_options_is_refused(self):
        self.input("a", b"abc")
        self.batch(self.inputs)
        before = (self.out / ".gpuhist-batch" / "state").read_bytes()
        ended = self.batch(self.inputs, "--buckets", "letters", status=1)
        self.assertIn("of another job", ended.stderr)
        self.assertIn("letters", ended.stderr)
        self.assertEqual((self.out / ".gpuhist-batch" / "state").read_bytes(), before)


class Locked(BatchTest):
    def test_a_second_run_names_the_first_and_a_dead_run_has_no_lock(self):
        self.input("a", b"abc")
        self.batch(self.inputs)
        with (self.out / ".gpuhist-batch" / "lock").open("r+b") as lock:
            fcntl.fcntl(lock, 37, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            ended = self.batch(self.inputs, status=1)
            self.assertIn("another run writes to this folder: process ", ended.stderr)
            self.assertIn(os.uname().nodename, ended.stderr)
        self.batch(self.inputs)

    def test_a_run_waits_for_another_one_if_it_shall(self):
        self.input("a", b"abc")
        self.batch(self.inputs)
        with (self.out / ".gpuhist-batch" / "lock").open("r+b") as lock:
            fcntl.fcntl(lock, 37, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            with Running("batch", "--engine", ENGINE, "--wait", self.inputs, "--output-dir", self.out, engine=None) as running:
                wait_until(lambda: "waiting for its end" in running.messages() or running.process.poll() is not None)
                self.assertIsNone(running.process.poll())
                lock.close()
                ended = running.finish()
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("another run writes to this folder: process ", ended.stderr)

    @unittest.skipIf(THREAD_SANITIZED, "the thread sanitizer calls no handler while a thread waits in fcntl()")
    def test_a_run_that_waits_ends_by_a_signal(self):
        self.input("a", b"abc")
        self.batch(self.inputs)
        with (self.out / ".gpuhist-batch" / "lock").open("r+b") as lock:
            fcntl.fcntl(lock, 37, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            with Running("batch", "--engine", ENGINE, "--wait", self.inputs, "--output-dir", self.out, engine=None) as running:
                wait_until(lambda: "waiting for its end" in running.messages() or running.process.poll() is not None)
                running.process.send_signal(signal.SIGTERM)
                self.assertEqual(running.finish().status, -signal.SIGTERM)

    def test_a_state_that_cannot_be_written_ends_the_run_and_stays(self):
        self.archives()
        command = ["bash", "-c", 'ulimit -f 16; exec "$@"', "-", GPUHIST, "batch", "--engine", ENGINE, self.inputs, "--output-dir", self.out]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"File too large", ended.stderr)
        self.assertFalse((self.out / "total.json").exists())
        self.batch(self.inputs, status=1)
        undisturbed = self.folder / "undisturbed"
        self.batch(self.inputs, out=undisturbed, status=1)
        self.assertEqual(self.results(), self.results(undisturbed))


class Shards(BatchTest):
    def setUp(self):
        super().setUp()
        self.archives()
        self.manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", self.manifest).status, 0)
        self.undisturbed = self.folder / "undisturbed"
        self.batch("--manifest", self.manifest, out=self.undisturbed, status=1)

    def shard(self, number, count, out=None, **options):
        ended = run_batch("--manifest", self.manifest, "--shard", f"{number}/{count}", "--output-dir", out or self.out, **options)
        self.assertIn(ended.status, (0, 1), ended)
        return ended

    def merge(self, *arguments, status=1):
        ended = run("merge", *arguments, engine=None)
        self.assertEqual(ended.status, status, ended)
        return ended

    def test_shards_in_any_order_and_twice_are_one_run(self):
        order = [*range(1, 9), 3, 5]
        random.Random(1).shuffle(order)
        for number in order:
            self.shard(number, 8)
        self.merge(self.out)
        self.assertEqual(self.results(), self.results(self.undisturbed))
        self.merge(self.out)
        self.assertEqual(self.results(), self.results(self.undisturbed))

    def test_shards_of_several_machines_are_merged_into_another_folder(self):
        folders = [self.folder / f"node-{number}" for number in (1, 2, 3)]
        for number, folder in enumerate(folders, 1):
            self.shard(number, 3, out=folder)
        self.merge(*folders, "--output-dir", self.out)
        self.assertEqual(self.results(), self.results(self.undisturbed))

    def test_shards_divide_the_bytes(self):
        for number in (1, 2, 3):
            self.shard(number, 3)
        sizes = [json.loads(line) for line in self.manifest.read_bytes().splitlines()[1:]]
        whole = sum(each["size"] for each in sizes)
        plans = [run_batch("--manifest", self.manifest, "--shard", f"{number}/3", "--dry-run", "--output-dir", self.out).stdout for number in (1, 2, 3)]
        parts = [int(each.split(b"\n")[0].split(b", ")[1].split()[0].replace(b",", b"")) for each in plans]
        self.assertEqual(sum(parts), whole)
        self.assertLess(max(parts), whole * 0.75)

    def test_a_merge_excludes_others_but_not_shards_and_the_results_stay_whole(self):
        for number in (1, 2, 3):
            self.shard(number, 3)
        self.merge(self.out)
        state = self.out / ".gpuhist-batch"
        with (state / "lock").open("r+b") as lock, (state / "1-of-3" / "lock").open("r+b") as of_shard:
            for each in (of_shard, lock):
                fcntl.fcntl(each, 37, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            self.assertIn("another run writes to this folder: process ", self.merge(self.out).stderr)
            lock.close()
            self.merge(self.out)
        for _ in range(5):
            for each in self.out.glob("*.json*"):
                each.unlink()
            (state / "results").unlink()
            merges = [subprocess.Popen([GPUHIST, "merge", self.out], stderr=subprocess.PIPE) for _ in range(4)]
            messages = [each.communicate(timeout=PATIENCE)[1].decode() for each in merges]
            self.assertEqual([each for each in messages if "File exists" in each or "is not a result" in each], [])
            self.merge(self.out)
            self.assertEqual(self.results(), self.results(self.undisturbed))

    def test_missing_double_and_foreign_parts_are_listed(self):
        for number in (1, 2, 4):
            self.shard(number, 4)
        self.assertIn("part 3 of 4 is missing", self.merge(self.out).stderr)
        self.assertFalse((self.out / "total.json").exists())
        self.merge("--partial", self.out)
        job = json.loads((self.out / "job.json").read_bytes())
        self.assertEqual((job["missing_shards"], job["complete"]), ([3], False))
        self.assertIs(json.loads((self.out / "total.json").read_bytes())["complete"], False)
        other = self.folder / "other"
        self.shard(2, 4, out=other)
        self.shard(3, 4, out=other)
        self.assertIn("the same part as", self.merge(self.out, other).stderr)
        foreign = self.folder / "foreign"
        self.shard(3, 5, out=foreign)
        self.assertIn("is of another job", self.merge(self.out, foreign).stderr)

    def test_a_part_of_another_job_is_refused_before_anything_is_counted(self):
        for number in (1, 2):
            self.shard(number, 2)
        shutil.rmtree(self.out / ".gpuhist-batch")
        before = {path.name: path.read_bytes() for path in (self.out / "parts").iterdir()}
        ended = self.batch("--manifest", self.manifest, "--shard", "1/2", "--buckets", "letters", status=1)
        self.assertIn("parts/1-of-2: this state is of another job", ended.stderr)
        self.assertIn('--buckets: not given, instead of ["letters"]', ended.stderr)
        self.assertFalse((self.out / ".gpuhist-batch" / "1-of-2" / "runs.jsonl").exists())
        self.assertEqual({path.name: path.read_bytes() for path in (self.out / "parts").iterdir()}, before)

    def test_a_damaged_part_is_named(self):
        for number in (1, 2):
            self.shard(number, 2)
        part = self.out / "parts" / "2-of-2"
        content = part.read_bytes()
        part.unlink()
        part.write_bytes(content[:-20])
        self.assertIn("2-of-2: is damaged", self.merge(self.out).stderr)

    def test_slurm_and_mpi_number_the_shards(self):
        for environment, expected in (
            ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}, "4-of-8"),
            ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8", "SLURM_ARRAY_TASK_MIN": "1"}, "3-of-8"),
            ({"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}, "2-of-4"),
            ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, "6-of-8"),
            ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, "1-of-2"),
        ):
            with self.subTest(environment=environment):
                ended = subprocess.run([GPUHIST, "batch", "--engine", ENGINE, "--manifest", self.manifest, "--shard", "auto", "--output-dir", self.out],
                                       env={**os.environ, **environment}, stderr=subprocess.PIPE, timeout=PATIENCE)
                self.assertIn(ended.returncode, (0, 1), ended)
                self.assertTrue((self.out / "parts" / expected).exists())


def has_gnu_parallel():
    return shutil.which("parallel") and b"GNU parallel" in subprocess.run(["parallel", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


@unittest.skipUnless(has_gnu_parallel(), "GNU parallel is not installed")
class GnuParallel(BatchTest):
    def test_a_shard_that_failed_is_resumed_alone(self):
        for number in range(30):
            self.input(f"{number:02}", text(1_000 + number, number))
        manifest, log, ran = self.folder / "manifest.jsonl", self.folder / "job log", self.folder / "ran"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        self.batch("--manifest", manifest, out=self.folder / "undisturbed")
        once = self.folder / "fails-once"
        once.write_text(f'#!/bin/sh\necho $1 >> {ran}\nif [ $1 = 3 ] && ! [ -e {ran}-3 ]; then touch {ran}-3; exit 1; fi\nshift; exec "$@"\n')
        once.chmod(0o755)
        command = ["parallel", "--will-cite", "--jobs", "4", "--joblog", log, "--resume-failed", once, "{}", GPUHIST, "batch", "--engine", ENGINE,
                   "--manifest", manifest, "--shard", "{}/8", "--output-dir", self.out, ":::", *map(str, range(1, 9))]
        statuses = [subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE).returncode for _ in range(2)]
        self.assertEqual(statuses, [1, 0])  # the number of commands that failed
        self.assertEqual(sorted(ran.read_text().split()), sorted([*"12345678", "3"]))
        self.assertEqual(run("merge", self.out, engine=None).status, 0)
        self.assertEqual(self.results(), self.results(self.folder / "undisturbed"))


if __name__ == "__main__":
    main()
