# cupola/ops/jax_arrays.py - calls with JAX's arrays, also while JAX traces.
"""JAX's arrays in and out: under jit, grad, vmap and shard_map.

An operation is a typed foreign function of XLA; `jax_scalars` says how its scalars reach it. JAX's
arrays do not change: an operation that changes inputs returns the changed arrays after its outputs.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import custom_batching
from jax.core import Tracer

from cupola import driver
from cupola.declare.backward import PREFIX
from cupola.declare.compiled import compiled
from cupola.exceptions import ArgumentTypeError
from cupola.native_operation import host_device, xla_handlers
from cupola.ops.array_call import other_kind, results_of
from cupola.ops.element_dtypes import dtype_of
from cupola.ops.jax_scalars import Scalars, no_gradient, scalars_of
from cupola.ops.operation import Call, Operation
from cupola.ops.sizes import Sizes

if TYPE_CHECKING:
    from cupola.declare.family import Variant

if not hasattr(jax, "ffi"):
    raise ImportError(
        f"operations on JAX's arrays need JAX 0.5 or newer, this is {jax.__version__}"
    )

# A handler for each platform. XLA may capture the first one's launches into a command buffer. The
# second one waits for the values of operands.
_TARGET, _TARGET_OF_OPERANDS = "cupola_op", "cupola_op_operands"
_MOST_FUNCTIONS = 64  # compiled functions of an operation, for calls outside of a program's jit
_lock = threading.Lock()
_numbers = itertools.count()


def _register_targets() -> None:
    for target, platform, capsule in xla_handlers():
        jax.ffi.register_ffi_target(target, capsule, platform=platform)


_register_targets()


class JaxOperation:
    """An operation as functions that JAX transforms.

    Parameters
    ----------
    operation : Operation
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.declaration = operation.declaration
        self._functions: OrderedDict[Any, Any] = OrderedDict()
        digest = hashlib.sha256(compiled(self.declaration)).hexdigest()[:16]
        # A package's operation has the same name in each process, so that compiled programs fit.
        unique = "" if operation.library is not None else f" {next(_numbers)}"
        self.name = f"{self.declaration.name} {digest}{unique}"
        self._names: dict[Variant, str] = {}  # of the variants that are registered

    def compiled(self, given: tuple[str, ...], scalars: Scalars) -> Callable[..., Any]:
        """The function of a call, compiled for each shape; `_MOST_FUNCTIONS` of them are kept."""
        key = given, scalars.text
        with _lock:
            found = self._functions.pop(key, None)
            if found is None:
                found = jax.jit(self.function(given, scalars))
                while len(self._functions) >= _MOST_FUNCTIONS:
                    self._functions.popitem(last=False)[1].clear_cache()
            self._functions[key] = found  # last: it is the latest that was used
            return found

    def function(self, given: tuple[str, ...], scalars: Scalars) -> Callable[..., Any]:
        """The function of the inputs that are given, and then of the scalars that are operands.

        It returns a tuple.
        """
        scalars = scalars.without_values()
        batched = self._with_vmap(given, scalars)
        if self.operation.has_backward:
            return self._with_gradient(given, scalars, batched)

        def plain(*arrays: Any) -> Any:
            return batched(*arrays)

        function = jax.custom_jvp(plain)

        @function.defjvp
        def refuse(primals: Any, tangents: Any) -> Any:
            raise ArgumentTypeError(
                f"{self.declaration.name} has no gradient: its declaration has no backward; use "
                "jax.lax.stop_gradient on its arguments"
            )

        return function

    # -- one call ---------------------------------------------------------------------------------

    def _call(
        self,
        given: tuple[str, ...],
        scalars: Scalars,
        arrays: Sequence[Any],
        batched: tuple[bool, ...] | None = None,
        batch: int = 1,
    ) -> tuple[Any, ...]:
        """The foreign function; the first axis is a batch where `batched` is true."""
        declaration = self.declaration
        by_name = dict(zip(given, arrays[: len(given)], strict=True))
        flags = dict(zip(given, batched or (False,) * len(given), strict=True))
        types = self.operation.types_of({name: one.dtype.name for name, one in by_name.items()})
        sizes = Sizes(
            declaration,
            {name: one.shape[1:] if flags[name] else one.shape for name, one in by_name.items()},
            scalars.numbers,
            types,
            batch=batch,
        )
        variant = self._bind(types, sizes)
        lead = (batch,) if batched is not None else ()
        results, aliases = [], {}
        for one in declaration.outputs:
            dtype = dtype_of(declaration.element_of(one, types))
            results.append(jax.ShapeDtypeStruct((*lead, *sizes.shape(one)), dtype))
        for tensor in declaration.inputs:
            if tensor.mutated and tensor.name in by_name:
                aliases[given.index(tensor.name)] = len(results)
                value = by_name[tensor.name]
                results.append(jax.ShapeDtypeStruct(value.shape, value.dtype))
        kept = len(results)
        for one in declaration.workspaces:
            dtype = dtype_of(declaration.element_of(one, types))
            results.append(jax.ShapeDtypeStruct(sizes.shape(one), dtype))
        attributes: dict[str, Any] = {
            "cupola_operation": self._registered(variant),
            "cupola_given": "".join("01"[one.name in by_name] for one in declaration.inputs),
        }
        attributes["cupola_scalars"] = scalars.text
        if batched is not None:
            attributes["cupola_batch"] = np.int64(batch)
            attributes["cupola_batched"] = "".join(
                "01"[one.role == "output" or flags.get(one.name, False)]
                for one in declaration.tensors
            )

        function = jax.ffi.ffi_call(
            _TARGET_OF_OPERANDS if scalars.operands else _TARGET,
            results,
            input_output_aliases=aliases,
            vmap_method="sequential",
        )
        found = function(*arrays, **attributes)
        return tuple(found[:kept])

    def _bind(self, types: tuple[str, ...], sizes: Sizes) -> Variant:
        """Load the kernel on the devices that JAX has. The variant is that of the first GPU."""
        host = host_device()
        devices = [] if host < 0 else [host]
        gpus = [one.local_hardware_id for one in jax.local_devices() if one.platform == "gpu"]
        if gpus and driver.info().kind == "cuda":
            devices = [*gpus, *devices]
        first = devices[0] if devices else -1
        variant = self.operation.variant_of(sizes.values, types, first)
        for device in devices:
            self.operation.native(types, device, variant)
        return variant

    def _registered(self, variant: Variant) -> str:
        """The name by which XLA's handler finds a variant. A package's operation has the same name
        in each process.
        """
        native = self.operation.native_of(variant)
        with _lock:
            found = self._names.get(variant)
            if found is None:
                found = " ".join([self.name, *map(str, variant)])
                native.register(found)
                self._names[variant] = found
        return found

    # -- vmap -------------------------------------------------------------------------------------

    def _with_vmap(
        self, given: tuple[str, ...], scalars: Scalars
    ) -> Callable[..., tuple[Any, ...]]:
        declaration = self.declaration

        @custom_batching.custom_vmap
        def function(*arrays: Any) -> tuple[Any, ...]:
            return self._call(given, scalars, arrays)

        @function.def_vmap
        def rule(size: int, batched: Sequence[bool], *arrays: Any) -> tuple[Any, Any]:
            count = len(declaration.outputs) + sum(
                one.mutated and one.name in given for one in declaration.inputs
            )
            every = (True,) * count
            flags = tuple(bool(one) for one in batched)
            if any(flags[len(given) :]):  # a launch has one value of each scalar
                return _sequential(function, arrays, flags), every
            if declaration.vmap:
                return self._batch(given, scalars, arrays, flags, size), every
            if declaration.batch_fits_pack(dict(zip(given, flags, strict=False))):
                return function(*self._spread(given, arrays, flags, size)), every
            return _sequential(function, arrays, flags), every

        return function

    def _batch(
        self,
        given: tuple[str, ...],
        scalars: Scalars,
        arrays: Sequence[Any],
        flags: tuple[bool, ...],
        size: int,
    ) -> tuple[Any, ...]:
        """A single call for the whole batch, as the declaration's vmap says."""
        declaration = self.declaration
        mutated = {one.name for one in declaration.inputs if one.mutated}
        every = declaration.vmap == "batch"
        needed = tuple(
            flag or every or name in mutated for name, flag in zip(given, flags, strict=False)
        )
        spread = [
            one if flag or not need else jax.numpy.broadcast_to(one, (size, *one.shape))
            for one, flag, need in zip(arrays, flags, needed, strict=False)
        ]

        @custom_batching.custom_vmap
        def function(*values: Any) -> tuple[Any, ...]:
            return self._call(given, scalars, values, needed, size)

        @function.def_vmap
        def rule(outer: int, batched: Sequence[bool], *values: Any) -> tuple[Any, Any]:
            found = _sequential(function, values, tuple(map(bool, batched)))
            return found, (True,) * len(found)

        found: tuple[Any, ...] = function(*spread, *arrays[len(given) :])
        return found

    def _spread(
        self, given: tuple[str, ...], arrays: Sequence[Any], flags: tuple[bool, ...], size: int
    ) -> list[Any]:
        packs = {one.name for one in self.declaration.inputs if one.type.pack}
        spread = [
            one if flag or name not in packs else jax.numpy.broadcast_to(one, (size, *one.shape))
            for name, one, flag in zip(given, arrays, flags, strict=False)
        ]
        return [*spread, *arrays[len(given) :]]

    # -- gradients --------------------------------------------------------------------------------

    def _with_gradient(
        self,
        given: tuple[str, ...],
        scalars: Scalars,
        batched: Callable[..., tuple[Any, ...]],
    ) -> Callable[..., Any]:
        name = self.declaration.name
        backward = of(self.operation.backward)
        of_backward = scalars.only([one.name for one in backward.declaration.scalars])
        outputs = [one.name for one in self.declaration.outputs]
        names = (*given, *scalars.operands)

        @jax.custom_vjp
        def function(*arrays: Any) -> tuple[Any, ...]:
            return batched(*arrays)

        def forward(*arrays: Any) -> tuple[Any, Any]:
            # This function has a gradient, too, for gradients of gradients.
            results = function(*arrays)
            known = {**dict(zip(names, arrays, strict=True)), **_named(outputs, results)}
            needed = (*self.operation.matched.saved, *of_backward.operands)
            return results, {name: known[name] for name in needed if name in known}

        def gradient(saved: dict[str, Any], cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
            by_output = _named(outputs, cotangents)
            arrays = self.operation.gradient_arguments(by_output, saved)
            found = backward.function(tuple(arrays), of_backward)(
                *arrays.values(), *(saved[name] for name in of_backward.operands)
            )
            by_name = _named((one.name for one in backward.declaration.outputs), found)
            return tuple(by_name.get(f"{PREFIX}{name}") for name in names)

        function.defvjp(forward, gradient)

        def whole(*arrays: Any) -> tuple[Any, ...]:
            rest = zip(scalars.operands, arrays[len(given) :], strict=True)
            operands = (no_gradient(f"{name}: argument {key}", one) for key, one in rest)
            found: tuple[Any, ...] = function(*arrays[: len(given)], *operands)
            return found

        return whole


def _named(names: Iterable[str], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


def _sequential(
    function: Callable[..., tuple[Any, ...]], arrays: Sequence[Any], flags: tuple[bool, ...]
) -> tuple[Any, ...]:
    """Call the operation for each element of a batch, in order."""

    def one(moving: Sequence[Any]) -> tuple[Any, ...]:
        rest = iter(moving)
        return function(
            *(next(rest) if flag else array for array, flag in zip(arrays, flags, strict=True))
        )

    found: tuple[Any, ...] = jax.lax.map(
        one, [array for array, flag in zip(arrays, flags, strict=True) if flag]
    )
    return found


def of(operation: Operation) -> JaxOperation:
    """JAX's form of an operation, made once."""
    found: JaxOperation | None = vars(operation).get("_jax")
    if found is None:
        with operation._lock:
            found = vars(operation).get("_jax")
            if found is None:
                found = vars(operation)["_jax"] = JaxOperation(operation)
    return found


def call(operation: Operation, call: Call) -> Any:
    """Call an operation with JAX's arrays."""
    name = operation.declaration.name
    if call.out is not None:
        raise ArgumentTypeError(f"{name}: JAX's arrays do not change: no out=")
    if call.stream is not None or call.device is not None:
        raise ArgumentTypeError(f"{name}: with JAX's arrays, JAX chooses stream and device")
    for key, value in call.inputs.items():
        if not isinstance(value, jax.Array):
            raise other_kind(f"{name}: argument {key}", "a jax.Array", value)
    given = tuple(call.inputs)
    values = (*call.inputs.values(), *call.scalars.values())
    # In a program's own jit, numbers are constants of the program, and the program caches its
    # result.
    constant = any(isinstance(one, Tracer) for one in values) and isinstance(
        jax.numpy.zeros(()), Tracer
    )
    scalars = scalars_of(operation.declaration, call.scalars, constant)
    made = of(operation)
    function = made.function(given, scalars) if constant else made.compiled(given, scalars)
    return results_of(function(*call.inputs.values(), *scalars.operands.values()))
