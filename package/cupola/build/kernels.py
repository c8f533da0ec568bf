# package/cupola/build/kernels.py - the description of a package's kernel library.
"""`Kernels`: a kernel library of a package, and its form in pyproject.toml."""

from __future__ import annotations

import difflib
import glob
import keyword
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from . import instances, source_entries
from .error import BuildError
from .step import HEADERS
from .targets import Target, read

# nvcc's options that the build itself sets, and the alternative for each.
_DECIDED = {
    **dict.fromkeys(
        ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"),
        "architectures = [...]",
    ),
    **dict.fromkeys(("-I", "--include-path"), "include = [...]"),
    **dict.fromkeys(("-optf", "--options-file"), "what the file says: the build would not see it "
                    "change"),
    **dict.fromkeys(
        ("-o", "--output-file", "-c", "--compile", "-ptx", "--ptx", "-cubin", "--cubin",
         "-fatbin", "--fatbin", "-dlink", "--device-link", "-M", "-MM", "-MD", "-MMD", "-MF",
         "-G", "--device-debug", "-E", "--preprocess", "-link", "--link"),
        "nothing: the build knows what to make",
    ),
    **dict.fromkeys(("-dlto", "--dlink-time-opt", "-lto", "--lto"),
                    "lto = true in the library's table"),
}  # fmt: skip
_RELOCATABLE = ("-rdc", "--relocatable-device-code")
_COMPILED_ALONE = ("-dc", "--device-c")


