# csrc/codec.py - zstd for the libraries: the machine's static library, or the sources.
"""Finds zstd for a build. It is linked statically, and its symbols are hidden."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# The source distribution of zstandard on PyPI has zstd's sources as one file. Those of zstd itself
# are on no package index.
PACKAGE, VERSION = "zstandard", "0.25.0"
ARCHIVE = f"{PACKAGE}-{VERSION}.tar.gz"
SHA256 = "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b"
MEMBERS = ("zstd.c", "zstd.h", "zstd_errors.h", "LICENSE")
FOLDER = Path("build") / "zstd"
# A C++ compiler accepts this file of C, so a build needs no C compiler.
FLAGS = ("-x", "c++", "-w", "-fno-strict-aliasing")
# As C++, zstd declares the functions of sanitizers with other names than theirs.
FLAGS += ("-DZSTD_ASAN_DONT_POISON_WORKSPACE=1", "-DZSTD_MSAN_DONT_POISON_WORKSPACE=1")
LINK = ("-Wl,--exclude-libs,ALL",)
_OF_HOOKS = ("_PYPROJECT_HOOKS_", "PEP517_")
TRIAL = """
#include <zstd.h>
#if ZSTD_VERSION_NUMBER < 10400
#error too old
#endif
extern "C" size_t trial(void* to, size_t room, const void* from, size_t size) {
    return ZSTD_compress2(ZSTD_createCCtx(), to, room, from, size) +
           ZSTD_decompress(to, room, from, size);
}
"""


@dataclass(frozen=True)
class Codec:
    """How to compile and link with zstd."""

    include: tuple[str, ...] = ()  # the compiler's options
    needed: tuple[Path, ...] = ()  # the file after which zstd.h is there
    linked: tuple[str, ...] = ()  # files and options of a link
    objects: tuple[Path, ...] = ()  # the files among them that the build makes
    unpacked: tuple[Any, ...] = ()  # the step that every compiler runs
    compiled: tuple[Any, ...] = ()  # the step that only this compiler runs


def codec(
    build: Any, root: Path, compiler: Any, native: Path, flags: Sequence[str], pinned: bool = False
) -> Codec:
    """The static library that the compiler finds, else the sources, compiled by it.

    With `pinned` always the sources: a release contains one known version.
    """
    library = "" if pinned else static_library(compiler.command)
    if library:
        return Codec(linked=(library, *LINK))
    sources = sources_step(build, root)
    options = (*FLAGS, *flags, "-Os")  # most of its code compresses, which only builds do
    made = compiler.object(
        sources.target, native / "zstd.o", options, label="compile zstd", weight=15
    )
    return Codec(
        include=(f"-isystem{FOLDER}",),
        needed=(sources.target,),
        linked=(str(made.target), *LINK),
        objects=(made.target,),
        unpacked=(sources,),
        compiled=(made,),
    )


@cache
def static_library(command: tuple[str, ...]) -> str:
    """The path of libzstd.a, if a shared library can be linked with it; "" without one."""
    asked = [*command, "-print-file-name=libzstd.a"]
    path = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
    if not Path(path).is_absolute():
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "trial.cpp"), Path(folder, "trial.so")
        source.write_text(TRIAL)
        link = [*command, "-shared", "-fPIC", str(source), path, *LINK, "-pthread"]
        done = subprocess.run([*link, "-Wl,-z,defs", "-o", str(target)], capture_output=True)
    return path if done.returncode == 0 else ""


def sources_step(build: Any, root: Path) -> Any:
    """The step that unpacks the sources."""

    def unpack() -> None:
        content = archive(build, root).read_bytes()
        with tarfile.open(fileobj=io.BytesIO(content)) as opened:
            for name in MEMBERS:
                member = opened.extractfile(f"{PACKAGE}-{VERSION}/zstd/{name}")
                assert member is not None
                (root / FOLDER / name).write_bytes(member.read())

    return build.step.Step(
        target=FOLDER / MEMBERS[0],
        inputs=(),
        action=unpack,
        key=("zstd", SHA256),
        label="unpack zstd",
        extras=tuple(FOLDER / name for name in MEMBERS[1:]),
    )


def present(root: Path) -> Path | None:
    """The archive, in a source distribution of cupola or where an earlier build put it."""
    places = (root / "csrc" / ARCHIVE, root / FOLDER / ARCHIVE)
    return next((path for path in places if path.is_file()), None)


def archive(build: Any, root: Path) -> Path:
    """The archive; downloads it by pip, with pip's settings, where there is none."""
    path = present(root)
    if path is None:
        path = root / FOLDER / ARCHIVE
        _download(build, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256:
        raise build.error.BuildError(
            f"{path} has SHA-256 {digest}, expected {SHA256}: remove it, and build again"
        )
    return path


def _download(build: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", PACKAGE]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(path.parent)]
    # pip asks the archive's own backend for its requirements. The pip that builds cupola has named
    # cupola's backend in these variables.
    others = {name: value for name, value in os.environ.items() if not name.startswith(_OF_HOOKS)}
    done = subprocess.run(
        [*command, f"{PACKAGE}=={VERSION}"],
        env=others,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode or not path.is_file():
        raise build.error.BuildError(
            f"zstd is needed: there is neither a static libzstd with zstd.h (Debian: libzstd-dev) "
            f"nor {ARCHIVE} in {path.parent}, and pip could not download it:\n"
            f"{done.stderr.strip()}"
        )
