# ruff: noqa: E501 - PTX text is wide
"""Instructions and targets of compute capability 10.0 and newer, in processes with such devices.

Rows that compute on registers are in test_rows.py.
"""

import os

import driver_abi
import ml_dtypes
import numpy as np
import pytest

from . import device_process

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = "redux.sync.min.f32 redux.sync.max.f32 st.bulk"
NAN = 0x7FFFFFFF


def head(target):
    return f".version 9.5\n.target {target}\n.address_size 64\n"


def run(target, body, arrays, threads=32):
    """Runs a kernel, whose registers %rd0 and so on have the arrays; returns the arrays."""
    parameters = ", ".join(f".param .u64 p{n}" for n in range(len(arrays)))
    loads = " ".join(f"ld.param.u64 %rd{n}, [p{n}];" for n in range(len(arrays)))
    text = f"""{head(target)}.visible .entry k({parameters}) {{
.reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b16 %h<16>; .reg .pred %p<4>;
.shared .align 16 .b8 room[256];
{loads} {body} ret; }}"""
    device_process.driver().load(text).run("k", 1, threads, arrays)
    return arrays


def loads(text):
    """The reason why a device refuses a text; empty where the device takes it."""
    try:
        device_process.driver().load(text).unload()
    except driver_abi.DriverError as error:
        return error.log
    return ""


# Targets, and the compute capabilities that take their texts.
TAKERS = {
    "sm_90": {"9.0", "10.0", "10.3", "11.0", "12.0", "12.1"},
    "sm_90a": {"9.0"},
    "sm_100": {"10.0", "10.3", "11.0", "12.0", "12.1"},
    "sm_100a": {"10.0"},
    "sm_100f": {"10.0", "10.3"},
    "sm_103": {"10.3", "11.0", "12.0", "12.1"},
    "sm_103a": {"10.3"},
    "sm_110a": {"11.0"},
    "sm_110f": {"11.0"},
    "sm_120": {"12.0", "12.1"},
    "sm_120a": {"12.0"},
    "sm_120f": {"12.0", "12.1"},
    "sm_121a": {"12.1"},
    "sm_121f": {"12.1"},
}


@pytest.mark.parametrize("capability", ["9.0", "10.0", "10.3", "11.0", "12.0", "12.1"])
def test_devices_take_texts_of_their_targets(capability, newer_devices):
    device = newer_devices(capability)
    for target, takers in TAKERS.items():
        said = device.run(loads, head(target) + ".visible .entry k() { ret; }")
        assert (said == "") == (capability in takers), (target, said)


def test_a_lack_of_the_target_names_the_line(newer_devices):
    text = (
        head("sm_100")
        + ".visible .entry k() {\n.reg .f32 %f<2>;\nredux.sync.min.f32 %f0, %f1, -1;\nret; }\n"
    )
    said = newer_devices("10.0").run(loads, text)
    assert "line 6" in said and "redux.sync.min.f32" in said
    assert "needs target sm_100f; .target is sm_100" in said


def attributes(*numbers):
    import ctypes

    driver, found = device_process.driver(), []
    for number in numbers:
        out = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(out), ctypes.c_int(number), driver.device)
        found.append(out.value)
    return found


@pytest.mark.parametrize(
    "capability, shared, threads, blocks",
    [
        ("10.0", 228, 2048, 32),
        ("10.3", 228, 2048, 32),
        ("11.0", 228, 1536, 24),
        ("12.0", 100, 1536, 24),
        ("12.1", 100, 1536, 24),
    ],
)
def test_attributes(capability, shared, threads, blocks, newer_devices):
    """The compute capability, shared memory, threads and blocks of a multiprocessor, clusters."""
    got = newer_devices(capability).run(attributes, 75, 76, 81, 97, 39, 106, 120)
    major, minor = map(int, capability.split("."))
    assert got == [major, minor, shared << 10, (shared - 1) << 10, threads, blocks, 1]


def extremes(values, largest, nan, magnitude):
    """The result of redux.sync for the values of a warp."""
    if magnitude:
        values = np.abs(values)
    numbers = values[~np.isnan(values)]
    if len(numbers) == 0 or (nan and len(numbers) < len(values)):
        return NAN
    # -0 is less than +0: so sorts the bits' order.
    bits = numbers.view(np.int32).astype(np.int64)
    order = np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)
    at = order.argmax() if largest else order.argmin()
    return int(numbers.view(np.uint32)[at])


