"""`--rewrite`: the text of a field is rewritten line by line before it is measured, and `gpuhist filter` writes the rewritten
text in its place. Compared with the steps in Python."""

import json
import random
import re

from support import CommandTest, main, run, sampled, zstd
from test_text_facts import escaped, random_text

CHUNKS = ("1", "3", "777", None)
STEPS = {  # by step as typed: what it makes of a line; None: the line is removed
    "strip": str.strip,
    "drop words < 2": lambda line: None if len(line.split()) < 2 else line,
    "cut \\[\\p{Nd}*\\]|the": lambda line: re.sub(r"\[\d*\]|the", "", line),
    'ends=drop !has_suffix(".", "e", "\\u2026", "!")'.replace("\\u2026", "…"): lambda line: line if line.endswith((".", "e", "…", "!")) else None,
    "drop letters == 0 || longest_word > 8": lambda line: line if any(map(str.isalpha, line)) and max(map(len, line.split())) <= 8 else None,
    "cut ^a|\\.$": lambda line: re.sub(r"^a|\.$", "", line),
}
NAMES = {each: each.split("=")[0] if each.startswith("ends=") else each for each in STEPS}


def rewritten(text, steps=STEPS):
    """The rewritten text, and by step the lines and bytes that it removes."""
    lines, counts = text.splitlines(), {each: [0, 0] for each in steps}
    for step in steps:
        left = []
        for line in lines:
            new = STEPS[step](line)
            if new != line:
                counts[step][0] += 1
                counts[step][1] += len(line.encode()) - len((new or "").encode())
            if new is not None:
                left.append(new)
        lines = left
    return "\n".join(lines).strip(), counts


def typed(steps=STEPS):
    return [word for each in steps for word in ("--rewrite", each)]


def texts(number, seed):
    chosen = random.Random(seed)
    made = ["", "\n", " a b \n\n the[1] end. \r\nx", "[1]the\n the e", "a\u2028b c.\x85d e!", "x" * 9 + " e", "\x01 \x7f\x1f e\\\"/ e", "the e", " the e"]
    for _ in range(number):
        made.append("".join(random_text(chosen, 12) + chosen.choice(("\n", "\r\n", ". [12]\n", " end.\n", "\f")) for _ in range(chosen.randint(1, 8))))
    return made


def documents(texts, seed):
    """Triples: a line up to the string, the string, and what follows. Other fields may have any value of JSON."""
    chosen, made = random.Random(seed), []
    before = ('{"text":', ' { "n" : [1e999, {"text": "}"}, "\\\\"] , "te\\u0078t" : ', '{"text":"no","x":"\\ud800","text":', '{"a":{"text":[]},"\\"text":1,"text":')
    after = ("}", ' , "z": "\\"text\\": {"}', ',"y":[[],{},-0.5,true,null] } ', ',"text2":"the e"}')
    for text in texts:
        made.append((chosen.choice(before), escaped(text, chosen), chosen.choice(after) + chosen.choice(("\n", "\r\n"))))
    return made


def lines_of(documents):
    return "".join(map("".join, documents)).encode("utf-8", "surrogatepass")


def expected_lines(documents, texts, steps=STEPS, keeps=lambda new: True):
    made = []
    for (before, string, after), text in zip(documents, texts):
        new = rewritten(text, steps)[0]
        if keeps(new):
            made.append(before + (string if new == text else json.dumps(new, ensure_ascii=False)) + after)
    return "".join(made).encode()


