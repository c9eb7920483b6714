"""tidy_groups.py --list: prints the sources that the builds for clang-tidy compile, one per line.
tidy_groups.py: runs clang-tidy on the sources named on standard input, one per line; findings are errors.

Sources that the build compiles in one group (scripts/unity.cmake) are checked in one translation unit: most of the time
of a check is for headers. Ten sources took 28 s together, 250 s one after the other.
A group that passed is not checked again while its sources, all files that they include, their compile command, the
checks and clang-tidy are the same: BUILD/passed holds a file for each such state, named by its hash. So a pass over all
sources can be interrupted and repeated.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

CLANG_TIDY = "clang-tidy-19"
HERE = pathlib.Path.cwd()
# Each source is checked with the compile command of the first build that compiles it. Sources that only the CUDA build
# compiles are in build/dev; those of the Python package in build/python-package, if it exists.
BUILDS = [HERE / "build" / name for name in ("tidy", "dev", "python-package")]


def compile_arguments(command):
    """The arguments of the compiler, without source, output and precompiled header, which is GCC's."""
    arguments = [argument for argument in shlex.split(command)[:-1] if argument not in ("-c", "-Winvalid-pch")]
    output = arguments.index("-o")
    del arguments[output:output + 2]
    while any(argument.endswith("cmake_pch.hxx") for argument in arguments):
        header = next(index for index, argument in enumerate(arguments) if argument.endswith("cmake_pch.hxx"))
        del arguments[header - 1:header + 1]
    return arguments


def members(file):
    """The sources of an entry of compile_commands.json: those that CMake's source of a group includes, or itself."""
    if re.fullmatch(r"unity_\d+_cxx\.cxx", file.name):
        return [pathlib.Path(name) for name in re.findall(r'#include "(.*)"', file.read_text())]
    return [file] if file.suffix == ".cpp" else []


def groups():
    """Yields (build, arguments of the compiler, sources relative to the repository); no source twice."""
    known = set()
    for build in BUILDS:
        commands = build / "compile_commands.json"
        for entry in json.loads(commands.read_text()) if commands.exists() else []:
            sources = [os.path.relpath(source) for source in members(pathlib.Path(entry["file"]))]
            sources = [source for source in sources if source not in known and not source.startswith(("build/", "../"))]
            if sources:
                known.update(sources)
                yield build, compile_arguments(entry["command"]), sources


def unit_of(build, sources):
    """The file that clang-tidy reads: the source, or one that includes those of the group."""
    if len(sources) == 1:
        return HERE / sources[0]
    text = "".join(f'#include "{HERE / source}"\n' for source in sources)
    unit = build / "groups" / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cpp")
    unit.parent.mkdir(exist_ok=True)
    if not unit.exists():
        unit.write_text(text)
    return unit


def state(build, arguments, unit):
    rule = subprocess.run(arguments + ["-M", unit], cwd=build, check=True, capture_output=True, text=True).stdout
    files = rule.partition(":")[2].replace("\\\n", " ").split()
    digest = hashlib.sha256(" ".join(arguments).replace(str(HERE), "").encode())
    digest.update(subprocess.run([CLANG_TIDY, "--version"], check=True, capture_output=True).stdout)
    for file in [__file__, HERE / ".clang-tidy", *files]:
        digest.update(b"\0" + str(file).removeprefix(str(HERE)).encode() + b"\0" + (build / file).read_bytes())
    return digest.hexdigest()


def findings(build, arguments, sources):
    """What clang-tidy reports, as text; empty if the group passes."""
    unit = unit_of(build, sources)
    passed = build / "passed" / state(build, arguments, unit)
    if passed.exists():
        return ""
    options = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]
    if len(sources) > 1:  # clang-tidy takes the sources of a group for headers
        headers = re.search(r"^HeaderFilterRegex: '(.*)'", (HERE / ".clang-tidy").read_text(), re.MULTILINE)[1]
        options += [f"--header-filter=({headers}|^{re.escape(str(HERE))}/.*\\.cpp$)", "--checks=-bugprone-suspicious-include"]
    check = subprocess.run([CLANG_TIDY, *options, unit, "--", *arguments[1:]],
                           cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not check.returncode:
        passed.parent.mkdir(exist_ok=True)
        passed.touch()
        return ""
    return "\n".join(line for line in check.stdout.splitlines()
                     if "warnings generated" not in line and "warnings treated as errors" not in line)


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(sorted(source for _, _, sources in groups() for source in sources)))
        return
    chosen = set(sys.stdin.read().split())
    jobs = []
    for build, arguments, sources in groups():
        wanted = [source for source in sources if source in chosen]
        if wanted:
            chosen.difference_update(wanted)
            jobs.append((build, arguments, wanted))
    failed = bool(chosen)
    for source in sorted(chosen):
        print(f"tidy_groups.py: no build here compiles {source}", file=sys.stderr)
    jobs.sort(key=lambda job: -len(job[2]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, found in zip(jobs, pool.map(lambda job: findings(*job), jobs)):
            print(found or f"  ok {' '.join(job[2])}", flush=True)
            failed |= bool(found)
    sys.exit(failed)


main()
