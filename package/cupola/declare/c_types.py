# cupola/declare/c_types.py - C and C++ types of elements; the standard library alone is imported.
"""Element types by their names in NumPy and in C."""

from __future__ import annotations

import re

from .element_types import ALIASES, C_TYPES, ELEMENT_TYPES

# The type in generated code. Structs of cupola/makers.cuh stand for numbers that C++ lacks.
STRUCTS = {"float16", "bfloat16", "complex64", "complex128"}
CXX = {
    name: f"cupola::{name}" if name in STRUCTS else C_TYPES[name][0]
    for name in ELEMENT_TYPES
    if name in C_TYPES or name in STRUCTS
}
# Lines that a source with such an element needs before the header.
INCLUDES = {
    "float16": "#include <cuda_fp16.h>\n"
    "namespace cupola {\n"
    "template <class> struct SmallFloat; using float16 = SmallFloat<__half>;\n"
    "}\n",
    "bfloat16": "#include <cuda_bf16.h>\n"
    "namespace cupola {\n"
    "template <class> struct SmallFloat; using bfloat16 = SmallFloat<__nv_bfloat16>;\n"
    "}\n",
}
_BY_CXX = {text: name for name, text in CXX.items()}
_OF_INTEGERS = {"int", "long", "short", "signed", "unsigned"}


def _words(text: str) -> str:
    """A type's words in alphabetical order, since C allows any order, without needless ones."""
    words = sorted(text.split())
    for needless in ("int", "signed"):
        if len(words) > 1 and needless in words and _OF_INTEGERS.issuperset(words):
            words.remove(needless)
    return "int" if words == ["signed"] else " ".join(words)


_WORDS = {_words(c_type): name for name, several in C_TYPES.items() for c_type in several}
_WORDS.update(ALIASES)
# Keywords of C++20 and macros of cupola/makers.cuh, which name no parameter and no struct.
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local
throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
xor xor_eq INFINITY NAN
"""
WORDS = frozenset(_KEYWORDS.split())
KNOWN = sorted({*CXX, *(words for words in _WORDS if " " not in words)})


def element_of(text: str) -> str | None:
    """The element type of a C type, or of a name in NumPy; None where it is another type."""
    if text in CXX:
        return text
    return _BY_CXX.get(text) or _WORDS.get(_words(text))


def spelled(text: str) -> str:
    """A C type as generated code writes it: NumPy's names become C++ types."""
    return CXX.get(text, text)


def identifier(text: str) -> str:
    """A text as a part of a name."""
    return re.sub(r"\W+", "_", text).strip("_")
