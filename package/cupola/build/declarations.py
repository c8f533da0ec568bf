# package/cupola/build/declarations.py - ABI checks of modules that cimport cupola.
"""The ABI of .pxd files: a digest of each class and struct, and the class that carries it.

A module that cimports a class calls its methods by their index in a table and reads its fields by
their offsets. At import, Cython checks only the size of an instance.  So each installed .pxd also
declares a class of ``cupola.abi`` whose name contains the digests.  Cython imports every class of
a .pxd that is cimported, directly or indirectly, used or not. ``cupola.abi`` returns the class if
the digests fit the declarations that it was built with, and otherwise raises an error.  Functions
do not need this: Cython finds them by name and compares their signatures.

There is a digest after each method. So methods added at the end of a class are compatible with
modules that were compiled before.  (Except for modules with derived classes: their own methods
follow the base's in the table.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?:cdef|cpdef|ctypedef)\s+(?:public\s+|api\s+)?"
    r"(class|packed struct|struct|union|enum)\s+(\w+)"
)
METHOD = re.compile(r"(?:cdef|cpdef)\s[^(]*?(\w+)\((?!\*)")


@dataclass(frozen=True)
class Declared:
    """A class or struct: the digest of its layout, and one digest up to each method."""

    module: str
    name: str
    layout: str
    methods: tuple[str, ...]

    @property
    def title(self) -> str:
        """As in ``kernel_Kernel``."""
        return f"{self.module}_{self.name}"

    @property
    def marker(self) -> str:
        """The name with all of it: title, layout, number of methods, their digest."""
        last = self.methods[-1] if self.methods else digest("")
        return f"{self.title}_{self.layout}_{len(self.methods)}_{last}"


def digest(text: str) -> str:
    """Eight hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read(path: Path) -> list[Declared]:
    """The classes, structs, unions and enums of a public .pxd file."""
    found: list[Declared] = []
    if path.name.startswith("_"):  # internal to cupola
        return found
    for head, body in _blocks(_statements(path.read_text())):
        kind, name = BLOCK.match(head).groups()
        methods: list[str] = []
        layout = [head]
        for line in body:
            if kind == "class" and METHOD.match(line):
                methods.append(digest((methods[-1] if methods else "") + line))
            else:
                layout.append(line)
        found.append(Declared(path.stem, name, digest("\n".join(layout)), tuple(methods)))
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Pairs (indent, statement) without comments. A statement of several lines becomes one line."""
    text = re.sub(r'"""(.*?)"""', "", text, flags=re.DOTALL)
    kept, indent = "", 0
    for line in text.splitlines():
        code = re.sub(r"\s*#.*", "", line).rstrip()
        if not code:
            continue
        if not kept:
            indent = len(code) - len(code.lstrip())
        kept = f"{kept} {code.strip()}".strip()
        if kept.count("(") == kept.count(")") and not kept.endswith("\\"):
            # Spaces matter only between words.
            yield indent, re.sub(r"\s*([(),*\[\]])\s*", r"\1", re.sub(r"\s+", " ", kept))
            kept = ""


def _blocks(statements: Iterator[tuple[int, str]]) -> list[tuple[str, list[str]]]:
    """(head, statements in it); `extern` declarations count only if they have fields."""
    blocks: list[tuple[str, list[str]]] = []
    level = -1  # indentation of the current block; -1: no block
    for indent, line in statements:
        if level >= 0 and indent > level:
            if line != "pass":
                blocks[-1][1].append(line)
            continue
        level = -1
        # A forward declaration of a struct has no layout to compare.
        if BLOCK.match(line) and ":" in line:
            level = indent
            blocks.append((line, []))
    return [(head, body) for head, body in blocks if body or " class " in head]


def installed(path: Path) -> str:
    """The text of an installed .pxd, with the classes that carry the digests."""
    text = path.read_text()
    markers = [
        f"    ctypedef class cupola.abi.{one.marker} [object PyObject, check_size ignore]:\n"
        "        pass\n"
        for one in read(path)
    ]
    if not markers:
        return text
    why = (
        "\n# Written by the build: what a module that cimports this asks for at its import, so\n"
        "# that one which was compiled with other declarations is refused.\n"
    )
    return f"{text.rstrip()}\n{why}cdef extern from *:\n{''.join(markers)}"


def header(paths: list[Path]) -> str:
    """C++ for abi.pyx: a line for each class of this build."""
    lines = [
        f'    "{one.title} {one.layout} {",".join(one.methods)}\\n"'
        for p in paths
        for one in read(p)
    ]
    return (
        "// written by the build: the classes that other modules cimport\n"
        "static const char* const CUPOLA_DECLARATIONS =\n" + "\n".join(lines) + ";\n"
    )


SYMBOL = re.compile(r"cdef CUresult (cu\w+)\((.*)\)noexcept nogil")


def wrappers(path: Path) -> str:
    """Cython code for driver.pyx: each function of driver.pxd, as a call through the library's
    table, which has the same order.
    """
    made = ["# Written by the build, from driver.pxd."]
    for _, line in _statements(path.read_text()):
        found = SYMBOL.fullmatch(line)
        if found is None:
            continue
        pairs = [re.fullmatch(r"(.*?) ?(\w+)", one).groups() for one in found[2].split(",") if one]
        given = ", ".join(f"{kind} {name}" for kind, name in pairs)
        kinds, names = (
            (", ".join(words) for words in zip(*pairs, strict=True)) if pairs else ("", "")
        )
        function = f"<CUresult (*)({kinds}) noexcept nogil>table[{len(made) - 1}].function"
        made.append(
            f"cdef CUresult {found[1]}({given}) noexcept nogil:\n    return ({function})({names})"
        )
    return "\n\n\n".join(made) + "\n"
