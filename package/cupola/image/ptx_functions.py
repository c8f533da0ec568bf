# cupola/image/ptx_functions.py - the functions and variables that PTX shares with other texts.
"""The symbols by which PTX texts are linked.

cupola.build uses this module, also before cupola can be imported: it imports the standard library
alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = re.compile(r"\.(visible|extern|weak|common)\s+\.(func|global|const)\b([^;={]*)([;={])")
_FUNCTION = re.compile(r"\s*(?:\(([^()]*)\)\s*)?([\w$]+)\s*(?:\(([^()]*)\))?")
_VARIABLE = re.compile(r"([\w$]+)\s*(?:\[\d*\]\s*)*$")
_VALUE = re.compile(r"\.[busf](\d+)\s+[\w$%]+\s*(?:\[(\d*)\])?")
# Functions that the device provides: those of printf, assert and the heap, and the device runtime.
_PROVIDED = re.compile(r"vprintf|malloc|free|__assertfail|cuda[A-Z]\w*|__cuda\w+|cnp\w+")


@dataclass(frozen=True)
class Symbol:
    """A function or a variable that a text defines for other texts, or that another text must
    define.
    """

    name: str
    defined: bool
    # The sizes in bytes of a function's parameters and results, as "(8, 8) -> (4)"; "" for a
    # variable. A call fits a definition only if both have equal sizes.
    layout: str = ""


def symbols(text: str) -> dict[str, Symbol]:
    """The symbols of a PTX text by name. Local symbols, and functions that the device provides, are
    left out.
    """
    found: dict[str, Symbol] = {}
    for linkage, what, head, end in _HEAD.findall(_COMMENT.sub("", text)):
        read = _FUNCTION.match(head) if what == "func" else _VARIABLE.search(head)
        if read is None:
            continue
        if what == "func":
            name, layout = read[2], f"({_sizes(read[3])}) -> ({_sizes(read[1])})"
            defined = end == "{" and linkage != "extern"
        else:
            name, layout, defined = read[1], "", linkage != "extern"
        if not _PROVIDED.fullmatch(name) and (defined or name not in found):
            found[name] = Symbol(name, defined, layout)
    return found


def _sizes(values: str | None) -> str:
    """The size of each value in bytes."""
    sizes = [int(bits) // 8 * int(count or 1) for bits, count in _VALUE.findall(values or "")]
    return ", ".join(map(str, sizes))
