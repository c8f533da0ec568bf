"""Machine code of 8-bit and 16-bit types beside the interpreter, which computes f16 in double."""

from . import test_native
from .compiler_process import run

pytestmark = test_native.COMPILED

HALF = [
    *("add.f16 {d}, {a}, {b};", "sub.f16 {d}, {a}, {b};", "mul.f16 {d}, {a}, {b};"),
    *("add.ftz.f16 {d}, {a}, {b};", "sub.sat.f16 {d}, {a}, {b};", "mul.ftz.sat.f16 {d}, {a}, {b};"),
    *("fma.rn.f16 {d}, {a}, {b}, {c};", "fma.rn.ftz.f16 {d}, {a}, {b}, {c};"),
    *("fma.rn.sat.f16 {d}, {a}, {b}, {c};", "fma.rn.relu.f16 {d}, {a}, {b}, {c};"),
    *("add.bf16 {d}, {a}, {b};", "sub.bf16 {d}, {a}, {b};", "mul.bf16 {d}, {a}, {b};"),
    *("fma.rn.bf16 {d}, {a}, {b}, {c};", "cvt.rn.f16.f32 {d}, {x};", "cvt.rn.bf16.f32 {d}, {x};"),
    *("cvt.u16.u8 {d}, {low};", "cvt.s16.s8 {d}, {low};", "cvt.u16.u32 {d}, {xi};"),
    *("cvt.rzi.u16.f32 {d}, {x};", "cvt.rzi.s16.f32 {d}, {x};"),
    *("min.s16 {d}, {a}, {b};", "max.u16 {d}, {a}, {b};", "abs.s16 {d}, {a};"),
]
WORD = [
    *("add.f16x2 {d}, {ab}, {ca};", "mul.f16x2 {d}, {ab}, {ca};", "sub.ftz.f16x2 {d}, {ab}, {ca};"),
    *("fma.rn.f16x2 {d}, {ab}, {ca}, {bc};", "fma.rn.relu.f16x2 {d}, {ab}, {ca}, {bc};"),
    *("fma.rn.ftz.sat.f16x2 {d}, {ab}, {ca}, {bc};", "add.bf16x2 {d}, {ab}, {ca};"),
    *("cvt.rzi.u32.f32 {d}, {x};", "cvt.rzi.s32.f32 {d}, {x};"),
    *("cvt.f32.f16 {d}, {a};", "cvt.ftz.f32.f16 {d}, {a};", "cvt.f32.bf16 {d}, {a};"),
    *("cvt.u32.u8 {d}, {low};", "cvt.s32.s8 {d}, {low};", "cvt.s32.s16 {d}, {a};"),
    *("cvt.rn.f32.u8 {d}, {low};", "cvt.rn.f32.s16 {d}, {a};", "mul.wide.s16 {d}, {a}, {b};"),
    *(
        "mad.wide.u16 {d}, {a}, {b}, {xi};",
        "mov.b32 {d}, {{{c}, {a}}};",
        "mov.b32 {d}, {{0, {a}}};",
    ),
    *(
        "mov.b32 {{{low}, {t}}}, {xi}; cvt.u32.u16 {d}, {t};",
        "cvt.u8.u32 {low}, {xi}; cvt.u32.u8 {d}, {low};",
        "cvt.rzi.u8.f32 {low}, {x}; cvt.u32.u8 {d}, {low};",
        "cvt.rzi.s8.f32 {low}, {x}; cvt.s32.s8 {d}, {low};",
        "cvt.f32.f16 {y}, {a}; add.f32 {y}, {y}, {x};"
        "cvt.rn.f16.f32 {t}, {y}; cvt.u32.u16 {d}, {t};",
    ),
]


def kernel(name, fill, skip):
    """It stores a result of each statement. `skip`: of every third thread the old values."""
    names = {
        "a": "%a",
        "b": "%b",
        "c": "%c",
        "x": "%x",
        "xi": "%xi",
        "low": "%low",
        "t": "%t",
        "y": "%y",
    }
    names |= {"ab": "%ab", "bc": "%bc", "ca": "%ca"}
    made, stores = "", ""
    for number, text in enumerate(HALF):
        made += text.format(d=f"%h{number}", **names)
        stores += f"st.global.b16 [%out+{2 * fill * number}], %h{number};"
    base = 2 * fill * len(HALF)
    for number, text in enumerate(WORD):
        made += text.format(d=f"%w{number}", **names)
        stores += (
            f"add.s64 %to, %out, %off; st.global.b32 [%to+{base + 4 * fill * number}], %w{number};"
        )
    zeros = "".join(f"mov.b16 %h{n}, 7;" for n in range(len(HALF)))
    zeros += "".join(f"mov.b32 %w{n}, 7;" for n in range(len(WORD)))
    branch = "rem.u32 %r1, %i, 3; setp.eq.u32 %q, %r1, 0; @%q bra SKIP;" if skip else ""
    return f"""
        .visible .entry {name}(.param .u64 in, .param .u64 out, .param .u32 count) {{
        .reg .b16 %h<{len(HALF)}>, %a, %b, %c, %low, %t; .reg .b32 %w<{len(WORD)}>, %ab, %bc, %ca;
        .reg .b32 %r<9>, %i, %xi; .reg .f32 %x, %y; .reg .b64 %in, %out, %off, %to;
        .reg .pred %p, %q;
        mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
        mad.lo.u32 %i, %r0, %r1, %r2;
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %r3, [count];
        setp.ge.u32 %p, %i, %r3; @%p bra END;
        mul.wide.u32 %off, %i, 2; add.s64 %in, %in, %off; add.s64 %out, %out, %off;
        ld.global.u16 %a, [%in]; ld.global.u16 %b, [%in+{2 * fill}];
        ld.global.u16 %c, [%in+{4 * fill}];
        mul.wide.u32 %to, %i, 2; add.s64 %to, %in, %to; ld.global.u32 %xi, [%to+{6 * fill}];
        mov.b32 %x, %xi; mov.b32 %ab, {{%a, %b}}; mov.b32 %bc, {{%b, %c}}; mov.b32 %ca, {{%c, %a}};
        ld.global.u8 %low, [%in]; {zeros if skip else ""} {branch} {made}
        SKIP: {stores} END: ret; }}
    """


