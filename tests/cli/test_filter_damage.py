"""`gpuhist filter --skip-damage`: the units without text of damaged frames, members and blocks are written exactly, and
only those; what is dropped is listed, and the exit status is 1."""

import bz2
import gzip
import itertools
import json
import lzma
import random
import re
import subprocess
import zipfile
import zlib

from packers import packed
from support import CommandTest, Running, file_size_limit, main, run, sampled, tar, zipped, zstd

ALL = ("--keep-if", "bytes > 0")
DROP = ("--drop-if", "digit > 0.5")
RECORD = ".gpuhist-filter.jsonl"


# ---- the oracle ------------------------------------------------------------------------------------------------------


def units_of(frames, hurt, unit="line"):
    """(bytes, whether all of its text is intact) of each unit. Every damaged frame was decoded as a whole; the gap after
    it ends a unit, and cuts the line or record after it."""
    made, current, intact = [], b"", True

    def end():
        nonlocal current, intact
        if current:
            made.append((current, intact))
        current, intact = b"", True

    for number, frame in enumerate(frames):
        rest = frame
        while rest:
            size = unit - len(current) if isinstance(unit, int) else rest.find(b"\n") + 1 or len(rest)
            current, rest = current + rest[:size], rest[size:]
            intact = intact and number not in hurt
            if len(current) == unit if isinstance(unit, int) else current.endswith(b"\n"):
                end()
        if number in hurt:
            intact = False
            end()
            intact = isinstance(unit, int)
    end()
    return made


def is_dropped(unit):
    return 2 * (len(unit) - len(unit.translate(None, b"0123456789"))) > len(unit)


def survivors(frames, hurt, unit="line", keeps=lambda unit: True):
    return b"".join(each for each, intact in units_of(frames, hurt, unit) if intact and keeps(each))


# ---- data ------------------------------------------------------------------------------------------------------------


def lines(number, seed=1):
    chosen = random.Random(seed)
    words = (b"4711 0815\n", b"hello world\n", b"\n", b"a1\n", b"xyz" * 70 + b"\n", b"9" * 90 + b"\n")
    return b"".join(chosen.choices(words, k=number)) + b"no end"


def cut(data, number, seed=1):
    """The data in so many pieces, which end anywhere in lines."""
    places = sorted(random.Random(seed).sample(range(1, len(data)), number - 1))
    return [data[begin:end] for begin, end in itertools.pairwise([0, *places, len(data)])]


def hurt_at(encoded, place):
    return encoded[:place] + bytes([encoded[place] ^ 4]) + encoded[place + 1 :]


def hurt_checksum(encoded):
    """Of a zstd frame: all of its text is decoded."""
    return hurt_at(encoded, len(encoded) - 1)


def joined(frames, hurt, encode, spoil):
    return b"".join(spoil(encode(frame)) if number in hurt else encode(frame) for number, frame in enumerate(frames))


