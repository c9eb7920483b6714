"""Counting what the program feeds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuhist import _core
from gpuhist._arrow import arrow_export
from gpuhist._exit import close_at_exit
from gpuhist._option_types import CountingOptions
from gpuhist._options import counting_options
from gpuhist._results import Results

if TYPE_CHECKING:
    from typing import Unpack

Buffer: TypeAlias = Any
"""An object with the buffer protocol (collections.abc.Buffer of Python 3.12)."""


class FedInput:
    """One input of a counter: a sequence of bytes, fed in order. Made by `Counter.open_input`.

    One thread at a time may use it (else MisuseError); different inputs may be fed by different threads at once. As a
    context manager, it is finished at the end of the block, or failed with the exception that leaves the block.
    """

    def __init__(self, opened: _core.Input, counter: Counter | None) -> None:
        self._opened, self._counter = opened, counter  # a counter exists as long as the inputs that the caller has

    def feed(self, data: Buffer) -> None:
        """The next bytes: bytes, bytearray, memoryview, mmap, a contiguous NumPy array of any type, ...

        They may be changed after the return. Of 64 KiB or more, they are counted where they lie, by the calling
        thread, without the GIL; fewer are copied. Raises TypeError for an object without the buffer protocol,
        ValueError or BufferError for one that is not contiguous, ClosedError and MisuseError. Damage of a
        compressed input raises nothing: see `failed`.
        """
        self._opened.feed(data)

    def feed_values(self, data: Any, column: str | None = None, *, nulls: str = "drop") -> _core.RowMask:
        """The next values: the texts of an Arrow column, read where they lie. Returns which rows are kept.

            with gpuhist.Counter(each="value", drop_if="words < 3") as counter, counter.open_input("text") as rows:
                mask = rows.feed_values(table, "text")
            table.filter(pyarrow.array(mask))

        `data` has `__arrow_c_stream__` or `__arrow_c_array__`: a table or an array of PyArrow, Polars, pandas or DuckDB,
        a stream of batches. Types: string, large_string, string_view, the same of binary, fixed_size_binary, and
        dictionaries of them. `column` is needed if a table has several. The counter has `each="value"`, so that each
        row is a unit, or no units. Kept are rows for which `where` or `keep_if` holds, or `drop_if` and `preset` do not;
        without a condition all. A null has no value; `nulls` says what becomes of it: "drop", "keep", or "fail"
        (InvalidArgumentError). The GIL is released. Raises TypeError for other data, KeyError for an unknown column, and
        as `feed`.
        """
        return self._opened.feed_values(arrow_export(data), column, nulls)

    def finish(self) -> None:
        """All bytes were fed."""
        self._opened.finish()

    def fail(self, cause: str) -> None:
        """The input has ended early: the result is incomplete, with this cause."""
        self._opened.fail(cause)

    @property
    def failed(self) -> bool:
        """Whether a compressed input is damaged or refused, so that its bytes need not be fed any more."""
        return self._opened.failed

    def __enter__(self) -> FedInput:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
        else:
            self.fail(f"{kind.__name__}: {error}" if kind else "")


class Counter:
    """Counts what the program feeds.

        with gpuhist.Counter(buckets="letters") as counter:
            counter.feed(b"hello, world\\n")
        print(counter.results)

    `feed` feeds the input `name`, which is opened by the first call; `open_input` opens further ones. At the end of the
    block the counter is finished; an exception that leaves the block cancels it. A counter owns threads: they end with
    `finish`, with the block, or with the object. Members may be called by any thread. Construct counters after a fork.

    Callbacks are called one at a time, on a thread of the counter, with the GIL: `on_window` with each Window as it
    closes, `on_alert` with each Alert, `on_unit` with each Unit that `where` selects, `on_notice` with texts for
    people. They must not call the counter, except `cancel`. An exception of a callback ends the counting, and `finish`
    raises it.
    """

    def __init__(
        self,
        *,
        name: str | bytes = "(fed)",
        on_window: Callable[[_core.Window], object] | None = None,
        on_alert: Callable[[_core.Alert], object] | None = None,
        on_unit: Callable[[_core.Unit], object] | None = None,
        on_notice: Callable[[str], object] | None = None,
        **options: Unpack[CountingOptions],
    ) -> None:
        chosen = counting_options(options)
        self._counter = _core.Counter(chosen, on_window, on_alert, on_unit, on_notice)
        self._name, self._chosen = name, chosen
        self._fed: FedInput | None = None
        self._results: Results | None = None
        close_at_exit(self)

    def feed(self, data: Buffer) -> None:
        """The next bytes of the input `name`. As `FedInput.feed`."""
        self._own_input().feed(data)

    def feed_values(self, data: Any, column: str | None = None, *, nulls: str = "drop") -> _core.RowMask:
        """The next values of the input `name`. As `FedInput.feed_values`."""
        return self._own_input().feed_values(data, column, nulls=nulls)

    def _own_input(self) -> FedInput:
        if self._fed is None:
            # without a reference to this counter: the end of a counter does not wait for the collector of cycles
            self._fed = FedInput(self._open(self._name), None)
        return self._fed

    def open_input(
        self,
        name: str | bytes | os.PathLike[str],
        *,
        input_format: str = "raw",
        max_output: int = 0,
        on_kept: Callable[[bytes], object] | None = None,
    ) -> FedInput:
        """A further input. Its bytes are the text, or of a compressed format: "zstd", "gzip", ...; "auto": they decide.

        With `keep_if` or `drop_if`, `on_kept` receives the text that is kept, within the calls that feed.
        """
        return FedInput(self._open(name, input_format, max_output, on_kept), self)

    def _open(self, name: Any, format: str = "raw", max_output: int = 0, on_kept: Any = None) -> _core.Input:
        return self._counter.open_input(os.fsencode(name), format, max_output, on_kept)

    def snapshot(self) -> Results:
        """The counts of everything that was fed before the call."""
        return Results(self._counter.snapshot(), options=self._chosen)

    def finish(self) -> Results:
        """Ends the inputs and the counter, and returns the counts of everything that was fed. Once, else ClosedError."""
        self._results = Results(self._counter.finish(), options=self._chosen)
        return self._results

    def cancel(self) -> None:
        """Ends the counting as soon as possible: calls that feed raise ClosedError, `finish` returns what was counted."""
        self._counter.cancel()

    @property
    def results(self) -> Results:
        """What `finish` returned. Raises RuntimeError before the end."""
        if self._results is None:
            raise RuntimeError("the counter is not finished")
        return self._results

    def __enter__(self) -> Counter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.close()
        elif self._results is None:
            self.finish()

    def close(self) -> None:
        """Cancels, and waits for the end of all threads, unless the counter is finished. Raises nothing."""
        self.cancel()
        with contextlib.suppress(Exception):  # what ended the counter was raised, or an exception leaves the block
            self.finish()
