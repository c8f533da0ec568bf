# cupola/declare/c_types.py - C and C++ types of elements; the standard library alone is imported.
"""Element types by their names in NumPy and in C."""

from __future__ import annotations

import re

# The type in generated code.
CXX = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "cupola::float16",
    "bfloat16": "cupola::bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "cupola::complex64",
    "complex128": "cupola::complex128",
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
# Types that C++ passes as structs.
STRUCTS = {"float16", "bfloat16", "complex64", "complex128"}
# Words in alphabetical order, since C allows any order. "int" is left out beside others.
_WORDS = {
    "bool": "bool",
    "char": "int8",
    "char signed": "int8",
    "char unsigned": "uint8",
    "short": "int16",
    "short signed": "int16",
    "short unsigned": "uint16",
    "int": "int32",
    "signed": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "long signed": "int64",
    "long unsigned": "uint64",
    "long long": "int64",
    "long long signed": "int64",
    "long long unsigned": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "float": "float32",
    "double": "float64",
    "__half": "float16",
    "half": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
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
KNOWN = sorted({*CXX, *(words for words in _WORDS if " " not in words)} - {"signed"})


def element_of(text: str) -> str | None:
    """The element type of a C type, or of a name in NumPy; None where it is another type."""
    words = text.split()
    if text in CXX:
        return text
    if text in _BY_CXX:
        return _BY_CXX[text]
    if len(words) > 1:
        words = [word for word in words if word != "int"]
    return _WORDS.get(" ".join(sorted(words)))


def spelled(text: str) -> str:
    """A C type as generated code writes it: NumPy's names become C++ types."""
    return CXX.get(text, text)


def identifier(text: str) -> str:
    """A text as a part of a name."""
    return re.sub(r"\W+", "_", text).strip("_")
