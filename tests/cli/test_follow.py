"""--follow: files that grow, are truncated, recreated, or rotated by the real logrotate. No byte is counted twice, and
no byte is missed without a message."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from support import ALL_SCHEMES, GPUHIST, PATIENCE, CommandTest, Running, main, needs, run, text, tool, wait_until, zstd

FOLLOW = ("--follow", "--format", "json", *ALL_SCHEMES)


class FollowTest(CommandTest):
    def follow(self, *arguments, **popen):
        self.seen = self.folder / "seen.jsonl"
        return Running(*FOLLOW, "--snapshot-every", "20ms", "--append", "--output", self.seen, *arguments, **popen)

    def counted(self):
        """Bytes counted so far, from the last complete snapshot."""
        try:
            lines = self.seen.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return -1
        return json.loads(lines[-1])["bytes"] if lines else -1

    def wait_for(self, size):
        wait_until(lambda: self.counted() >= size)

    def holds(self, running, path):
        """Whether gpuhist has the file open."""
        for each in pathlib.Path(f"/proc/{running.process.pid}/fd").iterdir():
            try:
                if os.path.samefile(each, path):
                    return True
            except FileNotFoundError:  # it was closed meanwhile
                pass
        return False

    def suspend(self, running):
        running.process.send_signal(signal.SIGSTOP)
        status = pathlib.Path(f"/proc/{running.process.pid}/stat")
        wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")

    def stop(self, running, number=signal.SIGTERM, status=None):
        running.process.send_signal(number)
        ended = running.finish()
        self.assertEqual(ended.status, -number if status is None else status, ended)
        ended.stdout = self.seen.read_bytes()
        return ended

    def assert_all(self, ended, data):
        self.assertIs(ended.result["complete"], True, ended)
        self.assert_counts(ended.result, data)


class Follow(FollowTest):
    def test_bytes_appended_to_several_files_are_counted_until_a_signal(self):
        parts = [[text(50_000, 10 * file + step) for step in range(5)] for file in range(3)]
        paths = [self.file(f"{file}.log", part[0]) for file, part in enumerate(parts)]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for path, part in zip(paths, parts):
                path.write_bytes(part[0])
            with self.subTest(number=number), self.follow(*paths) as running:
                self.wait_for(150_000)
                for step in range(1, 5):
                    for path, part in zip(paths, parts):
                        with path.open("ab") as log:
                            log.write(part[step])
                    self.wait_for(150_000 * (step + 1))
                ended = self.stop(running, number)
                self.assert_all(ended, b"".join(b"".join(part) for part in parts))
                for reported, part in zip(ended.result["inputs"], parts):
                    self.assert_counts(reported, b"".join(part))
                self.seen.unlink()

    def test_bytes_written_before_the_signal_are_counted(self):
        path = self.file("a.log", b"")
        with self.follow(path) as running:
            self.wait_for(0)
            with path.open("ab") as log:
                log.write(text(3_000_000))
            self.assert_all(self.stop(running), text(3_000_000))

    def test_a_file_that_is_new_at_the_signal_is_counted(self):
        path = self.file("a.log", b"old\n")
        with self.follow(path) as running:
            self.wait_for(4)
            self.suspend(running)  # so that it cannot see the new file before the signal
            path.rename(self.folder / "a.log.1")
            path.write_bytes(b"a new file\n")
            running.process.terminate()
            self.assert_all(self.stop(running, signal.SIGCONT, -signal.SIGTERM), b"old\na new file\n")

    def test_bytes_written_after_the_signal_do_not_replace_bytes_written_before_it(self):
        path = self.file("a.log", b"old\n")
        with self.follow(path) as running, path.open("ab", buffering=0) as log:
            self.wait_for(4)
            path.rename(self.folder / "a.log.1")
            path.write_bytes(b"new\n")
            self.wait_for(8)
            self.suspend(running)
            log.write(b"to the old file\n")
            with path.open("ab") as new:
                new.write(b"to the new file\n")
            running.process.terminate()
            self.assert_all(self.stop(running, signal.SIGCONT, -signal.SIGTERM), b"old\nnew\nto the old file\nto the new file\n")

    def test_a_missing_file_is_waited_for(self):
        path = self.folder / "later.log"
        with self.follow(path) as running:
            wait_until(lambda: "later.log: no such file yet: waiting for it" in running.messages())
            path.write_bytes(b"there\n")
            self.wait_for(6)
            path.unlink()
            wait_until(lambda: "later.log: was removed or renamed: waiting for a new file" in running.messages())
            path.write_bytes(b"and again\n")
            self.wait_for(16)
            self.assert_all(self.stop(running), b"there\nand again\n")

    def test_files_are_polled_if_the_system_reports_no_changes(self):
        ask_for_none = "echo 0 > /proc/sys/user/max_inotify_instances"
        if subprocess.run(["unshare", "-Ur", "sh", "-c", ask_for_none], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no user namespace to be had, in which inotify could be refused")
        without = self.file("without", f"#!/bin/sh\nexec unshare -Ur sh -c '{ask_for_none}; exec \"$0\" \"$@\"' "
                            f"'{GPUHIST}' \"$@\"\n".encode())
        without.chmod(0o755)
        path = self.file("a.log", b"first\n")
        with self.follow(path, executable=without) as running:
            self.wait_for(6)
            with path.open("ab") as log:
                log.write(b"second\n")
            self.wait_for(13)
            path.rename(self.folder / "a.log.1")
            path.write_bytes(b"third\n")
            self.wait_for(19)
            self.assertNotIn("inotify", " ".join(os.readlink(each) for each in
                                                 pathlib.Path(f"/proc/{running.process.pid}/fd").iterdir()))
            self.assert_all(self.stop(running), b"first\nsecond\nthird\n")

    def test_a_truncation_is_reported(self):
        path = self.file("a.log", b"a first line\n")
        with self.follow(path) as running:
            self.wait_for(13)
            path.write_bytes(b"b\n")
            self.wait_for(15)
            ended = self.stop(running)
        self.assert_all(ended, b"a first line\nb\n")
        self.assertIn("a.log: was truncated after 13 bytes were counted", ended.stderr)

    def test_only_regular_text_files_are_followed(self):
        packed = self.file("a.zst", zstd(b"text"))
        good = self.file("b.log", b"good")
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with self.follow(packed, good, fifo) as running:
            self.wait_for(4)
            ended = self.stop(running)
        self.assertIs(ended.result["complete"], False)
        self.assert_counts(ended.result, b"good")
        reported = {pathlib.Path(each["name"]).name: each for each in ended.result["inputs"]}
        self.assertIn("is zstd: --follow counts only uncompressed text", reported["a.zst"]["error"])
        self.assertIn("is not a regular file", reported["fifo"]["error"])
        self.assertIs(reported["b.log"]["complete"], True)

    def test_a_run_in_which_no_file_can_be_followed_ends(self):
        ended = run(*FOLLOW, self.folder)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("is not a regular file", ended.stderr)

    def test_streams_are_not_followed(self):
        for arguments in ((), ("-",), ("-", "a.log")):
            ended = run("--follow", *arguments)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn("--follow: needs names of files", ended.stderr)


class Conditions(FollowTest):
    """Conditions on files that grow are checked against the counts so far."""

    def append(self, path, data):
        with path.open("ab") as log:
            log.write(data)

    def fired(self, running):
        return [line.split("' holds for ")[1] for line in running.messages().splitlines() if "' holds for " in line]

    def test_fail_fast_ends_the_run_when_the_counts_so_far_meet_the_condition(self):
        for snapshots in (("--snapshot-every", "10ms"), ("--snapshot-every", "10B"), ()):  # default: one a second
            path = self.file("a.log", b"letters\n" * 10)
            with self.subTest(snapshots=snapshots), Running(*FOLLOW, *snapshots, "--fail-fast", "--fail-if", "digit > 0.5", path) as running:
                self.append(path, b"1234567890" * 100)
                ended = running.finish()  # without a signal
                self.assertEqual(ended.status, 3, ended)
                self.assertEqual(ended.stderr.count("holds for"), 1)
                self.assertIn("ended by --fail-fast", ended.stderr)
                self.assert_counts(ended.result, b"letters\n" * 10 + b"1234567890" * 100)

    def test_an_alert_is_reported_at_once_and_again_only_after_the_condition_was_false(self):
        path, other = self.file("a.log", b"letters\n"), self.file("b.log", b"letters\n")
        with self.follow("--alert-if", "digit > 0.5", "--watch", "inputs", path, other) as running:
            self.wait_for(16)
            self.append(path, b"1" * 24)
            wait_until(lambda: len(self.fired(running)) == 1)
            self.append(path, b"2" * 100)
            self.wait_for(140)
            self.append(path, b"a" * 200)  # the condition becomes false
            self.wait_for(340)
            self.append(path, b"3" * 200)
            wait_until(lambda: len(self.fired(running)) == 2)
            self.append(other, b"4" * 10)
            wait_until(lambda: len(self.fired(running)) == 3)
            self.stop(running)
            self.assertEqual([each.split(", ")[0] for each in self.fired(running)], [str(path), str(path), str(other)])

    def test_a_condition_on_totals_is_reported_once_also_if_it_holds_at_the_end(self):
        paths = [self.file("a.log", b"123"), self.file("b.log", b"abc")]
        with self.follow("--fail-if", "bytes >= 6", *paths) as running:
            wait_until(lambda: self.fired(running))
            running.process.terminate()
            running.finish()
            self.assertEqual([each.split(", ")[0] for each in self.fired(running)], ["the totals"])


class StalledReader(FollowTest):
    def test_rotated_files_are_followed_while_the_reader_of_the_snapshots_stalls(self):
        read, write = os.pipe()
        os.set_blocking(write, False)
        try:
            while True:
                os.write(write, b"\n" * 4096)  # fills the pipe: no snapshot can be written
        except BlockingIOError:
            os.set_blocking(write, True)
        path = self.file("a.log", text(1000, 0))
        with Running(*FOLLOW, "--snapshot-every", "1ms", path, stdout=write) as running:
            os.close(write)
            for rotation in range(1, 8):
                wait_until(lambda: self.holds(running, path))
                path.rename(self.folder / f"a.log.{rotation}")
                path.write_bytes(text(1000 * rotation, rotation))
            wait_until(lambda: self.holds(running, path))
            lines = []

            def read_lines():
                with os.fdopen(read, "rb") as snapshots:
                    lines.extend(snapshots.read().splitlines())

            reading = threading.Thread(target=read_lines)
            reading.start()
            running.process.terminate()
            ended = running.finish()
            reading.join()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assert_counts(json.loads(lines[-1]), b"".join(text(1000 * max(rotation, 1), rotation) for rotation in range(8)))


class ManyRotations(FollowTest):
    def assert_all_or_reported(self, path, begin):
        """Either all bytes are counted, or a message says that some may be missing. `begin` creates the first file."""
        (self.folder / "old").mkdir()
        parts = [text(100 + rotation, rotation) for rotation in range(200)]
        with Running("--follow", "--format", "json", path) as running:
            begin(running, parts[0])
            wait_until(lambda: self.holds(running, path))
            for rotation, part in enumerate(parts[1:]):  # faster than gpuhist can look
                path.rename(self.folder / "old" / str(rotation))
                self.file("a.log.new", part).rename(path)
            wait_until(lambda: self.holds(running, path))
            running.process.terminate()
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        is_reported = f"{path}: was replaced" in ended.stderr
        self.assertEqual(is_reported, ended.result["bytes"] < sum(map(len, parts)), ended)

    def test_every_rotated_file_is_counted_or_a_message_says_that_some_may_be_missing(self):
        path = self.file("a.log", b"")
        self.assert_all_or_reported(path, lambda _, first: path.write_bytes(first))

    def test_the_same_holds_in_a_folder_that_is_created_later(self):
        path = self.folder / "later" / "a.log"

        def begin(running, first):
            wait_until(lambda: "no such file yet" in running.messages())
            path.parent.mkdir()
            path.write_bytes(first)

        self.assert_all_or_reported(path, begin)


class Writer(threading.Thread):
    """Writes lines continuously, and reopens its log on request, as daemons do on a signal."""

    def __init__(self, path, reopen_request):
        super().__init__()
        self.path, self.reopen_request = path, reopen_request
        self.lines = 0
        self.paused = self.ended = False
        self.rests = threading.Event()

    @staticmethod
    def block(first):
        return b"".join(b"%08d a line of the log, with some text in it\n" % number for number in range(first, first + 100))

    def run(self):
        log = open(self.path, "ab", buffering=0)
        while not self.ended:
            if self.reopen_request.exists():
                log.close()
                log = open(self.path, "ab", buffering=0)
                self.reopen_request.unlink()
            if self.paused:
                self.rests.set()
                time.sleep(0.001)
                continue
            self.rests.clear()
            log.write(self.block(self.lines))
            self.lines += 100
            time.sleep(0.001)  # gives gpuhist under a sanitizer, logrotate's gzip and the oracle time to keep up
        log.close()

    def size(self):
        return len(self.block(0)) // 100 * self.lines

    def written(self):
        return b"".join(self.block(first) for first in range(0, self.lines, 100))


@needs("logrotate")
class Rotation(FollowTest):
    def rotate(self, path, reopen_request, *directives):
        config = self.folder / "logrotate.conf"
        lines = "\n".join(("rotate 3", "nomail", "su root root" if os.geteuid() == 0 else "", *directives))
        config.write_text(f"{path} {{\n{lines}\npostrotate\ntouch {reopen_request}\nendscript\n}}\n")
        os.chmod(config, 0o644)
        subprocess.run([tool("logrotate"), "-f", "-s", self.folder / "state", config], check=True)

    def under_rotation(self, directives, pause=False):
        (self.folder / "log").mkdir(mode=0o755)
        path = self.folder / "log" / "app.log"
        reopen_request = self.folder / "reopen"
        path.write_bytes(b"")
        writer = Writer(path, reopen_request)
        with self.follow(path) as running:
            wait_until(lambda: self.holds(running, path))  # a file that was renamed before this is not counted
            writer.start()
            try:
                for rotation in range(6):
                    enough = writer.lines + 1000
                    wait_until(lambda: writer.lines >= enough)
                    if pause:  # logrotate loses bytes that are written while it copies and truncates the file
                        writer.paused = True
                        self.assertTrue(writer.rests.wait(PATIENCE))
                        self.wait_for(writer.size())
                    self.rotate(path, reopen_request, *directives)
                    if pause:
                        writer.paused = False
                    else:
                        wait_until(lambda: not reopen_request.exists())
                        # a log that is renamed twice between two looks is missed: wait until gpuhist has opened it
                        self.wait_for(writer.size() + len(writer.block(0)))
            finally:
                writer.ended = True
                writer.join()
            self.wait_for(writer.size())
            ended = self.stop(running)
        self.assert_all(ended, writer.written())

    def test_logs_that_logrotate_recreates_are_counted(self):
        self.under_rotation(["create"])

    def test_logs_that_logrotate_recreates_and_compresses_are_counted(self):
        self.under_rotation(["create", "compress", "delaycompress"])

    def test_logs_that_the_daemon_recreates_are_counted(self):
        self.under_rotation(["nocreate"])

    def test_logs_that_logrotate_moves_to_another_folder_are_counted(self):
        (self.folder / "old").mkdir()
        self.under_rotation(["create", f"olddir {self.folder / 'old'}"])

    def test_logs_that_logrotate_copies_and_truncates_are_counted(self):
        self.under_rotation(["copytruncate"], pause=True)


class FollowedTrees(FollowTest):
    """Files below directories: every line that is written is counted once, under the name that its file had first."""

    def setUp(self):
        super().setUp()
        self.tree = self.folder / "logs"
        (self.tree / "web").mkdir(parents=True)

    def write(self, name, data):
        path = self.tree / name
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as log:
            log.write(data)
        return path

    def by_name(self, result):
        return {os.path.relpath(each["name"], self.tree): each["bytes"] for each in result["inputs"]}

    def test_files_that_appear_are_followed_from_their_beginning(self):
        self.write("a.log", b"one\n")
        with self.follow("-r", self.tree) as running:
            self.wait_for(4)
            self.write("web/b.log", b"two\n")
            self.wait_for(8)
            self.write("new/folder.log", b"three\n")
            self.wait_for(14)
            self.write("a.log", b"four\n")
            self.write("new/folder.log", b"five\n")
            self.wait_for(24)
            ended = self.stop(running)
        self.assert_all(ended, b"one\ntwo\nthree\nfour\nfive\n")
        self.assertEqual(self.by_name(ended.result), {"a.log": 9, "web/b.log": 4, "new/folder.log": 11})

    def test_patterns_select_the_files_that_are_followed_and_named_files_are_followed_besides(self):
        other = self.file("other.txt", b"named\n")
        with self.follow("-r", "--include", "*.log", "--exclude", "web/", self.tree, other) as running:
            self.wait_for(6)
            for name in ("a.txt", "web/b.log"):
                self.write(name, b"not counted\n")
            self.write("c.log", b"counted\n")
            self.wait_for(14)
            ended = self.stop(running)
        self.assert_all(ended, b"named\ncounted\n")
        self.assertEqual(len(ended.result["inputs"]), 2)

    def test_a_file_that_is_new_at_the_signal_is_counted(self):
        self.write("a.log", b"one\n")
        with self.follow("-r", self.tree) as running:
            self.wait_for(4)
            self.suspend(running)
            self.write("web/b.log", b"new\n")
            running.process.terminate()
            self.assert_all(self.stop(running, signal.SIGCONT, -signal.SIGTERM), b"one\nnew\n")

    def test_renamed_logs_are_counted_once_also_if_each_name_gets_the_file_of_another_log(self):
        names = [self.tree / f"app.log{suffix}" for suffix in ("", ".1", ".2", ".3")]
        names[1].write_bytes(b"older\n")
        names[0].write_bytes(b"first 0\n")
        written = b"older\nfirst 0\n"
        with self.follow("-r", self.tree) as running:
            self.wait_for(len(written))
            for number in range(1, 6):
                names[3].unlink(missing_ok=True)
                for older, newer in ((3, 2), (2, 1), (1, 0)):
                    if names[newer].exists():
                        names[newer].rename(names[older])
                with names[1].open("ab") as late:  # the writer has not opened its log again
                    late.write(b"late %d\n" % number)
                names[0].write_bytes(b"first %d\n" % number)
                written += b"late %d\nfirst %d\n" % (number, number)
                self.wait_for(len(written))
            ended = self.stop(running)
        self.assert_all(ended, written)

    def test_a_copy_of_a_log_that_is_truncated_then_is_not_counted_again(self):
        log = self.write("app.log", text(50_000))
        written = text(50_000)
        with self.follow("-r", self.tree) as running:
            self.wait_for(50_000)
            for number in range(1, 4):
                copy = self.tree / f"app.log-{number}"
                copy.write_bytes(log.read_bytes())
                wait_until(lambda: f"app.log-{number}: is a copy of text that was counted" in running.messages())
                os.truncate(log, 0)
                wait_until(lambda: running.messages().count("app.log: was truncated after") == number)
                self.write("app.log", text(30_000, number))
                written += text(30_000, number)
                self.wait_for(len(written))
            ended = self.stop(running)
        self.assert_all(ended, written)
        self.assertEqual(list(self.by_name(ended.result)), ["app.log"])

    def test_compressed_logs_are_named_once_and_not_followed(self):
        self.write("a.log", b"one\n")
        self.write("a.log.1.gz", b"not read\n")
        with self.follow("-r", self.tree) as running:
            self.wait_for(4)
            self.write("a.log.2.zst", b"not read\n")
            wait_until(lambda: "a.log.2.zst: is compressed, by its name" in running.messages())
            ended = self.stop(running)
        self.assert_all(ended, b"one\n")
        self.assertEqual(ended.stderr.count("a.log.1.gz"), 1)

    def test_links_are_skipped_and_a_missing_file_of_the_tree_is_no_failure(self):
        path = self.write("a.log", b"one\n")
        (self.tree / "link.log").symlink_to(path)
        with self.follow("-r", self.tree) as running:
            self.wait_for(4)
            path.unlink()
            wait_until(lambda: "a.log: was removed or renamed" in running.messages())
            self.write("a.log", b"again\n")
            self.wait_for(10)
            ended = self.stop(running)
        self.assert_all(ended, b"one\nagain\n")
        self.assertEqual(ended.result["skipped_by_cause"], {"symbolic link": 1})

    def test_lines_of_new_files_are_counted_by_what_they_have(self):
        self.write("a.log", b"ERROR one\n")
        with self.follow("-r", "--match", "error=ERROR", "--group-by", "name", self.tree) as running:
            self.wait_for(10)
            path = self.write("web/b.log", b"ERROR two\nINFO three\n")
            self.wait_for(31)
            ended = self.stop(running)
        self.assertEqual(ended.result["matches"]["error"]["lines"], 2)
        self.assertEqual([(each["key"], each["lines"]) for each in ended.result["groups"]], [(str(path), 2), (str(self.tree / "a.log"), 1)])

    @needs("logrotate")
    def test_a_tree_under_logrotate_is_counted_once(self):
        config = self.folder / "logrotate.conf"
        os.chmod(self.tree, 0o755)
        log = self.write("app.log", b"line 0\n")
        for directive in ("create", "copytruncate"):
            with self.subTest(directive=directive), self.follow("-r", self.tree) as running:
                self.wait_for(sum(path.stat().st_size for path in self.tree.rglob("*.log*")))
                before = self.counted()
                for number in range(3):
                    config.write_text(f"{log} {{\nrotate 4\nnomail\n{'su root root' if os.geteuid() == 0 else ''}\n{directive}\n}}\n")
                    os.chmod(config, 0o644)
                    subprocess.run([tool("logrotate"), "-f", "-s", self.folder / "state", config], check=True)
                    added = text(5_000, number + len(directive))
                    self.write("app.log", added)
                    before += len(added)
                    self.wait_for(before)
                ended = self.stop(running)
            self.assertEqual(ended.result["bytes"], before)
            self.seen.unlink()


if __name__ == "__main__":
    main()
