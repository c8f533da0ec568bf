# package/cupola/build/link.py - steps that compile sources separately and link them.
"""Separate compilation of device code, and its linking.

nvlink links machine code, but not PTX.  So the sources' PTX texts are joined
(`cupola.build.ptx.join`), and ptxas must accept the result, as a newer GPU's driver will.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..image.reader import read_fatbin
from . import ptx
from .architectures import Architectures
from .error import BuildError
from .executor import jobs
from .nvcc import compile_source, describe_source, kept
from .step import Step
from .targets import Target
from .toolkit import Toolkit


def steps(
    toolkit: Toolkit,
    architectures: Architectures,
    sources: Sequence[Path],
    image: Path,
    root: Path,
    options: Sequence[str],
    *,
    lines: Sequence[str] = (),
    title: str = "",
) -> tuple[list[Step], Path, list[tuple[Path, Path]]]:
    """Steps that make ``image``; the linked cubin of the oldest architecture, and for each source
    a cubin with debug information and the compiler's account of its kernels.
    """
    oldest = architectures.oldest
    targets = sorted({*architectures.cubins, oldest})
    every = Architectures(tuple(targets), architectures.ptx)
    objects, described, made = [], [], []
    for source in sources:
        # Keep folders: sources in two folders may have the same name.
        inside = source.relative_to(source.anchor).with_suffix(".fatbin")
        target = image.parent / "objects" / inside
        code = ["-rdc=true", *options]
        fatbin = compile_source(
            toolkit,
            source,
            target,
            [*code, *lines, "-fatbin", "-no-compress", *every.options()],
            label=f"{title}: compile {source}" if title else "",
            threads=jobs() if len(sources) == 1 else 1,
        )
        debug = target.with_suffix(".debug.cubin")
        made += [fatbin, describe_source(toolkit, source, debug, code, oldest, quiet=True)]
        objects.append(fatbin.target)
        described.append((debug, kept(debug, source)))

    cubins = {n: image.parent / f"{image.stem}.sm_{n}.cubin" for n in targets}
    made += [
        tool_step(
            toolkit, "nvlink", path, objects,
            [f"--arch=sm_{target}", "-o", str(path), *map(str, objects)],
            label=f"{title}: link for sm_{target}",
        )
        for target, path in cubins.items()
    ]  # fmt: skip
    texts, checks = {}, []
    for level in architectures.ptx:
        joined, checked = _joined(toolkit, level, sources, objects, image, root, lines, title)
        made += [joined, checked]
        texts[level] = joined.target
        checks.append(checked.target)
    shipped = [f"--image3=kind=elf,sm={n},file={cubins[n]}" for n in architectures.cubins]
    shipped += [f"--image3=kind=ptx,sm={n},file={text}" for n, text in texts.items()]
    made.append(
        tool_step(
            toolkit, "fatbinary", image,
            [*(cubins[n] for n in architectures.cubins), *texts.values(), *checks],
            [f"--create={image}", "-64", "--compress=false", *shipped],
            label=f"{title}: pack",
        )
    )  # fmt: skip
    return made, cubins[oldest], described


def _joined(
    toolkit: Toolkit,
    level: Target,
    sources: Sequence[Path],
    objects: Sequence[Path],
    image: Path,
    root: Path,
    lines: Sequence[str],
    title: str,
) -> tuple[Step, Step]:
    """The step that joins the sources' PTX of one level, and the step that checks the result."""
    target = image.with_suffix(f".compute_{level}.ptx")

    def join() -> None:
        pairs = zip(sources, objects, strict=True)
        texts = {str(source): ptx_of(root / path, level).decode() for source, path in pairs}
        (root / target).write_text(ptx.join(texts))

    joined = Step(
        target=target,
        inputs=(*objects, Path(__file__).with_name("ptx.py")),
        action=join,
        key=("join 2", str(level), *lines, *map(str, sources)),
        label=f"{title}: join PTX",
        quiet=True,
    )
    checked = target.with_suffix(".cubin")
    check = tool_step(
        toolkit, "ptxas", checked, [target],
        [f"-arch=sm_{level}", "-O1", "-o", str(checked), str(target)],
        label=f"{title}: check the joined PTX",
    )  # fmt: skip
    return joined, check


def tool_step(
    toolkit: Toolkit,
    name: str,
    target: Path,
    inputs: Sequence[Path],
    arguments: Sequence[str],
    *,
    label: str,
) -> Step:
    """A step that runs a program of the toolkit."""
    return Step(
        target=target,
        inputs=tuple(inputs),
        command=(str(toolkit.tool(name)), *arguments),
        key=(name, toolkit.release, *arguments),
        label=label,
        quiet=True,
    )


def ptx_of(path: Path, level: Target) -> bytes:
    """The PTX of one level in an uncompressed fatbin."""
    entries = read_fatbin(path.read_bytes())
    texts = [one.payload for one in entries if one.kind == "ptx" and one.target == str(level)]
    if len(texts) != 1:
        raise BuildError(
            f"{path} holds {len(texts)} PTX texts for compute_{level}, expected one: options for "
            "nvcc that choose architectures don't go together with those of the build"
        )
    return texts[0]
