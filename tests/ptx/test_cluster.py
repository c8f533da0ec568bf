# ruff: noqa: E501 - PTX text and tables of it are wide
"""Clusters: the barrier, addresses of each other's shared memory in each form, special registers."""

import driver_abi
import numpy as np
import pytest

from . import driver as ptx

COVERED = """
mapa.u64 mapa.shared::cluster.u32 getctarank.u64 getctarank.shared::cluster.u32
barrier.cluster.arrive barrier.cluster.wait griddepcontrol.launch_dependents griddepcontrol.wait
"""

SIZE, BLOCK = 4, 64

HEAD = """.version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 pb) .explicitcluster .reqnctapercluster 4, 1, 1 {
.shared .align 16 .b32 cells[64];
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<8>;
ld.param.u64 %rd1, [pb]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 64, %r0; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd1, %rd1, %rd2;
mov.u32 %r4, cells; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5;
st.shared.u32 [%r4], %r3; add.u32 %r6, %r1, 1; and.b32 %r6, %r6, 3;
"""
TAIL = "\nst.global.u32 [%rd1], %r10; ret; }\n"
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;\n"


def run(load, body, grid=8):
    b = np.zeros((grid, BLOCK), np.uint32)
    load(HEAD + body + TAIL).run("k", grid, BLOCK, [b])
    return b


def held(grid=8, distance=1):
    """The values that the block at that distance in the cluster stored."""
    block = np.arange(grid)
    other = block // SIZE * SIZE + (block % SIZE + distance) % SIZE
    return (other[:, None] * BLOCK + np.arange(BLOCK)).astype(np.uint32)


# Each leaves in %r10 what the next block holds.
READS = {
    "generic": "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; ld.u32 %r10, [%rd4];",
    "offset": "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; add.u64 %rd4, %rd4, -8; ld.u32 %r10, [%rd4+8];",
    "window32": "mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 %r10, [%r7];",
    "window64": "cvt.u64.u32 %rd3, %r4; mapa.shared::cluster.u64 %rd4, %rd3, %r6; ld.relaxed.cluster.shared::cluster.u32 %r10, [%rd4];",
    "variable": "mapa.shared::cluster.u32 %r7, cells, %r6; add.u32 %r7, %r7, %r5; ld.volatile.shared::cluster.u32 %r10, [%r7];",
    "converted": "mapa.shared::cluster.u32 %r7, %r4, %r6; cvt.u64.u32 %rd3, %r7; cvta.shared::cluster.u64 %rd4, %rd3; ld.u32 %r10, [%rd4];",
    "and back": "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; cvta.to.shared::cluster.u64 %rd5, %rd4; ld.shared::cluster.u32 %r10, [%rd5];",
    "some lanes": "mapa.shared::cluster.u32 %r7, %r4, %r6; setp.lt.u32 %p0, %r0, 40; @%p0 ld.shared::cluster.u32 %r10, [%r7]; @!%p0 ld.shared::cluster.u32 %r10, [%r7];",
}


@pytest.mark.parametrize("how", READS)
def test_reads(how, load):
    assert (run(load, SYNC + READS[how] + SYNC) == held()).all()


def test_own_window_is_part_of_the_clusters(load):
    body = SYNC + "ld.shared::cluster.u32 %r10, [%r4];" + SYNC
    assert (run(load, body) == held(distance=0)).all()


def test_vectors_and_offsets(load):
    body = (
        SYNC
        + """
    shl.b32 %r7, %r0, 4; and.b32 %r7, %r7, 0xff; mov.u32 %r8, cells; add.u32 %r7, %r7, %r8;
    mapa.shared::cluster.u32 %r7, %r7, %r6; ld.shared::cluster.v4.u32 {%r11, %r12, %r13, %r14}, [%r7];
    add.u32 %r10, %r11, %r12; add.u32 %r10, %r10, %r13; add.u32 %r10, %r10, %r14;
    ld.shared::cluster.u32 %r15, [%r7+4]; sub.u32 %r10, %r10, %r15;
    """
        + SYNC
    )
    other = held().reshape(8, 16, 4)
    expected = (other.sum(-1) - other[:, :, 1])[:, np.arange(BLOCK) % 16]
    assert (run(load, body) == expected).all()


