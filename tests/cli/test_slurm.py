"""`gpuhist-slurm`: a job that is counted by a Slurm cluster has the results of one run, whatever fails on the way. The
classes with a cluster are skipped where there can be none (slurm_cluster.py)."""

import bz2
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import slurm_cluster
from support import GPUHIST, SKIPPED, CommandTest, counts_of, main, noise, oracle, run, tar, text, zstd

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "slurm" / "gpuhist-slurm"
RESULTS = ("files.jsonl", "errors.jsonl", "total.json")
SKIP = slurm_cluster.reason_to_skip()
PATIENCE = 400  # seconds: Slurm waits two minutes before it starts a task again

# In PATH as `gpuhist`: notes each call, and fails or holds tasks as files in the folder `control` say.
WRAPPER = """\
#!{python}
import os, pathlib, signal, subprocess, sys, time
control, real, words = pathlib.Path({control!r}), {real!r}, sys.argv[1:]
node = os.environ.get("SLURMD_NODENAME", "none")
shard = words[words.index("--shard") + 1].split("/")[0] if "--shard" in words else None
with (control / "calls").open("a") as file:
    print(node, shard, os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("GPUHIST_THREADS"), *words, file=file)
if shard is None:
    os.execv(real, [real, *words])
if (control / f"fail-{{shard}}").exists():
    sys.exit("the disk of this node failed")
if (control / f"fail-once-{{shard}}").exists():
    (control / f"fail-once-{{shard}}").unlink()
    sys.exit("this failed once")
started = subprocess.Popen([real, *words])
hold = control / f"hold-{{node}}"
if hold.exists():  # stops in the middle, with the lock of the shard
    folder = pathlib.Path(words[words.index("--output-dir") + 1])
    while started.poll() is None and not list(folder.glob(f".gpuhist-batch/{{shard}}-of-*/state")):
        time.sleep(0.001)
    started.send_signal(signal.SIGSTOP)
    (control / f"stopped-{{node}}-{{shard}}").touch()
    while hold.exists():
        time.sleep(0.05)
    started.send_signal(signal.SIGCONT)
sys.exit(started.wait())
"""


class SlurmTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.work = self.folder / "a folder, 100%"  # names are quoted
        self.control = self.folder / "control"
        for each in (self.work / "in puts", self.control, self.folder / "bin"):
            each.mkdir(parents=True)
        wrapper = self.folder / "bin" / "gpuhist"
        wrapper.write_text(WRAPPER.format(python=sys.executable, control=str(self.control), real=os.path.abspath(GPUHIST)))
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
        self.job = self.work / "my job.toml"
        self.job.write_text('inputs = ["in puts"]\nbuckets = ["classes", "letters"]\noutput_dir = "the counts" # relative\n')
        self.out = self.work / "the counts"

    def inputs(self):
        """Inputs of several formats, one of them damaged; each of 8 shards has one that takes half a second. Returns the texts."""
        slow = noise(5_000_000)
        packed = bz2.compress(slow)
        plain = {f"plain {number}": text(1_000 + 37 * number, number) for number in range(100)}
        members = {f"m{number}": text(30_000, 200 + number) for number in range(20)}
        damaged = bytearray(zstd(text(300_000, 9), "--check"))
        damaged[-1] ^= 1
        files = {**plain, **{f"slow-{number}.bz2": packed for number in range(8)}, "t.tar.zst": zstd(tar(members)), "damaged.zst": bytes(damaged)}
        for name, content in files.items():
            (self.work / "in puts" / name).write_bytes(content)
        return [*plain.values(), *[slow] * 8, *members.values()]

    def start(self, *arguments, **options):
        return subprocess.Popen([sys.executable, SCRIPT, *map(str, arguments)], cwd=self.work, env={**self.environment, **options},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def slurm(self, *arguments, status, **options):
        return self.finish(self.start(self.job.name, *arguments, **options), status)

    def finish(self, process, status):
        stdout, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, stdout), (status, ""), stderr)
        return stderr

    def calls(self):
        """Of the wrapper: node, shard, CUDA_VISIBLE_DEVICES, threads, arguments."""
        path = self.control / "calls"
        return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []

    def shards_counted(self):
        return sorted(int(shard) for _, shard, *_ in self.calls() if shard != "None")


