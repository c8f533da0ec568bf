# package/cupola/build/families.py - a package's families of variants, and the libraries of these.
"""Tables ``[[tool.cupola.variants]]``: read, checked, and divided into kernel libraries.

Tunables that are macros, or are in options of the compiler, need a compilation for each of their
values. Such variants are in libraries of their own, ``heat._kernels_step_TX16`` beside
``heat.kernels``, which are built and shipped like all others. The declared library is compiled with
the default's macros.
"""

from __future__ import annotations

import hashlib
import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..declare.declaration_error import DeclarationError
from ..declare.expression import Expression, ExpressionError
from ..declare.family import FamilyDeclaration, Value, Variant
from ..declare.family_table import read
from ..declare.table_fit import FOLDER
from .error import BuildError
from .instances import NVCC
from .kernels import Kernels
from .table_lines import tables_with_lines, wrong

TABLE = "variants"  # tool.cupola.variants
MODULE = "families"  # of the package
_MOST_THREADS = (1024, 1024, 64)  # of a block by axis
_MOST_IN_ALL = 1024
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_LONGEST = 64  # characters of the values in a library's name


@dataclass(frozen=True)
class FamilyTable:
    """One table, and its lines in pyproject.toml."""

    declaration: FamilyDeclaration
    lines: Mapping[str, int]  # by key; "" is the head of the table
    libraries: Mapping[Variant, str]  # the library with the kernels of each variant that can run
    faults: Mapping[Variant, str]  # why each other variant can run on no device

    @property
    def name(self) -> str:
        """The name in the package."""
        return self.declaration.name.rpartition(".")[2]

    @property
    def table(self) -> Mapping[str, Any]:
        """As it was written."""
        return self.declaration.table

    @property
    def library(self) -> str:
        """The declared library of the default, whose manifest describes the family."""
        return self.declaration.library_of(self.declaration.default)

    def wrong(self, key: str, text: str) -> BuildError:
        """The error for one of its keys."""
        return wrong(TABLE, self.declaration.name, self.lines, key, text)


@dataclass(frozen=True)
class VariantKernels:
    """The kernels that a library has for variants of a family."""

    family: FamilyTable
    variants: tuple[Variant, ...]

    @property
    def kernels(self) -> dict[str, Variant]:
        """The kernels as the table spells them, each with the first variant that launches it."""
        found: dict[str, Variant] = {}
        for variant in self.variants:
            for types in self.family.declaration.type_choices:
                found.setdefault(self.family.declaration.kernel_of(variant, types), variant)
        return found


def fixed(
    declaration: FamilyDeclaration, variant: Variant, expressions: Iterable[Expression]
) -> tuple[int, ...] | None:
    """The values of expressions for a variant; None where sizes of a call decide them.

    Raises
    ------
    ExpressionError
        They can't be computed.
    """
    values, listed = declaration.values(variant), tuple(expressions)
    if any(symbol not in values for one in listed for symbol in one.symbols):
        return None
    return tuple(one.evaluate(values) for one in listed)


def from_tables(tables: Any, kernels: Sequence[Kernels], text: str = "") -> list[Kernels]:
    """The kernel libraries, each with its families, and further ones that variants need.

    Parameters
    ----------
    tables : list of dict
        ``[[tool.cupola.variants]]``.
    kernels : sequence of Kernels
        The project's kernel libraries.
    text : str
        Of pyproject.toml, for the lines in errors.

    Raises
    ------
    BuildError
        Where a declaration is invalid; it names the table, the key and the line.
    """
    found: list[FamilyTable] = []
    for table, place in tables_with_lines(tables, TABLE, text):
        try:
            one = FamilyTable(read(table), place, {}, {})
        except DeclarationError as error:
            raise wrong(TABLE, str(table.get("name", "")), place, error.key, error.text) from None
        if any(each.declaration.name == one.declaration.name for each in found):
            raise one.wrong("name", "there are two families of this name")
        found.append(_placed(one, kernels))
    _require_one_owner(found)
    return list(_divided(found, kernels))


