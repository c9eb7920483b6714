"""The plan of a job: fingerprints, manifests that are extended (--new-only), the dry run, job.json, progress."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

from support import ENGINE, Running, main, noise, oracle, run, tar, text, wait_until, zstd
from test_batch import BatchTest, KILLS, run_batch


class PlanTest(BatchTest):
    def plan(self, *arguments):
        to = self.folder / "manifest.jsonl"
        ended = run_batch("plan", *arguments, "-o", to)
        self.assertEqual(ended.status, 0, ended)
        return to

    def lines(self, name="files.jsonl", folder=None):
        """The lines of a result by the last component of their names."""
        return {os.path.basename(each["name"]): each for each in map(json.loads, ((folder or self.out) / name).read_bytes().splitlines())}

    def total(self, folder=None):
        return json.loads(((folder or self.out) / "total.json").read_bytes())

    def fresh(self, *arguments):
        """The results of a new job over the inputs as they are now."""
        out = self.folder / "fresh"
        shutil.rmtree(out, ignore_errors=True)
        run_batch(self.inputs, *arguments, "--output-dir", out)
        return self.results(out)


def replace_byte(path, offset):
    """Changes one byte; size and times stay."""
    times = path.stat().st_mtime_ns
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(times, times))


class Fingerprints(PlanTest):
    def test_full_fingerprints_notice_every_change_and_ends_those_at_the_ends_of_large_files(self):
        for kind, noticed in (("ends", set()), ("full", {"large", "small"})):
            with self.subTest(kind=kind):
                large, small = self.input("large", noise(3_000_000)), self.input("small", b"hello")
                self.input("same", noise(2_000_000))
                to = self.plan("--fingerprint", kind, self.inputs)
                replace_byte(large, 1_500_000)
                replace_byte(small, 2)
                out = self.folder / kind
                ended = self.batch("--manifest", to, out=out, status=1 if noticed else 0)
                failed = self.lines("errors.jsonl", out)
                self.assertEqual(set(failed), noticed)
                for each in failed.values():
                    self.assertIn("the fingerprint differs", each["error"])
                self.assertIs(self.lines(folder=out)["same"]["complete"], True, ended)

    def test_the_manifest_states_the_kind_and_full_fingerprints_are_those_of_xxhsum(self):
        for number in range(9):
            self.input(f"{number}", noise(400_000 * number, number + 1))
        header, *entries = map(json.loads, self.plan("--fingerprint", "full", self.inputs).read_bytes().splitlines())
        self.assertEqual((header["fingerprint"], header["inputs"]), ("full", 9))
        self.assertEqual(len({each["fingerprint"] for each in entries}), 9)
        self.assertEqual(json.loads(self.plan(self.inputs).read_bytes().splitlines()[0])["fingerprint"], "ends")
        self.require("xxhsum")
        printed = subprocess.run(["xxhsum", "-H2", *(each["name"] for each in entries)], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual([each["fingerprint"] for each in entries], [line.split()[0].decode() for line in printed.splitlines()])

    def test_another_kind_than_that_of_the_manifest_is_refused(self):
        self.input("a", b"abc")
        self.batch(self.inputs, "--fingerprint", "full")
        self.batch(self.inputs)
        self.assertIn("fingerprints of the kind full", self.batch(self.inputs, "--fingerprint", "ends", status=1).stderr)
        self.assertEqual(run_batch(self.inputs, "--output-dir", self.out, "--fingerprint", "some").status, 2)


class NewOnly(PlanTest):
    def night(self, *arguments, status=0):
        return self.batch(self.inputs, "--new-only", *arguments, status=status)

    def test_the_results_are_those_of_a_new_job(self):
        self.archives()
        self.night(status=1)
        self.input("a-new", b"first\n")
        self.input("m-new.zst", zstd(text(50_000, 70)))
        with (self.inputs / "plain-003").open("ab") as file:
            file.write(text(5_000, 71))
        self.input("members.tar.zst", zstd(tar({f"m{number}": text(30_000, 200 + number) for number in range(35)})))
        self.input("damaged.zst", zstd(text(300_000, 9), "--check"))
        ended = self.night(status=1)  # torn.tar is still damaged
        self.assertIn("2 new inputs, 2 with more bytes, 1 to be read again", ended.stderr)
        self.assertIn("85 of 90 inputs were counted by an earlier run", ended.stderr)
        self.assertEqual(self.results(), self.fresh())
        state = (self.out / ".gpuhist-batch" / "state").read_bytes()
        self.assertIn("90 of 90 inputs were counted by an earlier run", self.night(status=1).stderr)
        self.assertEqual((self.out / ".gpuhist-batch" / "state").read_bytes(), state)
        self.assertEqual(self.results(), self.fresh())

    def test_many_nights_with_random_changes_end_as_a_new_job(self):
        chosen = random.Random(7)
        for night in range(8):
            for _ in range(chosen.randrange(6)):
                self.input(f"{chosen.randrange(1000):03}", text(chosen.randrange(5_000), night))
            for each in sorted(self.inputs.iterdir()):
                if chosen.random() < 0.2:
                    with each.open("ab") as file:
                        file.write(text(1 + chosen.randrange(3_000), night))
                elif chosen.random() < 0.05:
                    each.unlink()
            ended = run_batch(self.inputs, "--output-dir", self.out, "--new-only", "--drop-missing")
            self.assertEqual(ended.status, 0 if "without growing" not in ended.stderr else 1, ended)
            if ended.status == 0:
                self.assertEqual(self.results(), self.fresh())

    def test_inputs_that_disappeared_keep_their_counts_unless_they_are_dropped(self):
        texts = {name: text(1_000, number) for number, name in enumerate("bdfh")}
        for name, data in texts.items():
            self.input(name, data)
        self.night()
        (self.inputs / "b").unlink()
        (self.inputs / "f").unlink()
        texts["e"] = b"new\n"
        self.input("e", texts["e"])
        self.assertIn("1 new input, 2 disappeared (their counts stay)", self.night().stderr)
        self.assertEqual(list(self.lines()), ["b", "d", "f", "e", "h"])
        self.assertEqual(self.total()["bytes"], sum(map(len, texts.values())))
        self.assertEqual(self.total()["buckets"]["classes"], oracle(b"".join(texts.values()))["buckets"]["classes"])
        self.assertIn("2 disappeared and dropped", self.night("--drop-missing").stderr)
        self.assertEqual(self.results(), self.fresh())

    def test_an_input_that_changed_without_growing_is_an_error_that_keeps_the_earlier_counts(self):
        plain = self.input("plain", b"0123456789")
        archive = self.input("a.tar", tar({"m": b"abc"}))
        self.input("same", b"same\n")
        self.night()
        before, whole = self.total(), archive.read_bytes()
        plain.write_bytes(b"xyz")
        archive.write_bytes(tar({"m": b"xyz"}))
        os.utime(archive, ns=(1, 1))
        self.input("zz", b"new\n")
        for _ in range(2):
            ended = self.night(status=1)
            self.assertIn("plain: changed without growing after it was counted: its size is 3 bytes, and was 10", ended.stderr)
            self.assertIn("a.tar: changed without growing", ended.stderr)
            failed = self.lines("errors.jsonl")
            self.assertEqual(set(failed), {"plain", "a.tar"})
            self.assertEqual((failed["plain"]["bytes"], failed["a.tar"]["bytes"], self.lines()["m"]["bytes"]), (10, 0, 3))
            self.assertEqual((self.total()["bytes"], self.total()["complete"]), (before["bytes"] + 4, False))
        plain.write_bytes(b"now it has more bytes")
        archive.write_bytes(whole)  # with another time
        os.utime(archive, ns=(1, 1))
        self.assertIn("1 with more bytes, 1 to be read again", self.night().stderr)
        self.assertEqual(self.results(), self.fresh())
        archive.write_bytes(tar({"m": b"abc", "n": b"longer" * 5000}))
        self.night()
        self.assertEqual(self.results(), self.fresh())

    def test_a_file_that_has_its_earlier_content_again_is_counted_again(self):
        plain = self.input("plain", b"0123456789")
        times = plain.stat().st_mtime_ns
        self.night()
        plain.write_bytes(b"xyz")
        self.night(status=1)
        plain.write_bytes(b"0123456789")
        os.utime(plain, ns=(times, times))
        self.night()
        self.assertEqual(self.results(), self.fresh())

    def test_a_file_that_was_only_touched_is_unchanged_if_its_whole_content_is_known_and_otherwise_read_again(self):
        for kind, read in (("full", False), ("ends", True)):
            with self.subTest(kind=kind):
                shutil.rmtree(self.out, ignore_errors=True)
                touched = self.input("a", noise(2_000_000))
                self.batch(self.inputs, "--fingerprint", kind)
                os.utime(touched, ns=(1, 1))
                self.assertIs("1 to be read again" in self.night().stderr, read)
                replace_byte(touched, 1_000_000)  # in the middle, with another time
                os.utime(touched, ns=(2, 2))
                ended = self.night(status=0 if read else 1)
                self.assertIs("the fingerprint differs" in ended.stderr, not read)
                if read:
                    self.assertEqual(self.results(), self.fresh())

    def test_files_that_are_still_written_wait_for_another_night(self):
        old, growing = self.input("old", b"old"), self.input("growing", b"1\n")
        hour_ago = time.time() - 3600
        for each in (old, growing):
            os.utime(each, (hour_ago, hour_ago))
        self.night("--min-age", "10m")
        growing.write_bytes(b"1\n2\n")
        new = self.input("new", b"new\n")
        self.assertIn("2 files are left out", self.night("--min-age", "10m").stderr)
        self.assertEqual({name: each["bytes"] for name, each in self.lines().items()}, {"growing": 2, "old": 3})
        for each in (growing, new):
            os.utime(each, (hour_ago, hour_ago))
        self.night("--min-age", "10m")
        self.assertEqual(self.results(), self.fresh())

    def test_an_input_that_failed_is_read_again_only_if_it_changed(self):
        path = self.input("a.zst", zstd(text(3_000))[:-5])
        self.night(status=1)
        self.assertIn("1 of 1 input was counted by an earlier run", self.night(status=1).stderr)
        path.write_bytes(zstd(text(3_000)))
        self.night()
        self.assertEqual(self.results(), self.fresh())

    def test_what_is_not_possible_is_refused(self):
        self.input("a", b"abc")
        to = self.plan(self.inputs)
        for arguments, message in (
            (("--new-only", "--shard", "1/2"), "gpuhist merge"),
            (("--new-only", "--manifest", to), "--new-only: cannot be combined with --manifest"),
            (("--drop-missing", self.inputs), "requires --new-only"),
            (("--format", "json", self.inputs), "--dry-run"),
            (("--format", "csv", "--dry-run", self.inputs), "--dry-run"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(message, self.batch(*arguments, status=2).stderr)
        self.batch(self.inputs)
        self.assertIn("of another job", self.night("--buckets", "letters", status=1).stderr)

    def extended(self):
        """Two states of one job: before and after a night, as the files of the folder."""
        self.archives()
        self.night(status=1)
        state = self.out / ".gpuhist-batch"
        before = {name: (state / name).read_bytes() for name in ("manifest.jsonl", "state")}
        old = self.results()
        self.input("new", b"new\n")
        (self.inputs / "large").write_bytes(text(3_100_000, 5))
        self.night(status=1)
        after = {name: (state / name).read_bytes() for name in ("manifest.jsonl", "state")}
        return state, before, old, after

    def test_an_extension_that_was_interrupted_has_no_effect_or_is_finished(self):
        state, before, old, after = self.extended()
        new = self.fresh()
        half = after["state"][:len(after["state"]) // 2]
        for files, expected in (
            ({"manifest.jsonl.next": after["manifest.jsonl"]}, old),
            ({"manifest.jsonl.next": after["manifest.jsonl"], "state.next": half}, old),
            ({"manifest.jsonl.next": after["manifest.jsonl"], "state.next": after["state"]}, old),
            ({"manifest.jsonl.next": after["manifest.jsonl"], "state": half}, new),
            ({"manifest.jsonl": after["manifest.jsonl"], "state": half}, new),
        ):
            for arguments in ((), ("--new-only",)):
                with self.subTest(files=list(files), arguments=arguments):
                    shutil.rmtree(state)
                    state.mkdir()
                    for name, content in {**before, **files}.items():
                        (state / name).write_bytes(content)
                    for name in ("files.jsonl", "errors.jsonl", "total.json", "job.json"):
                        (self.out / name).unlink()
                    self.assertIn(b"inputs     ", self.batch(self.inputs, "--dry-run").stdout)
                    self.batch(self.inputs, *arguments, status=1)
                    self.assertEqual(self.results(), new if arguments else expected)
                    self.assertEqual(sorted(each.name for each in state.iterdir()), ["lock", "manifest.jsonl", "results", "runs.jsonl", "state"])

    def test_a_night_that_is_killed_at_any_moment_ends_as_a_new_job(self):
        self.archives()
        start = time.monotonic()
        self.fresh()
        duration = time.monotonic() - start
        chosen = random.Random(3)
        kills = rounds = 0
        while kills < KILLS:
            rounds += 1  # a run may end before it is killed
            self.input(f"new-{rounds:03}", text(20_000, rounds))
            with (self.inputs / "plain-001").open("ab") as file:
                file.write(b"more\n")
            with Running("batch", "--engine", ENGINE, self.inputs, "--new-only", "--output-dir", self.out, engine=None) as running:
                time.sleep(chosen.uniform(0, duration / 2))
                kills += running.process.poll() is None
                running.process.send_signal(signal.SIGKILL)
                running.finish()
            if chosen.random() < 0.4:
                self.night(status=1)
                self.assertEqual(self.results(), self.fresh())
        self.night(status=1)
        self.assertEqual(self.results(), self.fresh())


class DryRun(PlanTest):
    def plan_of(self, *arguments, **options):
        return json.loads(self.batch(*arguments, "--dry-run", "--format", "json", **options).stdout)

    def kinds(self):
        """Inputs of all kinds, whose names do not say what they are."""
        gzip = subprocess.run(["gzip", "-c"], input=text(400_000, 4), stdout=subprocess.PIPE, check=True).stdout
        return {
            "raw": [text(1_000), text(300_000, 2)],
            "zstd": [zstd(text(200_000, 3)), zstd(text(20_000, 5)) * 3],
            "gzip": [gzip],
            "tar": [tar({"a": text(500), "b": text(700)})],
            "tar.zstd": [zstd(tar({"c": text(600)}))],
        }

    def test_formats_are_recognised_by_content_and_the_manner_of_reading_is_stated(self):
        kinds = self.kinds()
        for kind, contents in kinds.items():
            for number, content in enumerate(contents):
                self.input(f"{kind.replace('.', '-')}-{number}.data", content)
        shown = self.plan_of(self.inputs, self.folder / "absent", "-T", "4")
        formats = {each["format"]: each for each in shown["formats"]}
        self.assertEqual({name: (each["inputs"], each["bytes"]) for name, each in formats.items() if name != "unreadable"},
                         {kind: (len(contents), sum(map(len, contents))) for kind, contents in kinds.items()})
        self.assertEqual(formats["unreadable"]["inputs"], 1)
        self.assertEqual({name: each["manners"] for name, each in formats.items()},
                         {"raw": {"ranges": 1, "whole_file": 1}, "zstd": {"many_frames": 1, "one_frame": 1}, "gzip": {"frame_parts": 1},
                          "tar": {"members": 1}, "tar.zstd": {"members": 1}, "unreadable": {"not_read": 1}})
        printed = self.batch(self.inputs, "--dry-run").stdout.decode()
        self.assertIn("1 of 2: many frames, decoded in groups by all threads; 1 of 2: one frame, decoded by one thread", printed)
        self.assertIn("tar.zstd  1 input", printed)
        self.assertFalse(self.out.exists())

    def test_the_text_is_that_of_the_inputs_if_the_sample_has_all_of_them(self):
        for number, content in enumerate(self.kinds()["zstd"]):
            self.input(f"{number}.zst", content)
        self.input("plain", text(30_000))
        shown = self.plan_of(self.inputs)
        expected = {"zstd": 260_000, "raw": 30_000}
        self.assertEqual({each["format"]: each["estimate"]["text_bytes"] for each in shown["formats"]}, expected)
        self.assertEqual({each["format"]: each["sample"]["text_bytes"] for each in shown["formats"]}, expected)
        self.assertEqual((shown["estimate"]["text_bytes"], shown["gpu"]["pays"]), (290_000, "no"))
        self.assertGreater(shown["estimate"]["seconds"], 0)
        self.assertIn("less than the 8 GiB", shown["gpu"]["reason"])

    def test_many_inputs_are_estimated_from_some_of_them(self):
        for number in range(600):
            self.input(f"{number:03}", text(1_000 if number % 2 else 3_000, number))
        shown = self.plan_of(self.inputs)
        self.assertEqual(shown["formats"][0]["sample"]["inputs"], 256)
        self.assertAlmostEqual(shown["estimate"]["text_bytes"], 1_200_000, delta=5)

    def test_a_gpu_pays_for_much_text_in_many_frames(self):
        frame = zstd(bytes(256 << 20))
        self.input("a.zst", frame * 80)
        shown = self.plan_of(self.inputs, "-T", "2")
        self.assertEqual(shown["gpu"]["pays"], "yes", shown)

    def test_inputs_that_are_counted_are_left_out_and_new_ones_are_shown(self):
        self.input("a", b"abc")
        self.input("b", b"defg")
        self.batch(self.inputs)
        shown = self.plan_of(self.inputs)
        self.assertEqual((shown["inputs"], shown["counted"], shown["formats"]), (2, 2, []))
        self.input("c", b"hijkl")
        before = {each: each.stat().st_mtime_ns for each in self.out.rglob("*")}
        shown = self.plan_of(self.inputs, "--new-only")
        self.assertEqual((shown["inputs"], shown["counted"], shown["formats"][0]["bytes"]), (3, 2, 5))
        self.assertEqual({each: each.stat().st_mtime_ns for each in self.out.rglob("*")}, before)

    def test_a_shard_estimates_its_own_part(self):
        for number in range(10):
            self.input(f"{number}", text(1_000, number))
        to = self.plan(self.inputs)
        shown = [self.plan_of("--manifest", to, "--shard", f"{number}/3") for number in (1, 2, 3)]
        self.assertEqual(sum(each["estimate"]["text_bytes"] for each in shown), 10_000)
        self.assertEqual(sorted(each["inputs"] for each in shown), [3, 3, 4])


class JobDocument(PlanTest):
    def job(self):
        return json.loads((self.out / "job.json").read_bytes())

    def test_it_has_the_plan_the_versions_the_machine_and_the_times(self):
        self.input("a", b"abc")
        self.batch(self.inputs, "--max-errors", "1%", "-T", "2", "-b", "letters")
        job = self.job()
        version = run("--version", engine=None).stdout.decode().split()[1]
        self.assertEqual(job["versions"], {"gpuhist": version, "state": job["state"]["schema"], "manifest": "gpuhist.manifest/1", "results": "gpuhist.result/1"})
        self.assertEqual(job["state"]["options"]["buckets"], ["letters"])
        manifest = json.loads(self.batch(self.inputs, "-b", "letters", "--dry-run", "--format", "json").stdout)["manifest"]
        self.assertEqual(job["state"]["manifest"], manifest)
        self.assertEqual({key: job["plan"][key] for key in ("inputs", "threads", "max-errors", "max-errors-unit", "on-error")},
                         {"inputs": [str(self.inputs)], "threads": 2, "max-errors": 1, "max-errors-unit": "%", "on-error": "continue"})
        self.assertEqual((job["machine"]["host"], job["machine"]["memory_bytes"]),
                         (os.uname().nodename, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")))
        self.assertEqual(job["fingerprint"], "ends")

    def test_it_has_the_times_of_all_runs_also_of_one_that_was_killed(self):
        with (self.inputs / "large").open("wb") as file:
            file.truncate(40 << 30)
        with Running("batch", "--engine", ENGINE, self.inputs, "--output-dir", self.out, engine=None) as running:
            runs = self.out / ".gpuhist-batch" / "runs.jsonl"
            wait_until(lambda: runs.exists() and runs.stat().st_size > 0)
            running.process.send_signal(signal.SIGKILL)
            running.finish()
        os.truncate(self.inputs / "large", 1000)
        self.batch(self.inputs, "--new-only", status=0)
        self.batch(self.inputs)
        times = self.job()["times"]
        self.assertEqual([("ended" in each, each.get("finished")) for each in times["runs"]], [(False, None), (True, 1), (True, 0)])
        self.assertEqual((times["run_count"], times["first_run"]), (3, times["runs"][0]["began"]))
        self.assertAlmostEqual(times["counting_seconds"], sum(each.get("seconds", 0) for each in times["runs"]))


    def test_that_of_merged_shards_has_the_runs_of_all_shards(self):
        for name in "abcd":
            self.input(name, name.encode())
        to = self.plan(self.inputs)
        for number in (1, 2, 3):
            self.batch("--manifest", to, "--shard", f"{number}/3")
        self.assertEqual(run("merge", self.out, engine=None).status, 0)
        times = self.job()["times"]
        self.assertEqual((times["run_count"], sum(each["finished"] for each in times["runs"])), (3, 4))


class Progress(PlanTest):
    def test_a_status_has_inputs_bytes_rate_and_the_time_left(self):
        self.input("a.zst", zstd(text(1_000))[:-2])
        with (self.inputs / "large").open("wb") as file:
            file.truncate(400 << 30)
        with Running("batch", "--engine", ENGINE, self.inputs, "-T", "1", "--output-dir", self.out, engine=None) as running:
            state = self.out / ".gpuhist-batch" / "state"
            wait_until(lambda: state.exists() and state.stat().st_size > len(state.read_bytes().split(b"\n")[0]) + 50)  # the failed input is recorded
            running.process.send_signal(signal.SIGUSR1)
            wait_until(lambda: "of 2 inputs" in running.messages())
            printed = next(line for line in running.messages().splitlines() if "of 2 inputs" in line)
            running.process.send_signal(signal.SIGKILL)
            running.finish()
        self.assertRegex(printed, r"^gpuhist: 1 of 2 inputs, 1 failed, [0-9.]+ [KMG]iB of 400 GiB \(\d+ %\), [0-9.]+ [KMG]iB/s, .* left$")


if __name__ == "__main__":
    main()
