# package/cupola/build/python_image.py - steps that compile kernels written in Python to one image.
"""Compiles Python sources to one compressed fatbin, with its manifest.

For each architecture, a process compiles all instances, joins their PTX, and makes machine code of
the joined text (`cupola.build.compilers`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import family_manifest
from .architectures import Architectures
from .error import BuildError
from .image import as_compiled, plain, shipped
from .instances import DISTRIBUTIONS
from .intermediate import Declaration
from .kernels import Kernels
from .step import Step
from .toolkit import Toolkit

if TYPE_CHECKING:
    from .families import FamilyTable
    from .operations import OperationTable


def steps(
    kernels: Kernels,
    toolkit: Toolkit,
    architectures: Architectures,
    image: Path,
    manifest: Path,
    root: Path,
    *,
    package: str = "",
    operations: Sequence[OperationTable] = (),
    families: Sequence[FamilyTable] = (),
) -> list[Step]:
    """Steps that make ``image`` (a packed fatbin) and ``manifest`` (JSON) of a library's instances.

    A compiler gets a compute capability. It decides whether the code is for that capability alone
    (sm_90a).
    """
    release = _release(kernels)
    compiled = as_compiled(image)
    made = sorted({target.number for target in architectures.cubins})
    levels = sorted({target.number for target in architectures.ptx})
    numbers = sorted({*made, *levels})
    cubins = {n: image.with_suffix(f".sm_{n}.cubin") for n in numbers}

    def about(n: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((root / cubins[n].with_suffix(".json")).read_text())
        return found

    def pack() -> None:
        targets = {n: about(n)["target"].removeprefix("sm_") for n in numbers}
        entries = [f"--image3=kind=elf,sm={targets[n]},file={cubins[n]}" for n in made]
        # PTX with a suffix is for no newer device: the newest target without one takes its place,
        # as in a build by nvcc, where the table does not name the levels.
        plain = [n for n in numbers if targets[n].isdecimal()]
        kept = {n for n in levels if n in plain} | {*([] if kernels.ptx else plain[-1:])}
        for n in sorted(kept) or levels[:1]:
            text = cubins[n].with_suffix(".ptx")
            entries.append(f"--image3=kind=ptx,sm={targets[n]},file={text}")
        command = [
            str(toolkit.tool("fatbinary")),
            f"--create={compiled}",
            "-64",
            "--compress=false",
        ]
        _run([*command, *entries], root, f"{kernels.library}: pack")

    def write() -> None:
        from .manifest import digests, written
        from .operations import store

        reference = (root / cubins[levels[0]]).read_bytes()
        every = [about(n) for n in numbers]
        found = described(every, (root / image).read_bytes(), reference, toolkit.release, package)
        sources = {source: root / source for source in kernels.sources}
        known = digests(root / image, sources, kernels.verify)
        stored = family_manifest.store({**known, **found}, families, root / manifest)
        (root / manifest).write_text(written(store(stored, operations)))

    tables: list[OperationTable | FamilyTable] = [*operations, *families]
    declared = [(one.table, sorted(one.lines.items())) for one in tables]
    return [
        *(_compile(kernels, n, cubins[n], release) for n in numbers),
        Step(
            target=compiled,
            inputs=tuple(cubins.values()),
            action=pack,
            key=(
                "pack",
                toolkit.release,
                *map(str, made),
                "ptx",
                *map(str, levels),
                str(kernels.ptx),
            ),
            label=f"{kernels.library}: pack",
            quiet=True,
        ),
        *shipped(plain(image), image, root, kernels.library),
        Step(
            target=manifest,
            inputs=(
                *(image, *cubins.values(), *map(Path, kernels.sources), Path(__file__)),
                *family_manifest.inputs(families, manifest),
            ),
            action=write,
            key=("manifest", toolkit.release, package, str(kernels.verify), *map(repr, declared)),
            label=f"describe {image.name}",
            quiet=True,
        ),
    ]


def _release(kernels: Kernels) -> str:
    """The version of the compiler, which is imported in other processes alone."""
    name, distribution = kernels.compiler, DISTRIBUTIONS[kernels.compiler]
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise kernels.wrong(
            "compiler", name, f"{distribution} is not installed where the build runs "
            f"({sys.prefix}): add 'cupola[{name}]' to [build-system] requires, or install it"
        ) from None  # fmt: skip


def _compile(kernels: Kernels, architecture: int, cubin: Path, release: str) -> Step:
    request = {
        "compiler": kernels.compiler,
        "sources": list(kernels.sources),
        "instances": list(kernels.instances),
        "architecture": architecture,
    }
    program = "cupola.build.compilers.compile"
    arguments = (json.dumps(request), str(cubin))
    folder = Path(__file__).with_name("compilers")
    programs = (folder / "compile.py", folder / f"{kernels.compiler}.py")
    return Step(
        target=cubin,
        inputs=(*map(Path, kernels.sources), *programs),
        command=(sys.executable, "-m", program, *arguments),
        key=(program, release, *arguments),
        depfile=cubin.with_suffix(".d"),
        label=f"{kernels.library}: {kernels.compiler} for sm_{architecture}",
        weight=5,
        extras=(cubin.with_suffix(".ptx"), cubin.with_suffix(".json")),
    )


def _run(command: Sequence[str], root: Path, label: str) -> None:
    done = subprocess.run(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise BuildError(f"{label}: {done.stdout.strip()}\n\nfailed: {' '.join(command)}")


def described(
    compiled: Sequence[dict[str, Any]],
    image: bytes,
    reference: bytes,
    release: str,
    package: str,
) -> dict[str, Any]:
    """The manifest: what the code has, and what the compiler says of parameters and launches.

    Raises
    ------
    BuildError
        Where the two disagree, or targets differ in what is the same for all launches.
    """
    from .manifest import describe  # it needs pyelftools

    kernels: dict[str, list[dict[str, Any]]] = {}
    for one in compiled:
        for kernel in one["kernels"]:
            kernels.setdefault(kernel["name"], []).append(kernel)
    declared = {name: _declarations(each) for name, each in kernels.items()}
    found = describe(image, reference, [], release, package, declared=[declared])
    for kernel in found["kernels"]:
        each = kernels[kernel["name"]]
        for parameter, about in zip(kernel["parameters"], each[0]["parameters"], strict=True):
            parameter |= {
                key: about[key] for key in ("align", "hidden", "descriptor") if about.get(key)
            }
            parameter |= _struct(kernel["name"], parameter, about)
        if any(one.get("block") != each[0].get("block") for one in each):
            blocks = [one.get("block") for one in each]
            raise BuildError(f"kernel {kernel['name']} has other blocks for some targets: {blocks}")
        if "block" in each[0]:
            # Less is needed on some devices, and more is no error there.
            kernel |= {"block": each[0]["block"], "shared": max(one["shared"] for one in each)}
    makers = {one["compiler"] for one in compiled}
    return {**found, "compiler": ", ".join(sorted(makers)), "kernels": found.pop("kernels")}


def _struct(kernel: str, parameter: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """The kind and the type of a struct, which the compiler's own classes describe."""
    if "struct" not in about:
        return {}
    struct = about["struct"]
    if struct["size"] != parameter["size"]:
        raise BuildError(
            f"kernel {kernel}: parameter {about['name']} has {parameter['size']} bytes in its "
            f"code, and {struct['size']} as {struct['type']}"
        )
    return {"kind": "struct", "fields": [], "type": struct["type"], "dtype": struct["dtype"]}


def _declarations(each: Sequence[dict[str, Any]]) -> list[Declaration]:
    if any(one["parameters"] != each[0]["parameters"] for one in each):
        raise BuildError(f"kernel {each[0]['name']} has other parameters for some targets")
    return [
        Declaration(one["name"], one["type"], bool(one["pointer"]), const=bool(one.get("const")))
        for one in each[0]["parameters"]
    ]
