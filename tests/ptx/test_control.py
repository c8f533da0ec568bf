# ruff: noqa: E501 - PTX text and tables of it are wide
"""Control flow, calls, printf and assert, and errors with their lines."""

import subprocess

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

COVERED = """bra brx.idx call ret exit trap brkpt nanosleep.u32 pmevent pmevent.mask"""

HEAD = """.version 8.0\n.target sm_75\n.address_size 64\n"""
ENTRY = """.visible .entry k(.param .u64 pb) {
.reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .pred %p<4>;
ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
"""
TAIL = "\nst.global.u32 [%rd1], %r2; ret; }\n"


def run(load, body, before="", block=64):
    b = np.zeros(block, np.uint32)
    load(HEAD + before + ENTRY + body + TAIL).run("k", 1, block, [b])
    return list(b)


def test_nested_loops_diverge_and_meet(load):
    body = """mov.u32 %r2, 0; mov.u32 %r3, 0;
    OUTER: setp.ge.u32 %p0, %r3, %r0; @%p0 bra DONE; mov.u32 %r4, 0;
    INNER: setp.gt.u32 %p1, %r4, %r3; @%p1 bra NEXT; add.u32 %r2, %r2, %r4; add.u32 %r4, %r4, 1; bra INNER;
    NEXT: add.u32 %r3, %r3, 1; bra.uni OUTER; DONE: activemask.b32 %r5; setp.ne.u32 %p2, %r5, 0xffffffff;
    @%p2 mov.u32 %r2, 0xdead;"""
    assert run(load, body) == [sum(sum(range(j + 1)) for j in range(i)) for i in range(64)]


def test_indexed_branch(load):
    body = """and.b32 %r1, %r0, 3; T: .branchtargets A, B, C, A; brx.idx %r1, T;
    A: mov.u32 %r2, 10; bra E; B: mov.u32 %r2, 20; bra E; C: nanosleep.u32 20; mov.u32 %r2, 30; E:
    pmevent 1; pmevent.mask 3;"""
    assert run(load, body) == [[10, 20, 30, 10][i % 4] for i in range(64)]


def slept(load, body, block=1, grid=1):
    """Nanoseconds that each thread takes for a body, by the device's clock."""
    text = f"""{HEAD}.visible .entry k(.param .u64 pb) {{
    .reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .pred %p<4>; ld.param.u64 %rd1, [pb];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r1, %r1, %r2, %r0; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd2, %rd1;
    mov.u64 %rd3, %globaltimer; {body} mov.u64 %rd4, %globaltimer; sub.u64 %rd4, %rd4, %rd3; st.global.u64 [%rd2], %rd4; ret; }}"""
    took = np.zeros(block * grid, np.uint64)
    load(text).run("k", grid, block, [took])
    return took


def test_nanosleep_takes_its_time(load):
    """On an H100, 20 sleeps of 1 ms took 21 ms; one for a longer time took at most 1 ms."""
    loop = "mov.u32 %r3, 20; L: nanosleep.u32 1000000; sub.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra L;"
    assert 10e6 <= slept(load, loop)[0] < 200e6
    assert 2e6 <= slept(load, "nanosleep.u32 1000000;" * 4)[0] < 40e6
    assert slept(load, "mov.u32 %r3, -1; nanosleep.u32 %r3;")[0] < 100e6


def test_warps_sleep_at_the_same_time(load, driver):
    """32 warps of each of 4 blocks sleep 5 ms. Then half of a warp's lanes sleep; the others run.

    Hardware may sleep from 0 to twice the requested time: for 1 ms an H100 took 0.15 ms.
    """
    took = slept(load, "nanosleep.u32 1000000;" * 5, block=1024, grid=4)
    assert (took >= 2.5e6).all() and took.max() < 300e6
    some = "setp.lt.u32 %p1, %r0, 16; @%p1 nanosleep.u32 1000000; setp.lt.u32 %p1, %r0, 16; @%p1 bra REST; mov.u32 %r3, 7; REST:"
    least = 0 if driver.on_hardware else 0.4e6
    assert (slept(load, some, block=32)[:16] >= least).all()


