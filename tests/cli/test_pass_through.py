"""--pass-through: gpuhist as a stage of another pipeline. Every byte comes out as it went in, in order and at once, also
if it cannot be counted. The report is written elsewhere."""

import contextlib
import fcntl
import gzip
import hashlib
import json
import lzma
import os
import pty
import random
import re
import select
import signal
import socket
import subprocess
import threading
import time
import tty

from packers import FORMATS
from support import ALL_SCHEMES, ENGINE, GPUHIST, PATIENCE, SANITIZED, CommandTest, Running, feed, file_size_limit, main, noise, remarks, tar, text, unread, wait_until, zipped, zstd

PIPE_BYTES = 1 << 20  # the size to which gpuhist enlarges pipes
COMPRESSED = {"zst": zstd, "gz": gzip.compress, "xz": lzma.compress}


def read_within(descriptor, size):
    """The next `size` bytes; fewer at the end of the stream, or if they do not arrive in time."""
    received = b""
    while len(received) < size and select.select([descriptor], [], [], PATIENCE)[0]:
        piece = os.read(descriptor, size - len(received))
        if not piece:
            break
        received += piece
    return received


def drain(descriptor, into):
    """Reads to the end on its own thread; appends the SHA-256 and the length to `into`."""

    def read():
        digest, size = hashlib.sha256(), 0
        while piece := os.read(descriptor, 1 << 16):
            digest.update(piece)
            size += len(piece)
        into.append((digest.hexdigest(), size))

    reading = threading.Thread(target=read)
    reading.start()
    return reading


class PassThroughTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.report = self.folder / "report.json"

    def options(self, mode="raw"):
        return (f"--pass-through={mode}", "--format", "json", "--output", self.report, *ALL_SCHEMES)

    def result(self):
        return json.loads(self.report.read_text().splitlines()[-1])

    def passing(self, *arguments, mode="raw", **popen):
        """Runs with pipes as standard input and output, unless these are given."""
        popen = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **popen}
        return Running(*self.options(mode), *arguments, **popen)

    def passed(self, data, *arguments, mode="raw"):
        """Runs through pipes. Returns the output of these bytes, and how the run ended."""
        with self.passing(*arguments, mode=mode) as running:
            feeding = threading.Thread(target=lambda: (feed(running, [data]), running.process.stdin.close()))
            feeding.start()
            out = running.process.stdout.read()
            feeding.join()
            return out, running.finish()

    def assert_passed(self, data, *arguments, text_of=None, mode="raw"):
        """In raw mode the output is the input, in text mode its text. Its text is counted in both modes."""
        counted = data if text_of is None else text_of
        out, ended = self.passed(data, *arguments, mode=mode)
        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
        self.assertEqual(out, counted if mode == "text" else data)
        self.assertIs(self.result()["complete"], True)
        self.assert_counts(self.result(), counted)


