"""Groups in bounded memory (--approximate): the bounds of every key hold, and sums are exact; compared with
collections.Counter."""

import collections
import json
import random
import re
import subprocess
import sys

from support import ENGINE, GPUHIST, SANITIZED, main, run
from test_batch import BatchTest, run_batch

LIMIT = ("--memory-limit", "64MiB")
MEMORY = 3 << 20  # of groups that stay: 3/4 of 1/2 of 1/8
KEYS = ("--group-by", "field:2", "--approximate", *LIMIT)
ALL = ("--most-groups", "10000000")
PADDING = "x" * (600 if SANITIZED else 150)
BYTES_OF_GROUP = 250 + len(PADDING)  # at most


def skewed(seed, number=120_000):
    """Lines of several minutes and their keys: half of them with a Zipf distribution, the others nearly all different."""
    chosen = random.Random(seed)
    key = lambda: int(chosen.paretovariate(0.5)) if chosen.random() < 0.5 else chosen.randrange(10**8)
    keys = [f"{key()}{PADDING}" for _ in range(number // 4 if SANITIZED else number)]
    return "".join(f"2025-10-10T13:{chosen.randrange(60):02}:00Z {key} y\n" for key in keys).encode(), keys


class ApproximateTest(BatchTest):
    def setUp(self):
        super().setUp()
        self.keys = []

    def log(self, name, seed):
        data, keys = skewed(seed)
        self.keys += keys
        return self.input(name, data)

    def result(self, *arguments):
        ended = run("--format", "json", *arguments)
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        return ended.result

    def assert_bounds(self, result, keys=None):
        """Returns the bound of keys that are not reported."""
        real = collections.Counter(self.keys if keys is None else keys)
        groups = {each["key"]: each for each in result["groups"]}
        self.assertEqual(len(groups), len(result["groups"]))
        for key, each in groups.items():
            self.assertLessEqual(each["lines"], real[key])
            self.assertLessEqual(real[key], each.get("lines_at_most", each["lines"]))
        bound = result["other_group_lines_at_most"]
        self.assertLessEqual(max(lines for key, lines in real.items() if key not in groups), bound)
        self.assertEqual(sum(each["lines"] for each in groups.values()) + result["other_groups"]["lines"], real.total())
        self.assertTrue(all(one["lines"] >= other["lines"] for one, other in zip(result["groups"], result["groups"][1:])))
        self.assertLessEqual(abs(result["number_of_groups"] - len(real)), 4 * result["number_of_groups_error"])
        self.assertAlmostEqual(result["number_of_groups_error"] / result["number_of_groups"], 0.0082, delta=0.0002)
        return bound


class Runs(ApproximateTest):
    def test_every_key_has_its_bounds_and_they_are_small(self):
        path = self.log("a", 1)
        for threads in "12":
            result = self.result(*KEYS, *ALL, "--threads", threads, path)
            bound = self.assert_bounds(result)
            self.assertLessEqual(bound, len(self.keys) // (MEMORY // BYTES_OF_GROUP))
            self.assert_bounds(self.result(*KEYS, "--most-groups", "50", "--threads", threads, path))
            frequent = {key for key, lines in collections.Counter(self.keys).items() if lines > bound}
            self.assertLess(10, len(frequent))
            self.assertLessEqual(frequent, {each["key"] for each in result["groups"]})

    def test_few_groups_are_exact(self):
        path = self.input("a", b"x a\nx b\nx a\nx\n")
        self.assertEqual({key: value for key, value in self.result(*KEYS, path).items() if key != "run"},
                         {key: value for key, value in self.result("--group-by", "field:2", *LIMIT, path).items() if key != "run"})  # fmt: skip

    def test_nothing_is_written_to_the_temporary_file_and_the_memory_is_bounded(self):
        path = self.log("a", 2)
        options = ("--format", "json", "--temporary-folder", "/proc", *LIMIT, "--group-by", "field:2", path)
        self.assertIn("/proc", run(*options).stderr)
        measured = "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\nprint(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        ended = subprocess.run([sys.executable, "-c", measured, GPUHIST, "--engine", ENGINE, "-T", "2", "--approximate", *options], stdout=subprocess.PIPE, check=True)
        status, peak = map(int, ended.stdout.split())
        self.assertEqual(status, 0)
        if not SANITIZED and ENGINE == "host":
            self.assertLess(peak, 64 << 10)

    def test_windows_are_exact_and_their_lines_by_group_are_those_of_the_groups(self):
        path = self.log("a", 3)
        minutes = collections.Counter(line[:16].decode() for line in path.read_bytes().splitlines())
        for length in ("1m", "auto"):
            result = self.result(*KEYS, "--window", length, "--event-time=iso", path)
            self.assert_bounds(result)
            self.assertEqual({each["event_start"][:16]: each["lines"] for each in result["event_windows"]}, dict(minutes))
            by_group = [sum(lines) for lines in zip(*(each["lines_by_group"] for each in result["event_windows"]))]
            self.assertEqual(by_group, [each["lines"] for each in result["groups"]])

    def test_each_window_that_closes_has_its_own_bounds(self):
        data, _ = skewed(4)
        by_minute = collections.defaultdict(list)
        lines = sorted(data.splitlines(keepends=True))
        for line in lines:
            by_minute[line[:15].decode()].append(line.split()[1].decode())
            self.keys.append(line.split()[1].decode())
        ended = run("--format", "jsonl", *KEYS, "--window", "10m", "--event-time=iso", "--allowed-lateness", "1s", stdin_bytes=b"".join(lines))
        self.assertEqual(ended.status, 0, ended)
        found = ended.documents_of("event_window")
        self.assertEqual({each["event_start"][:15]: each["lines"] for each in found}, {key: len(each) for key, each in by_minute.items()})
        for each in found:
            self.assert_bounds(each, by_minute[each["event_start"][:15]])
        self.assert_bounds(ended.result)

    def test_a_table_says_that_numbers_are_not_exact(self):
        path = self.log("a", 5)
        result = self.result(*KEYS, "--threads", "1", path)
        shown = run("--format", "table", "--top", "all", *KEYS, "--threads", "1", path).stdout.decode()
        self.assertIn(f"... and about {result['number_of_groups'] - 1000:,} groups more", shown)
        self.assertIn("+: at least so many lines", shown)
        rows = re.findall(r"^\.\.\.x+ +([\d,]+)(\+?) ", shown, re.MULTILINE)
        self.assertEqual(rows, [(f"{each['lines']:,}", "+" if "lines_at_most" in each else "") for each in result["groups"]])
        self.assertEqual({"lines_at_most" in each for each in result["groups"]}, {False, True})


class Jobs(ApproximateTest):
    def setUp(self):
        super().setUp()
        for seed in range(3):
            self.log(str(seed), seed)

    def total(self, folder):
        return json.loads((folder / "total.json").read_bytes())

    def test_a_job_and_its_shards_have_bounds_that_hold(self):
        self.batch(self.inputs, *KEYS)
        self.assert_bounds(self.total(self.out))
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        shards = [self.folder / f"shard-{number}" for number in (1, 2)]
        for number, folder in enumerate(shards, 1):
            self.batch("--manifest", manifest, "--shard", f"{number}/2", *KEYS, out=folder)
        merged = self.folder / "merged"
        self.assertEqual(run("merge", *shards, "--output-dir", merged, engine=None).status, 0)
        self.assert_bounds(self.total(merged))

    def test_a_state_of_exact_groups_is_refused(self):
        self.batch(self.inputs, "--group-by", "field:2", *LIMIT)
        self.assertIn("--approximate: not given, instead of", self.batch(self.inputs, *KEYS, status=1).stderr)

    def test_sums_of_results_have_bounds_that_hold(self):
        parts = []
        for number, path in enumerate(sorted(self.inputs.iterdir())):
            part = self.folder / f"{number}.json"
            self.assertEqual(run("--format", "json", "--byte-counts", *KEYS, "-o", part, path).status, 0)
            parts.append(part)
        ended = run("merge", "--format", "json", *parts, engine=None)
        self.assertEqual(ended.status, 0, ended)
        result = ended.result
        self.assertTrue(result["number_of_groups_is_at_least"])
        real = collections.Counter(self.keys)
        for each in result["groups"]:
            self.assertTrue(each["lines"] <= real[each["key"]] <= each.get("lines_at_most", each["lines"]))
        reported = {each["key"] for each in result["groups"]}
        self.assertLessEqual(max(lines for key, lines in real.items() if key not in reported), result["other_group_lines_at_most"])
        shown = run("report", "--format", "json", parts[0], engine=None).result
        part = json.loads(parts[0].read_bytes())
        for name in ("number_of_groups", "number_of_groups_error", "other_group_lines_at_most"):
            self.assertEqual(shown[name], part[name])
        for one, other in zip(shown["groups"], part["groups"], strict=True):
            self.assertEqual((one["key"], one["lines"], one.get("lines_at_most")), (other["key"], other["lines"], other.get("lines_at_most")))


class Refused(ApproximateTest):
    def test_the_option_requires_a_key(self):
        ended = run("--approximate", self.input("a", b"a\n"))
        self.assertEqual(ended.status, 2)
        self.assertIn("--approximate: requires --group-by", ended.stderr)


if __name__ == "__main__":
    main()