class Usage(SlurmTest):
    """Without a cluster."""

    def test_the_help_names_the_options(self):
        printed = subprocess.run([sys.executable, SCRIPT, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for each in ("--shards N", "--retries N", "--gpus", "--output-dir DIR"):
            self.assertIn(each, printed)

    def test_wrong_usage_is_status_2(self):
        for arguments, message in (((), "JOB.toml"), ((self.job.name,), "--shards"), ((self.job.name, "--shards", "0"), "--shards"), (("absent.toml", "--shards", "2"), "absent.toml")):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.finish(self.start(*arguments), 2))

    def test_a_job_without_a_folder_names_the_remedy(self):
        self.job.write_text('inputs = ["in puts"]\n')
        self.assertIn("give --output-dir", self.slurm("--shards", 2, status=2))

    def test_a_job_that_cannot_be_planned_submits_nothing(self):
        self.job.write_text('inputs = ["in puts"]\noutput_dir = "the counts"\nthreads = 0\n')
        (self.folder / "bin" / "sbatch").symlink_to("/bin/true")  # it is not reached
        self.assertIn("threads", self.slurm("--shards", 2, status=2))

    def test_a_machine_without_slurm_is_reported(self):
        self.environment["PATH"] = str(self.folder / "bin")
        self.assertIn("is not installed on this machine; run gpuhist-slurm where jobs are submitted", self.slurm("--shards", 2, status=2))

    def test_parts_of_another_division_are_refused(self):
        (self.out / "parts").mkdir(parents=True)
        (self.out / "parts" / "3-of-5").touch()
        (self.folder / "bin" / "sbatch").symlink_to("/bin/true")  # it is not reached
        self.assertIn("give --shards 5", self.slurm("--shards", 2, status=2))


@unittest.skipIf(SKIP, SKIP)
class ClusterTest(SlurmTest):
    MAX_ARRAY_SIZE = 1001

    def setUp(self):
        super().setUp()
        self.cluster = slurm_cluster.Cluster(self.folder / "cluster", self.MAX_ARRAY_SIZE)
        self.addCleanup(self.cluster.stop)
        self.environment["SLURM_CONF"] = self.cluster.environment["SLURM_CONF"]
        self.texts = self.inputs()

    def wait_until(self, condition, waiting=None):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            ended = waiting is not None and waiting.poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"timed out: {self.calls()}\n{waiting.communicate() if ended else ''}\n{self.cluster.logs()}")
            time.sleep(0.05)

    def jobs(self):
        """The numbers of all jobs that were submitted."""
        return set(self.cluster.ask("squeue", "--noheader", "--states=all", "--format", "%F").split())

    def assert_results(self):
        """They are those of a run without Slurm, and the totals are those of the texts."""
        undisturbed = self.folder / "undisturbed"
        arguments = ("batch", "in puts", "--buckets", "classes,letters", "--output-dir", undisturbed)
        self.assertEqual(run(*arguments, engine=None, cwd=self.work).status, 1)  # an input is damaged
        for name in RESULTS:
            self.assertEqual((self.out / name).read_bytes(), (undisturbed / name).read_bytes(), name)
        total = json.loads((self.out / "total.json").read_bytes())
        expected = oracle(b"".join(self.texts))
        expected["buckets"] = {name: expected["buckets"][name] for name in ("classes", "letters")}
        self.assertEqual(counts_of(total), expected)


