"""`gpuhist filter --output-dir`: one output for each input, byte for byte that of a division and a condition in Python;
which files are in the folder if inputs are damaged, if the run is killed, and if outputs cannot be written."""

import bz2
import fcntl
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import unittest

import system_calls
from packers import FORMATS
from support import PATIENCE, CommandTest, Running, file_size_limit, main, noise, run, tar, wait_until, zipped, zstd

DROP = ("--drop-if", "digit > 0.5")
RECORD = ".gpuhist-filter.jsonl"


def kept(data):
    """The lines of which at most half of the bytes are digits."""
    divided = re.findall(b"[^\n]*\n|[^\n]+", data)
    return b"".join(each for each in divided if 2 * (len(each) - len(each.translate(None, b"0123456789"))) <= len(each))


def lines(number, seed=1):
    chosen = random.Random(seed)
    words = (b"4711 0815\n", b"hello world\n", b"\n", b"a1\n", b"x" * 200 + b"\n", b"9" * 90 + b"\n")
    return b"".join(chosen.choices(words, k=number))


def files(folder):
    """All files below a folder: name -> content, without the lists of outputs."""
    paths = (each for each in pathlib.Path(folder).rglob("*") if each.is_file() and not each.name.startswith(".gpuhist-filter."))
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in paths}


class FolderTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.inputs = self.folder / "in"
        self.inputs.mkdir()
        self.out = self.folder / "out"

    def write(self, name, content):
        path = self.inputs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def filtered(self, *arguments, out=None, condition=DROP, **options):
        return run("filter", *condition, "--output-dir", out or self.out, *arguments, engine=None, **options)

    def tree(self, *arguments, **options):
        return self.filtered("-r", *arguments, self.inputs, **options)

    def assert_files(self, expected, out=None):
        found = files(out or self.out)
        self.assertEqual(sorted(found), sorted(expected))
        for name, content in expected.items():
            self.assertTrue(found[name] == content, f"{name}: {len(found[name])} bytes instead of {len(content)}")

    def assert_success(self, ended):
        self.assertEqual((ended.status, ended.stdout), (0, b""), ended)

    def record(self):
        return [json.loads(line) for line in (self.out / RECORD).read_text().splitlines()]


