# cupola/driver.pyx - the CUDA driver in use: which one, and why.
# cython: language_level=3
"""The CUDA driver in use: NVIDIA's, or cupola's own CPU device."""

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_driver_get, cupola_driver_info,
    cupola_driver_loaded, cupola_driver_report, cupola_driver_select, text,
)
from cupola._driver cimport cupola_driver_check, cupola_driver_symbol, cupola_driver_symbols
from cupola.abi cimport require
from cupola.error cimport check

# Its functions behind ones that can be called at any time; see driver.pxi, which the build writes.
cdef const cupola_driver_symbol* table = cupola_driver_symbols(NULL)

include "driver.pxi"


cdef bint ready = False


cdef int ensure() except -1:
    if ready:
        return 0
    return load()


cdef int load() except -1:
    global ready
    cdef cupola_driver_info info
    with nogil:
        check(cupola_driver_get(&info))
    ready = True
    if info.notice != NULL and info.notice[0] != 0:
        import warnings
        warnings.warn(text(info.notice), RuntimeWarning, stacklevel=2)
    return 0


cdef int fail_result(int code, const char* call) except -1 nogil:
    return check(cupola_driver_check(code, call))


def info():
    """The driver in use; it is loaded and initialised where that has not happened yet.

    Returns
    -------
    DriverInfo
        A named tuple: `kind` ("cuda" for NVIDIA's driver, "cpu" for the CPU device), `path` of
        the loaded file, `version` (13000 is CUDA 13.0), `reason` (one line that says why this
        one was taken) and `notice` (a warning about one that was passed over, or "").

    Raises
    ------
    DriverError
        Where no driver is usable; the text says what was tried.
    """
    from cupola.records import DriverInfo
    cdef cupola_driver_info found
    ensure()
    check(cupola_driver_get(&found))
    return DriverInfo(
        text(found.kind), text(found.path), found.version, text(found.reason),
        text(found.notice))


def loaded():
    """Whether a driver is loaded already."""
    return cupola_driver_loaded() != 0


def report():
    """A line for each place where a driver was looked for; empty before one was asked for."""
    return text(cupola_driver_report())


def select(str choice not None):
    """Choose the driver, in place of the environment's CUPOLA_DRIVER.

    Parameters
    ----------
    choice : str
        ``"auto"``, ``"cuda"``, ``"cpu"``, or the path of a driver library.

    Raises
    ------
    Error
        Once a driver is loaded: a process has one.
    """
    check(cupola_driver_select(choice.encode()))


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