def _placed(one: FamilyTable, kernels: Sequence[Kernels]) -> FamilyTable:
    """The family with its declared library, and the library of each variant."""
    declaration = one.declaration
    package, _, name = declaration.name.rpartition(".")
    if not package or not name.isidentifier() or name.startswith("_"):
        raise one.wrong("name", f"{declaration.name!r}: write package.name, as in 'heat.step'")
    if keyword.iskeyword(name):
        raise one.wrong("name", f"{name} is a keyword of Python: choose another name")
    here = {each.library: each for each in kernels if each.package == package and not each.host}
    if not declaration.library:
        if len(here) != 1:
            raise one.wrong(
                "name", f"the package {package} has {len(here)} kernel libraries: "
                + ("say which with library =" if here else "write [[tool.cupola.kernels]] for it")
            )  # fmt: skip
        declaration = replace(declaration, library=next(iter(here)))
    faults = {variant: _fault(declaration, variant) for variant in declaration.variants}
    if fault := faults[declaration.default]:
        others = sum(not each for each in faults.values())
        raise one.wrong(
            "default", f"{declaration.text(declaration.default)}: it has {fault}"
            + (f"; {others} other variants can run" if others else ", and no variant can run")
        )  # fmt: skip
    libraries = {}
    for variant in [each for each, fault in faults.items() if not fault]:
        base = declaration.library_of(variant)
        if base not in here:
            raise one.wrong(
                "library", f"{base!r} is no kernel library of the package {package}: "
                f"{', '.join(here)}"
            )  # fmt: skip
        _require_possible(one, here[base])
        libraries[variant] = _library(declaration, variant, base)
    faults = {variant: fault for variant, fault in faults.items() if fault}
    return replace(one, declaration=declaration, libraries=libraries, faults=faults)


def _fault(declaration: FamilyDeclaration, variant: Variant) -> str:
    """Why no device can run a variant; "" where one may."""
    try:
        block = fixed(declaration, variant, declaration.block) or ()
        (shared,) = fixed(declaration, variant, [declaration.shared]) or (0,)
    except ExpressionError as error:
        return f"no launch: {error}"
    if shared < 0:
        return f"{shared:,} bytes of dynamic shared memory"
    for axis, length, most in zip("xyz", block, _MOST_THREADS, strict=False):
        if not 0 < length <= most:
            return f"a block of {length:,} threads along {axis}; the range is 1 to {most:,}"
    if math.prod(block) > _MOST_IN_ALL:
        return f"a block of {math.prod(block):,} threads; at most {_MOST_IN_ALL:,} are possible"
    return ""


def _require_possible(one: FamilyTable, base: Kernels) -> None:
    """Refuse what the library's compiler cannot do."""
    declaration = one.declaration
    if base.lto:
        raise one.wrong("library", f"{base.library} has lto = true: its users link its kernels")
    if base.compiler == NVCC:
        return
    for key, given in (("macros", declaration.macros), ("options", declaration.options),
                       ("kernel", declaration.is_template)):  # fmt: skip
        if given:
            raise one.wrong(
                key, f"this is for nvcc, and the compiler of {base.library} is {base.compiler}: "
                "name an instance for each variant"
            )  # fmt: skip


def _library(declaration: FamilyDeclaration, variant: Variant, base: str) -> str:
    """The library that has a variant's kernels."""
    own = declaration.macros_of(variant) != declaration.macros_of(declaration.default)
    if not declaration.options and not own:
        return base  # which is compiled with the default's macros
    package, _, name = base.rpartition(".")
    family = declaration.name.rpartition(".")[2]
    values = declaration.values(variant)
    compiled = {name: values[name] for name in declaration.compiled}
    return f"{package}._{name}_{family}_{_spelled(compiled)}"


def _spelled(values: Mapping[str, Value]) -> str:
    """A short name of values, which no other values of the family have."""
    words = {name: str(value).replace("-", "m") for name, value in values.items()}
    text = "_".join(f"{name}{word}" for name, word in words.items())
    # A word with "_" or "::" may be spelled like other values.
    if len(text) > _LONGEST or not all(map(_PLAIN.fullmatch, words.values())):
        return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]
    return text or "options"


def _require_one_owner(families: Iterable[FamilyTable]) -> None:
    """Refuse families of one package in two libraries: they become one module."""
    known: dict[str, FamilyTable] = {}
    for one in families:
        package = one.library.rpartition(".")[0]
        first = known.setdefault(package, one)
        if first.library != one.library:
            raise one.wrong(
                "library", f"{one.library} has the default, and {first.library} that of "
                f"{first.declaration.name}: all families of {package} become {package}.{MODULE}, "
                "and need their defaults in one library"
            )  # fmt: skip


