"""Inputs of all kinds (pipe, file, offset, socket, FIFO, terminal, device, /proc) are read to their end. The flags of
their descriptors do not change."""

import base64
import errno
import fcntl
import gzip
import json
import os
import pathlib
import pty
import random
import resource
import socket
import subprocess
import threading
import unittest

from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, CommandTest, Running, feed, main, noise, remarks, run, run_fed, text, unread, wait_until, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


class StandardInput(CommandTest):
    def test_no_file_and_a_dash_both_mean_standard_input(self):
        for arguments in ((), ("-",)):
            ended = run_fed([b"hello\n"], *JSON, *arguments)
            self.assert_counted(ended, b"hello\n")
            self.assertEqual(ended.result["inputs"][0]["name"], "(standard input)")

    def test_a_label_names_standard_input(self):
        self.assertEqual(run_fed([b"x"], *JSON, "--label", "nginx").result["inputs"][0]["name"], "nginx")

    def test_a_pipe_that_is_written_byte_by_byte_is_counted_exactly(self):
        data = text(3000)
        self.assert_counted(run_fed([data[i : i + 1] for i in range(len(data))], *JSON), data)

    def test_a_pipe_that_is_written_in_bursts_is_counted_exactly(self):
        data = text(400_000)
        chosen = random.Random(3)
        with Running(*JSON, "--chunk-size", "10000", stdin=subprocess.PIPE) as running:
            at = 0
            while at < len(data):
                size = chosen.choice((1, 10, 4096, 65536, 100_000))
                feed(running, [data[at : at + size]])
                at += size
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.stdin.close()
            self.assert_counted(running.finish(), data)

    def test_an_empty_pipe_has_zero_counts(self):
        self.assert_counted(run_fed([], *JSON), b"")

    def test_a_redirected_file_is_read_from_its_offset_and_left_at_its_end(self):
        data = text(600_000)
        path = self.file("data", data)
        for offset in (0, 1, 262_144, 599_999, 600_000, 700_000):
            with self.subTest(offset=offset), open(path, "rb", buffering=0) as redirected:
                redirected.seek(offset)
                self.assert_counted(run(*JSON, stdin=redirected), data[offset:])
                self.assertEqual(redirected.seek(0, os.SEEK_CUR), max(offset, len(data)))

    def test_two_commands_that_share_a_redirected_file_read_it_once(self):
        path = self.file("data", text(100_000))
        with open(path, "rb", buffering=0) as redirected:
            self.assert_counted(run(*JSON, stdin=redirected), text(100_000))
            self.assert_counted(run(*JSON, stdin=redirected), b"")

    def test_standard_input_named_twice_is_counted_once(self):
        for size in (100, 4_000_000):
            path = self.file("data", text(size))
            with self.subTest(size=size), open(path, "rb", buffering=0) as redirected:
                self.assert_counted(run(*JSON, "-", "-", stdin=redirected), text(size))

    def test_a_closed_standard_input_is_an_error_that_names_it(self):
        for arguments in ("", "-", f"{self.file('data', b'hello')} -"):
            with self.subTest(arguments=arguments):
                command = f"exec {GPUHIST} --engine {ENGINE} {arguments} <&-"
                ended = subprocess.run(["sh", "-c", command], capture_output=True, timeout=PATIENCE)
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertIn(b"(standard input)", ended.stderr)

    def test_a_socket_is_read_to_its_end(self):
        data = text(500_000)
        ours, theirs = socket.socketpair()
        with Running(*JSON, stdin=theirs) as running:
            theirs.close()
            ours.sendall(data)
            ours.close()
            self.assert_counted(running.finish(), data)

    def test_a_terminal_is_read_until_control_d(self):
        ours, theirs = pty.openpty()
        with Running(*JSON, "-q", stdin=theirs) as running:
            os.close(theirs)
            os.write(ours, b"typed by hand\n\x04")
            self.assert_counted(running.finish(), b"typed by hand\n")
        os.close(ours)

    def test_dev_null_is_empty(self):
        self.assert_counted(run(*JSON), b"")
        self.assert_counted(run(*JSON, "/dev/null"), b"")

    def test_a_non_blocking_pipe_is_read_to_its_end(self):
        data = text(200_000)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        with Running(*JSON, stdin=reading) as running:
            for at in range(0, len(data), 50_000):
                os.write(writing, data[at : at + 50_000])
                wait_until(lambda: unread(writing) == 0)
            os.close(writing)
            self.assert_counted(running.finish(), data)
        self.assertFalse(os.get_blocking(reading))
        os.close(reading)


