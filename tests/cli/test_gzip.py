"""gzip: the text in all kinds of gzip files and members is counted exactly; damage is always reported."""

import gzip
import random
import struct
import subprocess
import zlib

from packers import BGZF_END, bgzf, bgzf_block, member, with_header_checksum
from support import ALL_SCHEMES, ENGINE, CommandTest, Running, counts_of, evenly, feed, main, noise, run, sampled, text, unread, wait_until

JSON = ("--format", "json", *ALL_SCHEMES)
COUNTS = ("--format", "json", "-b", "bytes")


def decoded_by_zlib(encoded):
    """The text that zlib decodes of the first member, also if the member is damaged."""
    return zlib.decompressobj(31).decompress(encoded)


class Gzip(CommandTest):
    def assert_gzip_counted(self, encoded, data, *options):
        """The file is counted under its name and from a pipe."""
        path = self.file("data.gz", encoded)
        for ended in (run(*JSON, *options, path), run(*JSON, *options, stdin_bytes=encoded)):
            self.assert_decoded(ended, data, "gzip", len(encoded))

    def test_a_file_that_gzip_compressed_in_place_is_counted(self):
        path = self.file("access.log", text(100_000))
        subprocess.run(["gzip", str(path)], check=True)
        self.assert_counted(run(*JSON, f"{path}.gz"), text(100_000))

    def test_headers_with_every_field_are_skipped(self):
        data = text(20_000)
        fields = {4: b"\x05\0ab\1\0c", 8: b"name\0", 16: b"a comment\0"}
        for flags in sampled(range(0, 32, 4), 2):
            chosen = b"".join(field for flag, field in fields.items() if flags & flag)
            with self.subTest(flags=flags):
                self.assert_gzip_counted(member(data, flags, chosen), data)
                self.assert_gzip_counted(member(data, flags | 1, chosen), data)  # 1, "probably text": no effect
                self.assert_gzip_counted(with_header_checksum(data, flags, chosen), data)

    def test_bgzf_blocks_of_every_size_are_counted_exactly(self):
        data = text(1_500_000)
        for step in sampled((65280, 10_000, 500), 2):
            with self.subTest(step=step):
                self.assert_gzip_counted(bgzf(data, step), data)
                self.assert_gzip_counted(bgzf(data, step), data, "-T", "7", "--chunk-size", "50000")

    def test_ordinary_and_bgzf_members_may_be_in_one_file(self):
        data = text(2_000_000)
        half = len(data) // 2
        self.assert_gzip_counted(bgzf(data[:half]) + gzip.compress(data[half:]), data)
        self.assert_gzip_counted(gzip.compress(data[:half]) + bgzf(data[half:]), data)

    def test_statistics_say_how_members_were_found(self):
        data = noise(4_000_000)  # several groups of blocks
        ended = run("--stats", "-T", "2", "--device-decode", "off", self.file("data.bgz", bgzf(data)))
        self.assertIn("1 input split: BGZF blocks found by their sizes", ended.stderr)


