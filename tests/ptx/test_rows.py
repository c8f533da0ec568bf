"""Each row of the instruction table that computes on registers, in every type and modifier, over
special and random values, against the reference; and that no row is without a test.
"""

import os
import random

import numpy as np
import pytest

from . import device_process, reference, table, unrecorded

ROWS = list(table.rows())
COUNT = 512  # threads, each with one tuple of sources
OUTPUTS = {"d", "dw", "d32", "dr", "p", "pq", "dp", "cc_out"}
LOWERED = {"set", "setp", "lop3"}

INTEGERS = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]
FLOATS = {
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x33800000, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000,
            0x3F800001, 0x3FC00000, 0x40200000, 0x4B800000, 0x4F000000, 0x5F000000, 0x7F7FFFFF,
            0x7F800000, 0x7FC00000, 0x7F800001, 0x7F801FFF, 0x7FFFFFFF],
    "f64": [0, 1, 0xFFFFFFFFFFFFF, 1 << 52, 0x3E70000000000000, 0x3FE0000000000000,
            0x3FF0000000000000, 0x3FF0000000000001, 0x3FF8000000000000, 0x4004000000000000,
            0x41E0000000000000, 0x43E0000000000000, 0x47EFFFFFE0000000, 0x36A0000000000000,
            0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x40EFFE0000000000],
    "f16": [0, 1, 0x3FF, 0x400, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4100, 0x7BFF, 0x7C00,
            0x7E00],
    "bf16": [0, 1, 0x7F, 0x80, 0x3F00, 0x3F7F, 0x3F80, 0x3F81, 0x3FC0, 0x4020, 0x7F7F, 0x7F80,
             0x7FC0],
}  # fmt: skip


def sources_of(kind, rng):
    """One source value of a type."""
    if kind == "pred":
        return rng.getrandbits(1)
    if kind in ("f16x2", "bf16x2", "f32x2"):
        part = kind[:-2]
        return sources_of(part, rng) << reference.size(part) | sources_of(part, rng)
    bits = reference.size(kind)
    pick = rng.random()
    if kind in FLOATS:
        if pick < 0.5:
            return rng.choice(FLOATS[kind]) | rng.getrandbits(1) << (bits - 1)
        if pick < 0.7:
            return rng.getrandbits(bits)
        # Numbers of like size, so that sums cancel and quotients are ordinary.
        e, m = reference.fl.FORMATS[kind]
        exponent = (1 << (e - 1)) - 1 + rng.randint(-6, 6)
        return rng.getrandbits(1) << (bits - 1) | exponent << m | rng.getrandbits(m)
    if pick < 0.35:
        return rng.choice(INTEGERS) & ((1 << bits) - 1)
    if pick < 0.6:
        return ((1 << bits - 1) + rng.randint(-3, 3) if pick < 0.5 else -rng.choice(INTEGERS)) & (
            (1 << bits) - 1
        )
    return rng.getrandbits(bits) >> rng.randint(0, bits - 1)


def kinds(row, t, t2):
    """The type of each operand, by shape."""
    double = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
    of = {
        "d": t, "a": t, "dr": t, "address": t, "dw": double.get(t), "aw": double.get(t), "a2": t2,
        "ar2": t2, "four_a2": t2, "d32": "b32", "w": "b32", "h": "b16", "p": "pred", "pq": "pred",
        "np": "pred", "imm": "imm", "cc_in": "cc", "cc_out": "cc", "dp": t,
    }  # fmt: skip
    return [of[s] for s in row.shapes]


