"""Compares the data that tests read back from a device with a GPU's after the same work.

It covers every test that loads PTX by the fixtures: `Driver` reports each call, and each array
that a test reads back, to a Seen. `record.py` writes a file of these arrays on a machine with a
GPU. The key of an array is the content of all work before it (`trace.py`). A test that reads an
array which is not in the file fails, unless `unrecorded.py` names the test with a reason.
"""

import functools
import pathlib
from dataclasses import dataclass, field

import numpy as np

from . import opcodes, unrecorded
from .trace import Trace, digest

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "recorded" / "tests.npz"
COMMAND = "CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record OUT"


@dataclass
class Bits:
    """Digests of arrays and bits of approximate results, by key; the texts that were run."""

    left: dict = field(default_factory=dict)
    near: dict = field(default_factory=dict)
    texts: dict = field(default_factory=dict)  # opcodes, by the text's digest
    device: str = "no GPU"
    driver: str = ""

    def update(self, other):
        """Returns keys that both have with other values: such a key misses a part of the work."""
        both = [(self.left, other.left), (self.near, other.near)]
        clashes = [k for a, b in both for k in a.keys() & b.keys() if a[k] != b[k]]
        for mine, theirs in (*both, (self.texts, other.texts)):
            mine.update(theirs)
        return clashes


class Seen:
    """A test's work on the device, collected as it runs; its results are compared with `bits`."""

    def __init__(self, bits=None):
        self.bits, self.trace = bits, Trace()
        self.texts, self.left, self.close = {}, [], {}
        self.why = None  # a reason not to be recorded

    def launches(self, text, name):
        """The test looks up a function of a module's text."""
        self.trace.add("function", text, name)
        if isinstance(text, str):
            self.texts[digest(text.encode())] = text

    def reads(self, data):
        self.left.append((self.trace.key(), digest(data, 4)))
        self.trace.add("read", str(len(data)))

    def settle(self, words):
        """Of what was last read, this is what has to be the same on each device."""
        self.left[-1] = self.left[-1][0], digest(words.tobytes(), 4)

    def near(self, words):
        """Bits that are any within a bound: what the GPU left in their place, or else they."""
        self.trace.add("near")
        key = self.trace.key()
        self.close[key] = words.tobytes()
        there = None if self.bits is None else self.bits.near.get(key)
        return words if there is None else np.frombuffer(there, words.dtype)

    def as_bits(self):
        texts = {key: sorted(opcodes.opcodes_of(text)) for key, text in self.texts.items()}
        return Bits(dict(self.left), dict(self.close), texts)

    def compare(self):
        """(how many arrays were compared, those that differ, those without a recording)"""
        there = [self.bits.left.get(key) for key, _ in self.left]
        missing = [n for n, was in enumerate(there) if was is None]
        near = [n for n, key in enumerate(self.close) if key not in self.bits.near]
        pairs = enumerate(zip(there, self.left, strict=True))
        other = [n for n, (was, (_, now)) in pairs if was is not None and was != now]
        return len(there) - len(missing), other, missing or near


def verdict(seen, name):
    """Of a test that passed so far: (arrays compared, reason why others are not, what is wrong)."""
    if why := unrecorded.never(name):
        return 0, why, None
    why = seen.why or unrecorded.reason(name)
    compared, other, missing = seen.compare()
    if other:
        of = f"of {len(seen.left)} arrays that were read"
        return compared, why, f"{seen.bits.device}: {of} the GPU left others: {other[:10]}"
    if missing and not why:
        return (
            compared,
            why,
            (
                f"no bits of a GPU for {len(missing)} of {len(seen.left)} arrays that were read: "
                f"{missing[:10]}. Either PTX or inputs changed, or the test is new. Record it "
                f"(`{COMMAND}` in tests, on a GPU), or name it in tests/ptx/unrecorded.py"
            ),
        )
    return compared, why if missing else None, None


def name_of(item):
    """A test's name in messages; parameters come behind."""
    return f"{item.path.name}::{item.name}"


def save(path, bits):
    keys = np.array(sorted(bits.left), np.uint64)
    near, texts = sorted(bits.near), sorted(bits.texts)
    words = sorted({o for of in bits.texts.values() for o in of})
    has = np.array([[o in bits.texts[t] for o in words] for t in texts], bool)
    np.savez_compressed(
        path,
        device=np.array(bits.device),
        driver=np.array(bits.driver),
        keys=keys,
        left=np.array([bits.left[int(k)] for k in keys], np.uint32),
        near_keys=np.array(near, np.uint64),
        near_sizes=np.array([len(bits.near[k]) for k in near], np.uint32),
        near=np.frombuffer(b"".join(bits.near[k] for k in near), np.uint8),
        texts=np.array(texts, np.uint64),
        opcodes=np.frombuffer("\n".join(words).encode(), np.uint8),
        has=np.packbits(has, axis=1),
    )


def load(path=FILE):
    with np.load(path) as file:
        words = file["opcodes"].tobytes().decode().split("\n")
        has = np.unpackbits(file["has"], axis=1, count=len(words)).astype(bool)
        texts = {
            int(key): [words[n] for n in np.flatnonzero(row)]
            for key, row in zip(file["texts"], has, strict=True)
        }
        left = dict(zip(file["keys"].tolist(), file["left"].tolist(), strict=True))
        ends = np.cumsum(file["near_sizes"])
        parts = np.split(file["near"], ends[:-1]) if len(ends) else []
        near = {int(k): p.tobytes() for k, p in zip(file["near_keys"], parts, strict=True)}
        return Bits(left, near, texts, str(file["device"]), str(file["driver"]))


@functools.cache
def recorded():
    """The file's Bits; without a file nothing is recorded."""
    return load() if FILE.exists() else Bits()
