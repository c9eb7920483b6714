"""Histograms of NumPy arrays; the oracle is NumPy."""

import sys
import unittest
import warnings

from sample_cases import EXACT, INTEGER_TYPES, TYPES, Choices, for_numpy
from support import campaign, main, optional

import gpuhist

numpy = optional("numpy")


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Samples(unittest.TestCase):
    def assert_same(self, found, expected, exact=True):
        for ours, theirs in zip(found, expected, strict=True):
            self.assertEqual(ours.shape, theirs.shape)
            if exact:
                self.assertEqual(ours.dtype, theirs.dtype)
                numpy.testing.assert_array_equal(ours, theirs)
            else:
                numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)

    def test_arrays_of_any_strides_are_those_of_numpy(self):
        x = numpy.arange(24, dtype="int32").reshape(2, 3, 4)
        for strided in (numpy.broadcast_to(numpy.int32(7), 1000), numpy.broadcast_to(x[0, 0], (50, 4)), x.T, x[::-1], x[:, ::2, 1:3]):
            with self.subTest(strides=strided.strides):
                self.assert_same(gpuhist.histogram(strided, 10, (0, 24)), numpy.histogram(strided, 10, (0, 24)))

    def test_any_shape_stride_alignment_and_byte_order_is_read(self):
        x = numpy.random.default_rng(1).normal(size=(60, 50))
        packed = numpy.zeros(1000, dtype=[("a", "u1"), ("b", "<f4")])
        packed["b"] = x.ravel()[:1000]
        for each in (x, x.T, x[::2, ::3], x[::-1], x.ravel()[::-7], packed["b"], x.astype(">f8"), x[3, 4]):
            self.assert_same(gpuhist.histogram(each, 20, (-2, 2)), numpy.histogram(each, 20, (-2, 2)))

    def test_samples_that_are_nan_or_outside_are_not_counted(self):
        x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0, 1, 2])
        self.assert_same(gpuhist.histogram(x, 2, (0, 1)), numpy.histogram(x, 2, (0, 1)))
        with self.assertRaises(ValueError):
            gpuhist.histogram(x, 2)

    def test_weights_are_summed_and_densities_have_the_sum_one(self):
        generator = numpy.random.default_rng(2)
        x, weights = generator.normal(size=100_000), generator.uniform(size=100_000)
        expected = numpy.histogram(x, 50, weights=weights)
        self.assert_same(gpuhist.histogram(x, 50, weights=weights), expected, exact=False)
        self.assert_same(gpuhist.histogram(x, 50, density=True), numpy.histogram(x, 50, density=True), exact=False)
        several = [gpuhist.histogram(x, 50, weights=weights, threads=threads)[0].tobytes() for threads in (1, 2, 3)]
        self.assertEqual(len(set(several)), 1)
        with self.assertRaisesRegex(ValueError, "shape"):
            gpuhist.histogram(x, 50, weights=weights[1:])

    def test_channels_have_a_histogram_each(self):
        picture = numpy.random.default_rng(3).integers(0, 256, (40, 30, 3), dtype="uint8")
        for image in (picture, picture[::2, ::-1], picture.transpose(1, 0, 2), picture[..., ::-1], picture[:0, :, ::-1]):
            counts, edges = gpuhist.histogram(image, 16, (0, 256), channels=3)
            for channel in range(3):
                self.assert_same((counts[channel], edges), numpy.histogram(image[..., channel], 16, (0, 256)))
        with self.assertRaisesRegex(ValueError, "channels"):
            gpuhist.histogram(picture, 16, (0, 256), channels=4)

    def test_bincount_is_that_of_numpy(self):
        for name in ("uint8", "uint16", "int32", "int64"):
            x = numpy.random.default_rng(4).integers(0, 100, 10_000).astype(name)
            for minlength in (0, 1000):
                expected = numpy.bincount(x, minlength=minlength)
                self.assert_same([gpuhist.bincount(x, minlength=minlength)], [expected])
            weights = numpy.arange(x.size, dtype="int32")
            self.assert_same([gpuhist.bincount(x, weights)], [numpy.bincount(x, weights)])
        self.assert_same([gpuhist.bincount(x[:0])], [numpy.bincount(x[:0])])
        with self.assertRaises(ValueError):
            gpuhist.bincount(numpy.array([1, -1]))
        with self.assertRaises(TypeError):
            gpuhist.bincount(numpy.array([1.5]))

    def test_edges_of_joint_histograms_have_the_common_type_of_both_axes(self):
        x = numpy.linspace(-1, 1, 100)
        for types in (("float32", "float64"), ("float16", "int32"), ("int8", "float16"), ("uint8", "int8")):
            pair = [(x * 100).astype(name) for name in types]
            with self.subTest(types=types):
                self.assert_same(gpuhist.histogram2d(*pair, (7, 9)), numpy.histogram2d(*pair, (7, 9)))

    def test_what_cannot_be_counted_is_refused(self):
        for given, error in ((numpy.zeros(3, complex), TypeError), (["a"], TypeError)):
            with self.assertRaises(error):
                gpuhist.histogram(given)
        for bins, error in ((0, ValueError), ("auto", TypeError), ([2, 1], ValueError), (2**21, ValueError)):
            with self.subTest(bins=bins), self.assertRaises(error):
                gpuhist.histogram(numpy.zeros(3), bins)

        class Tensor:
            requires_grad = True

        with self.assertRaisesRegex(ValueError, "detach"):
            gpuhist.histogram(Tensor())

    def test_tensors_are_read_by_dlpack_and_no_reference_remains(self):
        class Tensor:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x = numpy.arange(1000, dtype="float32")
        before = sys.getrefcount(x)
        for _ in range(10):
            self.assert_same(gpuhist.histogram(Tensor(x), 7), numpy.histogram(x, 7))
        self.assertEqual(sys.getrefcount(x), before)


