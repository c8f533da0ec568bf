# cupola/mpi/communicator.py - Communicator: mpi4py's calls of buffers, for device arrays.
"""Communicators of device arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.mpi.buffers import Buffer, Call
from cupola.mpi.collectives import Collectives
from cupola.mpi.messages import Link, Message, ReceiveMessage, SendMessage
from cupola.mpi.progress import Progress
from cupola.mpi.request import PersistentRequest, Request
from cupola.mpi.staging import Staging
from cupola.mpi.transport import STAGED, Transport, transport

if TYPE_CHECKING:
    from cupola.device import _DeviceLike
    from cupola.stream import _StreamProtocol

# Bytes of a piece: large enough for the bandwidth of the copies, small beside an array.
PIECE = 4 << 20

# The bytes of a piece without staging: counts of an MPI library may have 32 bits, and the device's
# memory may have to be copied.
LARGE_PIECE = 256 << 20


class Communicator(Collectives):
    """MPI for arrays of one device, with mpi4py's names for calls of buffers.

    Its methods take a `cupola.Array`, device arrays of other libraries, and NumPy arrays, which MPI
    gets as they are. The elements of views with gaps are packed on the device. Elements travel in C
    order, as bytes.

    Making one is collective: each rank of `comm` makes one, with the same `piece`.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        It is duplicated, so that these messages do not mix with others.
    device : Device or int, optional
        The device of the arrays; by default the current one.
    device_pointers : bool, optional
        Whether MPI gets device pointers; by default as `transport` says. All ranks stage where one
        does.
    piece : int
        Bytes of a piece, where messages are staged: page-locked memory of two pieces is in use for
        each message.

    Attributes
    ----------
    comm : mpi4py.MPI.Intracomm
        The duplicate, for calls that `Communicator` does not have.
    rank, size : int
    device : Device
    transport : Transport
        How device memory gets to MPI, and why.
    piece : int

    Raises
    ------
    ArgumentError
        Where an argument is wrong, or the ranks have different pieces.

    Notes
    -----
    A method orders its work by a stream: `stream`, by default the current one of the device. Before
    MPI reads or writes device memory, the host waits for the stream. When a receive returns, the
    elements are there for later work on the stream.

    A message of `piece` bytes or more, or of 256 MiB where it is not staged, goes in pieces, and
    its pieces advance during calls of this communicator and of its requests.

    MPI libraries that take device pointers open the memory of other processes. Memory of a pool,
    which an array usually has, can't be opened. So it is copied on the device, to memory as of
    ``cupola.alloc(nbytes, exportable=True)``.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        *,
        device: _DeviceLike | None = None,
        device_pointers: bool | None = None,
        piece: int = PIECE,
    ) -> None:
        if not isinstance(comm, MPI.Intracomm):
            raise ArgumentTypeError(
                f"Communicator takes a communicator of mpi4py within one group, got {comm!r}"
            )
        if isinstance(piece, bool) or not hasattr(piece, "__index__"):
            raise ArgumentTypeError(f"piece= is a number of bytes, got {piece!r}")
        if not 64 <= piece < 1 << 31:
            raise ArgumentValueError(f"piece= is 64 to {(1 << 31) - 1} bytes, got {piece}")
        self.device = Device(device)
        own = transport(self.device, device_pointers=device_pointers)
        self.comm = comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.piece = int(piece)
        self.transport = self._agreed(own)
        staged = self.transport.staged
        staging = Staging(self.device.index, on_device=not staged)
        cut = self.piece if staged else LARGE_PIECE
        self._link = Link(self.comm, staging, self.transport.name, cut)
        self._progress = Progress()

    def _agreed(self, own: Transport) -> Transport:
        everyone = np.empty((self.size, 2), np.int64)
        self.comm.Allgather(np.array([own.staged, self.piece], np.int64), everyone)
        for rank, piece in enumerate(everyone[:, 1].tolist()):
            if piece != everyone[0, 1]:
                self.comm.Free()
                raise ArgumentValueError(
                    f"piece= is {everyone[0, 1]} on rank 0 and {piece} on rank {rank}; pass the "
                    "same on all ranks"
                )
        if own.staged or not everyone[:, 0].any():
            return own
        first = int(everyone[:, 0].argmax())
        return Transport(STAGED, f"rank {first} stages, so that all ranks do", own.library)

    def Get_rank(self) -> int:  # noqa: N802 - mpi4py's name
        """This process's rank."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802 - mpi4py's name
        """The number of ranks."""
        return self.size

    def Isend(  # noqa: N802 - mpi4py's name
        self, buf: Any, dest: int, tag: int = 0, *, stream: _StreamProtocol | None = None
    ) -> Request:
        """Begin to send an array. Do not change it before the request is done.

        The host waits until the stream has computed the array.

        Parameters
        ----------
        buf : array
        dest : int
        tag : int
        stream : Stream, optional
            The stream that computes the array; by default the current one.

        Returns
        -------
        Request
        """
        return self._send(self._call("Isend", stream), "buf", buf, dest, tag)

    def _send(self, call: Call, argument: str, buf: Any, dest: int, tag: int) -> Request:
        buffer = Buffer(call, argument, buf, False)
        return self._started(SendMessage(self._link, call, buffer, dest, tag))

    def _receive(self, call: Call, argument: str, buf: Any, source: int, tag: int) -> Request:
        buffer = Buffer(call, argument, buf, True)
        return self._started(ReceiveMessage(self._link, call, buffer, source, tag))

    def _started(self, message: Message) -> Request:
        self._progress.start(message)
        return Request(self._progress, message)

    def Irecv(  # noqa: N802 - mpi4py's name
        self,
        buf: Any,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        *,
        stream: _StreamProtocol | None = None,
    ) -> Request:
        """Begin to receive into an array. Do not use it before the request is done.

        Parameters
        ----------
        buf : array
            Of at least the message's size. A smaller message leaves its other elements as they are.
        source, tag : int
        stream : Stream, optional
            The stream on which the elements are used afterwards; by default the current one.

        Returns
        -------
        Request
        """
        return self._receive(self._call("Irecv", stream), "buf", buf, source, tag)

    def Send(  # noqa: N802 - mpi4py's name
        self, buf: Any, dest: int, tag: int = 0, *, stream: _StreamProtocol | None = None
    ) -> None:
        """Send an array; parameters as of `Isend`."""
        self._send(self._call("Send", stream), "buf", buf, dest, tag).Wait()

    def Recv(  # noqa: N802 - mpi4py's name
        self,
        buf: Any,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Receive into an array; parameters as of `Irecv` and `Request.Wait`."""
        self._receive(self._call("Recv", stream), "buf", buf, source, tag).Wait(status)

    def Sendrecv(  # noqa: N802 - mpi4py's name
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Send one array and receive into another one, which does not share memory with it."""
        call = self._call("Sendrecv", stream)
        sent = Buffer(call, "sendbuf", sendbuf, False)  # checked before the receive begins
        receive = self._receive(call, "recvbuf", recvbuf, source, recvtag)
        send = self._started(SendMessage(self._link, call, sent, dest, sendtag))
        receive.Wait(status)
        send.Wait()

    def Send_init(  # noqa: N802 - mpi4py's name
        self, buf: Any, dest: int, tag: int = 0, *, stream: _StreamProtocol | None = None
    ) -> PersistentRequest:
        """The arguments of `Isend`, for several messages: each `PersistentRequest.Start` sends."""
        return PersistentRequest(lambda: self.Isend(buf, dest, tag, stream=stream))

    def Recv_init(  # noqa: N802 - mpi4py's name
        self,
        buf: Any,
        source: int = MPI.ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        *,
        stream: _StreamProtocol | None = None,
    ) -> PersistentRequest:
        """The arguments of `Irecv`, for several messages."""
        return PersistentRequest(lambda: self.Irecv(buf, source, tag, stream=stream))

    def Free(self) -> None:  # noqa: N802 - mpi4py's name
        """Free the duplicate; collective. Waits for copies to the device.

        Raises
        ------
        ArgumentValueError
            Where a request is not done.
        """
        self._progress.advance()
        if self._progress.messages:
            raise ArgumentValueError(
                f"Communicator.Free on rank {self.rank}: {len(self._progress.messages)} messages "
                "are not done; wait for their requests first"
            )
        self._link.staging.drain()
        self.comm.Free()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:  # after an error, other ranks may never call Free
            self.Free()

    def __repr__(self) -> str:
        return (
            f"<cupola.mpi.Communicator: rank {self.rank} of {self.size} on {self.device!r}, "
            f"{self.transport.name}>"
        )
