"""Trees and many inputs: --recursive, --files-from and patterns; unusual names, loops, names that are not files, missing
permissions, concurrent changes; constant memory. The oracle is os.walk and a Counter."""

import base64
import collections
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from support import ENGINE, GPUHIST, PATIENCE, SANITIZED, CommandTest, Ended, Running, feed, main, run, text, wait_until, zstd

JSON = ("--buckets", "bytes", "--format", "json", "-q")
LETTERS = ("--buckets", "letters", "--format", "json", "-q")
UNPRIVILEGED = 65534


def files_below(root, follow=False):
    """The regular files below a directory as bytes: depth first, each directory's names in byte order."""
    found = []

    def walk(folder):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.islink(path) and not follow:
                continue
            if os.path.isdir(path):
                walk(path)
            elif os.path.isfile(path):
                found.append(path)

    walk(os.fsencode(root))
    by_walk = [os.path.join(at, each) for at, _, names in os.walk(os.fsencode(root), followlinks=follow) for each in names]
    assert set(found) <= set(by_walk)
    return found


def name_of(entry):
    return base64.b64decode(entry["name_base64"]) if "name_base64" in entry else os.fsencode(entry["name"])


def names_in(result):
    return [name_of(each) for each in result["inputs"]]


def bytes_counted(part):
    return collections.Counter({int(name, 16): count for name, count in part["buckets"]["bytes"].items() if count})


def run_listed(names, *options, **output_options):
    return run(*JSON, *options, "--files-from", "-", stdin_bytes=names, **output_options)


def running_lines(running):
    with open(f"/proc/{running.process.pid}/fd/1", "rb") as out:
        return [line for line in out.read().decode().split("\n")[:-1]]


