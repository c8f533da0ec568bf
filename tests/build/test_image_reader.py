# tests/build/test_image_reader.py - the readers of fatbins and cubins, on good and on bad bytes.
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cupola.exceptions import ImageError
from cupola.image import reader

ROOT = Path(__file__).resolve().parents[2]


def test_kernels_of_a_cubin(built):
    kernels = {k.name: k for k in reader.read_kernels((built / "kernels.cubin").read_bytes())}
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
    entries = reader.read_fatbin((built / "kernels.fatbin").read_bytes())
    assert sorted((entry.kind, entry.architecture) for entry in entries) == [
        ("cubin", 75),
        ("cubin", 80),
        ("cubin", 90),
        ("ptx", 75),
    ]
    ptx = next(entry.payload for entry in entries if entry.kind == "ptx")
    assert b".version" in ptx and b".entry many(" in ptx and not ptx.endswith(b"\0")
    for entry in entries:
        if entry.kind == "cubin":
            assert {k.name for k in reader.read_kernels(entry.payload)} >= {
                "many",
                "shared",
                "empty",
            }


def entry(payload, kind=1, packed=0, flags=0, unpacked=0):
    """An entry of a fatbin, and the fatbin around it."""
    padded = payload + bytes(-len(payload) % 8)
    head = struct.pack("<HHIQIIIIQQQQ", kind, 0x101, 64, len(padded), packed, 0, 0, 75, 0,
                       flags, 0, unpacked)  # fmt: skip
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(head + padded)) + head + padded


def test_damaged_compressed_entries_are_errors(built):
    data = bytearray((built / "kernels.fatbin").read_bytes())
    flags = struct.unpack_from("<Q", data, 16 + 40)[0]
    struct.pack_into("<Q", data, 16 + 40, flags | 0x8000)
    with pytest.raises(ImageError):
        reader.read_fatbin(bytes(data))


def lz4(text):
    """A block of literals, a match that overlaps itself, and literals."""
    return (
        bytes([0x1F]) + text[:1] + bytes([1, 0, len(text) - 1 - 5 - 15 - 4]) + b"\x50" + text[-5:]
    )


def test_blocks_of_lz4_are_decompressed():
    text = b"a" * 100 + b"bcdef"

    def unpacked(block, size):
        (one,) = reader.read_fatbin(entry(block, packed=len(block), flags=0x2000, unpacked=size))
        assert (one.kind, one.architecture) == ("ptx", 75)
        return one.payload

    block = lz4(text)
    assert unpacked(block, len(text)) == text
    for size in (0, 1, len(text) - 1, len(text) + 1, 1 << 40):
        with pytest.raises(ImageError):
            unpacked(block, size)
    for end in range(1, len(block)):
        with pytest.raises(ImageError):
            unpacked(block[:end], len(text))


def test_code_that_only_nvidias_tools_read_is_listed_and_not_shipped():
    data = entry(b"\x42\x43", kind=4)
    assert [one.kind for one in reader.read_image(data).entries] == ["kind 4"]
    with pytest.raises(ImageError, match="code of kind 4"):
        reader.read_fatbin(data)


def test_lto_ir_is_passed_on_as_it_is():
    code = b"\xedCN\x7f and what only NVIDIA's tools read.."
    data = entry(code, kind=8)
    for image in (data, reader.pack(data)):
        (one,) = reader.read_fatbin(image)
        assert (one.kind, one.architecture) == ("ltoir", 75)
        assert one.payload == code


def test_what_a_build_ships_is_a_fatbin(built):
    with pytest.raises(ImageError, match="expected a fatbin, got a cubin"):
        reader.read_fatbin((built / "kernels.cubin").read_bytes())


def test_kernels_of_ptx_are_those_of_the_code(built):
    """Comments and strings contain no kernels."""
    entries = reader.read_fatbin((built / "kernels.fatbin").read_bytes())
    text = next(entry.payload for entry in entries if entry.kind == "ptx")
    text += b'// .entry one()\n/* .entry two() */\n.file 9 "a//.entry three()"\n'
    code = next(entry.payload for entry in entries if entry.kind == "cubin")
    layouts = [
        {
            one.name: [(p.offset, p.size) for p in one.parameters]
            for one in reader.read_kernels(data)
        }
        for data in (text, code)
    ]
    assert layouts[0] == layouts[1] and len(layouts[0]) == 5
    kinds = {one.name: [p.kinds for p in one.parameters] for one in reader.read_kernels(text)}
    assert kinds["many"][8] == reader.STRUCT and kinds["many"][1] == reader.INTEGER
    assert all(kind & reader.POINTER for kind in (kinds["many"][0], kinds["many"][4]))


