"""Data of other libraries by the Arrow C data and stream interfaces."""

from __future__ import annotations

from typing import Any


def arrow_export(data: Any) -> Any:
    """The capsules of the data: of a stream, or of an array and its schema."""
    for name in ("__arrow_c_stream__", "__arrow_c_array__"):
        export = getattr(data, name, None)
        if export is not None:
            return export()
    raise TypeError(f"{type(data).__name__} has neither __arrow_c_stream__ nor __arrow_c_array__: pass a table or array of "
                    "PyArrow, Polars, DuckDB or pandas (with PyArrow)")
