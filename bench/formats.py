#!/usr/bin/env python3
"""Compares gpuhist with the tools that decompress a format, for every format: one file, wall times of the whole
process, alternating runs, medians, warm page cache. All commands write to /dev/null. A ratio is time of gpuhist / time
of the other tool (lower is better). Tools that are not installed are left out. Before a file is timed, its counts are
compared with those of the plain text. The exit status is 1 if counts are wrong or a tool fails; it does not depend on
the ratios."""

import argparse
import json
import os
import pathlib
import re
import shlex
import sys

from commands import CommandFailed, Pipeline, find_tool, output_of, pipeline_of, seconds, tools_in
from format_list import FORMATS
from format_samples import make_log, make_samples
from format_table import COLUMNS, compared_row, line, rows_of


def size(text):
    """A size as make_log accepts it: 12345, 64MiB, 1GiB."""
    if not re.fullmatch(r"[1-9][0-9]*(KiB|MiB|GiB)?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 64MiB or 1GiB")
    return text


def positive(text):
    if not re.fullmatch(r"[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return int(text)


def formats_named(text):
    known = {each.name: each for each in FORMATS}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no format '{unknown[0]}'; the formats are: {', '.join(known)}")
    return tuple(each for each in FORMATS if each.name in text.split(","))


def parse(arguments):
    build = os.environ.get("BUILD", "build/release")
    parser = argparse.ArgumentParser(description=__doc__)
    option = parser.add_argument
    option("size", nargs="?", type=size, default="1GiB", metavar="SIZE", help="size of the log (default: 1GiB)")
    option("--gpuhist", default=f"{build}/gpuhist", help="default: $BUILD/gpuhist; BUILD is build/release if unset")
    option("--make-log", default=f"{build}/make_log", help="default: $BUILD/make_log")
    option("--rapidgzip", metavar="PROGRAM", help="default: the one of PATH")
    option("--samples", type=pathlib.Path, default="build/sample", help="folder of the files (default: build/sample)")
    option("--threads", type=positive, default=len(os.sched_getaffinity(0)), help="default: all cores")
    option("--rounds", type=positive, default=5, help="runs of each command (default: 5)")
    option("--only", type=formats_named, default=FORMATS, metavar="FORMAT[,FORMAT]", help="only these formats")
    help_of_slow = "tools that take more than FACTOR times as long as the fastest command run only once"
    option("--slow", type=float, default=float("inf"), metavar="FACTOR", help=help_of_slow)
    option("--list-tools", action="store_true", help="print the paths of the installed tools, and exit")
    return parser.parse_args(arguments)


def installed_tools(formats, rapidgzip=None):
    """Name to path, of every tool of these formats that is installed."""
    templates = [template for each in formats for template in (*each.makers, *each.peers)]
    names = dict.fromkeys(tool for template in templates for tool in tools_in(template))
    paths = {name: find_tool(rapidgzip if rapidgzip and name == "rapidgzip" else name) for name in names}
    return {name: path for name, path in paths.items() if path}


def counts(command):
    """Bytes and buckets that gpuhist reports."""
    result = json.loads(output_of(Pipeline([[*command, "--format", "json"]])))
    return result["bytes"], result["buckets"]


def shown(template, threads):
    """The text of a template in the tables."""
    return re.sub(r" <?\{file\}", "", template).format(threads=threads)


def commands_of(each, ours, path, tools, threads):
    """The pipelines to compare, by the text of their command; gpuhist is the first."""
    commands = {"gpuhist": Pipeline([[*ours, str(path)]])}
    for peer in each.installed_peers(tools):
        commands[shown(peer, threads)] = pipeline_of(peer, tools, file=path, threads=threads)
    return commands


def measure(commands, rounds, slow, timed=seconds):
    """Runs every command once per round, in alternating order. Returns the times of each, and messages: a command that
    fails has no times, unless it is the first. After the first round, commands more than `slow` times as long as the
    fastest do not run, except the first."""
    times, failures = {name: [] for name in commands}, []
    first = next(iter(commands))
    for number in range(rounds):
        for name in list(times)[:: -1 if number % 2 else 1]:
            if number and name != first and times[name][0] > slow * min(each[0] for each in times.values()):
                continue
            try:
                times[name].append(timed(commands[name]))
            except CommandFailed as failure:
                if name == first:
                    raise
                failures.append(str(failure))
                del times[name]
    return times, failures


def compare(each, path, ours, expected, options, tools):
    """The rows of a format, and messages about tools that fail."""
    try:
        found = counts([*ours, str(path)])
        if found != expected:
            return [], [f"{path}: gpuhist counts {found}; the counts of the plain text are {expected}"]
        times, failures = measure(commands_of(each, ours, path, tools, options.threads), options.rounds, options.slow)
    except CommandFailed as failure:
        return [], [str(failure)]
    target, compared_with = each.target(options.threads)
    return rows_of(each.name, expected[0], times.pop("gpuhist"), times, target, compared_with), failures


def require(program, option):
    """The absolute path of a program; exits if there is none."""
    if not os.access(program, os.X_OK):
        build = "cmake --preset release && cmake --build --preset release"
        sys.exit(f"formats.py: {program} is not a program: name it with {option}, or build it: {build}")
    return os.path.abspath(program)


def possible(formats, tools):
    """The formats with a tool that makes a sample and a tool to compare with. Prints the others."""
    found = []
    for each in formats:
        if each.installed_peers(tools) and (not each.makers or each.installed_maker(tools)):
            found.append(each)
        else:
            print(f"{each.name}: skipped: no tool that makes it, or none that decompresses it, is installed")
    return found


def print_results(rows):
    print("\nresults, compared with the fastest tool or with that of the target\n" + line(COLUMNS))
    print("\n".join(line(row.cells()) for row in rows))
    missed = [row.name for row in rows if row.missed]
    print(f"{len(rows)} formats, {len(missed)} targets missed: {', '.join(missed) or 'none'}")


def main():
    options = parse(sys.argv[1:])
    tools = installed_tools(options.only, options.rapidgzip)
    if options.list_tools:
        return print("\n".join(f"{name}\t{path}" for name, path in tools.items()))
    if options.rapidgzip and not find_tool(options.rapidgzip):
        sys.exit(f"formats.py: --rapidgzip: {options.rapidgzip} is not a program")
    make_log_program = require(options.make_log, "--make-log")
    gpuhist = require(options.gpuhist, "--gpuhist")
    ours = [gpuhist, "--engine", "host", "-b", "letters", "--threads", str(options.threads)]
    log = make_log(make_log_program, options.samples, options.size)
    expected = counts([*ours, str(log)])
    if expected[0] != log.stat().st_size:
        sys.exit(f"formats.py: {log}: gpuhist counts {expected[0]} bytes; the file has {log.stat().st_size}")
    formats = possible(options.only, tools)
    paths = make_samples(formats, log, tools, options.threads)

    machine = f"{os.cpu_count()} cores, medians of {options.rounds} alternating runs, warm cache"
    print(f"{expected[0] / 2**20:.1f} MiB of text, {machine}")
    print(f"{shlex.join(ours)}\n\n{line(COLUMNS)}", flush=True)
    results, failures = [], []
    for each in formats:
        rows, failed = compare(each, paths[each.name], ours, expected, options, tools)
        for row in rows:
            print(line(row.cells()), flush=True)
        results += [compared_row(rows)] if rows else []
        failures += [f"{each.name}: {message}" for message in failed]
    print_results(results)
    for failure in failures:
        print(f"FAILED  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CommandFailed as failed:
        sys.exit(f"formats.py: {failed}")
