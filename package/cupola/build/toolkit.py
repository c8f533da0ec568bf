# package/cupola/build/toolkit.py - finds a suitable CUDA compiler and explains rejected ones.
"""CUDA toolkits: the machine's, or the one in NVIDIA's wheels."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from . import compile_cache
from .error import BuildError
from .targets import Target, read

# Compilers before 12.4 are not tested. The PTX of newer ones gets the version that it needs
# (`cupola.build.older_drivers`), so that older drivers take it.
OLDEST = (12, 4)
REQUIREMENT = "cuda-toolkit[nvcc,cudart,cccl,nvtx]==13.0.*"
_VERSIONS = tuple(
    folder + name
    for folder in ("", "cccl/")
    for name in ("cuda/std/__cccl/version.h", "cub/version.cuh", "thrust/version.h")
)
VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")


@dataclass(frozen=True)
class Toolkit:
    """A CUDA compiler and what belongs to it."""

    nvcc: Path
    release: str  # "13.0.88"
    ptx: tuple[int, int]  # newest PTX version that it writes
    include: tuple[Path, ...]  # for host code: folders of cuda.h and its other headers
    origin: str  # its place: "CUDA_HOME", "PATH", "wheel nvidia-cuda-nvcc 13.0.88"

    @property
    def version(self) -> tuple[int, int]:
        """(major, minor)."""
        major, minor = self.release.split(".")[:2]
        return int(major), int(minor)

    def architectures(self) -> tuple[Target, ...]:
        """The targets that it compiles for, with their suffixes, which only its help lists."""
        listed = _run([str(self.nvcc), "--help"])
        found = {read(name) for name in re.findall(r"\bcompute_(\d+[af]?)\b", listed)}
        return tuple(sorted(target for target in found if target is not None))

    def tool(self, name: str) -> Path:
        """Another program of the toolkit: nvlink, ptxas, fatbinary."""
        for folder in (self.nvcc.parent, self.nvcc.resolve().parent):
            if (folder / name).is_file():
                return folder / name
        raise BuildError(
            f"{self} comes without {name}, which linking needs: it is not in {self.nvcc.parent}"
        )

    def headers(self) -> str:
        """A digest of the headers in `include`, and of their versions. The compiler's release does
        not determine these versions, since CCCL has its own releases.
        """
        return _headers(self.include)

    def __str__(self) -> str:
        major, minor = self.ptx
        return f"nvcc {self.release} (PTX {major}.{minor}) from {self.origin}: {self.nvcc}"


@dataclass(frozen=True)
class Place:
    """A searched place, with the result."""

    origin: str
    path: str
    verdict: str
    toolkit: Toolkit | None = None

    def __str__(self) -> str:
        return f"{self.origin}: {self.path}{': ' if self.path else ''}{self.verdict}"


def find(environment: Mapping[str, str] | None = None, *, wheels: bool = True) -> Toolkit:
    """The first suitable toolkit: the machine's (CUDA_HOME, CUDA_PATH, CUDA_ROOT, PATH), then
    NVIDIA's wheels.  Raises BuildError, which names every place and both remedies.
    """
    tried = []
    for place in places(os.environ if environment is None else environment, wheels=wheels):
        if place.toolkit is not None:
            return place.toolkit
        tried.append(f"  {place}")
    raise BuildError(
        "no suitable CUDA compiler (nvcc) was found:\n"
        + "\n".join(tried)
        + "\nEither install a CUDA toolkit (12.4 or newer) and set CUDA_HOME to its folder,\n"
        "or install the compiler's wheels: "
        f"pip install '{REQUIREMENT}'"
    )


def requirements() -> list[str]:
    """The wheels that contain nvcc; none where the machine has a suitable one."""
    try:
        find(wheels=False)
    except BuildError:
        return [REQUIREMENT]
    return []


def places(environment: Mapping[str, str], *, wheels: bool = True) -> Iterator[Place]:
    """Each place in search order, examined lazily."""
    for variable in VARIABLES:
        folder = environment.get(variable)
        if not folder:
            yield Place(variable, "", "not set")
            continue
        yield _look(Path(folder) / "bin" / "nvcc", variable)
    on_path = shutil.which("nvcc", path=environment.get("PATH", ""))
    yield _look(Path(on_path), "PATH") if on_path else Place("PATH", "", "no nvcc on it")
    if not wheels:
        return
    found = False
    for path, origin in _wheel_compilers():
        found = True
        yield _look(path, origin)
    if not found:
        yield Place("wheels", "", "nvidia-cuda-nvcc is not installed")


def _look(path: Path, origin: str) -> Place:
    if not path.is_file():
        return Place(origin, str(path), "no such file")
    if not os.access(path, os.X_OK):
        return Place(origin, str(path), "not executable")
    try:
        toolkit = _examine(path, origin)
    except BuildError as error:
        return Place(origin, str(path), str(error))
    return Place(origin, str(path), unsuitable(toolkit) or "taken", _if_suits(toolkit))


def _if_suits(toolkit: Toolkit) -> Toolkit | None:
    return None if unsuitable(toolkit) else toolkit


def unsuitable(toolkit: Toolkit) -> str:
    """Why the toolkit can't be used, or an empty text."""
    if toolkit.version < OLDEST:
        return f"version {toolkit.release} is too old: 12.4 or newer is needed"
    if not toolkit.include:
        return f"version {toolkit.release} has no cuda.h: its headers are not installed"
    return ""


