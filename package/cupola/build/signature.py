# package/cupola/build/signature.py - reads kernels' parameters from debug information (DWARF).
"""Names and types of kernels' parameters, from debug information."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import Any

from ..image.cxx_names import demangle
from .error import BuildError

_QUALIFIERS = {"DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_typedef"}
_STRUCTS = {"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"}
_TYPES = {*_STRUCTS, "DW_TAG_enumeration_type"}
_POINTERS = {"DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"}
_SIGNED = {0x05, 0x06, 0x0D}  # DW_ATE_signed, signed_char, signed_fixed
_FLOAT = 0x04  # DW_ATE_float
_SCOPES = {"DW_TAG_namespace", *_STRUCTS}
_BASE = "__b_"  # nvcc's prefix for the base class in a struct
_LIBRARY_FLOATS = {"__half": "half", "__nv_bfloat16": "bfloat16"}

Description = dict[str, Any]


REQUIREMENT = "pyelftools>=0.31"  # needed only by builds


@dataclass
class Debug:
    """The contents of debug information."""

    kernels: dict[str, list[Description]]  # parameters, by the linkage name
    entries: dict[str, Any]  # of types, by name
    variables: dict[str, Description]  # by the linkage name

    def type(self, name: str) -> Description | None:
        """A type by its name or linkage name; None if it is not described."""
        entry = self.entries.get(name)
        return None if entry is None else _describe(entry)


def read_debug(image: bytes, kernels: Collection[str]) -> Debug:
    """Read the parameters of these kernels from a cubin compiled with -G.

    A parameter that a kernel never uses can be missing.
    """
    try:
        from elftools.common.exceptions import DWARFError, ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise BuildError("the manifest needs pyelftools: pip install 'cupola[build]'") from error
    found = Debug({}, {}, {})
    try:
        # pyelftools does not support these relocations, which only concern addresses.
        dwarf = ELFFile(io.BytesIO(image)).get_dwarf_info(relocate_dwarf_sections=False)
        for unit in dwarf.iter_CUs():
            for entry in unit.iter_DIEs():
                if "DW_AT_name" not in entry.attributes:
                    continue
                if entry.tag in _TYPES:
                    for name in {_name(entry), demangle(_name(entry)), _qualified(entry)}:
                        found.entries.setdefault(name, entry)
                elif entry.tag == "DW_TAG_variable" and _is_global(entry):
                    found.variables[_linkage_name(entry)] = _described_array(_type(entry))
                elif entry.tag == "DW_TAG_subprogram" and _linkage_name(entry) in kernels:
                    found.kernels[_linkage_name(entry)] = [
                        {"name": _name(child) or None, **_describe(_type(child))}
                        for child in entry.iter_children()
                        if child.tag == "DW_TAG_formal_parameter"
                    ]
        return found
    except (ELFError, DWARFError) as error:
        raise BuildError(f"debug information of the kernels cannot be read: {error}") from error


def _is_global(entry: Any) -> bool:
    parent = entry.get_parent()
    return _type(entry) is not None and (
        parent is None or parent.tag in ("DW_TAG_compile_unit", "DW_TAG_namespace")
    )


def _linkage_name(entry: Any) -> str:
    for attribute in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
        if attribute in entry.attributes:
            return _decoded(entry.attributes[attribute].value)
    return _name(entry)


def _name(entry: Any) -> str:
    attribute = entry.attributes.get("DW_AT_name")
    return "" if attribute is None else _decoded(attribute.value)


def _qualified(entry: Any) -> str:
    """A type's name, with its namespaces and classes."""
    name = demangle(_name(entry))
    around = entry.get_parent()
    while around is not None and around.tag in _SCOPES and "::" not in name.partition("<")[0]:
        name = f"{_name(around) or '(anonymous namespace)'}::{name}"
        around = around.get_parent()
    return name


