"""`gpuhist batch` with large files: a run that was killed inside them continues there, and the results are those of one run; shards
share them: pieces of plain files and of zstd archives, merged, are one run."""

import json
import random
import signal
import struct
import subprocess
import time

from packers import packed
from support import ENGINE, GPUHIST, Running, main, noise, run, text, zstd
from test_batch import KILLS, BatchTest, run_batch

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


def pzstd(data):
    """Frames after skippable frames with their sizes, as pzstd writes them."""
    frames = [zstd(data[at : at + 60_000], "--check") for at in range(0, len(data), 60_000)]
    return b"".join(b"\x50\x2a\x4d\x18\x04\x00\x00\x00" + len(each).to_bytes(4, "little") + each for each in frames)


class Pieces(BatchTest):
    def setUp(self):
        super().setUp()
        data = b"".join(text(40_000, number) + noise(20_000, number) for number in range(30))
        self.input("plain", data)
        self.input("source", data[::-1])
        repacked = self.inputs / "seekable.zst"
        subprocess.run([GPUHIST, "repack", "--frame-size", "50000", "-o", repacked, self.inputs / "source"], check=True, stderr=subprocess.PIPE)
        self.input("sizes.zst", pzstd(data))
        self.input("small", b"small\n")
        self.manifest = self.folder / "manifest.jsonl"

    def plan(self, split_size="100000"):
        planned = run("batch", "plan", self.inputs, "--split-size", split_size, "-o", self.manifest, engine=None)
        self.assertEqual((planned.status, planned.stderr), (0, ""))
        return {json.loads(line)["name"].rsplit("/", 1)[-1]: json.loads(line) for line in self.manifest.read_bytes().splitlines()[1:]}

    def batch(self, *options, out, status=0):
        return super().batch("-T", "2", "--manifest", self.manifest, *options, out=out, status=status)

    def merged(self, shards, *options, order=None, statuses=(0,), status=0):
        out = self.folder / f"shards-{shards}"
        for number in order or range(1, shards + 1):
            ended = run_batch("-T", "2", "--manifest", self.manifest, "--output-dir", out, "--shard", f"{number}/{shards}", *options)
            self.assertIn(ended.status, statuses, ended)
        ended = run("merge", out, engine=None)
        self.assertEqual(ended.status, status, ended)
        return out

    def test_the_manifest_has_the_places_between_frames(self):
        entries = self.plan()
        self.assertEqual([each[0] for each in entries["plain"]["splits"]], list(range(100_000, 1_800_000, 100_000)))
        for name in ("seekable.zst", "sizes.zst"):
            content = (self.inputs / name).read_bytes()
            self.assertGreater(len(entries[name]["splits"]), 3)
            for stored, frames, *_ in entries[name]["splits"]:
                decoded = subprocess.run(["zstd", "-dcq"], input=content[:stored], stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(len(decoded), frames * (50_000 if name == "seekable.zst" else 60_000))
        self.assertNotIn("splits", entries["small"])

    def test_shards_in_any_order_and_twice_are_one_run(self):
        self.plan()
        whole = self.folder / "whole"
        self.batch("-b", "classes,letters", "--byte-counts", out=whole)
        for shards in (2, 3, 8, 40):
            order = [*range(1, shards + 1), 1, shards]
            random.Random(shards).shuffle(order)
            out = self.merged(shards, "-b", "classes,letters", "--byte-counts", order=order)
            self.assertEqual(self.results(out), self.results(whole))

    def test_a_manifest_with_wrong_offsets_of_text_is_an_error_of_the_input(self):
        self.plan()
        lines = [json.loads(line) for line in self.manifest.read_bytes().splitlines()]
        for line in lines:
            if line.get("name", "").endswith("seekable.zst"):
                line["splits"] = [[stored, frames, offset + 1] for stored, frames, offset in line["splits"]]
        self.manifest.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        out = self.merged(8, status=1)
        failed, = map(json.loads, (out / "errors.jsonl").read_bytes().splitlines())
        self.assertRegex(failed["error"], r"contradicts the manifest: compressed offset \d+ has decompressed offset \d+, and not \d+")
        self.assertEqual((failed["name"].rsplit("/", 1)[-1], failed["error_kind"]), ("seekable.zst", "refused"))

    def test_shards_have_about_the_same_number_of_bytes(self):
        self.plan()
        sizes = []
        for number in range(1, 5):
            shown = run("batch", "--manifest", self.manifest, "--shard", f"{number}/4", "--dry-run", "--format", "json", "--output-dir", self.folder / "none", engine=None)
            self.assertEqual(shown.status, 0, shown)
            sizes.append(json.loads(shown.stdout)["bytes"])
        self.assertEqual(sum(sizes), sum(each.stat().st_size for each in self.inputs.iterdir()))
        self.assertLess(max(sizes), sum(sizes) / 4 + 200_000)  # two pieces

    def test_damage_in_a_piece_is_that_of_the_whole_file(self):
        for name, at in (("seekable.zst", 700_000), ("sizes.zst", 300_000)):
            content = bytearray((self.inputs / name).read_bytes())
            content[at] ^= 0x10
            (self.inputs / name).write_bytes(bytes(content))
        self.plan()
        for options in ((), ("--skip-damage",), ("--skip-damage", "--count-unverified")):
            with self.subTest(options=options):
                whole = self.folder / f"whole{''.join(options)}"
                self.batch(*options, out=whole, status=1)
                for shards in (3, 8):
                    out = self.merged(shards, *options, statuses=(0, 1), status=1)
                    for name in ("total.json",):
                        self.assertEqual(json.loads((out / name).read_bytes()), json.loads((whole / name).read_bytes()))
                    for got, expected in zip(*(map(json.loads, (folder / "files.jsonl").read_bytes().splitlines()) for folder in (out, whole))):
                        if got["name"].endswith("sizes.zst") and got != expected:
                            self.assertIn("decompressed offsets count from compressed offset", got["error"])
                            got["error"] = expected["error"]
                        self.assertEqual(got, expected)
                    for each in sorted(out.rglob("*"), reverse=True):
                        each.unlink() if each.is_file() else each.rmdir()

    def test_a_piece_of_a_file_that_changed_is_an_error_of_the_file(self):
        self.plan()
        with (self.inputs / "plain").open("ab") as file:
            file.write(b"more")
        out = self.merged(4, statuses=(0, 1), status=1)
        lines = {json.loads(line)["name"].rsplit("/", 1)[-1]: json.loads(line) for line in (out / "files.jsonl").read_bytes().splitlines()}
        self.assertIn("differs from the manifest: its size", lines["plain"]["error"])
        self.assertEqual((lines["plain"]["bytes"], lines["plain"]["complete"]), (0, False))
        self.assertIs(lines["seekable.zst"]["complete"], True)

    def test_a_shard_that_is_killed_inside_a_piece_continues_there(self):
        self.plan()
        whole = self.folder / "whole"
        self.batch(out=whole)
        out = self.merged(2, "--checkpoint-every", "1ms")
        state = out / ".gpuhist-batch" / "1-of-2" / "state"
        content = state.read_bytes()
        begin = content.index(b"\n") + 1
        for end in (begin, (begin + len(content)) // 2, len(content) - 20):
            (out / "parts" / "1-of-2").unlink()
            state.unlink()  # the part is a link to it
            state.write_bytes(content[:end])
            self.batch("--shard", "1/2", "--checkpoint-every", "1ms", out=out)
            self.assertEqual(run("merge", out, engine=None).status, 0)
            self.assertEqual(self.results(out), self.results(whole))

    def test_files_are_not_divided_where_their_parts_belong_together(self):
        self.plan()
        for options in (("--pairs", "-b", "letters"), ("--utf8",), ("--max-output", "1GiB")):
            with self.subTest(options=options):
                shown = run("batch", "--manifest", self.manifest, "--shard", "1/40", "--dry-run", "--format", "json", "--output-dir", self.folder / "none", *options, engine=None)
                self.assertEqual(json.loads(shown.stdout)["bytes"], max(each.stat().st_size for each in self.inputs.iterdir()))

    def test_conditions_of_divided_files_are_refused(self):
        self.plan()
        ended = run("batch", "--manifest", self.manifest, "--shard", "1/4", "--fail-if", "digit > 0.5", "--watch", "inputs", "--output-dir", self.folder / "none", engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn("--split-size", ended.stderr)
        self.plan("1GiB")
        self.batch("--shard", "1/4", "--fail-if", "digit > 0.9", "--watch", "inputs", out=self.folder / "out")


if __name__ == "__main__":
    main()
