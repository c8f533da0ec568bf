# cupola/nccl/communicator.py - a rank among the devices that communicate: made and released.
"""`Communicator`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cupola.arrays.arguments import integer_of
from cupola.device import Device
from cupola.device import devices as all_devices
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, Error
from cupola.nccl.arguments import rank_of
from cupola.nccl.group import Call, group, submit
from cupola.nccl.handle import Handle
from cupola.nccl.library import library
from cupola.nccl.operations import Operations
from cupola.nccl.unique_id import UniqueId


class Communicator(Operations):
    """A rank among the devices that communicate. Each rank has a device of its own.

    The call returns when all ranks have called it, and it releases the GIL. Within `group` it is
    complete at the end of the block. As a context manager it is closed at the end of the block, and
    aborted after an exception.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rank : int
        This one, 0 to ``size - 1``.
    unique_id : UniqueId or bytes
        The same for all ranks; one of them made it.
    device : Device or int, optional
        By default the current one.

    Raises
    ------
    MissingFileError
        Where NCCL is not installed.
    Error
        On the CPU device.
    ArgumentTypeError, ArgumentValueError
        Where an argument does not fit.
    DriverError
        Where NCCL fails; it has NCCL's last error.

    Notes
    -----
    A communicator lives until `close`, `abort` or the end of the program, which aborts it. One
    thread at a time may use it.
    """

    __module__ = "cupola.nccl"

    def __init__(self, size: Any, rank: Any, unique_id: bytes, device: Any = None) -> None:
        title = "nccl.Communicator"
        self._size = integer_of(title, "size", size)
        if self._size < 1:
            raise ArgumentValueError(
                f"{title}: argument size: expected at least 1, got {self._size}"
            )
        self._rank = rank_of(title, "rank", rank, self._size)
        identifier = UniqueId(_not_none(title, unique_id))
        self._device = Device(device).index
        self._nccl = library(title, self._device)
        self._handle = Handle(self._nccl, f"nccl: {{}} on rank {self._rank} of {self._size}")
        submit(
            Call(
                self._nccl,
                lambda: self._handle.create(self._size, self._rank, identifier, self._device),
                self._handle.note_created,
            )
        )

    @classmethod
    def all(cls, devices: Iterable[Any] | None = None) -> tuple[Communicator, ...]:
        """The communicators of several devices in this process; rank i has the i-th device.

        Parameters
        ----------
        devices : iterable of Device or int, optional
            Each once. By default all devices.

        Returns
        -------
        tuple of Communicator
        """
        title = "nccl.Communicator.all"
        found = [Device(one).index for one in (all_devices() if devices is None else devices)]
        if not found or len(set(found)) != len(found):
            raise ArgumentValueError(
                f"{title}: argument devices: expected at least one device, and each once, got "
                f"{found}"
            )
        for one in found:
            library(title, one)
        unique_id = UniqueId()
        with group():
            return tuple([cls(len(found), i, unique_id, one) for i, one in enumerate(found)])

    @classmethod
    def from_mpi(cls, comm: Any, device: Any = None) -> Communicator:
        """The communicator of the ranks of an mpi4py communicator.

        All ranks of `comm` call it. Where a rank cannot, each rank raises an error that names it.

        Parameters
        ----------
        comm : mpi4py.MPI.Comm
            Its ranks and their numbers are used.
        device : Device or int, optional
            This rank's device, by default the current one. Ranks of one machine need different
            devices.

        Returns
        -------
        Communicator
        """
        title = "nccl.Communicator.from_mpi"
        unique_id, failure = None, None
        try:
            library(title, Device(device).index)
            unique_id = UniqueId() if comm.Get_rank() == 0 else None
        except Error as error:  # raised below: the other ranks wait for this rank
            failure = error
        answers = comm.allgather((unique_id, failure and f"{type(failure).__name__}: {failure}"))
        if failure is not None:
            raise failure
        for rank, (_, text) in enumerate(answers):
            if text is not None:
                raise Error(f"{title}: rank {rank} cannot take part: {text}")
        return cls(comm.Get_size(), comm.Get_rank(), answers[0][0], device)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._size

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._rank

    @property
    def device(self) -> Device:
        """The device of this rank."""
        return Device(self._device)

    @property
    def closed(self) -> bool:
        """Whether it was closed or aborted."""
        return self._handle.closed

    def check(self) -> None:
        """Raise an error where an operation failed after it was queued.

        Such as the loss of another rank. Abort the communicator then: its operations never end.

        Raises
        ------
        DriverError
        """
        self._handle.check()

    def close(self) -> None:
        """Wait for queued operations and release the communicator; a second call does nothing.

        All ranks call it. In one thread with several communicators, call it in a `group`.

        Raises
        ------
        ArgumentValueError
            While a graph that uses the communicator is alive: NCCL would wait for it forever.
        """
        self._release("close", "ncclCommDestroy")

    def abort(self) -> None:
        """Stop queued operations, whose results are undefined, and release the communicator.

        A rank may call it alone, and does so after an error.

        Raises
        ------
        ArgumentValueError
            While a graph that uses the communicator is alive.
        """
        self._release("abort", "ncclCommAbort")

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "nccl.Communicator: a communicator cannot be pickled: send a UniqueId, and make the "
            "communicator in the other process"
        )

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<cupola.nccl.Communicator, rank {self._rank} of {self._size}{state}>"

    def _release(self, name: str, function: str) -> None:
        title = self._handle.title(name)
        if self.closed:
            return
        self._handle.require_no_graph(title)

        def start() -> None:
            with Device(self._device):
                self._handle.release(title, function)

        submit(Call(self._nccl, start, _nothing))


def _nothing() -> None:
    pass


def _not_none(title: str, unique_id: Any) -> bytes:
    if unique_id is None:
        raise ArgumentTypeError(
            f"{title}: argument unique_id: expected the UniqueId that one rank made, got None"
        )
    found: bytes = unique_id
    return found
