"""Histograms of NumPy arrays; the oracle is NumPy."""

import random
import sys
import unittest
import warnings

from support import SAMPLE_TYPES, main, optional, samples_of

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

    def test_random_histograms_are_those_of_numpy(self):
        for seed in range(500):
            generator, choose = numpy.random.default_rng(seed), random.Random(seed)
            x = samples_of(generator, choose.choice(SAMPLE_TYPES), choose.choice((0, 1, 7, 1000, 100_000)))
            bins = choose.choice((1, 2, 10, 256, [-5, 0, 1.5, 40], numpy.linspace(-3, 3, 100)))
            span = choose.choice((None, (-20, 20), (0, 255), (3, 3)))
            with self.subTest(seed=seed, type=x.dtype.name, size=x.size, bins=bins, range=span):
                self.assert_same(gpuhist.histogram(x, bins, span), numpy.histogram(x, bins, span))

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

    def test_joint_histograms_are_those_of_numpy(self):
        for seed in range(100):
            generator, choose = numpy.random.default_rng(seed), random.Random(seed)
            name, size = choose.choice(("float32", "float64")), choose.choice((1, 9, 5000))
            x, y = samples_of(generator, name, size), samples_of(generator, name, size)
            bins = choose.choice((10, (3, 5), [0, 1, 2.5], ([-9, 0, 9], 4)))
            span = choose.choice((None, [(-20, 20), (-5, 5)]))
            with self.subTest(seed=seed, type=name, bins=bins, range=span):
                self.assert_same(gpuhist.histogram2d(x, y, bins, span), numpy.histogram2d(x, y, bins, span))
        weights = numpy.arange(x.size, dtype="float64")
        self.assert_same(gpuhist.histogram2d(x, y, 10, weights=weights), numpy.histogram2d(x, y, 10, weights=weights))

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


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
