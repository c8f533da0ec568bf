"""Kernels of compilers that fix the block and add parameters: a launch has a grid and arguments."""

import json

import numpy as np
import pytest

import cupola
from cupola.image.manifest import Fixed, Manifest

# out[block * 64 + thread] = thread, by way of 64 words of dynamic shared memory.
PTX = b"""
.version 7.0
.target sm_52
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry rows(
    .param .u64 out, .param .u32 n, .param .u64 scratch, .param .u64 profile
)
.reqntid 64
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<6>;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r0, [n];
    ld.param.u64 %d1, [scratch];
    ld.param.u64 %d4, [profile];
    or.b64 %d1, %d1, %d4;
    cvta.to.global.u64 %d0, %d0;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mov.u32 %r7, %ctaid.y;
    mad.lo.u32 %r2, %r7, %r3, %r2;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mov.u32 %r4, memory;
    shl.b32 %r5, %r1, 2;
    add.u32 %r4, %r4, %r5;
    cvt.u32.u64 %r6, %d1;
    add.u32 %r6, %r6, %r1;
    st.shared.u32 [%r4], %r6;
    ld.shared.u32 %r6, [%r4];
    setp.ge.u32 %p, %r3, %r0;
    @%p ret;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d3, %d0, %d2;
    st.global.u32 [%d3], %r6;
    ret;
}
"""
POINTER = {"kind": "pointer", "type": "int*", "size": 8, "const": False,
           "element": {"kind": "integer", "type": "int", "size": 4, "dtype": "<i4"}}  # fmt: skip
NUMBER = {"kind": "integer", "type": "int", "size": 4, "signed": True, "dtype": "<i4"}
HIDDEN = {"kind": "pointer", "type": "void*", "size": 8, "const": False, "element": None,
          "hidden": True}  # fmt: skip
KERNEL = {
    "name": "rows",
    "demangled": "rows",
    "parameters": [
        {**POINTER, "name": "out", "offset": 0, "align": 16},
        {**NUMBER, "name": "n", "offset": 8},
        {**HIDDEN, "name": "scratch", "offset": 16},
        {**HIDDEN, "name": "profile", "offset": 24},
    ],
    "block": [64, 1, 1],
    "shared": 256,
}


def manifest(**changes):
    text = json.dumps({"format": 1, "kernels": [{**KERNEL, **changes}]})
    return Manifest(text.encode(), "rows.json")


@pytest.fixture
def kernel():
    return cupola.Module(PTX, "rows.ptx", manifest())["rows"]


def expected(n):
    return np.arange(n, dtype=np.int32) % 64


@pytest.mark.parametrize(
    "launch",
    [
        lambda kernel, out: kernel[2](out, 128),
        lambda kernel, out: kernel[2](n=128, out=out),
        lambda kernel, out: kernel[(2,),](out, 128),
        lambda kernel, out: kernel[(1, 2),](out, 128),
        lambda kernel, out: kernel[2, None](out, 128),
        lambda kernel, out: kernel[(2,), 64](out, 128),
        lambda kernel, out: kernel[2, None, cupola.Stream.current()](out, 128),
        lambda kernel, out: kernel[2, None, None, 256](out, 128),
        lambda kernel, out: kernel.launch(2, None, out, 128),
        lambda kernel, out: kernel.launch(2, 64, out, n=128, shared=256),
        lambda kernel, out: kernel.prepare(2, None, out, 128)(),
    ],
)
def test_a_launch_needs_a_grid_and_the_declared_arguments(kernel, launch):
    for _ in range(2):  # the second time by the remembered grid
        out = cupola.zeros(128, np.int32)
        launch(kernel, out)
        assert np.array_equal(out.get(), expected(128))


def test_a_prepared_launch_replaces_arguments(kernel):
    out = cupola.zeros(128, np.int32)
    launch = kernel.prepare(2, None, out, 64)
    launch()
    launch["n"] = 128
    launch()
    assert np.array_equal(out.get(), expected(128))
    with pytest.raises(IndexError, match="takes 2 arguments"):
        launch[2] = 0