class Bytes(PassThroughTest):
    def test_the_output_is_the_input_and_is_counted(self):
        for size in (0, 1, 2, 511, 512, 513, 65_536, 262_144, 262_145, 3_000_001):
            for mode in ("raw", "text"):
                with self.subTest(size=size, mode=mode):
                    self.assert_passed(text(size), mode=mode)

    def test_bytes_of_every_value_and_chunks_of_every_size_pass(self):
        for chunk in ("1KiB", "10007", "1MiB"):
            with self.subTest(chunk=chunk):
                self.assert_passed(noise(700_000), "--chunk-size", chunk, "--input-format", "raw")

    def test_writes_of_random_sizes_come_out_in_order(self):
        for seed in range(2):
            chosen = random.Random(seed)
            data = text(1_000_000, seed)
            with self.subTest(seed=seed), self.passing() as running:
                outputs = []
                reading = drain(running.process.stdout.fileno(), outputs)
                at = 0
                while at < len(data):
                    size = chosen.choice((1, 7, 100, 4096, 70_000, 300_000))
                    feed(running, [data[at : at + size]])
                    at += size
                running.process.stdin.close()
                reading.join(PATIENCE)
                self.assertEqual(running.finish().status, 0)
                self.assertEqual(outputs, [(hashlib.sha256(data).hexdigest(), len(data))])
                self.assert_counts(self.result(), data)

    def test_a_line_comes_out_before_the_next_goes_in(self):
        for mode in ("raw", "text"):
            with self.subTest(mode=mode), self.passing(mode=mode) as running:
                for number in range(50):
                    line = b"line %d\n" % number
                    feed(running, [line])
                    self.assertEqual(read_within(running.process.stdout.fileno(), len(line)), line)

    def test_data_that_a_compressor_flushes_comes_out_as_text_before_more_goes_in(self):
        import zlib

        packer = zlib.compressobj(wbits=31)
        with self.passing(mode="text") as running:
            for number in range(20):
                line = b"line %d of a stream that was begun with a line long enough to show its format\n" % number
                feed(running, [packer.compress(line * 20) + packer.flush(zlib.Z_SYNC_FLUSH)])
                self.assertEqual(read_within(running.process.stdout.fileno(), 20 * len(line)), line * 20)

    def test_a_partly_filled_slot_is_counted_soon_although_no_more_data_arrives(self):
        data = text(5000)
        snapshots = self.folder / "snapshots.jsonl"
        with Running("--pass-through", "--chunk-size", "1MiB", "--snapshot-every", "4KiB", "--format", "jsonl", *ALL_SCHEMES,
                     "--output", snapshots, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:  # fmt: skip
            feed(running, [data])
            wait_until(lambda: snapshots.exists() and b"\n" in snapshots.read_bytes())
            self.assert_counts(json.loads(snapshots.read_text().splitlines()[0]), data)


class Ends(PassThroughTest):
    """Kinds of standard input and output."""

    def test_files_and_sockets_may_be_at_both_ends(self):
        data = text(400_000)
        path = self.file("in", data)
        out = self.folder / "out"
        with path.open("rb") as source, out.open("wb") as target, self.passing(stdin=source, stdout=target) as running:
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(out.read_bytes(), data)
        for mode in ("raw", "text"):
            ours, theirs = socket.socketpair()
            far, near = socket.socketpair()
            with self.subTest(mode=mode), ours, far, self.passing(mode=mode, stdin=theirs, stdout=near) as running:
                theirs.close(), near.close()
                outputs = []
                reading = drain(far.fileno(), outputs)
                ours.sendall(data)
                ours.shutdown(socket.SHUT_WR)
                self.assertEqual(running.finish().status, 0)
                reading.join(PATIENCE)
                self.assertEqual(outputs, [(hashlib.sha256(data).hexdigest(), len(data))])
                self.assert_counts(self.result(), data)

    def test_terminals_may_be_at_both_ends(self):
        master, slave = pty.openpty()
        tty.setraw(slave)
        far, near = pty.openpty()
        tty.setraw(near)
        try:
            with self.passing(stdin=slave, stdout=near) as running:
                os.write(master, b"typed\n")
                self.assertEqual(read_within(far, 6), b"typed\n")
                running.process.send_signal(signal.SIGTERM)
                self.assertEqual(running.finish().status, -signal.SIGTERM)
            self.assert_counts(self.result(), b"typed\n")
        finally:
            for each in (master, slave, far, near):
                os.close(each)

    def test_several_inputs_are_forwarded_in_sequence_like_by_cat(self):
        parts = {"a": text(300_000, 1), "b.zst": zstd(text(200_000, 2)), "c": b"", "d": noise(1000)}
        paths = [self.file(name, content) for name, content in parts.items()]
        with paths[0].open("rb") as source, self.passing("b.zst", "-", "c", "d", stdin=source, cwd=self.folder) as running:
            out = running.process.stdout.read()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(out, parts["b.zst"] + parts["a"] + parts["d"])
        self.assert_counts(self.result(), text(200_000, 2) + text(300_000, 1) + noise(1000))
        with self.passing(*paths, mode="text", stdin=subprocess.DEVNULL) as running:
            out = running.process.stdout.read()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(out, text(300_000, 1) + text(200_000, 2) + noise(1000))

    def test_the_files_of_a_tree_are_forwarded_in_the_order_of_their_names(self):
        (self.folder / "tree").mkdir()
        for name in ("b", "a", "c"):
            self.file(f"tree/{name}", name.encode() * 5000)
        with self.passing("-r", self.folder / "tree", stdin=subprocess.DEVNULL) as running:
            out = running.process.stdout.read()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(out, b"a" * 5000 + b"b" * 5000 + b"c" * 5000)

    def test_a_missing_input_is_an_error_and_the_others_are_forwarded(self):
        path = self.file("a", b"there\n")
        with self.passing(self.folder / "none", path, stdin=subprocess.DEVNULL) as running:
            out = running.process.stdout.read()
            ended = running.finish()
        self.assertEqual((out, ended.status), (b"there\n", 1))

    def test_a_file_is_not_appended_to_itself(self):
        path = self.file("a", text(10_000))
        for inputs, mode in (([], "raw"), (["-"], "text"), ([path], "raw")):
            with self.subTest(inputs=inputs), path.open("rb") as source, path.open("ab") as target:
                with self.passing(*inputs, mode=mode, stdin=source, stdout=target) as running:
                    ended = running.finish()
            self.assertEqual(ended.status, 1)
            self.assertIn("is also standard output", ended.stderr)
            self.assertEqual(path.read_bytes(), text(10_000))

    def test_the_flags_of_blocking_and_non_blocking_descriptors_are_unchanged(self):
        data = text(3_000_000)
        for nonblocking in (False, True):
            read, write = os.pipe()
            if nonblocking:
                fcntl.fcntl(write, fcntl.F_SETFL, fcntl.fcntl(write, fcntl.F_GETFL) | os.O_NONBLOCK)
            before = fcntl.fcntl(write, fcntl.F_GETFL)
            path = self.file("in", data)
            for inputs in (("-",), (path,)):
                with self.subTest(nonblocking=nonblocking, inputs=inputs), path.open("rb") as source:
                    with self.passing(*inputs, stdin=source, stdout=write) as running:
                        received = read_within(read, 1000)
                        self.assertEqual(fcntl.fcntl(write, fcntl.F_GETFL), before)
                        received += read_within(read, len(data) - 1000)
                        self.assertEqual(running.finish().status, 0)
                    self.assertEqual(received, data)
                    self.assertEqual(fcntl.fcntl(write, fcntl.F_GETFL), before)
            os.close(read), os.close(write)


class Compressed(PassThroughTest):
    def test_compressed_data_is_forwarded_as_it_is_and_its_text_is_counted(self):
        data = text(700_000)
        for name, compress in COMPRESSED.items():
            with self.subTest(name=name):
                self.assert_passed(compress(data), text_of=data)

    def test_the_text_of_many_frames_comes_out_in_order(self):
        data = text(1_200_000)
        frames = b"".join(zstd(data[at : at + 50_000]) for at in range(0, len(data), 50_000))
        for packed in (frames, zstd(data), gzip.compress(data), lzma.compress(data)):
            for threads in ("1", "4"):
                with self.subTest(size=len(packed), threads=threads):
                    self.assert_passed(packed, "-T", threads, text_of=data, mode="text")

    def test_members_of_archives_come_out_as_text_in_sequence(self):
        members = {"one": text(300_000, 1), "two": b"", "three": text(100_000, 2)}
        whole = b"".join(members.values())
        for packed in (tar(members), zstd(tar(members)), zipped(members)):
            with self.subTest(size=len(packed)):
                self.assert_passed(packed, text_of=whole, mode="text")
                self.assert_passed(packed, text_of=whole)


class Damage(PassThroughTest):
    def test_all_bytes_of_a_damaged_archive_are_forwarded_and_the_report_names_the_damage(self):
        data = text(1_000_000)
        for name, compress in COMPRESSED.items():
            packed = bytearray(compress(data))
            packed[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
            # so much data follows that the decoder gives up long before the end
            packed += noise(3_000_000)
            with self.subTest(name=name):
                out, ended = self.passed(bytes(packed))
                self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(packed).digest())
                self.assertEqual(ended.status, 1, ended)
                self.assertIs(self.result()["complete"], False)
                self.assertIn("compressed offset", self.result()["inputs"][0]["error"])

    def test_all_bytes_of_a_truncated_archive_or_of_other_data_are_forwarded(self):
        archive = tar({"a": text(2_000_000)})
        for name, content in {"no.zst": b"\1\2\xff" + text(900_000), "cut.tar": archive[:900_000], "cut.zst": zstd(noise(900_000))[:-9],
                              "broken.zip": zipped({"a": noise(900_000)})[:800_000]}.items():  # fmt: skip
            path = self.file(name, content)
            with self.subTest(name=name), self.passing(path, path, stdin=subprocess.DEVNULL) as running:
                out = running.process.stdout.read()
                self.assertEqual(running.finish().status, 1)
                self.assertEqual(out, content * 2)

    def test_text_before_the_damage_is_forwarded_and_text_after_it_with_skip_damage(self):
        parts = [text(400_000, seed) for seed in range(3)]
        frames = [bytearray(zstd(part)) for part in parts]
        frames[1][len(frames[1]) // 2] ^= 0xFF
        packed = b"".join(frames)
        out, ended = self.passed(packed, mode="text")
        self.assertEqual(ended.status, 1)
        self.assertTrue(b"".join(parts[:2]).startswith(out[: len(parts[0])]) and len(out) >= len(parts[0]))
        out, ended = self.passed(packed, "--skip-damage", mode="text")
        self.assertEqual(ended.status, 1)
        self.assertTrue(out.startswith(parts[0]) and out.endswith(parts[2]))
        self.assert_counts(self.result(), parts[0] + parts[2])

    def test_nothing_after_a_damaged_frame_is_forwarded_also_if_several_frames_are_in_one_block(self):
        parts = [noise(66_000, seed) for seed in range(9)]  # a block holds three of these frames
        for suffix, pack in (("zst", lambda part: zstd(part, "--check")), ("lz4", FORMATS["lz4"].packed)):
            frames = [pack(part) for part in parts]
            for hit, threads in ((0, "4"), (1, "2"), (4, "1"), (7, "4")):
                hurt = bytearray(frames[hit])
                hurt[-1] ^= 1  # a bit in the checksum
                packed = b"".join([*frames[:hit], hurt, *frames[hit + 1 :]])
                path = self.file(f"hurt.{suffix}", packed)
                for source, stdin in ((path, None), ("-", packed)):
                    with self.subTest(suffix=suffix, hit=hit, source=str(source)):
                        if stdin is None:
                            with self.passing("-T", threads, source, mode="text", stdin=subprocess.DEVNULL) as running:
                                out = running.process.stdout.read()
                                ended = running.finish()
                        else:
                            out, ended = self.passed(stdin, "-T", threads, mode="text")
                        self.assertEqual(ended.status, 1, ended)
                        self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(b"".join(parts[: hit + 1])).digest())
                        result = self.result()
                        self.assertEqual((result["bytes"], result["unverified"]["bytes"]), (66_000 * hit, 66_000))


class Consumers(PassThroughTest):
    def test_a_consumer_that_closes_the_pipe_ends_the_run_by_sigpipe_without_a_message_after_the_report(self):
        for mode in ("raw", "text"):
            with self.subTest(mode=mode), self.passing(mode=mode) as running:
                pouring = threading.Thread(target=lambda: feed(running, [text(1_000_000)] * 100))
                pouring.start()
                self.assertEqual(read_within(running.process.stdout.fileno(), 1000), text(1_000_000)[:1000])
                running.process.stdout.close()
                ended = running.finish()
                pouring.join()
            self.assertEqual((ended.status, ended.stderr), (-signal.SIGPIPE, ""), ended)
            result = self.result()
            self.assertIs(result["complete"], False)
            self.assert_counts(result, (text(1_000_000) * (result["bytes"] // 1_000_000 + 1))[: result["bytes"]])

    def test_the_status_in_a_shell_is_141_and_the_report_is_on_standard_error(self):
        script = f"yes | {GPUHIST} --engine {ENGINE} --pass-through --format json | head -n 1; echo ${{PIPESTATUS[1]}}"
        process = subprocess.run(["bash", "-c", script], capture_output=True, timeout=PATIENCE,
                              preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))  # fmt: skip
        self.assertEqual(process.stdout, b"y\n141\n")
        self.assertIs(json.loads(process.stderr)["complete"], False)

    def test_with_sigpipe_ignored_a_closed_pipe_is_an_error_that_names_standard_output(self):
        script = f"trap '' PIPE; yes | {GPUHIST} --engine {ENGINE} --pass-through -o /dev/null | head -n 1; echo ${{PIPESTATUS[1]}}"
        process = subprocess.run(["bash", "-c", script], capture_output=True, timeout=PATIENCE)
        self.assertEqual(process.stdout, b"y\n1\n")
        self.assertIn(b"gpuhist: cannot write standard output: Broken pipe\n", process.stderr)

    def test_a_consumer_that_does_not_read_stops_the_producer(self):
        for mode in ("raw", "text"):
            with self.subTest(mode=mode), self.passing(mode=mode) as running:
                descriptor = running.process.stdin.fileno()
                os.set_blocking(descriptor, False)
                sent, quiet_since = 0, time.monotonic()
                while sent <= 65_536 or time.monotonic() - quiet_since < 0.5:  # with a device, the start may be slow
                    try:
                        sent += os.write(descriptor, b"x" * 65_536)
                        quiet_since = time.monotonic()
                    except BlockingIOError:
                        time.sleep(0.01)
                self.assertLess(sent, 2 * PIPE_BYTES + (8 << 20))  # two pipes, and slots of 256 KiB (8 MiB with a device)
                os.set_blocking(descriptor, True)
                outputs = []
                reading = drain(running.process.stdout.fileno(), outputs)
                running.process.stdin.close()
                self.assertEqual(running.finish().status, 0)
                reading.join(PATIENCE)
                self.assertEqual(outputs[0][1], sent)

    def test_memory_does_not_grow_with_the_number_of_bytes(self):
        if SANITIZED or ENGINE != "host":
            self.skipTest("memory is measured of the host engine as it is shipped")
        peaks = []
        for blocks in (8, 256):
            with self.passing() as running:
                reading = drain(running.process.stdout.fileno(), [])
                feed(running, [text(1 << 20)] * blocks)
                running.process.stdin.close()
                _, status, usage = os.wait4(running.process.pid, 0)
                running.process.returncode = os.waitstatus_to_exitcode(status)
                reading.join(PATIENCE)
                self.assertEqual(status, 0)
                peaks.append(usage.ru_maxrss)
        self.assertLess(peaks[1], peaks[0] + 8 * 1024, f"{peaks} KiB")

    def test_a_full_disk_is_an_error_that_names_standard_output_and_the_offset(self):
        for mode in ("raw", "text"):
            with self.subTest(mode=mode), open("/dev/full", "wb") as full, self.passing(mode=mode, stdout=full) as running:
                feed(running, [text(1_000_000)])
                running.process.stdin.close()
                ended = running.finish()
                self.assertEqual(ended.status, 1)
                self.assertIn("gpuhist: cannot write standard output: No space left on device at offset 0\n", ended.stderr)
                self.assertIs(self.result()["complete"], False)

    def test_the_offset_of_a_write_error_is_the_number_of_bytes_written(self):
        out = self.folder / "out"
        limit = 100_000
        with out.open("wb") as target:
            process = subprocess.run([GPUHIST, "--engine", ENGINE, "--pass-through", "-o", "/dev/null"], input=text(300_000),
                                  stdout=target, stderr=subprocess.PIPE, preexec_fn=file_size_limit(limit), timeout=PATIENCE)  # fmt: skip
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"cannot write standard output: File too large at offset 100000\n", process.stderr)
        self.assertEqual(out.read_bytes(), text(300_000)[:limit])

    def test_a_closed_standard_output_is_an_error(self):
        process = subprocess.run(["sh", "-c", f"echo x | {GPUHIST} --engine {ENGINE} --pass-through >&-"], capture_output=True,
                              timeout=PATIENCE)  # fmt: skip
        self.assertEqual(process.returncode, 1)
        self.assertEqual(process.stderr, b"gpuhist: cannot write standard output: Bad file descriptor\n")


class Signals(PassThroughTest):
    def test_a_signal_gives_a_report_of_the_forwarded_bytes(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number), self.passing() as running:
                feed(running, [text(200_000)])
                self.assertEqual(read_within(running.process.stdout.fileno(), 200_000), text(200_000))
                running.process.send_signal(number)
                ended = running.finish()
                self.assertEqual(ended.status, -number, ended)
                self.assertIs(self.result()["complete"], False)
                self.assert_counts(self.result(), text(200_000))

    def test_a_signal_ends_the_run_although_the_consumer_stalls(self):
        data = text(3_000_000)
        for mode, packed in (("raw", data), ("raw", zstd(noise(3_000_000))), ("text", data), ("text", gzip.compress(data))):
            with self.subTest(mode=mode, size=len(packed)), self.passing(mode=mode) as running:
                pouring = threading.Thread(target=lambda: feed(running, [packed * 4]))
                pouring.start()
                out = running.process.stdout.fileno()
                wait_until(lambda: unread(out) >= 65_536)
                wait_until(lambda: self.is_still(out))
                running.process.send_signal(signal.SIGTERM)
                ended = running.finish()
                pouring.join()
                self.assertEqual(ended.status, -signal.SIGTERM, ended)
                forwarded = running.process.stdout.read()
                if mode == "raw":
                    self.assertEqual(forwarded, (packed * 4)[: len(forwarded)])
                else:
                    self.assertEqual(forwarded, (data * 4)[: len(forwarded)])
                if packed is data:  # text that was counted but could not be forwarded is reported
                    message = re.search(r"the last ([0-9,]+) bytes that were counted were not passed through", ended.stderr)
                    excess = int(message[1].replace(",", "")) if message else 0
                    self.assert_counts(self.result(), (data * 4)[: len(forwarded) + excess])

    @staticmethod
    def is_still(descriptor):
        before = unread(descriptor)
        time.sleep(0.05)
        return unread(descriptor) == before

    def test_sigusr1_reports_the_position_although_the_consumer_stalls(self):
        with self.passing() as running:
            feed(running, [b"x" * 1234])
            wait_until(lambda: unread(running.process.stdout.fileno()) == 1234)
            running.process.send_signal(signal.SIGUSR1)
            wait_until(running.messages)
            running.process.stdin.close()
            ended = running.finish()
            self.assertEqual(ended.status, 0)
            self.assertRegex(ended.stderr, r"^gpuhist: .*1\.2 ?K|1,234")

    @staticmethod
    def last_counts(report, size):
        lines = report.read_bytes().split(b"\n")[:-1] if report.exists() else []
        return bool(lines) and json.loads(lines[-1])["bytes"] == size

    def test_the_first_bytes_of_a_text_are_counted_before_they_are_forwarded(self):
        report = self.folder / "snapshots.jsonl"
        receiver, full = os.pipe()
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 1 << 20)  # as large as the program would make it
        os.set_blocking(full, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(full, b"y" * 65_536)
        os.set_blocking(full, True)
        waiting = unread(receiver)
        with Running("--pass-through=text", "--format", "jsonl", "--output", report,
                     stdin=subprocess.PIPE, stdout=full) as running:  # fmt: skip
            os.close(full)
            feed(running, [b"x" * 1000])
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)

            def has_counted():  # although nothing was forwarded
                running.process.send_signal(signal.SIGUSR1)
                return self.last_counts(report, 1000)

            wait_until(has_counted)
            self.assertEqual(unread(receiver), waiting)
            running.process.stdin.close()
            with open(receiver, "rb") as consumer:
                self.assertEqual(consumer.read(), b"y" * waiting + b"x" * 1000)
            self.assertEqual(running.finish().status, 0)

    def test_sigusr1_requests_a_snapshot_if_the_report_consists_of_lines(self):
        report = self.folder / "snapshots.jsonl"
        with Running("--pass-through=text", "--format", "jsonl", "--output", report,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:  # fmt: skip
            for more, size in ((1000, 1000), (2000, 3000)):
                feed(running, [b"x" * more])
                wait_until(lambda: unread(running.process.stdout.fileno()) == size)
                running.process.send_signal(signal.SIGUSR1)
                wait_until(lambda: self.last_counts(report, size))
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        documents = [json.loads(line) for line in report.read_bytes().splitlines()]
        self.assertEqual([(each["kind"], each["bytes"]) for each in documents if each["kind"] != "input"],
                         [("snapshot", 1000), ("snapshot", 3000), ("result", 3000)])


class Failures(PassThroughTest):
    def test_a_stream_with_a_read_error_is_counted_up_to_the_error(self):
        master, slave = pty.openpty()
        tty.setraw(slave)
        os.write(slave, b"x" * 3000)
        os.close(slave)  # reading from the master fails with EIO from here on
        with Running("--pass-through", "--input-format", "raw", "--format", "json", "-q", "-o", self.report,
                     stdin=master, stdout=subprocess.PIPE) as running:  # fmt: skip
            os.close(master)
            self.assertEqual(running.process.stdout.read(), b"x" * 3000)
            ended = running.finish()
        self.assertEqual(ended.status, 1, ended)
        self.assertIn("reading failed: Input/output error at offset 3000", ended.stderr)
        self.assert_counts(self.result(), b"x" * 3000)
        self.assertIs(self.result()["complete"], False)


class Reports(PassThroughTest):
    def run_stage(self, *arguments, input=b"some text\n", **popen):
        return subprocess.run([GPUHIST, "--engine", ENGINE, "--pass-through", *arguments], input=input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, **popen)  # fmt: skip

    def test_no_bytes_are_lost_if_the_report_cannot_be_written_during_the_run(self):
        data = text(3_000_000)
        lines = ("--format", "jsonl", "-o", "/dev/full")
        full = "gpuhist: cannot write /dev/full: No space left on device"
        for arguments in (("--snapshot-every", "100KiB"), ("--window", "1000lines")):
            with self.subTest(arguments=arguments):
                process = self.run_stage(*lines, *arguments, input=data)
                self.assertEqual((process.returncode, process.stdout), (1, data))
                self.assertEqual(process.stderr.decode().splitlines(),
                                 [f"{full}; the bytes are still passed through, but nothing more is reported"])  # fmt: skip

    def test_a_report_that_cannot_be_written_after_a_signal_is_one_error_without_a_promise_of_more_bytes(self):
        lines = ("--pass-through", "--format", "jsonl", "--window", "1000lines", "-o", "/dev/full")
        with Running(*lines, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [b"line\n"])
            self.assertEqual(read_within(running.process.stdout.fileno(), 5), b"line\n")
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        full = "gpuhist: cannot write /dev/full: No space left on device; nothing more is reported\n"
        self.assertEqual((ended.status, ended.stderr.count("/dev/full")), (1, 1), ended)
        self.assertIn(full, ended.stderr)

    def locked(self, log):
        """The report file, locked by this process until it closes it."""
        lock_file = open(log, "a+b")
        self.addCleanup(lock_file.close)
        fcntl.lockf(lock_file, fcntl.LOCK_EX)
        return lock_file

    def test_bytes_do_not_wait_for_a_locked_report_file_and_no_window_or_alert_is_lost(self):
        log = self.file("log.jsonl", b"")
        lock_file = self.locked(log)
        options = ("--pass-through", "--format", "jsonl", "--window", "2lines", "--alert-if", "lines == 2")
        with Running(*options, "--append", "-o", log, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            for number in range(20):
                line = b"line %02d\n" % number
                feed(running, [line])
                self.assertEqual(read_within(running.process.stdout.fileno(), len(line)), line)
                if number % 5 == 4:  # requests a snapshot
                    running.process.send_signal(signal.SIGUSR1)
                    wait_until(lambda: running.messages().count("bytes counted") > number // 5)
            self.assertEqual(log.read_bytes(), b"")
            lock_file.close()
            wait_until(lambda: log.read_bytes().count(b'"kind":"alert"') == 10)  # although no input arrives
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        written = [json.loads(line) for line in log.read_bytes().splitlines()]
        self.assertEqual([(each["kind"], each.get("index", each.get("window"))) for each in written if each["kind"] in ("window", "alert")],
                         [(kind, number) for number in range(10) for kind in ("window", "alert")])  # fmt: skip
        snapshots = [each["bytes"] for each in written if each["kind"] == "snapshot"]
        self.assertNotIn(40, snapshots)  # it was replaced by later snapshots
        self.assertEqual((snapshots[-1], written[-1]["kind"], written[-1]["bytes"]), (160, "result", 160))

    def test_bytes_do_not_wait_if_more_is_to_be_reported_than_can_be_queued(self):
        log = self.file("log.jsonl", b"")
        data = text(400_000)
        self.locked(log)
        process = self.run_stage("--format", "jsonl", "--window", "100B", "-b", "bytes", "--append", "-o", log, input=data)
        self.assertEqual((process.returncode, process.stdout), (1, data))
        self.assertEqual(process.stderr.decode(), f"gpuhist: cannot write {log}: it is still locked by another process and too many"
                         " reports wait for it (lslocks shows which); end that process and run again; the bytes are still passed"
                         " through, but nothing more is reported\n")  # fmt: skip

    def test_a_signal_ends_the_wait_for_a_locked_report_file(self):
        log = self.file("log.jsonl", b"")
        self.locked(log)
        options = ("--pass-through", "--format", "jsonl", "--window", "1lines", "--append", "-o", log)
        with Running(*options, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [b"a line\n"])
            self.assertEqual(read_within(running.process.stdout.fileno(), 7), b"a line\n")
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertEqual((ended.status, ended.stderr.splitlines(True)[-1]),
                         (-signal.SIGTERM, f"gpuhist: cannot write {log}: it is still locked by another process 5 seconds after "
                          "SIGTERM (lslocks shows which); end that process and run again\n"))  # fmt: skip

    def test_no_bytes_are_lost_if_the_reader_of_snapshots_closes_the_pipe(self):
        data = text(3_000_000)
        reading, writing = os.pipe()
        os.close(reading)
        process = self.run_stage("--format", "jsonl", "--snapshot-every", "100KiB", "-o", f"fd:{writing}", input=data,
                              pass_fds=[writing])  # fmt: skip
        os.close(writing)
        self.assertEqual((process.stdout, process.returncode), (data, -signal.SIGPIPE))
        self.assertIn(b"nothing more is reported", process.stderr)

    def test_the_report_is_written_to_standard_error_or_to_the_output(self):
        process = self.run_stage("--format", "json")
        self.assertEqual((process.returncode, process.stdout), (0, b"some text\n"))
        self.assertEqual(json.loads(process.stderr)["bytes"], 10)
        process = self.run_stage("--format", "json", "-o", self.report)
        self.assertEqual((process.stdout, process.stderr, self.result()["bytes"]), (b"some text\n", b"", 10))
        read, write = os.pipe()
        process = self.run_stage("--format", "json", "-o", f"fd:{write}", pass_fds=[write])
        os.close(write)
        with os.fdopen(read, "rb") as report:
            self.assertEqual((process.stdout, process.stderr, json.loads(report.read())["bytes"]), (b"some text\n", b"", 10))

    def test_snapshots_are_written_to_standard_error(self):
        with Running("--pass-through", "--snapshot-every", "20ms", "--format", "jsonl", stdin=subprocess.PIPE) as running:
            feed(running, [b"some text\n"])
            wait_until(running.messages)
            running.process.stdin.close()
            ended = running.finish()
        self.assertEqual(ended.stdout, b"some text\n")
        documents = [json.loads(line) for line in ended.stderr.splitlines()]
        self.assertEqual((documents[0]["kind"], documents[-1]["kind"], documents[-1]["bytes"]), ("snapshot", "result", 10))

    def test_statistics_report_how_bytes_were_forwarded(self):
        for source, system_call in ((subprocess.PIPE, "tee"), (self.file("a", b"x").open("rb"), "write")):
            with source if source != subprocess.PIPE else os.fdopen(os.dup(0)):
                with self.passing("--stats", stdin=source) as running:
                    if running.process.stdin:
                        running.process.stdin.close()
                    self.assertEqual(running.process.stdout.read(), b"" if running.process.stdin else b"x")
                    self.assertEqual(running.finish().status, 0)
            self.assertIn(f"forwarded by {system_call}", json.dumps(self.result()["stats"]))

    def test_statistics_name_the_consumer_if_it_was_the_limit(self):
        data = text(1_000_000) * 4
        for seconds in (1, 4, 16):  # until this is most of the run
            with self.passing("--stats") as running:
                pouring = threading.Thread(target=lambda: (feed(running, [data]), running.process.stdin.close()))
                pouring.start()
                out = running.process.stdout.fileno()
                wait_until(lambda: unread(out) >= 65_536)
                time.sleep(seconds)
                running.process.stdout.read()
                pouring.join()
                self.assertEqual(running.finish().status, 0)
            limit = self.result()["stats"]["limited_by"]
            if limit.startswith("the consumer"):
                break
        self.assertRegex(limit, "^the consumer: standard output accepted no data [0-9]+ % of the time$")

    def test_options_that_contradict_pass_through_are_usage_errors(self):
        for arguments, message in (
            (("--output", "fd:1"), "is the output of --pass-through"),
            (("--output", "/dev/stdout"), "is the output of --pass-through"),
            (("--follow", "a.log"), "tail -F FILE | gpuhist --pass-through"),
            (("--pass-through=lines",), 'there is no "lines"; known are raw, text'),
        ):
            with self.subTest(arguments=arguments):
                process = self.run_stage(*arguments)
                self.assertEqual((process.returncode, process.stdout), (2, b""))
                self.assertIn(message, process.stderr.decode())


if __name__ == "__main__":
    main()
