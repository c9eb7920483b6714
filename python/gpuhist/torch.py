"""Histograms as operators of PyTorch, which torch.compile and torch.export accept. Needs PyTorch 2.8 or newer.

    import gpuhist.torch                    # registers torch.ops.gpuhist.*

    @torch.compile
    def entropy(x):
        counts = gpuhist.torch.histogram(x, 256, 0.0, 1.0)
        return torch.special.entr(counts / counts.sum()).sum()

Each sample is in the bin to which NumPy assigns it. Counts are int64, sums of `weights` float64, on the device of `x`, also
for tensors in host memory. Shapes of results depend on arguments only, not on samples: so bounds and numbers of bins are
required. Samples outside the bins, and NaN, are not counted. An operator on a CUDA tensor does not wait for the device. It is
never part of a CUDA graph: with mode="reduce-overhead", torch.compile makes graphs of what is before and after it.

There are no gradients: tensors that require grad are a ValueError. Otherwise as the functions of gpuhist with these names.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from gpuhist import _core
from gpuhist._arrays import Memory, refuse_gradient
from gpuhist._samples import Arrays, arrays_of, bins_between, counted, counted_pairs, even_edges

__all__ = ["bincount", "histogram", "histogram2d", "histogram_between"]

_torch: Any = importlib.import_module("torch")


def histogram(x: Any, bins: int, lower: float, upper: float, weights: Any = None, channels: int = 1) -> Any:
    """numpy.histogram(x, bins, (lower, upper), weights=weights)[0]: shape (bins,); with 2 to 4 channels, in the last axis of
    `x`, (channels, bins). The operator torch.ops.gpuhist.histogram."""
    return _histogram(x, bins, lower, upper, weights, channels)


def histogram_between(x: Any, edges: Sequence[float], weights: Any = None, channels: int = 1) -> Any:
    """numpy.histogram(x, edges, weights=weights)[0]: as `histogram`, with len(edges) - 1 bins. The operator
    torch.ops.gpuhist.histogram_between."""
    return _histogram_between(x, edges, weights, channels)


def bincount(x: Any, bins: int, weights: Any = None) -> Any:
    """How often each integer from 0 to `bins` - 1 occurs in `x`, of any shape: shape (bins,). Other integers are not counted.
    The operator torch.ops.gpuhist.bincount."""
    return _bincount(x, bins, weights)


def histogram2d(x: Any, y: Any, bins: Sequence[int], range: Sequence[float], weights: Any = None) -> Any:
    """numpy.histogram2d(x, y, bins, (range[:2], range[2:]), weights=weights)[0], for two numbers of bins, and `x` and `y` of the
    same shape: float64, shape `bins`. The operator torch.ops.gpuhist.histogram2d."""
    return _histogram2d(x, y, bins, range, weights)


def _operator(name: str, signature: str) -> Callable[[Callable[..., Any]], Any]:
    unsafe = getattr(_torch.Tag, "cudagraph_unsafe", None)  # the tables of the bins are copied from host memory
    tags = () if unsafe is None else (unsafe,)
    return _torch.library.custom_op(f"gpuhist::{name}", mutates_args=(), schema=signature, tags=tags)  # type: ignore[no-any-return]


@_operator("histogram", "(Tensor x, int bins, float lower, float upper, Tensor? weights=None, int channels=1) -> Tensor")
def _histogram(x: Any, bins: int, lower: float, upper: float, weights: Any = None, channels: int = 1) -> Any:
    arrays, samples = _samples(x, weights)
    return _result(counted(arrays, samples, _core.even_bins(samples.type, bins, lower, upper, False), weights, channels))


@_histogram.register_fake  # type: ignore[untyped-decorator]
def _(x: Any, bins: int, lower: float, upper: float, weights: Any = None, channels: int = 1) -> Any:
    return _fake_counts(x, weights, bins, channels)


@_operator("histogram_between", "(Tensor x, float[] edges, Tensor? weights=None, int channels=1) -> Tensor")
def _histogram_between(x: Any, edges: Sequence[float], weights: Any = None, channels: int = 1) -> Any:
    arrays, samples = _samples(x, weights)
    return _result(counted(arrays, samples, _core.bins_between(samples.type, edges), weights, channels))


@_histogram_between.register_fake  # type: ignore[untyped-decorator]
def _(x: Any, edges: Sequence[float], weights: Any = None, channels: int = 1) -> Any:
    return _fake_counts(x, weights, len(edges) - 1, channels)


@_operator("bincount", "(Tensor x, int bins, Tensor? weights=None) -> Tensor")
def _bincount(x: Any, bins: int, weights: Any = None) -> Any:
    arrays, samples = _samples(x, weights)
    return _result(counted(arrays, samples, _core.integer_bins(samples.type, bins), weights, 1))


@_bincount.register_fake  # type: ignore[untyped-decorator]
def _(x: Any, bins: int, weights: Any = None) -> Any:
    return _fake_counts(x, weights, bins, 1)


@_operator("histogram2d", "(Tensor x, Tensor y, int[] bins, float[] range, Tensor? weights=None) -> Tensor")
def _histogram2d(x: Any, y: Any, bins: Sequence[int], range: Sequence[float], weights: Any = None) -> Any:
    arrays = arrays_of(x, {"y": y, "weights": weights}, 0)
    pairs = arrays.samples(x, "x"), arrays.samples(y, "y")
    x_bins, y_bins = _axis(pairs[0], bins[0], range[:2]), _axis(pairs[1], bins[1], range[2:])
    return _result(counted_pairs(arrays, pairs, (x_bins, y_bins), weights))


@_histogram2d.register_fake  # type: ignore[untyped-decorator]
def _(x: Any, y: Any, bins: Sequence[int], range: Sequence[float], weights: Any = None) -> Any:
    _refuse_gradients(x, y, weights)
    return x.new_empty(tuple(bins), dtype=_torch.float64)


def _samples(x: Any, weights: Any) -> tuple[Arrays, Memory]:
    arrays = arrays_of(x, {"weights": weights}, 0)
    return arrays, arrays.samples(x, "x")


def _axis(samples: Memory, bins: int, bounds: Sequence[float]) -> _core.SampleBins:
    lower, upper = bounds
    return bins_between(samples, even_edges(lower, upper, bins))


def _result(counts: Any) -> Any:
    """With the strides of the fake implementation."""
    return (counts if isinstance(counts, _torch.Tensor) else _torch.from_numpy(counts)).contiguous()


def _fake_counts(x: Any, weights: Any, bins: int, channels: int) -> Any:
    _refuse_gradients(x, weights)
    shape = (bins,) if channels == 1 else (channels, bins)
    return x.new_empty(shape, dtype=_torch.int64 if weights is None else _torch.float64)


def _refuse_gradients(x: Any, *others: Any) -> None:
    for name, given in zip(("x", "weights") if len(others) == 1 else ("x", "y", "weights"), (x, *others), strict=True):
        refuse_gradient(given, name)
