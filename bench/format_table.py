"""The tables of bench/formats.py, from measured times."""

import dataclasses
import statistics

COLUMNS = ("format", "gpuhist MB/s", "peer", "MB/s", "ratio", "target", "")
WIDTHS = (-14, 12, -42, 8, 7, 7, 0)  # negative: aligned to the left


@dataclasses.dataclass(frozen=True)
class Row:
    """gpuhist compared with one peer. Rates are MB of text per second; `ratio` is that of wall times, gpuhist / peer;
    `target` is its upper bound, or None."""

    name: str
    rate: float
    peer: str
    peer_rate: float
    ratio: float
    target: float | None

    @property
    def missed(self):
        return self.target is not None and self.ratio > self.target

    def cells(self):
        target = "-" if self.target is None else f"{self.target:.2f}"
        mark = "MISSED" if self.missed else ""
        return self.name, f"{self.rate:.0f}", self.peer, f"{self.peer_rate:.0f}", f"{self.ratio:.2f}", target, mark


def rows_of(name, text_bytes, times, peer_times, target, compared_with):
    """One row for each peer, the fastest first, from the wall times of each run. The target belongs to the fastest peer
    whose command begins with `compared_with` ("": any). A peer that ran less often than gpuhist is marked."""
    ours = statistics.median(times)
    medians = sorted((statistics.median(each), peer) for peer, each in peer_times.items())
    compared = next((peer for _, peer in medians if peer.startswith(compared_with)), None)
    rows = []
    for median, peer in medians:
        runs = len(peer_times[peer])
        shown = peer if runs == len(times) else f"{peer} ({runs} of {len(times)})"
        bound = target if peer == compared else None
        rows.append(Row(name, text_bytes / ours / 1e6, shown, text_bytes / median / 1e6, ours / median, bound))
    return rows


def compared_row(rows):
    """The row of the table of results: the one with a target, or else that of the fastest peer."""
    return next((row for row in rows if row.target is not None), rows[0])


def line(cells):
    return "  ".join(f"{cell:{'<' if width < 0 else '>'}{abs(width)}}" for cell, width in zip(cells, WIDTHS)).rstrip()
