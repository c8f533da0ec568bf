# cupola/library.py - chooses, checks and loads libcupola.so.
"""Loads libcupola.so: the packaged file, or the one that CUPOLA_LIBRARY names."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from typing import TYPE_CHECKING, BinaryIO

from .exceptions import LibraryError

if TYPE_CHECKING:
    import io
    import types
    from importlib.machinery import ModuleSpec

SONAME = "libcupola.so"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
PACKAGED = os.path.join(FOLDER, SONAME)
MACHINES = {62: "x86_64", 183: "aarch64"}  # by the number in an ELF file's header

_loaded: list[tuple[str, ctypes.CDLL]] = []


def path() -> str:
    """Path of the loaded libcupola.so, or of the one to load."""
    if _loaded:  # independent of later changes of environment and current folder
        return _loaded[0][0]
    asked = os.environ.get("CUPOLA_LIBRARY")
    return os.path.abspath(asked) if asked else PACKAGED


def load() -> None:
    """Load the library, so that cupola's modules, which need its SONAME, bind to this file.

    Raises
    ------
    LibraryError
        Also an ImportError: the file is missing, can't be loaded, or is not libcupola.so.
    """
    if _loaded:
        return
    chosen = path()
    found = problem(chosen)
    if found is None:
        try:
            library = ctypes.CDLL(chosen)
        except OSError as error:
            found = older_system(str(error)) or f"it can't be loaded: {error}"
        else:
            if hasattr(library, "cupola_abi_version"):
                _loaded.append((chosen, library))
                offer_compiler()
                return
            found = "it has no symbol cupola_abi_version"
    if chosen == PACKAGED:
        wheel = f"install cupola's wheel for {os.uname().machine}"
        remedy = f"{wheel}, or build and install cupola again"
        text = f"cupola's library {chosen} can't be used: {found}; {remedy}"
    else:
        text = (
            f"CUPOLA_LIBRARY={os.environ.get('CUPOLA_LIBRARY')} ({chosen}) can't be used: {found}; "
            f"the packaged library is {PACKAGED}"
        )
    raise LibraryError(text, name="cupola", path=chosen)


def calls() -> ctypes.CDLL:
    """The functions of the library, which is loaded where it is not yet."""
    load()
    return _loaded[0][1]


def offer_compiler() -> None:
    """Name the compiler of the package ziglang, if it is installed, to the CPU device.

    The device is a library of C++ and takes it where it finds no other. Nothing is imported.
    """
    if "CUPOLA_CPU_ZIG" in os.environ:
        return
    beside = os.path.dirname(os.path.dirname(FOLDER))
    for folder in (beside, *sys.path):
        file = os.path.join(folder, "ziglang", "zig")
        if os.path.isabs(folder) and os.access(file, os.X_OK):
            os.environ["CUPOLA_CPU_ZIG"] = file
            return


def older_system(text: str) -> str | None:
    """The library that this machine has in an older version, by the loader's message."""
    asked = re.search(r"version [`'](GLIBC|GLIBCXX|CXXABI)_([\d.]+)' not found", text)
    if asked is None:
        return None
    if asked[1] != "GLIBC":
        return f"it needs a libstdc++ with {asked[1]}_{asked[2]}, and this machine's is older"
    own = os.confstr("CS_GNU_LIBC_VERSION")
    return f"it needs glibc {asked[2]} or newer, and this machine has {own}"


def refuse_other_python(error: ImportError) -> None:
    """Name the interpreters that cupola was built for, where this one is another.

    Raises
    ------
    LibraryError
        From `error`, if the package has no compiled module for this interpreter.
    """
    package = os.path.dirname(FOLDER)
    if any(os.path.exists(os.path.join(package, f"abi{each}")) for each in EXTENSION_SUFFIXES):
        return
    built = [
        file[4:-3] for file in sorted(os.listdir(package)) if re.fullmatch(r"abi\..+\.so", file)
    ]
    raise LibraryError(
        f"cupola at {package} has no modules for this Python ({EXTENSION_SUFFIXES[0][1:-3]}): "
        f"it was built for {' and '.join(built) or 'none'}; build and install cupola for this "
        "Python",
        name="cupola",
        path=package,
    ) from error


