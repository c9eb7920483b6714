"""Counting files: whole, window by window, unit by unit, and with a filter."""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuhist import _core
from gpuhist._errors import SystemFailure
from gpuhist._exit import close_at_exit
from gpuhist._options import FileOptions, Path, Units, Windows, file_options, texts
from gpuhist._progress import Progress, reporter
from gpuhist._results import Results

if TYPE_CHECKING:
    from typing import Unpack

Item = TypeVar("Item")


def _results(outcome: Any, options: FileOptions) -> Results:
    counts, status, warning, write_error = outcome
    if write_error:
        raise SystemFailure(write_error, f"the text could not be written: {os.strerror(write_error)}")
    return Results(counts, status, warning, texts(options.get("measures", ())))


def count(
    paths: Path | Iterable[Path],
    *,
    progress: bool | Callable[[Progress], object] = False,
    on_alert: Callable[[_core.Alert], object] | None = None,
    on_notice: Callable[[str], object] | None = None,
    **options: Unpack[FileOptions],
) -> Results:
    """Counts files, the files below directories, archives and compressed files, on all cores.

        gpuhist.count("january.log.zst", buckets="letters").counts()

    Options are those of `FileOptions` and `CountingOptions`. Failures of inputs raise nothing: see `Results.status`,
    `Results.inputs` and `Results.check`. `progress=True` writes a line to standard error; a callable gets a `Progress`
    some times a second. Callbacks are called on this thread. The GIL is released. Ctrl-C ends the count, and raises
    KeyboardInterrupt (on the main thread). No thread of the count exists after the return. Raises
    InvalidArgumentError, EngineError, OutOfMemoryError, SystemFailure, and what a callback raises.
    """
    chosen = file_options(paths, options)
    with reporter(progress) as report:
        return _results(_core.count_files(chosen, report, on_alert, on_notice, None), options)


def filter(
    paths: Path | Iterable[Path],
    output: Path | Callable[[bytes], object] | Any,
    *,
    keep_if: str = "",
    drop_if: str = "",
    each: Units | str = "line",
    progress: bool | Callable[[Progress], object] = False,
    **options: Unpack[FileOptions],
) -> Results:
    """Writes the lines, records or parts for which a condition holds (`keep_if`) or does not (`drop_if`).

        gpuhist.filter("app.log.zst", "clean.log", drop_if="digit > 0.5 || control > 0.1")

    `output` is the path of a file, which is replaced; an object with `fileno()`, or with `write()`; or a callable that
    receives bytes, on a thread of the run. The results have the counts of the whole text; `Results.units` says how
    many units the condition selects. Otherwise as `count`. Raises SystemFailure if the text cannot be written.
    """
    units = each if isinstance(each, Units) else Units(each=each)  # type: ignore[arg-type]
    if bool(keep_if) == bool(drop_if):
        raise ValueError("one of keep_if and drop_if is required")
    units = dataclasses.replace(units, where=keep_if or drop_if, filter="keep" if keep_if else "drop")
    chosen = file_options(paths, {**options, "units": units})
    with reporter(progress) as report, _Output(output) as target:
        return _results(_core.count_files(chosen, report, None, None, target), options)


class _Output:
    """A destination as the library takes it: a descriptor, or a callable. Closes what it has opened."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self._opened: io.FileIO | None = None

    def __enter__(self) -> Any:
        given = self._given
        if isinstance(given, str | bytes | os.PathLike):
            self._opened = io.FileIO(os.fsencode(given), "w")
            return self._opened.fileno()
        if callable(given):
            return given
        try:
            given.flush()  # what the program wrote before precedes
            return given.fileno()
        except (AttributeError, OSError):  # io.BytesIO: no descriptor
            return given.write

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()


class FileStream(Generic[Item]):
    """An iterator over windows or units of files. The counting runs on threads of the library, at most 1,024 items ahead.

    As a context manager, or by `close`, it ends before the last item. Ctrl-C ends it, too. `results` are the counts:
    after the last item of everything, after `close` of what was read.
    """

    def __init__(self, iterator: Any, options: FileOptions) -> None:
        self._iterator, self._options = iterator, options
        close_at_exit(self)

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item: Item = next(self._iterator)
        return item

    def close(self) -> None:
        """Ends the counting. No thread of it exists after the return."""
        self._iterator.close()

    @property
    def results(self) -> Results:
        """Raises RuntimeError before the end."""
        outcome = self._iterator.outcome()
        if outcome is None:
            raise RuntimeError("the counting has not ended: iterate to the end, or call close()")
        return _results(outcome, self._options)

    def __enter__(self) -> FileStream[Item]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def windows(paths: Path | Iterable[Path], window: Windows | int, **options: Unpack[FileOptions]) -> FileStream[_core.Window]:
    """Iterates over the windows of files, each as soon as it is counted. An int is a length in bytes.

        for window in gpuhist.windows("app.log", 65536, measures="entropy"):
            print(window.first_offset, window.measure("entropy"))

    Options are those of `count`. Raises as `count`, from the iteration.
    """
    chosen = window if isinstance(window, Windows) else Windows(length=window)
    made: FileOptions = {**options, "windows": chosen}
    return FileStream(_core.WindowIterator(file_options(paths, made)), made)


def units(
    paths: Path | Iterable[Path], each: Units | str = "line", where: str = "", **options: Unpack[FileOptions]
) -> FileStream[_core.Unit]:
    """Iterates over the lines (or other units) for which the condition `where` holds.

        for line in gpuhist.units("app.log", where="digit > 0.5"):
            print(line.input, line.line, line.values["digit"])

    Options are those of `count`. Raises as `count`, from the iteration.
    """
    chosen = each if isinstance(each, Units) else Units(each=each)  # type: ignore[arg-type]
    if where:
        chosen = dataclasses.replace(chosen, where=where)
    made: FileOptions = {**options, "units": chosen}
    return FileStream(_core.UnitIterator(file_options(paths, made)), made)
