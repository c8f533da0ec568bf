# cupola/ops/torch_tensors.py - calls with PyTorch's tensors, also while PyTorch traces.
"""PyTorch's tensors in and out: autograd, torch.compile, vmap, autocast.

An operation is registered with ``torch.library``, as ``torch.ops.heat.step``. Calls with plain
tensors that need no gradient go past PyTorch's dispatcher.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import torch

from cupola.array_access import Allocation, TorchAccess, register
from cupola.declare.backward import PREFIX
from cupola.declare.element_types import ELEMENT_TYPES
from cupola.declare.operation import Scalar, Tensor
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.native_operation import host_device
from cupola.ops.array_call import (
    View,
    aligned_part,
    call_arrays,
    copied,
    launch_native,
    other_kind,
    results_of,
)
from cupola.ops.operation import Call, Operation
from cupola.ops.sizes import Sizes

_NAMESPACE = "cupola_ops"  # the namespace of operations that no package has
_CPU, _CUDA = 1, 2  # DLPack's device types
_names = {getattr(torch, name): name for name in ELEMENT_TYPES if hasattr(torch, name)}
_numbers = itertools.count()
# Each is true where a call has to go through PyTorch's dispatcher. Levels of functorch begin at 1.
_TRANSFORMS = (
    torch._C._len_torch_dispatch_stack,
    torch._C._len_torch_function_stack,
    torch._C._functorch.maybe_current_level,
    torch._C._is_tracing,
)
_ROLES = {"float": "float", "int": "SymInt", "bool": "bool"}


class TorchTensors:
    """The tensors of one device, for `call_arrays`.

    Parameters
    ----------
    device : torch.device
    """

    title = "a torch.Tensor"

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.index = host_device() if device.type == "cpu" else device.index or 0

    def is_array(self, value: Any) -> bool:
        """Whether it is PyTorch's."""
        return isinstance(value, torch.Tensor)

    def view(self, value: torch.Tensor) -> View:
        """Address, shape and element type of a tensor."""
        if value.layout != torch.strided:
            raise ArgumentTypeError(f"a tensor of layout {value.layout} has no strides")
        if value.device.type not in ("cpu", "cuda"):
            raise ArgumentTypeError(f"an operation has no kernel for the device {value.device}")
        contiguous = value.is_contiguous()
        index = value.device.index
        return View(
            tuple(value.shape), element_of(value.dtype), contiguous, value.data_ptr(),
            self.index if index is None else index, None if contiguous else value.stride(), True,
        )  # fmt: skip

    def allocate(
        self, shape: tuple[int, ...], element: str, align: int, device: int
    ) -> torch.Tensor:
        """A new tensor, from PyTorch's allocator."""
        dtype = getattr(torch, element)
        made = torch.empty(shape, dtype=dtype, device=self.device)
        if made.numel() == 0 or made.data_ptr() % align == 0:
            return made
        size = made.numel() * made.element_size()
        whole = torch.empty(size + align, dtype=torch.uint8, device=self.device)
        part: torch.Tensor = aligned_part(whole, whole.data_ptr(), size, dtype, shape, align)
        return part

    def allocation(
        self, shape: tuple[int, ...], element: str, align: int, device: int, like: int
    ) -> Allocation | None:
        """How `allocate` makes such tensors; `EagerCall` checks their addresses."""
        if like >= 0:
            return Allocation(torch.empty_like, (), {}, like)
        options = {"dtype": getattr(torch, element), "device": self.device}
        return Allocation(torch.empty, (shape,), options)

    def argument(self, value: torch.Tensor, view: View) -> tuple[Any, ...]:
        """The tensor for `NativeOperation.launch`."""
        return view.tensor(_CUDA if value.is_cuda else _CPU)

    def stream(self, call: Call, device: int) -> dict[str, Any]:
        """PyTorch's current stream: its allocator frees memory in that order."""
        if self.device.type != "cuda":
            return {}
        return {"handle": torch.cuda.current_stream(self.device).cuda_stream}


