# ruff: noqa: E501 - PTX text is wide
"""Shared addresses name the rank of their block: programs set and clear these bits."""

import driver_abi
import numpy as np
import pytest

from . import compiler_process, test_native
from .test_cluster import BLOCK, HEAD, SYNC, TAIL, held, run

BLOCKS = np.arange(8)
MODES = [
    "interpret",
    pytest.param("compile", marks=pytest.mark.campaign("machine code of a large kernel")),
]
# Each leaves in %r10 what a block holds whose rank it makes of the bits of its own address.
MADE = {
    "cleared": ("and.b32 %r7, %r4, 0xfeffffff;", BLOCKS & ~1),
    "set": ("or.b32 %r7, %r4, 0x1000000;", BLOCKS | 1),
    "inverted": ("xor.b32 %r7, %r4, 0x1000000;", BLOCKS ^ 1),
    "of the pair above": ("xor.b32 %r7, %r4, 0x2000000;", BLOCKS ^ 2),
    "of the first": ("and.b32 %r7, %r4, 0xfcffffff;", BLOCKS & ~3),
    "mapped, then cleared": ("mapa.shared::cluster.u32 %r7, %r4, %r6; and.b32 %r7, %r7, 0xfeffffff;", BLOCKS & ~3 | (BLOCKS + 1) % 4 & ~1),
}  # fmt: skip


@pytest.mark.parametrize("how", MADE)
def test_bits_of_an_address_choose_the_block(how, load):
    make, blocks = MADE[how]
    body = SYNC + make + "ld.shared::cluster.u32 %r10, [%r7];" + SYNC
    assert (run(load, body) == held(distance=0)[blocks]).all()


@pytest.mark.parametrize("how", MADE)
def test_the_rank_of_such_an_address(how, load):
    make, blocks = MADE[how]
    body = make + "getctarank.shared::cluster.u32 %r10, %r7;" + SYNC
    assert (run(load, body) == (blocks % 4)[:, None]).all()


def test_a_pair_arrives_at_the_barrier_of_its_first_block(load):
    """As programs whose products use the SMs of a pair: without the rank, they wait for ever."""
    body = """.shared .align 8 .b64 bar; mov.u32 %r7, bar; setp.eq.u32 %p0, %r0, 0; and.b32 %r9, %r1, 1; setp.eq.u32 %p1, %r9, 0;
    @%p0 mbarrier.init.shared.b64 [%r7], 128; fence.mbarrier_init.release.cluster;""" + SYNC + """
    and.b32 %r8, %r7, 0xfeffffff; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8]; mov.u32 %r10, 5; @!%p1 bra DONE;
    AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r7], 0; @!%p2 bra AGAIN;
    mov.u32 %r10, 6; DONE:""" + SYNC  # fmt: skip
    assert (run(load, body) == np.where(BLOCKS % 2, 5, 6)[:, None]).all()


