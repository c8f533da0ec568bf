"""`ldmatrix` and `stmatrix` of elements of 8, 6 and 4 bits, against the manual's figures."""

import ctypes
import os

import driver_abi
import numpy as np
import pytest

from . import device_process, matrix
from .test_matrix import ROWS

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = """
ldmatrix.sync.aligned.m16n16.x1.trans.b8
ldmatrix.sync.aligned.m16n16.x1.trans.b8x16.b6x16_p32
ldmatrix.sync.aligned.m8n16.x1.b8x16.b6x16_p32
stmatrix.sync.aligned.m16n8.x1.trans.b8
"""
DEVICES = {"10.0": "sm_100f", "11.0": "sm_110f", "12.1": "sm_120f"}
ELEMENTS = {"b8": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4}
SPACES = [".shared", ".shared::cta", ""]
LANE = np.arange(32)
GROUP, THREAD = LANE // 4, LANE % 4


def run(target, body, after, arrays):
    text = matrix.header("9.5", target) + ROWS.format(body=body, after=after)
    device_process.driver().load(text).run("k", 1, 32, arrays)
    return arrays[-1]


def listed(count):
    return "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"


def elements_of(rows, bits):
    """Sixteen elements of each row of 16 bytes. Padding follows elements of less than 8 bits."""
    ones = np.unpackbits(rows, axis=1, bitorder="little")[:, : 16 * bits].reshape(-1, 16, bits)
    return (ones << np.arange(bits, dtype=np.uint8)).sum(2).astype(np.uint8)


def memory_and_offsets(seed):
    rng = np.random.default_rng(seed)
    offsets = (rng.permutation(128)[:32] * 16).astype(np.uint32)
    return rng.integers(0, 256, 4096, np.uint8), offsets


@pytest.mark.parametrize("capability", DEVICES)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("count", [1, 2])
def test_transposed_loads(count, element, capability, newer_devices):
    """A lane has four columns of row `group` of the transpose, then those of the row 8 below."""
    memory, offsets = memory_and_offsets(count)
    space = SPACES[list(DEVICES).index(capability)]
    address = "[%i+64]" if space else "[%g+64]"
    opcode = f"ldmatrix.sync.aligned.m16n16.x{count}.trans{space}.{element}"
    body = f"{opcode} {listed(2 * count)}, {address};"
    after = "\n".join(f"st.global.b32 [%c+{128 * i}], %v{i};" for i in range(2 * count))
    arrays = [memory.view(np.uint32), offsets, np.zeros((2 * count, 32), np.uint32)]
    out = newer_devices(capability).run(run, DEVICES[capability], body, after, arrays)
    rows = np.stack([memory[o + 64 :][:16] for o in offsets[: 16 * count]])
    turned = elements_of(rows, ELEMENTS[element]).reshape(count, 16, 16).swapaxes(1, 2)
    wanted = [
        turned[j, GROUP + 8 * q, 4 * THREAD + n]
        for j in range(count) for q in range(2) for n in range(4)
    ]  # fmt: skip
    got = out.view(np.uint8).reshape(2 * count, 32, 4).swapaxes(1, 2).reshape(-1, 32)
    assert (got == np.array(wanted)).all()


@pytest.mark.parametrize("capability", DEVICES)
@pytest.mark.parametrize("element", list(ELEMENTS)[1:])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_loads(count, element, capability, newer_devices):
    memory, offsets = memory_and_offsets(10 + count)
    space = SPACES[list(DEVICES).index(capability)]
    address = "[%i+64]" if space else "[%g+64]"
    body = f"ldmatrix.sync.aligned.m8n16.x{count}{space}.{element} {listed(count)}, {address};"
    after = "\n".join(f"st.global.b32 [%c+{128 * i}], %v{i};" for i in range(count))
    arrays = [memory.view(np.uint32), offsets, np.zeros((count, 32), np.uint32)]
    out = newer_devices(capability).run(run, DEVICES[capability], body, after, arrays)
    rows = np.stack([memory[o + 64 :][:16] for o in offsets[: 8 * count]])
    wanted = elements_of(rows, ELEMENTS[element]).reshape(count, 8, 4, 4)
    got = out.view(np.uint8).reshape(count, 32, 4)
    assert (got == wanted.reshape(count, 32, 4)).all()


BACK = """mov.u32 %i, %t;
BACK: mad.lo.u32 %v1, %i, 4, %s; ld.shared.b32 %v0, [%v1]; st.global.b32 [%c], %v0;
add.u64 %c, %c, 128; add.u32 %i, %i, 32; setp.lt.u32 %p, %i, 1024; @%p bra BACK;"""


