# package/cupola/build/ptx.py - cut the PTX of many kernels into one text for each.
"""PTX texts of one kernel each, out of a text of many."""

from __future__ import annotations

import re

from .error import BuildError

_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_FUNCTION = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?([\w$]+)")
_VARIABLE = re.compile(r"\.(?:global|const|shared)\b[^;={]*?([\w$]+)\s*(?:\[[^\]]*\]\s*)*(?:[=;]|$)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[\w$]+")


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
        body = [item for name, item in items if name is None or name in wanted]
        texts[kernel] = "\n".join(body) + "\n"
    return texts


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
        if whole or (mark == "\n" and re.match(r"\.(version|target|address_size)\b", item)):
            items.append(text[start : found.end()].strip())
            start = found.end()
    if depth or text[start:].strip():
        raise BuildError(f"PTX that ends amid something: {text[start:].strip()[:100]!r}")
    return items


def _name(item: str) -> str | None:
    """What an item defines or declares; None for what belongs to the whole text."""
    head = re.split(r"[{=]", item, maxsplit=1)[0]
    if re.match(r"\.(version|target|address_size)\b", head):
        return None
    for form in (_ENTRY, _FUNCTION, _VARIABLE):
        found = form.search(head)
        if found:
            return found[1]
    raise BuildError(f"PTX with something unknown in it: {item[:100]!r}")
