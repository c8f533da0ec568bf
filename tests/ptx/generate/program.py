# ruff: noqa: E501 - PTX text is wide
"""Whole programs: a kernel that loads its registers from a table, does something, and stores them.

A record of 128 bytes is kept of each thread. It has the thread's registers, the remaining lanes of
its warp, and a cell of shared memory. Sums of its own shared and local memory follow, then its own
global memory.
"""

import math
import random

from .memory import CELLS, OWN
from .registers import DECLARED
from .tree import Block, Branch, Context, Jump, Leave, Loop, Switch
from .warp import Warp

THREADS, RECORD = 128, 128
SHAPES = (  # the number of blocks, and the size of a block
    (2, (64,)), (4, (32,)), (1, (128,)), (2, (16, 4)), (1, (8, 4, 4)), (3, (40,)), (2, (4, 4, 4)),
    (1, (96,)), (1, (12, 8)),
)  # fmt: skip
BASES = 2048 - THREADS * 8 - 16
_numbers = random.Random("constants")
CONSTANTS = [_numbers.getrandbits(64) >> _numbers.randrange(64) for _ in range(64)]
HEAD = f""".version 8.6
.target sm_90
.address_size 64
.const .align 8 .b64 constants[64] = {{{", ".join(map(hex, CONSTANTS))}}};
"""
PARAMETERS = ".param .b32 a0, .param .b64 a1, .param .b16 a2"
RESULT = ".param .align 8 .b8 o[16]"  # only one result can be passed in memory
FUNCTION = f".func ({RESULT}) {{name}}({PARAMETERS})\n{{{{"
TAKE = (
    "ld.param.b32 %r0, [a0]; ld.param.b64 %d0, [a1]; ld.param.b16 %h0, [a2];",
    "not.b32 %r1, %r0; mov.b64 {%r2, %r3}, %d0; mov.b64 %d1, {%r3, %r0}; add.u64 %d2, %d0, %d1;",
    "xor.b64 %d3, %d2, 0x3ff0000000000000; mov.b32 {%h1, %h2}, %r2; not.b16 %h3, %h0;",
    "shr.u32 %r4, %r0, 5; mul.lo.u32 %r5, %r0, %r2; mov.b32 %r6, {%h1, %h3}; mov.b32 %r7, 0x3fc00000;",
    "setp.lt.s32 %p0, %r0, 0; setp.lt.s32 %p1, %r2, 0; setp.gt.u32 %p2, %r5, %r0; not.pred %p3, %p0;",
)  # fmt: skip
GIVE = (
    "xor.b32 %t0, %r0, %r3; add.u32 %t0, %t0, %r5; mov.b32 %t1, {%h0, %h2}; xor.b32 %t0, %t0, %t1;",
    "selp.b32 %t1, 77, 0, %p1; add.u32 %t0, %t0, %t1; st.param.b32 [o], %t0;",
    "xor.b64 %u0, %d0, %d2; add.u64 %u0, %u0, %d3; st.param.b64 [o+8], %u0;",
)
CALL = (
    "{{ .param .b32 a0; .param .b64 a1; .param .b16 a2; .param .align 8 .b8 o[16];",
    "st.param.b32 [a0], {0}; st.param.b64 [a1], {1}; st.param.b16 [a2], {2};",
    "ld.param.b32 {0}, [o]; ld.param.b64 {1}, [o+8]; }}",
)
PROTOTYPE = ".callprototype (.param .align 8 .b8 _[16]) _ (.param .b32 _, .param .b64 _, .param .b16 _);"  # fmt: skip


class Call:
    """A call of one function, or of one of two that the data says."""

    def __init__(self, names, registers, predicate, uniform):
        self.names, self.registers = names, registers
        self.predicate, self.uniform = predicate, uniform

    def text(self, context):
        opens, gives, takes = CALL
        lines = [opens.format(), gives.format(*self.registers)]
        if len(self.names) == 1:
            lines.append(f"call{self.uniform} (o), {self.names[0]}, (a0, a1, a2);")
        else:
            label = context.label()
            one, other = self.names
            lines += [f"mov.u64 %u0, {one}; mov.u64 %u1, {other};"]
            lines += [f"selp.b64 %u0, %u0, %u1, {self.predicate};", f"{label}: {PROTOTYPE}"]
            lines += [f"call (o), %u0, (a0, a1, a2), {label};"]
        return [*lines, takes.format(*self.registers)]

    def blocks(self):
        return []

    def without(self):
        return []


