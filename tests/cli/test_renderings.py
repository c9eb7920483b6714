"""The formats for programs: read by Python's own parsers and a strict parser of metrics, and compared with golden files.
TEST_WRITE_GOLDEN=1 writes the golden files again; check the difference with git."""

import base64
import csv
import io
import os
import pathlib
import re
import shutil
import subprocess

from support import ALL_SCHEMES, CommandTest, in_order_of, main, noise, remarks, run, run_fed, text, without_run, zstd

GOLDEN = pathlib.Path(__file__).parent / "golden"
HOSTILE = b"-x\n\x1b[2J\xff\"q\",\\"


def metrics(exposition):
    """All samples by family, labels and value, by the rules of the text format; an error in the format raises."""
    name, value = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[0-9]+"
    label = rf'{name}="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
    sample = re.compile(rf"({name})(?:\{{({label}(?:,{label})*)\}})? ({value})")
    families, described, typed = {}, [], []
    assert exposition.endswith(b"\n")
    for line in exposition.decode("utf-8").split("\n")[:-1]:
        if found := re.fullmatch(rf"# HELP ({name}) [^\\]+", line):
            assert found[1] not in described, line
            described.append(found[1])
        elif found := re.fullmatch(rf"# TYPE ({name}) gauge", line):
            assert found[1] == described[-1] and found[1] not in typed, line
            typed.append(found[1])
        else:
            found = sample.fullmatch(line)
            assert found and found[1] == typed[-1], line
            pairs = re.findall(rf'({name})="((?:[^"\\]|\\.)*)"', found[2] or "")
            labels = {key: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text) for key, text in pairs}
            assert len(labels) == len(pairs), line
            series = families.setdefault(found[1], {})
            assert frozenset(labels.items()) not in series, line
            series[frozenset(labels.items())] = int(found[3])
    return families


def value(families, name, **labels):
    return families[name][frozenset(labels.items())]