def _divided(families: Sequence[FamilyTable], kernels: Sequence[Kernels]) -> Iterator[Kernels]:
    """The libraries with their families and variants, each before those that are made of it."""
    for base in kernels:
        used = [one for one in families if base.library in _bases(one)]
        if not used:
            yield base
            continue
        macros = _default_macros(used)
        own, derived = [], []
        for one in used:
            by_library: dict[str, list[Variant]] = {}
            for variant, library in one.libraries.items():
                if one.declaration.library_of(variant) == base.library:
                    by_library.setdefault(library, []).append(variant)
            listed = by_library.pop(base.library, [])
            if not listed and one.declaration.is_template:
                listed = [one.declaration.default]  # the library may have no other kernel
            own.append(VariantKernels(one, tuple(listed)))
            derived += [
                _derived(base, library, VariantKernels(one, tuple(variants)), macros)
                for library, variants in by_library.items()
            ]
        yield replace(
            base,
            options=(*base.options, *_definitions(macros)),
            families=tuple(one for one in used if one.library == base.library),
            variants=tuple(own),
        )
        yield from derived


def _bases(one: FamilyTable) -> set[str]:
    return {one.declaration.library_of(variant) for variant in one.libraries}


def _default_macros(families: Iterable[FamilyTable]) -> dict[str, Value]:
    """The macros of a library whose sources have several families."""
    found: dict[str, tuple[Value, FamilyTable]] = {}
    for one in families:
        for name, value in one.declaration.macros_of(one.declaration.default).items():
            known, other = found.setdefault(name, (value, one))
            if known != value:
                raise one.wrong(
                    "macros", f"the default has {name}={value}, and that of "
                    f"{other.declaration.name} {name}={known}: the library is compiled with the "
                    "defaults, so give the macros different names"
                )  # fmt: skip
    return {name: value for name, (value, _) in found.items()}


def _definitions(macros: Mapping[str, Value]) -> list[str]:
    return [f"-D{name}={value}" for name, value in macros.items()]


def _derived(
    base: Kernels, library: str, variants: VariantKernels, macros: Mapping[str, Value]
) -> Kernels:
    """The library of variants that need macros or options of their own."""
    declaration, first = variants.family.declaration, variants.variants[0]
    own = _definitions({**macros, **declaration.macros_of(first)})
    return replace(
        base,
        library=library,
        options=(*base.options, *own, *declaration.options_of(first)),
        only=(),
        without=(),
        operations=(),
        families=(),
        variants=(variants,),
        variants_alone=True,
    )


def tables_in(folder: Path) -> list[Path]:
    """The tables of tuned families in a package's folder."""
    return sorted((folder / FOLDER).glob("*.json"))


MARK = "# Made by cupola.build of [[tool.cupola.variants]]"
_MODULE = '''\
{mark}: the next build writes it anew.
"""Families of variants, of which a call launches the best one: ``families.{example}(...)``."""

from cupola.ops.lazy_module import LazyModule as _LazyModule
from cupola.tuning.family import from_library as _from_library

_library = _LazyModule(
    __name__,
    (
{names}    ),
    "families",
    lambda name: _from_library("{library}", name),
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
'''


def module_text(kernels: Kernels) -> str:
    """The text of the package's module ``families``."""
    names = sorted(one.name for one in kernels.families)
    return _MODULE.format(
        mark=MARK,
        example=names[0],
        library=kernels.library,
        names="".join(f'        "{name}",\n' for name in names),
    )


def stub_text(kernels: Kernels) -> str:
    """The text of the module's ``.pyi``."""
    found = sorted(kernels.families, key=lambda one: one.name)
    lines = ["from cupola.tuning.family import Family as _Family\n"]
    for one in found:
        doc = one.declaration.doc or f"The family {one.declaration.name}."
        about = re.sub(r"\s+", " ", doc).replace("\\", "/").replace('"""', "'''")
        lines.append(f'{one.name}: _Family\n"""{about}"""\n')
    return "\n".join(lines)
