"""The table: on terminals of several widths, with and without colours, in pipes and files."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import tty
import unicodedata

from support import ENGINE, GPUHIST, PATIENCE, CommandTest, main, oracle, run, text

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
UTF8 = {"LC_ALL": "C.UTF-8", "TERM": "xterm"}


def environment(**changes):
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "TERM")}
    return {**inherited, **changes}


def on_terminal(columns, *arguments, lines=50, **variables):
    """The output of gpuhist on a terminal of this size."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [GPUHIST, "--engine", ENGINE, *map(os.fspath, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL, env=environment(**(variables or UTF8))
    ) as process:
        os.close(slave)
        written = b""
        try:
            while piece := os.read(master, 65536):
                written += piece
        except OSError:  # EIO: no process has the terminal open any more
            pass
        os.close(master)
        process.wait(PATIENCE)
    return written.decode()


def width_of(line):
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


class Width(CommandTest):
    def setUp(self):
        super().setUp()
        self.files = [
            self.file("short.log", text(300_000)),
            self.file("a-name-that-is-longer-than-any-terminal-should-have-to-show-" * 2 + ".log", text(70_000, 2)),
            self.file("検索結果のログファイル-検索結果のログファイル-e\u0301e\u0301.log", text(1000, 3)),
        ]

    def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(self):
        for columns in (40, 80, 200):
            for schemes in ("letters", "classes", "bytes", "letters,classes,bytes"):
                with self.subTest(columns=columns, schemes=schemes):
                    table = ESCAPE.sub("", on_terminal(columns, "-b", schemes, *self.files))
                    lines = table.splitlines()
                    self.assertLessEqual(max(map(width_of, lines)), columns, table)
                    self.assertIn("371,000", table)
                    for size in ("300,000", "70,000", "1,000"):
                        self.assertTrue(any(f" {size}" in line and ".log" in line for line in lines), table)

    def test_bars_fill_a_terminal_up_to_a_maximum_width(self):
        longest = {
            columns: max(ESCAPE.sub("", line).count("█") for line in on_terminal(columns, self.files[0]).splitlines())
            for columns in (60, 80, 200, 1000)
        }
        self.assertLess(longest[60], longest[80])
        self.assertEqual((longest[200], longest[1000]), (60, 60))

    def test_a_report_of_many_inputs_fits_on_the_screen_with_buckets_and_totals(self):
        many = [self.file(f"{number}.txt", text(100, number)) for number in range(200)]
        for lines in (30, 50):
            printed = on_terminal(80, *many, lines=lines).splitlines()
            self.assertEqual(len(printed), lines - 1)  # the last line is for the prompt
            self.assertRegex(printed[-4], r"^\.\.\. and 1\d\d more \(--top all shows all\)$")
            self.assertRegex(printed[-2], r"^bytes +20,000$")
        self.assertEqual(len(on_terminal(80, "--top", "200", *many, lines=30).splitlines()), 8 + 1 + 201 + 3)
        self.assertEqual(run(*many).stdout.decode().count(".txt"), 200)

    def test_counts_are_those_of_the_oracle_at_every_width(self):
        data = text(300_000)
        for columns in (20, 40, 80):
            table = ESCAPE.sub("", on_terminal(columns, "-b", "letters", self.files[0]))
            for bucket, count in oracle(data)["buckets"]["letters"].items():
                self.assertRegex(table, rf"(?m)^{bucket} +{count:,}( |$)")


class Colour(CommandTest):
    def setUp(self):
        super().setUp()
        self.path = self.file("data", text(50_000))

    def test_colours_are_used_only_on_terminals(self):
        colored = on_terminal(80, self.path)
        self.assertRegex(colored, ESCAPE)
        piped = run(self.path, env=environment(**UTF8)).stdout.decode()
        self.assertEqual(ESCAPE.sub("", colored), piped)
        self.assertNotIn("\x1b", piped)

    def test_no_color_and_dumb_terminals_turn_colours_off(self):
        self.assertNotIn("\x1b", on_terminal(80, self.path, **UTF8, NO_COLOR="1"))
        self.assertNotIn("\x1b", on_terminal(80, self.path, LC_ALL="C.UTF-8", TERM="dumb"))

    def test_a_file_has_no_colours(self):
        self.assertEqual(on_terminal(80, "-o", self.folder / "out", self.path), "")
        self.assertNotIn(b"\x1b", (self.folder / "out").read_bytes())

    def test_incomplete_inputs_are_red(self):
        table = on_terminal(80, self.path, self.folder / "missing")
        self.assertRegex(table, r"\x1b\[1;31mINCOMPLETE\x1b\[0m  .*missing\r?\n")

    def test_bars_are_ascii_if_the_locale_is_ascii(self):
        table = on_terminal(80, self.path, LC_ALL="C", TERM="xterm")
        self.assertTrue(table.isascii())
        self.assertIn("####", table)
        self.assertIn("█", on_terminal(80, self.path))


class Order(CommandTest):
    def test_the_order_is_buckets_inputs_totals_and_incomplete_inputs(self):
        self.file("one", b"hello\n")
        self.file("two", b"x")
        # relative names, because long names are shortened
        lines = run("-b", "letters,classes", "one", "two", "missing", cwd=self.folder).stdout.decode().splitlines()
        starts = ["letters", "a-d", "classes", "upper", "input", "one", "bytes", "lines", "INCOMPLETE"]
        found = [next(i for i, line in enumerate(lines) if line.startswith(start)) for start in starts]
        self.assertEqual(found, sorted(found), lines)
        self.assertTrue(lines[-1].startswith("INCOMPLETE"))
        self.assertEqual([line.split() for line in lines[-3:-1]], [["bytes", "7"], ["lines", "1"]])

    def test_totals_alone_have_no_row_for_each_input(self):
        paths = [self.file("one", b"hello\n"), self.file("two", b"x")]
        table = run("--totals-only", *paths).stdout.decode()
        self.assertNotIn(str(self.folder), table)
        self.assertRegex(table, r"(?m)^bytes +7$")


if __name__ == "__main__":
    main()
