# ruff: noqa: E501 - PTX text is wide
"""Kernels on tensor memory (tcgen05), and what a process with such a device says of them."""

import os
import pathlib
import subprocess
import sys

import driver_abi
import numpy as np

from . import device_process
from .native_kernels import last_fault

LANES, COLUMNS = 128, 512
ROOM = 48 << 10  # bytes of shared memory that hold matrices
# %r0: thread; %r1: lane; %r2: warp; %r3: the address of the columns; %r4: this warp's lanes of them.
FRAME = """.version {version}
.target {target}
.address_size 64
.visible .entry k({parameters}) {{
.reg .b32 %r<420>; .reg .b64 %d<24>; .reg .b16 %h<4>; .reg .pred %p<8>;
.shared .align 1024 .b8 room[{room}]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
{loads}
mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; shr.u32 %r2, %r0, 5; setp.eq.u32 %p0, %r2, 0;
{body}
ret; }}
"""
ALLOCATE = """@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {columns};
bar.sync 0; ld.shared.u32 %r3, [slot]; shl.b32 %r4, %r2, 21; add.u32 %r4, %r4, %r3;
"""
FREE = "bar.sync 0; @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, {columns};"


def text(body, arrays=1, target="sm_100a", version="9.0", room=1024):
    """A kernel; %d0 and so on have its arrays."""
    return FRAME.format(
        version=version,
        target=target,
        room=room,
        parameters=", ".join(f".param .u64 p{n}" for n in range(arrays)),
        loads=" ".join(f"ld.param.u64 %d{n}, [p{n}];" for n in range(arrays)),
        body=body,
    )


def within(body, columns=COLUMNS):
    """A body that has columns of tensor memory."""
    return ALLOCATE.format(columns=columns) + body + FREE.format(columns=columns)


def registers(first, count):
    return "{" + ", ".join(f"%r{first + n}" for n in range(count)) + "}"


def run(kernel, arrays, threads=128, blocks=1):
    """The arrays after a launch, in the process of a device."""
    device_process.driver().load(kernel).run("k", blocks, threads, arrays)
    return arrays


def fault(kernel, arrays=(), threads=128):
    """The code and the text of a launch's error; 0 if there is none. The context is reset."""
    driver = device_process.driver()
    try:
        driver.load(kernel).run("k", 1, threads, [*arrays, np.zeros(16, np.uint32)])
    except driver_abi.DriverError as error:
        said = last_fault(driver)
        driver.reset()
        return error.code, said
    return 0, ""


def faults(kernels):
    return [fault(kernel) for kernel in kernels]


# Each block of a pair has arrays of its own, one behind the other.
PAIR = """mov.u32 %r50, %cluster_ctarank; mad.wide.u32 %d0, %r50, {cells}, %d0; mad.wide.u32 %d1, %r50, {cells}, %d1;
mad.wide.u32 %d2, %r50, {room}, %d2;
"""
SYNC = "barrier.cluster.arrive; barrier.cluster.wait;"