@pytest.mark.parametrize("wide", [False, True])
def test_writes_and_addresses_handed_on(wide, load):
    """A block's window address of its own memory means the same to the block that it is given to."""
    body = SYNC + """
    mapa.shared::cluster.u32 %r7, cells, %r1; setp.eq.u32 %p0, %r0, 0; mapa.shared::cluster.u32 %r8, cells, %r6;
    @%p0 st.shared::cluster.u32 [%r8], %r7;
    """ + SYNC + """
    ld.shared.u32 %r9, [cells]; """ + SYNC + """ add.u32 %r9, %r9, %r5; add.u32 %r11, %r3, 7000;
    """ + ("""cvt.u64.u32 %rd3, %r9; st.release.cluster.shared::cluster.u32 [%rd3], %r11;""" if wide
           else "st.shared::cluster.u32 [%r9], %r11;") + SYNC + "ld.shared.u32 %r10, [%r4];"  # fmt: skip
    assert (run(load, body) == held() + 7000).all()


@pytest.mark.parametrize("how", [
    "atom.shared::cluster.add.u32 %r11, [%r7], 5;", "red.shared::cluster.add.u32 [%r7], 5;",
    "atom.shared::cluster.add.release.cluster.u32 %r11, [%r7], 5;",
    "atom.relaxed.cluster.shared::cluster.add.u32 %r11, [%r7], 5;",
])  # fmt: skip
def test_atomics(how, load):
    """Every thread of the cluster adds to the first cells of each block."""
    add = "".join(f"mapa.shared::cluster.u32 %r7, cells, {rank}; {how}\n" for rank in range(SIZE))
    body = SYNC + add + SYNC + "ld.shared.u32 %r10, [%r4];"
    expected = held(distance=0)
    expected[:, 0] += 5 * SIZE * BLOCK
    assert (run(load, body) == expected).all()


@pytest.mark.parametrize("how", [
    "atom.shared::cluster.add.f32 %r11, [%r7], %r12;", "red.shared::cluster.add.f32 [%r7], %r12;",
    "cvt.u64.u32 %rd3, %r7; cvta.shared::cluster.u64 %rd4, %rd3; atom.add.f32 %r11, [%rd4], %r12;",
])  # fmt: skip
def test_denormals_are_added_in_the_shared_memory_of_another(how, load):
    body = (
        "st.shared.u32 [%r4], 3;"
        + SYNC
        + "mapa.shared::cluster.u32 %r7, %r4, %r6; mov.b32 %r12, 4;"
        + how
        + SYNC
        + "ld.shared.u32 %r10, [%r4];"
    )
    assert (run(load, body) == 7).all()


def test_order_and_scope_behind_the_operation(load):
    """As the libraries of CUDA C++ write them."""
    text = """.version 8.6\n.target sm_75\n.address_size 64\n
    .visible .entry k(.param .u64 pb) { .reg .b64 %rd1; .reg .b32 %r<4>; ld.param.u64 %rd1, [pb];
    atom.add.release.gpu.u32 %r1, [%rd1], 1; atom.global.add.acq_rel.sys.u32 %r1, [%rd1], 1;
    red.or.release.cta.b32 [%rd1+4], 6; atom.cas.acquire.gpu.b32 %r2, [%rd1+8], 0, 9;
    atom.exch.relaxed.gpu.b32 %r3, [%rd1+12], 4; atom.global.inc.gpu.u32 %r3, [%rd1+16], 1; ret; }"""
    b = np.zeros(5, np.uint32)
    load(text).run("k", 1, 64, [b])
    assert list(b) == [128, 6, 9, 4, 0]


def test_ranks_of_addresses(load):
    body = (
        SYNC
        + """
    mapa.shared::cluster.u32 %r7, %r4, %r6; getctarank.shared::cluster.u32 %r8, %r7;
    cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; getctarank.u64 %r9, %rd4;
    getctarank.u64 %r11, %rd3; getctarank.shared::cluster.u32 %r12, cells; cvt.u64.u32 %rd5, %r7;
    getctarank.shared::cluster.u64 %r13, %rd5;
    mad.lo.u32 %r10, %r8, 10, %r9; mad.lo.u32 %r10, %r10, 10, %r11; mad.lo.u32 %r10, %r10, 10, %r12;
    mad.lo.u32 %r10, %r10, 10, %r13;"""
        + SYNC
    )
    own = np.arange(8) % SIZE
    other = (own + 1) % SIZE
    assert (run(load, body)[:, 0] == 11001 * other + 110 * own).all()


