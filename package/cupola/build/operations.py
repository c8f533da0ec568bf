# package/cupola/build/operations.py - a package's declared operations, checked against its kernels.
"""Tables ``[[tool.cupola.ops]]``: read, checked against a manifest, and stored in it."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..declare import element_types
from ..declare.backward import match
from ..declare.compiled import compiled
from ..declare.declaration_error import DeclarationError
from ..declare.family import FamilyDeclaration
from ..declare.family_operation import FamilyOperation, outline
from ..declare.operation import Argument, Declaration, Tensor, read
from ..declare.record import Record
from ..image.kernel_names import attributes, named, title
from .error import BuildError
from .families import FamilyTable
from .kernels import Kernels
from .operation_arguments import filled
from .stub import given_parameters, spelled
from .table_lines import tables_with_lines, wrong

MODULE = "ops"  # of the package
_SPELLED = {"half": "__half"}  # in a manifest, and in a kernel's name


@dataclass(frozen=True)
class OperationTable:
    """One table, and its lines in pyproject.toml."""

    declaration: Declaration
    lines: Mapping[str, int]  # by key; "" is the head of the table
    family: FamilyTable | None = None  # whose variants it launches
    table: Mapping[str, Any] = field(default_factory=dict)  # as it was written

    def wrong(self, key: str, text: str) -> BuildError:
        """The error for one of its keys."""
        return wrong(MODULE, self.declaration.name, self.lines, key, text)


def from_tables(tables: Any, kernels: Sequence[Kernels], text: str = "") -> list[Kernels]:
    """The kernel libraries, each with its operations.

    Parameters
    ----------
    tables : list of dict
        ``[[tool.cupola.ops]]``.
    kernels : sequence of Kernels
        The project's kernel libraries.
    text : str
        Of pyproject.toml, for the lines in errors.

    Raises
    ------
    BuildError
        Where a declaration is invalid; it names the table, the key and the line.
    """
    found: dict[str, list[OperationTable]] = {one.library: [] for one in kernels}
    for table, place in tables_with_lines(tables, MODULE, text):
        try:
            if "family" in table:
                one = OperationTable(outline(table), place, _family(table, kernels, place), table)
            else:
                one = OperationTable(read(table), place, None, table)
        except DeclarationError as error:
            name = str(table.get("name", ""))
            raise wrong(MODULE, name, place, error.key, error.text) from None
        found[_library(one, kernels)].append(one)
    used = [one.package for one in kernels if found[one.library]]
    for package in used:
        if used.count(package) > 1:
            raise BuildError(
                f"[[tool.cupola.ops]]: several kernel libraries of the package {package} have "
                f"operations, which all become {package}.{MODULE}: make one library of them"
            )
    return [replace(one, operations=tuple(found[one.library])) for one in kernels]


def _library(one: OperationTable, kernels: Sequence[Kernels]) -> str:
    """The name of the library that has an operation's kernels."""
    package, _, name = one.declaration.name.rpartition(".")
    if not package or not name.isidentifier() or name.startswith("_"):
        raise one.wrong("name", f"{one.declaration.name!r}: write package.name, as in 'heat.step'")
    if keyword.iskeyword(name):
        raise one.wrong("name", f"{name} is a keyword of Python: choose another name")
    if one.family is not None:
        return one.family.library
    given = one.declaration.table.get("library")
    here = [
        each.library
        for each in kernels
        if each.package == package and not each.host and not each.variants_alone
    ]
    if given is not None:
        if given not in here:
            known = ", ".join(here) or "none"
            raise one.wrong(
                "library", f"{given!r} is no kernel library of the package {package}: {known}"
            )
        return str(given)
    if len(here) != 1:
        raise one.wrong(
            "name", f"the package {package} has {len(here)} kernel libraries: "
            + ("say which with library =" if here else "write [[tool.cupola.kernels]] for it")
        )  # fmt: skip
    return here[0]