def test_who_sleeps_does_not_keep_from_running_whom_it_waits_for(load):
    """A lane, a warp and a block that wait for others with nanosleep in their loop."""
    for mine, block, grid in ("%r0", 32, 1), ("%r0", 96, 1), ("%r5", 1, 8):
        text = f"""{HEAD}.visible .entry k(.param .u64 pb) {{ .reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .pred %p<4>;
        ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mov.u32 %r5, %ctaid.x; mov.u32 %r6, {block * grid - 1}; sub.u32 %r6, %r6, {mine};
        WAIT: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p0, %r1, {mine}; @%p0 bra GO; nanosleep.u32 2000; bra WAIT;
        GO: add.u32 %r1, %r1, 1; st.volatile.global.u32 [%rd1], %r1; ret; }}"""
        count = np.zeros(1, np.uint32)
        load(text).run("k", grid, block, [count])
        assert count[0] == block * grid


@pytest.mark.parametrize("align", [16, 64, 256, 4096])
def test_generic_addresses_of_local_variables_are_aligned(align, load):
    """In a kernel and in a function that another calls, for every thread."""
    text = f""".version 8.0\n.target sm_75\n.address_size 64
    .func (.param .b64 out) inner() {{ .local .align 4 .b8 a[4]; .local .align {align} .b8 v[{align}]; .reg .b64 %rd<4>;
    mov.u64 %rd1, v; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, a; cvta.local.u64 %rd2, %rd2; st.u32 [%rd2], 1; st.param.b64 [out], %rd1; ret; }}
    .func (.param .b64 out) outer() {{ .local .align 4 .b8 a[20]; .reg .b64 %rd<4>; mov.u64 %rd2, a; cvta.local.u64 %rd2, %rd2; st.u32 [%rd2+16], 1;
    {{ .param .b64 r; call (r), inner, (); ld.param.b64 %rd1, [r]; }} st.param.b64 [out], %rd1; ret; }}
    .visible .entry k(.param .u64 pb) {{ .local .align 4 .b8 a[4]; .local .align {align} .b8 v[{align}]; .reg .b64 %rd<8>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd1, %rd1, %rd2;
    mov.u64 %rd3, v; cvta.local.u64 %rd3, %rd3; mov.u64 %rd5, a; cvta.local.u64 %rd5, %rd5; st.u32 [%rd5], 1;
    {{ .param .b64 r; call (r), outer, (); ld.param.b64 %rd4, [r]; }} and.b64 %rd3, %rd3, {align - 1}; and.b64 %rd4, %rd4, {align - 1}; st.global.v2.u64 [%rd1], {{%rd3, %rd4}}; ret; }}"""
    got = np.ones((70, 2), np.uint64)
    load(text).run("k", 1, 70, [got])
    assert (got == 0).all()


def test_alloca_is_aligned(load):
    text = """.version 8.0\n.target sm_75\n.address_size 64
    .visible .entry k(.param .u64 pb) { .reg .b64 %rd<8>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 8; add.u64 %rd1, %rd1, %rd2;
    alloca.u64 %rd3, 8; alloca.u64 %rd3, 16, 128; cvta.local.u64 %rd3, %rd3; and.b64 %rd3, %rd3, 127; st.global.u64 [%rd1], %rd3; ret; }"""
    got = np.ones(70, np.uint64)
    load(text).run("k", 1, 70, [got])
    assert (got == 0).all()


RECURSIVE = """.func (.param .b32 out) fib(.param .b32 n) {
.reg .b32 %r<8>; .reg .pred %p; ld.param.u32 %r1, [n]; setp.lt.u32 %p, %r1, 2; mov.u32 %r4, %r1;
@%p bra DONE;
{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r3, [r]; }
{ .param .b32 a; .param .b32 r; sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2; call (r), fib, (a); ld.param.b32 %r4, [r]; }
add.u32 %r4, %r3, %r4; DONE: st.param.b32 [out], %r4; ret; }
"""