def test_a_list_of_parameters_that_cannot_be_read_is_unknown():
    head = b".version 9.0\n.target sm_90\n"
    (kernel,) = reader.read_kernels(head + b".entry k(.param .align x .b8 y[4]) {}")
    assert (kernel.name, kernel.parameters) == ("k", None)
    assert reader.read_image(head).entries[0].version == "9.0"
    assert reader.read_image(b".version 9.0\n").entries[0].version == ""


def test_heads_without_an_end_cost_linear_time():
    count = 30_000
    text = b".version 9.0\n.target sm_90\n" + b".entry k(.param .b8 x[4] " * count
    began = time.process_time()
    kernels = reader.read_kernels(text)
    assert len(kernels) == count and not any(one.parameters for one in kernels)
    assert time.process_time() - began < 20  # a reader that reads to the end each time is quadratic


def survive(read, data):
    try:
        read(bytes(data))
    except ImageError as error:
        assert str(error)
        return False
    return True


def test_truncated_bytes_are_errors(built):
    fatbin = (built / "kernels.fatbin").read_bytes()
    code = (built / "kernels.cubin").read_bytes()
    for size in [*range(80), *range(80, len(fatbin), 997)]:
        assert not survive(reader.read_fatbin, fatbin[:size])
    for size in [*range(80), *range(80, len(code) - 3000, 97)]:
        assert not survive(reader.read_kernels, code[:size])


def test_damaged_and_random_bytes_never_do_worse_than_an_error(built):
    chance = random.Random(7)
    originals = [(built / name).read_bytes() for name in ("kernels.fatbin", "kernels.cubin")]
    outcomes = set()
    for round_ in range(1500):
        read, original = (
            (reader.read_fatbin, originals[0])
            if round_ % 2
            else (reader.read_kernels, originals[1])
        )
        data = bytearray(original)
        limit = len(data) if round_ % 3 else 4096
        for _ in range(chance.choice((1, 2, 8, 64))):
            data[chance.randrange(limit)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 65))
        outcomes.add(survive(read, data))
        assert not survive(read, chance.randbytes(chance.randrange(300)))
    assert outcomes == {True, False}


def test_foreign_elf_files_are_refused():
    with pytest.raises(ImageError, match="not code for a CUDA device"):
        reader.read_kernels(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(80))


def test_a_library_without_an_image_has_no_entries():
    image = reader.read_image(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(80))
    assert (image.kind, image.entries, image.fatbins, image.texts) == ("library", [], 0, 0)


ALONE = """
import pathlib, sys
from cupola.image import reader
if sys.argv[2:]:
    reader.use(sys.argv[2])
entries = reader.read_fatbin(pathlib.Path(sys.argv[1]).read_bytes())
print([(one.kind, one.architecture, len(one.payload)) for one in entries])
print([reader.read_kernels(one.payload) for one in entries if one.kind == "cubin"])
maps = pathlib.Path("/proc/self/maps").read_text()
assert "libcuda.so" not in maps and "libcupola_cpu" not in maps, maps
assert ("libcupola_readers.so" in maps) is bool(sys.argv[2:]), maps
"""


def test_the_readers_of_cupolas_own_build_give_the_same(built):
    """Neither library loads a driver to read an image."""
    readers = ROOT / "build/native/build-machine/lib/libcupola_readers.so"
    answers = [
        subprocess.run(
            [sys.executable, "-c", ALONE, built / "kernels.fatbin", *library],
            capture_output=True,
            text=True,
        )
        for library in ([], [readers])
    ]
    assert [one.returncode for one in answers] == [0, 0], answers
    assert answers[0].stdout == answers[1].stdout and "many" in answers[0].stdout


def test_machine_code_of_cuda_12():
    """ABI version 7: the suffix is a flag, and no section names the reserved shared memory.

    ptxas of CUDA 12.4 made the file for sm_90a. Its kernel has 256 integers in shared memory.
    """
    data = Path(__file__).with_name("ptxas_12_4.cubin").read_bytes()
    (entry,) = reader.read_image(data).entries
    assert (entry.kind, entry.target) == ("cubin", "90a")
    (kernel,) = reader.read_kernels(data)
    assert kernel.shared == 1024
