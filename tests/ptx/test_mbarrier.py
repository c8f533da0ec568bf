# ruff: noqa: E501 - PTX text is wide
"""Objects that count arrivals and bytes: sequences of operations by one thread, and as barriers."""

import random

import numpy as np
import pytest

from .async_text import text_of


class Object:
    """A model of an mbarrier object, by the manual."""

    def __init__(self, count):
        self.expected = self.pending = count
        self.bytes = self.phase = 0

    def arrive(self, count=1, drop=False, expect=0):
        state = (self.phase, self.pending)
        self.bytes += expect
        self.pending -= count
        if drop:
            self.expected -= count
        self.settle()
        return state

    def settle(self):
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected


def sequence(seed):
    """A program for one thread, and the expected words of its results."""
    rng = random.Random(seed)
    count = rng.choice([1, 2, 5, 40])
    b, lines, expected, states = Object(count), [], [], []
    # Each object has one kind of address. With both kinds, an H200 ended a phase too early: bytes
    # were announced by .shared, and the last arrival was by a generic address. It behaved as if the
    # two had changed places.
    places = rng.choice([[""], [".shared", ".shared::cta"]])
    lines.append(f"mbarrier.init.shared.b64 [%r1], {count};")

    def result(value, bits=32):
        lines.append(f"st.global.u{bits} [%rd1+{8 * len(expected)}], %r{4 if bits == 32 else 0};")
        expected.append(value)

    while len(expected) < 24:
        pick = rng.randrange(9)
        place = rng.choice(places)
        at = "[%rd2]" if place == "" else "[%r1]"
        order = rng.choice(["", ".release.cta", ".relaxed.cluster"])
        # Bytes may be announced as long as the phase has an arrival to come.
        if pick == 0 and b.bytes < 1000:
            n = rng.randrange(1, 500)
            lines.append(f"mbarrier.expect_tx.relaxed.cta{place}.b64 {at}, {n};")
            b.bytes += n
        elif pick == 1 and b.bytes > 0:
            n = rng.choice([b.bytes, rng.randrange(1, b.bytes + 1)])
            lines.append(f"mbarrier.complete_tx.relaxed.cta{place}.b64 {at}, {n};")
            b.bytes -= n
            b.settle()
        elif pick == 2 and b.pending > 1:
            n = rng.randrange(1, b.pending)
            lines.append(
                f"mbarrier.arrive.noComplete{place}.b64 %rd4, {at}, {n}; mbarrier.pending_count.b64 %r4, %rd4;"
            )
            result(b.arrive(n)[1])
        elif pick == 3 and b.pending > 1 and b.expected > 1:
            lines.append(f"mbarrier.arrive_drop.noComplete.release.cta{place}.b64 %rd4, {at}, 1;")
            b.arrive(1, drop=True)
        elif pick == 4 and b.pending > 0 and b.expected > 1:
            n = rng.choice([0, 64])
            expect = (
                f".expect_tx{order}{place}.b64 %rd5, {at}, {n};"
                if n
                else f"{order}{place}.b64 %rd5, {at};"
            )
            lines.append("mbarrier.arrive_drop" + expect)
            b.arrive(1, drop=True, expect=n)
        elif pick == 5 and b.pending > 0:
            n = rng.randrange(1, b.pending + 1)
            lines.append(f"mbarrier.arrive{order}{place}.b64 %rd{8 + len(states) % 8}, {at}, {n};")
            states.append(b.arrive(n)[0])
        elif pick == 6 and b.pending > 0:
            n = rng.choice([0, 48])
            expect = f".expect_tx{order}{place}.b64 %rd{8 + len(states) % 8}, {at}, {n};"
            lines.append("mbarrier.arrive" + expect)
            states.append(b.arrive(expect=n)[0])
        elif pick == 7:
            parity = rng.randrange(2)
            # On an H200, a try_wait that has not succeeded continues to wait when its thread goes
            # on. So try_wait is only used where the phase is complete.
            kind = rng.choice(["test_wait", "try_wait"][: 1 + (b.phase % 2 != parity)])
            hint = ", 100" if kind == "try_wait" and rng.random() < 0.5 else ""
            sem = rng.choice(["", ".acquire.cta", ".relaxed.cluster"])
            lines.append(
                f"mbarrier.{kind}.parity{sem}{place}.b64 %p0, {at}, {parity}{hint}; selp.u32 %r4, 1, 0, %p0;"
            )
            result(int(b.phase % 2 != parity))
        elif pick == 8 and states and b.phase - states[-1] <= 1:
            kind = rng.choice(["test_wait", "try_wait"][: 1 + (b.phase != states[-1])])
            lines.append(
                f"mbarrier.{kind}{place}.b64 %p0, {at}, %rd{8 + (len(states) - 1) % 8}; selp.u32 %r4, 1, 0, %p0;"
            )
            result(int(b.phase != states[-1]))
        if b.expected == 0:
            break
    lines.append("mbarrier.inval.shared.b64 [%r1];")
    return "\n".join(lines), expected


