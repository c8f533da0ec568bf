#!/usr/bin/env python3
"""Writes csrc/cpu/symbols.def, the CPU device's table of entry points, from a toolkit's headers.

tools/driver_symbols.py FOLDER [--check]

FOLDER is a toolkit's include folder. cudaTypedefs.h and its kin have a type for each name and
version, and that is how cuGetProcAddress is asked; the symbol that is meant follows from the order
of a name's versions (cuMemAlloc, then cuMemAlloc_v2). `--check` writes nothing, and fails where
there is something to write.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "csrc/cpu/symbols.def"
HEADERS = (
    "cudaTypedefs.h",
    "cudaProfilerTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
)
# cuda.h gives a function another's name from that version on, where no type says so.
RENAMED = {("cuGraphInstantiate", 12000): "cuGraphInstantiateWithFlags"}
HEAD = """\
// csrc/cpu/symbols.def - every entry point of the toolkit's headers: the name by which
// cuGetProcAddress is asked, the CUDA version since which it means this symbol, and the symbol.
// CUPOLA_OWN: the form whose stream 0 is the calling thread's own. CUPOLA_ALSO: a second name.
//
// Written by tools/driver_symbols.py, for no one to edit. To implement an entry point is to define
// a function of its name; one that nobody defines answers CUDA_ERROR_NOT_SUPPORTED (symbols.cpp).
"""


def entry_points(folder: Path) -> list[tuple[str, str, int, str]]:
    """(kind, name, version, symbol), in order."""
    text = "".join((folder / header).read_text() for header in HEADERS)
    # What Windows alone has (cuWGL...) is left out.
    found = set(re.findall(r"\*PFN_(cu(?!WGL)\w+?)_v(\d+)(?:_(ptsz|ptds))?\)", text))
    plain: dict[str, list[int]] = {}
    for name, version, own in found:
        if not own:
            plain.setdefault(name, []).append(int(version))
    rows = []
    for name, versions in plain.items():
        for place, version in enumerate(sorted(versions), 1):
            rows.append(("ONE", name, version, name if place == 1 else f"{name}_v{place}"))
    symbols = {(name, version): symbol for _, name, version, symbol in rows}
    for name, version, own in found:
        if own:
            newest = max(v for v in plain[name] if v <= int(version))
            rows.append(("OWN", name, int(version), f"{symbols[name, newest]}_{own}"))
    rows += [("ALSO", *key, symbol) for key, symbol in RENAMED.items()]
    return sorted(rows, key=lambda row: (row[1], row[0] == "OWN", row[2]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a toolkit's include folder")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    rows = entry_points(options.folder)
    lines = [f"CUPOLA_{kind}({name}, {since}, {symbol})" for kind, name, since, symbol in rows]
    wanted = HEAD + "\n".join(lines) + "\n"
    if wanted == TABLE.read_text():
        return 0
    if options.check:
        print(f"{TABLE.relative_to(ROOT)} is not what {options.folder} says", file=sys.stderr)
        return 1
    TABLE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
