# package/cupola/build/native.py - steps that compile C++ and link shared libraries.
"""C++ objects and shared libraries, as steps."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from .error import BuildError
from .step import Step

STANDARD = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra")
# Functions and data have sections of their own, and the linker leaves out those that nothing uses.
# A sanitizer's checks of globals need the compiler's own sections. Without padding to whole pages
# between code and data, each library is 4 KiB smaller.
SECTIONS = ("-ffunction-sections", "-fdata-sections")
SMALL = ("-Wl,--gc-sections", "-Wl,-z,noseparate-code")
SANITIZERS = {"address", "undefined", "thread"}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and the flags that every object gets."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    variant: str  # "release", "address-undefined"
    machine: str = ""  # the processor that it compiles for, if this is another one: "aarch64"

    @classmethod
    def find(cls, environment: Mapping[str, str] | None = None) -> Compiler:
        """CXX, else c++, g++ or clang++; CXXFLAGS, LDFLAGS and CUPOLA_SANITIZE are honoured."""
        environment = os.environ if environment is None else environment
        named = shlex.split(environment.get("CXX", ""))
        for command in [named] if named else [["c++"], ["g++"], ["clang++"]]:
            path = shutil.which(command[0], path=environment.get("PATH"))
            if path:
                break
        else:
            wanted = f"CXX={environment['CXX']} names none" if named else "install g++ or clang++"
            raise BuildError(f"no C++17 compiler: {wanted}")
        sanitize = _sanitizers(environment.get("CUPOLA_SANITIZE", ""))
        flags = list(STANDARD)
        if environment.get("CUPOLA_WERROR") == "1":
            flags.append("-Werror")
        link = ["-pthread"]
        if not sanitize:
            flags += SECTIONS
            link += SMALL
        if sanitize:
            option = f"-fsanitize={','.join(sanitize)}"
            # Reports need functions and lines; names of variables would take a quarter of the time.
            flags += [option, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g1"]
            if "thread" in sanitize:  # GCC warns that ThreadSanitizer does not support fences
                flags += ["-Wno-tsan", "-Wno-unknown-warning-option"]
            link.append(option)
        return cls(
            command=(path, *command[1:]),
            version=version(path),
            flags=(*flags, *shlex.split(environment.get("CXXFLAGS", ""))),
            link_flags=(*link, *shlex.split(environment.get("LDFLAGS", ""))),
            variant="-".join(sanitize) or "release",
            machine=other_machine((path, *command[1:])),
        )

    @property
    def folder(self) -> str:
        """The folder of its products."""
        return f"{self.variant}-{self.machine}" if self.machine else self.variant

    @classmethod
    def for_build_machine(cls, environment: Mapping[str, str] | None = None) -> Compiler:
        """The compiler of what the build itself loads: CXX_FOR_BUILD, else that of `find`.

        Sanitizers and the flags for the target machine are left out.
        """
        environment = os.environ if environment is None else environment
        kept = {name: environment[name] for name in ("CXX", "PATH") if name in environment}
        if environment.get("CXX_FOR_BUILD"):
            kept["CXX"] = environment["CXX_FOR_BUILD"]
        return replace(cls.find(kept), variant="build-machine")

    def object(
        self,
        source: Path,
        target: Path,
        flags: Sequence[str],
        *,
        label: str = "",
        inputs: Iterable[Path] = (),
        key: Sequence[str] | None = None,
        weight: float = 1,
    ) -> Step:
        """Compile one source; ``-MMD`` lists the headers that it reads."""
        depfile = target.with_suffix(".d")
        arguments = (*self.flags, *flags, "-MMD", "-MF", str(depfile))
        tail = ("-c", str(source), "-o", str(target))
        return Step(
            target=target,
            inputs=(source, *inputs),
            command=(*self.command, *arguments, *tail),
            key=(self.version, *self.flags, *(flags if key is None else key), *tail),
            depfile=depfile,
            label=label or f"compile {source}",
            weight=weight,
        )

    def shared_library(
        self,
        target: Path,
        objects: Sequence[Path],
        *,
        soname: str = "",
        version_script: Path | None = None,
        flags: Sequence[str] = (),
        inputs: Sequence[Path] = (),
        complete: bool = True,
    ) -> Step:
        """Link a shared library; the objects keep their order.  ``complete``: a symbol that no
        library defines is an error now, not when it is loaded.
        """
        command = [*self.command, "-shared", *self.link_flags, "-o", str(target)]
        if soname:
            command.append(f"-Wl,-soname,{soname}")
        if version_script is not None:
            command.append(f"-Wl,--version-script={version_script}")
        # The program that loads the library defines the sanitizers' symbols.
        complete = complete and self.variant in ("release", "build-machine")
        command += ["-Wl,-z,defs"] if complete else []
        command += [*map(str, objects), *flags]
        scripts = [version_script] if version_script is not None else []
        return Step(
            target=target,
            inputs=(*objects, *scripts, *inputs),
            command=tuple(command),
            key=(self.version, *command[1:]),
            label=f"link {target.name}",
        )


def _sanitizers(text: str) -> list[str]:
    names = sorted({name.strip() for name in text.split(",") if name.strip()})
    unknown = [name for name in names if name not in SANITIZERS]
    if unknown or {"address", "thread"} <= set(names):
        raise BuildError(
            f"CUPOLA_SANITIZE={text}: write 'address', 'undefined', 'address,undefined' or 'thread'"
        )
    return names


@cache
def version(path: str) -> str:
    """The first line of a compiler's version text."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"the C++ compiler {path} cannot be run: {error}") from error
    return done.stdout.partition("\n")[0]


@cache
def other_machine(command: tuple[str, ...]) -> str:
    """The processor that a compiler compiles for; empty if it is this machine's."""
    done = subprocess.run([*command, "-dumpmachine"], capture_output=True, text=True)
    named = done.stdout.partition("-")[0].strip()
    return "" if named in ("", platform.machine()) else named


def uses(source: Path, macro: str) -> bool:
    """Whether a source's own text names a macro.

    A value that changes often (a build id) is passed only to the sources that use it, so that a
    change does not recompile the others.
    """
    return macro in source.read_text(errors="replace")


def define(name: str, value: str) -> str:
    """-D for a macro whose value is a C string."""
    return f'-D{name}="{value}"'


def place(source: Path, target: Path) -> bool:
    """Copy a finished file, unless the target is equal.

    The old file is replaced, not overwritten: a process may have it mapped.
    """
    now = source.stat()
    with_same = target.exists() and target.stat()
    if with_same and (with_same.st_size, with_same.st_mtime_ns) == (now.st_size, now.st_mtime_ns):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy2(source, part)
    part.replace(target)
    return True
