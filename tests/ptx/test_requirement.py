"""The version of PTX that a text needs: never below what NVIDIA's assembler asks for."""

import re

import pytest

from cupola.exceptions import ImageError
from cupola.image.ptx_version import required as required_version

from . import chapters, manual, table
from .assembler import Assembler
from .test_manual import HEAD

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_90a")
FIRST = {"sm_75": 63, "sm_80": 70, "sm_90": 78, "sm_90a": 80}


def top(version, target):
    return f".version {version // 10}.{version % 10}\n.target {target}\n.address_size 64\n"


def module(form, target="sm_75", version=90, number=0):
    """A kernel with the form, on one line."""
    head = HEAD if "%q" in form else HEAD.replace(".reg .b128 %q<8>;", "")
    return head.replace("\n", " ").replace(" k(", f" k{number}(") + form + " }"


def below(forms, target, folder, ptxas):
    """The forms that ptxas takes at PTX 9.0 alone, or at a version above the found one."""
    assembler = Assembler(ptxas, folder, target)
    lines = [module(form, number=n) for n, form in enumerate(forms)]
    verdicts = assembler.verdicts(lines, top(90, target))
    taken = [n for n, why in enumerate(verdicts) if why is None]
    by_version = {}
    for n in taken:
        found = needed(forms[n], target)
        assert found.known, (forms[n], found)
        by_version.setdefault(max(found.needed, FIRST[target]), []).append(n)
    wrong = []
    for version, numbers in by_version.items():
        said = assembler.verdicts([lines[n] for n in numbers], top(version, target))
        # ptxas sometimes crashes at vectors of eight bytes, and says nothing ("failed").
        refused = [
            (n, why) for n, why in zip(numbers, said, strict=True) if why not in (None, "failed")
        ]
        wrong += [(version, forms[n], why) for n, why in refused]
    return len(taken), wrong


def needed(form, target="sm_75"):
    return required_version((top(90, target) + module(form)).encode())


def register(kind, number, wider=False):
    bits = {"pred": 1, "e4m3x2": 16, "e5m2x2": 16, None: 32}.get(kind)
    if bits is None:
        width, pair = re.fullmatch(r"[a-z]+(\d+)(x2)?", kind).groups()
        bits = int(width) * (2 if pair else 1)
    bits *= 2 if wider else 1
    letter = "h" if bits < 16 else {16: "h", 32: "r", 64: "d", 128: "q"}.get(bits, "r")
    letter = {"f32": "f", "f64": "g", "pred": "p"}.get(kind, letter)
    return f"%{letter}{number % 8}"


def operand(shape, number, named, kind, kind2):
    """A text that fits an operand of a row; None where such a text needs more than the row."""
    vector = named.get("vector") or named.get("vector_2_4") or named.get("vector_always")
    if shape in ("dv", "av") and vector:
        count = int(vector[1:])
        return "{" + ", ".join(register(kind, number + n) for n in range(count)) + "}"
    plain = {
        "p": "%p1", "pq": "%p1|%p2", "dp": "%r1|%p1", "w": f"%r{number % 8}", "d32": "%r1",
        "d8": "%c1", "h": "%h3", "np": "%p3", "imm": "16", "number": "0.5",
        "m": f"[%d{number % 8}]", "label": "L", "tensor": "[%d1, {%r1, %r2}]",
    }  # fmt: skip
    if shape in plain:
        return plain[shape]
    if shape in ("d", "dr", "a", "dv", "av", "address"):
        return register(kind, number)
    if shape in ("dw", "aw"):
        return register(kind, number, wider=True)
    if shape in ("a2", "ar2"):
        return register(kind2, number)
    return "" if shape in ("cc_in", "cc_out") else None


def spellings():
    """Each row with each modifier beside the first ones, and in each type."""
    for row in table.rows():
        if row.targets not in table.ON_SM_90:
            continue
        first = [None if a.optional else a.choices[0] for a in row.axes]
        picks = [first]
        for n, axis in enumerate(row.axes):
            picks += [[*first[:n], choice, *first[n + 1 :]] for choice in axis.choices]
        orders = [n for n, a in enumerate(row.axes) if a.name.endswith("_order")]
        scopes = [n for n, a in enumerate(row.axes) if a.name.startswith("scope")]
        for n in orders[:1]:  # an order goes with a scope
            for m in scopes[:1]:
                for order in row.axes[n].choices:
                    for scope in row.axes[m].choices:
                        both = list(first)
                        both[n], both[m] = order, scope
                        picks.append(both)
        for pick in picks:
            named = {a.name: choice for a, choice in zip(row.axes, pick, strict=True)}
            for kind in row.types or (None,):
                for kind2 in row.types2 or (None,):
                    front = [m for a, m in zip(row.axes, pick, strict=True) if m and not a.trailing]
                    back = [m for a, m in zip(row.axes, pick, strict=True) if m and a.trailing]
                    types = [one for one in (kind, kind2) if one]
                    opcode = ".".join([row.mnemonic, *front, *types, *back])
                    shapes = [operand(s, n, named, kind, kind2) for n, s in enumerate(row.shapes)]
                    if None in shapes:
                        continue
                    given = [one for one in shapes if one]
                    if named.get("cache_hint"):
                        given.append("%d7")
                    label = "L: " if "L" in given else ""
                    yield f"{label}{opcode} {', '.join(given)};"


