# cupola/makers/maker.py - the class that all made kernels share, and prepared calls.
"""`Maker`: a function of arrays that a made kernel computes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.creation import empty
from cupola.declare.kernel_definition import Definition
from cupola.declare.maker_parameters import Parameter
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.makers import operands
from cupola.makers.broadcast_layout import broadcast_shape
from cupola.makers.element_types import Types, converted, scalar, types_of, wanted
from cupola.makers.kernel_source import KernelSource
from cupola.makers.repeated_call import RepeatedCall, key_of, repeated
from cupola.makers.work import Work
from cupola.stream import Stream

if TYPE_CHECKING:
    from cupola.array import Array
    from cupola.kernel import Kernel
    from cupola.launch import PreparedLaunch


_MOST_REPEATED = 256  # kinds of calls that a maker remembers


class PreparedCall:
    """A call with its arguments packed: ``call()`` only launches.

    ``call["a"] = value`` replaces a number or an array of the same shape and strides. Nothing is
    checked again, save the type of such a value. It is made by `prepare`.

    Attributes
    ----------
    launches : tuple of PreparedLaunch
        In the order in which a call sends them.
    results : tuple of cupola.Array
        The arrays that each call writes.
    """

    def __init__(self, launches: tuple[PreparedLaunch, ...], results: tuple[Any, ...]) -> None:
        self.launches = launches
        self.results = results

    def __call__(self, *, stream: Any = None) -> None:
        """Launch.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default the stream that it was prepared for.
        """
        for launch in self.launches:
            launch(stream=stream)

    def __setitem__(self, name: str, value: Any) -> None:
        for launch in self.launches:
            launch[name] = value


class Maker:
    """A function of arrays: `cupola.elementwise`, `reduction` and `scan` make it.

    Parameters
    ----------
    definition : Definition
    structs : mapping of str to dtype
        The dtypes of the structs that the definition names.
    kernels : KernelSource
    """

    def __init__(
        self,
        definition: Definition,
        structs: Mapping[str, np.dtype[Any]],
        kernels: KernelSource,
    ) -> None:
        self.definition = definition
        self.structs = structs
        self.kernels = kernels
        self._repeated: dict[Any, RepeatedCall] = {}
        self.__name__ = definition.name

    def __repr__(self) -> str:
        listed = ", ".join(one.text for one in self.definition.parameters)
        return f"<{type(self).__name__} {self.definition.name}({listed})>"

    def _work(self, values: dict[str, Any], types: Types, device: int, options: Any) -> Work:
        """The launches for arguments that are checked."""
        raise NotImplementedError

    def _call(self, args: Sequence[Any], named: Any, out: Any, stream: Any, options: Any) -> Any:
        """Launch, and return the results."""
        key = None
        if out is None and not named and (stream is None or isinstance(stream, Stream)):
            # A call whose stream is of another device is refused, and so never remembered.
            place = None if stream is None else stream.device_index
            key = key_of(args, (*options, place))
            known = self._repeated.get(key)
            if known is not None and known.loaded:
                if stream is None:
                    return self._returned(known(args))
                with stream:
                    return self._returned(known(args))
        given = operands.bind(self.definition, tuple(args), named, out)
        device = operands.device_of(self.definition, given)
        with operands.using(stream, device, self.definition.name):
            work = self._prepared(given, device, options)
            for kernel, grid, block, arguments in work.launches:
                kernel.launch(grid, block, *arguments)
            if work.finish is not None:
                work.finish()
            operands.to_host(self.definition, given, work.values)
        results = [one.name for one in self.definition.results]
        if key is not None:
            self._remember(key, work, args, results)
        made = zip(results, work.results, strict=True)
        return self._returned([given.get(name, result) for name, result in made])

    def _remember(
        self, key: tuple[Any, ...], work: Work, args: Sequence[Any], results: list[str]
    ) -> None:
        """Let further calls with such arguments only launch."""
        parameters = [one.name for one in self.definition.parameters]
        made = repeated(work, args, parameters, results)
        if made is not None:
            if len(self._repeated) >= _MOST_REPEATED:
                self._repeated.clear()
            self._repeated[key] = made

    @staticmethod
    def _returned(results: Sequence[Any]) -> Any:
        """A single result as it is, several results as a tuple, and None without a result."""
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _prepare(
        self, args: Sequence[Any], named: Any, out: Any, stream: Any, options: Any
    ) -> PreparedCall:
        """Pack the arguments of a call."""
        given = operands.bind(self.definition, tuple(args), named, out)
        device = operands.device_of(self.definition, given)
        if any(isinstance(value, np.ndarray) for value in given.values()):
            raise ArgumentTypeError(
                f"{self.definition.name}: a prepared call copies nothing, so it takes no "
                "numpy.ndarray: copy it with cupola.to_device"
            )
        with operands.using(stream, device, self.definition.name):
            work = self._prepared(given, device, options)
            if work.finish is not None:
                raise ArgumentTypeError(
                    f"{self.definition.name}: a prepared call writes its results in place, so they "
                    "have to be contiguous"
                )
            launches = [
                kernel.prepare(grid, block, *arguments, stream=stream)
                for kernel, grid, block, arguments in work.launches
            ]
        return PreparedCall(tuple(launches), work.results)

    def _prepared(self, given: Mapping[str, Any], device: int, options: Any) -> Work:
        """Check the arguments, and convert those that have other types."""
        definition = self.definition
        values = operands.take(definition, given, device)
        types = types_of(definition, values)
        for one in definition.parameters:
            if one.name not in values:
                continue
            dtype = wanted(one, types, self.structs)
            value = values[one.name]
            if one.array:
                value = converted(definition, one, value, dtype)
                values[one.name] = operands.aligned(definition, one, value)
            else:
                values[one.name] = scalar(definition, one, value, dtype)
        return self._work(values, types, device, options)

    def _kernel(self, types: Types, form: str, name: str, device: int) -> Kernel:
        return self.kernels.find(self.definition, types, form, name, device)

    def _in_order(self, values: Mapping[str, Any], replaced: Mapping[str, Array]) -> list[Any]:
        """The arguments of the parameters."""
        return [replaced.get(one.name, values.get(one.name)) for one in self.definition.parameters]

    def _shape(
        self, values: Mapping[str, Any], given: Sequence[Parameter], size: Any
    ) -> tuple[int, ...]:
        """The shape to which arrays broadcast, or the size of a call without arrays."""
        name = self.definition.name
        if size is not None:
            try:
                count = operator.index(size)
            except TypeError:
                raise ArgumentTypeError(f"{name}: size is an integer, got {size!r}") from None
            if given:
                raise ArgumentTypeError(
                    f"{name}: size is for calls without arrays; {given[0].name} decides it here"
                )
            if count < 0:
                raise ArgumentValueError(f"{name}: size is {count}; expected 0 or more")
            return (count,)
        if not given:
            raise ArgumentTypeError(f"{name}: no array decides the number of elements: pass size=")
        shapes = [values[one.name].shape for one in given]
        return broadcast_shape(name, [one.name for one in given], shapes)

    @staticmethod
    def _c_order(x: Array, shape: tuple[int, ...]) -> Array:
        """A copy that is broadcast, for code that needs pointers."""
        made = empty(shape, x.dtype, device=x.device_index)
        made[...] = x
        return made
