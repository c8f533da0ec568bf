# package/cupola/build/ptx.py - splits PTX by kernel, and joins PTX of several sources.
"""Splits a PTX text into one text for each kernel, and joins texts of several sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
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
_FILE = re.compile(r"^[ \t]*\.file[ \t]+(\d+)[ \t]+([^\n]*)$", re.MULTILINE)
# .loc 1 12 3, function_name $L__info_string0, inlined_at 2 5 1
_PLACE = re.compile(r"((?:^[ \t]*\.loc|\binlined_at))[ \t]+(\d+)\b", re.MULTILINE)
_LABEL = re.compile(r"(\$L__info_string)(\d+)")
_STRINGS = re.compile(r"\.section\s+\.debug_str\b")
_DEBUG = re.compile(r",\s*debug\b")
_REGISTERS = re.compile(r"\.reg\s+\.\w+\s+%([a-z]+)<\d+>")
_NUMBERED = re.compile(r"(%[a-z]+|\$L__BB)(\d+(?:_\d+)?)\b")


def cut(text: str) -> dict[str, str]:
    """The text of each kernel by name, with only the definitions that it refers to.

    A driver that compiles PTX, and the CPU device that interprets it, process a whole module. With
    small modules, a first launch does not wait for other kernels.
    """
    items = [(_name(item), item) for item in _items(_COMMENT.sub("", text))]
    words: dict[str, set[str]] = {}
    for name, item in items:
        if name is not None:  # includes declarations of functions
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
    """The text with less space, and with registers, labels and parameters renumbered in order.

    Common parts of a template's kernels then have equal text, which compresses a tenth better.
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
    """A definition or declaration of a text."""

    source: str
    name: str
    linkage: str  # "" for a local symbol
    text: str

    @property
    def function(self) -> bool:
        return _FUNCTION.search(re.split(r"[{=]", self.text, maxsplit=1)[0]) is not None

    @property
    def entry(self) -> bool:
        return _ENTRY.search(self.text.partition("{")[0]) is not None

    @property
    def defines(self) -> bool:
        return self.linkage != "extern" and ("{" in self.text or not self.function)


def join(texts: Mapping[str, str], kernels: Mapping[str, Collection[str]] | None = None) -> str:
    """Join the PTX of several sources, by name, which were compiled with -rdc=true.

    ``kernels`` has the kernels of each source that are kept; by default all kernels are. Functions
    and variables to which only other kernels refer are left out, and so are unused functions.

    It works like a linker: local symbols stay separate, the first weak definition is kept, and one
    source may define the declarations of another.  The result keeps source lines, and the names of
    functions that were inlined.  It does not keep the locations of variables, which -G writes.
    """
    heads, parts, files, strings = [], [], [], []
    for number, (source, text) in enumerate(texts.items()):
        kept = _numbered_lines(_COMMENT.sub("", text), number, files)
        items = _items(kept)
        strings += [item for item in items if _STRINGS.match(item)]
        items = [item for item in items if not item.startswith(".section")]
        # ptxas takes `.target debug` only with the sections that are left out here.
        heads.append([_DEBUG.sub("", item) for item in items if _HEADER.match(item)])
        parts.append([_part(source, item) for item in items if not _HEADER.match(item)])
    if len({tuple(head[1:]) for head in heads}) != 1:
        raise BuildError(f"PTX for different targets can't be joined: {heads}")
    parts = _kept_apart(parts if kernels is None else _selected(parts, kernels))
    body = _ordered([part for of_one in parts for part in of_one])
    version = max((head[0] for head in heads), key=_version)
    # fatbinary of CUDA 12.4 drops the first line, which is a comment in nvcc's PTX.
    return "\n".join(["//", version, *heads[0][1:], *body, *files, *strings]) + "\n"


def _numbered_lines(text: str, source: int, files: list[str]) -> str:
    """The text with its .loc lines for the numbers that its .file lines get, which are added.

    The labels of strings get the source's number, too.
    """
    numbers = {}
    for number, rest in _FILE.findall(text):
        numbers[number] = str(len(files) + 1)
        files.append(f".file {numbers[number]} {rest}")
    text = _FILE.sub("", text)
    text = _LABEL.sub(lambda found: f"{found[1]}{source}_{found[2]}", text)
    return _PLACE.sub(lambda found: f"{found[1]} {numbers.get(found[2], '0')}", text)


def _part(source: str, item: str) -> _Part:
    linkage = _LINKAGE.match(item)
    return _Part(source, str(_name(item)), linkage[1] if linkage else "", item)