class Array(ClusterTest):
    def test_an_array_of_8_and_the_merge_are_one_run(self):
        printed = self.slurm("--shards", 8, status=1)
        self.assert_results()
        self.assertEqual(self.shards_counted(), list(range(1, 9)))
        self.assertEqual({gpus for _, shard, gpus, *_ in self.calls() if shard != "None"}, {"None"})
        self.assertEqual({threads for _, shard, _, threads, *_ in self.calls() if shard != "None"}, {"1"})
        self.assertTrue(all(words[-4:-2] == ["--engine", "host"] for _, shard, _, _, *words in self.calls() if shard != "None"))
        self.assertIn("submitted 8 of 8 shards as job 1", printed)
        self.assertIn("1 failed", printed)  # what the merge says
        before = self.jobs()
        self.assertEqual(len(before), 2)  # an input that failed is no reason to submit anything again
        self.slurm("--shards", 8, status=1)  # a finished job submits nothing
        self.assertEqual(self.jobs(), before)

    def test_a_task_that_fails_once_is_submitted_again_alone(self):
        (self.control / "fail-once-3").touch()
        (self.control / "fail-once-7").touch()
        printed = self.slurm("--shards", 8, status=1)
        self.assertIn("shards 3,7 are missing; submitting them again", printed)
        self.assertEqual(self.shards_counted(), sorted([*range(1, 9), 3, 7]))
        self.assert_results()

    def test_a_shard_that_keeps_failing_is_reported_with_its_log(self):
        (self.control / "fail-2").touch()
        printed = self.slurm("--shards", 4, "--retries", 1, status=1)
        self.assertEqual(self.shards_counted(), [1, 2, 2, 3, 4])
        self.assertIn("shards 2 of 4 are missing", printed)
        self.assertIn("the disk of this node failed", printed)
        self.assertFalse((self.out / "total.json").exists())
        (self.control / "fail-2").unlink()
        self.slurm("--shards", 4, status=1)
        self.assertEqual(self.shards_counted(), [1, 2, 2, 2, 3, 4])
        self.assert_results()

    def test_a_merge_without_results_is_submitted_again_and_reported(self):
        self.slurm("--shards", 2, status=1)
        part = self.out / "parts" / "1-of-2"
        content = part.read_bytes()
        part.unlink()
        part.write_bytes(content[:-20])
        (self.out / "total.json").unlink()
        printed = self.slurm("--shards", 2, "--retries", 1, status=1)
        self.assertIn("the merge has no results", printed)
        self.assertIn("1-of-2: is damaged", printed)
        self.assertEqual(self.shards_counted(), [1, 2])
        part.write_bytes(content)
        self.slurm("--shards", 2, status=1)
        self.assert_results()

    def test_an_interrupted_call_leaves_the_jobs_to_the_next_one(self):
        (self.control / "hold-n1").touch()
        first = self.start(self.job.name, "--shards", 8)
        self.wait_until(lambda: list(self.control.glob("stopped-n1-*")), first)
        self.assertIn("another gpuhist-slurm waits for this job", self.slurm("--shards", 8, status=1))
        first.send_signal(signal.SIGINT)
        self.assertIn("interrupted; the jobs continue", self.finish(first, 130))
        before = self.jobs()
        second = self.start(self.job.name, "--shards", 8)
        (self.control / "hold-n1").unlink()
        self.finish(second, 1)
        self.assertEqual(self.jobs(), before)
        self.assertEqual(self.shards_counted(), list(range(1, 9)))
        self.assert_results()

    def test_options_that_slurm_refuses_are_reported(self):
        printed = self.slurm("--shards", 2, "--", "--partition=absent", status=1)
        self.assertIn("sbatch refused a job", printed)
        self.assertIn("partition", printed)
        self.assertEqual(self.shards_counted(), [])

    def test_options_of_the_command_line_reach_sbatch_and_the_folder(self):
        other = self.folder / "another folder"
        self.slurm("--shards", 2, "--output-dir", other, "--", "--cpus-per-task=2", "--job-name=a name", status=1)
        self.assertTrue((other / "total.json").exists())
        self.assertEqual({threads for _, shard, _, threads, *_ in self.calls() if shard != "None"}, {"2"})
        self.assertIn("a name", self.cluster.ask("squeue", "--noheader", "--states=all", "--format", "%j").splitlines())

    def test_tasks_with_gpus_have_one_each_and_choose_the_engine(self):
        self.slurm("--shards", 2, "--gpus", status=1)
        tasks = [call for call in self.calls() if call[1] != "None"]
        self.assertEqual([gpus for _, _, gpus, *_ in tasks], ["0", "0"])
        self.assertFalse(any("--engine" in words for _, _, _, _, *words in tasks))
        self.assert_results()


class SmallArrays(ClusterTest):
    MAX_ARRAY_SIZE = 4

    def test_more_shards_than_an_array_may_have_are_several_arrays(self):
        (self.control / "fail-once-5").touch()
        printed = self.slurm("--shards", 8, status=1)
        self.assertEqual(printed.count("submitted 3 of 8 shards"), 2)
        self.assertEqual(printed.count("submitted 2 of 8 shards"), 1)
        self.assertEqual(self.shards_counted(), sorted([*range(1, 9), 5]))
        self.assert_results()


class Failures(ClusterTest):
    def hold(self):
        """Starts the job, until tasks of the node n1 are stopped in the middle. Returns the process, and their shards."""
        (self.control / "hold-n1").touch()
        process = self.start(self.job.name, "--shards", 8)
        self.wait_until(lambda: len(list(self.control.glob("stopped-n1-*"))) == 2, process)
        return process, [int(each.name.rpartition("-")[2]) for each in self.control.glob("stopped-n1-*")]

    def test_tasks_of_a_node_that_is_killed_are_counted_by_another(self):
        process, held = self.hold()
        self.cluster.kill_node("n1")
        self.finish(process, 1)
        self.assertEqual(self.shards_counted(), sorted([*range(1, 9), *held]))
        self.assert_results()

    def test_tasks_that_run_twice_are_counted_once(self):
        """A daemon that is killed alone leaves its steps running, and Slurm starts them on another node, too."""
        process, held = self.hold()
        self.cluster.kill_daemon("n1")
        self.wait_until(lambda: len(self.shards_counted()) == 10, process)
        self.assertEqual(self.shards_counted(), sorted([*range(1, 9), *held]))
        logs = lambda: "\n".join(each.read_text() for each in (self.out / "logs").glob("*.log"))
        self.wait_until(lambda: logs().count("; waiting for its end") == 2, process)  # the second task waits
        (self.control / "hold-n1").unlink()
        self.finish(process, 1)
        self.assert_results()


if __name__ == "__main__":
    if "Usage" not in sys.argv:
        if SKIP:
            print("skipped:", SKIP)
            sys.exit(SKIPPED)
        slurm_cluster.enter_namespace()
    main()
