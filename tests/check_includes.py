"""Fails on every include that points up or sideways, on every cycle between folders, and on code of another namespace.

- ALLOWED lists the folders that each folder may include. All others are refused: config, io and gpu do not include
  each other, and from pipeline on each folder includes only those before it.
- Folders within one folder do not include each other in a cycle.
- Headers that other programs include do not reach Boost.Asio.
- tests and bench include the other folders; no other folder includes tests or bench.
- The namespace is the folder: report/units/a.cpp is in gpuhist::report or a namespace within. NAMESPACES lists the others.
"""

import pathlib
import re
import sys

BELOW = {"async", "config", "io", "gpu"}
PIPELINE = {"pipeline/counts", "pipeline/flow"}
ALLOWED = {
    "async": set(),
    "config": {"include"},
    "io": {"async"},
    "gpu": {"include"},
    "samples": {"gpu", "include"},
    "python": {"include"},
    "pipeline/counts": BELOW,
    "pipeline/flow": BELOW | {"pipeline/counts", "include"},
    "report": BELOW | PIPELINE,
    "library": BELOW | PIPELINE | {"report", "include"},
    "batch": BELOW | PIPELINE | {"report", "library", "include"},
    "command": BELOW | PIPELINE | {"report", "library", "batch", "include"},
}
# Of pipeline/flow, a report includes only the statistics.
REPORT_OF_FLOW = re.compile(r"pipeline/flow/statistics/\w+\.hpp")
# A job and the command are clients of the library and include nothing of pipeline/flow. Repacking decodes by itself.
DEEPER_CLIENTS = re.compile(r"command/repack(/|\.cpp)")
# Asio takes a second to compile. A program that counts through these headers does not need it.
WITHOUT_ASIO = ("pipeline/flow/driver.hpp", "command/plan.hpp", "pipeline/counts/run_counts.hpp", "gpu/engine.hpp")
# What a folder declares besides gpuhist::FOLDER and what is within it. Forward declarations are allowed everywhere.
NAMESPACES = {
    "gpu": {"gpuhist"},
    "library": {"gpuhist", "gpuhist::c_interface"},
    "samples": {"gpuhist", "gpuhist::gpu::samples", "gpuhist::gpu::cuda::samples"},
}
NAMESPACE = re.compile(r"^namespace (gpuhist[\w:]*) \{\n(?!((class|struct) \w+;\n)+\})", re.MULTILINE)
OUTSIDE = {"tests", "bench"}
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".inl"}
PUBLIC = "include/gpuhist"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
TOP = {folder.split("/")[0] for folder in ALLOWED}


class Include:
    """An include of a header of this project. `source` and `target` are paths from the root; `line` is in the source."""

    def __init__(self, source, line, target):
        self.source, self.line, self.target = source, line, target

    def __str__(self):
        return f"{self.source}:{self.line}"


def sources(root):
    """The path from the root and the text of each source."""
    for top in sorted(TOP):
        for path in sorted(path for path in (root / top).rglob("*") if path.suffix in SUFFIXES):
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def includes(root):
    for source, text in sources(root):
        for match in INCLUDE.finditer(text):
            target = target_of(root, root / source, match.group(1))
            if target:
                yield Include(source, text[: match.start(1)].count("\n") + 1, target)


def other_namespaces(root):
    """One line for each namespace that is not of the folder of its file."""
    for source, text in sources(root):
        top = source.split("/")[0]
        for match in NAMESPACE.finditer(text):
            if f"{match.group(1)}::".startswith(f"gpuhist::{top}::") or match.group(1) in NAMESPACES.get(top, set()):
                continue
            line = text[: match.start()].count("\n") + 1
            yield f"{source}:{line}: the namespace is the folder, not {match.group(1)}"


def target_of(root, path, included):
    """The path from the root of the included header; None if it is a system header or belongs to a library."""
    beside = (path.parent / included).resolve()
    if beside.is_file() and beside.is_relative_to(root.resolve()):
        return beside.relative_to(root.resolve()).as_posix()
    first = pathlib.PurePosixPath(included).parts[0]
    return included if "/" in included and first in TOP | OUTSIDE else None


def folder_of(path):
    """The row of ALLOWED that a path belongs to, or its top folder."""
    parts = pathlib.PurePosixPath(path).parts
    folder = "/".join(parts[:2])
    return folder if folder in ALLOWED else parts[0]


def is_allowed(include):
    source, target = folder_of(include.source), folder_of(include.target)
    if source == target:
        return True
    if target == "pipeline/flow" and source == "report":
        return REPORT_OF_FLOW.fullmatch(include.target) is not None
    if target == "pipeline/flow" and source in ("batch", "command") and not DEEPER_CLIENTS.match(include.source):
        return False
    return target in ALLOWED.get(source, set())


def siblings(include):
    """The two folders within the same folder if an include points from one to the other; else None."""
    source, target = (pathlib.PurePosixPath(path).parts[:-1] for path in (include.source, include.target))
    common = 0
    while common < min(len(source), len(target)) and source[common] == target[common]:
        common += 1
    if common == min(len(source), len(target)):
        return None  # one of them contains the other
    return "/".join(source[: common + 1]), "/".join(target[: common + 1])


def cycles(all_includes):
    """Each cycle once, as a list of the includes that form it."""
    edges = {}
    for include in all_includes:
        pair = siblings(include)
        if pair:
            edges.setdefault(pair[0], {}).setdefault(pair[1], include)
    found = []
    finished = set()

    def visit(folder, chain):
        if folder in finished:
            return
        if folder in chain:
            cycle = chain[chain.index(folder):] + [folder]
            steps = [f"{edges[a][b]} ({a} to {b})" for a, b in zip(cycle, cycle[1:])]
            found.append("cycle: " + ", ".join(steps))
            return
        for target in sorted(edges.get(folder, {})):
            visit(target, chain + [folder])
        finished.add(folder)

    for folder in sorted(edges):
        visit(folder, [])
    return found


def chain_to_asio(root, all_includes, header):
    """The list of files through which a header includes Asio; empty if it does not."""
    included = {}
    for include in all_includes:
        included.setdefault(include.source, []).append(include.target)
    chains = {header: [header]}
    for file in (todo := [header]):
        path = root / file
        if path.is_file() and "#include <boost/asio" in path.read_text(encoding="utf-8"):
            return chains[file]
        for target in included.get(file, []):
            if target not in chains:
                chains[target] = chains[file] + [target]
                todo.append(target)
    return []


def violations(root):
    """One line for each include that is not allowed, each cycle, each header that reaches Asio, each other namespace."""
    everything = list(includes(root))
    wrong = [f"{each}: {folder_of(each.source)} may not include {each.target}" for each in everything if not is_allowed(each)]
    for header in WITHOUT_ASIO:
        if chain := chain_to_asio(root, everything, header):
            wrong.append("includes Asio: " + " -> ".join(chain))
    return wrong + cycles(everything) + list(other_namespaces(root))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
    missing = [folder for folder in ALLOWED if not (root / folder).is_dir()]
    found = [f"{root}: no folder {folder}" for folder in missing] or violations(root)
    print("\n".join(found) or "all includes point down, without cycles, and each namespace is the folder")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
