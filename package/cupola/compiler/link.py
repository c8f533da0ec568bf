# cupola/compiler/link.py - links several sources and objects to one image.
"""Linking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cupola.compiler.parameter_types import kernel_types
from cupola.compiler.request import ARCHITECTURE, Built, Request, Source, Target
from cupola.exceptions import CompileError, ImageError
from cupola.toolkit.nvcc import without_pointers
from cupola.toolkit.program import Compiled, Compiler

if TYPE_CHECKING:
    from cupola.device import Device

LTO_IR = b"\xedCN\x7f"  # the magic number of LTO-IR


def link(request: Request, compiler: Compiler) -> Built:
    """Compile each source separately and link them with the objects to one image."""
    built, inputs = Built(b""), []
    missing: dict[str, CompileError] = {}
    for source in request.sources:
        made, names = _with_its_expressions(request, compiler, source, missing)
        built.names |= names
        built.log = "\n".join(filter(None, (built.log, made.log)))
        ptx = made.ptx.decode(errors="replace")
        built.types = {**kernel_types(request, compiler, source, ptx), **built.types}
        built.ptx += ptx + "\n"
        content = made.ptx
        if request.linker is not None:
            words = [*request.words, "-dlto"]
            made = request.compile(compiler, source, words, list(names))
            content = made.ltoir or made.cubin or made.ptx
        inputs.append((source.title, content))
    for expression in request.expressions:
        if expression not in built.names:
            raise missing[expression]
    if request.linker is None:
        from cupola.module import link_images

        try:
            built.image = link_images([*inputs, *request.objects], request.device)
        except ImageError as error:
            titles = ", ".join(name for name, _ in (*inputs, *request.objects))
            raise CompileError(f"{titles}: linking failed: {error}", error.log) from None
        built.image, built.ptx = built.image.rstrip(b"\0"), ""
        return built
    outcome = request.linked_as or request.target
    words = [f"-arch={outcome.architecture.replace('compute', 'sm')}", "-lto"]
    if not outcome.machine_code:
        words.append("-ptx")
    objects = [(name, _unpacked(name, content, outcome)) for name, content in request.objects]
    built.image, log = request.linker.link([*inputs, *objects], words, not outcome.machine_code)
    if not outcome.machine_code:
        built.image = without_pointers(built.image)
    built.log = "\n".join(filter(None, (built.log, log)))
    return built


def _unpacked(name: str, content: bytes, target: Target) -> bytes:
    """The content, or the code for the target of an image that a build packed."""
    from cupola.image import cubin

    if not cubin.is_packed(content):
        return content
    read = ARCHITECTURE.fullmatch(target.architecture)
    number = int(read[2]) if read else 0
    entries = cubin.read_image(content).entries
    # Any PTX can be linked, machine code only if it was compiled as relocatable.
    texts = [one for one in entries if one.kind == "ptx" and one.architecture <= number]
    if not texts:
        raise CompileError(f"{name}: no PTX to link for {target.architecture}")
    return max(texts, key=lambda one: one.architecture).payload


def _with_its_expressions(
    request: Request, compiler: Compiler, source: Source, missing: dict[str, CompileError]
) -> tuple[Compiled, dict[str, str]]:
    """Compile one of several sources, with the name expressions that are valid in it."""
    try:
        made = request.compile(compiler, source, request.words, request.expressions)
        return made, made.names
    except CompileError as error:
        if not request.expressions:
            raise
        all_of_them = error
    made = request.compile(compiler, source, request.words, ())  # raises the source's errors
    known = []
    for expression in request.expressions:
        try:
            request.compile(compiler, source, request.words, [expression])
            known.append(expression)
        except CompileError:
            missing.setdefault(expression, all_of_them)
    if known:
        made = request.compile(compiler, source, request.words, known)
    return made, made.names


def linked_as(target: Target, objects: Iterable[tuple[str, bytes]], device: Device) -> Target:
    """The target that nvJitLink supports: PTX only from LTO-IR, machine code from any input."""
    if target.machine_code or all(content.startswith(LTO_IR) for _, content in objects):
        return target
    read = ARCHITECTURE.fullmatch(target.architecture)
    capability = "{}{}".format(*device.compute_capability)
    # Code with features of one architecture or family links only for that.
    features = read[3] if read and read[2][:-1] == capability[:-1] else ""
    return Target(f"sm_{capability}{features}", True)
