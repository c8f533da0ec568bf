"""Linking of PTX: cuLinkCreate, AddData, AddFile, Complete, Destroy."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import pytest
from driver_abi import *

HEAD = ".version 7.0\n.target sm_52\n.address_size 64\n"
# `run` stores helper() + twice(shared_value) + hidden; helper and hidden are each text's own.
CALLER = """
.extern .func (.param .b32 result) twice (.param .b32 value);
.extern .global .align 4 .u32 shared_value;
.global .align 4 .u32 hidden = 7;
.func (.param .b32 result) helper ()
{ .reg .b32 %r; mov.u32 %r, 1000; st.param.b32 [result], %r; ret; }
.visible .entry run (.param .u64 out)
{
    .reg .b32 %r<6>; .reg .b64 %rd<2>;
    { .param .b32 got; call.uni (got), helper, (); ld.param.b32 %r0, [got]; }
    ld.global.u32 %r1, [shared_value];
    { .param .b32 given; .param .b32 got; st.param.b32 [given], %r1;
      call.uni (got), twice, (given); ld.param.b32 %r2, [got]; }
    ld.global.u32 %r3, [hidden];
    add.u32 %r4, %r0, %r2;
    add.u32 %r5, %r4, %r3;
    ld.param.u64 %rd0, [out];
    cvta.to.global.u64 %rd1, %rd0;
    st.global.u32 [%rd1], %r5;
    ret;
}
"""
CALLED = """
.visible .global .align 4 .u32 shared_value = 20;
.global .align 4 .u32 hidden = 500;
.func (.param .b32 result) helper (.param .b32 value)
{ .reg .b32 %r<2>; ld.param.b32 %r0, [value]; add.u32 %r1, %r0, %r0;
  st.param.b32 [result], %r1; ret; }