# A block's own addresses, with and without its rank, in each kind of access. Each gives a word.
OWN = {
    "affine": "ld.shared.u32 %r10, [%r4];",
    "of a variable": "ld.shared.u32 %r10, [cells+8];",
    "scattered": "mul.lo.u32 %r7, %r0, 28; and.b32 %r7, %r7, 252; mov.u32 %r8, cells; add.u32 %r7, %r7, %r8; ld.shared.u32 %r10, [%r7];",
    "scattered, without the rank": "mul.lo.u32 %r7, %r0, 28; and.b32 %r7, %r7, 252; ld.shared.u32 %r10, [%r7];",
    "without the rank": "ld.shared.u32 %r10, [%r5];",
    "a number": "mov.u32 %r7, 12; ld.shared.u32 %r10, [%r7];",
    "wide": "cvt.u64.u32 %rd3, %r4; ld.shared.u32 %r10, [%rd3];",
    "wide, scattered": "xor.b32 %r7, %r5, 20; mov.u64 %rd3, cells; cvt.u64.u32 %rd4, %r7; add.u64 %rd3, %rd3, %rd4; ld.shared.u32 %r10, [%rd3];",
    "mapped to itself": "mapa.shared::cluster.u32 %r7, %r4, %r1; ld.shared.u32 %r10, [%r7];",
    "vector": "and.b32 %r7, %r5, 240; mov.u32 %r8, cells; add.u32 %r7, %r7, %r8; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r7]; add.u32 %r10, %r10, %r13;",
    "some lanes": "mov.u32 %r10, 0; setp.lt.u32 %p0, %r0, 40; @%p0 ld.shared.u32 %r10, [%r4];",
    "atomic": "atom.shared.add.u32 %r10, [%r4], 0;",
    "atomic of one": "atom.shared.or.b32 %r10, [cells+4], 0;",
    "generic": "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; ld.u32 %r10, [%rd3];",
    "generic and back": "cvta.shared.u64 %rd3, cells; cvta.to.shared.u64 %rd4, %rd3; cvt.u32.u64 %r7, %rd4; add.u32 %r7, %r7, %r5; ld.shared.u32 %r10, [%r7];",
    "of the cluster": "ld.shared::cluster.u32 %r10, [%r4];",
    "matrix": "and.b32 %r7, %r0, 7; shl.b32 %r7, %r7, 4; mov.u32 %r8, cells; add.u32 %r7, %r7, %r8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r7];",
    "a loop of each lane": """mov.u32 %r10, 0; mov.u32 %r7, %r4; and.b32 %r8, %r0, 15; add.u32 %r8, %r8, 3; mov.u32 %r11, 0;
        LOOP: ld.shared.u32 %r9, [%r7]; add.u32 %r10, %r10, %r9; add.u32 %r11, %r11, 1; and.b32 %r9, %r9, 4; add.u32 %r9, %r9, %r11; shl.b32 %r9, %r9, 2; and.b32 %r9, %r9, 252;
        mov.u32 %r12, cells; add.u32 %r7, %r12, %r9; setp.lt.u32 %p0, %r11, %r8; @%p0 bra LOOP;""",
}  # fmt: skip

# PTX leaves open what they are.
OF_THE_CPU_DEVICE = {"without the rank", "scattered, without the rank", "a number"}


def expected(how):
    mine, lane = held(distance=0), np.arange(BLOCK)
    if how == "a loop of each lane":
        total, at = np.zeros_like(mine), np.tile(lane, (8, 1))
        for step in range(1, 19):
            word = np.take_along_axis(mine, at, 1)
            total += np.where(step <= lane % 16 + 3, word, 0).astype(np.uint32)
            at = (word & 4) + step & 63
        return total
    return {
        "of a variable": mine[:, 2:3] + 0 * mine,
        "scattered": mine[:, lane * 7 % 64],
        "scattered, without the rank": mine[:, lane * 7 % 64],
        "a number": mine[:, 3:4] + 0 * mine,
        "wide, scattered": mine[:, lane ^ 5],
        "vector": mine[:, lane & ~3] + mine[:, lane | 3],
        "some lanes": np.where(lane < 40, mine, 0),
        "atomic of one": mine[:, 1:2] + 0 * mine,
        "matrix": mine[:, lane % 32],
    }.get(how, mine)


@pytest.mark.parametrize("how", OWN)
def test_own_addresses(how, load, driver):
    if how in OF_THE_CPU_DEVICE:
        driver.skip_on_hardware("a GPU's own choice")
    body = "bar.sync 0;" + OWN[how] + SYNC
    assert (run(load, body) == expected(how)).all()


