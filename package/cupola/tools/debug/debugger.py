# cupola/tools/debug/debugger.py - a session: launches, stops and resumes.
"""The session that the terminal and the Debug Adapter Protocol share."""

from __future__ import annotations

from typing import Any, Protocol

from cupola.exceptions import Error
from cupola.image.source_map import SourceMap
from cupola.tools.debug.breakpoints import Breakpoint, Breakpoints
from cupola.tools.debug.code import Code, title_of
from cupola.tools.debug.protocol import Requests
from cupola.tools.debug.stopped_launch import StoppedLaunch


class FrontEnd(Protocol):
    """The part that shows a session to its user."""

    def stopped(self, stop: StoppedLaunch) -> None:
        """A launch has stopped; it waits until this returns."""

    def resolved(self, point: Breakpoint) -> None:
        """A kernel has a breakpoint that none had before."""

    def ended(self, kernel: str) -> None:
        """A launch that was stopped in has ended."""

    def message(self, text: str) -> None:
        """Something to tell."""


class Process:
    """A process that is debugged: its kernels and the launches that run."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.codes: dict[int, Code] = {}
        self.launches: dict[int, dict[str, Any]] = {}
        self.maps: dict[str, SourceMap] = {}
        self.shown: set[int] = set()  # launches that have stopped


class Debugger:
    """A session with any number of processes."""

    def __init__(self, front: FrontEnd) -> None:
        self.front = front
        self.breakpoints = Breakpoints()
        self.pausing = False  # a launch that begins stops at its first line
        self.in_process = False  # the program is this process
        self.resumed = False  # the stopped launch has gone on
        self.without_lines: set[str] = set()  # kernels without lines of a source

    def handle(self, process: Process, event: dict[str, Any]) -> None:
        """Answer an event of the driver, and let its launch go on."""
        kind = event["event"]
        if kind == "launch":
            process.launches[event["grid"]] = event
            self._launch(process, event)
        elif kind == "stop":
            self._stop(process, event)
        elif kind == "ended":
            launch = process.launches.pop(event["grid"])
            if event["grid"] in process.shown:
                process.shown.discard(event["grid"])
                self.front.ended(title_of(launch["kernel"]))
            process.requests.ask("continue")
        elif kind == "trace":
            self.trace(event["kernel"], event["block"], event["thread"])

    def trace(self, kernel: str | None, block: Any, thread: Any) -> None:
        """Stop at the first line of the kernel's next launch, or of any."""
        self.breakpoints.add(
            kernel or "*",
            temporary=True,
            block=tuple(block) if block else None,
            thread=tuple(thread) if thread else None,
        )

    def code(self, process: Process, launch: dict[str, Any]) -> Code:
        """The code of a launch's kernel."""
        number = launch["code"]
        if number not in process.codes:
            process.codes[number] = Code(launch["kernel"], process.requests, process.maps)
        return process.codes[number]

    def _launch(self, process: Process, event: dict[str, Any]) -> None:
        lines = ""
        if self.breakpoints.table or self.pausing:
            try:
                code = self.code(process, event)
            except Error as error:
                self.front.message(f"kernel {event['kernel']} cannot be debugged: {error}")
            else:
                if not code.sources:
                    self.without_lines.add(title_of(code.kernel))
                lines = self.breakpoints.resolve(code, tuple(event["block"]))
                self._note(code)
                if lines or self.pausing:
                    process.requests.ask("statements", data=code.statement_bytes())
        if not lines and not self.pausing:
            del process.launches[event["grid"]]
            process.requests.ask("skip")
            return
        process.requests.ask("breakpoints", data=lines.encode())
        process.requests.ask("continue")

    def _note(self, code: Code) -> None:
        """Find the breakpoints in a kernel's code, and tell the front end of new ones."""
        for point in self.breakpoints.table.values():
            if point.note(code):
                self.front.resolved(point)

    def _stop(self, process: Process, event: dict[str, Any]) -> None:
        launch = process.launches[event["grid"]]
        code = self.code(process, launch)
        stop = StoppedLaunch(event, launch, code, process.requests)
        if stop.reason == "breakpoint" and not self.breakpoints.hit(stop):
            process.requests.ask("pass")
            return
        process.shown.add(event["grid"])
        self.pausing, self.resumed = False, False
        self.front.stopped(stop)
        if not self.resumed:
            self.resume(stop)

    def _resuming(self, stop: StoppedLaunch) -> None:
        lines = self.breakpoints.resolve(stop.code, stop.shape)
        self._note(stop.code)  # those that were set while the kernel was stopped
        stop.requests.ask("breakpoints", data=lines.encode())
        self.resumed = True

    def resume(self, stop: StoppedLaunch) -> None:
        """Continue to the next breakpoint."""
        self._resuming(stop)
        stop.requests.ask("continue")

    def step(self, stop: StoppedLaunch, scope: str, way: str) -> None:
        """Make a step of the lane, warp or block that is looked at: into calls, over them, or out
        of the function.
        """
        self._resuming(stop)
        stop.requests.ask(f"step {scope} {way}", stop.warp, stop.lane)

    def unreachable(self) -> list[str]:
        """A message for each breakpoint that no launched kernel has had."""
        return self.breakpoints.unreachable(sorted(self.without_lines))

    def end(self, stop: StoppedLaunch) -> None:
        """End the launch with an error; a program in a process of its own is ended as it is."""
        self.resumed = True
        if self.in_process:
            stop.requests.ask("end")
