# tests/build/test_cubin.py - the readers of fatbins and cubins, on good bytes and on bad ones.
import random
import struct

import pytest

from cupola.exceptions import ImageError
from cupola.image import cubin


def test_kernels_of_a_cubin(built):
    kernels = {k.name: k for k in cubin.read_cubin((built / "kernels.cubin").read_bytes())}
    many = kernels["many"]
    assert [(p.offset, p.size) for p in many.parameters] == [
        (0, 8), (8, 1), (9, 1), (10, 2), (16, 8), (24, 8), (32, 8), (40, 4), (48, 16), (64, 1),
        (72, 8),
    ]  # fmt: skip
    assert kernels["empty"].parameters == []
    assert kernels["shared"].shared == 1024
    assert 0 < many.registers < 256
    assert len(kernels) == 5


def test_entries_of_a_fatbin(built):
    entries = cubin.read_fatbin((built / "kernels.fatbin").read_bytes())
    assert sorted((entry.kind, entry.architecture) for entry in entries) == [
        ("cubin", 75),
        ("cubin", 90),
        ("cubin", 120),
        ("ptx", 75),
    ]
    ptx = next(entry.payload for entry in entries if entry.kind == "ptx")
    assert b".version" in ptx and b".entry many(" in ptx and not ptx.endswith(b"\0")
    for entry in entries:
        if entry.kind == "cubin":
            assert {k.name for k in cubin.read_cubin(entry.payload)} >= {"many", "shared", "empty"}


def test_a_compressed_fatbin_is_refused(built):
    data = bytearray((built / "kernels.fatbin").read_bytes())
    flags = struct.unpack_from("<Q", data, 16 + 40)[0]
    struct.pack_into("<Q", data, 16 + 40, flags | 0x8000)
    with pytest.raises(ImageError, match="compressed"):
        cubin.read_fatbin(bytes(data))


def survive(reader, data):
    try:
        reader(bytes(data))
    except ImageError as error:
        assert str(error)
        return False
    return True


def test_truncated_bytes_are_errors(built):
    fatbin = (built / "kernels.fatbin").read_bytes()
    code = (built / "kernels.cubin").read_bytes()
    for size in [*range(80), *range(80, len(fatbin), 997)]:
        assert not survive(cubin.read_fatbin, fatbin[:size])
    for size in [*range(80), *range(80, len(code) - 3000, 97)]:
        assert not survive(cubin.read_cubin, code[:size])


def test_damaged_and_random_bytes_never_do_worse_than_an_error(built):
    chance = random.Random(7)
    originals = [(built / name).read_bytes() for name in ("kernels.fatbin", "kernels.cubin")]
    outcomes = set()
    for round_ in range(1500):
        reader, original = (
            (cubin.read_fatbin, originals[0]) if round_ % 2 else (cubin.read_cubin, originals[1])
        )
        data = bytearray(original)
        limit = len(data) if round_ % 3 else 4096
        for _ in range(chance.choice((1, 2, 8, 64))):
            data[chance.randrange(limit)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 65))
        outcomes.add(survive(reader, data))
        assert not survive(reader, chance.randbytes(chance.randrange(300)))
    assert outcomes == {True, False}


def test_foreign_elf_files_are_refused():
    with pytest.raises(ImageError, match="another machine"):
        cubin.read_cubin(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(80))