@unittest.skipIf(numpy is None, "NumPy is not installed")
class RandomCases(unittest.TestCase):
    """Random samples, bins and weights. CAMPAIGN=all: 10,000 cases in all."""

    def assert_as_numpy(self, count, count_by_numpy, allowed):
        """`count` and `count_by_numpy` return the same, or both raise ValueError. Results are counts or sums of weights, and
        edges. `allowed` returns how much sums may differ."""
        try:
            with numpy.errstate(all="ignore"):
                expected = count_by_numpy()
        except ValueError:
            with self.assertRaises(ValueError):
                count()
            return
        found = count()
        for ours, theirs in zip(found[1:], expected[1:], strict=True):
            numpy.testing.assert_array_equal(ours, theirs)
            self.assertEqual(ours.dtype, theirs.dtype)
        self.assertEqual((found[0].shape, found[0].dtype), (expected[0].shape, expected[0].dtype))
        wrong = ~(abs(found[0] - expected[0]) <= allowed())
        self.assertFalse(wrong.any(), (found[0][wrong][:5], expected[0][wrong][:5]))

    def test_histograms_are_those_of_numpy(self):
        for seed in range(campaign(500, 6000)):
            choices = Choices(seed)
            name, channels = choices.choose.choice(TYPES), choices.choose.choice((1, 1, 1, 2, 3, 4))
            shape = (*choices.shape(choices.frames()), *([channels] if channels > 1 else []))
            rule = choices.choose.choice(("number", "range", "range", "edges"))
            x = choices.samples(name, shape, 2**63 - 1 if rule == "range" else EXACT)
            bins, span = choices.number_of_bins(), None
            if rule == "range":
                span = choices.span(x)
                choices.move_to_edges(x, numpy.linspace(*span, bins + 1))
            elif rule == "edges":
                bins = choices.edges(x, min(bins, 2048))
                choices.move_to_edges(x, bins)
            weights = choices.weights(shape)
            x, weights = choices.laid_out(x, name), None if weights is None else choices.laid_out(weights)
            with self.subTest(seed=seed, type=name, shape=shape, rule=rule, range=span, weights=getattr(weights, "dtype", None)):
                self.assert_histogram(x, bins, span, weights, channels, choices.threads)

    def assert_histogram(self, x, bins, span, weights, channels, threads):
        samples = for_numpy(x)
        numpy_span = (samples.min(), samples.max()) if span is None and samples.size else span

        def by_numpy(added):
            """The channels have the same bins. Sums are float64."""
            parts = []
            for channel in range(channels):
                part = ... if channels == 1 else (..., channel)
                parts.append(numpy.histogram(samples[part], bins, numpy_span, weights=None if added is None else added[part]))
            return (parts[0][0] if channels == 1 else numpy.stack([counts for counts, _ in parts])), parts[0][1]

        added = None if weights is None else weights.astype("float64")
        self.assert_as_numpy(
            lambda: gpuhist.histogram(x, bins, span, weights, channels=channels, threads=threads),
            lambda: by_numpy(added),
            lambda: allowed_rounding(weights, by_numpy, bins),
        )

    def test_counts_of_integers_are_those_of_numpy(self):
        for seed in range(campaign(100, 1500)):
            choices = Choices(seed)
            name, frames = choices.choose.choice(INTEGER_TYPES), choices.frames()
            lowest = choices.choose.choice([0] * 20 + [-3]) if name.startswith("int") else 0
            highest = min(choices.choose.choice((0, 1, 40, 1000, 70_000, 2**20 - 1)), numpy.iinfo(name).max)
            x = choices.laid_out(choices.numbers.integers(lowest, highest, frames, dtype=name, endpoint=True))
            weights, minlength = choices.weights(frames), choices.choose.choice((0, 0, 1, 3000))
            weights = None if weights is None else choices.laid_out(weights)

            def by_numpy(added):
                counts = numpy.bincount(x, added, minlength)
                return [counts if added is None else counts.astype("float64")]  # int64 if there is no sample

            with self.subTest(seed=seed, type=name, size=frames, weights=getattr(weights, "dtype", None), minlength=minlength):
                self.assert_as_numpy(
                    lambda: [gpuhist.bincount(x, weights, minlength, threads=choices.threads)],
                    lambda: by_numpy(weights),
                    lambda: allowed_rounding(weights, by_numpy),
                )

    def test_joint_histograms_are_those_of_numpy(self):
        for seed in range(campaign(200, 2500)):
            choices = Choices(seed)
            frames = choices.frames()
            names = [choices.choose.choice(TYPES) for _ in range(2)]
            axes = [choices.samples(name, frames) for name in names]
            bins, spans = [], []
            for x in axes:
                rule = choices.choose.choice(("number", "range", "range", "edges"))
                bins.append(choices.number_of_bins(257) if rule != "edges" else choices.edges(x, choices.number_of_bins(100)))
                spans.append(choices.span(x) if rule == "range" else None)
                if spans[-1] is not None:
                    choices.move_to_edges(x, numpy.linspace(*spans[-1], bins[-1] + 1))
                elif rule == "edges":
                    choices.move_to_edges(x, bins[-1])
            if choices.choose.random() < 0.3 and numpy.size(bins[0]) != 2:  # both axes have these; two edges would be a pair
                bins = bins[0]
            weights = choices.weights(frames)
            weights = None if weights is None else choices.laid_out(weights)
            x, y = (choices.laid_out(*each) for each in zip(axes, names, strict=True))

            def by_numpy(added):
                return numpy.histogram2d(for_numpy(x), for_numpy(y), bins, spans, weights=added)

            with self.subTest(seed=seed, types=names, size=frames, ranges=spans, weights=getattr(weights, "dtype", None)):
                self.assert_as_numpy(
                    lambda: gpuhist.histogram2d(x, y, bins, spans, weights, threads=choices.threads),
                    lambda: by_numpy(weights),
                    lambda: allowed_rounding(weights, by_numpy),
                )


def allowed_rounding(weights, by_numpy, bins=1):
    """How much counts, or two sums of weights, may differ in each bin: 0 for counts and integers. Each sum of n weights is
    rounded by at most n 2^-53 times the sum of |w|. Between given edges, NumPy subtracts sums over all lower bins."""
    if weights is None or weights.dtype.kind != "f":
        return 0
    magnitudes = by_numpy(abs(weights.astype("float64")))[0]
    if numpy.ndim(bins):
        magnitudes = abs(weights.astype("float64")).sum()
    return 2 * weights.size * 2.0**-53 * magnitudes


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
