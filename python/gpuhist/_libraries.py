"""The libraries whose tensors in device memory are counted. None of them is imported here: a tensor of it exists."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Protocol

LEGACY_STREAM = 1  # the legacy default stream of CUDA, as DLPack numbers streams


def numpy_module() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise ImportError("histograms of samples need NumPy: pip install numpy") from error
    return numpy


class Library(Protocol):
    """What gpuhist uses of a library. `like` is a tensor of it; results are in the memory of the same device.

    Memory is allocated by the library, and used on the stream of stream(). If `has_streams`, later work of the library
    is ordered after the work on that stream, and so is other use of memory that was freed; the caller need not wait.
    """

    name: str
    module: Any
    has_streams: bool

    def current_device(self) -> int | None:
        """None: the library has no current device."""

    def remedy_for_device(self, device: int) -> str:
        """How a program makes a device the current one."""

    def remedy_for_strides(self, name: str) -> str:
        """How a program copies a tensor to adjacent elements."""

    def stream(self, device: int) -> int:
        """The stream on which to count, as DLPack numbers streams."""

    def zeros(self, size: int, type_name: str, like: Any) -> Any:
        """A new tensor of one dimension."""

    def scratch(self, size: int, like: Any) -> Any:
        """Memory of `size` bytes, with any content."""

    def result(self, rows: Any, samples: int) -> Any:
        """Rows of int64 or float64 with counts of at most `samples`, in the types that the program uses."""

    def bounds(self, tensor: Any, type_name: str, name: str) -> tuple[Any, Any]:
        """The lowest and the highest value, as scalars of NumPy. Waits for them."""

    def to_numpy(self, tensor: Any) -> Any:
        """A copy in host memory. Waits for it."""

    def from_numpy(self, array: Any, like: Any) -> Any:
        """A copy in device memory. Does not wait."""

    def as_float64(self, tensor: Any) -> Any:
        """In float64, or the widest type that the program uses."""


class Torch:
    name = "torch"
    has_streams = True

    def __init__(self) -> None:
        self.module: Any = sys.modules["torch"]

    def current_device(self) -> int | None:
        return int(self.module.cuda.current_device())

    def remedy_for_device(self, device: int) -> str:
        return f"call torch.cuda.set_device({device}), or use `with torch.cuda.device({device}):`"

    def remedy_for_strides(self, name: str) -> str:
        return f"{name}.contiguous()"

    def stream(self, device: int) -> int:
        return int(self.module.cuda.current_stream(device).cuda_stream) or LEGACY_STREAM

    def zeros(self, size: int, type_name: str, like: Any) -> Any:
        return self.module.zeros(size, dtype=getattr(self.module, type_name), device=like.device)

    def scratch(self, size: int, like: Any) -> Any:
        return self.module.empty(size, dtype=self.module.uint8, device=like.device)

    def result(self, rows: Any, samples: int) -> Any:
        return rows

    def bounds(self, tensor: Any, type_name: str, name: str) -> tuple[Any, Any]:
        if type_name in ("uint16", "uint32"):
            raise TypeError(f"{name}: torch does not find the lowest and highest of {type_name}: convert to int32 or int64, or "
                            "pass range=")
        lower, upper = self.module.stack(self.module.aminmax(tensor)).tolist()
        scalar = numpy_module().dtype("float32" if type_name == "bfloat16" else type_name).type
        return scalar(lower), scalar(upper)

    def to_numpy(self, tensor: Any) -> Any:
        return tensor.detach().cpu().numpy()

    def from_numpy(self, array: Any, like: Any) -> Any:
        return self.module.from_numpy(numpy_module().array(array)).to(like.device, non_blocking=True)

    def as_float64(self, tensor: Any) -> Any:
        return tensor.to(self.module.float64)


class Cupy:
    name = "cupy"
    has_streams = True

    def __init__(self) -> None:
        self.module: Any = sys.modules["cupy"]

    def current_device(self) -> int | None:
        return int(self.module.cuda.runtime.getDevice())

    def remedy_for_device(self, device: int) -> str:
        return f"call cupy.cuda.Device({device}).use(), or use `with cupy.cuda.Device({device}):`"

    def remedy_for_strides(self, name: str) -> str:
        return f"cupy.ascontiguousarray({name})"

    def stream(self, device: int) -> int:
        return int(self.module.cuda.get_current_stream().ptr) or LEGACY_STREAM

    def zeros(self, size: int, type_name: str, like: Any) -> Any:
        return self.module.zeros(size, dtype=type_name)

    def scratch(self, size: int, like: Any) -> Any:
        return self.module.empty(size, dtype="uint8")

    def result(self, rows: Any, samples: int) -> Any:
        return rows

    def bounds(self, tensor: Any, type_name: str, name: str) -> tuple[Any, Any]:
        lower, upper = self.module.stack([tensor.min(), tensor.max()]).get()
        return lower, upper

    def to_numpy(self, tensor: Any) -> Any:
        return tensor.get()

    def from_numpy(self, array: Any, like: Any) -> Any:
        return self.module.asarray(array)

    def as_float64(self, tensor: Any) -> Any:
        return tensor.astype("float64")


class Jax:
    """JAX shows neither its streams nor a current device. The caller waits for the results, which are in arrays that only
    the caller has: their memory is written after JAX has filled it with zeros."""

    name = "jax"
    has_streams = False

    def __init__(self) -> None:
        self._jax: Any = sys.modules["jax"]
        self.module: Any = self._jax.numpy

    def current_device(self) -> int | None:
        return None

    def remedy_for_device(self, device: int) -> str:
        return f"use jax.device_put(..., jax.devices()[{device}])"

    def remedy_for_strides(self, name: str) -> str:
        return f"jax.numpy.copy({name})"

    def stream(self, device: int) -> int:
        return LEGACY_STREAM

    def zeros(self, size: int, type_name: str, like: Any) -> Any:
        with self._with_64_bits():
            return self.module.zeros(size, dtype=type_name, device=like.device)

    def scratch(self, size: int, like: Any) -> Any:
        return self.module.empty(size, dtype="uint8", device=like.device)

    def result(self, rows: Any, samples: int) -> Any:
        """In 32 bits, unless the program has enabled 64 bits."""
        if self._uses_64_bits():
            return rows
        is_counts = rows.dtype == "int64"
        if is_counts and samples >= 2**31:
            raise ValueError(f"{samples} samples may have counts beyond int32: set jax_enable_x64")
        with self._with_64_bits():
            return rows.astype("int32" if is_counts else "float32")

    def bounds(self, tensor: Any, type_name: str, name: str) -> tuple[Any, Any]:
        lower, upper = self.to_numpy(self.module.stack([tensor.min(), tensor.max()]))
        return lower, upper

    def to_numpy(self, tensor: Any) -> Any:
        return numpy_module().asarray(tensor)

    def from_numpy(self, array: Any, like: Any) -> Any:
        return self._jax.device_put(array, like.device)

    def as_float64(self, tensor: Any) -> Any:
        return tensor.astype("float64" if self._uses_64_bits() else "float32")

    def _uses_64_bits(self) -> bool:
        return bool(self._jax.config.jax_enable_x64)

    def _with_64_bits(self) -> contextlib.AbstractContextManager[Any]:
        if hasattr(self._jax, "enable_x64"):  # since JAX 0.8
            return self._jax.enable_x64(True)  # type: ignore[no-any-return]
        return self._jax.experimental.enable_x64(True)  # type: ignore[no-any-return]


def library_of(tensor: Any) -> Library | None:
    """The library of a tensor; None if it is none of those above."""
    for name, type_name, made in (("torch", "Tensor", Torch), ("cupy", "ndarray", Cupy), ("jax", "Array", Jax)):
        kind = getattr(sys.modules.get(name), type_name, None)
        if kind is not None and isinstance(tensor, kind):
            return made()
    return None
