"""Results as tables of the Arrow C stream interface: read with ctypes, and with pyarrow and pandas if installed."""

import ctypes
import gc
import unittest

from support import main, optional, text

import gpuhist

POINTER = ctypes.c_void_p


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", POINTER),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", POINTER),
]
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(POINTER)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", POINTER),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", POINTER),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", POINTER),
]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]


def read(result):
    """The formats and the values of the columns, by name, from the structures of the interface."""
    capsule = result.__arrow_c_stream__()
    stream = Stream.from_address(pointer_of(capsule, b"arrow_array_stream"))
    schema, array, end = Schema(), Array(), Array()
    assert stream.get_schema(stream, schema) == stream.get_next(stream, array) == stream.get_next(stream, end) == 0
    assert not end.release
    stream.release(stream)
    assert not stream.release
    del capsule, result  # the array owns its memory
    gc.collect()
    columns = {schema.children[n].contents.name.decode(): column(schema.children[n].contents, array.children[n].contents)
               for n in range(array.n_children)}
    schema.release(schema)
    array.release(array)
    assert not schema.release and not array.release
    return columns


def column(schema, array):
    readers = {b"L": numbers(ctypes.c_uint64), b"g": numbers(ctypes.c_double), b"b": flags, b"U": texts}
    values = readers[schema.format](array)
    if array.buffers[0]:
        valid = bits(array.buffers[0], array.length)
        values = [value if each else None for value, each in zip(values, valid)]
        assert valid.count(False) == array.null_count and schema.flags & 2
    return values


def numbers(kind):
    return lambda array: list((kind * array.length).from_address(array.buffers[1])) if array.length else []


def bits(address, length):
    if length == 0:  # the address may be null
        return []
    taken = (ctypes.c_uint8 * ((length + 7) // 8)).from_address(address)
    return [bool(taken[row // 8] >> row % 8 & 1) for row in range(length)]


def flags(array):
    return bits(array.buffers[1], array.length)


def texts(array):
    offsets = (ctypes.c_int64 * (array.length + 1)).from_address(array.buffers[1])
    data = ctypes.string_at(array.buffers[2], offsets[array.length])
    return [data[offsets[row] : offsets[row + 1]].decode() for row in range(array.length)]


def sample(**options):
    with gpuhist.Counter(**{"buckets": ["letters", "vowels=aeiou"], **options}) as counter:
        for number in range(11):
            with counter.open_input(f"input {number}") as opened:
                opened.feed(text(number * 1000))
        counter.open_input(b"\xff\xc3\xa4\xe2\x82").fail("cause")
        counter.open_input("damaged", input_format="gzip").feed(b"\x1f\x8b\x08\0 no deflate data" * 9)
    return counter.results


def expected(result):
    """What the members of the result have."""
    made = {"input": [each.name.encode(errors="surrogateescape").decode(errors="replace") for each in result.inputs]}
    for name in ("format", "bytes", "lines", "compressed_bytes", "unverified_bytes", "complete", "error"):
        made[name] = [getattr(each, name) for each in result.inputs]
    for scheme in result.schemes:
        for number, bucket in enumerate(result.buckets(scheme)):
            made[f"{scheme}.{bucket}"] = [each.counts(scheme)[number] for each in result.inputs]
    return made


class Arrow(unittest.TestCase):
    def assert_same(self, columns, result):
        names = expected(result)["input"]
        self.assertEqual(columns["input"][:11] + columns["input"][12:], names[:11] + names[12:])
        self.assertTrue(columns["input"][11].startswith("\ufffdä\ufffd"))
        for name, values in expected(result).items():
            if name != "input":
                self.assertEqual(columns[name], values, name)

    def test_the_columns_are_the_members_of_the_inputs(self):
        result = sample()
        self.assert_same(read(result), result)

    def test_measures_are_columns_that_are_null_without_a_value(self):
        result = sample(measures=["entropy", "mean"])
        columns = read(result)
        self.assertEqual(list(columns)[-2:], ["entropy", "mean"])
        self.assertEqual(columns["entropy"], [each.measure("entropy") for each in result.inputs])
        self.assertIsNone(columns["mean"][0])
        self.assertIn("chi2", read(sample(measures="all")))

    def test_a_result_without_inputs_is_a_table_without_rows(self):
        with gpuhist.Counter(buckets="letters") as counter:
            pass
        self.assertEqual(read(counter.results)["letters.a-d"], [])

    def test_a_capsule_releases_its_stream_once_whether_it_is_read_or_not(self):
        result = sample()
        for is_read in (False, True):
            capsule = result.__arrow_c_stream__()
            stream = Stream.from_address(pointer_of(capsule, b"arrow_array_stream"))
            kind, released = type(stream.release), []
            release = kind(ctypes.cast(stream.release, POINTER).value)  # a copy: the field is replaced
            stream.release = recorder = kind(lambda pointer: (released.append(is_read), release(pointer)) and None)
            if is_read:
                stream.release(stream)
                self.assertFalse(stream.release)
            self.assertEqual(len(released), is_read)
            del stream, capsule
            gc.collect()
            self.assertEqual(len(released), 1)
            del recorder

    def test_pyarrow_and_pandas_read_the_table(self):
        pyarrow = optional("pyarrow")
        if pyarrow is None:
            self.skipTest("pyarrow is not installed")
        result = sample(measures="entropy")
        table = pyarrow.table(result)
        table.validate(full=True)
        kept = table.column("letters.a-d")
        self.assert_same({name: table.column(name).to_pylist() for name in table.column_names}, result)
        entropies = table.column("entropy").to_pylist()
        del table, result
        gc.collect()
        self.assertEqual(kept.to_pylist(), expected(sample())["letters.a-d"])
        if optional("pandas"):
            frame = pyarrow.table(sample(measures="entropy")).to_pandas()
            self.assertEqual([None if value != value else value for value in frame["entropy"]], entropies)


if __name__ == "__main__":
    main()
