"""The operators for PyTorch, in host memory and, where a CUDA device is, in device memory; the oracle is NumPy."""

import os
import sys
import unittest
import warnings

from support import main, optional, run_python

torch, numpy = optional("torch"), optional("numpy")
if torch is None or numpy is None:
    print("skipped: PyTorch or NumPy is not installed")
    sys.exit(77)

import gpuhist.torch

DEVICES = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
OPERATORS = torch.ops.gpuhist


def entropy(x):
    """Of the shares of 64 bins."""
    counts = gpuhist.torch.histogram(x * 2, 64, 0.0, 2.0)
    return torch.special.entr(counts / counts.sum()).sum()


class Operators(unittest.TestCase):
    def setUp(self):
        generator = torch.Generator().manual_seed(1)
        self.x = torch.rand(1000, 3, generator=generator)
        self.weights = torch.rand(1000, 3, generator=generator)
        self.integers = torch.randint(-2, 9, (50, 2), generator=generator)

    def on_devices(self):
        for device in DEVICES:
            with self.subTest(device=device):
                yield device

    def assert_counts(self, found, device, expected):
        self.assertEqual((found.device.type, found.dtype), (device, torch.int64 if expected.dtype.kind == "i" else torch.float64))
        numpy.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-6, atol=0 if expected.dtype.kind == "i" else 1e-9)

    def test_results_are_those_of_numpy(self):
        x, weights, integers = (each.numpy() for each in (self.x, self.weights, self.integers))
        for device in self.on_devices():
            on, summed, whole = (each.to(device) for each in (self.x, self.weights, self.integers))
            self.assert_counts(OPERATORS.histogram(on, 16, 0.0, 1.0), device, numpy.histogram(x, 16, (0, 1))[0])
            self.assert_counts(OPERATORS.histogram(on, 16, 0.0, 1.0, summed), device, numpy.histogram(x, 16, (0, 1), weights=weights)[0])
            channels = numpy.stack([numpy.histogram(x[:, channel], 16, (0, 1))[0] for channel in range(3)])
            self.assert_counts(OPERATORS.histogram(on, 16, 0.0, 1.0, None, 3), device, channels)
            edges = [0.0, 0.1, 0.5, 1.0]
            self.assert_counts(OPERATORS.histogram_between(on, edges), device, numpy.histogram(x, edges)[0])
            kept = integers[(integers >= 0) & (integers < 7)]
            self.assert_counts(OPERATORS.bincount(whole, 7), device, numpy.bincount(kept, minlength=7))
            pairs = OPERATORS.histogram2d(on[:, 0], on[:, 1], [4, 5], [0.0, 1.0, 0.2, 0.8])
            self.assert_counts(pairs, device, numpy.histogram2d(x[:, 0], x[:, 1], [4, 5], [(0, 1), (0.2, 0.8)])[0])

    def test_fake_implementations_agree_with_the_operators(self):
        for device in self.on_devices():
            x, weights, integers = self.x.to(device), self.weights.to(device), self.integers.to(device)
            for operator, *arguments in (
                (OPERATORS.histogram, x, 16, 0.0, 1.0),
                (OPERATORS.histogram, x, 16, 0.0, 1.0, weights, 3),
                (OPERATORS.histogram_between, x.T, [0.0, 0.1, 1.0], weights.T),
                (OPERATORS.bincount, integers, 7),
                (OPERATORS.histogram2d, x[:, 0], x[:, 1], [4, 5], [0.0, 1.0, 0.0, 1.0], weights[:, 0]),
            ):
                torch.library.opcheck(operator.default, tuple(arguments))

    def test_compiled_functions_have_the_same_results_without_a_graph_break(self):
        for device in self.on_devices():
            # on the host, "inductor" would need a compiler for C++
            for options in ({"backend": "aot_eager"},) if device == "cpu" else ({}, {"mode": "reduce-overhead"}):
                x = self.x.to(device)
                compiled = torch.compile(entropy, fullgraph=True, **options)
                for _ in range(4):  # graphs are captured after the first calls
                    torch.testing.assert_close(compiled(x), entropy(x))
                torch.testing.assert_close(compiled(x[:77]), entropy(x[:77]))

    def test_tensors_that_require_grad_are_refused_also_when_compiled(self):
        x = self.x.clone().requires_grad_()
        with self.assertRaisesRegex(ValueError, r"x\.detach"):
            gpuhist.torch.histogram(x, 8, 0.0, 1.0)
        with self.assertRaisesRegex(ValueError, r"weights\.detach"):
            gpuhist.torch.bincount(self.integers, 8, x)
        with self.assertRaisesRegex(Exception, r"x\.detach"):
            torch.compile(entropy, fullgraph=True, backend="aot_eager")(x)


class Import(unittest.TestCase):
    def test_gpuhist_does_not_import_torch(self):
        child = run_python("import gpuhist, sys; sys.exit('torch' in sys.modules)")
        self.assertEqual((child.wait(), child.communicate()[1]), (0, ""))


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    warnings.simplefilter("ignore")
    main()
