# cupola/nccl/operations.py - what the ranks of a communicator do with their arrays.
"""`Operations`."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

from cupola.array import Array, note_use
from cupola.creation import empty
from cupola.device import Device
from cupola.exceptions import ArgumentValueError
from cupola.nccl import element_types
from cupola.nccl.arguments import (
    array_of,
    bytes_of,
    check_out,
    check_overlap,
    parts_of,
    rank_of,
)
from cupola.nccl.group import Call, group, is_grouped, submit
from cupola.nccl.handle import Handle
from cupola.nccl.library import Nccl
from cupola.stream import Stream, hold_in_capture, stream_of


class Operations:
    """The operations of a `Communicator`."""

    _size: int
    _rank: int
    _device: int
    _nccl: Nccl
    _handle: Handle

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

    def _begin(
        self, name: str, x: Any, stream: Any, argument: str = "x"
    ) -> tuple[str, Array, Stream]:
        """The title for errors, the checked array, and the stream."""
        title = self._handle.title(name)
        self._handle.require_open(title)
        found = array_of(title, argument, x, self._device)
        return title, found, stream_of(stream, self._device, title)

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
                for array in arrays:
                    note_use(array)
                self._handle.call(title, name, *arguments, c_void_p(queue.handle))

        def finish() -> None:
            if queue.capturing:
                hold_in_capture(queue, (self._handle.lease(), *arrays))

        submit(Call(self._nccl, start, finish))
