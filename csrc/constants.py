# csrc/constants.py - the constants of kernels, for Python.
"""Reads C++ headers, and writes the module ``cupola.kernel_constants``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# At the start of a line, such as: constexpr int scan_threads = 256;
CONSTANT = re.compile(r"^(?:\[\[maybe_unused\]\] )?constexpr (?:int|double) (\w+) = ([^;]+);", re.M)
ENUMERATION = re.compile(r"^enum (?:class )?(\w+)(?: : int)? \{([^}]*)\};", re.M)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.BinOp, ast.Expression, ast.Load)


def python(headers: Iterable[Path]) -> str:
    """The text of the module: a name for each constant, and a dict for each enumeration.

    Raises
    ------
    ValueError
        Where two headers have the same name, or a value is not a sum or product of numbers and
        earlier names.
    """
    known: dict[str, object] = {}
    for header in headers:
        for name, value in _rows(header, known):
            if name in known:
                raise ValueError(f"{header}: {name} is defined twice; rename one of the constants")
            known[name] = value
    lines = [f"{name} = {value!r}" for name, value in known.items()]
    about = "# cupola/kernel_constants.py - written by the build from the headers of kernels."
    purpose = '"""Numbers that kernels and their launches share."""'
    return "\n".join([about, purpose, "", *lines, ""])


def _rows(header: Path, known: dict[str, object]) -> Iterator[tuple[str, object]]:
    text = re.sub(r"//.*", "", header.read_text())
    found = [*CONSTANT.finditer(text), *ENUMERATION.finditer(text)]
    for match in sorted(found, key=re.Match.start):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", match[1]).upper()
        if match.re is CONSTANT:
            yield name, _value(header, match[2], known)
        else:
            members = [one.strip() for one in match[2].split(",")]
            if not all(re.fullmatch(r"\w+", one) for one in members):
                raise ValueError(f"{header}: {match[1]}: expected names without values")
            yield name, {member: number for number, member in enumerate(members)}


def _value(header: Path, text: str, known: dict[str, object]) -> object:
    try:
        tree = ast.parse(text.upper(), mode="eval")
        for node in ast.walk(tree):
            if not isinstance(node, (*OPERATORS, ast.Constant, ast.Name)):
                raise ValueError(f"{header}: {text}: expected sums and products of numbers")
        return eval(compile(tree, str(header), "eval"), {"__builtins__": {}}, known)
    except (SyntaxError, NameError) as error:
        raise ValueError(f"{header}: {text}: expected numbers and earlier names: {error}") from None
