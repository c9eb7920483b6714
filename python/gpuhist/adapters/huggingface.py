"""Hugging Face datasets: counts and filters the rows of a Dataset in batches of Arrow."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpuhist._counter import Counter
from gpuhist._options import check_filter, counting_options
from gpuhist._tables import TableCounts
from gpuhist.adapters._tasks import kept_rows, merged, part_table, require, task_options

require("datasets", "datasets")


def filter(
    dataset: Any, column: str, *, nulls: str = "drop", batch_size: int = 1000, num_proc: int | None = None, **options: Any
) -> Any:
    """The dataset with the rows that a condition keeps, in its own format."""
    check_filter(options)
    chosen: dict[str, Any] = {"each": "value", **task_options(options)}
    texts = dataset.with_format("arrow")
    if counting_options(chosen).rewrites:
        rows = partial(kept_rows, column=column, options={"nulls": nulls, **chosen})
        kept = texts.map(rows, batched=True, batch_size=batch_size, num_proc=num_proc)
    else:
        mask = partial(_mask, column=column, nulls=nulls, options=chosen)
        kept = texts.filter(mask, batched=True, batch_size=batch_size, num_proc=num_proc)
    return kept.with_format(**dataset.format)


def count(
    dataset: Any, column: str, *, batch_size: int = 1000, num_proc: int | None = None, **options: Any
) -> TableCounts:
    """Adds what was found in the batches of the dataset."""
    texts = dataset.select_columns([column]).with_format("arrow")
    task = partial(part_table, column=column, options=task_options(options))
    parts = texts.map(task, batched=True, batch_size=batch_size, num_proc=num_proc, remove_columns=[column])
    return merged(parts.with_format("python")["part"])


def _mask(table: Any, column: str, nulls: str, options: dict[str, Any]) -> list[bool]:
    with Counter(**options) as counter:
        return list(counter.feed_values(table, column, nulls=nulls))
