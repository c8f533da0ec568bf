"""A graph with conditional nodes, and the kernels that set conditions."""

import ctypes
import os
import pathlib
import struct
from ctypes import byref, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .node_params import Graph

CONDITIONAL, IF, WHILE, SWITCH, ASSIGN = 13, 0, 1, 2, 1
TEXT = """
.version 8.3
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
// Writes the next number into the list, whose first word counts them.
.visible .entry note(.param .u64 list, .param .u32 number) {
    .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p;
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra END;
    ld.param.u64 %rd0, [list]; ld.param.u32 %r1, [number];
    ld.global.u32 %r2, [%rd0]; add.u32 %r2, %r2, 1; st.global.u32 [%rd0], %r2;
    mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r1;
    END: ret;
}
.visible .entry choose(.param .u64 handle, .param .u32 value) {
    .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p;
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra END;
    ld.param.u64 %rd0, [handle]; ld.param.u32 %r1, [value];
    { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd0; st.param.b32 [b], %r1;
    call.uni cudaGraphSetConditional, (a, b); }
    END: ret;
}
// One less in the word; the condition is what is left.
.visible .entry less(.param .u64 word, .param .u64 handle) {
    .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p;
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra END;
    ld.param.u64 %rd0, [word]; ld.param.u64 %rd1, [handle];
    ld.global.u32 %r1, [%rd0]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1;
    { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; st.param.b32 [b], %r1;
    call.uni cudaGraphSetConditional, (a, b); }
    END: ret;
}
.visible .entry fault() { .reg .b64 %rd; mov.u64 %rd, 8; st.global.u32 [%rd], 0; ret; }
"""


def linked(cuda, text=TEXT):
    """Link the text with CUDA's device library, which NVIDIA's driver needs for these functions."""
    if not cuda.on_hardware:
        return text.encode() + b"\0"
    home = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    library = next(home.glob("**/libcudadevrt.a"), None)
    if not library:
        pytest.skip("no libcudadevrt.a")
    state, image, size, none = c_void_p(), c_void_p(), c_size_t(), c_void_p()
    cuda.cuLinkCreate_v2(0, none, none, byref(state))
    data = text.encode() + b"\0"
    cuda.cuLinkAddData_v2(state, 1, data, len(data), b"text", 0, none, none)
    cuda.cuLinkAddFile_v2(state, 4, os.fsencode(library), 0, none, none)
    cuda.cuLinkComplete(state, byref(image), byref(size))
    return ctypes.string_at(image, size.value)


class Body(Graph):
    """The body of a conditional node."""

    def __init__(self, owner, handle):
        self.cuda, self.context, self.kept = owner.cuda, owner.context, owner.kept
        self.handle = c_void_p(handle)


class Conditions(Graph):
    """A graph with conditions, and a list to which its kernels append numbers."""

    def __init__(self, cuda, module, numbers):
        super().__init__(cuda)
        self.module, self.numbers = module, numbers

    def condition(self, initial=0, flags=ASSIGN, graph=None):
        handle = c_uint64()
        self.cuda.cuGraphConditionalHandleCreate(
            byref(handle), graph or self.handle, c_uint64(self.context), initial, flags
        )
        return handle.value

    def choice(self, graph, handle, kind, size=1, after=()):
        data = struct.pack("QiIQQ", handle, kind, size, 0, self.context)
        node, given = graph.add(CONDITIONAL, data, after)
        bodies = struct.unpack_from("Q", bytes(given.data), 16)[0]
        return node, [Body(self, b) for b in (c_uint64 * size).from_address(bodies)]

    def run_kernel(self, graph, name, *arguments, after=()):
        return graph.kernel(self.cuda.function(self.module, name), *arguments, after=after)

    def note(self, graph, number, after=()):
        return self.run_kernel(graph, "note", c_uint64(self.numbers), c_uint(number), after=after)

    def noted(self):
        count = self.cuda.read(self.numbers, 1)[0]
        found = self.cuda.read(self.numbers, count + 1)[1:]
        self.cuda.cuMemsetD32_v2(self.numbers, 0, 1)
        return found


@pytest.fixture
def graph(cuda):
    module, numbers = cuda.module(linked(cuda)), cuda.alloc(4096)
    cuda.cuMemsetD32_v2(numbers, 0, 1)
    made = Conditions(cuda, module, numbers)
    yield made
    cuda.cuGraphDestroy(made.handle)
    cuda.cuMemFree_v2(numbers)
    cuda.cuModuleUnload(module)
