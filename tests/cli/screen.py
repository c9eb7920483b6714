"""A terminal for gpuhist: a pseudo-terminal with the program's session in its foreground, and a screen that accepts
only the characters and escape sequences that the program may write."""

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support import ENGINE, GPUHIST, PATIENCE

PROGRESS = re.compile(r"^( *\d+ %  |)\d+(\.\d+)? (of \d+(\.\d+)? )?[KMGT]?i?B\b.*( left| s|\))$")


class Screen:
    """The visible text of a terminal. The invariants of the progress line are checked at every character."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.row = self.column = 0
        self.redraws = 0
        self._is_above = False  # there is a progress line above the row of the cursor
        self._rest = ""

    def feed(self, text):
        text = self._rest + text
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                escape = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])").match(text, at)
                if not escape:
                    assert len(text) - at < 12, f"no escape sequence that this screen knows: {text[at:at + 12]!r}"
                    self._rest = text[at:]
                    return
                self._escape(*escape.groups())
                at = escape.end()
            else:
                self._character(text[at])
                at += 1

    def _escape(self, parameters, command):
        if command == "m":
            return
        assert (parameters, command) in (("", "K"), ("", "J")), f"\\x1b[{parameters}{command}"
        del self.rows[self.row][self.column :]
        if command == "J":
            del self.rows[self.row + 1 :]

    def _character(self, character):
        if character == "\r":
            self.column = 0
            self._check()
        elif character == "\n":
            self._is_above = self._check()
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append([])
        else:
            assert character.isprintable(), repr(character)
            if self.column == self.columns:
                self._character("\n")
                self.column = 0
            line = self.rows[self.row]
            line[self.column : self.column + 1] = [character]
            self.column += 1

    def _check(self):
        """Whether the row of the cursor is the progress line. Rows above it were checked when the cursor left them."""
        assert not self._is_above, f"progress above other lines: {self.lines}"
        line = self._line(self.row)
        is_progress = bool(PROGRESS.match(line))
        self.redraws += is_progress
        assert not is_progress or len(line) < self.columns, f"the last column is taken: {self.lines}"
        return is_progress

    def _line(self, row):
        return "".join(self.rows[row]).rstrip()

    @property
    def lines(self):
        lines = [self._line(row) for row in range(len(self.rows))]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def progress(self):
        """The progress line, if one is visible."""
        line = self._line(self.row)
        return line if PROGRESS.match(line) else ""


class OnTerminal:
    """A gpuhist on its own terminal. Standard error is the terminal, and standard output, too, unless it is given."""

    def __init__(self, *arguments, columns=80, wrapper=(), environment=None, stdin=subprocess.DEVNULL, stdout=None):
        self._master, self.slave = os.openpty()
        self.screen = Screen(columns)
        self.raw = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end inside a character
        self.resize(columns)

        def in_child():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_DFL)

        self.process = subprocess.Popen(
            [*wrapper, GPUHIST, "--engine", ENGINE, *map(os.fspath, arguments)],
            stdin=self.slave if stdin is None else stdin, stdout=stdout or self.slave, stderr=self.slave,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(environment or {})},
            preexec_fn=in_child, pass_fds=(self.slave,))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()
        os.close(self._master)
        os.close(self.slave)

    def resize(self, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, text):
        os.write(self._master, text)

    def look(self, seconds=0.05):
        """Reads output for that time; returns whether there was any."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        data = os.read(self._master, 65536)
        self.raw += data
        self.screen.feed(self._decoder.decode(data))
        return True

    def watch_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"timed out; the screen: {self.screen.lines}"
            self.look()

    def finish(self):
        """Reads output until the program ends; returns the exit status."""
        self.watch_until(lambda: self.process.poll() is not None)
        while self.look(0):
            pass
        return self.process.returncode
