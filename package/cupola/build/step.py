# package/cupola/build/step.py - a build step: a target, its inputs, a command.
"""Build steps."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..declare.compiler_remedies import with_remedies
from .depfile import dependencies

HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".tcc")


@dataclass(frozen=True)
class Step:
    """A target made from inputs by a command, or by a function of this process.

    A function that used other processes returns their processor time in seconds, a float.
    """

    target: Path
    inputs: tuple[Path, ...]
    command: tuple[str, ...] = ()
    action: Callable[[], object] | None = None
    label: str = ""
    depfile: Path | None = None  # in make's format, written by the command: further inputs
    # Identifies the step instead of the command, where the command names a folder that has another
    # path in each build but the same content (a compiler in an isolated environment).
    key: tuple[str, ...] = field(default=())
    ignored: tuple[Path, ...] = ()  # folders whose files in the dependency file are ignored
    weight: float = 1  # estimated processor time in seconds: long steps begin first
    quiet: bool = False  # prints no line
    folders: tuple[Path, ...] = ()  # folders that the command needs, besides its target's
    extras: tuple[Path, ...] = ()  # further products of the command
    cached: bool = False  # whether a cached result of the same files may be used
    searched: tuple[Path, ...] = ()  # folders that the command searches for headers
    explain: Callable[[str], str] | None = None  # of a failed command's output: words before it

    @property
    def record(self) -> Path:
        """The file beside the target that records its command and inputs."""
        return self.target.with_name(self.target.name + ".made")

    def identity(self, root: Path) -> list[str]:
        """The command's identity: if it changes, the target is stale."""
        # Installed folders are not searched for new files.
        folders = [folder for folder in self.searched if not folder.is_absolute()]
        names = set().union(*(_headers(root, folder) for folder in folders))
        return [*(self.key or self.command), *sorted(names)]

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.label or self.target.name


def _headers(root: Path, folder: Path) -> set[str]:
    """Headers in a folder and its subfolders, relative to the root. A new header may hide another
    one, or change __has_include.  In the root itself, subfolders are not searched.
    """
    inside = (root / folder).rglob("*") if folder.parts else root.glob("*")
    return {
        path.relative_to(root).as_posix()
        for path in inside
        if path.suffix in HEADERS and not path.name.startswith(".")  # editors' temporary files
    }


def failure_text(step: Step, output: str, code: int) -> str:
    """File and line of the first error, the compiler's output, and the command."""
    first = re.search(r"^.*?[:(]\d+[:)].*\berror\b.*$", output, re.MULTILINE) or re.search(
        r"^\S+\.p(?:yx|xd):\d+:\d+: .*$", output, re.MULTILINE
    )  # Cython's errors lack the word "error"
    headline = first[0].strip() if first else f"{step.name}: exit status {code}"
    if step.explain is not None:
        headline = step.explain(output) + headline
    return f"{headline}\n\n{with_remedies(output.rstrip())}\n\nfailed: {shlex.join(step.command)}"


def read_files(step: Step, root: Path) -> list[str]:
    """The files in the dependency file, without those in the ignored folders."""
    assert step.depfile is not None
    found = []
    for path in dependencies(root / step.depfile):
        real = Path(os.path.realpath(root / path))
        if not any(real.is_relative_to(folder) for folder in step.ignored):
            found.append(path)
    return found


def read_by(steps: Iterable[Step], root: Path) -> set[str]:
    """The files that the steps' commands read, by their dependency files."""
    return {name for one in steps if one.depfile is not None for name in read_files(one, root)}
