"""Histograms of numbers, with the meaning of numpy.histogram, bincount and histogram2d: of NumPy arrays and other tensors
in host memory (_host.py), and of tensors in CUDA device memory (_device.py). Needs NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuhist import _core
from gpuhist._arrays import Memory
from gpuhist._device import DeviceArrays, check_place, cuda_device_of
from gpuhist._host import HostArrays
from gpuhist._libraries import numpy_module as _numpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Arrays = HostArrays | DeviceArrays

# Types of samples whose edges are not float64 in NumPy. bfloat16 is binned as float32.
_EDGE_TYPES = {"float16": "float16", "bfloat16": "float32", "float32": "float32"}


def arrays_of(x: Any, others: dict[str, Any], threads: int) -> Arrays:
    """What counts `x`. All arrays must be in the same memory."""
    device = cuda_device_of(x, "x")
    for name, given in others.items():
        if given is not None:
            check_place(given, name, device)
    return HostArrays(threads) if device is None else DeviceArrays(x, device)


def _bounds(arrays: Arrays, samples: Memory, name: str, span: tuple[float, float] | None) -> tuple[Any, Any, bool]:
    """Lower bound, upper bound, and whether they have the type of the samples, as those that NumPy takes from them."""
    if span is not None:
        return float(span[0]), float(span[1]), False
    if 0 in samples.shape:
        return 0.0, 1.0, False
    lower, upper = arrays.bounds(samples, name)
    if not (_numpy().isfinite(lower) and _numpy().isfinite(upper)):
        raise ValueError(f"the range of the samples, [{lower}, {upper}], is not finite: pass range=")
    return lower, upper, True


def _bins(arrays: Arrays, samples: Memory, bins: Any, span: tuple[float, float] | None) -> tuple[_core.SampleBins, Any]:
    """The bins, and the edges as NumPy returns them."""
    if isinstance(bins, str):
        raise TypeError("bins: a number or edges; numpy.histogram_bin_edges() makes edges from the name of a method")
    given = arrays.as_numpy(bins)
    if given.ndim == 0:
        lower, upper, typed = _bounds(arrays, samples, "x", span)
        made = _core.even_bins(samples.type, int(given), float(lower), float(upper), typed)
        edges: Any = made.edges()
        return made, edges.astype(_EDGE_TYPES.get(samples.type, "float64"), copy=False)
    return bins_between(samples, given), given


def bins_between(samples: Memory, edges: Any) -> _core.SampleBins:
    return _core.bins_between(samples.type, edges.astype("float64").tolist())


def histogram(
    x: ArrayLike,
    bins: int | Sequence[float] | NDArray[Any] = 10,
    range: tuple[float, float] | None = None,
    weights: ArrayLike | None = None,
    density: bool = False,
    *,
    channels: int = 1,
    threads: int = 0,
) -> tuple[Any, Any]:
    """Counts and edges, as numpy.histogram: each sample is in the bin to which NumPy assigns it, bit for bit.

    `x` is an array of any shape, or a tensor that supports DLPack. In host memory it is read where it lies, by `threads`
    threads (0: one for each core that the process may use), without the GIL, and the results are NumPy arrays; only an
    array whose elements have no common stride is copied. Counts are int64. Sums of weights are float64, and the same bits
    in every run. Samples outside the bins, and NaN, are not counted. With `channels` of 2 to 4, the last axis of `x` has
    the channels, the bins are the same for all of them, and the counts have the shape (channels, bins); weights then have
    the shape of `x`.

    A tensor of PyTorch, CuPy or JAX in CUDA device memory is counted there, and the results are tensors of the same
    library on the same device (JAX: int32 and float32, unless it uses 64 bits). `weights` must be there, too. The work is
    queued on the current stream of PyTorch or CuPy. The call waits for the device only without `range`, for `bins` in
    device memory, and for JAX. It does not copy: a tensor whose elements have no common stride is a ValueError.

    Raises TypeError for types that are not supported; ValueError where NumPy does, for a tensor that requires grad, and for
    arrays in different memory; EngineError if CUDA fails, or if gpuhist was built without it.
    """
    arrays = arrays_of(x, {"weights": weights}, threads)
    samples = arrays.samples(x, "x")
    made, edges = _bins(arrays, samples, bins, range)
    counts = counted(arrays, samples, made, weights, channels)
    own_edges = arrays.own(edges)
    if density:
        counts = arrays.as_float64(counts)
        counts = counts / arrays.as_float64(arrays.module.diff(own_edges)) / counts.sum(axis=-1, keepdims=True)
    return counts, own_edges


def counted(arrays: Arrays, samples: Memory, made: _core.SampleBins, weights: Any, channels: int) -> Any:
    """Counts, or sums of weights, of the shape (bins,) or (channels, bins)."""
    if channels != 1 and (len(samples.shape) < 2 or samples.shape[-1] != channels):
        raise ValueError(f"channels: the last axis of shape {samples.shape} does not have {channels} channels")
    summed = None if weights is None else arrays.weights(weights, samples.shape)
    rows = arrays.count(made, samples, summed, channels).reshape(channels, -1)[:, : made.bins]
    return rows[0] if channels == 1 else rows


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, threads: int = 0) -> Any:
    """How often each integer from 0 to the largest occurs in the one-dimensional `x`, as numpy.bincount.

    The integers are below 2^20. Raises ValueError for negative ones. Otherwise as `histogram`.
    """
    arrays = arrays_of(x, {"weights": weights}, threads)
    samples = arrays.samples(x, "x")
    if samples.type.startswith(("float", "bfloat")):
        raise TypeError(f"x: integers are required, not {samples.type}")
    if len(samples.shape) != 1:
        raise ValueError(f"x: one dimension is required, not {len(samples.shape)}")
    lower, upper = (0, -1) if samples.shape == (0,) else arrays.bounds(samples, "x")
    if lower < 0:
        raise ValueError("x: no negative integers")
    size = max(int(upper) + 1, minlength)
    if size == 0:
        return arrays.own(_numpy().zeros(0, dtype="int64" if weights is None else "float64"))
    return counted(arrays, samples, _core.integer_bins(samples.type, size), weights, 1)


def _axis(
    arrays: Arrays, samples: Memory, name: str, common: Any, bins: Any, span: tuple[float, float] | None
) -> tuple[_core.SampleBins, Any]:
    """One axis of a joint histogram: NumPy compares the samples with edges of numpy.linspace. `common` is the type to which
    NumPy converts the samples of both axes; bounds that are from the samples have it, and so have their edges."""
    edges = arrays.as_numpy(bins)
    if edges.ndim == 0:
        lower, upper, typed = _bounds(arrays, samples, name, span)
        if typed:
            lower, upper = common.type(lower), common.type(upper)
        edges = even_edges(lower, upper, int(edges))
    return bins_between(samples, edges), edges


def _common_type(*samples: Memory) -> Any:
    return _numpy().result_type(*("float32" if each.type == "bfloat16" else each.type for each in samples))


def even_edges(lower: Any, upper: Any, bins: int) -> Any:
    """The edges of an axis of numpy.histogram2d."""
    if lower == upper:
        lower, upper = lower - 0.5, upper + 0.5
    return _numpy().linspace(lower, upper, bins + 1)


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
) -> tuple[Any, Any, Any]:
    """Counts of shape (bins of x, bins of y) and the edges of both axes, as numpy.histogram2d.

    `bins` is a number or edges for both axes, or a pair of them. Otherwise as `histogram`; counts are float64, as in NumPy.
    """
    arrays = arrays_of(x, {"y": y, "weights": weights}, threads)
    first, second = arrays.samples(x, "x"), arrays.samples(y, "y")
    if len(first.shape) != 1 or first.shape != second.shape:
        raise ValueError(f"x and y: one dimension of the same length is required, not {first.shape} and {second.shape}")
    x_given, y_given = bins if _is_pair(bins) else (bins, bins)
    x_range, y_range = range if range is not None else (None, None)
    common = _common_type(first, second)
    x_bins, x_edges = _axis(arrays, first, "x", common, x_given, x_range)
    y_bins, y_edges = _axis(arrays, second, "y", common, y_given, y_range)
    counts = counted_pairs(arrays, (first, second), (x_bins, y_bins), weights)
    return counts, arrays.own(x_edges), arrays.own(y_edges)


def counted_pairs(arrays: Arrays, samples: tuple[Memory, Memory], made: tuple[_core.SampleBins, _core.SampleBins], weights: Any) -> Any:
    """Counts, or sums of weights, of the shape (bins of x, bins of y)."""
    summed = None if weights is None else arrays.weights(weights, samples[0].shape)
    return arrays.count_pairs(made, samples, summed)[:-2].reshape(made[0].bins, made[1].bins)