class Outputs(FolderTest):
    def test_each_input_of_a_tree_has_its_output_under_its_name_below_the_tree(self):
        contents = {"a.log": lines(2000), "sub/deep/b.log": lines(3000, 2), "sub/c": b"no line end", "all-digits": b"12\n345\n", "empty": b""}
        for name, content in contents.items():
            self.write(name, content)
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                out = self.folder / threads
                ended = self.tree("-T", threads, out=out)
                self.assert_success(ended)
                expected = {name: kept(content) for name, content in contents.items()}
                self.assert_files(expected, out)
                self.assertIn(f"gpuhist: {out}: 5 outputs; kept ", ended.stderr)

    def test_files_named_directly_have_their_last_component_as_name(self):
        named, listed = self.write("x/y/a.log", lines(50)), self.write("z/b.log", lines(60, 2))
        names = self.file("names", os.fsencode(listed) + b"\n")
        self.assert_success(self.filtered(named, "--files-from", names))
        self.assert_files({"a.log": kept(named.read_bytes()), "b.log": kept(listed.read_bytes())})

    def test_compressed_inputs_are_text_without_their_extension(self):
        data = lines(5000)
        self.write("a.log.zst", zstd(data))
        self.write("sub/b.gz", gzip.compress(data))
        self.write("c.txt.bz2", bz2.compress(data))
        self.write("unnamed", zstd(data))
        self.write(".gz", gzip.compress(data))
        self.assert_success(self.tree())
        self.assert_files(dict.fromkeys(("a.log", "sub/b", "c.txt", "unnamed", ".gz"), kept(data)))

    def test_the_same_compression_keeps_the_names(self):
        data = lines(5000)
        self.write("a.log.zst", zstd(data))
        self.write("b.gz", gzip.compress(data))
        self.write("c", data)
        self.write("unnamed", zstd(data))
        self.assert_success(self.tree("--compress", "same"))
        found = files(self.out)
        self.assertEqual(sorted(found), ["a.log.zst", "b.gz", "c", "unnamed"])
        for name, decoded in (("a.log.zst", FORMATS["zstd"].unpacked), ("b.gz", gzip.decompress), ("c", bytes), ("unnamed", FORMATS["zstd"].unpacked)):
            self.assertEqual(decoded(found[name]), kept(data), name)

    def test_outputs_can_be_compressed_and_do_not_depend_on_threads_and_chunks(self):
        contents = {"a": lines(400_000), "b": lines(3), "empty": b"", "none": b"123\n"}
        for name, content in contents.items():
            self.write(name, content)
        for compression, suffix, decoded in (("zstd", ".zst", FORMATS["zstd"].unpacked), ("zstd:9", ".zst", FORMATS["zstd"].unpacked), ("gzip", ".gz", gzip.decompress)):
            made = []
            for sizes in (("-T", "1"), ("-T", "4", "--chunk-size", "10007")):
                with self.subTest(compression=compression, sizes=sizes):
                    out = self.folder / f"{compression}{len(sizes)}"
                    self.assert_success(self.tree("--compress", compression, *sizes, out=out))
                    made.append(files(out))
                    self.assertEqual({name: decoded(content) for name, content in made[-1].items()},
                                     {name + suffix: kept(content) for name, content in contents.items()})  # fmt: skip
            self.assertEqual(made[0], made[1])

    def test_same_is_refused_before_anything_is_read_for_formats_that_are_not_written(self):
        self.write("a.log", lines(10))
        path = self.write("b.bz2", bz2.compress(b"x\n"))
        self.assert_usage_error(self.tree("--compress", "same"), f"{path} is bzip2, which gpuhist does not write", "zstd or gzip")
        self.assertFalse(self.out.exists())

    def test_a_name_that_is_not_utf_8_is_kept_and_resumed(self):
        (self.inputs / os.fsdecode(b"\xff\n.log")).write_bytes(b"x\n")
        self.assert_success(self.tree())
        self.assertEqual(os.listdir(os.fsencode(self.out)).count(b"\xff\n.log"), 1)
        self.assertIn("0 outputs, 1 more was complete", self.tree("--resume").stderr)

    def test_the_list_has_a_line_for_each_output(self):
        self.write("a", b"11\nxy\n22\n")
        self.write("b", b"")
        self.assert_success(self.tree())
        by_name = {each["name"]: each for each in self.record()}
        self.assertEqual(sorted(by_name), ["a", "b"])
        line, now, made = by_name["a"], (self.inputs / "a").stat(), (self.out / "a").stat()
        self.assertRegex(line["input"].pop("fingerprint"), "^[0-9a-f]{32}$")
        self.assertEqual(line["input"], {"bytes": 9, "modified": now.st_mtime_ns})
        self.assertEqual(line["output"], {"bytes": 3, "modified": made.st_mtime_ns})
        self.assertEqual((line["kept"], line["dropped"]), ({"units": 1, "bytes": 3}, {"units": 2, "bytes": 6}))
        self.assertEqual(line["options"]["where"], "digit > 0.5")
        self.assertFalse(line["options"]["keeps"])
        self.assertEqual(by_name["b"]["kept"], {"units": 0, "bytes": 0})

    def test_the_result_lists_the_dropped_units_of_all_inputs(self):
        self.write("a", b"11\nxy\n")
        self.write("sub/b", b"abc\n22\n333\n")
        dropped = self.out / "dropped.jsonl"
        self.out.mkdir()
        self.assert_success(self.tree("--result", dropped))
        units = [each for each in map(json.loads, dropped.read_text().splitlines()) if each["kind"] == "unit"]
        self.assertEqual(sorted((each["name"], each["unit"]) for each in units),
                         [(f"{self.inputs}/a", 1), (f"{self.inputs}/sub/b", 2), (f"{self.inputs}/sub/b", 3)])  # fmt: skip

    def test_keep_if_and_units_of_a_size_are_filtered_as_well(self):
        data = noise(100_000) + b"7" * 4000
        path = self.write("a", data)
        self.assert_success(self.filtered("--each", "1000", path, condition=("--keep-if", "digit > 0.5")))
        self.assert_files({"a": b"7" * 4000})


