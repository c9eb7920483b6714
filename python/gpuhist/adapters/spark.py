"""Spark: counts and filters the rows of a DataFrame by mapInArrow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from gpuhist._options import check_filter
from gpuhist._tables import TableCounts
from gpuhist.adapters._tasks import kept_rows, merged, part_table, require, task_options

require("pyspark.sql", "pyspark")


def filter(frame: Any, column: str, **options: Any) -> Any:
    """The DataFrame with the rows that a condition keeps. Lazy."""
    check_filter(options)
    return frame.mapInArrow(partial(_kept_batches, column=column, options=task_options(options)), frame.schema)


def count(frame: Any, column: str, **options: Any) -> TableCounts:
    """Runs the DataFrame, and adds what its tasks have found in the rows."""
    task = partial(_parts, column=column, options=task_options(options))
    return merged(bytes(row.part) for row in frame.select(column).mapInArrow(task, "part binary").collect())


def _kept_batches(batches: Iterator[Any], column: str, options: dict[str, Any]) -> Iterator[Any]:
    for batch in batches:
        yield from kept_rows(batch, column, options).to_batches()


def _parts(batches: Iterator[Any], column: str, options: dict[str, Any]) -> Iterator[Any]:
    for batch in batches:
        yield from part_table(batch, column, options).to_batches()
