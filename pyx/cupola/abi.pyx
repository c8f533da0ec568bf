# cupola/abi.pyx - checks that compiled modules fit the loaded libcupola.so.
# cython: language_level=3

import re

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_abi_version, cupola_build_id,
    cupola_library_path, cupola_version, text,
)

from cupola import library
from cupola.exceptions import LibraryError


cdef extern from "declarations.h":
    const char* CUPOLA_DECLARATIONS


def __getattr__(str name):
    """Markers that modules which cimport cupola import; see cupola/build/declarations.py."""
    asked = re.fullmatch(r"(\w+)_([0-9a-f]{8})_(\d+)_([0-9a-f]{8})", name)
    if asked is None:
        raise AttributeError(f"module 'cupola.abi' has no attribute {name!r}")
    title, layout, count, digest = asked.groups()
    for line in text(CUPOLA_DECLARATIONS).splitlines():
        has_title, has_layout, methods = line.split(" ")
        if has_title != title:
            continue
        known = methods.split(",") if methods else []
        fits = int(count) == 0 or (int(count) <= len(known) and known[int(count) - 1] == digest)
        if has_layout == layout and fits:
            return object
        break
    raise LibraryError(
        "the module being imported, or one that it imports, was compiled with other "
        f"declarations of cupola's {title.rpartition('_')[2]} than those of cupola {version()} at "
        f"{path()}: rebuild it with this cupola",
        name="cupola",
    )


cdef int require(str module, int abi_version, const char* build_id) except -1:
    cdef int loaded = cupola_abi_version()
    if loaded != abi_version:  # of another ABI, only the function of the version is reliable
        raise LibraryError(
            f"{module} was built for version {abi_version} of libcupola's ABI, but the "
            f"libcupola.so that is loaded ({library.path()}) has version {loaded}",
            name="cupola",
        )
    if text(build_id) != text(cupola_build_id()):
        raise LibraryError(
            f"{module} is of build {text(build_id)}, but the libcupola.so that is loaded "
            f"({path()}) is of build {text(cupola_build_id())}; build and install cupola "
            "again, unset CUPOLA_LIBRARY, or load no other libcupola.so before",
            name="cupola",
        )
    return 0


def path():
    """Path of the loaded libcupola.so."""
    return text(cupola_library_path())


def version():
    """Version of the loaded libcupola.so, as in ``"0.1.0"``."""
    return text(cupola_version())


def build_id():
    """Build id that libcupola.so and the compiled modules share."""
    return text(cupola_build_id())


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
