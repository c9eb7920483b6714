"""Dask: counts and filters the partitions of a DataFrame, or of a bag of texts."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpuhist._counter import Counter
from gpuhist._options import check_filter
from gpuhist._tables import TableCounts
from gpuhist.adapters._tasks import merged, part_of, require, task_options, text_array

_dask = require("dask", "'dask[dataframe,distributed]'")


def filter(data: Any, column: str | None = None, *, nulls: str = "drop", **options: Any) -> Any:
    """The rows, or the texts of a bag, that a condition keeps. Lazy."""
    check_filter(options)
    chosen = {"each": "value", **task_options(options)}
    if column is None:
        return data.map_partitions(partial(_kept_texts, nulls=nulls, options=chosen))
    return data.map_partitions(_kept_frame, column, nulls, chosen, meta=data._meta)


def count(data: Any, column: str | None = None, *, nulls: str = "drop", **options: Any) -> TableCounts:
    """Computes the partitions, and adds what was found in each. `column`: None: `data` is a bag of texts."""
    chosen = {"nulls": nulls, **task_options(options)}
    task = _dask.delayed(_part_of_texts if column is None else _part_of_frame, pure=False)
    return merged(_dask.compute(*[task(partition, column, chosen) for partition in data.to_delayed()]))


def _part_of_texts(texts: Any, column: None, options: dict[str, Any]) -> bytes:
    return part_of(text_array(texts), column, options)


def _part_of_frame(frame: Any, column: str, options: dict[str, Any]) -> bytes:
    return part_of(_texts_of(frame, column), None, options)


def _texts_of(frame: Any, column: str) -> Any:
    pyarrow = require("pyarrow", "pyarrow")
    texts = frame[column]
    if texts.dtype == object:
        return text_array(None if text is None or text != text else text for text in texts)
    return pyarrow.array(texts)


def _mask(texts: Any, nulls: str, options: dict[str, Any]) -> Any:
    with Counter(**options) as counter:
        return counter.feed_values(texts, nulls=nulls)


def _kept_texts(texts: Any, nulls: str, options: dict[str, Any]) -> list[Any]:
    held = list(texts)
    mask = _mask(text_array(held), nulls, options)
    return [text for text, is_kept in zip(mask.texts or held, mask, strict=True) if is_kept]


def _kept_frame(frame: Any, column: str, nulls: str, options: dict[str, Any]) -> Any:
    mask = _mask(_texts_of(frame, column), nulls, options)
    if mask.texts is not None:
        frame = frame.assign(**{column: require("pandas", "pandas").Series(mask.texts, frame.index, frame[column].dtype)})
    return frame[list(mask)]
