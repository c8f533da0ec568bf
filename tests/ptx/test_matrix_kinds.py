"""`mma` with .kind: floats of 4, 6 and 8 bits, with and without scale factors.

The manual leaves the order of additions open, and no recording of these products exists. So each
result is compared twice: bit by bit with the model, which states the rule of the CPU device, and
with sums in float64 of numbers that ml_dtypes decodes.
"""

import itertools
import os

import driver_abi
import ml_dtypes
import numpy as np
import pytest

from . import device_process, matrix
from . import matrix_model as model
from .test_matrix import assert_same, expected

pytestmark = pytest.mark.skipif(
    "CUPOLA_TEST_DRIVER" in os.environ, reason="asks devices of several compute capabilities"
)
COVERED = "\n".join(f.opcode for f in matrix.KINDS)
# Capability, and the target of a text for it.
DEVICES = {"12.0": "sm_120a", "12.1": "sm_121a"}
# A number's type in ml_dtypes, its bits, and their distance from the lowest bit of a byte.
FORMATS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8, 0),
    "e5m2": (ml_dtypes.float8_e5m2, 8, 0),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6, 0),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6, 0),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4, 2),
    "packed e2m1": (ml_dtypes.float4_e2m1fn, 4, 0),
}
SCALES = {"ue8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn}
CASES = 10


def run_all(forms, inputs, target):
    """D of each form for its inputs, in one module."""
    texts = [matrix.kernel(form, f"k{n}") for n, form in enumerate(forms)]
    module = device_process.driver().load(matrix.header("9.5", target) + "".join(texts))
    results = []
    for n, (form, words) in enumerate(zip(forms, inputs, strict=True)):
        results.append(matrix.output(form, len(words[0])))
        module.run(f"k{n}", len(words[0]), 32, [*words, results[-1]])
    return results


def values(t, bits):
    """Elements of a type as float64."""
    kind, width, shift = FORMATS[t]
    codes = (bits >> shift & ((1 << width) - 1)).astype(np.uint8)
    return codes.view(kind).astype(np.float64)


@np.errstate(invalid="ignore")  # NaNs that signal
def accumulators(t, bits):
    kind = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32)}[t]
    return bits.astype(kind[0]).view(kind[1]).astype(np.float64)


