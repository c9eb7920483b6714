"""gpuhist on a terminal: one progress line that never scrolls or wraps, is erased at the end and mixes with no text.
Progress when standard error is not a terminal: reported only on request, as plain lines, with true numbers."""

import json
import re
import signal
import subprocess
import time

from screen import OnTerminal
from support import PATIENCE, CommandTest, Running, feed, main, run, text, unread, wait_until

WAS_REDRAWN = re.compile(rb"\r[ -~]+\x1b\[K\r")
A_WHILE = 0.8  # seconds; a progress line would be drawn twice in this time
SHORT = 0.3  # seconds; no progress line is drawn before


class Progress(CommandTest):
    def show(self, running, times=3):
        """Reads output until the line was redrawn that many times."""
        before = running.screen.redraws
        running.watch_until(lambda: running.screen.redraws >= before + times and running.screen.progress)

    def assert_nothing_shows(self, *arguments, **options):
        with OnTerminal(*arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **options) as running:
            feed(running, [text(1000)])
            deadline = time.monotonic() + A_WHILE
            while time.monotonic() < deadline:
                running.look()
            running.process.stdin.close()
            self.assertEqual(running.finish(), 0)
        self.assertEqual(running.raw, b"")

    def test_the_final_screen_holds_only_the_report(self):
        data = text(100_000)
        for columns in (40, 80, 200):
            with self.subTest(columns=columns):
                with OnTerminal("--no-progress", self.file("data", data), columns=columns) as without:
                    self.assertEqual(without.finish(), 0)
                with OnTerminal("--label", self.folder / "data", columns=columns, stdin=subprocess.PIPE) as running:
                    feed(running, [data])
                    self.show(running)
                    running.process.stdin.close()
                    self.assertEqual(running.finish(), 0)
                self.assertEqual(running.screen.lines, without.screen.lines)

    def test_a_short_run_shows_no_progress(self):
        data, out = self.file("data", text(100_000)), self.folder / "out"
        seconds = SHORT
        while seconds >= SHORT:
            with OnTerminal("--format", "json", "--stats", "-o", out, data) as running:
                self.assertEqual(running.finish(), 0)
            seconds = json.loads(out.read_bytes())["stats"]["seconds"]
        self.assertEqual(running.raw, b"")

    def test_the_line_is_rewritten_in_place_and_erased_once(self):
        with OnTerminal(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
            for _ in range(5):
                feed(running, [text(1000)])
                self.show(running, 1)
            running.process.stdin.close()
            self.assertEqual(running.finish(), 0)
        self.assertEqual(WAS_REDRAWN.sub(b"", running.raw), b"\r\x1b[K")
        self.assertEqual(running.screen.lines, [])

    def test_for_files_the_line_shows_a_growing_share_and_the_remaining_time(self):
        data = self.file("data", text(1_000_000) * 100)
        for columns, form in ((40, r" *\d+ %  \d.*, .* left"), (200, r" *\d+ %  \d+\.\d of 95\.4 MiB read \(.*B/s\), .* left")):
            shares = []
            with self.subTest(columns=columns), OnTerminal("--chunk-size", "16", data, columns=columns) as running:
                for _ in range(3):
                    self.show(running, 1)
                    self.assertRegex(running.screen.progress, f"^{form}$")
                    shares.append(int(running.screen.progress.split("%")[0]))
                running.process.send_signal(signal.SIGINT)
                self.assertEqual(running.finish(), -signal.SIGINT)
                self.assertEqual(shares, sorted(shares))
                self.assertEqual(running.screen.progress, "")
                self.assertIn("endedbySIGINT", "".join(running.screen.lines).replace(" ", ""))  # may be wrapped

    def test_the_line_adapts_to_a_terminal_that_changes_its_width(self):
        with OnTerminal("--chunk-size", "16", self.file("data", text(1_000_000) * 100), columns=100) as running:
            self.show(running)
            self.assertIn(" read (", running.screen.progress)
            running.resize(30)
            running.watch_until(lambda: 0 < len(running.screen.progress) < 30)
            self.assertIn(b"\x1b[J", running.raw)  # erases also the part that the terminal had wrapped
            running.resize(100)
            running.watch_until(lambda: " read (" in running.screen.progress)
            running.process.send_signal(signal.SIGINT)
            self.assertEqual(running.finish(), -signal.SIGINT)

    def test_snapshots_are_printed_above_the_line_and_not_mixed_with_it(self):
        for form, columns, law in (("json", 4000, r'^\{"kind":"(snapshot|result)".*\}$'), ("table", 100, "^((?!B/s).)*$")):
            with self.subTest(form=form), OnTerminal(
                    "--format", form, "--snapshot-every", "30ms", columns=columns, stdin=subprocess.PIPE) as running:
                for _ in range(10):
                    feed(running, [text(1000)])
                    self.show(running, 3)
                running.process.stdin.close()
                self.assertEqual(running.finish(), 0)
            for line in running.screen.lines:
                self.assertRegex(line, law)
            self.assertGreater(len(running.screen.lines), 10)

    def test_a_requested_status_stays_above_the_line(self):
        with OnTerminal(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
            feed(running, [text(12345)])
            self.show(running)
            running.process.send_signal(signal.SIGUSR1)
            running.watch_until(lambda: len(running.screen.lines) == 2)
            self.show(running)
            running.process.stdin.close()
            self.assertEqual(running.finish(), 0)
        self.assertEqual(len(running.screen.lines), 1)
        self.assertRegex(running.screen.lines[0], r"^gpuhist: 12,345 bytes counted, 12,345 bytes read, ")

    def test_the_line_is_erased_before_the_message_of_a_run_that_fails(self):
        with OnTerminal("--snapshot-every", "1MB", "-o", "/dev/full", stdin=subprocess.PIPE) as running:
            feed(running, [text(1000)])
            self.show(running, 1)
            feed(running, [text(2_000_000)])
            self.assertEqual(running.finish(), 1)
        self.assertEqual(running.screen.lines, ["gpuhist: cannot write /dev/full: No space left on device"])

    def test_a_stopped_terminal_does_not_stop_the_run(self):
        with OnTerminal(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
            feed(running, [text(1000)])
            self.show(running)
            running.type(b"\x13")  # Ctrl-S
            time.sleep(A_WHILE)
            feed(running, [text(60_000)])  # a pipe has room for so much without a reader
            wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
            running.type(b"\x11")
            self.show(running)
            running.process.stdin.close()
            self.assertEqual(running.finish(), 0)

    def test_there_is_no_line_in_the_background_on_dumb_terminals_or_with_options_that_turn_it_off(self):
        in_background = ("bash", "-c", 'set -m; exec 3<&0 4>&2 2>/dev/null; "$0" "$@" <&3 2>&4 & wait $!')
        self.assert_nothing_shows(wrapper=in_background)
        self.assert_nothing_shows(environment={"TERM": "dumb"})
        self.assert_nothing_shows("--no-progress")
        self.assert_nothing_shows("-q")
        self.assert_nothing_shows("-q", "--progress")

    def test_the_line_is_erased_also_if_a_second_signal_follows_at_any_time(self):
        data = self.file("data", text(1_000_000) * 100)
        for pause in (0, 0.0001, 0.0005, 0.002, 0.008):
            with self.subTest(pause=pause), OnTerminal("--chunk-size", "16", data) as running:
                self.show(running, 1)
                # by kill: when Ctrl-C is typed, the terminal discards output that was not read yet, perhaps the erasure
                running.process.send_signal(signal.SIGINT)
                time.sleep(pause)
                running.process.send_signal(signal.SIGINT)
                self.assertEqual(running.finish(), -signal.SIGINT)
                self.assertFalse(any("B/s" in line for line in running.screen.lines), running.screen.lines)

    def test_statistics_have_the_width_and_the_colours_of_the_file_they_are_written_to(self):
        data = self.file("data", text(3_000))
        out, heading = self.folder / "out", re.compile(r"^stage +bytes(?: +busy s)?(?: +waiting s)?(?: +workers)? +busy( +GB/s busy)?$")

        def stats_on_terminal(columns, **environment):
            with OnTerminal("--stats", "-o", out, data, columns=columns, environment=environment) as running:
                self.assertEqual(running.finish(), 0)
            self.assertNotIn(b"\x1b", out.read_bytes())
            return running

        def shows_all(lines):
            [found] = filter(None, map(heading.match, lines))
            return bool(found[1])

        self.assertFalse(shows_all(stats_on_terminal(40).screen.lines))
        self.assertTrue(shows_all(stats_on_terminal(120).screen.lines))
        self.assertRegex(stats_on_terminal(80).raw, rb"\x1b\[[0-9;]+mstage")
        self.assertNotIn(b"\x1b[", stats_on_terminal(80, NO_COLOR="1").raw)
        # the report on a narrow terminal, the statistics in a file
        errors = self.folder / "errors"
        with OnTerminal("--stats", data, columns=40, wrapper=("sh", "-c", f'exec "$0" "$@" 2>{errors}')) as running:
            self.assertEqual(running.finish(), 0)
        self.assertIn(b"\x1b[", running.raw)
        self.assertNotIn(b"\x1b", errors.read_bytes())
        self.assertTrue(shows_all(errors.read_text().splitlines()))


class Typing(CommandTest):
    def test_one_line_says_that_typed_input_is_read_and_how_to_end_it(self):
        for arguments in ((), ("-",), ("--progress",)):
            with self.subTest(arguments=arguments), OnTerminal("--format", "json", *arguments, stdin=None, columns=400) as running:
                running.watch_until(lambda: running.screen.lines)
                self.assertEqual(running.screen.lines, ["gpuhist: counting what you type; Ctrl-D ends it; see also gpuhist --help"])
                running.type(b"some text\n\x04")
                self.assertEqual(running.finish(), 0)
                self.assertEqual(running.screen.lines[1], "some text")
                self.assertIn('"bytes":10', running.screen.lines[2])

    def test_no_progress_line_is_drawn_while_input_is_typed_slowly(self):
        with OnTerminal(stdin=None, stdout=subprocess.DEVNULL) as running:
            running.watch_until(lambda: running.screen.lines)
            time.sleep(A_WHILE)
            running.type(b"\x04")
            self.assertEqual(running.finish(), 0)
        self.assertEqual(len(running.screen.lines), 1)

    def test_the_line_is_not_printed_with_quiet_or_without_typed_input(self):
        data = self.file("data", b"hello")
        with OnTerminal("-q", stdin=None, stdout=subprocess.DEVNULL) as running:
            running.type(b"\x04")
            self.assertEqual(running.finish(), 0)
        self.assertNotIn("gpuhist", "".join(running.screen.lines))
        with OnTerminal(data, stdin=None, stdout=subprocess.DEVNULL) as running:
            self.assertEqual(running.finish(), 0)
        self.assertEqual(running.screen.lines, [])


LINE = re.compile(r"^gpuhist: (?:(\d+) %  )?(\S+) (?:of (\S+) )?(\S+) read \([^)]*B/s\)(?:, \S+ \S+ counted \([^)]*B/s\))?(?:, .+)?$")


class LinesOfProgress(CommandTest):
    def progress_of_slow_run(self, lines, *arguments, **options):
        """The first lines of progress of a long run, parsed. The run is then ended."""
        with Running("--progress", *arguments, stderr=subprocess.PIPE, **options) as running:
            printed = [running.process.stderr.readline().decode() for _ in range(lines)]
            running.process.send_signal(signal.SIGINT)
            remaining = running.process.stderr.read().decode()
            self.assertEqual(running.finish().status, -signal.SIGINT)
        self.assertIn("ended by SIGINT", remaining)
        for line in printed:
            self.assertRegex(line.rstrip("\n"), LINE)
            self.assertTrue(line.removesuffix("\n").isprintable())
        return [LINE.match(line).groups() for line in printed]

    def test_a_pipe_has_no_share(self):
        with Running("--progress", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            feed(running, [text(20_000)])
            printed = ""
            while "gpuhist: 20 KiB" not in printed:
                printed = running.process.stderr.readline().decode()
                self.assertRegex(printed, r"^gpuhist: (0 bytes|20 KiB) read \(.*B/s\), \d+ s\n$")
            feed(running, [text(30_000)])
            wait_until(lambda: b"gpuhist: 49 KiB read (" in running.process.stderr.readline())
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)

    def test_the_share_of_files_is_of_all_their_bytes_and_grows(self):
        data = self.file("data", text(1_000_000) * 50)
        printed = self.progress_of_slow_run(3, "--chunk-size", "16", data, data)
        shares = [int(share) for share, *_ in printed]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual({total for _, _, total, _ in printed}, {"95.4"})
        for share, read, total, _ in printed:
            self.assertLessEqual(abs(int(share) - 100 * float(read) / float(total)), 1.1)

    def test_the_size_of_redirected_input_is_counted_from_its_offset(self):
        data = self.file("data", text(1_000_000) * 100)
        with open(data, "rb") as file:
            file.seek(40_000_000)
            [(_, _, total, unit)] = self.progress_of_slow_run(1, "--chunk-size", "16", stdin=file.fileno())
        self.assertEqual((total, unit), ("57.2", "MiB"))

    def test_with_a_pipe_among_the_inputs_the_size_is_unknown(self):
        data = self.file("data", text(1_000_000))
        with Running("--progress", data, "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            self.assertNotIn(b"%", running.process.stderr.readline())
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)

    def test_progress_is_reported_only_on_request_and_not_for_a_short_run(self):
        data = self.file("data", text(1000))
        for arguments in ((), ("--progress",), ("--progress", "-q")):
            with self.subTest(arguments=arguments):
                ended = None
                while ended is None or ended.result["stats"]["seconds"] >= 1:  # that run was not short
                    ended = run(*arguments, "--format", "json", "--stats", data)
                self.assertEqual(ended.stderr, "")

    def test_a_reader_that_closes_standard_error_does_not_end_the_run(self):
        with Running("--progress", stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            feed(running, [text(1000)])
            running.process.stderr.readline()
            running.process.stderr.close()
            time.sleep(1.1)  # until the next line
            feed(running, [text(1000)])
            running.process.stdin.close()
            self.assertEqual(running.process.wait(PATIENCE), 0)


if __name__ == "__main__":
    main()