ALL = """
module = driver.load(open("FILE").read())
out = np.zeros((COUNT, 8, 64), np.uint32)
module.run("k", 8, 64, [out])
print(execution(module, "k"))
print(out.tobytes().hex())
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.skipif(test_native.COMPILED[0].args[0], reason="of the CPU device alone")
def test_own_addresses_in_both_engines(mode, tmp_path):
    body = "bar.sync 0;"
    for n, statements in reversed(list(enumerate(OWN.values()))):  # the end stores the first
        body += f"{statements}\nst.global.u32 [%rd1+{n * 8 * BLOCK * 4}], %r10;\n"
    file = tmp_path / "k.ptx"
    file.write_text(HEAD + body + SYNC + TAIL)
    program = ALL.replace("FILE", str(file)).replace("COUNT", str(len(OWN)))
    how, found = compiler_process.run(program, mode, tmp_path / "cache")
    assert how.startswith("compiled" if mode == "compile" else "interpreted"), how
    words = np.frombuffer(bytes.fromhex(found), np.uint32).reshape(len(OWN), 8, BLOCK)
    for n, name in enumerate(OWN):
        assert (words[n] == expected(name)).all(), name


# A line that no address with these bits may pass: the fault names it.
BAD = {
    "of another block": "mapa.shared::cluster.u32 %r7, %r4, %r6;\nld.shared.u32 %r10, [%r7];",
    "bit 24 of rank 0": "or.b32 %r7, %r5, 0x1000000; setp.eq.u32 %p0, %r1, 0;\n@%p0 ld.shared.u32 %r10, [%r7];",
    "a rank beyond the cluster": "or.b32 %r7, %r5, 0x4000000;\nld.shared::cluster.u32 %r10, [%r7];",
    "a rank beyond 63": "or.b32 %r7, %r4, 0x80000000;\nld.shared::cluster.u32 %r10, [%r7];",
    "all bits": "mov.u32 %r7, 0xfffffffc;\nst.shared::cluster.u32 [%r7], %r10;",
    "all bits, own": "mov.u32 %r7, 0xfffffffc;\nst.shared.u32 [%r7], %r10;",
    "above 32 bits": "cvt.u64.u32 %rd3, %r4; or.b64 %rd3, %rd3, 0x100000000;\nld.shared::cluster.u32 %r10, [%rd3];",
    "above 32 bits, own": "cvt.u64.u32 %rd3, %r4; or.b64 %rd3, %rd3, 0x100000000;\nld.shared.u32 %r10, [%rd3];",
    "behind the end": "ld.shared.u32 %r10, [%r4+256];",
    "behind the end of a peer's": "xor.b32 %r7, %r4, 0x1000000;\nld.shared::cluster.u32 %r10, [%r7+256];",
    "before the begin": "mov.u32 %r7, cells;\nld.shared.u32 %r10, [%r7+-4];",
    "before the begin of a peer's": "mov.u32 %r7, cells; xor.b32 %r7, %r7, 0x1000000;\nst.shared::cluster.u32 [%r7+-4], %r10;",
    "generic, of a number": "mov.u64 %rd3, 16; cvta.shared.u64 %rd3, %rd3; setp.eq.u32 %p0, %r1, 1;\n@%p0 ld.u32 %r10, [%rd3];",
    "matrix of another block": "and.b32 %r7, %r0, 7; shl.b32 %r7, %r7, 4; mapa.shared::cluster.u32 %r7, %r7, %r6;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r7];",
    "atomic of another block": "mapa.shared::cluster.u32 %r7, %r4, %r6;\natom.shared.add.u32 %r10, [%r7], 1;",
}  # fmt: skip


FAULTS = """
from ptx.native_kernels import last_fault
for n in range(COUNT):
    module = driver.load(open("FILE").read())
    try:
        module.run("k", 8, 64, [np.zeros(512, np.uint32), np.uint32(n)])
        print("no fault")
    except DriverError as error:
        print(error.code, *last_fault(driver).split("\\n"))
    driver.reset()
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.skipif(test_native.COMPILED[0].args[0], reason="of the CPU device alone")
def test_bad_addresses_are_faults_of_their_line(mode, tmp_path):
    text = HEAD.replace("u64 pb", "u64 pb, .param .u32 pn") + "ld.param.u32 %r19, [pn];" + SYNC
    lines = []
    for n, statements in enumerate(BAD.values()):
        text += f"setp.ne.u32 %p7, %r19, {n}; @%p7 bra S{n};\n"
        lines.append(text.count("\n") + 1 + statements.count("\n"))
        text += f"{statements}\nS{n}:\n"
    file = tmp_path / "k.ptx"
    file.write_text(text + SYNC + TAIL)
    program = FAULTS.replace("FILE", str(file)).replace("COUNT", str(len(BAD)))
    found = compiler_process.run(program, mode, tmp_path / "cache")
    for name, line, said in zip(BAD, lines, found, strict=True):
        assert said.startswith(str(driver_abi.ILLEGAL_ADDRESS)), (name, said)
        assert f"line {line}" in said, (name, line, said)
