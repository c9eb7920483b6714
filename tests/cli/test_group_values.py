"""Sums, means and quantiles of numbers in lines, of all lines, by group and by window of event time: --distribution-of, and
sum(FORMULA), mean(FORMULA) and p99(FORMULA) in conditions and columns; compared with oracles of json and decimal."""

import collections
import csv
import decimal
import gzip
import io
import json
import math
import random
import struct

from support import CommandTest, main, run, tar, zstd
from test_batch import BatchTest, run_batch
from test_units import split_parts

FORMULA = 'number("json:ms")'
VALUES = ("--distribution-of", FORMULA)
BY_HOST = ("--group-by", "json:host")
BY_MINUTE = ("--window", "1m", "--event-time=json:time")
Decimal = decimal.Decimal
decimal.getcontext().prec = 60
PERCENTS = (50, 90, 99, 99.9)


def literal(chosen):
    """A number as it is written, or a value that is none."""
    kind = chosen.randrange(9)
    if kind == 0:
        return chosen.choice(("null", '"n/a"', "{}"))
    if kind == 1:
        return str(-chosen.randrange(10_000))
    if kind == 2:
        return f"{chosen.uniform(-50, 50):.{chosen.randrange(1, 7)}f}"
    if kind == 3:
        return str(chosen.randrange(10**12))
    if kind == 4:
        return f"{chosen.randrange(8 * 10**9)}.{chosen.randrange(10**6):06}"
    return chosen.choice(("0", "12", "7.5", f"{chosen.expovariate(0.01):.3f}", "1e3", "-0.0"))


def log(seed, lines=2_000, hosts=9):
    """Lines of JSON: (host, minute, literal); some without host, time or number, and the last without a line feed."""
    chosen = random.Random(seed)
    entries = []
    texts = []
    for _ in range(lines):
        members = []
        host = f"web-{min(chosen.randrange(hosts), chosen.randrange(hosts))}" if chosen.random() < 0.97 else None
        minute = chosen.randrange(20) if chosen.random() < 0.9 else None
        value = literal(chosen) if chosen.random() < 0.95 else None
        if minute is not None:
            members.append(f'"time":"2025-10-10T13:{minute:02}:{chosen.randrange(60):02}Z"')
        if host is not None:
            members.append(f'"host":"{host}"')
        if value is not None:
            members.append(f'"ms":{value}')
        texts.append("{" + ",".join(members) + "}\n")
        entries.append((host, minute, value))
    return entries, "".join(texts).encode().removesuffix(b"\n")


