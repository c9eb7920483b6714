"""Used by all suites of the command: it runs gpuhist, feeds it, and has the oracle with which its counts are compared.
The oracle is a few lines of Python over the decompressed bytes. It shares no code with the program."""

import array
import base64
import collections
import fcntl
import functools
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading
import time
import unittest
import zipfile

GPUHIST = os.environ.get("GPUHIST") or str(pathlib.Path(__file__).resolve().parents[2] / "bin" / "gpuhist")
ENGINE = os.environ.get("TEST_ENGINE", "host")
TEST_DATA = os.environ.pop("GPUHIST_TEST_DATA", None)  # test files of other projects; not an option of gpuhist
SANITIZED = bool(os.environ.get("TEST_SANITIZE"))
THREAD_SANITIZED = "thread" in os.environ.get("TEST_SANITIZE", "")
SKIPPED = 77  # the exit status that ctest reports as "skipped"
SAMPLE = os.environ.get("CAMPAIGN") == "sample"  # in CI
PATIENCE = 60  # seconds; a program that runs longer is considered hung

# Signals that the shell or ctest ignores are not ignored here. So a process that is started has their default actions.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)

ALL_SCHEMES = ("--buckets", "letters,classes,bytes,alphabet,utf8")

# ---- the oracle ------------------------------------------------------------------------------------------------------

_LETTERS = {"a-d": b"abcd", "e-h": b"efgh", "i-l": b"ijkl", "m-p": b"mnop", "q-t": b"qrst", "u-x": b"uvwx", "y-z": b"yz"}
_CLASSES = {
    "upper": bytes(range(0x41, 0x5B)),
    "lower": bytes(range(0x61, 0x7B)),
    "digit": b"0123456789",
    "space": b"\t\n\v\f\r ",
    "punctuation": b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "control": bytes(b for b in (*range(0x20), 0x7F) if b not in b"\t\n\v\f\r "),
    "non-ascii": bytes(range(0x80, 0x100)),
}
_ALPHABET = {letter: letter.encode() for letter in "abcdefghijklmnopqrstuvwxyz"}
_ENCODED = [chr(point).encode() for point in (*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 0x1000))]
_UTF8 = {
    "ascii": bytes(range(0x80)),
    "continuation": bytes({byte for each in _ENCODED for byte in each[1:]}),
    **{f"lead-{length}": bytes({each[0] for each in _ENCODED if len(each) == length}) for length in (2, 3, 4)},
    "never-utf8": bytes(set(range(0x100)) - {byte for each in _ENCODED for byte in each}),
}
del _ENCODED


def _fold(counts, scheme, rest=None):
    folded = {name: sum(counts[value] for value in members) for name, members in scheme.items()}
    if rest:
        folded[rest] = sum(counts.values()) - sum(folded.values())
    return folded


def _fold_custom(counts, scheme):
    return _fold(counts, scheme, None if sum(map(len, scheme.values())) == 256 else "other")


def without_run(printed):
    """Lines of JSON in which the random name of the run is replaced by a fixed one, and without what they were counted with."""
    return re.sub(rb'"run":"[0-9a-f]{16}"(,"counted_with":{[^}]*})?', b'"run":"0000000000000000"', printed)


def in_order_of(paths, printed):
    """Lines of JSON with those of the inputs in the order of `paths`; a run writes them as the inputs are finished."""
    given = [str(path) for path in paths]
    name = lambda line: os.fsdecode(base64.b64decode(line["name_base64"])) if "name_base64" in line else line["name"]
    lines = [(json.loads(line), line) for line in printed.splitlines(keepends=True)]
    inputs = sorted((each for each in lines if each[0]["kind"] == "input"), key=lambda each: given.index(name(each[0])))
    return b"".join(line for _, line in [*inputs, *(each for each in lines if each[0]["kind"] != "input")])


@functools.lru_cache(maxsize=8)  # tests compare several runs with the same text
def _counts_of_values(data):
    return collections.Counter(data)


def oracle(data, ignore_case=False, **custom):
    """The expected report of these bytes: bytes, lines and counts by every scheme. `custom` are schemes by name, each
    with the members of its buckets by name."""
    counts = _counts_of_values(bytes(data.lower() if ignore_case else data))
    return {
        "bytes": len(data),
        "lines": counts[0x0A],
        "buckets": {
            "letters": _fold(counts, _LETTERS, "other"),
            "classes": _fold(counts, _CLASSES),
            "bytes": {f"0x{value:02x}": counts[value] for value in range(256)},
            "alphabet": _fold(counts, _ALPHABET, "other"),
            "utf8": _fold(counts, _UTF8),
            **{name: _fold_custom(counts, scheme) for name, scheme in custom.items()},
        },
    }


