# package/cupola/build/nvcc.py - one run of nvcc, as a step.
"""Compilation of one CUDA source."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from . import native
from .step import Step
from .targets import Target
from .toolkit import Toolkit

_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN",
             "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")  # fmt: skip
_COMPILER = ("-ccbin", "--compiler-bindir")
_INCLUDE = ("-I", "--include-path", "-isystem", "--system-include")
_SEED = ("-frandom-seed", "--frandom-seed")
_KNOWS_SEED = (12, 9)  # the first release of nvcc with that option


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
    """A step that runs nvcc; it is stale when a header changes."""
    depfile = target.with_name(target.name + ".d")
    options = [*options, *_fixed_names(toolkit, source, options)]
    # -MMD would omit headers found by -isystem.
    arguments = [*options, "-MD", "-MF", str(depfile), "-o", str(target), str(source)]
    settings = [f"{name}={os.environ[name]}" for name in _SETTINGS if name in os.environ]
    host = _host_compiler(options)
    at_once = [f"--threads={threads}"] if threads > 1 else []  # not in the key: same result
    folders = {source.parent, *map(Path, _values(options, _INCLUDE))}
    return Step(
        target=target,
        inputs=(source,),
        command=(str(toolkit.nvcc), *at_once, *arguments),
        key=("nvcc", toolkit.release, toolkit.headers(), *host, *settings, *arguments),
        depfile=depfile,
        # The key has the release; an isolated build's folder may no longer exist.
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
    architecture: Target,
    *,
    quiet: bool = False,
) -> Step:
    """A step that makes a cubin with debug information, and keeps the file of `kept`."""
    folder = target.with_suffix(".kept")
    # Debug information contains line numbers.
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


def _fixed_names(toolkit: Toolkit, source: Path, options: Sequence[str]) -> list[str]:
    """Options that give local symbols the same names in each build. Local symbols are, for example,
    kernels in unnamed namespaces and static variables. nvcc derives their names from the absolute
    path of the source, or from its own process number if the source exports nothing.
    """
    if source.is_absolute():
        return []
    name = hashlib.sha256(source.as_posix().encode()).hexdigest()[:16]
    fixed = [f"-Xcudafe=--orig_src_path_name={name}"]
    given = any(word.partition("=")[0] in _SEED for word in _with_flags(options))
    if toolkit.version >= _KNOWS_SEED and not given:
        fixed.append(f"-frandom-seed={name}")
    return fixed


def _with_flags(options: Sequence[str]) -> list[str]:
    """All options that nvcc gets, which include the options in the environment."""
    before, after = (os.environ.get(f"NVCC_{when}_FLAGS", "") for when in ("PREPEND", "APPEND"))
    return [*before.split(), *options, *after.split()]


def _host_compiler(options: Sequence[str]) -> list[str]:
    """Texts that identify the host compiler; empty if none is found: nvcc reports that."""
    named = list(_values(_with_flags(options), _COMPILER))
    name = named[-1] if named else os.environ.get("NVCC_CCBIN") or "gcc"
    path = shutil.which(os.path.join(name, "gcc") if os.path.isdir(name) else name)
    if path is None:
        return []
    return [os.path.realpath(path), str(os.path.getsize(path)), native.version(path)]


def _values(options: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The values of options of these names: after =, or in the next word."""
    words = iter(options)
    for word in words:
        name, joined, value = word.partition("=")
        if name in names:
            yield from (value if joined else next(words, "")).split(",")
        elif word.startswith("-I"):
            yield from word[2:].split(",") if "-I" in names else ()