PROGRAM = """
    import hashlib
    n = {count}
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(0, 1 << 16, n, np.uint16) for _ in range(3))
    a[: 1 << 16] = np.arange(1 << 16)
    # In every second triple, c is close to -a * b, or far below: the sum lies between two halves.
    product = (a.view(np.float16).astype(np.float32) * b.view(np.float16)).astype(np.float16)
    close = (product.view(np.uint16) ^ 0x8000) + rng.integers(-3, 4, n).astype(np.uint16)
    far = close - (rng.integers(8, 14, n) << 10).astype(np.uint16)
    c[::4], c[2::4] = close[::4], far[2::4]
    b[1::8] = c[1::8] + 1
    x = rng.integers(0, 1 << 32, n, np.uint32)
    # Ties of f16 and bf16, and their neighbours.
    x[::4] = (x[::4] & 0xffffe000 | 0x1000) + rng.integers(-1, 2, x[::4].size).astype(np.uint32)
    x[1::4] = (x[1::4] & 0xffff0000 | 0x8000) + rng.integers(-1, 2, x[1::4].size).astype(np.uint32)
    x[2::4] = (x[2::4] & 0x87ffffff) + 0x33000000  # about the range of f16
    x[3::4] = rng.uniform(-70000, 70000, x[3::4].size).astype(np.float32).view(np.uint32)
    x[3::8] = rng.uniform(-300, 300, x[3::8].size).astype(np.float32).view(np.uint32)
    x[:8] = 0x7f800000, 0xff800000, 0x7fc12345, 0xff812345, 0x80000000, 1, 0x477ff000, 0x7f7fffff
    given = np.concatenate([each.view(np.uint16) for each in (a, b, c, x)])
    module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/narrow.ptx").read())
    for name in "all_lanes", "some_lanes":
        out = np.zeros(n * {sizes}, np.uint16)
        # The last warp and the last block are not full.
        module.run(name, (n + 255) // 256, 256, [given, out, np.uint32(n - 45)])
        for k in range({halves} + {words}):
            begin = n * (k if k < {halves} else 2 * k - {halves})
            result = out[begin : begin + n * (1 + (k >= {halves}))]
            print(name, k, hashlib.sha256(result).hexdigest())
"""


def test_machine_code_rounds_as_the_interpreter(tmp_path):
    count = 1 << 19
    text = ".version 8.1\n.target sm_90\n.address_size 64\n"
    text += kernel("all_lanes", count, False) + kernel("some_lanes", count, True)
    (tmp_path / "narrow.ptx").write_text(text)
    sizes = dict(halves=len(HALF), words=len(WORD), sizes=len(HALF) + 2 * len(WORD), count=count)
    program = PROGRAM.format(**sizes)
    expected, made = (run(program, mode, tmp_path) for mode in ("interpret", "compile"))
    texts = [*HALF, *WORD]
    assert len(expected) == 2 * len(texts)
    wrong = [
        (*line.split()[:1], texts[int(line.split()[1])])
        for line, other in zip(expected, made, strict=True)
        if line != other
    ]
    assert not wrong


def test_a_register_that_is_written_twice_does_not_end_a_batch(tmp_path):
    """nvcc's `ld.u8` into a wider register becomes a load and a conversion of one temporary."""
    text = """.version 8.1\n.target sm_90\n.address_size 64
        .visible .entry sums(.param .u64 in, .param .u64 out) {
        .reg .b32 %r<5>; .reg .b64 %in, %out, %off, %a, %b;
        ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x;
        cvt.u64.u32 %off, %r0; add.s64 %a, %in, %off; add.s64 %b, %out, %off;
        ld.global.u8 %r1, [%a]; ld.global.u8 %r2, [%a+1]; add.u32 %r3, %r1, %r2;
        mov.b32 %r4, %r3; st.global.u8 [%b], %r4; ret; }
    """
    (tmp_path / "sums.ptx").write_text(text)
    program = """
        module = driver.load(open(os.environ["CUPOLA_CACHE_DIR"] + "/sums.ptx").read())
        driver.library.cupola_cpu_printed.restype = ctypes.c_char_p
        printed = driver.library.cupola_cpu_printed(module.function("sums")).decode()
        print("BlockBatch" in printed)
    """
    assert run(program, "interpret", tmp_path) == ["True"]
