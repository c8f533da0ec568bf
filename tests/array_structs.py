"""tests/array_structs.py - kernels that take an array as a struct, and as several parameters.

``twice`` takes two structs. The struct of ``x`` has the address, the length and the stride in
elements; the struct of ``out`` has the address and the length. ``thrice`` takes the length of
``x``, its address and its stride in bytes as three parameters. Both write multiples of the elements
of ``x``.
"""

import json

import cupola

PTX = """\
.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(
    .param .align 8 .b8 twice_param_0[24],
    .param .align 8 .b8 twice_param_1[16]
)
{
    .reg .pred %p;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [twice_param_0+8];
    setp.ge.s32 %p, %r4, %r5;
    @%p ret;
    ld.param.u64 %rd1, [twice_param_0];
    ld.param.u64 %rd2, [twice_param_0+16];
    ld.param.u64 %rd3, [twice_param_1];
    cvt.s64.s32 %rd4, %r4;
    mul.lo.s64 %rd5, %rd4, %rd2;
    shl.b64 %rd5, %rd5, 2;
    add.s64 %rd5, %rd1, %rd5;
    ld.global.f32 %f1, [%rd5];
    add.f32 %f2, %f1, %f1;
    shl.b64 %rd6, %rd4, 2;
    add.s64 %rd7, %rd3, %rd6;
    st.global.f32 [%rd7], %f2;
    ret;
}
.visible .entry thrice(
    .param .u64 thrice_param_0,
    .param .u64 thrice_param_1,
    .param .u64 thrice_param_2,
    .param .u64 thrice_param_3
)
{
    .reg .pred %p;
    .reg .f32 %f<4>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<10>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    cvt.s64.s32 %rd4, %r4;
    ld.param.u64 %rd1, [thrice_param_0];
    setp.ge.s64 %p, %rd4, %rd1;
    @%p ret;
    ld.param.u64 %rd2, [thrice_param_1];
    ld.param.u64 %rd3, [thrice_param_2];
    ld.param.u64 %rd5, [thrice_param_3];
    mul.lo.s64 %rd6, %rd4, %rd3;
    add.s64 %rd7, %rd2, %rd6;
    ld.global.f32 %f1, [%rd7];
    add.f32 %f2, %f1, %f1;
    add.f32 %f3, %f2, %f1;
    shl.b64 %rd8, %rd4, 2;
    add.s64 %rd9, %rd5, %rd8;
    st.global.f32 [%rd9], %f3;
    ret;
}
"""
FLOAT = {"kind": "float", "type": "float", "size": 4, "dtype": "<f4"}


def array(name, *values, **changes):
    return {
        "kind": "array", "name": name, "parameters": 1, "element": "float32", "shape": [None],
        "steps": [None], "contiguous": False, "const": True, "align": 1,
        "values": [list(value) for value in values], **changes,
    }  # fmt: skip


X = array("x", (0, 8, "data"), (8, 4, "shape.0"), (16, 8, "step.0"))
OUT = array("out", (0, 8, "data"), (8, 4, "size"), steps=[1], const=False)
SEVERAL = array("x", (0, 8, "shape.0"), (8, 8, "data"), (16, 8, "stride.0"), parameters=3)


def struct(name, offset, size, descriptor):
    names = ["data", "n", "step"] if size == 24 else ["data", "n"]
    formats, offsets = ["<u8", "<i4", "<i8"], [0, 8, 16]
    dtype = {
        "names": names, "formats": formats[: len(names)], "offsets": offsets[: len(names)],
        "itemsize": size,
    }  # fmt: skip
    return {
        "name": name, "kind": "struct", "type": "View", "offset": offset, "size": size,
        "dtype": dtype, "fields": [], "descriptor": descriptor,
    }  # fmt: skip


def number(name, offset):
    return {"name": name, "kind": "integer", "type": "long long", "offset": offset, "size": 8,
            "signed": True, "dtype": "<i8"}  # fmt: skip


def pointer(name, offset, *, const=False):
    return {"name": name, "kind": "pointer", "type": "float*", "offset": offset, "size": 8,
            "const": const, "element": FLOAT}  # fmt: skip


def manifest(x=X, out=OUT, several=SEVERAL):
    first = {**number("x_shape", 0), "descriptor": several}
    thrice = [first, pointer("x", 8, const=True), number("x_stride", 16), pointer("out", 24)]
    return {
        "format": 1,
        "kernels": [
            {"name": "twice", "parameters": [struct("x", 0, 24, x), struct("out", 24, 16, out)]},
            {"name": "thrice", "parameters": thrice},
        ],
    }


def load(folder, **descriptors):
    """The module, whose manifest has other descriptors of the given names."""
    (folder / "arrays.ptx").write_text(PTX)
    (folder / "arrays.json").write_text(json.dumps(manifest(**descriptors)))
    return cupola.load(folder / "arrays.ptx")
