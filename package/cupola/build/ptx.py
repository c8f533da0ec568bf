# package/cupola/build/ptx.py - cut the PTX of many kernels into one text for each; join texts.
"""PTX texts of one kernel each, out of a text of many; one text out of those of many sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .error import BuildError

_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_FUNCTION = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?([\w$]+)")
_VARIABLE = re.compile(
    r"\.(?:global|const|shared)\b[^;={]*?([\w$]+)\s*(?:\[[^\]]*\]\s*)*(?:[=;]|$)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[\w$]+")
_LINKAGE = re.compile(r"\.(visible|extern|weak|common)\s+")
_HEADER = re.compile(r"\.(version|target|address_size)\b")
_LINES = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*$", re.MULTILINE)
_REGISTERS = re.compile(r"\.reg\s+\.\w+\s+%([a-z]+)<\d+>")
_NUMBERED = re.compile(r"(%[a-z]+|\$L__BB)(\d+(?:_\d+)?)\b")


def cut(text: str) -> dict[str, str]:
    """The text of each kernel by its name, with what it refers to and nothing else.

    A driver that compiles PTX, and the CPU device which interprets it, read a module as a whole:
    of small ones the first launch does not wait for kernels that are never launched.
    """
    items = [(_name(item), item) for item in _items(_COMMENT.sub("", text))]
    words: dict[str, set[str]] = {}
    for name, item in items:
        if name is not None:  # of functions, also their declarations
            words.setdefault(name, set()).update(_WORD.findall(item))
    kernels = [name for name, item in items if name and _ENTRY.search(item.partition("{")[0])]
    if not kernels:
        raise BuildError("PTX without a kernel")
    texts = {}
    for kernel in kernels:
        wanted = _reached(kernel, words)
        body = [_alike(name, item) for name, item in items if name is None or name in wanted]
        texts[kernel] = "\n".join(body) + "\n"
    return texts


def _alike(name: str | None, item: str) -> str:
    """The same with less space, and registers, labels and parameters numbered as they come.

    What kernels of one template have in common is then the same text: compressed, it is a tenth
    less.
    """
    text = re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", "\n", item)).replace(", ", ",")
    prefixes = {f"%{prefix}" for prefix in _REGISTERS.findall(text)} | {"$L__BB"}
    numbers: dict[str, dict[str, int]] = {prefix: {} for prefix in prefixes}

    def numbered(found: re.Match[str]) -> str:
        known = numbers.get(found[1])
        if known is None:
            return found[0]
        return f"{found[1].removesuffix('__BB')}{known.setdefault(found[2], len(known))}"

    return _NUMBERED.sub(numbered, text).replace(f"{name}_param_", "p")


@dataclass(frozen=True)
class _Part:
    """What a text defines or declares."""

    source: str
    name: str
    linkage: str  # "" for what is the text's own
    text: str

    @property
    def function(self) -> bool:
        return _FUNCTION.search(re.split(r"[{=]", self.text, maxsplit=1)[0]) is not None

    @property
    def defines(self) -> bool:
        return self.linkage != "extern" and ("{" in self.text or not self.function)


def join(texts: Mapping[str, str]) -> str:
    """One text of those of several sources, by their names, compiled with -rdc=true.

    As a linker would: what is a source's own keeps apart, of what is weak the first stays, and
    what is declared in one source may be defined in another.  Line numbers are left out.
    """
    heads, parts = [], []
    for source, text in texts.items():
        items = [
            item
            for item in _items(_COMMENT.sub("", _LINES.sub("", text)))
            if not item.startswith(".section")
        ]
        heads.append([item for item in items if _HEADER.match(item)])
        parts.append([_part(source, item) for item in items if not _HEADER.match(item)])
    if len({tuple(head[1:]) for head in heads}) != 1:
        raise BuildError(f"PTX for different targets can't be joined: {heads}")
    parts = _kept_apart(parts)
    body = _ordered([part for of_one in parts for part in of_one])
    version = max((head[0] for head in heads), key=_version)
    return "\n".join([version, *heads[0][1:], *body]) + "\n"


def _part(source: str, item: str) -> _Part:
    linkage = _LINKAGE.match(item)
    return _Part(source, str(_name(item)), linkage[1] if linkage else "", item)


def _kept_apart(parts: list[list[_Part]]) -> list[list[_Part]]:
    """With other names for what is a source's own, where another source has its name."""
    names = [{part.name for part in of_one} for of_one in parts]
    apart = []
    for i, of_one in enumerate(parts):
        others = set().union(*names[:i], *names[i + 1 :])
        own = {part.name for part in of_one if not part.linkage and part.name in others}
        entries = [p.name for p in of_one if p.name in own and _ENTRY.search(p.text)]
        if entries:
            raise BuildError(f"{of_one[0].source}: another source has a kernel {entries[0]}, too")

        def renamed(found: re.Match[str], i: int = i, own: set[str] = own) -> str:
            return f"{found[0]}$in{i}" if found[0] in own else found[0]

        apart.append([
            _Part(p.source, f"{p.name}$in{i}" if p.name in own else p.name, p.linkage,
                  re.sub(r"(?<![\w$%.])[\w$]+", renamed, p.text))
            for p in of_one
        ])  # fmt: skip
    return apart