class TreeTest(CommandTest):
    def make(self, name, content=b"x"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def assert_inputs(self, ended, paths, status=0):
        """The inputs are these files in this order, each with the counts of its bytes; the totals are their sums."""
        self.assertEqual(ended.status, status, ended)
        paths = [os.fsencode(path) for path in paths]
        self.assertEqual(names_in(ended.result), paths)
        total = collections.Counter()
        for entry, path in zip(ended.result["inputs"], paths):
            with open(path, "rb") as file:
                content = collections.Counter(file.read())
            self.assertEqual(bytes_counted(entry), content)
            self.assertIs(entry["complete"], True)
            total += content
        self.assertEqual(bytes_counted(ended.result), total)
        self.assertIs(ended.result["complete"], status == 0)


class Walking(TreeTest):
    def test_a_tree_is_counted_depth_first_in_byte_order_of_the_names_for_all_file_sizes(self):
        for at, size in enumerate((0, 1, 7, 8, 9, 4095, 4096, 4097, 262_143, 262_144, 262_145, 700_000)):
            self.make(f"d{at % 3}/e{at % 2}/f{size}", text(size, at))
        self.make("d1.b", b"between")
        (self.folder / "empty").mkdir()
        for options in ((), ("-T", "1"), ("--slots", "2", "--chunk-size", "4096"), ("-T", "7", "--chunk-size", "1000")):
            with self.subTest(options=options):
                self.assert_inputs(run(*JSON, *options, "-r", self.folder), files_below(self.folder))

    def test_files_trees_and_lists_are_counted_in_the_order_given(self):
        for name in ("a/x", "b/y", "c", "d", "e"):
            self.make(name, name.encode())
        at = self.folder
        names = self.file("list", f"{at}/b\n\n{at}/e".encode())
        ended = run(*JSON, "-r", at / "d", at / "a", at / "c", "--files-from", names)
        self.assert_inputs(ended, [at / "d", at / "a/x", at / "c", at / "b/y", at / "e"])

    def test_archives_in_a_tree_are_decompressed(self):
        data = text(100_000)
        self.make("t/a.zst", zstd(data))
        self.make("t/b", data)
        ended = run(*JSON, "-r", self.folder / "t")
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual([each["format"] for each in ended.result["inputs"]], ["zstd", "raw"])
        self.assert_counts(ended.result, data * 2)

    def test_the_output_is_not_an_input_under_any_of_its_names(self):
        for name in ("a", "sub/b"):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text(1000))
        to = self.folder / "sub/r.json"
        options = ("--buckets", "letters", "-r", "-o", to, self.folder)
        for run_before in (False, True):
            for output_options in (("--format", "json"), ("--format", "json", "--snapshot-every", "1h"), ("--format", "jsonl", "--append")):
                if run_before:
                    (self.folder / "hard").unlink(missing_ok=True)
                    os.link(to, self.folder / "hard")
                with self.subTest(run_before=run_before, output_options=output_options):
                    ended = run(*output_options, *options)
                    self.assertEqual(ended.status, 0, ended)
                    lines = [json.loads(line) for line in to.read_bytes().splitlines()]
                    self.assertEqual(lines[-1]["bytes"], 2000)
                    inputs = lines[-1].get("inputs") or [each for each in lines if each["kind"] == "input"]
                    self.assertEqual([os.path.basename(each["name"]) for each in inputs], ["a", "b"])  # no temporary file
                    if run_before:
                        self.assertIn("is the output as well", ended.stderr)
                        self.assertEqual(lines[-1]["skipped_by_cause"], {"file that is the output as well": 2})
            if not run_before:
                to.unlink()
                run("--format", "json", *options)
        self.assertEqual(sorted(os.listdir(self.folder / "sub")), ["b", "r.json"])

    def test_the_output_is_not_an_input_if_it_is_found_through_a_mount(self):
        """The directory entry of a mounted file has the inode number of the file that the mount hides."""
        (self.folder / "tree").mkdir()
        for name in ("a", "out"):
            (self.folder / "tree" / name).write_bytes(b"hello")
        (self.folder / "out").write_bytes(b"")
        to = self.folder / "tree/out"
        counting = [GPUHIST, "--engine", ENGINE, "--buckets", "letters", "--format", "jsonl", "--append", "-r", "-o", to, self.folder / "tree"]
        command = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', self.folder / "out", to, *counting]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        result = (self.folder / "out").read_bytes()
        if not result and b"gpuhist" not in ended.stderr:
            self.skipTest("this user may not mount")
        lines = [json.loads(line) for line in result.splitlines()]
        names = [os.path.basename(each["name"]) for each in lines if each["kind"] == "input"]
        self.assertEqual((ended.returncode, names), (0, ["a"]), ended)

    def test_a_redirected_standard_output_in_the_tree_is_skipped(self):
        (self.folder / "a").write_bytes(b"hello")
        with open(self.folder / "out", "wb") as out:
            ended = run("--buckets", "letters", "--format", "json", "-r", self.folder, stdout=out)
        self.assertEqual(ended.status, 0, ended)
        result = json.loads((self.folder / "out").read_bytes())
        self.assertEqual((result["bytes"], [os.path.basename(each["name"]) for each in result["inputs"]]), (5, ["a"]))

    def test_an_output_that_is_replaced_while_the_tree_is_walked_is_never_counted(self):
        for number in range(300):
            folder = self.folder / f"{number:03}"
            folder.mkdir()
            (folder / "file").write_bytes(text(100))
        to = self.folder / "150/metrics.prom"
        ended = run("--buckets", "letters", "--format", "prometheus", "--snapshot-every", "1ms", "-r", "-o", to, self.folder)
        self.assertEqual(ended.status, 0, ended)
        names = set(re.findall(r'input="([^"]*)"', to.read_text()))
        self.assertEqual((len(names), {os.path.basename(name) for name in names}), (300, {"file"}))
        self.assertEqual(sorted(os.listdir(self.folder / "150")), ["file", "metrics.prom"])

    def test_a_directory_without_recursive_is_an_error_that_names_the_option(self):
        self.make("t/a")
        ended = run("--format", "json", self.folder / "t", self.make("b"))
        self.assertEqual(ended.status, 1)
        self.assertIn("is a directory; --recursive (-r) counts the files below it", ended.stderr)
        self.assertEqual([each["complete"] for each in ended.result["inputs"]], [False, True])

    def test_a_directory_without_files_is_named(self):
        for folder in ("empty", "nested/empty"):
            (self.folder / folder).mkdir(parents=True)
        self.make("full/a.log", b"text")
        for arguments, message in (
            (("empty",), "gpuhist: empty: the directory holds no files\n"),
            (("empty", "full", "nested"), "gpuhist: 2 directories hold no files, the first one: empty\n"),
            (("--include", "*.txt", "full"), "gpuhist: full: the directory holds no files that --include and --exclude select\n"),
            (("-q", "empty"), ""),
            (("full",), ""),
        ):
            with self.subTest(arguments=arguments):
                ended = run("--format", "json", "-r", *arguments, cwd=self.folder)
                self.assertEqual((ended.status, ended.stderr), (0, message))

    def test_patterns_select_files_and_exclude_directories(self):
        for name in ("a.log", "b.txt", "x/a.log", "x/cache/c.log", "cache/d.log", "x/y/z/e.log"):
            self.make("t/" + name, name.encode())
        at = self.folder / "t"
        for options, expected in (
            (("--include", "*.log", "--exclude", "cache"), ["a.log", "x/a.log", "x/y/z/e.log"]),
            (("--include", "x/*.log"), ["x/a.log"]),
            (("--include", "x/**/*.log"), ["x/a.log", "x/cache/c.log", "x/y/z/e.log"]),
            (("--exclude", "/cache/", "--exclude", "*.txt"), ["a.log", "x/a.log", "x/cache/c.log", "x/y/z/e.log"]),
            (("--include", "none"), []),
        ):
            with self.subTest(options=options):
                self.assert_inputs(run(*JSON, "-r", *options, at), [at / each for each in expected])

    def test_options_that_require_another_option_are_refused_without_it(self):
        for options, message in (
            (("--include", "*"), "--include: requires --recursive"),
            (("--exclude", "*"), "--exclude: requires --recursive"),
            (("--follow-symlinks",), "--follow-symlinks: requires --recursive"),
            (("-0",), "--null: requires --files-from"),
            (("--files-from", "-", "-"), "--files-from: standard input cannot be an input"),
        ):
            with self.subTest(options=options):
                ended = run(*options)
                self.assertEqual(ended.status, 2)
                self.assertIn(message, ended.stderr)

    def test_files_with_unusual_names_are_counted(self):
        names = [b"\n", b" ", b"*", b"-r", b"--", b"a\nb", b"n" * 255, b"caf\xe9", b"\xff\xfd", "größe".encode(), b"\x1b[2J"]
        root = os.fsencode(self.folder) + b"/t"
        os.mkdir(root)
        for name in names:
            os.mkdir(root + b"/in " + name[:200])
            for path in (root + b"/" + name, root + b"/in " + name[:200] + b"/" + name):
                with open(path, "wb") as file:
                    file.write(name)
        self.assert_inputs(run(*JSON, "-r", root), files_below(root))
        listed = run_listed(b"\0".join(files_below(root)), "-0")
        self.assert_inputs(listed, files_below(root))

    def test_links_are_reported_as_skipped_or_followed_on_request(self):
        self.make("t/a/x", b"one")
        (self.folder / "t/to-file").symlink_to("a/x")
        (self.folder / "t/to-folder").symlink_to("a")
        (self.folder / "t/nowhere").symlink_to("none")
        (self.folder / "t/a/up").symlink_to("..")
        root = self.folder / "t"
        ended = run("--buckets", "bytes", "--format", "json", "-r", root)
        self.assert_inputs(ended, [root / "a/x"])
        self.assertEqual(ended.result["skipped"], 4)
        self.assertEqual(ended.stderr, f"gpuhist: skipped 4 times a symbolic link, the first one: {root}/a/up\n")
        ended = run("--buckets", "bytes", "--format", "json", "-r", "--follow-symlinks", root)
        self.assert_inputs(ended, [root / "a/x", root / "to-file", root / "to-folder/x"])
        self.assertEqual(ended.result["skipped"], 3)
        self.assertIn(f"skipped 2 times a symbolic link to a directory above it, the first one: {root}/a/up\n", ended.stderr)
        self.assertIn(f"skipped a dangling symbolic link: {root}/nowhere\n", ended.stderr)
        self.assert_inputs(run(*JSON, "-r", root / "to-folder", root / "to-file"), [root / "to-folder/x", root / "to-file"])

    def test_fifos_and_sockets_in_a_tree_are_skipped_without_waiting(self):
        self.make("t/a", b"one")
        os.mkfifo(self.folder / "t/fifo")
        folder = os.open(self.folder / "t", os.O_PATH)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"/proc/self/fd/{folder}/s")  # the path of a socket has about a hundred characters at most
            os.close(folder)
            ended = run("--buckets", "bytes", "--format", "json", "-r", self.folder / "t")
        self.assert_inputs(ended, [self.folder / "t/a"])
        self.assertEqual(ended.result["skipped"], 2)
        self.assertIn("skipped a FIFO: ", ended.stderr)
        self.assertIn("skipped a socket: ", ended.stderr)
        self.assertEqual(run(*JSON, "-r", self.folder / "t").stderr, "")

    def test_a_fifo_in_a_list_is_read(self):
        os.mkfifo(self.folder / "fifo")
        after = self.make("after", b"after")
        with Running(*JSON, "--files-from", self.file("list", f"{self.folder}/fifo\n{after}\n".encode())) as running:
            writer = threading.Thread(target=(self.folder / "fifo").write_bytes, args=(b"through the fifo",))
            writer.start()
            ended = running.finish()
            writer.join()
        self.assert_counts(ended.result, b"through the fifoafter")

    def test_a_tree_deeper_than_the_longest_path_is_counted(self):
        root = self.folder / "t"
        root.mkdir()
        at = os.open(root, os.O_RDONLY)
        for _ in range(40):  # 8,000 bytes of path: longer than PATH_MAX
            with open(os.open("f", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at), "wb") as file:
                file.write(b"deep")
            os.mkdir("d" * 200, dir_fd=at)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        os.close(at)
        ended = run(*JSON, "-r", root)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(len(ended.result["inputs"]), 40)
        self.assert_counts(ended.result, b"deep" * 40)
        subprocess.run(["rm", "-rf", root], check=True)  # shutil cannot remove it


