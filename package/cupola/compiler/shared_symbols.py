# cupola/compiler/shared_symbols.py - compares the symbols that a library leaves open.
"""Checks the functions and variables that libraries leave open against their definitions.

A linker reports a missing function by its symbol, and accepts a function with wrong parameters.
Where the texts are PTX, this module finds both errors before a linker runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cupola.exceptions import CompileError
from cupola.image.cxx_names import demangle
from cupola.image.ptx_functions import Symbol, symbols


@dataclass(frozen=True)
class SharedText:
    """The PTX of an input of a link."""

    title: str
    ptx: str
    declarations: Mapping[str, str] = field(default_factory=dict)  # C++, of open symbols


def check(libraries: Iterable[SharedText], others: Iterable[SharedText], *, complete: bool) -> None:
    """Compare the open symbols of libraries with the definitions in all inputs.

    Parameters
    ----------
    libraries, others : iterable of SharedText
        The inputs; `libraries` are those that may have open symbols.
    complete : bool
        Whether these are all inputs. If false, an input without PTX may define a missing symbol.

    Raises
    ------
    CompileError
        A symbol is not defined, or is defined with parameters or a result of other sizes.
    """
    libraries = list(libraries)
    read = [(one, symbols(one.ptx)) for one in (*libraries, *others)]
    defined = {
        name: (one.title, symbol)
        for one, found in read
        for name, symbol in found.items()
        if symbol.defined
    }
    for library, found in read[: len(libraries)]:
        for symbol in found.values():
            if symbol.defined:
                continue
            declaration = library.declarations.get(symbol.name, demangle(symbol.name))
            if symbol.name not in defined:
                if complete:
                    raise _missing(library.title, symbol, declaration, defined)
                continue
            title, definition = defined[symbol.name]
            if definition.layout != symbol.layout:
                raise CompileError(
                    f"{title}: {demangle(symbol.name)} is {_described(definition)}, and "
                    f"{library.title} declares {declaration}, {_described(symbol)}: define it as "
                    "it is declared"
                )


def _missing(
    library: str, symbol: Symbol, declaration: str, defined: Mapping[str, tuple[str, Symbol]]
) -> CompileError:
    text = f"{library} uses {declaration}, and no fragment defines it"
    base = _base(symbol.name)
    near = [(name, title) for name, (title, _) in defined.items() if _base(name) == base]
    for name, title in near:
        remedy = f"declare it as {declaration}"
        if demangle(symbol.name) == symbol.name:
            remedy = f'write extern "C" before it, and {remedy}'
        return CompileError(f"{text}; {title} defines {demangle(name)}: {remedy}")
    return CompileError(
        f"{text}: give a source that does, as in cupola.link([kernels, 'functions.cu'])"
    )


def _base(name: str) -> str:
    """The demangled name of a function, without its parameters."""
    return demangle(name).partition("(")[0]


def _described(symbol: Symbol) -> str:
    if not symbol.layout:
        return "a variable"
    parameters, _, results = symbol.layout.partition(" -> ")
    return f"a function with parameters of {parameters} bytes and a result of {results}"
