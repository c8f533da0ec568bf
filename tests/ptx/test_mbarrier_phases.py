# ruff: noqa: E501 - PTX text is wide
"""mbarrier objects of both layouts, and waits for their phases with reports: PTX 9.3 and 9.4.

No operation of the CPU device reports to an object. So each report is zero, and the conditional
phase ends with the primary phase. `test_mbarrier.py` has the model of an object.
"""

import os
import random

import driver_abi
import numpy as np
import pytest

from . import tensor_memory
from .async_text import HEAD
from .test_mbarrier import Object

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="newer than the drivers of the recordings"
)
P, C = "phase_type::primary", "phase_type::conditional"
COVERED = f"""
mbarrier.init.layout::v0.b64 mbarrier.check_layout.layout::v0.b64
mbarrier.pending_count.layout::v0.b64
mbarrier.test_wait.{P}.b64 mbarrier.test_wait.parity.{P}.b64 mbarrier.test_wait.parity.{C}.b64
mbarrier.try_wait.{P}.b64 mbarrier.try_wait.parity.{P}.b64 mbarrier.try_wait.parity.{C}.b64
"""
TOP = ".version 9.3\n.target sm_90\n.address_size 64\n"
ILLEGAL_INSTRUCTION = 715
EMPTY = [np.zeros(1, np.uint32)]
LAYOUTS = ["", ".layout::v0", ".layout::v1"]
# The results of a wait: %p0 whether the phase is complete, %p1 and %c0 its report.
RESULTS = {P: ["%p0", "%p0|%p1", "%p0, %c0", "%p0|%p1, %c0"], C: ["%p0"]}


def text_of(body):
    return TOP + HEAD.replace("{head}", "") + ".reg .b8 %c<2>;\n" + body + "\nret; }\n"


