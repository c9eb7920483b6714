"""Measures and conditions of windows: the baseline of each window, and the alerts of each. Also the recipes of
docs/recipes: their commands are run as they are written, and must print what is written there."""

import math
import pathlib
import re
import subprocess

from support import ENGINE, GPUHIST, CommandTest, Running, feed, main, noise, run, text, wait_until

JSONL = ("--format", "jsonl", "--buckets", "classes")
RECIPES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "recipes"


def shares(data):
    return [data.count(value) / len(data) for value in range(256)]


def entropy(data):
    return -sum(p * math.log2(p) for p in shares(data) if p)


def jsd(left, right):
    total = 0
    for p, q in zip(shares(left), shares(right)):
        middle = (p + q) / 2
        total += sum(each * math.log2(each / middle) / 2 for each in (p, q) if each)
    return total


class WindowWatch(CommandTest):
    def test_every_window_has_its_own_measures(self):
        data = text(10_000) + noise(5_000)
        ended = run(*JSONL, "--window", "1000B", "--measures", "entropy,distinct", stdin_bytes=data)
        windows = ended.documents_of("window")
        self.assertEqual(len(windows), 15)
        for number, each in enumerate(windows):
            piece = data[1000 * number : 1000 * (number + 1)]
            self.assertAlmostEqual(each["measures"]["entropy"]["value"], entropy(piece), places=9)
            self.assertEqual(each["measures"]["distinct"]["value"], len(set(piece)))
            self.assertEqual(each["measures"]["entropy"]["sample_size"], 1000)
        self.assertAlmostEqual(ended.result["measures"]["entropy"]["value"], entropy(data), places=9)

    def test_windows_are_compared_with_the_windows_before_them(self):
        data = text(6_000) + noise(2_000) + text(4_000, 9)
        ended = run(*JSONL, "--window", "1000B", "--measures", "jsd", "--baseline", "previous:3", stdin_bytes=data)
        for number, each in enumerate(ended.documents_of("window")):
            measure = each["measures"]["jsd"]
            if number == 0:
                self.assertIsNone(measure["value"])
                continue
            before = data[1000 * max(0, number - 3) : 1000 * number]
            self.assertAlmostEqual(measure["value"], jsd(data[1000 * number : 1000 * (number + 1)], before), places=9)
            self.assertEqual(measure["baseline_size"], len(before))
        self.assertIsNone(ended.result["measures"]["jsd"]["value"])

    def test_with_windows_for_each_input_a_window_is_compared_with_windows_of_its_input(self):
        parts = [text(3_000), noise(3_000)]
        paths = [self.file(f"{number}.log", data) for number, data in enumerate(parts)]
        ended = run(*JSONL, "--window", "1000B", "--per-input", "--measures", "jsd", "--baseline", "previous:1", *paths)
        windows = ended.documents_of("window")
        self.assertEqual([each["measures"]["jsd"]["value"] is None for each in windows], [True, False, False] * 2)

    def test_windows_as_units_are_ranked_by_their_distance_from_the_windows_before_them(self):
        parts = [text(9_000) + noise(2_000) + text(4_000, 9), text(5_000, 4) + noise(1_000, 7) + text(3_000, 5)]
        paths = [self.file(f"{number}.log", data) for number, data in enumerate(parts)]
        distances = {}
        for path, data in zip(paths, parts):
            pieces = [data[at : at + 1000] for at in range(0, len(data), 1000)]
            for number in range(1, len(pieces)):
                distances[str(path), 1000 * number] = jsd(pieces[number], b"".join(pieces[max(0, number - 3) : number]))
        highest = sorted(distances, key=distances.get, reverse=True)[:4]
        ended = run(*JSONL, "--window", "1000B", "--per-input", "--baseline", "previous:3", "--each", "window", "--top", "4:jsd",
                    "--where", "jsd > 0.3", *paths)
        self.assertEqual([(each["name"], each["offset"]) for each in ended.result["units"]["top"]], highest)
        for each in ended.result["units"]["top"]:
            self.assertAlmostEqual(each["value"], distances[each["name"], each["offset"]], places=9)
        far = [key for key in distances if distances[key] > 0.3]
        self.assertEqual(sorted((each["name"], each["offset"]) for each in ended.documents_of("unit")), sorted(far))

    def test_only_windows_are_compared_with_previous_windows(self):
        windows = ("--window", "1000B", "--baseline", "previous:3")
        for asked in (("--each", "line", "--top", "3:jsd"), ("--each", "input", "--where", "jsd > 0"),
                      ("--fail-if", "jsd > 0", "--watch", "inputs,totals")):
            ended = run(*JSONL, *windows, *asked, stdin_bytes=text(5_000))
            self.assertEqual((ended.status, ended.stdout), (2, b""), ended)
            self.assertIn("only windows are compared with previous windows; give --baseline RESULT.json", ended.stderr)
        self.assertEqual(run(*JSONL, *windows, "--fail-if", "jsd > 2", stdin_bytes=text(5_000)).status, 0)

    def test_windows_are_compared_with_a_result(self):
        usual = self.file("usual.json", run("--format", "json", "--byte-counts", stdin_bytes=text(50_000)).stdout)
        data = text(4_000, 2) + noise(1_000) + text(3_000, 3)
        ended = run(*JSONL, "--window", "1000B", "--baseline", usual, "--alert-if", "jsd > 0.3", "--watch", "windows",
                    stdin_bytes=data)
        (alert,) = ended.documents_of("alert")
        self.assertEqual((alert["of"], alert["window"], alert["begin"], alert["end"]), ("window", 4, 4000, 5000))
        self.assertAlmostEqual(alert["values"]["jsd"], jsd(noise(1_000), text(50_000)), places=9)
        # the line of an alert follows that of its window
        lines = ended.documents
        self.assertEqual(lines[lines.index(alert) - 1]["index"], 4)
        self.assertEqual((ended.status, ended.result["complete"]), (0, True))
        first, last = 1 + data[:4000].count(b"\n"), 1 + data[:4999].count(b"\n")
        self.assertEqual((alert["first_line"], alert["end_line"]), (first, last))
        self.assertIn(f"(standard input), window 4, bytes 4000 to 5000, lines {first} to {last}: jsd = ", ended.stderr)

    def test_a_condition_on_windows_ends_in_status_3_and_with_fail_fast_at_once(self):
        data = text(2_000) + noise(1_000) + text(2_000)
        gate = ("--window", "1000B", "--fail-if", "entropy > 7", "--watch", "windows")
        ended = run(*JSONL, *gate, stdin_bytes=data)
        self.assertEqual(ended.status, 3, ended)
        self.assertEqual(len(ended.documents_of("window")), 5)
        self.assertIn("--fail-if 'entropy > 7' holds for (standard input), window 2, bytes 2000 to 3000", ended.stderr)
        with Running(*JSONL, *gate, "--fail-fast", stdin=subprocess.PIPE) as running:
            feed(running, [data])  # the stream stays open
            ended = running.finish()
        self.assertEqual(ended.status, 3, ended)
        self.assertIn("ended by --fail-fast", ended.stderr)

    def test_windows_can_be_watched_only_if_there_are_windows(self):
        ended = run("--fail-if", "bytes > 1", "--watch", "windows", stdin_bytes=b"ab")
        self.assertEqual(ended.status, 2)
        self.assertIn("windows requires --window", ended.stderr)

    def test_windows_of_time_without_text_have_no_entropy_and_no_alerts(self):
        with Running(*JSONL, "--window", "20ms", "--measures", "entropy", "--alert-if", "entropy < 100", "--watch",
                     "windows", stdin=subprocess.PIPE) as running:
            feed(running, [b"abc"])
            wait_until(lambda: running.printed().count(b"\n") > 4)
            running.process.stdin.close()
            ended = running.finish()
        for each in ended.documents_of("window"):
            self.assertEqual(each["measures"]["entropy"]["value"] is None, each["bytes"] == 0)
        self.assertEqual(len(ended.documents_of("alert")), 1)