.visible .func (.param .b32 result) twice (.param .b32 value)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r0, [value];
    { .param .b32 given; .param .b32 got; st.param.b32 [given], %r0;
      call.uni (got), helper, (given); ld.param.b32 %r1, [got]; }
    st.param.b32 [result], %r1;
    ret;
}
"""
PTX_INPUT, FATBIN_INPUT = 1, 2
ERROR_LOG, ERROR_LOG_SIZE = 5, 6


class Link:
    """A link with an error log, destroyed at the end."""

    def __init__(self, cuda, room=4096):
        self.cuda, self.state = cuda, c_void_p()
        self.log = ctypes.create_string_buffer(room)
        self.options = (c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        self.values = (c_void_p * 2)(ctypes.addressof(self.log), room)
        cuda.cuLinkCreate_v2(2, self.options, self.values, byref(self.state))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cuda.cuLinkDestroy(self.state)

    def add(self, text, kind=PTX_INPUT, name=b"text.ptx"):
        data = text if isinstance(text, bytes) else (HEAD + text).encode() + b"\0"
        nothing = c_void_p()
        return self.cuda.code(
            "cuLinkAddData_v2", self.state, kind, data, len(data), name, 0, nothing, nothing
        )

    def complete(self):
        image, size = c_void_p(), c_size_t()
        code = self.cuda.code("cuLinkComplete", self.state, byref(image), byref(size))
        return code, ctypes.string_at(image, size.value) if code == SUCCESS else b""


def result(cuda, image):
    module = cuda.module(image)
    out = cuda.alloc(4)
    cuda.launch(cuda.function(module, "run"), 1, 1, c_uint64(out))
    (value,) = cuda.read(out, 1)
    cuda.cuMemFree_v2(out)
    cuda.cuModuleUnload(module)
    return value


@pytest.mark.parametrize("order", [(CALLER, CALLED), (CALLED, CALLER)], ids=["before", "after"])
def test_what_one_declares_another_defines(cuda, order):
    with Link(cuda) as link:
        for text in order:
            assert link.add(text) == SUCCESS
        code, image = link.complete()
        assert code == SUCCESS, link.log.value
    assert result(cuda, image) == 1000 + 2 * 20 + 7


# `twice` by another name, which the other text knows it by; each has a `helper` of its own.
ALIASED = """
.func (.param .b32 result) helper (.param .b32 value);
.alias helper, doubled;
.visible .func (.param .b32 result) twice (.param .b32 value);
.alias twice, doubled;
.visible .global .align 4 .u32 shared_value = 20;
"""


@pytest.mark.parametrize("order", [1, -1])
def test_other_names_of_functions(cuda, own, order):
    """NVIDIA's linker does not know another text's function by its alias."""
    define = CALLED[CALLED.index(".func") : CALLED.index(".visible .func")]
    aliased = define.replace("helper", "doubled") + ALIASED
    with Link(cuda) as link:
        for text in (CALLER, aliased)[::order]:
            assert link.add(text) == SUCCESS
        code, image = link.complete()
        assert code == SUCCESS, link.log.value
    assert result(cuda, image) == 1000 + 2 * 20 + 7


DEVICE_LIBRARY = b"!<arch>\n" + b"//".ljust(48) + b"24        `\ncuda_device_runtime.o/\n\n"
CALL = """
.extern .func {name}(.param .b64 first, .param .b32 second);
.visible .entry run(.param .u64 out) {{
    .reg .b64 %rd<2>; ld.param.u64 %rd0, [out];
    {{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd0; st.param.b32 [b], 1;
      call.uni {name}, (a, b); }}
    ret;
}}
"""


def test_the_library_of_device_functions(cuda, own):
    """It adds nothing: what it would define is there, or is missed in the end."""
    for name, expected in (("cudaGraphSetConditional", SUCCESS), ("cudaOfNoSuchName", INVALID_PTX)):
        with Link(cuda) as link:
            assert link.add(CALL.format(name=name)) == SUCCESS
            assert link.add(DEVICE_LIBRARY, kind=4) == SUCCESS
            assert link.complete()[0] == expected
    with Link(cuda) as link:
        assert link.add(DEVICE_LIBRARY.replace(b"runtime", b"another"), kind=4) == NOT_SUPPORTED


def test_one_input_alone(cuda):
    with Link(cuda) as link:
        assert link.add(CALLED + CALLER.split(";", 2)[2].replace("hidden", "other").replace(
            "helper", "another")) == SUCCESS  # fmt: skip
        code, image = link.complete()
        assert code == SUCCESS, link.log.value
    assert result(cuda, image) == 1047


WEAK = """
.weak .func (.param .b32 result) common ()
{ .reg .b32 %r; mov.u32 %r, 5; st.param.b32 [result], %r; ret; }
.weak .global .align 4 .u32 one_of_two = 6;
"""
USES_WEAK = """
.visible .func (.param .b32 result) twice (.param .b32 value)
{
    .reg .b32 %r<3>;
    { .param .b32 got; call.uni (got), common, (); ld.param.b32 %r0, [got]; }
    ld.global.u32 %r1, [one_of_two];
    add.u32 %r2, %r0, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.visible .global .align 4 .u32 shared_value = 20;
"""


@pytest.mark.parametrize("first", [0, 1])
def test_weak_definitions_become_one(cuda, first):
    texts = [WEAK + USES_WEAK, WEAK + CALLER]
    with Link(cuda) as link:
        for text in (texts[first], texts[1 - first]):
            assert link.add(text) == SUCCESS
        code, image = link.complete()
        assert code == SUCCESS, link.log.value
    assert result(cuda, image) == 1000 + 11 + 7


def test_a_strong_definition_goes_before_a_weak_one(cuda):
    strong = WEAK.replace(".weak", ".visible").replace("5", "50").replace("6", "60")
    for texts in ((WEAK + USES_WEAK, strong, CALLER), (strong, CALLER, WEAK + USES_WEAK)):
        with Link(cuda) as link:
            for text in texts:
                assert link.add(text) == SUCCESS
            code, image = link.complete()
            assert code == SUCCESS, link.log.value
        assert result(cuda, image) == 1000 + 110 + 7


COMMON = ".common .global .align 4 .u32 shared_value;\n"


@pytest.mark.parametrize("defined", [False, True])
def test_common_variables_become_one(cuda, defined):
    """Zero unless one of the texts defines it."""
    caller = CALLER.replace(".extern .global .align 4 .u32 shared_value;", COMMON)
    called = CALLED
    if not defined:
        called = CALLED.replace(".visible .global .align 4 .u32 shared_value = 20;", COMMON)
    for texts in ((caller, called), (called, caller)):
        with Link(cuda) as link:
            for text in texts:
                assert link.add(text) == SUCCESS
            code, image = link.complete()
            assert code == SUCCESS, link.log.value
        assert result(cuda, image) == 1000 + (40 if defined else 0) + 7


def refused(cuda, link, code, text):
    """The log names what is wrong; NVIDIA's linker may begin with the function."""
    if cuda.on_hardware:
        assert code != SUCCESS
        assert b"twice" in link.log.value or b"shared_value" in link.log.value
    else:
        assert code == INVALID_PTX and text in link.log.value, (code, link.log.value)


def test_what_nobody_defines(cuda):
    with Link(cuda) as link:
        assert link.add(CALLER) == SUCCESS
        code, _ = link.complete()
        refused(cuda, link, code, b"'shared_value' is not defined")


def test_what_two_define(cuda):
    with Link(cuda) as link:
        codes = [link.add(CALLER), link.add(CALLED), link.add(CALLED)]
        assert codes[:2] == [SUCCESS, SUCCESS]
        # NVIDIA's driver gave this code, and UNKNOWN after other links in the process.
        assert codes[2] == INVALID_SOURCE or (cuda.on_hardware and codes[2] == UNKNOWN)
        text = b"shared_value" if cuda.on_hardware else b"'shared_value' is defined more than once"
        assert text in link.log.value
        if not cuda.on_hardware:  # NVIDIA's linker prints no more after such an error
            code, image = link.complete()
            assert code == SUCCESS and result(cuda, image) == 1000 + 40 + 7


def test_wrong_ptx(cuda):
    with Link(cuda) as link:
        assert link.add(CALLED.replace("add.u32", "odd.u32")) == INVALID_PTX
        assert b"line 8" in link.log.value and (cuda.on_hardware or b"'odd.u32'" in link.log.value)


@pytest.mark.parametrize("text", [b"\0", b"hello\0", b".version\0", b".version 7.0\n.target\0",
                                  HEAD.encode() + b".func (\0", HEAD.encode() + b".visible\0",
                                  HEAD.encode() + b".section\0",
                                  HEAD.encode() + b".global .u32 x[2] = {1,\0"])  # fmt: skip
def test_what_is_no_ptx(cuda, own, text):
    with Link(cuda) as link:
        assert link.add(text) == (INVALID_PTX if b".version" in text else INVALID_IMAGE)
        assert link.log.value


def test_files(cuda, tmp_path):
    path = tmp_path / "called.ptx"
    path.write_bytes((HEAD + CALLED).encode() + b"\0")
    nothing = c_void_p()
    with Link(cuda) as link:
        add = ("cuLinkAddFile_v2", link.state, PTX_INPUT)
        assert cuda.code(*add, bytes(path), 0, nothing, nothing) == SUCCESS
        assert link.add(CALLER) == SUCCESS
        assert cuda.code(*add, b"/no/such.ptx", 0, nothing, nothing) == FILE_NOT_FOUND
        code, image = link.complete()
        assert code == SUCCESS
    assert result(cuda, image) == 1047


def test_machine_code_is_not_linked_here(cuda, own):
    with Link(cuda) as link:
        assert link.add(b"\x7fELF" + bytes(100), kind=0) == NOT_SUPPORTED
        assert b"machine code" in link.log.value


def test_misuse(cuda, own):
    nothing, state = c_void_p(), c_void_p()
    assert cuda.code("cuLinkCreate_v2", 0, nothing, nothing, nothing) == INVALID_VALUE
    cuda.cuLinkCreate_v2(0, nothing, nothing, byref(state))
    size, image = c_size_t(), c_void_p()
    assert cuda.code("cuLinkComplete", state, nothing, byref(size)) == INVALID_VALUE
    cuda.cuLinkComplete(state, byref(image), byref(size))  # makes an empty image
    assert cuda.module(ctypes.string_at(image, size.value))
    cuda.cuLinkDestroy(state)
    for call in (("cuLinkDestroy", state), ("cuLinkComplete", state, byref(image), byref(size))):
        assert cuda.code(*call) == INVALID_HANDLE
