"""Packed images: fatbins that zstd compresses, as builds of packages make them."""

import struct

import images
import numpy as np
import pytest
from command_line import cli
from working import refused

import cupola
from cupola.image import contents, fatbin, reader

CODES = ("compute_75", "sm_80", "sm_90")


@pytest.fixture(scope="module")
def plain():
    return images.fatbin(*CODES).read_bytes()


@pytest.fixture(scope="module")
def packed(plain):
    return reader.pack(plain)


def index_size(packed):
    return struct.unpack_from("<I", packed, 4)[0]


def works(module):
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    out = cupola.empty_like(x)
    module["axpy"][1, 8](2.0, x, x, out, 8)
    assert np.array_equal(out.get(), 3 * np.arange(8, dtype=np.float32))


def test_a_packed_image_loads(driver, packed, tmp_path):
    assert reader.is_packed(packed)
    works(cupola.load(packed))
    path = tmp_path / "k.fatbin"
    path.write_bytes(packed)
    module = cupola.load(path)
    works(module)
    assert module.image == packed
    assert set(module.kernels) == set(cupola.load(images.fatbin(*CODES)).kernels)


def test_it_has_the_entries_of_the_fatbin(plain, packed):
    assert reader.read_image(packed) == reader.read_image(plain)
    assert len(packed) < len(plain) / 4


def test_it_is_inspected_as_the_fatbin_is(plain, packed, tmp_path):
    for name, image in (("plain", plain), ("packed", packed)):
        (tmp_path / f"{name}.fatbin").write_bytes(image)
    found = [contents.read(tmp_path / f"{name}.fatbin") for name in ("plain", "packed")]
    assert found[0] == found[1] and len(found[0].parts) == 3
    answer = cli("inspect", "--ir", "-k", "axpy", tmp_path / "packed.fatbin")
    assert answer.returncode == 0 and "axpy" in answer.stdout, answer.stderr


def test_equal_machine_code_is_kept_once():
    """nvcc makes the same instructions for sm_86 and sm_89, and sm_86's run on both."""
    image = images.fatbin("compute_75", "sm_86", "sm_89", "sm_90").read_bytes()
    kept = [(one.kind, one.architecture) for one in reader.read_image(reader.pack(image)).entries]
    assert sorted(kept) == [("cubin", 86), ("cubin", 90), ("ptx", 75)]
    # The code for 9.0 does not run on 8.x.
    image = images.fatbin("compute_75", "sm_89", "sm_90").read_bytes()
    kept = [(one.kind, one.architecture) for one in reader.read_image(reader.pack(image)).entries]
    assert sorted(kept) == [("cubin", 89), ("cubin", 90), ("ptx", 75)]


def test_other_levels(driver, plain):
    sizes = [len(reader.pack(plain, level)) for level in (1, 19)]
    assert sizes[1] < sizes[0] < len(plain) / 3
    for level in (0, 20, -1):
        with refused(cupola.Error, saying=f"level {level}: expected 1 to 19"):
            reader.pack(plain, level)


def test_what_can_not_be_packed(driver, packed):
    cases = {
        b"": "expected a fatbin",
        images.ptx().read_bytes(): "expected a fatbin",
        packed: "expected a fatbin",
        images.fatbin(compress=True).read_bytes(): "an entry is compressed",
    }
    for image, says in cases.items():
        with refused(cupola.ImageError, saying=("the image can't be packed", says)):
            reader.pack(image)


def test_a_packed_image_is_linked(driver, packed):
    source = 'extern "C" __global__ void more(int* x) { *x = 5; }'
    module = cupola.compile(source, link=[packed])
    works(module)
    x = cupola.zeros(1, np.int32)
    module["more"][1, 1](x)
    assert x.get()[0] == 5


def test_a_truncated_image_is_refused(driver, packed):
    """Each place where it can end."""
    taken = []
    for size in [*range(1, 200), *range(200, len(packed), 97), len(packed) - 1]:
        try:
            reader.read_image(packed[:size])
            taken.append(size)
        except cupola.ImageError:
            pass
    assert taken == []
    with refused(cupola.ImageError, saying="truncated"):
        cupola.load(packed[:-5])


