"""Fails on every include that points up or sideways, and on every circle between folders.

- ALLOWED says which folders each folder may include. What is not in a row may not be included: config, io and gpu do
  not know each other, and the rooms of pipeline/ include only those below them.
- Folders within one folder do not include each other in a circle.
- Headers that other programs include do not reach Boost.Asio.
- tests and bench use the others from outside; none of the others includes them.
"""

import pathlib
import re
import sys

BELOW = {"async", "config", "io", "gpu"}
ALLOWED = {
    "async": set(),
    "config": set(),
    "io": {"async"},
    "gpu": set(),
    "pipeline/counts": BELOW,
    "pipeline/flow": BELOW | {"pipeline/counts"},
    "pipeline/report": BELOW | {"pipeline/counts", "pipeline/flow"},
    "pipeline/program": BELOW | {"pipeline/counts", "pipeline/flow", "pipeline/report"},
}
# Of the flow, a report knows only statistics, and the signal that ends its wait for a lock.
REPORT_OF_FLOW = re.compile(r"pipeline/flow/(statistics/\w+|stop_signals)\.hpp")
# Asio takes a second to compile: not in every program that counts.
WITHOUT_ASIO = ("pipeline/flow/driver.hpp", "pipeline/program/plan.hpp", "pipeline/counts/run_counts.hpp", "gpu/engine.hpp")
OUTSIDE = {"tests", "bench"}
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".inl"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
TOP = {folder.split("/")[0] for folder in ALLOWED}


class Include:
    """An include of a file of ours: `source` and `target` are paths from the root, `line` is in the source."""

    def __init__(self, source, line, target):
        self.source, self.line, self.target = source, line, target

    def __str__(self):
        return f"{self.source}:{self.line}"


def includes(root):
    for top in sorted(TOP):
        for path in sorted(path for path in (root / top).rglob("*") if path.suffix in SUFFIXES):
            text = path.read_text(encoding="utf-8", errors="replace")
            for match in INCLUDE.finditer(text):
                target = target_of(root, path, match.group(1))
                if target:
                    yield Include(path.relative_to(root).as_posix(), text[: match.start(1)].count("\n") + 1, target)


def target_of(root, path, included):
    """The path from the root that an include means, if it is one of ours; else nothing (a system header, a library)."""
    beside = (path.parent / included).resolve()
    if beside.is_file() and beside.is_relative_to(root.resolve()):
        return beside.relative_to(root.resolve()).as_posix()
    first = pathlib.PurePosixPath(included).parts[0]
    return included if "/" in included and first in TOP | OUTSIDE else None


def folder_of(path):
    """The row of ALLOWED that a path belongs to, or its top folder."""
    parts = pathlib.PurePosixPath(path).parts
    room = "/".join(parts[:2])
    return room if room in ALLOWED else parts[0]


def is_allowed(include):
    source, target = folder_of(include.source), folder_of(include.target)
    if source == target:
        return True
    if (source, target) == ("pipeline/report", "pipeline/flow"):
        return REPORT_OF_FLOW.fullmatch(include.target) is not None
    return target in ALLOWED.get(source, set())


def siblings(include):
    """The two folders within the same folder between which an include points, or nothing."""
    source, target = (pathlib.PurePosixPath(path).parts[:-1] for path in (include.source, include.target))
    common = 0
    while common < min(len(source), len(target)) and source[common] == target[common]:
        common += 1
    if common == min(len(source), len(target)):
        return None  # one of them contains the other
    return "/".join(source[: common + 1]), "/".join(target[: common + 1])


def circles(all_includes):
    """Each circle once, as the includes that close it."""
    arrows = {}
    for include in all_includes:
        pair = siblings(include)
        if pair:
            arrows.setdefault(pair[0], {}).setdefault(pair[1], include)
    found = []
    finished = set()

    def visit(folder, way):
        if folder in finished:
            return
        if folder in way:
            circle = way[way.index(folder):] + [folder]
            steps = [f"{arrows[a][b]} ({a} to {b})" for a, b in zip(circle, circle[1:])]
            found.append("circle: " + ", ".join(steps))
            return
        for target in sorted(arrows.get(folder, {})):
            visit(target, way + [folder])
        finished.add(folder)

    for folder in sorted(arrows):
        visit(folder, [])
    return found


def way_to_asio(root, all_includes, header):
    """The files by which a header reaches Asio, or nothing."""
    included = {}
    for include in all_includes:
        included.setdefault(include.source, []).append(include.target)
    ways = {header: [header]}
    for file in (todo := [header]):
        path = root / file
        if path.is_file() and "#include <boost/asio" in path.read_text(encoding="utf-8"):
            return ways[file]
        for target in included.get(file, []):
            if target not in ways:
                ways[target] = ways[file] + [target]
                todo.append(target)
    return []


def violations(root):
    """One line for each include that is not allowed, for each circle, and for each header that reaches Asio."""
    everything = list(includes(root))
    wrong = [f"{each}: {folder_of(each.source)} may not include {each.target}" for each in everything if not is_allowed(each)]
    for header in WITHOUT_ASIO:
        if way := way_to_asio(root, everything, header):
            wrong.append("includes Asio: " + " -> ".join(way))
    return wrong + circles(everything)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
    missing = [folder for folder in ALLOWED if not (root / folder).is_dir()]
    found = [f"{root}: no folder {folder}" for folder in missing] or violations(root)
    print("\n".join(found) or "all includes point down, without circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
