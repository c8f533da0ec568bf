"""The instruction table, read from its source: csrc/ptx/table/*.inc and the words of words.hpp."""

import itertools
import pathlib
import re
from dataclasses import dataclass

PTX = pathlib.Path(__file__).resolve().parents[2] / "csrc" / "ptx"
# The newest PTX that the drivers of the recordings and the assembler of the tests take.
RECORDED = 90
# The sets of targets that the device of the recordings belongs to.
ON_SM_90 = ("any_target", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_90a_100f_110f_120f")
# For each other set of targets, one of them and the compute capability of a device for it.
NEWER = {
    "sm_100": ("sm_100", "10.0"),
    "sm_100f": ("sm_100f", "10.0"),
    "sm_100f_110f": ("sm_100f", "10.0"),
    "sm_103f_110f": ("sm_103f", "10.3"),
    "sm_100f_110f_120f": ("sm_100f", "10.0"),
    "sm_100f_110f_120a_121a": ("sm_100a", "10.0"),
    "sm_100a_103a": ("sm_100a", "10.0"),
    "sm_100a_110a": ("sm_100a", "10.0"),
    "sm_100a_103a_110a": ("sm_100a", "10.0"),
    "sm_100a_to_121a": ("sm_100a", "10.0"),
    "sm_120f": ("sm_120f", "12.0"),
    "sm_120a_121a": ("sm_120a", "12.0"),
}


@dataclass(frozen=True)
class ModifierSlot:
    name: str
    optional: bool
    fixed: bool
    trailing: bool
    choices: tuple


@dataclass(frozen=True)
class Row:
    chapter: str
    mnemonic: str
    semantics: str
    axes: tuple
    types: tuple
    types2: tuple
    shapes: tuple
    since: int  # version of PTX, 10 * major + minor
    targets: str  # the name of the set in targets.hpp
    line: int

    @property
    def recorded(self):
        return self.since <= RECORDED and self.targets in ON_SM_90

    @property
    def capability(self):
        """The compute capability of a device for it."""
        return "9.0" if self.targets in ON_SM_90 else NEWER[self.targets][1]

    @property
    def header(self):
        version, target = "8.6", "sm_90"
        if self.targets not in ON_SM_90:
            version, target = "9.5", NEWER[self.targets][0]
        return f".version {version}\n.target {target}\n.address_size 64\n"

    def opcodes(self):
        """Each spelling: (opcode, modifiers by axis, type, second type). Hints are left out."""
        choices = [
            [a.choices[0]]
            if not a.fixed and not a.optional and a.name != "boolean"
            else [None]
            if not a.fixed and a.optional
            else [*([None] if a.optional else []), *a.choices]
            for a in self.axes
        ]
        for picked in itertools.product(*choices):
            named = dict(zip((a.name for a in self.axes), picked, strict=True))
            for t, t2 in itertools.product(self.types or (None,), self.types2 or (None,)):
                front = [m for a, m in zip(self.axes, picked, strict=True) if m and not a.trailing]
                back = [m for a, m in zip(self.axes, picked, strict=True) if m and a.trailing]
                parts = [self.mnemonic, *front, *(x for x in (t, t2) if x), *back]
                yield ".".join(parts), named, t, t2


def _axes():
    headers = (
        PTX / name
        for name in ("words.hpp", "matrix_words.hpp", "video_words.hpp", "tcgen05_words.hpp")
    )
    text = re.sub(r"\s+", " ", "".join(h.read_text() for h in headers))
    flag = r"(\w+)"
    call = rf"slot\( ?(?:field|video)::\w+, {flag}, {flag}, {flag}, (.*?)\);"
    for found in re.finditer(rf"constexpr ModifierSlot (\w+) = {call}", text):
        name, *flags, choices = found.groups()
        yield (
            name,
            ModifierSlot(
                name, *(f == "true" for f in flags), tuple(re.findall(r'is\("(.*?)"', choices))
            ),
        )


def rows():
    axes = dict(_axes())
    pattern = re.compile(
        r'FORM\("([^"]+)", ([^,]+), mods\((.*?)\), types\((.*?)\), types\((.*?)\), '
        r"operands\((.*?)\), (\d+), (\w+),"
    )
    for path in sorted((PTX / "table").glob("*.inc")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if not text.startswith("FORM("):
                continue
            mnemonic, semantics, *lists, since, targets = pattern.match(text).groups()
            mods, types, types2, shapes = (tuple(filter(None, part.split(", "))) for part in lists)
            picked = tuple(axes[m] for m in mods)
            yield Row(
                chapter=path.stem,
                mnemonic=mnemonic,
                semantics=semantics,
                axes=picked,
                types=types,
                types2=types2,
                shapes=shapes,
                since=int(since),
                targets=targets,
                line=number,
            )
