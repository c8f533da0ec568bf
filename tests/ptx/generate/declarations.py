# ruff: noqa: E501 - PTX text and tables of it are wide
"""Declarations: variables, registers, parameters, functions, prototypes, aliases, initialisers and
operands that name them, most of them right and some not. The same for the same number.

A form is a line of PTX with axes in braces. An axis is a list of alternatives; the first one is the
default. ``$`` makes a name unique to the case.
"""

import random
import re
from collections import namedtuple

Case = namedtuple("Case", "form chosen text")

FUNDAMENTAL = [
    ".u32",
    ".u8",
    ".u16",
    ".u64",
    ".s8",
    ".s16",
    ".s32",
    ".s64",
    ".b8",
    ".b16",
    ".b32",
    ".b64",
    ".b128",
    ".f16",
    ".f16x2",
    ".f32",
    ".f64",
]
OTHERS = [
    ".pred",
    ".bf16",
    ".bf16x2",
    ".tf32",
    ".e4m3",
    ".e5m2x2",
    ".u16x2",
    ".texref",
    ".samplerref",
    ".surfref",
    ".u128",
]
ALIGN = [
    "",
    ".align 1",
    ".align 2",
    ".align 4",
    ".align 8",
    ".align 16",
    ".align 64",
    ".align 128",
    ".align 256",
    ".align 8192",
    ".align 16384",
    ".align 0",
    ".align 3",
    ".align 4U",
    ".align WARP_SZ",
]
VECTOR = ["", ".v2", ".v4", ".v3", ".v8"]
ARRAY = [
    "",
    "[4]",
    "[2][3]",
    "[]",
    "[0]",
    "[][2]",
    "[2][0]",
    "[2][]",
    "[2][2][2]",
    "<4>",
    "<0>",
    "[WARP_SZ]",
    "[4U]",
    "[0x4]",
    "[2+2]",
    "[-1]",
    "<4>[2]",
    "[1][1][1][1][1][1][1][1][1][1]",
]
SOURCES = [
    "1",
    "-1",
    "300",
    "1.5",
    "0f3f800000",
    "0d3ff8000000000000",
    "0xffffffffffffffff",
    "(1 + 2) * 4",
    "WARP_SZ",
    "g$",
    "g$+4",
    "generic(g$)",
    "generic(g$)+4",
    "0xff(g$)",
    "0xff00(generic(g$)+2)",
    "f$",
    "k$",
    "l$",
    "s$",
    "c$",
    "generic(c$)",
    "mask(g$)",
    "3 > 2 ? 7 : 8",
    "1 == 1",
    "~1",
    "!1",
    "(.s64)5",
    "2.0 + 1.5",
    "1 / 2",
    "5 % 3",
]
INITIAL = [
    "",
    " = 1",
    " = {1}",
    " = {1, 2}",
    " = {1, 2, 3, 4}",
    " = {{1}, {2, 3}}",
    " = {{1, 2}, {3}}",
    " = {{1, 2}, 3, 4}",
    " = {1, {2, 3}}",
    " = {}",
    " = {{}, {1}}",
    " = {{1, 2, 3}, {4, 5, 6}}",
    " = {{1, 2, 3, 4}}",
    " = {{1, 2}, {3, 4}, {5, 6}}",
    " = {{{1}, {2, 3}}, {{4}}}",
    " = {1,}",
    " = {1.0, 2.0}",
    " = {{1, 2}}",
    " = {1, 2, 3, 4, 5}",
]
LINKAGE = [
    "",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".visible .weak",
    ".visible .visible",
    ".extern .weak",
]
POINTER = [
    "",
    ".ptr",
    ".ptr .global",
    ".ptr .shared .align 8",
    ".ptr .const .align 3",
    ".ptr .align 16",
    ".ptr .local",
    ".ptr .param",
    ".ptr .generic",
]
PARAMETER = [
    ".param .u32 a",
    ".param .u64 a",
    ".param .b8 a[4]",
    ".param .align 8 .b8 a[16]",
    ".reg .u32 a",
    ".reg .pred a",
    ".param .f32 a",
    ".param .b128 a",
    ".param .v2 .u32 a",
    ".reg .v4 .f32 a",
    ".param .b8 a[]",
    ".param .align 16 .b8 a[]",
    ".param .b32 a[2]",
    ".param .u8 a",
    ".reg .u16 a",
    ".param .texref a",
    ".local .u32 a",
    ".reg .u8 a",
    ".param .pred a",
    ".shared .u32 a",
]
MORE = [
    "",
    ", .param .u32 b",
    ", .reg .f64 b",
    ", .param .b8 b[]",
    ", .param .u32 a",
    ", .param .align 128 .b8 b[8]",
]
DIRECTIVE = [
    "",
    ".noreturn",
    ".maxntid 32",
    ".maxntid 4, 4, 4",
    ".reqntid 32",
    ".reqntid 8, 8",
    ".maxnreg 32",
    ".minnctapersm 2",
    ".maxntid 32 .minnctapersm 2",
    ".maxnctapersm 2",
    '.pragma "nounroll";',
    ".maxntid 0",
    ".maxntid 32, 2, 2, 2",
    ".maxnreg 0",
    ".reqntid 32 .maxntid 32",
    ".explicitcluster",
    ".explicitcluster .reqnctapercluster 2",
    ".reqnctapercluster 2, 2",
    ".maxclusterrank 4",
    ".maxclusterrank 4 .explicitcluster",
    ".abi_preserve 8",
    ".abi_preserve_control 2",
    ".unified",
    ".maxntid",
    ".maxntid 2000",
    ".reqntid 1024, 2",
    ".minnctapersm 2 .maxntid 32",
    ".blocksareclusters",
    ".reqntid 32 .reqnctapercluster 2 .blocksareclusters",
]

