"""`gpuhist filter`: the text of the units that a condition or a preset keeps, byte for byte that of a division and a
condition in Python; and what remains if an input, the output or a temporary file fails."""

import gzip
import json
import os
import random
import re
import resource
import signal
import string
import subprocess

from support import PATIENCE, SANITIZED, CommandTest, Running, feed, file_size_limit, main, noise, run, tar, text, unread, wait_until, zstd

DIGITS = b"0123456789"
LARGE = 30_000_000 if SANITIZED else 100_000_000  # more than a filter holds in memory
CHUNKS = ("1", "3", "777", None)


# ---- the oracle ------------------------------------------------------------------------------------------------------


def divided(data, unit="line"):
    """The units of one input: lines, records that this byte ends, or parts of this size."""
    if isinstance(unit, int):
        return [data[at : at + unit] for at in range(0, len(data), unit)]
    delimiter = b"\n" if unit == "line" else unit
    return re.findall(b"[^%b]*%b|[^%b]+" % ((re.escape(delimiter),) * 3), data)


def digits(unit):
    return counted(unit, DIGITS)


def is_mostly_digits(unit):
    return digits(unit) > 0.5 * len(unit)


def words(unit):
    return len(re.findall(rb"[^ \t\n\v\f\r]+", unit))


def counted(unit, members):
    return len(unit) - len(unit.translate(None, members))


def gopher_removes(unit):
    """The rules that docs/presets.md names, in whole numbers."""
    number, length = words(unit), len(re.sub("[ \t\n\v\f\r]", "", unit.decode()))
    if number < 50 or number > 100_000:
        return True
    return length < 3 * number or length > 10 * number or 10 * unit.count(b"#") > number


def nemo_removes(unit):
    letters = bytes(range(ord("a"), ord("z") + 1)) + bytes(range(ord("A"), ord("Z") + 1))
    size, alphanumeric = len(unit.decode()), counted(unit, letters + DIGITS + b"\n?!,.")
    return (not unit or 4 * (size - alphanumeric) > size or 100 * counted(unit, DIGITS) > 15 * size
            or 4 * counted(unit, b" \t\n\r\b") > size or 10 * counted(unit, b"(){}[]") > size)  # fmt: skip


def fineweb_removes(unit):
    marks = counted(unit, b".?!" + bytes(range(128, 256)))
    signs = counted(unit, string.punctuation.encode() + bytes(range(0xC0, 256)))
    return not words(unit) or len(unit) <= 30 or not marks or 10 * unit.count(b"\n") > 3 * (words(unit) + 2 * signs)


# ---- data ------------------------------------------------------------------------------------------------------------


def mixed(size, seed=1):
    """Lines of 1 to some hundred bytes, of which about half are mostly digits; NUL and CRLF among them."""
    chosen = random.Random(seed)
    lines, total = [], 0
    while total < size:
        alphabet = DIGITS if chosen.random() < 0.5 else b"abc xyz,\0\r0123"
        line = bytes(chosen.choices(alphabet, k=chosen.choice((0, 1, 2, 20, 300)))) + chosen.choice((b"\n", b"\r\n"))
        lines.append(line)
        total += len(line)
    return b"".join(lines)[:size]


def documents(number, seed=1):
    """Texts of words, digits, signs and blanks, in one line each, near the thresholds of the presets."""
    chosen = random.Random(seed)
    for _ in range(number):
        mean = chosen.choice((2, 3, 5, 10, 11))
        parts = ["".join(chosen.choices("abcdeXYZ.", k=max(1, mean + chosen.choice((-1, 0, 0, 1)))))
                 for _ in range(chosen.choice((0, 49, 50, 51, 120)))]  # fmt: skip
        for sign, share in (("#", 0.1), ("7", 0.15), ("(", 0.1), ("  ", 0.1), ("é", 0.05)):
            if chosen.random() < 0.3:
                parts += [sign] * int(len(parts) * share * chosen.choice((1, 1, 2, 8)))
        chosen.shuffle(parts)
        yield " ".join(parts).encode() + b"\n"


def filtered(*arguments, **options):
    return run("filter", *arguments, engine=None, **options)


