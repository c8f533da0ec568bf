"""Which rows of the instruction table have bits of a GPU in a file, and why others have none."""

import ctypes

import numpy as np
import pytest

from . import opcodes as spelled
from . import recording, table, texture_cases, unrecorded
from .generate import kept
from .trace import Trace

# Reasons by a row's mnemonic, and a modifier if only spellings with it are not recorded.
WITHOUT = {
    "cp.async.bulk b128": "newer than the recording",
    "st.async cluster": "newer than the recording",
    "brkpt": "ends the launch, or stops in a debugger",
    "multimem.ld_reduce": "an error without a multicast object, which one device does not have",
    "prefetch.const.tensormap": "leaves nothing",
    "prefetch.param.tensormap": "leaves nothing",
    "txq filter_mode": "NVIDIA's driver does not load it",
}


def reason(row):
    if not row.recorded:
        return "newer than the PTX of the driver that recorded"
    if unrecorded.awaits(row):
        return "newer than the recording"
    choices = {choice for axis in row.axes for choice in axis.choices}
    for key, why in WITHOUT.items():
        mnemonic, *of = key.split()
        if row.mnemonic == mnemonic and choices.issuperset(of):
            return why
    return None


@pytest.fixture(scope="module")
def opcodes():
    texts = recording.recorded().texts.values()
    # Textures are recorded case by case, random programs with their text.
    fetched = {case.opcode for case in texture_cases.cases()}
    files = recording.FILE.parent.glob("*programs.npz")
    programs = [text for file in files for text, *_ in kept.load(file)[1]]
    return fetched.union(*texts, *map(spelled.opcodes_of, programs))


def test_every_row_has_a_gpus_bits_or_a_reason(opcodes):
    there = {row for opcode in opcodes for row in spelled.rows_of(opcode)}
    rows = list(table.rows())
    print(f"{len(there)} of {len(rows)} rows, {len(opcodes)} spellings")
    lacking = [r for r in rows if r not in there and not reason(r)]
    assert not lacking
    # An opcode of three operands may be recorded with two.
    assert not [r for r in there if r.recorded and reason(r)]


def test_reasons_are_of_rows_that_there_are():
    given = {reason(row) for row in table.rows()}
    assert set(WITHOUT.values()) <= given


def test_which_row_an_opcode_is_of():
    def mnemonics(opcode):
        return {row.mnemonic for row in spelled.rows_of(opcode)}

    assert mnemonics("barrier.cluster.arrive.release") == {"barrier.cluster.arrive"}
    assert mnemonics("bar.arrive") == {"bar.arrive"}
    assert mnemonics("cp.async.bulk.global.shared::cta.bulk_group") == {"cp.async.bulk"}
    assert mnemonics("ld.shared.u32") == {"ld"}
    assert {r.types2 for r in spelled.rows_of("cvt.rn.f32.u8")}.isdisjoint([("f32",), ("f64",)])
    assert not mnemonics("add.u32.u32.nothing") and not mnemonics("cell")


def bits_of(seen):
    bits = seen.as_bits()
    bits.device = "a device"
    return bits


def work(bits, text="text", given=b"12345678", left=b"bits", words=(1, 2)):
    """A test: a launch, an array of exact bits, and estimates."""
    seen = recording.Seen(bits)
    seen.launches(text, "k")
    seen.trace.data(given)
    seen.reads(left)
    return seen, list(seen.near(np.array(words)))


def test_other_bits_are_seen():
    before, near = work(None)
    assert near == [1, 2]  # nothing is recorded yet
    bits = bits_of(before)
    same, near = work(bits, words=(7, 7))
    assert near == [1, 2] and same.compare() == (1, [], [])
    assert recording.verdict(same, "test_x.py::test_x") == (1, None, None)
    other, _ = work(bits, left=b"bots")
    assert other.compare() == (1, [0], [])
    assert "the GPU left others: [0]" in recording.verdict(other, "test_x.py::test_x")[2]


@pytest.mark.parametrize("change", [{"text": "texts"}, {"given": b"12345679"}])
def test_what_is_not_recorded_is_a_failure(change, monkeypatch):
    """Unless the list has it, with a reason."""
    seen, _ = work(bits_of(work(None)[0]), **change)
    compared, why, wrong = recording.verdict(seen, "test_x.py::test_x[1]")
    assert (compared, why) == (0, None) and "python -m ptx.record" in wrong
    monkeypatch.setitem(unrecorded.AWAITING, "test_x.py::test_x", "new")
    assert recording.verdict(seen, "test_x.py::test_x[1]") == (0, "new", None)


def test_settled_bits_alone_are_compared():
    seen, again = recording.Seen(), None
    seen.reads(b"any bits")
    seen.settle(np.arange(3))
    again = recording.Seen(bits_of(seen))
    again.reads(b"any others")
    assert again.compare() == (1, [0], [])
    again.settle(np.arange(3))
    assert again.compare() == (1, [], [])


def key_of(start, words, handle):
    """Of memory at an address, an address in it among the data, and a handle."""
    trace = Trace()
    address, made = ctypes.c_uint64(start), ctypes.c_uint64(handle)
    trace.made("cuMemAlloc_v2", (ctypes.byref(address), ctypes.c_size_t(64)))
    trace.made("cuTexObjectCreate", (ctypes.byref(made),))
    trace.data(np.array(words, np.uint64).tobytes())
    trace.parameter(made)
    trace.parameter(np.uint64(start + 8))
    return trace.key()


def test_keys_do_not_depend_on_where_memory_lies():
    key = key_of(1 << 40, [5, (1 << 40) + 16], 77)
    assert key == key_of(1 << 41, [5, (1 << 41) + 16], 3)
    assert key != key_of(1 << 41, [5, (1 << 41) + 24], 3)  # another place in it
    assert key != key_of(1 << 41, [6, (1 << 41) + 16], 3)  # other data


def test_keys_that_are_not_of_all_the_work_are_told():
    """The same work that left other bits in another test."""
    one, other = work(None)[0], work(None, left=b"bots")[0]
    everything = bits_of(one)
    assert everything.update(bits_of(one)) == []
    assert everything.update(bits_of(other)) == list(other.as_bits().left)


def test_a_recording_is_read_as_it_was_written(tmp_path):
    bits = recording.Bits(
        left={2**63 + n: n for n in range(3)},
        near={7: b"12", 2**64 - 1: b""},
        texts={5: ["add.u32", "ret"], 6: ["ret"]},
        device="a device",
        driver="580.1",
    )
    recording.save(tmp_path / "file.npz", bits)
    assert recording.load(tmp_path / "file.npz") == bits


def test_lists_name_tests_that_there_are():
    for name in [*unrecorded.NEVER, *unrecorded.AWAITING]:
        file, _, test = name.partition("::")
        assert f"def {test}" in (recording.HERE / file).read_text(), name


def test_rows_without_a_recording_are_in_the_table():
    there = {(row.mnemonic, row.types) for row in table.rows()}
    assert there >= unrecorded.AWAITING_ROWS
