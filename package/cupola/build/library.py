# package/cupola/build/library.py - the steps that make a package's kernel library.
"""A kernel library: its image, its manifest, and the module that Python imports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..declare import compiled, parameter_names
from ..image import devices, reader
from ..image.kernel_names import attributes, uncommon
from ..image.processor_levels import LEVELS
from . import (
    ahead,
    families,
    family_manifest,
    host_library,
    image,
    makers,
    operations,
    python_image,
    variants,
)
from .architectures import Architectures
from .instances import NVCC
from .kernels import Kernels
from .selection import Selection
from .step import Step
from .stub import stub
from .toolkit import Toolkit

# The module first: its mark tells the next build that it owns these files.
SUFFIXES = (".py", ".fatbin", ".json", ".pyi")
_MARK = "# Made by cupola.build of "
# A line of the module of operations: a name in its tuple.
_LISTED = re.compile(r'^ +"(\w+)",$', re.MULTILINE)
# CUB and Thrust put the list of targets into their namespaces, for hosts that load several
# libraries. The compilation that describes kernels is for one target, and needs the same names.
_ONE_NAMESPACE = (
    "-DCUB_DISABLE_NAMESPACE_MAGIC",
    "-DCUB_IGNORE_NAMESPACE_MAGIC_ERROR",
    "-DTHRUST_DISABLE_ABI_NAMESPACE",
    "-DTHRUST_IGNORE_ABI_NAMESPACE_ERROR",
)
_MODULE = '''\
{mark}{sources}: the next build writes it anew.
"""Kernels, each loaded when it is first used: ``{name}.{example}[grid, block](...)``."""

from cupola.core.kernel_library import KernelLibrary as _KernelLibrary

_library = _KernelLibrary(
    __name__,
    {{
{kernels}    }},
)
__getattr__ = _library.attribute
__dir__ = _library.attributes
load = _library.load
'''


def steps(
    kernels: Kernels,
    toolkit: Toolkit,
    architectures: Architectures,
    root: Path,
    work: Path,
    *,
    package: str = "",
    levels: Sequence[str] = (),
) -> list[Step]:
    """Steps which make, in the folder ``work``, the library's files; ``products`` names them.

    ``package`` is the distribution and its version, for the manifest. ``levels`` are the host
    levels of the CPU device's machine code.
    """
    made = {suffix: work / f"{kernels.name}{suffix}" for suffix in SUFFIXES}
    if kernels.host:
        text = host_library.module_text(kernels, toolkit, _MARK)
        shared = host_library.steps(kernels, toolkit, architectures, root, work)
        return [*shared, _write(root, made[".py"], text)]
    manifest = made[".json"]
    sources, generated = [Path(source) for source in kernels.sources], []
    if kernels.makers:
        sources = [work / f"{kernels.name}.cu"]
        generated = [_write(root, sources[0], makers.source_text(kernels, sources[0]))]
    if kernels.compiler == NVCC:
        selected = None
        if kernels.selects:
            selected = Selection(
                kernels.only,
                kernels.without,
                kernels.source_targets,
                variants.requested(kernels, root),
            )
        compiled = image.steps(
            toolkit,
            architectures,
            sources,
            made[".fatbin"],
            manifest,
            root,
            options=(*_ONE_NAMESPACE, *kernels.options),
            include=kernels.include,
            package=package,
            relocatable=kernels.links,
            title=kernels.library,
            operations=kernels.operations,
            families=kernels.families,
            verify=kernels.verify,
            packed=True,
            selected=selected,
            lto=kernels.lto,
        )
    else:
        compiled = python_image.steps(
            kernels,
            toolkit,
            architectures,
            made[".fatbin"],
            manifest,
            root,
            package=package,
            operations=kernels.operations,
            families=kernels.families,
        )
        if kernels.variants:
            text = variants.outcome_text({}, {})
            compiled.append(_write(root, variants.outcome_file(made[".fatbin"]), text))

    stub_source = Path(__file__).with_name("stub.py")
    generators = (Path(__file__), stub_source, Path(parameter_names.__file__))

    def write(suffix: str, text: Callable[[dict[str, Any]], str]) -> Step:
        path = made[suffix]

        def act() -> None:
            (root / path).write_text(text(json.loads((root / manifest).read_text())))

        return Step(
            target=path,
            inputs=(manifest, *generators),
            action=act,
            key=("module", kernels.library, *kernels.sources),
            label=f"write {path.name}",
            quiet=True,
        )

    declared = []
    if kernels.operations:
        declared = [
            _write(root, work / f"{operations.MODULE}{suffix}", text, manifest)
            for suffix, text in (
                (".py", operations.module_text(kernels)),
                (".pyi", operations.stub_text(kernels)),
            )
        ]
        declared += [_compiled(root, work, manifest, one) for one in kernels.operations]
    if kernels.families:
        declared += [
            _write(root, work / f"{families.MODULE}{suffix}", text, manifest)
            for suffix, text in (
                (".py", families.module_text(kernels)),
                (".pyi", families.stub_text(kernels)),
            )
        ]
    modules = [write(".py", partial(module_text, kernels)), write(".pyi", stub)]
    if kernels.makers:
        texts = {".py": makers.module_text(kernels, _MARK), ".pyi": makers.stub_text(kernels)}
        modules = [_write(root, made[suffix], text, manifest) for suffix, text in texts.items()]
    return [
        *generated,
        *compiled,
        *declared,
        *modules,
        *ahead.steps(
            image.plain(made[".fatbin"]), made[".fatbin"], manifest, levels, title=kernels.library
        ),
    ]


def _write(root: Path, path: Path, text: str, *inputs: Path) -> Step:
    """A step that writes a text; the steps of its inputs come first."""

    def act() -> None:
        (root / path).write_text(text)

    return Step(
        target=path,
        inputs=inputs,
        action=act,
        key=("text", text),
        label=f"write {path.name}",
        quiet=True,
    )


def _compiled(root: Path, work: Path, manifest: Path, one: operations.OperationTable) -> Step:
    """The step that writes an operation's declaration for programs in C and C++."""
    path = work / _file_name(one)

    def act() -> None:
        found = json.loads((root / manifest).read_text())
        (root / path).write_bytes(operations.compiled_form(found, one))

    return Step(
        target=path,
        inputs=(manifest, Path(compiled.__file__)),
        action=act,
        key=("operation", json.dumps(one.declaration.table)),
        label=f"write {path.name}",
        quiet=True,
    )


