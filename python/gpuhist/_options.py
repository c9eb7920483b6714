"""Keyword arguments as options of the library: their names and texts on the command line."""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gpuhist import _core
from gpuhist._option_types import INTERVALS, NUMBERS, CountingOptions, FileOptions
from gpuhist._results import Path, Results

if TYPE_CHECKING:
    from typing import TypeVar

    Made = TypeVar("Made", _core.CountingOptions, _core.FileOptions)


def path_list(paths: Path | Iterable[Path]) -> list[bytes]:
    """One path or several, as bytes."""
    several = [paths] if isinstance(paths, str | bytes | os.PathLike) else paths
    return [os.fsencode(path) for path in several]


def _text(name: str, value: object) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, numbers.Real):
        return f"{value}{'B' if name in INTERVALS else ''}".encode()  # an interval without a unit is refused
    if isinstance(value, str | bytes | os.PathLike):
        return os.fsencode(value)
    raise TypeError(f"{name}: {type(value).__name__} is not accepted: {value!r}")


def _texts(name: str, value: object) -> list[bytes]:
    """A sequence is a repeated option, or one list of numbers."""
    if isinstance(value, str | bytes | os.PathLike) or not isinstance(value, Iterable):
        return [_text(name, value)]
    texts = [_text(name, each) for each in value]
    return [b",".join(texts)] if texts and name in NUMBERS else texts


def settings(given: Mapping[str, object]) -> list[tuple[str, bytes]]:
    """Names and texts, without a baseline that is a result."""
    return [
        (name.replace("_", "-"), text)
        for name, value in given.items()
        if value is not None and not (name == "baseline" and isinstance(value, Results))
        for text in _texts(name, value)
    ]


def _baseline(given: CountingOptions) -> _core.Results | None:
    found = given.get("baseline")
    return found._counts if isinstance(found, Results) else None


def _refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            likely = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {likely[0]!r}?" if likely else f"known: {', '.join(sorted(known))}"
            raise TypeError(f"unknown option {name!r}; {hint}")


def _completed(made: Made, given: CountingOptions, texts: list[tuple[str, bytes]]) -> Made:
    if given.get("buckets") is not None and "buckets" not in dict(texts):
        made.without_buckets()  # an empty sequence: only bytes and lines, for which the option has no text
    return made


def counting_options(given: CountingOptions) -> _core.CountingOptions:
    """Options of a counter."""
    _refuse_unknown(given, CountingOptions.__annotations__)
    texts = settings(given)
    made = _completed(_core.counting_options(texts, _baseline(given)), given, texts)
    if given.get("each") == "value" and given.get("preset"):
        if given.get("where"):
            raise ValueError("preset drops values, and where keeps them; give drop_if instead of where")
        made.drop_selected()
    return made


def check_filter(given: Mapping[str, object]) -> None:
    """Refuses options of a filter without a condition, and with one of each kind."""
    drops = bool(given.get("drop_if") or given.get("preset"))
    if bool(given.get("keep_if")) == drops:
        raise ValueError("either keep_if, or drop_if or preset, is required")


def file_options(paths: Path | Iterable[Path], given: FileOptions) -> _core.FileOptions:
    """Options of a run over files. The files below directories are counted."""
    _refuse_unknown(given, FileOptions.__annotations__)
    texts = settings(given)
    return _completed(_core.file_options(path_list(paths), texts, _baseline(given)), given, texts)
