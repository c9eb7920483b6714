"""Ray Data: counts and filters the rows of a dataset in its tasks."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpuhist._options import check_filter
from gpuhist._tables import TableCounts
from gpuhist.adapters._tasks import kept_rows, merged, part_table, require, task_options

require("ray.data", "'ray[data]'")


def filter(dataset: Any, column: str, *, batch_size: int | None = None, **options: Any) -> Any:
    """The dataset with the rows that a condition keeps. Lazy. `batch_size`: None: a task takes a block."""
    check_filter(options)
    task = partial(kept_rows, column=column, options=task_options(options))
    return dataset.map_batches(task, batch_format="pyarrow", batch_size=batch_size, zero_copy_batch=True)


def count(dataset: Any, column: str, *, batch_size: int | None = None, **options: Any) -> TableCounts:
    """Runs the dataset, and adds what its tasks have found in the rows."""
    task = partial(part_table, column=column, options=task_options(options))
    parts = dataset.select_columns([column]).map_batches(task, batch_format="pyarrow", batch_size=batch_size, zero_copy_batch=True)
    return merged(row["part"] for row in parts.iter_rows())
