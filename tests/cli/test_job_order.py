"""The order of the system calls of a job: what makes it survive a power failure, and exclude a second run, also on a
network file system. Recorded by strace."""

import os
import sys

import system_calls
from support import SANITIZED, SKIPPED, CommandTest, main, run, text

WRITES = ("write", "pwrite64", "ftruncate")
APPEARS = ("rename", "renameat", "renameat2", "link", "linkat")
SYNCS = ("fsync", "fdatasync")


class JobOrder(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "new" / "out"
        (self.folder / "in").mkdir()
        for number in range(20):
            (self.folder / "in" / f"{number:02}").write_bytes(text(5_000, number))
        self.runs = {"whole": self.record("batch", "in", "--output-dir", "new/out")}
        self.runs["continued"] = self.record_continued()
        self.assertEqual(run("batch", "plan", "in", "-o", "m", engine=None, cwd=self.folder).status, 0)
        for number in (1, 2):
            self.runs[f"shard {number}"] = self.record("batch", "--manifest", "m", "--shard", f"{number}/2", "--output-dir", "parts/out")
        self.runs["shard again"] = self.record("batch", "--manifest", "m", "--shard", "1/2", "--output-dir", "parts/out")
        self.runs["merge"] = self.record("merge", "parts/out", "--output-dir", "parts/merged")

    def record(self, *arguments):
        status, calls = system_calls.recorded(*arguments, cwd=self.folder, trace=self.folder / "trace")
        self.assertEqual(status, 0, arguments)
        return calls

    def record_continued(self):
        state = self.out / ".gpuhist-batch" / "state"
        state.write_bytes(state.read_bytes()[:-300])
        return self.record("batch", "in", "--output-dir", "new/out")

    def each_run(self, *but):
        """The successful calls of each run."""
        return [[each for each in calls if not each.failed] for name, calls in self.runs.items() if name not in but]

    def is_of_job(self, path):
        return any(path.startswith(str(self.folder / folder) + "/") for folder in ("new", "parts"))

    def publications(self, calls):
        """Position, source and name of each file that appears."""
        return [(at, *each.paths) for at, each in enumerate(calls) if each.name in APPEARS and self.is_of_job(each.paths[1])]

    def test_the_lock_is_taken_before_anything_else_is_written_and_kept_until_the_end(self):
        for calls in self.each_run():
            locked = [at for at, each in enumerate(calls) if each.name == "fcntl" and "F_OFD_SETLK, {l_type=F_WRLCK" in each.text
                      and os.path.basename(each.paths[0]) == "lock"]  # records of runs are appended under a lock of their file
            self.assertEqual(len(locked), 1)
            (lock,) = calls[locked[0]].paths
            opened = [at for at, each in enumerate(calls) if each.name in ("open", "openat") and self.is_of_job(each.paths[0])
                      and ("O_WRONLY" in each.text or "O_RDWR" in each.text) and each.paths[0] != lock]
            written = [at for at, each in enumerate(calls) if each.name in (*WRITES, *APPEARS) and self.is_of_job(each.paths[-1])]
            self.assertGreater(min(opened), locked[0])
            self.assertGreater(min(written), locked[0])
            released = [at for at, each in enumerate(calls) if each.name == "close" and each.paths == [lock]]
            self.assertTrue(all(at > max(written) for at in released), released)

    def test_what_appears_was_synced_after_its_last_write(self):
        for calls in self.each_run("shard again"):
            published = self.publications(calls)
            self.assertTrue(published)
            for at, source, name in published:
                writes = [i for i, each in enumerate(calls[:at]) if each.name in WRITES and each.paths == [source]]
                syncs = [i for i, each in enumerate(calls[:at]) if each.name in SYNCS and each.paths == [source]]
                self.assertTrue(syncs and max(syncs) > max(writes, default=-1), name)

    def test_the_folder_is_synced_after_each_name_and_before_the_next(self):
        for calls in self.each_run():
            published = self.publications(calls)
            for (at, _, name), following in zip(published, [*[each[0] for each in published[1:]], len(calls)]):
                synced = [each for each in calls[at:following] if each.name == "fsync" and each.paths == [os.path.dirname(name)]]
                self.assertEqual(len(synced), 1, name)

    def test_the_names_of_new_folders_are_synced_before_files_appear_in_them(self):
        for calls in self.each_run("continued", "shard 2", "shard again"):
            made = [(at, each.paths[0]) for at, each in enumerate(calls) if each.name in ("mkdir", "mkdirat") and self.is_of_job(each.paths[0] + "/")]
            self.assertTrue(made)
            first = self.publications(calls)[0][0]
            for at, folder in made:
                self.assertTrue([each for each in calls[at:first] if each.name == "fsync" and each.paths == [os.path.dirname(folder)]], folder)

    def test_records_are_synced_before_results_appear(self):
        for name, last in (("whole", "total.json"), ("continued", "total.json"), ("shard 1", "1-of-2")):
            calls = [each for each in self.runs[name] if not each.failed]
            state = [at for at, each in enumerate(calls) if each.name in WRITES and os.path.basename(each.paths[0]) == "state"]
            synced = [at for at, each in enumerate(calls) if each.name == "fdatasync" and os.path.basename(each.paths[0]) == "state"]
            appeared = [(at, os.path.basename(made)) for at, _, made in self.publications(calls) if os.path.basename(made) not in ("state", "manifest.jsonl")]
            self.assertTrue(any(max(state) < at < appeared[0][0] for at in synced), name)
            self.assertEqual(appeared[-1][1], last)

    def test_a_shard_is_published_by_a_link_that_replaces_nothing(self):
        links = lambda name: [each for each in self.runs[name] if each.name in ("link", "linkat")]
        self.assertEqual([each.failed for each in links("shard 1")], [False])
        self.assertEqual([("EEXIST" in each.text, each.failed) for each in links("shard again")], [(True, True)])


if __name__ == "__main__":
    if SANITIZED or not system_calls.can_be_recorded():
        print("skipped: no strace that can trace, or a sanitizer, which makes calls of its own")
        sys.exit(SKIPPED)
    main()
