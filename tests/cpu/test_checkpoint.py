"""Checkpoints of the process itself, by its states."""

import pytest
from driver_abi import *

__all__ = []


@pytest.mark.cpu_only(reason="a checkpoint of a GPU takes the device from all tests beside it")
def test_calls_wait_while_the_process_is_locked(passes):
    passes(
        """
        import os, threading
        from ctypes import byref, c_int
        from driver_abi import *
        ILLEGAL_STATE, NOT_SUPPORTED = 401, 801
        RUNNING, LOCKED, CHECKPOINTED = 0, 1, 2
        me = os.getpid()

        def state():
            found = c_int(-1)
            cuda.cuCheckpointProcessGetState(me, byref(found))
            return found.value

        def refused(*names):
            for name in names:
                assert cuda.code(f"cuCheckpointProcess{name}", me, None) == ILLEGAL_STATE, name

        memory = cuda.alloc(64)
        cuda.cuMemsetD32_v2(memory, 5, 16)
        thread = c_int()
        cuda.cuCheckpointProcessGetRestoreThreadId(me, byref(thread))
        assert thread.value == me and state() == RUNNING
        refused("Checkpoint", "Restore", "Unlock")

        cuda.cuCheckpointProcessLock(me, None)
        assert state() == LOCKED
        refused("Lock", "Restore")
        read, started = [], threading.Event()

        def reader():
            cuda.cuCtxSetCurrent(context)
            read.extend(cuda.read(memory, 16))

        waiting = threading.Thread(target=reader)
        waiting.start()
        cuda.cuCheckpointProcessCheckpoint(me, None)
        assert state() == CHECKPOINTED
        refused("Lock", "Checkpoint", "Unlock")
        cuda.cuCheckpointProcessRestore(me, None)
        assert state() == LOCKED
        waiting.join(0.2)
        assert waiting.is_alive() and not read
        cuda.cuCheckpointProcessUnlock(me, None)
        waiting.join()
        assert read == [5] * 16 and state() == RUNNING
        cuda.cuCheckpointProcessLock(me, None)  # the process ends while it is locked
    """
    )
