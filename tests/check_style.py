"""Fails on expressions that gpuhist avoids in docs and code, and prints the standard term for each.

        check_style.py                 all files that git lists: docs, sources, tests
    check_style.py --text FILE     one text; - is standard input
    check_style.py --help-of PROG  what `PROG --help all` prints

Only expressions that are almost never right are listed. A line that needs one, for example as a quotation, ends in a
comment with the word `style-ok`.
"""

import pathlib
import re
import subprocess
import sys

INSTEAD = {
    r"told|tells?|telling|untold": "reported, prints, notifies",
    r"hand(s|ed|ing)? on": "forward, pass through",
    r"(is|are|was|were) over(?! (the|a|all|its|their|every|each|some|\d))": "has finished, has ended",
    r"whoever|whosoever|nobody|somebody": "the caller, any thread, no thread",
    r"at the (most|least)": "at most, at least",
    r"the least there is": "lower bound",
    r"(laid|lays?|laying) down": "spilled, written to the temporary file",
    r"held against": "checked against, compared with",
    r"(falls?|fell) short|for want of": "is insufficient, for lack of",
    r"of use only": "requires",
    r"goes on behind|gone on behind": "resumes after",
    r"(takes?|took) back": "unsets, undoes",
    r"in no bucket": "outside every bucket",
    r"(is|are|was|were|has|have|had) gone": "has disappeared, has ended",
    r"(stands?|stood) (back|for)|(gives?|gave) way": "is hidden, represents, yields",
    r"what (it took|did not help)": "results, rejected alternatives",
    r"(one|each) behind the other": "in sequence",
    r"hands? back|handed back": "returns",
    r"heeded|mended": "used, repaired",
    r"(?<!- )(?<![.,])1 (bytes|lines|inputs|files|members|frames|units|records)": "1 byte, 1 line",
}
RULES = [(re.compile(rf"(?<![\w-])({pattern})(?![\w-])", re.IGNORECASE), instead) for pattern, instead in INSTEAD.items()]
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".py", ".sh", ".cmake", ".toml", ".json"}
ITSELF = {"tests/check_style.py", "tests/test_check_style.py"}
NOT_OURS = {"LICENSE"}


def found_in(text):
    """Line number, expression and advice for each expression found."""
    for number, line in enumerate(text.splitlines(), 1):
        if "style-ok" in line:
            continue
        for rule, instead in RULES:
            for match in rule.finditer(line.replace("_", " ")):  # words of identifiers, too
                yield number, match.group(0), instead


def listed_files(root):
    names = subprocess.run(["git", "ls-files"], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for name in names:
        path = pathlib.PurePosixPath(name)
        is_text = path.suffix in CODE | {".md"} or path.name == "CMakeLists.txt"
        if is_text and name not in ITSELF | NOT_OURS and (root / name).is_file():
            yield name


def violations(root):
    for name in listed_files(root):
        text = (root / name).read_text(encoding="utf-8", errors="replace")
        for number, expression, instead in found_in(text):
            yield f"{name}:{number}: '{expression}': write {instead}"


def given_text(option, value):
    if option == "--help-of":
        return subprocess.run([value, "--help", "all"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sys.stdin.read() if value == "-" else pathlib.Path(value).read_text(encoding="utf-8")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if len(sys.argv) == 3:
        found = [f"line {number}: '{expression}': write {instead}" for number, expression, instead in found_in(given_text(*sys.argv[1:]))]
    elif (root / ".git").exists():
        found = list(violations(root))
    else:
        print("skipped: not a git repository")
        return 77
    print("\n".join(found) or "no expression of the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
