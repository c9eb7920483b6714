"""Progress of a count: a value, and a line on standard error, which notebooks show, too."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Progress(NamedTuple):
    """How far a count is."""

    source_bytes: int
    """Read from the inputs, as they are stored."""
    text_bytes: int
    """Counted."""
    elapsed: float
    """Seconds since the first read."""

    def __str__(self) -> str:
        rate = self.text_bytes / self.elapsed / 1e9 if self.elapsed else 0
        return f"{self.text_bytes / 1e9:.2f} GB of text from {self.source_bytes / 1e9:.2f} GB read, {rate:.2f} GB/s"


def _print(now: Progress) -> None:
    print(f"\r{now}", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def reporter(progress: bool | Callable[[Progress], object]) -> Iterator[Callable[[int, int, float], object] | None]:
    """The callback of the library for an argument `progress`."""
    if progress is not True:
        yield (lambda *numbers: progress(Progress(*numbers))) if progress else None
        return
    try:
        yield lambda *numbers: _print(Progress(*numbers))
    finally:
        print(file=sys.stderr)
