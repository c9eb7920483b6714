"""xz, lzma, lzip, bzip2 and lz4: the output of their tools is counted exactly; what the tools refuse is refused. Blocks of xz
without sizes in their headers are decoded by all threads if the index at the end of the file says where they begin: the
whole result, the messages and the exit status are those of one thread, which does not read the index."""

import bz2
import lzma
import random
import struct
import subprocess

from packers import FORMATS, packed, xz_index_begin
from support import ALL_SCHEMES, CommandTest, main, needs, noise, run, sampled, tar, text, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


def blocks_of(path):
    """The offsets and sizes of the blocks of an xz file, by its index."""
    listing = subprocess.run(["xz", "--robot", "-lvv", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [line.split("\t") for line in listing.splitlines() if line.startswith("block\t")]
    return [(int(row[4]), int(row[6])) for row in rows]


def end_of_first_block(path):
    return sum(blocks_of(path)[0])


def written(kind, data):
    return FORMATS[kind].packed(data)


class Formats(CommandTest):
    def assert_format_counted(self, kind, encoded, data, *options):
        """By name, with --input-format and, if the content identifies the format, from a pipe."""
        path = self.file("data" + FORMATS[kind].suffix, encoded)
        ways = [((path,), None), (("--input-format", kind), encoded)]
        if kind != "lzma":
            ways.append(((), encoded))
        for arguments, stdin_bytes in sampled(ways, 2):
            self.assert_decoded(run(*JSON, *options, *arguments, stdin_bytes=stdin_bytes), data, kind, len(encoded))

    def run_damaged(self, kind, encoded, *options):
        """Runs the file beside a good one, which must be counted. Returns the run and the reported input."""
        ended = run(*JSON, *options, self.file("hurt" + FORMATS[kind].suffix, encoded))
        self.assertEqual(ended.status, 1, ended)
        self.assertIs(ended.result["complete"], False)
        (reported,) = ended.result["inputs"]
        self.assertIn(reported["error"], ended.stderr)
        return ended, reported

    def test_the_output_of_parallel_tools_is_counted_exactly(self):
        data = text(1_500_000)
        commands = {"pixz -p 2": "xz", "lbzip2 -zcn2": "bzip2", "pbzip2 -c": "bzip2", "plzip -c": "lzip"}
        for command, kind in ((command.split(), kind) for command, kind in commands.items()):
            with self.subTest(command=command):
                self.require(command[0])
                self.assert_format_counted(kind, packed(data, *command), data)
        self.assert_format_counted("xz", packed(data, "xz", "-zcq", "-1", "-T2", "--block-size=300000"), data)

    def test_frames_of_lz4_are_decoded_in_parallel(self):
        parts = [text(200_000, number) for number in range(8)]
        encoded = b"".join(packed(part, "lz4", "-zcq") for part in parts)
        ended = run(*JSON, "--stats", "-T", "4", self.file("data.lz4", encoded))
        self.assert_counted(ended, b"".join(parts))
        self.assertIn("split: frames found by the sizes of their blocks", ended.result["stats"]["decompression"])
        ended = run(*JSON, "--stats", stdin_bytes=b"".join(lzma.compress(part) for part in parts))
        self.assert_counted(ended, b"".join(parts))
        self.assertIn(
            "in one piece: the ends of blocks without sizes in their headers cannot be found without decoding",
            ended.result["stats"]["decompression"],
        )

    def test_independent_blocks_of_one_lz4_frame_are_decoded_in_parallel_also_from_pipes(self):
        data = text(2_000_000) + noise(300_000) + text(700_000, 3)
        path = self.file("data.lz4", b"")
        for ways in sampled(("-B4 -BX", "-B5 --content-size", "-B6 --no-frame-crc", "-B6 -9 -BX", "-B4 -BD"), 3):
            encoded = packed(data, "lz4", "-zcq", *ways.split())
            path.write_bytes(encoded)
            for threads, stdin_bytes in ((1, None), (2, encoded), (3, None), (16, encoded)):
                with self.subTest(ways=ways, threads=threads):
                    arguments = (path,) if stdin_bytes is None else ()
                    ended = run(*JSON, "--stats", "-T", str(threads), *arguments, stdin_bytes=stdin_bytes)
                    self.assert_counted(ended, data)
                    in_parts = "in parts that several threads decode" in ended.result["stats"]["decompression"]
                    self.assertEqual(in_parts, threads > 1 and ways != "-B4 -BD")

    def test_a_damaged_lz4_frame_has_the_same_report_with_any_number_of_threads(self):
        data = text(1_500_000) + noise(300_000) + text(500_000, 3)
        chosen = random.Random(16)
        for ways in ("-B4 -BX", "-B6"):
            encoded = packed(data, "lz4", "-zcq", *ways.split())
            for case in range(4):
                damaged = bytearray(encoded + encoded)
                place = chosen.randrange(len(damaged))
                if case == 3:
                    del damaged[place:]
                else:
                    damaged[place] ^= 1 << chosen.randrange(8)
                path = self.file("hurt.lz4", bytes(damaged))
                for options in ((), ("--skip-damage",)):
                    expected = run(*JSON, "-T", "1", *options, path)
                    for threads in ("2", "5"):
                        with self.subTest(ways=ways, case=case, place=place, options=options, threads=threads):
                            ended = run(*JSON, "-T", threads, *options, path)
                            self.assertEqual((ended.status, ended.result), (expected.status, expected.result))

    def test_the_text_of_lz4_blocks_that_are_decoded_in_parallel_is_passed_through_in_order(self):
        data = text(3_000_000)
        path = self.file("data.lz4", packed(data, "lz4", "-zcq", "-B5"))
        for threads in ("1", "2", "4"):
            ended = run("-T", threads, "--pass-through=text", "-o", self.folder / "report", path)
            self.assertTrue(ended.stdout == data)

    def test_blocks_of_xz_and_members_of_lzip_are_decoded_in_parallel_also_from_pipes(self):
        data = text(1_200_000) + noise(300_000)
        for kind, command, manner in (
            ("xz", "xz -zcq -0 -T2 --block-size=150000", "blocks found by the sizes in their headers"),
            ("lzip", "lzip -cq -0 -b 150000", "members found by their headers and trailers"),
        ):
            encoded = packed(data, *command.split())
            for options in ((), ("-T", "1"), ("-T", "3"), ("-T", "16", "--slots", "4")):
                for arguments, stdin_bytes in (((self.file("data" + FORMATS[kind].suffix, encoded),), None), ((), encoded)):
                    with self.subTest(kind=kind, options=options, pipe=stdin_bytes is not None):
                        ended = run(*JSON, "--stats", *options, *arguments, stdin_bytes=stdin_bytes)
                        self.assert_counted(ended, data)
                        self.assertIn("split: " + manner, ended.result["stats"]["decompression"])

    def test_compressed_tars_of_many_blocks_or_members_are_read(self):
        parts = {"a": noise(500_000), "b": text(1_000_000), "c": noise(700_000)}
        archive = tar(parts)
        for name, command in (("x.tar.xz", "xz -zcq -0 -T2 --block-size=100000"), ("x.tar.lz", "lzip -cq -0 -b 100000")):
            encoded = packed(archive, *command.split())
            truncated = encoded[: end_of_first_block(self.file("whole.xz", encoded))] if "xz" in name else encoded[:-1]
            for options in (("-T", "1"), ("-T", "3"), ("-T", "8")):
                with self.subTest(name=name, options=options):
                    ended = run(*JSON, *options, self.file(name, encoded))
                    self.assertEqual(ended.status, 0, ended)
                    self.assert_counts(ended.result, b"".join(parts.values()))
                    self.assertEqual(run(*JSON, *options, self.file("cut" + name[1:], truncated)).status, 1)

    def test_a_damaged_block_of_xz_loses_only_its_own_text(self):
        block = 40_000
        data = text(10 * block)
        for check in ("none", "crc32", "crc64", "sha256"):
            encoded = packed(data, "xz", "-zcq", "-0", "-T2", f"--block-size={block}", "-C", check)
            with self.subTest(check=check):
                damaged = bytearray(encoded)
                damaged[len(encoded) // 2] ^= 0x40
                ended, reported = self.run_damaged("xz", bytes(damaged))
                self.assertRegex(reported["error"], r"^stream 1 is damaged \(block [4-7] does not decode")
                good = int(reported["error"].split("block ")[1].split()[0]) - 1
                self.assert_counts(ended.result, data[: good * block])
                ended, reported = self.run_damaged("xz", bytes(damaged) + encoded, "--skip-damage")
                self.assert_counts(ended.result, data[: good * block] + data[(good + 1) * block :] + data)
                (lost,) = reported["lost"]
                self.assertEqual(lost["text_offset"], good * block)
                self.assertLess(lost["compressed_begin"], len(encoded) // 2)
                self.assertGreater(lost["compressed_end"], len(encoded) // 2)

    def test_after_a_damaged_block_header_of_xz_decoding_resumes_at_the_next_stream(self):
        data = text(200_000)
        encoded = packed(data, "xz", "-zcq", "-0", "-T2", "--block-size=40000")
        begin = blocks_of(self.file("a.xz", encoded))[2][0]
        damaged = bytearray(encoded)
        damaged[begin + 4] ^= 1
        ended, reported = self.run_damaged("xz", bytes(damaged) + encoded)
        self.assert_counts(ended.result, data[:80_000])
        self.assertIn("stream 1 is damaged (the header of block 3 is wrong", reported["error"])
        ended, reported = self.run_damaged("xz", bytes(damaged) + encoded, "--skip-damage")
        self.assert_counts(ended.result, data[:80_000] + data)
        (lost,) = reported["lost"]
        self.assertEqual((lost["compressed_begin"], lost["compressed_end"]), (begin, len(encoded)))

    def test_a_damaged_index_of_xz_loses_no_text_and_is_reported(self):
        data = text(200_000)
        encoded = packed(data, "xz", "-zcq", "-0", "-T2", "--block-size=50000")
        damaged = bytearray(encoded)
        damaged[-16] ^= 1  # the checksum of the index
        ended, reported = self.run_damaged("xz", bytes(damaged) + encoded)
        self.assert_counts(ended.result, data)
        self.assertIn("stream 1 is damaged (its index does not match its blocks, or its checksum)", reported["error"])
        ended, reported = self.run_damaged("xz", bytes(damaged) + encoded, "--skip-damage")
        self.assert_counts(ended.result, data + data)

    def test_a_stream_of_xz_that_stops_after_a_block_is_incomplete(self):
        data = text(400_000)
        encoded = packed(data, "xz", "-zcq", "-0", "-T2", "--block-size=200000", "-C", "crc32")
        end = end_of_first_block(self.file("a.xz", encoded))
        for options in ((), ("-T", "1"), ("--skip-damage",)):
            with self.subTest(options=options):
                ended, reported = self.run_damaged("xz", encoded[:end], *options)
                self.assert_counts(ended.result, data[:200_000])
                self.assertIn("stream 1 ends early: the input stops", reported["error"])

    def test_a_member_of_lzip_whose_trailer_is_damaged_loses_only_its_own_text(self):
        parts = [text(40_000, seed) for seed in range(5)]
        members = [written("lzip", part) for part in parts]
        for place in (1, 9, 20):  # of the size of the member, the size of the text, the checksum; from the end
            hurt = bytearray(members[1])
            hurt[-place] ^= 1
            encoded = members[0] + bytes(hurt) + b"".join(members[2:])
            with self.subTest(place=place):
                ended, reported = self.run_damaged("lzip", encoded)
                self.assert_counts(ended.result, parts[0])
                ended, reported = self.run_damaged("lzip", encoded, "--skip-damage")
                self.assert_counts(ended.result, b"".join([parts[0], *parts[2:]]))
                (lost,) = reported["lost"]
                self.assertEqual(lost["compressed_begin"], len(members[0]))
                self.assertEqual(lost["compressed_end"], len(members[0] + members[1]))

    def test_skippable_and_legacy_frames_of_lz4_are_read(self):
        data = text(10_000)
        skip = struct.pack("<II", 0x184D2A53, 11) + b"not counted"
        frame, legacy = written("lz4", data), packed(data, "lz4", "-zcql")
        for encoded, times in ((skip + frame, 1), (frame + skip + frame + skip, 2), (frame + legacy + frame + legacy, 4)):
            self.assertEqual(FORMATS["lz4"].unpacked(encoded), data * times)
            path = self.file("data.lz4", encoded)
            self.assert_counted(run(*JSON, path), data * times)
            self.assert_counted(run(*JSON, "--input-format", "lz4", stdin_bytes=encoded), data * times)

    def test_skippable_frames_before_lz4_frames_are_passed_without_the_help_of_a_name(self):
        data = text(50_000)
        skipped = [struct.pack("<II", 0x184D2A50 + kind, size) + bytes(size) for kind, size in ((0, 0), (3, 4), (15, 600), (7, 300_000), (5, 4_000_000))]
        for head in (*skipped, b"".join(skipped)):
            for options in (("-1",), ("-l",)):
                encoded = packed(data, "lz4", "-zcq", *options)
                whole = head + encoded
                for ended in (run(*JSON, stdin_bytes=whole), run(*JSON, self.file("a", whole)), run(*JSON, self.file("a.lz4", whole))):
                    with self.subTest(head=len(head), options=options):
                        self.assert_decoded(ended, data, "lz4", len(whole))
            inner = tar({"a.log": data})
            self.assert_counted(run(*JSON, stdin_bytes=head + packed(inner, "lz4", "-zcq")), data)
            self.assert_counted(run(*JSON, self.file("a.tar", tar({"member": head + packed(data, "lz4", "-zcq")}))), data)
            for ended in (run(*JSON, stdin_bytes=head + zstd(data)), run(*JSON, self.file("b", head + zstd(data)))):
                self.assert_decoded(ended, data, "zstd", len(head + zstd(data)))

    def test_a_legacy_frame_of_many_blocks_is_read(self):
        data = noise(9_000_000) + text(500_000)
        encoded = packed(data, "lz4", "-zcql")
        self.assert_counted(run(*JSON, stdin_bytes=encoded), data)
        self.assert_counted(run(*JSON, self.file("a.tar", tar({"data.lz4": encoded}))), data)

    def test_padding_of_xz_is_skipped(self):
        data = text(1000)
        encoded = lzma.compress(data)
        for zeros in sampled(range(13), 5):
            padded = encoded + bytes(zeros) + encoded + bytes(zeros)
            expected = FORMATS["xz"].unpacked(padded)
            with self.subTest(zeros=zeros):
                self.assertEqual(expected is not None, zeros % 4 == 0)
                if expected is not None:
                    self.assert_format_counted("xz", padded, expected)
                else:
                    ended, reported = self.run_damaged("xz", padded)
                    self.assert_counts(ended.result, data)
                    self.assertIn("is not a multiple of four bytes", reported["error"])

    @needs("bsdtar")
    def test_an_archive_that_bsdtar_pads_on_a_pipe_is_read(self):
        data = text(40_000)
        self.file("a.log", data)
        for option in ("--bzip2", "--lzip", "--compress", "--gzip", "--xz"):
            archive = packed(b"", "bsdtar", option, "-C", self.folder, "-cf", "-", "a.log")
            self.assertTrue(archive.endswith(bytes(100)))
            for ended in (run(*JSON, stdin_bytes=archive), run(*JSON, self.file("a.tar", archive))):
                with self.subTest(option=option):
                    self.assert_counted(ended, data)

    def test_a_damaged_stream_that_begins_as_its_format_is_refused_on_a_pipe(self):
        data = text(3000)
        streams = {
            "bzip2": [packed(data, "bzip2", "-c"), *map(bz2.compress, (b"", noise(5000)))],
            "lzip": [packed(data, "lzip", "-c"), packed(b"", "lzip", "-c")],
        }
        for kind, encoded in ((kind, encoded) for kind in streams for encoded in streams[kind]):
            for at in sampled(range(4, min(16, len(encoded))), 3):
                for value in {0, ord("A"), encoded[at] ^ 1, encoded[at] ^ 0x80} - {encoded[at]}:
                    damaged = encoded[:at] + bytes([value]) + encoded[at + 1 :]
                    expected = FORMATS[kind].unpacked(damaged)
                    ended = run(*JSON, stdin_bytes=damaged)
                    with self.subTest(kind=kind, encoded=encoded[:10], at=at, value=value):
                        self.assertEqual(ended.result["inputs"][0]["format"], kind)
                        if ended.status == 0:  # in a bit that the format ignores
                            self.assert_counted(ended, expected)
                        else:
                            self.assertEqual(ended.status, 1)
            for length in (6, 9, 13):
                with self.subTest(kind=kind, encoded=encoded[:10], length=length):
                    self.assertEqual(run(*JSON, stdin_bytes=encoded[:length]).status, 1)

    def test_text_that_begins_with_the_letters_of_a_format_is_counted(self):
        for data in (b"BZh9", b"BZh9 is not a format", b"BZh9\t\033[0m" + text(5000), b"LZIP", b"LZIP\nis a format",
                     "LZIP für die Übung".encode("latin-1")):
            with self.subTest(data=data[:20]):
                self.assert_counted(run(*JSON, stdin_bytes=data), data)

    def test_after_damage_of_lzma_no_next_stream_can_be_found(self):
        damaged = bytearray(written("lzma", text(5000)))
        damaged[600] ^= 8
        ended = run(*JSON, "--skip-damage", self.file("a.lzma", bytes(damaged) + written("lz4", text(5000)) * 3))
        self.assertIn(ended.status, (0, 1))
        self.assertEqual(len(ended.result["inputs"][0]["lost"]), 1)

    def test_archives_of_lzma_and_lzip_may_have_the_same_name(self):
        for kind in ("lzma", "lzip"):
            self.assert_counted(run(*JSON, self.file(f"{kind}.tlz", written(kind, tar({"data": text(500)})))), text(500))

    def test_a_dictionary_over_the_memory_limit_is_refused_before_it_is_allocated(self):
        data = text(1000)
        for kind, encoded in (
            ("xz", packed(data, "xz", "-zcq", "--lzma2=dict=1GiB")),
            ("lzma", packed(data, "xz", "-zcq", "--format=lzma", "--lzma1=dict=1GiB")),
            ("lzip", b"LZIP\1\x1d" + written("lzip", data)[6:]),  # 512 MiB in the header; the data needs less
        ):
            with self.subTest(kind=kind):
                ended, reported = self.run_damaged(kind, encoded, "--memory-limit", "128MiB")
                self.assertEqual(ended.result["bytes"], 0)
                clause = rf"^{FORMATS[kind].part} 1 needs a window of (1 GiB|512 MiB), more than .* --memory-limit"
                self.assertRegex(reported["error"], clause)
                self.assert_format_counted(kind, encoded, data, "--memory-limit", "3GiB")


LETTERS = ("--format", "json", "--buckets", "letters,bytes")


def xz(data, block_bytes, *options):
    """A stream of blocks that state no sizes."""
    return packed(data, "xz", "-zcq", "-0", "-T1", f"--block-size={block_bytes}", *options)


class XzIndex(CommandTest):
    def assert_same(self, encoded, *options, name="x.xz", threads=("2", "4")):
        return self.assert_same_with_threads(self.file(name, encoded), *LETTERS, *options, threads=threads)

    def test_blocks_without_sizes_in_files_are_decoded_in_parts_and_in_pipes_in_one_piece(self):
        data = text(3_000_000) + noise(1_500_000)
        encoded = xz(data, 200_000)
        path = self.file("data.xz", encoded)
        for threads in ("2", "3", "16"):
            ended = run(*LETTERS, "--stats", "-T", threads, path)
            self.assert_counted(ended, data)
            self.assertIn("in parts that several threads decode", ended.result["stats"]["decompression"])
        for ended in (run(*LETTERS, "--stats", "-T", "1", path), run(*LETTERS, "--stats", "-T", "4", stdin_bytes=encoded)):
            self.assert_counted(ended, data)
            self.assertIn("in one piece: the ends of blocks without sizes", ended.result["stats"]["decompression"])

    def test_files_of_many_streams_have_the_result_of_one_thread(self):
        parts = [text(60_000 * number, number) for number in range(12)]
        kinds = (lzma.CHECK_NONE, lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256)
        streams = [lzma.compress(part, check=kinds[number % 4], preset=0) for number, part in enumerate(parts)]
        encoded = b"".join(stream + bytes(4 * (number % 3)) for number, stream in enumerate(streams))
        alone = self.assert_same(encoded)
        self.assertEqual(alone.status, 0)
        self.assert_counts(alone.result, b"".join(parts))

    def test_a_tar_archive_whose_blocks_state_no_sizes_has_the_result_of_one_thread(self):
        files = {"a": noise(900_000), "b": text(3_000_000), "c": noise(700_000, 5)}
        encoded = xz(tar(files), 250_000)
        self.assertEqual(self.assert_same(encoded, name="x.tar.xz").status, 0)
        for damaged_at in (len(encoded) // 2, len(encoded) - 20):
            damaged = bytearray(encoded)
            damaged[damaged_at] ^= 4
            self.assertEqual(self.assert_same(bytes(damaged), name="x.tar.xz").status, 1)
        self.assertEqual(self.assert_same(encoded[:-1], name="x.tar.xz").status, 1)

    def test_with_little_memory_the_result_is_that_of_one_thread(self):
        data = text(9_000_000) + bytes(60_000_000)
        for block, *options in sampled(((1_000_000,), (30_000_000,), (1_000_000, "-6")), 2):
            encoded = xz(data, block, *options)
            for limit in sampled(("48MiB", "96MiB", "1GiB"), 1):
                with self.subTest(block=block, limit=limit):
                    self.assertEqual(self.assert_same(encoded, "--memory-limit", limit).status, 0)

    def test_a_wrong_index_gives_the_message_of_one_thread_and_loses_no_text(self):
        data = text(2_000_000)
        encoded = xz(data, 100_000)
        others = [xz(data, 90_000), xz(text(2_000_000, 7), 100_000), xz(data, 100_000, "-C", "sha256"), xz(data[:9], 3)]
        for other in others:
            alone = self.assert_same(encoded[: xz_index_begin(encoded)] + other[xz_index_begin(other) :])
            self.assertEqual(alone.status, 1)
            self.assertIn("stream 1 is damaged (its ", alone.stderr)
            self.assert_counts(alone.result, data)

    def test_a_file_in_which_a_bit_is_flipped_or_that_is_cut_has_the_result_of_one_thread(self):
        chosen = random.Random(3)
        for data, block_bytes in ((text(3000), 700), (text(1_000_000) + noise(800_000), 100_000)):
            encoded = xz(data, block_bytes) + xz(data[:5000], 900)
            places = chosen.sample(range(len(encoded)), 20) + list(range(len(encoded) - 40, len(encoded), 3))
            for at in sampled(places, 12):
                damaged = bytearray(encoded)
                damaged[at] ^= 1 << chosen.randrange(8)
                with self.subTest(at=at):
                    self.assert_same(bytes(damaged), threads=("3",))
                    self.assert_same(bytes(damaged), "--skip-damage", threads=("3",))
                    self.assert_same(encoded[:at], threads=("3",))

    def test_windows_and_text_that_is_passed_through_are_those_of_one_thread(self):
        data = text(2_000_000) + noise(500_000)
        path = self.file("x.xz", xz(data, 100_000))
        ended = run(*LETTERS, "--pass-through=text", "--threads", "4", "-o", self.folder / "result", path)
        self.assertEqual(ended.stdout, data)
        windows = [run("--window", "300KiB", "--format", "csv", "-T", number, path).stdout for number in ("1", "4")]
        self.assertEqual(windows[0], windows[1])


if __name__ == "__main__":
    main()
