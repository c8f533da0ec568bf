# ruff: noqa: E501 - PTX text is wide
"""Statements on several threads. All of a warp's threads which are left are known (``%members``)
and come by where they stand; in a branch, those that took it.
"""

from .memory import OWN, Memory
from .tree import Block, Branch, Piece

SPECIAL = (
    "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "nctaid.x",
    "laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
)  # fmt: skip
REDUCTIONS = ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32")  # fmt: skip


class Warp(Memory):
    def special(self):
        return Piece(f"{self.guard()}mov.u32 {self.some(32)}, %{self.rng.choice(SPECIAL)};")

    def shuffle(self):
        """For whole warps: whose lane is read must be there."""
        rng = self.rng
        mode = rng.choice(("up", "down", "bfly", "idx"))
        by = self.some(32) if rng.random() < 0.3 else str(rng.randrange(32))
        bounds = rng.choice(("31", "0", "0x181f", "0x1c07", "0x101f", "0x1800", self.some(32)))
        into = self.some(32) + (f"|{self.some(1)}" if rng.random() < 0.5 else "")
        return Piece(f"shfl.sync.{mode}.b32 {into}, {self.some(32)}, {by}, {bounds}, 0xffffffff;")

    def together(self, members):
        """An operation of the lanes that a register names."""
        rng = self.rng
        pick = rng.randrange(8)
        if pick == 0:
            mode = rng.choice(("all", "any", "uni"))
            line = f"vote.sync.{mode}.pred {self.some(1)}, {self.predicate()}, {members};"
        elif pick == 1:
            word = rng.choice(("vote.sync.ballot", "vote.ballot.sync"))
            line = f"{word}.b32 {self.some(32)}, {self.predicate()}, {members};"
        elif pick == 2:
            bits = rng.choice((32, 64))
            few = f"and.b{bits} %{'t' if bits == 32 else 'u'}1, {self.some(bits)}, 5;"
            at = "%t1" if bits == 32 else "%u1"
            line = f"{few} match.any.sync.b{bits} {self.some(32)}, {at}, {members};"
        elif pick == 3:
            bits = rng.choice((32, 64))
            line = f"match.all.sync.b{bits} {self.some(32)}|{self.some(1)}, {self.some(bits)}, {members};"
        elif pick == 4:  # one lane leads; its number is uniform
            at, p = self.some(32), self.some(1)
            return Piece(
                f"elect.sync %t1|%q1, {members};",
                f"vote.sync.ballot.b32 %t2, %q1, {members};",
                f"popc.b32 {at}, %t2; shr.b32 %t2, %t2, %t1; setp.eq.u32 {p}, %t2, 1;",
            )
        elif pick == 5:  # the value of the first lane
            return Piece(
                f"brev.b32 %t1, {members}; clz.b32 %t1, %t1;",
                f"shfl.sync.idx.b32 {self.some(32)}, {self.some(32)}, %t1, 31, {members};",
            )
        elif pick == 6:
            line = f"bar.warp.sync {members};"
        else:
            line = (
                f"redux.sync.{rng.choice(REDUCTIONS)} {self.some(32)}, {self.some(32)}, {members};"
            )
        return Piece(line)

    def groups(self, whole):
        """The same for eight lanes at a time, which have names of their own."""
        rng = self.rng
        width = rng.choice((2, 4, 8, 16))
        lines = [
            f"mov.u32 %t4, %laneid; and.b32 %t4, %t4, {32 - width};",
            f"shl.b32 %t3, {hex((1 << width) - 1)}, %t4; and.b32 %t3, %t3, %members;",
        ]
        if whole and rng.random() < 0.4:
            by = rng.randrange(width)
            line = f"shfl.sync.bfly.b32 {self.some(32)}, {self.some(32)}, {by}, 31, %t3;"
            return Piece(*lines, line)
        return Piece(*lines, *self.together("%t3").lines)

    def parted(self, some):
        """Two branches whose lanes do something together, each for themselves."""
        p = self.some(1)
        mask = [f"vote.sync.ballot.b32 %mask, {p}, %members; not.b32 %other, %mask;"]
        mask.append("and.b32 %other, %other, %members;")
        sides = []
        for members in ("%mask", "%other"):
            body = [self.together(members) for _ in range(self.rng.randint(1, 2))]
            body.insert(self.rng.randrange(len(body) + 1), some())
            sides.append(Block(body))
        return Branch(p, *sides, before=mask)

    def barrier(self):
        """A barrier of the block; some of them tell what all say."""
        rng = self.rng
        word, which = rng.choice(("bar", "bar.cta", "barrier", "barrier.cta")), rng.randrange(8)
        aligned = rng.choice(("", ".aligned")) if word.startswith("barrier") else ""
        pick = rng.random()
        if pick < 0.4:
            return Piece(f"{word}.sync{aligned} {which};")
        # Unoptimised code of NVIDIA's assembler (13.0) hangs on an H200 at an unaligned barrier in
        # a loop that follows a loop with divergent lanes. Optimised code does not hang. Neither
        # does code whose warp reconverges first. Both then agree with the CPU device.
        meet = [] if aligned or word in ("bar", "bar.cta") else ["bar.warp.sync %members;"]
        if pick < 0.7:
            at = self.some(32)
            line = f"{word}.red.popc{aligned}.u32 {at}, {which}, {self.predicate()};"
        else:
            op = rng.choice(("and", "or"))
            line = f"{word}.red.{op}{aligned}.pred {self.some(1)}, {which}, {self.predicate()};"
        return Piece(*meet, line)

    def exchange(self):
        """Another thread reads the value that each thread stores, between two barriers."""
        rng = self.rng
        bits = rng.choice((32, 64))
        at, into = rng.randrange(0, 32, bits // 8), self.some(bits)
        away = rng.choice((f"xor.b32 %t1, %thread, {rng.choice((1, 3, 16, 32, 33))};",
                           f"add.u32 %t1, %thread, {rng.randrange(1, 128)};",
                           f"add.u32 %t1, %thread, {self.some(32)};"))  # fmt: skip
        return Piece(
            f"st.shared.b{bits} [%shared+{at}], {self.some(bits)};",
            away,
            f"and.b32 %t1, %t1, {(1 << self.threads.bit_length() - 1) - 1}; mov.u32 %t2, slots;",
            f"mad.lo.u32 %t1, %t1, {OWN}, %t2;",
            "bar.sync 0;",
            f"ld.shared.b{bits} {into}, [%t1+{at}];",
            "bar.sync 0;",
        )
