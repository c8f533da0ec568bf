#!/usr/bin/env python3
"""Writes the driver's functions into pyx/cupola/driver.pxd, from the two tables that there are.

tools/driver_pxd.py FOLDER [--check]

csrc/runtime/driver/symbols.hpp has the names and versions of the functions. cudaTypedefs.h in
FOLDER, a toolkit's include folder, has their signatures. The lines above the marker in driver.pxd
stay. `--check` writes nothing, and fails where there is something to write.
"""

from __future__ import annotations

import argparse
import difflib
import keyword
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYMBOLS = ROOT / "csrc/runtime/driver/symbols.hpp"
PXD = ROOT / "pyx/cupola/driver.pxd"
MARKER = "# From here on written by tools/driver_pxd.py.\n"

HANDLES = {  # the names of the structs that they point to, as cuda.h has them
    "CUarray": "CUarray_st",
    "CUcontext": "CUctx_st",
    "CUevent": "CUevent_st",
    "CUfunction": "CUfunc_st",
    "CUgraph": "CUgraph_st",
    "CUgraphExec": "CUgraphExec_st",
    "CUgraphNode": "CUgraphNode_st",
    "CUlinkState": "CUlinkState_st",
    "CUmemoryPool": "CUmemPoolHandle_st",
    "CUmodule": "CUmod_st",
    "CUstream": "CUstream_st",
    "CUsurfref": "CUsurfref_st",
    "CUtexref": "CUtexref_st",
}
NUMBERS = {
    "CUdeviceptr": "unsigned long long",
    "CUdevice": "int",
    "CUsurfObject": "unsigned long long",
    "CUtexObject": "unsigned long long",
    "cuuint32_t": "unsigned int",
    "cuuint64_t": "unsigned long long",
}
BY_VALUE = {"CUipcEventHandle": 64, "CUipcMemHandle": 64}  # bytes
FUNCTIONS = {
    "CUhostFn": "void (*CUhostFn)(void* userData) noexcept nogil",
    "CUoccupancyB2DSize": "size_t (*CUoccupancyB2DSize)(int blockSize) noexcept nogil",
}


def rows() -> list[tuple[str, str]]:
    """(name, version) in the table's order."""
    return re.findall(r"(?:REQUIRED|OPTIONAL)\((\w+), (\d+)\)", SYMBOLS.read_text())


def signature(header: str, name: str, version: str) -> list[str]:
    """The parameters as Cython has them."""
    found = re.search(rf"typedef CUresult \(CUDAAPI \*PFN_{name}_v{version}\)\((.*?)\);", header)
    if found is None:
        raise SystemExit(f"cudaTypedefs.h has no PFN_{name}_v{version}")
    parameters = [] if found[1] == "void" else found[1].split(", ")
    return [parameter(one) for one in parameters]


def parameter(text: str) -> str:
    """One of C's as Cython has it: without versions of types, `from` under another name."""
    kind, stars, name = re.fullmatch(r"(.+?) (\**)(\w+)", re.sub(r"_v\d\b", "", text)).groups()
    return f"{kind}{stars} {name}{'_' * keyword.iskeyword(name)}"


def wrapped(head: str, parameters: list[str], tail: str) -> str:
    """A declaration, broken between parameters alone."""
    line = head + ", ".join(parameters) + tail
    if len(line) <= 100:
        return line
    words = ", ".join(one.replace(" ", "\0") for one in parameters) + tail.replace(" ", "\0")
    filled = textwrap.fill(words, 98, initial_indent="    ", subsequent_indent="    ")
    return f"{head}\n{filled}".replace("\0", " ")


def declared(header: str) -> str:
    """The text below the marker."""
    functions, used = [], {"CUresult"}
    for name, version in rows():
        parameters = signature(header, name, version)
        used |= set(re.findall(r"\bCU\w+|\bcuuint\d+_t", " ".join(parameters)))
        functions.append(wrapped(f"cdef CUresult {name}(", parameters, ") noexcept nogil"))
    structs = [f"    struct {HANDLES[name]};" for name in sorted(used & HANDLES.keys())]
    lines = ["cdef extern from *:", '    """', *structs, '    """']
    for name in sorted(used & HANDLES.keys()):
        lines += [f"    struct {HANDLES[name]}:", "        pass"]
    lines += ["", *(f"ctypedef {HANDLES[name]}* {name}" for name in sorted(used & HANDLES.keys()))]
    lines += [f"ctypedef {NUMBERS[name]} {name}" for name in sorted(used & NUMBERS.keys())]
    lines += [f"ctypedef {FUNCTIONS[name]}" for name in sorted(used & FUNCTIONS.keys())]
    for name in sorted(used & BY_VALUE.keys()):
        lines += [f"cdef struct {name}:", f"    char reserved[{BY_VALUE[name]}]"]
    rest = sorted(used - HANDLES.keys() - NUMBERS.keys() - FUNCTIONS.keys() - BY_VALUE.keys())
    pointed = [name for name in rest if re.search(r"PARAMS|MEMCPY|Config|Desc|DESC|Props", name)]
    lines += ["", "# cuda.h's enums."]
    lines += [f"ctypedef int {name}" for name in rest if name not in pointed]
    lines += ["", "# cuda.h's structs, which are passed only by address."]
    lines += [f"ctypedef void {name}" for name in pointed]
    return "\n".join(lines) + "\n\n" + "\n".join(functions) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("include", type=Path, metavar="FOLDER", help="with cudaTypedefs.h")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    before = PXD.read_text()
    head, marker, _ = before.partition(MARKER)
    if not marker:
        raise SystemExit(f"{PXD} has no line {MARKER.strip()!r}")
    after = head + marker + declared((options.include / "cudaTypedefs.h").read_text())
    if not options.check:
        PXD.write_text(after)
    elif after != before:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True)))
        raise SystemExit(f"{PXD} is not what tools/driver_pxd.py writes")


if __name__ == "__main__":
    main()
