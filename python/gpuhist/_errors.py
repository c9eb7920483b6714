"""The exceptions of the package. Each error of the C++ library becomes one of these, with the text of the library.

Failures of single inputs (damage, a file that cannot be read) raise nothing: they are in the results.
`Results.check()` raises them.
"""


class GpuhistError(Exception):
    """Base of all errors of this package."""


class InvalidArgumentError(GpuhistError, ValueError):
    """The value of an option: an unknown scheme, a condition that cannot be parsed, a memory limit that is too small."""


class MisuseError(GpuhistError, RuntimeError):
    """A call that is not allowed: feeding an input that has ended, or one that another thread is feeding."""


class ClosedError(GpuhistError, RuntimeError):
    """The counter was finished or cancelled, or a failure has ended it."""


class EngineError(GpuhistError, RuntimeError):
    """The requested engine is not available, or failed."""


class OutOfMemoryError(GpuhistError, MemoryError):
    """Memory could not be allocated."""


class SystemFailure(GpuhistError, OSError):
    """The system refused a resource: a thread, a file."""


class InternalError(GpuhistError, RuntimeError):
    """An exception that the library does not expect."""


class CallbackError(GpuhistError, RuntimeError):
    """A callback failed where its exception cannot be passed on."""


class IncompleteError(GpuhistError):
    """Raised by `Results.check()`: an input failed, or the counting. The text names the first failure."""
