# package/cupola/build/operation_arguments.py - fills structs and parameters from tensors.
"""Arguments of operations over kernels of other compilers, which take an array as a struct or as
several parameters (`cupola.build.compilers.descriptor`). A declaration names the tensor, and this
module makes the other values from its shape and strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..declare.declaration_error import DeclarationError
from ..declare.element_types import itemsize
from ..declare.operation import Argument, Declaration, Tensor
from ..declare.record import Record


def filled(
    declaration: Declaration, types: tuple[str, ...], parameters: Sequence[dict[str, Any]]
) -> list[Any]:
    """The arguments for all parameters of a kernel, as a table has them.

    Parameters
    ----------
    declaration : Declaration
    types : tuple of str
        The element types of the type variables.
    parameters : sequence of dict
        The parameters that a caller gives, as the manifest has them.

    Raises
    ------
    DeclarationError
        Where an argument does not fit the parameter of the kernel.
    """
    arguments = declaration.arguments
    if len(arguments) == len(parameters) and not any(
        _is_filled(one, each) for one, each in zip(arguments, parameters, strict=True)
    ):
        return list(declaration.table["arguments"])
    found: list[Any] = []
    place = 0
    for index, argument in enumerate(arguments):
        told = parameters[place].get("descriptor") if place < len(parameters) else None
        if told is None or isinstance(argument, Record):
            found.append(_written(argument))
            place += 1
            continue
        several = parameters[place : place + told["parameters"]]
        place += told["parameters"]
        values = _values(declaration, types, index, argument, told)
        if told["parameters"] == 1:
            fields = [[offset, size, values[name]] for offset, size, name in told["values"]]
            found.append({"size": several[0]["size"], "fields": fields})
            continue
        by_place = {offset: values[name] for offset, _, name in told["values"]}
        found += [by_place.get(one["offset"] - several[0]["offset"], "0") for one in several]
    return found


def _is_filled(argument: Argument, parameter: dict[str, Any]) -> bool:
    """Whether an argument has to become a struct."""
    told = parameter.get("descriptor")
    return told is not None and told["parameters"] == 1 and not isinstance(argument, Record)


def _written(argument: Argument) -> Any:
    """An argument as a table has it."""
    if isinstance(argument, Record):
        return {"size": argument.size, "fields": [list(one) for one in argument.fields]}
    return argument if isinstance(argument, str) else list(argument)


def _values(
    declaration: Declaration,
    types: tuple[str, ...],
    index: int,
    argument: Argument,
    told: dict[str, Any],
) -> dict[str, str]:
    """The values that the kernel reads, as expressions, by their names in the description."""
    if told["kind"] == "sizes":
        texts = (argument,) if isinstance(argument, str) else argument
        assert not isinstance(texts, Record)
        if len(texts) != len(told["shape"]):
            count = len(told["shape"])
            raise _wrong(
                index, argument, f"the size of the launch, {told['name']}, has {count} axes: "
                + ("write one text" if count == 1 else f"write a list of {count} texts")
            )  # fmt: skip
        return {**_axes("shape", texts), "size": _product(texts), "ndim": str(len(texts)), "1": "1"}
    tensor = declaration.tensor(argument) if isinstance(argument, str) else None
    if tensor is None:
        raise _wrong(index, argument, f"the kernel takes the array {told['name']}: name a tensor")
    element = declaration.element_of(tensor, types)
    _check(index, tensor, element, told)
    lengths = [one.text for one in tensor.lengths]
    steps = [
        f"stride({tensor.name}, {axis})" if tensor.strided else _product(lengths[axis + 1 :])
        for axis in range(len(lengths))
    ]
    size = itemsize(element)
    return {
        **_axes("shape", lengths),
        **_axes("step", steps),
        **_axes("stride", [f"{size} * {step}" for step in steps]),
        "data": tensor.name,
        "size": _product(lengths),
        "itemsize": str(size),
        "ndim": str(len(lengths)),
        "1": "1",
    }


def _check(index: int, tensor: Tensor, element: str, told: dict[str, Any]) -> None:
    """Raise unless the kernel takes arrays like the tensor."""
    name, shape = tensor.name, told["shape"]
    if element != told["element"]:
        raise _wrong(index, name, f"the kernel takes elements of {told['element']}, got {element}")
    if tensor.type.pack or len(tensor.lengths) != len(shape):
        raise _wrong(
            index, name, f"the kernel takes an array of {len(shape)} axes, got {tensor.type.text}"
        )
    for axis, length in enumerate(shape):
        if length is not None and tensor.lengths[axis].text != str(length):
            raise _wrong(
                index, name, f"the kernel takes the length {length} of axis {axis}, got "
                f"{tensor.lengths[axis].text}"
            )  # fmt: skip
    known = [axis for axis, step in enumerate(told["steps"]) if step is not None]
    ordered = known == [] or (known == [len(shape) - 1] and told["steps"][-1] == 1)
    if tensor.strided and (told["contiguous"] or known):
        raise _wrong(index, name, "the kernel was compiled for its strides: leave strided out")
    if not ordered:
        raise _wrong(index, name, "the kernel was compiled for strides that are not of C order")
    if tensor.written and told["const"]:
        raise _wrong(index, name, "the kernel only reads this array: it has const in its signature")


def _wrong(index: int, argument: Argument, text: str) -> DeclarationError:
    shown = list(argument) if isinstance(argument, tuple) else argument
    return DeclarationError("arguments", f"argument {index} is {shown!r}: {text}")


def _axes(name: str, texts: Sequence[str]) -> dict[str, str]:
    return {f"{name}.{axis}": text for axis, text in enumerate(texts)}


def _product(texts: Sequence[str]) -> str:
    return " * ".join(text if text.isidentifier() else f"({text})" for text in texts) or "1"
