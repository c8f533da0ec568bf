# package/cupola/build/nvcc.py - one run of nvcc, as a step.
"""Compilation of one CUDA source."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from . import native
from .step import Step
from .toolkit import Toolkit

_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN",
             "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")  # fmt: skip
_COMPILER = ("-ccbin", "--compiler-bindir")
_INCLUDE = ("-I", "--include-path", "-isystem", "--system-include")


def compile_source(
    toolkit: Toolkit,
    source: Path,
    target: Path,
    options: Sequence[str],
    *,
    label: str = "",
    quiet: bool = False,
    threads: int = 1,
) -> Step:
    """A step of nvcc, which is made again when a header changes."""
    depfile = target.with_name(target.name + ".d")
    # -MMD would leave out what -isystem finds.
    arguments = [*options, "-MD", "-MF", str(depfile), "-o", str(target), str(source)]
    settings = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    host = _host_compiler(options)
    at_once = [f"--threads={threads}"] if threads > 1 else []  # not in the key: it makes the same
    folders = {source.parent, *map(Path, _values(options, _INCLUDE))}
    return Step(
        target=target,
        inputs=(source,),
        command=(str(toolkit.nvcc), *at_once, *arguments),
        key=("nvcc", toolkit.release, toolkit.headers(), *host, *settings, *arguments),
        depfile=depfile,
        # The key has its release; the folder itself may be gone after an isolated build.
        ignored=toolkit.include,
        label=label or f"compile {source} to {target.name}",
        quiet=quiet,
        cached=bool(host),
        searched=tuple(sorted(folders)),
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


def _host_compiler(options: Sequence[str]) -> list[str]:
    """What tells host compilers apart; empty: none is found, as nvcc will say."""
    before, after = (os.environ.get(f"NVCC_{when}_FLAGS", "") for when in ("PREPEND", "APPEND"))
    named = list(_values([*before.split(), *options, *after.split()], _COMPILER))
    name = named[-1] if named else os.environ.get("NVCC_CCBIN") or "gcc"
    path = shutil.which(os.path.join(name, "gcc") if os.path.isdir(name) else name)
    if path is None:
        return []
    return [os.path.realpath(path), str(os.path.getsize(path)), native.version(path)]


def _values(options: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """What follows options of these names, as nvcc takes it: joined by =, or as the next word."""
    words = iter(options)
    for word in words:
        name, joined, value = word.partition("=")
        if name in names:
            yield from (value if joined else next(words, "")).split(",")
        elif word.startswith("-I"):
            yield from word[2:].split(",") if "-I" in names else ()
