# cupola/mpi/progress.py - advances the messages of a communicator, in their order.
"""Progress of messages that consist of several pieces."""

from __future__ import annotations

import threading
import time

from mpi4py import MPI

from cupola.mpi.messages import Message

# Seconds in which polls only yield, because MPI moves bytes in its calls alone; then the pause
# between polls.
BUSY = 20e-3
PAUSE = 20e-6


class Progress:
    """The messages that are not done. Each wait of the communicator advances all of them."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.messages: list[Message] = []

    def start(self, message: Message) -> None:
        with self.mutex:
            if not message.done:
                self.messages.append(message)
            self.advance()

    def advance(self) -> None:
        with self.mutex:
            for place, message in enumerate(self.messages):
                earlier = self.messages[:place]
                if not (message.waiting or any(first.holds_back(message) for first in earlier)):
                    message.advance()
            self.messages = [message for message in self.messages if not message.done]

    def wait(self, message: Message) -> None:
        """Wait until a message is done."""
        polls = Polls()
        while not message.done:
            with self.mutex:
                self.advance()
                alone = self.messages == [message] or not any(m.in_pieces for m in self.messages)
                message.waiting = alone and not message.done
            if message.waiting:
                try:
                    alone = message.wait_for_one()
                finally:
                    message.waiting = False
            if not alone and not message.done:
                polls.pause(message.moved)
        self.advance()
        if message.error is not None:
            raise message.error

    def wait_for(self, request: MPI.Request) -> None:
        """Wait for a request of MPI, and advance the messages meanwhile."""
        polls = Polls()
        while not request.Test():
            self.advance()
            if not self.messages:
                request.Wait()
                return
            polls.pause()


class Polls:
    """Pauses between polls: none at first, and none while pieces move."""

    def __init__(self) -> None:
        self.end, self.moved = 0.0, -1

    def pause(self, moved: int = 0) -> None:
        now = time.monotonic()
        if moved != self.moved:
            self.end, self.moved = now + BUSY, moved
        time.sleep(0 if now < self.end else PAUSE)
