# cupola/mpi/request.py - requests of Communicator.Isend and Irecv.
"""Requests: messages that this rank has not waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mpi4py import MPI

from cupola.exceptions import ArgumentValueError
from cupola.mpi.messages import Message, Received
from cupola.mpi.progress import Progress


class Request:
    """A message of `Communicator.Isend` or `Communicator.Irecv`.

    A message of several pieces advances in the calls of its communicator and of its requests.
    """

    def __init__(self, progress: Progress, message: Message) -> None:
        self._progress, self._message = progress, message

    @property
    def done(self) -> bool:
        """Whether the message is complete, by `Wait`, `Test` or a wait for another message."""
        return self._message.done

    def Wait(self, status: MPI.Status | None = None) -> bool:  # noqa: N802 - mpi4py's name
        """Wait until the message has been sent, or has come.

        The array of a send may then be changed. In an array of a receive, the elements are there
        for work on the stream of the call; the host has not waited for the stream.

        Parameters
        ----------
        status : mpi4py.MPI.Status, optional
            Gets source, tag and size of a received message.

        Returns
        -------
        bool
            True.

        Raises
        ------
        ArgumentValueError
            Where a message is larger than the array.
        """
        self._progress.wait(self._message)
        fill_status(status, self._message.received)
        return True

    def Test(self, status: MPI.Status | None = None) -> bool:  # noqa: N802 - mpi4py's name
        """Whether `Wait` would not wait; advances the message."""
        self._progress.advance()
        if self.done:
            self._progress.wait(self._message)
            fill_status(status, self._message.received)
        return self.done

    wait = Wait
    test = Test

    @staticmethod
    def Waitall(requests: Iterable[Request]) -> bool:  # noqa: N802 - mpi4py's name
        """Wait for all of the requests, in their order."""
        for request in requests:
            request.Wait()
        return True


class PersistentRequest:
    """The arguments of a send or receive, for several messages; see `Communicator.Send_init`."""

    def __init__(self, begin: Callable[[], Request]) -> None:
        self._begin = begin
        self._request: Request | None = None

    def Start(self) -> None:  # noqa: N802 - mpi4py's name
        """Begin the next message."""
        if self._request is not None and not self._request.done:
            raise ArgumentValueError(
                "PersistentRequest.Start: the message before is not done; call Wait first"
            )
        self._request = self._begin()

    def Wait(self, status: MPI.Status | None = None) -> bool:  # noqa: N802 - mpi4py's name
        """Wait for the message; see `Request.Wait`. Returns at once where none was started."""
        return self._request is None or self._request.Wait(status)

    def Test(self, status: MPI.Status | None = None) -> bool:  # noqa: N802 - mpi4py's name
        """Whether `Wait` would not wait."""
        return self._request is None or self._request.Test(status)

    wait = Wait
    test = Test


def fill_status(status: MPI.Status | None, received: Received | None) -> None:
    if status is None or received is None:
        return
    status.source, status.tag = received.source, received.tag
    status.Set_elements(MPI.BYTE, received.nbytes)
