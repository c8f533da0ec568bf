# cupola/ops/array_call.py - a call with arrays whose memory Python can see.
"""The steps of a call that NumPy's, CuPy's and cupola's arrays share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cupola.array_access import Allocation, has_access
from cupola.declare.element_types import ELEMENT_TYPES
from cupola.declare.operation import Declaration, Tensor
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.ops.operation import Call, Operation
from cupola.ops.sizes import Sizes

if TYPE_CHECKING:
    from cupola.declare.family import Variant
    from cupola.native_operation import NativeOperation


class View(NamedTuple):
    """An array as a call sees it."""

    shape: tuple[int, ...]
    element: str  # the element type's name
    contiguous: bool
    address: int
    device: int
    strides: tuple[int, ...] | None  # in elements; None: C order
    writable: bool
    native: bool = True  # the byte order is the machine's

    def tensor(self, device_type: int) -> tuple[Any, ...]:
        """The array for `NativeOperation.launch`, with DLPack's device type."""
        code, bits = ELEMENT_TYPES[self.element]
        return self.address, code, bits, device_type, self.device, self.shape, self.strides


class Arrays(Protocol):
    """The arrays of one library."""

    title: str  # the kind of an array, for messages: "a numpy.ndarray"

    def is_array(self, value: Any) -> bool:
        """Whether it is this library's."""

    def view(self, value: Any) -> View:
        """Address, shape and element type of an array."""

    def allocate(self, shape: tuple[int, ...], element: str, align: int, device: int) -> Any:
        """A new array, with uninitialised elements."""

    def allocation(
        self, shape: tuple[int, ...], element: str, align: int, device: int, like: int
    ) -> Allocation | None:
        """How `allocate` makes such arrays, for the calls that `EagerCall` makes.

        `like` is an input in C order of this shape and element type, or -1. None where there is no
        such way.
        """

    def argument(self, value: Any, view: View) -> Any:
        """The array for `NativeOperation.launch`."""

    def stream(self, call: Call, device: int) -> dict[str, Any]:
        """The stream, as keywords of `NativeOperation.launch`."""


class Plan(NamedTuple):
    """The results of a call's checks, for inputs of the same shapes and types.

    `NativeOperation.launch` checks each call again, with the memory.
    """

    types: tuple[str, ...]
    outputs: tuple[tuple[tuple[int, ...], str], ...]  # shapes and element types
    workspaces: tuple[tuple[tuple[int, ...], str], ...]
    variant: Variant  # of the operation's family


_MOST_PLANS = 256  # the most plans that an operation keeps


def plan_of(operation: Operation, call: Call, views: dict[str, View]) -> Plan:
    """The plan of a call, made at the first call of its shapes and types.

    Raises
    ------
    ArgumentError
        As `Sizes` and `Operation.types_of`.
    """
    declaration = operation.declaration
    key = (
        tuple([(name, view.shape, view.element, view.strides) for name, view in views.items()]),
        tuple([value for value in call.scalars.values() if type(value) is int]),
        tuple([value for value in call.scalars.values() if type(value) is bool]),
        next(iter(views.values())).device,
    )
    found: Plan | None = operation._plans.get(key)
    if found is not None:
        return found
    types = operation.types_of({name: view.element for name, view in views.items()})
    sizes = Sizes(
        declaration,
        {name: view.shape for name, view in views.items()},
        call.scalars,
        types,
        {name: view.strides for name, view in views.items() if view.strides is not None},
    )
    outputs, workspaces = (
        tuple((sizes.shape(one), declaration.element_of(one, types)) for one in tensors)
        for tensors in (declaration.outputs, declaration.workspaces)
    )
    if len(operation._plans) >= _MOST_PLANS:
        operation._plans.clear()
    device = next(iter(views.values())).device
    variant = operation.variant_of(sizes.values, types, device)
    found = operation._plans[key] = Plan(types, outputs, workspaces, variant)
    return found


def call_arrays(operation: Operation, call: Call, arrays: Arrays) -> Any:
    """Allocate the outputs, check and launch; the outputs."""
    declaration = operation.declaration
    given: dict[str, Any] = {}
    views: dict[str, View] = {}
    for one in declaration.inputs:
        if one.name in call.inputs:
            value = call.inputs[one.name]
            given[one.name], views[one.name] = _prepared(declaration, one, value, arrays)
    plan = plan_of(operation, call, views)
    device = next(iter(views.values())).device
    results = []
    for index, one in enumerate(declaration.outputs):
        if call.out is None:
            value = arrays.allocate(*plan.outputs[index], declaration.align, device)
            view = arrays.view(value)
        else:
            value = call.out[index]
            _check_kind(declaration, one, value, arrays)
            view = _written(declaration, one, value, arrays)
        given[one.name], views[one.name] = value, view
        results.append(value)
    for index, one in enumerate(declaration.workspaces):
        value = arrays.allocate(*plan.workspaces[index], declaration.align, device)
        given[one.name], views[one.name] = value, arrays.view(value)
    native = operation.native(plan.types, device, plan.variant)
    launch_native(operation, native, device, given, views, call, arrays)
    if all(given[name] is value for name, value in call.inputs.items()):  # none was copied
        _remember(operation, plan, device, views, call, arrays)
    return results_of(results)