def number_of(value):
    """Nothing: it is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def rounded(value):
    """To six digits after the point, away from 0 at a half."""
    size = abs(value)
    whole = math.floor(size)
    made = Decimal(whole) + Decimal(math.floor((size - whole) * 1e6 + 0.5)) / 10**6
    return -made if value < 0 else made


def bound_of(value):
    """The bound of its bin that is lower: bins have 8 of the 52 bits after the point."""
    if value == 0:
        return 0.0
    (bits,) = struct.unpack(">Q", struct.pack(">d", abs(value)))
    bits = bits >> 44 << 44 if value > 0 else ((bits - 1 >> 44) + 1) << 44
    (bound,) = struct.unpack(">d", struct.pack(">Q", bits))
    return math.copysign(bound, value)


def distribution(values, knows_range=False):
    """As in a result, without its bins."""
    known = [each for each in map(number_of, values) if each is not None]
    made = {"units": len(known), "without_value": len(values) - len(known)}
    if known:
        made["sum"] = sum(map(rounded, known))
        made["mean"] = float(made["sum"]) / len(known)
        ordered = sorted(known)
        made["quantiles"] = {}
        for percent in PERCENTS:
            value = bound_of(ordered[max(1, math.ceil(percent * len(ordered) / 100 * (1 - 1e-14))) - 1])
            made["quantiles"][f"p{percent}"] = min(max(value, ordered[0]), ordered[-1]) if knows_range else value
        if knows_range:
            made |= {"lowest": ordered[0], "highest": ordered[-1]}
    return made


def read(printed):
    """The last line; sums are exact."""
    found = json.loads(printed.splitlines()[-1], parse_float=Decimal)
    return exact(found)


def exact(value, name=None):
    if isinstance(value, dict):
        return {key: exact(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [exact(each, name) for each in value]
    if isinstance(value, Decimal) and name != "sum":
        return float(value)
    return value


def minute_of(entry):
    return entry["event_start"]


def start_of(minute):
    return f"2025-10-10T13:{minute:02}:00Z"


def by(entries, key):
    made = collections.defaultdict(list)
    for entry in entries:
        made[key(entry)].append(entry[2])
    return made


def minutes_of(entries):
    """Lines without a time belong to the line before them."""
    made, last = collections.defaultdict(list), None
    for _, minute, value in entries:
        last = minute if minute is not None else last
        made[last].append(value)
    return made


def without_bins(found):
    return {name: value for name, value in found.items() if name != "bins"}


class ValuesTest(CommandTest):
    maxDiff = 4000

    def assert_groups(self, result, entries, most=1000):
        hosts = by(entries, lambda entry: entry[0])
        missing = hosts.pop(None, [])
        found = {each["key"]: each["distribution"] for each in result["groups"]}
        self.assertEqual(len(found), min(most, len(hosts)))
        self.assertEqual(found, {host: distribution(hosts[host]) for host in found})
        others = [value for host, values in hosts.items() if host not in found for value in values]
        self.assertEqual(result.get("other_groups", {}).get("distribution"), distribution(others) if others else None)
        self.assertEqual(result.get("without_key", {}).get("distribution"), distribution(missing) if missing else None)

    def assert_windows(self, result, windows):
        without = windows.pop(None, [])
        found = {minute_of(each): each["distribution"] for each in result["event_windows"]}
        self.assertEqual(found, {start_of(minute): distribution(values) for minute, values in windows.items()})
        self.assertEqual(result.get("without_time", {}).get("distribution"), distribution(without) if without else None)

    def assert_total(self, result, entries):
        self.assertEqual(without_bins(result["units"]["distribution"]), distribution([value for *_, value in entries], True))


class Exactness(ValuesTest):
    def inputs(self):
        logs = [log(seed, lines) for seed, lines in enumerate((2_000, 900, 4_000, 1_500, 800))]
        text = [data for _, data in logs]
        paths = [self.file("a.log", text[0]), self.file("b.zst", b"".join(map(zstd, split_parts(text[1], 5_000)))),
                 self.file("c.gz", gzip.compress(text[2])), self.file("d.tar", tar({"m": text[3], "n": text[4]}))]  # fmt: skip
        return paths, logs

    def windows_of(self, logs):
        made = collections.defaultdict(list)
        for entries, _ in logs:
            for minute, values in minutes_of(entries).items():
                made[minute] += values
        return made

    def test_groups_windows_and_totals_have_exact_sums_means_and_quantiles_whatever_the_threads_and_chunks(self):
        paths, logs = self.inputs()
        everything = [entry for entries, _ in logs for entry in entries]
        printed = set()
        for options in (*(("-T", str(threads)) for threads in range(1, 9)), ("-T", "3", "--chunk-size", "4KiB"), ("-T", "2", "--chunk-size", "64KiB")):
            with self.subTest(options=options):
                ended = run("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES, *options, *paths)
                self.assertEqual(ended.status, 0, ended)
                result = read(ended.stdout)
                self.assert_groups(result, everything)
                self.assert_windows(result, self.windows_of(logs))
                self.assert_total(result, everything)
                printed.add(json.dumps([result[name] for name in ("groups", "event_windows", "units")], default=str))
        self.assertEqual(len(printed), 1)

    def test_decimal_numbers_are_added_as_they_are_written(self):
        numbers = ["0.1"] * 10_000 + ["-0.000001", "8000000000.123456", "4611686018427387"]
        data = "".join(f'{{"host":"a","ms":{each}}}\n' for each in numbers).encode()
        (group,) = read(run("--format", "json", *BY_HOST, *VALUES, self.file("a", data)).stdout)["groups"]
        self.assertEqual(group["distribution"]["sum"], sum(map(Decimal, numbers)))

    def test_a_sum_that_is_too_large_is_unknown_and_others_are_exact(self):
        big = 2**60
        for numbers, expected in (([big] * 3, 3 * big), ([big] * 4, None), ([-big] * 4 + [big], None), ([big] * 3 + [-big] * 3, 0),
                                  ([2**62], None), ([1e300], None), ([-(2.0**63)], None), ([1e300, -1e300], None), ([2**40] * 5_000, 5_000 * 2**40)):  # fmt: skip
            data = "".join(f'{{"host":"a","time":"2025-10-10T13:00:00Z","ms":{each}}}\n' for each in numbers).encode()
            result = read(run("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES, self.file("a", data)).stdout)
            for found in (result["groups"][0]["distribution"], result["event_windows"][0]["distribution"], result["units"]["distribution"]):
                self.assertEqual((found["units"], found["sum"]), (len(numbers), expected), numbers[:3])
                self.assertEqual(found["mean"], None if expected is None else expected / len(numbers))

    def test_a_pipe_and_records_have_values(self):
        entries, data = log(7)
        options = ("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES)
        for ended in (run(*options, stdin_bytes=data), run(*options, "--each", "record", self.file("r", data.replace(b"\n", b"\0")))):
            result = read(ended.stdout)
            self.assert_groups(result, entries)
            self.assert_windows(result, minutes_of(entries))

    def test_groups_that_are_not_reported_are_added_to_the_others(self):
        entries, data = log(8, 3_000, hosts=40)
        for most in (1, 5, 39):
            self.assert_groups(read(run("--format", "json", *BY_HOST, *VALUES, "--most-groups", str(most), self.file("a", data)).stdout), entries, most)

    def test_groups_of_two_keys_and_of_columns_have_values(self):
        rows = [(f"h{number % 3}", f"s{number % 2}", number) for number in range(100)]
        path = self.file("a.csv", ("host,status,ms\n" + "".join(f"{host},{status},{value}\n" for host, status, value in rows)).encode())
        result = read(run("--format", "json", "--group-by", "csv:host", "--then-by", "csv:status", "--distribution-of", 'number("csv:ms")', path).stdout)
        found = {(each["key"], each["then_key"]): each["distribution"] for each in result["groups"]}
        self.assertEqual({keys: each["sum"] for keys, each in found.items()}, {keys: sum(value for *of, value in rows if tuple(of) == keys) for keys in found})
        self.assertEqual(len(found), 6)
        self.assertEqual(result["without_key"]["distribution"], {"units": 0, "without_value": 1})

    def test_only_lines_that_where_selects_are_in_groups(self):
        entries, data = log(9)
        result = read(run("--format", "json", *BY_HOST, *VALUES, "--each", "line", "--where", f"{FORMULA} > 10", self.file("a", data)).stdout)
        self.assert_groups(result, [entry for entry in entries if (number_of(entry[2]) or 0) > 10])

    def test_values_of_many_groups_are_spilled(self):
        entries, data = log(10, 60_000, hosts=20_000)
        for threads in ("1", "4"):
            result = read(run("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES, "--memory-limit", "64MiB", "-T", threads, self.file("a", data)).stdout)
            self.assert_groups(result, entries)
            self.assert_windows(result, minutes_of(entries))


class Formats(ValuesTest):
    def test_csv_and_jsonl_have_the_values(self):
        entries, data = log(11)
        path = self.file("a", data)
        options = (*BY_HOST, *BY_MINUTE, *VALUES)
        result = read(run("--format", "json", *options, path).stdout)
        lines = read(run("--format", "jsonl", *options, path).stdout)
        self.assertEqual([lines[name] for name in ("groups", "event_windows", "units")], [result[name] for name in ("groups", "event_windows", "units")])
        rows = collections.defaultdict(dict)
        for row in csv.DictReader(io.StringIO(run("--format", "csv", *options, path).stdout.decode())):
            if row["scheme"] == "distribution":
                rows[row["kind"], row["input"]][row["bucket"]] = (int(row["count"]), row["share"])
            elif row["kind"] == "quantile":
                rows["quantile", row["scheme"]][row["bucket"]] = (int(row["count"]), row["share"])
        for kind, members, name in (("group", "groups", "key"), ("event_window", "event_windows", "event_start")):
            for each in result[members]:
                values = each["distribution"]
                found = rows[kind, each[name]]
                self.assertEqual(found.pop("without_value"), (values["without_value"], ""))
                self.assertEqual(Decimal(found.pop("sum")[1]), values["sum"])
                self.assertEqual({bucket: (count, float(value)) for bucket, (count, value) in found.items()},
                                 {bucket: (values["units"], value) for bucket, value in {"mean": values["mean"], **values["quantiles"]}.items()})  # fmt: skip
        self.assertEqual(Decimal(rows["quantile", FORMULA]["sum"][1]), result["units"]["distribution"]["sum"])
        self.assertEqual(float(rows["quantile", FORMULA]["mean"][1]), result["units"]["distribution"]["mean"])
        metrics = run("--format", "prometheus", *options, path).stdout.decode()
        (sum_of_all,) = [line.rpartition(" ")[2] for line in metrics.splitlines() if line.startswith("gpuhist_distribution_sum{")]
        self.assertEqual(float(sum_of_all), float(result["units"]["distribution"]["sum"]))

    def test_a_table_has_columns_for_mean_and_quantiles(self):
        path = self.file("a", b"a 1\na 2\na 4.5\nb -3\nc x\n")
        table = run("--group-by", "field:1", "--distribution-of", 'number("field:2")', "--quantiles", "50,100", path).stdout.decode()
        self.assertIn("lowest -3, highest 4.5, mean 1.125, sum 4.5\n", table)
        rows = [line.split() for line in table.splitlines()]
        (heading,) = [row for row in rows if row[:1] == ["field:1"]]
        self.assertEqual(heading[-3:], ["mean", "p50", "p100"])
        found = {row[0]: row[5:8] for row in rows if row[:1] in (["a"], ["b"], ["c"])}
        self.assertEqual(found, {"a": ["2.5", "2", "4.5"], "b": ["-3", "-3", "-3"], "c": ["-", "-", "-"]})

    def test_columns_and_the_order_of_groups_may_be_any_numbers_of_values(self):
        entries, data = log(12)
        path = self.file("a", data)
        hosts = by([entry for entry in entries if entry[0] is not None], lambda entry: entry[0])
        double = f"2 * {FORMULA}"
        columns = f"lines,sum({FORMULA}) / lines,mean({FORMULA}),p99({FORMULA}),p50({double}),sum(bytes)"
        for order, value in ((f"p99({FORMULA})", lambda found: found["quantiles"]["p99"]), (f"-mean({FORMULA})", lambda found: -found["mean"])):
            ended = run(*BY_HOST, "--columns", columns, "--sort", order, "--top", "all", path)
            self.assertEqual(ended.status, 0, ended)
            rows = [line.split() for line in ended.stdout.decode().splitlines() if line.startswith("web-")]
            expected = {host: distribution(values) for host, values in hosts.items()}
            self.assertEqual([value(expected[row[0]]) for row in rows], sorted(map(value, expected.values()), reverse=True))
            for host, lines, per_line, mean, high, *_ in rows:
                found = expected[host]
                for shown, exactly in ((per_line, float(found["sum"]) / len(hosts[host])), (mean, found["mean"]), (high, found["quantiles"]["p99"])):
                    self.assertTrue(math.isclose(float(shown.replace(",", "")), exactly, rel_tol=1e-5), (host, shown, exactly))
        windows = run(*BY_MINUTE, "--columns", f"lines,mean({FORMULA})", path).stdout.decode()
        for minute, values in minutes_of(entries).items():
            if minute is not None:
                (shown,) = [line.split()[2] for line in windows.splitlines() if line.startswith(start_of(minute))]
                self.assertTrue(math.isclose(float(shown.replace(",", "")), distribution(values)["mean"], rel_tol=1e-5))

    def test_errors_name_the_option_and_the_place(self):
        path = self.file("a", b"x\n")
        for options, *words in (
            (("--columns", "lines,mean(bytes)"), "--columns: mean(bytes) is of the values of many units", "--group-by or --event-time\n    mean(bytes)\n    ^\n"),
            (("--group-by", "field:1", "--columns", "sum(byte)"), "--columns: there is no \"byte\"; did you mean bytes?\n    byte\n    ^\n"),
            (("--group-by", "field:1", "--sort", "sum(byte)"), "--sort: there is no \"byte\""),
            (("--group-by", "field:1", "--columns", "sum()"), "--columns: a formula of units is missing here"),
            (("--each", "line", "--where", "sum(bytes) > 1"), "--where: sum(bytes) is of the values of many units"),
            (("--each", "line", "--fail-if", "mean(sum(bytes)) > 1"), "--fail-if: sum(bytes) is of the values of many units"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assert_usage_error(run(*options, path), *words)


class Conditions(ValuesTest):
    CONDITION = f"sum({FORMULA}) > 0 || sum({FORMULA}) <= 0 && mean({FORMULA}) < 1e300"

    def test_inputs_windows_and_totals_have_sums_and_means(self):
        logs = {f"{seed}.log": log(seed, 700) for seed in (20, 21, 22)}
        paths = [self.file(name, data) for name, (_, data) in logs.items()]
        expected = {str(self.folder / name): [value for *_, value in entries] for name, (entries, _) in logs.items()}
        expected["total"] = [value for values in list(expected.values()) for value in values]
        for entries, _ in logs.values():
            for minute, values in minutes_of(entries).items():
                if minute is not None:
                    expected.setdefault(start_of(minute), []).extend(values)
        for threads in ("1", "4"):
            ended = run("--format", "jsonl", "--each", "line", *BY_MINUTE, "--alert-if", self.CONDITION, "-T", threads, *paths)
            found = {each.get("event_start") or each.get("name") or "total": each["values"] for each in ended.documents_of("alert")}
            self.assertEqual(sorted(found), sorted(expected))
            for name, values in expected.items():
                wanted = distribution(values)
                self.assertEqual(found[name], {f"sum({FORMULA})": float(wanted["sum"]), f"mean({FORMULA})": wanted["mean"]}, name)

    def test_windows_that_close_early_have_values_also_of_their_groups_and_conditions(self):
        entries, data = log(23, 1_500)
        lines = sorted(zip(entries, data.splitlines(True)), key=lambda each: each[0][1] or 0)
        lines = [each for each in lines if each[0][1] is not None]
        windows = by([entry for entry, _ in lines], lambda entry: entry[1])
        data = b"".join(line.rstrip() + b"\n" for _, line in lines)
        condition = f"p90({FORMULA}) > -1e300 && mean({FORMULA}) > -1e300"
        ended = run("--format", "jsonl", *BY_HOST, *BY_MINUTE, *VALUES, "--allowed-lateness", "2s", "--each", "line", "--alert-if", condition, "--watch", "windows", stdin_bytes=data)
        self.assertEqual(ended.status, 0, ended)
        documents = [exact(json.loads(line, parse_float=Decimal)) for line in ended.stdout.splitlines()]
        closed = [each for each in documents if each["kind"] == "event_window"]
        self.assertTrue(any(each["closed_by"] == "time" for each in closed))
        self.assertEqual({each["event_start"]: each["distribution"] for each in closed}, {start_of(minute): distribution(values) for minute, values in windows.items()})
        for each in closed:
            self.assert_groups(each, [entry for entry, _ in lines if start_of(entry[1]) == each["event_start"]])
        alerts = {each["event_start"]: each["values"] for each in documents if each["kind"] == "alert"}
        self.assertEqual(alerts, {each["event_start"]: {f"p90({FORMULA})": each["distribution"]["quantiles"]["p90"], f"mean({FORMULA})": each["distribution"]["mean"]} for each in closed})
        self.assert_groups(documents[-1], [entry for entry, _ in lines])
        whole = read(run("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES, "--allowed-lateness", "2s", stdin_bytes=data).stdout)
        self.assert_groups(whole, [entry for entry, _ in lines])
        self.assert_windows(whole, windows)


class Jobs(BatchTest):
    assert_groups, assert_windows, assert_total = ValuesTest.assert_groups, ValuesTest.assert_windows, ValuesTest.assert_total
    OPTIONS = ("--each", "line", *BY_HOST, *BY_MINUTE, *VALUES)

    def test_jobs_that_are_continued_divided_and_merged_have_the_values_of_one_run(self):
        logs = [log(seed, 400) for seed in range(30, 36)]
        for number, (_, data) in enumerate(logs[:4]):
            self.input(f"{number}.log", data)
        self.input("z.tar", tar({"m": logs[4][1], "n": logs[5][1]}))
        everything = [entry for entries, _ in logs for entry in entries]
        windows = collections.defaultdict(list)
        for entries, _ in logs:
            for minute, values in minutes_of(entries).items():
                windows[minute] += values
        condition = f"sum({FORMULA}) == {float(distribution([value for *_, value in everything])['sum'])!r}"
        alert = ("--alert-if", condition, "--watch", "totals")
        self.assertIn("holds for the totals", self.batch(*self.OPTIONS, *alert, self.inputs).stderr)
        self.assertIn("holds for the totals", self.batch(*self.OPTIONS, *alert, self.inputs).stderr)
        results = [self.out / "total.json"]
        manifest = self.folder / "manifest.jsonl"
        self.assertEqual(run_batch("plan", self.inputs, "-o", manifest).status, 0)
        parts = self.folder / "parts"
        for number in (3, 1, 2):
            ended = run_batch("--manifest", manifest, *self.OPTIONS, "--shard", f"{number}/3", "--output-dir", parts)
            self.assertEqual(ended.status, 0, ended)
        ended = run("merge", parts, engine=None)
        self.assertEqual(ended.status, 0, ended)
        results.append(parts / "total.json")
        for path in results:
            result = read(path.read_bytes())
            self.assert_groups(result, everything)
            self.assert_windows(result, dict(windows))
            self.assert_total(result, everything)


class Results(ValuesTest):
    def counted(self, name, data, *options):
        path = self.file(name, data)
        return self.file(f"{name}.json", run("--format", "json", "--byte-counts", *BY_HOST, *BY_MINUTE, *VALUES, *options, path).stdout)

    def test_report_shows_the_values_of_a_result(self):
        entries, data = log(40)
        path = self.counted("a", data)
        shown = read(run("report", "--format", "json", path, engine=None).stdout)
        self.assert_groups(shown, entries)
        self.assert_windows(shown, minutes_of(entries))
        self.assert_total(shown, entries)
        original = read(path.read_bytes())
        self.assertEqual(shown["units"]["distribution"], original["units"]["distribution"])

    def test_sums_of_results_are_exact_and_have_no_quantiles(self):
        logs = [log(seed, 900) for seed in (41, 42, 43)]
        paths = [self.counted(f"{number}", data) for number, (_, data) in enumerate(logs)]
        ended = run("merge", "--format", "json", *paths, engine=None)
        self.assertEqual(ended.status, 0, ended)
        merged = read(ended.stdout)
        everything = [entry for entries, _ in logs for entry in entries]
        hosts = by(everything, lambda entry: entry[0])
        missing = hosts.pop(None)

        def of_sum(values, knows_range=False):
            made = distribution(values, knows_range)
            made.pop("quantiles", None)
            return made

        self.assertEqual({each["key"]: each["distribution"] for each in merged["groups"]}, {host: of_sum(values) for host, values in hosts.items()})
        self.assertEqual(merged["without_key"]["distribution"], of_sum(missing))
        values = [value for *_, value in everything]
        self.assertEqual(without_bins(merged["units"]["distribution"]), of_sum(values, True))
        one_run = read(run("--format", "json", *BY_HOST, *BY_MINUTE, *VALUES, *(self.folder / str(number) for number in range(3))).stdout)
        self.assertEqual(merged["units"]["distribution"]["bins"], one_run["units"]["distribution"]["bins"])
        windows = {minute_of(each): each["distribution"]["sum"] for each in one_run["event_windows"]}
        self.assertEqual({minute_of(each): each["distribution"]["sum"] for each in merged["event_windows"]}, windows)
        again = self.file("sum.json", ended.stdout)
        shown = read(run("report", "--format", "json", again, engine=None).stdout)
        self.assertEqual([each["distribution"] for each in shown["groups"]], [each["distribution"] for each in merged["groups"]])
        self.assertIn("mean", run("merge", *paths, engine=None).stdout.decode())

    def test_values_of_other_formulas_are_left_out_of_a_sum(self):
        _, data = log(44)
        paths = [self.counted("a", data), self.counted("b", data, "--distribution-of", "bytes"), self.counted("c", data)]
        merged = read(run("merge", "--format", "json", *paths, engine=None).stdout)
        self.assertNotIn("distribution", merged["units"])
        self.assertTrue(all("distribution" not in each for each in merged["groups"] + merged["event_windows"]))


if __name__ == "__main__":
    main()