@dataclass(frozen=True)
class Kernels:
    """CUDA sources that become one kernel library of a package.

    Parameters
    ----------
    library : str
        The module's name, such as ``"heat.kernels"``. The build puts ``kernels.fatbin``, its
        manifest ``kernels.json``, and ``kernels.py`` beside ``heat/__init__.py``.
    sources : sequence of str or dict
        ``.cu`` files, relative to the project's folder; ``*`` and ``**`` are patterns. A dict,
        such as ``{"file": "wgmma.cu", "architectures": ["90a"]}``, is a source for these targets
        alone. Its kernels take the place of those of the same name in sources for all targets.
    include : sequence of str
        Folders of headers, relative to the project's folder.
    options : sequence of str
        Further options of nvcc, such as ``"--use_fast_math"``; without ``-std`` C++17 is used.
    architectures : str, or sequence of str or int, optional
        ``"all"``, ``"native"`` (PTX and the present devices), or a list such as ``["75", "90a"]``.
        By default ``"all"`` in a wheel and ``"native"`` otherwise. The environment's
        CUPOLA_ARCHITECTURES overrides it. PTX is always made. ``"all"``, ``"native"``, and
        ``"cpu"`` in a list also make machine code for the CPU device.
    ptx : str or int, or sequence of these, optional
        The levels that PTX is made for, as in ``[75, 90]``. The oldest of them is the oldest
        architecture that the sources support. By default compute_75 and the newest target without
        suffix; where all targets have one (``["90a"]``), these.
    relocatable : bool, optional
        Whether sources are compiled separately and linked (``-rdc=true``). By default true for
        several sources; if false, several are compiled as one.
    verify : bool
        Whether the image is compared with the digest in its manifest at each load. Otherwise the
        environment's CUPOLA_VERIFY decides.
    only, without : sequence of str
        Names of the kernels that the library has, or that are left out, such as
        ``"gemm<float, 3*>"``; ``*`` stands for any text.
    lto : bool
        Whether users link the kernels with functions of their own, by `cupola.link`. Then the
        library has LTO-IR instead of machine code, its sources are compiled as one text, and they
        may call functions that no source defines.
    operations : sequence of OperationTable
        The operations of ``[[tool.cupola.ops]]``.
    families : sequence of FamilyTable
        The families of ``[[tool.cupola.variants]]`` whose default the library has.
    variants : sequence of VariantKernels
        The kernels that variants of families need in the library.
    variants_alone : bool
        Whether the library has these kernels alone: the build adds such libraries.
    makers : sequence
        The tables ``[[tool.cupola.makers]]``, of which the source is generated.
    compiler : str
        ``"nvcc"``, or the compiler of sources in Python: ``"triton"``, ``"numba"``, ``"warp"`` or
        ``"cute"``.
    instances : sequence of dict
        The tables ``[[tool.cupola.kernels.instances]]``: the functions that a compiler of Python
        compiles, each with the types of its parameters.
    host : bool
        Whether this is a table ``[[tool.cupola.libraries]]``: the sources have host functions, and
        become a shared library. Then several sources are linked only where `relocatable` is true.
    source_targets : dict of str to sequence of Target
        The targets of the sources that are dicts.

    Raises
    ------
    BuildError
        Where one of these is invalid.
    """

    library: str
    sources: Sequence[Any]
    include: Sequence[str] = ()
    options: Sequence[str] = ()
    architectures: str | Sequence[str | int] | None = None
    ptx: str | int | Sequence[str | int] = ()
    relocatable: bool | None = None
    verify: bool = False
    only: Sequence[str] = ()
    without: Sequence[str] = ()
    lto: bool = False
    operations: Sequence[Any] = ()
    families: Sequence[Any] = ()
    variants: Sequence[Any] = ()
    variants_alone: bool = False
    makers: Sequence[Any] = ()
    compiler: str = instances.NVCC
    instances: Sequence[Any] = ()
    host: bool = False
    source_targets: Mapping[str, Sequence[Target]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.library, str) or not re.fullmatch(
            r"[^\W\d]\w*(\.[^\W\d]\w*)+", self.library
        ):
            raise BuildError(
                f"library = {self.library!r}: the module that it becomes is wanted, a package and "
                "a name in it, as in 'heat.kernels'"
            )
        for part in self.library.split("."):
            if keyword.iskeyword(part):
                raise self.wrong(
                    "library", self.library, f"{part} is a keyword of Python, so that no import "
                    f"finds the module: choose another name, as in '{part}_'"
                )  # fmt: skip
        if not isinstance(self.sources, (str, Mapping)) and isinstance(self.sources, Iterable):
            files, targets = source_entries.read(self, self.sources)
            object.__setattr__(self, "sources", files)
            object.__setattr__(self, "source_targets", {**self.source_targets, **targets})
        for name in ("sources", "include", "options", "only", "without"):
            value = getattr(self, name)
            if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
                raise self.wrong(name, value, f"a list is wanted, as in {name} = [{value!r}]")
            value = tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in value)
            if not all(isinstance(one, str) and one for one in value):
                text = "a list of texts of at least one character is wanted"
                raise self.wrong(name, value, text)
            object.__setattr__(self, name, value)
        if not self.sources and not self.makers:
            raise self.wrong("sources", [], "at least one .cu file is wanted")
        for name in ("sources", "include"):
            for path in getattr(self, name):
                if os.path.isabs(path) or ".." in Path(path).parts:
                    raise self.wrong(
                        name, path, "a path inside the project is wanted, so that it is in its "
                        "source distribution"
                    )  # fmt: skip
        object.__setattr__(self, "instances", instances.check(self))
        self._look_at_options()
        object.__setattr__(self, "architectures", self._architectures())
        object.__setattr__(self, "ptx", self._levels())
        if self.relocatable not in (None, True, False):
            raise self.wrong("relocatable", self.relocatable, "true or false is wanted")
        source_entries.check(self)
        if self.verify not in (True, False):
            raise self.wrong("verify", self.verify, "true or false is wanted")
        self._look_at_lto()
        if self.verify and self.host:
            raise self.wrong("verify", True, "a host library has no manifest to compare with")

    def wrong(self, name: str, value: Any, text: str) -> BuildError:
        """The error for the value of a field."""
        return BuildError(f"kernels {self.library}: {name} = {value!r}: {text}")

    def _look_at_lto(self) -> None:
        if self.lto not in (True, False):
            raise self.wrong("lto", self.lto, "true or false is wanted")
        if not self.lto:
            return
        other = {
            "host functions, which are a shared library": self.host,
            "makers, which have no function that a user defines": self.makers,
            f"sources of {self.compiler}": self.compiler != instances.NVCC,
            "only and without: nvJitLink drops what no kernel uses": self.only or self.without,
            "sources for some targets: its sources are compiled as one text": self.source_targets,
            "relocatable = true: the sources are compiled as one text": len(self.sources) > 1
            and self.relocatable,
        }
        for what, given in other.items():
            if given:
                raise self.wrong("lto", True, f"it does not go with {what}")

    def _look_at_options(self) -> None:
        kept = []
        options = iter(self.options)
        for option in options:
            word, equals, value = option.partition("=")
            word = "-I" if word.startswith("-I") else word
            if word in _DECIDED:
                raise self.wrong("options", option, f"write {_DECIDED[word]}")
            if word in _COMPILED_ALONE:
                object.__setattr__(self, "relocatable", True)
                continue
            if word in _RELOCATABLE:
                value = value if equals else next(options, "")
                if value not in ("true", "false"):
                    raise self.wrong(
                        "options", f"{word} {value}".strip(), "true or false is wanted"
                    )
                if value == "true" or self.relocatable is None:
                    object.__setattr__(self, "relocatable", value == "true")
                continue
            kept.append(option)
        object.__setattr__(self, "options", tuple(kept))

    def _architectures(self) -> str | None:
        given = self.architectures
        if given is None or (isinstance(given, str) and given.strip()):
            return given
        if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
            raise self.wrong("architectures", given, "'all', 'native' or a list is wanted")
        words = [str(one) for one in given]
        return "all" if words == ["all"] else "native" if words == ["native"] else ",".join(words)

    def _levels(self) -> tuple[Target, ...]:
        given = self.ptx
        several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
        levels = [read(str(one)) for one in (given if several else [given])]
        if None in levels:
            text = "a number as in '75', or a list of them, as in [75, 90], is wanted"
            raise self.wrong("ptx", given, text)
        return tuple(sorted({level for level in levels if level is not None}))

    @property
    def package(self) -> str:
        """``heat`` of ``heat.kernels``."""
        return self.library.rpartition(".")[0]

    @property
    def name(self) -> str:
        """``kernels`` of ``heat.kernels``."""
        return self.library.rpartition(".")[2]

    @property
    def links(self) -> bool:
        """Whether sources are compiled separately."""
        if self.lto:
            return False
        several = len(self.sources) > 1 and not self.host
        return several if self.relocatable is None else bool(self.relocatable)

    @property
    def selects(self) -> bool:
        """Whether the kernels of an image differ between targets, or some are left out."""
        return bool(self.source_targets or self.only or self.without or self.variants)

    def expand(self, root: Path) -> Kernels:
        """A copy with patterns replaced by files; each must match at least one."""
        found: dict[str, str] = {}  # the pattern by file
        for pattern in self.sources:
            matches = [pattern]
            if glob.has_magic(pattern):
                paths = glob.glob(pattern, root_dir=root, recursive=True)
                matches = sorted(Path(path).as_posix() for path in paths)
            if not [path for path in matches if (root / path).is_file()]:
                raise self.wrong("sources", pattern, f"there is no such file in {root}")
            for path in matches:
                found[path] = source_entries.better(self, path, pattern, found.get(path))
        for folder in self.include:
            if not (root / folder).is_dir():
                raise self.wrong("include", folder, f"there is no such folder in {root}")
        for place, option in enumerate(self.options):
            word, equals, folder = option.partition("=")
            if word in ("-isystem", "--system-include"):
                folder = folder if equals else "".join(self.options[place + 1 : place + 2])
                if not (root / folder).is_dir():
                    raise self.wrong("options", option, f"there is no folder {folder!r} in {root}")
        own = self.source_targets
        targets = {path: own[pattern] for path, pattern in found.items() if pattern in own}
        return replace(self, sources=tuple(found), source_targets=targets)

    def headers(self, root: Path) -> list[str]:
        """The headers that the sources may include, for source distributions: the real includes are
        unknown before the compilation. In the project's own folder, subfolders are not searched.
        """
        found = set()
        for folder in {*(Path(source).parent for source in self.sources), *map(Path, self.include)}:
            inside = (root / folder).rglob("*") if folder.parts else (root / folder).glob("*")
            found |= {
                path.relative_to(root).as_posix()
                for path in inside
                if path.suffix in (*HEADERS, ".cu") and path.is_file()
            }
        return sorted(found - set(self.sources))


