# ruff: noqa: E501 - PTX text is wide
"""The targets that have an instruction: NVIDIA's assembler and the CPU device take the same ones.

A run asks for some targets, which change with each commit; CUPOLA_TEST_TARGETS=all asks for each.
"""

import itertools
import os

import pytest
import rotation

from . import device_process, matrix, statements, table
from .assembler import Assembler

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
# Each target, and a compute capability that takes its texts.
TARGETS = {
    "sm_75": "9.0", "sm_80": "9.0", "sm_86": "9.0", "sm_89": "9.0", "sm_90": "9.0",
    "sm_90a": "9.0", "sm_100": "10.0", "sm_100a": "10.0", "sm_100f": "10.0", "sm_103": "10.3",
    "sm_103a": "10.3", "sm_103f": "10.3", "sm_110": "11.0", "sm_110a": "11.0", "sm_110f": "11.0",
    "sm_120": "12.0", "sm_120a": "12.0", "sm_120f": "12.0", "sm_121a": "12.1", "sm_121f": "12.1",
}  # fmt: skip
AT_ONCE = 3
PARTS = 5  # of the spellings of products
# Rows that NVIDIA's assembler refuses for each target of the list.
NOT_OF_TARGETS = ("shfl", "vote", "vote.ballot")  # without .sync: of targets below sm_70
# Mistakes of assemblers before that of CUDA 13.5 (PTX 9.5): the beginnings of statements.
MISTAKES = {
    "fence.acquire.gpu;": "that of 13.0 takes it for each target",
    "st.bulk [%d1], %r2, 0;": "that of 13.0 refuses its own mov for a size of 32 bits",
    "st.async.mmio.release.gpu.": "that of 13.0 takes it for each target that has st.async",
    "red.async.mmio.release.gpu.": "that of 13.0 takes it for each target that has red.async",
    "red.async.relaxed.gpu.": "that of 13.0 takes it for sm_90",
}
# Words of statements, and the first version of PTX that has them.
NEWER = {
    "ld.mmio.acquire": 93, "st.mmio.release": 93, "clmad": 93, ".ignore_oob": 92, ".scaled::n2": 92,
    ".2pi": 95,
    # The type of bulk copies. The assembler of CUDA 13.5 takes it in older texts, too.
    **dict.fromkeys(
        (f"{word}.b128 [" for word in ("bulk_group", "cp_mask", "cache_hint", "multicast::cluster")), 93
    ),
    "shared::cta.global.mbarrier::complete_tx::bytes.b128": 93,
    "shared::cluster.global.mbarrier::complete_tx::bytes.b128": 93,
    "shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128": 93,
}  # fmt: skip
# Copies of tensors: each mode with each destination, several blocks and pairs of blocks, and orders.
MODES = {
    "tile": ("2d", "{%r2, %r3}", ""), "tile::gather4": ("2d", "{%r2, %r3, %r4, %r5, %r6}", ""), "im2col": ("3d", "{%r2, %r3, %r4}", ", {%h1}"),
    "im2col::w": ("3d", "{%r2, %r3, %r4}", ", {%h1, %h2}"), "im2col::w::128": ("3d", "{%r2, %r3, %r4}", ", {%h1, %h2}"),
}  # fmt: skip
COPIES = [
    *(
        f"cp.async.bulk.tensor.{rank}.{to}.global.{mode}.mbarrier::complete_tx::bytes{several}{group} [%r1], [%d1, {at}], [%r7]{shift}{blocks};"
        for mode, (rank, at, shift) in MODES.items()
        for to in ("shared::cta", "shared::cluster")
        for several, blocks in (("", ""), (".multicast::cluster", ", %h3"))
        for group in ("", ".cta_group::1", ".cta_group::2")
    ),
    *(f"cp.async.bulk.prefetch.tensor.{rank}.L2.global.{mode} [%d1, {at}]{shift};" for mode, (rank, at, shift) in MODES.items()),
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3, %r4, %r5, %r6}], [%r7];",
    "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%d1, {%r2, %r3}], [%r7], %d2;",
    "cp.async.bulk.tensor.2d.tile::gather4.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3, %r4, %r5, %r6}], [%r7];",
    "cp.async.bulk.tensor.mbarrier::complete_tx::bytes.shared::cta.global.1d [%r1], [%d1, {%r2}], [%r7];",
    "cp.reduce.async.bulk.tensor.2d.add.global.shared::cta.bulk_group [%d1, {%r2, %r3}], [%r1];",
]  # fmt: skip
# The spellings of modifiers that need a newer target than their row.
WITH_MODIFIERS = [
    "ld.relaxed.cluster.global.b32 %r1, [%d1];",
    "ld.shared::cluster.b32 %r1, [%r2];",
    "ld.global.L2::cache_hint.b32 %r1, [%d1], %d2;",
    "ld.global.L2::256B.b32 %r1, [%d1];",
    "prefetch.global.L2::evict_last [%d1];",
    "fence.acquire.gpu;",
    "fence.proxy.async;",
    "fence.proxy.alias;",
    "mbarrier.arrive.relaxed.cta.b64 %d1, [%d2];",
    "mbarrier.arrive.release.cta.b64 %d1, [%d2];",
    "min.NaN.f32 %f1, %f2, %f3;",
    "max.xorsign.abs.f32 %f1, %f2, %f3;",
    "max.NaN.xorsign.abs.bf16x2 %r1, %r2, %r3;",
    "min.relu.s32 %r1, %r2, %r3;",
    "max.relu.s16x2 %r1, %r2, %r3;",
    "tanh.approx.bf16 %h1, %h2;",
    "cvt.ftz.f32.bf16 %f1, %h1;",
    "cvt.rn.bf16.f16 %h1, %h2;",
    "cvt.rn.relu.f16.f32 %h1, %f1;",
    "atom.add.noftz.bf16 %h1, [%d1], %h2;",
    "atom.add.noftz.f16 %h1, [%d1], %h2;",
    "red.add.noftz.bf16x2 [%d1], %r1;",
    "ld.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];",
    "ld.global.v4.f64 {%g1, %g2, %g3, %g4}, [%d1];",
    "st.global.v8.f32 [%d1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f0};",
    "st.global.v4.b64 [%d1], {%d1, %d2, %d3, %d4};",
    "ld.shared.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%r9];",
    "st.local.v4.b64 [%r1], {%d1, %d2, %d3, %d4};",
    "ld.global.v2.b128 {%q1, %q2}, [%d1];",
    *(f"ld.mmio.{order}.{scope}{space}{v}.u32 {r}, [%d1];" for order in ("relaxed", "acquire") for scope in ("gpu", "sys")
      for space in ("", ".global") for v, r in (("", "%r1"), (".v2", "{%r1, %r2}"))),
    *(f"st.mmio.{order}.{scope}.global.u32 [%d1], %r1;" for order in ("relaxed", "release") for scope in ("gpu", "sys")),
    "ld.mmio.relaxed.sys.shared.u32 %r1, [%r2];",
    *COPIES,
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%d1], %r2, 15, 16, [%r3];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%d1], %r2, %r4, 15, [%r3];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%d1], %r2, 0, 0, [%r3];",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], %r2, %r1;",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask.L2::cache_hint [%d1], [%r1], %r2, %d2, %h1;",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, _, _, _}, %q1;",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {_, _, _, _}, %q1;",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 _, %q1;",
    *(f"red.async.{order}.global.add.u32 [%d1], %r1;" for order in ("release.gpu", "release.sys", "mmio.release.gpu", "mmio.release.sys", "relaxed.cluster")),
    *(f"st.async.{order}.global.u32 [%d1], %r1;" for order in ("release.sys", "mmio.release.gpu", "mmio.release.sys", "relaxed.gpu", "release.cluster")),
    *(f"tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], {n};" for n in (12, 13, 15, 16)),
    *(f"tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%d1], {n};" for n in (0, 3, 4)),
    "cvt.rn.satfinite.relu.scaled::n2::ue8m0.bf16x2.e2m1x2 %r1, %c1, %h1;",
    "sin.approx.2pi.f32 %f1, %f2;",
    "clmad.lo.b64 %d1, %d2, %d3, %d4;",
    "tcgen05.mma.cta_group::2.kind::f16 [%r1], %d1, %d2, %r3, {%r1, %r2, %r3, %r4}, %p1;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r3, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, %p1;",
]  # fmt: skip


