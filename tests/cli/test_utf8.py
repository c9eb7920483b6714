"""--utf8, and `malformed` in formulas of units, compared with Python's decoder, which replaces each malformed sequence (a
maximal subpart) by one U+FFFD."""

import csv
import io
import random

from support import CommandTest, main, run, run_fed, tar, zstd

JSON = ("--format", "json", "--utf8")
PIECES = (b"a", b"word ", b"\n", "é".encode(), "жук".encode(), "λ".encode(), "漢字".encode(), "😀".encode(), b"\x80",
          b"\xe2\x82", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xff")


def mixed(size, seed=1, pieces=PIECES):
    chosen = random.Random(seed)
    return b"".join(chosen.choice(pieces) for _ in range(size))


def malformed_in(data):
    """The number of sequences; the data has no U+FFFD of its own."""
    return data.decode("utf-8", "replace").count("\ufffd")


def first_in(data):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def oracle(data):
    decoded = data.decode("utf-8", "replace")
    valid = decoded.replace("\ufffd", "")
    found = {"malformed": malformed_in(data), "malformed_bytes": len(data) - len(valid.encode()),
             "code_points": len(valid)}
    first = first_in(data)
    if first is not None:
        found |= {"first_malformed": first, "first_malformed_line": 1 + data[:first].count(b"\n")}
    return found


def without_scripts(found):
    return {key: value for key, value in found.items() if key != "scripts"}


class Utf8(CommandTest):
    def assert_utf8(self, ended, *texts):
        """Asserts success, and what was found in the inputs and in all of them."""
        self.assertEqual((ended.status, ended.stderr), (0, ""), ended)
        for reported, data in zip(ended.result["inputs"], texts, strict=True):
            self.assertEqual(without_scripts(reported["utf8"]), oracle(data))
            self.assertEqual(sum(reported["utf8"]["scripts"].values()), reported["utf8"]["code_points"])
        sums = {key: sum(oracle(data)[key] for data in texts) for key in ("malformed", "malformed_bytes", "code_points")}
        self.assertEqual(without_scripts(ended.result["utf8"]), sums)

    def test_what_is_found_does_not_depend_on_how_the_text_is_stored_or_cut(self):
        data = mixed(3000)
        plain = self.file("plain", data)
        parts = [data[at : at + 997] for at in range(0, len(data), 997)]  # frames end inside characters
        framed = self.file("framed.zst", b"".join(map(zstd, parts)))
        for chunk in ((), *(("--chunk-size", str(size)) for size in (1, 2, 3, 7))):
            for threads in (("-T", "1"), ("-T", "2")):
                with self.subTest(chunk=chunk, threads=threads):
                    self.assert_utf8(run(*JSON, *chunk, *threads, plain), data)
                    self.assert_utf8(run(*JSON, *chunk, *threads, stdin_bytes=data), data)
                    self.assert_utf8(run(*JSON, *chunk, *threads, framed), data)
                    self.assert_utf8(run(*JSON, *chunk, *threads, stdin_bytes=b"".join(map(zstd, parts))), data)

    def test_many_inputs_have_their_own_counts(self):
        texts = [mixed(size, seed=size) for size in (0, 1, 2, 50, 4000)] * 40
        paths = [self.file(f"input{number:03}", data) for number, data in enumerate(texts)]
        self.assert_utf8(run(*JSON, *paths), *texts)
        self.assert_utf8(run(*JSON, "--chunk-size", "64", "-T", "2", *paths), *texts)

    def test_members_of_an_archive_are_inputs(self):
        texts = {"a": mixed(500), "b": b"", "c": mixed(700, seed=2)}
        for path in (self.file("all.tar", tar(texts)), self.file("all.tar.zst", zstd(tar(texts)))):
            self.assert_utf8(run(*JSON, path), *texts.values())

    def test_pieces_of_a_pipe_are_one_text(self):
        data = mixed(40)
        self.assert_utf8(run_fed([data[at : at + 1] for at in range(len(data))], *JSON), data)

    def test_other_counts_are_those_without_utf8(self):
        path = self.file("data", mixed(5000))
        plain = run("--format", "json", path).result
        found = run(*JSON, path).result
        for part in (found, *found["inputs"]):
            del part["utf8"]
        self.assertEqual(plain, found)

    def test_scripts_are_those_of_the_code_points(self):
        found = run(*JSON, stdin_bytes="abc é 123 жук λ 漢字 😀\n".encode()).result["utf8"]["scripts"]
        self.assertEqual({name: count for name, count in found.items() if count},
                         {"latin": 4, "common": 10, "cyrillic": 3, "greek": 1, "han": 2, "emoji": 1})

    def test_a_damaged_input_is_validated_as_far_as_it_was_decoded(self):
        data = mixed(20_000) + b"a"  # its end is judged like that of an undamaged input
        damaged = bytearray(zstd(data[:30_000]) + zstd(data[30_000:], "--check"))
        damaged[-2] ^= 1  # of the checksum of the last frame
        path = self.file("damaged.zst", bytes(damaged))
        for options in ((), ("-T", "1"), ("-T", "2", "--chunk-size", "7"), ("--chunk-size", "1000")):
            ended = run(*JSON, *options, path)
            self.assertEqual(ended.status, 1)
            (reported,) = ended.result["inputs"]
            self.assertEqual(reported["bytes"] + reported["unverified"]["bytes"], len(data))
            self.assertEqual(without_scripts(reported["utf8"]), oracle(data))
            self.assertEqual(reported["utf8"]["scripts"], ended.result["utf8"]["scripts"])

    def test_an_incomplete_sequence_where_decoding_ended_is_not_counted(self):
        data = "λ".encode() * 100_000 + b"\xce"
        whole = zstd(data + "é".encode() * 1000 + bytes(random.Random(3).randbytes(200_000)))
        ended = [run(*JSON, *options, self.file("cut.zst", whole[: len(whole) // 2]))
                 for options in ((), ("-T", "1"), ("--chunk-size", "7"), ("--chunk-size", "1"))]
        for each in ended:
            self.assertEqual(each.status, 1)
            self.assertEqual(each.result["inputs"][0]["utf8"], ended[0].result["inputs"][0]["utf8"])

    def test_an_input_that_cannot_be_read_has_no_counts(self):
        path = self.file("data", b"\xff")
        ended = run(*JSON, path, self.folder / "missing")
        self.assertEqual(ended.status, 1)
        self.assertEqual(["utf8" in each for each in ended.result["inputs"]], [True, False])
        self.assertEqual(ended.result["utf8"]["malformed"], 1)

    def test_all_formats_have_the_same_numbers(self):
        data = mixed(500)
        path = self.file("data", data)
        wanted = oracle(data)
        rows = csv.DictReader(io.StringIO(run("--format", "csv", "--utf8", path).stdout.decode()))
        of_input = {row["bucket"]: int(row["count"]) for row in rows if row["kind"] == "utf8" and row["input"] == str(path)
                    and not row["scheme"]}
        self.assertEqual(of_input, wanted)
        metrics = run("--format", "prometheus", "--utf8", path).stdout.decode()
        self.assertIn(f"\ngpuhist_utf8_malformed {wanted['malformed']}\n", metrics)
        self.assertIn(f'\ngpuhist_input_utf8_malformed{{index="0",input="{path}"}} {wanted["malformed"]}\n', metrics)
        lines = run("--format", "jsonl", "--utf8", path).documents
        self.assertEqual([without_scripts(each["utf8"]) for each in lines][0], wanted)
        table = run("--utf8", path).stdout.decode()
        self.assertIn(f"line {wanted['first_malformed_line']}, offset {wanted['first_malformed']}\n", table)

    def test_kept_results_keep_what_was_found(self):
        texts = [mixed(300), mixed(400, seed=2)]
        kept = [self.file(f"{number}.json", run(*JSON, "--byte-counts", self.file(f"input{number}", data)).stdout)
                for number, data in enumerate(texts)]
        self.assert_utf8(run("report", "--format", "json", *kept, engine=None), *texts)
        plain = self.file("plain.json", run("--format", "json", "--byte-counts", self.file("x", b"x")).stdout)
        self.assertNotIn("utf8", run("report", "--format", "json", kept[0], plain, engine=None).result)


class Conditions(CommandTest):
    def test_malformed_is_a_number_of_inputs_and_totals(self):
        clean, broken = self.file("clean", b"ok\n"), self.file("broken", b"\xff\xff")
        ended = run("--utf8", "--fail-if", "malformed > 1", clean, broken)
        self.assertEqual(ended.status, 3)
        self.assertIn("malformed 2", ended.stderr.replace(" is ", " ").replace(" = ", " "))
        self.assertEqual(run("--utf8", "--fail-if", "malformed > 2", clean, broken).status, 0)
        listed = run("--utf8", "--columns", "malformed", "--sort", "malformed", clean, broken).stdout.decode()
        self.assertLess(listed.index(str(broken)), listed.index(str(clean)))
        selected = run("--utf8", "--each", "input", "--where", "malformed > 0", clean, broken).stdout.decode()
        selected = [line.split(":")[0] for line in selected.splitlines() if ": offset" in line]
        self.assertEqual(selected, [str(broken)])

    def test_malformed_needs_the_text(self):
        for options in (("--fail-if", "malformed > 0"), ("--columns", "malformed"), ("--sort", "malformed")):
            with self.subTest(options=options):
                self.assert_usage_error(run(*options, stdin_bytes=b""), "malformed", "give --utf8")
        self.assert_usage_error(run("--each", "window", "--window", "1KiB", "--where", "malformed > 0", stdin_bytes=b""),
                                "lines, records, parts and inputs only")
        self.assert_usage_error(run("--utf8", "--follow", self.file("x", b"")), "--utf8", "--follow")

    def test_malformed_of_a_unit_is_that_of_its_bytes_alone(self):
        data = mixed(600)
        lines = [each + b"\n" for each in data.split(b"\n")]
        lines[-1] = lines[-1][:-1]
        parts = [data[at : at + 5] for at in range(0, len(data), 5)]
        path, framed = self.file("data", data), self.file("data.zst", zstd(data[:700]) + zstd(data[700:]))
        for each, units in (("line", [unit for unit in lines if unit]), ("5", parts)):
            wanted = [malformed_in(unit) for unit in units if malformed_in(unit) > 0]
            for options in ((), ("--chunk-size", "1"), ("--chunk-size", "7", "-T", "2")):
                for source in (path, framed):
                    with self.subTest(each=each, options=options, source=source):
                        ended = run("--each", each, "--where", "malformed > 0", "--format", "jsonl", *options, source)
                        found = [unit["values"]["malformed"] for unit in ended.documents_of("unit")]
                        self.assertEqual(found, wanted)


main()
