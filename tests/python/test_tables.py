"""Columns of tables: each row is a unit, whatever its bytes are. PyArrow is needed; other libraries are used if installed."""

import pickle
import random
import unittest

from support import byte_counts, folder, main, optional

import gpuhist

pyarrow = optional("pyarrow")


def random_texts(number, seed=1, is_utf8=False):
    """Bytes of any value, also line feeds and delimiters, empty ones, short ones (views hold them inside), and None."""
    chosen = random.Random(seed)
    alphabet = [each.encode() for each in "ab 0123\n\0äß\U0001f600"] if is_utf8 else [bytes([each]) for each in range(256)]
    texts = []
    for _ in range(number):
        text = b"".join(chosen.choices(alphabet, k=chosen.choice((0, 3, 20, 300))))
        if chosen.random() < 0.3:
            text = b"1 2" + text[: chosen.randrange(10)]
        if is_utf8:
            text = text.decode(errors="ignore").encode()
        texts.append(None if chosen.random() < 0.1 else text)
    return texts


def digit_share(text):
    return sum(48 <= byte <= 57 for byte in text) / len(text) if text else None


def is_numeric(text):
    """The oracle of CONDITION, which is unknown for no text and for an empty one."""
    share = digit_share(text) if text else None
    return share is not None and share > 0.2


CONDITION = "digit > 0.2"


def kept_by_drop(texts):
    return [row for row, text in enumerate(texts) if text is not None and not is_numeric(text)]


def table_of(texts, kind):
    return pyarrow.table({"id": range(len(texts)), "text": pyarrow.array(texts, pyarrow.binary()).cast(kind)})


