"""Lines of finished inputs (--format jsonl): they are written while the run lasts, and equal those of a whole run."""

import json
import os
import signal

from support import CommandTest, Running, main, noise, run, tar, text, wait_until, zstd

JSONL = ("--format", "jsonl")


def lines_of(path):
    """The whole lines of a file, as documents."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()]


def without_name_of_run(documents):
    return sorted(json.dumps({key: value for key, value in each.items() if key != "run"}) for each in documents)


class FinishedInputs(CommandTest):
    def setUp(self):
        super().setUp()
        self.to = self.folder / "lines.jsonl"
        self.paths = [self.file(f"{number}", text(3_000, number)) for number in range(100)]
        self.fifo = self.folder / "fifo"
        os.mkfifo(self.fifo)

    def lines_during_a_run(self, *options):
        """The run reads a FIFO after its other inputs."""
        with Running(*JSONL, *options, "-o", self.to, *self.paths, self.fifo) as running:
            with self.fifo.open("wb") as endless:
                endless.write(b"begun")
                endless.flush()
                wait_until(lambda: self.to.exists() and len(lines_of(self.to)) >= len(self.paths))
                found = lines_of(self.to)
                running.process.send_signal(signal.SIGKILL)
                running.finish()
        return found

    def test_inputs_have_their_lines_while_another_is_read(self):
        expected = [each for each in run(*JSONL, *self.paths).documents if each["kind"] == "input"]
        for options in ((), ("--append",)):
            with self.subTest(options=options):
                found = self.lines_during_a_run(*options)
                self.assertEqual(without_name_of_run(found), without_name_of_run(expected))
                self.assertEqual(len({each["run"] for each in found}), 1)
                self.to.unlink()

    def test_every_input_has_one_line_before_the_result(self):
        damaged = bytearray(zstd(text(300_000), "--check"))
        damaged[-1] ^= 1
        members = self.file("a.tar.zst", zstd(tar({f"m{each}": text(2_000, each) for each in range(20)})))
        torn = self.file("torn.tar", tar({"whole": b"abc", "torn": noise(5_000)})[:3_000])
        paths = [*self.paths, self.file("damaged.zst", bytes(damaged)), self.folder / "absent", members, torn, self.file("empty", b"")]
        for options in ((), ("--count-unverified",), ("--byte-counts",), ("--fail-if", "bytes > 1"), ("--utf8",)):
            with self.subTest(options=options):
                *inputs, result = [each for each in run(*JSONL, *options, *paths).documents if each["kind"] != "alert"]
                whole = run("--format", "json", *options, *paths).result
                named = {each["name"]: each for each in whole["inputs"]}
                found = [{key: value for key, value in each.items() if key not in ("kind", "schema", "run", "counted_with")} for each in inputs]
                self.assertEqual({each["name"]: each for each in found}, named)
                self.assertEqual((len(inputs), result["input_count"]), (len(named), len(named)))
                self.assertEqual(result["buckets"], whole["buckets"])

    def test_a_stopped_run_has_a_line_for_each_input(self):
        with Running(*JSONL, "-o", self.to, *self.paths, self.fifo, self.folder / "absent") as running:
            with self.fifo.open("wb") as endless:
                endless.write(b"begun")
                endless.flush()
                wait_until(lambda: self.to.exists() and len(lines_of(self.to)) >= len(self.paths))
                running.process.send_signal(signal.SIGTERM)
                running.finish()
        *inputs, result = lines_of(self.to)
        self.assertEqual(sorted(each["name"] for each in inputs), sorted(map(str, [*self.paths, self.fifo, self.folder / "absent"])))
        self.assertEqual({each["name"]: each.get("error_kind") for each in inputs if not each["complete"]},
                         {str(self.fifo): "stopped", str(self.folder / "absent"): "not_read"})
        self.assertEqual((result["input_count"], result["complete"]), (len(inputs), False))


if __name__ == "__main__":
    main()
