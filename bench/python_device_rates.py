"""Rates of histograms of tensors in device memory, beside the functions of PyTorch and CuPy that do the same.

    python3 bench/python_device_rates.py [--log2-samples 28] [--rounds 7]

Each line is the median time of the calls in one round, by events of CUDA on the current stream; the contenders alternate. Needs
a CUDA device, PyTorch and NumPy; CuPy if it is installed. Functions that wait for the device are measured with this time.
"""

import argparse
import statistics

import torch

import gpuhist
import gpuhist.torch

try:
    import cupy
except ImportError:
    cupy = None


def milliseconds(call, repetitions):
    """Of one call, in a sequence of calls."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repetitions):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repetitions


def compare(label, sample_bytes, contenders, rounds):
    """Prints the median time of each contender, and the rate at which it reads samples."""
    for call in contenders.values():
        call()  # loads kernels, fills caches of allocators
    repetitions = {name: max(1, min(20, int(50 / milliseconds(call, 1)))) for name, call in contenders.items()}
    times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            times[name].append(milliseconds(call, repetitions[name]))
    for name, measured in times.items():
        middle = statistics.median(measured)
        print(f"{label:32} {name:32} {middle:9.3f} ms {sample_bytes / middle / 1e6:8.0f} GB/s", flush=True)


def on_stream_of_torch(call):
    """CuPy on the stream whose events are measured, which is the legacy default stream."""

    def called():
        with cupy.cuda.Stream.null:
            call()

    return called


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log2-samples", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    size = 1 << given.log2_samples
    print(f"{torch.cuda.get_device_name()}, 2^{given.log2_samples} samples, PyTorch {torch.__version__}"
          + (f", CuPy {cupy.__version__}" if cupy else ""))

    x = torch.rand(size, device="cuda")
    for bins in (256, 2048):
        contenders = {
            "gpuhist.histogram": lambda bins=bins: gpuhist.histogram(x, bins, (0.0, 1.0)),
            "torch.ops.gpuhist.histogram": lambda bins=bins: torch.ops.gpuhist.histogram(x, bins, 0.0, 1.0),
            "torch.histc": lambda bins=bins: torch.histc(x, bins, 0.0, 1.0),
        }
        if cupy:
            same = cupy.from_dlpack(x)
            contenders["cupy.histogram"] = on_stream_of_torch(lambda bins=bins, same=same: cupy.histogram(same, bins, (0.0, 1.0)))
        compare(f"float32, {bins} bins", x.nbytes, contenders, given.rounds)
    compare("float32, only read", x.nbytes, {"torch.sum": lambda: torch.sum(x)}, given.rounds)
    compare("float32, 256 bins, no range", x.nbytes, {
        "gpuhist.histogram": lambda: gpuhist.histogram(x, 256),
        "torch.histc": lambda: torch.histc(x, 256),
    }, given.rounds)
    small = x[:4096]
    compare("4,096 float32, 256 bins", small.nbytes, {
        "gpuhist.histogram": lambda: gpuhist.histogram(small, 256, (0.0, 1.0)),
        "torch.ops.gpuhist.histogram": lambda: torch.ops.gpuhist.histogram(small, 256, 0.0, 1.0),
        "torch.histc": lambda: torch.histc(small, 256, 0.0, 1.0),
    }, given.rounds)
    del x, small

    labels = torch.randint(0, 1000, (size,), device="cuda", dtype=torch.int32)
    contenders = {
        "gpuhist.bincount": lambda: gpuhist.bincount(labels),
        "torch.ops.gpuhist.bincount": lambda: torch.ops.gpuhist.bincount(labels, 1000),
        "torch.bincount": lambda: torch.bincount(labels),
    }
    if cupy:
        whole = cupy.from_dlpack(labels)
        contenders["cupy.bincount"] = on_stream_of_torch(lambda: cupy.bincount(whole))
    compare("int32, 1,000 values", labels.nbytes, contenders, given.rounds)


if __name__ == "__main__":
    main()