class Program(Warp):
    def __init__(self, seed):
        super().__init__(random.Random(f"program {seed}"))
        rng = self.rng
        self.name = f"k{seed}"
        self.grid, self.block_shape = rng.choice(SHAPES)
        self.threads = math.prod(self.block_shape)
        self.base = rng.randrange(0, BASES, 2)
        self.whole = self.threads % 32 == 0  # whether each warp has 32 lanes
        # Whether threads may have left: no barrier orders what such threads stored.
        self.left = False
        self.functions = []
        if rng.random() < 0.25:
            count = rng.choice((1, 1, 2))
            self.indirect = count > 1
            bodies = [Block(self.inside(rng.randint(3, 8), 0)) for _ in range(count)]
            self.indirect = False
            self.functions = [(f"f{seed}_{i}", body) for i, body in enumerate(bodies)]
        self.body = Block(self.converged(rng.randint(6, 18), 0))

    # -- statements --------------------------------------------------------------------------

    def converged(self, count, depth):
        """A place where all remaining lanes have converged."""
        out, rng = [], self.rng
        for _ in range(count):
            pick = rng.choices(
                ("operation", "memory", "special", "shuffle", "together", "groups", "parted",
                 "barrier", "exchange", "branch", "loop", "rounds", "switch", "leave", "call"),
                (50, 16, 3, 5, 6, 3, 2, 3, 4, 6, 4, 2 if depth == 0 else 0, 2, 1, 4),
            )[0]  # fmt: skip
            if pick == "together":
                out.append(self.together("%members"))
            elif pick == "groups":
                out.append(self.groups(self.whole))
            elif pick == "parted":
                out.append(self.parted(self.operation))
            elif pick == "shuffle":
                out.append(self.shuffle() if self.whole else self.operation())
            elif pick == "barrier" or (pick == "exchange" and not self.left):
                out.append(getattr(self, pick)())
            elif pick == "rounds":
                body = Block(self.converged(rng.randint(2, 6), depth + 1))
                out.append(Loop(f"%c{depth}", str(rng.randint(1, 3)), body, together=True))
            elif pick == "leave" and depth == 0:
                self.whole, self.left, self.leaving = False, True, True
                body = Block(self.apart(rng.randint(0, 3), 2))
                self.leaving = False
                out.append(Leave(self.some(1), rng.choice(("exit", "ret")), body))
            else:
                out.append(self.anywhere(pick, depth, self.apart, together=True))
        return out

    def apart(self, count, depth, more=("memory", "special", "call")):
        """A place where lanes have diverged."""
        out, names = [], ("operation", "branch", "loop", "switch", "jump", *more)
        for _ in range(count):
            pick = self.rng.choices(names, (50, 6, 4, 2, 3, 16, 3, 3)[: len(names)])[0]
            inner = self.apart if more else self.inside
            out.append(self.anywhere(pick, depth, inner))
        return out

    def inside(self, count, depth):
        """In a function."""
        out = self.apart(count, depth, more=())
        if self.rng.random() < 0.2:
            body = Block(self.apart(1, 3, more=()))
            out.insert(self.rng.randrange(len(out) + 1), Leave(self.some(1), "ret", body))
        return out

    def anywhere(self, pick, depth, inner, together=False):
        rng = self.rng
        if pick == "memory":
            return self.memory()
        if pick == "special":
            return self.special()
        if pick == "call" and self.functions:
            registers = self.some(32), self.some(64), self.some(16)
            names = [name for name, _ in self.functions]
            if len(names) == 1 or rng.random() < 0.5:
                names = [rng.choice(names)]
            uniform = ".uni" if together and rng.random() < 0.3 else ""
            return Call(names, registers, self.some(1), uniform)
        if pick == "jump":
            return Jump(self.predicate(), rng.randrange(2))
        if pick in ("branch", "loop", "switch") and depth < 3:
            if pick == "branch":
                no = Block(inner(rng.randint(1, 4), depth + 1)) if rng.random() < 0.6 else None
                return Branch(self.some(1), Block(inner(rng.randint(1, 5), depth + 1)), no)
            if pick == "loop":
                body = Block(inner(rng.randint(1, 5), depth + 1))
                return Loop(f"%c{depth}", self.some(32), body, together=False)
            ways = [Block(inner(rng.randint(1, 2), depth + 1)) for _ in range(rng.choice((2, 4)))]
            return Switch(self.some(32), ways)
        return self.operation()

    # -- text --------------------------------------------------------------------------------

    def blocks(self):
        return [self.body, *(body for _, body in self.functions)]

    def text(self):
        lines = []
        for name, body in self.functions:
            context = Context()
            context.leave = GIVE
            lines += [FUNCTION.format(name=name), *DECLARED, *TAKE, *body.text(context)]
            lines += [*GIVE, "ret;", "}"]
        body = self.body.text(Context())
        all_of_it = "\n".join(body)
        lines += [*self.prologue(all_of_it), *body, *self.epilogue(all_of_it), "}"]
        return "\n".join(lines) + "\n"

    def prologue(self, body):
        lines = [
            f".visible .entry {self.name}(.param .u64 pin, .param .u64 pout, .param .u64 pcells)",
            "{",
            *DECLARED,
            ".reg .b64 %in, %own, %cells, %gshared, %glocal;",
            ".reg .b32 %shared, %local, %thread, %members, %mask, %other;",
            f".shared .align 16 .b8 slots[{THREADS * OWN}]; .shared .align 8 .b64 cells[{CELLS}];",
            f".local .align 16 .b8 mine[{OWN}];",
            "ld.param.u64 %in, [pin]; ld.param.u64 %own, [pout]; ld.param.u64 %cells, [pcells];",
            *self.thread(),
            "mov.u32 %t0, %ctaid.x;",
            f"mad.lo.u32 %t0, %t0, {self.threads}, %thread;",
            f"mul.wide.u32 %u0, %t0, {RECORD}; add.u64 %own, %own, %u0;",
            "mul.wide.u32 %u0, %t0, 64; add.u64 %u0, %u0, %in;",
            *(
                f"ld.global.v2.b64 {{%d{i}, %d{i + 1}}}, [%u0+{8 * (self.base + i)}];"
                for i in (0, 2)
            ),
            "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%u0+" + f"{8 * self.base + 32}];",
            "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%u0+" + f"{8 * self.base + 48}];",
            "ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%u0+" + f"{8 * self.base + 64}];",
            "setp.lt.s32 %p0, %r7, 0; setp.lt.s32 %p1, %r6, 0; setp.lt.s16 %p2, %h3, 0;",
            "setp.gt.s16 %p3, %h2, %h1;",
        ]
        if "shared" in body:
            lines += [
                f"mov.u32 %t1, slots; mad.lo.u32 %shared, %thread, {OWN}, %t1;",
                "cvt.u64.u32 %u1, %shared; cvta.shared.u64 %gshared, %u1;",
                "st.shared.v2.b64 [%shared], {%d0, %d1}; st.shared.v2.b64 [%shared+16], {%d2, %d3};",
            ]
        if "local" in body:
            lines += [
                "mov.u32 %local, mine; mov.u64 %u1, mine; cvta.local.u64 %glocal, %u1;",
                "st.local.v2.b64 [%local], {%d1, %d2}; st.local.v2.b64 [%local+16], {%d3, %d0};",
            ]
        if "[cells" in body:
            lines += [
                f"setp.ge.u32 %q0, %thread, {CELLS}; mov.u32 %t1, cells;",
                "mad.lo.u32 %t1, %thread, 8, %t1; mov.b64 %u1, 0x123456789abcdef;",
                "@!%q0 st.shared.b64 [%t1], %u1; bar.sync 0;",
            ]
        if "%members" in body:
            lines += ["mov.b32 %members, 0xffffffff;"]
            if self.threads % 32:
                lines += [
                    f"and.b32 %t1, %thread, 0xffffffe0; sub.u32 %t1, {self.threads}, %t1;",
                    "bmsk.clamp.b32 %members, 0, %t1;",
                ]
        return lines

    def thread(self):
        """The thread's number in its block."""
        if len(self.block_shape) == 1:
            return ["mov.u32 %thread, %tid.x;"]
        x, y, *_ = self.block_shape
        return [
            "mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y; mov.u32 %t2, %tid.z;",
            f"mad.lo.u32 %t1, %t2, {y}, %t1; mad.lo.u32 %thread, %t1, {x}, %t0;",
        ]

    def epilogue(self, body):
        lines = []
        sums = [f"ld.shared.v2.b64 {{%u1, %u2}}, [%shared+{i}];" for i in (0, 16)]
        sums = sums if "shared" in body else []
        if "local" in body:
            sums += [f"ld.local.v2.b64 {{%u1, %u2}}, [%local+{i}];" for i in (0, 16)]
        if sums:
            lines += ["mov.b64 %u0, 1;"]
            for load in sums:
                lines += [load, "mad.lo.u64 %u0, %u0, 0x100000001b3, %u1;"]
                lines += ["mad.lo.u64 %u0, %u0, 0x100000001b3, %u2;"]
            lines += ["st.global.b64 [%own+88], %u0;"]
        if "[cells" in body:
            lines += [
                "bar.sync 0; and.b32 %t0, %thread, 15; mov.u32 %t1, cells;",
                "mad.lo.u32 %t1, %t0, 8, %t1; ld.shared.b64 %u0, [%t1]; st.global.b64 [%own+80], %u0;",
            ]
        if "%members" in body:
            lines += ["st.global.b32 [%own+76], %members;"]
        return [
            *lines,
            "selp.b32 %t0, 1, 0, %p0; selp.b32 %t1, 2, 0, %p1; or.b32 %t1, %t1, %t0; selp.b32 %t2, 4, 0, %p2;",
            "selp.b32 %t3, 8, 0, %p3; or.b32 %t3, %t3, %t2; or.b32 %t3, %t3, %t1;",
            "st.global.v2.b64 [%own], {%d0, %d1}; st.global.v2.b64 [%own+16], {%d2, %d3};",
            "st.global.v4.b32 [%own+32], {%r0, %r1, %r2, %r3};",
            "st.global.v4.b32 [%own+48], {%r4, %r5, %r6, %r7};",
            "st.global.v4.b16 [%own+64], {%h0, %h1, %h2, %h3}; st.global.b32 [%own+72], %t3;",
            "ret;",
        ]