def whole(statement, descriptors=0, numbers=0, target="sm_100a", room=ROOM, issuer=None):
    """A kernel that fills tensor memory, executes a statement in one thread, and reads all of it.

    ``{d0}``, ``{d1}`` and so on in the statement stand for descriptors of shared memory, ``{n0}``
    for numbers of 32 bits. %d0: cells after it; %d1: cells before; %d2: shared memory; %d3:
    descriptors and numbers, 64 bits each. `issuer`: the block of a pair that executes the
    statement, whose cta_group is that of the pair then.
    """
    pair, sync, choose, several = "", "bar.sync 0;", "", ("", "")
    if issuer is not None:
        pair, sync = PAIR.format(cells=4 * LANES * COLUMNS, room=room), SYNC
        choose = f"setp.eq.and.u32 %p1, %r50, {issuer}, %p1; mov.u16 %h1, 3;"
        several = (".multicast::cluster", ", %h1")
    body = (
        pair
        + f"""mov.u32 %r9, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r9], 1;
mov.u32 %r5, room; shl.b32 %r6, %r0, 2; more: cvt.u64.u32 %d10, %r6; add.u64 %d10, %d2, %d10; ld.global.u32 %r7, [%d10];
add.u32 %r8, %r5, %r6; st.shared.u32 [%r8], %r7; add.u32 %r6, %r6, 512; setp.lt.u32 %p2, %r6, {room}; @%p2 bra more;
mul.wide.u32 %d9, %r0, {4 * COLUMNS}; add.u64 %d8, %d1, %d9; mov.u32 %r10, %r4; mov.u32 %r11, 0;
fill: ld.global.v4.u32 {registers(100, 4)}, [%d8]; ld.global.v4.u32 {registers(104, 4)}, [%d8+16];
tcgen05.st.sync.aligned.32x32b.x8.b32 [%r10], {registers(100, 8)}; add.u64 %d8, %d8, 32; add.u32 %r10, %r10, 8;
add.u32 %r11, %r11, 8; setp.lt.u32 %p2, %r11, {COLUMNS}; @%p2 bra fill;
tcgen05.wait::st.sync.aligned; fence.proxy.async; tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;
cvt.u64.u32 %d11, %r5; shr.u64 %d11, %d11, 4; and.b64 %d11, %d11, 0x3fff; setp.ne.u32 %p4, %r0, 999; {choose}
"""
    )
    for n in range(descriptors):
        body += f"ld.global.u64 %d{14 + n}, [%d3+{8 * n}]; add.u64 %d{14 + n}, %d{14 + n}, %d11;\n"
    for n in range(numbers):
        body += f"ld.global.u32 %r{20 + n}, [%d3+{8 * (descriptors + n)}];\n"
    names = {f"d{n}": f"%d{14 + n}" for n in range(descriptors)}
    names |= {f"n{n}": f"%r{20 + n}" for n in range(numbers)}
    body += f"""@%p1 {statement.format(**names)};
@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster{several[0]}.b64 [%r9]{several[1]};
wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0; @!%p3 bra wait; tcgen05.fence::after_thread_sync;
add.u64 %d8, %d0, %d9; mov.u32 %r10, %r4; mov.u32 %r11, 0;
drain: tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(100, 8)}, [%r10]; tcgen05.wait::ld.sync.aligned;
st.global.v4.u32 [%d8], {registers(100, 4)}; st.global.v4.u32 [%d8+16], {registers(104, 4)}; add.u64 %d8, %d8, 32;
add.u32 %r10, %r10, 8; add.u32 %r11, %r11, 8; setp.lt.u32 %p2, %r11, {COLUMNS}; @%p2 bra drain;
"""
    kernel = text(within(body), 4, target, room=room)
    if issuer is None:
        return kernel
    kernel = kernel.replace(") {", ") .explicitcluster .reqnctapercluster 2 {", 1)
    return kernel.replace("cta_group::1", "cta_group::2")


def after(
    device, statement, cells, room=None, descriptors=(), numbers=(), target="sm_100a", issuer=None
):
    """The cells of tensor memory after a statement, in a process with a newer device.

    With an issuer, `cells` and `room` have those of both blocks of a pair.
    """
    values = np.array([*descriptors, *numbers, 0], np.uint64)
    blocks = 1 if issuer is None else 2
    shared = np.zeros(blocks * ROOM, np.uint8) if room is None else room.reshape(-1)
    size = len(shared) // blocks
    kernel = whole(statement, len(descriptors), len(numbers), target, size, issuer)
    out = np.zeros(cells.size, np.uint32)
    arrays = [out, np.ascontiguousarray(cells).reshape(-1), shared, values]
    return device.run(run, kernel, arrays, 128, blocks)[0].reshape(cells.shape)


CHECKED = """
import sys
from ptx import tensor_memory
import numpy as np
tensor_memory.run(sys.stdin.read(), [np.zeros(256, np.uint32)])
"""


def checked(kernel, capability="10.0", check="init"):
    """The messages of a process that runs a kernel with a check."""
    environment = {
        **os.environ,
        "CUPOLA_CPU_CHECK": check,
        "CUPOLA_CPU_COMPUTE_CAPABILITY": capability,
        "PYTHONPATH": str(pathlib.Path(__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", CHECKED],
        input=kernel, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr
