"""What a killed run leaves: the outputs are those of before or complete, the next run ends as an undisturbed one, and it
removes the temporary files."""

import os
import random
import re
import signal
import time

from support import SAMPLE, SANITIZED, CommandTest, Running, main, run, text, zstd

KILLS = int(os.environ.get("TEST_REPEATS", "12" if SANITIZED or SAMPLE else "30"))  # of all modes together
DROP = ("filter", "--drop-if", "digit > 0.3")


def files(folder):
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def comparable(found):
    """Without the state of jobs and lists of outputs, and without random names of runs, in lines of any order."""
    results = {name: content for name, content in found.items() if "gpuhist" not in name and name != "job.json"}
    return {name: sorted(re.sub(rb'"run":"[0-9a-f]{16}"', b"", content).splitlines()) for name, content in results.items()}


class Leftovers(CommandTest):
    # Modes: arguments, and those that continue. All write to out/.
    MODES = {
        "repack": (("repack", "in/large", "-o", "out/large.zst"), ()),
        "repack, replacing": (("repack", "in/large", "-o", "out/large.zst", "--force"), ()),
        "count": (("-r", "in", "--format", "json", "-o", "out/counts.json"), ()),
        "count, resumed": (("-r", "in", "--resume", "out/counts.jsonl"), ()),
        "filter": ((*DROP, "-r", "in", "-o", "out/kept", "--result", "out/dropped.jsonl"), ()),
        "filter into a folder": ((*DROP, "-r", "in", "--output-dir", "out"), ("--resume",)),
        "filter into a folder, compressed": ((*DROP, "-r", "in", "--compress", "zstd", "--output-dir", "out"), ("--resume",)),
        "batch": (("batch", "in", "--output-dir", "out"), ()),
        "batch with units": (("batch", "in", "--each", "line", "--where", "digit > 0.3", "--output-dir", "out"), ()),
        "batch, new inputs": (("batch", "in", "--new-only", "--output-dir", "out"), ()),
        "batch plan": (("batch", "plan", "in", "-o", "out/manifest"), ()),
    }

    def setUp(self):
        super().setUp()
        (self.folder / "in").mkdir()
        for number in range(60):
            (self.folder / "in" / f"{number:02}").write_bytes(text(5_000, number))
        (self.folder / "in" / "large").write_bytes(text(6_000_000, 3))
        (self.folder / "in" / "frames.zst").write_bytes(b"".join(zstd(text(300_000, each)) for each in range(8)))

    def end(self, arguments):
        ended = run(*arguments, engine=None, cwd=self.folder)
        self.assertEqual(ended.status, 0, ended)

    def empty(self):
        out = self.folder / "out"
        for each in sorted(out.rglob("*"), reverse=True) if out.exists() else ():
            each.unlink() if each.is_file() else each.rmdir()
        out.mkdir(exist_ok=True)

    def kill(self, arguments, after):
        """Returns whether the run was killed before its end."""
        with Running(*arguments, engine=None, cwd=self.folder) as running:
            time.sleep(after)
            is_killed = running.process.poll() is None
            running.process.send_signal(signal.SIGKILL)
            running.finish()
        return is_killed

    def test_the_run_after_kills_at_any_moments_ends_as_an_undisturbed_one_and_leaves_no_temporary_file(self):
        chosen = random.Random(int(os.environ.get("TEST_SEED", "11")))
        counted = {}
        for name, (arguments, to_continue) in self.MODES.items():
            self.empty()
            start = time.monotonic()
            self.end(arguments)
            duration = time.monotonic() - start
            undisturbed = files(self.folder / "out")
            kills = 0
            while kills < -(-KILLS // len(self.MODES)):
                if chosen.random() < 0.7:
                    self.empty()
                continued = arguments
                for _ in range(chosen.randrange(1, 4)):
                    if any((self.folder / "out").iterdir()):
                        continued = (*arguments, *to_continue)
                        (self.folder / "out" / "large.zst").unlink(missing_ok=True) if name == "repack" else None
                    kills += self.kill(continued, chosen.uniform(0, duration))
                    self.assert_whole(name, undisturbed)
                if name == "repack":
                    (self.folder / "out" / "large.zst").unlink(missing_ok=True)
                self.end((*arguments, *to_continue))
                left = files(self.folder / "out")
                self.assertEqual([each for each in left if re.search(r"\.gpuhist-\d{6}$", each)], [], name)
                self.assertTrue(comparable(left) == comparable(undisturbed), name)
            counted[name] = kills
        print(f"{sum(counted.values())} kills:", counted)

    def assert_whole(self, name, undisturbed):
        """Files with final names are whole, except a result to which lines are appended."""
        left = files(self.folder / "out")
        for each in comparable(left):
            if name != "count, resumed":
                self.assertTrue(comparable({each: left[each]}) == comparable({each: undisturbed[each]}), (name, each))


if __name__ == "__main__":
    main()