def test_a_node_of_a_graph(kernel):
    out = cupola.zeros(128, np.int32)
    graph = cupola.Graph()
    node = graph.add_kernel(kernel, 1, None, out, 64)
    run = graph.instantiate()
    run.update(node, out, 128, grid=2)
    run.launch()
    assert np.array_equal(out.get(), expected(128))


def test_what_describes_the_kernel_has_no_hidden_parameter(kernel):
    assert [one.name for one in kernel.params] == ["out", "n"]
    assert str(kernel.__signature__) == "(out: 'int*', n: 'int') -> None"
    assert kernel.__doc__.endswith(
        "Launched as rows[grid](...), with blocks of (64, 1, 1) threads."
    )
    configured = kernel[3]
    assert (configured.block, configured.shared) == ((64, 1, 1), 256)


@pytest.mark.parametrize(
    "launch, text",
    [
        (lambda k, x: k[(2,), 32], r"the block must be \(64, 1, 1\).* got \(32, 1, 1\)"),
        (lambda k, x: k[2, None, None, 512], "shared memory must be 256 bytes.* got 512"),
        (lambda k, x: k.launch(2, 128, x, 1), r"the block must be \(64, 1, 1\)"),
        (lambda k, x: k.prepare(2, 128, x, 1), r"the block must be \(64, 1, 1\)"),
        (lambda k, x: cupola.Graph().add_kernel(k, 1, 32, x, 1), r"the block must be"),
        (lambda k, x: k[2, 64], r"rows\[2\] for 2 blocks, or rows\[\(2, 64\),\]"),
        (lambda k, x: k[()], r"use rows\[grid, block\]"),
        (lambda k, x: k.forall(5), r"forall chooses a block.* rows\[grid\]"),
        (lambda k, x: k[2](x), r"takes 2 arguments \(out: a pointer to int, n: int\), got 1"),
        (lambda k, x: k[2](x, 1, None, None), "takes 2 arguments .* got 4"),
        (lambda k, x: k[2](x, 1, scratch=None), "scratch"),
        (lambda k, x: k[2](x[1:], 1), "out.* no multiple of 16"),
    ],
)  # fmt: skip
def test_another_launch_is_refused(kernel, launch, text):
    with pytest.raises(cupola.ArgumentError, match=text):
        launch(kernel, cupola.zeros(8, np.int32))


def test_a_declaration_keeps_the_block(kernel):
    kernel.declare("int* out, int n, void* scratch, void* profile")
    with pytest.raises(cupola.ArgumentError, match="the block must be"):
        kernel[(1,), 32]


def test_a_kernel_without_a_fixed_block_needs_one():
    about = {name: value for name, value in KERNEL.items() if name not in ("block", "shared")}
    text = json.dumps({"format": 1, "kernels": [about]}).encode()
    kernel = cupola.Module(PTX, "rows.ptx", Manifest(text, "rows.json"))["rows"]
    with pytest.raises(cupola.ArgumentTypeError, match=r"use rows\[grid, block\]"):
        kernel[2]
    with pytest.raises(cupola.ArgumentTypeError, match="block must be an int, got None"):
        kernel[2, None]


def test_the_manifest_is_read():
    assert manifest().fixed("rows") == Fixed((64, 1, 1), 256)


@pytest.mark.parametrize(
    "changes",
    [
        {"block": [64]},
        {"block": "64"},
        {"block": [64, 1, -1]},
        {"block": [64, 1, 1], "shared": None},
        {"block": [64, 1, 1], "shared": 1 << 40},
        {"parameters": [{**POINTER, "name": "out", "offset": 0, "align": 3}]},
    ],
)
def test_a_malformed_manifest_is_refused(changes):
    with pytest.raises(cupola.ImageError, match=r"rows\.json is malformed, kernel rows"):
        read = manifest(**changes)
        read.fixed("rows")
        read["rows"]
