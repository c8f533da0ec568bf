# cupola/tools/command/inspect.py - python -m cupola inspect FILE.
"""Shows the code, kernels, parameters and resources of an image."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

from cupola.image.installed import folders_of
from cupola.tools.command.table import table
from cupola.tools.command.values import word

if TYPE_CHECKING:
    from cupola.image.contents import Contents, Kernel

HELP = "show the kernels, parameters, architectures and resources of an image"
EPILOG = """\
FILE is a .fatbin, a .cubin, PTX, a library or program that contains fatbins or PTX (such as
libcupola.so), or a wheel with any of these. No driver is needed. Names and types of parameters come
from the manifest beside the file. Without a manifest they come from C++ names and PTX. "stack" is
the local memory of a thread: spilled registers, arrays with indices that are computed at run time,
and frames of called functions.

The name of an installed package stands for the images in its folder: for each kernel and device
the code that the device takes is shown. --devices shows that of a file.

  cupola inspect heat
  cupola inspect saxpy.fatbin
  cupola inspect saxpy.ptx --ptxas sm_90
  cupola inspect saxpy.ptx --ir
  cupola inspect dist/heat-1.0-py3-none-manylinux_2_34_x86_64.whl
  cupola inspect $(cupola paths --library) --kernel 'mandel*'"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the file, the filter and the output format."""
    add = parser.add_argument
    add("file", metavar="FILE|PACKAGE", help="the image, or a package with images")
    add("--devices", action="store_true",
        help="show the code that each device takes: machine code (sm_90), PTX (compute_75) or "
        "nothing")  # fmt: skip
    add("-k", "--kernel", type=word, metavar="PATTERN", default="*",
        help="show only kernels whose names match, as in 'mandel*'")  # fmt: skip
    add("--ptxas", type=word, metavar="ARCH",
        help="compile the PTX for ARCH (such as sm_90); show registers and spills")  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--ir", action="store_true",
        help="show the operations of kernels as the CPU device's compiler sees them")  # fmt: skip
    form.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> None:
    """Print it."""
    from cupola.exceptions import ArgumentValueError, ImageError
    from cupola.image import contents

    if options.file.endswith(".cu"):
        raise ImageError(
            f"{options.file} is a source: compile it first, as in "
            f"cupola compile {options.file} -o {options.file[:-3]}.ptx"
        )
    package = (
        options.file.isidentifier()
        and (not os.path.lexists(options.file) or os.path.isdir(options.file))
        and bool(folders_of(options.file))
    )
    if package or options.devices:
        show_devices(options, package)
        return
    images = contents.read_all(options.file)
    release = ""
    if options.ptxas:
        from cupola.build import toolkit
        from cupola.compiler.request import ARCHITECTURE
        from cupola.toolkit import ptxas

        read = ARCHITECTURE.fullmatch(options.ptxas)
        if read is None or read[1] != "sm":
            raise ArgumentValueError(
                f"--ptxas {options.ptxas}: expected an architecture of machine code, as in sm_90"
            )
        if not any(part.ptx for _, found in images for part in found.parts):
            raise ImageError(
                f"{options.file} has no PTX, which --ptxas compiles; leave out --ptxas to see the "
                "resources of its machine code"
            )

        compiler = toolkit.find()
        release, program = compiler.release, compiler.nvcc.with_name("ptxas")
    names = [kernel.title for _, found in images for kernel in found.kernels]
    for _, found in images:
        found.kernels = [
            kernel
            for kernel in found.kernels
            if fnmatch.fnmatchcase(kernel.title, options.kernel)
            or fnmatch.fnmatchcase(kernel.name, options.kernel)
        ]
        if options.ptxas:
            ptxas.add_resources(found, program, options.ptxas)
    if options.kernel != "*" and not any(found.kernels for _, found in images):
        has = f"it has {', '.join(sorted(set(names))[:8])}" if names else "it has no kernel"
        raise ImageError(f"{options.file}: no kernel matches {options.kernel!r}; {has}")
    if options.ir:
        show_operations(options.file, [kernel for _, found in images for kernel in found.kernels])
        return
    if options.json:
        import json

        told = [as_json(name, found) for name, found in images]
        inside = {"file": options.file, "images": told}
        print(json.dumps(told[0] if images[0][0] == options.file else inside, indent=1))
        return
    for i, (name, found) in enumerate(images):
        print("\n" * bool(i) + f"{name}: {found.kind}")
        show(found, options, release)


