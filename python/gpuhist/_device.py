"""Samples in CUDA device memory: tensors of PyTorch, CuPy and JAX, taken by DLPack without a copy.

All memory is allocated by the library of the samples. The work is queued on its current stream, so it is ordered as the
library's own work. For JAX, which has no such stream, the call waits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuhist import _core
from gpuhist._arrays import WEIGHT_TYPES, Memory, check_shape, check_type, refuse_gradient, views
from gpuhist._libraries import library_of, numpy_module

# Numbers of DLPack. NumPy takes tensors of the first two, which are in host memory.
_CPU, _CUDA, _CUDA_HOST = 1, 2, 3
_ALIGNMENT = 256  # of the workspace


def cuda_device_of(given: Any, name: str) -> int | None:
    """The number of the CUDA device in whose memory a tensor is; None: it is in host memory, or no tensor.

    Raises TypeError for tensors of other devices.
    """
    if not hasattr(given, "__dlpack_device__"):
        return None
    kind, device = (int(number) for number in given.__dlpack_device__())
    if kind == _CUDA:
        return device
    if kind not in (_CPU, _CUDA_HOST):
        raise TypeError(f"{name}: the tensor is neither in host memory nor in CUDA device memory (it is on device type {kind} of "
                        "DLPack): copy it to host memory")
    return None


def place_name(device: int | None) -> str:
    return "host memory" if device is None else f"the memory of CUDA device {device}"


def check_place(given: Any, name: str, device: int | None) -> None:
    """Raises ValueError unless `given` is in the memory in which `x` is."""
    found = cuda_device_of(given, name)
    if found != device:
        raise ValueError(f"{name} is in {place_name(found)}, x in {place_name(device)}: copy one of them to the other")


class DeviceArrays:
    """Counts on the device of `x`. Results are tensors of the library of `x`, in the memory of the same device."""

    def __init__(self, x: Any, device: int) -> None:
        _core.check_device_support()
        library = library_of(x)
        if library is None:
            raise TypeError(f"x: a {type(x).__module__}.{type(x).__qualname__} in device memory is not counted; tensors of PyTorch, "
                            "CuPy and JAX are (torch.from_dlpack(x) makes one without a copy)")
        current = library.current_device()
        if current not in (None, device):
            raise ValueError(f"x is in {place_name(device)}, but the current device of {library.name} is {current}: "
                             f"{library.remedy_for_device(device)}")
        self._library, self._x, self._device = library, x, device
        self._stream = library.stream(device)
        self.module = library.module

    def samples(self, given: Any, name: str) -> Memory:
        memory = self._memory(given, name)
        check_type(memory, name)
        return memory

    def weights(self, given: Any, shape: tuple[int, ...]) -> Memory:
        memory = self._memory(given, "weights")
        if memory.type not in WEIGHT_TYPES:
            raise TypeError(f"weights of type {memory.type} in device memory are not summed; convert them to one of "
                            f"{', '.join(WEIGHT_TYPES)}")
        check_shape(memory, shape)
        return memory

    def bounds(self, samples: Memory, name: str) -> tuple[Any, Any]:
        """The lowest and the highest sample, of which there is at least one, as scalars of NumPy. Waits for them."""
        return self._library.bounds(samples.owner[1], samples.type, name)

    def as_numpy(self, given: Any) -> Any:
        """Edges of bins, which are needed in host memory."""
        if cuda_device_of(given, "bins") is None:
            return numpy_module().asarray(given)
        library = library_of(given)
        if library is None:
            raise TypeError("bins: pass edges in host memory")
        return library.to_numpy(given)

    def own(self, array: Any) -> Any:
        """A NumPy array as a tensor of the library."""
        return self._library.from_numpy(array, self._x)

    def count(self, bins: _core.SampleBins, samples: Memory, weights: Memory | None, channels: int) -> Any:
        """The rows of all channels: int64, or float64 for weights. (JAX has them in 32 bits, if it uses no others.)"""
        return self._count(_core.DeviceBins(bins, channels), [samples], weights, channels)

    def count_pairs(self, bins: Sequence[_core.SampleBins], pairs: Sequence[Memory], weights: Memory | None) -> Any:
        """The row of a joint histogram: float64."""
        x, y = pairs
        if x.type != y.type:
            raise TypeError(f"x and y in device memory must have the same type, not {x.type} and {y.type}: convert one of them")
        return self.as_float64(self._count(_core.DeviceBins(bins[0], 1, bins[1]), pairs, weights, 1))

    def as_float64(self, counts: Any) -> Any:
        return self._library.as_float64(counts)

    def _count(self, bins: _core.DeviceBins, samples: Sequence[Memory], weights: Memory | None, channels: int) -> Any:
        library = self._library
        names = ["x", "y"][: len(samples)]
        arrays = [*samples] if weights is None else [*samples, weights]
        found = views(arrays, channels)
        if found is None:
            shapes = ", ".join(f"{name} {each.shape} with strides of {each.strides} bytes"
                               for name, each in zip([*names, "weights"], arrays))
            raise ValueError(f"{shapes}: the elements have no common stride, and tensors in device memory are not copied: pass "
                             f"{library.remedy_for_strides('x')}" + (", and the same of the others" if len(arrays) > 1 else ""))
        x, y, summed = found[0], found[1] if len(samples) == 2 else None, None if weights is None else found[-1]

        values, workspace_size = bins.sizes()
        rows = library.zeros(values, "int64" if weights is None else "float64", self._x)
        workspace = library.scratch(workspace_size + _ALIGNMENT, self._x)
        written, scratch = self._imported(rows), self._imported(workspace)
        aligned = -(-scratch.address // _ALIGNMENT) * _ALIGNMENT
        _core.count_on_device(bins, x, y, summed, written.address, aligned, self._device, self._stream)
        if not library.has_streams:
            _core.wait_for_stream(self._device, self._stream)
        return library.result(rows, math.prod(samples[0].shape))

    def _memory(self, given: Any, name: str) -> Memory:
        refuse_gradient(given, name)
        check_place(given, name, self._device)
        library = library_of(given)
        if library is None or library.name != self._library.name:
            raise TypeError(f"{name}: a tensor of {self._library.name} is required, as x, not a {type(given).__module__}."
                            f"{type(given).__qualname__} (from_dlpack() of {self._library.name} makes one without a copy)")
        tensor = self._imported(given)
        return Memory(tensor.address, tensor.type, tensor.itemsize, tuple(tensor.shape), tuple(tensor.strides), (tensor, given))

    def _imported(self, tensor: Any) -> _core.Tensor:
        """The memory of a tensor, which the library lets wait for what it has queued for the tensor on other streams."""
        return _core.Tensor(tensor.__dlpack__(stream=self._stream))
