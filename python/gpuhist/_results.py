"""Results: counts as values, of all inputs and of each."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeAlias, overload

from gpuhist import _core
from gpuhist._bars import bar_lines
from gpuhist._errors import IncompleteError

Measurement = _core.Measurement
Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class _Counted:
    """What the totals and an input have in common. `_input` is empty for the totals, else the number of the input."""

    _counts: _core.Results
    _input: tuple[int, ...] = ()

    def counts(self, scheme: str | None = None) -> list[int]:
        """One count for each bucket of a scheme, in the order of `Results.buckets`. Default: the first scheme."""
        return self._counts.counts(self._scheme(scheme), *self._input)

    def counts_by_name(self, scheme: str | None = None) -> dict[str, int]:
        """The counts of a scheme by the names of the buckets."""
        return dict(zip(self._counts.buckets(self._scheme(scheme)), self.counts(scheme), strict=True))

    def pairs(self, scheme: str | None = None) -> list[list[int]]:
        """How often a byte of bucket `i` is followed by one of bucket `j`: row `i`, column `j`. Needs `pairs=True`."""
        flat = self._counts.pairs(self._scheme(scheme), *self._input)
        size = len(self._counts.buckets(self._scheme(scheme)))
        return [flat[row * size : (row + 1) * size] for row in range(size)]

    def measurement(self, name: str) -> Measurement:
        """A measure (docs/measures.md) with its unit, or the reason why it has no value. Needs byte counts."""
        return self._counts.measure(name, *self._input)

    def measure(self, name: str) -> float | None:
        """The value of a measure. None: these counts have none."""
        return self.measurement(name).value

    def _scheme(self, scheme: str | None) -> str:
        schemes = self._counts.schemes
        if scheme is None and not schemes:
            raise ValueError("the result has no scheme: only bytes and lines were counted")
        return schemes[0] if scheme is None else scheme


class Input(_Counted):
    """The counts of one input. A value; refers to the results that it is from."""

    def __init__(self, counts: _core.Results, number: int) -> None:
        self._counts, self._input, self._facts = counts, (number,), counts.input(number)

    @property
    def name(self) -> str:
        """As os.fsdecode() decodes it: os.fsencode() restores the bytes."""
        return self._facts.name

    @property
    def format(self) -> str:
        """"raw", "zstd", ..."""
        return self._facts.format

    @property
    def bytes(self) -> int:
        """Bytes of verified text."""
        return self._facts.bytes

    @property
    def lines(self) -> int:
        """Line feeds in it."""
        return self._facts.lines

    @property
    def compressed_bytes(self) -> int | None:
        """Read so far; None: not compressed."""
        return self._facts.compressed_bytes

    @property
    def unverified_bytes(self) -> int:
        """Without a correct checksum."""
        return self._facts.unverified_bytes

    @property
    def complete(self) -> bool:
        """All of it was counted and verified."""
        return self._facts.complete

    @property
    def failure(self) -> str | None:
        """None, or the cause: "damaged", "unreadable", ..."""
        return self._facts.failure

    @property
    def error(self) -> str:
        """The same for people; empty if there was no error."""
        return self._facts.error

    @property
    def notices(self) -> list[_core.Notice]:
        """Remarks, although it is counted: at most one of each kind."""
        return self._facts.notices

    @property
    def matches(self) -> list[_core.MatchCount]:
        """The lines that match in it, for each expression of `match`."""
        return self._facts.matches

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"INCOMPLETE: {self.error or self.failure}"
        return f"<gpuhist.Input {self.name!r}: {self.bytes:,} bytes, {self.lines:,} lines, {state}>"


class Inputs(Sequence[Input]):
    """The inputs of a result, in the order in which they were opened."""

    def __init__(self, counts: _core.Results) -> None:
        self._counts = counts

    def __len__(self) -> int:
        return self._counts.inputs

    @overload
    def __getitem__(self, index: int) -> Input: ...
    @overload
    def __getitem__(self, index: slice) -> list[Input]: ...
    def __getitem__(self, index: int | slice) -> Input | list[Input]:
        chosen = range(len(self))[index]
        return Input(self._counts, chosen) if isinstance(chosen, int) else [Input(self._counts, n) for n in chosen]

    def __iter__(self) -> Iterator[Input]:
        return (Input(self._counts, number) for number in range(len(self)))


class Results(_Counted):
    """Counts of a run, or of a part of it (`Counter.snapshot`). A value: any thread may read it.

    `status` is "complete", "incomplete" (an input failed), "condition_held" (`fail_if`) or "stopped".
    """

    def __init__(self, counts: _core.Results, status: str = "", warning: str = "", options: Any = None) -> None:
        self._counts, self.warning = counts, warning
        self._reading = _Reading.of(options)
        self.status = status or ("complete" if counts.complete else "incomplete")

    @property
    def complete(self) -> bool:
        """Every byte of every input was counted and verified."""
        return self._counts.complete

    @property
    def bytes(self) -> int:
        """Bytes of verified text, in all."""
        return self._counts.bytes

    @property
    def lines(self) -> int:
        """Line feeds in it."""
        return self._counts.lines

    @property
    def unverified_bytes(self) -> int:
        """Not in `bytes`."""
        return self._counts.unverified_bytes

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, in the order of the request."""
        return self._counts.schemes

    @property
    def error(self) -> str:
        """Why the counting failed; empty: it did not."""
        return self._counts.error

    @property
    def inputs(self) -> Inputs:
        """A sequence of `Input`."""
        return Inputs(self._counts)

    @property
    def skipped(self) -> list[_core.SkippedInputs]:
        """Names in trees and archives that were not read."""
        return self._counts.skipped()

    @property
    def units(self) -> _core.UnitSummary | None:
        """A summary of the units; None: no units were measured."""
        return self._counts.units()

    @property
    def elapsed(self) -> float:
        """Of a snapshot: seconds since the first byte."""
        return self._counts.elapsed

    def buckets(self, scheme: str | None = None) -> list[str]:
        """The names of the buckets of a scheme. Default: the first scheme."""
        return self._counts.buckets(self._scheme(scheme))

    def check(self) -> Results:
        """These results, if they are complete. Else raises IncompleteError."""
        if self.complete:
            return self
        failed = (f"{each.name}: {each.error or each.failure}" for each in self.inputs if not each.complete)
        raise IncompleteError(self.error or next(failed, self.status))

    def to_json(self) -> builtins.bytes:
        """A document of schema gpuhist.result/1 (docs/output.md)."""
        return _core.json_of(self._counts)

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A table of the Arrow C stream interface, with one row for each input, in one batch.

        Columns: input, format, bytes, lines, compressed_bytes, unverified_bytes, complete, error; `SCHEME.BUCKET` for
        each bucket; the `measures` that were requested. `pyarrow.table(result)`, `polars.DataFrame(result)`, and
        DuckDB read it without a copy. The requested schema is ignored, as the interface permits.
        """
        return _core.arrow_stream(self._counts, self._measure_names())

    def _measure_names(self) -> list[str]:
        if "all" not in self._reading.measures:
            return self._reading.measures
        return list(self.to_dict().get("measures", ()))

    def __repr__(self) -> str:
        state = "" if self.complete else f", {self.status.upper()}"
        count = self._counts.inputs
        head = f"<gpuhist.Results: {self.bytes:,} bytes, {self.lines:,} lines, {count:,} input{'s' * (count != 1)}{state}>"
        parts = [bar_lines(name, self.counts_by_name(name)) for name in self.schemes]
        return "\n".join([head, *(line for part in parts for line in part)])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a document, so that tasks of other processes may return results. They must have byte counts."""
        if not self._counts.has_byte_counts or self._reading.schemes is None:
            raise TypeError("results without byte counts cannot be pickled: give byte_counts=True")
        return _unpickled, (self.to_json(), self.status, self.warning, self._reading)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Results) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _Reading(NamedTuple):
    """How results are read again from their document. Without schemes they cannot be."""

    schemes: list[str] | None = None
    ignore_case: bool = False
    pairs: bool = False
    measures: list[str] = []

    @staticmethod
    def of(options: Any) -> _Reading:
        if options is None or isinstance(options, _Reading):
            return options or _Reading()
        return _Reading(options.schemes, options.ignore_case, options.pairs, options.measures)

    def read(self, document: builtins.bytes) -> _core.Results:
        options = _core.ReadOptions()
        options.schemes, options.ignore_case, options.pairs = self.schemes or [], self.ignore_case, self.pairs
        return _core.read_results(document, options)


def _unpickled(document: builtins.bytes, status: str, warning: str, reading: _Reading) -> Results:
    return Results(reading.read(document), status, warning, reading)


def read(path: Path | BinaryIO, *, buckets: str | Sequence[str] = "classes", ignore_case: bool = False, pairs: bool = False) -> Results:
    """Reads a result that was written as JSON or JSON lines, from a path or a file, by any buckets. It must have byte counts.

    Raises InvalidArgumentError for text that is damaged or has no byte counts, and OSError.
    """
    reading = _Reading([buckets] if isinstance(buckets, str) else list(buckets), ignore_case, pairs)
    if isinstance(path, str | bytes | os.PathLike):
        with open(os.fsencode(path), "rb") as file:
            return Results(reading.read(file.read()), options=reading)
    return Results(reading.read(path.read()), options=reading)


def merge(parts: Iterable[Results]) -> Results:
    """The sum of results with the same buckets: the inputs in sequence, the totals added."""
    added = list(parts)
    return Results(_core.merge_results([part._counts for part in added]), options=added[0]._reading if added else None)
