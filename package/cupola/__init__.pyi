# cupola/__init__.pyi - the public names and where they are.
from cupola import driver as driver
from cupola import exceptions as exceptions
from cupola import paths as paths
from cupola.array import Array as Array
from cupola.array import asarray as asarray
from cupola.array import empty as empty
from cupola.array import empty_like as empty_like
from cupola.array import pinned_empty as pinned_empty
from cupola.array import to_device as to_device
from cupola.array import zeros as zeros
from cupola.compiler import compile as compile  # noqa: A004
from cupola.device import Device as Device
from cupola.device import devices as devices
from cupola.device import memory_info as memory_info
from cupola.event import Event as Event
from cupola.exceptions import ArgumentError as ArgumentError
from cupola.exceptions import ArgumentTypeError as ArgumentTypeError
from cupola.exceptions import ArgumentValueError as ArgumentValueError
from cupola.exceptions import CompileError as CompileError
from cupola.exceptions import DriverError as DriverError
from cupola.exceptions import Error as Error
from cupola.exceptions import ImageError as ImageError
from cupola.exceptions import LibraryError as LibraryError
from cupola.exceptions import MissingFileError as MissingFileError
from cupola.exceptions import NotFoundError as NotFoundError
from cupola.exceptions import OutOfMemoryError as OutOfMemoryError
from cupola.exceptions import UnknownNameError as UnknownNameError
from cupola.images import load as load
from cupola.kernel import Kernel as Kernel
from cupola.launch import Launch as Launch
from cupola.module import Module as Module
from cupola.paths import get_include as get_include
from cupola.shipped import convolve as convolve
from cupola.shipped import hello as hello
from cupola.shipped import mandelbrot as mandelbrot
from cupola.shipped import saxpy as saxpy
from cupola.shipped import shipped_kernels as shipped_kernels
from cupola.stream import Stream as Stream
from cupola.transfer import In as In
from cupola.transfer import InOut as InOut
from cupola.transfer import Out as Out
from cupola.version import __version__ as __version__

__all__: list[str]
