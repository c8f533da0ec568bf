# cupola/exceptions.py - the family of exceptions; cupola.error raises them for the library.
"""Exceptions: every exception of cupola is a `cupola.Error`.

::

    Error
      LibraryError             also ImportError: libcupola.so is missing or of another build
      DriverError              a driver call failed, or there is no usable driver
        OutOfMemoryError       also MemoryError
        DeviceAssertionError   also AssertionError: an assert in a kernel failed
      ArgumentError            a wrong argument
        ArgumentTypeError      also TypeError
        ArgumentValueError     also ValueError
          ExchangeError        also BufferError: an array that can't be exchanged by DLPack
      ImageError               a bad image, or one with no code for the device
      CompileError             source that does not compile, or objects that do not link
      NotFoundError
        UnknownNameError       also KeyError: no kernel, variable or device of that name
        MissingFileError       also FileNotFoundError: no such image, compiler or part of cupola
      ChunkError               a chunk of a pipeline failed; ``__cause__`` is the error
      cupola.build.error.BuildError  also RuntimeError: a package's kernels can't be built
"""

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "ChunkError",
    "CompileError",
    "DeviceAssertionError",
    "DriverError",
    "Error",
    "ExchangeError",
    "ImageError",
    "LibraryError",
    "MissingFileError",
    "NotFoundError",
    "OutOfMemoryError",
    "UnknownNameError",
]


class Error(Exception):
    """The base class of cupola's exceptions."""

    __module__ = "cupola"


class LibraryError(Error, ImportError):
    """libcupola.so cannot be used: it is missing, another library, or of another build."""

    __module__ = "cupola"


class DriverError(Error):
    """A call of the CUDA driver failed, or no driver is usable.

    Attributes
    ----------
    code : int
        The driver's CUresult; 0 where no driver call was made.
    name : str
        Its name, as in ``"CUDA_ERROR_ILLEGAL_ADDRESS"``; empty where `code` is 0.
    log : str
        The JIT compiler's log; the report of the fault that ended the context, where an earlier
        error had it; empty where there is neither.
    """

    __module__ = "cupola"

    def __init__(self, text: str = "", code: int = 0, name: str = "", log: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.name = name
        self.log = log

    def __reduce__(self):
        return type(self), (str(self), self.code, self.name, self.log)


class OutOfMemoryError(DriverError, MemoryError):
    """The device, or page-locked host memory, is exhausted."""

    __module__ = "cupola"


def _indices(text: str) -> tuple[int, ...] | None:
    return tuple(map(int, text.split())) or None


class DeviceAssertionError(DriverError, AssertionError):
    """An ``assert`` in a kernel failed, in a launch before the call that raises this.

    The CPU device knows all of it. NVIDIA's driver writes it to standard error; cupola reads it
    there only while ``sys.stdout`` is replaced, and the kernel's name is not in it. An attribute
    without a known value is None.

    Attributes
    ----------
    file : str or None
        The source file, as the compiler was given it.
    line : int or None
        The line of the ``assert``, from 1.
    function : str or None
        The function that it is in.
    expression : str or None
        The expression that was false.
    kernel : str or None
        The kernel's name.
    block, thread : tuple of 3 int, or None
        ``blockIdx`` and ``threadIdx`` as (x, y, z). Of several failures it is one.
    """

    __module__ = "cupola"

    def __init__(
        self, text: str = "", code: int = 0, name: str = "", log: str = "", assertion: str = ""
    ) -> None:
        super().__init__(text, code, name, log)
        self._assertion = assertion
        file, line, function, block, thread, kernel, expression = (
            assertion.split("\n", 6) if assertion else [""] * 7
        )
        self.file = file or None
        self.line = int(line) if line else None
        self.function = function or None
        self.expression = expression or None
        self.kernel = kernel or None
        self.block = _indices(block)
        self.thread = _indices(thread)

    def __reduce__(self):
        return type(self), (str(self), self.code, self.name, self.log, self._assertion)


class ArgumentError(Error):
    """An argument is wrong. The subclasses are also TypeError or ValueError."""

    __module__ = "cupola"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a wrong type, or there are too many or too few arguments."""

    __module__ = "cupola"


class ArgumentValueError(ArgumentError, ValueError):
    """An argument has a value that is not allowed."""

    __module__ = "cupola"


class ExchangeError(ArgumentValueError, BufferError):
    """An array of cupola or of another library can't be exchanged by DLPack."""

    __module__ = "cupola"


class ImageError(Error):
    """A kernel image is invalid, unsuitable for the device, or inconsistent with its manifest.

    Attributes
    ----------
    log : str
        The JIT compiler's log, empty where there is none.
    """

    __module__ = "cupola"

    def __init__(self, text: str = "", log: str = "") -> None:
        super().__init__(text)
        self.log = log

    def __reduce__(self):
        return type(self), (str(self), self.log)


class CompileError(Error):
    """Source code does not compile, or compiled code does not link.

    The text begins with the file and line of the first error.

    Attributes
    ----------
    log : str
        The compiler's complete output.
    """

    __module__ = "cupola"

    def __init__(self, text: str = "", log: str = "") -> None:
        super().__init__(text)
        self.log = log

    def __reduce__(self):
        return type(self), (str(self), self.log)


class NotFoundError(Error):
    """A name was not found. The subclasses are also KeyError or FileNotFoundError."""

    __module__ = "cupola"


class UnknownNameError(NotFoundError, KeyError):
    """No kernel, variable or device of that name."""

    __module__ = "cupola"

    def __str__(self) -> str:  # KeyError would show the text's repr
        return str(self.args[0]) if self.args else ""


class MissingFileError(NotFoundError, FileNotFoundError):
    """An image, a compiler or a part of cupola was not found in any of the searched places."""

    __module__ = "cupola"


class ChunkError(Error):
    """A chunk of `cupola.pipeline` failed; ``__cause__`` is the error itself.

    Attributes
    ----------
    first, last : cupola.Chunk
        The same chunk. Where a device failed with several chunks on it, the first and the last of
        them; one of these failed.
    """

    __module__ = "cupola"

    def __init__(self, text: str = "", first: object = None, last: object = None) -> None:
        super().__init__(text)
        self.first = first
        self.last = last

    def __reduce__(self):
        return type(self), (str(self), self.first, self.last)