AXES = {
    "linkage": LINKAGE,
    "space": [".global", ".const", ".shared", ".local", ".param", ".reg", ".tex", ".sreg", ""],
    "attribute": ["", ".attribute(.managed)", ".attribute(.unified(1, 2))", ".attribute()", ".attribute(.managed, .managed)"],
    "align": ALIGN,
    "vector": VECTOR,
    "type": FUNDAMENTAL + OTHERS,
    "array": ARRAY,
    "initial": INITIAL,
    "another": ["", ", y$", ", y$[2]", ", y$<2>", ", x$"],
    "own": [".local", ".param", ".shared", ".global", ".const", ".reg", ".tex"],
    "register": ["x", "x<4>", "%x", "x, y", "x<4>, y", "x<2>, x<3>", "x, x", "x[4]", "%x<4>, x<4>", "x<0>"],
    "pointer": POINTER,
    "word": [".u64", ".u32", ".b64", ".s64", ".f64", ".b8", ".b32"],
    "parameter": ["", *PARAMETER],
    "another_parameter": MORE,
    "result": ["", *(f"({p})" for p in PARAMETER), "(.reg .u32 a, .reg .f64 b)", "(.param .u32 a, .param .u32 b)", "()"],
    "kind": [".func", ".entry"],
    "directive": DIRECTIVE,
    "body": ["{ ret; }", ";", "{ }", "{ ret }"],
    "source": SOURCES,
    "value_space": [".global", ".const"],
    "pointee": ["", "[2]", "[3]"],
    "to": ["f$", "g$", "k$", "v$", "u$"],
    "from": ["g$", "f$", "u$"],
    "held": [".global .u32 g$[4];", ".shared .u32 g$[4];", ".const .u32 g$[4];", ".func g$() { ret; }", ".global .u32 g$;", ".extern .shared .u32 g$[];", ".global .texref g$;"],
    "operation": ["mov.u64 %d1,", "add.u64 %d1, %d2,", "mul.lo.u64 %d1, %d2,", "add.u32 %r1, %r2,", "mov.u32 %r1,", "and.b64 %d1, %d2,", "cvta.global.u64 %d1,", "cvta.shared.u64 %d1,", "sub.s64 %d1, %d2,", "setp.eq.u64 %p1, %d2,", "mov.b64 %d1,", "cvta.to.global.u64 %d1,", "add.u16 %h1, %h1,", "mov.u16 %h1,", "add.f64 %g1, %g1,", "cvt.u32.u64 %r1,", "st.global.u64 [%d1],"],
    "operand": ["g$", "g$+8", "g$-8", "g$+-8", "g$+(4+4)", "8+g$", "g$+g$", "g$[1]", "g$[%r1]", "g$[%d1 + 1]", "g$[-1]", "g$[4]", "g$[1]+4", "-g$", "(g$)", "g$+4, 5"],
    "address": ["[g$]", "[g$+4]", "[g$-4]", "[g$+-4]", "[%d1]", "[%d1+4]", "[%d1-4]", "[%r1]", "[%r1+4]", "[8]", "[0x10]", "[g$+1+2+1]", "[%d1+%d2]", "[4+g$]", "[g$+g$]", "[%h1]", "[%f1]", "g$", "[]", "[g$[1]]", "g$[1]", "g$[%r1]", "g$[%r1+1]", "[8+8]", "[-8]", "[%d1+0x10]", "[%d1+WARP_SZ]", "[WARP_SZ]"],
    "load": ["ld.global.u32 %r2,", "ld.shared.u32 %r2,", "ld.const.u32 %r2,", "ld.u32 %r2,", "ld.local.u32 %r2,", "ld.param.u32 %r2,"],
    "first": [".extern .global .u32 x$;", ".extern .global .u32 x$[4];", ".extern .global .u32 x$[];", ".extern .shared .u32 x$[];", ".func x$();", ".extern .func x$();", ".extern .func (.param .u32 a) x$(.param .u32 b);", ".func x$(.param .b8 a[]);", ".global .u32 x$;", ".entry x$();", ".visible .func x$();", ".weak .global .u32 x$;", ".extern .const .u32 x$;", ".common .global .u32 x$;"],
    "second": [".visible .global .u32 x$;", ".global .u32 x$;", ".visible .global .u32 x$[4];", ".visible .global .u64 x$;", ".visible .global .f32 x$;", ".visible .global .s32 x$;", ".extern .global .u32 x$;", ".extern .shared .u32 x$[];", ".shared .u32 x$[4];", ".func x$() { ret; }", ".visible .func x$() { ret; }", ".weak .func x$() { ret; }", ".func x$(.param .u32 a) { ret; }", ".func (.param .u32 a) x$(.param .u32 c) { ret; }", ".visible .func (.param .u32 a) x$(.param .u32 c) { ret; }", ".func x$(.param .b8 q[]) { ret; }", ".entry x$() { ret; }", ".visible .entry x$() { ret; }", ".const .u32 x$ = 4;", ".visible .const .u32 x$ = 4;", ".visible .global .align 16 .u32 x$;", ".common .global .u32 x$;", ".visible .global .u32 x$[2];", ".func x$(.param .b8 q[4]) { ret; }"],
    "actual": [".param .u32 t; call f$, (t);", "call f$, (5);", "call f$, (%r1);", "call f$, (%d1);", "call f$, (%f1);", "call f$, (1.0);", ".param .b8 t[4]; call f$, (t);", ".param .align 8 .b8 t[16]; call f$, (t);", ".param .u64 t; call f$, (t);", ".param .b128 t; call f$, (t);", ".param .u8 t; call f$, (t);", "call f$, (%h1);", "call f$, (%p1);", ".param .f32 t; call f$, (t);", ".param .v2 .u32 t; call f$, (t);", ".param .b32 t[2]; call f$, (t);", "call f$, (_);", "call f$;", "call f$, ();", "call f$, (%r1, %r2);", "call.uni f$, (%r1);", "call (%r1), f$, (%r1);", "call f$, (1);", ".param .align 4 .b8 t[4]; call f$, (t);", ".param .align 16 .b8 t[16]; call f$, (t);"],
    "back": [".param .u32 t; call (t), f$;", "call (%r1), f$;", "call (%d1), f$;", "call (%f1), f$;", "call (_), f$;", "call f$;", ".param .b8 t[4]; call (t), f$;", ".param .align 8 .b8 t[16]; call (t), f$;", ".param .u64 t; call (t), f$;", "call (%p1), f$;", "call (%h1), f$;", "call (5), f$;", ".param .b128 t; call (t), f$;", ".param .v2 .u32 t; call (t), f$;", "call (%r1, %g1), f$;", ".param .b32 t[2]; call (t), f$;", "call (%r1), f$, ();"],
}  # fmt: skip
REGISTERS = ".reg .b64 %d<4>; .reg .b32 %r<4>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .f64 %g<4>; .reg .pred %p<4>;"
NAMED = ".global .u32 g$; .const .u32 c$; .shared .u32 s$; .func f$() { ret; } .entry k$() { ret; }"