class Refused(FolderTest):
    def test_two_inputs_with_one_name_are_refused_before_anything_is_read(self):
        first, second = self.write("x/a.log", b"x\n"), self.write("y/a.log", b"y\n")
        self.assert_usage_error(self.filtered(first, second), f"{first} and {second} would both need the name a.log")
        self.assert_usage_error(self.filtered("-r", self.inputs / "x", self.inputs / "y"), "would both need the name a.log")
        self.assert_usage_error(self.filtered(first, first), "would both need the name a.log")
        zipped_twin = self.write("z/a.log.gz", gzip.compress(b"x\n"))
        self.assert_usage_error(self.filtered(first, zipped_twin), "would both need the name a.log")
        self.assertFalse(self.out.exists())

    def test_a_name_that_is_also_a_folder_is_refused(self):
        self.write("a.gz", gzip.compress(b"x\n"))
        self.write("a/b", b"x\n")
        self.assert_usage_error(self.tree(), "would both need the name a in the folder")
        self.assertFalse(self.out.exists())

    def test_an_output_that_would_be_an_input_is_refused(self):
        path = self.write("a.log", b"x\n")
        for force in ((), ("--force",), ("--resume",)):
            self.assert_usage_error(self.filtered(*force, path, out=self.inputs), f"{path} would be an output, and is an input")
        self.assert_usage_error(self.tree(out=self.inputs), "whose files are inputs")
        self.assert_usage_error(self.tree(out=self.inputs / "sub"), "whose files are inputs")
        linked = self.folder / "linked"
        linked.symlink_to(self.inputs)
        self.assert_usage_error(self.tree(out=linked / "sub"), "whose files are inputs")
        self.assertEqual(files(self.inputs), {"a.log": b"x\n"})

    def test_streams_have_no_name(self):
        self.assert_usage_error(self.filtered(stdin_bytes=b"x\n"), "standard input has no name in the folder", "--output")
        self.assert_usage_error(self.filtered("/dev/null"), "/dev/null is not a regular file")

    def test_options_of_the_folder_require_it_and_exclude_an_output(self):
        path = self.write("a", b"x\n")
        for option in (("--compress", "zstd"), ("--resume",), ("--force",)):
            self.assert_usage_error(run("filter", *DROP, *option, path, engine=None), f"{option[0]}: requires --output-dir")
        self.assert_usage_error(self.filtered("-o", "x", path), "--output: cannot be combined with --output-dir")
        for value in ("lzma", "zstd:0", "zstd:23", "zstd:", "gzip:1"):
            self.assert_usage_error(self.filtered("--compress", value, path), "--compress: ")
        self.assert_usage_error(self.filtered("--input-format", "tar", path), "--input-format", "--output")
        self.assertFalse(self.out.exists())
        self.out.mkdir()
        for name in ("a", RECORD):
            self.assert_usage_error(self.filtered("--result", self.out / name, path), "is also an output in --output-dir")
        self.assertEqual(list(self.out.iterdir()), [])

    def test_existing_files_are_refused_before_anything_is_read_and_replaced_with_force(self):
        self.write("a", b"x\n")
        self.write("b", b"y\n")
        self.out.mkdir()
        (self.out / "b").write_bytes(b"old")
        (self.out / "other").write_bytes(b"other")
        self.assert_usage_error(self.tree(), f"{self.out}/b exists; give --resume", "--force")
        self.assert_usage_error(self.tree("--resume"), f"{self.out}/b exists, and is not as a line", "--force")
        self.assert_files({"b": b"old", "other": b"other"})
        self.assert_success(self.tree("--force"))
        self.assert_files({"a": b"x\n", "b": b"y\n", "other": b"other"})
        (self.out / "a").unlink()
        (self.out / "a").mkdir()
        self.assert_usage_error(self.tree("--force"), f"{self.out}/a is not a regular file")