class Lists(TreeTest):
    def test_names_are_read_from_a_file_or_standard_input_separated_by_newline_or_nul(self):
        paths = [self.make(f"f{i}", text(100 * i)) for i in range(70)]
        lines = "\n".join(map(str, paths)).encode()
        self.assert_inputs(run_listed(lines), paths)
        self.assert_inputs(run_listed(lines + b"\n\n"), paths)
        self.assert_inputs(run_listed(lines.replace(b"\n", b"\0"), "-0"), paths)
        self.assert_inputs(run(*JSON, "--files-from", self.file("list", lines)), paths)
        with open(self.file("list", lines), "rb") as redirected:
            self.assert_inputs(run(*JSON, "--files-from", "-", stdin=redirected), paths)
        self.assert_inputs(run_listed(b""), [])

    def test_inputs_are_counted_while_the_list_is_still_being_written(self):
        paths = [self.make(f"f{i}", text(1000 * i)) for i in range(5)]
        with Running(*JSON, "--snapshot-every", "10ms", "--files-from", "-", stdin=subprocess.PIPE) as running:
            for path in paths[:2]:
                feed(running, [f"{path}\n".encode()])
            feed(running, [str(paths[2])[:5].encode()])  # a part of a name
            wait_until(lambda: len(json.loads((running_lines(running) or ["{}"])[-1]).get("inputs", [])) == 2)
            feed(running, [str(paths[2])[5:].encode() + b"\n" + f"{paths[3]}\n{paths[4]}".encode()])
            running.process.stdin.close()
            self.assert_inputs(running.finish(), paths)

    def test_a_missing_file_is_an_error_of_that_name_and_the_others_are_counted(self):
        present = self.make("there", b"text")
        ended = run_listed(f"{self.folder}/none\n{present}\n{self.folder}\n-\n".encode())
        self.assertEqual(ended.status, 1)
        self.assertEqual([each["complete"] for each in ended.result["inputs"]], [False, True, False, False])
        self.assertEqual(ended.result["inputs"][0]["error"], "No such file or directory")
        self.assertIn("already supplies the list of names", ended.result["inputs"][3]["error"])
        self.assert_counts(ended.result, b"text")

    def test_a_list_that_cannot_be_read_is_an_error_and_named_inputs_are_counted(self):
        ended = run(*JSON, "--files-from", self.folder / "none", self.make("a", b"text"))
        self.assertEqual(ended.status, 1)
        self.assertEqual(ended.result["inputs"][1]["error"], "the list of names (--files-from): No such file or directory")
        self.assert_counts(ended.result, b"text")

    def test_names_that_end_in_nul_are_refused_without_null_and_no_file_is_counted_instead(self):
        listed = f"{self.make('a', b'text')}\0{self.make('b', b'more')}\0".encode()
        ended = run_listed(listed)
        self.assertEqual(ended.status, 1)
        self.assertEqual([each["error_kind"] for each in ended.result["inputs"]], ["refused"])
        self.assertIn("--null reads a list of names that end in zero bytes", ended.result["inputs"][0]["error"])
        self.assert_counts(ended.result, b"")

    def test_a_name_that_is_too_long_ends_the_list(self):
        ended = run_listed(b"x" * 3_000_000)
        self.assertEqual(ended.status, 1)
        self.assertIn("longer than 1 MiB", ended.stderr)

    def test_a_signal_while_the_list_is_waited_for_leaves_an_incomplete_result(self):
        path = self.make("a", b"text")
        with Running(*JSON, "--snapshot-every", "10ms", "--files-from", "-", stdin=subprocess.PIPE) as running:
            feed(running, [f"{path}\n".encode()])
            wait_until(lambda: any('"bytes":4,' in line for line in running_lines(running)))
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM)
        self.assertIs(ended.result["complete"], False)
        self.assertIn("stopped before all of it was read", ended.result["inputs"][-1]["error"])
        self.assert_counts(ended.result, b"text")


