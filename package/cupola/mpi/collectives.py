# cupola/mpi/collectives.py - broadcasts, reductions and exchanges of all ranks.
"""Collectives of device arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from cupola.mpi.exchange import Exchange
from cupola.mpi.rows import Rows

if TYPE_CHECKING:
    from cupola.stream import _StreamProtocol


class Collectives(Exchange):
    """The collectives of `cupola.mpi.Communicator`.

    All ranks compare sizes, dtypes, roots and operations first, and each raises an error where they
    differ. Where one rank's own arguments are wrong, the others raise an error that names it.
    """

    def Barrier(self) -> None:  # noqa: N802 - mpi4py's name
        """Wait for all ranks; not for any stream."""
        self._progress.wait_for(self.comm.Ibarrier())

    def Bcast(  # noqa: N802 - mpi4py's name
        self, buf: Any, root: int = 0, *, stream: _StreamProtocol | None = None
    ) -> None:
        """Copy the root's array to all ranks.

        Parameters
        ----------
        buf : array
            Of the same size and dtype on all ranks.
        root : int
        stream : Stream, optional
            By default the current one.
        """
        call = self._call("Bcast", stream)
        writes = self.rank != root

        def take() -> tuple[Rows, None]:
            return self._rows(call, "buf", buf, 1, writes), None

        rows, _ = self._checked(call, take, root)
        assert rows is not None
        for start, stop in self._steps(rows.width, 1, rows.buffer.dtype.itemsize):
            part = rows.part(start, stop, not writes)
            self.comm.Bcast([part.memory, MPI.BYTE], root)
            part.finish(writes)
        rows.buffer.unpack()

    def Reduce(  # noqa: N802 - mpi4py's name
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: MPI.Op = MPI.SUM,
        root: int = 0,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Combine the arrays of all ranks, element by element, into the root's `recvbuf`.

        Parameters
        ----------
        sendbuf : array or MPI.IN_PLACE
            IN_PLACE on the root: its elements are in `recvbuf`.
        recvbuf : array or None
            Ignored on the other ranks.
        op : mpi4py.MPI.Op
            An operation of one's own gets the elements of a piece at a time.
        root : int
        stream : Stream, optional
            By default the current one.

        Raises
        ------
        ArgumentTypeError
            For dtypes that MPI does not reduce: float16, bfloat16, structures.
        """
        receives = self.rank == root
        self._combine("Reduce", sendbuf, recvbuf, (1, 1), receives, (root,), stream, op=op)

    def Allreduce(  # noqa: N802 - mpi4py's name
        self,
        sendbuf: Any,
        recvbuf: Any,
        op: MPI.Op = MPI.SUM,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Combine the arrays of all ranks on each rank; parameters as of `Reduce`."""
        self._combine("Allreduce", sendbuf, recvbuf, (1, 1), True, (), stream, op=op)

    def Gather(  # noqa: N802 - mpi4py's name
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int = 0,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Put the arrays of all ranks one after the other into the root's `recvbuf`.

        Parameters
        ----------
        sendbuf : array or MPI.IN_PLACE
            IN_PLACE on the root: its elements are in their part of `recvbuf`.
        recvbuf : array or None
            Of `size` times as many elements. Ignored on the other ranks.
        root : int
        stream : Stream, optional
            By default the current one.
        """
        receives = self.rank == root
        self._combine("Gather", sendbuf, recvbuf, (1, self.size), receives, (root,), stream)

    def Allgather(  # noqa: N802 - mpi4py's name
        self, sendbuf: Any, recvbuf: Any, *, stream: _StreamProtocol | None = None
    ) -> None:
        """Put the arrays of all ranks one after the other on each rank; as `Gather`."""
        self._combine("Allgather", sendbuf, recvbuf, (1, self.size), True, (), stream)

    def Alltoall(  # noqa: N802 - mpi4py's name
        self, sendbuf: Any, recvbuf: Any, *, stream: _StreamProtocol | None = None
    ) -> None:
        """Send part `i` of each rank's array to rank `i`, and put the parts in the ranks' order.

        Parameters
        ----------
        sendbuf : array or MPI.IN_PLACE
            Of `size` equal parts. IN_PLACE: they are in `recvbuf`.
        recvbuf : array
            Of as many elements.
        stream : Stream, optional
            By default the current one.
        """
        self._combine("Alltoall", sendbuf, recvbuf, (self.size, self.size), True, (), stream)

    def _combine(
        self,
        name: str,
        sendbuf: Any,
        recvbuf: Any,
        counts: tuple[int, int],
        receives: bool,
        root: tuple[int, ...],
        stream: _StreamProtocol | None,
        *,
        op: MPI.Op | None = None,
    ) -> None:
        """A collective whose every rank sends; `counts` are the parts of the two arrays."""
        call = self._call(name, stream)
        in_place = sendbuf is MPI.IN_PLACE and receives

        def take() -> tuple[Rows | None, Rows | None]:
            send = None if in_place else self._rows(call, "sendbuf", sendbuf, counts[0], False)
            receive = self._rows(call, "recvbuf", recvbuf, counts[1], True) if receives else None
            return send, receive

        send, receive = self._checked(call, take, *root, op=op)
        first = MPI.IN_PLACE if in_place else send
        self._exchange(call, first, receive, *root, rows=max(counts), op=op)

    def Scatter(  # noqa: N802 - mpi4py's name
        self,
        sendbuf: Any,
        recvbuf: Any,
        root: int = 0,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None:
        """Send part `i` of the root's array to rank `i`.

        Parameters
        ----------
        sendbuf : array or None
            Of `size` equal parts. Ignored on the other ranks.
        recvbuf : array or MPI.IN_PLACE
            Of one part. IN_PLACE on the root: its part stays where it is.
        root : int
        stream : Stream, optional
            By default the current one.
        """
        call = self._call("Scatter", stream)
        sends = self.rank == root
        in_place = recvbuf is MPI.IN_PLACE and sends

        def take() -> tuple[Rows | None, Rows | None]:
            send = self._rows(call, "sendbuf", sendbuf, self.size, False) if sends else None
            return send, None if in_place else self._rows(call, "recvbuf", recvbuf, 1, True)

        send, receive = self._checked(call, take, root)
        second = MPI.IN_PLACE if in_place else receive
        self._exchange(call, send, second, root, rows=self.size)