@pytest.mark.parametrize("seed", range(40))
def test_sequences(seed, load):
    body, expected = sequence(seed)
    b = np.zeros(32, np.uint64)
    generic = "cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2;"
    load(text_of(generic + body)).run("k", 1, 1, [b, b])
    assert list(b[: len(expected)]) == expected


def test_an_object_is_invalidated_twice(load):
    b = np.zeros(2, np.uint64)
    inval = "mbarrier.inval.shared.b64 [%r1];"
    init = "mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.shared.b64 %rd8, [%r1];"
    wait = "mbarrier.test_wait.shared.b64 %p0, [%r1], %rd8; selp.u32 %r4, 1, 0, %p0;"
    load(text_of(f"{inval} {init} {inval} {inval} {init} {wait} st.global.u32 [%rd0], %r4;")).run(
        "k", 1, 1, [b, np.zeros(2, np.uint64)]
    )
    assert b[0] == 1


WAITS = {
    "state": "mbarrier.arrive.shared.b64 %rd4, [%r1];\n{label}: mbarrier.test_wait.shared.b64 %p0, [%r1], %rd4; @!%p0 bra {label};",
    "try": "mbarrier.arrive.release.cta.shared::cta.b64 %rd4, [%r1];\n{label}: mbarrier.try_wait.acquire.cta.shared::cta.b64 %p0, [%r1], %rd4, 1000; @!%p0 bra {label};",
    "parity": "mbarrier.arrive.shared.b64 _, [%r1];\n{label}: mbarrier.try_wait.parity.shared.b64 %p0, [%r1], {parity}; @!%p0 bra {label};",
    "generic": "mbarrier.arrive.b64 %rd4, [%rd2];\n{label}: mbarrier.test_wait.parity.b64 %p0, [%rd2], {parity}; @%p0 bra {label}_end; bra {label}; {label}_end:",
}  # fmt: skip


@pytest.mark.parametrize("block", [32, 96, 1024])
@pytest.mark.parametrize("how", WAITS)
def test_as_a_barrier(how, block, load):
    """Each phase, a thread reads what another one wrote in the phase before."""
    body = f"""
    cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2;
    @%p7 mbarrier.init.shared.b64 [%r1], {block}; bar.sync 0;
    shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0; add.u32 %r5, %r0, 37;
    rem.u32 %r5, %r5, {block}; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2;
    """
    for phase in range(0, 8, 2):
        body += WAITS[how].replace("{label}", f"L{phase}").replace("{parity}", "0")
        body += "ld.shared.u32 %r6, [%r5];"
        body += WAITS[how].replace("{label}", f"L{phase + 1}").replace("{parity}", "1")
        body += "mad.lo.u32 %r6, %r6, 3, 1; st.shared.u32 [%r4], %r6;"
    body += "mul.wide.u32 %rd6, %r0, 4; add.u64 %rd6, %rd1, %rd6; st.global.u32 [%rd6], %r6;"
    b = np.zeros(block, np.uint32)
    load(text_of(body)).run("k", 1, block, [b, b])
    expected = np.arange(block, dtype=np.uint32)
    for _ in range(4):
        expected = expected[(np.arange(block) + 37) % block] * np.uint32(3) + np.uint32(1)
    assert (b == expected).all()


