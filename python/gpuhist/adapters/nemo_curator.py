"""NeMo Curator: a stage that filters the documents of a DocumentBatch, and counts them."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from gpuhist._tables import TableCounts, count_table, filter_table
from gpuhist.adapters._tasks import merged, require, task_options

_base = require("nemo_curator.stages.base", "nemo-curator")
_tasks = require("nemo_curator.tasks", "nemo-curator")

_COUNTS = "gpuhist"


class Stage(_base.ProcessingStage):  # type: ignore[misc, name-defined]
    """Keeps the documents that a condition keeps: `keep_if`, `drop_if` or `preset`; without one all.

    The metadata of each batch that it returns has what was found in all its documents: `merge_counts` adds these.
    """

    name = "gpuhist"
    batch_size = 1

    def __init__(self, column: str = "text", **options: Any) -> None:
        self.column, self.options = column, task_options(options)

    def inputs(self) -> tuple[list[str], list[str]]:
        return ["data"], [self.column]

    def outputs(self) -> tuple[list[str], list[str]]:
        return ["data"], [self.column]

    def process(self, task: Any) -> Any:
        table = task.to_pyarrow()
        if any(self.options.get(name) for name in ("keep_if", "drop_if", "preset")):
            table, counts = filter_table(table, self.column, **self.options)
        else:
            counts = count_table(table, self.column, **self.options)
        return _tasks.DocumentBatch(
            dataset_name=task.dataset_name,
            data=table,
            _stage_perf=task._stage_perf,
            _metadata={**task._metadata, _COUNTS: pickle.dumps(counts)},
        )


def merge_counts(batches: Iterable[Any]) -> TableCounts:
    """The sum of what the stage has found in the batches that a pipeline returned."""
    return merged(batch._metadata[_COUNTS] for batch in batches)
