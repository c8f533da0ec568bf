# ruff: noqa: E501 - PTX text is wide
"""tcgen05.ld.red: each lane's minimum or maximum of the columns that it loads."""

import os
from itertools import product

import numpy as np
import pytest

from . import tensor_memory
from .tensor_memory import COLUMNS, LANES, registers, text, within

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 tcgen05.ld.red.sync.aligned.16x32bx2.x2.min.f32
tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 tcgen05.ld.red.sync.aligned.16x32bx2.x2.min.u32"""
SPLIT = 64
CASES = [
    (shape, count, name, kind)
    for (shape, count), name, kind in product(
        [("32x32b", 2), ("16x32bx2", 8), ("32x32b", 128)], ("min", "max"), ("u32", "s32", "f32", "abs.f32", "NaN.f32", "abs.NaN.f32")
    )
    if count < 128 or kind in ("s32", "abs.NaN.f32")
]  # fmt: skip
SPECIAL = np.array(
    [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 1, 0x80000001], np.uint32
)


def kernel(shape, count, name, kind):
    """%d0: for each thread the registers and the reduced value; %d1: the cells."""
    half = f", {SPLIT}" if shape == "16x32bx2" else ""
    body = f"mul.wide.u32 %d9, %r0, {4 * COLUMNS}; add.u64 %d8, %d1, %d9;"
    for c in range(0, 136, 8):
        body += "".join(f"ld.global.u32 %r{300 + n}, [%d8+{4 * (c + n)}];" for n in range(8))
        body += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r4+{c}], {registers(300, 8)};"
    body += f"""tcgen05.wait::st.sync.aligned; tcgen05.ld.red.sync.aligned.{shape}.x{count}.{name}.{kind} {registers(20, count)}, %r10, [%r4+2]{half};
tcgen05.wait::ld.sync.aligned; add.u64 %d8, %d0, %d9; st.global.u32 [%d8], %r10;"""
    body += "".join(f"st.global.u32 [%d8+{4 + 4 * n}], %r{20 + n};" for n in range(count))
    return text(within(body), 2, "sm_103a")


def reduced(values, name, kind):
    """Along the last axis, by the rules of min and max in PTX."""
    if not kind.endswith("f32"):
        typed = values.view(np.int32 if kind == "s32" else np.uint32)
        return (typed.min(-1) if name == "min" else typed.max(-1)).view(np.uint32)
    bits = values & 0x7FFFFFFF if "abs" in kind else values
    nan = np.isnan(bits.view(np.float32))
    # Ordered as floats, with -0 below +0.
    signed = bits.astype(np.int64)
    keys = np.where(bits >> 31 != 0, -(signed & 0x7FFFFFFF) - 1, signed)
    worst = 1 << 40
    keys = np.where(nan, worst if name == "min" else -worst, keys)
    at = keys.argmin(-1) if name == "min" else keys.argmax(-1)
    found = np.take_along_axis(bits, at[..., None], -1)[..., 0]
    no_number = nan.any(-1) if "NaN" in kind else nan.all(-1)
    return np.where(no_number, np.uint32(0x7FFFFFFF), found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reductions(case, newer_devices):
    shape, count, name, kind = case
    generator = np.random.default_rng(8)
    cells = generator.integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    cells[::3] = generator.choice(SPECIAL, cells[::3].shape)
    cells[5] = 0x7FC00000
    arrays = [np.zeros(cells.size, np.uint32), cells.reshape(-1)]
    got = (
        newer_devices("10.3").run(tensor_memory.run, kernel(*case), arrays)[0].reshape(cells.shape)
    )
    thread = np.arange(LANES)
    lanes = thread if shape == "32x32b" else thread // 32 * 32 + thread % 16
    first = 2 + (SPLIT * (thread % 32 >= 16) if shape == "16x32bx2" else 0 * thread)
    loaded = cells[lanes[:, None], first[:, None] + np.arange(count)]
    assert (got[:, 1 : 1 + count] == loaded).all()
    assert (got[:, 0] == reduced(loaded, name, kind)).all()
