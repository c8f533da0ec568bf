"""Boxes of arrays that kernels copy as a whole: cupola.TensorMap."""

import gc
import re
from pathlib import Path

import numpy as np
import pytest

import cupola

ROWS, COLUMNS = 8, 32  # of a box, as in tensor_map.cu


@pytest.fixture(scope="module")
def take():
    module = cupola.compile(Path(__file__).with_name("tensor_map.cu"), arch="compute_90")
    return {np.dtype("f4"): module["take<float>"], np.dtype("i4"): module["take<int>"]}


def tensor(shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def boxed(content, row, column, fill=0):
    """The box at (row, column), with `fill` outside of the array."""
    box = np.full((ROWS, COLUMNS), fill, content.dtype)
    for r in range(ROWS):
        for c in range(COLUMNS):
            if 0 <= row + r < content.shape[0] and 0 <= column + c < content.shape[1]:
                box[r, c] = content[row + r, column + c]
    return box


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("corner", [(0, 0), (3, 16), (-2, 40), (17, -8)])
def test_a_kernel_copies_a_box_and_writes_it_back(take, dtype, corner):
    content = tensor((20, 48), dtype)
    x, out = cupola.to_device(content), cupola.zeros((ROWS, COLUMNS), dtype)
    take[np.dtype(dtype)][1, 64](cupola.TensorMap(x, (ROWS, COLUMNS)), out, *corner)
    np.testing.assert_array_equal(out.get(), boxed(content, *corner))
    row, column = corner
    changed = content.copy()
    if row >= 0 and column >= 0:
        changed[row : row + ROWS, column : column + COLUMNS] += 1
    np.testing.assert_array_equal(x.get(), changed)


def test_rows_may_be_apart_and_the_outside_may_be_nan(take):
    content = tensor((20, 64))
    x = cupola.to_device(content)[::2, :40]
    out = cupola.zeros((ROWS, COLUMNS), np.float32)
    tensor_map = cupola.TensorMap(x, (ROWS, COLUMNS), fill="nan", promotion=128)
    take[x.dtype][1, 64](tensor_map, out, 5, 24)
    np.testing.assert_array_equal(out.get(), boxed(content[::2, :40], 5, 24, np.nan))


def test_a_swizzle_permutes_16_bytes_within_rows(take):
    content = tensor((ROWS, COLUMNS))
    out = cupola.zeros((ROWS, COLUMNS), np.float32)
    map_of = cupola.TensorMap(cupola.to_device(content), (ROWS, COLUMNS), swizzle=128)
    take[content.dtype][1, 64](map_of, out, 0, 0)
    parts = content.reshape(ROWS, 8, 4)
    expected = np.stack([parts[r, np.arange(8) ^ r % 8] for r in range(ROWS)])
    np.testing.assert_array_equal(out.get().reshape(expected.shape), expected)


# Ties round to even, a carry reaches the exponent, and no rounding makes infinity a NaN. Denormals
# are rounded, not flushed.
ROUNDED = [
    (1 + 2**-12, 1), (1 + 2**-11, 1), (1 + 3 * 2**-11, 1 + 2**-9), (2 - 2**-12, 2),
    (-1 - 2**-11 - 2**-23, -1 - 2**-10), (np.inf, np.inf), (1e-40, 9 * 2**-136),
    (0.1, 0.0999755859375),
]  # fmt: skip


@pytest.mark.parametrize("case", ROUNDED, ids=lambda case: str(case[0]))
def test_elements_may_be_rounded_to_tf32(take, case):
    x = cupola.full((ROWS, COLUMNS), case[0], np.float32)
    out = cupola.zeros((ROWS, COLUMNS), np.float32)
    rounded = cupola.TensorMap(x, (ROWS, COLUMNS), elements="tfloat32_ftz")
    take[x.dtype][1, 64](rounded, out, 0, 0)
    np.testing.assert_array_equal(out.get(), np.float32(case[1]))


def test_a_map_says_what_it_is():
    x = cupola.zeros((20, 48), np.float16)
    made = cupola.TensorMap(x, (ROWS, COLUMNS), steps=(2, 1), swizzle=64)
    assert made.array is x and made.box == (ROWS, COLUMNS) and made.steps == (2, 1)
    assert (made.elements, made.swizzle, made.promotion, made.fill) == ("float16", 64, 0, "zero")
    assert made.device == x.device and len(bytes(made)) == 128
    assert "TensorMap of boxes (8, 32)" in repr(made)
    assert cupola.TensorMap(x.view(np.uint16), (8, 8), elements="bfloat16").elements == "bfloat16"


def test_memory_of_another_stream_is_not_reused_before_the_launch(take):
    first, second = cupola.Stream(), cupola.Stream()
    content = tensor((ROWS, COLUMNS))
    with first:
        x = cupola.to_device(content)
    first.synchronize()
    with second:
        out = cupola.zeros((ROWS, COLUMNS), np.float32)
        take[content.dtype][1, 64](cupola.TensorMap(x, (ROWS, COLUMNS)), out, 0, 0)
        del x  # the first stream may use its memory after the launch
        others = [cupola.full((ROWS, COLUMNS), 7, np.float32, stream=first) for _ in range(8)]
        np.testing.assert_array_equal(out.get(), content)
    first.synchronize()
    assert all((other.get() == 7).all() for other in others)


def test_a_graph_keeps_the_memory_of_a_map(take):
    content = tensor((ROWS, COLUMNS))
    out = cupola.zeros((ROWS, COLUMNS), np.float32)
    stream = cupola.Stream()
    x = cupola.to_device(content)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        take[content.dtype][1, 64](cupola.TensorMap(x, (ROWS, COLUMNS)), out, 0, 0)
    run = graph.instantiate()
    del x
    gc.collect()
    others = [cupola.full((ROWS, COLUMNS), 7.0, np.float32) for _ in range(4)]
    run.launch(stream)
    run.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), content + 1)
    assert all((other.get() == 7).all() for other in others)


