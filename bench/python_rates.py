"""Rates of the Python package, as ratios to what it is compared with. The contenders alternate, so that other load on
the machine affects both; printed are medians of the ratios of single rounds.

    python3 bench/python_rates.py [--rounds 15] [--mebibytes 1024] [--program build/dev/feed_rate] FOLDER

- `Counter.feed` of buffers of 1 MiB beside `gpuhist::input::feed` in C++ (--program), one thread, in memory.
- `gpuhist.count` of a zstd file beside the module zstandard with NumPy's bincount, by blocks of 1 MiB.
- `gpuhist.count_table` of a column with texts of 1,600 bytes, one core, beside PyArrow's compute functions for the same
  condition; and with presets.

FOLDER is for the zstd file. Needs the packages gpuhist, numpy, pyarrow and zstandard.
"""

import argparse
import pathlib
import statistics
import subprocess
import time

import numpy
import pyarrow
import pyarrow.compute
import zstandard

import gpuhist

MEBIBYTE = 1 << 20


def log_text(size):
    """A log: words and numbers from a fixed seed."""
    generator = numpy.random.default_rng(1)
    words = [b"GET", b"/index.html", b"HTTP/1.1", b"200", b"error", b"timeout", b"connection", b"reset", b"-", b"user"]
    numbers = generator.integers(0, 1_000_000, 40_000)
    chosen = generator.integers(0, len(words), 160_000)
    lines = [b"%06d %s %s %s\n" % (number, *(words[word] for word in chosen[4 * at : 4 * at + 3])) for at, number in enumerate(numbers)]
    block = b"".join(lines)
    return (block * (size // len(block) + 1))[:size]


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def fed_rate(data, buckets, rounds):
    """GB/s of Counter.feed in Python: the calls of feed only, as in the C++ program."""
    with gpuhist.Counter(buckets=buckets, threads=1, engine="host") as counter, counter.open_input("bench") as opened:
        feed = opened.feed
        feed(data)  # as in C++: the first call is not measured
        return rounds * len(data) / seconds(lambda: [feed(data) for _ in range(rounds)]) / 1e9


def cpp_rate(program, data, buckets, rounds):
    return float(subprocess.run([program, buckets, str(rounds)], input=data, check=True, stdout=subprocess.PIPE).stdout)


def compare_feeding(program, buckets, repetitions):
    data = log_text(MEBIBYTE)
    pairs = [(fed_rate(data, buckets, 4000), cpp_rate(program, data, buckets, 4000)) for _ in range(repetitions)]
    ratio = statistics.median(python / cpp for python, cpp in pairs)
    print(f"feed, 1 MiB, {buckets}: Python {statistics.median(p for p, _ in pairs):.2f} GB/s, "
          f"C++ {statistics.median(c for _, c in pairs):.2f} GB/s, median ratio {ratio:.3f}", flush=True)


def write_frames(path, text, frame):
    """`frame` bytes of text in each frame, as pzstd writes them."""
    compressor = zstandard.ZstdCompressor(level=3)
    path.write_bytes(b"".join(compressor.compress(text[at : at + frame]) for at in range(0, len(text), frame)))


def zstandard_with_numpy(path):
    """The counts of the 256 byte values."""
    counts = numpy.zeros(256, dtype=numpy.int64)
    with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader:
        while block := reader.read(MEBIBYTE):
            counts += numpy.bincount(numpy.frombuffer(block, dtype=numpy.uint8), minlength=256)
    return counts.tolist()


def compare_files(path, label, repetitions):
    def ours():
        return gpuhist.count(path, buckets="bytes", engine="host").counts()

    assert ours() == zstandard_with_numpy(path)
    pairs = [(seconds(lambda: zstandard_with_numpy(path)), seconds(ours)) for _ in range(repetitions)]
    print(f"count, {label}: {statistics.median(o for _, o in pairs):.3f} s, zstandard + NumPy "
          f"{statistics.median(t for t, _ in pairs):.3f} s, median ratio {statistics.median(t / o for t, o in pairs):.2f}", flush=True)


def column_of(text, size=1600):
    """Texts of this size, which lie together."""
    offsets = numpy.arange(0, len(text) + 1, size, dtype=numpy.int64)
    return pyarrow.LargeStringArray.from_buffers(len(offsets) - 1, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text))


def digits_by_pyarrow(column):
    """How many texts have at most a fifth of digits."""
    digits = pyarrow.compute.count_substring_regex(column, "[0-9]")
    return pyarrow.compute.sum(pyarrow.compute.less_equal(pyarrow.compute.multiply(digits, 5), pyarrow.compute.binary_length(column))).as_py()


def compare_tables(text, repetitions):
    column = column_of(text)

    def ours(**options):
        return gpuhist.count_table(column, threads=1, engine="host", **options).rows.kept

    def rate(call):
        """GB of text per second of processor time: all of it is of one core."""
        begin = time.process_time()
        call()
        return len(text) / (time.process_time() - begin) / 1e9

    assert ours(drop_if="digit > 0.2") == digits_by_pyarrow(column)
    pairs = [(rate(lambda: digits_by_pyarrow(column)), rate(lambda: ours(drop_if="digit > 0.2"))) for _ in range(repetitions)]
    print(f"count_table, drop_if: {statistics.median(o for _, o in pairs):.2f} GB/s of processor time, PyArrow "
          f"{statistics.median(t for t, _ in pairs):.3f}, median ratio {statistics.median(o / t for t, o in pairs):.1f}", flush=True)
    for preset in ("nemo", "gopher"):
        median = statistics.median(rate(lambda: ours(preset=preset)) for _ in range(repetitions))
        print(f"count_table, preset {preset}: {median:.2f} GB/s of processor time", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--mebibytes", type=int, default=1024, help="of text in the zstd file")
    parser.add_argument("--program", type=pathlib.Path, help="the C++ program: build/PRESET/feed_rate, made with -DGPUHIST_PYTHON=ON")
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    if given.program:
        for buckets in ("letters", "bytes"):
            compare_feeding(given.program, buckets, given.rounds)
    text = log_text(given.mebibytes * MEBIBYTE)
    compare_tables(text, given.rounds)
    for label, frame in (("one frame", len(text)), ("frames of 8 MiB", 8 * MEBIBYTE)):
        path = given.folder / "python_rates.zst"
        write_frames(path, text, frame)
        compare_files(path, f"zstd, {label}", given.rounds)
        path.unlink()


if __name__ == "__main__":
    main()
