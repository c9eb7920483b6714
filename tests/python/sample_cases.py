"""Random histograms of samples, for comparisons with NumPy: samples of any type, shape and layout, bins, and weights."""

import random

from support import SAMPLE_TYPES, optional

numpy = optional("numpy")
bfloat16 = getattr(optional("ml_dtypes"), "bfloat16", None)  # NumPy itself has no bfloat16

TYPES = SAMPLE_TYPES if bfloat16 is None else (*SAMPLE_TYPES, "bfloat16")
INTEGER_TYPES = ("uint8", "int8", "uint16", "int32", "uint32", "int64")
SUMMED_TYPES = ("float32", "float64", "int32")
CONVERTED_TYPES = ("int64", "uint8", "bool", "float16")
NUMBERS_OF_BINS = (1, 2, 3, 7, 10, 50, 100, 255, 256, 257, 1000, 2048, 65_536)
EXACT = 2**53  # float64 has all integers up to this one


class Choices:
    """The random choices of one case. Arrays are changed before they are laid out, and are then given to both."""

    def __init__(self, seed):
        self.numbers, self.choose = numpy.random.default_rng(seed), random.Random(seed)
        self.threads = self.choose.choice((0, 1, 2, 3))

    def frames(self):
        return 150_000 if self.choose.random() < 0.004 else self.choose.choice((0, 1, 2, 3, 10, 100, 1000, 3000))

    def shape(self, frames):
        """One to three axes with `frames` elements."""
        sizes = [frames]
        while frames and len(sizes) < 3 and self.choose.random() < 0.4:
            divisor = self.choose.choice([each for each in (1, 2, 3, 5, 10) if sizes[0] % each == 0])
            sizes[:1] = [sizes[0] // divisor, divisor]
        return tuple(sizes)

    def samples(self, name, shape, largest=EXACT):
        """Samples of which every range can be calculated in their type. bfloat16 are float32 until they are laid out."""
        if name in INTEGER_TYPES:
            lowest, highest = max(numpy.iinfo(name).min, -largest), min(numpy.iinfo(name).max, largest)
            middle = self.choose.randint(lowest, highest)
            low, high = self.choose.choice(((lowest, highest), (-20, 40), (0, 1000), (middle - 1000, middle + 1000)))
            return self.numbers.integers(max(low, lowest), min(high, highest), shape, dtype=name, endpoint=True)
        drawn = self.choose.choice((
            lambda: self.numbers.normal(0, 1, shape),
            lambda: numpy.minimum(self.numbers.lognormal(0, 2, shape), 1e4),
            lambda: self.numbers.integers(-10, 11, shape) / 10,
            lambda: numpy.full(shape, self.numbers.random()),
            lambda: self.numbers.random(shape),
        ))()
        scale = self.choose.choice((1e-3, 1, 100, 1e4) if name == "float16" else (1e-4, 1, 100, 1e30))
        limit = 3e4 if name == "float16" else 1e37
        values = numpy.clip((drawn + self.choose.choice((0, 0, 1, -3))) * scale, -limit, limit)
        return values.astype("float32" if name == "bfloat16" else name)

    def number_of_bins(self, most=NUMBERS_OF_BINS[-1]):
        return self.choose.choice([each for each in NUMBERS_OF_BINS if each <= most])

    def span(self, x):
        """A range near the samples, of Python numbers."""
        low, high = _limits(x)
        low, high = sorted(low + self.choose.uniform(-0.2, 1.2) * (high - low) for _ in range(2))
        kind = self.choose.random()
        if kind < 0.3 and max(abs(low), abs(high)) < EXACT:
            return int(numpy.floor(low)), int(numpy.ceil(high))
        return (low, low) if kind > 0.95 else (low, high)

    def edges(self, x, bins):
        """Edges near the samples, as a list or an array. Some are equal or infinite."""
        low, high = _limits(x)
        is_even = self.choose.random() < 0.7
        places = numpy.sort(self.numbers.random(bins + 1)) if is_even else numpy.geomspace(1e-6, 1, bins + 1)
        edges = low + places * (high - low)
        kind = self.choose.random()
        if kind < 0.2 and max(abs(low), abs(high)) < EXACT:
            return numpy.round(edges).astype("int64")
        if kind < 0.35:
            edges[0 if kind < 0.25 else -1] = -numpy.inf if kind < 0.25 else numpy.inf
        return edges.tolist() if kind < 0.6 else edges.astype("float32") if kind < 0.7 else edges

    def move_to_edges(self, x, edges):
        """Half of the cases have samples on edges, next to edges, and floating-point samples that are not finite."""
        if x.size == 0 or self.choose.random() < 0.5:
            return
        places = self.numbers.integers(0, x.size, max(1, x.size // 4))
        chosen = numpy.asarray(edges)[self.numbers.integers(0, len(edges), places.size)].astype("float64")
        if x.dtype.kind == "f":
            moved = chosen.astype(x.dtype)
            direction = self.numbers.choice([-numpy.inf, numpy.inf], places.size).astype(x.dtype)
            x.flat[places] = numpy.where(self.numbers.random(places.size) < 0.5, moved, numpy.nextafter(moved, direction))
            if self.choose.random() < 0.5:
                special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0], x.dtype)
                x.flat[places[::3]] = self.numbers.choice(special, places[::3].size)
        else:
            lowest, highest = max(numpy.iinfo(x.dtype).min, -EXACT), min(numpy.iinfo(x.dtype).max, EXACT)
            whole = numpy.ceil(chosen) + self.numbers.integers(-1, 2, places.size)
            x.flat[places] = numpy.clip(whole, lowest, highest).astype(x.dtype)

    def weights(self, shape):
        """None, or weights of a type that is summed or converted."""
        if self.choose.random() < 0.4:
            return None
        name = self.choose.choice(SUMMED_TYPES * 3 + CONVERTED_TYPES)
        drawn = self.numbers.normal(1, 3, shape) * self.choose.choice((1, 10))
        return drawn.clip(0 if name == "uint8" else -100, 100).astype(name)

    def laid_out(self, x, name=None):
        """The same values with other strides, alignment and byte order; `name` is their type if it is bfloat16."""
        if name == "bfloat16":
            x = x.astype(bfloat16)
        elif self.choose.random() < 0.1:
            x = x.astype(x.dtype.newbyteorder())
        axes = list(range(x.ndim))
        if self.choose.random() < 0.3:
            self.choose.shuffle(axes)
        stride, strides = x.itemsize + self.choose.choice((0, 0, 0, 1, 3, x.itemsize)), [0] * x.ndim
        offset = self.choose.randrange(2 * x.itemsize)
        for axis in reversed(axes):
            step = self.choose.choice((1, 1, 1, 1, 2, 3, -1, -2))
            strides[axis] = stride * step
            offset -= min(strides[axis], 0) * max(x.shape[axis] - 1, 0)
            stride *= max(x.shape[axis], 1) * abs(step)
        memory = numpy.full(stride + offset, 0x5A, "uint8")
        copy = numpy.ndarray(x.shape, x.dtype, memory, offset, strides)
        copy[...] = x
        return copy


def for_numpy(x):
    """The samples in a type that NumPy has."""
    return x.astype("float32") if x.dtype.name == "bfloat16" else x


def _limits(x):
    finite = x[numpy.isfinite(x)]
    return (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