WARPS = {
    "numbers": np.random.default_rng(1).standard_normal(32).astype(np.float32),
    "zeros": np.array([0.0, -0.0] * 16, np.float32),
    "one nan": np.array([*range(31), np.nan], np.float32) - 9,
    "all nan": np.full(32, np.nan, np.float32),
    "infinite": np.array([np.inf, -np.inf, np.nan, 1e-40] * 8, np.float32),
}


@pytest.mark.parametrize("values", WARPS.values(), ids=WARPS)
@pytest.mark.parametrize("modifiers", ["", ".abs", ".NaN", ".abs.NaN"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_redux_of_floats(op, modifiers, values, newer_devices):
    """Lanes 0 to 15 and 16 to 31 reduce by themselves."""
    body = f"""mov.u32 %r0, %laneid; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
setp.lt.u32 %p0, %r0, 16; selp.b32 %r1, 0xffff, 0xffff0000, %p0; ld.global.f32 %f0, [%rd0];
redux.sync.{op}{modifiers}.f32 %f1, %f0, %r1; st.global.f32 [%rd1], %f1;"""
    out = newer_devices("10.0").run(run, "sm_100f", body, [values, np.zeros(32, np.uint32)])[1]
    flags = op == "max", "NaN" in modifiers, "abs" in modifiers
    expected = [extremes(half, *flags) for half in (values[:16], values[16:])]
    assert out.tolist() == [expected[0]] * 16 + [expected[1]] * 16


@pytest.mark.parametrize("place", ["", ".global"])
@pytest.mark.parametrize("kind", ["v8.b32", "v8.f32", "v4.b64", "v4.f64"])
@pytest.mark.parametrize("load", ["ld", "ld.global.nc"])
def test_accesses_of_32_bytes(load, kind, place, newer_devices):
    count, letter = int(kind[1]), {"b32": "r", "f32": "f", "b64": "rd", "f64": "g"}[kind[3:]]
    registers = ", ".join(f"%{letter}{n + 4}" for n in range(count))
    where = "" if load != "ld" else place
    body = f""".reg .f64 %g<16>; {load}{where}.{kind} {{{registers}}}, [%rd0+32];
st{place}.{kind} [%rd1+32], {{{registers}}};"""
    a = np.random.default_rng(2).integers(0, 2**32, 16, dtype=np.uint32)
    out = newer_devices("10.0").run(run, "sm_100", body, [a, np.zeros(16, np.uint32)], 1)[1]
    assert (out[:8] == 0).all() and (out[8:] == a[8:]).all()


def test_32_bytes_are_aligned_as_a_whole(newer_devices):
    body = "ld.global.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd0+16];"
    assert newer_devices("10.0").run(fault_of, body) == driver_abi.MISALIGNED_ADDRESS


def fault_of(body):
    """The error of a kernel in one thread. The context is reset afterwards."""
    try:
        run("sm_100", body, [np.zeros(64, np.uint32)], 1)
    except driver_abi.DriverError as error:
        device_process.driver().reset()
        return error.code
    return 0


@pytest.mark.parametrize("size", ["40", "%r1", "%rd3"])
@pytest.mark.parametrize("place", ["st.bulk.weak.shared::cta [%r0]", "st.bulk [%rd4]"])
def test_st_bulk(place, size, newer_devices):
    body = f"""mov.u32 %r0, room; mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 3; add.u32 %r4, %r0, %r3; mov.b64 %rd5, -1;
st.shared.b64 [%r4], %rd5; bar.sync 0; add.u32 %r0, %r0, 24; cvt.u64.u32 %rd6, %r0; cvta.shared.u64 %rd4, %rd6;
mov.u32 %r1, 40; mov.u64 %rd3, 40; setp.eq.u32 %p0, %r2, 0; @%p0 {place}, {size}, 0; bar.sync 0;
ld.shared.b64 %rd5, [%r4]; mul.wide.u32 %rd6, %r3, 1; add.u64 %rd0, %rd0, %rd6; st.global.b64 [%rd0], %rd5;"""
    out = newer_devices("10.0").run(run, "sm_100", body, [np.zeros(32, np.uint64)])[0]
    assert np.flatnonzero(out == 0).tolist() == [3, 4, 5, 6, 7]
    assert (out[[*range(3), *range(8, 32)]] == 2**64 - 1).all()


@pytest.mark.parametrize(
    "body, code",
    [
        ("mov.u32 %r0, room; st.bulk.shared::cta [%r0], 264, 0;", driver_abi.ILLEGAL_ADDRESS),
        ("mov.u32 %r0, room; st.bulk.shared::cta [%r0], 12, 0;", driver_abi.MISALIGNED_ADDRESS),
        ("st.bulk [%rd0], 8, 0;", driver_abi.ILLEGAL_ADDRESS),
        ("mov.u64 %rd3, -8; mov.u32 %r0, room; st.bulk.shared::cta [%r0], %rd3, 0;", driver_abi.MISALIGNED_ADDRESS),
    ],
)  # fmt: skip
def test_st_bulk_outside_of_shared_memory(body, code, newer_devices):
    assert newer_devices("10.0").run(fault_of, body) == code


# Formats of ml_dtypes, which rounds and saturates by itself.
FORMATS = {
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6),
    "e4m3": (ml_dtypes.float8_e4m3fn, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
}
CONVERT = """mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 8; add.u64 %rd0, %rd0, %rd2; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
.reg .b8 %c0; ld.global.v2.f32 {%f0, %f1}, [%rd0];
"""


@pytest.mark.parametrize("form", ["e2m1", "e2m3", "e3m2", "e4m3", "e5m2"])
def test_small_floats_are_those_of_ml_dtypes(form, newer_devices):
    kind, bits = FORMATS[form]
    largest = float(ml_dtypes.finfo(kind).max)
    a = np.random.default_rng(3).standard_normal(1024).astype(np.float32) * largest / 4
    a = np.clip(a, -largest, largest)
    to = "%c0" if form == "e2m1" else "%h0"
    wide = "mov.b16 %h0, {%c0, 0};" if form == "e2m1" else ""
    body = f"{CONVERT} cvt.rn.satfinite.{form}x2.f32 {to}, %f1, %f0; {wide} cvt.u32.u16 %r1, %h0; st.global.b32 [%rd1], %r1;"
    out = newer_devices("10.0").run(run, "sm_100f", body, [a, np.zeros(512, np.uint32)], 512)[1]
    apart = 4 if bits == 4 else 8
    got = np.stack([out & (1 << apart) - 1, out >> apart], 1).reshape(-1).astype(np.uint8)
    assert (got == a.astype(kind).view(np.uint8) & (1 << bits) - 1).all()


@pytest.mark.parametrize("form", ["e2m1", "e2m3", "e3m2"])
@pytest.mark.parametrize("wide", ["f16", "bf16"])
def test_each_small_float_widens_to_its_value(form, wide, newer_devices):
    kind, bits = FORMATS[form]
    codes = np.arange(1 << bits, dtype=np.uint32)
    both = np.stack([codes | codes[::-1] << (4 if bits == 4 else 8), codes], 1).reshape(-1)
    cut = "cvt.u16.u32 %h0, %r1; mov.b16 {%c0, _}, %h0;" if bits == 4 else "cvt.u16.u32 %h0, %r1;"
    source = "%c0" if bits == 4 else "%h0"
    body = f"{CONVERT} mov.b32 %r1, %f0; {cut} cvt.rn.{wide}x2.{form}x2 %r2, {source}; st.global.b32 [%rd1], %r2;"
    arrays = [both, np.zeros(1 << bits, np.uint32)]
    out = newer_devices("12.0").run(run, "sm_120f", body, arrays, 1 << bits)[1]
    real = np.float16 if wide == "f16" else ml_dtypes.bfloat16
    values = codes.astype(np.uint8).view(kind).astype(np.float32)
    low, high = ((out >> n & 0xFFFF).astype(np.uint16).view(real) for n in (0, 16))
    assert (low.astype(np.float32) == values).all()
    assert (high.astype(np.float32) == values[::-1]).all()


def test_random_bits_decide_the_rounding(newer_devices):
    """Of all random bits, the share that rounds away from zero is the fraction itself."""
    fraction = 0.25
    x = np.float32(1 + fraction / 1024)  # between two numbers of f16
    steps = np.arange(8192, dtype=np.uint32)
    body = f"""mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 32; add.u64 %rd0, %rd0, %rd2; mov.f32 %f0, 0f{x.view(np.uint32):08x};
{" ".join(f"ld.global.b32 %r1, [%rd0+{4 * n}]; cvt.rs.f16x2.f32 %r2, %f0, %f0, %r1; st.global.b32 [%rd0+{4 * n}], %r2;" for n in range(8))}"""
    out = newer_devices("10.3").run(run, "sm_103a", body, [steps], 1024)[0]
    assert ((out & 0xFFFF) == 0x3C01).mean() == fraction
    assert (out >> 16 == 0x3C00).all()
