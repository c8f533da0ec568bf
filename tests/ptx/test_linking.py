# ruff: noqa: E501 - PTX text and tables of it are wide
"""The texts that link, and what the result does: NVIDIA's linker accepts and refuses the same."""

import ctypes
import shutil
import subprocess
from ctypes import byref, c_size_t, c_uint, c_void_p
from pathlib import Path

import driver_abi
import numpy as np
import pytest

TOP = ".version 8.8\n.target sm_90\n.address_size 64\n"
KERNEL = ".visible .entry k(.param .u64 p) {{ .reg .b32 r, s; .reg .b64 d, e; ld.param.u64 d, [p]; mov.u32 r, 0; {0} st.global.u32 [d], r; ret; }}\n"
READ = KERNEL.format("ld.global.u32 r, [x];")
CALL = KERNEL.format("call f;")
F = ".func f() { ret; }\n"
SHARED = KERNEL.format("mov.u32 s, 7; st.shared.u32 [x], s; ld.shared.u32 r, [x];")
OTHER = ".visible .entry k2() { .reg .b32 r; ld.shared.u32 r, [x]; st.shared.u32 [x], r; ret; }"
GIVE = (
    "{{ .param {0} a; .param .b32 b; st.param.b32 [a], 5; call (b), f, (a); ld.param.b32 r, [b]; }}"
)
ADD = ".visible .func (.param {1} o) f(.param {0} a) {{ .reg .b32 r; ld.param.b32 r, [a]; add.u32 r, r, 2; st.param.b32 [o], r; ret; }}\n"


def adds(declared, defined, given=None, result=".b32"):
    return (
        f".extern .func (.param {result} o) f(.param {declared} a);\n"
        + KERNEL.format(GIVE.format(given or declared.split("[")[0])),
        ADD.format(defined, ".b32"),
    )