def _wheel_compilers() -> Iterator[tuple[Path, str]]:
    # Use the metadata of installed distributions, not site-packages: under build isolation the
    # wheel's folder is only on sys.path.
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if not re.fullmatch(r"nvidia[-_]cuda[-_]nvcc([-_]cu\d+)?", name, re.IGNORECASE):
            continue
        for file in distribution.files or ():
            if file.name == "nvcc" and file.parent.name == "bin":
                path = Path(str(distribution.locate_file(file))).resolve()
                yield path, f"wheel {name} {distribution.version}"


@cache
def _headers(folders: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        found = {path.name: path.stat().st_size for path in folder.glob("*.h")}
        digest.update(repr(sorted(found.items())).encode())
        for name in _VERSIONS:
            path = folder / name
            digest.update(path.read_bytes() if path.is_file() else b"none")
    return digest.hexdigest()[:16]


@cache
def _examine(path: Path, origin: str) -> Toolkit:
    text = _run([str(path), "--version"])
    release = re.search(r"\bV(\d+\.\d+\.\d+)\b", text)
    if release is None:
        raise BuildError(f"its --version is not that of nvcc: {text.strip()[:80]!r}")
    # Stop for old versions here: they may not know the options below.
    version = tuple(int(part) for part in release[1].split(".")[:2])
    if version < OLDEST:
        return Toolkit(path, release[1], (0, 0), (), origin)
    ptx, include = _query_nvcc(path, text)
    return Toolkit(path, release[1], ptx, include, origin)


def _query_nvcc(path: Path, version: str) -> tuple[tuple[int, int], tuple[Path, ...]]:
    """The PTX version that it writes, and its header folders, from a compilation."""
    file = path.stat()
    parts = ["toolkit", str(path), file.st_size, file.st_mtime_ns, version]
    known = compile_cache.recall(parts)
    if known is not None and all(Path(folder).is_dir() for folder in known["include"]):
        major, minor = known["ptx"]
        return (major, minor), tuple(map(Path, known["include"]))
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.cu"
        empty.write_text("")
        ptx = _run([str(path), "--ptx", "-o", "-", str(empty)])
        plan = _run([str(path), "--dryrun", "--ptx", "-o", "-", str(empty)])
    header = re.search(r"^\.version (\d+)\.(\d+)$", ptx, re.MULTILINE)
    if header is None:
        raise BuildError("it wrote no PTX for an empty file")
    found = (int(header[1]), int(header[2])), _includes(plan)
    if found[1]:
        compile_cache.remember(parts, {"ptx": found[0], "include": list(map(str, found[1]))})
    return found


def _includes(plan: str) -> tuple[Path, ...]:
    # Ask nvcc for its header folders, so that wrappers and split installations work.
    folders = []
    for line in re.findall(r"^#\$ (?:SYSTEM_)?INCLUDES=(.*)$", plan, re.MULTILINE):
        for word in shlex.split(line):
            word = word.removeprefix("-I")
            if word != "-isystem" and word:
                folders.append(Path(word).resolve())
    folders.append(Path("/usr/include"))  # a Linux distribution's package adds no folder
    headers = next((folder for folder in folders if (folder / "cuda.h").is_file()), None)
    return () if headers is None else (headers,)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"it cannot be run: {error}") from error
    if done.returncode:
        output = (done.stderr + done.stdout).strip()
        raise BuildError(f"`{shlex.join(command)}` failed: {output[-400:]}")
    return done.stdout + done.stderr
