"""What tasks of all engines do with a table, and how their parts are added."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterable
from typing import Any

from gpuhist._tables import TableCounts, count_table, filter_table


def require(name: str, package: str) -> Any:
    """A module of an engine. Raises ImportError that names the package to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # the engine is installed, but not what it needs
        raise ImportError(f"this adapter needs the package {package}: pip install {package}", name=name) from error


def task_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a task: one core, no device. With the counts of all byte values its results can be returned and added."""
    return {"threads": 1, "engine": "host", "byte_counts": True, **options}


def kept_rows(table: Any, column: str | None, options: dict[str, Any]) -> Any:
    """The kept rows of a table, as a table of PyArrow."""
    return filter_table(table, column, **options).table


def part_of(table: Any, column: str | None, options: dict[str, Any]) -> bytes:
    """What was found in a table: bytes, which any engine can pass."""
    return pickle.dumps(count_table(table, column, **options))


def part_table(table: Any, column: str | None, options: dict[str, Any]) -> Any:
    """The same as a table with one row."""
    pyarrow = require("pyarrow", "pyarrow")
    return pyarrow.table({"part": pyarrow.array([part_of(table, column, options)], pyarrow.binary())})


def merged(parts: Iterable[bytes]) -> TableCounts:
    """The sum of parts, which this process has received from its tasks."""
    return TableCounts.merge(pickle.loads(part) for part in parts)


def text_array(texts: Iterable[str | bytes | None]) -> Any:
    """Texts of Python as an array, with a copy of their bytes: UTF-8, also of surrogates."""
    pyarrow = require("pyarrow", "pyarrow")
    encoded = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
    return pyarrow.array(encoded, pyarrow.large_binary())
