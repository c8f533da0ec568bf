# ruff: noqa: E501 - PTX text and tables of it are wide
"""Calls through pointers, addresses of functions, and device code's malloc and free."""

import subprocess

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

FUNCTIONS = """.version 8.0\n.target sm_75\n.address_size 64
.func (.param .b32 out) twice(.param .b32 a, .param .b32 b) {
.reg .b32 %r<4>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, %r1; st.param.b32 [out], %r1; ret; }
.func (.param .b32 out) sum(.param .b32 a, .param .b32 b) {
.reg .b32 %r<4>; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; add.u32 %r1, %r1, %r2; st.param.b32 [out], %r1; ret; }
.func (.param .b32 out) other(.param .b64 a) { .reg .b32 %r1; mov.u32 %r1, 1; st.param.b32 [out], %r1; ret; }
.global .align 8 .u64 table[3] = {twice, sum, other};
"""
ENTRY = """.visible .entry k(.param .u64 pb) {
.reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .pred %p<4>;
ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
"""
TAIL = "\nst.global.u32 [%rd1], %r2; ret; }\n"
CALL = """{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r0; st.param.b32 [b], 100;
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
call (r), %rd3, (a, b), proto; ld.param.b32 %r2, [r]; }"""


def run(load, body, text=FUNCTIONS, block=64):
    b = np.zeros(block, np.uint32)
    load(text + ENTRY + body + TAIL).run("k", 1, block, [b])
    return list(b)


def test_a_table_of_functions(load):
    body = "and.b32 %r1, %r0, 1; mul.wide.u32 %rd4, %r1, 8; mov.u64 %rd5, table; add.u64 %rd4, %rd4, %rd5; ld.global.u64 %rd3, [%rd4]; "
    assert run(load, body + CALL) == [i + 100 if i % 2 else 2 * i for i in range(64)]


def test_the_address_of_a_function(load):
    body = "mov.u64 %rd3, twice; setp.gt.u32 %p0, %r0, 20; @%p0 mov.u64 %rd3, sum; mov.u32 %r2, 7; setp.gt.u32 %p1, %r0, 5; @!%p1 bra END; "
    expected = [7 if i <= 5 else i + 100 if i > 20 else 2 * i for i in range(64)]
    assert run(load, body + CALL + " END:") == expected


ADDER = """.func (.param .b32 r) {name}(.param .b32 a) {{ .reg .b32 %r1; ld.param.u32 %r1, [a];
add.u32 %r1, %r1, {more}; st.param.b32 [r], %r1; ret; }}
"""
DECLARED = ".func (.param .b32 r) {name}(.param .b32 a);\n"
OTHER = """{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; call (r), other, (a); ld.param.b32 %r2, [r]; }
{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; mov.u64 %rd3, other;
proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %rd3, (a), proto; ld.param.b32 %r2, [r]; }
{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; ld.global.u64 %rd3, [held];
proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %rd3, (a), proto; ld.param.b32 %r2, [r]; }"""
TOP = ".version 8.0\n.target sm_75\n.address_size 64\n"
HELD = ".global .align 8 .u64 held = other;\n"
ALIASED = {
    "defined before": lambda f, d, k: f + d + ".alias other, plus;\n" + HELD + k,
    "defined behind": lambda f, d, k: DECLARED.format(name="plus") + d + ".alias other, plus;\n" + HELD + k + f,
    "named behind": lambda f, d, k: f + d + HELD + k + ".alias other, plus;\n",
    "of an alias": lambda f, d, k: f + d + DECLARED.format(name="third") + ".alias third, plus;\n.alias other, third;\n" + HELD + k,
}  # fmt: skip


@pytest.mark.parametrize("order", ALIASED)
def test_another_name_of_a_function(order, driver, load):
    if order == "of an alias":
        driver.skip_on_hardware(
            "NVIDIA's driver takes the module, and then has no kernel of it (error 999)"
        )
    text = ALIASED[order](
        ADDER.format(name="plus", more=7), DECLARED.format(name="other"), ENTRY + OTHER + TAIL
    )
    b = np.zeros(64, np.uint32)
    load(TOP + text).run("k", 1, 64, [b])
    assert list(b) == [i + 21 for i in range(64)]