class Neighbours(CommandTest):
    def test_the_flags_of_a_pipe_are_unchanged_after_exit(self):
        reading, writing = os.pipe()
        before = fcntl.fcntl(reading, fcntl.F_GETFL)
        with Running(*JSON, stdin=reading) as running:
            os.write(writing, b"some text")
            wait_until(lambda: unread(writing) == 0)
            self.assertEqual(fcntl.fcntl(reading, fcntl.F_GETFL), before)
            os.close(writing)
            self.assert_counted(running.finish(), b"some text")
        self.assertEqual(fcntl.fcntl(reading, fcntl.F_GETFL), before)
        os.close(reading)

    def test_after_kill_9_the_next_reader_can_read_the_rest_of_the_pipe(self):
        reading, writing = os.pipe()
        with Running(*JSON, stdin=reading) as running:
            os.write(writing, b"the first part")
            wait_until(lambda: unread(writing) == 0)
            running.process.kill()
            self.assertEqual(running.finish().status, -9)
        self.assertTrue(os.get_blocking(reading))
        os.write(writing, b"the rest")
        os.close(writing)
        self.assertEqual(os.read(reading, 100), b"the rest")
        self.assertEqual(os.read(reading, 100), b"")
        os.close(reading)

    def test_the_flags_of_a_socket_and_a_terminal_are_unchanged(self):
        for ours, theirs in (pty.openpty(), [end.detach() for end in socket.socketpair()]):
            before = fcntl.fcntl(theirs, fcntl.F_GETFL)
            with Running(*JSON, stdin=theirs) as running:
                os.write(ours, b"text\n")
                wait_until(lambda: unread(theirs) == 0)
                running.process.kill()
                running.finish()
            self.assertEqual(fcntl.fcntl(theirs, fcntl.F_GETFL), before)
            os.close(ours)
            os.close(theirs)


