"""Snapshots: the counts of exactly a prefix of every input, during the run; the result follows."""

import json
import subprocess

from support import ALL_SCHEMES, CommandTest, Running, added, counts_of, feed, main, oracle, run, text, zstd

JSON = ("--format", "json", *ALL_SCHEMES)


class Snapshots(CommandTest):
    def assert_snapshot(self, snapshot, contents):
        """The counts are those of the prefixes that the snapshot names; `contents` are the texts by name."""
        self.assertEqual(snapshot["kind"], "snapshot")
        self.assertGreaterEqual(snapshot["elapsed_seconds"], 0)
        prefixes = b""
        for reported in snapshot["inputs"]:
            self.assertEqual(reported["bytes"] + reported["provisional_bytes"], reported["prefix_bytes"])
            self.assertLessEqual(reported["prefix_bytes"], len(contents[reported["name"]]))
            prefixes += contents[reported["name"]][: reported["prefix_bytes"]]
        self.assertEqual(added(counts_of(snapshot), counts_of(snapshot["provisional"])), oracle(prefixes))

    def assert_stream(self, documents, contents):
        """Every line but the last is a snapshot, prefixes only grow, and the result has the counts of all inputs."""
        reached = dict.fromkeys(contents, 0)
        for snapshot in documents[:-1]:
            self.assert_snapshot(snapshot, contents)
            for reported in snapshot["inputs"]:
                self.assertGreaterEqual(reported["prefix_bytes"], reached[reported["name"]])
                reached[reported["name"]] = reported["prefix_bytes"]
        self.assertEqual(documents[-1]["kind"], "result")
        self.assert_counts(documents[-1], b"".join(contents.values()))

    def run_live(self, interval, encoded, arguments=()):
        """Writes half of the input, waits for a snapshot with some of it, writes the rest; returns all documents."""
        with Running(*JSON, "--snapshot-every", interval, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [encoded[: len(encoded) // 2]])
            documents = []
            while not documents or all(reported["prefix_bytes"] == 0 for reported in documents[-1]["inputs"]):
                line = running.process.stdout.readline()
                self.assertTrue(line, "it ended before a snapshot")
                documents.append(json.loads(line))
            feed(running, [encoded[len(encoded) // 2 :]])
            running.process.stdin.close()
            documents += [json.loads(line) for line in running.process.stdout]
            self.assertEqual(running.finish().status, 0)
        return documents

    def test_snapshots_by_size_on_a_live_pipe(self):
        data = text(60_000)
        documents = self.run_live("8KiB", data, ("--chunk-size", "4KiB"))
        self.assert_stream(documents, {"(standard input)": data})

    def test_snapshots_by_time_on_a_live_pipe(self):
        data = text(60_000)
        for chunk in ("1KiB", "256KiB"):
            with self.subTest(chunk=chunk):
                documents = self.run_live("100ms", data, ("--chunk-size", chunk))
                self.assert_stream(documents, {"(standard input)": data})

    def test_text_of_a_compressed_pipe_is_provisional_until_a_checksum_confirms_it(self):
        data = text(400_000)
        documents = self.run_live("100ms", zstd(data[:200_000]) + zstd(data[200_000:]), ("--chunk-size", "10000"))
        self.assert_stream(documents, {"(standard input)": data})

    def test_snapshots_of_many_inputs_have_a_prefix_of_each(self):
        contents = {}
        for number, size in enumerate((900_000, 0, 5, 700_001, 300_000)):
            path = self.file(f"{number}", text(size, number))
            contents[str(path)] = text(size, number)
        for options in ((), ("-T", "7", "--chunk-size", "10000"), ("--slots", "2", "--chunk-size", "7000")):
            with self.subTest(options=options), Running(*JSON, "--snapshot-every", "64KiB", *options, *contents) as running:
                ended = running.finish()
                self.assertEqual(ended.status, 0, ended)
                self.assert_stream(ended.documents, contents)
                self.assertGreater(len(ended.documents), 1)

    def test_snapshots_of_compressed_files_have_a_prefix_of_each(self):
        contents = {}
        for number in range(4):
            data = text(300_000, number)
            path = self.file(f"{number}.zst", zstd(data[:100_000]) + zstd(data[100_000:]))
            contents[str(path)] = data
        with Running(*JSON, "--snapshot-every", "50KB", "--chunk-size", "8192", *contents) as running:
            ended = running.finish()
        self.assertEqual(ended.status, 0, ended)
        self.assert_stream(ended.documents, contents)
        self.assertGreater(len(ended.documents), 1)

    def test_lines_that_are_appended_to_a_file_can_be_followed_by_tail(self):
        to = self.folder / "live.jsonl"
        with Running(*JSON, "--snapshot-every", "4KiB", "--chunk-size", "1KiB", "-o", to, stdin=subprocess.PIPE) as running:
            feed(running, [text(50_000)])
            while not (to.exists() and b"\n" in to.read_bytes()):
                self.assertIsNone(running.process.poll())
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        self.assert_stream([json.loads(line) for line in to.read_text().splitlines()], {"(standard input)": text(50_000)})

    def test_a_reader_that_closes_the_pipe_ends_the_run_without_a_message(self):
        with Running(*JSON, "--snapshot-every", "50ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            feed(running, [text(10_000)])
            running.process.stdout.readline()
            running.process.stdout.close()
            ended = running.finish()
        self.assertEqual((ended.status, ended.stderr), (-13, ""))

    def test_an_output_with_snapshots_that_is_also_an_input_is_refused_and_keeps_its_text(self):
        data = text(60_000)
        path = self.file("x", data)
        for options in (("--snapshot-every", "8KiB"), ("--window", "8K", "--format", "jsonl"), ("--snapshot-every", "1ms", "--append", "--format", "jsonl")):
            with self.subTest(options=options):
                ended = run(*JSON, *options, "-o", path, path)
                self.assertEqual(ended.status, 2, ended)
                self.assertIn(f"{path}: is an input, and the same file as the output {path}", ended.stderr)
                self.assertEqual(path.read_bytes(), data)

    def test_a_new_output_with_snapshots_that_is_also_an_input_is_refused_and_not_created(self):
        path = self.folder / "new.jsonl"
        for options in (("--snapshot-every", "8KiB"), ("--append", "--format", "jsonl")):
            for inputs in ((path,), (self.folder / "." / "new.jsonl", "-")):
                with self.subTest(options=options, inputs=inputs):
                    ended = run(*JSON, *options, "-o", path, *inputs)
                    self.assertEqual(ended.status, 2, ended)
                    self.assertIn(f"{path}: is an input and the output, and there is no such file; give another --output", ended.stderr)
                    self.assertFalse(path.exists())

    def test_an_old_output_is_replaced_at_the_first_snapshot(self):
        path = self.file("live", b"old text that is longer than a line\n" * 1000)
        with Running(*JSON, "--snapshot-every", "1KiB", "-o", path, stdin=subprocess.PIPE) as running:
            feed(running, [text(5000)])
            running.process.stdin.close()
            self.assertEqual(running.finish().status, 0)
        documents = [json.loads(line) for line in path.read_bytes().splitlines()]
        self.assertEqual((documents[0]["kind"], documents[-1]["kind"], documents[-1]["bytes"]), ("snapshot", "result", 5000))


if __name__ == "__main__":
    main()
