# cupola/compiler/source_names.py - finds the declarations of kernels in CUDA C++.
"""The names of kernels' parameters from a source's text; the compiler does not provide them.

The text is scanned, not compiled: macros are not expanded and headers are not read. Ambiguous text
gives no names.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# Tokens that are not code: comments, raw and other strings, characters, directives.
_IGNORED = re.compile(
    r"//(?:\\\r?\n|[^\n])*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|R"([^\s()\\]{0,16})\(.*?(?:\)\1"|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'?"
    r"|^[ \t]*#(?:\\\r?\n|/\*.*?(?:\*/|\Z)|//[^\n]*|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_MACRO = re.compile(r"\s*#\s*define\s+(\w+)")
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|\d[\w.']*|\S")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_QUALIFIERS = {
    "const", "volatile", "restrict", "__restrict", "__restrict__", "__grid_constant__", "register",
}  # fmt: skip
_TYPE_WORDS = {
    "void", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "auto",
    "wchar_t", "char8_t", "char16_t", "char32_t", "__int128",
}  # fmt: skip
_TAGS = {"struct", "class", "union", "enum", "typename"}


@dataclass(frozen=True)
class Declaration:
    """One declaration of a function."""

    namespace: str  # as in "outer::inner"; "" outside of any
    names: tuple[str, ...]  # names of the parameters; "" for a parameter without a name
    defined: bool


def declarations(text: str, wanted: Collection[str]) -> dict[str, list[Declaration]]:
    """The declarations of functions of these names."""
    macros: set[str] = set()

    def ignore(found: re.Match[str]) -> str:
        directive = _MACRO.match(found[0])
        if directive:
            macros.add(directive[1])
        return " "

    tokens = _TOKEN.findall(_IGNORED.sub(ignore, text))
    pairs = _pairs(tokens)
    result: dict[str, list[Declaration]] = {}
    scopes: list[tuple[int, str]] = []  # the end of a namespace, and its name
    at = 0
    while at < len(tokens):
        while scopes and at >= scopes[-1][0]:
            scopes.pop()
        token = tokens[at]
        if token == "{":
            kind, name = _scope(tokens, at)
            if kind == "other":
                at = pairs.get(at, at)  # without an end it is in a branch of #if: read both
            else:
                scopes.append((pairs.get(at, len(tokens)), name))
        elif token in wanted and at + 1 < len(tokens) and tokens[at + 1] == "(" and at:
            end = pairs.get(at + 1)
            before = tokens[at - 1]
            after = tokens[end + 1] if end is not None and end + 1 < len(tokens) else ""
            if (_IDENTIFIER.fullmatch(before) or before in ")>*") and after in ("{", ";"):
                names = _names(tokens[at + 2 : end], macros)
                where = "::".join(name for _, name in scopes if name)
                result.setdefault(token, []).append(Declaration(where, names, after == "{"))
        at += 1
    return result


def parameter_names(found: Collection[Declaration], count: int) -> list[str]:
    """The names where all declarations agree; otherwise none."""
    fitting = [one for one in found if len(one.names) == count]
    defined = [one for one in fitting if one.defined] or fitting
    answers = {one.names for one in defined}
    return list(answers.pop()) if len(answers) == 1 else []


def _pairs(tokens: list[str]) -> dict[int, int]:
    """The end of each bracket. Branches of #if may leave brackets without an end."""
    opened: list[int] = []
    pairs = {}
    for at, token in enumerate(tokens):
        if token in _OPEN:
            opened.append(at)
        elif token in _CLOSE:
            while opened and _OPEN[tokens[opened[-1]]] != token:
                if token != "}":
                    break
                opened.pop()
            if opened and _OPEN[tokens[opened[-1]]] == token:
                pairs[opened.pop()] = at
    return pairs


def _scope(tokens: list[str], at: int) -> tuple[str, str]:
    """The kind of block after a {: a namespace and its name, extern "C", or another."""
    back = at - 1
    while back >= 0 and (tokens[back] == "::" or _IDENTIFIER.fullmatch(tokens[back])):
        if tokens[back] == "namespace":
            return "namespace", "".join(word for word in tokens[back + 1 : at] if word != "inline")
        if tokens[back] == "extern":  # its "C" was a string
            return ("extern", "") if back == at - 1 else ("other", "")
        back -= 1
    return "other", ""


def _names(tokens: list[str], macros: Collection[str]) -> tuple[str, ...]:
    """The names of a list of parameters."""
    if not tokens or tokens == ["void"]:
        return ()
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in _OPEN or token == "<") - (token in _CLOSE or token == ">")
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(_name(part, macros) for part in parts)


def _name(tokens: list[str], macros: Collection[str]) -> str:
    """The name of one parameter: the last word, if a type precedes it."""
    if "=" in tokens:
        tokens = tokens[: tokens.index("=")]
    if "(" in tokens:  # a pointer to a function or an array, or an attribute
        inner = [tokens[at + 1] for at, token in enumerate(tokens[:-1]) if token in ("*", "&")]
        return inner[0] if inner and _is_name(inner[0], macros) and "(" in tokens[:3] else ""
    while tokens and tokens[-1] == "]":
        while tokens and tokens.pop() != "[":
            pass
    if len(tokens) < 2 or not _is_name(tokens[-1], macros) or tokens[-2] in _TAGS:
        return ""
    before = [word for word in tokens[:-1] if word not in _QUALIFIERS and word not in _TAGS]
    return tokens[-1] if before and before[-1] != "::" else ""


def _is_name(word: str, macros: Collection[str]) -> bool:
    return (
        _IDENTIFIER.fullmatch(word) is not None
        and word not in _QUALIFIERS
        and word not in _TYPE_WORDS
        and word not in macros
    )