def _file_name(one: operations.OperationTable) -> str:
    return f"{operations.name_of(one.declaration)}.op"


def products(kernels: Kernels, folder: Path, levels: Sequence[str] = ()) -> list[Path]:
    """The library's files in the folder of its package."""
    if kernels.host:
        return [folder / f"{kernels.name}.py", folder / host_library.file_name(kernels)]
    suffixes = [*SUFFIXES, *(f".{level}.so" for level in levels)]
    found = [folder / (kernels.name + suffix) for suffix in suffixes]
    if kernels.operations:
        found += [folder / f"{operations.MODULE}{suffix}" for suffix in (".py", ".pyi")]
        found += [folder / _file_name(one) for one in kernels.operations]
    if kernels.families:
        found += [folder / f"{families.MODULE}{suffix}" for suffix in (".py", ".pyi")]
    return found


def in_the_way(kernels: Kernels, folder: Path) -> Path | None:
    """A file in the package's folder with the library's name that no build made, or None."""
    others = [folder / kernels.name, folder / f"{kernels.name}.pyx"]
    if not made_here(kernels, folder):
        others += products(replace(kernels, operations=(), families=()), folder)
    for tables, name, mark in (
        (kernels.operations, operations.MODULE, operations.MARK),
        (kernels.families, families.MODULE, families.MARK),
    ):
        module = folder / f"{name}.py"
        if tables:
            others += [folder / name, folder / f"{name}.pyx"]
            others += [module] if module.exists() and not _has_mark(module, mark) else []
    return next((path for path in others if path.exists()), None)


