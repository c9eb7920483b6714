"""datatrove: a filter, and a block that counts what passes through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuhist._counter import Counter
from gpuhist._options import check_filter
from gpuhist._results import Results, merge, read
from gpuhist._tables import RowCounts
from gpuhist.adapters._tasks import require, task_options, text_array

_filters = require("datatrove.pipeline.filters.base_filter", "datatrove")
_base = require("datatrove.pipeline.base", "datatrove")
_io = require("datatrove.io", "datatrove")
_batching = require("datatrove.utils.batching", "datatrove")


class Filter(_filters.BaseFilter):  # type: ignore[misc, name-defined]
    """Keeps the documents that a condition keeps: `keep_if`, `drop_if` or `preset`.

    The reason of the others in the statistics and in the exclusion writer is `reason`.
    """

    name = "gpuhist"

    def __init__(self, exclusion_writer: Any = None, batch_size: int = 1000, *, reason: str = "gpuhist", **options: Any) -> None:
        super().__init__(exclusion_writer, batch_size)
        check_filter(options)
        self.reason, self.options = reason, {"each": "value", **task_options(options)}

    def filter(self, doc: Any) -> bool | tuple[bool, str]:
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Any]) -> list[bool | tuple[bool, str]]:
        with Counter(**self.options) as counter:
            mask = counter.feed_values(text_array(doc.text for doc in batch))
        for doc, text in zip(batch, mask.texts or (), strict=mask.texts is not None):
            doc.text = text
        return [True if is_kept else (False, self.reason) for is_kept in mask]


class Stats(_base.PipelineStep):  # type: ignore[misc, name-defined]
    """Counts the texts of all documents, and passes them on.

    Each task writes its result to `output_folder`/RANK.json when its last document has passed. A task that is run again
    replaces its own file. `merge_stats` adds the files, and so does `gpuhist merge`.
    """

    type = "📊 - STATS"
    name = "gpuhist"

    def __init__(self, output_folder: Any, batch_size: int = 1000, **options: Any) -> None:
        super().__init__()
        self.output_folder = _io.get_datafolder(output_folder)
        self.batch_size, self.options = batch_size, {"each": "value", **task_options(options)}

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        with Counter(name=f"{rank:05d}", **self.options) as counter:
            counter.feed_values(text_array([]))  # a task without documents has a result, too
            for batch in _batching.batched(data, self.batch_size):
                with self.track_time("batch"):
                    rows = RowCounts.of(counter.feed_values(text_array(doc.text for doc in batch)))
                self.stat_update("total", value=rows.rows)
                self.stat_update("kept", value=rows.kept)
                yield from batch
        with self.output_folder.open(f"{rank:05d}.json", "wb") as file:
            file.write(counter.results.to_json())


def merge_stats(output_folder: Any, **reading: Any) -> Results:
    """The sum of what the tasks of `Stats` have written. `reading`: those of `gpuhist.read`: `buckets`, ..."""
    folder = _io.get_datafolder(output_folder)
    parts = []
    for name in sorted(folder.list_files(glob_pattern="*.json")):
        with folder.open(name, "rb") as file:
            parts.append(read(file, **reading))
    return merge(parts)