@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_each_form_at_its_version(target, tmp_path, ptxas):
    taken, wrong = below(manual.FORMS, target, tmp_path, ptxas)
    assert taken > 60
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.campaign("assembles each spelling of the instruction table")
@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_each_modifier_at_its_version(target, tmp_path, ptxas):
    forms = list(dict.fromkeys(spellings()))
    taken, wrong = below(forms, target, tmp_path, ptxas)
    assert taken > len(forms) / 3
    assert not wrong, "\n".join(map(str, wrong))


def of_compilers():
    folder = table.PTX.parents[1] / "tests" / "ptx"
    # ptxas of CUDA 13 knows no target below sm_75.
    return sorted([*(folder / "triton").glob("*.ptx"), *(folder / "nvrtc").glob("*.90.ptx")])


@pytest.mark.parametrize("path", of_compilers(), ids=lambda path: path.stem)
def test_ptxas_takes_what_compilers_wrote_at_its_version(path, tmp_path, ptxas):
    text = path.read_text()
    found = required_version(text.encode())
    assert found.known and found.needed <= found.written, found
    target = re.search(r"^\.target (\w+)", text, re.MULTILINE)[1]
    version = f".version {found.needed // 10}.{found.needed % 10}"
    lowered = re.sub(r"^\.version \S+", version, text, flags=re.MULTILINE)
    said, _ = Assembler(ptxas, tmp_path, target).run(lowered)
    assert said is None, (found, said)


@pytest.mark.parametrize("section", chapters.FORMS)
def test_ptxas_takes_each_chapter_at_its_version(section, tmp_path, ptxas):
    text = chapters.FORMS[section].text()
    if Assembler(ptxas, tmp_path, "sm_90a").run(text)[0] is not None:
        return  # test_chapters has the verdicts
    found = required_version(text.encode())
    version = f".version {found.needed // 10}.{found.needed % 10}"
    said, _ = Assembler(ptxas, tmp_path, "sm_90a").run(
        re.sub(r"^\.version \S+", version, text, flags=re.MULTILINE)
    )
    assert said is None, (found, said)


@pytest.mark.parametrize(
    ("body", "version", "what"),
    [
        ("add.f32 %f1, %f2, %f3;", 63, ".target sm_75"),
        ("activemask.b32 %r1;", 63, ".target sm_75"),
        ("mbarrier.init.shared.b64 [%r1], 5;", 70, "mbarrier.init.shared.b64"),
        ("@%p1 ld.global.L2::128B.u32 %r1, [%d1];", 74, "ld.global.L2::128B.u32"),
        ("mov.u32 %r1, %clusterid.x;", 78, "%clusterid"),
        (".reg .b128 %own;", 83, ".b128"),
        ("add.u32 %r1, %r2, 1; L: fence.acquire.gpu;", 86, "fence.acquire.gpu"),
        ("L: J: .branchtargets L, M; brx.idx %r1, J; M:", 63, ".target sm_75"),
        ("T: .calltargets one, two; call (%r1), %d1, (%r2), T;", 63, ".target sm_75"),
        ("P: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;", 64, ".noreturn"),
    ],
)
def test_the_statement_that_needs_it(body, version, what):
    found = needed(body)
    assert (found.needed, found.what, found.written) == (version, what, 90)
    assert found.known and found.function == ("" if what.startswith(".target") else "k0")
    assert found.line == (2 if what.startswith(".target") else 4)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("later.u32 %r1, %r2;", "later.u32"),
        ("add.u32.later %r1, %r2, %r3;", "add.u32.later"),
        ("mov.u32 %r1, %later;", "%later"),
        (".later 5;", ".later"),
        ('.pragma "later";', '.pragma "later"'),
        ("ld.global.u32 %r1, [%d1].later;", ".later"),
    ],
)
def test_what_is_unknown_keeps_the_version(body, what):
    found = needed(body)
    assert (found.known, found.needed, found.what, found.function) == (False, 90, what, "k0")


def test_an_unknown_target_keeps_the_version():
    found = required_version(b".version 9.5\n.target sm_200\n.address_size 64\n")
    assert (found.known, found.needed, found.what) == (False, 95, ".target sm_200")


@pytest.mark.parametrize("text", [b"", b".version", b".version x\n.target sm_75", b"\x7fELF", b"{"])
def test_what_is_no_ptx(text):
    with pytest.raises(ImageError):
        required_version(text)


def test_a_function_inside_of_a_function_is_refused():
    """Without its end, the first function has no place that could be left out."""
    text = top(90, "sm_75") + ".func f() {\n.func g() { ret; }\n"
    with pytest.raises(ImageError, match="line 5: a function begins inside of a function"):
        required_version(text.encode())