class Renderings(CommandTest):
    def paths(self):
        """Two inputs. One has a name with control characters, and is given twice."""
        hostile = os.fsencode(self.folder) + b"/" + HOSTILE
        pathlib.Path(os.fsdecode(hostile)).write_bytes(text(5_000))
        return [self.file("plain", noise(3_000)), hostile, hostile]

    def damaged(self):
        spoilt = bytearray(zstd(text(30_000), "--check"))
        spoilt[-1] ^= 1
        return self.file("damaged.zst", bytes(spoilt))

    def test_jsonl_has_a_line_for_each_input_and_then_the_result(self):
        paths = [*self.paths(), self.damaged()]
        document = run("--format", "json", *ALL_SCHEMES, "--byte-counts", *paths).result
        *inputs, result = run("--format", "jsonl", *ALL_SCHEMES, "--byte-counts", *paths).documents
        name = result.pop("run")
        order = [each["name"] for each in document["inputs"]]
        inputs.sort(key=lambda each: order.index(each["name"]))
        for reported in inputs:
            self.assertEqual((reported.pop("kind"), reported.pop("schema")), ("input", "gpuhist.result/1"))
            self.assertEqual(reported.pop("run"), name)
            self.assertRegex(reported.pop("counted_with")["buckets"], "^[0-9a-f]{16}$")
        self.assertEqual(result.pop("input_count"), 4)
        self.assertEqual({**result, "inputs": inputs}, document)
        self.assertEqual(base64.b64decode(inputs[1]["name_base64"]), paths[1])

    def test_statistics_are_in_the_last_line(self):
        documents = run_fed([b"x"], "--format", "jsonl", "--stats").documents
        self.assertEqual([("stats" in each) for each in documents], [False, True])

    def test_csv_has_the_values_of_json(self):
        paths = [*self.paths(), self.damaged()]
        result = run("--format", "json", *ALL_SCHEMES, *paths).result
        printed = run("--format", "csv", *ALL_SCHEMES, *paths).stdout
        self.assertNotIn(b"\r", printed)
        rows = list(csv.reader(io.StringIO(printed.decode("utf-8", "surrogateescape"), newline=""), strict=True))
        self.assertEqual(rows[0], ["kind", "input", "scheme", "bucket", "count", "share"])
        expected = [*self.rows("total", "", result), *self.rows("unverified", "", result["unverified"])]
        for path, reported in zip(paths, result["inputs"]):
            sizes, *buckets = [list(group) for group in self.split(self.rows("input", os.fsdecode(path), reported))]
            error = [["error", os.fsdecode(path), "", reported["error"], "1", None]] if "error" in reported else []
            expected += [*sizes, *error, *(row for group in buckets for row in group)]
            if "unverified" in reported:
                expected += self.rows("unverified", os.fsdecode(path), reported["unverified"])
        self.assertEqual([row[:5] for row in rows[1:]], [row[:5] for row in expected])
        for reported, row in zip(rows[1:], expected):
            self.assertEqual(float(reported[5]) if reported[5] else None, row[5])

    @staticmethod
    def split(rows):
        """The rows of sizes, and the rows of buckets."""
        rows = list(rows)
        return [row for row in rows if not row[2]], [row for row in rows if row[2]]

    @staticmethod
    def rows(kind, name, part):
        sizes = [(key, int(part[key])) for key in ("bytes", "lines", "complete") if key in part]
        yield from ([kind, name, "", key, str(count), None] for key, count in sizes)
        for scheme, buckets in part["buckets"].items():
            for bucket, count in buckets.items():
                yield [kind, name, scheme, bucket, str(count), count / part["bytes"] if part["bytes"] else None]

    def test_metrics_have_the_values_of_json(self):
        paths = [*self.paths(), self.damaged(), self.folder / "absent"]
        result = run("--format", "json", *ALL_SCHEMES, *paths).result
        families = metrics(run("--format", "prometheus", *ALL_SCHEMES, *paths).stdout)
        self.assertEqual(value(families, "gpuhist_bytes"), result["bytes"])
        self.assertEqual(value(families, "gpuhist_lines"), result["lines"])
        self.assertEqual(value(families, "gpuhist_complete"), 0)
        self.assertEqual(value(families, "gpuhist_unverified_bytes"), result["unverified"]["bytes"])
        self.assert_buckets(families["gpuhist_bucket_bytes"], {}, result)
        self.assert_buckets(families["gpuhist_unverified_bucket_bytes"], {}, result["unverified"])
        for index, reported in enumerate(result["inputs"]):
            name = os.fsencode(paths[index])
            displayed = name.decode() if b"\xff" not in name else f"{self.folder}/-x\\x0a\\x1b[2J\\xff\"q\",\\"
            labels = {"index": str(index), "input": displayed}
            self.assertEqual(value(families, "gpuhist_input_bytes", **labels, format=reported["format"]), reported["bytes"])
            self.assertEqual(value(families, "gpuhist_input_lines", **labels), reported["lines"])
            self.assertEqual(value(families, "gpuhist_input_complete", **labels), reported["complete"])
            self.assert_buckets(families["gpuhist_input_bucket_bytes"], labels, reported)
        self.assertEqual(len(families["gpuhist_input_compressed_bytes"]), 1)
        self.assertEqual(sum(families["gpuhist_input_bytes"].values()), result["bytes"])

    def assert_buckets(self, series, labels, part):
        for scheme, buckets in part["buckets"].items():
            for bucket, count in buckets.items():
                self.assertEqual(series[frozenset({**labels, "scheme": scheme, "bucket": bucket}.items())], count)

    def test_every_format_lists_the_skipped_names_of_trees_by_cause(self):
        tree = self.folder / "tree"
        tree.mkdir()
        (tree / "data").write_bytes(b"hello\n")
        for name in ("one", "two"):
            os.mkfifo(tree / name)
        (tree / "nowhere").symlink_to("absent")
        (tree / "link").symlink_to("data")
        causes = {"FIFO": 2, "symbolic link": 2}
        result = run("-r", tree, "--format", "json", "--byte-counts").stdout
        for by, arguments in (("count", ("-r", tree)), ("report", ("report", self.file("kept", result)))):
            with self.subTest(by=by):
                printed = {form: run(*arguments, "--format", form, engine=None) for form in ("table", "json", "jsonl", "csv", "prometheus")}
                for form in ("json", "jsonl"):
                    reported = printed[form].result
                    self.assertEqual((reported["skipped"], reported["skipped_by_cause"]), (4, causes))
                rows = csv.reader(io.StringIO(printed["csv"].stdout.decode()))
                self.assertEqual([row for row in rows if row[0] == "skipped"], [["skipped", "", "", *map(str, group), ""] for group in causes.items()])
                samples = metrics(printed["prometheus"].stdout)["gpuhist_skipped_names"]
                self.assertEqual(samples, {frozenset({("cause", cause)}): count for cause, count in causes.items()})
                displayed = ", ".join(f"{cause}: {count}" for cause, count in causes.items())
                self.assertRegex(printed["table"].stdout.decode(), rf"(?m)^skipped +4 \({re.escape(displayed)}\)$")
                self.assertEqual([each.status for each in printed.values()], [0] * 5)

    def test_skipped_names_are_not_reported_if_there_are_none(self):
        for form in ("table", "json", "jsonl", "csv", "prometheus"):
            self.assertNotIn(b"skipped", run("--format", form, *self.paths()).stdout)

    def test_promtool_accepts_the_metrics(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("no promtool on this machine")
        printed = run("--format", "prometheus", *ALL_SCHEMES, *self.paths(), self.damaged()).stdout
        checked = subprocess.run([promtool, "check", "metrics"], input=printed, capture_output=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, b""))

    def test_every_format_can_have_snapshots(self):
        data = text(60_000)
        live = ("--snapshot-every", "16KiB", "--chunk-size", "4KiB")
        printed = run_fed([data], "--format", "csv", *live).stdout.decode()
        rows = list(csv.reader(io.StringIO(printed, newline=""), strict=True))
        self.assertEqual(printed.count("kind,"), 1)
        reached = [int(row[4]) for row in rows if row[:4] == ["snapshot", "", "", "bytes"]]
        self.assertEqual(reached, sorted(reached))
        self.assertGreaterEqual(len(reached), 1)  # text that a device counted together is one snapshot
        self.assertIn(["total", "", "", "bytes", str(len(data)), ""], rows)
        kinds = [each["kind"] for each in run_fed([data], "--format", "jsonl", *live).documents]
        self.assertEqual(kinds[-2:], ["input", "result"])
        self.assertEqual(set(kinds[:-2]), {"snapshot"})