def test_which_addresses_are_shared(load):
    body = (
        SYNC
        + """
    cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; mov.u32 %r10, 0;
    isspacep.shared::cluster %p0, %rd3; selp.u32 %r7, 1, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.shared::cluster %p0, %rd4; selp.u32 %r7, 2, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.shared::cluster %p0, %rd1; selp.u32 %r7, 4, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.shared::cta %p0, %rd3; selp.u32 %r7, 8, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.shared::cta %p0, %rd4; selp.u32 %r7, 16, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.global %p0, %rd4; selp.u32 %r7, 32, 0, %p0; or.b32 %r10, %r10, %r7;
    isspacep.global %p0, %rd1; selp.u32 %r7, 64, 0, %p0; or.b32 %r10, %r10, %r7;"""
        + SYNC
    )
    assert (run(load, body) == 1 + 2 + 8 + 64).all()


@pytest.mark.parametrize("arrive", ["barrier.cluster.arrive", "barrier.cluster.arrive.release",
                                    "barrier.cluster.arrive.aligned", "barrier.cluster.arrive.release.aligned",
                                    "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed",
                                    "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned"])  # fmt: skip
@pytest.mark.parametrize("wait", ["barrier.cluster.wait", "barrier.cluster.wait.acquire",
                                  "barrier.cluster.wait.acquire.aligned"])  # fmt: skip
def test_every_barrier(arrive, wait, load):
    """Ten rounds in which each block takes the next one's value; the work between differs."""
    sync = f"{arrive}; {wait};\n"
    body = sync + """
    mapa.shared::cluster.u32 %r7, %r4, %r6; mov.u32 %r8, 0;
    ROUND: ld.shared::cluster.u32 %r9, [%r7]; mad.lo.u32 %r11, %r1, 37, 1;
    WORK: sub.u32 %r11, %r11, 1; setp.ne.u32 %p1, %r11, 0; @%p1 bra WORK;
    """ + sync + "st.shared.u32 [%r4], %r9;" + sync + """
    add.u32 %r8, %r8, 1; setp.lt.u32 %p0, %r8, 10; @%p0 bra ROUND; mov.u32 %r10, %r9;"""  # fmt: skip
    assert (run(load, body) == held(distance=10)).all()


def test_work_between_arriving_and_waiting(load):
    body = (
        """
    barrier.cluster.arrive; mov.u32 %r11, 0; mad.lo.u32 %r12, %r1, 500, %r0;
    W: add.u32 %r11, %r11, 1; setp.le.u32 %p0, %r11, %r12; @%p0 bra W; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 %r10, [%r7];"""
        + SYNC
    )
    assert (run(load, body) == held()).all()


def test_exited_threads_count_as_come(load):
    """Half of each block, and the whole of the last, leave before the barrier."""
    body = (
        """
    setp.lt.u32 %p0, %r0, 32; mov.u32 %r10, %r3; @%p0 bra GO; st.global.u32 [%rd1], 1; exit;
    GO: setp.eq.u32 %p1, %r1, 3; @%p1 exit;
    """
        + SYNC
        + SYNC
    )
    b = run(load, body)
    assert (b[:, 32:] == 1).all()
    last = np.arange(8) % SIZE == 3
    assert (b[last, :32] == 0).all()
    assert (b[~last, :32] == held(distance=0)[~last, :32]).all()


def test_lanes_arrive_apart(load):
    body = (
        """setp.lt.u32 %p0, %r0, 13; @%p0 bra A; barrier.cluster.arrive; bra.uni B;
    A: mov.u32 %r11, 0; L: add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 300; @%p1 bra L;
    barrier.cluster.arrive; B: barrier.cluster.wait;
    mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 %r10, [%r7];"""
        + SYNC
    )
    assert (run(load, body) == held()).all()


