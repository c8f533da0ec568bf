# cupola/tuning/declared.py - cupola.family: a family that a program declares.
"""`cupola.family`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cupola.declare.declaration_error import DeclarationError
from cupola.declare.family import FamilyDeclaration, Value
from cupola.declare.family_names import check_names
from cupola.declare.family_table import read
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.tuning.family import Family
from cupola.tuning.sources import CompiledSource, ModuleSource

__all__ = ["family"]

if TYPE_CHECKING:
    import os


def family(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | ModuleType,
    *,
    kernel: str,
    tunables: Mapping[str, Sequence[Value]],
    default: Mapping[str, Value],
    grid: Any,
    block: Any,
    key: Sequence[str] = (),
    restrictions: Sequence[str] = (),
    macros: Sequence[str] = (),
    options: Sequence[str] = (),
    types: Mapping[str, Mapping[str, str]] | None = None,
    sizes: Mapping[str, str] | None = None,
    shared: str | int = 0,
    include: Any = (),
    headers: Mapping[str, str] | None = None,
    cases: str | None = None,
    name: str = "",
) -> Family:
    """Declare the variants of a kernel; a call launches the one that suits it.

    ::

        scale = cupola.family(
            SOURCE,
            kernel="scale<{BLOCK}>",
            tunables={"BLOCK": [64, 128, 256]},
            default={"BLOCK": 128},
            sizes={"n": "size(x)"},
            key=["n"],
            grid="ceildiv(n, BLOCK)",
            block="BLOCK",
        )
        scale(2.0, x, x.size)

    Expressions have integers, names, ``+ - * / %``, ``ceildiv``, ``min`` and ``max``. Names are
    tunables, the kernel's integer arguments, `sizes`, and ``shape(x, 0)`` and ``size(x)`` of an
    array argument x.

    Parameters
    ----------
    source : str, os.PathLike, a sequence of them, or a module
        As for `cupola.compile`: each variant is compiled at its first use. Or the module of a
        package's kernels, such as ``heat.kernels``, which has all variants.
    kernel : str
        The kernel's name, with tunables in braces: ``"step<{TX}, {TY}>"``.
    tunables : dict
        The values of each tunable: numbers, or words of C++.
    default : dict
        The variant where nothing is measured: one value for each tunable.
    grid, block : expression, or one to three of them
        Blocks, and threads of a block.
    key : sequence of str
        The sizes that decide which variant is best.
    restrictions : sequence of str
        Comparisons of tunables, as in ``"TX * TY <= 1024"``; other variants do not exist.
    macros : sequence of str
        The tunables that the source takes as macros.
    options : sequence of str
        Options of the compiler, where tunables may stand in braces: ``"-maxrregcount={REGS}"``.
    types : dict, optional
        For array arguments, the words of C++ by element type, which stand in braces of `kernel`:
        ``{"x": {"float32": "float", "float64": "double"}}``.
    sizes : dict, optional
        Names for expressions.
    shared : expression
        Bytes of dynamic shared memory.
    include : path or iterable of paths
        Folders of headers.
    headers : dict of str to str, optional
        Headers in memory.
    cases : str, optional
        The function that makes arguments to measure with, as in ``"heat.cases:step"``.
    name : str
        The name in tables and messages; by default the kernel's. A name such as ``"heat.step"``
        lets the tables of the package ``heat`` apply, where it is imported.

    Returns
    -------
    Family

    Raises
    ------
    ArgumentValueError
        The declaration is invalid: the error names the key. Also where restrictions contradict
        each other, so that no variant is left, and where an expression uses a name that is no
        parameter of the kernel.
    ArgumentTypeError
        A module is no kernel library, or comes with arguments for sources.
    """
    table = {
        "kernel": kernel,
        "tunables": tunables,
        "default": default,
        "grid": grid,
        "block": block,
        "key": list(key) if isinstance(key, tuple) else key,
        "restrictions": restrictions,
        "macros": macros,
        "options": options,
        "types": types or {},
        "sizes": sizes or {},
        "shared": shared,
        "cases": cases or "",
        "name": name,
    }
    try:
        declaration = read(table)
    except DeclarationError as error:
        raise ArgumentValueError(f"family {name or kernel}: {error}") from None
    made: CompiledSource | ModuleSource
    if isinstance(source, ModuleType):
        made = _module_source(declaration, source, include, headers)
    else:
        from cupola.compiler.arguments import folders_of, headers_of

        made = CompiledSource(source, (), folders_of(include), headers_of(headers) or None)
    parameters = made.declared(declaration)
    if parameters is not None:
        try:
            check_names(declaration, parameters)
        except DeclarationError as error:
            raise ArgumentValueError(f"family {name or kernel}: {error}") from None
    return Family(declaration, made)


def _module_source(
    declaration: FamilyDeclaration, module: ModuleType, include: Any, headers: Any
) -> ModuleSource:
    what = f"family {declaration.name or declaration.kernel}"
    if not hasattr(module, "_library"):
        raise ArgumentTypeError(
            f"{what}: {module.__name__} is no kernel library, as cupola.build makes it: give a "
            "module such as heat.kernels, or a source"
        )
    if declaration.compiled or declaration.options or include or headers:
        raise ArgumentTypeError(
            f"{what}: macros, options, include and headers are for sources, and the kernels of "
            f"{module.__name__} are compiled: declare them in [[tool.cupola.variants]]"
        )
    return ModuleSource(module.__name__)