def counts_of(part):
    """The fields of a result (or of an input, or of `unverified`) that the oracle computes."""
    return {key: part[key] for key in ("bytes", "lines", "buckets")}


def added(first, second):
    """The sum of two counts."""
    return {
        "bytes": first["bytes"] + second["bytes"],
        "lines": first["lines"] + second["lines"],
        "buckets": {
            scheme: {name: count + second["buckets"][scheme][name] for name, count in buckets.items()}
            for scheme, buckets in first["buckets"].items()
        },
    }


# ---- data ------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def text(size, seed=1):
    """Log-like text of exactly `size` bytes, with some UTF-8, tabs and control characters."""
    chosen = random.Random(seed)
    lines = []
    total = 0
    while total < size:
        line = (
            f"2026-03-{chosen.randrange(1, 32):02d} host-{chosen.randrange(100)} "
            f"{chosen.choice(['INFO', 'WARN', 'ERROR'])}\t{chosen.choice(['größe', '検索', 'quick brown fox', 'zzz', ''])} "
            f"\"GET /{chosen.randrange(10**9):x}\" {chosen.choice([200, 304, 404, 500])}{chosen.choice(['', chr(7), chr(127)])}\n"
        ).encode()
        lines.append(line)
        total += len(line)
    return b"".join(lines)[:size]


@functools.lru_cache(maxsize=None)
def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def tar(files, format=tarfile.USTAR_FORMAT, extra=()):
    """A tar archive of these files, and of `extra` members that are not files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for info in extra:
            archive.addfile(info)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_entry(name, data=b"", kind=b"0", format=tarfile.USTAR_FORMAT):
    """The header and the content of one tar member."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    return info.tobuf(format) + data + bytes(-len(data) % 512)


def zipped(files, compression=zipfile.ZIP_DEFLATED, **options):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression, **options) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


class _Pipe(io.RawIOBase):
    """Without seek(), as a pipe."""

    written = b""

    def writable(self):
        return True

    def write(self, data):
        self.written += bytes(data)
        return len(data)


