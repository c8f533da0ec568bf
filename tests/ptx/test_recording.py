"""Which rows of the instruction table have bits of a GPU in a file, and why others have none."""

import numpy as np
import pytest

from . import recording, table, texture_cases
from .generate import kept

# By a row's mnemonic, and a modifier where it has some spellings only without.
WITHOUT = {
    "trap": "ends the launch: its error is compared where the tests run on a GPU",
    "brkpt": "ends the launch, or stops in a debugger",
    "multimem.ld_reduce": "an error without a multicast object, which one device does not have",
    "prefetch.const.tensormap": "leaves nothing",
    "prefetch.param.tensormap": "leaves nothing",
    "txq filter_mode": "NVIDIA's driver does not load it",
}


def reason(row):
    choices = {choice for axis in row.axes for choice in axis.choices}
    for key, why in WITHOUT.items():
        mnemonic, *of = key.split()
        if row.mnemonic == mnemonic and choices.issuperset(of):
            return why
    return None


@pytest.fixture(scope="module")
def opcodes():
    _, entries = recording.recorded()
    # Textures are recorded case by case, random programs with their text.
    fetched = {case.opcode for case in texture_cases.cases()}
    files = recording.FILE.parent.glob("*-programs.npz")
    texts = [text for file in files for text, *_ in kept.load(file)[1]]
    return fetched.union(*(e.opcodes for e in entries.values()), *map(recording.opcodes_of, texts))


def test_every_row_has_a_gpus_bits_or_a_reason(opcodes):
    there = {row for opcode in opcodes for row in recording.rows_of(opcode)}
    rows = list(table.rows())
    print(f"{len(there)} of {len(rows)} rows, {len(opcodes)} spellings")
    lacking = [r for r in rows if r not in there and not reason(r)]
    assert not lacking
    assert not [r for r in there if reason(r)]


def test_reasons_are_of_rows_that_there_are():
    given = {reason(row) for row in table.rows()}
    assert set(WITHOUT.values()) <= given


def test_which_row_an_opcode_is_of():
    def mnemonics(opcode):
        return {row.mnemonic for row in recording.rows_of(opcode)}

    assert mnemonics("barrier.cluster.arrive.release") == {"barrier.cluster.arrive"}
    assert mnemonics("bar.arrive") == {"bar.arrive"}
    assert mnemonics("cp.async.bulk.global.shared::cta.bulk_group") == {
        "cp.async.bulk.global.shared::cta.bulk_group"
    }
    assert mnemonics("ld.shared.u32") == {"ld"}
    assert {r.types2 for r in recording.rows_of("cvt.rn.f32.u8")}.isdisjoint([("f32",), ("f64",)])
    assert not mnemonics("add.u32.u32.nothing") and not mnemonics("cell")


def test_other_bits_are_seen():
    left = recording.Seen()
    left.launches("text")
    left.reads(b"bits")
    left.settle(np.arange(3))
    assert list(left.near(np.array([1, 2]))) == [1, 2]  # nothing is recorded yet
    entry = left.as_entry("test_x.py::test_x")

    def differences(text, *arrays):
        seen = recording.Seen(entry)
        seen.launches(text)
        for a in arrays:
            seen.reads(a.tobytes())
        return seen.differences()

    assert differences("text", np.arange(3)) is None
    assert "others: [0]" in differences("text", np.arange(3) + 1)
    assert "2 arrays were read" in differences("text", np.arange(3), np.arange(3))
    assert "not that which was recorded" in differences("texts", np.arange(3))
    assert list(recording.Seen(entry).near(np.array([7, 7]))) == [1, 2]


def test_a_recording_is_read_as_it_was_written(tmp_path):
    entries = {
        f"test {n}": recording.Entry(2**63 + n, (n, 7) * n, bytes(n), frozenset(["ret", f"add{n}"]))
        for n in range(3)
    }
    recording.save(tmp_path / "file.npz", "a device", entries)
    assert recording.load(tmp_path / "file.npz") == ("a device", entries)