@pytest.mark.parametrize("text", [
    ADDER.format(name="plus", more=7) + ".alias other, plus;",
    DECLARED.format(name="other") + ".alias other, plus;",
    ADDER.format(name="plus", more=7) + ADDER.format(name="other", more=1) + ".alias other, plus;",
    ADDER.format(name="plus", more=7) + DECLARED.format(name="other") + ".alias other, plus;" + ADDER.format(name="other", more=1),
    ADDER.format(name="plus", more=7) + ".func (.param .b64 r) other(.param .b32 a);\n.alias other, plus;",
    ADDER.format(name="plus", more=7) + DECLARED.format(name="other") + ".alias other, plus;\n.alias other, plus;",
    ADDER.format(name="plus", more=7) + ".alias plus, plus;",
    ADDER.format(name="plus", more=7) + ".visible .entry other() { ret; }\n.alias other, plus;",
])  # fmt: skip
def test_other_names_that_are_refused(text, driver):
    if text.rstrip().endswith("}"):
        driver.skip_on_hardware("NVIDIA's compiler takes a definition behind the name's alias")
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(TOP + text + "\n.visible .entry k() { ret; }\n")
    assert error.value.code == driver_abi.INVALID_PTX


def test_lanes_meet_behind_the_call(load):
    # Where they meet of themselves, PTX doesn't say: a vote is where they have to.
    body = "and.b32 %r1, %r0, 1; setp.eq.u32 %p0, %r1, 0; mov.u64 %rd3, twice; @%p0 mov.u64 %rd3, sum; "
    vote = "setp.ge.u32 %p1, %r2, 100; vote.sync.ballot.b32 %r2, %p1, 0xffffffff;"
    expected = [i + 100 if i % 2 == 0 else 2 * i for i in range(64)]
    masks = [sum((expected[w + i] >= 100) << i for i in range(32)) for w in (0, 32)]
    assert run(load, body + CALL + vote) == [masks[0]] * 32 + [masks[1]] * 32


def test_recursion_through_a_pointer(load):
    down = """.version 8.0\n.target sm_75\n.address_size 64
    .func (.param .b32 out) down(.param .b32 n); .global .align 8 .u64 self = down;
    .func (.param .b32 out) down(.param .b32 n) { .reg .b32 %r<6>; .reg .b64 %rd1; .reg .pred %p; ld.param.u32 %r1, [n];
    mov.u32 %r3, 0; setp.eq.u32 %p, %r1, 0; @%p bra DONE; sub.u32 %r2, %r1, 1; ld.global.u64 %rd1, [self];
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; p: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %rd1, (a), p; ld.param.b32 %r3, [r]; } add.u32 %r3, %r3, %r1; DONE: st.param.b32 [out], %r3; ret; }
    """
    body = """ld.global.u64 %rd3, [self]; and.b32 %r1, %r0, 15; { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;
    p: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %rd3, (a), p; ld.param.b32 %r2, [r]; }"""
    assert run(load, body, down) == [sum(range(i % 16 + 1)) for i in range(64)]


@pytest.mark.parametrize(
    "body", ["mov.u64 %rd3, 0; ", "mov.u64 %rd3, other; ", "mov.u64 %rd3, table; "]
)
def test_calls_of_what_is_no_such_function(driver, body):
    driver.skip_on_hardware("hardware jumps to wherever the pointer leads")
    done = ptx.in_child(FUNCTIONS + ENTRY + body + CALL + TAIL,
                        "module.run('k', 1, 64, [np.zeros(64, np.uint32)])")  # fmt: skip
    assert done.stdout == "code 715\n", done.stderr  # an illegal instruction


@pytest.mark.parametrize(("old", "new", "message"), [
    ("(a, b), proto", "(a), proto", "prototype"),
    ("(a, b), proto", "(a, b), sum", "callprototype"),
    ("%rd3, (a", "%r1, (a", "64 bits"),
    ("%rd3, (a", "%nowhere, (a", "%nowhere"),
    ("(a, b), proto", "(a, b)", "','"),
])  # fmt: skip
def test_wrong_calls_are_refused(old, new, message, driver, load):
    driver.skip_on_hardware("ptxas has words of its own")
    with pytest.raises(driver_abi.DriverError) as error:
        load(FUNCTIONS + ENTRY + CALL.replace(old, new) + TAIL)
    assert error.value.code == driver_abi.INVALID_PTX
    assert message in error.value.log


def test_the_address_of_a_function_that_is_nowhere(driver, load):
    driver.skip_on_hardware("ptxas has words of its own")
    text = ".extern .func gone(); .global .align 8 .u64 t = gone;"
    with pytest.raises(driver_abi.DriverError) as error:
        load(text)
    assert "'gone' is not defined" in error.value.log


