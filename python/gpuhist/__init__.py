"""Counts the bytes of text by buckets: exactly, on all cores and on GPUs, also in archives and compressed files.

    import gpuhist

    gpuhist.count(["january.log.zst", "logs"], buckets="letters")      # files, trees, archives
    with gpuhist.Counter(buckets="bytes") as counter:                  # what the program feeds
        counter.feed(b"hello, world")
    counter.results.to_dict()

docs/python.md describes the package.
"""

from gpuhist._core import (
    Alert,
    Measurement,
    Notice,
    RankedUnit,
    RowMask,
    SkippedInputs,
    Unit,
    UnitSummary,
    ValueRange,
    Window,
)
from gpuhist._counter import Counter, FedInput
from gpuhist._errors import (
    CallbackError,
    ClosedError,
    EngineError,
    GpuhistError,
    IncompleteError,
    InternalError,
    InvalidArgumentError,
    MisuseError,
    OutOfMemoryError,
    SystemFailure,
)
from gpuhist._files import FileStream, count, filter, units, windows
from gpuhist._option_types import CountingOptions, FileOptions
from gpuhist._progress import Progress
from gpuhist._results import Input, Inputs, Results, merge, read
from gpuhist._samples import bincount, histogram, histogram2d
from gpuhist._tables import FilteredTable, RowCounts, TableCounts, count_table, filter_table

__version__ = "0.1.0"
__all__ = [name for name in dir() if not name.startswith("_")]
