# ruff: noqa: E501 - PTX text is wide
"""Multimem: memory of several devices at one address, which no device here has.

Modules that use it load. With memory of one device they do what an H200 did: it stores and reduces
in global memory, and faults at a load.
"""

import driver_abi
import numpy as np
import pytest

from . import driver as ptx
from . import table

COVERED = """
multimem.ld_reduce.add.u32 multimem.ld_reduce.add.f16x2 multimem.ld_reduce.min.u32
multimem.ld_reduce.and.b32 multimem.ld_reduce.add.v2.f32 multimem.ld_reduce.add.v2.f16x2
multimem.ld_reduce.add.v2.f16 multimem.ld_reduce.min.v2.f16x2 multimem.ld_reduce.min.v2.f16
multimem.st.b32 multimem.st.v2.f32 multimem.st.v2.f16 multimem.red.add.u32 multimem.red.min.u32
multimem.red.and.b32 multimem.red.add.v2.f32 multimem.red.add.v2.f16 multimem.red.min.v2.f16x2
multimem.red.min.v2.f16
"""

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
ENTRY = """.visible .entry k%s(.param .u64 pa) {
.reg .b16 %%h<9>; .reg .b32 %%r<9>; .reg .b64 %%d<9>; .reg .pred %%p<2>; .shared .align 16 .b8 room[64];
ld.param.u64 %%d0, [pa]; setp.eq.u64 %%p1, %%d0, 0; """
WIDTHS = {"f16": "h", "bf16": "h", "b64": "d", "u64": "d", "s64": "d", "f64": "d"}


def statements():
    for row in table.rows():
        bulk = row.mnemonic.startswith("multimem.cp.")  # in test_bulk_parts
        if not row.mnemonic.startswith("multimem.") or bulk or row.targets != "sm_90":
            continue
        for opcode, named, kind, _ in row.opcodes():
            for vector in ("v2", "v4", "v8"):
                if (axis := named.get("vector_2_4") or named.get("vector_always")) and (
                    vector != "v8" or "vector_always" in named
                ):
                    yield opcode.replace(f".{axis}.", f".{vector}."), kind, int(vector[1])
            if not {"vector_2_4", "vector_always"} & set(named):
                yield opcode, kind, 1


def written(opcode, kind, count):
    registers = [f"%{WIDTHS.get(kind, 'r')}{k + 1}" for k in range(count)]
    value = registers[0] if count == 1 else "{" + ", ".join(registers) + "}"
    return f"{opcode} {value}, [%d0];" if "ld_reduce" in opcode else f"{opcode} [%d0], {value};"


def test_all_forms_load(load):
    forms = {written(*s) for s in statements()}
    assert len(forms) == 132  # NVIDIA's assembler takes 132 forms
    orders = [
        f"multimem.{name}{order}{space}{operation}.u32 {operands}"
        for name, orders, operation, operands in [
            ("ld_reduce", ("relaxed", "acquire"), ".min", "%r1, [%d0];"),
            ("st", ("relaxed", "release"), "", "[%d0], %r1;"),
            ("red", ("relaxed", "release"), ".max", "[%d0+16], 5;"),
        ]
        for space in ("", ".global")
        for order in ("", *(f".{o}.{s}" for o in orders for s in ("cta", "cluster", "gpu", "sys")))
    ]
    weak = [
        "multimem.ld_reduce.weak.add.acc::f32.bf16x2 %r1, [%d0];",
        "multimem.st.weak.b64 [%d0], %d1;",
    ]
    every = [*sorted(forms), *orders, *weak]
    load(HEAD + "".join(ENTRY % n + form + " ret; }\n" for n, form in enumerate(every)))


@pytest.mark.parametrize(
    "form",
    ["ld_reduce.add.s64 %d1, [%d0];", "ld_reduce.min.f32 %r1, [%d0];", "ld_reduce.add.f16 %h1, [%d0];",
     "ld_reduce.and.u32 %r1, [%d0];", "ld_reduce.add.acc::f32.f32 %r1, [%d0];", "ld_reduce.add.acc::f16.v4.f16x2 {%r1, %r2, %r3, %r4}, [%d0];",
     "ld_reduce.add.v8.f16x2 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d0];", "ld_reduce.relaxed.add.u32 %r1, [%d0];",
     "ld_reduce.gpu.add.u32 %r1, [%d0];", "ld_reduce.release.gpu.add.u32 %r1, [%d0];", "ld_reduce.shared.add.u32 %r1, [%d0];",
     "ld_reduce.add.v2.f16 {%r1, %r2}, [%d0];", "st.acquire.gpu.u32 [%d0], %r1;", "st.v2.u32 [%d0], {%r1, %r2};", "st.u16 [%d0], %h1;",
     "st.f16 [%d0], %h1;", "red.weak.add.u32 [%d0], %r1;", "red.inc.u32 [%d0], %r1;", "red.min.f16x2 [%d0], %r1;",
     "red.add.s64 [%d0], %d1;", "red.add.noftz.f16x2 [%d0], %r1;"],
)  # fmt: skip
def test_other_forms_are_refused(form, driver):
    with pytest.raises(driver_abi.DriverError) as error:
        driver.load(HEAD + "\n" + ENTRY % "" + "\nmultimem." + form + " ret; }\n")
    assert error.value.code == driver_abi.INVALID_PTX
    assert driver.on_hardware or "line 8:" in error.value.log