def test_special_registers(load):
    body = """
    mov.u32 %r10, %cluster_nctarank; mov.u32 %r11, %cluster_ctaid.x; mad.lo.u32 %r10, %r10, 10, %r11;
    mov.u32 %r11, %cluster_nctaid.x; mad.lo.u32 %r10, %r10, 10, %r11; mov.u32 %r11, %clusterid.x;
    mad.lo.u32 %r10, %r10, 10, %r11; mov.u32 %r11, %nclusterid.x; mad.lo.u32 %r10, %r10, 10, %r11;
    mov.pred %p0, %is_explicit_cluster; selp.u32 %r11, 1, 0, %p0; mad.lo.u32 %r10, %r10, 10, %r11;
    mov.u32 %r11, %cluster_ctaid.y; add.u32 %r10, %r10, %r11; mov.u32 %r11, %cluster_ctaid.z; add.u32 %r10, %r10, %r11;
    mov.u32 %r11, %cluster_nctaid.y; add.u32 %r10, %r10, %r11; mov.u32 %r11, %cluster_nctaid.z; add.u32 %r10, %r10, %r11;
    mov.u32 %r11, %clusterid.y; add.u32 %r10, %r10, %r11; mov.u32 %r11, %clusterid.z; add.u32 %r10, %r10, %r11;
    mov.u32 %r11, %nclusterid.y; add.u32 %r10, %r10, %r11; mov.u32 %r11, %nclusterid.z; add.u32 %r10, %r10, %r11;"""
    block = np.arange(8)
    expected = 400000 + block % 4 * 10000 + 4000 + block // 4 * 100 + 20 + 1 + 4
    assert (run(load, body) == expected[:, None]).all()


def test_no_cluster(load):
    text = """.version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .u64 pb) { .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p; ld.param.u64 %rd1, [pb];
    mov.pred %p, %is_explicit_cluster; selp.u32 %r1, 2, 0, %p; mov.u32 %r3, %cluster_nctarank; add.u32 %r1, %r1, %r3;
    griddepcontrol.wait; barrier.cluster.arrive; barrier.cluster.wait; griddepcontrol.launch_dependents;
    st.global.u32 [%rd1], %r1; ret; }"""
    b = np.zeros(1, np.uint32)
    load(text).run("k", 4, 64, [b])
    assert b[0] == 1


@pytest.mark.parametrize("body", [
    "mapa.shared::cluster.u32 %r7, %r4, 9; ld.shared::cluster.u32 %r10, [%r7];",
    "add.u32 %r7, %r4, 0x8000; ld.shared::cluster.u32 %r10, [%r7];",
    "cvt.u64.u32 %rd3, %r4; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r6; ld.u32 %r10, [%rd4+0x800];",
])  # fmt: skip
def test_faults(body, driver):
    driver.skip_on_hardware("the code for a bad shared address depends on the device")
    done = ptx.in_child(
        HEAD + SYNC + body + TAIL, "module.run('k', 4, 64, [np.zeros(256, np.uint32)])"
    )
    assert done.stdout == f"code {driver_abi.ILLEGAL_ADDRESS}\n", done.stderr


def test_a_barrier_that_is_never_complete(driver):
    driver.skip_on_hardware("hardware waits for ever")
    body = "setp.eq.u32 %p0, %r1, 0; @%p0 bar.sync 1, 96; " + SYNC
    done = ptx.in_child(HEAD + body + TAIL, "module.run('k', 4, 64, [np.zeros(256, np.uint32)])")
    assert done.stdout.startswith("code "), done.stderr


@pytest.mark.parametrize(("head", "message"), [
    (".reqnctapercluster 2 .maxclusterrank 4", "exclude"), (".reqnctapercluster 0", "range"),
])  # fmt: skip
def test_directives_that_are_refused(head, message, driver, load):
    driver.skip_on_hardware("ptxas has words of its own")
    with pytest.raises(driver_abi.DriverError) as error:
        load(f".visible .entry k() {head} {{ ret; }}")
    assert error.value.code == driver_abi.INVALID_PTX
    assert message in error.value.log