# How a frame of each format is encoded, and damaged.
FORMATS = {
    "zst": (zstd, hurt_checksum),
    "gz": (lambda data: gzip.compress(data, mtime=0), lambda encoded: hurt_at(encoded, len(encoded) - 7)),
    "xz": (lambda data: lzma.compress(data, preset=0), lambda encoded: hurt_at(encoded, len(encoded) // 2)),
    "bz2": (bz2.compress, lambda encoded: hurt_at(encoded, len(encoded) // 2)),
    "lz4": (lambda data: packed(data, "lz4", "-zcq", "--content-size"), lambda encoded: hurt_at(encoded, len(encoded) - 2)),
    "lz": (lambda data: packed(data, "lzip", "-cq"), lambda encoded: hurt_at(encoded, len(encoded) - 18)),
}


def filtered(*arguments, **options):
    return run("filter", *arguments, engine=None, **options)


class DamageTest(CommandTest):
    def assert_salvaged(self, ended, expected, note=None):
        self.assertEqual(ended.status, 1, ended)
        self.assertTrue(ended.stdout == expected, f"{note}: {len(ended.stdout)} bytes instead of {len(expected)}; {ended!r}")


class Standard(DamageTest):
    def test_a_unit_survives_if_none_of_its_bytes_is_in_the_damaged_frame_wherever_its_borders_are(self):
        data = b"one\n\ntwo22\n3\nfour 4"
        borders = [(begin, end) for begin in range(len(data)) for end in range(begin + 1, len(data) + 1)]
        for begin, end in sampled(borders, 20):
            frames = [data[:begin], data[begin:end], data[end:]]
            path = self.file("a.zst", joined(frames, {1}, zstd, hurt_checksum))
            for threads in ("1", "3"):
                with self.subTest(begin=begin, end=end, threads=threads):
                    self.assert_salvaged(filtered("--skip-damage", *ALL, "-T", threads, path), survivors(frames, {1}))

    def test_all_formats_places_and_numbers_of_threads_give_the_same_text(self):
        frames = cut(lines(4000), 7)
        damages = ({0}, {3}, {6}, {2, 3}, {0, 6}, set(range(7)))
        manners = (("-T", "1"), ("-T", "4"), ("-T", "2", "--chunk-size", "777"), ("--memory-limit", "64MiB"))
        for suffix, hurt, options in sampled(list(itertools.product(FORMATS, damages, manners)), 29):
            path = self.file("a." + suffix, joined(frames, hurt, *FORMATS[suffix]))
            expected = survivors(frames, hurt, keeps=lambda unit: not is_dropped(unit))
            with self.subTest(suffix=suffix, hurt=hurt, options=options):
                self.assert_salvaged(filtered("--skip-damage", *DROP, *options, path), expected)

    def test_a_pipe_gives_the_same_text_as_a_file(self):
        frames = cut(lines(3000), 5)
        for suffix in ("zst", "gz", "bz2"):
            encoded = joined(frames, {1, 4}, *FORMATS[suffix])
            with self.subTest(suffix=suffix):
                self.assert_salvaged(filtered("--skip-damage", *ALL, stdin_bytes=encoded), survivors(frames, {1, 4}))

    def test_many_frames_of_any_size_with_damage_anywhere(self):
        chosen = random.Random(5)
        for case in sampled(range(6), 3):
            frames = cut(lines(chosen.choice((300, 30_000)), case), chosen.choice((20, 60)), case)
            hurt = set(chosen.sample(range(len(frames)), chosen.choice((1, 5, 15))))
            path = self.file("a.zst", joined(frames, hurt, zstd, hurt_checksum))
            for unit, options in (("line", ()), (1000, ("--each", "1000")), (7, ("--each", "7"))):
                for threads in ("1", "2", "5"):
                    with self.subTest(case=case, unit=unit, threads=threads):
                        ended = filtered("--skip-damage", *DROP, *options, "-T", threads, path)
                        expected = survivors(frames, hurt, unit, lambda each: not is_dropped(each))
                        self.assert_salvaged(ended, expected)

    def test_a_flipped_bit_anywhere_in_a_frame_loses_its_units_only(self):
        frames = cut(lines(200), 3, 4)
        whole = [zstd(each) for each in frames]
        expected = survivors(frames, {1})
        for place in sampled(range(0, len(whole[1]), 3), 10):
            path = self.file("a.zst", whole[0] + hurt_at(whole[1], place) + whole[2])
            with self.subTest(place=place):
                ended = filtered("--skip-damage", *ALL, path)
                if ended.status == 0:  # in a bit that the format ignores
                    self.assertEqual(ended.stdout, b"".join(frames))
                else:
                    self.assert_salvaged(ended, expected)

    def test_both_halves_of_a_line_that_damage_cuts_are_dropped(self):
        first, damaged, last = b"one\ntwo, be", b"gin to e", b"nd\nthree\n"
        for tool, suffix in (("zstd", "zst"), ("gzip", "gz"), ("bzip2", "bz2"), ("lzip", "lz")):
            whole = [packed(each, tool, "-c") for each in (first, damaged, last)]
            encoded = whole[0] + hurt_at(whole[1], len(whole[1]) - 8) + whole[2]
            for stdin_bytes, inputs in ((encoded, ()), (None, (self.file("a." + suffix, encoded),))):
                with self.subTest(tool=tool, inputs=inputs):
                    self.assert_salvaged(filtered("--skip-damage", *ALL, *inputs, stdin_bytes=stdin_bytes), b"one\nthree\n")

    def test_a_line_that_is_cut_by_the_end_of_a_truncated_input_is_dropped(self):
        frames = [b"one\ntwo\nthr", b"ee\nfour\n"]
        encoded = b"".join(map(zstd, frames))
        for size in (len(encoded) - 1, len(zstd(frames[0])) + 3):
            with self.subTest(size=size):
                self.assert_salvaged(filtered("--skip-damage", *ALL, self.file("a.zst", encoded[:size])), b"one\ntwo\n")

    def test_nothing_of_an_input_of_one_damaged_frame_is_written_and_all_of_an_intact_one(self):
        data = lines(300_000)
        path = self.file("hurt.zst", hurt_checksum(zstd(data)))
        for threads in ("1", "2"):
            self.assert_salvaged(filtered("--skip-damage", *ALL, "-T", threads, path), b"")
        for name, encoded in (("a.zst", zstd(data)), ("a.gz", gzip.compress(data, 1)), ("a", data)):
            with self.subTest(name=name):
                ended = filtered("--skip-damage", *ALL, self.file(name, encoded))
                self.assertEqual((ended.status, ended.stdout == data), (0, True), ended)
                self.assertNotIn("damage", ended.stderr)

    def test_blocks_of_one_xz_stream_are_dropped_one_by_one(self):
        data, block = lines(20_000), 40_000
        encoded = packed(data, "xz", "-zcq", "-0", "-T2", f"--block-size={block}")
        path = self.file("a.xz", hurt_at(encoded, len(encoded) // 2))
        (number,) = re.findall(r"block (\d+) does not decode", run("--skip-damage", path).stderr)
        frames = [data[at : at + block] for at in range(0, len(data), block)]
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                ended = filtered("--skip-damage", *ALL, "-T", threads, path)
                self.assert_salvaged(ended, survivors(frames, {int(number) - 1}))

    def test_fields_of_json_lines_are_those_of_intact_lines(self):
        made = [json.dumps({"n": number, "text": "x1" * (number % 9)}).encode() + b"\n" for number in range(3000)]
        frames = cut(b"".join(made), 9)
        path = self.file("a.zst", joined(frames, {2, 7}, zstd, hurt_checksum))
        for threads in ("1", "4"):
            ended = filtered("--skip-damage", "-q", "--jsonl-field", "text", "--keep-if", "bytes > 4", "-T", threads, path)

            def is_kept(line):
                try:
                    return len(json.loads(line)["text"]) > 4
                except ValueError:
                    return False  # the rest of a line after a gap

            self.assert_salvaged(ended, survivors(frames, {2, 7}, keeps=is_kept))


class Reports(DamageTest):
    def test_dropped_units_are_listed_with_their_place_and_whether_damage_is_the_cause(self):
        frames = cut(lines(3000, 9), 8)
        hurt = {0, 4, 5}
        path, result = self.file("a.zst", joined(frames, hurt, zstd, hurt_checksum)), self.folder / "result"
        expected, offset, line = [], 0, 1
        units = units_of(frames, hurt)
        for number, (unit, intact) in enumerate(units, 1):
            if not intact or is_dropped(unit):
                expected.append((number, line, offset, len(unit), intact, unit.count(b"\n")))
            offset, line = offset + len(unit), line + unit.count(b"\n")
        damaged = [unit for unit, intact in units if not intact]
        dropped = [unit for unit, intact in units if intact and is_dropped(unit)]
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                ended = filtered("--skip-damage", *DROP, "--result", result, "-T", threads, path)
                documents = [json.loads(each) for each in result.read_text().splitlines()]
                fields = ("unit", "line", "offset", "bytes", "verified", "lines")
                listed = [tuple(each[name] for name in fields) for each in documents if each["kind"] == "unit"]
                self.assertEqual(listed, expected)
                found = documents[-1]["units"]
                self.assertEqual((found["seen"], found["bytes"]), (len(units), len(b"".join(frames))))
                self.assertEqual((found["unverified"], found["unverified_bytes"]), (len(damaged), len(b"".join(damaged))))
                self.assertEqual((found["selected"], found["selected_bytes"]), (len(dropped), len(b"".join(dropped))))
                self.assertIs(documents[-1]["complete"], False)
                self.assertIn(f"dropped {len(damaged):,} ({len(b''.join(damaged)):,} bytes) with unverified text", ended.stderr)
                self.assertIn(f"{path}: frame 1 is damaged", ended.stderr)

    def test_the_field_that_counts_damaged_units_is_zero_without_damage_and_absent_without_the_option(self):
        path, result = self.file("a.zst", zstd(b"one\n22\n")), self.folder / "result"
        self.assertEqual(filtered("--skip-damage", *DROP, "--result", result, path).status, 0)
        self.assertEqual(json.loads(result.read_text().splitlines()[-1])["units"]["unverified"], 0)
        self.assertEqual(filtered(*DROP, "--result", result, path).status, 0)
        self.assertNotIn("unverified", json.loads(result.read_text().splitlines()[-1])["units"])


class Held(DamageTest):
    def test_text_is_held_until_its_frame_is_verified(self):
        frames = [b"one\n", b"two\n" * 50_000, b"three\nfour\n"]
        encoded = [zstd(each) for each in frames]
        with Running("filter", "--skip-damage", *ALL, engine=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            running.process.stdin.write(encoded[0] + encoded[1][:-2])
            running.process.stdin.flush()
            self.assertEqual(running.process.stdout.readline(), b"one\n")
            running.process.stdin.write(encoded[1][-2:-1] + bytes([encoded[1][-1] ^ 1]) + encoded[2])
            running.process.stdin.close()
            self.assertEqual(running.process.stdout.read(), b"four\n")
            self.assertEqual(running.process.wait(), 1)

    def test_long_frames_are_spilled_and_a_full_disk_ends_the_run(self):
        data = lines(400_000)
        path = self.file("a.zst", zstd(data))
        ended = filtered("--skip-damage", *ALL, "--memory-limit", "48MiB", path)
        self.assertEqual((ended.status, ended.stdout == data), (0, True))
        output = self.folder / "out"
        ended = filtered("--skip-damage", *ALL, "-o", output, path, preexec_fn=file_size_limit(1_000_000))
        self.assertEqual(ended.status, 1)
        self.assertIn("frames that are not verified need a temporary file", ended.stderr)
        self.assertFalse(output.exists())
        after = self.file("b.zst", zstd(b"after the hole\n"))
        ended = filtered("--skip-damage", *ALL, "-T", "1", path, after, preexec_fn=file_size_limit(1_000_000))
        self.assertEqual(ended.status, 1)
        self.assertNotIn(b"after the hole", ended.stdout)


class Files(DamageTest):
    def test_the_output_appears_without_the_damaged_units_only_if_the_option_is_given(self):
        frames = cut(lines(500), 4)
        path, output = self.file("a.zst", joined(frames, {2}, zstd, hurt_checksum)), self.folder / "out"
        ended = filtered(*ALL, "-o", output, path)
        self.assertEqual((ended.status, output.exists()), (1, False))
        ended = filtered("--skip-damage", *ALL, "-o", output, path)
        self.assertEqual((ended.status, output.read_bytes()), (1, survivors(frames, {2})))

    def test_an_output_that_lacks_anything_else_does_not_appear(self):
        frames = cut(lines(500), 4)
        path, output = self.file("a.zst", joined(frames, {2}, zstd, hurt_checksum)), self.folder / "out"
        for other in (self.folder / "missing", self.folder):
            with self.subTest(other=other):
                ended = filtered("--skip-damage", *ALL, "-o", output, path, other)
                self.assertEqual((ended.status, output.exists()), (1, False))
                self.assertIn("was not written", ended.stderr)


class Archives(DamageTest):
    def test_all_members_of_an_intact_archive_are_written(self):
        members = {f"{number}.log": lines(2000, number) for number in range(6)}
        packed = tar(members)
        frames = [packed[at : at + 30_000] for at in range(0, len(packed), 30_000)]
        for name, encoded in (("a.tar", packed), ("one.tar.zst", zstd(packed)), ("many.tar.zst", b"".join(map(zstd, frames)))):
            with self.subTest(name=name):
                ended = filtered("--skip-damage", *ALL, self.file(name, encoded))
                self.assertEqual((ended.status, ended.stdout == b"".join(members.values())), (0, True), ended)

    def test_a_member_of_a_zip_whose_checksum_is_wrong_is_dropped_and_the_others_are_written(self):
        members = {f"{number}.log": lines(3000, number) for number in range(5)}
        encoded = zipped(members, zipfile.ZIP_DEFLATED)
        checksum = zlib.crc32(members["2.log"]).to_bytes(4, "little")
        hurt = encoded.replace(checksum, bytes([checksum[0] ^ 1]) + checksum[1:])
        self.assertNotEqual(hurt, encoded)
        path, output, result = self.file("a.zip", hurt), self.folder / "out", self.folder / "result"
        expected = b"".join(text for name, text in members.items() if name != "2.log")
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                self.assert_salvaged(filtered("--skip-damage", *ALL, "-T", threads, path), expected)
        ended = filtered("--skip-damage", *ALL, "-o", output, "--result", result, path)
        self.assertEqual((ended.status, output.read_bytes()), (1, expected))
        documents = [json.loads(each) for each in result.read_text().splitlines()]
        dropped = [each for each in documents if each["kind"] == "unit"]
        self.assertEqual({(each["name"], each["verified"]) for each in dropped}, {(f"{path}/2.log", False)})
        self.assertEqual(len(dropped), len(units_of([members["2.log"]], set())))

    def test_members_that_a_damaged_frame_around_the_archive_contains_are_dropped(self):
        members = {f"{number}.log": lines(500, number) for number in range(40)}
        packed = tar(members)
        frames = [packed[at : at + 100_000] for at in range(0, len(packed), 100_000)]
        self.assertGreater(len(frames), 3)
        encoded = [zstd(each) for each in frames]
        encoded[2] = hurt_checksum(encoded[2])
        path = self.file("a.tar.zst", b"".join(encoded))
        counted = run("--skip-damage", "--format", "json", path).result
        verified = [each["name"] for each in counted["inputs"] if each["complete"]]
        self.assertGreater(len(verified), 3)
        expected = b"".join(text for name, text in members.items() if f"{path}/{name}" in verified)
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                self.assert_salvaged(filtered("--skip-damage", *ALL, "-T", threads, path), expected)


class Folder(DamageTest):
    def setUp(self):
        super().setUp()
        self.inputs, self.out = self.folder / "in", self.folder / "out"
        self.inputs.mkdir()
        self.frames = {f"{number}.log": cut(lines(1500, number), 6, number) for number in range(4)}
        self.hurt = {"0.log": set(), "1.log": {0, 3}, "2.log": {5}, "3.log": set()}
        for name, frames in self.frames.items():
            (self.inputs / (name + ".zst")).write_bytes(joined(frames, self.hurt[name], zstd, hurt_checksum))

    def tree(self, *options):
        return filtered(*ALL, "-r", "--output-dir", self.out, *options, self.inputs)

    def assert_outputs(self, decode=lambda data: data):
        found = {each.name: decode(each.read_bytes()) for each in self.out.iterdir() if each.name != RECORD}
        expected = {name: survivors(frames, self.hurt[name]) for name, frames in self.frames.items()}
        self.assertEqual(sorted(name.split(".zst")[0] for name in found), sorted(expected))
        for name, text in found.items():
            self.assertTrue(text == expected[name.split(".zst")[0]], name)

    def test_damaged_inputs_have_outputs_of_their_intact_units(self):
        for threads, compression in (("1", "none"), ("3", "none"), ("3", "same")):
            with self.subTest(threads=threads, compression=compression):
                ended = self.tree("--skip-damage", "--force", "-T", threads, "--compress", compression)
                self.assertEqual(ended.status, 1, ended)
                self.assertIn("4 outputs; kept ", ended.stderr)
                if compression == "same":
                    for name in self.frames:
                        (self.out / name).unlink()
                    self.assert_outputs(lambda data: packed(data, "zstd", "-dcq"))
                else:
                    self.assert_outputs()

    def test_a_run_with_the_option_continues_one_without_it(self):
        self.assertEqual(self.tree().status, 1)
        self.assertEqual({each.name for each in self.out.iterdir()}, {"0.log", "3.log", RECORD})

        def written():  # not the time of access: the oracle reads the file
            state = (self.out / "0.log").stat()
            return state.st_ino, state.st_size, state.st_mtime_ns

        before = written()
        ended = self.tree("--resume", "--skip-damage")
        self.assertIn("2 outputs, 2 more were complete", ended.stderr)
        self.assert_outputs()
        self.assertEqual(written(), before)
        recorded = [json.loads(line) for line in (self.out / RECORD).read_text().splitlines()]
        self.assertEqual({each["name"]: each.get("lacks_damaged_text", False) for each in recorded},
                         {"0.log": False, "1.log": True, "2.log": True, "3.log": False})  # fmt: skip

    def test_the_exit_status_does_not_depend_on_how_many_runs_the_outputs_took(self):
        self.assertEqual(self.tree("--skip-damage").status, 1)
        ended = self.tree("--skip-damage", "--resume")
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("0 outputs, 4 more were complete", ended.stderr)
        self.assertIn("2 of the outputs that were complete lack damaged text of the input", ended.stderr)
        self.assert_outputs()

    def test_without_the_option_an_output_that_lacks_text_is_not_complete(self):
        self.assertEqual(self.tree("--skip-damage").status, 1)
        self.assert_usage_error(self.tree("--resume"), "1.log", "lacks the damaged text of its input; give --skip-damage")
        self.assert_outputs()

    def test_the_output_of_an_input_that_was_repaired_is_replaced(self):
        self.assertEqual(self.tree("--skip-damage").status, 1)
        for name in ("1.log", "2.log"):
            self.hurt[name] = set()
            (self.inputs / (name + ".zst")).write_bytes(joined(self.frames[name], set(), zstd, hurt_checksum))
        ended = self.tree("--resume")
        self.assertEqual(ended.status, 0, ended)
        self.assertIn("2 outputs, 2 more were complete", ended.stderr)
        self.assert_outputs()


if __name__ == "__main__":
    main()
