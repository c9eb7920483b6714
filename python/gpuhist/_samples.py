"""Histograms of numbers in NumPy arrays, with the meaning of numpy.histogram, bincount and histogram2d. Needs NumPy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuhist import _core

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, NDArray

_TYPES = ("uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64")
_WEIGHTS = ("float32", "float64", "int32")


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("histograms of samples need NumPy: pip install numpy") from error
    return numpy


def _array(given: Any) -> Any:
    """As a NumPy array without a copy: an array, or a tensor in host memory (DLPack)."""
    if getattr(given, "requires_grad", False):
        raise ValueError("the tensor requires grad, and a histogram has no gradient: pass x.detach()")
    module = _numpy()
    is_tensor = hasattr(given, "__dlpack__") and not isinstance(given, module.ndarray | module.generic)
    array = module.from_dlpack(given) if is_tensor else module.asarray(given)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _samples(given: Any) -> Any:
    array = _array(given)
    if array.dtype.name not in _TYPES:
        raise TypeError(f"samples of type {array.dtype.name} are not counted; convert them to one of {', '.join(_TYPES)}")
    return array


def _weights(given: Any, shape: tuple[int, ...]) -> Any:
    array = _array(given)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"weights of type {array.dtype.name} are not summed")
    if array.shape != shape:
        raise ValueError(f"weights: the shape is {array.shape}, that of the samples is {shape}")
    return array if array.dtype.name in _WEIGHTS else array.astype("float64")


def _as_type(array: Any, dtype: Any) -> Any:
    """The array with values of the type that NumPy returns."""
    return array.astype(dtype, copy=False)


def _view(array: Any, channels: int = 1) -> _core.View:
    """Of an array of shape (frames,) or (frames, channels)."""
    return _core.View(array.__array_interface__["data"][0], array.shape[0], channels, array.strides[0], array.dtype.name)


def _frames(array: Any, channels: int) -> Any:
    """As (frames,) or (frames, channels); copies only if the frames have no common stride."""
    if channels == 1:
        return array if array.ndim == 1 else array.reshape(-1)
    frames = array.reshape(-1, channels)
    return frames if frames.strides[1] == frames.itemsize else frames.copy()


def _threads(threads: int) -> int:
    return threads or len(os.sched_getaffinity(0))


def _bounds(array: Any, span: tuple[float, float] | None) -> tuple[float, float, bool]:
    """Lower bound, upper bound, and whether they have the type of the array, as those that NumPy takes from it."""
    if span is not None:
        return float(span[0]), float(span[1]), False
    if array.size == 0:
        return 0.0, 1.0, False
    lower, upper = array.min(), array.max()
    if not (_numpy().isfinite(lower) and _numpy().isfinite(upper)):
        raise ValueError(f"the range of the samples, [{lower}, {upper}], is not finite: pass range=")
    return float(lower), float(upper), True


def _bins(array: Any, bins: Any, span: tuple[float, float] | None) -> tuple[_core.SampleBins, Any]:
    """The bins, and the edges as NumPy returns them."""
    if isinstance(bins, str):
        raise TypeError("bins: a number or edges; numpy.histogram_bin_edges() makes edges from the name of a method")
    if _numpy().ndim(bins) == 0:
        made = _core.even_bins(array.dtype.name, int(bins), *_bounds(array, span))
        is_narrow = array.dtype.name in ("float16", "float32")  # NumPy's edges have the type of such samples
        return made, _as_type(made.edges(), array.dtype if is_narrow else "float64")
    edges = _numpy().asarray(bins)
    return _core.bins_between(array.dtype.name, edges.astype("float64").tolist()), edges


def histogram(
    x: ArrayLike,
    bins: int | Sequence[float] | NDArray[Any] = 10,
    range: tuple[float, float] | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
    *,
    channels: int = 1,
    threads: int = 0,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Counts and edges, as numpy.histogram: each sample is in the bin to which NumPy assigns it, bit for bit.

    `x` is an array of any shape, or a tensor in host memory; it is read where it lies, by `threads` threads (0: one for
    each core), without the GIL. Counts are int64. Sums of weights are float64, and the same bits in every run. Samples
    outside the bins, and NaN, are not counted. With `channels` of 2 to 4, the last axis of `x` has the channels, the bins are
    the same for all of them, and the counts have the shape (channels, bins); weights then have the shape of `x`.
    Raises TypeError for types that are not supported, and ValueError where NumPy does.
    """
    array = _samples(x)
    if channels != 1 and (array.ndim < 2 or array.shape[-1] != channels):
        raise ValueError(f"channels: the last axis of shape {array.shape} does not have {channels} channels")
    made, edges = _bins(array, bins, range)
    frames = _frames(array, channels)
    if weights is None:
        rows = _as_type(_core.count_samples(made, _view(frames, channels), _threads(threads)), "int64")
    else:
        summed = _frames(_weights(weights, array.shape), channels)
        rows = _core.sum_samples(made, _view(frames, channels), _view(summed, channels), _threads(threads))
    counts = rows.reshape(channels, -1)[:, : made.bins]
    counts = counts[0] if channels == 1 else counts
    if density:
        counts = counts / _numpy().diff(edges) / counts.sum(axis=-1, keepdims=True)
    return counts, edges


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, threads: int = 0) -> NDArray[Any]:
    """How often each integer from 0 to the largest occurs in the one-dimensional `x`, as numpy.bincount.

    The integers are below 2^20. Raises ValueError for negative ones. Otherwise as `histogram`.
    """
    array = _samples(x)
    if array.dtype.kind not in "iu":
        raise TypeError(f"x: integers are required, not {array.dtype.name}")
    if array.ndim != 1:
        raise ValueError(f"x: one dimension is required, not {array.ndim}")
    if array.size and array.min() < 0:
        raise ValueError("x: no negative integers")
    size = max(int(array.max()) + 1 if array.size else 0, minlength)
    if size == 0:
        return _numpy().zeros(0, dtype="int64" if weights is None else "float64")  # type: ignore[no-any-return]
    made = _core.integer_bins(array.dtype.name, size)
    if weights is None:
        row = _as_type(_core.count_samples(made, _view(array), _threads(threads)), "int64")
    else:
        row = _core.sum_samples(made, _view(array), _view(_weights(weights, array.shape)), _threads(threads))
    return row[:size]  # type: ignore[no-any-return]


