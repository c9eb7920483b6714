"""Signals: a run that is ended by a signal writes its report, and the process ends by that signal, as shells expect."""

import contextlib
import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import threading
import time
import unittest

from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, THREAD_SANITIZED, CommandTest, Running, feed, main, run, text, unread, wait_until, zstd

JSON = ("--format", "json", *ALL_SCHEMES)
REPEATS = int(os.environ.get("TEST_REPEATS", "4"))  # runs that write a report; the long suite has a hundred

# A thread sanitizer runs a handler at the next intercepted call of the C library, or at once in calls that it knows to
# block, such as poll(). read() and write() are not among these: a thread that blocks in write() is never interrupted.
not_while_writing = unittest.skipIf(THREAD_SANITIZED, "the thread sanitizer calls no handler while a thread waits in write()")


class Signals(CommandTest):
    def test_a_signal_while_a_pipe_stalls_gives_a_report_of_all_bytes_that_arrived(self):
        data = text(300_000)
        for number in (signal.SIGINT, signal.SIGTERM):
            for options in ((), ("--chunk-size", "10000")):
                with self.subTest(number=number, options=options), Running(*JSON, *options, stdin=subprocess.PIPE) as running:
                    feed(running, [data])
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                    running.process.send_signal(number)
                    ended = running.finish()
                    self.assertEqual(ended.status, -number, ended)
                    self.assertIs(ended.result["complete"], False)
                    self.assert_counts(ended.result, data)

    def test_a_signal_in_the_middle_of_a_fast_pipe_gives_a_report_of_exactly_a_prefix(self):
        period = bytes(range(1, 252))  # 251 different values: every prefix has different counts
        block = period * 4000
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number), Running(*JSON, stdin=subprocess.PIPE) as running:
                enough = threading.Event()

                def pour():
                    try:
                        for sent in range(1_000_000):
                            feed(running, [block])
                            if sent == 20:
                                enough.set()
                    except BrokenPipeError:
                        pass

                pouring = threading.Thread(target=pour)
                pouring.start()
                self.assertTrue(enough.wait(PATIENCE))
                running.process.send_signal(number)
                ended = running.finish()
                running.process.stdin.close() if not pouring.is_alive() else pouring.join()
                self.assertEqual(ended.status, -number, ended)
                self.assertIs(ended.result["complete"], False)
                whole, part = divmod(ended.result["bytes"], len(period))
                self.assertGreater(whole, 0)
                counts = ended.result["buckets"]["bytes"]
                for value in range(256):
                    expected = 0 if value not in period else whole + (period.index(value) < part)
                    self.assertEqual(counts[f"0x{value:02x}"], expected)

    def test_a_signal_in_the_middle_of_many_files_gives_a_report_of_exactly_a_prefix_of_each(self):
        data = text(6_000_000, 3)
        paths = [self.file("data", data)] * 200
        with Running(*JSON, "--snapshot-every", "20ms", *paths, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            while json.loads(running.process.stdout.readline())["bytes"] == 0:
                pass  # waits until chunks are counted; standard input, which stays open, keeps the run from ending
            running.process.send_signal(signal.SIGINT)
            result = json.loads(running.process.stdout.readlines()[-1])
            self.assertEqual(running.finish().status, -signal.SIGINT)
        self.assertIs(result["complete"], False)
        self.assertEqual(result["bytes"], sum(each["bytes"] for each in result["inputs"]))
        for size in {each["bytes"] for each in result["inputs"]}:
            alike = [each for each in result["inputs"] if each["bytes"] == size]
            self.assert_counts(alike[0], data[:size])
            for each in alike:
                self.assertEqual(each["buckets"], alike[0]["buckets"])
        for each in result["inputs"]:
            self.assertIs(each["complete"], each["bytes"] == len(data))

    def test_a_signal_before_any_data_gives_an_empty_report(self):
        with Running(*JSON, stdin=subprocess.PIPE) as running:
            feed(running, [b"x"])  # after this is read, the run has begun
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM)
        self.assert_counts(ended.result, b"x")

    def test_a_stream_that_never_waits_does_not_delay_the_signal(self):
        for path in ("/dev/zero", "/dev/urandom"):
            with self.subTest(path=path), Running(*JSON, "--snapshot-every", "10ms", path, stdout=subprocess.PIPE) as running:
                self.assertIn(b'"snapshot"', running.process.stdout.readline())  # timers are served meanwhile
                running.process.send_signal(signal.SIGINT)
                rest = running.process.stdout.read().splitlines()
                self.assertEqual(running.process.wait(PATIENCE), -signal.SIGINT)
                self.assertGreater(json.loads(rest[-1])["bytes"], 0)

    def test_repeated_signals_end_the_process_although_no_reader_takes_its_snapshots(self):
        with Running(*JSON, "--snapshot-every", "1ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            full = fcntl.fcntl(running.process.stdout.fileno(), fcntl.F_GETPIPE_SZ) // 2
            wait_until(lambda: unread(running.process.stdout.fileno()) > full)
            self.signal_until_ended(running, signal.SIGTERM)

    def test_a_closed_pipe_is_an_error_if_the_parent_ignores_sigpipe(self):
        command = f"trap '' PIPE; {GPUHIST} --engine {ENGINE} {self.file('data', b'x')} 2>&1 >&3 | cat; echo ${{PIPESTATUS[0]}}"
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, pass_fds=(), stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: os.dup2(writer, 3), close_fds=False)
        os.close(writer)
        self.assertIn(b"Broken pipe", ended.stdout)
        self.assertTrue(ended.stdout.endswith(b"\n1\n"), ended.stdout)

    def test_a_signal_inside_an_archive_leaves_its_open_frame_unverified(self):
        first, second = text(100_000, 1), text(100_000, 2)
        encoded = zstd(first) + zstd(second)
        with Running(*JSON, "--snapshot-every", "20ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [encoded[:-4]])
            reached = 0
            while reached <= len(first):  # bytes that were read may not be decoded yet
                printed = json.loads(running.process.stdout.readline())["inputs"]  # may be empty at first
                reached = sum(each["prefix_bytes"] for each in printed)
            running.process.send_signal(signal.SIGINT)
            result = json.loads(running.process.stdout.readlines()[-1])
            self.assertEqual(running.finish().status, -signal.SIGINT)
        self.assert_counts(result, first)
        self.assertGreaterEqual(result["unverified"]["bytes"], reached - len(first))
        self.assert_counts(result["unverified"], second[: result["unverified"]["bytes"]])

    def test_inputs_after_the_interrupted_one_are_not_complete(self):
        after = self.file("after", text(1000))
        with Running(*JSON, "-", after, stdin=subprocess.PIPE) as running:
            feed(running, [b"before the signal"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGINT)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGINT)
        self.assertIs(ended.result["inputs"][0]["complete"], False)
        self.assert_counts(ended.result["inputs"][0], b"before the signal")

    def test_the_report_of_an_interrupted_run_is_written_to_the_output(self):
        to = self.folder / "result.json"
        with Running(*JSON, "-o", to, stdin=subprocess.PIPE) as running:
            feed(running, [b"hello"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGTERM)
            self.assertEqual(running.finish().status, -signal.SIGTERM)
        self.assertIn(b'"complete":false', to.read_bytes())

    @not_while_writing
    def test_repeated_signals_end_the_process_although_the_report_cannot_be_written(self):
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writing, True)
        with Running(*JSON, stdin=subprocess.PIPE, stdout=writing) as running:
            feed(running, [b"hello"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            self.signal_until_ended(running, signal.SIGINT)
        os.close(reading)
        os.close(writing)

    def test_a_signal_that_the_parent_ignores_is_ignored(self):
        with Running(*JSON, stdin=subprocess.PIPE, sigint=signal.SIG_IGN) as running:
            feed(running, [b"hello "])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGINT)
            feed(running, [b"world"])
            running.process.stdin.close()
            self.assert_counted(running.finish(), b"hello world")

    def test_a_consumer_that_closes_the_pipe_ends_the_process_by_sigpipe_without_a_message(self):
        reading, writing = os.pipe()
        os.close(reading)
        ended = run(*JSON, self.file("data", b"hello"), stdout=writing)
        os.close(writing)
        self.assertEqual((ended.status, ended.stderr), (-signal.SIGPIPE, ""))

    def test_a_signal_leaves_the_flags_of_a_shared_pipe_unchanged(self):
        reading, writing = os.pipe()
        before = fcntl.fcntl(reading, fcntl.F_GETFL)
        with Running(*JSON, stdin=reading) as running:
            os.write(writing, b"the first part")
            wait_until(lambda: unread(writing) == 0)
            running.process.send_signal(signal.SIGINT)
            self.assertEqual(running.finish().status, -signal.SIGINT)
        self.assertEqual(fcntl.fcntl(reading, fcntl.F_GETFL), before)
        os.close(reading)
        os.close(writing)

    def test_sigusr1_prints_a_line_with_the_bytes_so_far_and_counting_continues(self):
        for arguments in ((), ("-q",), ("--snapshot-every", "50ms", "-o", "/dev/null")):
            with self.subTest(arguments=arguments), Running(*JSON, *arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
                sent = 0
                for piece in (b"\n", text(300_000), text(4_000_000)):  # no archive begins with a newline: it is counted at once
                    feed(running, [piece])
                    sent += len(piece)
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                    plural = "" if sent == 1 else "s"
                    printed = ""
                    while f"{sent:,} byte{plural} counted" not in printed:  # bytes that were read may not be in a slot yet
                        running.process.send_signal(signal.SIGUSR1)
                        printed = running.process.stderr.readline().decode()
                        self.assertTrue(printed.endswith("/s\n"), printed)
                    self.assertRegex(
                        printed,
                        rf"^gpuhist: {sent:,} byte{plural} counted, {sent:,} byte{plural} read, [0-9.]+ s, [0-9,]+ bytes?/s\n$")
                running.process.stdin.close()
                self.assertEqual(running.process.stderr.read(), b"")
                ended = running.finish()
                self.assertEqual(ended.status, 0)
                if ended.stdout:
                    self.assert_counts(ended.result, b"\n" + text(300_000) + text(4_000_000))

    def test_sigusr1_never_ends_the_process_however_early_and_often_it_is_sent(self):
        data = self.file("data", text(3_000_000))
        for _ in range(5):
            with Running(*JSON, "--chunk-size", "64", data) as running:
                # sent after the signal is handled or blocked; before that, it ends the process like any other program
                wait_until(lambda: running.process.poll() is not None or self.holds_back(running.process.pid, signal.SIGUSR1))
                while running.process.poll() is None:
                    running.process.send_signal(signal.SIGUSR1)
                ended = running.finish()
            self.assertEqual(ended.status, 0, ended)
            self.assert_counts(ended.result, text(3_000_000))
            for line in ended.stderr.splitlines():
                self.assertRegex(line, r"^gpuhist: [\d,]+ bytes? counted, ")

    def test_a_signal_while_the_settings_are_read_is_handled_like_one_during_the_run(self):
        data, settings = self.file("data", text(3000)), self.folder / "settings"
        os.mkfifo(settings)
        for number, status in ((signal.SIGUSR1, 0), (signal.SIGTERM, -signal.SIGTERM)):
            with self.subTest(number=number), Running(*JSON, "--config", settings, data) as running:
                writer = self.open_for_its_reader(settings)
                running.process.send_signal(number)
                with contextlib.suppress(BrokenPipeError):  # SIGTERM may have ended the program by now
                    os.write(writer, b"threads = 1\n")
                os.close(writer)
                ended = running.finish()
                self.assertEqual(ended.status, status, ended)
                if not status:
                    self.assert_counts(ended.result, text(3000))

    def open_for_its_reader(self, fifo):
        """A descriptor for writing, returned when the program has opened the FIFO: the program then waits in read()."""

        found = []

        def opened():
            try:
                found.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # the FIFO has no reader yet
                pass
            return found

        wait_until(opened)
        return found[0]

    def signal_until_ended(self, running, number):
        """Repeats within a second after the first signal belong to it; a later repeat ends the process."""

        def has_ended():
            running.process.send_signal(number)
            return running.process.poll() is not None

        wait_until(has_ended)
        self.assertEqual(running.finish().status, -number)

    def test_the_same_request_twice_still_gives_a_report(self):
        """`timeout`, service managers and schedulers send a signal to the process and then to its group."""
        listed = self.file("listed", text(1000))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for repeat in range(REPEATS):
                to = self.folder / f"{number}-{repeat}.json"
                with self.subTest(to=to), Running(*JSON, "--files-from", "-", "-o", to, stdin=subprocess.PIPE, start_new_session=True) as running:
                    feed(running, [os.fsencode(listed) + b"\n"])
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                    for each in (number, signal.SIGCONT):  # as GNU timeout does
                        running.process.send_signal(each)
                        with contextlib.suppress(ProcessLookupError):  # send_signal() may have reaped it
                            os.killpg(running.process.pid, each)
                    ended = running.finish()
                    self.assertEqual(ended.status, -number, ended)
                    self.assertIs(json.loads(to.read_bytes())["complete"], False)
        self.assertEqual(len(list(self.folder.iterdir())), 1 + 3 * REPEATS)

    def test_every_run_that_timeout_ends_leaves_its_report(self):
        """Checked only for runs that have begun, which have read their list from the pipe. On a busy machine `timeout` may
        send the signal earlier. Such a run leaves a report or nothing, is not counted, and the next runs get more time."""
        seconds, remaining = 0.3, REPEATS
        listed, to = self.file("listed", text(1000)), self.folder / "result.json"
        while remaining > 0:
            reading, writing = os.pipe()
            os.write(writing, os.fsencode(listed) + b"\n")
            ended = subprocess.run(["timeout", str(seconds), GPUHIST, "--engine", ENGINE, *JSON, "--files-from", "-", "-o", to],
                                   stdin=reading, capture_output=True, timeout=PATIENCE)
            has_begun = unread(reading) == 0
            os.close(reading)
            os.close(writing)
            self.assertEqual(ended.returncode, 124, ended)
            if has_begun or to.exists():
                self.assertIs(json.loads(to.read_bytes())["complete"], False)
                to.unlink()
            self.assertEqual(list(self.folder.iterdir()), [listed])
            if has_begun:
                remaining -= 1
            else:
                seconds *= 2
                self.assertLess(seconds, PATIENCE, "it does not begin")

    def test_a_signal_while_the_report_is_written_does_not_truncate_it(self):
        """A full FIFO blocks the writing."""
        paths = [self.file(f"{number}", text(100, number)) for number in range(40)]
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for number in (signal.SIGTERM, signal.SIGINT):
            reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            capacity = fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)
            with self.subTest(number=number), Running(*JSON, "-o", fifo, *paths) as running:
                wait_until(lambda: unread(reading) == capacity)
                for _ in range(2):
                    running.process.send_signal(number)
                os.set_blocking(reading, True)
                with open(reading, "rb") as written:
                    lines = [json.loads(line) for line in written]
                ended = running.finish()
            self.assertEqual(ended.status, -number, ended)
            self.assertIn("after the report was written", ended.stderr)
            self.assertEqual([line["kind"] for line in lines], ["result"])
            self.assertIs(lines[-1]["complete"], True)

    def test_a_signal_while_report_writes_its_record_does_not_truncate_it(self):
        """A full FIFO blocks the writing."""
        result = self.file("kept.json", run(*JSON, "--byte-counts", *[self.file(f"{number}", text(100, number)) for number in range(40)]).stdout)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            capacity = fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)
            with self.subTest(number=number), Running("report", "--format", "jsonl", *ALL_SCHEMES, "--append", "-o", fifo, result, engine=None) as running:
                wait_until(lambda: unread(reading) == capacity or running.process.poll() is not None)
                for _ in range(2):
                    running.process.send_signal(number)
                time.sleep(0.1)  # time for a process that ends at once, and so leaves only the part that is in the FIFO
                os.set_blocking(reading, True)
                with open(reading, "rb") as written:
                    lines = [json.loads(line) for line in written]
                ended = running.finish()
                self.assertEqual([line["kind"] for line in lines], ["input"] * 40 + ["result"])
                self.assertEqual(ended.status, -number, ended)
                self.assertEqual(ended.stderr, f"gpuhist: ended by {signal.Signals(number).name}, after the report was written\n")

    def test_a_record_that_waits_for_a_lock_at_a_signal_is_appended_as_a_whole(self):
        log = self.file("log.jsonl", b'{"old":1}\n')
        with open(log, "r+b") as lock_file:
            fcntl.lockf(lock_file, fcntl.LOCK_EX)
            options = ("--append", "--format", "jsonl", "-o", log, self.file("data", b"hello"))
            with Running(*JSON, *options, engine="host") as running:  # host: the driver of a device would sleep, too
                wait_until(lambda: running.waits_for_a_lock() or running.process.poll() is not None)
                for _ in range(2):
                    running.process.send_signal(signal.SIGTERM)
                fcntl.lockf(lock_file, fcntl.LOCK_UN)
                ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assertEqual([json.loads(line).get("kind") for line in log.read_bytes().splitlines()], [None, "input", "result"])

    def test_a_signal_ends_the_wait_for_a_lock_that_another_process_keeps(self):
        result = self.file("kept.json", run(*JSON, "--byte-counts", self.file("data", b"hello")).stdout)
        log = self.file("log.jsonl", b'{"old":1}\n')
        with open(log, "r+b") as lock_file:
            fcntl.lockf(lock_file, fcntl.LOCK_EX)
            to = ("--append", "--format", "jsonl", "-o", log)
            counting = Running(*JSON, *to, self.folder / "data", engine="host")  # host: as above
            with counting, Running("report", *to, result, engine=None) as reporting:
                for running in (counting, reporting):
                    wait_until(lambda: running.waits_for_a_lock() or running.process.poll() is not None)
                    running.process.send_signal(signal.SIGTERM)
                for running in (counting, reporting):
                    ended = running.finish()
                    self.assertEqual(ended.status, -signal.SIGTERM, ended)
                    self.assertEqual(ended.stderr, f"gpuhist: cannot write {log}: it is still locked by another process 5 seconds "
                                     "after SIGTERM (lslocks shows which); end that process and run again\n")  # fmt: skip
        self.assertEqual(log.read_bytes(), b'{"old":1}\n')

    @not_while_writing
    def test_a_process_that_repeated_signals_end_leaves_no_temporary_file(self):
        """The message that is printed before the report blocks on a full pipe."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            while True:
                os.write(writing, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writing, True)
        to = self.folder / "result.json"
        with Running(*JSON, "-o", to, stdin=subprocess.PIPE, stderr=writing) as running:
            feed(running, [b"hello"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            self.assertEqual(len(list(self.folder.iterdir())), 1)
            self.signal_until_ended(running, signal.SIGTERM)
        self.assertEqual(list(self.folder.iterdir()), [])
        os.close(reading)
        os.close(writing)

    def test_signals_without_a_report_leave_no_temporary_file(self):
        to = self.folder / "result.json"
        names = ("SIGQUIT", "SIGXCPU", "SIGALRM", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR")
        for name, number in [*((each, signal.Signals[each]) for each in names), ("SIGSTKFLT", 16)]:
            with self.subTest(signal=name), Running(*JSON, "-o", to, stdin=subprocess.PIPE, cwd=self.folder) as running:
                feed(running, [b"hello"])
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                self.assertEqual(len(list(self.folder.iterdir())), 1)
                resource.prlimit(running.process.pid, resource.RLIMIT_CORE, (0, 0))
                running.process.send_signal(number)
                ended = running.finish()
                self.assertEqual((ended.status, ended.stderr), (-number, ""), ended)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_signal_without_a_report_is_ignored_if_the_parent_ignores_it(self):
        command = f"trap '' QUIT USR2; exec {GPUHIST} --engine {ENGINE} --format json"
        with subprocess.Popen(["bash", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            os.write(process.stdin.fileno(), b"hello ")
            wait_until(lambda: unread(process.stdin.fileno()) == 0)
            for number in (signal.SIGQUIT, signal.SIGUSR2):
                process.send_signal(number)
            printed, _ = process.communicate(b"world", PATIENCE)
        self.assertEqual((process.returncode, json.loads(printed)["bytes"]), (0, 11))

    def test_a_signal_at_any_moment_of_the_start_leaves_a_report_or_nothing(self):
        data = self.file("data", text(1000))
        to = self.folder / "result.json"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for step in range(0, 25, 3):
                with Running(*JSON, "--snapshot-every", "1h", "-o", to, data, "-", stdin=subprocess.PIPE) as running:
                    until = time.monotonic() + step / 1000
                    while time.monotonic() < until:
                        pass
                    running.process.send_signal(number)
                    status = running.process.wait(PATIENCE)
                self.assertEqual(status, -number)
                remaining = [each.name for each in self.folder.iterdir() if each != data]
                self.assertIn(remaining, ([], ["result.json"]))
                if to.exists():
                    report = to.read_bytes()
                    if report:  # an output file with snapshots exists from the start
                        self.assertIs(json.loads(report.splitlines()[-1])["complete"], False)
                    to.unlink()

    def test_a_signal_at_any_moment_of_a_run_leaves_a_complete_report_or_the_old_one(self):
        data = self.file("data", text(1000))
        to = self.file("result.json", b"old")
        for step in range(0, 60, 2):
            with Running(*JSON, "-o", to, data) as running:
                until = time.monotonic() + step / 3000
                while time.monotonic() < until:
                    pass
                running.process.send_signal(signal.SIGTERM)
                self.assertIn(running.process.wait(PATIENCE), (0, -signal.SIGTERM))
            self.assertEqual({each.name for each in self.folder.iterdir()}, {"data", "result.json"})
            if to.read_bytes() != b"old":
                self.assertIn("complete", json.loads(to.read_bytes()))
                to.write_bytes(b"old")

    def test_sigusr1_does_not_end_other_commands(self):
        result = run("--byte-counts", "--format", "json", stdin_bytes=b"hello").stdout
        with Running("report", "--format", "json", engine=None, stdin=subprocess.PIPE) as running:
            feed(running, [result[:10]])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGUSR1)
            feed(running, [result[10:]])
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual((ended.status, ended.result["bytes"]), (0, 5), ended)

    def test_reaching_the_file_size_limit_is_a_write_error(self):
        paths = [self.file(f"{number}", text(100, number)) for number in range(10)]
        for options in ((), ("--append", "--format", "jsonl"), ("--snapshot-every", "1h", "--format", "jsonl")):
            to = self.file("result", b"")
            command = ["bash", "-c", 'ulimit -f 4; exec "$@"', "sh", GPUHIST, "--engine", ENGINE, *JSON, *options, "-o", to, *paths]
            with self.subTest(options=options):
                ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
                self.assertEqual(ended.returncode, 1, ended)
                self.assertEqual(ended.stderr.decode(), f"gpuhist: cannot write {to}: File too large\n")
            self.assertEqual({each.name for each in self.folder.iterdir()}, {"result", *map(str, range(10))})

    def holds_back(self, process, number):
        try:
            status = pathlib.Path(f"/proc/{process}/status").read_text()
        except FileNotFoundError:
            return False
        return int(status.split("SigBlk:")[1].split()[0], 16) >> (number - 1) & 1 == 1

    def test_sigusr1_is_ignored_if_the_parent_ignores_it(self):
        command = f"trap '' USR1; exec {GPUHIST} --engine {ENGINE} --format json"
        with subprocess.Popen(["bash", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            os.write(process.stdin.fileno(), b"hello ")
            wait_until(lambda: unread(process.stdin.fileno()) == 0)
            process.send_signal(signal.SIGUSR1)
            printed, messages = process.communicate(b"world", PATIENCE)
        self.assertEqual((process.returncode, messages, json.loads(printed)["bytes"]), (0, b"", 11))

    def test_sigusr1_after_a_signal_that_ends_the_run_has_no_effect(self):
        with Running(*JSON, stdin=subprocess.PIPE) as running:
            feed(running, [b"hello"])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.process.send_signal(signal.SIGTERM)
            while running.process.poll() is None:
                running.process.send_signal(signal.SIGUSR1)
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assert_counts(ended.result, b"hello")


if __name__ == "__main__":
    main()