CALL_FIB = """{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call (r), fib, (a);
ld.param.b32 %r2, [r]; }"""


def test_constant_predicates(load):
    body = """mov.u32 %r2, 0; mov.pred %p0, -1; @%p0 add.u32 %r2, %r2, 1; mov.pred %p1, 0; @%p1 add.u32 %r2, %r2, 2;
    mov.pred %p2, 1; @%p2 add.u32 %r2, %r2, 4; and.pred %p3, %p0, -1; @%p3 add.u32 %r2, %r2, 8;"""
    assert run(load, body) == [13] * 64


def test_recursion(load):
    body = "and.b32 %r1, %r0, 15; " + CALL_FIB
    fib = [0, 1]
    while len(fib) < 16:
        fib.append(fib[-1] + fib[-2])
    assert run(load, body, RECURSIVE) == [fib[i % 16] for i in range(64)]


def test_brkpt(driver, load):
    driver.skip_on_hardware("a debugger may be there to stop")
    done = ptx.in_child(HEAD + ENTRY + "brkpt; mov.u32 %r2, 0;" + TAIL,
                        "module.run('k', 1, 64, [np.zeros(64, np.uint32)])")  # fmt: skip
    assert done.stdout == f"code {driver_abi.LAUNCH_FAILED}\n", done.stderr


def test_endless_recursion_is_an_error(driver):
    driver.skip_on_hardware("hardware faults only where the stack ends")
    deep = RECURSIVE.replace("setp.lt.u32 %p, %r1, 2", "setp.lt.u32 %p, %r1, 0")
    body = CALL_FIB.replace("%r1", "%r0")
    done = ptx.in_child(HEAD + deep + ENTRY + body + TAIL,
                        "module.run('k', 1, 64, [np.zeros(64, np.uint32)])")  # fmt: skip
    assert done.stdout.startswith("code "), done.stderr


@pytest.mark.parametrize("body", ["trap;", "setp.eq.u32 %p0, %r0, 33; @%p0 trap;"])
def test_trap(body):
    text = HEAD + ENTRY + "mov.u32 %r2, 0; " + body + TAIL
    done = ptx.in_child(text, "module.run('k', 1, 64, [np.zeros(64, np.uint32)])")
    assert done.stdout == f"code {driver_abi.LAUNCH_FAILED}\n", done.stderr


def test_guarded_exit_and_ret(load):
    body = "mov.u32 %r2, 1; setp.lt.u32 %p0, %r0, 8; @%p0 ret; setp.gt.u32 %p1, %r0, 40; @%p1 exit; add.u32 %r2, %r2, 1;"
    assert run(load, body) == [2 if 8 <= i <= 40 else 0 for i in range(64)]


@pytest.mark.parametrize(("text", "line", "code", "message"), [
    ("frobnicate.u32 %r1, %r2;", 8, driver_abi.INVALID_PTX, "frobnicate"),
    ("add.q32 %r1, %r2, %r3;", 8, driver_abi.INVALID_PTX, "add.q32"),
    ("add.u32 %r1, %r2;", 8, driver_abi.INVALID_PTX, "operands"),
    ("add.u32 %r1, %r2, %r99;", 8, driver_abi.INVALID_PTX, "%r99"),
    ("add.u32 %r1, %rd2, %r3;", 8, driver_abi.INVALID_PTX, ".b64"),
    ("bra NOWHERE;", 8, driver_abi.INVALID_PTX, "NOWHERE"),
    ("A: A: ret;", 8, driver_abi.INVALID_PTX, "twice"),
    ("A.b: ret;", 8, driver_abi.INVALID_PTX, "label"),
    (".reg .b32 x.y;", 8, driver_abi.INVALID_PTX, "register's name"),
    (".local .b32 x::y;", 8, driver_abi.INVALID_PTX, "name"),
    (".reg .b32 %x;\n.reg .b32 %x;", 9, driver_abi.INVALID_PTX, "twice"),
    ("ld.global.u32 %r1, [%p0];", 8, driver_abi.INVALID_PTX, "address"),
    ("call nothing;", 8, driver_abi.INVALID_PTX, "nothing"),
    ("mov.u32 %r1, \x01;", 8, driver_abi.INVALID_PTX, "byte"),
    ("mov.u32 %r1, 5", 10, driver_abi.INVALID_PTX, "';'"),
])  # fmt: skip
def test_errors_name_their_line(text, line, code, message, driver, load):
    driver.skip_on_hardware("ptxas has words of its own")
    with pytest.raises(driver_abi.DriverError) as error:
        load(HEAD + ENTRY + "\n" + text + "\n" + TAIL)
    assert error.value.code == code
    assert f"line {line}" in error.value.log
    assert message in error.value.log


