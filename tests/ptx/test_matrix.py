"""Instructions on matrices: every form against the model, loads and stores against the manual."""

import numpy as np
import pytest

from . import floats as fl
from . import matrix, record_matrix
from . import matrix_model as model

CASES = len(matrix.STYLES)
SPACES = ("", ".global")

COVERED = "\n".join(
    [
        *(f.opcode for f in (*matrix.DENSE, *matrix.SPARSE, *matrix.WHOLE, *matrix.GROUP)),
        *(f.opcode for f in matrix.GROUP_SPARSE),
        *{
            line
            for f in matrix.WHOLE
            for line in matrix.whole_kernel(f, space="").splitlines()
            if line.startswith(("wmma.load", "wmma.store"))
        },
        "ldmatrix.sync.aligned.m8n8.x1.b16 stmatrix.sync.aligned.m8n8.x1.b16",
        "movmatrix.sync.aligned.m8n8.trans.b16 wgmma.fence.sync.aligned",
        "wgmma.commit_group.sync.aligned wgmma.wait_group.sync.aligned",
    ]
)


def expected(form, inputs):
    """Fragments of D, by the model."""
    operands = [o for o in "abcest" if form.registers(o)]
    words = dict(zip(operands, inputs, strict=True))
    a, b, c = (model.gather(form, o, words[o]) for o in "abc")
    if form.selector is None:
        b = b[:, :, None]
    else:
        case = np.arange(len(b))[:, None, None]
        b = b[:, 0][case, model.chosen(form, words["e"])][:, None]
    scales = [model.scales_of(form, o, words[o]) for o in "st" if form.scales]
    return model.scatter(form, model.product(form, a, b, c, scales))


def assert_same(form, got, wanted):
    wrong = np.argwhere(got != wanted)
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{record_matrix.named(form)}: {len(wrong)} of {got.size} words, first at {at}: "
            f"{got[at]:#x}, not {wanted[at]:#x}"
        )


@pytest.mark.parametrize("form", [f for f in matrix.DENSE if f.d != "f64"], ids=record_matrix.named)
def test_mma(form, load):
    module = load(matrix.header() + matrix.kernel(form))
    got = record_matrix.run_one(module, form, CASES, 7)
    assert_same(form, got, expected(form, matrix.inputs(form, CASES, 7)))


@pytest.mark.parametrize("form", matrix.SPARSE, ids=record_matrix.named)
def test_sparse(form, load):
    module = load(matrix.header() + matrix.kernel(form))
    got = record_matrix.run_one(module, form, CASES, 7)
    assert_same(form, got, expected(form, matrix.inputs(form, CASES, 7)))


TINY = {
    # -2^-75 times 2^-75, and -2^-24 times 2^-24: less than the least f32, or f16
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": (0x9A00, 0x1A00),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": (0x9A000000, 0x1A000000),
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16": (0x8001, 0x0001),
}


@pytest.mark.parametrize("c", [0, 1])
@pytest.mark.parametrize("opcode", TINY)
def test_nothing_is_left_of_a_sum(opcode, c, load):
    """A sum that is rounded to zero has no sign, for all addends."""
    form = next(f for f in matrix.DENSE if f.opcode == opcode)
    words = [np.zeros_like(x) for x in matrix.inputs(form, 1, 0)]
    for n in range(2):  # column 0 of A, row 0 of B
        words[n][0, 0, ::4] = TINY[opcode][n]
    words[2][:] = {"f32": 0x80000000, "f16": 0x80008000}[form.d] * c  # zeros of either sign
    out = matrix.output(form, 1)
    load(matrix.header() + matrix.kernel(form)).run("k", 1, 32, [*words, out])
    assert (out == 0).all()
    assert (expected(form, words) == 0).all()


def chain(a, b, c, mode):
    """Fused multiply-adds in the order of k, exactly rounded; bits."""
    total = int(c)
    for x, y in zip(a, b, strict=True):
        terms = [fl.product(fl.decode("f64", int(x)), fl.decode("f64", int(y)))]
        total = fl.total("f64", [*terms, fl.decode("f64", total)], mode)
    return total


def same_double(got, wanted):
    return got == wanted or (fl.decode("f64", got)[1] == fl.decode("f64", wanted)[1] == fl.NAN)