class Kernel:
    """One opcode as a kernel: sources from memory, the instruction, results to memory."""

    def __init__(self, number, row, opcode, t, t2, constant):
        self.name = f"k{number}"
        self.kinds = kinds(row, t, t2)
        self.shapes = row.shapes
        self.sources = [
            k
            for s, k in zip(row.shapes, self.kinds, strict=True)
            if s not in OUTPUTS and k != "imm"
            for _ in range(4 if s == "four_a2" else 1)
        ]
        results = [k for s, k in zip(row.shapes, self.kinds, strict=True) if s in OUTPUTS]
        self.results = ["pred", "pred"] if "pq" in row.shapes else results
        if "dp" in row.shapes:
            self.results.append("pred")
        self.text = self._text(row, opcode, constant)

    def _text(self, row, opcode, constant):
        head, load, store, operands = [], [], [], []
        at, out = 0, 0
        for n, (shape, kind) in enumerate(zip(row.shapes, self.kinds, strict=True)):
            if kind == "imm":
                operands.append(str(constant))
                continue
            if shape in OUTPUTS:
                self._result(n, shape, kind, out, head, store, operands)
                out += 1 + (shape in ("pq", "dp"))
                continue
            offset = f"{at * COUNT * 8}"
            at += 1
            if kind in ("pred", "cc"):
                head.append(f".reg .b32 %i{n}; .reg .pred %v{n};")
                load.append(f"ld.global.u32 %i{n}, [%in+{offset}];")
                if kind == "pred":
                    load.append(f"setp.ne.u32 %v{n}, %i{n}, 0;")
                    operands.append(f"%v{n}")
                else:
                    load.append(f"add.cc.u32 %i{n}, %i{n}, 0xffffffff;")
                continue
            bits = max(reference.size(kind), 16)
            if shape == "four_a2":
                at += 3
                head.append(f".reg .b{bits} %v{n}<4>;")
                load += [
                    f"ld.global.b{bits} %v{n}{k}, [%in+{int(offset) + k * COUNT * 8}];"
                    for k in range(4)
                ]
                operands.append("{" + ", ".join(f"%v{n}{k}" for k in range(4)) + "}")
                continue
            operands.append(f"%v{n}")
            if reference.size(kind) == 8 and "r" not in shape:  # a register of its size alone
                head.append(f".reg .b8 %v{n}; .reg .b16 %m{n};")
                load.append(f"ld.global.b16 %m{n}, [%in+{offset}]; mov.b16 {{%v{n}, _}}, %m{n};")
                continue
            head.append(f".reg .b{bits} %v{n};")
            load.append(f"ld.global.b{bits} %v{n}, [%in+{offset}];")
        # The condition code is set last.
        load.sort(key=lambda line: line.startswith("add.cc"))
        lines = [
            f".visible .entry {self.name}(.param .u64 pin, .param .u64 pout) {{",
            ".reg .b64 %in, %out, %at; .reg .b32 %t, %n;",
            *head,
            "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];",
            "mov.u32 %t, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.u32 %t, %t, %n;",
            "mov.u32 %n, %tid.x; add.u32 %t, %t, %n; mul.wide.u32 %at, %t, 8;",
            "add.u64 %in, %in, %at; add.u64 %out, %out, %at;",
            *load,
            f"{opcode} {', '.join(operands)};",
            *store,
            "ret; }",
        ]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _result(n, shape, kind, out, head, store, operands):
        offset = out * COUNT * 8
        if kind == "cc":
            head.append(f".reg .b32 %o{n};")
            store.insert(0, f"addc.u32 %o{n}, 0, 0;")
            store.append(f"st.global.b32 [%out+{offset}], %o{n};")
        elif kind == "pred":
            names = [f"%v{n}"] + ([f"%w{n}"] if shape == "pq" else [])
            operands.append("|".join(names))
            for k, name in enumerate(names):
                head.append(f".reg .pred {name}; .reg .b32 %o{n}{k};")
                store.append(f"selp.u32 %o{n}{k}, 1, 0, {name};")
                store.append(f"st.global.b32 [%out+{offset + k * COUNT * 8}], %o{n}{k};")
        else:
            bits = max(reference.size(kind), 16)
            if shape == "d" and reference.size(kind) == 8:  # a register of its size alone
                head.append(f".reg .b8 %v{n}; .reg .b16 %m{n};")
                operands.append(f"%v{n}")
                store.append(f"mov.b16 %m{n}, {{%v{n}, 0}}; st.global.b16 [%out+{offset}], %m{n};")
                return
            head.append(f".reg .b{bits} %v{n};")
            operands.append(f"%v{n}" + (f"|%w{n}" if shape == "dp" else ""))
            store.append(f"st.global.b{bits} [%out+{offset}], %v{n};")
            if shape == "dp":
                head.append(f".reg .pred %w{n}; .reg .b32 %o{n};")
                store.append(f"selp.u32 %o{n}, 1, 0, %w{n};")
                store.append(f"st.global.b32 [%out+{offset + COUNT * 8}], %o{n};")


def computed(row):
    return row.semantics in reference.FUNCTIONS or row.mnemonic in LOWERED


COMPUTED = [r for r in ROWS if computed(r)]


def wrong(kind, expected, got):
    if expected is None:
        return False
    if isinstance(expected, tuple):  # halves of a pair
        return wrong(kind, expected[0], got & 0xFFFF) or wrong(kind, expected[1], got >> 16)
    if isinstance(expected, reference.Near):
        return not expected.accepts(got)
    if kind == "f64" and reference.fl.decode("f64", expected)[1] is reference.fl.NAN:
        return reference.fl.decode("f64", got)[1] is not reference.fl.NAN
    # An 8-bit result stands in a 16-bit register.
    return expected != got & ((1 << reference.size(kind)) - 1 if kind not in ("pred", "cc") else 1)


def settled(kind, expected, bits):
    """The bits, but for those that are each device's choice, or any within a bound."""
    if expected is None or isinstance(expected, reference.Near):
        return 0
    if isinstance(expected, tuple):
        low, high = expected
        return settled(kind, low, bits & 0xFFFF) | settled(kind, high, bits >> 16) << 16
    if kind == "f64" and reference.fl.decode("f64", expected)[1] is reference.fl.NAN:
        return 0
    return bits


def is_near(expected):
    parts = expected if isinstance(expected, tuple) else (expected,)
    return any(isinstance(e, reference.Near) for e in parts)


def stored(kind):
    return 32 if kind in ("pred", "cc") else max(reference.size(kind), 16)


def by_name(rows):
    return pytest.mark.parametrize(
        "row", rows, ids=[f"{r.chapter}:{r.line}:{r.mnemonic}" for r in rows]
    )