def _remember(
    operation: Operation,
    plan: Plan,
    device: int,
    views: Mapping[str, View],
    call: Call,
    arrays: Arrays,
) -> None:
    """Let `EagerCall` make further calls with such arguments."""
    inputs = [call.inputs.get(one.name) for one in operation.declaration.inputs]
    if not has_access(type(next(iter(call.inputs.values())))):
        return
    forms = []
    for shape, element in (*plan.outputs, *plan.workspaces):
        like = -1
        for index, one in enumerate(operation.declaration.inputs):
            view = views.get(one.name)
            if view and view.contiguous and (view.shape, view.element) == (shape, element):
                like = index
        form = arrays.allocation(shape, element, operation.declaration.align, device, like)
        if form is None:
            return
        forms.append(form)
    count = len(plan.outputs)
    operation.eager.remember(
        (*inputs, *call.scalars.values()),
        operation.native(plan.types, device, plan.variant),
        tuple(forms[:count]),
        tuple(forms[count:]),
    )


def launch_native(
    operation: Operation,
    native: NativeOperation,
    device: int,
    given: Mapping[str, Any],
    views: Mapping[str, View],
    call: Call,
    arrays: Arrays,
    **batch: Any,
) -> None:
    """Launch the kernel with the tensors that are given, of which there are views."""
    tensors = tuple(
        [
            arrays.argument(given[one.name], views[one.name]) if one.name in given else None
            for one in operation.declaration.tensors
        ]
    )
    scalars = tuple(call.scalars.values())
    native.launch(tensors, scalars, **batch, **arrays.stream(call, device))


def copied(arrays: Arrays, value: Any, view: View, align: int) -> Any:
    """A copy in C order."""
    made = arrays.allocate(view.shape, view.element, align, view.device)
    made[...] = value
    return made


def aligned_part(
    whole: Any, address: int, size: int, dtype: Any, shape: tuple[int, ...], align: int
) -> Any:
    """The array at the first aligned address of an array of bytes."""
    begin = -address % align
    return whole[begin : begin + size].view(dtype).reshape(shape)


def other_kind(where: str, title: str, value: Any) -> ArgumentTypeError:
    """The error for an array of another library than the first argument's."""
    return ArgumentTypeError(
        f"{where}: expected {title}, like the first argument, got "
        f"{type(value).__module__}.{type(value).__qualname__}"
    )


def other_byte_order(where: str) -> ArgumentTypeError:
    """The error for an array that the kernel writes."""
    return ArgumentTypeError(
        f"{where}: the kernel writes it, and its elements are not in the machine's byte order: "
        "pass an array that is, and copy the result"
    )


def results_of(results: Sequence[Any]) -> Any:
    """A single result as it is, several results as a tuple, and None without a result."""
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _title(declaration: Declaration, tensor: Tensor) -> str:
    return f"{declaration.name}: {tensor.title}"


def _check_kind(declaration: Declaration, tensor: Tensor, value: Any, arrays: Arrays) -> None:
    if not arrays.is_array(value):
        raise other_kind(_title(declaration, tensor), arrays.title, value)


def _viewed(declaration: Declaration, tensor: Tensor, value: Any, arrays: Arrays) -> View:
    view = arrays.view(value)
    if view.element not in ELEMENT_TYPES:
        swapped = view.element.startswith((">", "<"))  # such names are of the other byte order
        raise ArgumentTypeError(
            f"{_title(declaration, tensor)}: no operation takes elements of {view.element}"
            + ("; pass cupola.to_device(x.get()), which converts the byte order" if swapped else "")
        )
    return view


def _prepared(
    declaration: Declaration, tensor: Tensor, value: Any, arrays: Arrays
) -> tuple[Any, View]:
    """An input, copied where the kernel could not read it as it is, and its view."""
    _check_kind(declaration, tensor, value, arrays)
    if tensor.mutated:
        return value, _written(declaration, tensor, value, arrays)
    view = _viewed(declaration, tensor, value, arrays)
    if math.prod(view.shape) == 0:
        return value, view
    align = max(declaration.align, ELEMENT_TYPES[view.element][1] // 8)
    aligned = view.address % align == 0
    if (view.contiguous or tensor.strided) and aligned and view.native:
        return value, view
    if not declaration.copies:
        raise ArgumentValueError(
            f"{_title(declaration, tensor)}: "
            + (
                f"its address is not a multiple of {align} bytes"
                if not aligned
                else "its elements are not in the machine's byte order"
                if not view.native
                else "its elements are not in C order"
            )
            + f", and the operation's declaration has noncontiguous = 'refuse': pass a copy "
            f"(shape {view.shape})"
        )
    value = copied(arrays, value, view, align)
    return value, arrays.view(value)


def _written(declaration: Declaration, tensor: Tensor, value: Any, arrays: Arrays) -> View:
    view = _viewed(declaration, tensor, value, arrays)
    if not view.writable:
        raise ArgumentValueError(
            f"{_title(declaration, tensor)}: the kernel writes it, and the array is read-only"
        )
    if not view.native:
        raise other_byte_order(_title(declaration, tensor))
    return view
