# package/cupola/build/nvcc.py - one run of nvcc, as a step.
"""Compilation of one CUDA source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .step import Step
from .toolkit import Toolkit


def compile_source(
    toolkit: Toolkit,
    source: Path,
    target: Path,
    options: Sequence[str],
    *,
    label: str = "",
    quiet: bool = False,
) -> Step:
    """A step of nvcc, which is made again when a header changes."""
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
        label=label or f"compile {source} to {target.name}",
        quiet=quiet,
        cached=True,
    )


def describe_source(
    toolkit: Toolkit,
    source: Path,
    target: Path,
    options: Sequence[str],
    architecture: int,
    *,
    quiet: bool = False,
) -> Step:
    """A step that makes a cubin with debug information, and keeps what `kept` names."""
    folder = target.with_suffix(".kept")
    # Line numbers are a part of debug information.
    code = [one for one in options if one not in ("-lineinfo", "--generate-line-info")]
    keep = ["--keep", "--keep-dir", str(folder)]
    step = compile_source(
        toolkit,
        source,
        target,
        [*code, "-cubin", "-G", f"-arch=sm_{architecture}", *keep],
        quiet=quiet,
    )
    return replace(step, folders=(folder,), extras=(kept(target, source),))


def kept(target: Path, source: Path) -> Path:
    """The compiler's intermediate file that names each kernel's parameters."""
    return target.with_suffix(".kept") / f"{source.stem}.cudafe1.gpu"