def zipped_to_pipe(files):
    """A zip archive in which sizes and checksums follow the members."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return pipe.written


def zstd(data, *options):
    """Compressed by the zstd command from a pipe: the frame has no content size."""
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def random_schemes(chosen):
    """Random schemes: the definitions as arguments of the program, and their oracles by name."""
    definitions, oracles = [], {}
    for number in range(chosen.randrange(1, 4)):
        names = [f"b{i}" for i in range(chosen.choice((1, 2, 5, 40)))]
        rest = chosen.choice((None, "other"))  # whether every byte is in a bucket
        members = {name: [] for name in names}
        for value in range(256):
            members.setdefault(chosen.choice([*names, *([rest] if rest else [])]), []).append(value)
        members.pop("other", None)
        scheme = {name: bytes(values) for name, values in members.items() if values}
        if scheme:
            oracles[f"s{number}"] = scheme
            definitions.append(f"s{number}:" + ";".join(f"{name}={_typed(values)}" for name, values in scheme.items()))
    return definitions, oracles


def _typed(values):
    return "".join(chr(value) if chr(value).isalnum() and value < 128 else f"\\x{value:02x}" for value in values)


CALL_FAILED = "fake CUDA: a call fails\n"  # printed by tests/support/command_runtime.cpp


def calls_of_device(failing_at, at_most):
    """The number of calls that a run makes of the fake CUDA runtime. failing_at(call) runs it with a call that fails;
    at_most is more than the number."""
    low, high = 1, at_most
    while low < high:
        middle = (low + high) // 2
        if CALL_FAILED in failing_at(middle).stderr:
            low = middle + 1
        else:
            high = middle
    return low - 1


def evenly(cases, at_most):
    """At most `at_most` cases, evenly spread, with the first and the last; all cases if there are no more."""
    cases = list(cases)
    if len(cases) <= at_most:
        return cases
    return [cases[number * (len(cases) - 1) // max(at_most - 1, 1)] for number in range(at_most)]


def sampled(cases, at_most):
    """Cases in which neither the engine nor a sanitizer matters: usually all of them; a few with CUDA, because each start
    takes tenths of a second, and with CAMPAIGN=sample."""
    return evenly(cases, at_most) if ENGINE == "cuda" or SAMPLE else list(cases)


# ---- running ---------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def kernel_shows_where_threads_sleep():
    sleeper = threading.Thread(target=time.sleep, args=(1,), daemon=True)
    sleeper.start()
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        if pathlib.Path(f"/proc/self/task/{sleeper.native_id}/wchan").read_text() != "0":
            return True
    return False


class Running:
    """A gpuhist that runs. Its output goes to files, so that it never waits for the test."""

    def __init__(self, *arguments, engine=ENGINE, sigint=signal.SIG_DFL, **popen):
        self._stdout = tempfile.TemporaryFile()
        self._stderr = tempfile.TemporaryFile()
        engine_option = ("--engine", engine) if engine else ()
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", self._stdout)
        popen.setdefault("stderr", self._stderr)

        if sigint != signal.SIG_DFL:  # without preexec_fn, Python starts processes faster
            popen["preexec_fn"] = lambda: signal.signal(signal.SIGINT, sigint)
        self.process = subprocess.Popen([GPUHIST, *engine_option, *map(os.fspath, arguments)], **popen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self._stdout, self._stderr, self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def printed(self):
        """The standard output so far."""
        return self._content(self._stdout)

    def messages(self):
        """The standard error so far."""
        return self._content(self._stderr).decode("utf-8", "backslashreplace")

    def waits_for_a_lock(self):
        """Whether its main thread sleeps between two attempts to lock a file. It sleeps for no other reason."""
        try:
            sleeps_in = pathlib.Path(f"/proc/{self.process.pid}/wchan").read_text()
        except FileNotFoundError:
            return False
        if not kernel_shows_where_threads_sleep():
            time.sleep(2)  # a small run has reached the lock by then
            return True
        return "nanosleep" in sleeps_in

    @staticmethod
    def _content(stream):  # pread: the program, which may still write, shares the offset
        return os.pread(stream.fileno(), os.fstat(stream.fileno()).st_size, 0)

    def finish(self):
        """Waits for its end. Returns the exit status and the output."""
        status = self.process.wait(PATIENCE)
        streams = []
        for stream in (self._stdout, self._stderr):
            stream.seek(0)
            streams.append(stream.read())
        return Ended(status, *streams)


_NOUNS = ("byte", "line", "input", "output", "file", "unit", "thread", "frame", "member", "window", "result", "slot", "chunk", "record", "part",
          "time", "piece", "group", "decoder", "stream", "core")  # fmt: skip
_WRONG_PLURAL = re.compile(rf"(?<![\w.,/-])1 (?:more |new )?(?:{'|'.join(_NOUNS)})s\b(?!\.)")


class Ended:
    def __init__(self, status, stdout, stderr):
        self.status = status
        self.stdout = stdout
        self.stderr = stderr.decode("utf-8", "backslashreplace")
        wrong = _WRONG_PLURAL.search(self.stderr)  # of every message that a suite provokes
        assert wrong is None, f"{wrong.group()!r} in a message: {self.stderr}"

    @property
    def documents(self):
        """The JSON documents on standard output, one for each line."""
        return [json.loads(line) for line in self.stdout.decode("utf-8").splitlines()]

    def documents_of(self, kind):
        """The documents of this kind, for example "window"."""
        return [each for each in self.documents if each["kind"] == kind]

    @property
    def result(self):
        return self.documents[-1]

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.stdout[-2000:].decode('utf-8', 'backslashreplace')}\nstderr: {self.stderr[-2000:]}"


def run(*arguments, stdin_bytes=None, **options):
    """Runs gpuhist to its end. `stdin_bytes` are fed through a pipe."""
    if stdin_bytes is None:
        with Running(*arguments, **options) as running:
            return running.finish()
    return run_fed([stdin_bytes], *arguments, **options)


def run_fed(pieces, *arguments, **options):
    """Runs gpuhist with a pipe into which the pieces are written one by one."""
    with Running(*arguments, stdin=subprocess.PIPE, **options) as running:
        feed(running, pieces)
        running.process.stdin.close()
        return running.finish()


def run_byte_by_byte(encoded, *arguments):
    """Runs gpuhist with a pipe into which the bytes are written one by one."""
    with Running(*arguments, stdin=subprocess.PIPE) as running:
        for at in range(len(encoded)):
            feed(running, [encoded[at : at + 1]])
            if at < 30:  # the magic number, too, arrives in pieces
                wait_until(lambda: unread(running.process.stdin.fileno()) == 0)
        running.process.stdin.close()
        return running.finish()


def file_size_limit(size):
    """For `preexec_fn` of a process: a write beyond this size fails with "File too large"."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def feed(running, pieces):
    descriptor = running.process.stdin.fileno()
    for piece in pieces:
        view = memoryview(piece)
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BrokenPipeError:  # the program stopped reading; the test checks whether it may
                return