def _family(
    table: Mapping[str, Any], kernels: Sequence[Kernels], lines: Mapping[str, int]
) -> FamilyTable:
    """The family that a table names, with its package or without."""
    named = str(table.get("name", ""))
    package, given = named.rpartition(".")[0], table["family"]
    known = {
        one.declaration.name: one
        for each in kernels
        for one in each.families
        if each.package == package
    }
    found = known.get(given) or known.get(f"{package}.{given}")
    if found is None:
        listed = ", ".join(known) or "none: write [[tool.cupola.variants]]"
        raise wrong(
            MODULE, named, lines, "family", f"{given!r} is no family of the package {package}; "
            f"there are {listed}"
        )  # fmt: skip
    return found


def of_default(manifest: dict[str, Any], one: OperationTable) -> OperationTable:
    """The operation with its kernels and its launch: of its family the default variant.

    Raises
    ------
    BuildError
        The table does not fit the family, or its kernel.
    """
    if one.family is None:
        return one
    family = one.family.declaration
    symbols = _symbols(manifest, family)
    spelled = family.kernel_of(family.default, family.type_choices[0])
    kernel = named(manifest, symbols.get(family.type_choices[0], spelled))
    if kernel is None:
        known = ", ".join(attributes(manifest)) or "none"
        raise one.wrong(
            "family", f"there is no kernel {spelled!r}, of the default of {family.name}; there are "
            f"{known}"
        )  # fmt: skip
    parameters = given_parameters(kernel)
    if any("descriptor" in each for each in parameters):
        raise one.wrong(
            "family", f"an array fills several parameters of the kernels of {family.name}: name "
            "kernels, grid and block instead"
        )  # fmt: skip
    names = [each["name"] or "" for each in parameters]
    shared = kernel["shared"] if "block" in kernel else None
    try:
        found = FamilyOperation(one.table, family, names, one.declaration.name)
        return replace(one, declaration=found.declaration(family.default, symbols, shared))
    except DeclarationError as error:
        raise one.wrong(error.key, error.text) from None


def _symbols(manifest: Mapping[str, Any], family: FamilyDeclaration) -> dict[tuple[str, ...], str]:
    """The symbols of the default's kernels by element types, as the manifest's family has them."""
    for one in manifest.get("families", ()):
        if one["table"].get("name") == family.name:
            for each in one["variants"]:
                if tuple(each["variant"]) == family.default:
                    return {
                        tuple(filter(None, types.split(","))): str(symbol)
                        for types, symbol in each["kernels"].items()
                    }
    return {}


def store(manifest: dict[str, Any], operations: Sequence[OperationTable]) -> dict[str, Any]:
    """The manifest with the operations, which are checked against its kernels.

    Raises
    ------
    BuildError
        Where a kernel is missing, or has other parameters than the declaration says.
    """
    if not operations:
        return manifest
    operations = [_filled(manifest, of_default(manifest, one)) for one in operations]
    by_name = {one.declaration.name: one for one in operations}
    for one in operations:
        if sum(each.declaration.name == one.declaration.name for each in operations) > 1:
            raise one.wrong("name", "there are two operations of this name")
        _check_kernels(manifest, one)
        _check_backward(one, by_name)
    tables = [
        {
            **(one.declaration.table if one.family is None else one.table),
            "name": one.declaration.name,
        }
        for one in [_launched(manifest, each) for each in operations]
    ]
    head = {name: value for name, value in manifest.items() if name != "kernels"}
    return {**head, "operations": tables, "kernels": manifest["kernels"]}


def _check_backward(one: OperationTable, by_name: Mapping[str, OperationTable]) -> None:
    name = one.declaration.backward
    if not name:
        return
    backward = by_name.get(name)
    if backward is None:
        raise one.wrong("backward", f"there is no operation {name!r}")
    try:
        match(one.declaration, backward.declaration)
    except DeclarationError as error:
        raise backward.wrong(error.key, error.text) from None


def _check_kernels(manifest: dict[str, Any], one: OperationTable) -> None:
    for types in one.declaration.kernels:
        _check_parameters(one, types, _key(types), _kernel(manifest, one, types))


def _key(types: tuple[str, ...]) -> str:
    return f"kernels.{', '.join(types)}" if types else "kernels"


