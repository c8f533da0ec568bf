"""Texts of many kernels: each kernel is read when a call first needs it."""

from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

INVALID_PTX, EAGER, LAZY = 218, 1, 2
HEAD = """
//
// Of a compiler's form: comments { that close nothing, "and quotes.
.version 7.8
.target sm_75
.address_size 64
.file 1 "kernels.cu"
/* a block } comment */
.visible .global .align 4 .u32 counter;
.global .align 8 .u64 table[2] = {counter, 7};
.visible .const .align 4 .u32 factor = 3;
.extern .shared .align 4 .b8 room[];

.func (.param .b32 r) twice(.param .b32 a) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [a];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
"""
# Counts its calls in the module's variable; gives (its number + what it was given) * 2 * factor.
KERNEL = """
.visible .entry kernel_{n}(
    .param .u64 out, // a {{ brace
    .param .u32 more
)
.maxntid 64, 1, 1
{{
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    .shared .align 4 .u32 own_{n}[4];
    .local .align 8 .b8 frame[8];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [more];
    add.u32 %r2, %r1, {n};
    {{
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r2;
    call.uni (r), twice, (a);
    ld.param.b32 %r3, [r];
    }}
    st.shared.u32 [own_{n}+4], %r3;
    ld.shared.u32 %r4, [own_{n}+4];
    ld.const.u32 %r5, [factor];
    mul.lo.u32 %r6, %r4, %r5;
    st.global.u32 [%rd1], %r6;
    ld.global.u64 %rd2, [table];
    atom.global.add.u32 %r7, [%rd2], 1;
    ret;
}}
"""
COUNT = 120


def text(count=COUNT, more=""):
    return (HEAD + "".join(KERNEL.format(n=n) for n in range(count)) + more).encode() + b"\0"


assert len(text()) > 64 * 1024


@pytest.fixture(params=["LAZY", "EAGER"])
def mode(request, monkeypatch):
    monkeypatch.setenv("CUDA_MODULE_LOADING", request.param)
    return request.param


@pytest.fixture
def module(cuda, mode):
    loaded = cuda.module(text())
    yield loaded
    cuda.cuModuleUnload(loaded)


def result(cuda, module, n, more=5):
    out = cuda.alloc(4)
    cuda.launch(cuda.function(module, f"kernel_{n}"), 1, 1, c_uint64(out), c_uint(more))
    cuda.cuCtxSynchronize()
    return cuda.read(out, 1)[0]


def counter(cuda, module):
    address, size = c_uint64(), c_size_t()
    cuda.cuModuleGetGlobal_v2(byref(address), byref(size), module, b"counter")
    assert size.value == 4
    return cuda.read(address.value, 1)[0]


def test_kernels_share_the_module_s_variables_and_functions(cuda, module):
    numbers = [COUNT - 1, 0, 57, 0]
    assert [result(cuda, module, n) for n in numbers] == [2 * (n + 5) * 3 for n in numbers]
    assert counter(cuda, module) == len(numbers)


def test_names_and_attributes(cuda, module):
    count, name = c_uint(), c_char_p()
    cuda.cuModuleGetFunctionCount(byref(count), module)
    assert count.value == COUNT
    function = cuda.function(module, "kernel_7")
    found = (c_void_p * COUNT)()
    cuda.cuModuleEnumerateFunctions(found, COUNT, module)
    names = set()
    for one in found:
        cuda.cuFuncGetName(byref(name), one)
        names.add(name.value.decode())
    assert names == {f"kernel_{n}" for n in range(COUNT)}
    assert function in list(found)  # every call returns the same handle
    value, offset, size = c_int(), c_size_t(), c_size_t()
    cuda.cuFuncGetAttribute(byref(value), 1, function)
    assert value.value == 16  # bytes of shared memory
    cuda.cuFuncGetAttribute(byref(value), 0, function)
    assert value.value == 64
    cuda.cuFuncGetParamInfo(function, c_size_t(1), byref(offset), byref(size))
    assert (offset.value, size.value) == (8, 4)
    out = c_void_p()
    assert cuda.code("cuModuleGetFunction", byref(out), module, b"kernel_999") == NOT_FOUND


