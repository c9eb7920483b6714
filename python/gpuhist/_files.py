"""Counting files: whole, window by window, unit by unit, and with a filter."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuhist import _core
from gpuhist._errors import SystemFailure
from gpuhist._exit import close_at_exit
from gpuhist._option_types import FileOptions
from gpuhist._options import check_filter, file_options
from gpuhist._progress import Progress, reporter
from gpuhist._results import Path, Results

if TYPE_CHECKING:
    from typing import Unpack

Item = TypeVar("Item")


def _results(outcome: Any, options: _core.FileOptions) -> Results:
    counts, status, warning, write_error = outcome
    if write_error:
        raise SystemFailure(write_error, f"the text could not be written: {os.strerror(write_error)}")
    return Results(counts, status, warning, options)


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
        return _results(_core.count_files(chosen, report, on_alert, on_notice, None), chosen)


def filter(
    paths: Path | Iterable[Path],
    output: Path | Callable[[bytes], object] | Any,
    *,
    progress: bool | Callable[[Progress], object] = False,
    **options: Unpack[FileOptions],
) -> Results:
    """Writes the units for which a condition holds (`keep_if`) or does not (`drop_if`, `preset`): lines, or `each`.

        gpuhist.filter("app.log.zst", "clean.log", drop_if="digit > 0.5 || control > 0.1")

    `output` is the path of a file, which is replaced; an object with `fileno()`, or with `write()`; or a callable that
    receives bytes, on a thread of the run. The results have the counts of the whole text; `Results.units` says how
    many units the condition selects. Otherwise as `count`. Raises SystemFailure if the text cannot be written.
    """
    check_filter(options)
    chosen = file_options(paths, {"each": "line", **options})
    chosen.drop_selected()
    with reporter(progress) as report, _Output(output) as target:
        return _results(_core.count_files(chosen, report, None, None, target), chosen)


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

    def __init__(self, iterator: Any, options: _core.FileOptions) -> None:
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


def windows(
    paths: Path | Iterable[Path], window: int | str | None = None, /, **options: Unpack[FileOptions]
) -> FileStream[_core.Window]:
    """Iterates over the windows of files, each as soon as it is counted. `window` may also be given by name.

        for window in gpuhist.windows("app.log", "64KiB", measures="entropy"):
            print(window.first_offset, window.measure("entropy"))

    Options are those of `count`. Raises as `count`, from the iteration.
    """
    made: FileOptions = options if window is None else {"window": window, **options}
    if "window" not in made:
        raise TypeError("window is required")
    chosen = file_options(paths, made)
    return FileStream(_core.WindowIterator(chosen), chosen)


def units(
    paths: Path | Iterable[Path], each: int | str = "line", where: str = "", /, **options: Unpack[FileOptions]
) -> FileStream[_core.Unit]:
    """Iterates over the lines (or other units) for which the condition `where` holds. Both may also be given by name.

        for line in gpuhist.units("app.log", where="digit > 0.5"):
            print(line.input, line.line, line.values["digit"])

    Options are those of `count`. Raises as `count`, from the iteration.
    """
    made: FileOptions = {"each": each, "where": where, **options}
    if not made["where"]:
        del made["where"]
    chosen = file_options(paths, made)
    return FileStream(_core.UnitIterator(chosen), chosen)