def _selected(
    parts: list[list[_Part]], kernels: Mapping[str, Collection[str]]
) -> list[list[_Part]]:
    """The parts that the chosen kernels need, and the variables that no other kernel needs."""
    graph = _Graph(parts)
    entries = {
        (i, part.name): part.name in kernels.get(part.source, ())
        for i, of_one in enumerate(parts)
        for part in of_one
        if part.entry
    }
    chosen = {place for place, kept in entries.items() if kept}
    others = graph.reached(place for place, kept in entries.items() if not kept)
    variables = {
        (i, part.name)
        for i, of_one in enumerate(parts)
        for part in of_one
        if not part.function and not part.entry and (i, part.name) not in others
    }
    needed = graph.reached(chosen | variables)
    return [[p for p in of_one if (i, p.name) in needed] for i, of_one in enumerate(parts)]


class _Graph:
    """The references between parts. A part is known by the number of its text and by its name. No
    reference leads to a kernel.
    """

    def __init__(self, parts: list[list[_Part]]) -> None:
        self.words: dict[tuple[int, str], set[str]] = {}
        self.kernels: set[tuple[int, str]] = set()
        self.linked: set[tuple[int, str]] = set()  # names that another text can define
        self.defined: dict[str, set[int]] = {}  # by name: the texts that define it for other texts
        for i, of_one in enumerate(parts):
            for part in of_one:
                words = self.words.setdefault((i, part.name), set())
                words.update(_WORD.findall(part.text))
                if part.entry:
                    self.kernels.add((i, part.name))
                elif part.linkage and part.defines:
                    self.defined.setdefault(part.name, set()).add(i)
                if part.linkage and (part.linkage != "visible" or not part.defines):
                    self.linked.add((i, part.name))

    def reached(self, roots: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
        """The roots, and all parts to which they refer, directly or indirectly."""
        found = set(roots)
        waiting = list(found)
        while waiting:
            i, name = waiting.pop()
            near = {(i, word) for word in self.words[i, name] if (i, word) in self.words}
            if (i, name) in self.linked:
                # Any one of several weak definitions may be the one that is kept.
                near |= {(j, name) for j in self.defined.get(name, ())}
            near -= found | self.kernels
            waiting += near
            found |= near
        return found


def _kept_apart(parts: list[list[_Part]]) -> list[list[_Part]]:
    """Rename local symbols whose name another source uses, too."""
    names = [{part.name for part in of_one} for of_one in parts]
    apart = []
    for i, of_one in enumerate(parts):
        others = set().union(*names[:i], *names[i + 1 :])
        own = {part.name for part in of_one if not part.linkage and part.name in others}
        entries = [p.name for p in of_one if p.name in own and p.entry]
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
    """Functions' declarations, then variables, each after those that it names, then code.

    Defined functions are declared as they are defined, and defined variables are not declared:
    ptxas accepts no other form.
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
            pass  # a weak definition that another definition replaces
        elif part.function or part.entry:
            code.append(part.text)
        elif chosen is None or part is chosen:
            # Dynamic shared memory: all of its names are the same address.
            variables[part.name] = max(variables.get(part.name, part), part, key=_alignment)
    texts: dict[str, str] = {}

    def place(part: _Part) -> None:
        if part.name not in texts:
            texts[part.name] = ""  # the part refers to itself
            for word in _WORD.findall(part.text.partition("=")[2]):
                if word in variables:
                    place(variables[word])
            del texts[part.name]
            texts[part.name] = part.text

    for part in variables.values():
        place(part)
    return [*declared, *texts.values(), *code]


def _definitions(parts: list[_Part]) -> dict[str, _Part]:
    """The definition of each name that several sources define; only one of them is kept."""
    chosen: dict[str, _Part] = {}
    for part in parts:
        if not part.linkage or not part.defines:
            continue
        known = chosen.get(part.name)
        if known is None or (known.linkage == "weak" and part.linkage != "weak"):
            chosen[part.name] = part
        elif part.linkage == "visible":
            raise BuildError(
                f"{part.name} is defined in {known.source} and in {part.source}: make one of them "
                "static, or give it another name"
            )
    return chosen


def _alignment(part: _Part) -> int:
    found = re.search(r"\.align\s+(\d+)", part.text)
    return int(found[1]) if found else 1


def _version(line: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", line)))


def _reached(kernel: str, words: dict[str, set[str]]) -> set[str]:
    """All names that a kernel refers to, directly or indirectly."""
    wanted, waiting = {kernel}, [kernel]
    while waiting:
        found = words[waiting.pop()] & (words.keys() - wanted)
        wanted |= found
        waiting += found
    return wanted


def _items(text: str) -> list[str]:
    """The top-level items: directives end at the line's end, other items at ; or }."""
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
    """The name that an item defines or declares; None if it applies to the whole text."""
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