def chosen():
    names = list(TARGETS)
    if os.environ.get("CUPOLA_TEST_TARGETS") == "all":
        return names
    at = rotation.number()
    return [names[(at + n * len(names) // AT_ONCE) % len(names)] for n in range(AT_ONCE)]


def cases(version):
    """Statements that stand for rows of a version of PTX or older: the first and last spellings."""
    for row in table.rows():
        opcodes = list(row.opcodes())
        if row.chapter == "video" or row.since > version or row.mnemonic in NOT_OF_TARGETS:
            continue
        for opcode, _, t, t2 in {opcodes[0][0]: opcodes[0], opcodes[-1][0]: opcodes[-1]}.values():
            # 32-bit addresses, and 8-bit numbers in registers of their own size alone
            if row.mnemonic.startswith(("cvta", "mapa", "getctarank")) and t == "u32":
                continue
            if (text := statements.statement(row, opcode, t, t2)) and not text.startswith("call"):
                yield text


def refusals(head, lines):
    """Why the device of this process refuses each line, or None."""
    driver, found = device_process.driver(), []
    for line in lines:
        try:
            driver.load(head + line).unload()
            found.append(None)
        except Exception as error:
            found.append(getattr(error, "log", "") or str(error))
    return found


def matrix_statements():
    """Right and wrong spellings of mma with small floats, and of loads and stores of bytes."""
    small = matrix.SMALL
    variants = ("mma.sync", "mma.sp.sync", "mma.sp::ordered_metadata.sync")
    for variant, k, kind, d, a, b in itertools.product(
        variants, (16, 32, 64, 128), ("", ".kind::f8f6f4"), ("f16", "f32"), small, small
    ):
        yield f"{variant}.aligned.m16n8k{k}.row.col{kind}.{d}.{a}.{b}.{d}", ""
    for variant, k, kind, vector, scale, (a, b) in itertools.product(
        variants,
        (32, 64, 128),
        ("mxf8f6f4", "mxf4", "mxf4nvf4"),
        ("", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X"),
        ("ue8m0", "ue4m3"),
        [*zip(small, small, strict=True), ("e4m3", "e2m1"), ("e2m1", "e3m2")],
    ):
        opcode = f"{variant}.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vector}"
        yield f"{opcode}.f32.{a}.{b}.f32.{scale}", ", %r60, {0, 1}, %r61, {0, 3}"
    elements = ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64", "b4x16_p64")
    for name, shape, count, turned, element in itertools.product(
        ("ldmatrix", "stmatrix"), ("m8n8", "m8n16", "m16n8", "m16n16"), (1, 2, 4),
        ("", ".trans"), elements,
    ):  # fmt: skip
        yield f"{name}.sync.aligned.{shape}.x{count}{turned}.shared.{element}", ""


def matrix_statement(opcode, scales):
    d = statements.fragment("fd", opcode)
    if not opcode.startswith("mma"):
        return f"{opcode} [%r9], {d};" if opcode[0] == "s" else f"{opcode} {d}, [%r9];"
    a, b, c = (statements.fragment(f"f{x}", opcode) for x in "abc")
    return f"{opcode} {d}, {a}, {b}, {c}{', %r50, 0' if '.sp' in opcode else ''}{scales};"


def tensor_statements():
    """Right and wrong spellings of products, copies and reductions of tensor memory."""
    plain, scaled = ("f16", "tf32", "f8f6f4", "i8"), ("mxf8f6f4", "mxf4", "mxf4nvf4")
    ends = ("", "collector::a::use", "ashift", "ashift.collector::a::lastuse")
    ends += ("ashift.collector::a::fill", "collector::b2::lastuse")
    vectors = ("", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
    mask = "{%r7, %r8, %r9, %r10}, "
    tails = ("%p1", f"{mask}!%p1", "%p1, 15", "%p1, 16", f"{mask}%p1, 0", "%p1, %d3")
    products = [
        *itertools.product(plain, ("",), ends, tails),
        *itertools.product(scaled, vectors, ends[:3], ("[%r4+4], [%r5], %p1", "%p1")),
    ]
    for form, a in itertools.product(("", ".sp", ".ws", ".ws.sp"), ("%d1", "[%r2+8]")):
        metadata = "[%r6], " if ".sp" in form else ""
        for kind, vector, end, tail in products:
            if kind == "i8" and tail[-1].isdigit():
                continue  # the assembler takes a scale of D, which the manual does not have
            words = [f"tcgen05.mma{form}.cta_group::1.kind::{kind}"]
            words += ["block_scale"] if kind in scaled else []
            opcode = ".".join([*words, *filter(None, (vector, end))])
            yield f"{opcode} [%r1], {a}, %d2, {metadata}%r3, {tail};"
    shapes = ("128x256b", "4x256b", "128x128b", "64x128b", "32x128b")
    warps = ("", ".warpx2::02_13", ".warpx2::01_23", ".warpx4")
    for shape, warp, form in itertools.product(
        shapes, warps, ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64", ".b8x16")
    ):
        yield f"tcgen05.cp.cta_group::1.{shape}{warp}{form} [%r1+4], %d1;"
    yield "tcgen05.shift.cta_group::1.down [%r1];"
    yield "tcgen05.shift.cta_group::1.up [%r1];"
    for shape, count, name, kind in itertools.product(
        ("32x32b", "16x32bx2", "16x64b"), (1, 2, 16), ("min", "max", "add"),
        ("u32", "s32", "b32", "f32", "abs.f32", "NaN.f32", "abs.NaN.f32", "NaN.u32"),
    ):  # fmt: skip
        listed = ", ".join(f"%r{10 + n}" for n in range(count))
        half = ", 8" if shape == "16x32bx2" else ""
        opcode = f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{name}.{kind}"
        yield f"{opcode} {{{listed}}}, %r139, [%r1]{half};"


@pytest.fixture(scope="module")
def version(ptxas, tmp_path_factory):
    """The newest PTX that the assembler reads, 90 for 9.0."""
    folder = tmp_path_factory.mktemp("versions")
    for newest in range(95, 86, -1):
        text = f".version {newest // 10}.{newest % 10}\n.target sm_90\n.address_size 64\n"
        if Assembler(ptxas, folder).run(text)[0] is None:
            return newest
    raise AssertionError("the assembler reads no PTX from 8.7 on")


@pytest.mark.parametrize("target", chosen())
def test_both_take_the_same(target, version, ptxas, newer_devices, tmp_path):
    head = f".version {version // 10}.{version % 10}\n.target {target}\n.address_size 64\n"
    if Assembler(ptxas, tmp_path, target).run(head)[0] is not None:
        pytest.skip(f"the assembler does not know {target}")
    known = tuple(MISTAKES) if version < 95 else ()
    newer = [word for word, since in NEWER.items() if since > version]
    texts = [
        t
        for t in dict.fromkeys([*cases(version), *WITH_MODIFIERS])
        if not t.startswith(known) and not any(word in t for word in newer)
    ]
    lines = [statements.kernel(n, text) for n, text in enumerate(texts)]
    device = newer_devices(TARGETS[target]).run(refusals, head, lines)
    assembler = Assembler(ptxas, tmp_path, target).verdicts(lines, head)
    assert_same_verdicts(texts, device, assembler)
    assert sum(own is None for own in device) > len(texts) // 3


def assert_same_verdicts(texts, device, assembler):
    different = [
        f"{text}\n    ptxas: {theirs}\n    CPU device: {own}"
        for text, own, theirs in zip(texts, device, assembler, strict=True)
        if (own is None) != (theirs is None)
    ]
    print("\n".join(different))
    assert not different


def parted(texts):
    """All texts, if the run asks for it, or a part of them that changes with each commit."""
    every = os.environ.get("CUPOLA_TEST_TARGETS") == "all"
    return list(texts)[slice(None) if every else slice(rotation.number() % PARTS, None, PARTS)]


@pytest.mark.parametrize("target", chosen())
def test_both_take_the_same_tensor_memory(target, version, ptxas, newer_devices, tmp_path):
    head = f".version {version // 10}.{version % 10}\n.target {target}\n.address_size 64\n"
    if Assembler(ptxas, tmp_path, target).run(head)[0] is not None:
        pytest.skip(f"the assembler does not know {target}")
    texts = parted(tensor_statements())
    lines = [statements.kernel(n, text) for n, text in enumerate(texts)]
    device = newer_devices(TARGETS[target]).run(refusals, head, lines)
    assert_same_verdicts(texts, device, Assembler(ptxas, tmp_path, target).verdicts(lines, head))


@pytest.mark.parametrize("target", chosen())
def test_both_take_the_same_small_floats(target, version, ptxas, newer_devices, tmp_path):
    """Each spelling, for some targets, or a part of the spellings that changes with each commit."""
    head = f".version {version // 10}.{version % 10}\n.target {target}\n.address_size 64\n"
    if Assembler(ptxas, tmp_path, target).run(head)[0] is not None:
        pytest.skip(f"the assembler does not know {target}")
    texts = [
        matrix_statement(opcode, scales)
        for opcode, scales in parted(matrix_statements())
        # The versions before PTX 9.1 have no ue8m0 with four scale factors.
        if version >= 91 or not ("scale_vec::4X" in opcode and opcode.endswith("ue8m0"))
    ]
    lines = [statements.kernel(n, text) for n, text in enumerate(texts)]
    device = newer_devices(TARGETS[target]).run(refusals, head, lines)
    assert_same_verdicts(texts, device, Assembler(ptxas, tmp_path, target).verdicts(lines, head))
