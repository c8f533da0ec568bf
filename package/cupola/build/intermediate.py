# package/cupola/build/intermediate.py - reads kernels' parameters from nvcc's intermediate files.
"""Kernels' declarations out of nvcc's intermediate files.

``nvcc --keep`` leaves ``NAME.cudafe1.gpu``: the device code as C, with instantiated templates,
mangled names, and the name of every parameter. Debug information has better types, but omits some
parameters; `cupola.build.manifest` checks one against the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .error import BuildError

_KERNEL = re.compile(r"(?<![\w$])__global__(?![\w$])")
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"')
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_$][\w$]*|\d[\w.]*|\S')
_MARKER = re.compile(r"^#.*$", re.MULTILINE)  # a line marker
_WORD = re.compile(r"[A-Za-z_$][\w$]*\Z")
_ATTRIBUTES = {"__launch_bounds__", "__attribute__", "__cluster_dims__", "__maxnreg__",
               "__block_size__", "__align__"}  # fmt: skip
_QUALIFIERS = {"const", "volatile", "__restrict__", "register", "struct", "union", "enum", "class"}
# Words before a declaration that are not part of its type.
_NO_TYPE = {"extern", "struct", "union", "enum", "class", "__restrict__", "__device__",
            "__constant__", "__managed__", "__var_used__"}  # fmt: skip
_UNNAMED = re.compile(r"__T\d+\Z")
_PACK = re.compile(r"__\d+_\d+_\d+_(.+)")  # one of a parameter pack: "__2_40994_72_rest"
_VALUE = "__val_param"  # a copy made at the kernel's begin: "struct Box __val_param(box)"


@dataclass(frozen=True)
class Declaration:
    """A parameter: its name, None if the source has none, and its C type."""

    name: str | None
    type: str  # without qualifiers; for a pointer its target's, "" if unnamed
    pointer: bool = False
    restrict: bool = False
    const: bool = False  # of the type, or of the pointer's target


def read_declarations(text: str) -> dict[str, list[Declaration]]:
    """Parameters of each kernel that a ``.cudafe1.gpu`` defines, by its linkage name.

    Raises
    ------
    BuildError
        The file's format is not that of a known compiler.
    """
    found = {}
    types = _Types(text)
    for word in _KERNEL.finditer(text):
        if _within_text(text, word.start()):
            continue
        tokens = _tokens(text, word.end())
        name, parameters = _header(tokens)
        if next(tokens, "") == "{":
            found[name] = [types.declaration(one) for one in parameters if one != ["void"]]
    return found


@dataclass(frozen=True)
class Prototype:
    """A declaration of a function or variable; ``result`` is its type."""

    result: str
    parameters: tuple[str, ...] = ()


def read_prototype(text: str, name: str) -> Prototype | None:
    """The declaration of a name that another source defines; None where the text has no such
    declaration.

    The file has pointers in place of references.
    """
    word = rf"\b{re.escape(name)}\b"
    form = rf"^(?:___device__\(|.*?\bextern\b)[^\n;{{}}]*?{word}[^\n;{{}}]*;"
    found = re.search(form, text, re.MULTILINE)
    if found is None:
        return None
    tokens = _TOKEN.findall(found[0].removesuffix(";"))
    at = tokens.index(name)
    result, parameters = tokens[:at], tokens[at + 1 :]
    if "___device__" in result:
        result = result[result.index(")") + 1 :]
    types = _list(iter(parameters[1:])) if parameters[:1] == ["("] else []
    return Prototype(_type(result), tuple(_type(one) for one in types if one != ["void"]))


def _type(tokens: list[str]) -> str:
    """A type as C++ spells it."""
    words = ["bool" if one == "__nv_bool" else one for one in tokens if one not in _NO_TYPE]
    return " ".join(words).replace(" *", "*").replace("* *", "**")


def _within_text(text: str, at: int) -> bool:
    """Whether the position is inside a string; no string spans lines."""
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[begin : end if end >= 0 else len(text)]
    return any(one.start() < at - begin < one.end() for one in _TEXT.finditer(line))


def _tokens(text: str, at: int) -> Iterator[str]:
    """Tokens from a position, line by line, so that text after a kernel's header is not scanned."""
    end = text.find("\n", at)
    while at < len(text):
        end = len(text) if end < 0 else end
        yield from _TOKEN.findall(_MARKER.sub("", text[at:end]))
        at, end = end + 1, text.find("\n", end + 1)


def _header(tokens: Iterator[str]) -> tuple[str, list[list[str]]]:
    """The name, and the tokens of each parameter."""
    before = ""
    for token in tokens:
        if token == "(" and before in _ATTRIBUTES:
            _list(tokens)
        elif token == "(" and _WORD.match(before):
            return before, _list(tokens)
        elif token in "{};":
            break
        before = token
    raise BuildError("the compiler's intermediate file has a kernel of an unknown form")


def _list(tokens: Iterator[str]) -> list[list[str]]:
    """The parts between commas, up to the closing bracket."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
            if depth < 0:
                return [part for part in parts if part]
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    raise BuildError("the compiler's intermediate file ends amid a kernel's parameters")


class _Types:
    """Names of types, with typedefs resolved."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[str, list[str] | None] = {}

    def declaration(self, tokens: list[str]) -> Declaration:
        name, left = _name(tokens)
        kind, depth, const = self.resolved(left)
        nested = depth > 1 or "(" in left
        return Declaration(
            name, "" if nested else kind, depth > 0 or "(" in left, "__restrict__" in left, const
        )

    def resolved(self, tokens: list[str], depth: int = 0) -> tuple[str, int, bool]:
        """The type without qualifiers, the number of pointers to it, and whether it is const."""
        words = [token for token in tokens if token not in _QUALIFIERS and _WORD.match(token)]
        pointers = tokens.count("*") + tokens.count("&")
        first = tokens.index("*") if "*" in tokens else len(tokens)
        const = "const" in tokens[:first]
        if words == ["__nv_bool"]:
            return "bool", pointers, const
        meant = self.meant(words[0]) if len(words) == 1 and depth < 16 else None
        if meant is not None:
            kind, more, also = self.resolved(meant, depth + 1)
            return kind, more + pointers, const or also
        return " ".join(words), pointers, const

    def meant(self, name: str) -> list[str] | None:
        """The type that a typedef gives the name, unless it is a function; else None."""
        if name not in self.known:
            found = re.search(rf"^typedef (.*[\s*]){re.escape(name)};", self.text, re.MULTILINE)
            self.known[name] = _TOKEN.findall(found[1]) if found else None
        return self.known[name]


def _name(tokens: list[str]) -> tuple[str | None, list[str]]:
    """A declarator's name, and the tokens without it."""
    if _VALUE in tokens:
        at = tokens.index(_VALUE)
        return _spelled("".join(tokens[at + 2 : tokens.index(")", at)])), tokens[:at]
    end = len(tokens)
    if "(" in tokens:  # a function or an array: the name is in the first brackets
        end = tokens.index(")")
    at = max((i for i in range(end) if _WORD.match(tokens[i])), default=-1)
    if at < 0:
        raise BuildError(f"a parameter of an unknown form: {' '.join(tokens)}")
    return _spelled(tokens[at]), tokens[:at] + tokens[at + 1 :]


def _spelled(name: str) -> str | None:
    """The name in the source."""
    if _UNNAMED.match(name):
        return None
    pack = _PACK.match(name)
    return pack[1] if pack else name
