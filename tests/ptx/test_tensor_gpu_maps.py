"""Tensor maps in the layout of a GPU: they mean what the driver's maps mean.

tensor_maps.json has maps that NVIDIA's driver wrote for an H200. Bits that only a device of compute
capability 10.0 has are those that version 4.8 of the CuTe DSL writes.
"""

import ctypes
import json
import pathlib

import driver_abi
import numpy as np
import pytest

from . import test_tensor
from .gpu_tensor_map import NEWER, words
from .test_tensor import Map, kernel
from .test_tensor_changes import CHANGES, changed_tile

RECORDED = json.loads(pathlib.Path(__file__).with_name("tensor_maps.json").read_text())
ON_HARDWARE = "a GPU takes the maps of its own compute capability"


def test_the_layout_is_that_of_the_driver():
    for row in RECORDED:
        row = dict(row)
        expected = [int(word, 16) for word in row.pop("words")]
        assert words(row.pop("type"), **row)[:8].tolist() == expected, row
    assert {row["type"] for row in RECORDED} == set(range(13))
    assert {row["swizzle"] for row in RECORDED} == set(range(4))


def map_of(a, address, box, swizzle=0, fill=0, steps=(1,) * 5, newer=0):
    return words(
        test_tensor.TYPES[a.dtype.str[1:]], address, a.shape[::-1],
        a.strides[-2::-1], box, steps, swizzle, fill=fill, newer=newer,
    )  # fmt: skip


@pytest.mark.parametrize("newer", [0, NEWER], ids=["9.0", "10.0"])
@pytest.mark.parametrize(
    "case", test_tensor.CASES, ids=lambda c: f"{c[1]}-{'x'.join(map(str, c[0]))}-{len(c[4])}"
)
def test_tiles_are_those_of_the_drivers_map(case, newer, load, driver, memory):
    driver.skip_on_hardware(ON_HARDWARE)
    shape, kind, box, corners, more = case
    a = np.random.default_rng(1).integers(1, 100, shape).astype(kind)
    steps = more.get("steps", (1,) * 5)
    size = a.itemsize * int(
        np.prod([-(-b // s) if n else b for n, (b, s) in enumerate(zip(box, steps, strict=False))])
    )
    address, _ = memory(a)
    code, expected = test_tensor.encoded(driver, address, a, box, **more)
    assert code == 0
    loads = load(kernel(a.ndim, size, stores=False))
    for corner in corners:
        outs = []
        for tensor in (expected, map_of(a, address, box, newer=newer, **more).tobytes()):
            out = np.full(size, 0xA5, np.uint8)
            where = np.array([*corner, 0], np.int32)
            loads.run("k", 1, 64, [Map.from_buffer_copy(tensor), where, out])
            outs.append(out)
        assert (outs[0] == outs[1]).all()
        assert outs[1].any() or corner in [(100,), (0, 30)]  # outside of the tensor


@pytest.mark.parametrize("which", CHANGES)
def test_changed_maps(which, load, driver, memory):
    """tensormap.replace changes maps of a GPU, too."""
    driver.skip_on_hardware(ON_HARDWARE)
    out, expected = changed_tile(
        which, load, memory, lambda address, a: map_of(a, address, (8, 4), newer=NEWER).tobytes()
    )
    assert (out == expected).all()


def test_the_driver_changes_the_address(load, driver, memory):
    driver.skip_on_hardware(ON_HARDWARE)
    a = np.arange(8 * 16, dtype=np.uint32).reshape(8, 16)
    held = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(held) + 63) // 64 * 64
    ctypes.memmove(at, map_of(a, 4096, (16, 8)).tobytes(), 128)
    driver.cuTensorMapReplaceAddress(ctypes.c_void_p(at), ctypes.c_void_p(memory(a)[0]))
    out = np.zeros(a.nbytes, np.uint8)
    tensor = Map.from_buffer_copy(ctypes.string_at(at, 128))
    load(kernel(2, a.nbytes, stores=False)).run("k", 1, 64, [tensor, np.zeros(3, np.int32), out])
    assert (out.view(np.uint32) == a.ravel()).all()


def test_what_is_nearly_a_map_is_an_error(load, driver):
    driver.skip_on_hardware("a fault there is the end of the process's context")
    a = np.zeros((8, 16), np.uint32)
    good = map_of(a, 4096, (16, 8))
    # Columns, a reserved bit, a type that does not exist, no address, interleaving, another rank.
    for word, bits in [(1, 1), (1, 1 << 25), (1, 14 << 7), (0, 4096), (1, 1 << 11), (1, 3 << 4)]:
        wrong = good.copy()
        wrong[word] ^= np.uint64(bits)
        with pytest.raises(driver_abi.DriverError) as error:
            arrays = [np.zeros(3, np.int32), np.zeros(a.nbytes, np.uint8)]
            load(kernel(2, a.nbytes)).run("k", 1, 64, [Map.from_buffer_copy(wrong), *arrays])
        driver.reset()
        assert error.value.code == 715, (word, bits)
