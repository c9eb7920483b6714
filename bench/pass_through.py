"""`bench/pass_through.py [GPUHIST] [RUNS]`: measures --pass-through in a pipeline.

1. Wall time and processor time, compared with `tee /dev/null` and `zstd -dc`; medians of alternating runs.
2. The time that one line takes through gpuhist.
3. 4 GiB through gpuhist: peak memory, and a comparison of its output with the input.

`bench/pass_through.py GPUHIST --through 100GiB` does only step 3, with that size. Prints figures without targets."""

import os
import pty
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tty

GPUHIST = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/gpuhist")
STAGE = [GPUHIST, "--engine", "host", "--quiet"]
OURS = " ".join(STAGE) + " --output /dev/null --pass-through"
SIZE = 1 << 30
LINES = 2000

STAGES = [  # name, input, gpuhist, reference command
    ("pipe to pipe", "cat log |", OURS, "tee /dev/null"),
    ("file to pipe", "<log", OURS, "tee /dev/null"),
    ("zstd, as text", "cat log.zst |", OURS + "=text", "zstd -qdc"),
]


def measured(command, at):
    """Returns the wall time, and the processor time of all commands together, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(["bash", "-c", command], cwd=at, check=True)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(at, runs):
    for name, source, ours, reference in STAGES:
        if source.startswith("<"):
            commands = [f"{each} {source} | cat >/dev/null" for each in (ours, reference)]
        else:
            commands = [f"{source} {each} | cat >/dev/null" for each in (ours, reference)]
        for each in commands:
            measured(each, at)
        times = [[measured(each, at) for each in commands] for _ in range(runs)]
        (our_wall, our_cpu), (wall, cpu) = ([statistics.median(v) for v in zip(*column)] for column in zip(*times))
        print(f"{name}: {our_wall:.3f} s : {wall:.3f} s = {our_wall / wall:.2f} wall, {our_cpu:.2f} : {cpu:.2f} s of processors   "
              f"{commands[0]}  :  {commands[1]}".replace(GPUHIST, "gpuhist"), flush=True)  # fmt: skip


def line_times(stdin, feed, mode):
    command = [*STAGE, f"--pass-through={mode}", "--output", "/dev/null"]
    stage = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = stage.stdout.fileno()
    times = []
    for number in range(LINES):
        line = b"one line of a log, number %d\n" % number
        time.sleep(0.0005)  # gpuhist then waits for input, as with a slow producer
        begin = time.perf_counter()
        os.write(feed, line)
        got = b""
        while len(got) < len(line):
            got += os.read(out, 4096)
        times.append(time.perf_counter() - begin)
        assert got == line
    stage.terminate()
    stage.wait()
    return times


def latency():
    for mode in ("raw", "text"):
        read, write = os.pipe()
        master, slave = pty.openpty()
        tty.setraw(slave)
        for name, stdin, feed in (("pipe", read, write), ("terminal", slave, master)):
            times = sorted(line_times(stdin, feed, mode))
            print(f"one line, {name} to pipe, {mode}: median {1000 * times[LINES // 2]:.3f} ms, 99 % under "
                  f"{1000 * times[LINES * 99 // 100]:.3f} ms, of {LINES}", flush=True)  # fmt: skip
        for each in (read, write, master, slave):
            os.close(each)


def through(size):
    """Sends numbers through gpuhist and compares its output with the same numbers, generated a second time."""
    line = 12  # bytes of a number of eleven digits and a newline; there are 900 GiB of such numbers
    count = size // line
    numbers = f"seq {10**10} {10**10 + count - 1}"
    begin = time.perf_counter()
    making = subprocess.Popen(numbers.split(), stdout=subprocess.PIPE)
    command = [*STAGE, "--pass-through", "--format", "json"]
    stage = subprocess.Popen(command, stdin=making.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    comparing = subprocess.Popen(["bash", "-c", f"cmp - <({numbers})"], stdin=stage.stdout)
    making.stdout.close(), stage.stdout.close()
    report = stage.stderr.read().decode()
    _, status, usage = os.wait4(stage.pid, 0)
    stage.returncode = os.waitstatus_to_exitcode(status)
    same = comparing.wait() == 0
    counted = int(re.search(r'"bytes":(\d+)', report)[1])
    print(f"{counted / 2**30:.2f} GiB in {time.perf_counter() - begin:.1f} s: output {'equal to' if same else 'NOT equal to'} the input, "
          f"{'all' if counted == line * count else 'NOT all'} counted, exit status {stage.returncode}, {usage.ru_maxrss / 1024:.1f} MiB at most", flush=True)  # fmt: skip


def make_log(at):
    line = b"2026-03-11 04:12:07 host-12 INFO quick brown fox GET /index.html 200\n"
    with open(os.path.join(at, "log"), "wb") as log:
        for number in range(SIZE >> 20):
            log.write((b"%06d " % number + line * 16_000)[: 1 << 20])
    subprocess.run(["zstd", "-q", "-1", "log"], cwd=at, check=True)


def main():
    if len(sys.argv) > 3 and sys.argv[2] == "--through":
        return through(int(sys.argv[3].removesuffix("GiB")) << 30)
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as at:
        make_log(at)
        print(f"{SIZE >> 20} MiB, {os.cpu_count()} cores, medians of {runs} alternating runs, warm cache")
        compare(at, runs)
    latency()
    through(4 << 30)


if __name__ == "__main__":
    main()