class FilterTest(CommandTest):
    def assert_kept(self, ended, expected, note=None):
        self.assertEqual(ended.status, 0, ended)
        self.assertTrue(ended.stdout == expected, f"{note}: {len(ended.stdout)} bytes instead of {len(expected)}; {ended!r}")

    def assert_names(self, *names):
        """The folder has these files, and no temporary one."""
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), sorted(names))


class Units(FilterTest):
    CONDITION = "digit > 0.5"

    def check(self, data, unit="line", options=(), chunks=CHUNKS):
        expected = {"--keep-if": b"", "--drop-if": b""}
        for each in divided(data, unit):
            expected["--keep-if" if is_mostly_digits(each) else "--drop-if"] += each
        path = self.file("data", data)
        for chunk in chunks:
            for threads in ("1", "2"):
                for option, kept in expected.items():
                    with self.subTest(chunk=chunk, threads=threads, option=option):
                        sizes = ("--chunk-size", chunk) if chunk else ()
                        ended = filtered("-q", option, self.CONDITION, *options, *sizes, "-T", threads, path)
                        self.assert_kept(ended, kept)
                        self.assertEqual(ended.stderr, "")

    def test_lines_are_those_of_the_oracle_for_every_size_of_chunk_and_number_of_threads(self):
        self.check(mixed(40_000))

    def test_many_small_members_of_an_archive_are_filtered_with_few_switches_between_threads(self):
        members = {f"{number:05}": f"{number}\n".encode() for number in range(5000)}
        path = self.file("a.tar", tar(members))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assert_kept(filtered("-q", "--keep-if", "bytes > 0", path), b"".join(members.values()))
        switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before.ru_nvcsw
        self.assertLess(switches, 4 * len(members))

    def test_records_and_parts_are_those_of_the_oracle(self):
        data = mixed(20_000)
        self.check(data, b"\0", ("--each", "record"))
        self.check(data, b",", ("--each", "record", "--delimiter", ","))
        for size in (1, 2, 100, 5000):
            self.check(data, size, ("--each", str(size)), chunks=("777", None))

    def test_odd_texts_are_divided_as_well(self):
        for data in (b"", b"\n", b"\n\n", b"1", b"1\n", b"x", b"\r\n1\r\n", b"\0\0\n1\0\n", b"a\n1", noise(3000), b"9" * 3000):
            with self.subTest(data=data[:20]):
                self.check(data, chunks=("1", None))

    def test_large_texts_in_chunks_of_the_default_size_are_exact(self):
        data = mixed(1_000_000, 2)
        self.check(data * 5, chunks=(None,))

    def test_a_million_empty_lines_are_a_million_units(self):
        path = self.file("data", b"\n" * 1_000_000)
        self.assert_kept(filtered("--keep-if", "bytes == 1", path), b"\n" * 1_000_000)
        ended = filtered("--drop-if", "bytes == 1", path)
        self.assert_kept(ended, b"")
        self.assertEqual(ended.stderr, "gpuhist: kept 0 (0 bytes) of 1,000,000 (1,000,000 bytes), each line\n")

    def test_a_unit_without_a_value_is_dropped_by_keep_if_and_kept_by_drop_if(self):
        data = b"\n" + text(1000)[:80].replace(b"\n", b"") + b"\n"  # too short for chi2; bytes / words of the first: none
        path = self.file("data", data)
        for condition, of_known in (("chi2 > 0", b""), ("chi2 <= 0", b""), ("bytes / words > 0", data[1:])):
            with self.subTest(condition=condition):
                self.assert_kept(filtered("--keep-if", condition, path), of_known)
                self.assert_kept(filtered("--drop-if", condition, path), data[: len(data) - len(of_known)])

    def test_conditions_on_measures_are_those_of_where(self):
        path = self.file("data", mixed(30_000))
        condition = "entropy > 2.5"
        listed = run("--each", "line", "--where", condition, "--format", "jsonl", path).documents_of("unit")
        data = path.read_bytes()
        self.assertGreater(len(listed), 10)
        self.assert_kept(filtered("--keep-if", condition, path), b"".join(data[each["offset"] :][: each["bytes"]] for each in listed))

    def test_buckets_ignore_case_and_a_baseline_can_be_used(self):
        path = self.file("data", b"AAAA\nbbbb\naaaa\n1234\n")
        self.assert_kept(filtered("-b", "s:a=a", "--keep-if", "s.a > 0.5", path), b"aaaa\n")
        self.assert_kept(filtered("-b", "s:a=a", "--ignore-case", "--keep-if", "s.a > 0.5", path), b"AAAA\naaaa\n")
        kept = self.folder / "base.json"
        run("--byte-counts", "--format", "json", "-o", kept, self.file("base", b"1234\n"))
        self.assert_kept(filtered("--baseline", kept, "--keep-if", "jsd < 0.1", path), b"1234\n")


