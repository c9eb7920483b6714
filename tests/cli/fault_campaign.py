"""Fault injection: a run in which a call fails ends with a right result, or with a non-zero exit status and a message.

    fault_campaign.py                    a few faults of each scenario and class, chosen by --seed
    fault_campaign.py --all              all faults
    fault_campaign.py --only SCENARIO    only scenarios whose name contains SCENARIO; with --class only one class
    fault_campaign.py --reproduce 'SCENARIO' CLASS EFFECT ORDINAL     one fault: its messages, and where it was injected

Environment: GPUHIST, the program; FAULT_PRELOAD, the library that makes calls fail (tests/support/fault_preload.cpp). A
run without a fault counts the calls of each class; then each ordinal gets a run in which that call fails. Limits of the
system (address space, processes of a user, file size) are lowered step by step instead. The exit status is 1 if a run
did not end as it should; the command that reproduces each such run is printed."""

import argparse
import collections
import concurrent.futures
import dataclasses
import errno
import functools
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from fault_jobs import jobs
from fault_scenarios import HAS_7Z, LIMITED, Outcome, files_in, scenarios, write_files, write_inputs
from support import GPUHIST, SANITIZED, SKIPPED

PRELOAD = os.environ.get("FAULT_PRELOAD")
SHORT, LASTING = "short", "lasting"
# The errors of each class. "lasting": this call and all later ones of the class fail; "twice": this call and the next,
# because the program retries a failed allocation once.
TIMES = {"": 1, "twice": 2, LASTING: 1 << 60}
EFFECTS = {
    "alloc": ("ENOMEM", "ENOMEM twice", "ENOMEM lasting"),
    "map": ("ENOMEM",),
    "thread": ("EAGAIN", "EAGAIN lasting"),
    "open": ("EMFILE", "EMFILE lasting", "EINTR"),
    "close": ("EIO",),
    "read": ("EIO", "EINTR", SHORT),
    "write": ("ENOSPC", "ENOSPC lasting", "EINTR", "EAGAIN", SHORT),
    "stat": ("EACCES",),
    "seek": ("EINVAL",),
    "fcntl": ("EMFILE",),
    "ioctl": ("ENOTTY",),
    "poll": ("EINTR", "ENOMEM"),
    "epoll": ("ENOMEM",),
    "wait": ("EINTR",),
    "event": ("EMFILE",),
    "timer": ("EMFILE",),
    "signal": ("EMFILE",),
    "inotify": ("EMFILE",),
    "pipe": ("EMFILE",),
    "tee": ("EINVAL", "ENOMEM", "EINTR"),
    "rename": ("EIO", "EINVAL"),
    "link": ("EPERM",),
    "unlink": ("EACCES",),
    "sync": ("EIO", "EINTR"),
    "truncate": ("EIO",),
    "owner": ("EPERM",),
    "access": ("EACCES",),
    "directory": ("EIO",),
    "random": ("ENOSYS",),
    "sigaction": ("EINVAL",),
    "advise": ("EINVAL",),
    "usage": ("EINVAL",),
    "locale": ("ENOMEM",),
    "calendar": ("EOVERFLOW",),
}
LIMITS = {"address space": "--as", "processes": "--nproc", "file size": "--fsize"}
VERDICTS = ("right", "failed", "hang", "abort", "crash", "wrong", "silent", "left over")


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str  # a class of calls, or a limit
    effect: str  # one of EFFECTS, or "limit"
    ordinal: int  # the number of the call, or the limit itself

    def environment(self):
        name, _, times = self.effect.partition(" ")
        effect = SHORT if name == SHORT else str(getattr(errno, name))
        return {"FAULT_CLASS": self.kind, "FAULT_AT": str(self.ordinal), "FAULT_EFFECT": effect, "FAULT_TIMES": str(TIMES[times])}


@dataclasses.dataclass
class Finding:
    scenario: str
    fault: Fault
    verdict: str
    detail: str
    site: tuple  # stack of the call that failed: one (object, offset) for each frame


# ---- one run ---------------------------------------------------------------------------------------------------------


def is_limit(fault):
    return fault is not None and fault.kind in LIMITS


