# package/cupola/build/assemble.py - steps that make each target's code of chosen kernels.
"""Makes the code of each target, from sources that have different targets, with chosen kernels.

A device takes one entry of an image (`csrc/image/choice.cpp`), which must have all kernels that the
device can run. So each target gets a whole module. nvcc compiles every source to PTX for each of
its targets. A step chooses the kernels (`cupola.build.selection`). For each target, a step joins
the PTX texts without the other kernels (`cupola.build.ptx.join`), and ptxas makes machine code of
the joined text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..image.reader import read_kernels
from . import ptx, selection
from .architectures import Architectures
from .error import BuildError
from .executor import jobs
from .link import ptx_of, tool_step
from .nvcc import compile_source, describe_source, kept
from .selection import Selection
from .step import Step
from .targets import Target
from .targets import read as read_target
from .toolkit import Toolkit

_PTXAS = ("-Xptxas", "--ptxas-options")
_REGISTERS = ("-maxrregcount", "--maxrregcount")
_LINES = ("-lineinfo", "--generate-line-info")


def steps(
    toolkit: Toolkit,
    architectures: Architectures,
    sources: Sequence[Path],
    image: Path,
    root: Path,
    options: Sequence[str],
    selected: Selection,
    *,
    relocatable: bool,
    lines: Sequence[str] = (),
    title: str = "",
) -> tuple[list[Step], list[Path], dict[Path, tuple[Path, Path]]]:
    """Three results: the steps that make ``image``, a cubin of each target, and for each source a
    cubin with debug information and the compiler's text about its kernels.
    """
    targets = sorted({*architectures.cubins, *architectures.ptx})
    code = [*(["-rdc=true"] if relocatable else []), *options]
    objects: dict[Path, tuple[Path, list[Target]]] = {}
    described, made = {}, []
    for source in sources:
        own = [one for one in targets if selected.applies(str(source), one)]
        if not own:
            print(f"{title}: {source} is left out: none of its targets is built", flush=True)
            continue
        inside = source.relative_to(source.anchor).with_suffix(".fatbin")
        fatbin = image.parent / "objects" / inside
        compiled = compile_source(
            toolkit,
            source,
            fatbin,
            [*code, *lines, "-fatbin", "-no-compress", *Architectures((), tuple(own)).options()],
            label=f"{title}: compile {source}" if title else "",
            threads=jobs() if len(sources) == 1 else 1,
        )
        debug = fatbin.with_suffix(".debug.cubin")
        made += [compiled, describe_source(toolkit, source, debug, code, own[0], quiet=True)]
        objects[source] = (fatbin, own)
        described[source] = (debug, kept(debug, source))
    plan = image.with_suffix(".kernels.json")
    made.append(_plan(objects, plan, root, selected, title))
    texts = {target: image.with_suffix(f".compute_{target}.ptx") for target in targets}
    cubins = {target: image.with_suffix(f".sm_{target}.cubin") for target in targets}
    for target in targets:
        of_target = {source: path for source, (path, own) in objects.items() if target in own}
        made.append(_text(of_target, target, texts[target], plan, root))
        arguments = [*_ptxas_options([*code, *lines]), "-o", str(cubins[target])]
        made.append(
            tool_step(
                toolkit, "ptxas", cubins[target], [texts[target]],
                [f"-arch=sm_{target}", *arguments, str(texts[target])],
                label=f"{title}: compile for sm_{target}",
            )
        )  # fmt: skip
    shipped = [f"--image3=kind=elf,sm={n},file={cubins[n]}" for n in architectures.cubins]
    shipped += [f"--image3=kind=ptx,sm={n},file={texts[n]}" for n in architectures.ptx]
    made.append(
        tool_step(
            toolkit, "fatbinary", image,
            [*cubins.values(), *(texts[n] for n in architectures.ptx)],
            [f"--create={image}", "-64", "--compress=false", *shipped],
            label=f"{title}: pack",
        )
    )  # fmt: skip
    return made, list(cubins.values()), described


def _plan(
    objects: dict[Path, tuple[Path, list[Target]]],
    plan: Path,
    root: Path,
    selected: Selection,
    title: str,
) -> Step:
    """The step that chooses the kernels of each target, by source, and writes the choice."""

    def write() -> None:
        found: dict[Target, dict[str, list[str]]] = {}
        for source, (path, own) in objects.items():
            for target in own:
                text = ptx_of(root / path, target)
                names = [kernel.name for kernel in read_kernels(text)]
                found.setdefault(target, {})[str(source)] = names
        chosen = selected.choose(found, title)
        (root / plan).write_text(json.dumps({str(one): of for one, of in chosen.items()}))

    return Step(
        target=plan,
        inputs=(*(path for path, _ in objects.values()), Path(selection.__file__), Path(__file__)),
        action=write,
        key=("kernels", repr(selected)),
        label=f"{title}: choose kernels",
        quiet=True,
    )


def _text(of_target: dict[Path, Path], target: Target, text: Path, plan: Path, root: Path) -> Step:
    """The step that joins the PTX of the sources for a target. Only the chosen kernels are kept."""

    def join() -> None:
        kernels = read_plan(root / plan)[target]
        texts = {
            str(source): ptx_of(root / path, target).decode() for source, path in of_target.items()
        }
        if not any(kernels.values()):
            names = ", ".join(texts)
            raise BuildError(
                f"the code for sm_{target} has no kernel: leave {target} out of the architectures "
                f"of {names}"
            )
        (root / text).write_text(ptx.join(texts, kernels))

    return Step(
        target=text,
        inputs=(plan, *of_target.values(), Path(ptx.__file__), Path(__file__)),
        action=join,
        key=("join kernels", str(target), *map(str, of_target)),
        label=f"join PTX for compute_{target}",
        quiet=True,
    )


def read_plan(path: Path) -> selection.Choice:
    """The chosen kernels: for each target, the names of the kernels of each source."""
    found = {read_target(word): of for word, of in json.loads(path.read_text()).items()}
    return {target: of for target, of in found.items() if target is not None}


def _ptxas_options(options: Sequence[str]) -> list[str]:
    """The options that nvcc gives to ptxas."""
    return list(_for_ptxas(iter(options)))


def _for_ptxas(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        name, joined, value = word.partition("=")
        if name in _PTXAS:
            yield from (value if joined else next(words, "")).split(",")
        elif name in _REGISTERS:
            yield f"--maxrregcount={value if joined else next(words, '')}"
        elif word in _LINES:
            yield "-lineinfo"
