# cupola/declare/family_table.py - reads the declaration of a family from a table.
"""The tables ``[[tool.cupola.variants]]`` and the arguments of `cupola.family`.

Only the standard library is imported: the build checks declarations too.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .declaration_error import DeclarationError
from .element_types import ELEMENT_TYPES
from .expression import NAME, Expression, ExpressionError, parse
from .family import BRACES, MOST_VARIANTS, FamilyDeclaration, Value, Variant

# The keys of a table, with what each is.
KEYS = {
    "name": "a name in the package, as in 'heat.step'",
    "library": "the kernel library, as in 'heat.kernels'",
    "kernel": "the kernel, with tunables in braces, as in 'step<{TX}, {TY}>'",
    "source": "the source with the kernel's template, where the library has several",
    "tunables": "values by name, as in { TX = [16, 32], TY = [4, 8] }",
    "default": "one value by name, as in { TX = 32, TY = 8 }",
    "macros": "the tunables that sources take as macros, as in ['TX']",
    "options": "options of the compiler, as in ['-maxrregcount={REGISTERS}']",
    "restrictions": "comparisons of tunables, as in ['TX * TY <= 1024']",
    "types": "C++ types by argument and element type, as in { x = { float32 = 'float' } }",
    "sizes": "expressions by name, as in { rows = 'shape(x, 0)' }",
    "key": "the sizes that decide which variant is best, as in ['rows', 'columns']",
    "grid": "one to three expressions, as in ['ceildiv(columns, TX)', 'ceildiv(rows, TY)']",
    "block": "one to three expressions, as in ['TX', 'TY']",
    "shared": "an expression: bytes of dynamic shared memory",
    "cases": "a function that makes arguments and a reference, as in 'heat.cases:step'",
    "doc": "a text",
}
REQUIRED = ("kernel", "tunables", "default", "grid", "block")
MOST_VALUES = 256  # of one tunable
MOST_KEY = 8  # sizes of a key
_WORD = re.compile(r"[A-Za-z_][\w:]*", re.ASCII)
_ARRAY_CALL = re.compile(r"size\((\w+)\)|shape\((\w+), (\d+)\)", re.ASCII)
_MOST, _LEAST = 2**31 - 1, -(2**31)
_AXES = 3


def read(table: Mapping[str, Any]) -> FamilyDeclaration:
    """Check a declaration.

    Parameters
    ----------
    table : dict
        As in ``[[tool.cupola.variants]]``.

    Raises
    ------
    DeclarationError
        It is invalid; the error names the key.
    """
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(str(key), KEYS, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}"
            raise DeclarationError(str(key), f"this is an unknown key: {meant}")
    for key in REQUIRED:
        if key not in table:
            raise DeclarationError("", f"lacks the key {key!r}, {KEYS[key]}")
    texts = {
        key: _text(key, table.get(key, ""))
        for key in ("name", "library", "kernel", "source", "cases", "doc")
    }
    if not texts["kernel"]:
        raise DeclarationError("kernel", f"expected {KEYS['kernel']}")
    if texts["cases"] and not re.fullmatch(r"[\w.]+:\w+", texts["cases"]):
        raise DeclarationError("cases", f"{texts['cases']!r}: expected {KEYS['cases']}")
    tunables = _tunables(table["tunables"])
    types = _types(table.get("types", {}), tunables)
    numbers = [name for name, values in tunables.items() if type(values[0]) is int]
    _check_braces("kernel", texts["kernel"], [*tunables, *types])
    _check_braces("library", texts["library"], tunables)
    options = _texts("options", table.get("options", []))
    for option in options:
        _check_braces("options", option, tunables)
    macros = _texts("macros", table.get("macros", []))
    for name in macros:
        if name not in tunables:
            raise DeclarationError("macros", _unknown(name, "tunable", tunables))
    known: list[str] = []
    sizes: dict[str, Expression] = {}
    for name, text in _mapping("sizes", table.get("sizes", {})).items():
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in tunables:
            raise DeclarationError(
                "sizes", f"{name!r}: expected a name that no tunable has, as in {KEYS['sizes']}"
            )
        sizes[name] = _expression(f"sizes.{name}", text, (), tunables)
        for symbol in sizes[name].symbols:
            if symbol in table["sizes"] and symbol not in known:
                raise DeclarationError(
                    f"sizes.{name}", f"{symbol} is declared after it: move it up"
                )
        known.append(name)
    key = _texts("key", table.get("key", []))
    for name in key:
        if name in tunables or not (NAME.fullmatch(name) or _ARRAY_CALL.fullmatch(name)):
            raise DeclarationError("key", f"{name!r}: expected {KEYS['key']}")
    if len(set(key)) != len(key) or len(key) > MOST_KEY:
        raise DeclarationError("key", f"expected at most {MOST_KEY} different sizes, got {key}")
    declaration = FamilyDeclaration(
        name=texts["name"],
        table=dict(table),
        library=texts["library"],
        kernel=texts["kernel"],
        tunables=tunables,
        default=_default(table["default"], tunables),
        grid=_axes("grid", table["grid"], numbers, tunables),
        block=_axes("block", table["block"], numbers, tunables),
        shared=_expression("shared", table.get("shared", 0), numbers, tunables),
        source=texts["source"],
        macros=macros,
        options=options,
        restrictions=tuple(
            _restriction(text, numbers, tunables)
            for text in _texts("restrictions", table.get("restrictions", []))
        ),
        types=types,
        sizes=sizes,
        key=key,
        cases=texts["cases"],
        doc=texts["doc"],
    )
    _check_space(declaration)
    return declaration


def _check_space(declaration: FamilyDeclaration) -> None:
    """Refuse a space that is empty or too large, and a default that the restrictions exclude."""
    count = 1
    for values in declaration.tunables.values():
        count *= len(values)
    if count > 64 * MOST_VARIANTS:
        raise DeclarationError(
            "tunables", f"these are {count:,} combinations; at most {64 * MOST_VARIANTS:,} are "
            "searched for those that the restrictions allow: name fewer values"
        )  # fmt: skip
    try:
        variants = declaration.variants
    except ExpressionError as error:
        raise DeclarationError("restrictions", str(error)) from None
    if not variants:
        raise DeclarationError(
            "restrictions",
            f"they exclude each of the {count} variants: {_contradiction(declaration)}",
        )
    if len(variants) > MOST_VARIANTS:
        raise DeclarationError(
            "tunables", f"these are {len(variants):,} variants, and at most {MOST_VARIANTS:,} are "
            "possible: name fewer values, or add restrictions"
        )  # fmt: skip
    if declaration.default not in variants:
        broken = _broken(declaration, declaration.default)
        raise DeclarationError(
            "default", f"{declaration.text(declaration.default)}: the restriction {broken!r} "
            "excludes it"
        )  # fmt: skip


def _broken(declaration: FamilyDeclaration, variant: Variant) -> str:
    """The first restriction that a variant breaks."""
    values = declaration.values(variant)
    return next(one.text for one in declaration.restrictions if not one.evaluate(values))


def _contradiction(declaration: FamilyDeclaration) -> str:
    """One restriction that no variant meets, or the fact that no variant meets all."""
    for one in declaration.restrictions:
        if not any(
            one.evaluate(declaration.values(variant))
            for variant in itertools.product(*declaration.tunables.values())
        ):
            return f"none meets {one.text!r}"
    return f"each breaks one of {', '.join(repr(one.text) for one in declaration.restrictions)}"


def _tunables(given: Any) -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    for name, values in _mapping("tunables", given).items():
        key = f"tunables.{name}"
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DeclarationError(key, f"{name!r}: expected a name of C")
        if not isinstance(values, (list, tuple)) or not 0 < len(values) <= MOST_VALUES:
            raise DeclarationError(
                key, f"{values!r}: expected a list of one to {MOST_VALUES} values, as in "
                f"{{ {name} = [16, 32] }}"
            )  # fmt: skip
        for value in values:
            if type(value) not in (int, str) or type(value) is not type(values[0]):
                raise DeclarationError(key, f"{value!r}: expected numbers, or words, of one type")
            if isinstance(value, str) and not _WORD.fullmatch(value):
                raise DeclarationError(key, f"{value!r}: expected a number or a name of C++")
            if isinstance(value, int) and not _LEAST <= value <= _MOST:
                raise DeclarationError(key, f"{value}: expected a number of 32 bits")
        if len(set(values)) != len(values):
            raise DeclarationError(key, f"{list(values)!r}: a value is listed twice")
        found[name] = tuple(values)
    if not found:
        raise DeclarationError("tunables", f"expected {KEYS['tunables']}")
    return found


def _types(given: Any, tunables: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for argument, spelled in _mapping("types", given).items():
        key = f"types.{argument}"
        if not isinstance(argument, str) or not NAME.fullmatch(argument) or argument in tunables:
            raise DeclarationError(key, "expected the name of an argument, which no tunable has")
        chosen = _mapping(key, spelled)
        for element, word in chosen.items():
            if element not in ELEMENT_TYPES:
                raise DeclarationError(key, _unknown(str(element), "element type", ELEMENT_TYPES))
            if not isinstance(word, str) or not word.strip():
                raise DeclarationError(f"{key}.{element}", f"{word!r}: expected a type of C++")
        if not chosen:
            raise DeclarationError(key, f"expected {KEYS['types']}")
        found[argument] = dict(chosen)
    return found


def _default(given: Any, tunables: Mapping[str, tuple[Value, ...]]) -> Variant:
    values = _mapping("default", given)
    for name in values:
        if name not in tunables:
            raise DeclarationError("default", _unknown(str(name), "tunable", tunables))
    for name, possible in tunables.items():
        if name not in values:
            raise DeclarationError("default", f"lacks {name}: expected {KEYS['default']}")
        if type(values[name]) is not type(possible[0]) or values[name] not in possible:
            raise DeclarationError(
                "default", f"{name} = {values[name]!r} is none of its values, {list(possible)}"
            )
    return tuple(values[name] for name in tunables)


def _axes(
    key: str, given: Any, numbers: list[str], tunables: Mapping[str, Any]
) -> tuple[Expression, ...]:
    listed = given if isinstance(given, (list, tuple)) else [given]
    if not 0 < len(listed) <= _AXES:
        raise DeclarationError(key, f"{given!r}: expected {KEYS[key]}")
    return tuple(_expression(key, one, numbers, tunables) for one in listed)


def _restriction(text: str, numbers: list[str], tunables: Mapping[str, Any]) -> Expression:
    def find(name: str) -> str:
        if name in numbers:
            return ""
        if name in tunables:
            return f"the values of {name} are words, and expressions are of numbers"
        return _unknown(name, "tunable", numbers)

    try:
        return parse(text, find, check=True)
    except ExpressionError as error:
        raise DeclarationError("restrictions", f"{text!r}: {error}") from None


def _expression(
    key: str,
    given: Any,
    numbers: Iterator[str] | list[str] | tuple[()],
    tunables: Mapping[str, Any],
) -> Expression:
    """An expression of sizes, and of the tunables in ``numbers``."""

    def find(name: str) -> str:
        if name in numbers or (NAME.fullmatch(name) and name not in tunables):
            return ""
        if name in tunables:
            if type(tunables[name][0]) is int:
                return f"{name} is a tunable, and a size is the same for all variants"
            return f"the values of {name} are words, and expressions are of numbers"
        if _ARRAY_CALL.fullmatch(name):
            return ""
        return f"{name}: the calls are shape(x, 0), size(x), ceildiv(n, TX), min and max"

    if type(given) is int:
        given = str(given)
    if not isinstance(given, str):
        raise DeclarationError(key, f"{given!r}: expected a number or an expression in a text")
    try:
        return parse(given, find)
    except ExpressionError as error:
        raise DeclarationError(key, f"{given!r}: {error}") from None


def _check_braces(key: str, text: str, known: Mapping[str, Any] | list[str]) -> None:
    for name in BRACES.findall(text):
        if name not in known:
            raise DeclarationError(key, f"{text!r}: {_unknown(name, 'tunable', known)}")
    if set("{}") & set(BRACES.sub("", text)):
        raise DeclarationError(key, f"{text!r}: a brace without its partner")


def _unknown(name: str, what: str, known: Mapping[str, Any] | list[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none'}"
    return f"{name!r} is no {what}: {hint}"


def _mapping(key: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise DeclarationError(key, f"{given!r}: expected {KEYS.get(key, 'a table')}")
    return given


def _text(key: str, given: Any) -> str:
    if not isinstance(given, str):
        raise DeclarationError(key, f"{given!r}: expected {KEYS[key]}")
    return given


def _texts(key: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
        raise DeclarationError(key, f"{given!r}: expected {KEYS[key]}")
    return tuple(given)
