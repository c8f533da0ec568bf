# cupola/nccl/communicator.py - a rank among the devices that communicate.
"""`Communicator`."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_void_p
from typing import Any

from cupola.algorithms.arguments import integer_of
from cupola.array import Array, note_use
from cupola.creation import empty
from cupola.device import Device
from cupola.device import devices as all_devices
from cupola.exceptions import ArgumentTypeError, ArgumentValueError, Error
from cupola.nccl import element_types
from cupola.nccl.arguments import (
    array_of,
    bytes_of,
    check_out,
    check_overlap,
    parts_of,
    rank_of,
    stream_of,
)
from cupola.nccl.group import Call, group, is_grouped, submit
from cupola.nccl.handle import Handle
from cupola.nccl.library import Nccl, library
from cupola.nccl.unique_id import UniqueId
from cupola.stream import Stream, hold_in_capture


class Communicator:
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
        self._nccl: Nccl = library(title, self._device)
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
        except Error as error:  # the other ranks wait for this one
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

    def all_reduce(self, x: Array, out: Any = None, op: str = "sum", stream: Any = None) -> Array:
        """Reduce the arrays of all ranks element by element; each rank gets the result.

        Parameters
        ----------
        x : Array
            Of the same shape and type on each rank.
        out : Array, optional
            Of x's shape and type; `x` itself for an operation in place. By default a new array.
        op : {"sum", "prod", "min", "max", "avg"}
            "avg" of integers drops the fraction. Complex numbers have "sum" and "avg", bool has
            "min" (logical and) and "max" (logical or).
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default the current one of the device.

        Returns
        -------
        Array
            Queued on the stream.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Where an argument does not fit.
        DriverError
            Where NCCL refuses the call.
        """
        title, x, queue = self._begin("all_reduce", x, stream)
        number = element_types.operation(title, op)
        kind = element_types.reduced(title, x.dtype, op, self._nccl.version)
        target = self._target(title, out, x, x.shape, queue)
        check_overlap(title, x, target, 0)
        count = x.size * kind.factor
        self._queue(
            title, queue, (x, target), "ncclAllReduce", x.ptr, target.ptr, count, kind.code, number
        )
        return target

    def reduce(
        self, x: Array, out: Any = None, root: Any = 0, op: str = "sum", stream: Any = None
    ) -> Array | None:
        """Reduce the arrays of all ranks element by element; one rank gets the result.

        Parameters are those of `all_reduce`; `out` is used on the rank `root` alone.

        Returns
        -------
        Array or None
            None on the other ranks.
        """
        title, x, queue = self._begin("reduce", x, stream)
        where = rank_of(title, "root", root, self._size)
        number = element_types.operation(title, op)
        kind = element_types.reduced(title, x.dtype, op, self._nccl.version)
        is_root = where == self._rank
        target = self._target(title, out, x, x.shape, queue) if is_root else x
        check_overlap(title, x, target, 0)
        count = x.size * kind.factor
        self._queue(
            title, queue, (x, target), "ncclReduce",
            x.ptr, target.ptr, count, kind.code, number, where,
        )  # fmt: skip
        return target if is_root else None

    def broadcast(self, x: Array, root: Any = 0, stream: Any = None) -> Array:
        """Copy an array of one rank into the arrays of all others.

        Parameters
        ----------
        x : Array
            Of the same shape and type on each rank, of any type. It is read on the rank `root` and
            overwritten on the others.
        root : int
        stream : Stream or an object with ``__cuda_stream__``, optional

        Returns
        -------
        Array
            `x`.
        """
        title, x, queue = self._begin("broadcast", x, stream)
        where = rank_of(title, "root", root, self._size)
        if where != self._rank:
            array_of(title, "x", x, self._device, writable=True)
        kind = element_types.moved(x.dtype)
        count = x.size * kind.factor
        self._queue(title, queue, (x,), "ncclBroadcast", x.ptr, x.ptr, count, kind.code, where)
        return x

    def all_gather(self, x: Array, out: Any = None, stream: Any = None) -> Array:
        """Collect the arrays of all ranks on each rank.

        Parameters
        ----------
        x : Array
            Of the same shape and type on each rank, of any type.
        out : Array, optional
            Of the shape ``(size, *x.shape)``. In place where x is ``out[rank]``.
        stream : Stream or an object with ``__cuda_stream__``, optional

        Returns
        -------
        Array
            Its part i is the array of rank i.
        """
        title, x, queue = self._begin("all_gather", x, stream)
        target = self._target(title, out, x, (self._size, *x.shape), queue)
        check_overlap(title, x, target, -self._rank * x.nbytes)
        kind = element_types.moved(x.dtype)
        count = x.size * kind.factor
        self._queue(title, queue, (x, target), "ncclAllGather", x.ptr, target.ptr, count, kind.code)
        return target

    def reduce_scatter(
        self, x: Array, out: Any = None, op: str = "sum", stream: Any = None
    ) -> Array:
        """Reduce the arrays of all ranks; each rank gets its part of the result.

        Parameters are those of `all_reduce`, but for these.

        Parameters
        ----------
        x : Array
            With a first axis of `size` parts.
        out : Array, optional
            Of the shape ``x.shape[1:]``. In place where it is ``x[rank]``.

        Returns
        -------
        Array
        """
        title, x, queue = self._begin("reduce_scatter", x, stream)
        number = element_types.operation(title, op)
        kind = element_types.reduced(title, x.dtype, op, self._nccl.version)
        shape = parts_of(title, x, self._size)
        target = self._target(title, out, x, shape, queue)
        check_overlap(title, x, target, self._rank * bytes_of(shape, x.dtype))
        count = target.size * kind.factor
        self._queue(
            title, queue, (x, target), "ncclReduceScatter",
            x.ptr, target.ptr, count, kind.code, number,
        )  # fmt: skip
        return target

    def send(self, x: Array, peer: Any, stream: Any = None) -> None:
        """Send an array to another rank, which calls `recv` for as many bytes.

        A rank that also receives does both in a `group`, and so does one that sends to itself.

        Parameters
        ----------
        x : Array
            Of any type.
        peer : int
        stream : Stream or an object with ``__cuda_stream__``, optional
        """
        title, x, queue = self._begin("send", x, stream)
        self._transfer(title, queue, "ncclSend", x, peer)

    def recv(self, out: Array, peer: Any, stream: Any = None) -> Array:
        """Receive an array from another rank.

        Parameters
        ----------
        out : Array
            It is overwritten.
        peer : int
        stream : Stream or an object with ``__cuda_stream__``, optional

        Returns
        -------
        Array
            `out`.
        """
        title, out, queue = self._begin("recv", out, stream, "out")
        array_of(title, "out", out, self._device, writable=True)
        self._transfer(title, queue, "ncclRecv", out, peer)
        return out

    def all_to_all(self, x: Array, out: Any = None, stream: Any = None) -> Array:
        """Send part i of each rank's array to rank i: a transposition of ranks and parts.

        Parameters
        ----------
        x : Array
            With a first axis of `size` parts, of any type.
        out : Array, optional
            Of x's shape, in other memory.
        stream : Stream or an object with ``__cuda_stream__``, optional

        Returns
        -------
        Array
            Its part i is what rank i sent.
        """
        title, x, queue = self._begin("all_to_all", x, stream)
        parts_of(title, x, self._size)
        target = self._target(title, out, x, x.shape, queue)
        check_overlap(title, x, target, None)
        with group():
            for peer in range(self._size):
                self._transfer(title, queue, "ncclSend", x[peer : peer + 1], peer)
                self._transfer(title, queue, "ncclRecv", target[peer : peer + 1], peer)
        return target

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

    def _begin(
        self, name: str, x: Any, stream: Any, argument: str = "x"
    ) -> tuple[str, Array, Stream]:
        """The title for errors, the checked array, and the stream."""
        title = self._handle.title(name)
        self._handle.require_open(title)
        found = array_of(title, argument, x, self._device)
        return title, found, stream_of(title, stream, self._device)

    def _target(
        self, title: str, out: Any, x: Array, shape: tuple[int, ...], queue: Stream
    ) -> Array:
        if out is not None:
            return check_out(title, out, x, shape)
        with queue:
            return empty(shape, x.dtype, device=self._device)

    def _transfer(self, title: str, queue: Stream, name: str, x: Array, peer: Any) -> None:
        other = rank_of(title, "peer", peer, self._size)
        if other == self._rank and not is_grouped():
            raise ArgumentValueError(
                f"{title}: argument peer is this rank: expected another one, or both the send and "
                "the receive in a cupola.nccl.group()"
            )
        kind = element_types.moved(x.dtype)
        self._queue(title, queue, (x,), name, x.ptr, x.size * kind.factor, kind.code, other)

    def _queue(
        self, title: str, queue: Stream, arrays: tuple[Array, ...], name: str, *arguments: Any
    ) -> None:
        """Queue a call now, or at the end of the group. Arrays of no elements need none."""
        if not arrays[0].size and not arrays[-1].size:
            return

        def start() -> None:
            with Device(self._device), queue:
                self._handle.call(title, name, *arguments, c_void_p(queue.handle))

        def finish() -> None:
            with queue:
                for array in arrays:
                    note_use(array)
            if queue.capturing:
                hold_in_capture(queue, (self._handle.lease(), *arrays))

        submit(Call(self._nccl, start, finish))

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