class Inputs(FilterTest):
    KEEP = ("-q", "--keep-if", "digit > 0.5")

    @staticmethod
    def kept(*texts):
        return b"".join(each for data in texts for each in divided(data) if is_mostly_digits(each))

    def test_pipes_and_compressed_inputs_have_the_lines_of_their_text(self):
        data = mixed(300_000)
        frames = b"".join(zstd(data[at : at + 10_001]) for at in range(0, len(data), 10_001))
        for name, packed in (("raw", data), ("one.zst", zstd(data)), ("many.zst", frames), ("gz", gzip.compress(data))):
            path = self.file(name, packed)
            for threads in ("1", "2"):
                for chunk in ("777", None):
                    sizes = ("--chunk-size", chunk) if chunk else ()
                    with self.subTest(name=name, threads=threads, chunk=chunk):
                        self.assert_kept(filtered(*self.KEEP, "-T", threads, *sizes, path), self.kept(data))
                        self.assert_kept(filtered(*self.KEEP, "-T", threads, *sizes, stdin_bytes=packed), self.kept(data))

    def test_members_of_an_archive_and_several_inputs_are_written_in_order(self):
        texts = [mixed(50_000, seed) + b"12345" for seed in range(4)]  # no line spans two inputs
        archive = self.file("a.tar.gz", gzip.compress(tar({"one": texts[0], "none": b"", "two": texts[1]})))
        paths = [archive, self.file("b", texts[2]), self.file("c.zst", zstd(texts[3])), self.file("d", b"")]
        for threads in ("1", "2"):
            for order in (paths, paths[::-1]):
                expected = texts if order is paths else [texts[3], texts[2], texts[0], texts[1]]
                with self.subTest(threads=threads, order=order[0].name):
                    self.assert_kept(filtered(*self.KEEP, "-T", threads, *order), self.kept(*expected))

    def test_trees_and_lists_are_read_as_by_the_count(self):
        (self.folder / "tree").mkdir()
        texts = {name: mixed(5000, seed) for seed, name in enumerate(("c.log", "a.log", "b.txt"))}
        for name, data in texts.items():
            self.file(f"tree/{name}", data)
        tree = self.folder / "tree"
        self.assert_kept(filtered(*self.KEEP, "-r", tree), self.kept(*(texts[name] for name in sorted(texts))))
        self.assert_kept(filtered(*self.KEEP, "-r", "--include", "*.log", tree), self.kept(texts["a.log"], texts["c.log"]))
        listed = b"".join(bytes(tree / name) + b"\0" for name in texts)
        self.assert_kept(filtered(*self.KEEP, "-0", "--files-from", "-", stdin_bytes=listed), self.kept(*texts.values()))

    def test_a_line_is_written_before_the_next_arrives(self):
        with Running("filter", *self.KEEP, engine=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            for number in range(30):
                line = b"%d\n" % (10**5 + number)
                feed(running, [b"dropped\n" + line])
                self.assertEqual(running.process.stdout.readline(), line)
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)


