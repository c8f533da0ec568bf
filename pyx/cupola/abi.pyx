# cupola/abi.pyx - checks that the loaded libcupola.so and the compiled modules are of one build.
# cython: language_level=3

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_abi_version, cupola_build_id,
    cupola_library_path, cupola_version, text,
)

from cupola import library
from cupola.exceptions import LibraryError


cdef int cupola_abi_1() noexcept nogil:
    return 1


cdef int require(str module, int abi_version, const char* build_id) except -1:
    cdef int loaded = cupola_abi_version()
    if loaded != abi_version:  # nothing but that function can be relied on
        raise LibraryError(
            f"{module} was built for version {abi_version} of libcupola's ABI, but the "
            f"libcupola.so that is loaded ({library.path()}) has version {loaded}",
            name="cupola",
        )
    if text(build_id) != text(cupola_build_id()):
        raise LibraryError(
            f"{module} is of build {text(build_id)}, but the libcupola.so that is loaded "
            f"({path()}) is of build {text(cupola_build_id())}; build and install cupola "
            "again, or take CUPOLA_LIBRARY back",
            name="cupola",
        )
    return 0


def path():
    """Path of the libcupola.so that is loaded."""
    return text(cupola_library_path())


def version():
    """Version of the libcupola.so that is loaded, as in ``"0.1.0"``."""
    return text(cupola_version())


def build_id():
    """Build id which libcupola.so and the compiled modules share."""
    return text(cupola_build_id())


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
