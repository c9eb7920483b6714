"""Fails on every include that points up or sideways: pipeline may include gpu, io, config and async, io
may include async; apart from that those four include nothing of each other. What uses the house from outside (tests,
bench) may include all five, and none of them those."""

import pathlib
import re
import sys

HOUSE = {
    "async": set(),
    "config": set(),
    "io": {"async"},
    "gpu": set(),
    "pipeline": {"async", "config", "io", "gpu"},
}
OUTSIDE = {"tests", "bench"}
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh", ".inl"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)


def violations(root):
    """One line for each arrow that may not be. An include is an arrow whichever way it is spelled: from the root of the
    project, or relative to the file."""
    found = []
    for folder, allowed in HOUSE.items():
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
            for match in INCLUDE.finditer(path.read_text(encoding="utf-8", errors="replace")):
                to = target(root, path, match.group(1))
                if to and to != folder and to not in allowed:
                    where = f"{path.relative_to(root)}:{path.read_text(errors='replace')[: match.start(1)].count(chr(10)) + 1}"
                    found.append(f"{where}: {folder} may not include {match.group(1)}")
    return found


def target(root, path, included):
    """The folder of ours that an include points into, or nothing (a system header, a library)."""
    beside = (path.parent / included).resolve()
    if beside.is_file() and beside.is_relative_to(root.resolve()):
        return beside.relative_to(root.resolve()).parts[0]
    first = pathlib.PurePosixPath(included).parts[0]
    return first if "/" in included and first in HOUSE.keys() | OUTSIDE else None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent).resolve()
    missing = [folder for folder in HOUSE if not (root / folder).is_dir()]
    found = [f"{root}: no folder {folder}" for folder in missing] or violations(root)
    print("\n".join(found) or "all includes point down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
