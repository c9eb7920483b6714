"""Samples in host memory: NumPy arrays, and tensors that NumPy takes by DLPack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuhist import _core
from gpuhist._arrays import WEIGHT_TYPES, Memory, check_shape, check_type, refuse_gradient, views
from gpuhist._libraries import numpy_module


class HostArrays:
    """Counts on the CPU cores. Results are NumPy arrays."""

    def __init__(self, threads: int) -> None:
        self.module = numpy_module()
        self._threads = threads

    def samples(self, given: Any, name: str) -> Memory:
        memory = _memory(self._array(given, name))
        check_type(memory, name)
        return memory

    def weights(self, given: Any, shape: tuple[int, ...]) -> Memory:
        array = self._array(given, "weights")
        if array.dtype.kind not in "biuf":
            raise TypeError(f"weights of type {array.dtype.name} are not summed")
        memory = _memory(array if array.dtype.name in WEIGHT_TYPES else array.astype("float64"))
        check_shape(memory, shape)
        return memory

    def bounds(self, samples: Memory, name: str) -> tuple[Any, Any]:
        """The lowest and the highest sample, of which there is at least one, as scalars of NumPy."""
        return samples.owner.min(), samples.owner.max()

    def as_numpy(self, given: Any) -> Any:
        return self.module.asarray(given)

    def own(self, array: Any) -> Any:
        """A NumPy array as an array of the library of the samples."""
        return array

    def count(self, bins: _core.SampleBins, samples: Memory, weights: Memory | None, channels: int) -> Any:
        """The rows of all channels: int64, or float64 for weights."""
        if weights is None:
            kept, (x,) = self._readable([samples], channels)
            rows: Any = _core.count_samples(bins, x, self._threads)
            return rows.astype("int64", copy=False)
        kept, (x, summed) = self._readable([samples, weights], channels)
        return _core.sum_samples(bins, x, summed, self._threads)

    def count_pairs(self, bins: Sequence[_core.SampleBins], pairs: Sequence[Memory], weights: Memory | None) -> Any:
        """The row of a joint histogram: float64."""
        if weights is None:
            kept, (x, y) = self._readable(pairs)
            row: Any = _core.count_pairs(bins[0], x, bins[1], y, self._threads)
            return row.astype("float64")
        kept, (x, y, summed) = self._readable([*pairs, weights])
        return _core.sum_pairs(bins[0], x, bins[1], y, summed, self._threads)

    def as_float64(self, counts: Any) -> Any:
        return counts.astype("float64")

    def _array(self, given: Any, name: str) -> Any:
        """As a NumPy array in native byte order; only another byte order is copied."""
        refuse_gradient(given, name)
        is_tensor = hasattr(given, "__dlpack__") and not isinstance(given, self.module.ndarray | self.module.generic)
        array = self.module.from_dlpack(given) if is_tensor else self.module.asarray(given)
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def _readable(self, arrays: Sequence[Memory], channels: int = 1) -> tuple[Sequence[Memory], list[_core.View]]:
        """The arrays, or copies of those without a common stride, and views of them. The caller keeps the first."""
        found = views(arrays, channels)
        if found is None:
            arrays = [_memory(self.module.ascontiguousarray(each.owner)) for each in arrays]
            found = views(arrays, channels)
        assert found is not None
        return arrays, found


def _memory(array: Any) -> Memory:
    address = array.__array_interface__["data"][0]
    return Memory(address, array.dtype.name, array.itemsize, array.shape, array.strides, array)
