"""Pipelines of commands: from a template to arguments, their wall time, and files made from their output."""

import contextlib
import dataclasses
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time

# Names under which a tool is installed, besides its own.
OTHER_NAMES = {"7z": ("7zz", "/usr/lib/p7zip/7za", "7za"), "lzip": ("lzip.lzip",)}


class CommandFailed(Exception):
    """A command that ended with an exit status other than 0; the text is the end of what it wrote to standard error."""


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """Stages (lists of arguments) connected by pipes; the first one reads from a file if `source` is set."""

    stages: list
    source: str = ""


def tools_in(template):
    """The tools of a template, such as "xz -dc {file} | tar -xOf -": the first word of each stage."""
    return [stage.split()[0] for stage in template.split(" | ")]


def find_tool(name):
    """The path of an installed tool, or None."""
    return next(filter(None, map(shutil.which, (*OTHER_NAMES.get(name, ()), name))), None)


def pipeline_of(template, tools, **values):
    """Replaces the tools of a template by their paths (`tools`: name to path), and {names} by values. A word that
    begins with `<` names the file that the first stage reads."""
    stages, source = [], ""
    for stage in template.split(" | "):
        name, *words = [word.format(**values) for word in shlex.split(stage)]
        source = next((word[1:] for word in words if word.startswith("<")), source)
        stages.append([tools[name], *(word for word in words if not word.startswith("<"))])
    return Pipeline(stages, source)


def run(pipeline, output=subprocess.DEVNULL):
    """Runs a pipeline; the last stage writes to `output`. Raises CommandFailed if a stage fails."""
    processes = []
    with contextlib.ExitStack() as files:
        errors = files.enter_context(tempfile.TemporaryFile())
        feed = files.enter_context(open(pipeline.source or os.devnull, "rb"))
        for stage in pipeline.stages:
            out = output if stage is pipeline.stages[-1] else subprocess.PIPE
            processes.append(subprocess.Popen(stage, stdin=feed, stdout=out, stderr=errors))
            feed.close()  # of the stages, only the reader may keep it: a writer then ends when its reader does
            feed = processes[-1].stdout
        statuses = [process.wait() for process in processes]
        if any(statuses):
            named = zip(map(shlex.join, pipeline.stages), statuses)
            errors.seek(0)
            causes = errors.read().decode(errors="replace").splitlines()[-3:]
            failed = [f"{name}: exit status {status}" for name, status in named if status]
            raise CommandFailed("; ".join(failed + causes))


def seconds(pipeline):
    """The wall time of a pipeline whose output is discarded."""
    begin = time.monotonic()
    run(pipeline)
    return time.monotonic() - begin


def output_of(pipeline):
    """What a pipeline writes to standard output."""
    with tempfile.TemporaryFile() as out:
        run(pipeline, out)
        out.seek(0)
        return out.read().decode()


def made(path, write):
    """Returns `path`, a file that `write` (a function of a path) makes if it does not exist. An interrupted run leaves
    no file of that name."""
    path = pathlib.Path(path)
    if not path.exists():
        unfinished = path.with_name(path.name + ".part")
        if unfinished.is_file():  # 7z would add to it
            unfinished.unlink()
        write(unfinished)
        unfinished.rename(path)
    return path


def made_by(path, pipeline):
    """The same, with the output of a pipeline."""

    def write(unfinished):
        with unfinished.open("wb") as out:
            run(pipeline, out)

    return made(path, write)


def repacked(path, gpuhist, plain):
    """The same, with `plain` compressed in many frames."""
    return made(path, lambda unfinished: run(Pipeline([[gpuhist, "repack", "-q", str(plain), "-o", str(unfinished)]])))