def command_of(scenario, fault, user):
    command = [GPUHIST, *scenario.arguments]
    if not is_limit(fault):
        return command
    limited = ["prlimit", f"{LIMITS[fault.kind]}={fault.ordinal}"]
    if fault.kind == "processes":  # the limit counts all processes of the user: use one who has no other
        limited += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return limited + command


def feed(process, scenario, patience):
    """Standard output and standard error of the process."""
    if not scenario.pause:
        return process.communicate(scenario.stdin, patience)
    first = 50_000  # a pipe holds this many bytes without a reader
    try:
        process.stdin.write(scenario.stdin[:first])
        process.stdin.flush()
        time.sleep(scenario.pause)
    except BrokenPipeError:  # the process has ended
        pass
    return process.communicate(scenario.stdin[first:], patience)


class Campaign:
    """Runs scenarios, each in its own folder, all with the same inputs."""

    def __init__(self, folder, patience):
        self.folder = pathlib.Path(folder)
        self.patience = patience
        self.inputs = self.folder / "in"
        self.inputs.mkdir()
        self.folder.chmod(0o755)
        write_inputs(self.inputs)

    def run(self, scenario, fault=None):
        """The outcome, the number of calls of each class, and the stack of the call that failed (None: no call failed)."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        try:
            for name in ("out", "tmp"):
                place.joinpath(name).mkdir()
            for each in (place, place / "out", place / "tmp"):
                each.chmod(0o777)
            place.joinpath("in").symlink_to(self.inputs)
            write_files(place / "out", scenario.before)
            for each in (place / "out").rglob("*"):
                each.chmod(0o777 if each.is_dir() else 0o666)
            return self.run_in(place, scenario, fault)
        finally:
            shutil.rmtree(place)

    def run_in(self, place, scenario, fault):
        environment = os.environ | {"TMPDIR": str(place / "tmp")}
        if not is_limit(fault):
            environment |= {"LD_PRELOAD": PRELOAD, "FAULT_COUNTS": str(place / "counts"), "FAULT_TRACE": str(place / "stack")}
            environment |= fault.environment() if fault else {}
        user = 100_000 + place.stat().st_ino % 1_000_000
        process = subprocess.Popen(
            command_of(scenario, fault, user),
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL if scenario.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            stdout, stderr = feed(process, scenario, self.patience)
            status = 0 if process.returncode == scenario.status else process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            status = None
        out = place / "out"
        outcome = Outcome(status, stdout, stderr, files_in(out), os.listdir(place / "tmp"), self.inputs, fault.kind if fault else None)
        return outcome, calls_in(place / "counts"), frames_in(place / "stack")


def calls_in(path):
    if not path.exists():
        return {}
    return {name.rstrip(b"\0").decode(): calls for name, calls, _ in struct.iter_unpack("16sQQ", path.read_bytes())}


def frames_in(path):
    return tuple(tuple(line.rsplit(" ", 1)) for line in path.read_text().splitlines()) if path.exists() else None


def judge(scenario, outcome):
    """One of VERDICTS, and its details."""
    messages = outcome.stderr.decode("utf-8", "backslashreplace").strip()
    if outcome.status is None:
        return "hang", messages
    if outcome.status < 0:
        verdict = "abort" if -outcome.status == signal.SIGABRT else "crash"
        return verdict, f"{signal.Signals(-outcome.status).name} {messages}"
    remaining = [name for name in outcome.output if os.path.basename(name).startswith(".")] + outcome.temporary
    if remaining:
        return "left over", f"status {outcome.status}: {' '.join(remaining)} {messages}"
    wrong = scenario.check(outcome)
    if wrong:
        return "wrong", f"status {outcome.status}: {wrong} {messages}"
    if outcome.status == 0:
        return "right", messages
    return ("failed", messages) if messages else ("silent", f"status {outcome.status}")


# ---- which faults ----------------------------------------------------------------------------------------------------


class Chooser:
    """Chooses the ordinals of a class for which a scenario is run."""

    def __init__(self, everything, chosen, calls_of_start):
        self.everything = everything
        self.random = chosen
        self.calls_of_start = calls_of_start  # made while options are parsed: the same in every scenario

    def faults(self, scenario, calls, kinds):
        for kind, effects in EFFECTS.items():
            if kind not in kinds or not calls.get(kind):
                continue
            for effect in effects:
                for ordinal in self.ordinals(scenario, kind, effect, calls[kind]):
                    yield Fault(kind, effect, ordinal)

    def ordinals(self, scenario, kind, effect, calls):
        begin = min(self.calls_of_start.get(kind, 0), calls) if kind == "alloc" else 0
        at_start, later = range(1, begin + 1), range(begin + 1, calls + 1)
        if not self.everything:
            return self.sample(later, 4 if kind == "alloc" else 1)
        if kind == "alloc" and scenario.pause:  # such a run is slow
            return [*self.sample(at_start, 5), *self.sample(later, 200)]
        if LASTING in effect and kind == "alloc":
            return [*self.sample(at_start, 20), *self.sample(later, 200)]
        return [*(at_start if scenario.name == "plain file" else self.sample(at_start, 40)), *later]

    def sample(self, ordinals, count):
        return sorted(self.random.sample(ordinals, min(count, len(ordinals))))

    def limits(self, campaign, scenario, kinds):
        if scenario.name not in LIMITED:
            return
        steps = 300 if self.everything else 3
        if "address space" in kinds:  # from the smallest with which the program starts; in smaller steps near it
            start = smallest_start()
            for _ in range(steps):
                yield Fault("address space", "limit", start + int(2 ** self.random.uniform(12, 28)))
        if "processes" in kinds and is_right(campaign, scenario, Fault("processes", "limit", 1000)):
            yield from (Fault("processes", "limit", limit) for limit in range(1, 5))
        if "file size" in kinds:
            for _ in range(steps):
                yield Fault("file size", "limit", int(2 ** self.random.uniform(0, 15)))


def is_right(campaign, scenario, fault):
    return judge(scenario, campaign.run(scenario, fault)[0])[0] == "right"


@functools.lru_cache(maxsize=None)
def smallest_start():
    """The smallest address space in which the program starts, to within 64 KiB."""
    low, high = 0, 1 << 33
    while high - low > 1 << 16:
        middle = (low + high) // 2
        command = ["prlimit", f"--as={middle}", GPUHIST, "--version"]
        starts = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        low, high = (low, middle) if starts else (middle, high)
    return high


# ---- reports ---------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def function_at(binary, offset):
    named = subprocess.run(["addr2line", "-Cfe", binary, hex(int(offset, 16) - 1)], stdout=subprocess.PIPE, text=True).stdout
    function, _, line = named.strip().partition("\n")
    return f"{function[:100]}  {os.path.basename(line)}"


LIBRARIES = ("std::", "void std::", "bool std::", "decltype", "__gnu", "operator", "boost", "void boost", "CLI::", "nlohmann", "void nlohmann")


def own_frames(site, count=3):
    """The innermost functions of the program in the stack of a failed call. Functions from the headers of libraries are
    left out if there are others."""
    program = os.path.realpath(GPUHIST)
    frames = [function_at(binary, offset) for binary, offset in site or () if os.path.realpath(binary) == program]
    return [each for each in frames if not each.startswith(LIBRARIES)][:count] or frames[:count]


def print_table(tallies):
    width = max(len(scenario) for scenario, _ in tallies)
    print(f"{'scenario':{width}}  {'class':13} ordinals " + " ".join(f"{verdict:>9}" for verdict in VERDICTS))
    totals = collections.Counter()
    for (scenario, kind), tally in tallies.items():
        print(f"{scenario:{width}}  {kind:13} {tally.total():8} " + " ".join(f"{tally[each]:9}" for each in VERDICTS))
        totals += tally
    print(f"{'all':{width}}  {'':13} {totals.total():8} " + " ".join(f"{totals[each]:9}" for each in VERDICTS))


def print_findings(findings, most):
    """Groups the findings of one verdict whose innermost frames are the same."""
    groups = collections.defaultdict(list)
    for each in findings:
        groups[each.verdict, each.fault.kind, tuple(own_frames(each.site))].append(each)
    for (verdict, kind, frames), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(group)} x {verdict} ({kind})")
        for frame in frames:
            print(f"    {frame}")
        for each in group[:most]:
            fault = each.fault
            print(f"  {each.detail[:300]}")
            print(f"  --reproduce '{each.scenario}' '{fault.kind}' '{fault.effect}' {fault.ordinal}")


def reproduce(campaign, scenario, fault):
    outcome, _, site = campaign.run(scenario, fault)
    verdict, detail = judge(scenario, outcome)
    print(f"{verdict}: {detail}\nstatus {outcome.status}\nstdout {outcome.stdout[:2000]}\noutput {outcome.output}\nstack")
    for binary, offset in site or ():
        if binary == PRELOAD:
            continue
        print(f"    {function_at(binary, offset)}  {binary} {offset}")
    return verdict in ("right", "failed")


def run_all(campaign, chooser, chosen, kinds, jobs):
    """A tally of verdicts for each scenario and class, and the findings: every run that did not end as it should."""
    tallies, findings = collections.defaultdict(collections.Counter), []

    def run_one(scenario, fault):
        outcome, _, site = campaign.run(scenario, fault)
        return scenario, fault, site, *judge(scenario, outcome)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for scenario in chosen:
            outcome, calls, _ = campaign.run(scenario)
            if judge(scenario, outcome)[0] != "right":
                raise SystemExit(f"{scenario.name} fails without a fault: {judge(scenario, outcome)}\n{outcome}")
            faults = [*chooser.faults(scenario, calls, kinds), *chooser.limits(campaign, scenario, kinds)]
            for scenario, fault, site, verdict, detail in pool.map(run_one, [scenario] * len(faults), faults):
                if site is None and not is_limit(fault) and verdict == "right":
                    continue  # the last run made fewer calls
                tallies[scenario.name, fault.kind][verdict] += 1
                if verdict not in ("right", "failed"):
                    findings.append(Finding(scenario.name, fault, verdict, detail, site))
            print(f"  {scenario.name}: {len(faults)} faults", file=sys.stderr, flush=True)
    return tallies, findings


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every ordinal")
    parser.add_argument("--only", default="", metavar="SCENARIO")
    parser.add_argument("--class", dest="kinds", action="append", choices=[*EFFECTS, *LIMITS])
    parser.add_argument("--system-calls", action="store_true", help="all classes but allocations, threads and limits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, default=10, help="seconds after which a run hangs")
    parser.add_argument("--examples", type=int, default=2, help="named of each group of findings")
    parser.add_argument("--reproduce", nargs=4, metavar=("SCENARIO", "CLASS", "EFFECT", "ORDINAL"))
    return parser.parse_args()


def classes(arguments):
    if arguments.system_calls:
        return [each for each in EFFECTS if each not in ("alloc", "thread")]
    return arguments.kinds or [*EFFECTS, *LIMITS]


def main():
    arguments = parse_arguments()
    if SANITIZED or not PRELOAD:
        print("skipped: no FAULT_PRELOAD, or a sanitizer, which has an allocator of its own")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="gpuhist-faults-") as folder:
        campaign = Campaign(folder, arguments.patience)
        known = {each.name: each for each in (*scenarios(), *jobs(campaign.inputs))}
        if not HAS_7Z:
            print("not on this machine: 7z, so its archives are left out")
        if arguments.reproduce:
            name, kind, effect, ordinal = arguments.reproduce
            known[name].check(campaign.run(known[name])[0])  # some checks compare with a run without faults
            return 0 if reproduce(campaign, known[name], Fault(kind, effect, int(ordinal))) else 1
        start = campaign.run(dataclasses.replace(known["plain file"], arguments=("--version",)))[1]
        chooser = Chooser(arguments.all, random.Random(arguments.seed), start)
        chosen = [each for each in known.values() if arguments.only in each.name]
        tallies, findings = run_all(campaign, chooser, chosen, classes(arguments), arguments.jobs)
        print_table(tallies)
        print_findings(findings, arguments.examples)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
