# ruff: noqa: E501 - PTX text and tables of it are wide
"""Loads and stores in every space and width, addresses, and faults of memory."""

import ctypes
import re
import subprocess

import driver_abi
import numpy as np
import pytest

from . import driver as ptx
from .lanes import HEAD, TOP, lanes

COVERED = """
ld.b8 ld.global.b8 ld.global.nc.b8 ldu.global.b8 ldu.b8 st.b8 prefetch.L1 prefetchu.L1 prefetch.tensormap prefetch.const.tensormap
prefetch.param.tensormap
isspacep.global isspacep.const isspacep.shared isspacep.local isspacep.param cvta.global.u32
cvta.to.global.u32 mov.b16 mov.b32 mov.b64 mov.b128
"""


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", "us")
@pytest.mark.parametrize("how", ["ld.global", "ld", "ld.volatile.global", "ld.relaxed.gpu.global",
                                 "ld.acquire.sys.global", "ld.global.nc", "ldu.global",
                                 "ld.global.L1::no_allocate.L2::128B"])  # fmt: skip
def test_a_load_extends_its_value(bits, sign, how, load):
    a = np.array([i * 0x123456789ABCDEF1 % 2**bits for i in range(64)], f"u{bits // 8}")
    b = np.zeros(64, np.uint64)
    body = f"""
    mul.wide.u32 %rd2, %r0, {bits // 8}; add.u64 %rd2, %rd0, %rd2; mul.wide.u32 %rd3, %r0, 8;
    add.u64 %rd3, %rd1, %rd3; prefetch.global.L1 [%rd2]; prefetchu.L1 [%rd2];
    {how}.{sign}{bits} %rd4, [%rd2]; st.global.u64 [%rd3], %rd4;"""
    lanes(load, body, a, b)
    expected = a.view(f"i{bits // 8}").astype(np.int64) if sign == "s" else a
    assert (b == expected.astype(np.uint64)).all()


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("how", ["st.global", "st", "st.volatile.global", "st.release.gpu.global",
                                 "st.relaxed.cta.global", "st.global.cs"])  # fmt: skip
def test_a_store_truncates_its_value(bits, how, load):
    a = np.arange(64, dtype=np.uint64) * np.uint64(0x123456789ABCDE1)
    b = np.zeros(64, f"u{bits // 8}")
    body = f"""
    mul.wide.u32 %rd2, %r0, 8; add.u64 %rd2, %rd0, %rd2; mul.wide.u32 %rd3, %r0, {bits // 8};
    add.u64 %rd3, %rd1, %rd3; ld.global.u64 %rd4, [%rd2]; {how}.u{bits} [%rd3], %rd4;"""
    assert (lanes(load, body, a, b) == a.astype(b.dtype)).all()


@pytest.mark.parametrize("mask", ["%r0, 100", "%r0, 20"])
def test_vectors_and_strides(mask, load):
    a = np.arange(256, dtype=np.uint32)
    b = np.zeros(256, np.uint32)
    body = f"""
    mul.wide.u32 %rd2, %r0, 16; sub.u32 %r1, 63, %r0; mul.wide.u32 %rd3, %r1, 16;
    add.u64 %rd2, %rd0, %rd2; add.u64 %rd3, %rd1, %rd3; setp.lt.u32 %p0, {mask};
    @%p0 ld.global.v4.u32 {{%r2, %r3, _, %r5}}, [%rd2]; @!%p0 mov.u32 %r2, 7;
    @%p0 st.global.v2.u32 [%rd3+8], {{%r5, %r3}}; @%p0 st.global.u32 [%rd3], %r2;"""
    lanes(load, body, a, b)
    count = 64 if "100" in mask else 20
    expected = np.zeros((64, 4), np.uint32)
    expected[:count] = a.reshape(64, 4)[:count][:, [0, 0, 3, 1]]
    expected[:count, 1] = 0
    assert (b.reshape(64, 4)[::-1] == expected).all()


