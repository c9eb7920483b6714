"""The examples of docs/examples, built with find_package(gpuhist) from an installed tree only. KIND is the library that
they link, shared or static."""

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import unittest

from installed import EXAMPLES, HAVE_CUDA, LIBRARIES, PATIENCE, WARNINGS, built, command, configured, main, oracle, scratch, text

KIND = os.environ["KIND"]


def lines_of(counts):
    return [f"{name} {count}" for name, count in counts.items()]


def output_in_comment(source):
    """What the comment of an example shows below its command line."""
    shown = re.search(r"^[ */]*\$ .*\n((?:[ */]+[^\s*/].*\n)*)", (EXAMPLES / source).read_text(), re.MULTILINE)
    return [line.lstrip(" */") for line in shown.group(1).splitlines()]


def python_with_numpy():
    """The Python of the tests, or that of the system, for which NumPy is installed; None if there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch(cls)
        library = f"-DBUILD_SHARED_LIBS={'ON' if KIND == 'shared' else 'OFF'}"
        configured(EXAMPLES, cls.folder, library, f"-DCMAKE_CXX_FLAGS={' '.join(WARNINGS)}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        built(cls.folder)

    def run_example(self, name, **options):
        return command(self.folder / name, **options).stdout

    def filtered(self, *arguments, **options):
        """Of an example that filters: its exit status, what it kept, and the lines of JSON on standard error."""
        ended = subprocess.run([self.folder / arguments[0], *arguments[1:]], cwd=self.folder, capture_output=True, check=False, **options)
        return ended.returncode, ended.stdout.decode(), [json.loads(line) for line in ended.stderr.splitlines()]

    def test_the_requested_library_is_linked(self):
        needed = command("readelf", "-d", self.folder / "count_stdin").stdout
        self.assertEqual("libgpuhist.so.0" in needed, KIND == "shared", needed)

    def test_the_c_program_counts_its_standard_input(self):
        for data in (b"", b"hello, world\n", text(3_000_001)):
            with self.subTest(size=len(data)):
                printed = self.run_example("count_stdin", input=data)
                self.assertEqual(printed.splitlines(), lines_of(oracle(data)["buckets"]["letters"]))
        shown = output_in_comment("count_stdin.c")
        self.assertEqual(self.run_example("count_stdin", input=b"hello, world\n").splitlines(), shown)

    def test_the_c_program_writes_the_lines_that_are_not_mostly_digits(self):
        data = b"".join(b"%d\n" % n * (n % 3) + b"line %d\n" % n for n in range(100_000)) + b"last"
        lines = data.splitlines(keepends=True)
        is_kept = [2 * sum(48 <= byte < 58 for byte in line) <= len(line) for line in lines]
        kept = [line for line, keeps in zip(lines, is_kept) if keeps]
        self.assertTrue(0 < len(kept) < len(lines))
        status, printed, events = self.filtered("filter_stdin", input=data)
        self.assertEqual((status, printed), (0, b"".join(kept).decode() + f"dropped {len(lines) - len(kept)} lines\n"))
        self.assertEqual([event["line"] for event in events], [number for number, keeps in enumerate(is_kept, 1) if not keeps])
        printed = self.filtered("filter_stdin", input=b"alpha\n4711\n12\nbeta 1\n")[1]
        self.assertEqual(printed.splitlines(), output_in_comment("filter_stdin.c"))

    def test_the_c_program_writes_the_lines_of_a_damaged_file_whose_field_is_mostly_letters(self):
        def filtered(content):
            (self.folder / "docs.jsonl").write_bytes(content)
            status, printed, events = self.filtered("filter_file", "docs.jsonl")
            return status, printed.splitlines(), events

        made = [b'{"text":"alpha"}\n', b'{"text":"4711"}\n', b'{"title":"beta"}\n']
        status, printed, events = filtered(b"".join(made))
        self.assertEqual((status, printed), (0, output_in_comment("filter_file.c")))
        self.assertEqual(sorted(event["kind"] for event in events), ["input", "notice", "result", "unit", "unit"])
        damaged = bytearray(gzip.compress(made[0]))
        damaged[-6] ^= 1  # the checksum
        status, printed, events = filtered(gzip.compress(made[1] + made[0]) + bytes(damaged) + gzip.compress(made[1] + made[0]))
        self.assertEqual((status, printed), (1, (made[0] * 2).decode().splitlines()))
        units = events[-1]["units"]
        self.assertEqual((units["seen"], units["selected"], units["unverified"]), (5, 2, 2))

    def test_the_stream_buffer_forwards_all_text_and_counts_it(self):
        for data in (b"", b"hello, world\n", text(1_000_000) + b"\n"):
            with self.subTest(size=len(data)):
                counted = {name: count for name, count in oracle(data)["buckets"]["classes"].items() if count}
                printed = self.run_example("counting_streambuf", input=data)
                self.assertEqual(printed, data.decode(errors="replace") + "".join(f"{line}\n" for line in lines_of(counted)))
        shown = output_in_comment("counting_streambuf.cpp")
        self.assertEqual(self.run_example("counting_streambuf", input=b"hello, world\n").splitlines(), shown)

    def test_the_socket_program_counts_each_connection(self):
        data = [b"hello\n", text(2_000_003), b""]
        with subprocess.Popen([self.folder / "count_socket", "0", "3"], stdout=subprocess.PIPE, text=True) as program:
            self.addCleanup(program.kill)
            port = int(re.search(r"port (\d+)", program.stdout.readline()).group(1))
            for each in data:
                with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                    connection.sendall(each)
            printed = program.communicate(timeout=PATIENCE)[0]
        self.assertEqual(program.returncode, 0)
        expected = [f"connection {n}: bytes {len(each)}, lines {each.count(10)}" for n, each in enumerate(data, 1)]
        self.assertEqual(printed.splitlines(), [*expected, ", ".join(lines_of(oracle(b"".join(data))["buckets"]["letters"]))])

    def test_the_cancelled_program_counts_a_prefix_of_its_text(self):
        printed = self.run_example("cancel", input=b"\n")
        total, first = map(int, re.fullmatch(r"cancelled after (\d+) bytes, (\d+) of them a-d\n", printed).groups())
        self.assertEqual(first, total // 8 * 4 + min(total % 8, 4))  # of the text "abcdefghabcdefgh..."

    @unittest.skipUnless(KIND == "shared", "Python loads the shared library")
    def test_the_python_script_counts_numpy_arrays_of_any_type_where_they_lie(self):
        python = python_with_numpy()
        if python is None:
            self.skipTest("NumPy is not installed")
        self.assert_python_counts(python, "import numpy; given = numpy.frombuffer(data, dtype='<u2').reshape(1000, -1)")

    @unittest.skipUnless(KIND == "shared", "Python loads the shared library")
    def test_the_python_script_counts_a_bytearray_or_a_part_of_it_without_numpy(self):
        self.assert_python_counts(sys.executable, "given = memoryview(data)", "sys.modules['numpy'] = None")

    def assert_python_counts(self, python, given, before=""):
        data = text(2_000_000)
        (self.folder / "data").write_bytes(data)
        environment = {**os.environ, "GPUHIST_LIBRARY": str(LIBRARIES / "libgpuhist.so.0"), "PYTHONPATH": str(EXAMPLES)}
        program = f"""
import sys
{before}
import count_array
data = bytearray(open(sys.argv[1], "rb").read())
{given}
counts, complete = count_array.count_bytes(given)
print(complete, *counts)
"""
        printed = command(python, "-B", "-c", program, self.folder / "data", env=environment).stdout
        self.assertEqual(printed.split(), ["True", *map(str, oracle(data)["buckets"]["bytes"].values())])
        printed = command(python, "-B", EXAMPLES / "count_array.py", env=environment).stdout
        self.assertEqual(printed.splitlines(), output_in_comment("count_array.py"))

    @unittest.skipUnless(HAVE_CUDA, "built without CUDA")
    def test_the_cuda_programs_count_device_memory(self):
        for name in ("count_device_memory", "count_in_a_graph"):
            with self.subTest(name=name):
                self.assertTrue((self.folder / name).exists())
                ended = subprocess.run([self.folder / name], capture_output=True, text=True, timeout=PATIENCE, check=False)
                if re.search("no CUDA-capable device|driver version is insufficient", ended.stderr):
                    self.skipTest(ended.stderr.strip())
                self.assertEqual(ended.stdout.splitlines(), output_in_comment(f"{name}.cpp"), ended.stderr)


if __name__ == "__main__":
    main()