X = (20, 48)
REFUSED = {
    "six axes": (lambda: cupola.TensorMap(cupola.zeros((1,) * 6), (4,) * 6), "1 to 5 axes"),
    "no axis": (lambda: cupola.TensorMap(cupola.zeros(()), ()), "1 to 5 axes, the array has 0"),
    "box of other rank": (lambda: map_of((8,)), "each of the array's 2 axes"),
    "large box": (lambda: map_of((8, 257)), "at most 256"),
    "empty box": (lambda: map_of((0, 32)), "a box has 1 to 256 elements along each axis, not 0"),
    "narrow box": (lambda: map_of((8, 3)), "rows of 12 bytes"),
    "wide for its swizzle": (lambda: map_of((8, 32), swizzle=64), "more than the swizzle's 64"),
    "swizzle": (lambda: map_of((8, 32), swizzle=16), "swizzle is 0, 32, 64 or 128 bytes"),
    "promotion": (lambda: map_of((8, 32), promotion=1), "promotion is 0, 64, 128 or 256 bytes"),
    "fill": (lambda: map_of((8, 32), fill=0), "fill is 'zero' or 'nan'"),
    "steps": (lambda: map_of((8, 32), steps=(9, 1)), "steps are 1 to 8, not 9 along axis 0"),
    "elements": (lambda: map_of((8, 32), elements="int4"), "elements is one of uint8"),
    "other elements": (lambda: map_of((8, 32), elements="bfloat16"), "has 2 bytes, the array's"),
    "NaN of integers": (
        lambda: cupola.TensorMap(cupola.zeros(X, np.int32), (8, 32), fill="nan"),
        "only elements that are floats",
    ),
    "odd rows": (
        lambda: cupola.TensorMap(cupola.zeros((20, 47), np.float32), (8, 32)),
        "neighbours along axis 0 are 188 bytes apart",
    ),
    "unaligned": (
        lambda: cupola.TensorMap(cupola.zeros((20, 48), np.float32)[:, 1:45], (8, 32)),
        "no multiple of 16",
    ),
    "transposed": (
        lambda: cupola.TensorMap(cupola.zeros(X, np.float32).T, (8, 32)), "last axis",
    ),
    "reversed": (
        lambda: cupola.TensorMap(cupola.zeros(X, np.float32)[::-1], (8, 32)), "positive strides",
    ),
    "empty": (lambda: cupola.TensorMap(cupola.zeros((0, 48), np.float32), (8, 32)), "0 elements"),
    "a host array": (lambda: cupola.TensorMap(np.zeros(X), (8, 32)), "cupola.asarray"),
    "complex numbers": (
        lambda: cupola.TensorMap(cupola.zeros(X, np.complex128), (8, 32)), "1, 2, 4 or 8 bytes",
    ),
}  # fmt: skip


def map_of(box, **options):
    return cupola.TensorMap(cupola.zeros(X, np.float32), box, **options)


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_map_describes_is_refused(case):
    make, text = REFUSED[case]
    with pytest.raises(cupola.ArgumentError, match=re.escape(text)):
        make()


def test_a_kernel_refuses_maps_for_other_parameters(take):
    kernel = take[np.dtype("f4")]
    out = cupola.zeros((ROWS, COLUMNS), np.float32)
    good = map_of((ROWS, COLUMNS))
    with pytest.raises(cupola.ArgumentTypeError, match=r"argument 1.*cupola\.TensorMap"):
        kernel[1, 64](good, good, 0, 0)
    with pytest.raises(cupola.ArgumentTypeError, match=r"argument 2.*cupola\.TensorMap"):
        kernel[1, 64](good, out, good, 0)
    freed = cupola.zeros(X, np.float32)
    stale = cupola.TensorMap(freed, (ROWS, COLUMNS))
    freed.free()
    with pytest.raises(cupola.ArgumentValueError, match="of an array that was freed"):
        kernel[1, 64](stale, out, 0, 0)