@pytest.mark.parametrize("form", [f for f in matrix.DENSE if f.d == "f64"], ids=record_matrix.named)
@pytest.mark.parametrize("mode", ["", ".rn", ".rz", ".rm", ".rp"])
def test_mma_of_doubles(form, mode, load):
    text = matrix.kernel(form).replace(".row.col.f64", f".row.col{mode}.f64")
    module = load(matrix.header() + text)
    got = record_matrix.run_one(module, form, CASES, 9)
    a, b, c = (
        model.gather(form, o, x)[:, 0]
        for o, x in zip("abc", matrix.inputs(form, CASES, 9), strict=True)
    )
    rows, columns = model.place(form, "d")
    for case in range(CASES):
        for n in range(len(rows)):
            for lane in range(0, 32, 5):
                i, j = rows[n, lane], columns[n, lane]
                wanted = chain(a[case, i], b[case, :, j], c[case, i, j], mode[1:] or "rn")
                assert same_double(int(got[case, n, lane]), wanted), (case, n, lane)


# -- wmma --------------------------------------------------------------------------------------


def whole_matrix(form, operand, words):
    """Elements [case, row, column] of [case, word] in memory."""
    t = form.type(operand)
    elements = words if model.BITS[t] == 64 else model.split(t, words[:, :, None].repeat(32, 2))
    elements = elements if model.BITS[t] == 64 else elements[:, :, 0]
    rows, columns = {"a": (form.m, form.k), "b": (form.k, form.n)}.get(operand, (form.m, form.n))
    layout = {"a": form.layouts[0], "b": form.layouts[1]}.get(operand, form.result)
    if layout == "row":
        return elements.reshape(-1, rows, columns)
    return elements.reshape(-1, columns, rows).swapaxes(1, 2)


@pytest.mark.parametrize("form", matrix.WHOLE, ids=record_matrix.named)
def test_wmma(form, load):
    module = load(matrix.header() + matrix.whole_kernel(form))
    words = [matrix.matrix_words(form, o, CASES, 3) for o in "abc"]
    got, _ = record_matrix.run_whole(module, form, words)
    got = whole_matrix(form, "d", got)
    a, b, c = (whole_matrix(form, o, x) for o, x in zip("abc", words, strict=True))
    if form.d != "f64":
        assert_same(form, got, model.product(form, a, b[:, None], c).astype(got.dtype))
        return
    mode = form.front[1:] or "rn"
    for case in range(CASES):
        for i, j in np.ndindex(8, 8):
            wanted = chain(a[case, i], b[case, :, j], c[case, i, j], mode)
            assert same_double(int(got[case, i, j]), wanted)


PICKED = [f for f in matrix.WHOLE if f.result == "col" and f.layouts in (("row", "col"),)]


@pytest.mark.parametrize("space", ["", ".global"])
@pytest.mark.parametrize("form", PICKED, ids=lambda f: f.opcode)
def test_wmma_in_larger_matrices(form, space, load):
    """Rows (or columns) that lie apart, and addresses that name no space."""
    pad = 32 if form.a in ("s4", "u4") else 128 if form.a == "b1" else 16
    module = load(matrix.header() + matrix.whole_kernel(form, pad=pad, space=space))
    words = [matrix.matrix_words(form, o, CASES, 4) for o in "abc"]
    plain = load(matrix.header() + matrix.whole_kernel(form))
    wanted, _ = record_matrix.run_whole(plain, form, words)

    def spread(operand, x):
        each = form.stride(operand) * matrix.BITS[form.type(operand)] // (8 * x.itemsize)
        gap = pad * matrix.BITS[form.type(operand)] // (8 * x.itemsize)
        lines = x.reshape(CASES, -1, each)
        return np.pad(lines, ((0, 0), (0, 0), (0, gap)), constant_values=1)

    apart = [np.ascontiguousarray(spread(o, x)) for o, x in zip("abc", words, strict=True)]
    d = spread("d", wanted)
    inside = np.zeros_like(d)
    fragments = [record_matrix.empty_fragment(form, o, CASES) for o in "abcd"]
    module.run("k", CASES, 32, [*apart, inside, *fragments])
    each = wanted.size // inside[:, :, 0].size
    assert (inside[:, :, :each] == d[:, :, :each]).all()
    assert (inside[:, :, each:] == 0).all()


# -- ldmatrix, stmatrix, movmatrix -------------------------------------------------------------

ROWS = """
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {{
.shared .align 16 .b8 s[4096];
.reg .b64 %a, %b, %c, %x, %g; .reg .b32 %t, %i, %s, %v<4>; .reg .pred %p;
ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; mov.u32 %t, %laneid;
mov.u32 %i, %t; mov.u32 %s, s;
COPY: mad.wide.u32 %x, %i, 4, %a; ld.global.b32 %v0, [%x]; mad.lo.u32 %v1, %i, 4, %s;
st.shared.b32 [%v1], %v0; add.u32 %i, %i, 32; setp.lt.u32 %p, %i, 1024; @%p bra COPY;
bar.warp.sync 0xffffffff;
mad.wide.u32 %x, %t, 4, %b; ld.global.b32 %i, [%x]; add.u32 %i, %i, %s;
cvt.u64.u32 %g, %i; cvta.shared.u64 %g, %g; mad.wide.u32 %c, %t, 4, %c;
{body}
bar.warp.sync 0xffffffff;
{after}
ret; }}
"""


