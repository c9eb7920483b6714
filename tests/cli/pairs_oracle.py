"""The oracle of --pairs: how often a byte of each bucket follows a byte of each bucket, counted in Python."""

import collections
import functools

from support import oracle

NAMES = {scheme: list(buckets) for scheme, buckets in oracle(b"")["buckets"].items()}
_BUCKET_OF = {
    scheme: {value: next(i for i, count in enumerate(oracle(bytes([value]))["buckets"][scheme].values()) if count)
             for value in range(256)}
    for scheme in ("letters", "classes", "alphabet", "utf8")
}


@functools.lru_cache(maxsize=100)  # tests compare several runs with the same texts
def _byte_pairs(data, begin):
    return collections.Counter(zip(data[max(begin - 1, 0) :], data[max(begin, 1) :]))


def pairs_in(*texts, scheme="letters", begin=0):
    """The matrix of the pairs of these texts, none of which spans two of them. Only pairs whose second byte is at
    `begin` or later are counted."""
    buckets = _BUCKET_OF[scheme]
    size = len(NAMES[scheme])
    matrix = [[0] * size for _ in range(size)]
    for each in texts:
        for (first, second), count in _byte_pairs(bytes(each), begin).items():
            matrix[buckets[first]][buckets[second]] += count
    return matrix


def summed(*matrices):
    return [[sum(cells) for cells in zip(*rows)] for rows in zip(*matrices)]
