# cupola/ops/operation.py - an operation: its signature, its kernels, its calls.
"""`Operation`, which `cupola.op` and a package's module ``ops`` make."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from cupola.declare.backward import Backward, match
from cupola.declare.compiled import compiled
from cupola.declare.element_types import ELEMENT_TYPES
from cupola.declare.operation import Declaration, Scalar
from cupola.eager_call import CallableOperation, EagerCall, with_vectorcall
from cupola.element import natural_alignment
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.native_operation import NativeOperation

if TYPE_CHECKING:
    from cupola.declare.family import Variant
    from cupola.kernel import Kernel
    from cupola.ops.variants import VariantKernels

# The module that calls operations with the arrays of a library, by the library's first name.
_KINDS = {
    "numpy": "numpy_arrays",
    "cupola": "cupola_arrays",
    "cupy": "cupy_arrays",
    "torch": "torch_tensors",
    "jax": "jax_arrays",
    "jaxlib": "jax_arrays",
}
# The functions of those modules by the type of an array, found at its first call.
_CALLS: dict[type, Callable[..., Any]] = {}
_MOST_CALLS = 64


class Call(NamedTuple):
    """The arguments of one call."""

    inputs: dict[str, Any]  # the inputs that the call gives
    scalars: dict[str, Any]
    out: tuple[Any, ...] | None
    stream: Any
    device: Any


@with_vectorcall
class Operation(CallableOperation):
    """A function of arrays, computed by a kernel.

    It takes the declared inputs and scalars, by position or by name, and returns new arrays of the
    inputs' library: one for each output, a tuple of several, None where it only changes inputs.

    Parameters
    ----------
    out : array, or tuple of arrays, optional
        Where the outputs go, instead of new arrays.
    stream : Stream, optional
        For `cupola.Array` inputs. By default the library's current stream.
    device : Device, int or "cpu", optional
        For NumPy arrays: a GPU to which they are copied, and the results from it, or the CPU
        device, which uses them in place.

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type, or no kernel has the element types.
    ArgumentValueError
        Where sizes contradict each other or the declaration, memory overlaps, or arrays are on
        several devices. Nothing was launched.
    """

    def __init__(
        self,
        declaration: Declaration,
        find: Callable[[str, int], Kernel] | None = None,
        library: Any = None,
        backward: Operation | None = None,
        variants: VariantKernels | None = None,
    ) -> None:
        self.declaration = declaration
        self.variants = variants  # of the family that the operation launches
        self.library = library  # the OperationLibrary of its package; None for `cupola.op`
        self._backward = backward  # that of `cupola.op`
        self._find = find
        self._parameters = (
            *(one.name for one in declaration.inputs),
            *(one.name for one in declaration.scalars),
        )
        self._lock = threading.Lock()
        self._indices = {types: index for index, types in enumerate(declaration.kernels)}
        self._natives: dict[Variant, NativeOperation] = {}
        self.native_of(() if variants is None else variants.family.declaration.default)
        self._plans: dict[Any, Any] = {}  # plans of `cupola.ops.array_call`
        self.eager = EagerCall(
            tuple([(one.name, one.mutated) for one in declaration.inputs]),
            tuple([(one.name, one.kind, one.default) for one in declaration.scalars]),
            len(declaration.outputs),
            declaration.align,
            bool(declaration.autocast),
        )
        self._overload: Any = None  # PyTorch's form, once it is registered
        self._is_compiling: Any = None
        self.__name__ = declaration.name.rpartition(".")[2]
        self.__qualname__ = declaration.name
        self.__doc__ = _documentation(declaration)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._overload is not None and self._is_compiling():
            return self._overload(*args, **kwargs)  # torch.compile can trace this call
        call = self.bind(args, kwargs)
        first = next(iter(call.inputs.values()))
        found = _CALLS.get(type(first))
        if found is None:
            found = self._kind(first).call
            if len(_CALLS) >= _MOST_CALLS:  # classes that a program makes must not stay
                _CALLS.clear()
            _CALLS[type(first)] = found
        return found(self, call)

    def register_loaded(self) -> None:
        """Register it with PyTorch, if that is imported; it imports no framework."""
        if "torch" in sys.modules:
            import_module("cupola.ops.torch_tensors").of(self)

    def __repr__(self) -> str:
        return f"<operation {self.declaration.name}{signature(self.declaration)}>"

    def _kind(self, value: Any) -> Any:
        """The module for the library of an array."""
        root = type(value).__module__.partition(".")[0]
        name = _KINDS.get(root, "cupola_arrays")
        known = hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")
        # A tracer of JAX has no memory.
        if not known and name != "jax_arrays":
            wanted = next(iter(self.declaration.inputs)).name
            raise ArgumentTypeError(
                f"{self.declaration.name}: argument {wanted}: expected an array, got "
                f"{type(value).__name__}; numpy.asarray converts numbers and sequences"
            )
        return import_module(f"cupola.ops.{name}")

    # -- arguments --------------------------------------------------------------------------------

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        """Sort the arguments of a call.

        Raises
        ------
        ArgumentTypeError
            Where there are too many or too few, or a scalar is no number.
        """
        declaration = self.declaration
        parameters = self._parameters
        if len(args) > len(parameters):
            raise self._wrong(f"takes {len(parameters)} arguments, got {len(args)}")
        given = dict(zip(parameters, args, strict=False))
        others = {"out": None, "stream": None, "device": None}
        for name, value in kwargs.items():
            if name in given:
                raise self._wrong(f"argument {name} is given twice")
            if name in parameters:
                given[name] = value
            elif name in others:
                others[name] = value
            else:
                raise self._wrong(f"has no argument {name!r}")
        inputs = {}
        for one in declaration.inputs:
            value = given.get(one.name)
            if value is not None:
                inputs[one.name] = value
            elif not one.type.optional:
                raise self._wrong(f"argument {one.name} is missing")
        first = next(iter(inputs.values()))
        scalars = {one.name: self._scalar(one, given, first) for one in declaration.scalars}
        return Call(inputs, scalars, self._out(others["out"]), others["stream"], others["device"])

    def _wrong(self, text: str) -> ArgumentTypeError:
        return ArgumentTypeError(
            f"{self.declaration.name}: {text}; it is {self.declaration.name}"
            f"{signature(self.declaration)}"
        )

    def _scalar(self, scalar: Scalar, given: Mapping[str, Any], first: Any) -> Any:
        if scalar.name not in given:
            if scalar.default is None:
                raise self._wrong(f"argument {scalar.name} is missing")
            return scalar.default
        value = given[scalar.name]
        where = f"{self.declaration.name}: argument {scalar.name}"
        if type(value).__module__.startswith(("jax.", "jaxlib.")):
            if type(first).__module__.startswith(("jax.", "jaxlib.")):
                return value  # an operand of XLA's function
        elif getattr(value, "requires_grad", False) and _grad_is_enabled():
            raise ArgumentValueError(
                f"{where}: the tensor requires grad, and an operation has no gradient for a "
                "scalar: detach() it, use torch.no_grad(), or pass an array input"
            )
        try:
            if scalar.kind == "int":
                if isinstance(value, bool):
                    raise TypeError
                return operator.index(value)
            if scalar.kind == "bool":
                if type(value).__name__ not in ("bool", "bool_"):
                    raise TypeError
                return bool(value)
            if isinstance(value, (str, bytes)):
                raise TypeError
            return float(value)
        except Exception as error:
            if not isinstance(error, (TypeError, ValueError, OverflowError)):
                raise  # a framework's own error, for a value that is traced
            kind = {"int": "an integer", "bool": "a bool", "float": "a number"}[scalar.kind]
            raise ArgumentTypeError(f"{where}: expected {kind}, got {value!r}") from None

    def _out(self, out: Any) -> tuple[Any, ...] | None:
        if out is None:
            return None
        outputs = self.declaration.outputs
        several = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(several) != len(outputs):
            names = ", ".join(one.name for one in outputs) or "none"
            raise self._wrong(
                f"out has {len(several)} arrays, the operation has {len(outputs)} outputs ({names})"
            )
        return several

    @property
    def has_backward(self) -> bool:
        """Whether there is an operation of the gradients."""
        return bool(self.declaration.backward)

    @property
    def backward(self) -> Operation:
        """The operation of the gradients: of the same package, or given to `cupola.op`."""
        if self._backward is not None:
            return self._backward
        found: Operation = self.library.attribute(self.declaration.backward.rpartition(".")[2])
        return found

    @cached_property
    def matched(self) -> Backward:
        """Which arguments the operation of the gradients takes."""
        return match(self.declaration, self.backward.declaration)

    def gradient_arguments(
        self, by_output: Mapping[str, Any], saved: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arrays for the operation of the gradients, by its inputs' names.

        Parameters
        ----------
        by_output : mapping
            The gradient of each output.
        saved : mapping
            This operation's arrays.

        Raises
        ------
        ArgumentValueError
            Where it needs an array that was not given to this operation.
        """
        found = {}
        for one in self.backward.declaration.inputs:
            if one.name in self.matched.gradients:
                found[one.name] = by_output[self.matched.gradients[one.name]]
            elif one.name in saved:
                found[one.name] = saved[one.name]
            elif not one.type.optional:
                raise ArgumentValueError(
                    f"{self.declaration.name}: its gradient needs the argument {one.name}, which "
                    "was not given"
                )
        return found

    # -- kernels ----------------------------------------------------------------------------------

    def types_of(self, elements: Mapping[str, str]) -> tuple[str, ...]:
        """The element types of the type variables.

        Parameters
        ----------
        elements : mapping of str to str
            The element type of each input.

        Raises
        ------
        ArgumentTypeError
            Where inputs contradict each other, or there is no kernel.
        """
        declaration = self.declaration
        found: dict[str, tuple[str, str]] = {}
        for one in declaration.inputs:
            element = elements.get(one.name)
            if element is None:
                continue
            where = f"{declaration.name}: argument {one.name}: expected elements of "
            variable = one.type.variable
            if not variable and element != one.type.element:
                raise ArgumentTypeError(f"{where}{one.type.element}, got {element}")
            if variable:
                other, by = found.setdefault(variable, (element, one.name))
                if other != element:
                    raise ArgumentTypeError(
                        f"{where}{other}, which is {variable} by argument {by}, got {element}"
                    )
        types = tuple(found[variable][0] for variable in declaration.variables)
        if types not in self._indices:
            pairs = zip(declaration.variables, types, strict=True)
            given = ", ".join(f"{variable} = {name}" for variable, name in pairs)
            known = "; ".join(", ".join(one) for one in declaration.kernels)
            raise ArgumentTypeError(
                f"{declaration.name}: there is no kernel for {given}; there are kernels for {known}"
            )
        return types

    def variant_of(self, sizes: Mapping[str, Any], types: tuple[str, ...], device: int) -> Variant:
        """The variant of the operation's family for a call; ``()`` without a family.

        Parameters
        ----------
        sizes : mapping of str to int
            Those of the declaration. Where one of the key is a framework's symbol, the variant is
            the family's default.
        types : tuple of str
            The element types of the type variables.
        device : int
            -1 where it is not known, which gives the default, too.
        """
        return () if self.variants is None else self.variants.choose(sizes, types, device)

    def native_of(self, variant: Variant) -> NativeOperation:
        """The library's operation for a variant, with the kernels that are bound so far."""
        found = self._natives.get(variant)
        if found is None:
            with self._lock:
                found = self._natives.get(variant)
                if found is None:
                    chosen = self.declaration
                    if self.variants is not None:
                        chosen = self.variants.declaration(variant)
                    found = self._natives[variant] = NativeOperation(compiled(chosen))
        return found

    def native(self, types: tuple[str, ...], device: int, variant: Variant = ()) -> NativeOperation:
        """The library's operation, with the kernel for these types bound on a device.

        Raises
        ------
        NotFoundError, ImageError
            Where the kernel can't be loaded there.
        ArgumentTypeError
            Where its parameters contradict the declaration.
        ArgumentValueError
            Where `device` is -1: no device computes with the host memory of the arguments.
        """
        if device < 0:
            raise ArgumentValueError(
                f"{self.declaration.name}: its arguments are in host memory, which a kernel on a "
                "GPU can't use: copy them to the GPU (for NumPy's arrays pass device=0), or set "
                "CUPOLA_CPU_TENSORS=1 to compute with them on the CPU device"
            )
        index, native = self._indices[types], self.native_of(variant)
        if not native.bound(index, device):
            with self._lock:
                if not native.bound(index, device):
                    kernel = self._kernel(variant, types, device)
                    self._check_alignment(kernel, types)
                    native.bind(index, kernel)
        return native

    def _kernel(self, variant: Variant, types: tuple[str, ...], device: int) -> Kernel:
        if self.variants is not None:
            return self.variants.kernel(variant, types, device)
        assert self._find is not None
        return self._find(self.declaration.kernels[types], device)

    def _check_alignment(self, kernel: Kernel, types: tuple[str, ...]) -> None:
        """Refuse a kernel whose accesses need a larger alignment than calls check."""
        declaration = self.declaration
        for parameter, argument in zip(kernel.params, declaration.arguments, strict=False):
            tensor = declaration.tensor(argument) if isinstance(argument, str) else None
            if tensor is None:
                continue
            needed = natural_alignment(parameter.type)
            element = ELEMENT_TYPES[declaration.element_of(tensor, types)]
            if needed > max(declaration.align, element[1] // 8):
                raise ArgumentTypeError(
                    f"{declaration.name}: kernel {kernel.title} takes {tensor.name} as a pointer "
                    f"to {parameter.type}, whose address is a multiple of {needed} bytes: set "
                    f"align = {needed} in the declaration"
                )


def signature(declaration: Declaration) -> str:
    """``(u, alpha=0.1, *, out=None)``."""
    parts = [f"{one.name}=None" if one.type.optional else one.name for one in declaration.inputs]
    parts += [
        one.name if one.default is None else f"{one.name}={one.default!r}"
        for one in declaration.scalars
    ]
    return f"({', '.join(parts)}, *, out=None)" if declaration.outputs else f"({', '.join(parts)})"


def _documentation(declaration: Declaration) -> str:
    lines = [declaration.doc or f"The operation {declaration.name}.", "", "Parameters", "-" * 10]
    for one in declaration.inputs:
        notes = ", optional" if one.type.optional else ""
        notes += ", changed in place" if one.mutated else ""
        lines.append(f"{one.name} : {one.type.text}{notes}")
    for scalar in declaration.scalars:
        default = "" if scalar.default is None else f", default {scalar.default!r}"
        lines.append(f"{scalar.name} : {scalar.kind}{default}")
    if declaration.outputs:
        lines += ["", "Returns", "-" * 7]
        lines += [f"{one.name} : {one.type.text}" for one in declaration.outputs]
    return "\n".join(lines)


def _grad_is_enabled() -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is None or torch.is_grad_enabled()