class Failures(FolderTest):
    def test_damaged_inputs_have_no_output_and_the_others_have_theirs(self):
        data = lines(200_000)
        encoded = zstd(data)
        for number in range(6):
            self.write(f"good{number}", lines(3000, number))
        self.write("cut.zst", encoded[: len(encoded) // 2])
        self.write("flipped.zst", encoded[:-2] + bytes((encoded[-2] ^ 1, encoded[-1])))
        self.write("changed.gz", gzip.compress(data)[:-6] + b"abcdef")
        self.write("false.gz", b"\1\2\xff no gzip\n")
        self.write("good.zst", encoded)
        for threads in ("1", "4"):
            with self.subTest(threads=threads):
                out = self.folder / threads
                ended = self.tree("-T", threads, out=out)
                self.assertEqual(ended.status, 1, ended)
                for name in ("cut.zst", "flipped.zst", "changed.gz", "false.gz"):
                    self.assertIn(f"gpuhist: {self.inputs}/{name}: ", ended.stderr)
                good = {f"good{number}": kept(lines(3000, number)) for number in range(6)}
                self.assert_files({**good, "good": kept(data)}, out)
                again = self.tree("--resume", out=out)
                self.assertEqual(again.status, 1)
                self.assertIn("0 outputs, 7 more were complete", again.stderr)
                self.assert_files({**good, "good": kept(data)}, out)

    def test_a_damaged_input_leaves_the_output_of_an_earlier_run(self):
        path = self.write("a.zst", zstd(lines(5000)))
        self.assert_success(self.tree())
        path.write_bytes(path.read_bytes()[:-10])
        self.assertEqual(self.tree("--resume").status, 1)
        self.assert_files({"a": kept(lines(5000))})

    def test_missing_and_unreadable_inputs_are_named(self):
        good = self.write("good", b"x\n")
        ended = self.filtered(good, self.inputs / "missing", self.inputs)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"{self.inputs}/missing: No such file", ended.stderr)
        self.assertIn(f"{self.inputs}: is a directory; --recursive", ended.stderr)
        self.assert_files({"good": b"x\n"})

    def test_archives_have_no_output(self):
        archive = tar({"x": b"x\n"})
        self.write("a.tar", archive)
        self.write("b.tar.gz", gzip.compress(archive))
        self.write("c", zipped({"x": b"x\n"}))
        self.write("good", b"x\n")
        ended = self.tree()
        self.assertEqual(ended.status, 1)
        for name in ("a.tar", "b.tar.gz", "c"):
            self.assertIn(f"{self.inputs}/{name}: is an archive, and its members have no outputs in --output-dir", ended.stderr)
        self.assert_files({"good": b"x\n"})
        self.assert_success(self.filtered("--input-format", "raw", self.inputs / "a.tar", out=self.folder / "raw"))

    def test_an_output_that_cannot_be_written_is_named_and_the_others_are_complete(self):
        large, small = b"x\n" * 400_000, {f"small{number}": b"y\n" * 1000 for number in range(20)}
        for name in ("a.log", "z.log.gz"):
            self.write(name, gzip.compress(large) if name.endswith("gz") else large)
        for name, content in small.items():
            self.write(name, content)
        ended = self.tree(preexec_fn=file_size_limit(200_000))
        self.assertEqual(ended.status, 1, ended)
        for name in ("a.log", "z.log"):
            self.assertIn(f"cannot write {self.out}/{name}: File too large", ended.stderr)
        self.assert_files(small)
        self.assert_success(self.tree("--resume"))
        self.assert_files({**small, "a.log": large, "z.log": large})

    def test_a_folder_that_cannot_be_created_or_written_is_named(self):
        path = self.write("a", b"x\n")
        occupied = self.file("occupied", b"")
        for out in (occupied, occupied / "x"):
            ended = self.filtered(path, out=out)
            self.assertEqual(ended.status, 1)
            self.assertIn(f"cannot create the folder {out}: Not a directory", ended.stderr)
        if os.geteuid() == 0:
            self.skipTest("the permissions of a folder are not checked for root")
        self.out.mkdir(mode=0o555)
        ended = self.filtered(path)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"cannot write {self.out}/{RECORD}: Permission denied", ended.stderr)

    def test_a_file_in_the_place_of_a_subfolder_concerns_only_the_outputs_below_it(self):
        self.write("sub/a", b"x\n")
        self.write("b", b"y\n")
        self.out.mkdir()
        (self.out / "sub").write_bytes(b"")
        ended = self.tree()
        self.assertEqual(ended.status, 1)
        self.assertIn(f"cannot create the folder {self.out}/sub: ", ended.stderr)
        self.assertIn(f"{self.out}: 1 output, 1 more was not written; together they would have kept ", ended.stderr)
        self.assert_files({"sub": b"", "b": b"y\n"})