def test_an_image_of_another_format_is_refused(driver, packed, tmp_path):
    newer = packed.replace(b"cupola 1", b"cupola 2", 1)
    (tmp_path / "k.fatbin").write_bytes(newer)
    says = "a packed fatbin of format 2, and this version of cupola reads format 1: install a newer"
    for source in (newer, tmp_path / "k.fatbin"):
        with refused(cupola.ImageError, saying=says):
            cupola.load(source)


def test_a_damaged_image_is_refused(driver, packed):
    """zstd's checksum finds each change of the content; changes of the index don't fit it."""
    different = 0
    good = reader.read_image(packed)
    for place in [*range(40), *range(40, len(packed), 61)]:
        spoilt = bytearray(packed)
        spoilt[place] ^= 0x10
        try:
            found = reader.read_image(bytes(spoilt))
        except cupola.ImageError:
            different += 1
        else:
            # zstd ignores some bits of headers.
            assert [one.payload for one in found.entries] == [one.payload for one in good.entries]
    assert different > 0.9 * (40 + (len(packed) - 40) / 61)


def test_swapped_frames_are_refused(driver, packed):
    """An index of one image with the frames of another."""
    other = reader.pack(images.fatbin("compute_75", "sm_90", "sm_80").read_bytes())
    ends = [16 + index_size(one) - 8 for one in (packed, other)]
    swapped = packed[: ends[0]] + other[ends[1] :]
    assert packed[: ends[0]] != other[: ends[1]]
    with refused(cupola.ImageError, saying="its index does not fit its compressed bytes"):
        reader.read_image(swapped)


@pytest.mark.parametrize("size", [1 << 62, 1 << 40, 1 << 31, (1 << 30) - 1, 0])
def test_forged_sizes_are_refused(driver, packed, size):
    """Of the fatbin in the index, and of its first entry."""
    for place in (24, 32 + 8):
        spoilt = bytearray(packed)
        struct.pack_into("<Q", spoilt, place, size)
        with refused(cupola.ImageError):
            reader.read_image(bytes(spoilt))


def test_a_frame_of_zeros_is_no_bomb(driver):
    """Four bytes of zstd can mean 128 KiB of one byte: refused by the ratio of the sizes."""
    blocks = 4096
    head = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, 0x50, blocks << 17)
    block = [(1 << 17) << 3 | 2 | (one == blocks - 1) for one in range(blocks)]
    frame = head + b"".join(struct.pack("<I", each)[:3] + b"\0" for each in block)
    header = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, (blocks << 17) - 16)
    entry = bytearray(64)
    struct.pack_into("<HHIQ", entry, 0, 2, 0x101, 64, (blocks << 17) - 16 - 64)
    struct.pack_into("<I", entry, 28, 90)
    index = b"cupola 1" + header + entry
    image = struct.pack("<II", 0x184D2A50, len(index)) + index + frame
    with refused(cupola.ImageError, saying="impossible unpacked size"):
        reader.read_image(image)


def test_two_entries_for_one_device_are_refused(plain):
    """A device takes the first entry, so the second entry would be dead code."""
    head, body = plain[:16], plain[16:]
    size = struct.unpack_from("<Q", head, 8)[0]
    double = head[:8] + struct.pack("<Q", 2 * size) + body[:size] + body[:size]
    with refused(cupola.ImageError, saying=("two entries for", "one for each target")):
        reader.pack(double)


def test_a_text_alone_is_packed_and_loads():
    """The build packs the PTX of array kernels in this way."""
    text = images.ptx().read_bytes()
    packed = reader.pack(fatbin.of_ptx(text, 75))
    assert len(packed) < len(text)
    (entry,) = reader.read_fatbin(packed)
    assert (entry.kind, entry.target, entry.payload.rstrip(b"\0")) == ("ptx", "75", text)
    works(cupola.load(packed))
