"""Text in UTF-16: what is counted is the text in UTF-8 that Python's codec decodes, in files, pipes, members of archives
and within every compression; lines, units and offsets are those of that text."""

import bz2
import gzip
import json
import lzma
import random
import subprocess
import zlib

from support import CommandTest, main, run, run_fed, sampled, tar, text, zipped, zstd

JSON = ("--format", "json", "--buckets", "letters,bytes")
MARKS = {"utf-16le": b"\xff\xfe", "utf-16be": b"\xfe\xff"}


def lines(size, seed=1):
    chosen = random.Random(seed)
    words = ["größe", "検索", "🙂", "ERROR", "x" * 40, "42", "Ωμέγα"]
    made = "".join(" ".join(chosen.choices(words, k=8)) + "\n" for _ in range(size // 60))
    return made[:size]


def encoded(written, order, mark=True):
    return (MARKS[order] if mark else b"") + written.encode(order.replace("16", "-16-").replace("utf--", "utf-"))


def decoded(data, order):
    """As Python decodes it."""
    codec = {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}[order]
    return data.decode(codec, "replace").removeprefix("\ufeff").encode()


class Utf16(CommandTest):
    PACKED = {".gz": gzip.compress, ".zst": zstd, ".xz": lzma.compress, ".bz2": bz2.compress, ".zz": zlib.compress,
              ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE)}  # fmt: skip

    def assert_encoded(self, ended, data, format, name=None):
        self.assert_counted(ended, data)
        reported = ended.result["inputs"][-1]
        self.assertEqual(reported["format"], format)
        if name:
            self.assertEqual(reported["name"], str(name))

    def test_a_text_with_a_mark_is_decoded_in_files_pipes_and_members(self):
        for order in MARKS:
            for size in (1, 70, 500_000):
                data = encoded(lines(size), order)
                counted = lines(size).encode()
                path = self.file("x.log", data)
                self.assert_encoded(run(*JSON, path), counted, order)
                self.assert_encoded(run(*JSON, "--threads", "3", path), counted, order)
                self.assert_encoded(run_fed([data[:1], data[1:2], data[2:3], data[3:]], *JSON), counted, order)
                self.assert_encoded(run(*JSON, path, path), counted * 2, order)
                outer = self.file("x.tar", tar({"a.log": data}))
                self.assert_encoded(run(*JSON, outer), counted, order + ".tar", f"{outer}/a.log")
                outer = self.file("x.zip", zipped({"a.log": data, "b.gz": gzip.compress(data)}))
                self.assert_encoded(run(*JSON, outer), counted * 2, order + ".gzip.zip", f"{outer}/b.gz")

    def test_it_is_decoded_within_every_compression_of_one_frame_and_of_many(self):
        for order, (suffix, pack) in sampled([(order, each) for order in MARKS for each in self.PACKED.items()], 4):
            written = lines(400_000, 5)
            data = encoded(written, order)
            cuts = [0, 1, 5, 99_999, 200_001, len(data)]
            frames = b"".join(pack(data[begin:end]) for begin, end in zip(cuts, cuts[1:]))
            for content in (pack(data), frames) if suffix != ".lzma" else (pack(data),):
                path = self.file("x.log" + suffix, content)
                format = f"{order}.{dict(zip(self.PACKED, ('gzip', 'zstd', 'xz', 'bzip2', 'zlib', 'lzma')))[suffix]}"
                with self.subTest(format=format):
                    self.assert_encoded(run(*JSON, path), written.encode(), format)
                    self.assert_encoded(run(*JSON, "--threads", "4", path), written.encode(), format)
                    if suffix != ".lzma":
                        self.assert_encoded(run_fed([content[:9], content[9:]], *JSON), written.encode(), format)
                    outer = self.file("x.tar", tar({"x.log" + suffix: content}))
                    self.assert_encoded(run(*JSON, outer), written.encode(), format + ".tar")

    def test_the_encoding_can_be_stated_and_switched_off(self):
        for order in MARKS:
            data, counted = encoded(lines(3000), order, mark=False), lines(3000).encode()
            path = self.file("x.log", data)
            self.assert_encoded(run(*JSON, "--text-encoding", order, path), counted, order)
            self.assert_encoded(run(*JSON, "--text-encoding", order, "--input-format", "raw", path), counted, order)
            self.assert_encoded(run(*JSON, "--text-encoding", order, self.file("x.gz", gzip.compress(data))), counted, order + ".gzip")
            self.assert_encoded(run(*JSON, "--text-encoding", order, "--input-format", "gzip", self.file("y", gzip.compress(data))), counted, order + ".gzip")
            self.assertEqual(run(*JSON, path).result["inputs"][0]["format"], "raw")
            marked = self.file("m.log", MARKS[order] + data)
            for encoding in ("auto", "utf-16", order):
                self.assert_encoded(run(*JSON, "--text-encoding", encoding, marked), counted, order)
            self.assert_encoded(run(*JSON, "--text-encoding", "utf-8", marked), MARKS[order] + data, "raw")
            self.assert_encoded(run(*JSON, "--input-format", "raw", marked), MARKS[order] + data, "raw")
        little = self.file("x.log", encoded(lines(300), "utf-16le", mark=False))
        self.assert_encoded(run(*JSON, "--text-encoding", "utf-16", little), lines(300).encode(), "utf-16le")
        utf32 = lines(300).encode("utf-32")
        self.assert_encoded(run(*JSON, self.file("x.log", utf32)), utf32, "raw")
        ended = run("--follow", "--text-encoding", "utf-16", little, engine=None)
        self.assertEqual(ended.status, 2, ended)
        self.assertIn("--text-encoding: cannot be combined with --follow", ended.stderr)

    def test_damage_is_counted_as_python_replaces_it_with_one_notice(self):
        chosen = random.Random(7)
        for order in MARKS:
            for turn in range(12):
                data = bytearray(encoded(lines(2000, turn), order))
                for _ in range(chosen.randrange(1, 6)):  # a byte is a surrogate's
                    at = chosen.randrange(2, len(data) - 2) & ~1
                    data[at + (order == "utf-16le")] = chosen.choice((0xD8, 0xDB, 0xDC, 0xDF))
                if turn % 2:
                    data += b"\n"  # an odd byte
                data = bytes(data)
                counted = decoded(data, order)
                for name, content in (("x.log", data), ("x.gz", gzip.compress(data)), ("x.tar", tar({"x": data}))):
                    with self.subTest(order=order, turn=turn, name=name):
                        ended = run(*JSON, self.file(name, content))
                        self.assertEqual((ended.status, ended.result["complete"]), (0, True), ended)
                        self.assert_counts(ended.result, counted)
                        found = [each for of in ended.result["inputs"] for each in of.get("notices", ())]
                        replaced = counted.decode().count("\ufffd")
                        self.assertEqual([each["kind"] for each in found], ["replaced_characters"] if replaced else [])
                        if replaced:
                            self.assertIn(f"of {replaced} surrogate", found[0]["text"])
                            first = counted.decode().index("\ufffd")
                            before = 2 + len(counted.decode()[:first].encode("utf-16-le"))
                            self.assertIn(f"the first at byte {before} of the text in UTF-16", found[0]["text"])
                            self.assertEqual(ended.stderr.count("is not valid UTF-16"), 1)

    def test_lines_units_windows_and_what_is_forwarded_are_those_of_the_text(self):
        written = lines(5000)
        data = encoded(written, "utf-16le")
        path, plain = self.file("x.log", data), self.file("y.log", written.encode())
        for options in (("--each", "line", "--where", "bytes > 60"), ("--window", "1KiB"), ("--utf8",), ("--group-by", "field:1"),
                        ("--match", "e=ERROR")):  # fmt: skip
            results = [run("--format", "json", *options, each).result for each in (path, plain)]
            for each in results:
                for name in ("run", "elapsed_seconds", "inputs", "program", "version", "engine"):
                    each.pop(name, None)
            kept = [str(each).replace(str(path), "").replace(str(plain), "") for each in results]
            self.assertEqual(kept[0].replace("source_bytes", ""), kept[1].replace("source_bytes", ""), options)
        ended = run("--pass-through=text", "-o", self.folder / "report", stdin_bytes=data)
        self.assertEqual((ended.status, ended.stdout), (0, written.encode()))
        ended = run("--pass-through", "-o", self.folder / "report", stdin_bytes=data)
        self.assertEqual((ended.status, ended.stdout), (0, data))
        kept = run("filter", "--keep-if", "bytes > 0", path, engine=None)
        self.assertEqual((kept.status, kept.stdout), (0, written.encode()))
        self.assertEqual(run("repack", "-o", self.folder / "r.zst", path, engine=None).status, 0)
        self.assertEqual(subprocess.run(["zstd", "-dcq", self.folder / "r.zst"], stdout=subprocess.PIPE, check=True).stdout, data)

    def test_a_job_counts_it_too_and_damage_of_the_compression_is_reported(self):
        written = lines(300_000)
        data = encoded(written, "utf-16be")
        self.file("a.log", data)
        self.file("b.log.zst", zstd(data))
        self.file("c.log", text(700))
        job = ("batch", "--engine", "host", "--byte-counts", *(self.folder / name for name in ("a.log", "b.log.zst", "c.log")), "--output-dir")
        self.assertEqual(run(*job, self.folder / "out", engine=None).status, 0)
        total = json.loads((self.folder / "out" / "total.json").read_text())
        self.assertEqual(total["bytes"], 2 * len(written.encode()) + 700)
        ended = run(*JSON, self.file("d.gz", gzip.compress(data)[:-9]))
        self.assertEqual((ended.status, ended.result["bytes"]), (1, 0), ended)


if __name__ == "__main__":
    main()
