"""Counts the bytes of a NumPy array without a copy, over the C interface with ctypes. Without NumPy: of a bytearray.

    $ GPUHIST_LIBRARY=PREFIX/lib/libgpuhist.so.0 python3 count_array.py
    1000000 bytes, 3907 of them 0, complete
"""

import ctypes
import os

try:
    import numpy
except ImportError:
    numpy = None

library = ctypes.CDLL(os.environ.get("GPUHIST_LIBRARY", "libgpuhist.so.0"))
library.gpuhist_error_text.restype = ctypes.c_char_p
library.gpuhist_results_bytes.restype = ctypes.c_uint64
HANDLE = ctypes.c_void_p


def check(status):
    if status != 0:
        raise RuntimeError(library.gpuhist_error_text().decode())


def address_and_size(buffer):
    """Of a contiguous NumPy array, or of a writable object with the buffer protocol."""
    if numpy is not None and isinstance(buffer, numpy.ndarray):
        if not buffer.flags.c_contiguous:
            raise ValueError("the array is not contiguous")
        return buffer.ctypes.data, buffer.nbytes
    view = memoryview(buffer).cast("B")
    return ctypes.addressof(ctypes.c_char.from_buffer(view)), view.nbytes


def count_bytes(buffer):
    """The number of bytes of each value, 0 to 255, and whether all of them were counted."""
    options, counter, opened, results = HANDLE(), HANDLE(), HANDLE(), HANDLE()
    counts = (ctypes.c_uint64 * 256)()
    try:
        check(library.gpuhist_options_create(ctypes.byref(options)))
        check(library.gpuhist_options_set(options, b"buckets", b"bytes"))
        check(library.gpuhist_counter_create(options, ctypes.byref(counter)))
        check(library.gpuhist_input_open(counter, b"array", ctypes.byref(opened)))
        address, size = address_and_size(buffer)
        # borrowed: `buffer` is read where it lies, until the counter has finished
        check(library.gpuhist_input_feed_borrowed(opened, HANDLE(address), ctypes.c_size_t(size), None, None))
        check(library.gpuhist_counter_finish(counter, ctypes.byref(results)))
        check(library.gpuhist_results_counts(results, b"bytes", counts, ctypes.c_size_t(256)))
        return list(counts), library.gpuhist_results_complete(results) == 1
    finally:
        library.gpuhist_results_destroy(results)
        library.gpuhist_input_destroy(opened)
        library.gpuhist_counter_destroy(counter)
        library.gpuhist_options_destroy(options)


if __name__ == "__main__":
    values = bytearray(range(256)) * 3907
    array = numpy.frombuffer(values, dtype=numpy.uint8)[:1_000_000] if numpy else memoryview(values)[:1_000_000]
    found, complete = count_bytes(array)
    print(f"{sum(found)} bytes, {found[0]} of them 0, {'complete' if complete else 'incomplete'}")