def test_unknown_version(load):
    with pytest.raises(driver_abi.DriverError) as error:
        load(".version 42.0\n.target sm_75\n.address_size 64\n")
    assert error.value.code == driver_abi.UNSUPPORTED_PTX_VERSION


PROGRAM = """
extern "C" __global__ void say(const char* text) {
    if (threadIdx.x == 1)
        printf("%d|%5u|%-6x|%#o|%lld|%.3f|%e|%g|%c|%s|%10.2s|%*d|%%|%p\\n", -3, 7u, 255, 8, 1LL << 40, 3.14159,
               1e10, 0.5, 'z', text, "abc", 6, 42, (void*)0x10);
}
extern "C" __global__ void check(int n) { assert(n != (int)threadIdx.x); }
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory, nvcc):
    folder = tmp_path_factory.mktemp("ptx")

    def compile_(source):
        (folder / "k.cu").write_text("#include <cstdio>\n#include <cassert>\n" + source)
        subprocess.run([nvcc, "-ptx", "-arch=compute_75", "k.cu"], cwd=folder, check=True)
        return (folder / "k.ptx").read_text()

    return compile_


def test_printf(compiled):
    text = list(b"words\0")
    call = f"module.run('say', 1, 4, [np.array({text}, np.uint8)])"
    done = ptx.in_child(compiled(PROGRAM), call)
    assert done.stdout == (
        "-3|    7|ff    |010|1099511627776|3.142|1.000000e+10|0.5|z|words|        ab|    42|%|0x10\n"
    ), done.stderr


def test_assert(compiled):
    done = ptx.in_child(compiled(PROGRAM), "module.launch('check', 1, 64, [np.int32(40)])")
    assert done.stdout.endswith(f"code {driver_abi.ASSERT}\n"), done.stderr


KERNELS = """
template <class T> __device__ T twice(T x) { return x + x; }
__constant__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
struct Bundle { float f[5]; int k; };
extern "C" __global__ void misc(double* out, Bundle p) {
    int i = threadIdx.x; double v;
    switch (i % 7) {
        case 0: v = sin((double)i); break; case 1: v = table[i & 7]; break; case 2: v = p.f[i % 5]; break;
        case 3: v = p.k; break; case 4: v = pow(1.0 + i, 1.7); break; case 5: v = twice(expf(0.01f * i)); break;
        default: v = sinf(1e5f * i);
    }
    out[i] = v;
}
"""


def test_compiled_kernel(compiled, load):
    bundle = np.array([1.5, 2.5, 3.5, 4.5, 5.5], np.float32).tobytes() + np.int32(42).tobytes()
    out = np.zeros(96)
    load(compiled(KERNELS)).run("misc", 1, 96, [out, np.void(bundle)])
    f = [1.5, 2.5, 3.5, 4.5, 5.5]
    expected = [
        [np.sin(i), (i & 7) + 1, f[i % 5], 42, (1.0 + i) ** 1.7, 2 * np.exp(np.float32(0.01 * i)),
         np.sin(np.float64(np.float32(1e5 * i)))][i % 7] for i in range(96)
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-6)
