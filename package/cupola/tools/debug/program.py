# cupola/tools/debug/program.py - runs a program under the debugger, in processes of its own.
"""The socket to which the program's CPU device connects, and the program's process."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import tempfile
from typing import Any

from cupola.tools.debug.debugger import Debugger, Process
from cupola.tools.debug.protocol import Connection, Gone

VARIABLE = "CUPOLA_CPU_DEBUG"


class Program:
    """A program and its processes; each that loads the CPU device connects.

    Parameters
    ----------
    command
        The command line.
    environment
        Its environment variables; the debugger's own is added.
    output
        Whether its standard output and error are read here (`process`).
    folder
        Its working directory; by default, this process's.
    """

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        *,
        output: bool = False,
        folder: str | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cupola-debug-")
        path = os.path.join(self._folder.name, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.connections: dict[Connection, Process] = {}
        pipe = subprocess.PIPE if output else None
        # Ctrl-C is for the debugger alone, and so is the terminal's input.
        self.process = subprocess.Popen(
            command,
            env={**environment, VARIABLE: path},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            process_group=0,
        )

    def accept(self) -> Connection:
        """Take the connection of a process."""
        made = Connection(self.listener.accept()[0])
        self.connections[made] = Process(made.requests)
        return made

    def lose(self, connection: Connection) -> None:
        """Forget a process that has ended."""
        connection.link.close()
        del self.connections[connection]

    def pause(self) -> None:
        """Stop at the next line of a kernel that is debugged."""
        for connection in list(self.connections):
            try:
                connection.send(b"pause")
            except Gone:
                self.lose(connection)

    def end(self) -> None:
        """End the program, and its processes in its group."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                try:
                    os.killpg(self.process.pid, number)
                    self.process.wait(2)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue

    def close(self) -> None:
        """Remove the socket."""
        for connection in list(self.connections):
            self.lose(connection)
        self.listener.close()
        self._folder.cleanup()


def serve(program: Program, session: Debugger, over: Any) -> int | None:
    """Handle events until the program has ended, and return its status.

    Parameters
    ----------
    over
        A function: whether the user has ended the session. The program is ended then.

    Returns
    -------
    int or None
        None where the user has ended it.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(program.listener, selectors.EVENT_READ)
        while True:
            if over():
                program.end()
                return None
            try:
                for key, _ in selector.select(0.05):
                    if key.fileobj is program.listener:
                        made = program.accept()
                        selector.register(made.link, selectors.EVENT_READ, made)
                        continue
                    connection: Connection = key.data
                    try:
                        session.handle(program.connections[connection], connection.event())
                    except Gone:
                        selector.unregister(connection.link)
                        program.lose(connection)
                if program.process.poll() is not None and not selector.select(0):
                    return program.process.returncode
            except KeyboardInterrupt:
                if not program.connections or session.pausing:
                    program.end()
                    raise
                session.pausing = True
                program.pause()