class LongUnits(FilterTest):
    """A unit of which much is spilled."""

    def setUp(self):
        super().setUp()
        self.path = self.file("long", b"1\n" + b"x" * LARGE + b"\n2\n")

    def run_with(self, temporary, *arguments):
        return filtered("-q", *arguments, self.path, env={**os.environ, "TMPDIR": str(temporary)})

    def test_it_is_kept_and_dropped_whole(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        for sizes in ((), ("--chunk-size", "1MiB"), ("--chunk-size", "1MiB", "--memory-limit", "64MiB")):
            with self.subTest(sizes=sizes):
                self.assert_kept(self.run_with(temporary, "--drop-if", "lower > 0.5", *sizes), b"1\n2\n")
                self.assert_kept(self.run_with(temporary, "--keep-if", "lower > 0.5", *sizes), b"x" * LARGE + b"\n")
                self.assertEqual(list(temporary.iterdir()), [])

    def test_a_long_unit_after_a_longer_one_is_exact(self):
        units = [b"%c" % byte * size + b"\n" for byte, size in zip(b"abcdefgh", (40_000_000, 30_000_000, 10, 20_000_000))]
        path = self.file("several", b"".join(units))
        for chunk in ("256KiB", "16MiB"):
            with self.subTest(chunk=chunk):
                self.assert_kept(filtered("-q", "--chunk-size", chunk, "--keep-if", "lower > 0.5", path), b"".join(units))
                self.assert_kept(filtered("-q", "--chunk-size", chunk, "-b", "s:a=a", "--drop-if", "s.a > 0.5", path), b"".join(units[1:]))

    def test_without_a_temporary_folder_the_message_names_it_and_no_output_appears(self):
        missing = self.folder / "missing"
        out = self.folder / "out"
        for option in ("--keep-if", "--drop-if"):
            with self.subTest(option=option):
                ended = self.run_with(missing, option, "lower > 0.5", "-o", out)
                self.assertEqual((ended.status, ended.stdout), (1, b""), ended)
                self.assertIn(f"need a temporary file in {missing}: No such file or directory; make room there, or give another --temporary-folder", ended.stderr)
                self.assert_names("long")

    def test_a_full_temporary_folder_is_an_error(self):
        out = self.folder / "out"
        ended = filtered("-q", "--drop-if", "lower > 0.5", "-o", out, self.path, preexec_fn=file_size_limit(1 << 20),
                         env={**os.environ, "TMPDIR": str(self.folder)})  # fmt: skip
        self.assertEqual(ended.status, 1, ended)
        self.assertIn(f"need a temporary file in {self.folder}: File too large", ended.stderr)
        self.assert_names("long")


class Results(FilterTest):
    """--result and the summary."""

    def test_the_dropped_units_are_listed_and_then_the_result(self):
        texts = [mixed(30_000, seed) for seed in range(2)]
        paths = [self.file("a", texts[0]), self.file("b.zst", zstd(texts[1]))]
        result = self.folder / "r.jsonl"
        for option in ("--keep-if", "--drop-if"):
            for unit, typed in (("line", ()), (b"\0", ("--each", "record")), (1000, ("--each", "1000"))):
                for chunk in ("777", "1MiB"):
                    with self.subTest(option=option, unit=unit, chunk=chunk):
                        ended = filtered(option, "digit > 0.5", *typed, "--chunk-size", chunk, "--result", result, *paths)
                        self.check(ended, result, option, unit, dict(zip(paths, texts)))

    def check(self, ended, result, option, unit, inputs):
        self.assertEqual(ended.status, 0, ended)
        documents = [json.loads(line) for line in result.read_text().splitlines()]
        expected, kept, seen = [], b"", 0
        for path, data in inputs.items():
            offset = 0
            for number, each in enumerate(divided(data, unit), 1):
                seen += 1
                if is_mostly_digits(each) == (option == "--keep-if"):
                    kept += each
                else:
                    expected.append({"name": str(path), "unit": number, "line": 1 + data[:offset].count(b"\n"), "offset": offset,
                                     "bytes": len(each), "values": {"digit": digits(each) / len(each)}})  # fmt: skip
                offset += len(each)
        self.assertEqual(ended.stdout, kept)
        listed = [each for each in documents if each["kind"] == "unit"]
        self.assertEqual([{key: each[key] for key in ("name", "unit", "line", "offset", "bytes", "values")} for each in listed], expected)
        self.assertEqual([each["kind"] for each in documents], ["unit"] * len(expected) + ["input"] * len(inputs) + ["result"])
        whole = b"".join(inputs.values())
        units = documents[-1]["units"]
        self.assertEqual((units["seen"], units["bytes"]), (seen, len(whole)))
        self.assertEqual(units["selected"], seen - len(expected) if option == "--keep-if" else len(expected))
        self.assertIs(documents[-1]["complete"], True)
        self.assert_counts(documents[-1], whole)
        each = {"line": "line", b"\0": "record", 1000: "1000 bytes"}[unit]
        self.assertEqual(ended.stderr, f"gpuhist: kept {seen - len(expected):,} ({len(kept):,} bytes) of {seen:,} ({len(whole):,} bytes), each {each}\n")

    def test_a_result_that_cannot_be_written_is_an_error(self):
        path = self.file("data", b"1\nx\n")
        ended = filtered("--drop-if", "digit > 0", "--result", self.folder / "no" / "r", path)
        self.assertEqual((ended.status, ended.stdout), (1, b""), ended)
        self.assertIn("no/r: No such file or directory", ended.stderr)
        self.assertEqual(filtered("--drop-if", "digit > 0", "--result", "/dev/full", path).status, 1)
        if os.getuid() != 0:
            old = self.file("r", b"old")
            old.chmod(0o400)
            ended = filtered("--drop-if", "digit > 0", "--result", old, path)
            self.assertEqual((ended.status, ended.stdout, old.read_bytes()), (1, b"", b"old"), ended)
            self.assertIn("Permission denied", ended.stderr)

    def test_the_distribution_is_in_the_result(self):
        result = self.folder / "r"
        filtered("-q", "--drop-if", "bytes > 3", "--distribution-of", "bytes", "--result", result, stdin_bytes=b"1\n22\n333\n")
        distribution = json.loads(result.read_text().splitlines()[-1])["units"]["distribution"]
        self.assertEqual((distribution["units"], distribution["lowest"], distribution["highest"]), (3, 2, 4))


class Outputs(FilterTest):
    DROP = ("--drop-if", "digit > 0.5")

    def test_a_file_appears_complete_and_replaces_the_old_one(self):
        path, out = self.file("data", mixed(100_000)), self.file("out", b"old")
        ended = filtered("-q", *self.DROP, "-o", out, path)
        self.assertEqual((ended.status, ended.stdout, ended.stderr), (0, b"", ""))
        self.assertEqual(out.read_bytes(), b"".join(each for each in divided(path.read_bytes()) if not is_mostly_digits(each)))
        self.assert_names("data", "out")

    def test_if_an_input_is_damaged_the_old_file_stays(self):
        data = b"kept\n" * 100_000
        frames = [bytearray(zstd(data, "--check")) for _ in range(3)]
        frames[1][-1] ^= 1  # the checksum
        bad = self.file("bad.zst", b"".join(frames))
        short = self.file("short.gz", gzip.compress(noise(300_000))[:-9])
        for name, arguments in (("bad.zst", [bad]), ("short.gz", [short]), ("missing", [self.folder / "missing"])):
            for old in (b"old", None):
                out = self.folder / "out"
                if old is not None:
                    out.write_bytes(old)
                with self.subTest(name=name, old=old):
                    ended = filtered(*self.DROP, "-o", out, self.file("good", data), *arguments)
                    self.assertEqual((ended.status, ended.stdout), (1, b""), ended)
                    self.assertIn(f"{name}: ", ended.stderr)
                    self.assertIn(f"{out} was not written, because the text is not complete", ended.stderr)
                    self.assertRegex(ended.stderr, r"\ngpuhist: of the text that was read, [0-9,]+ \([0-9,]+ bytes\) of [0-9,]+ \([0-9,]+ bytes\) would be kept, each line\n")
                    self.assertNotIn("gpuhist: kept", ended.stderr)
                    self.assertEqual(out.read_bytes() if out.exists() else None, old)
                    self.assertEqual([each for each in os.listdir(self.folder) if "tmp" in each or "out." in each], [])
                out.unlink(missing_ok=True)

    def test_to_standard_output_the_text_before_the_damage_is_written(self):
        data = b"kept\n" * 100_000
        frames = [bytearray(zstd(data, "--check")) for _ in range(3)]
        frames[1][-1] ^= 1
        bad = self.file("bad.zst", b"".join(frames))
        result = self.folder / "r.jsonl"
        ended = filtered(*self.DROP, "--result", result, bad)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("bad.zst: frame 2", ended.stderr)
        self.assertTrue(ended.stdout.startswith(data) and (data * 2).startswith(ended.stdout), len(ended.stdout))
        self.assertIs(json.loads(result.read_text().splitlines()[-1])["complete"], False)

    def test_a_closed_pipe_ends_the_command_by_sigpipe(self):
        path = self.file("data", b"abc 123 def 456\n" * (LARGE // 16))
        with Running("filter", "--keep-if", "digit > 0.1", path, engine=None, stdout=subprocess.PIPE) as running:
            self.assertEqual(running.process.stdout.readline(), b"abc 123 def 456\n")
            running.process.stdout.close()
            ended_by = running.process.wait(PATIENCE)
            self.assertEqual((ended_by, running.messages()), (-signal.SIGPIPE, ""))
            running.process.stdout = None

    def test_a_full_device_is_an_error(self):
        path = self.file("data", b"x\n" * 1000)
        with open("/dev/full", "wb") as full:
            ended = filtered(*self.DROP, path, stdout=full)
        self.assertEqual(ended.status, 1)
        self.assertIn("cannot write standard output: No space left on device at offset 0", ended.stderr)
        ended = filtered(*self.DROP, "-o", "/dev/full", path)
        self.assertEqual(ended.status, 1)
        self.assertIn("cannot write /dev/full: No space left on device at offset 0", ended.stderr)
        self.assertNotIn("kept", ended.stderr)

    def test_a_file_that_cannot_grow_leaves_the_old_one(self):
        out = self.file("out", b"old")
        ended = filtered(*self.DROP, "-o", out, self.file("data", b"x\n" * 300_000), preexec_fn=file_size_limit(100_000))
        self.assertEqual((ended.status, out.read_bytes()), (1, b"old"), ended)
        self.assertIn(f"cannot write {out}: File too large", ended.stderr)
        self.assert_names("data", "out")

    def test_an_output_is_no_input(self):
        data = b"x\n11\n"
        path, other = self.file("data", data), self.file("other", b"y\n")
        for option in ("-o", "--result"):
            with self.subTest(option=option):
                ended = filtered(*self.DROP, option, path, other, path)
                self.assert_usage_error(ended, "data: is an input, and the same file as ")
                self.assertEqual(path.read_bytes(), data)
        with path.open("rb") as source, path.open("ab") as target:
            ended = filtered(*self.DROP, stdin=source, stdout=target)
        self.assertIn(ended.status, (1, 2))
        self.assertEqual(path.read_bytes(), data)
        self.assert_names("data", "other")

    def test_outputs_within_a_tree_are_not_read(self):
        data = b"x\n11\n"
        self.file("data", data)
        out, result = self.folder / "out", self.folder / "result"
        for _ in range(2):  # the second time, both exist
            ended = filtered(*self.DROP, "-o", out, "--result", result, "-r", self.folder)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(out.read_bytes(), b"x\n")
            self.assertEqual(json.loads(result.read_text().splitlines()[-1])["bytes"], len(data))

    def test_the_text_and_the_result_are_not_written_to_one_file(self):
        path = self.file("data", b"x\n11\n")
        old, link = self.file("old", b"old"), self.folder / "link"
        link.symlink_to(old)
        for outputs in (("-o", "new", "--result", "new"), ("-o", "new", "--result", "./new"), ("-o", old, "--result", link),
                        ("--result", "/dev/stdout"), ("--result", "fd:1"), ("-o", "/dev/stdout", "--result", "fd:1")):  # fmt: skip
            with self.subTest(outputs=outputs):
                self.assert_usage_error(filtered(*self.DROP, *outputs, path, cwd=self.folder), "--result: ", " is also ")
        self.assertEqual(filtered(*self.DROP, "-o", "/dev/null", "--result", "/dev/null", path).status, 0)
        self.assert_names("data", "old", "link")
        self.assertEqual(old.read_bytes(), b"old")

    def test_sigterm_writes_the_complete_lines_that_arrived_and_leaves_no_file(self):
        out, result = self.file("out", b"old"), self.folder / "result"
        for outputs in ((), ("-o", out)):
            with self.subTest(outputs=outputs):
                with Running("filter", *self.DROP, *outputs, "--result", result, engine=None, stdin=subprocess.PIPE) as running:
                    feed(running, [b"x\n11\nunfinished"])
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                    if outputs:
                        wait_until(lambda: any(each.stat().st_size == 2 for each in self.folder.glob(".out.*")))
                    else:
                        wait_until(lambda: running.printed() == b"x\n")
                    running.process.send_signal(signal.SIGTERM)
                    ended = running.finish()
                self.assertEqual(ended.status, -signal.SIGTERM, ended)
                self.assertIn("ended by SIGTERM", ended.stderr)
                self.assertEqual(ended.stdout, b"" if outputs else b"x\n")
                self.assertIn("the last 10 bytes of the kept text were not written to ", ended.stderr)
                self.assertEqual(out.read_bytes(), b"old")
                self.assertEqual(json.loads(result.read_text().splitlines()[-1])["bytes"], 15)
                self.assert_names("out", "result")


class Usage(FilterTest):
    def test_one_kind_of_condition_is_required(self):
        path = self.file("data", b"x\n")
        both = "--keep-if: cannot be combined with --"
        for typed, message in (((), "gpuhist: give --keep-if, --drop-if, --preset or --duplicates drop\n"),
                               (("--keep-if", "digit > 1", "--drop-if", "digit > 1"), both),
                               (("--keep-if", "digit > 1", "--preset", "nemo"), both),
                               (("--drop-if", "digit > 1", "--delimiter", ","), "--delimiter: requires --each record"),
                               (("--preset", "gophr"), '--preset: there is no "gophr"; known are c4-quality, fineweb, fineweb-quality, gopher, gopher-quality, gopher-repetition, nemo, nemo-quality, nemo-repetition; did you mean gopher?'),
                               (("--preset", "xxxxxx"), "known are c4-quality, fineweb, fineweb-quality, gopher, gopher-quality, gopher-repetition, nemo, nemo-quality, nemo-repetition")):  # fmt: skip
            with self.subTest(typed=typed):
                self.assert_usage_error(filtered(*typed, path), message)

    def test_messages_about_conditions_name_the_option_that_was_typed(self):
        for option in ("--keep-if", "--drop-if"):
            for wrong in ("digit >", "nothing > 1", "jsd > 0.5", "conditional_entropy > 1"):
                with self.subTest(option=option, wrong=wrong):
                    self.assert_usage_error(filtered(option, wrong, "/dev/null"), f"gpuhist: {option}: ")
        self.assert_usage_error(run("--each", "window", "--window", "1KiB", "--preset", "gopher", "/dev/null"), "gpuhist: --preset: words are counted")


class Presets(FilterTest):
    def setUp(self):
        super().setUp()
        self.units = list(documents(1500))
        self.path = self.file("documents", b"".join(self.units))

    def test_they_remove_what_the_published_rules_remove(self):
        for names, removes in ((("fineweb",), fineweb_removes), (("gopher",), gopher_removes), (("nemo",), nemo_removes),
                               (("gopher", "nemo"), lambda unit: gopher_removes(unit) or nemo_removes(unit))):  # fmt: skip
            with self.subTest(names=names):
                kept = [each for each in self.units if not removes(each)]
                self.assertGreater(len(kept), 20)
                self.assertGreater(len(self.units) - len(kept), 20)
                typed = [word for name in names for word in ("--preset", name)]
                self.assert_kept(filtered(*typed, self.path), b"".join(kept))
                self.assert_kept(filtered("--preset", ",".join(names), self.path), b"".join(kept))
                selected = run("--each", "line", *typed, "--format", "jsonl", self.path).documents_of("unit")
                self.assertEqual([each["unit"] for each in selected],
                                 [number for number, each in enumerate(self.units, 1) if removes(each)])  # fmt: skip

    def test_a_condition_is_added_to_those_of_the_presets(self):
        kept = [each for each in self.units if not nemo_removes(each) and len(each) <= 400]
        self.assert_kept(filtered("--preset", "nemo", "--drop-if", "bytes > 400", self.path), b"".join(kept))
        selected = run("--each", "line", "--preset", "nemo", "--where", "bytes > 400", "--format", "json", self.path).result
        self.assertEqual(selected["units"]["selected"], len(self.units) - len(kept))


if __name__ == "__main__":
    main()