class Resume(FolderTest):
    CONTENTS = {f"{number % 3}/{number}.log": lines(60_000 if number % 7 == 0 else 500, number) for number in range(60)}

    def write_all(self):
        for name, content in self.CONTENTS.items():
            self.write(name + ".zst" if name.startswith("1") else name, zstd(content) if name.startswith("1") else content)
        self.expected = {name: kept(content) for name, content in self.CONTENTS.items()}

    def complete(self):
        """The number of files with a final name."""
        return sum(not each.name.startswith(".") for each in self.out.rglob("*") if each.is_file())

    def test_a_run_that_is_killed_leaves_complete_files_and_is_resumed_to_the_same_files(self):
        self.write_all()
        for compression in ("none", "zstd"):
            undisturbed = self.folder / f"undisturbed-{compression}"
            self.assert_success(self.tree("--compress", compression, out=undisturbed))
            expected = files(undisturbed)
            if compression == "none":
                self.assertEqual(expected, self.expected)
            for at in (0, 1, 10, 30, 55):
                with self.subTest(compression=compression, at=at):
                    shutil.rmtree(self.out, ignore_errors=True)
                    arguments = ("filter", *DROP, "-T", "2", "-r", "--compress", compression, "--output-dir", self.out, self.inputs)
                    with Running(*arguments, engine=None) as running:
                        wait_until(lambda: running.process.poll() is not None
                                   or (self.out.exists() and self.complete() >= at))  # fmt: skip
                        running.process.kill()
                        running.process.wait(PATIENCE)
                    left = {name: content for name, content in files(self.out).items() if not name.split("/")[-1].startswith(".")}
                    for name, content in left.items():
                        self.assertTrue(content == expected[name], name)
                    ended = self.tree("--compress", compression, "--resume")
                    self.assert_success(ended)
                    self.assert_files(expected)

    def test_a_stop_signal_leaves_only_complete_files(self):
        self.write_all()
        with Running("filter", *DROP, "-r", "--output-dir", self.out, self.inputs, engine=None) as running:
            wait_until(lambda: running.process.poll() is not None or (self.out.exists() and self.complete() >= 3))
            running.process.send_signal(signal.SIGTERM)
            self.assertIn(running.finish().status, (0, -signal.SIGTERM))
        for name, content in files(self.out).items():
            self.assertTrue(content == self.expected[name], name)
        self.assert_success(self.tree("--resume"))
        self.assert_files(self.expected)

    def test_complete_outputs_are_not_written_again(self):
        self.write_all()
        self.assert_success(self.tree())
        before = {each: each.stat().st_mtime_ns for each in self.out.rglob("*") if each.is_file()}
        ended = self.tree("--resume")
        self.assert_success(ended)
        self.assertIn(f"gpuhist: {self.out}: 0 outputs, 60 more were complete; kept 0 (0 bytes)", ended.stderr)
        self.assertEqual(before, {each: each.stat().st_mtime_ns for each in self.out.rglob("*") if each.is_file()})

    def test_changed_inputs_and_changed_or_missing_outputs_are_filtered_again(self):
        contents = {name: lines(200, number) for number, name in enumerate("abcde")}
        for name, content in contents.items():
            self.write(name, content)
        self.assert_success(self.tree())
        contents["a"] = contents["a"] + b"more\n"
        self.write("a", contents["a"])
        state = (self.inputs / "b").stat()
        contents["b"] = contents["b"][::-1]  # the same size
        self.write("b", contents["b"])
        os.utime(self.inputs / "b", ns=(state.st_atime_ns, state.st_mtime_ns + 1))
        (self.out / "c").unlink()
        contents["new"] = b"new\n"
        self.write("new", b"new\n")
        ended = self.tree("--resume")
        self.assert_success(ended)
        self.assertIn("4 outputs, 2 more were complete", ended.stderr)
        self.assert_files({name: kept(content) for name, content in contents.items()})
        self.assertIn("0 outputs, 6 more were complete", self.tree("--resume").stderr)
        (self.out / "d").write_bytes(b"changed by hand")
        self.assert_usage_error(self.tree("--resume"), f"{self.out}/d exists, and is not as a line", "--force")
        self.assertIn("1 output, 5 more were complete", self.tree("--resume", "--force").stderr)
        self.assert_files({name: kept(content) for name, content in contents.items()})

    def test_other_options_are_refused_unless_forced(self):
        self.write("a", b"12345x\nabc\n")
        baseline = self.folder / "base.json"
        run("--byte-counts", "--format", "json", "-o", baseline, self.inputs / "a")
        self.assert_success(self.tree())
        for options in (("--each", "4"), ("--buckets", "letters,classes"), ("--ignore-case",), ("--compress", "zstd"),
                        ("--baseline", baseline), ("--input-format", "raw")):  # fmt: skip
            if options[0] != "--compress":
                self.assert_usage_error(self.tree("--resume", *options), "was filtered with other options", "--force")
        for condition in (("--keep-if", "digit > 0.5"), ("--drop-if", "digit > 0.9")):
            self.assert_usage_error(self.tree("--resume", condition=condition), "was filtered with other options")
        self.assert_files({"a": b"abc\n"})
        self.assert_success(self.tree("--resume", "--force", condition=("--keep-if", "digit > 0.4")))
        self.assert_files({"a": b"12345x\n"})
        self.assertIn("1 more was complete", self.tree("--resume", "-T", "3", condition=("--keep-if", "digit > 0.4")).stderr)

    def test_a_line_without_its_file_and_a_line_that_was_cut_are_no_outputs(self):
        contents = {name: lines(200, number) for number, name in enumerate("abc")}
        for name, content in contents.items():
            self.write(name, content)
        self.assert_success(self.tree())
        # killed after the line was written: the file still has its temporary name
        (self.out / "a").rename(self.out / ".a.gpuhist-000000")
        # killed while the line was written
        record = (self.out / RECORD).read_bytes().splitlines(keepends=True)
        (self.out / "b").unlink()
        (self.out / RECORD).write_bytes(b"".join(each for each in record if b'"name":"b"' not in each) + record[0][:50])
        (self.out / ".other.gpuhist-000000").write_bytes(b"not of these inputs")
        ended = self.tree("--resume")
        self.assert_success(ended)
        self.assertIn("2 outputs, 1 more was complete", ended.stderr)
        self.assert_files({**{name: kept(content) for name, content in contents.items()},
                           ".other.gpuhist-000000": b"not of these inputs"})  # fmt: skip
        self.assertIn("0 outputs, 3 more were complete", self.tree("--resume").stderr)

    def test_a_killed_replacement_leaves_an_output_that_is_filtered_again(self):
        self.write("a", b"old\n")
        self.assert_success(self.tree())
        self.write("a", b"newer\n")
        (self.out / "a").rename(self.folder / "saved")
        self.assert_success(self.tree("--resume"))  # the line of the new output is written ...
        (self.folder / "saved").replace(self.out / "a")  # ... but it does not get its name
        ended = self.tree("--resume")
        self.assertIn("1 output; ", ended.stderr)
        self.assert_files({"a": b"newer\n"})

    def test_only_one_run_writes_to_the_folder(self):
        path = self.write("a", b"x\n")
        self.out.mkdir()
        holder = os.open(self.out, os.O_RDONLY)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_EX)
        ended = self.filtered(path)
        self.assertEqual(ended.status, 1)
        self.assertIn(f"another gpuhist filter writes to {self.out}; wait for its end", ended.stderr)
        self.assert_files({})
        (self.out / "a").write_bytes(b"of the other run, whose line is not written yet")
        self.assertIn("another gpuhist filter writes to", self.filtered(path, "--resume").stderr)

    @unittest.skipUnless(system_calls.can_be_recorded(), "strace is missing, or is not allowed to trace")
    def test_a_run_that_continues_opens_each_complete_input_once(self):
        self.write("a", b"x\n")
        self.write("b", b"y\n")
        arguments = ("filter", *DROP, "--output-dir", "out", "--resume", "in/a", "in/b")
        for _ in range(2):
            status, calls = system_calls.recorded(*arguments, cwd=self.folder, trace=self.folder / "trace")
            self.assertEqual(status, 0)
        opened = [path for each in calls if each.name.startswith("open") and not each.failed for path in each.paths]
        self.assertEqual([opened.count(str(self.inputs / name)) for name in "ab"], [1, 1])


