"""Progress when standard error is not a terminal: reported only on request, as plain lines, with true numbers."""

import re
import signal
import subprocess
import time

from support import PATIENCE, CommandTest, Running, feed, main, run, text, wait_until

LINE = re.compile(r"^gpuhist: (?:(\d+) %  )?(\S+) (?:of (\S+) )?(\S+) read \([^)]*B/s\)(?:, \S+ \S+ counted \([^)]*B/s\))?(?:, .+)?$")


class Progress(CommandTest):
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
