"""What tests read back from a device, held against what a GPU left in the very same tests.

Every test that loads PTX by the fixtures takes part without a word about it: `Driver` tells a Seen
of each text that is launched and each array that comes back, and the test fails where these are not
those of the file in `recorded`, which `record.py` writes on a machine with a GPU.
"""

import functools
import hashlib
import pathlib
import re
from dataclasses import dataclass

import numpy as np

from . import table

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "recorded" / "nvidia-h200-rows.npz"

# Tests whose bits are each device's own choice; those that change are found by running twice.
OPEN = {
    "test_special.py::test_warps_and_multiprocessors",
    "test_special.py::test_grids_have_numbers_of_their_own",
    "test_special.py::test_shared_memory",
    "test_special.py::test_clocks_do_not_go_back",
}

OPCODE = re.compile(r"(?:^|[;\s{}])([a-z][a-z0-9_]*(?:[.:]+\w+)*)(?=[ ;])")


def digest(data):
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


@dataclass
class Entry:
    """Of one test: digests of the PTX and what was read back, bits of approximate results."""

    text: int
    left: tuple
    near: bytes
    opcodes: frozenset


class Seen:
    """What a test does on the device, while it does it."""

    def __init__(self, entry=None):
        self.entry, self.texts, self.left, self.close = entry, {}, [], b""
        self.compiled = False

    def launches(self, text):
        """A module's text; what a compiler made is not the same where there is another version."""
        if isinstance(text, bytes) or "NVIDIA NVVM Compiler" in text:
            self.compiled = True
        else:
            self.texts[text] = None

    def reads(self, data):
        self.left.append(digest(data))

    def settle(self, words):
        """Of what was last read, this is what has to be the same on each device."""
        self.left[-1] = digest(words.tobytes())

    def near(self, words):
        """Bits that are any within a bound: what the GPU left in their place, or else they."""
        start = len(self.close)
        self.close += words.tobytes()
        if self.entry is None or len(self.entry.near) < len(self.close):
            return words
        return np.frombuffer(self.entry.near[start : len(self.close)], words.dtype)

    def as_entry(self, name):
        if not self.left or self.compiled or name.split("[")[0] in OPEN:
            return None
        text = digest("\0".join(self.texts).encode())
        opcodes = frozenset().union(*map(opcodes_of, self.texts))
        return Entry(text, tuple(self.left), self.close, opcodes)

    def differences(self):
        """What is other than recorded, in words; None where nothing is."""
        if digest("\0".join(self.texts).encode()) != self.entry.text:
            return "the PTX is not that which was recorded: record it again, or have it forgotten"
        if len(self.left) != len(self.entry.left):
            return f"{len(self.left)} arrays were read, {len(self.entry.left)} when it was recorded"
        pairs = enumerate(zip(self.left, self.entry.left, strict=True))
        if other := [n for n, (a, b) in pairs if a != b]:
            return f"of {len(self.left)} arrays that were read the GPU left others: {other[:10]}"
        return None


def name_of(item):
    """A test's name in a recording."""
    return f"{item.path.name}::{item.name}"


@functools.cache
def rows_by_word():
    rows = {}
    for row in table.rows():
        rows.setdefault(row.mnemonic.split(".")[0], []).append(row)
    return rows


def words_of(choices):
    return {word for choice in choices for word in choice.split(".")}


@functools.cache
def vocabulary(row):
    axes = [words_of(a.choices) for a in row.axes]
    return words_of([row.mnemonic]).union(row.types, row.types2, *axes)


def is_spelling(row, words):
    """Whether words, those of an opcode in their order, are one of the row."""
    there = set(words)
    if not words_of([row.mnemonic]) <= there <= vocabulary(row):
        return False
    asked = [a for a in row.axes if not a.optional]
    if not all(any(words_of([c]) <= there for c in a.choices) for a in asked):
        return False
    first = [words.index(t) for t in row.types if t in there]
    if not row.types2:
        return bool(first) or not row.types
    return any(t in words[at + 1 :] for at in first for t in row.types2)


@functools.cache
def rows_of(opcode):
    """The rows that an opcode is of; more than one where only the operands tell."""
    words = opcode.split(".")
    return [r for r in rows_by_word().get(words[0], ()) if is_spelling(r, words)]


@functools.lru_cache(8)
def opcodes_of(text):
    return frozenset(o for o in OPCODE.findall(text) if rows_of(o))


def save(path, device, entries):
    names = sorted(entries)
    opcodes = sorted(frozenset().union(*(e.opcodes for e in entries.values())))
    has = np.array([[o in entries[n].opcodes for o in opcodes] for n in names], bool)
    np.savez_compressed(
        path,
        device=np.array(device),
        names=_packed(names),
        opcodes=_packed(opcodes),
        has=np.packbits(has, axis=1),
        texts=np.array([entries[n].text for n in names], np.uint64),
        counts=np.array([[len(entries[n].left), len(entries[n].near)] for n in names], np.uint32),
        left=np.array([x for n in names for x in entries[n].left], np.uint64),
        near=np.frombuffer(b"".join(entries[n].near for n in names), np.uint8),
    )


def load(path=FILE):
    """(the device's name, {test: Entry})"""
    with np.load(path) as file:
        names, opcodes = (_unpacked(file[key]) for key in ("names", "opcodes"))
        has = np.unpackbits(file["has"], axis=1, count=len(opcodes)).astype(bool)
        ends = np.cumsum(file["counts"], axis=0)[:-1].T
        left, near = np.split(file["left"], ends[0]), np.split(file["near"], ends[1])
        texts, device = file["texts"], str(file["device"])
    entries = {}
    for name, *of, row in zip(names, texts, left, near, has, strict=True):
        text, words, close = of
        spelled = frozenset(opcodes[i] for i in np.flatnonzero(row))
        entries[name] = Entry(int(text), tuple(map(int, words)), close.tobytes(), spelled)
    return device, entries


@functools.cache
def recorded():
    return load() if FILE.exists() else ("", {})


def _packed(lines):
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _unpacked(array):
    return array.tobytes().decode().split("\n")
