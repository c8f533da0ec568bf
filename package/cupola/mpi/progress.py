# cupola/mpi/progress.py - advances the messages of a communicator, in their order.
"""Progress of messages that consist of several pieces."""

from __future__ import annotations

import threading
import time

from mpi4py import MPI

from cupola.mpi.messages import Message

# Polls without a pause, then the pause in seconds.
BUSY_POLLS = 200
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
                alone = not message.link.piece or self.messages == [message]
                message.waiting = alone and not message.done
            if message.waiting:
                try:
                    alone = message.wait_for_one()
                finally:
                    message.waiting = False
            if not alone and not message.done:
                polls.pause()
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
    """Pauses between polls: none at first."""

    def __init__(self) -> None:
        self.count = 0

    def pause(self) -> None:
        self.count += 1
        time.sleep(0 if self.count < BUSY_POLLS else PAUSE)
