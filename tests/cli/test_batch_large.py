"""`gpuhist batch`: a run that was killed inside large files continues there, and the results are those of one run."""

import json
import random
import signal
import struct
import time

from packers import packed
from support import ENGINE, Running, main, noise, text, zstd
from test_batch import KILLS, BatchTest

PREFIX = 5  # job_record::kind::prefix
OPTIONS = ("-T", "2", "--checkpoint-every", "1ms", "--trust-names")


def records(state):
    """The records of a state: the offset at which each ends, its entry and its kind."""
    at = state.index(b"\n") + 1
    while at < len(state):
        (size,) = struct.unpack_from("<I", state, at)
        entry, _, kind = struct.unpack_from("<QII", state, at + 12)
        at += 12 + size
        yield at, entry, kind


class LargeFiles(BatchTest):
    def setUp(self):
        super().setUp()
        self.state = self.out / ".gpuhist-batch" / "state"
        pieces = [text(400_000, number) if number % 3 else noise(300_000, number) for number in range(30)]
        damaged = bytearray(zstd(pieces[7], "--check"))
        damaged[-1] ^= 1
        contents = {
            "plain": b"".join(pieces) * 2,
            "frames.zst": b"".join(zstd(each, "--check") for each in pieces * 2),
            "members.gz": b"".join(packed(each, "gzip", "-1c") for each in pieces),
            "members.lz": b"".join(packed(each, "lzip", "-1c") for each in pieces[:4]),
            "frames.lz4": b"".join(packed(each, "lz4", "-1cq") for each in pieces),
            "damaged.zst": b"".join(zstd(each, "--check") for each in pieces[:20]) + bytes(damaged) + zstd(pieces[8]),
            "small": b"small\n",
        }
        for name, content in contents.items():
            self.input(name, content)

    def batch(self, *options, out=None, status=1):
        return super().batch(*OPTIONS, *options, self.inputs, out=out, status=status)

    def undisturbed(self, *options):
        folder = self.folder / "undisturbed"
        self.batch("--checkpoint-every", "1h", *options, out=folder)
        return self.results(folder)


class Continued(LargeFiles):
    def check_every_prefix(self, *options):
        """Ends the state after each of its records, as a kill there does, and continues."""
        expected = self.undisturbed(*options)
        for _ in range(20):  # a fast run may end before a prefix of several files is recorded
            self.batch(*options)
            whole = self.state.read_bytes()
            found = list(records(whole))
            if len({entry for _, entry, kind in found if kind == PREFIX}) >= 2:
                break
            (self.out / "total.json").unlink()
            self.state.unlink()
        self.assertEqual(self.results(), expected)
        begun = 0
        for end, entry, kind in found:
            if kind != PREFIX:
                continue
            self.state.write_bytes(whole[:end])
            ended = self.batch(*options)
            self.assertIn("and the beginning of ", ended.stderr)
            self.assertEqual(self.results(), expected)
            begun += 1
            if begun == KILLS:
                break
        self.assertGreater(begun, 0)

    def test_a_run_that_ends_after_any_record_continues_inside_files(self):
        self.check_every_prefix("-b", "classes,letters")

    def test_pairs_at_the_place_of_continuation_are_counted(self):
        self.check_every_prefix("-b", "letters", "--pairs")

    def test_damage_that_was_skipped_before_the_place_of_continuation_is_reported(self):
        self.check_every_prefix("--skip-damage")

    def test_unverified_counts_of_the_beginning_are_kept(self):
        self.check_every_prefix("--skip-damage", "--count-unverified", "--byte-counts")

    def test_what_was_counted_is_not_read_again(self):
        self.batch()
        expected = self.results()
        whole = self.state.read_bytes()
        names = [json.loads(line)["name"] for line in (self.out / ".gpuhist-batch" / "manifest.jsonl").read_bytes().splitlines()[1:]]
        plain = names.index(str(self.inputs / "plain"))
        ends = [end for end, entry, kind in records(whole) if (entry, kind) == (plain, PREFIX)]
        if not ends:
            self.skipTest("no prefix of the plain file was recorded")
        with (self.inputs / "plain").open("r+b") as file:  # the ends keep their fingerprint
            file.seek(100_000)
            file.write(bytes(100))
        self.state.write_bytes(whole[:ends[-1]])
        self.batch()
        self.assertEqual(self.results(), expected)

    def test_text_that_is_validated_is_counted_from_the_beginning(self):
        self.batch("--utf8")
        self.assertNotIn(PREFIX, [kind for _, _, kind in records(self.state.read_bytes())])


class Killed(LargeFiles):
    def test_a_job_that_is_killed_inside_files_at_any_moment_has_the_results_of_an_undisturbed_one(self):
        start = time.monotonic()
        expected = self.undisturbed()
        duration = time.monotonic() - start
        chosen = random.Random(7)
        kills = 0
        while kills < KILLS:
            for each in sorted(self.out.rglob("*"), reverse=True) if self.out.exists() else ():
                each.unlink() if each.is_file() else each.rmdir()
            for signal_number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
                with Running("batch", "--engine", ENGINE, *OPTIONS, self.inputs, "--output-dir", self.out, engine=None) as running:
                    time.sleep(chosen.uniform(0, duration))
                    kills += running.process.poll() is None
                    running.process.send_signal(signal_number)
                    running.finish()
            self.batch()
            self.assertEqual(self.results(), expected)


if __name__ == "__main__":
    main()
