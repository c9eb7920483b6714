"""The system calls of a run, recorded by strace, in their order."""

import dataclasses
import os
import re
import shutil
import subprocess

from support import GPUHIST, PATIENCE

TRACED = "open,openat,fcntl,fsync,fdatasync,rename,renameat,renameat2,link,linkat,mkdir,mkdirat,write,pwrite64,ftruncate,close"


@dataclasses.dataclass
class Call:
    name: str
    text: str  # arguments and result, as strace prints them
    paths: list  # absolute: of the descriptor or of the names, in their order
    failed: bool


def can_be_recorded():
    return shutil.which("strace") is not None and subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode == 0


def recorded(*arguments, cwd, trace):
    """Runs gpuhist. Returns its exit status, and its calls that succeeded or failed, in the order of their ends."""
    command = ["strace", "-f", "-y", "-s", "0", "-e", "trace=" + TRACED, "-o", trace, os.path.abspath(GPUHIST), *map(str, arguments)]
    # a sanitizer does not look for leaks in a program that is traced
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    ended = subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    return ended.returncode, list(calls_in(trace.read_text(errors="replace"), cwd))


def calls_in(text, folder):
    begun = {}  # by thread: a call that another thread interrupts in the record
    for line in text.splitlines():
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[thread] = rest.removesuffix("<unfinished ...>")
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>", rest)
        if resumed:
            rest = begun.pop(thread, "") + rest[resumed.end() :]
        call = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", rest)
        if call:
            name, arguments, result = call.groups()
            yield Call(name, rest, paths_of(arguments, folder), result.startswith("-"))


def paths_of(arguments, folder):
    arguments = re.sub(r"AT_FDCWD<[^>]*>", "", arguments)
    arguments = re.sub(r'\d+<([^>]*)>, "([^"/][^"]*)"', r'"\1/\2"', arguments)  # a name in an open folder
    names = re.findall(r'"([^"]*)"', arguments)
    names = [each for each in names if each] or re.findall(r"^\d+<([^>]*)>", arguments)
    return [os.path.normpath(os.path.join(folder, each)) for each in names]
