# cupola/mpi/messages.py - messages on their way, each in one piece or in several.
"""Sends and receives of a communicator.

A message goes in pieces: each has `piece` bytes but the last, which has fewer, possibly none. So a
receiver knows the last piece by its size.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

from mpi4py import MPI

from cupola.event import Event
from cupola.memory import is_exportable
from cupola.mpi.buffers import Buffer, Call
from cupola.mpi.staging import Lease, Staging
from cupola.mpi.transport import DEVICE_POINTERS, STAGED

# Pieces of a message that are sent at the same time: one piece is copied while another travels.
IN_FLIGHT = 2


class Link(NamedTuple):
    """The parts that all messages of a communicator share."""

    comm: MPI.Comm
    staging: Staging
    transport: str  # a transport's name
    piece: int

    def stages(self, buffer: Buffer) -> bool:
        """Whether MPI gets a copy of the array.

        MPI libraries on one host open each other's device memory, and memory of a pool can't be
        opened so.
        """
        if not buffer.on_device or not buffer.nbytes:
            return False
        if self.transport == DEVICE_POINTERS:
            return not is_exportable(buffer.address)
        return self.transport == STAGED


class Received(NamedTuple):
    source: int
    tag: int
    nbytes: int


class Message:
    """A message on its way.

    Attributes
    ----------
    done : bool
        Whether this rank is done with it, or it failed.
    error : Exception or None
        The reason, where it failed.
    received : Received or None
        Of a receive that is done.
    waiting : bool
        Whether a thread waits for it in MPI, so that no other one may test it.
    in_pieces : bool
        Whether it may have several pieces.
    moved : int
        How many pieces MPI is done with.
    """

    def __init__(self, link: Link, call: Call, buffer: Buffer, peer: int) -> None:
        self.link, self.call, self.buffer = link, call, buffer
        self.staged = link.stages(buffer)
        self.received: Received | None = None
        self.error: Exception | None = None
        self.done = peer == MPI.PROC_NULL
        self.waiting = False
        self.in_pieces = buffer.nbytes >= link.piece
        self.moved = 0
        if buffer.on_device and not self.staged and not self.done:
            buffer.stream.synchronize()

    def advance(self) -> None:
        """Do what can be done now; waits for nothing."""
        try:
            self.do_advance()
        except MPI.Exception as error:
            self.fail(error)

    def wait_for_one(self) -> bool:
        """Wait until MPI is done with the oldest piece; False where it has none to wait for."""
        try:
            return self.do_wait()
        except MPI.Exception as error:
            self.fail(error)
            return True

    def holds_back(self, later: Message) -> bool:
        """Whether a later message must wait, so that the pieces of both do not mix."""
        raise NotImplementedError

    def do_advance(self) -> None:
        raise NotImplementedError

    def do_wait(self) -> bool:
        raise NotImplementedError

    def fail(self, error: MPI.Exception) -> None:
        self.done, self.error = True, error
        nbytes = self.buffer.nbytes
        if error.Get_error_class() == MPI.ERR_TRUNCATE:
            self.error = self.call.value_error(
                self.buffer.argument,
                f"the message is larger than the array's {nbytes} bytes; receive into an array of "
                "at least the sender's size",
            )
            self.error.__cause__ = error


class SentPiece:
    def __init__(self, memory: MPI.memory, lease: Lease | None, copied: Event | None) -> None:
        self.memory, self.lease, self.copied = memory, lease, copied
        self.request: MPI.Request | None = None


class SendMessage(Message):
    """A message that leaves this rank. Once it is done, nothing reads the array for it."""

    def __init__(self, link: Link, call: Call, buffer: Buffer, dest: int, tag: int) -> None:
        super().__init__(link, call, buffer, dest)
        self.dest, self.tag = dest, tag
        self.count = buffer.nbytes // link.piece + 1
        self.begun = 0  # pieces
        self.pieces: collections.deque[SentPiece] = collections.deque()
        if self.staged and not self.done:
            self._begin_pieces()
            copied = self.pieces[0].copied
            if copied is not None:
                copied.synchronize()  # in this case the present call sends the first piece

    def holds_back(self, later: Message) -> bool:
        return (
            isinstance(later, SendMessage)
            and not (self.begun == self.count and all(p.request is not None for p in self.pieces))
            and (self.dest, self.tag) == (later.dest, later.tag)
        )

    def do_advance(self) -> None:
        self._begin_pieces()
        for piece in self.pieces:
            if piece.request is None:
                if piece.copied is not None and not piece.copied.done:
                    break
                piece.request = self.link.comm.Isend([piece.memory, MPI.BYTE], self.dest, self.tag)
        while self.pieces:
            request = self.pieces[0].request
            if request is None or not request.Test():
                break
            self.moved += 1
            lease = self.pieces.popleft().lease
            if lease is not None:
                self.link.staging.give_back(lease)
        self.done = self.begun == self.count and not self.pieces

    def do_wait(self) -> bool:
        requests = [piece.request for piece in self.pieces]
        if not requests or any(request is None for request in requests):
            return False  # a copy from the device is not done
        requests[0].Wait()
        return True

    def _begin_pieces(self) -> None:
        while self.begun < self.count and len(self.pieces) < IN_FLIGHT:
            start = self.begun * self.link.piece
            stop = min(start + self.link.piece, self.buffer.nbytes)
            lease = copied = None
            memory = self.buffer.part(start, stop)
            if self.staged and stop > start:
                lease = self.link.staging.take(stop - start)
                stream = self.buffer.stream
                lease.load(self.buffer.contents[start:stop], stream)
                memory, copied = lease.part(stop - start), stream.record()
            self.pieces.append(SentPiece(memory, lease, copied))
            self.begun += 1


class ReceiveMessage(Message):
    """A message that comes to this rank. Copies to the device may be queued after it is done."""

    def __init__(self, link: Link, call: Call, buffer: Buffer, source: int, tag: int) -> None:
        super().__init__(link, call, buffer, source)
        self.source, self.tag = source, tag
        self.nbytes = 0
        self.request: MPI.Request | None = None
        self.lease: Lease | None = None
        if self.done:
            self.received = Received(MPI.PROC_NULL, MPI.ANY_TAG, 0)

    def holds_back(self, later: Message) -> bool:
        return (
            isinstance(later, ReceiveMessage)
            and (self.request is None or self.link.piece <= self.buffer.nbytes)
            and (self.source == later.source or MPI.ANY_SOURCE in (self.source, later.source))
            and (self.tag == later.tag or MPI.ANY_TAG in (self.tag, later.tag))
        )

    def do_advance(self) -> None:
        while not self.done:
            if self.request is None:
                self._post()
            status = MPI.Status()
            if not self.request.Test(status):
                return
            self._take(status)

    def do_wait(self) -> bool:
        if self.request is None:
            return False
        status = MPI.Status()
        self.request.Wait(status)
        self._take(status)
        return True

    def _post(self) -> None:
        size = min(self.buffer.nbytes - self.nbytes, self.link.piece)
        if self.staged and size:
            self.lease = self.link.staging.take(size)
            memory = self.lease.part(size)
        else:
            memory = self.buffer.part(self.nbytes, self.nbytes + size)
        self.request = self.link.comm.Irecv([memory, MPI.BYTE], self.source, self.tag)

    def _take(self, status: MPI.Status) -> None:
        size = status.Get_count(MPI.BYTE)
        self.request = None
        self.moved += 1
        if self.lease is not None:
            if size:
                stream = self.buffer.stream
                target = self.buffer.contents[self.nbytes : self.nbytes + size]
                self.lease.store(target, stream)
                self.link.staging.retire(self.lease, stream)
            else:
                self.link.staging.give_back(self.lease)
            self.lease = None
        self.nbytes += size
        # Later pieces have the source and tag of the first.
        self.source, self.tag = status.Get_source(), status.Get_tag()
        if size == self.link.piece:
            return
        self.done = True
        self.received = Received(self.source, self.tag, self.nbytes)
        self.buffer.unpack()
        if self.nbytes % self.buffer.dtype.itemsize:
            self.error = self.call.value_error(
                self.buffer.argument,
                f"got {self.nbytes} bytes from rank {self.source}, which are no whole number of "
                f"elements of {self.buffer.dtype}; send and receive the same dtype",
            )