class Recipes(CommandTest):
    """Blocks ```sh of a recipe: lines that begin with "$ " are commands, the other lines are their output."""

    def test_the_commands_of_recipes_print_the_documented_output(self):
        if not RECIPES.parent.is_dir():
            self.skipTest("a portable folder has no docs")
        recipes = sorted(RECIPES.glob("*.md"))
        self.assertTrue(recipes)
        program = self.folder / "bin" / "gpuhist"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\nGPUHIST_ENGINE={ENGINE} exec '{GPUHIST}' \"$@\"\n")
        program.chmod(0o755)
        for recipe in recipes:
            with self.subTest(recipe=recipe.name):
                place = self.folder / recipe.stem
                place.mkdir()
                for block in re.findall(r"```sh\n(.*?)```", recipe.read_text(), re.S):
                    for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
                        typed, printed = self.command_and_output(piece)
                        process = subprocess.run(["bash", "-c", typed], cwd=place, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, env={"PATH": f"{program.parent}:/usr/bin:/bin"})  # fmt: skip
                        self.assertEqual(process.stdout.decode(), printed, typed)

    @staticmethod
    def command_and_output(piece):
        """A command, which ends where a shell accepts it as complete, and the output after it."""
        lines = piece.splitlines(keepends=True)
        for number in range(1, len(lines) + 1):
            typed = "".join(lines[:number])
            if subprocess.run(["bash", "-n", "-c", typed], stderr=subprocess.DEVNULL).returncode == 0:
                return typed, "".join(lines[number:])
        raise AssertionError(piece)


if __name__ == "__main__":
    main()