FORMS = {
    "a variable of a module": "{linkage} {space} {attribute} {align} {vector} {type} x${array}{initial}{another};",
    "an initialised array": ".visible .global {align} {vector} {type} x${array}{initial};",
    "an initialiser": NAMED + " {value_space} {type} x$ = {source};",
    "initialisers": NAMED + " {value_space} {word} x${pointee} = {{source}, {source2}};",
    "a variable of a kernel": ".entry e$() { {own} {attribute} {align} {vector} {type} x{array}{initial}; ret; }",
    "a variable of a function": ".func e$() { {own} {align} {vector} {type} x{array}; ret; }",
    "registers": ".func e$() { .reg {align} {vector} {type} {register}; ret; }",
    "a parameter of a kernel": ".entry e$(.param {align} {vector} {type} {pointer} a{array}) { ret; }",
    "a pointer of a kernel": ".entry e$(.param {word} {pointer} a) { ret; }",
    "a parameter of a function": ".func e$(.param {align} {vector} {type} a{array}) { ret; }",
    "a result of a function": ".func (.param {align} {vector} {type} a{array}) e$() { ret; }",
    "a register as parameter": ".func e$(.reg {align} {vector} {type} a{array}) { ret; }",
    "a function": "{linkage} {kind} {result} e$({parameter}{another_parameter}) {directive} {body}",
    "a prototype": ".func e$() { p: .callprototype {result} _ ({parameter}{another_parameter}) {directive}; ret; }",
    "an alias": ".visible .func f$() { ret; } .visible .func g$(); .entry k$() { ret; } .global .u32 v$; {linkage} .func u$({parameter}); .alias {to}, {from};",
    "an operand": "{held} .entry e$() { " + REGISTERS + " {operation} {operand}; ret; }",
    "an address": "{held} .entry e$() { " + REGISTERS + " {load} {address}; ret; }",
    "two declarations": "{first} {second}",
    "an argument": ".func f$({parameter}) { ret; } .func e$() { " + REGISTERS + " { {actual} } ret; }",
    "a result": ".func {result} f$() { ret; } .func e$() { " + REGISTERS + " { {back} } ret; }",
}  # fmt: skip
SECOND = {"source2": "source"}
# An axis that a form has more of: other than the first value half the time.
RARE = {"attribute", "another", "linkage", "align", "vector", "another_parameter", "body"}