def problem(file: str) -> str | None:
    """The reason why a file can't be libcupola.so, found without loading it; None if valid."""
    try:
        with open(file, "rb") as opened:
            header = header_of(opened)
            if cut := truncation(opened, header):
                return cut
            name, built = soname(opened, header), machine(header)
    except FileNotFoundError:
        return "there is no such file"
    except (OSError, struct.error, ValueError, OverflowError, MemoryError) as error:
        return f"it is not a readable ELF library ({error})"
    here = os.uname().machine
    if here in MACHINES.values() and built != here:
        return f"it is for {built}, and this Python runs on {here}"
    # With another SONAME, the modules would load a second library.
    return None if name == SONAME else f"its SONAME is {name or 'missing'}, not {SONAME}"


class WholeModuleLoader(ExtensionFileLoader):
    """Loads compiled modules. The loader of the system maps a truncated file, and the process would
    end with a bus error.
    """

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """The module, as Python's own loader makes it."""
        require_whole(self.path)
        return super().create_module(spec)


def refuse_truncated_modules(folders: list[str]) -> None:
    """Import compiled modules of these folders by `WholeModuleLoader`."""
    for folder in folders:
        sys.path_importer_cache[folder] = FileFinder(
            folder,
            (WholeModuleLoader, EXTENSION_SUFFIXES),
            (SourceFileLoader, SOURCE_SUFFIXES),
            (SourcelessFileLoader, BYTECODE_SUFFIXES),
        )


def require_whole(module: str) -> None:
    """Raise for a compiled module whose file is truncated: an access beyond the end would kill the
    process. Other faults are found by the system's loader.

    Raises
    ------
    LibraryError
        Also an ImportError.
    """
    try:
        with open(module, "rb", buffering=0) as opened:
            cut = truncation(opened, header_of(opened))
    except (OSError, struct.error, ValueError) as error:
        cut = f"it is not a readable ELF library ({error})"
    if cut:
        raise LibraryError(
            f"cupola's module {module} can't be used: {cut}; install cupola again",
            name="cupola",
            path=module,
        )


def truncation(file: BinaryIO | io.FileIO, header: bytes) -> str:
    """How an ELF file with this header is truncated; "" where it is whole."""
    described, size = described_size(header), os.fstat(file.fileno()).st_size
    if size >= described:
        return ""
    return f"it is truncated: it has {size} bytes, and its header describes {described}"


def machine(header: bytes) -> str:
    """The processor that an ELF file is for."""
    (number,) = struct.unpack_from("<H", header, 18)
    return MACHINES.get(number, f"machine {number} of the ELF format")


def header_of(file: BinaryIO | io.FileIO) -> bytes:
    """The header of a 64-bit little-endian ELF file."""
    header = file.read(64)
    if header[:4] != b"\x7fELF" or header[4:6] != b"\x02\x01":
        raise ValueError("not 64-bit little-endian ELF")
    return header


def described_size(header: bytes) -> int:
    """The end of an ELF file's last part: its table of sections."""
    (sections,) = struct.unpack_from("<Q", header, 40)
    size, count = struct.unpack_from("<HH", header, 58)
    return int(sections + size * count)


def soname(file: BinaryIO, header: bytes) -> str | None:
    """The SONAME of an ELF file with this header."""
    (programs,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    file.seek(programs)
    table = file.read(size * count)
    segments, dynamic = [], None
    for at in range(0, size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", table, at)
        if kind == 1:  # PT_LOAD
            segments.append((address, offset, length))
        elif kind == 2:  # PT_DYNAMIC
            dynamic = offset, length
    if dynamic is None:
        raise ValueError("it has no dynamic section")
    file.seek(dynamic[0])
    content = file.read(dynamic[1])
    entries = dict(struct.iter_unpack("<qQ", content[: len(content) // 16 * 16]))
    if 14 not in entries or 5 not in entries:  # DT_SONAME, DT_STRTAB
        return None
    for address, offset, length in segments:
        if address <= entries[5] < address + length:
            file.seek(offset + entries[5] - address + entries[14])
            return file.read(256).split(b"\0")[0].decode("utf-8", "replace")
    return None
