# cupola/ops/jax_arrays.py - calls with JAX's arrays, also while JAX traces.
"""JAX's arrays in and out: under jit, grad, vmap and shard_map.

An operation is a typed foreign function of XLA. Scalars are attributes of the call, so they are
numbers of Python, not arrays. JAX's arrays do not change: an operation that changes inputs returns
the changed arrays after its outputs.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import custom_batching

from cupola import driver
from cupola.exceptions import ArgumentTypeError
from cupola.native_operation import host_device, xla_handlers
from cupola.ops.array_call import other_kind, results_of
from cupola.ops.backward import PREFIX
from cupola.ops.cupola_arrays import dtype_of
from cupola.ops.operation import Call, Operation
from cupola.ops.sizes import Sizes

if not hasattr(jax, "ffi"):
    raise ImportError(
        f"operations on JAX's arrays need JAX 0.5 or newer, this is {jax.__version__}"
    )

_TARGET = "cupola_op"  # a handler for each platform
_lock = threading.Lock()
_numbers = itertools.count()


def _register_targets() -> None:
    for platform, capsule in xla_handlers().items():
        jax.ffi.register_ffi_target(_TARGET, capsule, platform=platform)


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
        self._functions: dict[Any, Callable[..., Any]] = {}
        self._devices: set[tuple[tuple[str, ...], int]] = set()
        native = self.declaration.native_text().encode()
        digest = hashlib.sha256(native).hexdigest()[:16]
        # A package's operation has the same name in each process, so that compiled programs fit.
        unique = "" if operation.library is not None else f" {next(_numbers)}"
        self.name = f"{self.declaration.name} {digest}{unique}"
        operation._native.register(self.name)

    def function(self, given: tuple[str, ...], scalars: tuple[Any, ...]) -> Callable[..., Any]:
        """The function of the inputs that are given, for these scalars; it returns a tuple."""
        key = given, scalars, tuple(map(type, scalars))
        with _lock:
            if key not in self._functions:
                self._functions[key] = jax.jit(self._made(given, scalars))
            return self._functions[key]

    def _made(self, given: tuple[str, ...], scalars: tuple[Any, ...]) -> Callable[..., Any]:
        batched = self._with_vmap(given, scalars)
        if self.declaration.backward and self.operation.library is not None:
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
        scalars: tuple[Any, ...],
        arrays: Sequence[Any],
        batched: tuple[bool, ...] | None = None,
        batch: int = 1,
    ) -> tuple[Any, ...]:
        """The foreign function; the first axis is a batch where `batched` is true."""
        declaration = self.declaration
        by_name = dict(zip(given, arrays, strict=True))
        flags = dict(zip(given, batched or (False,) * len(given), strict=True))
        types = self.operation.types_of({name: one.dtype.name for name, one in by_name.items()})
        sizes = Sizes(
            declaration,
            {name: one.shape[1:] if flags[name] else one.shape for name, one in by_name.items()},
            dict(zip((one.name for one in declaration.scalars), scalars, strict=True)),
            types,
            batch=batch,
        )
        sizes.check()
        self._bind(types)
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
            "cupola_operation": self.name,
            "cupola_given": "".join("01"[one.name in by_name] for one in declaration.inputs),
        }
        for scalar, value in zip(declaration.scalars, scalars, strict=True):
            number = np.float64 if scalar.kind == "float" else np.int64
            attributes[scalar.name] = number(value)
        if batched is not None:
            attributes["cupola_batch"] = np.int64(batch)
            attributes["cupola_batched"] = "".join(
                "01"[one.role == "output" or flags.get(one.name, False)]
                for one in declaration.tensors
            )

        function = jax.ffi.ffi_call(
            _TARGET, results, input_output_aliases=aliases, vmap_method="sequential"
        )
        found = function(*arrays, **attributes)
        return tuple(found[:kept])

    def _bind(self, types: tuple[str, ...]) -> None:
        """Load the kernel on the devices that JAX has."""
        host = host_device()
        devices = [] if host < 0 else [host]
        gpus = [one.local_hardware_id for one in jax.local_devices() if one.platform == "gpu"]
        if gpus and driver.info().kind == "cuda":
            devices += gpus
        for device in devices:
            self.operation.native(types, device)

    # -- vmap -------------------------------------------------------------------------------------

    def _with_vmap(
        self, given: tuple[str, ...], scalars: tuple[Any, ...]
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
            if declaration.vmap:
                return self._batch(given, scalars, arrays, flags, size), every
            if declaration.batch_fits_pack(dict(zip(given, flags, strict=True))):
                return function(*self._spread(given, arrays, flags, size)), every
            return _sequential(function, arrays, flags), every

        return function

    def _batch(
        self,
        given: tuple[str, ...],
        scalars: tuple[Any, ...],
        arrays: Sequence[Any],
        flags: tuple[bool, ...],
        size: int,
    ) -> tuple[Any, ...]:
        """One call for a batch, by the declaration's vmap."""
        declaration = self.declaration
        mutated = {one.name for one in declaration.inputs if one.mutated}
        every = declaration.vmap == "batch"
        needed = tuple(
            flag or every or name in mutated for name, flag in zip(given, flags, strict=True)
        )
        spread = [
            one if flag or not need else jax.numpy.broadcast_to(one, (size, *one.shape))
            for one, flag, need in zip(arrays, flags, needed, strict=True)
        ]

        @custom_batching.custom_vmap
        def function(*values: Any) -> tuple[Any, ...]:
            return self._call(given, scalars, values, needed, size)

        @function.def_vmap
        def rule(outer: int, batched: Sequence[bool], *values: Any) -> tuple[Any, Any]:
            found = _sequential(function, values, tuple(map(bool, batched)))
            return found, (True,) * len(found)

        found: tuple[Any, ...] = function(*spread)
        return found

    def _spread(
        self, given: tuple[str, ...], arrays: Sequence[Any], flags: tuple[bool, ...], size: int
    ) -> list[Any]:
        packs = {one.name for one in self.declaration.inputs if one.type.pack}
        return [
            one if flag or name not in packs else jax.numpy.broadcast_to(one, (size, *one.shape))
            for name, one, flag in zip(given, arrays, flags, strict=True)
        ]

    # -- gradients --------------------------------------------------------------------------------

    def _with_gradient(
        self,
        given: tuple[str, ...],
        scalars: tuple[Any, ...],
        batched: Callable[..., tuple[Any, ...]],
    ) -> Callable[..., Any]:
        declaration = self.declaration
        backward = of(self.operation.backward)
        values = dict(zip((one.name for one in declaration.scalars), scalars, strict=True))
        back_scalars = tuple(values[one.name] for one in backward.declaration.scalars)
        outputs = [one.name for one in declaration.outputs]

        @jax.custom_vjp
        def function(*arrays: Any) -> tuple[Any, ...]:
            return batched(*arrays)

        def forward(*arrays: Any) -> tuple[Any, Any]:
            results = batched(*arrays)
            known = {
                **dict(zip(given, arrays, strict=True)),
                **dict(zip(outputs, results, strict=True)),
            }
            saved = {name: known[name] for name in self.operation.matched.saved if name in known}
            return results, saved

        def gradient(saved: dict[str, Any], cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
            by_output = dict(zip(outputs, cotangents, strict=True))
            arrays = self.operation.gradient_arguments(by_output, saved)
            found = backward.function(tuple(arrays), back_scalars)(*arrays.values())
            names = (one.name for one in backward.declaration.outputs)
            by_name = dict(zip(names, found, strict=True))
            return tuple(by_name.get(f"{PREFIX}{name}") for name in given)

        function.defvjp(forward, gradient)
        return function


def _sequential(
    function: Callable[..., tuple[Any, ...]], arrays: Sequence[Any], flags: tuple[bool, ...]
) -> tuple[Any, ...]:
    """One call after the other, for each element of a batch."""

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
    function = of(operation).function(tuple(call.inputs), tuple(call.scalars.values()))
    return results_of(function(*call.inputs.values()))