@by_name([r for r in COMPUTED if r.recorded and not unrecorded.awaits(r)])
def test_row(row, load, driver):
    check(row, load, driver)


@by_name([r for r in COMPUTED if r.recorded and unrecorded.awaits(r)])
def test_row_without_a_recording(row, load, driver):
    """With the reference alone."""
    check(row, load, driver)


@pytest.mark.skipif("CUPOLA_TEST_DRIVER" in os.environ, reason="the device is an older one")
@by_name([r for r in COMPUTED if not r.recorded])
def test_newer_row(row, newer_devices):
    """On a device of the row's target, in a process of its own."""
    newer_devices(row.capability).run(check_in_process, ROWS.index(row))


def check_in_process(index):
    driver = device_process.driver()
    check(ROWS[index], driver.load, driver)


def check(row, load, driver):
    rng = random.Random(f"{row.mnemonic}{row.types}{row.types2}")
    cases = []
    for opcode, named, t, t2 in row.opcodes():
        if t == "b128":  # in test_memory and test_atomics
            continue
        for constant in (0x1B, 0xE8, 0x96) if "imm" in row.shapes else (None,):
            kernel = Kernel(len(cases), row, opcode, t, t2, constant)
            cases.append((kernel, opcode, named, t, t2, constant))
    module = load(row.header + "".join(c[0].text for c in cases))
    for kernel, opcode, named, t, t2, constant in cases:
        inputs = [
            [
                sources_of("b32" if k == "cc" else k, rng) & (1 if k == "cc" else -1)
                for _ in range(COUNT)
            ]
            for k in kernel.sources
        ]
        data = np.array(inputs, np.uint64).reshape(-1)
        out = np.zeros(COUNT * len(kernel.results), np.uint64)
        module.run(kernel.name, 4, COUNT // 4, [data, out])
        same = np.zeros_like(out)
        close = {}
        for i, values in enumerate(zip(*inputs, strict=True)):
            arguments = [*values, *([constant] if constant is not None else [])]
            if row.semantics in reference.FUNCTIONS:
                expected = reference.FUNCTIONS[row.semantics](named, t, t2, *arguments)
            else:
                expected = reference.lowered(row.mnemonic, named, t, t2, *arguments)
            for k, (kind, e) in enumerate(zip(kernel.results, expected, strict=False)):
                at = k * COUNT + i
                bits = int(out[at]) & ((1 << stored(kind)) - 1)
                same[at] = settled(kind, e, bits)
                if is_near(e):
                    close[at] = kind, e, f"{opcode}({', '.join(map(hex, values))})"
                assert not wrong(kind, e, bits), (
                    f"{opcode}({', '.join(map(hex, values))}) gave {bits:#x}, "
                    f"expected {getattr(e, 'exact', e)!r} {hex(e) if isinstance(e, int) else ''}"
                )
        driver.seen.settle(same)
        if close:
            words = out[list(close)].astype(f"u{stored(kind) // 8}")
            left = driver.seen.near(words)
            for (kind, e, call), bits in zip(close.values(), left, strict=True):
                assert not wrong(kind, e, int(bits)), f"{call} left {bits:#x} on a GPU"


def test_every_row_has_a_test():
    from . import (
        test_async,
        test_async_cluster,
        test_atomics,
        test_blackwell,
        test_bulk_parts,
        test_cluster,
        test_cluster_launch,
        test_columns,
        test_control,
        test_matrix,
        test_matrix_bytes,
        test_matrix_kinds,
        test_mbarrier_phases,
        test_memory,
        test_multimem,
        test_registers,
        test_stack,
        test_surface,
        test_tensor,
        test_tensor_changes,
        test_tensor_copy,
        test_tensor_exclusive,
        test_tensor_kinds,
        test_tensor_memory,
        test_tensor_modes,
        test_tensor_pairs,
        test_tensor_product,
        test_tensor_reduction,
        test_tensor_sparse,
        test_texture,
        test_video,
        test_warp,
    )

    modules = (test_async, test_async_cluster, test_bulk_parts, test_cluster, test_cluster_launch)
    modules += (test_control, test_matrix, test_mbarrier_phases)
    memory = (test_atomics, test_memory, test_stack, test_surface, test_texture)
    tensors = (test_columns, test_tensor, test_tensor_changes, test_tensor_modes)
    matrices = (test_matrix_bytes, test_matrix_kinds)
    tensors += (test_tensor_memory, test_tensor_product, test_tensor_copy, test_tensor_kinds)
    tensors += (test_tensor_exclusive, test_tensor_pairs, test_tensor_reduction)
    tensors += (test_tensor_sparse,)
    chapters = (*tensors, test_blackwell, test_multimem, test_registers, test_video, test_warp)
    texts = "".join(m.COVERED for m in (*modules, *memory, *matrices, *chapters))
    missing = [
        f"{r.chapter}:{r.line} {r.mnemonic}"
        for r in ROWS
        if not computed(r) and not any(o in texts for o, *_ in r.opcodes())
    ]
    assert not missing