def element_of(dtype: torch.dtype) -> str:
    """The name of an element type."""
    return _names.get(dtype, str(dtype))


class TorchOperation:
    """An operation as PyTorch's dispatcher knows it.

    Parameters
    ----------
    operation : Operation
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.declaration = declaration = operation.declaration
        package, _, name = declaration.name.rpartition(".")
        if operation.library is None:
            package, name = _NAMESPACE, f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{next(_numbers)}"
        self.namespace, self.name = package.replace(".", "_"), name
        self.library = torch.library.Library(self.namespace, "FRAGMENT")
        self._define()

    @property
    def overload(self) -> Any:
        """``torch.ops.heat.step.default``."""
        return getattr(getattr(torch.ops, self.namespace), self.name).default

    @property
    def _batched(self) -> Any:
        return getattr(getattr(torch.ops, self.namespace), f"{self.name}_batched").default

    def entry(self, *args: Any) -> Any:
        """Call it, also inside of the transformations of ``torch.func``.

        Those do not support the autograd of ``torch.library``.
        """
        transformed = torch._C._functorch.maybe_current_level() is not None
        if self._function is not None and transformed:
            return self._function.apply(*args)
        return self.overload(*args)

    # -- registration -----------------------------------------------------------------------------

    def _define(self) -> None:
        self._define_one(self.name, "", self._launch, self._fake)
        qualified = f"{self.namespace}::{self.name}"
        self._function: Any = None
        if self.operation.has_backward:
            torch.library.register_autograd(
                qualified, self._gradient, setup_context=self._save, lib=self.library
            )
            self._function = self._autograd_function()
        else:
            self.library.impl(self.name, self._without_gradient(self.name), "Autograd")
        if self.declaration.vmap:
            name, more = f"{self.name}_batched", "bool[] batched, SymInt batch"
            self._define_one(name, more, self._launch_batched, self._fake_batched)
            self.library.impl(name, self._without_gradient(name), "Autograd")
        if hasattr(torch.library, "register_vmap") and not self._mutates():  # since PyTorch 2.5
            torch.library.register_vmap(qualified, self._vmap, lib=self.library)
            if self.declaration.vmap:
                torch.library.register_vmap(
                    f"{qualified}_batched", self._vmap_batched, lib=self.library
                )
        if self.declaration.autocast:
            self._register_autocast(qualified)

    def _define_one(self, name: str, more: str, launch: Any, fake: Any) -> None:
        declaration = self.declaration
        parameters = [
            *map(_parameter, declaration.inputs),
            *filter(None, [more]),  # stands before scalars, which may have defaults
            *map(_parameter, declaration.scalars),
        ]
        count = len(declaration.outputs)
        result = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        self.library.define(f"{name}({', '.join(parameters)}) -> {result}")
        for key in ("CPU", "CUDA"):
            self.library.impl(name, launch, key)
        torch.library.register_fake(f"{self.namespace}::{name}", fake, lib=self.library)

    def _register_autocast(self, qualified: str) -> None:
        if not hasattr(torch.library, "register_autocast"):
            raise ArgumentTypeError(
                f"{self.declaration.name}: its declaration has autocast, which needs PyTorch 2.7 "
                f"or newer; this is {torch.__version__}"
            )
        for device in ("cpu", "cuda"):
            torch.library.register_autocast(
                qualified, device, getattr(torch, self.declaration.autocast), lib=self.library
            )

    def _parameters(self) -> tuple[Tensor | Scalar, ...]:
        return (*self.declaration.inputs, *self.declaration.scalars)

    def _mutates(self) -> bool:
        return any(one.mutated for one in self.declaration.inputs)

    def _call(self, args: Sequence[Any]) -> Call:
        """The call for the dispatcher's arguments, of which it leaves defaults at the end out."""
        count = len(self.declaration.inputs)
        inputs = {
            one.name: value
            for one, value in zip(self.declaration.inputs, args, strict=False)
            if value is not None
        }
        missing = self.declaration.scalars[max(len(args) - count, 0) :]
        rest = (*args[count:], *(one.default for one in missing))
        scalars = {
            one.name: value for one, value in zip(self.declaration.scalars, rest, strict=True)
        }
        return Call(inputs, scalars, None, None, None)

    def _launch(self, *args: Any) -> Any:
        return launch(self.operation, self._call(args))

    def _fake(self, *args: Any) -> Any:
        return self._empty(self._call(args), {}, None)

    def _empty(self, call: Call, batched: dict[str, bool], batch: Any) -> Any:
        """Outputs without elements that count, for shapes that may be symbols."""
        declaration = self.declaration
        types = self.operation.types_of(
            {name: element_of(one.dtype) for name, one in call.inputs.items()}
        )
        first = next(iter(call.inputs.values()))
        shapes = {
            name: tuple(one.shape)[1:] if batched.get(name) else tuple(one.shape)
            for name, one in call.inputs.items()
        }
        strides = {
            one.name: call.inputs[one.name].stride()[int(batched.get(one.name, False)) :]
            for one in declaration.inputs
            if one.strided and one.name in call.inputs
        }
        one_launch = batch is not None and declaration.vmap == "batch"
        sizes = Sizes(declaration, shapes, call.scalars, types, strides, batch if one_launch else 1)
        lead = () if batch is None else (batch,)
        return results_of(
            [
                first.new_empty(
                    (*lead, *sizes.shape(one)),
                    dtype=getattr(torch, declaration.element_of(one, types)),
                )
                for one in declaration.outputs
            ]
        )

    def _without_gradient(self, name: str) -> Any:
        """The kernel of PyTorch's autograd for an operation that has no backward."""

        def refuse(*args: Any) -> Any:
            require_no_gradient(self.operation, args)
            with torch._C._AutoDispatchBelowAutograd():
                return getattr(getattr(torch.ops, self.namespace), name).default(*args)

        return refuse

    # -- gradients --------------------------------------------------------------------------------

    def _save(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call = self._call(inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        names = [one.name for one in self.declaration.outputs]
        known = {**call.inputs, **dict(zip(names, outputs, strict=True))}
        ctx.names = [name for name in self.operation.matched.saved if name in known]
        ctx.save_for_backward(*(known[name] for name in ctx.names))
        ctx.scalars = call.scalars

    def _gradient(self, ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        backward = of(self.operation.backward)
        by_output = dict(
            zip((one.name for one in self.declaration.outputs), gradients, strict=True)
        )
        saved = dict(zip(ctx.names, ctx.saved_tensors, strict=True))
        known = self.operation.gradient_arguments(by_output, saved)
        for name in self.operation.matched.gradients:
            known[name] = known[name].contiguous()
        arguments = [known.get(one.name) for one in backward.declaration.inputs]
        scalars = [ctx.scalars[one.name] for one in backward.declaration.scalars]
        found = backward.entry(*arguments, *scalars)
        names = (one.name for one in backward.declaration.outputs)
        several = found if isinstance(found, tuple) else (found,)
        by_name = dict(zip(names, several, strict=True))
        return tuple(by_name.get(f"{PREFIX}{one.name}") for one in self._parameters())

    def _autograd_function(self) -> Any:
        """The operation and its gradient for ``torch.func``."""
        whole = self

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(*args: Any) -> Any:
                return whole.entry(*args)

            @staticmethod
            def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
                whole._save(ctx, inputs, output)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return whole._gradient(ctx, *gradients)

            @staticmethod
            def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
                return whole._vmap(info, in_dims, *args)

        return Function

    # -- vmap -------------------------------------------------------------------------------------

    def _batched_call(self, args: Sequence[Any]) -> tuple[Call, tuple[bool, ...], Any]:
        count = len(self.declaration.inputs)
        call = self._call((*args[:count], *args[count + 2 :]))
        return call, tuple(args[count]), args[count + 1]

    def _launch_batched(self, *args: Any) -> Any:
        return launch_batched(self.operation, *self._batched_call(args))

    def _fake_batched(self, *args: Any) -> Any:
        call, batched, batch = self._batched_call(args)
        inputs = (one.name for one in self.declaration.inputs)
        return self._empty(call, dict(zip(inputs, batched, strict=True)), batch)

    def _vmap(self, info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        declaration = self.declaration
        count = len(declaration.inputs)
        size = info.batch_size
        flags = [dim is not None for dim in in_dims[:count]]
        front = [
            one.movedim(dim, 0) if flag else one
            for one, dim, flag in zip(args[:count], in_dims, flags, strict=False)
        ]
        scalars = args[count:]
        dims = 0 if len(declaration.outputs) == 1 else (0,) * len(declaration.outputs)
        needs_gradient = any(isinstance(one, torch.Tensor) and one.requires_grad for one in front)
        if declaration.vmap and not needs_gradient:
            if declaration.vmap == "batch":  # each input has the batch
                front = [_spread(one, flag, size) for one, flag in zip(front, flags, strict=True)]
                flags = [one is not None for one in front]
            return self._batched(*front, flags, size, *scalars), dims
        named = dict(zip((one.name for one in declaration.inputs), flags, strict=True))
        if declaration.batch_fits_pack(named):
            front = [
                _spread(one, flag, size) if tensor.type.pack else one
                for tensor, one, flag in zip(declaration.inputs, front, flags, strict=True)
            ]
            return self.entry(*front, *scalars), dims
        arguments = (*front, *scalars)
        return self._call_elements(self.entry, arguments, (*flags, *[False] * len(scalars)), size)

    def _call_elements(
        self, function: Any, arguments: Sequence[Any], flags: Sequence[bool], size: int
    ) -> tuple[Any, Any]:
        """Call the operation for each element of a batch, in order."""
        found = [
            function(*(one[i] if flag else one for one, flag in zip(arguments, flags, strict=True)))
            for i in range(size)
        ]
        if len(self.declaration.outputs) == 1:
            return torch.stack(found), 0
        several = tuple(torch.stack(each) for each in zip(*found, strict=True))
        return several, (0,) * len(several)

    def _vmap_batched(self, info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        flags = [isinstance(dim, int) for dim in in_dims]
        front = [
            one.movedim(dim, 0) if flag else one
            for one, dim, flag in zip(args, in_dims, flags, strict=True)
        ]
        return self._call_elements(self._batched, front, flags, info.batch_size)


def _spread(value: Any, flag: bool, size: int) -> Any:
    """A tensor with the batch as its first axis."""
    return value if flag or value is None else value.expand(size, *value.shape)


def _parameter(one: Tensor | Scalar) -> str:
    """A parameter in PyTorch's schema."""
    if isinstance(one, Scalar):
        default = "" if one.default is None else f"={one.default}"
        return f"{_ROLES[one.kind]} {one.name}{default}"
    kind = "Tensor(a!)" if one.mutated else "Tensor"
    if one.mutated:  # each alias set has its own letter
        kind = f"Tensor({one.name}!)" if len(one.name) == 1 else "Tensor(a!)"
    return f"{kind}{'?' if one.type.optional else ''} {one.name}"


def launch(operation: Operation, call: Call) -> Any:
    """Call the kernel with tensors that have memory."""
    first = next(iter(call.inputs.values()))
    inputs = {name: _resolved(operation, name, one) for name, one in call.inputs.items()}
    return call_arrays(operation, call._replace(inputs=inputs), TorchTensors(first.device))


def _resolved(operation: Operation, name: str, value: torch.Tensor) -> torch.Tensor:
    """A tensor whose memory has its elements, not their conjugates or negatives."""
    if not (value.is_conj() or value.is_neg()):
        return value
    if operation.declaration.tensor(name).mutated:  # type: ignore[union-attr]
        raise ArgumentValueError(
            f"{operation.declaration.name}: argument {name}: the kernel writes it, and it is a "
            "conjugate or negative view: pass x.resolve_conj().resolve_neg()"
        )
    return value.resolve_conj().resolve_neg()


def launch_batched(operation: Operation, call: Call, batched: tuple[bool, ...], batch: int) -> Any:
    """Call the kernel for a batch, which is the first axis of inputs where `batched` says so."""
    declaration = operation.declaration
    first = next(iter(call.inputs.values()))
    tensors = TorchTensors(first.device)
    flags = {one.name: flag for one, flag in zip(declaration.inputs, batched, strict=True)}
    given = {
        name: value
        if value.is_contiguous()
        else copied(tensors, value, tensors.view(value), declaration.align)
        for name, value in call.inputs.items()
    }
    views = {name: tensors.view(value) for name, value in given.items()}
    types = operation.types_of({name: view.element for name, view in views.items()})
    sizes = Sizes(
        declaration,
        {name: one.shape[1:] if flags[name] else one.shape for name, one in views.items()},
        call.scalars,
        types,
        batch=batch if declaration.vmap == "batch" else 1,
    )
    outputs = []
    for one in (*declaration.outputs, *declaration.workspaces):
        flags[one.name] = one.role == "output"
        shape = (batch, *sizes.shape(one)) if flags[one.name] else sizes.shape(one)
        made = tensors.allocate(
            shape, declaration.element_of(one, types), declaration.align, tensors.index
        )
        given[one.name], views[one.name] = made, tensors.view(made)
        if flags[one.name]:
            outputs.append(made)
    if batch:
        whole = tuple(flags[one.name] for one in declaration.tensors)
        variant = operation.variant_of(sizes.values, types, tensors.index)
        launch_native(
            operation,
            operation.native(types, tensors.index, variant),
            tensors.index,
            given,
            views,
            call,
            tensors,
            batched=whole,
            batch=batch,
        )
    return results_of(outputs)


def require_no_gradient(operation: Operation, values: Sequence[Any]) -> None:
    """Refuse tensors that need a gradient which the operation does not have."""
    if not torch.is_grad_enabled():
        return
    for value in values:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise ArgumentValueError(
                f"{operation.declaration.name}: a tensor requires grad, and the operation's "
                "declaration has no backward: detach() it, or use torch.no_grad()"
            )


def of(operation: Operation) -> TorchOperation:
    """PyTorch's form of an operation, registered once."""
    found: TorchOperation | None = vars(operation).get("_torch")
    if found is None:
        with operation._lock:
            found = vars(operation).get("_torch")
            if found is None:
                found = vars(operation)["_torch"] = TorchOperation(operation)
                operation._overload = found.overload
                operation._is_compiling = torch.compiler.is_compiling
    return found


def is_plain(operation: Operation, values: Sequence[torch.Tensor]) -> bool:
    """Whether PyTorch's dispatcher would do no more than call the kernel."""
    gradients = torch.is_grad_enabled()
    if any(type(one) is not torch.Tensor or (gradients and one.requires_grad) for one in values):
        return False
    if any(transforms() for transforms in _TRANSFORMS):
        return False
    return not (operation.declaration.autocast and torch.is_autocast_enabled(values[0].device.type))


def _casts() -> bool:
    return any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))


register(torch.Tensor, TorchAccess(torch.Tensor, torch.is_grad_enabled, _TRANSFORMS, _casts))


def call(operation: Operation, call: Call) -> Any:
    """Call an operation with PyTorch's tensors."""
    name = operation.declaration.name
    if call.stream is not None or call.device is not None:
        raise ArgumentTypeError(
            f"{name}: with PyTorch's tensors an operation uses PyTorch's current stream and the "
            "tensors' device"
        )
    for key, value in call.inputs.items():
        if not isinstance(value, torch.Tensor):
            raise other_kind(f"{name}: argument {key}", TorchTensors.title, value)
    if call.out is not None:
        require_no_gradient(operation, (*call.inputs.values(), *call.out))
        return launch(operation, call)
    if is_plain(operation, tuple(call.inputs.values())):
        return launch(operation, call)
    arguments = [call.inputs.get(one.name) for one in operation.declaration.inputs]
    return of(operation).entry(*arguments, *call.scalars.values())
