# cupola/makers/operands.py - the arguments of a call: sorted, as arrays, on one device.
"""Arguments of calls of made kernels."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.creation import asarray, to_device
from cupola.declare.kernel_definition import Definition
from cupola.declare.maker_parameters import Parameter
from cupola.device import Device, is_cpu
from cupola.element import natural_alignment
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.stream import refuse_captured, stream_of


def bind(
    definition: Definition, args: tuple[Any, ...], named: Mapping[str, Any], out: Any
) -> dict[str, Any]:
    """The arguments by name; results that are not given are absent.

    Positional arguments are all parameters, or all but the results.

    Raises
    ------
    ArgumentTypeError
        Where there are too many or too few, or a name is unknown.
    """
    parameters, results = definition.parameters, definition.results
    inputs = [one for one in parameters if not one.result]
    positions = parameters if len(args) > len(inputs) else inputs
    if len(args) > len(parameters):
        raise _wrong(definition, f"takes {len(parameters)} arguments, got {len(args)}")
    given = {one.name: value for one, value in zip(positions, args, strict=False)}
    known = {one.name for one in parameters}
    for name, value in named.items():
        if name not in known:
            raise _wrong(definition, f"has no argument {name!r}")
        if name in given:
            raise _wrong(definition, f"argument {name} is given twice")
        given[name] = value
    if out is not None:
        several = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(several) != len(results):
            names = ", ".join(one.name for one in results) or "none"
            raise _wrong(definition, f"out has {len(several)} arrays, the results are {names}")
        for one, value in zip(results, several, strict=True):
            if given.get(one.name) is not None:
                raise _wrong(definition, f"argument {one.name} is given twice")
            given[one.name] = value
    for one in parameters:
        if given.get(one.name) is None and not one.result:
            raise _wrong(definition, f"argument {one.name} is missing")
    return {name: value for name, value in given.items() if value is not None}


def _wrong(definition: Definition, text: str) -> ArgumentTypeError:
    listed = ", ".join(one.text for one in definition.parameters)
    return ArgumentTypeError(f"{definition.name}: {text}; it is {definition.name}({listed})")


def device_of(definition: Definition, values: Mapping[str, Any]) -> int:
    """The device of the call's first array on a device; without one the current device."""
    for one in definition.parameters:
        value = values.get(one.name)
        if one.array and isinstance(value, Array):
            return value.device_index
        if one.array and value is not None and not isinstance(value, np.ndarray):
            return _array(definition, one, value).device_index
    return Device().index


def using(stream: Any, device: int, title: str) -> Any:
    """A context in which work goes to a call's stream."""
    return nullcontext() if stream is None else stream_of(stream, device, title)


def take(definition: Definition, values: Mapping[str, Any], device: int) -> dict[str, Any]:
    """The arguments with arrays of all libraries as views.

    Raises
    ------
    ArgumentTypeError
        Where an argument for an array is none.
    ArgumentValueError
        Where an array is on another device, or is written and read-only.
    """
    found = dict(values)
    for one in definition.parameters:
        if not one.array or one.name not in values:
            continue
        value = values[one.name]
        if isinstance(value, np.ndarray):
            value = _from_host(definition, one, value, device)
        found[one.name] = value = _array(definition, one, value)
        where = f"{definition.name}: argument {one.name}"
        if value.device_index != device:
            raise ArgumentValueError(
                f"{where} is on device {value.device_index}, and another argument on device "
                f"{device}: copy it with cupola.to_device({one.name}, device={device})"
            )
        if not one.const and not value.flags.writeable:
            raise ArgumentValueError(f"{where}: the kernel writes it, and the array is read-only")
    return found


def _array(definition: Definition, parameter: Parameter, value: Any) -> Array:
    if isinstance(value, Array):
        return value
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        return asarray(value)
    raise ArgumentTypeError(
        f"{definition.name}: argument {parameter.name}: expected an array of a device, got "
        f"{type(value).__name__}; for a number write {parameter.type} {parameter.name}, without *"
    )


def _from_host(
    definition: Definition, parameter: Parameter, value: np.ndarray[Any, Any], device: int
) -> Array:
    """A copy of NumPy's memory; only the CPU device takes it, as nothing crosses a bus there."""
    where = f"{definition.name}: argument {parameter.name}"
    if not is_cpu(device):
        raise ArgumentTypeError(
            f"{where}: expected an array of device {device}, got a numpy.ndarray: copy it with "
            f"cupola.to_device({parameter.name})"
        )
    if not parameter.const and not value.flags.writeable:
        raise ArgumentValueError(f"{where}: the kernel writes it, and the array is read-only")
    if not parameter.const:
        # to_host() copies it back.
        refuse_captured(
            device, where, "it is on the host; pass a device array, as of cupola.to_device(array)"
        )
    return to_device(value, device=device)


def to_host(definition: Definition, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Copy what the kernel wrote into NumPy's arrays of the call."""
    for one in definition.parameters:
        host = given.get(one.name)
        if one.const or not isinstance(host, np.ndarray):
            continue
        if host.dtype.isnative:
            values[one.name].get(out=host)
        else:
            host[...] = values[one.name].get()


def aligned(definition: Definition, parameter: Parameter, value: Array) -> Array:
    """An array whose elements have C++'s alignment: itself, or a copy of an input.

    Raises
    ------
    ArgumentValueError
        Where the kernel writes the array.
    """
    dtype = value.dtype
    align = natural_alignment(dtype)
    if value.size == 0 or not any(step % align for step in (value.ptr, *value.strides)):
        return value
    if parameter.const:
        return value.copy()
    raise ArgumentValueError(
        f"{definition.name}: argument {parameter.name}: its elements are not aligned to {align} "
        "bytes: pass an aligned array and copy the result"
    )
