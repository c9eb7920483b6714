"""Ends what still runs when the interpreter exits: threads must not call Python any more when it is finalized."""

from __future__ import annotations

import atexit
import weakref
from typing import Any

_open: weakref.WeakSet[Any] = weakref.WeakSet()


def close_at_exit(running: Any) -> None:
    """Calls `running.close()` at the exit, if the object still exists."""
    _open.add(running)


@atexit.register
def _close_all() -> None:
    for running in list(_open):
        running.close()
