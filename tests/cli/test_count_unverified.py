"""--count-unverified marks a result, in every format, if its counts include unverified bytes, and only then."""

import json

from support import CommandTest, main, run, text, zstd

KEPT = ("--byte-counts", "--format", "json")


class Marks(CommandTest):
    def setUp(self):
        super().setUp()
        self.good = self.file("good", b"good\n")
        self.hurt = self.file("hurt.zst", zstd(text(50_000))[:-4])  # all bytes but the checksum

    def rendered(self, form, *options, inputs=None):
        ended = run("--buckets", "letters", "--format", form, *options, *(inputs or (self.good, self.hurt)))
        return ended.stdout.decode()

    def test_json_marks_the_totals_and_the_input(self):
        result = json.loads(self.rendered("json", "--count-unverified"))
        self.assertIs(result["counted_unverified"], True)
        self.assertEqual([each.get("counted_unverified") for each in result["inputs"]], [None, True])
        self.assertEqual(result["bytes"], 5 + result["unverified"]["bytes"])

    def test_jsonl_marks_every_line_with_unverified_counts(self):
        lines = [json.loads(line) for line in self.rendered("jsonl", "--count-unverified").splitlines()]
        marks = {each.get("name"): each.get("counted_unverified") for each in lines}
        self.assertEqual(marks, {str(self.good): None, str(self.hurt): True, None: True})

    def test_csv_has_a_row_beside_complete(self):
        rows = self.rendered("csv", "--count-unverified").splitlines()
        marks = [row for row in rows if "counted_unverified" in row]
        self.assertEqual(marks, ["total,,,counted_unverified,1,", f"input,{self.hurt},,counted_unverified,1,"])

    def test_prometheus_has_a_metric(self):
        self.assertIn("\ngpuhist_counted_unverified 1\n", self.rendered("prometheus", "--count-unverified"))

    def test_the_table_has_a_line_about_it(self):
        self.assertIn("\nThe counts include unverified text (--count-unverified).\n", self.rendered("table", "--count-unverified"))

    def test_there_is_no_mark_if_no_unverified_bytes_were_counted(self):
        for form in ("json", "jsonl", "csv", "prometheus", "table"):
            with self.subTest(form=form):
                for rendered in (self.rendered(form), self.rendered(form, "--count-unverified", inputs=(self.good,))):
                    self.assertNotIn("counted_unverified", rendered)
                    self.assertNotIn("--count-unverified", rendered)

    def test_the_mark_stays_in_a_report_of_results(self):
        marked = self.file("marked.json", run(*KEPT, "--count-unverified", self.good, self.hurt).stdout)
        plain = self.file("plain.json", run(*KEPT, self.good).stdout)
        for results in ((marked,), (plain, marked), (marked, plain)):
            report = run("report", "--format", "json", *results, engine=None).result
            self.assertIs(report["counted_unverified"], True)
        self.assertNotIn("counted_unverified", run("report", "--format", "json", plain, engine=None).result)

    def test_a_result_in_which_the_mark_is_not_a_boolean_is_damaged(self):
        result = run(*KEPT, self.good).result
        path = self.file("odd.json", json.dumps({**result, "counted_unverified": 1}).encode() + b"\n")
        ended = run("report", path, engine=None)
        self.assertEqual(ended.status, 1, ended)
        self.assertIn('"counted_unverified" is neither true nor false', ended.stderr)


if __name__ == "__main__":
    main()
