# package/cupola/build/image.py - steps that make one device image of CUDA sources.
""".cu sources to one uncompressed fatbin, with its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .architectures import PTX, Architectures
from .step import Step
from .toolkit import Toolkit

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
    package: str = "",
) -> list[Step]:
    """Steps that make ``image`` (a fatbin) and ``manifest`` (JSON) of all the sources together.

    An image holds one module an architecture, so several sources are compiled as one.  Two more
    compilations for the oldest architecture tell what is known about the kernels: one as
    shipped (sizes, offsets, registers), one with debug information (names, types).
    """
    source = _together(sources, image, root)
    code = [*STANDARD, *options, "-I."]
    reference, debug = image.with_suffix(".cubin"), image.with_suffix(".debug.cubin")
    oldest = f"-arch=sm_{PTX}"
    made = [
        _compile(toolkit, source, image, [*code, "-fatbin", "-no-compress", "--threads=0",
                                          *architectures.options()]),
        _compile(toolkit, source, reference, [*code, "-cubin", oldest]),
        _compile(toolkit, source, debug, [*code, "-cubin", "-G", oldest, *keep(root, debug)]),
    ]  # fmt: skip

    def write() -> None:
        from .manifest import write_manifest  # wants pyelftools, which nothing else needs

        write_manifest(
            root / manifest,
            image=root / image,
            reference=root / reference,
            debug=root / debug,
            declarations=[root / kept(debug, source)],
            toolkit=toolkit.release,
            package=package,
        )

    made.append(
        Step(
            target=manifest,
            inputs=(image, reference, debug, Path(__file__).with_name("manifest.py")),
            action=write,
            key=("manifest", toolkit.release, package),
            label=f"describe {image.name}",
        )
    )
    return made


def keep(root: Path, target: Path) -> list[str]:
    """Options to keep the compiler's intermediate files, in a folder beside what is made."""
    folder = target.with_suffix(".kept")
    (root / folder).mkdir(parents=True, exist_ok=True)
    return ["--keep", "--keep-dir", str(folder)]


def kept(target: Path, source: Path) -> Path:
    """The one of them that names each kernel's parameters."""
    return target.with_suffix(".kept") / f"{source.stem}.cudafe1.gpu"


def compile_ptx(toolkit: Toolkit, source: Path, target: Path, options: Sequence[str]) -> Step:
    """A step that makes PTX for the oldest architecture."""
    return _compile(toolkit, source, target, [*options, "-I.", "-ptx", f"-arch=compute_{PTX}"])


def compile_code(
    toolkit: Toolkit, source: Path, target: Path, options: Sequence[str], cubins: Sequence[int]
) -> Step:
    """A step that makes a fatbin of machine code alone, compressed: kernels of one template are
    much alike, so it takes half of what a wheel's own compression leaves.
    """
    code = [f"-gencode=arch=compute_{n},code=sm_{n}" for n in cubins]
    arguments = [*options, "-I.", "-fatbin", "--compress-mode=size", "--threads=0", *code]
    return _compile(toolkit, source, target, arguments)


def _together(sources: Sequence[Path], image: Path, root: Path) -> Path:
    if len(sources) == 1:
        return sources[0]
    text = "".join(f'#include "{source.as_posix()}"\n' for source in sources)
    combined = image.with_suffix(".cu")
    if not (root / combined).is_file() or (root / combined).read_text() != text:
        (root / combined).parent.mkdir(parents=True, exist_ok=True)
        (root / combined).write_text(text)
    return combined


def _compile(toolkit: Toolkit, source: Path, target: Path, options: list[str]) -> Step:
    depfile = target.with_name(target.name + ".d")
    arguments = [*options, "-MMD", "-MF", str(depfile), "-o", str(target), str(source)]
    return Step(
        target=target,
        inputs=(source,),
        command=(str(toolkit.nvcc), *arguments),
        key=("nvcc", toolkit.release, *arguments),
        depfile=depfile,
        # The key has its release; the folder itself may be gone after an isolated build.
        ignored=toolkit.include,
        label=f"compile {source} to {target.name}",
    )
