"""The statements of libcu++'s cuda::ptx, read from its headers: each `asm` with registers.

A header has, for each function, a comment with the first version of PTX and the targets, and the
text of the `asm` statement with the kinds of its operands.
"""

import re
from dataclasses import dataclass

# Kinds of operands, and registers of them.
REGISTERS = {"r": "%r", "l": "%d", "h": "%h", "f": "%f", "d": "%g", "q": "%q"}
DECLARED = """.reg .b32 %r<300>; .reg .b64 %d<300>; .reg .b16 %h<300>; .reg .f32 %f<300>;
.reg .f64 %g<300>; .reg .b128 %q<20>; """.replace("\n", " ")
# Numbers that a statement needs where others take 0: the length of a tensor map or a cache line,
# a count of registers, a distance of columns.
NUMBERS = {
    "tensormap.cp_fenceproxy": "128", "fence.proxy.tensormap": "128", "setmaxnreg": "24",
    "tcgen05.ld": "16", "tcgen05.st": "16",
}  # fmt: skip
COMMENT = re.compile(r"/\*\n(//.*?)\*/(.*?)(?=\n/\*\n//|\Z)", re.S)
STATEMENT = re.compile(r"\basm(?: volatile)?\s*\((.*?)\);\n", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Statement:
    file: str
    version: int  # 86 for 8.6
    targets: tuple  # "SM_90", "SM_100a"
    text: str


def _fields(code):
    """The text of an asm statement, and its outputs and inputs as (kind, expression)."""
    code, text = code.strip(), ""
    while found := LITERAL.match(code):
        text, code = text + found[1], code[found.end() :].lstrip()
    operands = re.findall(r'"([=+]?\w)"\s*\(((?:[^()"]|\([^()]*\))*)', code)
    return text.encode().decode("unicode_escape"), operands


def _statement(code):
    text, operands = _fields(code)
    text = re.sub(r"\s*//[^\n]*", "", text)
    number = next((n for start, n in NUMBERS.items() if start in text), "0")
    for n in reversed(range(len(operands))):
        kind = operands[n][0].lstrip("=+")
        register = number if kind == "n" else f"{REGISTERS[kind]}{n}"
        text = re.sub(rf"%{n}(?!\d)", register.replace("\\", ""), text)
    return " ".join(text.replace("%%", "%").split())


def statements(folder):
    """The statements of a folder of headers."""
    for path in sorted(folder.glob("*.h")):
        for found in COMMENT.finditer(path.read_text()):
            comment = " ".join(found[1].replace("//", " ").split())
            of = re.search(r"PTX ISA (\d+), ((?:SM_\w+(?:, )?)+)", comment)
            if not of:
                continue
            version, targets = int(of[1]), tuple(of[2].strip(", ").split(", "))
            for each in STATEMENT.finditer(found[2]):
                text = _statement(each[1])
                if not text:
                    raise ValueError(f"{path}: an asm statement that is not understood: {each[0]}")
                yield Statement(path.stem, version, targets, text)


def kernel(number, text):
    return f".visible .entry k{number}() {{ {DECLARED}{text} ret; }}"
