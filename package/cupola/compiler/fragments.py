# cupola/compiler/fragments.py - the request of a link: images of packages, and sources of users.
"""Sources and images as inputs of one link."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupola.compiler import arguments
from cupola.compiler.front_end import FrontEnd
from cupola.compiler.lines import with_lines
from cupola.compiler.link import linkable, linked_as
from cupola.compiler.request import Request, Source, Target, include_folders
from cupola.compiler.shared_symbols import SharedText
from cupola.exceptions import CompileError
from cupola.image import reader
from cupola.toolkit.nvjitlink import NvJitLink, nvjitlink
from cupola.toolkit.nvrtc import nvrtc

if TYPE_CHECKING:
    from cupola.device import Device

_RELEASE = re.compile(r"(\d+)\.(\d+)")


@dataclass
class LinkedImage:
    """An image to link."""

    title: str
    content: bytes
    declarations: Mapping[str, str] | None = None  # of open symbols; None without a manifest
    toolkit: str = ""  # the release that made it, "13.0.88"
    entry: reader.Entry | None = None  # the part that is linked; None: the content
    ptx: str = ""


def request_of(
    sources: Sequence[Source],
    images: Sequence[LinkedImage],
    device: Device,
    *,
    cpu: bool,
    lto: bool,
    options: Any,
    include: Any,
    name_expressions: Any,
    headers: Any,
    arch: str | None,
) -> tuple[Request, FrontEnd | None]:
    """The request to link sources and images, and the compiler; the compiler is None where there is
    no source.

    `cpu`: the driver of the CPU device links PTX; else nvJitLink links. This function sets `entry`
    and `ptx` of each image.
    """
    asked, words = arguments.asked_architecture(arch, arguments.options_of(options))
    arguments.require_folders("options", include_folders(words))
    compiler = FrontEnd(nvrtc()) if sources else None
    linker = None if cpu else nvjitlink()
    target = _target(asked, device, compiler, cpu)
    for one in images:
        one.entry = linkable(one.title, one.content, target, lto=lto and not cpu)
        one.ptx = _ptx(one, target)
        if lto:
            require_lto(one, linker)
    target = _with_features(target, images)
    objects = tuple(
        (one.title, one.content if one.entry is None else one.entry.payload) for one in images
    )
    folders = arguments.folders_of(include)
    request = Request(
        tuple(sources),
        target,
        with_lines(words) if cpu else words,
        folders if compiler is None else compiler.folders(folders),
        tuple(arguments.texts_of("name_expressions", name_expressions)),
        arguments.headers_of(headers),
        objects,
        linker,
        device.index,
        None if cpu else linked_as(target, objects, device, lto),
        lto,
        tuple(SharedText(one.title, one.ptx, one.declarations or {}) for one in images if one.ptx),
    )
    return request, compiler


def _target(asked: str | None, device: Device, compiler: FrontEnd | None, cpu: bool) -> Target:
    from cupola.compiler import target_on

    if compiler is not None:
        return target_on(asked, device, compiler, cpu)
    architecture = asked or "sm_{}{}".format(*device.compute_capability)
    if cpu:
        return Target(architecture.replace("sm_", "compute_"), False)
    return Target(architecture, architecture.startswith("sm_"))


def _with_features(target: Target, images: Sequence[LinkedImage]) -> Target:
    """The target, with a suffix if the LTO-IR of an image is for one architecture or family."""
    suffixes = {one.entry.variant for one in images if one.entry is not None} - {""}
    if not suffixes or not target.machine_code or not target.architecture[-1].isdigit():
        return target
    return Target(target.architecture + min(suffixes), True)


def _ptx(image: LinkedImage, target: Target) -> str:
    """The PTX of an image, for the check of its open symbols; "" where the image has no PTX."""
    entry = linkable(image.title, image.content, target, lto=False)
    content = image.content if entry is None else entry.payload
    if b".version" not in content[:4096]:
        return ""
    read = reader.read_image(content)
    return read.entries[0].payload.decode(errors="replace") if read.kind == "ptx" else ""


def require_lto(image: LinkedImage, linker: NvJitLink | None) -> None:
    """Refuse a package without LTO-IR, or with LTO-IR that the linker does not read. Packages
    without LTO-IR are refused on the CPU device, too, so that a program that runs there also runs
    on a GPU.

    Raises
    ------
    CompileError
        The image is refused; the error names the remedy.
    """
    if image.declarations is None:
        return
    kinds = {image.entry.kind} if linker and image.entry else _kinds(image.content)
    if "ltoir" not in kinds:
        raise CompileError(
            f"{image.title} has no LTO-IR: build it with lto = true in its table, or link its PTX "
            "with lto=False"
        )
    if linker is None:
        return
    read = _RELEASE.match(image.toolkit)
    made = (int(read[1]), int(read[2])) if read else linker.version
    if made[0] != linker.version[0] or made > linker.version:
        major, minor = linker.version
        raise CompileError(
            f"{image.title}: its LTO-IR is of CUDA {made[0]}.{made[1]}, and {linker} reads that of "
            f"CUDA {major}.0 to {major}.{minor}: pip install "
            f"'nvidia-nvjitlink=={made[0]}.*,>={made[0]}.{made[1]}' (the extra cupola[compile] has "
            "one version), or link its PTX with lto=False"
        )


def _kinds(content: bytes) -> set[str]:
    return {entry.kind for entry in reader.read_image(content).entries}
