# cupola/nccl/handle.py - owns NCCL's handle of a communicator, until it is released or at exit.
"""`Handle`."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from ctypes import byref, c_int, c_void_p
from typing import Any

from cupola.device import Device
from cupola.exceptions import ArgumentValueError, DriverError
from cupola.nccl.library import IN_PROGRESS, Id, Nccl

_open: set[Handle] = set()


class Lease:
    """An object that a graph holds for a communicator that its nodes use."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle


class Handle:
    """NCCL's handle of a communicator.

    Parameters
    ----------
    nccl : Nccl
    form : str
        The text before an error, with a place for the operation.
    """

    def __init__(self, nccl: Nccl, form: str) -> None:
        self._nccl = nccl
        self._form = form
        self._native = c_void_p()
        self._leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        self._created = self.closed = False

    def title(self, name: str) -> str:
        """The text before an error of an operation."""
        return self._form.format(name)

    def create(self, size: int, rank: int, unique_id: bytes, device: int) -> None:
        """Call ncclCommInitRank; in a group the handle is valid after the group's end."""
        given = Id.from_buffer_copy(unique_id)
        with Device(device):
            self._nccl.call(
                "ncclCommInitRank", byref(self._native), size, given, rank,
                title=self.title("Communicator"),
            )  # fmt: skip

    def note_created(self) -> None:
        """The handle is valid."""
        if not _open:
            atexit.unregister(_abort_all)
            atexit.register(_abort_all)  # before what was registered earlier
        self._created = True
        _open.add(self)

    def require_open(self, title: str) -> None:
        """Raise an error unless operations can be queued."""
        if self.closed:
            raise ArgumentValueError(f"{title}: the communicator was closed: make another one")
        if not self._created:
            raise ArgumentValueError(
                f"{title}: the communicator is complete at the end of its group: call it afterwards"
            )

    def require_no_graph(self, title: str) -> None:
        """Raise an error while a graph uses the communicator."""
        self.require_open(title)
        if len(self._leases):
            raise ArgumentValueError(
                f"{title}: a graph that is alive uses the communicator, and NCCL would wait for "
                "it: delete the Graph and what was instantiated from it first"
            )

    def lease(self) -> Lease:
        """An object for a graph to hold."""
        made = Lease(self)
        self._leases.add(made)
        return made

    def call(self, title: str, name: str, *arguments: Any) -> None:
        """Call a function that ends with the communicator and a stream."""
        self.require_open(title)
        *others, stream = arguments
        self._nccl.call(name, *others, self._native, stream, title=title, handle=self._native)

    def check(self) -> None:
        """Raise the asynchronous error, if there is one."""
        title = self.title("check")
        self.require_open(title)
        status = c_int()
        self._nccl.call("ncclCommGetAsyncError", self._native, byref(status), title=title)
        if status.value not in (0, IN_PROGRESS):
            raise self._nccl.error(
                f"{title}: an operation that was queued failed with", status.value, self._native
            )

    def release(self, title: str, function: str) -> None:
        """Call ncclCommDestroy or ncclCommAbort; the handle is invalid even if it fails."""
        self.closed = True
        _open.discard(self)
        self._nccl.call(function, self._native, title=title)


def _abort_all() -> None:
    """At exit: other ranks need not be there any more, and a failure has no reader.

    A communicator that a graph uses stays as it is, since NCCL would wait for the graph.
    """
    ready = [one for one in _open if not len(one._leases)]
    if not ready:
        return
    nccl = ready[0]._nccl
    with contextlib.suppress(DriverError):
        nccl.call("ncclGroupStart")
        for one in ready:
            with contextlib.suppress(DriverError):
                one.release("nccl: exit", "ncclCommAbort")
        nccl.call("ncclGroupEnd")