class Sequence:
    """A program for one thread, and the expected words of its results."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.layout = LAYOUTS[seed % len(LAYOUTS)]
        self.object = Object(self.rng.choice([1, 2, 5, 40, 511]))
        self.states, self.expected = [], []
        self.lines = [f"mbarrier.init{self.layout}.shared.b64 [%r1], {self.object.pending};"]
        while len(self.expected) < 28:
            self.step()
        self.lines.append("mbarrier.inval.shared.b64 [%r1];")

    def result(self, value):
        """The value that %r4 must have here."""
        self.lines.append(f"st.global.u32 [%rd1+{4 * len(self.expected)}], %r4;")
        self.expected.append(value)

    def step(self):
        rng, b = self.rng, self.object
        pick = rng.randrange(7)
        space = rng.choice(["", ".shared", ".shared::cta"])
        at = "[%r1]" if space else "[%rd2]"
        if pick == 0 and b.pending > 0:
            n = rng.randrange(1, b.pending + 1)
            self.lines.append(f"mbarrier.arrive{space}.b64 %rd8, {at}, {n};")
            self.states = [b.arrive(n)[0]]
        elif pick == 1 and b.pending > 0:
            self.lines.append(f"mbarrier.arrive.expect_tx{space}.b64 %rd8, {at}, 48;")
            self.states = [b.arrive(expect=48)[0]]
        elif pick == 2 and b.bytes > 0:
            self.lines.append(f"mbarrier.complete_tx.relaxed.cta{space}.b64 {at}, {b.bytes};")
            b.bytes = 0
            b.settle()
        elif pick == 3 and b.pending > 1:
            self.lines.append(
                f"mbarrier.arrive.noComplete{space}.b64 %rd9, {at}, 1; mbarrier.pending_count.layout::v0.b64 %r4, %rd9;"
            )
            self.result(b.arrive(1)[1])
        elif pick == 4:
            asked = rng.choice(LAYOUTS[1:])
            self.lines.append(
                f"mbarrier.check_layout{asked}{space}.b64 %p0, {at}; selp.u32 %r4, 1, 0, %p0;"
            )
            self.result(int(asked == (self.layout or ".layout::v0")))
        elif pick >= 5:
            self.wait(space, at)

    def wait(self, space, at):
        rng, b = self.rng, self.object
        phase = rng.choice([P, C])
        by_state = phase == P and bool(self.states) and rng.random() < 0.5
        if by_state and b.phase - self.states[0] > 1:
            return
        parity = rng.randrange(2)
        complete = b.phase != self.states[0] if by_state else b.phase % 2 != parity
        kind = rng.choice(["test_wait", "try_wait"])
        results = rng.choice(RESULTS[phase])
        order = rng.choice(["", ".acquire.cta", ".relaxed.cluster"])
        hint = ", 100" if kind == "try_wait" and rng.random() < 0.5 else ""
        name = f"mbarrier.{kind}{'' if by_state else '.parity'}.{phase}{order}{space}.b64"
        self.lines.append(
            "setp.eq.u32 %p1, %r0, %r0; mov.b16 %h0, 0xff; mov.b16 {%c0, _}, %h0;\n"
            f"{name} {results}, {at}, {'%rd8' if by_state else parity}{hint}; selp.u32 %r4, 1, 0, %p0;"
        )
        self.result(int(complete))
        if complete and "%p1" in results:
            self.lines.append("selp.u32 %r4, 1, 0, %p1;")
            self.result(0)
        if complete and "%c0" in results:
            self.lines.append("cvt.u32.u8 %r4, %c0;")
            self.result(0)


@pytest.mark.parametrize("seed", range(45))
def test_sequences(seed, load):
    sequence = Sequence(seed)
    out = np.zeros(64, np.uint32)
    generic = "cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd2, %rd2;\n"
    load(text_of(generic + "\n".join(sequence.lines))).run("k", 1, 1, [out, out])
    assert list(out[: len(sequence.expected)]) == sequence.expected


WAITS = {
    "report": f"mbarrier.try_wait.parity.{P}.shared.b64 %p0|%p1, %c0, [%r1], {{parity}}; @!%p0 bra {{label}}; @%p1 trap;",
    "state": f"mbarrier.test_wait.{P}.acquire.cta.shared::cta.b64 %p0|%p1, [%r1], %rd4; @!%p0 bra {{label}}; @%p1 trap;",
    "conditional": f"mbarrier.try_wait.parity.{C}.shared.b64 %p0, [%r1], {{parity}}, 1000; @!%p0 bra {{label}};",
    "guarded": f"@%p5 mbarrier.try_wait.{P}.shared.b64 %p0|%p1, %c0, [%r1], %rd4; @!%p0 bra {{label}};",
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("how", WAITS)
def test_as_a_barrier(how, layout, load):
    """Each phase, a thread reads what another one wrote in the phase before."""
    threads = 96
    body = f"""
    @%p7 mbarrier.init{layout}.shared.b64 [%r1], {threads}; bar.sync 0; setp.eq.u32 %p5, %r0, %r0;
    shl.b32 %r3, %r0, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0; add.u32 %r5, %r0, 37;
    rem.u32 %r5, %r5, {threads}; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2;
    """
    for phase in range(8):
        wait = WAITS[how].format(label=f"L{phase}", parity=phase % 2)
        body += f"mbarrier.arrive.shared.b64 %rd4, [%r1];\nL{phase}: {wait}\n"
        body += (
            "mad.lo.u32 %r6, %r6, 3, 1; st.shared.u32 [%r4], %r6;\n"
            if phase % 2
            else "ld.shared.u32 %r6, [%r5];\n"
        )
    body += "mul.wide.u32 %rd6, %r0, 4; add.u64 %rd6, %rd1, %rd6; st.global.u32 [%rd6], %r6;"
    out = np.zeros(threads, np.uint32)
    load(text_of(body)).run("k", 1, threads, [out, out])
    expected = np.arange(threads, dtype=np.uint32)
    for _ in range(4):
        expected = expected[(np.arange(threads) + 37) % threads] * np.uint32(3) + np.uint32(1)
    assert (out == expected).all()


def test_a_report_is_written_for_active_lanes_alone(load):
    """The other lanes keep their predicate and their value."""
    body = f"""
    @%p7 mbarrier.init.layout::v1.shared.b64 [%r1], 1; bar.sync 0; @%p7 mbarrier.arrive.shared.b64 _, [%r1]; bar.sync 0;
    setp.eq.u32 %p1, %r0, %r0; mov.b16 %h0, 0xff; mov.b16 {{%c0, _}}, %h0; and.b32 %r3, %r0, 1; setp.ne.u32 %p2, %r3, 0;
    @%p2 mbarrier.test_wait.parity.{P}.shared.b64 %p0|%p1, %c0, [%r1], 0;
    selp.u32 %r4, 0x100, 0, %p1; cvt.u32.u8 %r5, %c0; or.b32 %r4, %r4, %r5;
    mul.wide.u32 %rd6, %r0, 4; add.u64 %rd6, %rd1, %rd6; st.global.u32 [%rd6], %r4;
    """
    out = np.zeros(32, np.uint32)
    load(text_of(body)).run("k", 1, 32, [out, out])
    assert (out == np.where(np.arange(32) % 2, 0, 0x1FF)).all()


@pytest.mark.parametrize(("layout", "count", "said"), [
    (".layout::v1", 512, "mbarrier.init.layout::v1 needs a count from 1 to 2^9 - 1"),
    (".layout::v1", 0, "mbarrier.init.layout::v1 needs a count from 1 to 2^9 - 1"),
    (".layout::v0", 1 << 20, "mbarrier.init needs a count from 1 to 2^20 - 1"),
])  # fmt: skip
def test_counts_that_a_layout_does_not_hold(layout, count, said, newer_devices):
    body = f"mov.u32 %r3, {count}; mbarrier.init{layout}.shared.b64 [%r1], %r3;"
    code, message = newer_devices("9.0").run(tensor_memory.fault, text_of(body), EMPTY, 1)
    assert code == ILLEGAL_INSTRUCTION and said in message


def test_a_layout_of_memory_without_an_object(newer_devices):
    body = "mbarrier.check_layout.layout::v1.shared.b64 %p0, [%r1+8];"
    code, message = newer_devices("9.0").run(tensor_memory.fault, text_of(body), EMPTY, 1)
    assert code == driver_abi.ILLEGAL_ADDRESS and "the mbarrier is not initialised" in message


WRONG = [
    f"mbarrier.test_wait.{P}.b64 %p0|%p1, %h1, [%rd0], %rd1;",  # a report has 8 bits
    f"mbarrier.test_wait.{P}.b64 %p0|%p1, _, [%rd0], %rd1;",
    "mbarrier.test_wait.b64 %p0|%p1, [%rd0], %rd1;",
    f"mbarrier.test_wait.{C}.b64 %p0, [%rd0], %rd1;",
    f"mbarrier.try_wait.parity.{C}.b64 %p0|%p1, [%rd0], %r1;",
    f"mbarrier.try_wait.{P}.relaxed.b64 %p0, [%rd0], %rd1;",
    f"mbarrier.try_wait.{P}.acquire.cta.shared::cluster.b64 %p0, [%r1], %rd1;",
    "mbarrier.check_layout.b64 %p0, [%rd0];",
    "mbarrier.check_layout.layout::v1.b64 %p0|%p1, [%rd0];",
    "mbarrier.pending_count.layout::v1.b64 %r1, %rd1;",
    "mbarrier.arrive.layout::v1.shared.b64 %rd1, [%r1];",
    "mbarrier.init.layout::v1.shared::cluster.b64 [%r1], 1;",
]


@pytest.mark.parametrize("statement", WRONG)
def test_wrong_statements_are_refused(statement, load):
    with pytest.raises(driver_abi.DriverError, match="PTX line"):
        load(text_of(statement))
