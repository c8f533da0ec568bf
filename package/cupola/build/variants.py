# package/cupola/build/variants.py - the kernels of variants in a library: instances and names.
"""Instances of kernel templates for variants, and the names of variants' kernels in an image.

Of a source with a kernel template a second source is generated. It includes the first one, and has
the address of each instance in a variable, which makes nvcc compile the instance. In the PTX these
variables name the kernels, whatever the compiler makes of the table's spelling, as of names of
enumerators. `cupola.build.assemble` leaves them out of the image.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..declare.family import Variant
from ..image.cxx_names import demangle
from ..image.kernel_names import attributes, named
from .families import FamilyTable, VariantKernels
from .kernels import Kernels

_MARK = "cupola_variant_"
_MARKED = re.compile(rf"^(?:\.visible\s+)?\.global[^=;]*\b{_MARK}(\d+)\s*=\s*([\w$]+);\n?", re.M)
# A kernel's address has the kernel's declaration before it.
_DECLARED = re.compile(r"^(?:\.(?:visible|weak)\s+)?\.entry\b[^{;]*;\n?", re.M)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# "instantiation of "void step<TX, TY>(float *) [with TX=16, TY=4]""
_INSTANCE = re.compile(r'instantiation of "[^"\n]*?\b(\w+)<[^"\n]*\[with ([^"\n\]]*)\]"')
_SUFFIX = re.compile(r"(?<=\d)[uUlL]+\b")


@dataclass(frozen=True)
class Requested:
    """The kernels that a library needs for variants.

    Parameters
    ----------
    variants : sequence of VariantKernels
    alone : bool
        Whether the library has no other kernels.
    instances : dict of str to str
        By kernel, as tables spell it, the source with its template.
    """

    variants: Sequence[VariantKernels]
    alone: bool = False
    instances: Mapping[str, str] = field(default_factory=dict)

    def texts(self) -> dict[str, str]:
        """By source, the text that follows its include."""
        found: dict[str, str] = {}
        for index, (kernel, source) in enumerate(self.instances.items()):
            found.setdefault(source, "")
            found[source] += f"__device__ auto* {_MARK}{index} = &{kernel};\n"
        return found

    def resolve(
        self, symbols: Iterable[str], marked: Mapping[int, str], library: str
    ) -> dict[str, str]:
        """The symbol of each kernel, as tables spell it.

        Parameters
        ----------
        symbols : iterable of str
            All kernels that the compiler made.
        marked : dict of int to str
            The symbols of the instances that `unmarked` found, by number.
        library : str
            For messages.

        Raises
        ------
        BuildError
            There is no such kernel.
        """
        found = {kernel: marked[index] for index, kernel in enumerate(self.instances)}
        for one in self.variants:
            for kernel, variant in one.kernels.items():
                if kernel not in found:
                    found[kernel] = _symbol(one.family, kernel, variant, symbols, library)
        return found

    def explain(self, output: str) -> str:
        """The words before the compiler's message: the variants whose kernels do not compile."""
        said = [text for one in self.variants for text in _failed(one, self, output)]
        if not said and self.alone:
            (one,) = self.variants
            compiled = one.family.declaration.compiled
            values = one.family.declaration.values(one.variants[0])
            words = " ".join(f"{name}={values[name]}" for name in compiled)
            said = [_told(one.family, f"variants with {words} do not compile: ")]
        return said[0] if said else ""


def _symbol(
    family: FamilyTable, kernel: str, variant: Variant, symbols: Iterable[str], library: str
) -> str:
    every = [{"name": symbol, "demangled": demangle(symbol)} for symbol in symbols]
    found = named({"kernels": every}, kernel)
    if found is None:
        known = ", ".join(sorted(attributes({"kernels": every}))) or "none"
        raise family.wrong(
            "kernel", f"there is no kernel {kernel!r} in {library}, of the variant "
            f"{family.declaration.text(variant)}; there are {known}"
        )  # fmt: skip
    return str(found["name"])