def made_here(kernels: Kernels, folder: Path) -> bool:
    """Whether a build put its products into the package's folder: the module has its mark."""
    return _has_mark(folder / f"{kernels.name}.py", _MARK)


def outdated(libraries: Iterable[Kernels], folder: Path, declared: Collection[str]) -> list[Path]:
    """The files of earlier builds in a package's folder that the tables no longer name. Files that
    no build made are not among them.

    Parameters
    ----------
    libraries : iterable of Kernels
        Of the project.
    folder : Path
    declared : collection of str
        The names of the files that this build puts into the folder.
    """
    names = {operations.MODULE, families.MODULE, *(kernels.name for kernels in libraries)}
    found = []
    for module in folder.glob("*.py"):
        if module.stem not in names and _has_mark(module, _MARK):
            former = Kernels(f"_.{module.stem}", ["_.cu"], host=host_library.is_module(module))
            found += products(former, folder, LEVELS)
    for name, mark in ((operations.MODULE, operations.MARK), (families.MODULE, families.MARK)):
        module = folder / f"{name}.py"
        if _has_mark(module, mark):
            found += [module, module.with_suffix(".pyi")]
            if name == operations.MODULE:
                listed = _LISTED.findall(module.read_text(errors="replace"))
                found += [folder / f"{operation}.op" for operation in listed]
    return [path for path in found if path.name not in declared and path.is_file()]


def outdated_beside(libraries: Iterable[Kernels], placed: Iterable[Path]) -> list[Path]:
    """The `outdated` files in the folders of the files that a build puts into packages."""
    declared: dict[Path, set[str]] = {}
    for path in placed:
        declared.setdefault(path.parent, set()).add(path.name)
    every = list(libraries)
    return [path for folder, names in declared.items() for path in outdated(every, folder, names)]


def _has_mark(module: Path, mark: str) -> bool:
    return module.is_file() and module.read_text(errors="replace").startswith(mark)


def notes(kernels: Kernels, root: Path, folder: Path) -> list[str]:
    """Lines about a library of a project that was built in a folder: its families, its names that
    are not obvious, and the devices for which kernels have no code.
    """
    if kernels.makers or kernels.host or kernels.variants_alone:
        return []
    manifest = json.loads((folder / f"{kernels.name}.json").read_text())
    lines = family_manifest.notes(kernels, manifest, root, folder)
    lines += [
        f"{kernels.library}.{name} is {demangled.removeprefix('void ')}"
        for name, demangled in uncommon(manifest).items()
    ]
    found = devices.by_device((folder / f"{kernels.name}.fatbin").read_bytes())
    rows = devices.missing(found)
    if not rows:
        oldest = reader.CAPABILITIES[0]
        lines.append(
            f"{kernels.library}: each kernel ({len(found)}) has code for each device from compute "
            f"capability {oldest // 10}.{oldest % 10} on"
        )
        return lines
    lines.append(f"{kernels.library}: kernels without code for some devices (-):")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join(["", name.ljust(widths[0]), *aligned]))
    source = f" of {' or '.join(kernels.source_targets)}," if kernels.source_targets else ""
    lines.append(
        f"  to add code, name more targets in the architectures{source} of the table, or older "
        "levels of PTX in ptx; or add a source for all targets that has the kernel"
    )
    return lines


def module_text(kernels: Kernels, manifest: dict[str, Any]) -> str:
    """The text of the library's Python module."""
    known = dict(sorted(attributes(manifest).items()))
    return _MODULE.format(
        mark=_MARK,
        sources=", ".join(kernels.sources),
        name=kernels.name,
        example=min(known, key=len, default="kernel"),
        kernels="".join(f'        "{name}": "{exact}",\n' for name, exact in known.items()),
    )