def test_lanes_of_a_warp_wait_for_each_other(load):
    """The lower half waits for what the upper half does behind the wait."""
    body = """
    @%p7 mbarrier.init.shared.b64 [%r1], 16; bar.sync 0; setp.ge.u32 %p0, %r0, 16; @%p0 bra UPPER;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra WAIT;
    ld.shared.u32 %r3, [%r2]; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r3; bra END;
    UPPER: atom.shared.add.u32 %r3, [%r2], %r0; mbarrier.arrive.shared.b64 _, [%r1]; END:
    """
    b = np.zeros(16, np.uint32)
    load(text_of("st.shared.u32 [%r2], 0; bar.sync 0;" + body)).run("k", 1, 32, [b, b])
    assert (b == sum(range(16, 32))).all()


@pytest.mark.parametrize("warps", [2, 5])
def test_producer_and_consumers(warps, load):
    """One warp fills, the others empty, through two objects each of two slots."""
    body = f"""
    @!%p7 bra READY; mbarrier.init.shared.b64 [bar], 32; mbarrier.init.shared.b64 [bar+8], 32;
    mbarrier.init.shared.b64 [bar+16], {32 * (warps - 1)}; mbarrier.init.shared.b64 [bar+24], {32 * (warps - 1)};
    READY: bar.sync 0; setp.ge.u32 %p0, %r0, 32; mov.u32 %r3, 0; mov.u32 %r10, 0; and.b32 %r20, %r0, 31;
    LOOP: and.b32 %r4, %r3, 1; shr.u32 %r5, %r3, 1; and.b32 %r5, %r5, 1; shl.b32 %r6, %r4, 3; add.u32 %r6, %r1, %r6;
    shl.b32 %r7, %r4, 7; add.u32 %r7, %r2, %r7; shl.b32 %r8, %r20, 2; add.u32 %r7, %r7, %r8; @%p0 bra CONSUME;
    xor.b32 %r9, %r5, 1;
    EMPTY: mbarrier.try_wait.parity.shared.b64 %p1, [%r6+16], %r9; @!%p1 bra EMPTY;
    mad.lo.u32 %r11, %r3, 100, %r20; st.shared.u32 [%r7], %r11; mbarrier.arrive.shared.b64 _, [%r6]; bra NEXT;
    CONSUME: mbarrier.try_wait.parity.shared.b64 %p1, [%r6], %r5; @!%p1 bra CONSUME;
    ld.shared.u32 %r11, [%r7]; mad.lo.u32 %r10, %r10, 7, %r11; mbarrier.arrive.shared.b64 _, [%r6+16];
    NEXT: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 21; @%p2 bra LOOP;
    mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r10;
    """
    b = np.zeros((warps, 32), np.uint32)
    load(text_of(body)).run("k", 1, warps * 32, [b, b])
    expected = np.zeros(32, np.uint32)
    for n in range(21):
        expected = expected * np.uint32(7) + np.uint32(n * 100) + np.arange(32, dtype=np.uint32)
    assert (b[0] == 0).all() and (b[1:] == expected).all()


def test_each_warp_waits_for_each_phase(load, driver):
    """A warp ends phases at once, and does not end two phases before another warp waits."""
    driver.skip_on_hardware("on a GPU the time of a copy decides")
    rounds = "".join(
        f"@%p0 mbarrier.arrive.shared.b64 %rd9, [bar];\n"
        f"W{n}: mbarrier.try_wait.parity.shared.b64 %p1, [bar], {n % 2};\n"
        f"add.u32 %r1, %r1, 1; setp.gt.u32 %p2, %r1, 1000; @%p2 bra DONE; @!%p1 bra W{n};\n"
        for n in range(7)
    )
    text = f""".version 8.6\n.target sm_90\n.address_size 64
    .visible .entry k(.param .u64 pout) {{
    .shared .align 8 .b64 bar; .reg .b64 %rd<10>; .reg .b32 %r<4>; .reg .pred %p<3>;
    mov.u32 %r0, %tid.x; mov.u32 %r1, 0; setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
    {rounds}
    DONE: ld.param.u64 %rd0, [pout]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
    st.global.u32 [%rd0], %r1; ret; }}"""
    tries = np.zeros(128, np.uint32)
    load(text).run("k", 1, 128, [tries])
    assert tries.min() >= 7 and tries.max() < 1000
