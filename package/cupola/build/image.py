# package/cupola/build/image.py - steps that compile CUDA sources to one device image.
""".cu sources to one fatbin, with its manifest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..image import cxx_names, reader
from ..image import fatbin as fatbins
from . import assemble, depfile, family_manifest, line_information, link, older_drivers
from .architectures import PTX, Architectures
from .executor import jobs
from .nvcc import compile_source, describe_source, kept
from .selection import Selection
from .step import Step
from .targets import Target
from .toolkit import Toolkit
from .variants import outcome_file

if TYPE_CHECKING:
    from .families import FamilyTable
    from .operations import OperationTable

STANDARD = ("-std=c++17", "--expt-relaxed-constexpr")


def steps(
    toolkit: Toolkit,
    architectures: Architectures,
    sources: Sequence[Path],
    image: Path,
    manifest: Path,
    root: Path,
    *,
    options: Sequence[str] = (),
    include: Sequence[str] = (".",),
    package: str = "",
    relocatable: bool = False,
    title: str = "",
    operations: Sequence[OperationTable] = (),
    families: Sequence[FamilyTable] = (),
    verify: bool = False,
    packed: bool = False,
    selected: Selection | None = None,
    lto: bool = False,
) -> list[Step]:
    """Steps that make ``image`` (a fatbin) and ``manifest`` (JSON) of the sources. If ``packed``,
    the image is compressed, and the fatbin stays in the file of `plain`. If ``lto``, the image has
    LTO-IR instead of machine code, for `cupola.link`.

    An image has one module for each architecture. So several sources are compiled as one text. If
    ``relocatable``, they are compiled separately and linked. Two more compilations for the oldest
    architecture describe the kernels: one as shipped (sizes, offsets, registers), one with debug
    information (names, types). ``selected`` chooses the kernels of each target, and the source of
    each kernel (`cupola.build.assemble`). By default the image has all kernels.
    """
    code = code_options(options, include)
    targets = architectures.options()
    if lto:
        code, targets = [*code, "-rdc=true"], architectures.lto_options()
    lines = line_information.options()
    fatbin = plain(image) if packed else image
    if lines and "-lineinfo" in code:
        code.remove("-lineinfo")
    variants = None if selected is None else selected.variants
    texts = {} if variants is None else variants.texts()
    joining, generated, compiled = [], dict[Path, Path](), sources
    if len(sources) > 1 and not relocatable:
        compiled = [image.with_suffix(".cu")]
        joining = [_join(sources, compiled[0], root, "".join(texts.values()))]
    else:  # a source that instances follow is included by a generated one
        generated = {
            Path(name): (image.parent / "instances" / name).with_suffix(".variants.cu")
            for name in texts
        }
        joining = [_join([one], at, root, texts[str(one)]) for one, at in generated.items()]
    if joining:
        code += ["-I."]  # sources' names are relative to it
    by_source: dict[Path, tuple[Path, Path]] = {}
    if selected is not None:
        made, references, by_source = assemble.steps(
            toolkit,
            architectures,
            compiled,
            as_compiled(image),
            root,
            code,
            selected,
            relocatable=relocatable,
            generated=generated,
            outcome=None if variants is None else outcome_file(manifest),
            lines=lines,
            title=title,
        )
        made = [*joining, *made]
        described = list(by_source.values())
    elif relocatable:
        made, reference, described = link.steps(
            toolkit,
            architectures,
            sources,
            as_compiled(image),
            root,
            code,
            lines=lines,
            title=title,
        )
        references = [reference]
    else:
        source = compiled[0]
        reference, debug = image.with_suffix(".cubin"), image.with_suffix(".debug.cubin")
        references, described = [reference], [(debug, kept(debug, source))]
        made = [
            *joining,
            compile_source(
                toolkit, source, as_compiled(image),
                [*code, *lines, "-fatbin", "-no-compress", *targets],
                threads=jobs(),
                label=title and f"{title}: compile {', '.join(map(str, sources))}",
            ),
            compile_source(
                toolkit, source, reference,
                [*code, *lines, "-cubin", f"-arch=sm_{architectures.oldest}"],
                quiet=bool(title),
            ),
            describe_source(
                toolkit, source, debug, code, architectures.oldest, quiet=bool(title)
            ),
        ]  # fmt: skip
    if joining:
        folders = tuple({path.parent for path in sources})  # the joined source has another folder
        made = [replace(one, searched=(*one.searched, *folders)) for one in made]

    if variants is not None:
        made = [replace(one, explain=variants.explain) for one in made]
    debugged, compilations = [debug for debug, _ in described], tuple(made)
    made += shipped(fatbin, image, root, title)
    rule = manifest.with_name(f"{manifest.name}.d")

    def write() -> None:
        from .manifest import write_manifest  # only this needs pyelftools

        read = _project_files(sources, compilations, image.parent, root)
        depfile.write_rule(root / rule, manifest, read.values())
        write_manifest(
            root / manifest,
            image=root / image,
            reference=[root / path for path in references],
            debug=[root / debug for debug in debugged],
            declarations=[root / file for _, file in described],
            toolkit=toolkit.release,
            package=package,
            operations=operations,
            families=families,
            sources={name: root / path for name, path in read.items()},
            options=options,
            verify=verify,
            origins=[str(source) for source in by_source],
        )

    tables: list[OperationTable | FamilyTable] = [*operations, *families]
    declared = [(one.table, sorted(one.lines.items())) for one in tables]
    made.append(
        Step(
            target=manifest,
            inputs=(
                *(image, *references, *debugged, *sources, *_readers()),
                *family_manifest.inputs(families, manifest),
            ),
            action=write,
            depfile=rule,
            key=("manifest", toolkit.release, package, str(verify), *options, *map(repr, declared)),
            label=f"describe {image.name}",
            quiet=bool(title),
        )
    )
    return made


def _project_files(
    sources: Sequence[Path], compilations: Sequence[Step], work: Path, root: Path
) -> dict[str, Path]:
    """The sources, and the project's headers that the compiler read, by their names. Files
    that the build made in its folder ``work`` are left out.
    """
    depfiles = [root / one.depfile for one in compilations if one.depfile is not None]
    read = {os.path.normpath(path) for one in depfiles for path in depfile.dependencies(one)}
    headers = [path for path in map(Path, read) if not path.is_absolute() and path.parts[0] != ".."]
    found = {path.as_posix(): path for path in headers if not path.is_relative_to(work)}
    own = {path.name if path.is_absolute() else path.as_posix(): path for path in sources}
    return found | own


def plain(image: Path) -> Path:
    """The fatbin of which an image is packed."""
    return image.with_suffix(f".plain{image.suffix}")


def shipped(fatbin: Path, image: Path, root: Path, title: str) -> list[Step]:
    """Steps that make the shipped files from the file of `as_compiled`: ``fatbin``, with PTX for
    older drivers, and ``image``, which is its compressed form or the same file.
    """
    made = [older_drivers.step(as_compiled(image), fatbin, root, title)]
    return made if fatbin == image else [*made, _pack(fatbin, image, root)]


def _pack(fatbin: Path, image: Path, root: Path) -> Step:
    """A step that compresses a fatbin. The entries have the order of `fatbin.joined`, so that a
    merge of wheels gives the same bytes.
    """

    def write() -> None:
        entries = fatbins.pieces((root / fatbin).read_bytes())
        (root / image).write_bytes(reader.pack(fatbins.joined(entries)))

    return Step(
        target=image,
        inputs=(fatbin, *map(Path, (reader.__file__, fatbins.__file__, reader.library_path()))),
        action=write,
        key=("pack 2",),
        label=f"pack {image.name}",
        quiet=True,
        weight=2,
    )


def as_compiled(image: Path) -> Path:
    """The image as the compiler writes it, before `older_drivers` changes its PTX."""
    return image.with_name(f"{image.stem}.compiled{image.suffix}")


def code_options(options: Sequence[str], include: Sequence[str]) -> list[str]:
    """nvcc's options for a source: the language, the package's own, its folders of headers."""
    standard = [] if _names_standard(options) else ["-std=c++17"]
    return [*standard, *STANDARD[1:], *options, *(f"-I{folder}" for folder in include)]


def _names_standard(options: Sequence[str]) -> bool:
    return any(option.partition("=")[0] in ("-std", "--std") for option in options)


def compile_ptx(
    toolkit: Toolkit, source: Path, target: Path, options: Sequence[str], root: Path
) -> list[Step]:
    """Steps that compile to PTX for the oldest architecture. The last one makes ``target``."""
    made = as_compiled(target)
    arguments = [*options, "-I.", "-ptx", f"-arch=compute_{PTX}"]
    return [
        compile_source(toolkit, source, made, arguments),
        older_drivers.step(made, target, root, source.name),
    ]


def compile_code(
    toolkit: Toolkit,
    source: Path,
    target: Path,
    options: Sequence[str],
    cubins: Sequence[Target],
    root: Path,
) -> list[Step]:
    """Steps that make a packed fatbin of only machine code. The code of several architectures is
    similar: packed together it is an eighth to a fifth smaller than nvcc's compression makes it.
    """
    made = as_compiled(target)
    code = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in cubins]
    arguments = [*options, "-I.", "-fatbin", "-no-compress", *code]
    return [compile_source(toolkit, source, made, arguments), _pack(made, target, root)]


def _join(sources: Sequence[Path], target: Path, root: Path, more: str = "") -> Step:
    """A step that makes one source that includes several, before a text of its own."""
    text = "".join(f'#include "{source.as_posix()}"\n' for source in sources) + more

    def write() -> None:
        (root / target).write_text(text)

    return Step(
        target=target, inputs=(), action=write, key=("include", text),
        label=f"join {target.name}", quiet=True,
    )  # fmt: skip


def _readers() -> list[Path]:
    """The readers of images and writers of manifests: another version may read more."""
    own = sorted(Path(__file__).parent.glob("*.py"))
    own += sorted((Path(__file__).parents[1] / "declare").glob("*.py"))
    return [*own, Path(reader.__file__), Path(cxx_names.__file__), Path(reader.library_path())]
