# ruff: noqa: E501 - PTX text is wide
"""Kernels on tensor memory (tcgen05), and what a process with such a device says of them."""

import driver_abi
import numpy as np

from . import device_process
from .native_kernels import last_fault

LANES, COLUMNS = 128, 512
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