def all_types():
    return [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(),
            pyarrow.binary_view(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]


def binary_types():
    return [pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()]


@unittest.skipIf(pyarrow is None, "pyarrow is not installed")
class Tables(unittest.TestCase):
    def test_the_kept_rows_are_those_of_the_oracle_in_every_type_of_text(self):
        texts = random_texts(5000, is_utf8=True)
        for kind in all_types():
            kept, counts = gpuhist.filter_table(table_of(texts, kind), "text", drop_if=CONDITION)
            self.assertEqual(kept["id"].to_pylist(), kept_by_drop(texts), kind)
            self.assertEqual(kept.schema, table_of(texts, kind).schema)
            self.assertEqual(counts.rows.rows, len(texts))

    def test_texts_may_have_any_bytes_and_every_byte_is_counted(self):
        texts = random_texts(5000, seed=2)
        for kind in binary_types():
            table = table_of(texts, kind)
            kept, counts = gpuhist.filter_table(table, "text", keep_if=CONDITION, buckets=["bytes", "classes"])
            self.assertEqual(kept["id"].to_pylist(), [row for row, text in enumerate(texts) if is_numeric(text)])
            present = [text for text in texts if text is not None]
            self.assertEqual(counts.results.counts("bytes")[:256], byte_counts(b"".join(present)))
            selected = [text for text in present if is_numeric(text)]
            self.assertEqual(counts.rows, gpuhist.RowCounts(len(texts), len(selected), texts.count(None),
                                                            len(b"".join(present)), len(b"".join(selected))))

    def test_slices_chunks_and_batches_are_the_same_rows(self):
        texts = random_texts(3000, seed=3)
        expected = kept_by_drop(texts)
        for kind in binary_types():
            table = table_of(texts, kind)
            chunked = pyarrow.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7, 1203), table.slice(1210)])
            reader = pyarrow.RecordBatchReader.from_batches(table.schema, chunked.to_batches(max_chunksize=50))
            for data in (chunked, reader):
                self.assertEqual(gpuhist.filter_table(data, "text", drop_if=CONDITION).table["id"].to_pylist(), expected)
            part = gpuhist.filter_table(table.slice(333, 100), "text", drop_if=CONDITION).table["id"].to_pylist()
            self.assertEqual(part, [row for row in expected if 333 <= row < 433])

    def test_texts_are_rewritten_in_the_column_and_measured_so(self):
        texts = [None if text is None else text + b"\none\n  two words " for text in random_texts(500, seed=8, is_utf8=True)]
        news = [text and "\n".join(line for each in text.decode().splitlines() if len((line := each.strip()).split()) > 1).strip() for text in texts]
        kept = [row for row, new in enumerate(news) if new is not None and len(new) > 9]
        for kind in all_types()[:-1]:
            found = gpuhist.filter_table(table_of(texts, kind), "text", keep_if="characters > 9", rewrite=["strip", "drop words < 2"])
            self.assertEqual(found.table["id"].to_pylist(), kept, kind)
            self.assertEqual(found.table["text"].cast(pyarrow.large_binary()).to_pylist(), [news[row].encode() for row in kept], kind)
            self.assertEqual(found.table.schema, table_of(texts, kind).schema)
            self.assertEqual(found.counts.results.units.bytes, sum(len(new.encode()) for new in news if new is not None))

    def test_a_preset_that_rewrites_texts_does_so(self):
        page = "One sentence is here. Two. Three! Four? Five it is.\nshort\nA line of three words.[12]"
        kept = gpuhist.filter_table(pyarrow.table({"text": [page, "x"]}), "text", preset="c4-quality").table
        self.assertEqual(kept["text"].to_pylist(), [page.replace("short\n", "").replace("[12]", "")])

    def test_arrays_of_one_column_need_no_name(self):
        texts = random_texts(100, seed=4)
        array = pyarrow.array(texts)
        with gpuhist.Counter(each="value", drop_if=CONDITION) as counter:
            masks = [counter.feed_values(data) for data in (array, array.slice(3, 50), pyarrow.chunked_array([array]),
                                                             pyarrow.table({"only": array}))]
        kept = [row in kept_by_drop(texts) for row in range(100)]
        self.assertEqual([list(mask) for mask in masks], [kept, kept[3:53], kept, kept])
        self.assertEqual(pyarrow.array(masks[0]).to_pylist(), kept)
        self.assertEqual((masks[0].kept, masks[0].nulls, len(masks[0])), (sum(kept), texts.count(None), 100))
        self.assertEqual(counter.results.units.seen, 350)

    def test_rows_of_a_struct_that_is_null_have_no_text(self):
        struct = pyarrow.StructArray.from_arrays([pyarrow.array(["a", "b", "c", "d"])], ["text"],
                                                 mask=pyarrow.array([False, True, False, False]))
        with gpuhist.Counter(each="value") as counter:
            mask = counter.feed_values(struct.slice(1), "text")
        self.assertEqual((list(mask), mask.nulls, mask.bytes), ([False, True, True], 1, 2))

    def test_a_null_is_dropped_kept_or_refused_and_always_counted(self):
        table = table_of([b"a", None, b"1"], pyarrow.string())
        for nulls, kept in (("drop", [0]), ("keep", [0, 1])):
            found = gpuhist.filter_table(table, "text", drop_if=CONDITION, nulls=nulls)
            self.assertEqual(found.table["id"].to_pylist(), kept)
            self.assertEqual((found.counts.rows.nulls, found.counts.results.units.without_field), (1, 1))
        with self.assertRaisesRegex(gpuhist.InvalidArgumentError, r"row 1 \(from 0\) is null; give nulls="):
            gpuhist.filter_table(table, "text", drop_if=CONDITION, nulls="fail")
        with self.assertRaisesRegex(gpuhist.InvalidArgumentError, "'lose' is not one of: keep, drop, fail"):
            gpuhist.filter_table(table, "text", drop_if=CONDITION, nulls="lose")

    def test_a_preset_drops_what_its_condition_selects(self):
        texts = random_texts(2000, seed=5, is_utf8=True)
        table = table_of(texts, pyarrow.string())
        kept = gpuhist.filter_table(table, "text", preset="nemo").table["id"].to_pylist()

        def nemo_keeps(text):  # of the four filters, which the text has no parentheses for
            size = len(text.decode())
            signs = sum(not (each.isascii() and (each.isalnum() or each in "\n?!,.")) for each in text.decode())
            spaces = sum(each in " \t\n\r\b" for each in text.decode())
            digits = sum(each in "0123456789" for each in text.decode())
            return size > 0 and signs / size <= 0.25 and digits / size <= 0.15 and spaces / size <= 0.25

        self.assertEqual(kept, [row for row, text in enumerate(texts) if text is not None and nemo_keeps(text)])

    def test_formulas_read_the_text_of_a_row_its_lines_and_words(self):
        texts = [*random_texts(3000, seed=9, is_utf8=True), b"", b"\n", b"a\n", b"a\na", b"a\na\n", "ä\u3000b\nä\u3000b".encode(), b"a b " * 40_000, None]
        text_of = [None if each is None else each.decode() for each in texts]

        def is_dropped(text):
            lines = [each for each in text.split("\n") if each.strip()]
            return len(lines) != len(set(lines)) or len(text.split()) > 9

        condition = "duplicate_lines > 0 || word_count > 9"
        for kind in all_types():
            kept, _ = gpuhist.filter_table(table_of(texts, kind), "text", drop_if=condition)
            self.assertEqual(kept["id"].to_pylist(), [row for row, text in enumerate(text_of) if text is not None and not is_dropped(text)], kind)

    def test_a_preset_with_whole_rules_says_which_rule_removed_a_row(self):
        prose = "The rule of this text is that words have to be with marks, and that lines end with them, as they have to. " * 4
        table = pyarrow.table({"text": [prose, "short", prose.replace("the", "x").replace("to", "x"), "# " * 30 + prose]})
        units = []
        with gpuhist.Counter(each="value", preset="gopher-quality", on_unit=units.append) as counter:
            mask = list(counter.feed_values(table, "text"))
        self.assertEqual(mask, [True, False, True, False])
        self.assertEqual([(each.number, list(each.rules)) for each in units], [
            (2, ["gopher-quality.short", "gopher-quality.stop-words"]), (4, ["gopher-quality.hashes", "gopher-quality.words-without-letters"])])  # fmt: skip

    def test_ranked_and_selected_rows_have_their_numbers(self):
        found = []
        with gpuhist.Counter(each="value", where="bytes == 3", top="2:bytes", on_unit=found.append) as counter:
            counter.feed_values(pyarrow.array(["abc", None, "", "a\nb\n"]))
            counter.feed_values(pyarrow.array(["xyz", "longest"]))
        self.assertEqual([each.number for each in found], [1, 5])
        self.assertEqual([each.unit.number for each in counter.results.units.top], [6, 4])

    def test_parts_that_were_pickled_add_up_to_the_whole(self):
        texts = random_texts(3000, seed=6)
        table = table_of(texts, pyarrow.binary())
        options = {"where": CONDITION, "buckets": ["classes", "vowels=aeiou"], "measures": ["entropy"], "byte_counts": True}
        parts = [pickle.loads(pickle.dumps(gpuhist.count_table(table.slice(first, 1000), "text", **options)))
                 for first in (0, 1000, 2000)]
        merged, whole = gpuhist.TableCounts.merge(parts), gpuhist.count_table(table, "text", **options)
        self.assertEqual(merged.rows, whole.rows)
        for scheme in whole.results.schemes:
            self.assertEqual(merged.results.counts_by_name(scheme), whole.results.counts_by_name(scheme))
        self.assertEqual(merged.results.measure("entropy"), whole.results.measure("entropy"))
        self.assertEqual(len(merged.results.inputs), 3)
        self.assertIn("entropy", pyarrow.table(merged.results).column_names)
        with self.assertRaisesRegex(TypeError, "give byte_counts=True"):
            pickle.dumps(gpuhist.count_table(table, "text"))

    def test_other_data_and_columns_are_refused_with_the_remedy(self):
        table = table_of([b"a"], pyarrow.string())
        for column, kind, text in (("id", TypeError, "'id' has the Arrow format 'l', which is no text"),
                                   ("absent", KeyError, "no column 'absent'; the table has id, text"),
                                   (None, TypeError, "give the name of one: id, text")):
            with self.assertRaisesRegex(kind, text):
                gpuhist.filter_table(table, column, drop_if=CONDITION)
        with gpuhist.Counter(each="value") as counter:
            with self.assertRaisesRegex(TypeError, "list has neither __arrow_c_stream__ nor"):
                counter.feed_values(["a"])
            with self.assertRaisesRegex(gpuhist.MisuseError, "pass them to feed_values"):
                counter.feed(b"text")
        with self.assertRaisesRegex(ValueError, "either keep_if, or drop_if or preset, is required"):
            gpuhist.filter_table(table, "text")
        with gpuhist.Counter(each="line") as lines, self.assertRaisesRegex(gpuhist.MisuseError, "units are not values"):
            lines.feed_values(table, "text")

    def test_an_error_of_the_stream_is_raised_with_its_text(self):
        def batches():
            yield table_of([b"a"], pyarrow.string()).to_batches()[0]
            raise ValueError("the disk is on fire")

        reader = pyarrow.RecordBatchReader.from_batches(table_of([], pyarrow.string()).schema, batches())
        with gpuhist.Counter(each="value") as counter, self.assertRaisesRegex(OSError, "the disk is on fire"):
            counter.feed_values(reader, "text")


@unittest.skipIf(pyarrow is None, "pyarrow is not installed")
class Libraries(unittest.TestCase):
    texts = ["a 1", "22222", None, "", "ä\nb", "a text of more than twelve bytes", "333"]
    kept = [0, 3, 4, 5]

    def needed(self, name):
        found = optional(name)
        if found is None:
            self.skipTest(f"{name} is not installed")
        return found

    def assert_kept(self, table):
        self.assertEqual(gpuhist.filter_table(table, "text", drop_if="digit > 0.5").table["id"].to_pylist(), self.kept)

    def columns(self):
        return {"id": list(range(len(self.texts))), "text": self.texts}

    def test_polars_frames_stay_polars_frames(self):
        polars = self.needed("polars")
        rewritten = gpuhist.filter_table(polars.DataFrame({"a": [1, 2], "text": ["b 1\nc", None]}), "text", keep_if="bytes == 3", rewrite="drop words < 2").table
        self.assertEqual(rewritten.to_dict(as_series=False), {"a": [1], "text": ["b 1"]})
        kept = gpuhist.filter_table(polars.DataFrame(self.columns()), "text", drop_if="digit > 0.5").table
        self.assertIsInstance(kept, polars.DataFrame)
        self.assertEqual(kept["id"].to_list(), self.kept)

    def test_duckdb_relations_are_tables(self):
        duckdb = self.needed("duckdb")
        texts = pyarrow.table(self.columns())  # noqa: F841 (DuckDB finds it by its name)
        self.assert_kept(duckdb.sql("SELECT id, text FROM texts ORDER BY id"))

    def test_pandas_frames_are_tables(self):
        self.assert_kept(self.needed("pandas").DataFrame(self.columns()))

    def test_parquet_and_orc_files_are_streams_of_batches(self):
        parquet, orc, dataset = self.needed("pyarrow.parquet"), self.needed("pyarrow.orc"), self.needed("pyarrow.dataset")
        with folder() as path:
            pyarrow.parquet.write_table(pyarrow.table(self.columns()), path / "a.parquet", row_group_size=2)
            pyarrow.orc.write_table(pyarrow.table(self.columns()), path / "a.orc")
            self.assert_kept(pyarrow.dataset.dataset(path / "a.parquet").scanner().to_reader())
            self.assert_kept(pyarrow.orc.read_table(path / "a.orc"))
        del parquet, orc, dataset

    def test_lance_datasets_are_streams_of_batches(self):
        lance = self.needed("lance")
        with folder() as path:
            lance.write_dataset(pyarrow.table(self.columns()), path / "a.lance")
            self.assert_kept(lance.dataset(path / "a.lance").scanner().to_reader())


if __name__ == "__main__":
    main()