def _kernel(
    manifest: dict[str, Any], one: OperationTable, types: tuple[str, ...]
) -> dict[str, Any]:
    """The manifest's kernel for the element types."""
    name = one.declaration.kernels[types]
    found = named(manifest, name)
    if found is None:
        known = ", ".join(attributes(manifest))
        raise one.wrong(_key(types), f"there is no kernel {name!r}; there are {known}")
    return found


def _filled(manifest: dict[str, Any], one: OperationTable) -> OperationTable:
    """The operation with an argument for each parameter of its kernels."""
    kernels = {types: _kernel(manifest, one, types) for types in one.declaration.kernels}
    if not any(
        "descriptor" in each for kernel in kernels.values() for each in kernel["parameters"]
    ):
        return one
    try:
        found = [
            filled(one.declaration, types, given_parameters(kernel))
            for types, kernel in kernels.items()
        ]
        if any(each != found[0] for each in found):
            raise DeclarationError(
                "kernels", "the kernels take arrays in different ways: make an operation of each"
            )
        table = {**one.declaration.table, "arguments": found[0]}
        return replace(one, declaration=read(table, one.declaration.name))
    except DeclarationError as error:
        raise one.wrong(error.key, error.text) from None


def _launched(manifest: dict[str, Any], one: OperationTable) -> OperationTable:
    """The operation with the shared memory of its kernels, where their compiler fixes it; the
    table's block and alignment are checked against the kernels.
    """
    table = one.declaration.table
    kernels = [_kernel(manifest, one, types) for types in one.declaration.kernels]
    for kernel in kernels:
        align = max(map(_alignment, kernel["parameters"]), default=1)
        if one.declaration.align % align:
            raise one.wrong(
                "align", f"the kernel {kernel['name']} relies on addresses that are multiples of "
                f"{align}: write align = {align}"
            )  # fmt: skip
    fixed = [kernel for kernel in kernels if "block" in kernel]
    for kernel in fixed:
        block = [
            axis.text if axis.symbols else str(axis.evaluate({}))
            for axis in one.declaration.launch["block"]
        ]
        expected = [str(axis) for axis in kernel["block"]]
        if [*block, *["1"] * (3 - len(block))] != expected:
            raise one.wrong(
                "block", f"the kernel {kernel['name']} was compiled for the block "
                f"[{', '.join(expected)}], got [{', '.join(block)}]"
            )  # fmt: skip
    shared = max((kernel["shared"] for kernel in fixed), default=0)
    given = str(table.get("shared", shared))
    if fixed and given != str(shared):
        raise one.wrong(
            "shared", f"the kernels were compiled for {shared} bytes, got {given}: leave it out"
        )
    if not shared:
        return one
    return replace(one, declaration=read({**table, "shared": shared}, one.declaration.name))


def _alignment(parameter: dict[str, Any]) -> int:
    """The alignment of an address, in bytes, on which a kernel relies; 1: that of the elements."""
    align: int = parameter.get("descriptor", parameter).get("align", 1)
    return align


def compiled_form(manifest: dict[str, Any], one: OperationTable) -> bytes:
    """The declaration as libcupola.so reads it, with the kernels' names in the image."""
    one = _launched(manifest, _filled(manifest, of_default(manifest, one)))
    types = one.declaration.kernels
    return compiled(one.declaration, {each: _kernel(manifest, one, each)["name"] for each in types})


def _check_parameters(
    one: OperationTable, types: tuple[str, ...], key: str, kernel: dict[str, Any]
) -> None:
    parameters, arguments = given_parameters(kernel), one.declaration.arguments
    said = ", ".join(f"{spelled(each)} {each['name'] or ''}".strip() for each in parameters)
    whole = f"{title(kernel['demangled'])}({said})"
    if len(parameters) != len(arguments):
        raise one.wrong(
            "arguments", f"there are {len(arguments)}, and the kernel takes {len(parameters)}: "
            f"{whole}"
        )  # fmt: skip
    for index, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True)):
        wrong = _mismatch(one.declaration, types, argument, parameter)
        if wrong:
            raise one.wrong(
                "arguments", f"argument {index} is {argument!r}, {wrong}; the kernel has "
                f"{spelled(parameter)} {parameter['name'] or ''} there: {whole} (of {key})"
            )  # fmt: skip


