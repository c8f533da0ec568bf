"""The .pyi files agree with the Cython sources: names, parameters, defaults.

Compiled functions have no signatures, so the stubs repeat those of the sources, with types.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def by_module(folder, pattern):
    """The files below a folder, by their modules' names without "cupola."."""
    paths = sorted((ROOT / folder).rglob(pattern))
    return {".".join(path.relative_to(ROOT / folder).with_suffix("").parts): path for path in paths}


STUBS = by_module("package/cupola", "*.pyi")
STUBS.pop("__init__")
SOURCES = by_module("pyx/cupola", "*.pyx")
DEF = re.compile(r"^( *)(?:def|cpdef [\w ]*?) ?(\w+)\(", re.MULTILINE)
CLASS = re.compile(r"^(?:cdef )?class (\w+)(?:\((\w+)\))?", re.MULTILINE)
FIELD = re.compile(r"^    cdef (?:readonly|public) [\w.\[\]]+ (.+)$", re.MULTILINE)
# Names that only cupola itself uses, by module or class: no stub has them.
INTERNAL = {
    "kernel.take_kernel", "launch.take_launch", "module.link_images", "module.take_module",
    "creation.take_array", "graph_exec.instantiate", "arrays.reductions.dot_of", "Kernel.__call__",
}  # fmt: skip
# Methods that Python or NumPy calls, and no user by name.
PROTOCOLS = {"__cinit__", "__dealloc__", "__reduce__", "__repr__", "__str__", "__format__"}
PROTOCOLS |= {"__getbuffer__", "__signature__", "__doc__", "__init__", "__class_getitem__"}
PROTOCOLS |= {"__getattr__"}  # in a stub it would allow any name


def without_comments(text):
    return re.sub(r"(?m)#.*$", "", text)


def enclosed(text, start):
    """The text from `start` to the bracket that closes the one before it."""
    depth, at = 1, start
    while depth:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start : at - 1]


def parts(text):
    """A list of parameters, cut at its own commas."""
    found, depth, last = [], 0, ""
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            found.append(last)
            last = ""
        else:
            last += letter
    return [one.strip() for one in [*found, last] if one.strip()]


def parameters(text):
    """A parameter's kind and name, and its default's text: of a Cython function."""
    found, kind = [], ""
    for part in parts(text):
        head, _, default = (one.strip() for one in part.partition("="))
        if head in ("*", "/"):
            kind = "*" if head == "*" else kind
            continue
        name = re.findall(r"\w+", re.sub(r" not None$", "", head))[-1]
        stars = "*" * head.count("*") if head.startswith("*") else kind
        found.append((name, stars, ast.unparse(ast.parse(default, mode="eval")) if default else ""))
        kind = "*" if stars == "*" else kind
    return found


@cache
def source(module):
    """The functions of a module, its classes' bases and members, by name."""
    text = without_comments(SOURCES[module].read_text())
    functions, classes, bases = {}, {}, {}
    starts = [(m.start(), m[1], m[2]) for m in CLASS.finditer(text)]
    for _, name, base in starts:
        classes[name], bases[name] = {}, base
    for match in DEF.finditer(text):
        if re.search(r"@\w+\.setter\s*$", text[: match.start()]):
            continue
        given = parameters(enclosed(text, match.end()))
        if not match[1]:
            functions[match[2]] = given
        elif len(match[1]) == 4 and starts and starts[0][0] < match.start():
            name = [one for start, one, _ in starts if start < match.start()][-1]
            classes[name][match[2]] = (
                given[1:] if given and given[0][0] in ("self", "cls") else given
            )
    aliases = re.findall(r"^(\w+) = (\w+)$", text, re.MULTILINE)
    for name, other in aliases:
        if other in classes:
            classes[name], bases[name] = {}, other
    for match in re.finditer(r"^    (\w+) = (\w+)$", text, re.MULTILINE):
        for members in classes.values():
            if match[2] in members:
                members[match[1]] = members[match[2]]
    declared = SOURCES[module].with_suffix(".pxd")
    if declared.exists():
        text += without_comments(declared.read_text())
    for match in CLASS.finditer(text):
        block = re.split(r"\n(?=\S)", text[match.end() :], maxsplit=1)[0]
        for names in FIELD.findall(block):
            for name in re.findall(r"\w+", names):
                classes.setdefault(match[1], {}).setdefault(name, [])
        bases.setdefault(match[1], match[2])
        bases[match[1]] = bases[match[1]] or match[2]
    return functions, classes, bases