@pytest.mark.parametrize("capability", DEVICES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stores(count, capability, newer_devices):
    """A lane has two columns of row `group`, then those of the row eight below, as of a product."""
    memory, offsets = memory_and_offsets(20 + count)
    space = SPACES[list(DEVICES).index(capability)]
    address = "[%i+64]" if space else "[%g+64]"
    body = "\n".join(f"mad.lo.u32 %v{i}, %t, 0x04040404, {0x3020100 + i * 0x20202020};"
                     for i in range(count))  # fmt: skip
    body += f"\nstmatrix.sync.aligned.m16n8.x{count}.trans{space}.b8 {address}, {listed(count)};"
    arrays = [memory.view(np.uint32), offsets, np.zeros(1024, np.uint32)]
    out = newer_devices(capability).run(run, DEVICES[capability], body, BACK, arrays)
    held = LANE[None, :, None] * 4 + np.arange(4) + 32 * np.arange(count)[:, None, None]
    wanted = memory.copy()
    for j in range(count):
        stored = np.zeros((16, 8), np.uint8)
        for n in range(4):
            stored[GROUP + 8 * (n // 2), 2 * THREAD + n % 2] = held[j, :, n]
        for column, offset in enumerate(offsets[8 * j :][:8]):
            wanted[offset + 64 :][:16] = stored[:, column]
    assert (out.view(np.uint8) == wanted).all()


def fault_of(body):
    """The error of a kernel. The context is reset afterwards."""
    zero = np.zeros(1024, np.uint32)
    try:
        run("sm_100f", body, "", [zero, zero[:32].copy(), zero.copy()])
    except driver_abi.DriverError as error:
        device_process.driver().reset()
        return error.code
    return 0


LOAD = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64 {%v0, %v1}, [%s];"
STORE = "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%s], {%v0};"
MOVED = "setp.eq.u32 %p, %t, {}; @%p add.u32 %s, %s, {}; "  # the address of one lane


@pytest.mark.parametrize(
    "body, code",
    [
        (MOVED.format(15, 8) + LOAD, driver_abi.MISALIGNED_ADDRESS),
        (MOVED.format(15, 0x100000) + LOAD, driver_abi.ILLEGAL_ADDRESS),
        (MOVED.format(16, 0x100000) + LOAD, 0),
        (MOVED.format(7, 8) + STORE, driver_abi.MISALIGNED_ADDRESS),
        (MOVED.format(8, 8) + STORE, 0),
    ],
)  # fmt: skip
def test_addresses_of_the_rows_are_checked(body, code, newer_devices):
    assert newer_devices("10.0").run(fault_of, body) == code


PADDED = """
.visible .entry k(.param .u64 p) {{ .shared .align 16 .b8 s[512];
.reg .b32 %t, %s, %v<4>; .reg .b64 %d;
mov.u32 %t, %laneid; mov.u32 %s, s; mad.lo.u32 %s, %t, 16, %s; ld.param.u64 %d, [p];
{stores} bar.warp.sync 0xffffffff;
ldmatrix.sync.aligned.m8n16.x4.shared.{element} {{%v0, %v1, %v2, %v3}}, [%s];
st.global.v4.b32 [%d], {{%v0, %v1, %v2, %v3}}; ret; }}
"""


def findings_of(element, words):
    """The findings of a load whose rows have some words that were stored."""
    driver = device_process.driver()
    count = driver.library.cupola_cpu_findings
    count.restype = ctypes.c_ulonglong
    before = count()
    stores = " ".join(f"st.shared.b32 [%s+{4 * n}], %t;" for n in range(words))
    text = matrix.header("9.5", "sm_120f") + PADDED.format(stores=stores, element=element)
    driver.load(text).run("k", 1, 32, [np.zeros(4, np.uint32)])
    return count() - before


@pytest.mark.parametrize("element, words", [("b8x16.b6x16_p32", 3), ("b8x16.b4x16_p64", 2)])
def test_padding_may_be_uninitialised(element, words, monkeypatch):
    """Copies of tensors leave the padding as it is."""
    monkeypatch.setenv("CUPOLA_CPU_CHECK", "init")
    process = device_process.DeviceProcess("12.0")
    try:
        assert process.run(findings_of, element, words) == 0
        assert process.run(findings_of, element, words - 1) == 1
    finally:
        process.pool.shutdown()