def axes(form):
    return re.findall(r"\{(\w+)\}", FORMS[form])


def values(axis):
    return AXES[SECOND.get(axis, axis)]


def text_of(form, chosen):
    def put(found):
        return values(found[1])[chosen[found[1]]]

    return re.sub(r"\{(\w+)\}", put, FORMS[form])


def singles():
    """Each value of each axis once, the others at their first."""
    for form in FORMS:
        base = dict.fromkeys(axes(form), 0)
        yield form, base
        for axis in base:
            for n in range(1, len(values(axis))):
                yield form, {**base, axis: n}


def pairs():
    """All pairs of values of the forms with two axes, which have no other case."""
    for form in FORMS:
        if len(names := axes(form)) == 2:
            a, b = names
            for n in range(1, len(values(a))):
                for m in range(1, len(values(b))):
                    yield form, {a: n, b: m}


def mixed(count):
    for number in range(count):
        rng = random.Random(f"declaration {number}")
        form = rng.choice([f for f in FORMS if len(axes(f)) > 2])
        chosen = {}
        for axis in axes(form):
            first = rng.random() < (0.75 if axis in RARE else 0.3)
            chosen[axis] = 0 if first else rng.randrange(len(values(axis)))
        yield form, chosen


def cases(count):
    """The single ones, the pairs, and so many mixed ones; none twice."""
    seen = {}
    for source in (singles(), pairs(), mixed(count)):
        for form, chosen in source:
            text = " ".join(text_of(form, chosen).split())
            seen.setdefault(text, Case(form, chosen, text))
    return list(seen.values())


def numbered(case, number):
    return case.text.replace("$", f"_{number}")