def all_members(name):
    """The members of a class of any Cython module, and those of its bases.

    The class of all arrays has the name of its base: the derived class lies in a folder.
    """
    found, seen = {}, set()
    while name is not None:
        for module in sorted(SOURCES, key=lambda one: "." not in one):
            _, classes, bases = source(module)
            if name in classes and (module, name) not in seen:
                seen.add((module, name))
                found = classes[name] | found
                name = bases[name]
                break
        else:
            break
    return found


def stub_parameters(node):
    args, found = node.args, []
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    for arg, default in zip(plain, defaults, strict=True):
        found.append((arg.arg, "", ast.unparse(default) if default else ""))
    if args.vararg:
        found.append((args.vararg.arg, "*", ""))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append((arg.arg, "*", ast.unparse(default) if default else ""))
    if args.kwarg:
        found.append((args.kwarg.arg, "**", ""))
    return found[1:] if found and found[0][0] in ("self", "cls") else found


@cache
def stub(module):
    """The functions of a stub, its classes' bases and members: a list for overloads."""
    functions, classes, bases = {}, {}, {}
    for node in ast.parse(STUBS[module].read_text()).body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(stub_parameters(node))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            members = classes.setdefault(node.name, {})
            bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    if any(ast.unparse(one).endswith(".setter") for one in each.decorator_list):
                        continue
                    members.setdefault(each.name, []).append(stub_parameters(each))
                elif isinstance(each, ast.AnnAssign):
                    members.setdefault(each.target.id, []).append([])
    return functions, classes, bases


def all_stub_members(name):
    found = {}
    for module in STUBS:
        _, classes, bases = stub(module)
        if name in classes:
            for base in bases[name]:
                found |= all_stub_members(base)
            return found | classes[name]
    return found


@cache
def is_a_base():
    """The classes of stubs from which others are derived."""
    return {one for module in STUBS for several in stub(module)[2].values() for one in several}


def difference(name, given, several):
    """The difference between a stub and the source; empty where they agree."""
    if len(several) > 1:  # overloads state some defaults only
        wrong = [one for one in several if [p[0] for p in one] != [p[0] for p in given]]
        return f"{name}: {several} for {given}" if wrong else ""
    (stated,) = several
    dunder = re.fullmatch(r".*\.__\w+__", name)
    same = len(stated) == len(given) and all(
        one[1] == other[1]
        and (dunder or one[0] == other[0])
        and (dunder or one[2] == other[2] or (other[2] and one[2] == "..."))
        for one, other in zip(stated, given, strict=True)
    )
    return "" if same else f"{name}: the stub has {stated}, the source {given}"


def differences(module):
    functions, classes, _ = source(module)
    stated, stated_classes, _ = stub(module)
    found = []
    for name in sorted({*functions, *stated}):
        if name.startswith("__") or f"{module}.{name}" in INTERNAL:
            continue
        if name not in functions or name not in stated:
            found.append(f"{name}: only the {'stub' if name in stated else 'source'} has it")
        else:
            found.append(difference(name, functions[name], stated[name]))
    for kind in stated_classes:
        if kind in is_a_base():  # its members are compared as those of derived classes
            continue
        if kind not in classes:
            found.append(f"{kind}: only the stub has it")
            continue
        there, here = all_members(kind), all_stub_members(kind)
        for name in sorted({*there, *here}):
            if name in here and name not in there and name not in ("__init__", "__hash__"):
                found.append(f"{kind}.{name}: only the stub has it")
            elif name in there and name not in here and name not in PROTOCOLS:
                if f"{kind}.{name}" in INTERNAL:
                    continue
                found.append(f"{kind}.{name}: only the source has it")
            elif name in there and name in here and name != "__init__":
                found.append(difference(f"{kind}.{name}", there[name], here[name]))
        made = there.get("__init__") or there.get("__cinit__")
        if "__init__" in here and made is not None:
            found.append(difference(f"{kind}.init", made, here["__init__"]))
    return [one for one in found if one]


@pytest.mark.parametrize("module", sorted(STUBS))
def test_a_stub_has_what_its_module_has(module):
    assert not differences(module)