# Two texts and what the kernel leaves, or a part of the message where they are refused.
LINKED = {
    "a variable": (".extern .global .u32 x;" + READ, ".visible .global .u32 x = 5;", 5),
    "an open array": (".extern .global .u32 x[];" + READ, ".visible .global .u32 x[4] = {5};", 5),
    "a larger one": (".extern .global .u32 x[4];" + READ, ".visible .global .u32 x[8];", "'x' has 16 bytes here, but 32"),
    "a smaller one": (".extern .global .u32 x[8];" + READ, ".visible .global .u32 x[4];", "'x' has 32 bytes here, but 16"),
    "another type": (".extern .global .u32 x;" + READ, ".visible .global .f32 x = 0f00000005;", 5),
    "another alignment": (".extern .global .u32 x;" + READ, ".visible .global .align 8 .u32 x = 5;", 5),
    "a weak one": (".extern .global .u32 x;" + READ, ".weak .global .u32 x = 5;", 5),
    "a common one": (".extern .global .u32 x;" + READ, ".common .global .u32 x;", 0),
    "two weak ones": (".weak .global .u32 x = 1;" + READ, ".weak .global .u32 x = 2;", 1),
    "weak ones of two sizes": (".weak .global .u32 x = 1;" + READ, ".weak .global .u32 x[4];", "'x' has 16 bytes here, but 4"),
    "a weak and a strong one": (".weak .global .u32 x = 1;" + READ, ".visible .global .u32 x = 2;", 2),
    "two strong ones": (".visible .global .u32 x;" + READ, ".visible .global .u32 x;", "defined more than once"),
    "two common ones": (".common .global .u32 x;" + READ, ".common .global .u32 x;", 0),
    "a common one that is larger": (".common .global .u32 x;" + READ, ".common .global .u32 x[4];\n.visible .global .u64 y = x;", 0),
    "a common one that is smaller": (".common .global .u32 x[4];" + READ.replace("[x]", "[x+12]"), ".common .global .u32 x;", 0),
    "a common and a strong one": (".common .global .u32 x;" + READ, ".visible .global .u32 x = 3;", 3),
    "a common and a weak one": (".common .global .u32 x;" + READ, ".weak .global .u32 x;", 0),
    "two common ones with values": (".common .global .u32 x = 1;" + READ, ".common .global .u32 x = 2;", "defined more than once"),
    "another space": (".extern .global .u32 x;" + READ, ".visible .const .u32 x;", "'x' is in .global here, but in .const"),
    "constant memory": (".extern .const .u32 x[];" + READ.replace("global.u32 r", "const.u32 r"), ".visible .const .u32 x[3] = {5};", 5),
    "one of its own": (".visible .global .u32 x = 4;" + READ, ".global .u32 x = 9;", 4),
    "nowhere": (".extern .global .u32 x;" + READ, ".extern .global .u32 x;", "'x' is not defined"),
    "open shared memory": (".extern .shared .u32 x;" + SHARED, ".visible .shared .u32 x;" + OTHER, 7),
    "shared memory of one": (".extern .shared .u32 x[];" + SHARED, ".visible .shared .u32 x[4];" + OTHER, 7),
    "shared memory of each": (".shared .u32 x;" + SHARED, ".shared .u32 x;" + OTHER, 7),
    "weak shared memory": (".weak .shared .u32 x;" + SHARED, ".weak .shared .u32 x;" + OTHER, 7),
    "shared memory of both": (".visible .shared .u32 x;" + SHARED, ".visible .shared .u32 x;" + OTHER, "defined more than once"),
    "a function": (".extern .func f();" + CALL, ".visible " + F, 0),
    "a function that is declared twice": (".extern .func f();\n.extern .func f();" + CALL, ".visible " + F, 0),
    "a weak function": (".extern .func f();" + CALL, ".weak " + F, 0),
    "two weak functions": (".weak " + F + CALL, ".weak " + F, 0),
    "a weak and a strong function": (".weak " + F + CALL, ".visible " + F, 0),
    "two strong functions": (".visible " + F + CALL, ".visible " + F, "defined more than once"),
    "a function of its own": (F + CALL, ".visible " + F, 0),
    "a function that is not called": (".extern .func f(.param .b32 a);" + KERNEL.format(""), ".visible " + F, 0),
    "a function and a variable": (".extern .func f();" + CALL, ".visible .global .u32 f;", "'f' is a function here, but a variable"),
    "weak functions of two kinds": (".weak " + F + CALL, ".weak .func f(.param .b32 a) { ret; }", "'f' is declared here with other parameters"),
    "a function that does not return": (".extern .func f() .noreturn;" + KERNEL.format(""), ".visible " + F, 0),
    "a kernel of both": (".visible .entry e() { ret; }" + READ.replace("[x]", "[d]"), ".visible .entry e() { ret; }", "defined more than once"),
    "weak kernels": (".weak .entry e() { ret; }" + KERNEL.format(""), ".weak .entry e() { ret; }", 0),
    "a weak and a strong kernel": (".weak .entry e() { ret; }" + KERNEL.format(""), ".visible .entry e() { ret; }", 0),
    "a kernel's address": (".extern .entry e1();" + KERNEL.format(".reg .pred q; mov.u64 e, e1; setp.ne.u64 q, e, 0; selp.u32 r, 1, 0, q;"), ".visible .entry e1() { ret; }", 1),
    "the sign of a parameter": (*adds(".s32", ".u32"), 7),
    "another name and space of a parameter": (adds(".b32", ".b32")[0], ".visible .func (.reg .b32 r) f(.reg .b32 n) { add.u32 r, n, 2; ret; }", 7),
    "the alignment of a parameter": (adds(".align 4 .b8", ".b32")[0].replace(".b8 a", ".b8 a[8]"), ADD.format(".align 8 .b8", ".b32").replace(".b8 a", ".b8 a[8]"), 7),
    "a wider parameter": (*adds(".b32", ".b64"), "'f' is declared here with other parameters"),
    "a huge parameter": (adds(".b32", ".b32")[0], ADD.format(".b8", ".b32").replace(".b8 a", ".b8 a[32000]"), "'f' is declared here with other parameters"),
    "a real for an integer": (*adds(".b32", ".f32"), "'f' is declared here with other parameters"),
    "bytes for an integer": (adds(".b32", ".b32")[0], ADD.format(".align 4 .b8", ".b32").replace(".b8 a", ".b8 a[4]"), "'f' is declared here with other parameters"),
    "more parameters": (adds(".b32", ".b32")[0], ADD.format(".b32", ".b32").replace("b32 a)", "b32 a, .param .b32 b)"), "'f' is declared here with other parameters"),
    "another result": (adds(".b32", ".b32")[0], ".visible .func (.param .b64 r) f(.param .b32 a) { ret; }", "'f' is declared here with other parameters"),
    "no result": (adds(".b32", ".b32")[0], ".visible .func f(.param .b32 a) { ret; }", "'f' is declared here with other parameters"),
}  # fmt: skip