def unread(descriptor):
    """The number of bytes in a pipe."""
    waiting = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, waiting)
    return waiting[0]


def wait_until(condition):
    """Waits until the condition holds; the test fails if it does not hold in time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("timed out")
        time.sleep(0.002)


# ---- tools -----------------------------------------------------------------------------------------------------------

_SEARCHED = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # logrotate is there, which users do not search


def tool(name):
    """The path of a command, or None."""
    return shutil.which(name, path=_SEARCHED)


def needs(*names):
    """Skips a test, or a class of tests, on a machine that lacks one of these commands."""
    missing = [name for name in names if tool(name) is None]
    return unittest.skipIf(missing, f"not on this machine: {', '.join(missing)}")


def remarks(ended):
    """The lines on standard error, except that random bytes look compressed."""
    return [line for line in ended.stderr.splitlines() if "looks compressed or encrypted" not in line]


# ---- test cases ------------------------------------------------------------------------------------------------------


class CommandTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuhist-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def require(self, name):
        """Skips the test, or the subtest around the call, on a machine that lacks this command."""
        if tool(name) is None:
            self.skipTest(f"not on this machine: {name}")

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def assert_counts(self, part, data, ignore_case=False, **custom):
        """Asserts that the counts are those of the data, by every scheme in the result."""
        expected = oracle(data, ignore_case, **custom)
        expected["buckets"] = {scheme: expected["buckets"][scheme] for scheme in part["buckets"]}
        self.assertEqual(counts_of(part), expected)

    def assert_counted(self, ended, data):
        """Asserts success, and that the totals are those of the data. That random bytes look compressed is no failure."""
        self.assertEqual((ended.status, remarks(ended)), (0, []), ended)
        self.assertIs(ended.result["complete"], True)
        self.assert_counts(ended.result, data)

    def assert_decoded(self, ended, data, format, encoded_size):
        """Asserts success with one input, of this format and compressed size, whose counts are those of the data."""
        self.assert_counted(ended, data)
        (reported,) = ended.result["inputs"]
        self.assertEqual((reported["format"], reported["compressed_bytes"]), (format, encoded_size))
        self.assert_counts(reported, data)

    def assert_same_with_threads(self, path, *options, threads=("2", "4")):
        """Asserts that all numbers of threads have the same output. Returns the run with one thread."""
        alone = run(*options, "--threads", "1", path)
        for number in threads:
            together = run(*options, "--threads", number, path)
            self.assertEqual((together.status, together.stderr), (alone.status, alone.stderr), number)
            self.assertEqual(together.stdout, alone.stdout, number)
        return alone

    def run_each(self, suffix, contents, *options):
        """Counts these contents in one run, each as a file. Returns the reported inputs, in order."""
        paths = [self.file(f"{number}{suffix}", content) for number, content in enumerate(contents)]
        ended = run(*options, *paths)
        self.assertIn(ended.status, (0, 1), ended)
        reported = ended.result["inputs"]
        self.assertEqual([each["name"] for each in reported], list(map(str, paths)))
        return reported

    def assert_usage_error(self, ended, *words):
        """Asserts exit status 2, nothing on standard output, and these words on standard error."""
        self.assertEqual((ended.status, ended.stdout), (2, b""), ended)
        for word in words:
            self.assertIn(word, ended.stderr)


def main():
    if not os.access(GPUHIST, os.X_OK):
        sys.exit(f"no program {GPUHIST}: set GPUHIST to the one to be tested")
    if ENGINE == "cuda" and not os.path.exists("/dev/nvidiactl"):
        print("skipped: no CUDA device on this machine (/dev/nvidiactl)")
        sys.exit(SKIPPED)
    unittest.main()
