"""Statements on memory.

Each thread has 32 bytes of its own in global, shared and local memory, and all read one table. All
add to cells of global and shared memory. A cell has one operation, so the order does not matter,
and no thread reads a cell before the end.
"""

import re

from .. import reference, table
from .registers import POOL, SCRATCH, Instructions, width
from .tree import Piece

ROWS = {name: [r for r in table.rows() if r.mnemonic == name] for name in ("ld", "st", "atom")}
FENCES = [r for r in table.rows() if r.mnemonic in ("membar", "fence")]
OWN, TABLE, CONSTANTS, CELLS = 32, 2048 * 8, 64 * 8, 16
CELL_KINDS = (
    "add.u32", "add.u64", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "min.u64",
    "max.s64", "and.b64", "or.b64", "xor.b64", "inc.u32", "dec.u32", "max.s32", "min.u32",
)  # fmt: skip
# For each space, the address, the generic address, and the offset that is added.
PLACES = {
    "global": ("%own", "%own", 96),
    "shared": ("%shared", "%gshared", 0),
    "local": ("%local", "%glocal", 0),
}
SCOPES = ("cta", "cluster", "gpu", "sys")


class Memory(Instructions):
    # Whether it is a last statement of threads that leave: no barrier is behind it.
    leaving = False

    def registers(self, t, count, to):
        """Registers that are loaded or stored, as they are written, and all together."""
        bits = width(t)
        if t[0] in "usb" and self.rng.random() < 0.3:
            bits = self.rng.choice([b for b in (16, 32, 64) if b >= bits])
        pick = self.rng.sample(POOL[bits], count) if to else self.rng.choices(POOL[bits], k=count)
        return pick[0] if count == 1 else f"{{{', '.join(pick)}}}"

    def shape(self, row):
        """A type and how many of it, 16 bytes at most."""
        while True:
            t, count = self.rng.choice(row.types), self.rng.choice((1, 1, 1, 2, 4))
            if t != "b128" and reference.size(t) * count <= 128:
                return t, count, reference.size(t) * count // 8

    def place(self, room):
        """(space as written, address): something of one's own, of so many bytes."""
        space = self.rng.choice(list(PLACES))
        at = self.rng.randrange(0, OWN, room) + PLACES[space][2]
        if self.rng.random() < 0.25:
            return "", f"[{PLACES[space][1]}+{at}]", space
        written = space
        if space == "shared" and self.rng.random() < 0.3:
            written = "shared::cta"
        return "." + written, f"[{PLACES[space][0]}+{at}]", space

    def own(self):
        """A load or store of one's own memory."""
        rng, store = self.rng, self.rng.random() < 0.5
        word = "st" if store else "ld"
        t, count, room = self.shape(ROWS[word][0])
        written, address, space = self.place(room)
        order = cache = ""
        pick = rng.random()
        if space != "local" and pick < 0.2:
            order = rng.choice(
                [".volatile", *(f".relaxed.{s}" for s in SCOPES)]
                + [f".{'release' if store else 'acquire'}.{s}" for s in SCOPES]
            )
        elif pick < 0.3:
            cache = rng.choice((".wb", ".cg", ".cs", ".wt") if store else (".ca", ".cg", ".cs"))
        vector = f".v{count}" if count > 1 else ""
        data, before = self.registers(t, count, not store), []
        # Stores no part of a register in which floating point was computed: NVIDIA's compiler
        # (13.0) would store the converted value instead.
        if store and reference.size(t) == 8:
            vector, data = "", "%t0"
            before = [f"xor.b32 %t0, {self.some(32)}, 0x55;"]
        elif store and t[0] in "usb":
            bits = 64 if "%d" in data else 32
            names = re.findall(r"%[rd]\d", data) if reference.size(t) < bits else []
            for i, name in enumerate(names):
                before.append(f"xor.b{bits} {SCRATCH[bits]}{i}, {name}, 0x55;")
                data = data.replace(name, f"{SCRATCH[bits]}{i}", 1)
        opcode = f"{word}{order}{written}{cache}{vector}.{t}"
        operands = f"{address}, {data}" if store else f"{data}, {address}"
        return Piece(*before, f"{self.guard()}{opcode} {operands};")

    def lookup(self):
        """A load from the table, or from constants, at a place that the data says."""
        t, count, room = self.shape(ROWS["ld"][0])
        rng, vector = self.rng, f".v{count}" if count > 1 else ""
        data, index = self.registers(t, count, True), self.some(32)
        if rng.random() < 0.3:
            return Piece(
                f"and.b32 %t0, {index}, {CONSTANTS - room};",
                "cvt.u64.u32 %u0, %t0; mov.u64 %u1, constants; add.u64 %u0, %u0, %u1;",
                f"{self.guard()}ld.const{vector}.{t} {data}, [%u0];",
            )
        word = rng.choice(("ld.global", "ld.global.nc", "ld.global.ca", "ld", "ldu.global"))
        more = [f"prefetch.global.{rng.choice(('L1', 'L2'))} [%u0];"] if rng.random() < 0.1 else []
        more += ["prefetchu.L1 [%u0];"] if rng.random() < 0.03 else []
        return Piece(
            f"and.b32 %t0, {index}, {TABLE - room};",
            "cvt.u64.u32 %u0, %t0;",
            "add.u64 %u0, %u0, %in;",
            *more,
            f"{self.guard()}{word}{vector}.{t} {data}, [%u0];",
        )

    def cell(self):
        """Adds to a cell that all threads add to."""
        rng, k = self.rng, self.rng.randrange(CELLS)
        operation, kind = CELL_KINDS[k].split(".")
        value = self.some(reference.size(kind)) if operation not in ("inc", "dec") else "1000"
        space = rng.choice((".global", "") + (".shared", ".shared::cta") * (not self.leaving))
        address = f"[%cells+{8 * k}]" if space in (".global", "") else f"[cells+{8 * k}]"
        order = rng.choice(("", "", ".relaxed.gpu", ".relaxed.cta", ".acq_rel.gpu", ".release.sys"))
        if rng.random() < 0.7:
            red = order if "acq" not in order else ""
            return Piece(f"{self.guard()}red{red}{space}.{operation}.{kind} {address}, {value};")
        scratch = SCRATCH[reference.size(kind)] + "0"
        return Piece(
            f"{self.guard()}atom{order}{space}.{operation}.{kind} {scratch}, {address}, {value};"
        )

    def swap(self):
        """An atomic operation on one's own memory, whose old value counts."""
        rng = self.rng
        row = rng.choice(ROWS["atom"])
        # Not f64: the device chooses the NaN of an f64 result.
        t = rng.choice([t for t in row.types if t != "f64"])
        named = {a.name: a for a in row.axes}
        operation = next(rng.choice(a.choices) for n, a in named.items() if n[:3] in ("op_", "red"))
        count = 1
        if "vector_always" in named:
            count = rng.choice((2, 4)) if t in ("f32", "f16x2", "bf16x2") else rng.choice((2, 4, 8))
            if reference.size(t) < 32 and count == 8:
                return self.halves(operation, t)
        bits = reference.size(t)
        places = [p for p in PLACES if p != "local"] if count == 1 else ["global"]
        space = rng.choice(places)
        at = rng.randrange(0, OWN, bits * count // 8) + PLACES[space][2]
        order = rng.choice(("", "", ".relaxed", ".acquire", ".release", ".acq_rel"))
        # Additions of f32 for the whole system may keep denormals.
        scope = (
            f".{rng.choice(SCOPES[: 3 if t == 'f32' else 4])}"
            if order or rng.random() < 0.2
            else ""
        )
        generic = rng.random() < 0.25
        address = f"[{PLACES[space][generic]}+{at}]"
        opcode = f"atom{order}{scope}{'' if generic else '.' + space}.{operation}"
        opcode += (f".v{count}" if count > 1 else "") + f".{t}"
        sources = 2 if row.shapes.count("a") == 2 else 1
        if bits == 128:
            return self.wide_swap(opcode, address, sources)
        if count > 1:
            into = rng.sample(POOL[width(t)], count)
            values = f"{{{', '.join(rng.choices(POOL[width(t)], k=count))}}}"
            return Piece(f"{opcode} {{{', '.join(into)}}}, {address}, {values};")
        values = ", ".join(self.some(width(t)) for _ in range(sources))
        return Piece(f"{self.guard()}{opcode} {self.some(width(t))}, {address}, {values};")

    def halves(self, operation, t):
        """Eight numbers of 16 bits at once: more than the pool has registers for."""
        values = ", ".join(self.rng.choices(POOL[16], k=8))
        into = ", ".join([*POOL[16], "%v0", "%v1", "%v2", "%v3"])
        at = self.rng.choice((96, 112))
        return Piece(f"atom.global.{operation}.v8.{t} {{{into}}}, [%own+{at}], {{{values}}};")

    def wide_swap(self, opcode, address, sources):
        names = [f"%w{i}" for i in range(sources)]
        made = [f"mov.b128 {n}, {{{self.some(64)}, {self.some(64)}}};" for n in names]
        one, other = self.rng.sample(POOL[64], 2)
        return Piece(
            "{ .reg .b128 %w, %w0, %w1;",
            *made,
            f"{opcode} %w, {address}, {', '.join(names)};",
            f"mov.b128 {{{one}, {other}}}, %w; }}",
        )

    def where(self):
        """Tests the space of an address, and loads from it."""
        rng = self.rng
        if rng.random() < 0.4:  # an address of the space, made of a generic one
            space, at = rng.choice(("global", "shared", "local")), 4 * rng.randrange(8)
            _, generic, offset = PLACES[space]
            load = f"ld.{space}.b32 {self.some(32)}, [%u0+{offset + at}];"
            return Piece(f"cvta.to.{space}.u64 %u0, {generic}; {load}")
        address = rng.choice(("%own", "%gshared", "%glocal", "%in"))
        space = rng.choice(("global", "shared", "shared::cta", "local", "const"))
        return Piece(f"isspacep.{space} {self.some(1)}, {address};")

    def fence(self):
        rng = self.rng
        row = rng.choice(FENCES)
        if row.mnemonic == "membar":
            if rng.random() < 0.1:
                return Piece("nanosleep.u32 20;")
            return Piece(f"membar.{rng.choice(('cta', 'gl', 'sys'))};")
        return Piece(f"fence.{rng.choice(('sc', 'acq_rel'))}.{rng.choice(SCOPES)};")

    def memory(self):
        return self.rng.choices(
            (self.own, self.lookup, self.cell, self.swap, self.where, self.fence),
            (8, 6, 4, 4, 1, 1),
        )[0]()