def show_devices(options: argparse.Namespace, package: bool) -> None:
    """The code that each device takes for each kernel."""
    from cupola.exceptions import ImageError
    from cupola.tools.command import by_device

    paths = by_device.images_of(options.file) if package else [Path(options.file)]
    told = {}
    for path in paths:
        try:
            found = by_device.of_file(path, contents_of(path))
        except ImageError as error:
            raise ImageError(f"{path}: {error}") from None
        told[str(path)] = {
            name: row for name, row in found.items() if fnmatch.fnmatchcase(name, options.kernel)
        }
    if options.json:
        import json

        print(json.dumps(told, indent=1))
        return
    print("\n\n".join(f"{path}\n{by_device.text_of(found)}" for path, found in told.items()))


def contents_of(path: Path) -> bytes:
    """The bytes of a file."""
    from cupola.exceptions import MissingFileError

    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path} (in {os.getcwd()})") from None


def show_operations(file: str, kernels: list[Kernel]) -> None:
    """Operations and values of kernels of PTX or a fatbin."""
    from cupola.exceptions import Error
    from cupola.tools.run import analysis

    if not file.endswith((".ptx", ".fatbin")):
        raise Error(f"{file}: --ir reads .ptx and .fatbin files")
    from cupola.image.reader import is_packed, read_image

    with open(file, "rb") as opened:
        image = opened.read()
    if is_packed(image):  # the driver gets PTX
        texts = [one for one in read_image(image).entries if one.kind == "ptx"]
        image = max(texts, key=lambda one: one.architecture).payload if texts else image
    print("\n".join(analysis.texts(image, [kernel.name for kernel in kernels])), end="")


def show(found: Contents, options: argparse.Namespace, release: str) -> None:
    """One image."""
    for line in parts(found):
        print(f"  {line}")
    if found.open:
        print(f"  complete after cupola.link with a source of {'; '.join(found.open)}")
    for kernel in found.kernels:
        print(f"\n{kernel.signature}")
        if kernel.name != kernel.title:
            print(f"  symbol {kernel.name}")
        if kernel.resources:
            print(table(resources(kernel), "  "))
        for line in warnings(kernel):
            print(f"  {line}")
    if not found.kernels:
        print("\nno kernel" + (f" matches {options.kernel}" if options.kernel != "*" else ""))
    elif release:
        print(f"\nresources for {options.ptxas}, with spills, are those of ptxas {release}")
    elif not any(kernel.resources for kernel in found.kernels):
        print("\nPTX has no resources before it is compiled; pass --ptxas ARCH to see them")


def parts(found: Contents) -> list[str]:
    """A line for each kind of code in the image; equal kinds share a line."""
    alike: dict[tuple[str, str], list[int]] = {}
    for part in found.parts:
        alike.setdefault((part.what, part.architecture), []).append(part.nbytes)
    lines = []
    for (what, architecture), sizes in alike.items():
        several = f", {len(sizes)} times" if len(sizes) > 1 else ""
        lines.append(f"{what} for {architecture}{several}, {sum(sizes):,} bytes")
    return lines


def resources(kernel: Kernel) -> list[list[str]]:
    """Rows, the first names the columns."""
    spilled = any(one.spill_stores is not None for one in kernel.resources)
    rows = [["", "registers", "shared", "stack"] + (["spill stores", "loads"] if spilled else [])]
    for one in kernel.resources:
        row = [one.architecture, str(one.registers), f"{one.shared:,}", f"{one.local:,}"]
        if spilled:
            known = one.spill_stores is not None
            row += [f"{one.spill_stores:,}", f"{one.spill_loads:,}"] if known else ["", ""]
        rows.append(row)
    return rows


def warnings(kernel: Kernel) -> list[str]:
    """Warnings about what slows a kernel down, or may do so."""
    lines = []
    for one in kernel.resources:
        if one.spill_stores or one.spill_loads:
            lines.append(
                f"warning: spills for {one.architecture}: {one.spill_stores:,} bytes stored and "
                f"{one.spill_loads:,} loaded by a thread, since {one.registers} registers don't "
                "hold all that is needed at a time"
            )
        elif one.local and one.spill_stores is None:
            lines.append(
                f"note: {one.local:,} bytes of stack for {one.architecture} may be spilled "
                f"registers: inspect the PTX with --ptxas {one.architecture}"
            )
    return lines


def as_json(file: str, found: Contents) -> dict[str, object]:
    """All of it but the code."""
    parts = [dataclasses.asdict(part) for part in found.parts]
    for part in parts:
        del part["ptx"]
    kernels = [{"title": kernel.title, **dataclasses.asdict(kernel)} for kernel in found.kernels]
    about = {"file": file, "kind": found.kind, "parts": parts, "kernels": kernels}
    return {**about, "open": found.open} if found.open else about
