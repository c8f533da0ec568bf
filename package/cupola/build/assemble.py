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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..image.reader import read_kernels
from . import executor, families, ptx, selection, variants
from .architectures import Architectures
from .error import BuildError
from .link import ptx_of, tool_step
from .nvcc import compile_source, describe_source, kept
from .selection import Selection
from .step import Step, failure_text
from .targets import Target
from .targets import read as read_target
from .toolkit import Toolkit

_PTXAS = ("-Xptxas", "--ptxas-options")
_REGISTERS = ("-maxrregcount", "--maxrregcount")
_LINES = ("-lineinfo", "--generate-line-info")
_MODULES = (__file__, families.__file__, ptx.__file__, selection.__file__, variants.__file__)


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
    generated: Mapping[Path, Path] | None = None,
    outcome: Path | None = None,
    lines: Sequence[str] = (),
    title: str = "",
) -> tuple[list[Step], list[Path], dict[Path, tuple[Path, Path]]]:
    """Three results: the steps that make ``image``, a cubin of each target, and for each source a
    cubin with debug information and the compiler's text about its kernels. ``generated`` has the
    files that are compiled in place of sources. ``outcome`` is the file that says what became of
    variants.
    """
    targets = sorted({*architectures.cubins, *architectures.ptx})
    code = [*(["-rdc=true"] if relocatable else []), *options]
    # ptxas refuses large shared memory in this mode only at a link, and so describes all kernels.
    describe = code if selected.variants is None else [*options, "-rdc=true"]
    objects: dict[Path, tuple[Path, list[Target]]] = {}
    described, made = {}, []
    for source in sources:
        own = [one for one in targets if selected.applies(str(source), one)]
        if not own:
            print(f"{title}: {source} is left out: none of its targets is built", flush=True)
            continue
        inside = source.relative_to(source.anchor).with_suffix(".fatbin")
        fatbin = image.parent / "objects" / inside
        file = (generated or {}).get(source, source)
        compiled = compile_source(
            toolkit,
            file,
            fatbin,
            [*code, *lines, "-fatbin", "-no-compress", *Architectures((), tuple(own)).options()],
            label=f"{title}: compile {source}" if title else "",
            threads=executor.jobs() if len(sources) == 1 else 1,
        )
        debug = fatbin.with_suffix(".debug.cubin")
        made += [compiled, describe_source(toolkit, file, debug, describe, own[0], quiet=True)]
        objects[source] = (fatbin, own)
        described[source] = (debug, kept(debug, file))
    plan = image.with_suffix(".kernels.json")
    made.append(_plan(objects, plan, root, selected, title))
    texts = {target: image.with_suffix(f".compute_{target}.ptx") for target in targets}
    cubins = {target: image.with_suffix(f".sm_{target}.cubin") for target in targets}
    for target in targets:
        of_target = {source: path for source, (path, own) in objects.items() if target in own}
        made.append(
            _machine_code(
                toolkit, of_target, target, texts[target], cubins[target], plan, root,
                _ptxas_options([*code, *lines]), f"{title}: compile for sm_{target}",
            )
        )  # fmt: skip
    if outcome is not None:
        made.append(_outcome(outcome, plan, cubins, root))
    shipped = [f"--image3=kind=elf,sm={n},file={cubins[n]}" for n in architectures.cubins]
    shipped += [f"--image3=kind=ptx,sm={n},file={texts[n]}" for n in architectures.ptx]
    made.append(
        tool_step(
            toolkit, "fatbinary", image,
            [*cubins.values()],
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
        marked: dict[int, str] = {}
        for source, (path, own) in objects.items():
            for target in own:
                text, symbols = variants.unmarked(ptx_of(root / path, target).decode())
                names = [kernel.name for kernel in read_kernels(text.encode())]
                found.setdefault(target, {})[str(source)] = names
                marked |= symbols
        wanted: dict[str, str] = {}
        if selected.variants is not None:
            every = {name for of in found.values() for names in of.values() for name in names}
            wanted = selected.variants.resolve(sorted(every), marked, title)
        chosen = selected.choose(found, title, wanted)
        kernels = {str(one): of for one, of in chosen.items()}
        (root / plan).write_text(json.dumps({"kernels": kernels, "variants": wanted}))

    return Step(
        target=plan,
        inputs=(*(path for path, _ in objects.values()), *map(Path, _MODULES)),
        action=write,
        key=("kernels", repr(selected)),
        label=f"{title}: choose kernels",
        quiet=True,
    )


def _machine_code(
    toolkit: Toolkit,
    of_target: dict[Path, Path],
    target: Target,
    text: Path,
    cubin: Path,
    plan: Path,
    root: Path,
    options: Sequence[str],
    title: str,
) -> Step:
    """The step that joins the sources' PTX for a target, with the chosen kernels alone, and makes
    machine code of it, without the variants that ptxas refuses.
    """
    refused = _refused(cubin)
    arguments = [f"-arch=sm_{target}", *options, "-o", str(cubin), str(text)]

    def make() -> float:
        chosen, wanted = read_plan(root / plan)
        kernels = chosen[target]
        texts = {
            str(source): variants.unmarked(ptx_of(root / path, target).decode())[0]
            for source, path in of_target.items()
        }
        if not any(kernels.values()):
            names = ", ".join(texts)
            raise BuildError(
                f"the code for sm_{target} has no kernel: leave {target} out of the architectures "
                f"of {names}"
            )
        command, left_out = (str(toolkit.tool("ptxas")), *arguments), dict[str, str]()
        used = 0.0
        while True:
            kept = {source: set(names) - left_out.keys() for source, names in kernels.items()}
            (root / text).write_text(ptx.join(texts, kept))
            output, code, seconds = executor.process(command, root, title)
            used += seconds
            if not code:
                break
            found = variants.refusals(output)
            if not found or not found.keys() <= set(wanted.values()):
                raise BuildError(failure_text(replace(step, command=command), output, code))
            left_out |= found
        if output.strip():
            print(output.rstrip(), flush=True)
        (root / refused).write_text(json.dumps(left_out))
        return used

    step = Step(
        target=cubin,
        inputs=(plan, *of_target.values(), *map(Path, _MODULES)),
        action=make,
        key=("join and compile", toolkit.release, *arguments, *map(str, of_target)),
        label=title,
        quiet=True,
        extras=(text, refused),
    )
    return step


def _refused(cubin: Path) -> Path:
    """The file with the kernels that ptxas refuses for a target."""
    return cubin.with_suffix(".refused.json")


def _outcome(path: Path, plan: Path, cubins: Mapping[Target, Path], root: Path) -> Step:
    """The step that writes what became of variants."""

    def write() -> None:
        refused = {
            f"sm_{target}": json.loads((root / _refused(cubin)).read_text())
            for target, cubin in cubins.items()
        }
        _, wanted = read_plan(root / plan)
        (root / path).write_text(variants.outcome_text(wanted, refused))

    return Step(
        target=path,
        inputs=(plan, *cubins.values(), Path(__file__)),
        action=write,
        key=("variants", *map(str, cubins)),
        label=f"write {path.name}",
        quiet=True,
    )


def read_plan(path: Path) -> tuple[selection.Choice, dict[str, str]]:
    """The kernels of each source by target, and the symbols of variants' kernels."""
    plan = json.loads(path.read_text())
    found = {read_target(word): of for word, of in plan["kernels"].items()}
    return {target: of for target, of in found.items() if target is not None}, plan["variants"]


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
