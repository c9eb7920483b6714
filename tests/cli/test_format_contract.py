"""The contract of all compressed formats: the text of every file that their tools write is counted exactly, however it
arrives; what is verified before damage counts, and damage is reported with its place. Other suites have what is particular
to one format."""

import random
import re

from packers import FORMATS, OF_MANY_PARTS, VERIFIED
from support import ALL_SCHEMES, CommandTest, counts_of, evenly, main, noise, oracle, run, run_byte_by_byte, sampled, text

JSON = ("--format", "json", *ALL_SCHEMES)


def flipped(encoded, at, bit=0x40):
    return encoded[:at] + bytes([encoded[at] ^ bit]) + encoded[at + 1 :]


class FormatTest(CommandTest):
    def ways(self, form, encoded, name="data"):
        """The arguments with which a file is read by its name, and from a pipe."""
        is_recognised = form.is_recognised and len(encoded) > 13
        yield (self.file(name + form.suffix, encoded),), None
        yield () if is_recognised else ("--input-format", form.kind), encoded


class Intact(FormatTest):
    def assert_read(self, form, encoded, data, *options):
        for arguments, stdin_bytes in self.ways(form, encoded):
            self.assert_decoded(run(*JSON, *options, *arguments, stdin_bytes=stdin_bytes), data, form.kind, len(encoded))

    def test_every_kind_of_text_is_counted_exactly(self):
        for form in FORMATS.values():
            for data in (b"", b"x", noise(500_000), bytes(5_000_000)):
                with self.subTest(format=form.kind, data=data[:10]):
                    self.assert_read(form, form.packed(data), data)

    def test_the_output_of_every_packer_is_counted_exactly(self):
        data = text(150_000) + noise(50_000)
        for form in FORMATS.values():
            for pack in sampled(form.packers, 2):
                with self.subTest(format=form.kind):
                    self.assert_read(form, pack(data), data)

    def test_hundreds_of_parts_are_counted_exactly_with_all_threads_slots_and_chunks(self):
        chosen = random.Random(7)
        parts = [text(chosen.choice((0, 1, 100, 5000, 70_000)), seed) for seed in range(200)]
        data = b"".join(parts)
        for form in OF_MANY_PARTS:
            encoded = b"".join(chosen.choice(form.packers)(part) for part in parts)
            self.assertEqual(form.unpacked(encoded), data)
            for options in sampled(((), ("-T", "1"), ("-T", "2", "--chunk-size", "64KiB"), ("-T", "7"), ("--chunk-size", "999"),
                                    ("--chunk-size", "64MiB"), ("--slots", "2", "--chunk-size", "3000")), 2):
                with self.subTest(format=form.kind, options=options):
                    self.assert_read(form, encoded, data, *options)

    def test_empty_parts_add_nothing(self):
        for form in OF_MANY_PARTS:
            with self.subTest(format=form.kind):
                self.assert_read(form, form.packed(b"") * 3 + form.packed(b"x") + form.packed(b""), b"x")

    def test_zeros_after_a_part_are_padding(self):
        data = text(40_000)
        for form in (each for each in OF_MANY_PARTS if each.may_be_padded):
            encoded = form.packed(data)
            for zeros in sampled((1, 2, 3, 4, 5, 511, 10_240, 2_000_000), 3):
                with self.subTest(format=form.kind, zeros=zeros):
                    for pack in form.packers[:2]:
                        self.assert_read(form, pack(data) + bytes(zeros), data)
                    if form.kind != "gzip":
                        self.assertEqual(form.unpacked(encoded + bytes(zeros)), data)
                        self.assert_read(form, (encoded + bytes(zeros)) * 3, data * 3)

    def test_a_format_is_recognised_by_content_under_any_name(self):
        for form in FORMATS.values():
            encoded = form.packed(text(1000))
            for name in ("data", "data.log", f"data{form.suffix.upper()}", *(["data.bgz"] if form.kind == "gzip" else [])):
                with self.subTest(format=form.kind, name=name):
                    if form.is_recognised or name.endswith(".LZMA"):
                        self.assert_counted(run(*JSON, self.file(name, encoded)), text(1000))

    def test_input_format_raw_counts_the_compressed_bytes(self):
        for form in FORMATS.values():
            encoded = form.packed(text(10_000))
            with self.subTest(format=form.kind):
                self.assert_counted(run(*JSON, "--input-format", "raw", self.file("data" + form.suffix, encoded)), encoded)

    def test_inputs_of_all_formats_and_text_are_counted_in_one_run(self):
        forms = [*FORMATS.values(), None] * 2
        parts = [text(70_000, seed) for seed in range(len(forms))]
        paths = [self.file(f"{seed}{form.suffix if form else '.log'}", form.packed(part) if form else part)
                 for seed, (form, part) in enumerate(zip(forms, parts))]
        for options in ((), ("-T", "1"), ("-T", "7", "--chunk-size", "5000"), ("--slots", "2")):
            ended = run(*JSON, *options, *paths)
            with self.subTest(options=options):
                self.assert_counted(ended, b"".join(parts))
                for reported, part in zip(ended.result["inputs"], parts):
                    self.assert_counts(reported, part)

    def test_a_file_that_arrives_byte_by_byte_is_counted_exactly(self):
        data = text(20_000)
        for form in FORMATS.values():
            encoded = form.packed(data[:10_000]) + form.packed(data[10_000:]) if form.has_many_parts else form.packed(data)
            options = () if form.is_recognised else ("--input-format", form.kind)
            with self.subTest(format=form.kind):
                self.assert_counted(run_byte_by_byte(encoded, *JSON, *options), data)


