"""Windows: every window that closes is reported at once in a line of its own, with exactly the counts of its text. It is
verified by then, or by a verdict that follows."""

import bz2
import datetime
import itertools
import json
import os
import random
import signal
import subprocess
import time

from support import ENGINE, PATIENCE, SANITIZED, CommandTest, Running, counts_of, feed, main, noise, oracle, run, run_fed, tar, text, unread, wait_until, zstd

JSONL = ("--format", "jsonl", "--buckets", "letters,classes")


def split(data, size):
    """Windows of this many bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def split_lines(data, lines):
    """Windows of this many lines, found line by line."""
    pieces = data.split(b"\n")
    whole = [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    return [b"".join(whole[at : at + lines]) for at in range(0, len(whole), lines)]


def sliding(units, window, step):
    """Windows over units (single bytes, or lines): each begins one step after the window before."""
    return [b"".join(units[at : at + window]) for at in range(0, len(units), step)]


def lines_alone(data):
    return split_lines(data, 1)


def instant(reported):
    return datetime.datetime.fromisoformat(reported.replace("Z", "+00:00")).timestamp()


class WindowTest(CommandTest):
    def assert_windows(self, windows, texts, offsets=None):
        """The windows have these texts, consecutive numbers, and the counts and offsets of their texts."""
        self.assertEqual([each["bytes"] for each in windows], [len(each) for each in texts])
        self.assertEqual([each["index"] for each in windows], list(range(len(texts))))
        if offsets is None:
            offsets = list(itertools.accumulate(map(len, texts), initial=0))[:-1]
        self.assertEqual([each["first_offset"] for each in windows], offsets)
        for reported, content in zip(windows, texts):
            expected = oracle(content)
            expected["buckets"] = {scheme: expected["buckets"][scheme] for scheme in ("letters", "classes")}
            self.assertEqual(counts_of(reported), expected)
            self.assertEqual(reported["end_offset"] - reported["first_offset"], len(content))
            self.assertLessEqual(reported["start_time"], reported["end_time"])

    def assert_sum(self, ended):
        """Windows that do not overlap add up to the totals and the unverified counts."""
        reported = ended.documents_of("window")
        parts = [ended.result] + [each["unverified"] for each in [ended.result] if "unverified" in each]
        self.assertEqual(sum(each["bytes"] for each in reported), sum(each["bytes"] for each in parts))
        for scheme, buckets in ended.result["buckets"].items():
            for name in buckets:
                total = sum(each["buckets"][scheme][name] for each in parts)
                self.assertEqual(sum(each["buckets"][scheme][name] for each in reported), total)

    def assert_judged(self, ended):
        """Each window that was unverified when it was reported gets exactly one later verdict. Returns the verdicts."""
        windows, verdicts = {}, {}
        for each in ended.documents:
            if each["kind"] == "window":
                windows[each["index"]] = each["verified"]
            elif each["kind"] == "verdict":
                for index in range(each["first_index"], each["last_index"] + 1):
                    self.assertIs(windows.get(index), False)
                    self.assertNotIn(index, verdicts)
                    verdicts[index] = each["verified"]
        self.assertEqual(set(verdicts), {index for index, verified in windows.items() if not verified})
        return [verified or verdicts[index] for index, verified in sorted(windows.items())]

    def assert_all_good(self, ended):
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        self.assertTrue(all(self.assert_judged(ended)))
        self.assertTrue(all(each["complete"] for each in ended.documents_of("window")))


class Amounts(WindowTest):
    def test_windows_of_bytes_are_exact_for_all_chunk_sizes_and_all_pieces_of_a_pipe(self):
        data = text(50_000)
        chosen = random.Random(1)
        for window, chunk in ((1000, "4KiB"), (1, "64KiB"), (7, "16"), (4096, "4KiB"), (50_000, "1KiB"), (60_000, "1"), (333, "1")):
            content = data[: 600 if chunk == "1" or window < 10 else None]
            pieces = []
            at = 0
            while at < len(content):
                size = chosen.randrange(1, 9000)
                pieces.append(content[at : at + size])
                at += size
            with self.subTest(window=window, chunk=chunk):
                ended = run_fed(pieces, *JSONL, "--window", f"{window}B", "--chunk-size", chunk)
                self.assert_windows(ended.documents_of("window"), split(content, window))
                self.assert_all_good(ended)
                self.assert_counts(ended.result, content)
                self.assert_sum(ended)
                ends = [each["closed_by"] for each in ended.documents_of("window")]
                self.assertEqual(ends[:-1], ["full"] * (len(ends) - 1))
                self.assertEqual(ends[-1], "full" if len(content) % window == 0 else "end")

    def test_windows_of_lines_end_after_the_newline(self):
        log = text(12_000)
        for data in (log, log[:-1], b"\n" * 700, b"a\n\n\nb", b"no newline at all", b"\n"):
            for lines in (1, 7, 10_000):
                with self.subTest(size=len(data), lines=lines):
                    ended = run(*JSONL, "--window", f"{lines}lines", "--chunk-size", "4KiB", stdin_bytes=data)
                    self.assert_windows(ended.documents_of("window"), split_lines(data, lines))
                    self.assert_all_good(ended)
                    self.assert_sum(ended)

    def test_overlapping_windows_have_exactly_the_counts_of_their_text(self):
        data = text(20_000)
        for window, step in ((100, 100), (1000, 250), (999, 37), (4096, 1), (64, 63)):
            content = data[: 500 if step == 1 else None]
            texts = [content[at : at + window] for at in range(0, len(content), step)]
            with self.subTest(window=window, step=step):
                ended = run(*JSONL, "--window", f"{window}B", "--step", f"{step}B", stdin_bytes=content)
                self.assert_windows(ended.documents_of("window"), texts, [step * i for i in range(len(texts))])
                self.assert_all_good(ended)
        lines = lines_alone(data)
        texts = sliding(lines, 10, 4)
        starts = list(itertools.accumulate(map(len, lines), initial=0))[:-1][::4]
        ended = run(*JSONL, "--window", "10lines", "--step", "4lines", stdin_bytes=data)
        self.assert_windows(ended.documents_of("window"), texts, starts)

    def test_an_empty_input_has_no_window_and_a_single_byte_has_one(self):
        for extent in ("1B", "10MiB", "1line"):
            ended = run(*JSONL, "--window", extent, stdin_bytes=b"")
            self.assertEqual([each["kind"] for each in ended.documents], ["input", "result"])
            ended = run(*JSONL, "--window", extent, stdin_bytes=b"x")
            self.assert_windows(ended.documents_of("window"), [b"x"])
            self.assert_all_good(ended)

    def test_files_are_divided_as_one_stream_or_each_for_itself(self):
        contents = [text(5000, 1), b"", b"x", text(700_000, 2), text(1200, 3)]
        paths = [self.file(f"{i}.log", content) for i, content in enumerate(contents)]
        ended = run(*JSONL, "--window", "1000B", "--chunk-size", "16KiB", *paths)
        windows = ended.documents_of("window")
        self.assert_windows(windows, split(b"".join(contents), 1000))
        self.assert_all_good(ended)
        self.assertEqual((windows[4]["source"], "last_source" in windows[4]), (str(paths[0]), False))
        self.assertEqual((windows[5]["source"], windows[5]["last_source"]), (str(paths[2]), str(paths[3])))
        ended = run(*JSONL, "--window", "1000B", "--per-input", *paths)
        windows = ended.documents_of("window")
        texts, offsets, sources = [], [], []
        for path, content in zip(paths, contents):
            parts = split(content, 1000)
            texts += parts
            offsets += [1000 * i for i in range(len(parts))]
            sources += [str(path)] * len(parts)
        self.assert_windows(windows, texts, offsets)
        self.assertEqual([each["source"] for each in windows], sources)
        self.assert_all_good(ended)
        self.assert_sum(ended)

    def test_a_tree_is_divided_in_its_order(self):
        folder = self.folder / "tree"
        folder.mkdir()
        contents = [text(100 + i, i) for i in range(80)]
        for i, content in enumerate(contents):
            (folder / f"{i:03}.log").write_bytes(content)
        ended = run(*JSONL, "--window", "777B", "-r", folder)
        self.assert_windows(ended.documents_of("window"), split(b"".join(contents), 777))
        self.assert_all_good(ended)

    def test_all_kernels_give_the_same_windows(self):
        data = text(30_000)
        if ENGINE != "host":
            self.skipTest("kernels of the host")
        for kernel in ("scalar", "lookup"):
            ended = run(*JSONL, "--window", "100B", "--kernel", kernel, stdin_bytes=data)
            if ended.status == 2:
                continue  # this machine does not support the kernel
            self.assert_windows(ended.documents_of("window"), split(data, 100))

    def test_the_format_is_jsonl_by_default_and_with_json(self):
        data = text(5000)
        for options in ((), ("--format", "json"), ("--format", "jsonl")):
            with self.subTest(options=options):
                ended = run(*options, "--buckets", "letters,classes", "--window", "1000B", stdin_bytes=data)
                self.assertEqual((ended.status, ended.stderr), (0, ""))
                self.assert_windows(ended.documents_of("window"), split(data, 1000))
                self.assertEqual([line["kind"] for line in ended.documents[-2:]], ["input", "result"])
                self.assertEqual(len({line["run"] for line in ended.documents}), 1)
        settings = self.file("job.toml", b'format = "table"\n')
        ended = run("--config", settings, "--window", "1000B", stdin_bytes=data)
        self.assert_usage_error(ended, f"{settings}:1: format: table cannot hold the windows")
        ended = run("--config", settings, "--no-format", "--window", "1000B", "--buckets", "letters,classes", stdin_bytes=data)
        self.assert_windows(ended.documents_of("window"), split(data, 1000))

    def test_a_name_that_is_not_utf8_is_reported_in_base64(self):
        path = self.file(os.fsdecode(b"caf\xe9.log"), b"abc")
        reported = run(*JSONL, "--window", "1KiB", path).documents_of("window")[0]
        self.assertEqual(reported["source_base64"], __import__("base64").b64encode(os.fsencode(path)).decode())

    def test_report_ignores_the_windows_of_a_result(self):
        data = text(5000)
        ended = run(*JSONL, "--byte-counts", "--window", "1000B", stdin_bytes=data)
        again = run("report", "--format", "json", stdin_bytes=ended.stdout, engine=None)
        self.assertEqual((again.status, again.result["bytes"]), (0, 5000), again)


class Archives(WindowTest):
    def test_windows_of_compressed_text_are_reported_at_once_and_verified_with_their_frame(self):
        parts = [text(size, size) for size in (30_000, 500, 200_000, 1)]
        data = b"".join(parts)
        many = b"".join(zstd(part) for part in parts)
        for name, encoded in (("many.zst", many), ("one.zst", zstd(data)), ("a.bz2", bz2.compress(data))):
            for window in (1000, 30_000, 64_000, 1 << 20):
                with self.subTest(name=name, window=window):
                    ended = run(*JSONL, "--window", f"{window}B", self.file(name, encoded))
                    self.assert_windows(ended.documents_of("window"), split(data, window))
                    self.assert_all_good(ended)
                    self.assert_sum(ended)
                    self.assertEqual(ended.stdout.count(b'"verdict"') > 0, window < len(data))

    def test_members_of_archives_are_divided_like_other_inputs(self):
        contents = {"a.log": text(2500, 1), "empty": b"", "b.log": text(100, 2), "c.log.zst": text(7000, 3)}
        archive = tar({name: zstd(data) if name.endswith(".zst") else data for name, data in contents.items()})
        for name, encoded in (("logs.tar", archive), ("logs.tar.zst", zstd(archive))):
            path = self.file(name, encoded)
            with self.subTest(name=name):
                ended = run(*JSONL, "--window", "1000B", path)
                self.assert_windows(ended.documents_of("window"), split(b"".join(contents.values()), 1000))
                self.assert_all_good(ended)
                self.assert_sum(ended)
                ended = run(*JSONL, "--window", "1000B", "--per-input", path)
                windows = ended.documents_of("window")
                texts = [part for content in contents.values() for part in split(content, 1000)]
                offsets = [1000 * i for content in contents.values() for i in range(len(split(content, 1000)))]
                self.assert_windows(windows, texts, offsets)
                self.assertEqual(windows[-1]["source"], f"{path}/c.log.zst")
                self.assert_all_good(ended)

    def test_mixed_inputs_keep_their_order(self):
        contents = [text(3000, i) for i in range(8)]
        paths = [self.file(f"{i}" + (".zst" if i % 2 else ".log"), zstd(each) if i % 2 else each) for i, each in enumerate(contents)]
        ended = run(*JSONL, "--window", "700B", "--chunk-size", "1KiB", *paths)
        self.assert_windows(ended.documents_of("window"), split(b"".join(contents), 700))
        self.assert_all_good(ended)

    def test_a_window_that_is_open_at_damage_closes_there_with_the_error(self):
        parts = [text(10_000, i) for i in range(3)]
        frames = [zstd(part) for part in parts]
        hurt = bytearray(frames[1])
        hurt[-2] ^= 1  # the checksum
        path = self.file("hurt.zst", frames[0] + bytes(hurt) + frames[2])
        after = self.file("after.log", b"after\n" * 500)
        ended = run(*JSONL, "--window", "3000B", path, after)
        self.assertEqual(ended.status, 1)
        windows = ended.documents_of("window")
        # the text of the damaged frame is reported up to the damage
        texts = split(parts[0] + parts[1], 3000) + [b"after\n" * 500]
        offsets = [3000 * i for i in range(7)] + [20_000]
        self.assert_windows(windows, texts, offsets)
        self.assertEqual([each["complete"] for each in windows], [True] * 6 + [False, True])
        self.assertEqual(windows[6]["closed_by"], "error")
        hurt_input = next(each for each in ended.documents_of("input") if each["name"] == str(path))
        self.assertEqual(windows[6]["error"], hurt_input["error"])
        self.assertEqual(self.assert_judged(ended), [True] * 3 + [False] * 4 + [True])
        self.assert_sum(ended)

    def test_windows_end_at_the_end_of_the_result_also_if_several_frames_are_in_one_block(self):
        frames = [zstd(noise(66_000, seed), "--check") for seed in range(9)]  # a block holds three of these frames
        chosen = random.Random(7)
        for _ in range(12):
            hit = chosen.randrange(9)
            hurt = bytearray(frames[hit])
            hurt[chosen.randrange(20, len(hurt))] ^= 1 << chosen.randrange(8)
            path = self.file("hurt.zst", b"".join([*frames[:hit], hurt, *frames[hit + 1 :]]))
            with self.subTest(hit=hit):
                ended = run(*JSONL, "--window", "7000B", "-T", str(chosen.randrange(1, 5)), path)
                self.assertEqual(ended.status, 1)
                self.assert_sum(ended)
                self.assertGreaterEqual(ended.result["bytes"], 66_000 * hit)

    def test_after_skipped_damage_a_new_window_begins(self):
        parts = [text(10_000, i) for i in range(3)]
        frames = [zstd(part) for part in parts]
        hurt = bytearray(frames[1])
        hurt[-2] ^= 1
        path = self.file("hurt.zst", frames[0] + bytes(hurt) + frames[2])
        ended = run(*JSONL, "--window", "3000B", "--step", "1500B", "--skip-damage", path)
        windows = ended.documents_of("window")
        before, behind = parts[0] + parts[1], parts[2]
        texts = [before[at : at + 3000] for at in range(0, 20_000, 1500)] + [behind[at : at + 3000] for at in range(0, 10_000, 1500)]
        offsets = list(range(0, 20_000, 1500)) + list(range(20_000, 30_000, 1500))
        self.assert_windows(windows, texts, offsets)
        self.assertEqual([each["index"] for each in windows if not each["complete"]], [12, 13])
        self.assertIn("frame 2", windows[13]["error"])
        good = [offset + 3000 <= 10_000 or offset >= 20_000 for offset in offsets]
        self.assertEqual(self.assert_judged(ended), good)

    def test_windows_of_a_truncated_stream_and_of_a_missing_input_have_the_error(self):
        data = noise_free(300_000)
        encoded = zstd(data)
        ended = run(*JSONL, "--window", "100000B", stdin_bytes=encoded[: len(encoded) * 2 // 3])
        windows = ended.documents_of("window")
        self.assertIs(windows[-1]["complete"], False)
        self.assertEqual(windows[-1]["error"], ended.documents_of("input")[0]["error"])
        self.assertFalse(any(self.assert_judged(ended)))
        self.assert_sum(ended)
        ended = run(*JSONL, "--window", "1000B", self.file("a", b"a" * 1500), self.folder / "missing", self.file("b", b"b" * 900))
        self.assert_windows(ended.documents_of("window"), [b"a" * 1000, b"a" * 500, b"b" * 900])
        self.assertIn("No such file", ended.documents_of("window")[1]["error"])

    def test_windows_close_at_the_end_of_a_damaged_archive_and_a_new_window_begins_with_the_next_input(self):
        encoded = zstd(tar({f"{i}.log": text(5000, i) for i in range(3)}))
        hurt = encoded[:-3] + bytes([encoded[-3] ^ 1]) + encoded[-2:]
        after = self.file("after", b"after\n" * 200)
        ended = run(*JSONL, "--window", "2000B", self.file("hurt.tar.zst", hurt), after)
        windows = ended.documents_of("window")
        self.assertEqual(ended.status, 1)
        judged = self.assert_judged(ended)
        self.assertEqual((windows[-1]["bytes"], judged[-1], windows[-1]["complete"]), (1200, True, True))
        self.assertFalse(any(judged[:-1]))
        self.assertIs(windows[-2]["complete"], False)
        self.assert_sum(ended)


def noise_free(size):
    return text(size, 9)


class Live(WindowTest):
    def lines(self, running):
        while True:
            line = running.process.stdout.readline()
            self.assertTrue(line, "it ended early")
            yield json.loads(line)

    def test_a_closed_window_is_reported_while_the_stream_continues(self):
        for extent, first, encoded in (("6B", b"a\nb\nc\nd\n", False), ("3lines", b"a\nb\nc\nd\n", False), ("6B", b"a\nb\nc\nd\n", True)):
            with self.subTest(extent=extent, encoded=encoded):
                with Running(*JSONL, "--window", extent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                    feed(running, [zstd(first) if encoded else first])
                    reported = next(self.lines(running))
                    self.assertEqual((reported["kind"], reported["index"], reported["bytes"]), ("window", 0, 6))
                    running.process.stdin.close()
                    rest = [json.loads(line) for line in running.process.stdout]
                    self.assertEqual(rest[-1]["bytes"], 8)
                    self.assertEqual(running.finish().status, 0)

    def test_windows_of_time_hold_the_data_that_arrived_in_them_and_are_reported_also_without_data(self):
        pieces = [text(1000, 1), text(2000, 2), text(500, 3)]
        with Running(*JSONL, "--window", "200ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            windows = []
            lines = self.lines(running)
            for piece in pieces:
                feed(running, [piece])
                fed = time.time()
                # until the window of this piece and an empty window after it were reported
                while not windows or windows[-1]["bytes"] or windows[-1]["end_offset"] == 0 or instant(windows[-1]["start_time"]) < fed:
                    windows.append(next(lines))
            running.process.stdin.close()
            rest = [json.loads(line) for line in running.process.stdout]
            self.assertEqual(running.finish().status, 0)
        windows += [each for each in rest if each["kind"] == "window"]
        self.assertEqual([each["index"] for each in windows], list(range(len(windows))))
        for before, after in zip(windows, windows[1:]):
            self.assertEqual((before["end_offset"], before["end_time"]), (after["first_offset"], after["start_time"]))
        for each in windows[: len(windows) - 1]:
            self.assertAlmostEqual(instant(each["end_time"]) - instant(each["start_time"]), 0.2, 5)
        data = b"".join(pieces)
        self.assert_windows(windows, [data[each["first_offset"] : each["end_offset"]] for each in windows])
        self.assertEqual(windows[-1]["end_offset"] if windows else 0, len(data))

    def test_windows_of_time_may_overlap(self):
        with Running(*JSONL, "--window", "100ms", "--step", "50ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            lines = self.lines(running)
            windows = [next(lines)]
            feed(running, [b"hello\n"])
            while not windows[-1]["bytes"]:
                windows.append(next(lines))
            windows.append(next(lines))
            running.process.stdin.close()
            windows += [json.loads(line) for line in running.process.stdout]
            self.assertEqual(running.finish().status, 0)
        with_text = [each for each in windows if each["kind"] == "window" and each["bytes"]]
        self.assertEqual([each["bytes"] for each in with_text], [6, 6])  # a window has two steps
        self.assertAlmostEqual(instant(with_text[1]["start_time"]) - instant(with_text[0]["start_time"]), 0.05, 5)

    def test_a_signal_closes_the_open_window(self):
        with Running(*JSONL, "--window", "1000B", "--snapshot-every", "10ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [text(2500)])
            seen = []
            for line in running.process.stdout:
                seen.append(json.loads(line))
                if seen[-1]["kind"] == "snapshot" and seen[-1]["bytes"] == 2500:
                    break
            running.process.send_signal(signal.SIGTERM)
            seen += [json.loads(line) for line in running.process.stdout]
            self.assertEqual(running.finish().status, -signal.SIGTERM)
        windows = [each for each in seen if each["kind"] == "window"]
        self.assert_windows(windows, split(text(2500), 1000))
        self.assertEqual([each["complete"] for each in windows], [True, True, False])
        self.assertIn("stopped at offset 2500", windows[2]["error"])

    def test_sigusr1_requests_a_snapshot_between_the_windows_also_in_an_appended_file(self):
        for append in ((), ("--append",)):
            output = self.file(f"output{len(append)}", b"")

            def reported(kind, output=output):
                return [each for each in map(json.loads, output.read_bytes().splitlines()) if each["kind"] == kind]

            with self.subTest(append=append), Running(*JSONL, "--window", "1000B", *append, "-o", output, stdin=subprocess.PIPE) as running:
                sent = b""
                for more in (text(2500), text(700)):
                    feed(running, [more])
                    sent += more
                    wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
                    # bytes that were read may not be in a slot yet
                    while not reported("snapshot") or reported("snapshot")[-1]["bytes"] < len(sent):
                        before = len(reported("snapshot"))
                        running.process.send_signal(signal.SIGUSR1)
                        wait_until(lambda: len(reported("snapshot")) > before)
                    self.assert_counts(reported("snapshot")[-1], sent)
                running.process.stdin.close()
                self.assertEqual(running.process.wait(PATIENCE), 0)
                self.assert_windows(reported("window"), split(sent, 1000))
                self.assert_counts(reported("result")[0], sent)

    def test_followed_files_are_divided_together_or_each_for_itself(self):
        paths = [self.file("a.log", b"a" * 25), self.file("b.log", b"b" * 25)]
        for options, expected in ((("--per-input",), [10, 10, 10, 10, 10, 10]), ((), [10] * 6)):
            for path, letter in zip(paths, b"ab"):
                path.write_bytes(bytes([letter]) * 25)
            with Running(*JSONL, "--follow", "--window", "10B", *options, *paths, stdout=subprocess.PIPE) as running:
                lines = self.lines(running)
                windows = [next(lines) for _ in range(4 if options else 5)]
                for path, letter in zip(paths, b"ab"):
                    with path.open("ab") as log:
                        log.write(bytes([letter]) * 5)
                while len(windows) < 6:
                    windows.append(next(lines))
                running.process.send_signal(signal.SIGTERM)
                rest = [json.loads(line) for line in running.process.stdout]
                running.finish()
            self.assertEqual([each["bytes"] for each in windows], expected)
            self.assertEqual(rest[-1]["bytes"], 60)
            if options:
                for each in windows:
                    self.assertEqual(max(each["buckets"]["letters"].values()), 10)
                    self.assertIn(each["source"], map(str, paths))

    def test_a_reader_that_stalls_stops_the_run_and_memory_does_not_grow(self):
        data = text(8_000_000)
        path = self.file("a.log", data)
        with Running(*JSONL, "--window", "64B", path, stdout=subprocess.PIPE) as running:
            status = f"/proc/{running.process.pid}/status"
            time.sleep(1)
            with open(status) as lines:
                fields = dict(line.split(":", 1) for line in lines)
            if not SANITIZED and ENGINE == "host":
                self.assertLess(int(fields["VmRSS"].split()[0]), 64 * 1024)
            windows = sum(1 for line in running.process.stdout if line.startswith(b'{"kind":"window"'))
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(windows, 125_000)

    def test_a_reader_that_closes_the_pipe_ends_the_run(self):
        path = self.file("a.log", text(2_000_000))
        with Running(*JSONL, "--window", "64B", path, stdout=subprocess.PIPE) as running:
            running.process.stdout.readline()
            running.process.stdout.close()
            self.assertNotEqual(running.process.wait(60), 0)


class Usage(WindowTest):
    def assert_refused(self, arguments, *words, stdin=subprocess.DEVNULL):
        self.assert_usage_error(run(*arguments, stdin=stdin), *words)

    def test_invalid_combinations_of_options_are_refused(self):
        path = self.file("a.log", b"abc")
        for name in ("table", "csv", "prometheus"):
            self.assert_refused(["--window", "1KiB", "--format", name, path], f"--format: {name} ", "--window", "--format jsonl")
        self.assert_refused([*JSONL, "--step", "1KiB", path], "--step", "requires --window")
        self.assert_refused([*JSONL, "--per-input", path], "--per-input", "requires --window")
        self.assert_refused([*JSONL, "--window", "1KiB", "--step", "2KiB", path], "--step", "longer than the window")
        self.assert_refused([*JSONL, "--window", "1KiB", "--step", "10lines", path], "another unit")
        self.assert_refused([*JSONL, "--window", "5ms", "-"], "10ms")

    def test_a_window_has_at_most_4096_panes(self):
        path = self.file("a.log", b"abc")
        self.assertEqual(run(*JSONL, "--window", "4096B", "--step", "1B", path).status, 0)
        self.assert_refused([*JSONL, "--window", "4097B", "--step", "1B", path], "4097", "4096")
        self.assert_refused([*JSONL, "--window", "8193B", "--step", "8192B", path], "8193", "4096")

    def test_windows_of_time_need_an_input_that_is_not_a_file(self):
        path = self.file("a.log", b"abc")
        self.assert_refused([*JSONL, "--window", "10s", path], "--window", "all inputs are files")
        self.assert_refused([*JSONL, "--window", "10s", "-r", self.folder], "all inputs are files")
        with path.open("rb") as redirected:
            self.assert_refused([*JSONL, "--window", "10s"], "all inputs are files", stdin=redirected)
        ended = run(*JSONL, "--window", "10s", path, "-", stdin_bytes=b"def")
        self.assert_windows(ended.documents_of("window"), [b"abcdef"])


if __name__ == "__main__":
    main()