class Failures(CommandTest):
    def test_a_result_reports_the_kind_of_every_failure(self):
        packed = zstd(text(100_000), "--check")
        inputs = {
            self.file("whole", b"text"): None,
            self.folder / "absent": "unreadable",
            self.folder: "refused",
            self.file("cut.zst", packed[:-9]): "damaged",
            self.file("binary.gz", b"binary\0"): "damaged",
        }
        ended = run("--format", "json", "--byte-counts", *inputs)
        self.assertEqual(ended.status, 1)
        self.assertEqual([each.get("error_kind") for each in ended.result["inputs"]], list(inputs.values()))
        self.assertEqual([each["complete"] for each in ended.result["inputs"]], [kind is None for kind in inputs.values()])
        read_back = run("report", "--format", "json", self.file("r.json", ended.stdout), engine=None)
        self.assertEqual([each.get("error_kind") for each in read_back.result["inputs"]], list(inputs.values()))
        ended = run("--format", "json", "--max-output", "1000", self.file("whole.zst", packed))
        self.assertEqual(ended.result["inputs"][0]["error_kind"], "refused")

    def test_after_a_signal_inputs_are_reported_as_stopped_or_not_read(self):
        with Running("--format", "json", "-", self.file("next", b"text"), stdin=subprocess.PIPE) as running:
            feed(running, [b"some"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.terminate()
            ended = running.finish()
        self.assertEqual([each["error_kind"] for each in ended.result["inputs"]], ["stopped", "not_read"])


class Names(CommandTest):
    def test_a_named_fifo_is_read_once_its_writer_opens_it(self):
        data = text(300_000)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with Running(*JSON, fifo) as running:
            writer = threading.Thread(target=fifo.write_bytes, args=(data,))
            writer.start()
            self.assert_counted(running.finish(), data)
            writer.join()

    def test_files_of_proc_with_a_reported_size_of_zero_are_read_to_their_end(self):
        for name in ("/proc/version", "/proc/filesystems"):
            with open(name, "rb") as file:
                content = file.read()
            self.assertGreater(len(content), 0)
            self.assert_counted(run(*JSON, name), content)
            with open(name, "rb") as redirected:
                self.assert_counted(run(*JSON, stdin=redirected), content)

    def test_a_file_longer_than_its_reported_size_and_than_the_ring_is_read_before_the_next_files(self):
        long = pathlib.Path("/proc/kallsyms")
        if not long.exists() or len(content := long.read_bytes()) < 1_000_000:
            self.skipTest("no long file in /proc")
        behind = text(500_000)
        for options in ((), ("--slots", "2", "--chunk-size", "4096"), ("-T", "7", "--slots", "8", "--chunk-size", "10000")):
            with self.subTest(options=options):
                ended = run(*JSON, *options, long, self.file("behind", behind), self.file("too", behind))
                self.assert_counted(ended, content + behind * 2)

    @unittest.skipIf(ENGINE == "cuda", "a device needs descriptors")
    def test_many_files_that_are_not_small_need_few_descriptors(self):
        contents = [text(300_000 + number) for number in range(100)]
        paths = [self.file(str(number), content) for number, content in enumerate(contents)]
        for threads in ("1", "2"):
            ended = run(*JSON, "-T", threads, *paths, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
            self.assert_counted(ended, b"".join(contents))

    def test_the_soft_limit_on_descriptors_does_not_matter(self):
        content = text(300_000)
        paths = [self.file(str(number), content) for number in range(20)]
        ended = run(*JSON, *paths, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 1024)))
        self.assert_counted(ended, content * 20)

    @unittest.skipUnless("FAULT_PRELOAD" in os.environ, "no library that makes calls fail")
    def test_files_without_offsets_are_read_as_streams_between_others(self):
        texts = [noise(300_000, number) for number in range(20)]
        paths = [self.file(f"{number}.gz", gzip.compress(content, 1)) for number, content in enumerate(texts)]
        no_offsets = {"FAULT_CLASS": "seek", "FAULT_AT": "3", "FAULT_TIMES": "9", "FAULT_EFFECT": str(errno.ESPIPE)}
        environment = os.environ | {"LD_PRELOAD": os.environ["FAULT_PRELOAD"]} | no_offsets
        for threads in ("1", "2", "7"):
            with self.subTest(threads=threads):
                self.assert_counted(run(*JSON, "-T", threads, *paths, env=environment), b"".join(texts))

    def test_a_symbolic_link_is_followed(self):
        (self.folder / "link").symlink_to(self.file("data", text(5000)))
        self.assert_counted(run(*JSON, self.folder / "link"), text(5000))

    def test_a_sparse_file_is_counted_with_its_holes(self):
        path = self.folder / "sparse"
        with open(path, "wb") as file:
            file.truncate(3_000_000)
        self.assert_counted(run(*JSON, path), bytes(3_000_000))

    def test_names_that_are_not_utf8_are_reported_in_base64(self):
        path = os.fsencode(self.folder) + b"/caf\xe9.log"
        with open(path, "wb") as file:
            file.write(b"hello")
        ended = run(*JSON, path)
        self.assert_counted(ended, b"hello")
        self.assertEqual(base64.b64decode(ended.result["inputs"][0]["name_base64"]), path)

    def test_names_that_are_utf8_are_reported_without_base64(self):
        ended = run(*JSON, self.file("größe 検索 \"'\\\n.log", b"hello"))
        self.assert_counted(ended, b"hello")
        self.assertEqual(ended.result["inputs"][0]["name"], str(self.folder / "größe 検索 \"'\\\n.log"))
        self.assertNotIn("name_base64", ended.result["inputs"][0])

    def test_all_arguments_after_two_dashes_are_files(self):
        self.file("--stats", b"hello")
        self.assert_counted(run(*JSON, "--", "--stats", cwd=self.folder), b"hello")


class OutputsAsInputs(CommandTest):
    """A file cannot be an input and the output of one run, by whatever names it is given."""

    def assert_refused(self, path, *arguments, names=(), **options):
        before = path.read_bytes()
        ended = run(*arguments, **options)
        self.assert_usage_error(ended, *map(str, names), "is an input, and the same file as")
        self.assertEqual(path.read_bytes(), before)
        return ended

    def cases(self, path):
        yield ()
        yield ("--format", "jsonl", "--append")
        yield ("--format", "jsonl", "--window", "100K")
        yield ("--format", "jsonl", "--snapshot-every", "1h")
        yield ("--format", "prometheus", "--snapshot-every", "1h")

    def test_an_input_of_the_command_line_is_refused_as_the_output(self):
        path = self.file("x", text(300_000))
        other = self.file("other", b"other")
        hard_link, soft_link = self.folder / "hard", self.folder / "soft"
        os.link(path, hard_link)
        soft_link.symlink_to(path)
        for options in self.cases(path):
            for read, written in ((path, path), (hard_link, path), (path, soft_link), (soft_link, hard_link)):
                with self.subTest(options=options, read=read, written=written):
                    self.assert_refused(path, *options, "-o", written, other, read, names=(f"{read}: is", written))
        self.assertEqual({each.name for each in self.folder.iterdir()}, {"x", "other", "hard", "soft"})

    def test_standard_input_is_refused_as_the_output(self):
        path = self.file("x", text(1000))
        for options in self.cases(path):
            with self.subTest(options=options), open(path, "rb") as redirected:
                self.assert_refused(path, *options, "-o", path, stdin=redirected, names=("(standard input): is", path))
        with open(path, "rb") as redirected:
            self.assert_refused(path, "-o", path, "--label", "web", stdin=redirected, names=("web: is", path))

    def test_descriptors_and_standard_output_are_compared_by_file_and_not_by_name(self):
        path = self.file("x", text(1000))
        with open(path, "ab") as log:
            self.assert_refused(path, "-o", f"fd:{log.fileno()}", path, pass_fds=(log.fileno(),), names=(f"fd:{log.fileno()}",))
            self.assert_refused(path, path, stdout=log, names=("standard output",))

    def test_a_listed_input_and_the_list_itself_are_refused_as_the_output(self):
        path = self.file("x", text(300_000))
        listed = self.file("list", os.fsencode(path) + b"\n")
        for options in self.cases(path):
            with self.subTest(options=options):
                self.assert_refused(path, *options, "--files-from", listed, "-o", path, names=(f"{path}: is",))
                self.assert_refused(listed, *options, "--files-from", listed, "-o", listed, names=(f"{listed}: is",))
                self.assert_refused(path, *options, "--files-from", "-", "-o", path, names=(f"{path}: is",), stdin_bytes=listed.read_bytes())
        self.assertEqual({each.name for each in self.folder.iterdir()}, {"x", "list"})

    def test_a_device_may_be_an_input_and_the_output(self):
        ended = run(*JSON, "-o", "/dev/null", "/dev/null")
        self.assertEqual((ended.status, remarks(ended)), (0, []))


class Descriptors(CommandTest):
    """A descriptor that was not open when the program was started is an error, also if the program opened it later."""

    def in_shell(self, arguments):
        command = f"exec {GPUHIST} --engine {ENGINE} {arguments}"
        return subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)

    def test_an_input_descriptor_that_was_not_open_is_an_error_that_names_it(self):
        for number in range(3, 16):
            for folder in ("/dev/fd", "/proc/self/fd"):
                ended = self.in_shell(f"--format json {folder}/{number}")
                self.assertEqual(ended.returncode, 1, ended)
                self.assertEqual(
                    ended.stderr.decode(),
                    f"gpuhist: {folder}/{number}: descriptor {number} was not open when gpuhist was started: Bad file descriptor\n")
                self.assertIs(json.loads(ended.stdout)["complete"], False)

    def test_closed_standard_input_is_an_error_under_each_of_its_names(self):
        for name in ("", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "--files-from -", "--files-from /dev/stdin"):
            with self.subTest(name=name):
                ended = self.in_shell(f"--format json {name} <&-")
                self.assertEqual(ended.returncode, 1, ended)
                self.assertIn(b"standard input was not open when gpuhist was started: Bad file descriptor", ended.stderr)
                self.assertIs(json.loads(ended.stdout)["complete"], False)

    def test_an_output_descriptor_that_was_not_open_is_an_error_that_names_it(self):
        data = self.file("data", b"hello")
        for name, closed in (("fd:0", "<&-"), ("/dev/fd/0", "<&-"), ("fd:1", ">&-"), ("/dev/stdout", ">&-"), *((f"fd:{n}", "") for n in range(3, 16))):
            with self.subTest(name=name):
                ended = self.in_shell(f"-o {name} {data} {closed}")
                self.assertEqual((ended.returncode, ended.stderr.decode()), (1, f"gpuhist: cannot write {name}: Bad file descriptor\n"))

    def test_repack_refuses_a_descriptor_that_was_not_open(self):
        for name in ("-", "/dev/stdin", "/dev/fd/9"):
            command = f"exec {GPUHIST} repack {name} -o {self.folder / 'out.zst'} <&-"
            ended = subprocess.run(["sh", "-c", command], capture_output=True, timeout=PATIENCE)
            self.assertEqual(ended.returncode, 1, ended)
            self.assertIn(b"was not open when gpuhist was started", ended.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    main()
