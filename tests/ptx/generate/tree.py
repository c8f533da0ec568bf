"""A program as a tree of statements, each of which can be left out."""


class Context:
    """Where text is being written: labels, and where leaving leads to."""

    def __init__(self):
        self.labels = 0
        self.loop = None  # (label behind the loop, label of its next round)
        self.leave = None  # how a function is left early: lines

    def label(self):
        self.labels += 1
        return f"$L{self.labels}"


class Piece:
    """Instructions that stay together: they read registers of the pool and scratch of their own."""

    def __init__(self, *lines):
        self.lines = lines

    def text(self, context):
        return list(self.lines)

    def blocks(self):
        return []

    def without(self):
        """Simpler statements that can replace it."""
        return []


class Block:
    def __init__(self, statements=()):
        self.statements = list(statements)

    def text(self, context):
        return [line for s in self.statements for line in s.text(context)]


class Branch:
    """Some lanes do one thing, the others another."""

    def __init__(self, predicate, yes, no=None, before=()):
        self.predicate, self.yes, self.no, self.before = predicate, yes, no, before

    def text(self, context):
        end, other = context.label(), context.label()
        lines = [*self.before, f"@!{self.predicate} bra {other};", *self.yes.text(context)]
        if self.no is None:
            return [*lines, f"{other}:"]
        return [*lines, f"bra {end};", f"{other}:", *self.no.text(context), f"{end}:"]

    def blocks(self):
        return [b for b in (self.yes, self.no) if b is not None]

    def without(self):
        # Where lanes are named that stand in one branch, it can't be entered by all.
        return [] if self.before else [b.statements for b in self.blocks()]


class Switch:
    """One of several ways, by a number."""

    def __init__(self, index, ways):
        self.index, self.ways = index, ways

    def text(self, context):
        end, name = context.label(), context.label()
        labels = [context.label() for _ in self.ways]
        lines = [f"and.b32 %t0, {self.index}, {len(self.ways) - 1};"]
        lines += [f"{name}: .branchtargets {', '.join(labels)};", f"brx.idx %t0, {name};"]
        for label, way in zip(labels, self.ways, strict=True):
            lines += [f"{label}:", *way.text(context), f"bra {end};"]
        return [*lines, f"{end}:"]

    def blocks(self):
        return self.ways

    def without(self):
        return [b.statements for b in self.ways]


class Loop:
    """So many rounds; where the number is the same for all, lanes stay together."""

    def __init__(self, counter, rounds, body, together):
        self.counter, self.rounds, self.body, self.together = counter, rounds, body, together

    def text(self, context):
        again, end = context.label(), context.label()
        outer, context.loop = context.loop, None if self.together else (end, again)
        body = self.body.text(context)
        context.loop = outer
        first = f"mov.b32 {self.counter}, {self.rounds};"
        if not self.together:
            first = f"and.b32 {self.counter}, {self.rounds}, 7;"
        return [
            first,
            f"{again}:",
            f"setp.eq.u32 %q3, {self.counter}, 0;",
            f"@%q3 bra {end};",
            f"sub.u32 {self.counter}, {self.counter}, 1;",
            *body,
            f"bra {again};",
            f"{end}:",
        ]

    def blocks(self):
        return [self.body]

    def without(self):
        return [self.body.statements]


class Jump:
    """Some lanes leave the loop around, or its round."""

    def __init__(self, predicate, onward):
        self.predicate, self.onward = predicate, onward

    def text(self, context):
        return [f"@{self.predicate} bra {context.loop[self.onward]};"] if context.loop else []

    def blocks(self):
        return []

    def without(self):
        return []


class Leave:
    """Some lanes leave the program, or the function, after a last thing that they do. In programs
    those that stay are known from then on.
    """

    def __init__(self, predicate, word, body):
        self.predicate, self.word, self.body = predicate, word, body

    def text(self, context):
        on = context.label()
        known = [f"vote.sync.ballot.b32 %members, !{self.predicate}, %members;"]
        if context.leave is not None:
            known = []
        lines = [*known, f"@!{self.predicate} bra {on};", *self.body.text(context)]
        return [*lines, *(context.leave or []), f"{self.word};", f"{on}:"]

    def blocks(self):
        return [self.body]

    def without(self):
        return []