# A list of targets or a table in place of the prototype: what NVIDIA's assembler takes and refuses,
# by the statements before the call and the name at its end.
MORE = """.func (.param .b32 out) wide(.param .b64 a, .param .b32 b) { ret; }
.extern .func (.param .b32 out) elsewhere(.param .b32 a, .param .b32 b);
.const .align 8 .u64 constants[2] = {sum, twice};
.global .align 8 .u64 partly[4] = {sum, twice};
.global .align 8 .u64 numbers[2] = {1, 2};
.visible .entry another(.param .b32 a, .param .b32 b) { ret; }
"""
NAMED = {
    "a list": ("t: .calltargets twice, sum;", "t", None),
    "one": ("t: .calltargets twice;", "t", None),
    "one twice": ("t: .calltargets twice, sum, twice;", "t", None),
    "one that is elsewhere": ("t: .calltargets twice, elsewhere, sum;", "t", None),
    "a function's name": ("other: .calltargets twice, sum;", "other", None),
    "a table": ("", "constants", None),
    "a table with zeros": ("", "partly", None),
    "a table of its own": (".global .align 8 .u64 own[2] = {sum, twice};", "own", None),
    "other parameters": ("t: .calltargets twice, other;", "t", "'other' has other parameters"),
    "other sizes": ("t: .calltargets wide;", "t", "do not match function 'wide'"),
    "a table of others": ("", "table", "'other' has other parameters"),
    "a kernel": ("t: .calltargets another;", "t", "kernel 'another' cannot be called"),
    "an undeclared function": ("t: .calltargets absent;", "t", "'absent' is not a declared function"),
    "a label": ("t: .calltargets L; L:", "t", "'L' is not a declared function"),
    "a register": ("t: .calltargets %rd3;", "t", "'%rd3' is not a declared function"),
    "an empty list": ("t: .calltargets ;", "t", "a function's name"),
    "two of a name": ("t: .calltargets twice; t: .calltargets sum;", "t", "declared twice"),
    "labels": ("t: .branchtargets L; L:", "t", "is not a .callprototype"),
    "numbers": ("", "numbers", "'numbers' is not a table of functions"),
    "functions and numbers": (".global .align 8 .u64 own[2] = {sum, 5};", "own", "is not a table of functions"),
    "a function": ("", "sum", "is not a .callprototype"),
    "what comes later": ("", "t", "is not a .callprototype"),
    "an operand": ("t: .calltargets twice; mov.u64 %rd3, t;", "t", "expected an operand, got the call prototype 't'"),
}  # fmt: skip
CHOSEN = "mov.u64 %rd3, twice; setp.gt.u32 %p0, %r0, 20; @%p0 mov.u64 %rd3, sum; "


def named(what):
    before, name, _ = NAMED[what]
    call = CALL.split("proto:")[0] + before + " call (r), %rd3, (a, b), " + name
    return FUNCTIONS + MORE + ENTRY + CHOSEN + call + "; ld.param.b32 %r2, [r]; }" + TAIL


@pytest.mark.parametrize("what", [w for w, (_, _, wrong) in NAMED.items() if not wrong])
def test_targets_of_a_call(what, driver, load):
    if "elsewhere" in what:
        driver.skip_on_hardware("for NVIDIA's linker to find")
    block = 16 if what == "one" else 64  # the rest of the threads call another
    b = np.zeros(block, np.uint32)
    load(named(what)).run("k", 1, block, [b])
    assert list(b) == [i + 100 if i > 20 else 2 * i for i in range(block)]


@pytest.mark.parametrize("what", [w for w, (_, _, wrong) in NAMED.items() if wrong])
def test_targets_that_are_refused(what, driver, load):
    with pytest.raises(driver_abi.DriverError) as error:
        load(named(what))
    assert error.value.code == driver_abi.INVALID_PTX
    assert driver.on_hardware or NAMED[what][2] in error.value.log


def test_ptxas_takes_the_same_targets(tmp_path, ptxas):
    for what, (_, _, wrong) in NAMED.items():
        (tmp_path / "k.ptx").write_text(named(what))
        command = [ptxas, "-arch=sm_75", "-c", "-O0", "k.ptx", "-o", "k.cubin"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode == 0) == (wrong is None), (what, done.stderr)


def test_a_call_of_what_its_list_has_not(driver):
    driver.skip_on_hardware("hardware jumps to wherever the pointer leads")
    done = ptx.in_child(named("one"), "module.run('k', 1, 64, [np.zeros(64, np.uint32)])")
    assert done.stdout == "code 715\n", done.stderr  # an illegal instruction


def test_a_list_with_another_name_of_a_function(load):
    text = (
        ADDER.format(name="plus", more=7) + DECLARED.format(name="other") + ".alias other, plus;\n"
    )
    body = """{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r0; mov.u64 %rd3, plus;
    t: .calltargets other; call (r), %rd3, (a), t; ld.param.b32 %r2, [r]; }"""
    assert run(load, body, TOP + text) == [i + 7 for i in range(64)]


# ---- as CUDA C++ has it ------------------------------------------------------------------------

