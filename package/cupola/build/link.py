# package/cupola/build/link.py - steps that compile sources separately and link them.
"""Separate compilation of device code, and its linking.

nvlink links machine code, but not PTX.  So the sources' PTX texts are joined
(`cupola.build.ptx.join`), and ptxas must accept the result, as a newer GPU's driver will.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..image.cubin import read_fatbin
from . import ptx
from .architectures import Architectures
from .error import BuildError
from .executor import jobs
from .nvcc import compile_source, describe_source, kept
from .step import Step
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
    oldest = architectures.ptx
    numbers = sorted({*architectures.cubins, oldest})
    every = Architectures(tuple(numbers), oldest)
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

    cubins = {n: image.parent / f"{image.stem}.sm_{n}.cubin" for n in numbers}
    made += [
        _tool(
            toolkit, "nvlink", path, objects,
            [f"--arch=sm_{number}", "-o", str(path), *map(str, objects)],
            label=f"{title}: link for sm_{number}",
        )
        for number, path in cubins.items()
    ]  # fmt: skip
    joined = image.with_suffix(".ptx")

    def join() -> None:
        texts = {str(s): _ptx(root / o) for s, o in zip(sources, objects, strict=True)}
        (root / joined).write_text(ptx.join(texts))

    made.append(
        Step(
            target=joined,
            inputs=(*objects, Path(__file__).with_name("ptx.py")),
            action=join,
            key=("join", *lines, *map(str, sources)),
            label=f"{title}: join PTX",
            quiet=True,
        )
    )
    checked = image.with_suffix(".joined.cubin")
    made.append(
        _tool(
            toolkit, "ptxas", checked, [joined],
            [f"-arch=sm_{oldest}", "-O1", "-o", str(checked), str(joined)],
            label=f"{title}: check the joined PTX",
        )
    )  # fmt: skip
    shipped = [f"--image3=kind=elf,sm={n},file={cubins[n]}" for n in architectures.cubins]
    made.append(
        _tool(
            toolkit, "fatbinary", image,
            [*(cubins[n] for n in architectures.cubins), joined, checked],
            [f"--create={image}", "-64", "--compress=false", *shipped,
             f"--image3=kind=ptx,sm={oldest},file={joined}"],
            label=f"{title}: pack",
        )
    )  # fmt: skip
    return made, cubins[oldest], described


def _tool(
    toolkit: Toolkit,
    name: str,
    target: Path,
    inputs: Sequence[Path],
    arguments: Sequence[str],
    *,
    label: str,
) -> Step:
    return Step(
        target=target,
        inputs=tuple(inputs),
        command=(str(toolkit.tool(name)), *arguments),
        key=(name, toolkit.release, *arguments),
        label=label,
        quiet=True,
    )


def _ptx(path: Path) -> str:
    texts = [entry.payload for entry in read_fatbin(path.read_bytes()) if entry.kind == "ptx"]
    if len(texts) != 1:
        raise BuildError(
            f"{path} holds {len(texts)} PTX texts, expected one: options for nvcc that "
            "choose architectures don't go together with those of the build"
        )
    return texts[0].decode()
