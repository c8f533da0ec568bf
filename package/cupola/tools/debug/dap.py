# cupola/tools/debug/dap.py - the debugger as an adapter of the Debug Adapter Protocol.
"""Serves one client, such as an editor: it launches a program and stops in its kernels.

Threads of the protocol are the warps of the stopped block.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from cupola.exceptions import Error
from cupola.tools.debug.breakpoints import Breakpoint, Breakpoints
from cupola.tools.debug.dap_messages import Messages
from cupola.tools.debug.dap_variables import References
from cupola.tools.debug.debugger import Debugger
from cupola.tools.debug.program import Program, serve
from cupola.tools.debug.shell import Shell
from cupola.tools.debug.stopped_launch import StoppedLaunch

CAPABILITIES = (
    "supportsConfigurationDoneRequest",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsEvaluateForHovers",
    "supportsTerminateRequest",
)
STEPS = {"next": "over", "stepIn": "into", "stepOut": "leave"}
# Commands of the prompt that the debug console takes.
CONSOLE = {"thread", "lanes", "warps", "registers", "locals", "whatis", "a", "args", "w", "bt"}
Start = Callable[[list[str], dict[str, Any]], Program]  # a command line, and the launch's arguments


class Adapter:
    """A session with a client.

    Parameters
    ----------
    messages
        The client.
    start
        Starts the program.
    command
        The program's command line where the client names none.
    """

    def __init__(self, messages: Messages, start: Start, command: list[str]) -> None:
        self.messages = messages
        self.session = Debugger(self)
        self._start, self._command = start, command
        self._requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._launch: dict[str, Any] | None = None
        self._configured = self._over = self._applying = False
        self._program: Program | None = None
        self._references: References | None = None
        self._sources: dict[str, list[int]] = {}  # breakpoints by file; "" has those by function

    def run(self) -> int:
        """Serve the client until it or the program ends; the exit status."""
        threading.Thread(target=self._read, daemon=True).start()
        while not self._over and not (self._launch is not None and self._configured):
            self._handle(self._requests.get())
        if self._over or self._launch is None:
            return 0
        command = self._command
        if self._launch.get("program"):
            command = [self._launch["program"], *self._launch.get("args", [])]
        try:
            self._program = program = self._start(command, self._launch)
        except (Error, OSError, ValueError) as error:
            self.messages.event("output", category="stderr", output=f"cupola: {error}\n")
            self.messages.event("terminated")
            return 1
        readers = [
            threading.Thread(target=self._forward, args=(stream, category), daemon=True)
            for stream, category in (
                (program.process.stdout, "stdout"),
                (program.process.stderr, "stderr"),
            )
        ]
        for reader in readers:
            reader.start()
        try:
            status = serve(program, self.session, self._between)
        finally:
            program.close()
        for reader in readers:
            reader.join(2)
        for missed in self.session.unreachable() if status is not None else []:
            self.message(missed)
        if status is not None:
            self.messages.event("exited", exitCode=status)
        self.messages.event("terminated")
        while status is not None and not self._over:  # the client disconnects
            self._handle(self._requests.get())
        return 0

    def _read(self) -> None:
        while message := self.messages.read():
            self._requests.put(message)
        self._requests.put(None)

    def _forward(self, stream: BinaryIO, category: str) -> None:
        for line in stream:
            self.messages.event("output", category=category, output=line.decode(errors="replace"))

    def _between(self) -> bool:
        """Handle the requests that have come; whether the client has gone."""
        while not self._over:
            try:
                self._handle(self._requests.get_nowait())
            except queue.Empty:
                break
        return self._over

    # The front end of the session

    def stopped(self, stop: StoppedLaunch) -> None:
        """Tell the client, and handle its requests until the launch goes on."""
        if stop.reason == "pause" and self._applying:  # new breakpoints, which the resume sends
            self._applying = False
            return
        self._applying = False
        self._references = References(stop)
        self.messages.event(
            "stopped",
            reason=stop.reason,
            threadId=stop.warp + 1,
            allThreadsStopped=True,
            hitBreakpointIds=stop.event["breakpoints"],
            text=stop.event.get("error", ""),
        )
        while not self.session.resumed and not self._over:
            self._handle(self._requests.get())
        self._references = None
        if self._over:
            self.session.end(stop)

    def resolved(self, point: Breakpoint) -> None:
        """Tell the client where a breakpoint is."""
        self.messages.event("breakpoint", reason="changed", breakpoint=_described(point))

    def ended(self, kernel: str) -> None:
        """The protocol has no event for the end of a launch."""

    def message(self, text: str) -> None:
        """Show a line in the client's console."""
        self.messages.event("output", category="console", output=f"{text}\n")

    # Requests

    def _handle(self, request: dict[str, Any] | None) -> None:
        if request is None:
            self._over = True
            return
        command = str(request.get("command"))
        method = getattr(self, f"_do_{command}", None)
        if command in STEPS:
            method = self._step
        try:
            if method is None:
                raise Error(f"the request '{command}' is not supported")
            method(request, arguments_of(request))
        except KeyError as error:
            self.messages.refuse(request, f"{command}: expected the argument {error}")
        except (Error, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            self.messages.refuse(request, f"{command}: {error}")

    def _do_initialize(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        self.messages.respond(request, dict.fromkeys(CAPABILITIES, True))
        self.messages.event("initialized")

    def _do_launch(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        if not given.get("program") and not self._command:
            raise Error("expected 'program': a Python file, an executable or a command")
        self._launch = launch_of(given)
        if given.get("stopOnEntry"):
            self.session.trace(None, None, None)
        self.messages.respond(request)

    def _do_configurationDone(self, request: dict[str, Any], _: dict[str, Any]) -> None:  # noqa: N802
        self._configured = True
        self.messages.respond(request)

    def _do_setBreakpoints(self, request: dict[str, Any], given: dict[str, Any]) -> None:  # noqa: N802
        path = _text(arguments_of(given, "source"), "path")
        wanted = [(f"{path}:{_number(each, 'line')}", each) for each in _listed(given)]
        self._replace(request, path, wanted)

    def _do_setFunctionBreakpoints(self, request: dict[str, Any], given: dict[str, Any]) -> None:  # noqa: N802
        self._replace(request, "", [(_text(each, "name"), each) for each in _listed(given)])

    def _replace(
        self, request: dict[str, Any], file: str, wanted: list[tuple[str, dict[str, Any]]]
    ) -> None:
        table: Breakpoints = self.session.breakpoints
        for number in self._sources.pop(file, []):
            table.table.pop(number, None)
        found, numbers = [], []
        for place, each in wanted:
            try:
                point = table.add(place, _text(each, "condition") if each.get("condition") else "")
            except Error as error:
                found.append({"verified": False, "message": str(error)})
                continue
            numbers.append(point.number)
            if self._references:
                point.note(self._references.stop.code)
            found.append(_described(point))
        self._sources[file] = numbers
        self.messages.respond(request, {"breakpoints": found})
        if self._program and not self._references:
            self._applying = True
            self._program.pause()

    def _do_threads(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        running = [{"id": 1, "name": "kernels"}]
        listed = self._references.threads() if self._references else running
        self.messages.respond(request, {"threads": listed})

    def _stopped(self) -> References:
        if self._references is None:
            raise Error("no kernel is stopped")
        return self._references

    def _do_stackTrace(self, request: dict[str, Any], given: dict[str, Any]) -> None:  # noqa: N802
        frames = self._stopped().frames(_number(given, "threadId") - 1)
        first, count = _number(given, "startFrame", 0), _number(given, "levels", 0) or len(frames)
        part = frames[first : first + count]
        self.messages.respond(request, {"stackFrames": part, "totalFrames": len(frames)})

    def _do_scopes(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        listed = self._stopped().scopes(_number(given, "frameId"))
        self.messages.respond(request, {"scopes": listed})

    def _do_variables(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        listed = self._stopped().variables(
            _number(given, "variablesReference"),
            _number(given, "start", 0),
            _number(given, "count", 0),
        )
        self.messages.respond(request, {"variables": listed})

    def _do_source(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        text = "\n".join(self._stopped().stop.code.map.lines)
        self.messages.respond(request, {"content": text})

    def _do_evaluate(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        references, text = self._stopped(), _text(given, "expression")
        if given.get("frameId"):
            references.select_frame(_number(given, "frameId"))
        if (
            given.get("context") == "repl"
            and text.split(None, 1)[:1]
            and text.split()[0] in CONSOLE
        ):
            shown: dict[str, Any] = {"value": self._console(text), "variablesReference": 0}
        else:
            try:
                shown = references.shown(references.stop.evaluate(text))
            except (Error, ConnectionError):
                raise
            except Exception as error:  # an error of the user's expression
                raise Error(f"{type(error).__name__}: {error}") from error
        result = {"result" if key == "value" else key: each for key, each in shown.items()}
        self.messages.respond(request, result)

    def _console(self, text: str) -> str:
        """The output of a command of the prompt."""
        shell = Shell()
        shell.session, shell.stop, shell.stdout = self.session, self._stopped().stop, io.StringIO()
        shell.onecmd(text)
        stop = self._stopped().stop
        self._stopped().look_at(stop.warp, stop.lane)
        return shell.stdout.getvalue().rstrip("\n")

    def _do_continue(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        self.session.resume(self._stopped().stop)
        self.messages.respond(request, {"allThreadsContinued": True})

    def _step(self, request: dict[str, Any], given: dict[str, Any]) -> None:
        references = self._stopped()
        references.select_warp(_number(given, "threadId") - 1)
        self.session.step(references.stop, "lane", STEPS[request["command"]])
        self.messages.respond(request)

    def _do_pause(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        self._applying, self.session.pausing = False, True
        if self._program:
            self._program.pause()
        self.messages.respond(request)

    def _do_disconnect(self, request: dict[str, Any], _: dict[str, Any]) -> None:
        self._over = True
        self.messages.respond(request)

    _do_terminate = _do_disconnect


def _described(point: Breakpoint) -> dict[str, Any]:
    line = {"line": point.real_line or point.line} if point.file else {}
    return {"id": point.number, "verified": point.found, **line}


def serve_client(start: Start, command: list[str], port: int | None) -> int:
    """Serve a client on standard input and output, or the first one of a port."""
    if port is None:
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as stream:
            return Adapter(Messages(stream, sys.stdout.buffer), start, command).run()
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"cupola: listening on port {listener.getsockname()[1]}", file=sys.stderr, flush=True)
        client, _ = listener.accept()
    with client, client.makefile("rb", buffering=0) as reader, client.makefile("wb") as writer:
        try:
            return Adapter(Messages(reader, writer), start, command).run()
        finally:
            # Ends the read of the reading thread, which would delay the exit.
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


def arguments_of(request: dict[str, Any], name: str = "arguments") -> dict[str, Any]:
    """The arguments of a request, or an object among them. Raises `Error`."""
    given = request.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Error(f"expected '{name}': an object, got {given!r}")
    return given


def launch_of(given: dict[str, Any]) -> dict[str, Any]:
    """The checked arguments of a launch. Raises `Error`."""
    made = {name: value for name, value in given.items() if value is not None}
    for name in ("program", "cwd"):
        if name in made:
            _text(made, name)
    if not isinstance(made.get("args", []), list):
        raise Error(f"expected 'args': a list of texts, got {made['args']!r}")
    made["args"] = [str(each) for each in made.get("args", [])]
    made["env"] = arguments_of(made, "env")
    return made


def _text(given: dict[str, Any], name: str) -> str:
    value = given[name]
    if not isinstance(value, str) or "\0" in value:
        raise Error(f"expected '{name}': a text, got {value!r}")
    return value


def _number(given: dict[str, Any], name: str, usual: int | None = None) -> int:
    value = given[name] if usual is None else given.get(name)
    if value is None and usual is not None:
        return usual
    if type(value) is not int or value < 0:
        raise Error(f"expected '{name}': a whole number, got {value!r}")
    return value


def _listed(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The breakpoints of a request."""
    listed = given.get("breakpoints") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise Error(f"expected 'breakpoints': a list of objects, got {listed!r}")
    return listed


def environment_of(launch: dict[str, Any]) -> dict[str, str]:
    """The process's environment variables, updated by those of a launch request."""
    given = launch.get("env") or {}
    return {**os.environ, **{str(name): str(value) for name, value in given.items()}}
