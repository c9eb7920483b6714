"""Results as values."""

import json
import unittest

from support import byte_counts, folder, main, text

import gpuhist


def counted(data, **options):
    with gpuhist.Counter(**options) as counter:
        counter.feed(data)
    return counter.results


class Results(unittest.TestCase):
    def test_a_dictionary_is_the_document_of_the_command(self):
        result = counted(b"abcz\n", buckets=["letters", "vowels=aeiou"])
        document = result.to_dict()
        self.assertEqual((document["schema"], document["bytes"]), ("gpuhist.result/1", 5))
        self.assertEqual(document, json.loads(result.to_json()))

    def test_counts_have_the_order_and_the_names_of_the_buckets(self):
        result = counted(b"hello", buckets=["letters", "v:vowels=aeiou"])
        self.assertEqual(result.schemes, ["letters", "v"])
        self.assertEqual(result.counts_by_name("v"), {"vowels": 2, "other": 3})
        self.assertEqual(result.counts("v"), list(result.inputs[0].counts("v")))
        self.assertEqual(dict(zip(result.buckets(), result.counts())), result.counts_by_name())

    def test_pairs_are_a_matrix(self):
        result = counted(b"aab\n", buckets="letter=ab", pairs=True)
        self.assertEqual(result.pairs(), [[2, 1], [0, 0]])
        self.assertEqual(result.inputs[-1].pairs(), result.pairs())

    def test_a_measure_without_a_value_has_a_reason(self):
        result = counted(b"", byte_counts=True)
        self.assertIsNone(result.measure("entropy"))
        self.assertNotEqual(result.measurement("entropy").reason, "")

    def test_results_are_read_back_by_other_buckets_and_merged(self):
        result = counted(text(10_000), byte_counts=True)
        with folder() as path:
            (path / "result.json").write_bytes(result.to_json())
            read = gpuhist.read(path / "result.json", buckets="bytes")
            self.assertEqual(read.counts(), byte_counts(text(10_000)))
            twice = gpuhist.merge([read, read])
            self.assertEqual((twice.bytes, len(twice.inputs)), (20_000, 2))
            (path / "result.json").write_bytes(b"{")
            with self.assertRaises(gpuhist.InvalidArgumentError):
                gpuhist.read(path / "result.json")
            with self.assertRaises(FileNotFoundError):
                gpuhist.read(path / "missing")

    def test_inputs_are_a_sequence(self):
        with gpuhist.Counter() as counter:
            for name in "abc":
                counter.open_input(name).feed(b"x")
        inputs = counter.results.inputs
        self.assertEqual([each.name for each in inputs], ["a", "b", "c"])
        self.assertEqual(([each.name for each in inputs[1:]], inputs[-1].name), (["b", "c"], "c"))
        with self.assertRaises(IndexError):
            inputs[3]

    def test_the_repr_has_bars_whose_lengths_are_the_shares(self):
        shown = repr(counted(b"ab" * 4 + b"x" * 8, buckets="first=ab")).splitlines()
        self.assertEqual(shown[0], "<gpuhist.Results: 16 bytes, 0 lines, 1 input>")
        self.assertEqual(shown[2:], ["  first  8   50.00%  ████████████", "  other  8   50.00%  ████████████"])
        self.assertIn("240 more", repr(counted(b"abc", buckets="bytes")))
        self.assertIn("INCOMPLETE", repr(gpuhist.count("/no/such/file")))
        self.assertEqual(repr(counted(b"", buckets=[])), "<gpuhist.Results: 0 bytes, 0 lines, 1 input>")

    def test_a_summary_of_units_has_a_ranking_and_a_distribution(self):
        summary = counted(b"a\nbbb\ncc\n", each="line", top="1:bytes", distribution_of="bytes").units
        self.assertEqual((summary.seen, summary.bytes), (3, 9))
        self.assertEqual([(each.value, each.unit.number) for each in summary.top], [(4, 2)])
        self.assertEqual(sum(each.units for each in summary.distribution), 3)
        self.assertEqual(summary.quantiles, {50: 3, 90: 4, 99: 4, 99.9: 4})

    def test_lines_are_counted_by_match_key_and_time(self):
        text = b"2025-10-10T13:58:01Z INFO a\n2025-10-10T13:57:59Z ERROR b\n2025-10-10T13:58:02Z INFO a\n"
        options = {"match": ["e=ERROR"], "group_by": "field:3", "window": "1m", "event_time": "any"}
        lines = counted(text, buckets="digits=0-9", **options).units.lines
        self.assertEqual([(each.name, each.lines) for each in lines.matches], [("e", 1)])
        self.assertEqual([(each.key, each.lines, each.counts) for each in lines.groups],
                         [("a", 2, [[28, 28]]), ("b", 1, [[14, 15]])])  # fmt: skip
        self.assertEqual([(each.start // 10**9, each.lines_by_key) for each in lines.windows],
                         [(1760104620, [0, 1]), (1760104680, [2, 0])])  # fmt: skip
        inputs = counted(text, match=["e=ERROR", "i=INFO"]).inputs
        self.assertEqual([(each.name, each.lines, each.bytes) for each in inputs[0].matches], [("e", 1, 29), ("i", 2, 56)])

    def test_changes_of_a_log_have_their_time_and_what_is_different(self):
        lines = [f"2025-10-10T13:{minute:02}:{second}Z {'no disk' if minute == 40 and second < 40 else 'read 1'}"
                 for minute in range(60) for second in range(10, 60)]  # fmt: skip
        [change] = counted("\n".join(lines).encode() + b"\n", changes=True).units.changes
        self.assertEqual((change.start, change.line, change.text), (1760103600 * 10**9, 2001, lines[2000].encode()))
        self.assertIn(("kind", "<time> no disk"), [(each.what, each.of) for each in change.differences])

    def test_groups_and_windows_have_values_of_the_distribution(self):
        text = b"2025-10-10T13:58:01Z a 5.25\n2025-10-10T13:57:59Z b -7\n2025-10-10T13:58:02Z a 9.5\n"
        units = counted(text, group_by="field:2", window="1m", event_time="any", distribution_of='number("field:3")', quantiles=[50]).units
        self.assertEqual((units.sum, units.mean), (7.75, 7.75 / 3))
        self.assertEqual([(each.key, each.values.units, each.values.sum, each.values.mean, each.values.quantiles) for each in units.lines.groups],
                         [("a", 2, 14.75, 7.375, {50: 5.25}), ("b", 1, -7, -7, {50: -7})])  # fmt: skip
        self.assertEqual([each.values.sum for each in units.lines.windows], [-7, 14.75])
        self.assertIsNone(counted(text, group_by="field:2").units.lines.groups[0].values)

    def test_approximate_groups_have_bounds(self):
        text = b"".join(b"%d%s\noften\n" % (number, b"x" * 200) for number in range(60_000))
        lines = counted(text, group_by="field:1", approximate=True, memory_limit="48MiB").units.lines
        self.assertEqual((lines.groups[0].key, lines.groups[0].lines, lines.groups[0].lines_at_most), ("often", 60_000, None))
        self.assertLessEqual(abs(lines.number_of_groups - 60_001), 4 * lines.number_of_groups_error)
        self.assertEqual(sum(each.lines for each in lines.groups) + lines.other_groups.lines, 120_000)
        self.assertGreaterEqual(lines.other_group_lines_at_most, 1)


if __name__ == "__main__":
    main()