class Golden(CommandTest):
    """Two inputs, one with control characters in its name, in the current folder: names are the same everywhere."""

    def test_every_format_is_equal_to_its_golden_file(self):
        self.file("plain.txt", "Hello, wörld!\nzzz 123\n".encode())
        pathlib.Path(os.fsdecode(os.fsencode(self.folder) + b"/" + HOSTILE)).write_bytes(b"\x00ABC abc\xff\n")
        schemes = ("-b", "letters,classes,utf8", "-b", r"vowels:low=aeiou;high=AEIOU;line end=\n")
        for name in ("table", "json", "jsonl", "csv", "prometheus"):
            with self.subTest(format=name):
                ended = run("--format", name, *schemes, "--", "plain.txt", HOSTILE, cwd=self.folder, env={**os.environ, "LC_ALL": "C.UTF-8"})
                self.assertEqual((ended.status, remarks(ended)), (0, []))
                printed = without_run(ended.stdout)
                self.assert_golden(f"two-inputs.{name}", in_order_of(["plain.txt", os.fsdecode(HOSTILE)], printed) if name == "jsonl" else printed)

    def assert_golden(self, name, printed):
        if os.environ.get("TEST_WRITE_GOLDEN"):
            GOLDEN.mkdir(exist_ok=True)
            (GOLDEN / name).write_bytes(printed)
        self.assertEqual(printed, (GOLDEN / name).read_bytes())


if __name__ == "__main__":
    main()
