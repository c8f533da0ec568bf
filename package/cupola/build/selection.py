# package/cupola/build/selection.py - chooses the kernels of a library, and the source of each.
"""Chooses the kernels of each target: by `only` and `without`, by the targets of sources, and those
of variants.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..image.cxx_names import demangle
from . import source_entries
from .error import BuildError
from .targets import Target
from .variants import Requested

# For each target and each source: the names of the kernels that are taken from the source.
Choice = dict[Target, dict[str, list[str]]]


@dataclass(frozen=True)
class Selection:
    """Names of kernels, with ``*`` for any text.

    Parameters
    ----------
    only : sequence of str
        If given, a kernel needs one of these names.
    without : sequence of str
        No kernel has one of these names.
    source_targets : dict of str to sequence of Target
        The targets of each source that is not for all targets.
    variants : Requested, optional
        The kernels of variants, which the library needs, or has alone.
    """

    only: Sequence[str] = ()
    without: Sequence[str] = ()
    source_targets: Mapping[str, Sequence[Target]] | None = None
    variants: Requested | None = None

    @property
    def own(self) -> Mapping[str, Sequence[Target]]:
        """The targets of each source that is not for all targets."""
        return self.source_targets or {}

    def choose(
        self,
        found: Mapping[Target, Mapping[str, Iterable[str]]],
        library: str,
        of_variants: Mapping[str, str] | None = None,
    ) -> Choice:
        """The kernels of each target.

        Parameters
        ----------
        found : dict of Target to dict of str to iterable of str
            For each target and each source: the linkage names of the kernels that the compiler
            made.
        library : str
            For messages.
        of_variants : dict of str to str
            The symbols of variants' kernels, by their spelling in tables.

        Raises
        ------
        BuildError
            A name fits no kernel, no kernel is left, or two sources have the same kernel for a
            target.
        """
        every = {kernel for of in found.values() for names in of.values() for kernel in names}
        wanted = of_variants or {}
        alone = self.variants is not None and self.variants.alone
        kept = set(wanted.values()) if alone else self._kept(every, library)
        for kernel, symbol in wanted.items():
            if symbol not in kept:
                raise BuildError(
                    f"kernels {library}: `only` and `without` leave out {kernel}, which is a "
                    "variant's kernel: change them, or the family"
                )
        return {target: self._of_target(target, of, kept) for target, of in found.items()}

    def _kept(self, every: set[str], library: str) -> set[str]:
        titles = {kernel: _titles(kernel) for kernel in every}
        fits: dict[str, set[str]] = {}
        for key, patterns in (("only", self.only), ("without", self.without)):
            fits[key] = set()
            for pattern in patterns:
                form = _compiled(pattern)
                found = {one for one in every if any(map(form.fullmatch, titles[one]))}
                if not found:
                    raise BuildError(
                        f"kernels {library}: {key} = {pattern!r}: no kernel has such a name; "
                        f"{_near(pattern, every)}"
                    )
                fits[key] |= found
        kept = (fits["only"] if self.only else every) - fits["without"]
        if every and not kept:
            raise BuildError(f"kernels {library}: `only` and `without` leave no kernel")
        return kept

    def _of_target(
        self, target: Target, of: Mapping[str, Iterable[str]], kept: set[str]
    ) -> dict[str, list[str]]:
        """The kernels of a target. A source with targets of its own takes precedence over sources
        for all targets.
        """
        special: dict[str, str] = {}
        for source in of:
            for kernel in kept.intersection(of[source]) if source in self.own else ():
                if kernel in special:
                    raise BuildError(
                        f"{special[kernel]} and {source} both have the kernel {title(kernel)} for "
                        f"sm_{target}: name the target in the architectures of one of them"
                    )
                special[kernel] = source
        return {
            source: sorted(
                kernel
                for kernel in kept.intersection(names)
                if special.get(kernel, source) == source
            )
            for source, names in of.items()
        }

    def applies(self, source: str, target: Target) -> bool:
        """Whether a source is compiled for a target."""
        return source_entries.applies(self.own, source, target)


def title(kernel: str) -> str:
    """The C++ name without result and parameters: ``gemm<float, 3>``."""
    return demangle(kernel).partition("(")[0].removeprefix("void ")


def _titles(kernel: str) -> tuple[str, ...]:
    """The names of a kernel, without spaces, with which a pattern is compared."""
    full = demangle(kernel).removeprefix("void ")
    whole = title(kernel)
    return tuple(re.sub(r"\s", "", text) for text in (kernel, full, whole, _short(whole)))


def _short(name: str) -> str:
    """The name without namespaces: ``sort<int>`` of ``math::sort<int>``."""
    head, bracket, arguments = name.partition("<")
    return head.rpartition("::")[2] + bracket + arguments


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.sub(r"\s", "", pattern).split("*")
    return re.compile(".*".join(map(re.escape, parts)))


def _near(pattern: str, every: Iterable[str]) -> str:
    """The advice for a pattern that fits no kernel: similar names."""
    titles = sorted({title(kernel) for kernel in every})
    base = pattern.partition("<")[0].strip()
    near = [one for one in titles if base in (one.partition("<")[0], _short(one).partition("<")[0])]
    if near and "<" not in pattern:
        return f"for all instances of the template write '{base}<*>'"
    near = difflib.get_close_matches(pattern, near or titles, 4, 0.5) or near[:4]
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = ", ..." if len(titles) > 8 else ""
    return f"there are {', '.join(titles[:8])}{more}"
