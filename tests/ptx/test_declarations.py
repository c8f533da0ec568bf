# ruff: noqa: E501 - PTX text and tables of it are wide
"""Declarations that could make a kernel read or write outside of what it has are refused at load."""

import numpy as np
import pytest

from . import driver as ptx

TOP = ".version 8.0\n.target sm_75\n.address_size 64\n"
KERNEL = ".visible .entry k(.param .u64 p) { .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>; .local .align 16 .b8 lo[64];\n"
F = ".func f() { ret; }\n"


def refused(text):
    with pytest.raises(ptx.DriverError) as error:
        ptx.Driver().load(TOP + text)
    assert error.value.code == ptx.INVALID_PTX
    return error.value.log


# What is declared, what is defined, and what the message says of it.
DIFFERENT = {
    "size": (".param .b32 a", ".param .b8 a[32000]", "parameter 1 is .param .b8[32000] here, and .param .b32 there"),
    "width": (".param .b32 a", ".param .b64 a", "parameter 1 is .param .b64 here, and .param .b32 there"),
    "sign": (".param .s32 a", ".param .u32 a", "parameter 1 is .param .u32 here, and .param .s32 there"),
    "array": (".param .b32 a", ".param .align 4 .b8 a[4]", "parameter 1 is .param .align 4 .b8[4] here"),
    "alignment": (".param .align 4 .b8 a[8]", ".param .align 8 .b8 a[8]", ".param .align 4 .b8[8] there"),
    "elements": (".param .align 4 .b8 a[8]", ".param .align 4 .b32 a[2]", "parameter 1 is .param .b32[2] here"),
    "the second": (".param .b32 a, .param .b32 b", ".param .b32 a, .param .b16 b", "parameter 2 is .param .b16 here"),
    "count": (".param .b32 a", ".param .b32 a, .param .b32 b", "2 parameters here, and 1 there"),
}  # fmt: skip


# A function has one result in memory.
CASES = [(w, k) for w in DIFFERENT for k in ("function", "result", "kernel")
         if k != "result" or w not in ("count", "the second")]  # fmt: skip


@pytest.mark.parametrize(("what", "kind"), CASES)
def test_a_definition_differs_from_its_declaration(what, kind, driver):
    declared, defined, message = DIFFERENT[what]
    form = {"function": ".func f({});", "result": ".func ({}) f();", "kernel": ".entry f({});"}[
        kind
    ]
    text = form.format(declared) + "\n" + form.format(defined).replace(";", " { ret; }\n")
    log = refused(text + KERNEL + "ret; }\n")
    if not driver.on_hardware:
        assert message.replace("parameter ", "result " if kind == "result" else "parameter ") in log
        assert "differs from its declaration on line 4" in log


def test_a_call_checked_against_a_declaration_of_another_size(driver):
    """The copy of the argument was as long as the caller's variable: 32,000 bytes into 4."""
    text = ".func f(.param .b8 a[32000]);\n" + KERNEL
    text += "{ .param .b8 x[32000]; call f, (x); } ret; }\n.func f(.param .b32 a) { ret; }\n"
    log = refused(text)
    assert driver.on_hardware or ".param .b32 here, and .param .b8[32000] there" in log


def test_names_of_parameters_may_differ(load):
    text = TOP + ".func (.param .b32 r) f(.param .b32 a);\n" + KERNEL
    text += "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;"
    text += "call (y), f, (x); ld.param.b32 %r2, [y]; } st.global.u32 [%d1], %r2; ret; }\n"
    text += ".func (.param .b32 s) f(.param .b32 b) { .reg .b32 %r<3>; ld.param.b32 %r1, [b]; add.u32 %r1, %r1, 7; st.param.b32 [s], %r1; ret; }\n"
    out = np.zeros(32, np.uint32)
    load(text).run("k", 1, 32, [out])
    assert list(out) == [n + 7 for n in range(32)]


@pytest.mark.parametrize(("declaration", "message"), [
    (".global .u64 t[][0] = {f, f};", "rows of no elements"),
    (".global .u64 t[][2][0] = {f, f};", "rows of no elements"),
    (".global .v2 .u64 t[][0] = {1, 2};", "rows of no elements"),
    (".global .u64 t[2][0] = {f, f};", "more values than 't' holds"),
    (".global .u64 t[1] = {f, f};", "more values than 't' holds"),
])  # fmt: skip
def test_initialisers_that_their_variable_does_not_hold(declaration, message, driver):
    log = refused(F + declaration + "\n" + KERNEL + "ret; }\n")
    assert driver.on_hardware or message in log


@pytest.mark.parametrize(("body", "message"), [
    ("brx.idx %r1, L; L:", "the name of a .branchtargets list is wanted"),
    ("T: .branchtargets L; L: bra T;", "a label is wanted"),
    ("bra T; T: .branchtargets L; L:", "unknown name 'T'"),
    ("bra f;", "a label is wanted"),
])  # fmt: skip
def test_branches_to_what_is_no_target(body, message, driver):
    log = refused(F + KERNEL + body + " ret; }\n")
    assert driver.on_hardware or message in log


@pytest.mark.parametrize("body", [
    "ld.global.u32 %r1, " + "[" * 60_000 + ";",
    "ld.global.u32 %r1, [{%d1}];",
    "mov.b64 %d1, " + "{" * 60_000,
    "tex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%d1, " + "[" * 60_000,
    ".global .u32 x[2] = " + "{" * 60_000 + ";",
    "{" * 60_000,
])  # fmt: skip
def test_deep_nesting_is_refused(body, driver):
    """Each bracket was a call of the parser's: the process died of its stack."""
    if driver.on_hardware and len(body) > 1000:
        pytest.skip("NVIDIA's compiler has no bound either")
    refused(KERNEL + body + " ret; }\n")


def test_volatile_accesses_of_local_memory(driver, load):
    """As compilers emit them, though the manual has them in no form and ptxas refuses them."""
    if driver.on_hardware:
        pytest.skip("ptxas takes .volatile in memory of several threads alone")
    body = "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; st.volatile.local.u32 [lo+8], %r1; st.volatile.local.v2.u32 [lo+16], {%r1, 5};"
    body += "ld.volatile.local.u32 %r2, [lo+8]; ld.volatile.local.v2.u32 {%r3, %r4}, [lo+16]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;"
    body += "mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r2; ret; }\n"
    out = np.zeros(32, np.uint32)
    load(TOP + KERNEL + body).run("k", 1, 32, [out])
    assert list(out) == [2 * n + 5 for n in range(32)]
    for order in ("relaxed.gpu", "acquire.gpu"):
        refused(KERNEL + f"ld.{order}.local.u32 %r1, [lo]; ret; }}\n")