def scale_values(form, operand, words):
    """Scale factors [case, row of A or column of B, element of it]."""
    bits = model.scales_of(form, operand, words) & (255 if form.scale == "ue8m0" else 127)
    factors = bits.view(SCALES[form.scale]).astype(np.float64)
    return factors.repeat(form.k // form.scales, 2)


@np.errstate(invalid="ignore", over="ignore")
def terms_of(form, words):
    """The products of scaled numbers [case, i, term, j], and C [case, i, j], in float64."""
    words = dict(zip([o for o in "abcest" if form.registers(o)], words, strict=True))
    a, b, c = (model.gather(form, o, words[o])[:, 0] for o in "abc")
    a, b = values(form.a, a), values(form.b, b)
    columns = np.broadcast_to(np.arange(form.k), (len(a), form.m, form.k))
    if form.selector is not None:
        columns = model.chosen(form, words["e"])
    if form.scales:
        a = a * np.take_along_axis(scale_values(form, "s", words["s"]), columns, 2)
        b = b * scale_values(form, "t", words["t"]).swapaxes(1, 2)
    b = b[np.arange(len(b))[:, None, None], columns]
    return a[..., None] * b, accumulators(form.c, c)


@np.errstate(invalid="ignore", over="ignore")
def assert_near(form, words, d):
    """D has at most the error of terms and a sum that are cut off, or of rounding to f16."""
    terms, c = terms_of(form, words)
    exact = terms.sum(2) + c
    largest = np.maximum(np.abs(terms).max(2), np.abs(c))
    got = accumulators(form.d, model.gather(form, "d", d)[:, 0])
    assert (np.isnan(got) == np.isnan(exact)).all(), form.opcode
    room = (terms.shape[2] + 2) * np.maximum(largest, 2.0**-126) * 2.0**-22
    last = np.maximum(np.abs(exact), 2.0**-14) * 2.0**-11 if form.d == "f16" else 0
    last = last + np.abs(exact) * 2.0**-22
    limit = 65504 if form.d == "f16" else float(np.finfo(np.float32).max)
    finite = np.isfinite(exact) & (np.abs(exact) + room + last < limit)
    wrong = finite & ~(np.abs(got - exact) <= room + last)
    assert not wrong.any(), (form.opcode, got[wrong][:3], exact[wrong][:3])
    infinite = np.isinf(exact) & np.isinf(largest)
    assert (got[infinite] == exact[infinite]).all(), form.opcode
    assert finite.mean() > 0.4


def kind_of(form):
    return form.opcode.partition("kind::")[2].partition(".")[0] or "none"


GROUPS = [
    (kind, sparse)
    for kind in ("f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4", "none")
    for sparse in (False, True)
    if (kind, sparse) != ("none", False)
]


@pytest.mark.parametrize("kind, sparse", GROUPS)
def test_products(kind, sparse, newer_devices):
    """Random and extreme values, each selection of scale factors."""
    forms = [f for f in matrix.KINDS if (kind_of(f), f.selector == 0) == (kind, sparse)]
    capability = "12.1" if sparse else "12.0"
    for part in itertools.batched(forms, 40) if hasattr(itertools, "batched") else [forms]:
        inputs = [matrix.inputs(f, CASES, n) for n, f in enumerate(part)]
        got = newer_devices(capability).run(run_all, list(part), inputs, DEVICES[capability])
        for form, words, d in zip(part, inputs, got, strict=True):
            assert_same(form, d, expected(form, words))
            if kind != "none":  # without .kind, the sums are rounded to f16 in between
                assert_near(form, words, d)


def of_shape(k, sparse=False, scale=""):
    return next(
        f
        for f in matrix.KINDS
        if (f.k, f.selector == 0, f.scale) == (k, sparse, scale) and f.d == "f32"
    )


def code(t, number):
    """The bits of a number, where an element has them."""
    kind, _, shift = FORMATS[t]
    return int(np.array(number, kind).view(np.uint8)) << shift


def fragment_of(form, operand, elements):
    """Words [case, register, lane] of matrices [case, row, column] of bits."""
    row, column = model.place(form, operand)
    return model.join(getattr(form, operand), elements[:, row, column])


def plain_inputs(form, cases):
    """Zeros, scale factors of 1, and metadata that chooses the first half of each chunk."""
    words = {
        o: np.zeros((cases, form.registers(o), 32), np.uint32)
        for o in "abcest"
        if form.registers(o)
    }
    for o in "st":
        if o in words:
            words[o][:] = 0x7F7F7F7F if form.scale == "ue8m0" else 0x38383838
    if "e" in words:
        words["e"][:] = 0x44444444
    return words


def run_form(form, words, newer_devices, capability="12.0"):
    """The matrices D [case, i, j]."""
    inputs = list(words.values())
    (d,) = newer_devices(capability).run(run_all, [form], [inputs], DEVICES[capability])
    return accumulators(form.d, model.gather(form, "d", d)[:, 0])


SHAPES = [(16, False, ""), (32, False, ""), (64, False, "ue8m0"), (64, True, ""),
          (128, True, "ue4m3")]  # fmt: skip


def manual_place(k, bits, sparse, operand, lane, n):
    """Row and column of an element by the manual's formulas, of the stored ones if A is sparse."""
    group, thread = lane // 4, lane % 4
    per = 32 // bits
    half = 4 * per  # elements of a row that one register of four lanes has
    if operand == "b":
        return n // per * half + thread * per + n % per, group
    if (k, bits) == (16, 8):
        return group + 8 * (n >= 4), thread * 4 + n % 4
    upper = n // per % 2
    return group + 8 * upper, n // (2 * per) * half + thread * per + n % per


@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("shape", SHAPES)
def test_layout_of_each_factor(shape, operand, newer_devices):
    """One element is 1; the other factor spells the element's position along k in binary."""
    form = of_shape(*shape)
    bits = model.BITS[form.a]
    held = form.registers(operand) * 32 // bits
    cases = 32 * held
    words = plain_inputs(form, cases)
    lane, n = np.arange(cases) // held, np.arange(cases) % held
    one = code(getattr(form, operand), 1) << n % (32 // bits) * bits
    words[operand][np.arange(cases), n // (32 // bits), lane] = one
    other = "b" if operand == "a" else "a"
    k = form.k if other == "b" else form.k_stored
    digits = np.arange(k)[:, None] >> np.arange(7) & 1
    lines = np.concatenate([digits, np.ones((k, 1), int)], 1)  # [k, 8]
    if other == "a":
        lines = np.concatenate([lines.T, lines.T])
    elements = lines * code(getattr(form, other), 1)
    words[other][:] = fragment_of(form, other, elements[None].astype(np.uint32))
    d = run_form(form, words, newer_devices)
    sparse = form.selector is not None
    for case in range(cases):
        row, column = manual_place(form.k, bits, sparse, operand, int(lane[case]), int(n[case]))
        wanted = np.zeros((16, 8))
        if operand == "a":
            # Metadata 0x44 chooses the first two of four elements, or the first two pairs of four.
            pairs = 2 if bits == 8 else 4
            at = column // pairs * 2 * pairs + column % pairs if sparse else column
            wanted[row] = lines[at]
        else:
            stored = row
            if sparse:
                chunk, pairs = (4, 2) if bits == 8 else (8, 4)
                if row % chunk >= pairs:
                    assert not d[case].any()
                    continue
                stored = row // chunk * pairs + row % chunk
            wanted[:, column] = lines[:, stored]
        assert (d[case] == wanted).all(), (case, lane[case], n[case])


SCALED = [(32, False, 1, "ue8m0"), (64, False, 2, "ue8m0"), (64, False, 4, "ue4m3"),
          (64, True, 1, "ue8m0"), (128, True, 2, "ue8m0"), (128, True, 4, "ue8m0")]  # fmt: skip


# The bytes of the scale factors of a warp; each case of the test has one of A and one of B.
BYTES = {"s": np.arange(128), "t": (np.arange(128) * 37 + 11) % 128}


@pytest.mark.parametrize("k, sparse, scales, scale", SCALED)
def test_each_selection_of_scale_factors(k, sparse, scales, scale, newer_devices):
    """A byte of a lane is 2: it doubles one chunk of a row of A, or of a column of B."""
    several = {}
    for form in matrix.KINDS:
        if (form.k, form.selector == 0, form.scales, form.scale) == (k, sparse, scales, scale):
            several.setdefault(form.select, form)
    forms = list(several.values())
    if scales == 1:  # the list has one selection for each pair of types
        forms = [matrix.Form(**{**vars(forms[0]), "select": s}) for s in matrix.selections(1)]
    assert {f.select for f in forms} == set(matrix.selections(scales))
    inputs = []
    for form in forms:
        words = plain_inputs(form, 128)
        ones = np.full((1, form.m, form.k_stored), code(form.a, 1), np.uint32)
        words["a"][:] = fragment_of(form, "a", ones)
        chunk = k // scales
        b = (np.arange(k)[:, None] // chunk == np.arange(8) % scales) * code(form.b, 1)
        words["b"][:] = fragment_of(form, "b", b[None].astype(np.uint32))
        two = 0x80 if scale == "ue8m0" else 0x40
        for o, place in BYTES.items():
            words[o].view(np.uint8).reshape(128, 128)[np.arange(128), place] = two
        inputs.append(list(words.values()))
    got = newer_devices("12.0").run(run_all, forms, inputs, "sm_120a")
    for form, d in zip(forms, got, strict=True):
        d = accumulators("f32", model.gather(form, "d", d)[:, 0])
        byte_a, lanes_a, byte_b, lanes_b = form.select
        one = k // scales // (2 if sparse else 1)
        wanted = np.full((128, 16, 8), float(one))
        lane, chunk = BYTES["s"] // 4, BYTES["s"] % 4 - byte_a
        used = (lane % 4 // 2 == lanes_a) & (chunk >= 0) & (chunk < scales)
        twice = used[:, None] & (np.arange(8) % scales == chunk[:, None])
        wanted[np.arange(128), lane // 4 + 8 * (lane % 2)] *= 1 + twice
        lane, chunk = BYTES["t"] // 4, BYTES["t"] % 4 - byte_b
        used = (lane % 4 == lanes_b) & (lane // 4 % scales == chunk)
        wanted[np.arange(128), :, lane // 4] *= 1 + used[:, None]
        assert (d == wanted).all(), form.select


@pytest.mark.parametrize("shape", [(64, True, ""), (64, True, "ue8m0"), (128, True, "ue4m3")])
def test_each_pattern_of_metadata(shape, newer_devices):
    form = of_shape(*shape)
    patterns = [0x4, 0x8, 0x9, 0xC, 0xD, 0xE]
    cases = 32 * 8 * len(patterns)
    words = plain_inputs(form, cases)
    number = np.arange(cases)
    lane, nibble = number // 48, number // 6 % 8
    chosen = np.array(patterns)[number % 6]
    words["e"][number, 0, lane] ^= ((0x4 ^ chosen) << 4 * nibble).astype(np.uint32)
    pairs = 2 if form.k == 128 else 1
    column = np.arange(form.k_stored)
    first = column // pairs % 2 == 0  # the first of two elements, or of two pairs, is 1; others 2
    a = np.where(first, code(form.a, 1), code(form.a, 2))
    words["a"][:] = fragment_of(form, "a", np.broadcast_to(a, (1, 16, len(a))).astype(np.uint32))
    rng = np.random.default_rng(1)
    numbers = rng.choice([-2, -1, -0.5, 0, 0.5, 1, 1.5, 2], (form.k, 8))
    kind, _, shift = FORMATS[form.b]
    b = (numbers.astype(kind).view(np.uint8).astype(np.uint32) & FORMATS_MASK[form.b]) << shift
    words["b"][:] = fragment_of(form, "b", b[None])
    d = run_form(form, words, newer_devices)
    chunk = 4 * pairs
    blocks = numbers.reshape(-1, 4, pairs, 8).sum(2)  # [chunk of k, one of four, column]
    assert len(blocks) * chunk == form.k
    default = blocks[:, 0] + 2 * blocks[:, 1]
    for case in range(cases):
        # Four lanes have the metadata of two rows: chunks 0 to 7 in the first two lanes.
        quad, thread = lane[case] // 4, lane[case] % 4
        row, at = quad + 8 * (thread % 2), 8 * (thread // 2) + nibble[case]
        wanted = np.broadcast_to(default.sum(0), (16, 8)).copy()
        low, high = chosen[case] & 3, chosen[case] >> 2
        wanted[row] += blocks[at, low] + 2 * blocks[at, high] - default[at]
        assert (d[case] == wanted).all(), (row, at, hex(chosen[case]))


FORMATS_MASK = {t: (1 << bits) - 1 for t, (_, bits, _) in FORMATS.items()}


@pytest.mark.parametrize("scale", ["ue8m0", "ue4m3"])
@pytest.mark.parametrize("operand", ["s", "t"])
def test_a_nan_scale_factor(scale, operand, newer_devices):
    """It makes its row of A, or its column of B, NaN, even where the numbers are 0."""
    form = next(f for f in matrix.KINDS if (f.scales, f.scale) == (4, scale) and not any(f.select))
    words = plain_inputs(form, 1)
    words[operand].view(np.uint8)[0, 0, 4 * 9 + 3 if operand == "s" else 4 * 8] = (
        0xFF if scale == "ue8m0" else 0x7F
    )
    d = run_form(form, words, newer_devices)[0]
    wanted = np.zeros((16, 8), bool)
    if operand == "s":
        wanted[10] = True  # lane 9 is the second of the third four
    else:
        wanted[:, 2] = True
    assert (np.isnan(d) == wanted).all() and not d[~wanted].any()


@pytest.mark.parametrize("number, times, made", [
    ("inf", 1, np.inf), ("inf", 0, np.nan), ("-inf", 2, -np.inf), ("nan", 0, np.nan),
])  # fmt: skip
def test_infinities_of_e5m2(number, times, made, newer_devices):
    form = next(f for f in matrix.KINDS if (f.a, f.b, f.k) == ("e5m2", "e2m1", 32) and f.d == "f32")
    words = plain_inputs(form, 1)
    words["a"][0, 0, 0] = code("e5m2", float(number))
    words["b"][0, 0, :] = code("e2m1", times)
    d = run_form(form, words, newer_devices)[0]
    assert np.array_equal(d[0], np.full(8, made), equal_nan=True)
    assert not d[1:].any()


def as_cutlass_writes(form, name):
    """The kernel of a form with scale factors, in other words of the same meaning."""
    shape, layouts = f"m16n8k{form.k}", "row.col"
    front, kind = form.opcode.split(f".{shape}.{layouts}.")
    kind, types = kind[: kind.index(".f32.")], kind[kind.index(".f32.") + 1 :]
    sparse = ".sp::ordered_metadata" * (form.selector is not None)
    opcode = f"{front.replace(sparse, '')}.{kind.split('.')[0]}{sparse}.{kind.partition('.')[2]}"
    text = matrix.kernel(form, name).replace(form.opcode, f"{opcode}.{shape}.{layouts}.{types}")
    for register in ("%s0,", "%t0,", "%e0, 0"):
        text = text.replace(f", {register}", f", {{{register[:3]}}}{register[3:]}")
    return text


def run_both(forms, inputs):
    """D of each form, as the manual writes the instruction, and as CUTLASS does."""
    results = []
    for make in (matrix.kernel, as_cutlass_writes):
        text = "".join(make(form, f"k{n}") for n, form in enumerate(forms))
        module = device_process.driver().load(matrix.header("9.5", "sm_120a") + text)
        for n, (form, words) in enumerate(zip(forms, inputs, strict=True)):
            results.append(matrix.output(form, len(words[0])))
            module.run(f"k{n}", len(words[0]), 32, [*words, results[-1]])
    return results


def test_orders_and_braces_of_cutlass(newer_devices):
    forms = [f for f in matrix.KINDS if f.scales][::40]
    assert {f.selector for f in forms} == {None, 0}
    inputs = [matrix.inputs(f, CASES, n) for n, f in enumerate(forms)]
    both = newer_devices("12.0").run(run_both, forms, inputs)
    for n, form in enumerate(forms):
        assert_same(form, both[len(forms) + n], both[n])


REGISTERS = """{ .reg .f32 %f<8>; .reg .b32 %r<16>; .reg .b16 %h<4>; .reg .f16 %e<4>;
.reg .pred %p; """
SCALED_OPCODE = (
    "mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.f32.{types}.f32.{scale}"
    " {{%f0,%f1,%f2,%f3}}, {{%r1,%r2,%r3,%r4}}, {{%r5,%r6}}, {{%f0,%f1,%f2,%f3}}, "
)
ONE = SCALED_OPCODE.format(k=32, kind="mxf8f6f4.block_scale", types="e4m3.e5m2", scale="ue8m0")
TWO = SCALED_OPCODE.format(k=64, kind="mxf4.block_scale", types="e2m1.e2m1", scale="ue8m0")
FOUR = SCALED_OPCODE.format(
    k=64, kind="mxf4nvf4.block_scale.scale_vec::4X", types="e2m1.e2m1", scale="ue4m3"
)
SPARSE = (
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32"
    " {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f0,%f1,%f2,%f3}, "
)


def refusal(statement):
    text = f"{matrix.header('9.5', 'sm_120a')}.visible .entry k() {REGISTERS}\n{statement} ret; }}"
    try:
        device_process.driver().load(text).unload()
    except driver_abi.DriverError as error:
        return error.log
    return ""


@pytest.mark.parametrize(
    "statement, said",
    [
        (ONE + "%r9, {4, 0}, %r10, {0, 0};", "the byte of scale factors must be 0 to 3"),
        (ONE + "%r9, {-1, 0}, %r10, {0, 0};", "the byte of scale factors must be 0 to 3"),
        (ONE + "%r9, {0, 2}, %r10, {0, 0};", "the lanes of scale factors must be 0 to 1"),
        (ONE + "%r9, {0, 0}, %r10, {0, 4};", "the lanes of scale factors must be 0 to 3"),
        (TWO + "%r9, {1, 0}, %r10, {0, 0};", "the byte of scale factors must be 0 or 2"),
        (FOUR + "%r9, {0, 0}, %r10, {2, 0};", "the byte of scale factors must be 0"),
        (ONE + "%r9, 0, %r10, {0, 0};", "expected {byte, lanes}"),
        (ONE + "{%r9}, {0, 0}, %r10, {0, 0};", "braces around the scale factors of both matrices"),
        (ONE + "%r9, {0, 0}, {%r10}, {0, 0};", "braces around the scale factors of both matrices"),
        (ONE + "{%r9, %r8}, {0, 0}, {%r10}, {0, 0};", "expected a register of 32 bits"),
        (ONE + "{5}, {0, 0}, {%r10}, {0, 0};", "expected a register of 32 bits"),
        (ONE + "%r9, {0, 0, 0}, %r10, {0, 0};", "expected {byte, lanes}"),
        (ONE + "%r9, {%r1, 0}, %r10, {0, 0};", "expected a register of type .u16"),
        (ONE + "%r9, {%e1, 0}, %r10, {0, 0};", "expected a register of type .u16"),
        (ONE + "%r9, {%laneid, 0}, %r10, {0, 0};", "expected a register or a constant"),
        (ONE + "5, {0, 0}, %r10, {0, 0};", "expected a register of 32 bits"),
        (ONE + "%h1, {0, 0}, %r10, {0, 0};", "expected a register of type .b32"),
        (ONE + "%r9, {0, 0}, %r10;", "expected 8 operands, got 7"),
        (SPARSE + "%r9, 1;", "sparsity selector"),
    ],
)
def test_wrong_operands_are_refused_with_their_line(statement, said, newer_devices):
    found = newer_devices("12.0").run(refusal, statement)
    assert said in found and "line 6" in found