class Hostile(TreeTest):
    """Runs as a user who may not read all files; root may."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.program = shutil.copy(GPUHIST, self.folder / "program")  # where every user can run it
        self.root = self.folder / "t"
        for name in ("a/x", "b/secret", "c/closed/y", "c/open/z", "d"):
            self.make("t/" + name, name.encode())
        (self.root / "b/secret").chmod(0)
        (self.root / "c/closed").chmod(0)
        self.addCleanup(lambda: (self.root / "c/closed").chmod(0o700))
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{UNPRIVILEGED}:{UNPRIVILEGED}", self.root], check=True)

    def run_unprivileged(self, *arguments):
        command = [self.program, "--engine", ENGINE, *map(os.fspath, arguments)]
        if os.geteuid() == 0:
            command = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups", *command]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def test_a_file_that_may_not_be_read_is_an_error_of_that_name_and_the_others_are_counted(self):
        ended = self.run_unprivileged(*JSON, "-r", self.root)
        self.assertEqual(ended.status, 1, ended)
        by_name = {os.path.relpath(name_of(each).decode(), self.root): each for each in ended.result["inputs"]}
        self.assertEqual(list(by_name), ["a/x", "b/secret", "c/closed", "c/open/z", "d"])
        for name, each in by_name.items():
            closed = name in ("b/secret", "c/closed")
            self.assertEqual(each.get("error"), "Permission denied" if closed else None)
            self.assertIs(each["complete"], not closed)
        self.assert_counts(ended.result, b"a/xc/open/zd")
        self.assertEqual(ended.stderr.count("Permission denied"), 2)

    def test_every_format_lists_the_errors_of_a_tree(self):
        for form in ("table", "json", "jsonl", "csv"):
            with self.subTest(form=form):
                ended = self.run_unprivileged("--format", form, "-r", self.root)
                self.assertEqual(ended.status, 1)
                self.assertIn(b"secret", ended.stdout)
                self.assertIn(b"c/closed", ended.stdout)


class Changing(TreeTest):
    def test_files_that_vanish_or_shrink_or_grow_during_the_run_do_not_affect_other_files(self):
        root = self.folder / "t"
        for i in range(300):
            self.make(f"t/{i:03}", text(5000, i))
        steady = self.make("u", text(10_000))
        ended_event = threading.Event()

        def change():
            for i in itertools.cycle(range(300)):
                if ended_event.is_set():
                    return
                path = root / f"{i:03}"
                try:
                    if i % 3 == 0:
                        path.unlink(missing_ok=True)
                    elif i % 3 == 1:
                        os.truncate(path, i * 10)
                    else:
                        path.write_bytes(text(5000 + i * 50, i))
                except FileNotFoundError:
                    pass
                if i % 30 == 0:
                    (root / "000").write_bytes(b"again")

        changing = threading.Thread(target=change)
        changing.start()
        try:
            for _ in range(5):
                ended = run(*JSON, "-r", root, steady)
                self.assertIn(ended.status, (0, 1), ended)
                entries = ended.result["inputs"]
                self.assertEqual(ended.status, 0 if all(each["complete"] for each in entries) else 1)
                self.assertEqual(sum(each["bytes"] for each in entries), ended.result["bytes"])
                self.assert_counts(entries[-1], text(10_000))
                for each in entries:
                    self.assertRegex(each.get("error", "No such file or directory"),
                                     r"^(No such file or directory|it was truncated while it was read: it had \d+ bytes, and has \d+)$")  # fmt: skip
        finally:
            ended_event.set()
            changing.join()

    def test_a_file_that_grows_while_it_is_read_is_read_to_an_end(self):
        self.make("t/a", b"small")
        growing = self.make("t/b", text(200_000))
        with open(growing, "ab") as writer:
            ended_event = threading.Event()
            thread = threading.Thread(target=lambda: [writer.write(b"more\n") for _ in iter(ended_event.is_set, True)])
            thread.start()
            try:
                ended = run(*JSON, "-r", self.folder / "t")
            finally:
                ended_event.set()
                thread.join()
        self.assertEqual(ended.status, 0, ended)
        self.assertGreaterEqual(ended.result["inputs"][1]["bytes"], 200_000)

    def test_files_of_proc_and_sys_with_a_wrong_size_are_read_to_their_end(self):
        """Files with a reported size of 0 or 4096 and content that does not change."""
        paths = ["/proc/version", "/proc/filesystems", "/proc/cmdline", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/devices/system/cpu/online"]
        paths = [each for each in paths if os.access(each, os.R_OK)]
        self.assertGreater(len(paths), 2)
        self.assert_inputs(run(*JSON, *paths), paths)

    def test_a_long_file_of_proc_is_read_among_small_ones(self):
        long = pathlib.Path("/proc/kallsyms")
        if not long.exists() or len(content := long.read_bytes()) < 1_000_000:
            self.skipTest("no long file in /proc")
        ended = run(*JSON, self.make("a", b"a"), long, self.make("b", b"b"))
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(bytes_counted(ended.result), collections.Counter(content + b"ab"))

    def test_a_tree_of_proc_is_read_to_an_end(self):
        ended = run(*JSON, "-r", "/proc/self", "--exclude", "task/", "--exclude", "mem", "--exclude", "pagemap")
        self.assertIn(ended.status, (0, 1))
        self.assertGreater(len(ended.result["inputs"]), 10)

    @unittest.skipUnless(os.environ.get("CAMPAIGN") == "all", "takes long")
    def test_a_sparse_file_of_more_than_4_gib_in_a_tree_is_counted(self):
        size = (1 << 32) + 12_345
        with open(self.make("t/sparse"), "wb") as file:
            file.truncate(size - 1)
            file.seek(size - 1)
            file.write(b"x")
        self.make("t/small", b"y")
        ended = run("--buckets", "letters", "--format", "json", "-r", self.folder / "t")
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual([each["bytes"] for each in ended.result["inputs"]], [1, size])
        self.assertEqual(ended.result["buckets"]["letters"]["u-x"], 1)
        self.assertEqual(ended.result["buckets"]["letters"]["other"], size - 1)


class NoTemporaryFile(TreeTest):
    """Lines of finished inputs that exceed 1 MiB need a temporary file: 600 inputs with names of 3,000 bytes."""

    COUNT = 600

    def make_tree(self):
        deep = "/".join(["n" * 240] * 12)
        for number in range(self.COUNT):
            self.make(f"t/{deep}/{number}", b"xy")
        return self.folder / "t"

    def count(self, folder):
        return run(*LETTERS, "--engine", ENGINE, "-r", self.make_tree(), env={**os.environ, "TMPDIR": str(folder)})

    def test_without_a_folder_for_the_temporary_file_the_run_ends_with_the_remedy(self):
        ended = self.count(self.folder / "none")
        self.assertEqual(ended.status, 1, ended)
        self.assertIs(ended.result["complete"], False)
        message = f"need a temporary file in {self.folder / 'none'}: No such file or directory; make room there, or give another --temporary-folder"
        self.assertEqual(ended.stderr.count(message), 1, ended)
        listed = [each for each in ended.result["inputs"] if each["complete"]]
        self.assertEqual(ended.result["bytes"], 2 * len(listed))  # up to COUNT: all may be counted before the file is needed

    def test_the_temporary_file_is_removed(self):
        folder = self.folder / "tmp"
        folder.mkdir()
        ended = self.count(folder)
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual(len(ended.result["inputs"]), self.COUNT)
        self.assertEqual(os.listdir(folder), [])


class Many(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.count = 3_000 if SANITIZED else 20_000
        cls.tree = pathlib.Path(tempfile.mkdtemp(prefix="gpuhist-test-"))
        line = text(500)
        cls.data = b""
        for i in range(cls.count):
            if i % 100 == 0:
                folder = cls.tree / f"d{i // 100:04}"
                folder.mkdir()
            content = line[: i % 400]
            (folder / f"f{i:05}").write_bytes(content)
            cls.data += content

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.tree)

    def counted(self, *options, limit=None, inputs=None):
        def in_child():
            if limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        out = tempfile.TemporaryFile()
        self.addCleanup(out.close)
        process = subprocess.Popen(
            [GPUHIST, "--engine", ENGINE, *LETTERS, *map(os.fspath, options), *map(os.fspath, inputs or ["-r", self.tree])],
            stdin=subprocess.DEVNULL, stdout=out, preexec_fn=in_child)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Ended(process.returncode, out.read(), b""), usage.ru_maxrss * 1024

    def test_all_of_very_many_files_are_counted_in_order_with_64_descriptors(self):
        ended, _ = self.counted("-T", "4", limit=64)
        self.assertEqual(ended.status, 0)
        self.assertEqual(names_in(ended.result), files_below(self.tree))
        self.assert_counts(ended.result, self.data)
        self.assertEqual([each["bytes"] for each in ended.result["inputs"]], [i % 400 for i in range(self.count)])

    def test_every_format_of_many_inputs_reports_the_same_counts(self):
        ended, _ = self.counted("--format", "jsonl")
        lines = ended.documents
        self.assertEqual(lines[-1]["input_count"], self.count)
        self.assertEqual(len(lines), self.count + 1)
        self.assertEqual(sum(line["bytes"] for line in lines[:-1]), len(self.data))
        table = run("-r", self.tree).stdout.decode()
        self.assertEqual(sum("/f" in line for line in table.splitlines()), self.count)

    @unittest.skipIf(SANITIZED or ENGINE != "host", "memory is that of the program alone")
    def test_memory_does_not_grow_with_the_number_of_inputs(self):
        options = ("--byte-counts", "--format", "csv", "--output", "/dev/null")
        few, few_bytes = self.counted(*options, inputs=["-r", self.tree / "d0000", self.tree / "d0001"])
        many, many_bytes = self.counted(*options)
        more, more_bytes = self.counted(*options, inputs=["-r", self.tree, self.tree, self.tree])
        self.assertEqual([each.status for each in (few, many, more)], [0, 0, 0])
        self.assertLess(many_bytes - few_bytes, 8 << 20, "20,000 inputs of 256 counts would be 40 MB and more")
        self.assertLess(more_bytes - many_bytes, 2 << 20)

    def test_inputs_after_a_slow_one_are_reported_in_their_order(self):
        fifo = self.tree.parent / (self.tree.name + ".fifo")
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        folder = self.tree / "d0001"
        with Running(*LETTERS, "-r", folder, fifo, folder) as running:
            with open(fifo, "wb") as writer:
                writer.write(b"slow")
            ended = running.finish()
        self.assertEqual(ended.status, 0, ended)
        below = files_below(folder)
        self.assertEqual(names_in(ended.result), [*below, os.fsencode(fifo), *below])

    def test_a_signal_in_the_middle_of_a_tree_leaves_an_incomplete_result(self):
        fifo = self.folder / "fifo"  # never closed: the run cannot be complete before the signal
        os.mkfifo(fifo)
        writer = os.open(fifo, os.O_RDWR)
        self.addCleanup(os.close, writer)
        trees = [self.tree] * 3
        with Running(*LETTERS, "--snapshot-every", "64KiB", "-r", *trees, fifo, *trees) as running:
            wait_until(lambda: running_lines(running))
            running.process.send_signal(signal.SIGINT)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGINT)
        self.assertIs(ended.result["complete"], False)
        self.assertTrue(any("error" in each for each in ended.result["inputs"]))


if __name__ == "__main__":
    main()
