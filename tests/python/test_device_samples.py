"""Histograms of tensors in device memory; the oracle is NumPy.

The tests of `Behaviour` are run with tensors of PyTorch, CuPy and JAX where a CUDA device is, and everywhere with a fake
library, whose tensors are NumPy arrays that claim to be in device memory.
"""

import contextlib
import ctypes
import math
import os
import random
import sys
import unittest
import unittest.mock

from support import SAMPLE_TYPES, campaign, main, optional, samples_of

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX leaves memory to the others
os.environ.setdefault("JAX_PLATFORMS", "cuda,cpu")

import gpuhist
from gpuhist import _core, _device, _libraries

numpy = optional("numpy")
if numpy is None:
    print("skipped: NumPy is not installed")
    sys.exit(77)


class Behaviour:
    """What holds for every library. Subclasses have:

    tensor(array): a NumPy array as a tensor in device memory; kind: the type of tensors; to_numpy(tensor)
    types: names of types; bound_types: those of which the library finds the lowest and highest
    counts, sums, joint: types of results; exact_edges: whether edges are the bits of NumPy
    """

    types = bound_types = SAMPLE_TYPES
    counts, sums, joint = "int64", "float64", "float64"
    exact_edges = True
    cases = 300

    def to_numpy(self, tensor):
        self.assertIsInstance(tensor, self.kind)
        self.assertEqual(_device.cuda_device_of(tensor, "result"), 0)
        return _libraries.library_of(tensor).to_numpy(tensor)

    def assert_counts(self, found, expected, kind=None):
        found = self.to_numpy(found)
        self.assertEqual(found.dtype, kind or self.counts)
        numpy.testing.assert_array_equal(found, expected)

    def assert_sums(self, found, x, weights, bins, span):
        """Within the rounding of weights to 2^-34 of a power of two, and of the type of the results."""
        found = self.to_numpy(found)
        self.assertEqual(found.dtype, self.sums)
        expected = numpy.histogram(x, bins, span, weights=weights.astype("float64"))[0]
        of_each_bin = numpy.histogram(x, bins, span)[0] * abs(weights.astype("float64")).max()
        tolerance = of_each_bin * (2.0**-30 if self.sums == "float64" else 2.0**-22)
        self.assertTrue((abs(found - expected) <= tolerance).all(), (found, expected))

    def assert_edges(self, found, expected):
        found = self.to_numpy(found)
        if self.exact_edges:
            self.assertEqual(found.dtype, expected.dtype)
            numpy.testing.assert_array_equal(found, expected)
        else:
            numpy.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)

    def test_random_histograms_are_those_of_numpy(self):
        for seed in range(campaign(self.cases)):
            generator, choose = numpy.random.default_rng(seed), random.Random(seed)
            span = choose.choice((None, (-20, 20), (0, 255), (3, 3)))
            name = choose.choice(self.bound_types if span is None else self.types)
            x = samples_of(generator, name, choose.choice((0, 1, 7, 1000, 100_000)))
            bins = choose.choice((1, 2, 10, 256, 5000, [-5, 0, 1.5, 40], numpy.linspace(-3, 3, 100)))
            if name not in self.bound_types and isinstance(bins, int) and span is None:
                continue
            with self.subTest(seed=seed, type=name, size=x.size, bins=bins, range=span):
                try:
                    expected, expected_edges = numpy.histogram(x, bins, span)
                except ValueError:  # bins too narrow for the type
                    with self.assertRaises(ValueError):
                        gpuhist.histogram(self.tensor(x), bins, span)
                    continue
                counts, edges = gpuhist.histogram(self.tensor(x), bins, span)
                self.assert_counts(counts, expected)
                self.assert_edges(edges, expected_edges)

    def test_nan_and_infinities_are_not_counted(self):
        x = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0, 1, 2, 0.5], dtype="float32")
        self.assert_counts(gpuhist.histogram(self.tensor(x), 2, (0, 1))[0], numpy.histogram(x, 2, (0, 1))[0])
        with self.assertRaisesRegex(ValueError, "not finite"):
            gpuhist.histogram(self.tensor(x), 2)

    def test_weights_are_summed_to_the_same_bits_in_every_call(self):
        generator = numpy.random.default_rng(2)
        x = generator.normal(size=100_000).astype("float32")
        for name in ("float32", "int32"):
            weights = (generator.normal(size=x.size) * 100).astype(name)
            results = [gpuhist.histogram(self.tensor(x), 50, (-2, 2), self.tensor(weights))[0] for _ in range(3)]
            self.assert_sums(results[0], x, weights, 50, (-2, 2))
            self.assertEqual(len({self.to_numpy(each).tobytes() for each in results}), 1)

    def test_densities_have_the_integral_one(self):
        x = numpy.random.default_rng(3).normal(size=10_000).astype("float32")
        density, edges = gpuhist.histogram(self.tensor(x), 50, density=True)
        numpy.testing.assert_allclose(self.to_numpy(density), numpy.histogram(x, 50, density=True)[0], rtol=1e-5)

    def test_channels_have_a_histogram_each(self):
        picture = numpy.random.default_rng(3).integers(0, 256, (40, 30, 3), dtype="uint8")
        weights = numpy.random.default_rng(4).uniform(size=picture.shape).astype("float32")
        counts, edges = gpuhist.histogram(self.tensor(picture), 16, (0, 256), channels=3)
        sums, _ = gpuhist.histogram(self.tensor(picture), 16, (0, 256), self.tensor(weights), channels=3)
        for channel in range(3):
            expected, expected_edges = numpy.histogram(picture[..., channel], 16, (0, 256))
            self.assert_counts(counts[channel], expected)
            self.assert_sums(sums[channel], picture[..., channel], weights[..., channel], 16, (0, 256))
        self.assert_edges(edges, expected_edges)

    def test_bincount_is_that_of_numpy(self):
        generator = numpy.random.default_rng(4)
        for name in set(self.bound_types) - {"float16", "float32", "float64"}:
            x = generator.integers(0, 100, 10_000).astype(name)
            for minlength in (0, 1000):
                found = gpuhist.bincount(self.tensor(x), minlength=minlength)
                self.assert_counts(found, numpy.bincount(x, minlength=minlength))
            weights = generator.integers(0, 9, x.size).astype("int32")
            self.assert_counts(gpuhist.bincount(self.tensor(x), self.tensor(weights)), numpy.bincount(x, weights), self.sums)
        self.assert_counts(gpuhist.bincount(self.tensor(x[:0])), [])
        with self.assertRaisesRegex(ValueError, "negative"):
            gpuhist.bincount(self.tensor(numpy.array([1, -1], dtype="int32")))
        with self.assertRaisesRegex(TypeError, "integers"):
            gpuhist.bincount(self.tensor(numpy.array([1.5], dtype="float32")))

    def test_joint_histograms_are_those_of_numpy(self):
        for seed in range(campaign(self.cases // 10)):
            generator, choose = numpy.random.default_rng(seed), random.Random(seed)
            name, size = choose.choice(("float32", "int32", "float16")), choose.choice((1, 9, 5000))
            x, y = samples_of(generator, name, size), samples_of(generator, name, size)
            bins = choose.choice((10, (3, 5), [0, 1, 2.5], ([-9, 0, 9], 4)))
            span = choose.choice((None, [(-20, 20), (-5, 5)]))
            with self.subTest(seed=seed, type=name, bins=bins, range=span):
                expected = numpy.histogram2d(x, y, bins, span)
                found = gpuhist.histogram2d(self.tensor(x), self.tensor(y), bins, span)
                self.assert_counts(found[0], expected[0], self.joint)
                for ours, theirs in zip(found[1:], expected[1:]):
                    self.assert_edges(ours, theirs)

    def test_edges_of_a_result_can_be_used_for_other_samples(self):
        x, y = (numpy.random.default_rng(seed).normal(size=1000).astype("float32") for seed in (1, 2))
        _, edges = gpuhist.histogram(self.tensor(x), 20)
        self.assert_counts(gpuhist.histogram(self.tensor(y), edges)[0], numpy.histogram(y, self.to_numpy(edges))[0])

    def test_arrays_in_different_memory_are_refused(self):
        x = numpy.arange(10, dtype="float32")
        with self.assertRaisesRegex(ValueError, "weights is in host memory, x in the memory of CUDA device 0"):
            gpuhist.histogram(self.tensor(x), 4, (0, 9), x)
        with self.assertRaisesRegex(ValueError, "weights is in the memory of CUDA device 0, x in host memory"):
            gpuhist.histogram(x, 4, (0, 9), self.tensor(x))
        with self.assertRaisesRegex(ValueError, "y is in host memory"):
            gpuhist.histogram2d(self.tensor(x), x)

    def test_types_that_are_not_counted_are_refused(self):
        x = numpy.arange(10, dtype="float32")
        with self.assertRaisesRegex(TypeError, "x: samples of type int16 are not counted; convert"):
            gpuhist.histogram(self.tensor(x.astype("int16")), 4, (0, 9))
        with self.assertRaisesRegex(TypeError, "weights of type float16 in device memory"):
            gpuhist.histogram(self.tensor(x), 4, (0, 9), self.tensor(x.astype("float16")))
        with self.assertRaisesRegex(TypeError, "same type, not float32 and int32"):
            gpuhist.histogram2d(self.tensor(x), self.tensor(x.astype("int32")))


class Strided:
    """Of libraries whose tensors have strides."""

    def test_tensors_are_read_where_they_lie(self):
        x = numpy.random.default_rng(1).normal(size=(60, 50)).astype("float32")
        weights = numpy.random.default_rng(2).uniform(size=x.shape).astype("float32")
        for view in (lambda a: a, lambda a: a.T, lambda a: a[:, 3], lambda a: a[::2, :1], lambda a: a.reshape(-1)[::7], lambda a: a[3, 4, ...]):
            expected = view(x)
            self.assert_counts(gpuhist.histogram(view(self.tensor(x)), 20, (-2, 2))[0], numpy.histogram(expected, 20, (-2, 2))[0])
            sums = gpuhist.histogram(view(self.tensor(x)), 20, (-2, 2), view(self.tensor(weights)))[0]
            self.assert_sums(sums, expected, numpy.asarray(view(weights)), 20, (-2, 2))

    def test_tensors_without_a_common_stride_are_not_copied(self):
        x = self.tensor(numpy.zeros((60, 50), dtype="float32"))
        for given, weights in ((x[:, :5], None), (x, self.tensor(numpy.zeros((50, 60), dtype="float32")).T)):
            with self.assertRaisesRegex(ValueError, "no common stride.*contiguous"):
                gpuhist.histogram(given, 4, (0, 1), weights)


# ---- the fake library ------------------------------------------------------------------------------------------------


class FakeTensor(numpy.ndarray):
    """A NumPy array that claims to be in device memory."""

    exported = []  # the streams given to __dlpack__()

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream):
        self.exported.append(stream)
        return numpy.asarray(self).__dlpack__()


class FakeLibrary:
    name, module, has_streams = "fake", numpy, True
    device = 0

    def current_device(self):
        return self.device

    def remedy_for_device(self, device):
        return f"use({device})"

    def remedy_for_strides(self, name):
        return f"contiguous({name})"

    def stream(self, device):
        return 77

    def zeros(self, size, type_name, like):
        return numpy.zeros(size, type_name).view(FakeTensor)

    def scratch(self, size, like):
        return numpy.empty(size, "uint8").view(FakeTensor)

    def result(self, rows, samples):
        return rows

    def bounds(self, tensor, type_name, name):
        return numpy.asarray(tensor).min(), numpy.asarray(tensor).max()

    def to_numpy(self, tensor):
        return numpy.array(tensor)

    def from_numpy(self, array, like):
        return numpy.array(array).view(FakeTensor)

    def as_float64(self, tensor):
        return tensor.astype("float64")


class FakeBins:
    def __init__(self, x, channels=1, y=None):
        self.x, self.channels, self.y = x, channels, y

    def sizes(self):
        values = self.channels * (self.x.bins + 3) if self.y is None else self.x.bins * self.y.bins + 2
        return values, 1000


def count_on_host(bins, x, y, weights, rows, workspace, device, stream):
    if weights is None:
        counts = _core.count_samples(bins.x, x, 1) if y is None else _core.count_pairs(bins.x, x, bins.y, y, 1)
    else:
        counts = _core.sum_samples(bins.x, x, weights, 1) if y is None else _core.sum_pairs(bins.x, x, bins.y, y, weights, 1)
    assert workspace % 256 == 0 and (device, stream) == (0, 77)
    kind = ctypes.c_int64 if weights is None else ctypes.c_double
    numpy.frombuffer((kind * len(counts)).from_address(rows), kind)[:] = counts


class WithFakeLibrary(Behaviour, Strided, unittest.TestCase):
    kind = FakeTensor

    def setUp(self):
        FakeTensor.exported.clear()
        real = _libraries.library_of
        for owner, name, value in (
            (_core, "DeviceBins", FakeBins),
            (_core, "count_on_device", count_on_host),
            (_core, "check_device_support", lambda: None),
            (_device, "library_of", lambda tensor: FakeLibrary() if isinstance(tensor, FakeTensor) else real(tensor)),
            (_libraries, "library_of", lambda tensor: FakeLibrary() if isinstance(tensor, FakeTensor) else real(tensor)),
        ):
            patch = unittest.mock.patch.object(owner, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def tensor(self, array):
        return numpy.array(array).view(FakeTensor)

    def test_producers_get_the_stream_on_which_is_counted(self):
        x = self.tensor(numpy.zeros(10, dtype="float32"))
        gpuhist.histogram(x, 4, (0, 1), weights=x)
        self.assertEqual(set(FakeTensor.exported), {77})

    def test_a_device_that_is_not_the_current_one_is_refused_with_a_remedy(self):
        with unittest.mock.patch.object(FakeLibrary, "device", 1), self.assertRaisesRegex(
            ValueError, r"x is in the memory of CUDA device 0, but the current device of fake is 1: use\(0\)"
        ):
            gpuhist.histogram(self.tensor(numpy.zeros(3)))

    def test_no_reference_to_the_samples_remains(self):
        x = self.tensor(numpy.zeros(10))
        before = sys.getrefcount(x)
        gpuhist.histogram(x, 4, (0, 1))
        with self.assertRaises(ValueError):
            gpuhist.histogram(x, 0, (0, 1))
        self.assertEqual(sys.getrefcount(x), before)


class Refusals(unittest.TestCase):
    def foreign(self, device):
        class Foreign:
            def __dlpack_device__(self):
                return device

        return Foreign()

    def test_libraries_that_are_not_supported_are_named_with_a_remedy(self):
        try:
            _core.check_device_support()
        except gpuhist.EngineError:
            self.skipTest("a build without CUDA")
        with self.assertRaisesRegex(TypeError, "Foreign in device memory.*from_dlpack"):
            gpuhist.histogram(self.foreign((2, 0)))

    def test_other_devices_are_refused(self):
        with self.assertRaisesRegex(TypeError, "neither in host memory nor in CUDA device memory.*device type 8"):
            gpuhist.histogram(self.foreign((8, 0)))

    def test_a_build_without_cuda_and_a_machine_without_a_driver_are_engine_errors(self):
        try:
            _core.check_device_support()
        except gpuhist.EngineError as error:
            self.assertIn("built without CUDA", str(error))
            with self.assertRaisesRegex(gpuhist.EngineError, "built without CUDA"):
                gpuhist.histogram(self.foreign((2, 0)))
            return
        if has_device():
            self.skipTest("a machine with a device")
        bins = _core.DeviceBins(_core.even_bins("float32", 4, 0, 1, False))
        values, workspace = bins.sizes()
        self.assertEqual(values, 4 + 3)
        self.assertGreater(workspace, 0)
        with self.assertRaisesRegex(gpuhist.EngineError, "CUDA device 0: .*cuda"):
            _core.count_on_device(bins, _core.View(0, 0, 1, 0, "float32"), None, None, 0, 0, 0, 1)


# ---- libraries with a device -----------------------------------------------------------------------------------------


def has_device():
    """Asks the driver, so that no library is imported without need."""
    with contextlib.suppress(OSError):
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    return False


torch, cupy, jax = (optional(name) if has_device() else None for name in ("torch", "cupy", "jax"))


@unittest.skipUnless(torch and torch.cuda.is_available(), "no PyTorch with a CUDA device")
class WithTorch(Behaviour, Strided, unittest.TestCase):
    kind = torch and torch.Tensor
    bound_types = tuple(name for name in SAMPLE_TYPES if name not in ("uint16", "uint32"))
    cases = 1000

    def tensor(self, array):
        return torch.from_numpy(numpy.array(array)).to("cuda:0")

    def test_bfloat16_is_counted(self):
        x = torch.randn(10_000, device="cuda").to(torch.bfloat16)
        self.assert_counts(gpuhist.histogram(x, 20, (-2, 2))[0], numpy.histogram(x.float().cpu().numpy(), 20, (-2, 2))[0])
        counts, edges = gpuhist.histogram(x, 20)
        self.assertEqual(counts.sum().item(), x.numel())

    def test_types_whose_bounds_torch_does_not_find_need_a_range(self):
        x = self.tensor(numpy.arange(10, dtype="uint16"))
        with self.assertRaisesRegex(TypeError, "uint16.*range="):
            gpuhist.histogram(x)

    def test_the_call_waits_neither_for_the_samples_nor_for_the_counts(self):
        x = torch.zeros(1 << 20, device="cuda")
        gpuhist.histogram(x, 16, (0, 8))
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)  # cycles: about a tenth of a second
            x.fill_(3)
            counts, _ = gpuhist.histogram(x, 16, (0, 8))
            is_done = stream.query()
        self.assertFalse(is_done)
        stream.synchronize()
        self.assertEqual(counts[6].item(), x.numel())

    def test_samples_of_the_default_stream_are_counted_before_they_change(self):
        x = torch.zeros(1 << 24, device="cuda")
        results = []
        for value in range(8):
            x.fill_(value)
            results.append(gpuhist.histogram(x, 8, (0, 8))[0])
        self.assertEqual([each.argmax().item() for each in results], list(range(8)))
        self.assertEqual({each.sum().item() for each in results}, {x.numel()})

    def test_samples_are_not_copied(self):
        x = torch.zeros(1 << 26, device="cuda")
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        gpuhist.histogram(x, 256, (0, 1))
        self.assertLess(torch.cuda.max_memory_allocated() - before, 1 << 20)

    def test_tensors_that_require_grad_are_refused(self):
        x = torch.zeros(10, device="cuda", requires_grad=True)
        with self.assertRaisesRegex(ValueError, r"x\.detach"):
            gpuhist.histogram(x)
        with self.assertRaisesRegex(ValueError, r"weights\.detach"):
            gpuhist.histogram(x.detach(), 4, (0, 1), x)

    def test_a_stream_that_is_captured_is_refused(self):
        x = torch.zeros(1000, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with self.assertRaisesRegex(gpuhist.EngineError, "captured into a graph"), torch.cuda.graph(graph):
            gpuhist.histogram(x, 4, (0, 1))
        torch.cuda.synchronize()

    def test_a_tensor_of_another_library_is_refused_with_a_remedy(self):
        if cupy is None:
            self.skipTest("no CuPy")
        x = torch.zeros(10, device="cuda")
        with self.assertRaisesRegex(TypeError, "weights: a tensor of torch is required"):
            gpuhist.histogram(x, 4, (0, 1), cupy.zeros(10, "float32"))

    def test_a_device_that_is_not_the_current_one_is_refused(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("one device")
        x = torch.zeros(10, device="cuda:1")
        with self.assertRaisesRegex(ValueError, "current device of torch is 0: call torch.cuda.set_device"):
            gpuhist.histogram(x, 4, (0, 1))
        with torch.cuda.device(1):
            counts, _ = gpuhist.histogram(x, 4, (0, 1))
        self.assertEqual((counts.device.index, counts.sum().item()), (1, 10))
        self.assertEqual(torch.cuda.current_device(), 0)


@unittest.skipUnless(cupy, "no CuPy with a CUDA device")
class WithCupy(Behaviour, Strided, unittest.TestCase):
    kind = cupy and cupy.ndarray
    cases = 500

    def tensor(self, array):
        return cupy.asarray(array)

    def test_work_is_ordered_on_the_current_stream(self):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x = cupy.zeros(1 << 24, "float32")
            results = []
            for value in range(8):
                x.fill(value)
                results.append(gpuhist.histogram(x, 8, (0, 8))[0])
            stream.synchronize()
            self.assertEqual([int(each.argmax()) for each in results], list(range(8)))
            self.assertEqual({int(each.sum()) for each in results}, {x.size})

    def test_views_from_the_end_are_read(self):
        x = numpy.random.default_rng(1).normal(size=(60, 50))
        given = cupy.asarray(x)
        self.assert_counts(gpuhist.histogram(given[::-1], 20, (-2, 2))[0], numpy.histogram(x, 20, (-2, 2))[0])
        self.assert_counts(gpuhist.histogram(given.ravel()[::-7], 20, (-2, 2))[0], numpy.histogram(x.ravel()[::-7], 20, (-2, 2))[0])


def jax_has_device():
    with contextlib.suppress(Exception):
        return any(device.platform == "gpu" for device in jax.devices())
    return False


@unittest.skipUnless(jax and jax_has_device(), "no JAX with a CUDA device")
class WithJax(Behaviour, unittest.TestCase):
    kind = jax and jax.Array
    types = bound_types = tuple(name for name in SAMPLE_TYPES if name not in ("int64", "float64"))
    counts, sums, joint = "int32", "float32", "float32"
    exact_edges = False
    cases = 40  # each shape is compiled

    def tensor(self, array):
        return jax.device_put(array)

    def test_with_64_bits_the_types_are_those_of_numpy(self):
        with jax.enable_x64(True):
            x = numpy.random.default_rng(1).normal(size=1000)
            counts, edges = gpuhist.histogram(jax.device_put(x), 20)
            expected, expected_edges = numpy.histogram(x, 20)
            self.assert_counts(counts, expected, "int64")
            numpy.testing.assert_array_equal(self.to_numpy(edges), expected_edges)

    def test_samples_that_are_still_computed_are_counted_when_they_are_done(self):
        matrix = jax.numpy.ones((4096, 4096), "float32")
        for _ in range(10):
            matrix = matrix @ matrix / 4096.0
        self.assertEqual(int(gpuhist.histogram(matrix, 4, (0.5, 1.5))[0][2]), math.prod(matrix.shape))

    def test_bfloat16_is_counted(self):
        x = jax.random.normal(jax.random.key(1), 1000).astype("bfloat16")
        self.assert_counts(gpuhist.histogram(x, 20, (-2, 2))[0], numpy.histogram(numpy.asarray(x.astype("float32")), 20, (-2, 2))[0])


if __name__ == "__main__":
    main()
