"""Where the elements of arrays are: any shape and strides, as frames with one stride, which the library reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuhist import _core


class Memory(NamedTuple):
    """An array in host or device memory. Strides are in bytes. `owner` is the array, and keeps the memory valid."""

    address: int
    type: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any


def views(arrays: Sequence[Memory], channels: int = 1) -> list[_core.View] | None:
    """The arrays, which have the same shape, as frames of `channels` adjacent elements (the last axis, if more than one).

    Frame i of each array belongs together. The order of the frames is that of the memory of the first array, not that of
    its axes. None if the frames of an array have no common stride, so that a copy would be necessary.
    """
    sizes = arrays[0].shape
    if 0 in sizes:
        return [_core.View(each.address, 0, channels, 0, each.type) for each in arrays]
    if channels != 1:
        sizes = sizes[:-1]
        if any(each.strides[-1] != each.itemsize for each in arrays):
            return None
    addresses = [each.address for each in arrays]

    axes = []
    for axis, size in enumerate(sizes):
        strides = [each.strides[axis] for each in arrays]
        if size > 1 and strides[0] < 0:  # from the other end
            addresses = [address + (size - 1) * stride for address, stride in zip(addresses, strides, strict=True)]
            strides = [-stride for stride in strides]
        if size > 1:
            axes.append((size, strides))
    axes.sort(key=lambda axis: axis[1][0])

    frames, common = 1, [0] * len(arrays)
    for size, strides in axes:
        if frames == 1:
            common = strides
        elif strides != [frames * stride for stride in common]:
            return None
        frames *= size
    if frames > 1 and 0 in common:  # one element for all frames; for the library, 0 means adjacent frames
        return None
    return [
        _core.View(address, frames, channels, stride, each.type)
        for address, stride, each in zip(addresses, common, arrays, strict=True)
    ]


def refuse_gradient(given: Any, name: str) -> None:
    if getattr(given, "requires_grad", False):
        raise ValueError(f"{name}: the tensor requires grad, and a histogram has no gradient: pass {name}.detach()")


def check_type(memory: Memory, name: str) -> None:
    if memory.type not in SAMPLE_TYPES:
        known = ", ".join(SAMPLE_TYPES)
        raise TypeError(f"{name}: samples of type {memory.type} are not counted; convert them to one of {known}")


def check_shape(weights: Memory, shape: tuple[int, ...]) -> None:
    if weights.shape != shape:
        raise ValueError(f"weights: the shape is {weights.shape}, that of the samples is {shape}")


SAMPLE_TYPES = ("uint8", "int8", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64")
WEIGHT_TYPES = ("float32", "float64", "int32")