def from_tables(tables: Any, *, host: bool = False) -> list[Kernels]:
    """The libraries in ``[[tool.cupola.kernels]]``; ``host``: in ``[[tool.cupola.libraries]]``."""
    name = "tool.cupola.libraries" if host else "tool.cupola.kernels"
    if isinstance(tables, Mapping):
        raise BuildError(f"[{name}] must be a list: write [[{name}]]")
    if not isinstance(tables, list):
        raise BuildError(f"{name} must be a list: write tables [[{name}]]")
    no_keys = ("operations", "families", "variants", "variants_alone", "makers", "host",
               "source_targets")  # fmt: skip
    known = [one.name for one in fields(Kernels) if one.name not in no_keys]
    found = []
    for table in tables:
        if not isinstance(table, Mapping):
            raise BuildError(f"{name} has {table!r} in it: write tables [[{name}]]")
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise BuildError(f"[[{name}]] has an unknown key {key!r}: {meant}")
        for key in ("library", "sources"):
            if key not in table:
                raise BuildError(f"[[{name}]] lacks the key {key!r}")
        found.append(Kernels(**table, host=host))
    return found


def from_keyword(name: str, value: Any) -> list[Kernels]:
    """The libraries in ``setup(cuda_kernels=...)``."""
    given = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for one in given:
        if not isinstance(one, Kernels):
            raise BuildError(f"{name} takes a list of cupola.build.Kernels, got {one!r} in it")
    return given
