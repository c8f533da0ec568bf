"""The driver's functions for others: by cupola/driver.h, and as cupola.driver.pxd declares them."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cupola import paths

ROOT = Path(__file__).parent.parent


class Symbol(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_int),
        ("function", ctypes.c_void_p),
    ]


@pytest.fixture(scope="module")
def library():
    library = ctypes.CDLL(paths.library())
    library.cupola_driver_symbols.restype = ctypes.POINTER(Symbol)
    library.cupola_driver_find.restype = ctypes.POINTER(Symbol)
    library.cupola_last_error.restype = ctypes.c_char_p
    return library


def table():
    text = (ROOT / "csrc/runtime/driver/symbols.hpp").read_text()
    found = re.findall(r"(?:REQUIRED|OPTIONAL)\((\w+), (\d+)\)", text)
    return [(name, int(version)) for name, version in found]


def test_the_library_lists_its_table(library):
    count = ctypes.c_size_t()
    found = library.cupola_driver_symbols(ctypes.byref(count))
    listed = [(found[i].name.decode(), found[i].version) for i in range(count.value)]
    assert listed == table()
    assert len({found[i].function for i in range(count.value)}) == count.value
    assert library.cupola_driver_find(b"cuMemAlloc").contents.version == 3020
    assert not library.cupola_driver_find(b"cuMemAlloc_v2") and not library.cupola_driver_find(None)


def test_declarations_are_in_the_tables_order():
    """The wrappers which the build makes of them go by their place."""
    text = (ROOT / "pyx/cupola/driver.pxd").read_text()
    assert re.findall(r"^cdef CUresult (\w+)\(", text, re.MULTILINE) == [n for n, _ in table()]


def test_declarations_are_what_the_toolkit_says():
    import images

    for folder in images.nvcc().include:
        if (folder / "cudaTypedefs.h").is_file():
            command = [sys.executable, ROOT / "tools/driver_pxd.py", folder, "--check"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            return
    pytest.skip("this toolkit has no cudaTypedefs.h")


def test_calls_go_to_the_driver(library, driver):
    version = ctypes.c_int()
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))
    address = library.cupola_driver_find(b"cuDriverGetVersion").contents.function
    assert function(address)(ctypes.byref(version)) == 0
    import cupola

    assert version.value == cupola.driver.info().version
    assert library.cupola_driver_check(0, b"cuInit") == 0
    assert library.cupola_driver_check(1, b"cuInit") == 1
    assert b"cuInit" in library.cupola_last_error()
    assert b"CUDA_ERROR_INVALID_VALUE" in library.cupola_last_error()


FORKED = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
library.cupola_driver_find.restype = ctypes.POINTER(ctypes.c_void_p * 3)
find = lambda name: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))(
    library.cupola_driver_find(name).contents[2])
count = ctypes.c_int()
assert find(b"cuDeviceGetCount")(count) == 0 and count.value >= 1
child = os.fork()
if child == 0:
    os._exit(find(b"cuDeviceGetCount")(count))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_is_told(driver):
    """CUDA_ERROR_NOT_INITIALIZED; the driver itself is not asked."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, paths.library()], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3\n"


NO_DRIVER = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.cupola_driver_find.restype = ctypes.POINTER(ctypes.c_void_p * 3)
library.cupola_last_error.restype = ctypes.c_char_p
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)
print(call(library.cupola_driver_find(b"cuInit").contents[2])(0))
print(library.cupola_last_error().decode())
"""


def test_without_a_driver_the_reason_is_kept(tmp_path):
    import os

    missing = tmp_path / "libnothing.so"
    done = subprocess.run(
        [sys.executable, "-c", NO_DRIVER, paths.library()],
        env={**os.environ, "CUPOLA_DRIVER": str(missing)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    code, text = done.stdout.split("\n", 1)
    assert code == "3" and str(missing) in text


def test_exports_are_the_api_under_one_version():
    """Hidden visibility but for what the headers declare."""
    elf = pytest.importorskip("elftools.elf.elffile")
    headers = (ROOT / "csrc/include/cupola").glob("*.h")
    text = "".join(path.read_text() for path in headers)
    declared = set(re.findall(r"\bCUPOLA_API\s[^;(]*?\b(cupola_\w+)\(", text))
    number = re.search(r"#define CUPOLA_ABI_VERSION (\d+)", text)[1]
    with open(paths.library(), "rb") as file:
        opened = elf.ELFFile(file)
        versions = opened.get_section_by_name(".gnu.version")
        names = [
            [auxiliary.name for auxiliary in auxiliaries]
            for _, auxiliaries in opened.get_section_by_name(".gnu.version_d").iter_versions()
        ]
        exported = {}
        for index, symbol in enumerate(opened.get_section_by_name(".dynsym").iter_symbols()):
            if symbol["st_shndx"] == "SHN_UNDEF":
                continue
            version = versions.get_symbol(index)["ndx"]
            exported[symbol.name] = version if isinstance(version, str) else version & 0x7FFF
    assert [name for (name, *_) in names] == ["libcupola.so", f"CUPOLA_{number}"]
    exported.pop(f"CUPOLA_{number}")
    assert set(exported) == declared
    assert set(exported.values()) == {2}
