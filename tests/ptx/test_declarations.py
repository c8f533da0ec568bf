# ruff: noqa: E501 - PTX text and tables of it are wide
"""Declarations that could make a kernel read or write outside of what it has are refused at load;
others, which compilers seldom write and ptxas takes, mean what ptxas makes of them.
"""

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

TOP = ".version 8.0\n.target sm_75\n.address_size 64\n"
KERNEL = ".visible .entry k(.param .u64 p) { .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p<2>; .local .align 16 .b8 lo[64];\n"
F = ".func f() { ret; }\n"


def refused(text):
    with pytest.raises(driver_abi.DriverError) as error:
        ptx.Driver().load(TOP + text)
    assert error.value.code == driver_abi.INVALID_PTX
    return error.value.log


# A declaration, a definition, and the message about their difference.
DIFFERENT = {
    "size": (".param .b32 a", ".param .b8 a[32000]", "parameter 1 is .param .b8[32000] here, .param .b32 there"),
    "width": (".param .b32 a", ".param .b64 a", "parameter 1 is .param .b64 here, .param .b32 there"),
    "sign": (".param .s32 a", ".param .u32 a", "parameter 1 is .param .u32 here, .param .s32 there"),
    "array": (".param .b32 a", ".param .align 4 .b8 a[4]", "parameter 1 is .param .align 4 .b8[4] here"),
    "alignment": (".param .align 4 .b8 a[8]", ".param .align 8 .b8 a[8]", ".param .align 4 .b8[8] there"),
    "elements": (".param .align 4 .b8 a[8]", ".param .align 4 .b32 a[2]", "parameter 1 is .param .b32[2] here"),
    "the second": (".param .b32 a, .param .b32 b", ".param .b32 a, .param .b16 b", "parameter 2 is .param .b16 here"),
    "count": (".param .b32 a", ".param .b32 a, .param .b32 b", "2 parameters here, 1 there"),
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
    assert driver.on_hardware or ".param .b32 here, .param .b8[32000] there" in log


def test_names_of_parameters_may_differ(load):
    text = TOP + ".func (.param .b32 r) f(.param .b32 a);\n" + KERNEL
    text += "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;"
    text += "call (y), f, (x); ld.param.b32 %r2, [y]; } st.global.u32 [%d1], %r2; ret; }\n"
    text += ".func (.param .b32 s) f(.param .b32 b) { .reg .b32 %r<3>; ld.param.b32 %r1, [b]; add.u32 %r1, %r1, 7; st.param.b32 [s], %r1; ret; }\n"
    out = np.zeros(32, np.uint32)
    load(text).run("k", 1, 32, [out])
    assert list(out) == [n + 7 for n in range(32)]


@pytest.mark.parametrize(("declaration", "message"), [
    (".global .u64 t[][0] = {f, f};", "has a dimension of size 0"),
    (".global .u64 t[][2][0] = {f, f};", "has a dimension of size 0"),
    (".global .v2 .u64 t[][0] = {1, 2};", "has a dimension of size 0"),
    (".global .u64 t[2][0] = {f, f};", "has a dimension of size 0"),
    (".global .u64 t[1] = {f, f};", "too many values for 't'"),
])  # fmt: skip
def test_initialisers_that_their_variable_does_not_hold(declaration, message, driver):
    log = refused(F + declaration + "\n" + KERNEL + "ret; }\n")
    assert driver.on_hardware or message in log


@pytest.mark.parametrize(("body", "message"), [
    ("brx.idx %r1, L; L:", "expected the name of a .branchtargets list"),
    ("T: .branchtargets L; L: bra T;", "expected a label"),
    ("bra T; T: .branchtargets L; L:", "unknown name 'T'"),
    ("bra f;", "expected a label"),
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


# Values of a global array, and the 32-bit words it holds: ptxas packs what short rows name.
ROWS = {
    "u32 x[2][3] = {{1}, {2, 3}}": [1, 2, 3, 0, 0, 0],
    "u32 x[3][2] = {{1}, {3}}": [1, 3, 0, 0, 0, 0],
    "u32 x[][3] = {{1}, {2, 3}}": [1, 2, 3, 0, 0, 0],
    "u32 x[2][2][2] = {{{1}, {2}}, {{3}}}": [1, 2, 3, 0, 0, 0, 0, 0],
    "u32 x[2][2] = {{}, {1}}": [1, 0, 0, 0],
    "u32 x[3] = {}": [0, 0, 0],
    "u32 x[0] = {7, 8}": [7, 8],
    "v2 .u32 x[2] = {{1, 2}}": [1, 2, 0, 0],
    "u8 x[][4] = {{1}, {2}}": [0x201, 0],
    "u32 x[1][1][1][1][1][1][1][1][1][2] = {{{{{{{{{{5, 6}}}}}}}}}}": [5, 6],
}


@pytest.mark.parametrize("declaration", ROWS)
def test_short_rows(declaration, load):
    words = ROWS[declaration]
    body = "ld.param.u64 %d1, [p];"
    for n in range(len(words)):
        body += f"ld.global.u32 %r1, [x+{4 * n}]; st.global.u32 [%d1+{4 * n}], %r1;"
    out = np.zeros(len(words), np.uint32)
    text = TOP + f".visible .global .align 4 .{declaration};\n" + KERNEL + body + " ret; }\n"
    load(text).run("k", 1, 1, [out])
    assert list(out) == words


@pytest.mark.parametrize(("declaration", "message"), [
    ("u32 x[2][3] = {{1, 2, 3, 4}};", "too many values for 'x'"),
    ("u32 x[2][3] = {{1}, {2}, {3}};", "too many values for 'x'"),
    ("u32 x[2][2] = {1, 2, 3, 4};", "expected '{'"),
    ("v4 .u32 x = {1, 2, 3};", "expected 4 values in a vector of 'x', got 3"),
    ("u32 x = {1};", "expected a variable"),
    ("u32 x[] = {};", "expected a variable"),
    ("f32 x = 1;", "expected a floating-point constant in 'x'"),
    ("u32 x<2> = 1;", "or have an initialiser"),
    ("u32 x<2>[2];", "cannot be arrays"),
    ("u32 x<65537>;", "more than 65536 variables by number"),
    ("u32 x<40000>, y<40000>;", "more than 65536 variables by number"),
    ("u32 x<4>; .global .u32 x3;", "'x3' is declared twice"),
    ("align 32768 .u32 x;", "is not a power of two up to 16384"),
    ("u32 x[" + "][".join("1" * 65) + "];", "more than 64 dimensions"),
])  # fmt: skip
def test_declarations_that_are_refused(declaration, message, driver):
    if driver.on_hardware and (
        "<40000>" in declaration
        or "65537" in declaration
        or "1][" in declaration
        or "32768" in declaration
    ):
        pytest.skip("ptxas has no such bound")
    log = refused(f".global .{declaration}\n" + KERNEL + "ret; }\n")
    assert driver.on_hardware or message in log


def run(load, before, body, words=4):
    out = np.zeros((32, words), np.uint32)
    start = f"ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, {4 * words}; add.u64 %d1, %d1, %d2;"
    load(TOP + before + "\n" + KERNEL + start + body + " ret; }\n").run("k", 1, 32, [out])
    return out


LANE = np.arange(32, dtype=np.uint32)


def test_variables_by_number(load):
    """Each is a variable of its own, in every space."""
    out = run(
        load,
        ".visible .global .u32 x<3>, one = 5; .const .u32 c<2>; .shared .u32 s<2>;",
        """.local .u32 l<3>; .shared .align 8 .u32 own<2>, after[32]; .reg .b64 %a<4>;
        { .param .u32 q<2>; st.param.u32 [q1], 1; }
        st.global.u32 [x0], 1; st.global.u32 [x2], 30; st.local.u32 [l0], %r1; st.local.u32 [l2], 7;
        st.shared.u32 [s1], 11; st.shared.u32 [own1], 13; bar.sync 0;
        ld.global.u32 %r2, [x2]; ld.global.u32 %r3, [one]; add.u32 %r2, %r2, %r3; ld.const.u32 %r3, [c1]; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;
        ld.local.u32 %r2, [l0]; ld.local.u32 %r3, [l2]; add.u32 %r2, %r2, %r3; st.global.u32 [%d1+4], %r2;
        ld.shared.u32 %r2, [s1]; ld.shared.u32 %r3, [own1]; st.global.v2.u32 [%d1+8], {%r2, %r3};""",
    )
    assert (out == np.stack([np.full(32, 35), LANE + 7, np.full(32, 11), np.full(32, 13)], 1)).all()


@pytest.mark.parametrize("align", [8192, 16384])
def test_wide_alignments(align, driver, load):
    """Of the generic address in every space."""
    driver.skip_on_hardware(
        "an H100 aligns global memory to 256 bytes and shared memory to 1024 at most"
    )
    body = f".local .align {align} .b8 low[4];"
    for n, (space, name) in enumerate((("global", "g"), ("shared", "s"), ("local", "low"))):
        body += f"mov.u64 %d3, {name}; cvta.{space}.u64 %d3, %d3; and.b64 %d3, %d3, {align - 1}; cvt.u32.u64 %r2, %d3; st.global.u32 [%d1+{4 * n}], %r2;"
    body += "st.shared.u8 [pad], 1; st.local.u32 [low], %r1; ld.local.u32 %r2, [low]; st.global.u32 [%d1+12], %r2;"
    before = f".global .b8 first; .global .align {align} .b8 g; .shared .b8 pad; .shared .align {align} .b8 s;"
    assert (run(load, before, body) == np.stack([0 * LANE, 0 * LANE, 0 * LANE, LANE], 1)).all()


def test_an_address_and_a_constant_as_a_source(load):
    """As if the sum were moved into a register before."""
    out = run(
        load,
        ".global .align 16 .u32 g[4]; .shared .align 16 .b8 pad[32]; .shared .align 16 .u32 s[4];",
        """st.shared.u8 [pad], 0; mov.u64 %d2, g; mov.u64 %d3, 100; add.u64 %d3, %d3, g+8; sub.u64 %d3, %d3, %d2; cvt.u32.u64 %r2, %d3; st.global.u32 [%d1], %r2;
        sub.s64 %d3, g+12, %d2; cvt.u32.u64 %r2, %d3; st.global.u32 [%d1+4], %r2;
        mov.u32 %r3, s; add.u32 %r2, %r1, s+4; sub.u32 %r2, %r2, %r3; st.global.u32 [%d1+8], %r2;
        setp.eq.u64 %p1, %d2, g+0; selp.u32 %r2, 1, 0, %p1; st.global.u32 [%d1+12], %r2;""",
    )
    assert (out == np.stack([0 * LANE + 108, 0 * LANE + 12, LANE + 4, 0 * LANE + 1], 1)).all()


def test_elements_of_arrays(load):
    """An index counts scalars; one in a register is multiplied in 32 bits."""
    out = run(
        load,
        ".global .u32 g[64]; .global .v2 .u32 v[2] = {{1, 2}, {3, 4}}; .shared .u16 s[40];",
        """.reg .u16 %h<3>; .local .u32 l[4]; add.u32 %r2, %r1, 100; st.global.u32 g[%r1+8], %r2; bar.sync 0; ld.global.u32 %r3, g[%r1+8]; st.global.u32 [%d1], %r3;
        ld.global.v2.u32 {%r2, %r3}, v[2]; st.global.u32 [%d1+4], %r3;
        cvt.u16.u32 %h1, %r1; st.shared.u16 s[%h1], %h1; mov.u32 %r2, s[%r1]; ld.shared.u16 %h2, [%r2]; cvt.u32.u16 %r2, %h2; st.local.u32 l[3], 5; ld.local.u32 %r3, l[3]; add.u32 %r2, %r2, %r3; st.global.u32 [%d1+8], %r2;
        mov.u64 %d2, g[3]; mov.u64 %d3, g; sub.u64 %d2, %d2, %d3; cvt.u64.u32 %d3, %r1; add.u64 %d3, %d3, 0x4000000000; mov.u64 %d3, g[%d3]; sub.u64 %d3, %d3, g+0; add.u64 %d2, %d2, %d3; cvt.u32.u64 %r2, %d2; st.global.u32 [%d1+12], %r2;""",
    )
    assert (out == np.stack([LANE + 100, 0 * LANE + 4, LANE + 5, 12 + 4 * LANE], 1)).all()


@pytest.mark.parametrize("access", [
    "ld.global.u32 %r1, s[%r2];", "st.global.u32 s[%r2 + 1], %r1;", "ld.shared.u32 %r1, g[%r2];",
    "ld.global.u32 %r1, c[%r2];", "ld.global.u32 %r1, lo[%r2];", "ld.const.u32 %r1, g[%r2];",
    "ld.shared::cluster.u32 %r1, g[%r2];", "ld.global.u32 %r1, s[1];",
])  # fmt: skip
def test_elements_of_another_space_are_refused(access, driver):
    """The shared offset was taken for an address in global memory."""
    held = ".global .u32 g[4]; .const .u32 c[4]; .shared .u32 s[4];\n"
    log = refused(held + KERNEL + access + " ret; }\n")
    assert driver.on_hardware or "is not in the state space of the instruction" in log


def test_elements_by_register_in_each_space(load):
    """The spaces by the instruction's own name, and shared memory by that of a cluster."""
    out = run(
        load,
        ".global .u32 g[32]; .const .u32 c[2] = {5, 6}; .shared .u32 s[32];",
        """.local .u32 l[4]; mov.u32 %r5, 1; st.shared.u32 s[%r1], %r1; ld.shared::cta.u32 %r2, s[%r1]; st.global.u32 [%d1], %r2;
        ld.const.u32 %r2, c[%r5]; st.global.u32 [%d1+4], %r2; st.local.u32 l[%r5], %r1; ld.local.u32 %r2, l[%r5]; st.global.u32 [%d1+8], %r2;
        st.global.u32 g[%r1], %r1; ld.u32 %r2, g[%r1]; st.global.u32 [%d1+12], %r2;""",
    )
    assert (out == np.stack([LANE, 0 * LANE + 6, LANE, LANE], 1)).all()


SUM = """.func (.param .u32 r) sum(.param .u32 n, .param .align 4 .b8 a[]) {
.reg .u32 %i, %n, %s, %x; .reg .pred %p; .reg .u64 %a; .local .u32 keep[2]; st.local.u32 [keep], 1000; st.local.u32 [keep+4], 0;
ld.param.u32 %n, [n]; mov.u64 %a, a; mov.u32 %i, 0;
L: setp.ge.u32 %p, %i, %n; @%p bra E; ld.param.u32 %x, [%a]; ld.local.u32 %s, [keep+4]; add.u32 %s, %s, %x; st.local.u32 [keep+4], %s;
add.u64 %a, %a, 4; add.u32 %i, %i, 1; bra L; E: ld.local.u32 %s, [keep+4]; ld.local.u32 %x, [keep]; add.u32 %s, %s, %x; st.param.u32 [r], %s; ret; }
"""
PASS = "{{ .param .u32 n; .param .align 4 .b8 a[{size}]; .param .u32 r; st.param.u32 [n], {count}; {stores} call (r), {to}, (n{a}){p}; ld.param.u32 %r2, [r]; }} st.global.u32 [%d1+{at}], %r2;"


def passes(count, at, to="sum", prototype=""):
    stores = "".join(f"st.param.u32 [a+{4 * n}], {n + 1};" for n in range(count))
    return PASS.format(
        size=max(4 * count, 4),
        count=count,
        stores=stores,
        to=to,
        a=", a" if count else "",
        p=prototype,
        at=at,
    )


def test_open_arrays_as_formals(load):
    """Functions of as many arguments as each call has: the frame has room for the longest."""
    pointer = "P: .callprototype (.param .u32 _) _ (.param .u32 _, .param .align 4 .b8 _[]); mov.u64 %d3, sum;"
    body = passes(3, 0) + passes(20, 4) + passes(0, 8) + pointer + passes(5, 12, "%d3", ", P")
    declared = ".func (.param .u32 r) sum(.param .u32 n, .param .align 4 .b8 a[]);\n"
    out = run(load, declared + SUM, body)
    assert (out == [1006, 1210, 1000, 1015]).all()


@pytest.mark.parametrize(("text", "message"), [
    (".func f(.param .b8 a[], .param .b32 b) { ret; }", "only the last parameter"),
    (".func (.param .b8 a[]) f() { ret; }", "only the last parameter of a function"),
    (".entry e(.param .b8 a[]) { ret; }", "only the last parameter of a function"),
    (".func f(.param .b8 a[]) { ret; } .func g() { .param .b32 x; call f, (x); ret; }", "expected .param .b8[], got .param .b32"),
    (".func f(.param .b8 a[]) { ret; } .func g() { call f, (5); ret; }", "no .param variable"),
    (".func f(.param .b8 a[]) { ret; } .func g() { call f; ret; }", "got 0 and 0"),
    (".func f(.param .b8 a[]); .func f(.param .b8 a[4]) { ret; }", "differs from its declaration"),
])  # fmt: skip
def test_open_arrays_that_are_refused(text, message, driver):
    log = refused(text + "\n" + KERNEL + "ret; }\n")
    assert driver.on_hardware or message in log


def test_arrays_of_textures(load):
    """They are declared, and have no use: a fetch names one texture."""
    load(
        TOP
        + ".global .texref t[4]; .global .surfref s[2]; .global .texref u[2] = {{filter_mode = linear}, {filter_mode = nearest, addr_mode_0 = wrap}};\n"
        + KERNEL
        + "ret; }\n"
    )
    log = refused(
        ".global .texref t[4];\n"
        + KERNEL
        + "tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t, {%r1}]; ret; }\n"
    )
    assert not log or "texture" in log or "Arguments" in log
