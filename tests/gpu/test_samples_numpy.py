"""Random histograms of samples compared with numpy.histogram, bincount and histogram2d.

    test_samples_numpy.py PROGRAM [--device] [--cases N] [--seed S]

PROGRAM is sample_cases, which reads the structures of sample_case.hpp. Exit status 77 (skipped) without NumPy, or with
--device where no device is. Counts must be equal. NumPy 1 assigns float16, float32 and small integers to even bins by
other rules, so with it only the other types are compared there.

Sums must be within TOLERANCE x the sum of the absolute weights of the histogram.
"""

import argparse
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's python3-numpy is for this one
try:
    import numpy as np
except ModuleNotFoundError:
    if sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])
    print("skipped: NumPy is not installed")
    sys.exit(77)

NUMPY_2 = int(np.__version__.split(".")[0]) >= 2
TYPES = ["uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64"]
WEIGHTS = ["float32", "float64", "int32"]
SAME_IN_NUMPY_1 = {"int32", "uint32", "int64", "float64"}
NUMPY, TYPED, LINSPACE, EDGES, INTEGERS = range(5)
NO_WEIGHTS = 255
TOLERANCE = 2.0**-30


class Refused(Exception):
    """NumPy does not make this histogram."""


def as_stored(values, kind):
    """The memory of values: bfloat16 is the upper half of a float32."""
    if kind != "bfloat16":
        return values
    return (np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)


def dtype_of(kind):
    return np.dtype("float32" if kind == "bfloat16" else kind)


def itemsize(kind):
    return 2 if kind == "bfloat16" else np.dtype(kind).itemsize