LOADS = [
    "multimem.ld_reduce.relaxed.sys.add.u32 %r1, [%d0]; st.u32 [%d0], %r1;",
    "multimem.ld_reduce.add.acc::f32.v4.bf16x2 {%r1, %r2, %r3, %r4}, [%d0]; st.v4.u32 [%d0], {%r1, %r2, %r3, %r4};",
    "multimem.ld_reduce.min.s64 %d1, [%d0]; st.u64 [%d0], %d1;",
]
REDUCTIONS = [
    "multimem.red.relaxed.sys.add.u32 [%d0], %r1;",
    "multimem.red.add.v8.f16 [%d0], {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8};",
]
STORES = [
    "multimem.st.relaxed.sys.u32 [%d0], %r1;",
    "multimem.st.v4.f32 [%d0], {%r1, %r2, %r3, %r4};",
]
PLACES = {
    "memory": "",
    "nothing": "mov.b64 %d0, 64;",
    "odd": "add.u64 %d0, %d0, 1;",
    "shared": "mov.u64 %d0, room; cvta.shared.u64 %d0, %d0;",
    "local": ".local .align 16 .b8 own[64]; mov.u64 %d0, own; cvta.local.u64 %d0, %d0;",
}
NOWHERE, ODD, ELSEWHERE = (
    driver_abi.ILLEGAL_ADDRESS,
    driver_abi.MISALIGNED_ADDRESS,
    driver_abi.INVALID_ADDRESS_SPACE,
)
FAULTS = [
    *((access, place, NOWHERE) for access in LOADS for place in ("memory", "nothing")),
    *((access, place, ELSEWHERE) for access in LOADS + REDUCTIONS for place in ("shared", "local")),
    *((access, "nothing", NOWHERE) for access in STORES + REDUCTIONS),
    *((access, "odd", ODD) for access in STORES + REDUCTIONS),
]


@pytest.mark.parametrize("access, place, code", FAULTS)
def test_faults(access, place, code):
    text = HEAD + ENTRY % "" + PLACES[place] + access + " ret; }\n"
    done = ptx.in_child(text, "module.run('k', 1, 1, [np.zeros(8)])")
    assert f"code {code}" in done.stdout, done.stderr


@pytest.mark.parametrize("place", ["shared", "local"])
@pytest.mark.parametrize("access", STORES)
def test_stores_elsewhere(access, place, load):
    load(HEAD + ENTRY % "" + PLACES[place] + access + " ret; }\n").run("k", 1, 1, [np.zeros(8)])


HALF = np.float16
WITH_MEMORY = {  # statement: what is there before and after, %r1 to %r8, %d1 and %h1 to %h8 being 1 to 8
    "st.relaxed.sys.global.u32 [%d0+4], %r1;": (np.uint32, [9, 9, 9], [9, 1, 9]),
    "st.b64 [%d0], %d1;": (np.uint64, [9], [1]),
    "st.release.gpu.v4.f32 [%d0], {%r1, %r2, %r3, %r4};": (np.uint32, [9] * 5, [1, 2, 3, 4, 9]),
    "st.v8.bf16 [%d0], {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8};": (
        np.uint16,
        [9] * 9,
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ),
    "red.relaxed.sys.global.add.u32 [%d0], %r2;": (np.uint32, [5, 9], [7, 9]),
    "red.release.sys.max.s32 [%d0], %r3;": (np.int32, [-5, 9], [3, 9]),
    "red.min.s64 [%d0], %d1;": (np.int64, [5], [1]),
    "red.xor.b32 [%d0], %r3;": (np.uint32, [6], [5]),
    "red.add.v2.f32 [%d0], {%f1, %f2};": (np.float32, [1, 2, 3], [2.5, 4.5, 3]),
    "red.add.f16x2 [%d0], %q1;": (HALF, [1, 2], [2.5, 4.5]),
    "red.add.v2.f16 [%d0], {%g1, %g2};": (HALF, [1, 2, 3], [2.5, 4.5, 3]),
    "red.min.v2.f16x2 [%d0], {%q1, %q1};": (HALF, [1, 2, 3, 1, 5], [1, 2, 1.5, 1, 5]),
    "red.max.v4.f16 [%d0], {%g1, %g2, %g1, %g2};": (HALF, [1, 2, 3, 4, 5], [1.5, 2.5, 3, 4, 5]),
}


@pytest.mark.parametrize("statement", WITH_MEMORY)
def test_memory_of_one_device(statement, load):
    kind, before, after = WITH_MEMORY[statement]
    values = (
        "".join(f"mov.b32 %r{n}, {n}; mov.b16 %h{n}, {n};" for n in range(1, 9)) + "mov.b64 %d1, 1;"
    )
    values += (
        ".reg .f32 %f<3>; .reg .b16 %g<3>; .reg .b32 %q<2>; mov.f32 %f1, 1.5; mov.f32 %f2, 2.5;"
    )
    values += "cvt.rn.f16.f32 %g1, %f1; cvt.rn.f16.f32 %g2, %f2; mov.b32 %q1, {%g1, %g2};"
    memory = np.array(before, kind)
    load(HEAD + ENTRY % "" + values + "multimem." + statement + " ret; }\n").run(
        "k", 1, 1, [memory]
    )
    assert (memory == np.array(after, kind)).all()


def test_lanes_that_are_guarded_access_nothing(load, driver):
    driver.skip_on_hardware("its compiler drops the guards of stores and reductions")
    for access in LOADS + STORES + REDUCTIONS:
        guarded = "".join(f"@%p1 {part};" for part in access.split(";") if part.strip())
        load(HEAD + ENTRY % "" + guarded + " ret; }\n").launch("k", 1, 1, [ptx.c_uint64(1)])
