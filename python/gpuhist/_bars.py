"""Small bars for `repr`."""

from __future__ import annotations

_WIDTH = 24
_MOST = 16
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int = _WIDTH) -> str:
    """A share of 0 to 1 as a bar of at most `width` characters, in steps of an eighth of a character."""
    whole, part = divmod(round(share * width * 8), 8)
    return "█" * whole + _EIGHTHS[part].strip()


def bar_lines(scheme: str, counts: dict[str, int]) -> list[str]:
    """A line for each bucket; of many buckets, those with the highest counts."""
    total = sum(counts.values())
    shown = dict(sorted(counts.items(), key=lambda item: -item[1])[:_MOST]) if len(counts) > _MOST else counts
    name_width = max((len(name) for name in shown), default=0)
    count_width = max((len(f"{count:,}") for count in shown.values()), default=0)
    lines = [f"{scheme}:"]
    for name, count in shown.items():
        share = count / total if total else 0
        lines.append(f"  {name:<{name_width}}  {count:>{count_width},}  {share:>7.2%}  {bar(share)}".rstrip())
    if len(shown) < len(counts):
        lines.append(f"  ... and {len(counts) - len(shown)} more")
    return lines
