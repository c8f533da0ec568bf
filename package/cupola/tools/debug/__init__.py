# cupola/tools/debug/__init__.py - cupola.set_trace: stop in a kernel of this process.
"""The debugger of kernels on the CPU device."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["set_trace"]


def set_trace(
    kernel: str | None = None,
    *,
    block: Sequence[int] | None = None,
    thread: Sequence[int] | None = None,
) -> None:
    """Stop at the first line of a kernel's next launch, and take commands as pdb does.

    From the first call on, each launch of this process waits for its end, and the thread that
    launches a kernel runs its commands. A stopped launch does not hold the GIL. Under
    ``python -m cupola debug`` the prompt is that of the debugger.

    Parameters
    ----------
    kernel
        The kernel, or a device function that kernels call: its name in C++ or its symbol. By
        default, the next kernel of all.
    block, thread
        Three numbers: the index of the block in the grid, and of the thread in the block. By
        default, the first that comes there.

    Raises
    ------
    ArgumentValueError
        An index is not three numbers from 0.
    DriverError
        The device is not the CPU device, which alone can stop.
    """
    from cupola.tools.debug import in_process

    in_process.trace(kernel, block, thread)