PROGRAM = """
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
typedef int (*Operation)(int, int);
__device__ Operation operations[2] = {add, mul};
extern "C" __global__ void choose(int* out, int n) { out[threadIdx.x] = operations[threadIdx.x % 2](threadIdx.x, n); }

struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float side; __device__ Square(float s) : side(s) {} __device__ float area() const override { return side * side; } };
struct Disc : Shape { float radius; __device__ Disc(float r) : radius(r) {} __device__ float area() const override { return 3 * radius * radius; } };
extern "C" __global__ void areas(float* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Shape* shape = i % 2 ? static_cast<Shape*>(new Square(i)) : static_cast<Shape*>(new Disc(i));
    out[i] = shape->area();
    delete shape;
}

// A list built by one launch, read and freed by the next.
struct Node { int value; Node* next; };
__device__ Node* heads[256];
extern "C" __global__ void build(int n) {
    Node* head = nullptr;
    for (int k = 0; k < n; ++k) { Node* node = static_cast<Node*>(malloc(sizeof(Node))); node->value = threadIdx.x + k; node->next = head; head = node; }
    heads[threadIdx.x] = head;
}
extern "C" __global__ void tear(int* out) {
    int sum = 0;
    for (Node* node = heads[threadIdx.x]; node;) { Node* next = node->next; sum += node->value; free(node); node = next; }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void exhaust(unsigned long long* out, unsigned long long bytes) {
    unsigned long long count = 0;
    while (char* p = static_cast<char*>(malloc(bytes))) { p[0] = 1; p[bytes - 1] = 2; ++count; if (count > 100000) break; }
    *out = count;
}
extern "C" __global__ void churn(int* out, int n) {
    int wrong = 0;
    for (int k = 0; k < n; ++k) {
        const int words = (threadIdx.x + k) % 37 + 1;
        int* p = static_cast<int*>(malloc(4 * words));
        for (int j = 0; j < words; ++j) p[j] = threadIdx.x * 1000 + k;
        for (int j = 0; j < words; ++j) wrong += p[j] != threadIdx.x * 1000 + k;
        free(p);
    }
    free(nullptr);
    out[blockIdx.x * blockDim.x + threadIdx.x] = wrong;
}
extern "C" __global__ void twice_freed() { char* p = static_cast<char*>(malloc(8)); free(p); free(p); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory, nvcc):
    folder = tmp_path_factory.mktemp("call")
    (folder / "k.cu").write_text(PROGRAM)
    subprocess.run([nvcc, "-ptx", "-arch=compute_75", "k.cu"], cwd=folder, check=True)
    return (folder / "k.ptx").read_text()


def test_function_pointers(program, load):
    out = np.zeros(64, np.int32)
    load(program).run("choose", 1, 64, [out, np.int32(9)])
    assert list(out) == [i * 9 if i % 2 else i + 9 for i in range(64)]


def test_virtual_functions_of_objects_made_with_new(program, load):
    out = np.zeros(512, np.float32)
    load(program).run("areas", 8, 64, [out])
    i = np.arange(512, dtype=np.float32)
    np.testing.assert_array_equal(out, np.where(i % 2, i * i, 3 * i * i))


def test_what_malloc_gave_outlives_the_launch(program, load):
    module, out = load(program), np.zeros(128, np.int32)
    module.launch("build", 1, 128, [np.int32(20)])
    module.run("tear", 1, 128, [out])
    assert list(out) == [sum(t + k for k in range(20)) for t in range(128)]


def test_pieces_do_not_overlap(program, load):
    out = np.ones(1024, np.int32)
    load(program).run("churn", 16, 64, [out, np.int32(50)])
    assert not out.any()


def test_an_exhausted_heap_gives_null(program, driver):
    call = ("a = np.zeros(1, np.uint64); module.run('exhaust', 1, 1, [a, np.uint64(1 << 20)]); "
            "b = a.copy(); module.run('exhaust', 1, 1, [b, np.uint64(1 << 20)]); print(a[0], b[0])")  # fmt: skip
    first, second = map(int, ptx.in_child(program, call).stdout.split())
    assert 4 <= first <= 8  # pieces of 1 MiB, from 8 MiB less what the heap itself takes
    assert second == 0


def test_the_heaps_size_is_a_limit_of_the_context(program, driver):
    call = ("limit = lambda n: module.driver.library.cuCtxSetLimit(2, __import__('ctypes').c_size_t(n)); "
            "first = limit(32 << 20); a = np.zeros(1, np.uint64); "
            "module.run('exhaust', 1, 1, [a, np.uint64(1 << 20)]); print(first, a[0], limit(64 << 20))")  # fmt: skip
    first, count, second = map(int, ptx.in_child(program, call).stdout.split())
    assert (first, second) == (0, 1)
    assert 26 <= count <= 32


def test_free_of_what_malloc_did_not_give(program, driver):
    driver.skip_on_hardware("hardware may not notice")
    done = ptx.in_child(program, "module.launch('twice_freed', 1, 1, [])")
    assert done.stdout == f"code {driver_abi.ILLEGAL_ADDRESS}\n", done.stderr