class Rewriting(CommandTest):
    def counts(self, texts, steps=STEPS):
        sums = {each: [sum(rewritten(text, steps)[1][each][at] for text in texts) for at in (0, 1)] for each in steps}
        return [{"name": NAMES[each], "step": each.removeprefix("ends="), "lines": lines, "bytes": size} for each, (lines, size) in sums.items()]

    def test_a_filter_writes_the_rewritten_text_and_changes_nothing_else_of_a_line(self):
        values = texts(300, 1)
        made = documents(values, 2)
        path = self.file("a.jsonl", lines_of(made))
        for chunk in sampled(CHUNKS, 3):
            options = ("--chunk-size", chunk, "-T", "3") if chunk else ()
            ended = run("filter", "--jsonl-field", "text", "--drop-if", "characters < 3", *typed(), *options, path, engine=None)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(ended.stdout, expected_lines(made, values, keeps=lambda new: len(new) >= 3), chunk)
            self.assertIn("rewriting", ended.stderr)

    def test_compressed_input_and_each_single_step_give_the_same_as_in_python(self):
        values = texts(100, 3)
        made = documents(values, 4)
        path = self.file("a.jsonl.zst", zstd(lines_of(made)))
        for step in STEPS:
            ended = run("filter", "-q", "--jsonl-field", "text", "--keep-if", "characters >= 0", "--rewrite", step, path, engine=None)
            self.assertEqual(ended.stdout, expected_lines(made, values, [step]), step)

    def test_texts_that_are_equal_when_they_are_rewritten_are_duplicates(self):
        values = [each for number in range(400) for each in (f"the text {number % 150}. e\n\nx", f" text {number % 90}.e ", f"{number}\n e e")]
        made = documents(values, 12)
        seen, expected = set(), []
        for document, text in zip(made, values):
            new = rewritten(text)[0]
            if new not in seen:
                expected.append((document, text))
            seen.add(new)
        frames = [lines_of(made[at : at + 100]) for at in range(0, len(made), 100)]
        for data, options in ((b"".join(map(zstd, frames)), ("-T", "3")), (b"".join(frames), ("--chunk-size", "3")), (b"".join(frames), ())):
            path = self.file("a.jsonl", data)
            ended = run("filter", "--jsonl-field", "text", *typed(), "--duplicates", "drop", *options, path, engine=None)
            self.assertEqual(ended.status, 0, ended)
            self.assertEqual(ended.stdout, expected_lines(*zip(*expected)), options)

    def test_a_field_that_a_json_pointer_names_is_rewritten_in_its_place(self):
        values = texts(60, 5)
        made = [('{"a":[0,{"text":"the e"},{"te/xt":', string, '}],"a2":1}\n') for _, string, _ in documents(values, 6)]
        path = self.file("a.jsonl", lines_of(made))
        ended = run("filter", "-q", "--jsonl-field", "/a/2/te~1xt", "--keep-if", "characters >= 0", *typed(), path, engine=None)
        self.assertEqual(ended.stdout, expected_lines(made, values))

    def test_what_is_measured_is_the_rewritten_text(self):
        values = texts(80, 7)
        path = self.file("a.jsonl", lines_of(documents(values, 8)))
        ended = run("--format", "jsonl", "--each", "line", "--jsonl-field", "text", "--where", "bytes + characters + word_count >= 0", *typed(), path)
        self.assertEqual(ended.status, 0, ended)
        for each, text in zip(ended.documents_of("unit"), values, strict=True):
            new = rewritten(text)[0]
            self.assertEqual(each["field_bytes"], len(new.encode()), ascii(text))
            self.assertEqual(each["values"], {"bytes": len(new.encode()), "characters": len(new), "word_count": len(new.split())})

    def test_the_result_has_what_each_step_removed_in_every_format(self):
        values = texts(120, 9)
        path = self.file("a.jsonl", lines_of(documents(values, 10)))
        command = ("--each", "line", "--jsonl-field", "text", *typed(), path)
        expected = self.counts(values)
        self.assertEqual(run("--format", "json", *command).result["units"]["rewrite"], expected)
        table = run("--format", "table", *command).stdout.decode()
        csv = run("--format", "csv", *command).stdout.decode()
        metrics = run("--format", "prometheus", *command).stdout.decode()
        for each in expected:
            self.assertRegex(table, rf"{re.escape(each['name'])} +{each['lines']:,} +{each['bytes']:,}\n")
            self.assertRegex(csv, rf"rewrite,.*{re.escape(each['name'].split()[0])}.*,lines,.*{each['lines']}")
        self.assertIn(f'gpuhist_rewriting{{step="ends",which="lines"}} {expected[3]["lines"]}\n', metrics)

    def test_a_divided_job_and_merged_results_have_the_sums_of_their_parts(self):
        values = texts(120, 11)
        inputs = self.folder / "in"
        inputs.mkdir()
        for number in range(3):
            (inputs / f"{number}.jsonl").write_bytes(lines_of(documents(values[number::3], number)))
        options = (inputs, "--each", "line", "--jsonl-field", "text", *typed())
        expected, whole, parts, manifest = self.counts(values), self.folder / "whole", self.folder / "parts", self.folder / "m"
        self.assertEqual(run("batch", *options, "--output-dir", whole, engine=None).status, 0)
        self.assertEqual(run("batch", "plan", *options, "--output-dir", parts, "-o", manifest, engine=None).status, 0)
        for shard in ("1/2", "2/2"):
            ended = run("batch", *options, "--manifest", manifest, "--output-dir", parts, "--shard", shard, engine=None)
            self.assertEqual(ended.status, 0, ended)
        merged = self.folder / "merged"
        self.assertEqual(run("merge", parts, "--output-dir", merged, engine=None).status, 0)
        for folder in (whole, merged):
            units = json.loads((folder / "total.json").read_bytes())["units"]
            self.assertEqual(units["rewrite"], expected, folder)

    def test_a_step_can_be_done_twice_and_a_name_is_that_of_one_step(self):
        path = self.file("a.jsonl", b'{"text":" a \\n b 1"}\n')
        command = ("--format", "json", "--each", "line", "--jsonl-field", "text", path)
        steps = run(*typed(["strip", "cut 1", "strip", "x=strip", "x=strip"]), *command).result["units"]["rewrite"]
        self.assertEqual([(each["name"], each["lines"]) for each in steps], [("strip", 2), ("cut 1", 1), ("strip (2)", 1), ("x", 0)])
        ended = run(*typed(["x=strip", "x=cut a"]), *command, engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn('--rewrite: another step has the name "x"; give another name', ended.stderr)

    def test_results_of_other_steps_have_no_sum_of_units(self):
        path = self.file("a.jsonl", b'{"text":" a "}\n')
        results = []
        for number, steps in enumerate((["strip"], ["strip"], ["cut a"])):
            results.append(self.folder / f"{number}.json")
            run("--format", "json", "-o", results[-1], "--each", "line", "--jsonl-field", "text", *typed(steps), path)
        self.assertEqual(run("merge", "--allow-duplicates", *results[:2], "--format", "json", engine=None).result["units"]["rewrite"][0]["lines"], 2)
        self.assertNotIn("units", run("merge", "--allow-duplicates", *results[1:], "--format", "json", engine=None).result)

    def test_wrong_steps_are_errors_that_name_the_place_and_the_remedy(self):
        path = self.file("a.jsonl", b'{"text":"a"}\n')
        for step, message in (
            ("drp words < 3", "did you mean drop?"), ("drop", "steps are drop CONDITION"), ("strip x", "steps are"), ("cut (", "the syntax is that of RE2"),
            ("drop wrds < 3", "did you mean words?"), ("drop words <", "drop words <\n"), ("", "the value is empty"),
        ):  # fmt: skip
            ended = run("--each", "line", "--jsonl-field", "text", "--rewrite", step, path, engine=None)
            self.assertEqual(ended.status, 2, ended)
            self.assertIn("--rewrite", ended.stderr)
            self.assertIn(message, ended.stderr)
        ended = run("filter", "--preset", "c4-quality", path, engine=None)
        self.assertEqual(ended.status, 2)
        self.assertIn("--preset: rewrites the text of --jsonl-field; give the field, as --jsonl-field text", ended.stderr)


if __name__ == "__main__":
    main()