class DamagedGzip(CommandTest):
    def run_damaged(self, encoded, *options):
        """Runs the file under its name and from a pipe, with equal results. Returns the run and the reported input."""
        by_name = run(*JSON, *options, self.file("hurt.gz", encoded))
        from_pipe = run(*JSON, *options, stdin_bytes=encoded)
        for ended in (by_name, from_pipe):
            self.assertEqual(ended.status, 1, ended)
            self.assertIs(ended.result["complete"], False)
        (reported,), (other,) = by_name.result["inputs"], from_pipe.result["inputs"]
        self.assertIn(f"hurt.gz: {reported['error']}", by_name.stderr)
        self.assertEqual(counts_of(reported), counts_of(other))
        return by_name, reported

    def assert_unverified_is_a_prefix(self, reported, data):
        if "unverified" in reported:
            self.assert_counts(reported["unverified"], data[: reported["unverified"]["bytes"]])

    def test_unverified_text_of_a_truncated_member_is_at_most_two_bytes_shorter_than_zlib_decodes(self):
        data = text(400_000)
        encoded = gzip.compress(data)
        chosen = random.Random(5)
        for length in (len(encoded) - 1, len(encoded) - 9, *(chosen.randrange(100, len(encoded)) for _ in sampled(range(20), 2))):
            with self.subTest(length=length):
                decoded = decoded_by_zlib(encoded[:length])
                ended, reported = self.run_damaged(encoded[:length])
                self.assert_unverified_is_a_prefix(reported, decoded)
                self.assertGreaterEqual(reported["unverified"]["bytes"], len(decoded) - 2)

    def test_a_changed_byte_is_found_at_every_position(self):
        data = text(120)
        encoded = with_header_checksum(data, 8, b"name\0")
        every = [encoded[:at] + bytes([encoded[at] ^ 1 << at % 8]) + encoded[at + 1 :] for at in range(2, len(encoded))]
        for place, reported in enumerate(self.run_each(".gz", every, *JSON), 2):
            with self.subTest(place=place):
                self.assertEqual((reported["complete"], reported["bytes"]), (False, 0))
                self.assertIn("member 1 ", reported["error"])
        for damaged in evenly(every, 6):
            self.run_damaged(damaged)

    def test_unverified_text_before_an_error_is_a_prefix_of_what_zlib_decodes(self):
        data = text(120_000)
        encoded = gzip.compress(data)
        chosen = random.Random(9)
        for _ in sampled(range(25), 3):
            damaged = bytearray(encoded)
            damaged[chosen.randrange(10, len(encoded) - 8)] ^= 1 << chosen.randrange(8)
            decoder, decoded = zlib.decompressobj(31), b""
            try:
                for byte in damaged:
                    decoded += decoder.decompress(bytes([byte]))
            except zlib.error:
                pass
            ended, reported = self.run_damaged(bytes(damaged))
            self.assertEqual(ended.result["bytes"], 0)
            self.assert_unverified_is_a_prefix(reported, decoded)
            self.assertGreaterEqual(reported["unverified"]["bytes"], len(decoded) - 300)

    def test_a_damaged_bgzf_block_is_reported_with_its_number_and_the_blocks_before_it_count(self):
        data = noise(2_000_000)
        blocks = [bgzf_block(data[at : at + 50_000]) for at in range(0, len(data), 50_000)]
        for number in sampled((0, 1, 17, 39), 2):
            hurt = list(blocks)
            hurt[number] = hurt[number][:-8] + b"\0\0\0\0" + hurt[number][-4:]
            for options in sampled(((), ("-T", "7"), ("--chunk-size", "5000")), 2):
                with self.subTest(number=number, options=options):
                    ended, reported = self.run_damaged(b"".join(hurt) + BGZF_END, *options)
                    self.assert_counts(ended.result, data[: number * 50_000])
                    self.assertIn(f"member {number + 1} is damaged", reported["error"])
                    self.assertIn(f"decompressed offset {number * 50_000 + 50_000}", reported["error"])

    def test_skip_damage_resumes_at_the_next_member_that_is_found(self):
        """Damaged deflate data may decode beyond its member. Members that this overlaps are lost, and reported as lost."""
        parts = [text(5000, seed) for seed in range(6)]
        members = [gzip.compress(part) for part in parts]
        begin, end = len(members[0]), len(members[0]) + len(members[1])
        for place in sampled((*range(begin, end - 8, 31), *range(end - 8, end)), 6):
            damaged = bytearray(b"".join(members))
            damaged[place] ^= 0x10
            with self.subTest(place=place - begin):
                ended = run(*JSON, "--skip-damage", stdin_bytes=bytes(damaged))
                if ended.status == 0:  # the change was in the time, which no checksum covers
                    self.assert_counted(ended, b"".join(parts))
                    continue
                lost = ended.result["inputs"][0]["lost"]
                self.assertEqual(lost[0]["compressed_begin"], begin)
                self.assertIn("member 2 ", lost[0]["error"])
                whole, at = [], 0
                for part, each in zip(parts, members):
                    if all(at >= loss["compressed_end"] or at + len(each) <= loss["compressed_begin"] for loss in lost):
                        whole.append(part)
                    at += len(each)
                self.assert_counts(ended.result, b"".join(whole))
                if place >= end - 8:  # the change is in the checksum or the length: the member ends where it should
                    self.assertEqual(len(whole), 5)

    def test_headers_that_are_not_supported_are_refused(self):
        data = text(1000)
        encoded = gzip.compress(data)
        for place, value, words in ((2, 9, "by method 9, not by deflate (8)"), (3, 0x20, "reserved flags")):
            ended, reported = self.run_damaged(encoded[:place] + bytes([value]) + encoded[place + 1 :])
            self.assertIn(words, reported["error"])