class Shards(FolderTest):
    """--shard: several processes, each of which writes the outputs of a part of the inputs to the same folder."""

    def setUp(self):
        super().setUp()
        self.expected = {}
        for number in range(40):
            content = lines(50 + number * 7, number)
            self.write(f"d{number % 3}/{number}.log", content)
            self.expected[f"d{number % 3}/{number}.log"] = kept(content)

    def command(self, shard, *arguments):
        return ("filter", *DROP, "-r", "--shard", shard, *arguments, "--output-dir", self.out, self.inputs)

    def test_shards_that_run_at_once_write_each_output_once_and_their_results_add_up(self):
        whole = self.folder / "whole.jsonl"
        self.assert_success(self.tree("--result", whole, out=self.folder / "undisturbed"))
        results = [self.folder / f"{number}.jsonl" for number in (1, 2, 3)]
        running = [Running(*self.command(f"{number}/3", "--result", result), engine=None) for number, result in enumerate(results, 1)]
        for each in running:
            with each:
                self.assert_success(each.finish())
        self.assert_files(self.expected)
        written = [json.loads(line)["name"] for path in self.out.glob(".gpuhist-filter.*") for line in path.read_text().splitlines()]
        self.assertEqual(sorted(written), sorted(self.expected))
        self.assertTrue(all(len(path.read_text().splitlines()) > 5 for path in self.out.glob(".gpuhist-filter.*")))
        units = [sorted((each["name"], each["unit"]) for path in paths for each in map(json.loads, path.read_text().splitlines()) if each["kind"] == "unit")
                 for paths in ([whole], results)]  # fmt: skip
        self.assertEqual(*units)
        merged = run("merge", *results, "--format", "json", engine=None)
        self.assertEqual(merged.status, 0, merged)
        expected = json.loads(whole.read_text().splitlines()[-1])
        self.assertEqual([merged.result[key] for key in ("bytes", "lines", "buckets", "units")],
                         [expected[key] for key in ("bytes", "lines", "buckets", "units")])  # fmt: skip

    def test_a_killed_shard_is_resumed_also_by_another_number_of_shards(self):
        self.assert_success(run(*self.command("1/3"), engine=None))
        with Running(*self.command("2/3"), "-T", "1", engine=None) as running:
            wait_until(lambda: running.process.poll() is not None or len(files(self.out)) > 15)
            running.process.kill()
            running.process.wait(PATIENCE)
        for shard in ("2/2", "1/2"):
            self.assert_success(run(*self.command(shard, "--resume"), engine=None))
        self.assert_files(self.expected)
        ended = self.tree("--resume")
        self.assert_success(ended)
        self.assertIn("0 outputs, 40 more were complete", ended.stderr)

    def test_no_other_run_writes_a_shard_or_the_folder_of_a_shard_that_runs(self):
        self.out.mkdir()
        holder = os.open(self.out, os.O_RDONLY)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_SH)  # as a shard has it
        part = os.open(self.out / ".gpuhist-filter.1-of-3.jsonl", os.O_CREAT | os.O_RDWR)
        self.addCleanup(os.close, part)
        fcntl.flock(part, fcntl.LOCK_EX)
        self.assertIn(f"another gpuhist filter writes to {self.out}; wait", self.tree().stderr)
        self.assertIn(f"another gpuhist filter writes this shard to {self.out}; wait", run(*self.command("1/3"), engine=None).stderr)
        self.assert_success(run(*self.command("2/3"), engine=None))

    def test_the_number_of_the_task_is_that_of_slurm_and_the_option_requires_the_folder(self):
        self.assert_success(run(*self.command("auto"), engine=None, env={"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}))
        self.assert_files(self.expected)
        ended = run("filter", *DROP, "--shard", "1/2", self.inputs / "d0/0.log", engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn("--shard: requires --output-dir", ended.stderr)
        ended = run(*self.command("1/2"), "--duplicates", "drop", engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn("--shard: cannot be combined with --duplicates drop", ended.stderr)


if __name__ == "__main__":
    main()
