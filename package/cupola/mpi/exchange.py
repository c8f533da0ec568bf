# cupola/mpi/exchange.py - the steps of a collective: check, compare, hand over in parts.
"""The common part of all collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from cupola.device import Device
from cupola.mpi.agreement import compare
from cupola.mpi.buffers import Buffer, Call
from cupola.mpi.messages import Link
from cupola.mpi.progress import Progress
from cupola.mpi.rows import Part, Rows

if TYPE_CHECKING:
    from cupola.stream import _StreamProtocol

# NumPy's letters of the types that every MPI library reduces.
REDUCED = "?bBhHiIlLqQfdFD"

OPERATIONS = ("SUM", "PROD", "MAX", "MIN", "MAXLOC", "MINLOC")
OPERATIONS += ("LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR")


def name_of(op: MPI.Op) -> str:
    return next((name for name in OPERATIONS if getattr(MPI, name) == op), "own")


class Exchange:
    """A rank's part in collectives; the base class of the communicator."""

    comm: MPI.Intracomm
    rank: int
    size: int
    device: Device
    _link: Link
    _progress: Progress

    def _call(self, name: str, stream: _StreamProtocol | None) -> Call:
        return Call(name, self.rank, self.device.index, stream)

    def _gather_facts(self, own: Any, everyone: Any) -> None:
        # Messages in pieces advance until all ranks are in this collective; then this rank can
        # block.
        self._progress.wait_for(self.comm.Iallgather(own, everyone))

    def _rows(self, call: Call, name: str, value: Any, rows: int, writes: bool) -> Rows:
        buffer = Buffer(call, name, value, writes)
        if buffer.size % rows:
            raise call.value_error(
                name, f"expected a multiple of {rows} elements, one part a rank, got {buffer.size}"
            )
        return Rows(buffer, rows, self._link)

    def _checked(
        self,
        call: Call,
        take: Callable[[], tuple[Rows | None, Rows | None]],
        root: int = 0,
        op: MPI.Op | None = None,
    ) -> tuple[Rows | None, Rows | None]:
        """Check the arguments here, then compare them on all ranks."""
        error: Exception | None = None
        send = receive = None
        try:
            if not 0 <= root < self.size:
                raise call.value_error("root", f"expected 0 to {self.size - 1}, got {root}")
            send, receive = take()
            self._fit(call, send, receive)
            if op is not None:
                self._reducible(call, send or receive)
        except Exception as caught:
            error = caught
        facts: dict[str, Any] = {"root": root if error is None else 0}
        own = send or receive
        if own is not None:
            facts["nbytes"], facts["dtype"] = own.width, own.buffer.dtype.str.encode()
        if op is not None:
            facts["op"] = name_of(op).encode()
        compare(self._gather_facts, call.name, self.size, error, facts)
        return send, receive

    def _fit(self, call: Call, send: Rows | None, receive: Rows | None) -> None:
        """Refuse a pair of arrays that does not fit."""
        if send is None or receive is None:
            return
        sent, target = send.buffer, receive.buffer
        if sent.dtype != target.dtype:
            raise call.type_error(
                target.argument, f"expected {sent.dtype} as in sendbuf, got {target.dtype}"
            )
        if send.width != receive.width:
            expected = send.width // sent.dtype.itemsize * receive.rows
            raise call.value_error(
                target.argument,
                f"expected {expected} elements for sendbuf's {sent.size}, got {target.size}",
            )

    def _reducible(self, call: Call, rows: Rows | None) -> None:
        if rows is None:
            return
        dtype = rows.buffer.dtype
        if dtype.char not in REDUCED or not dtype.isnative:
            raise call.type_error(
                rows.buffer.argument,
                f"MPI does not reduce {dtype}; convert the array, for example with "
                "array.astype(numpy.float32)",
            )

    def _steps(self, width: int, rows: int, itemsize: int) -> Iterator[tuple[int, int]]:
        """The parts of rows, together of a piece's size at most."""
        step = self._link.piece // rows
        step = max(step - step % itemsize, itemsize)
        for start in range(0, max(width, 1), step):
            yield start, min(start + step, width)

    def _exchange(
        self,
        call: Call,
        send: Any,
        receive: Any,
        *rest: Any,
        rows: int = 1,
        op: MPI.Op | None = None,
    ) -> None:
        """Do a collective part by part.

        `send` and `receive` are `Rows`, or None or IN_PLACE as MPI gets them. `rows` is the same on
        all ranks, since it decides the parts.
        """
        taken = [one for one in (send, receive) if isinstance(one, Rows)]
        width, dtype = taken[0].width, taken[0].buffer.dtype
        kind = MPI.BYTE if op is None else MPI.Datatype.fromcode(dtype.char)
        arguments = rest if op is None else (op, *rest)
        for start, stop in self._steps(width, rows, dtype.itemsize):
            parts = [
                one.part(start, stop, one is send or send is MPI.IN_PLACE)
                if isinstance(one, Rows)
                else one
                for one in (send, receive)
            ]
            specs = [[one.memory, kind] if isinstance(one, Part) else one for one in parts]
            getattr(self.comm, call.name)(*specs, *arguments)
            for one, place in zip(parts, (send, receive), strict=True):
                if isinstance(one, Part):
                    one.finish(place is receive)
        if isinstance(receive, Rows):
            receive.buffer.unpack()