def _decoded(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _type(entry: Any) -> Any:
    return entry.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in entry.attributes else None


def _unqualified(entry: Any) -> tuple[Any, bool]:
    """The type itself, and whether it is const."""
    const = False
    while entry is not None and (entry.tag in _QUALIFIERS or entry.tag == "DW_TAG_const_type"):
        const = const or entry.tag == "DW_TAG_const_type"
        entry = _type(entry)
    return entry, const


def _is_void(entry: Any) -> bool:
    return entry is None or entry.tag == "DW_TAG_unspecified_type"


def _describe(declared: Any, depth: int = 2) -> Description:
    """kind, type, size, and the further fields of the kind.

    Fields of structs are described up to ``depth`` pointers deep, since structs may be recursive.
    """
    entry, _ = _unqualified(declared)
    if _is_void(entry):
        raise BuildError("a value of type void in a kernel's debug information")
    if entry.tag in _POINTERS:
        return _describe_pointer(entry, depth)
    size = entry.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in entry.attributes else 0
    name = _name(entry)
    if entry.tag == "DW_TAG_base_type":
        encoding = entry.attributes["DW_AT_encoding"].value
        if size not in (1, 2, 4, 8):  # __int128
            return {"kind": "struct", "type": name, "size": size, "fields": []}
        if encoding == _FLOAT:
            return {"kind": "float", "type": name, "size": size}
        return {"kind": "integer", "type": name, "size": size, "signed": encoding in _SIGNED}
    if entry.tag == "DW_TAG_enumeration_type":
        values = [child.attributes.get("DW_AT_const_value") for child in entry.iter_children()]
        signed = any(value is not None and value.value < 0 for value in values)
        return {"kind": "integer", "type": _qualified(entry), "size": size, "signed": signed}
    if name in _LIBRARY_FLOATS and size == 2:
        return {"kind": "float", "type": _LIBRARY_FLOATS[name], "size": size}
    if entry.tag in _STRUCTS:
        fields = _fields(entry, depth) if depth else []
        told = {"kind": "struct", "type": _qualified(entry), "size": size, "fields": fields}
        return {**told, "union": True} if entry.tag == "DW_TAG_union_type" else told
    return {"kind": "struct", "type": name, "size": size, "fields": []}


def _describe_pointer(entry: Any, depth: int) -> Description:
    target, const = _unqualified(_type(entry))
    description: Description = {"kind": "pointer", "type": spelled(entry), "size": 8}
    if _is_void(target) or target.tag == "DW_TAG_subroutine_type":
        element = None
    elif target.tag in _POINTERS:
        element = {"kind": "pointer", "type": spelled(target), "size": 8}
    elif target.tag == "DW_TAG_array_type":
        element = None
    else:
        element = _describe(target, max(0, depth - 1))
    return {**description, "element": element, "const": const}


def _described_array(declared: Any, depth: int = 2) -> Description:
    """Describe a type as `_describe` does; an array's description also has its ``shape``."""
    entry, _ = _unqualified(declared)
    shape = []
    while entry.tag == "DW_TAG_array_type":
        shape += [_count(part) for part in entry.iter_children()]
        entry, _ = _unqualified(_type(entry))
    described = _describe(entry, depth)
    return {**described, "shape": shape} if shape else described


def _fields(struct: Any, depth: int) -> list[Description]:
    found = []
    for child in struct.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            continue
        location = child.attributes.get("DW_AT_data_member_location")
        if location is None and struct.tag != "DW_TAG_union_type":
            continue  # a static member
        told = _described_array(_type(child), depth)
        name, offset = _name(child), _offset(location)
        place = {"name": name, "offset": offset, "count": prod(told.get("shape", ()))}
        if "DW_AT_bit_size" in child.attributes:
            place["bits"] = _bits(child, told["size"])
        if child.tag == "DW_TAG_inheritance" or name.startswith(_BASE):
            place |= {"name": told["type"].partition("<")[0].rpartition("::")[2], "base": True}
        found.append({**place, **told})
    return found


def _bits(field: Any, size: int) -> list[int]:
    """The first bit, from the lowest one of the field's first byte, and the number of bits."""
    width = field.attributes["DW_AT_bit_size"].value
    if "DW_AT_data_bit_offset" in field.attributes:
        return [field.attributes["DW_AT_data_bit_offset"].value, width]
    if "DW_AT_byte_size" in field.attributes:
        size = field.attributes["DW_AT_byte_size"].value
    above = field.attributes.get("DW_AT_bit_offset")  # counted from the highest
    return [size * 8 - (above.value if above else 0) - width, width]


def _count(subrange: Any) -> int:
    if "DW_AT_count" in subrange.attributes:
        return int(subrange.attributes["DW_AT_count"].value)
    if "DW_AT_upper_bound" in subrange.attributes:
        return int(subrange.attributes["DW_AT_upper_bound"].value) + 1
    return 0


def _offset(location: Any) -> int:
    if location is None:
        return 0
    if isinstance(location.value, int):
        return location.value
    # A location expression: DW_OP_plus_uconst and a LEB128 number.
    code, *digits = location.value
    if code != 0x23:
        raise BuildError(f"a struct's field lies at an unknown expression {location.value}")
    return sum((digit & 0x7F) << (7 * i) for i, digit in enumerate(digits))


def spelled(entry: Any) -> str:
    """A type's C++ text."""
    if _is_void(entry):
        return "void"
    if entry.tag == "DW_TAG_const_type":
        inner = _type(entry)
        if inner is not None and inner.tag in _POINTERS:
            return f"{spelled(inner)} const"
        return f"const {spelled(inner)}"
    if entry.tag in _QUALIFIERS:
        return spelled(_type(entry))
    if entry.tag in _POINTERS:
        target = _type(entry)
        if target is not None and target.tag == "DW_TAG_subroutine_type":
            return "void (*)()"
        return f"{spelled(target)}*"
    if entry.tag == "DW_TAG_array_type":
        counts = "".join(f"[{_count(part)}]" for part in entry.iter_children())
        return f"{spelled(_type(entry))} {counts}"
    return _qualified(entry) if entry.tag in _TYPES else demangle(_name(entry))
