"""tidy_source.py SOURCE BUILD: runs clang-tidy on a source with its compile command in the folder BUILD.

A source that passed is not checked again while it, all files that it includes, its compile command, the checks and
clang-tidy are the same: BUILD/passed holds a file for each such state, named by its hash. So a pass over all sources,
which takes hours, can be interrupted and repeated.
"""

import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

CLANG_TIDY = "clang-tidy-19"


def compile_command(source, build):
    """The arguments of the compiler, without the output."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if os.path.realpath(entry["file"]) == os.path.realpath(source):
            arguments = shlex.split(entry["command"])
            output = arguments.index("-o")
            return [argument for argument in arguments[:output] + arguments[output + 2:] if argument != "-c"]
    sys.exit(f"tidy_source.py: {build} has no compile command for {source}")


def state(source, build):
    command = compile_command(source, build)
    rule = subprocess.run(command + ["-M"], cwd=build, check=True, capture_output=True, text=True).stdout
    files = rule.partition(":")[2].replace("\\\n", " ").split()
    here = os.getcwd()
    digest = hashlib.sha256(" ".join(command).replace(here, "").encode())
    digest.update(subprocess.run([CLANG_TIDY, "--version"], check=True, capture_output=True).stdout)
    for file in [os.path.join(here, ".clang-tidy"), *files]:
        digest.update(b"\0" + file.removeprefix(here).encode() + b"\0" + (build / file).read_bytes())
    return digest.hexdigest()


def main():
    source, build = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = build / "passed" / state(source, build)
    if not passed.exists():
        check = subprocess.run(
            [CLANG_TIDY, "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", build, source],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check.returncode:
            lines = [line for line in check.stdout.splitlines()
                     if "warnings generated" not in line and "warnings treated as errors" not in line]
            sys.exit("\n".join(lines))
        passed.parent.mkdir(exist_ok=True)
        passed.touch()
    print(f"  ok {source}")


main()
