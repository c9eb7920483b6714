"""options.py GPUHIST: writes what is generated from the table of options of the command GPUHIST.

These are the keyword arguments of the Python package (python/gpuhist/_option_types.py), and the table in
docs/embedding.md. With --check, nothing is written; exit status 1 if a file differs.
"""

import json
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPES = ROOT / "python/gpuhist/_option_types.py"
TABLE = ROOT / "docs/embedding.md"
BEGIN, END = "<!-- scripts/options.py writes this table -->", "<!-- end of the table -->"

NOT_IN_PYTHON = "pass-through"  # the function filter() sets it
TYPE_OF_KIND = {
    "flag": "bool",
    "list": "str | Sequence[str]",
    "text": "str",
    "file": "Path",
    "number": "int",
    "numbers": "str | int | Sequence[int]",
    "size": "int | str",
    "interval": "str | int",
}
TYPE_OF_OPTION = {"baseline": "Path | Results", "delimiter": "str | bytes", "each": "str | int"}

HEAD = '''"""The options of a count as keyword arguments. Written by scripts/options.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from gpuhist._results import Path, Results
'''


def options_of(program):
    """Those of a run, as dictionaries, in the order of the help."""
    printed = subprocess.run([program, "--generate", "options"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [row for row in map(json.loads, printed.splitlines()) if row["run"]]


def name_of(row):
    return row["key"].replace("-", "_")


def type_of(row):
    if row["kind"] == "choice":
        return f"Literal[{', '.join(map(json.dumps, row['choices']))}]"
    return TYPE_OF_OPTION.get(row["key"], TYPE_OF_KIND.get(row["kind"]))


def wrapped(text, later="    "):
    return textwrap.fill(text, 120, initial_indent="    ", subsequent_indent=later, break_long_words=False,
                         break_on_hyphens=False)


def keyword(row):
    """A member of a TypedDict, with its documentation."""
    member = wrapped(f"{name_of(row)}: {type_of(row)}", later=" " * 8)
    detail = wrapped(row["detail"].replace("\\", "\\\\"))
    return f'{member}\n    """{row["help"]}.\n\n{detail}\n    """\n'


def keywords(rows):
    """The text of TYPES."""
    def names(kind):
        return "{" + ", ".join(json.dumps(name_of(row)) for row in rows if row["kind"] == kind) + "}"

    rows = [row for row in rows if row["key"] != NOT_IN_PYTHON]
    return "".join([
        HEAD,
        f"\nNUMBERS = {names('numbers')}\nINTERVALS = {names('interval')}\n",
        '\n\nclass CountingOptions(TypedDict, total=False):\n    """What is counted, and by what."""\n\n',
        *(keyword(row) for row in rows if row["counter"]),
        '\n\nclass FileOptions(CountingOptions, total=False):\n    """What is read, and how, besides what is counted."""\n\n',
        *(keyword(row) for row in rows if not row["counter"]),
    ])


def table(rows):
    """The text of TABLE, with a new table."""
    def values(row):
        return ", ".join(row["choices"]) if row["kind"] == "choice" else row["value"] or "true, false"

    lines = ["| option | value | of a counter, too | meaning |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = [f"`{row['key']}`", values(row), "yes" if row["counter"] else "", row["help"].replace("|", "\\|")]
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    head, rest = TABLE.read_text(encoding="utf-8").split(BEGIN)
    return "\n\n".join([head + BEGIN, "\n".join(lines), END + rest.split(END)[1]])


def main(program, *flags):
    rows = options_of(program)
    written = {TYPES: keywords(rows), TABLE: table(rows)}
    differs = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in differs:
        if flags:
            print(f"{path.relative_to(ROOT)} differs from the table of options; run: scripts/options.py GPUHIST")
        else:
            path.write_text(written[path], encoding="utf-8")
    return bool(flags and differs)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