HEADS = {
    "comment behind the linkage": ".visible /* exported */ .entry {name}",
    "comment in front of the name": '.visible .entry // of all {{\n/* " */ {name}',
    "comment behind the name": ".visible .entry {name}/* its }} parameters: */",
    "comments and nothing else between": ".visible/**/.entry/***/{name}",
    "no blank": ".visible.entry {name}",
    "none": ".entry {name}",
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_of_each_form(cuda, mode, head):
    if cuda.on_hardware and head == "none":
        pytest.skip("without .visible a name is not seen outside of its module")
    own = KERNEL.format(n=COUNT)
    usual = f".visible .entry kernel_{COUNT}"
    assert usual in own
    own = own.replace(usual, HEADS[head].format(name=f"kernel_{COUNT}"))
    module, count = cuda.module(text(more=own)), c_uint()
    assert result(cuda, module, COUNT) == 2 * (COUNT + 5) * 3
    assert result(cuda, module, 1) == 36
    cuda.cuModuleGetFunctionCount(byref(count), module)
    assert count.value == COUNT + 1
    cuda.cuModuleUnload(module)


def test_handles_end_with_the_module(cuda, mode):
    module = cuda.module(text())
    function, value = cuda.function(module, "kernel_3"), c_int()
    cuda.cuModuleUnload(module)
    out = c_void_p()
    assert cuda.code("cuModuleGetFunction", byref(out), module, b"kernel_4") != SUCCESS
    if not cuda.on_hardware:  # there a stale handle is undefined behaviour
        assert cuda.code("cuFuncGetAttribute", byref(value), 0, function) != SUCCESS


def test_the_mode_is_told(cuda, mode):
    found = c_int()
    cuda.cuModuleGetLoadingMode(byref(found))
    if not cuda.on_hardware:  # a GPU's driver reads the variable once, when it is initialised
        assert found.value == (EAGER if mode == "EAGER" else LAZY)


def load_code(cuda, image):
    return cuda.code("cuModuleLoadData", byref(c_void_p()), image)


BAD = ".visible .entry bad() {\n    frobnicate.u32 %r1;\n    ret;\n}\n"


def test_an_error_in_one_kernel_is_found_with_it(cuda, mode):
    if cuda.on_hardware:
        pytest.skip("its compiler reads all PTX at once")
    if mode == "EAGER":
        assert load_code(cuda, text(more=BAD)) == INVALID_PTX
        return
    module, out = cuda.module(text(more=BAD)), c_void_p()
    for _ in range(2):
        assert cuda.code("cuModuleGetFunction", byref(out), module, b"bad") == INVALID_PTX
    refusal = cuda.library.cupola_cpu_last_refusal
    refusal.restype = c_char_p
    line = text(more=BAD).split(b"\n").index(b"    frobnicate.u32 %r1;") + 1
    assert f"line {line}:".encode() in refusal() and b"frobnicate.u32 %r1;" in refusal()
    assert result(cuda, module, 2) == 42
    found = (c_void_p * (COUNT + 1))()
    enumerate_all = cuda.code("cuModuleEnumerateFunctions", found, COUNT + 1, module)
    assert enumerate_all == INVALID_PTX


@pytest.fixture
def library(cuda):
    made = []

    def load(ptx):
        made.append(c_void_p())
        cuda.cuLibraryLoadData(byref(made[-1]), ptx, None, None, 0, None, None, 0)
        return made[-1]

    yield load
    for one in made:
        cuda.cuLibraryUnload(one)


def test_a_library_reads_kernels_as_a_module_does(cuda, mode, library):
    loaded, count, kernel = library(text()), c_uint(), c_void_p()
    cuda.cuLibraryGetKernelCount(byref(count), loaded)
    assert count.value == COUNT
    found, name, value = (c_void_p * COUNT)(), c_char_p(), c_int()
    cuda.cuLibraryEnumerateKernels(found, 0, loaded)
    assert not any(found)
    cuda.cuLibraryEnumerateKernels(found, COUNT, loaded)
    names = {}
    for one in found:
        cuda.cuKernelGetName(byref(name), one)
        names[name.value.decode()] = one
    assert set(names) == {f"kernel_{n}" for n in range(COUNT)}
    out = cuda.alloc(4)
    for n in (5, 0, COUNT - 1):
        cuda.cuLibraryGetKernel(byref(kernel), loaded, f"kernel_{n}".encode())
        assert kernel.value == names[f"kernel_{n}"]
        cuda.launch(kernel, 1, 1, c_uint64(out), c_uint(5))
        cuda.cuCtxSynchronize()
        assert cuda.read(out, 1)[0] == 2 * (n + 5) * 3
    cuda.cuKernelGetAttribute(byref(value), 0, names["kernel_9"], 0)
    assert value.value == 64  # max threads, of a kernel that no call used before
    cuda.cuMemFree_v2(out)


def test_attributes_of_a_kernel_reach_a_function_that_is_made_later(cuda, mode, library):
    loaded, kernel, module, function = library(text()), c_void_p(), c_void_p(), c_void_p()
    value, limit = c_int(), 50 << 10
    cuda.cuLibraryGetModule(byref(module), loaded)
    cuda.cuLibraryGetKernel(byref(kernel), loaded, b"kernel_8")
    cuda.cuKernelSetAttribute(8, limit, kernel, 0)
    if not cuda.on_hardware:  # whose modules of libraries are empty to their caller
        cuda.cuModuleGetFunction(byref(function), module, b"kernel_8")
        cuda.cuFuncGetAttribute(byref(value), 8, function)
        assert value.value == limit
    cuda.cuKernelGetFunction(byref(function), kernel)
    cuda.cuFuncGetAttribute(byref(value), 8, function)
    assert value.value == limit


def test_an_error_in_a_library_s_kernel_is_found_with_it(cuda, mode, library):
    if cuda.on_hardware:
        pytest.skip("its compiler reads all PTX at once")
    wrong, kernel, function = text(more=BAD), c_void_p(), c_void_p()
    if mode == "EAGER":
        code = cuda.code("cuLibraryLoadData", byref(kernel), wrong, None, None, 0, None, None, 0)
        assert code == INVALID_PTX
        return
    loaded = library(wrong)
    assert cuda.code("cuLibraryGetKernel", byref(kernel), loaded, b"bad") == INVALID_PTX
    found = (c_void_p * (COUNT + 1))()
    cuda.cuLibraryEnumerateKernels(found, COUNT + 1, loaded)
    assert cuda.code("cuKernelGetFunction", byref(function), found[COUNT]) == INVALID_PTX
    assert cuda.code("cuKernelGetAttribute", byref(c_int()), 0, found[COUNT], 0) == INVALID_PTX
    assert cuda.code("cuKernelGetFunction", byref(function), found[0]) == SUCCESS


@pytest.mark.parametrize(
    "more",
    [
        ".global .u32 nothing = frobnicate;\n",  # a mistake outside of all kernels
        ".func broken() {\n    frobnicate;\n}\n",
        "}\n",
        ".visible .entry open() {\n",
        "/* open",
        ".global .u32 counter;\n",  # a second declaration
        KERNEL.format(n=0),
        "frobnicate\n",
    ],
)
def test_all_else_is_found_at_once(cuda, mode, more):
    assert load_code(cuda, text(more=more)) == INVALID_PTX


POINTERS = """
.global .align 8 .u64 handler;
.func (.param .b32 r) thrice(.param .b32 a) {
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [a];
    mul.lo.u32 %r2, %r1, 3;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry choose() {
    .reg .b64 %rd<3>;
    mov.u64 %rd1, thrice;
    st.global.u64 [handler], %rd1;
    ret;
}
.visible .entry use(.param .u64 out) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.global.u64 %rd2, [handler];
    mov.u32 %r1, 14;
    {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r1;
    prototype : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %rd2, (a), prototype;
    ld.param.b32 %r2, [r];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


def test_a_function_that_one_kernel_hands_to_another(cuda, mode):
    module, out = cuda.module(text(more=POINTERS)), cuda.alloc(4)
    cuda.launch(cuda.function(module, "choose"), 1, 1)
    cuda.launch(cuda.function(module, "use"), 1, 1, c_uint64(out))
    cuda.cuCtxSynchronize()
    assert cuda.read(out, 1)[0] == 42


def test_a_kernel_s_own_variable_is_kept_between_launches(cuda, mode):
    own = """
.visible .entry counts(.param .u64 out) {
    .global .align 4 .u32 calls = 40;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    atom.global.add.u32 %r1, [calls], 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""
    if cuda.on_hardware:
        pytest.skip("its compiler takes no variables in a kernel")
    module, out = cuda.module(text(more=own)), cuda.alloc(4)
    for expected in (40, 41):
        cuda.launch(cuda.function(module, "counts"), 1, 1, c_uint64(out))
        cuda.cuCtxSynchronize()
        assert cuda.read(out, 1)[0] == expected
