# cupola/tools/debug/shell.py - the debugger's commands at a terminal, by pdb's names.
"""The prompt of ``python -m cupola debug`` and of `cupola.set_trace`."""

from __future__ import annotations

import cmd
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cupola.exceptions import Error
from cupola.image.debug_values import Pointer
from cupola.tools.debug.breakpoints import Breakpoint, Breakpoints
from cupola.tools.debug.debugger import Debugger
from cupola.tools.debug.protocol import Gone
from cupola.tools.debug.stopped_launch import LANES, Frame, StoppedLaunch, triple_of

PROMPT = "(cupola) "
AROUND = 5  # lines of source that `l` shows before and after a line


class Shell(cmd.Cmd):
    """A command loop; it returns when the program goes on, or `ended` is set."""

    prompt = PROMPT

    def __init__(self) -> None:
        super().__init__()
        self.session = Debugger(self)
        self.stop: StoppedLaunch | None = None
        self.ended_by_user = False
        self.listed: tuple[str, int] = ("", 0)  # the file and the last line that `l` showed

    # The front end of a session

    def stopped(self, stop: StoppedLaunch) -> None:
        """Show where a launch has stopped, and take commands until it goes on."""
        self.stop, self.listed = stop, ("", 0)
        if error := stop.event.get("error"):
            self.message(f"*** {error}")
        for number in stop.event["breakpoints"]:
            self.message(f"Breakpoint {number}")
        self._show_frame()
        self.interact()
        self.stop = None

    def resolved(self, point: Breakpoint) -> None:
        """Say where a breakpoint is, if its own line has no code."""
        if point.real_line not in (0, point.line):
            self.message(
                f"Breakpoint {point.number} at {point.place} is at line {point.real_line}, the "
                "next one with code"
            )

    def ended(self, kernel: str) -> None:
        """Say that a launch has ended."""
        self.message(f"[{kernel} has ended]")

    def message(self, text: str) -> None:
        """Print a line."""
        print(text, file=self.stdout, flush=True)

    def error(self, text: str) -> None:
        """Print the reason why a command did nothing."""
        self.message(f"*** {text}")

    def interact(self) -> None:
        """Take commands from the standard input, as pdb does.

        Ctrl-C ends a command; the end of the input is quit.
        """
        self.stdin, self.stdout = sys.stdin, sys.stdout
        self.use_rawinput = sys.stdin.isatty()
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                self.message("--KeyboardInterrupt--")

    def onecmd(self, line: str) -> bool:
        """Run a command; a refused one says why."""
        try:
            return bool(super().onecmd(line))
        except (Error, LookupError) as error:
            self.error(str(error) if isinstance(error, Error) else f"no {error}")
        # The text is no number, or the number is too large.
        except (ValueError, OverflowError) as error:
            self.error(f"{line}: {error}")
        return False

    def default(self, line: str) -> None:
        """Refuse an unknown command."""
        if line == "EOF":
            raise AssertionError  # do_EOF has it
        self.error(f"'{line.split()[0]}' is no command; h lists them, p EXPRESSION prints")

    def _stopped(self) -> StoppedLaunch:
        if self.stop is None:
            raise Error("no kernel is stopped: set a breakpoint with b, and continue with c")
        return self.stop

    # Breakpoints

    def do_b(self, text: str) -> None:
        """b [PLACE [, CONDITION]]
        Set a breakpoint at KERNEL, FUNCTION, FILE:LINE or LINE; without a place, list them. The
        condition is an expression, such as block == (0,0,0) and thread == (3,0,0) and i > 4.
        """
        if not text:
            self._list_breakpoints()
            return
        self._add(text, False)

    def do_tbreak(self, text: str) -> None:
        """tbreak PLACE [, CONDITION]
        Set a breakpoint that is removed when it stops.
        """
        self._add(text, True)

    def _add(self, text: str, temporary: bool) -> None:
        place, _, condition = text.partition(",")
        if not place.strip():
            raise Error("expected a place: KERNEL, FUNCTION, FILE:LINE or LINE")
        file = self.stop.frame.at.file if self.stop else ""
        point = self.session.breakpoints.add(
            place.strip(), condition.strip(), file=file, temporary=temporary
        )
        where = f"Breakpoint {point.number} at {point.place}"
        if self.stop and not point.ops(self.stop.code):
            self.message(f"{where}, not in this kernel")
        elif point.real_line not in (0, point.line):
            self.message(f"{where}, line {point.real_line}")
        elif point.blank and not self.stop:
            self.message(f"{where}, a blank line: it stops at the next line with code")
        else:
            self.message(where)

    def _list_breakpoints(self) -> None:
        self.message("Num  Enabled  Hits  Where")
        for point in self.session.breakpoints.table.values():
            when = [f"block == {point.block}"] if point.block else []
            when += [f"thread == {point.thread}"] if point.thread else []
            when += [point.condition] if point.condition else []
            text = f"{point.place}{', ' if when else ''}{' and '.join(when)}"
            enabled = "yes" if point.enabled else "no"
            self.message(f"{point.number:<4} {enabled:<8} {point.hits:<5} {text}")

    def _point(self, text: str) -> Breakpoint:
        number = text.split(None, 1)[0] if text else ""
        point = self.session.breakpoints.table.get(int(number) if number.isdigit() else -1)
        if point is None:
            raise Error(f"no breakpoint '{number}'; b lists them")
        return point

    def do_cl(self, text: str) -> None:
        """cl [NUMBER ...]
        Remove breakpoints; all of them without a number.
        """
        table = self.session.breakpoints.table
        for point in [self._point(each) for each in text.split()] or list(table.values()):
            del table[point.number]
            self.message(f"Deleted breakpoint {point.number}")

    def do_enable(self, text: str) -> None:
        """enable NUMBER ...
        Let breakpoints stop.
        """
        for each in text.split():
            self._point(each).enabled = True

    def do_disable(self, text: str) -> None:
        """disable NUMBER ...
        Keep breakpoints from stopping.
        """
        for each in text.split():
            self._point(each).enabled = False

    def do_condition(self, text: str) -> None:
        """condition NUMBER [CONDITION]
        Set or remove a breakpoint's condition.
        """
        point = self._point(text)
        point.block = point.thread = None
        Breakpoints.set_condition(point, text.partition(" ")[2])

    def do_ignore(self, text: str) -> None:
        """ignore NUMBER [COUNT]
        Skip the next COUNT hits of a breakpoint.
        """
        count = text.partition(" ")[2].strip()
        self._point(text).ignore = int(count) if count.isdigit() else 0

    # Going on

    def do_c(self, _: str) -> bool:
        """c(ontinue)
        Go on to the next breakpoint; before the program runs, start it.
        """
        if self.stop:
            self.session.resume(self.stop)
        return True

    def do_s(self, text: str) -> bool:
        """s(tep) [warp|block]
        Go on to the thread's next line, also in a function that it calls. With warp or block, until
        each thread of the warp or the block is at its next line; functions are not entered then.
        """
        return self._step(text, "into")

    def do_n(self, text: str) -> bool:
        """n(ext) [warp|block]
        Go on to the thread's next line in this function, or in its caller.
        """
        return self._step(text, "over")

    def _step(self, text: str, way: str) -> bool:
        scope = text.strip() or "lane"
        if scope not in ("lane", "warp", "block"):
            raise Error(f"'{scope}': expected warp, block, or nothing for the thread")
        self.session.step(self._stopped(), scope, way if scope == "lane" else "over")
        return True

    def do_r(self, _: str) -> bool:
        """r(eturn), finish
        Go on until the thread has left this function.
        """
        self.session.step(self._stopped(), "lane", "leave")
        return True

    def do_q(self, _: str) -> bool:
        """q(uit)
        End the launch and the program.
        """
        if self.stop:
            self.session.end(self.stop)
        self.ended_by_user = True
        return True

    def do_EOF(self, _: str) -> bool:  # noqa: N802  the name that cmd gives it
        """The end of the input is quit."""
        self.message("")
        return self.do_q("")

    # Looking

    def do_p(self, text: str) -> None:
        """p EXPRESSION
        Print the value of an expression of Python. Names are variables, threadIdx, blockIdx,
        blockDim, gridDim, lane and warp. %r1 is a register. x[0:8] of a pointer reads memory, and
        so does array(address, dtype, shape).
        """
        self.message(repr_of(self._evaluate(text)))

    def _evaluate(self, text: str) -> Any:
        stop = self._stopped()
        if not text.strip():
            raise Error("expected an expression")
        try:
            return stop.evaluate(text)
        except (Error, Gone):
            raise
        except Exception as error:
            raise Error(f"{type(error).__name__}: {error}") from error

    def do_whatis(self, text: str) -> None:
        """whatis EXPRESSION
        Print the type of a value; of an array, its dtype and shape; of a variable, its place.
        """
        stop, name = self._stopped(), text.strip()
        value = self._evaluate(name)
        kind = type_of(value)
        if name in stop.variables():
            declared, place = stop.place(name)
            kind = f"{declared.name}, {kind}" if declared.name else kind
            if place and place.register:
                kind += f", in {place.register}"
            elif place:
                kind += f", at {stop.resolve(name, place):#x}"
        elif name in stop.ptx_variables():
            variable = stop.ptx_variables()[name]
            kind += f", at {stop.address_of(variable):#x} in {variable.space} memory"
        self.message(kind)

    def do_a(self, _: str) -> None:
        """a(rgs)
        Print the function's parameters.
        """
        self._print_values(self._stopped().parameters())

    def do_locals(self, _: str) -> None:
        """locals
        Print the variables that the source has here.
        """
        self._print_values(list(self._stopped().variables()))

    def _print_values(self, names: list[str]) -> None:
        for name in names:
            try:
                self.message(f"{name} = {repr_of(self._stopped().value(name))}")
            except Error as error:
                self.message(f"{name}: {error}")

    def do_registers(self, text: str) -> None:
        """registers [NAME ...]
        Print registers of the function, all without a name.
        """
        stop = self._stopped()
        for name in text.split() or stop.registers():
            self.message(f"{name} = {repr_of(stop.register(name))}")

    def do_w(self, _: str) -> None:
        """w(here), bt
        Print the thread's calls, the kernel first; > is the frame that is looked at.
        """
        stop = self._stopped()
        for depth, frame in reversed(list(enumerate(stop.frames))):
            self.message(f"{'>' if depth == stop.depth else ' '} {frame_text(frame)}")

    def do_u(self, _: str) -> None:
        """u(p)
        Look at the caller.
        """
        self._move(1)

    def do_d(self, _: str) -> None:
        """d(own)
        Look at the called function.
        """
        self._move(-1)

    def _move(self, by: int) -> None:
        stop = self._stopped()
        if not 0 <= stop.depth + by < len(stop.frames):
            raise Error("this is the oldest frame" if by > 0 else "this is the newest frame")
        stop.depth += by
        self.listed = ("", 0)
        self._show_frame()

    def do_thread(self, text: str) -> None:
        """thread [(X,Y,Z) | NUMBER]
        Look at a thread of the block; without one, say which is looked at.
        """
        stop = self._stopped()
        numbers = [int(n) for n in text.replace(",", " ").strip(" ()").split() if n.isdigit()]
        if len(numbers) == 1:
            numbers = list(triple_of(numbers[0], stop.shape))
        if text.strip():
            if not numbers or len(numbers) > 3:
                raise Error(f"'{text}': expected (x,y,z) or a number")
            x, y, z = [*numbers, 0, 0][:3]
            stop.select_thread((x, y, z))
        self._show_frame()

    def do_lanes(self, _: str) -> None:
        """lanes
        Print which lanes of the warp are active, and where the others are.
        """
        stop = self._stopped()
        self._show_groups(stop, stop.warp)

    def do_warps(self, _: str) -> None:
        """warps
        Print where the lanes of each warp of the block are.
        """
        stop = self._stopped()
        for number in range(len(stop.warps)):
            self._show_groups(stop, number)

    def _show_groups(self, stop: StoppedLaunch, number: int) -> None:
        warp = stop.warps[number]
        mark = "*" if number == stop.warp else " "
        if not warp["live"]:
            self.message(f"{mark} warp {number}: has ended")
        for mask, op, state in warp["groups"]:
            word = {
                "runs": "active",
                "ready": "ready",
                "barrier": "waiting at a barrier",
                "lanes": "waiting for lanes",
            }[state]
            at = stop.code.location(op).at
            where = f"{os.path.basename(at.file)}:{at.line}" if at.line else "not started"
            self.message(f"{mark} warp {number}, lanes {lanes_text(mask)}: {word}, {where}")

    def do_l(self, text: str) -> None:
        """l(ist) [LINE]
        Print the source around the line, or what follows the last list; . begins again.
        """
        at = self._stopped().frame.at
        file, last = self.listed
        bare = text.strip()
        if bare.isdigit():
            first = int(bare)
        elif file == at.file and last and bare != ".":
            first = last + 1
        else:
            first = at.line - AROUND
        self._list(at.file, max(first, 1), max(first, 1) + 2 * AROUND)

    def do_ll(self, _: str) -> None:
        """ll
        Print the whole file.
        """
        at = self._stopped().frame.at
        self._list(at.file, 1, len(self._lines(at.file)))

    def _lines(self, file: str) -> list[str]:
        stop = self._stopped()
        if not stop.code.sources:
            return stop.code.map.lines
        try:
            return Path(file).read_text(errors="replace").splitlines()
        except OSError as error:
            raise Error(f"{file}: {error.strerror}; the kernel was compiled from it") from error

    def _list(self, file: str, first: int, last: int) -> None:
        stop, lines = self._stopped(), self._lines(file)
        points = {
            point.real_line
            for point in self.session.breakpoints.table.values()
            if point.file and point.ops(stop.code)
        }
        for number in range(first, min(last, len(lines)) + 1):
            mark = "->" if number == stop.frame.at.line else "  "
            point = "B" if number in points else " "
            self.message(f"{number:3} {point}{mark} {lines[number - 1]}".rstrip())
        if first > len(lines):
            self.message("[EOF]")
        self.listed = (file, min(last, len(lines)))

    def _show_frame(self) -> None:
        stop = self._stopped()
        thread, block = ",".join(map(str, stop.thread)), ",".join(map(str, stop.block))
        self.message(f"> {frame_text(stop.frame)}, block ({block}), thread ({thread})")
        try:
            lines = self._lines(stop.frame.at.file)
        except Error:
            return
        if 0 < stop.frame.at.line <= len(lines):
            self.message(f"-> {lines[stop.frame.at.line - 1].strip()}")

    do_break, do_clear = do_b, do_cl
    do_cont = do_continue = do_c
    do_step, do_next, do_return = do_s, do_n, do_r
    do_finish = do_r
    do_quit = do_exit = do_q
    do_args = do_a
    do_where = do_bt = do_w
    do_up, do_down, do_list = do_u, do_d, do_l
    do_h = cmd.Cmd.do_help


def frame_text(frame: Frame) -> str:
    """The function and the line of a frame."""
    inlined = " (inlined)" if frame.inlined else ""
    return f"{frame.at.file}({frame.at.line}) {frame.name}{inlined}"


def lanes_text(mask: int) -> str:
    """``0-7, 9`` for a mask of lanes."""
    parts, lane = [], 0
    while lane < LANES:
        first = lane
        while lane < LANES and mask >> lane & 1:
            lane += 1
        if lane > first:
            parts.append(f"{first}-{lane - 1}" if lane - first > 1 else f"{first}")
        lane += 1
    return ", ".join(parts)


def type_of(value: Any) -> str:
    """The type of a value, as NumPy says it."""
    if isinstance(value, np.ndarray):
        return f"array, dtype {value.dtype}, shape {value.shape}"
    if isinstance(value, Pointer):
        return f"pointer to {value.dtype}"
    if isinstance(value, np.generic):
        return str(value.dtype)
    return type(value).__name__


def repr_of(value: Any) -> str:
    """A value as text: NumPy's scalars without their type."""
    if isinstance(value, np.ndarray):
        return repr(value)
    if isinstance(value, np.void):
        return str(value)
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)
