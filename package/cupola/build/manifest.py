# package/cupola/build/manifest.py - writes the manifest of an image: its kernels, as JSON.
"""The manifest of a device image.

``format`` 1::

    {"format": 1, "package": "cupola 0.1.0", "toolkit": "13.0.88", "ptx_version": "9.0",
     "image": {"file": "kernels.fatbin", "size": 20480, "sha256": "9f86d0..."},
     "sources": {"src/waves.cu": "60303a..."},
     "architectures": {"cubin": [75, "90a"], "ptx": [75]},
     "variables": {"weights": ["<f4", [3]]},
     "kernels": [{"name": ..., "demangled": ...,
                  "parameters": [{"name": "x", "kind": "pointer", "type": "const float*",
                                  "size": 8, "offset": 0, "const": true, "restrict": true,
                                  "element": {"kind": "float", "type": "float", "size": 4,
                                              "dtype": "<f4"}}],
                  "resources": {"sm_75": {"registers": 10, "shared": 0, "local": 0,
                                          "constant": 0}}}]}

``image`` has the size in bytes and the SHA-256 of the image's file, so that a manifest is not used
with another image. ``sources`` has the SHA-256 of each source and each of the project's headers.
``verify`` is true where the package's table says so.

A library with declared operations has their tables before ``kernels``, as ``operations``. A library
with families of variants has them as ``families`` (`cupola.build.family_manifest`), and the options
of the compiler as ``options``.

A library of another compiler than nvcc names it as ``compiler``. Its kernels have ``block`` (three
numbers of threads) and ``shared`` (bytes of dynamic shared memory). Every launch of such a kernel
has this block and this shared memory. Its parameters can have ``align`` (bytes), on which the code
relies, and ``hidden`` (true): the compiler added the parameter, no caller gives it, and it is zero.
The first parameter that an array becomes has ``descriptor`` (`cupola.build.compilers.descriptor`).

``open`` has the functions and variables that the kernels use and no source defines: each has its
linkage name, and its declaration in C++. A reference may be written as a pointer. Such kernels, and
all whose image has LTO-IR (``ltoir`` of ``architectures``), have no resources before they are
linked.

``variables`` has the dtypes (`cupola.build.layout`) of global variables by linkage name.

Targets without suffix are numbers, others texts. Resources of ``sm_90a`` have that name.

``kind`` is pointer, integer (with ``signed``; null if unknown), float or struct (with ``fields``,
each with ``name``, ``offset`` and ``count``). Values have a ``dtype`` (`cupola.build.layout`).
Pointers have the ``dtype`` of their targets, if it is known. ``notes`` describe properties that a
dtype can't express. ``name`` is null where the source has none.

Number, sizes and offsets of parameters come from the machine code. Names and ``restrict`` come from
the compiler's intermediate files, types from debug information. If these disagree, the build
stops. Without intermediate files a parameter that its kernel never uses may be missing: then
``kind`` is unknown and ``name`` null. All sizes and offsets are bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..image.cxx_names import demangle
from ..image.manifest_text import recorded, written
from ..image.ptx_functions import Symbol, symbols
from ..image.reader import Entry, Kernel, read_fatbin, read_image, read_kernels
from . import family_manifest
from .error import BuildError
from .families import FamilyTable
from .intermediate import Declaration, read_declarations, read_prototype
from .layout import dtype, notes
from .merge import merge
from .operations import OperationTable, store
from .signature import Debug, read_debug
from .targets import Target

FORMAT = 1


def write_manifest(
    path: Path,
    *,
    image: Path,
    reference: Path | Sequence[Path],
    debug: Path | Sequence[Path],
    toolkit: str,
    package: str,
    declarations: Sequence[Path] = (),
    operations: Sequence[OperationTable] = (),
    families: Sequence[FamilyTable] = (),
    sources: Mapping[str, Path] | None = None,
    options: Sequence[str] = (),
    verify: bool = False,
    origins: Sequence[str] = (),
) -> None:
    """Describe ``image`` in the file ``path``; see `describe`.

    ``sources`` are the files that it was made of, by their names in the project. ``options`` are
    the compiler's, which a library with families records. ``verify``: the
    package asks for a comparison of the digest at each load.
    """
    cubins = [debug] if isinstance(debug, Path) else debug
    references = [reference] if isinstance(reference, Path) else reference
    text = describe(
        image.read_bytes(),
        [cubin.read_bytes() for cubin in references],
        [cubin.read_bytes() for cubin in cubins],
        toolkit,
        package,
        [file.read_text(errors="replace") for file in declarations],
        origins=origins,
    )
    if operations and "open" in text:
        names = ", ".join(one["declaration"] for one in text["open"])
        raise BuildError(
            f"operation {operations[0].declaration.name}: its kernels are complete only where a "
            f"user links them, since no source defines {names}; define it, or remove the operation"
        )
    known = digests(image, sources or {}, verify)
    if families:
        known["options"] = list(options)  # other options are other code, with other measurements
    # Families first: an error about a default that can't run is theirs.
    stored = family_manifest.store({**known, **text}, families, path)
    path.write_text(written(store(stored, operations)))


def digests(image: Path, sources: Mapping[str, Path], verify: bool) -> dict[str, Any]:
    """The fields of a manifest by which an image and its sources are compared."""
    found = {"image": recorded(image.name, image.read_bytes()), "sources": _digests(sources)}
    return {**found, "verify": True} if verify else found


def _digests(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in sorted(files)}


def describe(
    image: bytes,
    reference: bytes | Sequence[bytes],
    debug: Sequence[bytes],
    toolkit: str,
    package: str,
    declarations: Sequence[str] = (),
    declared: Sequence[dict[str, list[Declaration]]] = (),
    origins: Sequence[str] = (),
) -> dict[str, Any]:
    """The manifest, as a JSON value.

    Parameters
    ----------
    image : bytes
        The fatbin.
    reference : bytes or list of bytes
        All its kernels as a cubin of one architecture, linked where there were several sources. Or
        a cubin of each architecture, where these have different kernels.
    debug : list of bytes
        The same kernels with debug information; one cubin for each source.
    declarations : list of str
        The ``.cudafe1.gpu`` text that ``nvcc --keep`` left for each source.
    declared : list of dict
        Instead of such texts: parameters by kernel, as another compiler declares them.
    origins : list of str
        The sources of `debug`, where several can have the same kernel for different architectures.
    """
    entries = read_fatbin(image)
    references = [reference] if isinstance(reference, bytes) else reference
    described = {_target(read_image(one).entries[0]): read_kernels(one) for one in references}
    cubins = {_target(one): read_kernels(one.payload) for one in entries if one.kind == "cubin"}
    kernels = list({kernel.name: kernel for of in described.values() for kernel in of}.values())
    own = {target: {kernel.name for kernel in of} for target, of in described.items()}
    resources = _compared(kernels, min(described), {**described, **cubins}, own)
    lto = sorted(_target(one) for one in entries if one.kind == "ltoir")
    if lto:  # the reference is not linked
        resources = {kernel.name: {} for kernel in kernels}
    names = {kernel.name for kernel in kernels}
    told = [read_debug(cubin, names) for cubin in debug]
    declared = [*declared, *map(read_declarations, declarations)]
    ptx = [entry for entry in entries if entry.kind == "ptx"]
    if not all(entry.version for entry in ptx):
        raise BuildError("the image's PTX does not begin with .version and .target")
    variables = {name: one for of in told for name, one in of.variables.items()}
    if origins:
        _require_alike(origins, names, debug, told, declared)
        words = set().union(*(re.findall(rb"[\w$]+", one.payload) for one in ptx))
        variables = {name: one for name, one in variables.items() if name.encode() in words}
    found = symbols(ptx[0].payload.decode()) if lto else {}
    unresolved = [one for one in found.values() if not one.defined]
    return {
        "format": FORMAT,
        "package": package,
        "toolkit": toolkit,
        "ptx_version": max((one.version for one in ptx), default=None),
        "architectures": {
            kind: [
                target.in_manifest
                for target in sorted(_target(one) for one in entries if one.kind == kind)
            ]
            for kind in ("cubin", "ptx", *(["ltoir"] if lto else []))
        },
        **({"open": [_open(one, declarations) for one in unresolved]} if unresolved else {}),
        "variables": {name: dtype(variable) for name, variable in variables.items()},
        "kernels": [
            {
                "name": kernel.name,
                "demangled": demangle(kernel.name),
                "parameters": _parameters(kernel, told, declared),
                "resources": resources[kernel.name],
            }
            for kernel in kernels
        ],
    }


def _open(symbol: Symbol, texts: Sequence[str]) -> dict[str, str]:
    """A symbol that no source defines, with its declaration."""
    found = next(filter(None, (read_prototype(text, symbol.name) for text in texts)), None)
    demangled = demangle(symbol.name)
    if found is None:
        declaration = demangled
    elif "(" in demangled or not symbol.layout:
        declaration = f"{found.result} {demangled}"
    else:
        declaration = f"{found.result} {demangled}({', '.join(found.parameters)})"
    return {"name": symbol.name, "declaration": declaration}


def _target(entry: Entry) -> Target:
    return Target(entry.architecture, entry.variant)


def _compared(
    kernels: Iterable[Kernel],
    described: Target,
    cubins: Mapping[Target, Sequence[Kernel]],
    own: Mapping[Target, set[str]] | None = None,
) -> dict[str, dict[str, Any]]:
    """The resources of each kernel, for each architecture. Each architecture must have the same
    kernels as the compilation that describes them, for the architecture ``described``, or the names
    in ``own`` where an architecture has these.
    """
    resources: dict[str, dict[str, Any]] = {kernel.name: {} for kernel in kernels}
    layouts = {kernel.name: kernel.parameters for kernel in kernels}
    for architecture, found in sorted(cubins.items()):
        expected = (own or {}).get(architecture, set(resources))
        if {kernel.name for kernel in found} != expected:
            raise BuildError(
                f"the image's code for sm_{architecture} holds other kernels than what was "
                f"compiled for sm_{described} to describe them"
            )
        for kernel in found:
            if kernel.parameters != layouts[kernel.name]:
                raise BuildError(
                    f"kernel {demangle(kernel.name)} has other parameters in the image's code for "
                    f"sm_{architecture} than in what was compiled for sm_{described}"
                )
            resources[kernel.name][f"sm_{architecture}"] = _resources(kernel)
    return resources


def _require_alike(
    origins: Sequence[str],
    names: set[str],
    debug: Sequence[bytes],
    told: Sequence[Debug],
    declared: Sequence[dict[str, list[Declaration]]],
) -> None:
    """Raise for a kernel that several sources have with different parameters."""
    known: dict[str, tuple[str, list[str], list[Any]]] = {}
    for origin, cubin, one, front in zip(origins, debug, told, declared, strict=True):
        for kernel in read_kernels(cubin):
            if kernel.name not in names:
                continue
            merged = _parameters(kernel, [one], [front])
            found = [f"{each['type']} {each['name'] or ''}".rstrip() for each in merged]
            layout = [(each["offset"], each["size"], each.get("dtype")) for each in merged]
            first, *others = known.setdefault(kernel.name, (origin, found, layout))
            if others != [found, layout]:
                raise BuildError(
                    f"kernel {demangle(kernel.name)}: {origin} has the parameters "
                    f"({', '.join(found)}), and {first} has ({', '.join(others[0])}); a kernel "
                    "of several sources needs the same names and types in each: change one of "
                    "them, or give the kernels different names"
                )


def _resources(kernel: Kernel) -> dict[str, int]:
    return {
        "registers": kernel.registers,
        "shared": kernel.shared,
        "local": kernel.local,
        "constant": kernel.constant,
    }


def _parameters(
    kernel: Kernel, told: Sequence[Debug], declared: Sequence[dict[str, list[Declaration]]]
) -> list[dict[str, Any]]:
    debug = next((one for one in told if kernel.name in one.kernels), None)
    described = [] if debug is None else debug.kernels[kernel.name]
    front = next((one[kernel.name] for one in declared if kernel.name in one), None)
    if declared and front is None:
        raise BuildError(
            f"kernel {demangle(kernel.name)} is in none of the compiler's intermediate files"
        )
    merged = merge(kernel, described, front, debug)
    for parameter in merged:
        value = parameter["element"] if parameter["kind"] == "pointer" else parameter
        if value is not None and value["kind"] != "unknown":
            value["dtype"] = dtype(value)
            if said := notes(value):
                value["notes"] = said
    return merged
