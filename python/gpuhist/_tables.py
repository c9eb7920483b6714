"""Rows of tables as units: counting and filtering them by the text of a column."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuhist import _core
from gpuhist._counter import Counter
from gpuhist._option_types import CountingOptions
from gpuhist._options import check_filter
from gpuhist._results import Results, merge

if TYPE_CHECKING:
    from typing import Unpack


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows, and bytes of their texts. Those of parts are added: `sum(parts, RowCounts())`."""

    rows: int = 0
    kept: int = 0
    nulls: int = 0
    """Rows without text. Whether they are among `kept` depends on `nulls` of the call."""
    bytes: int = 0
    kept_bytes: int = 0

    @staticmethod
    def of(mask: _core.RowMask) -> RowCounts:
        """Of one call of `feed_values`."""
        return RowCounts(len(mask), mask.kept, mask.nulls, mask.bytes, mask.kept_bytes)

    def __add__(self, more: RowCounts) -> RowCounts:
        return RowCounts(*map(operator.add, astuple(self), astuple(more)))


class TableCounts(NamedTuple):
    """What was found in the rows of a table. With `byte_counts=True` it can be pickled, and tasks may return it."""

    rows: RowCounts
    results: Results

    @staticmethod
    def merge(parts: Iterable[TableCounts]) -> TableCounts:
        """The exact sum of the parts of a table. The results have the inputs of all parts in sequence."""
        added = list(parts)
        return TableCounts(sum((part.rows for part in added), RowCounts()), merge(part.results for part in added))


class FilteredTable(NamedTuple):
    """The rows that are kept, and what was found in all rows."""

    table: Any
    counts: TableCounts


def count_table(
    data: Any, column: str | None = None, *, nulls: str = "drop", name: str = "(table)", **options: Unpack[CountingOptions]
) -> TableCounts:
    """Counts the texts of a column. With a condition (`where`, `keep_if`, `drop_if`), also the rows that are kept.

        gpuhist.count_table(table, "text", where="digit > 0.5").rows.kept

    `data` and `nulls` are those of `FedInput.feed_values`. Options are those of `Counter`; each row is a unit.
    """
    chosen: CountingOptions = {"each": "value", **options}
    with Counter(name=name, **chosen) as counter:
        mask = counter.feed_values(data, column, nulls=nulls)
    return TableCounts(RowCounts.of(mask), counter.results)


def filter_table(
    data: Any, column: str | None = None, *, nulls: str = "drop", name: str = "(table)", **options: Unpack[CountingOptions]
) -> FilteredTable:
    """The rows whose text in a column a condition keeps: `keep_if`, `drop_if`, or `preset`. `rewrite`, and presets that
    rewrite texts, write the rewritten texts in the column.

        gpuhist.filter_table(table, "text", drop_if="digit > 0.5").table

    Each row is a unit, and its text may have any bytes. `data` and `nulls` are those of `FedInput.feed_values`. A table of
    Polars becomes one of Polars. All other data becomes a table of PyArrow, which must be installed; a stream of batches
    is read once, batch by batch, so only the kept rows are in memory.
    """
    check_filter(options)
    rows = RowCounts()
    batches = _PolarsFrame(data) if _is_polars(data) else _PyarrowStream(data)
    chosen: CountingOptions = {"each": "value", **options}
    with Counter(name=name, **chosen) as counter:
        counter._own_input()  # also without batches
        for batch in batches:
            mask = counter.feed_values(batch, column, nulls=nulls)
            batches.keep(batch, column, mask)
            rows += RowCounts.of(mask)
    return FilteredTable(batches.result(), TableCounts(rows, counter.results))


def _is_polars(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "filter")


class _PolarsFrame:
    def __init__(self, data: Any) -> None:
        self._data = data

    def __iter__(self) -> Iterator[Any]:
        yield self._data

    def keep(self, batch: Any, column: str | None, mask: _core.RowMask) -> None:
        polars = importlib.import_module("polars")
        if mask.texts is not None:
            name = column or batch.columns[0]
            batch = batch.with_columns(polars.Series(name, mask.texts).cast(batch[name].dtype))
        self._data = batch.filter(polars.Series(mask))

    def result(self) -> Any:
        return self._data


class _PyarrowStream:
    def __init__(self, data: Any) -> None:
        try:
            pyarrow: Any = importlib.import_module("pyarrow")
        except ImportError as error:
            raise ImportError("filter_table returns tables of PyArrow: pip install pyarrow; Counter.feed_values returns which "
                              "rows are kept without it") from error
        self._pyarrow = pyarrow
        self._reader = pyarrow.RecordBatchReader.from_stream(data)
        self._kept: list[Any] = []
        self._without_views = pyarrow.schema([field.with_type(self._filterable(field.type)) for field in self._reader.schema])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._reader)

    def keep(self, batch: Any, column: str | None, mask: _core.RowMask) -> None:
        flags = self._pyarrow.array(mask)
        if mask.texts is not None:
            at = batch.schema.get_field_index(column) if column else 0
            field = batch.schema.field(at)
            batch = batch.set_column(at, field, self._pyarrow.array(mask.texts, self._pyarrow.large_string()).cast(field.type))
        self._kept.append(batch.cast(self._without_views).filter(flags).cast(self._reader.schema))

    def _filterable(self, type: Any) -> Any:
        """PyArrow does not filter views of texts (26.0)."""
        views = {self._pyarrow.string_view(): self._pyarrow.large_string(),
                 self._pyarrow.binary_view(): self._pyarrow.large_binary()}
        return views.get(type, type)

    def result(self) -> Any:
        return self._pyarrow.Table.from_batches(self._kept, self._reader.schema)
