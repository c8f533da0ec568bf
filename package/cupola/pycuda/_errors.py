# cupola/pycuda/_errors.py - PyCUDA's exceptions, and their choice by the driver's result codes.
"""Exceptions of ``pycuda.driver``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cupola import exceptions


class Error(exceptions.Error):
    """The base class of PyCUDA's errors."""


class CompileError(Error):
    """Source code does not compile.

    Attributes
    ----------
    msg, stdout, stderr : str
    command_line : list of str
        The compiler's options.
    """

    def __init__(self, msg, command_line, stdout=None, stderr=None):
        super().__init__(msg)
        self.msg, self.command_line = msg, command_line
        self.stdout, self.stderr = stdout, stderr

    def __str__(self):
        parts = [self.msg, f"[command: {' '.join(self.command_line)}]"]
        parts += [f"[stdout:\n{self.stdout}]"] if self.stdout else []
        parts += [f"[stderr:\n{self.stderr}]"] if self.stderr else []
        return "\n".join(parts)


class MemoryError(Error):
    """Memory of the device or page-locked memory is exhausted."""


class LogicError(Error):
    """A call that is wrong in any circumstances."""


class LaunchError(Error):
    """A kernel failed; often a later call reports it."""


class RuntimeError(Error):
    """A failure that depends on circumstances, such as a missing file."""


_CLASSES = {
    "CUDA_ERROR_OUT_OF_MEMORY": MemoryError,
    "CUDA_ERROR_LAUNCH_FAILED": LaunchError,
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": LaunchError,
    "CUDA_ERROR_LAUNCH_TIMEOUT": LaunchError,
    "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING": LaunchError,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": RuntimeError,
    "CUDA_ERROR_FILE_NOT_FOUND": RuntimeError,
    "CUDA_ERROR_NOT_READY": RuntimeError,
    "CUDA_ERROR_ECC_UNCORRECTABLE": RuntimeError,
}


def class_of(name: str) -> type[Error]:
    """The exception for a result code, by its name."""
    return _CLASSES.get(name, LogicError)


def translate(error: exceptions.Error) -> Exception:
    """PyCUDA's exception for one of cupola's; a wrong argument stays as it is."""
    if isinstance(error, Error):
        return error
    if isinstance(error, exceptions.DriverError):
        return class_of(error.name)(str(error))
    if isinstance(error, exceptions.MissingFileError):
        return RuntimeError(str(error))
    if isinstance(error, (exceptions.NotFoundError, exceptions.ImageError)):
        return LogicError(str(error))
    if isinstance(error, exceptions.ArgumentTypeError):
        return error
    return LogicError(str(error))


@contextmanager
def translated() -> Iterator[None]:
    """Raises PyCUDA's exceptions in place of cupola's."""
    try:
        yield
    except exceptions.Error as error:
        raise translate(error) from error
