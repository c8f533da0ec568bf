# cupola/compiler/link.py - links several sources and objects to one image.
"""Linking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cupola.compiler import shared_symbols
from cupola.compiler.parameter_types import kernel_types
from cupola.compiler.request import ARCHITECTURE, Built, Request, Source, Target
from cupola.compiler.shared_symbols import SharedText
from cupola.exceptions import CompileError, ImageError
from cupola.image import reader
from cupola.image.reader import Entry
from cupola.toolkit.nvcc import without_pointers
from cupola.toolkit.program import Compiled, Compiler

if TYPE_CHECKING:
    from cupola.device import Device

FATBIN = b"\x50\xed\x55\xba"
LTO_IR = b"\xedCN\x7f"  # the magic number of LTO-IR


def link(request: Request, compiler: Compiler | None) -> Built:
    """Compile each source separately and link them with the objects to one image.

    Without sources there is no compiler.
    """
    built, inputs = Built(b""), []
    texts: list[SharedText] = []
    missing: dict[str, CompileError] = {}
    for source in request.sources:
        if compiler is None:
            raise CompileError(f"{source.title}: a source, and no compiler for it")
        made, names = _with_its_expressions(request, compiler, source, missing)
        built.names |= names
        built.log = "\n".join(filter(None, (built.log, made.log)))
        ptx = made.ptx.decode(errors="replace")
        built.types = {**kernel_types(request, compiler, source, ptx), **built.types}
        built.ptx += ptx + "\n"
        texts.append(SharedText(source.title, ptx))
        content = made.ptx
        if request.linker is not None:
            if request.lto:
                words = [*request.words, "-dlto"]
                made = request.compile(compiler, source, words, list(names))
            content = made.ltoir or made.cubin or made.ptx
        inputs.append((source.title, content))
    for expression in request.expressions:
        if expression not in built.names:
            raise missing[expression]
    if request.libraries:
        _check_shared(request, texts)
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
    words = [f"-arch={outcome.architecture.replace('compute', 'sm')}"]
    # nvJitLink refuses -lto without LTO-IR. An object can hold it.
    alone = not request.objects and all(content[:4] == b"\x7fELF" for _, content in inputs)
    words += ["-lto"] if request.lto and not alone else []
    if not outcome.machine_code:
        words.append("-ptx")
    inputs += request.objects
    built.image, log = request.linker.link(inputs, words, not outcome.machine_code)
    if not outcome.machine_code:
        built.image = without_pointers(built.image)
    built.log = "\n".join(filter(None, (built.log, log)))
    return built


def _check_shared(request: Request, texts: list[SharedText]) -> None:
    titles = {one.title for one in request.libraries}
    others = [(name, content) for name, content in request.objects if name not in titles]
    ptx = [(name, content.decode(errors="replace")) for name, content in others if _is_ptx(content)]
    texts = [*texts, *(SharedText(name, text) for name, text in ptx)]
    shared_symbols.check(request.libraries, texts, complete=len(ptx) == len(others))


def _is_ptx(content: bytes) -> bool:
    return b".version" in content[:4096] and b"\0" not in content.rstrip(b"\0")


def linkable(name: str, content: bytes, target: Target, *, lto: bool) -> Entry | None:
    """The entry of an image that is linked for a target. Only an image that a build packed, or that
    has LTO-IR, has such an entry. The result is None for other inputs, which are linked whole.

    Parameters
    ----------
    lto : bool
        Whether LTO-IR can be linked; else the entry is PTX.

    Raises
    ------
    CompileError
        The image has no such entry.
    """
    if not content.startswith(FATBIN) and not reader.is_packed(content):
        return None
    try:
        entries = reader.read_image(content).entries
    except ImageError as error:
        raise CompileError(f"{name}: {error}") from None
    with_lto = any(one.kind == "ltoir" for one in entries)
    if not with_lto and not reader.is_packed(content):
        return None
    read = ARCHITECTURE.fullmatch(target.architecture)
    capability = int(read[2]) if read else 0
    # A package's machine code was not compiled as relocatable.
    links = lto and with_lto
    device = reader.Device(capability, machine_code=False, links=links)
    ((index, reason),) = reader.choose(content, [device])
    if index is not None and entries[index].kind == ("ltoir" if links else "ptx"):
        return entries[index]
    raise CompileError(
        f"{name}: no {'LTO-IR' if links else 'PTX'} to link for {target.architecture}: {reason}; "
        "build it for this architecture or an older one"
        + ("; lto=False links its PTX" if links else "")
    )


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


def linked_as(
    target: Target, objects: Iterable[tuple[str, bytes]], device: Device, lto: bool = True
) -> Target:
    """The target that nvJitLink supports: PTX only from LTO-IR, machine code from any input."""
    if target.machine_code or (lto and all(one.startswith(LTO_IR) for _, one in objects)):
        return target
    read = ARCHITECTURE.fullmatch(target.architecture)
    capability = "{}{}".format(*device.compute_capability)
    # Code with features of one architecture or family links only for that.
    features = read[3] if read and read[2][:-1] == capability[:-1] else ""
    return Target(f"sm_{capability}{features}", True)
