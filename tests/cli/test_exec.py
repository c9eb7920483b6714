"""--exec: the command gets every alert, in order, and never blocks, changes or outlives the run without a message."""

import json
import os
import pathlib
import signal
import subprocess
import time

from support import CommandTest, Running, main, run, text, wait_until


class ExecTest(CommandTest):
    def command(self, body):
        """A command that runs in the folder of the test."""
        return f"cd '{self.folder}' && {{ {body}\n}}"

    def written(self, name="out"):
        path = self.folder / name
        return path.read_text() if path.exists() else ""


class Exec(ExecTest):
    def test_every_alert_is_the_input_of_one_command_in_every_format(self):
        paths = [self.file(name, data) for name, data in (("letters", b"abcdefgh\n"), ("digits", b"12345678\n"), ("half", b"1234abcd\n"))]
        for form in ("jsonl", "json", "csv", "table", "prometheus"):
            with self.subTest(form=form):
                (self.folder / "out").unlink(missing_ok=True)
                ended = run("--format", form, "--fail-if", "digit > 0.8", "--alert-if", "digit > 0.1", "--exec",
                            self.command('printf \'%s\\n\' "$GPUHIST_CONDITION" >> conditions; cat >> out'), *paths)
                self.assertEqual(ended.status, 3, ended)
                alerts = [json.loads(line) for line in self.written().splitlines()]
                expected = run("--format", "jsonl", "--fail-if", "digit > 0.8", "--alert-if", "digit > 0.1", *paths).documents_of("alert")
                without_run = lambda documents: [{key: value for key, value in each.items() if key != "run"} for each in documents]
                self.assertEqual(without_run(alerts), without_run(expected))
                self.assertEqual(self.written("conditions").splitlines(), [each["condition"] for each in expected])
                if form == "jsonl":
                    self.assertEqual(alerts, ended.documents_of("alert"))
                (self.folder / "conditions").unlink()

    def test_the_output_and_the_status_of_the_run_stay_the_same(self):
        path = self.file("a", text(50_000))
        options = ("--format", "json", "--alert-if", "bytes > 1", "--watch", "inputs", path)
        plain, with_command = run(*options), run("--exec", "echo output; echo error >&2; cat", *options)
        self.assertEqual((with_command.status, with_command.stdout), (plain.status, plain.stdout))
        (alert,) = (line for line in with_command.stderr.splitlines() if line.startswith("{"))
        self.assertEqual(json.loads(alert)["condition"], "bytes > 1")
        self.assertEqual(with_command.stderr.replace(alert + "\n", ""), plain.stderr + "output\nerror\n")

    def test_a_command_that_fails_is_reported_and_the_status_stays(self):
        path = self.file("a", b"123")
        for body, end in (("exit 3", "ended with status 3"), ("kill -KILL $$", "was ended by SIGKILL")):
            ended = run("--alert-if", "digit > 0.5", "--exec", body, path)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(ended.stderr.splitlines()[1:], [f"gpuhist: --exec: the command for 'digit > 0.5' {end}"])

    def test_alerts_that_do_not_fit_are_counted_and_reported_once(self):
        paths = [self.file(f"{number:03}", b"1") for number in range(200)]
        begun, go = self.folder / "out", self.folder / "go"
        command = self.command("echo >> out; until [ -e go ]; do sleep 0.01; done")
        with Running("--alert-if", "digit == 1", "--watch", "inputs", "--exec", command, *paths, "-", stdin=subprocess.PIPE) as running:
            wait_until(lambda: running.messages().count("holds for") == 200 and begun.exists())  # counting does not wait
            go.touch()
            running.process.stdin.close()
            ended = running.finish()
        ran = self.written().count("\n")
        self.assertIn(ran, (64, 65))  # 64 where the command began after the queue was full
        self.assertEqual(ended.status, 0, ended)
        self.assertEqual([line for line in ended.stderr.splitlines() if "--exec" in line],
                         [f"gpuhist: --exec: {200 - ran} alerts were not passed to the command, because 64 were waiting"])

    def test_the_report_is_written_before_the_commands_have_ended(self):
        report = self.folder / "report.json"
        with Running("--format", "json", "--output", report, "--alert-if", "bytes > 1", "--exec",
                     self.command("until [ -e go ]; do sleep 0.01; done; echo > out"), self.file("a", b"123")) as running:
            wait_until(report.exists)
            self.assertIsNone(running.process.poll())
            (self.folder / "go").touch()
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(self.written(), "\n")

    def test_a_command_inherits_no_descriptors_and_default_signals(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        with Running("--alert-if", "bytes > 1", "--exec", self.command("(exec 1> fds; exec ls /proc/self/fd); exec cat /proc/self/status > out"),
                     self.file("a", b"123"), pass_fds=(write,)) as running:
            os.close(write)
            self.assertEqual(running.finish().status, 0)
        self.assertEqual(self.written("fds").split(), ["0", "1", "2", "3"])  # 3: the folder that ls reads
        signals = dict(line.split(":\t") for line in self.written().splitlines() if line.startswith(("SigBlk", "SigIgn")))
        self.assertEqual({name: int(mask, 16) & ~(3 << 31) for name, mask in signals.items()}, {"SigBlk": 0, "SigIgn": 0})  # not those of glibc

    def test_the_command_may_be_gpuhist(self):
        gpuhist = os.environ.get("GPUHIST") or str(pathlib.Path(__file__).resolve().parents[2] / "bin" / "gpuhist")
        ended = run("--alert-if", "bytes > 1", "--exec", self.command(f"'{gpuhist}' --format json > out"), self.file("a", b"123"))
        self.assertEqual(ended.stderr.count("\n"), 1, ended)
        self.assertGreater(json.loads(self.written())["bytes"], 100)


class Stop(ExecTest):
    def start(self, body, **popen):
        running = Running("--format", "json", "--alert-if", "bytes > 0", "--watch", "inputs", "--exec", self.command(body),
                          *(self.file(name, b"123") for name in "abc"), "-", stdin=subprocess.PIPE, **popen)
        self.addCleanup(running.__exit__)  # where the wait fails
        wait_until(lambda: (self.folder / "begun").exists() and running.messages().count("holds for") == 3)
        return running

    def test_after_a_signal_the_command_may_end_and_the_others_are_dropped(self):
        with self.start("echo >> begun; until [ -e go ]; do sleep 0.01; done; echo >> out") as running:
            running.process.send_signal(signal.SIGTERM)
            wait_until(lambda: running.printed())  # the report is there
            (self.folder / "go").touch()
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assertEqual((self.written("begun"), self.written()), ("\n", "\n"))
        dropped = [line for line in ended.stderr.splitlines() if "not passed" in line]
        self.assertRegex(" ".join(dropped), "^gpuhist: --exec: [23] alerts were not passed to the command, because a signal ended the run$")

    def test_a_command_that_does_not_end_gets_sigterm_after_ten_seconds(self):
        with self.start("echo >> begun; sleep 300") as running:
            begin = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            ended = running.finish()
        self.assertGreater(time.monotonic() - begin, 9.5)
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assertIn("was ended by SIGTERM; gpuhist sent SIGTERM 10 seconds after the stop signal", ended.stderr)

    def test_a_second_signal_ends_gpuhist_at_once(self):
        with self.start("echo $$ > pid; mv pid begun; sleep 300 2> /dev/null") as running:
            running.process.send_signal(signal.SIGTERM)
            time.sleep(1.1)  # signals within a second are one request
            begin = time.monotonic()
            running.process.send_signal(signal.SIGTERM)
            self.assertEqual(running.finish().status, -signal.SIGTERM)
        self.assertLess(time.monotonic() - begin, 5)
        os.killpg(int(self.written("begun")), signal.SIGKILL)

    def test_a_signal_during_the_wait_at_the_end_is_a_stop_signal(self):
        with self.start("echo >> begun; until [ -e go ]; do sleep 0.01; done") as running:
            running.process.stdin.close()
            wait_until(lambda: running.printed())
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            (self.folder / "go").touch()
            ended = running.finish()
        self.assertEqual(ended.status, -signal.SIGTERM, ended)
        self.assertIn("alerts were not passed to the command, because a signal ended the run", ended.stderr)


class Usage(ExecTest):
    def test_exec_needs_a_condition_and_a_command(self):
        self.assert_usage_error(run("--exec", "true", stdin_bytes=b""), "--exec: requires --fail-if")
        self.assert_usage_error(run("--alert-if", "bytes > 1", "--exec", "", stdin_bytes=b""), "--exec", "give a command")

    def test_only_a_count_takes_it(self):
        self.assert_usage_error(run("report", "--alert-if", "bytes > 1", "--exec", "true", self.file("a", b""), engine=None), "--exec")


if __name__ == "__main__":
    main()