def eights(rows):
    return rows.reshape(-1, 8, 8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
def test_rows_are_loaded(count, transposed, space, load):
    memory = (np.arange(2048) * 37 % 65536).astype(np.uint16)
    offsets = (np.arange(32) * 5 % 128 * 16).astype(np.uint32)
    registers = "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"
    address = "[%i+64]" if space else "[%g+64]"
    trans = ".trans" if transposed else ""
    body = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {registers}, {address};"
    after = "\n".join(f"st.global.b32 [%c+{128 * i}], %v{i};" for i in range(count))
    out = np.zeros((count, 32), np.uint32)
    load(matrix.header() + ROWS.format(body=body, after=after)).run(
        "k", 1, 32, [memory.view(np.uint32), offsets, out]
    )
    rows = np.stack([memory[(o + 64) // 2 :][:8] for o in offsets[: 8 * count]])
    wanted = eights(rows)
    if transposed:
        wanted = wanted.swapaxes(1, 2)
    assert (out.view(np.uint16).reshape(count, 8, 8) == wanted).all()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
def test_rows_are_stored(count, transposed, space, load):
    memory = np.full(2048, 0xABCD, np.uint16)
    offsets = (np.arange(32) * 5 % 128 * 16).astype(np.uint32)
    registers = "{" + ", ".join(f"%v{i}" for i in range(count)) + "}"
    address = "[%i+64]" if space else "[%g+64]"
    trans = ".trans" if transposed else ""
    body = "\n".join(f"mad.lo.u32 %v{i}, %t, 0x10003, {i * 0x1000100 + 0x10000};"
                     for i in range(count))  # fmt: skip
    body += f"\nstmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {address}, {registers};"
    after = """mov.u32 %i, %t; sub.u64 %c, %c, 0;
    BACK: mad.lo.u32 %v1, %i, 4, %s; ld.shared.b32 %v0, [%v1]; st.global.b32 [%c], %v0;
    add.u64 %c, %c, 128; add.u32 %i, %i, 32; setp.lt.u32 %p, %i, 1024; @%p bra BACK;"""
    out = np.zeros(1024, np.uint32)
    load(matrix.header() + ROWS.format(body=body, after=after)).run(
        "k", 1, 32, [memory.view(np.uint32), offsets, out]
    )
    lanes = np.arange(32, dtype=np.uint32)
    held = np.stack([lanes * 0x10003 + i * 0x1000100 + 0x10000 for i in range(count)])
    rows = eights(held.astype(np.uint32).view(np.uint16))
    if transposed:
        rows = rows.swapaxes(1, 2)
    wanted = memory.copy()
    for n, row in enumerate(rows.reshape(-1, 8)):
        wanted[(offsets[n] + 64) // 2 :][:8] = row
    assert (out.view(np.uint16) == wanted).all()


def test_matrix_is_transposed(load):
    body = "mul.lo.u32 %v0, %t, 0x30007; movmatrix.sync.aligned.m8n8.trans.b16 %v1, %v0;"
    out = np.zeros(32, np.uint32)
    zero = np.zeros(1024, np.uint32)
    load(matrix.header() + ROWS.format(body=body, after="st.global.b32 [%c], %v1;")).run(
        "k", 1, 32, [zero, zero[:32], out]
    )
    held = (np.arange(32, dtype=np.uint32) * np.uint32(0x30007)).view(np.uint16).reshape(8, 8)
    assert (out.view(np.uint16).reshape(8, 8) == held.T).all()


# -- warpgroups --------------------------------------------------------------------------------


def group_expected(form, a, b, c, e=None, add=1):
    """Fragments of D [case, register, thread] of a wgmma in the plainest layout."""
    size = max(model.BITS[form.a] // 8, 1)
    depth = 32 // size  # elements of a line; single bits are taken eight at a time

    def shared(words, lines, depth):
        plain = 128 // 16 << 32 | lines * 16 // 16 << 16
        at = model.shared_place(plain, lines, depth, size) // size
        elements = words.view(np.uint8).reshape(len(words), -1)
        return elements.view(f"u{size}")[:, at]

    def registers(words, t):
        """[case, row, element] of words [case, register, thread] with 16 rows a warp."""
        per = 32 // (8 * size)
        i, thread = np.arange(4 * per)[:, None], np.arange(128)[None, :]
        row = thread // 32 * 16 + thread % 32 // 4 + i // per % 2 * 8
        column = (i // per // 2 * 4 + thread % 4) * per + i % per
        parts = words.reshape(len(words), 4, 128).view(f"u{size}").reshape(-1, 4, 128, per)
        out = np.zeros((len(words), 64, depth), f"u{size}")
        out[:, row, column] = parts.swapaxes(2, 3).reshape(len(words), -1, 128)
        return out

    left = shared(a, 64, depth) if form.shared else registers(a, form.a)
    right = shared(b, form.n, depth if e is None else 2 * depth)
    if form.a == "b1":
        left, right = (np.unpackbits(x, axis=2, bitorder="little") for x in (left, right))
    per = 2 if form.d == "f16" else 1
    i, thread = np.arange(form.n // 2)[:, None], np.arange(128)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8
    column = i // 4 * 8 + thread % 4 * 2 + i % 2
    addend = np.zeros((len(a), 64, form.n), np.uint32)
    if add:
        held = c if per == 1 else model.split("f16", c.reshape(len(c), -1, 4, 32).swapaxes(1, 2)
                                              .reshape(-1, c.shape[1], 32))  # fmt: skip
        if per == 2:
            held = held.reshape(len(c), 4, -1, 32).swapaxes(1, 2).reshape(len(c), -1, 128)
        addend[:, row, column] = held
    right = right.swapaxes(1, 2)
    if e is None:
        right = right[:, None]
    else:  # each warp has sixteen rows
        rows = [model.chosen(form, e[:, None, w : w + 32]) for w in range(0, 128, 32)]
        right = right[np.arange(len(e))[:, None, None], np.concatenate(rows, 1)]
    d = model.product(form, left, right, addend)
    out = d[:, row, column].astype(np.uint32)
    return out if per == 1 else out[:, 0::2] | out[:, 1::2] << 16


@pytest.mark.parametrize("form", [*matrix.GROUP, *matrix.GROUP_SPARSE], ids=record_matrix.named)
def test_wgmma(form, load):
    module = load(matrix.header() + matrix.group_kernel(form))
    cases = {8: CASES, 24: 4}.get(form.n, 1)
    inputs = record_matrix.group_inputs(form, cases, 5)
    got = record_matrix.run_group(module, form, *inputs)
    assert_same(form, got, group_expected(form, *inputs))


@pytest.mark.parametrize("operand", ["a", "b"])
def test_layouts_of_shared_memory(operand, driver):
    """The same against the manual's canonical layouts."""
    got = record_matrix.probe_group(driver, operand)
    for (descriptor, transposed, offset), places in zip(record_matrix.PROBES, got, strict=True):
        at = model.shared_place(descriptor + (offset >> 4), 64, 16, 2, bool(transposed))
        assert (places == at.T // 2).all(), hex(descriptor)


@pytest.mark.parametrize("add", [0, 1])
def test_wgmma_negates_and_clears(add, load):
    form = matrix.Group(24, 16, "f32", "f16", "f16", True, negate=(-1, 1))
    a, b, c = record_matrix.group_inputs(form, 2, 6)
    module = load(matrix.header() + matrix.group_kernel(form))
    got = record_matrix.run_group(module, form, a, b, c, add=add)
    assert_same(form, got, group_expected(form, a ^ np.uint32(0x80008000), b, c, add=add))


def test_a_wait_for_wgmma_waits_for_the_warpgroup(load, driver):
    """The first warp overwrites the factors after its wait, without a barrier."""
    driver.skip_on_hardware("no GPU has run it yet")
    registers = ", ".join(f"%f{n}" for n in range(4))
    text = f""".version 8.0\n.target sm_90a\n.address_size 64
    .visible .entry k(.param .u64 pout) {{
    .shared .align 1024 .b8 factors[4096]; .reg .b64 %rd<6>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    .reg .pred %p<2>;
    mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 5; mov.u32 %r2, factors; add.u32 %r1, %r2, %r1;
    {"".join(f"st.shared.u32 [%r1+{4 * n}], 0x3c003c00;" for n in range(8))}
    {"".join(f"mov.f32 %f{n}, 0f00000000;" for n in range(4))}
    fence.proxy.async.shared::cta; bar.sync 0;
    cvt.u64.u32 %rd0, %r2; shr.u64 %rd0, %rd0, 4; and.b64 %rd0, %rd0, 0x3fff;
    or.b64 %rd0, %rd0, {8 << 16 | 16 << 32};
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{registers}}}, %rd0, %rd0, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    setp.ge.u32 %p0, %r0, 32; @%p0 bra STORE; shl.b32 %r1, %r0, 7; add.u32 %r1, %r2, %r1;
    {"".join(f"st.shared.u32 [%r1+{4 * n}], 0;" for n in range(32))}
    STORE: ld.param.u64 %rd1, [pout]; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
    st.global.f32 [%rd1], %f0; ret; }}"""
    out = np.zeros(128, np.float32)
    load(text).run("k", 1, 128, [out])
    np.testing.assert_array_equal(out, 16)