def _axis(array: Any, bins: Any, span: tuple[float, float] | None) -> tuple[_core.SampleBins, Any]:
    """One axis of a joint histogram: NumPy compares the samples with edges of numpy.linspace."""
    module = _numpy()
    if module.ndim(bins) == 0:
        lower, upper, typed = _bounds(array, span)
        if typed:  # as NumPy: edges have the type of bounds that are from the samples
            lower, upper = array.min(), array.max()
        if lower == upper:
            lower, upper = lower - 0.5, upper + 0.5
        bins = module.linspace(lower, upper, int(bins) + 1)
    edges = module.asarray(bins)
    return _core.bins_between(array.dtype.name, edges.astype("float64").tolist()), edges


def _is_pair(bins: Any) -> bool:
    """Whether the axes have bins of their own. NumPy takes every sequence of two as a pair."""
    return not isinstance(bins, int) and hasattr(bins, "__len__") and len(bins) == 2


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    weights: ArrayLike | None = None,
    *,
    threads: int = 0,
) -> tuple[NDArray[numpy.float64], NDArray[Any], NDArray[Any]]:
    """Counts of shape (bins of x, bins of y) and the edges of both axes, as numpy.histogram2d.

    `bins` is a number or edges for both axes, or a pair of them. Otherwise as `histogram`; counts are float64, as in NumPy.
    """
    first, second = _samples(x), _samples(y)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"x and y: one dimension of the same length is required, not {first.shape} and {second.shape}")
    x_given, y_given = bins if _is_pair(bins) else (bins, bins)
    x_range, y_range = range if range is not None else (None, None)
    x_bins, x_edges = _axis(first, x_given, x_range)
    y_bins, y_edges = _axis(second, y_given, y_range)
    axes = (x_bins, _view(first), y_bins, _view(second))
    if weights is None:
        row = _as_type(_core.count_pairs(*axes, _threads(threads)), "float64")
    else:
        row = _core.sum_pairs(*axes, _view(_weights(weights, first.shape)), _threads(threads))
    return row[:-2].reshape(x_bins.bins, y_bins.bins), x_edges, y_edges
