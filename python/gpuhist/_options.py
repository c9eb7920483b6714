"""The options of a count, as keyword arguments, and their conversion to those of the C++ library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from gpuhist import _core

if TYPE_CHECKING:
    from gpuhist._results import Results

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Engine: TypeAlias = Literal["automatic", "host", "cuda"]


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Windows of the text, each of which is counted.

    `length` and `step` are in `measured_in`. A step of 0 is the length. Windows span inputs unless `per_input` is set.
    """

    length: int
    step: int = 0
    measured_in: Literal["bytes", "lines", "milliseconds"] = "bytes"
    per_input: bool = False

    def _core(self) -> _core.WindowOptions:
        made = _core.WindowOptions()
        made.length, made.step, made.per_input = self.length, self.step, self.per_input
        made.set_measured_in(self.measured_in)
        return made


@dataclass(frozen=True, kw_only=True)
class Units:
    """Parts of the text, each of which is measured by itself.

    `each` is "line", "record" (ended by the byte `delimiter`), "part" (of `part_bytes` bytes), "input" or "window".
    `where` is a condition that selects units, such as "digit > 0.5". `top` units with the highest values of the formula
    `top_by` are kept, and the distribution of the formula `distribution_of`. With `jsonl_field`, lines are JSON objects,
    and the string in this field is measured.
    """

    each: Literal["line", "record", "part", "input", "window"] = "line"
    delimiter: bytes = b"\0"
    part_bytes: int = 0
    where: str = ""
    top: int = 0
    top_by: str = ""
    distribution_of: str = ""
    jsonl_field: str = ""
    filter: Literal["none", "keep", "drop"] = "none"

    def _core(self) -> _core.UnitOptions:
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter: {self.delimiter!r} is not one byte")
        made = _core.UnitOptions()
        made.set_delimiter(self.delimiter[0])
        for name in ("part_bytes", "where", "top", "top_by", "distribution_of", "jsonl_field"):
            setattr(made, name, getattr(self, name))
        made.set_each(self.each)
        made.set_filter(self.filter)
        return made


class CountingOptions(TypedDict, total=False):
    """What is counted, and by what. The names are those of the C++ library (gpuhist/options.hpp), except `buckets`."""

    buckets: str | Sequence[str]
    """Schemes: "letters", "alphabet", "bytes", "classes" (default), "utf8", or definitions such as "vowels=aeiou"."""
    ignore_case: bool
    """A-Z are counted as a-z."""
    byte_counts: bool
    """Keep the counts of all 256 byte values, also for `Results.measure` and for a later `baseline`."""
    pairs: bool
    """Count how often each bucket follows each bucket."""
    measures: str | Sequence[str]
    """Measures that `to_dict` and the Arrow table report: names of docs/measures.md, or "all"."""
    baseline: Results
    """An earlier result with byte counts, for measures that compare."""
    previous_windows: int
    """Compare each window with so many before it; 0: with `baseline`."""
    windows: Windows
    """Windows of the text."""
    units: Units
    """Lines, records, ... that are measured each by itself."""
    fail_if: str | Sequence[str]
    """Conditions such as "entropy > 7.9". If one holds, the status is "condition_held"."""
    alert_if: str | Sequence[str]
    """Conditions that are only reported to `on_alert`."""
    fail_fast: bool
    """The first condition of `fail_if` that holds ends the reading."""
    engine: Engine
    """What counts. All engines give the same counts. "automatic": the host, and GPUs if the cores are saturated."""
    devices: Sequence[int]
    """CUDA devices by number. Default: the first usable one."""
    all_devices: bool
    """All usable CUDA devices."""
    device_decode: Literal["automatic", "on", "off"]
    """Whether devices decode zstd frames."""
    device_memory: int
    """Bytes on each device for decoding. 0: half of it, at most 56 GiB."""
    kernel: str
    """The host or device kernel, by its name. Default: the best one."""
    threads: int
    """Threads of the pool. 0: one for each core."""
    memory_limit: int
    """Bytes of all buffers and decoders. 0: 256 MiB for a counter, 1 GiB for files."""


class FileOptions(CountingOptions, total=False):
    """What is read, and how, besides what is counted."""

    include: str | Sequence[str]
    """Patterns of files below directories. Default: all."""
    exclude: str | Sequence[str]
    """Patterns of files and directories that are not read."""
    follow_symlinks: bool
    """Follow symbolic links below directories."""
    format: str
    """"zstd", "raw", ...; empty: the content of each input decides."""
    dictionary: Path
    """A zstd dictionary."""
    max_output: int
    """The most bytes of text of a compressed input. 0: unlimited."""
    skip_damage: bool
    """Continue after a damaged part at the next intact frame or member."""
    count_unverified: bool
    """Unverified text is in the totals."""


_RENAMED = {"buckets": "schemes"}
_TEXTS = {"buckets", "measures", "fail_if", "alert_if", "include", "exclude"}
_SETTERS = {"engine", "device_decode"}
_OF_TREES = {"include", "exclude", "follow_symlinks"}
_OF_COUNTING = set(CountingOptions.__annotations__)
_OF_FILES = set(FileOptions.__annotations__) - _OF_COUNTING - _OF_TREES


def texts(value: str | Iterable[str]) -> list[str]:
    """One text or several, as a list."""
    return [value] if isinstance(value, str) else list(value)


def _set(target: object, name: str, value: Any) -> None:
    try:
        if name in _SETTERS:
            getattr(target, f"set_{name}")(value)
        else:
            setattr(target, _RENAMED.get(name, name), texts(value) if name in _TEXTS else value)
    except TypeError as error:
        raise TypeError(f"{name}: {type(value).__name__} is not accepted: {value!r}") from error


def _counting_value(name: str, value: Any) -> object:
    if isinstance(value, Windows | Units):
        return value._core()
    return value._counts if name == "baseline" else value


def _refuse_unknown(names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise TypeError(f"unknown option {name!r}; known: {', '.join(sorted(known))}")


def counting_options(given: CountingOptions) -> _core.CountingOptions:
    """Options of a counter."""
    _refuse_unknown(given, _OF_COUNTING)
    made = _core.CountingOptions()
    for name, value in given.items():
        if value is not None:
            _set(made, name, _counting_value(name, value))
    return made


def path_list(paths: Path | Iterable[Path]) -> list[bytes]:
    """One path or several, as bytes."""
    several = [paths] if isinstance(paths, str | bytes | os.PathLike) else paths
    return [os.fsencode(path) for path in several]


def file_options(paths: Path | Iterable[Path], given: FileOptions) -> _core.FileOptions:
    """Options of a run over files. The files below directories are counted."""
    _refuse_unknown(given, _OF_COUNTING | _OF_FILES | _OF_TREES)
    made, trees = _core.FileOptions(), _core.TreeOptions()
    for path in path_list(paths):
        made.add_input(path)
    counted = {name: value for name, value in given.items() if name in _OF_COUNTING}
    made.counting = counting_options(cast(CountingOptions, counted))
    if "dictionary" in given:
        made.set_dictionary(os.fsencode(given["dictionary"]))
    for name, value in given.items():
        if name != "dictionary" and name in _OF_FILES | _OF_TREES:
            _set(trees if name in _OF_TREES else made, name, value)
    made.trees = trees
    return made