def _ordered(parts: list[_Part]) -> list[str]:
    """Functions' declarations, then variables, each behind those that it names, then code.

    Of what is defined somewhere, functions are declared as they are defined, and variables are
    not declared at all: ptxas takes nothing else.
    """
    definitions = _definitions(parts)
    declared: dict[str, None] = {}
    variables: dict[str, _Part] = {}
    code = []
    for part in parts:
        chosen = definitions.get(part.name)
        if part.function and not part.defines:
            linkage = f".{chosen.linkage} " if chosen else ".extern "
            text = _LINKAGE.sub(linkage, part.text, count=1) if part.linkage else part.text
            declared.setdefault(text)
        elif part.linkage and part.defines and part is not chosen:
            pass  # weak, and there is another
        elif part.function or _ENTRY.search(part.text.partition("{")[0]):
            code.append(part.text)
        elif chosen is None or part is chosen:
            # Shared memory whose size a launch tells: all names of it are the same place.
            variables[part.name] = max(variables.get(part.name, part), part, key=_alignment)
    texts: dict[str, str] = {}

    def place(part: _Part) -> None:
        if part.name not in texts:
            texts[part.name] = ""  # one that names itself
            for word in _WORD.findall(part.text.partition("=")[2]):
                if word in variables:
                    place(variables[word])
            del texts[part.name]
            texts[part.name] = part.text

    for part in variables.values():
        place(part)
    return [*declared, *texts.values(), *code]


def _definitions(parts: list[_Part]) -> dict[str, _Part]:
    """The one definition of each name that sources share."""
    chosen: dict[str, _Part] = {}
    for part in parts:
        if not part.linkage or not part.defines:
            continue
        known = chosen.get(part.name)
        if known is None or (known.linkage == "weak" and part.linkage != "weak"):
            chosen[part.name] = part
        elif part.linkage == "visible":
            raise BuildError(f"{part.name} is defined in {known.source} and in {part.source}")
    return chosen


def _alignment(part: _Part) -> int:
    found = re.search(r"\.align\s+(\d+)", part.text)
    return int(found[1]) if found else 1


def _version(line: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", line)))


def _reached(kernel: str, words: dict[str, set[str]]) -> set[str]:
    """The names of all that a kernel refers to, and of what that refers to."""
    wanted, waiting = {kernel}, [kernel]
    while waiting:
        found = words[waiting.pop()] & (words.keys() - wanted)
        wanted |= found
        waiting += found
    return wanted


def _items(text: str) -> list[str]:
    """What stands side by side: directives up to their line's end, all else up to ; or }."""
    items: list[str] = []
    start = depth = 0
    for found in re.finditer(r"[{};\n]", text):
        mark, item = found[0], text[start : found.start()].strip()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
        if depth:
            continue
        whole = mark == ";" or (mark == "}" and "=" not in item.partition("{")[0])
        if whole or (mark == "\n" and _HEADER.match(item)):
            items.append(text[start : found.end()].strip())
            start = found.end()
    if depth or text[start:].strip():
        raise BuildError(f"PTX that ends amid something: {text[start:].strip()[:100]!r}")
    return items


def _name(item: str) -> str | None:
    """What an item defines or declares; None for what belongs to the whole text."""
    head = re.split(r"[{=]", item, maxsplit=1)[0]
    if _HEADER.match(head):
        return None
    if item.startswith(".alias"):
        raise BuildError(
            f"PTX with another name for a function ({item[:100]}), which can't be cut or joined: "
            "call the function by its own name, or compile all sources as one "
            "(relocatable = false)"
        )
    for form in (_ENTRY, _FUNCTION, _VARIABLE):
        found = form.search(head)
        if found:
            return found[1]
    raise BuildError(f"PTX with something unknown in it: {item[:100]!r}")