def _mismatch(
    declaration: Declaration, types: tuple[str, ...], argument: Argument, parameter: dict[str, Any]
) -> str:
    """How an argument differs from the kernel's parameter; "" where it fits."""
    kind = parameter["kind"]
    if isinstance(argument, Record):
        fits = kind == "struct" and argument.size == parameter["size"]
        return "" if fits else f"a struct of {argument.size} bytes"
    if kind == "unknown" or isinstance(argument, tuple):
        return "" if kind == "unknown" else "the sizes of a launch"
    tensor = declaration.tensor(argument)
    if tensor is not None:
        return _tensor_mismatch(declaration, types, tensor, parameter)
    scalar = next((one for one in declaration.scalars if one.name == argument), None)
    if scalar is None:
        return "" if kind == "integer" else "an integer"
    allowed = ("float",) if scalar.kind == "float" else ("integer", "float")
    return "" if kind in allowed else f"a scalar of type {scalar.kind}"


def _tensor_mismatch(
    declaration: Declaration, types: tuple[str, ...], tensor: Tensor, parameter: dict[str, Any]
) -> str:
    element = declaration.element_of(tensor, types)
    title = f"a tensor of {element}"
    if parameter["kind"] != "pointer":
        return title
    target = (parameter.get("element") or {}).get("type", "")
    target = _SPELLED.get(target := target.removeprefix("const ").strip(), target)
    if element not in (element_types.held_by(target) or (element,)):
        return title
    if tensor.written and parameter["const"]:
        return f"{title}, which the kernel has to write"
    if not tensor.written and not parameter["const"]:
        return (
            f"{title}, which the kernel only reads: make its parameter const, or list the input in "
            "mutates"
        )
    return ""


MARK = "# Made by cupola.build of [[tool.cupola.ops]]"
_MODULE = '''\
{mark}: the next build writes it anew.
"""Operations, for arrays of any library: ``ops.{example}(...)``."""

from cupola.ops.library import OperationLibrary as _OperationLibrary

_library = _OperationLibrary(
    __name__,
    "{library}",
    (
{names}    ),
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
'''


def module_text(kernels: Kernels) -> str:
    """The text of the package's module ``ops``."""
    names = sorted(name_of(one.declaration) for one in kernels.operations)
    return _MODULE.format(
        mark=MARK,
        example=names[0],
        library=kernels.library,
        names="".join(f'        "{name}",\n' for name in names),
    )


def stub_text(kernels: Kernels) -> str:
    """The text of the module's ``.pyi``."""
    functions = [
        _stub(one.declaration)
        for one in sorted(kernels.operations, key=lambda one: one.declaration.name)
    ]
    return "from typing import Any as _Any\n" + "".join(functions)


def name_of(declaration: Declaration) -> str:
    """The operation's name in its package."""
    return declaration.name.rpartition(".")[2]


def _stub(declaration: Declaration) -> str:
    parameters = [
        f"{one.name}: _Any{' = None' if one.type.optional else ''}" for one in declaration.inputs
    ]
    parameters += [
        f"{one.name}: {one.kind}{'' if one.default is None else f' = {one.default!r}'}"
        for one in declaration.scalars
    ]
    defaulted = [" = " in one for one in parameters]
    if defaulted != sorted(defaulted):  # a parameter without a default after one that has it
        parameters = [one if " = " in one else f"{one} = ..." for one in parameters]
    parameters += ["*", "out: _Any = None", "stream: _Any = None", "device: _Any = None"]
    lines = [declaration.doc or f"The operation {declaration.name}.", ""]
    lines += [f"{one.name} : {one.type.text}" for one in declaration.inputs]
    lines += [f"returns {one.name} : {one.type.text}" for one in declaration.outputs]
    about = "\n    ".join(line.replace("\\", "/").replace('"""', "'''") for line in lines)
    result = "_Any" if declaration.outputs else "None"
    text = f"\ndef {name_of(declaration)}(\n    " + ",\n    ".join(parameters)
    return f'{text},\n) -> {result}:\n    """{about}\n    """\n'.replace("    \n", "\n")
