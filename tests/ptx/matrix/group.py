"""`wgmma`: products of a warpgroup, of matrices in registers and in shared memory."""

from dataclasses import dataclass

from .form import BITS, REGISTER


@dataclass(frozen=True)
class Group:
    """One opcode of wgmma.mma_async: 128 lanes, m64; B, and where `shared` A, in shared memory."""

    n: int
    k: int
    d: str
    a: str
    b: str
    shared: bool = True
    tail: str = ""  # text after the types
    front: str = ""  # before them
    negate: tuple = (1, 1)
    transpose: tuple = (0, 0)
    selector: int | None = None  # selector of a sparse matrix A
    m: int = 64

    @property
    def opcode(self):
        sparse = ".sp" if self.selector is not None else ""
        return (
            f"wgmma.mma_async{sparse}.sync.aligned.m64n{self.n}k{self.k}{self.front}"
            f".{self.d}.{self.a}.{self.b}{self.tail}"
        )

    def registers(self, operand):
        return 4 if operand == "a" else self.n * BITS[self.d] // 64

    @property
    def immediates(self):
        if self.d == "s32":
            return ""
        out = "".join(f", {x}" for x in self.negate)
        if self.a in ("f16", "bf16"):
            out += "".join(f", {x}" for x in self.transpose[0 if self.shared else 1 :])
        return out


def group_kernel(form, name="k", a_bytes=2048, b_bytes=8192):
    """PTX of one product by a warpgroup. Its parameters are:

    - A: words of shared memory, or registers [register, thread]
    - B: words of shared memory
    - c and d: registers [register, thread]
    - both descriptors without their addresses
    - offsets from the start of A and of B
    - whether to add to D
    - of a sparse A, the metadata of each thread
    """
    count = form.registers("d")
    kind = REGISTER.get(form.d, "b32")
    d = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    a = "{%a0, %a1, %a2, %a3}" if not form.shared else "%da"
    sparse = "" if form.selector is None else f", %e, {form.selector}"
    last = ", .param .u64 pe" if sparse else ""
    copies = []
    for o, size in (("a", a_bytes), ("b", b_bytes)):
        if o == "a" and not form.shared:
            continue
        copies += [
            f"ld.param.u64 %p{o}, [p{o}]; mad.wide.u32 %p{o}, %case, {size}, %p{o};",
            f"mov.u32 %s, s{o}; mov.u32 %i, %thread;",
            f"L{o}: setp.ge.u32 %q, %i, {size // 4}; @%q bra E{o};",
            f"mad.wide.u32 %x, %i, 4, %p{o}; ld.global.b32 %w, [%x];",
            "mad.lo.u32 %j, %i, 4, %s; st.shared.b32 [%j], %w;",
            f"add.u32 %i, %i, 128; bra L{o}; E{o}:",
            f"ld.param.u32 %j, [o{o}]; add.u32 %s, %s, %j; and.b32 %s, %s, 0x3ffff;"
            f" shr.u32 %s, %s, 4; cvt.u64.u32 %x, %s; ld.param.u64 %d{o}, [d{o}];"
            f" or.b64 %d{o}, %d{o}, %x;",
        ]
    if not form.shared:
        copies += [
            "ld.param.u64 %pa, [pa]; mad.wide.u32 %pa, %case, 2048, %pa;"
            " mad.wide.u32 %pa, %thread, 4, %pa;",
            *(f"ld.global.b32 %a{i}, [%pa+{512 * i}];" for i in range(4)),
        ]
    lines = [
        f".visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd,"
        " .param .u64 da, .param .u64 db, .param .u32 oa, .param .u32 ob, .param .u32 add"
        f"{last}) {{",
        f".shared .align 1024 .b8 sa[{a_bytes}]; .shared .align 1024 .b8 sb[{b_bytes}];",
        ".reg .b32 %case, %thread, %i, %j, %s, %w, %a<4>; .reg .pred %q, %add;",
        ".reg .b64 %pa, %pb, %pc, %pd, %da, %db, %x;",
        f".reg .{kind} %d<{count}>;",
        "mov.u32 %case, %ctaid.x; mov.u32 %thread, %tid.x;",
        *copies,
        f"ld.param.u64 %pc, [pc]; mad.wide.u32 %pc, %case, {count * 512}, %pc;"
        " mad.wide.u32 %pc, %thread, 4, %pc;",
        f"ld.param.u64 %pd, [pd]; mad.wide.u32 %pd, %case, {count * 512}, %pd;"
        " mad.wide.u32 %pd, %thread, 4, %pd;",
        *(f"ld.global.{kind} %d{i}, [%pc+{512 * i}];" for i in range(count)),
        *(
            [
                ".reg .b32 %e; ld.param.u64 %x, [pe]; mad.wide.u32 %x, %case, 512, %x;"
                " mad.wide.u32 %x, %thread, 4, %x; ld.global.b32 %e, [%x];"
            ]
            if sparse
            else []
        ),
        "ld.param.u32 %i, [add]; setp.ne.u32 %add, %i, 0;",
        "fence.proxy.async; bar.sync 0;",
        "wgmma.fence.sync.aligned;",
        f"{form.opcode} {d}, {a}, %db{sparse}, %add{form.immediates};",
        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        *(f"st.global.{kind} [%pd+{512 * i}], %d{i};" for i in range(count)),
        "ret; }",
    ]
    return "\n".join(lines) + "\n"


def _group():
    for shared in (True, False):
        for n in (8, 24, 256):
            for d in ("f16", "f32"):
                yield Group(n, 16, d, "f16", "f16", shared)
                for a in ("e4m3", "e5m2"):
                    for b in ("e4m3", "e5m2"):
                        yield Group(n, 32, d, a, b, shared)
            yield Group(n, 16, "f32", "bf16", "bf16", shared)
            yield Group(n, 8, "f32", "tf32", "tf32", shared)
            for a in ("s8", "u8"):
                for b in ("s8", "u8"):
                    for tail in ("", ".satfinite"):
                        yield Group(min(n, 224), 32, "s32", a, b, shared, tail)
            yield Group(n, 256, "s32", "b1", "b1", shared, ".and.popc")


def _group_sparse():
    for shared in (True, False):
        for n in (8, 24):

            def form(k, d, a, b, selector=0, tail="", shared=shared, n=n):
                return Group(n, k, d, a, b, shared, tail, selector=selector)

            for selector in (0, 1):
                for d in ("f16", "f32"):
                    yield form(32, d, "f16", "f16", selector)
                yield form(32, "f32", "bf16", "bf16", selector)
                yield form(16, "f32", "tf32", "tf32", selector)
            for a, b in (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
                for d in ("f16", "f32"):
                    yield form(64, d, a, b)
            for a, b in (("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")):
                for tail in ("", ".satfinite"):
                    yield form(64, "s32", a, b, tail=tail)


GROUP = list(_group())
GROUP_SPARSE = list(_group_sparse())