class GuessedMembers(CommandTest):
    """Members of a file are found by their headers, and decoded at the same time. From a pipe they are decoded one after
    the other: both give the same result."""

    FOUND = "split: members found by their headers"

    def members(self, count=160):
        """Several groups of members, as different writers make them."""
        chosen = random.Random(3)
        texts = [(noise, noise, text)[i % 3](chosen.choice((0, 1, 700, 5000, 30_000)), i) for i in range(count)]
        packed = [
            (member(each, 8, b"record\0"), gzip.compress(each, 1), member(each), with_header_checksum(each))[i % 4]
            for i, each in enumerate(texts)
        ]
        return texts, packed

    def assert_same_from_a_pipe(self, encoded, *options):
        path = self.file("members.gz", encoded)
        by_name = run(*JSON, "--stats", *options, path)
        from_pipe = run(*JSON, *options, stdin_bytes=encoded)
        (reported,), (other,) = by_name.result["inputs"], from_pipe.result["inputs"]
        # where a damaged member has its error depends on how the input arrives, by a byte or two
        error, other_error = (each.get("error", "").split(" at compressed offset")[0] for each in (reported, other))
        self.assertEqual(error, other_error)
        self.assertEqual(by_name.status, from_pipe.status, by_name)
        self.assertEqual(counts_of(reported), counts_of(other))
        self.assertEqual(counts_of(by_name.result), counts_of(from_pipe.result))
        return by_name

    def test_the_text_of_all_members_is_counted(self):
        texts, packed = self.members()
        for options in ((), ("-T", "7", "--chunk-size", "5000"), ("-T", "1")):
            ended = self.assert_same_from_a_pipe(b"".join(packed), *options)
            if ENGINE != "cuda":  # a device finds them, too
                self.assertIn(self.FOUND, ended.result["stats"]["decompression"])
            self.assert_counts(ended.result, b"".join(texts))
            self.assertEqual(ended.status, 0)

    def test_a_damaged_member_is_reported_with_its_number_and_the_members_before_it_count(self):
        texts, packed = self.members()
        for number in sampled((0, 1, 77, 159), 2):
            hurt = list(packed)
            hurt[number] = hurt[number][:-8] + bytes([hurt[number][-8] ^ 1]) + hurt[number][-7:]
            with self.subTest(number=number):
                ended = self.assert_same_from_a_pipe(b"".join(hurt))
                self.assertEqual(ended.status, 1)
                self.assertIn(f"member {number + 1} is damaged", ended.result["inputs"][0]["error"])
                self.assert_counts(ended.result, b"".join(texts[:number]))

    def test_any_damage_is_reported_as_of_a_pipe(self):
        texts, packed = self.members()
        whole = b"".join(packed)
        chosen = random.Random(8)
        for _ in sampled(range(60), 12):
            begin, size = chosen.randrange(len(whole)), chosen.choice((0, 1, 9, 40, 3000))
            kind = chosen.choice(("cut out", "changed", "cut off"))
            tail = b"" if kind == "cut off" else whole[begin + size :]
            with self.subTest(begin=begin, size=size, kind=kind):
                self.assert_same_from_a_pipe(whole[:begin] + (noise(size) if kind == "changed" else b"") + tail)

    def test_an_unusual_member_is_decoded_with_the_one_before_it(self):
        texts, packed = self.members()
        for number in (20, 80):
            packed[number] = packed[number][:9] + b"\x63" + packed[number][10:]  # no writer has this number
        ended = self.assert_same_from_a_pipe(b"".join(packed))
        self.assert_counts(ended.result, b"".join(texts))
        self.assertEqual(ended.status, 0)

    def test_text_that_looks_like_the_end_of_a_member_is_counted(self):
        """Stored members of a tar file, for example, within a member that stores its text."""
        texts, packed = self.members()
        inner = b"".join(packed)
        stored = [member(inner[at : at + 100_000], level=0) for at in range(0, len(inner), 100_000)]
        ended = self.assert_same_from_a_pipe(packed[0] + b"".join(stored) + inner, "-T", "4")
        self.assert_counts(ended.result, texts[0] + inner + b"".join(texts))
        self.assertEqual(ended.status, 0)
        self.assertNotIn(self.FOUND, ended.result["stats"]["decompression"])

    def test_files_with_a_long_member_are_counted(self):
        texts, packed = self.members()
        data = text(6_000_000)
        for encoded in (gzip.compress(data), gzip.compress(data, 0)):
            ended = self.assert_same_from_a_pipe(b"".join(packed) + encoded + b"".join(packed), "-T", "4")
            self.assert_counts(ended.result, b"".join(texts) + data + b"".join(texts))

    def test_the_text_has_a_maximum(self):
        texts, packed = self.members()
        size = sum(map(len, texts))
        for most in (size, size - 1, size // 2):
            ended = self.assert_same_from_a_pipe(b"".join(packed), "--max-output", str(most))
            self.assertEqual(ended.status, 0 if most == size else 1)


class WrongBgzfSizes(CommandTest):
    """The size in a BGZF header is a hint. Where it is wrong, the counts are those of decoders that ignore it."""

    def blocks(self):
        """Many groups of blocks, stored and deflated. Some are so small that a wrong size can reach beyond them."""
        chosen = random.Random(11)
        kinds = (noise, noise, text)
        return [bgzf_block(kinds[i % 3](chosen.choice((700, 2000, 5000, 30_000)), i)) for i in range(45)] + [BGZF_END]

    @staticmethod
    def ends_of_groups(blocks):
        """The blocks after which another decoder continues: a group has at least 64 KiB."""
        ends, together = [], 0
        for number, block in enumerate(blocks):
            together += len(block)
            if together >= 65536:
                ends.append(number)
                together = 0
        return ends

    @staticmethod
    def with_size(block, size):
        return block[:16] + struct.pack("<H", size - 1) + block[18:]

    @staticmethod
    def wrong_sizes(blocks, number):
        """Wrong values for the size in the header of this block, by name."""
        true = len(blocks[number])
        ends = [true]
        for each in blocks[number + 1 :]:
            ends.append(ends[-1] + len(each))
        sizes = {"one": 1, "the header's": 18, "too small": true - 1, "too large": true + 1, "the largest": 65536,
                 "into the next header": true + 10, "half": true // 2 + 1, "small": 19}
        passing = [end for end in ends[1:] if end <= 65536]
        for name, at in (("over one member", 0), ("over two", 1), ("over many", -1)):
            if len(passing) > at:
                sizes[name] = passing[at] if passing else true
        if ends[-1] < 65000:
            sizes["behind the end of the file"] = ends[-1] + 500
        return {name: size for name, size in sizes.items() if 1 <= size <= 65536 and size != true}

    def assert_counts_like_gzip(self, encoded, file_threads="4", pipe_threads="1"):
        data = gzip.decompress(encoded)
        path = self.file("data.bgz", encoded)
        for ended in (run(*COUNTS, "-T", file_threads, path), run(*COUNTS, "-T", pipe_threads, stdin_bytes=encoded)):
            self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
            self.assert_counted(ended, data)

    def test_one_wrong_size_in_any_block_does_not_change_the_counts(self):
        blocks = self.blocks()
        data = gzip.decompress(b"".join(blocks))
        names = set()
        ends = self.ends_of_groups(blocks)
        self.assertGreater(len(ends), 3)
        for number in sampled((0, ends[0], ends[len(ends) // 2], ends[-1], len(blocks) - 2, len(blocks) - 1), 2):
            sizes = self.wrong_sizes(blocks, number)
            names.update(sizes)
            every = [b"".join([*blocks[:number], self.with_size(blocks[number], size), *blocks[number + 1 :]])
                     for name, size in sorted(sizes.items())]
            for name, reported in zip(sorted(sizes), self.run_each(".bgz", every, *COUNTS, "-T", "4")):
                with self.subTest(number=number, name=name):
                    self.assertTrue(reported["complete"])
                    self.assert_counts(reported, data)
            for hurt in evenly(every, 3):
                with self.subTest(number=number):
                    self.assert_counts_like_gzip(hurt, *(("4", "1") if number % 2 else ("1", "4")))
        self.assertIn("over many", names)
        self.assertIn("behind the end of the file", names)

    def test_wrong_sizes_in_all_blocks_do_not_change_the_counts(self):
        blocks = self.blocks()
        for size in (1, 18, 700, 65536):
            with self.subTest(size=size):
                self.assert_counts_like_gzip(b"".join(self.with_size(block, size) for block in blocks))
        self.assert_counts_like_gzip(b"".join(self.with_size(each, len(each) + len(after) if len(each) + len(after) <= 65536 else 1)
                                              for each, after in zip(blocks, [*blocks[1:], b""])))

    def test_members_after_a_wrong_size_are_verified(self):
        blocks = self.blocks()
        for number, sizes in ((3, (1, 18, 65536)), (30, (1, len(blocks[30]) + len(blocks[31])))):
            for size in sizes:
                hurt = [*blocks[:number], self.with_size(blocks[number], size), *blocks[number + 1 :]]
                hurt[35] = hurt[35][:-8] + b"\0\0\0\0" + hurt[35][-4:]
                with self.subTest(number=number, size=size):
                    ended = run(*JSON, "-T", "4", stdin_bytes=b"".join(hurt))
                    self.assertEqual(ended.status, 1, ended)
                    self.assert_counts(ended.result, gzip.decompress(b"".join(blocks[:35])))
                    self.assertIn("(its text does not match its checksum)", ended.stderr)

    def test_blocks_may_arrive_in_pieces_that_end_in_or_near_headers(self):
        blocks = [bgzf_block(noise(40_000, seed)) for seed in range(8)] + [BGZF_END]
        for wrong in (None, 4):
            sent = list(blocks)
            if wrong is not None:
                sent[wrong] = self.with_size(sent[wrong], len(sent[wrong]) - 5)
            encoded = b"".join(sent)
            cuts, at = {0, len(encoded)}, 0
            for each, offset in zip(sent, (0, 1, 9, 17, 18, 19, -1, -5, 0)):
                at += len(each)
                cuts.add(min(at + offset, len(encoded)))
            with self.subTest(wrong=wrong), Running(*JSON, "-T", "4", stdin=subprocess.PIPE) as running:
                cuts = sorted(cuts)
                for begin, end in zip(cuts, cuts[1:]):
                    feed(running, [encoded[begin:end]])
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                running.process.stdin.close()
                self.assert_counted(running.finish(), gzip.decompress(encoded))

    def test_a_size_that_points_to_stored_text_which_looks_like_a_block_is_an_error(self):
        inner = bgzf(noise(1000))
        stored = member(inner, 4, b"\6\0BC\2\0\0\0", level=0)
        place = stored.index(inner)
        blocks = [bgzf_block(noise(65_000, seed)) for seed in range(4)]
        encoded = b"".join(blocks) + self.with_size(stored, place) + BGZF_END
        ended = run(*JSON, "--skip-damage", stdin_bytes=encoded)
        self.assertEqual((ended.status, ended.result["complete"]), (1, False), ended)
        ended = run(*JSON, stdin_bytes=blocks[0] + self.with_size(stored, place) + blocks[1])
        if ended.status == 0:
            self.assert_counted(ended, gzip.decompress(blocks[0] + stored + blocks[1]))
        else:
            self.assertIn("(it does not end where the sizes in headers say)", ended.stderr)


class Zlib(CommandTest):
    def test_zlib_streams_are_read_by_their_first_bytes(self):
        for data in sampled((b"", text(5), text(700), noise(100_000), text(1_000_000)), 2):
            for level in sampled((0, 1, 2, 6, 9), 2):
                encoded = zlib.compress(data, level)
                for ended in (run(*JSON, self.file("x", encoded)), run(*JSON, stdin_bytes=encoded), run(*JSON, self.file("x.zz", encoded))):
                    self.assert_decoded(ended, data, "zlib", len(encoded))
        self.assert_counted(run(*JSON, "--input-format", "raw", self.file("x", encoded)), encoded)

    def test_text_that_begins_like_a_zlib_stream_is_text(self):
        for begin in sampled((b"x", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"x^2", b"x^3 + 1\n"), 2):
            for data in sampled((begin, begin + text(50), begin + text(2000), begin + noise(3000)), 2):
                self.assert_counted(run(*JSON, self.file("x", data)), data)
                self.assert_counted(run(*JSON, stdin_bytes=data), data)


if __name__ == "__main__":
    main()