def _failed(one: VariantKernels, requested: Requested, output: str) -> list[str]:
    """A message for each variant of a family that the compiler's output names."""
    numbers = dict(enumerate(requested.instances))
    lines = {int(number) for number in re.findall(rf"\b{_MARK}(\d+)\b", output)}
    spelled = [numbers[number] for number in sorted(lines) if number in numbers]
    with_values = {
        (name, tuple(_word(part.partition("=")[2]) for part in values.split(", ")))
        for name, values in _INSTANCE.findall(output)
    }
    found = []
    for kernel, variant in one.kernels.items():
        name, _, arguments = kernel.removesuffix(">").partition("<")
        words = tuple(map(_word, arguments.split(",")))
        instance = (name.rpartition("::")[2], words)
        if f'identifier "{instance[0]}" is undefined' in output:
            source = requested.instances.get(kernel, "the library")
            found.append(_told(one.family, f"{source} has no kernel template {instance[0]!r}: "))
        elif kernel in spelled or (arguments and instance in with_values):
            text = f"the variant {one.family.declaration.text(variant)} ({kernel})"
            found.append(_told(one.family, f"{text} does not compile: "))
    return found


def _told(family: FamilyTable, what: str) -> str:
    return str(family.wrong("kernel", what))


def _word(text: str) -> str:
    """A template argument, spelled alike by tables and by the compiler."""
    return _SUFFIX.sub("", text.strip()).rpartition("::")[2]


def requested(kernels: Kernels, root: Path) -> Requested | None:
    """The kernels that a library needs for variants; None where it needs none.

    Raises
    ------
    BuildError
        The source with a template is unknown.
    """
    if not kernels.variants:
        return None
    instances = {}
    for one in kernels.variants:
        if one.family.declaration.is_template:
            for kernel in one.kernels:
                name = kernel.partition("<")[0].rpartition("::")[2].strip()
                instances[kernel] = _source(one.family, name, kernels, root)
    return Requested(kernels.variants, kernels.variants_alone, instances)


def _source(family: FamilyTable, name: str, kernels: Kernels, root: Path) -> str:
    """The source that has the kernel template of a name."""
    given, sources = family.declaration.source, list(kernels.sources)
    if given:
        if given not in sources:
            raise family.wrong(
                "source", f"{given!r} is no source of {kernels.library}: {', '.join(sources)}"
            )
        return given
    if len(sources) == 1:
        return str(sources[0])
    found = [source for source in sources if _has_kernel(root / source, name)]
    if len(found) != 1:
        text = " and ".join(found) or "none of them"
        raise family.wrong(
            "kernel", f"{kernels.library} has {len(sources)} sources, and {text} has the kernel "
            f"template {name!r}: name the source that has it, or includes it, with source ="
        )  # fmt: skip
    return found[0]


def _has_kernel(source: Path, name: str) -> bool:
    """Whether a source has a kernel of a name."""
    text = _COMMENT.sub("", source.read_text(errors="replace"))
    return re.search(rf"\b__global__\b[^;{{]*\b{name}\s*\(", text) is not None


def unmarked(text: str) -> tuple[str, dict[int, str]]:
    """PTX without the variables of instances, and the symbols of these by number."""
    marked = {int(number): symbol for number, symbol in _MARKED.findall(text)}
    return (_DECLARED.sub("", _MARKED.sub("", text)), marked) if marked else (text, {})


REFUSED = re.compile(
    r"Entry function '([\w$]+)' uses too much shared data \(0x([0-9a-f]+) bytes, 0x([0-9a-f]+) max"
)


def refusals(output: str) -> dict[str, str]:
    """The kernels that ptxas refuses for their static shared memory, with the reasons; none where
    it reports another error.
    """
    errors = [line for line in output.splitlines() if re.search(r"\b(error|fatal)\b", line)]
    found = [REFUSED.search(line) for line in errors]
    return {
        one[1]: f"{int(one[2], 16):,} bytes of static shared memory; at most {int(one[3], 16):,} "
        "are possible"
        for one in found
        if one is not None
    } if all(found) else {}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The kernels of a library's variants after a build."""

    kernels: Mapping[str, str]  # symbols, by the table's spelling
    refused: Mapping[str, Mapping[str, str]]  # by target (sm_75): symbols, and why ptxas refuses


def outcome_file(image: Path) -> Path:
    """Where a build puts the outcome."""
    return image.with_suffix(".variants.json")


def outcome_text(kernels: Mapping[str, str], refused: Mapping[str, Mapping[str, str]]) -> str:
    """The text of that file."""
    return json.dumps({"kernels": kernels, "refused": refused})


def read_outcome(path: Path) -> Outcome:
    """Read it."""
    found = json.loads(path.read_text())
    return Outcome(found["kernels"], found["refused"])
