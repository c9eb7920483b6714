"""Ctrl-C ends a count, and leaves no thread running. Each case in a child process, which gets SIGINT."""

import os
import signal
import unittest

from support import PATIENCE, folder, main, run_python

# The child prints when it begins to wait, and afterwards what it has left.
CHILD = """
import os, sys, gpuhist
path = sys.argv[1]
seen = []
def started(*_):
    if not seen:
        print("started", flush=True)
    seen.append(1)
try:
    CALL
    print("ended without an exception")
except KeyboardInterrupt:
    print("interrupted", end=" ")
print(len(os.listdir("/proc/self/task")), "thread")
print(gpuhist.count("/dev/null").bytes, "counted afterwards")
"""


class Interrupts(unittest.TestCase):
    def interrupted(self, call):
        with folder() as path:
            os.mkfifo(path / "pipe")
            writer = os.open(path / "pipe", os.O_RDWR)  # open, and silent: the count waits for ever
            try:
                child = run_python(CHILD.replace("CALL", call), path / "pipe")
                os.write(writer, b"123456789\n" * 100)
                self.assertEqual(child.stdout.readline(), "started\n")
                child.send_signal(signal.SIGINT)
                printed, errors = child.communicate(timeout=PATIENCE)
            finally:
                os.close(writer)
        self.assertEqual((printed, errors, child.returncode), ("interrupted 1 thread\n0 counted afterwards\n", "", 0))

    def test_a_count_that_waits_for_a_pipe_is_interrupted(self):
        self.interrupted("gpuhist.count(path, progress=started)")

    def test_an_iteration_over_windows_is_interrupted(self):
        self.interrupted("[started() for window in gpuhist.windows(path, 1000)]")

    def test_an_iteration_over_units_is_interrupted(self):
        self.interrupted("[unit.number == 100 and started() for unit in gpuhist.units(path, where='digit > 0')]")

    def test_a_filter_is_interrupted(self):
        self.interrupted("gpuhist.filter(path, started, keep_if='digit > 0')")

    def test_an_interrupt_in_the_block_of_a_counter_cancels_it(self):
        self.interrupted(
            "import time\n    with gpuhist.Counter() as counter:\n        counter.feed(bytes(100_000))\n"
            "        started()\n        time.sleep(1000)"
        )


if __name__ == "__main__":
    main()