def link(driver, texts):
    log = ctypes.create_string_buffer(8192)
    options = (ctypes.c_int * 2)(5, 6)
    values = (c_void_p * 2)(ctypes.addressof(log), 8192)
    state, image, size = c_void_p(), c_void_p(), c_size_t()
    driver.cuLinkCreate_v2(c_uint(2), options, values, byref(state))
    try:
        for text in texts:
            data = ctypes.create_string_buffer((TOP + text + "\n").encode())
            driver.cuLinkAddData_v2(state, c_uint(1), data, c_size_t(len(data)), None, c_uint(0), None, None)  # fmt: skip
        driver.cuLinkComplete(state, byref(image), byref(size))
        return ctypes.string_at(image, size.value)
    except driver_abi.DriverError as error:
        raise driver_abi.DriverError(
            "link", error.code, log.value.decode(errors="replace")
        ) from None
    finally:
        driver.library.cuLinkDestroy(state)


NOT_ON_HARDWARE = {
    "shared memory of one": "the kernel's access there is misaligned",
    "a kernel's address": "hardware that launches no kernels from kernels gives the address 0",
}


@pytest.mark.parametrize("order", ["user first", "definition first"])
@pytest.mark.parametrize("what", LINKED)
def test_linking(what, order, driver):
    if what in NOT_ON_HARDWARE:
        driver.skip_on_hardware(NOT_ON_HARDWARE[what])
    first, second, left = LINKED[what]
    texts = [first, second] if order == "user first" else [second, first]
    if isinstance(left, str):
        with pytest.raises(driver_abi.DriverError) as error:
            link(driver, texts)
        if not driver.on_hardware and order == "user first":
            assert left in error.value.log
        return
    if what == "two weak ones" and order != "user first":
        left = 2
    out = np.full(1, 99, np.uint32)
    driver.load(link(driver, texts)).run("k", 1, 1, [out])
    assert out[0] == left


def tool(name):
    found = shutil.which(name) or f"/usr/local/cuda/bin/{name}"
    return found if Path(found).is_file() else None


@pytest.mark.skipif(not (tool("ptxas") and tool("nvlink")), reason="no ptxas and nvlink")
@pytest.mark.parametrize("what", LINKED)
def test_nvlink_takes_and_refuses_the_same(what, tmp_path):
    def tells(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode == 0, done.stderr

    for n, text in enumerate(LINKED[what][:2]):
        (tmp_path / f"{n}.ptx").write_text(TOP + text + "\n")
        done = tells(tool("ptxas"), "-arch=sm_90", "-c", f"{n}.ptx", "-o", f"{n}.cubin")
        assert done[0], done[1]
    taken, why = tells(tool("nvlink"), "-arch=sm_90", "0.cubin", "1.cubin", "-o", "o.cubin")
    assert taken == (not isinstance(LINKED[what][2], str)), why