def test_b128_and_packing(load):
    a = np.arange(128, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    b = np.zeros(128, np.uint64)
    body = """
    mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd1, %rd2; add.u64 %rd2, %rd0, %rd2;
    ld.global.b128 %q0, [%rd2]; mov.b128 %q1, %q0; mov.b128 {%rd4, %rd5}, %q1;
    mov.b64 {%r1, %r2}, %rd4; mov.b64 %rd4, {%r2, %r1};
    mov.b32 {%h0, %h1}, %r1; mov.b32 %r1, {%h1, %h0}; mov.b64 {%h0, %h1, %h2, %h3}, %rd5;
    mov.b64 %rd5, {%h3, %h2, %h1, %h0}; mov.b128 %q2, {%rd5, %rd4}; st.global.b128 [%rd3], %q2;"""
    lanes(load, body, a, b)
    pairs = a.reshape(64, 2)
    swapped = (pairs[:, 0] >> np.uint64(32)) | (pairs[:, 0] << np.uint64(32))
    reversed_ = np.ascontiguousarray(pairs[:, 1]).view(np.uint16).reshape(64, 4)[:, ::-1]
    expected = np.stack([np.ascontiguousarray(reversed_).view(np.uint64)[:, 0], swapped], 1)
    assert (b.reshape(64, 2) == expected).all()


# By the bare name of a variable, without its space.
BARE = """
.global .align 8 .b32 gv[4]; .const .align 8 .b32 cv[4] = {1, 2, 3, 4}; .shared .align 8 .b32 sv[64];
.extern .shared .align 8 .b8 open[]; .shared .align 8 .b64 met;
"""
BARELY = {  # forms that NVIDIA's assembler takes
    variable: [f"ld.u32 %r1, [{variable}];", f"ld.volatile.u32 %r1, [{variable}+4];", f"st.v2.u32 [{variable}+8], {{%r1, %r2}};",
               f"red.add.u32 [{variable}], 1;", f"prefetch.L1 [{variable}];", f"ld.{space}.u32 %r1, [{variable}];", f"cvta.{space}.u64 %rd2, {variable};"]
    for variable, space in {"gv": "global", "sv": "shared", "open": "shared", "lv": "local"}.items()
}  # fmt: skip
BARELY["atomics"] = ["atom.add.u32 %r1, [sv], 1;", "atom.add.u32 %r1, [open], 1;", "atom.add.u32 %r1, [gv], 1;", "mbarrier.init.b64 [met], 1;"]  # fmt: skip
NOT_SO = [f"{how}.u32 %r1, [cv];" for how in ("ld", "ld.volatile", "ld.global", "ld.local")]
NOT_SO += ["st.u32 [cv], %r1;", "red.add.u32 [cv], 1;", "prefetch.L1 [cv];", "mbarrier.init.b64 [gv], 1;", "ld.const.u32 %r1, [gv];"]  # fmt: skip
NOT_SO += [f"cvta.{space}.u64 %rd2, {variable};" for variable, own in (("gv", "global"), ("sv", "shared"), ("cv", "const"), ("lv", "local"))
           for space in ("global", "shared", "const", "local") if space != own]  # fmt: skip
NOT_SO += ["cvta.to.global.u64 %rd2, gv;", "cvta.to.shared.u64 %rd2, sv;"]
OWN = ".local .align 8 .b32 lv[4];\n"


@pytest.mark.parametrize("where", BARELY)
def test_names_without_a_space_are_taken(where, driver, load):
    driver.skip_on_hardware("NVIDIA's driver ends the process; its assembler takes them, as below")
    load(TOP + BARE + HEAD + OWN + "\n".join(BARELY[where]) + "ret; }\n")


@pytest.mark.parametrize("statement", NOT_SO)
def test_names_of_other_spaces_are_refused(statement, driver):
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(TOP + BARE + HEAD + OWN + statement + "\nret; }\n")
    assert error.value.code == driver_abi.INVALID_PTX


def test_ptxas_takes_the_same_names(tmp_path, ptxas):
    body = [s for each in BARELY.values() for s in each] + NOT_SO
    (tmp_path / "k.ptx").write_text(TOP + BARE + HEAD + OWN + "\n".join(body) + "\nret; }\n")
    command = [ptxas, "-arch=sm_90", "-O0", "k.ptx", "-o", "k.cubin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    first = (TOP + BARE + HEAD + OWN).count("\n") + 1
    wrong = {int(line) - first for line in re.findall(r"line (\d+); error", done.stderr)}
    assert [s for n, s in enumerate(body) if n in wrong] == NOT_SO


def test_names_without_a_space(load):
    a, b = np.zeros(64, np.uint32), np.zeros((64, 4), np.uint32)
    body = """
    .local .align 8 .b32 lv[4]; setp.eq.u32 %p0, %r0, 0; @%p0 st.u32 [gv+4], 7; @%p0 st.v2.u32 [sv+8], {9, 1000};
    st.u32 [lv+4], %r0; @%p0 st.u32 [open+8], 5; bar.sync 0; red.add.u32 [sv+8], 1;
    atom.add.u32 %r5, [open+8], 2; bar.sync 0;
    ld.u32 %r1, [gv+4]; ld.v2.u32 {%r2, %r3}, [sv+8]; add.u32 %r2, %r2, %r3; ld.u32 %r3, [lv+4]; ld.u32 %r4, [open+8];
    mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd1, %rd2; st.global.v4.u32 [%rd2], {%r1, %r2, %r3, %r4};"""
    lanes(load, body, a, b, shared=16, before=BARE)
    assert (b == [[7, 9 + 64 + 1000, i, 5 + 128] for i in range(64)]).all()


def test_spaces_and_generic_addresses(load):
    before = """
    .const .align 4 .b32 table[4] = {10, 20, 30, 40};
    .global .align 4 .b32 values[2] = {5, 6};
    .global .align 8 .u64 where[2] = {generic(values)+4, generic(values)};
    .shared .align 4 .b32 fixed[64];
    .extern .shared .align 16 .b8 open[];
    """
    body = """
    .local .align 8 .b8 frame[16];
    and.b32 %r1, %r0, 3; shl.b32 %r1, %r1, 2; cvt.u64.u32 %rd2, %r1; mov.u64 %rd3, table;
    add.u64 %rd2, %rd2, %rd3; ld.const.u32 %r2, [%rd2]; cvta.const.u64 %rd4, %rd2; ld.u32 %r3, [%rd4];
    isspacep.const %p0, %rd4; selp.u32 %r4, 1, 0, %p0;
    mov.u32 %r5, fixed; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r0;
    mov.u32 %r7, open; add.u32 %r7, %r7, %r6; add.u32 %r8, %r0, 1000; st.shared.u32 [%r7], %r8;
    cvt.u64.u32 %rd5, %r7; cvta.shared.u64 %rd6, %rd5; isspacep.shared %p1, %rd6;
    selp.u32 %r9, 2, 0, %p1; or.b32 %r4, %r4, %r9; ld.u32 %r10, [%rd6];
    cvta.to.shared.u64 %rd7, %rd6; ld.shared.u32 %r11, [%rd7];
    mov.u64 %rd8, frame; st.local.u32 [%rd8+4], %r0; cvta.local.u64 %rd9, %rd8; ld.u32 %r12, [%rd9+4];
    isspacep.local %p2, %rd9; selp.u32 %r9, 4, 0, %p2; or.b32 %r4, %r4, %r9;
    isspacep.global %p3, %rd0; selp.u32 %r9, 8, 0, %p3; or.b32 %r4, %r4, %r9;
    isspacep.local %p2, %rd6; selp.u32 %r9, 16, 0, %p2; or.b32 %r4, %r4, %r9;
    ld.global.u64 %rd10, [where]; ld.global.u32 %r13, [%rd10]; ld.global.u64 %rd10, [where+8];
    cvta.global.u64 %rd11, %rd10; cvta.to.global.u64 %rd10, %rd11; ld.global.u32 %r14, [%rd10];
    mul.wide.u32 %rd12, %r0, 32; add.u64 %rd12, %rd1, %rd12;
    st.global.v4.u32 [%rd12], {%r2, %r3, %r10, %r11}; st.global.v4.u32 [%rd12+16], {%r12, %r4, %r13, %r14};"""
    b = np.zeros((64, 8), np.uint32)
    lanes(load, body, np.zeros(1), b, shared=256, before=before)
    i = np.arange(64)
    t = (i % 4 + 1) * 10
    assert (b[:, :6] == np.stack([t, t, i + 1000, i + 1000, i, 0 * i + 15], 1)).all()
    # `where` holds addresses that .global variables have.
    assert (b[:, 6:] == [6, 5]).all()


EIGHT = """.visible .entry k(.param .u64 pa, .param .u64 pb) {
.reg .b64 %rd<10>; .reg .b32 %r<8>; .reg .b16 %h<8>; .local .align 32 .b8 own[64]; .shared .align 32 .b8 room[64];
ld.param.u64 %rd0, [pa]; ld.param.u64 %rd9, [pb]; """


@pytest.mark.parametrize("place", ["", ".global", ".shared", ".local"])
@pytest.mark.parametrize("kind", ["u8", "s8", "u16", "s16"])
def test_vectors_of_eight_elements(kind, place, load, driver):
    """The address's register is one of the destinations."""
    driver.skip_on_hardware("of newer devices; NVIDIA's driver ends the process at 8 and 16 bits")
    bits, at, through = int(kind[1:]), 0, ""
    if place in (".shared", ".local"):
        at, name = 32, "room" if place == ".shared" else "own"
        regs = ", ".join(f"%h{k}" for k in range(8))
        through = f"ld.global.v8.{kind} {{{regs}}}, [%rd0]; st{place}.v8.{kind} [{name}+32], {{{regs}}}; mov.u64 %rd0, {name};"
    body = f"ld{place}.v8.{kind} {{{', '.join(f'%rd{k}' for k in range(8))}}}, [%rd0+{at}]; "
    body += "".join(f"st.global.u64 [%rd9+{8 * k}], %rd{k};" for k in range(8))
    a = np.random.default_rng(8).integers(0, 2**bits, 8).astype(f"u{bits // 8}")
    b = np.zeros(8, np.uint64)
    load(EIGHT + through + body + " ret; }").run("k", 1, 1, [a, b])
    expected = a.view(f"i{bits // 8}").astype(np.int64) if kind[0] == "s" else a
    assert (b == expected.astype(np.uint64)).all()


@pytest.mark.parametrize("bits", [8, 16])
def test_vectors_of_eight_are_aligned_as_a_whole(bits, driver):
    driver.skip_on_hardware("of newer devices")
    body = f"mov.u64 %rd0, room; ld.shared.v8.b{bits} {{%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}}, [%rd0+{bits // 2}]; st.global.u16 [%rd9], %h7;"
    head = ".version 8.6\n.target sm_90\n.address_size 64\n"
    done = ptx.in_child(
        head + EIGHT + body + " ret; }", "module.run('k', 1, 1, [np.zeros(1), np.zeros(1)])"
    )
    assert f"code {driver_abi.MISALIGNED_ADDRESS}" in done.stdout, done.stderr


WIDER = {  # instruction, register: what it holds after a load, or what is stored of it
    "ld.global.f32 %rd2": 0x3FC00000, "ld.global.b32 %d0": 0x3FC00000, "ld.global.b16 %f0": 0x8000,
    "ldu.global.f32 %rd2": 0x3FC00000, "ld.global.v2.f32 {%rd3, %rd2}": 0xFFFFFFFF,
}  # fmt: skip


@pytest.mark.parametrize("load_of", WIDER)
def test_registers_of_other_types_may_be_wider(load_of, load, driver):
    """A load extends with zeros; a store writes the low bits, as the manual says.

    An H200's assembler converts 64 bits to a float before it stores one.
    """
    a = np.array([0x3FC00000 if "b16" not in load_of else 0x12348000, 0xFFFFFFFF], np.uint32)
    b = np.full(2, 2**64 - 1, np.uint64)
    register = load_of.split()[-1].strip("}")
    bits = "b32" if register == "%f0" else "b64"
    body = f".reg .f64 %d<2>; {load_of}, [%rd0]; st.global.{bits} [%rd1], {register};"
    body += (
        "not.b64 %rd4, 0; st.global.f32 [%rd1+8], %rd4; st.global.v2.f32 [%rd1+8], {%rd4, %rd4};"
    )
    lanes(load, body, a, b, block=1)
    driver.seen.settle(b[:1])
    assert b[0] == WIDER[load_of] + (2**64 - 2**32 if bits == "b32" else 0)
    assert driver.on_hardware or b[1] == 2**64 - 1


@pytest.mark.parametrize(
    "form, taken, given",
    [
        ("cvt.f32.f16 %r2, %rd2", 0xFFFFFFFFFFFF3E00, 0x3FC00000),
        ("cvt.rn.f16.f32 %rd3, %r2", 0x3FC00000, 0x3E00),
        ("cvt.rm.f32.f64 %rd3, %rd2", 0x3FF8000000000000, 0x3FC00000),
        ("cvt.f64.f32 %rd3, %rd2", 0xFFFFFFFF3FC00000, 0x3FF8000000000000),
        ("cvt.rni.s32.f16 %r2, %rd2", 0xFFFFFFFFFFFF4200, 3),
        ("cvt.rn.f16.s32 %r2, %r2", 3, 0x4200),
    ],
)
def test_conversions_of_registers_that_are_wider(form, taken, given, load):
    a, b = np.array([taken], np.uint64), np.zeros(1, np.uint64)
    kept = "cvt.u64.u32 %rd3, %r2;" if form.split()[1] == "%r2," else ""
    body = f"ld.global.u64 %rd2, [%rd0]; cvt.u32.u64 %r2, %rd2; {form}; {kept} st.global.u64 [%rd1], %rd3;"
    assert lanes(load, body, a, b, block=1)[0] == given


@pytest.mark.parametrize(("body", "code"), [
    ("mov.u64 %rd2, 64; ld.global.u32 %r1, [%rd2]; st.global.u32 [%rd1], %r1;", driver_abi.ILLEGAL_ADDRESS),
    ("mov.u64 %rd2, 0; st.global.u32 [%rd2], %r0;", driver_abi.ILLEGAL_ADDRESS),
    ("add.u64 %rd2, %rd1, 2; st.global.u32 [%rd2], %r0;", driver_abi.MISALIGNED_ADDRESS),
    ("mov.u64 %rd2, 0x7fffffff000; atom.global.add.u32 %r1, [%rd2], 1;", driver_abi.ILLEGAL_ADDRESS),
    ("mov.u64 %rd2, 72; mov.u32 %r2, 0x100000; st.shared.u32 [%r2], %r0;", driver_abi.ILLEGAL_ADDRESS),
    ("trap;", driver_abi.LAUNCH_FAILED),
])  # fmt: skip
def test_a_wrong_address_is_a_fault(body, code, driver):
    if "shared" in body:
        driver.skip_on_hardware("the code for a bad shared address depends on the device")
    text = ".version 8.6\n.target sm_90\n.address_size 64\n" + HEAD + body + "ret; }\n"
    done = ptx.in_child(text, "module.run('k', 1, 32, [np.zeros(4), np.zeros(4)])")
    assert done.stdout == f"code {code}\n", done.stderr


def test_a_store_to_constant_memory_is_a_fault(driver, load):
    driver.skip_on_hardware("constant memory has no generic address that is written on hardware")
    module = load(".const .align 4 .b32 c[2] = {1, 2};\n" + HEAD
                  + "mov.u64 %rd2, c; cvta.const.u64 %rd2, %rd2; ld.u32 %r1, [%rd2];\n"
                    "st.global.u32 [%rd1], %r1; ret; }\n")  # fmt: skip
    b = np.zeros(1, np.uint32)
    module.run("k", 1, 1, [np.zeros(1), b])
    assert b[0] == 1


def test_initialisers(load):
    module = load("""
    .global .align 1 .b8 text[6] = {104, 101, 108, 108, 111};
    .global .align 4 .f32 numbers[3] = {0f3F800000, 0f3F000000, 0fC0000000};
    .global .align 8 .f64 real = 0d4009000000000000;
    .global .align 4 .u32 grid[2][2] = {{1, 2}, {3, 4}};
    .global .align 2 .s16 small[2] = {-1, 7};
    """ + HEAD + "ret; }\n")  # fmt: skip

    def read(name, dtype, count):
        at, size = ctypes.c_uint64(), ctypes.c_size_t()
        module.driver.cuModuleGetGlobal_v2(
            ctypes.byref(at), ctypes.byref(size), module.handle, name
        )
        out = np.zeros(count, dtype)
        assert size.value == out.nbytes
        module.driver.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), at, size)
        return list(out)

    assert bytes(read(b"text", np.uint8, 6)) == b"hello\0"
    assert read(b"numbers", np.float32, 3) == [1, 0.5, -2]
    assert read(b"real", np.float64, 1) == [3.125]
    assert read(b"grid", np.uint32, 4) == [1, 2, 3, 4]
    assert read(b"small", np.int16, 2) == [-1, 7]