def random_values(rng, kind, count):
    """Samples, and a range that suits them."""
    dtype = dtype_of(kind)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        choice = rng.integers(0, 4)
        if choice == 0:
            low, high = info.min, info.max
        elif choice == 1:
            low, high = max(info.min, -20), 40
        elif choice == 2:
            middle = int(rng.integers(info.min, info.max, dtype=dtype.type, endpoint=True))
            low, high = max(info.min, middle - 1000), min(info.max, middle + 1000)
        else:
            low, high = 0, min(info.max, 1000)
        values = rng.integers(low, high, count, dtype=dtype.type, endpoint=True)
        return values, float(low), float(high)
    scale = float(rng.choice([1e-4, 1.0, 1.0, 100.0, 1e4 if kind == "float16" else 1e30]))
    offset = float(rng.choice([0.0, 0.0, 1.0, -3.0])) * scale
    choice = rng.integers(0, 5)
    with np.errstate(over="ignore"):
        if choice == 0:
            values = rng.normal(offset, scale, count)
        elif choice == 1:
            values = np.minimum(rng.lognormal(0, 2, count), 1e4) * scale * 1e-2 + offset
        elif choice == 2:
            values = rng.integers(-10, 11, count) * scale / 10 + offset
        elif choice == 3:
            values = np.full(count, offset + scale * rng.random())
        else:
            values = rng.random(count) * scale + offset
        values = values.astype(dtype)
    if kind == "bfloat16":
        values = (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    low, high = offset - scale, offset + scale
    if kind == "float16":
        low, high = max(low, -6e4), min(high, 6e4)
    return values, low, high


def with_special(rng, values):
    """Some samples become NaN, infinite, zero of either sign, or the largest number."""
    if values.dtype.kind != "f" or values.size == 0 or rng.random() < 0.5:
        return values
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype=values.dtype)
    where = rng.integers(0, values.size, max(1, values.size // 10))
    values = values.copy()
    values[where] = special[rng.integers(0, special.size, where.size)]
    return values


def on_edges(rng, values, edges):
    """Some samples become an edge, or a neighbour of one."""
    if values.size == 0 or rng.random() < 0.5:
        return values
    where = rng.integers(0, values.size, max(1, values.size // 4))
    chosen = edges[rng.integers(0, len(edges), where.size)]
    values = values.copy()
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            exact = chosen.astype(values.dtype)
        toward = rng.choice(np.array([-np.inf, np.inf], dtype=values.dtype), where.size)
        values[where] = np.where(rng.random(where.size) < 0.5, exact, np.nextafter(exact, toward))
    else:
        info = np.iinfo(values.dtype)
        limit = float(info.max) if info.bits < 64 else float(2**63 - 1024)
        whole = np.clip(np.ceil(chosen) + rng.integers(-1, 2, where.size), float(info.min), limit)
        values[where] = whole.astype(values.dtype)
    return values


def random_bins(rng):
    return int(rng.choice([1, 2, 3, 7, 10, 50, 100, 255, 256, 257, 1000, 2048])) if rng.random() < 0.995 else 65536


class Axis:
    def __init__(self, rng, kind, count, rule, joint=False):
        self.kind, self.rule = kind, rule
        values, low, high = random_values(rng, kind, count)
        self.bins = int(rng.integers(1, 60)) if joint else random_bins(rng)
        self.lower, self.upper, self.edges = 0.0, 0.0, np.zeros(0)
        self.made = None  # edges by NumPy; None: refused
        if rule == INTEGERS:
            self.made = np.arange(self.bins + 1.0)
        elif rule == EDGES:
            self.random_edges(rng, low, high)
        else:
            self.random_bounds(rng, values, low, high)
        if self.made is not None:
            values = on_edges(rng, values, np.asarray(self.made, dtype=float))
        self.values = with_special(rng, values) if rule != TYPED else values
        if kind == "bfloat16":
            self.values = (self.values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

    def random_edges(self, rng, low, high):
        edges = np.sort(rng.random(self.bins + 1)) * (high - low) + low
        if rng.random() < 0.3:
            edges = low + np.geomspace(1e-6, 1, self.bins + 1) * (high - low)
        if rng.random() < 0.2:
            edges = np.sort(np.round(edges))
        if rng.random() < 0.1:
            edges[-1] = np.inf
        if rng.random() < 0.1:
            edges[0] = -np.inf
        self.edges = self.made = np.sort(edges)

    def random_bounds(self, rng, values, low, high):
        inside = np.sort(rng.random(2)) if rng.random() < 0.7 else np.array([0.0, 1.0])
        self.lower, self.upper = (float(low + each * (high - low)) for each in inside)
        if rng.random() < 0.3:
            self.lower, self.upper = float(np.floor(self.lower)), float(np.ceil(self.upper))
        if rng.random() < 0.05:
            self.upper = self.lower
        if self.rule == TYPED:
            self.numpy_range = tuple(np.array([self.lower, self.upper]).astype(values.dtype))
            self.lower, self.upper = float(self.numpy_range[0]), float(self.numpy_range[1])
        else:
            self.numpy_range = (self.lower, self.upper)
        try:
            with np.errstate(all="ignore"):
                if self.rule == LINSPACE:
                    lower, upper = (self.lower - 0.5, self.upper + 0.5) if self.lower == self.upper else self.numpy_range
                    self.made = np.linspace(lower, upper, self.bins + 1)
                else:
                    self.made = np.histogram_bin_edges(values[:0], self.bins, self.numpy_range)
                if np.any(self.made[1:] <= self.made[:-1]):
                    self.made = None  # NumPy 1 makes such bins
        except ValueError:
            self.made = None

    def head(self, memory, stride, offset):
        return (
            struct.pack("<IIIIddqQQ", TYPES.index(self.kind), self.rule, self.bins, len(self.edges), self.lower, self.upper,
                        stride, offset, len(memory))
            + self.edges.astype("<f8").tobytes()
            + memory
        )

    def numpy_bins(self):
        if self.made is None:
            raise Refused
        return self.made if self.rule in (EDGES, LINSPACE) else self.bins

    def histogram(self, values, weights):
        """Of one channel: the bins, and the counts below, above and of NaN."""
        if self.made is None:
            raise Refused
        nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
        if weights is not None:
            weights = weights.astype(np.float64)
        if self.rule == INTEGERS:
            inside = (values >= 0) & (values < self.bins)
            below, above = (values < 0).sum(), (values >= self.bins).sum()
            kept = None if weights is None else weights[inside]
            bins = np.bincount(values[inside].astype(np.int64), kept, self.bins)
        else:
            with np.errstate(all="ignore"):
                limits = None if self.rule == EDGES else self.numpy_range
                bins, edges = np.histogram(values, self.numpy_bins(), limits, weights=weights)
            compared = values
            if self.rule == EDGES:
                compared, edges = values.astype(np.float64), self.made
            below, above = (compared < edges[0]).sum(), (compared > edges[-1]).sum()
        return np.concatenate([bins, [below, above, nan.sum()]])


def laid_out(rng, values, channels, size):
    """Memory with a random stride and offset: bytes, stride for the program, offset of the first frame."""
    frames = len(values) // channels
    packed = values.tobytes()
    frame = channels * size
    if rng.random() < 0.5 or frames == 0:
        offset = int(rng.integers(0, 2 * size))
        return bytes(offset) + packed, 0, offset
    stride = frame + int(rng.integers(0, 3 * size))
    memory = np.full((frames, stride), 0x5A, np.uint8)
    memory[:, :frame] = np.frombuffer(packed, np.uint8).reshape(frames, frame)
    if rng.random() < 0.3:
        return memory[::-1].tobytes(), -stride, (frames - 1) * stride
    return memory.tobytes(), stride, 0


class Case:
    """One histogram: `expected` is None if NumPy refuses it."""

    def __init__(self, rng, number):
        self.joint = rng.random() < 0.15
        self.channels = 1 if self.joint else int(rng.choice([1, 1, 1, 2, 3, 4]))
        self.frames = int(rng.choice([0, 1, 2, 3, 10, 100, 1000, 3000])) if number % 997 else 150000
        kind = TYPES[rng.integers(0, len(TYPES))]
        if self.joint and not NUMPY_2:
            kind = "float64"
        rules = [NUMPY, NUMPY, NUMPY, EDGES, EDGES]
        if dtype_of(kind).kind == "f":
            rules.append(TYPED)
        else:
            rules += [INTEGERS]
        if self.joint:
            rules = [LINSPACE, EDGES]
        if not NUMPY_2 and kind not in SAME_IN_NUMPY_1:
            rules = [EDGES]
        rule = int(rng.choice(rules))
        if rule == EDGES and kind == "int64":
            kind = "int32"  # NumPy compares int64 with float64 edges by other rules beyond 2^53
        self.x = Axis(rng, kind, self.frames * self.channels, rule, self.joint)
        self.y = Axis(rng, kind, self.frames, rule, True) if self.joint else None
        self.weight = int(rng.choice([NO_WEIGHTS, NO_WEIGHTS, 0, 1, 2]))
        self.shared_weights = self.channels > 1 and rng.random() < 0.5
        self.weights = None
        if self.weight != NO_WEIGHTS:
            count = self.frames * (1 if self.shared_weights else self.channels)
            dtype = np.dtype(WEIGHTS[self.weight])
            self.weights = (
                rng.integers(-1000, 1000, count).astype(dtype) if dtype.kind == "i" else rng.normal(1, 3, count).astype(dtype)
            )
        self.threads = int(rng.integers(1, 4))
        self.encoded = self.encode(rng)

    def encode(self, rng):
        weight_memory, weight_stride, weight_offset = b"", 0, 0
        weight_channels = 1 if self.shared_weights else self.channels
        if self.weights is not None:
            weight_memory, weight_stride, weight_offset = laid_out(rng, self.weights, weight_channels, self.weights.itemsize)
        head = struct.pack("<QIIIIIIqQQ", self.frames, self.channels, int(self.joint), self.weight, weight_channels, self.threads,
                           0, weight_stride, weight_offset, len(weight_memory))
        axes = [self.x] + ([self.y] if self.joint else [])
        for axis in axes:
            stored = as_stored(axis.values, axis.kind)
            head += axis.head(*laid_out(rng, stored, self.channels, itemsize(axis.kind)))
        return head + weight_memory

    def expected(self):
        if self.joint:
            return self.joint_expected()
        rows = []
        for channel in range(self.channels):
            weights = self.weights
            if weights is not None and not self.shared_weights:
                weights = weights[channel :: self.channels]
            rows.append(self.x.histogram(self.x.values[channel :: self.channels], weights))
        return np.concatenate(rows)

    def joint_expected(self):
        x, y = self.x.values, self.y.values
        bins = [self.x.numpy_bins(), self.y.numpy_bins()]
        nan = np.isnan(x.astype(float)) | np.isnan(y.astype(float))
        weights = None if self.weights is None else self.weights.astype(np.float64)
        inside = np.histogram2d(x[~nan], y[~nan], bins)[0].sum() if len(x) else 0
        table = np.zeros((len(bins[0]) - 1, len(bins[1]) - 1))
        if len(x):
            table = np.histogram2d(x[~nan], y[~nan], bins, weights=None if weights is None else weights[~nan])[0]
        return np.concatenate([table.ravel(), [len(x) - nan.sum() - inside, nan.sum()]])

    def check(self, output):
        """None, or what is wrong. Reads its part of the output."""
        (refused,) = struct.unpack("<I", output.read(4))
        try:
            expected = self.expected()
        except Refused:
            return None if refused else "not refused"
        if refused:
            return "refused"
        dtype = np.dtype("<u8" if self.weights is None else "<f8")
        found = np.frombuffer(output.read(8 * len(expected)), dtype)
        edges = np.frombuffer(output.read(8 * len(self.x.made)), "<f8")
        if not np.array_equal(edges, np.asarray(self.x.made, float)):
            return "edges differ"
        if self.weights is None:
            wrong = np.flatnonzero(found != expected.astype(np.uint64))
        else:
            wrong = np.flatnonzero(~(np.abs(found - expected) <= TOLERANCE * max(1.0, np.abs(self.weights.astype(float)).sum())))
        if not len(wrong):
            return None
        return f"{len(wrong)} values differ, the first at {wrong[0]}: {found[wrong[0]]}, NumPy has {expected[wrong[0]]}"

    def describe(self):
        axis = self.x
        return (f"{axis.kind} x {self.frames} x {self.channels}, rule {axis.rule}, {axis.bins} bins [{axis.lower!r}, {axis.upper!r}], "
                f"joint {self.joint}, weight {self.weight}, threads {self.threads}")


def run(program, device, cases):
    with tempfile.TemporaryFile() as given:
        for case in cases:
            given.write(case.encoded)
        given.seek(0)
        output = tempfile.TemporaryFile()
        status = subprocess.run([program] + (["--device"] if device else []), stdin=given, stdout=output, check=False).returncode
    if status == 77:
        print("skipped: no CUDA device")
        sys.exit(77)
    output.seek(0)
    return status, output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--cases", type=int, default=10500)
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    options.program = options.program.resolve()
    run(options.program, options.device, [])
    rng = np.random.default_rng(options.seed)
    failures = 0
    for begin in range(0, options.cases, 500):
        cases = [Case(rng, number) for number in range(begin, min(begin + 500, options.cases))]
        status, output = run(options.program, options.device, cases)
        if status != 0:
            sys.exit(f"{options.program} ended with status {status} in cases {begin} to {begin + 500}")
        for number, case in enumerate(cases, begin):
            wrong = case.check(output)
            if wrong:
                failures += 1
                print(f"case {number}: {case.describe()}: {wrong}")
                if wrong in ("not refused", "refused", "edges differ") or failures > 20:
                    sys.exit(1)
    print(f"{options.cases} cases, NumPy {np.__version__}: {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