class Damaged(FormatTest):
    def run_damaged(self, form, encoded, *options):
        """Runs the file under its name and from a pipe, with equal results. Returns the run and the reported input."""
        runs = [run(*JSON, *options, *arguments, stdin_bytes=stdin_bytes) for arguments, stdin_bytes in self.ways(form, encoded, "hurt")]
        for ended in runs:
            self.assertEqual(ended.status, 1, ended)
            self.assertIs(ended.result["complete"], False)
        (reported,), (other,) = (ended.result["inputs"] for ended in runs)
        self.assertIn(f"hurt{form.suffix}: {reported['error']}", runs[0].stderr)
        self.assertEqual(counts_of(reported), counts_of(other))
        return runs[0], reported

    def assert_unverified_is_a_prefix(self, reported, data):
        if "unverified" in reported:
            self.assert_counts(reported["unverified"], data[: reported["unverified"]["bytes"]])

    def test_of_a_file_that_is_cut_at_any_byte_the_parts_before_the_cut_count(self):
        parts = [text(150), b"", text(60, 2)]
        for form in VERIFIED:
            own = parts if form.has_many_parts else parts[:1]
            encoded = [pack(part) for pack, part in zip(form.packers * 3, own)]
            whole = b"".join(encoded)
            begins = [sum(map(len, encoded[:number])) for number in range(len(own))]
            ends = [0, *begins[1:], len(whole)]
            lengths = range(1 if form.is_recognised else 2, len(whole))
            for length, reported in zip(lengths, self.run_each(form.suffix, [whole[:length] for length in lengths], *JSON)):
                with self.subTest(format=form.kind, length=length):
                    verified = [part for part, each, begin in zip(own, encoded, begins) if begin + form.verified_at(each) <= length]
                    self.assert_counts(reported, b"".join(verified))
                    self.assertEqual(reported["complete"], length in ends)
                    if length < form.recognised_after:
                        self.assertIn(f"but does not hold {form.kind} data", reported["error"])
                    elif length not in ends:
                        number = sum(begin <= length for begin in begins)
                        self.assertIn(f"{form.part} {number} ends early: the input stops at compressed offset {length}, ", reported["error"])
                        self.assert_unverified_is_a_prefix(reported, own[number - 1])
            for length in evenly(lengths, 6):
                if length not in ends:
                    self.run_damaged(form, whole[:length])
            for length in set(ends) - {0}:
                self.assert_counted(run(*JSON, self.file("cut" + form.suffix, whole[:length])), b"".join(own[: ends.index(length)]))

    def test_a_flipped_bit_that_the_tool_finds_is_found_and_other_text_is_never_counted(self):
        parts = [text(3000), text(200_000, 2), b"", text(60)]
        prefixes = [oracle(b"".join(parts[:number])) for number in range(len(parts) + 1)]
        chosen = random.Random(12)
        for form in OF_MANY_PARTS:
            encoded = b"".join(map(form.packed, parts))
            second = len(form.packed(parts[0]))
            places = [*range(14), *range(second, second + 12), *(chosen.randrange(len(encoded)) for _ in range(60))]
            damaged = [flipped(encoded, place, 1 << chosen.randrange(8)) for place in sampled(places, 40)]
            for place, each, reported in zip(sampled(places, 40), damaged, self.run_each(form.suffix, damaged, *JSON)):
                expected = form.unpacked(each)
                with self.subTest(format=form.kind, place=place):
                    if reported["complete"]:
                        self.assertIsNotNone(expected)
                        self.assert_counts(reported, expected)
                    else:
                        self.assertIn(counts_of(reported), prefixes)

    def test_a_part_with_a_wrong_checksum_is_not_in_the_totals_and_the_parts_before_it_are(self):
        parts = [text(30_000, seed) for seed in range(3)]
        for form in OF_MANY_PARTS:
            frames = [form.packed(part) for part in parts]
            checksums = [form.checksum_at(frames[1])] if form.checksum_at else []
            for place in (len(frames[1]) // 2, *checksums):
                encoded = frames[0] + flipped(frames[1], place) + frames[2]
                with self.subTest(format=form.kind, place=place):
                    self.assertIsNone(form.unpacked(encoded))
                    ended, reported = self.run_damaged(form, encoded)
                    self.assert_counts(ended.result, parts[0])
                    place_of_damage = r"^(\w+ \d+) is damaged \((.*)\) at compressed offset (\d+), decompressed offset (\d+)$"
                    part, cause, compressed, decompressed = re.match(place_of_damage, reported["error"]).groups()
                    self.assertEqual(part, f"{form.part} 2")
                    if place in checksums:
                        self.assertIn("match", cause)
                        self.assertIn("checksum", cause)
                        self.assertEqual(counts_of(reported["unverified"]), oracle(parts[1]))
                        self.assertEqual(int(decompressed), 60_000)
                        self.assertLess(place - 20, int(compressed) - len(frames[0]))
                        self.assertLessEqual(int(compressed), len(frames[0] + frames[1]))

    def test_trailing_garbage_is_an_error_and_the_parts_before_it_count(self):
        data = text(30_000)
        for form in VERIFIED:
            for pack in form.packers[:2]:
                encoded = pack(data)
                for garbage in (b"garbage", b"\x1fgarbage", text(100_000), *([b"\0\0garbage"] if form.kind != "xz" else [])):
                    with self.subTest(format=form.kind, garbage=garbage[:10]):
                        ended, reported = self.run_damaged(form, encoded + garbage)
                        self.assert_counts(ended.result, data)
                        at = len(encoded) + (2 if garbage[0] == 0 and form.may_be_padded else 0)
                        what = f"that is not {form.kind} where {form.part} N would begin" if form.has_many_parts else "after the end of the stream"
                        error = re.sub(r"\d+ would", "N would", reported["error"])
                        self.assertEqual(error, f"trailing data {what}, at compressed offset {at}, decompressed offset 30000")

    def test_skip_damage_resumes_at_the_next_part(self):
        parts = [text(5000, seed) for seed in range(5)]
        for form in OF_MANY_PARTS:
            frames = [form.packed(part) for part in parts]
            # damaged deflate data may decode beyond its member
            hurt = flipped(frames[1], form.checksum_at(frames[1]) if form.kind == "gzip" else len(frames[1]) // 2, 8)
            ended, reported = self.run_damaged(form, frames[0] + hurt + b"".join(frames[2:]), "--skip-damage")
            with self.subTest(format=form.kind):
                self.assert_counts(ended.result, b"".join([parts[0], *parts[2:]]))
                (lost,) = reported["lost"]
                self.assertEqual((lost["compressed_begin"], lost["compressed_end"]), (len(frames[0]), len(frames[0]) + len(hurt)))

    def test_other_content_under_the_name_or_the_input_format_is_refused(self):
        for form in FORMATS.values():
            for content, words in ((b"", f"is named {form.suffix} but is empty"), (b"\0binary, and some more of it\n", f"{form.kind}")):
                ended = run(*JSON, self.file("data" + form.suffix, content), self.file("good", b"hello"))
                with self.subTest(format=form.kind, content=content):
                    self.assertEqual(ended.status, 1, ended)
                    self.assertIn(words, ended.stderr)
                    self.assert_counts(ended.result, b"hello")
            for content in (b"", b"just text, and some more of it\n"):
                ended = run(*JSON, "--input-format", form.kind, stdin_bytes=content)
                with self.subTest(format=form.kind, content=content):
                    self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)
                    self.assertIn(form.kind, ended.stderr)


if __name__ == "__main__":
    main()
