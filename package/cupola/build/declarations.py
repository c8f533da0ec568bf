# package/cupola/build/declarations.py - what a module that cimports cupola was compiled with, as
# names that it asks for when it is imported.
"""The ABI of .pxd files: a digest of each class and struct, and the class that carries it.

A module that cimports a class calls its methods by their place in a table and reads its fields by
their offsets; when it is imported Cython checks the size of an instance and nothing else.  So each
installed .pxd declares, beside its own, a class of ``cupola.abi`` whose name has the digests in
it.  Cython imports every class of a .pxd that is cimported, also by way of another, used or not;
``cupola.abi`` gives what it is asked for where that fits the declarations it was built with, else
an error that says what to do.  Functions need none of this: Cython finds them by their names and
compares their signatures.

Methods have a digest after each of them, so that methods added at the end of a class change
nothing for modules that were compiled before.  (But for those that derive a class from it: their
methods come behind the ones they know.)
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
    """A class or struct: its layout's digest, and one of its methods up to each of them."""

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
        """The name which says all of it: title, layout, number of methods, their digest."""
        last = self.methods[-1] if self.methods else digest("")
        return f"{self.title}_{self.layout}_{len(self.methods)}_{last}"


def digest(text: str) -> str:
    """Eight hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read(path: Path) -> list[Declared]:
    """The classes, structs, unions and enums of a public .pxd file."""
    found: list[Declared] = []
    if path.name.startswith("_"):  # cupola's own alone
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
    """(indent, statement) without comments, a statement of several lines as one."""
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
            # Spaces mean nothing but between words.
            yield indent, re.sub(r"\s*([(),*\[\]])\s*", r"\1", re.sub(r"\s+", " ", kept))
            kept = ""


def _blocks(statements: Iterator[tuple[int, str]]) -> list[tuple[str, list[str]]]:
    """(head, statements in it); what is declared `extern` counts where it has fields."""
    blocks: list[tuple[str, list[str]]] = []
    level = -1  # of the block that is being read
    for indent, line in statements:
        if level >= 0 and indent > level:
            if line != "pass":
                blocks[-1][1].append(line)
            continue
        level = -1
        # Of a struct that is only named ahead there is nothing to compare.
        if BLOCK.match(line) and ":" in line:
            level = indent
            blocks.append((line, []))
    return [(head, body) for head, body in blocks if body or " class " in head]


def installed(path: Path) -> str:
    """The text of a .pxd as it is installed: with the classes that carry the digests."""
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
    """Cython for driver.pyx: each function of the driver that driver.pxd declares, as a call
    through the library's table, which has them in the same order.
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
